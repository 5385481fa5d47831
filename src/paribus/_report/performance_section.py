"""Sections of performance and of interactions of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from paribus._display.compose.axis import whole_of
from paribus._display.compose.rankings import calibration_panel
from paribus._display.layout import single_panel
from paribus._report.feature_panels import number_table
from paribus._report.figures import MEDIUM, SMALL, References, figure, moved_most, surface_figure
from paribus._report.markup import (
    Content,
    Markup,
    at,
    element,
    folded,
    joined,
    name_of,
    shortened,
    table,
)
from paribus._text import NONE, digits
from paribus.results.hstatistics import HStatistics
from paribus.results.partial_dependence import PartialDependence
from paribus.results.performance import Calibration, ObservedExpected, Performance
from paribus.results.repr_text import pair_columns
from paribus.results.text_table import TextColumn, text_table
from paribus.results.verdict import CELL_ROWS

WORST = 20  # cells in the table of observed against expected, at most
DRAWN = 4  # outputs with a calibration plot, at most


def performance_section(refs: References) -> Markup:
    """Return the section of metrics, calibration and the worst cells."""
    performance = refs.explanation.performance
    content: list[Content] = []
    if performance is not None:
        tables = element("div", *_metrics_tables(refs, performance))
        content.append(element("div", tables, _calibration_figures(performance), class_="pair"))
    if all(one.residual is not None for one in refs.explanation.averages.effects):
        content.append(_observed_expected_table(refs, refs.explanation.observed_expected()))
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


def _calibration_figures(performance: Performance) -> Markup | None:
    if not performance.calibration:
        return None
    shown = performance.calibration[:DRAWN]
    several = len(performance.calibration) > 1
    whole = whole_of(performance.provenance)
    drawn = (
        _calibration_figure(one, whole, several, f"calibration-{place}") for place, one in enumerate(shown)
    )
    rest = performance.calibration[DRAWN:]
    more = folded(
        "Calibration of the other outputs", *map(_calibration_table, rest), class_="numbers appendix"
    )
    figures = element("div", *drawn, class_="figures")
    return element("div", element("h3", "Calibration"), figures, more if rest else None)


def _calibration_figure(calibration: Calibration, whole: float, several: bool, key: str) -> Markup:
    of = joined(" of ", name_of(calibration.output, 40)) if several else ""
    caption = joined(
        "Observed against predicted averages", of, ", in groups of rows with similar predictions."
    )
    panel = calibration_panel(calibration, whole, several=False)  # the caption names the output
    return figure(single_panel(panel, SMALL, ()), caption, key, _calibration_table(calibration))


def _calibration_table(calibration: Calibration) -> Markup:
    numbers = {
        "predicted": calibration.predicted,
        "observed": calibration.observed,
        "95 % interval from": calibration.observed_low,
        "to": calibration.observed_high,
        "weight": calibration.weight,
    }
    columns = {"Group": [str(place + 1) for place in range(len(calibration.predicted))]}
    columns |= {head: [digits(value) for value in values] for head, values in numbers.items()}
    return number_table(f"Calibration of {shortened(calibration.output, 40)}", columns)


def _observed_expected_table(refs: References, cells: ObservedExpected) -> Markup:
    large = np.flatnonzero(cells.rows >= CELL_ROWS)
    shown = {name: np.array(column)[large[:WORST]] for name, column in cells._table().items()}
    return element(
        "div",
        element("h3", "Observed against predicted by cell"),
        element(
            "p",
            f"{len(large):,} of {len(cells):,} cells have at least {CELL_ROWS} rows. Those that differ most "
            "are listed. Among many cells, a few differ by several standard errors by chance.",
        ),
        refs.table("Cells that differ most, worst first", text_table(shown), sortable=True),
        class_="appendix",
    )


LISTED = 30  # pairs in the table, at most
BARS = 10  # pairs in the bar plot, at most


def pairs_section(refs: References) -> Markup:
    """Return the section of strengths of pairs, their heat map, and surfaces of the strongest."""
    interactions = refs.explanation.interactions
    if interactions is None or not interactions.pairs:
        content: list[Markup | None] = [element("p", "A single feature has no interactions.")]
    elif not np.nansum(interactions.pairwise.strength):
        content = [element("p", "Every interaction of two features is exactly zero: the model is additive.")]
    else:
        content = [
            element(
                "p",
                _headline(refs),
                "Strength is the root mean square of the joint effect minus the sum of both curves, in units "
                "of the prediction. H² is its square, divided by the variance of the joint effect. H² is "
                "unreliable where the joint effect is small.",
            ),
            *_pair_strengths(refs, interactions),
            *_pair_surfaces(refs),
        ]
    return element("section", element("h2", "Interactions"), *content, id="pairs", aria_label="Interactions")


def _headline(refs: References) -> str:
    """Return the share of the variance that curves and pairs explain, as a sentence."""
    headline = refs.explanation.headline
    return f"{headline[:1].upper()}{headline[1:]}. " if headline else ""


def _pair_strengths(refs: References, interactions: HStatistics) -> list[Markup | None]:
    """Return bars for the output with the strongest interaction, and the table of pairs."""
    names = interactions.output_names
    totals = np.nan_to_num(interactions.pairwise.strength).max(axis=0)
    output = int(np.argmax(totals))
    of = joined(" Output: ", name_of(names[output], 40), ".") if len(names) > 1 else ""
    bars = interactions.figure("bars", k=BARS, output=output)
    caption = joined("The strongest pairs, with ± 2 standard errors.", of)
    drawn = figure(bars, caption, "pairs-bars", width=MEDIUM, readouts=True)
    listed = folded("Numbers of the strongest pairs", _pairs_table(refs, interactions), class_="appendix")
    return [drawn, listed]


def _pairs_table(refs: References, interactions: HStatistics) -> Markup:
    surfaces: Mapping[Any, PartialDependence] = refs.explanation.surfaces or {}
    pairs = [one for one in interactions.strongest(LISTED) if one.strength > 0]
    columns = text_table(pair_columns(interactions), len(pairs))
    names = [tuple(feature_names_of(interactions, one.features)) for one in pairs]
    links = {pair: element("a", "surface", href=f"#{refs.pair(pair)}") for pair in surfaces}
    columns.append(TextColumn("surface", [links.get(pair, NONE) for pair in names]))
    return refs.table(f"The strongest pairs, at most {LISTED}", columns, sortable=True)


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
    made = [_pair_surface(refs, surfaces[pair], place == 0) for place, pair in enumerate(order)]
    return [element("h3", "Surfaces of the strongest pairs"), *made]


def _pair_surface(refs: References, effect: PartialDependence, opened: bool) -> Markup:
    assert effect.average is not None  # as explain requests it
    output = moved_most(effect.average, 1)[0]
    several = len(effect.output_names) > 1
    of = joined(", output ", name_of(effect.output_names[output], 40)) if several else ""
    both = " and ".join(shortened(name, 40) for name in effect.feature_names)
    caption = joined("Partial dependence on ", both, of, ". Hatched: combinations absent from the data.")
    numbers, key = surface_table(effect, output), f"{refs.pair(effect.feature_names)}-map"
    drawing = surface_figure(effect, output)
    shown = numbers if drawing is None else figure(drawing, caption, key, numbers, MEDIUM)
    names = joined((" × " * (place > 0), name_of(name)) for place, name in enumerate(effect.feature_names))
    body = element("div", shown, class_="body", id=refs.pair(effect.feature_names))
    class_ = "panel" if opened else "panel appendix"
    return element("details", element("summary", element("h4", names)), body, class_=class_, open=opened)


def surface_table(effect: PartialDependence, output: int) -> Markup:
    """Return the table of a surface: rows are values of the first feature, columns those of the second."""
    assert effect.average is not None  # as explain requests it
    first, second = ([at(value) for value in values] for values in effect.grid_values)
    rows = (
        [value, *map(digits, line)]
        for value, line in zip(first, effect.average[output].tolist(), strict=True)
    )
    one, two = (shortened(name, 30) for name in effect.feature_names)
    return table(f"Rows: {one}; columns: {two}", [f"{one} \\ {two}", *second], rows, class_="numeric")
