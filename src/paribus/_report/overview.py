"""The model in a table: one row for each feature, the strongest first."""

from __future__ import annotations

from paribus._report.figures import spark
from paribus._report.markup import Markup, element, joined
from paribus._report.phrases import NONE, at, measured, name_of, share
from paribus._report.references import References
from paribus._report.tables import sentence, table
from paribus._text import number, short
from paribus.results.explanation import Explanation
from paribus.results.shape import Shape

HEADS = (
    "Rank",
    "Feature",
    "Curve",
    "Strength",
    "Shape and range",
    "Largest movement against its direction",
    "Strongest partner",
    "Values",
    "Missing",
)


def overview_section(refs: References) -> Markup:
    """Return the table of all features."""
    explanation = refs.explanation
    several = len(explanation.output_names) > 1
    outputs = " Where a model has several outputs, shape and range are of the one that moves most." * several
    return element(
        "section",
        element("h2", "The model in a table"),
        element(
            "p",
            f"Strength is the standard deviation of the partial dependence over the data, in units of the "
            f"{explanation.provenance.scale}, with its standard error.{outputs}",
        ),
        table(
            "Every feature, the strongest first",
            HEADS,
            (overview_row(refs, name) for name in refs.ranks),
            row_heads=2,
            sortable=True,
            class_="overview",
        ),
        _skipped(explanation),
        id="model",
        aria_label="The model in a table",
    )


def overview_row(refs: References, name: str) -> list[str]:
    """Return the cells of a feature."""
    own, shape = refs.rows[name], refs.widest(name)
    partner = NONE
    if own.partner is not None:
        partner = joined(refs.feature(own.partner, 24), element("small", number(own.partner_strength)))
    return [
        str(refs.ranks[name]),
        refs.feature(name),
        spark(refs.explanation.effects[name], shape),
        measured(own.strength, own.standard_error),
        NONE if shape is None else _shape(shape, refs.explanation),
        NONE if shape is None else sentence(against(shape)),
        partner,
        joined(element("bdi", own.support), element("small", f"{share(own.inside)} on the curve")),
        share(own.missing),
    ]


def _shape(shape: Shape, explanation: Explanation) -> Markup:
    output = joined(" (", name_of(shape.output, 24), ")") if len(explanation.output_names) > 1 else None
    return joined(
        element("strong", shape.name), output, element("small", measured(shape.range, shape.range_error))
    )


def against(shape: Shape) -> str:
    """Return the largest movement against a direction: how far, how sure, where, with how much data."""
    monotonicity = shape.monotonicity
    if monotonicity is None:
        return "no order"
    if shape.name == "flat" and not monotonicity.is_declared:
        return NONE
    held = f"{'declared' if monotonicity.is_declared else 'prevailing'}: {monotonicity.direction}"
    if monotonicity.violation == 0 or monotonicity.start is None:
        return f"none ({held})"
    errors = ""
    if monotonicity.standard_error > 0:
        errors = f", {short(monotonicity.violation / monotonicity.standard_error)} standard errors"
    moved = measured(monotonicity.violation, monotonicity.standard_error)
    where = f"from {at(monotonicity.start)} to {at(monotonicity.stop)}"
    return f"{moved}{errors}, {where}, {share(monotonicity.support)} of the data ({held})"


def _skipped(explanation: Explanation) -> Markup | None:
    skipped = explanation.effects.skipped
    if not skipped:
        return None
    listed = (element("li", element("bdi", reason)) for reason in skipped)
    return joined(element("p", "Features that were left out:"), element("ul", *listed))
