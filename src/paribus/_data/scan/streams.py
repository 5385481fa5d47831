"""Sources that are read from their beginning: lazy frames, queries and iterators of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Self

from paribus._data.scan.source import BATCH_ROWS, conformed, normal_schema, selected_schema, shown_library
from paribus.errors import ParibusError, SourceError, failure

if TYPE_CHECKING:
    import pyarrow as pa

HEAD_ROWS = 2_048  # rows of the head


@dataclass(frozen=True, eq=False)
class Stream:
    """A stream of batches that can be restarted: ``make`` starts it with the requested columns.

    A start may run a query. So the next pass continues the stream from which the ``heads`` were read.
    ``lasting`` says that this is valid at any later time, because no other reader can consume the stream.
    The number of rows is unknown before reading.
    """

    make: Callable[[tuple[str, ...]], Iterable[Any]]
    schema: pa.Schema
    label: str
    library: str
    skipped: tuple[str, ...] = ()
    lasting: bool = False
    heads: dict[tuple[str, ...], Any] = field(default_factory=dict)
    _started: dict[tuple[str, ...], Iterator[Any]] = field(default_factory=dict)
    rows: ClassVar[int | None] = None
    stamp: ClassVar[str | None] = None
    shippable: ClassVar[bool] = False  # only this process can restart it
    unit_rows: ClassVar[int] = BATCH_ROWS

    def project(self, columns: tuple[str, ...], on_error: str) -> Self:
        """Return the stream itself, because columns are selected when it is read."""
        return self

    def part(self, first: int, stop: int) -> Self:
        """Return the stream itself, because it is always read from its beginning."""
        return self

    def batches(self, columns: tuple[str, ...], first: int, stop: int | None) -> Iterator[pa.Table]:
        """Yield the rows from ``first`` to ``stop``; the rows before are read too."""
        started = self._started.pop(columns, None)
        return between(self._tables(columns) if started is None else started, first, stop)

    def _tables(self, columns: tuple[str, ...]) -> Iterator[pa.Table]:
        schema = selected_schema(self.schema, columns)
        for number, batch in enumerate(self._begun(columns)):
            found = as_arrow(batch, number)
            if len(found):  # without rows, its types may be wrong
                yield conformed(found, schema, f"batch {number} of X")

    def head(self, columns: tuple[str, ...]) -> pa.Table:
        """Return the first rows, read once."""
        import pyarrow as pa

        if columns not in self.heads:
            tables, held = self._tables(columns), [selected_schema(self.schema, columns).empty_table()]
            while sum(map(len, held)) < HEAD_ROWS and (table := next(tables, None)) is not None:
                held.append(table)
            self.heads[columns] = pa.concat_tables(held).slice(0, HEAD_ROWS)
            self._started[columns] = chain(held[1:], tables)
        return self.heads[columns]

    def restart(self) -> None:
        """Start the stream again in the next pass, unless it is ``lasting``."""
        if not self.lasting:
            self._started.clear()

    def _begun(self, columns: tuple[str, ...]) -> Iterator[Any]:
        """Start the stream; any error is raised as `SourceError` that names X."""
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
    """Return a stream of the batches of a function, which is called for each pass."""
    begun = _batches_of(factory)
    first = next((batch for batch in begun if not hasattr(batch, "__len__") or len(batch)), None)
    if first is None:
        raise SourceError("X is a function that yields no batch with rows; at least one is needed")
    library = "polars" if hasattr(first, "to_arrow") and hasattr(first, "lazy") else shown_library()

    def make(columns: tuple[str, ...]) -> Iterable[Any]:
        again = _batches_of(factory)
        if again is begun and iter(again) is again:
            raise SourceError(
                "X is a function that returns one iterator; it must return a new one at every call"
            )
        return again

    return Stream(make, normal_schema(as_arrow(first, 0).schema), "batches of a function", library)


def _batches_of(factory: Callable[[], Iterable[Any]]) -> Iterable[Any]:
    batches = factory()
    if not hasattr(batches, "__iter__"):
        raise SourceError(
            f"X is a function that returned a {type(batches).__name__}; it must return an iterator of batches"
        )
    return batches


def from_lazy_frame(X: Any) -> Stream:
    """Return a stream of a polars query; every pass runs it with the required columns only."""
    schema = normal_schema(X.collect_schema().to_frame().to_arrow().schema)
    if not hasattr(X, "collect_batches"):
        raise SourceError("this version of polars cannot yield batches of a LazyFrame; pass X.collect()")

    return Stream(
        lambda columns: X.select(columns).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True),
        schema,
        "a polars LazyFrame",
        "polars",
        lasting=True,
    )


DUCKDB_READERS = "to_arrow_reader", "fetch_record_batch", "fetch_arrow_reader"  # newest name first


def from_duckdb(X: Any) -> Stream:
    """Return a stream of a DuckDB relation; every pass runs it with the required columns only."""

    def make(columns: tuple[str, ...]) -> Iterable[Any]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        chosen = X.project(quoted)
        reader = next(name for name in DUCKDB_READERS if hasattr(chosen, name))
        batches: Iterable[Any] = getattr(chosen, reader)(BATCH_ROWS)
        return batches

    return Stream(
        make, normal_schema(X.limit(0).to_arrow_table().schema), "a DuckDB relation", shown_library()
    )


def from_dataset(X: Any) -> Stream:
    """Return a stream of an Arrow dataset of any format, which reads at most a few batches ahead."""
    return Stream(
        lambda columns: X.to_batches(
            columns=list(columns), batch_size=BATCH_ROWS, batch_readahead=2, fragment_readahead=1
        ),
        normal_schema(X.schema),
        "an Arrow dataset",
        shown_library(),
    )


def between(tables: Iterable[pa.Table], first: int, stop: int | None) -> Iterator[pa.Table]:
    """Yield the rows from ``first`` to ``stop`` of consecutive tables."""
    row = 0
    for table in tables:
        low = max(first - row, 0)
        size = len(table) - low if stop is None else min(stop - row, len(table)) - low
        row += len(table)
        if size > 0:
            yield table.slice(low, size)
        if stop is not None and row >= stop:
            return
