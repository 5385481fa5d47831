"""A number with categories: a curve for each category."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._display.figure import Line, Mark, Panel, PanelAxis, Points, Rule, Strip
from paribus._display.panels.axis_layout import AxisLayout, place_of, reach, short, stacked
from paribus._display.panels.heat_data import mask_of
from paribus._display.panels.labels import height, one_line, share, whole
from paribus._display.panels.margins import asked_at, density
from paribus._display.style import color_of, dash_of, marker_of
from paribus._text import at_value
from paribus.results import LocalEffect, PartialDependence

LEVELS = 12  # that have a curve
CUT = 0.25  # of its color that a curve keeps where its category has no data


@dataclass(frozen=True, eq=False)
class CurveFamily:
    """One curve per category: heights, errors, weights and whether outside the data, all ``(l, g)``.

    ``cells (l, c)`` is the data of each category between ``edges``; ``beside`` follows the share of it that a
    pointer shows.
    """

    numbers: AxisLayout
    name: str
    levels: tuple[str, ...]
    heights: Floats
    errors: Floats | None
    weights: Floats
    off: Flags
    cells: Floats
    edges: Floats
    whole: float
    beside: str = ""


def family_of(effect: PartialDependence, o: int, *, flip: bool) -> CurveFamily:
    """Return the curves of one output of an effect, one for each category."""
    assert effect.average is not None

    def by_level(array: Array) -> Array:
        return (array if flip else array.T)[:, picked]

    levels, numeric = (0, 1) if flip else (1, 0)
    numbers = place_of(effect, numeric, effect.support.sum(axis=levels))
    picked = asked_at(numbers)
    weights, mask = by_level(effect.support), mask_of(effect)
    off = _beyond(weights > 0)
    return CurveFamily(
        numbers,
        effect.feature_names[levels],
        tuple(at_value(value) for value in effect.grid_values[levels]),
        by_level(effect.average[o]),
        None if effect.standard_error is None else by_level(effect.standard_error[o]),
        weights,
        off if mask is None else off | by_level(mask),
        weights,
        reach(numbers.at),
        whole(effect.provenance),
    )


def local_family_of(effect: LocalEffect, o: int, *, flip: bool) -> CurveFamily:
    """Return the curves of one output of a local effect, one for each category."""
    levels, numeric = (0, 1) if flip else (1, 0)
    bins = effect.support if flip else effect.support.T
    # A value is the end of one bin and the beginning of the next.
    beside = np.pad(bins, ((0, 0), (0, 1))) + np.pad(bins, ((0, 0), (1, 0)))
    numbers = place_of(effect, numeric, beside.sum(axis=0))
    return CurveFamily(
        numbers,
        effect.feature_names[levels],
        tuple(at_value(value) for value in effect.grid_values[levels]),
        effect.ale[o] if flip else effect.ale[o].T,
        effect.standard_error[o] if flip else effect.standard_error[o].T,
        beside,
        _beyond(beside > 0),
        bins,
        numbers.at,
        whole(effect.provenance),
        " in the bins beside it",
    )


def _beyond(seen: Flags) -> Flags:
    """Return the points outside of each category's own range of data, all of them for a category without any.

    Where no category has any, nothing sets them apart.
    """
    if not seen.any():
        return np.zeros_like(seen)
    from_left = np.logical_or.accumulate(seen, axis=1)
    from_right = np.logical_or.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(~(from_left & from_right))


def shown_levels(family: CurveFamily, *, by_height: bool) -> Integers:
    """Return the categories with the most data, in their order or as their curves end, the highest first."""
    shown = np.sort(np.argsort(-family.cells.sum(axis=1), kind="stable")[:LEVELS])
    if not by_height:
        return shown
    ends = np.nan_to_num(family.heights[shown, -1], nan=-np.inf)
    return np.asarray(shown[np.argsort(-ends, kind="stable")])


def family_panel(family: CurveFamily, shown: Integers, y: PanelAxis, *, zero: bool) -> Panel:
    """Return a curve for each category that is shown, over the data along the numbers."""
    marks: list[Mark] = [*_strip(family), *([Rule(0.0)] if zero else [])]
    names = stacked([short(family.levels[level]) for level in shown])
    for series, level in enumerate(shown.tolist()):
        marks += _curve(family, level, series, names[series], _told(family, level, one_line(y.label)))
    title, count = family.name, len(family.levels)
    if len(shown) < count:
        title += f" ({len(shown)} of {count:,} categories)"
    return Panel(tuple(marks), family.numbers.axis, y, legend="panel", legend_title=title)


def _strip(family: CurveFamily) -> list[Strip]:
    """Return how dense the data is along the numbers, at all categories together."""
    if len(family.numbers.at) < 2 or not family.cells.any():
        return []
    bars = density(family.numbers, family.edges, family.cells.sum(axis=0), family.whole)
    return [Strip(bars.at, bars.length, bars.width, float(bars.length.max()), hover=bars.hover)]


def _curve(family: CurveFamily, level: int, series: int, label: str, told: tuple[str, ...]) -> list[Mark]:
    x, y = family.numbers.at, np.asarray(family.heights[level])
    color, marker = color_of(series), marker_of(series)
    strength = np.where(family.off[level], CUT, 1.0)
    if len(x) == 1:
        return [Points(x, y, color, label, marker, hover=told)]
    line = Line(
        x,
        y,
        color,
        label,
        dash_of(series),
        steps=family.numbers.steps,
        strength=strength if family.off[level].any() else None,
        hover=told,
    )
    return [line, Points(x[-1:], y[-1:], color, marker=marker, alpha=float(strength[-1]))]


def _told(family: CurveFamily, level: int, name: str) -> tuple[str, ...]:
    errors = family.errors
    return tuple(
        "\n".join(
            [
                words,
                f"{family.name} = {family.levels[level]}",
                height(
                    name, float(family.heights[level, g]), None if errors is None else float(errors[level, g])
                ),
                share(float(family.weights[level, g]), family.whole) + family.beside,
            ]
        )
        for g, words in enumerate(family.numbers.texts)
    )
