"""Which points of a grid reach which leaves, in NumPy: found once for all rows, level by level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._kernels.program import (
    COLUMN,
    CUT,
    DEPTH,
    MARGIN,
    MISSING_LEFT,
    NODE,
    SIDE,
    SLOT,
    TABLE,
    TEST,
    UPS,
    Ints,
    PointCodes,
    Program,
)

AT_ONCE = 1 << 22  # points times entries that are held at once, a byte each
ENTRIES = 1 << 15  # entries of whole trees that are followed together, at least


@dataclass(frozen=True, eq=False)
class Reached:
    """Some trees, and which points of a grid reach the entries that test one of its features.

    Attributes
    ----------
    first : int
        The first entry of the trees in the program.
    entries : (e, 10)
    holder : (e,)
        Per entry the last on the way that tests a feature of the grid, as a row of ``reach``, -1 for none.
    tag : (e,)
        Per entry the active set of the grid's features that were tested on the way.
    reach : (h, points of all axes)
        Which points pass those tests, axis by axis.
    axis_first : (d + 1,)
        Where the points of each axis begin.
    """

    first: int
    entries: Ints
    holder: Integers
    tag: Integers
    reach: Flags
    axis_first: Ints

    def products(self) -> Iterator[tuple[int, Flags]]:
        """Yield which points of the whole grid reach, ``(some, g)``, with the position of the first."""
        size = prod(int(n) for n in np.diff(self.axis_first))
        step = max(1, AT_ONCE // max(1, size))
        for first in range(0, len(self.reach), step):
            some = self.reach[first : first + step]
            reached = np.ones((len(some), 1), dtype=bool)
            for begin, end in zip(self.axis_first[:-1], self.axis_first[1:], strict=True):
                reached = (reached[:, :, None] & some[:, None, begin:end]).reshape(len(some), -1)
            yield first, reached


def reached(program: Program, entries: Ints, points: PointCodes) -> Iterator[Reached]:
    """Yield for some trees after others which points of a grid reach their entries."""
    for begin, end in batches(entries, ENTRIES):
        yield _reached(program, entries[begin:end], points, begin)


def _reached(program: Program, entries: Ints, points: PointCodes, first: int) -> Reached:
    depth, test = entries[:, DEPTH], entries[:, TEST]
    row = np.where(depth > 0, points.row[test] if len(points.row) else -1, -1)
    tests = np.flatnonzero(row >= 0)
    holder, tag = np.full(len(entries), -1, np.int64), np.zeros(len(entries), np.int64)
    reach = _passed(program, entries[tests], points)
    holder[tests] = np.arange(len(tests))
    above = np.flatnonzero(depth == 0)
    for level, place in levels(entries):
        parent, above = above[place], level
        tag[level] = tag[parent]
        own = holder[level] >= 0
        holder[level[~own]] = holder[parent[~own]]
        here, parent = level[own], parent[own]
        tag[here] = program.up[entries[here, UPS] + tag[here]]
        inside = holder[parent] >= 0
        reach[holder[here[inside]]] &= reach[holder[parent[inside]]]
    return Reached(first, entries, holder, tag, reach, points.axis_first)


def go_left(program: Program, conditions: Ints | Integers, codes: Ints) -> Flags:
    """Return which codes ``(c, g)`` of the columns that conditions are about go left."""
    column, cut, missing_left, table = program.conditions[conditions][:, [COLUMN, CUT, MISSING_LEFT, TABLE]].T
    left = (codes <= cut[:, None]) | (codes >= (program.n_codes[column] - missing_left)[:, None])
    listed = np.flatnonzero(table >= 0)
    if len(listed):
        left[listed] = program.truth[table[listed, None] + codes[listed]] > 0
    return np.asarray(left)


def _passed(program: Program, entries: Ints, points: PointCodes) -> Flags:
    """Return which points pass the tests that lead to entries; those of other axes do."""
    row = points.row[entries[:, TEST]]
    left = go_left(program, entries[:, TEST], points.codes[row])
    axis = np.repeat(np.arange(len(points.axis_first) - 1), np.diff(points.axis_first))
    return np.asarray((left != (entries[:, SIDE] > 0)[:, None]) | (axis != points.axis[row][:, None]))


def batches(entries: Ints, size: int) -> Iterator[tuple[int, int]]:
    """Yield where some trees begin and end, of about ``size`` entries or one tree."""
    roots = np.flatnonzero(entries[:, DEPTH] == 0)
    chosen = roots[np.flatnonzero(np.diff(roots // size, prepend=-1))]
    yield from pairwise([*chosen.tolist(), len(entries)])


def levels(entries: Ints) -> Iterator[tuple[Integers, Integers]]:
    """Yield the entries of each level of some trees, with their parents as positions in the level above."""
    depth = entries[:, DEPTH]
    levels = np.split(np.argsort(depth, kind="stable"), np.cumsum(np.bincount(depth))[:-1])
    yield levels[0], np.arange(len(levels[0]))  # roots stand above themselves
    for above, level in pairwise(levels):
        yield level, np.searchsorted(above, level) - 1


def changes(program: Program, entries: Ints, points: PointCodes, start: int) -> tuple[Ints, Ints]:
    """Return where each leaf begins and ends to be reached along a grid whose first point is ``start``.

    ``visits (v, 5)`` are leaves that test a feature of the grid, reached by a point or not, because rows that
    reach one by themselves leave it: the active set, the first point, where its edges begin and end, and the
    entry. ``edges (h, 2)`` are points, and 1 where a leaf begins to be reached or -1 where it ends.
    """
    visits, found, begun = [np.empty((0, 5), np.int64)], [np.empty((0, 2), np.int32)], 0
    for trees in reached(program, entries, points):
        runs = [np.full(1, begun)]
        for _, reach in trees.products():
            edges, run = _edges(reach, start)
            found.append(edges)
            runs.append(runs[-1][-1] + run[1:])
        run = np.concatenate(runs)
        begun = int(run[-1])
        leaf = np.flatnonzero((trees.entries[:, SLOT] >= 0) & (trees.tag > 0))
        last, first = trees.holder[leaf], np.full(len(leaf), start)
        columns = trees.tag[leaf], first, run[last], run[last + 1], trees.first + leaf
        visits.append(np.stack(columns, axis=1))
    return np.concatenate(visits).astype(np.int32), np.concatenate(found)


def _edges(reach: Flags, start: int) -> tuple[Ints, Integers]:
    """Return the points where reaching begins or ends, row by row, and where the edges of each row begin."""
    change = np.diff(reach.view(np.int8), axis=1, prepend=np.int8(0))
    row, at = np.nonzero(change)
    edges = np.stack([start + at, change[row, at]], axis=1).astype(np.int32)
    return edges, np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(reach)))])


def average(program: Program, points: PointCodes, share: Floats) -> Floats:
    """Return the average margins at each point, ``(m, g)``, without the baseline; ``share`` is per slot."""
    averages, plain = np.zeros((program.n_margins, points.size)), np.zeros((1, program.n_margins))
    for trees in reached(program, program.entries, points):
        leaf = np.flatnonzero(trees.entries[:, SLOT] >= 0)
        last = np.where(trees.tag[leaf] > 0, trees.holder[leaf], len(trees.reach))  # the last for no test
        weight = share[trees.entries[leaf, SLOT] + trees.tag[leaf]]
        amounts = _amounts(program, trees.first + leaf, last, weight, len(trees.reach) + 1)
        plain += amounts[-1:]
        for first, reach in trees.products():
            some = amounts[first : first + len(reach)]
            averages += np.einsum("hm,hg->mg", some, reach.astype(np.float64))
    return averages + plain.T


def _amounts(program: Program, leaf: Integers, last: Integers, weight: Floats, size: int) -> Floats:
    """Return what leaves of some weight add to each margin, summed by their last tests, ``(h, m)``."""
    margins, own, node = program.n_margins, program.entries[leaf, MARGIN], program.entries[leaf, NODE]
    amounts = np.zeros(size * margins)
    for k in range(program.value.shape[1]):
        at = last * margins + np.where(own < 0, k, own)
        amounts += np.bincount(at, weight * program.value[node, k], size * margins)
    return amounts.reshape(size, margins)
