"""Rows by the rank of a number, in bounded memory and independent of how they were cut into blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._states.cell_moments import CellMoments

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
