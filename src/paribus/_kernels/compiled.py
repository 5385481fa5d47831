"""The functions of `reference`, for a machine: memory is laid out here, the loops are in `jit`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._kernels.flow import LANES, flow_of
from paribus._kernels.flow import WORDS as MASK_WORDS
from paribus._kernels.jit import common, node_order
from paribus._kernels.jit import points as reaching
from paribus._kernels.program import (
    BINS,
    COLUMN,
    DEPTH,
    LANE,
    TEST,
    Boxes,
    Bytes,
    CodeColumn,
    Ints,
    Items,
    Layout,
    PointCodes,
    Program,
    Runs,
    Walk,
)

CHUNK = int(common.CHUNK)
WORDS = CHUNK // 64
TALLIED = CHUNK * 1_000  # rows counted in short numbers, eight a slot: at most an eighth of them in each
LISTED = 1 << 15  # rows listed at once: their codes of a column should stay near
PARTS = 8  # of leaves, for threads
GUARD = np.uint64(1 << (LANE - 1))
TOGETHER = 64  # rows followed down a tree together: what is known of them should stay in the nearest cache
NO_WEIGHTS = np.empty(0)
NOTHING = np.empty(0, np.int32)
NO_VISITS = np.empty((0, 5), np.int32)


def rank(column: CodeColumn, numbers: Floats) -> Ints:
    """Return the codes of numbers: how many thresholds are smaller."""
    codes = np.empty(len(numbers), np.int32)
    if not numbers.flags.writeable:  # which a kernel, compiled for arrays of its own, does not take
        numbers = numbers.copy()
    node_order.rank(numbers, column.known, column.scale, column.below, codes)
    return codes


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


def lay_out(roots: Ints, left: Ints, right: Ints, inner: Flags, feature: Ints, step: Ints) -> Layout:
    """Lay trees out in preorder and find the sets active at each node."""
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
    if program.shallow:
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


def average(program: Program, points: PointCodes, share: Floats) -> Floats:
    """Return the average margins at each point, ``(m, g)``, without the baseline; ``share`` is per slot."""
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
    lines : Lines or None
        Where they change in deep trees, which have no visits then, if each grid has a feature of its own.
    """

    visit_first: Integers
    visits: Ints
    edges: Ints
    starts: Ints
    size: int
    lines: Lines | None


def trace(program: Program, questions: list[PointCodes], threads: int = 1) -> Trace:
    """Find, once for all rows, where the curves of the grids can change."""
    starts = np.cumsum([0, *(points.size for points in questions)])
    lines = _lines(program, questions, starts) if program.shallow < len(program.entries) else None
    entries = program.entries if lines is None else program.entries[: program.shallow]
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda *one: _edges(program, entries, *one), questions, starts.tolist()[:-1]))
    shift = np.cumsum([0, *(len(edges) for _, edges in found)])
    for (visits, _), before in zip(found, shift, strict=False):
        visits[:, 2:4] += before
    visits = np.concatenate([visits for visits, _ in found])
    order = np.argsort(visits[:, 4], kind="stable")
    per_entry = np.bincount(visits[:, 4], minlength=len(program.entries))
    return Trace(
        np.concatenate([[0], np.cumsum(per_entry)]),
        visits[order],
        np.concatenate([edges for _, edges in found]),
        starts[:-1].astype(np.int32),
        int(starts[-1]),
        lines,
    )


def _lines(program: Program, questions: list[PointCodes], starts: Integers) -> Lines | None:
    """Return where curves change test by test; None unless each grid is about a feature of its own."""
    from paribus._kernels.jit.lines import list_lines

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
    tests = program.entries[program.entries[:, DEPTH] > 0, TEST]
    n_visits = int((grid_of[program.conditions[tests, COLUMN]] >= 0).sum())
    visits, visit_of = np.empty((n_visits, 3), np.int32), np.empty(program.n_slots, np.int32)
    flat, totals = np.concatenate([NOTHING, *codes]), np.array([2 * n_visits])
    while True:
        edges = np.empty((int(totals[0]), 2), np.int32)
        list_lines(
            program.entries, program.n_codes, program.conditions, program.truth, program.slot_set, grid_of,
            at, flat, set_grid, starts, np.ones((program.levels, int(np.diff(starts).max())), np.uint8),
            np.zeros((program.levels, 2), np.int64), np.full((len(questions), 2), -1, np.int64),
            np.full((program.levels, 3), -1, np.int64), visit_of, visits, edges, totals
        )  # fmt: skip
        if totals[0] <= len(edges):
            return Lines(visit_of, visits, edges[: totals[0]])


def averages(
    program: Program, traced: Trace, questions: list[PointCodes], share: Floats, threads: int = 1
) -> Floats:
    """Return the average margins at each point of grids ``(m, g)`` as `average` does for one of them."""
    if traced.lines is None:
        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(lambda points: average(program, points, share), questions))
        return np.concatenate(found, axis=1)
    from paribus._kernels.jit.lines import average_lines

    drawn, plain = np.zeros((program.n_margins, traced.size, 1)), np.zeros((program.n_margins, 1))
    lines = traced.lines
    average_lines(
        program.entries, lines.visit_of, lines.visits, lines.edges, share, program.value, drawn, plain
    )  # fmt: skip
    reaching.accumulate(drawn, plain, traced.starts)
    return drawn[:, :, 0]


