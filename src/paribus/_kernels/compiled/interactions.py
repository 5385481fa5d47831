"""Interactions of features from leaves as boxes of cells, and the influence of rows on them, compiled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._kernels.compiled.coverage import CHUNK, NO_WEIGHTS, WORDS
from paribus._kernels.program import Boxes, CellPoints, Grouped, Ints, Items, Program, Runs, expand_ranges

PARTS = 8  # number of parts of the work that threads share
FLAGS = 2**17  # maximum number of pairs of a leaf and a row in memory


def passing(program: Program, size: Ints, sides: Runs) -> Runs:
    """Return, for each slot whose set is one feature, the cells that pass the tests of its leaf on it.

    ``size`` is the number of cells of each feature. ``sides`` has, for each condition, the cells that go left
    and then those that go right.
    """
    from paribus._kernels.jit.boxes import list_runs

    side_first = np.append(sides.first, sides.stop[-1:])
    held = np.empty((len(size) + program.levels * (int(size.max(initial=1)) // 2 + 2), 2), np.int32)
    at = np.empty((program.levels, len(size), 2), np.int64)
    first, stop = (np.zeros(program.n_slots, np.int64) for _ in range(2))
    runs, total = np.empty((0, 2), np.int32), np.zeros(1, np.int64)
    for _ in range(2):  # count in the first pass, write in the second
        list_runs(
            program.entries, program.slot_set, program.family.members, program.feature, size, side_first,
            sides.runs, held, at, np.empty(program.levels, np.int64), first, stop, runs, total
        )  # fmt: skip
        runs = runs if len(runs) else np.empty((int(total[0]), 2), np.int32)
    return Runs(first, stop, runs)


def count_pairs(cells: Ints, weights: Floats | None, pairs: Ints, size: Ints) -> Floats:
    """Return the weight of the rows in each pair of cells, for all pairs of features in order."""
    from paribus._kernels.jit.boxes import count_pairs as add_rows

    sizes = size[pairs].astype(np.int64).prod(axis=1)
    counts = np.zeros(int(sizes.sum()))
    add_rows(cells, NO_WEIGHTS if weights is None else weights, pairs, size, np.cumsum(sizes) - sizes, counts)
    return counts


def pair_moments(
    boxes: Boxes, items: Items, points: CellPoints, effects: tuple[Floats, ...], own: Ints, threads: int = 1
) -> tuple[Floats, Floats]:
    """Return mean squares ``(t, 2, m)`` of interactions and joint effects of pairs, and both at rows ``own``.

    The values at rows ``(t, 2, m, i)`` are centered by their means over the points. ``items.weights`` are the
    amounts of leaves where a row passes the tests of the first feature, of the second, and of both.
    """
    from paribus._kernels.jit.interactions import pair_moments as tabulate

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
    """Return the sums ``(m, g)`` of the weights of the boxes that contain each point.

    Boxes ``[begin, end)`` are ``(r, d)``, their weights ``(r, m)``, points ``at (d, g)``. This is used if a
    table of all cells, with ``size`` per feature, would be too large.
    """
    from paribus._kernels.jit.boxes import add_boxes, sweep

    values = np.zeros((weight.shape[1], at.shape[1]))
    order = np.argsort(at[0], kind="stable")
    begin, end, at = (np.ascontiguousarray(array, np.int32) for array in (begin, end, at))
    if len(at) == 2:
        events = np.concatenate(
            [np.argsort(begin[:, 0], kind="stable"), np.argsort(end[:, 0], kind="stable")]
        )
        sweep(begin, end, events, weight, at, order, np.zeros((len(values), int(size[1]) + 1)), values)
    else:
        first = np.searchsorted(at[0][order], np.arange(int(size[0]) + 1))
        add_boxes(begin, end, weight, at, first, order, values)
    return values


def interact(boxes: Boxes, items: Items, cells: Ints, functions: Floats, threads: int = 1) -> Floats:
    """Return the influence of each background row on the interaction of each group of features.

    The influence of row z on group T is the sum, over the nonempty subsets S of T, the leaves l that test all
    of T and the rows x, of ``(-1)^(|T| - |S|) v_l g_T(x) 1[x passes l on S] 1[z passes l on all but S]``.
    ``functions (t, q, m, i)`` are several g for each group. The result has the same shape.
    """
    from paribus._kernels.jit.interactions import spread

    groups, several, margins, rows = functions.shape
    if not len(items.group):
        return np.zeros(functions.shape)
    by_row = np.ascontiguousarray(functions.transpose(0, 3, 2, 1)).reshape(groups, rows, margins * several)
    amounts = _item_amounts(boxes, items, cells, by_row, several, threads)
    del by_row  # as large as the result
    stride, most = margins * several, int(np.diff(boxes.first).max(initial=1))
    # Chunks of rows, each ordered by group, so that the sums of a leaf fit the CPU cache.
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


def _item_amounts(
    boxes: Boxes, items: Items, cells: Ints, functions: Floats, several: int, threads: int
) -> Floats:
    """Return the amount of each item for rows that fail a subset of its features, ``(2^d, items, k q)``.

    ``functions (t, i, m q)`` are several functions of each group.
    """
    most, columns = items.places.shape[1], boxes.value.shape[1] * several
    amounts = np.zeros((1 << most, len(items.group), columns))
    grouped = items.grouped(len(functions))
    value = np.repeat(boxes.value[grouped.leaf], several, axis=1)
    if most == 2:
        found = _pair_sums(boxes, grouped, cells, functions, several, threads)
        _add_subset_sums(amounts, grouped.order, value, dict(enumerate(found, 1)), 2)
        return amounts
    for group in range(len(functions)):
        own = slice(int(grouped.first[group]), int(grouped.first[group + 1]))
        places = grouped.places[own]
        if len(places):
            places = places[:, places[0] >= 0]
            sums = _subset_sums(boxes, grouped.leaf[own], places, cells, functions[group], several)
            _add_subset_sums(amounts, grouped.order[own], value[own], sums, places.shape[1])
    return amounts


def _add_subset_sums(
    amounts: Floats, items: Integers, value: Floats, sums: dict[int, Floats], ways: int
) -> None:
    """Add signed sums over rows that pass a subset of a group to the amounts of rows that fail part of it."""
    for part, over in sums.items():
        amount = value * over * (-1.0) ** (ways - part.bit_count())
        for lacks in range(part + 1):
            if part & lacks == lacks:
                amounts[lacks, items] += amount


def _pair_sums(
    boxes: Boxes, items: Grouped, cells: Ints, functions: Floats, several: int, threads: int
) -> Floats:
    """Return sums of functions over rows that pass a leaf's tests of the first, the second and both."""
    from paribus._kernels.jit.interactions import sum_pairs

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
    """Call ``work(begin, end)`` for parts of ``range(count)`` in threads."""
    ends = np.linspace(0, count, PARTS + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, ends[:-1], ends[1:]))


