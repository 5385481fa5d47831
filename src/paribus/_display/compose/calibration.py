"""Performance: observed against predicted in groups of rows, and scores that were kept in training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paribus._display.compose.axis import short
from paribus._display.compose.labels import background, shares, whole_of
from paribus._display.figure import Figure, Line, Mark, Panel, PanelAxis, Points
from paribus._display.layout import figure_of
from paribus._display.style import INK, color_of, dash_of
from paribus._text import number
from paribus.errors import DrawingError, OptionError
from paribus.results.performance import Calibration, Performance, TrainingCurve

MARGIN = 0.04  # of the axes, beyond the outermost groups


def performance_figure(result: Performance, columns: int, title: str | None) -> Figure:
    """Compose a panel for the calibration of each output, and one for each score kept in training."""
    if isinstance(columns, bool) or not isinstance(columns, int) or columns < 1:
        raise OptionError(f"columns={columns!r} must be a positive integer")
    several = len(result.calibration) > 1
    panels = [calibration_panel(one, whole_of(result.provenance), several) for one in result.calibration]
    panels += [training_panel(curves) for curves in training_curves_by_metric(result).values()]
    if not panels:
        raise DrawingError("there is no calibration to plot and no training curve; see the notes")
    lines = (background(result.provenance),)
    return figure_of(
        panels, columns=columns, share_y=False, title=title, background=lines, notes=tuple(result.notes)
    )


def training_curves_by_metric(result: Performance) -> dict[str, list[TrainingCurve]]:
    """Return the training curves that have a score, together with others of their metric."""
    by_metric: dict[str, list[TrainingCurve]] = {}
    for curve in result.training_curves:
        if len(curve.values):
            by_metric.setdefault(curve.metric, []).append(curve)
    return by_metric


def _interval(low: float, high: float) -> str:
    known = np.isfinite(low) and np.isfinite(high)
    return f"95 % interval {number(float(low))} to {number(float(high))}" if known else "interval unknown"


def calibration_panel(calibration: Calibration, whole: float, several: bool) -> Panel:
    """Return observed over predicted averages with their intervals, and the diagonal where both are equal."""
    known = np.isfinite(calibration.predicted) & np.isfinite(calibration.observed)
    predicted, observed = calibration.predicted[known], calibration.observed[known]
    low, high = calibration.observed_low[known], calibration.observed_high[known]
    both = np.concatenate([predicted, observed]) if known.any() else np.array([0.0, 1.0])
    ends = np.array([both.min(), both.max()])
    room = MARGIN * (ends[1] - ends[0])
    data = shares(calibration.weight[known], whole)
    hover = tuple(
        f"predicted {number(float(predicted[g]))}\nobserved {number(float(observed[g]))}\n"
        f"{_interval(low[g], high[g])}\n{data[g]}"
        for g in range(len(predicted))
    )
    low, high = (np.where(np.isfinite(end), end, observed) for end in (low, high))
    marks = (
        Line(ends, ends, INK, "observed = predicted", dash="dashed", width=1.0),
        # An interval need not have its middle where the average is.
        Points(predicted, (low + high) / 2, color_of(0), size=0.0, error=(high - low) / 2),
        Points(predicted, observed, color_of(0), "groups of rows, with intervals of 95 %", hover=hover),
    )
    x = PanelAxis("average prediction", low=float(ends[0] - room), high=float(ends[1] + room))
    title = short(calibration.output) if several else None
    return Panel(marks, x, PanelAxis("average observed"), title=title)


def training_panel(curves: Sequence[TrainingCurve]) -> Panel:
    """Return one score by iteration, a line for each set of rows."""
    marks: tuple[Mark, ...] = tuple(
        Line(
            np.arange(1.0, len(curve.values) + 1),
            curve.values,
            color_of(place + 1),
            short(curve.data),
            dash_of(place),
            hover=tuple(
                f"iteration {step:,}\n{curve.data} {number(float(value))}"
                for step, value in enumerate(curve.values, 1)
            ),
        )
        for place, curve in enumerate(curves)
    )
    return Panel(marks, PanelAxis("iteration"), PanelAxis(short(curves[0].metric)))
