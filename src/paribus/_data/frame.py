"""Data frames of pandas, polars and Arrow as tables, read through narwhals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import xxhash

from paribus._contracts import Array, Flags, Integers, Kind
from paribus._data.kinds import OBJECT_BYTES, kind_of_objects, objects, objects_like, typed
from paribus._data.table import (
    CellValues,
    Column,
    ScratchBuffer,
    Stack,
    checked_names,
    read_array,
)
from paribus.errors import FeatureError, GridError, TableError

CONTENT_ROWS = 65_536  # rows of text or objects given to a digest at a time
FIRST_TEXTS = 4_096  # rows that mostly hold all values of a column of text that has few
TEXT_SAMPLE = 256  # values that give the length of text and the Python type of objects


@dataclass(frozen=True, eq=False)
class FrameTable:
    """A data frame that is kept in its library, because the model was fitted on such frames."""

    native: Any
    names: tuple[str, ...]

    @classmethod
    def of(cls, X: Any, names: Any) -> Self:
        """Read an eager data frame; ``names`` may rename its columns for reporting."""
        labels = X.column_names if hasattr(X, "column_names") else X.columns
        twice = [name for name, times in Counter(map(str, labels)).items() if times > 1]
        if twice:
            same = hasattr(X, "loc") and X.columns.has_duplicates  # and not 1 and "1"
            way_out = ", or keep the first of each by X.loc[:, ~X.columns.duplicated()]" if same else ""
            raise TableError(
                f"the header of X has {twice[0]!r} more than once; names must be unique as text: rename "
                f"columns{way_out}"
            )
        try:
            columns = nw.from_native(X, eager_only=True).columns
        except (TypeError, nw.exceptions.NarwhalsError) as error:
            raise TableError(f"X is a {type(X).__name__} that cannot be read: {error}") from error
        own = checked_names(columns, len(columns), "the header of X")
        return cls(X, own if names is None else checked_names(names, len(columns)))

    @cached_property
    def frame(self) -> nw.DataFrame[Any]:
        """The frame as a data frame of narwhals."""
        return nw.from_native(self.native, eager_only=True)

    def __getstate__(self) -> dict[str, Any]:
        native = self.native
        if self.frame.implementation.is_pyarrow():
            native = _compact(native)
        return {"native": native, "names": self.names}

    @property
    def backend(self) -> str:
        """Return the name of the frame's library."""
        return str(self.frame.implementation.value)

    @cached_property
    def whole(self) -> Array | None:
        """The single array of numbers that holds the frame; None for any other frame."""
        return whole_array(self.native) if is_pandas(self.native) else None

    @cached_property
    def row_bytes(self) -> int:
        """Bytes of one row when it is repeated, estimated from the dtypes and the first texts."""
        if self.whole is not None:
            return _cell_bytes(self._first) * len(self.names)
        return sum(_cell_bytes(self._series(j)) for j in range(len(self.names)))

    def __len__(self) -> int:
        return len(self.native if is_pandas(self.native) else self.frame)

    def slice(self, start: int, stop: int) -> Self:
        """Return consecutive rows."""
        if not is_pandas(self.native):
            return self._some(self.frame[start:stop])
        table = type(self)(self.native.iloc[start:stop], self.names)
        vars(table)["whole"] = None if self.whole is None else self.whole[start:stop]
        return table

    def keep(self, mask: Flags) -> Self:
        """Return the rows where ``mask`` holds."""
        if is_pandas(self.native):
            return type(self)(self.native.iloc[np.flatnonzero(mask)], self.names)
        return self._some(self.frame[np.flatnonzero(mask)])

    def pick(self, features: tuple[int, ...]) -> Self:
        """Return some of the columns, in the order given."""
        frame = self.frame[:, list(features)]
        return type(self)(frame.to_native(), tuple(self.names[j] for j in features))

    def dtype(self, feature: int) -> str:
        """Return the column's dtype in words."""
        return str(self._like(feature).dtype)

    def column(self, feature: int) -> Column:
        """Read one column."""
        name = self.names[feature]
        if self.whole is not None:
            return read_array(name, np.ascontiguousarray(self.whole[:, feature]))
        series = self._series(feature)
        try:
            if (values := _stored_floats(series)) is not None:
                return read_array(name, values)
            return _read_series(name, series)
        except FeatureError:
            raise
        except Exception as error:  # every frame library raises different conversion errors
            raise FeatureError(
                f"feature {name!r} of dtype {series.dtype} cannot be read: {error}; cast it to numeric, "
                f"text, categorical or date"
            ) from error

    def floats(self, feature: int) -> Array | None:
        """Return a column of floats as stored, NaN where missing; None for any other column."""
        if self.whole is not None:
            return self.whole[:, feature] if self.whole.dtype in (np.float64, np.float32) else None
        return _stored_floats(self._series(feature))

    def cells(self, feature: int, values: Array) -> CellValues:
        """Return values in the column's dtype; raise `GridError` for values it cannot hold."""
        like, name = self._like(feature), self.names[feature]
        try:
            native = _native_like(like, values)
            if self.whole is not None:
                return CellValues(native, read_array(name, native.to_numpy()))
            read = _read_series(name, nw.from_native(native, series_only=True))
        except Exception as error:  # every frame library raises different conversion errors
            raise GridError(
                f"values for {name!r} cannot be represented in its dtype {like.dtype}: {error}; "
                "pass representable values, or cast the column in X"
            ) from error
        return CellValues(native, read)

    def own_cells(self, feature: int) -> CellValues:
        """Return the cells of a column, including missing ones: cell ``i`` is that of row ``i``."""
        return CellValues(self._series(feature).to_native(), self.column(feature))

    def with_missing(self, feature: int, cells: CellValues) -> CellValues:
        """Append this table's first value, which is missing, in its native form."""
        if getattr(cells.native, "dtype", None) == np.dtype(object):
            # When pandas concatenates columns itself, it may replace one missing object by another.
            pd, last = nw.get_native_namespace(self.frame), self._series(feature)[:1].to_list()
            series = pd.Series(objects([*cells.native, *last]), dtype=object)
            return CellValues(series, cells.column.and_missing())
        occurring = self._series(feature)[:1].alias("cells")
        requested = nw.from_native(cells.native, series_only=True).alias("cells")
        both = nw.concat([requested.to_frame(), occurring.to_frame()])
        return CellValues(both["cells"].to_native(), cells.column.and_missing())

    def stack(self, copies: int, scratch: ScratchBuffer) -> Stack:
        """Return a stack for ``copies`` points at once; repeated pandas rows get unique labels."""
        if self.whole is not None:
            return WholeStack(self.native, self.whole, scratch)
        if is_pandas(self.native):
            return PandasStack.of(self.native, copies)
        rows = len(self)
        if copies == 1:
            return FrameStack(self.frame, rows)
        return FrameStack(nw.maybe_reset_index(self.frame[np.tile(np.arange(rows), copies)]), rows)

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """A digest of each column, which depends on its values only."""
        found = []
        for feature in range(len(self.names)):
            digest = xxhash.xxh3_128()
            for part in self._digested_buffers(feature):
                digest.update(part)
            found.append(digest.hexdigest())
        return tuple(found)

    def _digested_buffers(self, feature: int) -> Iterator[Any]:
        """Yield buffers that depend on the values of a column only."""
        if self.whole is None or self.whole.dtype.kind == "b":
            yield from _column_buffers(self._series(feature))
        else:  # the same bytes, for a frame in one array
            values = np.ascontiguousarray(self.whole[:, feature])
            missing = np.isnan(values)
            yield from (np.packbits(missing),) if missing.any() else ()
            yield values.view(np.uint8)

    def _some(self, frame: nw.DataFrame[Any]) -> Self:
        """Return some rows; the narwhals frame is reused, because wrapping costs as much as slicing."""
        table = type(self)(frame.to_native(), self.names)
        vars(table)["frame"] = frame
        return table

    @cached_property
    def _first(self) -> nw.Series[Any]:
        return self._series(0)

    def _like(self, feature: int) -> nw.Series[Any]:
        """Return a column with the dtype of a feature."""
        return self._series(feature) if self.whole is None else self._first

    def _series(self, feature: int) -> nw.Series[Any]:
        if is_pandas(self.native) or self.frame.implementation.is_pandas_like():
            # By position: pandas builds its index of labels on first use, which is not thread-safe.
            return nw.from_native(self.native.iloc[:, feature], series_only=True)
        return self.frame.get_column(self._labels[feature])

    @cached_property
    def _labels(self) -> list[str]:
        return self.frame.columns  # a new list at each access, which takes long for many columns


