"""Models and tables for tests of H-statistics, and the definition, the slow obvious way."""

import dataclasses
from functools import cache
from itertools import combinations

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import xgboost as xgb
from sklearn import ensemble as forests
from sklearn.svm import SVR

import paribus
from statistic_of import statistic_of

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


def agree(found, want, rtol, statistics=STATISTICS):
    """Every numerator and denominator, relative to the largest joint effect."""
    for statistic in statistics:
        ratio, size = found.ratio(statistic), np.abs(want[statistic][1]).max()
        for mine, theirs in zip((ratio.numerator, ratio.denominator), want[statistic], strict=True):
            theirs = np.broadcast_to(theirs, mine.shape)
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=rtol * size, err_msg=statistic)


def asked(name, **arguments):
    response = MODELS[name][2]
    arguments.setdefault("response_method", "auto" if response is None else response)
    return statistic_of("h_statistic", fitted(name), MODELS[name][1], **arguments)


def bits(result):
    """Every array of a result, but for its record."""
    return {key: np.asarray(value).tobytes() for key, value in numbers(result).items()}


def numbers(result):
    if isinstance(result, paribus.results.Importance):
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


MANY = np.random.default_rng(5).normal(size=(560, 4))
