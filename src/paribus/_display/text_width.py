"""Text: which characters can be drawn, and how wide they are before anybody draws them."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

BREAKS = re.compile("\r\n?|[\u2028\u2029]")
# Characters that control a terminal, and surrogates: no font has them and no page may contain them. Those
# that turn the direction of text would do so with all that stands around a name.
UNDRAWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    r"""Write out what cannot be drawn, as Python does; lines and words stay apart.

    >>> printable("a\x00b\tc")
    'a\\x00b c'
    """
    if text.isprintable():  # nearly all text, at the cost of a check
        return text
    lines = BREAKS.sub("\n", text).replace("\t", " ")
    return UNDRAWN.sub(lambda found: repr(found[0])[1:-1], lines)


def text_width(text: str) -> float:
    """Estimate how wide the longest line of a text is, in em (shares of the font size)."""
    return max(sum(map(wide, line)) for line in text.split("\n"))


def inches(text: str, size: float = 10.0) -> float:
    """Estimate how wide the longest line of a text is in inches, at a font size in points."""
    return size / 72 * text_width(text)


@lru_cache(maxsize=4096)
def wide(character: str) -> float:
    """Estimate the width of a character in em, rather too large."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in "iljtf.,:;|!'()[] I":
        return 0.36
    return 1.0 if character in "mwMW@%…" else 0.68 if character.isupper() else 0.6
