"""What the kernels are given: trees as flat arrays, with everything already decided that rows do not decide.

Numbers are compared once: each becomes the *code* of its place among the thresholds of its column, and
every test is then one of codes. A *slot* is a leaf together with a set of features that are free, of which
the *family* lists those that some question needs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from paribus.contracts import Flags, Floats, Integers

Ints = NDArray[np.int32]
Bytes = NDArray[np.uint8]

# Columns of `Program.conditions`.
COLUMN, CUT, MISSING_LEFT, TABLE = range(4)
# Columns of `Program.entries`. TEST, ABOVE and UPS are those of the node above.
END, DEPTH, TEST, ABOVE, UPS, ACTIVE, SIDE, SLOT, NODE, MARGIN = range(10)
FINE, COARSE = 16, 4  # even cells per threshold in the table that tells nearly where a number is
FEW = 2_048  # thresholds whose table may be fine: it should stay in the nearest cache


@dataclass(frozen=True, eq=False)
class CodeColumn:
    """How the numbers of one encoding become codes.

    Attributes
    ----------
    encoding : int
        The encoding the numbers come from.
    known : (k,)
        Sorted thresholds: the code of a number is how many of them are smaller, 0 to k. Of levels, the
        sorted levels: the code of a level is its place, k that of any other.
    levels : bool
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
class Family:
    """The sets of features that may be free: whatever is asked for, and every part of it.

    Attributes
    ----------
    features : tuple of int
        Features that some set contains, as positions in the table.
    sets : tuple of frozenset
        The sets, as places in ``features``; the first is empty.
    step : (sets, features + 1)
        The union of a set with a feature, -1 where nothing asks for it; the last column stands for every
        feature that is not asked about.
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
        value does; or, instead of a cut, where its table of levels begins in ``truth``, else -1.
    truth : (b,)
        Whether each code goes left, for tests of levels.
    feature : (c,)
        The feature a test is about, as a place in the family, or the number of those for any other.
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
    family: Family

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
class Points:
    """The points of one question, as codes.

    Attributes
    ----------
    row : (c,)
        The row of ``codes`` that each condition of the program is about, -1 for none.
    axis : (r,)
        The axis of each row.
    axis_first : (d + 1,)
        Where the points of each axis begin in ``codes``.
    codes : (r, points of all axes)
        Of the columns that belong to the features asked about.
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
    """Return the codes of numbers of levels."""
    place = np.searchsorted(column.known, numbers)
    found = np.append(column.known, np.nan)[place] == numbers
    codes = np.where(found, place, len(column.known))
    return np.where(np.isnan(numbers), column.missing, codes).astype(np.int32)


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
        Its features, as places among those the leaf tests; -1 where it has fewer than the largest group.
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
        The features a leaf tests, as places in the family.
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
    """Tell which codes of the condition's column go left."""
    number, cut, missing_left, table = program.conditions[condition]
    if table >= 0:
        return np.asarray(program.truth[table + codes] > 0)
    missing = program.columns[number].missing
    return np.asarray((codes <= cut) | ((codes == missing) & (missing_left > 0)))


def runs_of(met: Flags) -> list[tuple[int, int]]:
    """Return where flags are set, as runs."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], met, [False]]).astype(np.int8)))
    return [(int(begin), int(end)) for begin, end in edges.reshape(-1, 2)]
