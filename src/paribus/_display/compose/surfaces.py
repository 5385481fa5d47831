"""Panels of effects of two features: contours, heat maps, and curves by category."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from paribus._contracts import NOMINAL, Array, Flags, Floats
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
        names = [f"{x}\n{y}" for y in up for x in across]
        errors = None if self.errors is None else self.errors.ravel()
        of_data = shares(self.weights.ravel(), self.whole)
        texts = hover_texts(names, self.unit, self.heights.ravel(), errors, of_data)
        return tuple(texts[first : first + len(across)] for first in range(0, len(texts), len(across)))

    def heat(self, edges: Edges, colors: Colors, hover: Texts, written: Texts = ()) -> Heat:
        """Return the heat map of the cells."""
        (x, y), (name, low, high) = edges, colors
        return Heat(x, y, self.colored, name, low, high, self.unit, written, hover)


def _pooled(values: Floats, support: Floats, x: FeatureAxis, y: FeatureAxis) -> Floats:
    """Return values ``(y, x)`` of cells, weighted averages where categories share a position."""
    if all(len(group) == 1 for group in (*x.groups, *y.groups)):
        return np.asarray(values[np.ix_(np.concatenate(x.groups), np.concatenate(y.groups))].T)
    averages = np.empty((len(y.groups), len(x.groups)))
    for row, column in np.ndindex(averages.shape):
        cell = np.ix_(x.groups[column], y.groups[row])
        heights, weights = values[cell], support[cell]
        supported = weights > 0
        if heights.size == 1:
            averages[row, column] = heights[0, 0]
        elif supported.any():
            averages[row, column] = np.average(heights[supported], weights=weights[supported])
        else:
            averages[row, column] = heights.mean()
    return averages


def _map_panel(effect: Pair, o: int) -> Panel:
    """Return the colored panel of two numeric or two categorical features, with the data along both axes."""
    x, y = _map_axis(effect, o, 0), _map_axis(effect, o, 1)
    support, whole, unit = effect.support, whole_of(effect.provenance), height_axis(effect, [o]).label
    bins: tuple[Array | None, ...] = (None, None)
    rugs: list[Mark] = []
    if isinstance(effect, AccumulatedLocalEffect):
        edges, off, bins = (x.at, y.at), "no rows", effect.grid_values
        weights = support.sum(axis=1), support.sum(axis=0)
        # Averages over the four corners of each bin. Those of standard errors are upper bounds.
        corners = (effect.ale[o], effect.standard_error[o])
        heights, errors = ((c[1:, 1:] + c[1:, :-1] + c[:-1, 1:] + c[:-1, :-1]) / 4 for c in corners)
        # Extrapolated values of bins without rows would dominate the color map.
        heights = np.where(effect.empty, np.nan, heights)
        cells = Cells(heights.T, errors.T, support.T, effect.empty.T, unit, whole)
    else:
        assert effect.average is not None
        edges, off = (x.edges, y.edges), "no row combines these"
        rugs += [*rug(x, effect.deciles[0]), *rug(y, effect.deciles[1], "y")]
        # Rows of a duplicated grid value count once.
        weights = y.total(support).sum(axis=1), x.total(support.T).sum(axis=1)
        pooled_errors = unsupported = None
        if effect.standard_error is not None:
            pooled_errors = _pooled(effect.standard_error[o], support, x, y)
        mask = None if effect.extrapolation is None else effect.extrapolation.mask
        if mask is not None:
            unsupported = x.total(y.total((~mask).astype(float)).T) == 0
        pooled = _pooled(effect.average[o], support, x, y)
        cells = Cells(pooled, pooled_errors, x.total(y.total(support).T), unsupported, unit, whole)
    hatch = [Hatch(*edges, cells.off, off)] if cells.off is not None and cells.off.any() else []
    x_axis = replace(x.axis, low=float(edges[0][0]), high=float(edges[0][-1]))
    y_axis = replace(y.axis, low=float(edges[1][0]), high=float(edges[1][-1]))
    top = _margin_panel(x_axis, histogram(x, DataAlong(weights[0], cells.whole, edges=bins[0])))
    right = _margin_panel(y_axis, histogram(y, DataAlong(weights[1], cells.whole, edges=bins[1])), lying=True)
    marks = _colored_mark(effect, x, y, edges, cells), *hatch, *rugs
    return Panel(marks, x_axis, y_axis, right=() if right is None else (right,), top=top)


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
    sort_key, other = None, effect.support.sum(axis=axis)
    if not in_own_order(effect, axis):
        values = np.where(np.isfinite(effect.average[o]), effect.average[o], 0.0)
        sort_key = np.average(values, axis=1 - axis, weights=other if other.any() else None)
    place = feature_axis(effect, axis, effect.support.sum(axis=1 - axis), sort_key)
    if axis == 0:
        return place
    names = zip(place.at.tolist(), stacked(place.labels or ()), strict=True)
    return replace(place, axis=replace(place.axis, ticks=tuple(names), turned=False))


def _stepped(cells: Cells, axes: tuple[FeatureAxis, FeatureAxis], edges: Edges, colors: Colors) -> Heat:
    """Return a heat map in which rows and columns with equal heights, as between two splits, are merged."""
    ends, texts = list(edges), []
    for feature, place in enumerate(axes):
        axis = 1 - feature  # of the cells (y, x)
        along = np.moveaxis(cells.heights, axis, 0)
        changes = (along[1:] != along[:-1]).any(axis=1)
        starts = np.flatnonzero(np.concatenate([[True], changes]))
        cells = replace(
            cells,
            heights=cells.heights.take(starts, axis),
            errors=None if cells.errors is None else cells.errors.take(starts, axis),
            weights=np.add.reduceat(cells.weights, starts, axis),
        )
        ends[feature] = edges[feature][[*starts, -1]]
        texts.append(place.ranges(ends[feature]))
    return cells.heat((ends[0], ends[1]), colors, cells.hover(*texts))


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
    styles = [".3g"]
    if not flat(values):  # decimal, else scientific
        finest = int(np.floor(np.log10(np.nanmax(values) - np.nanmin(values)))) - 1
        largest = int(np.floor(np.log10(np.nanmax(np.abs(values)))))
        styles = [f",.{max(0, -finest)}f", f".{largest - finest}e"]
    for style in styles:
        texts = [f"{value:{style}}".replace("e+0", "e") for value in values.ravel().tolist()]
        if max(map(len, texts)) <= WRITTEN_CHARACTERS:
            # A zero has no sign.
            unsigned = [text if text.strip("-0.,") else text.removeprefix("-") for text in texts]
            written = np.where(legible, np.reshape(unsigned, values.shape), "")
            return tuple(map(tuple, written.tolist()))
    return ()


def flat(values: Floats) -> bool:
    """Return whether values are constant up to rounding."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return True
    return bool(np.ptp(finite) <= max(ROUNDING * float(np.abs(finite).max()), NOTHING))


