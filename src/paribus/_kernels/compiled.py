"""The functions of `reference`, for a machine: memory is laid out here, the loops are in `jit`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._kernels import reference
from paribus._kernels.flow import LANES, flow_of
from paribus._kernels.flow import WORDS as MASK_WORDS
from paribus._kernels.grid_points import changes
from paribus._kernels.jit import common, node_order
from paribus._kernels.jit import points as reaching
from paribus._kernels.line_changes import average_changes, line_averages, line_changes, on_lines
from paribus._kernels.pattern_tables import Lookups, MovedTests, curve_changes, losses
from paribus._kernels.patterns import MOST_CODES, Patterns, patterns_of
from paribus._kernels.program import (
    BINS,
    COLUMN,
    DEPTH,
    END,
    LANE,
    TEST,
    Boxes,
    Bytes,
    CellPoints,
    CodeColumn,
    Grouped,
    Ints,
    Items,
    Layout,
    Moves,
    PointCodes,
    Program,
    Runs,
    Walk,
)

CHUNK = int(common.CHUNK)
WORDS = CHUNK // 64
TALLIED = CHUNK * 1_000  # rows counted in short numbers, eight a slot: at most an eighth of them in each
FEW_NUMBERS, FEW_ROWS = 8_192, 65_536  # for which NumPy takes less time than loading a kernel
PARTS = 8  # of pairs of features, for threads
FLAGS = 2**20  # of rows at leaves, held at once
LISTED = 1 << 15  # rows listed at once: their codes of a column should stay near
GUARD = np.uint64(1 << (LANE - 1))
TOGETHER = 64  # rows followed down a tree together: what is known of them should stay in the nearest cache
PARTING = 128  # leaves and features whose rows are added to together
NO_WEIGHTS = np.empty(0)
NOTHING = np.empty(0, np.int32)


def rank(column: CodeColumn, numbers: Floats) -> Ints:
    """Return the codes of numbers: how many thresholds are smaller."""
    if len(numbers) <= FEW_NUMBERS and not node_order.rank.loaded:
        return reference.rank(column, numbers)
    codes = np.empty(len(numbers), np.int32)
    if not numbers.flags.writeable:  # which a kernel, compiled for arrays of its own, does not take
        numbers = numbers.copy()
    node_order.rank(numbers, column.known, column.scale, column.below, codes)
    return codes


def collect(cells: Ints, numbers: Floats, edges: Floats, widths: Floats, changes: Floats) -> Floats:
    """Return the moments of changes of the rows in each bin, ``(4, bins)``: see `reference.collect`."""
    from paribus._kernels.jit.bin_moments import collect as add_rows

    if len(cells) <= FEW_NUMBERS and not add_rows.loaded:
        return reference.collect(cells, numbers, edges, widths, changes)
    sums = np.zeros((4, len(widths)))
    add_rows(cells, numbers, edges, widths, changes, sums)
    return sums


def locate(numbers: Array, edges: Floats, missing: int) -> Bytes:
    """Return the bin of each number: how many of the sorted edges, 31 at most, are smaller."""
    from paribus._kernels.jit.cell_counts import locate as search

    codes = np.empty(len(numbers), np.uint8)
    padded = np.full(BINS - 1, np.inf)
    padded[: len(edges)] = edges
    search(numbers, padded, missing, codes)
    return codes


def tally(codes: Bytes) -> Integers:
    """Return how many rows are in each bin of each column, ``(p, 32)``, from the codes ``(p, i)``."""
    from paribus._kernels.jit.cell_counts import tally as count

    rows = np.zeros((len(codes), BINS), np.int64)
    count(codes, rows)
    return rows


def mark(codes: Bytes, pairs: Ints) -> Bytes:
    """Return 1 for each cell of pairs of columns that some row lies in, ``(q, 32 * 32)``.

    ``pairs (q, 2)`` are positions among the columns of the codes ``(p, i)``, which are less than 32.
    """
    from paribus._kernels.jit.cell_counts import mark as store

    tables = np.zeros((len(pairs), BINS * BINS), np.uint8)
    store(codes, pairs, tables)
    return tables


def lay_out(
    roots: Ints, left: Ints, right: Ints, inner: Flags, feature: Ints, step: Ints, rows: int = 0
) -> Layout:
    """Lay trees out in preorder and find the sets active at each node, for a number of rows."""
    if max(rows, len(inner)) <= FEW_ROWS:
        return reference.lay_out(roots, left, right, inner, feature, step)
    nodes = len(inner)
    node, parent, depth, side, end, active = (np.zeros(nodes, np.int32) for _ in range(6))
    stack = np.empty((nodes + 1, 4), np.int32)
    node_order.preorder(roots, left, right, inner.view(np.uint8), stack, node, parent, depth, side, end)
    sets = np.empty((int(depth.max(initial=0)) + 1, len(step)), np.int32)
    up_first, slot_first = np.zeros(nodes, np.int64), np.full(nodes, -1, np.int64)
    up = slot_set = NOTHING
    totals = np.zeros(2, np.int64)
    tested = np.where(inner, feature, -1).astype(np.int32)[node]
    for _ in range(2):  # first to know how much there is, then to write it
        node_order.lay_out(
            parent, depth, tested, step, sets, active, up_first, up, slot_first, slot_set, totals
        )  # fmt: skip
        if not len(slot_set):
            up, slot_set = np.empty(totals[0], np.int32), np.empty(totals[1], np.int32)
    return Layout(node, parent, depth, side, end, active, up_first, up, slot_first, slot_set)


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

        lists, exactly = _Lists.of(program, codes.shape[1]), np.zeros(len(program.family.sets) + 1)
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
        codes, weights, *_of_patterns(patterns), patterns.begin, patterns.slot_first, patterns.cells,
        *_pattern_room(patterns), found, tables, counts
    )  # fmt: skip


def _add_by_patterns(patterns: Patterns, lookups: Lookups, codes: Ints, sums: Floats, single: int) -> None:
    """Add to sums ``(n, i)``, in single precision from one of them on, what tables have for the rows."""
    from paribus._kernels.jit.pattern_rows import add_by_patterns

    items = lookups.first, lookups.items, lookups.table, single
    add_by_patterns(codes, *_of_patterns(patterns), *items, *_pattern_room(patterns), sums.reshape(-1))


def _of_patterns(patterns: Patterns) -> tuple[Ints, Bytes, Integers, Ints]:
    return patterns.conditions, patterns.program.truth, patterns.first, patterns.tests


def _pattern_room(patterns: Patterns) -> tuple[NDArray[np.uint16], Bytes]:
    """Return memory for the codes and patterns of a chunk, and for how each test turns out."""
    return np.empty((2, CHUNK), np.uint16), np.empty(len(patterns.conditions) * CHUNK, np.uint8)


def average(program: Program, points: PointCodes, share: Floats) -> Floats:
    """Return the average margins at each point, ``(m, g)``, without the baseline; ``share`` is per slot."""
    if on_lines(program, [points]):
        return line_averages(program, [points], share)
    averages = np.zeros((program.n_margins, points.size))
    reaching.average(
        program.entries, program.up, program.n_codes, program.conditions, program.truth, points.row,
        points.axis, points.axis_first, points.codes, share, program.value, *_reach(program, points),
        np.zeros(program.n_margins), averages
    )  # fmt: skip
    return averages


def weigh(program: Program, fraction: Floats) -> Floats:
    """Return the product at each slot of the fractions of nodes on the way whose feature is not free."""
    from paribus._kernels.jit.paths import weigh as multiply

    shares = np.empty(program.n_slots)
    held = np.empty(program.levels * program.most)
    multiply(program.entries, program.up, program.most, fraction, held, shares)
    return shares


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
    from paribus._kernels.jit.lines import list_lines

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
    from paribus._kernels.jit.lines import average_lines

    drawn, plain = np.zeros((program.n_margins, traced.size, 1)), np.zeros((program.n_margins, 1))
    lines = traced.lines
    average_lines(
        program.entries, lines.visit_of, lines.visits, lines.edges, share, program.value, drawn, plain
    )  # fmt: skip
    _accumulate(drawn, plain, traced.starts)
    return drawn[:, :, 0]


def _accumulate(drawn: Floats, plain: Floats, starts: Ints) -> None:
    """Turn changes from point to point into margins; a grid starts from the row itself."""
    begins = set(starts.tolist())
    for margin, own in zip(drawn, plain, strict=True):
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
        _add_by_patterns(patterns_of(program), traced.lookups, codes, sums, len(sums))
    if program.patterned < program.shallow:
        from paribus._kernels.jit.curve_masks import curves_by_masks

        masks = _Masks.of(program)
        members = np.empty((2, CHUNK), np.uint64)
        entries = program.entries[program.patterned : program.shallow]
        curves_by_masks(
            codes, *tests, entries, program.up, *masks.arrays, members, program.value,
            traced.visit_first[program.patterned :], *visits, flat, plain
        )  # fmt: skip
    if program.shallow < len(program.entries):
        _deep_curves(program, traced, codes, flat, plain)
    drawn = sums[:changing].reshape(program.n_margins, traced.size, rows)
    _accumulate(drawn, sums[changing:], traced.starts)
    return drawn


def _deep_curves(program: Program, traced: Trace, codes: Ints, drawn: Floats, plain: Floats) -> None:
    """Add what the leaves of deep trees change."""
    lists, leaves = _Lists.of(program, codes.shape[1]), (program.entries[program.shallow :], program.value)
    if traced.lines is None:
        from paribus._kernels.jit.curve_lists import curves_by_lists

        curves_by_lists(
            codes, *lists.trees, program.family.parts, program.slot_set, *lists.arrays, *leaves,
            traced.visit_first[program.shallow :], traced.visits, traced.edges, traced.size, drawn, plain
        )  # fmt: skip
        return
    from paribus._kernels.jit.line_lists import lines_by_lists

    lines, place = traced.lines, np.empty(len(program.family.sets), np.uint64)
    lines_by_lists(
        codes, *lists.trees, program.slot_set, place, *lists.arrays, *leaves, lines.visit_of, lines.visits,
        lines.edges, traced.size, drawn, plain
    )  # fmt: skip


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
        _add_by_patterns(patterns_of(program), lookups, codes, sums, all_but_rounded)
    if program.patterned < program.shallow:
        from paribus._kernels.jit.lost_masks import lose_by_masks

        masks, entries = _Masks.of(program), program.entries[program.patterned : program.shallow]
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

        lists, place = _Lists.of(program, rows), np.empty(len(program.family.sets), np.uint64)
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


def passing(program: Program, size: Ints, sides: Runs) -> Runs:
    """Return, for each slot whose set is one feature, the cells that pass its leaf's tests of it.

    ``size`` is the number of cells of each feature; ``sides`` the cells that pass each condition, those
    that fail it next.
    """
    from paribus._kernels.jit.boxes import list_runs

    side_first = np.append(sides.first, sides.stop[-1:])
    held = np.empty((len(size) + program.levels * (int(size.max(initial=1)) // 2 + 2), 2), np.int32)
    at = np.empty((program.levels, len(size), 2), np.int64)
    first, stop = (np.zeros(program.n_slots, np.int64) for _ in range(2))
    runs, total = np.empty((0, 2), np.int32), np.zeros(1, np.int64)
    for _ in range(2):  # first to know how many there are, then to write them
        list_runs(
            program.entries, program.slot_set, program.family.members, program.feature, size, side_first,
            sides.runs, held, at, np.empty(program.levels, np.int64), first, stop, runs, total
        )  # fmt: skip
        runs = runs if len(runs) else np.empty((int(total[0]), 2), np.int32)
    return Runs(first, stop, runs)


def count_pairs(cells: Ints, weights: Floats | None, pairs: Ints, size: Ints) -> Floats:
    """Return the weight of the rows in every pair of cells, pairs of features one after another."""
    from paribus._kernels.jit.boxes import count_pairs as add_rows

    sizes = size[pairs].astype(np.int64).prod(axis=1)
    counts = np.zeros(int(sizes.sum()))
    add_rows(cells, NO_WEIGHTS if weights is None else weights, pairs, size, np.cumsum(sizes) - sizes, counts)
    return counts


def pair_moments(
    boxes: Boxes, items: Items, points: CellPoints, effects: tuple[Floats, ...], own: Ints, threads: int = 1
) -> tuple[Floats, Floats]:
    """Return mean squares ``(t, 2, m)`` of interactions and joint effects of pairs, and both at rows ``own``.

    The latter ``(t, 2, m, i)`` are centered by their means over the points. ``items.weights`` are what leaves
    add where a row passes the tests of the first feature, of the second, and of both.
    """
    from paribus._kernels.jit.pair_tables import pair_moments as tabulate

    assert items.weights is not None
    grouped, size, pairs = items.grouped(len(points.pairs)), points.size, points.pairs
    margins, high = len(effects[0]), size.astype(np.int64) + 1
    table = int(high[pairs].prod(axis=1).max(initial=0))
    squares = np.zeros((len(pairs), 2, margins))
    functions = np.zeros((*squares.shape, own.shape[1]))
    every = np.ascontiguousarray(np.concatenate(effects, axis=1))
    weights, margin = np.ascontiguousarray(items.weights[grouped.order]), boxes.margin[grouped.leaf]
    counts = NO_WEIGHTS if points.counts is None else points.counts

    def part(begin: int, end: int) -> None:
        tabulate(
            begin, end, grouped.first, grouped.places, boxes.sides.first, boxes.sides.stop, boxes.sides.runs,
            margin, weights, pairs, size, counts, points.first, points.cells, points.weight, every,
            np.cumsum(size, dtype=np.int64) - size, own, points.total, np.empty(table),
            np.empty((3, int(high.max(initial=1)))), squares, functions
        )  # fmt: skip

    _in_parts(part, len(pairs), threads)
    return squares, functions


def look_up(begin: Ints, end: Ints, weight: Floats, at: Ints, size: Ints) -> Floats:
    """Return the summed weights ``(r, m)`` of the boxes ``(r, d)`` that points ``(d, g)`` lie in, ``(m, g)``.

    For where a table over all cells, of which each feature has ``size``, would be too large.
    """
    from paribus._kernels.jit import box_points as boxes

    values = np.zeros((weight.shape[1], at.shape[1]))
    order = np.argsort(at[0], kind="stable")
    begin, end, at = (np.ascontiguousarray(array, np.int32) for array in (begin, end, at))
    if len(at) == 2:
        events = np.concatenate(
            [np.argsort(begin[:, 0], kind="stable"), np.argsort(end[:, 0], kind="stable")]
        )
        boxes.sweep(begin, end, events, weight, at, order, np.zeros((len(values), int(size[1]) + 1)), values)
    else:
        first = np.searchsorted(at[0][order], np.arange(int(size[0]) + 1))
        boxes.add_boxes(begin, end, weight, at, first, order, values)
    return values


def interact(boxes: Boxes, items: Items, cells: Ints, functions: Floats, threads: int = 1) -> Floats:
    """Return what each row as background does to the interaction of each group of features.

    Over the parts S of a group T and the leaves l that test all of T, with the signs of inclusion and
    exclusion, the sum of ``v_l g_T(x) 1[x passes l on S] 1[z passes l on all but S]`` over the rows x.
    ``functions (t, q, m, i)`` are several g for each group; so is the result.
    """
    from paribus._kernels.jit.background_influence import spread

    groups, several, margins, rows = functions.shape
    if not len(items.group):
        return np.zeros(functions.shape)
    by_row = np.ascontiguousarray(functions.transpose(0, 3, 2, 1)).reshape(groups, rows, margins * several)
    amounts = _amounts(boxes, items, cells, by_row, several, threads)
    del by_row  # as large as what is found
    stride, most = margins * several, int(np.diff(boxes.first).max(initial=1))
    # A chunk of rows after another, in each a group after another: what a leaf adds to stays in a cache.
    influence = np.zeros((-(-rows // CHUNK), groups, CHUNK, margins, several))

    def chunk(number: int) -> None:
        own = cells[:, number * CHUNK : (number + 1) * CHUNK]
        order = np.argsort(own, axis=1, kind="stable")
        spread(
            np.take_along_axis(own, order, 1).reshape(-1), own.shape[1], _masks_below(order), boxes.first,
            boxes.feature, boxes.sides.first, boxes.sides.stop, boxes.sides.runs, items.first, items.group,
            items.places, boxes.margin, amounts, stride, several, np.empty(most * WORDS, np.uint64),
            np.empty(4 * WORDS, np.uint64), np.empty(WORDS, np.uint64), influence[number].reshape(-1)
        )  # fmt: skip

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(chunk, range(len(influence))))
    return influence.transpose(1, 4, 3, 0, 2).reshape(groups, several, margins, -1)[..., :rows]


def _amounts(
    boxes: Boxes, items: Items, cells: Ints, functions: Floats, several: int, threads: int
) -> Floats:
    """Return what each item gives a row that fails some of its features' tests, ``(2^d, items, k q)``.

    ``functions (t, i, m q)`` are several functions of each group.
    """
    most, columns = items.places.shape[1], boxes.value.shape[1] * several
    amounts = np.zeros((1 << most, len(items.group), columns))
    grouped = items.grouped(len(functions))
    value = np.repeat(boxes.value[grouped.leaf], several, axis=1)
    if most == 2:
        found = _pair_sums(boxes, grouped, cells, functions, several, threads)
        _give(amounts, grouped.order, value, dict(enumerate(found, 1)), 2)
        return amounts
    for group in range(len(functions)):
        own = grouped.of(group)
        places = grouped.places[own]
        if len(places):
            places = places[:, places[0] >= 0]
            sums = _sums(boxes, grouped.leaf[own], places, cells, functions[group], several)
            _give(amounts, grouped.order[own], value[own], sums, places.shape[1])
    return amounts


def _give(amounts: Floats, items: Integers, value: Floats, sums: dict[int, Floats], ways: int) -> None:
    """Add the sums over the rows that pass tests of parts of a group to what rows that lack some get."""
    for part, over in sums.items():
        amount = value * over * (-1.0) ** (ways - part.bit_count())
        for lacks in range(part + 1):
            if part & lacks == lacks:
                amounts[lacks, items] += amount


def _pair_sums(
    boxes: Boxes, items: Grouped, cells: Ints, functions: Floats, several: int, threads: int
) -> Floats:
    """Return the sums of functions over the rows that pass leaves' tests of one feature and of both."""
    from paribus._kernels.jit.background_influence import sum_pairs

    columns, width = boxes.value.shape[1] * several, functions.shape[2]
    sums = np.zeros((3, len(items.leaf), columns))
    size = boxes.sizes(cells)
    pairs = boxes.feature[items.places[np.minimum(items.first[:-1], len(items.places) - 1)]]
    runs = np.concatenate([[0], np.cumsum((boxes.sides.stop - boxes.sides.first)[items.places[:, 0]])])
    most_runs = int(np.diff(runs[items.first]).max(initial=0))
    most = int(size.max(initial=0)) + 1

    def part(begin: int, end: int) -> None:
        sum_pairs(
            begin, end, items.first, items.places, boxes.sides.first, boxes.sides.stop, boxes.sides.runs,
            pairs, cells, size, functions, boxes.margin[items.leaf], columns, several, np.empty(most * width),
            np.empty(most, np.int32), np.empty(cells.shape[1], np.int32), np.empty(most, np.int32),
            np.empty((2 * most_runs, 3), np.int32), np.empty(width), sums.reshape(-1)
        )  # fmt: skip

    _in_parts(part, len(functions), threads)
    return sums


