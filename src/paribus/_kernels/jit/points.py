"""Points that reach a leaf, and the way from changes to curves.

``at[level]`` is the row of ``reach`` that holds at a level, because tests of other features change nothing;
``tag[level]`` is the active set of the grid's features tested so far.
"""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, u1, u8, void

from paribus._kernels.jit.common import helper, kernel
from paribus._kernels.program import (
    COLUMN,
    CUT,
    DEPTH,
    END,
    MARGIN,
    MISSING_LEFT,
    NODE,
    SIDE,
    SLOT,
    TABLE,
    TEST,
    UPS,
)


@helper
def _narrow(conditions, number, n_codes, truth, axis_first, d, codes, r, right, reach, above, level):
    """Write which points of each axis reach below a test of axis ``d``; False for none of that axis.

    ``reach[above]`` is what held before the test.
    """
    for p in range(u8(codes.shape[1])):
        reach[u8(level), p] = reach[u8(above), p]
    column, cut, table = conditions[number, COLUMN], conditions[number, CUT], conditions[number, TABLE]
    from_here = n_codes[column] - 1 if conditions[number, MISSING_LEFT] else n_codes[column]
    some = False
    for p in range(u8(axis_first[d]), u8(axis_first[d + 1])):
        code = codes[u8(r), p]
        left = (code <= cut) | (code >= from_here) if table < 0 else truth[u8(table) + u8(code)] > 0
        if left == right:
            reach[u8(level), p] = 0
        some |= reach[u8(level), p] > 0
    return some


@helper
def _leads(reach, level, axis_first, lead):
    """Return whether a point reaches on every axis but the last; ``lead`` indexes their product."""
    for d in range(axis_first.size - 3, -1, -1):
        size = axis_first[d + 1] - axis_first[d]
        if not reach[level, axis_first[d] + lead % size]:
            return False
        lead //= size
    return True


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[::1], i4[:, ::1], u1[::1], i4[::1], i4[::1], i4[::1], i4[:, ::1], f8[::1],
        f8[:, ::1], u1[:, ::1], i4[::1], i4[::1], f8[::1], f8[:, ::1]
    ),
)  # fmt: skip
def average(
    entries, up, n_codes, conditions, truth, row, axis, axis_first, codes, share, value, reach, at, tag,
    plain, averages
):  # fmt: skip
    """Add the average margin at every point of a grid."""
    begin = axis_first[axis_first.size - 2]
    last = axis_first[axis_first.size - 1] - begin
    entry = 0
    while entry < entries.shape[0]:
        level, number = entries[entry, DEPTH], entries[entry, TEST]
        if level == 0:
            for p in range(codes.shape[1]):
                reach[0, p] = 1
            at[0], tag[0] = 0, 0
        else:
            at[level], tag[level] = at[level - 1], tag[level - 1]
            r = row[number]
            if r >= 0:
                at[level], tag[level] = level, up[entries[entry, UPS] + tag[level - 1]]
                right = entries[entry, SIDE] > 0
                if not _narrow(
                    conditions, number, n_codes, truth, axis_first, axis[r], codes, r, right, reach,
                    at[level - 1], level
                ):  # fmt: skip
                    entry = entries[entry, END]
                    continue
        if entries[entry, SLOT] >= 0:
            held = at[level]
            weight = share[entries[entry, SLOT] + tag[level]]
            for k in range(value.shape[1]):
                margin = k if entries[entry, MARGIN] < 0 else entries[entry, MARGIN]
                amount = weight * value[entries[entry, NODE], k]
                if tag[level] == 0:
                    plain[margin] += amount
                    continue
                for lead in range(averages.shape[1] // last):
                    if _leads(reach, held, axis_first, lead):
                        for p in range(last):
                            averages[margin, lead * last + p] += amount * reach[held, begin + p]
        entry += 1
    for m in range(averages.shape[0]):
        for p in range(averages.shape[1]):
            averages[m, p] += plain[m]
