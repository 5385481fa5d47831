"""Requests of accumulated local effects, and the sums over bins."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._evaluators.ale.ale_grid import AleBins, AleGrid, RowCells
from paribus._evaluators.request import EvaluationRequest, SinglePass
from paribus._states import CellMoments, Counts, Keyed
from paribus._states.sums import LARGE, enlarged, ignore_fp_errors
from paribus.meaning import Estimand

AT_ONCE = 1 << 20  # numbers of an effect that are worked on together
MOST = 2.0**300  # times a step is lengthened at most: further than any data, and its square is a number


@dataclass(frozen=True, eq=False)
class AleEstimate:
    """A local effect found.

    ``ale`` and ``error`` are at the nodes ``(o, g0, ...)``; ``local`` and ``local_error`` of the steps
    ``(o, b0, ...)``, NaN where no row takes one, which ``empty`` marks; ``rows`` and ``weight`` of the cells;
    ``node_weight`` is how much data each node stands for, and ``missing`` the effect of the missing value and
    its error, ``(2, o)``, with how much data has it. ``by_model (m, o, g0, ...)`` and ``missing_by_model
    (m, o)`` are the effects of each of several models, whose means the others then are.
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


def accumulated(grid: AleGrid, moments: CellMoments, positions: Floats, outputs: int) -> AleEstimate:
    """Return the effect; the last cell of ``moments`` and ``positions (q, cells + 1)`` is missing."""
    with ignore_fp_errors():
        result = _accumulated(grid, moments.within(1.0), positions, outputs)
        if np.isfinite(result.ale).all() and np.isfinite(result.error).all():
            return result
        large = _accumulated(grid, moments.within(LARGE), positions, outputs)
    numbers: dict[str, Any] = {}
    for name in ("ale", "error", "local", "local_error", "missing"):
        plain, beyond = getattr(result, name), getattr(large, name)
        numbers[name] = None if plain is None else np.where(np.isfinite(plain), plain, enlarged(beyond))
    return replace(result, **numbers)


def _accumulated(grid: AleGrid, moments: CellMoments, positions: Floats, outputs: int) -> AleEstimate:
    count = len(grid.n_differences)
    means = moments.mean.reshape(outputs, -1, grid.n_cells + 1)
    variances = _steadied(moments).reshape(means.shape)
    flow = AleAccumulator(grid, moments.weight[:-1], positions[:, :-1])
    changes = np.ascontiguousarray(means[:, :count, :-1].transpose(0, 2, 1))
    covariance = _covariance(variances[..., :-1], count)
    ale = flow.effect(changes)
    error = np.sqrt(flow.variance(covariance))
    local, local_error = flow.steps(changes), np.sqrt(flow.step_variance(covariance))
    missing = None
    if grid.includes_missing:
        change = means[:, count - 1, -1], variances[:, count - 1, -1]
        missing = _at_missing(grid.bins[0].anchor, ale, error, *change)
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
    )


def _at_missing(anchor: int, ale: Floats, error: Floats, change: Floats, variance: Floats) -> Floats:
    """Return the effect at missing and its error: that at the anchor, and the change from there."""
    return np.stack([ale[:, anchor] + change, np.sqrt(error[:, anchor] ** 2 + variance)])


