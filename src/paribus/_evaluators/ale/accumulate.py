"""Requests of accumulated local effects, and the accumulation of finite differences over bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._data.rows import Block
from paribus._data.samples import UNIT_PARTS, occupied_parts, taken
from paribus._evaluators.ale.ale_grid import AleBins, AleGrid, RowCells
from paribus._evaluators.request import MOST_PAIRED, MOST_PRODUCTS, EvaluationRequest, SinglePass
from paribus._states import CellMoments, Counts, Keyed
from paribus._states.sums import ignore_fp_errors
from paribus.meaning import Estimand

AT_ONCE = 1 << 20  # maximum array size in the computation of variances
MOST = 2.0**300  # maximum ratio of step widths; its square is finite


@dataclass(frozen=True, eq=False)
class AleEstimate:
    """Accumulated local effect of one grid.

    ``ale`` and ``error`` are at the nodes, ``(o, g0, ...)``. ``local`` and ``local_error`` are those of the
    steps, ``(o, b0, ...)``; they are NaN in steps without rows, which ``empty`` marks. ``rows`` and
    ``weight`` are those of the cells, and ``node_weight`` is the weight of the data at each node. ``missing
    (2, o)`` is the effect of the missing value and its error, and ``missing_weight`` the weight of missing
    values. If there are several models, ``by_model (m, o, g0, ...)`` and ``missing_by_model (m, o)`` are
    their effects, and the other fields are means over the models. ``covariance (o, g, g)`` is that of the
    nodes of one feature, and the missing value. ``share_covariance (c, c)`` is that of the shares of the data
    in the bins, and at the missing value, of dependent rows.
    """

    ale: Floats
    error: Floats
    local: Floats
    local_error: Floats
    empty: Flags
    rows: Integers
    weight: Floats
    node_weight: Floats
    missing: Floats | None
    missing_weight: float
    by_model: Floats | None = None
    missing_by_model: Floats | None = None
    covariance: Floats | None = None
    share_covariance: Floats | None = None


@ignore_fp_errors()
def accumulated(grid: AleGrid, moments: CellMoments, positions: Floats, outputs: int) -> AleEstimate:
    """Return the effect; the last cell of ``moments`` and ``positions (q, cells + 1)`` has missing values."""
    count = len(grid.n_differences)
    means = moments.mean.reshape(outputs, -1, grid.n_cells + 1)
    variances = _steadied(moments).reshape(means.shape)
    flow = AleAccumulator(grid, moments.weight[:-1], positions[:, :-1])
    changes = np.ascontiguousarray(means[:, :count, :-1].transpose(0, 2, 1))
    ale, local = flow.effect(changes), flow.steps(changes)
    if moments.parts is not None:
        return _of_units(grid, moments, flow, ale, local, outputs)
    covariance = _difference_covariance(variances[..., :-1], count)
    error = np.sqrt(flow.variance(covariance))
    pairs = flow.covariance(covariance) if len(grid.bins) == 1 else None
    local_error = np.sqrt(flow.step_variance(covariance))
    missing = None
    if grid.includes_missing:
        anchor, change, variance = grid.bins[0].anchor, means[:, count - 1, -1], variances[:, count - 1, -1]
        missing = np.stack([ale[:, anchor] + change, np.sqrt(error[:, anchor] ** 2 + variance)])
        if pairs is not None:
            nodes = np.append(np.arange(ale.shape[1]), anchor)
            pairs = pairs[:, nodes[:, None], nodes]
            pairs[:, -1, -1] += variance
    return AleEstimate(
        ale,
        error,
        np.where(flow.empty, np.nan, local),
        np.where(flow.empty, np.nan, local_error),
        flow.empty,
        moments.rows[:-1].reshape(grid.cells),
        moments.weight[:-1].reshape(grid.cells),
        flow.node_weight,
        missing,
        float(moments.weight[-1]),
        covariance=pairs,
    )


def _of_units(
    grid: AleGrid, moments: CellMoments, flow: AleAccumulator, ale: Floats, local: Floats, outputs: int
) -> AleEstimate:
    """Return the effect with the errors of units of dependent rows, which may be in several cells."""
    count, cells = len(grid.n_differences), grid.n_cells
    influences = _pooled(moments).reshape(outputs, -1, UNIT_PARTS, cells + 1)[:, :count]
    in_cells = influences[..., :-1].transpose(2, 0, 3, 1).reshape(-1, cells, count)
    along = flow.effect(in_cells).reshape(UNIT_PARTS, outputs, *grid.nodes)
    steps = flow.steps(in_cells).reshape(UNIT_PARTS, outputs, *grid.steps)
    missing, points = None, along
    if grid.includes_missing:
        anchor, change = grid.bins[0].anchor, moments.mean.reshape(outputs, -1, cells + 1)[:, count - 1, -1]
        last = along[:, :, anchor] + influences[:, count - 1, :, -1].T
        missing = np.stack([ale[:, anchor] + change, np.sqrt((last**2).sum(axis=0))])
        points = np.concatenate([along, last[..., None]], axis=2)
    pairs = shares = None
    if len(grid.bins) == 1 and points.shape[2] <= MOST_PAIRED:
        pairs = np.einsum("pog,poh->ogh", points, points)
        assert moments.parts is not None
        weight = moments.parts[-1] if missing is not None else moments.parts[-1][:, :-1]
        share = weight.sum(axis=0) / weight.sum()
        apart = (weight - share * weight.sum(axis=1, keepdims=True)) / weight.sum()
        occupied = int(np.count_nonzero(weight.sum(axis=1)))
        shares = apart.T @ apart * (occupied / (occupied - 1) if occupied > 1 else np.nan)
    return AleEstimate(
        ale,
        np.sqrt((along**2).sum(axis=0)),
        np.where(flow.empty, np.nan, local),
        np.where(flow.empty, np.nan, np.sqrt((steps**2).sum(axis=0))),
        flow.empty,
        moments.rows[:-1].reshape(grid.cells),
        moments.weight[:-1].reshape(grid.cells),
        flow.node_weight,
        missing,
        float(moments.weight[-1]),
        covariance=pairs,
        share_covariance=shares,
    )


def _pooled(moments: CellMoments) -> Floats:
    """Return the influence ``(q, p, c)`` of parts of the units.

    A cell with rows of a single part uses the pooled variance of the other cells, NaN without any.
    """
    influences, known = moments.influences(), moments.independent > 1
    alone = (moments.independent == 1) & (np.arange(len(known)) < len(known) - 1)
    if not alone.any():
        return influences
    assert moments.parts is not None
    lend = known & (np.arange(len(known)) < len(known) - 1)
    squares = (influences[..., lend] ** 2).sum(axis=1) * moments.weight[lend]
    pooled = np.sqrt(squares.mean(axis=1)) if lend.any() else np.full(len(influences), np.nan)
    part = moments.parts[-1][:, alone] > 0
    influences[..., alone] = part * (pooled[:, None] / np.sqrt(moments.weight[alone]))[:, None]
    return influences


def _steadied(moments: CellMoments) -> Floats:
    """Return the variances of cell means; a cell with a single row uses the pooled variance of all cells.

    Missing values are not pooled: their difference is not that between neighboring values.
    """
    variance = moments.variance()
    several = moments.rows > 1
    lend = several & (np.arange(len(several)) < len(several) - 1)
    free = (moments.weight_sq * (1 - 1 / np.maximum(moments.rows, 1)))[lend].sum()
    with np.errstate(invalid="ignore", over="ignore"):
        pooled = (
            moments.sum_of_squares[:, lend].sum(axis=1) / free if free else np.full(len(variance), np.nan)
        )
    steadied = np.where(several, variance, np.where(moments.rows == 0, 0.0, pooled[:, None]))
    steadied[:, -1] = variance[:, -1]  # a single missing value does not use the pooled variance
    return steadied


def _difference_covariance(variances: Floats, count: int) -> Floats:
    """Return the covariance ``(o, c, m, m)`` of mean differences in each cell, from variances of sums."""
    outputs, _, cells = variances.shape
    result = np.zeros((outputs, cells, count, count))
    for one in range(count):
        result[..., one, one] = variances[:, one]
    for position, (one, two) in enumerate(combinations(range(count), 2), count):
        both = (variances[:, position] - variances[:, one] - variances[:, two]) / 2
        result[..., one, two] = result[..., two, one] = both
    return result


@dataclass(frozen=True, eq=False)
class AleAccumulator:
    r"""Accumulation of differences within cells to an effect, which is a linear function of them.

    A step is the average of the differences in its cells. A step without rows takes the value of the nearest
    step with rows, times the ratio of their widths; for two features the ratio is at most 1. The cumulative
    sum of steps along the axes is :math:`h(z)`. For two features, the first-order effects of :math:`h` are
    subtracted. Finally the average over the rows is subtracted, with linear interpolation between nodes.

    ``weight (c,)`` is the weight of the cells. ``positions (q, c)`` are sums of the positions of rows in
    cells.
    """

    grid: AleGrid
    weight: Floats
    positions: Floats

    @cached_property
    def _target(self) -> Integers:
        """Flat index ``(c, m)`` of the step of each difference in each cell, -1 if there is none."""
        grids = np.meshgrid(*(np.arange(cells) for cells in self.grid.cells), indexing="ij")
        targets = np.full((self.grid.n_cells, len(self.grid.n_differences)), -1)
        for column, differences in enumerate(self.grid.n_differences):
            along = [
                bins.step_of[grid.ravel(), way]
                for bins, grid, way in zip(self.grid.bins, grids, differences, strict=True)
            ]
            some = np.logical_and.reduce([steps >= 0 for steps in along])
            at = tuple(steps[some] for steps in along)
            targets[some, column] = np.ravel_multi_index(at, self.grid.steps) if some.any() else at[0]
        return targets

    @cached_property
    def _step_weight(self) -> Floats:
        target = self._target
        weight = np.repeat(self.weight[:, None], target.shape[1], axis=1)
        taken = target >= 0
        count = int(np.prod(self.grid.steps))
        return np.bincount(target[taken], weight[taken], minlength=count).astype(np.float64)

    @cached_property
    def empty(self) -> Flags:
        """Steps without rows."""
        return self._step_weight.reshape(self.grid.steps) <= 0

    @cached_property
    def _share(self) -> Floats:
        """Share of each difference of a cell in the weight of its step."""
        target, total = self._target, self._step_weight
        own = np.where(target >= 0, self.weight[:, None], 0.0)
        if not total.size:
            return own
        return np.divide(own, total[target], out=np.zeros_like(own), where=total[target] > 0)

    def steps(self, changes: Floats) -> Floats:
        """Return the mean differences ``(b, steps...)`` of cell differences ``(b, c, m)``, 0 without rows."""
        target = self._target
        taken = target >= 0
        terms = (changes * self._share)[:, taken]
        size = int(np.prod(self.grid.steps))
        at = np.arange(len(changes))[:, None] * size + target[taken]
        summed = np.bincount(at.ravel(), terms.ravel(), minlength=len(changes) * size)
        return summed.astype(np.float64).reshape(len(changes), *self.grid.steps)

    def step_variance(self, covariance: Floats) -> Floats:
        """Return the variances of steps; the differences of one cell belong to different steps."""
        own = np.einsum("ocmm->ocm", covariance) * self._share
        return self.steps(own)

    @cached_property
    def _filled_from(self) -> tuple[Integers, Floats]:
        """The step whose value each step takes, and the ratio of their widths."""
        bins = self.grid.bins
        ends = [np.cumsum(one.widths) for one in bins]
        # Middles of steps, on a scale on which all steps of an axis together have length 1.
        middles = [(upper - one.widths / 2) / upper[-1] for one, upper in zip(bins, ends, strict=True)]
        at = np.stack([grid.ravel() for grid in np.meshgrid(*middles, indexing="ij")], axis=1)
        known, source = np.flatnonzero(~self.empty.ravel()), np.arange(len(at))
        for position in np.flatnonzero(self.empty.ravel()) if len(known) else ():
            source[position] = known[np.argmin(((at[known] - at[position]) ** 2).sum(axis=1))]
        ratio = np.ones(len(at))
        here, there = (
            np.unravel_index(positions, self.grid.steps) for positions in (np.arange(len(at)), source)
        )
        with np.errstate(over="ignore"):
            for one, to, taken in zip(bins, here, there, strict=True):
                ratio *= np.minimum(one.widths[to] / one.widths[taken], MOST)
        # With two features, an empty corner may be wider than its neighbor by any factor.
        return source, np.minimum(ratio, 1.0 if len(bins) == 2 else MOST)

    @cached_property
    def node_weight(self) -> Floats:
        """Weight of the data at each node; rows between nodes are shared in proportion to their position."""
        cells = self.grid.cells
        total, *moved = (one.reshape(cells) for one in (self.weight, *self.positions))
        if len(cells) == 1:
            return _onto_nodes(total, moved[0], self.grid.bins[0], 0)
        along, across, both = moved
        near = _onto_nodes(total, along, self.grid.bins[0], 0)
        far = _onto_nodes(across, both, self.grid.bins[0], 0)
        return _onto_nodes(near, far, self.grid.bins[1], 1)

    def effect(self, changes: Floats) -> Floats:
        """Return the centered effects ``(b, nodes...)`` of cell differences ``(b, c, m)``."""
        if not all(self.grid.steps):
            return np.zeros((len(changes), *self.grid.nodes))
        source, ratio = self._filled_from
        flat = self.steps(changes).reshape(len(changes), -1)
        rises = (flat[:, source] * ratio).reshape(len(changes), *self.grid.steps)
        for axis in range(len(self.grid.bins)):
            rises = np.cumsum(rises, axis=1 + axis)
        heights = np.pad(rises, [(0, 0), *((1, 0) for _ in self.grid.bins)])
        if len(self.grid.bins) == 2:
            heights = heights - self._main(heights, 0)[:, :, None] - self._main(heights, 1)[:, None]
        return heights - self._average(heights)

    def _average(self, heights: Floats) -> Floats:
        weight = self.node_weight
        total = weight.sum()
        shares = weight / total if total > 0 else np.full(weight.shape, 1 / weight.size)
        axes = tuple(range(1, heights.ndim))
        return np.asarray((heights * shares).sum(axis=axes, keepdims=True))

    def _main(self, heights: Floats, axis: int) -> Floats:
        """Return the first-order effect ``(b, nodes)`` of a surface along one of its axes."""
        rises = np.diff(heights, axis=1 + axis)
        shares = self._shares_along[axis]
        steps = (rises * shares).sum(axis=2 - axis)
        return np.pad(np.cumsum(steps, axis=1), [(0, 0), (1, 0)])

    @cached_property
    def _shares_along(self) -> tuple[Floats, Floats]:
        """Shares of the rows of each step at the nodes of the other axis: ``(b0, g1)`` and ``(g0, b1)``."""
        one, two = self.grid.bins
        total, along, across = (a.reshape(self.grid.cells) for a in (self.weight, *self.positions[:2]))
        first = _taking(one) @ _onto_nodes(total, across, two, 1)
        second = _onto_nodes(total, along, one, 0) @ _taking(two).T
        return _normal(first, 1), _normal(second, 0)

    def variance(self, covariance: Floats) -> Floats:
        """Return the variances ``(o, nodes...)``, given the cells of rows; cells are independent."""
        found = self._summed(covariance, "cmg,cng,ocmn->og", (self._size,))
        return np.maximum(found, 0.0).reshape(len(covariance), *self.grid.nodes)

    def covariance(self, covariance: Floats) -> Floats | None:
        """Return the covariance ``(o, g, g)`` of the nodes, None if there are very many."""
        if self._size > MOST_PAIRED or len(covariance) * self._size**2 > MOST_PRODUCTS:
            return None
        return self._summed(covariance, "cmg,cnh,ocmn->ogh", (self._size, self._size))

    @property
    def _size(self) -> int:
        return int(np.prod(self.grid.nodes))

    def _summed(self, covariance: Floats, formula: str, shape: tuple[int, ...]) -> Floats:
        """Return a sum over cells of products of the effects of their differences."""
        outputs, cells, count, _ = covariance.shape
        result = np.zeros((outputs, *shape))
        portion = max(1, AT_ONCE // max(1, self._size * count))
        filled = np.flatnonzero(self.weight > 0)  # empty cells have no variance
        for first in range(0, len(filled), portion):
            some = filled[first : first + portion]
            basis = np.zeros((len(some), count, cells, count))
            for way in range(count):
                basis[np.arange(len(some)), way, some, way] = 1.0
            effects = self.effect(basis.reshape(-1, cells, count)).reshape(len(some), count, self._size)
            result += np.einsum(formula, effects, effects, covariance[:, some], optimize=True)
        return result


def _onto_nodes(total: Floats, moved: Floats, bins: AleBins, axis: int) -> Floats:
    """Distribute the weight of cells over nodes: ``moved`` of ``total`` goes to the upper node of a cell."""
    before, after = [(0, 0)] * total.ndim, [(0, 0)] * total.ndim
    before[axis], after[axis] = (0, 1), (1, 0)
    spread = np.pad(total - moved, before) + np.pad(moved, after)
    return np.take(spread, np.arange(bins.nodes), axis=axis)


def _taking(bins: AleBins) -> Floats:
    """Return 1 for the cells whose rows contribute to each step, else 0, ``(steps, cells)``."""
    taking = np.zeros((bins.steps, bins.cells))
    for way in range(bins.n_differences):
        steps = bins.step_of[:, way]
        taking[steps[steps >= 0], np.flatnonzero(steps >= 0)] = 1.0
    return taking


def _normal(weights: Floats, axis: int) -> Floats:
    """Divide by sums along an axis; if a sum is 0, return equal shares."""
    total = weights.sum(axis=axis, keepdims=True)
    even = np.full_like(weights, 1 / weights.shape[axis])
    return np.where(total > 0, np.divide(weights, total, out=even.copy(), where=total > 0), even)


@dataclass(frozen=True, eq=False)
class AleRequest(EvaluationRequest):
    """Request of accumulated local effects, each with an `AleGrid` of one feature or two."""

    statistic: ClassVar[str] = "ale"

    @cached_property
    def ale_grids(self) -> tuple[AleGrid, ...]:
        """The grids, all of which are ALE grids."""
        return tuple(grid for grid in self.grids if isinstance(grid, AleGrid))

    @property
    def settings(self) -> tuple[Any, ...]:
        """Options of a stored state, in addition to the rows, the model and the sizes of blocks."""
        settings = []
        for grid in self.ale_grids:
            axes = (
                (one.axis.name, one.axis.kind, one.axis.missing > 0, one.order, one.anchor, one.axis.cells)
                for one in grid.bins
            )
            settings.append(tuple((*facts, cells.values.tolist()) for *facts, cells in axes))
        return (settings,)


class AlePass(SinglePass):
    """Base class of evaluators of ALE, which compute moments of differences in each cell of every grid."""

    estimand: ClassVar[Estimand] = Estimand.ACCUMULATED_LOCAL
    most_features: ClassVar[int] = 2  # of a grid that the evaluator can compute
    request: AleRequest

    @classmethod
    def covers(cls, request: Any) -> tuple[int, ...]:
        """Return the numbers of the grids with at most ``most_features`` features."""
        grids = enumerate(request.ale_grids)
        return tuple(number for number, grid in grids if len(grid.bins) <= cls.most_features)

    @property
    def error_units(self) -> int | None:
        """Number of parts of the units that the standard errors are computed from."""
        units = super().error_units
        return None if units is None else occupied_parts(units)

    @property
    def state_bytes(self) -> int:
        """Memory of the states of all grids: three floats per quantity and cell, and six per cell."""
        cells = ((columns_of(grid), grid.n_cells + 1) for grid in self.request.ale_grids)
        arrays = 3 + self.request.dependent * UNIT_PARTS
        return sum(8 * (arrays * self.outputs * columns + 6) * count for columns, count in cells)

    def finish(self, state: Keyed, threads: int) -> list[AleEstimate]:
        """Return the effect of each grid; without rows there are no states."""
        return [self._accumulated(number, grid, state) for number, grid in enumerate(self.request.ale_grids)]

    def _accumulated(self, number: int, grid: AleGrid, state: Keyed) -> AleEstimate:
        none = np.zeros(grid.n_cells + 1)
        nothing = np.zeros((self.outputs * columns_of(grid), len(none)))
        no_moments = CellMoments(none.astype(np.int64), none, none, nothing, nothing, nothing)
        moments = state.parts.get(("local", number), no_moments)
        no_positions = Counts(np.zeros((2 * len(grid.bins) - 1, len(none))))
        positions = state.parts.get(("places", number), no_positions)
        return accumulated(grid, moments, positions.cells, self.outputs)


def collected(
    grid: AleGrid, located: RowCells, predictions: Floats, block: Block
) -> tuple[CellMoments, Counts]:
    """Return the result of `collected_changes` for predictions ``(o, b, i)`` of the evaluated rows."""
    with np.errstate(invalid="ignore", over="ignore"):  # infinite predictions have no difference
        changes = grid.contrasts(predictions)
    return collected_changes(grid, located, changes, block)


def collected_changes(
    grid: AleGrid, located: RowCells, changes: Floats, block: Block
) -> tuple[CellMoments, Counts]:
    """Return the moments of differences in each cell, and the sums of the positions of rows in it.

    ``changes (o, moves, i)`` are the differences of the evaluated rows among those of a block. The moments
    ``(o * columns, cells + 1)`` are those of every difference, and of the sum of every two, which give their
    covariance. The last cell has the missing values.
    """
    columns = changes
    if changes.shape[1] > 1:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = [changes[:, a] + changes[:, b] for a, b in combinations(range(changes.shape[1]), 2)]
        columns = np.concatenate([changes, *(one[:, None] for one in sums)], axis=1)
    values = columns.reshape(-1, columns.shape[-1])
    kept = slice(None) if located.kept is None else located.kept
    weights, parts, count = taken(block.weights, kept), taken(block.unit_parts, kept), grid.n_cells + 1
    moments = CellMoments.of(values, located.cells, weights, count, parts)
    terms = located.across if weights is None else located.across * weights
    positions = np.stack([np.bincount(located.cells, one, minlength=count) for one in terms])
    return moments, Counts(positions)


def columns_of(grid: AleGrid) -> int:
    """Return the number of quantities per output whose moments are computed."""
    differences = len(grid.n_differences)
    return differences + differences * (differences - 1) // 2
