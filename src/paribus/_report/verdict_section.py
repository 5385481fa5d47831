"""The first section: what was found, worst first, and what was looked for in vain."""

from __future__ import annotations

from paribus._report.markup import Markup, element, joined
from paribus._report.references import References, badge, code_link
from paribus._report.tables import folded, long_text
from paribus._text import count
from paribus.notes import Note, NoteCode
from paribus.results.explanation import Explanation

SHOWN = 3  # notes of one kind that are not folded


def by_code(refs: References) -> dict[NoteCode, list[Note]]:
    """Return what the verdict is made of: the notes of each of its kinds, the one it names first.

    The verdict has one finding for each kind, worst first, which counts what else there is of it.
    """
    found: dict[NoteCode, list[Note]] = {}
    for finding in refs.explanation.verdict:
        same = [note for note in refs.notes if note.code is finding.code] or [finding]
        found[finding.code] = sorted(same, key=lambda note: note.feature != finding.feature)
    return found


def summary(explanation: Explanation) -> str:
    """Return the verdict in a sentence."""
    kinds = {note.code for note in explanation.verdict}
    issues = sum(code.severity == "issue" for code in kinds)
    clear = sum(check.found == 0 for check in explanation.checks)
    found = f"{count(issues, 'kind')} of issue and {count(len(kinds) - issues, 'kind')} of tip were found"
    checks = (
        f"; {clear} of {count(len(explanation.checks), 'check')} found nothing" if explanation.checks else ""
    )
    return f"{found}{checks}."


def verdict_section(refs: References) -> Markup:
    """Return the verdict."""
    explanation = refs.explanation
    kinds = by_code(refs)
    listed = (_finding(refs, code, notes) for code, notes in kinds.items())
    nothing = element("p", "Nothing was found.", class_="good")
    return element(
        "section",
        element("h2", "Verdict"),
        element("p", summary(explanation), class_="lead"),
        element("ol", *listed, class_="findings") if kinds else nothing,
        _muted(explanation),
        _clear(explanation),
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


def _finding(refs: References, code: NoteCode, notes: list[Note]) -> Markup:
    """Return one kind of finding: its worst notes, and the others folded."""
    shown, rest = notes[:SHOWN], notes[SHOWN:]
    head = element("h3", badge(code), " ", element("span", _sentence(code.meaning)), " ", code_link(code))
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
    """Return a note, which has its numbers in words, with a link to the panel of its feature."""
    panel = None
    if note.feature is not None and note.feature in refs.ranks and not with_code:
        panel = joined(" ", element("span", "→ ", refs.feature(note.feature), class_="where"))
    code = joined(badge(note.code), " ", code_link(note.code), " ") if with_code else None
    return element("li", code, long_text(note.text), panel)


def _sentence(meaning: str) -> str:
    return meaning[:1].upper() + meaning[1:]


def _muted(explanation: Explanation) -> Markup | None:
    """Return the kinds that were muted, which is never left unsaid."""
    muted = [check for check in explanation.checks if check.muted]
    if not muted:
        return None
    listed = (
        joined("; " * (place > 0), code_link(check.code), f" {check.code.meaning} ({check.found} found)")
        for place, check in enumerate(muted)
    )
    return element("p", element("strong", "Muted on request: "), *listed, ".", class_="muted")


def _clear(explanation: Explanation) -> Markup | None:
    """Return the checks that found nothing."""
    clear = [check for check in explanation.checks if check.found == 0]
    if not clear:
        return None
    listed = (element("li", code_link(check.code), " ", check.code.meaning) for check in clear)
    return folded(f"{count(len(clear), 'check')} that found nothing", element("ul", *listed, class_="plain"))
