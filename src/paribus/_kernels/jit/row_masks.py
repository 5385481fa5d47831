"""Masks of a chunk of rows, a bit per row, 64 to a machine word: of every condition, and of all rows."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import i8, u8

from paribus._kernels.jit import bits
from paribus._kernels.jit.common import ONE, ZERO, helper
from paribus._kernels.program import COLUMN, CUT, MISSING_LEFT, TABLE

WORDS = u8(bits.WORDS)  # of a mask: one cache line
SIX, LOW = u8(6), u8(63)  # a row's word, and its bit in the word
EVERY = u8(0xFFFFFFFFFFFFFFFF)


@helper
def _join(masks, at, others, other, words):
    for w in range(words):
        masks[at + w] |= others[other + w]


@helper
def mask_rows(pool, rows, words):
    """Write the mask of all rows of a chunk, the first in the pool."""
    for w in range(words):
        left = i8(rows) - i8(64) * i8(w)
        pool[w] = EVERY if left >= 64 else (ONE << u8(left)) - ONE if left > 0 else ZERO


@helper
def all_rows(pool, rows):
    """Write the mask of all rows of a chunk of the usual size."""
    mask_rows(pool, rows, WORDS)


@helper
def mask_tests(codes, first, rows, n_codes, conditions, truth, buckets, masks, words):
    """Write the mask of every condition for a chunk: rows fall into buckets by code, buckets are joined."""
    number, total = ZERO, u8(conditions.shape[0])
    for column in range(u8(codes.shape[0])):
        size = u8(n_codes[column])
        running, missing = size * words, (size - ONE) * words
        for b in range((size + ONE) * words):
            buckets[b] = ZERO
        for i in range(rows):
            buckets[u8(codes[column, first + i]) * words + (i >> SIX)] |= ONE << (i & LOW)
        done = ZERO  # buckets that have joined the running mask of `code <= cut`
        while number < total and u8(conditions[number, COLUMN]) == column:
            mask = number * words
            if conditions[number, TABLE] < 0:
                while done <= u8(conditions[number, CUT]):
                    _join(buckets, running, buckets, done * words, words)
                    done += ONE
                for w in range(words):
                    masks[mask + w] = buckets[running + w]
                if conditions[number, MISSING_LEFT]:
                    _join(masks, mask, buckets, missing, words)
            else:
                for w in range(words):
                    masks[mask + w] = ZERO
                for code in range(size):
                    if truth[u8(conditions[number, TABLE]) + code]:
                        _join(masks, mask, buckets, code * words, words)
            number += ONE


@helper
def fill_masks(codes, first, rows, n_codes, conditions, truth, buckets, masks):
    """Write the mask of every condition for a chunk of the usual size."""
    mask_tests(codes, first, rows, n_codes, conditions, truth, buckets, masks, WORDS)