@dataclass(frozen=True, eq=False)
class FrameStack:
    """A block of ``rows`` rows repeated in ``base``."""

    base: nw.DataFrame[Any]
    rows: int

    def at(self, replaced: dict[int, CellValues], index: Integers) -> Any:
        """Return a frame whose other columns share memory with the block; the model cannot change them."""
        size = len(index) * self.rows
        frame = self.base if size == len(self.base) else self.base.head(size)
        columns = []
        for position, (feature, cells) in enumerate(replaced.items()):
            taken = nw.from_native(cells.native, series_only=True)
            taken = taken[chosen(index, position, self.rows).ravel()]
            columns.append(taken.alias(frame.columns[feature]))
        return frame.with_columns(*columns).to_native()


def _compact(table: Any) -> Any:
    """Return a copy of an Arrow table, so that a slice is pickled without the other rows."""
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.unify_dictionaries())
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def _cell_bytes(series: nw.Series[Any]) -> int:
    """Return the estimated bytes of one value of a column."""
    dtype = series.dtype
    if dtype in (nw.Boolean, nw.Int8, nw.UInt8):
        return 1
    if dtype.is_numeric() or dtype.is_temporal():
        return 8
    texts = series.head(TEXT_SAMPLE).to_list()
    return OBJECT_BYTES + sum(len(str(text)) for text in texts) // max(1, len(texts))


