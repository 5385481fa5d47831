"""Exact sums, counts, and the order in which states are merged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self

import numpy as np

from paribus._contracts import Array, Floats, Integers, Octets, S

BIN = 8  # powers of two per bin; the smallest term of a bin keeps its precision


@dataclass(frozen=True, eq=False)
class ExactSum:
    r"""Sums over rows, added without rounding, so that the order and grouping of rows has no effect.

    A term :math:`x` with :math:`|x| \le b` is split into a multiple of a large unit, a multiple of a small
    unit and a remainder, which is dropped. :math:`q = (x + M) - M` rounds to multiples of the last digit of
    :math:`M`, chosen so that the sum of ``rows`` terms is exact in 53 bits. The remainder is below
    :math:`2^{-101} n^2 b` per term, less than the precision of the result.

    >>> import numpy as np
    >>> a, b = (ExactSum.of(np.array([[0.1, x]]), 1.0, 4) for x in (0.3, 0.7))
    >>> bool(a.merge(b).total()[0] == b.merge(a).total()[0])
    True
    """

    high: Floats
    low: Floats

    @classmethod
    def of(cls, terms: Floats, bound: float, rows: int) -> Self:
        """Return the sum of terms ``(..., i)`` over the last axis; ``rows`` bounds all merged terms."""
        bits = math.ceil(math.log2(max(rows, 1))) + 1
        top = math.ceil(math.log2(bound)) + bits
        large, small = 1.5 * 2.0**top, 1.5 * 2.0 ** (top - 53 + bits)
        high = terms + large
        high -= large
        low = terms - high
        low += small
        low -= small
        return cls(high.sum(axis=-1), low.sum(axis=-1))

    def merge(self, other: Self) -> Self:
        """Return the sum of both."""
        return type(self)(self.high + other.high, self.low + other.low)

    def total(self) -> Floats:
        """Return the sum."""
        return self.high + self.low


@dataclass(frozen=True, eq=False)
class BinnedSum:
    """Sums over rows of terms of any size, added without rounding.

    Each bin of exponents has a separate `ExactSum`, because small terms would lose precision with a large
    bound.

    >>> import numpy as np
    >>> float(BinnedSum.of(np.array([1e-30, 1e30, -1e30]), 3).total())
    1e-30
    """

    bins: Mapping[int, ExactSum]

    @classmethod
    def of(cls, terms: Floats, rows: int) -> Self:
        """Return the sum of terms ``(..., i)`` over the last axis; ``rows`` bounds all merged terms."""
        position = np.frexp(terms)[1] // BIN
        sums = {}
        for number in np.unique(position).tolist():
            some = np.where(position == number, terms, 0.0)
            sums[number] = ExactSum.of(some, 2.0 ** (BIN * (number + 1)), rows)
        return cls(sums)

    def merge(self, other: Self) -> Self:
        """Return the sum of both, bin by bin."""
        merged = dict(self.bins)
        for number, held in other.bins.items():
            merged[number] = merged[number].merge(held) if number in merged else held
        return type(self)(merged)

    def total(self) -> Floats:
        """Return the sum of the bins, large ones first, because they may cancel."""
        return np.asarray(sum(self.bins[number].total() for number in sorted(self.bins, reverse=True)))


def ignore_fp_errors() -> np.errstate:
    """Return a context in which inf and NaN raise no warnings; results note them."""
    return np.errstate(invalid="ignore", over="ignore")


def deviations(values: Floats, weights: Floats) -> Floats:
    """Return the standard deviation of each row of ``values (o, g)``, whose columns have positive weights."""
    shares = weights / weights.sum()
    with ignore_fp_errors():
        # The mean of equal numbers may differ from them by rounding.
        flat = (values.min(axis=1) == values.max(axis=1)) & np.isfinite(values[:, 0])
        centered = np.where(flat[:, None], 0.0, values - (values @ shares)[:, None])
        return np.asarray(np.sqrt(centered**2 @ shares))


def between(one: Floats, other: Floats, share: Any) -> Floats:
    """Return the weighted mean of two means, where ``other`` has the weight ``share``."""
    with ignore_fp_errors():
        return np.asarray(one * (1 - share) + other * share)


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight of the rows in each cell of an array; integers without weights."""

    cells: Array

    def merge(self, other: Self) -> Self:
        """Return the sum of both counts."""
        return type(self)(self.cells + other.cells)


