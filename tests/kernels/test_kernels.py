"""The kernels: `reference` and `compiled` compute the same, and it is what brute force computes."""

import math
import os
import subprocess
import sys
from dataclasses import fields, replace
from itertools import pairwise, product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numba import f8
from numba.core.errors import TypingError

from ensembles import INF, NAN, Case, cases, column_of, full
from paribus._evaluators.ale import tree_ale
from paribus._evaluators.ale.tree_ale import moved_trees
from paribus._evaluators.trees import leaf_boxes
from paribus._evaluators.trees.leaf_boxes import Leaves, parts_of
from paribus._evaluators.trees.programs import code_of, family_of, program_of, walk_of
from paribus._kernels import compiled, reference
from paribus._kernels.jit import common
from paribus._kernels.program import ACTIVE, SLOT, CellPoints, CodeColumn, Layout, category_codes
from paribus._models.ensemble import CategorySet, Encoding, Ensemble
from paribus._models.predictor import Link
from paribus._states import BinnedSum, CellMoments, ExactSum, merge_in_order
from paribus.errors import RefusalError

KERNELS = reference, compiled
DEEP = 1, 4, 10**9  # leaves from which trees are walked with lists: all of them, some, none
laws = settings(max_examples=max(20, settings.default.max_examples))  # more in `make random`


def programs(case):
    for deep in DEEP:
        yield program_of(case.ensemble, case.family, compiled, deep)


# ---------------------------------------------------------------- trees


@laws
@given(cases())
@example(full())
def test_both_kernels_lay_trees_out_alike(case):
    def lay_out(*arguments):
        *arrays, _ = arguments
        one, other = reference.lay_out(*arrays), compiled.lay_out(*arrays, rows=10**9)
        for field in fields(Layout):
            mine, theirs = getattr(one, field.name), getattr(other, field.name)
            assert mine.dtype == theirs.dtype
            np.testing.assert_array_equal(mine, theirs, field.name)
        np.testing.assert_array_equal(one.slot_set, compiled.lay_out(*arrays).slot_set)
        return one

    for deep in DEEP:
        program_of(case.ensemble, case.family, SimpleNamespace(lay_out=lay_out), deep)


@pytest.mark.nightly
@laws
@given(cases())
@example(full())
def test_both_kernels_count_the_same_rows(case):
    for program in programs(case):
        codes = case.codes(program, reference)
        np.testing.assert_array_equal(codes, case.codes(program, compiled))
        one, other = (kernels.cover(program, codes, None) for kernels in KERNELS)
        np.testing.assert_array_equal(one, other)
        if case.weights is not None:
            one, other = (kernels.cover(program, codes, case.weights) for kernels in KERNELS)
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=0)


def leaves_of(program, kernels, *limits):
    """The leaves as boxes, where no feature has too many cells."""
    try:
        return Leaves.of(program, kernels, *limits)
    except RefusalError:
        assume(False)


@laws
@given(cases(), st.data())
def test_any_split_of_the_rows_counts_the_same_bits(case, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, case.rows), max_size=4)))
    for program in programs(case):
        codes = case.codes(program, compiled)
        whole = compiled.cover(program, codes, None)
        parts = [np.ascontiguousarray(codes[:, a:b]) for a, b in pairwise([0, *cuts, case.rows])]
        added = sum(compiled.cover(program, part, None) for part in parts)
        assert added.tobytes() == whole.tobytes()


def along_lines(case):
    """The same case with questions about one feature each, no two about the same."""
    values = {feature: points for question in case.questions for feature, points in question.items()}
    return replace(case, questions=tuple({feature: points} for feature, points in values.items()))


@laws
@given(cases(), st.booleans())
@example(full(), False)
@example(full(), True)
def test_averages_are_those_of_brute_force(case, lines):
    case = along_lines(case) if lines else case
    want = np.average(case.curves(), axis=2, weights=case.weights)
    for program in programs(case):
        for kernels in KERNELS:
            share = kernels.cover(program, case.codes(program, kernels), case.weights) / case.total
            points, base = case.points(program, kernels), program.base[:, None]
            found = [kernels.average(program, one, share) for one in points]
            together = kernels.averages(program, kernels.trace(program, points), points, share)
            for averages in (np.concatenate(found, axis=1), together):
                np.testing.assert_allclose(averages + base, want, rtol=0, atol=1e-12 * case.size)


@laws
@given(cases(), st.booleans())
@example(full(), False)
@example(full(), True)
def test_curves_are_those_of_brute_force(case, lines):
    case = along_lines(case) if lines else case
    want = case.curves()
    for program in programs(case):
        for kernels in KERNELS:
            codes, trace = case.codes(program, kernels), kernels.trace(program, case.points(program, kernels))
            parts = (codes[:, k : k + kernels.CHUNK] for k in range(0, case.rows, kernels.CHUNK))
            drawn = [kernels.curves(program, trace, np.ascontiguousarray(part)) for part in parts]
            np.testing.assert_allclose(np.concatenate(drawn, axis=2), want, rtol=0, atol=1e-12 * case.size)


# ---------------------------------------------------------------- rows followed one by one


