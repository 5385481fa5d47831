"""Folding on a Dask cluster: states are merged where they are, along the same tree as everywhere."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self
from uuid import uuid4

from paribus._contracts import B, Blocks, Evaluator, S, StateStore
from paribus._executors.local import KEPT, LocalExecutor
from paribus._executors.progress import with_progress
from paribus._states import Keyed, merge_in_order, ranges_of
from paribus._text import count
from paribus.errors import ExecutorError, ModelError, OptionError, ParibusError, failure

RETRIES = 3  # of a task that fails, and of one whose worker dies as often as the cluster allows
PER_THREAD, MOST_TASKS = 4, 8_192  # tasks: enough to share evenly, not too many to schedule


def current_client() -> Any | None:
    """Return the client this process would compute with, None if it has none."""
    if "distributed" not in sys.modules:
        return None
    import distributed

    try:
        return distributed.default_client()
    except ValueError:
        return None


@dataclass(frozen=True, eq=False)
class DaskExecutor:
    """Fold on the workers of a `dask.distributed.Client`.

    The evaluator, which holds the model, is a task of its own: it is sent to each worker once, and made again
    if its worker dies. A task evaluates a range of blocks that is a branch of the tree of merges; merges are
    tasks too and never change what they are given, so a task that is run twice cannot count twice.
    """

    client: Any
    progress: bool | None = None
    task: str = "paribus"

    @staticmethod
    def accepts(obj: Any) -> bool:
        """Return whether something is a client, by what it can do."""
        return hasattr(obj, "submit") and hasattr(obj, "nthreads")

    def describe(self) -> str:
        """Return who computes, in words."""
        return f"Dask, {count(len(self.client.nthreads()), 'worker')}"

    def fold(
        self, evaluator: Evaluator[B, S], blocks: Blocks[B], zero: S, *, store: StateStore | None = None
    ) -> S:
        """Evaluate every block on some worker; the states' tree is that of `LocalExecutor`, to the bit."""
        if blocks.count is None:
            raise OptionError(
                "executor= needs rows that other processes can read: Parquet files, a Dask data frame or a "
                "table in memory. Write X to Parquet and pass the folder"
            )
        if not blocks.count:
            return zero
        ranges = [(0, blocks.count)] if store is None else ranges_of(blocks.count, KEPT)
        left = [one for one in ranges if store is None or not store.contains(*one)]
        graph, tasks = Graph.of(evaluator), self._tasks(blocks)
        branches = [graph.branch(blocks, *one, tasks) for one in left]
        with closing(self._states(branches, blocks)) as states:
            if store is None:
                state: S = next(states)[1]
                return state
            for position, computed in states:
                store.save(*left[position], computed)
        merged: S = merge_in_order(store.load(*one) for one in ranges)
        return merged

    def _tasks(self, blocks: Blocks[Any]) -> int:
        """Return into how many tasks to cut all blocks: no result depends on it."""
        threads = sum(self.client.nthreads().values()) or 1
        return min(max(PER_THREAD * threads, blocks.n_tasks), MOST_TASKS)

    def _states(self, branches: list[Branch], blocks: Blocks[Any]) -> Generator[tuple[int, Any]]:
        """Submit everything, show what is done, and yield the states of branches as they come."""
        futures = self._submitted(branches)
        done = (blocks.rows or 0) - sum(branch.rows for branch in branches)
        try:
            arriving = _arriving(self.client, branches, futures)
            with closing(with_progress(arriving, blocks.rows, self.progress, self.task, done)) as bar:
                for position, state in bar:
                    if position >= 0:
                        yield position, state
        finally:
            self.client.cancel(futures)

    def _submitted(self, branches: list[Branch]) -> list[Any]:
        """Submit the roots of all branches, and after them the notes."""
        roots = [branch.root for branch in branches]
        notes = [note for branch in branches for note, _ in branch.notes]
        with warnings.catch_warnings():
            # A large model is in the graph on purpose: as a task it is made again when its worker dies.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            futures: list[Any] = self.client.compute([*roots, *notes], retries=RETRIES, optimize_graph=False)
        return futures


def _arriving(client: Any, branches: list[Branch], futures: list[Any]) -> Iterator[tuple[int, float, Any]]:
    """Yield the number of a branch, rows and its state when it is done, or -1, rows and None for a part."""
    import distributed

    roots = {future.key: position for position, future in enumerate(futures[: len(branches)])}
    parts = [(position, part) for position, branch in enumerate(branches) for _, part in branch.notes]
    where = {future.key: one for future, one in zip(futures[len(branches) :], parts, strict=True)}
    left = [float(branch.rows) for branch in branches]
    for future in distributed.as_completed(futures, loop=client.loop):
        # One that was lost with its worker after it was done is computed again.
        if future.status in ("error", "cancelled"):
            raise _failed(future, branches, where.get(future.key))
        if future.key in roots:
            position = roots[future.key]
            yield position, left[position], _result(future, branches)
            left[position] = 0.0
        else:
            position, part = where[future.key]
            if future.status == "finished":
                _raised(future.result())
            work = min(left[position], float(part.rows or 0))
            left[position] -= work
            yield -1, work, None


