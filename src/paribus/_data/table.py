"""The interface of tables, and tables of numpy arrays."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from threading import local
from typing import Any, Protocol, Self

import numpy as np
import xxhash

from paribus._contracts import Array, Flags, Integers, Kind
from paribus._data.kinds import (
    OBJECT_BYTES,
    kind_of_dtype,
    kind_of_objects,
    missing_objects,
    objects_like,
    typed,
)
from paribus._text import count
from paribus.errors import GridError, TableError


@dataclass(frozen=True, eq=False)
class Column:
    """A column in numpy: the present values ``(n_present,)`` and flags of missing values ``(n,)``.

    ``categories`` are the declared categories of a categorical column, else None. ``ranked`` says that they
    are ordered. The values are ``codes_in_use[codes]`` if the library has codes, else ``codes`` is None.
    ``zone`` is the time zone of dates that have one; their values are in UTC.
    """

    name: str
    kind: Kind
    values: Array
    missing: Flags
    categories: tuple[Any, ...] | None = None
    codes: Integers | None = None
    codes_in_use: tuple[Any, ...] = ()
    ranked: bool = False
    zone: str | None = None

    def and_missing(self) -> Column:
        """Return the column with a missing value appended."""
        return replace(self, missing=np.append(self.missing, True))

    def present(self) -> Column:
        """Return the column without its missing values."""
        return replace(self, missing=np.zeros(len(self.values), dtype=bool))

    def between(self, first: int, stop: int) -> Column:
        """Return the values of the rows from ``first`` to ``stop``."""
        before, own = (np.count_nonzero(~self.missing[part]) for part in (slice(first), slice(first, stop)))
        codes = None if self.codes is None else self.codes[before : before + own]
        values = self.values[before : before + own]
        return replace(self, values=values, missing=self.missing[first:stop], codes=codes)

    def keep(self, mask: Flags) -> Column:
        """Return the rows where ``mask`` holds."""
        present = mask[~self.missing]
        codes = None if self.codes is None else self.codes[present]
        return replace(self, values=self.values[present], missing=self.missing[mask], codes=codes)

    def factorized(self) -> tuple[Integers, tuple[Any, ...]]:
        """Return a code for each present value, and the distinct values by code."""
        if self.codes is not None:
            return self.codes, self.codes_in_use
        if self.values.dtype.kind in "biufmM":
            distinct, inverse = np.unique(self.values, return_inverse=True)
            return inverse.astype(np.int64), tuple(distinct)
        codes: dict[Any, int] = {}
        positions = (codes.setdefault(value, len(codes)) for value in self.values.tolist())
        return np.fromiter(positions, np.int64, len(self.values)), tuple(codes)


@dataclass(frozen=True, eq=False)
class CellValues:
    """Values in the dtype of a column, as the model gets them.

    ``native`` is an array or series of the table's library. ``column`` is read back from ``native``, so
    that results report exactly the evaluated values.
    """

    native: Any
    column: Column

    @property
    def values(self) -> Array:
        """The values that are not missing, as numpy."""
        return self.column.values

    def head(self, count: int) -> CellValues:
        """Return all values, or the first ``count`` without a missing value at the end."""
        if count == len(self.column.missing):
            return self
        return CellValues(self.native[:count], self.column.present())


class Stack(Protocol):
    """A block repeated once per point, in which columns can be replaced."""

    def at(self, replaced: dict[int, CellValues], index: Integers) -> Any:
        """Return the native table of ``b * m`` rows for the points ``index (b, d)``, point by point.

        Column ``k`` of ``index`` gives the cell of the ``k``-th entry of ``replaced`` for each point. With
        ``index (b, m, d)`` it gives one for each row of each point. The model may write into the table,
        which is valid until the next call.
        """


class Table(Protocol):
    """Rows and named columns. Slices are views if the library supports them."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, as results report them."""

    @property
    def backend(self) -> str:
        """Name of the library."""

    @property
    def row_bytes(self) -> int:
        """Bytes of one row when rows are repeated."""

    @property
    def native(self) -> Any:
        """The table as the model gets it."""

    def __len__(self) -> int: ...

    def slice(self, start: int, stop: int) -> Self:
        """Return consecutive rows."""

    def keep(self, mask: Flags) -> Self:
        """Return the rows where ``mask`` holds."""

    def dtype(self, feature: int) -> str:
        """Return the column's dtype in words."""

    def column(self, feature: int) -> Column:
        """Read one column."""

    def floats(self, feature: int) -> Array | None:
        """Return a column of floats as stored, NaN where missing; None for any other column."""

    def cells(self, feature: int, values: Array) -> CellValues:
        """Return values in the column's dtype; raise `GridError` for values it cannot hold."""

    def own_cells(self, feature: int) -> CellValues:
        """Return the cells of a column, including missing ones: cell ``i`` is that of row ``i``."""

    def with_missing(self, feature: int, cells: CellValues) -> CellValues:
        """Append this table's first value, which is missing, in its native form."""

    def stack(self, copies: int, scratch: ScratchBuffer) -> Stack:
        """Return a stack for ``copies`` points at once."""

    @property
    def digests(self) -> tuple[str, ...]:
        """A digest of each column, which depends on its values only."""


