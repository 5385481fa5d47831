"""Rows that stand for all of them, the same whoever read which rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus._contracts import Floats, Integers

MOST_FEW, LEAST_FEW, FEW_CELLS = 4_096, 512, 2**20  # rows that show how columns are binned
PORTION = 16_384  # rows whose hash is found at once
TINY = 1e-290  # of a very small weight the square must not vanish altogether


@dataclass(frozen=True, eq=False)
class Sample:
    r"""Rows that stand for all of them in a sum of squares :math:`\sum_i w_i^2 d_i^2`.

    ``numbers`` are the rows, in order, ``squares`` what the square of each counts for, and ``weights`` those
    of these rows, None when all count the same.
    """

    numbers: Integers
    squares: Floats
    weights: Floats | None = None


def sample_of(rows: int, size: int, seed: int) -> Sample:
    """Choose rows that all count the same: all of them, or ``size`` where there are more."""
    if rows <= size:
        return Sample(np.arange(rows), np.ones(rows))
    chosen = np.sort(np.random.default_rng(seed).choice(rows, size, replace=False))
    return Sample(chosen, np.full(size, rows / size))


@dataclass(frozen=True, eq=False)
class PrioritySample:
    r"""The ``most`` rows of highest priority :math:`q_i = w_i^2 / u_i`, with :math:`u_i` uniform on (0, 1].

    With :math:`\tau` the highest priority that is left out, :math:`\sum_i \max(w_i^2, \tau) d_i^2` over the
    rows that are in is an unbiased estimate of :math:`\sum_i w_i^2 d_i^2` over all (priority sampling). As
    :math:`u_i`, of which ``chances`` are those of the rows that are in, is a hash of a row's number, it does
    not matter who read which rows. The highest priority comes first.
    """

    most: int
    numbers: Integers
    weights: Floats
    chances: Floats

    @classmethod
    def of(cls, numbers: Integers, weights: Floats, seed: int, most: int) -> Self:
        """Read some rows and their weights; a row of weight zero has no priority."""
        counted = weights > 0
        numbers, weights = numbers[counted], weights[counted]
        return cls(most, numbers, weights, _uniform(numbers, seed))._first(most)

    def merge(self, other: Self) -> Self:
        """Return the rows of highest priority among both."""
        joined = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("numbers", "weights", "chances")
        )
        return type(self)(self.most, *joined)._first(self.most)

    def _first(self, size: int) -> Self:
        # By exponent and mantissa: squares could overflow, and no unit of weight may change the order.
        mantissa, exponent = np.frexp(self.weights)
        mantissa, more = np.frexp(mantissa**2 / self.chances)
        order = np.lexsort((self.numbers, -mantissa, -(2 * exponent + more)))[:size]
        return type(self)(self.most, self.numbers[order], self.weights[order], self.chances[order])

    def sample(self, size: int, unit: float) -> Sample:
        """Return ``size`` rows, fewer than are kept, or all; weights are divided by ``unit``."""
        chosen = self._first(size)
        weights = chosen.weights / unit
        squares = np.maximum(weights**2, TINY)
        if len(self.numbers) > size:
            squares = np.maximum(squares, (self.weights[size] / unit) ** 2 / self.chances[size])
        order = np.argsort(chosen.numbers)
        return Sample(chosen.numbers[order], squares[order], weights[order])


def sample_numbers(numbers: Integers, seed: int, most: int) -> Integers:
    """Return the positions of ``most`` rows, in order, chosen by a hash of their numbers alone.

    Whoever reads which rows, those chosen among the chosen of parts are those chosen among all.
    """
    size = len(numbers)
    if size <= most:
        return np.arange(size)
    # Those below a bound that more than enough are below; in portions that fit in a cache.
    bound = min(1.0, 2 * most / size)
    chances = np.empty(size)
    for first in range(0, size, PORTION):
        some = slice(first, first + PORTION)
        chances[some] = _uniform(numbers[some], seed)
    below = np.flatnonzero(chances <= bound)
    if len(below) <= most:
        below = np.arange(size)
    return np.sort(below[np.argpartition(chances[below], most - 1)[:most]])


def head_rows(columns: int) -> int:
    """Return how many rows show how columns are binned: fewer of very wide tables, which are held."""
    return max(LEAST_FEW, min(MOST_FEW, FEW_CELLS // max(1, columns)))


def _uniform(numbers: Integers, seed: int) -> Floats:
    """Return a number in (0, 1] for each row: the finaliser of splitmix64 on its number and the seed."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64((seed * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53