def curves(program: Program, traced: Trace, codes: Ints) -> Floats:
    """Return the margins of at most ``CHUNK`` rows at each point of the grids, ``(m, g, i)``."""
    rows = codes.shape[1]
    drawn = np.zeros((program.n_margins, traced.size, rows))
    plain = np.repeat(program.base, rows)
    tests = program.n_codes, program.conditions, program.truth
    visits = program.value, traced.visit_first, traced.visits, traced.edges, traced.size
    flat = drawn.reshape(-1)
    if program.shallow:
        from paribus._kernels.jit.curve_masks import curves_by_masks

        masks = _Masks.of(program)
        members = np.empty((2, CHUNK), np.uint64)
        entries = program.entries[: program.shallow]
        curves_by_masks(codes, *tests, entries, program.up, *masks.arrays, members, *visits, flat, plain)
    if program.shallow < len(program.entries):
        _deep_curves(program, traced, codes, flat, plain)
    reaching.accumulate(drawn, plain.reshape(-1, rows), traced.starts)
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
    rows, features = codes.shape[1], len(program.family.features)
    lost = np.zeros((program.n_margins, features, rows))
    plain = np.repeat(program.base[:, None], rows, axis=1)
    rounded = plain.copy() if single else np.empty((program.n_margins, 0))
    tests = program.n_codes, program.conditions, program.truth
    if program.shallow:
        from paribus._kernels.jit.lost_masks import lose_by_masks

        masks, members = _Masks.of(program), np.empty((2, CHUNK), np.uint64)
        entries = program.entries[: program.shallow]
        for first in range(0, rows, CHUNK):
            some = slice(first, first + CHUNK)
            sums = [np.ascontiguousarray(array[..., some]) for array in (rounded, plain, lost)]
            lose_by_masks(
                np.ascontiguousarray(codes[:, some]), *tests, entries, program.up, *masks.arrays, members,
                program.slot_set, program.family.members, program.value, share, *(a.reshape(-1) for a in sums)
            )  # fmt: skip
            rounded[:, some], plain[:, some], lost[..., some] = sums
    if program.shallow < len(program.entries):
        from paribus._kernels.jit.lost_lists import lose_by_lists

        lists, place = _Lists.of(program, rows), np.empty(len(program.family.sets), np.uint64)
        for some in lists.portions:
            sums = [np.ascontiguousarray(array[..., some]) for array in (rounded, plain, lost)]
            lose_by_lists(
                np.ascontiguousarray(codes[:, some]), *lists.trees, program.slot_set, place, *lists.arrays,
                program.entries[program.shallow :], program.value, share, *(a.reshape(-1) for a in sums)
            )  # fmt: skip
            rounded[:, some], plain[:, some], lost[..., some] = sums
    if not single:
        return plain, lost
    return rounded, lost + (rounded - plain)[:, None]


def shift(walk: Walk, own: Ints, lower: Ints, upper: Ints) -> tuple[Floats, Floats, Floats]:
    """Return the margins of rows ``(m, i)``, and with one feature as in ``lower``, and as in ``upper``.

    The codes are all ``(c, i)``, the latter two results ``(m, f, i)``.
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
    moved += plain[:, None, None]
    lowered, raised = np.ascontiguousarray(moved.transpose(2, 3, 1, 0))
    return np.ascontiguousarray(plain.T), lowered, raised


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


def look_up(begin: Ints, end: Ints, weight: Floats, at: Ints, size: Ints) -> Floats:
    """Return the summed weights ``(r, m)`` of the boxes ``(r, d)`` that points ``(d, g)`` lie in, ``(m, g)``.

    For where a table over all cells, of which each feature has ``size``, would be too large.
    """
    from paribus._kernels.jit import boxes

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
    from paribus._kernels.jit.boxes import interact as add_leaves

    functions = np.ascontiguousarray(functions)
    leaves, rows = len(boxes.margin), cells.shape[1]
    ends = np.linspace(0, leaves, PARTS + 1).astype(np.int64)
    most = int(np.diff(boxes.first).max(initial=1))

    def part(number: int) -> Floats:
        influence = np.zeros(functions.shape)
        add_leaves(
            ends[number], ends[number + 1], boxes.first, boxes.feature, boxes.sides.first, boxes.sides.stop,
            boxes.sides.runs, cells, items.first, items.group, items.places, boxes.value, boxes.margin,
            functions, np.empty((most, rows)), np.empty((4, max(rows, 8))), np.empty(rows, np.int64),
            influence
        )  # fmt: skip
        return influence

    with ThreadPoolExecutor(threads) as pool:  # parts do not depend on threads, and are added in order
        return np.asarray(sum(pool.map(part, range(PARTS))))


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
    visits, edges = _listed(program, program.entries, points, 0, NO_VISITS, NO_VISITS)
    return (5 * visits + 2 * edges) * NO_VISITS.itemsize


def _edges(program: Program, entries: Ints, points: PointCodes, start: int) -> tuple[Ints, Ints]:
    """Return the visits and edges of one grid, whose first point is number ``start``."""
    # First to know how many there are, then to write them.
    n_visits, n_edges = _listed(program, entries, points, start, NO_VISITS, NO_VISITS)
    visits, edges = np.empty((n_visits, 5), np.int32), np.empty((n_edges, 2), np.int32)
    if n_visits:
        _listed(program, entries, points, start, visits, edges)
    return visits, edges


def _listed(
    program: Program, entries: Ints, points: PointCodes, start: int, visits: Ints, edges: Ints
) -> tuple[int, int]:
    """Write visits and edges, or only count them where there is no room for any."""
    runs, totals = np.empty((program.levels, 2), np.int32), np.zeros(2, np.int64)
    reaching.list_edges(
        entries, program.up, program.n_codes, program.conditions, program.truth, points.row,
        points.axis, points.axis_first, points.codes, start, points.size, *_reach(program, points), runs,
        visits, edges, totals
    )  # fmt: skip
    return int(totals[0]), int(totals[1])
