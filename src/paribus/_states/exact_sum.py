"""Sums whose bits do not depend on how the rows were cut."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus._contracts import Floats

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
