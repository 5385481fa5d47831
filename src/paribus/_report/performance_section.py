"""Sections of performance and of interactions of pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from paribus._display.compose.axis import whole_of
from paribus._display.compose.rankings import calibration_panel
from paribus._display.compose.surfaces import surface_panel
from paribus._display.layout import figure_of, single_panel
from paribus._report.figures import MEDIUM, SMALL, References, figure, moved_most
from paribus._report.markup import (
    Markup,
    element,
    folded,
    joined,
    name_of,
    section,
    separated,
    shortened,
)
from paribus.errors import DrawingError
from paribus.results.hstatistics import HStatistics
from paribus.results.performance import Calibration, Performance
from paribus.results.repr_text import pair_columns
from paribus.results.text_table import text_table

DRAWN = 4  # outputs with a calibration plot, at most


def performance_section(refs: References) -> Markup:
    """Return the section of metrics and calibration."""
    performance, title = refs.explanation.performance, "Performance on the explained rows"
    if performance is None:
        text = "Not shown: no target was given, so nothing was compared with it."
        return section("performance", title, element("p", text))
    shown, by_output = performance, None
    overall = tuple(metric for metric in performance.metrics if metric.output is None)
    if len(performance.output_names) > DRAWN and overall:  # the metrics of each output are folded
        single = tuple(metric for metric in performance.metrics if metric.output is not None)
        single_table = refs.table("Metrics", text_table(replace(performance, metrics=single)._table()))
        shown = replace(performance, metrics=overall)
        by_output = folded("Metrics of each output", single_table, class_="appendix")
    metrics = element("div", refs.table("Metrics", text_table(shown._table())), by_output)
    calibration = _calibration_figures(refs, performance) if performance.calibration else None
    return section("performance", title, element("div", metrics, calibration, class_="pair"))


def _calibration_figures(refs: References, performance: Performance) -> Markup:
    several = len(performance.calibration) > 1
    whole = whole_of(performance.provenance)
    figures, tables = [], []
    for place, calibration in enumerate(performance.calibration):
        numbers = _calibration_table(refs, calibration)
        if place >= DRAWN:
            tables.append(numbers)
            continue
        of = joined(" of ", name_of(calibration.output, 40)) if several else ""
        caption = joined(
            "Observed against predicted averages", of, ", in groups of rows with similar predictions."
        )
        panel = calibration_panel(calibration, whole, several=False)  # the caption names the output
        figures.append(figure(single_panel(panel, SMALL), caption, f"calibration-{place}", numbers))
    more = folded("Calibration of the other outputs", *tables, class_="numbers appendix")
    return element(
        "div",
        element("h3", "Calibration"),
        element("div", *figures, class_="figures"),
        more if tables else None,
    )


def _calibration_table(refs: References, calibration: Calibration) -> Markup:
    columns = {
        "group": list(range(1, len(calibration.predicted) + 1)),
        "predicted": calibration.predicted,
        "observed": calibration.observed,
        "95 % interval from": calibration.observed_low,
        "to": calibration.observed_high,
        "weight": calibration.weight,
    }
    caption = f"Calibration of {shortened(calibration.output, 40)}"
    return refs.table(caption, text_table(columns), class_="numeric")


PAIRS = 10  # in the list of pairs, at most


def pairs_section(refs: References) -> Markup:
    """Return the section of the strongest pairs, with their strengths and surfaces."""
    interactions = refs.explanation.interactions
    if interactions is None or not interactions.pairs:
        content: list[Markup | None] = [element("p", "A single feature has no interactions.")]
    elif not np.nansum(interactions.pairwise.strength):
        content = [element("p", "Every interaction of two features is exactly zero: the model is additive.")]
    else:
        content = [
            element(
                "p",
                "Strength is the root mean square of the joint effect minus the sum of both curves, in units "
                "of the prediction. H² is its square, divided by the variance of the joint effect. H² is "
                "unreliable where the joint effect is small.",
            ),
            refs.table(
                f"The strongest pairs, at most {PAIRS}", text_table(pair_columns(interactions), PAIRS)
            ),
            *_pair_surfaces(refs, interactions),
        ]
    return section("pairs", "Interactions", *content)


def _pair_surfaces(refs: References, interactions: HStatistics) -> Iterator[Markup]:
    """Yield the surfaces of the strongest pairs below a heading; the first one is unfolded."""
    surfaces = refs.explanation.surfaces
    if surfaces is None:
        return
    yield element("h3", "Surfaces of the strongest pairs")
    names = dict(zip(interactions.features, interactions.feature_names, strict=True))
    ranking = [tuple(names[feature] for feature in pair.features) for pair in interactions.strongest(None)]
    order: list[Any] = [pair for pair in ranking if pair in surfaces]
    for place, pair in enumerate(dict.fromkeys([*order, *surfaces])):
        effect = surfaces[pair]
        assert effect.average is not None  # as explain requests it
        output = moved_most(effect.average, 1)[0]
        several = len(effect.output_names) > 1
        of = joined(", output ", name_of(effect.output_names[output], 40)) if several else ""
        both = " and ".join(shortened(name, 40) for name in effect.feature_names)
        caption = joined("Partial dependence on ", both, of, ". Hatched: combinations absent from the data.")
        try:
            drawing = figure_of([surface_panel(effect, output)])
            surface = figure(drawing, caption, f"pair-{place}", width=MEDIUM)
        except DrawingError as reason:
            surface = element("p", f"Not drawn: {reason}.")
        heading = element("h4", separated(" × ", map(name_of, effect.feature_names)))
        yield element(
            "details",
            element("summary", heading),
            element("div", surface, class_="body"),
            class_="panel appendix" if place else "panel",
            open=place == 0,
        )
