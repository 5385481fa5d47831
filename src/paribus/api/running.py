"""How a call is run: who folds, what is kept for a run begun again, and what is said meanwhile."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import xxhash

from paribus.contracts import Blocks, KeptEvaluator
from paribus.errors import CostWarning, OptionError
from paribus.executors import Local
from paribus.states import Keyed
from paribus.version import __version__


@dataclass(eq=False)
class Running:
    """Folds for one call. ``client`` is that of a cluster; ``passes`` counts how often the rows were read."""

    progress: bool | None = None
    client: Any = None
    checkpoint: Any = None
    passes: int = field(default=0, init=False)

    @classmethod
    def of(cls, progress: bool | None, executor: Any, checkpoint: Any) -> Running:
        """Check what the user gave."""
        if executor is not None and not (hasattr(executor, "submit") and hasattr(executor, "nthreads")):
            raise OptionError(
                f"executor={executor!r} must be a dask.distributed Client; leave it out to compute here, "
                "where n_jobs says on how many threads"
            )
        if checkpoint is not None:
            from paribus.executors.checkpoint import Checkpoint

            checkpoint = Checkpoint.of(checkpoint)
        return cls(progress, executor, checkpoint)

    def join_cluster(self) -> None:
        """Compute on the cluster this process is connected to, if it is and the user named none."""
        if self.client is None:
            from paribus.executors.dask import current_client

            self.client = current_client()

    @property
    def where(self) -> str:
        """Who computes, in words."""
        if self.client is None:
            return "this process"
        return f"Dask, {len(self.client.nthreads())} workers"

    def fold(
        self,
        evaluator: KeptEvaluator[Any, Keyed],
        blocks: Blocks[Any],
        threads: int,
        *,
        doing: str = "paribus",
        by: str = "",
        counts: bool = True,
        identity: Mapping[str, str] | None = None,
        known: Mapping[str, Callable[..., Any]] | None = None,
    ) -> Keyed:
        """Fold over blocks; with an ``identity``, finished ranges are kept if there is a checkpoint.

        ``by`` names who evaluates where another has refused; ``counts`` tells that this reads the rows.
        """
        keeper = None
        if self.checkpoint is not None and identity is not None:
            cut = getattr(blocks, "size", None), blocks.count, blocks.rows, __version__
            settings = {"settings": digest(identity["settings"], cut)}
            name = f"{self.passes:02d}-{doing}{by and '-'}{by}"
            expected = evaluator.expected(blocks.rows or 0)
            keeper = self.checkpoint.keeper(name, {**identity, **settings}, expected, known or {})
        if self.client is None:
            state = Local(threads, self.progress, doing).fold(evaluator, blocks, Keyed({}), keeper=keeper)
        else:
            from paribus.executors.dask import Dask

            state = Dask(self.client, self.progress, doing).fold(evaluator, blocks, Keyed({}), keeper=keeper)
        self.passes += counts
        if keeper is not None:
            keeper.check(state)
        return state


def announce(warning: str | None) -> None:
    """Warn of what is about to begin, if there is anything, where the user called."""
    if warning is None:
        return
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("paribus."):
        level, frame = level + 1, frame.f_back
    warnings.warn(warning, CostWarning, stacklevel=level)


def digest(*parts: Any) -> str:
    """Return a digest of settings: plain values by their text, arrays by their bytes."""
    found = xxhash.xxh3_128()
    for part in parts:
        found.update(part.tobytes() if hasattr(part, "tobytes") else repr(part).encode())
        found.update(b"\x1f")
    return found.hexdigest()
