"""Boxes of leaves, and cells of features between thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, product
from math import prod
from types import ModuleType

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._kernels.program import (
    ACTIVE,
    COLUMN,
    CUT,
    MARGIN,
    MISSING_LEFT,
    NODE,
    SLOT,
    TABLE,
    Boxes,
    Ints,
    Items,
    PointCodes,
    Program,
    Runs,
    goes_left,
    runs_of,
)
from paribus._states import CodeTuples
from paribus._states.sums import keys_of
from paribus.errors import RefusalCode, RefusalError

SLOT_BYTES = 80  # per slot: runs, leaf, position in its set, and item for the kernels
RUN_BYTES, FEW_RUNS = 8, 4
TABLE_CELLS = 2**22  # maximum size of a table


SideRuns = tuple[Integers, Integers]  # sides of conditions (2 * number, or 2 * number + 1), and runs of cells


@dataclass(frozen=True, eq=False)
class ThresholdCells:
    """Cells of the features of a family: combinations of the codes of a feature's columns.

    All combinations are cells, except for features with ``tuples``, whose cells are the occurring
    combinations.
    """

    program: Program
    tuples: Tuples = field(default_factory=dict)
    _codes: dict[int, dict[int, Integers]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def columns(self) -> tuple[tuple[int, ...], ...]:
        """The code columns of each feature."""
        return tuple(self.program.columns_of.get(feature, ()) for feature in self.program.family.features)

    @cached_property
    def size(self) -> Ints:
        """Number of cells of each feature."""
        crossed = [prod(self._shape(position)) for position in range(len(self.columns))]
        for position, numbers in self._numbers.items():
            crossed[position] = numbers.tuples.shape[1]
        return np.array(crossed, np.int32)

    def _shape(self, position: int) -> tuple[int, ...]:
        return tuple(int(self.program.n_codes[column]) for column in self.columns[position])

    @cached_property
    def _numbers(self) -> dict[int, TupleNumbers]:
        """Numbering of tuples, by the position of the feature in the family."""
        return {
            position: TupleNumbers(self.tuples[feature], self.program.n_codes[list(self.columns[position])])
            for position, feature in enumerate(self.program.family.features)
            if feature in self.tuples
        }

    def of(self, codes: Ints) -> Ints:
        """Return the cell of each row in each feature, ``(f, i)``."""
        cells = np.zeros((len(self.columns), codes.shape[1]), np.int32)
        for position in range(len(self.columns)):
            cells[position] = self.at(position, codes)
        return cells

    def at(self, position: int, codes: Ints) -> Ints:
        """Return the cell of each row in one feature, ``(i,)``."""
        columns = self.columns[position]
        if position in self._numbers:
            return self._numbers[position].of(codes[list(columns)]).astype(np.int32)
        if len(columns) == 1:
            return np.asarray(codes[columns[0]])
        cells = np.zeros(codes.shape[1], np.int32)
        for column in columns:
            cells *= self.program.n_codes[column]
            cells += codes[column]
        return cells

    def codes(self, position: int) -> dict[int, Integers]:
        """Return the codes of every cell of a feature, by column."""
        if position not in self._codes:
            found: Sequence[Integers] = ()
            if position in self._numbers:
                found = tuple(self._numbers[position].tuples)
            elif self.columns[position]:
                found = np.unravel_index(np.arange(self.size[position]), self._shape(position))
            self._codes[position] = dict(zip(self.columns[position], found, strict=True))
        return self._codes[position]

    def points(self, position: int, cells: Integers) -> PointCodes:
        """Return some cells of a feature as points."""
        row = np.full(len(self.program.conditions), -1, np.int32)
        codes = self.codes(position)
        for number, column in enumerate(codes):
            row[self.program.conditions[:, COLUMN] == column] = number
        table = np.stack([found[cells] for found in codes.values()]) if codes else np.zeros((0, len(cells)))
        ends = np.array([0, len(cells)], np.int32)
        return PointCodes(row, np.zeros(len(codes), np.int32), ends, table.astype(np.int32), len(cells))

    def sides(self) -> Runs:
        """Return the runs of cells that pass each condition, followed by those that fail it."""
        conditions, owner = self.program.conditions, self.program.feature
        several = np.array([len(columns) > 1 for columns in (*self.columns, ())])[owner]
        varied, compared = owner < len(self.columns), conditions[:, TABLE] < 0
        found = [self._of_thresholds(np.flatnonzero(varied & compared & ~several))]
        found += [self._of_categories(int(number)) for number in np.flatnonzero(varied & ~compared)]
        crossed = np.flatnonzero(varied & compared & several)
        key = 2 * conditions[crossed, COLUMN] + (conditions[crossed, MISSING_LEFT] > 0)
        found += [self._of_several(crossed[key == one]) for one in np.unique(key)]
        side, runs = (np.concatenate(parts) for parts in zip(*found, strict=True))
        times = np.bincount(side, minlength=2 * len(conditions))
        stop = np.cumsum(times)
        return Runs(stop - times, stop, runs[np.argsort(side, kind="stable")].astype(np.int32))

    def _of_thresholds(self, numbers: Integers) -> SideRuns:
        """Return the cells on both sides of thresholds; the last cell is missing, on either side."""
        conditions = self.program.conditions[numbers].astype(np.int64)
        cut, last = conditions[:, CUT] + 1, self.program.n_codes[conditions[:, COLUMN]] - 1
        missing_left = conditions[:, MISSING_LEFT] > 0
        left = np.stack([np.zeros_like(cut), cut], axis=1)
        missing = np.stack([last, last + 1], axis=1)[missing_left]
        right = np.stack([cut, np.where(missing_left, last, last + 1)], axis=1)
        side = np.concatenate([2 * numbers, 2 * numbers[missing_left], 2 * numbers + 1])
        return side, np.concatenate([left, missing, right])

    def _of_categories(self, number: int) -> SideRuns:
        """Return the cells on both sides of a categorical test."""
        codes = self.codes(int(self.program.feature[number]))
        left = goes_left(self.program, number, codes[int(self.program.conditions[number, COLUMN])])
        both = [np.reshape(runs_of(met), (-1, 2)).astype(np.int64) for met in (left, ~left)]
        side = np.repeat([2 * number, 2 * number + 1], [len(runs) for runs in both])
        return side, np.concatenate(both)

    def _of_several(self, numbers: Integers) -> SideRuns:
        """Return the cells on both sides of thresholds of one column, for a feature with several columns.

        A run begins or ends between cells whose codes are on different sides of the threshold. Thresholds are
        in ascending order, and missing values are on the same side of all of them.
        """
        column, _, missing_left, _ = self.program.conditions[numbers[0]]
        cuts = self.program.conditions[numbers, CUT]
        codes = self.codes(int(self.program.feature[numbers[0]]))[int(column)]
        if missing_left > 0:
            codes = np.where(codes == self.program.columns[column].missing, -1, codes)
        sides, runs = [], []
        for side, outside in enumerate((self.program.n_codes[column], -1)):  # a code on the other side
            around = np.concatenate([[outside], codes, [outside]])
            low, high = np.minimum(around[1:], around[:-1]), np.maximum(around[1:], around[:-1])
            first, stop = np.searchsorted(cuts, low), np.searchsorted(cuts, high)
            edge, parted = _expanded_ranges(first, stop)
            order = np.argsort(parted, kind="stable")
            sides.append(2 * numbers[parted[order[::2]]] + side)
            runs.append(edge[order].reshape(-1, 2))
        return np.concatenate(sides), np.concatenate(runs)


def _expanded_ranges(first: Integers, stop: Integers) -> tuple[Integers, Integers]:
    """Return the range of each number, and the concatenated numbers of all ranges."""
    times = stop - first
    owner = np.repeat(np.arange(len(times)), times)
    return owner, np.arange(len(owner)) + (first - np.cumsum(times) + times)[owner]


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves of a program as boxes; ``passing`` are the cells of the slots with one free feature.

    A *group* is a tuple of features, as ascending positions in the family. Tables larger than ``largest`` are
    not built; their cells are looked up as needed.
    """

    program: Program
    cells: ThresholdCells
    passing: Runs
    largest: int

    @classmethod
    def of(
        cls,
        program: Program,
        kernels: ModuleType,
        largest: int = TABLE_CELLS,
        tuples: Tuples | None = None,
    ) -> Leaves:
        """Return the boxes of all leaves."""
        cells = ThresholdCells(program, tuples or {})
        passing = kernels.passing(program, cells.size, cells.sides())
        return cls(program, cells, passing, min(largest, TABLE_CELLS))

    @property
    def size(self) -> Ints:
        """Number of cells of each feature."""
        return self.cells.size

    @property
    def nbytes(self) -> int:
        """Memory of the boxes: runs, and arrays per slot after leaves are sorted by group."""
        return self.passing.runs.nbytes + SLOT_BYTES * self.program.n_slots

    @cached_property
    def _entry(self) -> Integers:
        return np.flatnonzero(self.program.entries[:, SLOT] >= 0)

    @cached_property
    def of_slot(self) -> Integers:
        """The leaf of each slot."""
        return np.repeat(np.arange(len(self._entry)), self.program.entries[self._entry, ACTIVE])

    @cached_property
    def value(self) -> Floats:
        """Value of each leaf for each margin, ``(l, m)``."""
        entries = self.program.entries[self._entry]
        values = self.program.value[entries[:, NODE]]
        if values.shape[1] == self.program.n_margins:
            return values
        spread = np.zeros((len(values), self.program.n_margins))
        spread[np.arange(len(values)), entries[:, MARGIN]] = values[:, 0]
        return spread

    @cached_property
    def _numbers(self) -> dict[frozenset[int], int]:
        return {one: number for number, one in enumerate(self.program.family.sets)}

    @cached_property
    def _by_set(self) -> tuple[Integers, Integers]:
        """Slots sorted by feature set and leaf, and the position of the first slot of each set."""
        order = np.argsort(self.program.slot_set, kind="stable")
        sets = np.arange(len(self.program.family.sets) + 1)
        return order, np.searchsorted(self.program.slot_set[order], sets)

    def slots(self, group: tuple[int, ...], leaves: Integers | None = None) -> Integers:
        """Return the slots of a group in the leaves that test all of it, or in some of these leaves."""
        order, first = self._by_set
        number = self._numbers[frozenset(group)]
        slots = order[first[number] : first[number + 1]]
        return slots if leaves is None else slots[np.searchsorted(self.of_slot[slots], leaves)]

    def testing(self, group: tuple[int, ...]) -> Integers:
        """Return the leaves that test every feature of a group."""
        return self.of_slot[self.slots(group)]

    @cached_property
    def _single(self) -> Integers:
        """The slots with one free feature."""
        sizes = (self.program.family.members >= 0).sum(axis=1)
        return np.flatnonzero(sizes[self.program.slot_set] == 1)

    def boxes(self) -> Boxes:
        """Return the boxes in the form that the kernels use."""
        single = self._single
        first = np.searchsorted(self.of_slot[single], np.arange(len(self._entry) + 1))
        feature = self.program.family.members[self.program.slot_set[single], 0]
        entries = self.program.entries[self._entry]
        sides = Runs(self.passing.first[single], self.passing.stop[single], self.passing.runs)
        value = np.ascontiguousarray(self.program.value[entries[:, NODE]])
        return Boxes(first, feature, sides, value, np.ascontiguousarray(entries[:, MARGIN]))

    def items(self, groups: list[tuple[int, ...]], boxes: Boxes, share: Floats | None = None) -> Items:
        """Return the groups that each leaf tests; with ``share``, also the values of leaves for pairs."""
        of_set = np.full(len(self.program.family.sets), -1, np.int32)
        of_set[[self._numbers[frozenset(group)] for group in groups]] = np.arange(len(groups))
        slots = np.flatnonzero(of_set[self.program.slot_set] >= 0)
        leaf, sets = self.of_slot[slots], self.program.slot_set[slots]
        first = np.searchsorted(leaf, np.arange(len(self._entry) + 1))
        features = self.program.family.members[sets, : max(map(len, groups), default=2)]
        own = self.of_slot[self._single] * len(self.cells.size) + boxes.feature
        order = np.argsort(own)
        wanted = leaf[:, None] * len(self.cells.size) + np.where(features < 0, features[:, :1], features)
        at = order[np.searchsorted(own[order], wanted)]
        places = np.where(features < 0, -1, at - boxes.first[leaf][:, None]).astype(np.int32)
        weights = None
        if share is not None:
            shares = np.stack([-share[self._single[at[:, 0]]], -share[self._single[at[:, 1]]], share[slots]])
            weights = shares.T[:, :, None] * boxes.value[leaf][:, None]
        return Items(first, of_set[sets], np.ascontiguousarray(places), boxes.first, weights)

    def passing_weight(self, position: int, counts: Floats) -> tuple[Integers, Floats]:
        """Return the slots with one feature free, and the weight in the cells that pass its tests."""
        leaves = self.testing((position,))
        box, begin, end = self._rectangles((position,), leaves)
        before = np.concatenate([[0.0], np.cumsum(counts)])
        weight = before[end[:, 0]] - before[begin[:, 0]]
        return self.slots((position,)), np.bincount(box, weight, minlength=len(leaves)).astype(np.float64)

    def table(self, group: tuple[int, ...], leaves: Integers, share: Floats) -> Floats:
        """Return the average contribution of leaves in every cell of a group, ``(m, c0, c1, ...)``.

        ``share`` is, for each slot, the share of rows that reach its leaf with its set free.
        """
        weight = self.value[leaves] * share[self.slots(group, leaves), None]
        box, begin, end = self._rectangles(group, leaves)
        shape = tuple(int(self.cells.size[position]) + 1 for position in group)
        table = np.zeros((self.program.n_margins, prod(shape)))
        for corner in product((0, 1), repeat=len(group)):
            at = np.ravel_multi_index(tuple(np.where(corner, end, begin).T), shape)
            sign = (-1.0) ** sum(corner)
            for margin in range(len(table)):
                table[margin] += np.bincount(at, sign * weight[box, margin], minlength=table.shape[1])
        table = table.reshape(-1, *shape)
        for axis in range(1, table.ndim):
            np.cumsum(table, axis=axis, out=table)
        return table[(slice(None), *(slice(-1),) * len(group))]

    def at(
        self, group: tuple[int, ...], leaves: Integers, share: Floats, cells: Ints, kernels: ModuleType
    ) -> Floats:
        """Return the average contribution of leaves in some cells ``(d, g)`` of a group, ``(m, g)``."""
        sizes = self.cells.size[list(group)]
        if prod(sizes.tolist()) * self.program.n_margins <= self.largest:
            return np.asarray(self.table(group, leaves, share)[(slice(None), *cells)])
        weight = self.value[leaves] * share[self.slots(group, leaves), None]
        box, begin, end = self._rectangles(group, leaves)
        result: Floats = kernels.look_up(begin, end, weight[box], cells, sizes)
        return result

    def _rectangles(self, group: tuple[int, ...], leaves: Integers) -> tuple[Integers, Ints, Ints]:
        """Return the rectangles of some leaves in a group: the leaf, begins and ends ``(r, d)`` of each."""
        box = np.arange(len(leaves))
        chosen: list[Integers] = []
        for position in group:
            slots = self.slots((position,), leaves)[box]
            owner, runs = _expanded_ranges(self.passing.first[slots], self.passing.stop[slots])
            chosen = [*(earlier[owner] for earlier in chosen), runs]
            box = box[owner]
        ends = [self.passing.runs[runs] for runs in chosen]
        return box, np.stack([e[:, 0] for e in ends], axis=1), np.stack([e[:, 1] for e in ends], axis=1)


