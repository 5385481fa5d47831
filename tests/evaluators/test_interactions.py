"""H-statistics and importance end to end: the numbers of the definition, their errors, and what is said of them."""

import dataclasses
import tracemalloc
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
from sklearn import inspection
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._evaluators.interactions import tree_interactions
from paribus._evaluators.trees import leaf_boxes, programs

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
    TRAINED["level"].isin(["oak", "ash"]) * (2 + TRAINED["single"])
    + TRAINED["x"].fillna(2) * TRAINED["count"]
).to_numpy()


def hist(kind, **options):
    options = {"max_iter": 6, "min_samples_leaf": 5, "max_leaf_nodes": 9} | options
    return getattr(forests, f"HistGradientBoosting{kind}")(**options)


# By name: how it is fitted, the table it is requested, how it answers.
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
                own, other = (
                    self.table.iloc[i].reset_index(drop=True),
                    self.table.iloc[k].reset_index(drop=True),
                )
                rows = pd.concat([(own if j in moved else other).iloc[:, j] for j in self.columns], axis=1)
            else:
                rows = np.where(np.isin(self.columns, moved), self.table[i], self.table[k])
            self.cache[moved] = self.predict(rows).reshape(n, n, -1).transpose(2, 0, 1)
        return self.cache[moved]

    def effect(self, moved, share):
        """Return the partial dependence at each row, centered, ``(o, i)``."""
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
                three[a, b, c] - pair(a, b) - pair(a, c) - pair(b, c) + one[a] + one[b] + one[c]
                for a, b, c in triples
            )
            found["threeway"] = squares(among), squares(three.values())
        return found


@cache
def naive_of(name):
    table = MODELS[name][1]
    return Naive(answer(name), table, range(table.shape[1]))


def positions(groups, names):
    """Return groups of features as positions in the table."""
    return [tuple(names.index(f) if isinstance(f, str) else f for f in group) for group in groups]


def agree(found, want, rtol, statistics=STATISTICS):
    """Every numerator and denominator, relative to the largest joint effect."""
    for statistic in statistics:
        ratio, size = found.ratio(statistic), np.abs(want[statistic][1]).max()
        for mine, theirs in zip((ratio.numerator, ratio.denominator), want[statistic], strict=True):
            theirs = np.broadcast_to(theirs, mine.shape)
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=rtol * size, err_msg=statistic)


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
    assert all((found.ratio(statistic).numerator.max(axis=0) > 0).all() for statistic in STATISTICS)
    np.testing.assert_allclose(found.variance, want["total"][1][0], rtol=1e-6)
    np.testing.assert_allclose(found.main_effect.numerator, want["main"][0], rtol=1e-5, atol=1e-9)


def bits(result):
    """Every array of a result, but for its record."""
    return {key: np.asarray(value).tobytes() for key, value in numbers(result).items()}


def numbers(result):
    if isinstance(result, paribus.Importance):
        names = (
            "values",
            "standard_error",
            "with_interactions",
            "standard_error_with_interactions",
            "repeats",
        )
        return {name: getattr(result, name) for name in names if getattr(result, name) is not None}
    ratios = {name: getattr(result, name) for name in (*STATISTICS, "main_effect") if getattr(result, name)}
    return {
        (name, field.name): getattr(ratio, field.name)
        for name, ratio in ratios.items()
        for field in dataclasses.fields(ratio)
        if getattr(ratio, field.name) is not None  # of one model there is no mean of shares
    }


def alike(one, other, rtol=1e-9):
    mine, theirs = numbers(one), numbers(other)
    assert mine.keys() == theirs.keys()
    for key, value in theirs.items():
        np.testing.assert_allclose(
            mine[key], value, rtol=rtol, atol=rtol * np.abs(value).max(), err_msg=str(key)
        )


# ---------------------------------------------------------------- exact is brute force


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", TREES)
def test_trees_tell_the_numbers_and_errors_of_brute_force(name, weights):
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
def test_every_way_to_count_gives_the_numbers_and_errors_of_brute_force(path, monkeypatch):
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
        monkeypatch.setattr(programs.program_of, "__defaults__", (2,))
    kept = []
    counting = tree_interactions.CoveragePass.evaluate

    def watched(self, block):
        kept.append(self.pairs is None)
        return counting(self, block)

    monkeypatch.setattr(tree_interactions.CoveragePass, "evaluate", watched)
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


# ---------------------------------------------------------------- standard errors


def jackknife(statistics, weights):
    """Return the standard errors of numerators and ratios, from what a little more weight of each row does."""
    errors, counted = {}, np.flatnonzero(weights)
    for row in counted:
        moved = []
        for factor in (1 + 1e-4, 1 - 1e-4):
            other = weights.copy()
            other[row] *= factor
            moved.append(statistics(other))
        for name in moved[0]:
            both = [np.stack([one[name][0], one[name][0] / one[name][1]]) for one in moved]
            errors.setdefault(name, []).append((both[0] - both[1]) / 2e-4)
    factor = len(counted) / (len(counted) - 1)
    return {name: np.sqrt(factor * np.sum(np.square(one), axis=0)) for name, one in errors.items()}


