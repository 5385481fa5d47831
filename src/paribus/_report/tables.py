"""Tables of the page: with a caption, heads that have a scope, and a box of their own to scroll in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paribus._report.markup import Content, Markup, element, joined, row
from paribus._report.phrases import shortened

LONG = 400  # characters of a text that is not folded


def table(
    caption: str,
    heads: Sequence[Content],
    rows: Iterable[Iterable[str]],
    *,
    id: str | None = None,
    row_heads: int = 1,
    sortable: bool = False,
    shown_caption: bool = True,
    class_: str = "",
) -> Markup:
    """Return a table that scrolls within the page and can be reached by keyboard to do so."""
    head = element("tr", *(element("th", text, scope="col") for text in heads))
    body = joined(row(cells, row_heads) for cells in rows)
    content = (
        element("caption", caption, class_=None if shown_caption else "quiet"),
        element("thead", head),
        element("tbody", body),
    )
    made = element("table", *content, class_=" ".join(filter(None, (class_, "sortable" * sortable))) or None)
    return scrolled(made, caption, id)


def scrolled(content: Content, label: str, id: str | None = None) -> Markup:
    """Return a box that scrolls sideways, so that the page itself never does."""
    return element("div", content, class_="scroll", tabindex="0", role="region", aria_label=label, id=id)


def facts(pairs: Iterable[tuple[Content, Content]], class_: str = "facts") -> Markup:
    """Return a list of names and what they are."""
    items = (element("div", element("dt", name), element("dd", value)) for name, value in pairs)
    return element("dl", *items, class_=class_)


def folded(summary: Content, *content: Content, open_: bool = False, class_: str | None = None) -> Markup:
    """Return what is closed until it is opened, without a script."""
    return element("details", element("summary", summary), *content, class_=class_, open=open_)


def sentence(value: Content) -> Markup:
    """Return the text of a cell that may have several lines."""
    return element("span", value, class_="sentence")


def long_text(value: str) -> Markup:
    """Return a text from the data, folded if it is long."""
    if len(value) <= LONG:
        return element("bdi", value, class_="long")
    return folded(element("bdi", shortened(value, LONG // 2)), element("bdi", value, class_="long"))
