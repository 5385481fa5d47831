"""H-statistics and importance end to end: the numbers of the definition, their errors, and what is said of them."""

import dataclasses
import sys
from functools import cache
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
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVR

import paribus
from paribus.evaluators.interactions import trees
from paribus.evaluators.trees import boxes, programs

N = 44
RNG = np.random.default_rng(3)
FULL = RNG.normal(size=(N, 4))
FULL[:, 3] = RNG.integers(-1, 2, N)  # ties
FULL[:8, 1] = FULL[0, 1]
GAPS = np.where((RNG.random((N, 4)) < 0.15) & np.isin(np.arange(4), [0, 2]), np.nan, FULL)
TRAIN = RNG.normal(size=(300, 4))
TRAIN[:, 3] = RNG.integers(-1, 2, 300)
SIGNAL = TRAIN[:, 0] * TRAIN[:, 1] + TRAIN[:, 3] * np.sin(2 * TRAIN[:, 2]) + TRAIN[:, 0] + 5
SIGNAL += TRAIN[:, 0] * TRAIN[:, 1] * TRAIN[:, 2]
THREE = np.digitize(SIGNAL, [4.5, 6])
HOLED = np.where((RNG.random((300, 4)) < 0.15) & np.isin(np.arange(4), [0, 2]), np.nan, TRAIN)
WEIGHTS = RNG.choice([0.0, 0.5, 1.0, 3.0], N)
LEVELS = np.array(["fir", "oak", "elm", "ash"])
XGB = {"n_estimators": 6, "max_depth": 4, "n_jobs": 1, "verbosity": 0}
LGB = {"n_estimators": 6, "num_leaves": 9, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}
CAT = {"iterations": 6, "depth": 4, "verbose": 0, "allow_writing_files": False, "thread_count": 1}
STATISTICS = ("pairwise", "overall", "total", "threeway")
# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]


def mixed(rows, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "x": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)),
            "level": pd.Categorical(LEVELS[rng.integers(0, 4, rows)], LEVELS),
            "count": rng.integers(-2, 3, rows),
            "single": rng.normal(size=rows).astype(np.float32),
        }
    )


FRAME, TRAINED = mixed(N, 0), mixed(300, 1)
BY_LEVEL = (
    TRAINED["level"].isin(["oak", "ash"]) * (2 + TRAINED["single"]) + TRAINED["x"].fillna(2) * TRAINED["count"]
).to_numpy()


def hist(kind, **options):
    options = {"max_iter": 6, "min_samples_leaf": 5, "max_leaf_nodes": 9} | options
    return getattr(forests, f"HistGradientBoosting{kind}")(**options)


# By name: how it is fitted, the table it is asked about, how it answers.
MODELS = {
    "hist": (lambda: hist("Regressor").fit(HOLED, SIGNAL), GAPS, "predict"),
    "hist, three classes": (
        lambda: hist("Classifier", max_iter=3).fit(HOLED, THREE),
        GAPS,
        "decision_function",
    ),
    "forest": (
        lambda: forests.RandomForestRegressor(4, max_depth=5, random_state=0).fit(HOLED, SIGNAL),
        GAPS,
        "predict",
    ),
    "forest, three classes": (
        lambda: forests.RandomForestClassifier(4, max_depth=5, random_state=0).fit(TRAIN, THREE),
        FULL,
        "predict_proba",
    ),
    "forest, two targets": (
        lambda: forests.RandomForestRegressor(3, max_depth=5, random_state=0).fit(
            TRAIN, np.c_[SIGNAL, -TRAIN[:, 1]]
        ),
        FULL,
        "predict",
    ),
    "extra trees": (
        lambda: forests.ExtraTreesRegressor(4, max_depth=6, random_state=0).fit(TRAIN, SIGNAL),
        FULL,
        "predict",
    ),
    "boosting": (
        lambda: forests.GradientBoostingRegressor(n_estimators=6, random_state=0).fit(TRAIN, SIGNAL),
        FULL,
        "predict",
    ),
    "lightgbm": (lambda: lgb.LGBMRegressor(**LGB).fit(HOLED, SIGNAL), GAPS, "predict"),
    "xgboost": (lambda: xgb.XGBRegressor(**XGB).fit(HOLED, SIGNAL), GAPS, "predict"),
    "catboost": (lambda: catboost.CatBoostRegressor(**CAT).fit(HOLED, SIGNAL), GAPS, "predict"),
    "hist, categories": (
        lambda: hist("Regressor", categorical_features="from_dtype").fit(TRAINED, BY_LEVEL),
        FRAME,
        "predict",
    ),
    "lightgbm, categories": (
        lambda: lgb.LGBMRegressor(**LGB, min_data_per_group=5, cat_smooth=1).fit(TRAINED, BY_LEVEL),
        FRAME,
        "predict",
    ),
    "support vectors": (lambda: SVR().fit(TRAIN, SIGNAL), FULL, "predict"),
    "function": (lambda: product_of_three, FULL, None),
}
TREES = [name for name in MODELS if name not in ("support vectors", "function")]


