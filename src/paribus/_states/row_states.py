"""States of single rows: curves, samples, ranked groups, quantile sketches and category weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.samples import UnitRows, sample_numbers
from paribus._data.summary import distinct_of, quantiles
from paribus._states.moments import CellMoments


@dataclass(frozen=True, eq=False)
class RowCurves:
    """Values of each row, such as predictions or codes, as parts ``(first row, (k, i, ...))``."""

    parts: tuple[tuple[int, Array], ...]

    def merge(self, other: Self) -> Self:
        """Return the parts of both; arrays are copied in `finish` only."""
        return type(self)(self.parts + other.parts)

    def finish(self) -> Array:
        """Return the parts in row order, shape ``(k, n, ...)``."""
        ordered = sorted(self.parts, key=lambda part: part[0])
        return np.concatenate([curves for _, curves in ordered], axis=1)


SEED = 0  # of the hash of row numbers


@dataclass(frozen=True, eq=False)
class SampledRows:
    """``values (q, k)`` and ``weights (k,)`` of ``most`` or fewer rows, sampled by a hash of ``numbers``.

    The sample depends on the row numbers only, not on blocks or on the source of the rows.
    """

    most: int
    numbers: Integers
    values: Floats
    weights: Floats

    @classmethod
    def of(cls, numbers: Integers, values: Floats, weights: Floats | None, most: int) -> Self:
        """Return a sample of sorted rows with values ``(q, i)`` and positive weights."""
        counted = np.ones(len(numbers)) if weights is None else weights
        chosen = sample_numbers(numbers, SEED, most)
        return cls(most, numbers[chosen], values[:, chosen], counted[chosen])

    @classmethod
    def of_units(cls, rows: UnitRows) -> Self:
        """Return the rows of sampled units."""
        order = np.argsort(rows.numbers)
        return cls(rows.most, rows.numbers[order], rows.values[:, order], rows.weights[order])

    def merge(self, other: Self) -> Self:
        """Return a sample of the rows of both."""
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
    """Moments of rows grouped by a number, such as the prediction, in the order of the numbers.

    Up to ``capacity`` distinct numbers have one group each. With more, numbers that differ only in their
    last ``shift`` bits share a group, with the smallest sufficient ``shift``. So groups do not overlap, and
    they depend on the set of all rows, not on their order.

    Attributes
    ----------
    keys : (k,)
        The numbers without their last bits, as integers of the same order.
    moments : CellMoments
        Moments of the rows of each group.
    """

    capacity: int
    shift: int
    keys: Integers
    moments: CellMoments

    @classmethod
    def of(cls, ranked: Floats, values: Floats, weights: Floats | None, capacity: int) -> Self:
        """Return groups of rows with values ``(q, i)`` by finite numbers ``(i,)``; weights are positive."""
        # Integers in the order of the floats; adding 0.0 makes -0.0 equal to 0.0.
        bits = (np.asarray(ranked, dtype=np.float64) + 0.0).view(np.int64)
        keys, cells = np.unique(bits ^ ((bits >> (BITS - 1)) & MANTISSA), return_inverse=True)
        moments = CellMoments.of(values, cells.ravel(), weights, len(keys))
        return cls(capacity, 0, keys, moments)._within()

    def merge(self, other: Self) -> Self:
        """Return the groups of both sets of rows."""
        shift = max(self.shift, other.shift)
        sides = [side._coarser(shift) for side in (self, other)]
        keys = np.union1d(sides[0].keys, sides[1].keys)
        one, two = (side.moments.joined(np.searchsorted(keys, side.keys), len(keys)) for side in sides)
        return type(self)(self.capacity, shift, keys, one.merge(two))._within()

    def _coarser(self, shift: int) -> Self:
        """Return the groups of numbers that agree without their last ``shift`` bits."""
        if shift == self.shift:
            return self
        keys, cells = np.unique(self.keys >> (shift - self.shift), return_inverse=True)
        return type(self)(self.capacity, shift, keys, self.moments.joined(cells.ravel(), len(keys)))

    def _within(self) -> Self:
        """Return groups merged until there are at most ``capacity``."""
        if len(self.keys) <= self.capacity:
            return self
        differing = (self.keys[1:] ^ self.keys[:-1]).view(np.uint64)
        more = 1
        while np.count_nonzero(differing >> np.uint64(more)) >= self.capacity:
            more += 1
        return self._coarser(self.shift + more)


SPARE = 4  # a thinned sketch grows to this multiple of its capacity; thinning costs time and accuracy


@dataclass(frozen=True, eq=False)
class Sketch:
    """Sorted numbers and their weights, thinned if there are more than ``exact``.

    Thinning replaces each group of consecutive numbers by the one in its middle; groups have about the same
    weight. The largest possible change of a rank is added to ``error``, in units of weight. Thinning is
    deterministic: the same numbers in the same blocks give exactly the same result.

    Attributes
    ----------
    values, weights : (k,)
        The sorted numbers, and the weight that each represents, None for a weight of one.
    ends : (2,) or None
        The smallest and largest number of a thinned sketch.
    few, few_weights : (d,) or None
        The distinct numbers of a thinned sketch and their weights, if there are at most ``limit``.
    """

    values: Array
    weights: Floats | None
    exact: int
    capacity: int
    limit: int
    error: float = 0.0
    ends: Array | None = None
    few: Array | None = None
    few_weights: Floats | None = None

    @classmethod
    def of(cls, values: Array, weights: Floats | None, *, exact: int, capacity: int, limit: int) -> Self:
        """Return the sketch of finite numbers with positive weights."""
        if weights is None:
            return cls(np.sort(values), None, exact, capacity, limit)._within(exact)
        order = np.argsort(values, kind="stable")
        return cls(values[order], weights[order], exact, capacity, limit)._within(exact)

    @property
    def thinned(self) -> bool:
        """Whether a number may represent others."""
        return self.ends is not None

    @property
    def bound(self) -> float:
        """Bound on the error of a quantile's rank: the error of thinning, and half a group."""
        return self.error + float(self._own_weights().max()) / 2 if self.thinned and len(self.values) else 0.0

    def merge(self, other: Self) -> Self:
        """Return the sketch of both."""
        one, two = (self, other) if self.thinned == other.thinned else (self.with_ends(), other.with_ends())
        values = np.concatenate([one.values, two.values])
        if one.weights is None and two.weights is None:
            joined = replace(one, values=np.sort(values))
        else:
            weights = np.concatenate([one._own_weights(), two._own_weights()])
            order = np.argsort(values, kind="stable")
            joined = replace(one, values=values[order], weights=weights[order])
        if one.thinned:
            ends, few, few_weights = _merged_ends(one, two)
            error = one.error + two.error
            joined = replace(joined, error=error, ends=ends, few=few, few_weights=few_weights)
        return joined._within(SPARE * self.capacity if one.thinned else self.exact)

    def quantiles(self, probabilities: Sequence[float]) -> Floats:
        """Return exact quantiles if the sketch is not thinned, else interpolated between ranks."""
        if not self.thinned or self.ends is None:
            return quantiles(self.values, probabilities, self.weights)
        weights = self._own_weights()
        upper = np.cumsum(weights)
        ranks = np.concatenate([[0.0], upper - weights / 2, upper[-1:]])
        heights = np.concatenate([self.ends[:1], self.values, self.ends[1:]]).astype(np.float64)
        return np.asarray(np.interp(np.asarray(probabilities) * upper[-1], ranks, heights))

    def _own_weights(self) -> Floats:
        return np.ones(len(self.values)) if self.weights is None else self.weights

    def limited(self, limit: int) -> Self:
        """Return the sketch with distinct numbers only if there are at most ``limit``."""
        if self.few is None or len(self.few) <= limit:
            return replace(self, limit=limit)
        return replace(self, limit=limit, few=None, few_weights=None)

    def with_ends(self) -> Self:
        """Return the sketch with its ends and few distinct numbers, which thinning would lose."""
        if self.thinned:
            return self
        few, few_weights = distinct_of(self.values, self.weights, self.limit)
        ends = self.values[[0, -1]] if len(self.values) else self.values
        return replace(self, ends=ends, few=few, few_weights=few_weights)

    def _within(self, most: int) -> Self:
        """Return the sketch, thinned if it has more than ``most`` numbers."""
        if len(self.values) <= most:
            return self
        middle, group, error = self._evenly() if self.weights is None else self._by_weight(self.weights)
        return replace(
            self.with_ends(),
            values=self.values[middle],
            weights=group,
            error=self.error + float(error.max()),
        )

    def _evenly(self) -> tuple[Integers, Floats, Floats]:
        """Return the positions kept, the weight each represents, and the largest change of its rank."""
        edges = np.arange(self.capacity + 1) * len(self.values) // self.capacity
        group = np.diff(edges)
        middle = edges[:-1] + (group - 1) // 2
        return middle, group.astype(np.float64), (edges[1:] - 1 - middle).astype(np.float64)

    def _by_weight(self, weights: Floats) -> tuple[Integers, Floats, Floats]:
        """Return the same for weighted numbers; a heavy number is a separate group."""
        upper = np.cumsum(weights)
        cuts = np.searchsorted(upper, upper[-1] * np.arange(1, self.capacity) / self.capacity)
        starts = np.append(0, cuts[np.diff(cuts, prepend=0) > 0])
        stops = np.append(starts[1:], len(weights))
        below = upper[starts] - weights[starts]
        group = upper[stops - 1] - below
        middle = np.clip(np.searchsorted(upper, below + group / 2), starts, stops - 1)
        before, after = upper[middle] - weights[middle] - below, upper[stops - 1] - upper[middle]
        return middle, group, np.maximum(before, after)


