"""States by key, and the order in which states are merged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Self

from paribus._contracts import S


@dataclass(frozen=True, eq=False)
class Keyed:
    """States by key, such as ``("moments", 3)`` for the moments of grid 3; without any it is neutral."""

    parts: Mapping[tuple[str, int], Any]

    def merge(self, other: Self) -> Self:
        """Merge what both have, keep what only one has."""
        merged = dict(self.parts)
        for key, state in other.parts.items():
            merged[key] = merged[key].merge(state) if key in merged else state
        return type(self)(merged)


class Merger(Generic[S]):
    """States that come one after the other, merged along a binary tree over their numbers.

    0 with 1, 2 with 3, then those two, and so on. The tree depends on the number of states alone, so any
    executor that follows it gives the same bits; only logarithmically many states are held at a time.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[int, S]] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, state: S) -> None:
        """Merge with those before it that complete a branch."""
        height = 0
        while self._waiting and self._waiting[-1][0] == height:
            state = self._waiting.pop()[1].merge(state)
            height += 1
        self._waiting.append((height, state))

    def finish(self, zero: S | None = None) -> S:
        """Return the state of all, ``zero`` of none."""
        if not self._waiting:
            if zero is None:
                raise ValueError("no states to merge, and no zero to return instead")
            return zero
        merged = self._waiting[-1][1]
        for _, state in reversed(self._waiting[:-1]):
            merged = state.merge(merged)
        return merged


def merge_in_order(states: Iterable[S], zero: S | None = None) -> S:
    """Merge states along the tree of `Merger`; ``zero`` is the state of none.

    A range of blocks that begins at a multiple of its length, a power of two, is a branch of the tree: it
    may be merged by itself first, anywhere, and so may a shorter range at the end (see `ranges_of`).
    """
    merger = Merger[S]()
    for state in states:
        merger.add(state)
    return merger.finish(zero)


def ranges_of(count: int, most: int) -> list[tuple[int, int]]:
    """Cut blocks into at most ``most`` ranges that are branches of the tree of merges.

    >>> ranges_of(10, 4)
    [(0, 4), (4, 8), (8, 10)]
    """
    size = 1
    while size * most < count:
        size *= 2
    return [(first, min(first + size, count)) for first in range(0, count, size)]