def product_of_three(X):
    return np.sin(X[:, 0]) * X[:, 1] * (X[:, 2] + 2) + X[:, 3]


@cache
def fitted(name):
    return MODELS[name][0]()


def answer(name):
    """Return a function that answers for a model, one column per output."""
    model, method = fitted(name), MODELS[name][2]
    call = model if method is None else getattr(model, method)
    return lambda table: np.asarray(call(table), float).reshape(len(table), -1)


# ---------------------------------------------------------------- the definition, the slow obvious way


class Naive:
    """Every row with the values of every other, and the statistics for any weights."""

    def __init__(self, predict, table, features):
        self.predict, self.table, self.features = predict, table, tuple(features)
        self.columns = range(table.shape[1])
        self.cache = {}

    def crossed(self, moved):
        """Return ``(o, i, k)``: what is predicted for row k with the values of row i in some columns."""
        if moved not in self.cache:
            n = len(self.table)
            i, k = np.divmod(np.arange(n * n), n)
            if isinstance(self.table, pd.DataFrame):
                own, other = self.table.iloc[i].reset_index(drop=True), self.table.iloc[k].reset_index(drop=True)
                rows = pd.concat([(own if j in moved else other).iloc[:, j] for j in self.columns], axis=1)
            else:
                rows = np.where(np.isin(self.columns, moved), self.table[i], self.table[k])
            self.cache[moved] = self.predict(rows).reshape(n, n, -1).transpose(2, 0, 1)
        return self.cache[moved]

    def effect(self, moved, share):
        """Return the partial dependence at each row, centred, ``(o, i)``."""
        effect = self.crossed(tuple(sorted(moved))) @ share
        return effect - (effect @ share)[:, None]

    def statistics(self, weights=None, triples=()):
        """Return mean squares ``(k, o)``, numerators and denominators, by statistic."""
        weights = np.ones(len(self.table)) if weights is None else weights
        share = weights / weights.sum()
        features, every = self.features, set(self.columns)
        one = {j: self.effect([j], share) for j in features}
        two = {pair: self.effect(pair, share) for pair in combinations(features, 2)}
        three = {triple: self.effect(triple, share) for triple in triples}
        rest = {j: self.effect(every - {j}, share) for j in features}
        full = self.effect(every, share)

        def squares(functions):
            return np.array([function**2 @ share for function in functions])

        def pair(j, k):
            return two[j, k] if (j, k) in two else two[k, j]

        found = {
            "main": (squares(one.values()), squares([full])),
            "left_out": (squares([full - rest[j] for j in features]), squares([full])),
            "pairwise": (squares(two[j, k] - one[j] - one[k] for j, k in two), squares(two.values())),
            "overall": (squares([full - one[j] - rest[j] for j in features]), squares([full])),
            "total": (squares([full - sum(one.values())]), squares([full])),
        }
        if triples:
            among = (
                three[j, k, l] - pair(j, k) - pair(j, l) - pair(k, l) + one[j] + one[k] + one[l]
                for j, k, l in triples
            )
            found["threeway"] = squares(among), squares(three.values())
        return found


@cache
def naive_of(name, weighted=False):
    table = MODELS[name][1]
    return Naive(answer(name), table, range(table.shape[1]))


def positions(groups, names):
    """Return groups of features as positions in the table."""
    return [tuple(names.index(f) if isinstance(f, str) else f for f in group) for group in groups]


def agree(found, want, rtol, statistics=STATISTICS):
    """Every numerator and denominator, relative to the largest of its kind."""
    for statistic in statistics:
        ratio = getattr(found, statistic)
        for mine, theirs in zip((ratio.numerator, ratio.denominator), want[statistic], strict=True):
            theirs = np.broadcast_to(theirs, mine.shape)
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=rtol * np.abs(theirs).max(), err_msg=statistic)
            assert theirs.max() > 0


