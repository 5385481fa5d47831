"""Numbers that are found from curves."""

import numpy as np

from paribus.results.curve_values import strength_of


def test_strength_of_a_flat_curve_is_exactly_zero():
    flat = np.full((2, 100), 0.6604)
    weights = np.linspace(0.3, 1.7, 100)
    assert strength_of(flat, weights) == 0
    assert 0 < strength_of(flat + np.arange(100) * 1e-15, weights) < 1e-13


def test_strength_of_a_curve_that_is_not_finite_is_unknown():
    assert np.isnan(strength_of(np.full((1, 3), np.inf), np.ones(3)))