@dataclass(frozen=True, eq=False)
class Occupied:
    """Cells of tables ``(q, c)`` that contain a row, as packed bits."""

    bits: Octets

    @classmethod
    def of(cls, tables: Array) -> Self:
        """Return packed tables of 0 and 1."""
        return cls(np.packbits(tables, axis=-1))

    def merge(self, other: Self) -> Self:
        """Return the cells of either."""
        return type(self)(self.bits | other.bits)

    def tables(self) -> Array:
        """Return the tables of 0 and 1."""
        return np.unpackbits(self.bits, axis=-1)


LONGEST = 2**62  # bound of keys, which are 64-bit integers


@dataclass(frozen=True, eq=False)
class CodeTuples:
    """Distinct tuples ``(c, t)`` in lexicographic order: all, or the first ``most + 1``.

    ``weight (t,)`` is the weight of the rows with each tuple. The first tuples of a union do not depend on
    the order of merges. Merging uses the smaller ``most``, because a resumed run may have other memory.
    """

    tuples: Array
    weight: Array
    most: int

    @classmethod
    def of(cls, codes: Array, most: int, weights: Array | None = None) -> Self:
        """Return the distinct tuples of rows ``(c, i)``, whose ``weights`` are one by default."""
        number = np.zeros(codes.shape[1], np.int64)
        for _, key in keys_of(codes, codes.max(axis=1, initial=0) + 1, number):
            number[:] = np.searchsorted(np.unique(key), key)
        row = np.empty(number.max(initial=-1) + 1, np.int64)
        row[number] = np.arange(len(number))
        weight = np.bincount(number, weights, minlength=len(row)).astype(np.float64)
        return cls(codes[:, row[: most + 1]], weight[: most + 1], most)

    def merge(self, other: Self) -> Self:
        """Return the tuples of either, with the weights added."""
        most = min(self.most, other.most)
        if self.most == most and np.array_equal(self.tuples, other.tuples):
            return type(self)(self.tuples, self.weight + other.weight, most)
        weight = np.concatenate([self.weight, other.weight])
        return type(self).of(np.concatenate([self.tuples, other.tuples], axis=1), most, weight)


def keys_of(codes: Array, sizes: Array, number: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield the end of a portion of columns, and keys that order tuples by all columns up to there.

    ``sizes`` are the numbers of codes of the columns. ``number (i,)`` is the rank of each tuple by the
    columns before, below 2**31; the caller must set it from the key in each iteration.
    """
    column = 0
    while column < len(sizes):
        key, longest = number.copy(), 2**31
        while column < len(sizes) and longest * int(sizes[column]) <= LONGEST:
            key *= sizes[column]
            key += codes[column]
            longest *= int(sizes[column])
            column += 1
        yield column, key


@dataclass(frozen=True, eq=False)
class Keyed:
    """States by key, such as ``("moments", 3)`` for the moments of grid 3; an empty one is neutral."""

    parts: Mapping[tuple[str, int], Any]

    def merge(self, other: Self) -> Self:
        """Return the states of both; those with the same key are merged."""
        merged = dict(self.parts)
        for key, state in other.parts.items():
            merged[key] = merged[key].merge(state) if key in merged else state
        return type(self)(merged)


class Merger(Generic[S]):
    """Consecutive states, merged along a binary tree over their numbers.

    State 0 is merged with 1, 2 with 3, then those two results, and so on. The tree depends only on the
    number of states, so all executors give exactly the same result. A logarithmic number of states is in
    memory at a time.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, S]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, state: S) -> None:
        """Add a state, and merge all branches that it completes."""
        height = 0
        while self._waiting and self._waiting[-1][0] == height:
            state = self._waiting.pop()[1].merge(state)
            height += 1
        self._waiting.append((height, state))

    def finish(self, zero: S | None = None) -> S:
        """Return the merged state of all, or ``zero`` without states."""
        if not self._waiting:
            if zero is None:
                raise ValueError("no states to merge, and no zero to return instead")
            return zero
        merged = self._waiting[-1][1]
        for _, state in reversed(self._waiting[:-1]):
            merged = state.merge(merged)
        return merged


def merge_in_order(states: Iterable[S], zero: S | None = None) -> S:
    """Return states merged along the tree of `Merger`, or ``zero`` without states.

    A range of blocks is a branch of the tree if its length is a power of two and its start a multiple of
    it. Branches can be merged separately, and so can a shorter range at the end (see `ranges_of`).
    """
    merger = Merger[S]()
    for state in states:
        merger.add(state)
    return merger.finish(zero)


def ranges_of(count: int, most: int) -> list[tuple[int, int]]:
    """Return at most ``most`` ranges of blocks that are branches of the tree of merges.

    >>> ranges_of(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    size = 1
    while size * most < count:
        size *= 2
    return [(first, min(first + size, count)) for first in range(0, count, size)]