@cache
def of_three_columns(name):
    models = {
        "hist": hist("Regressor"),
        "forest": forests.RandomForestRegressor(3, max_depth=5, random_state=0),
        "lightgbm": lgb.LGBMRegressor(**LGB),
    }
    target = np.c_[SIGNAL, TRAIN[:, 1] ** 2] if name == "forest" else SIGNAL
    return models[name].fit(TRAIN[:, :3], target)


@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", ["hist", "forest", "lightgbm", "function"])
def test_standard_errors_are_what_a_little_more_weight_of_each_row_does(name, weights):
    if name == "function":  # three of four columns: brute force, no total
        model, table = product_of_three, FULL
    else:
        model, table = of_three_columns(name), FULL[:, :3]
    predict = model if name == "function" else model.predict
    naive = Naive(lambda rows: np.asarray(predict(rows)).reshape(len(rows), -1), table, range(3))
    want = jackknife(lambda w: naive.statistics(w, ((0, 1, 2),)), weights)
    found = paribus.h_statistic(model, table, [0, 1, 2], sample_weight=weights, threeway=3)
    assert found.provenance.evaluator == ("brute" if name == "function" else "tree_exact")
    assert (found.total is None) == (name == "function")
    for statistic in found.computed:
        ratio = found.ratio(statistic)
        have = np.stack([ratio.numerator_error, ratio.ratio_error])
        np.testing.assert_allclose(
            have, want[statistic], rtol=1e-5, atol=1e-7 * want[statistic].max(), err_msg=statistic
        )
        assert (have > 0).all()
    np.testing.assert_allclose(found.main_effect.numerator_error, want["main"][0], rtol=1e-5)
    importance = paribus.feature_importance(model, table, features=[0, 1, 2], sample_weight=weights)
    values = naive.statistics(weights)
    for part, key in (("", "main"), ("_with_interactions", "left_out")):
        # The error of a root is that of the square over twice the root.
        error = np.squeeze(want[key][0] / 2 / np.sqrt(values[key][0]))
        np.testing.assert_allclose(getattr(importance, f"standard_error{part}"), error, rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_standard_errors_of_a_sample_are_nearly_those_of_all_rows(weighted, monkeypatch):
    X = np.random.default_rng(1).normal(size=(6_000, 3))
    arguments = {"sample_weight": np.random.default_rng(2).exponential(size=6_000) if weighted else None}
    some = paribus.h_statistic(of_three_columns("lightgbm"), X, **arguments)
    monkeypatch.setattr(tree_interactions, "WITNESSES", 10_000)
    every = paribus.h_statistic(of_three_columns("lightgbm"), X, **arguments)
    drawn = some.provenance.standard_error_rows
    assert drawn < 6_000 == every.provenance.standard_error_rows
    assert f"standard errors from {drawn:,} of them" in repr(some)
    assert "of them" not in repr(every)
    for statistic in ("pairwise", "overall", "total"):
        one, other = some.ratio(statistic), every.ratio(statistic)
        assert one.numerator.tobytes() == other.numerator.tobytes()
        for part in ("numerator_error", "ratio_error"):
            np.testing.assert_allclose(getattr(one, part), getattr(other, part), rtol=0.15)


def test_intervals_hold_the_strengths_of_the_population():
    rng = np.random.default_rng(0)
    population = rng.normal(size=(40_000, 3))
    model = lgb.LGBMRegressor(**LGB).fit(TRAIN[:, :3], SIGNAL)
    truth = paribus.h_statistic(model, population)
    held = []
    for _ in range(200):
        found = paribus.h_statistic(model, population[rng.choice(len(population), 500)], n_jobs=1)
        held.append(
            [
                np.abs(found.ratio(name).strength - truth.ratio(name).strength)
                <= 1.96 * found.ratio(name).strength_error
                for name in ("pairwise", "overall")
            ]
        )
    counts = np.sum(held, axis=0)
    assert (truth.strength_pairwise > 0.05).all()
    assert (counts >= 180).all(), counts


# ---------------------------------------------------------------- zero is zero, and units do not matter

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
def test_units_of_the_prediction_do_not_matter(power):
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
def test_scaling_the_target_of_trees_scales_every_number_exactly(name, power):
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


# ---------------------------------------------------------------- rows and weights

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
def test_integer_weights_are_repeated_rows(name):
    times = np.arange(N) % 4
    weighted = ask_rows(name, np.arange(N), sample_weight=times)
    repeated = ask_rows(name, np.repeat(np.arange(N), times))
    for statistic in STATISTICS:
        for part in ("numerator", "denominator"):
            mine, theirs = (getattr(one.ratio(statistic), part) for one in (weighted, repeated))
            np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)


