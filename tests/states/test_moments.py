"""Moments of rows: their definition, and merging them in any cut."""

from functools import reduce
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from paribus._states import (
    Counts,
    Keyed,
    Merger,
    Moments,
    Occupied,
    RowCurves,
    Variances,
    merge_in_order,
    ranges_of,
)
from paribus._states.sums import between
from random_tables import model, tables


@given(st.integers(1, 200))
def test_merging_follows_one_tree_and_holds_few_states(count):
    class Trace:
        def __init__(self, text):
            self.text = text

        def merge(self, other):
            return Trace(f"({self.text}{other.text})")

    merged = merge_in_order(Trace(f"{k},") for k in range(count)).text
    assert [int(k) for k in merged.replace("(", "").replace(")", "").split(",") if k] == list(range(count))
    depth = max(np.cumsum([(c == "(") - (c == ")") for c in merged]))
    assert depth <= np.ceil(np.log2(count)) if count > 1 else depth == 0


@given(tables, st.data())
def test_weighted_moments_equal_their_definition(X, data):
    weights = data.draw(hnp.arrays(float, len(X), elements=st.floats(0.1, 10)))
    predictions = model(X).T[:, None, :]
    moments = Moments.of(predictions, weights)
    mean = (predictions * weights).sum(-1) / weights.sum()
    n = len(X)
    variance = n / (n - 1) * ((predictions - mean[..., None]) ** 2 * weights**2).sum(-1) / weights.sum() ** 2
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.standard_error() ** 2, variance, rtol=1e-7, atol=1e-7)


def parts_of(values, weights, cuts):
    return [(values[..., a:b], None if weights is None else weights[a:b]) for a, b in pairwise(cuts)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1e-3, 1.0])
@pytest.mark.parametrize("cuts", [[0, 40], [0, 1, 40], [0, 39, 40], [0, 7, 20, 33, 40]])
def test_moments_are_those_of_all_rows_in_any_cut(weighted, size, cuts):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(2, 3, 40)) + 2.0
    weights = rng.gamma(2.0, size=40) if weighted else None
    own = np.ones(40) if weights is None else weights
    parts = [Moments.of(part * size, w) for part, w in parts_of(values, weights, cuts)]
    merged = reduce(Moments.merge, parts)
    mean = (values * own).sum(-1) / own.sum()
    squares = own**2
    mean_sq = (values * squares).sum(-1) / squares.sum()
    spread = ((values - mean_sq[..., None]) ** 2 * squares).sum(-1)
    variance = 40 / 39 * ((values - mean[..., None]) ** 2 * squares).sum(-1) / own.sum() ** 2
    assert merged.rows == 40
    assert merged.weight == pytest.approx(own.sum())
    assert merged.weight_sq == pytest.approx(squares.sum())
    np.testing.assert_allclose(merged.mean, mean * size, rtol=1e-12)
    np.testing.assert_allclose(merged.mean_sq, mean_sq * size, rtol=1e-12)
    np.testing.assert_allclose(merged.sum_of_squares / size**2, spread, rtol=1e-10)
    np.testing.assert_allclose(merged.standard_error(), np.sqrt(variance) * size, rtol=1e-10)
    assert (merged.mean is merged.mean_sq) == (not weighted)


def test_moments_of_infinite_predictions_are_not_finite_where_these_are():
    values = np.ones((1, 2, 4))
    values[0, 1, 2] = np.inf
    parts = Moments.of(values[..., :2], None), Moments.of(values[..., 2:], None)
    for state in (Moments.of(values, None), parts[0].merge(parts[1]), parts[1].merge(parts[0])):
        assert state.mean.tolist() == [[1.0, np.inf]]
        assert state.standard_error()[0, 0] == 0.0
        assert np.isnan(state.standard_error()[0, 1])


def test_moments_of_one_row_have_no_error():
    one = Moments.of(np.array([[[2.0]]]), None)
    assert np.isnan(one.standard_error()).all()
    assert one.merge(Moments.of(np.array([[[4.0]]]), None)).standard_error() == pytest.approx(1.0)


