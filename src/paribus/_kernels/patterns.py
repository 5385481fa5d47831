"""Patterns of test outcomes in trees with few tests, and tables over these patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._kernels.program import (
    ACTIVE,
    COLUMN,
    CUT,
    DEPTH,
    END,
    MARGIN,
    MISSING_LEFT,
    NODE,
    SIDE,
    SLOT,
    TABLE,
    TEST,
    Bytes,
    Ints,
    Moves,
    PointCodes,
    Program,
    expand_ranges,
)

# Number of distinct tests of a tree. With fewer, masks of rows are as fast. With more, the tables of 3^tests
# cells (each test goes left, goes right or is free) are larger than a block of rows.
LEAST_TESTS, MOST_TESTS = 3, 10
REPEATED = 1.5  # minimum number of nodes per test: if tests differ, there are many patterns for few leaves
SPARE = 8  # maximum number of patterns per leaf
MOST_CODES = 1 << 16  # maximum number of codes of a column, which are compared as 16-bit integers


def has_few_tests(
    roots: Array, left: Array, right: Array, tree: Integers, test: Integers, inner: Flags
) -> Flags:
    """Return which trees have few distinct tests for their number of nodes, and no test twice on a path.

    ``tree`` and ``test`` are the tree and the test of each node.
    """
    leaves = np.bincount(tree[~inner], minlength=len(roots))
    small = leaves <= 1 << MOST_TESTS  # more leaves have more tests, or one twice on a path
    total = int(test.max(initial=0)) + 1
    nodes = np.flatnonzero(inner & small[tree])
    known = np.unique(tree[nodes] * total + test[nodes])
    tests = np.bincount(known // total, minlength=len(roots))
    repeated = leaves - 1 >= REPEATED * tests
    sparse = 2.0 ** np.minimum(tests, MOST_TESTS) > SPARE * leaves
    few = (tests >= LEAST_TESTS) & (tests <= MOST_TESTS) & repeated & ~sparse
    first = np.cumsum(tests) - tests
    level = roots[few]
    passed = np.zeros(len(level), np.int64)
    while len(level):
        level, passed = level[inner[level]], passed[inner[level]]
        bit = 1 << np.searchsorted(known, tree[level] * total + test[level]) - first[tree[level]]
        few[tree[level[passed & bit > 0]]] = False
        level, passed = np.concatenate([left[level], right[level]]), np.tile(passed | bit, 2)
    return few


@dataclass(frozen=True, eq=False)
class Patterns:
    """Trees of a program with few tests.

    A *pattern* of a row in a tree is a binary number with one digit per test, 1 if the row goes right.

    Attributes
    ----------
    program : Program
    conditions : (c, 4)
        Per test its column, the first code that goes right, the number of codes that go right, and where the
        table of a test of categories begins in ``program.truth``, else -1.
    used : (c,)
        The position of each test in ``program.conditions``.
    first : (t + 1,)
        Where the tests of each tree begin in ``tests``.
    tests : (q,)
        Positions in ``conditions``. The first test of a tree is the highest digit of its patterns.
    begin : (t + 1,)
        Where the patterns of each tree begin in ``leaf``.
    leaf : (p,)
        The leaf that rows with a pattern reach, as an entry.
    tree, bit : (e,)
        The tree of each entry, and the digit of its parent's test.
    """

    program: Program
    conditions: Ints
    used: Integers
    first: Integers
    tests: Ints
    begin: Integers
    leaf: Ints
    tree: Integers
    bit: Ints

    @classmethod
    def of(cls, program: Program) -> Patterns:
        """Return the trees with few tests of a program, with the leaf of each pattern."""
        entries, total = program.entries[: program.patterned], len(program.conditions)
        root = entries[:, DEPTH] == 0
        tree, roots = np.cumsum(root) - 1, np.flatnonzero(root)
        key = tree * total + entries[:, TEST]
        known = np.unique(key[~root])
        first = np.searchsorted(known, np.arange(len(roots) + 1) * total)
        used, tests = np.unique(known % total, return_inverse=True)
        # The digit of a root, which has no parent, is not read.
        bit = np.where(root, 0, 1 << np.maximum(first[tree + 1] - 1 - np.searchsorted(known, key), 0))
        count = 1 << np.diff(first)
        begin = np.concatenate([[0], np.cumsum(count)])
        owner, pattern = expand_ranges(0, count)
        at = roots[owner]
        for _ in range(int(entries[:, DEPTH].max(initial=0))):
            inner = np.flatnonzero(entries[at, SLOT] < 0)
            left = at[inner] + 1
            at[inner] = np.where(pattern[inner] & bit[left], entries[left, END], left)
        tested = right_ranges(program.conditions[used], program.n_codes)
        shorts = tests.astype(np.int32), begin, at.astype(np.int32), tree, bit.astype(np.int32)
        return cls(program, tested, used, first, *shorts)

    @cached_property
    def value(self) -> Floats:
        """The value of the leaf of each pattern, ``(p, k)``."""
        return np.asarray(self.program.value[self.program.entries[self.leaf, NODE]])

    @cached_property
    def required(self) -> tuple[Ints, Ints]:
        """The tests that go right on the path to each entry, and those that go left, as binary digits."""
        entries = self.program.entries[: self.program.patterned]
        inner = np.flatnonzero(entries[:, SLOT] < 0)
        parent = np.zeros(len(entries), np.int64)
        parent[inner + 1] = parent[entries[inner + 1, END]] = inner
        right, left = np.zeros((2, len(entries)), np.int32)
        side = entries[:, SIDE] > 0
        for depth in range(1, int(entries[:, DEPTH].max(initial=0)) + 1):
            here = np.flatnonzero(entries[:, DEPTH] == depth)
            right[here] = right[parent[here]] | np.where(side[here], self.bit[here], 0)
            left[here] = left[parent[here]] | np.where(side[here], 0, self.bit[here])
        return right, left

    @cached_property
    def margin(self) -> Ints:
        """The margin of each tree, -1 for all."""
        entries = self.program.entries[: self.program.patterned]
        return np.asarray(entries[entries[:, DEPTH] == 0, MARGIN])

    @cached_property
    def test_tree(self) -> Integers:
        """The tree of each of ``tests``."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.first))

    @cached_property
    def test_feature(self) -> Ints:
        """The feature of each of ``tests``, numbered as in ``program.feature``."""
        return self.program.feature[self.used[self.tests]]

    @cached_property
    def test_bit(self) -> Integers:
        """The digit of each of ``tests``."""
        tests = np.diff(self.first)
        return 1 << (np.repeat(self.first[1:], tests) - 1 - np.arange(len(self.tests)))

    @cached_property
    def slot_first(self) -> Integers:
        """Where the slots of each tree begin; they are the first slots of the program."""
        return np.searchsorted(self.tree[self.slot_leaf], np.arange(len(self.begin)))

    @property
    def slot_leaf(self) -> Integers:
        """The leaf of each slot of these trees, as an entry."""
        entries = self.program.entries[: self.program.patterned]
        leaves = np.flatnonzero(entries[:, SLOT] >= 0)
        return np.repeat(leaves, entries[leaves, ACTIVE])

    @cached_property
    def cells(self) -> Ints:
        """Position of the coverage of each slot in the marginals over a tree's patterns, ``(3,) * tests``.

        A test goes left (0), goes right (1), or is free or not on the path (2).
        """
        leaf = self.slot_leaf
        free = self.program.family.members[self.program.slot_set[: len(leaf)]]
        tree = self.tree[leaf]
        right, left = (side[leaf] for side in self.required)
        cells = np.zeros(len(leaf), np.int32)
        tests = np.diff(self.first)
        feature = self.test_feature
        for number in range(int(tests.max(initial=0))):
            # For a tree with fewer tests, the values read here are discarded below.
            bit = (1 << np.maximum(tests - 1 - number, 0))[tree]
            own = feature[np.minimum(self.first[:-1] + number, len(feature) - 1)][tree]
            fixed = (free != own[:, None]).all(axis=1) & (number < tests)[tree]
            digit = np.where(fixed & (right & bit > 0), 1, np.where(fixed & (left & bit > 0), 0, 2))
            cells = np.where((number < tests)[tree], cells * 3 + digit, cells).astype(np.int32)
        return cells


