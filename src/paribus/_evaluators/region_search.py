"""Search for regions in which the individual curves of a feature are alike, and the region of each row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import NOMINAL, Array, Flags, Floats, Integers, Kind
from paribus._data.rows import Block, Rows
from paribus._data.samples import uniform
from paribus._data.summary import Summary
from paribus._kernels.program import Ints
from paribus._states.sums import ignore_fp_errors
from paribus.notes import Note

CUT_BINS = 64  # maximum number of bins of a number or date, whose upper ends are thresholds
MOST_CATEGORIES = 64  # most frequent categories that may be told apart; the others stay together
ALL_SUBSETS = 8  # maximum number of categories of which every subset is tried
ROWS, WEIGHT, CURVE = 0, 1, 2  # places of the sums of a cell: a curve takes the places from 2
SELECT = 0  # the half of the rows that selects splits; the other half measures them
HALVES = 29  # seed of the hash of row numbers that halves the rows
TIE = 1e-12  # relative difference of gains below which the first split is taken
LEAST_ROWS = 20  # of each side in each half: on fewer rows the standard error of a gain is uncertain
LEAST_ERRORS = 2.0  # standard errors that a gain exceeds: a split that gains nothing does so in 2 % of cases
# Share of the variance of the prediction that a split gains. Models of additive data have interactions, which
# are smaller; without this bound, half of their features are split.
LEAST_VARIANCE = 0.01


@dataclass(frozen=True, eq=False)
class SplitCells:
    """The cells of a feature by which regions may be split.

    The cells of a number or date are bins that include their upper ends. ``thresholds`` are the upper ends of
    all bins but the last; those of dates are integers, and ``unit`` is their dtype. The cells of a nominal
    feature are its most frequent ``categories``, and one of all others. The last cell has missing values,
    and ``missing`` says whether there are any. ``names`` are those of categories that are codes.
    """

    feature: int
    name: str
    kind: Kind
    missing: bool
    thresholds: Array
    unit: np.dtype[Any] | None = None
    categories: tuple[Any, ...] = ()
    names: Mapping[Any, str] = field(default_factory=dict)

    @classmethod
    def of(cls, feature: int, summary: Summary) -> SplitCells:
        """Return the cells that a summary with edges of `CUT_BINS` bins describes."""
        own = feature, summary.name, summary.kind, summary.missing > 0
        if summary.kind in NOMINAL:
            assert summary.categories is not None
            assert summary.category_weights is not None
            kept = np.sort(np.argsort(-summary.category_weights, kind="stable")[:MOST_CATEGORIES])
            categories = tuple(summary.categories[kept].tolist())
            return cls(*own, np.empty(0), None, categories, summary.names or {})
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
            listed = (value for value, own in zip(self.categories, known, strict=False) if own)
            return None, tuple(self.names.get(value, value) for value in listed)
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
class FoundSplit(NodeSplit):
    """The best split of the rows of a node, of which there are ``rows``.

    ``gain``, its standard error ``error`` and ``heterogeneity``, that of the node, are of the measuring half,
    divided by its weight.
    """

    rows: int
    gain: float
    error: float
    heterogeneity: float


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """The rows of a node: their number, weight and heterogeneity, a sum."""

    rows: int
    weight: float
    heterogeneity: float


@dataclass(frozen=True, eq=False)
class RegionEstimate:
    """The kept splits of a feature in the order of their nodes, and facts about nodes.

    ``regions`` are the nodes that are not split, from left to right.
    """

    splits: tuple[FoundSplit, ...]
    whole: NodeFacts
    regions: dict[int, NodeFacts]


@dataclass(frozen=True, eq=False)
class RegionSearch:
    r"""Rows in which regions are searched, and when a split is kept.

    ``measures (n,)`` are the rows that measure gains; the others select splits. ``cells (c, n)`` are those of
    the rows, for each of the ``candidates``. ``variance`` is that of the predictions, summed over outputs. A
    gain or heterogeneity of at most ``least_gain``, relative to the weight, is due to rounding. ``units
    (n,)`` are the units of the rows, from 0, None if rows are independent.
    """

    weights: Floats
    measures: Flags
    units: Integers | None
    candidates: tuple[SplitCells, ...]
    cells: Ints
    max_depth: int
    min_gain: float
    variance: float
    least_gain: float

    @classmethod
    def of(
        cls, rows: Rows, candidates: tuple[SplitCells, ...], used: Iterable[int], **bounds: Any
    ) -> RegionSearch:
        """Return the search among rows of positive weight; only the candidates ``used`` are located."""
        block = Block(rows.table, rows.weights, 0, units=rows.units)
        cells = np.zeros((len(candidates), len(rows)), np.int32)
        for number in used:
            cells[number] = candidates[number].locate(block)
        weights = np.ones(len(rows)) if rows.weights is None else rows.weights
        if rows.units is None:
            measures, units = uniform(block.positions, HALVES) > 0.5, None
        else:  # half of the units measure, even if there are few
            keys, units = np.unique(rows.units, return_inverse=True)
            late = np.argsort(uniform(keys, HALVES), kind="stable")[len(keys) // 2 :]
            measures = np.isin(units, late)
        return cls(weights, measures, units, candidates, cells, **bounds)

    @ignore_fp_errors()
    def find(
        self, curves: Floats, shares: Floats, points: Integers, among: tuple[int, ...]
    ) -> RegionEstimate:
        """Return the regions of a feature, from the curves ``(o, n, g)`` of the rows.

        ``shares (g,)`` are the weights of the points, ``points (n,)`` those nearest to the rows, and
        ``among`` the numbers of the candidates.
        """
        tree = _Tree(self, _scaled(curves, shares), shares, points, among)
        nodes = {1: np.ones(len(self.weights), bool)}
        waiting, kept = ([1] if among else []), []
        for node in waiting:
            split = tree.best_split(node, nodes[node])
            if split is None or not self._keeps(split):
                continue
            kept.append(split)
            rows = nodes.pop(node)
            left = split.left[self.cells[split.cells]]
            sides = {2 * node: rows & left, 2 * node + 1: rows & ~left}
            nodes |= sides
            waiting += sides if node.bit_length() < self.max_depth else ()
        regions = {node: tree.facts(nodes[node]) for node in sorted(nodes, key=bin)}
        whole = tree.facts(np.ones(len(self.weights), bool)) if kept else regions[1]
        return RegionEstimate(tuple(kept), whole, regions)

    def _keeps(self, split: FoundSplit) -> bool:
        """Return whether the measured gain of a split is large enough, and clearly above its error."""
        least = max(self.min_gain * split.heterogeneity, LEAST_VARIANCE * self.variance)
        return bool(split.gain >= least and split.gain > LEAST_ERRORS * split.error)


def _scaled(curves: Floats, shares: Floats) -> Floats:
    r"""Return centered curves ``(n, o * g)``, times :math:`\sqrt{p_x}`, from those ``(o, n, g)`` of rows."""
    scaled = curves.transpose(1, 0, 2).copy()
    scaled -= (scaled @ shares)[..., None]
    scaled *= np.sqrt(shares)
    return scaled.reshape(len(scaled), -1)


def heterogeneity(curves: Floats, shares: Floats, weights: Floats | None) -> float:
    """Return the heterogeneity of rows, a sum, from their curves ``(o, n, g)`` and the weights of points."""
    scaled = _scaled(curves, shares)
    return float(_distances(scaled, np.ones(len(scaled)) if weights is None else weights).sum())


def _distances(curves: Floats, weights: Floats) -> Floats:
    """Return the weighted squared distance of each of some scaled curves from their average."""
    apart = curves - weights @ curves / weights.sum()
    return np.asarray(weights * np.einsum("iv,iv->i", apart, apart))


class _Tree:
    """The scaled curves ``(n, v)`` of the rows of a search, and the splits among some candidates."""

    def __init__(
        self,
        search: RegionSearch,
        curves: Floats,
        shares: Floats,
        points: Integers,
        among: tuple[int, ...],
    ) -> None:
        self.search, self.curves, self.among = search, curves, among
        self.shares, self.points = shares, points
        weights = search.weights
        self.values = np.concatenate([np.ones_like(weights)[None], weights[None], weights * curves.T])

    def facts(self, rows: Flags) -> NodeFacts:
        """Return the facts about some rows; heterogeneity that is due to rounding is zero."""
        weight, spread = self.search.weights[rows].sum(), self._distances(rows).sum()
        rounded = spread <= self.search.least_gain * weight
        return NodeFacts(int(rows.sum()), float(weight), 0.0 if rounded else float(spread))

    def _distances(self, rows: Flags) -> Floats:
        return _distances(self.curves[rows], self.search.weights[rows])

    def _spread(self, rows: Flags) -> Floats:
        """Return the weighted squared distances of some rows from their average, summed at each point."""
        curves, weights = self.curves[rows], self.search.weights[rows]
        squares = weights @ (curves - weights @ curves / weights.sum()) ** 2
        return np.asarray(squares.reshape(-1, len(self.shares)).sum(axis=0))

    def best_split(self, node: int, rows: Flags) -> FoundSplit | None:
        """Return the split of a node that gains most on the rows that select, None if there is none."""
        search = self.search
        values, half = self.values[:, rows], search.measures[rows]
        least = search.least_gain * search.weights[rows & ~search.measures].sum()
        best: tuple[float, int, Flags] | None = None
        for number in self.among:
            cells = search.candidates[number]
            sums = _cell_sums(values, half * cells.n_cells + search.cells[number, rows], cells.n_cells)
            sides = cells.sides(sums[SELECT])
            sides = sides[_allowed(sums, sides)]
            if not len(sides):
                continue
            gains = _gains(sums[SELECT], sides)
            at = int(np.argmax(gains >= gains.max() * (1 - TIE)))
            if gains[at] > least and (best is None or gains[at] > best[0] * (1 + TIE)):
                best = float(gains[at]), number, sides[at]
        return None if best is None else self._measured(node, rows, *best[1:])

    def _measured(self, node: int, rows: Flags, number: int, left: Flags) -> FoundSplit:
        r"""Return a split with its gain on the measuring half, relative to its weight, and standard error.

        With :math:`z_i` the scaled curve of row i, the gain of a split of R into two sides is the sum of

        .. math:: g_i = w_i (|z_i - m_R|^2 - |z_i - m_{S(i)}|^2)

        where :math:`S(i)` is the side of the row and m are averages over the measuring half. The influence of
        a row is that of its curve, and of its value on the weights of the points.
        """
        search = self.search
        measures, weights = search.measures, search.weights
        here, goes_left = rows & measures, left[search.cells[number]]
        sides = here & goes_left, here & ~goes_left
        gains = np.zeros(len(weights))
        gains[here] = self._distances(here)
        heterogeneity = gains.sum()
        for side in sides:
            gains[side] -= self._distances(side)
        total = weights[measures].sum()
        gain = gains[measures].sum() / total
        of_curve = np.where(measures, gains - weights * gain, 0.0) / total
        at_points = (self._spread(here) - sum(map(self._spread, sides))) / total
        height = np.divide(at_points, self.shares, out=np.zeros_like(at_points), where=self.shares > 0)
        of_value = weights * np.append(height - gain, 0.0)[self.points] / weights.sum()
        influence, size = of_curve + of_value, int(np.count_nonzero(measures))
        if search.units is not None:
            influence = np.bincount(search.units, influence).astype(np.float64)
            size = int(np.count_nonzero(np.bincount(search.units, measures)))
        error = np.sqrt(influence @ influence * size / (size - 1)) if size > 1 else np.nan
        facts = int(rows.sum()), float(gain), float(error), float(heterogeneity / total)
        return FoundSplit(node, number, left, *facts)


def _cell_sums(values: Floats, places: Integers, cells: int) -> Floats:
    """Return the sums ``(2, c, v)`` of values ``(v, n)`` in the cells of both halves, at ``places (n,)``."""
    sums: Floats = np.stack([np.bincount(places, added, 2 * cells) for added in values], axis=-1)
    return sums.reshape(2, cells, -1)


def _allowed(sums: Floats, sides: Flags) -> Flags:
    """Return the splits ``(s,)`` with enough rows on both sides, in both halves."""
    rows = sums[..., ROWS]
    return np.asarray((np.minimum(rows @ sides.T, rows @ ~sides.T) >= LEAST_ROWS).all(axis=0))


def _gains(sums: Floats, sides: Flags) -> Floats:
    """Return the gain of each split ``(s, c)`` from the sums ``(c, v)`` of one half."""
    left, right = (np.einsum("sc,cv->sv", side.astype(np.float64), sums) for side in (sides, ~sides))
    weights = [part[:, WEIGHT] for part in (left, right)]
    apart = left[:, CURVE:] / weights[0][:, None] - right[:, CURVE:] / weights[1][:, None]
    squares = np.einsum("sv,sv->s", apart, apart)
    return np.asarray(weights[0] * weights[1] / (weights[0] + weights[1]) * squares)


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
