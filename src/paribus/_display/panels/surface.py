"""Effects of two features: contours, maps of cells, and a curve for each category of a mixed pair."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from paribus._contracts import NOMINAL, Floats, Integers
from paribus._display.figure import Contours, Heat, Mark, Panel, PanelAxis
from paribus._display.panels.axis_layout import AxisLayout, EffectLike, between, place_of, reach
from paribus._display.panels.families import family_of, family_panel, local_family_of, shown_levels
from paribus._display.panels.heat_data import HeatData, colors_of, flat, hatched, mask_of
from paribus._display.panels.labels import heights, one_line, unit, whole
from paribus._display.panels.margins import (
    asked_at,
    inner_deciles,
    text_at,
    with_margins,
)
from paribus._display.panels.tables import table_panel
from paribus._text import at_value
from paribus.errors import DrawingError
from paribus.results import LocalEffect, PartialDependence

CONTOURS = 10  # steps of color between the lowest and the highest contour, about


def surface_panel(effect: PartialDependence, o: int) -> Panel:
    """Return the panel of one output of an effect of two features; of several models their mean.

    Numbers and dates are contours, or cells where the effect is flat or has steps; categories are a map of
    cells, and a number with categories is a curve for each category.
    """
    if effect.average is None:
        raise DrawingError("individual surfaces cannot be plotted; use kind='average' or 'both'")
    _some_values(effect)
    nominal = [kind in NOMINAL for kind in effect.kinds]
    if all(nominal):
        return table_panel(effect, o)
    if any(nominal):
        family = family_of(effect, o, flip=nominal[0])
        shown = shown_levels(family, by_height=not effect.ordered[0 if nominal[0] else 1])
        return family_panel(family, shown, heights(effect, [o]), zero=effect.provenance.scale.has_zero)
    return _landscape(effect, o)


def local_surface_panel(effect: LocalEffect, o: int) -> Panel:
    """Return the panel of one output of a local effect of two features.

    Numbers are a map of the cells that have rows; a number with categories is a curve for each category.
    """
    _some_values(effect)
    words = f"joint effect on {unit(effect, [o])}"
    nominal = [kind in NOMINAL for kind in effect.kinds]
    if not any(nominal):
        return _cells(effect, o, words)
    family = local_family_of(effect, o, flip=nominal[0])
    return family_panel(family, shown_levels(family, by_height=False), PanelAxis(words), zero=True)


def _some_values(effect: EffectLike) -> None:
    for name, values in zip(effect.feature_names, effect.grid_values, strict=True):
        if not len(values):
            raise DrawingError(f"{name} has no values in the data, so there is nothing to plot")


def _landscape(effect: PartialDependence, o: int) -> Panel:
    x, y = (place_of(effect, axis, effect.support.sum(axis=1 - axis)) for axis in (0, 1))
    if min(len(x.at), len(y.at)) < 2:
        raise DrawingError("a surface needs at least two values of each feature; use to_frame()")
    known = _at_points(effect, o, x, y)
    edges = between(x.at), between(y.at)
    words = unit(effect, [o])
    values = np.where(np.isfinite(known.heights), known.heights, np.nan)
    colors, low, high = colors_of(values, zero=effect.provenance.scale.has_zero)
    map_: Mark
    if effect.provenance.at_splits or flat(values):
        map_ = _stepped(known, (x, y), edges, (colors, low, high, words))
    else:
        told = known.hover(x.texts, y.texts)
        map_ = Contours(x.at, y.at, values, _round_levels(low, high), colors, words, hover=told)
    marks = (map_, *hatched(*edges, known.off, "no row combines these"), *inner_deciles(effect, (x, y)))
    data = known.weights.sum(axis=0), known.weights.sum(axis=1)
    return with_margins(marks, (x, y), (reach(x.at), reach(y.at)), data, known.whole)


def _stepped(
    known: HeatData,
    places: tuple[AxisLayout, AxisLayout],
    edges: tuple[Floats, Floats],
    look: tuple[str, float, float, str],
) -> Heat:
    """Return a map of cells; neighbors of the same height, as between two splits of a tree, are one."""
    ends, texts = list(edges), []
    for axis, place in enumerate(places):
        known, starts = _joined(known, 1 - axis)
        ends[axis] = edges[axis][[*starts, -1]]
        told = [text_at(place, end) for end in ends[axis]]
        texts.append([f"{place.axis.label} from {a} to {b}" for a, b in pairwise(told)])
    values = np.where(np.isfinite(known.heights), known.heights, np.nan)
    return Heat(ends[0], ends[1], values, *look, hover=known.hover(*texts))


def _joined(known: HeatData, axis: int) -> tuple[HeatData, Integers]:
    """Join neighbors along an axis that are alike, and return where each of the new cells starts."""
    along = np.moveaxis(known.heights, axis, 0)
    new = (along[1:] != along[:-1]).any(axis=1)
    starts = np.flatnonzero(np.concatenate([[True], new]))
    joined = replace(
        known,
        heights=known.heights.take(starts, axis),
        errors=None if known.errors is None else known.errors.take(starts, axis),
        weights=np.add.reduceat(known.weights, starts, axis),
    )
    return joined, starts


def _at_points(effect: PartialDependence, o: int, x: AxisLayout, y: AxisLayout) -> HeatData:
    assert effect.average is not None
    at = np.ix_(asked_at(x), asked_at(y))
    errors, mask = effect.standard_error, mask_of(effect)
    return HeatData(
        effect.average[o][at].T,
        None if errors is None else errors[o][at].T,
        effect.support[at].T,
        None if mask is None else mask[at].T,
        one_line(unit(effect, [o])),
        whole(effect.provenance),
    )


def _round_levels(low: float, high: float) -> Floats:
    """Return evenly spaced round numbers from below the lowest value to above the highest.

    The first, third, fifth, ... are multiples of twice their distance: labels of every other contour are
    the rounder ones, zero among them.
    """
    power = np.floor(np.log10((high - low) / CONTOURS))
    spans = [_span(low, high, factor * 10.0**power) for factor in (1, 2, 2.5, 5, 10)]
    step, first, last = min(spans, key=lambda span: abs(span[2] - span[1] - CONTOURS))
    return np.asarray(np.round(step * np.arange(first, last + 1), int(max(0, 2 - power))))


def _span(low: float, high: float, step: float) -> tuple[float, float, float]:
    """Return a step, and between which even multiples of it values lie."""
    return step, 2 * np.floor(low / (2 * step)), 2 * np.ceil(high / (2 * step))


def _cells(effect: LocalEffect, o: int, words: str) -> Panel:
    x, y = (place_of(effect, axis, np.zeros(len(effect.grid_values[axis]))) for axis in (0, 1))
    if min(len(x.at), len(y.at)) < 2:
        raise DrawingError("a surface needs at least two values of each feature; use to_frame()")
    # What is beyond the data is put together from other cells, and would drown the colors of the rest.
    known = HeatData(
        np.where(effect.empty, np.nan, _middles(effect.ale[o])).T,
        _middles(effect.standard_error[o]).T,
        effect.support.T,
        effect.empty.T,
        one_line(words),
        whole(effect.provenance),
    )
    shown = np.where(np.isfinite(known.heights), known.heights, np.nan)
    texts = [_ranges(effect, axis) for axis in (0, 1)]
    colors, low, high = colors_of(shown, zero=True)
    heat = Heat(x.at, y.at, shown, colors, low, high, words, hover=known.hover(*texts))
    marks = (heat, *hatched(x.at, y.at, known.off, "no rows"))
    data = effect.support.sum(axis=1), effect.support.sum(axis=0)
    return with_margins(marks, (x, y), (x.at, y.at), data, known.whole)


def _middles(corners: Floats) -> Floats:
    """Return the value of each cell: the average of its corners; of errors, no less than its error."""
    return np.asarray((corners[1:, 1:] + corners[1:, :-1] + corners[:-1, 1:] + corners[:-1, :-1]) / 4)


def _ranges(effect: LocalEffect, axis: int) -> list[str]:
    """Return the cells along an axis in words."""
    values = [at_value(value) for value in effect.grid_values[axis]]
    name = effect.feature_names[axis]
    return [f"{name} from {a} to {b}" for a, b in pairwise(values)]