def _result(future: Any, branches: list[Branch]) -> Any:
    try:
        state = future.result()
    except Exception as error:
        raise _failed(future, branches, None) from error
    _raised(state)
    return state


def _raised(found: Any) -> None:
    """Raise what a task returned instead of a state."""
    if isinstance(found, FailedTask):
        raise found.error


@dataclass(frozen=True, eq=False)
class Branch:
    """The task whose result is the state of a range, and the tasks that report which parts are done.

    ``keys`` are the names of the tasks that evaluate parts.
    """

    root: Any
    notes: list[tuple[Any, Blocks[Any]]]
    keys: dict[str, Blocks[Any]]

    @property
    def rows(self) -> int:
        """Rows of all its parts."""
        return sum(part.rows or 0 for _, part in self.notes)


@dataclass(frozen=True, eq=False)
class FailedTask:
    """An error that would come again however often the task is tried, as its result."""

    error: ParibusError

    def merge(self, other: Any) -> Self:
        """Stay what it is."""
        return self


@dataclass(frozen=True, eq=False)
class Merging:
    """A task that has a state; merging two of them makes a task."""

    task: Any
    graph: Graph

    def merge(self, other: Self) -> Self:
        """Return the task that merges both states."""
        return type(self)(self.graph.call(_merged, "merge", self.task, other.task), self.graph)


@dataclass(frozen=True, eq=False)
class Graph:
    """Tasks of one fold, under names that no other fold has."""

    run: str
    evaluator: Any

    @classmethod
    def of(cls, evaluator: Any) -> Self:
        """Begin with the evaluator, as bytes: what a task is given must not be changed by running it."""
        import cloudpickle
        from dask.delayed import delayed

        run = uuid4().hex[:8]
        shipped = delayed(_unpacked, pure=True)(
            cloudpickle.dumps(evaluator), dask_key_name=f"paribus-evaluator-{run}"
        )
        return cls(run, shipped)

    def call(self, function: Any, name: str, *arguments: Any) -> Any:
        """Return a task."""
        from dask.delayed import delayed

        key = f"paribus-{name}-{self.run}-{uuid4().hex[:12]}"
        return delayed(function, pure=True)(*arguments, dask_key_name=key)

    def branch(self, blocks: Blocks[Any], first: int, stop: int, tasks: int) -> Branch:
        """Return the tasks of a range of blocks, which is cut further for an even share."""
        share = -(-tasks * (stop - first) // (blocks.count or 1))
        leaves, notes, keys = [], [], {}
        for low, high in ranges_of(stop - first, max(1, share)):
            part = blocks.part(first + low, first + high)
            state = self.call(_evaluated, "evaluate", self.evaluator, *part.payload())
            leaves.append(Merging(state, self))
            notes.append((self.call(_noted, "note", state), part))
            keys[state.key] = part
        return Branch(merge_in_order(leaves).task, notes, keys)


def _unpacked(packed: bytes) -> Any:
    import cloudpickle

    return cloudpickle.loads(packed)


def _evaluated(evaluator: Any, blocks: Blocks[Any], computed: list[Any]) -> Any:
    """Return the state of some blocks: they are read, or cut from parts that were computed."""
    local = LocalExecutor(1, progress=False)
    try:
        parts = blocks.received(computed)
        return merge_in_order(local.fold(evaluator, part, Keyed({})) for part in parts)
    except ModelError:
        raise  # a model may fail by chance, and is tried again
    except ParibusError as error:
        return FailedTask(error)


def _merged(one: Any, two: Any) -> Any:
    return two if isinstance(two, FailedTask) else one.merge(two)


def _noted(state: Any) -> FailedTask | None:
    return state if isinstance(state, FailedTask) else None


def _failed(future: Any, branches: list[Branch], part: Any) -> ParibusError:
    """Return what went wrong, and on which rows, as one error."""
    error = future.exception() if future.status == "error" else None
    if isinstance(error, ParibusError):
        return error
    if part is None:
        keys = {key: one for branch in branches for key, one in branch.keys.items()}
        part = keys.get(str(getattr(error, "task", "")))
    else:
        part = part[1]
    where = "" if part is None else f" on {part.describe()}"
    if error is None:
        return ExecutorError(f"the computation{where} was cancelled on the cluster")
    if type(error).__name__ == "KilledWorker":
        return ExecutorError(
            f"every worker that computed{where} died: {error}. Was memory short? Give workers more, or fewer "
            "threads each; nothing was returned"
        )
    return ExecutorError(f"a worker failed{where}: {failure(error)}")
