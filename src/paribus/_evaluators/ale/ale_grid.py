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
from paribus.notes import Note, NoteCode

LISTED, GIVEN, DECLARED = "as they come", "as given", "as declared"
OUTSIDE = -1
LARGE = 2.0**1021  # numbers of which a few may be added up without overflow
SHORTEST = float(np.finfo(np.float64).tiny)  # a step to divide by
Search: TypeAlias = Callable[[Array, Array], Any]  # how many of some edges are smaller than each number


@dataclass(frozen=True, eq=False)
class AleBins:
    """One feature of a local effect: its values in order, and in which cell of them a row lies.

    The values are those of ``axis``, *nodes* 0 to k. A *step* leads from one node to the next. For a numeric
    feature a *cell* is a right-closed bin (the first one includes the minimum); its rows contribute one
    finite difference. For a categorical feature each category is a cell; its rows contribute two: from the
    previous category and to the next. ``order`` says how categories were put in order, and is empty for
    numbers. ``anchor`` is the node from which missing values are reached: a median, or the most frequent
    category. ``alone`` is the weight of the rows whose number is the only one there is: there is no step, so
    that they are in no cell.
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
        """Steps that the rows of a cell take."""
        return 2 if self.nominal else 1

    @cached_property
    def step_of(self) -> Integers:
        """The step that each move of a cell is, -1 where there is none, shape ``(cells, moves)``."""
        cells = np.arange(self.cells)
        if not self.nominal:
            return cells[:, None]
        steps = np.stack([cells - 1, cells], axis=1)
        return np.where(steps < self.steps, steps, OUTSIDE)

    def locate(self, column: Column, search: Search = np.searchsorted) -> tuple[Integers, Floats]:
        """Return the cell of each row, -1 for none, and how far across it the row lies, from 0 to 1."""
        rows = len(column.missing)
        if self.nominal or not self.steps:
            cells = self.axis.locate(column) if self.nominal else np.full(rows, OUTSIDE)
            return cells, np.zeros(rows)
        present_cells, share = self._across(_ticks(column.values), search)
        if len(present_cells) == rows:
            return present_cells, share
        cells, across = np.full(rows, OUTSIDE), np.zeros(rows)
        cells[~column.missing], across[~column.missing] = present_cells, share
        return cells, across

    def _across(self, values: Array, search: Search) -> tuple[Integers, Floats]:
        edges = _ticks(self.axis.cells.values)
        values = values.astype(edges.dtype, copy=False)
        bins = np.asarray(search(edges[1:], values), np.intp)  # which positions in arrays are
        if not len(bins) or (values.min() >= edges[0] and bins.max() < self.steps):
            return bins, _above(values, edges[bins], edges) / self.widths[bins]
        outside = (values < edges[0]) | (bins >= self.steps)
        bins = np.where(outside, 0, bins)
        with np.errstate(invalid="ignore", over="ignore"):  # of rows that lie at infinity, outside
            share = _above(values, edges[bins], edges) / self.widths[bins]
        return np.where(outside, OUTSIDE, bins), np.where(outside, 0.0, share)

    @cached_property
    def widths(self) -> Floats:
        """Width of each step, scaled so that their sum does not overflow; 1 between categories."""
        if self.nominal:
            return np.ones(self.steps)
        edges = _ticks(self.axis.cells.values)
        return np.maximum(_above(edges[1:], edges[:-1], edges), SHORTEST)


def _ticks(values: Array) -> Array:
    return values.view(np.int64) if values.dtype.kind in "mM" else values


def _above(values: Array, lower: Array, edges: Array) -> Floats:
    """Return how far values are above others; as floats, integers beyond 2**53 might not be.

    Where the ends are so far apart that their distance overflows, it is a quarter of that.
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
    """The evaluated rows of a block: which ones, their cell, their position in it, and their cell index.

    ``kept`` is None where all are. ``cells (i,)`` number the cells of the grid, the last one that of rows
    without a value. ``across (q, i)`` are what is summed up by cell of where rows lie: the place along each
    axis, and with two their product. ``index (b, i, d)`` are the nodes of each axis.
    """

    kept: Flags | None
    cells: Integers
    across: Floats
    index: Integers


