"""Curves of rows, averages of curves, and changes of rows whose features are moved, compiled."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
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
    add_by_patterns,
    mask_buffers,
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
    Ints,
    Moves,
    PointCodes,
    Program,
    Walk,
    member_starts,
)


def average(program: Program, points: PointCodes, share: Floats) -> Floats:
    """Return the average margins at each point, ``(m, g)``, without the baseline; ``share`` is per slot."""
    if on_lines(program, [points]):
        return line_averages(program, [points], share)
    averages, levels = np.zeros((program.n_margins, points.size)), program.levels
    jit_curves.average(
        program.entries, program.up, program.n_codes, program.conditions, program.truth, points.row,
        points.axis, points.axis_first, points.codes, share, program.value,
        np.empty((levels, points.codes.shape[1]), np.uint8), np.empty(levels, np.int32),
        np.empty(levels, np.int32), np.zeros(program.n_margins), averages
    )  # fmt: skip
    return averages


@dataclass(frozen=True, eq=False)
class Lines:
    """Changes of curves along one feature, stored per test instead of per leaf.

    Attributes
    ----------
    visit_of : (s,)
        The visit of the last test of the free feature on the path of a slot, -1 if it has no grid.
    visits : (v, 3)
        Per entry below a test of a grid's feature, the first point of the grid, and where its edges begin and
        end.
    edges : (h, 2)
        A point, with 1 if the entry is reached from there on, or -1 if it is no longer reached.
    """

    visit_of: Ints
    visits: Ints
    edges: Ints


@dataclass(frozen=True, eq=False)
class Trace:
    """Changes of curves along several grids.

    Attributes
    ----------
    visit_first : (e + 1,)
        Where the visits of each entry begin. A visit is a leaf with a test of a grid's features on its path.
    visits : (v, 5)
        The active set that must be free, the first point of the grid, where its edges begin and end, and the
        entry.
    edges : (h, 2)
        A point, with 1 if the leaf is reached from there on, or -1 if it is no longer reached.
    starts : (q,)
        The first point of each grid.
    size : int
        Number of points of all grids.
    lookups : Lookups or None
        Changes of curves in trees with few tests.
    lines : Lines or None
        Changes of curves if each grid has one axis and no two grids have the same feature. Deep trees then
        have no visits. None if there are no deep trees.
    """

    visit_first: Integers
    visits: Ints
    edges: Ints
    starts: Ints
    size: int
    lookups: Lookups | None
    lines: Lines | None


def trace(program: Program, questions: list[PointCodes], threads: int = 1) -> Trace:
    """Return the changes of curves along grids, which are the same for all rows."""
    starts = np.cumsum([0, *(points.size for points in questions)])
    deep = program.shallow < len(program.entries)
    lines = _lines_of_grids(program, questions, starts, threads) if deep else None
    entries = program.entries[program.patterned : None if lines is None else program.shallow]
    found = _grid_changes(program, entries, list(zip(questions, starts.tolist(), strict=False)), threads)
    shift = np.cumsum([0, *(len(edges) for _, edges in found)])
    for (visits, _), before in zip(found, shift, strict=False):
        visits[:, 2:4] += before
    visits = np.concatenate([np.empty((0, 5), np.int32), *(visits for visits, _ in found)])
    order = np.argsort(visits[:, 4], kind="stable")
    return Trace(
        member_starts(visits[:, 4], len(program.entries)),
        visits[order],
        np.concatenate([np.empty((0, 2), np.int32), *(edges for _, edges in found)]),
        starts[:-1].astype(np.int32),
        int(starts[-1]),
        curve_changes(patterns_of(program), questions) if program.patterned else None,
        lines,
    )


def _grid_changes(
    program: Program, entries: Ints, grids: list[tuple[PointCodes, int]], threads: int
) -> list[tuple[Ints, Ints]]:
    """Return visits and edges of grids, given with their first points; grids of one axis are joined."""
    lone = [grid for grid in grids if on_lines(program, [grid[0]])]
    others = [grid for grid in grids if not on_lines(program, [grid[0]])]
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda grid: changes(program, entries, *grid), others))
    for visits, _ in found:
        visits[:, 4] += program.patterned
    if lone and program.patterned < len(program.entries):
        found.append(line_changes(program, program.patterned, *zip(*lone, strict=True)))
    return found


def _lines_of_grids(
    program: Program, questions: list[PointCodes], starts: Integers, threads: int
) -> Lines | None:
    """Return the changes of curves per test; None if a grid has several axes or two have the same feature."""
    first = program.condition_first[:-1]
    grid_of, at = np.full(len(first), -1, np.int32), np.zeros(len(first), np.int64)
    set_grid = np.full(len(program.family.sets), -1, np.int32)
    codes: list[Ints] = []
    for number, points in enumerate(questions):
        columns = np.flatnonzero(points.row[first] >= 0)
        feature = program.owner[columns[:1]] + 1  # sets of one feature follow the empty set
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
    """Return the changes of curves, with an equal number of trees per thread.

    ``about`` are further arguments of the kernel. The result does not depend on the number of threads.
    """
    entries, visited = program.entries, program.entries[:, DEPTH] > 0
    roots = np.flatnonzero(~visited)
    visited[visited] = grid_of[program.conditions[entries[visited, TEST], COLUMN]] >= 0
    cuts = np.append(roots, len(entries))[
        np.linspace(0, len(roots), min(threads, len(roots)) + 1).astype(int)
    ]
    before = np.cumsum([0, *(np.count_nonzero(visited[i:j]) for i, j in pairwise(cuts.tolist()))])
    visits, visit_of = np.empty((before[-1], 3), np.int32), np.empty(program.n_slots, np.int32)

    parts = [entries[begin:end] for begin, end in pairwise(cuts.tolist())]
    with ThreadPoolExecutor(threads) as pool:
        list_part = partial(_list_line_edges, program.levels, about, visit_of, visits)
        found = list(pool.map(list_part, parts, pairwise(before.tolist())))
    shift = np.cumsum([0, *map(len, found)])
    for part in range(1, len(found)):
        visits[before[part] : before[part + 1], 1:] += shift[part].astype(np.int32)
    return Lines(visit_of, visits, np.concatenate(found) if len(found) > 1 else found[0])


def _list_line_edges(
    levels: int,
    about: tuple[Array, ...],
    visit_of: Ints,
    visits: Ints,
    entries: Ints,
    numbers: tuple[int, int],
) -> Ints:
    """Write the visits of some trees, at positions ``numbers``, and return their edges."""
    sizes = np.diff(about[-1])
    room = 2 * (numbers[1] - numbers[0])
    while True:
        edges, totals = np.empty((room, 2), np.int32), np.array([numbers[0], 0], np.int64)
        jit_curves.list_lines(
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
    """Return the average margins at each point of several grids, ``(m, g)``, without the baseline."""
    if traced.lines is None and not program.patterned:
        found = traced.visits, traced.edges, traced.starts
        return average_changes(program, *found, traced.size, share)
    if on_lines(program, questions):
        return line_averages(program, questions, share)
    if traced.lines is None:
        with ThreadPoolExecutor(threads) as pool:
            each = list(pool.map(lambda points: average(program, points, share), questions))
        return np.concatenate(each, axis=1)
    computed, plain = np.zeros((program.n_margins, traced.size, 1)), np.zeros((program.n_margins, 1))
    lines = traced.lines
    jit_curves.average_lines(
        program.entries, lines.visit_of, lines.visits, lines.edges, share, program.value, computed, plain
    )  # fmt: skip
    _accumulate_changes(computed, plain, traced.starts)
    return computed[:, :, 0]


def cell_averages(program: Program, positions: list[int], share: Floats) -> list[Floats]:
    """Return the average margins at all codes of features; see `reference.cell_averages`."""
    columns = [program.columns_of[program.family.features[position]][0] for position in positions]
    first, size = np.cumsum([0, *program.n_codes]).astype(np.int64), int(program.n_codes.sum())
    column_of = np.full(len(program.family.sets), -1, np.int32)
    column_of[[position + 1 for position in positions]] = columns  # sets of one feature follow the empty set
    last = program.n_codes - 1
    reach = np.stack([np.zeros_like(last), last, np.ones_like(last)], axis=1).astype(np.int64)
    steps, apart = np.zeros((program.n_margins, size)), np.zeros((program.n_margins, len(last)))
    plain = np.zeros(program.n_margins)
    jit_curves.average_cells(
        program.entries, program.conditions, program.slot_set, column_of, first, share, program.value, reach,
        np.zeros((program.levels, 4), np.int64), steps, apart, plain
    )  # fmt: skip
    found = []
    for column in columns:
        curve = np.cumsum(steps[:, first[column] : first[column + 1]], axis=1)
        curve[:, -1] = apart[:, column]
        found.append(curve + plain[:, None])
    return found


def _accumulate_changes(computed: Floats, plain: Floats, starts: Ints) -> None:
    """Replace changes between points by margins; the first change of a grid is from the margin ``plain``."""
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
        members = np.empty((2, CHUNK), np.uint64)
        entries = program.entries[program.patterned : program.shallow]
        jit_curves.curves_by_masks(
            codes, *tests, entries, program.up, *mask_buffers(program), members, program.value,
            traced.visit_first[program.patterned :], *visits, flat, plain
        )  # fmt: skip
    if program.shallow < len(program.entries):
        _deep_curves(program, traced, codes, flat, plain)
    computed = sums[:changing].reshape(program.n_margins, traced.size, rows)
    _accumulate_changes(computed, sums[changing:], traced.starts)
    return computed


def _deep_curves(program: Program, traced: Trace, codes: Ints, computed: Floats, plain: Floats) -> None:
    """Add the changes of curves in deep trees."""
    lists, leaves = Lists.of(program, codes.shape[1]), (program.entries[program.shallow :], program.value)
    if traced.lines is None:
        jit_curves.curves_by_lists(
            codes, *lists.trees, program.family.parts, program.slot_set, *lists.arrays, *leaves,
            traced.visit_first[program.shallow :], traced.visits, traced.edges, traced.size, computed, plain
        )  # fmt: skip
        return
    lines, place = traced.lines, np.empty(len(program.family.sets), np.uint64)
    jit_curves.lines_by_lists(
        codes, *lists.trees, program.slot_set, place, *lists.arrays, *leaves, lines.visit_of, lines.visits,
        lines.edges, traced.size, computed, plain
    )  # fmt: skip


def trace_bytes(program: Program, points: PointCodes) -> int:
    """Return the memory of the trace of a grid."""
    found = changes(program, program.entries[program.patterned :], points, 0)
    tables = curve_changes(patterns_of(program), [points]).nbytes if program.patterned else 0
    return sum(array.nbytes for array in found) + tables


GUARD = np.uint64(1 << (LANE - 1))
TOGETHER = 64  # rows that descend a tree together, so that their arrays fit the L1 cache
PARTING = 128  # pairs of a leaf and a feature whose rows are updated together


def collect(cells: Ints, numbers: Floats, edges: Floats, widths: Floats, changes: Floats) -> Floats:
    """Return the moments of the changes of the rows in each bin, ``(4, bins)``; see `reference.collect`."""
    from paribus._kernels.jit.shifts import collect as add_rows

    if len(cells) <= FEW_NUMBERS and not add_rows.loaded:
        return reference.collect(cells, numbers, edges, widths, changes)
    sums = np.zeros((4, len(widths)))
    # The kernel is compiled for contiguous, writable arrays only.
    add_rows(
        *(np.require(a, requirements=("C", "W")) for a in (cells, numbers, edges, widths, changes)), sums
    )
    return sums


def shift(walk: Walk, own: Ints, lower: Ints, upper: Ints) -> tuple[Floats, Floats, Floats]:
    """Return the margins of rows ``(m, i)``, and their changes if a feature moves to ``lower`` or ``upper``.

    All codes are ``(c, i)``. The changes are ``(m, f, i)``, for each moved feature.
    """
    from paribus._kernels.jit.shifts import shift as walk_rows

    rows, packed = own.shape[1], walk.packed
    words = _packed_codes(walk, (own, lower, upper))
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
    """Return the changes of the margins of rows if one feature is moved, ``(m, moves.size, i)``.

    ``own (c, i)`` are the codes of the rows, ``lower`` and ``upper (f, i)`` the codes of `Moves`. The family
    has sets of one feature. The margins of unchanged rows exclude the baseline.
    """
    # Patterns need codes that are 16-bit integers.
    patterned = program.patterned if int(moves.n_codes.max(initial=0)) <= MOST_CODES else 0
    parts = [_move_by_patterns(patterns_of(program), moves, own, lower, upper)] if patterned else []
    if patterned < len(program.entries) or not patterned:
        entries = program.entries[patterned:].copy()
        entries[:, END] -= patterned
        parts.append(_move_by_masks(program, entries, moves, own, lower, upper))
    changes = parts[0] + parts[1] if len(parts) > 1 else parts[0]
    return changes.reshape(program.n_margins, moves.size, -1)


def _move_by_patterns(patterns: Patterns, moves: Moves, own: Ints, lower: Ints, upper: Ints) -> Floats:
    """Return the changes of margins in trees with few tests, ``(m * moves.size, i)``."""
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
    """Return the changes of margins in trees that are evaluated with masks, ``(m * moves.size, i)``."""
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


def _packed_codes(walk: Walk, codes: tuple[Ints, Ints, Ints]) -> NDArray[np.uint64]:
    """Return the words of rows, ``(i, w)``: three codes in each, with a bit set above each; see `Packed`."""
    packed = walk.packed
    words = np.zeros((codes[0].shape[1], max(1, len(packed.words))), np.uint64)
    for place, (column, first) in enumerate(packed.words):
        for lane, some in enumerate(codes):
            code = some[column].astype(np.uint64)
            if first:  # the code of a missing value becomes the smallest instead of the largest
                missing = np.uint64(walk.columns[column].missing)
                code = np.where(code == missing, np.uint64(0), code + np.uint64(1))
            words[:, place] |= (code | GUARD) << np.uint64(LANE * lane)
    return words


def multiply(curves: Floats) -> Floats:
    """Return the sums over rows of the products of two points, ``(o, g, g)`` of curves ``(o, g, i)``."""
    products = np.empty((*curves.shape[:2], curves.shape[1]))
    jit_curves.multiply(np.ascontiguousarray(curves), products)
    return products
