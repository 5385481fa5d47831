"""How many rows reach each leaf with features free, and what rows lose with one averaged out."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Floats
from paribus._kernels.compiled.row_memory import (
    CHUNK,
    NO_WEIGHTS,
    WORDS,
    Lists,
    Masks,
    add_by_patterns,
    pattern_room,
    tests_of_patterns,
)
from paribus._kernels.flow import LANES, flow_of
from paribus._kernels.flow import WORDS as MASK_WORDS
from paribus._kernels.pattern_tables import losses
from paribus._kernels.patterns import Patterns, patterns_of
from paribus._kernels.program import Ints, Program

TALLIED = CHUNK * 1_000  # rows counted in short numbers, eight a slot: at most an eighth of them in each


def cover(program: Program, codes: Ints, weights: Floats | None) -> Floats:
    """Return the weight of the rows at each slot: those that reach its leaf with its set free."""
    counts = np.zeros(program.n_slots)
    given = NO_WEIGHTS if weights is None else weights
    if program.patterned:
        _cover_by_patterns(patterns_of(program), codes, given, counts)
    if program.patterned < program.shallow:
        _cover_shallow(program, codes, weights, counts)
    if program.shallow < len(program.entries):
        from paribus._kernels.jit.lists import cover_by_lists

        lists, exactly = Lists.of(program, codes.shape[1]), np.zeros(len(program.family.sets) + 1)
        for some in lists.portions:
            cover_by_lists(
                np.ascontiguousarray(codes[:, some]), given[some], *lists.trees, program.family.parts,
                program.slot_set, *lists.arrays, exactly, counts
            )  # fmt: skip
    return counts


def _cover_shallow(program: Program, codes: Ints, weights: Floats | None, counts: Floats) -> None:
    """Add the weight of the rows at the slots of trees that are walked with masks."""
    flow, tests = flow_of(program), (program.n_codes, program.conditions, program.truth)
    memory = (
        np.empty(flow.words, np.uint64),
        np.empty((int(program.n_codes.max(initial=0)) + 1) * MASK_WORDS, np.uint64),
        np.empty(len(program.conditions) * MASK_WORDS, np.uint64),
    )
    steps = flow.steps, flow.parted, flow.whole
    if weights is not None:
        from paribus._kernels.jit.weight_masks import weigh_by_masks

        weigh_by_masks(codes, weights, *tests, *steps, *memory, counts)
    else:
        from paribus._kernels.jit.cover_masks import cover_by_masks

        for first in range(0, codes.shape[1], TALLIED):
            tallies = np.zeros(LANES * program.n_slots, np.uint16)
            portion = np.ascontiguousarray(codes[:, first : first + TALLIED])
            cover_by_masks(portion, *tests, *steps, *memory, tallies, counts)
    slot, one, other = flow.sums.T
    counted = np.append(counts, 0.0)
    counts[slot] = counted[one] + counted[other]
    counts[flow.alone] = codes.shape[1] if weights is None else weights.sum()


def _cover_by_patterns(patterns: Patterns, codes: Ints, weights: Floats, counts: Floats) -> None:
    """Write the weight of the rows at each slot of trees of few tests."""
    from paribus._kernels.jit.pattern_rows import LANES, cover_by_patterns

    found = np.zeros(len(patterns.leaf) * int(LANES))
    tables = np.empty((2, 3 ** int(np.diff(patterns.first).max())))
    cover_by_patterns(
        codes, weights, *tests_of_patterns(patterns), patterns.begin, patterns.slot_first, patterns.cells,
        *pattern_room(patterns), found, tables, counts
    )  # fmt: skip


def weigh(program: Program, fraction: Floats) -> Floats:
    """Return the product at each slot of the fractions of nodes on the way whose feature is not free."""
    from paribus._kernels.jit.paths import weigh as multiply

    shares = np.empty(program.n_slots)
    held = np.empty(program.levels * program.most)
    multiply(program.entries, program.up, program.most, fraction, held, shares)
    return shares


def lose(program: Program, codes: Ints, share: Floats, single: bool = False) -> tuple[Floats, Floats]:
    """Return the margins of rows ``(m, i)``, and what each loses with a feature averaged out ``(m, f, i)``.

    The family has sets of one feature; ``share`` is, per slot, that of the rows which pass its leaf's tests
    of the feature. With ``single`` a row's own margin is added up in single precision, and only that.
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
        from paribus._kernels.jit.lost_masks import lose_by_masks

        masks, entries = Masks.of(program), program.entries[program.patterned : program.shallow]
        room = *(np.empty(size, np.uint64) for size in (CHUNK, 3 * WORDS, 8, 8)), np.empty(8)
        for first in range(0, rows, CHUNK):
            some = slice(first, first + CHUNK)
            part = [_padded(array[..., some]) for array in (rounded, plain, lost)]
            lose_by_masks(
                np.ascontiguousarray(codes[:, some]), *tests, entries, program.up, *masks.arrays,
                program.slot_set, program.family.members, program.value, share, *room,
                *(a.reshape(-1) for a in part)
            )  # fmt: skip
            for array, added in zip((rounded, plain, lost), part, strict=True):
                array[..., some] = added[..., : array[..., some].shape[-1]]
    if program.shallow < len(program.entries):
        from paribus._kernels.jit.lost_lists import lose_by_lists

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
    """Return sums of some rows with room for a whole chunk of them, or nothing if there are none."""
    sums = np.zeros((*array.shape[:-1], CHUNK if array.shape[-1] else 0))
    sums[..., : array.shape[-1]] = array
    return sums