def moves_of(case, walk, features, seed):
    """Return the codes of rows, and of the same rows with the values of others in the features moved."""
    rng, kernels = np.random.default_rng(seed), compiled
    moved = [rng.integers(0, case.rows, (2, case.rows)) for _ in case.table]
    codes = np.zeros((3, len(walk.columns), case.rows), np.int32)
    for place, column in enumerate(walk.columns):
        encoding = case.ensemble.encodings[column.encoding]
        numbers = encoding.numbers(column_of(case.table[encoding.feature]))
        codes[:, place] = code_of(column, numbers, kernels)
        if encoding.feature in features:
            for side, rows in enumerate(moved[encoding.feature], 1):
                codes[side, place] = codes[0, place][rows]
    return codes, moved


@laws
@given(cases(), st.integers(0, 999), st.lists(st.integers(0, 5), max_size=4, unique=True))
@example(full(), 0, [0, 1, 2])
@example(full(), 1, [2])
@example(full(), 2, [])
def test_moved_rows_end_where_brute_force_says(case, seed, features):
    walk = walk_of(case.ensemble, tuple(features))
    (own, lower, upper), moved = moves_of(case, walk, features, seed)
    found = [kernels.shift(walk, own, lower, upper) for kernels in KERNELS]
    for one, other in zip(*found, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * case.size)
    plain, *sides = found[1]
    np.testing.assert_allclose(plain, margins_of(case.ensemble, case.table), rtol=0, atol=1e-12 * case.size)
    for side, changes in enumerate(sides):
        assert changes.shape == (len(case.ensemble.base), len(features), case.rows)
        for place, feature in enumerate(features):
            table = list(case.table)
            table[feature] = table[feature][moved[feature][side]]
            want = margins_of(case.ensemble, table) - plain
            np.testing.assert_allclose(changes[:, place], want, rtol=0, atol=1e-12 * case.size)


@laws
@given(cases(), st.integers(0, 999))
@example(full(), 0)
def test_a_move_that_changes_no_test_changes_no_bit(case, seed):
    walk = walk_of(case.ensemble, tuple(range(6)))
    own = moves_of(case, walk, range(6), seed)[0][0]
    _, lowered, raised = compiled.shift(walk, own, own.copy(), own.copy())
    for changes in (lowered, raised):
        assert (changes == 0).all()


@laws
@given(cases(), st.integers(0, 999), st.data())
def test_rows_are_followed_alike_whichever_stand_beside_them(case, seed, data):
    cuts = sorted(data.draw(st.lists(st.integers(1, case.rows), max_size=3)))
    walk = walk_of(case.ensemble, (0, 1, 3))
    codes = moves_of(case, walk, (0, 1, 3), seed)[0]
    whole = compiled.shift(walk, *codes)
    ends = sorted({0, *cuts, case.rows})
    parts = [compiled.shift(walk, *np.ascontiguousarray(codes[..., a:b])) for a, b in pairwise(ends)]
    for place, one in enumerate(whole):
        assert np.concatenate([part[place] for part in parts], axis=-1).tobytes() == one.tobytes()


