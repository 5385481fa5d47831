"""Brute force: every row at the neighboring grid values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from paribus._contracts import Floats
from paribus._data.rows import Block, Parts
from paribus._evaluators.ale.ale_grid import AleGrid, RowCells
from paribus._evaluators.ale.ale_request import AlePass, AleRequest, collected, columns_of
from paribus._evaluators.brute_force import BruteForce, Piece, reraise_with_rows
from paribus._models import Model
from paribus._states import CellMoments, Counts, Keyed, merge_in_order


@dataclass(frozen=True, eq=False)
class LocatedRows:
    """Rows of a block, and the cells of a grid that they are in."""

    number: int
    grid: AleGrid
    block: Block
    cells: RowCells

    @cached_property
    def piece(self) -> Piece | None:
        """What is to predict; nothing of a grid that has no move."""
        if self.grid.silent:
            return None
        table, kept = self.block.table, self.cells.kept
        return Piece(self.grid, table if kept is None else table.keep(kept), self.cells.index)


@dataclass(frozen=True, eq=False)
class BruteAle(AlePass):
    r"""Differences of predictions at the edges of each row's bin, for any model.

    .. math:: \Delta_k = \frac{1}{W_k} \sum_{i: x_{ij} \in (z_{k-1}, z_k]} w_i
        \left[ f(z_k, x_{i,\setminus j}) - f(z_{k-1}, x_{i,\setminus j}) \right]

    Lower and upper edges of some rows are evaluated in one ``predict``.
    """

    model: Model
    request: AleRequest

    name: ClassVar[str] = "brute"
    shortcut: ClassVar[bool] = False
    shortcut_passes: ClassVar[int] = 2
    how: ClassVar[str] = "evaluates the model for every row at the neighboring grid values"
    threaded: ClassVar[bool] = False

    @classmethod
    def build(cls, model: Model, request: AleRequest) -> BruteAle:
        """Prepare; portions are those of brute force."""
        return cls(model, request)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.model.n_outputs

    @cached_property
    def brute(self) -> BruteForce:
        """What stacks rows and predicts them."""
        return BruteForce(self.model, self.request)

    @property
    def block_rows(self) -> int:
        """Rows per block."""
        return self.brute.block_rows

    @property
    def parts(self) -> Parts:
        """Groups of grids evaluated per block."""
        return self.brute.parts

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: a predict, and differences of its rows."""
        differences = (
            4 * self.block_rows * self.brute.model.n_outputs * max(columns_of(m) for m in self.ale_grids)
        )
        return self.brute.call_bytes + 8 * differences

    @property
    def row_predictions(self) -> int:
        """Predictions that each row takes, at most."""
        return sum(grid.n_points for grid in self.ale_grids if not grid.silent)

    @property
    def predictions(self) -> int:
        """Number of rows to predict, at most."""
        return self.request.n_weighted * self.row_predictions

    @property
    def calls(self) -> int:
        """Number of predicts, where every row is in a bin."""
        return self.brute.calls_for([(grid, grid.n_points) for grid in self.ale_grids if not grid.silent])

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell, for each of the block's grids."""
        portions = list(block.cut(self.brute.portion_rows)) if self.brute.batched else []
        portions = portions or [block]
        located = [list(self._located(portion)) for portion in portions]
        predictions: Iterator[Floats] | None = None
        if self.brute.batched:
            pieces = [one.piece for some in located for one in some if one.piece is not None]
            predictions = iter(self.brute.predict_together(block, pieces))
        return merge_in_order(
            self._states(portion, some, predictions) for portion, some in zip(portions, located, strict=True)
        )

    def _located(self, block: Block) -> Iterator[LocatedRows]:
        """Yield some rows at a time, with the cell of each, for each of the block's grids."""
        block = block.weighted()
        for number in block.questions if len(block.table) else ():
            grid = self.ale_grids[number]
            if grid.silent and not grid.n_cells:
                continue
            for some in block.cut(self.brute.stack_rows(grid)):
                cells = grid.locate(some)
                if len(cells.cells):
                    yield LocatedRows(number, grid, some, cells)

    def _states(
        self, block: Block, located: list[LocatedRows], predictions: Iterator[Floats] | None
    ) -> Keyed:
        first, last = block.start, block.start + len(block.table) - 1
        parts: dict[int, list[tuple[CellMoments, Counts]]] = {}
        for one in located:
            with reraise_with_rows(self.brute.model, first, last, one.grid.names):
                parts.setdefault(one.number, []).append(self._collected(one, predictions))
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        for number, found in parts.items():
            states["local", number] = merge_in_order(moments for moments, _ in found)
            states["places", number] = merge_in_order(positions for _, positions in found)
        return Keyed(states)

    def _collected(
        self, one: LocatedRows, predictions: Iterator[Floats] | None
    ) -> tuple[CellMoments, Counts]:
        piece, grid = one.piece, one.grid
        if piece is None:  # rows are counted all the same
            found = np.zeros((self.brute.model.n_outputs, grid.n_points, len(one.cells.cells)))
        elif predictions is not None:
            found = next(predictions)
        else:
            found = np.concatenate(list(self.brute.predicted(grid, piece.table, piece.index)), axis=1)
        return collected(grid, one.cells, found, one.block.weights)
