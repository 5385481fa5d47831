"""A mixed table, and models behind preprocessing that makes several columns of one."""

from functools import cache

import lightgbm
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

ROWS = 240
FIRST = np.datetime64("2025-01-01")


def calendar(table):
    """Return the month and the years since the first of dates; a missing one is the first."""
    days = table.iloc[:, 0]
    return np.column_stack([days.dt.month.fillna(0), (days - pd.Timestamp(FIRST)).dt.days.fillna(0) / 365])


@cache
def mixed(rows=ROWS):
    """Return rows with missing values of every kind, a target and weights of which some are zero."""
    rng = np.random.default_rng(11)
    kind, city = rng.integers(0, 3, rows), rng.integers(0, 4, rows)
    X = pd.DataFrame(
        {
            "count": rng.poisson(4, rows),
            "gap": np.where(rng.random(rows) < 0.15, np.nan, rng.normal(size=rows) + kind),
            "kind": pd.Categorical.from_codes(np.where(rng.random(rows) < 0.05, -1, kind), ["u", "v", "w"]),
            "city": np.array(["Bern", "Basel", "Genf", "Chur"])[city],
            "day": FIRST + rng.integers(0, 500, rows).astype("timedelta64[D]").astype("timedelta64[s]"),
            "size": rng.gamma(2.0, size=rows),
        }
    )
    X.loc[::19, "city"] = None
    X.loc[::23, "day"] = pd.NaT
    y = X["gap"].fillna(2.0) * (kind == 1) + np.sqrt(X["count"]) * (city == 2) + np.log(X["size"])
    y += np.sin(X["day"].dt.month.fillna(6.0)) * (1 + kind) + rng.normal(size=rows) / 4
    return X, y.to_numpy(), np.where(rng.random(rows) < 0.2, 0.0, rng.gamma(1.0, size=rows))


def preprocessing(sparse=True):
    """Return steps that impute, mark, scale, bin and expand columns, none of which is joined with another."""
    return make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["gap"]),
        (KBinsDiscretizer(4, encode="onehot" if sparse else "onehot-dense", strategy="uniform"), ["count"]),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=sparse), ["kind", "city"]),
        (FunctionTransformer(calendar), ["day"]),
        (SplineTransformer(n_knots=4), ["size"]),
        remainder="drop",
        sparse_threshold=1.0 if sparse else 0.0,
    )


def monotone():
    """Return steps whose numbers rise or fall with those of the table."""
    return make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["gap"]),
        (KBinsDiscretizer(5, encode="ordinal", strategy="uniform"), ["count"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), ["kind", "city"]),
        (make_pipeline(FunctionTransformer(np.log1p), QuantileTransformer(n_quantiles=20)), ["size"]),
    )


def joining():
    """Return steps that make one column of count and size."""
    return make_column_transformer(
        (PolynomialFeatures(2), ["count", "size"]),
        (OneHotEncoder(handle_unknown="ignore"), ["kind"]),
        (SimpleImputer(), ["gap"]),
    )


LAST = {
    "forest": lambda: RandomForestRegressor(4, max_depth=6, random_state=0),
    "forest of classes": lambda: RandomForestClassifier(4, max_depth=5, random_state=0),
    "boosting": lambda: GradientBoostingRegressor(n_estimators=15, random_state=0),
    "histograms": lambda: HistGradientBoostingRegressor(max_iter=12, min_samples_leaf=5),
    "LightGBM": lambda: lightgbm.LGBMRegressor(
        n_estimators=15, num_leaves=9, min_child_samples=4, verbose=-1, n_jobs=1
    ),
    "ridge": lambda: Ridge(),
    "logistic": lambda: LogisticRegression(C=0.3, max_iter=500),
}


@cache
def fitted(last, steps=preprocessing, **options):
    """Return a pipeline fitted to the mixed table, once."""
    X, y, _ = mixed()
    if last in ("forest of classes", "logistic"):
        y = np.array(["low", "mid", "top"])[np.digitize(y, np.quantile(y, [0.4, 0.8]))]
    return make_pipeline(steps(**options), LAST[last]()).fit(X, y)
