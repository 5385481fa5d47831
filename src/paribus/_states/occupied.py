"""Which cells have a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from paribus._contracts import Array, Octets


@dataclass(frozen=True, eq=False)
class Occupied:
    """Cells of tables ``(q, c)`` that some row lies in, as packed bits."""

    bits: Octets

    @classmethod
    def of(cls, tables: Array) -> Self:
        """Pack tables of 0 and 1."""
        return cls(np.packbits(tables, axis=-1))

    def merge(self, other: Self) -> Self:
        """Return the cells that either has."""
        return type(self)(self.bits | other.bits)

    def tables(self) -> Array:
        """Return the tables of 0 and 1."""
        return np.unpackbits(self.bits, axis=-1)
