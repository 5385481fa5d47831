"""Partial dependence of one feature: the average, what is around it, and the curves of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from paribus._contracts import Floats
from paribus._display.figure import Band, Bars, Line, Mark, Panel, Points
from paribus._display.panels.axis_layout import AxisLayout, place_of
from paribus._display.panels.curves import Curve, CurveData, curve_panel, dodged
from paribus._display.panels.labels import heights, whole
from paribus._display.style import INK, PALETTE, color_of, dash_of, marker_of
from paribus._states import curve_quantiles
from paribus.results import IceQuantiles, LocalEffect, ModelSpread, PartialDependence

QUANTILES = (0.05, 0.25, 0.75, 0.95)  # of the rows' curves, between which bands are drawn
ICE_LINES = 12  # curves of rows that are drawn
SHADE = (0.18, 0.35, 0.5)  # of bands of rows, the widest first, so that a legend distinguishes them
MODELS = 50  # whose own curves are drawn; mean and standard deviation are always of all
SURE = " ± 2 standard errors"  # what is around an average
ROW_BAR = 0.5  # width of a band of rows at a category


def effect_panel(effect: PartialDependence, outputs: list[int]) -> Panel:
    """Return the panel of an effect of one feature; several outputs are curves of several colors."""
    place = place_of(effect, 0, effect.support, by=sorted_by(effect, outputs[0]))
    gap = 0.0 if effect.missing is None else effect.missing.support
    data = CurveData(effect.support, whole(effect.provenance), gap, effect.deciles[0])
    under, under_missing = _of_rows(effect, place, outputs)
    curves = dodged(effect_curves(effect, outputs))
    for curve, o in zip(curves, outputs, strict=False):
        lines, points = model_marks(effect.by_model, place, o, curve, labeled=len(outputs) == 1)
        under, under_missing = [*under, *lines], [*under_missing, *points]
    y = heights(effect, outputs)
    panel = curve_panel(place, curves, data, y, under=under, under_missing=under_missing)
    return replace(panel, legend_title=f"average{around_of(effect).words}" if len(outputs) > 1 else None)


def sorted_by(effect: PartialDependence, o: int) -> Floats | None:
    """Return what categories without an order of their own are sorted by: the effect on an output."""
    if effect.ordered[0]:
        return None
    if effect.average is not None:
        return np.asarray(effect.average[o])
    if effect.individual is None:
        return None
    return np.asarray(np.average(effect.individual[o], axis=0, weights=effect.row_weights))


def effect_curves(effect: PartialDependence, outputs: list[int]) -> list[Curve]:
    """Return the average of each output, with its standard errors or the standard deviation of models."""
    if effect.average is None:
        return []
    of_rows = effect.individual is not None or effect.quantiles is not None
    color = PALETTE[1] if of_rows and len(outputs) == 1 else None
    missing = None if effect.missing is None else effect.missing.average
    return curves_of(effect, effect.average, missing, outputs, "average", color)


def curves_of(
    effect: PartialDependence | LocalEffect,
    heights: Floats,
    missing: Floats | None,
    outputs: list[int],
    name: str,
    color: str | None = None,
) -> list[Curve]:
    """Return the curves ``heights (o, g)`` of outputs, with what is around them; one alone has a ``name``."""
    around, many = around_of(effect), len(outputs) > 1
    curves = []
    for series, o in enumerate(outputs):
        error = None if around.missing is None else float(around.missing[o])
        called = effect.output_names[o] if many else name
        curves.append(
            Curve(
                heights[o],
                color or color_of(series),
                called,
                called if many else f"{name}{around.words}",
                around.of(o),
                around.called,
                around.words.strip(),
                None if missing is None else (float(missing[o]), error),
                around.models_of(o),
                dash_of(series),
                marker_of(series),
            )
        )
    return curves


@dataclass(frozen=True, eq=False)
class Uncertainty:
    """How uncertain curves are: each ``(o, g)``, at a missing value ``(o,)``, in words and in a legend's.

    ``models (m, o, g)`` are the curves whose standard deviation it is, if it is one.
    """

    each: Floats | None = None
    missing: Floats | None = None
    called: str = ""
    words: str = ""
    models: Floats | None = None

    def of(self, o: int) -> Floats | None:
        """Return that of one output."""
        return None if self.each is None else self.each[o]

    def models_of(self, o: int) -> Floats | None:
        """Return the models' curves of one output."""
        return None if self.models is None else self.models[:, o]


def around_of(effect: PartialDependence | LocalEffect) -> Uncertainty:
    """Return how far models differ where there are several, else how well the average is known.

    Where that is not known, as of a single row, nothing is drawn: an error that is not known is not zero.
    """
    spread, missing, errors = effect.by_model, effect.missing, effect.standard_error
    if spread is not None and len(spread.models) > 1:
        called = f"standard deviation of {len(spread.models)} models"
        words = f" ± 2 standard deviations of {len(spread.models)} models"
        return Uncertainty(spread.standard_deviation, spread.missing_deviation, called, words, spread.values)
    at_missing = None if missing is None else missing.standard_error
    known = [array for array in (errors, at_missing) if array is not None and np.isfinite(array).any()]
    return Uncertainty(errors, at_missing, "standard error", SURE) if known else Uncertainty()