@dataclass(frozen=True, eq=False)
class ExpectedLeaves:
    """Expected sizes of `Leaves`, before the occurring tuples of codes are known."""

    program: Program
    size: Ints
    largest: int = TABLE_CELLS

    @classmethod
    def of(cls, program: Program, rows: int) -> ExpectedLeaves:
        """Estimate the number of cells of each feature.

        Codes of columns that are monotone in the feature, or that each mark one category, change together at
        most as often as there are thresholds.
        """
        cells = []
        for feature in program.family.features:
            sizes = program.n_codes[columns_of(program, feature)].tolist()
            crossed = prod(sizes)
            together = sum(size - 2 for size in sizes) + 2
            cells.append(crossed if len(sizes) < 2 else min(crossed, together, rows))
        return cls(program, np.array(cells, np.int32))

    @property
    def nbytes(self) -> int:
        """Memory of the boxes, with a few runs each."""
        return (FEW_RUNS * RUN_BYTES + SLOT_BYTES) * self.program.n_slots


def parts_of(group: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], float]]:
    """Yield the nonempty subsets of a group, with the signs of inclusion and exclusion."""
    for size in range(1, len(group) + 1):
        for part in combinations(range(len(group)), size):
            yield part, (-1.0) ** (len(group) - size)


CROSSED = 1_000  # maximum number of cells of a feature whose columns are crossed
Tuples = Mapping[int, Ints]  # sorted tuples ``(c, t)`` of each feature whose columns are not crossed


