"""Trees in preorder and the sets of features active at each node, in NumPy: level by level of all trees."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Flags, Integers
from paribus._kernels.program import Ints, Layout


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
