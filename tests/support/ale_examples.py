"""Tables and models for tests of accumulated local effects, and how two effects are compared."""

from functools import cache

import catboost
import lightgbm
import numpy as np
import pandas as pd
import xgboost
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from paribus import accumulated_local_effects as ale

PARTS = ("ale", "standard_error", "local", "local_error", "support", "rows", "empty")


def one(model, X, feature=0, **options):
    """Return the only effect requested."""
    (effect,) = ale(model, X, [feature], **options).values()
    return effect


def same(have, want, tolerance=0.0, parts=PARTS):
    """Two effects are alike, up to a tolerance relative to the size of the effect; 0 means the bits."""
    assert have.feature_names == want.feature_names
    for mine, theirs in zip(have.grid_values, want.grid_values, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    size = max(1.0, float(np.abs(np.nan_to_num(want.ale)).max(initial=0.0)))
    for part in parts:
        np.testing.assert_allclose(have[part], want[part], rtol=0, atol=tolerance * size, err_msg=part)
    assert (have.missing is None) == (want.missing is None)
    if have.missing is not None:
        assert have.missing.anchor == want.missing.anchor
        for part in {"ale", "standard_error"} & set(parts):
            mine, theirs = getattr(have.missing, part), getattr(want.missing, part)
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=10 * tolerance * size, err_msg=part)


@cache
def mixed(rows=400):
    rng = np.random.default_rng(6)
    level = rng.integers(0, 4, rows)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=rows).round(1),
            "b": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows) + level),
            "n": rng.poisson(2, rows),
            "c": pd.Categorical(np.array(["w", "x", "y", "z"])[level]),
            "flag": rng.random(rows) < 0.3,
        }
    )
    frame.loc[::23, "c"] = None
    return frame


def mixed_model(t):
    b = t["b"].fillna(3.0).to_numpy()
    c = t["c"].astype(object).map({"w": 0.0, "x": 2.0, "y": 1.0, "z": 5.0}).astype(float).fillna(-1.0)
    a, flag = t["a"].to_numpy(), t["flag"].to_numpy(float)
    return a * b + np.sin(a) * c.to_numpy() + t["n"].to_numpy() * flag


ASKED = ["a", "b", "n", "c", "flag", ("a", "b"), ("a", "c"), ("c", "n")]


def asked(X, model=mixed_model, **options):
    return ale(model, X, ASKED, **options)


TREES = 12


@cache
def people(rows=500):
    """Numbers that go together, with missing values and categories; and a target."""
    rng = np.random.default_rng(7)
    a = rng.normal(size=rows)
    level = rng.integers(0, 6, rows)
    X = pd.DataFrame(
        {
            "a": np.where(rng.random(rows) < 0.1, np.nan, a),
            "b": a + rng.normal(size=rows),
            "n": rng.poisson(3, rows),
            "c": pd.Categorical(np.array(list("uvwxyz"))[level]),
        }
    )
    X.loc[rng.random(rows) < 0.08, "c"] = None
    y = np.where(np.isnan(X["a"]), 2, a) * X["b"] + np.array([0, 3, 1, 4, 2, 5])[level] + X["n"]
    return X, y.to_numpy()


@cache
def plain_people():
    X, y = people()
    return X[["a", "b", "n"]].fillna({"a": 0.0}), y


def classes(y):
    return np.digitize(y, np.quantile(y, [0.4, 0.8]))


@cache
def library(name):
    """Return a model, the table to ask about, whether it answers in single precision, and options."""
    plain, y = plain_people()
    X, _ = people()
    numeric, three, two = X[["a", "b", "n"]], classes(y), (y > np.median(y)).astype(int)
    both = np.stack([y, -(y**2)], axis=1)
    depth = {"max_depth": 4, "random_state": 0}
    models = {
        "tree": lambda: (DecisionTreeRegressor(random_state=0).fit(plain, y), plain),
        "tree with missing values": lambda: (DecisionTreeRegressor(random_state=0).fit(numeric, y), numeric),
        "tree of classes": lambda: (
            DecisionTreeClassifier(max_depth=6, random_state=0).fit(plain, three),
            plain,
        ),
        "forest": lambda: (RandomForestRegressor(TREES, random_state=0).fit(plain, y), plain),
        "forest of two": lambda: (RandomForestRegressor(TREES, random_state=0).fit(plain, both), plain),
        "forest of classes": lambda: (RandomForestClassifier(TREES, random_state=0).fit(plain, three), plain),
        "extra trees": lambda: (ExtraTreesRegressor(TREES, random_state=0).fit(plain, y), plain),
        "boosting": lambda: (GradientBoostingRegressor(n_estimators=TREES, **depth).fit(plain, y), plain),
        "boosting of classes": lambda: (
            GradientBoostingClassifier(n_estimators=TREES, **depth).fit(plain, three),
            plain,
        ),
        "histograms": lambda: (
            HistGradientBoostingRegressor(max_iter=TREES, categorical_features="from_dtype").fit(X, y),
            X,
        ),
        "histograms of classes": lambda: (
            HistGradientBoostingClassifier(max_iter=TREES, categorical_features="from_dtype").fit(X, three),
            X,
        ),
        "XGBoost": lambda: (xgboost.XGBRegressor(n_estimators=TREES).fit(numeric, y), numeric),
        "XGBoost with categories": lambda: (
            xgboost.XGBRegressor(n_estimators=TREES, enable_categorical=True, max_cat_to_onehot=2).fit(X, y),
            X,
        ),
        "XGBoost of two classes": lambda: (
            xgboost.XGBClassifier(n_estimators=TREES, enable_categorical=True).fit(X, two),
            X,
        ),
        "XGBoost of classes": lambda: (
            xgboost.XGBClassifier(n_estimators=TREES, enable_categorical=True).fit(X, three),
            X,
        ),
        "LightGBM": lambda: (
            lightgbm.LGBMRegressor(n_estimators=TREES, min_child_samples=5, verbose=-1, n_jobs=1).fit(X, y),
            X,
        ),
        "LightGBM of classes": lambda: (
            lightgbm.LGBMClassifier(n_estimators=TREES, min_child_samples=5, verbose=-1, n_jobs=1).fit(
                X, three
            ),
            X,
        ),
        "CatBoost": lambda: (
            catboost.CatBoostRegressor(n_estimators=TREES, depth=5, verbose=0, thread_count=1).fit(
                numeric, y
            ),
            numeric,
        ),
        "CatBoost of classes": lambda: (
            catboost.CatBoostClassifier(n_estimators=TREES, depth=4, verbose=0, thread_count=1).fit(
                numeric, three
            ),
            numeric,
        ),
    }
    return models[name]()


LETTERS = list("dbeac")


@cache
def planted(noise, rows=600):
    """Return places of categories, and another number that grows from category to category."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 5, rows)
    return place, place + noise * rng.normal(size=rows)


def of_number(t):
    return np.asarray(t["y"]).astype(float)
