"""Sources that are read from their beginning: lazy frames, queries, iterators of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from paribus._data.scan.source import BATCH_ROWS, conformed, normal_type, shown_library
from paribus.errors import ParibusError, SourceError, failure

if TYPE_CHECKING:
    import pyarrow as pa

HEAD_ROWS = 2_048  # of the head
SPOOL = "paribus-"  # how the names of temporary files begin


@dataclass(frozen=True, eq=False)
class Stream:
    """A stream of batches that can be restarted: ``make`` starts it with the requested columns.

    To start may be to run a query, so whoever reads all rows next goes on where the ``heads`` ended;
    ``lasting`` says that this is so however much later, as nobody else can use up what was started.
    """

    make: Callable[[tuple[str, ...]], Iterable[Any]]
    schema: pa.Schema
    label: str
    library: str
    skipped: tuple[str, ...] = ()
    lasting: bool = False
    heads: dict[tuple[str, ...], Any] = field(default_factory=dict)
    _started: dict[tuple[str, ...], Iterator[Any]] = field(default_factory=dict)

    @property
    def rows(self) -> int | None:
        """None: it takes reading to know."""
        return None

    @property
    def stamp(self) -> str | None:
        """None: it takes reading to know."""
        return None

    @property
    def shippable(self) -> bool:
        """It begins anew only where it is."""
        return False

    @property
    def unit_rows(self) -> int:
        """Rows of a batch, about."""
        return BATCH_ROWS

    def project(self, columns: tuple[str, ...], on_error: str) -> Self:
        """Return itself: columns are chosen when it is read."""
        return self

    def part(self, first: int, stop: int) -> Self:
        """Return itself: it has no parts of its own."""
        return self

    def batches(self, columns: tuple[str, ...], first: int, stop: int | None) -> Iterator[pa.Table]:
        """Yield the rows from ``first`` to ``stop``; those before are read as well."""
        started = self._started.pop(columns, None)
        return between(self._tables(columns) if started is None else started, first, stop)

    def _tables(self, columns: tuple[str, ...]) -> Iterator[pa.Table]:
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        for number, batch in enumerate(self._begun(columns)):
            found = as_arrow(batch, number)
            if len(found):  # or its types need not mean anything
                yield conformed(found, schema, f"batch {number} of X")

    def head(self, columns: tuple[str, ...]) -> pa.Table:
        """Return the first rows, read once."""
        import pyarrow as pa

        if columns not in self.heads:
            schema = pa.schema([self.schema.field(name) for name in columns])
            tables, held = self._tables(columns), [schema.empty_table()]
            while sum(map(len, held)) < HEAD_ROWS and (table := next(tables, None)) is not None:
                held.append(table)
            self.heads[columns] = pa.concat_tables(held).slice(0, HEAD_ROWS)
            self._started[columns] = chain(held[1:], tables)
        return self.heads[columns]

    def restart(self) -> None:
        """Start anew next, unless what was started lasts."""
        if not self.lasting:
            self._started.clear()

    def _begun(self, columns: tuple[str, ...]) -> Iterator[Any]:
        """Begin anew; whatever goes wrong on the way, the user needs to know that it is X."""
        try:
            yield from self.make(columns)
        except ParibusError:
            raise
        except Exception as error:
            raise SourceError(f"X ({self.label}) cannot be read: {failure(error)}") from error


def as_arrow(batch: Any, number: int) -> pa.Table:
    """Return a batch as an Arrow table: a record batch or table, a pandas or polars frame."""
    import pyarrow as pa

    if isinstance(batch, pa.RecordBatch):
        return pa.Table.from_batches([batch])
    if isinstance(batch, pa.Table):
        return batch
    if hasattr(batch, "to_arrow"):
        return batch.to_arrow()
    if hasattr(batch, "columns") and hasattr(batch, "iloc"):
        return pa.Table.from_pandas(batch, preserve_index=False)
    raise SourceError(
        f"batch {number} of X is a {type(batch).__name__}; yield Arrow record batches or tables, or pandas "
        "or polars frames"
    )


def from_factory(factory: Callable[[], Iterable[Any]]) -> Stream:
    """Read what a function yields, anew for each pass."""
    begun = _begun(factory)
    first = next((batch for batch in begun if not hasattr(batch, "__len__") or len(batch)), None)
    if first is None:
        raise SourceError("X is a function that yields no batch with rows; at least one is needed")
    library = "polars" if hasattr(first, "to_arrow") and hasattr(first, "lazy") else shown_library()

    def make(columns: tuple[str, ...]) -> Iterable[Any]:
        again = _begun(factory)
        if again is begun and iter(again) is again:
            raise SourceError(
                "X is a function that returns one iterator; it must return a new one at every call"
            )
        return again

    return Stream(make, _schema(as_arrow(first, 0)), "batches of a function", library)


def _begun(factory: Callable[[], Iterable[Any]]) -> Iterable[Any]:
    batches = factory()
    if not hasattr(batches, "__iter__"):
        raise SourceError(
            f"X is a function that returned a {type(batches).__name__}; it must return an iterator of batches"
        )
    return batches


def from_lazy_frame(X: Any) -> Stream:
    """Read a polars query batch by batch; every pass runs it anew, the columns not needed left out."""
    schema = _schema(X.collect_schema().to_frame().to_arrow())
    if not hasattr(X, "collect_batches"):
        raise SourceError("this version of polars cannot yield batches of a LazyFrame; pass X.collect()")

    def make(columns: tuple[str, ...]) -> Iterable[Any]:
        batches: Iterable[Any] = X.select(columns).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True)
        return batches

    return Stream(make, schema, "a polars LazyFrame", "polars", lasting=True)


DUCKDB_READERS = "to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader"  # newest name first


def from_duckdb(X: Any) -> Stream:
    """Read a DuckDB relation batch by batch; every pass runs it anew, the columns not needed left out."""

    def make(columns: tuple[str, ...]) -> Iterable[Any]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        chosen = X.project(quoted)
        reader = next(name for name in DUCKDB_READERS if hasattr(chosen, name))
        batches: Iterable[Any] = getattr(chosen, reader)(BATCH_ROWS)
        return batches

    return Stream(make, _schema(X.limit(0).to_arrow_table()), "a DuckDB relation", shown_library())


def from_dataset(X: Any) -> Stream:
    """Read an Arrow dataset of any format, a few batches ahead at most."""

    def make(columns: tuple[str, ...]) -> Iterable[Any]:
        batches: Iterable[Any] = X.to_batches(
            columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=2, fragment_readahead=1
        )
        return batches

    return Stream(make, _schema(X.schema.empty_table()), "an Arrow dataset", shown_library())


def from_reader(X: Any) -> Stream:
    """Copy what can be read once to a temporary file, which is removed with the process's last use of it."""
    import os
    import tempfile
    import weakref

    import pyarrow as pa

    handle, spool = tempfile.mkstemp(".arrow", SPOOL)
    os.close(handle)

    def make(columns: tuple[str, ...]) -> Iterable[Any]:
        with pa.memory_map(spool) as mapped:
            for batch in pa.ipc.open_stream(mapped):
                yield batch.select(list(columns))

    weakref.finalize(make, os.unlink, spool)  # when nothing can read it any more
    with pa.ipc.new_stream(spool, X.schema) as writer:
        for batch in X:
            writer.write_batch(batch)
    return Stream(
        make, _schema(X.schema.empty_table()), "a RecordBatchReader, copied to disk", shown_library()
    )


def _schema(table: pa.Table) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(one.name, normal_type(one.type)) for one in table.schema])


def between(tables: Iterable[pa.Table], first: int, stop: int | None) -> Iterator[pa.Table]:
    """Yield the rows from ``first`` to ``stop`` of tables that follow each other."""
    row = 0
    for table in tables:
        low = max(first - row, 0)
        size = len(table) - low if stop is None else min(stop - row, len(table)) - low
        row += len(table)
        if size > 0:
            yield table.slice(low, size)
        if stop is not None and row >= stop:
            return


def rechunked(tables: Iterable[pa.Table], size: int) -> Iterator[pa.Table]:
    """Yield tables of ``size`` rows, the last one shorter, whatever the sizes they come in."""
    import pyarrow as pa

    held: list[pa.Table] = []
    rows = 0
    for table in tables:
        first = 0
        while rows + len(table) - first >= size:
            part = table.slice(first, size - rows)
            yield pa.concat_tables([*held, part]) if held else part
            first += len(part)
            held, rows = [], 0
        if first < len(table):
            held.append(table.slice(first))
            rows += len(table) - first
    if held:
        yield pa.concat_tables(held)