def _merged_ends(one: Sketch, two: Sketch) -> tuple[Array, Array | None, Floats | None]:
    """Return the ends and the few distinct numbers, with their weights, of two sketches with ends."""
    assert one.ends is not None
    assert two.ends is not None
    ends = np.sort(np.concatenate([one.ends, two.ends]))
    ends = ends[[0, -1]] if len(ends) else ends
    if one.few is None or two.few is None or one.few_weights is None or two.few_weights is None:
        return ends, None, None
    values = np.concatenate([one.few, two.few])
    weights = np.concatenate([one.few_weights, two.few_weights])
    order = np.argsort(values, kind="stable")
    return ends, *distinct_of(values[order], weights[order], one.limit)


@dataclass(frozen=True, eq=False)
class CategoryWeights:
    """Distinct values and their weights, in order of first occurrence; none if more than ``most``."""

    found: tuple[object, ...]
    weights: Floats
    most: int
    too_many: bool = False

    def merge(self, other: Self) -> Self:
        """Return the categories of both, with the weights added."""
        if self.too_many or other.too_many:
            return type(self)((), np.zeros(0), self.most, too_many=True)
        positions = {category: position for position, category in enumerate(self.found)}
        for category in other.found:
            positions.setdefault(category, len(positions))
        weights = np.zeros(len(positions))
        weights[: len(self.found)] = self.weights
        weights[[positions[category] for category in other.found]] += other.weights
        return type(self)(tuple(positions), weights, self.most).within()

    def within(self) -> Self:
        """Return the state without categories if there are more than ``most``."""
        return type(self)((), np.zeros(0), self.most, True) if len(self.found) > self.most else self
