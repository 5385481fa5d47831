"""Coverage of slots, losses of features, codes and bins of rows, and the layout of trees, compiled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._kernels import reference
from paribus._kernels.jit import common, program_layout
from paribus._kernels.jit.coverage import cover_by_lists, cover_by_masks, weigh_by_masks
from paribus._kernels.patterns import Lookups, Patterns, losses, patterns_of
from paribus._kernels.preorder import LANES, mask_schedule
from paribus._kernels.preorder import WORDS as MASK_WORDS
from paribus._kernels.program import BINS, Bytes, CodeColumn, Ints, Layout, Program

CHUNK = int(common.CHUNK)
WORDS = CHUNK // 64
LISTED = 1 << 15  # rows listed at once, so that their codes of a column fit the CPU cache
NO_WEIGHTS = np.empty(0)
NOTHING = np.empty(0, np.int32)
TALLIED = CHUNK * 1_000  # rows counted at once: a slot has eight 16-bit counters, each for 1/8 of the rows


def cover(program: Program, codes: Ints, weights: Floats | None) -> Floats:
    """Return, per slot, the weight of the rows that reach its leaf if the features of its set are free."""
    counts = np.zeros(program.n_slots)
    given = NO_WEIGHTS if weights is None else weights
    if program.patterned:
        _cover_by_patterns(patterns_of(program), codes, given, counts)
    if program.patterned < program.shallow:
        _cover_shallow(program, codes, weights, counts)
    if program.shallow < len(program.entries):
        lists, exactly = Lists.of(program, codes.shape[1]), np.zeros(len(program.family.sets) + 1)
        for some in lists.portions:
            cover_by_lists(
                np.ascontiguousarray(codes[:, some]), given[some], *lists.trees, program.family.parts,
                program.slot_set, *lists.arrays, exactly, counts
            )  # fmt: skip
    return counts


def _cover_shallow(program: Program, codes: Ints, weights: Floats | None, counts: Floats) -> None:
    """Add the weight of the rows at the slots of trees that are evaluated with masks."""
    schedule, tests = mask_schedule(program), (program.n_codes, program.conditions, program.truth)
    memory = (
        np.empty(schedule.words, np.uint64),
        np.empty((int(program.n_codes.max(initial=0)) + 1) * MASK_WORDS, np.uint64),
        np.empty(len(program.conditions) * MASK_WORDS, np.uint64),
    )
    steps = schedule.steps, schedule.parted, schedule.whole
    if weights is not None:
        weigh_by_masks(codes, weights, *tests, *steps, *memory, counts)
    else:
        for first in range(0, codes.shape[1], TALLIED):
            tallies = np.zeros(LANES * program.n_slots, np.uint16)
            portion = np.ascontiguousarray(codes[:, first : first + TALLIED])
            cover_by_masks(portion, *tests, *steps, *memory, tallies, counts)
    slot, one, other = schedule.sums.T
    counted = np.append(counts, 0.0)
    counts[slot] = counted[one] + counted[other]
    counts[schedule.alone] = codes.shape[1] if weights is None else weights.sum()


def _cover_by_patterns(patterns: Patterns, codes: Ints, weights: Floats, counts: Floats) -> None:
    """Write the weight of the rows at each slot of trees with few tests."""
    from paribus._kernels.jit.pattern_walks import LANES, cover_by_patterns

    found = np.zeros(len(patterns.leaf) * int(LANES))
    tables = np.empty((2, 3 ** int(np.diff(patterns.first).max())))
    cover_by_patterns(
        codes, weights, patterns.conditions, patterns.program.truth, patterns.first, patterns.tests,
        patterns.begin, patterns.slot_first, patterns.cells, *_pattern_buffers(patterns), found, tables,
        counts
    )  # fmt: skip


def weigh(program: Program, fraction: Floats) -> Floats:
    """Return, per slot, the product of the fractions of nodes on the path, except below free features."""
    shares = np.empty(program.n_slots)
    held = np.empty(program.levels * program.most)
    program_layout.weigh(program.entries, program.up, program.most, fraction, held, shares)
    return shares


def lose(program: Program, codes: Ints, share: Floats, single: bool = False) -> tuple[Floats, Floats]:
    """Return the margins of rows ``(m, i)``, and their losses if a feature is averaged out ``(m, f, i)``.

    The family has sets of one feature. ``share`` is, per slot, the share of rows that pass the tests of its
    leaf on the feature. With ``single``, only the margins are summed in single precision.
    """
    rows, features, margins = codes.shape[1], len(program.family.features), program.n_margins
    all_but_rounded = margins * (1 + features)
    sums = np.zeros((all_but_rounded + single * margins, rows))
    plain, rounded = sums[:margins], sums[all_but_rounded:]
    lost = sums[margins:all_but_rounded].reshape(margins, features, rows)
    plain += program.base[:, None]
    rounded += program.base[: len(rounded), None]
    tests = program.n_codes, program.conditions, program.truth
    if program.patterned:
        lookups = losses(patterns_of(program), share, single)
        add_by_patterns(patterns_of(program), lookups, codes, sums, all_but_rounded)
    if program.patterned < program.shallow:
        from paribus._kernels.jit.feature_loss import lose_by_masks

        masks, entries = mask_buffers(program), program.entries[program.patterned : program.shallow]
        room = *(np.empty(size, np.uint64) for size in (CHUNK, 3 * WORDS, 8, 8)), np.empty(8)
        for first in range(0, rows, CHUNK):
            some = slice(first, first + CHUNK)
            part = [_padded(array[..., some]) for array in (rounded, plain, lost)]
            lose_by_masks(
                np.ascontiguousarray(codes[:, some]), *tests, entries, program.up, *masks,
                program.slot_set, program.family.members, program.value, share, *room,
                *(a.reshape(-1) for a in part)
            )  # fmt: skip
            for array, added in zip((rounded, plain, lost), part, strict=True):
                array[..., some] = added[..., : array[..., some].shape[-1]]
    if program.shallow < len(program.entries):
        from paribus._kernels.jit.feature_loss import lose_by_lists

        lists, place = Lists.of(program, rows), np.empty(len(program.family.sets), np.uint64)
        for some in lists.portions:
            part = [np.ascontiguousarray(array[..., some]) for array in (rounded, plain, lost)]
            lose_by_lists(
                np.ascontiguousarray(codes[:, some]), *lists.trees, program.slot_set, place, *lists.arrays,
                program.entries[program.shallow :], program.value, share, *(a.reshape(-1) for a in part)
            )  # fmt: skip
            rounded[:, some], plain[:, some], lost[..., some] = part
    if not single:
        return plain, lost
    return rounded, lost + (rounded - plain)[:, None]


def _padded(array: Floats) -> Floats:
    """Return sums of rows padded with zeros to a chunk; no rows are not padded."""
    sums = np.zeros((*array.shape[:-1], CHUNK if array.shape[-1] else 0))
    sums[..., : array.shape[-1]] = array
    return sums


FEW_NUMBERS, FEW_ROWS = 8_192, 65_536  # up to these sizes NumPy takes less time than loading a kernel


def rank(column: CodeColumn, numbers: Floats) -> Ints:
    """Return the codes of numbers: the number of smaller thresholds."""
    if len(numbers) <= FEW_NUMBERS and not program_layout.rank.loaded:
        return reference.rank(column, numbers)
    codes = np.empty(len(numbers), np.int32)
    if not numbers.flags.writeable:  # the kernel is compiled for writable arrays only
        numbers = numbers.copy()
    program_layout.rank(numbers, column.known, column.scale, column.below, codes)
    return codes


def locate(numbers: Array, edges: Floats, missing: int) -> Bytes:
    """Return the bin of each number: how many of at most 31 sorted edges are smaller."""
    from paribus._kernels.jit.interactions import locate as search

    codes = np.empty(len(numbers), np.uint8)
    padded = np.full(BINS - 1, np.inf)
    padded[: len(edges)] = edges
    search(numbers, padded, missing, codes)
    return codes


def tally(codes: Bytes) -> Integers:
    """Return the number of rows in each bin of each column, ``(p, 32)``, from the bins ``(p, i)`` of rows."""
    from paribus._kernels.jit.interactions import tally as count

    rows = np.zeros((len(codes), BINS), np.int64)
    count(codes, rows)
    return rows


def mark(codes: Bytes, pairs: Ints) -> Bytes:
    """Return 1 for each cell of a pair of columns that contains a row, ``(q, 32 * 32)``.

    ``pairs (q, 2)`` are positions among the columns. ``codes (p, i)`` are the bins of rows, less than 32.
    """
    from paribus._kernels.jit.interactions import mark as store

    tables = np.zeros((len(pairs), BINS * BINS), np.uint8)
    store(codes, pairs, tables)
    return tables


def lay_out(
    roots: Ints, left: Ints, right: Ints, inner: Flags, feature: Ints, step: Ints, rows: int = 0
) -> Layout:
    """Return the nodes of trees in preorder and the sets active at each node.

    The kernel is used if there are many nodes, or many ``rows`` that the layout serves.
    """
    if max(rows, len(inner)) <= FEW_ROWS:
        return reference.lay_out(roots, left, right, inner, feature, step)
    nodes = len(inner)
    node, parent, depth, side, end, active = (np.zeros(nodes, np.int32) for _ in range(6))
    stack = np.empty((nodes + 1, 4), np.int32)
    program_layout.preorder(roots, left, right, inner.view(np.uint8), stack, node, parent, depth, side, end)
    sets = np.empty((int(depth.max(initial=0)) + 1, len(step)), np.int32)
    up_first, slot_first = np.zeros(nodes, np.int64), np.full(nodes, -1, np.int64)
    up = slot_set = NOTHING
    totals = np.zeros(2, np.int64)
    tested = np.where(inner, feature, -1).astype(np.int32)[node]
    for _ in range(2):  # count in the first pass, write in the second
        program_layout.lay_out(
            parent, depth, tested, step, sets, active, up_first, up, slot_first, slot_set, totals
        )  # fmt: skip
        if not len(slot_set):
            up, slot_set = np.empty(totals[0], np.int32), np.empty(totals[1], np.int32)
    return Layout(node, parent, depth, side, end, active, up_first, up, slot_first, slot_set)


def add_by_patterns(patterns: Patterns, lookups: Lookups, codes: Ints, sums: Floats, single: int) -> None:
    """Add the values of tables to sums ``(n, i)`` of rows; sums from ``single`` on in single precision."""
    from paribus._kernels.jit.pattern_walks import add_by_patterns as add_rows

    add_rows(
        codes, patterns.conditions, patterns.program.truth, patterns.first, patterns.tests, lookups.first,
        lookups.items, lookups.table, single, *_pattern_buffers(patterns), sums.reshape(-1)
    )  # fmt: skip


def _pattern_buffers(patterns: Patterns) -> tuple[NDArray[np.uint16], Bytes]:
    """Return memory for the codes and patterns of a chunk of rows, and for the outcomes of all tests."""
    return np.empty((2, CHUNK), np.uint16), np.empty(len(patterns.conditions) * CHUNK, np.uint8)


def mask_buffers(program: Program) -> tuple[int, Integers, Integers, Integers, Integers]:
    """Return ``program.most``, and memory for masks of active sets, their positions, codes and conditions."""
    held = program.levels * program.most
    return (
        program.most,
        np.zeros(held * WORDS, np.uint64),
        np.zeros(held, np.uint64),
        np.empty((int(program.n_codes.max(initial=0)) + 1) * WORDS, np.uint64),
        np.zeros((len(program.conditions) + 1) * WORDS, np.uint64),
    )


@dataclass(frozen=True, eq=False)
class Lists:
    """Deep trees, and memory for evaluating them with lists of rows.

    Attributes
    ----------
    trees : tuple
        Arguments of the kernels: nodes, roots, truth, owner, step, and the number of bits of a row.
    portions : tuple of slice
        Rows that are listed at once.
    arrays : tuple
        The lists of rows of the nodes on a path, and the stack of nodes that are not yet visited.
    """

    trees: tuple[Ints, Integers, Bytes, Ints, Ints, int]
    portions: tuple[slice, ...]
    arrays: tuple[Integers, Integers]

    @classmethod
    def of(cls, program: Program, rows: int) -> Lists:
        """Return the deep trees of a program, and memory for a number of rows."""
        # A word has the number of a row in its low bits and a set in the others.
        shift = min(LISTED.bit_length() - 1, 32 - len(program.family.sets).bit_length())
        size = min(rows, 1 << shift)
        nodes, tests = program.deep_nodes, (program.truth, program.owner, program.family.step)
        return cls(
            (nodes, program.deep_roots, *tests, shift),
            tuple(slice(first, first + size) for first in range(0, rows, max(1, size))),
            (np.empty(program.levels * size, np.uint32), np.empty((program.levels, 3), np.uint64)),
        )