@dataclass(frozen=True, eq=False)
class AleGrid(Grid):
    """Grid of an ALE: the rows of each cell are evaluated at the nodes around it.

    The points of a row are the product of the stops along each axis, the last axis fastest.
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
        """The moves of a row: one along each axis."""
        return tuple(product(*(range(one.n_differences) for one in self.bins)))

    @property
    def includes_missing(self) -> bool:
        """Whether rows without a value are evaluated, as they are about one feature."""
        return len(self.bins) == 1 and self.axes[0].missing > 0 and self.bins[0].nodes > 0

    @property
    def silent(self) -> bool:
        """Whether there is nothing to evaluate: no step to take, and no missing value."""
        return not all(self.steps) and not self.includes_missing

    def locate(self, block: Block, search: Search = np.searchsorted) -> RowCells:
        """Return which rows of a block are evaluated, and where."""
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
        """Return the nodes ``(b, i, d)`` to evaluate; missing values go from the anchor to missing."""
        stops = [_stops_at(one, cells) for one, cells in zip(self.bins, inside, strict=True)]
        if len(stops) == 1 and missing is None:
            return stops[0][..., None]
        grids = np.meshgrid(*(np.arange(size) for size in self.stops), indexing="ij")
        index = np.stack([s[g.ravel()] for s, g in zip(stops, grids, strict=True)], axis=-1)
        if missing is not None:
            index[:-1, missing, 0] = self.bins[0].anchor
            index[-1, missing, 0] = self.bins[0].nodes  # the missing value comes after the others
        return index

    def contrasts(self, predictions: Floats) -> Floats:
        r"""Return what each move changes, ``(o, moves, i)``, of predictions ``(o, b, i)``.

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
    """Lay out the values of a feature: edges between bins, or categories in order.

    ``position`` says which of the summary's edges are meant. ``ordered`` puts categories in order that have
    none, and says how.
    """
    options = GridOptions(resolution=max(2, len(summary.edges[position]) if summary.edges else 2))
    if summary.kind not in NOMINAL:
        return _of_numbers(summary, like, feature, options, position, given)
    axis = axis_from(summary, like, feature, options, given)
    if given is not None:
        _distinct(axis, summary.name)
        order = GIVEN
    elif summary.ranked:
        order = DECLARED
    elif len(axis) <= 2 or ordered is None:
        order = LISTED
    else:
        categories, order = ordered(axis.cells.values)
        known = replace(summary, categories=categories, category_weights=_weights(categories, summary))
        axis = replace(axis_from(known, like, feature, options), notes=axis.notes)
    weights = _weights(axis.cells.values, summary)
    return AleBins(axis, order, int(np.argmax(weights)) if len(weights) else 0)


def _of_numbers(
    summary: Summary, like: Table, feature: int, options: GridOptions, position: int, given: Any
) -> AleBins:
    edges = summary.edges[position] if summary.edges else np.empty(0)
    known = edges if summary.unit is None else edges.astype(np.int64).view(summary.unit)
    axis = axis_from(summary, like, feature, options, known if given is None and len(known) else given)
    if given is None and summary.categories is None:
        axis = replace(axis, rank_error=summary.rank_error)  # the edges are quantiles
    ticks = _ticks(axis.cells.values)
    if given is not None and (ticks[1:] <= ticks[:-1]).any():
        raise GridError(
            f"custom_values for {summary.name!r} are edges of bins here; give them in rising order"
        )
    if len(axis) == 1:
        has = "has a single value" if given is None else "is evaluated at a single value"
        text = f"{summary.name} {has}, so it has no effect to show"
        single = Note(NoteCode.SINGLE_VALUE, text, summary.name)
        axis = replace(axis, notes=(*axis.notes, *(() if single in axis.notes else (single,))))
    middle = summary.deciles[5] if summary.deciles is not None else 0.0
    with np.errstate(over="ignore"):  # an infinite distance is not the smallest
        anchor = int(np.argmin(np.abs(ticks.astype(np.float64) - middle))) if len(axis) else 0
    alone = summary.common[1] if len(axis) == 1 and given is None and summary.common is not None else 0.0
    return AleBins(axis, "", anchor, alone)


