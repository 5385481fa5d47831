"""What the kernels are given: trees as flat arrays, with everything already decided that rows do not decide.

Numbers are compared once: each becomes the *code* of its position among the thresholds of its column, and
every test is then one of codes. A *slot* is a leaf together with a set of features that are free, of which
the *family* lists those that some grid needs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
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
# Columns of `Program.entries`. TEST, ABOVE and UPS are those of the node above.
END, DEPTH, TEST, ABOVE, UPS, ACTIVE, SIDE, SLOT, NODE, MARGIN = range(10)
# Columns of `Program.deep_nodes`.
CODE, CUT_AT, FROM, BELOW = range(4)
# Which children of a node are leaves, whose rows are counted.
NEITHER, LEFT_COUNTED, RIGHT_COUNTED, BOTH_COUNTED = range(4)
FINE, COARSE = 16, 4  # even cells per threshold in the table that says nearly where a number is
BINS = 32  # of a feature at most, where pairs of features are marked
PORTION = 1 << 14  # nodes laid out at once: all that is known of them should stay in a cache
FEW = 2_048  # thresholds whose table may be fine: it should stay in the nearest cache


def portions(nodes: int) -> Iterator[slice]:
    """Yield the positions of nodes, as many as are laid out at once."""
    return (slice(first, first + PORTION) for first in range(0, nodes, PORTION))


@dataclass(frozen=True, eq=False)
class CodeColumn:
    """How the numbers of one encoding become codes.

    Attributes
    ----------
    encoding : int
        The encoding the numbers come from.
    known : (k,)
        Sorted thresholds: the code of a number is how many of them are smaller, 0 to k. Of categories, the
        sorted categories: the code of a category is its position, k that of any other.
    categories : bool
        Which of the two.
    scale, below : float, (cells + 2,)
        ``below[int((x - known[0]) * scale)]`` thresholds are certainly smaller than ``x``, and no more
        than the next entry can be. Rounding keeps the order of numbers, so this is exact.
    """

    encoding: int
    known: Floats
    is_nominal: bool
    scale: float
    below: Ints

    @classmethod
    def of(cls, encoding: int, known: Floats, *, is_nominal: bool) -> CodeColumn:
        """Prepare the table of cells."""
        cells = (FINE if len(known) <= FEW else COARSE) * len(known)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            span = known[-1] - known[0] if len(known) else np.nan
            scale = cells / span
        # A span that is no number, or too small to divide by, has a single cell.
        scale = float(scale) if np.isfinite(scale) and np.isfinite(span) and span > 0 else 0.0
        places = ((known - known[0]) * scale).astype(np.int64) if scale else np.zeros(len(known), np.int64)
        below = np.cumsum(np.bincount(places + 1, minlength=cells + 2))
        return cls(encoding, known, is_nominal, scale, below.astype(np.int32))

    @property
    def missing(self) -> int:
        """The code of a missing value, the largest."""
        return len(self.known) + 1


class Coded:
    """What compares codes: programs with the same columns share those of a block."""

    columns: tuple[CodeColumn, ...]

    @cached_property
    def code_key(self) -> bytes:
        """A digest of all that codes depend on besides the numbers."""
        digest = xxhash.xxh3_128()
        for column in self.columns:
            digest.update(repr((column.encoding, column.is_nominal, len(column.known))).encode())
            digest.update(column.known.tobytes())
        return digest.digest()


@dataclass(frozen=True, eq=False)
class FeatureSets:
    """The sets of features that may be free: whatever is requested, and every part of it.

    Attributes
    ----------
    features : tuple of int
        Features that some set contains, as positions in the table.
    sets : tuple of frozenset
        The sets, as positions in ``features``; the first is empty.
    step : (sets, features + 1)
        The union of a set with a feature, -1 where nothing requests it; the last column stands for every
        feature that is not requested.
    members : (sets, d)
        The features in each set, -1 where it has fewer than the largest.
    """

    features: tuple[int, ...]
    sets: tuple[frozenset[int], ...]
    step: Ints
    members: Ints

    @cached_property
    def parts(self) -> Ints:
        """The parts of each set, ``(sets, 2**d)``; the number of sets where it has fewer than the largest."""
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
    """An ensemble laid out for one family.

    Attributes
    ----------
    columns : tuple of CodeColumn
    columns_of : mapping
        The columns that belong to a feature of the table.
    conditions : (c, 4)
        Per test, ordered by column and cut: its column; the largest code that goes left; whether a missing
        value does; or, instead of a cut, where its table of categories begins in ``truth``, else -1.
    truth : (b,)
        Whether each code goes left, for tests of categories.
    feature : (c,)
        The feature a test is about, as a position in the family, or the number of those for any other.
    entries : (e, 10)
        Nodes of each tree in preorder. END: the entry after its subtree. DEPTH. TEST: the condition that
        leads here. ABOVE: how many sets were active there, 0 at a root. UPS: where their unions begin in
        ``up``. ACTIVE: how many sets are active here. SIDE: 1 on the right. SLOT: the first slot of a
        leaf, -1 elsewhere. NODE: its row in ``value``. MARGIN: what the tree adds to, -1 for all margins.
    patterned : int
        Entries before this one belong to trees of few tests, whose rows are known by their patterns.
    shallow : int
        Those from there to this one to trees that are walked with masks of rows, the rest with lists.
    up : (u,)
        Per entry and active set, where its union with the tested feature is active below.
    slot_set : (s,)
        The set of each slot.
    value : (n, k)
    base : (m,)
    family : Family
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
        """Memory of the arrays, of the nodes of deep trees, and of the flow of others at most."""
        arrays = (self.conditions, self.truth, self.feature, self.entries, self.up, self.slot_set, self.value)
        held = sum(array.nbytes for array in (*arrays, self.family.step, self.family.members))
        deep = 16 * (len(self.entries) - self.shallow)
        masked = self.shallow - self.patterned
        flow = 12 * len(self.up) + 24 * self.n_slots + 8 * masked if masked else 0
        return held + deep + flow + self._pattern_bytes

    @cached_property
    def _pattern_bytes(self) -> int:
        """Memory that patterns take with their tables, and how tests turn out for a chunk of rows."""
        if not self.patterned:
            return 0
        entries, total = self.entries[: self.patterned], len(self.conditions)
        below = entries[:, DEPTH] > 0
        tests = np.bincount(np.unique(np.cumsum(~below)[below] * total + entries[below, TEST]) // total)
        # A pattern has a leaf, some counters and its values, and of each test two tables at most.
        numbers = (2.0**tests * (5 + self.value.shape[1] * (1 + 2 * tests))).sum()
        return int(8 * numbers) + 24 * len(entries) + 4 * self.n_slots + 512 * total

    @property
    def mask_bytes(self) -> int:
        """Memory that counting rows with masks takes: of conditions and codes, and short counts of slots."""
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
        """What kernels make of a program once, by name."""
        return {}

    @cached_property
    def n_codes(self) -> Ints:
        """Number of codes of each column."""
        return np.array([column.missing + 1 for column in self.columns], np.int32)

    @cached_property
    def owner(self) -> Ints:
        """The feature each column belongs to, as in ``feature``."""
        owner = np.zeros(len(self.columns), np.int32)
        owner[self.conditions[:, COLUMN]] = self.feature
        return owner

    @cached_property
    def deep_nodes(self) -> Ints:
        """The entries of trees that are walked with lists, ``(e - shallow, 4)``.

        CODE: the column that is tested, -1 at a leaf. CUT_AT: the largest code that goes left; the first slot
        of a leaf. FROM: the code from which it goes left too; -1 where CUT_AT is where a table of categories
        begins. BELOW: the right child, the left one is next; the slot after those of a leaf.
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
        """The roots among them."""
        return np.flatnonzero(self.entries[self.shallow :, DEPTH] == 0)

    @cached_property
    def condition_first(self) -> Integers:
        """Where the conditions of each column begin, ``(columns + 1,)``."""
        return np.searchsorted(self.conditions[:, COLUMN], np.arange(len(self.columns) + 1))

    @cached_property
    def levels(self) -> int:
        """Depth of the deepest tree and one."""
        return int(self.entries[:, DEPTH].max(initial=0)) + 1

    @cached_property
    def most(self) -> int:
        """Sets active at once, at most."""
        return int(self.entries[:, ACTIVE].max(initial=1))


@dataclass(frozen=True, eq=False)
class PointCodes:
    """The points of one grid, as codes.

    Attributes
    ----------
    row : (c,)
        The row of ``codes`` that each condition of the program is about, -1 for none.
    axis : (r,)
        The axis of each row.
    axis_first : (d + 1,)
        Where the points of each axis begin in ``codes``.
    codes : (r, points of all axes)
        Of the columns that belong to the requested features.
    size : int
        Number of points, the product of the axes.
    place : (g,), optional
        Which of these points each point of the grid is; None where they are the same.
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


def category_codes(column: CodeColumn, numbers: Floats) -> Ints:
    """Return the codes of numbers of categories."""
    place = np.searchsorted(column.known, numbers)
    found = np.append(column.known, np.nan)[place] == numbers
    codes = np.where(found, place, len(column.known))
    return np.where(np.isnan(numbers), column.missing, codes).astype(np.int32)


# Columns of `Walk.nodes`.
AT, LAST, GAP, LEVELS, LEFT, RIGHT = range(6)
LANE = 21  # bits of a word that each of three codes takes; the highest stays free for the result of a test
MOST_CODES = (1 << (LANE - 1)) - 2


@dataclass(frozen=True, eq=False)
class Moves:
    """The values between which features are moved, and how the tests of a program turn out at them.

    A row has, of each feature, the positions of two of its values plus 1, or 0 twice where it is not moved.

    Attributes
    ----------
    n_codes : (f,)
        Number of such positions of each feature of the family, with 0.
    conditions, truth : (d, 4), (b,)
        The different ways in which tests of a feature turn out at its values, as those of a `Program` whose
        columns are the features and whose codes are the positions.
    test : (c,)
        Which of them each condition of the program is; not read where its feature is not moved.
    targets : (f, 2)
        Where in the result the moves of a feature are written, and whether these are two, from the row as it
        is to the lower value and to the upper one, instead of one from the lower to the upper.
    own : bool
        Whether the margins of rows as they are come first.
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
    """An ensemble laid out for rows that are followed one by one.

    Attributes
    ----------
    columns : tuple of CodeColumn
    owner : (c,)
        The feature each column belongs to, as a position among those that are moved; -1 for any other.
    features : int
        How many features are moved.
    nodes : (n, 6)
        AT: the column a node tests, -1 at a leaf. LAST: the largest code that goes left. GAP: the code of a
        missing value if that goes left, else -1. LEVELS: where the table of a test of categories begins in
        ``truth``, else -1. LEFT and RIGHT.
    truth : (b,)
        Whether each code goes left, for tests of categories.
    roots, margin : (t,)
        The root of each tree, and what it adds to, -1 for all margins.
    value : (n, k)
    base : (m,)
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
        """The nodes as the compiled kernels take them."""
        return Packed.of(self)


@dataclass(frozen=True, eq=False)
class Packed:
    """Nodes that test three codes at once: a row's own, and those of a move down and up.

    The three lie in one word, each with its highest bit set. Less a word with one more than the largest code
    that goes left in each, that bit stays where a code goes right. So that a missing value may go left, a
    column may have a second word, in which that is the smallest code and not the largest.

    Attributes
    ----------
    words : (w, 2)
        The column of each word, and whether missing comes first in it.
    word : (n,)
        The word a node tests, -1 at a leaf.
    cut : (n,)
        What is subtracted; 0 where a table of categories is evaluated.
    table : (n,)
        Where that begins, else -1.
    child : (2 n,)
        Where a row goes on the left and on the right; a leaf leads to itself.
    even : (t,)
        How far down the first leaf of each tree is.
    """

    words: Ints
    word: Ints
    cut: NDArray[np.uint64]
    table: Ints
    child: Ints
    even: Ints

    @classmethod
    def of(cls, walk: Walk) -> Packed:
        """Lay the nodes out."""
        column, last, gap, table, left, right = walk.nodes.T
        leaf, first = column < 0, (gap >= 0) & (table < 0)  # a table of categories knows codes as they are
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
            _even(walk.roots, leaf, child),
        )


