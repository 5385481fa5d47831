"""Rows by the rank of a number: groups depend on the rows, not on how they were cut."""

from functools import reduce

import numpy as np
import pytest

from paribus._states import CellMoments, RankedRows
from paribus._states.row_states import SampledRows


def ranked(numbers, capacity, weights=None):
    numbers = np.asarray(numbers, dtype=float)
    return RankedRows.of(numbers, np.stack([numbers, -numbers]), weights, capacity)


def test_every_distinct_number_has_a_group_in_order():
    state = ranked([2.0, -0.0, 0.0, -1e300, 5e-324, 2.0, -1.0], 10)
    assert state.shift == 0
    np.testing.assert_array_equal(state.moments.mean[0], [-1e300, -1.0, 0.0, 5e-324, 2.0])
    np.testing.assert_array_equal(state.moments.rows, [1, 1, 2, 1, 2])


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_do_not_depend_on_the_cut(weighted):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=3_000) * 10.0 ** rng.integers(-3, 3, 3_000)
    weights = rng.gamma(1.0, size=3_000) if weighted else None
    whole = ranked(numbers, 100, weights)
    assert whole.shift > 0
    assert 25 < len(whole.keys) <= 100
    for parts in (np.array_split(np.arange(3_000), 7), np.array_split(rng.permutation(3_000), 3)):
        states = (ranked(numbers[part], 100, None if weights is None else weights[part]) for part in parts)
        merged = reduce(RankedRows.merge, states)
        assert merged.shift == whole.shift
        np.testing.assert_array_equal(merged.keys, whole.keys)
        np.testing.assert_array_equal(merged.moments.rows, whole.moments.rows)
        np.testing.assert_allclose(merged.moments.mean, whole.moments.mean, rtol=1e-11)
        np.testing.assert_allclose(merged.moments.standard_error(), whole.moments.standard_error(), rtol=1e-9)


def test_groups_do_not_overlap_and_negative_numbers_stay_apart_from_others():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=500)
    state = ranked(numbers, 4)
    assert (np.diff(state.moments.mean[0]) > 0).all()
    assert state.moments.rows[state.moments.mean[0] < 0].sum() == (numbers < 0).sum()


def test_joined_cells_are_the_cells_of_all_their_rows():
    rng = np.random.default_rng(0)
    values, cells, weights = rng.normal(size=(2, 60)) + 5, np.arange(60) % 6, rng.gamma(1.0, size=60)
    fine = CellMoments.of(values, cells, weights, 7)
    coarse = CellMoments.of(values, cells // 2, weights, 4)
    joined = fine.joined(np.array([0, 0, 1, 1, 2, 2, 3]), 4)
    for name in ("rows", "weight", "weight_sq", "mean", "mean_sq", "sum_of_squares"):
        np.testing.assert_allclose(getattr(joined, name), getattr(coarse, name), rtol=1e-11)


def test_sampled_rows_are_the_same_however_rows_are_cut():
    rng = np.random.default_rng(0)
    numbers, values, weights = np.arange(60), rng.normal(size=(2, 60)), rng.uniform(1, 2, 60)
    whole = SampledRows.of(numbers, values, weights, 20)
    cuts = [slice(0, 13), slice(13, 40), slice(40, 60)]
    one, two, three = (SampledRows.of(numbers[c], values[:, c], weights[c], 20) for c in cuts)
    merged = three.merge(one).merge(two)
    assert len(merged.numbers) == 20
    for name in ("numbers", "values", "weights"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(whole, name))
    np.testing.assert_array_equal(merged.values, values[:, merged.numbers])
    np.testing.assert_array_equal(merged.weights, weights[merged.numbers])
