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

NAMED_MOST = 3  # largest number of columns that a refusal names


@dataclass(frozen=True, eq=False)
class SparseTable:
    """A sparse CSC matrix; ``absent`` is the value of entries that are not stored."""

    matrix: Any
    absent: float

    @property
    def names(self) -> tuple[str, ...]:
        """Generated names of the columns."""
        return tuple(f"x{j}" for j in range(self.matrix.shape[1]))

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def stored(self, column: int) -> tuple[Integers, Any]:
        """Return the rows with a stored entry of a column, and a table of the entries.

        The last entry is the absent value, if not all rows have an entry.
        """
        stored = slice(*self.matrix.indptr[column : column + 2])
        rows = self.matrix.indices[stored]
        # The absent value may be NaN, which integers and booleans cannot represent.
        dtype = self.matrix.dtype if self.absent == 0 else np.result_type(self.matrix.dtype, np.float32)
        values = np.full(len(rows) + (len(rows) < len(self)), self.absent, dtype)
        values[: len(rows)] = self.matrix.data[stored]
        return rows, StoredEntries(self, values)

    def slice(self, start: int, stop: int) -> SparseTable:
        """Return consecutive rows."""
        return SparseTable(self.matrix[start:stop], self.absent)

    def columns(self, columns: Integers) -> Any:
        """Return some columns as a matrix, consecutive ones as a slice."""
        if len(columns) and columns[-1] - columns[0] + 1 == len(columns):
            return self.matrix[:, int(columns[0]) : int(columns[-1]) + 1]
        return self.matrix[:, columns]

    def floats(self, column: int) -> Array:
        """Return a column as an array."""
        rows, entries = self.stored(column)
        return spread(rows, entries.values, len(self))

    def column(self, column: int) -> Column:
        """Return a column."""
        return _numeric_column(self.names[column], self.floats(column))


@dataclass(frozen=True, eq=False)
class StoredEntries:
    """Entries of one column of a sparse table, with the interface of a table."""

    table: SparseTable
    values: Array

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return self.table.names

    def floats(self, column: int) -> Array:
        """Return the entries as an array."""
        return self.values

    def column(self, column: int) -> Column:
        """Return the entries as a column."""
        return _numeric_column(self.names[column], self.values)


def _numeric_column(name: str, values: Array) -> Column:
    missing = np.isnan(values)
    return Column(name, "numeric", values[~missing], missing)


def spread(rows: Integers, entries: Array, count: int) -> Array:
    """Return the entries of ``count`` rows: ``rows`` have their entries, others the last entry."""
    values = np.full(count, entries[-1] if len(entries) else 0, entries.dtype)
    values[rows] = entries[: len(rows)]
    return values


