"""Partial dependence of one feature: the average, what is around it, and the curves of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paribus.contracts import Floats
from paribus.display.figure import Band, Bars, Line, Mark, Panel, Points
from paribus.display.look import INK, PALETTE, color_of, dash_of, marker_of
from paribus.display.panels.curves import Curve, Data, beside_each_other, curve_panel
from paribus.display.panels.place import Place, place_of
from paribus.display.panels.words import unit, whole
from paribus.results import PartialDependence, Refits, Spread
from paribus.results.spread import read_only
from paribus.states import curve_quantiles

QUANTILES = (0.05, 0.25, 0.75, 0.95)  # of the rows' curves, between which bands are drawn
ICE_LINES = 12  # curves of rows that are drawn
SHADE = (0.18, 0.35, 0.5)  # of bands of rows, the widest first, so that a legend tells them apart
MODELS = 50  # whose own curves are drawn; mean and standard deviation are always of all
SURE = " ± 2 standard errors"  # what is around an average
ROW_BAR = 0.5  # width of a band of rows at a level


def effect_panel(effect: PartialDependence, outputs: list[int]) -> Panel:
    """Return the panel of an effect of one feature; several outputs are curves of several colours."""
    place = place_of(effect, 0, effect.support, by=_sorted_by(effect, outputs[0]))
    gap = 0.0 if effect.missing is None else effect.missing.support
    data = Data(effect.support, whole(effect.provenance), gap, effect.deciles[0])
    under, under_missing = _of_rows(effect, place, outputs)
    curves = beside_each_other(effect_curves(effect, outputs))
    for curve, o in zip(curves, outputs, strict=False):
        lines, points = model_marks(effect.refits, place, o, curve, labelled=len(outputs) == 1)
        under, under_missing = [*under, *lines], [*under_missing, *points]
    words = unit(effect, outputs)
    panel = curve_panel(place, curves, data, words, under=under, under_missing=under_missing)
    return replace(panel, legend_title=f"average{around_of(effect)[2]}" if len(outputs) > 1 else None)


def _sorted_by(effect: PartialDependence, o: int) -> Floats | None:
    """Return what levels without an order of their own are sorted by: the effect on an output."""
    if effect.ordered[0]:
        return None
    if effect.average is not None:
        return np.asarray(effect.average[o])
    return None if effect.individual is None else np.asarray(effect.individual[o].mean(axis=0))


def effect_curves(effect: PartialDependence, outputs: list[int]) -> list[Curve]:
    """Return the average of each output, with its standard errors or the standard deviation of models."""
    if effect.average is None:
        return []
    many, missing = len(outputs) > 1, effect.missing
    of_rows = effect.individual is not None or effect.spread is not None
    around, at_missing, words = around_of(effect)
    curves = []
    for series, o in enumerate(outputs):
        error = None if effect.standard_error is None else effect.standard_error[o]
        gap = None
        if missing is not None and missing.average is not None:
            known = None if missing.standard_error is None else float(missing.standard_error[o])
            gap = float(missing.average[o]), known, None if at_missing is None else float(at_missing[o])
        curves.append(
            Curve(
                effect.average[o],
                PALETTE[1] if of_rows and not many else color_of(series),
                effect.output_names[o] if many else "average",
                effect.output_names[o] if many else f"average{words}",
                error,
                None if around is None else around[o],
                gap,
                dash_of(series),
                marker_of(series),
            )
        )
    return curves


def around_of(effect: Any) -> tuple[Floats | None, Floats | None, str]:
    """Return what is drawn to each side ``(o, g)``, at missing ``(o,)``, and in words.

    That is how far models differ where there are several, else how well the average is known.
    """
    refits, missing = effect.refits, effect.missing
    if refits is not None and len(refits.models) > 1:
        words = f" ± 2 standard deviations of {len(refits.models)} models"
        return twice(refits.standard_deviation), twice(refits.missing_deviation), words
    if effect.standard_error is None:
        return None, None, ""
    return twice(effect.standard_error), twice(None if missing is None else missing.standard_error), SURE


def twice(errors: Floats | None) -> Floats | None:
    """Return what is drawn to each side."""
    return None if errors is None else np.asarray(2 * np.nan_to_num(errors))


def _of_rows(effect: PartialDependence, place: Place, outputs: list[int]) -> tuple[list[Mark], list[Mark]]:
    """Return bands of rows' curves and a few of these curves; at levels and at missing, bars."""
    if len(outputs) > 1:  # bands of rows of several outputs could not be told from each other
        return [], []
    o = outputs[0]
    spread = effect.spread if effect.spread is not None else _spread_of(effect)
    if spread is None:
        return [], []
    marks, missing = _bands(spread, place, o)
    if effect.individual is not None and not place.levels and len(place.at) > 1:
        marks += _some_rows(effect, place, o)
    return marks, missing


