"""ALE by brute force, of additive models, and of combinations of models."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Array, Floats
from paribus._data.rows import Block, Parts
from paribus._evaluators.additive_exact import CombinedExact, additive_of, terms_of
from paribus._evaluators.ale.accumulate import AlePass, AleRequest, collected, columns_of
from paribus._evaluators.ale.ale_grid import AleGrid, RowCells
from paribus._evaluators.brute_force import BruteForce, reraise_with_rows
from paribus._grid import Grid, moved_values
from paribus._models import Model
from paribus._models.additive import Additive
from paribus._models.combination import Combination
from paribus._states import CellMoments, Counts, Keyed, merge_in_order


@dataclass(frozen=True, eq=False)
class BruteAle(AlePass):
    r"""Differences of predictions at the edges of each row's bin, for any model.

    .. math:: \Delta_k = \frac{1}{W_k} \sum_{i: x_{ij} \in (z_{k-1}, z_k]} w_i
        \left[ f(z_k, x_{i,\setminus j}) - f(z_{k-1}, x_{i,\setminus j}) \right]

    One call of the model predicts the lower and upper edges of some rows.
    """

    model: Model
    request: AleRequest

    name: ClassVar[str] = "brute"
    shortcut: ClassVar[bool] = False
    how: ClassVar[str] = "by brute force, predictions of each row at the neighboring grid values"
    threaded: ClassVar[bool] = False

    @cached_property
    def brute(self) -> BruteForce:
        """The evaluator that stacks and predicts rows."""
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
        """Memory that evaluating one block takes: a call of the model, and differences of its rows."""
        differences = (
            4
            * self.block_rows
            * self.brute.model.n_outputs
            * max(columns_of(m) for m in self.request.ale_grids)
        )
        return self.brute.call_bytes + 8 * differences

    @property
    def row_predictions(self) -> int:
        """Maximum number of predictions per row."""
        return sum(grid.n_points for grid in self.request.ale_grids if not grid.silent)

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell, for each of the block's grids."""
        first, last = block.start, block.start + len(block.table) - 1
        block = block.weighted()
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        for number in block.questions if len(block.table) else ():
            grid = self.request.ale_grids[number]
            if grid.silent and not grid.n_cells:
                continue
            with reraise_with_rows(self.brute.model, first, last, grid.names):
                portions = [self._collected(grid, rows) for rows in block.cut(self.brute.stack_rows(grid))]
            counted = [portion for portion in portions if portion is not None]
            if counted:
                states["local", number] = merge_in_order(moments for moments, _ in counted)
                states["places", number] = merge_in_order(positions for _, positions in counted)
        return Keyed(states)

    def _collected(self, grid: AleGrid, rows: Block) -> tuple[CellMoments, Counts] | None:
        """Return the differences of some rows and their positions in cells, None if no row is in a cell."""
        located = grid.locate(rows)
        if not len(located.cells):
            return None
        if grid.silent:  # rows are still counted
            predictions = np.zeros((self.brute.model.n_outputs, grid.n_points, len(located.cells)))
        else:
            table = rows.table if located.kept is None else rows.table.keep(located.kept)
            predictions = np.concatenate(list(self.brute.predicted(grid, table, located.index)), axis=1)
        return collected(grid, located, predictions, rows)


BLOCK_ROWS = 16_384
BLOCKS = 4  # minimum number of blocks of a table, for threads