@BOTH_WAYS
def test_a_row_of_weight_zero_is_no_row(name):
    counted = np.flatnonzero(WEIGHTS)
    assert 0 < len(counted) < N
    whole, part = (
        ask_rows(name, np.arange(N), sample_weight=WEIGHTS),
        ask_rows(name, counted, sample_weight=WEIGHTS[counted]),
    )
    alike(whole, part, 1e-12)
    assert whole.provenance.points == part.provenance.points == len(counted)
    assert whole.provenance.sampled_rows is None


@BOTH_WAYS
def test_equal_weights_are_no_weights(name):
    alike(ask_rows(name, np.arange(N), sample_weight=np.full(N, 7.0)), ask_rows(name, np.arange(N)))


@BOTH_WAYS
def test_the_order_of_rows_changes_nothing(name):
    order = np.random.default_rng(0).permutation(N)
    alike(
        ask_rows(name, order, sample_weight=WEIGHTS[order]),
        ask_rows(name, np.arange(N), sample_weight=WEIGHTS),
    )


@BOTH_WAYS
def test_the_order_of_features_permutes_the_results(name):
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
def test_features_may_be_a_subset_however_they_are_named(name, features, tokens):
    found = asked(name, features=features, feature_names=list("abcd"))
    assert found.features == tokens
    assert found.feature_pairs == [tokens]
    places = ["abcd".index(t) if isinstance(t, str) else t for t in tokens]
    naive = naive_of(name)
    want = Naive(naive.predict, naive.table, places).statistics()
    agree(found, want, 1e-9, ("pairwise", "overall"))
    assert found.total is None
    assert "there is no total" in "".join(found.notes)
    assert found.feature_names == tuple("abcd"[j] for j in places)


@pytest.mark.parametrize("library", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "pyarrow"])
def test_other_libraries_of_tables(library):
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


# ---------------------------------------------------------------- threads


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", ["exact", "brute"])
def test_threads_and_repetition_do_not_change_a_bit(method, weighted):
    X = np.random.default_rng(0).normal(size=(6_000, 4))
    weights = np.random.default_rng(1).exponential(size=6_000) if weighted else None
    arguments = {"method": method, "threeway": 3, "sample_weight": weights}
    if method == "brute":
        arguments["subsample"] = 60
    model = fitted("lightgbm")
    once, again, two, four = (
        paribus.h_statistic(model, X, n_jobs=jobs, **arguments) for jobs in (1, 1, 2, 4)
    )
    assert bits(once) == bits(again) == bits(two) == bits(four)
    timeless = [
        dataclasses.replace(one.provenance, date="", seconds=0.0, max_memory=0) for one in (once, again)
    ]
    assert timeless[0] == timeless[1]
    assert four.provenance.threads == 4


# ---------------------------------------------------------------- which rows

MANY = np.random.default_rng(5).normal(size=(560, 4))


@pytest.mark.parametrize("seed", [None, 0, 7])
@pytest.mark.parametrize("size", [{"subsample": 50}, {"n_max": 50}], ids=["subsample", "n_max"])
@pytest.mark.parametrize("name", ["lightgbm", "function"])
def test_drawn_rows_are_those_numpy_draws(name, size, seed):
    found = paribus.h_statistic(fitted(name), MANY, random_state=seed, **size)
    rows = np.sort(np.random.default_rng(seed or 0).choice(560, 50, replace=False))
    alike(found, paribus.h_statistic(fitted(name), MANY[rows], subsample=None), 1e-12)
    provenance = found.provenance
    assert (provenance.rows, provenance.sampled_rows, provenance.seed) == (560, 50, seed or 0)
    assert any("computed on 50 of 560 rows" in note for note in found.notes)
    assert f"averaged over 50 of 560 rows, drawn with seed {seed or 0}" in repr(found)


def test_drawn_rows_have_weight():
    weights = np.arange(560) % 2 * 1.5
    found = paribus.h_statistic(product_of_three, MANY, subsample=40, sample_weight=weights, random_state=3)
    rows = np.sort(np.random.default_rng(3).choice(np.flatnonzero(weights), 40, replace=False))
    alike(found, paribus.h_statistic(product_of_three, MANY[rows]), 1e-12)


def test_auto_is_every_row_of_trees_and_five_hundred_of_others():
    exact, brute = (paribus.h_statistic(fitted(name), MANY, [0, 1]) for name in ("lightgbm", "function"))
    assert (exact.provenance.sampled_rows, exact.provenance.seed, exact.provenance.points) == (
        None,
        None,
        560,
    )
    assert (brute.provenance.sampled_rows, brute.provenance.seed, brute.provenance.points) == (500, 0, 500)
    every = paribus.h_statistic(product_of_three, MANY, [0, 1], subsample=None)
    assert (every.provenance.sampled_rows, every.provenance.points) == (None, 560)
    assert not any("computed on" in note for note in every.notes)
    assert "averaged over 560 rows (unweighted)" in repr(every)
    larger = paribus.h_statistic(product_of_three, MANY, [0, 1], subsample=9_999)
    assert bits(larger) == bits(every)
    assert larger.provenance.sampled_rows is None


