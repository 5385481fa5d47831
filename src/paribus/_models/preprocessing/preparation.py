"""Preparation of rows by the steps of pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Array, Integers
from paribus._data.read import table_of
from paribus._data.table import CellValues, Column, ScratchBuffer, Table
from paribus._models.preprocessing.dependencies import Dependencies, copied, shape_of, title_of
from paribus.errors import ParibusError, RefusalCode, RefusalError, TableError, failure

NAMED_MOST = 3  # columns that a refusal names


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

    def stored(self, column: int) -> tuple[Integers, Any]:
        """Return which rows store an entry of a column, and a table of the entries; the last is absent."""
        stored = slice(*self.matrix.indptr[column : column + 2])
        rows = self.matrix.indices[stored]
        # An entry that is absent may be NaN, which integers and booleans do not have.
        dtype = self.matrix.dtype if self.absent == 0 else np.result_type(self.matrix.dtype, np.float32)
        values = np.full(len(rows) + (len(rows) < len(self)), self.absent, dtype)
        values[: len(rows)] = self.matrix.data[stored]
        return rows, StoredEntries(self, values)

    def slice(self, start: int, stop: int) -> SparseTable:
        """Return consecutive rows."""
        return SparseTable(self.matrix[start:stop], self.absent)

    def columns(self, columns: Integers) -> Any:
        """Return some columns as a matrix; consecutive ones at once."""
        if len(columns) and columns[-1] - columns[0] + 1 == len(columns):
            return self.matrix[:, int(columns[0]) : int(columns[-1]) + 1]
        return self.matrix[:, columns]

    def floats(self, column: int) -> Array:
        """Return a column as it is compared."""
        rows, entries = self.stored(column)
        return spread(rows, entries.values, len(self))

    def column(self, column: int) -> Column:
        """Read one column."""
        return _column(self.names[column], self.floats(column))


@dataclass(frozen=True, eq=False)
class StoredEntries:
    """The entries of one column of a sparse table, which are read as its columns are."""

    table: SparseTable
    values: Array

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return self.table.names

    def floats(self, column: int) -> Array:
        """Return the entries as they are compared."""
        return self.values

    def column(self, column: int) -> Column:
        """Read the entries."""
        return _column(self.names[column], self.values)


def _bytes_of(made: Any) -> int:
    """Return the memory of what a step returns."""
    if hasattr(made, "tocsc"):
        compressed = made.tocsc()
        return int(compressed.data.nbytes + compressed.indices.nbytes + compressed.indptr.nbytes)
    return int(max(FLOAT * np.size(made), getattr(made, "nbytes", 0)))


def _column(name: str, values: Array) -> Column:
    missing = np.isnan(values)
    return Column(name, "numeric", values[~missing], missing)


def spread(rows: Integers, entries: Array, count: int) -> Array:
    """Return what each of ``count`` rows has: those listed their own entry, any other the last one."""
    every = np.full(count, entries[-1] if len(entries) else 0, entries.dtype)
    every[rows] = entries[: len(rows)]
    return every


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
        try:
            dependencies = Dependencies(steps, context)
        except ParibusError:
            raise
        except Exception as error:  # of whatever a fitted object lacks that its class has
            raise RefusalError(
                f"its preprocessing cannot be followed: {failure(error)}", RefusalCode.UNSUPPORTED
            ) from error
        return cls(steps, dependencies, context, absent)

    @cached_property
    def row_bytes(self) -> int:
        """Memory of a row while it is transformed: itself, and thrice what it becomes.

        Steps hold their outputs in parts and put together, and these are read by columns.
        """
        made, largest = copied(self.context.native), 0
        for step in self.steps:
            made = step.transform(made)
            largest = max(largest, _bytes_of(made))
        return self.context.row_bytes + 3 * -(-largest // max(1, len(self.context)))

    @property
    def key(self) -> tuple[Any, ...]:
        """What preparations share that make the same columns."""
        return (*map(id, self.steps), bool(np.isnan(self.absent)))

    @property
    def owners(self) -> tuple[int, ...]:
        """The raw column of each output: the first of those it depends on, of all for a constant."""
        return tuple(min(owner, default=0) for owner in self.dependencies.owners)

    def transform(self, native: Any) -> Any:
        """Return what the last step receives of a native table, which is left as it is."""
        made = copied(native)
        for step in self.steps:
            try:
                made = step.transform(made)
            except Exception as error:  # whatever a foreign transformer raises; the model itself may not
                raise RefusalError(
                    f"{title_of(step)} failed on rows of X: {failure(error)}", RefusalCode.DATA
                ) from error
        return made

    def table(self, native: Any) -> Any:
        """Return what the last step receives of a native table, to be read by columns."""
        made = self.transform(native)
        width = len(self.dependencies.owners)
        if shape_of(made)[1] != width:
            raise RefusalError(
                f"its preprocessing returned {shape_of(made)[1]} columns where it returned {width} before",
                RefusalCode.DATA,
            )
        if hasattr(made, "tocsc"):
            matrix = made.tocsc()
            matrix.sum_duplicates()
            return SparseTable(matrix, self.absent)
        try:
            return table_of(made)
        except TableError as error:
            raise RefusalError(
                f"what its preprocessing returns cannot be read: {error}", RefusalCode.DATA
            ) from error

    def values(self, requests: Sequence[tuple[int, CellValues]]) -> list[Any]:
        """Return what the last step receives when a feature takes each of some values, for every request.

        They are transformed together, as a step costs some milliseconds however few rows there are.
        """
        made: dict[int, Any] = {}
        counts = [len(cells.column.missing) for _, cells in requests]
        waiting = [number for number, count in enumerate(counts) if count]
        while waiting:
            first = {requests[number][0]: number for number in reversed(waiting)}  # each feature once
            once = sorted(first.values())
            stop = np.cumsum([counts[number] for number in once])
            whole = self._together([requests[number] for number in once], stop)
            for number, last in zip(once, stop.tolist(), strict=True):
                made[number] = whole.slice(last - counts[number], last)
            waiting = [number for number in waiting if number not in made]
        nothing = None if all(counts) else self.table(self.context.slice(0, 1).native).slice(0, 0)
        return [made.get(number, nothing) for number in range(len(requests))]

    def _together(self, requests: Sequence[tuple[int, CellValues]], stop: Integers) -> Any:
        """Transform the values of several features, one after another; the others take their first value."""
        index = np.zeros((stop[-1], len(requests)), np.int64)
        for position, last in enumerate(stop):
            first = stop[position - 1] if position else 0
            index[first:last, position] = np.arange(last - first)
        stack = self.context.slice(0, 1).stack(len(index), ScratchBuffer())
        return self.table(stack.at(dict(requests), index))

    def refuse_joined(self, features: Any) -> None:
        """Refuse features that some step makes one column of, together with others."""
        for feature in features:
            if feature in self.dependencies.joined:
                step, met = self.dependencies.joined[feature]
                names = [repr(self.context.names[other]) for other in sorted(met)]
                others = ", ".join(names[:NAMED_MOST]) + " and others" * (len(names) > NAMED_MOST)
                raise RefusalError(
                    f"{step} joins {self.context.names[feature]!r} with {others}", RefusalCode.UNSUPPORTED
                )


@dataclass(frozen=True, eq=False)
class JoinedTable:
    """The columns of several tables, one after another."""

    tables: tuple[Any, ...]
    first: Integers

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of all tables."""
        return tuple(name for table in self.tables for name in table.names)

    def __len__(self) -> int:
        return len(self.tables[0])

    def _at(self, column: int) -> tuple[Any, int]:
        number = int(np.searchsorted(self.first, column, side="right")) - 1
        return self.tables[number], column - int(self.first[number])

    def floats(self, column: int) -> Any:
        """Return a column as it is compared, None where it has to be read."""
        table, position = self._at(column)
        return table.floats(position)

    def column(self, column: int) -> Column:
        """Read one column."""
        table, position = self._at(column)
        read: Column = table.column(position)
        return read


