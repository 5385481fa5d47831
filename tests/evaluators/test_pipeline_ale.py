"""Accumulated local effects behind preprocessing: a move to the next value moves all columns made of it."""

import numpy as np
import pytest

import paribus
from ale_examples import same
from mixed_pipelines import fitted, joining, mixed
from paribus import accumulated_local_effects as ale

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM by an array


@pytest.mark.nightly
@pytest.mark.parametrize(("name", "weighted"), [("LightGBM", False), ("forest of classes", True)])
def test_moves_of_raw_values_are_those_of_the_whole_pipeline(name, weighted):
    X, _, weights = mixed()
    model, options = fitted(name), {"sample_weight": weights if weighted else None}
    exact = ale(model, X, method="exact", **options)
    assert exact.provenance.evaluator == "tree_ale"
    assert exact.provenance.predictions == 0
    brute = ale(model, X, method="brute", **options)
    assert set(exact) == set(X)
    for key, effect in exact.items():
        same(effect, brute[key], 1e-9)
        assert effect.order == brute[key].order
        assert np.ptp(effect.ale) > 0, key
    assert exact["kind"].missing is not None
    assert exact["day"].missing is not None


def test_values_that_are_given_are_transformed_too():
    X, *_ = mixed()
    values = {"city": ["Genf", "Chur", "Bern"], "size": [0.0, 1.0, 20.0], "count": [0, 3, 11]}
    exact, brute = (
        ale(fitted("LightGBM"), X, list(values), custom_values=values, method=method) for method in ("exact", "brute")
    )  # fmt: skip
    for key in values:
        same(exact[key], brute[key], 1e-9)


def test_a_feature_that_is_joined_with_others_is_refused_by_name():
    X, *_ = mixed()
    model = fitted("LightGBM", joining)
    for feature in ("count", "size"):
        with pytest.raises(paribus.errors.RefusalError, match=f"PolynomialFeatures .*'{feature}'"):
            ale(model, X, [feature], method="exact")
    exact, brute = (ale(model, X, ["gap", "kind"], method=method) for method in ("exact", "brute"))
    for key in ("gap", "kind"):
        same(exact[key], brute[key], 1e-9)
