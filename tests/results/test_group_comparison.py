"""Comparison of groups equals loops over their rows."""

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus.results.group_comparison import TESTED_ROWS

SIZES = {"a": 65, "b": 65, "small": 20}


def rows(missing):
    rng = np.random.default_rng(0)
    group = np.repeat(list(SIZES), list(SIZES.values()))
    X = pd.DataFrame({"x": rng.integers(0, 4, len(group)).astype(float), "z": rng.normal(size=len(group))})
    X.loc[group == "small", "x"] = 3.0  # the small group moves the center
    if missing:
        X.loc[::7, "x"] = np.nan
    X["group"] = group
    return X, rng.gamma(2.0, size=len(group))


def predict(X):
    x, z = np.nan_to_num(X["x"].to_numpy(), nan=1.0), X["z"].to_numpy()
    return np.where(X["group"] == "a", x**2, x) * (1 + z)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_difference_is_of_curves_centered_over_the_data_of_all_groups(weighted, missing):
    X, weights = rows(missing)
    weights = weights if weighted else np.ones(len(X))
    found = paribus.explain(predict, X, by="group", sample_weight=weights, progress=False).by_group
    assert {group.label: group.rows for group in found.effects.groups} == SIZES
    assert SIZES["small"] < TESTED_ROWS
    (difference,) = (one for one in found.differences if one.feature == "x")
    assert {difference.group, difference.reference} == {"a", "b"}

    values = np.arange(4.0)
    support = np.array([weights[X["x"] == value].sum() for value in values])
    share = support / support.sum()
    apart, variance = 0.0, 0.0
    for label, sign in ((difference.group, 1), (difference.reference, -1)):
        of_group = (X["group"] == label).to_numpy()
        curves = np.column_stack([predict(X[of_group].assign(x=value)) for value in values])
        curves -= (curves @ share)[:, None]
        w, n = weights[of_group], of_group.sum()
        mean = w @ curves / w.sum()
        apart += sign * mean
        variance += n / (n - 1) * (w**2 @ (curves - mean) ** 2) / w.sum() ** 2
    # The level of the difference also varies with the values of the rows of each group.
    influence = np.zeros(len(X))
    for value, point in zip(values, np.eye(len(values)), strict=True):
        perturbed = support + 1e-30j * point
        influence[X["x"] == value] = (perturbed / perturbed.sum() @ apart).imag / 1e-30
    for label in SIZES:
        w, own = (part[(X["group"] == label).to_numpy()] for part in (weights, influence))
        squares = w @ (own - w @ own / w.sum()) ** 2 / w.sum()
        variance += squares * (w**2).sum()
    at = int(np.argmax(np.abs(apart)))
    assert difference.value == values[at]
    assert difference.difference == pytest.approx(apart[at])
    assert difference.standard_error == pytest.approx(np.sqrt(variance[at]))


def test_notes_on_differences_name_the_output_of_several():
    X, _ = rows(missing=False)
    single = paribus.explain(predict, X, by="group", progress=False).by_group
    several = paribus.explain(
        lambda T: np.column_stack([predict(T), T["z"]]), X, by="group", progress=False
    ).by_group
    (note,) = (note for note in single.notes if note.feature == "x")
    assert note.startswith("the effect of x differs between group = ")
    (note,) = (note for note in several.notes if note.feature == "x")
    assert note.startswith("the effect of x on output 0 differs between group = ")
