"""Layout of trees in preorder, and the schedule that counts rows with masks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._contracts import Flags, Integers
from paribus._kernels.program import (
    ABOVE,
    BOTH_COUNTED,
    DEPTH,
    END,
    LEFT_COUNTED,
    NEITHER,
    RIGHT_COUNTED,
    SIDE,
    SLOT,
    TEST,
    UPS,
    Ints,
    Layout,
    Program,
    expand_ranges,
    member_starts,
)


def lay_out(roots: Ints, left: Ints, right: Ints, inner: Flags, feature: Ints, step: Ints) -> Layout:
    """Return the nodes of trees in preorder, and the sets active at each node."""
    levels = [roots.astype(np.int64)]  # each has the left children of the one above, then the right ones
    while inner[levels[-1]].any():
        above = levels[-1][inner[levels[-1]]]
        levels.append(np.concatenate([left[above], right[above]]).astype(np.int64))
    place, parent, depth, side, end = _preorder(levels, left, right, inner)
    node = np.argsort(place)[len(place) - sum(map(len, levels)) :]
    active = np.ones(len(inner), np.int64)
    at_leaves, at_tests = [], []
    owner, number = np.arange(len(roots)), np.zeros(len(roots), np.int64)  # of active sets, by node
    for level in levels:
        active[level] = np.bincount(owner, minlength=len(level))
        position = _positions_in_owner(owner)
        tests = inner[level][owner]
        at_leaves.append(np.stack([level[owner], position, number])[:, ~tests])
        owner, position, number = (np.cumsum(inner[level]) - 1)[owner[tests]], position[tests], number[tests]
        level = level[inner[level]]
        up, new, union = _union_positions(owner, position, number, feature[level], step)
        at_tests.append(np.stack([level[owner], position, up]))
        order = np.argsort(np.concatenate([owner, owner[new]]), kind="stable")
        below = np.concatenate([owner, owner[new]])[order]
        owner = np.concatenate([below, below + len(level)])
        number = np.tile(np.concatenate([number, union[new]])[order], 2)
    up_first, unions = _numbers_by_entry(at_tests, node, np.where(inner, active, 0))
    slot_first, slot_set = _numbers_by_entry(at_leaves, node, np.where(inner, 0, active))
    up_first[~inner[node]], slot_first[inner[node]] = 0, -1
    per_node = np.arange(len(inner)), parent, depth, side, end, active
    own = [array[node].astype(np.int32) for array in per_node]
    return Layout(*own, up_first, unions, slot_first, slot_set)  # type: ignore[call-arg, arg-type]


def _preorder(levels: list[Integers], left: Ints, right: Ints, inner: Flags) -> tuple[Integers, ...]:
    """Return, per node, its place in preorder, the place of its parent, depth, side and end of subtree."""
    size, place = np.ones(len(inner), np.int64), np.full(len(inner), -1, np.int64)
    parent, depth, side = np.full(len(inner), -1, np.int64), np.zeros_like(size), np.zeros_like(size)
    tests = [level[inner[level]] for level in levels]
    for level in reversed(tests):
        size[level] += size[left[level]] + size[right[level]]
    place[levels[0]] = np.cumsum(size[levels[0]]) - size[levels[0]]
    for number, level in enumerate(tests):
        place[left[level]] = place[level] + 1
        place[right[level]] = place[level] + 1 + size[left[level]]
        for child in (left[level], right[level]):
            parent[child], depth[child] = place[level], number + 1
        side[right[level]] = 1
    return place, parent, depth, side, place + size


def _positions_in_owner(owner: Integers) -> Integers:
    """Return the position of each element among those with the same owner, which are adjacent."""
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    sizes = np.diff(begins, append=len(owner))
    return np.asarray(np.arange(len(owner)) - np.repeat(begins, sizes))


def _union_positions(
    owner: Integers, position: Integers, number: Integers, feature: Ints, step: Ints
) -> tuple[Integers, Flags, Integers]:
    """Return the positions of unions of active sets with the tested feature, which are new, and the unions.

    A position is that among the sets active at the children, -1 if the union is not in the family. A union is
    new at the first test of the feature on a path.
    """
    union = step[number, feature[owner]].astype(np.int64)
    again = np.zeros(len(feature), dtype=bool)
    again[owner[number == step[0, feature][owner]]] = True
    requested = (union >= 0) & (union != number)
    new = requested & ~again[owner]
    up = np.where(union == number, position, -1)
    added = owner[new]
    up[new] = np.bincount(owner, minlength=len(feature))[added] + _positions_in_owner(added)
    old = np.flatnonzero(requested & again[owner])
    key = owner * len(step) + number
    order = np.argsort(key)
    up[old] = position[order[np.searchsorted(key[order], owner[old] * len(step) + union[old])]]
    return up, new, union


def _numbers_by_entry(parts: list[Integers], node: Integers, size: Integers) -> tuple[Integers, Ints]:
    """Return where the numbers of each entry begin, and all numbers in the order of entries.

    A part has the node of each number, its position at the node, and the number itself.
    """
    first = np.cumsum(size[node]) - size[node]
    begin = np.zeros(len(size), np.int64)
    begin[node] = first
    owner, position, number = np.concatenate(parts, axis=1)
    joined = np.empty(len(number), np.int32)
    joined[begin[owner] + position] = number
    return first, joined


WORDS = 16  # words of a mask
LANES = 8  # counters of a slot, which are added once all rows are counted


@dataclass(frozen=True, eq=False)
class MaskSchedule:
    """Operations on masks of rows, in the order of the nodes.

    Attributes
    ----------
    steps : (inner nodes + 1, 4)
        The condition of a node, which of its children are leaves, and where its masks begin in ``parted`` and
        ``whole``.
    parted : (p, 3)
        The first word of a mask that the test splits, and where the rows that go left and right are written
        or, at leaves, counted.
    whole : (w, 2)
        The first word of a mask that reaches a leaf without being split, and where it is counted.
    sums : (s, 3)
        A slot, and the two slots whose counts add up to its count; the number of slots means none.
    alone : (a,)
        The slots of trees that consist of one leaf.
    words : int
        Number of words held at once.
    """

    steps: Ints
    parted: Ints
    whole: Ints
    sums: Integers
    alone: Integers
    words: int

    @classmethod
    def of(cls, program: Program, begin: int, end: int) -> MaskSchedule:
        """Return the schedule of the trees of a program in the entries ``[begin, end)``."""
        entries = program.entries[begin:end]
        leaf, inner = entries[:, SLOT] >= 0, np.flatnonzero(entries[:, SLOT] < 0)
        children = np.stack([inner + 1, entries[inner + 1, END] - begin])
        size = entries[children[0], ABOVE].astype(np.int64)
        node, a = expand_ranges(0, size)
        union = program.up[entries[children[0], UPS][node] + a]
        # The position at which the masks of a node are written.
        own = (2 * entries[:, DEPTH] + entries[:, SIDE]).astype(np.int64) * program.most
        at = _mask_positions(entries[inner, DEPTH], children, leaf, own, size, union)
        counted, slot = leaf[children][:, node], entries[children, SLOT][:, node]
        target = np.where(counted, LANES * (slot + a), WORDS * (own[children][:, node] + a))
        parted, whole = union != a, np.where(union == a, a, np.where(union >= size[node], union, -1))
        chosen, sums = _whole_masks(counted, slot, whole, a, program.n_slots)
        kind = np.select(
            [leaf[children].all(axis=0), leaf[children[0]], leaf[children[1]]],
            [BOTH_COUNTED, LEFT_COUNTED, RIGHT_COUNTED],
            NEITHER,
        )
        firsts = (member_starts(node[flags], len(kind)) for flags in (parted, chosen))
        columns = entries[children[0], TEST], kind, *firsts
        side = np.where(counted[0], slot[0], slot[1])
        return cls(
            np.stack([np.append(column, 0)[: len(kind) + 1] for column in columns], axis=1).astype(np.int32),
            np.stack([WORDS * at, *target], axis=1)[parted].astype(np.int32),
            np.stack([WORDS * at, LANES * (side + whole)], axis=1)[chosen].astype(np.int32),
            sums,
            entries[leaf & (entries[:, DEPTH] == 0), SLOT].astype(np.int64),
            2 * WORDS * program.levels * program.most,
        )


def _mask_positions(
    depth: Ints, children: Integers, leaf: Flags, own: Integers, size: Integers, union: Ints
) -> Integers:
    """Return the position of the mask of each inner node and active set, found from the roots down.

    A set that contains the tested feature keeps the mask of the parent, and so does a new union.
    """
    first = np.zeros(len(leaf), np.int64)
    first[children[0] - 1] = np.cumsum(size) - size
    at = np.zeros(len(union), np.int64)  # a root has the mask of all rows, at 0
    for level in range(int(depth.max(initial=0))):
        here = np.flatnonzero(depth == level)
        node, a = expand_ranges(0, size[here])
        items = first[children[0][here] - 1][node] + a
        for side in children:
            inner = ~leaf[side[here]][node]
            below, place, above = side[here][node][inner], a[inner], items[inner]
            at[first[below] + place] = np.where(union[above] == place, at[above], own[below] + place)
            new = union[above] >= size[here][node][inner]
            at[first[below][new] + union[above][new]] = at[above][new]
    return at


def _whole_masks(
    counted: Flags, slot: Integers, whole: Integers, a: Integers, nothing: int
) -> tuple[Flags, Integers]:
    """Return which masks are counted without a split, at the first child that is a leaf, and ``sums``.

    At two leaves, a set with the tested feature has the same count at both. The count of a new union is the
    sum of the two counts that the test splits.
    """
    both, new = counted.all(axis=0) & (whole >= 0), whole != a
    chosen = counted.any(axis=0) & (whole >= 0) & ~(both & new)
    same, summed = both & ~new, both & new
    parts = [(slot[1] + whole, slot[0] + whole, np.full(len(a), nothing), same)]
    parts += [(one + whole, slot[0] + a, slot[1] + a, summed) for one in slot]
    return chosen, np.concatenate([np.stack(part[:3], axis=1)[part[3]] for part in parts])


def mask_schedule(program: Program) -> MaskSchedule:
    """Return the schedule of trees that are evaluated with masks, computed once for a program."""
    if "schedule" not in program.kept:
        program.kept["schedule"] = MaskSchedule.of(program, program.patterned, program.shallow)
    found: MaskSchedule = program.kept["schedule"]
    return found
