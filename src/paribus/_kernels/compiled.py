"""The functions of `reference`, for a machine: memory is laid out here, the loops are in `jit`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._kernels.jit import common, node_order
from paribus._kernels.jit import points as reaching
from paribus._kernels.program import (
    BINS,
    LANE,
    Boxes,
    Bytes,
    CellPoints,
    CodeColumn,
    Grouped,
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
TALLIED = CHUNK * 1_000  # rows counted in short numbers: at most 64 a chunk in each of eight
PARTS = 8  # of pairs of features, for threads
FLAGS = 2**20  # of rows at leaves, held at once
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
    tests = program.n_codes, program.conditions, program.truth
    if program.shallow:
        from paribus._kernels.jit.masks import cover_by_masks

        masks = _Masks.of(program)
        entries = program.entries[: program.shallow]
        for first in range(0, codes.shape[1], TALLIED):
            some = slice(first, first + TALLIED)
            tallies = np.zeros(WORDS * program.n_slots if weights is None else 0, np.uint16)
            portion = np.ascontiguousarray(codes[:, some])
            cover_by_masks(
                portion, given[some], *tests, entries, program.up, *masks.arrays, tallies, counts
            )  # fmt: skip
    if program.shallow < len(program.entries):
        from paribus._kernels.jit.lists import cover_by_lists

        lists = _Lists.of(program, codes.shape[1])
        exactly = np.zeros(program.most)
        cover_by_lists(
            codes, given, *tests, program.entries, program.shallow, program.up, program.family.members,
            program.slot_set, lists.rows, lists.tags, lists.sizes, exactly, counts
        )  # fmt: skip
    return counts


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
    """

    visit_first: Integers
    visits: Ints
    edges: Ints
    starts: Ints
    size: int


def trace(program: Program, questions: list[PointCodes], threads: int = 1) -> Trace:
    """Find, once for all rows, where the curves of the grids can change."""
    starts = np.cumsum([0, *(points.size for points in questions)])
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda *one: _edges(program, *one), questions, starts.tolist()[:-1]))
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
    )


def curves(program: Program, traced: Trace, codes: Ints) -> Floats:
    """Return the margins of at most ``CHUNK`` rows at each point of the grids, ``(m, g, i)``."""
    rows = codes.shape[1]
    drawn = np.zeros((program.n_margins, traced.size, rows))
    plain = np.repeat(program.base, rows)
    tests = program.n_codes, program.conditions, program.truth
    visits = program.value, traced.visit_first, traced.visits, traced.edges, traced.size
    flat = drawn.reshape(-1)
    if program.shallow:
        from paribus._kernels.jit.masks import curves_by_masks

        masks = _Masks.of(program)
        members = np.empty((2, CHUNK), np.uint64)
        entries = program.entries[: program.shallow]
        curves_by_masks(codes, *tests, entries, program.up, *masks.arrays, members, *visits, flat, plain)
    if program.shallow < len(program.entries):
        from paribus._kernels.jit.lists import curves_by_lists

        lists = _Lists.of(program, rows)
        one_list = np.empty(rows, np.uint64)
        stop = np.empty(program.most + 1, np.uint64)
        curves_by_lists(
            codes, *tests, program.entries, program.shallow, program.up, program.family.members,
            program.slot_set, lists.rows, lists.tags, lists.sizes, stop, one_list, *visits, flat, plain
        )  # fmt: skip
    reaching.accumulate(drawn, plain.reshape(-1, rows), traced.starts)
    return drawn


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

        masks, entries = _Masks.of(program), program.entries[: program.shallow]
        for first in range(0, rows, CHUNK):
            some = slice(first, first + CHUNK)
            sums = [_padded(array[..., some]) for array in (rounded, plain, lost)]
            lose_by_masks(
                np.ascontiguousarray(codes[:, some]), *tests, entries, program.up, *masks.arrays,
                program.slot_set, program.family.members, program.value, share, *(a.reshape(-1) for a in sums)
            )  # fmt: skip
            for array, added in zip((rounded, plain, lost), sums, strict=True):
                array[..., some] = added[..., : array[..., some].shape[-1]]
    if program.shallow < len(program.entries):
        from paribus._kernels.jit.lost_lists import lose_by_lists

        lists = _Lists.of(program, rows)
        lose_by_lists(
            codes, *tests, program.entries, program.shallow, program.up, program.family.members,
            program.slot_set, lists.rows, lists.tags, lists.sizes, np.empty(program.most + 1, np.uint64),
            np.empty(rows, np.uint64), program.value, share, *(a.reshape(-1) for a in (rounded, plain, lost))
        )  # fmt: skip
    if not single:
        return plain, lost
    return rounded, lost + (rounded - plain)[:, None]


def _padded(array: Floats) -> Floats:
    """Return sums of some rows with room for a whole chunk of them, or nothing if there are none."""
    sums = np.zeros((*array.shape[:-1], CHUNK if array.shape[-1] else 0))
    sums[..., : array.shape[-1]] = array
    return sums


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
    """Memory for the rows at each level, the set each violates, and how many there are."""

    rows: Ints
    tags: Ints
    sizes: Integers

    @classmethod
    def of(cls, program: Program, rows: int) -> _Lists:
        size = program.levels * rows
        return cls(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(program.levels, np.uint64))


def _reach(program: Program, points: PointCodes) -> tuple[Bytes, Ints, Ints]:
    levels = program.levels
    reach = np.empty((levels, points.codes.shape[1]), np.uint8)
    return reach, np.empty(levels, np.int32), np.empty(levels, np.int32)


def trace_bytes(program: Program, points: PointCodes) -> int:
    """Return the memory that the trace of a grid takes."""
    visits, edges = _listed(program, points, 0, NO_VISITS, NO_VISITS)
    return (5 * visits + 2 * edges) * NO_VISITS.itemsize


def _edges(program: Program, points: PointCodes, start: int) -> tuple[Ints, Ints]:
    """Return the visits and edges of one grid, whose first point is number ``start``."""
    # First to know how many there are, then to write them.
    n_visits, n_edges = _listed(program, points, start, NO_VISITS, NO_VISITS)
    visits, edges = np.empty((n_visits, 5), np.int32), np.empty((n_edges, 2), np.int32)
    if n_visits:
        _listed(program, points, start, visits, edges)
    return visits, edges


def _listed(program: Program, points: PointCodes, start: int, visits: Ints, edges: Ints) -> tuple[int, int]:
    """Write visits and edges, or only count them where there is no room for any."""
    runs, totals = np.empty((program.levels, 2), np.int32), np.zeros(2, np.int64)
    reaching.list_edges(
        program.entries, program.up, program.n_codes, program.conditions, program.truth, points.row,
        points.axis, points.axis_first, points.codes, start, points.size, *_reach(program, points), runs,
        visits, edges, totals
    )  # fmt: skip
    return int(totals[0]), int(totals[1])