@pytest.fixture(autouse=True, scope="module")
def nothing_walked():
    """Lead masks of rows down every tree, however deep."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_ale, "WALKED", 10**9)
        yield


def masked(case, features, seed):
    """Return trees laid out for moves of features between values of some rows, and moves of all rows."""
    rng = np.random.default_rng(seed)
    chosen = {feature: rng.integers(0, case.rows, rng.integers(1, 7)) for feature in features}
    values = [
        lambda encoding, cells=case.table[feature][rows]: encoding.numbers(column_of(cells))
        for feature, rows in chosen.items()
    ]
    twice, own = rng.random(len(features)) < 0.5, bool(rng.integers(2))
    counts = [len(rows) for rows in chosen.values()]
    (trees,) = moved_trees(case.ensemble, features, values, counts, twice, own, compiled)
    at = np.zeros((2, len(features), case.rows), np.int32)
    for place, feature in enumerate(features):
        at[:, place] = rng.integers(1, len(chosen[feature]) + 1, (2, case.rows))
        at[:, place, rng.random(case.rows) < 0.2] = 0  # not moved
    return trees, chosen, at


@laws
@given(cases(), st.integers(0, 999), st.sets(st.integers(0, 5), min_size=1, max_size=4))
@example(full(), 0, {0, 1, 2})
@example(full(), 1, {2})
def test_moves_change_what_brute_force_says(case, seed, features):
    features = tuple(sorted(features))
    trees, chosen, (lower, upper) = masked(case, features, seed)
    own = case.codes(trees.program, compiled)
    one, found = (kernels.move(trees.program, trees.moves, own, lower, upper) for kernels in KERNELS)
    assert found.shape == (len(case.ensemble.base), trees.moves.size, case.rows)
    np.testing.assert_allclose(one, found, rtol=0, atol=1e-12 * case.size)
    plain = margins_of(case.ensemble, case.table)
    close = {"rtol": 0, "atol": 1e-12 * case.size}
    if trees.moves.own:
        np.testing.assert_allclose(found[:, 0] + case.ensemble.base[:, None], plain, **close)
    for place, feature in enumerate(features):
        target, twice = trees.moves.targets[place]
        ends = []
        for at in (lower[place], upper[place]):
            table = list(case.table)
            table[feature] = np.where(at > 0, table[feature][chosen[feature]][at - 1], table[feature])
            ends.append(margins_of(case.ensemble, table))
        moved = lower[place] > 0
        want = [end - plain for end in ends] if twice else [ends[1] - ends[0]]
        for number, changes in enumerate(want, target):
            np.testing.assert_allclose(found[:, number, moved], changes[:, moved], **close)
            if not twice:
                assert (found[:, number, ~moved] == 0).all()


@laws
@given(cases(), st.integers(0, 999), st.data())
def test_rows_are_moved_alike_whichever_stand_beside_them(case, seed, data):
    cuts = sorted(data.draw(st.lists(st.integers(1, case.rows), max_size=3)))
    trees, _, at = masked(case, (0, 1, 3), seed)
    own = case.codes(trees.program, compiled)
    whole = compiled.move(trees.program, trees.moves, own, *at)
    parts = [
        compiled.move(trees.program, trees.moves, *(np.ascontiguousarray(x[:, a:b]) for x in (own, *at)))
        for a, b in pairwise(sorted({0, *cuts, case.rows}))
    ]
    assert np.concatenate(parts, axis=-1).tobytes() == whole.tobytes()


def chain(depth, missing_left):
    """Return a tree each of whose nodes but the last has a leaf beside it, tested on three columns in turn."""
    nodes = 2 * depth + 1
    inner = np.arange(nodes) % 2 == 0
    inner[-1] = False
    at = np.arange(nodes, dtype=np.int32)
    rng = np.random.default_rng(depth)
    return Ensemble(
        roots=np.zeros(1, np.int32),
        column=np.where(inner, at // 2 % 3, -1).astype(np.int32),
        threshold=rng.normal(size=nodes),
        left=np.where(inner, at + 1, -1).astype(np.int32),
        right=np.where(inner, at + 2, -1).astype(np.int32),
        missing_left=np.full(nodes, missing_left),
        value=rng.normal(size=(nodes, 1)),
        output=np.zeros(1, np.int32),
        base=np.zeros(1),
        encodings=(Encoding(0), Encoding(1), Encoding(2)),
        links={"predict": Link()},
    )


@pytest.mark.parametrize("missing_left", [False, True])
@pytest.mark.parametrize("depth", [0, 1, 2, 60, 400])
def test_rows_are_followed_down_trees_that_lean(depth, missing_left):
    ensemble = chain(depth, missing_left)
    table = np.random.default_rng(0).normal(-1.5, 1, size=(3, 700))
    table[np.random.default_rng(1).random(table.shape) < 0.1] = NAN
    case = Case(ensemble, tuple(table), None, ())
    walk = walk_of(ensemble, (2, 0))
    codes = moves_of(case, walk, (2, 0), 3)[0]
    one, other = (kernels.shift(walk, *codes) for kernels in KERNELS)
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-12)


# ---------------------------------------------------------------- boxes


def singles(case):
    """Yield programs whose sets are single features."""
    family = family_of((feature,) for feature in case.family.features)
    for deep in DEEP:
        yield program_of(case.ensemble, family, compiled, deep)


def groups_of(program):
    """Return the groups of two and three features that a program knows of, as places in its family."""
    return [tuple(sorted(one)) for one in program.family.sets if len(one) > 1]


def margins_of(ensemble, table):
    """Return the margins of rows, ``(m, i)``, walked tree by tree."""
    numbers = [encoding.numbers(column_of(table[encoding.feature])) for encoding in ensemble.encodings]
    return ensemble.margins(np.stack(numbers, axis=1)).T


@pytest.mark.nightly
@laws
@given(cases(), st.integers(0, 999), st.booleans())
@example(full(), 0, False)
@example(full(), 0, True)
def test_both_kernels_tell_the_same_losses(case, seed, single):
    if single:  # as XGBoost has them
        value, base = (a.astype(np.float32).astype(float) for a in (case.ensemble.value, case.ensemble.base))
        case = replace(case, ensemble=replace(case.ensemble, value=value, base=base))
    for program in singles(case):
        codes = case.codes(program, compiled)
        share = np.random.default_rng(seed).random(program.n_slots)
        one, other = (kernels.lose(program, codes, share, single) for kernels in KERNELS)
        size = 1e-12 * case.size
        for mine, theirs in zip(one, other, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=size)
        if single:
            assert (other[0].astype(np.float32) == other[0]).all()


@pytest.mark.nightly
@laws
@given(cases())
@example(full())
def test_a_row_loses_what_brute_force_says(case):
    """Its own margin minus the mean of its margins with the feature's value of every row."""
    weights = np.ones(case.rows) if case.weights is None else case.weights
    own, lost = margins_of(case.ensemble, case.table), []
    for feature in case.family.features:
        named = [repr(value) for value in case.table[feature]]
        _, first, value = np.unique(named, return_index=True, return_inverse=True)
        table = [np.tile(column, len(first)) for column in case.table]
        table[feature] = np.repeat(case.table[feature][first], case.rows)
        curves = margins_of(case.ensemble, table).reshape(len(own), len(first), case.rows)
        lost.append(own - np.average(curves, axis=1, weights=np.bincount(value, weights)))
    for program in singles(case):
        for kernels in KERNELS:
            codes, leaves = case.codes(program, kernels), leaves_of(program, kernels)
            share = np.zeros(program.n_slots)
            for place, cells in enumerate(leaves.cells.of(codes)):
                counts = np.bincount(cells, weights, minlength=leaves.cells.size[place])
                slots, weight = leaves.passing_weight(place, counts)
                share[slots] = weight / case.total
            margins, found = kernels.lose(program, codes, share)
            np.testing.assert_allclose(margins, own, rtol=0, atol=1e-12 * case.size)
            np.testing.assert_allclose(found, np.stack(lost, axis=1), rtol=0, atol=1e-12 * case.size)


