"""Effects of two features: contours, cells, and a curve for each category of a mixed pair."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from paribus._contracts import NOMINAL, Array, Flags, Floats, Integers
from paribus._display.compose.axis import (
    FeatureAxis,
    feature_axis,
    height_axis,
    hover_texts,
    in_own_order,
    shares,
    short,
    stacked,
    whole_of,
)
from paribus._display.compose.curves import DataAlong, rug, strip
from paribus._display.figure import (
    Bars,
    Contours,
    Hatch,
    Heat,
    Line,
    Mark,
    Panel,
    PanelAxis,
    Points,
    Rule,
    Strip,
)
from paribus._display.mark_helpers import DIVERGING, INK, SEQUENTIAL, color_of, dash_of, marker_of
from paribus._text import at_value
from paribus.errors import DrawingError
from paribus.results import LocalEffect, PartialDependence

Pair: TypeAlias = PartialDependence | LocalEffect
Edges: TypeAlias = tuple[Floats, Floats]
Texts: TypeAlias = tuple[tuple[str, ...], ...]
Colors: TypeAlias = tuple[str, float, float]  # the name of a color map, and its ends

CONTOURS = 10  # steps of color between the lowest and the highest contour, about
ROUNDING = 1e-9  # of the largest: what is smaller is no hill
NOTHING = 1e-13  # in units of the prediction: what is left where numbers cancel out
HOVERED = 10_000  # cells that have hover texts; those of more would make a page of tens of megabytes
WRITTEN = 64  # cells that have room for a number each
WRITTEN_ABREAST = 12  # such cells in a row or column
WRITTEN_CHARACTERS = 10  # of a number in a cell; shorter ones would not be distinct
CURVES = 12  # categories that have a curve
FAINT = 0.25  # of its color that a curve keeps where its category has no data


def surface_panel(effect: Pair, o: int) -> Panel:
    """Return the panel of one output of an effect of two features; of several models their mean.

    Numbers and dates are contours, or cells where the effect is flat, has steps or is one of bins; categories
    are a table of cells, and a number with categories is a curve for each category.
    """
    if isinstance(effect, PartialDependence) and effect.average is None:
        raise DrawingError("individual surfaces cannot be plotted; use kind='average' or 'both'")
    for name, values in zip(effect.feature_names, effect.grid_values, strict=True):
        if not len(values):
            raise DrawingError(f"{name} has no values in the data, so there is nothing to plot")
    nominal = [kind in NOMINAL for kind in effect.kinds]
    if nominal[0] != nominal[1]:
        return _family_panel(effect, o, 0 if nominal[0] else 1)
    return _map_panel(effect, o)


@dataclass(frozen=True, eq=False)
class Cells:
    """What is known in each cell ``(y, x)``: heights, errors, the data, and whether it is off the data."""

    heights: Floats
    errors: Floats | None
    weights: Floats
    off: Flags | None
    unit: str
    whole: float

    @property
    def colored(self) -> Floats:
        """Heights that have a color."""
        return np.where(np.isfinite(self.heights), self.heights, np.nan)

    def hover(self, across: Sequence[str], up: Sequence[str]) -> Texts:
        """Return the hover text of each cell; of very many cells, none."""
        if self.heights.size > HOVERED:
            return ()
        texts = [f"{x}\n{y}" for y in up for x in across]
        errors = None if self.errors is None else self.errors.ravel()
        of_data = shares(self.weights.ravel(), self.whole)
        every = hover_texts(texts, self.unit, self.heights.ravel(), errors, of_data)
        return tuple(every[first : first + len(across)] for first in range(0, len(every), len(across)))

    def heat(self, edges: Edges, colors: Colors, hover: Texts, written: Texts = ()) -> Heat:
        """Return the colored cells."""
        (x, y), (name, low, high) = edges, colors
        return Heat(x, y, self.colored, name, low, high, self.unit, written, hover)


def _cells_of(effect: PartialDependence, o: int, x: FeatureAxis, y: FeatureAxis) -> Cells:
    """Return what is known at each pair of positions."""
    assert effect.average is not None
    mask, errors = _mask(effect), effect.standard_error
    return Cells(
        _pooled(effect.average[o], effect.support, x, y),
        None if errors is None else _pooled(errors[o], effect.support, x, y),
        x.total(y.total(effect.support).T),
        None if mask is None else x.total(y.total((~mask).astype(float)).T) == 0,
        height_axis(effect, [o]).label,
        whole_of(effect.provenance),
    )


def _mask(effect: PartialDependence) -> Flags | None:
    """Return which points are off the data, if that was evaluated."""
    return None if effect.extrapolation is None else effect.extrapolation.mask


def _pooled(values: Floats, support: Floats, x: FeatureAxis, y: FeatureAxis) -> Floats:
    """Return values ``(y, x)`` of cells; where categories share a position, their average over its data."""
    if all(len(group) == 1 for group in (*x.groups, *y.groups)):
        return np.asarray(values[np.ix_(np.concatenate(x.groups), np.concatenate(y.groups))].T)
    cells = ((np.ix_(i, j) for i in x.groups) for j in y.groups)
    return np.array([[_average(values[cell], support[cell]) for cell in row] for row in cells])


def _average(values: Floats, weights: Floats) -> float:
    if values.size == 1:
        return float(values[0, 0])
    some = weights > 0
    return float(np.average(values[some], weights=weights[some]) if some.any() else values.mean())


def _map_panel(effect: Pair, o: int) -> Panel:
    """Return colors over two numbers or two categories, with the data along both axes beside them."""
    x, y = _map_axis(effect, o, 0), _map_axis(effect, o, 1)
    bins: tuple[Array | None, ...] = (None, None)
    rugs: list[Mark] = []
    if isinstance(effect, LocalEffect):
        cells, edges, off = _bins_of(effect, o), (x.at, y.at), "no rows"
        bins, weights = effect.grid_values, (effect.support.sum(axis=1), effect.support.sum(axis=0))
    else:
        cells, edges, off = _cells_of(effect, o, x, y), (x.edges, y.edges), "no row combines these"
        rugs += [*rug(x, effect.deciles[0]), *rug(y, effect.deciles[1], "y")]
        # The rows of a value that is given twice count once.
        weights = y.total(effect.support).sum(axis=1), x.total(effect.support.T).sum(axis=1)
    hatch = [Hatch(*edges, cells.off, off)] if cells.off is not None and cells.off.any() else []
    panel = Panel(
        (_colored_mark(effect, x, y, edges, cells), *hatch, *rugs),
        replace(x.axis, low=float(edges[0][0]), high=float(edges[0][-1])),
        replace(y.axis, low=float(edges[1][0]), high=float(edges[1][-1])),
    )
    top, right = (
        _margin(axis, strip(place, DataAlong(weight, cells.whole, edges=ends)), horizontal=place is y)
        for axis, place, weight, ends in zip((panel.x, panel.y), (x, y), weights, bins, strict=True)
    )
    return replace(panel, right=right, top=top)


def _colored_mark(effect: Pair, x: FeatureAxis, y: FeatureAxis, edges: Edges, cells: Cells) -> Mark:
    """Return contours of numbers, or cells: of categories, of bins, where an effect is flat or has steps."""
    local, scale = isinstance(effect, LocalEffect), effect.provenance.scale
    colors = colors_of(cells.colored, zero=local or scale.has_zero)
    if local:
        return cells.heat(edges, colors, cells.hover(x.ranges(x.at), y.ranges(y.at)))
    if not x.categorical and (effect.provenance.at_splits or flat(cells.colored)):
        return _stepped(cells, (x, y), edges, colors)
    hover = cells.hover(x.texts, y.texts)
    if x.categorical:
        return cells.heat(edges, colors, hover, _written(cells.colored, cells.off))
    name, low, high = colors
    return Contours(x.at, y.at, cells.colored, _round_levels(low, high), name, cells.unit, hover)


def _map_axis(effect: Pair, o: int, axis: int) -> FeatureAxis:
    """Lay out numbers, or categories: in their order if they have one, else by their average effect."""
    if isinstance(effect, LocalEffect) or effect.kinds[axis] not in NOMINAL:
        place = feature_axis(effect, axis)
        if len(place.at) < 2:
            raise DrawingError("a surface needs at least two values of each feature; use to_frame()")
        return place
    assert effect.average is not None
    values, by = effect.average[o], None
    own, other = effect.support.sum(axis=1 - axis), effect.support.sum(axis=axis)
    if not in_own_order(effect, axis):
        known = np.where(np.isfinite(values), values, 0.0)
        by = np.average(known, axis=1 - axis, weights=other if other.any() else None)
    place = feature_axis(effect, axis, own, by)
    if axis == 0:
        return place
    names = zip(place.at.tolist(), stacked(place.labels or ()), strict=True)
    return replace(place, axis=replace(place.axis, ticks=tuple(names), turned=False))


def _bins_of(effect: LocalEffect, o: int) -> Cells:
    """Return what is known in each bin of two numbers: the average of its corners, where it has rows.

    What is beyond the data is put together from other bins, and would drown the colors of the rest. The
    average of errors is no less than its error.
    """
    corners = (effect.ale[o], effect.standard_error[o])
    heights, errors = ((c[1:, 1:] + c[1:, :-1] + c[:-1, 1:] + c[:-1, :-1]) / 4 for c in corners)
    heights = np.where(effect.empty, np.nan, heights)
    unit, whole = height_axis(effect, [o]).label, whole_of(effect.provenance)
    return Cells(heights.T, errors.T, effect.support.T, effect.empty.T, unit, whole)


def _stepped(cells: Cells, axes: tuple[FeatureAxis, FeatureAxis], edges: Edges, colors: Colors) -> Heat:
    """Return cells; neighbors of the same height, as between two splits of a tree, are one."""
    ends, texts = list(edges), []
    for axis, place in enumerate(axes):
        cells, starts = _joined(cells, 1 - axis)
        ends[axis] = edges[axis][[*starts, -1]]
        texts.append(place.ranges(ends[axis]))
    return cells.heat((ends[0], ends[1]), colors, cells.hover(*texts))


def _joined(cells: Cells, axis: int) -> tuple[Cells, Integers]:
    """Join neighbors along an axis that are alike, and return where each of the new cells starts."""
    along = np.moveaxis(cells.heights, axis, 0)
    new = (along[1:] != along[:-1]).any(axis=1)
    starts = np.flatnonzero(np.concatenate([[True], new]))
    joined = replace(
        cells,
        heights=cells.heights.take(starts, axis),
        errors=None if cells.errors is None else cells.errors.take(starts, axis),
        weights=np.add.reduceat(cells.weights, starts, axis),
    )
    return joined, starts


def _round_levels(low: float, high: float) -> Floats:
    """Return evenly spaced round numbers from below the lowest value to above the highest.

    The first, third, fifth, ... are multiples of twice their distance: labels of every other contour are
    the rounder ones, zero among them.
    """
    power = np.floor(np.log10((high - low) / CONTOURS))
    steps = [factor * 10.0**power for factor in (1, 2, 2.5, 5, 10)]
    spans = [(step, 2 * np.floor(low / (2 * step)), 2 * np.ceil(high / (2 * step))) for step in steps]
    step, first, last = min(spans, key=lambda span: abs(span[2] - span[1] - CONTOURS))
    return np.asarray(np.round(step * np.arange(first, last + 1), int(max(0, 2 - power))))


def _written(values: Floats, off: Flags | None) -> Texts:
    """Return numbers for the cells, with as many decimals as distinguish them, if there is room.

    Cells that are struck out have none, as it could not be read.
    """
    if values.size > WRITTEN or max(values.shape) > WRITTEN_ABREAST:
        return ()
    legible = np.isfinite(values) if off is None else np.isfinite(values) & ~off
    for style in _number_styles(values):
        texts = [[f"{value:{style}}".replace("e+0", "e") for value in row] for row in values.tolist()]
        if max(len(text) for row in texts for text in row) <= WRITTEN_CHARACTERS:
            pairs = (zip(*row, strict=True) for row in zip(texts, legible, strict=True))
            return tuple(tuple(_unsigned(text) if there else "" for text, there in row) for row in pairs)
    return ()


def _number_styles(values: Floats) -> Iterator[str]:
    """Yield the formats in which numbers differ where cells do: plain, and as powers of ten."""
    if flat(values):
        yield ".3g"
        return
    finest = int(np.floor(np.log10(np.nanmax(values) - np.nanmin(values)))) - 1
    largest = int(np.floor(np.log10(np.nanmax(np.abs(values)))))
    yield f",.{max(0, -finest)}f"
    yield f".{largest - finest}e"


def _unsigned(text: str) -> str:
    """Return a number without the sign of a zero."""
    return text if text.strip("-0.,") else text.removeprefix("-")


def flat(values: Floats) -> bool:
    """Return whether values are constant up to rounding."""
    known = values[np.isfinite(values)]
    if not len(known):
        return True
    return bool(np.ptp(known) <= max(ROUNDING * float(np.abs(known).max()), NOTHING))


def colors_of(values: Floats, *, zero: bool) -> Colors:
    """Return the colors of values and their ends: around a zero as far on both sides."""
    known = values[np.isfinite(values)]
    if zero:
        largest = float(np.abs(known).max(initial=0.0))
        largest = largest if largest > NOTHING else 1.0
        return DIVERGING, -largest, largest
    if flat(values):  # ends that are readable numbers
        middle = float(known.mean()) if len(known) else 0.0
        aside = 0.1 * abs(middle) if abs(middle) > NOTHING else 1.0
        return SEQUENTIAL, middle - aside, middle + aside
    return SEQUENTIAL, float(known.min()), float(known.max())


def _margin(axis: PanelAxis, strips: list[Strip], *, horizontal: bool) -> Panel | None:
    """Return the narrow panel of the data on the same axis; none where there is no data."""
    if not strips:
        return None
    (data,) = strips
    bars = Bars(data.at, data.height, data.width, INK, alpha=0.35, hover=data.hover)
    along = replace(axis, label="", numbers=False)
    height = PanelAxis(scale="none", low=0.0, high=1.05 * data.most)
    if horizontal:
        return Panel((replace(bars, horizontal=True),), height, along)
    return Panel((bars,), along, height)


def _rows_of(effect: Pair, o: int, place: FeatureAxis, categories: int) -> Cells:
    """Return what is known at each number, a row for each category."""
    picked = np.concatenate(place.groups)

    def rows(array: Array) -> Array:
        return array if categories == 0 else array.T

    mask, weights, errors = None, rows(effect.support), effect.standard_error
    if isinstance(effect, LocalEffect):
        # A value is the end of one bin and the beginning of the next.
        heights, weights = effect.ale, np.pad(weights, ((0, 0), (0, 1))) + np.pad(weights, ((0, 0), (1, 0)))
    else:
        assert effect.average is not None
        heights, mask = effect.average, _mask(effect)
    off = _beyond(weights > 0)
    return Cells(
        rows(heights[o])[:, picked],
        None if errors is None else rows(errors[o])[:, picked],
        weights[:, picked],
        (off if mask is None else off | rows(mask))[:, picked],
        height_axis(effect, [o]).label,
        whole_of(effect.provenance),
    )


def _beyond(seen: Flags) -> Flags:
    """Return the points outside of each category's own range of data, all of them for a category without any.

    Where no category has any, nothing sets them apart.
    """
    from_left = np.logical_or.accumulate(seen, axis=1)
    from_right = np.logical_or.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(~(from_left & from_right)) & seen.any()


def _family_panel(effect: Pair, o: int, categories: int) -> Panel:
    """Return a curve for each of the categories with the most data, over the data along the numbers."""
    place, local = feature_axis(effect, 1 - categories), isinstance(effect, LocalEffect)
    name, values = effect.feature_names[categories], effect.grid_values[categories]
    cells = _rows_of(effect, o, place, categories)
    shown = np.sort(np.argsort(-cells.weights.sum(axis=1), kind="stable")[:CURVES])
    if isinstance(effect, PartialDependence) and not in_own_order(effect, categories):
        ends = np.nan_to_num(cells.heights[shown, -1], nan=-np.inf)
        shown = shown[np.argsort(-ends, kind="stable")]  # as their curves end, the highest first
    edges = effect.grid_values[1 - categories] if local else None
    data = DataAlong(effect.support.sum(axis=categories), cells.whole, edges=edges)
    marks: list[Mark] = [*strip(place, data)] if len(place.at) > 1 else []
    marks += [Rule(0.0)] if local or effect.provenance.scale.has_zero else []
    labels = stacked([short(at_value(values[category])) for category in shown])
    for series, category in enumerate(shown.tolist()):
        texts = [f"{text}\n{name} = {at_value(values[category])}" for text in place.texts]
        of_data = shares(cells.weights[category], cells.whole)
        if local:
            of_data = [f"{share} in the bins beside it" for share in of_data]
        error = None if cells.errors is None else cells.errors[category]
        hover = hover_texts(texts, cells.unit, cells.heights[category], error, of_data)
        marks += _category_curve(place, cells, category, series, labels[series], hover)
    title = name if len(shown) == len(values) else f"{name} ({len(shown)} of {len(values):,} categories)"
    return Panel(tuple(marks), place.axis, height_axis(effect, [o]), legend="panel", legend_title=title)


def _category_curve(
    place: FeatureAxis, cells: Cells, category: int, series: int, label: str, hover: tuple[str, ...]
) -> list[Mark]:
    """Return a line that ends in a marker, or a point."""
    assert cells.off is not None
    x, y, off = place.at, cells.heights[category], cells.off[category]
    color, marker = color_of(series), marker_of(series)
    if len(x) == 1:
        return [Points(x, y, color, label, marker, hover=hover)]
    strength = np.where(off, FAINT, 1.0)
    line = Line(x, y, color, label, dash_of(series), steps=place.steps, hover=hover)
    end = Points(x[-1:], y[-1:], color, marker=marker, alpha=float(strength[-1]))
    return [replace(line, strength=strength) if off.any() else line, end]
