"""Arrow tables that are converted to the library that the model was fitted on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from paribus._contracts import Array, Flags
from paribus._data.frame import FrameTable, joined_frames
from paribus._data.table import CellValues, Column, ScratchBuffer, Stack

if TYPE_CHECKING:
    import pyarrow as pa

LIKE_ROWS = 2_048  # rows that give the dtypes of converted columns


@dataclass(frozen=True, eq=False)
class ModelTable:
    """Rows in Arrow, which paribus reads, and converted to the library ``backend`` for the model.

    ``gaps`` are the columns that have missing values in any row of the data.
    """

    arrow: FrameTable
    backend: str
    gaps: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, table: pa.Table, names: tuple[str, ...], backend: str, gaps: frozenset[str] = frozenset()
    ) -> Self:
        """Return an Arrow table with the column names of results."""
        return cls(FrameTable(table, names), backend, gaps)

    @cached_property
    def shown(self) -> FrameTable:
        """The rows as the model gets them, converted on first use."""
        return FrameTable(as_library(self.arrow.native, self.backend, self.gaps), self.arrow.names)

    @cached_property
    def _some(self) -> FrameTable:
        """A few rows as the model gets them, which give the dtypes of columns."""
        return self.shown if len(self) <= LIKE_ROWS else self.slice(0, LIKE_ROWS).shown

    @property
    def native(self) -> Any:
        """The table as the model gets it."""
        return self.shown.native

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, as results report them."""
        return self.arrow.names

    @property
    def row_bytes(self) -> int:
        """Bytes of one row when rows are repeated."""
        return self.arrow.row_bytes

    def __len__(self) -> int:
        return len(self.arrow)

    def slice(self, start: int, stop: int) -> Self:
        """Return consecutive rows."""
        return type(self)(self.arrow.slice(start, stop), self.backend, self.gaps)

    def keep(self, mask: Flags) -> Self:
        """Return the rows where ``mask`` holds."""
        return type(self)(self.arrow.keep(mask), self.backend, self.gaps)

    def dtype(self, feature: int) -> str:
        """Return the column's dtype in words."""
        return self.arrow.dtype(feature)

    def column(self, feature: int) -> Column:
        """Read one column."""
        return self.arrow.column(feature)

    def floats(self, feature: int) -> Array | None:
        """Return a column of floats as stored, NaN where missing; None for any other column."""
        return self.arrow.floats(feature)

    def cells(self, feature: int, values: Array) -> CellValues:
        """Return values in the column's dtype; raise `GridError` for values it cannot hold."""
        return self._some.cells(feature, values)

    def own_cells(self, feature: int) -> CellValues:
        """Return the cells of a column, including missing ones: cell ``i`` is that of row ``i``."""
        alone = type(self)(self.arrow.pick((feature,)), self.backend, self.gaps)
        return alone.shown.own_cells(0)

    def with_missing(self, feature: int, cells: CellValues) -> CellValues:
        """Append this table's first value, which is missing, in its native form."""
        return self.shown.with_missing(feature, cells)

    def stack(self, copies: int, scratch: ScratchBuffer) -> Stack:
        """Return a stack for ``copies`` points at once."""
        return self.shown.stack(copies, scratch)

    def joined(self, stacked: Sequence[Any]) -> Any:
        """Return the native tables of several stacks as one, with unique labels."""
        return joined_frames(stacked)

    @property
    def digests(self) -> tuple[str, ...]:
        """A digest of each column, which depends on its values only."""
        return self.arrow.digests


def as_library(table: pa.Table, library: str, gaps: frozenset[str]) -> Any:
    """Return an Arrow table converted to pandas or polars, or as it is.

    In pandas, columns in ``gaps`` have integers as floats and booleans as objects. This also applies to
    blocks without missing values.
    """
    if library == "pandas":
        return _as_pandas(table, gaps)
    if library == "polars":
        import narwhals.stable.v2 as nw

        return nw.from_arrow(table, backend="polars").to_native()
    return table


def _as_pandas(table: pa.Table, gaps: frozenset[str]) -> Any:
    import pyarrow as pa

    truths = []
    for position, field in enumerate(table.schema):
        if field.name in gaps and pa.types.is_integer(field.type):
            table = table.set_column(
                position, field.name, table.column(position).cast(pa.float64(), safe=False)
            )
        elif field.name in gaps and pa.types.is_boolean(field.type):
            truths.append(field.name)
    frame = table.to_pandas()
    return frame.astype(dict.fromkeys(truths, object)) if truths else frame
