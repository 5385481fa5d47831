"""Interactions: how strong, of which features, and what they look like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paribus._report.figures import MEDIUM, figure, moved_most, surface_figure
from paribus._report.markup import Markup, element, joined
from paribus._report.phrases import at, digits, measured, name_of, shortened
from paribus._report.references import References
from paribus._report.tables import table
from paribus.results.hstatistics import HStatistics
from paribus.results.partial_dependence import PartialDependence

LISTED = 30  # pairs in the table
BARS = 15
MAP_FEATURES = 20  # of a heat map that can be read


def pairs_section(refs: References) -> Markup:
    """Return strengths of pairs, a map of them, and surfaces of the strongest."""
    interactions = refs.explanation.interactions
    if interactions is None or not interactions.pairs:
        content: list[Markup | None] = [element("p", "A single feature has no interactions.")]
    elif not np.nansum(interactions.pairwise.strength):
        content = [element("p", "Every interaction of two features is exactly zero: the model is additive.")]
    else:
        content = [
            element(
                "p",
                "Strength is the root mean square over the data of what two features do together beyond each "
                "by itself, in units of the prediction. H² is its share of their joint effect, and says "
                "little where that is small.",
            ),
            *_strengths(refs, interactions),
            *_surfaces(refs),
        ]
    return element("section", element("h2", "Interactions"), *content, id="pairs", aria_label="Interactions")


def _strengths(refs: References, interactions: HStatistics) -> list[Markup | None]:
    """Return bars and a heat map of the output with the strongest interaction, and the table of all."""
    names = interactions.output_names
    totals = np.nan_to_num(interactions.pairwise.strength).max(axis=0)
    output = int(np.argmax(totals))
    of = joined(" Output: ", name_of(names[output], 40), ".") if len(names) > 1 else ""
    bars = interactions.figure("bars", k=BARS, output=output)
    drawn = [
        figure(
            bars,
            joined("The strongest pairs, with ± 2 standard errors.", of, " The table below has the numbers."),
            "pairs-bars",
            width=MEDIUM,
            readouts=True,
        )
    ]
    if len(interactions.feature_names) > 2:
        drawn.append(_heat_map(refs, interactions, output, of))
    return [element("div", *drawn, class_="pair"), _table(refs, interactions)]


def _heat_map(refs: References, interactions: HStatistics, output: int, of: Markup | str) -> Markup:
    few = len(interactions.feature_names) <= MAP_FEATURES
    some = "" if few else f" The {MAP_FEATURES} features that interact most."
    drawing = interactions.figure("heatmap", k=MAP_FEATURES, output=output)
    caption = joined("Strengths of pairs; on the diagonal of each feature by itself.", some, of)
    return figure(drawing, caption, "pairs-map", _map_table(interactions, output), readouts=True)


def _map_table(interactions: HStatistics, output: int) -> Markup:
    """Return the strengths of the map as a table."""
    size = len(interactions.feature_names)
    strengths = np.full((size, size), np.nan)
    np.fill_diagonal(strengths, interactions.main_effect.strength[:, output])
    for place, (one, two) in enumerate(interactions.pairs):
        strengths[one, two] = strengths[two, one] = interactions.pairwise.strength[place, output]
    apart = np.nan_to_num(strengths - np.diag(np.diag(strengths)))
    shown = np.sort(np.argsort(-apart.max(axis=1), kind="stable")[:MAP_FEATURES])
    labels = [shortened(interactions.feature_names[place], 24) for place in shown]
    rows = (
        [label, *(digits(strengths[one, two]) for two in shown)]
        for label, one in zip(labels, shown, strict=True)
    )
    return table("Strengths of pairs", ["Feature", *labels], rows, shown_caption=False, class_="numeric")


def _table(refs: References, interactions: HStatistics) -> Markup:
    several = len(interactions.output_names) > 1
    surfaces: Mapping[Any, PartialDependence] = refs.explanation.surfaces or {}
    rows = []
    for one in interactions.strongest(LISTED):
        if one.strength > 0:
            features = tuple(str(name) for name in _names(interactions, one.features))
            drawn = features in surfaces
            link = element("a", "surface", href=f"#{refs.pair(features)}") if drawn else "–"
            numbers = [
                measured(one.strength, one.standard_error),
                measured(one.h_squared, one.standard_error_h_squared),
            ]
            outputs = [name_of(one.output, 40)] if several else []
            rows.append([refs.features(features), *outputs, *numbers, link])
    heads = ["Features", *["Output"] * several, "Strength", "H²", "Surface"]
    return table(f"The strongest pairs, at most {LISTED}", heads, rows, sortable=True)


def _names(interactions: HStatistics, features: tuple[str | int, ...]) -> list[str]:
    """Return the names of features that may have been requested by position."""
    return [interactions.feature_names[interactions.features.index(one)] for one in features]


def _surfaces(refs: References) -> list[Markup]:
    """Return the surfaces of the strongest pairs, the first of them open."""
    surfaces = refs.explanation.surfaces
    if surfaces is None:
        return []
    interactions = refs.explanation.interactions
    assert interactions is not None  # surfaces are of its strongest pairs
    ranking = (tuple(_names(interactions, one.features)) for one in interactions.strongest(None))
    order: list[Any] = [pair for pair in dict.fromkeys(ranking) if pair in surfaces]
    order += [pair for pair in surfaces if pair not in order]
    made = [_surface(refs, surfaces[pair], place == 0) for place, pair in enumerate(order)]
    return [element("h3", "Surfaces of the strongest pairs"), *made]


def _surface(refs: References, effect: PartialDependence, opened: bool) -> Markup:
    assert effect.average is not None  # as explain requests it
    output = moved_most(effect.average, 1)[0]
    several = len(effect.output_names) > 1
    of = joined(", output ", name_of(effect.output_names[output], 40)) if several else ""
    both = " and ".join(shortened(name, 40) for name in effect.feature_names)
    caption = joined("Partial dependence on ", both, of, ". Struck out: what no row combines.")
    numbers, key = surface_table(effect, output), f"{refs.pair(effect.feature_names)}-map"
    drawing = surface_figure(effect, output)
    shown = numbers if drawing is None else figure(drawing, caption, key, numbers, MEDIUM)
    names = joined((" × " * (place > 0), name_of(name)) for place, name in enumerate(effect.feature_names))
    body = element("div", shown, class_="body", id=refs.pair(effect.feature_names))
    return element("details", element("summary", element("h4", names)), body, class_="panel", open=opened)


def surface_table(effect: PartialDependence, output: int) -> Markup:
    """Return a surface as a table: a row for each value of one feature, a column for each of the other."""
    assert effect.average is not None  # as explain requests it
    first, second = ([at(value) for value in values] for values in effect.grid_values)
    rows = (
        [value, *map(digits, line)]
        for value, line in zip(first, effect.average[output].tolist(), strict=True)
    )
    one, two = (shortened(name, 30) for name in effect.feature_names)
    return table(f"Rows: {one}; columns: {two}", [f"{one} \\ {two}", *second], rows, class_="numeric")
