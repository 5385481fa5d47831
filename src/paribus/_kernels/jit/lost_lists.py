"""What rows lose with a feature averaged out, in trees that are walked with lists."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f4, f8, i4, i8, u1, u4, u8, void

from paribus._kernels.jit.common import ONE, ZERO, helper, kernel
from paribus._kernels.jit.lists import all_rows, descend
from paribus._kernels.program import BELOW, CUT_AT, MARGIN, NODE


@helper
def _lose(first, stop, row, own, amount, slot_set, place, share, at, rows, lost):
    """Add what a row loses of a leaf that it reaches by itself, or with the feature of its set free.

    The sets that are active at the leaf are the empty one, and then those of one feature, which are numbered
    from one on.
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
    """Add the margins of rows in deep trees, and what they lose with a feature averaged out."""
    rows, features = u8(codes.shape[1]), u8(lost.size) // u8(plain.size)
    low = (ONE << shift) - ONE
    for tree in range(u8(roots.size)):
        node, base, n, top = u8(roots[tree]), ZERO, rows, ZERO
        all_rows(lists, n)
        while True:
            node, base, n, top = descend(
                nodes, node, codes, truth, owner, step, shift, lists, waiting, base, n, top
            )
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
                    _lose(first, stop, row, own, amount, slot_set, place, share, at, rows, lost)
            if top == ZERO:
                break
            top -= ONE
            node, base, n = waiting[top, 0], waiting[top, 1], waiting[top, 2]
