"""Read row groups and partitions as tables that the model accepts."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from paribus._contracts import Array, Floats
from paribus._data.categories import recode
from paribus._data.features import Header
from paribus._data.rows import ONE_PART, Block, InMemoryBlocks, Parts
from paribus._data.scan.model_table import ModelTable
from paribus._data.scan.source import Source, conformed, normal_type
from paribus._data.scan.streams import as_arrow, between, rechunked
from paribus._text import count
from paribus.errors import InputError, SourceError, WeightError

if TYPE_CHECKING:
    import pyarrow as pa


def is_dask_frame(X: Any) -> bool:
    """Return whether X is a Dask data frame, by its interface."""
    return hasattr(X, "to_delayed") and hasattr(X, "npartitions") and hasattr(X, "map_partitions")


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a Dask data frame, in order.

    With the ``client`` of a cluster they are computed there; without one, each here when it is read.
    """

    frame: Any
    schema: pa.Schema
    library: str = "pandas"
    skipped: tuple[str, ...] = ()
    client: Any = None
    heads: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any) -> Self:
        """Read the columns off what the frame says of itself; text becomes text, whatever pandas calls it."""
        import pyarrow as pa

        first = as_arrow(_first(X, 64, None), 0)
        return cls(X, pa.schema([pa.field(one.name, normal_type(one.type)) for one in first.schema]))

    @property
    def cluster(self) -> bool:
        """Whether a cluster computes them."""
        return self.client is not None

    @property
    def label(self) -> str:
        """Number of partitions."""
        return f"{count(self.frame.npartitions, 'partition')} of a Dask data frame"

    @property
    def rows(self) -> int | None:
        """None: it takes computing to know."""
        return None

    @property
    def stamp(self) -> str | None:
        """None: it takes computing to know."""
        return None

    @property
    def shippable(self) -> bool:
        """Its partitions are where they are."""
        return False

    def project(self, columns: tuple[str, ...], on_error: str) -> Self:
        """Return the frame with some columns only, so that no others are computed."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        return replace(self, frame=self.frame[list(columns)], schema=schema)

    @cached_property
    def tasks(self) -> list[Any]:
        """Those that compute the partitions."""
        return list(self.frame.to_delayed())

    @property
    def unit_rows(self) -> int:
        """Nobody knows the rows of a partition before it is computed."""
        return 0

    def part(self, first: int, stop: int) -> Self:
        """Return itself: rows are not numbered before they are computed."""
        return self

    def batches(self, columns: tuple[str, ...], first: int, stop: int | None) -> Iterator[pa.Table]:
        """Yield the rows from ``first`` to ``stop``, computing one partition at a time, here."""
        numbers = range(self.frame.npartitions)
        return between((self.table(self.computed(n), n, columns) for n in numbers), first, stop)

    def computed(self, number: int) -> Any:
        """Compute a partition, and have it here."""
        return _computed(self.frame.get_partition(number), self.client)

    def table(self, computed: Any, number: int, columns: tuple[str, ...]) -> pa.Table:
        """Return a computed partition as Arrow, its columns in the types of all."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        if not len(computed):  # whose types need not mean anything
            return schema.empty_table()
        return conformed(as_arrow(computed, number), schema, f"partition {number} of X")

    def head(self, columns: tuple[str, ...]) -> pa.Table:
        """Return the first rows of the first partition."""
        if columns not in self.heads:
            self.heads[columns] = self.table(_first(self.frame, 2_048, self.client), 0, columns)
        return self.heads[columns]


def _computed(lazy: Any, client: Any) -> Any:
    """Compute on a cluster, or in this process; ``compute`` itself would look for a cluster."""
    return lazy.compute(scheduler="synchronous") if client is None else client.compute(lazy).result()


def _first(frame: Any, rows: int, client: Any) -> Any:
    """Return rows of the first partition that has any."""
    result = None
    for number in range(frame.npartitions):
        some = frame.get_partition(number).head(rows, npartitions=1, compute=False)
        result = some.compute() if client is None else _computed(some, client)
        if len(result):
            break
    return result


