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
    panels = (_feature_panel(refs, name) for name in refs.ranks)
    many = len(refs.ranks) - PRINTED
    weaker = f"{count(many, 'weaker feature')} without a panel on paper" if many > 0 else ""
    return element(
        "section",
        element("h2", "Curves"),
        element(
            "p",
            "Partial dependence is the average prediction with the feature set to a value in all rows. "
            "Accumulated local effects (ALE) add up changes between neighboring values, for the rows there. "
            "Averages are over the rows near a value. The curves differ where features depend on each other "
            "or interact.",
        ),
        *panels,
        element("p", f"{weaker} are in the table of all features.", class_="paper") if weaker else None,
        id="features",
        aria_label="Curves",
    )


def _feature_panel(refs: References, name: str) -> Markup:
    rank, own = refs.ranks[name], refs.rows[name]
    brief_text = f"{own.shape or NONE}; strength {measured(own.strength, own.standard_error)}"
    head = element("h3", f"{rank}. ", name_of(name))
    body = element(
        "div",
        element("div", *_feature_figures(refs, name), class_="figures"),
        _feature_facts(refs, name),
        _feature_notes(refs, name),
        _shapes_table(refs, name),
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
    explanation = refs.explanation
    effect, shape, own = explanation.effects[name], refs.widest(name), refs.rows[name]
    curve = shown_curve(effect, shape)
    known: list[tuple[str, Any]] = [("Kind", effect.kinds[0])]
    if curve is not None:
        known.append(("Effect", curve.path_text))
    if shape is not None:
        known += [
            ("Whole range", measured(shape.range, shape.range_error)),
            ("Lowest at", at(shape.lowest)),
            ("Highest at", at(shape.highest)),
        ]
        moved = against(shape)
        known += [("Largest reversal", moved)] * (moved != NONE)
    if own.partner is not None:
        strongest = joined(refs.feature(own.partner), f" {brief(own.partner_strength)}")
        known.append(("Strongest partner", strongest))
    if effect.extrapolation is not None:
        known.append(("Extrapolates", share(effect.extrapolation.share)))
    known += [("Values", own.support), ("Rows near the curve", share(own.inside))]
    known.append(("Missing", share(own.missing)))
    return facts(known)


def _feature_notes(refs: References, name: str) -> Markup | None:
    notes = refs.notes_of.get(name, ())
    listed = (element("li", badge(note.code), f" {note.code.value} ", long_text(note.text)) for note in notes)
    return element("ul", *listed, class_="notes") if notes else None


def _feature_figures(refs: References, name: str) -> Iterator[Markup]:
    """Yield the figures of a feature: with the spread of the rows, and with the other estimates."""
    explanation, key, readouts = refs.explanation, f"f{refs.ranks[name]}", refs.readouts
    effect, shown = explanation.effects[name], name_of(name, 40)
    ale, averages = explanation.ale.get(name), explanation.averages.get(name)
    spread, compared = feature_figures(effect, ale, averages)
    outputs, drawn = len(effect.output_names), len(drawn_outputs(effect))
    some = "" if drawn == outputs else f" Drawn: {drawn} of {outputs} outputs, those that move most."
    rows = ""
    if effect.quantiles is not None and drawn == outputs:
        chances = effect.quantiles.probabilities
        rows = f" Bands: quantiles {min(chances):g} to {max(chances):g} of the individual curves."
    caption = joined("Partial dependence on ", shown, ".", rows, some)
    yield figure(spread, caption, f"{key}-pd", readouts=readouts, class_="appendix" if compared else None)
    if compared:
        one = " Drawn: the output that moves most." if drawn < outputs else ""
        others = " and ".join(
            [*["accumulated local effects"] * (ale is not None), *["averages"] * (averages is not None)]
        )
        text = joined("Partial dependence, ", others, " of ", shown, ".", one)
        yield figure(compared, text, f"{key}-all", readouts=readouts)


def _feature_numbers(refs: References, name: str) -> Markup:
    """Return the folded tables of the numbers of all curves of a feature."""
    explanation, shown = refs.explanation, shortened(name, 40)
    effect = explanation.effects[name]
    first, second = (
        [effect.output_names[o] for o in drawn_outputs(effect, most)] for most in (SOME_OUTPUTS, 1)
    )
    curves = {
        f"Partial dependence on {shown}": (effect, first),
        f"Accumulated local effects of {shown}": (explanation.ale.get(name), second),
        f"Averages over the rows near each value of {shown}": (explanation.averages.get(name), second),
    }
    tables = (
        _curve_table(refs, caption, curve, outputs)
        for caption, (curve, outputs) in curves.items()
        if curve is not None
    )
    return folded("Numbers of these figures", *tables, class_="numbers appendix")


def _curve_table(refs: References, caption: str, curve: Any, outputs: list[str]) -> Markup:
    """Return the table of a curve, for the outputs that are drawn."""
    columns = {**curve._tables()[0].columns}
    shown = np.flatnonzero(np.isin(columns["output"], outputs))
    values = columns.pop(0)
    columns = {name: [column[place] for place in shown] for name, column in columns.items()}
    places = ["missing" if values[place] is None else at(values[place]) for place in shown]
    return refs.table(caption, text_table({"value": places} | columns), class_="numeric")


def _shapes_table(refs: References, name: str) -> Markup | None:
    """Return the table of the shape for each output; None for a single output."""
    shapes = [shape for shape in refs.explanation.shapes if shape.feature == name]
    if len(shapes) < 2:
        return None
    rows = ([name_of(one.output, 40), one.text, measured(one.range, one.range_error)] for one in shapes)
    made = table(f"Shapes of {shortened(name, 40)} by output", ("Output", "Shape", "Range"), rows)
    return folded("Shape for each output", made, class_="appendix")
