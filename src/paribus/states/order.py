"""The one order in which states are merged, whoever computed them."""

from __future__ import annotations

from collections.abc import Iterable

from paribus.contracts import S


def merge_in_order(states: Iterable[S], zero: S | None = None) -> S:
    """Merge along a binary tree over the block numbers: 0 with 1, 2 with 3, then those two, and so on.

    The tree depends on the number of blocks alone, so any executor that follows it gives the same
    bits; only logarithmically many states are held at a time. ``zero`` is the answer to no states.
    A range of blocks that begins at a multiple of its length, a power of two, is a branch of the tree: it
    may be merged by itself first, anywhere, and so may a shorter range at the end (see `ranges_of`).
    """
    waiting: list[tuple[int, S]] = []
    for leaf in states:
        height, state = 0, leaf
        while waiting and waiting[-1][0] == height:
            state = waiting.pop()[1].merge(state)
            height += 1
        waiting.append((height, state))
    if not waiting:
        if zero is None:
            raise ValueError("no states to merge, and no zero to return instead")
        return zero
    _, merged = waiting.pop()
    while waiting:
        merged = waiting.pop()[1].merge(merged)
    return merged


def ranges_of(count: int, most: int) -> list[tuple[int, int]]:
    """Cut blocks into at most ``most`` ranges that are branches of the tree of merges.

    >>> ranges_of(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    size = 1
    while size * most < count:
        size *= 2
    return [(first, min(first + size, count)) for first in range(0, count, size)]