def test_a_generator_is_asked_for_a_seed():
    one, other = (
        paribus.h_statistic(
            product_of_three, MANY, [0, 1], subsample=30, random_state=np.random.default_rng(4)
        )
        for _ in range(2)
    )
    assert bits(one) == bits(other)
    assert one.provenance.seed == int(np.random.default_rng(4).integers(2**31))
    old = paribus.h_statistic(
        product_of_three, MANY, [0, 1], subsample=30, random_state=np.random.RandomState(4)
    )
    assert old.provenance.seed == int(np.random.RandomState(4).randint(2**31 - 1))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"subsample": 1}, r"subsample=1 must be an integer of at least 2, None or 'auto'"),
        ({"subsample": 2.5}, r"subsample=2.5 must be"),
        ({"subsample": True}, r"subsample=True must be"),
        ({"subsample": "all"}, r"subsample='all' must be"),
        ({"n_max": 0}, r"n_max=0 must be an integer of at least 2"),
        ({"n_max": 20, "subsample": 20}, r"subsample=20 and n_max=20 are aliases; pass one of them"),
        ({"n_max": 20, "subsample": None}, r"subsample=None and n_max=20 are aliases; pass one of them"),
        ({"random_state": -1}, r"random_state=-1 must be an integer of at least 0"),
        ({"random_state": "seed"}, r"random_state='seed' must be"),
        ({"threeway": -1}, r"threeway=-1 must be an integer of at least 0"),
        ({"threeway": True}, r"threeway=True must be"),
        ({"overall": 1}, r"overall=1 must be one of True, False"),
        ({"progress": "yes"}, r"progress='yes' must be one of None, True, False"),
        ({"method": "fast"}, r"method='fast'"),
        ({"features": [0]}, r"features=\[0\]: an interaction needs at least two features"),
    ],
)
def test_options_out_of_range(arguments, message):
    with pytest.raises(paribus.OptionError, match=message):
        paribus.h_statistic(product_of_three, MANY, **arguments)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ([], "features is empty"),
        (["x9", 0], "'x9' is not a column"),
        ([(0, 1), 2], r"features=\[\(0, 1\), 2\] has a group of features; pass single ones"),
        ([0, 9], "9"),
        ([0, -1], "-1"),
        ([0, 0], "twice"),
    ],
)
def test_features_out_of_range(features, message):
    with pytest.raises(paribus.FeatureError, match=message):
        paribus.h_statistic(product_of_three, MANY, features)


# ---------------------------------------------------------------- what was computed


def test_only_what_was_asked_for_is_computed():
    found = asked("lightgbm", overall=False)
    assert found.computed == ("pairwise",)
    assert bits(found).items() <= bits(asked("lightgbm")).items()
    assert asked("function", overall=False).computed == ("pairwise",)


@pytest.mark.parametrize("overall", [True, False])
@pytest.mark.parametrize("name", ["lightgbm", "function"])
def test_threeway_is_of_the_features_that_interact_most(name, overall):
    found = asked(name, threeway=3, overall=overall)
    if overall:
        strength = found.overall.numerator.sum(axis=1)
    else:
        strength = np.array(
            [
                sum(found.numerator_pairwise[k] for k, pair in enumerate(found.pairs) if j in pair)
                for j in range(4)
            ]
        )
    assert found.feature_triples == [tuple(sorted(np.argsort(-strength)[:3].tolist()))]
    want = naive_of(name).statistics(None, tuple(found.feature_triples))
    agree(found, want, 1e-9, ("threeway",))


# ---------------------------------------------------------------- how it was computed


def distinct(columns):
    return len(np.unique(FULL[:, list(columns)], axis=0))


@pytest.mark.parametrize("threeway", [0, 3])
def test_predictions_are_counted_exactly(threeway):
    asked_rows = []

    def model(X):
        asked_rows.append(len(X))
        return product_of_three(X)

    found = paribus.h_statistic(model, FULL, threeway=threeway)
    provenance = found.provenance
    assert sum(asked_rows[2:]) == provenance.predictions  # two calls to get to know the model
    # Every row is evaluated once with each distinct combination of values.
    assert [distinct(column) for column in ((0,), (1,), (2,), (3,))] == [44, 37, 44, 3]
    groups = [group for size in (1, 2) for group in combinations(range(4), size)]
    for triple in found.feature_triples:
        groups += [*combinations(triple, 2), triple]
    assert provenance.predictions == N * sum(map(distinct, groups))
    assert f"{provenance.predictions:,} predictions" in repr(found)


