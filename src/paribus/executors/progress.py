"""A bar, shown only when there is something to wait for."""

from __future__ import annotations

from collections.abc import Generator, Iterable
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

    None decides after each block: the bar appears when the whole is expected to take longer than two
    seconds at the pace so far, which is believed after half a second. Of ``rows`` nobody knows the
    number of, it appears after two seconds.
    """
    start, done, bar = perf_counter(), 0.0, None
    try:
        for number, work, state in results:
            done += work
            if bar is not None:
                bar.update(work)
            elif _wanted(progress, perf_counter() - start, done, None if rows is None else rows - before):
                bar = _bar(rows, before + done, doing)
            yield number, state
    finally:
        if bar is not None:
            bar.close()


def _wanted(progress: bool | None, elapsed: float, done: float, rows: float | None) -> bool:
    if progress is not None:
        return progress
    if rows is None:
        return elapsed > PATIENCE
    return elapsed > WARM and elapsed * (rows / max(done, 1e-9)) > PATIENCE


def _bar(rows: int | None, done: float, doing: str) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=rows, initial=done, unit=" rows", unit_scale=True, desc=doing)
