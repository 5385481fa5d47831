"""Losses of margins if a feature is averaged out, with masks and with lists of rows."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f4, f8, i4, i8, u1, u4, u8, void

from paribus._kernels.jit.bits import MOST, lowest, number_others
from paribus._kernels.jit.common import CHUNK, ONE, TWO, ZERO, helper, kernel
from paribus._kernels.jit.coverage import list_rows, next_leaf
from paribus._kernels.jit.masks import SIX, WORDS, descend_masks, fill_masks, listed, mask_rows
from paribus._kernels.program import ABOVE, ACTIVE, BELOW, CUT_AT, DEPTH, MARGIN, NODE, SLOT

SEVEN = MOST


@helper
def _add_others(digits, start, amounts, lost):
    """Add the amounts of rows to their losses, by the number of their feature."""
    for w in range(WORDS):
        low, middle, high = digits[w], digits[w + WORDS], digits[w + WORDS + WORDS]
        word = low | middle | high
        while word:
            bit = lowest(word)
            word &= word - ONE
            number = (low >> bit & ONE) | (middle >> bit & ONE) << ONE | (high >> bit & ONE) << TWO
            lost[start[number] + (w << SIX) + bit] += amounts[number]


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[::1], u8, u8[::1], u8[::1], u8[::1],
        u8[::1], i4[::1], i4[:, ::1], f8[:, ::1], f8[::1], u8[::1], u8[::1], u8[::1], u8[::1], f8[::1],
        f8[::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def lose_by_masks(
    codes, n_codes, conditions, truth, entries, up, most, pool, kept, buckets, masks, slot_set,
    members_of, value, share, members, digits, start, ways, amounts, rounded, plain, lost
):  # fmt: skip
    """Add the margins of at most a chunk of rows, and their losses if a feature is averaged out.

    A row that does not reach a leaf by its own values can reach it with at most one feature free. The number
    of this feature is written for each such row, and the losses of seven features are updated together.
    """
    rows = u8(codes.shape[1])
    features = u8(lost.size) // u8(plain.size)
    fill_masks(codes, ZERO, rows, n_codes, conditions, truth, buckets, masks)
    mask_rows(pool, rows, WORDS)
    kept[ZERO] = ZERO
    for entry in range(u8(entries.shape[0])):
        if entries[entry, ABOVE]:
            descend_masks(entries, entry, up, kept, most, pool, masks)
        if entries[entry, SLOT] < 0:
            continue
        here, leaf = u8(entries[entry, DEPTH]) * most, u8(entries[entry, NODE])
        own, slot, active = kept[here], u8(entries[entry, SLOT]), u8(entries[entry, ACTIVE])
        n = listed(pool, own, members)
        for k in range(u8(value.shape[1])):
            margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
            amount = value[leaf, k]
            for i in range(n):
                at = margin * CHUNK + members[i]
                plain[at] += amount
                if rounded.size:
                    rounded[at] = f8(f4(rounded[at] + amount))
            for first in range(ONE, active, SEVEN):
                for number in range(SEVEN):
                    a = first + number
                    ways[number] = kept[here + a] if a < active else own
                for a in range(first, min(first + SEVEN, active)):
                    feature, part = u8(members_of[u8(slot_set[slot + a]), ZERO]), share[slot + a]
                    at = (margin * features + feature) * CHUNK
                    start[a - first + ONE], amounts[a - first + ONE] = at, -amount * part
                    for i in range(n):
                        lost[at + members[i]] += amount * (1.0 - part)
                number_others(pool, own, ways, digits)
                _add_others(digits, start, amounts, lost)


@helper
def _add_row_losses(first, stop, row, own, amount, slot_set, place, share, at, rows, lost):
    """Add the losses of a row at a leaf that it reaches by its own values or with the set ``own`` free.

    The sets active at the leaf are the empty one, and sets of one feature, numbered from 1.
    """
    if own:
        lost[at + (own - ONE) * rows + row] -= amount * share[place[own]]
    else:
        for slot in range(first + ONE, stop):
            lost[at + (u8(slot_set[slot]) - ONE) * rows + row] += amount * (1.0 - share[slot])


@kernel(
    void(
        i4[:, ::1], i4[:, ::1], i8[::1], u1[::1], i4[::1], i4[:, ::1], u8, i4[::1], u8[::1], u4[::1],
        u8[:, ::1], i4[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def lose_by_lists(
    codes, nodes, roots, truth, owner, step, shift, slot_set, place, lists, waiting, entries, value, share,
    rounded, plain, lost
):  # fmt: skip
    """Add the margins of rows in deep trees, and their losses if a feature is averaged out."""
    rows, features = u8(codes.shape[1]), u8(lost.size) // u8(plain.size)
    low = (ONE << shift) - ONE
    for tree in range(u8(roots.size)):
        top = list_rows(lists, rows, u8(roots[tree]), waiting)
        while top:
            node, base, n, top = next_leaf(nodes, codes, truth, owner, step, shift, lists, waiting, top)
            first, stop = u8(nodes[node, CUT_AT]), u8(nodes[node, BELOW])
            for slot in range(first, stop):
                place[u8(slot_set[slot])] = slot
            for k in range(u8(value.shape[1])):
                margin = k if entries[node, MARGIN] < 0 else u8(entries[node, MARGIN])
                amount = value[u8(entries[node, NODE]), k]
                for i in range(n):
                    row, own = u8(lists[base + i]) & low, u8(lists[base + i]) >> shift
                    if own == ZERO:
                        plain[margin * rows + row] += amount
                        if rounded.size:
                            single = rounded[margin * rows + row] + amount
                            rounded[margin * rows + row] = f8(f4(single))
                    at = margin * features * rows
                    _add_row_losses(first, stop, row, own, amount, slot_set, place, share, at, rows, lost)
