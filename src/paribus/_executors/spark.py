"""Folds on Spark: tasks read and evaluate ranges of blocks, and the driver merges their states in order."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any
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
from paribus.errors import ExecutorError, ModelError, ParibusError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa

TASK_ROWS = 1 << 22  # rows after which another task is worth its state, which goes to the driver
JOB_TASKS = 16  # most tasks of a job, because spark.driver.maxResultSize bounds the states of a job
LEAST_JOBS = 4  # jobs at a time, so that dynamic allocation sees tasks that wait
ROW = "number long, rows long, state binary"  # result of a task

TaskResult = tuple[int, float, Any]  # number of a task, its rows and its state
_LOADED: dict[str, Any] = {}  # the last evaluator of a worker process, by the name of its fold


@dataclass(frozen=True, eq=False)
class SparkExecutor:
    """Folds on the workers of a `pyspark.sql.SparkSession`, classic or Spark Connect.

    Both have `mapInArrow`: a job is a frame of task numbers, one for each partition, whose workers return
    states. Spark returns each partition once, so that a task that runs twice does not count twice.
    """

    session: Any
    progress: bool | None = None
    task: str = "paribus"

    @staticmethod
    def accepts(obj: Any) -> bool:
        """Return whether an object has the methods of a session."""
        wanted = ("range", "createDataFrame", "interruptTag")
        return not isinstance(obj, type) and all(hasattr(obj, name) for name in wanted)

    def describe(self) -> str:
        """Return a description of the executor."""
        return f"Spark {self.session.version}"

    def fold(
        self, evaluator: Evaluator[B, S], blocks: Blocks[B], zero: S, *, store: StateStore | None = None
    ) -> S:
        """Evaluate every block on some worker, with the merge tree of `LocalExecutor`."""
        ranges, left = stored_ranges(blocks, store)
        if not blocks.count:
            return zero
        jobs = Jobs.of(self.session, evaluator)
        sent, frames = blocks.payload()
        try:
            if frames:
                return self._merged_partitions(jobs, sent, frames[0], zero)
            cores = jobs.cores()
            tasks = min(max(PER_THREAD * cores, (blocks.rows or 0) // TASK_ROWS), MOST_TASKS)
            split = [task_ranges(blocks, one, tasks) for one in left]
            parts = [blocks.part(*part) for some in split for part in some]
            with closing(self._states(jobs, parts, blocks, cores)) as states:
                for one, some in zip(left, split, strict=True):
                    state: S = merge_in_order(islice(states, len(some)))
                    if store is None:
                        return state
                    store.save(*one, state)
        finally:
            jobs.close()
        assert store is not None
        merged: S = merge_in_order(store.load(*one) for one in ranges)
        return merged

    def _states(
        self, jobs: Jobs, parts: list[Blocks[Any]], blocks: Blocks[Any], cores: int
    ) -> Generator[Any]:
        """Yield the state of each part, in order, while later jobs run."""
        size = min(JOB_TASKS, -(-len(parts) // LEAST_JOBS))
        ahead = max(LEAST_JOBS, -(-2 * cores // size))
        some = (parts[first : first + size] for first in range(0, len(parts), size))
        done = (blocks.rows or 0) - sum(part.rows or 0 for part in parts)
        with (
            closing(jobs.results(some, ahead)) as results,
            closing(with_progress(results, blocks.rows, self.progress, self.task, done)) as shown,
        ):
            for _, state in shown:
                yield state

    def _merged_partitions(self, jobs: Jobs, blocks: Blocks[Any], frame: Any, zero: S) -> S:
        """Return the state of a data frame, whose partitions are evaluated where they are computed."""
        rows = 0

        def counted() -> Iterator[TaskResult]:
            nonlocal rows
            for one in results:
                rows += int(one[1])
                yield one

        with (
            closing(jobs.partitions(blocks, frame)) as results,
            closing(with_progress(counted(), blocks.rows, self.progress, self.task)) as shown,
        ):
            merged: S = merge_in_order((state for _, state in shown), zero)
        if blocks.rows not in (None, rows):
            raise SourceError(
                f"X (a Spark data frame) has {rows:,} rows where it had {blocks.rows:,} before; it must "
                "return the same rows whenever computed. Write it to Parquet and pass the folder"
            )
        return merged


@dataclass(frozen=True, eq=False)
class Held:
    """Bytes that are sent with each job, with the interface of a broadcast."""

    value: bytes


@dataclass(frozen=True, eq=False)
class Jobs:
    """Jobs of one fold, which share a ``tag`` and the pickled ``evaluator``."""

    session: Any
    tag: str
    evaluator: Any

    @classmethod
    def of(cls, session: Any, evaluator: Any) -> Jobs:
        """Pickle the evaluator, and send it to each worker once; Spark Connect sends it with each job."""
        from pyspark import cloudpickle

        if not _is_remote(session) and session.sparkContext._jsc is None:
            raise ExecutorError("the Spark session is stopped; pass SparkSession.builder.getOrCreate()")
        pickled = cloudpickle.dumps(evaluator)
        shared = Held(pickled) if _is_remote(session) else session.sparkContext.broadcast(pickled)
        return cls(session, f"paribus-{uuid4().hex[:12]}", shared)

    def cores(self) -> int:
        """Return the number of tasks that run at a time."""
        if not _is_remote(self.session):
            return int(self.session.sparkContext.defaultParallelism)
        from pyspark.sql import functions

        numbers = self.session.range(MOST_TASKS).select(functions.spark_partition_id().alias("number"))
        return 1 + int(numbers.agg({"number": "max"}).toArrow().column(0)[0].as_py())

    def close(self) -> None:
        """Remove the evaluator from the workers."""
        if not isinstance(self.evaluator, Held):
            self.evaluator.destroy()

    def results(self, jobs: Iterable[list[Blocks[Any]]], ahead: int) -> Generator[TaskResult]:
        """Run jobs in threads, at most ``ahead`` of them, and yield their results in order."""
        waiting: deque[Future[list[TaskResult]]] = deque()
        with ThreadPoolExecutor(ahead, thread_name_prefix="paribus") as pool:
            try:
                for parts in jobs:
                    waiting.append(pool.submit(self._inherited(self._evaluated), parts))
                    if len(waiting) == ahead:
                        yield from waiting[0].result()
                        waiting.popleft()  # only now, so that an interrupt cancels the job that it waits for
                while waiting:
                    yield from waiting[0].result()
                    waiting.popleft()
            finally:
                self._cancel(waiting)

    def partitions(self, blocks: Blocks[Any], frame: Any) -> Generator[TaskResult]:
        """Evaluate each partition of a frame, and yield the results in order.

        Workers keep the states on their disks, from which the driver takes one at a time.
        """
        from pyspark import StorageLevel

        function = _PartitionTask(self.tag, self.evaluator, blocks)
        states = frame.mapInArrow(function, ROW).persist(StorageLevel.DISK_ONLY)
        with ThreadPoolExecutor(1, thread_name_prefix="paribus") as pool:
            computed = pool.submit(self._inherited(self._tagged), states.count, blocks)
            try:
                computed.result()
                for number, rows, state in states.toLocalIterator():
                    yield number, rows, _loaded(bytes(state))
            finally:
                self._cancel([computed])
                states.unpersist()

    def _evaluated(self, parts: list[Blocks[Any]]) -> list[TaskResult]:
        """Run a job of one task for each part, and return their states in order."""
        function = _RangeTask(self.tag, self.evaluator, list(map(pickle.dumps, parts)))
        count = len(parts)
        frame = self.session.range(0, count, 1, count).mapInArrow(function, ROW)
        columns = self._tagged(frame.toArrow, parts[0]).to_pydict()
        states = dict(zip(columns["number"], columns["state"], strict=True))
        return [(n, float(part.rows or 0), _loaded(states[n])) for n, part in enumerate(parts)]

    def _tagged(self, action: Callable[[], Any], blocks: Blocks[Any]) -> Any:
        """Run an action in this thread so that `_cancel` reaches its jobs; ``blocks`` are the first ones."""
        add, remove, _ = self._tagging
        add(self.tag)
        if not _is_remote(self.session):
            self.session.sparkContext.setInterruptOnCancel(True)  # else workers finish their tasks
        try:
            return action()
        except Exception as error:
            raise _job_error(error, blocks) from error
        finally:
            remove(self.tag)

    @property
    def _tagging(self) -> tuple[Callable[[str], Any], ...]:
        """The functions that add and remove a tag of this thread, and that cancel the jobs of a tag."""
        if _is_remote(self.session):
            return self.session.addTag, self.session.removeTag, self.session.interruptTag
        context = self.session.sparkContext  # tags of a classic session do not reach its Arrow jobs
        return context.addJobTag, context.removeJobTag, context.cancelJobsWithTag

    def _inherited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function for another thread, with the local properties of this one, such as its pool."""
        from pyspark import inheritable_thread_target

        wrapped: Callable[..., Any] = inheritable_thread_target(self.session)(function)
        return wrapped

    def _cancel(self, running: Iterable[Future[Any]]) -> None:
        """Cancel jobs until none is left; one may be submitted after the first attempt."""
        left = {one for one in running if not one.cancel() and not one.done()}
        while left:
            self._tagging[2](self.tag)
            left = wait(left, timeout=0.5).not_done