class ScratchBuffer(local):
    """A buffer per thread, which grows on demand; a pickled one is empty."""

    buffer: Array | None = None

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return an uninitialized array that is valid until the next call in this thread."""
        size = int(np.prod(shape))
        if self.buffer is None or self.buffer.dtype != dtype or self.buffer.size < size:
            self.buffer = np.empty(size, dtype)
        return self.buffer[:size].reshape(shape)

    def __reduce__(self) -> tuple[type[ScratchBuffer], tuple[()]]:
        return ScratchBuffer, ()


def checked_names(names: Any, columns: int, argument: str = "feature_names") -> tuple[str, ...]:
    """Return names as text; raise `TableError` for a wrong number or duplicates."""
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise TableError(f"{argument}={names!r} must be a list of {count(columns, 'name')}")
    given = tuple(str(name) for name in names)
    if len(given) != columns:
        raise TableError(f"{argument} has {count(len(given), 'name')} and X has {count(columns, 'column')}")
    twice = [name for name, count in Counter(given).items() if count > 1]
    if twice:
        raise TableError(f"{argument} has {twice[0]!r} more than once; names must be unique as text")
    return given


CONTENT_BYTES = 1_000_000  # bytes given to digests at a time, to avoid a copy of the table
CACHED_ROWS = 2_048  # rows that are transposed at once, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class ArrayTable:
    """A two-dimensional array, whose columns have one dtype."""

    native: Array
    names: tuple[str, ...]
    backend: str = "numpy"

    @classmethod
    def of(cls, X: Any, names: Any) -> Self:
        """Return an array or nested lists as a table; default names are ``x0, x1, ...``."""
        if np.ma.is_masked(X):
            raise TableError("X is a masked array; pass X.filled(np.nan) to treat masked values as missing")
        array = _array_of_input(X)
        if array.ndim != 2:
            raise TableError(
                f"X must have rows and columns; a {type(X).__name__} of shape {array.shape} was given"
            )
        if array.dtype.kind not in "fiubmMUSTO":
            raise TableError(f"X has dtype {array.dtype}; pass real numbers, or a data frame")
        columns = array.shape[1]
        default = tuple(f"x{j}" for j in range(columns))
        return cls(array, default if names is None else checked_names(names, columns))

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        item = OBJECT_BYTES if self.native.dtype.kind in "OT" else self.native.dtype.itemsize
        return item * len(self.names)

    def __len__(self) -> int:
        return len(self.native)

    def slice(self, start: int, stop: int) -> Self:
        """Return consecutive rows as a view."""
        return type(self)(self.native[start:stop], self.names)

    def keep(self, mask: Flags) -> Self:
        """Return the rows where ``mask`` holds."""
        return type(self)(self.native[mask], self.names)

    def by_column(self) -> Self:
        """Return the table with contiguous columns, copied unless they are; objects are never copied."""
        native = self.native
        if native.flags.f_contiguous or native.dtype.kind not in "fiub":
            return self
        columns = np.empty(native.shape[::-1], native.dtype)
        for first in range(0, len(native), CACHED_ROWS):
            columns[:, first : first + CACHED_ROWS] = native[first : first + CACHED_ROWS].T
        return type(self)(columns.T, self.names)

    def dtype(self, feature: int) -> str:
        """Return the column's dtype in words."""
        return str(self.native.dtype)

    def column(self, feature: int) -> Column:
        """Read one column."""
        # Copied once, because a strided read would also load the neighboring columns.
        return read_array(self.names[feature], np.ascontiguousarray(self.native[:, feature]))

    def floats(self, feature: int) -> Array | None:
        """Return a column of floats as stored, NaN where missing; None for any other column."""
        return self.native[:, feature] if self.native.dtype in (np.float64, np.float32) else None

    def cells(self, feature: int, values: Array) -> CellValues:
        """Return values in the array's dtype; raise `GridError` for values it cannot hold."""
        dtype = self.native.dtype
        try:
            if dtype.kind == "O":
                native = objects_like(values, self.native[:, feature])
            else:
                native = np.asarray(values).astype(dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise GridError(
                f"values for {self.names[feature]!r} cannot be represented in its dtype {dtype}: {error}; "
                "pass representable values, or cast the column in X"
            ) from error
        return CellValues(native, read_array(self.names[feature], native))

    def own_cells(self, feature: int) -> CellValues:
        """Return the cells of a column as a view, including missing ones: cell ``i`` is that of row ``i``."""
        return CellValues(self.native[:, feature], self.column(feature))

    def with_missing(self, feature: int, cells: CellValues) -> CellValues:
        """Append this table's first value, which is missing, in its native form."""
        native = np.concatenate([cells.native, self.native[:1, feature]])
        return CellValues(native, cells.column.and_missing())

    def stack(self, copies: int, scratch: ScratchBuffer) -> ArrayStack:
        """Return a stack for ``copies`` points at once."""
        return ArrayStack(self.native, scratch.array((copies, *self.native.shape), self.native.dtype))

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """A digest of each column, which depends on its values only."""
        found = [xxhash.xxh3_128() for _ in self.names]
        step = max(1, CONTENT_BYTES // self.row_bytes)
        for start in range(0, len(self), step):
            for digest, values in zip(found, self.native[start : start + step].T, strict=True):
                if values.dtype.kind in "OT":
                    digest.update("".join(f"{value!r}\x1f" for value in values.tolist()).encode())
                else:
                    digest.update(np.ascontiguousarray(values).view(np.uint8).data)
        return tuple(digest.hexdigest() for digest in found)


@dataclass(frozen=True, eq=False)
class ArrayStack:
    """A block ``(m, p)`` repeated in a buffer ``(copies, m, p)``."""

    block: Array
    buffer: Array

    def at(self, replaced: dict[int, CellValues], index: Integers) -> Array:
        """Return a newly filled buffer, because a model may have written into the last one."""
        each = index if index.ndim == 3 else index[:, None]
        part = self.buffer[: len(index)]
        part[:] = self.block
        for position, (feature, cells) in enumerate(replaced.items()):
            part[:, :, feature] = cells.native[each[:, :, position]]
        return part.reshape(-1, self.block.shape[1])


def _array_of_input(X: Any) -> Array:
    try:
        array = np.asarray(X)
        if not isinstance(X, np.ndarray) and array.dtype.kind in "US":
            array = np.asarray(X, dtype=object)  # else numbers in the same array as text would become text
    except ValueError as error:
        raise TableError(f"X cannot be read as a table: {error}") from error
    return array


def read_array(name: str, raw: Array) -> Column:
    """Return a column of an array as a `Column`."""
    kind = kind_of_dtype(raw.dtype)
    if kind is not None:
        missing = _missing_flags(raw)
        return Column(name, kind, raw[~missing] if missing.any() else raw, missing)
    missing = missing_objects(raw)
    present = raw[~missing]
    kind = kind_of_objects(name, present)
    return Column(name, kind, typed(name, present, kind), missing)


def _missing_flags(raw: Array) -> Flags:
    if raw.dtype.kind == "f":
        return np.isnan(raw)
    if raw.dtype.kind in "mM":
        return np.isnat(raw)
    return np.zeros(len(raw), dtype=bool)
