"""A bar in rows, shown only when there is something to wait for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from time import perf_counter
from typing import Any

from paribus.contracts import S

PATIENCE = 2.0  # seconds a person waits without asking


def with_progress(results: Iterable[tuple[int, S]], rows: int, progress: bool | None) -> Iterator[S]:
    """Pass states on while counting their rows.

    None decides after the first block: the bar appears when the rest is expected to take longer than
    two seconds at the same pace.
    """
    start, done, bar = perf_counter(), 0, None
    try:
        for size, state in results:
            done += size
            if bar is not None:
                bar.update(size)
            elif _wanted(progress, perf_counter() - start, done, rows):
                bar = _bar(rows, done)
            yield state
    finally:
        if bar is not None:
            bar.close()


def _wanted(progress: bool | None, elapsed: float, done: int, rows: int) -> bool:
    return progress if progress is not None else elapsed * (rows / done) > PATIENCE


def _bar(rows: int, done: int) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=rows, initial=done, unit="row", unit_scale=True, desc="paribus")
