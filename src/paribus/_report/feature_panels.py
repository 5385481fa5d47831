"""Panels of features: figures with tables of numbers, facts and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from paribus._report.figures import ALL_OUTPUTS, References, drawn_outputs, feature_figures, figure
from paribus._report.first_sections import against, note_item
from paribus._report.markup import (
    Markup,
    at,
    element,
    error_digits,
    facts,
    folded,
    joined,
    name_of,
    share,
    shortened,
    table,
)
from paribus._report.sentences import shape_words, shown_curve
from paribus._text import NONE, brief, count, digits, measured
from paribus.results.text_table import head_of

Columns = dict[str, list[str]]  # cells of a table by the head of their column
OF_ROWS = ("support", "rows")  # columns that are the same for all outputs
OF_MANY = ("average", "ale", "predicted", "observed", "standard_error", "observed_error")

PRINTED = 10  # features with a panel on paper, at most


def panels_section(refs: References) -> Markup:
    """Return the section with a panel for each feature, of which the first is unfolded."""
    panels = (_feature_panel(refs, name) for name in refs.ranks)
    weaker = len(refs.ranks) - PRINTED
    left_out = f"{count(weaker, 'weaker feature')} not printed." if weaker > 0 else ""
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
        element("p", left_out, class_="paper") if left_out else None,
        id="features",
        aria_label="Curves",
    )


def _feature_panel(refs: References, name: str) -> Markup:
    rank, own = refs.ranks[name], refs.rows[name]
    brief_text = f"{shape_words(refs, name)}; strength {measured(own.strength, own.standard_error)}"
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
    effect, shape, curve = explanation.effects[name], refs.widest(name), shown_curve(refs, name)
    own = refs.rows[name]
    known: list[tuple[str, Any]] = [("Kind", effect.kinds[0])]
    if curve is not None:
        known.append(("Effect", curve.ends_text))
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
    listed = (note_item(refs, note, with_code=True) for note in notes)
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
    curves = {
        f"Partial dependence on {shown}": explanation.effects[name],
        f"Accumulated local effects of {shown}": explanation.ale.get(name),
        f"Averages over the rows near each value of {shown}": explanation.averages.get(name),
    }
    tables = (number_table(caption, curve_columns(one)) for caption, one in curves.items() if one is not None)
    return folded("Numbers of these figures", *tables, class_="numbers appendix")


def number_table(caption: str, columns: Columns) -> Markup:
    """Return a table of numbers from its columns."""
    rows: Iterable[tuple[str, ...]] = zip(*columns.values(), strict=True)
    return table(caption, list(columns), rows, class_="numeric")


def curve_columns(curve: Any) -> Columns:
    """Return the columns of the table of a curve, side by side for its outputs.

    Of many outputs they are the averages and errors only.
    """
    columns = dict(curve._tables()[0].columns)
    outputs, values = curve.output_names, columns.pop(0)
    del columns["output"]
    size = len(values) // len(outputs)
    table: Columns = {"Value": ["missing" if value is None else at(value) for value in values[:size]]}
    for name, numbers in columns.items():
        if name in OF_ROWS:
            table[head_of(name)] = [digits(number) for number in numbers[:size]]
        elif len(outputs) <= ALL_OUTPUTS or name in OF_MANY:
            write = error_digits if name.endswith("error") else digits
            for place, output in enumerate(outputs):
                prefix = f"{shortened(output, 24)}: " if len(outputs) > 1 else ""
                part = numbers[place * size : (place + 1) * size]
                table[prefix + head_of(name)] = [write(number) for number in part]
    return table


def _shapes_table(refs: References, name: str) -> Markup | None:
    """Return the table of the shape for each output; None for a single output."""
    shapes = refs.shapes.get(name, [])
    if len(shapes) < 2:
        return None
    rows = (
        [name_of(one.output, 40), shape_words(refs, name, one), measured(one.range, one.range_error)]
        for one in shapes
    )
    made = table(f"Shapes of {shortened(name, 40)} by output", ("Output", "Shape", "Range"), rows)
    return folded("Shape for each output", made, class_="appendix")
