"""HTML elements, tables and formatted values."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from paribus._text import NONE, at_value, brief, percent
from paribus.errors import ParibusError

VOID = frozenset({"meta", "col", "br", "hr", "input"})
# Characters that are invisible, that HTML forbids, or that change the direction of text.
_HIDDEN = (*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F))
_HIDDEN += (*range(0x2060, 0x2070), *range(0xD800, 0xE000), 0xFEFF, *range(0xFFF9, 0xFFFC), 0xFFFE, 0xFFFF)
VISIBLE = {code: f"\\u{code:04x}" for code in _HIDDEN} | {9: " ", 10: "\n", 13: " "}
VISIBLE[0x200D] = "\u200d"  # joins the parts of an emoji


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


Content: TypeAlias = "str | int | Iterable[Content] | None"


def text(value: str) -> str:
    r"""Return text with invisible characters as escape sequences.

    >>> text("a\u202eb")
    'a\\u202eb'
    """
    return value if value.isascii() and value.isprintable() else value.translate(VISIBLE)


def escaped(value: str) -> Markup:
    """Return text escaped as HTML; `Markup` is unchanged."""
    return value if isinstance(value, Markup) else Markup(html.escape(text(value)))


def joined(*content: Content) -> Markup:
    """Return the concatenation of contents: text is escaped, `Markup` is unchanged, None is left out.

    >>> joined("a < b", element("b", "&"))
    'a &lt; b<b>&amp;</b>'
    """
    return Markup("".join(_flat_texts(content)))


def _flat_texts(content: Iterable[Content]) -> Iterable[str]:
    for part in content:
        if isinstance(part, str):
            yield escaped(part)
        elif isinstance(part, int):
            yield str(part)
        elif part is not None:
            yield from _flat_texts(part)


def element(tag: str, *content: Content, **attributes: str | int | bool | None) -> Markup:
    """Return an element; the argument ``class_`` becomes ``class``, and ``aria_label`` ``aria-label``.

    Attributes that are None or False are left out, and those that are True have no value.

    >>> element("a", "x < y", href="#top", class_="link")
    '<a href="#top" class="link">x &lt; y</a>'
    """
    opened = f"<{tag}"
    for keyword, value in attributes.items():
        name = keyword.rstrip("_").replace("_", "-")
        outside = name in ("href", "src") and not str(value).startswith("#")
        if name == "style" or name.startswith("on") or outside:
            raise ParibusError(
                f"{name}={value!r} is not for a page without requests; use a class or an anchor"
            )
        if value is True:
            opened += f" {name}"
        elif value is not None and value is not False:
            opened += f' {name}="{escaped(str(value))}"'
    return Markup(f"{opened}>" if tag in VOID else f"{opened}>{joined(content)}</{tag}>")


def row(cells: Iterable[str], heads: int = 1) -> Markup:
    r"""Return a row of a table, whose first ``heads`` cells are heads. HTML closes cells implicitly.

    >>> row(["a", "1"])
    '<tr><th scope=row>a<td>1\n'
    """
    tags = ("<th scope=row>" if place < heads else "<td>" for place in count())
    return Markup(f"<tr>{''.join(tag + escaped(cell) for tag, cell in zip(tags, cells, strict=False))}\n")


LONGEST = 60  # characters of a name within a line


def shortened(name: str, longest: int = LONGEST) -> str:
    """Return a name in one line of at most ``longest`` characters; a longer one ends in an ellipsis."""
    plain = " ".join(text(name).split()) or "(empty)"
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


def name_of(name: str, longest: int = LONGEST) -> Markup:
    """Return a shortened name from the data, isolated from the direction of the text around it."""
    shown = shortened(name, longest)
    return element("bdi", shown, title=name[:1000] if shown.endswith("…") else None)


def full_name(name: str) -> Markup:
    """Return a name, which can be unfolded if it is shortened."""
    if len(shortened(name)) < LONGEST:
        return name_of(name)
    return element("details", element("summary", name_of(name)), element("bdi", name, class_="long"))


def label_of(key: str) -> Markup:
    """Return the key of a text of the user, such as ``data_role``, as a label."""
    return name_of(key[:1].upper() + key[1:].replace("_", " "))


def share(part: float) -> str:
    """Return a share of the data as a percentage."""
    return NONE if math.isnan(part) else "0 %" if part == 0 else percent(part)


def at(value: Any) -> str:
    """Return a value of a feature as text."""
    if isinstance(value, np.generic) and value.dtype.kind in "biufU":
        value = value.item()
    return NONE if value is None else shortened(at_value(value))


def fact(value: Any) -> str:
    """Return a value of the record as text; an empty value is a dash."""
    if value is None or value == () or value == {}:
        return NONE
    if isinstance(value, dict):
        return "; ".join(f"{key}: {fact(entry)}" for key, entry in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(fact, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return brief(value) if isinstance(value, float) else str(value)


LONG = 400  # characters of a text that is not folded, at most


def table(
    caption: str,
    heads: Sequence[Content],
    rows: Iterable[Iterable[str]],
    *,
    row_heads: int = 1,
    sortable: bool = False,
    shown_caption: bool = True,
    class_: str = "",
) -> Markup:
    """Return a table in a box that scrolls sideways and is reachable by keyboard.

    The first ``row_heads`` cells of a row are heads. Without ``shown_caption`` only screen readers read it.
    """
    grid = element(
        "table",
        element("caption", caption, class_=None if shown_caption else "quiet"),
        element("thead", element("tr", *(element("th", head, scope="col") for head in heads))),
        element("tbody", *(row(cells, row_heads) for cells in rows)),
        class_=" ".join(filter(None, (class_, "sortable" * sortable))) or None,
    )
    return element("div", grid, class_="scroll", tabindex="0", role="region", aria_label=caption)


def facts(pairs: Iterable[tuple[Content, Content]]) -> Markup:
    """Return a list of labels and values."""
    items = (element("div", element("dt", name), element("dd", value)) for name, value in pairs)
    return element("dl", *items, class_="facts")


def section(id: str, title: str, *content: Content, class_: str | None = None) -> Markup:
    """Return a section of the page with its heading."""
    return element("section", element("h2", title), *content, id=id, aria_label=title, class_=class_)


def separated(by: str, parts: Iterable[str]) -> Markup:
    """Return texts with a separator between them; they are escaped, `Markup` is unchanged."""
    return Markup(by.join(map(escaped, parts)))


def folded(summary: Content, *content: Content, open_: bool = False, class_: str | None = None) -> Markup:
    """Return content that is folded below a summary, without a script."""
    return element("details", element("summary", summary), *content, class_=class_, open=open_)


def long_text(value: str) -> Markup:
    """Return a text from the data, folded if it is longer than `LONG`."""
    if len(value) <= LONG:
        return element("bdi", value, class_="long")
    return folded(element("bdi", shortened(value, LONG // 2)), element("bdi", value, class_="long"))