def test_trees_are_not_asked_to_predict(monkeypatch):
    model, asked_rows = hist("Regressor").fit(TRAIN, SIGNAL), []
    predict = type(model).predict
    monkeypatch.setattr(type(model), "predict", lambda self, X: asked_rows.append(len(X)) or predict(self, X))
    found = paribus.h_statistic(model, MANY)
    assert found.provenance.evaluator == "tree_exact"
    assert found.provenance.predictions == 0
    assert 0 < sum(asked_rows) <= 288  # a few, to check that the trees were read well, none per row


def test_a_model_without_trees_refuses_a_shortcut_with_its_reason():
    with pytest.raises(
        paribus.RefusalError, match=r"tree_exact: .*SVR.*it is not a shortcut.*method='brute'"
    ):
        asked("support vectors", method="exact")
    provenance = asked("support vectors").provenance
    assert provenance.evaluator == "brute"
    assert "SVR" in provenance.refusals["tree_exact"]
    assert provenance.why == "the fastest that applies"
    by_name = asked("lightgbm", method="brute").provenance
    assert (by_name.evaluator, by_name.why) == ("brute", "requested by method='brute'")
    assert by_name.refusals == {"tree_exact": "method='brute' was requested by name"}


def test_probabilities_of_a_booster_are_asked_for():
    model = lgb.LGBMClassifier(**LGB).fit(TRAIN, SIGNAL > 5)
    found = paribus.h_statistic(model, FULL, response_method="predict_proba")
    assert found.provenance.evaluator == "brute"
    assert "predict_proba is no sum over leaves" in found.provenance.refusals["tree_exact"]
    assert "response_method='decision_function'" in found.provenance.refusals["tree_exact"]
    assert any("on the probability scale" in note for note in found.notes)
    with pytest.raises(paribus.RefusalError, match="no sum over leaves"):
        paribus.h_statistic(model, FULL, response_method="predict_proba", method="exact")
    margin = paribus.h_statistic(model, FULL, response_method="decision_function")
    assert (margin.provenance.evaluator, margin.provenance.refusals) == ("tree_exact", {})
    assert not any("probability" in note for note in margin.notes)
    naive = Naive(lambda X: model.predict(X, raw_score=True)[:, None], FULL, range(4))
    agree(margin, naive.statistics(), 1e-9, ("pairwise", "overall", "total"))
    # The probabilities of a forest are sums over leaves.
    assert not any("probability" in note for note in asked("forest, three classes").notes)


def test_what_is_refused_late_makes_way_for_brute_force():
    """Integers beyond 2**24, of which one late row is rounded across a split of LightGBM."""
    first, n = 2**25, 240
    known = np.random.default_rng(0).normal(size=(n, 3))
    known[:, 0] = first + np.arange(n) % 10
    model = lgb.LGBMRegressor(**LGB, min_data_in_bin=1).fit(known, (known[:, 0] - first) * (1 + known[:, 1]))
    rows = np.round(10 * known).astype(np.int64)
    rows[:, 0] = first + 4 * (np.arange(n) % 3)
    late = rows.copy()
    late[n - 2, 0] = first + 3
    assert n - 2 not in np.unique(np.linspace(0, n - 1, 32).astype(int))  # it is not among those probed
    assert paribus.h_statistic(model, rows).provenance.evaluator == "tree_exact"
    found = paribus.h_statistic(model, late)
    assert found.provenance.evaluator == "brute"
    assert "rounds across a split" in found.provenance.refusals["tree_exact"]
    assert bits(found) == bits(paribus.h_statistic(model, late, method="brute"))
    with pytest.raises(paribus.RefusalError, match="rounds across a split"):
        paribus.h_statistic(model, late, method="exact")
    importance = paribus.feature_importance(model, late)
    assert importance.provenance.evaluator == "brute"


def test_what_the_library_refuses_is_refused():
    row = min(set(range(N)) - set(np.linspace(0, N - 1, 32).astype(int)))  # not among those probed
    spoiled = FULL.copy()
    spoiled[row, 0] = np.nan
    model = forests.GradientBoostingRegressor(n_estimators=5).fit(TRAIN, SIGNAL)
    for method in ("exact", "brute", "auto"):
        with pytest.raises(paribus.ParibusError, match=r"NaN|missing"):
            paribus.h_statistic(model, spoiled, method=method)
    weights = np.ones(N)
    weights[row] = 0
    alike(
        paribus.h_statistic(model, spoiled, sample_weight=weights),
        paribus.h_statistic(model, np.delete(FULL, row, 0)),
    )