def right_ranges(conditions: Ints, n_codes: Ints) -> Ints:
    """Return conditions in the format of ``Patterns.conditions``, by the range of codes that go right."""
    column, cut, missing_left, table = conditions[:, [COLUMN, CUT, MISSING_LEFT, TABLE]].T
    # The code of a missing value is the largest.
    stop = n_codes[column] - (missing_left > 0)
    first, codes = (np.where(table < 0, bound, 0) for bound in (cut + 1, stop - cut - 1))
    return np.ascontiguousarray(np.stack([column, first, codes, table], axis=1), np.int32)


def patterns_of(program: Program) -> Patterns:
    """Return the trees with few tests, found once for a program."""
    if "patterns" not in program.kept:
        program.kept["patterns"] = Patterns.of(program)
    found: Patterns = program.kept["patterns"]
    return found


POINTS = 1 << 20  # outcomes of trees at grid points that are compared at once
DIGITS = MOST_TESTS + 1  # bits of a pattern, or of a pattern plus 1


@dataclass(frozen=True, eq=False)
class Lookups:
    """Tables over the patterns of trees, and the sums to which the values of rows are added.

    Attributes
    ----------
    first : (t + 1,)
        Where the items of each tree begin.
    items : (n, 2)
        The number of a sum, and where the table of values to add begins in ``table``.
    table : (s,)
        All tables, each with one value per pattern of its tree.
    """

    first: Integers
    items: Integers
    table: Floats

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.first.nbytes + self.items.nbytes + self.table.nbytes


