"""Generalized linear models of statsmodels, glum and XGBoost, as far as paribus can evaluate them."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from additive_examples import QUIET, agree, numbers
from paribus import partial_dependence
from paribus._data.read import table_of
from paribus._models import adapt, structure_of
from paribus._models.additive import Additive
from paribus._models.combination import predicted
from paribus.errors import RefusalError

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


LINEAR = {"booster": "gblinear", "n_estimators": 4, "n_jobs": 1}


def with_gaps():
    X, y = with_constant()
    X = X.drop(columns="constant")
    return X.mask(np.random.default_rng(1).random(X.shape) < 0.1), y


def read_linear_booster(model, X, response):
    """Return the structure of a model, which predicts as it does for rows with and without missing values."""
    adapted = adapt(model, table_of(X), response_method=response)
    structure = structure_of(adapted)
    assert type(structure) is Additive
    assert structure.single
    for rows in (X, X.fillna(0.0), X * np.nan):
        theirs = adapted.predict(rows, len(rows))
        ours = predicted(structure, table_of(rows)).T
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-6 * (1 + np.abs(theirs).max()))
    return structure


def test_linear_boosters_of_xgboost():
    xgboost = pytest.importorskip("xgboost")
    X, y = with_gaps()
    two, three = noisy(y), np.digitize(y, np.quantile(y, [0.3, 0.8]))
    counts = np.round(np.exp(y - y.max()) * 9)
    for objective, target in (
        ("reg:squarederror", y),
        ("reg:squarederror", np.c_[y, y**2]),
        ("count:poisson", counts),
        ("reg:logistic", two),
    ):
        model = xgboost.XGBRegressor(objective=objective, **LINEAR).fit(X, target)
        for response in ("predict", "decision_function"):
            read_linear_booster(model, X, response)
    for target in (two, three):
        model = xgboost.XGBClassifier(**LINEAR).fit(X, target)
        for response in ("predict_proba", "decision_function"):
            read_linear_booster(model, X, response)
        assert "predict returns class labels" in refusal_of_labels(model, X)
    booster = xgboost.train(
        {"booster": "gblinear", "objective": "binary:logistic"}, xgboost.DMatrix(X, two), 4
    )
    for response in ("predict", "decision_function"):
        read_linear_booster(booster, X, response)
    stopped = xgboost.XGBRegressor(**LINEAR | {"n_estimators": 60}, early_stopping_rounds=2)
    read_linear_booster(stopped.fit(X, y, eval_set=[(X[::3], y[::3])], verbose=False), X, "predict")
    agree(xgboost.XGBRegressor(**LINEAR).fit(X, y), X, ONE, PAIR, tolerance=1e-6)


def refusal_of_labels(model, X):
    found = partial_dependence(model, X, "a", grid_resolution=3, response_method="predict", **QUIET)
    assert found.provenance.evaluator == "brute"
    return str(found.provenance.refusals)


def test_linear_booster_behind_sparse_columns_skips_absent_entries():
    xgboost = pytest.importorskip("xgboost")
    X, y = with_constant()
    words = np.array(["u", "v", "w"])[np.arange(len(X)) % 3]
    X = X.drop(columns="constant").assign(word=words)
    encode = ColumnTransformer(
        [("word", OneHotEncoder(), ["word"])], remainder="passthrough", sparse_threshold=1
    )
    model = make_pipeline(encode, xgboost.XGBRegressor(**LINEAR)).fit(X, y)
    assert hasattr(model[0].transform(X), "tocsr")
    agree(model, X, ONE, ("word", {"kind": "both"}), tolerance=1e-6)


def test_linear_booster_is_refused_where_it_is_not_known():
    xgboost = pytest.importorskip("xgboost")
    X, y = with_gaps()
    zero = xgboost.XGBRegressor(missing=0.0, **LINEAR).fit(X.fillna(0.0), y)
    assert "only read with missing=nan" in refused(zero, X.fillna(0.0))
    model = xgboost.XGBRegressor(**LINEAR).fit(X, y)
    structure = read_linear_booster(model, X, "predict")
    far = X.assign(a=np.where(np.arange(len(X)) == 3, np.inf, X["a"]))
    with pytest.raises(RefusalError, match="'a' has missing or infinite values"):
        predicted(structure, table_of(far))
    with pytest.raises(RefusalError, match="column 0 in single precision has missing or infinite"):
        predicted(structure, table_of(X.assign(a=1e200)))
