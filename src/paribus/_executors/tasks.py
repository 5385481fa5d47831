"""Tasks of a cluster: the ranges of blocks to evaluate, and their evaluation on a worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from paribus._contracts import Blocks, StateStore
from paribus._executors.local import KEPT, LocalExecutor
from paribus._states import Keyed, merge_in_order, ranges_of
from paribus.errors import ModelError, OptionError, ParibusError

RETRIES = 3  # retries of a task that fails
PER_THREAD, MOST_TASKS = 4, 8_192  # tasks per thread for an even load, and their maximum

Range = tuple[int, int]


@dataclass(frozen=True, eq=False)
class FailedTask:
    """A permanent error as the result of a task, which is not retried."""

    error: ParibusError

    def merge(self, other: Any) -> Self:
        """Return the error unchanged."""
        return self


def stored_ranges(blocks: Blocks[Any], store: StateStore | None) -> tuple[list[Range], list[Range]]:
    """Return the ranges of blocks whose states are stored, all in one range without a store.

    The second list has those that are left to compute.
    """
    if blocks.count is None:
        raise OptionError(
            "executor= needs rows that other processes can read: Parquet files, a data frame of the cluster "
            "or a table in memory. Write X to Parquet and pass the folder"
        )
    ranges = [(0, blocks.count)] if store is None else ranges_of(blocks.count, KEPT)
    return ranges, [one for one in ranges if store is None or not store.contains(*one)]


def task_ranges(blocks: Blocks[Any], within: Range, tasks: int) -> list[Range]:
    """Return a range of blocks split for an even load, if all blocks are split into ``tasks``."""
    first, stop = within
    share = -(-tasks * (stop - first) // (blocks.count or 1))
    return [(first + low, first + high) for low, high in ranges_of(stop - first, max(1, share))]


def evaluate_part(evaluator: Any, blocks: Blocks[Any], computed: list[Any]) -> Any:
    """Return the state of some blocks, which are read here or cut from computed parts."""
    local = LocalExecutor(1, progress=False)
    try:
        parts = blocks.received(computed)
        return merge_in_order(local.fold(evaluator, part, Keyed({})) for part in parts)
    except ModelError:
        raise  # the task is retried, because the failure may be temporary
    except ParibusError as error:
        return FailedTask(error)


def raise_failed(found: Any) -> None:
    """Raise the error that a task returned instead of a state."""
    if isinstance(found, FailedTask):
        raise found.error
