"""Verdict and overview table of a report."""

from __future__ import annotations

from paribus._report.figures import References, badge, code_link, spark
from paribus._report.markup import (
    NONE,
    Markup,
    at,
    element,
    folded,
    joined,
    long_text,
    measured,
    name_of,
    sentence,
    share,
    table,
)
from paribus._text import count, number, short
from paribus.notes import Note, NoteCode
from paribus.results.explanation import Explanation
from paribus.results.shape import Shape

SHOWN = 3  # notes of one code that are not folded, at most


def by_code(refs: References) -> dict[NoteCode, list[Note]]:
    """Return the notes of each code in the verdict, with the note of the verdict first.

    The verdict has one note for each code, the worst code first.
    """
    found: dict[NoteCode, list[Note]] = {}
    for finding in refs.explanation.verdict:
        same = [note for note in refs.notes if note.code is finding.code] or [finding]
        found[finding.code] = sorted(same, key=lambda note: note.feature != finding.feature)
    return found


def summary(explanation: Explanation) -> str:
    """Return what the curves explain, and the verdict, in a sentence each."""
    kinds = {note.code for note in explanation.verdict}
    issues = sum(code.severity == "issue" for code in kinds)
    clear = sum(check.found == 0 for check in explanation.checks)
    found = f"{count(issues, 'kind')} of issue and {count(len(kinds) - issues, 'kind')} of tip were found"
    checks = (
        f"; {clear} of {count(len(explanation.checks), 'check')} found nothing" if explanation.checks else ""
    )
    headline = explanation.headline
    first = f"{headline[:1].upper()}{headline[1:]}. " if headline else ""
    return f"{first}{found}{checks}."


def verdict_section(refs: References) -> Markup:
    """Return the section of the verdict."""
    explanation = refs.explanation
    kinds = by_code(refs)
    listed = (_finding_item(refs, code, notes) for code, notes in kinds.items())
    nothing = element("p", "Nothing was found.", class_="good")
    return element(
        "section",
        element("h2", "Verdict"),
        element("p", summary(explanation), class_="lead"),
        element("ol", *listed, class_="findings") if kinds else nothing,
        _muted_checks(explanation),
        _clear_checks(explanation),
        element(
            "p",
            "An issue would change a decision: whether to use the model, or how to read one of its curves. ",
            "A tip says what the numbers are. ",
            "Neither judges whether the model is fit for a use.",
            class_="small",
        ),
        id="verdict",
        aria_label="Verdict",
    )


def _finding_item(refs: References, code: NoteCode, notes: list[Note]) -> Markup:
    """Return the list item of a code: its first notes, and the others folded."""
    shown, rest = notes[:SHOWN], notes[SHOWN:]
    head = element(
        "h3",
        badge(code),
        " ",
        element("span", code.meaning[:1].upper() + code.meaning[1:]),
        " ",
        code_link(code),
    )
    more = None
    if rest:
        label = f"{count(len(rest), 'further note')} of this kind"
        more = folded(label, element("ul", *(note_item(refs, note) for note in rest)))
    return element(
        "li",
        head,
        element("ul", *(note_item(refs, note) for note in shown)),
        more,
        class_=f"finding {code.severity}",
    )


def note_item(refs: References, note: Note, *, with_code: bool = False) -> Markup:
    """Return the list item of a note, with its code or a link to the panel of its feature."""
    panel = None
    if note.feature is not None and note.feature in refs.ranks and not with_code:
        panel = joined(" ", element("span", "→ ", refs.feature(note.feature), class_="where"))
    code = joined(badge(note.code), " ", code_link(note.code), " ") if with_code else None
    return element("li", code, long_text(note.text), panel)


def _muted_checks(explanation: Explanation) -> Markup | None:
    """Return the list of muted codes, if there are any."""
    muted = [check for check in explanation.checks if check.muted]
    if not muted:
        return None
    listed = (
        joined("; " * (place > 0), code_link(check.code), f" {check.code.meaning} ({check.found} found)")
        for place, check in enumerate(muted)
    )
    return element("p", element("strong", "Muted on request: "), *listed, ".", class_="muted")


def _clear_checks(explanation: Explanation) -> Markup | None:
    """Return the folded list of checks without findings, if there are any."""
    clear = [check for check in explanation.checks if check.found == 0]
    if not clear:
        return None
    listed = (element("li", code_link(check.code), " ", check.code.meaning) for check in clear)
    return folded(f"{count(len(clear), 'check')} that found nothing", element("ul", *listed, class_="plain"))


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
    """Return the section with the table of all features."""
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
        _skipped_features(explanation),
        id="model",
        aria_label="The model in a table",
    )


def overview_row(refs: References, name: str) -> list[str]:
    """Return the cells of a feature in the overview table."""
    own, shape = refs.rows[name], refs.widest(name)
    partner = NONE
    if own.partner is not None:
        partner = joined(refs.feature(own.partner, 24), element("small", number(own.partner_strength)))
    return [
        str(refs.ranks[name]),
        refs.feature(name),
        spark(refs.explanation.effects[name], shape),
        measured(own.strength, own.standard_error),
        NONE if shape is None else _shape_cell(shape, refs.explanation),
        NONE if shape is None else sentence(against(shape)),
        partner,
        joined(element("bdi", own.support), element("small", f"{share(own.inside)} on the curve")),
        share(own.missing),
    ]


def _shape_cell(shape: Shape, explanation: Explanation) -> Markup:
    output = joined(" (", name_of(shape.output, 24), ")") if len(explanation.output_names) > 1 else None
    return joined(
        element("strong", shape.name), output, element("small", measured(shape.range, shape.range_error))
    )


def against(shape: Shape) -> str:
    """Return the text of the largest movement against a direction, with its error, range and data."""
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


def _skipped_features(explanation: Explanation) -> Markup | None:
    skipped = explanation.effects.skipped
    if not skipped:
        return None
    listed = (element("li", element("bdi", reason)) for reason in skipped)
    return joined(element("p", "Features that were left out:"), element("ul", *listed))
