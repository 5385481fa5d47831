"""Folding in this process, on one thread or several."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import TypeAlias

from paribus._budget import AHEAD
from paribus._contracts import B, Blocks, Evaluator, S, StateStore
from paribus._executors.progress import with_progress
from paribus._states import merge_in_order, ranges_of

KEPT = 256  # ranges of blocks whose states are kept, at most
Done: TypeAlias = tuple[int, float, S]  # the number of a block, its work, and its state


@dataclass(frozen=True)
class LocalExecutor:
    """Fold over blocks with threads; they help where the model releases the interpreter lock.

    ``task`` says on the bar what is done.
    """

    threads: int = 1
    progress: bool | None = None
    task: str = "paribus"

    def describe(self) -> str:
        """Return who computes, in words."""
        return "this process"

    def fold(
        self, evaluator: Evaluator[B, S], blocks: Blocks[B], zero: S, *, store: StateStore | None = None
    ) -> S:
        """Evaluate every block and merge in block order, so that threads do not change a bit."""
        if store is None or blocks.count is None:
            with closing(self._states(evaluator, blocks, blocks, 0)) as states:
                return merge_in_order(states, zero)
        return self._kept(evaluator, blocks, blocks.count, zero, store)

    def _kept(
        self, evaluator: Evaluator[B, S], blocks: Blocks[B], count: int, zero: S, store: StateStore
    ) -> S:
        """Fold range by range; a range whose state is found is not evaluated again."""
        ranges = ranges_of(count, KEPT)
        kept = {one for one in ranges if store.contains(*one)}
        left = [blocks.part(*run) for run in _runs([one for one in ranges if one not in kept])]
        todo = sum(part.rows or 0 for part in left)
        states = self._states(evaluator, blocks, chain.from_iterable(left), (blocks.rows or 0) - todo)

        def each() -> Iterator[S]:
            for first, stop in ranges:
                if (first, stop) in kept:
                    yield store.load(first, stop)
                    continue
                state = merge_in_order(islice(states, stop - first), zero)
                store.save(first, stop, state)
                yield state

        with closing(states):
            return merge_in_order(each(), zero)

    def _states(
        self, evaluator: Evaluator[B, S], whole: Blocks[B], blocks: Iterable[B], done: int
    ) -> Generator[S]:
        """Yield one state per block of rows, in order: its parts, which have keys of their own, together."""
        # What is held is evaluated here and now; what is read is evaluated while the next is read.
        threaded = self.threads > 1 or not whole.in_memory
        results = self._threaded(evaluator, blocks) if threaded else self._serial(evaluator, blocks)
        # Closed here and now, so that an interrupt while merging stops the threads as well.
        with (
            closing(results),
            closing(with_progress(results, whole.rows, self.progress, self.task, done)) as states,
        ):
            for _, parts in groupby(states, itemgetter(0)):
                yield merge_in_order(state for _, state in parts)

    def _serial(self, evaluator: Evaluator[B, S], blocks: Iterable[B]) -> Generator[Done[S]]:
        for block in blocks:
            yield block.number, block.work, evaluator.evaluate(block)

    def _threaded(self, evaluator: Evaluator[B, S], blocks: Iterable[B]) -> Generator[Done[S]]:
        """Keep a short queue ahead of the threads; on an error or Ctrl-C what has not begun is dropped."""
        waiting: deque[tuple[int, float, Future[S]]] = deque()
        with ThreadPoolExecutor(self.threads, thread_name_prefix="paribus") as pool:
            try:
                for block in blocks:
                    waiting.append((block.number, block.work, pool.submit(evaluator.evaluate, block)))
                    if len(waiting) > AHEAD * self.threads:
                        yield _finished(waiting)
                while waiting:
                    yield _finished(waiting)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def _runs(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Put ranges together that follow each other: what they share need be read once.

    >>> _runs([(0, 2), (2, 4), (6, 8)])
    [(0, 4), (6, 8)]
    """
    runs: list[tuple[int, int]] = []
    for first, stop in ranges:
        begun = runs.pop()[0] if runs and runs[-1][1] == first else first
        runs.append((begun, stop))
    return runs


def _finished(waiting: deque[tuple[int, float, Future[S]]]) -> Done[S]:
    number, work, future = waiting.popleft()
    return number, work, future.result()
