"""Categories of columns, and bins of numbers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from paribus._contracts import Array, Floats
from paribus._data.frame import FrameTable
from paribus._data.table import Column
from paribus._loading import check_pyarrow
from paribus.errors import TableError

if TYPE_CHECKING:
    import pyarrow as pa

    from paribus._data.scan.model_table import ModelTable

MOST_BINS = 23  # categories of a nominal column with a separate bin; the others share one


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """Bins of a column: numbers between ``edges``, or one bin for each of ``categories``.

    A bin of numbers includes its upper edge. The first ``own`` bins hold known values. One bin for all
    other values follows, such as rare categories, and one for missing values.
    """

    edges: Floats
    categories: Mapping[Any, int] | None = None

    @property
    def own(self) -> int:
        """Number of bins of known values."""
        return len(self.edges) + 1 if self.categories is None else len(self.categories)

    @property
    def pooled(self) -> int:
        """The bin of all other values, which are not distinguished."""
        return self.own

    @property
    def missing(self) -> int:
        """The bin of missing values."""
        return self.own + 1

    def of_categories(self, column: Column) -> Array:
        """Return the bin of each row of a column of categories."""
        assert self.categories is not None
        codes, occurring = column.factorized()
        own = (self.categories.get(plain(category), self.pooled) for category in occurring)
        positions = np.fromiter(own, np.uint8, len(occurring))
        bins = np.full(len(column.missing), self.missing, np.uint8)
        bins[~column.missing] = positions[codes]
        return bins


def bins_of(column: Column, *, nominal: bool, most: int) -> ColumnBins:
    """Return the bins of a column from sampled rows; at most ``most`` bins of numbers have similar sizes."""
    if nominal or column.kind in ("category", "string"):
        codes, occurring = column.factorized()
        counts = np.bincount(codes, minlength=len(occurring))
        order = sorted(np.flatnonzero(counts).tolist(), key=lambda c: (-counts[c], str(plain(occurring[c]))))
        return ColumnBins(
            np.empty(0), {plain(occurring[c]): position for position, c in enumerate(order[:MOST_BINS])}
        )
    numbers = numbers_of(column)
    ordered = np.sort(numbers[np.isfinite(numbers)])
    distinct = np.unique(ordered)
    if len(distinct) > most:
        cuts = ordered[(len(ordered) - 1) * np.arange(1, most) // most]
        return ColumnBins(np.unique(cuts[cuts < distinct[-1]]))
    return ColumnBins(distinct[:-1])


def numbers_of(column: Column) -> Floats:
    """Return a column of numbers, dates or booleans as floats in the same order, NaN where missing."""
    values = column.values
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]").view(np.int64)
    numbers = np.full(len(column.missing), np.nan)
    numbers[~column.missing] = values
    return numbers


def is_ordered(column: Column) -> bool:
    """Return whether the dtype is one of numbers, dates or booleans; a column of objects is not."""
    return column.values.dtype.kind in "biufmM"


def plain(category: Any) -> Any:
    """Return a category as a Python object; scalars of numpy are converted."""
    return category.item() if isinstance(category, np.generic) else category


Categories = Mapping[str, tuple[Any, ...]]
SHOWN = 5  # values in a message or a note


def content_of(kind: pa.DataType) -> tuple[str, bool]:
    """Return the content of an Arrow column in words, and whether it is categorical."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return content_of(kind.value_type)[0], True
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "numbers", False
    if pa.types.is_boolean(kind):
        return "booleans", False
    if pa.types.is_temporal(kind):
        return "dates or times", False
    return ("text" if "string" in str(kind) else str(kind)), False


def contents_of(table: FrameTable) -> Callable[[int], tuple[str, bool]]:
    """Return a function from a column in memory to its content in words and whether it is categorical."""
    dtypes = list(table.frame.schema.values())  # read at once: column by column, a wide table takes a second

    def content(feature: int) -> tuple[str, bool]:
        dtype = dtypes[feature]
        if dtype in (nw.Categorical, nw.Enum):
            return _dtype_in_words(table.frame[:, feature].cat.get_categories().dtype), True
        native = table.frame[:, feature].to_native() if dtype == nw.String else None
        if getattr(native, "dtype", None) == np.dtype(object):
            # narwhals reads a pandas column of objects as text if its first values are missing.
            return ("text" if table.column(feature).kind == "string" else "objects"), False
        return _dtype_in_words(dtype), False

    return content


def _dtype_in_words(dtype: Any) -> str:
    if dtype.is_numeric():
        return "numbers"
    if dtype.is_temporal():
        return "dates or times"
    return {nw.String: "text", nw.Boolean: "booleans", nw.Object: "objects"}.get(dtype, str(dtype))


def check_known(name: str, known: tuple[Any, ...], occurring: Iterable[Any]) -> None:
    """Raise `TableError` for a category that the model, which refuses unknown categories, does not know."""
    other = next((value for value in occurring if value is not None and value not in known), None)
    if other is not None:
        raise TableError(
            f"column {name!r} of X has {other!r}, which is not one of the {len(known)} categories that the "
            "model was fitted on, and it refuses others; drop such rows, and the category itself if it is "
            "declared, or set it to missing"
        )


