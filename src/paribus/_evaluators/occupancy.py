"""Association of two features, and the cells of both that the data occupy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np

from paribus._contracts import Array, Flags, Floats
from paribus._data.categories import ColumnBins, bins_of, is_ordered, numbers_of
from paribus._data.rows import Block
from paribus._data.table import Column, Table
from paribus._grid import Axis, Grid
from paribus._kernels import kernels
from paribus._kernels.program import BINS, Bytes, Ints
from paribus._states import Counts, Keyed, Occupied
from paribus.errors import FeatureError
from paribus.meaning import Association

SPEARMAN, RATIO, CRAMER = Association
ASSOCIATED_AT_ONCE = 256  # features whose correlations with all others are held at a time


@dataclass(frozen=True, eq=False)
class RowSample:
    """Some rows, each column as ``values (p, i)``: numbers, or the bins of categories, NaN where missing.

    ``features`` are the columns that can be read, ``bins`` theirs and ``codes (p, i)`` those the rows lie in;
    ``nominal`` marks columns of categories.
    """

    features: tuple[int, ...]
    bins: tuple[ColumnBins, ...]
    codes: Bytes
    values: Floats
    nominal: Flags
    _ranks: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, nominal: frozenset[int], most: int) -> RowSample:
        """Read and bin the columns of some rows; one that cannot be read is left out."""
        binned_columns: dict[int, tuple[ColumnBins, Bytes, Floats]] = {}
        for feature in range(len(table.names)):
            try:
                column = table.column(feature)
            except FeatureError:
                continue  # of which nothing can be said; requested, it is refused elsewhere
            bins = bins_of(column, nominal=feature in nominal, most=most)
            codes = binned(column, bins, kernels_of(small=True))
            categories = np.where(codes == bins.missing, np.nan, codes.astype(np.float64))
            binned_columns[feature] = (
                bins,
                codes,
                numbers_of(column) if bins.categories is None else categories,
            )
        shape = len(binned_columns), len(table)
        return cls(
            tuple(binned_columns),
            tuple(bins for bins, _, _ in binned_columns.values()),
            np.array([codes for _, codes, _ in binned_columns.values()], np.uint8).reshape(shape),
            np.array([values for _, _, values in binned_columns.values()], np.float64).reshape(shape),
            np.array([bins.categories is not None for bins, _, _ in binned_columns.values()], bool),
        )

    def between(self, one: int, other: int) -> tuple[float, Association]:
        """Return how strongly two features go together, from 0 to 1 or with a sign, and by which measure."""
        positions = self.features.index(one), self.features.index(other)
        both = np.asarray(~np.isnan(self.values[list(positions)]).any(axis=0))
        first, second = (self._ranked(position, both) for position in positions)
        if not self.nominal[list(positions)].any():
            return _correlation(first, second), SPEARMAN
        if self.nominal[list(positions)].all():
            return _cramer(first, second), CRAMER
        categories, ranks = (first, second) if self.nominal[positions[0]] else (second, first)
        return float(_ratios(categories, ranks[None])[0]), RATIO

    def _ranked(self, position: int, chosen: Flags) -> Floats:
        """Return the ranks of numbers, or the bins of categories, of some rows."""
        if self.nominal[position]:
            return np.asarray(self.values[position, chosen])
        if not chosen.all():
            return _ranks(self.values[position, chosen])
        if position not in self._ranks:
            self._ranks[position] = _ranks(self.values[position])
        return self._ranks[position]

    def strongest(self, features: tuple[int, ...], most: int) -> dict[int, tuple[int, ...]]:
        """Return for each feature requested the ``most`` others that go with it most."""
        ranks = np.array([self._centered(position) for position in range(len(self.features))])
        categories = np.flatnonzero(self.nominal)
        positions = {feature: position for position, feature in enumerate(self.features)}
        result: dict[int, tuple[int, ...]] = {}
        for first in range(0, len(features), ASSOCIATED_AT_ONCE):
            some = [positions[feature] for feature in features[first : first + ASSOCIATED_AT_ONCE]]
            table = np.abs(ranks[some] @ ranks.T)
            for k in categories.tolist():
                table[:, k] = self._in_categories(k, ranks[some])
            for position, row in zip(some, table, strict=True):
                if self.nominal[position]:
                    row = self._in_categories(position, ranks)
                    row[categories] = [_cramer(self.codes[position], self.codes[k]) for k in categories]
                row[position] = -1.0  # itself comes last
                order = np.sort(np.argsort(-row, kind="stable")[: min(most, len(row) - 1)])
                result[self.features[position]] = tuple(self.features[k] for k in order.tolist())
        return result

    def _in_categories(self, position: int, ranks: Floats) -> Floats:
        """Return how much of the spread of some ranks ``(p, i)`` is between the categories of a column."""
        known = ~np.isnan(self.values[position])
        return _ratios(self.values[position, known], ranks[:, known])

    def _centered(self, position: int) -> Floats:
        """Return the ranks of numbers as a vector of length one, 0 where missing; of categories, none."""
        centered = np.zeros(self.values.shape[1])
        known = ~np.isnan(self.values[position])
        if self.nominal[position] or not known.any():
            return centered
        ranks = self._ranked(position, known)
        centered[known] = ranks - ranks.mean()
        length = float(np.linalg.norm(centered))
        return centered / length if length else centered


def _ranks(numbers: Floats) -> Floats:
    """Return ranks, equal ones the same: that in their middle."""
    _, inverse, counts = np.unique(numbers, return_inverse=True, return_counts=True)
    upper = np.cumsum(counts)
    return np.asarray((upper - (counts - 1) / 2)[inverse])


def _correlation(one: Floats, other: Floats) -> float:
    if len(one) < 2:
        return 0.0
    first, second = one - one.mean(), other - other.mean()
    size = float(np.sqrt((first @ first) * (second @ second)))
    return float(first @ second) / size if size else 0.0


def _ratios(categories: Floats, numbers: Floats) -> Floats:
    r"""Return :math:`\eta`, the share of the spread of numbers ``(p, i)`` between categories, as a root."""
    if not len(categories):
        return np.zeros(len(numbers))
    codes = np.unique(categories, return_inverse=True)[1]
    member = np.equal.outer(np.arange(codes.max() + 1), codes).astype(np.float64)
    centered = numbers - numbers.mean(axis=1, keepdims=True)
    between = ((centered @ member.T) ** 2 / member.sum(axis=1)).sum(axis=1)
    total = (centered**2).sum(axis=1)
    return np.asarray(np.sqrt(np.divide(between, total, out=np.zeros(len(centered)), where=total > 0)))


def _cramer(one: Array, other: Array) -> float:
    if not len(one):
        return 0.0
    first, second = one.astype(np.int64), other.astype(np.int64)
    shape = int(first.max()) + 1, int(second.max()) + 1
    counts = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).reshape(shape)
    counts = counts[counts.any(axis=1)][:, counts.any(axis=0)]
    shape = counts.shape
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    ways = min(shape) - 1
    return (
        float(np.sqrt(((counts - expected) ** 2 / expected).sum() / (counts.sum() * ways))) if ways else 0.0
    )


def kernels_of(*, small: bool) -> ModuleType:
    """Return NumPy for a small table of rows and pairs, for which numba need not be loaded if it is not."""
    return kernels(small=small)


def binned(column: Column, bins: ColumnBins, kernels: ModuleType) -> Bytes:
    """Return the bin of each row of a column."""
    if bins.categories is not None:
        return bins.of_categories(column)
    if is_ordered(column):
        codes: Bytes = kernels.locate(numbers_of(column), bins.edges, bins.missing)
        return codes
    return np.where(column.missing, bins.missing, bins.pooled).astype(np.uint8)


FEWEST, MOST = 2, 20  # bins of numbers
TELLING = 3  # bins from which the corners of two features say something
CELL_ROWS = 20  # rows that a cell of two features would have on average if they were independent, at least
EXPECTED = 10  # of them from which a cell without any is no accident: that has a chance of exp(-10)
AT_ONCE = 1_024  # pairs of which a few rows are read together
PARTNERS = 24  # features each is compared with; those that go with it most where there are more
SMALL = 2_000_000  # rows times pairs that NumPy marks before numba is worth loading
LOCATING = 4  # pairs whose marking costs as much as finding the bins of a feature


def bins_for(rows: int) -> int:
    """Return the number of bins of a feature, so that cells of two have some rows to expect."""
    return int(min(MOST, max(FEWEST, math.isqrt(rows // CELL_ROWS))))


@dataclass(frozen=True, eq=False)
class Occupancy:
    """Marks the cells of pairs of features that some row lies in, and counts the rows in each bin.

    A pair whose cells are all occupied in a small sample needs no further check: only the ``pairs (q, 2)``
    that are left, positions among ``features``, are marked. Rows of weight zero do not count.
    """

    features: tuple[int, ...]
    bins: tuple[ColumnBins, ...]
    pairs: Ints
    small: bool

    @classmethod
    def of(cls, outlook: PairSelection) -> Occupancy:
        """Choose the pairs that a few rows leave open."""
        used = tuple(sorted({feature for pair in outlook.open for feature in pair}))
        positions = {feature: position for position, feature in enumerate(used)}
        pairs = np.array([(positions[j], positions[k]) for j, k in outlook.open], np.int32).reshape(-1, 2)
        bins = tuple(outlook.bins[j] for j in used)
        return cls(used, bins, pairs, outlook.rows * (len(pairs) + LOCATING * len(used)) <= SMALL)

    @property
    def kernels(self) -> ModuleType:
        """The kernels; named rather than held, because a module cannot be shipped."""
        return kernels_of(small=self.small)

    @property
    def settings(self) -> tuple[Any, ...]:
        """What a kept state depends on besides the rows."""
        own = [(bins.edges.tolist(), bins.categories) for bins in self.bins]
        return self.features, self.pairs.tolist(), own

    def evaluate(self, block: Block) -> Keyed:
        """Mark the cells of a block; a block that is evaluated in parts is marked with the first part."""
        if not len(self.pairs) or 0 not in block.questions:
            return Keyed({})
        codes = np.empty((len(self.features), len(block.table)), np.uint8)
        for position, (feature, bins) in enumerate(zip(self.features, self.bins, strict=True)):
            codes[position] = _located(block, feature, bins, self.kernels)
        weights = block.weights
        if weights is not None and not weights.all():
            codes, weights = np.ascontiguousarray(codes[:, weights > 0]), weights[weights > 0]
        states: dict[tuple[str, int], Any] = {
            ("occupied", 0): Occupied.of(self.kernels.mark(codes, self.pairs)),
            ("bin rows", 0): Counts(self.kernels.tally(codes)),
        }
        if weights is not None:
            own = [np.bincount(column, weights, minlength=BINS) for column in codes]
            states["bin weights", 0] = Counts(np.array(own))
        return Keyed(states)

    def finish(self, state: Keyed, outlook: PairSelection) -> OccupiedCells:
        """Return which cells have rows; of a feature without open pairs, what a few rows show of its bins."""
        rows = {j: counts * (outlook.rows / max(1.0, counts.sum())) for j, counts in outlook.counts.items()}
        weights, tables = dict(rows), {}
        if len(self.pairs):
            found = state.parts["bin rows", 0].cells
            weighed = state.parts.get(("bin weights", 0), state.parts["bin rows", 0]).cells
            rows.update(zip(self.features, found.astype(np.float64), strict=True))
            weights.update(zip(self.features, weighed.astype(np.float64), strict=True))
            marked = state.parts["occupied", 0].tables().astype(bool).reshape(-1, BINS, BINS)
            tables = dict(zip(outlook.open, marked, strict=True))
        return OccupiedCells(outlook, rows, weights, tables)


@dataclass(frozen=True, eq=False)
class PairSelection:
    """Which pairs of features are compared, and what a few of ``rows`` rows show of them.

    ``partners`` are the features that each one requested is compared with, ``pairs`` all of them and those
    within a grid; ``open`` the pairs with cells that none of the few rows lies in. ``counts`` are the
    few rows in each bin of a feature.
    """

    rows: int
    partners: Mapping[int, tuple[int, ...]]
    pairs: frozenset[tuple[int, int]]
    open: tuple[tuple[int, int], ...]
    bins: Mapping[int, ColumnBins]
    counts: Mapping[int, Floats]

    @classmethod
    def of_nothing(cls) -> PairSelection:
        """Compare nothing."""
        return cls(0, {}, frozenset(), (), {}, {})

    @classmethod
    def of(cls, probe: RowSample, grids: Iterable[Grid], rows: int) -> PairSelection:
        """Choose partners and pairs; with too few rows to expect some in a cell there are none."""
        groups = [tuple(axis.feature for axis in grid.axes) for grid in grids]
        known = set(probe.features)
        requested = tuple(sorted({feature for group in groups for feature in group} & known))
        if bins_for(rows) < TELLING:
            return cls.of_nothing()
        if len(known) - 1 <= PARTNERS:
            partners = {j: tuple(k for k in probe.features if k != j) for j in requested}
        else:
            partners = probe.strongest(requested, PARTNERS)
        wanted = {(min(j, k), max(j, k)) for j, others in partners.items() for k in others}
        wanted.update(pair for group in groups for pair in combinations(sorted(set(group) & known), 2))
        positions = {feature: position for position, feature in enumerate(probe.features)}
        pairs = sorted(wanted)
        numbers = np.array([(positions[j], positions[k]) for j, k in pairs], np.int32).reshape(-1, 2)
        kernels = kernels_of(small=probe.codes.shape[1] * len(pairs) <= SMALL)
        counts = kernels.tally(probe.codes).astype(np.float64)
        occurring = counts > 0
        occurring[np.arange(len(counts)), [bins.pooled for bins in probe.bins]] = False  # says nothing
        left = _open(probe.codes, numbers, occurring, kernels)
        return cls(
            rows,
            partners,
            frozenset(wanted),
            tuple(pair for pair, still in zip(pairs, left, strict=True) if still),
            dict(zip(probe.features, probe.bins, strict=True)),
            dict(zip(probe.features, counts, strict=True)),
        )


def _open(codes: Array, pairs: Ints, occurring: Flags, kernels: ModuleType) -> list[bool]:
    """Return which pairs have empty cells of non-empty bins."""
    result: list[bool] = []
    for first in range(0, len(pairs), AT_ONCE):
        some = pairs[first : first + AT_ONCE]
        tables = kernels.mark(codes, some).reshape(-1, BINS, BINS) > 0
        possible = occurring[some[:, 0], :, None] & occurring[some[:, 1], None, :]
        result.extend((possible & ~tables).any(axis=(1, 2)).tolist())
    return result


@dataclass(frozen=True, eq=False)
class OccupiedCells:
    """The rows and the weight ``(b,)`` in bins of features, and which cells ``(b, c)`` of pairs have a row.

    A pair without a table has rows in all its cells.
    """

    outlook: PairSelection
    rows: Mapping[int, Floats]
    weights: Mapping[int, Floats]
    tables: Mapping[tuple[int, int], Flags]
    _axes: dict[int, Array] = field(default_factory=dict)

    def knows(self, one: int, other: int, *, open_: bool | None = None) -> bool:
        """Return whether two features were compared, optionally only if they were open, or not."""
        pair = min(one, other), max(one, other)
        return pair in self.outlook.pairs and (open_ is None or (pair in self.tables) == open_)

    def cells(self, one: int, other: int) -> tuple[Flags, Flags]:
        """Return for the bins ``(b, c)`` of two features where rows are to be expected, and where none is.

        Values that share a bin for want of another, such as rare categories, say nothing.
        """
        expected = np.outer(self.rows[one], self.rows[other]) >= EXPECTED * self.rows[one].sum()
        expected[self.outlook.bins[one].pooled] = False
        expected[:, self.outlook.bins[other].pooled] = False
        table = self.tables.get((min(one, other), max(one, other)))
        if table is None:
            return expected, np.zeros_like(expected)
        return expected, expected & ~(table if one < other else table.T)

    def beside(self, one: int, others: Sequence[int]) -> tuple[Floats, Floats, Floats]:
        """Return the weight ``(o, b)`` of others at each bin of a feature, as far as rows are to be expected.

        First all of it, then that in cells without any, and the weight ``(o,)`` that each has anywhere.
        """
        bins, own = self.outlook.bins, self.rows[one]
        weight = np.array([self.weights[k] for k in others]).reshape(len(others), 1, BINS)
        rows = np.array([self.rows[k] for k in others]).reshape(weight.shape)
        expected = own[:, None] * rows >= EXPECTED * own.sum()
        expected[:, bins[one].pooled] = False
        expected[np.arange(len(others)), :, np.array([bins[k].pooled for k in others], np.int64)] = False
        empty = expected.copy()
        for number, k in enumerate(others):
            table = self.tables.get((min(one, k), max(one, k)))
            empty[number] &= False if table is None else ~(table if one < k else table.T)
        known, off = ((which * weight).sum(axis=2) for which in (expected, empty))
        return known, off, weight.sum(axis=(1, 2))

    def bins_of(self, axis: Axis) -> Array:
        """Return the bin each point of an axis lies in."""
        if axis.feature not in self._axes:
            column, bins = axis.cells.column.present(), self.outlook.bins[axis.feature]
            self._axes[axis.feature] = binned(column, bins, kernels_of(small=True))
        return self._axes[axis.feature]


def probe_of(table: Table, nominal: frozenset[int], rows: int) -> RowSample:
    """Read a few of ``rows`` rows, and bin their columns."""
    return RowSample.of(table, nominal, bins_for(rows))


def _located(block: Block, feature: int, bins: ColumnBins, kernels: ModuleType) -> Array:
    """Return the bin of each row; floats are read as they lie."""
    floats = block.table.floats(feature) if bins.categories is None else None
    if floats is not None:
        codes: Array = kernels.locate(floats, bins.edges, bins.missing)
        return codes
    try:
        return binned(block.column(feature), bins, kernels)
    except FeatureError:
        return np.full(len(block.table), bins.pooled, np.uint8)  # values that cannot be distinguished
