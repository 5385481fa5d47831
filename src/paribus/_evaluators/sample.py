"""Out-of-core rows into memory, sampled without replacement, in a pass that others may share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._data.background import Background
from paribus._data.frame import FrameTable
from paribus._data.rows import Block, Rows
from paribus._data.sampling import sample_of
from paribus._data.scan.model_table import ModelTable
from paribus._data.scan.scanned import TAKE_ROWS
from paribus._states import Keyed


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
