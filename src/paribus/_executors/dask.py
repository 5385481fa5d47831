"""Folds on a Dask cluster: workers merge the states, along the same tree as in one process."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Self
from uuid import uuid4

from paribus._contracts import B, Blocks, Evaluator, S, StateStore
from paribus._executors.progress import with_progress
from paribus._executors.tasks import (
    MOST_TASKS,
    PER_THREAD,
    RETRIES,
    FailedTask,
    evaluate_part,
    raise_failed,
    stored_ranges,
    task_ranges,
)
from paribus._states import merge_in_order
from paribus._text import count
from paribus.errors import ExecutorError, ParibusError, failure


def client_of(address: str) -> Any:
    """Connect to a scheduler."""
    import distributed

    return distributed.Client(address)


def current_client() -> Any | None:
    """Return the default Dask client of this process, None without one."""
    if "distributed" not in sys.modules:
        return None
    import distributed

    try:
        return distributed.default_client()
    except ValueError:
        return None


@dataclass(frozen=True, eq=False)
class DaskExecutor:
    """Folds on the workers of a `dask.distributed.Client`.

    The evaluator, which holds the model, is a separate task: it is sent to each worker once, and created
    again if its worker dies. A task evaluates a range of blocks that is a branch of the merge tree. Merges
    are tasks too. They do not modify their inputs, so a task that runs twice does not count twice.
    """

    client: Any
    progress: bool | None = None
    task: str = "paribus"

    @staticmethod
    def accepts(obj: Any) -> bool:
        """Return whether an object has the methods of a client."""
        return hasattr(obj, "submit") and hasattr(obj, "nthreads")

    def describe(self) -> str:
        """Return a description of the executor."""
        return f"Dask, {count(len(self.client.nthreads()), 'worker')}"

    def fold(
        self, evaluator: Evaluator[B, S], blocks: Blocks[B], zero: S, *, store: StateStore | None = None
    ) -> S:
        """Evaluate every block on some worker, with the merge tree of `LocalExecutor`."""
        ranges, left = stored_ranges(blocks, store)
        if not blocks.count:
            return zero
        threads = sum(self.client.nthreads().values()) or 1
        tasks = min(max(PER_THREAD * threads, blocks.n_tasks), MOST_TASKS)  # results do not depend on it
        graph = Graph.of(evaluator)
        branches = [graph.branch(blocks, *one, tasks) for one in left]
        with closing(self._states(branches, blocks)) as states:
            if store is None:
                state: S = next(states)[1]
                return state
            for position, computed in states:
                store.save(*left[position], computed)
        merged: S = merge_in_order(store.load(*one) for one in ranges)
        return merged

    def _states(self, branches: list[Branch], blocks: Blocks[Any]) -> Generator[tuple[int, Any]]:
        """Submit all tasks, show progress, and yield the position and state of each finished branch."""
        futures = self._submitted(branches)
        done = (blocks.rows or 0) - sum(branch.rows for branch in branches)
        try:
            arriving = _finished_tasks(self.client, branches, futures)
            with closing(with_progress(arriving, blocks.rows, self.progress, self.task, done)) as bar:
                for position, state in bar:
                    if position >= 0:
                        yield position, state
        finally:
            self.client.cancel(futures)

    def _submitted(self, branches: list[Branch]) -> list[Any]:
        """Submit the roots of all branches, then the tasks that report finished parts."""
        roots = [branch.root for branch in branches]
        notes = [note for branch in branches for note, _ in branch.notes]
        with warnings.catch_warnings():
            # A large model is part of the graph, so that it is created again if its worker dies.
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            futures: list[Any] = self.client.compute([*roots, *notes], retries=RETRIES, optimize_graph=False)
        return futures


def _finished_tasks(
    client: Any, branches: list[Branch], futures: list[Any]
) -> Iterator[tuple[int, float, Any]]:
    """Yield the position, rows and state of each finished branch, and (-1, rows, None) for each part."""
    import distributed

    roots = {future.key: position for position, future in enumerate(futures[: len(branches)])}
    parts = [(position, part) for position, branch in enumerate(branches) for _, part in branch.notes]
    where = {future.key: one for future, one in zip(futures[len(branches) :], parts, strict=True)}
    left = [float(branch.rows) for branch in branches]
    for future in distributed.as_completed(futures, loop=client.loop):
        # A finished task that was lost with its worker is computed again.
        if future.status in ("error", "cancelled"):
            raise _task_error(future, branches, where.get(future.key))
        if future.key in roots:
            position = roots[future.key]
            yield position, left[position], _branch_state(future, branches)
            left[position] = 0.0
        else:
            position, part = where[future.key]
            if future.status == "finished":
                raise_failed(future.result())
            work = min(left[position], float(part.rows or 0))
            left[position] -= work
            yield -1, work, None


def _branch_state(future: Any, branches: list[Branch]) -> Any:
    """Return the state of a branch, or raise its error."""
    try:
        state = future.result()
    except Exception as error:
        raise _task_error(future, branches, None) from error
    raise_failed(state)
    return state


@dataclass(frozen=True, eq=False)
class Branch:
    """The task whose result is the state of a range, and the tasks that report finished parts.

    ``keys`` maps the names of the tasks that evaluate parts to these.
    """

    root: Any
    notes: list[tuple[Any, Blocks[Any]]]
    keys: dict[str, Blocks[Any]]

    @property
    def rows(self) -> int:
        """Number of rows of all parts."""
        return sum(part.rows or 0 for _, part in self.notes)


@dataclass(frozen=True, eq=False)
class Merging:
    """A task that returns a state; merging two of them creates a task."""

    task: Any
    graph: Graph

    def merge(self, other: Self) -> Self:
        """Return the task that merges both states."""
        return type(self)(self.graph.call(_merge_states, "merge", self.task, other.task), self.graph)


@dataclass(frozen=True, eq=False)
class Graph:
    """Tasks of one fold, with unique names."""

    run: str
    evaluator: Any

    @classmethod
    def of(cls, evaluator: Any) -> Self:
        """Create the task of the evaluator, which is pickled so that tasks cannot modify it."""
        import cloudpickle
        from dask.delayed import delayed

        run = uuid4().hex[:8]
        shipped = delayed(cloudpickle.loads, pure=True)(
            cloudpickle.dumps(evaluator), dask_key_name=f"paribus-evaluator-{run}"
        )
        return cls(run, shipped)

    def call(self, function: Any, name: str, *arguments: Any) -> Any:
        """Return a task that calls a function."""
        from dask.delayed import delayed

        key = f"paribus-{name}-{self.run}-{uuid4().hex[:12]}"
        return delayed(function, pure=True)(*arguments, dask_key_name=key)

    def branch(self, blocks: Blocks[Any], first: int, stop: int, tasks: int) -> Branch:
        """Return the tasks of a range of blocks, which is split for an even load."""
        leaves, notes, keys = [], [], {}
        for one in task_ranges(blocks, (first, stop), tasks):
            part = blocks.part(*one)
            state = self.call(evaluate_part, "evaluate", self.evaluator, *part.payload())
            leaves.append(Merging(state, self))
            notes.append((self.call(_report_part, "note", state), part))
            keys[state.key] = part
        return Branch(merge_in_order(leaves).task, notes, keys)


def _merge_states(one: Any, two: Any) -> Any:
    """Merge two states, or return the error of one."""
    return two if isinstance(two, FailedTask) else one.merge(two)


def _report_part(state: Any) -> FailedTask | None:
    """Report that a part is finished, or its error, without sending the state."""
    return state if isinstance(state, FailedTask) else None


def _task_error(future: Any, branches: list[Branch], part: Any) -> ParibusError:
    """Return the error of a failed task, with the rows that it computed."""
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
