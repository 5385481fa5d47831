"""Columns that are set together: one categorical feature of the combinations of their values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import xxhash

from paribus._contracts import Array, Flags, Integers
from paribus._data.kinds import objects
from paribus._data.table import CellValues, Column, ScratchBuffer, Stack, Table
from paribus.errors import GridError

SEPARATORS = "_=.:-/| "  # characters between the name of a feature and its category
MOST_CODES = 2**31  # products of numbers of values above which codes are renumbered, so that none overflows
EXPECTED_ROWS = 5  # rows with two ones that independent columns would have
NONE = "none"  # category of indicators that are all zero


@dataclass(frozen=True, eq=False)
class ColumnGroup:
    """Columns of a table that are one feature, or a single column under another name.

    Attributes
    ----------
    name : str
        Name of the feature.
    columns : tuple of int
        Positions of the columns in the table.
    categories : tuple of str
        Names of the combinations that occur; empty for a single column.
    cells : tuple of CellValues
        Values of each column in some rows of the table, which have every combination.
    rows : (c,)
        Cell of each combination, and at the end that of a row without any value if there is one.
    """

    name: str
    columns: tuple[int, ...]
    categories: tuple[str, ...] = ()
    cells: tuple[CellValues, ...] = ()
    rows: Integers = field(default_factory=lambda: np.empty(0, np.int64))

    @property
    def single(self) -> bool:
        """Whether the feature is a single column."""
        return len(self.columns) == 1

    @cached_property
    def codes(self) -> dict[Any, int]:
        """Code of each category."""
        return {category: code for code, category in enumerate(self.categories)}

    def column(self, codes: Integers) -> Column:
        """Return the categories with the given codes as a column; larger codes are missing."""
        missing = codes == len(self.categories)
        present = codes[~missing] if missing.any() else codes
        values = objects(self.categories)[present]
        return Column(self.name, "category", values, missing, self.categories, present, self.categories)


@dataclass(frozen=True, eq=False)
class GroupedTable:
    """A table in which groups of columns are one categorical feature each.

    ``native`` is the table with all columns, so that the model gets what it was fitted on. ``groups`` are
    the features, and ``codes`` has the combination of each row for those of several columns, by feature.
    """

    whole: Table
    groups: tuple[ColumnGroup, ...]
    codes: dict[int, Integers] = field(default_factory=dict)

    @classmethod
    def of(cls, whole: Table, groups: Mapping[str, tuple[int, ...]]) -> Self:
        """Return a table with named groups of columns. Other columns stay features by themselves."""
        found, codes = list(features_of(whole.names, groups)), {}
        for feature, group in enumerate(found):
            if not group.single:
                found[feature], codes[feature] = combinations_of(whole, group)
        return cls(whole, tuple(found), codes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(group.name for group in self.groups)

    @property
    def owners(self) -> tuple[int, ...]:
        """Feature of each column of the whole table."""
        return owners_in(self.groups)

    @property
    def backend(self) -> str:
        """Name of the library."""
        return self.whole.backend

    @property
    def row_bytes(self) -> int:
        """Bytes of one row when rows are repeated."""
        return self.whole.row_bytes

    @property
    def native(self) -> Any:
        """The table as the model gets it."""
        return self.whole.native

    def __len__(self) -> int:
        return len(self.whole)

    def slice(self, start: int, stop: int) -> Self:
        """Return consecutive rows."""
        codes = {feature: own[start:stop] for feature, own in self.codes.items()}
        return type(self)(self.whole.slice(start, stop), self.groups, codes)

    def keep(self, mask: Flags) -> Self:
        """Return the rows where ``mask`` holds."""
        codes = {feature: own[mask] for feature, own in self.codes.items()}
        return type(self)(self.whole.keep(mask), self.groups, codes)

    def dtype(self, feature: int) -> str:
        """Return the column's dtype in words."""
        group = self.groups[feature]
        return self.whole.dtype(group.columns[0]) if group.single else "Categorical"

    def column(self, feature: int) -> Column:
        """Read one column."""
        group = self.groups[feature]
        if not group.single:
            return group.column(self.codes[feature])
        return _named(self.whole.column(group.columns[0]), group)

    def floats(self, feature: int) -> Array | None:
        """Return a column of floats as stored, NaN where missing; None for any other column."""
        group = self.groups[feature]
        return self.whole.floats(group.columns[0]) if group.single else None

    def cells(self, feature: int, values: Array) -> CellValues:
        """Return values in the column's dtype; raise `GridError` for values it cannot hold."""
        group = self.groups[feature]
        if group.single:
            cells = self.whole.cells(group.columns[0], values)
            return CellValues(cells.native, _named(cells.column, group))
        unknown = [value for value in values.tolist() if value not in group.codes]
        if unknown:
            raise GridError(f"{unknown[0]!r} is not a combination of values of {group.name!r} in X")
        codes = np.array([group.codes[value] for value in values.tolist()], np.int64)
        return CellValues(codes, group.column(codes))

    def own_cells(self, feature: int) -> CellValues:
        """Return the cells of a column, including missing ones: cell ``i`` is that of row ``i``."""
        group = self.groups[feature]
        if not group.single:
            return CellValues(self.codes[feature], self.column(feature))
        cells = self.whole.own_cells(group.columns[0])
        return CellValues(cells.native, _named(cells.column, group))

    def with_missing(self, feature: int, cells: CellValues) -> CellValues:
        """Append this table's first value, which is missing, in its native form."""
        group = self.groups[feature]
        if not group.single:
            return CellValues(np.append(cells.native, self.codes[feature][:1]), cells.column.and_missing())
        return self.whole.with_missing(group.columns[0], cells)

    def stack(self, copies: int, scratch: ScratchBuffer) -> Stack:
        """Return a stack for ``copies`` points at once."""
        return GroupedStack(self.whole.stack(copies, scratch), self.groups)

    @cached_property
    def digests(self) -> tuple[str, ...]:
        """A digest of each column, which depends on its values only."""
        own = self.whole.digests
        return tuple(
            own[group.columns[0]]
            if group.single
            else xxhash.xxh3_128_hexdigest(" ".join(own[column] for column in group.columns).encode())
            for group in self.groups
        )


