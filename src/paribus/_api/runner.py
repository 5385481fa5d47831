"""Passes over the rows, and the runner that folds them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import xxhash

from paribus import _budget
from paribus._contracts import Blocks, Evaluator
from paribus._evaluators.planner import Plan
from paribus._executors import as_executor
from paribus._executors.progress import AnnouncingEvaluator
from paribus._states import Keyed
from paribus._version import __version__
from paribus.errors import OptionError, RefusalError


@dataclass(frozen=True, eq=False)
class Pass:
    """A fold of one evaluator over blocks of rows.

    ``name`` is also a part of the name of its folder in a checkpoint, and ``memory`` its maximum in bytes.
    States of a pass with an ``identity`` are stored in the checkpoint; ``known`` are their additional
    classes. ``reads`` says whether the pass counts as a pass over X. ``rows`` are those of the blocks.
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
        """Whether the model itself predicts (brute force)."""
        return self.plan is not None and not self.plan.evaluator.shortcut


@dataclass(eq=False)
class Runner:
    """Runner of passes on an executor; ``passes`` counts how often the rows were read."""

    progress: bool | None = None
    executor: Any = None
    checkpoint: Any = None
    passes: int = field(default=0, init=False)
    _rounds: int = field(default=1, init=False)
    _planned: set[Plan] = field(default_factory=set, init=False)

    @classmethod
    def of(cls, progress: bool | None, executor: Any, checkpoint: Any) -> Runner:
        """Validate the user's arguments."""
        as_executor(executor)  # raises for other types
        if checkpoint is not None:
            from paribus._executors.checkpoint import Checkpoint

            checkpoint = Checkpoint.of(checkpoint)
        return cls(progress, executor, checkpoint)

    def join_cluster(self) -> Any | None:
        """Return the Dask client that computes a data frame, None if another executor folds.

        Without an executor, use the client of this process, if there is one.
        """
        from paribus._executors.dask import DaskExecutor, current_client

        if self.executor is None:
            self.executor = current_client()
        return self.executor if DaskExecutor.accepts(self.executor) else None

    def join_session(self, session: Any) -> None:
        """Compute on the session of a Spark data frame; no other executor has access to its rows."""
        from paribus._executors.spark import SparkExecutor

        if self.executor is None:
            self.executor = session
        if not SparkExecutor.accepts(self.executor):
            raise OptionError(
                "X is a Spark data frame, so that executor= must be its SparkSession. Omit executor=, or "
                "write X to Parquet and pass the folder"
            )

    @property
    def where(self) -> str:
        """Description of the executor."""
        return as_executor(self.executor).describe()

    def fold(self, passes: Sequence[Pass], memory: float = float("inf")) -> list[Keyed | RefusalError]:
        """Return the state or refusal of each pass; passes that fit ``memory`` share a read."""
        wanted = self._announcing(passes)
        passes = list(dict.fromkeys(wanted))  # statistics may share a pass
        stores = {one: self._store(one) for one in passes}
        stored = [one.name for one in passes if stores[one] is not None]
        if len(set(stored)) < len(stored):
            raise ValueError(f"two stored passes of a round have the same name: {sorted(stored)}")
        states: dict[Pass, Keyed | RefusalError] = {}
        self._rounds += all(one.known is None for one in passes)
        for group in self._groups(passes, stores, memory):
            if len(group) > 1:
                states |= self._together(group, stores)
            else:
                states[group[0]] = self._alone(group[0], stores[group[0]])
            self.passes += any(one.reads and not one.blocks.in_memory for one in group)
        self.passes += any(one.reads and one.blocks.in_memory for one in passes)
        return [states[one] for one in wanted]

    def _announcing(self, passes: Sequence[Pass]) -> list[Pass]:
        """Return passes of which the first that predicts announces the predictions of all, if they are long.

        The time is that of this process, so that passes on a cluster are not announced.
        """
        predicting = [one for one in passes if one.predicts and one.plan not in self._planned]
        plans = {one.plan for one in predicting if one.plan is not None}
        self._planned |= plans
        total = sum(plan.evaluator.predictions for plan in plans)
        first = next((one for one in predicting if one.blocks.rows), None)
        if self.progress is False or self.executor is not None or not total or first is None:
            return list(passes)
        of_pass = getattr(first.evaluator, "predictions", total) / (first.blocks.rows or 1)
        evaluator = AnnouncingEvaluator(first.evaluator, total, of_pass, first.threads)
        announcing = replace(first, evaluator=evaluator)
        return [announcing if one is first else one for one in passes]

    def begin(self) -> None:
        """Reset the counts of passes and rounds; the survey is round 0."""
        self.passes, self._rounds = 0, 1
        self._planned.clear()

    def _groups(
        self, passes: Sequence[Pass], stores: Mapping[Pass, Any], memory: float
    ) -> Iterator[list[Pass]]:
        """Yield groups of passes over the same rows that together fit ``memory``.

        Passes on another executor, or resumed from a checkpoint, run alone.
        """
        groups: list[list[Pass]] = []
        begun = {one for one, store in stores.items() if store is not None and store.begun}
        apart: set[Pass] = set()
        for one in passes:
            # A model predicts in-memory rows in the calling thread: its settings may be thread-local.
            alone = self.executor is not None or one in begun or (one.blocks.in_memory and one.predicts)
            if alone:
                apart.add(one)
            near = groups[-1:] if one.blocks.in_memory else groups[::-1]  # a read is shared wherever it is
            for group in [] if alone else near:
                first, needed = group[0], sum(each.memory for each in group) + one.memory
                same = first.blocks.in_memory == one.blocks.in_memory and first.rows is one.rows
                if same and first not in apart and needed <= memory:
                    group.append(one)
                    break
            else:
                groups.append([one])
        yield from groups

    def _store(self, one: Pass) -> Any:
        """Return the store of the states of a pass, None without a checkpoint."""
        if self.checkpoint is None or one.identity is None:
            return None
        cut = one.blocks.size, one.blocks.count, one.blocks.rows, __version__
        settings = one.identity["settings"]
        number = 0 if one.known is not None else self._rounds
        # Calls with other settings have other folders, so that an explainer needs a single checkpoint.
        name = f"{number:02d}-{one.name}-{settings[:12]}"
        identity = {**one.identity, "settings": digest(settings, cut)}
        return self.checkpoint.store(name, identity, one.known or {})

    def _alone(self, one: Pass, store: Any) -> Keyed | RefusalError:
        """Return the state of a pass that reads the rows alone, or its refusal."""
        try:
            executor = as_executor(self.executor, threads=one.threads, progress=self.progress, doing=one.name)
            state: Keyed = executor.fold(one.evaluator, one.blocks, Keyed({}), store=store)
        except RefusalError as refusal:
            return refusal
        return state

    def _together(self, group: list[Pass], stores: Mapping[Pass, Any]) -> dict[Pass, Keyed | RefusalError]:
        """Return the state or refusal of each pass of a group that shares a read."""
        from paribus._executors.local import SharedFold, fold_together

        # The threads of all passes together are at most about twice the cores.
        most = max(1, -(-2 * _budget.threads(-1) // len(group)))
        folds = [
            SharedFold(one.evaluator, one.blocks, min(one.threads, most), one.predicts, stores[one])
            for one in group
        ]
        states = fold_together(folds, self.progress, " and ".join(dict.fromkeys(one.name for one in group)))
        return dict(zip(group, states, strict=True))


def digest(*parts: Any) -> str:
    """Return a digest of values by their repr, and of arrays by their bytes."""
    hasher = xxhash.xxh3_128()
    for part in parts:
        hasher.update(part.tobytes() if hasattr(part, "tobytes") else repr(part).encode())
        hasher.update(b"\x1f")
    return hasher.hexdigest()
