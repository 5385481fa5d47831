"""Reference implementation of the kernels in NumPy: the slow specification of `compiled`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from operator import eq

import numpy as np

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._kernels import grid_points, preorder
from paribus._kernels.grid_points import line_averages, on_lines
from paribus._kernels.program import (
    ACTIVE,
    BINS,
    COLUMN,
    DEPTH,
    MARGIN,
    NODE,
    SIDE,
    SLOT,
    TEST,
    Boxes,
    Bytes,
    CellPoints,
    CodeColumn,
    Ints,
    Items,
    Layout,
    Moves,
    PointCodes,
    Program,
    Runs,
    Walk,
    goes_left,
    runs_of,
)

CHUNK = 64  # rows whose curves are computed at once


def rank(column: CodeColumn, numbers: Floats) -> Ints:
    """Return the codes of numbers: the number of smaller thresholds."""
    codes = np.searchsorted(column.known, numbers)
    return np.where(np.isnan(numbers), column.missing, codes).astype(np.int32)


def collect(cells: Ints, numbers: Floats, edges: Floats, widths: Floats, changes: Floats) -> Floats:
    """Return the moments of the changes of the rows in each bin, ``(4, bins)``.

    The moments are the number of rows, the mean, the sum of squared deviations from it, and the sum of the
    positions of the rows' ``numbers`` in their bin, from 0 at its lower edge to 1 at its upper edge.
    """
    count = len(widths)
    rows = np.bincount(cells, minlength=count).astype(np.float64)
    share = np.divide(1.0, rows, out=np.zeros(count), where=rows > 0)
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.bincount(cells, changes, minlength=count) * share
        squares = np.bincount(cells, (changes - mean[cells]) ** 2, minlength=count)
    places = np.bincount(cells, (numbers - edges[cells]) / widths[cells], minlength=count)
    return np.stack([rows, mean, squares, places])


def locate(numbers: Array, edges: Floats, missing: int) -> Bytes:
    """Return the bin of each number: how many of at most 31 sorted edges are smaller."""
    return np.where(np.isnan(numbers), missing, np.searchsorted(edges, numbers)).astype(np.uint8)


def tally(codes: Bytes) -> Integers:
    """Return the number of rows in each bin of each column, ``(p, 32)``, from the bins ``(p, i)`` of rows."""
    rows = [np.bincount(column, minlength=BINS) for column in codes]
    return np.array(rows, np.int64).reshape(len(codes), BINS)


def mark(codes: Bytes, pairs: Ints) -> Bytes:
    """Return 1 for each cell of a pair of columns that contains a row, ``(q, 32 * 32)``.

    ``pairs (q, 2)`` are positions among the columns. ``codes (p, i)`` are the bins of rows, less than 32.
    """
    tables = np.zeros((len(pairs), BINS, BINS), np.uint8)
    for table, (one, other) in zip(tables, pairs, strict=True):
        table[codes[one], codes[other]] = 1
    return tables.reshape(len(pairs), BINS * BINS)


def lay_out(
    roots: Ints, left: Ints, right: Ints, inner: Flags, feature: Ints, step: Ints, rows: int = 0
) -> Layout:
    """Return the nodes of trees in preorder and the sets active at each node; ``rows`` is not used."""
    return preorder.lay_out(roots, left, right, inner, feature, step)


@dataclass(frozen=True, eq=False)
class Leaf:
    """Leaf with the tests on its path, each as a condition and whether a row must fail it."""

    entry: int
    tests: tuple[tuple[int, bool], ...]


def leaves(program: Program) -> list[Leaf]:
    """Return all leaves with the tests on their paths."""
    found: list[Leaf] = []
    path: list[tuple[int, bool]] = []
    for entry, row in enumerate(program.entries):
        del path[max(0, row[DEPTH] - 1) :]
        if row[DEPTH]:
            path.append((int(row[TEST]), bool(row[SIDE])))
        if row[SLOT] >= 0:
            found.append(Leaf(entry, tuple(path)))
    return found


def failures(program: Program, codes: Ints) -> Iterator[tuple[Leaf, dict[int, Flags], Ints]]:
    """Yield each leaf, the rows that fail its tests on each feature, and on how many features they fail.

    A row passes the tests on all features but some free ones if it fails on no others.
    """
    path: list[Flags] = []  # the rows that fail each test
    before: tuple[tuple[int, bool], ...] = ()
    for leaf in leaves(program):
        same = sum(takewhile(bool, map(eq, before, leaf.tests)))
        del path[same:]
        for condition, fails in leaf.tests[same:]:
            column = program.conditions[condition, COLUMN]
            path.append(goes_left(program, condition, codes[column]) == fails)
        before, failed = leaf.tests, dict[int, Flags]()
        for (condition, _), flags in zip(leaf.tests, path, strict=True):
            feature = int(program.feature[condition])
            failed[feature] = failed[feature] | flags if feature in failed else flags
        number = np.zeros(codes.shape[1], np.int32)
        for flags in failed.values():
            number += flags
        yield leaf, failed, number


def cover(program: Program, codes: Ints, weights: Floats | None) -> Floats:
    """Return, per slot, the weight of the rows that reach its leaf if the features of its set are free."""
    counts = np.zeros(program.n_slots)
    sets = program.family.sets
    most = max(map(len, sets))
    for leaf, failed, number in failures(program, codes):
        first, active = program.entries[leaf.entry, [SLOT, ACTIVE]]
        slots = slice(first, first + active)
        near = np.flatnonzero(number <= most)  # rows that may reach the leaf
        fails = np.array([flags[near] for flags in failed.values()]).reshape(len(failed), len(near))
        free = [[feature in sets[one] for feature in failed] for one in program.slot_set[slots]]
        reach = np.array(free, np.float64) @ fails == number[near]
        counts[slots] = np.where(reach, 1.0 if weights is None else weights[near], 0.0).sum(axis=1)
    return counts


def weigh(program: Program, fraction: Floats) -> Floats:
    """Return, per slot, the product of the fractions of nodes on the path, except below free features."""
    shares = np.empty(program.n_slots)
    for leaf in leaves(program):
        first, active = program.entries[leaf.entry, SLOT], program.entries[leaf.entry, ACTIVE]
        path = ancestors(program, leaf.entry)
        for slot in range(first, first + active):
            free = program.family.sets[program.slot_set[slot]]
            fixed = [int(program.feature[program.entries[entry, TEST]]) not in free for entry in path]
            shares[slot] = np.prod(fraction[program.entries[path, NODE]][fixed])
    return shares


def ancestors(program: Program, entry: int) -> list[int]:
    """Return the entries on the path from the root to an entry, without the root, deepest first."""
    path: list[int] = []
    for place in range(entry, -1, -1):
        depth = program.entries[place, DEPTH]
        if depth == program.entries[entry, DEPTH] - len(path):
            if depth == 0:
                break
            path.append(place)
    return path


def added(program: Program, leaf: Leaf) -> Floats:
    """Return the amount a leaf adds to each margin."""
    node, margin = program.entries[leaf.entry, [NODE, MARGIN]]
    value = program.value[node]
    return value if margin < 0 else np.where(np.arange(program.n_margins) == margin, value[0], 0.0)


def average(program: Program, points: PointCodes, share: Floats) -> Floats:
    """Return the average margins at each point, ``(m, g)``, without the baseline; ``share`` is per slot."""
    return averages(program, [points], [points], share)


def averages(
    program: Program, traced: list[PointCodes], questions: list[PointCodes], share: Floats, threads: int = 1
) -> Floats:
    """Return the average margins at each point of several grids, ``(m, g)``, without the baseline."""
    if on_lines(program, questions):
        return line_averages(program, questions, share)
    return np.concatenate([grid_points.average(program, points, share) for points in questions], axis=1)


def cell_averages(program: Program, positions: list[int], share: Floats) -> list[Floats]:
    """Return the average margins ``(m, codes)`` at all codes of features, without the baseline.

    Each feature, a position in the family, has one column, with thresholds only. ``share`` is per slot.
    """
    return [grid_points.cell_averages(program, position, share) for position in positions]


def trace(program: Program, questions: list[PointCodes], threads: int = 1) -> list[PointCodes]:
    """Return the grids unchanged, because nothing is prepared."""
    return questions


def trace_bytes(program: Program, points: PointCodes) -> int:
    """Return 0, the memory of an unchanged grid."""
    return 0


def curves(program: Program, traced: list[PointCodes], codes: Ints) -> Floats:
    """Return the margins of at most ``CHUNK`` rows at each point of the grids, ``(m, g, i)``."""
    computed = []
    for points in traced:
        margins = np.zeros((program.n_margins, points.size, codes.shape[1])) + program.base[:, None, None]
        free = np.unique(program.feature[points.row >= 0])
        for trees in grid_points.reached(program, program.entries, points):
            rows = _rows_passing(program, trees.entries, codes, free)
            for begin, end in grid_points.batches(trees.entries, 1):
                leaf = begin + np.flatnonzero(trees.entries[begin:end, SLOT] >= 0)
                reach, passed = trees.points_of(leaf).astype(np.float64), rows[leaf].astype(np.float64)
                # A row and a point reach one leaf of a tree, so that products are exact in any order.
                for margin, value in grid_points.values_by_margin(program, trees.first + leaf):
                    for one in np.unique(margin):
                        margins[one] += (reach * (value * (margin == one))[:, None]).T @ passed
        computed.append(margins)
    return np.concatenate(computed, axis=1)


def _rows_passing(program: Program, entries: Ints, codes: Ints, free: Ints) -> Flags:
    """Return which rows pass the tests up to each entry ``(e, i)``, except tests of free features."""
    passed = np.ones((len(entries), codes.shape[1]), bool)
    inner = np.flatnonzero(entries[:, DEPTH] > 0)
    tests = entries[inner, TEST]
    fixed = ~np.isin(program.feature[tests], free)
    inner, tests = inner[fixed], tests[fixed]
    left = grid_points.go_left(program, tests, codes[program.conditions[tests, COLUMN]])
    passed[inner] = left != (entries[inner, SIDE] > 0)[:, None]
    above = np.flatnonzero(entries[:, DEPTH] == 0)
    for level, place in grid_points.levels(entries):
        passed[level] &= passed[above[place]]
        above = level
    return passed


def multiply(curves: Floats) -> Floats:
    """Return the sums over rows of the products of two points, ``(o, g, g)`` of curves ``(o, g, i)``."""
    products = np.empty((*curves.shape[:2], curves.shape[1]))
    for point in range(curves.shape[1]):
        # Not by BLAS, whose order of adding depends on its threads.
        own = np.einsum("oi,ohi->oh", curves[:, point], curves[:, point:])
        products[:, point, point:] = products[:, point:, point] = own
    return products


def lose(program: Program, codes: Ints, share: Floats, single: bool = False) -> tuple[Floats, Floats]:
    """Return the margins of rows ``(m, i)``, and their losses if a feature is averaged out ``(m, f, i)``.

    The family has sets of one feature. ``share`` is, per slot, the share of rows that pass the tests of its
    leaf on the feature. With ``single``, only the margins are summed in single precision.
    """
    rows, features = codes.shape[1], len(program.family.features)
    plain = np.repeat(program.base[:, None], rows, axis=1)
    rounded, lost = plain.copy(), np.zeros((program.n_margins, features, rows))
    for leaf, failed, number in failures(program, codes):
        value = added(program, leaf)
        plain[:, number == 0] += value[:, None]
        if single:
            rounded = (rounded + np.outer(value, number == 0)).astype(np.float32).astype(np.float64)
        first, active = program.entries[leaf.entry, [SLOT, ACTIVE]]
        near = np.flatnonzero(number <= 1)  # rows that may reach the leaf if one feature is free
        own = number[near] == 0
        for slot in range(first + 1, first + active):
            (feature,) = program.family.sets[program.slot_set[slot]]
            free = number[near] == failed[feature][near]
            lost[:, feature, near] += np.outer(value, own - share[slot] * free)
    return (rounded, lost + (rounded - plain)[:, None]) if single else (plain, lost)


def follow(walk: Walk, codes: Ints) -> Floats:
    """Return the margins ``(m, i)`` of rows of codes ``(c, i)``."""
    margins = np.repeat(walk.base[:, None], codes.shape[1], axis=1)
    for root, margin in zip(walk.roots, walk.margin, strict=True):
        node = np.full(codes.shape[1], root)
        while True:
            column, last, gap, levels, left, right = walk.nodes[node].T
            if (column < 0).all():
                break
            code = codes[column, np.arange(len(node))]
            known = walk.truth[np.where(levels < 0, 0, levels + code)] > 0 if len(walk.truth) else False
            goes = np.where(levels < 0, (code <= last) | (code == gap), known)
            node = np.where(column < 0, node, np.where(goes, left, right))
        margins[slice(None) if margin < 0 else slice(margin, margin + 1)] += walk.value[node].T
    return margins


def shift(walk: Walk, own: Ints, lower: Ints, upper: Ints) -> tuple[Floats, Floats, Floats]:
    """Return the margins of rows ``(m, i)``, and their changes if a feature moves to ``lower`` or ``upper``.

    All codes are ``(c, i)``. The changes are ``(m, f, i)``, for each moved feature.
    """
    plain = follow(walk, own)
    moved = np.empty((2, len(walk.base), walk.features, own.shape[1]))
    for side, codes in enumerate((lower, upper)):
        for feature in range(walk.features):
            replaced = np.where((walk.owner == feature)[:, None], codes, own)
            moved[side, :, feature] = follow(walk, replaced) - plain
    return plain, moved[0], moved[1]


def move(program: Program, moves: Moves, own: Ints, lower: Ints, upper: Ints) -> Floats:
    """Return the changes of the margins of rows if one feature is moved, ``(m, moves.size, i)``.

    ``own (c, i)`` are the codes of the rows, ``lower`` and ``upper (f, i)`` the codes of `Moves`. The family
    has sets of one feature. The margins of unchanged rows exclude the baseline.
    """
    changes = np.zeros((program.n_margins, moves.size, own.shape[1]))
    for leaf, failed, number in failures(program, own):
        value, here = added(program, leaf)[:, None], number == 0
        if moves.own:
            changes[:, 0] += value * here
        for feature in sorted(failed.keys() & set(range(len(moves.n_codes)))):
            rest = number == failed[feature]
            low, high = (
                rest & _passes_at_value(program, moves, leaf, feature, at[feature]) for at in (lower, upper)
            )
            place, twice = moves.targets[feature]
            pairs = ((here, low), (here, high)) if twice else ((low, high),)
            for target, (one, other) in enumerate(pairs, place):
                changes[:, target] += value * (other.astype(np.float64) - one)
    return changes


def _passes_at_value(program: Program, moves: Moves, leaf: Leaf, feature: int, at: Ints) -> Flags:
    """Return which rows pass the tests of a leaf on a feature that is moved to the codes ``at``."""
    met = np.ones(len(at), dtype=bool)
    for condition, fails in leaf.tests:
        if program.feature[condition] == feature:
            _, cut, last_left, table = moves.conditions[moves.test[condition]]
            last = moves.n_codes[feature] - 1
            left = (
                moves.truth[table + at] > 0 if table >= 0 else (at <= cut) | ((at == last) & (last_left > 0))
            )
            met &= left != fails
    return met


def passing(program: Program, size: Ints, sides: Runs) -> Runs:
    """Return, for each slot whose set is one feature, the cells that pass the tests of its leaf on it.

    ``size`` is the number of cells of each feature. ``sides`` has, for each condition, the cells that go left
    and then those that go right.
    """
    first, stop = np.zeros(program.n_slots, np.int64), np.zeros(program.n_slots, np.int64)
    found: list[tuple[int, int]] = []
    for leaf in leaves(program):
        begin, active = program.entries[leaf.entry, SLOT], program.entries[leaf.entry, ACTIVE]
        for slot in range(begin, begin + active):
            free = program.family.sets[program.slot_set[slot]]
            if len(free) != 1:
                continue
            (feature,) = free
            met = np.ones(size[feature], dtype=bool)
            for condition, fails in leaf.tests:
                if program.feature[condition] == feature:
                    met &= inside(sides, 2 * condition + fails, np.arange(size[feature]))
            first[slot] = len(found)
            found.extend(runs_of(met))
            stop[slot] = len(found)
    return Runs(first, stop, np.array(found, np.int32).reshape(-1, 2))


def inside(runs: Runs, number: int, cells: Array) -> Flags:
    """Return which cells are in the runs of one list."""
    met = np.zeros(len(cells), dtype=bool)
    for begin, end in runs.runs[runs.first[number] : runs.stop[number]]:
        met |= (cells >= begin) & (cells < end)
    return met


def count_pairs(cells: Ints, weights: Floats | None, pairs: Ints, size: Ints) -> Floats:
    """Return the weight of the rows in each pair of cells, for all pairs of features in order."""
    counts = []
    for one, other in pairs:
        key = cells[one].astype(np.int64) * size[other] + cells[other]
        counts.append(np.bincount(key, weights, minlength=int(size[one]) * int(size[other])))
    return np.concatenate(counts).astype(np.float64) if counts else np.empty(0)


def pair_moments(
    boxes: Boxes, items: Items, points: CellPoints, effects: tuple[Floats, ...], own: Ints, threads: int = 1
) -> tuple[Floats, Floats]:
    """Return mean squares ``(t, 2, m)`` of interactions and joint effects of pairs, and both at rows ``own``.

    The values at rows ``(t, 2, m, i)`` are centered by their means over the points. ``items.weights`` are the
    amounts of leaves where a row passes the tests of the first feature, of the second, and of both.
    """
    assert items.weights is not None
    grouped, size = items.grouped(len(points.pairs)), points.size
    squares = np.zeros((len(points.pairs), 2, len(effects[0])))
    functions = np.zeros((*squares.shape, own.shape[1]))
    for pair, (j, k) in enumerate(points.pairs):
        table = np.zeros((len(effects[0]), size[j], size[k]))
        for item in range(grouped.first[pair], grouped.first[pair + 1]):
            one = inside(boxes.sides, grouped.places[item, 0], np.arange(size[j]))[:, None]
            other = inside(boxes.sides, grouped.places[item, 1], np.arange(size[k]))
            margin = boxes.margin[grouped.leaf[item]]
            first, second, joint = items.weights[grouped.order[item], :, :, None, None]
            amounts = first * one + (second + joint * one) * other
            table[slice(None) if margin < 0 else slice(margin, margin + 1)] += amounts
        if points.counts is None:
            counts = count_pairs(points.cells, points.weight, points.pairs[pair : pair + 1], size)
        else:
            counts = points.counts[points.first[pair] :][: int(size[j]) * int(size[k])]
        both = np.stack([table, table + effects[j][:, :, None] + effects[k][:, None]])
        mean = both.reshape(*both.shape[:2], -1) @ counts / points.total
        both -= mean[..., None, None]
        squares[pair] = both.reshape(*both.shape[:2], -1) ** 2 @ counts / points.total
        functions[pair] = both[:, :, own[j], own[k]]
    return squares, functions


def look_up(begin: Ints, end: Ints, weight: Floats, at: Ints, size: Ints) -> Floats:
    """Return the sums ``(m, g)`` of the weights of the boxes that contain each point.

    Boxes ``[begin, end)`` are ``(r, d)``, their weights ``(r, m)``, points ``at (d, g)``. This is used if a
    table of all cells, with ``size`` per feature, would be too large.
    """
    values = np.zeros((weight.shape[1], at.shape[1]))
    for low, high, amount in zip(begin, end, weight, strict=True):
        values += np.outer(amount, ((at >= low[:, None]) & (at < high[:, None])).all(axis=0))
    return values


def interact(boxes: Boxes, items: Items, cells: Ints, functions: Floats, threads: int = 1) -> Floats:
    """Return the influence of each background row on the interaction of each group of features.

    The influence of row z on group T is the sum, over the nonempty subsets S of T, the leaves l that test all
    of T and the rows x, of ``(-1)^(|T| - |S|) v_l g_T(x) 1[x passes l on S] 1[z passes l on all but S]``.
    ``functions (t, q, m, i)`` are several g for each group. The result has the same shape.
    """
    influence = np.zeros(functions.shape)
    for leaf in range(len(boxes.margin)):
        first, last = boxes.first[leaf], boxes.first[leaf + 1]
        passes = np.array([inside(boxes.sides, n, cells[boxes.feature[n]]) for n in range(first, last)])
        margins = slice(None) if boxes.margin[leaf] < 0 else slice(boxes.margin[leaf], boxes.margin[leaf] + 1)
        for item in range(items.first[leaf], items.first[leaf + 1]):
            places = [int(place) for place in items.places[item] if place >= 0]
            for part in range(1, 1 << len(places)):
                chosen = [place for way, place in enumerate(places) if part >> way & 1]
                others = [place for place in range(last - first) if place not in chosen]
                sign = (-1.0) ** (len(places) - len(chosen))
                weight = functions[items.group[item]] @ passes[chosen].all(axis=0)
                amount = sign * boxes.value[leaf] * weight[:, margins]
                influence[items.group[item], :, margins] += amount[..., None] * passes[others].all(axis=0)
    return influence
