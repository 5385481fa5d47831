"""Operations on masks of 8 and 16 words: in LLVM IR where that is possible, else the loops defined here."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import u2, u8

from paribus._kernels import preorder
from paribus._kernels.jit import mask_sizes
from paribus._kernels.jit.common import ONE, TWO, ZERO, helper, internals

EIGHT, WIDE, LANES = u8(mask_sizes.EIGHT), u8(preorder.WORDS), u8(preorder.LANES)
MOST, BYTES = u8(mask_sizes.MOST), u8(mask_sizes.BYTES)


def _vectorized(function: Callable[..., Any]) -> Any:
    """Return the operation of this name in LLVM IR, or else the compiled function, which is slower."""
    return getattr(internals, function.__name__) if internals else helper(function)


@helper
def _bit_count(word):
    """Return the number of bits set in a word."""
    total = ZERO
    while word:
        total += ONE
        word &= word - ONE
    return total


@_vectorized
def lowest(word):
    """Return the position of the lowest set bit of a nonzero word."""
    return _bit_count((word & (~word + ONE)) - ONE)


@_vectorized
def meet(pool, at, masks, test, flip, target):
    """Write ``pool[at:at+8] & (masks[test:test+8] ^ flip)`` to ``pool[target:target+8]``."""
    for w in range(EIGHT):
        pool[target + w] = pool[at + w] & (masks[test + w] ^ flip)


@_vectorized
def differ(pool, one, other, masks, one_test, other_test, flip, found, place):
    """Write the difference of two masks of a pool, each restricted by a test, and the second of them.

    These are 16 words from ``found[place]`` on. Return which of the first eight are nonzero, a bit per word.
    """
    which = ZERO
    for w in range(EIGHT):
        theirs = pool[other + w] & (masks[other_test + w] ^ flip)
        apart = theirs ^ (pool[one + w] & (masks[one_test + w] ^ flip))
        found[place + w], found[place + EIGHT + w] = apart, theirs
        which |= u8(apart != ZERO) << w
    return which


@helper
def _count_word(word, tallies, place, w):
    """Add the number of bits set in word ``w`` of a mask to the 16-bit counters of a slot."""
    at = place + (w & (LANES - ONE))
    tallies[at] = u2(u8(tallies[at]) + _bit_count(word))


@_vectorized
def store_both(pool, at, masks, test, tallies, left, right):
    """Split a mask by a test, and store the rows on each side."""
    for w in range(WIDE):
        word, mask = pool[at + w], masks[test + w]
        pool[left + w], pool[right + w] = word & mask, word & ~mask


@_vectorized
def store_left(pool, at, masks, test, tallies, left, right):
    """Split a mask by a test; store the rows on the left side and count those on the right."""
    for w in range(WIDE):
        word, mask = pool[at + w], masks[test + w]
        pool[left + w] = word & mask
        _count_word(word & ~mask, tallies, right, w)


@_vectorized
def store_right(pool, at, masks, test, tallies, left, right):
    """Split a mask by a test; count the rows on the left side and store those on the right."""
    for w in range(WIDE):
        word, mask = pool[at + w], masks[test + w]
        _count_word(word & mask, tallies, left, w)
        pool[right + w] = word & ~mask


@_vectorized
def count_both(pool, at, masks, test, tallies, left, right):
    """Split a mask by a test, and count the rows on each side."""
    for w in range(WIDE):
        word, mask = pool[at + w], masks[test + w]
        _count_word(word & mask, tallies, left, w)
        _count_word(word & ~mask, tallies, right, w)


@_vectorized
def count(pool, at, tallies, place):
    """Add the number of bits set in a mask to the 16-bit counters of a slot."""
    for w in range(WIDE):
        _count_word(pool[at + w], tallies, place, w)


@_vectorized
def number_others(pool, own, ways, digits):
    """Write, for rows outside the mask ``pool[own]``, the number of the mask that contains them, 1 to 7.

    ``ways`` are the positions of the seven masks, which are disjoint outside ``pool[own]``. Each binary digit
    of the numbers is written as a mask.
    """
    for w in range(EIGHT):
        low, middle, high = ZERO, ZERO, ZERO
        for number in range(ONE, MOST + ONE):
            word = pool[ways[number - ONE] + w] & ~pool[own + w]
            low |= word * (number & ONE)
            middle |= word * (number >> ONE & ONE)
            high |= word * (number >> TWO)
        digits[w], digits[w + EIGHT], digits[w + TWO * EIGHT] = low, middle, high


@_vectorized
def nonzero_bytes(array, at):
    """Return which of 64 bytes are nonzero, a bit for each."""
    bits = ZERO
    for i in range(BYTES):
        bits |= u8(array[at + i] != 0) << i
    return bits
