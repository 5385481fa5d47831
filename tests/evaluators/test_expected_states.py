"""What every evaluator says of its states: they fit it, what lacks a part does not, rows without weight leave nothing."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVR

import paribus
from checking_executor import Checking

ROWS = 240


@cache
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=list("abcd"))
    X["d"] = X["d"].round()
    y = X["a"] * X["b"] + X["c"] + rng.normal(size=ROWS) / 9
    return X, y.to_numpy()


MODELS = {
    "trees": lambda X, y: HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=5).fit(X, y),
    "probability": lambda X, y: HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5).fit(X, y > 0),
    "terms": lambda X, y: LinearRegression().fit(X, y),
    "linked terms": lambda X, y: LogisticRegression().fit(X, y > 0),
    "any": lambda X, y: SVR().fit(X[:50], y[:50]),
}
CALLS = {
    "average": lambda m, X, y, o: paribus.effects(m, X, **o),
    "curves": lambda m, X, y, o: paribus.partial_dependence(
        m, X, ["a", "b"], kind="both", grid_resolution=5, **o
    ),
    "quantiles": lambda m, X, y, o: paribus.effects(m, X, quantiles=(0.1, 0.9), grid_resolution=5, **o),
    "local": lambda m, X, y, o: paribus.accumulated_local_effects(m, X, grid_resolution=5, **o),
    "local pair": lambda m, X, y, o: paribus.accumulated_local_effects(
        m, X, ("a", "b"), grid_resolution=4, **o
    ),
    "marginal": lambda m, X, y, o: paribus.marginal(m, X, y=y, **o),
    "interactions": lambda m, X, y, o: paribus.h_statistic(m, X[:40], **cut(o)),
    "importance": lambda m, X, y, o: paribus.feature_importance(m, X, **o),
}


def cut(options):
    weights = options.get("sample_weight")
    return options if weights is None else options | {"sample_weight": weights[:40]}


def options_of(weighted):
    weights = np.where(np.arange(ROWS) % 4 == 0, 0.0, 1.0 + np.arange(ROWS) % 3)
    return {"sample_weight": weights} if weighted else {}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("model", MODELS)
def test_states_of_every_evaluator_fit_what_it_expects(model, call, weighted):
    X, y = data()
    fitted, executor = MODELS[model](X, y), Checking()
    target = (y > 0).astype(int) if model in ("probability", "linked terms") else y
    options = options_of(weighted)
    found = CALLS[call](fitted, X, target, options | {"executor": executor})
    assert executor.checked
    plain = CALLS[call](fitted, X, target, options)
    one, other = (result.to_frame().select_dtypes("number").to_numpy() for result in (found, plain))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)