@pytest.mark.nightly
@laws
@given(cases())
@example(full())
def test_the_cells_that_pass_are_those_of_the_rows_that_meet_the_tests(case):
    for program in programs(case):
        one, other = (leaves_of(program, kernels).passing for kernels in KERNELS)
        for part in ("first", "stop", "runs"):
            np.testing.assert_array_equal(getattr(one, part), getattr(other, part), part)
        codes = case.codes(program, compiled)
        cells = leaf_boxes.ThresholdCells(program).of(codes)
        for leaf, failed, _ in reference.failures(program, codes):
            first, active = program.entries[leaf.entry, [SLOT, ACTIVE]]
            for slot in range(first, first + active):
                free = program.family.sets[program.slot_set[slot]]
                if len(free) == 1:
                    passed = reference.inside(other, slot, cells[min(free)])
                    np.testing.assert_array_equal(passed, ~failed[min(free)])


@laws
@given(cases())
@example(full())
def test_both_kernels_count_the_same_pairs_of_cells(case):
    program = program_of(case.ensemble, case.family, compiled)
    cells, size = (
        leaf_boxes.ThresholdCells(program).of(case.codes(program, compiled)),
        leaf_boxes.ThresholdCells(program).size,
    )
    both = [
        pair for pair in product(range(len(size)), repeat=2) if np.prod(size[list(pair)], dtype=float) < 1e5
    ]
    pairs = np.array(both, np.int32).reshape(-1, 2)
    one, other = (kernels.count_pairs(cells, None, pairs, size) for kernels in KERNELS)
    assert one.dtype == other.dtype == np.float64
    np.testing.assert_array_equal(one, other)
    assert other.sum() == case.rows * len(pairs)
    if case.weights is not None:
        one, other = (kernels.count_pairs(cells, case.weights, pairs, size) for kernels in KERNELS)
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=0)
    for kernels in KERNELS:
        assert kernels.count_pairs(cells, None, pairs[:0], size).tolist() == []


@laws
@given(st.integers(1, 3), st.lists(st.integers(1, 40), min_size=3, max_size=3), st.integers(0, 999))
def test_both_kernels_look_up_the_same_boxes(ways, sizes, seed):
    rng = np.random.default_rng(seed)
    size = np.array(sizes[:ways], np.int32)
    n_boxes, n_points, margins = rng.integers(0, 60), rng.integers(0, 90), rng.integers(1, 4)
    ends = np.sort(rng.integers(0, size + 1, (2, n_boxes, ways)), axis=0).astype(np.int32)  # some are empty
    weight = rng.normal(size=(n_boxes, margins))
    at = rng.integers(0, size[:, None], (ways, n_points)).astype(np.int32)
    one, other = (kernels.look_up(*ends, weight, at, size) for kernels in KERNELS)
    assert other.shape == (margins, n_points)
    np.testing.assert_allclose(other, one, rtol=0, atol=1e-13 * (1 + np.abs(weight).sum()))


def interactions(case, question):
    """Signed sums of averages over the rows at the points of a question, ``(m, g)``, that without features too."""
    features, shape = sorted(question), [len(question[feature]) for feature in sorted(question)]
    found = np.zeros((len(case.ensemble.base), *shape))
    for part, sign in [*parts_of(tuple(features)), ((), (-1) ** len(features))]:
        asked = {features[way]: question[features[way]] for way in part}
        average = np.average(replace(case, questions=(asked,)).curves(), axis=2, weights=case.weights)
        found += sign * average.reshape(-1, *(size if way in part else 1 for way, size in enumerate(shape)))
    return found.reshape(len(found), -1)


@pytest.mark.nightly
@laws
@given(cases())
@example(full())
def test_interactions_in_cells_are_those_of_brute_force(case):
    want = [interactions(case, question) for question in case.questions]
    for program, kernels, most in product(programs(case), KERNELS, (0, leaf_boxes.TABLE_CELLS)):
        share = compiled.cover(program, case.codes(program, compiled), case.weights) / case.total
        leaves = leaves_of(program, kernels, most)  # tables, or only the cells that are requested
        for question, theirs in zip(case.questions, want, strict=True):
            points = product(*(question[feature] for feature in sorted(question)))
            table = [np.repeat(column[:1], theirs.shape[1]) for column in case.table]
            for feature, values in zip(sorted(question), zip(*points, strict=True), strict=True):
                table[feature] = np.array(values, case.table[feature].dtype)
            group = tuple(program.family.features.index(feature) for feature in sorted(question))
            at = leaves.cells.of(replace(case, table=tuple(table)).codes(program, kernels))[list(group)]
            tested = leaves.testing(group)
            none = (-1) ** len(group) * share[leaves.slots((), tested)] @ leaves.value[tested]
            found = none[:, None] + np.zeros_like(theirs)
            for part, sign in parts_of(group):
                places = tuple(group[way] for way in part)
                found += sign * leaves.at(places, tested, share, at[list(part)], kernels)
            np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-12 * case.size)


