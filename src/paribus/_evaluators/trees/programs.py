"""Compilation of an ensemble and the requested feature sets to a program for the kernels."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations, groupby
from threading import Lock
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._data.rows import Block
from paribus._evaluators.brute_force import prepared_rows
from paribus._grid import Grid, moved_values
from paribus._kernels.patterns import MOST_CODES, has_few_tests
from paribus._kernels.program import (
    ABOVE,
    ACTIVE,
    AT,
    CATEGORIES,
    COLUMN,
    CUT,
    DEPTH,
    END,
    GAP,
    LAST,
    LEFT,
    MARGIN,
    MISSING_LEFT,
    NODE,
    RIGHT,
    SIDE,
    SLOT,
    TABLE,
    TEST,
    UPS,
    Bytes,
    CodeColumn,
    FeatureSets,
    Ints,
    Layout,
    PointCodes,
    Program,
    Walk,
    category_codes,
    member_starts,
    portions,
)
from paribus._models.ensemble import LEAF, Encoding, Ensemble
from paribus._models.preprocessing.preparation import SparseTable, spread

KEPT_BYTES = 1 << 26  # of the programs that are kept with an ensemble
_PROGRAMS: WeakKeyDictionary[Ensemble, dict[Any, Program]] = WeakKeyDictionary()
_KEEPING = Lock()
DEEP = 2_048  # leaves from which a tree is evaluated with lists of rows: masks would be mostly empty


def family_of(groups: Iterable[tuple[int, ...]]) -> FeatureSets:
    """Return the requested feature sets and all their subsets, smaller ones first."""
    wanted = {tuple(sorted(features)) for features in groups}
    features = tuple(sorted({feature for group in wanted for feature in group}))
    positions = {feature: position for position, feature in enumerate(features)}
    parts = {
        frozenset(positions[feature] for feature in part)
        for group in wanted
        for size in range(len(group) + 1)
        for part in combinations(group, size)
    }
    sets = tuple(sorted(parts, key=lambda one: (len(one), sorted(one))))
    numbers = {one: number for number, one in enumerate(sets)}
    step = np.full((len(sets), len(features) + 1), -1, np.int32)
    for number, one in enumerate(sets):
        for position in one:
            step[number, position] = step[numbers[one - {position}], position] = number
    members = np.full((len(sets), max(map(len, sets))), -1, np.int32)
    for number, one in enumerate(sets):
        members[number, : len(one)] = sorted(one)
    return FeatureSets(features, sets, step, members)


def program_of(
    ensemble: Ensemble, family: FeatureSets, kernels: ModuleType, deep: int = DEEP, rows: int = 0
) -> Program:
    """Return the program of an ensemble for a family of feature sets and ``rows`` rows.

    Trees with few tests come first, those with at least ``deep`` leaves last. The latest programs are kept
    with the ensemble.
    """
    key = family.features, family.sets, kernels.lay_out, deep
    with _KEEPING:
        kept = _PROGRAMS.setdefault(ensemble, {})
        program = kept.pop(key, None)
    program = program or _laid_out_program(ensemble, family, kernels, deep, rows)
    with _KEEPING:
        kept[key] = program
        while sum(each.nbytes for each in kept.values()) > KEPT_BYTES:
            del kept[next(iter(kept))]  # the oldest
    return program


def _laid_out_program(
    ensemble: Ensemble, family: FeatureSets, kernels: ModuleType, deep: int, rows: int
) -> Program:
    """Lay out the program of an ensemble."""
    inner = ensemble.column != LEAF
    columns, column, cut = _code_columns(ensemble, inner)
    conditions, truth, test = _conditions(ensemble, inner, columns, column, cut)
    positions = {feature: position for position, feature in enumerate(family.features)}
    owner = np.array([positions.get(e.feature, len(positions)) for e in ensemble.encodings], np.int32)
    feature = np.full(len(inner), -1, np.int32)
    feature[inner] = owner[ensemble.column[inner]]
    order, patterned_trees, shallow_trees = _walked(ensemble, inner, test, columns, column, deep)
    layout = kernels.lay_out(
        ensemble.roots[order], ensemble.left, ensemble.right, inner, feature, family.step, rows
    )
    entries = _tree_entries(ensemble, layout, test, order)
    starts = np.append(np.flatnonzero(layout.parent < 0), len(entries))
    tested = np.array([column.encoding for column in columns], np.int64)[conditions[:, 0]]
    return Program(
        columns=columns,
        columns_of=_columns_of(ensemble, columns),
        conditions=conditions,
        truth=truth,
        feature=owner[tested],
        entries=entries,
        patterned=int(starts[patterned_trees]),
        shallow=int(starts[shallow_trees]),
        up=layout.up,
        slot_set=layout.slot_set,
        value=np.ascontiguousarray(ensemble.value),
        base=ensemble.base,
        family=family,
    )


def with_free(program: Program, ensemble: Ensemble, features: Iterable[int]) -> Program:
    """Return the program for a set of features that are free together.

    They are treated as one feature of the family, so that there are no slots for subsets of them. The set is
    active at a node if one of them is tested above.
    """
    together = frozenset(features)
    family = family_of([(min(together),)])
    position = np.array([e.feature not in together for e in ensemble.encodings], np.int32)
    encoding = np.array([column.encoding for column in program.columns], np.int64)
    feature = position[encoding[program.conditions[:, COLUMN]]]
    entries = program.entries.copy()
    leaf, inner = np.flatnonzero(entries[:, SLOT] >= 0), np.flatnonzero(entries[:, SLOT] < 0)
    is_free = feature[entries[inner + 1, TEST]] == 0  # of a test, which the next entry has
    begins, ends = (
        np.bincount(found, minlength=len(entries) + 1)
        for found in (inner[is_free] + 1, entries[inner[is_free], END])
    )
    active = 1 + (np.cumsum(begins - ends)[:-1] > 0)
    ups, slots = member_starts(np.repeat(inner, active[inner]), len(entries)), active[leaf]
    for child in (inner + 1, entries[inner + 1, END]):
        entries[child, ABOVE], entries[child, UPS] = active[inner], ups[inner]
    first = np.cumsum(slots) - slots
    entries[:, ACTIVE], entries[leaf, SLOT] = active, first
    return replace(
        program,
        feature=feature,
        entries=entries,
        up=np.repeat(np.where(is_free, 1, -1), active[inner]).astype(np.int32),
        slot_set=(np.arange(slots.sum()) - np.repeat(first, slots)).astype(np.int32),
        family=family,
    )


def observed_points(program: Program, codes: Ints, features: Iterable[int]) -> tuple[PointCodes, Integers]:
    """Return the distinct codes of rows ``(c, i)`` in some features as points, and the point of each row.

    Points are sorted by code, so that neighboring points pass similar tests.
    """
    own = [position for feature in features for position in program.columns_of.get(feature, ())]
    point = np.zeros(codes.shape[1], np.int64)
    row = np.full(len(program.conditions), -1, np.int32)
    for number, position in enumerate(own):
        _, point = np.unique(point * program.n_codes[position] + codes[position], return_inverse=True)
        row[program.conditions[:, COLUMN] == position] = number
    _, first = np.unique(point, return_index=True)
    table = np.ascontiguousarray(codes[own][:, first])
    axis, axis_first = np.zeros(len(own), np.int32), np.array([0, len(first)], np.int32)
    return PointCodes(row, axis, axis_first, table, len(first)), point


def _code_columns(ensemble: Ensemble, inner: Flags) -> tuple[tuple[CodeColumn, ...], Integers, Integers]:
    """Return the code columns, and for each inner node its column and its cut or set of categories."""
    nodes = np.flatnonzero(inner)
    key = ensemble.column[nodes].astype(np.int64) * 2 + (ensemble.category_set[nodes] >= 0)
    few = 2 * len(ensemble.encodings) < 1 << 15
    order = np.argsort(key.astype(np.int16) if few else key, kind="stable")  # int16 sorts faster
    numbers, first = np.unique(key[order], return_index=True)
    columns: list[CodeColumn] = []
    column, cut = np.zeros(len(inner), np.int64), np.zeros(len(inner), np.int64)
    for number, here in zip(numbers, np.split(nodes[order], first[1:]), strict=False):
        column[here] = len(columns)
        if number % 2:
            used = np.unique(ensemble.category_set[here])
            known = np.unique(np.concatenate([ensemble.category_sets[s].listed for s in used])).astype(
                np.float64
            )
            cut[here] = ensemble.category_set[here]
        else:
            known, cut[here] = np.unique(ensemble.threshold[here], return_inverse=True)
        columns.append(CodeColumn.of(int(number // 2), known, is_nominal=bool(number % 2)))
    return tuple(columns), column, cut


def _columns_of(ensemble: Ensemble, columns: tuple[CodeColumn, ...]) -> dict[int, tuple[int, ...]]:
    """Return the code columns that belong to each feature."""
    result: dict[int, tuple[int, ...]] = {}
    for position, column in enumerate(columns):
        feature = ensemble.encodings[column.encoding].feature
        result[feature] = (*result.get(feature, ()), position)
    return result


def _conditions(
    ensemble: Ensemble, inner: Flags, columns: tuple[CodeColumn, ...], column: Integers, cut: Integers
) -> tuple[Ints, Bytes, Integers]:
    """Return the distinct conditions, tables of categorical ones, and the condition of each inner node."""
    sizes = [len(ensemble.category_sets) if one.is_nominal else len(one.known) for one in columns]
    first = np.cumsum([0, *sizes])
    keys = (first[column[inner]] + cut[inner]) * 2 + ensemble.missing_left[inner]
    occurs = np.bincount(keys, minlength=2 * int(first[-1])) > 0  # faster than sorting
    distinct, inverse = np.flatnonzero(occurs), (np.cumsum(occurs) - 1)[keys]
    test = np.zeros(len(inner), np.int64)
    test[inner] = inverse
    about = np.repeat(np.arange(len(columns)), sizes)[distinct // 2]
    cuts = distinct // 2 - first[about]
    conditions = np.stack([about, cuts, distinct % 2, np.full(len(distinct), -1)], axis=1)
    tables: list[Flags] = []
    begin = 0
    for number in np.flatnonzero(np.array([c.is_nominal for c in columns], dtype=bool)[about]):
        categories = columns[about[number]]
        chosen = ensemble.category_sets[conditions[number, 1]]
        left = np.append(chosen.goes_left(categories.known), not chosen.listed_left)
        tables.append(np.append(left, conditions[number, 2] > 0))
        conditions[number, 3] = begin
        begin += len(tables[-1])
    truth = np.concatenate(tables).astype(np.uint8) if tables else np.zeros(0, np.uint8)
    return np.ascontiguousarray(conditions).astype(np.int32), truth, test


def _walked(
    ensemble: Ensemble,
    inner: Flags,
    test: Integers,
    columns: tuple[CodeColumn, ...],
    column: Integers,
    deep: int,
) -> tuple[Integers, int, int]:
    """Return the order of trees, the number with patterns, and the number with patterns or masks."""
    trees, tree = len(ensemble.roots), ensemble.tree
    leaves = np.bincount(tree[~inner], minlength=trees)
    wide = np.array([one.missing >= MOST_CODES for one in columns], dtype=bool)
    too_wide = np.bincount(tree[inner], wide[column[inner]], minlength=trees) > 0
    few = has_few_tests(ensemble.roots, ensemble.left, ensemble.right, tree, test, inner)
    few &= (leaves < deep) & ~too_wide
    group = np.where(few, 0, np.where(leaves < deep, 1, 2))
    return np.argsort(group, kind="stable"), int(few.sum()), int((group < 2).sum())


def _tree_entries(ensemble: Ensemble, layout: Layout, test: Integers, order: Integers) -> Ints:
    parent, node = layout.parent, layout.node
    tests = test.astype(np.int32)
    sizes = np.diff(np.append(np.flatnonzero(parent < 0), len(node)))
    vector = ensemble.value.shape[1] > 1
    margin = np.repeat(np.full(len(order), -1, np.int32) if vector else ensemble.output[order], sizes)
    entries = np.empty((len(node), 10), np.int32)
    for some in portions(len(node)):
        own = entries[some]
        own[:, END], own[:, DEPTH] = layout.end[some], layout.depth[some]
        own[:, TEST] = tests[node[np.maximum(parent[some], 0)]]
        own[:, SIDE], own[:, NODE], own[:, MARGIN] = layout.side[some], node[some], margin[some]
    _fill_sets(entries, layout, ensemble.column != LEAF)
    return entries


def _fill_sets(entries: Ints, layout: Layout, inner: Flags) -> None:
    """Fill the columns of entries that depend on the sets of free features."""
    for some in portions(len(entries)):
        own, parent = entries[some], layout.parent[some]
        above = np.maximum(parent, 0)
        own[:, ABOVE] = np.where(parent < 0, 0, layout.active[above])
        own[:, UPS] = layout.up_first[above]
        own[:, ACTIVE] = layout.active[some]
        own[:, SLOT] = np.where(inner[layout.node[some]], -1, layout.slot_first[some])


def walk_of(ensemble: Ensemble, features: tuple[int, ...]) -> Walk:
    """Return the layout of an ensemble for rows that walk one by one, with some features moved."""
    if ensemble.preparation is not None:
        ensemble.preparation.refuse_joined(features)
    inner = ensemble.column != LEAF
    columns, column, cut = _code_columns(ensemble, inner)
    conditions, truth, test = _conditions(ensemble, inner, columns, column, cut)
    missing = np.array([one.missing for one in columns], np.int32)
    nodes = np.full((len(inner), 6), -1, np.int32)
    tested = conditions[test[inner]]
    for position, column_of in ((AT, COLUMN), (LAST, CUT), (CATEGORIES, TABLE)):
        nodes[inner, position] = tested[:, column_of]
    nodes[inner, GAP] = np.where(tested[:, MISSING_LEFT] > 0, missing[tested[:, COLUMN]], -1)
    nodes[:, LEFT], nodes[:, RIGHT] = ensemble.left, ensemble.right
    positions = {feature: position for position, feature in enumerate(features)}
    owner = np.array([positions.get(ensemble.encodings[c.encoding].feature, -1) for c in columns], np.int32)
    vector = ensemble.value.shape[1] > 1
    margin = np.full_like(ensemble.output, -1) if vector else ensemble.output
    return Walk(
        columns,
        owner,
        len(features),
        nodes,
        truth,
        np.ascontiguousarray(ensemble.roots, np.int32),
        np.ascontiguousarray(margin, np.int32),
        np.ascontiguousarray(ensemble.value),
        ensemble.base,
    )


def points_of(
    program: Program,
    ensemble: Ensemble,
    grid: Grid,
    numbers_in: Sequence[Callable[[Encoding], Floats]],
    kernels: ModuleType,
) -> PointCodes:
    """Return the points of a grid as codes; ``numbers_in`` gives the numbers of each axis in an encoding."""
    axes = grid.columns
    first = np.cumsum([0, *(len(column.missing) for _, column in axes)]).astype(np.int32)
    row = np.full(len(program.conditions), -1, np.int32)
    codes: list[Ints] = []
    axis: list[int] = []
    for number, (feature, _) in enumerate(axes):
        for position in program.columns_of.get(feature, ()):
            column = program.columns[position]
            numbers = numbers_in[number](ensemble.encodings[column.encoding])
            begin, end = program.condition_first[position : position + 2]
            row[begin:end] = len(codes)
            codes.append(np.zeros(first[-1], np.int32))
            codes[-1][first[number] : first[number + 1]] = code_of(column, numbers, kernels)
            axis.append(number)
    table = np.stack(codes) if codes else np.zeros((0, first[-1]), np.int32)
    return PointCodes(row, np.array(axis, np.int32), first, table, grid.n_points)


def distinct_points(points: PointCodes) -> PointCodes:
    """Return the points that some test distinguishes, with the distinct point of each point.

    If more than half of the points are distinct, all points are returned, because spreading the estimates
    takes the memory of both.
    """
    if not points.size:
        return points
    first, stop = points.axis_first[:-1], points.axis_first[1:]
    kept, places = [], []
    for axis, (begin, end) in enumerate(zip(first, stop, strict=True)):
        key = np.zeros(end - begin, np.int64)
        for codes in points.codes[points.axis == axis, begin:end]:
            _, key = np.unique(key * (int(codes.max()) + 1) + codes, return_inverse=True)
        _, own, place = np.unique(key, return_index=True, return_inverse=True)
        kept.append(begin + own)
        places.append(place)
    shape = tuple(map(len, kept))
    size = math.prod(shape)
    if 2 * size > points.size:
        return points
    ends = np.cumsum([0, *shape]).astype(np.int32)
    codes = np.ascontiguousarray(points.codes[:, np.concatenate(kept)])
    place = np.ravel_multi_index(np.ix_(*places), shape).ravel()
    return PointCodes(points.row, points.axis, ends, codes, size, place)


def laid_out(
    ensemble: Ensemble, grids: tuple[Grid, ...], kernels: ModuleType, rows: int = 0
) -> tuple[Program, tuple[PointCodes, ...]]:
    """Return the program of an ensemble for grids and ``rows`` rows, and the points of each grid."""
    groups = [tuple(axis.feature for axis in grid.axes) for grid in grids]
    if ensemble.preparation is not None:
        ensemble.preparation.refuse_joined({feature for group in groups for feature in group})
    program = program_of(ensemble, family_of(groups), kernels, rows=rows)
    requests, axes = moved_values(grids)
    values = ensemble.values(requests)
    points = (
        points_of(program, ensemble, grid, [values[number] for number in own], kernels)
        for grid, own in zip(grids, axes, strict=True)
    )
    return program, tuple(points)


def code_of(column: CodeColumn, numbers: Floats, kernels: ModuleType) -> Ints:
    """Return the codes of the numbers of a column."""
    codes: Ints = category_codes(column, numbers) if column.is_nominal else kernels.rank(column, numbers)
    return codes


def codes_of(
    program: Program | Walk,
    ensemble: Ensemble,
    block: Block,
    kernels: ModuleType,
    replaced: frozenset[int] = frozenset(),
) -> Ints:
    """Return the codes ``(c, i)`` of rows; untested columns are read if their values may be refused.

    ``replaced`` features may have any value. Codes are cached in the block for all evaluators, which must not
    write into them.
    """
    free = frozenset(e.feature for e in ensemble.encodings if e.strict and e.feature in replaced)
    key = "codes", ensemble, program.code_key, free
    codes: Ints = block.row_values(key, partial(_encoded, program, ensemble, kernels, free), _codes_between)
    return codes


def _codes_between(codes: Ints, first: int, stop: int) -> Ints:
    """Return the codes of consecutive rows."""
    return np.ascontiguousarray(codes[:, first:stop])


def _encoded(
    program: Program | Walk, ensemble: Ensemble, kernels: ModuleType, free: frozenset[int], block: Block
) -> Ints:
    """Return the codes of rows; ``free`` features may have any value."""
    used = {column.encoding for column in program.columns}
    prepared = ensemble.preparation is not None
    table = prepared_rows(ensemble.preparation, block) if prepared else block.for_reading(len(used))

    def numbers(position: int) -> tuple[Floats, Integers | None]:
        encoding = ensemble.encodings[position]
        if encoding.feature in free:
            encoding = replace(encoding, accepts_missing=True, accepts_infinite=True)
        if not isinstance(table, SparseTable):
            return encoding.read(table), None
        rows, entries = table.stored(encoding.place)
        return encoding.read(entries), rows

    for position, encoding in enumerate(ensemble.encodings):
        if position not in used and encoding.strict and encoding.feature not in free:
            numbers(position)
    codes = np.empty((len(program.columns), len(block.table)), np.int32)
    for encoding, columns in groupby(enumerate(program.columns), key=lambda one: one[1].encoding):
        found, rows = numbers(encoding)
        for position, column in columns:
            own = code_of(column, found, kernels)
            # Only the stored entries of a sparse column are compared.
            codes[position] = own if rows is None else spread(rows, own, len(table))
    return codes
