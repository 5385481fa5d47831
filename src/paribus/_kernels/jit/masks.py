"""Rows as masks: a bit per row of a chunk, 64 to a machine word."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, njit, u1, u8, void

from paribus._kernels.jit import bits
from paribus._kernels.jit.bits import lowest, meet
from paribus._kernels.jit.common import ONE, ZERO, add, kernel, visit
from paribus._kernels.program import (
    ABOVE,
    COLUMN,
    CUT,
    DEPTH,
    MARGIN,
    MISSING_LEFT,
    NODE,
    SIDE,
    SLOT,
    TABLE,
    TEST,
    UPS,
)

WORDS = u8(bits.WORDS)  # of a mask: one cache line
SIX, LOW = u8(6), u8(63)  # a row's word, and its bit in the word
EVERY = u8(0xFFFFFFFFFFFFFFFF)


@njit(nogil=True)
def _clear(masks, at):
    for w in range(WORDS):
        masks[at + w] = ZERO


@njit(nogil=True)
def _join(masks, at, others, other):
    for w in range(WORDS):
        masks[at + w] |= others[other + w]


@njit(nogil=True)
def _copy(masks, at, others, other):
    for w in range(WORDS):
        masks[at + w] = others[other + w]


@njit(nogil=True)
def all_rows(pool, rows):
    """Write the mask of all rows of a chunk, the first in the pool."""
    for w in range(WORDS):
        left = i8(rows) - i8(64) * i8(w)
        pool[w] = EVERY if left >= 64 else (ONE << u8(left)) - ONE if left > 0 else ZERO


@njit(nogil=True)
def fill_masks(codes, first, rows, n_codes, conditions, truth, buckets, masks):
    """Write the mask of every condition for a chunk: rows fall into buckets by code, buckets are joined."""
    number, total = ZERO, u8(conditions.shape[0])
    for column in range(u8(codes.shape[0])):
        size = u8(n_codes[column])
        running, missing = size * WORDS, (size - ONE) * WORDS
        for b in range((size + ONE) * WORDS):
            buckets[b] = ZERO
        for i in range(rows):
            buckets[u8(codes[column, first + i]) * WORDS + (i >> SIX)] |= ONE << (i & LOW)
        done = ZERO  # buckets that have joined the running mask of `code <= cut`
        while number < total and u8(conditions[number, COLUMN]) == column:
            mask = number * WORDS
            if conditions[number, TABLE] < 0:
                while done <= u8(conditions[number, CUT]):
                    _join(buckets, running, buckets, done * WORDS)
                    done += ONE
                _copy(masks, mask, buckets, running)
                if conditions[number, MISSING_LEFT]:
                    _join(masks, mask, buckets, missing)
            else:
                _clear(masks, mask)
                for code in range(size):
                    if truth[u8(conditions[number, TABLE]) + code]:
                        _join(masks, mask, buckets, code * WORDS)
            number += ONE


@njit(nogil=True)
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


@njit(nogil=True)
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


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[::1], u8, u8[::1], u8[::1], u8[::1],
        u8[::1], u8[:, ::1], f8[:, ::1], i8[::1], i4[:, ::1], i4[:, ::1], u8, f8[::1], f8[::1]
    ),
)  # fmt: skip
def curves_by_masks(
    codes, n_codes, conditions, truth, entries, up, most, pool, kept, buckets, masks, members, value,
    visit_first, visits, edges, points, curves, plain
):  # fmt: skip
    """Add what the leaves of shallow trees change along the curves of at most a chunk of rows."""
    rows = u8(codes.shape[1])
    own, free = members[ZERO], members[ONE]
    fill_masks(codes, ZERO, rows, n_codes, conditions, truth, buckets, masks)
    all_rows(pool, rows)
    for entry in range(u8(entries.shape[0])):
        if entries[entry, ABOVE]:
            descend(entries, entry, up, kept, most, pool, masks)
        if entries[entry, SLOT] < 0:
            continue
        here, leaf = u8(entries[entry, DEPTH]) * most, u8(entries[entry, NODE])
        n_own = listed(pool, kept[here], own)
        for k in range(u8(value.shape[1])):
            amount = value[leaf, k]
            margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
            add(plain, margin * rows, own, ZERO, n_own, amount)
        for number in range(u8(visit_first[entry]), u8(visit_first[entry + ONE])):
            n_free = listed(pool, kept[here + u8(visits[number, 0])], free)
            for k in range(u8(value.shape[1])):
                amount = value[leaf, k]
                margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
                visit(visits, number, edges, free, ZERO, n_free, amount, points, rows, margin, curves)
                start = (margin * points + u8(visits[number, 1])) * rows
                add(curves, start, own, ZERO, n_own, -amount)
