"""Accumulated local effects of one feature, over the data in their bins."""

from __future__ import annotations

from dataclasses import replace

from paribus.display.figure import Axis, Mark, Panel
from paribus.display.panels.curves import Curve, Data, beside_each_other, curve_panel
from paribus.display.panels.effect import around_of, curves_of, model_marks
from paribus.display.panels.place import place_of, positions
from paribus.display.panels.words import unit, whole
from paribus.results import LocalEffect


def local_panel(effect: LocalEffect, outputs: list[int]) -> Panel:
    """Return the panel of a local effect of one feature; levels stay in the order they are added up in."""
    curves = beside_each_other(local_curves(effect, outputs))
    data = local_data(effect)
    # Bins are between values: no value has a weight of its own.
    weights = data.support if data.edges is None else effect.ale[0] * 0.0
    place = place_of(effect, 0, weights)
    under: list[Mark] = []
    missing: list[Mark] = []
    for curve, o in zip(curves, outputs, strict=True):
        lines, points = model_marks(effect.refits, place, o, curve, labelled=len(outputs) == 1)
        under, missing = [*under, *lines], [*missing, *points]
    y = Axis(f"effect on {unit(effect, outputs)}")
    panel = curve_panel(place, curves, data, y, under=under, under_missing=missing)
    return replace(panel, legend_title=f"ALE{around_of(effect).words}" if len(outputs) > 1 else None)


def local_data(effect: LocalEffect) -> Data:
    """Return the data of a local effect: in bins between its values, or at its levels."""
    values, missing = effect.grid_values[0], 0.0 if effect.missing is None else effect.missing.support
    edges = None if len(effect.support) == len(values) else positions(values)
    return Data(effect.support, whole(effect.provenance), missing, edges=edges)


def local_curves(effect: LocalEffect, outputs: list[int], level: float = 0.0) -> list[Curve]:
    """Return the curve of each output, moved up by ``level``."""
    missing = None if effect.missing is None else effect.missing.ale + level
    return curves_of(effect, effect.ale + level, missing, outputs, "ALE")
