"""Rows moved along one feature at a time, in trees that are walked with masks.

Of every feature tested on the way there are two masks: the rows that are led here with the feature at the
lower of the values they are moved between, and at the upper one. At a leaf the rows in which the two differ,
which are few, gain or lose its value.

Where a function has loops in loops, it counts references to the arrays it is given at every call: such a one
is called for many leaves at once.
"""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, u1, u8, void

from paribus._kernels.jit.bits import differ, lowest, meet
from paribus._kernels.jit.common import CHUNK, ONE, ZERO, helper, kernel
from paribus._kernels.jit.row_masks import SIX, WORDS, all_rows, fill_masks
from paribus._kernels.program import ABOVE, ACTIVE, DEPTH, MARGIN, NODE, SIDE, SLOT, TEST, UPS

TWO = u8(2)
BOTH = TWO * WORDS  # words of two masks


@helper
def _lead(entries, entry, up, ends, most, pool, masks):
    """Write the masks of an inner node: the rows' own, and two of each feature tested so far."""
    n, level = u8(entries[entry, ABOVE]), u8(entries[entry, DEPTH])
    here, above = level * most * BOTH, (level - ONE) * most * BOTH
    number, flip = u8(entries[entry, TEST]), ZERO - u8(entries[entry, SIDE])
    test, tested = number * WORDS, up[u8(entries[entry, UPS])]
    low, high = u8(ends[0, number]) * WORDS, u8(ends[1, number]) * WORDS
    meet(pool, above, masks, test, flip, here)
    for a in range(BOTH, n * BOTH, WORDS):
        meet(pool, above + a, masks, test, flip, here + a)
    if tested >= 0:
        to = u8(tested) * BOTH
        at = above + to if tested < i4(n) else above
        also = at + WORDS if tested < i4(n) else above
        meet(pool, at, masks, low, flip, here + to)
        meet(pool, also, masks, high, flip, here + to + WORDS)


@helper
def _end(entries, entry, up, ends, most, slot_set, targets, own, pool, masks, found, sums_of, n):
    """Find the rows that are led to a leaf, and those that are only at one end of a move of a feature.

    ``sums_of (n, 3)``: the leaf, in which words of ``found`` there are any, and the first row's sum.
    """
    above, nothing = (u8(entries[entry, DEPTH]) - ONE) * most * BOTH, u8(pool.size) - WORDS
    number, flip = u8(entries[entry, TEST]), ZERO - u8(entries[entry, SIDE])
    test, tested = number * WORDS, up[u8(entries[entry, UPS])]
    if own:
        which = differ(pool, nothing, above, masks, test, test, flip, found, n * BOTH)
        sums_of[n, 0], sums_of[n, 1], sums_of[n, 2] = entry, which, ZERO
        n += ONE
    for a in range(ONE, u8(entries[entry, ACTIVE])):
        low = u8(ends[0, number]) * WORDS if i4(a) == tested else test
        high = u8(ends[1, number]) * WORDS if i4(a) == tested else test
        at = above + a * BOTH if a < u8(entries[entry, ABOVE]) else above  # tested for the first time
        to = at + WORDS if a < u8(entries[entry, ABOVE]) else above
        feature = u8(slot_set[u8(entries[entry, SLOT]) + a]) - ONE
        place = u8(targets[feature, 0]) * CHUNK
        if targets[feature, 1]:
            which = differ(pool, above, at, masks, test, low, flip, found, n * BOTH)
            sums_of[n, 0], sums_of[n, 1], sums_of[n, 2] = entry, which, place
            n += u8(which != ZERO)
            at, low, place = above, test, place + CHUNK
        which = differ(pool, at, to, masks, low, high, flip, found, n * BOTH)
        sums_of[n, 0], sums_of[n, 1], sums_of[n, 2] = entry, which, place
        n += u8(which != ZERO)
    return n


@helper
def _add(entries, value, wide, found, sums_of, n, sums):
    """Add the value of leaves to rows at the upper end of a move alone, take it from those at the lower."""
    for m in range(u8(value.shape[1])):
        for q in range(n):
            leaf, which = sums_of[q, 0], sums_of[q, 1]
            margin = m if entries[leaf, MARGIN] < 0 else u8(entries[leaf, MARGIN])
            start, amount = sums_of[q, 2] + margin * wide, value[u8(entries[leaf, NODE]), m]
            while which:
                w = lowest(which)
                which &= which - ONE
                word, gained = found[q * BOTH + w], found[q * BOTH + WORDS + w]
                while word:
                    bit = lowest(word)
                    word &= word - ONE
                    sums[start + (w << SIX) + bit] += amount if gained >> bit & ONE else -amount


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[:, ::1], i4[::1], i4[:, ::1], u1[::1],
        i4[:, ::1], i4[:, ::1], i4[::1], i4[::1], i4[:, ::1], f8[:, ::1], u8, u8, u8, u8[::1], u8[::1],
        u8[::1], u8[::1], u8[::1], u8[::1], u8[:, ::1], f8[::1], f8[:, ::1]
    ),
)  # fmt: skip
def move_by_masks(
    codes, n_codes, conditions, truth, lower, upper, n_values, tests, tables, ends, entries, up, slot_set,
    targets, value, own, wide, most, pool, buckets, masks, lower_masks, upper_masks, found, sums_of, sums,
    moved
):  # fmt: skip
    """Write what moves change of every row, a chunk at a time; first its own sums, where they are needed.

    ``lower_masks`` and ``upper_masks`` are parts of ``masks``; ``ends (2, c)`` says which of its masks a
    condition is with its feature at the lower and at the upper value.
    """
    full, last = u8(sums_of.shape[0]) - TWO * most, u8(entries.shape[0])
    for first in range(ZERO, u8(codes.shape[1]), CHUNK):
        rows, n = min(CHUNK, u8(codes.shape[1]) - first), ZERO
        fill_masks(codes, first, rows, n_codes, conditions, truth, buckets, masks)
        fill_masks(lower, first, rows, n_values, tests, tables, buckets, lower_masks)
        fill_masks(upper, first, rows, n_values, tests, tables, buckets, upper_masks)
        all_rows(pool, rows)
        for i in range(u8(sums.size)):
            sums[i] = 0.0
        for entry in range(last):
            if entries[entry, ABOVE]:
                if entries[entry, SLOT] < 0:
                    _lead(entries, entry, up, ends, most, pool, masks)
                else:
                    n = _end(
                        entries, entry, up, ends, most, slot_set, targets, own, pool, masks, found, sums_of, n
                    )  # fmt: skip
            elif own and entries[entry, SLOT] >= 0:  # a tree that is one leaf
                # How many leaves wait depends on the rows; the order in which one row is added to must not.
                _add(entries, value, wide, found, sums_of, n, sums)
                n = ZERO
                for i in range(rows):
                    for m in range(u8(value.shape[1])):
                        margin = m if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
                        sums[margin * wide + i] += value[u8(entries[entry, NODE]), m]
            if n > full or entry + ONE == last:
                _add(entries, value, wide, found, sums_of, n, sums)
                n = ZERO
        for target in range(u8(moved.shape[0])):
            for i in range(rows):
                moved[target, first + i] = sums[target * CHUNK + i]
