"""Numbers that are found from curves."""

import numpy as np

from paribus.results.curve_values import strengths_of


def test_strengths_are_deviations_of_each_output_over_the_data():
    curves, weights = np.array([[1.0, 2.0, 4.0], [5.0, 5.0, -5.0]]), np.array([1, 2, 5])
    rows = np.repeat(curves, weights, axis=1)
    np.testing.assert_allclose(strengths_of(curves, weights), rows.std(axis=1))
    np.testing.assert_allclose(strengths_of(curves, np.zeros(3)), curves.std(axis=1))  # all points alike
    assert strengths_of(np.zeros((2, 0)), np.zeros(0)).tolist() == [0, 0]


def test_strength_of_a_flat_curve_is_exactly_zero():
    flat = np.full((2, 100), 0.6604)
    weights = np.linspace(0.3, 1.7, 100)
    assert strengths_of(flat, weights).tolist() == [0, 0]
    small = strengths_of(flat + np.arange(100) * 1e-15, weights)
    assert ((small > 0) & (small < 1e-13)).all()


def test_strength_of_a_curve_that_is_not_finite_is_unknown():
    curves = np.array([[np.inf, np.inf, np.inf], [1.0, 2.0, 3.0]])
    assert np.isnan(strengths_of(curves, np.ones(3))).tolist() == [True, False]
