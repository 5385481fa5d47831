"""Curves of rows in trees that are walked with lists."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u1, u4, u8, void

from paribus._kernels.jit.common import ONE, ZERO, helper, kernel
from paribus._kernels.jit.lists import all_rows, descend
from paribus._kernels.program import CUT_AT, MARGIN, NODE


@helper
def _visit(visits, number, edges, row, amount, points, rows, margin, curves):
    """Add what a leaf gives a row that reaches it when a grid's features are free."""
    for edge in range(u8(visits[number, 2]), u8(visits[number, 3])):
        curves[(margin * points + u8(edges[edge, 0])) * rows + row] += amount * f8(edges[edge, 1])


@helper
def _lies_in(parts, one, other):
    """Return whether every feature of one set is in the other."""
    found = False
    for part in range(u8(parts.shape[1])):
        found |= u8(parts[other, part]) == one
    return found


@kernel(
    void(
        i4[:, ::1], i4[:, ::1], i8[::1], u1[::1], i4[::1], i4[:, ::1], u8, i4[:, ::1], i4[::1], u4[::1],
        u8[:, ::1], i4[:, ::1], f8[:, ::1], i8[::1], i4[:, ::1], i4[:, ::1], u8, f8[::1], f8[::1]
    ),
)  # fmt: skip
def curves_by_lists(
    codes, nodes, roots, truth, owner, step, shift, parts, slot_set, lists, waiting, entries, value,
    visit_first, visits, edges, points, curves, plain
):  # fmt: skip
    """Add what the leaves of deep trees change along the curves of rows."""
    rows = u8(codes.shape[1])
    low = (ONE << shift) - ONE
    for tree in range(u8(roots.size)):
        node, base, n, top = u8(roots[tree]), ZERO, rows, ZERO
        all_rows(lists, n)
        while True:
            node, base, n, top = descend(
                nodes, node, codes, truth, owner, step, shift, lists, waiting, base, n, top
            )
            first = u8(nodes[node, CUT_AT])
            for k in range(u8(value.shape[1])):
                margin = k if entries[node, MARGIN] < 0 else u8(entries[node, MARGIN])
                amount = value[u8(entries[node, NODE]), k]
                for i in range(n):
                    row, own = u8(lists[base + i]) & low, u8(lists[base + i]) >> shift
                    if own == ZERO:
                        plain[margin * rows + row] += amount
                    for number in range(u8(visit_first[node]), u8(visit_first[node + ONE])):
                        if _lies_in(parts, own, u8(slot_set[first + u8(visits[number, 0])])):
                            _visit(visits, number, edges, row, amount, points, rows, margin, curves)
                        if own == ZERO:
                            start = u8(visits[number, 1])
                            curves[(margin * points + start) * rows + row] -= amount
            if top == ZERO:
                break
            top -= ONE
            node, base, n = waiting[top, 0], waiting[top, 1], waiting[top, 2]