def colors_of(values: Floats, *, zero: bool) -> Colors:
    """Return the color map of values and its limits, which are symmetric with ``zero``."""
    finite = values[np.isfinite(values)]
    if zero:
        largest = float(np.abs(finite).max(initial=0.0))
        largest = largest if largest > NOTHING else 1.0
        return DIVERGING, -largest, largest
    if flat(values):  # limits that are readable numbers
        middle = float(finite.mean()) if len(finite) else 0.0
        aside = 0.1 * abs(middle) if abs(middle) > NOTHING else 1.0
        return SEQUENTIAL, middle - aside, middle + aside
    return SEQUENTIAL, float(finite.min()), float(finite.max())


def _margin_panel(axis: PanelAxis, bars_of_data: list[Strip], *, lying: bool = False) -> Panel | None:
    """Return the narrow panel of the data next to an axis; None without data."""
    if not bars_of_data:
        return None
    (data,) = bars_of_data
    bars = Bars(data.at, data.height, data.width, INK, alpha=0.35, hover=data.hover)
    along = replace(axis, label="", numbers=False)
    height = PanelAxis(scale="none", low=0.0, high=1.05 * data.most)
    if lying:
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
    # Points outside of the range of data of each category, which are all points of a category without data.
    seen = weights > 0
    from_left = np.logical_or.accumulate(seen, axis=1)
    from_right = np.logical_or.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    off = ~(from_left & from_right) & seen.any()
    return Cells(
        heights[o].transpose(order)[:, picked],
        None if errors is None else errors[o].transpose(order)[:, picked],
        weights[:, picked],
        (off if mask is None else off | mask.transpose(order))[:, picked],
        height_axis(effect, [o]).label,
        whole_of(effect.provenance),
    )


def _family_panel(effect: Pair, o: int, categories: int) -> Panel:
    """Return a curve for each of the most frequent categories, above the strip of data."""
    place, local = feature_axis(effect, 1 - categories), isinstance(effect, AccumulatedLocalEffect)
    name, values = effect.feature_names[categories], effect.grid_values[categories]
    cells = _rows_of(effect, o, place, categories)
    shown = np.sort(np.argsort(-cells.weights.sum(axis=1), kind="stable")[:CURVES])
    if isinstance(effect, PartialDependence) and not in_own_order(effect, categories):
        # In the order of the right ends of their curves, the highest first.
        ends = np.nan_to_num(cells.heights[shown, -1], nan=-np.inf)
        shown = shown[np.argsort(-ends, kind="stable")]
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
        x, y = place.at, cells.heights[category]
        color, marker = color_of(series), marker_of(series)
        if len(x) == 1:
            marks.append(Points(x, y, color, labels[series], marker, hover=hover))
            continue
        assert cells.off is not None
        supported = ~cells.off[category]
        if not supported.any():  # without any data there is nothing to tell apart
            supported = ~supported
        heights = np.where(supported, y, np.nan)
        line = Line(x, heights, color, labels[series], dash_of(series), steps=place.steps, hover=hover)
        last = np.flatnonzero(supported)[-1:]
        marks += [line, Points(x[last], y[last], color, marker=marker)]
    title = name if len(shown) == len(values) else f"{name} ({len(shown)} of {len(values):,} categories)"
    return Panel(tuple(marks), place.axis, height_axis(effect, [o]), legend="panel", legend_title=title)