def _subset_sums(
    boxes: Boxes, leaf: Integers, places: Integers, cells: Ints, functions: Floats, several: int
) -> dict[int, Floats]:
    """Return sums of functions over the rows that pass a leaf's tests of each subset of a group."""
    leaves, ways = places.shape
    columns = np.maximum(boxes.margin[leaf], 0)[:, None] * several + np.arange(boxes.value.shape[1] * several)
    sums = {part: np.empty(columns.shape) for part in range(1, 1 << ways)}
    some = max(1, FLAGS // max(1, cells.shape[1]))
    for begin in range(0, leaves, some):
        here = slice(begin, begin + some)
        passes = [
            _passing_flags(boxes.sides, places[here, way], cells[boxes.feature[places[0, way]]])
            for way in range(ways)
        ]
        for part, total in sums.items():
            both = np.prod([flags for way, flags in enumerate(passes) if part >> way & 1], axis=0)
            total[here] = np.take_along_axis(both @ functions, columns[here], 1)
    return sums


def _masks_below(order: Integers) -> Integers:
    """Return the masks of the first 0, 1, ... rows in each order ``(f, i)`` of a chunk of rows, flattened."""
    flags = np.zeros((*order.shape, WORDS), np.uint64)
    place = np.indices(order.shape, sparse=True)
    flags[(*place, order // 64)] = np.uint64(1) << (order % 64).astype(np.uint64)
    masks = np.zeros((len(order), order.shape[1] + 1, WORDS), np.uint64)
    np.bitwise_or.accumulate(flags, axis=1, out=masks[:, 1:])
    return masks.reshape(-1)


def _passing_flags(sides: Runs, numbers: Integers, cells: Ints) -> Floats:
    """Return 1 where the cells of rows are in lists of runs, else 0, ``(lists, i)``."""
    owner, positions = expand_ranges(sides.first[numbers], sides.stop[numbers])
    runs = sides.runs[positions]
    changes = np.zeros((len(numbers), max(int(cells.max(initial=0)), int(runs.max(initial=0))) + 2))
    np.add.at(changes, (owner, runs[:, 0]), 1.0)
    np.add.at(changes, (owner, runs[:, 1]), -1.0)
    return np.asarray(np.cumsum(changes, axis=1)[:, cells])
