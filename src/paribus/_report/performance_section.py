"""How well the model predicts the rows it is explained on, and where it does not."""

from __future__ import annotations

import numpy as np

from paribus._display.compose.calibration import (
    calibration_panel,
    training_curves_by_metric,
    training_panel,
)
from paribus._display.compose.labels import whole_of
from paribus._report.feature_panels import number_table
from paribus._report.figures import figure, panel_figure
from paribus._report.markup import Content, Markup, element, joined
from paribus._report.phrases import digits, error_digits, measured, name_of, shortened
from paribus._report.references import References
from paribus._report.tables import table
from paribus._text import number
from paribus.results.observed_expected import ObservedExpected
from paribus.results.performance import Calibration, Performance, TrainingCurve

WORST = 20  # cells in the table of observed against expected
DRAWN = 4  # outputs whose calibration is drawn
STEPS = 60  # iterations in the table of a training curve


def performance_section(refs: References) -> Markup:
    """Return metrics, calibration, the worst cells and training curves."""
    performance = refs.explanation.performance
    content: list[Content] = []
    if performance is not None:
        several = len(refs.explanation.output_names) > 1
        content += [_metrics(performance, several), *_calibrations(performance)]
    if all(one.residual is not None for one in refs.explanation.averages.effects):
        content.append(_cells(refs, refs.explanation.observed_expected()))
    if performance is not None:
        content += _training(performance)
    if not content:
        content = [element("p", "Not shown: no target was given, so nothing was compared with it.")]
    title = "Performance on the same rows"
    return element("section", element("h2", title), *content, id="performance", aria_label=title)


def _metrics(performance: Performance, several: bool) -> Markup:
    rows = [
        [
            metric.name,
            *([name_of(metric.output or "all", 40)] if several else []),
            measured(metric.value, metric.standard_error),
            metric.better,
        ]
        for metric in performance.metrics
    ]
    return table("Metrics", ["Metric", *["Output"] * several, "Value", "Better"], rows)


def _calibrations(performance: Performance) -> list[Content]:
    if not performance.calibration:
        return []
    shown = performance.calibration[:DRAWN]
    several = len(performance.calibration) > 1
    whole = whole_of(performance.provenance)
    drawn = (_calibration(one, whole, several, f"calibration-{place}") for place, one in enumerate(shown))
    rest = performance.calibration[DRAWN:]
    tables = (
        joined(element("h4", "Calibration of ", name_of(one.output)), _calibration_table(one)) for one in rest
    )
    return [element("h3", "Calibration"), element("div", *drawn, class_="figures"), *tables]


def _calibration(calibration: Calibration, whole: float, several: bool, key: str) -> Markup:
    of = joined(" of ", name_of(calibration.output, 40)) if several else ""
    caption = joined(
        "Observed against predicted averages", of, ", in groups of rows with similar predictions."
    )
    panel = calibration_panel(calibration, whole, several=False)  # the caption names the output
    return figure(panel_figure(panel), caption, key, _calibration_table(calibration))


def _calibration_table(calibration: Calibration) -> Markup:
    columns = [
        ("Group", [str(place + 1) for place in range(len(calibration.predicted))]),
        ("predicted", [digits(value) for value in calibration.predicted]),
        ("observed", [digits(value) for value in calibration.observed]),
        ("95 % interval from", [digits(value) for value in calibration.observed_low]),
        ("to", [digits(value) for value in calibration.observed_high]),
        ("weight", [digits(value) for value in calibration.weight]),
    ]
    return number_table(f"Calibration of {shortened(calibration.output, 40)}", columns)


def _cells(refs: References, cells: ObservedExpected) -> Markup:
    several = len(refs.explanation.output_names) > 1
    rows = [
        [
            refs.feature(cells.feature[place]),
            *([name_of(cells.output[place], 40)] if several else []),
            name_of(cells.value[place], 40),
            f"{cells.rows[place]:,}",
            number(float(cells.observed[place])),
            number(float(cells.predicted[place])),
            measured(float(cells.difference[place]), float(cells.standard_error[place])),
            error_digits(abs(float(cells.in_errors[place]))),
        ]
        for place in range(min(WORST, len(cells)))
    ]
    heads = ["Feature", *["Output"] * several, "Rows near", "Rows", "Observed", "Predicted"]
    heads += ["Observed minus predicted", "Standard errors"]
    return joined(
        element("h3", "Observed against expected"),
        element(
            "p",
            f"The {len(rows)} of {len(cells):,} cells over all features in which the averages are furthest "
            "apart. Of many cells a few are several standard errors off by chance.",
        ),
        table("Cells that are furthest off, worst first", heads, rows, sortable=True),
    )


def _training(performance: Performance) -> list[Content]:
    by_metric = training_curves_by_metric(performance)
    if not by_metric:
        return []
    drawn = (
        figure(
            panel_figure(training_panel(curves)),
            joined("Score by iteration: ", name_of(metric, 40), ". The rows are those of the training."),
            f"training-{place}",
            _training_table(metric, curves),
        )
        for place, (metric, curves) in enumerate(by_metric.items())
    )
    return [element("h3", "Training curves"), element("div", *drawn, class_="figures")]


def _training_table(metric: str, curves: list[TrainingCurve]) -> Markup:
    longest = max(len(curve.values) for curve in curves)
    shown = sorted({*np.linspace(0, longest - 1, min(STEPS, longest)).round().astype(int).tolist()})
    columns = [("Iteration", [str(step + 1) for step in shown])]
    for curve in curves:
        cells = [digits(curve.values[step]) if step < len(curve.values) else "–" for step in shown]
        columns.append((shortened(curve.data, 24), cells))
    return number_table(f"{shortened(metric, 40)} by iteration", columns)
