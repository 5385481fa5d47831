"""Explanations for tests of the page: small ones, one with every part, one with hostile names."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import paribus
from paribus.notes import NoteCode

HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "</script><script>alert(2)</script>",
    "$$x_1$$ `code` | *a* [b](javascript:alert(3)) \"q\" 'q'",
    "\u202eright\u2066 to \u200fleft\u200b",
    "long " * 2000,
    "👩‍👩‍👧 émoji \x00\x07\x1b[31m\n new line </template> -->",
)


def rows_of(size=200, seed=0):
    """Return a small table with numbers, missing values, categories and a target."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({f"x{place}": rng.normal(size=size) for place in range(3)})
    X["city"] = pd.Categorical(rng.choice(["Bern", "Basel", "Genève"], size))
    X["income"] = np.where(rng.random(size) < 0.1, np.nan, np.exp(rng.normal(size=size)))
    y = X["x0"] * X["x1"] + X["city"].cat.codes + np.nan_to_num(X["income"]) + rng.normal(size=size)
    return X, y.to_numpy()


def encoded(X):
    """Return a table that scikit-learn's trees take."""
    return X.assign(city=X["city"].cat.codes.astype(float))


@cache
def explained():
    """Return an explanation of a tree, as it is."""
    X, y = rows_of()
    X = encoded(X)
    return paribus.explain(DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y), X, y)


@cache
def ten_features():
    """Return an explanation of ten features."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(300, 10)), columns=[f"feature {place}" for place in range(10)])
    y = X.to_numpy() @ np.arange(10.0) + X.iloc[:, 9] * X.iloc[:, 8] + rng.normal(size=300)
    return paribus.explain(DecisionTreeRegressor(max_depth=6, random_state=0).fit(X, y), X, y)


@cache
def of_classes():
    """Return an explanation of six classes, more than are drawn."""
    X, y = rows_of(300)
    X, classes = encoded(X), pd.qcut(y, 6, labels=list("abcdef")).astype(str)
    return paribus.explain(DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, classes), X, classes)


@cache
def complete():
    """Return an explanation with every part filled, also a broken direction."""
    X, y = rows_of()
    X = encoded(X)
    model = DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y)
    return paribus.explain(model, X, y, monotone={"income": "falling"})


@cache
def hostile():
    """Return an explanation whose features, categories, outputs, model and notes would be more than text."""
    rng = np.random.default_rng(1)
    names = list(HOSTILE)
    X = pd.DataFrame(rng.normal(size=(60, len(names))), columns=names)
    X[names[0]] = pd.Categorical(rng.choice(names, 60))
    model = LinearRegression().fit(X[names[1:]], X[names[1:]].to_numpy() @ np.arange(1.0, len(names)))
    model.feature_names_in_ = np.array(names[1:], object)

    def predict(table):
        codes = table[names[0]].astype(str).map(names.index).to_numpy(float)
        return model.predict(table[names[1:]]) + codes * table[names[1]].to_numpy()

    predict.__name__ = predict.__qualname__ = names[0]
    explanation = paribus.explain(predict, X, target_names=[names[1]])
    finding = NoteCode.FEATURE_SKIPPED.note(reason="; ".join(names), feature=names[0])
    model = replace(explanation.model, name=names[1], parameters={names[0]: names[2]})
    return replace(explanation, model=model, verdict=(finding, *explanation.verdict))
