"""What walks over rows share: memory of masks and lists, and trees of few tests."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Floats, Integers
from paribus._kernels.jit import common
from paribus._kernels.pattern_tables import Lookups
from paribus._kernels.patterns import Patterns
from paribus._kernels.program import Bytes, Ints, Program

CHUNK = int(common.CHUNK)
WORDS = CHUNK // 64
LISTED = 1 << 15  # rows listed at once: their codes of a column should stay near
NO_WEIGHTS = np.empty(0)
NOTHING = np.empty(0, np.int32)


def add_by_patterns(patterns: Patterns, lookups: Lookups, codes: Ints, sums: Floats, single: int) -> None:
    """Add to sums ``(n, i)``, in single precision from one of them on, what tables have for the rows."""
    from paribus._kernels.jit.pattern_rows import add_by_patterns as add_rows

    items = lookups.first, lookups.items, lookups.table, single
    add_rows(codes, *tests_of_patterns(patterns), *items, *pattern_room(patterns), sums.reshape(-1))


def tests_of_patterns(patterns: Patterns) -> tuple[Ints, Bytes, Integers, Ints]:
    """Return the tests of trees that have few."""
    return patterns.conditions, patterns.program.truth, patterns.first, patterns.tests


def pattern_room(patterns: Patterns) -> tuple[NDArray[np.uint16], Bytes]:
    """Return memory for the codes and patterns of a chunk, and for how each test turns out."""
    return np.empty((2, CHUNK), np.uint16), np.empty(len(patterns.conditions) * CHUNK, np.uint8)


@dataclass(frozen=True, eq=False)
class Masks:
    """Memory for masks: of active sets at each level, of codes, of conditions."""

    arrays: tuple[int, Integers, Integers, Integers, Integers]

    @classmethod
    def of(cls, program: Program) -> Masks:
        """Take the memory that a program needs."""
        held = program.levels * program.most
        return cls(
            (
                program.most,
                np.zeros(held * WORDS, np.uint64),
                np.zeros(held, np.uint64),
                np.empty((int(program.n_codes.max(initial=0)) + 1) * WORDS, np.uint64),
                np.zeros((len(program.conditions) + 1) * WORDS, np.uint64),
            )
        )


@dataclass(frozen=True, eq=False)
class Lists:
    """Deep trees, and memory for lists of rows: of nodes on the way, and which of these wait."""

    trees: tuple[Ints, Integers, Bytes, Ints, Ints, int]
    portions: tuple[slice, ...]
    arrays: tuple[Integers, Integers]

    @classmethod
    def of(cls, program: Program, rows: int) -> Lists:
        """Take the memory that a program needs for some rows."""
        # What is left of a word beside a row must hold every set.
        shift = min(LISTED.bit_length() - 1, 32 - len(program.family.sets).bit_length())
        size = min(rows, 1 << shift)
        nodes, tests = program.deep_nodes, (program.truth, program.owner, program.family.step)
        return cls(
            (nodes, program.deep_roots, *tests, shift),
            tuple(slice(first, first + size) for first in range(0, rows, max(1, size))),
            (np.empty(program.levels * size, np.uint32), np.empty((program.levels, 3), np.uint64)),
        )
