"""Moments of rows: their definition, and merging them in any cut."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from paribus._states import Moments, merge_in_order
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
