"""Rows moved along one feature at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Floats
from paribus._kernels import reference
from paribus._kernels.compiled.encoding import FEW_NUMBERS
from paribus._kernels.compiled.row_memory import CHUNK, WORDS
from paribus._kernels.pattern_tables import MovedTests
from paribus._kernels.patterns import MOST_CODES, Patterns, patterns_of
from paribus._kernels.program import END, LANE, Ints, Moves, Program, Walk

GUARD = np.uint64(1 << (LANE - 1))
TOGETHER = 64  # rows followed down a tree together: what is known of them should stay in the nearest cache
PARTING = 128  # leaves and features whose rows are added to together


def collect(cells: Ints, numbers: Floats, edges: Floats, widths: Floats, changes: Floats) -> Floats:
    """Return the moments of changes of the rows in each bin, ``(4, bins)``: see `reference.collect`."""
    from paribus._kernels.jit.bin_moments import collect as add_rows

    if len(cells) <= FEW_NUMBERS and not add_rows.loaded:
        return reference.collect(cells, numbers, edges, widths, changes)
    sums = np.zeros((4, len(widths)))
    # A kernel, compiled for arrays of its own, takes none that cannot be written to or lie apart.
    add_rows(
        *(np.require(a, requirements=("C", "W")) for a in (cells, numbers, edges, widths, changes)), sums
    )
    return sums


def shift(walk: Walk, own: Ints, lower: Ints, upper: Ints) -> tuple[Floats, Floats, Floats]:
    """Return the margins of rows ``(m, i)``, and by how much they differ at ``lower`` and at ``upper``.

    The codes are all ``(c, i)``; the latter two results ``(m, f, i)`` are of one feature each that is moved.
    """
    from paribus._kernels.jit.shifts import shift as walk_rows

    rows, packed = own.shape[1], walk.packed
    words = _words(walk, (own, lower, upper))
    owner = walk.owner[packed.words[:, 0]] if len(packed.words) else np.full(1, -1, np.int32)
    plain = np.repeat(walk.base[None], rows, axis=0)
    moved = np.zeros((rows, walk.features, 2, len(walk.base)))
    met = np.empty((TOGETHER, 2 * walk.features), np.int32)
    at, parting = np.empty(TOGETHER, np.uint64), np.empty((TOGETHER, 2), np.uint64)
    apart, active = np.empty((met.size + 1, 4), np.uint64), np.empty(max(met.size, TOGETHER) + 1, np.uint64)
    nodes = packed.word, packed.cut, packed.table, packed.child, walk.truth
    sums = plain.reshape(-1), moved.reshape(-1)
    trees = walk.roots, packed.even, walk.margin, walk.value
    walk_rows(*nodes, owner, *trees, words, met, at, parting, apart, active, *sums)
    lowered, raised = np.ascontiguousarray(moved.transpose(2, 3, 1, 0))
    return np.ascontiguousarray(plain.T), lowered, raised


def move(program: Program, moves: Moves, own: Ints, lower: Ints, upper: Ints) -> Floats:
    """Return what moving one feature at a time changes of the margins of rows, ``(m, moves.size, i)``.

    ``own (c, i)`` are the codes of the rows, ``lower`` and ``upper (f, i)`` where features are moved. The
    family has sets of one feature. The baseline is not part of a row's own margin.
    """
    # Positions among more values are no short numbers.
    patterned = program.patterned if int(moves.n_codes.max(initial=0)) <= MOST_CODES else 0
    parts = [_move_by_patterns(patterns_of(program), moves, own, lower, upper)] if patterned else []
    if patterned < len(program.entries) or not patterned:
        entries = program.entries[patterned:].copy()
        entries[:, END] -= patterned
        parts.append(_move_by_masks(program, entries, moves, own, lower, upper))
    changes = parts[0] + parts[1] if len(parts) > 1 else parts[0]
    return changes.reshape(program.n_margins, moves.size, -1)


def _move_by_patterns(patterns: Patterns, moves: Moves, own: Ints, lower: Ints, upper: Ints) -> Floats:
    """Return what moves change in trees of few tests."""
    from paribus._kernels.jit.pattern_moves import move_by_patterns

    moved = MovedTests.of(patterns, moves)
    tests, targets = len(patterns.conditions), patterns.program.n_margins * moves.size
    changes = np.empty((targets, own.shape[1]))
    move_by_patterns(
        own, lower, upper, patterns.conditions, patterns.program.truth, moved.ways, moves.truth,
        patterns.first, patterns.tests, patterns.begin, moved.ends, moved.twice, moved.bits, moved.mates,
        moved.groups, moved.targets, patterns.value, patterns.margin, int(moves.own), moves.size,
        np.empty((2, CHUNK), np.uint16), np.empty((tests + 2 * len(moved.ways)) * CHUNK, np.uint8),
        np.empty(CHUNK, np.uint8), np.empty(tests * WORDS, np.uint64), np.empty(tests * CHUNK, np.uint16),
        np.empty(tests, np.uint64), np.empty(targets * CHUNK), changes
    )  # fmt: skip
    return changes


def _move_by_masks(
    program: Program, entries: Ints, moves: Moves, own: Ints, lower: Ints, upper: Ints
) -> Floats:
    """Return what moves change in trees down which masks of rows are led."""
    from paribus._kernels.jit.moves import move_by_masks

    changes = np.zeros((program.n_margins * moves.size, own.shape[1]))
    tests, ways = len(program.conditions), len(moves.conditions)
    masks = np.zeros((tests + 2 * ways) * WORDS, np.uint64)
    most_codes = max(int(program.n_codes.max(initial=0)), int(moves.n_codes.max(initial=0)))
    listed = PARTING + 2 * program.most
    move_by_masks(
        own, program.n_codes, program.conditions, program.truth, lower, upper, moves.n_codes,
        moves.conditions, moves.truth, np.stack([tests + moves.test, tests + ways + moves.test]),
        entries, program.up, program.slot_set, moves.targets, program.value, int(moves.own),
        moves.size * CHUNK, program.most,
        np.zeros((2 * program.levels * program.most + 1) * WORDS, np.uint64),
        np.empty((most_codes + 1) * WORDS, np.uint64), masks, masks[tests * WORDS :],
        masks[(tests + ways) * WORDS :], np.empty(2 * listed * WORDS, np.uint64),
        np.empty((listed, 3), np.uint64), np.empty(program.n_margins * moves.size * CHUNK), changes
    )  # fmt: skip
    return changes


def _words(walk: Walk, codes: tuple[Ints, Ints, Ints]) -> NDArray[np.uint64]:
    """Return the words of rows, ``(i, w)``: three codes in each, and above each a bit that is set."""
    packed = walk.packed
    words = np.zeros((codes[0].shape[1], max(1, len(packed.words))), np.uint64)
    for place, (column, first) in enumerate(packed.words):
        for lane, some in enumerate(codes):
            code = some[column].astype(np.uint64)
            if first:  # a missing value, whose code is the largest, becomes the smallest
                missing = np.uint64(walk.columns[column].missing)
                code = np.where(code == missing, np.uint64(0), code + np.uint64(1))
            words[:, place] |= (code | GUARD) << np.uint64(LANE * lane)
    return words
