"""A bar, shown only when there is something to wait for."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from time import perf_counter
from typing import Any

from paribus.contracts import S

PATIENCE = 2.0  # seconds a person waits without asking
WARM = 0.5  # seconds before the pace is believed, because the first call is often slow


def with_progress(results: Iterable[tuple[int, S]], work: int, progress: bool | None) -> Generator[S]:
    """Pass states on while counting the work behind them.

    None decides after each block: the bar appears when the whole is expected to take longer than two
    seconds at the pace so far, which is believed after half a second.
    """
    start, done, bar = perf_counter(), 0, None
    try:
        for size, state in results:
            done += size
            if bar is not None:
                bar.update(size)
            elif _wanted(progress, perf_counter() - start, done, work):
                bar = _bar(work, done)
            yield state
    finally:
        if bar is not None:
            bar.close()


def _wanted(progress: bool | None, elapsed: float, done: int, work: int) -> bool:
    if progress is not None:
        return progress
    return elapsed > WARM and elapsed * (work / max(done, 1)) > PATIENCE


def _bar(work: int, done: int) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=work, initial=done, unit=" evaluations", unit_scale=True, desc="paribus")
