"""Printable text, and estimates of its width before it is rendered."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

BREAKS = re.compile("\r\n?|[\u2028\u2029]")
# Control characters and surrogates, which no font has and no page may contain, and characters that change the
# writing direction, which would affect the text around a name.
UNDRAWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")


def printable(text: str) -> str:
    r"""Return text with unprintable characters as Python escapes; line breaks stay, and tabs become spaces.

    >>> printable("a\x00b\tc")
    'a\\x00b c'
    """
    if text.isprintable():  # the fast path for nearly all texts
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
    """Estimate the width of a character in em; the estimate is rather too large."""
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in "iljtf.,:;|!'()[] I":
        return 0.36
    return 1.0 if character in "mwMW@%…" else 0.68 if character.isupper() else 0.6
