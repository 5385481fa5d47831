"""Several folds over the same rows together: every evaluator gets the blocks it would get alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import Any

from paribus._budget import AHEAD
from paribus._contracts import Blocks, Evaluator, StateStore
from paribus._data.rows import shared_blocks
from paribus._data.scan.reading import SharedRead
from paribus._executors.local import KEPT
from paribus._executors.progress import with_progress
from paribus._states import Keyed, Merger, ranges_of
from paribus.errors import RefusalError


@dataclass(eq=False)
class SharedFold:
    """One of the folds: who evaluates which blocks, and what is merged of them so far.

    With a ``store`` the state of each finished range of blocks is kept. One that ``refused`` what it met in
    the rows gets no more of them.
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
        """Return the state of all blocks, or why it refused."""
        if self.refused is not None:
            return self.refused
        self._end_block()
        self._end_range()
        return self._whole.finish(Keyed({}))

    def _end_block(self) -> None:
        if not self._parts:
            return
        self._range.add(self._parts.finish())
        self._parts = Merger()
        if self._ranges and self._number + 1 == self._ranges[0][1]:
            self._end_range()

    def _end_range(self) -> None:
        """Keep what is finished; a range is a branch of the tree of merges, so no bit depends on it."""
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
    """Go through the rows once and return the state of each fold, or why its evaluator refused."""
    results = _evaluated(folds, _interleaved([fold.blocks for fold in folds]))
    shown = with_progress(results, folds[0].blocks.rows, progress, doing)  # type: ignore[type-var]
    with closing(results), closing(shown) as states:
        for number, (fold, state) in states:
            if isinstance(state, RefusalError):
                fold.refused = state
            elif fold.refused is None:
                fold.add(number, state)
    return [fold.finish() for fold in folds]


def _interleaved(cuts: Sequence[Blocks[Any]]) -> Iterator[tuple[int, Any]]:
    """Yield the blocks of all cuts, each with the position of its cut, in the order of the rows."""
    if not cuts[0].in_memory:
        return iter(SharedRead(cuts))  # type: ignore[arg-type]
    return shared_blocks(cuts)  # type: ignore[arg-type]


def _evaluated(
    folds: Sequence[SharedFold], blocks: Iterator[tuple[int, Any]]
) -> Generator[tuple[int, float, tuple[SharedFold, Keyed | RefusalError]]]:
    """Yield the number of each block, its share of the work, its fold and its state, in the order read.

    Folds that read structures have threads of their own; those that predict share theirs, because a model
    that predicts on one thread must not be called from two.
    """
    waiting: deque[tuple[SharedFold, Any, Future[Keyed]]] = deque()

    def finished() -> tuple[int, float, tuple[SharedFold, Keyed | RefusalError]]:
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
        for pool in pools:  # on an error or Ctrl-C what has not begun is dropped
            stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        for position, block in blocks:
            fold = folds[position]
            if fold.refused is None:
                waiting.append((fold, block, pools[position].submit(fold.evaluator.evaluate, block)))
            if len(waiting) > AHEAD * sum(fold.threads for fold in folds):
                yield finished()
        while waiting:
            yield finished()
