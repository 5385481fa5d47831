"""Panels of features: figures with tables of numbers, facts and notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from paribus._contracts import Array
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
from paribus._text import NONE, at_value, brief, count, digits, measured
from paribus.results.ale import AccumulatedLocalEffect
from paribus.results.marginal import Marginal
from paribus.results.partial_dependence import PartialDependence, trimmed

Columns = list[tuple[str, list[str]]]  # head and cells of each column of a table


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
    if (tails := trimmed(effect).tails) is not None:
        known.append(("Rows outside the plot", share(tails.share)))
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
        rows = f" Gray: quantiles {min(chances):g} to {max(chances):g} of the individual curves."
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
    tables = [number_table(f"Partial dependence on {shown}", effect_columns(explanation.effects[name]))]
    if name in explanation.ale:
        caption = f"Accumulated local effects of {shown}"
        tables.append(number_table(caption, local_columns(explanation.ale[name])))
    if name in explanation.averages:
        caption = f"Averages over the rows near each value of {shown}"
        tables.append(number_table(caption, average_columns(explanation.averages[name])))
    return folded("Numbers of these figures", *tables, class_="numbers appendix")


def number_table(caption: str, columns: Columns) -> Markup:
    """Return a table of numbers from its columns."""
    rows: Iterable[tuple[str, ...]] = zip(*(cells for _, cells in columns), strict=True)
    return table(caption, [head for head, _ in columns], rows, class_="numeric")


def _value_column(result: Any) -> tuple[str, list[str]]:
    """Return the first column of a table: the grid values, and the missing value last."""
    values = [shortened(at_value(value)) for value in result.grid_values[0].tolist()]
    if result.grid_values[0].dtype.kind in "mM":
        values = [at(value) for value in result.grid_values[0]]
    return "Value", [*values, "missing"] if result.missing is not None else values


def _number_column(
    result: Any, head: str, curve: Array, at_missing: Any, write: Any = digits
) -> tuple[str, list[str]]:
    cells = [write(value) for value in curve.tolist()]
    if result.missing is not None:
        cells.append("–" if at_missing is None else write(float(at_missing)))
    return head, cells


def _output_prefix(result: Any, output: int) -> str:
    """Return the name of an output as a prefix of heads, empty for a single output."""
    return f"{shortened(result.output_names[output], 24)}: " if len(result.output_names) > 1 else ""


def effect_columns(effect: PartialDependence) -> Columns:
    """Return the columns of a partial dependence: average, standard error, quantiles of ICE, weight."""
    missing, columns = effect.missing, [_value_column(effect)]
    many = len(effect.output_names) > ALL_OUTPUTS
    for output in range(len(effect.output_names)):
        head = _output_prefix(effect, output)
        if effect.average is not None:
            last = None if missing is None or missing.average is None else missing.average[output]
            columns.append(_number_column(effect, f"{head}average", effect.average[output], last))
        if effect.standard_error is not None:
            last = (
                None if missing is None or missing.standard_error is None else missing.standard_error[output]
            )
            curve = effect.standard_error[output]
            columns.append(_number_column(effect, f"{head}standard error", curve, last, error_digits))
        spread = effect.quantiles
        for place, quantile in enumerate(() if spread is None or many else spread.names):
            assert spread is not None
            last = None if spread.missing is None else spread.missing[output, place]
            columns.append(_number_column(effect, f"{head}{quantile}", spread.values[output, place], last))
    last = None if missing is None else missing.support
    return [*columns, _number_column(effect, "weight of the data", effect.support, last)]


def local_columns(effect: AccumulatedLocalEffect) -> Columns:
    """Return the columns of accumulated local effects: effect and standard error."""
    missing, columns = effect.missing, [_value_column(effect)]
    for output in range(len(effect.output_names)):
        head = _output_prefix(effect, output)
        last = None if missing is None or missing.ale is None else missing.ale[output]
        columns.append(_number_column(effect, f"{head}ALE", effect.ale[output], last))
        last = None if missing is None or missing.standard_error is None else missing.standard_error[output]
        curve = effect.standard_error[output]
        columns.append(_number_column(effect, f"{head}standard error", curve, last, error_digits))
    return columns


def average_columns(averages: Marginal) -> Columns:
    """Return the columns of averages over the rows near each value, with their errors and counts."""
    missing, columns = averages.missing, [_value_column(averages)]
    many = len(averages.output_names) > ALL_OUTPUTS
    for output in range(len(averages.output_names)):
        head = _output_prefix(averages, output)
        for key in ("predicted", "observed", "residual"):
            if key not in averages or (many and key == "residual"):
                continue
            last = None if missing is None else getattr(missing, key)[output]
            columns.append(_number_column(averages, f"{head}{key}", averages[key][output], last))
            if not many or key == "observed":
                last = None if missing is None else getattr(missing, f"{key}_error")[output]
                curve = averages[f"{key}_error"][output]
                columns.append(
                    _number_column(averages, f"{head}{key}, standard error", curve, last, error_digits)
                )
    last = None if missing is None else missing.rows
    return [*columns, _number_column(averages, "rows", averages.rows, last, lambda rows: f"{rows:.0f}")]


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
