"""Letters: which of them can be drawn, and how wide they are before anybody draws them."""

from __future__ import annotations

import re
import unicodedata

BREAKS = re.compile("\r\n?|[\u2028\u2029]")
# Signs that steer a terminal, and halves of letters: no font has them and no page may contain them.
UNDRAWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


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
    """Estimate how wide the longest line of a text is, as a share of the size of its letters."""
    return max(sum(map(wide, line)) for line in text.split("\n"))


def wide(sign: str) -> float:
    """Guess the width of a letter as a share of its size, rather too large."""
    if unicodedata.east_asian_width(sign) in "WF":
        return 1.05
    if sign in "iljtf.,:;|!'()[] I":
        return 0.36
    return 0.92 if sign in "mwMW@%…" else 0.68 if sign.isupper() else 0.6
