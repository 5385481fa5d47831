"""Curves of rows along one feature each, in trees that are walked with lists."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u1, u4, u8, void

from paribus._kernels.jit.common import ONE, ZERO, helper, kernel
from paribus._kernels.jit.lists import all_rows, descend
from paribus._kernels.program import BELOW, CUT_AT, MARGIN, NODE


@helper
def _visit(visits, number, edges, amount, curves, at, rows):
    """Add what a leaf gives a row that reaches it when a grid's feature is free."""
    for edge in range(u8(visits[number, 1]), u8(visits[number, 2])):
        curves[at + u8(edges[edge, 0]) * rows] += amount * f8(edges[edge, 1])


@kernel(
    void(
        i4[:, ::1], i4[:, ::1], i8[::1], u1[::1], i4[::1], i4[:, ::1], u8, i4[::1], u8[::1], u4[::1],
        u8[:, ::1], i4[:, ::1], f8[:, ::1], i4[::1], i4[:, ::1], i4[:, ::1], u8, f8[::1], f8[::1]
    ),
)  # fmt: skip
def lines_by_lists(
    codes, nodes, roots, truth, owner, step, shift, slot_set, place, lists, waiting, entries, value, visit_of,
    visits, edges, points, curves, plain
):  # fmt: skip
    """Add what the leaves of deep trees change along the curves of rows."""
    rows, low = u8(codes.shape[1]), (ONE << shift) - ONE
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
                    at = margin * points * rows + row
                    since, until = place[own], place[own] + ONE
                    if own == ZERO:  # which reaches the leaf whatever is free
                        plain[margin * rows + row] += amount
                        until = stop
                    for slot in range(since, until):
                        if visit_of[slot] >= 0:
                            number = u8(visit_of[slot])
                            _visit(visits, number, edges, amount, curves, at, rows)
                            if own == ZERO:
                                curves[at + u8(visits[number, 0]) * rows] -= amount
            if top == ZERO:
                break
            top -= ONE
            node, base, n = waiting[top, 0], waiting[top, 1], waiting[top, 2]
