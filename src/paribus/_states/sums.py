"""Exact sums, counts and the order of merging."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self

import numpy as np

from paribus._contracts import Array, Floats, Integers, Octets, S

BIN = 8  # powers of two that share a bin: the smallest of its terms keeps its digits


@dataclass(frozen=True, eq=False)
class ExactSum:
    r"""Sums over rows, added without rounding, so that any order and any grouping gives the same bits.

    A term :math:`x` with :math:`|x| \le b` is split into a multiple of a large unit, a multiple of a small
    one and a rest that is dropped: :math:`q = (x + M) - M` rounds to multiples of the last place of
    :math:`M`, chosen such that ``rows`` of them add up within the 53 bits of a float. What is dropped is
    below :math:`2^{-101} n^2 b` a term, beyond the precision of the result.

    >>> import numpy as np
    >>> a, b = (ExactSum.of(np.array([[0.1, x]]), 1.0, 4) for x in (0.3, 0.7))
    >>> bool(a.merge(b).total()[0] == b.merge(a).total()[0])
    True
    """

    high: Floats
    low: Floats

    @classmethod
    def of(cls, terms: Floats, bound: float, rows: int) -> Self:
        """Add terms ``(..., i)`` over their last axis; at most ``rows`` of them will ever be added up."""
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
        """Add the sums."""
        return type(self)(self.high + other.high, self.low + other.low)

    def total(self) -> Floats:
        """Return the sum."""
        return self.high + self.low


@dataclass(frozen=True, eq=False)
class BinnedSum:
    """Sums over rows of terms of any size, added without rounding.

    Terms are sorted into bins by their exponent, each an `ExactSum` of its own: next to a large bound, small
    terms would lose their digits.

    >>> import numpy as np
    >>> float(BinnedSum.of(np.array([1e-30, 1e30, -1e30]), 3).total())
    1e-30
    """

    bins: Mapping[int, ExactSum]

    @classmethod
    def of(cls, terms: Floats, rows: int) -> Self:
        """Add terms ``(..., i)`` over their last axis; at most ``rows`` of them will ever be added up."""
        position = np.frexp(terms)[1] // BIN
        sums = {}
        for number in np.unique(position).tolist():
            some = np.where(position == number, terms, 0.0)
            sums[number] = ExactSum.of(some, 2.0 ** (BIN * (number + 1)), rows)
        return cls(sums)

    def merge(self, other: Self) -> Self:
        """Add the sums, bin by bin."""
        merged = dict(self.bins)
        for number, held in other.bins.items():
            merged[number] = merged[number].merge(held) if number in merged else held
        return type(self)(merged)

    def total(self) -> Floats:
        """Return the sum, the bins added in one order: large ones first, so that they may cancel."""
        return np.asarray(sum(self.bins[number].total() for number in sorted(self.bins, reverse=True)))


LARGE = 2.0**600  # in units of which no sum and no square of a float overflows
LARGEST = float(np.finfo(np.float64).max)


def ignore_fp_errors() -> np.errstate:
    """Let inf and NaN pass: what they touch is one of them, which the result notes."""
    return np.errstate(invalid="ignore", over="ignore")


def enlarged(found: Any) -> Floats:
    """Return what was found in units of `LARGE`; what is finite there is finite, whatever rounding does."""
    with ignore_fp_errors():
        return np.asarray(np.where(np.isfinite(found), np.clip(found * LARGE, -LARGEST, LARGEST), found))


def scaled(function: Callable[[Floats], Any], values: Floats) -> Floats:
    """Return a function that scales with its values, found in units of `LARGE` where it overflows.

    >>> float(scaled(np.mean, np.full(3, 1.5e308)))
    1.5e+308
    """
    with ignore_fp_errors():
        found = np.asarray(function(values))
        finite = np.isfinite(found)
        return found if finite.all() else np.where(finite, found, enlarged(function(values / LARGE)))


def deviations(values: Floats, weights: Floats) -> Floats:
    """Return the standard deviation of each row of ``values (o, g)``, whose columns have positive weights."""
    shares = weights / weights.sum()

    def deviation(values: Floats) -> Any:
        # A mean of equal numbers may differ from them in its last bit.
        flat = (values.min(axis=1) == values.max(axis=1)) & np.isfinite(values[:, 0])
        centered = np.where(flat[:, None], 0.0, values - (values @ shares)[:, None])
        return np.sqrt(centered**2 @ shares)

    return scaled(deviation, values)


def between(one: Floats, other: Floats, share: Any) -> Floats:
    """Return the mean of two means, of which the other has a ``share``."""
    with ignore_fp_errors():
        mixed = np.asarray(one * (1 - share) + other * share)
        if np.isfinite(mixed).all():
            return mixed
        # Rounding may leave the range of floats where both are at its end.
        return np.where(np.isfinite(one) & np.isfinite(other), np.clip(mixed, -LARGEST, LARGEST), mixed)


def fitting(squares: Callable[[Any], Floats], unit: Any) -> tuple[Floats, Any]:
    """Return sums of squares in a unit in which they do not overflow, point by point, and that unit."""
    with ignore_fp_errors():
        found = squares(unit)
        finite = np.isfinite(found)
        if finite.all():
            return found, unit
        unit = np.where(finite, unit, LARGE)
        return squares(unit), unit


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight of the rows in each cell of an array; integers when there are no weights."""

    cells: Array

    def merge(self, other: Self) -> Self:
        """Add the counts."""
        return type(self)(self.cells + other.cells)


