"""Folds in this process, with threads; several folds can share one read."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import chain, groupby, islice
from operator import itemgetter
from typing import Any, TypeAlias

from paribus._budget import AHEAD
from paribus._contracts import B, Blocks, Evaluator, S, StateStore
from paribus._data.rows import shared_blocks
from paribus._executors.progress import with_progress
from paribus._states import Keyed, Merger, merge_in_order, ranges_of
from paribus.errors import RefusalError


@dataclass(eq=False)
class SharedFold:
    """One of several folds that share a read: evaluator, blocks, and the states merged so far.

    With a ``store``, the state of each finished range of blocks is stored. A fold that has ``refused`` gets
    no further blocks.
    """

    evaluator: Evaluator[Any, Keyed]
    blocks: Blocks[Any]
    threads: int
    predicts: bool = False
    store: StateStore | None = None
    refused: RefusalError | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        count = self.blocks.count
        kept = self.store is not None and count is not None
        self._ranges = ranges_of(count or 0, KEPT) if kept else []
        self._number, self._parts, self._range, self._whole = (
            -1,
            Merger[Keyed](),
            Merger[Keyed](),
            Merger[Keyed](),
        )

    def add(self, number: int, state: Keyed) -> None:
        """Merge the state of a block, or of one of its parts, in block order."""
        if number != self._number:
            self._end_block()
        self._number = number
        self._parts.add(state)

    def finish(self) -> Keyed | RefusalError:
        """Return the state of all blocks, or the refusal."""
        if self.refused is not None:
            return self.refused
        self._end_block()
        self._end_range()
        return self._whole.finish(Keyed({}))

    def _end_block(self) -> None:
        """Merge the parts of a block into the state of its range."""
        if not self._parts:
            return
        self._range.add(self._parts.finish())
        self._parts = Merger()
        if self._ranges and self._number + 1 == self._ranges[0][1]:
            self._end_range()

    def _end_range(self) -> None:
        """Store the state of a range, which is a branch of the merge tree, so that results do not change."""
        if not self._ranges:
            self._whole = self._range if not self._whole else self._whole
            return
        state = self._range.finish()
        assert self.store is not None
        self.store.save(*self._ranges.pop(0), state)
        self._whole.add(state)
        self._range = Merger()


def fold_together(
    folds: Sequence[SharedFold], progress: bool | None, doing: str
) -> list[Keyed | RefusalError]:
    """Read the rows once, and return the state or refusal of each fold."""
    cuts: list[Any] = [fold.blocks for fold in folds]
    # The blocks of all folds in the order of the rows, each with the position of its fold.
    if cuts[0].in_memory:
        blocks: Iterator[tuple[int, Any]] = shared_blocks(cuts)
    else:
        from paribus._data.scan.reading import SharedRead

        blocks = iter(SharedRead(cuts))
    results = _evaluated_together(folds, blocks)
    shown = with_progress(results, folds[0].blocks.rows, progress, doing)  # type: ignore[type-var]
    with closing(results), closing(shown) as states:
        for number, (fold, state) in states:
            if isinstance(state, RefusalError):
                fold.refused = state
            elif fold.refused is None:
                fold.add(number, state)
    return [fold.finish() for fold in folds]


def _evaluated_together(
    folds: Sequence[SharedFold], blocks: Iterator[tuple[int, Any]]
) -> Generator[tuple[int, float, tuple[SharedFold, Keyed | RefusalError]]]:
    """Yield the number of each block, its share of the work, its fold and its state, in the order of reading.

    Each fold that does not predict has its own thread pool. Folds that predict share one, so that a model for
    a single thread is not called from two.
    """
    waiting: deque[tuple[SharedFold, Any, Future[Keyed]]] = deque()

    def finished() -> tuple[int, float, tuple[SharedFold, Keyed | RefusalError]]:
        """Wait for the first block in the queue."""
        fold, block, future = waiting.popleft()
        try:
            state: Keyed | RefusalError = future.result()
        except RefusalError as refusal:
            state = refusal
        return block.number, block.work / len(folds), (fold, state)

    with ExitStack() as stack:
        predicting = max((fold.threads for fold in folds if fold.predicts), default=1)
        shared = stack.enter_context(ThreadPoolExecutor(predicting, "paribus"))
        pools = [
            shared if fold.predicts else stack.enter_context(ThreadPoolExecutor(fold.threads, "paribus"))
            for fold in folds
        ]
        for pool in pools:  # on an error or Ctrl-C, blocks in the queue are dropped
            stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        for position, block in blocks:
            fold = folds[position]
            if fold.refused is None:
                waiting.append((fold, block, pools[position].submit(fold.evaluator.evaluate, block)))
            if len(waiting) > AHEAD * sum(fold.threads for fold in folds):
                yield finished()
        while waiting:
            yield finished()


KEPT = 256  # maximum number of ranges of blocks whose states are stored
Done: TypeAlias = tuple[int, float, S]  # number of a block, its work in rows, and its state


@dataclass(frozen=True)
class LocalExecutor:
    """Folds over blocks with threads, which help if the model releases the interpreter lock.

    ``task`` is the text of the progress bar.
    """

    threads: int = 1
    progress: bool | None = None
    task: str = "paribus"

    def describe(self) -> str:
        """Return a description of the executor."""
        return "this process"

    def fold(
        self, evaluator: Evaluator[B, S], blocks: Blocks[B], zero: S, *, store: StateStore | None = None
    ) -> S:
        """Evaluate every block and merge in block order, so that results do not depend on threads."""
        if store is None or blocks.count is None:
            with closing(self._states(evaluator, blocks, blocks, 0)) as states:
                return merge_in_order(states, zero)
        return self._kept(evaluator, blocks, blocks.count, zero, store)

    def _kept(
        self, evaluator: Evaluator[B, S], blocks: Blocks[B], count: int, zero: S, store: StateStore
    ) -> S:
        """Fold range by range; ranges with a stored state are not evaluated again."""
        ranges = ranges_of(count, KEPT)
        kept = {one for one in ranges if store.contains(*one)}
        left = [blocks.part(*run) for run in _joined_ranges([one for one in ranges if one not in kept])]
        todo = sum(part.rows or 0 for part in left)
        states = self._states(evaluator, blocks, chain.from_iterable(left), (blocks.rows or 0) - todo)

        def each() -> Iterator[S]:
            """Yield the state of each range, loaded or computed."""
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
        """Yield one state per block, in order; the parts of a block have different keys and are merged."""
        # Out-of-core blocks are evaluated in a thread, while the next one is read.
        threaded = self.threads > 1 or not whole.in_memory
        results = self._threaded(evaluator, blocks) if threaded else self._serial(evaluator, blocks)
        # Closed at once, so that an interrupt during a merge also stops the threads.
        with (
            closing(results),
            closing(with_progress(results, whole.rows, self.progress, self.task, done)) as states,
        ):
            for _, parts in groupby(states, itemgetter(0)):
                yield merge_in_order(state for _, state in parts)

    def _serial(self, evaluator: Evaluator[B, S], blocks: Iterable[B]) -> Generator[Done[S]]:
        """Evaluate blocks in the calling thread."""
        for block in blocks:
            yield block.number, block.work, evaluator.evaluate(block)

    def _threaded(self, evaluator: Evaluator[B, S], blocks: Iterable[B]) -> Generator[Done[S]]:
        """Evaluate blocks in threads with a short queue, which is dropped on an error or Ctrl-C."""
        waiting: deque[tuple[int, float, Future[S]]] = deque()
        with ThreadPoolExecutor(self.threads, thread_name_prefix="paribus") as pool:
            try:
                for block in blocks:
                    waiting.append((block.number, block.work, pool.submit(evaluator.evaluate, block)))
                    if len(waiting) > AHEAD * self.threads:
                        yield _first_finished(waiting)
                while waiting:
                    yield _first_finished(waiting)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def _joined_ranges(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join consecutive ranges, so that files they share are read once.

    >>> _joined_ranges([(0, 2), (2, 4), (6, 8)])
    [(0, 4), (6, 8)]
    """
    runs: list[tuple[int, int]] = []
    for first, stop in ranges:
        begun = runs.pop()[0] if runs and runs[-1][1] == first else first
        runs.append((begun, stop))
    return runs


def _first_finished(waiting: deque[tuple[int, float, Future[S]]]) -> Done[S]:
    """Wait for the first block in the queue."""
    number, work, future = waiting.popleft()
    return number, work, future.result()
