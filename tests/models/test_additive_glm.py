"""Generalized linear models of statsmodels and glum, as far as paribus can evaluate them."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from additive_examples import QUIET, agree, numbers
from paribus import partial_dependence

ONE, PAIR = ("a", {"kind": "both"}), (["n", "b"], {})


def with_constant():
    X, y = numbers()
    return X.astype(float).assign(constant=1.0), y


def noisy(y):
    """Return two classes that no plane separates."""
    return (y + 2 * np.random.default_rng(5).normal(size=len(y)) > 0).astype(float)


def refused(model, X):
    found = partial_dependence(model, X, "a", grid_resolution=3, **QUIET)
    assert found.provenance.evaluator == "brute"
    return str(found.provenance.refusals)


def test_statsmodels_results_of_tables():
    api = pytest.importorskip("statsmodels.api")
    X, y = with_constant()
    family = api.families
    positive, binary = np.exp(y - y.max()), noisy(y)
    for results in (
        api.OLS(y, X).fit(),
        api.WLS(y, X, weights=np.arange(1, len(y) + 1)).fit(),
        api.GLM(y, X).fit(),
        api.GLM(positive, X, family=family.Poisson()).fit(),
        api.GLM(positive, X, family=family.Gamma(family.links.Log())).fit(),
        api.GLM(binary, X, family=family.Binomial()).fit(),
        api.Logit(binary, X).fit(disp=0),
        api.Poisson(np.round(5 * positive), X).fit(disp=0),
    ):
        agree(results, X, ONE, PAIR)
    ols = api.OLS(y, X).fit()
    agree(ols, X.to_numpy(), (0, {}))
    agree(ols, X[["b", "a", "n", "flag", "constant"]], ONE)  # it looks at positions alone
    probit = api.GLM(binary, X, family=family.Binomial(family.links.Probit())).fit()
    assert "link Probit of GLM is not known" in refused(probit, X)


def test_statsmodels_formula_is_refused():
    formula = pytest.importorskip("statsmodels.formula.api")
    X, y = with_constant()
    results = formula.ols("y ~ a * n", X.assign(y=y)).fit()
    assert "OLS was fitted by the formula y ~ a * n" in refused(results, X)


def test_glum_regressions():
    glum = pytest.importorskip("glum")
    X, y = with_constant()
    X = X.drop(columns="constant")
    positive, binary = np.exp(y - y.max()), noisy(y)
    for family, target, link in (
        ("normal", y, "auto"),
        ("poisson", positive, "auto"),
        ("gamma", positive, "log"),
        ("tweedie", positive, "auto"),
        ("binomial", binary, "auto"),
    ):
        model = glum.GeneralizedLinearRegressor(family=family, link=link, alpha=0.01).fit(X, target)
        agree(model, X, ONE, PAIR)
    agree(make_pipeline(StandardScaler(), model).fit(X, binary), X, ONE)
    model = glum.GeneralizedLinearRegressor(family="binomial", link="cloglog", alpha=0.1).fit(X, binary)
    assert "link CloglogLink of GeneralizedLinearRegressor is not known" in refused(model, X)
    model = glum.GeneralizedLinearRegressor(formula="a * n", alpha=0.01).fit(X.assign(y=y), y)
    assert "by the formula a * n" in refused(model, X)


def test_glum_categories_are_refused():
    glum = pytest.importorskip("glum")
    X, y = numbers()
    X = X.astype(float).assign(kind=np.where(X["n"] > 2, "many", "few")).astype({"kind": "category"})
    model = glum.GeneralizedLinearRegressor(alpha=0.01).fit(X, y)
    assert "has coefficients of 6 columns and receives 5" in refused(model, X)
