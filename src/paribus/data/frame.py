"""Tables that are data frames: pandas, polars, Arrow and their kin, read through narwhals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np

from paribus.contracts import Array, Flags, Integers, Kind
from paribus.data.kinds import kind_of_objects, typed
from paribus.data.table import Cells, Column, Scratch, checked_names
from paribus.errors import FeatureError, GridError, TableError

OBJECT_BYTES = 64  # a pointer and a typical short string behind it


@dataclass(frozen=True)
class FrameTable:
    """A data frame that stays in its own library, so that the model sees what it was fitted on."""

    native: Any
    names: tuple[str, ...]

    @classmethod
    def of(cls, X: Any, names: Any) -> Self:
        """Read an eager data frame; ``names`` may rename its columns for reporting."""
        if hasattr(X, "collect") and hasattr(X, "collect_schema") and not hasattr(X, "to_numpy"):
            raise TableError(f"X is a lazy {type(X).__name__}; pass X.collect()")
        try:
            frame = nw.from_native(X, eager_only=True)
            columns = frame.columns
        except (TypeError, nw.exceptions.NarwhalsError) as error:
            raise TableError(f"X is a {type(X).__name__} that cannot be read: {error}") from error
        own = checked_names(columns, len(columns))
        return cls(X, own if names is None else checked_names(names, len(columns)))

    @cached_property
    def frame(self) -> nw.DataFrame[Any]:
        """The frame as narwhals sees it."""
        return nw.from_native(self.native, eager_only=True)

    @property
    def backend(self) -> str:
        """Return the name of the frame's library."""
        return str(self.frame.implementation.value)

    @cached_property
    def row_bytes(self) -> int:
        """Memory of one row once it is repeated; text counts as small objects."""
        return sum(_bytes(dtype) for dtype in self.frame.schema.values())

    def __len__(self) -> int:
        return len(self.frame)

    def slice(self, start: int, stop: int) -> Self:
        """Return consecutive rows."""
        return type(self)(self.frame[start:stop].to_native(), self.names)

    def keep(self, mask: Flags) -> Self:
        """Return the rows where ``mask`` holds."""
        return type(self)(self.frame[np.flatnonzero(mask)].to_native(), self.names)

    def dtype(self, feature: int) -> str:
        """Return the column's dtype in words."""
        return str(self._series(feature).dtype)

    def column(self, feature: int) -> Column:
        """Read one column."""
        return _read(self.names[feature], self._series(feature))

    def cells(self, feature: int, values: Array) -> Cells:
        """Write values in the column's dtype, or refuse what it cannot hold."""
        like = self._series(feature)
        try:
            native = _native_like(like, values)
            read = _read(self.names[feature], nw.from_native(native, series_only=True))
        except Exception as error:  # each frame library has its own tree of conversion errors
            raise GridError(
                f"values for {self.names[feature]!r} do not fit its dtype {like.dtype}: {error}; "
                "give values it can hold, or cast the column in X"
            ) from error
        return Cells(native, read.values)

    def missing_cell(self, feature: int, cells: Cells, row: int) -> Cells:
        """Append the missing value found in ``row``, in the form the model knows it."""
        found = self._series(feature)[row : row + 1]
        name = found.name
        asked = nw.from_native(cells.native, series_only=True).alias(name)
        both = nw.concat([asked.to_frame(), found.to_frame()])
        return Cells(both[name].to_native(), cells.values)

    def stack(self, copies: int, scratch: Scratch) -> FrameStack:
        """Prepare to ask ``copies`` points at once."""
        rows = len(self)
        base = self.frame if copies == 1 else self.frame[np.tile(np.arange(rows), copies)]
        return FrameStack(base, rows)

    def digest(self) -> Any:
        """Return a buffer that identifies these rows, for a fingerprint."""
        import pyarrow as pa

        arrow = self.frame.to_arrow().replace_schema_metadata(None)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, arrow.schema) as writer:
            writer.write_table(arrow)
        return sink.getvalue()

    def _series(self, feature: int) -> nw.Series[Any]:
        return self.frame[:, feature]


@dataclass(frozen=True)
class FrameStack:
    """A block of ``rows`` rows repeated in ``base``."""

    base: nw.DataFrame[Any]
    rows: int

    def at(self, replaced: dict[int, Cells], index: Integers) -> Any:
        """Return a frame whose other columns are shared with the block, never written to."""
        size = len(index) * self.rows
        frame = self.base if size == len(self.base) else self.base.head(size)
        columns = []
        for position, (feature, cells) in enumerate(replaced.items()):
            series = nw.from_native(cells.native, series_only=True)
            taken = series[np.repeat(index[:, position], self.rows)]
            columns.append(taken.alias(frame.columns[feature]))
        native = frame.with_columns(*columns).to_native()
        return native.copy() if _writes_through(frame) else native


