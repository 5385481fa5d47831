"""Several estimates for one feature on one axis: methods, averages, models, slices of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats
from paribus._data.kinds import objects
from paribus._display.figure import Band, Dash, Line, Mark, Marker, Panel, PanelAxis, Points, Rule
from paribus._display.panels.ale_curves import local_curves, local_data
from paribus._display.panels.axis_layout import AxisLayout, levels_of, numbers_of, on_the_same, place_of
from paribus._display.panels.curves import Curve, CurveData, curve_panel, dodged, missing_panel
from paribus._display.panels.effect import effect_curves
from paribus._display.panels.effect import sorted_by as effect_sorted_by
from paribus._display.panels.labels import height as written_height
from paribus._display.panels.labels import heights, unit, whole
from paribus._display.runs import stretches
from paribus._display.style import PALETTE, color_of, dash_of, marker_of
from paribus.results import Comparison, Difference, LocalEffect, Marginal, PartialDependence

Part: TypeAlias = PartialDependence | LocalEffect | Marginal

# What each estimate is called, and how it looks.
LOOKS: dict[str, tuple[str, str, Dash, Marker]] = {
    "effect": ("partial dependence", PALETTE[0], "solid", "circle"),
    "local": ("accumulated local effects", PALETTE[1], "dashed", "diamond"),
    "predicted": ("average prediction of rows here", PALETTE[2], "dashdot", "square"),
    "observed": ("average observed of rows here", PALETTE[3], "dotted", "cross"),
}
AVERAGES = ("predicted", "observed")


def comparison_panel(comparison: Comparison, o: int) -> Panel:
    """Return the estimates there are for one output, on the axis of the partial dependence."""
    effect, local, marginal = comparison.effect, comparison.local, comparison.marginal
    place = place_of(effect, 0, effect.support, by=sorted_by(effect, o))
    curves = [_looking(effect_curves(effect, [o])[0], "effect")]
    if local is not None and comparison.local_offset is not None:
        laid = local_curves(local, [o], float(comparison.local_offset[o]))[0]
        curves.append(_elsewhere(_looking(laid, "local"), place, effect, local))
    if marginal is not None:
        curves += [_elsewhere(curve, place, effect, marginal) for curve in marginal_curves(marginal, o)]
    return _laid(place, curves, data_of(effect), heights(effect, [o]))


def marginal_panel(marginal: Marginal, o: int) -> Panel:
    """Return the averages of one output."""
    place = place_of(marginal, 0, marginal.support, by=sorted_by(marginal, o))
    curves = marginal_curves(marginal, o)
    return _laid(place, curves, data_of(marginal), heights(marginal, [o]))


def overlay_panel(parts: Mapping[str, Part], o: int) -> Panel:
    """Return the same estimate by several models, or of several slices of the data, for one output.

    What lies along the bottom is the data that all have in common: slices have none.
    """
    first, *others = parts.values()
    values, place = _together([first, *others], o)
    curves: list[Curve] = []
    for series, (name, part) in enumerate(parts.items()):
        own = on_the_same(place, values, part, _weights(part))
        for curve in _answers(part, o):
            laid = replace(curve, name=name, label=f"{name}{curve.label}", place=own, data=data_of(part))
            curves.append(replace(laid, color=color_of(series), **_told_apart(curve, series)))
    alike = all(part.provenance.fingerprint == first.provenance.fingerprint for part in others)
    data = data_of(first) if alike and len(values) == len(first.grid_values[0]) else None
    local = isinstance(first, LocalEffect)
    y = PanelAxis(f"effect on {unit(first, [o])}") if local else heights(first, [o])
    return _laid(place, curves, data, y)


def difference_panel(found: Difference, o: int) -> Panel:
    """Return the difference of two parts for one output, around zero."""
    by = None if found.ordered[0] else found.difference[o]
    place = place_of(found, 0, np.zeros(len(found.grid_values[0])), by=by)
    heights, errors = place.average(found.difference[o]), place.average(found.standard_error[o])
    color, label = color_of(0), "difference ± 2 standard errors"
    points = zip(place.texts, heights, errors, strict=True)
    hover = tuple(
        f"{text}\n{written_height('difference', float(y), float(error))}" for text, y, error in points
    )
    marks: list[Mark] = [Rule(0.0)]
    if place.levels or len(place.at) == 1:
        marks.append(Points(place.at, heights, color, label, error=2 * errors, hover=hover))
    else:
        for run in stretches(np.isfinite(heights + errors)):
            low, high = (heights[run] + side * errors[run] for side in (-2, 2))
            marks.append(Band(place.at[run], low, high, color))
        marks.append(Line(place.at, heights, color, label, hover=hover))
    words = f"{found.part} less {found.reference}: {unit(found, [o])}"
    panel = Panel(tuple(marks), place.axis, PanelAxis(words))
    if found.missing_difference is None or found.missing_error is None:
        return panel
    at, error = found.missing_difference[[o]], found.missing_error[[o]]
    words = f"{found.feature_names[0]} missing\n{written_height('difference', float(at[0]), float(error[0]))}"
    point = Points(np.zeros(1), at, color, error=2 * error, hover=(words,))
    return replace(panel, right=missing_panel(place, (Rule(0.0), point), None))


def _laid(place: AxisLayout, curves: list[Curve], data: CurveData | None, y: PanelAxis) -> Panel:
    """Return the panel of estimates, and say what is drawn around them: once, if it is the same for all."""
    around = {curve.around for curve in curves if curve.error is not None}
    if len(around) > 1:
        curves = [
            replace(curve, label=f"{curve.label} {curve.around}") if curve.error is not None else curve
            for curve in curves
        ]
    panel = curve_panel(place, dodged(curves), data, y)
    return replace(panel, legend_title=around.pop() if len(around) == 1 else None)


def _answers(part: Part, o: int) -> list[Curve]:
    """Return the curves of a part, labeled with what distinguishes them."""
    if isinstance(part, Marginal):
        curves = marginal_curves(part, o)
        if len(curves) == 1:
            return [replace(curves[0], label="")]
        return [replace(curve, label=f", {name}") for name, curve in zip(AVERAGES, curves, strict=True)]
    curves = local_curves(part, [o]) if isinstance(part, LocalEffect) else effect_curves(part, [o])
    return [replace(curve, label="") for curve in curves]


def _told_apart(curve: Curve, series: int) -> dict[str, Any]:
    """Return dashes and markers: of two averages of one part those they always have."""
    if curve.label:
        return {"dash": curve.dash, "marker": curve.marker}
    return {"dash": dash_of(series), "marker": marker_of(series)}


def _together(parts: list[Part], o: int) -> tuple[Array, AxisLayout]:
    """Return the values of all parts, and where they go."""
    first = parts[0]
    name, values = first.feature_names[0], first.grid_values[0]
    if first.kinds[0] not in NOMINAL:
        for part in parts[1:]:
            if not np.array_equal(part.grid_values[0], values):
                values = np.unique(np.concatenate([part.grid_values[0] for part in parts]))
        return values, numbers_of(values, name, np.zeros(len(values)))
    levels = list(dict.fromkeys(level for part in parts for level in part.grid_values[0].tolist()))
    weights = np.zeros(len(levels))
    for part in parts:
        shares = _weights(part) / (_weights(part).sum() or 1.0)
        for level, weight in zip(part.grid_values[0].tolist(), shares, strict=True):
            weights[levels.index(level)] += weight
    named = values if len(levels) == len(values) else objects(levels)
    return named, levels_of(named, name, weights, _sorted_together(parts, levels, o))


def _sorted_together(parts: list[Part], levels: list[object], o: int) -> Floats | None:
    """Return the sort key of categories over all parts: the value in the first part that has the category."""
    heights: dict[object, float] = {}
    for part in parts:
        by = sorted_by(part, o)
        if by is None:
            return None
        for level, height in zip(part.grid_values[0].tolist(), by.tolist(), strict=True):
            heights.setdefault(level, height)
    return np.array([heights[level] for level in levels])


def marginal_curves(marginal: Marginal, o: int) -> list[Curve]:
    """Return the averages there are, predicted and observed."""
    curves = []
    for name in AVERAGES:
        if name not in marginal:
            continue
        error, gap = marginal[f"{name}_error"], None
        if marginal.missing is not None:
            wrong = float(getattr(marginal.missing, f"{name}_error")[o])
            gap = float(getattr(marginal.missing, name)[o]), wrong
        curve = Curve(marginal[name][o], "", name, error=error[o], missing=gap)
        missing = None if marginal.missing is None else marginal.missing.rows
        curve = replace(curve, rows=marginal.rows.astype(np.float64), rows_missing=missing)
        curves.append(_looking(curve, name))
    return curves


def _looking(curve: Curve, which: str) -> Curve:
    label, color, dash, marker = LOOKS[which]
    return replace(curve, name=label, label=label, color=color, dash=dash, marker=marker)


def _elsewhere(curve: Curve, place: AxisLayout, effect: PartialDependence, other: Part) -> Curve:
    """Return the curve of another estimate at its own positions on the axis of the partial dependence."""
    own = on_the_same(place, effect.grid_values[0], other, _weights(other))
    return replace(curve, place=own, data=data_of(other))


def data_of(result: Part) -> CurveData:
    """Return the data along the axis of a result."""
    if isinstance(result, LocalEffect):
        return local_data(result)
    missing = 0.0 if result.missing is None else result.missing.support
    return CurveData(result.support, whole(result.provenance), missing, result.deciles[0])


def _weights(result: Part) -> Floats:
    """Return the data at each value; that of bins is between values."""
    at_values = len(result.support) == len(result.grid_values[0])
    return result.support if at_values else np.zeros(len(result.grid_values[0]))


def sorted_by(result: Part, o: int) -> Floats | None:
    """Return what categories without an order of their own are sorted by: heights of an output."""
    if isinstance(result, PartialDependence):
        return effect_sorted_by(result, o)
    if isinstance(result, LocalEffect) or result.ordered[0]:
        return None
    return marginal_curves(result, o)[0].heights
