"""Bins of accumulated local effects, and the order of categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations, product
from typing import Any, TypeAlias

import numpy as np

from paribus._contracts import NOMINAL, Array, Flags, Floats, Integers
from paribus._data.kinds import objects
from paribus._data.rows import Block, Rows
from paribus._data.summary import Summary
from paribus._data.table import Column, Table
from paribus._grid import Axis, Grid, GridOptions, axis_from
from paribus._text import count
from paribus.errors import FeatureError, GridError
from paribus.notes import NoteCode

LISTED, GIVEN, DECLARED = "as they come", "as given", "as declared"
OUTSIDE = -1
LARGE = 2.0**1021  # a few numbers up to this size can be added without overflow
SHORTEST = float(np.finfo(np.float64).tiny)  # minimum width of a step, which is a divisor
Search: TypeAlias = Callable[[Array, Array], Any]  # how many of some edges are smaller than each number


@dataclass(frozen=True, eq=False)
class AleBins:
    """One feature of an ALE: its values in order, which are nodes, and the cells between or at them.

    The values of ``axis`` are *nodes* 0 to k. A *step* is the interval from one node to the next. For a
    numeric feature a *cell* is a right-closed bin (the first one includes the minimum); its rows contribute
    one finite difference. For a categorical feature each category is a cell; its rows contribute two: from
    the previous category and to the next. ``order`` describes the order of categories, and is empty for
    numbers. ``anchor`` is the node that missing values are compared with: a median, or the most frequent
    category. ``alone`` is the weight of the rows of a feature with a single number, which has no step and no
    cell.
    """

    axis: Axis
    order: str = ""
    anchor: int = 0
    alone: float = 0.0

    @property
    def nodes(self) -> int:
        """Number of values."""
        return len(self.axis)

    @property
    def steps(self) -> int:
        """Number of steps."""
        return max(0, self.nodes - 1)

    @property
    def nominal(self) -> bool:
        """Whether values are categories."""
        return self.axis.nominal

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.nodes if self.nominal else self.steps

    @property
    def n_differences(self) -> int:
        """Finite differences that each row of a cell contributes."""
        return 2 if self.nominal else 1

    @cached_property
    def step_of(self) -> Integers:
        """Step of each difference of a cell, -1 if there is none, shape ``(cells, moves)``."""
        cells = np.arange(self.cells)
        if not self.nominal:
            return cells[:, None]
        steps = np.stack([cells - 1, cells], axis=1)
        return np.where(steps < self.steps, steps, OUTSIDE)

    def locate(self, column: Column, search: Search = np.searchsorted) -> tuple[Integers, Floats]:
        """Return the cell of each row, -1 for none, and the position of the row in it, from 0 to 1."""
        rows = len(column.missing)
        if self.nominal or not self.steps:
            cells = self.axis.locate(column) if self.nominal else np.full(rows, OUTSIDE)
            return cells, np.zeros(rows)
        present_cells, share = self._across(_integer_ticks(column.values), search)
        if len(present_cells) == rows:
            return present_cells, share
        cells, across = np.full(rows, OUTSIDE), np.zeros(rows)
        cells[~column.missing], across[~column.missing] = present_cells, share
        return cells, across

    def _across(self, values: Array, search: Search) -> tuple[Integers, Floats]:
        edges = _integer_ticks(self.axis.cells.values)
        values = values.astype(edges.dtype, copy=False)
        bins = np.asarray(search(edges[1:], values), np.intp)  # the type of array indices
        if not len(bins) or (values.min() >= edges[0] and bins.max() < self.steps):
            return bins, _distance_above(values, edges[bins], edges) / self.widths[bins]
        outside = (values < edges[0]) | (bins >= self.steps)
        bins = np.where(outside, 0, bins)
        with np.errstate(invalid="ignore", over="ignore"):  # of infinite values, which are outside
            share = _distance_above(values, edges[bins], edges) / self.widths[bins]
        return np.where(outside, OUTSIDE, bins), np.where(outside, 0.0, share)

    @cached_property
    def widths(self) -> Floats:
        """Width of each step, scaled so that their sum does not overflow; 1 between categories."""
        if self.nominal:
            return np.ones(self.steps)
        edges = _integer_ticks(self.axis.cells.values)
        return np.maximum(_distance_above(edges[1:], edges[:-1], edges), SHORTEST)


def _integer_ticks(values: Array) -> Array:
    return values.view(np.int64) if values.dtype.kind in "mM" else values


def _distance_above(values: Array, lower: Array, edges: Array) -> Floats:
    """Return distances of values from lower ones; integers may exceed 2**53, so they are not converted first.

    If the distance of the ends would overflow, all distances are divided by 4.
    """
    if edges.dtype.kind != "f":
        return (values.astype(np.uint64) - lower.astype(np.uint64)).astype(np.float64)  # any span fits
    exact = np.result_type(edges.dtype, np.float64)
    values, lower = values.astype(exact, copy=False), lower.astype(exact, copy=False)
    if max(-float(edges[0]), float(edges[-1])) > LARGE:
        values, lower = values / 4, lower / 4
    return np.asarray(values - lower, np.float64)


@dataclass(frozen=True, eq=False)
class RowCells:
    """Evaluated rows of a block: their cells, positions in the cells, and nodes to evaluate.

    ``kept`` marks the evaluated rows, None for all. ``cells (i,)`` are flat indices of cells, the last one
    for missing values. ``across (q, i)`` are the positions of rows in their cells along each axis, and for
    two axes also the product. ``index (b, i, d)`` are the nodes of each axis.
    """

    kept: Flags | None
    cells: Integers
    across: Floats
    index: Integers


@dataclass(frozen=True, eq=False)
class AleGrid(Grid):
    """Grid of an ALE: the rows of each cell are evaluated at the nodes around it.

    The points of a row are the product of the stops along each axis; the last axis varies fastest.
    """

    bins: tuple[AleBins, ...]

    @classmethod
    def along(cls, *bins: AleBins) -> AleGrid:
        """Return the grid along one or two features."""
        return cls(tuple(one.axis for one in bins), bins)

    @property
    def nodes(self) -> tuple[int, ...]:
        """Values per axis."""
        return tuple(one.nodes for one in self.bins)

    @property
    def cells(self) -> tuple[int, ...]:
        """Cells per axis."""
        return tuple(one.cells for one in self.bins)

    @property
    def steps(self) -> tuple[int, ...]:
        """Steps per axis."""
        return tuple(one.steps for one in self.bins)

    @property
    def n_cells(self) -> int:
        """Number of cells, without that of missing values."""
        return int(np.prod(self.cells))

    @property
    def stops(self) -> tuple[int, ...]:
        """Points per axis."""
        return tuple(one.n_differences + 1 for one in self.bins)

    @property
    def n_points(self) -> int:
        """Points at which each row is evaluated."""
        return int(np.prod(self.stops))

    @property
    def n_differences(self) -> tuple[tuple[int, ...], ...]:
        """Index of each finite difference of a row along each axis."""
        return tuple(product(*(range(one.n_differences) for one in self.bins)))

    @property
    def includes_missing(self) -> bool:
        """Whether rows with missing values are evaluated: for grids of one feature."""
        return len(self.bins) == 1 and self.axes[0].missing > 0 and self.bins[0].nodes > 0

    @property
    def silent(self) -> bool:
        """Whether there is nothing to evaluate: no step, and no missing value."""
        return not all(self.steps) and not self.includes_missing

    def locate(self, block: Block, search: Search = np.searchsorted) -> RowCells:
        """Return the evaluated rows of a block, with their cells and nodes."""
        columns = [block.column(one.axis.feature) for one in self.bins]
        located = [one.locate(column, search) for one, column in zip(self.bins, columns, strict=True)]
        by_axis, across = [cells for cells, _ in located], [share for _, share in located]
        missing = columns[0].missing if self.includes_missing and columns[0].missing.any() else None
        kept: Flags | None = None
        if any(cells.min(initial=0) == OUTSIDE for cells in by_axis):
            kept = np.logical_and.reduce([cells != OUTSIDE for cells in by_axis])
            if missing is not None:
                kept |= missing
            kept = None if kept.all() else kept
        if kept is not None:
            by_axis, across = [cells[kept] for cells in by_axis], [share[kept] for share in across]
            missing = None if missing is None else missing[kept]
        inside = by_axis if missing is None else [np.maximum(cells, 0) for cells in by_axis]
        cells = inside[0] if len(inside) == 1 else np.ravel_multi_index(tuple(inside), self.cells)
        if missing is not None:
            cells = np.where(missing, self.n_cells, cells)
        across += [a * b for a, b in combinations(across, 2)]
        index = self._index(inside, missing)
        return RowCells(kept, cells, np.stack(across) if len(across) > 1 else across[0][None], index)

    def _index(self, inside: list[Integers], missing: Flags | None) -> Integers:
        """Return the nodes ``(b, i, d)`` to evaluate; for missing values the anchor, and last missing."""
        stops = [_stops_at(one, cells) for one, cells in zip(self.bins, inside, strict=True)]
        if len(stops) == 1 and missing is None:
            return stops[0][..., None]
        grids = np.meshgrid(*(np.arange(size) for size in self.stops), indexing="ij")
        index = np.stack([s[g.ravel()] for s, g in zip(stops, grids, strict=True)], axis=-1)
        if missing is not None:
            index[:-1, missing, 0] = self.bins[0].anchor
            index[-1, missing, 0] = self.bins[0].nodes  # missing comes after all values
        return index

    def contrasts(self, predictions: Floats) -> Floats:
        r"""Return the finite differences ``(o, moves, i)`` of predictions ``(o, b, i)``.

        Along one axis :math:`f(z_{k+1}) - f(z_k)`; along two the difference of two such differences.
        """
        outputs, _, rows = predictions.shape
        change = predictions.reshape(outputs, *self.stops, rows)
        for axis in range(len(self.bins)):
            change = np.diff(change, axis=1 + axis)
        return change.reshape(outputs, len(self.n_differences), rows)


def _stops_at(bins: AleBins, cells: Integers) -> Integers:
    """Return the nodes at which rows in cells are evaluated, ``(n_differences + 1, i)``."""
    if not bins.nominal:
        return np.asarray(cells + np.arange(2)[:, None])
    return np.asarray(np.clip(cells + np.arange(-1, 2)[:, None], 0, max(0, bins.nodes - 1)))


def bins_of(
    summary: Summary,
    like: Table,
    feature: int,
    position: int,
    *,
    given: Any = None,
    ordered: Callable[[Array], tuple[Array, str]] | None = None,
) -> AleBins:
    """Return the bins of a feature: edges between bins, or categories in order.

    ``position`` selects the edges of the summary. ``given`` are custom values. ``ordered`` returns the order
    of unordered categories, and its description.
    """
    options = GridOptions(resolution=max(2, len(summary.edges[position]) if summary.edges else 2))
    if summary.kind not in NOMINAL:
        return _numeric_bins(summary, like, feature, options, position, given)
    axis = axis_from(summary, like, feature, options, given)
    if given is not None:
        order, values = GIVEN, axis.cells.values.tolist()
        if len(set(values)) < len(values):
            raise GridError(
                f"custom_values for {summary.name!r} are an order of categories here; give each of them once"
            )
    elif summary.ranked:
        order = DECLARED
    elif len(axis) <= 2 or ordered is None:
        order = LISTED
    else:
        categories, order = ordered(axis.cells.values)
        known = replace(
            summary, categories=categories, category_weights=_weights_of_categories(categories, summary)
        )
        axis = replace(axis_from(known, like, feature, options), notes=axis.notes)
    weights = _weights_of_categories(axis.cells.values, summary)
    return AleBins(axis, order, int(np.argmax(weights)) if len(weights) else 0)


def _numeric_bins(
    summary: Summary, like: Table, feature: int, options: GridOptions, position: int, given: Any
) -> AleBins:
    edges = summary.edges[position] if summary.edges else np.empty(0)
    known = edges if summary.unit is None else edges.astype(np.int64).view(summary.unit)
    axis = axis_from(summary, like, feature, options, known if given is None and len(known) else given)
    if given is None and summary.categories is None:
        axis = replace(axis, rank_error=summary.rank_error)  # the edges are quantiles
    ticks = _integer_ticks(axis.cells.values)
    if given is not None and (ticks[1:] <= ticks[:-1]).any():
        raise GridError(
            f"custom_values for {summary.name!r} are edges of bins here; give them in rising order"
        )
    if len(axis) == 1 and not summary.missing:
        place = None if given is None else " in custom_values"
        single = NoteCode.SINGLE_VALUE.note(feature=summary.name, place=place)
        axis = replace(axis, notes=(*axis.notes, *(() if single in axis.notes else (single,))))
    middle = summary.deciles[5] if summary.deciles is not None else 0.0
    with np.errstate(over="ignore"):  # infinite distances are not the smallest
        anchor = int(np.argmin(np.abs(ticks.astype(np.float64) - middle))) if len(axis) else 0
    alone = summary.common[1] if len(axis) == 1 and given is None and summary.common is not None else 0.0
    return AleBins(axis, "", anchor, alone)


def _weights_of_categories(categories: Array, summary: Summary) -> Floats:
    """Return the weight of the rows of each category."""
    if summary.categories is None or summary.category_weights is None:
        return np.zeros(len(categories))
    weights = dict(zip(summary.categories.tolist(), summary.category_weights.tolist(), strict=True))
    return np.array([weights.get(category, 0.0) for category in categories.tolist()])


RANKS = 256  # maximum number of values at which two distributions are compared
SAMPLED = 16_384  # maximum number of rows that are compared


def similar_order(rows: Rows, feature: int, categories: Array) -> tuple[Array, str]:
    r"""Return categories in an order in which neighbors have similar rows, and a description of the order.

    Two categories have a distance in each other feature. For a numeric feature it is the mean absolute
    difference of the distribution functions. For a categorical one it is half the sum of the absolute
    differences of the shares of categories. Distances are summed over features. Classical scaling to one
    dimension gives the order. Apley and Zhu propose the same with the largest difference of distribution
    functions; that is the same for all categories whose distributions do not overlap. Categories that are not
    distinguished, or do not occur in ``rows``, keep their order.
    """
    codes_of = {category: number for number, category in enumerate(categories.tolist())}
    codes, occurring = rows.table.column(feature).factorized()
    plain = (one.item() if isinstance(one, np.generic) else one for one in occurring)
    of = np.array([codes_of.get(category, -1) for category in plain], dtype=np.int64)
    own = np.full(len(rows), -1, np.int64)
    own[~rows.table.column(feature).missing] = of[codes] if len(codes) else np.empty(0, np.int64)
    kept = rows.keep(own >= 0)
    distance = np.zeros((len(categories), len(categories)))
    for other in range(len(rows.table.names)):
        if other != feature:
            distance += _distances(kept, other, own[own >= 0], len(categories))
    order = _scaling_order(distance)
    text = "in the given order, because their rows are alike"
    if distance.any():
        text = f"by how similar their rows are in the other features ({count(len(kept), 'row')})"
    if categories.dtype == object:
        return objects(categories[k] for k in order), text
    return categories[order], text


def _distances(rows: Rows, feature: int, own: Integers, n_categories: int) -> Floats:
    """Return the distances of the categories in one other feature, 0 if it cannot be read."""
    try:
        column = rows.table.column(feature)
    except FeatureError:
        return np.zeros((n_categories, n_categories))
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    nominal = column.kind in NOMINAL
    cells = _category_codes(column) if nominal else _rank_cells(column)
    counts = np.zeros((n_categories, int(cells.max(initial=0)) + 1))
    some = cells >= 0
    np.add.at(counts, (own[some], cells[some]), weights[some])
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    if not nominal:
        shares = np.cumsum(shares, axis=1)
    distance = np.zeros((n_categories, n_categories))
    for category in range(n_categories):
        apart = np.abs(shares - shares[category])
        distance[category] = apart.sum(axis=1) / 2 if nominal else apart.mean(axis=1)
    known = total[:, 0] > 0
    return np.where(known & known[:, None], distance, 0.0)


def _category_codes(column: Column) -> Integers:
    """Return the code of the category of each row; missing is a category too."""
    cells = np.zeros(len(column.missing), np.int64)
    cells[~column.missing] = column.factorized()[0] + 1
    return cells


def _rank_cells(column: Column) -> Integers:
    """Return the approximate rank of each row's value, at most `RANKS` different ones, -1 if missing."""
    cells = np.full(len(column.missing), -1, np.int64)
    values = column.values.view(np.int64) if column.values.dtype.kind in "mM" else column.values
    distinct = np.unique(values)
    cuts = (
        distinct[np.unique(np.linspace(0, len(distinct) - 1, RANKS).astype(int))]
        if len(distinct)
        else distinct
    )
    cells[~column.missing] = np.searchsorted(cuts, values)
    return cells


def _scaling_order(distance: Floats) -> Integers:
    """Return the order by classical scaling to one dimension, in the direction closest to the given order."""
    squares = distance**2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centered / 2)
    along = vectors[:, np.argmax(values)]
    given = np.arange(len(along)) - (len(along) - 1) / 2
    # Rounding must not decide the order of categories with equal coordinates.
    along = np.round(along * (1.0 if along @ given >= 0 else -1.0), 9)
    return np.argsort(along, kind="stable")
