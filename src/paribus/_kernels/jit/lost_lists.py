"""What rows lose with a feature averaged out, in trees that are walked with lists."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, u1, u8, void

from paribus._kernels.jit.common import ONE, ZERO, add, add_single, kernel
from paribus._kernels.jit.lists import arrive, grouped
from paribus._kernels.program import ACTIVE, DEPTH, END, MARGIN, NODE, SLOT


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], u8, i4[::1], i4[:, ::1], i4[::1], i4[::1],
        i4[::1], u8[::1], u8[::1], u8[::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def lose_by_lists(
    codes, n_codes, conditions, truth, entries, begin, up, members_of, slot_set, rows, tags, sizes, stop,
    members, value, share, rounded, plain, lost
):  # fmt: skip
    """Add the margins of rows in deep trees, and what they lose with a feature averaged out."""
    width = u8(codes.shape[1])
    features = u8(lost.size) // u8(plain.size)
    entry, last = begin, u8(entries.shape[0])
    while entry < last:
        if not arrive(entries, entry, codes, n_codes, conditions, truth, up, rows, tags, sizes, width):
            entry = u8(entries[entry, END])
            continue
        if entries[entry, SLOT] >= 0:
            level, n = u8(entries[entry, DEPTH]), u8(entries[entry, ACTIVE])
            grouped(rows, tags, level * width, sizes[level], n, stop, members)
            for k in range(u8(value.shape[1])):
                margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
                amount = value[u8(entries[entry, NODE]), k]
                add(plain, margin * width, members, ZERO, stop[ZERO], amount)
                if rounded.size:
                    add_single(rounded, margin * width, members, ZERO, stop[ZERO], amount)
                for a in range(ONE, n):
                    slot = u8(entries[entry, SLOT]) + a
                    at = (margin * features + u8(members_of[u8(slot_set[slot]), ZERO])) * width
                    add(lost, at, members, ZERO, stop[ZERO], amount * (1.0 - share[slot]))
                    add(lost, at, members, stop[a - ONE], stop[a], -amount * share[slot])
        entry += ONE