def unknown_to(name: str, known: Iterable[tuple[Any, ...]], occurring: Iterable[Any]) -> str | None:
    """Return the values of a column that some model does not know, in words; None if there are none.

    A model treats unknown categories as missing. If it knows none of the values, `TableError` is raised,
    because no result would show that all of them are missing.
    """
    values = [value for value in occurring if value is not None and value == value]
    others: set[Any] = set()
    for own in map(frozenset, known):
        unknown = {value for value in values if value not in own}
        if values and len(unknown) == len(values):
            raise TableError(
                f"column {name!r} of X has none of the categories the model was fitted on "
                f"({_example_values(own)}): "
                f"{_example_values(unknown)} are all missing values to it; pass what it was fitted on"
            )
        others |= unknown
    return f"{name}: {_example_values(others)}" if others else None


def _example_values(values: Collection[Any]) -> str:
    shown = sorted(repr(value) for value in map(plain, values) if value == value)
    return ", ".join(shown[:SHOWN]) + (f" and {len(shown) - SHOWN} more" if len(shown) > SHOWN else "")


def categories_with(name: str, known: tuple[Any, ...], occurring: Iterable[Any]) -> pa.Array:
    """Return the categories a model knows, followed by the others that occur."""
    import pyarrow as pa

    seen = set(known)
    others = [value for value in dict.fromkeys(occurring) if value is not None and value not in seen]
    values = pa.array(known)
    return (
        pa.concat_arrays([values, _cast_categories(name, pa.array(others), values.type)])
        if others
        else values
    )


def recode(name: str, column: Any, values: pa.Array) -> pa.ChunkedArray:
    """Return a categorical column encoded by ``values``, which include all of its categories."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ordered = column.type.ordered
    chunks = []
    for chunk in column.chunks:
        position = pc.index_in(_cast_categories(name, chunk.dictionary, values.type), value_set=values)
        codes = position.take(chunk.indices)
        chunks.append(pa.DictionaryArray.from_arrays(codes.cast(pa.int32()), values, ordered=ordered))
    return pa.chunked_array(chunks, type=pa.dictionary(pa.int32(), values.type, ordered))


def _cast_categories(name: str, values: Any, kind: pa.DataType) -> Any:
    import pyarrow as pa

    try:
        return values.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        what, wanted = (content_of(one)[0] for one in (values.type, kind))
        why = f" ({error})" if what == wanted else ""
        raise TableError(
            f"column {name!r} of X holds {what}, and the model was fitted on categories of {wanted}{why}; "
            "pass what it was fitted on"
        ) from error


def _as_categories(name: str, column: Any, known: tuple[Any, ...], closed: Categories) -> pa.ChunkedArray:
    """Return a column of plain values as categories: those a model knows, then others that occur."""
    encoded = column.dictionary_encode()
    occurring = encoded.unify_dictionaries().chunk(0).dictionary.to_pylist() if encoded.num_chunks else ()
    if name in closed:
        check_known(name, closed[name], occurring)
    return recode(name, encoded, categories_with(name, known, occurring))


def categorized(table: FrameTable, categories: Categories, closed: Categories) -> FrameTable:
    """Return a pandas table with the categories a model knows in some columns; the others share memory."""
    native, pandas = table.native.copy(deep=False), nw.dependencies.get_pandas()
    own = [str(name) for name in native.columns]
    for name, known in categories.items():
        position = own.index(name)
        try:
            codes, index = native.iloc[:, position].factorize()  # -1 where missing
        except TypeError as error:
            raise _unlike(name, "objects that cannot be categories", known) from error
        occurring = index.tolist()
        if name in closed:
            check_known(name, closed[name], occurring)
        every = tuple(dict.fromkeys((*known, *occurring)))
        if pandas.Index(every).inferred_type != pandas.Index(known).inferred_type:
            raise _unlike(name, f"values such as {every[len(known)]!r}", known)
        place = {category: code for code, category in enumerate(every)}
        recoded = np.array([*(place[category] for category in occurring), -1])[codes]
        native.isetitem(position, pandas.Categorical.from_codes(recoded, every))
    return replace(table, native=native)


def _unlike(name: str, what: str, known: tuple[Any, ...]) -> TableError:
    return TableError(
        f"column {name!r} of X holds {what}, and the model was fitted on categories such as {known[0]!r}; "
        "pass what it was fitted on"
    )


def as_pandas(table: FrameTable, categories: Categories, closed: Categories) -> ModelTable:
    """Return a polars or Arrow table whose blocks are converted to pandas for the model."""
    from paribus._data.scan.model_table import ModelTable
    from paribus._data.scan.source import conformed, normal_schema

    check_pyarrow(f"the conversion of X from {table.backend} to pandas, which the model was fitted on,")
    try:
        arrow = table.frame.to_arrow()
    except Exception as error:  # every frame library raises different conversion errors
        raise TableError(
            f"X, a {table.backend} table, cannot be given to the model as pandas: {error}; cast its columns "
            "to numbers, text, categories or dates"
        ) from error
    schema = normal_schema(arrow.schema)
    arrow = conformed(arrow, schema, "X")
    for name, known in categories.items():
        position = schema.get_field_index(name)
        column = _as_categories(name, arrow.column(position), known, closed)
        arrow = arrow.set_column(position, name, column)
    gaps = frozenset(name for name in schema.names if arrow.column(name).null_count)
    return ModelTable.of(arrow, table.names, "pandas", gaps)
