"""Layout of trees, and the schedule of masks."""

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
)


def lay_out(roots: Ints, left: Ints, right: Ints, inner: Flags, feature: Ints, step: Ints) -> Layout:
    """Lay trees out in preorder and find the sets active at each node."""
    levels = [roots.astype(np.int64)]  # a level is the left children of the one above, then the right ones
    while inner[levels[-1]].any():
        above = levels[-1][inner[levels[-1]]]
        levels.append(np.concatenate([left[above], right[above]]).astype(np.int64))
    place, parent, depth, side, end = _preorder(levels, left, right, inner)
    node = np.argsort(place)[len(place) - sum(map(len, levels)) :]
    active = np.ones(len(inner), np.int64)
    at_leaves, at_tests = [], []
    owner, number = np.arange(len(roots)), np.zeros(len(roots), np.int64)  # of sets, node by node
    for level in levels:
        active[level] = np.bincount(owner, minlength=len(level))
        position = _positions(owner)
        tests = inner[level][owner]
        at_leaves.append(np.stack([level[owner], position, number])[:, ~tests])
        owner, position, number = (np.cumsum(inner[level]) - 1)[owner[tests]], position[tests], number[tests]
        level = level[inner[level]]
        up, new, union = _unions(owner, position, number, feature[level], step)
        at_tests.append(np.stack([level[owner], position, up]))
        order = np.argsort(np.concatenate([owner, owner[new]]), kind="stable")
        below = np.concatenate([owner, owner[new]])[order]
        owner = np.concatenate([below, below + len(level)])
        number = np.tile(np.concatenate([number, union[new]])[order], 2)
    up_first, unions = _joined(at_tests, node, np.where(inner, active, 0))
    slot_first, slot_set = _joined(at_leaves, node, np.where(inner, 0, active))
    up_first[~inner[node]], slot_first[inner[node]] = 0, -1
    own = [one[node].astype(np.int32) for one in (parent, depth, side, end, active)]
    return Layout(node.astype(np.int32), *own, up_first, unions, slot_first, slot_set)  # type: ignore[call-arg, arg-type]


def _preorder(levels: list[Integers], left: Ints, right: Ints, inner: Flags) -> tuple[Integers, ...]:
    """Return per node its place in preorder, that of its parent, its depth, its side, and where it ends."""
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


def _positions(owner: Integers) -> Integers:
    """Return the position of each entry among those of its owner, which are next to each other."""
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    sizes = np.diff(begins, append=len(owner))
    return np.asarray(np.arange(len(owner)) - np.repeat(begins, sizes))


def _unions(
    owner: Integers, position: Integers, number: Integers, feature: Ints, step: Ints
) -> tuple[Integers, Flags, Integers]:
    """Return where the union of each set with the tested feature is active below, which are new, and all.

    It is -1 where nothing requests the union. Sets are new below the first test of a feature.
    """
    union = step[number, feature[owner]].astype(np.int64)
    again = np.zeros(len(feature), dtype=bool)
    again[owner[number == step[0, feature][owner]]] = True
    requested = (union >= 0) & (union != number)
    new = requested & ~again[owner]
    up = np.where(union == number, position, -1)
    added = owner[new]
    up[new] = np.bincount(owner, minlength=len(feature))[added] + _positions(added)
    old = np.flatnonzero(requested & again[owner])
    key = owner * len(step) + number
    order = np.argsort(key)
    up[old] = position[order[np.searchsorted(key[order], owner[old] * len(step) + union[old])]]
    return up, new, union


def _joined(parts: list[Integers], node: Integers, size: Integers) -> tuple[Integers, Ints]:
    """Return numbers in the order of entries, and where those of each entry begin.

    A part has the node of each number, its position there and the number itself.
    """
    first = np.cumsum(size[node]) - size[node]
    begin = np.zeros(len(size), np.int64)
    begin[node] = first
    owner, position, number = np.concatenate(parts, axis=1)
    joined = np.empty(len(number), np.int32)
    joined[begin[owner] + position] = number
    return first, joined


WORDS = 16  # of a mask
LANES = 8  # counts of a slot, which are added up once all rows were counted


