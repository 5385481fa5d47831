"""Reports as one HTML file and as Markdown."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any

from paribus._display.vector import css
from paribus._report.drift_section import drift_section
from paribus._report.feature_panels import panels_section
from paribus._report.figures import References
from paribus._report.first_sections import (
    before_section,
    by_code,
    overview_section,
    summary_section,
)
from paribus._report.group_section import group_section, region_section
from paribus._report.markup import Content, Markup, element, joined, label_of, name_of, shortened
from paribus._report.performance_section import pairs_section, performance_section
from paribus._report.record_section import identity, record_section
from paribus._states.sums import ignore_fp_errors
from paribus._text import count
from paribus.errors import OptionError, check_flags
from paribus.results.explanation import Explanation
from paribus.results.provenance import reproducible
from paribus.results.repr_text import pair_columns
from paribus.results.storage import PAGE, Payload, payload_of, write_file
from paribus.results.text_table import text_table

SUFFIXES = (".html", ".htm")
SHORT = 90  # characters of a text of the user in the header, at most
OUTPUTS = 4  # names of outputs in the header, at most
PURPOSE, LIMITATIONS, ROLE = "purpose", "limitations", "data_role"  # texts of the user with a fixed place
SECTIONS = {
    "summary": "Summary",
    "before": "Before you rely on this",
    "model": "All features",
    "features": "Curves",
    "pairs": "Interactions",
    "regions": "Regions",
    "groups": "Groups",
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
    tables: bool,
) -> None:
    """Write an explanation to an HTML file; raise if ``path`` or ``compare`` is invalid."""
    if Path(path).suffix.lower() not in SUFFIXES:
        raise OptionError(f"path={str(path)!r} must end in .html, which is what is written")
    if compare is not None and not isinstance(compare, Explanation):
        raise OptionError(
            f"compare={type(compare).__name__} must be an Explanation, as explain or load return it"
        )
    check_flags(tables=tables)
    write_file(path, page_of(explanation, title, about, compare, tables=tables))


@ignore_fp_errors()
def page_of(
    explanation: Explanation,
    title: str | None = None,
    about: Mapping[str, str] | None = None,
    compare: Explanation | None = None,
    *,
    tables: bool = False,
) -> str:
    """Return the HTML page, which is deterministic for an explanation and the other arguments."""
    heading, about = _checked_title(title, explanation), _checked_about(about)
    explanation = reproducible(explanation)
    refs, payload = References(explanation), payload_of(explanation)
    sections = {
        "summary": summary_section(refs),
        "before": before_section(refs, _stated(about, LIMITATIONS)),
        "model": overview_section(refs),
        "features": panels_section(refs),
        "pairs": pairs_section(refs),
        "regions": region_section(refs),
        "groups": group_section(refs),
        "performance": performance_section(refs),
        "comparison": None if compare is None else drift_section(refs, reproducible(compare)),
        "record": record_section(refs, about, payload),
    }
    shown = {name: section for name, section in sections.items() if section is not None}
    links = (element("li", element("a", SECTIONS[name], href=f"#{name}")) for name in shown)
    made = f"Written by paribus {explanation.provenance.paribus} from the numbers inside this file."
    body = joined(
        element("a", "Skip to the summary", href="#summary", class_="skip"),
        _page_header(explanation, heading, about),
        element("nav", element("ul", *links), aria_label="Sections"),
        element("main", *(joined(section, "\n") for section in shown.values())),
        element("footer", element("p", made, " Names are those of the data and the model.")),
    )
    return _html_document(heading, body, payload, tables)


def _checked_title(title: Any, explanation: Explanation) -> str:
    """Return the title of the user, or the default title if it is None; raise if it is not text."""
    if title is not None and not isinstance(title, str):
        raise OptionError(f"title={title!r} must be text")
    return f"Model report: {explanation.model.name}" if title is None else title


def _checked_about(about: Mapping[str, str] | None) -> dict[str, str]:
    """Return the texts of the user; ``SOURCE_DATE_EPOCH`` is the date if they have none. Raise if invalid."""
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


def _page_header(explanation: Explanation, heading: str, about: Mapping[str, str]) -> Markup:
    """Return title, purpose, model, rows and short texts of the user."""
    model, outputs = explanation.model, explanation.output_names
    short = {key: text for key, text in about.items() if len(text) <= SHORT}
    # Only the user knows whether the rows are training rows.
    roles = [element("bdi", text) for key, text in short.items() if key.lower() == ROLE]
    items: list[Content] = [
        joined(name_of(model.name, 60), f", {model.library} {model.version}".rstrip()),
        explanation.provenance.background().replace(" (unweighted)", ""),
        roles[0] if roles else "rows may be training rows",
        count(len(explanation.effects), "feature"),
    ]
    if len(outputs) > 1:
        names = (joined(name_of(name, 30), ", ") for name in outputs[: OUTPUTS - 1])
        last = "…" if len(outputs) > OUTPUTS else name_of(outputs[-1], 30)
        items.append(joined(f"{len(outputs)} outputs: ", *names, last))
    items += [
        joined(label_of(key), ": ", element("bdi", text))
        for key, text in short.items()
        if key.lower() not in (PURPOSE, LIMITATIONS, ROLE)
    ]
    return element(
        "header",
        element("h1", element("bdi", heading[:300])),
        *_stated(about, PURPOSE),
        element("ul", *(element("li", item) for item in items), class_="meta"),
    )


def _stated(about: Mapping[str, str], name: str) -> list[Markup]:
    """Return the texts of the user under a name, of any length."""
    return [
        element("p", element("strong", label_of(key)), ": ", element("bdi", text))
        for key, text in about.items()
        if key.lower() == name
    ]


def _html_document(heading: str, body: Markup, payload: Payload, tables: bool) -> str:
    """Return the file; its security policy allows one style sheet and one script by hash, and no requests.

    With ``tables`` the parts of class ``appendix`` are printed, too.
    """
    folder = resources.files("paribus._report")
    sheet, script = (
        folder.joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")
        for name in ("page.css", "page.js")
    )
    style = css() + sheet
    style_hash, script_hash = (
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script)
    )
    policy = (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; "
        "base-uri 'none'; form-action 'none'"
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
    # A template is inert: browsers neither render nor execute it.
    packed = element(
        "template",
        Markup(payload.data),
        id="paribus-payload",
        data_bytes=payload.size,
        data_sha256=payload.sha256,
    )
    code = element("script", Markup(script))
    page = element("body", body, packed, code, class_="tables" if tables else None)
    return f"{PAGE}\n{element('html', head, page, lang='en')}\n"


# Special characters of Markdown: anywhere, at the beginning of a line, and in addresses that become links.
SPECIAL = re.compile(r"([\\`*_{}\[\]|~$]|^[-+#=]|(?<=^\d)[.)](?= |$)|:(?=//)|\.(?=[A-Za-z]))")
ENTITIES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
SHOWN = 3  # notes of one code, at most
FEATURES = 50  # in the table, at most
PAIRS = 10  # in the table, at most
NAME = 60  # characters of a name
LONGEST = 400  # characters of a sentence


def plain(value: str, longest: int | None = None) -> str:
    r"""Return text in one line, escaped for Markdown.

    >>> plain("a|b [c](d) <e>")
    'a\\|b \\[c\\](d) &lt;e&gt;'
    """
    line = shortened(value, LONGEST if longest is None else longest)
    # A zero-width joiner prevents that names with @ notify people.
    return SPECIAL.sub(r"\\\1", line).translate(ENTITIES).replace("@", "@\u2060")


@ignore_fp_errors()
def markdown(explanation: Explanation, title: str | None) -> str:
    """Return the report as Markdown."""
    heading, explanation = _checked_title(title, explanation), reproducible(explanation)
    provenance, model, features = explanation.provenance, explanation.model, explanation.table
    made = f"{plain(model.name, NAME)}, {plain(f'{model.library} {model.version}'.strip())}"
    lines = [
        f"# {plain(heading, 300)}",
        "",
        f"{made}; {plain(provenance.background())}; {count(len(explanation.effects), 'feature')}; "
        f"scale: {plain(str(provenance.scale))}.",
        "",
        *(f"- {label}: {plain(text)}" for label, text in identity(explanation)),
        "",
        "## Summary",
        "",
        *(f"- {plain(sentence.text)}" for sentence in explanation.sentences),
        "",
        "## Verdict",
        "",
    ]
    for code, notes in by_code(References(explanation)).items():
        lines.append(f"- **{code.severity.capitalize()} {code.value}**: {plain(code.meaning)}")
        lines += [f"  - {plain(note.text)}" for note in notes[:SHOWN]]
        if len(notes) > SHOWN:
            lines.append(f"  - {count(len(notes) - SHOWN, 'further note')} of this kind")
    lines += ["", "## Features", "", *_markdown_table(features.columns(), FEATURES)]
    if len(features) > FEATURES:
        lines += [f"Not listed: {count(len(features) - FEATURES, 'weaker feature')}.", ""]
    pairs = {} if explanation.interactions is None else pair_columns(explanation.interactions)
    if pairs and pairs["feature"]:
        lines += ["## Interactions", "", *_markdown_table(pairs, PAIRS)]
    if explanation.performance is not None:
        metrics = _markdown_table(explanation.performance._table())
        lines += ["## Performance on the explained rows", "", *metrics]
    lines.append(
        f"Digest of the model `{model.digest}`, of the data `{provenance.fingerprint}`; "
        f"paribus {provenance.paribus}. Names come from the data and the model, and are text."
    )
    return "\n".join(lines) + "\n"


def _markdown_table(columns: Mapping[str, Any], most: int | None = None) -> list[str]:
    """Return the lines of a table, in which names are escaped."""
    table = text_table(columns, most)
    heads = [column.head[:1].upper() + column.head[1:] for column in table]
    cells = [[plain(cell, NAME) if column.names else cell for cell in column.cells] for column in table]
    lines = heads, ["---"] * len(table), *zip(*cells, strict=True)
    return [*(f"| {' | '.join(line)} |" for line in lines), ""]
