"""Moments within cells merge in any cut."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus._states import CellMoments


@given(st.integers(0, 999), st.booleans(), st.lists(st.integers(0, 40), max_size=4))
@settings(max_examples=40)
def test_moments_of_cells_merge_in_any_cut(seed, weighted, cuts):
    rng = np.random.default_rng(seed)
    values, cells = rng.normal(size=(2, 40)) * 10.0 ** rng.integers(-3, 4), rng.integers(0, 5, 40)
    weights = rng.gamma(1.0, size=40) if weighted else None
    whole = CellMoments.of(values, cells, weights, 6)
    merged = None
    for a, b in pairwise(sorted({0, *cuts, 40})):
        part = CellMoments.of(values[:, a:b], cells[a:b], None if weights is None else weights[a:b], 6)
        merged = part if merged is None else merged.merge(part)
    size = np.abs(values).max()
    for name, power in {"rows": 0, "weight": 0, "mean": 1, "mean_sq": 1, "sum_of_squares": 2}.items():
        mine, theirs = getattr(merged, name), getattr(whole, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12 * size**power, err_msg=name)
    np.testing.assert_allclose(merged.variance(), whole.variance(), rtol=1e-9, atol=1e-12 * size**2)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1.0, 1e100])
@pytest.mark.parametrize("cuts", [[0, 60], [0, 1, 60], [0, 20, 41, 60]])
def test_moments_of_cells_equal_their_definition(weighted, size, cuts):
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(2, 60)) + 3.0, rng.gamma(2.0, size=60) if weighted else None
    cells = np.append(rng.choice([0, 1, 3], 59), 2)  # one row in cell 2, none in cell 4
    parts = [
        CellMoments.of(values[:, a:b] * size, cells[a:b], None if weights is None else weights[a:b], 5)
        for a, b in pairwise(cuts)
    ]
    merged = reduce(CellMoments.merge, parts)
    own = np.ones(60) if weights is None else weights
    error = merged.standard_error()
    assert (merged.mean is merged.mean_sq) == (not weighted)
    for cell in range(4):
        some, w = values[:, cells == cell], own[cells == cell]
        n, mean, mean_sq = len(w), (some * w).sum(-1) / w.sum(), (some * w**2).sum(-1) / (w**2).sum()
        assert merged.rows[cell] == n
        assert merged.weight[cell] == pytest.approx(w.sum())
        assert merged.weight_sq[cell] == pytest.approx((w**2).sum())
        np.testing.assert_allclose(merged.mean[:, cell], mean * size)
        np.testing.assert_allclose(merged.mean_sq[:, cell], mean_sq * size)
        if n > 1:
            variance = n / (n - 1) * ((some - mean[:, None]) ** 2 * w**2).sum(-1) / w.sum() ** 2
            np.testing.assert_allclose(error[:, cell], np.sqrt(variance) * size, rtol=1e-10)
    assert np.isnan(error[:, [2, 4]]).all()
    assert merged.rows[4] == merged.weight[4] == merged.weight_sq[4] == 0
    assert (merged.mean[:, 4] == 0).all()


def test_moments_of_infinite_values_are_not_finite_in_their_cells_only():
    infinite = CellMoments.of(np.array([[np.inf, 1.0, 2.0]]), np.array([0, 1, 1]), None, 2)
    both = infinite.merge(CellMoments.of(np.array([[1.0, 4.0]]), np.array([1, 1]), None, 2))
    assert both.mean.tolist() == [[np.inf, 2.0]]
    assert both.standard_error()[0, 1] == pytest.approx(np.std([1, 2, 1, 4], ddof=1) / 2)