@laws
@given(cases(), st.integers(1, 3), st.integers(0, 999))
@example(full(), 2, 0)
def test_both_kernels_tell_the_same_influence(case, several, seed):
    rng = np.random.default_rng(seed)
    for program in programs(case):
        groups = groups_of(program)
        leaves = leaves_of(program, compiled)
        cells = leaves.cells.of(case.codes(program, compiled))
        shape = len(groups), several, program.n_margins, case.rows
        functions = rng.normal(size=shape) / case.rows
        held = leaves.boxes()
        items = leaves.items(groups, held)
        one, *others = (kernels.interact(held, items, cells, functions) for kernels in KERNELS)
        others.append(compiled.interact(held, items, cells, functions, threads=3))
        for other in others:
            assert other.shape == shape
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-12 * case.size)
        assert others[0].tobytes() == others[1].tobytes()


@laws
@given(cases(), st.integers(0, 999))
def test_influence_is_that_of_every_row_with_the_values_of_every_other(case, seed):
    """The definition: sum over parts of a group and rows x of g(x) times the margin of row z with x's values."""
    case = replace(case, table=tuple(column[:9] for column in case.table), weights=None)
    rows, rng = case.rows, np.random.default_rng(seed)
    every = [(encoding.feature,) for encoding in case.ensemble.encodings]
    program = program_of(case.ensemble, family_of([*every, *map(tuple, case.questions)]), compiled)
    groups, leaves = groups_of(program), leaves_of(program, compiled)
    functions = rng.normal(size=(len(groups), 2, program.n_margins, rows))
    functions -= functions.mean(axis=-1, keepdims=True)
    own, other = np.divmod(np.arange(rows * rows), rows)
    want = np.zeros_like(functions)
    for number, group in enumerate(groups):
        for part, sign in parts_of(group):
            moved = {program.family.features[group[way]] for way in part}
            table = [column[own if f in moved else other] for f, column in enumerate(case.table)]
            margins = margins_of(case.ensemble, table).reshape(-1, rows, rows)
            want[number] += sign * np.einsum("qmx,mxz->qmz", functions[number], margins)
    held = leaves.boxes()
    cells = leaves.cells.of(case.codes(program, compiled))
    for kernels in KERNELS:
        found = kernels.interact(held, leaves.items(groups, held), cells, functions)
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-11 * case.size)


@laws
@given(cases(), st.integers(0, 999))
@example(full(), 0)
def test_both_kernels_square_the_same_interactions_of_pairs(case, seed):
    """Of rows in cells, and of rows one by one, which are the same rows."""
    rng = np.random.default_rng(seed)
    program = program_of(case.ensemble, case.family, compiled)
    leaves = leaves_of(program, compiled)
    size = leaves.cells.size
    groups = [
        group
        for group in groups_of(program)
        if len(group) == 2 and np.prod(size[list(group)], dtype=float) < 1e4
    ]
    assume(groups)
    pairs = np.array(groups, np.int32)
    cells = leaves.cells.of(case.codes(program, compiled))
    boxes, share = leaves.boxes(), rng.uniform(size=program.n_slots)
    items = leaves.items(groups, boxes, share)
    effects = tuple(rng.normal(size=(program.n_margins, cells)) for cells in size)
    weight = np.ones(case.rows) if case.weights is None else case.weights
    counts = reference.count_pairs(cells, case.weights, pairs, size)
    many = size[pairs].astype(np.int64).prod(axis=1)
    counted = CellPoints(pairs, size, counts, np.cumsum(many) - many, cells[:, :0], weight[:0], weight.sum())
    by_row = replace(counted, counts=None, cells=cells, weight=weight)
    want, *others = (
        kernels.pair_moments(boxes, items, points, effects, cells, threads)
        for kernels, points, threads in (
            (reference, counted, 1), (reference, by_row, 1), (compiled, by_row, 1), (compiled, counted, 1),
            (compiled, counted, 3),
        )
    )  # fmt: skip
    assert want[1].shape == (len(pairs), 2, program.n_margins, case.rows)
    for found in others:
        for mine, theirs in zip(found, want, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-11 * (1 + case.size) ** 2)
    assert [one.tobytes() for one in others[-1]] == [one.tobytes() for one in others[-2]]


# ---------------------------------------------------------------- codes

anything = st.floats(width=64)
HOSTILE = {
    "none": [],
    "one": [0.5],
    "signed zeros": [-0.0, 0.0],
    "an outlier": [1e-12, 2e-12, 3e-12, 1e300],
    "denormal": [0.0, 5e-324, 1e-323],
    "nearly denormal": [0.0, 2.3e-308, 2.5e-308],
    "neighbors": [1.0, 1.0 + 2**-52, 1.0 + 2**-51],
    "overflowing": [-1.7e308, 0.0, 1.7e308],
    "from minus infinity": [-INF, 0.0, 1.0],
    "to infinity": [0.0, 1.0, INF],
    "both infinities": [-INF, INF],
    "only infinity": [INF],
    "many": np.linspace(-3, 3, 100_000),
    "many and an outlier": np.append(np.linspace(-3, 3, 100_000), 1e18),
    "many powers": 2.0 ** np.arange(-1074, 1024),
}


def ranked_as_searched(known, numbers):
    column = CodeColumn.of(0, np.unique(known), is_nominal=False)
    want = np.where(np.isnan(numbers), len(column.known) + 1, np.searchsorted(column.known, numbers))
    for kernels in KERNELS:
        found = kernels.rank(column, numbers)
        assert found.dtype == np.int32
        np.testing.assert_array_equal(found, want)


