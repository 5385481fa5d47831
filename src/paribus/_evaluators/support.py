"""How much data lies around each point: counted from the data, never from the grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._contracts import Array, Floats
from paribus._data.rows import Block
from paribus._grid import Axis, Grid
from paribus._states import Counts, Keyed


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
