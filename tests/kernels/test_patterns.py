"""Trees of few tests: known by patterns they are what `reference` says they are, tree by tree."""

from dataclasses import replace
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ensembles import column_of, full, mixed, symmetric
from paribus._evaluators.ale.tree_ale import moved_trees
from paribus._evaluators.trees.programs import family_of, program_of
from paribus._kernels import compiled, patterns, reference

KERNELS = reference, compiled
some = settings(max_examples=max(25, settings.default.max_examples // 4))


@pytest.mark.parametrize("depth", [0, 1, 2, 3, 6, 10, 11])
def test_trees_of_few_tests_are_told_by_their_shape(depth):
    ensemble = replace(full().ensemble, threshold=np.arange(93.0))
    added = symmetric(ensemble, [depth], 0, repeat=False)
    known, other = (program_of(one, family_of([(0,)]), compiled).patterned for one in (added, ensemble))
    assert known == (2 ** (depth + 1) - 1 if 3 <= depth <= 10 else 0)
    assert other == 0  # each of whose nodes has a test of its own


def forced(case, family):
    """Yield programs in which trees of few tests have patterns, and in which every small tree has."""
    yield program_of(case.ensemble, family, compiled)
    yield program_of(case.ensemble, family, compiled, deep=12)
    with patch.multiple(patterns, LEAST_TESTS=1, REPEATED=0, SPARE=10**9):
        yield program_of(case.ensemble, family, compiled)


@some
@given(mixed())
@example(replace(full(), ensemble=symmetric(full().ensemble, [5, 3], 0)))
def test_marginals_of_patterns_are_the_coverage(case):
    for program in forced(case, case.family):
        codes = case.codes(program, compiled)
        one, other = (kernels.cover(program, codes, None) for kernels in KERNELS)
        np.testing.assert_array_equal(one, other)
        weights = np.random.default_rng(0).random(case.rows)
        one, other = (kernels.cover(program, codes, weights) for kernels in KERNELS)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-15)


@some
@given(mixed())
@example(replace(full(), ensemble=symmetric(full().ensemble, [5, 3], 0)))
def test_curves_change_with_patterns(case):
    for program in forced(case, case.family):
        points, codes = case.points(program, compiled), case.codes(program, compiled)[:, :64]
        codes = np.ascontiguousarray(codes)
        one, other = (kernels.curves(program, kernels.trace(program, points), codes) for kernels in KERNELS)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * case.size)


@some
@given(mixed(), st.integers(0, 999), st.booleans())
@example(replace(full(), ensemble=symmetric(full().ensemble, [5, 3], 0)), 0, True)
def test_losses_are_tables_over_patterns(case, seed, single):
    for features in (case.family.features, ()):
        family = family_of([(), *((feature,) for feature in features)])
        for program in forced(case, family):
            codes = case.codes(program, compiled)
            share = np.random.default_rng(seed).random(program.n_slots)
            one, other = (kernels.lose(program, codes, share, single) for kernels in KERNELS)
            # A rounding may fall on the other side, where a library's numbers are not of single precision.
            close = 1e-6 if single else 1e-12
            for mine, theirs in zip(one, other, strict=True):
                np.testing.assert_allclose(mine, theirs, rtol=0, atol=close * case.size)


@some
@given(mixed(), st.integers(0, 999))
@example(replace(full(), ensemble=symmetric(full().ensemble, [5, 3], 0)), 0)
def test_moves_change_patterns(case, seed):
    rng = np.random.default_rng(seed)
    features = case.family.features
    columns = [column_of(rng.permutation(case.table[feature])[:5]) for feature in features]
    values = [partial(lambda column, encoding: encoding.numbers(column), column) for column in columns]
    twice, counts = rng.random(len(features)) < 0.5, [len(column.missing) for column in columns]
    for repeated, spare in ((patterns.REPEATED, patterns.SPARE), (0, 10**9)):
        with patch.multiple(patterns, REPEATED=repeated, SPARE=spare):
            (trees,) = moved_trees(case.ensemble, features, values, counts, twice, seed % 2 > 0, compiled)
        own = case.codes(trees.program, compiled)
        ends = rng.integers(0, trees.moves.n_codes[:, None], (2, len(features), case.rows), np.int32)
        one, other = (kernels.move(trees.program, trees.moves, own, *ends) for kernels in KERNELS)
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * case.size)
        first = case.rows // 2
        parts = (np.ascontiguousarray(codes[..., first:]) for codes in (own, *ends))
        assert (compiled.move(trees.program, trees.moves, *parts) == other[..., first:]).all()