def _steadied(moments: CellMoments) -> Floats:
    """Return the squared errors of means; a cell of a single row takes the spread of rows in all cells.

    Rows without a value have no part in that: they come from further away than a neighboring value.
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
    steadied[:, -1] = variance[:, -1]  # nobody lends to a single row without a value
    return steadied


def _covariance(variances: Floats, count: int) -> Floats:
    """Return the covariance of the means of moves in each cell, ``(o, c, m, m)``, from variances of sums."""
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
    r"""How changes within cells add up to an effect, which is linear in them.

    Steps average the moves of the cells they lead through; a step that no row takes is that of the nearest
    that some do, in proportion to how far it leads, along two axes at most as much. Added up along the axes
    they are :math:`h(z)`. Of two axes its own first-order effects are taken away, and from the rest its
    average over the rows, between nodes as if it were straight.

    ``weight (c,)`` and ``positions (q, c)`` are those of the cells.
    """

    grid: AleGrid
    weight: Floats
    positions: Floats

    @cached_property
    def _target(self) -> Integers:
        """The step, as one number, that each move of each cell is, -1 where there is none: ``(c, m)``."""
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
        """Which steps no row takes."""
        return self._step_weight.reshape(self.grid.steps) <= 0

    @cached_property
    def _share(self) -> Floats:
        """What each move of a cell counts for in its step."""
        target, total = self._target, self._step_weight
        own = np.where(target >= 0, self.weight[:, None], 0.0)
        if not total.size:
            return own
        return np.divide(own, total[target], out=np.zeros_like(own), where=total[target] > 0)

    def steps(self, changes: Floats) -> Floats:
        """Return the mean changes ``(b, steps...)`` of moves ``(b, c, m)``, zero where no row moves."""
        target = self._target
        taken = target >= 0
        terms = (changes * self._share)[:, taken]
        size = int(np.prod(self.grid.steps))
        at = np.arange(len(changes))[:, None] * size + target[taken]
        summed = np.bincount(at.ravel(), terms.ravel(), minlength=len(changes) * size)
        return summed.astype(np.float64).reshape(len(changes), *self.grid.steps)

    def step_variance(self, covariance: Floats) -> Floats:
        """Return the squared errors of steps; no two moves of one cell are the same step."""
        own = np.einsum("ocmm->ocm", covariance) * self._share
        return self.steps(own)

    @cached_property
    def _filled_from(self) -> tuple[Integers, Floats]:
        """The step that stands for each, and by how much further it leads."""
        bins = self.grid.bins
        middles = [_middles(one) for one in bins]
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
        # Of two features a far corner may be wider by any factor than what is next to it.
        return source, np.minimum(ratio, 1.0 if len(bins) == 2 else MOST)

    @cached_property
    def node_weight(self) -> Floats:
        """How much data each node stands for: rows between two count for both, by how near they are."""
        cells = self.grid.cells
        total, *moved = (one.reshape(cells) for one in (self.weight, *self.positions))
        if len(cells) == 1:
            return _onto_nodes(total, moved[0], self.grid.bins[0], 0)
        along, across, both = moved
        near = _onto_nodes(total, along, self.grid.bins[0], 0)
        far = _onto_nodes(across, both, self.grid.bins[0], 0)
        return _onto_nodes(near, far, self.grid.bins[1], 1)

    def effect(self, changes: Floats) -> Floats:
        """Return the centered effects ``(b, nodes...)`` of changes ``(b, c, m)``."""
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
        """How the rows of each step of an axis lie along the other one: ``(b0, g1)`` and ``(g0, b1)``."""
        one, two = self.grid.bins
        total, along, across = (a.reshape(self.grid.cells) for a in (self.weight, *self.positions[:2]))
        first = _taking(one) @ _onto_nodes(total, across, two, 1)
        second = _onto_nodes(total, along, one, 0) @ _taking(two).T
        return _normal(first, 1), _normal(second, 0)

    def variance(self, covariance: Floats) -> Floats:
        """Return the squared errors ``(o, nodes...)``, given where rows lie; cells vary independently."""
        outputs, cells, count, _ = covariance.shape
        size = int(np.prod(self.grid.nodes))
        result = np.zeros((outputs, size))
        portion = max(1, AT_ONCE // max(1, size * count))
        filled = np.flatnonzero(self.weight > 0)  # a cell without rows has nothing that could vary
        for first in range(0, len(filled), portion):
            some = filled[first : first + portion]
            basis = np.zeros((len(some), count, cells, count))
            for way in range(count):
                basis[np.arange(len(some)), way, some, way] = 1.0
            effects = self.effect(basis.reshape(-1, cells, count)).reshape(len(some), count, size)
            result += np.einsum("cmg,cng,ocmn->og", effects, effects, covariance[:, some], optimize=True)
        return np.maximum(result, 0.0).reshape(outputs, *self.grid.nodes)


def _middles(bins: AleBins) -> Floats:
    """Return the middle of each step, on a scale on which all steps together are 1 long."""
    upper = np.cumsum(bins.widths)
    return np.asarray((upper - bins.widths / 2) / upper[-1])


def _onto_nodes(total: Floats, moved: Floats, bins: AleBins, axis: int) -> Floats:
    """Share the weight of cells among nodes: ``moved`` of ``total`` lies at the upper end of its cell."""
    before, after = [(0, 0)] * total.ndim, [(0, 0)] * total.ndim
    before[axis], after[axis] = (0, 1), (1, 0)
    spread = np.pad(total - moved, before) + np.pad(moved, after)
    return np.take(spread, np.arange(bins.nodes), axis=axis)


def _taking(bins: AleBins) -> Floats:
    """Return which cells' rows take each step, ``(steps, cells)``."""
    taking = np.zeros((bins.steps, bins.cells))
    for way in range(bins.n_differences):
        steps = bins.step_of[:, way]
        taking[steps[steps >= 0], np.flatnonzero(steps >= 0)] = 1.0
    return taking


