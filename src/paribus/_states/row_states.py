"""Numbers of single rows: curves of all, a fixed sample, rows ranked by a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.sampling import sample_numbers
from paribus._states.moments import CellMoments


@dataclass(frozen=True, eq=False)
class RowCurves:
    """What is kept of each row, as parts ``(first row, (k, i, ...))``: predictions at points, or codes."""

    parts: tuple[tuple[int, Array], ...]

    def merge(self, other: Self) -> Self:
        """Put the parts side by side; nothing is copied before `finish`."""
        return type(self)(self.parts + other.parts)

    def finish(self) -> Array:
        """Return the parts in row order, shape ``(k, n, ...)``."""
        ordered = sorted(self.parts, key=lambda part: part[0])
        return np.concatenate([curves for _, curves in ordered], axis=1)


SEED = 0  # of the hash of row numbers


@dataclass(frozen=True, eq=False)
class SampledRows:
    """``values (q, k)`` and ``weights (k,)`` of at most ``most`` rows, chosen by a hash of their ``numbers``.

    The choice depends on the numbers of the rows alone, in memory or read, whoever reads which rows.
    """

    most: int
    numbers: Integers
    values: Floats
    weights: Floats

    @classmethod
    def of(cls, numbers: Integers, values: Floats, weights: Floats | None, most: int) -> Self:
        """Choose among rows in order, with values ``(q, i)``; every weight is positive."""
        counted = np.ones(len(numbers)) if weights is None else weights
        chosen = sample_numbers(numbers, SEED, most)
        return cls(most, numbers[chosen], values[:, chosen], counted[chosen])

    def merge(self, other: Self) -> Self:
        """Choose among the rows of both."""
        numbers = np.concatenate([self.numbers, other.numbers])
        order = np.argsort(numbers)
        chosen = order[sample_numbers(numbers[order], SEED, self.most)]
        values = np.concatenate([self.values, other.values], axis=1)[:, chosen]
        weights = np.concatenate([self.weights, other.weights])[chosen]
        return type(self)(self.most, numbers[chosen], values, weights)


BITS = 64
MANTISSA = np.int64(2**63 - 1)


@dataclass(frozen=True, eq=False)
class RankedRows:
    """Moments of the rows of each distinct number, such as a prediction, in the order of the numbers.

    While at most ``capacity`` numbers are distinct, each has a group of its own. Beyond that, numbers that
    agree in all but their last ``shift`` bits share one, with the smallest ``shift`` that suffices: groups do
    not overlap, and which rows are together depends on all rows, not on the order in which they came.

    Attributes
    ----------
    keys : (k,)
        The numbers without their last bits, as integers of the same order.
    moments : CellMoments
        Of the rows of each group.
    """

    capacity: int
    shift: int
    keys: Integers
    moments: CellMoments

    @classmethod
    def of(cls, ranked: Floats, values: Floats, weights: Floats | None, capacity: int) -> Self:
        """Collect values ``(q, i)`` of rows by finite numbers ``(i,)``; every weight is positive."""
        keys, cells = np.unique(_ordered_integers(ranked), return_inverse=True)
        moments = CellMoments.of(values, cells.ravel(), weights, len(keys))
        return cls(capacity, 0, keys, moments)._within()

    @property
    def exact(self) -> bool:
        """Whether every distinct number has a group of its own."""
        return self.shift == 0

    def merge(self, other: Self) -> Self:
        """Return the groups of both sets of rows."""
        shift = max(self.shift, other.shift)
        sides = [side._coarser(shift) for side in (self, other)]
        keys = np.union1d(sides[0].keys, sides[1].keys)
        one, two = (side.moments.joined(np.searchsorted(keys, side.keys), len(keys)) for side in sides)
        return type(self)(self.capacity, shift, keys, one.merge(two))._within()

    def _coarser(self, shift: int) -> Self:
        """Return the groups of numbers without their last ``shift`` bits."""
        if shift == self.shift:
            return self
        keys, cells = np.unique(self.keys >> (shift - self.shift), return_inverse=True)
        return type(self)(self.capacity, shift, keys, self.moments.joined(cells.ravel(), len(keys)))

    def _within(self) -> Self:
        """Put groups together until there are no more than ``capacity``."""
        if len(self.keys) <= self.capacity:
            return self
        differing = (self.keys[1:] ^ self.keys[:-1]).view(np.uint64)
        more = 1
        while np.count_nonzero(differing >> np.uint64(more)) >= self.capacity:
            more += 1
        return self._coarser(self.shift + more)


def _ordered_integers(numbers: Floats) -> Integers:
    """Return integers in the order of finite floats, equal where these are."""
    bits = (np.asarray(numbers, dtype=np.float64) + 0.0).view(np.int64)  # 0.0 and -0.0 are one number
    return np.asarray(bits ^ ((bits >> (BITS - 1)) & MANTISSA))
