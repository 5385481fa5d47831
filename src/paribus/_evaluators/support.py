"""Support of grids, sampled rows that are read, and passes shared by several evaluators."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np

from paribus._contracts import Array, Evaluator, Floats, Integers
from paribus._data.frame import FrameTable
from paribus._data.rows import Block, Rows
from paribus._data.samples import sample_numbers, taken
from paribus._data.scan.model_table import ModelTable
from paribus._grid import Axis, Grid
from paribus._states import Counts, Keyed

if TYPE_CHECKING:
    from paribus._data.scan.open import Background

TAKE_ROWS = 65_536  # rows read at a time when only some are kept


@dataclass(frozen=True, eq=False)
class KeptRows:
    """At most ``most`` Arrow rows with positive weight, sampled by their ``numbers`` alone, as in memory.

    The sample differs for partitions that a cluster computes, as long as their lengths are unknown: rows are
    then numbered within the partition.
    """

    most: int
    seed: int
    numbers: Integers
    rows: Any
    weights: Floats | None = None
    units: Integers | None = None

    @classmethod
    def of(cls, block: Block, seed: int, most: int) -> Self:
        """Sample rows of a block."""
        arrow = cast(ModelTable, block.table).arrow.native
        counted = np.arange(len(block.table)) if block.weights is None else np.flatnonzero(block.weights > 0)
        numbers = block.positions[counted]
        sampled = sample_numbers(numbers, seed, most)
        chosen = counted[sampled]
        weights, units = taken(block.weights, chosen), taken(block.units, chosen)
        return cls(most, seed, numbers[sampled], arrow.take(chosen), weights, units)

    def merge(self, other: Self) -> Self:
        """Sample rows of both."""
        import pyarrow as pa

        numbers = np.concatenate([self.numbers, other.numbers])
        order = np.argsort(numbers)
        chosen = order[sample_numbers(numbers[order], self.seed, self.most)]
        rows = pa.concat_tables([self.rows, other.rows]).unify_dictionaries().take(chosen)
        weights, units = (
            None if array is None else np.concatenate([array, more])[chosen]
            for array, more in ((self.weights, other.weights), (self.units, other.units))
        )
        return type(self)(self.most, self.seed, numbers[chosen], rows, weights, units)


@dataclass(frozen=True, eq=False)
class RowSampler:
    """Evaluator that samples ``size`` rows, the same as in memory."""

    size: int
    seed: int
    block_rows: ClassVar[int] = TAKE_ROWS

    def evaluate(self, block: Block) -> Keyed:
        """Return the sampled rows of a block."""
        return Keyed({("sample", 0): KeptRows.of(block, self.seed, self.size)})

    def finish(self, state: Keyed, like: Background) -> Rows:
        """Return the sampled rows as background data with the columns of ``like``."""
        kept, table = state.parts["sample", 0], cast(ModelTable, like.table)
        table = replace(table, arrow=FrameTable(kept.rows, table.names))
        return Rows(table, kept.weights, like.weight_scale, units=kept.units)


@dataclass(frozen=True, eq=False)
class Support:
    """Weight of the rows around the points of a grid, and of those with a missing value.

    ``ranks (2, g)`` are the weights of the rows with a smaller value than each point, and with at most its
    value. It is None for several features and for values without an order.
    """

    points: Floats
    missing: float
    ranks: Floats | None = None


@dataclass(frozen=True, eq=False)
class SupportCounter:
    """Evaluator of the support: the weight of the rows in each cell of each grid, and of missing values."""

    questions: tuple[Grid, ...]

    def evaluate(self, block: Block) -> Keyed:
        """Return the weight in the cells of each grid; rows are located on each axis only once."""
        counts: dict[tuple[str, int], Counts] = {}
        positions: dict[int, Array] = {}
        for number in block.questions:
            axes = self.questions[number].axes
            if len(axes) == 1 and axes[0].cell_counts is not None:
                continue
            if self.questions[number].includes_missing:
                missing = block.column(axes[0].feature).missing
                weight = missing.sum() if block.weights is None else block.weights[missing].sum()
                counts["missing", number] = Counts(np.array([float(weight)]))
            if len(axes) == 1 and not axes[0].nominal and len(axes[0]):
                counts |= _counts_of_numbers(axes[0], number, block)
            elif len(axes) == 1 and block.weights is None:
                counts["support", number] = Counts(axes[0].count_rows(block.column(axes[0].feature)))
            if ("support", number) in counts:
                continue
            for axis in axes:
                if axis.feature not in positions:
                    positions[axis.feature] = axis.locate(block.column(axis.feature))
            located = [positions[axis.feature] for axis in axes]
            shape = tuple(axis.n_cells for axis in axes)
            counts["support", number] = Counts(_grid_cell_counts(located, shape, block.weights))
        return Keyed(counts)

    def finish(self, state: Keyed, unit: float) -> list[Support]:
        """Return the support of each grid. Points with the same value share a cell."""
        supports = []
        for number, grid in enumerate(self.questions):
            positions = np.ix_(*(axis.cell_of_point for axis in grid.axes))
            known = grid.axes[0].cell_counts if len(grid.axes) == 1 else None
            cells = state.parts["support", number].cells if known is None else known
            absent = state.parts.get(("missing", number))
            missing = grid.axes[0].missing if absent is None else float(absent.cells[0])
            points = np.asarray(cells[positions] * unit, dtype=np.float64)
            ranks = _ranks(grid, state.parts.get(("ranks", number)), unit)
            supports.append(Support(points, missing * unit, ranks))
        return supports


def _ranks(grid: Grid, counted: Counts | None, unit: float) -> Floats | None:
    """Return the weight of the rows below each point, and up to it."""
    axis = grid.axes[0]
    counts = axis.value_counts if counted is None else counted.cells
    if len(grid.axes) > 1 or counts is None:
        return None
    reached = np.cumsum(counts) * unit
    return np.stack([reached[0:-1:2], reached[1::2]]).astype(np.float64)[:, axis.cell_of_point]


def _counts_of_numbers(axis: Axis, number: int, block: Block) -> dict[tuple[str, int], Counts]:
    """Return the weight of the rows at and between the values of an axis, and unweighted those in its cells.

    Floats are read without conversion. Sorting is several times faster than searching the cell of each value.
    """
    if block.weights is not None:
        column = block.column(axis.feature)
        counted = axis.count_values(axis.ticks_of(column), block.weights[~column.missing])
        return {("ranks", number): Counts(counted)}
    floats = block.for_reading().floats(axis.feature)
    if floats is None or floats.dtype != axis.cells.values.dtype:
        floats = axis.ticks_of(block.column(axis.feature))
    ordered = np.sort(floats[np.isfinite(floats)])
    return {
        ("ranks", number): Counts(axis.count_sorted_values(ordered)),
        ("support", number): Counts(axis.count_sorted(ordered)),
    }


def _grid_cell_counts(located: list[Array], shape: tuple[int, ...], weights: Floats | None) -> Array:
    if not np.prod(shape):
        return np.zeros(shape, dtype=np.int64)
    inside = np.logical_and.reduce([position >= 0 for position in located])
    flat = np.ravel_multi_index(tuple(position[inside] for position in located), shape)
    counted = None if weights is None else weights[inside]
    return np.bincount(flat, counted, minlength=int(np.prod(shape))).reshape(shape)


@dataclass(frozen=True, eq=False)
class Together:
    """Evaluator that evaluates a block with each of its parts, whose states have different keys."""

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
