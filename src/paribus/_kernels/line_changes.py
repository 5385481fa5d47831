"""Where curves along one feature change in shallow trees, in NumPy: found for many grids together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._kernels.grid_points import AT_ONCE, batches, go_left, levels
from paribus._kernels.program import (
    ACTIVE,
    DEPTH,
    MARGIN,
    NODE,
    SIDE,
    SLOT,
    TEST,
    Bytes,
    Ints,
    PointCodes,
    Program,
)

VISITS = 1 << 20  # whose edges are weighed at once


@dataclass(frozen=True, eq=False)
class LastTests:
    """Per feature of the family, the entries that test it and the leaves below them.

    Attributes
    ----------
    tests, test_first : (t,), (f + 1,)
        Entries whose test is about each feature, feature by feature.
    above : (t,)
        The last test of the same feature on the way to each, as a position in ``tests``, -1 for none.
    slots, slot_first : (s,), (f + 1,)
        Slots whose set is one feature, feature by feature.
    leaf, last : (s,), (s,)
        The leaf of each, as an entry, and its last test of the feature, as a position in ``tests``.
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
        """Follow the trees level by level."""
        features = len(program.family.features)
        about = np.where(program.entries[:, DEPTH] > 0, features, -1)
        if len(program.conditions):
            about = np.where(about < 0, features, program.feature[program.entries[:, TEST]])
        above = np.full(len(about), -1, np.int64)
        slots: list[Integers] = []
        for begin, end in batches(program.entries, max(1, AT_ONCE // (8 * (features + 1)))):
            slots += _last_of(program, about, above, begin, end)
        tests = np.argsort(about, kind="stable")
        firsts = np.searchsorted(about[tests], np.arange(features + 1))
        tests = tests[: firsts[-1]]
        place = np.full(len(about) + 1, -1, np.int64)  # the last for no test
        place[tests] = np.arange(len(tests))
        found = np.concatenate([np.empty((4, 0), np.int64), *slots], axis=1)
        feature, slot, leaf, last = found[:, np.lexsort((found[1], found[0]))]
        slot_first = np.searchsorted(feature, np.arange(features + 1))
        return cls(tests, firsts, place[above[tests]], slot, slot_first, leaf, place[last])

    def of_feature(self, feature: int) -> tuple[slice, slice]:
        """Return where the tests and the slots of a feature are."""
        tests, slots = self.test_first[feature : feature + 2], self.slot_first[feature : feature + 2]
        return slice(*tests.tolist()), slice(*slots.tolist())


_KNOWN: WeakKeyDictionary[Program, LastTests] = WeakKeyDictionary()


def last_tests(program: Program) -> LastTests:
    """Return the last tests of a program, found once for all grids; by two threads, they are the same."""
    if program not in _KNOWN:
        _KNOWN[program] = LastTests.of(program)
    return _KNOWN[program]


def _last_of(program: Program, about: Integers, above: Integers, begin: int, end: int) -> Iterator[Integers]:
    """Write the last test before each of some entries; yield features, slots, leaves and their last tests."""
    features, entries = len(program.family.features), program.entries[begin:end]
    table = np.full((int((entries[:, DEPTH] == 0).sum()), features + 1), -1, np.int64)
    for level, parent in levels(entries):
        rows, table = np.arange(len(level)), table[parent]
        own = about[begin + level]
        above[begin + level] = np.where(own < features, table[rows, own], -1)
        table[rows, own] = begin + level
        leaf = np.flatnonzero(entries[level, SLOT] >= 0)
        first, active = entries[level[leaf], SLOT], entries[level[leaf], ACTIVE].astype(np.int64)
        slots = np.arange(active.sum()) + np.repeat(first - np.cumsum(active) + active, active)
        row, sets = np.repeat(leaf, active), program.slot_set[slots]
        single = (sets >= 1) & (sets <= features)  # sets of one feature are next to the empty one
        feature, row = sets[single] - 1, row[single]
        yield np.stack([feature, slots[single], begin + level[row], table[row, feature]])


def tested_feature(program: Program, points: PointCodes) -> int | None:
    """Return the feature of a grid of one axis, as a position in the family, None where no tree tests it."""
    tested = np.flatnonzero(points.row >= 0)
    return int(program.feature[tested[0]]) if len(tested) else None


def line_changes(
    program: Program, first: int, questions: Sequence[PointCodes], starts: Sequence[int]
) -> tuple[Ints, Ints]:
    """Return where leaves from an entry on begin and end to be reached along grids of one axis each.

    As `changes` returns it for one grid: visits, grid by grid, and edges. All trees are shallow.
    """
    known, grids = last_tests(program), []
    for points, start in zip(questions, starts, strict=True):
        feature = tested_feature(program, points)
        if feature is not None:
            grids.append((points, start, *known.of_feature(feature)))
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
    """Return whether grids have one axis each, and all trees are shallow."""
    return program.shallow == len(program.entries) and all(len(one.axis_first) == 2 for one in questions)


def line_averages(program: Program, questions: Sequence[PointCodes], share: Floats) -> Floats:
    """Return the average margins ``(m, g)`` at the points of such grids, without the baseline."""
    starts = np.cumsum([0, *(points.size for points in questions)])
    changes = line_changes(program, 0, questions, starts[:-1].tolist())
    return average_changes(program, *changes, starts[:-1], int(starts[-1]), share)


def _passed_bits(
    program: Program, known: LastTests, grids: list[tuple[PointCodes, slice]], width: int
) -> Bytes:
    """Return which points pass each test, eight in a byte; a grid of fewer points repeats its last."""
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
    """Keep the points that also pass the tests above each."""
    waiting, known = np.flatnonzero(above >= 0), above < 0
    while len(waiting):
        ready = known[above[waiting]]
        now = waiting[ready]
        bits[now] &= bits[above[now]]
        known[now], waiting = True, waiting[~ready]


def _edges_of_bits(bits: Bytes, width: int, start: Integers) -> tuple[Ints, Integers]:
    """Return the points where bits begin or end, row by row, and where the edges of each row begin."""
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
    per slot. Before the first point every leaf adds what it does without a grid; those visited lose it there.
    """
    margins, entries = program.n_margins, program.entries
    drawn, plain = np.zeros(margins * size), np.zeros(margins)
    leaves = np.flatnonzero(entries[:, SLOT] >= 0)
    for margin, value in _values(program, leaves):
        plain += np.bincount(margin, value * share[entries[leaves, SLOT]], margins)
    for begin in range(0, len(visits), VISITS):
        tag, start, first, stop, leaf = visits[begin : begin + VISITS].T.astype(np.int64)
        count = stop - first
        owner = np.repeat(np.arange(len(leaf)), count)
        point, sign = edges[np.arange(len(owner)) + np.repeat(first - np.cumsum(count) + count, count)].T
        own, free = share[entries[leaf, SLOT]], share[entries[leaf, SLOT] + tag]
        for margin, value in _values(program, leaf):
            drawn -= np.bincount(margin * size + start, value * own, margins * size)
            drawn += np.bincount(margin[owner] * size + point, (value * free)[owner] * sign, margins * size)
    averages = drawn.reshape(margins, size)
    for begin, end in zip(starts, np.append(starts[1:], size), strict=True):
        averages[:, begin:end] = np.cumsum(averages[:, begin:end], axis=1) + plain[:, None]
    return averages


def _values(program: Program, leaf: Integers) -> Iterator[tuple[Integers, Floats]]:
    """Yield to which margin leaves add, and how much."""
    margin, node = program.entries[leaf, MARGIN].astype(np.int64), program.entries[leaf, NODE]
    for k in range(program.value.shape[1]):
        yield np.where(margin < 0, k, margin), program.value[node, k]
