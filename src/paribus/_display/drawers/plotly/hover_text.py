"""Words as plotly has to be given them, and the pixels they take, rather too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from paribus._display.drawers.plotly.geometry import Spec
from paribus._display.mark_helpers import in_lines
from paribus._display.text import wide

FONT, SMALL, TITLE = 13.0, 11.5, 15.0  # pixels; 13 are the 10 points of a printed figure
LEADING = 1.3  # height of a line of text, plotly's own


def escaped(text: str) -> str:
    """Write text so that plotly shows it as it is: no tags, and no formula between two dollars."""
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("\n", "<br>")):
        text = text.replace(sign, entity)
    return text


def hover(texts: Iterable[str]) -> Spec:
    """Return the hover text of each point, or nothing."""
    told = [escaped(text) for text in texts]
    return {"hoverinfo": "text", "hovertext": told} if told else {"hoverinfo": "skip"}


def hover_cells(texts: Sequence[Sequence[str]]) -> Spec:
    """Return the hover text of each cell, or its numbers."""
    if not texts:
        return {"hoverinfo": "x+y+z"}
    return {"hoverinfo": "text", "hovertext": [[escaped(text) for text in row] for row in texts]}


def text_width(text: str, size: float = FONT) -> float:
    """Guess how many pixels the longest line of a text takes, rather too many."""
    return max((sum(map(wide, line)) for line in text.split("\n")), default=0.0) * size


def wrapped(text: str, pixels: float, size: float = FONT) -> str:
    """Break text into lines that fit into some pixels."""

    def letters(line: str) -> int:
        each = text_width(line, size) / max(len(line), 1)
        return max(8, int(pixels / max(each, 1.0)))

    return in_lines(text, letters, break_words=True)


def text_height(text: str, size: float = FONT) -> float:
    """Return how many pixels the lines of a text take."""
    return LEADING * size * (text.count("\n") + 1) if text else 0.0