def _column_buffers(series: nw.Series[Any]) -> Iterator[Any]:
    """Yield a column's values: the bytes of numbers and dates, the text of anything else."""
    plain = series.dtype.is_float() or series.dtype.is_integer() or series.dtype.is_temporal()
    if plain and series.dtype not in (nw.Int128, nw.UInt128):
        values = np.ascontiguousarray(series.to_numpy())
        if series.null_count():
            yield np.packbits(series.is_null().to_numpy())  # polars and Arrow distinguish null from NaN
        if values.dtype.kind in "fiumM":
            yield values.view(np.uint8)
            return
    for start in range(0, len(series), CONTENT_ROWS):
        yield "\x1f".join(map(repr, series[start : start + CONTENT_ROWS].to_list())).encode()


def _kind_of_series(name: str, series: nw.Series[Any]) -> Kind | None:
    """Return the kind of a column from its dtype; None if only the values determine it."""
    dtype = series.dtype
    if dtype.is_integer() and dtype not in (nw.Int128, nw.UInt128):
        return "integer"
    if dtype.is_float() or dtype == nw.Decimal:
        return "numeric"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype in (nw.Categorical, nw.Enum):
        return "category"
    if dtype == nw.String:
        return "string"
    if dtype in (nw.Date, nw.Datetime, nw.Duration) or _has_zone(series):
        return "datetime"
    if dtype == nw.Object:
        return None
    plain = getattr(series.to_native(), "dtype", None)
    if isinstance(plain, np.dtype) and plain.kind == "f":  # half precision in an older narwhals
        return "numeric"
    raise FeatureError(
        f"feature {name!r} has dtype {dtype}, which cannot be varied; "
        "cast it to numeric, text, categorical or date"
    )


def _has_zone(series: nw.Series[Any]) -> bool:
    """Return whether a pandas column holds dates with a time zone; narwhals lacks some zones."""
    return getattr(getattr(series.to_native(), "dtype", None), "tz", None) is not None


