"""Random models and tables that statements are recomputed on: heavy tails, gaps, codes, copies, groups."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from threadpoolctl import threadpool_limits

import paribus

TARGETS = ("number", "two classes", "three classes")
FAMILIES = ("lightgbm", "histogram", "forest", "linear", "called", "function")


@dataclass(frozen=True, eq=False)
class Case:
    """A model with the rows it is explained on; ``options`` are those of `paribus.explain`."""

    model: Any
    X: pd.DataFrame
    y: Any
    weights: Any = None
    options: Mapping[str, Any] = field(default_factory=dict)
    known: Any = None  # the target of the fit, which a feature may repeat

    @cached_property
    def explanation(self):
        return paribus.explain(
            self.model, self.X, self.y, sample_weight=self.weights, progress=False, **self.options
        )

    def predict(self, table):
        """Return predictions ``(n, o)``: of a classifier probabilities, of two classes that of the second."""
        if hasattr(self.model, "predict_proba"):
            shares = self.model.predict_proba(table)
            return shares[:, 1:] if shares.shape[1] == 2 else shares
        predicted = self.model.predict(table) if hasattr(self.model, "predict") else self.model(table)
        return np.asarray(predicted, dtype=float).reshape(len(table), -1)

    @property
    def targets(self):
        """The target as numbers ``(n, o)``, those of classes as indicators."""
        if hasattr(self.model, "predict_proba"):
            classes = self.model.classes_[1:] if len(self.model.classes_) == 2 else self.model.classes_
            return np.equal.outer(np.asarray(self.y), classes).astype(float)
        return np.asarray(self.y, dtype=float).reshape(len(self.X), -1)


def random_table(rng, rows, *, function):
    """Return columns of many kinds, between four and seven of them, the last of them in any order."""
    base = rng.normal(size=rows)
    few = rng.integers(0, 3, rows)
    columns = {
        "heavy": rng.lognormal(0, 1.3, rows),
        "cubed": rng.normal(size=rows) ** 3,
        "coded": np.where(np.arange(rows) % (rows // 2) == 3, 999, rng.poisson(3, rows)),
        "few": np.where(np.arange(rows) == 7, 999, few),
        "gap": np.where(rng.random(rows) < 0.15, np.nan, base + rng.normal(size=rows)),
        "copy": base + 0.02 * rng.normal(size=rows),
        "related": 0.8 * base + 0.6 * rng.normal(size=rows),
        "mostly": np.where(rng.random(rows) < 0.97, 0.0, rng.normal(size=rows)),
        "constant": np.ones(rows),
        "wave": rng.uniform(-3, 3, rows),
        "kind": pd.Categorical(rng.choice(list("uvwxyz"), rows, p=[0.4, 0.3, 0.1, 0.1, 0.06, 0.04])),
        "town": pd.Categorical(np.where(rng.random(rows) < 0.1, None, rng.choice(["Bern", "Zug"], rows))),
    }
    if function:
        columns["absent"] = np.full(rows, np.nan)
        columns["endless"] = np.where(rng.random(rows) < 0.05, np.inf, rng.normal(size=rows))
        columns["text"] = rng.choice(["north", "south", "west"], rows)
    chosen = rng.permutation(list(columns))[: rng.integers(3, 6)]
    table = pd.DataFrame({"base": base} | {name: columns[name] for name in chosen})
    if rng.random() < 0.15:
        table = table.assign(**{f"side_{k}": (few == k).astype(int) for k in range(3)})
    return table


def as_numbers(table):
    """Return each column as numbers without missing or infinite values."""
    numbers = {}
    for name in table:
        column = table[name]
        if isinstance(column.dtype, pd.CategoricalDtype) or column.dtype.kind not in "biuf":
            column = column.map(lambda value: float(sum(map(ord, str(value))) % 5)).astype(float)
        column = column.to_numpy(float)
        numbers[name] = np.where(np.isfinite(column), column, 2.0)
    return numbers


class Formula:
    """A smooth function of some columns: terms with turns, a step, and a product of two columns."""

    def __init__(self, rng, table):
        self.names = list(rng.permutation(table.columns)[: max(2, len(table.columns) - 1)])
        self.slopes = rng.normal(size=len(self.names))
        self.forms = rng.integers(0, 4, len(self.names))
        self.product = rng.normal() * (rng.random() < 0.7)

    def __call__(self, table):
        numbers = as_numbers(table)
        total = np.zeros(len(table))
        for name, slope, form in zip(self.names, self.slopes, self.forms, strict=True):
            x = numbers[name]
            total = (
                total + slope * (x, np.sin(2 * np.clip(x, -9, 9)), np.minimum(x**2, 20), 2.0 * (x > 1))[form]
            )
        one, other = (np.clip(numbers[name], -3, 3) for name in self.names[:2])
        return total + self.product * one * other


class Hidden:
    """A model whose structure cannot be read: a linear one of bent columns and of one product."""

    def _bent(self, table):
        columns = [np.tanh(column) for column in as_numbers(table).values()]
        return np.column_stack([*columns, columns[0] * columns[1]])

    def fit(self, table, y):
        self.inner = clone(self.inner).fit(self._bent(table), y)
        return self


class HiddenRegressor(Hidden):
    inner = Ridge()

    def predict(self, table):
        return self.inner.predict(self._bent(table))


class HiddenClassifier(Hidden):
    inner = LogisticRegression()

    @property
    def classes_(self):
        return self.inner.classes_

    def predict_proba(self, table):
        return self.inner.predict_proba(self._bent(table))


@threadpool_limits.wrap(limits=1)
def fitted(family, target, X, y, seed):
    """Return a small model of a family, fitted to a table with any columns."""
    nominal = [name for name in X if isinstance(X[name].dtype, pd.CategoricalDtype)]
    numeric = [name for name in X if name not in nominal]
    prepared = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), numeric),
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), nominal),
    )
    classes = target != "number"
    if family == "lightgbm":
        kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        model = kind(n_estimators=12, num_leaves=8, min_child_samples=5, verbose=-1, n_jobs=1)
    elif family == "histogram":
        kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        model = kind(max_iter=12, max_leaf_nodes=8, categorical_features="from_dtype", random_state=seed)
    elif family == "forest":
        kind = RandomForestClassifier if classes else RandomForestRegressor
        model = make_pipeline(prepared, kind(8, max_depth=6, random_state=seed))
    elif family == "linear":
        model = make_pipeline(prepared, LogisticRegression(max_iter=500) if classes else Ridge())
    else:
        model = HiddenClassifier() if classes else HiddenRegressor()
    return model.fit(X, y)


def random_case(seed, *, most_rows, resolutions=(12, 20, 50)):
    """Return a random model, its rows and options; the same for the same seed."""
    rng = np.random.default_rng(seed)
    target, family = TARGETS[seed % 3], FAMILIES[seed // 3 % 6]
    if family == "function":
        target = "number"
    rows = int(300 * (most_rows / 300) ** rng.uniform() ** 2)  # half of them below 600
    X = random_table(rng, rows, function=family == "function")
    formula = Formula(rng, X)
    signal = formula(X)
    noise = rng.normal(size=rows) * (np.std(signal) + 0.1) * rng.choice([0.2, 1.0, 3.0])
    y = signal + noise
    without_skill, biased, leaked = rng.random(3) < (0.12, 0.12, 0.12)
    if target != "number":
        cuts = np.quantile(y, [0.7] if target == "two classes" else [0.4, 0.8])
        y = np.array(["low", "mid", "top"])[np.digitize(y, cuts)]
    if leaked:
        X["target"] = y if target == "number" else np.unique(y, return_inverse=True)[1]
    weights = rng.gamma(1.0, size=rows).round(2) if rng.random() < 0.35 else None
    model = formula if family == "function" else fitted(family, target, X, y, seed)
    observed = rng.permutation(y) if without_skill else y
    if biased and target == "number":
        observed = observed + np.std(y)
    options = {"grid_resolution": int(rng.choice(resolutions))}
    if rng.random() < 0.3:
        options["monotone"] = {"base": rng.choice(["rising", "falling"])}
    if rng.random() < 0.3:
        options["by"] = np.where(X["base"] > rng.choice([0.0, 1.5]), "above", "below")
    observed = None if rng.random() < 0.1 else observed
    return Case(model, X, observed, weights, options, y)


def rare_cases():
    """Return a case for each code that random models and tables hardly have."""
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    y = X["a"] + rng.normal(size=200)
    streets = X.assign(street=[f"street {number}" for number in np.arange(200) % 130])
    times = X.assign(time=pd.date_range("2026-01-01", periods=200, tz="Europe/Zurich"))
    wide = pd.DataFrame(rng.normal(size=(100, 42)), columns=[f"x{number}" for number in range(42)])
    few = np.where(np.arange(200) == 7, "few", np.where(np.arange(200) % 9 == 0, "some", "most"))
    return {
        "RARE_CATEGORIES": Case(lambda t: t["a"], streets, None),
        "TIME_ZONE": Case(lambda t: t["a"], times, None),
        "SMALL_GROUP": Case(lambda t: t["a"] * t["b"], X, y, None, {"by": few}),
        "REPEATED_UNITS": Case(lambda t: t["a"], X.assign(customer=np.arange(200) // 4), None),
        "COLUMNS_IGNORED": Case(Ridge().fit(X, y), X.assign(id=np.arange(200)), y),
        "PAIRS_CHOSEN": Case(lambda t: t["x0"] * t["x1"] + t["x2"], wide, None),
        "NOT_FINITE": Case(lambda t: np.where(t["a"] > 2, np.inf, t["a"]), X, None),
        "ROW_DEPENDENT": Case(lambda t: t["a"] - t["a"].mean() + t["b"], X, None),
        "CONSTANT_PREDICTION": Case(lambda t: np.full(len(t), 0.1), X, None),
        "SINGLE_ROW": Case(lambda t: t["a"] * t["b"], X.head(1), None),
    }
