"""HTML from elements: text is escaped by construction, and only what was built here passes as it is.

There is no template language: every string is text unless it is `Markup`, which the functions below return
and which images and the payload are. An element refuses what the policy of the page forbids: attributes with
styles or handlers, and addresses outside the page.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from itertools import count
from typing import TypeAlias

from paribus.errors import ParibusError

VOID = frozenset({"meta", "col", "br", "hr", "input"})
# Characters that a reader cannot see, that HTML forbids, or that turn the direction of what follows.
_HIDDEN = (*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, *range(0x200B, 0x2010), *range(0x2028, 0x202F))
_HIDDEN += (*range(0x2060, 0x2070), *range(0xD800, 0xE000), 0xFEFF, *range(0xFFF9, 0xFFFC), 0xFFFE, 0xFFFF)
VISIBLE = {code: f"\\u{code:04x}" for code in _HIDDEN} | {9: " ", 10: "\n", 13: " "}
VISIBLE[0x200D] = "\u200d"  # joins the parts of an emoji


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Content: TypeAlias = "str | int | Iterable[Content] | None"


def text(value: str) -> str:
    r"""Return text with what cannot be seen spelled out, so that no name hides a part of itself.

    >>> text("a\u202eb")
    'a\\u202eb'
    """
    return value if value.isascii() and value.isprintable() else value.translate(VISIBLE)


def escaped(value: str) -> Markup:
    """Return text as HTML."""
    return value if isinstance(value, Markup) else Markup(html.escape(text(value)))


def joined(*content: Content) -> Markup:
    """Return parts one after the other: text escaped, markup as it is, nothing for None.

    >>> joined("a < b", element("b", "&"))
    'a &lt; b<b>&amp;</b>'
    """
    return Markup("".join(_flat(content)))


def _flat(content: Iterable[Content]) -> Iterable[str]:
    for part in content:
        if isinstance(part, str):
            yield escaped(part)
        elif isinstance(part, int):
            yield str(part)
        elif part is not None:
            yield from _flat(part)


def element(tag: str, *content: Content, **attributes: str | int | bool | None) -> Markup:
    """Return an element; ``class_`` is ``class``, ``aria_label`` is ``aria-label``.

    Attributes that are None or False are left out, and True has no value.

    >>> element("a", "x < y", href="#top", class_="link")
    '<a href="#top" class="link">x &lt; y</a>'
    """
    opened = f"<{tag}{''.join(_attribute(name, value) for name, value in attributes.items())}>"
    return Markup(opened if tag in VOID else f"{opened}{joined(content)}</{tag}>")


def _attribute(name: str, value: str | int | bool | None) -> str:
    name = name.rstrip("_").replace("_", "-")
    if (
        name == "style"
        or name.startswith("on")
        or (name in ("href", "src") and not str(value).startswith("#"))
    ):
        raise ParibusError(f"{name}={value!r} is not for a page without requests; use a class or an anchor")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{escaped(str(value))}"'


def row(cells: Iterable[str], heads: int = 1) -> Markup:
    r"""Return a row of a table; the first cells are its heads. HTML closes the cells by itself.

    >>> row(["a", "1"])
    '<tr><th scope=row>a<td>1\n'
    """
    tags = ("<th scope=row>" if place < heads else "<td>" for place in count())
    return Markup(f"<tr>{''.join(tag + escaped(cell) for tag, cell in zip(tags, cells, strict=False))}\n")
