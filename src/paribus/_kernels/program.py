"""What the kernels are given: trees as flat arrays, with everything already decided that rows do not decide.

Numbers are compared once: each becomes the *code* of its position among the thresholds of its column, and
every test is then one of codes. A *slot* is a leaf together with a set of features that are free, of which
the *family* lists those that some grid needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Flags, Floats, Integers

Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]

# Columns of `Program.conditions`.
COLUMN, CUT, MISSING_LEFT, TABLE = range(4)
# Columns of `Program.entries`. TEST, ABOVE and UPS are those of the node above.
END, DEPTH, TEST, ABOVE, UPS, ACTIVE, SIDE, SLOT, NODE, MARGIN = range(10)
FINE, COARSE = 16, 4  # even cells per threshold in the table that says nearly where a number is
BINS = 32  # of a feature at most, where pairs of features are marked
FEW = 2_048  # thresholds whose table may be fine: it should stay in the nearest cache


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
    levels: bool
    scale: float
    below: Ints

    @classmethod
    def of(cls, encoding: int, known: Floats, *, levels: bool) -> CodeColumn:
        """Prepare the table of cells."""
        cells = (FINE if len(known) <= FEW else COARSE) * len(known)
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            span = known[-1] - known[0] if len(known) else np.nan
            scale = cells / span
        # A span that is no number, or too small to divide by, has a single cell.
        scale = float(scale) if np.isfinite(scale) and np.isfinite(span) and span > 0 else 0.0
        places = ((known - known[0]) * scale).astype(np.int64) if scale else np.zeros(len(known), np.int64)
        below = np.cumsum(np.bincount(places + 1, minlength=cells + 2))
        return cls(encoding, known, levels, scale, below.astype(np.int32))

    @property
    def missing(self) -> int:
        """The code of a missing value, the largest."""
        return len(self.known) + 1


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


@dataclass(frozen=True, eq=False)
class Program:
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
    shallow : int
        Entries before this one belong to trees that are walked with masks of rows, the rest with lists.
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
    shallow: int
    up: Ints
    slot_set: Ints
    value: Floats
    base: Floats
    family: FeatureSets

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        arrays = (self.conditions, self.truth, self.feature, self.entries, self.up, self.slot_set, self.value)
        return sum(array.nbytes for array in (*arrays, self.family.step, self.family.members))

    @property
    def n_slots(self) -> int:
        """Number of slots."""
        return len(self.slot_set)

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return len(self.base)

    @cached_property
    def n_codes(self) -> Ints:
        """Number of codes of each column."""
        return np.array([column.missing + 1 for column in self.columns], np.int32)

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
    """

    row: Ints
    axis: Ints
    axis_first: Ints
    codes: Ints
    size: int

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.row.nbytes + self.codes.nbytes


def level_codes(column: CodeColumn, numbers: Floats) -> Ints:
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
class Walk:
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
    """

    first: Integers
    group: Ints
    places: Ints


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
