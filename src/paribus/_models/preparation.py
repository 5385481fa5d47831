"""A model behind preprocessing: its rows as the last step receives them, its features those of the table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paribus._contracts import Array
from paribus._data.read import table_of
from paribus._data.table import CellValues, Column, ScratchBuffer, Table
from paribus._models.estimators import steps_of
from paribus._models.preprocessing import Dependencies
from paribus.errors import RefusalCode, RefusalError

SPARSE = "data", "indices", "indptr"  # of a compressed sparse matrix


@dataclass(frozen=True, eq=False)
class SparseTable:
    """A sparse matrix by columns; ``absent`` is what an entry is that it does not store."""

    matrix: Any
    absent: float

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, which no model knows."""
        return tuple(f"x{j}" for j in range(self.matrix.shape[1]))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def floats(self, column: int) -> Array:
        """Return a column as it is compared."""
        values = np.full(len(self), self.absent, self.matrix.dtype)
        stored = slice(*self.matrix.indptr[column : column + 2])
        values[self.matrix.indices[stored]] = self.matrix.data[stored]
        return values

    def column(self, column: int) -> Column:
        """Read one column."""
        values = self.floats(column)
        missing = np.isnan(values)
        return Column(self.names[column], "numeric", values[~missing], missing)


@dataclass(frozen=True, eq=False)
class Preparation:
    """Fitted steps before the last one, and which raw columns each of their outputs depends on.

    ``context`` are a few rows of the table, beside which values of one feature are transformed.
    """

    steps: tuple[Any, ...]
    dependencies: Dependencies
    context: Table
    absent: float = 0.0

    @classmethod
    def of(cls, steps: tuple[Any, ...], context: Table, absent: float) -> Preparation:
        """Follow a few rows through the steps; `RefusalError` says which of them cannot be followed."""
        dependencies = Dependencies(steps, context.native, len(context.names))
        preparation = cls(steps, dependencies, context, absent)
        preparation._check_dependencies()
        return preparation

    @cached_property
    def row_bytes(self) -> int:
        """Memory of a row while it is transformed: itself, and thrice what it becomes.

        Steps hold their outputs in parts and put together, and these are read by columns.
        """
        made, rows, largest = self.context.native, max(1, len(self.context)), 0.0
        for step in self.steps:
            made = step.transform(made)
            sparse = [getattr(made, name).nbytes for name in SPARSE] if hasattr(made, "tocsc") else None
            largest = max(largest, table_of(made).row_bytes if sparse is None else sum(sparse) / rows)
        return int(self.context.row_bytes + 3 * largest)

    @property
    def owners(self) -> tuple[int, ...]:
        """The raw column of each output: the first of those it depends on, and the first of all for a constant."""
        return tuple(min(owner, default=0) for owner in self.dependencies.owners)

    def transform(self, native: Any) -> Any:
        """Return what the last step receives of a native table."""
        for step in self.steps:
            native = step.transform(native)
        return native

    def table(self, native: Any) -> Any:
        """Return what the last step receives of a native table, to be read by columns."""
        made = self.transform(native)
        return SparseTable(made.tocsc(), self.absent) if hasattr(made, "tocsc") else table_of(made)

    def values(self, feature: int, cells: CellValues) -> Any:
        """Return what the last step receives when one feature takes each of some values."""
        count = len(cells.column.missing)
        stack = self.context.slice(0, 1).stack(max(1, count), ScratchBuffer())
        return self.table(stack.at({feature: cells}, np.arange(count)[:, None]))

    def refuse_joined(self, features: Any) -> None:
        """Refuse features that some step makes one column of, together with others."""
        for feature in features:
            if feature in self.dependencies.joined:
                raise RefusalError(
                    f"{self.dependencies.joined[feature]} makes one column of "
                    f"{self.context.names[feature]!r} and others",
                    RefusalCode.UNSUPPORTED,
                )

    def _check_dependencies(self) -> None:
        """Shuffle columns: outputs that depend on none of them must keep every bit."""
        whole, rng = _dense(self.transform(self.context.native)), np.random.default_rng(0)
        for shuffled in _halves(len(self.context.names)):
            order = rng.permutation(len(self.context))
            cells = {feature: self.context.own_cells(feature) for feature in shuffled}
            index = np.repeat(order[None, :, None], len(shuffled), axis=2)
            moved = _dense(self.transform(self.context.stack(1, ScratchBuffer()).at(cells, index)))
            kept = [c for c, owner in enumerate(self.dependencies.owners) if not owner & set(shuffled)]
            if not np.array_equal(moved[:, kept], whole[:, kept], equal_nan=True):
                raise RefusalError("its preprocessing joins columns", RefusalCode.UNSUPPORTED)


def _dense(made: Any) -> Array:
    return np.asarray(made.toarray() if hasattr(made, "toarray") else made)


def _halves(columns: int) -> Iterator[list[int]]:
    """Yield halves of the columns such that any two of them are separated by one."""
    for bit in range(max(1, (columns - 1).bit_length())):
        for side in (0, 1):
            half = [column for column in range(columns) if (column >> bit) & 1 == side]
            if half:
                yield half


def last_step(target: Any, sample: Table) -> tuple[Any, Preparation | None]:
    """Return the last step of a pipeline and what is before it; any other model is its own last step."""
    steps = steps_of(target)
    if not steps or type(target).__name__ != "Pipeline":
        return target, None
    before = tuple(step for step in steps[:-1] if step is not None and not isinstance(step, str))
    return steps[-1], Preparation.of(before, sample, _absent(steps[-1]))


def _absent(last: Any) -> float:
    """Return what a library takes an entry for that a sparse matrix does not store."""
    return np.nan if type(last).__module__.split(".")[0] == "xgboost" else 0.0