def _normal(weights: Floats, axis: int) -> Floats:
    """Divide by sums along an axis; where there is no data at all, everything counts the same."""
    total = weights.sum(axis=axis, keepdims=True)
    even = np.full_like(weights, 1 / weights.shape[axis])
    return np.where(total > 0, np.divide(weights, total, out=even.copy(), where=total > 0), even)


@dataclass(frozen=True, eq=False)
class AleRequest(EvaluationRequest):
    """The effects to accumulate: each is an `AleGrid` along one feature or two."""

    statistic: ClassVar[str] = "ale"

    @cached_property
    def ale_grids(self) -> tuple[AleGrid, ...]:
        """The grids."""
        return tuple(grid for grid in self.grids if isinstance(grid, AleGrid))

    @property
    def settings(self) -> tuple[Any, ...]:
        """All that a kept state depends on besides the rows, the model and how both are cut."""
        return ([tuple(_settings(bins) for bins in grid.bins) for grid in self.ale_grids],)


def _settings(bins: AleBins) -> tuple[Any, ...]:
    axis = bins.axis
    return axis.name, axis.kind, axis.missing > 0, bins.order, bins.anchor, axis.cells.values.tolist()


class AlePass(SinglePass):
    """Moments of differences in each cell of every grid, whoever computed the differences."""

    estimand: ClassVar[Estimand] = Estimand.ACCUMULATED_LOCAL
    request: AleRequest

    @property
    def ale_grids(self) -> tuple[AleGrid, ...]:
        """The effects to find."""
        return self.request.ale_grids

    @property
    def state_bytes(self) -> int:
        """Memory of the states of all grids: three numbers a quantity and cell."""
        cells = ((columns_of(grid), grid.n_cells + 1) for grid in self.ale_grids)
        return sum(8 * (3 * self.outputs * columns + 6) * count for columns, count in cells)

    def finish(self, state: Keyed, threads: int) -> list[AleEstimate]:
        """Accumulate each effect; no rows at all leave no states."""
        return [self._accumulated(number, grid, state) for number, grid in enumerate(self.ale_grids)]

    def _accumulated(self, number: int, grid: AleGrid, state: Keyed) -> AleEstimate:
        none = np.zeros(grid.n_cells + 1)
        nothing = np.zeros((self.outputs * columns_of(grid), len(none)))
        no_moments = CellMoments(none.astype(np.int64), none, none, nothing, nothing, nothing)
        moments = state.parts.get(("local", number), no_moments)
        no_positions = Counts(np.zeros((2 * len(grid.bins) - 1, len(none))))
        positions = state.parts.get(("places", number), no_positions)
        return accumulated(grid, moments, positions.cells, self.outputs)


def collected(
    grid: AleGrid, located: RowCells, predictions: Floats, weights: Floats | None
) -> tuple[CellMoments, Counts]:
    """Return what `collected_changes` does, of predictions ``(o, b, i)`` of the rows that are evaluated."""
    with np.errstate(invalid="ignore", over="ignore"):  # an infinite prediction has no difference
        changes = grid.contrasts(predictions)
    return collected_changes(grid, located, changes, weights)


def collected_changes(
    grid: AleGrid, located: RowCells, changes: Floats, weights: Floats | None
) -> tuple[CellMoments, Counts]:
    """Return the moments of what moves change in each cell, and where in it rows lie.

    ``changes (o, moves, i)`` are those of the rows that are evaluated, ``weights`` of all rows. The moments
    are of every move and of the sum of every two, from which their covariance is read: ``(o * columns, cells
    + 1)``, the last cell that of missing values.
    """
    columns = changes
    if changes.shape[1] > 1:
        with np.errstate(invalid="ignore", over="ignore"):
            sums = [changes[:, a] + changes[:, b] for a, b in combinations(range(changes.shape[1]), 2)]
        columns = np.concatenate([changes, *(one[:, None] for one in sums)], axis=1)
    values = columns.reshape(-1, columns.shape[-1])
    weights = weights if weights is None or located.kept is None else weights[located.kept]
    count = grid.n_cells + 1
    moments = CellMoments.of(values, located.cells, weights, count)
    terms = located.across if weights is None else located.across * weights
    positions = np.stack([np.bincount(located.cells, one, minlength=count) for one in terms])
    return moments, Counts(positions)


def columns_of(grid: AleGrid) -> int:
    """Return the quantities whose moments are held, per output."""
    differences = len(grid.n_differences)
    return differences + differences * (differences - 1) // 2
