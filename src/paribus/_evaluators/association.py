"""How strongly two features go together in some rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType

import numpy as np

from paribus._contracts import Array, Flags, Floats
from paribus._data.binning import ColumnBins, bins_of, is_ordered, numbers_of
from paribus._data.table import Column, Table
from paribus._kernels import kernels
from paribus._kernels.program import Bytes
from paribus.errors import FeatureError
from paribus.meaning import Association

SPEARMAN, RATIO, CRAMER = Association
AT_ONCE = 256  # features whose correlations with all others are held at a time


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
            binned_columns[feature] = bins, codes, numbers_of(column) if bins.levels is None else categories
        shape = len(binned_columns), len(table)
        return cls(
            tuple(binned_columns),
            tuple(bins for bins, _, _ in binned_columns.values()),
            np.array([codes for _, codes, _ in binned_columns.values()], np.uint8).reshape(shape),
            np.array([values for _, _, values in binned_columns.values()], np.float64).reshape(shape),
            np.array([bins.levels is not None for bins, _, _ in binned_columns.values()], bool),
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
        for first in range(0, len(features), AT_ONCE):
            some = [positions[feature] for feature in features[first : first + AT_ONCE]]
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
    if bins.levels is not None:
        return bins.of_categories(column)
    if is_ordered(column):
        codes: Bytes = kernels.locate(numbers_of(column), bins.edges, bins.missing)
        return codes
    return np.where(column.missing, bins.missing, bins.pooled).astype(np.uint8)
