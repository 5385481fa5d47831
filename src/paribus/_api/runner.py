"""How passes over the rows are run: who folds, what is kept, and what is shown meanwhile."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import xxhash

from paribus import _budget
from paribus._contracts import Blocks, Evaluator
from paribus._evaluators.planner import Plan
from paribus._executors import DaskExecutor, as_executor
from paribus._executors.dask import current_client
from paribus._states import Keyed
from paribus._text import count
from paribus._version import __version__
from paribus.errors import CostWarning, RefusalError


@dataclass(frozen=True, eq=False)
class Pass:
    """One fold that is to be run: ``name`` is that of its folder in a checkpoint.

    ``memory`` is what it takes at most; with an ``identity``, which says what its states are states of,
    finished ranges are kept if there is a checkpoint; ``reads`` says that it goes through X, or which
    ``rows`` it goes through.
    """

    name: str
    evaluator: Evaluator[Any, Keyed]
    blocks: Blocks[Any]
    threads: int
    memory: int = 0
    identity: Mapping[str, str] | None = None
    known: Mapping[str, Callable[..., Any]] | None = None
    reads: bool = True
    plan: Plan | None = None
    rows: Any = None

    @property
    def predicts(self) -> bool:
        """Whether the model itself is evaluated."""
        return self.plan is not None and not self.plan.evaluator.shortcut

    @property
    def doing(self) -> str:
        """What a progress bar shows: where calls are dear, also how many there are in all."""
        if self.plan is None or not getattr(self.plan.evaluator.request, "few_calls", False):
            return self.name
        predictions, calls = self.plan.evaluator.predictions, self.plan.evaluator.calls
        return (
            f"{self.name}, {count(predictions, 'prediction')} in {count(calls, 'call')}"
            if calls
            else self.name
        )


@dataclass(eq=False)
class Runner:
    """Folds for one run, on what ``executor`` stands for; ``passes`` counts how often the rows were read."""

    progress: bool | None = None
    executor: Any = None
    checkpoint: Any = None
    passes: int = field(default=0, init=False)
    _rounds: int = field(default=1, init=False)

    @classmethod
    def of(cls, progress: bool | None, executor: Any, checkpoint: Any) -> Runner:
        """Check what the user gave."""
        as_executor(executor)  # refuses what is none
        if checkpoint is not None:
            from paribus._executors.checkpoint import Checkpoint

            checkpoint = Checkpoint.of(checkpoint)
        return cls(progress, executor, checkpoint)

    def join_cluster(self) -> None:
        """Compute on the cluster this process is connected to, if it is and the user named none."""
        if self.executor is None:
            self.executor = current_client()

    @property
    def client(self) -> Any | None:
        """The cluster that computes a Dask data frame, None where another engine folds."""
        return self.executor if DaskExecutor.accepts(self.executor) else None

    @property
    def where(self) -> str:
        """Who computes, in words."""
        return as_executor(self.executor).describe()

    def fold(self, passes: Sequence[Pass], memory: float = float("inf")) -> list[Keyed | RefusalError]:
        """Return the state of each pass, or why its evaluator refused; reads are shared within ``memory``."""
        wanted, passes = passes, list(dict.fromkeys(passes))  # several may need the same pass
        twice = [name for name, count in Counter(one.name for one in passes).items() if count > 1]
        if twice:
            raise ValueError(f"two passes of a round have the same name: {twice}")
        states: dict[str, Keyed | RefusalError] = {}
        stores = {one.name: self._store(one) for one in passes}
        self._rounds += all(one.known is None for one in passes)
        for group in self._groups(passes, stores, memory):
            if len(group) > 1:
                states |= self._together(group, stores)
            else:
                states[group[0].name] = self._alone(group[0], stores[group[0].name])
            self.passes += any(one.reads and not one.blocks.in_memory for one in group)
        self.passes += any(one.reads and one.blocks.in_memory for one in passes)
        return [states[one.name] for one in wanted]

    def begin(self) -> None:
        """Count passes and rounds anew; the survey is round 0."""
        self.passes, self._rounds = 0, 1

    def _groups(
        self, passes: Sequence[Pass], stores: Mapping[str, Any], memory: float
    ) -> Iterator[list[Pass]]:
        """Yield passes that go through the same rows together, as many as fit ``memory``.

        A cluster goes through them for each evaluator, and so does a run that goes on from a checkpoint.
        """
        groups: list[list[Pass]] = []
        begun = {name for name, store in stores.items() if store is not None and store.begun}
        apart: set[str] = set()
        for one in passes:
            # A model predicts rows in memory where the user called: its settings may be those of a thread.
            alone = self.executor is not None or one.name in begun or (one.blocks.in_memory and one.predicts)
            if alone:
                apart.add(one.name)
            fits = groups and not alone and groups[-1][0].name not in apart and _same_rows(groups[-1][0], one)
            if fits and sum(each.memory for each in groups[-1]) + one.memory <= memory:
                groups[-1].append(one)
            else:
                groups.append([one])
        yield from groups

    def _store(self, one: Pass) -> Any:
        if self.checkpoint is None or one.identity is None:
            return None
        cut = one.blocks.size, one.blocks.count, one.blocks.rows, __version__
        settings = {"settings": digest(one.identity["settings"], cut)}
        name = f"{0 if one.known is not None else self._rounds:02d}-{one.name}"
        return self.checkpoint.store(name, {**one.identity, **settings}, one.known or {})

    def _alone(self, one: Pass, store: Any) -> Keyed | RefusalError:
        try:
            executor = as_executor(
                self.executor, threads=one.threads, progress=self.progress, doing=one.doing
            )
            state: Keyed = executor.fold(one.evaluator, one.blocks, Keyed({}), store=store)
        except RefusalError as refusal:
            return refusal
        return state

    def _together(self, group: list[Pass], stores: Mapping[str, Any]) -> dict[str, Keyed | RefusalError]:
        from paribus._executors.local import SharedFold, fold_together

        # Threads of a model that predicts are the user's; ours need not be many times the cores.
        most = max(1, -(-2 * _budget.threads(-1) // len(group)))
        folds = [
            SharedFold(one.evaluator, one.blocks, min(one.threads, most), one.predicts, stores[one.name])
            for one in group
        ]
        states = fold_together(folds, self.progress, " and ".join(one.doing for one in group))
        return {one.name: state for one, state in zip(group, states, strict=True)}


def _same_rows(one: Pass, other: Pass) -> bool:
    """Return whether two passes go through the same rows, in memory or read."""
    return one.blocks.in_memory == other.blocks.in_memory and one.rows is other.rows


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
    hasher = xxhash.xxh3_128()
    for part in parts:
        hasher.update(part.tobytes() if hasattr(part, "tobytes") else repr(part).encode())
        hasher.update(b"\x1f")
    return hasher.hexdigest()
