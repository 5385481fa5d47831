"""Several evaluators in one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

from paribus._contracts import CheckpointableEvaluator
from paribus._data.rows import Block
from paribus._states import Keyed
from paribus._states.expected import Expected


@dataclass(frozen=True, eq=False)
class Together:
    """Evaluates a block with each of its parts, whose states have keys of their own."""

    parts: tuple[CheckpointableEvaluator[Block, Keyed], ...]

    def evaluate(self, block: Block) -> Keyed:
        """Return the states of all parts."""
        states: dict[tuple[str, int], Any] = {}
        for part in self.parts:
            own = part.evaluate(block).parts
            twice = states.keys() & own.keys()
            if twice:
                raise ValueError(f"two evaluators of a pass leave states of the same name: {sorted(twice)}")
            states |= own
        return Keyed(states)

    def expected(self, rows: int) -> Expected:
        """Return the patterns of the states of all parts."""
        patterns: list[Expected] = [part.expected(rows) for part in self.parts]
        return reduce(Expected.beside, patterns)
