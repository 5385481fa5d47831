"""Executors, which evaluate blocks and merge their states."""

from __future__ import annotations

from typing import Any

from paribus._contracts import Executor
from paribus._executors.local import LocalExecutor
from paribus._loading import load_plugin, plugins
from paribus.errors import InputError, OptionError

__all__ = ["LocalExecutor", "as_executor"]


def as_executor(
    executor: Any = None, *, threads: int = 1, progress: bool | None = None, doing: str = "paribus"
) -> Executor:
    """Return the executor of an argument: None, a Dask client, a Spark session, an `Executor`, or a plugin's.

    ``threads`` are those of this process; ``doing`` is the text of the progress bar.

    >>> as_executor().describe()
    'this process'
    """
    if executor is None:
        return LocalExecutor(threads, progress, doing)
    from paribus._executors.dask import DaskExecutor
    from paribus._executors.spark import SparkExecutor

    if DaskExecutor.accepts(executor):
        return DaskExecutor(executor, progress, doing)
    if SparkExecutor.accepts(executor):
        return SparkExecutor(executor, progress, doing)
    if isinstance(executor, Executor) and not isinstance(executor, type):
        return executor
    failed = ""
    for point in plugins("paribus.executors"):
        try:
            kind = load_plugin(point, "accepts", "describe", "fold")
        except InputError as error:
            failed = f"; {error}"
            continue
        if kind.accepts(executor):
            made: Executor = kind(executor, progress, doing)
            return made
    raise OptionError(
        f"executor={executor!r} must be a dask.distributed Client, a SparkSession, or an object with fold "
        f"and describe; omit it to compute locally on n_jobs threads{failed}"
    )
