"""Columns made of a table in several ways, side by side: by members of one model that prepare rows each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paribus._contracts import Integers
from paribus._data.read import table_of
from paribus._data.table import CellValues, Column, Table
from paribus._models.preprocessing.preparation import Preparation


@dataclass(frozen=True, eq=False)
class JoinedTable:
    """The columns of several tables, one after another."""

    tables: tuple[Any, ...]
    first: Integers

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of all tables."""
        return tuple(name for table in self.tables for name in table.names)

    def __len__(self) -> int:
        return len(self.tables[0])

    def _at(self, column: int) -> tuple[Any, int]:
        number = int(np.searchsorted(self.first, column, side="right")) - 1
        return self.tables[number], column - int(self.first[number])

    def floats(self, column: int) -> Any:
        """Return a column as it is compared, None where it has to be read."""
        table, position = self._at(column)
        return table.floats(position)

    def column(self, column: int) -> Column:
        """Read one column."""
        table, position = self._at(column)
        read: Column = table.column(position)
        return read


@dataclass(frozen=True, eq=False)
class _Values:
    """Values of one feature in place of the table itself, which is requested for no other."""

    cells: CellValues

    def __len__(self) -> int:
        return len(self.cells.column.missing)

    def floats(self, column: int) -> None:
        return None

    def column(self, column: int) -> Column:
        return self.cells.column


@dataclass(frozen=True, eq=False)
class JoinedPreparation:
    """What several preparations make of a table, side by side; None is the table itself."""

    sources: tuple[Preparation | None, ...]
    context: Table

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """Number of columns of each source."""
        return tuple(len(self.context.names) if one is None else len(one.owners) for one in self.sources)

    @cached_property
    def first(self) -> Integers:
        """Position of the first column of each source."""
        return np.cumsum([0, *self.widths[:-1]])

    @cached_property
    def row_bytes(self) -> int:
        """Memory of a row while all sources make their columns of it."""
        return sum(source.row_bytes for source in self.sources if source is not None)

    @property
    def key(self) -> tuple[Any, ...]:
        """What preparations share that make the same columns."""
        return tuple(map(_key, self.sources))

    @property
    def owners(self) -> tuple[int, ...]:
        """The raw column of each column."""
        raw = tuple(range(len(self.context.names)))
        return tuple(owner for one in self.sources for owner in (raw if one is None else one.owners))

    def table(self, native: Any) -> JoinedTable:
        """Return the columns that all sources make of a native table."""
        tables = tuple(table_of(native) if one is None else one.table(native) for one in self.sources)
        return JoinedTable(tables, self.first)

    def values(self, requests: Sequence[tuple[int, CellValues]]) -> list[JoinedTable]:
        """Return these columns when a feature takes each of some values, for every request."""
        own = [
            [_Values(cells) for _, cells in requests] if one is None else one.values(requests)
            for one in self.sources
        ]
        return [JoinedTable(tables, self.first) for tables in zip(*own, strict=True)]

    def refuse_joined(self, features: Any) -> None:
        """Refuse features that some step makes one column of, together with others."""
        for source in self.sources:
            if source is not None:
                source.refuse_joined(features)


AnyPreparation = Preparation | JoinedPreparation | None


def joined(preparations: Sequence[AnyPreparation], context: Table) -> tuple[AnyPreparation, list[Integers]]:
    """Return one preparation for several, and where it has each column of each of them.

    The same steps are taken once.
    """
    sources: dict[Any, Preparation | None] = {}
    for preparation in preparations:
        for source in _sources(preparation):
            sources.setdefault(_key(source), source)
    every = JoinedPreparation(tuple(sources.values()), context)
    first = dict(zip(sources, every.first, strict=True))
    width = dict(zip(sources, every.widths, strict=True))
    positions = []
    for preparation in preparations:
        keys = [_key(source) for source in _sources(preparation)]
        positions.append(np.concatenate([first[key] + np.arange(width[key]) for key in keys]))
    return every.sources[0] if len(sources) == 1 else every, positions


def _sources(preparation: AnyPreparation) -> tuple[Preparation | None, ...]:
    return preparation.sources if isinstance(preparation, JoinedPreparation) else (preparation,)


def _key(source: Preparation | None) -> Any:
    """Return what two sources share that make the same columns."""
    return None if source is None else source.key
