"""Panels of effects of two features: contours, heat maps, and curves by category."""

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
from paribus._display.compose.curves import DataAlong, histogram, rug, strip
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
from paribus.results import AccumulatedLocalEffect, PartialDependence

Pair: TypeAlias = PartialDependence | AccumulatedLocalEffect
Edges: TypeAlias = tuple[Floats, Floats]
Texts: TypeAlias = tuple[tuple[str, ...], ...]
Colors: TypeAlias = tuple[str, float, float]  # the name of a color map, and its ends

CONTOURS = 10  # approximate number of colors between contour levels
ROUNDING = 1e-9  # of the largest value: a smaller range counts as flat
NOTHING = 1e-13  # in units of the prediction: smaller values count as zero
HOVERED = 10_000  # cells with hover texts, at most; more would make a page of tens of megabytes
WRITTEN = 64  # cells with numbers, at most
WRITTEN_ABREAST = 12  # such cells in a row or column, at most
WRITTEN_CHARACTERS = 10  # characters of a number in a cell, at most
CURVES = 12  # categories with a curve, at most


def surface_panel(effect: Pair, o: int) -> Panel:
    """Return the panel of one output of an effect of two features; several models are averaged.

    Two numeric features have contours, or a heat map if the effect is flat, a step function or binned. Two
    features of few values, such as categories, have a heat map. One of few values and one of many have a
    curve for each of the few.
    """
    if isinstance(effect, PartialDependence) and effect.average is None:
        raise DrawingError("individual surfaces cannot be plotted; use kind='average' or 'both'")
    for name, values in zip(effect.feature_names, effect.grid_values, strict=True):
        if not len(values):
            raise DrawingError(f"{name} has no values in the data, so there is nothing to plot")
    discrete = [kind in NOMINAL for kind in effect.kinds]
    if isinstance(effect, PartialDependence):
        discrete = [feature_axis(effect, axis).categorical for axis in (0, 1)]
    if discrete[0] != discrete[1]:
        return _family_panel(effect, o, 0 if discrete[0] else 1)
    return _map_panel(effect, o)


@dataclass(frozen=True, eq=False)
class Cells:
    """Values of cells ``(y, x)``: heights, errors, weights of the data, and whether a cell is unsupported.

    ``unit`` is the label of heights, and ``whole`` the weight of all rows.
    """

    heights: Floats
    errors: Floats | None
    weights: Floats
    off: Flags | None
    unit: str
    whole: float

    @property
    def colored(self) -> Floats:
        """Heights, with NaN instead of infinite values."""
        return np.where(np.isfinite(self.heights), self.heights, np.nan)

    def hover(self, across: Sequence[str], up: Sequence[str]) -> Texts:
        """Return the hover text of each cell; none if there are more than `HOVERED` cells."""
        if self.heights.size > HOVERED:
            return ()
        texts = [f"{x}\n{y}" for y in up for x in across]
        errors = None if self.errors is None else self.errors.ravel()
        of_data = shares(self.weights.ravel(), self.whole)
        every = hover_texts(texts, self.unit, self.heights.ravel(), errors, of_data)
        return tuple(every[first : first + len(across)] for first in range(0, len(every), len(across)))

    def heat(self, edges: Edges, colors: Colors, hover: Texts, written: Texts = ()) -> Heat:
        """Return the heat map of the cells."""
        (x, y), (name, low, high) = edges, colors
        return Heat(x, y, self.colored, name, low, high, self.unit, written, hover)


def _cells_of(effect: PartialDependence, o: int, x: FeatureAxis, y: FeatureAxis) -> Cells:
    """Return the cells of a partial dependence at each pair of positions."""
    assert effect.average is not None
    mask = None if effect.extrapolation is None else effect.extrapolation.mask
    errors = effect.standard_error
    return Cells(
        _pooled(effect.average[o], effect.support, x, y),
        None if errors is None else _pooled(errors[o], effect.support, x, y),
        x.total(y.total(effect.support).T),
        None if mask is None else x.total(y.total((~mask).astype(float)).T) == 0,
        height_axis(effect, [o]).label,
        whole_of(effect.provenance),
    )


