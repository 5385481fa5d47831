"""Sampled rows: for standard errors by weight or by unit, and the order of all samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np
import xxhash

from paribus._contracts import Floats, Integers
from paribus._data.table import Column
from paribus.errors import InputError

MOST_FEW, LEAST_FEW, FEW_CELLS = 4_096, 512, 2**20  # bounds of the sampled rows that define bins
PORTION = 16_384  # rows hashed at a time
UNIT_PARTS = 64  # of units, for errors in cells; the relative error of such an error is 9 %
FEWEST_PARTS = 10  # parts with rows in a cell, for a standard error of its average
TINY = 1e-290  # least square of a weight, so that very small weights still count


Rows = TypeVar("Rows", bound="np.ndarray[Any, Any]")


def taken(array: Rows | None, rows: Any) -> Rows | None:
    """Return some rows of an array, None without an array."""
    return None if array is None else array[rows]


@dataclass(frozen=True, eq=False)
class Sample:
    r"""Sampled rows that estimate a sum of squares :math:`\sum_i w_i^2 d_i^2` over all rows.

    ``numbers`` are the sorted row numbers, ``squares`` the factor :math:`s_i` of each :math:`d_i^2`.
    ``weights`` are those of the sampled rows, None without weights. ``units`` are the positions of the units
    of the rows, None if rows are independent. The sum is then that of the squares of the sums of units,

    .. math:: \sum_u \Bigl( \sum_{i \in u} \sqrt{s_i} d_i \Bigr)^2 = \sum_u s_u d_u^2, \qquad
        \sqrt{s_u} = \sum_{i \in u} \sqrt{s_i}

    with :math:`d_u` the mean of a unit: a unit is like a row.
    """

    numbers: Integers
    squares: Floats
    weights: Floats | None = None
    units: Integers | None = None

    @property
    def n_units(self) -> int:
        """Number of units, or of rows if these are independent."""
        return len(self.unit_squares)

    @cached_property
    def unit_squares(self) -> Floats:
        """Factor of the square of each unit."""
        if self.units is None:
            return self.squares
        return np.asarray(np.bincount(self.units, np.sqrt(self.squares)) ** 2, np.float64)

    def error(self, influence: Floats, total: float) -> Floats:
        """Return the standard errors of statistics of rows with a weight, from influences ``(..., i)``."""
        squares = self.unit_means(influence) ** 2 @ self.unit_squares
        factor = self.n_units / (self.n_units - 1) if self.n_units > 1 else np.nan
        return np.asarray(np.sqrt(squares * factor) / total)

    def unit_means(self, values: Floats) -> Floats:
        """Return the mean ``(..., u)`` of each unit, of values ``(..., i)`` of the sampled rows."""
        return values if self.units is None else means_of_units(values, np.sqrt(self.squares), self.units)[0]


def means_of_units(values: Floats, weights: Floats, units: Integers) -> tuple[Floats, Floats]:
    """Return the weighted mean ``(..., u)`` of each unit, and its weight ``(u,)``; ``units (i,)`` are from 0.

    With these as its values and weight, a unit of dependent rows counts like a row.
    """
    order = np.argsort(units, kind="stable")
    starts = np.flatnonzero(np.diff(units[order], prepend=-1))
    total = np.add.reduceat(weights[order], starts)
    return np.add.reduceat((values * weights)[..., order], starts, axis=-1) / total, total


def sample_of(rows: int, size: int, seed: int) -> Sample:
    """Return a sample of rows without weights: all of them, or ``size`` if there are more."""
    if rows <= size:
        return Sample(np.arange(rows), np.ones(rows))
    return unweighted_sample(sample_numbers(np.arange(rows), seed, size), rows)


def unweighted_sample(numbers: Integers, rows: int) -> Sample:
    """Return the sample of the rows with sorted ``numbers``, out of a number of rows without weights."""
    return Sample(numbers, np.full(len(numbers), rows / len(numbers)))


@dataclass(frozen=True, eq=False)
class PrioritySample:
    r"""The ``most`` rows of highest priority :math:`q_i = w_i^2 / u_i`, with :math:`u_i` uniform on (0, 1].

    Let :math:`\tau` be the highest priority that is left out. Then :math:`\sum_i \max(w_i^2, \tau) d_i^2`
    over the sampled rows is an unbiased estimate of :math:`\sum_i w_i^2 d_i^2` over all rows (priority
    sampling). ``chances`` are the :math:`u_i` of the sampled rows. Each is a hash of the row number, so the
    sample does not depend on how rows are split into blocks. The highest priority comes first.
    """

    most: int
    numbers: Integers
    weights: Floats
    chances: Floats

    @classmethod
    def of(cls, numbers: Integers, weights: Floats, seed: int, most: int) -> Self:
        """Sample from rows and their weights; rows of weight zero are left out."""
        counted = weights > 0
        numbers, weights = numbers[counted], weights[counted]
        return cls(most, numbers, weights, uniform(numbers, seed))._first(most)

    def merge(self, other: Self) -> Self:
        """Return the rows of highest priority in both samples."""
        joined = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("numbers", "weights", "chances")
        )
        return type(self)(self.most, *joined)._first(self.most)

    def _first(self, size: int) -> Self:
        # By exponent and mantissa: squares could overflow, and the order must not depend on the scale.
        mantissa, exponent = np.frexp(self.weights)
        mantissa, more = np.frexp(mantissa**2 / self.chances)
        order = np.lexsort((self.numbers, -mantissa, -(2 * exponent + more)))[:size]
        return type(self)(self.most, self.numbers[order], self.weights[order], self.chances[order])

    def sample(self, size: int, unit: float) -> Sample:
        """Return the sample of the first ``size`` rows, or of all; weights are divided by ``unit``."""
        chosen = self._first(size)
        weights = chosen.weights / unit
        squares = np.maximum(weights**2, TINY)
        if len(self.numbers) > size:
            squares = np.maximum(squares, (self.weights[size] / unit) ** 2 / self.chances[size])
        order = np.argsort(chosen.numbers)
        return Sample(chosen.numbers[order], squares[order], weights[order])


def sample_numbers(numbers: Integers, seed: int, most: int) -> Integers:
    """Return the sorted positions of the ``most`` rows that come first in the order of a hash.

    It is a hash of the number of the row and ``seed``. A smaller sample is part of a larger one. Sampling
    from the samples of parts gives the sample of all rows, however rows are split into parts.
    """
    size = len(numbers)
    if size <= most:
        return np.arange(size)
    # Only hashes below a bound that enough rows pass are sorted; portions fit in the cache.
    bound = min(1.0, 2 * most / size)
    chances = np.empty(size)
    for first in range(0, size, PORTION):
        some = slice(first, first + PORTION)
        chances[some] = uniform(numbers[some], seed)
    below = np.flatnonzero(chances <= bound)
    if len(below) <= most:
        below = np.arange(size)
    return np.sort(below[np.argpartition(chances[below], most - 1)[:most]])


def head_rows(columns: int) -> int:
    """Return the number of sampled rows that define bins: fewer for wide tables, as they stay in memory."""
    return max(LEAST_FEW, min(MOST_FEW, FEW_CELLS // max(1, columns)))


def parts_of(units: Integers, count: int) -> Integers:
    """Return the random part, of a number of parts, of each unit."""
    return np.asarray(np.minimum(count - 1, (uniform(units, 0) * count).astype(np.int64)))


def occupied_parts(units: int) -> int:
    """Return the expected number of the `UNIT_PARTS` parts that have units."""
    return round(UNIT_PARTS * (1 - (1 - 1 / UNIT_PARTS) ** units))


def distinct(units: Integers) -> Integers:
    """Return the sorted different units; `numpy.unique` hashes integers, which takes ten times as long."""
    ordered = np.sort(units)
    return np.asarray(ordered[np.append(np.ones(len(units[:1]), dtype=bool), ordered[1:] != ordered[:-1])])


def uniform(numbers: Integers, seed: int) -> Floats:
    """Return a number in (0, 1] for each row: the finalizer of splitmix64 of its number and the seed."""
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= np.uint64((seed * 0xD1342543DE82EF95 + 0x2545F4914F6CDD1D) % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return ((mixed >> np.uint64(11)).astype(np.float64) + 1.0) * 2.0**-53


def unit_keys(column: Column) -> Integers:
    """Return a number for each row that identifies its unit, the same for equal values of any library."""
    if column.missing.any():
        row = int(np.argmax(column.missing))
        raise InputError(
            f"the unit is missing in row {row}, and in {int(column.missing.sum())} rows in all; give "
            "these rows a value, or leave them out"
        )
    values = column.values
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]").view(np.int64)
    if values.dtype.kind in "biu":
        return values.astype(np.int64)
    codes, units = column.factorized()
    digests = (xxhash.xxh3_64_intdigest(str(unit).encode()) for unit in units)
    return np.fromiter(digests, np.uint64, len(units)).view(np.int64)[codes]


@dataclass(frozen=True, eq=False)
class UnitRows:
    r"""Rows of whole units: the first units in the order of a hash, with at most ``most`` rows.

    Of a large unit the first rows in the order of a hash are kept: with k units, at most :math:`most /
    \min(k, \sqrt{most})` rows of each. The sample depends neither on blocks nor on the source of rows.

    Attributes
    ----------
    rows : int
        Number of all rows with positive weight.
    keys, sizes : (u,)
        The kept units, and their numbers of rows, including those that are not kept.
    numbers, unit, weights, values : (i,) and (q, i)
        Numbers of the kept rows, positions of their units, their weights, and numbers to keep with them.
    bound : float
        Smallest hash of a unit that was left out.
    """

    most: int
    seed: int
    rows: int
    keys: Integers
    sizes: Integers
    numbers: Integers
    unit: Integers
    weights: Floats
    values: Floats
    bound: float = 2.0

    @classmethod
    def of(
        cls,
        numbers: Integers,
        units: Integers,
        weights: Floats | None,
        seed: int,
        most: int,
        values: Floats | None = None,
    ) -> Self:
        """Return the sample of rows; those of weight zero are left out."""
        weights = np.ones(len(numbers)) if weights is None else weights
        values = np.empty((0, len(numbers))) if values is None else values
        counted = weights > 0
        if not counted.all():
            numbers, units, weights = numbers[counted], units[counted], weights[counted]
            values = values[:, counted]
        rows, bound = len(numbers), 2 * most / max(1, len(numbers))
        if bound < 1:  # the first units are among those with small hashes, if these have enough rows
            early = uniform(units, seed) <= bound
            held = np.unique(units[early], return_counts=True)[1]
            limit = math.isqrt(most)
            if len(held) >= limit and np.minimum(held, most // limit).sum() > most:
                numbers, units, weights = numbers[early], units[early], weights[early]
                values = values[:, early]
        keys, unit, sizes = np.unique(units, return_inverse=True, return_counts=True)
        return cls(most, seed, rows, keys, sizes, numbers, unit, weights, values).first(most)

    def merge(self, other: Self) -> Self:
        """Return the sample of the rows of both."""
        keys = distinct(np.concatenate([self.keys, other.keys]))
        sizes, units = np.zeros(len(keys), np.int64), []
        for part in (self, other):
            places = np.searchsorted(keys, part.keys)
            sizes[places] += part.sizes
            units.append(places[part.unit])
        numbers, weights, values = (
            np.concatenate([getattr(self, name), getattr(other, name)], axis=-1)
            for name in ("numbers", "weights", "values")
        )
        rows = self.rows + other.rows
        unit, bound = np.concatenate(units), min(self.bound, other.bound)
        joined = type(self)(self.most, self.seed, rows, keys, sizes, numbers, unit, weights, values, bound)
        return joined.first(self.most)

    def first(self, most: int) -> Self:
        """Return the first units and rows, at most ``most`` rows."""
        if self.rows <= most:
            return self
        largest = max(1, most // min(len(self.keys), math.isqrt(most)))
        held, chances = np.bincount(self.unit, minlength=len(self.keys)), uniform(self.keys, self.seed)
        ranked = np.argsort(
            chances, kind="stable"
        )  # keys are sorted, so that equal chances are in their order
        reached = np.cumsum(np.minimum(held, largest)[ranked])
        count = max(1, int(np.searchsorted(reached, most, side="right")))
        count = min(count, max(1, int(np.searchsorted(chances[ranked], self.bound))))
        bound = min(self.bound, float(chances[ranked[count]])) if count < len(ranked) else self.bound
        chosen = np.zeros(len(self.keys), dtype=bool)
        chosen[ranked[:count]] = True
        rows = np.flatnonzero(chosen[self.unit])
        unit = (np.cumsum(chosen) - 1)[self.unit[rows]]
        if held[chosen].max() > largest:
            order = np.lexsort((uniform(self.numbers[rows], self.seed), unit))
            before = np.cumsum(held[chosen]) - held[chosen]
            first = order[np.arange(len(order)) - before[unit[order]] < largest]
            rows, unit = rows[first], unit[first]
        return type(self)(
            self.most,
            self.seed,
            self.rows,
            self.keys[chosen],
            self.sizes[chosen],
            self.numbers[rows],
            unit,
            self.weights[rows],
            self.values[:, rows],
            bound,
        )

    def sample(self, size: int, scale: float, *, weighted: bool) -> Sample:
        """Return the sample of at most ``size`` rows; weights are divided by ``scale``."""
        part = self.first(size)
        held = np.bincount(part.unit, minlength=len(part.keys))
        # A unit represents others, and a row of a large unit its other rows.
        ratios = (part.sizes / held)[part.unit] * np.sqrt(self.rows / part.sizes.sum())
        weights = part.weights / scale
        order = np.argsort(part.numbers)
        squares = np.maximum((ratios * weights)[order] ** 2, TINY)
        return Sample(part.numbers[order], squares, weights[order] if weighted else None, part.unit[order])
