"""Readers of out-of-core rows: partitions of data frames, and blocks of rows for the model."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from paribus._contracts import Array, Floats
from paribus._data.categories import recode
from paribus._data.features import Header
from paribus._data.frame import FrameTable
from paribus._data.rows import ONE_PART, Block, InMemoryBlocks, Parts, UnchangedBlocks
from paribus._data.samples import unit_keys
from paribus._data.scan.model_table import ModelTable, ReadGroups
from paribus._data.scan.source import Source, conformed, normal_schema, selected_schema
from paribus._data.scan.streams import HEAD_ROWS, Stream, as_arrow, between
from paribus._data.table import Column
from paribus._text import count
from paribus.errors import InputError, SourceError, TableError, WeightError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a Dask data frame, in order.

    With the ``client`` of a cluster, workers compute them. Without one, this process computes each when
    it is read. The number of rows is unknown before that.
    """

    frame: Any
    schema: pa.Schema
    library: str = "pandas"
    skipped: tuple[str, ...] = ()
    client: Any = None
    heads: dict[tuple[str, ...], Any] = field(default_factory=dict)
    rows: ClassVar[int | None] = None
    stamp: ClassVar[str | None] = None
    shippable: ClassVar[bool] = False
    unit_rows: ClassVar[int] = 0

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the partitions of a frame; its first rows give the types of columns."""
        return cls(X, normal_schema(as_arrow(_first_rows(X, 64, None), 0).schema))

    @property
    def cluster(self) -> bool:
        """Whether a cluster computes the partitions."""
        return self.client is not None

    @property
    def label(self) -> str:
        """Number of partitions."""
        return f"{count(self.n_partitions, 'partition')} of a Dask data frame"

    def project(self, columns: tuple[str, ...], on_error: str) -> Self:
        """Return the frame with some columns only, so that others are not computed."""
        schema = selected_schema(self.schema, columns)
        return replace(self, frame=self.frame[list(columns)], schema=schema)

    @cached_property
    def tasks(self) -> list[Any]:
        """The delayed objects that compute the partitions."""
        return list(self.frame.to_delayed())

    def part(self, first: int, stop: int) -> Self:
        """Return the source itself, because rows have no numbers before they are computed."""
        return self

    def batches(self, columns: tuple[str, ...], first: int, stop: int | None) -> Iterator[pa.Table]:
        """Yield the rows from ``first`` to ``stop``, one computed partition at a time."""
        found = self.computed(0, self.n_partitions)
        return between((self.table(rows, n, columns) for n, rows in found), first, stop)

    @property
    def n_partitions(self) -> int:
        """Number of partitions."""
        return int(self.frame.npartitions)

    def computed(self, first: int, stop: int) -> Iterator[tuple[int, Any]]:
        """Compute partitions on the cluster, or else in this process, and yield each with its number."""
        for number in range(first, stop):
            lazy = self.frame.get_partition(number)
            if self.client is None:  # without a scheduler, Dask would look for a cluster
                yield number, lazy.compute(scheduler="synchronous")
            else:
                yield number, self.client.compute(lazy).result()

    def table(self, computed: Any, number: int, columns: tuple[str, ...]) -> pa.Table:
        """Return a computed partition as an Arrow table with the types of the schema."""
        schema = selected_schema(self.schema, columns)
        if not len(computed):  # without rows, its types may be wrong
            return schema.empty_table()
        return conformed(as_arrow(computed, number), schema, f"partition {number} of X")

    def head(self, columns: tuple[str, ...]) -> pa.Table:
        """Return the first rows of the first partition that has any."""
        if columns not in self.heads:
            self.heads[columns] = self.table(_first_rows(self.frame, HEAD_ROWS, self.client), 0, columns)
        return self.heads[columns]


def _first_rows(frame: Any, rows: int, client: Any) -> Any:
    """Return rows of the first partition that has any."""
    result = None
    for number in range(frame.npartitions):
        some = frame.get_partition(number).head(rows, npartitions=1, compute=False)
        result = some.compute() if client is None else client.compute(some).result()
        if len(result):
            break
    return result


@dataclass(frozen=True, eq=False)
class TableReader:
    """Reader of the model's ``columns``, named ``names`` in results, of the weights and of the target.

    ``known_categories`` are those of each categorical column over all rows. Weights are divided by
    ``weight_scale``. ``nullable`` columns have missing values in some row. ``starts`` are the first row
    numbers of a cluster's partitions, and the total. ``categories`` are those the model knows for columns of
    plain values. Models refuse other categories in ``closed`` columns and treat them as missing in ``open``
    ones. ``aligned`` is the header of X, None if it has the columns ``names``. ``groups`` are groups of
    columns that are one of ``columns`` each, or None. ``by`` is the column that defines groups of rows, and
    ``units`` that of the units of dependent rows.
    """

    source: Source
    columns: tuple[str, ...]
    names: tuple[str, ...]
    weight: str | None = None
    weight_scale: float = 1.0
    known_categories: Mapping[str, Any] = field(default_factory=dict)
    nullable: frozenset[str] = frozenset()
    starts: tuple[int, ...] = ()
    target: tuple[str, ...] = ()
    categories: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    closed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    open: Mapping[str, tuple[tuple[Any, ...], ...]] = field(default_factory=dict)
    aligned: Header | None = None
    groups: ReadGroups | None = None
    by: str | None = None
    units: str | None = None

    @property
    def header(self) -> Header:
        """Names of the columns of X, and of those that the model gets."""
        return self.aligned or Header.of(self.names)

    @property
    def read(self) -> tuple[str, ...]:
        """Names of all columns that are read, each once."""
        others = (name for name in (self.weight, self.by, self.units) if name is not None)
        own = self.columns if self.groups is None else self.groups.columns
        return (*dict.fromkeys((*own, *others, *self.target)),)

    @property
    def coded(self) -> tuple[int, ...]:
        """Positions of the categorical columns, whose categories may differ between files."""
        import pyarrow as pa

        return tuple(j for j in range(len(self.columns)) if pa.types.is_dictionary(self.type(j)))

    def type(self, column: int) -> pa.DataType:
        """Return the Arrow type of one of ``columns``."""
        import pyarrow as pa

        if self.groups is not None and not self.groups.groups[column].single:
            return pa.dictionary(pa.int32(), pa.string())
        return self.source.schema.field(self.columns[column]).type

    def grouped(self, groups: Mapping[str, tuple[int, ...]]) -> Self:
        """Return the reader with groups of columns as one categorical column each; reads all rows."""
        import pyarrow as pa

        for column in (column for columns in groups.values() for column in columns if len(columns) > 1):
            name = self.columns[column]
            known = name in (*self.categories, *self.closed, *self.open)
            if known or pa.types.is_dictionary(self.type(column)):
                raise TableError(
                    f"column {name!r} is categorical, and cannot be set together with others out of core; "
                    "pass a table in memory"
                )
        if isinstance(self.source, Stream):
            self.source.restart()
        batches = self.source.batches(self.read, 0, None)
        found = ReadGroups.of(self.columns, self.names, groups, batches)
        header = self.header.grouped(groups)
        return replace(self, columns=found.names, names=header.names, aligned=header, groups=found)

    def unprepared(self) -> Self:
        """Return the reader of every column that is read, including weights and target, as it is."""
        columns = self.read
        return replace(
            self, columns=columns, names=columns, target=(), aligned=None, groups=None, by=None, units=None
        )

    def table(self, rows: pa.Table) -> ModelTable:
        """Return Arrow rows as a table of the model's columns."""
        if self.groups is None:
            chosen = self._with_categories(rows.select(self.columns))
            return ModelTable.of(chosen, self.names, self.source.library, self.nullable)
        chosen = FrameTable(self._with_categories(self.groups.encoded(rows)), self.names)
        return ModelTable(chosen, self.source.library, self.nullable | self.groups.gaps, self.groups)

    def head(self) -> ModelTable:
        """Return a few rows as a table of the model's columns."""
        return self.table(self.source.head(self.read))

    def first_unit(self) -> float:
        """Return a power of two near the largest of the first weights, so that sums do not overflow."""
        if self.weight is None:
            return 1.0
        weights = _weight_column(self.source.head(self.read).column(self.weight), self.weight)
        # Invalid weights raise an error when all rows are read, with their row numbers.
        largest = float(weights[np.isfinite(weights)].max(initial=0.0))
        return 2.0 ** math.floor(math.log2(largest)) if largest else 1.0

    def block(self, rows: pa.Table, start: int, number: int) -> Block:
        """Return Arrow rows as a block with weights and target."""
        weights = None if self.weight is None else self._weights(rows, start)
        target = self._target(rows, weights, start) if self.target else None
        by = None if self.by is None else _column_of(rows, self.by)
        units = None if self.units is None else unit_keys(_column_of(rows, self.units))
        return Block(self.table(rows), weights, start, number=number, target=target, by=by, units=units)

    def blocks(
        self, size: int, parts: Parts = ONE_PART, rows: int | None = None
    ) -> ReadBlocks | PartitionBlocks:
        """Return blocks of ``size`` rows, each once per part of the grids."""
        if isinstance(self.source, Partitions) and self.source.cluster:
            return PartitionBlocks(self, size, parts, rows)
        return ReadBlocks(self, size, parts, self.source.rows if rows is None else rows)

    def _weights(self, rows: pa.Table, start: int) -> Floats:
        column = rows.column(self.weight)
        weights = _weight_column(column, self.weight) / self.weight_scale
        wrong = ~(weights >= 0) | np.isinf(weights)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise WeightError(
                f"sample_weight={self.weight!r} is {column[row].as_py()} in {_place(start + row)}; every "
                "weight must be finite and not negative"
            )
        return weights

    def _target(self, rows: pa.Table, weights: Floats | None, start: int) -> Array:
        """Return the observed values, ``(n,)`` or ``(n, o)``; only rows of weight zero may lack them."""
        columns = []
        for name in self.target:
            values = _outcomes(rows.column(name), name)
            lacking = np.asarray(rows.column(name).is_null())
            if values.dtype.kind == "f":
                lacking = lacking | ~np.isfinite(values)
            if weights is not None:
                lacking = lacking & (weights > 0)
            if lacking.any():
                row = int(np.argmax(lacking))
                value = rows.column(name)[row].as_py()
                raise InputError(
                    f"y={name!r} is {'missing' if value is None else value} in {_place(start + row)}; drop "
                    f"such rows, or set their weights to zero"
                )
            columns.append(values)
        return columns[0] if len(columns) == 1 else np.stack(columns, axis=1)

    def _with_categories(self, rows: pa.Table) -> pa.Table:
        """Return rows whose categorical columns have the categories of all rows, in one order."""
        for name, categories in self.known_categories.items():
            position = rows.schema.get_field_index(name)
            if position >= 0:
                rows = rows.set_column(position, name, recode(name, rows.column(position), categories))
        return rows


