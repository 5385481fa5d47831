"""How much data lies somewhere: around each point, at each leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from paribus._contracts import Array


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight of the rows in each cell of an array; integers when there are no weights."""

    cells: Array

    def merge(self, other: Self) -> Self:
        """Add the counts."""
        return type(self)(self.cells + other.cells)