def _zone(series: nw.Series[Any]) -> str | None:
    """Return the time zone of dates that have one."""
    if _has_zone(series):
        return str(series.to_native().dtype.tz)
    return series.dtype.time_zone if isinstance(series.dtype, nw.Datetime) else None


def _stored_floats(series: nw.Series[Any]) -> Array | None:
    """Return a column of floats, NaN where missing; None for any other column."""
    if series.dtype not in (nw.Float64, nw.Float32):
        return None
    values = np.asarray(series.to_numpy())
    return values if values.dtype in (np.float64, np.float32) else None


def _read_series(name: str, series: nw.Series[Any]) -> Column:
    kind = _kind_of_series(name, series)
    absent = series.is_null()
    # Arrow and polars distinguish null from NaN; models treat both as a missing number.
    if series.dtype.is_float():
        absent = absent | series.is_nan().fill_null(True)
    missing = np.asarray(absent.to_numpy(), dtype=bool)
    present = series.filter(~absent) if missing.any() else series
    if kind in ("category", "string"):
        return _read_categories(name, kind, series, present, missing)
    if kind == "datetime":
        return Column(name, kind, _date_values(present), missing, zone=_zone(series))
    if kind is None:
        return _read_objects(name, present, missing)
    values = np.asarray(present.to_numpy())
    if kind == "numeric" and values.dtype == object:
        values = values.astype(np.float64)
    return Column(name, kind, values, missing)


def _date_values(present: nw.Series[Any]) -> Array:
    if present.dtype == nw.Date:
        return np.asarray(present.to_numpy()).astype("datetime64[D]")
    if _has_zone(present):
        return np.asarray(present.to_native().dt.tz_convert("UTC").dt.tz_localize(None).to_numpy())
    return np.asarray(present.to_numpy())


def _read_categories(
    name: str, kind: Kind, series: nw.Series[Any], present: nw.Series[Any], missing: Flags
) -> Column:
    """Read text and categories by the codes of their library, without a loop over rows."""
    declared = tuple(series.cat.get_categories().to_list()) if kind == "category" else None
    ranked = kind == "category" and _is_ranked(series)
    if kind == "string" and not _is_text(present):
        return _read_objects(name, present, missing)
    codes, occurring = _codes_in_use(present, declared)
    if len(set(occurring)) < len(occurring):  # an Arrow dictionary may contain a category twice
        return Column(name, kind, objects(present.to_list()), missing, declared, ranked=ranked)
    return Column(name, kind, objects(occurring)[codes], missing, declared, codes, occurring, ranked)


def _is_text(present: nw.Series[Any]) -> bool:
    """Return whether a column without missing values that narwhals reads as text holds nothing else.

    For a pandas column of objects, narwhals looks only at the first values.
    """
    native = present.to_native()
    if getattr(native, "dtype", None) != np.dtype(object):
        return True
    return bool(nw.get_native_namespace(present).api.types.infer_dtype(native, skipna=False) == "string")


def _codes_in_use(
    present: nw.Series[Any], declared: tuple[Any, ...] | None
) -> tuple[Integers, tuple[Any, ...]]:
    """Return the code of each value of text or categories, and the values by code."""
    native, library = present.to_native(), present.implementation
    if library.is_polars():
        return _polars_codes(library.to_native_namespace(), native, declared)
    if library.is_pandas_like() and declared is not None:
        codes, occurring = native.cat.codes.to_numpy(), declared
    elif library.is_pandas_like():
        codes, texts = native.factorize()
        occurring = tuple(map(str.__str__, texts.tolist()))  # a subclass of text as text
    else:
        coded = native.dictionary_encode().unify_dictionaries().combine_chunks()
        codes, occurring = coded.indices.to_numpy(zero_copy_only=False), tuple(coded.dictionary.to_pylist())
    return codes.astype(np.int64), occurring


