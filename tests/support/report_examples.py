"""Explanations for tests of the page: small ones, one with every part, one with hostile names."""

from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import paribus
from paribus.notes import Note, NoteCode
from paribus.results.model_record import ColumnRecord
from paribus.results.performance import Calibration, Metric, Performance, TrainingCurve
from paribus.results.shape import Monotonicity, Shape
from paribus.results.verdict import Check

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
    return paribus.explain(DecisionTreeRegressor(max_depth=4, random_state=0).fit(X, y), X, y, pairs=2)


@cache
def of_classes():
    """Return an explanation of six classes, more than are drawn."""
    X, y = rows_of(300)
    X, classes = encoded(X), pd.qcut(y, 6, labels=list("abcdef")).astype(str)
    return paribus.explain(
        DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, classes), X, classes, pairs=1
    )


@cache
def complete():
    """Return an explanation with every part filled, whatever explain finds of this model."""
    return with_parts(explained())


def with_parts(explanation):
    """Return an explanation with shapes, performance, columns, checks and findings of every kind."""
    shapes = []
    for place, name in enumerate(explanation.feature_names):
        effect = explanation.effects[name]
        broken = Monotonicity(
            "rising", place == 0, 0.25, 0.05, effect.grid_values[0][0], effect.grid_values[0][-1], 0.4
        )
        for output in range(len(effect.output_names)):
            curve = effect.average[output]
            low, high = (effect.grid_values[0][at] for at in (curve.argmin(), curve.argmax()))
            moved = float(np.ptp(curve))
            label = effect.output_names[output]
            words = ("rising", "U", "flat", "categories", "wavy")[place % 5]
            order = None if words == "categories" else broken
            errors = np.zeros(len(curve))
            shapes.append(Shape(name, label, words, moved, 0.01, low, high, order, errors, 200))
    metrics = (
        Metric("mean squared error", None, 1.25, 0.05, "lower"),
        Metric("R²", None, 0.61, np.nan, "near 1"),
    )
    groups = np.linspace(0.1, 0.9, 5)
    calibrations = tuple(
        Calibration(output, groups, groups + 0.02, np.full(5, 0.01), np.full(5, 40.0))
        for output in explanation.output_names
    )
    curves = tuple(
        TrainingCurve(data, "l2", np.linspace(2, 1, 80) + place)
        for place, data in enumerate(("train", "valid"))
    )
    performance = Performance(metrics, calibrations, curves, (), explanation.provenance)
    columns = tuple(
        ColumnRecord(name, "numeric", "float64", -1.5, 2.5, 0.1, None) for name in explanation.feature_names
    )
    first = explanation.feature_names[0]
    found = tuple(
        Note(NoteCode.EXTRAPOLATION, f"{name}: 12% of the curve combines what does not occur", name, 0.12)
        for name in explanation.feature_names
    )
    verdict = (*found, Note(NoteCode.MISSING_VALUES, f"{first} is missing in 10% of the data", first, 0.1))
    checks = (
        Check(NoteCode.EXTRAPOLATION, len(found), False),
        Check(NoteCode.MISSING_VALUES, 1, False),
        Check(NoteCode.NEARLY_CONSTANT, 0, False),
        Check(NoteCode.INFINITE_VALUES, 0, False),
        Check(NoteCode.ALE_DIFFERS, 2, True),
    )
    model = replace(
        explanation.model,
        parameters={"max_depth": "4", "criterion": "squared_error"},
        trees=1,
        leaves=16,
        depth=4,
    )
    return replace(
        explanation,
        shapes=tuple(shapes),
        performance=performance,
        columns=columns,
        verdict=verdict,
        checks=checks,
        model=model,
    )


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
    explanation = with_parts(paribus.explain(predict, X, pairs=2, target_names=[names[1]]))
    return replace(
        explanation, model=replace(explanation.model, name=names[1], parameters={names[0]: names[2]})
    )
