"""Arguments of the kernels: trees as flat arrays, codes of rows and grid points, leaves as boxes of cells.

Each number is compared with the thresholds of its column once: its *code* is its position among them, and the
tests of nodes compare codes. A *slot* is a leaf together with a set of free features. The *family* lists
the sets that some grid needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xxhash
from numpy.typing import NDArray

from paribus._contracts import Flags, Floats, Integers

Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]

# Columns of `Program.conditions`.
COLUMN, CUT, MISSING_LEFT, TABLE = range(4)
# Columns of `Program.entries`. TEST, ABOVE and UPS describe the parent node.
END, DEPTH, TEST, ABOVE, UPS, ACTIVE, SIDE, SLOT, NODE, MARGIN = range(10)
# Columns of `Program.deep_nodes`.
CODE, CUT_AT, FROM, BELOW = range(4)
# Which children of a node are leaves; rows are counted at leaves.
NEITHER, LEFT_COUNTED, RIGHT_COUNTED, BOTH_COUNTED = range(4)
FINE, COARSE = 16, 4  # equal cells per threshold in the table `CodeColumn.below`
BINS = 32  # maximum number of bins of a feature when occupied cells of pairs are marked
PORTION = 1 << 14  # nodes laid out at once, so that their arrays fit the CPU cache
FEW = 2_048  # maximum number of thresholds with a fine table, which must fit the L1 cache


def portions(nodes: int) -> Iterator[slice]:
    """Return an iterator over slices of nodes that are laid out at once."""
    return (slice(first, first + PORTION) for first in range(0, nodes, PORTION))


def expand_ranges(first: Integers | Ints | int, stop: Integers | Ints) -> tuple[Integers, Integers]:
    """Return the numbers of all ranges ``[first, stop)`` in order, preceded by the range of each number."""
    sizes = stop - first
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) + (first - np.cumsum(sizes) + sizes)[owner]


def member_starts(owner: Integers | Ints, owners: int) -> Integers:
    """Return where the members of each owner begin once sorted by owner, and the number of members."""
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=owners))])


@dataclass(frozen=True, eq=False)
class CodeColumn:
    """Conversion of the numbers of one encoding to codes.

    Attributes
    ----------
    encoding : int
        The encoding that the numbers come from.
    known : (k,)
        Sorted thresholds: the code of a number is the number of smaller thresholds, 0 to k. Of a nominal
        column, the sorted categories: the code of a category is its position, and k for an unknown one.
    is_nominal : bool
        Whether ``known`` are categories.
    scale, below : float, (cells + 2,)
        With ``c = int((x - known[0]) * scale)``, at least ``below[c]`` and at most ``below[c + 1]``
        thresholds are smaller than ``x``. Rounding is monotone, so these bounds are exact.
    """

    encoding: int
    known: Floats
    is_nominal: bool
    scale: float
    below: Ints

    @classmethod
    def of(cls, encoding: int, known: Floats, *, is_nominal: bool) -> CodeColumn:
        """Return a column with its table of cells."""
        cells = (FINE if len(known) <= FEW else COARSE) * len(known)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            span = known[-1] - known[0] if len(known) else np.nan
            scale = cells / span
        # There is a single cell if the span is not finite or too small to divide by.
        scale = float(scale) if np.isfinite(scale) and np.isfinite(span) and span > 0 else 0.0
        places = ((known - known[0]) * scale).astype(np.int64) if scale else np.zeros(len(known), np.int64)
        below = np.cumsum(np.bincount(places + 1, minlength=cells + 2))
        return cls(encoding, known, is_nominal, scale, below.astype(np.int32))

    @property
    def missing(self) -> int:
        """The code of a missing value, which is the largest code."""
        return len(self.known) + 1


class Coded:
    """Base of classes that test codes; those with the same columns share the codes of a block."""

    columns: tuple[CodeColumn, ...]

    @cached_property
    def code_key(self) -> bytes:
        """A digest of everything that codes depend on, other than the numbers."""
        digest = xxhash.xxh3_128()
        for column in self.columns:
            digest.update(repr((column.encoding, column.is_nominal, len(column.known))).encode())
            digest.update(column.known.tobytes())
        return digest.digest()


@dataclass(frozen=True, eq=False)
class FeatureSets:
    """Sets of features that may be free: the requested sets and all their subsets.

    Attributes
    ----------
    features : tuple of int
        Features in at least one set, as positions in the table.
    sets : tuple of frozenset
        The sets, as positions in ``features``; the first one is empty.
    step : (sets, features + 1)
        The union of a set with a feature, -1 if the union is not in the family. The last column represents
        all features outside ``features``.
    members : (sets, d)
        The features in each set, padded with -1.
    """

    features: tuple[int, ...]
    sets: tuple[frozenset[int], ...]
    step: Ints
    members: Ints

    @cached_property
    def parts(self) -> Ints:
        """The subsets of each set, ``(sets, 2**d)``, padded with the number of sets."""
        size = self.members.shape[1]
        parts = np.full((len(self.sets), 1 << size), len(self.sets), np.int32)
        for number in range(1 << size):
            chosen = self.members[:, [place for place in range(size) if number >> place & 1]]
            part = np.zeros(len(parts), np.int32)
            for feature in chosen.T:
                part = self.step[part, feature]
            parts[:, number] = np.where((chosen >= 0).all(axis=1), part, len(self.sets))
        return parts


@dataclass(frozen=True, eq=False)
class Program(Coded):
    """Tree ensemble laid out for one family of feature sets.

    Attributes
    ----------
    columns : tuple of CodeColumn
    columns_of : mapping
        The columns of each feature of the table.
    conditions : (c, 4)
        Tests, ordered by column and cut. COLUMN. CUT: the largest code that goes left. MISSING_LEFT: whether
        a missing value goes left. TABLE: where a test of categories begins in ``truth``, else -1.
    truth : (b,)
        Whether each code goes left, for tests of categories.
    feature : (c,)
        The feature of each test, as a position in the family; the number of its features for any other.
    entries : (e, 10)
        Nodes of each tree in preorder. END: the entry after its subtree. DEPTH. TEST: the condition of the
        parent. ABOVE: the number of sets active at the parent, 0 at a root. UPS: where their unions begin in
        ``up``. ACTIVE: the number of sets active at the node. SIDE: 1 for a right child. SLOT: the first slot
        of a leaf, -1 elsewhere. NODE: its row in ``value``. MARGIN: the margin of the tree, -1 for all.
    patterned : int
        Entries before this one are trees with few tests, evaluated by patterns of test outcomes.
    shallow : int
        Entries from ``patterned`` to this one are trees evaluated with masks of rows, the rest with lists.
    up : (u,)
        Per inner node and active set, the position of its union with the tested feature among the sets
        that are active at the children; -1 if the union is not in the family.
    slot_set : (s,)
        The set of each slot.
    value : (n, k)
        Values of leaves, for one margin or for all.
    base : (m,)
        Baseline of each margin.
    family : FeatureSets
    """

    columns: tuple[CodeColumn, ...]
    columns_of: Mapping[int, tuple[int, ...]]
    conditions: Ints
    truth: Bytes
    feature: Ints
    entries: Ints
    patterned: int
    shallow: int
    up: Ints
    slot_set: Ints
    value: Floats
    base: Floats
    family: FeatureSets

    @property
    def nbytes(self) -> int:
        """Memory of the arrays and ``deep_nodes``, and an upper bound of `MaskSchedule` and `Patterns`."""
        arrays = (self.conditions, self.truth, self.feature, self.entries, self.up, self.slot_set, self.value)
        held = sum(array.nbytes for array in (*arrays, self.family.step, self.family.members))
        deep = 16 * (len(self.entries) - self.shallow)
        masked = self.shallow - self.patterned
        schedule = 12 * len(self.up) + 24 * self.n_slots + 8 * masked if masked else 0
        return held + deep + schedule + self._pattern_bytes

    @cached_property
    def _pattern_bytes(self) -> int:
        """Memory of patterns with their tables, and of the outcomes of tests for a chunk of rows."""
        if not self.patterned:
            return 0
        entries, total = self.entries[: self.patterned], len(self.conditions)
        below = entries[:, DEPTH] > 0
        tests = np.bincount(np.unique(np.cumsum(~below)[below] * total + entries[below, TEST]) // total)
        # A pattern has a leaf, counters, its values, and at most two tables per test.
        numbers = (2.0**tests * (5 + self.value.shape[1] * (1 + 2 * tests))).sum()
        return int(8 * numbers) + 24 * len(entries) + 4 * self.n_slots + 512 * total

    @property
    def mask_bytes(self) -> int:
        """Memory for counting rows with masks: masks of conditions, codes and nodes, and counts of slots."""
        masks = len(self.conditions) + int(self.n_codes.max(initial=0)) + 2 * self.levels * self.most
        return 128 * masks + 16 * self.n_slots if self.shallow > self.patterned else 0

    @property
    def n_slots(self) -> int:
        """Number of slots."""
        return len(self.slot_set)

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return len(self.base)

    @cached_property
    def kept(self) -> dict[str, Any]:
        """Objects that kernels derive from a program once, by name."""
        return {}

    @cached_property
    def n_codes(self) -> Ints:
        """Number of codes of each column."""
        return np.array([column.missing + 1 for column in self.columns], np.int32)

    @cached_property
    def owner(self) -> Ints:
        """The feature of each column, numbered as in ``feature``."""
        owner = np.zeros(len(self.columns), np.int32)
        owner[self.conditions[:, COLUMN]] = self.feature
        return owner

    @cached_property
    def deep_nodes(self) -> Ints:
        """The entries of trees that are evaluated with lists, ``(e - shallow, 4)``.

        CODE: the tested column, -1 at a leaf. CUT_AT: the largest code that goes left; the first slot of a
        leaf; the start of the table in ``truth`` for a test of categories. FROM: codes from this one on also
        go left; -1 for a test of categories. BELOW: the right child; the slot after those of a leaf. The left
        child is the next entry.
        """
        entries = self.entries[self.shallow :]
        nodes = np.full((len(entries), 4), -1, np.int32)
        for some in portions(len(entries)):
            slot = entries[some, SLOT]
            inner, leaf = (some.start + np.flatnonzero(flags) for flags in (slot < 0, slot >= 0))
            column, cut, missing_left, table = self.conditions[entries[inner + 1, TEST]].T
            nodes[inner, CODE] = column
            nodes[inner, CUT_AT] = np.where(table < 0, cut, table)
            nodes[inner, FROM] = np.where(table < 0, self.n_codes[column] - missing_left, -1)
            nodes[inner, BELOW] = entries[inner + 1, END] - self.shallow
            nodes[leaf, CUT_AT] = entries[leaf, SLOT]
            nodes[leaf, BELOW] = entries[leaf, SLOT] + entries[leaf, ACTIVE]
        return nodes

    @cached_property
    def deep_roots(self) -> Integers:
        """Positions of the roots in ``deep_nodes``."""
        return np.flatnonzero(self.entries[self.shallow :, DEPTH] == 0)

    @cached_property
    def condition_first(self) -> Integers:
        """Where the conditions of each column begin, ``(columns + 1,)``."""
        return np.searchsorted(self.conditions[:, COLUMN], np.arange(len(self.columns) + 1))

    @cached_property
    def levels(self) -> int:
        """Depth of the deepest tree plus one."""
        return int(self.entries[:, DEPTH].max(initial=0)) + 1

    @cached_property
    def most(self) -> int:
        """Maximum number of sets active at a node."""
        return int(self.entries[:, ACTIVE].max(initial=1))


@dataclass(frozen=True, eq=False)
class PointCodes:
    """Points of one grid, as codes.

    Attributes
    ----------
    row : (c,)
        The row of ``codes`` that each condition of the program tests, -1 for none.
    axis : (r,)
        The axis of each row.
    axis_first : (d + 1,)
        Where the points of each axis begin in ``codes``.
    codes : (r, points of all axes)
        Codes of the grid values, for each column of the features of the grid.
    size : int
        Number of points, the product of the axes.
    place : (g,), optional
        The position among these points of each point of the grid; None if the points are the same.
    """

    row: Ints
    axis: Ints
    axis_first: Ints
    codes: Ints
    size: int
    place: Integers | None = None

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.row.nbytes + self.codes.nbytes + (0 if self.place is None else self.place.nbytes)


def joined(grids: Sequence[PointCodes]) -> PointCodes:
    """Return one grid with the points of several grids of one axis and the same feature, in their order."""
    codes = np.concatenate([points.codes for points in grids], axis=1)
    size = sum(points.size for points in grids)
    return replace(grids[0], axis_first=np.array([0, size], np.int32), codes=codes, size=size, place=None)


def category_codes(column: CodeColumn, numbers: Floats) -> Ints:
    """Return the codes of numbers in a nominal column."""
    place = np.searchsorted(column.known, numbers)
    found = np.append(column.known, np.nan)[place] == numbers
    codes = np.where(found, place, len(column.known))
    return np.where(np.isnan(numbers), column.missing, codes).astype(np.int32)


# Columns of `Walk.nodes`.
AT, LAST, GAP, CATEGORIES, LEFT, RIGHT = range(6)
LANE = 21  # bits of each of three codes in a word; the highest bit receives the result of a test
MOST_CODES = (1 << (LANE - 1)) - 2


@dataclass(frozen=True, eq=False)
class Moves:
    """Values between which features are moved, and the outcomes of a program's tests at these values.

    Each row has two codes per feature, for its lower and its upper value: the position of the value plus 1,
    or 0 if the feature is not moved.

    Attributes
    ----------
    n_codes : (f,)
        Number of codes of each feature of the family, including 0.
    conditions, truth : (d, 4), (b,)
        The distinct outcomes of tests at the values of a feature, in the format of a `Program` whose columns
        are the features and whose codes are those of their values.
    test : (c,)
        The row of ``conditions`` for each condition of the program; not read if its feature is not moved.
    targets : (f, 2)
        Where the moves of a feature are written in the result, and whether it has two moves. Two moves lead
        from the row's own value to the lower and to the upper one; a single move from the lower to the upper.
    own : bool
        Whether the margins of unchanged rows come first in the result.
    size : int
        Number of results per row and margin.
    """

    n_codes: Ints
    conditions: Ints
    truth: Bytes
    test: Ints
    targets: Ints
    own: bool
    size: int

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.conditions.nbytes + self.truth.nbytes + self.test.nbytes + self.targets.nbytes


@dataclass(frozen=True, eq=False)
class Walk(Coded):
    """Tree ensemble laid out for following each row separately.

    Attributes
    ----------
    columns : tuple of CodeColumn
    owner : (c,)
        The feature of each column, as a position among the moved features; -1 for any other.
    features : int
        Number of moved features.
    nodes : (n, 6)
        AT: the column a node tests, -1 at a leaf. LAST: the largest code that goes left. GAP: the code of a
        missing value if that goes left, else -1. CATEGORIES: where the table of a test of categories begins
        in ``truth``, else -1. LEFT and RIGHT: the children.
    truth : (b,)
        Whether each code goes left, for tests of categories.
    roots, margin : (t,)
        The root of each tree, and the margin it adds to, -1 for all.
    value : (n, k)
        Values of leaves, for one margin or for all.
    base : (m,)
        Baseline of each margin.
    """

    columns: tuple[CodeColumn, ...]
    owner: Ints
    features: int
    nodes: Ints
    truth: Bytes
    roots: Ints
    margin: Ints
    value: Floats
    base: Floats

    @cached_property
    def packed(self) -> Packed:
        """The nodes in the format of the compiled kernels."""
        return Packed.of(self)


@dataclass(frozen=True, eq=False)
class Packed:
    """Nodes that test three codes at once: a row's own code, and those of its lower and upper value.

    A word holds the three codes, each with its highest bit set. A test subtracts one more than the largest
    code that goes left from each of them; the highest bit remains set where a code goes right. A column can
    have a second word in which a missing value has the smallest code, for nodes where missing goes left.

    Attributes
    ----------
    words : (w, 2)
        The column of each word, and whether a missing value has the smallest code in it.
    word : (n,)
        The word a node tests, -1 at a leaf.
    cut : (n,)
        The subtracted number; 0 for a test of categories and at a leaf.
    table : (n,)
        Where the table of a test of categories begins in ``Walk.truth``, else -1.
    child : (2 n,)
        The left and the right child of each node; a leaf is its own child.
    even : (t,)
        Depth of the shallowest leaf of each tree.
    """

    words: Ints
    word: Ints
    cut: NDArray[np.uint64]
    table: Ints
    child: Ints
    even: Ints

    @classmethod
    def of(cls, walk: Walk) -> Packed:
        """Return the nodes of a walk in this format."""
        column, last, gap, table, left, right = walk.nodes.T
        leaf, first = column < 0, (gap >= 0) & (table < 0)  # tables keep the code of missing
        key = np.where(leaf, -1, 2 * column + first)
        used = np.unique(key[~leaf])
        thrice = np.uint64(1 | 1 << LANE | 1 << 2 * LANE)
        cut = np.where(leaf | (table >= 0), 0, last + 1 + first).astype(np.uint64) * thrice
        own = np.arange(len(column))
        child = np.stack([np.where(leaf, own, left), np.where(leaf, own, right)], axis=1)
        return cls(
            np.stack([used // 2, used % 2], axis=1).astype(np.int32),
            np.where(leaf, -1, np.searchsorted(used, key)).astype(np.int32),
            cut,
            np.ascontiguousarray(table),
            child.astype(np.int32).reshape(-1),
            _first_leaf_depths(walk.roots, leaf, child),
        )


def _first_leaf_depths(roots: Ints, leaf: Flags, child: Integers) -> Ints:
    """Return the depth of the shallowest leaf of each tree."""
    depths = np.zeros(len(roots), np.int32)
    trees, level = np.arange(len(roots)), roots.astype(np.int64)
    while len(trees):
        ended = np.unique(trees[leaf[level]])
        going = ~np.isin(trees, ended)
        trees, level = np.repeat(trees[going], 2), child[level[going]].ravel()
        depths[np.unique(trees)] += 1
    return depths


@dataclass(frozen=True, eq=False)
class Layout:
    """Nodes in preorder, and the sets that are active at each node.

    A set of the family is active at a node if all its features are tested on the path from the root.
    ``node``, ``parent`` (an entry, -1 at a root), ``depth``, ``side``, ``end`` and ``active`` are per entry.
    ``up_first`` of an inner node is where its part of ``up`` begins. ``slot_first`` of a leaf is where its
    part of ``slot_set`` begins, -1 elsewhere.
    """

    node: Ints
    parent: Ints
    depth: Ints
    side: Ints
    end: Ints
    active: Ints
    up_first: Integers
    up: Ints
    slot_first: Integers
    slot_set: Ints


@dataclass(frozen=True, eq=False)
class Runs:
    """Lists of runs ``[begin, end)`` of consecutive cells: list ``i`` is ``runs[first[i]:stop[i]]``."""

    first: Integers
    stop: Integers
    runs: Ints


@dataclass(frozen=True, eq=False)
class Items:
    """Pairs of a leaf and a group of features that the leaf tests, ordered by leaf.

    Attributes
    ----------
    first : (leaves + 1,)
        Where the items of each leaf begin.
    group : (items,)
        The group of each item.
    places : (items, d)
        The features of the group, as positions among those the leaf tests; padded with -1.
    leaf_first : (leaves + 1,)
        Where the features of each leaf begin, as in `Boxes`.
    weights : (items, 3, k) or None
        For pairs: the amounts a leaf adds where a row passes the tests of the first feature, of the second,
        and of both.
    """

    first: Integers
    group: Ints
    places: Ints
    leaf_first: Integers
    weights: Floats | None = None

    def grouped(self, groups: int) -> Grouped:
        """Return the items ordered by group, for a number of groups."""
        order = np.argsort(self.group, kind="stable")
        first = np.searchsorted(self.group[order], np.arange(groups + 1))
        leaf = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))[order]
        places = self.places[order].astype(np.int64)
        places = np.where(places < 0, -1, places + self.leaf_first[leaf][:, None])
        return Grouped(order, first, leaf, np.ascontiguousarray(places))


@dataclass(frozen=True, eq=False)
class Grouped:
    """Items ordered by group.

    Attributes
    ----------
    order : (items,)
        Positions in `Items`.
    first : (groups + 1,)
        Where the items of each group begin.
    leaf : (items,)
        The leaf of each item.
    places : (items, d)
        The features of each item, as positions in ``Boxes.feature``; padded with -1.
    """

    order: Integers
    first: Integers
    leaf: Integers
    places: Integers


@dataclass(frozen=True, eq=False)
class CellPoints:
    """Points over which functions of pairs of features are averaged: counts of rows per cell, or rows.

    Attributes
    ----------
    pairs : (t, 2)
        Pairs of features.
    size : (f,)
        Number of cells of each feature.
    counts : (n,) or None
        The weight of the rows in each pair of cells, for all pairs in order; None if rows are used instead.
    first : (t,)
        Where the counts of each pair begin.
    cells : (f, i)
        The cells of each row.
    weight : (i,)
        The weight of each row.
    total : float
        The weight of all rows.
    """

    pairs: Ints
    size: Ints
    counts: Floats | None
    first: Integers
    cells: Ints
    weight: Floats
    total: float


@dataclass(frozen=True, eq=False)
class Boxes:
    """Leaves as boxes of cells.

    Attributes
    ----------
    first : (leaves + 1,)
        Where the features of each leaf begin.
    feature : (t,)
        The features a leaf tests, as positions in the family.
    sides : Runs
        The cells that pass the tests of each of these features.
    value : (leaves, k)
        The value of each leaf.
    margin : (leaves,)
        The margin each leaf adds to, -1 for all.
    """

    first: Integers
    feature: Ints
    sides: Runs
    value: Floats
    margin: Ints

    def sizes(self, cells: Ints) -> Ints:
        """Return numbers of cells per feature that cover the cells ``(f, i)`` of rows and all runs."""
        size: Ints = cells.max(axis=1, initial=0).astype(np.int32) + np.int32(1)
        some = self.sides.stop > self.sides.first
        np.maximum.at(size, self.feature[some], self.sides.runs[self.sides.stop[some] - 1, 1])
        return size


def goes_left(program: Program, condition: int, codes: Ints | Integers) -> Flags:
    """Return which codes of the condition's column go left."""
    number, cut, missing_left, table = program.conditions[condition]
    if table >= 0:
        return np.asarray(program.truth[table + codes] > 0)
    missing = program.columns[number].missing
    return np.asarray((codes <= cut) | ((codes == missing) & (missing_left > 0)))


def runs_of(met: Flags) -> list[tuple[int, int]]:
    """Return the runs ``(begin, end)`` of consecutive flags that are set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], met, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