def _pooled(values: Floats, support: Floats, x: FeatureAxis, y: FeatureAxis) -> Floats:
    """Return values ``(y, x)`` of cells, weighted averages where categories share a position."""
    if all(len(group) == 1 for group in (*x.groups, *y.groups)):
        return np.asarray(values[np.ix_(np.concatenate(x.groups), np.concatenate(y.groups))].T)
    cells = ((np.ix_(i, j) for i in x.groups) for j in y.groups)
    return np.array([[_cell_average(values[cell], support[cell]) for cell in row] for row in cells])


def _cell_average(values: Floats, weights: Floats) -> float:
    if values.size == 1:
        return float(values[0, 0])
    some = weights > 0
    return float(np.average(values[some], weights=weights[some]) if some.any() else values.mean())


def _map_panel(effect: Pair, o: int) -> Panel:
    """Return the colored panel of two numeric or two categorical features, with the data along both axes."""
    x, y = _map_axis(effect, o, 0), _map_axis(effect, o, 1)
    bins: tuple[Array | None, ...] = (None, None)
    rugs: list[Mark] = []
    if isinstance(effect, AccumulatedLocalEffect):
        cells, edges, off = _bins_of(effect, o), (x.at, y.at), "no rows"
        bins, weights = effect.grid_values, (effect.support.sum(axis=1), effect.support.sum(axis=0))
    else:
        cells, edges, off = _cells_of(effect, o, x, y), (x.edges, y.edges), "no row combines these"
        rugs += [*rug(x, effect.deciles[0]), *rug(y, effect.deciles[1], "y")]
        # Rows of a duplicated grid value count once.
        weights = y.total(effect.support).sum(axis=1), x.total(effect.support.T).sum(axis=1)
    hatch = [Hatch(*edges, cells.off, off)] if cells.off is not None and cells.off.any() else []
    panel = Panel(
        (_colored_mark(effect, x, y, edges, cells), *hatch, *rugs),
        replace(x.axis, low=float(edges[0][0]), high=float(edges[0][-1])),
        replace(y.axis, low=float(edges[1][0]), high=float(edges[1][-1])),
    )
    top, *right = (
        _margin_panel(axis, histogram(place, DataAlong(weight, cells.whole, edges=ends)), place is y)
        for axis, place, weight, ends in zip((panel.x, panel.y), (x, y), weights, bins, strict=True)
    )
    return replace(panel, right=tuple(filter(None, right)), top=top)


def _colored_mark(effect: Pair, x: FeatureAxis, y: FeatureAxis, edges: Edges, cells: Cells) -> Mark:
    """Return contours, or a heat map for categories, bins, and effects that are flat or step functions."""
    local, scale = isinstance(effect, AccumulatedLocalEffect), effect.provenance.scale
    colors = colors_of(cells.colored, zero=local or scale.has_zero)
    if local:
        return cells.heat(edges, colors, cells.hover(x.ranges(x.at), y.ranges(y.at)))
    discrete = x.discrete and y.discrete
    if not discrete and (effect.provenance.at_splits or flat(cells.colored)):
        return _stepped(cells, (x, y), edges, colors)
    hover = cells.hover(x.texts, y.texts)
    if discrete:
        return cells.heat(edges, colors, hover, _cell_numbers_text(cells.colored, cells.off))
    name, low, high = colors
    return Contours(x.at, y.at, cells.colored, _round_levels(low, high), name, cells.unit, hover)


def _map_axis(effect: Pair, o: int, axis: int) -> FeatureAxis:
    """Return the axis of a feature; unordered categories are sorted by their average effect."""
    place = feature_axis(effect, axis)
    if not place.categorical and len(place.at) < 2:
        raise DrawingError("a surface needs at least two values of each feature; use to_frame()")
    if isinstance(effect, AccumulatedLocalEffect) or not place.categorical:
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


def _bins_of(effect: AccumulatedLocalEffect, o: int) -> Cells:
    """Return the cells of accumulated local effects: averages over the four corners of each bin.

    Bins without rows are NaN, because their extrapolated values would dominate the color map. The averaged
    standard errors are upper bounds.
    """
    corners = (effect.ale[o], effect.standard_error[o])
    heights, errors = ((c[1:, 1:] + c[1:, :-1] + c[:-1, 1:] + c[:-1, :-1]) / 4 for c in corners)
    heights = np.where(effect.empty, np.nan, heights)
    unit, whole = height_axis(effect, [o]).label, whole_of(effect.provenance)
    return Cells(heights.T, errors.T, effect.support.T, effect.empty.T, unit, whole)