@pytest.mark.parametrize("known", HOSTILE.values(), ids=HOSTILE)
def test_codes_of_hostile_thresholds_are_places_among_them(known):
    known = np.array(known, float)
    numbers = np.concatenate([[-INF, -1.8e308, -1.0, 0.0, 0.3, 1.0, 1.8e308, INF, NAN], known, -known])
    with np.errstate(over="ignore"):
        numbers = np.concatenate([numbers, *(np.nextafter(numbers, side) for side in (-INF, INF))])
    ranked_as_searched(known, numbers)
    numbers.setflags(write=False)  # a column of a table may be neither ours nor contiguous
    ranked_as_searched(known, numbers[::-3])


@laws
@given(
    st.lists(anything.filter(lambda x: x == x), max_size=30), st.lists(anything, max_size=30), st.randoms()
)
def test_codes_are_places_among_thresholds(known, numbers, random):
    ties = [math.nextafter(random.choice(known), random.choice([0.0, -INF, INF])) for _ in known]
    ranked_as_searched(np.array(known, float), np.array([*numbers, *known, *ties], float))


@laws
@given(
    st.sets(st.integers(-5, 5)), st.lists(st.sampled_from([-5.0, 0.0, -0.0, 3.0, 3.5, 9.0, INF, -INF, NAN]))
)
def test_codes_of_levels_are_their_places(listed, numbers):
    known = sorted(listed)
    column = CodeColumn.of(0, np.array(known, float), is_nominal=True)
    want = [known.index(x) if x in listed else len(known) + (x != x) for x in numbers]
    assert category_codes(column, np.array(numbers, float)).tolist() == want


# ---------------------------------------------------------------- what is no tree


def ints(*numbers):
    return np.array(numbers, np.int32)


STUMP_AND_LEAF = Ensemble(
    roots=ints(0, 3),
    column=ints(0, -1, -1, -1),
    threshold=np.array([0.5, NAN, NAN, NAN]),
    left=ints(1, -1, -1, -1),
    right=ints(2, -1, -1, -1),
    missing_left=np.zeros(4, bool),
    value=np.array([[NAN], [1.0], [2.0], [3.0]]),
    output=ints(0, 1),
    base=np.zeros(2),
    encodings=(Encoding(0),),
    links={"predict": Link()},
    category_sets=(CategorySet(np.arange(2)),),
)
LEAVES_AND_CYCLE = {"column": ints(-1, 0, -1, -1), "left": ints(0, 1, 0, 0), "right": ints(0, 2, 0, 0)}
MALFORMED = {
    "no parent, or several": {
        "its own child": {"left": ints(0, -1, -1, -1)},
        "two parents": {"column": ints(0, 0, -1, -1), "left": ints(1, 2, 0, 0), "right": ints(2, 3, 0, 0)},
        "the same child twice": {"right": ints(1, -1, -1, -1)},
        "a root below another": {"roots": ints(0, 1)},
        "a root twice": {"roots": ints(0, 0)},
        "an orphan": {"roots": ints(0), "output": ints(0)},
        "no roots": {"roots": ints(), "output": ints()},
    },
    "its own ancestor": {"a cycle off the roots": LEAVES_AND_CYCLE | {"value": np.ones((4, 1))}},
    "out of range": {
        "a child beyond": {"right": ints(4, -1, -1, -1)},
        "a negative child": {"right": ints(-1, -1, -1, -1)},
        "a root beyond": {"roots": ints(0, 4)},
        "a negative root": {"roots": ints(0, -1)},
        "a column beyond": {"column": ints(1, -1, -1, -1)},
        "a column below that of leaves": {"column": ints(0, -1, -1, -2)},
        "an output beyond": {"output": ints(0, 2)},
        "a negative output": {"output": ints(0, -1)},
        "no margins": {"base": np.empty(0)},
        "a set of categories beyond": {"category_set": ints(1, -1, -1, -1)},
        "a negative set of categories": {"category_set": ints(-2, -1, -1, -1)},
    },
    "threshold is NaN": {"a threshold": {"threshold": np.full(4, NAN)}},
    "not finite": {
        "a leaf of NaN": {"value": np.full((4, 1), NAN)},
        "a leaf of infinity": {"value": np.array([[0.0], [1.0], [INF], [3.0]])},
        "a baseline of infinity": {"base": np.array([0.0, -INF])},
    },
    "values for 2 margins": {
        "leaves of three": {"value": np.ones((4, 3))},
        "leaves of none": {"value": np.ones((4, 0))},
    },
    "differ in length": {"too few outputs": {"output": ints(0)}}
    | {
        f"too short {name}": {name: getattr(STUMP_AND_LEAF, name)[:3]}
        for name in ("threshold", "left", "right", "missing_left", "value", "category_set")
    },
}


@pytest.mark.parametrize(
    ("why", "changes"),
    [pytest.param(why, each[name], id=name) for why, each in MALFORMED.items() for name in each],
)
def test_arrays_that_are_no_trees_are_refused_before_anything_walks_them(why, changes):
    with pytest.raises(RefusalError, match=why):
        replace(STUMP_AND_LEAF, **changes)


def test_what_is_not_read_may_be_anything():
    assert STUMP_AND_LEAF.margins(np.array([[0.5], [0.6], [NAN]])).tolist() == [[1, 3], [2, 3], [2, 3]]