def test_a_bound_that_is_too_small_is_an_error_or_makes_way():
    with pytest.raises(paribus.MemoryBoundError, match=r"44 rows crossed with each other in 4 features need"):
        asked("function", max_memory=10_000)
    with pytest.raises(MemoryError, match="smaller subsample="):
        asked("support vectors", max_memory="50kB")
    large = forests.RandomForestRegressor(40, random_state=0).fit(TRAIN, SIGNAL)
    few = {"subsample": 12, "max_memory": 500_000}
    with pytest.raises(paribus.MemoryBoundError, match=r"pairs of features .* max_memory is 500 kB"):
        paribus.h_statistic(large, FULL, method="exact", **few)
    with pytest.warns(paribus.CostWarning, match=r"about 12 predictions .* needs 18.* Raise max_memory"):
        found = paribus.h_statistic(large, FULL, **few)
    assert found.provenance.evaluator == "brute"
    assert "max_memory is 500 kB" in found.provenance.refusals["tree_exact"]
    alike(found, paribus.h_statistic(large, FULL, method="exact", subsample=12), 1e-6)
    with pytest.raises(paribus.MemoryBoundError):  # and nothing announces what does not begin
        paribus.h_statistic(large, FULL, max_memory=20_000)


def test_groups_whose_h_must_not_be_read_as_it_stands_are_named():
    def far(X):
        return (X[:, 0] - X[:, 1]) ** 2

    x = np.linspace(-1, 1, 41)
    near = x + 0.1 * np.sin(99 * x)
    above = paribus.h_statistic(far, np.c_[x, near])
    agree(above, Naive(lambda X: far(X)[:, None], np.c_[x, near], range(2)).statistics(), 1e-9, ("pairwise",))
    assert above.h_squared_pairwise[0] > 2
    assert above.notes == (
        "x0 x x1 have an H² above 1, because their own effects cancel in the joint one; compare strengths",
    )
    vanishing = paribus.h_statistic(far, np.c_[x, x])
    assert vanishing.strength_pairwise[0] > 0.1
    assert np.isnan(vanishing.h_squared_pairwise[0])
    assert vanishing.notes[0] == (
        "x0 x x1 interact, but their joint effect vanishes, so that H² is not defined"
    )
    weak = paribus.h_statistic(lambda X: 100 * X[:, 0] + 1e-2 * X[:, 1] * X[:, 2], FULL[:, :3])
    assert weak.h_squared_pairwise[2] > 0.5
    assert weak.h_squared_pairwise[:2].tolist() == [0, 0]
    assert weak.notes == (
        "x1 x x2 have a joint effect below 0.1% of the prediction's variance: their H² is noise",
    )
    assert paribus.h_statistic(lambda X: X[:, 0] * (X[:, 1] + 5) + X[:, 2], FULL[:, :3]).notes == ()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_prediction_that_is_not_finite_is_told_and_not_called_zero(value):
    def model(X):
        return np.where(X[:, 0] > 1, value, X[:, 0] * X[:, 1])

    found = paribus.h_statistic(model, FULL)
    assert any("not finite" in note for note in found.notes)
    assert np.isnan(found.variance).all()
    assert np.isnan(found.numerator_overall).all()
    assert np.isnan(paribus.feature_importance(model, FULL).values).all()


@pytest.mark.parametrize("kind", ["function", "tree"])
def test_whole_numbers_far_from_zero_keep_their_interactions(kind):
    """What single precision could hold was not therefore computed in it."""

    def model(X):
        return 1e6 + (X[:, 0] > 0) * (X[:, 1] > 0)

    fit = model if kind == "function" else DecisionTreeRegressor(max_depth=2).fit(TRAIN, model(TRAIN))
    found = paribus.h_statistic(fit, FULL)
    want = Naive(lambda X: model(X)[:, None] - 1e6, FULL, range(4)).statistics()
    np.testing.assert_allclose(found.numerator_pairwise[0], want["pairwise"][0][0], rtol=1e-6)
    assert found.strength_pairwise[0] > 0.1


def test_a_constant_model_has_no_interactions():
    constant = forests.RandomForestRegressor(2).fit(TRAIN, np.ones(300))
    for model, evaluator in ((lambda X: np.full(len(X), 3.0), "brute"), (constant, "tree_exact")):
        found = paribus.h_statistic(model, FULL, threeway=3)
        assert found.provenance.evaluator == evaluator
        assert found.h_squared_pairwise.tolist() == [0.0] * 6
        assert found.h_squared_overall.tolist() == [0.0] * 4
        assert found.h_squared_threeway.tolist() == [0.0]
        assert found.h_squared_total == 0.0