def tolerance(name):
    return 2e-5 if name.startswith("xgboost") else 1e-9  # XGBoost adds leaves in single precision


def asked(name, **arguments):
    response = MODELS[name][2]
    arguments.setdefault("response_method", "auto" if response is None else response)
    return paribus.h_statistic(fitted(name), MODELS[name][1], **arguments)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_the_numbers_of_the_definition(name, weights):
    found = asked(name, sample_weight=weights, threeway=4)
    assert found.provenance.evaluator == ("tree_exact" if name in TREES else "brute")
    names = list(found.feature_names)
    assert positions(found.feature_triples, names) == list(combinations(range(4), 3))
    want = naive_of(name).statistics(weights, tuple(combinations(range(4), 3)))
    agree(found, want, tolerance(name))
    np.testing.assert_allclose(found.variance, want["total"][1][0], rtol=1e-6)
    np.testing.assert_allclose(found.main_effect.numerator, want["main"][0], rtol=1e-5, atol=1e-9)


def bits(result):
    """Every array of a result, but for its record."""
    return {key: np.asarray(value).tobytes() for key, value in numbers(result).items()}


def numbers(result):
    if isinstance(result, paribus.Importance):
        names = ("values", "standard_error", "with_interactions", "standard_error_with_interactions", "repeats")
        return {name: getattr(result, name) for name in names if getattr(result, name) is not None}
    ratios = {name: getattr(result, name) for name in (*STATISTICS, "main_effect") if getattr(result, name)}
    return {(name, field.name): getattr(ratio, field.name) for name, ratio in ratios.items() for field in dataclasses.fields(ratio)}


def alike(one, other, rtol=1e-9):
    mine, theirs = numbers(one), numbers(other)
    assert mine.keys() == theirs.keys()
    for key, value in theirs.items():
        np.testing.assert_allclose(mine[key], value, rtol=rtol, atol=rtol * np.abs(value).max(), err_msg=str(key))


# ---------------------------------------------------------------- exact is brute force


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", TREES)
def test_trees_tell_the_numbers_and_errors_of_brute_force(name, weights):
    arguments = {"sample_weight": weights, "subsample": None}
    exact, brute = (asked(name, method=method, **arguments) for method in ("exact", "brute"))
    assert [one.provenance.evaluator for one in (exact, brute)] == ["tree_exact", "brute"]
    alike(exact, brute, 5e-5 if name.startswith("xgboost") else 1e-6)


@pytest.mark.parametrize("path", ["counted", "kept", "looked up", "lists"])
def test_every_way_to_count_gives_the_numbers_and_errors_of_brute_force(path, monkeypatch):
    X = np.random.default_rng(0).normal(size=(600, 3))
    model = hist("Regressor", max_iter=3, max_leaf_nodes=5 if path == "counted" else 31, max_bins=20)
    model.fit(X, X[:, 0] * X[:, 1] + X[:, 2] * (X[:, 0] > 0))
    if path == "looked up":
        monkeypatch.setattr(boxes, "TABLE_CELLS", 0)
    if path == "lists":
        monkeypatch.setattr(programs.program_of, "__defaults__", (2,))
    kept = []
    counting = trees.Counting.evaluate

    def watched(self, block):
        kept.append(self.pairs is None)
        return counting(self, block)

    monkeypatch.setattr(trees.Counting, "evaluate", watched)
    exact = paribus.h_statistic(model, X)
    assert any(kept) == (path != "counted")
    alike(exact, paribus.h_statistic(model, X, method="brute", subsample=None), 1e-6)


def test_golden_values_of_scikit_learn():
    """Those published with scikit-learn's pull request 28375, an implementation by brute force."""
    X, y = load_diabetes(return_X_y=True)
    model = forests.HistGradientBoostingRegressor(max_iter=5, max_depth=2).fit(X, y)
    for method in ("exact", "brute"):
        found = paribus.h_statistic(model, X, (3, 8, 2), subsample=None, method=method)
        assert found.feature_pairs == [(3, 8), (3, 2), (8, 2)]
        np.testing.assert_allclose(found.h_squared_pairwise, [0.00986, 0.00927, 0.03440], atol=5e-6)
        np.testing.assert_allclose(found.numerator_pairwise, [1.2956, 1.2420, 11.1336], atol=1e-4)
        np.testing.assert_allclose(found.denominator_pairwise, [131.397, 133.962, 323.658], atol=1e-3)