@dataclass(frozen=True, eq=False)
class _Values:
    """Values of one feature in place of the table itself, which is requested for no other."""

    cells: CellValues

    def __len__(self) -> int:
        return len(self.cells.column.missing)

    def floats(self, column: int) -> None:
        return None

    def column(self, column: int) -> Column:
        return self.cells.column


@dataclass(frozen=True, eq=False)
class JoinedPreparation:
    """What several preparations make of a table, side by side; None is the table itself."""

    sources: tuple[Preparation | None, ...]
    context: Table

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Number of columns of each source."""
        return tuple(len(self.context.names) if one is None else len(one.owners) for one in self.sources)

    @cached_property
    def first(self) -> Integers:
        """Position of the first column of each source."""
        return np.cumsum([0, *self.widths[:-1]])

    @cached_property
    def row_bytes(self) -> int:
        """Memory of a row while all sources make their columns of it."""
        return sum(source.row_bytes for source in self.sources if source is not None)

    @property
    def key(self) -> tuple[Any, ...]:
        """What preparations share that make the same columns."""
        return tuple(map(_key, self.sources))

    @property
    def owners(self) -> tuple[int, ...]:
        """The raw column of each column."""
        raw = tuple(range(len(self.context.names)))
        return tuple(owner for one in self.sources for owner in (raw if one is None else one.owners))

    def table(self, native: Any) -> JoinedTable:
        """Return the columns that all sources make of a native table."""
        tables = tuple(table_of(native) if one is None else one.table(native) for one in self.sources)
        return JoinedTable(tables, self.first)

    def values(self, requests: Sequence[tuple[int, CellValues]]) -> list[JoinedTable]:
        """Return these columns when a feature takes each of some values, for every request."""
        own = [
            [_Values(cells) for _, cells in requests] if one is None else one.values(requests)
            for one in self.sources
        ]
        return [JoinedTable(tables, self.first) for tables in zip(*own, strict=True)]

    def refuse_joined(self, features: Any) -> None:
        """Refuse features that some step makes one column of, together with others."""
        for source in self.sources:
            if source is not None:
                source.refuse_joined(features)


AnyPreparation = Preparation | JoinedPreparation | None


def joined(preparations: Sequence[AnyPreparation], context: Table) -> tuple[AnyPreparation, list[Integers]]:
    """Return one preparation for several, and where it has each column of each of them.

    The same steps are taken once.
    """
    sources: dict[Any, Preparation | None] = {}
    for preparation in preparations:
        for source in _sources(preparation):
            sources.setdefault(_key(source), source)
    every = JoinedPreparation(tuple(sources.values()), context)
    first = dict(zip(sources, every.first, strict=True))
    width = dict(zip(sources, every.widths, strict=True))
    positions = []
    for preparation in preparations:
        keys = [_key(source) for source in _sources(preparation)]
        positions.append(np.concatenate([first[key] + np.arange(width[key]) for key in keys]))
    return every.sources[0] if len(sources) == 1 else every, positions


def _sources(preparation: AnyPreparation) -> tuple[Preparation | None, ...]:
    return preparation.sources if isinstance(preparation, JoinedPreparation) else (preparation,)


def _key(source: Preparation | None) -> Any:
    """Return what two sources share that make the same columns."""
    return None if source is None else source.key