@dataclass(frozen=True, eq=False)
class AdditiveAle(AlePass):
    r"""The differences of brute force for one feature or two, from the terms of every row.

    A move to another node changes only the terms of its features. On the scale of the margin the change is
    the same for all rows of a cell, and second differences are exactly zero.
    """

    model: Model
    request: AleRequest
    additive: Additive
    features: tuple[int, ...]
    values: tuple[tuple[Floats, ...], ...]

    name: ClassVar[str] = "additive_ale"
    structure: ClassVar[type | None] = Additive
    shortcut: ClassVar[bool] = True
    how: ClassVar[str] = "exact, from the terms of the model"
    threaded: ClassVar[bool] = True

    @classmethod
    def build(cls, model: Model, request: AleRequest) -> AdditiveAle:
        """Return the evaluator, with the terms at the values of each axis of each grid."""
        grids = request.ale_grids
        features = tuple(sorted({axis.feature for grid in grids for axis in grid.axes}))
        additive = additive_of(model, features)
        requests, axes = moved_values(grids)
        terms = additive.values(requests)
        values = tuple(tuple(terms[number] for number in own) for own in axes)
        return cls(model, request, additive, features, values)

    @property
    def block_rows(self) -> int:
        """Rows per block: few enough for several threads."""
        return int(max(1, min(BLOCK_ROWS, -(-self.request.rows // BLOCKS)) // self.request.block_cut))

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: terms, and margins and outputs at the nodes of a grid."""
        margins = self.additive.n_margins
        terms = (len(self.features) + 6) * margins
        widest = max((grid.n_points + columns_of(grid) for grid in self.request.ale_grids), default=0)
        moves = 4 * widest * max(margins, self.outputs)
        rows = min(self.block_rows, self.request.rows)
        return int(rows * (FLOAT * (terms + moves) + self.additive.prepared_bytes) + self.state_bytes)

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell of every grid."""
        block = block.weighted()
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        if not len(block.table):
            return Keyed(states)
        terms = terms_of(self.additive, self.features, block)
        for number, grid in enumerate(self.request.ale_grids):
            located = grid.locate(block)
            if len(located.cells):
                predictions = self._predictions(number, grid, located, terms)
                moments, positions = collected(grid, located, predictions, block)
                states["local", number], states["places", number] = moments, positions
        return Keyed(states)

    def _predictions(self, number: int, grid: AleGrid, located: RowCells, terms: Floats) -> Floats:
        """Return the outputs ``(o, b, i)`` of rows at the nodes of their cells."""
        linear = self.additive.link.linear
        if grid.silent or (linear and len(grid.axes) == 2):  # no differences, or zero second differences
            return np.zeros((self.outputs, grid.n_points, len(located.cells)))
        own = [self.features.index(axis.feature) for axis in grid.axes]
        rest = self.additive.rest(terms, own)
        if located.kept is not None:
            rest = rest[:, located.kept]
        # Constant terms cancel in a difference; without them there is no rounding error either.
        margins = np.zeros_like(rest)[:, None] if linear else rest[:, None]
        for axis, values in enumerate(self.values[number]):
            margins = margins + values[:, located.index[..., axis]]
        return self.additive.outputs(margins)


@dataclass(frozen=True, eq=False)
class CombinedAle(AlePass):
    """The differences of brute force for single features, from the curve of every row."""

    model: Model
    request: AleRequest
    built: CombinedExact

    name: ClassVar[str] = "combined_ale"
    structure: ClassVar[type | None] = Combination
    shortcut: ClassVar[bool] = True
    most_features: ClassVar[int] = 1
    how: ClassVar[str] = "exact, from the structures of its models"
    threaded: ClassVar[bool] = True

    @classmethod
    def build(cls, model: Model, request: AleRequest) -> CombinedAle:
        """Return the evaluator, with the evaluator of curves at all values of each feature."""
        return cls(model, request, CombinedExact.build(model, _at_values(request)))

    @cached_property
    def exact(self) -> CombinedExact:
        """The evaluator of curves, with the sizes of this one."""
        return replace(self.built, request=_at_values(self.request))

    @property
    def block_rows(self) -> int:
        """Rows per block."""
        return self.exact.block_rows

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: curves, and differences of one feature."""
        widest = max((grid.n_points + columns_of(grid) for grid in self.request.ale_grids), default=0)
        moves = 4 * FLOAT * min(self.block_rows, self.request.rows) * widest * self.outputs
        return self.exact.worker_bytes + moves + self.state_bytes

    @property
    def held_bytes(self) -> int:
        """Memory of all parts."""
        return self.exact.held_bytes

    def prepare(self) -> None:
        """Prepare the curves of each feature separately."""
        self.exact.prepare_curves([(number,) for number, size in enumerate(self.exact.sizes) if size])

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell of every grid."""
        block = block.weighted()
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        if not len(block.table):
            return Keyed(states)
        rows = self.exact.read(block)
        for number, grid in enumerate(self.request.ale_grids):
            located = grid.locate(block)
            if len(located.cells):
                predictions = self._predictions(number, located, rows)
                moments, positions = collected(grid, located, predictions, block)
                states["local", number], states["places", number] = moments, positions
        return Keyed(states)

    def _predictions(self, number: int, located: RowCells, rows: Array) -> Floats:
        """Return the outputs ``(o, b, i)`` of rows at the nodes of their cells, some rows at a time."""
        grid = self.request.ale_grids[number]
        found = np.zeros((self.outputs, grid.n_points, len(located.cells)))
        if grid.silent:  # rows are still counted
            return found
        rows = rows if located.kept is None else rows[:, located.kept]
        size = self.exact.portion(self.exact.sizes[number])
        for first in range(0, len(located.cells), size):
            some = slice(first, first + size)
            computed = self.exact.curves((number,), np.ascontiguousarray(rows[:, some]))
            found[..., some] = np.take_along_axis(computed, located.index[None, :, some, 0], axis=1)
        return found


def _at_values(request: AleRequest) -> AleRequest:
    """Return the request of curves at all values of the axes."""
    return replace(request, grids=tuple(Grid(grid.axes) for grid in request.grids))
