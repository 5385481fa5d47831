"""Rows as masks, led down trees: a bit per row of a chunk."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import i4, u8

from paribus._kernels.jit.bits import lowest, meet
from paribus._kernels.jit.common import ONE, ZERO, helper
from paribus._kernels.jit.row_masks import SIX, WORDS
from paribus._kernels.program import ABOVE, DEPTH, SIDE, TEST, UPS


@helper
def descend(entries, entry, up, kept, most, pool, masks):
    """Write the masks of an inner node's active sets, each next to where it is kept.

    A set that contains the tested feature is not concerned; a set that is new below the test has the mask
    of the set it grew from.
    """
    n, level = u8(entries[entry, ABOVE]), u8(entries[entry, DEPTH])
    here, above, ups = level * most, (level - ONE) * most, u8(entries[entry, UPS])
    test, flip = u8(entries[entry, TEST]) * WORDS, ZERO - u8(entries[entry, SIDE])
    for a in range(n):
        union, at = up[ups + a], kept[above + a]
        if union == i4(a):
            kept[here + a] = at
        else:
            kept[here + a] = (here + a) * WORDS
            meet(pool, at, masks, test, flip, (here + a) * WORDS)
            if union >= i4(n):
                kept[here + u8(union)] = at


@helper
def listed(pool, at, members):
    """List the rows of a mask."""
    n = ZERO
    for w in range(WORDS):
        word = pool[at + w]
        while word:
            members[n] = (w << SIX) + lowest(word)
            n += ONE
            word &= word - ONE
    return n
