"""Masks of rows, 64 rows per word: masks of tests, and the descent of masks in trees."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import i4, i8, u8

from paribus._kernels.jit.bits import EIGHT, lowest, meet
from paribus._kernels.jit.common import ONE, ZERO, helper
from paribus._kernels.program import ABOVE, COLUMN, CUT, DEPTH, MISSING_LEFT, SIDE, TABLE, TEST, UPS

WORDS = EIGHT  # words of a mask, one cache line
SIX, LOW = u8(6), u8(63)  # row i is in the word i >> SIX, at the bit i & LOW
EVERY = u8(0xFFFFFFFFFFFFFFFF)


@helper
def _join(masks, at, others, other, words):
    """Add the rows of one mask to another."""
    for w in range(words):
        masks[at + w] |= others[other + w]


@helper
def mask_rows(pool, rows, words):
    """Write the mask of all rows of a chunk at the start of the pool."""
    for w in range(words):
        left = i8(rows) - i8(64) * i8(w)
        pool[w] = EVERY if left >= 64 else (ONE << u8(left)) - ONE if left > 0 else ZERO


@helper
def mask_tests(codes, first, rows, n_codes, conditions, truth, buckets, masks, words):
    """Write the masks of all conditions for a chunk: rows are put in buckets by code, and buckets joined."""
    number, total = ZERO, u8(conditions.shape[0])
    for column in range(u8(codes.shape[0])):
        size = u8(n_codes[column])
        running, missing = size * words, (size - ONE) * words
        for b in range((size + ONE) * words):
            buckets[b] = ZERO
        for i in range(rows):
            buckets[u8(codes[column, first + i]) * words + (i >> SIX)] |= ONE << (i & LOW)
        done = ZERO  # buckets that have joined the running mask of `code <= cut`
        while number < total and u8(conditions[number, COLUMN]) == column:
            mask = number * words
            if conditions[number, TABLE] < 0:
                while done <= u8(conditions[number, CUT]):
                    _join(buckets, running, buckets, done * words, words)
                    done += ONE
                for w in range(words):
                    masks[mask + w] = buckets[running + w]
                if conditions[number, MISSING_LEFT]:
                    _join(masks, mask, buckets, missing, words)
            else:
                for w in range(words):
                    masks[mask + w] = ZERO
                for code in range(size):
                    if truth[u8(conditions[number, TABLE]) + code]:
                        _join(masks, mask, buckets, code * words, words)
            number += ONE


@helper
def fill_masks(codes, first, rows, n_codes, conditions, truth, buckets, masks):
    """Write the masks of all conditions for at most 512 rows."""
    mask_tests(codes, first, rows, n_codes, conditions, truth, buckets, masks, WORDS)


@helper
def descend_masks(entries, entry, up, kept, most, pool, masks):
    """Write the masks of an entry's active sets, and their positions in ``pool`` to ``kept``.

    A set that contains the tested feature keeps the mask of the parent. A new union has the mask of the set
    without the tested feature.
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
    """Write the rows of a mask to ``members``, and return their number."""
    n = ZERO
    for w in range(WORDS):
        word = pool[at + w]
        while word:
            members[n] = (w << SIX) + lowest(word)
            n += ONE
            word &= word - ONE
    return n