def _column_of(rows: pa.Table, name: str) -> Column:
    """Return one column of Arrow rows."""
    return FrameTable(rows.select([name]), (name,)).column(0)


def _place(row: int) -> str:
    """Return the position of a row in words."""
    partition = row >> FAR
    return f"row {row & (1 << FAR) - 1} of partition {partition}" if partition else f"row {row}"


def _weight_column(column: Any, name: str | None) -> Floats:
    """Return a column of weights as floats; raise `WeightError` if it does not hold numbers."""
    import pyarrow.types as kinds

    kind = column.type
    if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
        raise WeightError(f"sample_weight={name!r} is a column of {kind}, which are not weights")
    return np.asarray(column.cast("float64").to_numpy())


def _outcomes(column: Any, name: str) -> Array:
    """Return a column of numbers or labels in numpy, with arbitrary values where missing."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.fill_null(pa.scalar(0).cast(kind)).to_numpy())
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(f"y={name!r} is a column of {kind}; name one of numbers or labels")
    return np.asarray(column.to_numpy(), dtype=object)


FAR = 40  # bits of a row number within a partition, while the lengths of partitions are unknown
BLOCKS_WITHIN = 20  # bits of a block number within a partition


@dataclass(frozen=True, eq=False)
class ReadBlocks(UnchangedBlocks):
    """Blocks of ``size`` rows, from block ``first`` to ``stop``, independent of files and batches.

    They are the blocks of the same rows in memory, so that results are exactly the same. ``total`` is the
    number of rows of the source, None if unknown.
    """

    reading: TableReader
    size: int
    parts: Parts
    total: int | None
    first: int = 0
    stop: int | None = None
    in_memory: ClassVar[bool] = False

    @property
    def rows(self) -> int | None:
        """Number of rows, None if unknown before reading."""
        if self.total is None:
            return None
        stop = self.total if self.stop is None else min(self.stop * self.size, self.total)
        return max(0, stop - self.first * self.size)

    @property
    def count(self) -> int | None:
        """Number of blocks of rows, None if unknown or if the source can only be read from its beginning."""
        if self.rows is None or not self.reading.source.shippable:
            return None
        return -(-self.rows // self.size)

    @property
    def n_tasks(self) -> int:
        """Number of tasks: each reads at least two units of rows that can only be read together."""
        return (self.rows or 0) // (2 * max(1, self.reading.source.unit_rows))

    def describe(self) -> str:
        """Return the numbers of the rows in words."""
        first = self.first * self.size
        return f"rows {first:,} to {first + (self.rows or 0) - 1:,} of X ({self.reading.source.label})"

    def __iter__(self) -> Iterator[Block]:
        stop = None if self.stop is None else self.stop * self.size
        cutter = _Cutter(self)
        for table in self.reading.source.batches(self.reading.read, self.first * self.size, stop):
            for block in cutter.add(table):
                yield from block.restrict(self.parts)
        for block in cutter.rest():
            yield from block.restrict(self.parts)

    def check_length(self, row: int) -> None:
        """Raise `SourceError` unless ``row`` is the number of the row after the last one expected."""
        if self.rows is not None and row != self.first * self.size + self.rows:
            raise SourceError(
                f"X ({self.reading.source.label}) ended after {row:,} rows where it had {self.total:,} "
                "before; it must return the same rows in the same order each time it is read"
            )

    def part(self, first: int, stop: int) -> Self:
        """Return some consecutive blocks, with the files they are read from."""
        source = self.reading.source.part(first * self.size, stop * self.size)
        return replace(self, reading=replace(self.reading, source=source), first=first, stop=stop)


@dataclass(frozen=True, eq=False)
class SharedRead:
    """Blocks of several cuts of the same rows, which are read once.

    Iteration yields the position of a cut and a block of it, in the order of rows.
    """

    cuts: Sequence[ReadBlocks]

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        reading = self.cuts[0].reading
        same: dict[int, list[int]] = {}  # cuts into the same blocks share derived values
        for position, blocks in enumerate(self.cuts):
            same.setdefault(blocks.size, []).append(position)
        cutters = [(_Cutter(self.cuts[positions[0]]), positions) for positions in same.values()]
        for table in reading.source.batches(reading.read, 0, None):
            for cutter, positions in cutters:
                for block in cutter.add(table):
                    yield from self._parts(block, positions)
        for cutter, positions in cutters:
            for block in cutter.rest():
                yield from self._parts(block, positions)

    def _parts(self, block: Block, positions: list[int]) -> Iterator[tuple[int, Block]]:
        for position in positions:
            yield from ((position, part) for part in block.restrict(self.cuts[position].parts))


class _Cutter:
    """Splitter of consecutive tables into blocks."""

    def __init__(self, blocks: ReadBlocks) -> None:
        self._blocks, self._number, self._row = blocks, blocks.first, blocks.first * blocks.size
        self._held: list[pa.Table] = []
        self._rows = 0

    def add(self, table: pa.Table) -> Iterator[Block]:
        """Yield the blocks that a table completes."""
        first, size = 0, self._blocks.size
        while self._rows + len(table) - first >= size:
            part = table.slice(first, size - self._rows)
            first += len(part)
            yield self._block([*self._held, part])
            self._held, self._rows = [], 0
        if first < len(table):
            self._held.append(table.slice(first))
            self._rows += len(table) - first

    def rest(self) -> Iterator[Block]:
        """Yield the last block, which may be shorter, and check the number of rows."""
        if self._held:
            yield self._block(self._held)
        self._blocks.check_length(self._row)

    def _block(self, tables: list[pa.Table]) -> Block:
        import pyarrow as pa

        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        block = self._blocks.reading.block(table, self._row, self._number)
        self._row += len(table)
        self._number += 1
        return block


@dataclass(frozen=True, eq=False)
class PartitionBlocks:
    """The partitions of a data frame, each cut into blocks by the worker that computes it."""

    reading: TableReader
    size: int
    parts: Parts
    rows: int | None
    first: int = 0
    stop: int | None = None
    in_memory: ClassVar[bool] = False

    @property
    def _source(self) -> Partitions:
        assert isinstance(self.reading.source, Partitions)
        return self.reading.source

    @property
    def count(self) -> int:
        """Number of partitions."""
        known = max(self._source.n_partitions, len(self.reading.starts) - 1)
        return (known if self.stop is None else self.stop) - self.first

    @property
    def n_tasks(self) -> int:
        """One task per partition, because two may not fit in memory."""
        return self.count

    def describe(self) -> str:
        """Return the numbers of the partitions in words."""
        last = self.first + self.count - 1
        return f"partition {self.first}" + (f" to {last}" if last > self.first else "") + " of X"

    def __iter__(self) -> Iterator[Block]:
        for number, computed in self._source.computed(self.first, self.first + self.count):
            yield from self._within(number, computed)

    def part(self, first: int, stop: int) -> Self:
        """Return some consecutive partitions."""
        known = self.reading.starts
        rows = known[min(stop, len(known) - 1)] - known[min(first, len(known) - 1)] if known else None
        return replace(self, first=first, stop=stop, rows=rows)

    def payload(self) -> tuple[Self, list[Any]]:
        """Return the blocks without the frame, and the tasks that compute the partitions."""
        tasks = self._source.tasks[self.first : self.first + self.count]
        reading = replace(self.reading, source=replace(self._source, frame=None, client=None, heads={}))
        return replace(self, reading=reading, stop=self.first + self.count), list(tasks)

    def received(self, computed: list[Any]) -> Iterator[InMemoryBlocks]:
        """Yield the blocks of each computed partition."""
        return itertools.starmap(self._within, enumerate(computed, self.first))

    def _within(self, number: int, computed: Any) -> InMemoryBlocks:
        """Return the blocks of a computed partition."""
        table = self._source.table(computed, number, self.reading.read)
        starts, before = self.reading.starts, self.part(number, number + 1).rows
        if before is not None and len(table) != before:
            raise SourceError(
                f"partition {number} of X has {len(table):,} rows where it had {before:,} before; it must be "
                "the same whenever computed"
            )
        start = starts[number] if starts else number << FAR
        return InMemoryBlocks(
            self.reading.block(table, start, 0), self.size, self.parts, number << BLOCKS_WITHIN
        )
