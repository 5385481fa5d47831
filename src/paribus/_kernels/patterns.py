"""Trees in which few tests stand at many nodes, such as CatBoost's, of which each depth has a single one.

How the tests of such a tree turn out for a row, its *pattern*, is a small number that decides all: the leaf
it reaches, and those it would reach with features moved. What is counted or added up is a table over
patterns, made once for all rows, so that a row costs little more than to find its pattern.
"""

from __future__ import annotations

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
    Ints,
    Program,
)

# Tests of a tree: with fewer, masks of rows are as good; of more, the tables that have a cell for each way in
# which tests go left, go right or do not matter are larger than a block of rows.
LEAST_TESTS, MOST_TESTS = 3, 10
REPEATED = 1.5  # nodes per test at least: where each has a test of its own, leaves are few and patterns many
SPARE = 8  # patterns per leaf at most
MOST_CODES = 1 << 16  # of a column: codes are compared as short numbers


def has_few_tests(
    roots: Array, left: Array, right: Array, tree: Integers, test: Integers, inner: Flags
) -> Flags:
    """Return which trees have few tests for their nodes, and none twice on a path.

    ``tree`` and ``test`` are those of each node.
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
    """The trees of a program that have few tests.

    Attributes
    ----------
    conditions : (c, 4)
        Each test: its column, the first code that goes right, how many do, and where its table of categories
        begins, else -1.
    used : (c,)
        The conditions of the program that these are.
    first : (t + 1,)
        Where the tests of each tree begin in ``tests``.
    tests : (q,)
        Positions in ``conditions``. Whether a tree's first one goes right is the highest digit of a pattern.
    begin : (t + 1,)
        Where the patterns of each tree begin in ``leaf``.
    leaf : (p,)
        The entry that rows of a pattern reach.
    tree, bit : (e,)
        Of each entry its tree, and the digit of the test above it.
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
        """Find where each pattern leads."""
        entries, total = program.entries[: program.patterned], len(program.conditions)
        root = entries[:, DEPTH] == 0
        tree, roots = np.cumsum(root) - 1, np.flatnonzero(root)
        key = tree * total + entries[:, TEST]
        known = np.unique(key[~root])
        first = np.searchsorted(known, np.arange(len(roots) + 1) * total)
        used, tests = np.unique(known % total, return_inverse=True)
        # What a root has for the test above it is not read.
        bit = np.where(root, 0, 1 << np.maximum(first[tree + 1] - 1 - np.searchsorted(known, key), 0))
        count = 1 << np.diff(first)
        begin = np.concatenate([[0], np.cumsum(count)])
        owner = np.repeat(np.arange(len(roots)), count)
        at, pattern = roots[owner], np.arange(begin[-1]) - begin[owner]
        for _ in range(int(entries[:, DEPTH].max(initial=0))):
            inner = np.flatnonzero(entries[at, SLOT] < 0)
            left = at[inner] + 1
            at[inner] = np.where(pattern[inner] & bit[left], entries[left, END], left)
        tested = compared(program.conditions[used], program.n_codes)
        shorts = tests.astype(np.int32), begin, at.astype(np.int32), tree, bit.astype(np.int32)
        return cls(program, tested, used, first, *shorts)

    @cached_property
    def value(self) -> Floats:
        """What rows of each pattern get, ``(p, k)``."""
        return np.asarray(self.program.value[self.program.entries[self.leaf, NODE]])

    @cached_property
    def required(self) -> tuple[Ints, Ints]:
        """The tests that go right on the way to each entry, and those that go left: digits of a pattern."""
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
        """The margin each tree adds to, -1 for all."""
        entries = self.program.entries[: self.program.patterned]
        return np.asarray(entries[entries[:, DEPTH] == 0, MARGIN])

    @cached_property
    def test_tree(self) -> Integers:
        """The tree of each of ``tests``."""
        return np.repeat(np.arange(len(self.begin) - 1), np.diff(self.first))

    @cached_property
    def test_feature(self) -> Ints:
        """The feature of each of ``tests``, as a position in the family, or the number of those."""
        return self.program.feature[self.used[self.tests]]

    @cached_property
    def test_bit(self) -> Integers:
        """The digit of each of ``tests``."""
        tests = np.diff(self.first)
        return 1 << (np.repeat(self.first[1:], tests) - 1 - np.arange(len(self.tests)))

    @cached_property
    def slot_first(self) -> Integers:
        """Where the slots of each tree begin; they are the first of the program."""
        entries = self.program.entries[: self.program.patterned]
        active = np.where(entries[:, SLOT] >= 0, entries[:, ACTIVE], 0)
        per_tree = np.bincount(self.tree, active, minlength=len(self.begin) - 1).astype(np.int64)
        return np.concatenate([[0], np.cumsum(per_tree)])

    @cached_property
    def cells(self) -> Ints:
        """Where the coverage of each slot is among the marginals of a tree's patterns, ``(3,) * tests``.

        Each test goes left (0), goes right (1) or does not matter (2).
        """
        program, entries = self.program, self.program.entries[: self.program.patterned]
        leaves = np.flatnonzero(entries[:, SLOT] >= 0)
        leaf = np.repeat(leaves, entries[leaves, ACTIVE])
        free = program.family.members[program.slot_set[: len(leaf)]]
        tree = self.tree[leaf]
        right, left = (side[leaf] for side in self.required)
        cells = np.zeros(len(leaf), np.int32)
        tests = np.diff(self.first)
        feature = self.test_feature
        for number in range(int(tests.max(initial=0))):
            # Of a tree with fewer tests, what is read behind them is that of another.
            bit = (1 << np.maximum(tests - 1 - number, 0))[tree]
            own = feature[np.minimum(self.first[:-1] + number, len(feature) - 1)][tree]
            fixed = (free != own[:, None]).all(axis=1) & (number < tests)[tree]
            digit = np.where(fixed & (right & bit > 0), 1, np.where(fixed & (left & bit > 0), 0, 2))
            cells = np.where((number < tests)[tree], cells * 3 + digit, cells).astype(np.int32)
        return cells


def compared(conditions: Ints, n_codes: Ints) -> Ints:
    """Return conditions with the first code that goes right and how many do, or where a table begins."""
    column, cut, missing_left, table = conditions[:, [COLUMN, CUT, MISSING_LEFT, TABLE]].T
    # The code of a missing value is the largest.
    stop = n_codes[column] - (missing_left > 0)
    first, codes = (np.where(table < 0, bound, 0) for bound in (cut + 1, stop - cut - 1))
    return np.ascontiguousarray(np.stack([column, first, codes, table], axis=1), np.int32)


def patterns_of(program: Program) -> Patterns:
    """Return the trees of few tests, found once for a program."""
    if "patterns" not in program.kept:
        program.kept["patterns"] = Patterns.of(program)
    found: Patterns = program.kept["patterns"]
    return found
