"""Tables over the patterns of trees: what rows of a pattern add to predictions, losses and curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._kernels.patterns import MOST_TESTS, Patterns, compared
from paribus._kernels.program import ACTIVE, SLOT, Bytes, Ints, Moves, PointCodes

POINTS = 1 << 20  # patterns of trees at points that are compared at once
DIGITS = MOST_TESTS + 1  # of outcomes and one


@dataclass(frozen=True, eq=False)
class Lookups:
    """Tables over the patterns of trees, and the sums that rows add their numbers to.

    Attributes
    ----------
    first : (t + 1,)
        Where the items of each tree begin.
    items : (n, 2)
        Which sum is added to, and where the table begins.
    table : (s,)
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
    """Items of one kind.

    ``tree``, ``begin`` and ``target``, the sum of the first margin, are those of each item; the sum of the
    next margin is ``stride`` further. ``table (s, k)`` has as many numbers as leaves have.
    """

    tree: Integers
    begin: Integers
    target: Integers
    stride: int
    table: Floats


def _joined(patterns: Patterns, parts: Sequence[_Part]) -> Lookups:
    """Put the items of each tree together."""
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


def _own(patterns: Patterns, target: int) -> _Part:
    """Return what rows add to their margins."""
    trees = np.arange(len(patterns.begin) - 1)
    return _Part(trees, patterns.begin[:-1], np.full(len(trees), target), 1, patterns.value)


def losses(patterns: Patterns, share: Floats, single: bool) -> Lookups:
    """Return what rows add to their margins, and lose with a feature averaged out; see `reference.lose`.

    The sums are the margins, these losses, and with ``single`` the margins once more. Blocks of rows, which
    share their tables, follow one another.
    """
    known: tuple[Floats, bool, Lookups] | None = patterns.program.kept.get("losses")
    if known is None or known[0] is not share or known[1] != single:
        known = share, single, _losses(patterns, share, single)
        patterns.program.kept["losses"] = known
    return known[2]


def _losses(patterns: Patterns, share: Floats, single: bool) -> Lookups:
    program = patterns.program
    margins, features = program.n_margins, len(program.family.features)
    inside = patterns.test_feature < features
    owner = patterns.test_tree[inside]
    key, item = np.unique(owner * features + patterns.test_feature[inside], return_inverse=True)
    mask = np.bincount(item, patterns.test_bit[inside], minlength=len(key)).astype(np.int64)
    tree, feature = np.divmod(key, max(1, features))
    begin, table = _lost(patterns, share, tree, feature, mask)
    parts = [_own(patterns, 0), _Part(tree, begin, margins + feature, features, table)]
    if single:
        parts.append(_own(patterns, margins * (1 + features)))
    return _joined(patterns, parts)


def _lost(
    patterns: Patterns, share: Floats, tree: Integers, feature: Integers, mask: Integers
) -> tuple[Integers, Floats]:
    """Return tables of what a feature, whose tests are the digits of ``mask``, loses; and where they begin.

    What is left without it is a sum over the ways its tests turn out. Of a leaf that tests only some of them,
    several ways are one, so that each has its part.
    """
    begin, item, pattern = _cells(patterns, tree)
    leaf = patterns.leaf[patterns.begin[tree][item] + pattern]
    value = patterns.value[patterns.begin[tree][item] + pattern]
    slot = _slots(patterns, leaf, feature[item])
    right, left = patterns.required
    ways = np.bitwise_count(mask[item]) - np.bitwise_count((right | left)[leaf] & mask[item])
    tested = (slot >= 0)[:, None]
    kept = np.where(tested, value * np.ldexp(share[slot], -ways.astype(np.int32))[:, None], 0.0)
    for digit in range(int(np.diff(patterns.first).max(initial=0))):
        both = np.flatnonzero(mask[item] >> digit & 1)
        kept[both] += kept[begin[item[both]] + (pattern[both] ^ 1 << digit)]
    return begin, np.where(tested, value, 0.0) - kept


def _cells(patterns: Patterns, tree: Integers) -> tuple[Integers, Integers, Integers]:
    """Return where tables over the patterns of trees begin, and of each of their cells item and pattern."""
    size = np.diff(patterns.begin)[tree]
    begin = np.cumsum(size) - size
    item = np.repeat(np.arange(len(tree)), size)
    return begin, item, np.arange(len(item)) - begin[item]