@dataclass(frozen=True, eq=False)
class _Part:
    """Items of one kind, for all margins of a tree.

    Each item has a ``tree``, the start ``begin`` of its table, and the sum ``target`` of the first margin.
    The sum of the next margin is ``target + stride``. ``table (s, k)`` has a column per value of a leaf.
    """

    tree: Integers
    begin: Integers
    target: Integers
    stride: int
    table: Floats


def _joined_lookups(patterns: Patterns, parts: Sequence[_Part]) -> Lookups:
    """Return the items of several kinds, ordered by tree."""
    margin = patterns.margin.astype(np.int64)
    trees, items, tables, before = [], [], [], 0
    for part in parts:
        for k, table in enumerate(part.table.T):
            own = np.where(margin < 0, k, margin)[part.tree]
            trees.append(part.tree)
            items.append(np.stack([part.target + part.stride * own, part.begin + before], axis=1))
            tables.append(table)
            before += len(table)
    tree = np.concatenate(trees)
    order = np.argsort(tree, kind="stable")
    first = np.searchsorted(tree[order], np.arange(len(margin) + 1))
    return Lookups(first, np.concatenate(items)[order], np.concatenate(tables))


def _own_values(patterns: Patterns, target: int) -> _Part:
    """Return the items that add the value of a row's leaf to its margins."""
    trees = np.arange(len(patterns.begin) - 1)
    return _Part(trees, patterns.begin[:-1], np.full(len(trees), target), 1, patterns.value)


def losses(patterns: Patterns, share: Floats, single: bool) -> Lookups:
    """Return tables of margins, and of their losses if a feature is averaged out; see `reference.lose`.

    The sums are the margins, the losses and, with ``single``, the margins again. The latest tables are kept,
    because consecutive blocks of rows use the same ones.
    """
    known: tuple[Floats, bool, Lookups] | None = patterns.program.kept.get("losses")
    if known is None or known[0] is not share or known[1] != single:
        known = share, single, _loss_lookups(patterns, share, single)
        patterns.program.kept["losses"] = known
    return known[2]


def _loss_lookups(patterns: Patterns, share: Floats, single: bool) -> Lookups:
    """Return the tables of `losses`."""
    program = patterns.program
    margins, features = program.n_margins, len(program.family.features)
    inside = patterns.test_feature < features
    owner = patterns.test_tree[inside]
    key, item = np.unique(owner * features + patterns.test_feature[inside], return_inverse=True)
    mask = np.bincount(item, patterns.test_bit[inside], minlength=len(key)).astype(np.int64)
    tree, feature = np.divmod(key, max(1, features))
    begin, table = _loss_tables(patterns, share, tree, feature, mask)
    parts = [_own_values(patterns, 0), _Part(tree, begin, margins + feature, features, table)]
    if single:
        parts.append(_own_values(patterns, margins * (1 + features)))
    return _joined_lookups(patterns, parts)