@dataclass(frozen=True, eq=False)
class GroupedStack:
    """A stack of a whole table, in which the columns of a group are replaced together."""

    whole: Stack
    groups: tuple[ColumnGroup, ...]

    def at(self, replaced: dict[int, CellValues], index: Integers) -> Any:
        """Return the native table of the points ``index``, as `Stack`."""
        cells: dict[int, CellValues] = {}
        places = []
        for position, (feature, own) in enumerate(replaced.items()):
            group, chosen = self.groups[feature], index[..., position]
            if not group.single:
                chosen = group.rows[own.native[chosen]]
            for column, values in zip(group.columns, (own,) if group.single else group.cells, strict=True):
                cells[column] = values
                places.append(chosen)
        return self.whole.at(cells, np.stack(places, axis=-1) if places else index)


def owners_in(groups: Sequence[ColumnGroup]) -> tuple[int, ...]:
    """Return the position of the group of each column."""
    owner = {column: j for j, group in enumerate(groups) for column in group.columns}
    return tuple(owner[column] for column in range(len(owner)))


def owners_of(table: Table) -> tuple[int, ...]:
    """Return the feature that each column of a native table belongs to."""
    owners: tuple[int, ...] | None = getattr(table, "owners", None)
    return tuple(range(len(table.names))) if owners is None else owners


def features_of(names: Sequence[str], groups: Mapping[str, tuple[int, ...]]) -> Iterator[ColumnGroup]:
    """Yield the features of a table: groups at the place of their first column, and other columns."""
    first = {columns[0]: name for name, columns in groups.items()}
    taken = {column for columns in groups.values() for column in columns[1:]}
    for position, own in enumerate(names):
        if position in first:
            yield ColumnGroup(first[position], groups[first[position]])
        elif position not in taken:
            yield ColumnGroup(own, (position,))


def one_hot_groups(table: Table, features: Sequence[int]) -> dict[str, list[int]]:
    """Return columns of zeros and ones that look one-hot encoded, by what their names begin with.

    No row has two ones, though some would if the columns were independent.
    """
    found: dict[str, list[int]] = {}
    names, ones = table.names, {j: table.column(j) for j in features}
    ends = {j: [end.end() for end in re.finditer(f"[{re.escape(SEPARATORS)}]+", names[j])] for j in features}
    prefixes = {names[j][:end] for j in features for end in ends[j] if end < len(names[j])}
    for prefix in sorted(prefixes, key=lambda prefix: (len(prefix), prefix)):
        taken = {j for group in found.values() for j in group}
        group = [j for j in features if names[j].startswith(prefix) and j not in taken]
        if len(group) > 1 and _are_exclusive([ones[j] for j in group]):
            found[prefix.rstrip(SEPARATORS)] = group
    return found


def _are_exclusive(columns: Sequence[Column]) -> bool:
    """Return whether no row has two ones, where independent columns would have them in several rows."""
    total = np.zeros(len(columns[0].missing))
    shares = []
    for column in columns:
        total[~column.missing] += column.values == 1
        shares.append(float(np.mean(column.values == 1)) if len(column.values) else 0.0)
    expected = len(total) * (sum(shares) ** 2 - sum(share**2 for share in shares)) / 2
    return bool(total.max(initial=0.0) <= 1 and expected >= EXPECTED_ROWS)


