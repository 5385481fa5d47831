"""Brute force: every row at the neighboring grid values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from paribus._data.rows import Block, Parts
from paribus._evaluators.ale.ale_grid import AleGrid
from paribus._evaluators.ale.ale_request import AlePass, AleRequest, collected, columns_of
from paribus._evaluators.brute_force import BruteForce, reraise_with_rows
from paribus._models import Model
from paribus._states import CellMoments, Counts, Keyed, merge_in_order


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
    def predictions(self) -> int:
        """Number of rows to predict, at most."""
        return self.request.n_weighted * sum(grid.n_points for grid in self.ale_grids if not grid.silent)

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell, for each of the block's grids."""
        first, last = block.start, block.start + len(block.table) - 1
        block = block.weighted()
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        for number in block.questions if len(block.table) else ():
            grid = self.ale_grids[number]
            if grid.silent and not grid.n_cells:
                continue
            with reraise_with_rows(self.brute.model, first, last, grid.names):
                parts = [self._collected(grid, some) for some in block.cut(self.brute.stack_rows(grid))]
            collected_parts = [part for part in parts if part is not None]
            if collected_parts:
                states["local", number] = merge_in_order(moments for moments, _ in collected_parts)
                states["places", number] = merge_in_order(positions for _, positions in collected_parts)
        return Keyed(states)

    def _collected(self, grid: AleGrid, block: Block) -> tuple[CellMoments, Counts] | None:
        located = grid.locate(block)
        if not len(located.cells):
            return None
        if grid.silent:  # rows are counted all the same
            none = np.zeros((self.brute.model.n_outputs, grid.n_points, len(located.cells)))
            return collected(grid, located, none, block.weights)
        table = block.table if located.kept is None else block.table.keep(located.kept)
        portions = list(self.brute.predicted(grid, table, located.index))
        return collected(grid, located, np.concatenate(portions, axis=1), block.weights)
