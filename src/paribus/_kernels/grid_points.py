"""Grid points that reach the nodes of trees, changes of curves along grids, and average margins."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from weakref import WeakKeyDictionary

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._kernels.program import (
    ACTIVE,
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
    Bytes,
    Ints,
    PointCodes,
    Program,
    expand_ranges,
    member_starts,
)

AT_ONCE = 1 << 22  # maximum number of pairs of a point and an entry in memory, a byte each
ENTRIES = 1 << 15  # entries of complete trees in a batch, about


@dataclass(frozen=True, eq=False)
class Reached:
    """Batch of trees, and the points of a grid that reach their nodes.

    An entry *tests* a feature if the condition of its parent does.

    Attributes
    ----------
    first : int
        Position of the first entry of the trees among the entries of all trees.
    entries : (e, 10)
        The entries of the trees, as in `Program`.
    holder : (e,)
        Per entry, the last entry on its path that tests a feature of the grid, as a row of ``reach``; -1 if
        there is none.
    tag : (e,)
        Per entry, the active set of the features of the grid that are tested on its path.
    reach : (h, points of all axes)
        Which points pass the tests of the grid's features up to an entry, axis by axis.
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
        """Yield, for batches of rows of ``reach``, the first one and the flags of all points ``(h, g)``."""
        size = prod(int(n) for n in np.diff(self.axis_first))
        step = max(1, AT_ONCE // max(1, size))
        for first in range(0, len(self.reach), step):
            some = self.reach[first : first + step]
            reached = np.ones((len(some), 1), dtype=bool)
            for begin, end in zip(self.axis_first[:-1], self.axis_first[1:], strict=True):
                reached = (reached[:, :, None] & some[:, None, begin:end]).reshape(len(some), -1)
            yield first, reached

    def points_of(self, leaf: Integers) -> Flags:
        """Return which points of the grid reach some entries, ``(l, g)``."""
        some = np.concatenate([self.reach, np.ones((1, self.reach.shape[1]), bool)])[self.holder[leaf]]
        reached = np.ones((len(leaf), 1), dtype=bool)
        for begin, end in pairwise(self.axis_first):
            reached = (reached[:, :, None] & some[:, None, begin:end]).reshape(len(leaf), -1)
        return reached


def reached(program: Program, entries: Ints, points: PointCodes) -> Iterator[Reached]:
    """Yield, for batches of trees, which points of a grid reach their entries."""
    for begin, end in batches(entries, ENTRIES):
        yield _reached_in_batch(program, entries[begin:end], points, begin)


def _reached_in_batch(program: Program, entries: Ints, points: PointCodes, first: int) -> Reached:
    """Return which points of a grid reach the entries of a batch of trees."""
    depth, test = entries[:, DEPTH], entries[:, TEST]
    row = np.where(depth > 0, points.row[test] if len(points.row) else -1, -1)
    tests = np.flatnonzero(row >= 0)
    holder, tag = np.full(len(entries), -1, np.int64), np.zeros(len(entries), np.int64)
    reach = _points_passing(program, entries[tests], points)
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
    """Return which codes ``(c, g)`` go left; row ``c`` has codes of the column of condition ``c``."""
    column, cut, missing_left, table = program.conditions[conditions][:, [COLUMN, CUT, MISSING_LEFT, TABLE]].T
    left = (codes <= cut[:, None]) | (codes >= (program.n_codes[column] - missing_left)[:, None])
    listed = np.flatnonzero(table >= 0)
    if len(listed):
        left[listed] = program.truth[table[listed, None] + codes[listed]] > 0
    return np.asarray(left)


def _points_passing(program: Program, entries: Ints, points: PointCodes) -> Flags:
    """Return which points pass the tests of entries; points of other axes than that of the test pass."""
    row = points.row[entries[:, TEST]]
    left = go_left(program, entries[:, TEST], points.codes[row])
    axis = np.repeat(np.arange(len(points.axis_first) - 1), np.diff(points.axis_first))
    return np.asarray((left != (entries[:, SIDE] > 0)[:, None]) | (axis != points.axis[row][:, None]))


def batches(entries: Ints, size: int) -> Iterator[tuple[int, int]]:
    """Yield where batches of trees begin and end; a batch has about ``size`` entries or is one tree."""
    roots = np.flatnonzero(entries[:, DEPTH] == 0)
    chosen = roots[np.flatnonzero(np.diff(roots // size, prepend=-1))]
    yield from pairwise([*chosen.tolist(), len(entries)])


def levels(entries: Ints) -> Iterator[tuple[Integers, Integers]]:
    """Yield the entries of each depth, with their parents as positions among the entries one level above."""
    depth = entries[:, DEPTH]
    by_depth = np.split(np.argsort(depth, kind="stable"), np.cumsum(np.bincount(depth))[:-1])
    yield by_depth[0], np.arange(len(by_depth[0]))  # a root is its own parent
    for above, level in pairwise(by_depth):
        yield level, np.searchsorted(above, level) - 1


def changes(program: Program, entries: Ints, points: PointCodes, start: int) -> tuple[Ints, Ints]:
    """Return the points of a grid at which leaves start and stop being reached.

    ``visits (v, 5)`` are leaves with a test of the grid's features on their path: the active set, the first
    point of the grid ``start``, where its edges begin and end, and the entry. Leaves that no point reaches
    are included, because rows that reach them with their own values leave them on the grid. ``edges (h, 2)``
    are points, with 1 if a leaf is reached from there on, or -1 if it is no longer reached.
    """
    visits, found, begun = [np.empty((0, 5), np.int64)], [np.empty((0, 2), np.int32)], 0
    for trees in reached(program, entries, points):
        runs = [np.full(1, begun)]
        for _, reach in trees.products():
            edges, run = _edges_of_flags(reach, start)
            found.append(edges)
            runs.append(runs[-1][-1] + run[1:])
        run = np.concatenate(runs)
        begun = int(run[-1])
        leaf = np.flatnonzero((trees.entries[:, SLOT] >= 0) & (trees.tag > 0))
        last, first = trees.holder[leaf], np.full(len(leaf), start)
        columns = trees.tag[leaf], first, run[last], run[last + 1], trees.first + leaf
        visits.append(np.stack(columns, axis=1))
    return np.concatenate(visits).astype(np.int32), np.concatenate(found)


def _edges_of_flags(reach: Flags, start: int) -> tuple[Ints, Integers]:
    """Return the points at which flags change, row by row, and where the edges of each row begin."""
    change = np.diff(reach.view(np.int8), axis=1, prepend=np.int8(0))
    row, at = np.nonzero(change)
    edges = np.stack([start + at, change[row, at]], axis=1).astype(np.int32)
    return edges, member_starts(row, len(reach))


def average(program: Program, points: PointCodes, share: Floats) -> Floats:
    """Return the average margins at each point, ``(m, g)``, without the baseline; ``share`` is per slot."""
    averages, plain = np.zeros((program.n_margins, points.size)), np.zeros((1, program.n_margins))
    for trees in reached(program, program.entries, points):
        leaf = np.flatnonzero(trees.entries[:, SLOT] >= 0)
        # Leaves without a test of the grid's features are summed in the last row.
        last = np.where(trees.tag[leaf] > 0, trees.holder[leaf], len(trees.reach))
        weight = share[trees.entries[leaf, SLOT] + trees.tag[leaf]]
        amounts = np.zeros((len(trees.reach) + 1, program.n_margins))
        for margin, value in values_by_margin(program, trees.first + leaf):
            at = last * program.n_margins + margin
            amounts += np.bincount(at, weight * value, amounts.size).reshape(amounts.shape)
        plain += amounts[-1:]
        for first, reach in trees.products():
            some = amounts[first : first + len(reach)]
            averages += np.einsum("hm,hg->mg", some, reach.astype(np.float64))
    return averages + plain.T


VISITS = 1 << 20  # visits whose edges are weighted at once


@dataclass(frozen=True, eq=False)
class LastTests:
    """Entries that test each feature of the family, and the leaves below them.

    Attributes
    ----------
    tests, test_first : (t,), (f + 1,)
        Entries whose parent tests a feature, ordered by feature, and where those of each feature begin.
    above : (t,)
        The previous test of the same feature on the path, as a position in ``tests``; -1 if there is none.
    slots, slot_first : (s,), (f + 1,)
        Slots whose set is one feature, ordered by feature, and where those of each feature begin.
    leaf, last : (s,), (s,)
        The leaf of each slot, as an entry, and the last test of the feature on its path, as a position in
        ``tests``.
    """

    tests: Integers
    test_first: Integers
    above: Integers
    slots: Integers
    slot_first: Integers
    leaf: Integers
    last: Integers

    @classmethod
    def of(cls, program: Program) -> LastTests:
        """Return the last tests of a program, found by descending its trees level by level."""
        features = len(program.family.features)
        about = np.where(program.entries[:, DEPTH] > 0, features, -1)
        if len(program.conditions):
            about = np.where(about < 0, features, program.feature[program.entries[:, TEST]])
        above = np.full(len(about), -1, np.int64)
        slots: list[Integers] = []
        for begin, end in batches(program.entries, max(1, AT_ONCE // (8 * (features + 1)))):
            slots += _last_tests_in_batch(program, about, above, begin, end)
        tests = np.argsort(about, kind="stable")
        firsts = np.searchsorted(about[tests], np.arange(features + 1))
        tests = tests[: firsts[-1]]
        place = np.full(len(about) + 1, -1, np.int64)  # the last element is for -1, no test
        place[tests] = np.arange(len(tests))
        found = np.concatenate([np.empty((4, 0), np.int64), *slots], axis=1)
        feature, slot, leaf, last = found[:, np.lexsort((found[1], found[0]))]
        slot_first = np.searchsorted(feature, np.arange(features + 1))
        return cls(tests, firsts, place[above[tests]], slot, slot_first, leaf, place[last])


_KNOWN: WeakKeyDictionary[Program, LastTests] = WeakKeyDictionary()


def last_tests(program: Program) -> LastTests:
    """Return the last tests of a program, computed once; two threads at the same time find the same."""
    if program not in _KNOWN:
        _KNOWN[program] = LastTests.of(program)
    return _KNOWN[program]


def _last_tests_in_batch(
    program: Program, about: Integers, above: Integers, begin: int, end: int
) -> Iterator[Integers]:
    """Write the previous test of each entry of a batch; yield features, slots, leaves and last tests.

    ``about`` is the feature each entry tests.
    """
    features, entries = len(program.family.features), program.entries[begin:end]
    table = np.full((int((entries[:, DEPTH] == 0).sum()), features + 1), -1, np.int64)
    for level, parent in levels(entries):
        rows, table = np.arange(len(level)), table[parent]
        own = about[begin + level]
        above[begin + level] = np.where(own < features, table[rows, own], -1)
        table[rows, own] = begin + level
        leaf = np.flatnonzero(entries[level, SLOT] >= 0)
        first, active = entries[level[leaf]][:, [SLOT, ACTIVE]].T
        owner, slots = expand_ranges(first, first + active)
        sets = program.slot_set[slots]
        single = (sets >= 1) & (sets <= features)  # sets of one feature follow the empty set
        feature, row = sets[single] - 1, leaf[owner[single]]
        yield np.stack([feature, slots[single], begin + level[row], table[row, feature]])


def line_changes(
    program: Program, first: int, questions: Sequence[PointCodes], starts: Sequence[int]
) -> tuple[Ints, Ints]:
    """Return the points of grids with one axis at which leaves start and stop being reached.

    The result has the format of `changes`: visits of leaves from the entry ``first`` on, grid by grid, and
    edges. All trees are shallow.
    """
    known, grids = last_tests(program), []
    for points, start in zip(questions, starts, strict=True):
        tested = np.flatnonzero(points.row >= 0)
        if len(tested):
            feature = int(program.feature[tested[0]])
            tests = slice(*known.test_first[feature : feature + 2].tolist())
            slots = slice(*known.slot_first[feature : feature + 2].tolist())
            grids.append((points, start, tests, slots))
    if not grids:
        return np.empty((0, 5), np.int32), np.empty((0, 2), np.int32)
    begun = np.cumsum([0, *(tests.stop - tests.start for _, _, tests, _ in grids)])
    shift = [begin - tests.start for begin, (_, _, tests, _) in zip(begun, grids, strict=False)]
    width = max(points.size for points, *_ in grids)
    bits = _passed_bits(program, known, [(points, tests) for points, _, tests, _ in grids], width)
    above = [known.above[tests] for _, _, tests, _ in grids]
    _pass_above(
        bits, np.concatenate([np.where(a < 0, -1, a + by) for a, by in zip(above, shift, strict=True)])
    )
    owner = np.repeat([start for _, start, *_ in grids], np.diff(begun))
    edges, run = _edges_of_bits(bits, width, owner)
    visits = [
        (
            known.slots[slots],
            np.full(slots.stop - slots.start, start),
            known.leaf[slots],
            known.last[slots] + by,
        )
        for (_, start, _, slots), by in zip(grids, shift, strict=True)
    ]
    slot, point, leaf, last = (np.concatenate(part) for part in zip(*visits, strict=True))
    columns = slot - program.entries[leaf, SLOT], point, run[last], run[last + 1], leaf
    return np.stack(columns, axis=1)[leaf >= first].astype(np.int32), edges


def on_lines(program: Program, questions: Sequence[PointCodes]) -> bool:
    """Return whether all grids have one axis and all trees are shallow."""
    return program.shallow == len(program.entries) and all(len(one.axis_first) == 2 for one in questions)


def line_averages(program: Program, questions: Sequence[PointCodes], share: Floats) -> Floats:
    """Return the average margins ``(m, g)`` at grids for which `on_lines` is true, without the baseline."""
    starts = np.cumsum([0, *(points.size for points in questions)])
    visits, edges = line_changes(program, 0, questions, starts[:-1].tolist())
    return average_changes(program, visits, edges, starts[:-1], int(starts[-1]), share)


def _passed_bits(
    program: Program, known: LastTests, grids: list[tuple[PointCodes, slice]], width: int
) -> Bytes:
    """Return which points pass each test, eight bits in a byte; grids are padded with their last point."""
    bits, place = [], np.zeros(len(program.conditions), np.int64)
    for points, tests in grids:
        used = np.flatnonzero(points.row >= 0)
        place[used] = np.arange(len(used))
        codes = points.codes[:, np.minimum(np.arange(width), points.size - 1)]
        step = max(1, AT_ONCE // (8 * width))
        parts = [used[begin : begin + step] for begin in range(0, len(used), step)]
        left = [np.packbits(go_left(program, some, codes[points.row[some]]), axis=1) for some in parts]
        led = program.entries[known.tests[tests]]
        own = np.concatenate(left)[place[led[:, TEST]]]
        own ^= np.where(led[:, SIDE] > 0, 255, 0).astype(np.uint8)[:, None]
        bits.append(own)
    return np.concatenate(bits)


def _pass_above(bits: Bytes, above: Integers) -> None:
    """Clear the bits of points that fail a previous test of the same feature."""
    waiting, known = np.flatnonzero(above >= 0), above < 0
    while len(waiting):
        ready = known[above[waiting]]
        now = waiting[ready]
        bits[now] &= bits[above[now]]
        known[now], waiting = True, waiting[~ready]


def _edges_of_bits(bits: Bytes, width: int, start: Integers) -> tuple[Ints, Integers]:
    """Return the points at which bits change, row by row, and where the edges of each row begin."""
    found, run = [], [np.zeros(1, np.int64)]
    step = max(1, AT_ONCE // width)
    for begin in range(0, len(bits), step):
        reach = np.unpackbits(bits[begin : begin + step], axis=1, count=width)
        changed = reach.copy()
        changed[:, 1:] ^= reach[:, :-1]
        at = np.flatnonzero(changed.view(bool))
        row = at // width
        sign = 2 * reach.reshape(-1)[at].astype(np.int8) - 1
        found.append(np.stack([start[begin + row] + at - row * width, sign], axis=1).astype(np.int32))
        run.append(run[-1][-1] + np.cumsum(np.bincount(row, minlength=len(reach))))
    return np.concatenate(found), np.concatenate(run)


def average_changes(
    program: Program, visits: Ints, edges: Ints, starts: Ints | Integers, size: int, share: Floats
) -> Floats:
    """Return the average margins ``(m, size)`` at the points of grids, without the baseline.

    ``visits`` and ``edges`` are all changes along the grids, whose first points are ``starts``; ``share`` is
    per slot. Before the first point all leaves add their average without a grid. Visited leaves lose it at
    the first point.
    """
    margins, entries = program.n_margins, program.entries
    computed, plain = np.zeros(margins * size), np.zeros(margins)
    leaves = np.flatnonzero(entries[:, SLOT] >= 0)
    for margin, value in values_by_margin(program, leaves):
        plain += np.bincount(margin, value * share[entries[leaves, SLOT]], margins)
    for begin in range(0, len(visits), VISITS):
        tag, start, first, stop, leaf = visits[begin : begin + VISITS].T.astype(np.int64)
        owner, numbers = expand_ranges(first, stop)
        point, sign = edges[numbers].T
        own, free = share[entries[leaf, SLOT]], share[entries[leaf, SLOT] + tag]
        for margin, value in values_by_margin(program, leaf):
            computed -= np.bincount(margin * size + start, value * own, margins * size)
            computed += np.bincount(
                margin[owner] * size + point, (value * free)[owner] * sign, margins * size
            )
    averages = computed.reshape(margins, size)
    for begin, end in zip(starts, np.append(starts[1:], size), strict=True):
        averages[:, begin:end] = np.cumsum(averages[:, begin:end], axis=1) + plain[:, None]
    return averages


def cell_averages(program: Program, position: int, share: Floats) -> Floats:
    """Return the average margins ``(m, codes)`` at all codes of a feature, without the baseline.

    The feature, a position in the family, has one column, with thresholds only. The codes that reach a leaf
    are an interval, and perhaps the last code, which is missing.
    """
    (column,) = program.columns_of[program.family.features[position]]
    margins, last = program.n_margins, int(program.n_codes[column]) - 1
    low, high, missing = _code_intervals(program, column)
    entries, leaves = program.entries, np.flatnonzero(program.entries[:, SLOT] >= 0)
    slots = np.flatnonzero(program.slot_set == position + 1)  # sets of one feature follow the empty set
    leaf = leaves[np.searchsorted(entries[leaves, SLOT], slots, side="right") - 1]
    computed, plain, apart = np.zeros(margins * (last + 1)), np.zeros(margins), np.zeros(margins)
    for margin, value in values_by_margin(program, leaves):
        plain += np.bincount(margin, value * share[entries[leaves, SLOT]], margins)
    some, gone = low[leaf] < high[leaf], missing[leaf]
    for margin, value in values_by_margin(program, leaf):
        plain -= np.bincount(margin, value * share[entries[leaf, SLOT]], margins)
        amount, first = value * share[slots], margin * (last + 1)
        apart += np.bincount(margin[gone], amount[gone], margins)
        for ends, sign in ((low, 1.0), (high, -1.0)):
            at = (first + ends[leaf])[some]
            computed += np.bincount(at, sign * amount[some], margins * (last + 1))
    steps = np.cumsum(computed.reshape(margins, -1)[:, :last], axis=1)
    return np.concatenate([steps, apart[:, None]], axis=1) + plain[:, None]


def _code_intervals(program: Program, column: int) -> tuple[Ints, Ints, Flags]:
    """Return the codes of a column that reach each entry, ``[low, high)``, and whether missing values do."""
    low = np.zeros(len(program.entries), np.int32)
    high = np.full(len(low), program.n_codes[column] - 1, np.int32)
    missing = np.ones(len(low), dtype=bool)
    for begin, end in batches(program.entries, AT_ONCE // 64):
        entries, above = program.entries[begin:end], np.empty(0, np.int64)
        for level, parent in levels(entries):
            at = begin + level
            if len(above):
                up = above[parent]
                low[at], high[at], missing[at] = low[up], high[up], missing[up]
                condition = program.conditions[entries[level, TEST]]
                own = np.flatnonzero(condition[:, COLUMN] == column)
                right, cut = entries[level[own], SIDE] > 0, condition[own, CUT] + 1
                low[at[own]] = np.where(right, np.maximum(low[at[own]], cut), low[at[own]])
                high[at[own]] = np.where(right, high[at[own]], np.minimum(high[at[own]], cut))
                missing[at[own]] &= right != (condition[own, MISSING_LEFT] > 0)
            above = at
    return low, high, missing


def values_by_margin(program: Program, leaf: Integers) -> Iterator[tuple[Integers, Floats]]:
    """Yield the margins that leaves add to, and their values, for each column of ``program.value``."""
    margin, node = program.entries[leaf, MARGIN].astype(np.int64), program.entries[leaf, NODE]
    for k in range(program.value.shape[1]):
        yield np.where(margin < 0, k, margin), program.value[node, k]
