"""An engine of one's own: the threads of a pool, as ``executor=PoolExecutor(pool)``."""

from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

from paribus._states import merge_in_order, ranges_of


@dataclass(frozen=True)
class PoolExecutor:
    pool: Any
    progress: bool | None = None  # whether to show progress, and its text
    task: str = "paribus"

    @staticmethod
    def accepts(obj):
        return isinstance(obj, Executor)  # asked only if the entry point below is installed

    def describe(self):
        return f"a {type(self.pool).__name__}"

    def fold(self, evaluator, blocks, zero, *, store=None):
        if store is None:
            return self.merged(evaluator, blocks, zero)
        ranges = ranges_of(blocks.count, 256)  # what a checkpoint keeps, and finds again
        for one in ranges:
            if not store.contains(*one):
                store.save(*one, self.merged(evaluator, blocks.part(*one), zero))
        return merge_in_order((store.load(*one) for one in ranges), zero)

    def merged(self, evaluator, blocks, zero):
        done = self.pool.map(lambda block: (block.number, evaluator.evaluate(block)), blocks)
        parts = groupby(done, itemgetter(0))  # what is evaluated of one block of rows, together
        return merge_in_order((merge_in_order(state for _, state in part) for _, part in parts), zero)
