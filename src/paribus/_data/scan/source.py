"""The interface of out-of-core sources, and conversion of Arrow columns to common types."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol, Self

from paribus.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_ROWS, BATCH_BYTES = 65_536, 32_000_000  # read at a time; the smaller bound applies


class Source(Protocol):
    """Out-of-core rows in a fixed order. Every column has one type.

    ``rows`` is None if it is unknown before reading. ``stamp`` is a digest that changes with the source,
    None if there is none. ``shippable`` says that other processes can read the source.
    """

    @property
    def schema(self) -> pa.Schema:
        """Columns and their types."""

    @property
    def library(self) -> str:
        """Library of the tables that the model gets."""

    @property
    def label(self) -> str:
        """Description of the source."""

    @property
    def skipped(self) -> tuple[str, ...]:
        """Descriptions of skipped files, each with its reason."""

    @property
    def rows(self) -> int | None:
        """Number of rows, None if unknown."""

    @property
    def stamp(self) -> str | None:
        """A digest of the source that does not need decoded rows."""

    @property
    def shippable(self) -> bool:
        """Whether other processes can read the source."""

    @property
    def unit_rows(self) -> int:
        """Largest number of rows that can only be read together."""

    def batches(self, columns: tuple[str, ...], first: int, stop: int | None) -> Iterator[pa.Table]:
        """Yield the rows from ``first`` to ``stop``."""

    def part(self, first: int, stop: int) -> Self:
        """Return the source without files that the rows from ``first`` to ``stop`` do not need."""

    def head(self, columns: tuple[str, ...]) -> pa.Table:
        """Return a few rows, from several places if that is cheap."""


def shown_library() -> str:
    """Return the library of the model's tables if the source has none: pandas if it is installed."""
    return "pandas" if find_spec("pandas") else "pyarrow"


def normal_type(kind: Any) -> Any:
    """Return the type in which a column is read; decimals and nulls become floats."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.dictionary(pa.int32(), normal_type(kind.value_type), kind.ordered)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    return pa.float64() if pa.types.is_decimal(kind) or pa.types.is_null(kind) else kind


def normal_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with the types in which columns are read."""
    import pyarrow as pa

    return pa.schema([pa.field(one.name, normal_type(one.type)) for one in schema])


def selected_schema(schema: pa.Schema, columns: Iterable[str]) -> pa.Schema:
    """Return the schema of some columns, in the order given."""
    import pyarrow as pa

    return pa.schema([schema.field(name) for name in columns])


def conformed(table: pa.Table, schema: pa.Schema, where: str) -> pa.Table:
    """Return the columns of a schema in its types; raise `SourceError` if a column does not fit."""
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
        columns.append(column if column.type == field.type else _cast_column(column, field.type))
    return pa.Table.from_arrays(columns, schema=schema)


def _cast_column(column: Any, kind: Any) -> Any:
    """Return a column in another type that it fits."""
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

    one, two = (
        normal_type(kind.value_type if pa.types.is_dictionary(kind) else kind) for kind in (found, wanted)
    )
    return bool(pa.types.is_null(found) or one == two)
