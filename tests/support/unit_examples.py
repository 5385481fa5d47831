"""A table whose rows belong to units, models of it, and standard errors of units, the slow obvious way."""

from functools import cache

import lightgbm
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

ROWS, STEP = 72, 1e-4
FEATURES = ["a", "b", "n", "city"]
QUIET = {"progress": False}


def table(rows=ROWS, seed=5):
    """Return few values of each feature, so that each one is a grid point for any weights."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.integers(0, 9, rows) / 2, "b": rng.integers(-4, 5, rows).astype(float)})
    X["b"] = X["b"].where(rng.random(rows) > 0.1)
    X["n"] = rng.poisson(2, rows)
    X["city"] = pd.Categorical(rng.choice(["north", "south", "east"], rows))
    return X


X = table()
Y = (X["a"] * X["b"].fillna(3) / 4 + 0.3 * X["n"] + (X["city"] == "north") * X["a"]).to_numpy()
Y = Y + 0.5 * np.random.default_rng(6).normal(size=ROWS)
# Skewed units, whose rows are anywhere in the table.
UNITS = np.minimum(np.random.default_rng(7).geometric(0.09, ROWS), 16)
WEIGHTS = np.random.default_rng(8).choice([0.0, 0.5, 1.0, 3.0], ROWS, p=[0.1, 0.3, 0.4, 0.2])
EQUAL = np.ones(ROWS)


def called(rows):
    """Predict from a table of any library."""
    a, n = np.asarray(rows["a"], float), np.asarray(rows["n"], float)
    b = np.nan_to_num(np.asarray(rows["b"], float), nan=3.0)
    return a * b / 4 + n * (0.3 + 0.1 * a) + np.sin(a) * (np.asarray(rows["city"]) == "north")


@cache
def model(name):
    """Return a fitted model."""
    if name == "function":
        return called
    if name == "boosted trees":
        options = {"n_estimators": 15, "num_leaves": 8, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
        return lightgbm.LGBMRegressor(**options, min_data_per_group=5, cat_smooth=1).fit(X, Y)
    options = {"max_iter": 8, "min_samples_leaf": 5, "categorical_features": "from_dtype"}
    if name == "probabilities":
        return HistGradientBoostingClassifier(**options).fit(X, Y > 1)
    if name == "counts":
        return HistGradientBoostingRegressor(loss="poisson", **options).fit(X, target("counts"))
    columns = make_column_transformer((SimpleImputer(), ["a", "b", "n"]), (OneHotEncoder(), ["city"]))
    return make_pipeline(columns, Ridge()).fit(X, Y)


def target(name):
    """Return the target of a model."""
    return {"probabilities": Y > 1, "counts": np.round(np.abs(Y))}.get(name, Y)


def predicted(name, rows):
    """Return the prediction ``(n,)`` of each row."""
    fitted = model(name)
    if name == "probabilities":
        return fitted.predict_proba(rows)[:, 1]
    return np.asarray(fitted(rows) if name == "function" else fitted.predict(rows), float)


def jackknife(statistics, weights, units):
    """Return the standard errors of statistics, from what a little more weight of each unit does.

    ``statistics`` returns arrays by name for weights of the rows.
    """
    counted, moves = np.unique(units[weights > 0]), {}
    for unit in counted:
        up, down = (
            statistics(np.where(units == unit, weights * factor, weights)) for factor in (1 + STEP, 1 - STEP)
        )
        for name in up:
            move = (np.asarray(up[name], float) - np.asarray(down[name], float)) / (2 * STEP)
            moves.setdefault(name, []).append(move)
    factor = len(counted) / (len(counted) - 1)
    return {name: np.sqrt(factor * np.square(derivatives).sum(axis=0)) for name, derivatives in moves.items()}