def _loss_tables(
    patterns: Patterns, share: Floats, tree: Integers, feature: Integers, mask: Integers
) -> tuple[Integers, Floats]:
    """Return where tables of losses begin, and the tables; ``mask`` has the digits of a feature's tests.

    The margin without the feature is a sum over the outcomes of its tests. A leaf that is below only some of
    these tests has several outcomes, which share its weight equally.
    """
    begin, item, pattern = _table_cells(patterns, tree)
    leaf = patterns.leaf[patterns.begin[tree][item] + pattern]
    value = patterns.value[patterns.begin[tree][item] + pattern]
    slot = _slots_of_feature(patterns, leaf, feature[item])
    right, left = patterns.required
    ways = np.bitwise_count(mask[item]) - np.bitwise_count((right | left)[leaf] & mask[item])
    tested = (slot >= 0)[:, None]
    kept = np.where(tested, value * np.ldexp(share[slot], -ways.astype(np.int32))[:, None], 0.0)
    for digit in range(int(np.diff(patterns.first).max(initial=0))):
        both = np.flatnonzero(mask[item] >> digit & 1)
        kept[both] += kept[begin[item[both]] + (pattern[both] ^ 1 << digit)]
    return begin, np.where(tested, value, 0.0) - kept


def _table_cells(patterns: Patterns, tree: Integers) -> tuple[Integers, Integers, Integers]:
    """Return where the table of each item begins, and the item and the pattern of each cell of all tables."""
    size = np.diff(patterns.begin)[tree]
    return np.cumsum(size) - size, *expand_ranges(0, size)


def _slots_of_feature(patterns: Patterns, leaf: Integers, feature: Integers) -> Integers:
    """Return the slots of leaves in which one feature is free, -1 if the feature is not on their path."""
    family, every = patterns.program.family, patterns.slot_leaf
    features = len(family.features)
    # The family has sets of one feature, and the empty set, whose first member is -1.
    sets = patterns.program.slot_set[: len(every)]
    free = family.members[:, 0][sets] if features else np.full(len(every), -1)
    known = np.where(free < 0, -1, every * features + free)
    order = np.argsort(known, kind="stable")
    wanted = leaf * features + feature
    place = order[np.minimum(np.searchsorted(known[order], wanted), len(order) - 1)]
    return np.where(known[place] == wanted, place, -1)


def curve_changes(patterns: Patterns, questions: Sequence[PointCodes]) -> Lookups:
    """Return tables of margins, and of their changes between consecutive points of grids.

    The sums are the changes at all points for each margin, and the margins. The change at the first point of
    a grid is that from the row's own values.
    """
    points = sum(question.size for question in questions)
    starts = np.cumsum([0, *(question.size for question in questions)])
    found = [_outcome_changes(patterns, question) for question in questions]
    tree, point, before, after, mask = (np.concatenate(part) for part in zip(*found, strict=True))
    point += np.repeat(starts[:-1], [len(part[0]) for part in found])
    # Many points change a tree in the same way and share a table.
    key = ((tree << DIGITS | mask) << DIGITS | before + 1) << DIGITS | after
    _, chosen, item = np.unique(key, return_index=True, return_inverse=True)
    begin, table = _change_tables(patterns, tree[chosen], before[chosen], after[chosen], mask[chosen])
    own = _own_values(patterns, patterns.program.n_margins * points)
    return _joined_lookups(patterns, [own, _Part(tree, begin[item], point, points, table)])


def _change_tables(
    patterns: Patterns, tree: Integers, before: Integers, after: Integers, mask: Integers
) -> tuple[Integers, Floats]:
    """Return where tables of changes begin, and the tables, for two outcomes of the tests in ``mask``.

    The outcome ``before`` is -1 for that of the row itself.
    """
    begin, item, pattern = _table_cells(patterns, tree)
    others, first = pattern & ~mask[item], patterns.begin[tree][item]
    old = np.where(before[item] < 0, pattern, others | before[item])
    return begin, patterns.value[first + (others | after[item])] - patterns.value[first + old]


