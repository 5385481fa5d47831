"""Edges of bins are values of the data, and bins have about the same weight."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from paribus._data.summary import edges_of


@given(
    st.lists(st.integers(-3, 12), min_size=1, max_size=60),
    st.integers(1, 12),
    st.none() | st.integers(0, 999),
)
def test_edges_are_values_and_there_are_as_many_bins_as_there_is_room_for(values, bins, seed):
    values = np.sort(np.array(values, float))
    weights = None if seed is None else np.random.default_rng(seed).gamma(0.3, size=len(values)) + 1e-9
    edges, distinct = edges_of(values, weights, bins), np.unique(values)
    assert np.isin(edges, distinct).all()
    assert (np.diff(edges) > 0).all()
    assert (edges[0], edges[-1]) == (distinct[0], distinct[-1])
    assert len(edges) - 1 == min(bins, len(distinct) - 1)


def test_bins_have_about_the_same_weight():
    x = np.sort(np.random.default_rng(0).normal(size=10_000))
    counts = np.diff(np.searchsorted(x, edges_of(x, None, 40), side="right"))
    assert counts.min() >= 249
    assert counts.max() <= 250
    heavy = np.sort(np.append(x, np.zeros(30_000)))  # three quarters are zero, which is one bin
    edges = edges_of(heavy, None, 40)
    assert 0.0 in edges
    counts = np.diff(np.searchsorted(heavy, edges, side="right"))
    assert np.sort(counts)[-2] <= 10_000 / 39 + 1


def test_edges_of_unweighted_values_are_those_of_equal_weights():
    rng = np.random.default_rng(0)
    for trial in range(600):
        n, bins = int(rng.integers(1, 300)), int(rng.integers(1, 40))
        drawn = (
            rng.normal(size=n),
            rng.integers(0, n + 1, size=n),
            np.round(rng.normal(size=n), 1).astype(np.float32),
            np.append(np.full(n // 3, -9.0), rng.normal(size=n)),  # the first value may be a bin by itself
        )[trial % 4]
        values = np.sort(drawn)
        plain, weighted = edges_of(values, None, bins), edges_of(values, np.ones(len(values)), bins)
        assert plain.dtype == weighted.dtype
        np.testing.assert_array_equal(plain, weighted)