def _spread_of(effect: PartialDependence) -> Spread | None:
    """Return quantiles of the individual curves, if there are any."""
    if effect.individual is None or not effect.individual.size:
        return None
    values = curve_quantiles(effect.individual, effect.row_weights, QUANTILES)
    gap = None if effect.missing is None else effect.missing.individual
    missing = None if gap is None else curve_quantiles(gap[..., None], effect.row_weights, QUANTILES)[..., 0]
    read_only(values)
    return Spread(np.array(QUANTILES), values, 0.0, missing)


def _bands(spread: Spread, place: Place, o: int) -> tuple[list[Mark], list[Mark]]:
    """Return a band between each two symmetric quantiles, and a line for each of the others."""
    values = place.average(spread.values[o])
    apart = place.levels or len(place.at) == 1
    marks: list[Mark] = []
    missing: list[Mark] = []
    for depth, (part, low, high) in enumerate(spread.bands()):
        shade = SHADE[min(depth, len(SHADE) - 1)]
        label = f"{100 * part:.4g} % of rows"
        if apart:
            marks.append(_row_bars(place.at, values[low], values[high], shade, label))
        else:
            shown = values[low], values[high]
            marks.append(Band(place.at, *shown, PALETTE[0], label, shade, steps=place.steps))
        if spread.missing is not None:
            ends = spread.missing[o, [low]], spread.missing[o, [high]]
            missing.append(_row_bars(np.zeros(1), *ends, shade, None))
    for k, dash, label in _lone(spread):
        line = {"dash": dash, "width": 1.0}
        if apart:
            marks.append(Points(place.at, values[k], PALETTE[0], label, "bar", 14.0))
        else:
            marks.append(Line(place.at, values[k], PALETTE[0], label, **line))  # type: ignore[arg-type]
        if spread.missing is not None:
            missing.append(Points(np.zeros(1), spread.missing[o, [k]], PALETTE[0], None, "bar", 10.0))
    return marks, missing


def _row_bars(at: Floats, low: Floats, high: Floats, shade: float, label: str | None) -> Bars:
    width, known = np.full(len(at), ROW_BAR), np.isfinite(low) & np.isfinite(high)
    low, high = np.where(known, low, np.nan), np.where(known, high, np.nan)
    return Bars(at, high - low, width, PALETTE[0], base=low, label=label, alpha=shade)


def _lone(spread: Spread) -> list[tuple[int, str, str]]:
    """Return the quantiles that are no end of a band: place, dashes and name."""
    ends = {place for _, *places in spread.bands() for place in places}
    named = enumerate(spread.probabilities.tolist())
    return [
        (k, "dashed", "median of rows") if p == 0.5 else (k, "dotted", f"quantile {p:g} of rows")
        for k, p in named
        if k not in ends
    ]


def _some_rows(effect: PartialDependence, place: Place, o: int) -> list[Mark]:
    """Return the curves of a few rows, from low to high ones: bands do not tell how rows differ in shape.

    Rows are taken at even distances in the order of their curves' height, so that the same picture comes out
    every time.
    """
    assert effect.individual is not None
    curves = place.average(np.where(np.isfinite(effect.individual[o]), effect.individual[o], np.nan))
    order = np.argsort(curves.mean(axis=1), kind="stable")
    some = min(ICE_LINES, len(order))
    drawn = order[((np.arange(some) + 0.5) * len(order) / some).astype(int)]
    label = f"{len(drawn)} of {len(curves):,} rows"
    lines: list[Mark] = []
    for row in drawn:
        style = {"width": 0.7, "alpha": 0.55, "steps": place.steps}
        lines.append(Line(place.at, curves[row], INK, None if lines else label, **style))  # type: ignore[arg-type]
    return lines


def model_marks(
    refits: Refits | None, place: Place, o: int, curve: Curve, *, labelled: bool
) -> tuple[Sequence[Mark], Sequence[Mark]]:
    """Return each model's own curve, thin beside the mean, or beside levels its points; of one alone, none.

    The second are those at a missing value.
    """
    total = 0 if refits is None else len(refits.models)
    if refits is None or total == 1:
        return [], []
    drawn = np.unique(np.linspace(0, total - 1, min(MODELS, total)).astype(int))
    some = "" if len(drawn) == total else f"{len(drawn)} of "
    label = f"each of {some}{total} models" if labelled else None
    aside = curve.aside + 0.12
    marks: list[Mark] = []
    missing: list[Mark] = []
    for place_, m in enumerate(drawn):
        y, first = place.average(refits.values[m, o]), label if place_ == 0 else None
        if place.levels or len(place.at) == 1:
            marks.append(Points(place.at + aside, y, curve.color, first, "dot", 3.0, 0.6))
        else:
            style = {"width": 0.7, "alpha": 0.5, "steps": place.steps}
            marks.append(Line(place.at, y, curve.color, first, **style))  # type: ignore[arg-type]
        if refits.missing is not None:
            at = np.array([aside])
            missing.append(Points(at, refits.missing[m, [o]], curve.color, None, "dot", 3.0, 0.6))
    return marks, missing