@dataclass(frozen=True, eq=False)
class TableReader:
    """Reads rows: the model's ``columns``, called ``names`` in results, weights and target.

    ``known_categories`` are those of each categorical column over all rows. Weights are divided by
    ``weight_scale``. ``nullable`` columns have missing values in some row. ``starts`` are the numbers of the
    first rows of a cluster's partitions. ``categories`` are those that the model knows of columns of plain
    values: ``closed`` columns refuse others, ``open`` ones treat others as missing. ``aligned`` is the header
    of X.
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

    @property
    def header(self) -> Header:
        """The columns of X, and those of them that are shown to the model."""
        return self.aligned or Header.of(self.names)

    @property
    def read(self) -> tuple[str, ...]:
        """Every column that is read."""
        weight = () if self.weight is None else (self.weight,)
        return (*dict.fromkeys((*self.columns, *weight, *self.target)),)

    @property
    def coded(self) -> tuple[int, ...]:
        """The columns of categories, whose categories differ from file to file."""
        import pyarrow as pa

        types = [self.source.schema.field(name).type for name in self.columns]
        return tuple(j for j, kind in enumerate(types) if pa.types.is_dictionary(kind))

    def table(self, rows: pa.Table) -> ModelTable:
        """Return rows as a table of the model's columns."""
        chosen = self._with_categories(rows.select(self.columns))
        return ModelTable.of(chosen, self.names, self.source.library, self.nullable)

    def head(self) -> ModelTable:
        """Return a few rows."""
        return self.table(self.source.head(self.read))

    def first_unit(self) -> float:
        """Return a power of two near the largest of the first weights, so that no sum of them overflows."""
        if self.weight is None:
            return 1.0
        weights = _numbers(self.source.head(self.read).column(self.weight), self.weight)
        # What is no weight is refused when all rows are read, and their number is known.
        largest = float(weights[np.isfinite(weights)].max(initial=0.0))
        return 2.0 ** math.floor(math.log2(largest)) if largest else 1.0

    def block(self, rows: pa.Table, start: int, number: int) -> Block:
        """Return rows as a block."""
        weights = None if self.weight is None else self._weights(rows, start)
        target = self._target(rows, weights, start) if self.target else None
        return Block(self.table(rows), weights, start, number=number, target=target)

    def blocks(
        self, size: int, parts: Parts = ONE_PART, rows: int | None = None
    ) -> ReadBlocks | PartitionBlocks:
        """Return blocks of ``size`` rows, each once per part of the grids."""
        if isinstance(self.source, Partitions) and self.source.cluster:
            return PartitionBlocks(self, size, parts, rows)
        return ReadBlocks(self, size, parts, self.source.rows if rows is None else rows)

    def _weights(self, rows: pa.Table, start: int) -> Floats:
        column = rows.column(self.weight)
        weights = _numbers(column, self.weight) / self.weight_scale
        wrong = ~(weights >= 0) | np.isinf(weights)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise WeightError(
                f"sample_weight={self.weight!r} is {column[row].as_py()} in {_place(start + row)}; every "
                "weight must be finite and not negative"
            )
        return weights

    def _target(self, rows: pa.Table, weights: Floats | None, start: int) -> Array:
        """Return what came out, ``(n,)`` or ``(n, o)``; a row of weight zero may be without."""
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
        """Give columns of categories the categories of all rows, in one order, as one table has them."""
        for name, categories in self.known_categories.items():
            position = rows.schema.get_field_index(name)
            if position >= 0:
                rows = rows.set_column(position, name, recode(name, rows.column(position), categories))
        return rows


def _place(row: int) -> str:
    """Return which row it is, in words."""
    partition = row >> FAR
    return f"row {row & (1 << FAR) - 1} of partition {partition}" if partition else f"row {row}"


def _numbers(column: Any, name: str | None) -> Floats:
    import pyarrow.types as kinds

    kind = column.type
    if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
        raise WeightError(f"sample_weight={name!r} is a column of {kind}, which are not weights")
    return np.asarray(column.cast("float64").to_numpy())


