"""Arrow tables that are converted to the library that the model was fitted on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from paribus._contracts import Array, Flags, Integers
from paribus._data.column_groups import ColumnGroup, GroupedTable, coded_rows, features_of, owners_in
from paribus._data.frame import FrameTable
from paribus._data.table import CellValues, Column, ScratchBuffer, Stack
from paribus.errors import FeatureError, SourceError

MOST_COMBINATIONS = 100_000  # of a group of columns out of core

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, eq=False)
class ReadGroups:
    """Groups of columns in Arrow rows, which become one categorical column each.

    ``columns`` are the names of the columns that the model gets, ``shown`` those that results report, and
    ``groups`` the features. ``values`` has a row for each combination of a group of several columns, and
    one without values if that occurs.
    """

    columns: tuple[str, ...]
    shown: tuple[str, ...]
    groups: tuple[ColumnGroup, ...]
    values: Mapping[int, pa.Table] = field(repr=False)

    @classmethod
    def of(
        cls,
        columns: tuple[str, ...],
        shown: tuple[str, ...],
        groups: Mapping[str, tuple[int, ...]],
        batches: Iterable[pa.Table],
    ) -> Self:
        """Find the combinations that occur in the rows of a source."""
        import pyarrow as pa

        known = list(features_of(shown, groups))
        several = {j: [columns[k] for k in one.columns] for j, one in enumerate(known) if not one.single}
        found: dict[int, Any] = {}
        for batch in batches:
            for j, names in several.items():
                rows = batch.select(names)
                rows = pa.concat_tables([found[j], rows]) if j in found else rows
                categories, places, _ = _coded(rows, known[j], shown)
                if len(categories) > MOST_COMBINATIONS:
                    raise FeatureError(
                        f"feature {known[j].name!r} has more than {MOST_COMBINATIONS:,} combinations of "
                        "values, too many to be listed; pass rows in memory, or bin its columns"
                    )
                found[j] = rows.take(places)
        for j, rows in found.items():
            known[j] = replace(known[j], categories=_coded(rows, known[j], shown)[0])
        return cls(columns, shown, tuple(known), found)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of grouped rows."""
        groups = self.groups
        return tuple(self.columns[one.columns[0]] if one.single else one.name for one in groups)

    @cached_property
    def gaps(self) -> frozenset[str]:
        """Columns of groups with missing values."""
        tables = self.values.values()
        return frozenset(name for one in tables for name in one.column_names if one.column(name).null_count)

    def encoded(self, rows: pa.Table) -> pa.Table:
        """Return rows with the combination of each group instead of its columns; such rows as they are."""
        import pyarrow as pa

        if not set(self.columns) <= set(rows.column_names):
            return rows.select(self.names)
        made = []
        for j, group in enumerate(self.groups):
            if group.single:
                made.append(rows.column(self.columns[group.columns[0]]))
                continue
            names = self.values[j].column_names
            both = pa.concat_tables([self.values[j], rows.select(names)])
            categories, _, codes = _coded(both, group, self.shown)
            if categories != group.categories:
                raise SourceError(
                    f"X has other values of {', '.join(names)} than when it was read before; it must "
                    "have the same rows each time"
                )
            codes = codes[len(self.values[j]) :]
            indices = pa.array(codes.astype("int32"), mask=codes == len(group.categories))
            made.append(pa.DictionaryArray.from_arrays(indices, pa.array(group.categories, pa.string())))
        return pa.table(made, names=list(self.names))

    def table(self, rows: pa.Table, backend: str, gaps: frozenset[str]) -> GroupedTable:
        """Return grouped rows as the table that the model gets."""
        import pyarrow as pa
        import pyarrow.compute as pc

        whole: dict[str, Any] = {}
        groups, codes = list(self.groups), {}
        for j, group in enumerate(self.groups):
            if group.single:
                whole[self.columns[group.columns[0]]] = rows.column(j)
                continue
            known = pa.array(group.categories, pa.string())
            found = pc.fill_null(pc.index_in(rows.column(j).cast(pa.string()), value_set=known), len(known))
            codes[j] = np.asarray(found).astype(np.int64)
            values = self.values[j]
            whole |= {name: values.column(name).take(codes[j]) for name in values.column_names}
            few = FrameTable(as_library(values, backend, gaps), tuple(values.column_names))
            cells = tuple(few.own_cells(k) for k in range(len(group.columns)))
            groups[j] = replace(group, cells=cells, rows=np.arange(len(values)))
        made = pa.table([whole[name] for name in self.columns], names=list(self.columns))
        return GroupedTable(FrameTable(as_library(made, backend, gaps), self.columns), tuple(groups), codes)


