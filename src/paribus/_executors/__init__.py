"""Executors, which evaluate blocks and merge their states."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from paribus._contracts import Executor
from paribus._executors.local import LocalExecutor
from paribus._loading import load_plugin, plugins
from paribus.errors import ExecutorError, InputError, OptionError, failure

__all__ = ["LocalExecutor", "as_executor", "connected"]

ENGINES = {"tcp": "dask", "tls": "dask", "spark": "spark", "sc": "spark"}  # by the scheme of an address


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


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Connect to a cluster in the meantime, and yield its client or session; None without an address."""
    if address is None:
        yield None
        return
    engine, shown = ENGINES.get(address.partition("://")[0]), address.partition(";")[0]  # without a token
    if engine is None or ("://" not in address and address != "spark"):
        raise OptionError(
            f"executor {shown} must be tcp://HOST:PORT of a Dask scheduler, spark for the session of "
            "spark-submit, spark://HOST:PORT of a Spark master, or sc://HOST of Spark Connect"
        )
    from paribus._executors.dask import client_of
    from paribus._executors.spark import session_of

    try:
        client = client_of(address) if engine == "dask" else session_of(address)
    except ImportError as error:
        raise OptionError(f"executor {shown} needs pip install 'paribus[{engine}]'") from error
    except Exception as error:
        reason = failure(error).replace(address, shown)
        raise ExecutorError(f"executor {shown} did not answer: {reason}") from error
    try:
        yield client
    finally:
        (client.close if engine == "dask" else client.stop)()
