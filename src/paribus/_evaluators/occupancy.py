"""Association of two features, and the cells of their bins that contain data."""

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
from paribus._kernels import kernels as kernels_of
from paribus._kernels.program import BINS, Bytes, Ints
from paribus._states import Counts, Keyed, Occupied
from paribus.errors import FeatureError
from paribus.meaning import Association

SPEARMAN, RATIO, CRAMER = Association
ASSOCIATED_AT_ONCE = 256  # features whose correlations with all others are held at a time


@dataclass(frozen=True, eq=False)
class RowSample:
    """Sampled rows with ``values (p, i)`` of each column: numbers, or bins of categories, NaN if missing.

    ``features`` are the columns that can be read, ``bins`` are their bins, and ``codes (p, i)`` the bin of
    each row. ``nominal`` marks categorical columns.
    """

    features: tuple[int, ...]
    bins: tuple[ColumnBins, ...]
    codes: Bytes
    values: Floats
    nominal: Flags
    _ranks: dict[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Table, nominal: frozenset[int], most: int) -> RowSample:
        """Read and bin the columns of some rows, without columns that cannot be read."""
        binned_columns: dict[int, tuple[ColumnBins, Bytes, Floats]] = {}
        for feature in range(len(table.names)):
            try:
                column = table.column(feature)
            except FeatureError:
                continue  # it is refused elsewhere if it is requested
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
        """Return the association of two features, and its measure; only Spearman's has a sign."""
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
        """Return the ranks of a numeric column, or the bins of a categorical one, for the chosen rows."""
        if self.nominal[position]:
            return np.asarray(self.values[position, chosen])
        if not chosen.all():
            return _midranks(self.values[position, chosen])
        if position not in self._ranks:
            self._ranks[position] = _midranks(self.values[position])
        return self._ranks[position]

    def strongest(self, features: tuple[int, ...], most: int) -> dict[int, tuple[int, ...]]:
        """Return the ``most`` other features with the strongest association, for each requested feature."""
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
                row[position] = -1.0  # the feature itself comes last
                order = np.sort(np.argsort(-row, kind="stable")[: min(most, len(row) - 1)])
                result[self.features[position]] = tuple(self.features[k] for k in order.tolist())
        return result

    def _in_categories(self, position: int, ranks: Floats) -> Floats:
        """Return the correlation ratios of ranks ``(p, i)`` given the categories of a column."""
        known = ~np.isnan(self.values[position])
        return _ratios(self.values[position, known], ranks[:, known])

    def _centered(self, position: int) -> Floats:
        """Return centered ranks as a unit vector, 0 where missing, and all 0 for a categorical column."""
        centered = np.zeros(self.values.shape[1])
        known = ~np.isnan(self.values[position])
        if self.nominal[position] or not known.any():
            return centered
        ranks = self._ranked(position, known)
        centered[known] = ranks - ranks.mean()
        length = float(np.linalg.norm(centered))
        return centered / length if length else centered


def _midranks(numbers: Floats) -> Floats:
    """Return ranks from 1; ties have their mean rank."""
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
    r"""Return the correlation ratios :math:`\eta` of numbers ``(p, i)`` given categories."""
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


def binned(column: Column, bins: ColumnBins, kernels: ModuleType) -> Bytes:
    """Return the bin of each row of a column."""
    if bins.categories is not None:
        return bins.of_categories(column)
    if is_ordered(column):
        codes: Bytes = kernels.locate(numbers_of(column), bins.edges, bins.missing)
        return codes
    return np.where(column.missing, bins.missing, bins.pooled).astype(np.uint8)


FEWEST, MOST = 2, 20  # bins of a numeric feature
TELLING = 3  # minimum number of bins at which pairs of features are compared
CELL_ROWS = 20  # minimum mean number of rows per cell of two independent features
EXPECTED = 10  # expected rows from which an empty cell counts: its probability is exp(-10)
AT_ONCE = 1_024  # pairs whose cells are marked together for the sampled rows
PARTNERS = 24  # maximum number of features that each one is compared with, those of strongest association
SMALL = 2_000_000  # rows times pairs up to which NumPy is used, so that numba is not loaded
LOCATING = 4  # cost of finding the bins of a feature, relative to marking one pair


