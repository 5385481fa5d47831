"""Summary, findings and overview table of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from paribus._report.figures import (
    References,
    badge,
    figure,
    not_shown,
    spark,
    summary_figures,
)
from paribus._report.markup import (
    Markup,
    at,
    element,
    folded,
    joined,
    long_text,
    name_of,
    section,
    share,
    table,
)
from paribus._text import NONE, brief, count, measured
from paribus.notes import Note, NoteCode
from paribus.results.sentences import shown_curve
from paribus.results.shape import Shape

NAMED = 2  # kinds of findings in the line above their list
SHOWN = 3  # notes of one code that are not folded, at most
CURVES = 6  # curves in the summary, at most
LEAD = 2  # sentences in large letters: what is predicted, and how well


def by_code(refs: References) -> dict[NoteCode, list[Note]]:
    """Return the notes of each code in the verdict, with the note of the verdict first.

    The verdict has one note for each code, the worst code first.
    """
    notes_of_code: dict[NoteCode, list[Note]] = {}
    for finding in refs.explanation.verdict:
        notes = [note for note in refs.notes if note.code is finding.code] or [finding]
        notes_of_code[finding.code] = sorted(notes, key=lambda note: note.feature != finding.feature)
    return notes_of_code


def summary_section(refs: References) -> Markup:
    """Return the section of sentences, of which two are the lead, and of the strongest curves.

    Each curve is for the output that the feature moves most.
    """
    lines = [element("bdi", sentence.text) for sentence in refs.explanation.sentences]
    widest = {name: refs.explanation.shapes.widest(name) for name in refs.ranks}
    shapes = [(name, shape) for name, shape in widest.items() if shape is not None][:CURVES]
    effects = refs.explanation.effects
    curves = [(effects[name], effects[name].output_names.index(shape.output)) for name, shape in shapes]
    several = len(refs.explanation.output_names) > 1
    figures = []
    for (name, shape), drawing in zip(shapes, summary_figures(curves) if curves else (), strict=True):
        output = joined(" (", name_of(shape.output, 20), ")") if several else None
        caption = joined(refs.feature(name, 32), output, ": ", shape.text)
        figures.append(figure(drawing, caption, f"top-{refs.ranks[name]}", readouts=refs.readouts))
    return element(
        "section",
        element("h2", "Summary", class_="quiet"),
        *(element("p", line, class_="lead") for line in lines[:LEAD]),
        element("ul", *(element("li", line) for line in lines[LEAD:]), class_="sentences"),
        element("div", *figures, class_="curves") if figures else None,
        id="summary",
        aria_label="Summary",
    )


def before_section(refs: References, limitations: Sequence[Markup]) -> Markup:
    """Return the section of findings: one expandable line each of issues, tips and limits.

    The last line has what the page does not show, and the checks without findings.
    """
    kinds, checks = by_code(refs), refs.explanation.checks
    outcomes = Counter(check.outcome for check in checks)
    clear, left_out = count(outcomes["not found"], "check"), outcomes["not applicable"]
    head = joined(
        element("strong", "Limits"),
        f": curves show the model, not causes; {clear} found nothing, {left_out} did not apply",
    )
    lists = []
    for outcome, label in (("not found", "that found nothing"), ("not applicable", "that did not apply")):
        items = [
            element("li", check.code.meaning, f": {check.reason}" * bool(check.reason))
            for check in checks
            if check.outcome == outcome
        ]
        if items:
            listed = element("ul", *items, class_="plain")
            lists.append(folded(f"{count(len(items), 'check')} {label}", listed, class_="appendix"))
    return section(
        "before",
        "Before you rely on this",
        *(_findings_line(refs, kinds, severity) for severity in ("issue", "tip")),
        folded(head, *limitations, not_shown(), *lists, class_="line"),
        element(
            "p",
            "An issue can change a decision; a tip adds context. In text and tables, ± is a standard error.",
            class_="small",
        ),
    )


def _findings_line(refs: References, kinds: Mapping[NoteCode, list[Note]], severity: str) -> Markup | None:
    """Return the expandable line of the findings of one severity; None without any."""
    findings = {code: notes for code, notes in kinds.items() if code.severity == severity}
    if not findings:
        return None
    meanings = [code.meaning for code in findings]
    more = f"; and {len(findings) - NAMED} more" if len(findings) > NAMED else ""
    head = joined(
        element("strong", f"{count(len(findings), 'kind')} of {severity}"),
        ": ",
        element("span", "; ".join(meanings[:NAMED]), more),
    )
    items = (_finding_item(refs, code, notes) for code, notes in findings.items())
    others = dict.fromkeys(note.code for note in refs.notes if note.code.severity == severity)
    names = [f"{code.value} ({code.meaning})" for code in others if code not in findings]
    further = element("p", "In notes only: ", "; ".join(names), ".", class_="small") if names else None
    return folded(head, element("ol", *items, class_="findings"), further, class_=f"line {severity}")


def _finding_item(refs: References, code: NoteCode, notes: list[Note]) -> Markup:
    """Return the list item of a code: its first notes, and the others folded."""
    shown, rest = notes[:SHOWN], notes[SHOWN:]
    head = element(
        "h3",
        badge(code),
        " ",
        element("span", code.meaning[:1].upper() + code.meaning[1:]),
        " ",
        element("span", code.value, class_="code"),
    )
    more = None
    if rest:
        label = f"{count(len(rest), 'further note')} of this kind"
        more = folded(label, element("ul", *(note_item(refs, note) for note in rest)), class_="appendix")
    return element(
        "li",
        head,
        element("ul", *(note_item(refs, note) for note in shown)),
        more,
        class_=f"finding {code.severity}",
    )


def note_item(refs: References, note: Note) -> Markup:
    """Return the list item of a note, with a link to the panel of its feature."""
    panel = None
    if note.feature is not None and note.feature in refs.ranks:
        panel = joined(" ", element("span", "→ ", refs.feature(note.feature), class_="where"))
    return element("li", long_text(note.text), panel)


HEADS = ("Rank", "Feature", "Curve", "Strength", "Shape", "Effect", "Strongest partner", "Values", "Missing")


def overview_section(refs: References) -> Markup:
    """Return the section with the table of all features."""
    explanation = refs.explanation
    several = len(explanation.output_names) > 1
    outputs = " With several outputs, shape and effect are of the one that moves most." * several
    skipped = None
    if explanation.effects.skipped:
        reasons = (element("li", element("bdi", reason)) for reason in explanation.effects.skipped)
        skipped = joined(element("p", "Features that were left out:"), element("ul", *reasons))
    return section(
        "model",
        "All features",
        element(
            "p",
            f"Strength is the standard deviation of the curve over the data, in units of the "
            f"{explanation.provenance.scale}. The effect has the heights of the curve at both ends and at a "
            f"turn; of a curve without a direction, the lowest and the highest.{outputs}",
        ),
        table(
            "Every feature, the strongest first",
            HEADS,
            (overview_row(refs, name) for name in refs.ranks),
            row_heads=2,
            sortable=True,
            shown_caption=False,
            class_="overview",
        ),
        skipped,
    )


def overview_row(refs: References, name: str) -> list[str]:
    """Return the cells of a feature in the overview table."""
    row, shape = refs.rows[name], refs.explanation.shapes.widest(name)
    curve = shown_curve(refs.explanation.effects[name], shape)
    partner, output = NONE, None
    if row.partner is not None:
        partner = joined(refs.feature(row.partner, 24), element("small", brief(row.partner_strength)))
    if shape is not None and len(refs.explanation.output_names) > 1:
        output = element("small", "for ", name_of(shape.output, 24))
    return [
        str(refs.ranks[name]),
        refs.feature(name),
        spark(refs.explanation.effects[name], shape),
        measured(row.strength, row.standard_error),
        joined(row.shape or NONE, output),
        NONE if curve is None else curve.path_text,
        partner,
        element("bdi", row.support),
        share(row.missing),
    ]


def against(shape: Shape) -> str:
    """Return the largest movement against a declared or prevailing direction; a dash if it has none."""
    monotonicity = shape.monotonicity
    if monotonicity is None:
        return NONE
    declared = monotonicity.is_declared
    if not declared and (shape.name in ("flat", "U", "inverted U") or not monotonicity.violation):
        return NONE
    held = f" (declared: {monotonicity.direction})" * declared
    if not monotonicity.violation:
        return f"nothing{held}"
    moved = measured(monotonicity.violation, monotonicity.standard_error)
    return f"{moved} from {at(monotonicity.start)} to {at(monotonicity.stop)}{held}"
