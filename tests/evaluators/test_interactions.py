"""H-statistics are those of the definition, for every library, unit and order of features."""

from itertools import combinations

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost as xgb
from sklearn import ensemble as forests
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

import paribus
from interaction_examples import (
    CAT,
    FULL,
    GAPS,
    HOLED,
    LGB,
    MODELS,
    SIGNAL,
    STATISTICS,
    TRAIN,
    TREES,
    WEIGHTS,
    XGB,
    N,
    Naive,
    agree,
    alike,
    asked,
    bits,
    fitted,
    hist,
    naive_of,
    product_of_three,
)
from paribus._evaluators.interactions import tree_interactions
from paribus._evaluators.trees import leaf_boxes, programs
from selection import nightly

# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]


def positions(groups, names):
    """Return groups of features as positions in the table."""
    return [tuple(names.index(f) if isinstance(f, str) else f for f in group) for group in groups]


def tolerance(name):
    return 2e-5 if name.startswith("xgboost") else 1e-9  # XGBoost adds leaves in single precision


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_h_statistic_numbers_of_definition(name, weights):
    found = asked(name, sample_weight=weights, threeway=4)
    assert found.provenance.evaluator == ("tree_exact" if name in TREES else "brute")
    names = list(found.feature_names)
    assert positions(found.feature_triples, names) == list(combinations(range(4), 3))
    want = naive_of(name).statistics(weights, tuple(combinations(range(4), 3)))
    agree(found, want, tolerance(name))
    assert all((found.ratio(statistic).numerator.max(axis=0) > 0).all() for statistic in STATISTICS)
    np.testing.assert_allclose(found.variance, want["total"][1][0], rtol=1e-6)
    np.testing.assert_allclose(found.main_effect.numerator, want["main"][0], rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("weights", [*nightly(None), WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", TREES)
def test_h_statistic_trees_report_numbers_and_errors_of_brute_force(name, weights):
    rtol = 5e-5 if name.startswith("xgboost") else 1e-6
    for more in (
        {"threeway": 4},
        {"features": [0, 1]},
        {"features": [2, 0, 3], "threeway": 3, "overall": False},
    ):
        arguments = {"sample_weight": weights, "subsample": None} | more
        exact, brute = (asked(name, method=method, **arguments) for method in ("exact", "brute"))
        assert [one.provenance.evaluator for one in (exact, brute)] == ["tree_exact", "brute"]
        alike(exact, brute, rtol)


@pytest.mark.parametrize("path", ["counted", "kept", "looked up", "lists"])
def test_h_statistic_every_way_to_count_gives_numbers_and_errors_of_brute_force(path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(600, 3))
    model = (
        hist("Regressor", max_iter=3, max_leaf_nodes=5)
        if path == "counted"
        else hist("Regressor", max_iter=9, max_leaf_nodes=31)
    )
    model.fit(X, X[:, 0] * X[:, 1] + X[:, 2] * (X[:, 0] > 0))
    X = X if path == "counted" else X[:150]
    if path == "looked up":
        monkeypatch.setattr(leaf_boxes, "TABLE_CELLS", 0)
    if path == "lists":
        monkeypatch.setattr(programs.program_of, "__defaults__", (2, 0))
    kept = []
    counting = tree_interactions.CoveragePass.evaluate

    def watched(self, block):
        kept.append(self.pairs is None)
        return counting(self, block)

    monkeypatch.setattr(tree_interactions.CoveragePass, "evaluate", watched)
    exact = paribus.h_statistic(model, X)
    assert any(kept) == (path != "counted")
    alike(exact, paribus.h_statistic(model, X, method="brute", subsample=None), 1e-6)


def test_h_statistic_golden_values_of_scikit_learn():
    """Those published with scikit-learn's pull request 28375, an implementation by brute force."""
    X, y = load_diabetes(return_X_y=True)
    model = forests.HistGradientBoostingRegressor(max_iter=5, max_depth=2).fit(X, y)
    for method in ("exact", "brute"):
        found = paribus.h_statistic(model, X, (3, 8, 2), subsample=None, method=method)
        assert found.feature_pairs == [(3, 8), (3, 2), (8, 2)]
        np.testing.assert_allclose(found.h_squared_pairwise, [0.00986, 0.00927, 0.03440], atol=5e-6)
        np.testing.assert_allclose(found.numerator_pairwise, [1.2956, 1.2420, 11.1336], atol=1e-4)
        np.testing.assert_allclose(found.denominator_pairwise, [131.397, 133.962, 323.658], atol=1e-3)


SCALES = [(1.0, 0.0), (1.0, 1e6), (2.0**-40, 0.0), (2.0**40, 0.0)]


def additive(kind, scale, offset):
    target = (TRAIN[:, 0] + np.sin(TRAIN[:, 1]) - 2 * TRAIN[:, 2]) * scale + offset
    if kind == "function":
        return lambda X: scale * (X[:, 0] ** 2 + np.exp(X[:, 1]) - 3 * np.abs(X[:, 2])) + offset
    return {
        "linear": lambda: LinearRegression(),
        "hist": lambda: hist("Regressor", max_leaf_nodes=2, max_iter=30),
        "boosting": lambda: forests.GradientBoostingRegressor(max_depth=1, n_estimators=20),
        "lightgbm": lambda: lgb.LGBMRegressor(**LGB | {"num_leaves": 2, "n_estimators": 30}),
        "xgboost": lambda: xgb.XGBRegressor(**XGB | {"max_depth": 1, "n_estimators": 30}),
        "catboost": lambda: catboost.CatBoostRegressor(**CAT | {"depth": 1, "iterations": 30}),
    }[kind]().fit(TRAIN, target)


@pytest.mark.parametrize(("scale", "offset"), SCALES)
@pytest.mark.parametrize(
    "kind", ["linear", "function", "hist", "boosting", "lightgbm", "xgboost", "catboost"]
)
def test_models_without_interactions_have_exactly_none(kind, scale, offset):
    found = paribus.h_statistic(additive(kind, scale, offset), FULL, threeway=4)
    for statistic in STATISTICS:
        ratio = found.ratio(statistic)
        for part in (ratio.numerator, ratio.share, ratio.strength, ratio.strength_error, ratio.ratio_error):
            assert (part == 0).all(), statistic
    assert "6 pairs are exactly zero" in repr(found)
    too_small = kind in ("boosting", "xgboost") and scale < 1  # for a split to be worth it
    if not too_small and (kind, offset) != ("xgboost", 1e6):  # which single precision does not resolve
        assert (found.main_effect.numerator[[0, 2]] > 0.01 * scale**2).all()


@pytest.mark.parametrize("power", [-40, 40])
def test_h_statistic_units_of_prediction_do_not_matter(power):
    def scaled(X):
        return 2.0**power * product_of_three(X)

    one, other = (paribus.h_statistic(model, FULL, threeway=3) for model in (product_of_three, scaled))
    for statistic in STATISTICS:
        mine, theirs = one.ratio(statistic), other.ratio(statistic)
        assert (mine.numerator * 4.0**power).tobytes() == theirs.numerator.tobytes()
        assert mine.share.tobytes() == theirs.share.tobytes()
        assert mine.ratio_error.tobytes() == theirs.ratio_error.tobytes()


@pytest.mark.parametrize("power", [-8, 30])
@pytest.mark.parametrize("name", ["hist", "forest", "boosting", "lightgbm"])
def test_h_statistic_scaling_target_of_trees_scales_every_number_exactly(name, power):
    makers = {
        "hist": lambda: hist("Regressor"),
        "forest": lambda: forests.RandomForestRegressor(4, max_depth=5, random_state=0),
        "boosting": lambda: forests.GradientBoostingRegressor(n_estimators=5, random_state=0),
        "lightgbm": lambda: lgb.LGBMRegressor(**LGB),
    }
    target = np.round(SIGNAL * 64) / 64
    models = [makers[name]().fit(TRAIN, target * factor) for factor in (1.0, 2.0**power)]
    predictions = [model.predict(FULL) for model in models]
    assert (predictions[0] * 2.0**power).tobytes() == predictions[1].tobytes()  # the models are the same
    one, other = (paribus.h_statistic(model, FULL, threeway=3, method="exact") for model in models)
    for statistic in STATISTICS:
        mine, theirs = one.ratio(statistic), other.ratio(statistic)
        assert (mine.numerator * 4.0**power).tobytes() == theirs.numerator.tobytes()
        assert (mine.denominator * 4.0**power).tobytes() == theirs.denominator.tobytes()
        assert mine.share.tobytes() == theirs.share.tobytes()
        assert (mine.share > 0).any()


BOTH_WAYS = pytest.mark.parametrize(
    "name", ["lightgbm", "forest, two targets", "hist, categories", "function"]
)


def rows_of(table, order):
    return table.iloc[order] if isinstance(table, pd.DataFrame) else table[order]


def ask_rows(name, order, **arguments):
    response = MODELS[name][2]
    table = rows_of(MODELS[name][1], order)
    arguments.setdefault("response_method", "auto" if response is None else response)
    return paribus.h_statistic(fitted(name), table, threeway=4, **arguments)


@BOTH_WAYS
def test_h_statistic_order_of_features_permutes_results(name):
    order = [2, 0, 3, 1]
    one = ask_rows(name, np.arange(N))
    other = ask_rows(name, np.arange(N), features=order)
    assert other.features == tuple(order)
    names = list(one.feature_names)
    assert other.feature_names == tuple(names[j] for j in order)
    np.testing.assert_allclose(other.overall.numerator, one.overall.numerator[order], rtol=1e-9)
    np.testing.assert_allclose(other.overall.ratio_error, one.overall.ratio_error[order], rtol=1e-9)
    np.testing.assert_allclose(other.total.numerator, one.total.numerator, rtol=1e-9)
    for statistic, width in (("pairwise", 2), ("threeway", 3)):
        groups = {frozenset(g): k for k, g in enumerate(combinations(range(4), width))}
        moved = [groups[frozenset(order[k] for k in g)] for g in combinations(range(4), width)]
        for part in ("numerator", "denominator", "numerator_error", "ratio_error"):
            mine, theirs = (getattr(found.ratio(statistic), part) for found in (other, one))
            np.testing.assert_allclose(mine, theirs[moved], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", ["lightgbm", "function"])
@pytest.mark.parametrize(
    ("features", "tokens"),
    [
        ([1, 3], (1, 3)),
        ([True, False, True, False], (0, 2)),
        (np.array([True, False, True, False]), (0, 2)),
        (["c", "a"], ("c", "a")),
        (["d", 0], ("d", 0)),
    ],
    ids=["positions", "mask", "mask of numpy", "names", "both"],
)
def test_h_statistic_features_may_be_subset_however_they_are_named(name, features, tokens):
    found = asked(name, features=features, feature_names=list("abcd"))
    assert found.features == tokens
    assert found.feature_pairs == [tokens]
    places = ["abcd".index(t) if isinstance(t, str) else t for t in tokens]
    naive = naive_of(name)
    want = Naive(naive.predict, naive.table, places).statistics()
    agree(found, want, 1e-9, ("pairwise", "overall"))
    assert found.total is None
    assert found.feature_names == tuple("abcd"[j] for j in places)


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_h_statistic_other_libraries_of_tables(library):
    frame = pd.DataFrame(GAPS, columns=list("abcd"))
    model = hist("Regressor").fit(pd.DataFrame(HOLED, columns=list("abcd")), SIGNAL)
    want = paribus.h_statistic(model, frame)
    with_numpy = Naive(
        lambda rows: model.predict(pd.DataFrame(rows, columns=list("abcd")))[:, None], GAPS, range(4)
    )
    agree(want, with_numpy.statistics(), 1e-9, ("pairwise", "overall", "total"))
    found = paribus.h_statistic(model, library(frame))
    assert found.features == want.features == tuple("abcd")
    assert bits(found) == bits(want)
    assert type(found.to_frame()) is type(library(frame))

    def function(table):
        columns = table.to_pandas() if hasattr(table, "to_pandas") else table
        return np.nan_to_num(columns["a"].to_numpy()) * columns["b"].to_numpy()

    assert bits(paribus.h_statistic(function, library(frame))) == bits(paribus.h_statistic(function, frame))
