"""Summary, findings and overview table of a report."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from paribus._report.figures import (
    References,
    badge,
    figure,
    not_shown,
    spark,
    summary_figures,
)
from paribus._report.markup import (
    Content,
    Markup,
    at,
    element,
    folded,
    joined,
    long_text,
    name_of,
    share,
    table,
)
from paribus._text import NONE, brief, count, measured
from paribus.notes import Note, NoteCode
from paribus.results.explanation import Explanation
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
    found: dict[NoteCode, list[Note]] = {}
    for finding in refs.explanation.verdict:
        same = [note for note in refs.notes if note.code is finding.code] or [finding]
        found[finding.code] = sorted(same, key=lambda note: note.feature != finding.feature)
    return found


def _outcomes(explanation: Explanation) -> str:
    """Return how many checks found nothing, and how many do not apply."""
    outcomes = Counter(check.outcome for check in explanation.checks)
    clear, left_out = outcomes["not found"], outcomes["not applicable"]
    return f"{count(clear, 'check')} found nothing, {left_out} did not apply"


def summary_section(refs: References) -> Markup:
    """Return the section of sentences, of which two are the lead, and of the strongest curves."""
    lines = [element("bdi", sentence.text) for sentence in refs.explanation.sentences]
    return element(
        "section",
        element("h2", "Summary", class_="quiet"),
        *(element("p", line, class_="lead") for line in lines[:LEAD]),
        element("ul", *(element("li", line) for line in lines[LEAD:]), class_="sentences"),
        *_strongest_curves(refs),
        id="summary",
        aria_label="Summary",
    )


def _strongest_curves(refs: References) -> list[Content]:
    """Return the curves of the strongest features, each for the output that it moves most."""
    shapes = {name: refs.widest(name) for name in refs.ranks}
    drawn = {name: shape for name, shape in shapes.items() if shape is not None}
    names = list(drawn)[:CURVES]
    effects = refs.explanation.effects
    chosen = [(effects[name], effects[name].output_names.index(drawn[name].output)) for name in names]
    several = len(refs.explanation.output_names) > 1
    made = []
    for name, drawing in zip(names, summary_figures(chosen) if chosen else (), strict=True):
        output = joined(" (", name_of(drawn[name].output, 20), ")") if several else None
        caption = joined(refs.feature(name, 32), output, ": ", drawn[name].text)
        made.append(figure(drawing, caption, f"top-{refs.ranks[name]}", readouts=refs.readouts))
    return [element("div", *made, class_="curves")] if made else []


def before_section(refs: References, limitations: Sequence[Markup]) -> Markup:
    """Return the section of findings: one expandable line each of issues, tips and limits."""
    title = "Before you rely on this"
    kinds = by_code(refs)
    lines = (_findings_line(refs, kinds, severity) for severity in ("issue", "tip"))
    return element(
        "section",
        element("h2", title),
        *lines,
        _limits_line(refs.explanation, limitations),
        element(
            "p",
            "An issue can change a decision; a tip adds context. In text and tables, ± is a standard error.",
            class_="small",
        ),
        id="before",
        aria_label=title,
    )


def _findings_line(refs: References, kinds: Mapping[NoteCode, list[Note]], severity: str) -> Markup | None:
    """Return the expandable line of the findings of one severity; None without any."""
    found = {code: notes for code, notes in kinds.items() if code.severity == severity}
    if not found:
        return None
    meanings = [code.meaning for code in found]
    more = f"; and {len(found) - NAMED} more" if len(found) > NAMED else ""
    head = joined(
        element("strong", f"{count(len(found), 'kind')} of {severity}"),
        ": ",
        element("span", "; ".join(meanings[:NAMED]), more),
    )
    listed = (_finding_item(refs, code, notes) for code, notes in found.items())
    others = dict.fromkeys(note.code for note in refs.notes if note.code.severity == severity)
    names = [f"{code.value} ({code.meaning})" for code in others if code not in found]
    further = element("p", "In notes only: ", "; ".join(names), ".", class_="small") if names else None
    return folded(head, element("ol", *listed, class_="findings"), further, class_=f"line {severity}")


def _limits_line(explanation: Explanation, limitations: Sequence[Markup]) -> Markup:
    """Return the expandable line of what the page does not show, and of checks without findings."""
    head = joined(
        element("strong", "Limits"), f": curves show the model, not causes; {_outcomes(explanation)}"
    )
    return folded(head, *limitations, not_shown(), *_other_checks(explanation), class_="line")


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


def _other_checks(explanation: Explanation) -> Iterator[Markup]:
    """Yield folded lists of the checks that found nothing, and of those that do not apply and why."""
    labels = {"not found": "that found nothing", "not applicable": "that did not apply"}
    for outcome, label in labels.items():
        checks = [check for check in explanation.checks if check.outcome == outcome]
        items = (
            element("li", check.code.meaning, f": {check.reason}" * bool(check.reason)) for check in checks
        )
        if checks:
            listed = element("ul", *items, class_="plain")
            yield folded(f"{count(len(checks), 'check')} {label}", listed, class_="appendix")


HEADS = ("Rank", "Feature", "Curve", "Strength", "Shape", "Effect", "Strongest partner", "Values", "Missing")


def overview_section(refs: References) -> Markup:
    """Return the section with the table of all features."""
    explanation = refs.explanation
    several = len(explanation.output_names) > 1
    outputs = " With several outputs, shape and effect are of the one that moves most." * several
    title = "All features"
    return element(
        "section",
        element("h2", title),
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
        _skipped_features(explanation),
        id="model",
        aria_label=title,
    )


def overview_row(refs: References, name: str) -> list[str]:
    """Return the cells of a feature in the overview table."""
    own, shape = refs.rows[name], refs.widest(name)
    curve = shown_curve(refs.explanation.effects[name], shape)
    partner = NONE
    if own.partner is not None:
        partner = joined(refs.feature(own.partner, 24), element("small", brief(own.partner_strength)))
    several = shape is not None and len(refs.explanation.output_names) > 1
    output = element("small", "for ", name_of(shape.output, 24)) if several and shape is not None else None
    return [
        str(refs.ranks[name]),
        refs.feature(name),
        spark(refs.explanation.effects[name], shape),
        measured(own.strength, own.standard_error),
        joined(own.shape or NONE, output),
        NONE if curve is None else curve.path_text,
        partner,
        element("bdi", own.support),
        share(own.missing),
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


def _skipped_features(explanation: Explanation) -> Markup | None:
    skipped = explanation.effects.skipped
    if not skipped:
        return None
    listed = (element("li", element("bdi", reason)) for reason in skipped)
    return joined(element("p", "Features that were left out:"), element("ul", *listed))
