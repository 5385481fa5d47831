"""Several evaluators in one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paribus._contracts import Evaluator
from paribus._data.rows import Block
from paribus._states import Keyed


@dataclass(frozen=True, eq=False)
class Together:
    """Evaluates a block with each of its parts, whose states have keys of their own."""

    parts: tuple[Evaluator[Block, Keyed], ...]

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
