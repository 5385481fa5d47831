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
    Content,
    Markup,
    element,
    folded,
    joined,
    name_of,
    shortened,
)
from paribus.errors import DrawingError
from paribus.results.hstatistics import HStatistics
from paribus.results.partial_dependence import PartialDependence
from paribus.results.performance import Calibration, Performance
from paribus.results.repr_text import pair_columns
from paribus.results.text_table import text_table

DRAWN = 4  # outputs with a calibration plot, at most


def performance_section(refs: References) -> Markup:
    """Return the section of metrics and calibration."""
    performance = refs.explanation.performance
    content: list[Content] = []
    if performance is not None:
        tables = element("div", *_metrics_tables(refs, performance))
        content.append(element("div", tables, _calibration_figures(refs, performance), class_="pair"))
    if not content:
        content = [element("p", "Not shown: no target was given, so nothing was compared with it.")]
    title = "Performance on the explained rows"
    return element("section", element("h2", title), *content, id="performance", aria_label=title)


def _metrics_tables(refs: References, performance: Performance) -> Iterator[Markup]:
    """Yield one table of metrics; of many outputs, one of all together, and a folded one of each."""
    overall = tuple(metric for metric in performance.metrics if metric.output is None)
    if len(performance.output_names) <= DRAWN or not overall:
        yield refs.table("Metrics", text_table(performance._table()))
        return
    single = tuple(metric for metric in performance.metrics if metric.output is not None)
    yield refs.table("Metrics", text_table(replace(performance, metrics=overall)._table()))
    made = refs.table("Metrics", text_table(replace(performance, metrics=single)._table()))
    yield folded("Metrics of each output", made, class_="appendix")


def _calibration_figures(refs: References, performance: Performance) -> Markup | None:
    if not performance.calibration:
        return None
    shown = performance.calibration[:DRAWN]
    several = len(performance.calibration) > 1
    whole = whole_of(performance.provenance)
    drawn = (
        _calibration_figure(refs, one, whole, several, f"calibration-{place}")
        for place, one in enumerate(shown)
    )
    rest = [_calibration_table(refs, one) for one in performance.calibration[DRAWN:]]
    more = folded("Calibration of the other outputs", *rest, class_="numbers appendix")
    figures = element("div", *drawn, class_="figures")
    return element("div", element("h3", "Calibration"), figures, more if rest else None)


def _calibration_figure(
    refs: References, calibration: Calibration, whole: float, several: bool, key: str
) -> Markup:
    of = joined(" of ", name_of(calibration.output, 40)) if several else ""
    caption = joined(
        "Observed against predicted averages", of, ", in groups of rows with similar predictions."
    )
    panel = calibration_panel(calibration, whole, several=False)  # the caption names the output
    return figure(single_panel(panel, SMALL, ()), caption, key, _calibration_table(refs, calibration))


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
            *_pair_surfaces(refs),
        ]
    return element("section", element("h2", "Interactions"), *content, id="pairs", aria_label="Interactions")


def feature_names_of(interactions: HStatistics, features: tuple[str | int, ...]) -> list[str]:
    """Return the names of features that are given by name or by position."""
    return [interactions.feature_names[interactions.features.index(one)] for one in features]


def _pair_surfaces(refs: References) -> list[Markup]:
    """Return the surfaces of the strongest pairs, of which the first is unfolded."""
    surfaces = refs.explanation.surfaces
    if surfaces is None:
        return []
    interactions = refs.explanation.interactions
    assert interactions is not None  # surfaces exist only with interactions
    ranking = (tuple(feature_names_of(interactions, one.features)) for one in interactions.strongest(None))
    order: list[Any] = [pair for pair in dict.fromkeys(ranking) if pair in surfaces]
    order += [pair for pair in surfaces if pair not in order]
    made = [_pair_surface(surfaces[pair], place) for place, pair in enumerate(order)]
    return [element("h3", "Surfaces of the strongest pairs"), *made]


def _pair_surface(effect: PartialDependence, place: int) -> Markup:
    assert effect.average is not None  # as explain requests it
    output = moved_most(effect.average, 1)[0]
    several = len(effect.output_names) > 1
    of = joined(", output ", name_of(effect.output_names[output], 40)) if several else ""
    both = " and ".join(shortened(name, 40) for name in effect.feature_names)
    caption = joined("Partial dependence on ", both, of, ". Hatched: combinations absent from the data.")
    try:
        drawing = figure_of([surface_panel(effect, output)])
        shown = figure(drawing, caption, f"pair-{place}", width=MEDIUM)
    except DrawingError as reason:
        shown = element("p", f"Not drawn: {reason}.")
    names = joined((" × " * (k > 0), name_of(name)) for k, name in enumerate(effect.feature_names))
    body = element("div", shown, class_="body")
    class_ = "panel appendix" if place else "panel"
    return element("details", element("summary", element("h4", names)), body, class_=class_, open=place == 0)
