"""Tables that are one numpy array."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from paribus.contracts import Array, Flags, Integers
from paribus.data.kinds import kind_of_dtype, kind_of_objects, missing_objects, objects, typed
from paribus.data.table import Cells, Column, Scratch, checked_names
from paribus.errors import FeatureError, GridError, TableError

OBJECT_BYTES = 64  # a pointer and a typical small Python object behind it


@dataclass(frozen=True)
class ArrayTable:
    """A two-dimensional array; every column shares its dtype."""

    native: Array
    names: tuple[str, ...]
    backend: str = "numpy"

    @classmethod
    def of(cls, X: Any, names: Any) -> Self:
        """Read an array or nested lists; columns are called ``x0, x1, ...`` unless named."""
        try:
            array = np.asarray(X)
        except ValueError as error:
            raise TableError(f"X cannot be read as a table: {error}") from error
        if array.ndim != 2:
            raise TableError(
                f"X must have rows and columns; a {type(X).__name__} of shape {array.shape} was given"
            )
        if array.dtype.names or array.dtype.kind in "cV":
            raise TableError(f"X has dtype {array.dtype}; pass real numbers, or a data frame")
        columns = array.shape[1]
        default = tuple(f"x{j}" for j in range(columns))
        return cls(array, default if names is None else checked_names(names, columns))

    @property
    def row_bytes(self) -> int:
        """Memory of one row."""
        item = OBJECT_BYTES if self.native.dtype == object else self.native.dtype.itemsize
        return item * len(self.names)

    def __len__(self) -> int:
        return len(self.native)

    def slice(self, start: int, stop: int) -> Self:
        """Return consecutive rows as a view."""
        return type(self)(self.native[start:stop], self.names)

    def keep(self, mask: Flags) -> Self:
        """Return the rows where ``mask`` holds."""
        return type(self)(self.native[mask], self.names)

    def dtype(self, feature: int) -> str:
        """Return the column's dtype in words."""
        return str(self.native.dtype)

    def column(self, feature: int) -> Column:
        """Read one column."""
        return _read(self.names[feature], self.native[:, feature])

    def cells(self, feature: int, values: Array) -> Cells:
        """Write values in the array's dtype, or refuse what it cannot hold."""
        dtype = self.native.dtype
        try:
            native = objects(values.tolist()) if dtype.kind == "O" else np.asarray(values).astype(dtype)
        except (TypeError, ValueError, OverflowError) as error:
            raise GridError(
                f"values for {self.names[feature]!r} do not fit its dtype {dtype}: {error}; "
                "give values it can hold, or cast the column in X"
            ) from error
        return Cells(native, _read(self.names[feature], native).values)

    def missing_cell(self, feature: int, cells: Cells, row: int) -> Cells:
        """Append the missing value found in ``row``, in the form the model knows it."""
        found = self.native[row : row + 1, feature]
        return Cells(np.concatenate([cells.native, found]), cells.values)

    def stack(self, copies: int, scratch: Scratch) -> ArrayStack:
        """Prepare to ask ``copies`` points at once."""
        return ArrayStack(self.native, scratch.array((copies, *self.native.shape), self.native.dtype))

    def digest(self) -> Any:
        """Return a buffer that identifies these rows, for a fingerprint."""
        if self.native.dtype == object:
            return "\x1f".join(map(repr, self.native.ravel())).encode()
        return np.ascontiguousarray(self.native).view(np.uint8)


@dataclass(frozen=True)
class ArrayStack:
    """A block ``(m, p)`` repeated in a buffer ``(copies, m, p)``."""

    block: Array
    buffer: Array

    def at(self, replaced: dict[int, Cells], index: Integers) -> Array:
        """Fill the buffer anew, because a model may write into what it was given."""
        part = self.buffer[: len(index)]
        part[:] = self.block
        for position, (feature, cells) in enumerate(replaced.items()):
            part[:, :, feature] = cells.native[index[:, position]][:, None]
        return part.reshape(-1, self.block.shape[1])


def _read(name: str, raw: Array) -> Column:
    kind = kind_of_dtype(raw.dtype)
    if kind is not None:
        missing = _missing(raw)
        return Column(name, kind, raw[~missing] if missing.any() else raw, missing)
    if raw.dtype != object:
        raise FeatureError(f"feature {name!r} has dtype {raw.dtype}, which cannot be varied")
    missing = missing_objects(raw)
    present = raw[~missing]
    kind = kind_of_objects(present)
    return Column(name, kind, typed(present, kind), missing)


def _missing(raw: Array) -> Flags:
    if raw.dtype.kind == "f":
        return np.isnan(raw)
    if raw.dtype.kind in "mM":
        return np.isnat(raw)
    return np.zeros(len(raw), dtype=bool)
