"""Several evaluators in one pass over the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from paribus.contracts import Evaluator
from paribus.data.rows import Block
from paribus.states import Product


@dataclass(frozen=True)
class Together:
    """Evaluates a block with each of its parts."""

    parts: tuple[Evaluator[Block, Any], ...]

    def evaluate(self, block: Block) -> Product[Any]:
        """Return the product of the parts' states."""
        return Product(tuple(part.evaluate(block) for part in self.parts))