def columns_of(program: Program, feature: int) -> list[int]:
    """Return the code columns of a feature of the table."""
    return list(program.columns_of.get(feature, ()))


def in_tuples(program: Program) -> tuple[int, ...]:
    """Return the features of a family whose cells are the occurring tuples of codes.

    These are all features with several columns if one of them has too many combinations of codes. Otherwise
    there are none, which saves a pass over the rows.
    """
    features = [f for f in program.family.features if len(columns_of(program, f)) > 1]
    most = max((prod(program.n_codes[columns_of(program, f)].tolist()) for f in features), default=0)
    return tuple(features) if most > CROSSED else ()


def tuples_among(program: Program, features: Iterable[int], codes: Ints) -> dict[int, Ints]:
    """Return the tuples in rows ``(c, i)`` of those of the features that have several columns."""
    columns = {feature: columns_of(program, feature) for feature in features}
    return {
        feature: CodeTuples.of(codes[own], codes.shape[1]).tuples
        for feature, own in columns.items()
        if len(own) > 1
    }


@dataclass(frozen=True, eq=False)
class TupleNumbers:
    """Numbering of the occurring tuples of codes, ``(c, t)`` in order.

    Columns have ``sizes`` codes. As many columns as fit an integer are looked up with one key.
    """

    tuples: Ints
    sizes: Ints

    @cached_property
    def _known(self) -> dict[int, Integers]:
        """The occurring keys, by the last column of each key."""
        known: dict[int, Integers] = {}
        number = np.zeros(self.tuples.shape[1], np.int64)
        for column, key in keys_of(self.tuples, self.sizes, number):
            known[column] = np.unique(key)
            number[:] = np.searchsorted(known[column], key)
        return known

    def of(self, codes: Ints) -> Integers:
        """Return the number of the tuple of each row."""
        number = np.zeros(codes.shape[1], np.int64)
        for column, key in keys_of(codes, self.sizes, number):
            known = self._known[column]
            number[:] = np.minimum(np.searchsorted(known, key), len(known) - 1)
            if not np.array_equal(known[number], key):
                raise RefusalError(
                    "its preprocessing did not return the same columns for the same rows again",
                    RefusalCode.DIFFERS,
                )
        return number