def _even(roots: Ints, leaf: Flags, child: Integers) -> Ints:
    """Return how many nodes are above the first leaf of each tree."""
    even = np.zeros(len(roots), np.int32)
    trees, level = np.arange(len(roots)), roots.astype(np.int64)
    while len(trees):
        ended = np.unique(trees[leaf[level]])
        going = ~np.isin(trees, ended)
        trees, level = np.repeat(trees[going], 2), child[level[going]].ravel()
        even[np.unique(trees)] += 1
    return even


@dataclass(frozen=True, eq=False)
class Layout:
    """Nodes in preorder, and the sets that are active at each.

    A set of the family is active at a node when every feature in it was tested on the way. ``node``,
    ``parent`` (an entry, -1 at a root), ``depth``, ``side``, ``end``, ``active``: per entry; ``up_first``
    at inner nodes and ``slot_first`` at leaves say where its part of ``up`` and ``slot_set`` begins.
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
    """Leaves that test all of a group of features, leaf by leaf.

    Attributes
    ----------
    first : (leaves + 1,)
        Where the items of each leaf begin.
    group : (items,)
        The group of each.
    places : (items, d)
        Its features, as positions among those the leaf tests; -1 where it has fewer than the largest group.
    leaf_first : (leaves + 1,)
        Where the features of each leaf begin, as in `Boxes`.
    weights : (items, 3, k) or None
        Of pairs, what the leaf adds where the first feature's tests are passed, the second's, and both.
    """

    first: Integers
    group: Ints
    places: Ints
    leaf_first: Integers
    weights: Floats | None = None

    def grouped(self, groups: int) -> Grouped:
        """Return the same in the order of groups, of which there are so many."""
        order = np.argsort(self.group, kind="stable")
        first = np.searchsorted(self.group[order], np.arange(groups + 1))
        leaf = np.repeat(np.arange(len(self.first) - 1), np.diff(self.first))[order]
        places = self.places[order].astype(np.int64)
        places = np.where(places < 0, -1, places + self.leaf_first[leaf][:, None])
        return Grouped(order, first, leaf, np.ascontiguousarray(places))


@dataclass(frozen=True, eq=False)
class Grouped:
    """Items group by group: their numbers, where each group begins, their leaves and features in `Boxes`."""

    order: Integers
    first: Integers
    leaf: Integers
    places: Integers

    def of(self, group: int) -> slice:
        """Return where the items of a group are."""
        return slice(int(self.first[group]), int(self.first[group + 1]))


@dataclass(frozen=True, eq=False)
class CellPoints:
    """Where pairs of features are averaged over: rows in cells, as they were counted or one by one.

    Attributes
    ----------
    pairs : (t, 2)
    size : (f,)
        How many cells each feature has.
    counts : (n,) or None
        The weight of the rows in each pair of cells, pairs one after another; None where rows are given.
    first : (t,)
        Where the counts of each pair begin.
    cells : (f, i)
        The cells of the rows.
    weight : (i,)
        And their weights.
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
        For each of these the cells that pass.
    value : (leaves, k)
        What a leaf adds.
    margin : (leaves,)
        To which margin, -1 for all.
    """

    first: Integers
    feature: Ints
    sides: Runs
    value: Floats
    margin: Ints

    def sizes(self, cells: Ints) -> Ints:
        """Return for each feature a number of cells that contains those of rows ``(f, i)`` and every run."""
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
    """Return where flags are set, as runs."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], met, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
