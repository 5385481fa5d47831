"""Protocols between the packages, and array types.

An effect is a fold over blocks of rows: *evaluate* a block into a state, *merge* states, *finish* into
a result.

Terms are defined in the glossary of ARCHITECTURE.md. Index letters are fixed: ``i`` row, ``g`` point, ``j,
k`` features, ``o`` output; shapes are written ``(o, g)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np

# Written out: NDArray of numpy 2.5 hides class and dtype, by which fields are checked and files are read.
Array: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[Any]]
Floats: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.float64]]
Integers: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.int64]]
Flags: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.bool_]]
Octets: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[np.uint8]]

Kind: TypeAlias = Literal["numeric", "integer", "boolean", "category", "string", "datetime"]
NOMINAL: tuple[Kind, ...] = ("category", "string", "boolean")  # kinds whose values are categories

B_contra = TypeVar("B_contra", bound="BlockInfo", contravariant=True)
B_co = TypeVar("B_co", bound="BlockInfo", covariant=True)
S_co = TypeVar("S_co", bound="State", covariant=True)
B = TypeVar("B", bound="BlockInfo")
S = TypeVar("S", bound="State")


class State(Protocol):
    """Sufficient statistics of some rows. ``merge`` is associative and does not modify its operands.

    Up to rounding it is also commutative; executors still merge in block order, so that results are
    bit-identical however the blocks were distributed.
    """

    def merge(self, other: Self) -> Self:
        """Return the state of both sets of rows."""


class Evaluator(Protocol[B_contra, S_co]):
    """Maps a block to a state. It is sent to workers, so it holds no table and no open handle."""

    def evaluate(self, block: B_contra) -> S_co:
        """Return the state of the rows of one block."""


class BlockInfo(Protocol):
    """What an executor knows of a block: its ``number`` in row order, and its ``work`` in rows.

    A block whose grids are evaluated in several parts comes several times under one number.
    """

    @property
    def number(self) -> int:
        """Which block of rows it is."""

    @property
    def work(self) -> float:
        """Its rows times the share of the grids it evaluates."""


@runtime_checkable
class Blocks(Protocol[B_co]):
    """Blocks in order, and all that an engine needs to cut and ship them.

    ``count`` and ``rows`` are None where it takes reading them all. ``in_memory`` says that they need
    not be read, so that there is nothing to prefetch.
    """

    @property
    def count(self) -> int | None:
        """Number of blocks of rows."""

    @property
    def rows(self) -> int | None:
        """Number of rows."""

    @property
    def in_memory(self) -> bool:
        """Whether they are in memory."""

    @property
    def size(self) -> int:
        """Rows of a block, at most."""

    @property
    def n_tasks(self) -> int:
        """Into how many tasks to cut them at least, 0 where any number will do; no result depends on it."""

    def __iter__(self) -> Iterator[B_co]: ...

    def part(self, first: int, stop: int) -> Self:
        """Return consecutive blocks, with all that is needed to read them."""

    def describe(self) -> str:
        """Return which rows these are, in words."""

    def payload(self) -> tuple[Self, list[Any]]:
        """Return the blocks as they travel, and the lazy parts an engine must compute for `received`."""

    def received(self, computed: list[Any]) -> Iterable[Blocks[B_co]]:
        """Return the blocks where they are evaluated, given the parts that were computed."""


class StateStore(Protocol):
    """Stores the states of finished ranges of blocks, for a run that is begun again."""

    def contains(self, first: int, stop: int) -> bool:
        """Return whether the state of the blocks from ``first`` to ``stop`` is stored."""

    def load(self, first: int, stop: int) -> Any:
        """Return a stored state."""

    def save(self, first: int, stop: int, state: Any) -> None:
        """Store a state."""


@runtime_checkable
class Executor(Protocol):
    """Folds: evaluates every block and merges the states in block order (`states.merge_in_order`).

    Any object with these two methods is an engine, and can be passed as ``executor=``.
    """

    def fold(
        self, evaluator: Evaluator[B, S], blocks: Blocks[B], zero: S, *, store: StateStore | None = None
    ) -> S:
        """Return the state of all blocks, ``zero`` when there are none."""

    def describe(self) -> str:
        """Return who computes, in words."""
