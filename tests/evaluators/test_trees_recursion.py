"""Recursion is that of scikit-learn, taken by name alone, and refuses in words."""

import numpy as np
import pytest
from sklearn import inspection
from sklearn.linear_model import LinearRegression

import paribus
from paribus._api.statistics import effects_statistic as effects_statistic
from tree_examples import FULL, GAPS, SIGNAL, WEIGHTS, fitted

# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]
AXIS = np.linspace(-1.5, 1.5, 6)


def baseline(name):
    """What scikit-learn's recursion leaves out."""
    model = fitted(name)
    if name.startswith("hist"):
        return float(np.ravel(model._baseline_prediction)[0])
    return float(model.init_.predict(FULL[:1])[0]) if name == "boosting" else 0.0


@pytest.mark.parametrize("features", [[1], [0, 1]], ids=["one-way", "two-way"])
@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "hist", "hist, two classes"])
def test_trees_recursion_is_that_of_scikit_learn_with_baseline(name, features):
    arguments = {"custom_values": dict.fromkeys(features, AXIS), "method": "recursion"}
    response = "decision_function" if "classes" in name else "auto"
    want = inspection.partial_dependence(fitted(name), FULL, features, response_method=response, **arguments)
    have = paribus.partial_dependence(fitted(name), FULL, features, response_method=response, **arguments)
    np.testing.assert_allclose(have.average, want["average"] + baseline(name), rtol=1e-9)
    assert np.isnan(have.standard_error).all()
    assert have.provenance.evaluator == "tree_recursion"
    assert have.provenance.estimand == "path-dependent"
    assert have.provenance.standard_error_rows == have.provenance.predictions == 0
    assert any("paths of the training data" in note for note in have.notes)


@pytest.mark.parametrize("name", ["forest", "hist", "lightgbm"])
def test_trees_recursion_does_not_look_at_rows_and_is_only_taken_by_name(name):
    by_name, moved, auto = (
        paribus.partial_dependence(fitted(name), table, 1, custom_values={1: AXIS}, method=method)
        for table, method in ((FULL, "recursion"), (FULL[::2] + 1, "recursion"), (FULL[::2] + 1, "auto"))
    )
    np.testing.assert_array_equal(by_name.average, moved.average)
    assert not np.allclose(moved.average, auto.average, rtol=1e-3)
    assert auto.provenance.evaluator == "tree_exact"
    assert not any("paths of the training data" in note for note in auto.notes)


@pytest.mark.parametrize(
    ("name", "arguments", "reason"),
    [
        ("hist", {"kind": "individual"}, "no curve of a single row; request kind='average'"),
        ("hist", {"kind": "both"}, "no curve of a single row; request kind='average'"),
        ("hist", {"sample_weight": WEIGHTS}, "leave sample_weight out"),
        ("hist, two classes", {}, "to which predict_proba applies a link"),
        ("hist, poisson", {}, "to which predict applies a link"),
    ],
)
def test_trees_recursion_refuses_in_words(name, arguments, reason):
    with pytest.raises(paribus.errors.RefusalError, match=f"method='recursion' for Hist.*{reason}"):
        paribus.partial_dependence(fitted(name), GAPS, 1, method="recursion", **arguments)


def test_recursion_needs_trees():
    model = LinearRegression().fit(FULL, SIGNAL)
    with pytest.raises(paribus.errors.RefusalError, match="the model is not a tree ensemble"):
        paribus.partial_dependence(model, FULL, 0, method="recursion")


def test_trees_recursion_cannot_be_verified():
    with pytest.raises(paribus.errors.OptionError, match="recursion estimates something else"):
        paribus.Explainer(fitted("hist"), GAPS, verify=True).partial_dependence(1, method="recursion")