def test_an_ensemble_without_trees_is_its_baseline():
    none = {field.name: getattr(STUMP_AND_LEAF, field.name) for field in fields(Ensemble)[:8]}
    empty = replace(STUMP_AND_LEAF, **{name: array[:0] for name, array in none.items()}, category_set=ints())
    case = Case(empty, (np.zeros(3),), None, ({0: np.array([1.0, NAN])},))
    for kernels in KERNELS:
        program = program_of(empty, case.family, kernels)
        points, codes = case.points(program, kernels), case.codes(program, kernels)
        assert kernels.cover(program, codes, None).tolist() == []
        assert kernels.average(program, points[0], np.empty(0)).tolist() == [[0, 0], [0, 0]]
        drawn = kernels.curves(program, kernels.trace(program, points), codes)
        np.testing.assert_array_equal(drawn, case.curves())


# ---------------------------------------------------------------- sums and links


@laws
@given(st.data())
def test_exact_sums_have_the_same_bits_in_any_order_and_grouping(data):
    bound = data.draw(st.sampled_from([1.0, 2.0**-40, 3.7, 1e6]))
    numbers = st.floats(-1, 1) | st.sampled_from([0.1, -0.1, 1 / 3, -1.0, 1.0, 1e-17, -0.0])
    terms = bound * np.array(data.draw(st.lists(numbers, min_size=1, max_size=40)))
    rows = len(terms) + data.draw(st.integers(0, 10**6))
    mixed = np.array(data.draw(st.permutations(terms.tolist())))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(terms)), max_size=5)))
    whole = ExactSum.of(terms, bound, rows)
    states = [ExactSum.of(mixed[a:b], bound, rows) for a, b in pairwise([0, *cuts, len(terms)])]
    while len(states) > 1:
        other = states.pop(data.draw(st.integers(0, len(states) - 2)))
        states[-1] = other.merge(states[-1])
    assert states[0].total().tobytes() == whole.total().tobytes()
    want, beyond = math.fsum(terms), len(terms) * rows**2 * 2.0**-101 * bound
    assert abs(whole.total() - want) <= 1e-15 * abs(want) + beyond


def exp(z):
    try:
        return math.exp(z)
    except OverflowError:
        return INF


FORMULAE = {
    "identity": lambda z: z,
    "exp": exp,
    "sigmoid": lambda z: 1 / (1 + exp(-z)),
    "signed_square": lambda z: z * abs(z),
    "softplus": lambda z: math.log1p(exp(z)) if z < 40 else z,
    "isolation": lambda z: 0.5 - (2.0**-z if z > -1024 else INF),
}
margins = st.floats(-1e4, 1e4) | st.sampled_from([-1e160, 1e160, -1e300, 1e300, 709.0, -745.0, 0.0])


@laws
@given(st.sampled_from(sorted(FORMULAE)), st.lists(margins, min_size=1), st.sampled_from([1.0, 2.0, -0.5]))
@example("exp", [1e300, 710.0, -1e300], 1.0)
@example("sigmoid", [-1e300, 1e300, -746.0], 1.0)
@example("signed_square", [-1e300, 1e300], 1.0)
@example("softplus", [-1e300, 1e300], 2.0)
def test_links_are_their_formulae_and_overflow_quietly(name, numbers, scale):
    want = [FORMULAE[name](z * scale) for z in numbers]
    found = Link(name, scale, shift=0.5).apply(np.array([numbers]))
    np.testing.assert_allclose(found, [want], rtol=1e-12, atol=1e-300)
    assert Link(name).linear == (name == "identity")


@laws
@given(st.lists(st.tuples(margins, margins, margins), min_size=1), st.sampled_from([1.0, 2.0]))
@example([(1e300, -1e300, 1e300), (-1e300, -1e300, -1e300)], 2.0)
def test_softmax_is_its_formula_and_overflows_quietly(numbers, scale):
    found = Link("softmax", scale).apply(np.array(numbers).T)
    for row, each in zip(numbers, found.T, strict=True):
        top = max(row)
        raised = [exp((z - top) * scale) for z in row]
        np.testing.assert_allclose(each, np.array(raised) / math.fsum(raised), rtol=1e-11, atol=1e-300)


@given(st.lists(st.floats(-1e120, 1e120, allow_subnormal=False), min_size=1, max_size=60), st.data())
def test_sums_of_terms_of_any_size_do_not_depend_on_their_order(terms, data):
    mixed = np.array(data.draw(st.permutations(terms)))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(terms)), max_size=4)))
    parts = [BinnedSum.of(mixed[a:b], 2**20) for a, b in pairwise([0, *cuts, len(terms)])]
    whole = BinnedSum.of(np.array(terms), 2**20).total()
    merged = merge_in_order(parts).total()
    assert whole.tobytes() == merged.tobytes()
    size = math.fsum(abs(term) for term in terms)
    assert abs(float(whole) - math.fsum(terms)) <= 1e-14 * size


def test_small_terms_keep_their_digits_whatever_the_bound():
    terms = np.random.default_rng(0).lognormal(-20, 3, 100_000)
    assert float(BinnedSum.of(terms, 10**8).total()) == pytest.approx(math.fsum(terms), rel=1e-13)


# ---------------------------------------------------------------- bins


NUMBERS = st.one_of(
    st.sampled_from([-INF, INF, NAN, -0.0, 0.0]), st.floats(-3, 3), st.integers(-2, 2).map(float)
)


