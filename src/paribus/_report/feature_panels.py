"""Panels of features: figures with tables of numbers, facts and notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from paribus._report.figures import (
    SOME_OUTPUTS,
    References,
    badge,
    drawn_outputs,
    feature_figures,
    figure,
)
from paribus._report.first_sections import against
from paribus._report.markup import (
    Markup,
    at,
    element,
    facts,
    folded,
    joined,
    long_text,
    name_of,
    section,
    share,
    shortened,
    table,
)
from paribus._text import NONE, brief, count, measured
from paribus.results.sentences import shown_curve
from paribus.results.text_table import text_table

PRINTED = 10  # features with a panel on paper, at most


def panels_section(refs: References) -> Markup:
    """Return the section with a panel for each feature, of which the first is unfolded."""
    weaker = len(refs.ranks) - PRINTED
    note = f"{count(weaker, 'weaker feature')} without a panel on paper are in the table of all features."
    return section(
        "features",
        "Curves",
        element(
            "p",
            "Partial dependence is the average prediction with the feature set to a value in all rows. "
            "Accumulated local effects (ALE) add up changes between neighboring values, for the rows there. "
            "Averages are over the rows near a value. The curves differ where features depend on each other "
            "or interact.",
        ),
        *(_feature_panel(refs, name) for name in refs.ranks),
        element("p", note, class_="paper") if weaker > 0 else None,
    )


def _feature_panel(refs: References, name: str) -> Markup:
    rank, row = refs.ranks[name], refs.rows[name]
    brief_text = f"{row.shape or NONE}; strength {measured(row.strength, row.standard_error)}"
    head = element("h3", f"{rank}. ", name_of(name))
    notes = [
        element("li", badge(note.code), f" {note.code.value} ", long_text(note.text))
        for note in refs.notes_of.get(name, ())
    ]
    shapes = [shape for shape in refs.explanation.shapes if shape.feature == name]
    by_output = None
    if len(shapes) > 1:
        cells = (
            [name_of(shape.output, 40), shape.text, measured(shape.range, shape.range_error)]
            for shape in shapes
        )
        caption = f"Shapes of {shortened(name, 40)} by output"
        shapes_table = table(caption, ("Output", "Shape", "Range"), cells)
        by_output = folded("Shape for each output", shapes_table, class_="appendix")
    body = element(
        "div",
        element("div", *_feature_figures(refs, name), class_="figures"),
        _feature_facts(refs, name),
        element("ul", *notes, class_="notes") if notes else None,
        by_output,
        _feature_numbers(refs, name),
        element("p", element("a", "Back to all features", href="#model"), class_="back"),
        id=f"feature-{rank}",
        class_="body",
    )
    summary = element("summary", head, " ", element("span", brief_text, class_="brief"))
    return element(
        "details", summary, body, class_="panel appendix" if rank > PRINTED else "panel", open=rank == 1
    )


def _feature_facts(refs: References, name: str) -> Markup:
    effect, shape, row = refs.explanation.effects[name], refs.explanation.shapes.widest(name), refs.rows[name]
    curve = shown_curve(effect, shape)
    pairs: list[tuple[str, Any]] = [("Kind", effect.kinds[0])]
    if curve is not None:
        pairs.append(("Effect", curve.path_text))
    if shape is not None:
        pairs.append(("Whole range", measured(shape.range, shape.range_error)))
        pairs.append(("Lowest at", at(shape.lowest)))
        pairs.append(("Highest at", at(shape.highest)))
        reversal = against(shape)
        if reversal != NONE:
            pairs.append(("Largest reversal", reversal))
    if row.partner is not None:
        strongest = joined(refs.feature(row.partner), f" {brief(row.partner_strength)}")
        pairs.append(("Strongest partner", strongest))
    if effect.extrapolation is not None:
        pairs.append(("Extrapolates", share(effect.extrapolation.share)))
    pairs.append(("Values", row.support))
    pairs.append(("Rows near the curve", share(row.inside)))
    pairs.append(("Missing", share(row.missing)))
    return facts(pairs)


def _feature_figures(refs: References, name: str) -> Iterator[Markup]:
    """Yield the figures of a feature: with the spread of the rows, and with the other estimates."""
    explanation, key, readouts = refs.explanation, f"f{refs.ranks[name]}", refs.readouts
    effect, shown = explanation.effects[name], name_of(name, 40)
    ale, averages = explanation.ale.get(name), explanation.averages.get(name)
    spread, compared = feature_figures(effect, ale, averages)
    outputs, drawn = len(effect.output_names), len(drawn_outputs(effect))
    details = ""
    if drawn < outputs:
        details = f" Drawn: {drawn} of {outputs} outputs, those that move most."
    elif effect.quantiles is not None:
        chances = effect.quantiles.probabilities
        details = f" Bands: quantiles {min(chances):g} to {max(chances):g} of the individual curves."
    caption = joined("Partial dependence on ", shown, ".", details)
    yield figure(spread, caption, f"{key}-pd", readouts=readouts, class_="appendix" if compared else None)
    if compared:
        output = " Drawn: the output that moves most." if drawn < outputs else ""
        estimates = {"accumulated local effects": ale, "averages": averages}
        others = " and ".join(label for label, curve in estimates.items() if curve is not None)
        text = joined("Partial dependence, ", others, " of ", shown, ".", output)
        yield figure(compared, text, f"{key}-all", readouts=readouts)


def _feature_numbers(refs: References, name: str) -> Markup:
    """Return the folded tables of the numbers of all curves of a feature."""
    explanation, shown = refs.explanation, shortened(name, 40)
    effect = explanation.effects[name]
    curves: list[tuple[str, Any, int]] = [
        (f"Partial dependence on {shown}", effect, SOME_OUTPUTS),
        (f"Accumulated local effects of {shown}", explanation.ale.get(name), 1),
        (f"Averages over the rows near each value of {shown}", explanation.averages.get(name), 1),
    ]
    tables = []
    for caption, curve, most in curves:
        if curve is None:
            continue
        outputs = [effect.output_names[o] for o in drawn_outputs(effect, most)]
        columns = {**curve._tables()[0].columns}
        rows = np.flatnonzero(np.isin(columns["output"], outputs))
        values = columns.pop(0)
        places = ["missing" if values[row] is None else at(values[row]) for row in rows]
        numbers = {head: [column[row] for row in rows] for head, column in columns.items()}
        tables.append(refs.table(caption, text_table({"value": places} | numbers), class_="numeric"))
    return folded("Numbers of these figures", *tables, class_="numbers appendix")