def _outcomes(column: Any, name: str) -> Array:
    """Return a column of numbers or labels as numpy; what stands for a missing one has no meaning."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return np.asarray(column.fill_null(pa.scalar(0).cast(kind)).to_numpy())
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise InputError(f"y={name!r} is a column of {kind}; name one of numbers or labels")
    return np.asarray(column.to_numpy(), dtype=object)


FAR = 40  # bits of a row's number within a partition, while the lengths of those before are not known
BLOCKS_WITHIN = 20  # bits of a block's number within a partition


@dataclass(frozen=True, eq=False)
class ReadBlocks:
    """Blocks of ``size`` rows, cut by the numbers of the rows, wherever files and batches begin.

    So they are those of the same rows in memory, and an effect is the same to the bit.
    """

    reading: TableReader
    size: int
    parts: Parts
    total: int | None
    first: int = 0
    stop: int | None = None

    @property
    def in_memory(self) -> bool:
        """They are read."""
        return False

    @property
    def rows(self) -> int | None:
        """Number of rows, None if it takes reading to know."""
        if self.total is None:
            return None
        stop = self.total if self.stop is None else min(self.stop * self.size, self.total)
        return max(0, stop - self.first * self.size)

    @property
    def count(self) -> int | None:
        """Number of blocks of rows, None if it takes reading to know or none begins in between."""
        if self.rows is None or not self.reading.source.shippable:
            return None
        return -(-self.rows // self.size)

    @property
    def n_tasks(self) -> int:
        """Into how many tasks to cut them: each reads at least two of what can only be read together."""
        return (self.rows or 0) // (2 * max(1, self.reading.source.unit_rows))

    def describe(self) -> str:
        """Return which rows these are, in words."""
        first = self.first * self.size
        return f"rows {first:,} to {first + (self.rows or 0) - 1:,} of X ({self.reading.source.label})"

    def __iter__(self) -> Iterator[Block]:
        source, row = self.reading.source, self.first * self.size
        stop = None if self.stop is None else self.stop * self.size
        tables = rechunked(source.batches(self.reading.read, row, stop), self.size)
        for number, table in enumerate(tables, self.first):
            yield from self.reading.block(table, row, number).restrict(self.parts)
            row += len(table)
        self.check_length(row)

    def check_length(self, row: int) -> None:
        """Raise if the rows ended before or after the number of ``row`` where they must."""
        if self.rows is not None and row != self.first * self.size + self.rows:
            raise SourceError(
                f"X ({self.reading.source.label}) ended after {row:,} rows where it had {self.total:,} "
                "before; it must return the same rows in the same order each time it is read"
            )

    def part(self, first: int, stop: int) -> Self:
        """Return some consecutive ones, with the files they are read from."""
        source = self.reading.source.part(first * self.size, stop * self.size)
        return replace(self, reading=replace(self.reading, source=source), first=first, stop=stop)

    def payload(self) -> tuple[Self, list[Any]]:
        """Return the blocks, which are read where they are evaluated."""
        return self, []

    def received(self, computed: list[Any]) -> tuple[Self]:
        """Return the blocks."""
        return (self,)


@dataclass(frozen=True, eq=False)
class SharedRead:
    """The blocks of several cuts of the same rows, which are read once.

    Each comes with the position of its cut, in the order of the rows, and is the block of that cut alone.
    """

    cuts: Sequence[ReadBlocks]

    def __iter__(self) -> Iterator[tuple[int, Block]]:
        reading = self.cuts[0].reading
        same: dict[int, list[int]] = {}  # cuts into the same blocks share what is derived from them
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
    """Cuts tables that come one after the other into the blocks of one cut."""

    def __init__(self, blocks: ReadBlocks) -> None:
        self._blocks, self._number, self._row = blocks, 0, 0
        self._held: list[pa.Table] = []
        self._rows = 0

    def add(self, table: pa.Table) -> Iterator[Block]:
        """Yield the blocks that a table completes."""
        first, size = 0, self._blocks.size
        while self._rows + len(table) - first >= size:
            part = table.slice(first, size - self._rows)
            first += len(part)
            yield from self._block([*self._held, part])
            self._held, self._rows = [], 0
        if first < len(table):
            self._held.append(table.slice(first))
            self._rows += len(table) - first

    def rest(self) -> Iterator[Block]:
        """Yield the last block, which may be shorter."""
        if self._held:
            yield from self._block(self._held)
        self._blocks.check_length(self._row)

    def _block(self, tables: list[pa.Table]) -> Iterator[Block]:
        import pyarrow as pa

        table = tables[0] if len(tables) == 1 else pa.concat_tables(tables)
        yield self._blocks.reading.block(table, self._row, self._number)
        self._row += len(table)
        self._number += 1


@dataclass(frozen=True, eq=False)
class PartitionBlocks:
    """The partitions of a Dask data frame, each of which is cut into blocks where it is computed."""

    reading: TableReader
    size: int
    parts: Parts
    rows: int | None
    first: int = 0
    stop: int | None = None

    @property
    def in_memory(self) -> bool:
        """They are computed when they are evaluated."""
        return False

    @property
    def _source(self) -> Partitions:
        assert isinstance(self.reading.source, Partitions)
        return self.reading.source

    @property
    def count(self) -> int:
        """Number of partitions."""
        stop = self._source.frame.npartitions if self.stop is None else self.stop
        return int(stop) - self.first

    @property
    def n_tasks(self) -> int:
        """One for each partition, which need not fit in memory beside another."""
        return self.count

    def describe(self) -> str:
        """Return which partitions these are, in words."""
        last = self.first + self.count - 1
        return f"partition {self.first}" + (f" to {last}" if last > self.first else "") + " of X"

    def __iter__(self) -> Iterator[Block]:
        for number in range(self.first, self.first + self.count):
            yield from self._within(number, self._source.computed(number))

    def part(self, first: int, stop: int) -> Self:
        """Return some consecutive ones."""
        known = self.reading.starts
        rows = known[stop] - known[first] if known else None
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
        starts = self.reading.starts
        if starts and len(table) != starts[number + 1] - starts[number]:
            raise SourceError(
                f"partition {number} of X has {len(table):,} rows where it had "
                f"{starts[number + 1] - starts[number]:,} before; it must be the same whenever computed"
            )
        start = starts[number] if starts else number << FAR
        return InMemoryBlocks(
            self.reading.block(table, start, 0), self.size, self.parts, number << BLOCKS_WITHIN
        )
