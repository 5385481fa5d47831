"""Moments within cells merge in any cut."""

from itertools import pairwise

import numpy as np
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
