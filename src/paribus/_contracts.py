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

# Not NDArray: that of NumPy 2.5 hides class and dtype, which are needed to check fields and read files.
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

    Up to rounding it is also commutative. Executors still merge in block order, so that results are
    bit-identical for any distribution of the blocks.
    """

    def merge(self, other: Self) -> Self:
        """Return the state of both sets of rows."""


class Evaluator(Protocol[B_contra, S_co]):
    """A map from a block to a state. It is sent to workers, so it has no table and no open handle."""

    def evaluate(self, block: B_contra) -> S_co:
        """Return the state of the rows of one block."""


class BlockInfo(Protocol):
    """A block as executors see it: its ``number`` in row order, and its ``work`` in rows.

    A block whose grids are evaluated in several parts occurs several times with the same number.
    """

    @property
    def number(self) -> int:
        """Position of the block in row order."""

    @property
    def work(self) -> float:
        """Number of rows, times the share of the grids in this part."""


@runtime_checkable
class Blocks(Protocol[B_co]):
    """Blocks in order, with the methods that an executor needs to split and send them.

    ``count`` and ``rows`` are None if they are unknown before reading. Blocks ``in_memory`` need not be
    prefetched.
    """

    @property
    def count(self) -> int | None:
        """Number of blocks of rows."""

    @property
    def rows(self) -> int | None:
        """Number of rows."""

    @property
    def in_memory(self) -> bool:
        """Whether the blocks are in memory."""

    @property
    def size(self) -> int:
        """Maximum number of rows of a block."""

    @property
    def n_tasks(self) -> int:
        """Minimum number of tasks on a cluster, 0 without one; results do not depend on it."""

    def __iter__(self) -> Iterator[B_co]: ...

    def part(self, first: int, stop: int) -> Self:
        """Return the blocks from ``first`` to ``stop``, which can be read independently."""

    def describe(self) -> str:
        """Return a description of the rows."""

    def payload(self) -> tuple[Self, list[Any]]:
        """Return the blocks to send to a worker, and the lazy parts that `received` needs computed."""

    def received(self, computed: list[Any]) -> Iterable[Blocks[B_co]]:
        """Return the blocks on the worker, given the computed parts."""


class StateStore(Protocol):
    """A store of the states of finished ranges of blocks, from which a run resumes."""

    def contains(self, first: int, stop: int) -> bool:
        """Return whether the state of the blocks from ``first`` to ``stop`` is stored."""

    def load(self, first: int, stop: int) -> Any:
        """Return a stored state."""

    def save(self, first: int, stop: int, state: Any) -> None:
        """Store a state."""


@runtime_checkable
class Executor(Protocol):
    """An executor evaluates every block, and merges the states in block order (`merge_in_order`).

    Any object with these two methods can be passed as ``executor=``.
    """

    def fold(
        self, evaluator: Evaluator[B, S], blocks: Blocks[B], zero: S, *, store: StateStore | None = None
    ) -> S:
        """Return the state of all blocks, ``zero`` without blocks."""

    def describe(self) -> str:
        """Return a description of the executor."""
