"""A report as one HTML file, or as Markdown."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from paribus._display.vector import css
from paribus._report.drift_section import drift_section
from paribus._report.feature_panels import panels_section
from paribus._report.figures import References
from paribus._report.first_sections import against, by_code, overview_section, summary, verdict_section
from paribus._report.markup import (
    NONE,
    Markup,
    element,
    facts,
    joined,
    label_of,
    measured,
    name_of,
    share,
    shortened,
)
from paribus._report.performance_section import pairs_section, performance_section
from paribus._report.record_section import identity, record_section
from paribus._states.sums import ignore_fp_errors
from paribus._text import count, number
from paribus.errors import OptionError
from paribus.results.explanation import Explanation
from paribus.results.provenance import reproducible
from paribus.results.storage import PAGE, Payload, payload_of, write_file

SUFFIXES = (".html", ".htm")
SHORT = 90  # characters of a text about the page that stand at its top
STATED = ("purpose", "limitations")  # texts about the page that stand below its title, however long
SECTIONS = {
    "verdict": "Verdict",
    "model": "The model in a table",
    "features": "Features",
    "pairs": "Interactions",
    "performance": "Performance",
    "comparison": "Comparison",
    "record": "Record",
}


def write_page(
    explanation: Explanation,
    path: str | PathLike[str],
    title: str | None,
    about: Mapping[str, str] | None,
    compare: Any,
) -> None:
    """Write an explanation as a page."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise OptionError(f"path={str(path)!r} must end in .html, which is what is written")
    if compare is not None and not isinstance(compare, Explanation):
        raise OptionError(
            f"compare={type(compare).__name__} must be an Explanation, as explain or load return it"
        )
    write_file(path, page_of(explanation, title, about, compare))


@ignore_fp_errors()
def page_of(
    explanation: Explanation,
    title: str | None = None,
    about: Mapping[str, str] | None = None,
    compare: Explanation | None = None,
) -> str:
    """Return the page as text: the same to the byte for the same explanation."""
    title, about = check_title(title), _checked_about(about)
    explanation = reproducible(explanation)
    refs, payload = References(explanation), payload_of(explanation)
    sections = {
        "verdict": verdict_section(refs),
        "model": overview_section(refs),
        "features": panels_section(refs),
        "pairs": pairs_section(refs),
        "performance": performance_section(refs),
        "comparison": None if compare is None else drift_section(refs, reproducible(compare)),
        "record": record_section(refs, about, payload),
    }
    shown = {name: section for name, section in sections.items() if section is not None}
    heading = title_of(explanation) if title is None else title
    body = joined(
        element("a", "Skip to the verdict", href="#verdict", class_="skip"),
        _header(explanation, heading, about),
        _navigation(list(shown)),
        element("main", *(joined(section, "\n") for section in shown.values())),
        _footer(explanation),
    )
    return _document(heading, body, payload)


def check_title(title: Any) -> str | None:
    """Return a title, or refuse what is no text."""
    if title is not None and not isinstance(title, str):
        raise OptionError(f"title={title!r} must be text")
    return title


def title_of(explanation: Explanation) -> str:
    """Return the title of a page that was given none."""
    return f"What {explanation.model.name} does with its features"


def _checked_about(about: Mapping[str, str] | None) -> dict[str, str]:
    """Return the texts of the user, with the date of the environment if there is none."""
    if about is not None and not isinstance(about, Mapping):
        raise OptionError(
            f"about={about!r} must be a mapping from names to texts, such as {{'owner': 'the pricing team'}}"
        )
    texts = dict(about or {})
    for name, text in texts.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise OptionError(f"about={{{name!r}: {text!r}}} must map text to text")
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    if "date" not in texts and epoch.isdecimal() and len(epoch) < 12:
        texts["date"] = datetime.fromtimestamp(int(epoch), UTC).date().isoformat()
    return texts


def _header(explanation: Explanation, heading: str, about: Mapping[str, str]) -> Markup:
    model, provenance = explanation.model, explanation.provenance
    known = [
        ("Model", joined(name_of(model.name, 80), f", {model.library} {model.version}".rstrip())),
        ("Data", f"{provenance.background()}, {count(len(explanation.effects), 'feature')}"),
        ("Scale", str(provenance.scale)),
        *((label, element("bdi", text)) for label, text in identity(explanation)),
    ]
    outputs = explanation.output_names
    if len(outputs) > 1:
        known.append(("Outputs", joined(str(len(outputs)), ": ", _some(outputs))))
    given = [
        (label_of(key), element("bdi", text))
        for key, text in about.items()
        if len(text) <= SHORT and key.lower() not in STATED
    ]
    stated = [
        element("p", element("strong", label_of(key)), ": ", element("bdi", about[key]))
        for key in about
        if key.lower() in STATED
    ]
    return element(
        "header",
        element("h1", element("bdi", heading[:300])),
        *stated,
        facts([*known, *given], "facts top"),
    )


def _some(names: tuple[str, ...], most: int = 8) -> Markup:
    shown = (joined(", " * (place > 0), name_of(name, 30)) for place, name in enumerate(names[:most]))
    return joined(*shown, f" and {len(names) - most} more" if len(names) > most else "")


def _navigation(shown: list[str]) -> Markup:
    links = (element("li", element("a", SECTIONS[name], href=f"#{name}")) for name in shown)
    return element("nav", element("ul", *links), aria_label="Sections")


def _footer(explanation: Explanation) -> Markup:
    made = f"Written by paribus {explanation.provenance.paribus} from the numbers inside this file."
    return element("footer", element("p", made, " Names come from the data and the model."))


def _document(heading: str, body: Markup, payload: Payload) -> str:
    """Return the file: what may run is named by its hash, and nothing may be requested."""
    style, script = css() + _resource("page.css"), _resource("page.js")
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", heading[:300]),
        element("style", Markup(style)),
    )
    # A template is inert: it is neither rendered nor executed, whatever the policy says.
    packed = element(
        "template",
        Markup(payload.data),
        id="paribus-payload",
        data_bytes=payload.size,
        data_sha256=payload.sha256,
    )
    code = element("script", Markup(script))
    return f"{PAGE}\n{element('html', head, element('body', body, packed, code), lang='en')}\n"


def _resource(name: str) -> str:
    return resources.files("paribus._report").joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _hash(text: str) -> str:
    """Return a hash as a policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


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
