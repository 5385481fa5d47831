"""Rows weighed as masks, along a flow that was found once for all chunks of rows."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, u1, u8, void

from paribus._kernels import flow
from paribus._kernels.jit.bits import lowest
from paribus._kernels.jit.common import ONE, ZERO, helper, kernel
from paribus._kernels.jit.row_masks import SIX, mask_rows, mask_tests
from paribus._kernels.program import BOTH_COUNTED, LEFT_COUNTED, RIGHT_COUNTED

WORDS, LANES = u8(flow.WORDS), u8(flow.LANES)
ROWS = u8(64 * flow.WORDS)


@helper
def _weight(word, weights, at):
    """Return the weight of the rows of a word, the first of which is ``at``."""
    total = 0.0
    while word:
        total += weights[at + lowest(word)]
        word &= word - ONE
    return total


@helper
def _part(pool, at, masks, test, weights, first, left, left_counted, right, right_counted, counts):
    """Split a mask by a test; store what passes and fails it, or add its weight."""
    passed, failed = 0.0, 0.0
    for w in range(WORDS):
        word = pool[at + w]
        met = word & masks[test + w]
        if left_counted:
            passed += _weight(met, weights, first + (w << SIX))
        else:
            pool[left + w] = met
        if right_counted:
            failed += _weight(word ^ met, weights, first + (w << SIX))
        else:
            pool[right + w] = word ^ met
    if left_counted:
        counts[left // LANES] += passed
    if right_counted:
        counts[right // LANES] += failed


@kernel(
    void(
        i4[:, ::1], f8[::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[:, ::1], i4[:, ::1], u8[::1],
        u8[::1], u8[::1], f8[::1]
    ),
)  # fmt: skip
def weigh_by_masks(
    codes, weights, n_codes, conditions, truth, steps, parted, whole, pool, buckets, masks, counts
):
    """Add the weight of the rows of every chunk at the slots of shallow trees that are counted."""
    for first in range(ZERO, u8(codes.shape[1]), ROWS):
        rows = min(ROWS, u8(codes.shape[1]) - first)
        mask_tests(codes, first, rows, n_codes, conditions, truth, buckets, masks, WORDS)
        mask_rows(pool, rows, WORDS)
        for step in range(u8(steps.shape[0]) - ONE):
            test, kind = u8(steps[step, 0]) * WORDS, steps[step, 1]
            left_counted = (kind == BOTH_COUNTED) | (kind == LEFT_COUNTED)
            right_counted = (kind == BOTH_COUNTED) | (kind == RIGHT_COUNTED)
            for i in range(u8(steps[step, 2]), u8(steps[step + ONE, 2])):
                at, left, right = u8(parted[i, 0]), u8(parted[i, 1]), u8(parted[i, 2])
                _part(pool, at, masks, test, weights, first, left, left_counted, right, right_counted, counts)
            for i in range(u8(steps[step, 3]), u8(steps[step + ONE, 3])):
                for w in range(WORDS):
                    word = pool[u8(whole[i, 0]) + w]
                    counts[u8(whole[i, 1]) // LANES] += _weight(word, weights, first + (w << SIX))
