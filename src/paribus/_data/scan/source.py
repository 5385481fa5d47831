"""What can be read in order, as often as it takes, in batches of Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, Self

from paribus.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS, BATCH_BYTES = 65_536, 32_000_000  # read at a time, whichever is less


class Source(Protocol):
    """Out-of-core rows. Columns have one type throughout.

    ``rows`` is None where it takes reading to know; ``stamp`` is a digest that reveals a source that was
    changed, None where there is none; ``shippable`` says that other processes can read it.
    """

    @property
    def schema(self) -> pa.Schema:
        """Columns and their types."""

    @property
    def library(self) -> str:
        """Library of the tables the model is shown."""

    @property
    def label(self) -> str:
        """What it is, in words."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """What was left out, and why."""

    @property
    def rows(self) -> int | None:
        """Number of rows."""

    @property
    def stamp(self) -> str | None:
        """A digest of what can be known without decoding the rows."""

    @property
    def shippable(self) -> bool:
        """Whether other processes can read it."""

    @property
    def unit_rows(self) -> int:
        """Rows that can only be read together, at most."""

    def batches(self, columns: tuple[str, ...], first: int, stop: int | None) -> Iterator[pa.Table]:
        """Yield the rows from ``first`` to ``stop``."""

    def part(self, first: int, stop: int) -> Self:
        """Return a source of the same rows that holds no more than reading these takes."""

    def head(self, columns: tuple[str, ...]) -> pa.Table:
        """Return a few rows, from several places where that is cheap."""


def shown_library() -> str:
    """Return the library of the tables a model is shown where rows are in none: pandas if it is installed."""
    return "pandas" if find_spec("pandas") else "pyarrow"


def normal_type(kind: Any) -> Any:
    """Return the type a column is read as: no model takes decimals, and nothing is a missing number."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), normal_type(kind.value_type), kind.ordered)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    return pa.float64() if pa.types.is_decimal(kind) or pa.types.is_null(kind) else kind


def conformed(table: pa.Table, schema: pa.Schema, where: str) -> pa.Table:
    """Return the columns of a schema in their types, or say in which column a table differs from it."""
    import pyarrow as pa

    columns = []
    for field in schema:
        position = table.schema.get_field_index(field.name)
        if position < 0:
            raise SourceError(f"{where} has no column {field.name!r}, which the rest of X has")
        column = table.column(position)
        if not fits(column.type, field.type):
            raise SourceError(
                f"{where} has {field.name!r} as {column.type}, and the rest of X has {field.type}"
            )
        columns.append(column if column.type == field.type else _cast(column, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _cast(column: Any, kind: Any) -> Any:
    """Return a column as another type that it fits."""
    import pyarrow as pa

    if pa.types.is_null(column.type):
        return pa.chunked_array([pa.nulls(len(column), kind)])
    if not pa.types.is_dictionary(kind):
        return column.cast(kind)
    if pa.types.is_dictionary(column.type):
        codes = [
            pa.DictionaryArray.from_arrays(
                chunk.indices.cast(kind.index_type),
                chunk.dictionary.cast(kind.value_type),
                ordered=kind.ordered,
            )
            for chunk in column.chunks
        ]
        return pa.chunked_array(codes, type=kind)
    plain = column.cast(kind.value_type)
    codes = [chunk.dictionary_encode() for chunk in plain.chunks]
    return pa.chunked_array([code.cast(kind) for code in codes], type=kind)


def fits(found: Any, wanted: Any) -> bool:
    """Return whether a column has the expected type: equal, null, or dictionary-encoded."""
    import pyarrow as pa

    def plain(kind: Any) -> Any:
        return normal_type(kind).value_type if pa.types.is_dictionary(kind) else normal_type(kind)

    return bool(pa.types.is_null(found) or plain(found) == plain(wanted))