def test_very_small_weights_do_not_vanish():
    values = np.array([[[1.0, 3.0]]])
    state = Moments.of(values, np.array([1e-200, 1e-200]))
    assert state.mean == pytest.approx(2.0)
    assert state.weight_sq > 0
    assert np.isfinite(state.standard_error()).all()


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_beside_each_other_are_those_of_all_points(weighted):
    rng = np.random.default_rng(0)
    values, weights = rng.normal(size=(2, 5, 20)), rng.gamma(2.0, size=20) if weighted else None
    both = Moments.of(values[:, :3], weights).beside(Moments.of(values[:, 3:], weights))
    whole = Moments.of(values, weights)
    assert (both.rows, both.weight, both.weight_sq) == (whole.rows, whole.weight, whole.weight_sq)
    for name in ("mean", "mean_sq", "sum_of_squares"):
        np.testing.assert_array_equal(getattr(both, name), getattr(whole, name))
    assert (both.mean is both.mean_sq) == (not weighted)
    np.testing.assert_array_equal(both.standard_error(), whole.standard_error())


def test_states_of_cells_add_up_and_curves_stand_in_the_order_of_rows():
    assert Counts(np.array([1, 2])).merge(Counts(np.array([3, 0]))).cells.tolist() == [4, 2]
    one, two = np.arange(16).reshape(2, 8) % 3 == 0, np.arange(16).reshape(2, 8) % 5 == 0
    assert Occupied.of(one).merge(Occupied.of(two)).tables().tolist() == (one | two).astype(int).tolist()
    late, soon = RowCurves(((2, np.full((1, 1, 3), 7.0)),)), RowCurves(((0, np.zeros((1, 2, 3))),))
    for both in (late.merge(soon), soon.merge(late)):
        assert both.finish()[:, :, 0].tolist() == [[0.0, 0.0, 7.0]]


def test_states_by_key_are_merged_or_kept():
    one = Keyed({("a", 0): Counts(np.array([1])), ("b", 0): Counts(np.array([2]))})
    two = Keyed({("b", 0): Counts(np.array([3])), ("c", 1): Counts(np.array([4]))})
    merged = one.merge(two).parts
    assert {key: state.cells.tolist() for key, state in merged.items()} == {
        ("a", 0): [1],
        ("b", 0): [5],
        ("c", 1): [4],
    }
    assert one.merge(Keyed({})).parts.keys() == one.parts.keys() == Keyed({}).merge(one).parts.keys()
    assert one.parts["b", 0].cells.tolist() == [2]


@pytest.mark.parametrize(("count", "most"), [(1, 1), (7, 3), (8, 2), (9, 2), (100, 6), (64, 64), (5, 100)])
def test_ranges_are_branches_of_the_tree_of_merges(count, most):
    ranges = ranges_of(count, most)
    assert len(ranges) <= most
    assert [k for first, stop in ranges for k in range(first, stop)] == list(range(count))
    size = ranges[0][1]
    assert all(stop - first == size for first, stop in ranges[:-1])
    if len(ranges) > 1:
        assert size & (size - 1) == 0
        assert 2 * len(ranges) > min(most, count)  # no fewer than the tree allows
    states = [Counts(np.array([1.0 / (k + 1)])) for k in range(count)]
    parts = [merge_in_order(states[first:stop]) for first, stop in ranges]
    assert merge_in_order(parts).cells.tolist() == merge_in_order(states).cells.tolist()


def test_merging_no_states_needs_a_zero():
    zero = Counts(np.zeros(1))
    assert merge_in_order([], zero) is zero
    assert not Merger()
    merger = Merger()
    merger.add(zero)
    assert merger
    with pytest.raises(ValueError, match="no states to merge"):
        merge_in_order([])


def test_means_between_two_are_weighted_by_the_share_of_the_second():
    assert between(np.array([1.0]), np.array([5.0]), 0.25).tolist() == [2.0]
    assert between(np.array([np.inf, 1.0]), np.array([1.0, 3.0]), 0.5).tolist() == [np.inf, 2.0]


@pytest.mark.parametrize("weighted", [False, True])
def test_variances_are_those_of_all_rows_however_merged(weighted):
    rng = np.random.default_rng(0)
    values, weights = 1e6 + rng.normal(size=(50, 2)), rng.gamma(1.0, size=50) if weighted else None
    cuts = np.array_split(np.arange(50), 4)
    parts = [Variances.of(values[cut], None if weights is None else weights[cut]) for cut in cuts]
    merged = reduce(Variances.merge, parts)
    np.testing.assert_allclose(merged.mean, np.average(values, axis=0, weights=weights), rtol=1e-14)
    np.testing.assert_allclose(
        merged.variance, np.cov(values.T, aweights=weights, ddof=0).diagonal(), rtol=1e-8
    )