def _writes_through(frame: nw.DataFrame[Any]) -> bool:
    """Tell whether writing into a shallow copy would change the original: pandas before 3."""
    if not frame.implementation.is_pandas():
        return False
    return int(nw.get_native_namespace(frame).__version__.split(".")[0]) < 3


def _bytes(dtype: nw.dtypes.DType) -> int:
    if dtype in (nw.Boolean, nw.Int8, nw.UInt8):
        return 1
    if dtype.is_numeric() or dtype.is_temporal():
        return 8
    return OBJECT_BYTES


def _kind(name: str, series: nw.Series[Any]) -> Kind | None:
    dtype = series.dtype
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or dtype == nw.Decimal:
        return "numeric"
    if dtype == nw.Boolean:
        return "boolean"
    if dtype in (nw.Categorical, nw.Enum):
        return "category"
    if dtype == nw.String:
        return "string"
    if dtype in (nw.Date, nw.Datetime, nw.Duration):
        return "datetime"
    if dtype == nw.Object:
        return None
    raise FeatureError(
        f"feature {name!r} has dtype {dtype}, which cannot be varied; "
        "cast it to a number, text, category or date"
    )


def _read(name: str, series: nw.Series[Any]) -> Column:
    kind = _kind(name, series)
    absent = series.is_null()
    # Arrow and polars tell null from NaN; to the models both are a missing number.
    if series.dtype.is_float():
        absent = absent | series.is_nan().fill_null(True)
    missing = np.asarray(absent.to_numpy(), dtype=bool)
    present = series.filter(~absent) if missing.any() else series
    values = np.asarray(present.to_numpy())
    if kind is None:
        kind = kind_of_objects(values)
        return Column(name, kind, typed(values, kind), missing)
    if kind == "category":
        levels = tuple(series.cat.get_categories().to_list())
        return Column(name, kind, values, missing, levels)
    if kind == "datetime" and values.dtype == object:
        values = values.astype("datetime64[us]")
    if kind == "numeric" and values.dtype == object:
        values = values.astype(np.float64)
    return Column(name, kind, values, missing)


def _native_like(like: nw.Series[Any], values: Array) -> Any:
    """Return values as a native series of the dtype of ``like``."""
    library = like.implementation
    if library.is_pandas_like():
        return _pandas_like(library.to_native_namespace(), like.to_native(), values)
    if library.is_polars():
        return _polars_like(library.to_native_namespace(), like.to_native(), values)
    return _arrow_like(library.to_native_namespace(), like.to_native(), values)


def _pandas_like(pd: Any, like: Any, values: Array) -> Any:
    if values.dtype.kind in "mM" and like.dtype != object:
        zone = getattr(like.dtype, "tz", None)
        series = pd.Series(values)
        return (series if zone is None else series.dt.tz_localize("UTC")).astype(like.dtype)
    if like.dtype == object:
        series = pd.Series(index=range(len(values)), dtype=object)
        series[:] = values.tolist()
        return series
    return pd.Series(values.tolist(), dtype=like.dtype)


def _polars_like(pl: Any, like: Any, values: Array) -> Any:
    if values.dtype.kind in "mM":
        return pl.Series(like.name, values).cast(_without_zone(pl, like.dtype)).cast(like.dtype)
    if like.dtype.is_decimal():
        return pl.Series(like.name, values.tolist()).cast(like.dtype)
    return pl.Series(like.name, values.tolist(), dtype=like.dtype, strict=True)


def _without_zone(pl: Any, dtype: Any) -> Any:
    """Return the dtype values in UTC are read as before they are moved to the column's zone."""
    return pl.Datetime(dtype.time_unit, "UTC") if getattr(dtype, "time_zone", None) else dtype


def _arrow_like(pa: Any, like: Any, values: Array) -> Any:
    if values.dtype.kind in "mM":
        unit = np.datetime_data(values.dtype)[0]
        ticks = pa.array(values if unit != "D" else values.astype("datetime64[s]"))
        return pa.chunked_array([ticks.cast(like.type)])
    if pa.types.is_dictionary(like.type):
        return _arrow_levels(pa, like, values)
    if pa.types.is_decimal(like.type):
        return pa.chunked_array([pa.array(values.tolist()).cast(like.type)])
    return pa.chunked_array([pa.array(values.tolist(), type=like.type)])


def _arrow_levels(pa: Any, like: Any, values: Array) -> Any:
    """Write levels with the column's own dictionary, for models that read the codes behind them."""
    levels = like.unify_dictionaries().chunk(0).dictionary
    known = {level: code for code, level in enumerate(levels.to_pylist())}
    codes = pa.array([known[value] for value in values.tolist()], type=like.type.index_type)
    return pa.chunked_array([pa.DictionaryArray.from_arrays(codes, levels, ordered=like.type.ordered)])