def bins_for(rows: int) -> int:
    """Return the number of bins of a feature at which cells of two features have enough expected rows."""
    return int(min(MOST, max(FEWEST, math.isqrt(rows // CELL_ROWS))))


@dataclass(frozen=True, eq=False)
class Occupancy:
    """Evaluator that marks the occupied cells of pairs of features and counts the rows in each bin.

    Only ``pairs (q, 2)``, positions among ``features``, are marked: those with empty cells in the sampled
    rows. Rows of weight zero do not count. ``small`` chooses NumPy instead of numba.
    """

    features: tuple[int, ...]
    bins: tuple[ColumnBins, ...]
    pairs: Ints
    small: bool

    @classmethod
    def of(cls, outlook: PairSelection) -> Occupancy:
        """Return the evaluator of the pairs that have empty cells in the sampled rows."""
        used = tuple(sorted({feature for pair in outlook.open for feature in pair}))
        positions = {feature: position for position, feature in enumerate(used)}
        pairs = np.array([(positions[j], positions[k]) for j, k in outlook.open], np.int32).reshape(-1, 2)
        bins = tuple(outlook.bins[j] for j in used)
        return cls(used, bins, pairs, outlook.rows * (len(pairs) + LOCATING * len(used)) <= SMALL)

    @property
    def settings(self) -> tuple[Any, ...]:
        """Options that a kept state depends on, in addition to the rows."""
        own = [(bins.edges.tolist(), bins.categories) for bins in self.bins]
        return self.features, self.pairs.tolist(), own

    def evaluate(self, block: Block) -> Keyed:
        """Mark the cells of a block; of a block that is evaluated in parts, only the first part is marked."""
        if not len(self.pairs) or 0 not in block.questions:
            return Keyed({})
        kernels = kernels_of(small=self.small)  # not a field, because modules cannot be pickled
        codes = np.empty((len(self.features), len(block.table)), np.uint8)
        for position, (feature, bins) in enumerate(zip(self.features, self.bins, strict=True)):
            codes[position] = _bins_of_rows(block, feature, bins, kernels)
        weights = block.weights
        if weights is not None and not weights.all():
            codes, weights = np.ascontiguousarray(codes[:, weights > 0]), weights[weights > 0]
        states: dict[tuple[str, int], Any] = {
            ("occupied", 0): Occupied.of(kernels.mark(codes, self.pairs)),
            ("bin rows", 0): Counts(kernels.tally(codes)),
        }
        if weights is not None:
            own = [np.bincount(column, weights, minlength=BINS) for column in codes]
            states["bin weights", 0] = Counts(np.array(own))
        return Keyed(states)

    def finish(self, state: Keyed, outlook: PairSelection) -> OccupiedCells:
        """Return the occupied cells; counts of a feature without open pairs come from the sampled rows."""
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
    """Pairs of features to compare, and their cells in a sample of the ``rows`` rows.

    ``partners`` are the features that each requested feature is compared with. ``pairs`` are these pairs and
    the pairs within a grid. ``open`` are the pairs that have empty cells in the sample. ``bins`` and
    ``counts`` are the bins of each feature and the sampled rows in each bin.
    """

    rows: int
    partners: Mapping[int, tuple[int, ...]]
    pairs: frozenset[tuple[int, int]]
    open: tuple[tuple[int, int], ...]
    bins: Mapping[int, ColumnBins]
    counts: Mapping[int, Floats]

    @classmethod
    def of(cls, probe: RowSample, grids: Iterable[Grid], rows: int) -> PairSelection:
        """Choose partners and pairs; there are none if too few rows are expected per cell."""
        groups = [tuple(axis.feature for axis in grid.axes) for grid in grids]
        known = set(probe.features)
        requested = tuple(sorted({feature for group in groups for feature in group} & known))
        if bins_for(rows) < TELLING:
            return cls(0, {}, frozenset(), (), {}, {})
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
        occurring[np.arange(len(counts)), [bins.pooled for bins in probe.bins]] = (
            False  # pooled values are not compared
        )
        left = _has_empty_cells(probe.codes, numbers, occurring, kernels)
        return cls(
            rows,
            partners,
            frozenset(wanted),
            tuple(pair for pair, still in zip(pairs, left, strict=True) if still),
            dict(zip(probe.features, probe.bins, strict=True)),
            dict(zip(probe.features, counts, strict=True)),
        )


def _has_empty_cells(codes: Array, pairs: Ints, occurring: Flags, kernels: ModuleType) -> list[bool]:
    """Return whether each pair has an empty cell whose two bins both have rows."""
    result: list[bool] = []
    for first in range(0, len(pairs), AT_ONCE):
        some = pairs[first : first + AT_ONCE]
        tables = kernels.mark(codes, some).reshape(-1, BINS, BINS) > 0
        possible = occurring[some[:, 0], :, None] & occurring[some[:, 1], None, :]
        result.extend((possible & ~tables).any(axis=(1, 2)).tolist())
    return result


@dataclass(frozen=True, eq=False)
class OccupiedCells:
    """Rows and weight ``(b,)`` in the bins of each feature, and occupied cells ``(b, c)`` of pairs.

    All cells of a pair without a table are occupied.
    """

    outlook: PairSelection
    rows: Mapping[int, Floats]
    weights: Mapping[int, Floats]
    tables: Mapping[tuple[int, int], Flags]
    _axes: dict[int, Array] = field(default_factory=dict)

    def knows(self, one: int, other: int, *, open_: bool | None = None) -> bool:
        """Return whether two features were compared; ``open_`` restricts this to open pairs or to others."""
        pair = min(one, other), max(one, other)
        return pair in self.outlook.pairs and (open_ is None or (pair in self.tables) == open_)

    def cells(self, one: int, other: int) -> tuple[Flags, Flags]:
        """Return the cells ``(b, c)`` of two features in which rows are expected, and those that are empty.

        Pooled values, such as rare categories, are not compared.
        """
        expected = np.outer(self.rows[one], self.rows[other]) >= EXPECTED * self.rows[one].sum()
        expected[self.outlook.bins[one].pooled] = False
        expected[:, self.outlook.bins[other].pooled] = False
        table = self.tables.get((min(one, other), max(one, other)))
        if table is None:
            return expected, np.zeros_like(expected)
        return expected, expected & ~(table if one < other else table.T)

    def beside(self, one: int, others: Sequence[int]) -> tuple[Floats, Floats, Floats]:
        """Return the weight of other features in the cells that each bin of a feature shares with them.

        The first array ``(o, b)`` is the weight in cells with expected rows, the second one ``(o, b)`` that
        in such cells which are empty. The third one ``(o,)`` is the total weight of each other feature.
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
        """Return the bin of each point of an axis."""
        if axis.feature not in self._axes:
            column, bins = axis.cells.column.present(), self.outlook.bins[axis.feature]
            self._axes[axis.feature] = binned(column, bins, kernels_of(small=True))
        return self._axes[axis.feature]


def probe_of(table: Table, nominal: frozenset[int], rows: int) -> RowSample:
    """Read sampled rows and bin their columns, with the number of bins for ``rows`` rows."""
    return RowSample.of(table, nominal, bins_for(rows))


def _bins_of_rows(block: Block, feature: int, bins: ColumnBins, kernels: ModuleType) -> Array:
    """Return the bin of each row; columns of floats are read without conversion."""
    floats = block.for_reading().floats(feature) if bins.categories is None else None
    if floats is not None:
        codes: Array = kernels.locate(floats, bins.edges, bins.missing)
        return codes
    try:
        return binned(block.column(feature), bins, kernels)
    except FeatureError:
        return np.full(len(block.table), bins.pooled, np.uint8)  # the column cannot be read
