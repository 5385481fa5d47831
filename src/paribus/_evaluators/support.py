"""Support, samples and shared passes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from paribus._contracts import Array, Evaluator, Floats, Integers
from paribus._data.frame import FrameTable
from paribus._data.rows import Background, Block, Rows, sample_of
from paribus._data.scan.model_table import ModelTable
from paribus._data.scan.open import TAKE_ROWS
from paribus._grid import Axis, Grid
from paribus._states import Counts, Keyed


@dataclass(frozen=True, eq=False)
class TakenRows:
    """Some rows as Arrow has them, in order, and their weights, if they have any."""

    tables: tuple[Any, ...]
    weights: tuple[Floats, ...] = ()

    def merge(self, other: Self) -> Self:
        """Append the rows of the other."""
        return type(self)(self.tables + other.tables, self.weights + other.weights)


@dataclass(frozen=True, eq=False)
class RowsTaker:
    """Takes the rows with some ``numbers``; ``like`` shows their columns."""

    numbers: Integers
    like: ModelTable
    unit: float
    block_rows: int = TAKE_ROWS

    def evaluate(self, block: Block) -> Keyed:
        """Take those of a block."""
        stop = block.start + len(block.table)
        here = self.numbers[(self.numbers >= block.start) & (self.numbers < stop)] - block.start
        if not len(here):
            return Keyed({})
        table = cast(ModelTable, block.table).arrow.native.take(here)
        weights = () if block.weights is None else (block.weights[here],)
        return Keyed({("rows", 0): TakenRows((table,), weights)})

    def finish(self, state: Keyed) -> Rows:
        """Return the rows as a background."""
        import pyarrow as pa

        taken = state.parts["rows", 0]
        table = replace(self.like, arrow=FrameTable(pa.concat_tables(taken.tables), self.like.names))
        return Rows(table, np.concatenate(taken.weights) if taken.weights else None, self.unit)


def rows_taker(rows: Background, size: int, seed: int) -> RowsTaker:
    """Return what takes ``size`` rows, those that would be sampled if all were in memory.

    None of them may have a weight of zero: ranks are among those that have more.
    """
    numbers = sample_of(rows.n_weighted, size, seed).numbers
    return RowsTaker(numbers, cast(ModelTable, rows.table), rows.weight_scale)


@dataclass(frozen=True, eq=False)
class SupportCounter:
    """Counts, per grid, the weight of the rows in each of its cells."""

    questions: tuple[Grid, ...]

    def evaluate(self, block: Block) -> Keyed:
        """Count the cells of each grid; where axes cross, every row is located on each axis once."""
        counts: dict[tuple[str, int], Counts] = {}
        positions: dict[int, Array] = {}
        for number in block.questions:
            axes = self.questions[number].axes
            if len(axes) == 1 and axes[0].cell_counts is not None:
                continue
            if len(axes) == 1 and block.weights is None:
                counts["support", number] = Counts(_counted(axes[0], block))
                continue
            for axis in axes:
                if axis.feature not in positions:
                    positions[axis.feature] = axis.locate(block.column(axis.feature))
            located = [positions[axis.feature] for axis in axes]
            shape = tuple(axis.n_cells for axis in axes)
            counts["support", number] = Counts(_count(located, shape, block.weights))
        return Keyed(counts)

    def finish(self, state: Keyed, unit: float) -> list[Floats]:
        """Return the weight around each point; points with the same value share their cell."""
        supports = []
        for number, grid in enumerate(self.questions):
            positions = np.ix_(*(axis.cell_of_point for axis in grid.axes))
            known = grid.axes[0].cell_counts if len(grid.axes) == 1 else None
            cells = state.parts["support", number].cells if known is None else known
            supports.append(np.asarray(cells[positions] * unit, dtype=np.float64))
        return supports


def _counted(axis: Axis, block: Block) -> Array:
    """Count the rows in the cells of one axis; floats are counted as they lie."""
    floats = None if axis.nominal or not len(axis) else block.table.floats(axis.feature)
    if floats is None or floats.dtype != axis.cells.values.dtype:
        return axis.count(block.column(axis.feature))
    return axis.count_numbers(floats)


def _count(located: list[Array], shape: tuple[int, ...], weights: Floats | None) -> Array:
    if not np.prod(shape):
        return np.zeros(shape, dtype=np.int64)
    inside = np.logical_and.reduce([position >= 0 for position in located])
    flat = np.ravel_multi_index(tuple(position[inside] for position in located), shape)
    counted = None if weights is None else weights[inside]
    return np.bincount(flat, counted, minlength=int(np.prod(shape))).reshape(shape)


@dataclass(frozen=True, eq=False)
class Together:
    """Evaluates a block with each of its parts, whose states have keys of their own."""

    parts: tuple[Evaluator[Block, Keyed], ...]

    def evaluate(self, block: Block) -> Keyed:
        """Return the states of all parts."""
        states: dict[tuple[str, int], Any] = {}
        for part in self.parts:
            own = part.evaluate(block).parts
            twice = states.keys() & own.keys()
            if twice:
                raise ValueError(f"two evaluators of a pass leave states of the same name: {sorted(twice)}")
            states |= own
        return Keyed(states)