@dataclass(frozen=True, eq=False)
class Preparation:
    """Fitted steps before the last one, and the raw columns that each of their outputs depends on.

    ``context`` has a few rows of the table. Its first row completes values of single features to rows.
    ``absent`` is the value of entries that a sparse output does not store.
    """

    steps: tuple[Any, ...]
    dependencies: Dependencies
    context: Table
    absent: float = 0.0

    @classmethod
    def of(cls, steps: tuple[Any, ...], context: Table, absent: float) -> Preparation:
        """Analyze the dependencies of the steps, or raise `RefusalError` with the unsupported step."""
        try:
            dependencies = Dependencies(steps, context)
        except ParibusError:
            raise
        except Exception as error:  # such as missing attributes of a fitted object
            raise RefusalError(
                f"its preprocessing cannot be followed: {failure(error)}", RefusalCode.UNSUPPORTED
            ) from error
        return cls(steps, dependencies, context, absent)

    @cached_property
    def row_bytes(self) -> int:
        """Memory per row during the transformation: the raw row, and three times the largest output.

        The output exists in parts, concatenated, and as columns.
        """
        made, largest = copied(self.context.native), 0
        for step in self.steps:
            made = step.transform(made)
            if hasattr(made, "tocsc"):
                compressed = made.tocsc()
                size = compressed.data.nbytes + compressed.indices.nbytes + compressed.indptr.nbytes
            else:
                size = max(FLOAT * np.size(made), getattr(made, "nbytes", 0))
            largest = max(largest, int(size))
        return self.context.row_bytes + 3 * -(-largest // max(1, len(self.context)))

    @property
    def key(self) -> tuple[Any, ...]:
        """Key that is equal for preparations with the same outputs."""
        return (*map(id, self.steps), bool(np.isnan(self.absent)))

    @property
    def owners(self) -> tuple[int, ...]:
        """Raw column of each output: the first of those it depends on, 0 for a constant."""
        return tuple(min(owner, default=0) for owner in self.dependencies.owners)

    def transform(self, native: Any) -> Any:
        """Return the native input of the last step. The given table stays unchanged."""
        made = copied(native) if self.steps else native
        for step in self.steps:
            try:
                made = step.transform(made)
            except Exception as error:  # of any class; the model itself may not fail
                raise RefusalError(
                    f"{title_of(step)} failed on rows of X: {failure(error)}", RefusalCode.DATA
                ) from error
        return made

    def table(self, native: Any) -> Any:
        """Return the input of the last step for a native table, as a table with columns."""
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
        """Return for each request the input of the last step if a feature takes each of some values.

        Requests are transformed together, because a step takes milliseconds even for a few rows.
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
        """Return the prepared rows of several requests, one after another.

        In the rows of a request, the features of the other requests take their first value.
        """
        index = np.zeros((stop[-1], len(requests)), np.int64)
        for position, last in enumerate(stop):
            first = stop[position - 1] if position else 0
            index[first:last, position] = np.arange(last - first)
        stack = self.context.slice(0, 1).stack(len(index), ScratchBuffer())
        return self.table(stack.at(dict(requests), index))

    def refuse_joined(self, features: Any) -> None:
        """Refuse features that a step combines with others in one column."""
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
    """Concatenated columns of several tables; ``first`` has the position of the first column of each."""

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
        """Return a column as an array, None if it must be read by `column`."""
        table, position = self._at(column)
        return table.floats(position)

    def column(self, column: int) -> Column:
        """Return a column."""
        table, position = self._at(column)
        read: Column = table.column(position)
        return read

    def slice(self, start: int, stop: int) -> JoinedTable:
        """Return consecutive rows."""
        return JoinedTable(tuple(table.slice(start, stop) for table in self.tables), self.first)


@dataclass(frozen=True, eq=False)
class _Values:
    """Values of one feature, with the interface of a table. Every column is that feature."""

    cells: CellValues

    def __len__(self) -> int:
        return len(self.cells.column.missing)

    def floats(self, column: int) -> None:
        return None

    def column(self, column: int) -> Column:
        return self.cells.column


@dataclass(frozen=True, eq=False)
class JoinedPreparation:
    """Several preparations whose outputs are concatenated. A source None stands for the raw table."""

    sources: tuple[Preparation | None, ...]
    context: Table

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Number of columns of each source."""
        raw = len(self.context.names)
        return tuple(raw if source is None else len(source.owners) for source in self.sources)

    @cached_property
    def first(self) -> Integers:
        """Position of the first column of each source."""
        return np.cumsum([0, *self.widths[:-1]])

    @cached_property
    def row_bytes(self) -> int:
        """Memory per row during the transformation by all sources."""
        return sum(source.row_bytes for source in self.sources if source is not None)

    @property
    def key(self) -> tuple[Any, ...]:
        """Key that is equal for preparations with the same outputs."""
        return tuple(map(_source_key, self.sources))

    @property
    def owners(self) -> tuple[int, ...]:
        """Raw column of each prepared column."""
        raw = tuple(range(len(self.context.names)))
        return tuple(owner for source in self.sources for owner in (raw if source is None else source.owners))

    def table(self, native: Any) -> JoinedTable:
        """Return the outputs of all sources for a native table."""
        tables = (table_of(native) if source is None else source.table(native) for source in self.sources)
        return JoinedTable(tuple(tables), self.first)

    def values(self, requests: Sequence[tuple[int, CellValues]]) -> list[JoinedTable]:
        """Return for each request the outputs if a feature takes each of some values."""
        tables_of_sources = [
            [_Values(cells) for _, cells in requests] if source is None else source.values(requests)
            for source in self.sources
        ]
        return [JoinedTable(tables, self.first) for tables in zip(*tables_of_sources, strict=True)]

    def refuse_joined(self, features: Any) -> None:
        """Refuse features that a step combines with others in one column."""
        for source in self.sources:
            if source is not None:
                source.refuse_joined(features)


AnyPreparation = Preparation | JoinedPreparation | None


def joined(preparations: Sequence[AnyPreparation], context: Table) -> tuple[AnyPreparation, list[Integers]]:
    """Return one preparation for several, and the positions of the columns of each of them in it.

    Equal preparations are included once.
    """
    sources: dict[Any, Preparation | None] = {}
    for preparation in preparations:
        for source in sources_of(preparation):
            sources.setdefault(_source_key(source), source)
    together = JoinedPreparation(tuple(sources.values()), context)
    first = dict(zip(sources, together.first, strict=True))
    width = dict(zip(sources, together.widths, strict=True))
    positions = []
    for preparation in preparations:
        keys = [_source_key(source) for source in sources_of(preparation)]
        positions.append(np.concatenate([first[key] + np.arange(width[key]) for key in keys]))
    return together.sources[0] if len(sources) == 1 else together, positions


def sources_of(preparation: AnyPreparation) -> tuple[Preparation | None, ...]:
    """Return the joined preparations, or the preparation itself."""
    return preparation.sources if isinstance(preparation, JoinedPreparation) else (preparation,)


def _source_key(source: Preparation | None) -> Any:
    """Return a key that is equal for sources with the same outputs."""
    return None if source is None else source.key
