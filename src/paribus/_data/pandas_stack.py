"""Rows of pandas repeated once per point; without narwhals, which looks at every column of what it wraps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from paribus._contracts import Array, Integers
from paribus._data.table import CellValues, ScratchBuffer

FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def is_pandas(native: Any) -> bool:
    """Return whether a table is a data frame of pandas."""
    return bool(nw.dependencies.is_pandas_dataframe(native))


def whole_array(native: Any) -> Array | None:
    """Return the array ``(n, p)`` that a pandas frame lies in; None where its columns are apart.

    Of those, pandas would make an array anew each time, in which a model may write.
    """
    head = native.iloc[:1]
    if not head.size or type(native).__module__.split(".")[0] != "pandas":  # a subclass may hold more
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
        """Repeat rows; repeated ones get labels that are unique."""
        rows = len(native)
        if copies == 1:
            return cls(native, rows)
        base = native.take(np.tile(np.arange(rows), copies))
        base.index = range(len(base))
        return cls(base, rows)

    def at(self, replaced: dict[int, CellValues], index: Integers) -> Any:
        """Return a frame whose other columns are shared with the block and protected from the model.

        Columns are replaced by position; narwhals would rebuild every other column as well. From version 3 on
        a shallow copy is protected by copy-on-write, before that only a deep one is.
        """
        size = len(index) * self.rows
        frame = self.base if size == len(self.base) else self.base.iloc[:size]
        pandas = nw.dependencies.get_pandas()
        native = frame.copy(deep=int(pandas.__version__.split(".")[0]) < 3)
        for position, (feature, cells) in enumerate(replaced.items()):
            # A series, because a bare array of objects would be inferred anew.
            taken = cells.native.take(chosen(index, position, self.rows).ravel())
            taken.index = native.index
            native.isetitem(feature, taken)
        return native


@dataclass(frozen=True, eq=False)
class WholeStack:
    """A block ``(m, p)`` of a frame that lies in one array, repeated in a buffer: a frame in one array again.

    Apart, its columns would have to be brought together in each predict.
    """

    native: Any
    block: Array
    scratch: ScratchBuffer

    def at(self, replaced: dict[int, CellValues], index: Integers) -> Any:
        """Fill a frame anew, because a model may write into what it was given."""
        if any(cells.native.dtype != self.block.dtype for cells in replaced.values()):
            return PandasStack.of(self.native, len(index)).at(replaced, index)
        rows, columns = self.block.shape
        if self.block.strides[0] <= self.block.strides[1]:  # column by column, as the block lies
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
    """Return which cell of a feature each row of each point takes, ``(b, m)``."""
    own = index[..., position] if index.ndim == 3 else index[:, None, position]
    return np.broadcast_to(own, (len(index), rows))
