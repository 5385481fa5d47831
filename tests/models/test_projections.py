"""Linear models behind projections are sums of terms of the raw columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

import paribus

ENCODER = make_column_transformer((OneHotEncoder(), ["k"]), (StandardScaler(), list("abcd")))
PIPELINES = {
    "scaled": make_pipeline(StandardScaler(), PCA(3), Ridge()),
    "raw": make_pipeline(PCA(2), Ridge()),
    "whitened": make_pipeline(StandardScaler(), PCA(3, whiten=True), Ridge()),
    "twice": make_pipeline(StandardScaler(), PCA(3), IncrementalPCA(2), Ridge()),
    "classes": make_pipeline(StandardScaler(), PCA(3), LogisticRegression()),
    "encoded": make_pipeline(ENCODER, TruncatedSVD(4), Ridge()),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(600, 4)) * [1, 10, 1e3, 1] + [0, 5, 1e5, 2]
    return pd.DataFrame(numbers, columns=list("abcd")).assign(k=rng.choice(list("xyz"), 600))


def fitted(name, table):
    X = table if name == "encoded" else table.drop(columns="k")
    y = X["a"] + 0.1 * X["b"] + np.random.default_rng(1).normal(size=len(X))
    return PIPELINES[name].fit(X, np.digitize(y, [0, 1]) if name == "classes" else y), X


@pytest.mark.parametrize("name", PIPELINES)
def test_effects_behind_a_projection_equal_brute_force(name, table):
    model, X = fitted(name, table)
    exact, brute = paribus.effects(model, X), paribus.effects(model, X, method="brute")
    assert exact.provenance.evaluator == "additive_exact"
    for key, effect in exact.items():
        want = brute[key].average
        np.testing.assert_allclose(effect.average, want, rtol=0, atol=1e-12 * np.abs(want).max())


def test_projection_before_products_is_refused_by_name(table):
    X = table.drop(columns="k")
    model = make_pipeline(PCA(2), PolynomialFeatures(2), Ridge()).fit(X, X["a"])
    found = paribus.effects(model, X)
    assert found.provenance.evaluator == "brute"
    assert "PCA joins" in found.provenance.refusals["additive_exact"]


def test_replaced_transform_is_not_read_as_a_projection(table):
    X = table.drop(columns="k")
    step = PCA(2)
    model = make_pipeline(step, Ridge()).fit(X, X["a"])
    step.transform = lambda X: np.tanh(PCA.transform(step, X))
    found = paribus.effects(model, X)
    assert found.provenance.evaluator == "brute"
