"""Folding in this process, on one thread or several."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from paribus.contracts import B, Evaluator, S
from paribus.executors.progress import with_progress
from paribus.states import merge_in_order

AHEAD = 2  # blocks that wait per thread, so that no thread waits for the next one


@dataclass(frozen=True)
class Local:
    """Fold over blocks with threads; they help where the model releases the interpreter lock."""

    threads: int = 1
    progress: bool | None = None

    def fold(self, evaluator: Evaluator[B, S], blocks: Iterable[B], zero: S, *, work: int) -> S:
        """Evaluate every block and merge in block order, so that threads do not change a bit."""
        results = self._threaded(evaluator, blocks) if self.threads > 1 else self._serial(evaluator, blocks)
        # Closed here and now, so that an interrupt while merging stops the threads as well.
        with closing(results), closing(with_progress(results, work, self.progress)) as states:
            return merge_in_order(states, zero)

    def _serial(self, evaluator: Evaluator[B, S], blocks: Iterable[B]) -> Generator[tuple[int, S]]:
        for block in blocks:
            yield len(block), evaluator.evaluate(block)

    def _threaded(self, evaluator: Evaluator[B, S], blocks: Iterable[B]) -> Generator[tuple[int, S]]:
        """Keep a short queue ahead of the threads; on an error or Ctrl-C what has not begun is dropped."""
        waiting: deque[tuple[int, Future[S]]] = deque()
        with ThreadPoolExecutor(self.threads, thread_name_prefix="paribus") as pool:
            try:
                for block in blocks:
                    waiting.append((len(block), pool.submit(evaluator.evaluate, block)))
                    if len(waiting) > AHEAD * self.threads:
                        yield _finished(waiting)
                while waiting:
                    yield _finished(waiting)
            finally:
                pool.shutdown(wait=True, cancel_futures=True)


def _finished(waiting: deque[tuple[int, Future[S]]]) -> tuple[int, S]:
    size, future = waiting.popleft()
    return size, future.result()
