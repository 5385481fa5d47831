"""The background: whom we average over, and how the rows are cut into blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import xxhash

from paribus.contracts import Flags, Floats, Integers
from paribus.data.table import Column, Table
from paribus.errors import WeightError

TINY = 1e-290  # of a very small weight the square must not vanish altogether


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows with their weights, and the numbers of the questions to ask them.

    ``start`` is the number of the first row, ``points`` how many points those questions have.
    """

    table: Table
    weights: Floats | None
    start: int
    questions: tuple[int, ...] = (0,)
    points: int = 1

    def __len__(self) -> int:
        """Return the work in the block: one prediction per row and point."""
        return len(self.table) * self.points

    @cached_property
    def _columns(self) -> dict[int, Column]:
        return {}

    def column(self, feature: int) -> Column:
        """Read one column, once however many ask for it."""
        if feature not in self._columns:
            self._columns[feature] = self.table.column(feature)
        return self._columns[feature]

    def weighted(self) -> Self:
        """Leave out the rows of weight zero, which must not count in any way."""
        if self.weights is None or self.weights.all():
            return self
        mask = self.weights > 0
        return type(self)(self.table.keep(mask), self.weights[mask], self.start, self.questions, self.points)

    def cut(self, size: int) -> Iterator[Self]:
        """Yield consecutive blocks of at most ``size`` rows."""
        for start in range(0, len(self.table), size):
            stop = min(start + size, len(self.table))
            weights = None if self.weights is None else self.weights[start:stop]
            table = self.table.slice(start, stop)
            yield type(self)(table, weights, self.start + start, self.questions, self.points)


@dataclass(frozen=True, eq=False)
class Sample:
    r"""Rows that stand for all of them in a sum of squares :math:`\sum_i w_i^2 d_i^2`.

    ``numbers`` are the rows, in order, and ``squares`` what the square of each counts for.
    """

    numbers: Integers
    squares: Floats


@dataclass(frozen=True, eq=False)
class Rows:
    """The background: a table and the weights of its rows, None when all count the same.

    Weights are held divided by ``unit``, a power of two near the largest, so that no square of a very
    large or very small one overflows; what is reported is multiplied by it again.
    """

    table: Table
    weights: Floats | None
    unit: float = 1.0

    def __len__(self) -> int:
        return len(self.table)

    @property
    def counted(self) -> int:
        """Number of rows that have weight."""
        return len(self) if self.weights is None else int((self.weights > 0).sum())

    def blocks(
        self, size: int, parts: Sequence[tuple[tuple[int, ...], int]] = (((0,), 1),)
    ) -> Iterator[Block]:
        """Yield blocks of ``size`` rows, each once per part ``(questions, points)`` of the questions."""
        for whole in Block(self.table, self.weights, 0).cut(size):
            for questions, points in parts:
                yield Block(whole.table, whole.weights, whole.start, questions, points)

    def sample(self, size: int, seed: int) -> Sample:
        """Choose rows for a sum of squares: all that have weight, or ``size`` draws where there are more.

        A row is drawn as often as it counts in the sum, in proportion to the square of its weight.
        """
        counted = np.arange(len(self)) if self.weights is None else np.flatnonzero(self.weights)
        squares = np.ones(len(self)) if self.weights is None else np.maximum(self.weights**2, TINY)
        if len(counted) <= size:
            return Sample(counted, squares[counted])
        rng = np.random.default_rng(seed)
        if self.weights is None:
            chosen = np.sort(rng.choice(len(self), size, replace=False))
            return Sample(chosen, np.full(size, len(self) / size))
        total = squares[counted].sum()
        drawn, times = np.unique(rng.choice(counted, size, p=squares[counted] / total), return_counts=True)
        return Sample(drawn, times * (total / size))

    def chosen(self, size: int | None, seed: int) -> Flags:
        """Tell which rows have weight, or mark ``size`` of them drawn without replacement."""
        counted = np.ones(len(self), dtype=bool) if self.weights is None else self.weights > 0
        if size is None or size >= counted.sum():
            return counted
        drawn = np.random.default_rng(seed).choice(np.flatnonzero(counted), size, replace=False)
        mask = np.zeros(len(self), dtype=bool)
        mask[drawn] = True
        return mask

    def keep(self, mask: Flags) -> Rows:
        """Return the rows where ``mask`` holds, with their weights."""
        if mask.all():
            return self
        return Rows(self.table.keep(mask), None if self.weights is None else self.weights[mask], self.unit)

    def weight_facts(self) -> dict[str, float] | None:
        """Return the sum of the weights, the rows of weight zero, and the effective number of rows."""
        if self.weights is None:
            return None
        total = float(self.weights.sum())
        return {
            "sum": total * self.unit,
            "zero_rows": float(len(self) - self.counted),
            "effective_rows": total**2 / float((self.weights**2).sum()),
        }

    def fingerprint(self) -> str:
        """Return a digest of names, dtypes, values and weights; other data gives another one."""
        table = self.table
        dtypes = tuple(table.dtype(j) for j in range(len(table.names)))
        digest = xxhash.xxh3_128(repr((table.names, dtypes, len(self), self.unit)).encode())
        for part in table.content():
            digest.update(part)
        if self.weights is not None:
            digest.update(self.weights.tobytes())
        return str(digest.hexdigest())


def rows_of(table: Table, sample_weight: Any) -> Rows:
    """Pair a table with weights that are finite, non-negative and not all zero."""
    if sample_weight is None:
        return Rows(table, None)
    weights = _numbers(sample_weight)
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
    unit = 2.0 ** np.floor(np.log2(weights.max()))
    return Rows(table, np.ascontiguousarray(weights / unit), float(unit))


def _numbers(sample_weight: Any) -> Floats:
    """Read real numbers; text, dates, complex numbers and masks are no weights."""
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "fiubO" or np.ma.is_masked(sample_weight):
        raise WeightError(f"sample_weight must be numbers, one per row; its dtype is {given.dtype}")
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise WeightError(f"sample_weight cannot be read as numbers: {error}") from error