# ---------------------------------------------------------------- how much each feature matters


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_importance_by_effect_is_that_of_the_definition(name, weights):
    response = MODELS[name][2] or "auto"
    found = paribus.feature_importance(
        fitted(name), MODELS[name][1], sample_weight=weights, response_method=response
    )
    assert found.provenance.evaluator == ("tree_exact" if name in TREES else "brute")
    want = naive_of(name).statistics(weights)
    for values, key in ((found.values, "main"), (found.with_interactions, "left_out")):
        theirs = np.sqrt(want[key][0])
        assert values.shape == ((4,) if len(found.output_names) == 1 else (4, len(found.output_names)))
        np.testing.assert_allclose(
            values.reshape(theirs.shape),
            theirs,
            rtol=2e-5 if "xgb" in name else 1e-9,
            atol=1e-6 if "xgb" in name else 1e-9,
        )
    if name == "xgboost" and weights is not None:  # where no row is affected by the last column
        assert found.with_interactions[3] == want["left_out"][0][3] == 0
    assert found.method == "effect"
    assert found.repeats is None
    assert found.unit.startswith("standard deviation of the effect")


@pytest.mark.parametrize("name", ["lightgbm", "function"])
def test_importance_by_effect_is_the_deviation_of_partial_dependence(name):
    table = FULL
    model = lgb.LGBMRegressor(**LGB).fit(TRAIN, SIGNAL) if name == "lightgbm" else product_of_three
    found = paribus.feature_importance(model, table)
    for j in range(4):
        values, counts = np.unique(table[:, j], return_counts=True)
        curve = paribus.partial_dependence(model, table, j, custom_values={j: values}).average[0]
        deviation = np.sqrt(np.average((curve - np.average(curve, weights=counts)) ** 2, weights=counts))
        assert found.values[j] == pytest.approx(deviation, rel=1e-9)
    h = paribus.h_statistic(model, table)
    np.testing.assert_allclose(found.values, h.main_effect.strength[:, 0], rtol=1e-12)


def test_importance_by_effect_draws_and_says_so():
    found = paribus.feature_importance(product_of_three, MANY, subsample=80, random_state=2)
    rows = np.sort(np.random.default_rng(2).choice(560, 80, replace=False))
    want = paribus.feature_importance(product_of_three, MANY[rows], subsample=None)
    assert bits(found) == bits(want)
    assert (found.provenance.sampled_rows, found.provenance.seed) == (80, 2)
    assert any("computed on 80 of 560 rows" in note for note in found.notes)
    assert paribus.feature_importance(product_of_three, MANY).provenance.sampled_rows == 500
    one, many = (paribus.feature_importance(fitted("lightgbm"), MANY, n_jobs=jobs) for jobs in (1, 4))
    assert bits(one) == bits(many)
    assert one.provenance.predictions == 0


def test_importance_of_a_subset_in_another_order():
    every = paribus.feature_importance(fitted("lightgbm"), GAPS, feature_names=list("abcd"))
    some = paribus.feature_importance(fitted("lightgbm"), GAPS, features=["d", 0], feature_names=list("abcd"))
    assert some.features == ("d", 0)
    assert some.feature_names == ("d", "a")
    np.testing.assert_allclose(some.values, every.values[[3, 0]], rtol=1e-12)
    np.testing.assert_allclose(some.with_interactions, every.with_interactions[[3, 0]], rtol=1e-12)
    np.testing.assert_allclose(some.standard_error, every.standard_error[[3, 0]], rtol=1e-12)
    single = paribus.feature_importance(product_of_three, FULL, features=[2])
    assert single.values.shape == (1,)
    assert some.order == sorted(range(2), key=lambda k: -some.values[k])


def test_importance_by_permutation_end_to_end():
    frame = pd.DataFrame(TRAIN, columns=list("abcd"))
    model = LinearRegression().fit(frame, SIGNAL)
    arguments = {"method": "permutation", "n_repeats": 4, "random_state": 1}
    found = paribus.feature_importance(model, frame, y=SIGNAL, features=["a", ("b", "c"), 3], **arguments)
    assert found.features == ("a", ("b", "c"), 3)
    assert found.feature_names == ("a", "b + c", "d")
    assert found.repeats.shape == (3, 4)
    assert found.with_interactions is None
    np.testing.assert_allclose(found.values, found.repeats.mean(axis=1), rtol=1e-12)
    provenance = found.provenance
    assert (provenance.evaluator, provenance.seed, provenance.rows) == ("permutation", 1, 300)
    assert provenance.predictions == 300 * (1 + 3 * 4)
    table = found.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert set(table["feature"]) == {"a", "b + c", "d"}
    again = paribus.feature_importance(
        model, frame, y=SIGNAL, features=["a", ("b", "c"), 3], n_jobs=2, **arguments
    )
    assert bits(found) == bits(again)
    few = paribus.feature_importance(model, frame, y=SIGNAL, subsample=100, **arguments)
    assert (few.provenance.sampled_rows, few.provenance.standard_error_rows) == (100, 100)
    # A linear model loses twice the square of its slope times the variance, once for each of two rows.
    slopes = paribus.feature_importance(model, frame, y=SIGNAL, **arguments | {"n_repeats": 40}).values
    fit = LinearRegression().fit(TRAIN, model.predict(frame))
    want = 2 * fit.coef_**2 * TRAIN.var(axis=0)
    np.testing.assert_allclose(slopes, want, rtol=0.2, atol=0.02)


