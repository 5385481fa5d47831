"""Curves and shifts, compiled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Array, Floats, Integers
from paribus._kernels import reference
from paribus._kernels.compiled.coverage import (
    CHUNK,
    FEW_NUMBERS,
    NOTHING,
    WORDS,
    Lists,
    Masks,
    add_by_patterns,
)
from paribus._kernels.grid_points import average_changes, changes, line_averages, line_changes, on_lines
from paribus._kernels.jit import row_curves as jit_curves
from paribus._kernels.patterns import MOST_CODES, Lookups, MovedTests, Patterns, curve_changes, patterns_of
from paribus._kernels.program import (
    COLUMN,
    DEPTH,
    END,
    LANE,
    TEST,
    Bytes,
    Ints,
    Moves,
    PointCodes,
    Program,
    Walk,
)


def average(program: Program, points: PointCodes, share: Floats) -> Floats:
    """Return the average margins at each point, ``(m, g)``, without the baseline; ``share`` is per slot."""
    if on_lines(program, [points]):
        return line_averages(program, [points], share)
    averages = np.zeros((program.n_margins, points.size))
    jit_curves.average(
        program.entries, program.up, program.n_codes, program.conditions, program.truth, points.row,
        points.axis, points.axis_first, points.codes, share, program.value, *_reach(program, points),
        np.zeros(program.n_margins), averages
    )  # fmt: skip
    return averages


@dataclass(frozen=True, eq=False)
class Lines:
    """Where curves along one feature change, test by test instead of leaf by leaf.

    Attributes
    ----------
    visit_of : (s,)
        The last test of the feature that is free at a slot, -1 where no grid is about it.
    visits : (v, 3)
        Per test of a grid's feature and side, the grid's first point, and where its edges begin and end.
    edges : (h, 2)
        A point, and 1 where the side begins to be reached or -1 where it ends.
    """

    visit_of: Ints
    visits: Ints
    edges: Ints


@dataclass(frozen=True, eq=False)
class Trace:
    """Where the curves of some grids change: which leaf each point reaches.

    Attributes
    ----------
    visit_first : (e + 1,)
        Where the visits of each entry begin; a visit is a leaf that tests a grid's features.
    visits : (v, 5)
        The active set that must be free, the grid's first point, and where its edges begin and end.
    edges : (h, 2)
        A point, and 1 where the leaf begins to be reached or -1 where it ends.
    starts : (q,)
        The first point of each grid.
    size : int
        Number of points of all grids.
    lookups : Lookups or None
        By how much the curves of trees of few tests change.
    lines : Lines or None
        Where they change in deep trees, which have no visits then, if each grid has a feature of its own.
    """

    visit_first: Integers
    visits: Ints
    edges: Ints
    starts: Ints
    size: int
    lookups: Lookups | None
    lines: Lines | None


def trace(program: Program, questions: list[PointCodes], threads: int = 1) -> Trace:
    """Find, once for all rows, where the curves of the grids can change."""
    starts = np.cumsum([0, *(points.size for points in questions)])
    deep = program.shallow < len(program.entries)
    lines = _lines(program, questions, starts, threads) if deep else None
    entries = program.entries[program.patterned : None if lines is None else program.shallow]
    found = _changes(program, entries, list(zip(questions, starts.tolist(), strict=False)), threads)
    shift = np.cumsum([0, *(len(edges) for _, edges in found)])
    for (visits, _), before in zip(found, shift, strict=False):
        visits[:, 2:4] += before
    visits = np.concatenate([np.empty((0, 5), np.int32), *(visits for visits, _ in found)])
    order = np.argsort(visits[:, 4], kind="stable")
    per_entry = np.bincount(visits[:, 4], minlength=len(program.entries))
    return Trace(
        np.concatenate([[0], np.cumsum(per_entry)]),
        visits[order],
        np.concatenate([np.empty((0, 2), np.int32), *(edges for _, edges in found)]),
        starts[:-1].astype(np.int32),
        int(starts[-1]),
        curve_changes(patterns_of(program), questions) if program.patterned else None,
        lines,
    )


def _changes(
    program: Program, entries: Ints, grids: list[tuple[PointCodes, int]], threads: int
) -> list[tuple[Ints, Ints]]:
    """Return the changes along grids with their first points, of those of one axis together."""
    lone = [grid for grid in grids if on_lines(program, [grid[0]])]
    others = [grid for grid in grids if not on_lines(program, [grid[0]])]
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda grid: changes(program, entries, *grid), others))
    for visits, _ in found:
        visits[:, 4] += program.patterned
    if lone and program.patterned < len(program.entries):
        found.append(line_changes(program, program.patterned, *zip(*lone, strict=True)))
    return found


def _lines(program: Program, questions: list[PointCodes], starts: Integers, threads: int) -> Lines | None:
    """Return where curves change test by test; None unless each grid is about a feature of its own."""
    first = np.searchsorted(program.conditions[:, COLUMN], np.arange(len(program.columns)))
    grid_of, at = np.full(len(first), -1, np.int32), np.zeros(len(first), np.int64)
    set_grid = np.full(len(program.family.sets), -1, np.int32)
    codes: list[Ints] = []
    for number, points in enumerate(questions):
        columns = np.flatnonzero(points.row[first] >= 0)
        feature = program.owner[columns[:1]] + 1  # sets of one feature are next to the empty one
        if len(points.axis_first) > 2 or (set_grid[feature] >= 0).any():
            return None
        set_grid[feature], grid_of[columns] = number, number
        for column in columns:
            at[column] = sum(map(len, codes))
            codes.append(points.codes[points.row[first[column]]])
    about = program.n_codes, program.conditions, program.truth, program.slot_set, grid_of, at
    values = np.concatenate([NOTHING, *codes]), set_grid, starts
    return _listed_lines(program, grid_of, (*about, *values), threads)


def _listed_lines(program: Program, grid_of: Ints, about: tuple[Array, ...], threads: int) -> Lines:
    """List where curves change, as many trees in each thread; the result is the same for any number."""
    entries, visited = program.entries, program.entries[:, DEPTH] > 0
    roots = np.flatnonzero(~visited)
    visited[visited] = grid_of[program.conditions[entries[visited, TEST], COLUMN]] >= 0
    cuts = np.append(roots, len(entries))[
        np.linspace(0, len(roots), min(threads, len(roots)) + 1).astype(int)
    ]
    before = np.cumsum([0, *(np.count_nonzero(visited[i:j]) for i, j in pairwise(cuts.tolist()))])
    visits, visit_of = np.empty((before[-1], 3), np.int32), np.empty(program.n_slots, np.int32)

    def listed(part: int) -> Ints:
        own = entries[cuts[part] : cuts[part + 1]]
        return _edges_of(own, program.levels, about, visit_of, visits, before[part : part + 2])

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(listed, range(len(cuts) - 1)))
    shift = np.cumsum([0, *map(len, found)])
    for part in range(1, len(found)):
        visits[before[part] : before[part + 1], 1:] += shift[part].astype(np.int32)
    return Lines(visit_of, visits, np.concatenate(found) if len(found) > 1 else found[0])


def _edges_of(
    entries: Ints, levels: int, about: tuple[Array, ...], visit_of: Ints, visits: Ints, numbers: Integers
) -> Ints:
    """Write the visits of some trees, which have these numbers, and return their edges."""
    from paribus._kernels.jit.row_curves import list_lines

    sizes = np.diff(about[-1])
    room = 2 * int(numbers[1] - numbers[0])
    while True:
        edges, totals = np.empty((room, 2), np.int32), np.array([numbers[0], 0])
        list_lines(
            entries, *about, np.ones((levels, int(sizes.max())), np.uint8), np.zeros((levels, 2), np.int64),
            np.full((len(sizes), 2), -1, np.int64), np.full((levels, 3), -1, np.int64), visit_of, visits,
            edges, totals
        )  # fmt: skip
        room = int(totals[1])
        if room <= len(edges):
            return edges[:room]


def averages(
    program: Program, traced: Trace, questions: list[PointCodes], share: Floats, threads: int = 1
) -> Floats:
    """Return the average margins at each point of grids ``(m, g)`` as `average` does for one of them."""
    if traced.lines is None and not program.patterned:
        found = traced.visits, traced.edges, traced.starts
        return average_changes(program, *found, traced.size, share)
    if on_lines(program, questions):
        return line_averages(program, questions, share)
    if traced.lines is None:
        with ThreadPoolExecutor(threads) as pool:
            each = list(pool.map(lambda points: average(program, points, share), questions))
        return np.concatenate(each, axis=1)
    from paribus._kernels.jit.row_curves import average_lines

    computed, plain = np.zeros((program.n_margins, traced.size, 1)), np.zeros((program.n_margins, 1))
    lines = traced.lines
    average_lines(
        program.entries, lines.visit_of, lines.visits, lines.edges, share, program.value, computed, plain
    )  # fmt: skip
    _accumulate(computed, plain, traced.starts)
    return computed[:, :, 0]


def _accumulate(computed: Floats, plain: Floats, starts: Ints) -> None:
    """Turn changes from point to point into margins; a grid starts from the row itself."""
    begins = set(starts.tolist())
    for margin, own in zip(computed, plain, strict=True):
        before = own
        for point, row in enumerate(margin):
            np.add(row, own if point in begins else before, out=row)
            before = row


def curves(program: Program, traced: Trace, codes: Ints) -> Floats:
    """Return the margins of at most ``CHUNK`` rows at each point of the grids, ``(m, g, i)``."""
    rows, changing = codes.shape[1], program.n_margins * traced.size
    sums = np.zeros((changing + program.n_margins, rows))
    sums[changing:] += program.base[:, None]
    flat, plain = sums[:changing].reshape(-1), sums[changing:].reshape(-1)
    tests = program.n_codes, program.conditions, program.truth
    visits = traced.visits, traced.edges, traced.size
    if traced.lookups is not None:
        add_by_patterns(patterns_of(program), traced.lookups, codes, sums, len(sums))
    if program.patterned < program.shallow:
        from paribus._kernels.jit.row_curves import curves_by_masks

        masks = Masks.of(program)
        members = np.empty((2, CHUNK), np.uint64)
        entries = program.entries[program.patterned : program.shallow]
        curves_by_masks(
            codes, *tests, entries, program.up, *masks.arrays, members, program.value,
            traced.visit_first[program.patterned :], *visits, flat, plain
        )  # fmt: skip
    if program.shallow < len(program.entries):
        _deep_curves(program, traced, codes, flat, plain)
    computed = sums[:changing].reshape(program.n_margins, traced.size, rows)
    _accumulate(computed, sums[changing:], traced.starts)
    return computed


def _deep_curves(program: Program, traced: Trace, codes: Ints, computed: Floats, plain: Floats) -> None:
    """Add what the leaves of deep trees change."""
    lists, leaves = Lists.of(program, codes.shape[1]), (program.entries[program.shallow :], program.value)
    if traced.lines is None:
        from paribus._kernels.jit.row_curves import curves_by_lists

        curves_by_lists(
            codes, *lists.trees, program.family.parts, program.slot_set, *lists.arrays, *leaves,
            traced.visit_first[program.shallow :], traced.visits, traced.edges, traced.size, computed, plain
        )  # fmt: skip
        return
    from paribus._kernels.jit.row_curves import lines_by_lists

    lines, place = traced.lines, np.empty(len(program.family.sets), np.uint64)
    lines_by_lists(
        codes, *lists.trees, program.slot_set, place, *lists.arrays, *leaves, lines.visit_of, lines.visits,
        lines.edges, traced.size, computed, plain
    )  # fmt: skip


def _reach(program: Program, points: PointCodes) -> tuple[Bytes, Ints, Ints]:
    levels = program.levels
    reach = np.empty((levels, points.codes.shape[1]), np.uint8)
    return reach, np.empty(levels, np.int32), np.empty(levels, np.int32)


def trace_bytes(program: Program, points: PointCodes) -> int:
    """Return the memory that the trace of a grid takes."""
    found = changes(program, program.entries[program.patterned :], points, 0)
    tables = curve_changes(patterns_of(program), [points]).nbytes if program.patterned else 0
    return sum(array.nbytes for array in found) + tables


GUARD = np.uint64(1 << (LANE - 1))
TOGETHER = 64  # rows followed down a tree together: what is known of them should stay in the nearest cache
PARTING = 128  # leaves and features whose rows are added to together


def collect(cells: Ints, numbers: Floats, edges: Floats, widths: Floats, changes: Floats) -> Floats:
    """Return the moments of changes of the rows in each bin, ``(4, bins)``: see `reference.collect`."""
    from paribus._kernels.jit.shifts import collect as add_rows

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
    from paribus._kernels.jit.pattern_walks import move_by_patterns

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
    from paribus._kernels.jit.shifts import move_by_masks

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