def _slots(patterns: Patterns, leaf: Integers, feature: Integers) -> Integers:
    """Return the slots of leaves where one feature is free, -1 where they do not test it."""
    program = patterns.program
    entries, features = program.entries[: program.patterned], len(program.family.features)
    leaves = np.flatnonzero(entries[:, SLOT] >= 0)
    every = np.repeat(leaves, entries[leaves, ACTIVE])
    # The family has sets of one feature, and the empty set, whose first member is -1.
    free = (
        program.family.members[:, 0][program.slot_set[: len(every)]] if features else np.full(len(every), -1)
    )
    known = np.where(free < 0, -1, every * features + free)
    order = np.argsort(known, kind="stable")
    wanted = leaf * features + feature
    place = order[np.minimum(np.searchsorted(known[order], wanted), len(order) - 1)]
    return np.where(known[place] == wanted, place, -1)


def curve_changes(patterns: Patterns, questions: Sequence[PointCodes]) -> Lookups:
    """Return what rows add to their margins, and by how much these change from point to point of grids.

    The sums are the changes at all points of each margin, the first of a grid from the row itself, and the
    margins.
    """
    points = sum(question.size for question in questions)
    starts = np.cumsum([0, *(question.size for question in questions)])
    found = [_turns(patterns, question) for question in questions]
    tree, point, before, after, mask = (np.concatenate(part) for part in zip(*found, strict=True))
    point += np.repeat(starts[:-1], [len(part[0]) for part in found])
    # Many points change a tree alike, and have one table.
    key = ((tree << DIGITS | mask) << DIGITS | before + 1) << DIGITS | after
    _, chosen, item = np.unique(key, return_index=True, return_inverse=True)
    begin, table = _changed(patterns, tree[chosen], before[chosen], after[chosen], mask[chosen])
    own = _own(patterns, patterns.program.n_margins * points)
    return _joined(patterns, [own, _Part(tree, begin[item], point, points, table)])


def _changed(
    patterns: Patterns, tree: Integers, before: Integers, after: Integers, mask: Integers
) -> tuple[Integers, Floats]:
    """Return tables of changes between two outcomes of the tests of ``mask``, ``before`` -1 for its own."""
    begin, item, pattern = _cells(patterns, tree)
    others, first = pattern & ~mask[item], patterns.begin[tree][item]
    old = np.where(before[item] < 0, pattern, others | before[item])
    return begin, patterns.value[first + (others | after[item])] - patterns.value[first + old]


def _turns(patterns: Patterns, points: PointCodes) -> tuple[Integers, ...]:
    """Return where the outcomes of a grid's tests change in a tree: tree, point, outcomes before and after.

    And which tests these are. Before a grid's first point they are those of the row itself.
    """
    tests = np.flatnonzero(points.row[patterns.used[patterns.tests]] >= 0)
    owner = np.searchsorted(patterns.first, tests, side="right") - 1
    trees, tree_first, tree = np.unique(owner, return_index=True, return_inverse=True)
    mask = np.bincount(tree, patterns.test_bit[tests], minlength=len(trees)).astype(np.int64)
    found = [np.empty((0, 5), np.int64)]
    together = max(1, POINTS // max(1, points.size))
    for first in range(0, len(trees), together):
        some = np.flatnonzero((tree >= first) & (tree < first + together))
        reached = np.zeros((min(together, len(trees) - first), points.size), np.int16)
        place = some - tree_first[tree[some]]  # among the tests of its tree
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
    """Return which points of a grid go right, ``(n, g)``, at some of the tests of the trees."""
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
    """How the tests of trees turn out where features are moved.

    Attributes
    ----------
    ways : (d, 4)
        The conditions of the moves, as those of `Patterns`.
    ends : (c, 2)
        Which outcome each condition has at the lower and at the upper value: behind those of rows as they are
        come those of the ways at the one, and at the other.
    twice : (c,)
        Whether the feature of a condition has two moves.
    bits, targets : (q,)
        Of each test of a tree its digit, and the first sum of its feature's moves, -1 for none.
    mates, groups : (q,), (q, 2)
        Which part of ``mates`` are the tests of the same feature in its tree.
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
        """Find the outcomes of tests among the ways of moves."""
        own, ways, features = len(patterns.conditions), len(moves.conditions), len(moves.n_codes)
        moved = patterns.program.feature[patterns.used] < features
        low = np.where(moved, own + moves.test[patterns.used], np.arange(own))
        two = np.append(moves.targets[:, 1], 0)[patterns.program.feature[patterns.used]]
        target = np.append(moves.targets[:, 0], -1)[patterns.test_feature]
        key = patterns.test_tree * (features + 1) + patterns.test_feature
        mates = np.argsort(key, kind="stable")
        groups = [np.searchsorted(key[mates], key, side=side) for side in ("left", "right")]
        return cls(
            compared(moves.conditions, moves.n_codes),
            np.stack([low, np.where(moved, low + ways, low)], axis=1).astype(np.int32),
            two.astype(np.uint8),
            patterns.test_bit.astype(np.int32),
            target.astype(np.int32),
            mates.astype(np.int32),
            np.ascontiguousarray(np.stack(groups, axis=1)),
        )