def _named(column: Column, group: ColumnGroup) -> Column:
    """Return a column under the name of its feature."""
    return column if column.name == group.name else replace(column, name=group.name)


def combinations_of(whole: Table, group: ColumnGroup) -> tuple[ColumnGroup, Integers]:
    """Return a group with the combinations that occur in a table, and the combination of each row."""
    categories, rows, codes = coded_rows(whole, group)
    occurring = np.zeros(len(whole), dtype=bool)
    occurring[rows] = True
    few = whole.keep(occurring)  # in the order of the table
    cells = tuple(few.own_cells(column) for column in group.columns)
    return replace(group, categories=categories, cells=cells, rows=np.argsort(np.argsort(rows))), codes


def coded_rows(whole: Table, group: ColumnGroup) -> tuple[tuple[str, ...], Integers, Integers]:
    """Return the categories of a group, a row with each of them, and the code of each row.

    If rows without any value in the columns occur, their code is the largest, and one of them the last row.
    """
    columns = [whole.column(column) for column in group.columns]
    codes, known = np.zeros(len(whole), np.int64), 1
    for column in columns:
        own, size = _sorted_codes(column)
        codes, known = codes * size + own, known * size
        if known > MOST_CODES:
            distinct, codes = np.unique(codes, return_inverse=True)
            known = len(distinct)
    _, rows, codes = np.unique(codes, return_index=True, return_inverse=True)
    names = tuple(whole.names[column] for column in group.columns)
    categories, order = _categories(group.name, names, [_values_at(column, rows) for column in columns])
    return categories, rows[order], np.argsort(order)[codes]


def _sorted_codes(column: Column) -> tuple[Integers, int]:
    """Return a code for each row, in the order of values with missing ones last, and the number of codes."""
    missing = bool(column.missing.any())
    if column.values.dtype.kind in "biuf" and len(column.values):
        high = column.values.max()
        if ((column.values == high) | (column.values == column.values.min())).all():  # without sorting
            codes = np.full(len(column.missing), 2, np.int64)
            codes[~column.missing] = column.values == high
            return codes, 2 + missing
    own, values = column.factorized()
    if column.categories is None and column.values.dtype == object:
        rank = np.argsort(np.argsort(np.array([str(value) for value in values])))
        own = rank[own]
    codes = np.full(len(column.missing), len(values), np.int64)
    codes[~column.missing] = own
    return codes, len(values) + missing


def _values_at(column: Column, rows: Integers) -> list[Any]:
    """Return the values of some rows, None where missing."""
    if not len(column.values):
        return [None] * len(rows)
    found = column.values[(np.cumsum(~column.missing) - 1)[rows]]
    if found.dtype.kind in "mM":  # finer units would become integers
        found = found.astype(f"{found.dtype.kind}8[us]")
    values = found.tolist()
    return [None if gap else value for value, gap in zip(values, column.missing[rows], strict=True)]


def _categories(
    name: str, names: tuple[str, ...], values: list[list[Any]]
) -> tuple[tuple[str, ...], Integers]:
    """Return the names of combinations in their order, and this order; one without any value is last.

    Columns of zeros and ones are indicators: a combination has the names of its ones.
    """
    combinations = list(zip(*values, strict=True))
    absent = [all(value is None for value in one) for one in combinations]
    present = [one for one, lacking in zip(combinations, absent, strict=True) if not lacking]
    keys: list[Any] = list(range(len(combinations)))
    if all(value in (0, 1) and not isinstance(value, str) for one in present for value in one):
        short = _short_names(name, names)
        ones = [tuple(j for j, value in enumerate(one) if value) for one in combinations]
        keys = [(not own, len(own), own) for own in ones]
        labels = [" + ".join(short[j] for j in own) or NONE for own in ones]
    else:
        labels = [
            f"({', '.join('missing' if value is None else str(value) for value in one)})"
            for one in combinations
        ]
        if len(set(labels)) < len(labels):  # text with commas
            labels = [repr(one) for one in combinations]
    order = sorted(range(len(combinations)), key=lambda number: (absent[number], keys[number]))
    return tuple(labels[number] for number in order if not absent[number]), np.array(order, np.int64)


def _short_names(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of columns without the name of the feature, or without what they begin with.

    >>> _short_names("city", ("city_A", "city_B")), _short_names("town", ("city=Aa", "city=Ab"))
    (('A', 'B'), ('Aa', 'Ab'))
    """
    low, high = min(names), max(names)
    size = next((j for j, (one, two) in enumerate(zip(low, high, strict=False)) if one != two), len(low))
    named = re.match(f"{re.escape(name)}[{re.escape(SEPARATORS)}]+", low[:size])
    prefix = named or re.match(f".*[{re.escape(SEPARATORS)}]", low[:size])
    short = tuple(own[prefix.end() :] if prefix else own for own in names)
    return short if all(short) and NONE not in short else names
