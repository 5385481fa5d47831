"""Who folds: evaluates blocks and merges their states."""

from __future__ import annotations

from typing import Any

from paribus.contracts import Executor
from paribus.errors import OptionError
from paribus.executors.dask import Dask
from paribus.executors.local import Local

__all__ = ["Dask", "Local", "as_executor"]


def as_executor(
    executor: Any = None, *, threads: int = 1, progress: bool | None = None, doing: str = "paribus"
) -> Executor:
    """Return who folds: an engine that accepts what was passed, or an `Executor` as it is.

    ``threads`` are those of this process; ``doing`` is what a progress bar shows.

    >>> as_executor().describe()
    'this process'
    """
    if executor is None:
        return Local(threads, progress, doing)
    if Dask.accepts(executor):
        return Dask(executor, progress, doing)
    if isinstance(executor, Executor) and not isinstance(executor, type):
        return executor
    raise OptionError(
        f"executor={executor!r} must be a dask.distributed Client; leave it out to compute here, where "
        "n_jobs says on how many threads"
    )
