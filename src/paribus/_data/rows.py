"""Background data: rows, weights, blocks and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from heapq import merge
from threading import RLock
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import xxhash

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._data.features import Header
from paribus._data.samples import (
    UNIT_PARTS,
    PrioritySample,
    Sample,
    UnitRows,
    head_rows,
    parts_of,
    sample_numbers,
    sample_of,
    taken,
    unweighted_sample,
)
from paribus._data.table import ArrayTable, Column, Table
from paribus._text import count
from paribus.errors import WeightError

Parts: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]  # (numbers of grids, number of points) each
ONE_PART: Parts = (((0,), 1),)
BY_COLUMN = "by column"  # key of a block's table with contiguous columns
KEPT_CELLS = 1 << 20  # cells of a table whose derived values are kept between passes
TRIED = 8_192  # most rows with positive weight on which a model is tried


@dataclass(frozen=True, eq=False)
class Derived:
    """Values computed from the rows of a block, and a lock so that only one thread computes a value."""

    known: dict[Any, Any] = field(default_factory=dict)
    lock: Any = field(default_factory=RLock)

    def __reduce__(self) -> tuple[type[Derived], tuple[()]]:
        return Derived, ()  # a pickled block computes the values again


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows with their weights, and the numbers of the grids to evaluate on them, ``questions``.

    ``start`` is the number of the first row, ``number`` that of the block. ``share`` is the fraction of all
    points that these grids have. ``target`` holds the observed values, ``(n,)`` or ``(n, o)``, or None.
    ``by`` is the column that defines groups of out-of-core rows, and ``units (n,)`` are the keys of the units
    of dependent rows, None if rows are independent. ``numbers`` are the row numbers if some of the
    consecutive rows were left out. ``within`` is the block of all rows of a small table, and the position
    of the first row in it.
    """

    table: Table
    weights: Floats | None
    start: int
    questions: tuple[int, ...] = (0,)
    share: float = 1.0
    number: int = 0
    target: Array | None = None
    by: Column | None = None
    units: Integers | None = None
    numbers: Integers | None = None
    within: tuple[Block, int] | None = None

    @property
    def positions(self) -> Integers:
        """The row numbers."""
        if self.numbers is not None:
            return self.numbers
        return np.arange(self.start, self.start + len(self.table))

    @property
    def dependent(self) -> Integers:
        """The keys of units, or the row numbers if rows are independent."""
        return self.positions if self.units is None else self.units

    @property
    def work(self) -> float:
        """Number of rows times the share of the grids."""
        return len(self.table) * self.share

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "within": None}  # a worker gets only the rows of the block

    @property
    def unit_parts(self) -> Integers | None:
        """Random part of the unit of each row, of `UNIT_PARTS`; None if rows are independent."""
        units = self.units
        if units is None:
            return None
        return np.asarray(self.derived("unit parts", lambda: parts_of(units, UNIT_PARTS)))

    @cached_property
    def _derived(self) -> Derived:
        return Derived()

    def derived(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return a value that depends on the rows only, computed once for all evaluators of the block."""
        derived = self._derived
        if key not in derived.known:
            with derived.lock:
                if key not in derived.known:
                    derived.known[key] = compute()
        return derived.known[key]

    def row_values(
        self, key: Any, compute: Callable[[Block], Any], take: Callable[[Any, int, int], Any]
    ) -> Any:
        """Return values of each row; in a small table they are computed once for the blocks of all passes.

        ``take`` returns the values of consecutive rows.
        """
        if self.within is None:
            return self.derived(key, lambda: compute(self))
        whole, first = self.within
        values = whole.derived(key, lambda: compute(whole))
        same = len(self.table) == len(whole.table)
        return values if same else take(values, first, first + len(self.table))

    def for_reading(self, columns: int = 1) -> Table:
        """Return the table to read some columns from, copied by column if they are many, or if it was."""
        table, known = self.table, self._derived.known
        if not isinstance(table, ArrayTable) or (2 * columns < len(table.names) and BY_COLUMN not in known):
            return table
        found: Table = self.derived(BY_COLUMN, table.by_column)
        return found

    def column(self, feature: int) -> Column:
        """Read one column, once for all evaluators of the block."""
        column: Column = self.row_values(
            ("column", feature), lambda block: block.for_reading().column(feature), Column.between
        )
        return column

    def weighted(self) -> Self:
        """Return the block without rows of weight zero, which must not affect any result."""
        if self.weights is None or self.weights.all():
            return self
        return self.keep(self.weights > 0, "weighted")

    def keep(self, mask: Flags, name: Any) -> Self:
        """Return the rows where ``mask`` holds, which ``name`` identifies among the rows of the block."""
        kept = replace(
            self,
            table=self.table.keep(mask),
            weights=taken(self.weights, mask),
            target=taken(self.target, mask),
            by=None,
            units=taken(self.units, mask),
            numbers=self.positions[mask],
            within=None,
        )
        vars(kept)["_derived"] = self.derived(name, Derived)
        return kept

    def between(self, first: int, stop: int) -> Self:
        """Return the rows from ``first`` to ``stop``, counted within the block."""
        rows, table = slice(first, stop), self.table.slice(first, stop)
        by = None if self.by is None else self.by.between(first, stop)
        within = self.within if self.within is None else (self.within[0], self.within[1] + first)
        return replace(
            self,
            table=table,
            weights=taken(self.weights, rows),
            target=taken(self.target, rows),
            start=self.start + first,
            by=by,
            units=taken(self.units, rows),
            numbers=taken(self.numbers, rows),
            within=within,
        )

    def cut(self, size: int) -> Iterator[Self]:
        """Yield consecutive blocks of at most ``size`` rows; the block itself if it is small enough."""
        if 0 < len(self.table) <= size:
            yield self
            return
        for first in range(0, len(self.table), size):
            yield self.between(first, min(first + size, len(self.table)))

    def restrict(self, parts: Parts) -> Iterator[Self]:
        """Yield the block once per part of the grids."""
        total = sum(points for _, points in parts)
        for numbers, points in parts:
            share = points / total if total else 1 / len(parts)
            block = replace(self, questions=numbers, share=share)
            vars(block)["_derived"] = self._derived
            yield block


class UnchangedBlocks:
    """Blocks that are sent to workers as they are, without lazy parts to compute."""

    def payload(self) -> tuple[Self, list[Any]]:
        """Return the blocks, and no lazy parts."""
        return self, []

    def received(self, computed: list[Any]) -> tuple[Self]:
        """Return the blocks."""
        return (self,)


@dataclass(frozen=True, eq=False)
class InMemoryBlocks(UnchangedBlocks):
    """Blocks of ``size`` rows of ``whole``, which is in memory, each once per part of the grids.

    ``first`` is the number of the first block.
    """

    whole: Block
    size: int
    parts: Parts
    first: int = 0
    in_memory: ClassVar[bool] = True
    n_tasks: ClassVar[int] = 0  # any number of tasks

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.whole.table)

    @property
    def count(self) -> int:
        """Number of blocks of rows."""
        return -(-self.rows // self.size)

    def __iter__(self) -> Iterator[Block]:
        for number, block in enumerate(self.whole.cut(self.size), self.first):
            yield from replace(block, number=number).restrict(self.parts)

    def part(self, first: int, stop: int) -> Self:
        """Return some consecutive blocks."""
        start, end = (min((n - self.first) * self.size, self.rows) for n in (first, stop))
        return replace(self, whole=self.whole.between(start, end), first=first)

    def describe(self) -> str:
        """Return which rows these are, in words."""
        return f"rows {self.whole.start:,} to {self.whole.start + self.rows - 1:,} of X"


def shared_blocks(cuts: Sequence[InMemoryBlocks]) -> Iterator[tuple[int, Block]]:
    """Yield the blocks of several cuts of the same rows, each with the position of its cut, by first row.

    Cuts into the same blocks share derived values.
    """
    same: dict[int, list[int]] = {}
    for position, blocks in enumerate(cuts):
        same.setdefault(blocks.size, []).append(position)

    def parts(positions: list[int]) -> Iterator[tuple[int, Block]]:
        whole, size = cuts[positions[0]].whole, cuts[positions[0]].size
        for number, block in enumerate(whole.cut(size)):
            numbered = replace(block, number=number)
            for position in positions:
                yield from ((position, part) for part in numbered.restrict(cuts[position].parts))

    return merge(*(parts(positions) for positions in same.values()), key=lambda one: one[1].start)


@dataclass(frozen=True, eq=False)
class Rows:
    """Background data in memory: a table and the weights of its rows, None without weights.

    Weights are divided by ``weight_scale``, a power of two near the largest weight, so that their squares do
    not overflow; reported weights are multiplied by it. ``target`` holds the observed values, or None.
    ``aligned`` is the header of X if the table has other columns. ``given`` is X as the user passed it. Rows
    of a group have their ``numbers`` among the rows of ``whole``. ``units`` are the keys of the units of
    dependent rows, None if rows are independent. ``origin`` are the numbers of sampled rows
    in X, by which further samples are taken. ``keeps`` says whether derived values of a small table are kept
    between passes.
    """

    table: Table
    weights: Floats | None
    weight_scale: float = 1.0
    target: Array | None = None
    aligned: Header | None = None
    given: Table | None = None
    numbers: Integers | None = None
    whole: Rows | None = None
    origin: Integers | None = None
    keeps: bool = True
    units: Integers | None = None
    # Members of `Background` that describe out-of-core data.
    in_memory: ClassVar[bool] = True
    source_label: ClassVar[str | None] = None
    stamp: ClassVar[str | None] = None
    skipped: ClassVar[tuple[str, ...]] = ()

    def __len__(self) -> int:
        return len(self.table)

    @property
    def header(self) -> Header:
        """Names of the columns of X, and of those in the table."""
        return self.aligned or Header.of(self.table.names)

    @property
    def n_targets(self) -> int:
        """Number of target columns, 0 without a target."""
        return 0 if self.target is None else self.target[:1].size

    @property
    def n_weighted(self) -> int:
        """Number of rows with positive weight."""
        return len(self) if self.weights is None else int((self.weights > 0).sum())

    @property
    def predictable(self) -> Table:
        """Rows on which a model can be tried; rows of weight zero may hold invalid values."""
        if self.weights is None or self.weights.all():
            return self.table
        numbers = np.flatnonzero(self.weights > 0)
        chosen = numbers[np.linspace(0, len(numbers) - 1, min(TRIED, len(numbers))).astype(int)]
        return self.table.keep(np.isin(np.arange(len(self)), chosen))

    def blocks(self, size: int, parts: Parts = ONE_PART) -> InMemoryBlocks:
        """Return blocks of ``size`` rows, each once per part ``(grids, points)`` of the grids."""
        return InMemoryBlocks(self._whole, size, parts)

    @cached_property
    def _whole(self) -> Block:
        """All rows. Those of a small table keep derived values for further passes."""
        whole = Block(self.table, self.weights, 0, target=self.target, units=self.units)
        small = self.keeps and len(self) * len(self.table.names) <= KEPT_CELLS
        return replace(whole, within=(whole, 0)) if small else whole

    def sample(self, size: int, seed: int) -> Sample:
        """Sample rows for a sum of squares: all with positive weight, or ``size`` if there are more.

        The probability of a row increases with the square of its weight. Of dependent rows, whole units are
        sampled.
        """
        if self.units is not None:
            numbers = np.arange(len(self)) if self.numbers is None else self.numbers
            units = UnitRows.of(numbers, self.units, self.weights, seed, size)
            sample = units.sample(size, 1.0, weighted=self.weighted)
            return replace(sample, numbers=np.searchsorted(numbers, sample.numbers))
        if self.numbers is not None:
            return self._group_sample(self.numbers, size, seed)
        if self.weights is None:
            return sample_of(len(self), size, seed)
        return PrioritySample.of(np.arange(len(self)), self.weights, seed, size + 1).sample(size, 1.0)

    def _group_sample(self, numbers: Integers, size: int, seed: int) -> Sample:
        """Sample rows of a group by their numbers among all rows, so that out-of-core rows give the same."""
        if self.weights is None:
            return unweighted_sample(sample_numbers(numbers, seed, size), len(self))
        found = PrioritySample.of(numbers, self.weights, seed, size + 1).sample(size, 1.0)
        return replace(found, numbers=np.searchsorted(numbers, found.numbers))

    def head_sample(self, seed: int) -> Table:
        """Return a fixed sample of rows with positive weight, from which bins are computed.

        All groups have the same bins, so that the sample is of all rows.
        """
        if self.whole is not None:
            return self.whole.head_sample(seed)
        return self.table.keep(self.sampled(head_rows(len(self.table.names)), seed))

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weights is not None

    @property
    def total(self) -> float:
        """Sum of the weights, divided by ``weight_scale``."""
        return float(len(self)) if self.weights is None else float(self.weights.sum())

    @property
    def counted(self) -> Flags:
        """Which rows have positive weight."""
        return np.ones(len(self), dtype=bool) if self.weights is None else self.weights > 0

    def sampled(self, size: int, seed: int) -> Flags:
        """Return which rows are the first ``size`` of positive weight in the order of `sample_numbers`."""
        positions = np.flatnonzero(self.counted)
        known = self.numbers if self.origin is None else self.origin
        numbers = positions if known is None else known[positions]
        mask = np.zeros(len(self), dtype=bool)
        mask[positions[sample_numbers(numbers, seed, size)]] = True
        return mask

    def keep(self, mask: Flags) -> Rows:
        """Return the rows where ``mask`` holds, with their weights."""
        if mask.all():
            return self
        return Rows(
            self.table.keep(mask),
            taken(self.weights, mask),
            self.weight_scale,
            taken(self.target, mask),
            self.aligned,
            origin=taken(self.origin, mask),
            keeps=self.keeps,
            units=taken(self.units, mask),
        )

    def group(self, mask: Flags) -> Rows:
        """Return the rows of a group, which keep their numbers."""
        return replace(self.keep(mask), numbers=np.flatnonzero(mask), whole=self)

    def weight_facts(self) -> dict[str, float] | None:
        """Return the sum of the weights, the number of rows of weight zero, and the effective sample size."""
        if self.weights is None:
            return None
        total = float(self.weights.sum())
        return {
            "sum": total * self.weight_scale,
            "zero_rows": float(len(self) - self.n_weighted),
            "effective_rows": total**2 / float((self.weights**2).sum()),
        }

    def fingerprint(self, *, target: bool = True) -> str:
        """Return a digest of names, dtypes, values, weights and, if ``target``, the target."""
        table = self.table
        dtypes = tuple(table.dtype(j) for j in range(len(table.names)))
        digest = xxhash.xxh3_128(
            repr((table.names, dtypes, len(self), self.weight_scale, table.digests)).encode()
        )
        if self.weights is not None:
            digest.update(self.weights.tobytes())
        if target and self.target is not None:
            digest.update(repr(self.target.shape).encode())
            labels = self.target.dtype.kind in "OT"  # which have no bytes in the array
            digest.update(repr(self.target.tolist()).encode() if labels else self.target.tobytes())
        return str(digest.hexdigest())

    def digests(self) -> tuple[dict[str, str], str | None]:
        """Return a digest of each column of X as the user passed it, by name, and of the weights or None."""
        table = self.table if self.given is None else self.given
        weights = None
        if self.weights is not None:
            weights = xxhash.xxh3_128_hexdigest((self.weights * self.weight_scale).tobytes())
        return dict(zip(table.names, table.digests, strict=True)), weights


def rows_of(table: Table, sample_weight: Any) -> Rows:
    """Return a table with its weights; raise `WeightError` unless they are finite, >= 0 and not all zero."""
    if sample_weight is None:
        return Rows(table, None)
    weights = _weights_as_floats(sample_weight)
    if weights.shape != (len(table),):
        raise WeightError(
            f"sample_weight has shape {weights.shape} and X has {count(len(table), 'row')}; give one per row"
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


def _weights_as_floats(sample_weight: Any) -> Floats:
    """Return weights as floats; text, dates, complex numbers and masked arrays are refused."""
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "fiubO" or np.ma.is_masked(sample_weight):
        raise WeightError(f"sample_weight must be numbers, one per row; its dtype is {given.dtype}")
    try:
        return given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise WeightError(f"sample_weight cannot be read as numbers: {error}") from error