def session_of(address: str) -> Any:
    """Connect to a master, by Spark Connect, or with the configuration of the environment (``"spark"``)."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    if address.startswith("sc://"):
        return builder.remote(address).getOrCreate()
    return (builder if address == "spark" else builder.master(address)).getOrCreate()


def _is_remote(session: Any) -> bool:
    """Return whether a session is one of Spark Connect, which has no context."""
    return ".connect." in type(session).__module__


@dataclass(frozen=True, eq=False)
class _Task:
    """A function of Arrow batches on a worker, which unpickles the evaluator once for a fold."""

    fold: str
    pickled: Any

    def state(self, blocks: Blocks[Any], computed: list[Any]) -> bytes:
        """Return the pickled state of blocks, or a permanent error; failures of the model are retried."""
        if self.fold not in _LOADED:
            _LOADED.clear()
            _LOADED[self.fold] = pickle.loads(self.pickled.value)
        state: Any = None
        for _ in range(1 + RETRIES):
            try:
                state = evaluate_part(_LOADED[self.fold], blocks, computed)
                break
            except ModelError as error:
                state = FailedTask(error)
        return pickle.dumps(state)


@dataclass(frozen=True, eq=False)
class _RangeTask(_Task):
    """Evaluates the pickled blocks of each number in a batch."""

    parts: list[bytes]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield _row(number, 0, self.state(_loaded(self.parts[number]), []))


@dataclass(frozen=True, eq=False)
class _PartitionTask(_Task):
    """Evaluates a partition of a data frame, which must fit in the memory of a worker."""

    blocks: Any

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyspark import TaskContext

        held = list(batches)
        if held:
            table, number = pa.Table.from_batches(held), TaskContext.get().partitionId()
            part = self.blocks.part(number, number + 1)
            yield _row(number, len(table), self.state(part, [table]))


def _row(number: int, rows: int, state: bytes) -> pa.RecordBatch:
    """Return the result of a task."""
    import pyarrow as pa

    return pa.record_batch({"number": [number], "rows": [rows], "state": [state]})


def _loaded(pickled: bytes) -> Any:
    """Return an unpickled object; raise the error of a task that failed."""
    found = pickle.loads(pickled)
    raise_failed(found)
    return found


def _job_error(error: Exception, blocks: Blocks[Any]) -> ParibusError:
    """Return the error of a failed job, with its first rows and the cause that Spark reports."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line for line in lines if not line.startswith(("at ", "SQLSTATE", "File ", "^"))]
    python = "Python worker" in str(error) and "Traceback" in str(error)
    reason = (raised or [type(error).__name__])[-1 if python else 0]
    return ExecutorError(f"Spark failed in the job that starts with {blocks.describe()}: {reason}")