def _coded(
    rows: pa.Table, group: ColumnGroup, shown: tuple[str, ...]
) -> tuple[tuple[str, ...], Integers, Integers]:
    """Return `coded_rows` of the columns of a group."""
    table = FrameTable(rows, tuple(shown[column] for column in group.columns))
    return coded_rows(table, ColumnGroup(group.name, tuple(range(len(group.columns)))))


LIKE_ROWS = 2_048  # rows that give the dtypes of converted columns


@dataclass(frozen=True, eq=False)
class ModelTable:
    """Rows in Arrow, which paribus reads, and converted to the library ``backend`` for the model.

    ``gaps`` are the columns that have missing values in any row of the data. ``groups`` are groups of columns
    that are one column of the Arrow rows, or None.
    """

    arrow: FrameTable
    backend: str
    gaps: frozenset[str] = frozenset()
    groups: ReadGroups | None = None

    @classmethod
    def of(
        cls, table: pa.Table, names: tuple[str, ...], backend: str, gaps: frozenset[str] = frozenset()
    ) -> Self:
        """Return an Arrow table with the column names of results."""
        return cls(FrameTable(table, names), backend, gaps)

    @property
    def owners(self) -> tuple[int, ...] | None:
        """Feature of each column that the model gets; None without groups of columns."""
        return None if self.groups is None else owners_in(self.groups.groups)

    @cached_property
    def shown(self) -> FrameTable | GroupedTable:
        """The rows as the model gets them, converted on first use."""
        if self.groups is not None:
            return self.groups.table(self.arrow.native, self.backend, self.gaps)
        return FrameTable(as_library(self.arrow.native, self.backend, self.gaps), self.arrow.names)

    @cached_property
    def _some(self) -> FrameTable | GroupedTable:
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
        return self.arrow.row_bytes if self.groups is None else self._some.row_bytes

    def __len__(self) -> int:
        return len(self.arrow)

    def slice(self, start: int, stop: int) -> Self:
        """Return consecutive rows."""
        return type(self)(self.arrow.slice(start, stop), self.backend, self.gaps, self.groups)

    def keep(self, mask: Flags) -> Self:
        """Return the rows where ``mask`` holds."""
        return type(self)(self.arrow.keep(mask), self.backend, self.gaps, self.groups)

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
        if self.groups is not None:
            return self.shown.own_cells(feature)
        alone = type(self)(self.arrow.pick((feature,)), self.backend, self.gaps)
        return alone.shown.own_cells(0)

    def with_missing(self, feature: int, cells: CellValues) -> CellValues:
        """Append this table's first value, which is missing, in its native form."""
        return self.shown.with_missing(feature, cells)

    def stack(self, copies: int, scratch: ScratchBuffer) -> Stack:
        """Return a stack for ``copies`` points at once."""
        return self.shown.stack(copies, scratch)

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
    for position, one in enumerate(table.schema):
        if one.name in gaps and pa.types.is_integer(one.type):
            table = table.set_column(
                position, one.name, table.column(position).cast(pa.float64(), safe=False)
            )
        elif one.name in gaps and pa.types.is_boolean(one.type):
            truths.append(one.name)
    frame = table.to_pandas()
    return frame.astype(dict.fromkeys(truths, object)) if truths else frame
