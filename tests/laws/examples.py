"""Models and rows that every law is held against: ties, missing values, categories, weights of zero."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

ROWS = 90
TAIL_ROWS = 420  # more than the points of a curve, so that most values in tails are no grid points
LABELS = ("u", "v", "w")


@dataclass(frozen=True, eq=False)
class Example:
    """A model and the rows it is explained on; ``options`` are those of the explainer.

    ``relabeled`` returns the same example with other labels of its category, where it has labels.
    """

    model: Any
    X: pd.DataFrame
    y: Any
    weights: np.ndarray
    options: Mapping[str, Any] = field(default_factory=dict)
    relabeled: Callable[[tuple[str, ...]], "Example"] | None = None

    @property
    def targets(self):
        """What came out, as named columns."""
        return pd.DataFrame(self.y).add_prefix("target ")

    def rows(self, places):
        """Return some rows, in any order, any number of times."""
        return self.X.iloc[places].reset_index(drop=True), np.asarray(self.y)[places], self.weights[places]


@cache
def codes(rows):
    """Return numbers and codes of categories of which some are missing, and weights of which some are zero."""
    rng = np.random.default_rng(7)
    a = rng.normal(size=rows).round(1)
    code = np.where(rng.random(rows) < 0.05, -1, rng.integers(0, 3, rows))
    b = np.where(rng.random(rows) < 0.1, np.nan, a + code + rng.normal(size=rows))
    X = pd.DataFrame({"a": a, "b": b, "n": rng.poisson(2, rows), "kind": code})
    y = a * np.nan_to_num(b, nan=2.0) + np.sqrt(X["n"]) * (code == 1) + rng.normal(size=rows)
    weights = np.where(rng.random(rows) < 0.2, 0.0, rng.gamma(1.0, size=rows))
    return X, y.to_numpy(), weights


def table(labels, rows):
    X, y, weights = codes(rows)
    return X.assign(kind=pd.Categorical.from_codes(X["kind"], list(labels))), y, weights


def worth(labels):
    """Return a model of one output that knows its categories by their labels."""

    def product(t):
        kind = t["kind"].astype(object).map(dict(zip(labels, (0.0, 2.0, 1.0), strict=True)))
        kind = kind.astype(float).fillna(-1.0).to_numpy()
        a, n = (t[name].to_numpy(float) for name in ("a", "n"))
        return a * t["b"].fillna(3.0).to_numpy() + np.sin(a) * kind + n * kind

    return product


@cache
def function(labels=LABELS, rows=ROWS):
    return Example(worth(labels), *table(labels, rows), relabeled=lambda new: function(new, rows))


@cache
def boosted(labels=LABELS, rows=ROWS):
    X, y, weights = table(labels, rows)
    model = lightgbm.LGBMRegressor(
        n_estimators=6, num_leaves=7, min_child_samples=5, min_data_per_group=5, cat_smooth=1, verbose=-1, n_jobs=1
    )  # fmt: skip
    return Example(model.fit(X, y), X, y, weights, relabeled=lambda new: boosted(new, rows))


@cache
def heavy_table(labels, rows):
    """Return columns with heavy tails, a code of missing values far outside, and no ties."""
    X, _, weights = table(labels, rows)
    rng = np.random.default_rng(13)
    X = X.assign(a=rng.lognormal(0.0, 1.2, rows), b=np.where(X["b"].isna(), np.nan, rng.standard_t(2, rows)))
    X["n"] = np.where(rng.random(rows) < 0.01, 999, rng.poisson(30, rows))
    y = np.log(X["a"]) * X["b"].fillna(1.0) + 3 * (X["a"] > 8) + (X["n"] > 40) + rng.normal(size=rows)
    return X, y.to_numpy(), weights


@cache
def heavy_tails(labels=LABELS, rows=TAIL_ROWS):
    X, y, weights = heavy_table(labels, max(rows, TAIL_ROWS))
    model = lightgbm.LGBMRegressor(
        n_estimators=12, num_leaves=15, min_child_samples=3, min_data_per_group=5, cat_smooth=1, verbose=-1, n_jobs=1
    )  # fmt: skip
    return Example(model.fit(X, y), X, y, weights, relabeled=lambda new: heavy_tails(new, rows))


@cache
def heavy_tails_of_a_function(labels=LABELS, rows=TAIL_ROWS):
    example = heavy_table(labels, max(rows, TAIL_ROWS))
    return Example(worth(labels), *example, relabeled=lambda new: heavy_tails_of_a_function(new, rows))


@cache
def classes(labels=LABELS, rows=ROWS):
    X, y, weights = table(labels, rows)
    y = np.array(["low", "mid", "top"])[np.digitize(y, np.quantile(y, [0.4, 0.8]))]
    model = HistGradientBoostingClassifier(
        max_iter=3, max_leaf_nodes=6, min_samples_leaf=5, categorical_features="from_dtype"
    )
    return Example(model.fit(X, y), X, y, weights, relabeled=lambda new: classes(new, rows))


@cache
def two_targets(rows=ROWS):
    X, y, weights = codes(rows)
    X, y = X.assign(kind=X["kind"].astype(float)), np.stack([y, np.cos(y)], axis=1)
    model = RandomForestRegressor(3, max_depth=5, random_state=0).fit(X, y)
    return Example(model, X, y, weights, {"categorical_features": ["kind"]})


def behind_preprocessing(last, labels, rows):
    """Return a pipeline of a last step on a table with text as well, and as an example what it was fitted on."""
    X, y, weights = table(labels, rows)
    rng = np.random.default_rng(9)
    X["word"] = np.where(rng.random(rows) < 0.1, None, rng.choice(["here", "there"], rows)).astype(object)
    steps = ColumnTransformer(
        [
            ("a", StandardScaler(), ["a"]),
            ("b", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["b"]),
            ("n", "passthrough", ["n"]),
            ("kind", OneHotEncoder(categories=[list(labels)], handle_unknown="ignore"), ["kind"]),
            ("word", OneHotEncoder(handle_unknown="ignore"), ["word"]),
        ],
        sparse_threshold=1.0,
    )
    return make_pipeline(steps, last).fit(X, y + (X["word"] == "here")), X, y, weights


@cache
def prepared_trees(labels=LABELS, rows=ROWS):
    last = RandomForestRegressor(4, max_depth=5, random_state=0)
    example = behind_preprocessing(last, labels, rows)
    return Example(*example, relabeled=lambda new: prepared_trees(new, rows))


@cache
def prepared_terms(labels=LABELS, rows=ROWS):
    example = behind_preprocessing(Ridge(), labels, rows)
    return Example(*example, relabeled=lambda new: prepared_terms(new, rows))


EXAMPLES = {
    "function": function,
    "boosted": boosted,
    "classes": classes,
    "two targets": two_targets,
    "pipeline": prepared_trees,
    "linear pipeline": prepared_terms,
    "heavy tails": heavy_tails,
    "heavy tails of a function": heavy_tails_of_a_function,
}


class Additive:
    """A sum of a function of each column; columns have few values, so that a grid holds them all."""

    terms = (np.sin, np.square, np.sqrt)
    names = ("p", "q", "r")

    def __init__(self, rows=ROWS):
        rng = np.random.default_rng(3)
        p = rng.integers(0, 4, rows).astype(float)
        q = np.clip(p + rng.integers(-1, 2, rows), 0, 4)
        self.X = pd.DataFrame({"p": p, "q": q, "r": rng.integers(0, 3, rows).astype(float)})
        self.weights = rng.gamma(1.0, size=rows)
        self.y = self.predict(self.X)

    def predict(self, t):
        return sum(term(t[name].to_numpy()) for name, term in zip(self.names, self.terms, strict=True))

    def mean(self, values):
        return np.average(values, weights=self.weights)

    def centered(self, name, at):
        """Return the term of a column at some values, less its mean over the rows."""
        term = self.terms[self.names.index(name)]
        return term(at) - self.mean(term(self.X[name].to_numpy()))