@dataclass(frozen=True, eq=False)
class Occupied:
    """Cells of tables ``(q, c)`` that some row lies in, as packed bits."""

    bits: Octets

    @classmethod
    def of(cls, tables: Array) -> Self:
        """Pack tables of 0 and 1."""
        return cls(np.packbits(tables, axis=-1))

    def merge(self, other: Self) -> Self:
        """Return the cells that either has."""
        return type(self)(self.bits | other.bits)

    def tables(self) -> Array:
        """Return the tables of 0 and 1."""
        return np.unpackbits(self.bits, axis=-1)


LONGEST = 2**62  # a key, at most, so that it is a 64-bit integer


@dataclass(frozen=True, eq=False)
class CodeTuples:
    """Distinct tuples ``(c, t)`` in lexicographic order; of more than ``most`` the first ``most + 1``.

    ``weight (t,)`` is that of the rows which have each of them. The first tuples of a union are the same in
    whatever order it is made. A run may be resumed with more memory, or less: the smaller ``most`` of two
    counts.
    """

    tuples: Array
    weight: Array
    most: int

    @classmethod
    def of(cls, codes: Array, most: int, weights: Array | None = None) -> Self:
        """Find the distinct tuples among those of rows, ``(c, i)``, whose ``weights`` are one by default."""
        number = np.zeros(codes.shape[1], np.int64)
        for _, key in keys_of(codes, codes.max(axis=1, initial=0) + 1, number):
            number[:] = np.searchsorted(np.unique(key), key)
        row = np.empty(number.max(initial=-1) + 1, np.int64)
        row[number] = np.arange(len(number))
        weight = np.bincount(number, weights, minlength=len(row)).astype(np.float64)
        return cls(codes[:, row[: most + 1]], weight[: most + 1], most)

    def merge(self, other: Self) -> Self:
        """Return the tuples that either has."""
        most = min(self.most, other.most)
        if self.most == most and np.array_equal(self.tuples, other.tuples):
            return type(self)(self.tuples, self.weight + other.weight, most)
        weight = np.concatenate([self.weight, other.weight])
        return type(self).of(np.concatenate([self.tuples, other.tuples], axis=1), most, weight)


def keys_of(codes: Array, sizes: Array, number: Integers) -> Iterator[tuple[int, Integers]]:
    """Yield keys that order tuples as some first columns do, more at a time, and where each portion ends.

    ``number (i,)``, which is below 2**31, is that of the columns before, to be set by whoever takes the key.
    Columns have ``sizes`` codes.
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
    """States by key, such as ``("moments", 3)`` for the moments of grid 3; without any it is neutral."""

    parts: Mapping[tuple[str, int], Any]

    def merge(self, other: Self) -> Self:
        """Merge what both have, keep what only one has."""
        merged = dict(self.parts)
        for key, state in other.parts.items():
            merged[key] = merged[key].merge(state) if key in merged else state
        return type(self)(merged)


class Merger(Generic[S]):
    """States that come one after the other, merged along a binary tree over their numbers.

    0 with 1, 2 with 3, then those two, and so on. The tree depends on the number of states alone, so any
    executor that follows it gives the same bits; only logarithmically many states are held at a time.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, S]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, state: S) -> None:
        """Merge with those before it that complete a branch."""
        height = 0
        while self._waiting and self._waiting[-1][0] == height:
            state = self._waiting.pop()[1].merge(state)
            height += 1
        self._waiting.append((height, state))

    def finish(self, zero: S | None = None) -> S:
        """Return the state of all, ``zero`` of none."""
        if not self._waiting:
            if zero is None:
                raise ValueError("no states to merge, and no zero to return instead")
            return zero
        merged = self._waiting[-1][1]
        for _, state in reversed(self._waiting[:-1]):
            merged = state.merge(merged)
        return merged


def merge_in_order(states: Iterable[S], zero: S | None = None) -> S:
    """Merge states along the tree of `Merger`; ``zero`` is the state of none.

    A range of blocks that begins at a multiple of its length, a power of two, is a branch of the tree: it
    may be merged by itself first, anywhere, and so may a shorter range at the end (see `ranges_of`).
    """
    merger = Merger[S]()
    for state in states:
        merger.add(state)
    return merger.finish(zero)


def ranges_of(count: int, most: int) -> list[tuple[int, int]]:
    """Cut blocks into at most ``most`` ranges that are branches of the tree of merges.

    >>> ranges_of(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    size = 1
    while size * most < count:
        size *= 2
    return [(first, min(first + size, count)) for first in range(0, count, size)]