@dataclass(frozen=True, eq=False)
class MaskSchedule:
    """What happens to masks, in the order of the nodes.

    Attributes
    ----------
    steps : (inner nodes + 1, 4)
        A node's condition, which of its children are leaves, and where its masks begin in ``parted`` and
        ``whole``.
    parted : (p, 3)
        The first word of a mask, and where those that pass and fail the test are written or, at leaves,
        counted.
    whole : (w, 2)
        The first word of a mask that a leaf's test does not part, and where it is counted.
    sums : (s, 3)
        A slot, and two others which it is the sum of; the number of slots stands for nothing.
    alone : (a,)
        The slots of trees that are one leaf.
    words : int
        How many words are held at once.
    """

    steps: Ints
    parted: Ints
    whole: Ints
    sums: Integers
    alone: Integers
    words: int

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return sum(a.nbytes for a in (self.steps, self.parted, self.whole, self.sums, self.alone))

    @classmethod
    def of(cls, program: Program, begin: int, end: int) -> MaskSchedule:
        """Write the flow of some trees of a program, those of the entries ``[begin, end)``."""
        entries = program.entries[begin:end]
        leaf, inner = entries[:, SLOT] >= 0, np.flatnonzero(entries[:, SLOT] < 0)
        children = np.stack([inner + 1, entries[inner + 1, END] - begin])
        size = entries[children[0], ABOVE].astype(np.int64)
        node, a = _expanded(size)
        union = program.up[entries[children[0], UPS][node] + a]
        # Where the masks of a node are written, or the rows of its slots counted.
        own = (2 * entries[:, DEPTH] + entries[:, SIDE]).astype(np.int64) * program.most
        at = _kept(entries[inner, DEPTH], children, leaf, own, size, union)
        counted, slot = leaf[children][:, node], entries[children, SLOT][:, node]
        target = np.where(counted, LANES * (slot + a), WORDS * (own[children][:, node] + a))
        parted, whole = union != a, np.where(union == a, a, np.where(union >= size[node], union, -1))
        chosen, sums = _whole(counted, slot, whole, a, program.n_slots)
        kind = np.select(
            [leaf[children].all(axis=0), leaf[children[0]], leaf[children[1]]],
            [BOTH_COUNTED, LEFT_COUNTED, RIGHT_COUNTED],
            NEITHER,
        )
        columns = entries[children[0], TEST], kind, _first(node[parted], kind), _first(node[chosen], kind)
        side = np.where(counted[0], slot[0], slot[1])
        return cls(
            np.stack([np.append(column, 0)[: len(kind) + 1] for column in columns], axis=1).astype(np.int32),
            np.stack([WORDS * at, *target], axis=1)[parted].astype(np.int32),
            np.stack([WORDS * at, LANES * (side + whole)], axis=1)[chosen].astype(np.int32),
            sums,
            entries[leaf & (entries[:, DEPTH] == 0), SLOT].astype(np.int64),
            2 * WORDS * program.levels * program.most,
        )


def _expanded(sizes: Integers) -> tuple[Integers, Integers]:
    """Return the owner of each of so many members, and its place among them."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _first(owner: Integers, owners: Integers) -> Integers:
    """Return where the members of each owner begin, and where the last ends."""
    return np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(owners)))])


def _kept(
    depth: Ints, children: Integers, leaf: Flags, own: Integers, size: Integers, union: Ints
) -> Integers:
    """Return where the mask of each inner node and active set is, from the roots down.

    A set that contains the tested feature has the mask of the node above, as has one that is new below it.
    """
    first = np.zeros(len(leaf), np.int64)
    first[children[0] - 1] = np.cumsum(size) - size
    at = np.zeros(len(union), np.int64)  # a root's is the mask of all rows
    for level in range(int(depth.max(initial=0))):
        here = np.flatnonzero(depth == level)
        node, a = _expanded(size[here])
        items = first[children[0][here] - 1][node] + a
        for side in children:
            inner = ~leaf[side[here]][node]
            below, place, above = side[here][node][inner], a[inner], items[inner]
            at[first[below] + place] = np.where(union[above] == place, at[above], own[below] + place)
            new = union[above] >= size[here][node][inner]
            at[first[below][new] + union[above][new]] = at[above][new]
    return at


def _whole(
    counted: Flags, slot: Integers, whole: Integers, a: Integers, nothing: int
) -> tuple[Flags, Integers]:
    """Return which masks are counted whole, at the first child that is a leaf, and the sums of others.

    Of two leaves, what contains the tested feature is the same, and what is new the sum of what was parted.
    """
    both, new = counted.all(axis=0) & (whole >= 0), whole != a
    chosen = counted.any(axis=0) & (whole >= 0) & ~(both & new)
    same, summed = both & ~new, both & new
    parts = [(slot[1] + whole, slot[0] + whole, np.full(len(a), nothing), same)]
    parts += [(one + whole, slot[0] + a, slot[1] + a, summed) for one in slot]
    return chosen, np.concatenate([np.stack(part[:3], axis=1)[part[3]] for part in parts])


def mask_schedule(program: Program) -> MaskSchedule:
    """Return the flow of the trees that are walked with masks, found once for a program."""
    if "schedule" not in program.kept:
        program.kept["schedule"] = MaskSchedule.of(program, program.patterned, program.shallow)
    found: MaskSchedule = program.kept["schedule"]
    return found
