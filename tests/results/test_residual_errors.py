"""Standard errors of residuals: rows of one class show no variation, and have an error all the same."""

import numpy as np
import pytest

from paribus.results.performance import residual_errors


def test_rows_of_one_class_have_the_error_of_their_predicted_probability():
    (error,) = residual_errors(np.array([0.0]), np.array([0.24]), np.array([0.0]), np.array([4]))
    assert error == pytest.approx(np.sqrt(0.24 * 0.76 / 4))


def test_a_class_that_is_predicted_with_certainty_has_an_error():
    (error,) = residual_errors(np.array([1.0]), np.array([1.0]), np.array([0.0]), np.array([30]))
    assert error == pytest.approx(1 / 62)  # 1 / (2 (n + 1))


def test_numbers_that_are_no_shares_keep_their_errors():
    errors = np.array([0.5, 0.0])
    assert residual_errors(np.array([3.0, 0.5]), np.array([2.0, 0.5]), errors, np.array([4, 4])) is errors
