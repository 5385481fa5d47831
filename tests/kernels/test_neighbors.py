"""What is computed of a row does not depend on the rows beside it: any block has the bits of the whole."""

from dataclasses import replace
from functools import partial

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ensembles import cases, column_of, full, mixed, symmetric
from paribus._evaluators.ale.tree_ale import moved_trees
from paribus._evaluators.trees.programs import code_of, family_of, program_of, walk_of
from paribus._kernels import compiled
from paribus._kernels.compiled import CHUNK

DEEP = 1, 4, 10**9  # leaves from which trees are walked with lists: all of them, some, none
some = settings(max_examples=max(25, settings.default.max_examples // 2))


def with_leaves(seed):
    """Return a case in which trees that are one leaf stand among others."""
    return replace(full(), ensemble=symmetric(full().ensemble, [0, 0, 0], seed))


def assert_same_bits(compute, arrays, cut):
    """Hold the numbers of rows from a cut on, and of the row there, to those computed of all rows."""
    rows = arrays[0].shape[-1]
    whole = compute(*arrays)
    for block in (slice(cut % rows, rows), slice(cut % rows, cut % rows + 1)):
        parts = compute(*(np.ascontiguousarray(array[..., block]) for array in arrays))
        for one, part in zip(whole, parts, strict=True):
            assert part.tobytes() == np.ascontiguousarray(one[..., block]).tobytes()


@some
@given(cases() | mixed(), st.integers(0, 2000))
@example(with_leaves(1), 500)
def test_curves_of_a_row(case, cut):
    for deep in DEEP:
        program = program_of(case.ensemble, case.family, compiled, deep)
        traced = compiled.trace(program, case.points(program, compiled))
        codes = np.ascontiguousarray(case.codes(program, compiled)[:, :CHUNK])
        assert_same_bits(lambda own: [compiled.curves(program, traced, own)], [codes], cut)  # noqa: B023


@some
@given(cases() | mixed(), st.integers(0, 2000), st.booleans())
@example(with_leaves(1), 1022, True)
def test_losses_of_a_row(case, cut, single):
    family = family_of((feature,) for feature in case.family.features)
    for deep in DEEP:
        program = program_of(case.ensemble, family, compiled, deep)
        share = np.random.default_rng(cut).random(program.n_slots)
        codes = case.codes(program, compiled)
        assert_same_bits(partial(_lost, program, share, single), [codes], cut)


def _lost(program, share, single, codes):
    return compiled.lose(program, codes, share, single)


@some
@given(cases() | mixed(), st.integers(0, 2000), st.booleans())
@example(with_leaves(1), 1022, True)
@example(with_leaves(5), 1000, True)
def test_moves_of_a_row(case, cut, own):
    rng, features = np.random.default_rng(cut), case.family.features
    columns = [column_of(rng.permutation(case.table[feature])[:5]) for feature in features]
    values = [partial(lambda column, encoding: encoding.numbers(column), column) for column in columns]
    twice, counts = rng.random(len(features)) < 0.5, [len(column.missing) for column in columns]
    (trees,) = moved_trees(case.ensemble, features, values, counts, twice, own, compiled)
    ends = rng.integers(0, trees.moves.n_codes[:, None], (2, len(features), case.rows), np.int32)
    codes = case.codes(trees.program, compiled)
    assert_same_bits(lambda *at: [compiled.move(trees.program, trees.moves, *at)], [codes, *ends], cut)


@some
@given(cases() | mixed(), st.integers(0, 2000))
@example(with_leaves(1), 1022)
def test_shifts_of_a_row(case, cut):
    features, rng = case.family.features, np.random.default_rng(cut)
    walk = walk_of(case.ensemble, features)
    codes = np.zeros((3, len(walk.columns), case.rows), np.int32)
    others = {feature: rng.integers(0, case.rows, (2, case.rows)) for feature in features}
    for place, column in enumerate(walk.columns):
        encoding = case.ensemble.encodings[column.encoding]
        numbers = encoding.numbers(column_of(case.table[encoding.feature]))
        codes[:, place] = code_of(column, numbers, compiled)
        if encoding.feature in others:
            codes[1:, place] = codes[0, place][others[encoding.feature]]
    assert_same_bits(lambda *at: compiled.shift(walk, *at), [*codes], cut)
