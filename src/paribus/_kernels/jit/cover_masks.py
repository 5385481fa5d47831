"""Rows counted as masks, along a flow that was found once for all chunks of rows."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, u1, u2, u8, void

from paribus._kernels import flow
from paribus._kernels.jit.common import ONE, ZERO, kernel
from paribus._kernels.jit.cover_bits import count, count_both, store_both, store_left, store_right
from paribus._kernels.jit.row_masks import mask_rows, mask_tests
from paribus._kernels.program import BOTH_COUNTED, LEFT_COUNTED, NEITHER

WORDS, LANES = u8(flow.WORDS), u8(flow.LANES)
ROWS = u8(64 * flow.WORDS)


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[:, ::1], i4[:, ::1], u8[::1], u8[::1],
        u8[::1], u2[::1], f8[::1]
    ),
)  # fmt: skip
def cover_by_masks(
    codes, n_codes, conditions, truth, steps, parted, whole, pool, buckets, masks, tallies, counts
):
    """Add the rows of every chunk at the slots of shallow trees that are counted."""
    for first in range(ZERO, u8(codes.shape[1]), ROWS):
        rows = min(ROWS, u8(codes.shape[1]) - first)
        mask_tests(codes, first, rows, n_codes, conditions, truth, buckets, masks, WORDS)
        mask_rows(pool, rows, WORDS)
        for step in range(u8(steps.shape[0]) - ONE):
            test, kind = u8(steps[step, 0]) * WORDS, steps[step, 1]
            for i in range(u8(steps[step, 2]), u8(steps[step + ONE, 2])):
                at, left, right = u8(parted[i, 0]), u8(parted[i, 1]), u8(parted[i, 2])
                if kind == BOTH_COUNTED:
                    count_both(pool, at, masks, test, tallies, left, right)
                elif kind == NEITHER:
                    store_both(pool, at, masks, test, tallies, left, right)
                elif kind == LEFT_COUNTED:
                    store_right(pool, at, masks, test, tallies, left, right)
                else:
                    store_left(pool, at, masks, test, tallies, left, right)
            for i in range(u8(steps[step, 3]), u8(steps[step + ONE, 3])):
                count(pool, u8(whole[i, 0]), tallies, u8(whole[i, 1]))
    for slot in range(u8(counts.size)):
        total = ZERO
        for lane in range(LANES):
            total += u8(tallies[slot * LANES + lane])
        counts[slot] += f8(total)
