"""The verdict and the tables of an explanation as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from paribus._report.html_page import check_title, title_of
from paribus._report.overview import against
from paribus._report.phrases import NONE, measured, share, shortened
from paribus._report.record_section import identity
from paribus._report.references import References
from paribus._report.verdict_section import by_code, summary
from paribus._states.overflow import ignore_fp_errors
from paribus._text import count, number
from paribus.results.explanation import Explanation
from paribus.results.provenance import reproducible

# What has a meaning in Markdown: everywhere, at the beginning of a line, in addresses that become links.
SPECIAL = re.compile(r"([\\`*_{}\[\]|~$]|^[-+#=]|(?<=^\d)[.)](?= |$)|:(?=//)|\.(?=[A-Za-z]))")
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
SHOWN = 3  # notes of one kind
FEATURES = 50  # in the table
PAIRS = 10
NAME = 60  # characters of a name
LONGEST = 400  # characters of a sentence


def plain(value: str, longest: int | None = None) -> str:
    r"""Return text that Markdown shows as it is, in one line.

    >>> plain("a|b [c](d) <e>")
    'a\\|b \\[c\\](d) &lt;e&gt;'
    """
    line = shortened(value, LONGEST if longest is None else longest)
    # A joiner without width keeps names from notifying people of that name.
    return SPECIAL.sub(r"\\\1", line).translate(ENTITIES).replace("@", "@\u2060")


@ignore_fp_errors()
def markdown(explanation: Explanation, title: str | None) -> str:
    """Return the whole as Markdown."""
    heading, explanation = check_title(title), reproducible(explanation)  # files without their folders
    refs, provenance, model = References(explanation), explanation.provenance, explanation.model
    made = f"{plain(model.name, NAME)}, {plain(f'{model.library} {model.version}'.strip())}"
    lines = [
        f"# {plain(title_of(explanation) if heading is None else heading, 300)}",
        "",
        f"{made}; {plain(provenance.background())}; {count(len(explanation.effects), 'feature')}; "
        f"scale: {plain(str(provenance.scale))}.",
        "",
        *(f"- {label}: {plain(text)}" for label, text in identity(explanation)),
        "",
        *_verdict(refs),
        *_features(refs),
        *_pairs(explanation),
        *_metrics(explanation),
        f"Digest of the model `{model.digest}`, of the data `{provenance.fingerprint}`; "
        f"paribus {provenance.paribus}. Names come from the data and the model, and are text.",
    ]
    return "\n".join(lines) + "\n"


def _verdict(refs: References) -> Iterable[str]:
    explanation = refs.explanation
    yield from ("## Verdict", "", plain(summary(explanation)), "")
    for code, notes in by_code(refs).items():
        yield f"- **{code.severity.capitalize()} {code.value}**: {plain(code.meaning)}"
        yield from (f"  - {plain(note.text)}" for note in notes[:SHOWN])
        if len(notes) > SHOWN:
            yield f"  - {count(len(notes) - SHOWN, 'further note')} of this kind"
    muted = [f"{check.code.value} ({check.found})" for check in explanation.checks if check.muted]
    if muted:
        yield f"- Muted on request: {plain(', '.join(muted))}"
    yield ""


def _features(refs: References) -> Iterable[str]:
    rows = []
    for name, rank in list(refs.ranks.items())[:FEATURES]:
        shape, own = refs.widest(name), refs.rows[name]
        rows.append(
            (
                str(rank),
                plain(name, NAME),
                measured(own.strength, own.standard_error),
                NONE if shape is None else plain(shape.name),
                NONE if shape is None else plain(against(shape)),
                NONE if own.partner is None else f"{plain(own.partner, NAME)} {number(own.partner_strength)}",
                share(own.missing),
            )
        )
    heads = ("Rank", "Feature", "Strength", "Shape", "Largest movement against its direction")
    yield from ("## Features", "", *_table((*heads, "Strongest partner", "Missing"), rows))
    if len(refs.ranks) > FEATURES:
        weaker = count(len(refs.ranks) - FEATURES, "weaker feature")
        yield from (f"Not listed: {weaker}.", "")


def _pairs(explanation: Explanation) -> Iterable[str]:
    interactions = explanation.interactions
    if interactions is None:
        return
    rows = []
    for one in interactions.strongest(PAIRS):
        names = [interactions.feature_names[interactions.features.index(each)] for each in one.features]
        if one.strength > 0:
            share_of_joint = measured(one.h_squared, one.standard_error_h_squared)
            numbers = measured(one.strength, one.standard_error), share_of_joint
            joint = " × ".join(plain(name, NAME) for name in names)
            rows.append((joint, plain(one.output, NAME), *numbers))
    if rows:
        yield from ("## Interactions", "", *_table(("Features", "Output", "Strength", "H²"), rows))


def _metrics(explanation: Explanation) -> Iterable[str]:
    if explanation.performance is None:
        return
    rows = [
        (
            plain(metric.name),
            plain(metric.output or "all", NAME),
            measured(metric.value, metric.standard_error),
            metric.better,
        )
        for metric in explanation.performance.metrics
    ]
    yield from ("## Performance on the same rows", "", *_table(("Metric", "Output", "Value", "Better"), rows))


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return a table of cells that are escaped already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return [*(f"| {' | '.join(cells)} |" for cells in lines), ""]
