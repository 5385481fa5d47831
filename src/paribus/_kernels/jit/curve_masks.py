"""Curves of rows in trees that are walked with masks."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u1, u8, void

from paribus._kernels.jit.common import ONE, ZERO, add, kernel, visit
from paribus._kernels.jit.masks import descend, listed
from paribus._kernels.jit.row_masks import all_rows, fill_masks
from paribus._kernels.program import ABOVE, DEPTH, MARGIN, NODE, SLOT


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
