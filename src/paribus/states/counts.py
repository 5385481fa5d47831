"""How much data lies around each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from paribus.contracts import Array


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight of the rows in each grid cell ``(g0, g1, ...)``; integers when there are no weights."""

    cells: Array

    def merge(self, other: Self) -> Self:
        """Add the counts."""
        return type(self)(self.cells + other.cells)
