"""What is requested of accumulated local effects, and what all ways to evaluate them share."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from paribus.contracts import Floats
from paribus.evaluators.ale.accumulate import AleEstimate, accumulated
from paribus.evaluators.ale.ale_grid import AleBins, AleGrid, RowCells
from paribus.evaluators.request import EvaluationRequest, SinglePass
from paribus.meaning import Estimand
from paribus.states import CellMoments, Counts, Keyed
from paribus.states.expected import Expected


@dataclass(frozen=True, eq=False)
class AleRequest(EvaluationRequest):
    """The effects to accumulate: each is an `AleGrid` along one feature or two."""

    statistic: ClassVar[str] = "ale"

    @property
    def moves(self) -> tuple[AleGrid, ...]:
        """The grids."""
        return tuple(question for question in self.grids if isinstance(question, AleGrid))

    @property
    def settings(self) -> tuple[Any, ...]:
        """All that a kept state depends on besides the rows, the model and how both are cut."""
        return ([tuple(_settings(bins) for bins in move.bins) for move in self.moves],)


def _settings(bins: AleBins) -> tuple[Any, ...]:
    axis = bins.axis
    return axis.name, axis.kind, axis.missing > 0, bins.order, bins.anchor, axis.cells.values.tolist()


class AlePass(SinglePass):
    """Moments of differences in each cell of every grid, whoever computed the differences."""

    estimand: ClassVar[Estimand] = Estimand.ACCUMULATED_LOCAL
    request: AleRequest

    @property
    def moves(self) -> tuple[AleGrid, ...]:
        """The effects to find."""
        return self.request.moves

    @property
    def state_bytes(self) -> int:
        """Memory of the states of all grids: three numbers a quantity and cell."""
        cells = ((columns_of(move), move.n_cells + 1) for move in self.moves)
        return sum(8 * (3 * self.outputs * columns + 6) * count for columns, count in cells)

    def expected(self, rows: int) -> Expected:
        """Return the patterns of states of ``rows`` rows at most; a move that no row makes has none."""
        found = {}
        for number, move in enumerate(self.moves):
            count = move.n_cells + 1
            found["local", number] = CellMoments.expected(self.outputs * columns_of(move), count, rows)
            found["places", number] = Counts.expected((2 * len(move.bins) - 1, count), rows)
        return Expected(found, frozenset(found))

    def finish(self, state: Keyed, threads: int) -> list[AleEstimate]:
        """Accumulate each effect; no rows at all leave no states."""
        return [self._accumulated(number, move, state) for number, move in enumerate(self.moves)]

    def _accumulated(self, number: int, move: AleGrid, state: Keyed) -> AleEstimate:
        none = np.zeros(move.n_cells + 1)
        nothing = np.zeros((self.outputs * columns_of(move), len(none)))
        no_moments = CellMoments(none.astype(np.int64), none, none, nothing, nothing, nothing)
        moments = state.parts.get(("local", number), no_moments)
        no_places = Counts(np.zeros((2 * len(move.bins) - 1, len(none))))
        places = state.parts.get(("places", number), no_places)
        return accumulated(move, moments, places.cells, self.outputs)


def collected(
    move: AleGrid, located: RowCells, predictions: Floats, weights: Floats | None
) -> tuple[CellMoments, Counts]:
    """Return the moments of what moves change in each cell, and where in it rows lie.

    ``predictions (o, b, i)`` are those of the rows that are evaluated, ``weights`` of all rows. The moments
    are of every move and of the sum of every two, from which their covariance is read: ``(o * columns, cells
    + 1)``, the last cell that of missing values.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # an infinite prediction has no difference
        changes = move.contrasts(predictions)
        sums = [changes[:, a] + changes[:, b] for a, b in combinations(range(changes.shape[1]), 2)]
    columns = np.concatenate([changes, *(one[:, None] for one in sums)], axis=1)
    values = columns.reshape(-1, columns.shape[-1])
    weights = weights if weights is None or located.kept is None else weights[located.kept]
    count = move.n_cells + 1
    moments = CellMoments.of(values, located.cells, weights, count)
    terms = located.across if weights is None else located.across * weights
    places = np.stack([np.bincount(located.cells, one, minlength=count) for one in terms])
    return moments, Counts(places)


def columns_of(move: AleGrid) -> int:
    """Return the quantities whose moments are held, per output."""
    moves = len(move.n_differences)
    return moves + moves * (moves - 1) // 2
