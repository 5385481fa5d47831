"""Predictions at each point: quantiles are exact while all are kept, and off by no more than is said after."""

from itertools import pairwise

import numpy as np
import pytest

from paribus._states import PointValues, curve_quantiles, merge_in_order

PROBABILITIES = (0.0, 0.1, 0.25, 0.5, 0.9, 1.0)


def drawn(rows=90, weighted=False):
    rng = np.random.default_rng(0)
    return rng.normal(size=(2, 3, rows)), rng.integers(1, 5, rows).astype(float) if weighted else None


def merged(values, weights, cuts, **options):
    parts = [
        PointValues.of(values[..., a:b], None if weights is None else weights[a:b], **options)
        for a, b in pairwise(cuts)
    ]
    return merge_in_order(parts)


def repeated_quantiles(values, weights):
    """Quantiles ``(o, q, g)`` of rows that occur as often as their weight says."""
    times = None if weights is None else weights.astype(int)
    rows = values if times is None else np.repeat(values, times, axis=-1)
    return np.moveaxis(np.quantile(rows, PROBABILITIES, axis=-1), 0, 1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("threads", [1, 3])
def test_quantiles_are_exact_while_every_row_is_kept(weighted, threads):
    values, weights = drawn(weighted=weighted)
    state = merged(values, weights, [0, 20, 50, 90], most=90, capacity=4)
    found, error = state.quantiles(PROBABILITIES, threads)
    assert state.kept is None
    assert error == 0.0
    np.testing.assert_allclose(found, repeated_quantiles(values, weights), rtol=1e-12)
    curves = curve_quantiles(np.moveaxis(values, -1, 1), weights, PROBABILITIES, threads)
    np.testing.assert_array_equal(curves, found)


def test_quantiles_leave_out_rows_without_weight_and_are_nan_where_a_number_is():
    values, weights = drawn(weighted=True)
    without = np.where(np.arange(90) % 3 == 0, 0.0, weights)
    values[:, :, 0] = np.nan  # of a row that does not count
    values[1, 2, 1] = np.nan
    found = curve_quantiles(np.moveaxis(values, -1, 1), without, PROBABILITIES)
    counted = without > 0
    want = repeated_quantiles(values[..., counted], without[counted])
    assert np.isnan(found[1, :, 2]).all()
    assert np.isnan(found).sum() == len(PROBABILITIES)
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_thinning_keeps_the_numbers_in_the_middle_of_equal_shares():
    values = np.random.default_rng(0).permutation(80).astype(float).reshape(1, 1, 80)
    state = PointValues.of(values, None, most=79, capacity=8)
    assert state.kept[0, 0].tolist() == [4, 14, 24, 34, 44, 54, 64, 74]
    assert state.ends[0, 0].tolist() == [0, 79]
    assert (state.parts, state.weights, state.weight, state.error) == ((), (), 80.0, 5.0)
    weights = np.where(values[0, 0] < 40, 3.0, 1.0)
    heavy = PointValues.of(values, weights, most=79, capacity=8)
    assert heavy.kept[0, 0].tolist() == [3, 9, 16, 23, 29, 36, 49, 69]
    assert heavy.ends[0, 0].tolist() == [0, 79]
    assert (heavy.weight, heavy.error) == (160.0, 10.0)
    assert PointValues.of(values, None, most=80, capacity=8).kept is None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cuts", [[0, 400], [0, 40, 50, 230, 400], [0, 15, 390, 400], [0, 380, 390, 400]])
def test_ranks_of_thinned_quantiles_are_off_by_no_more_than_is_said(weighted, cuts):
    values, weights = drawn(400, weighted)
    state = merged(values, weights, cuts, most=30, capacity=40)
    probabilities = np.linspace(0, 1, 41)
    found, error = state.quantiles(probabilities)
    assert 0.5 / 40 < error < 0.12
    own = np.ones(400) if weights is None else weights
    for o, g in np.ndindex(2, 3):
        order = np.argsort(values[o, g])
        upper = np.append(0.0, np.cumsum(own[order])) / own.sum()
        below = upper[np.searchsorted(values[o, g, order], found[o, :, g], side="left")]
        until = upper[np.searchsorted(values[o, g, order], found[o, :, g], side="right")]
        assert (below - error - 0.02 <= probabilities).all()
        assert (probabilities <= until + error + 0.02).all()
        assert found[o, [0, -1], g].tolist() == [values[o, g].min(), values[o, g].max()]


def test_rows_after_thinning_wait_until_they_are_too_many():
    values, _ = drawn(100)
    thin = PointValues.of(values[..., :60], None, most=30, capacity=8)
    few = PointValues.of(values[..., 60:80], None, most=30, capacity=8)
    for both in (thin.merge(few), few.merge(thin)):
        assert both.kept is thin.kept
        assert both.ends is thin.ends
        assert [part.shape[-1] for part in both.parts] == [20]
        assert (both.weight, both.error) == (60.0, 60 / 16)
    more = thin.merge(few).merge(PointValues.of(values[..., 80:], None, most=30, capacity=8))
    assert more.parts == ()
    assert (more.weight, more.error) == (100.0, 60 / 16 + 100 / 16)
    waiting, done = thin.merge(few).quantiles(PROBABILITIES), thin.merge(few).merge(thin).error
    assert waiting[1] == pytest.approx((60 / 16 + 80 / 16) / 80 + 0.5 / 8)
    assert done == pytest.approx(2 * 60 / 16 + 140 / 16)


def test_thinned_quantiles_are_nan_where_a_number_is():
    values, _ = drawn()
    values[0, 1, 5] = np.nan
    found, _ = PointValues.of(values, None, most=30, capacity=8).quantiles(PROBABILITIES)
    assert np.isnan(found[0, :, 1]).all()
    assert np.isnan(found).sum() == len(PROBABILITIES)
