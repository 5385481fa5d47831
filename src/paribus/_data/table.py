"""A table of rows, whatever library it came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from threading import local
from typing import Any, Protocol, Self

import numpy as np

from paribus._contracts import Array, Flags, Integers, Kind
from paribus._text import count
from paribus.errors import TableError


@dataclass(frozen=True, eq=False)
class Column:
    """One column as numpy: the present values ``(n_present,)`` and where it is missing ``(n,)``.

    ``levels`` is the declared order of a category column, else None; ``ranked`` says that it is one of rank,
    as of ordered categories. ``codes`` and ``codes_in_use`` spell the values as ``codes_in_use[codes]`` where
    the library knows such codes. ``zone`` is the time zone of dates that have one; their values are in UTC.
    """

    name: str
    kind: Kind
    values: Array
    missing: Flags
    levels: tuple[Any, ...] | None = None
    codes: Integers | None = None
    codes_in_use: tuple[Any, ...] = ()
    ranked: bool = False
    zone: str | None = None

    def and_missing(self) -> Column:
        """Return the column with a missing value at its end."""
        return replace(self, missing=np.append(self.missing, True))

    def present(self) -> Column:
        """Return the column without its missing values."""
        return replace(self, missing=np.zeros(len(self.values), dtype=bool))

    def factorized(self) -> tuple[Integers, tuple[Any, ...]]:
        """Return which distinct value each present row has, and those values."""
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
    """Values in a column's own dtype, as the model must see them.

    ``native`` is an array or series of the table's library; ``column`` is the same, read back from
    ``native``, so that what is reported is what was evaluated.
    """

    native: Any
    column: Column

    @property
    def values(self) -> Array:
        """The values that are not missing, as numpy."""
        return self.column.values

    def head(self, count: int) -> CellValues:
        """Return the first of these values, all of them or all but a missing one at the end."""
        if count == len(self.column.missing):
            return self
        return CellValues(self.native[:count], self.column.present())


class Stack(Protocol):
    """A block repeated once per point, in which columns can be replaced."""

    def at(self, replaced: dict[int, CellValues], index: Integers) -> Any:
        """Return the native table of ``b * m`` rows for the points ``index (b, d)``, point by point.

        Column ``d`` of ``index`` says which cell of the ``d``-th entry of ``replaced`` each point
        takes; with ``index (b, m, d)`` every row of a point takes a cell of its own. The model may write
        into the table; it is only good until the next call.
        """


class Table(Protocol):
    """Rows and named columns. Slices are views where the library allows it."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, as results report them."""

    @property
    def backend(self) -> str:
        """Name of the library."""

    @property
    def row_bytes(self) -> int:
        """Memory of one row when rows are repeated."""

    @property
    def native(self) -> Any:
        """The table as the model sees it."""

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
        """Return a column of floats as it lies, NaN where missing; None for any other column."""

    def cells(self, feature: int, values: Array) -> CellValues:
        """Write values in the column's dtype, or refuse what it cannot hold."""

    def own_cells(self, feature: int) -> CellValues:
        """Return a column's own cells, missing ones included: cell ``i`` is that of row ``i``."""

    def with_missing(self, feature: int, cells: CellValues) -> CellValues:
        """Append this table's first value, which is missing, in the form the model knows it."""

    def stack(self, copies: int, scratch: ScratchBuffer) -> Stack:
        """Prepare to evaluate ``copies`` points at once."""

    def joined(self, stacked: Sequence[Any]) -> Any:
        """Return native tables of its stacks as one, with labels that are unique."""

    @property
    def digests(self) -> tuple[str, ...]:
        """A digest of the values of each column, which depends on nothing else."""


class ScratchBuffer(local):
    """One buffer per thread, grown on demand and freed with its owner; it ships empty."""

    buffer: Array | None = None

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """Return an uninitialized array that is only good until the next call in this thread."""
        size = int(np.prod(shape))
        if self.buffer is None or self.buffer.dtype != dtype or self.buffer.size < size:
            self.buffer = np.empty(size, dtype)
        return self.buffer[:size].reshape(shape)

    def __reduce__(self) -> tuple[type[ScratchBuffer], tuple[()]]:
        return ScratchBuffer, ()


def checked_names(names: Any, columns: int, argument: str = "feature_names") -> tuple[str, ...]:
    """Return names as text, or refuse a wrong number or duplicates."""
    if isinstance(names, str) or not hasattr(names, "__iter__"):
        raise TableError(f"{argument}={names!r} must be a list of {count(columns, 'name')}")
    given = tuple(str(name) for name in names)
    if len(given) != columns:
        raise TableError(f"{argument} has {count(len(given), 'name')} and X has {count(columns, 'column')}")
    twice = [name for name, count in Counter(given).items() if count > 1]
    if twice:
        raise TableError(f"{argument} has {twice[0]!r} more than once; names must be unique as text")
    return given
