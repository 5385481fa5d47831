"""How much data lies somewhere: around each point, at each leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from paribus._contracts import Array
from paribus._states.expected import COUNTED, HEAVIEST, Constructed, Numbers


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight of the rows in each cell of an array; integers when there are no weights."""

    cells: Array

    @classmethod
    def expected(cls, shape: tuple[int, ...], rows: int) -> Constructed:
        """Return the pattern of counts of ``rows`` rows at most, each of which is counted once in a cell."""
        return Constructed(cls, cells=Numbers(shape, COUNTED, 0, HEAVIEST * rows))

    def merge(self, other: Self) -> Self:
        """Add the counts."""
        return type(self)(self.cells + other.cells)