def _weights(categories: Array, summary: Summary) -> Floats:
    """Return how much of the data has each category."""
    if summary.categories is None or summary.category_weights is None:
        return np.zeros(len(categories))
    weights = dict(zip(summary.categories.tolist(), summary.category_weights.tolist(), strict=True))
    return np.array([weights.get(category, 0.0) for category in categories.tolist()])


def _distinct(axis: Axis, name: str) -> None:
    values = axis.cells.values.tolist()
    if len(set(values)) < len(values):
        raise GridError(f"custom_values for {name!r} are an order of categories here; give each of them once")


RANKS = 256  # positions at which two distributions of a number are compared, at most
SAMPLED = 16_384  # rows that are compared, at most


def similar_order(rows: Rows, feature: int, categories: Array) -> tuple[Array, str]:
    r"""Put categories in an order in which neighbors have similar rows, and say how.

    Of two categories, and each other feature, the distance is the average difference between the
    distributions of a number over its ranks, or half the sum of the differences between the shares of
    categories. The distances are added up over the features, and the categories put on a line that keeps them
    as well as a line can (classical scaling): the order is that on the line. This is what Apley and Zhu
    propose, but that they take the largest difference between distributions, which is the same for all
    categories that do not overlap, however far apart. Where nothing distinguishes categories, or they do not
    occur in ``rows``, they keep the order they come in.
    """
    codes_of = {category: number for number, category in enumerate(categories.tolist())}
    codes, occurring = rows.table.column(feature).factorized()
    of = np.array([codes_of.get(_plain(category), -1) for category in occurring], dtype=np.int64)
    own = np.full(len(rows), -1, np.int64)
    own[~rows.table.column(feature).missing] = of[codes] if len(codes) else np.empty(0, np.int64)
    kept = rows.keep(own >= 0)
    distance = np.zeros((len(categories), len(categories)))
    for other in range(len(rows.table.names)):
        if other != feature:
            distance += _distances(kept, other, own[own >= 0], len(categories))
    order = _line(distance)
    order_text = f"by how similar their rows are in the other features ({count(len(kept), 'row')})"
    return _taken(
        categories, order
    ), order_text if distance.any() else "as they come: nothing tells them apart"


def _distances(rows: Rows, feature: int, own: Integers, n_categories: int) -> Floats:
    """Return the distances of the categories in one other feature; one that cannot be read says nothing."""
    try:
        column = rows.table.column(feature)
    except FeatureError:
        return np.zeros((n_categories, n_categories))
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    nominal = column.kind in NOMINAL
    cells = _category_codes(column) if nominal else _ranks(column)
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
    """Return the category of each row; to miss it is one too."""
    cells = np.zeros(len(column.missing), np.int64)
    cells[~column.missing] = column.factorized()[0] + 1
    return cells


def _ranks(column: Column) -> Integers:
    """Return about where each row's number lies among all, -1 where it is missing."""
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


def _line(distance: Floats) -> Integers:
    """Return the order on the line that keeps distances best; its direction is that of the order given."""
    squares = distance**2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centered / 2)
    along = vectors[:, np.argmax(values)]
    given = np.arange(len(along)) - (len(along) - 1) / 2
    # Rounding must not decide between categories that are alike.
    along = np.round(along * (1.0 if along @ given >= 0 else -1.0), 9)
    return np.argsort(along, kind="stable")


def _taken(categories: Array, order: Integers) -> Array:
    return objects(categories[k] for k in order) if categories.dtype == object else categories[order]


def _plain(category: Any) -> Any:
    return category.item() if isinstance(category, np.generic) else category