def _polars_codes(pl: Any, native: Any, declared: tuple[Any, ...] | None) -> tuple[Integers, tuple[Any, ...]]:
    """Return the code of each value of a polars column of text or categories, and the values by code."""
    if declared is None:
        declared = tuple(native.head(FIRST_TEXTS).unique(maintain_order=True).to_list())
        coded = native.cast(pl.Enum(declared), strict=False)
        if coded.null_count():
            first = pl.col("index").first().over("text")  # faster than an Enum of many values
            first_rows = native.to_frame("text").with_row_index().select(first).to_series().to_numpy()
            is_first = first_rows == np.arange(len(native))
            return (np.cumsum(is_first) - 1)[first_rows], tuple(native.filter(is_first).to_list())
        native = coded
    codes = native.to_physical().to_numpy()
    if isinstance(native.dtype, pl.Categorical):  # whose codes number the categories of all columns
        stored = pl.Series(declared, dtype=native.dtype).to_physical().to_numpy()
        places = np.empty(int(stored.max(initial=0)) + 1, np.int64)
        places[stored] = np.arange(len(stored))
        codes = places[codes]
    return codes.astype(np.int64, copy=False), declared


def _is_ranked(series: nw.Series[Any]) -> bool:
    """Return whether categories are ordered; polars enums are."""
    native = series.to_native()
    dtype = getattr(native, "type", None) or getattr(native, "dtype", None)
    return bool(getattr(dtype, "ordered", series.dtype == nw.Enum))


def _read_objects(name: str, present: nw.Series[Any], missing: Flags) -> Column:
    values = objects(present.to_list())
    kind = kind_of_objects(name, values)
    return Column(name, kind, typed(name, values, kind), missing)


def _native_like(like: nw.Series[Any], values: Array) -> Any:
    """Return values as a native series of the dtype of ``like``."""
    library = like.implementation
    if library.is_pandas_like():
        return _pandas_like(library.to_native_namespace(), like.to_native(), values)
    if library.is_polars():
        return _polars_like(library.to_native_namespace(), like.to_native(), values)
    return _arrow_like(library.to_native_namespace(), like.to_native(), values)


def _pandas_like(pd: Any, like: Any, values: Array) -> Any:
    if like.dtype == object:
        return pd.Series(objects_like(values, like.dropna().head(TEXT_SAMPLE).to_numpy()), dtype=object)
    if values.dtype.kind in "mM":
        zone = getattr(like.dtype, "tz", None)
        series = pd.Series(values)
        return (series if zone is None else series.dt.tz_localize("UTC")).astype(like.dtype)
    return pd.Series(values.tolist(), dtype=like.dtype)


def _polars_like(pl: Any, like: Any, values: Array) -> Any:
    if values.dtype.kind in "mM":
        zoned = getattr(like.dtype, "time_zone", None)
        utc = pl.Datetime(like.dtype.time_unit, "UTC") if zoned else like.dtype
        return pl.Series(like.name, values).cast(utc).cast(like.dtype)
    if like.dtype.is_decimal():
        return pl.Series(like.name, values.tolist()).cast(like.dtype)
    return pl.Series(like.name, values.tolist(), dtype=like.dtype, strict=True)


def _arrow_like(pa: Any, like: Any, values: Array) -> Any:
    if values.dtype.kind in "mM":
        unit = np.datetime_data(values.dtype)[0]
        ticks = pa.array(values if unit != "D" else values.astype("datetime64[s]"))
        return pa.chunked_array([ticks.cast(like.type)])
    if pa.types.is_dictionary(like.type):
        return _arrow_categories(pa, like, values)
    if pa.types.is_decimal(like.type):
        return pa.chunked_array([pa.array(values.tolist()).cast(like.type)])
    return pa.chunked_array([pa.array(values.tolist(), type=like.type)])


def _arrow_categories(pa: Any, like: Any, values: Array) -> Any:
    """Return categories encoded by the column's dictionary, for models that read the codes."""
    categories = like.unify_dictionaries().chunk(0).dictionary
    known = {category: code for code, category in enumerate(categories.to_pylist())}
    codes = pa.array([known[value] for value in values.tolist()], type=like.type.index_type)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, categories, ordered=like.type.ordered)])


FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def is_pandas(native: Any) -> bool:
    """Return whether a table is a pandas data frame."""
    return bool(nw.dependencies.is_pandas_dataframe(native))


def whole_array(native: Any) -> Array | None:
    """Return the single array ``(n, p)`` that holds a pandas frame; None if its columns are separate.

    For separate columns, pandas would create a new array in each call.
    """
    head = native.iloc[:1]
    if not head.size or type(native).__module__.split(".")[0] != "pandas":  # a subclass may have more data
        return None
    dtype, first = head.dtypes.iloc[0], head.iloc[:, 0].to_numpy()
    if not isinstance(dtype, np.dtype) or not (dtype in FLOATS or dtype.kind in "iub"):
        return None
    return native.to_numpy() if np.may_share_memory(head.to_numpy(), first) else None


@dataclass(frozen=True, eq=False)
class PandasStack:
    """A block of ``rows`` rows repeated in ``base``."""

    base: Any
    rows: int

    @classmethod
    def of(cls, native: Any, copies: int) -> PandasStack:
        """Return a stack of ``copies`` repetitions; repeated rows get unique labels."""
        rows = len(native)
        if copies == 1:
            return cls(native, rows)
        base = native.take(np.tile(np.arange(rows), copies))
        base.index = range(len(base))
        return cls(base, rows)

    def at(self, replaced: dict[int, CellValues], index: Integers) -> Any:
        """Return a frame whose other columns share memory with the block; the model cannot change them.

        Columns are replaced by position, because narwhals would rebuild every other column too. Copy-on-write
        protects a shallow copy from pandas 3 on; older versions need a deep copy.
        """
        size = len(index) * self.rows
        frame = self.base if size == len(self.base) else self.base.iloc[:size]
        pandas = nw.dependencies.get_pandas()
        native = frame.copy(deep=int(pandas.__version__.split(".")[0]) < 3)
        for position, (feature, cells) in enumerate(replaced.items()):
            # A series, because pandas would infer another dtype for an array of objects.
            taken = cells.native.take(chosen(index, position, self.rows).ravel())
            taken.index = native.index
            native.isetitem(feature, taken)
        return native


@dataclass(frozen=True, eq=False)
class WholeStack:
    """A block ``(m, p)`` of a frame held in one array, repeated in a buffer as a frame in one array.

    A model would have to copy separate columns into one array in each ``predict``.
    """

    native: Any
    block: Array
    scratch: ScratchBuffer

    def at(self, replaced: dict[int, CellValues], index: Integers) -> Any:
        """Return a frame in a newly filled buffer, because a model may have written into the last one."""
        if any(cells.native.dtype != self.block.dtype for cells in replaced.values()):
            return PandasStack.of(self.native, len(index)).at(replaced, index)
        rows, columns = self.block.shape
        if self.block.strides[0] <= self.block.strides[1]:  # column by column, as the block is stored
            shape = columns, len(index), rows
            buffer = self.scratch.array(shape, self.block.dtype).transpose(1, 2, 0)
        else:
            buffer = self.scratch.array((len(index), rows, columns), self.block.dtype)
        buffer[:] = self.block
        for position, (feature, cells) in enumerate(replaced.items()):
            buffer[:, :, feature] = cells.native.to_numpy()[chosen(index, position, rows)]
        flat = buffer.reshape(-1, columns)
        labels = self.native.index if len(index) == 1 else None
        frame = type(self.native)(flat, index=labels, columns=self.native.columns, copy=False)
        frame.attrs = self.native.attrs
        return frame


def chosen(index: Integers, position: int, rows: int) -> Integers:
    """Return the cell of a feature that each row of each point takes, ``(b, m)``."""
    own = index[..., position] if index.ndim == 3 else index[:, None, position]
    return np.broadcast_to(own, (len(index), rows))
