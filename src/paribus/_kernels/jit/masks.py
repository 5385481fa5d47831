"""Rows as masks: a bit per row of a chunk, 64 to a machine word."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, njit, u1, u2, u8, void

from paribus._kernels.jit.bits import lowest, meet, tally
from paribus._kernels.jit.common import CHUNK, ONE, ZERO, add, kernel, visit
from paribus._kernels.jit.row_masks import EVERY, SIX, WORDS, all_rows, fill_masks
from paribus._kernels.program import (
    ABOVE,
    DEPTH,
    MARGIN,
    NODE,
    SIDE,
    SLOT,
    TEST,
    UPS,
)


@njit(nogil=True)
def _weighed(pool, at, test, flip, masks, weights, first):
    """Return the weight of the rows of a mask that meet a test."""
    total = 0.0
    for w in range(WORDS):
        word = pool[at + w] & (masks[test + w] ^ flip)
        while word:
            total += weights[first + (w << SIX) + lowest(word)]
            word &= word - ONE
    return total


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


@kernel(
    void(
        i4[:, ::1], f8[::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[::1], u8, u8[::1], u8[::1],
        u8[::1], u8[::1], u2[::1], f8[::1]
    ),
)  # fmt: skip
def cover_by_masks(
    codes, weights, n_codes, conditions, truth, entries, up, most, pool, kept, buckets, masks, tallies, counts
):
    """Add the rows of every chunk at each slot of shallow trees."""
    # One mask more than there are conditions: with no bit set, it is the test that everything fails.
    nothing = u8(conditions.shape[0]) * WORDS
    for first in range(ZERO, u8(codes.shape[1]), CHUNK):
        rows = min(CHUNK, u8(codes.shape[1]) - first)
        fill_masks(codes, first, rows, n_codes, conditions, truth, buckets, masks)
        all_rows(pool, rows)
        for entry in range(u8(entries.shape[0])):
            n = u8(entries[entry, ABOVE])
            if entries[entry, SLOT] < 0:
                if n:
                    descend(entries, entry, up, kept, most, pool, masks)
                continue
            slot, ups = u8(entries[entry, SLOT]), u8(entries[entry, UPS])
            above = (u8(entries[entry, DEPTH]) - ONE) * most
            test, flip = u8(entries[entry, TEST]) * WORDS, ZERO - u8(entries[entry, SIDE])
            if n == ZERO:  # a tree that is one leaf
                if weights.size:
                    counts[slot] += _weighed(pool, ZERO, nothing, EVERY, masks, weights, first)
                else:
                    tally(pool, ZERO, masks, nothing, EVERY, tallies, slot * WORDS)
            for a in range(n):
                union, at = up[ups + a], kept[above + a]
                free, free_flip = (nothing, EVERY) if union == i4(a) else (test, flip)
                if weights.size:
                    counts[slot + a] += _weighed(pool, at, free, free_flip, masks, weights, first)
                    if union >= i4(n):
                        counts[slot + u8(union)] += _weighed(pool, at, nothing, EVERY, masks, weights, first)
                else:
                    tally(pool, at, masks, free, free_flip, tallies, (slot + a) * WORDS)
                    if union >= i4(n):
                        tally(pool, at, masks, nothing, EVERY, tallies, (slot + u8(union)) * WORDS)
    for slot in range(u8(tallies.size) // WORDS):
        total = ZERO
        for w in range(WORDS):
            total += u8(tallies[slot * WORDS + w])
        counts[slot] += f8(total)


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
