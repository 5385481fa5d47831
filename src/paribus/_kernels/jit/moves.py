"""Rows moved along one feature at a time, in trees that are walked with masks.

Of every feature tested on the way there are two masks: the rows that are led here with the feature at the
lower of the values they are moved between, and at the upper one. At a leaf the rows in which the two differ
gain or lose its value.
"""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, njit, u1, u8, void

from paribus._kernels.jit.bits import differ, lowest, meet
from paribus._kernels.jit.common import CHUNK, ONE, ZERO, kernel
from paribus._kernels.jit.masks import SIX, WORDS, all_rows, fill_masks
from paribus._kernels.program import ABOVE, ACTIVE, DEPTH, MARGIN, NODE, SIDE, SLOT, TEST, UPS

TWO = u8(2)


@njit(nogil=True)
def _step(entries, entry, up, lower_of, upper_of, most, pool, masks):
    """Write the masks of an inner node: the rows' own, and two of each feature tested so far."""
    n, level = u8(entries[entry, ABOVE]), u8(entries[entry, DEPTH])
    here, above = level * most * TWO * WORDS, (level - ONE) * most * TWO * WORDS
    number, flip = u8(entries[entry, TEST]), ZERO - u8(entries[entry, SIDE])
    test, tested = number * WORDS, up[u8(entries[entry, UPS])]
    low, high = u8(lower_of[number]) * WORDS, u8(upper_of[number]) * WORDS
    meet(pool, above, masks, test, flip, here)
    for a in range(ONE, n):
        at, to = above + a * TWO * WORDS, here + a * TWO * WORDS
        own = i4(a) != tested
        meet(pool, at, masks, test if own else low, flip, to)
        meet(pool, at + WORDS, masks, test if own else high, flip, to + WORDS)
    if tested >= i4(n):
        to = here + u8(tested) * TWO * WORDS
        meet(pool, above, masks, low, flip, to)
        meet(pool, above, masks, high, flip, to + WORDS)


@njit(nogil=True)
def _append(which, room, place, entry, apart, n):
    """List the words in which two masks differ: both, where their first row's sum is, and the leaf."""
    while which:
        w = lowest(which)
        which &= which - ONE
        apart[n, 0], apart[n, 1], apart[n, 2], apart[n, 3] = (
            room[w],
            room[WORDS + w],
            place + (w << SIX),
            entry,
        )
        n += ONE
    return n


@njit(nogil=True)
def _end(
    entries, entry, up, lower_of, upper_of, most, pool, nothing, masks, room, slot_set, targets, own, apart, n
):  # fmt: skip
    """List the rows that are led to a leaf, and those that are with a feature at one of its values alone."""
    sets, above = u8(entries[entry, ABOVE]), (u8(entries[entry, DEPTH]) - ONE) * most * TWO * WORDS
    number, flip = u8(entries[entry, TEST]), ZERO - u8(entries[entry, SIDE])
    test, tested, slot = number * WORDS, up[u8(entries[entry, UPS])], u8(entries[entry, SLOT])
    if own:
        which = differ(pool, nothing, above, masks, test, test, flip, room)
        n = _append(which, room, ZERO, entry, apart, n)
    for a in range(ONE, u8(entries[entry, ACTIVE])):
        low = high = test
        if i4(a) == tested:
            low, high = u8(lower_of[number]) * WORDS, u8(upper_of[number]) * WORDS
        at, to = above + a * TWO * WORDS, above + (a * TWO + ONE) * WORDS
        if a >= sets:  # tested for the first time
            at = to = above
        feature = u8(slot_set[slot + a]) - ONE
        place, one, one_test = u8(targets[feature, 0]) * CHUNK, at, low
        if targets[feature, 1]:
            which = differ(pool, above, at, masks, test, low, flip, room)
            n = _append(which, room, place, entry, apart, n)
            place, one, one_test = place + CHUNK, above, test
        which = differ(pool, one, to, masks, one_test, high, flip, room)
        n = _append(which, room, place, entry, apart, n)
    return n


@njit(nogil=True)
def _add(apart, n, entries, value, wide, sums):
    """Add a leaf's value to the rows of the second of two masks alone, take it from those of the first."""
    for m in range(u8(value.shape[1])):
        for p in range(n):
            word, gained, leaf = apart[p, 0], apart[p, 1], apart[p, 3]
            margin = m if entries[leaf, MARGIN] < 0 else u8(entries[leaf, MARGIN])
            start, amount = apart[p, 2] + margin * wide, value[u8(entries[leaf, NODE]), m]
            while word:
                bit = lowest(word)
                word &= word - ONE
                sums[start + bit] += amount if gained >> bit & ONE else -amount


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[:, ::1], i4[::1], i4[:, ::1], u1[::1],
        i4[::1], i4[::1], i4[:, ::1], i4[::1], i4[::1], i4[:, ::1], f8[:, ::1], u8, u8, u8, u8[::1],
        u8[::1], u8[::1], u8[::1], u8[::1], u8[::1], u8[:, ::1], f8[::1], f8[:, ::1]
    ),
)  # fmt: skip
def move_by_masks(
    codes, n_codes, conditions, truth, lower, upper, n_values, tests, tables, lower_of, upper_of, entries,
    up, slot_set, targets, value, own, wide, most, pool, buckets, masks, lower_masks, upper_masks, room,
    apart, sums, moved
):  # fmt: skip
    """Write what moves change of every row, a chunk at a time; first its own sums, where they are needed.

    ``lower_masks`` and ``upper_masks`` are parts of ``masks``.
    """
    nothing = u8(pool.size) - WORDS  # a mask of no rows
    full = u8(apart.shape[0]) - most * TWO * WORDS
    for first in range(ZERO, u8(codes.shape[1]), CHUNK):
        rows, n = min(CHUNK, u8(codes.shape[1]) - first), ZERO
        fill_masks(codes, first, rows, n_codes, conditions, truth, buckets, masks)
        fill_masks(lower, first, rows, n_values, tests, tables, buckets, lower_masks)
        fill_masks(upper, first, rows, n_values, tests, tables, buckets, upper_masks)
        all_rows(pool, rows)
        for i in range(u8(sums.size)):
            sums[i] = 0.0
        for entry in range(u8(entries.shape[0]) + ONE):
            if n > full or entry == u8(entries.shape[0]):
                _add(apart, n, entries, value, wide, sums)
                n = ZERO
            if entry == u8(entries.shape[0]):
                continue
            if entries[entry, ABOVE] == 0:
                if own and entries[entry, SLOT] >= 0:  # a tree that is one leaf
                    for w in range(WORDS):
                        apart[n, 0], apart[n, 1], apart[n, 2], apart[n, 3] = pool[w], pool[w], w << SIX, entry
                        n += ONE
            elif entries[entry, SLOT] < 0:
                _step(entries, entry, up, lower_of, upper_of, most, pool, masks)
            else:
                n = _end(
                    entries, entry, up, lower_of, upper_of, most, pool, nothing, masks, room, slot_set,
                    targets, own, apart, n
                )  # fmt: skip
        for target in range(u8(moved.shape[0])):
            for i in range(rows):
                moved[target, first + i] = sums[target * CHUNK + i]
