"""What is requested of accumulated local effects, and what all ways to evaluate them share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Floats
from paribus._evaluators.ale.accumulate import AleEstimate, accumulated
from paribus._evaluators.ale.ale_grid import AleBins, AleGrid, RowCells
from paribus._evaluators.request import EvaluationRequest, SinglePass
from paribus._states import CellMoments, Counts, Keyed
from paribus.meaning import Estimand


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