@laws
@given(st.lists(NUMBERS, max_size=40), st.lists(st.floats(-3, 3), max_size=29), st.sampled_from(["f4", "f8"]))
def test_both_kernels_find_the_same_bins(numbers, edges, dtype):
    column, cuts = np.array(numbers, dtype), np.unique(np.array(edges, np.float64))
    one, other = (kernels.locate(column, cuts, 31) for kernels in KERNELS)
    assert one.dtype == other.dtype == np.uint8
    np.testing.assert_array_equal(one, other)
    for number, code in zip(column.astype(np.float64), one, strict=True):
        assert code == (31 if np.isnan(number) else (cuts < number).sum())


def test_bins_are_found_where_columns_lie():
    table = np.random.default_rng(0).normal(size=(50, 3))
    table.setflags(write=False)
    edges = np.array([-1.0, 0.0, 0.5])
    for column in (table[:, 1], table[::-2, 2], np.asfortranarray(table)[:, 0]):
        one, other = (kernels.locate(column, edges, 4) for kernels in KERNELS)
        np.testing.assert_array_equal(one, other)


@laws
@given(st.integers(0, 3_000), st.integers(1, 5), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_both_kernels_mark_the_same_cells(rows, columns, pairs, seed):
    rng = np.random.default_rng(seed)
    codes = (32 * rng.random((columns, rows)) ** 3).astype(np.uint8)
    chosen = rng.integers(0, columns, (pairs, 2)).astype(np.int32)
    one, other = (kernels.mark(codes, chosen) for kernels in KERNELS)
    np.testing.assert_array_equal(one, other)
    for table, (j, k) in zip(one.reshape(-1, 32, 32), chosen, strict=True):
        cells = set(zip(codes[j].tolist(), codes[k].tolist(), strict=True))
        assert set(zip(*(place.tolist() for place in np.nonzero(table)), strict=True)) == cells
    counted, counts = (kernels.tally(codes) for kernels in KERNELS)
    np.testing.assert_array_equal(counted, counts)
    assert (counted.sum(axis=1) == rows).all()


DAMAGED = """
import importlib, logging, pathlib, sys
import numpy as np
from paribus._kernels.jit import interactions

logging.basicConfig(format="%(message)s", stream=sys.stdout)
codes = np.array([[0, 1, 1, 2]], np.uint8)


def counts():
    rows = np.zeros((1, 32), np.int64)
    importlib.reload(interactions).tally(codes, rows)
    return rows[0, :3].tolist()


assert counts() == [1, 2, 1]
kept = sorted(pathlib.Path(sys.argv[1]).rglob("*tally*"))
assert {path.suffix for path in kept} == {".nbi", ".nbc"}, kept
for path in kept:
    whole = path.read_bytes()
    half = whole[: len(whole) // 2]
    for damaged in (b"", b"garbage", half, b"\\x80\\x05" + whole[100:], b"\\x93" * len(whole), whole[:-1]):
        path.write_bytes(damaged)
        print("damaged")
        assert counts() == [1, 2, 1]
        print("mended")
        assert counts() == [1, 2, 1]
"""


@pytest.mark.nightly
def test_a_damaged_cache_is_compiled_anew(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", DAMAGED, str(tmp_path)],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
    )
    assert run.returncode == 0, run.stderr[-800:]
    damaged, said = run.stdout.split("damaged\n")[1:], "the compiled tally in "
    assert len(damaged) == 12
    for text in damaged:
        before, after = text.split("mended\n")
        assert said not in after
        assert before.count(said) == 1
        assert before.strip().endswith("is compiled anew; if this is said again, delete that folder")


def test_a_damaged_cache_that_cannot_be_written_is_compiled_for_this_process(monkeypatch, caplog):
    twice = common.kernel(f8(f8))(lambda x: 2.0 * x)
    compile_, kept = twice._compiled, []

    def fails(folder):
        kept.append(folder)
        if folder is not None:
            raise EOFError("Ran out of input")
        return compile_(None)

    monkeypatch.setattr(twice, "_compiled", fails)
    monkeypatch.setattr(twice, "files", lambda folder: [folder / "missing" / "twice.nbi"] if folder else [])
    assert not twice.loaded
    twice(4.0)
    assert twice.loaded
    assert twice.load()(4.0) == 8.0
    assert [folder is None for folder in kept] == [False, True]
    assert "EOFError: Ran out of input" in caplog.text


def test_a_loop_that_does_not_compile_is_no_damage(caplog):
    wrong = common.kernel(f8(f8))(lambda x: x.missing)
    with pytest.raises(TypingError):
        wrong(4.0)
    assert "cannot be loaded" not in caplog.text


def test_moments_of_changes_are_those_of_cells():
    rng = np.random.default_rng(0)
    edges = np.array([-1.0, 0.0, 0.5, 3.0])
    numbers = rng.uniform(-1, 0.5, size=20_000)  # no row is in the last bin
    cells = np.searchsorted(edges[1:], numbers).astype(np.int32)
    changes = rng.normal(size=len(cells)) + 1e6
    one, other = (
        kernels.collect(cells, numbers, edges, np.append(np.diff(edges), 1.0), changes) for kernels in KERNELS
    )
    np.testing.assert_array_equal(one, other)
    want = CellMoments.of(changes[None], cells, None, 4)
    np.testing.assert_array_equal(one[:3], [want.weight, want.mean[0], want.sum_of_squares[0]])
    places = (numbers - edges[cells]) / np.diff(edges)[cells]
    np.testing.assert_allclose(one[3], np.bincount(cells, places, minlength=4), rtol=1e-12)
    changes[3] = np.inf
    assert not np.isfinite(compiled.collect(cells, numbers, edges, np.ones(4), changes)[2]).all()
