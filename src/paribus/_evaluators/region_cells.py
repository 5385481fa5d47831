"""Cells of the features that regions are split by, splits, and the region of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import NOMINAL, Array, Flags, Floats, Integers, Kind
from paribus._data.rows import Block
from paribus._data.summary import Summary
from paribus._kernels.program import Ints
from paribus.notes import Note

CUT_BINS = 64  # maximum number of bins of a number or date, whose upper ends are thresholds
MOST_CATEGORIES = 64  # most frequent categories that may be told apart; the others stay together
ALL_SUBSETS = 8  # maximum number of categories of which every subset is tried
ROWS, WEIGHT, SQUARES, CURVE = 0, 1, 2, 3  # places of the sums of a cell: a curve takes the places from 3


@dataclass(frozen=True, eq=False)
class SplitCells:
    """The cells of a feature by which regions may be split.

    The cells of a number or date are bins that include their upper ends. ``thresholds`` are the upper ends of
    all bins but the last; those of dates are integers, and ``unit`` is their dtype. The cells of a nominal
    feature are its most frequent ``categories``, and one of all others. The last cell has missing values,
    and ``missing`` says whether there are any.
    """

    feature: int
    name: str
    kind: Kind
    missing: bool
    thresholds: Array
    unit: np.dtype[Any] | None = None
    categories: tuple[Any, ...] = ()

    @classmethod
    def of(cls, feature: int, summary: Summary) -> SplitCells:
        """Return the cells that a summary with edges of `CUT_BINS` bins describes."""
        own = feature, summary.name, summary.kind, summary.missing > 0
        if summary.kind in NOMINAL:
            assert summary.categories is not None
            assert summary.category_weights is not None
            kept = np.sort(np.argsort(-summary.category_weights, kind="stable")[:MOST_CATEGORIES])
            return cls(*own, np.empty(0), None, tuple(summary.categories[kept].tolist()))
        edges = summary.edges[-1] if summary.edges else np.empty(0)
        return cls(*own, edges[:-1], summary.unit)

    @property
    def nominal(self) -> bool:
        """Whether the cells are categories."""
        return self.kind in NOMINAL

    @property
    def n_cells(self) -> int:
        """Number of cells, with that of missing values, and of other categories."""
        return (len(self.categories) if self.nominal else len(self.thresholds)) + 2

    @cached_property
    def _codes(self) -> dict[Any, int]:
        return {category: code for code, category in enumerate(self.categories)}

    def locate(self, block: Block) -> Ints:
        """Return the cell of each row of a block."""
        column = block.column(self.feature)
        cells = np.full(len(column.missing), self.n_cells - 1, np.int32)
        if self.nominal:
            codes, occurring = column.factorized()
            plain = (one.item() if isinstance(one, np.generic) else one for one in occurring)
            known = (self._codes.get(category, len(self.categories)) for category in plain)
            cells[~column.missing] = np.fromiter(known, np.int32, len(occurring))[codes]
        else:
            values = column.values
            numbers = values.view(np.int64) if values.dtype.kind in "mM" else values
            numbers = numbers.astype(self.thresholds.dtype, copy=False)
            cells[~column.missing] = np.searchsorted(self.thresholds, numbers)
        return cells

    def sides(self, sums: Floats) -> Flags:
        """Return the possible splits ``(s, c)``: whether each cell is on the left side.

        ``sums (c, v)`` are those of the rows that select a split. With missing values, these are tried on
        both sides, and against all others.
        """
        present = self._category_sides(sums) if self.nominal else self._threshold_sides
        if sums[-1, ROWS] == 0:
            return present
        both = np.repeat(present, 2, axis=0)
        both[1::2, -1] = True
        against = np.ones((1, self.n_cells), bool)
        against[0, -1] = False
        return np.concatenate([both, against])

    @cached_property
    def _threshold_sides(self) -> Flags:
        """The splits at each threshold, with missing values on the right."""
        sides = np.arange(self.n_cells) <= np.arange(len(self.thresholds))[:, None]
        return np.asarray(sides)

    def _category_sides(self, sums: Floats) -> Flags:
        """Return splits of the categories: every subset if there are few, else those of an order.

        The order is that of the first principal direction of the mean curves. Listed categories are on the
        left: never the cell of all others, and otherwise the fewer ones.
        """
        occurring = np.flatnonzero(sums[:-1, ROWS] > 0)
        size = len(occurring)
        if size < 2:
            return np.zeros((0, self.n_cells), bool)
        if size <= ALL_SUBSETS:
            members = np.array(list(product([False, True], repeat=size - 1)))[1:]
            chosen = np.concatenate([np.zeros((len(members), 1), bool), members], axis=1)
        else:
            order = _by_direction(sums[occurring])
            chosen = np.zeros((size - 1, size), bool)
            chosen[:, order] = np.arange(size) <= np.arange(size - 1)[:, None]
        others = chosen[:, occurring == len(self.categories)].any(axis=1)
        most = 2 * chosen.sum(axis=1) > size
        chosen ^= (others | (most & ~(occurring == len(self.categories)).any()))[:, None]
        sides = np.zeros((len(chosen), self.n_cells), bool)
        sides[:, occurring] = chosen
        return sides

    def side_values(self, left: Flags) -> tuple[Any, tuple[Any, ...] | None]:
        """Return the threshold of a side, or its categories; None for both if only missing values differ."""
        known = left[:-1]
        if known.all():
            return None, None
        if self.nominal:
            return None, tuple(value for value, own in zip(self.categories, known, strict=False) if own)
        last = self.thresholds[known.sum() - 1 :][:1]
        return (last.item() if self.unit is None else last.view(self.unit)[0]), None


def _by_direction(sums: Floats) -> Integers:
    """Return the order of categories by the first principal direction of their mean curves."""
    weight, mean = sums[:, WEIGHT], sums[:, CURVE:] / sums[:, WEIGHT, None]
    centered = mean - weight @ mean / weight.sum()
    _, _, directions = np.linalg.svd(np.sqrt(weight)[:, None] * centered, full_matrices=False)
    return np.argsort(centered @ directions[0], kind="stable")


@dataclass(frozen=True, eq=False)
class NodeSplit:
    """A split of the rows of a node: those in the cells ``left (c,)`` of a feature, and all others.

    The root is node 1, and the sides of node n are the nodes 2n (left) and 2n + 1. ``cells`` is the position
    of the feature among all candidates.
    """

    node: int
    cells: int
    left: Flags


def below(splits: Iterable[NodeSplit], cells: Mapping[int, Ints] | Ints, nodes: Integers) -> Integers:
    """Return the node of each row after splits in the order of their nodes; ``nodes`` are those before."""
    nodes = nodes.copy()
    for split in splits:
        here = nodes == split.node
        nodes[here] = 2 * split.node + ~split.left[cells[split.cells][here]]
    return nodes


@dataclass(frozen=True, eq=False)
class RegionGrouping:
    """The regions of a feature as groups of rows, each with a label."""

    name: str
    labels: tuple[str, ...]
    leaves: tuple[int, ...]
    splits: tuple[NodeSplit, ...]
    candidates: tuple[SplitCells, ...]

    notes: ClassVar[tuple[Note, ...]] = ()

    def codes(self, block: Block) -> Integers:
        """Return the region of each row of a block, as a position among the labels."""
        used = {split.cells: self.candidates[split.cells].locate(block) for split in self.splits}
        nodes = below(self.splits, used, np.ones(len(block.table), np.int64))
        order = np.argsort(self.leaves)
        return order[np.searchsorted(np.sort(self.leaves), nodes)]