def _outcome_changes(patterns: Patterns, points: PointCodes) -> tuple[Integers, ...]:
    """Return the points at which the outcomes of the tests of a grid's features change in a tree.

    Per change: the tree, the point, the outcomes before and after, and the mask of the tests. The outcome
    before the first point is -1, for that of the row itself.
    """
    tests = np.flatnonzero(points.row[patterns.used[patterns.tests]] >= 0)
    owner = patterns.test_tree[tests]
    trees, tree_first, tree = np.unique(owner, return_index=True, return_inverse=True)
    mask = np.bincount(tree, patterns.test_bit[tests], minlength=len(trees)).astype(np.int64)
    found = [np.empty((0, 5), np.int64)]
    together = max(1, POINTS // max(1, points.size))
    for first in range(0, len(trees), together):
        some = np.flatnonzero((tree >= first) & (tree < first + together))
        reached = np.zeros((min(together, len(trees) - first), points.size), np.int16)
        place = some - tree_first[tree[some]]  # position among the tests of its tree
        for number in range(int(place.max(initial=-1)) + 1):
            here = some[place == number]
            bit = patterns.test_bit[tests[here]].astype(np.int16)
            reached[tree[here] - first] += _goes_right(patterns, points, tests[here]) * bit[:, None]
        turned = np.ones(reached.shape, dtype=bool)
        turned[:, 1:] = reached[:, 1:] != reached[:, :-1]
        at, point = np.nonzero(turned)
        before = np.where(point > 0, reached[at, point - 1], -1)
        own = trees[first + at], point, before, reached[at, point], mask[first + at]
        found.append(np.stack(own, axis=1).astype(np.int64))
    return tuple(np.concatenate(found).T)


def _goes_right(patterns: Patterns, points: PointCodes, tests: Integers) -> Flags:
    """Return which points of a grid go right at some of ``patterns.tests``, ``(n, g)``."""
    number = patterns.tests[tests]
    row = points.row[patterns.used[number]]
    shape = np.diff(points.axis_first)
    right = np.empty((len(tests), points.size), dtype=bool)
    for axis in range(len(shape)):
        of_axis = np.flatnonzero(points.axis[row] == axis)
        codes = points.codes[row[of_axis], points.axis_first[axis] : points.axis_first[axis + 1]]
        _, low, width, table = patterns.conditions[number[of_axis]].T[..., None]
        goes = (codes >= low) & (codes < low + width)
        if (table >= 0).any():
            listed = patterns.program.truth[np.where(table >= 0, table + codes, 0)] == 0
            goes = np.where(table >= 0, listed, goes)
        spread = [1] * axis + [int(shape[axis])] + [1] * (len(shape) - 1 - axis)
        right[of_axis] = np.broadcast_to(goes.reshape(-1, *spread), (len(of_axis), *shape)).reshape(
            -1, points.size
        )
    return right


@dataclass(frozen=True, eq=False)
class MovedTests:
    """Outcomes of the tests of trees where features are moved.

    The outcomes are ordered as follows: those of all conditions at the row's own values, those of ``ways`` at
    the lower values, and those of ``ways`` at the upper values.

    Attributes
    ----------
    ways : (d, 4)
        The conditions of the moves, in the format of ``Patterns.conditions``.
    ends : (c, 2)
        The number of the outcome of each condition at the lower and at the upper value.
    twice : (c,)
        Whether the feature of a condition has two moves.
    bits, targets : (q,)
        The digit of each test of a tree, and the first sum of its feature's moves, -1 for none.
    mates, groups : (q,), (q, 2)
        ``mates[groups[q, 0]:groups[q, 1]]`` are the tests of the same feature in the same tree.
    """

    ways: Ints
    ends: Ints
    twice: Bytes
    bits: Ints
    targets: Ints
    mates: Ints
    groups: Integers

    @classmethod
    def of(cls, patterns: Patterns, moves: Moves) -> MovedTests:
        """Return the outcomes of the tests of patterns at the values of moves."""
        own, ways, features = len(patterns.conditions), len(moves.conditions), len(moves.n_codes)
        moved = patterns.program.feature[patterns.used] < features
        low = np.where(moved, own + moves.test[patterns.used], np.arange(own))
        two = np.append(moves.targets[:, 1], 0)[patterns.program.feature[patterns.used]]
        target = np.append(moves.targets[:, 0], -1)[patterns.test_feature]
        key = patterns.test_tree * (features + 1) + patterns.test_feature
        mates = np.argsort(key, kind="stable")
        groups = [np.searchsorted(key[mates], key, side=side) for side in ("left", "right")]
        return cls(
            right_ranges(moves.conditions, moves.n_codes),
            np.stack([low, np.where(moved, low + ways, low)], axis=1).astype(np.int32),
            two.astype(np.uint8),
            patterns.test_bit.astype(np.int32),
            target.astype(np.int32),
            mates.astype(np.int32),
            np.ascontiguousarray(np.stack(groups, axis=1)),
        )
