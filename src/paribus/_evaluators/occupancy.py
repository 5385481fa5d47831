"""Which values of two features occur together: where rows with a feature replaced leave the data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import ModuleType
from typing import Any

import numpy as np

from paribus._contracts import Array, Flags, Floats
from paribus._data.binning import ColumnBins
from paribus._data.rows import Block
from paribus._data.table import Table
from paribus._evaluators.association import RowSample, binned, kernels_of
from paribus._grid import Axis, Grid
from paribus._kernels.program import BINS, Ints
from paribus._states import Counts, Keyed, Occupied
from paribus.errors import FeatureError

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
        own = [(bins.edges.tolist(), bins.levels) for bins in self.bins]
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
    floats = block.table.floats(feature) if bins.levels is None else None
    if floats is not None:
        codes: Array = kernels.locate(floats, bins.edges, bins.missing)
        return codes
    try:
        return binned(block.column(feature), bins, kernels)
    except FeatureError:
        return np.full(len(block.table), bins.pooled, np.uint8)  # values that cannot be distinguished
