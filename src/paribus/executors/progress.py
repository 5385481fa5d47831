"""A bar, shown only when there is something to wait for."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextvars import copy_context
from threading import Lock, Timer
from time import perf_counter
from typing import Any

from paribus.contracts import S

PATIENCE = 2.0  # seconds a person waits without asking
WARM = 0.5  # seconds before the pace is believed, because the first call is often slow


def with_progress(
    results: Iterable[tuple[int, float, S]],
    rows: int | None,
    progress: bool | None,
    doing: str = "paribus",
    before: float = 0.0,
) -> Generator[tuple[int, S]]:
    """Pass states on while counting the rows behind them; ``before`` were done earlier.

    None decides: the bar appears after each block when the whole is expected to take longer than two seconds
    at the pace so far, which is believed after half a second, and after two seconds in any case, although no
    block may be done by then.
    """
    bar = _Bar(rows, before, doing)
    start = perf_counter()
    timer = bar.shown_later() if progress is None else None
    try:
        for number, work, state in results:
            bar.advance(work)
            left = None if rows is None else rows - before
            if _wanted(progress, perf_counter() - start, bar.done - before, left):
                bar.show()
            yield number, state
    finally:
        if timer is not None:
            timer.cancel()
        bar.close()


def _wanted(progress: bool | None, elapsed: float, done: float, rows: float | None) -> bool:
    if progress is not None:
        return progress
    return rows is not None and elapsed > WARM and elapsed * (rows / max(done, 1e-9)) > PATIENCE


class _Bar:
    """Rows done of all, on a bar that two threads may show and only one does."""

    def __init__(self, rows: int | None, before: float, doing: str) -> None:
        self.rows, self.done, self.doing = rows, before, doing
        self._drawn: Any = None
        self._closed = False
        self._lock = Lock()

    def shown_later(self) -> Timer:
        """Show the bar when patience ends, in the notebook cell that asked."""
        timer = Timer(PATIENCE, copy_context().run, (self.show,))
        timer.daemon = True
        timer.start()
        return timer

    def show(self) -> None:
        from tqdm.auto import tqdm

        with self._lock:
            if self._drawn is None and not self._closed:
                self._drawn = tqdm(
                    total=self.rows, initial=self.done, unit=" rows", unit_scale=True, desc=self.doing
                )

    def advance(self, work: float) -> None:
        with self._lock:
            self.done += work
            if self._drawn is not None:
                self._drawn.update(work)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            if self._drawn is not None:
                self._drawn.close()