def _stepped(cells: Cells, axes: tuple[FeatureAxis, FeatureAxis], edges: Edges, colors: Colors) -> Heat:
    """Return a heat map in which rows and columns with equal heights, as between two splits, are merged."""
    ends, texts = list(edges), []
    for axis, place in enumerate(axes):
        cells, starts = _merge_equal_cells(cells, 1 - axis)
        ends[axis] = edges[axis][[*starts, -1]]
        texts.append(place.ranges(ends[axis]))
    return cells.heat((ends[0], ends[1]), colors, cells.hover(*texts))


def _merge_equal_cells(cells: Cells, axis: int) -> tuple[Cells, Integers]:
    """Merge neighboring cells with equal heights along an axis; return the cells and their first indices."""
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
    """Return evenly spaced round levels that enclose ``low`` and ``high``.

    The first, third, fifth, ... level is a multiple of twice the step. So the labeled levels are rounder, and
    zero is among them.
    """
    power = np.floor(np.log10((high - low) / CONTOURS))
    steps = [factor * 10.0**power for factor in (1, 2, 2.5, 5, 10)]
    spans = [(step, 2 * np.floor(low / (2 * step)), 2 * np.ceil(high / (2 * step))) for step in steps]
    step, first, last = min(spans, key=lambda span: abs(span[2] - span[1] - CONTOURS))
    return np.asarray(np.round(step * np.arange(first, last + 1), int(max(0, 2 - power))))


def _cell_numbers_text(values: Floats, off: Flags | None) -> Texts:
    """Return the numbers in cells with enough decimals to distinguish them; empty if there is no space.

    Hatched cells have no number.
    """
    if values.size > WRITTEN or max(values.shape) > WRITTEN_ABREAST:
        return ()
    legible = np.isfinite(values) if off is None else np.isfinite(values) & ~off
    for style in _number_styles(values):
        texts = [[f"{value:{style}}".replace("e+0", "e") for value in row] for row in values.tolist()]
        if max(len(text) for row in texts for text in row) <= WRITTEN_CHARACTERS:
            pairs = (zip(*row, strict=True) for row in zip(texts, legible, strict=True))
            return tuple(
                tuple(
                    ""
                    if not there
                    else text
                    if text.strip("-0.,")
                    else text.removeprefix("-")  # zero: no sign
                    for text, there in row
                )
                for row in pairs
            )
    return ()


def _number_styles(values: Floats) -> Iterator[str]:
    """Yield formats with enough digits to distinguish the values: decimal, then scientific."""
    if flat(values):
        yield ".3g"
        return
    finest = int(np.floor(np.log10(np.nanmax(values) - np.nanmin(values)))) - 1
    largest = int(np.floor(np.log10(np.nanmax(np.abs(values)))))
    yield f",.{max(0, -finest)}f"
    yield f".{largest - finest}e"


def flat(values: Floats) -> bool:
    """Return whether values are constant up to rounding."""
    known = values[np.isfinite(values)]
    if not len(known):
        return True
    return bool(np.ptp(known) <= max(ROUNDING * float(np.abs(known).max()), NOTHING))


def colors_of(values: Floats, *, zero: bool) -> Colors:
    """Return the color map of values and its limits, which are symmetric with ``zero``."""
    known = values[np.isfinite(values)]
    if zero:
        largest = float(np.abs(known).max(initial=0.0))
        largest = largest if largest > NOTHING else 1.0
        return DIVERGING, -largest, largest
    if flat(values):  # limits that are readable numbers
        middle = float(known.mean()) if len(known) else 0.0
        aside = 0.1 * abs(middle) if abs(middle) > NOTHING else 1.0
        return SEQUENTIAL, middle - aside, middle + aside
    return SEQUENTIAL, float(known.min()), float(known.max())


def _margin_panel(axis: PanelAxis, bars_of_data: list[Strip], horizontal: bool) -> Panel | None:
    """Return the narrow panel of the data next to an axis; None without data."""
    if not bars_of_data:
        return None
    (data,) = bars_of_data
    bars = Bars(data.at, data.height, data.width, INK, alpha=0.35, hover=data.hover)
    along = replace(axis, label="", numbers=False)
    height = PanelAxis(scale="none", low=0.0, high=1.05 * data.most)
    if horizontal:
        return Panel((replace(bars, horizontal=True),), height, along)
    return Panel((bars,), along, height)


