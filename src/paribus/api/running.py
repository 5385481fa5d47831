"""How a call is run: who folds, what is kept for a run begun again, and what is said meanwhile."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import xxhash

from paribus.contracts import Blocks, KeptEvaluator
from paribus.errors import CostWarning
from paribus.executors import Dask, as_executor
from paribus.executors.dask import current_client
from paribus.states import Keyed
from paribus.version import __version__


@dataclass(eq=False)
class Running:
    """Folds for one call, on what ``executor`` stands for; ``passes`` counts how often the rows were read."""

    progress: bool | None = None
    executor: Any = None
    checkpoint: Any = None
    passes: int = field(default=0, init=False)

    @classmethod
    def of(cls, progress: bool | None, executor: Any, checkpoint: Any) -> Running:
        """Check what the user gave."""
        as_executor(executor)  # refuses what is none
        if checkpoint is not None:
            from paribus.executors.checkpoint import Checkpoint

            checkpoint = Checkpoint.of(checkpoint)
        return cls(progress, executor, checkpoint)

    def join_cluster(self) -> None:
        """Compute on the cluster this process is connected to, if it is and the user named none."""
        if self.executor is None:
            self.executor = current_client()

    @property
    def client(self) -> Any | None:
        """The cluster that computes a Dask data frame, None where another engine folds."""
        return self.executor if Dask.accepts(self.executor) else None

    @property
    def where(self) -> str:
        """Who computes, in words."""
        return as_executor(self.executor).describe()

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
        store = None
        if self.checkpoint is not None and identity is not None:
            cut = blocks.size, blocks.count, blocks.rows, __version__
            settings = {"settings": digest(identity["settings"], cut)}
            name = f"{self.passes:02d}-{doing}{by and '-'}{by}"
            expected = evaluator.expected(blocks.rows or 0)
            store = self.checkpoint.store(name, {**identity, **settings}, expected, known or {})
        executor = as_executor(self.executor, threads=threads, progress=self.progress, doing=doing)
        state = executor.fold(evaluator, blocks, Keyed({}), store=store)
        self.passes += counts
        if store is not None:
            store.check(state)
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