def _of_rows(
    effect: PartialDependence, place: AxisLayout, outputs: list[int]
) -> tuple[list[Mark], list[Mark]]:
    """Return bands of rows' curves and a few of these curves; at categories and at missing, bars."""
    if len(outputs) > 1:  # bands of rows of several outputs could not be distinguished
        return [], []
    o = outputs[0]
    spread = _pooled_spread(effect, place)
    if spread is None:
        return [], []
    marks, missing = _bands(spread, place, o)
    if effect.individual is not None and not place.levels and len(place.at) > 1:
        marks += _some_rows(effect, place, o)
    return marks, missing


def _pooled_spread(effect: PartialDependence, place: AxisLayout) -> IceQuantiles | None:
    """Return quantiles ``(o, q, p)`` of the rows' curves at each position.

    Where categories share a position, each row's own average over them is taken first; without the rows'
    curves nothing is known there.
    """
    curves, wanted, missing = effect.individual, effect.quantiles, effect.missing
    if curves is None or not curves.size:
        if wanted is None:
            return None
        values = place.average(wanted.values)
        values[..., [len(group) > 1 for group in place.groups]] = np.nan
        return IceQuantiles(wanted.probabilities, values, wanted.rank_error, wanted.missing)
    chances = QUANTILES if wanted is None else tuple(wanted.probabilities.tolist())
    gap = None if missing is None else missing.individual
    found, last = (
        None if each is None else curve_quantiles(each, effect.row_weights, chances)
        for each in (place.average(curves), None if gap is None else gap[..., None])
    )
    assert found is not None
    return IceQuantiles(np.array(chances), found, 0.0, None if last is None else last[..., 0])


def _bands(spread: IceQuantiles, place: AxisLayout, o: int) -> tuple[list[Mark], list[Mark]]:
    """Return a band between each two symmetric quantiles, and a line for each of the others."""
    values = spread.values[o]
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
            marks.append(Band(place.at, *shown, PALETTE[0], label, shade, place.steps, "rows"))
        if spread.missing is not None:
            ends = spread.missing[o, [low]], spread.missing[o, [high]]
            missing.append(_row_bars(np.zeros(1), *ends, shade, None))
    for k, dash, label in _lone(spread):
        line = {"dash": dash, "width": 1.0, "steps": place.steps}
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


def _lone(spread: IceQuantiles) -> list[tuple[int, str, str]]:
    """Return the quantiles that are no end of a band: position, dashes and name."""
    ends = {place for _, *places in spread.bands() for place in places}
    named = enumerate(spread.probabilities.tolist())
    return [
        (k, "dashed", "median of rows") if p == 0.5 else (k, "dotted", f"quantile {p:g} of rows")
        for k, p in named
        if k not in ends
    ]


def _some_rows(effect: PartialDependence, place: AxisLayout, o: int) -> list[Mark]:
    """Return the curves of a few rows, from low to high ones: bands do not show how rows differ in shape.

    Rows are taken at even distances in the order of their curves' height, so that the same picture comes out
    every time.
    """
    assert effect.individual is not None
    curves = (
        effect.individual[o] if effect.row_weights is None else effect.individual[o][effect.row_weights > 0]
    )
    curves = place.average(np.where(np.isfinite(curves), curves, np.nan))
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
    spread: ModelSpread | None, place: AxisLayout, o: int, curve: Curve, *, labeled: bool
) -> tuple[Sequence[Mark], Sequence[Mark]]:
    """Return the curve of each model, thin, or its points for categories; nothing for a single model.

    The second are those at a missing value.
    """
    total = 0 if spread is None else len(spread.models)
    if spread is None or total == 1:
        return [], []
    drawn = np.unique(np.linspace(0, total - 1, min(MODELS, total)).astype(int))
    some = "" if len(drawn) == total else f"{len(drawn)} of "
    label = f"each of {some}{total} models" if labeled else None
    aside = curve.aside + 0.12
    marks: list[Mark] = []
    missing: list[Mark] = []
    for place_, m in enumerate(drawn):
        y, first = place.average(spread.values[m, o]), label if place_ == 0 else None
        if place.levels or len(place.at) == 1:
            marks.append(Points(place.at + aside, y, curve.color, first, "dot", 3.0, 0.6))
        else:
            style = {"width": 0.7, "alpha": 0.5, "steps": place.steps}
            marks.append(Line(place.at, y, curve.color, first, **style))  # type: ignore[arg-type]
        if spread.missing is not None:
            at = np.array([aside])
            missing.append(Points(at, spread.missing[m, [o]], curve.color, None, "dot", 3.0, 0.6))
    return marks, missing
