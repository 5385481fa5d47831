"""The background: whom we average over, and how the rows are cut into blocks."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus.contracts import Floats
from paribus.data.table import Table
from paribus.errors import WeightError

FINGERPRINT_BYTES = 1_000_000  # hashed at a time, so that a fingerprint needs no copy of the table


@dataclass(frozen=True)
class Block:
    """Consecutive rows with their weights; ``start`` is the number of the first one."""

    table: Table
    weights: Floats | None
    start: int

    def __len__(self) -> int:
        return len(self.table)

    def weighted(self) -> Block:
        """Leave out the rows of weight zero, which must not count in any way."""
        if self.weights is None or self.weights.all():
            return self
        mask = self.weights > 0
        return Block(self.table.keep(mask), self.weights[mask], self.start)


@dataclass(frozen=True)
class Rows:
    """The background: a table and the weights of its rows, None when all count the same."""

    table: Table
    weights: Floats | None

    def __len__(self) -> int:
        return len(self.table)

    def blocks(self, size: int) -> Iterator[Block]:
        """Yield blocks of ``size`` rows; only the last one may be shorter."""
        for start in range(0, len(self), size):
            stop = min(start + size, len(self))
            weights = None if self.weights is None else self.weights[start:stop]
            yield Block(self.table.slice(start, stop), weights, start)

    def weight_facts(self) -> dict[str, float] | None:
        """Return the sum of the weights, the rows of weight zero, and the effective number of rows."""
        if self.weights is None:
            return None
        total = float(self.weights.sum())
        return {
            "sum": total,
            "zero_rows": float((self.weights == 0).sum()),
            "effective_rows": total**2 / float((self.weights**2).sum()),
        }

    def fingerprint(self) -> str:
        """Return a digest of names, dtypes, values and weights; other data gives another one."""
        digest = hashlib.sha256(repr((self.table.backend, self.table.names, len(self))).encode())
        for block in self.blocks(max(1, FINGERPRINT_BYTES // self.table.row_bytes)):
            digest.update(block.table.digest())
        if self.weights is not None:
            digest.update(self.weights.tobytes())
        return digest.hexdigest()[:32]


def rows_of(table: Table, sample_weight: Any) -> Rows:
    """Pair a table with weights that are finite, non-negative and not all zero."""
    if sample_weight is None:
        return Rows(table, None)
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise WeightError(f"sample_weight cannot be read as numbers: {error}") from error
    if weights.shape != (len(table),):
        raise WeightError(
            f"sample_weight has shape {weights.shape} and X has {len(table)} rows; give one per row"
        )
    if not np.isfinite(weights).all():
        row = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise WeightError(f"sample_weight[{row}] is {weights[row]}; every weight must be finite")
    if (weights < 0).any():
        row = int(np.flatnonzero(weights < 0)[0])
        raise WeightError(f"sample_weight[{row}] is {weights[row]}; no weight may be negative")
    if not weights.any():
        raise WeightError("sample_weight is zero for every row; at least one must be positive")
    return Rows(table, np.ascontiguousarray(weights))