def test_importance_by_permutation_of_a_classifier_by_loss_and_by_score():
    model = LogisticRegression().fit(TRAIN, THREE)
    arguments = {"method": "permutation", "n_repeats": 20}
    loss = paribus.feature_importance(model, TRAIN, y=THREE, **arguments)
    assert "log" in loss.unit
    assert loss.provenance.response == "predict_proba"
    score = paribus.feature_importance(model, TRAIN, y=THREE, scoring="accuracy", **arguments)
    theirs = inspection.permutation_importance(model, TRAIN, THREE, scoring="accuracy", n_repeats=20)
    np.testing.assert_allclose(score.values, theirs.importances_mean, atol=0.03)
    assert score.order[0] == loss.order[0] == np.argmax(theirs.importances_mean)


def test_importance_by_the_model_itself():
    frame = pd.DataFrame(TRAIN, columns=list("abcd"))
    model = forests.RandomForestRegressor(5, random_state=0).fit(frame, SIGNAL)
    found = paribus.feature_importance(model, frame, method="model", features=["c", "a"])
    np.testing.assert_array_equal(found.values, model.feature_importances_[[2, 0]])
    assert found.feature_names == ("c", "a")
    assert np.isnan(found.standard_error).all()
    assert found.provenance.evaluator == "model"
    assert found.provenance.predictions == 0
    assert "no standard error" in found.notes[0]
    assert isinstance(found.to_frame(), pd.DataFrame)
    with pytest.raises(paribus.ParibusError):
        paribus.feature_importance(product_of_three, FULL, method="model")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"method": "gain"}, "method='gain'"),
        ({"method": "permutation"}, "method='permutation' needs y"),
        ({"scoring": "r2"}, "scoring has no meaning for method='effect'"),
        ({"n_repeats": 9}, "n_repeats has no meaning for method='effect'"),
        ({"method": "model", "y": SIGNAL}, "y has no meaning for method='model'"),
        ({"method": "model", "scoring": "r2"}, "scoring has no meaning for method='model'"),
        ({"method": "model", "response_method": "predict"}, "response_method has no meaning"),
        ({"method": "model", "subsample": 100}, "subsample has no meaning for method='model'"),
        ({"method": "permutation", "y": SIGNAL, "n_repeats": 0}, "n_repeats=0 must be"),
        ({"subsample": 1}, "subsample=1 must be"),
        ({"progress": 3}, "progress=3"),
    ],
)
def test_arguments_without_meaning_are_refused(arguments, message):
    with pytest.raises(paribus.OptionError, match=message):
        paribus.feature_importance(LinearRegression().fit(TRAIN, SIGNAL), TRAIN, **arguments)


def test_a_constant_model_has_no_variance():
    found = paribus.h_statistic(lambda X: np.full(len(X), 3.0), FULL)
    assert found.denominator_overall == found.denominator_total == 0
    assert any("does not vary" in note for note in found.notes)


@pytest.mark.parametrize("jobs", [1, 2])
def test_trees_keep_to_the_memory_bound_or_refuse(jobs):
    X = np.random.default_rng(0).normal(size=(30_000, 6))
    y = X[:5_000, 0] * X[:5_000, 1] + X[:5_000, 2] * X[:5_000, 3]
    forest = forests.RandomForestRegressor(5, random_state=0).fit(X[:5_000], y)

    def ask(bound):
        paribus.h_statistic(forest, X, max_memory=bound, n_jobs=jobs, method="exact", progress=False)

    ask(100e6)
    tracemalloc.start()
    ask(100e6)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
    with pytest.raises(paribus.MemoryBoundError, match="max_memory is 30 MB"):
        ask(30e6)


@pytest.mark.parametrize("method", ["permutation", "model"])
def test_names_of_outputs_mean_nothing_where_outputs_are_not_told_apart(method):
    y = {"y": FULL[:, 0]} if method == "permutation" else {}
    with pytest.raises(paribus.OptionError, match="target_names has no meaning for method"):
        paribus.feature_importance(lambda X: X[:, 0], FULL, method=method, target_names=["a"], **y)


def test_the_seed_of_the_rows_that_tell_errors_is_recorded(monkeypatch):
    model = DecisionTreeRegressor(max_depth=3).fit(FULL, FULL[:, 0] * FULL[:, 1])
    assert paribus.h_statistic(model, FULL, random_state=7).provenance.seed is None
    for size in ("WITNESSES", "FEWEST", "LEAST"):
        monkeypatch.setattr(tree_interactions, size, 8)
    provenance = paribus.h_statistic(model, FULL, random_state=7).provenance
    assert (provenance.standard_error_rows, provenance.seed, provenance.sampled_rows) == (8, 7, None)
