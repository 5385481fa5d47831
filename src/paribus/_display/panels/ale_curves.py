"""Accumulated local effects of one feature, over the data in their bins."""

from __future__ import annotations

from dataclasses import replace

from paribus._display.figure import Mark, Panel, PanelAxis
from paribus._display.panels.axis_layout import place_of, positions
from paribus._display.panels.curves import Curve, CurveData, curve_panel, dodged
from paribus._display.panels.effect import around_of, curves_of, model_marks
from paribus._display.panels.labels import unit, whole
from paribus.results import LocalEffect


def local_panel(effect: LocalEffect, outputs: list[int]) -> Panel:
    """Return the panel of a one-way ALE; categories keep the order of accumulation."""
    curves = dodged(local_curves(effect, outputs))
    data = local_data(effect)
    # Bins are between values: no value has a weight of its own.
    weights = data.support if data.edges is None else effect.ale[0] * 0.0
    place = place_of(effect, 0, weights)
    under: list[Mark] = []
    missing: list[Mark] = []
    for curve, o in zip(curves, outputs, strict=True):
        lines, points = model_marks(effect.by_model, place, o, curve, labeled=len(outputs) == 1)
        under, missing = [*under, *lines], [*missing, *points]
    y = PanelAxis(f"effect on {unit(effect, outputs)}")
    panel = curve_panel(place, curves, data, y, under=under, under_missing=missing)
    return replace(panel, legend_title=f"ALE{around_of(effect).words}" if len(outputs) > 1 else None)


def local_data(effect: LocalEffect) -> CurveData:
    """Return the data of a local effect: in bins between its values, or at its categories."""
    values, missing = effect.grid_values[0], 0.0 if effect.missing is None else effect.missing.support
    edges = None if len(effect.support) == len(values) else positions(values)
    return CurveData(effect.support, whole(effect.provenance), missing, edges=edges)


def local_curves(effect: LocalEffect, outputs: list[int], level: float = 0.0) -> list[Curve]:
    """Return the curve of each output, moved up by ``level``."""
    missing = None if effect.missing is None else effect.missing.ale + level
    return curves_of(effect, effect.ale + level, missing, outputs, "ALE")