def _in_parts(work: Callable[[int, int], None], count: int, threads: int) -> None:
    """Do some work in parts, for threads."""
    ends = np.linspace(0, count, PARTS + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, ends[:-1], ends[1:]))


def _sums(
    boxes: Boxes, leaf: Integers, places: Integers, cells: Ints, functions: Floats, several: int
) -> dict[int, Floats]:
    """Return the sums of functions over the rows that pass leaves' tests of each part of a group."""
    leaves, ways = places.shape
    columns = np.maximum(boxes.margin[leaf], 0)[:, None] * several + np.arange(boxes.value.shape[1] * several)
    sums = {part: np.empty(columns.shape) for part in range(1, 1 << ways)}
    some = max(1, FLAGS // max(1, cells.shape[1]))
    for begin in range(0, leaves, some):
        here = slice(begin, begin + some)
        passes = [
            _passes(boxes.sides, places[here, way], cells[boxes.feature[places[0, way]]])
            for way in range(ways)
        ]
        for part, total in sums.items():
            both = np.prod([flags for way, flags in enumerate(passes) if part >> way & 1], axis=0)
            total[here] = np.take_along_axis(both @ functions, columns[here], 1)
    return sums


def _masks_below(order: Integers) -> Integers:
    """Return, for orders ``(f, i)`` of a chunk of rows, the masks of their first rows, in a line."""
    flags = np.zeros((*order.shape, WORDS), np.uint64)
    place = np.indices(order.shape, sparse=True)
    flags[(*place, order // 64)] = np.uint64(1) << (order % 64).astype(np.uint64)
    masks = np.zeros((len(order), order.shape[1] + 1, WORDS), np.uint64)
    np.bitwise_or.accumulate(flags, axis=1, out=masks[:, 1:])
    return masks.reshape(-1)


def _passes(sides: Runs, numbers: Integers, cells: Ints) -> Floats:
    """Return 1 where rows' cells lie in lists of runs, else 0, ``(lists, i)``."""
    times = sides.stop[numbers] - sides.first[numbers]
    owner = np.repeat(np.arange(len(numbers)), times)
    runs = sides.runs[np.arange(len(owner)) + (sides.first[numbers] - np.cumsum(times) + times)[owner]]
    changes = np.zeros((len(numbers), max(int(cells.max(initial=0)), int(runs.max(initial=0))) + 2))
    np.add.at(changes, (owner, runs[:, 0]), 1.0)
    np.add.at(changes, (owner, runs[:, 1]), -1.0)
    return np.asarray(np.cumsum(changes, axis=1)[:, cells])


@dataclass(frozen=True, eq=False)
class _Masks:
    """Memory for masks: of active sets at each level, of codes, of conditions."""

    arrays: tuple[int, Integers, Integers, Integers, Integers]

    @classmethod
    def of(cls, program: Program) -> _Masks:
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
class _Lists:
    """Deep trees, and memory for lists of rows: of nodes on the way, and which of these wait."""

    trees: tuple[Ints, Integers, Bytes, Ints, Ints, int]
    portions: tuple[slice, ...]
    arrays: tuple[Integers, Integers]

    @classmethod
    def of(cls, program: Program, rows: int) -> _Lists:
        # What is left of a word beside a row must hold every set.
        shift = min(LISTED.bit_length() - 1, 32 - len(program.family.sets).bit_length())
        size = min(rows, 1 << shift)
        nodes, tests = program.deep_nodes, (program.truth, program.owner, program.family.step)
        return cls(
            (nodes, program.deep_roots, *tests, shift),
            tuple(slice(first, first + size) for first in range(0, rows, max(1, size))),
            (np.empty(program.levels * size, np.uint32), np.empty((program.levels, 3), np.uint64)),
        )


def _reach(program: Program, points: PointCodes) -> tuple[Bytes, Ints, Ints]:
    levels = program.levels
    reach = np.empty((levels, points.codes.shape[1]), np.uint8)
    return reach, np.empty(levels, np.int32), np.empty(levels, np.int32)


def trace_bytes(program: Program, points: PointCodes) -> int:
    """Return the memory that the trace of a grid takes."""
    found = changes(program, program.entries[program.patterned :], points, 0)
    tables = curve_changes(patterns_of(program), [points]).nbytes if program.patterned else 0
    return sum(array.nbytes for array in found) + tables
