"""Moments within cells merge in any cut."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from paribus._states import CellMoments
from paribus._states.sums import LARGE


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
@pytest.mark.parametrize("size", [1.0, 1e200])
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


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_of_cells_within_a_unit_are_those_of_the_quantities_in_it(weighted):
    rng = np.random.default_rng(0)
    values, cells, weights = rng.normal(size=(2, 30)), np.arange(30) % 3, rng.gamma(2.0, size=30)
    given = weights if weighted else None
    want = CellMoments.of(values / 8, cells, given, 3)
    for size in (1.0, LARGE):
        found = CellMoments.of(values * size, cells, given, 3).within(8.0 * size)
        for name in ("rows", "weight", "weight_sq", "mean", "mean_sq", "sum_of_squares", "value_scale"):
            np.testing.assert_allclose(getattr(found, name), getattr(want, name), rtol=1e-12)
        assert (found.mean is found.mean_sq) == (not weighted)
        np.testing.assert_allclose(found.variance(), want.variance(), rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_cells_overflow_by_themselves_when_merged_or_joined(weighted):
    rng = np.random.default_rng(0)
    values, cells = rng.normal(size=(1, 40)), np.arange(40) % 4
    sizes = np.where(cells < 2, 1.0, 1e250)
    weights = rng.gamma(2.0, size=40) if weighted else None
    parts = [
        CellMoments.of((values * sizes)[:, part], cells[part], None if weights is None else weights[part], 4)
        for part in (slice(0, 15), slice(15, 40))
    ]
    merged = parts[0].merge(parts[1])
    assert merged.value_scale.tolist() == [[1.0, 1.0, LARGE, LARGE]]
    plain = CellMoments.of(values, cells, weights, 4)
    np.testing.assert_allclose(
        merged.standard_error() / [1, 1, 1e250, 1e250], plain.standard_error(), rtol=1e-9
    )
    pairs, coarse = merged.joined(np.array([0, 0, 1, 1]), 2), plain.joined(np.array([0, 0, 1, 1]), 2)
    np.testing.assert_allclose(pairs.standard_error() / [1, 1e250], coarse.standard_error(), rtol=1e-9)
    assert (pairs.mean is pairs.mean_sq) == (not weighted)
    infinite = CellMoments.of(np.array([[np.inf, 1.0, 2.0]]), np.array([0, 1, 1]), None, 2)
    both = infinite.merge(CellMoments.of(np.array([[1.0, 4.0]]), np.array([1, 1]), None, 2))
    assert both.mean.tolist() == [[np.inf, 2.0]]
    assert both.standard_error()[0, 1] == pytest.approx(np.std([1, 2, 1, 4], ddof=1) / 2)
