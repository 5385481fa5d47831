"""Ask the model itself: every row at the values next to its own."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import ClassVar

import numpy as np

from paribus.contracts import Floats
from paribus.data.rows import Block, Parts
from paribus.evaluators.ask import Ask
from paribus.evaluators.brute import BruteForce, naming_what_fails
from paribus.evaluators.local.bins import Located, Move
from paribus.models import Model
from paribus.states import CellMoments, Counts, Keyed, merge_in_order
from paribus.states.expected import Expected


@dataclass(frozen=True, eq=False)
class LocalBrute:
    r"""Differences of predictions at the edges of each row's bin, for any model.

    .. math:: \Delta_k = \frac{1}{W_k} \sum_{i: x_{ij} \in (z_{k-1}, z_k]} w_i
        \left[ f(z_k, x_{i,\setminus j}) - f(z_{k-1}, x_{i,\setminus j}) \right]

    Lower and upper edges of some rows are asked in one ``predict``.
    """

    model: Model
    ask: Ask
    moves: tuple[Move, ...]

    name: ClassVar[str] = "brute"
    how: ClassVar[str] = "asks the model itself about every row at the values next to its own"
    threaded: ClassVar[bool] = False

    @classmethod
    def build(cls, model: Model, ask: Ask, moves: tuple[Move, ...]) -> LocalBrute:
        """Prepare to answer; portions are those of brute force."""
        return cls(model, ask, moves)

    @cached_property
    def asking(self) -> BruteForce:
        """What stacks rows and predicts them."""
        return BruteForce(self.model, self.ask)

    @property
    def block_rows(self) -> int:
        """Rows per block."""
        return self.asking.block_rows

    @property
    def parts(self) -> Parts:
        """Groups of questions that one block asks."""
        return self.asking.parts

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: a predict, and differences of its rows."""
        differences = 4 * self.block_rows * self.asking.model.n_outputs * max(_columns(m) for m in self.moves)
        return self.asking.call_bytes + 8 * differences

    @property
    def held_bytes(self) -> int:
        """Nothing but the model, which is the user's."""
        return 0

    @property
    def state_bytes(self) -> int:
        """Memory of the states of all questions."""
        return state_bytes(self.moves, self.asking.model.n_outputs)

    @property
    def predictions(self) -> int:
        """Rows the model will be asked about, at most."""
        return self.ask.counted * sum(move.n_points for move in self.moves if not move.silent)

    def expected(self, rows: int) -> Expected:
        """Return the patterns of states of ``rows`` rows at most."""
        return expected_of(self.moves, self.asking.model.n_outputs, rows)

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell, for each of the block's questions."""
        first, last = block.start, block.start + len(block.table) - 1
        block = block.weighted()
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        for number in block.questions if len(block.table) else ():
            move = self.moves[number]
            if move.silent and not move.n_cells:
                continue
            with naming_what_fails(self.asking.model, first, last, move.names):
                parts = [self._collected(move, some) for some in block.cut(self.asking.stack_rows(move))]
            found = [part for part in parts if part is not None]
            if found:
                states["local", number] = merge_in_order(moments for moments, _ in found)
                states["places", number] = merge_in_order(places for _, places in found)
        return Keyed(states)

    def _collected(self, move: Move, block: Block) -> tuple[CellMoments, Counts] | None:
        located = move.locate(block)
        if not len(located.cells):
            return None
        if move.silent:  # rows are counted all the same
            none = np.zeros((self.asking.model.n_outputs, move.n_points, len(located.cells)))
            return collected(move, located, none, block.weights)
        table = block.table if located.kept is None else block.table.keep(located.kept)
        portions = list(self.asking.predicted(move, table, located.index))
        return collected(move, located, np.concatenate(portions, axis=1), block.weights)


def collected(
    move: Move, located: Located, predictions: Floats, weights: Floats | None
) -> tuple[CellMoments, Counts]:
    """Return the moments of what moves change in each cell, and where in it rows lie.

    ``predictions (o, b, i)`` are those of the rows that are asked, ``weights`` of all rows. The moments are
    of every move and of the sum of every two, from which their covariance is read: ``(o * columns, cells +
    1)``, the last cell that of missing values.
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


def expected_of(moves: tuple[Move, ...], outputs: int, rows: int) -> Expected:
    """Return the patterns of what `collected` returns; a move that no row makes has none."""
    found = {}
    for number, move in enumerate(moves):
        count = move.n_cells + 1
        found["local", number] = CellMoments.expected(outputs * _columns(move), count, rows)
        found["places", number] = Counts.expected((2 * len(move.bins) - 1, count), rows)
    return Expected(found, frozenset(found))


def state_bytes(moves: tuple[Move, ...], outputs: int) -> int:
    """Return the memory of the states of all questions: three numbers a quantity and cell."""
    return sum(8 * (3 * outputs * _columns(move) + 6) * (move.n_cells + 1) for move in moves)


def _columns(move: Move) -> int:
    """Return the quantities whose moments are held, per output."""
    moves = len(move.moves)
    return moves + moves * (moves - 1) // 2