def _rows_of(effect: Pair, o: int, place: FeatureAxis, categories: int) -> Cells:
    """Return the cells of a mixed pair, with a row for each category; ``categories`` is its axis."""
    picked, order = np.concatenate(place.groups), (categories, 1 - categories)
    mask, weights, errors = None, effect.support.transpose(order), effect.standard_error
    if isinstance(effect, AccumulatedLocalEffect):
        # The weight at a grid value is that of the two bins next to it.
        heights, weights = effect.ale, np.pad(weights, ((0, 0), (0, 1))) + np.pad(weights, ((0, 0), (1, 0)))
    else:
        assert effect.average is not None
        heights = effect.average
        mask = None if effect.extrapolation is None else effect.extrapolation.mask
    off = _outside_category_range(weights > 0)
    return Cells(
        heights[o].transpose(order)[:, picked],
        None if errors is None else errors[o].transpose(order)[:, picked],
        weights[:, picked],
        (off if mask is None else off | mask.transpose(order))[:, picked],
        height_axis(effect, [o]).label,
        whole_of(effect.provenance),
    )


def _outside_category_range(seen: Flags) -> Flags:
    """Return the points outside of the range of data of each category ``(categories, points)``.

    All points of a category without data are outside. If there is no data at all, none are.
    """
    from_left = np.logical_or.accumulate(seen, axis=1)
    from_right = np.logical_or.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(~(from_left & from_right)) & seen.any()


def _family_panel(effect: Pair, o: int, categories: int) -> Panel:
    """Return a curve for each of the most frequent categories, above the strip of data."""
    place, local = feature_axis(effect, 1 - categories), isinstance(effect, AccumulatedLocalEffect)
    name, values = effect.feature_names[categories], effect.grid_values[categories]
    cells = _rows_of(effect, o, place, categories)
    shown = np.sort(np.argsort(-cells.weights.sum(axis=1), kind="stable")[:CURVES])
    if isinstance(effect, PartialDependence) and not in_own_order(effect, categories):
        ends = np.nan_to_num(cells.heights[shown, -1], nan=-np.inf)
        shown = shown[
            np.argsort(-ends, kind="stable")
        ]  # in the order of the right ends of their curves, the highest first
    edges = effect.grid_values[1 - categories] if local else None
    data = DataAlong(effect.support.sum(axis=categories), cells.whole, edges=edges)
    marks: list[Mark] = [*strip(place, data)] if len(place.at) > 1 else []
    marks += [Rule(0.0)] if local or effect.provenance.scale.has_zero else []
    labels = stacked([short(at_value(values[category])) for category in shown])
    for series, category in enumerate(shown.tolist()):
        texts = [f"{text}\n{name} = {at_value(values[category])}" for text in place.texts]
        of_data = shares(cells.weights[category], cells.whole)
        if local:
            of_data = [f"{share} in the bins next to it" for share in of_data]
        error = None if cells.errors is None else cells.errors[category]
        hover = hover_texts(texts, cells.unit, cells.heights[category], error, of_data)
        marks += _category_curve(place, cells, category, series, labels[series], hover)
    title = name if len(shown) == len(values) else f"{name} ({len(shown)} of {len(values):,} categories)"
    return Panel(tuple(marks), place.axis, height_axis(effect, [o]), legend="panel", legend_title=title)


def _category_curve(
    place: FeatureAxis, cells: Cells, category: int, series: int, label: str, hover: tuple[str, ...]
) -> list[Mark]:
    """Return the line of a category where it has data and a marker at its end; a single value is a point."""
    assert cells.off is not None
    x, y, known = place.at, cells.heights[category], ~cells.off[category]
    color, marker = color_of(series), marker_of(series)
    if len(x) == 1:
        return [Points(x, y, color, label, marker, hover=hover)]
    known = known if known.any() else ~known  # without any data there is nothing to tell apart
    line = Line(x, np.where(known, y, np.nan), color, label, dash_of(series), steps=place.steps, hover=hover)
    last = np.flatnonzero(known)[-1:]
    return [line, Points(x[last], y[last], color, marker=marker)]
