"""Averages over the rows near each value: predictions, outcomes, residuals, on the axes of effects."""

import hashlib
import json
import tempfile
from functools import cache
from itertools import pairwise

import catboost
import lightgbm
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xgboost
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multioutput import MultiOutputClassifier
from sklearn.svm import LinearSVC

import paribus
from conftest import numbers
from paribus._display.figure import Line, Points
from paribus._evaluators import brute_force, cell_means, survey
from statistic_of import statistic_of

ROWS = 1_500
NUMBERS = ["a", "b", "count"]
WHAT = ("predicted", "observed", "residual")

AVERAGES = ("predicted", "predicted_error", "observed", "observed_error", "residual", "residual_error")


@cache
def frame():
    rng = np.random.default_rng(0)
    a = rng.normal(size=ROWS)
    table = {
        "a": np.where(rng.random(ROWS) < 0.1, np.nan, a),
        "b": a + rng.normal(size=ROWS),
        "count": rng.poisson(3, ROWS),
        "city": rng.choice(["Bern", "Basel", "Genf"], ROWS, p=[0.2, 0.5, 0.3]),
        "level": pd.Categorical(rng.choice(["low", "mid", "high"], ROWS), ["low", "mid", "high"]),
        "day": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 90, ROWS), unit="D"),
    }
    return pd.DataFrame(table)


@cache
def target():
    X, rng = frame(), np.random.default_rng(1)
    return model(X) + (X["level"] == "high") + rng.normal(size=ROWS)


@cache
def weights():
    rng = np.random.default_rng(2)
    return np.where(rng.random(ROWS) < 0.1, 0.0, rng.gamma(1.0, size=ROWS))


def model(table):
    """Any library in, one number per row out."""
    a, b, count = (np.asarray(table[name].to_numpy(), float) for name in NUMBERS)
    return np.nan_to_num(a, nan=2.0) * b + np.sqrt(count)


def cell_of(values, grid):
    """The number of the cell each value lies in, -1 for none, -2 for a missing one: the slow obvious way."""
    found = np.full(len(values), -1)
    for row, value in enumerate(values):
        if pd.isna(value):
            found[row] = -2
        elif not np.issubdtype(np.asarray(grid).dtype, np.number):
            found[row] = next((k for k, level in enumerate(grid) if level == value), -1)
        else:
            middles = [(low + high) / 2 for low, high in pairwise(grid)]
            ends = [2 * grid[0] - middles[0], *middles, 2 * grid[-1] - middles[-1]]
            found[row] = next((k for k, (low, high) in enumerate(pairwise(ends)) if low < value <= high), -1)
    return found


def averages(values, cells, number, w):
    """Rows, weight, mean and standard error of one cell."""
    chosen = (cells == number) & (w > 0)
    f, w = np.asarray(values)[chosen], w[chosen]
    n, total = len(f), w.sum()
    mean = (w * f).sum() / total if n else np.nan
    error = np.sqrt(n / (n - 1) * (w**2 * (f - mean) ** 2).sum()) / total if n > 1 else np.nan
    return n, total, mean, error


def same(one, two, exact=True):
    assert list(one) == list(two)
    for name, want in two.items():
        have = one[name]
        assert np.array_equal(have.grid_values[0], want.grid_values[0])
        for key in (*AVERAGES, "support", "rows"):
            x, y = have.get(key), want.get(key)
            assert (x is None) == (y is None), key
            if x is not None:
                close = np.array_equal if exact else np.allclose
                assert close(x, y, equal_nan=True), (name, key)
        assert (have.missing is None) == (want.missing is None)
        for key in AVERAGES if want.missing is not None else ():
            x, y = getattr(have.missing, key), getattr(want.missing, key)
            assert (x is None and y is None) or np.allclose(x, y, rtol=0 if exact else 1e-9, equal_nan=True)
        assert have.outside == pytest.approx(want.outside)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("feature", ["a", "b", "count", "city", "level"])
def test_marginal_averages_are_those_of_grouping_by_cells(feature, weighted):
    X, y, f = frame(), target(), model(frame())
    w = weights() if weighted else np.ones(ROWS)
    given = {"sample_weight": w} if weighted else {}
    given |= {"percentiles": (0.05, 0.95), "grid_resolution": 7}
    found = statistic_of("marginal", model, X, [feature], y=y, **given)[feature]
    cells = cell_of(X[feature], found.grid_values[0])
    for values, name in zip((f, y, y - f), WHAT, strict=True):
        for k in range(len(found.grid_values[0])):
            n, total, mean, error = averages(values, cells, k, w)
            assert found.rows[k] == n
            assert found.support[k] == pytest.approx(total)
            assert found[name][0, k] == pytest.approx(mean, nan_ok=True)
            assert found[f"{name}_error"][0, k] == pytest.approx(error, nan_ok=True)
        if feature == "a":
            n, total, mean, error = averages(values, cells, -2, w)
            assert found.missing.rows == n
            assert found.missing.support == pytest.approx(total)
            assert found.missing.share == pytest.approx(total / w.sum())
            assert getattr(found.missing, name)[0] == pytest.approx(mean)
            assert getattr(found.missing, f"{name}_error")[0] == pytest.approx(error)
    assert found.outside == pytest.approx(w[cells == -1].sum() / w.sum())
    assert (found.outside > 0) == (feature in NUMBERS)
    assert (found.missing is None) == (feature != "a")


def test_marginal_pandas_groups_categories_same_way():
    X, f = frame(), model(frame())
    found = paribus.marginal(model, X, ["city", "level"])
    for name in ("city", "level"):
        groups = pd.Series(f).groupby(X[name].to_numpy(), observed=True)
        order = found[name].grid_values[0]
        assert np.allclose(found[name].predicted[0], groups.mean()[order])
        assert np.allclose(found[name].predicted_error[0], groups.sem()[order])
        assert found[name].rows.tolist() == groups.size()[order].tolist()
        assert found[name].observed is None
        assert "residual" not in found[name]


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_marginal_residual_is_what_came_out_minus_what_was_predicted(seed, weighted):
    rng = np.random.default_rng(seed)
    X, y, w = rng.normal(size=(60, 2)), rng.normal(size=60), rng.gamma(1.0, size=60)
    found = paribus.marginal(
        lambda t: t[:, 0] ** 2, X, y=y, grid_resolution=5, sample_weight=w if weighted else None
    )
    for one in found.values():
        assert np.allclose(one.residual, one.observed - one.predicted, equal_nan=True)
        inside = one.rows.sum() / 60
        assert weighted or one.outside == pytest.approx(1 - inside)


def test_marginal_axes_and_support_are_those_of_effects():
    options = {
        "sample_weight": weights(),
        "categorical_features": ["count"],
        "percentiles": (0.1, 0.8),
        "grid_resolution": 13,
        "custom_values": {"b": [0.5, -0.5, 0.5, 2.0], "level": ["high", "low"]},
    }
    found, effects = paribus.marginal(model, frame(), **options), paribus.effects(model, frame(), **options)
    assert set(found) == set(effects)
    for name, effect in effects.items():
        one = found[name]
        assert one.grid_values[0].dtype == effect.grid_values[0].dtype
        assert np.array_equal(one.grid_values[0], effect.grid_values[0])
        assert np.allclose(one.support, effect.support)
        assert one.kinds == effect.kinds
        assert one.output_names == effect.output_names
        if effect.missing is not None:
            assert one.missing.support == pytest.approx(effect.missing.support)
    assert (found["b"].predicted[0, 0] == found["b"].predicted[0, 2]).all()


def test_marginal_splits_are_those_of_effects_too():
    X = frame()[NUMBERS]
    trees = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=5).fit(X, target())
    found = paribus.marginal(trees, X, y=target(), grid_resolution="splits")
    for name, effect in paribus.effects(trees, X, grid_resolution="splits").items():
        assert np.array_equal(found[name].grid_values[0], effect.grid_values[0])
    assert found.provenance.grid_resolution == "splits"


def test_marginal_every_awkward_column_is_averaged(awkward):
    found = paribus.marginal(numbers, awkward, y=numbers(awkward) + 1, grid_resolution=8)
    assert set(found) == set(awkward.columns)
    for one in found.values():
        filled = one.rows > 0
        assert np.allclose(one.residual[0, filled], 1)
        assert np.isnan(one.predicted[0, ~filled]).all()
        apart = 0.0 if one.missing is None else one.missing.share
        assert one.support.sum() / 300 + apart + one.outside == pytest.approx(1)
    assert {name for name, one in found.items() if one.missing is not None} == {
        "nullable",
        "city",
        "gap",
        "day",
    }


@pytest.mark.parametrize("library", ["polars", "arrow", "numpy"])
def test_marginal_other_libraries_give_same(library):
    X, y = frame()[NUMBERS].astype(float), target()
    want = paribus.marginal(model, X, y=y, grid_resolution=9)
    if library == "numpy":
        have = paribus.Explainer(
            lambda t: model(pd.DataFrame(t, columns=NUMBERS)),
            X.to_numpy(),
            y=y.tolist(),
            feature_names=NUMBERS,
        ).marginal(grid_resolution=9)
    else:
        other = pl.from_pandas(X) if library == "polars" else pa.Table.from_pandas(X)
        column = pl.Series(y.tolist()) if library == "polars" else pa.chunked_array([pa.array(y)])
        have = paribus.marginal(model, other, y=column, grid_resolution=9)
    for name in NUMBERS:
        for key in AVERAGES:
            assert np.allclose(have[name][key], want[name][key], equal_nan=True)


def test_marginal_without_noise_linear_model_is_mean_of_its_cells():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2_000, 1))
    fitted = LinearRegression().fit(X, X[:, 0])
    found = paribus.marginal(fitted, X, y=X[:, 0], percentiles=(0, 1), grid_resolution=11)["x0"]
    cells = cell_of(X[:, 0], found.grid_values[0])
    means = [X[cells == k, 0].mean() for k in range(11)]
    assert np.allclose(found.predicted[0], means)
    assert np.allclose(found.observed[0], means)
    assert np.allclose(found.residual, 0)
    assert found.outside == 0
    assert "standard errors" not in repr(found)


def test_marginal_rows_far_out_are_in_no_cell_unless_grid_spans_them():
    X = np.append(np.linspace(0, 1, 99), 1e6)[:, None]
    between = {"percentiles": (0.05, 0.95), "grid_resolution": 99}
    found = paribus.marginal(lambda t: t[:, 0], X, **between)["x0"]
    assert np.nanmax(found.predicted) < 1
    assert found.outside == pytest.approx(0.1, abs=0.02)
    assert "of the weight in no cell" in repr(found)
    whole = paribus.marginal(lambda t: t[:, 0], X, percentiles=(0, 1), grid_resolution=3)["x0"]
    assert whole.outside == 0
    assert whole.rows.tolist() == [99, 0, 1]
    assert paribus.marginal(lambda t: t[:, 0], X)["x0"].outside == 0
    assert np.isnan(whole.predicted[0, 1])


def test_marginal_infinite_values_are_outside_and_infinite_predictions_are_noted():
    X = np.array([[0.0, 1.0], [1.0, 1.0], [np.inf, 2.0], [2.0, 2.0]])
    found = paribus.marginal(lambda t: t[:, 0], X, y=np.arange(4))
    assert found["x0"].outside == 0.25
    assert found["x0"].predicted.tolist() == [[0, 1, 2]]
    assert found["x1"].predicted[0].tolist() == [0.5, np.inf]
    assert found["x1"].observed[0].tolist() == [0.5, 2.5]
    assert any("not finite" in note for note in found["x1"].notes)


def test_marginal_labels_are_indicators_of_positive_class():
    X = frame()[["b", "count"]]
    labels = np.where(target() > 2, "yes", "no")
    fitted = LogisticRegression().fit(X, labels)
    found = paribus.marginal(fitted, X, y=labels, grid_resolution=8)["b"]
    assert found.output_names == ("yes",)
    cells = cell_of(X["b"], found.grid_values[0])
    assert np.allclose(found.observed[0], [(labels[cells == k] == "yes").mean() for k in range(8)])
    assert found.provenance.scale == "probability"
    with pytest.raises(
        paribus.errors.InputError, match=r"y holds 'maybe', which is not a class of the model \('no'"
    ):
        paribus.marginal(fitted, X, y=np.where(target() > 9, "maybe", labels))


@pytest.mark.parametrize("kind", ["forest", "lightgbm", "catboost", "xgboost"])
def test_marginal_each_of_several_classes_has_its_indicator(kind):
    X, codes = frame()[["b", "count"]], np.digitize(target(), [0, 2])
    labels = codes if kind == "xgboost" else np.array(["low", "mid", "top"])[codes]
    fitted = {
        "forest": RandomForestClassifier(5, max_depth=3, random_state=0),
        "lightgbm": lightgbm.LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1),
        "catboost": catboost.CatBoostClassifier(
            iterations=3, depth=2, verbose=False, allow_writing_files=False, thread_count=1
        ),
        "xgboost": xgboost.XGBClassifier(n_estimators=3, max_depth=2, n_jobs=1),
    }[kind].fit(X, labels)
    found = paribus.Explainer(fitted, X, y=labels, target_names=["l", "m", "t"]).marginal(["count"])["count"]
    assert found.output_names == ("l", "m", "t")
    assert np.allclose(found.observed.sum(axis=0), 1)
    assert np.allclose(found.predicted.sum(axis=0), 1)
    for o, label in enumerate(fitted.classes_):
        at_two = (labels == label)[X["count"] == 2].mean()
        assert found.observed[o, found.grid_values[0].tolist().index(2)] == pytest.approx(at_two)


def test_marginal_several_outputs_have_several_targets():
    X, y = frame()[["b", "count"]], np.stack([target(), -target()], axis=1)
    fitted = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, y)
    found = paribus.marginal(fitted, X, y=y, grid_resolution=20)["b"]
    assert found.observed.shape == (2, len(found.grid_values[0]))
    assert np.allclose(found.observed[0], -found.observed[1])
    with pytest.raises(paribus.errors.InputError, match="y has 1 column and the model has 2 outputs"):
        paribus.marginal(fitted, X, y=y[:, 0])
    alone = paribus.marginal(None, X, ["b"], y=y, grid_resolution=20)["b"]
    assert alone.output_names == ("y 0", "y 1")
    assert np.array_equal(alone.observed, found.observed, equal_nan=True)


def test_marginal_targets_of_several_classifiers_are_columns_of_indicators():
    X, y = frame()[["b", "count"]], np.stack([target() > 0, target() > 2], axis=1).astype(int)
    fitted = MultiOutputClassifier(LogisticRegression()).fit(X, y)
    found = paribus.marginal(fitted, X, y=y)["count"]
    assert found.observed[1, 2] == pytest.approx(y[X["count"] == 2, 1].mean())
    with pytest.raises(paribus.errors.InputError, match="y holds 2 where probabilities are predicted"):
        paribus.marginal(fitted, X, y=y + 1)


def test_marginal_without_model_what_came_out_is_averaged():
    X, y = frame(), target()
    alone = paribus.marginal(None, X, y=y, sample_weight=weights())
    both = paribus.marginal(model, X, y=y, sample_weight=weights())
    for name, one in alone.items():
        assert one.predicted is None
        assert np.allclose(one.observed, both[name].observed, equal_nan=True)
        assert np.array_equal(one.support, both[name].support)
        assert set(one) >= {"observed", "observed_error", "support"}
        assert not {"predicted", "residual"} & set(one)
    assert alone.provenance.predictions == 0
    assert alone["b"].output_names == ("y",)
    assert paribus.Explainer(None, X, y=y, target_names="claims").marginal(["b"])["b"].output_names == (
        "claims",
    )
    assert "the target" in repr(alone)
    assert "the target" in repr(alone["a"])


def test_marginal_every_row_is_predicted_once_and_none_is_written_to():
    X, asked = frame()[["b", "count"]].to_numpy(), []

    def greedy(table):
        asked.append(len(table))
        answer = table[:, 0].copy()
        table[:] = 0
        return answer

    before = X.copy()
    found = paribus.marginal(greedy, X, sample_weight=weights())
    assert (before == X).all()
    probed = 32 + 32 + 36 + 1  # some rows, the same again, rows with extremes, one of these alone
    assert sum(asked) == found.provenance.predictions + probed == (weights() > 0).sum() + probed


def test_marginal_strongest_come_first():
    X = np.random.default_rng(0).normal(size=(500, 3))
    found = paribus.marginal(lambda t: t[:, 1] + 10 * t[:, 2], X)
    assert next(iter(found)) == "x2"
    strengths = [one.strength for one in found.values()]
    assert strengths == sorted(strengths, reverse=True)
    filled = found["x2"].support > 0
    means, shares = found["x2"].predicted[0, filled], found["x2"].support[filled]
    spread = (means - np.average(means, weights=shares)) ** 2
    assert found["x2"].strength == pytest.approx(np.sqrt(np.average(spread, weights=shares)))


def written(folder, **columns):
    folder.mkdir()
    table = frame()[NUMBERS].assign(city=frame()["city"], y=target(), w=weights(), **columns)
    for number, (first, stop) in enumerate(pairwise((0, 400, 401, 1_000, ROWS))):
        part = pa.Table.from_pandas(table[first:stop], preserve_index=False)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=170)
    return str(folder)


@pytest.mark.parametrize("weight", [None, "w"])
def test_marginal_rows_that_are_read_give_bits_of_rows_in_memory(tmp_path, weight):
    folder = written(tmp_path / "rows")
    fitted = LinearRegression().fit(frame()[["b", "count"]], target())
    held = None if weight is None else weights()
    for y in (None, "y"):
        want = paribus.marginal(
            fitted, frame()[["b", "count"]], y=None if y is None else target(), sample_weight=held
        )
        have = paribus.marginal(fitted, folder, y=y, sample_weight=weight)
        same(have, want)
        assert have.provenance.passes == 2
    seen = []

    def shown(table):
        seen.append(tuple(table.columns))
        return model(table)

    have = paribus.marginal(shown, folder, y="y", sample_weight=weight)
    X = frame()[[*NUMBERS, "city"]]
    X = X.assign(w=weights()) if weight is None else X  # a column like any other
    same(have, paribus.marginal(model, X, y=target(), sample_weight=held))
    assert set(seen) == {tuple(X)}


def test_marginal_labels_and_several_targets_can_be_read(tmp_path):
    labels = np.array(["low", "mid", "top"])[np.digitize(target(), [0, 2])]
    folder = written(tmp_path / "rows", label=labels, coded=pd.Categorical(labels), other=-target())
    X = frame()[["b", "count"]]
    fitted = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, labels)
    want = paribus.marginal(fitted, X, y=labels, sample_weight=weights())
    for name in ("label", "coded"):
        same(paribus.marginal(fitted, folder, y=name, sample_weight="w"), want)
    both = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, np.stack([target(), -target()], 1))
    have = paribus.marginal(both, folder, y=["y", "other"])
    same(have, paribus.marginal(both, X, y=np.stack([target(), -target()], 1)))
    alone = paribus.marginal(None, folder, ["b"], y="y")
    same(alone, paribus.marginal(None, X, ["b"], y=target()))
    assert "y" not in paribus.marginal(None, folder, y="y")
    with pytest.raises(paribus.errors.InputError, match=r"y holds 'top', which cannot be averaged"):
        paribus.marginal(None, folder, y="label")
    with pytest.raises(paribus.errors.InputError, match=r"which is not a class of the model \('low'"):
        paribus.marginal(fitted, folder, y="city")


def test_marginal_lazy_frame_has_its_target_in_column():
    table = pl.from_pandas(frame()[NUMBERS].assign(y=target()))
    have = paribus.marginal(model, table.lazy(), y="y")
    same(have, paribus.marginal(model, table.drop("y"), y=target()))


def test_marginal_target_model_was_fitted_on_is_shown_to_it(tmp_path):
    folder = written(tmp_path / "rows")
    X = frame()[["b", "count"]].assign(y=target())
    fitted = LinearRegression().fit(X, X["y"])
    found = paribus.marginal(fitted, folder, y="y")
    assert set(found) == {"b", "count", "y"}
    assert np.nanmax(np.abs(found["y"].residual)) < 1e-9


def test_marginal_row_without_target_is_named_unless_it_has_no_weight(tmp_path):
    y = target().to_numpy().copy()
    y[[700, 900]] = np.nan
    w = np.ones(ROWS)
    folder = written(tmp_path / "rows", gap=y, flag=pd.array(np.where(np.isnan(y), None, y > 0), "boolean"))
    for name in ("gap", "flag"):
        with pytest.raises(paribus.errors.InputError, match=f"y='{name}' is missing in row 700"):
            paribus.marginal(None, folder, ["b"], y=name)
    with pytest.raises(paribus.errors.InputError, match=r"y\[700\] is nan, and 1 more"):
        paribus.marginal(None, frame(), ["b"], y=y)
    w[[700, 900]] = 0
    folder = written(tmp_path / "weighted", gap=y, flag=y > 0, own=w)
    have = paribus.marginal(None, folder, ["b"], y="gap", sample_weight="own")
    same(have, paribus.marginal(None, frame(), ["b"], y=y, sample_weight=w))
    with pytest.raises(paribus.errors.InputError, match="y='when' is a column of timestamp"):
        paribus.marginal(None, written(tmp_path / "dates", when=frame()["day"]), ["b"], y="when")


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (
            {"features": [("a", "b")]},
            paribus.errors.FeatureError,
            "takes single features, not 'a', 'b' together; pass them one by one",
        ),
        ({"features": ["nope"]}, paribus.errors.FeatureError, "'nope' is not a column"),
        (
            {"estimator": None},
            paribus.errors.OptionError,
            "estimator=None needs y to average; pass a model, y, or both",
        ),
        (
            {"estimator": None, "y": [1.0] * ROWS, "grid_resolution": "splits"},
            paribus.errors.OptionError,
            "needs the trees of a model",
        ),
        (
            {"estimator": None, "y": [1.0] * ROWS, "response_method": "predict"},
            paribus.errors.OptionError,
            "response_method='predict' requires a model, and estimator=None; omit it",
        ),
        (
            {"estimator": None, "y": [1.0] * ROWS, "target_names": ["x", "y"]},
            paribus.errors.OptionError,
            "target_names has 2 names and the number of outputs is 1",
        ),
        ({"y": "y"}, paribus.errors.InputError, "y='y' is not a column of X"),
        ({"y": [1.0]}, paribus.errors.InputError, r"y has shape \(1,\) and X has 1,500 rows"),
        ({"y": ["a"] * ROWS}, paribus.errors.InputError, "y holds 'a', which cannot be averaged"),
        (
            {"y": np.ones((ROWS, 2))},
            paribus.errors.InputError,
            "y has 2 columns and the model has 1 out",
        ),
        ({"grid_resolution": "splits"}, paribus.errors.RefusalError, "needs the trees"),
        ({"max_memory": 1000}, paribus.errors.MemoryBoundError, "raise max_memory|Raise max_memory"),
        (
            {"checkpoint": tempfile.gettempdir()},
            paribus.errors.OptionError,
            "checkpoint= requires an out-of-core X",
        ),
        ({"progress": 3}, paribus.errors.OptionError, "progress=3"),
        ({"on_error": "hide"}, paribus.errors.OptionError, "on_error='hide'"),
    ],
)
def test_marginal_what_cannot_be_averaged_is_said(given, error, text):
    arguments = {"estimator": model, "X": frame()} | given
    with pytest.raises(error, match=text):
        statistic_of("marginal", **arguments)


def test_marginal_margins_are_not_compared_with_what_came_out():
    X = frame()[["b", "count"]]
    fitted = LinearSVC().fit(X, target() > 0)
    with pytest.raises(paribus.errors.OptionError, match="y cannot be compared with a decision function"):
        paribus.marginal(fitted, X, y=target() > 0)
    assert paribus.marginal(fitted, X)["b"].provenance.scale == "decision function"


def test_marginal_names_of_targets_that_are_read_are_checked(tmp_path):
    folder = written(tmp_path / "rows")
    with pytest.raises(paribus.errors.InputError, match="y='yy' is not a column of X; did you mean 'y'"):
        paribus.marginal(model, folder, y="yy")
    with pytest.raises(
        paribus.errors.InputError, match="X is out of core, so y must be the name of a column"
    ):
        paribus.marginal(model, folder, y=target())


def test_marginal_model_that_fails_says_on_which_rows():
    def picky(table):
        if len(table) > 64:
            raise ValueError("too many")
        return table[:, 0]

    X = np.random.default_rng(0).normal(size=(300, 2))
    with pytest.raises(
        paribus.errors.ModelError, match="picky failed on rows 0 to 255 of X: ValueError: too many"
    ):
        paribus.marginal(picky, X)


def test_marginal_column_that_cannot_be_laid_out_is_skipped_when_all_are_requested():
    X = frame()[["b"]].assign(lists=[[1]] * ROWS)
    found = paribus.marginal(lambda t: t["b"].to_numpy(), X)
    assert list(found) == ["b"]
    assert "lists" in found.skipped[0]
    assert "skipped" in repr(found)
    with pytest.raises(paribus.errors.FeatureError, match="lists"):
        paribus.marginal(lambda t: t["b"].to_numpy(), X, ["lists"])
    with pytest.raises(KeyError, match="did you mean 'b'"):
        found["bb"]


def test_marginal_memory_bound_makes_portions_smaller():
    X = np.random.default_rng(0).normal(size=(20_000, 50))
    sizes = []

    def ask(**options):
        sizes.append([])
        model = lambda t: sizes[-1].append(len(t)) or t[:, 0]  # noqa: E731  # a view of what it is given
        return paribus.Explainer(model, X, n_jobs=2, **options).marginal([0])

    free, bound, tight = ask(), ask(max_memory="1.6MB"), ask(max_memory="80kB")
    assert max(sizes[2]) < max(sizes[1]) < max(sizes[0]) <= brute_force.CALL_ROWS
    assert bound.provenance.threads == tight.provenance.threads == 1
    same(bound, free)
    assert tight.provenance.block_rows < bound.provenance.block_rows == free.provenance.block_rows
    same(tight, free, exact=False)


def test_marginal_results_come_back_bit_for_bit(tmp_path, awkward):
    y = numbers(awkward)
    for number, found in enumerate(
        [
            paribus.marginal(numbers, awkward, y=y, sample_weight=np.arange(300.0)),
            paribus.marginal(numbers, awkward, grid_resolution=3),
            paribus.marginal(None, awkward, y=y)["gap"],
            paribus.marginal(lambda t: np.full(300, np.nan)[: len(t)], awkward, ["city"])["city"],
        ]
    ):
        path = tmp_path / f"{number}.json"
        found.save(path)
        back = paribus.load(path)
        assert type(back) is type(found)
        assert back == found
        assert repr(back) == repr(found)
    assert found != paribus.marginal(None, awkward, ["city"], y=y)["city"]


def test_marginal_files_whose_parts_do_not_belong_together_are_refused(tmp_path):
    found = paribus.marginal(model, frame(), ["a"], y=target(), grid_resolution=4)["a"]
    path = tmp_path / "a.json"
    found.save(path)
    document = json.loads(path.read_text())

    def short(array):
        array["values"], array["shape"] = array["values"][:-1], [*array["shape"][:-1], array["shape"][-1] - 1]

    damages = {
        "support has shape": lambda body: short(body["support"]),
        "rows has shape": lambda body: short(body["rows"]),
        "residual has shape": lambda body: short(body["residual"]),
        "observed and missing.observed need each other": lambda body: body["missing"].update(observed=None),
        "missing of Marginal: observed has shape": lambda body: short(body["missing"]["observed"]),
        "lacking fields": lambda body: body.pop("outside"),
        "1 axes for 2 kinds": lambda body: body["kinds"].append("numeric"),
    }
    for text, damage in damages.items():
        changed = json.loads(path.read_text())
        damage(changed["result"])
        encoded = json.dumps(changed["result"], allow_nan=False).encode()
        changed["digest"] = hashlib.sha256(encoded).hexdigest()
        (tmp_path / "changed.json").write_text(json.dumps(changed))
        with pytest.raises(paribus.errors.FormatError, match=text):
            paribus.load(tmp_path / "changed.json")
    assert document["result"]["record"] == "marginal"


def test_marginal_frames_are_long_and_in_library_of_table():
    X, y = frame().rename(columns={"b": "rows"}), target()
    found = paribus.marginal(lambda t: t["rows"].to_numpy(), X, ["a", "rows", "city"], y=y, grid_resolution=5)
    table = found["a"].to_frame()
    assert isinstance(table, pd.DataFrame)
    assert list(table) == ["output", "a", *AVERAGES, "support", "rows"]
    assert len(table) == 6
    assert np.isnan(table["a"].iloc[-1])
    assert table["rows"].iloc[-1] == found["a"].missing.rows
    assert np.allclose(table["residual"][:5], found["a"].residual[0])
    assert list(found["rows"].to_frame())[1] == "rows (feature)"
    long = found.to_frame(backend="polars")
    assert isinstance(long, pl.DataFrame)
    assert long.columns == ["feature", "value", "number", "output", *AVERAGES, "support", "rows"]
    assert long.height == 6 + 5 + 3
    assert (
        long.filter(pl.col("feature") == "city")["value"].to_list() == found["city"].grid_values[0].tolist()
    )
    alone = paribus.marginal(None, X, ["city"], y=y)["city"].to_frame(backend="pyarrow")
    assert alone.column_names == ["output", "city", "observed", "observed_error", "support", "rows"]


def test_marginal_axes_of_one_point_or_none_have_averages_all_same(tmp_path):
    X = frame()[["b"]].assign(value=np.nan, empty=pd.Series([None] * ROWS, dtype="string"))
    found = paribus.marginal(lambda t: t["b"].to_numpy(), X, y=target(), custom_values={"b": [0.0]})
    assert found["b"].rows.tolist() == [0]
    assert found["b"].outside == 1
    for name in ("value", "empty"):
        assert found[name].predicted.shape == (1, 0)
        assert found[name].missing.share == 1
        assert found[name].missing.observed[0] == pytest.approx(target().mean())
        assert not found[name].missing.observed.flags.writeable
        assert len(found[name].to_frame()) == 1
        assert "no cell has rows" in repr(found[name])
    assert list(found["value"].to_frame())[1] == "value"
    found.save(tmp_path / "found.json")
    assert paribus.load(tmp_path / "found.json") == found
    found.plot().canvas.draw()
    plt.close("all")


@pytest.mark.parametrize("kind", ["booleans", "nullable", "objects", "frame", "categories"])
def test_marginal_targets_come_in_many_forms(kind):
    X, y = frame()[["b", "count"]], target() > 1
    forms = {
        "booleans": y,
        "nullable": pd.array(y, dtype="boolean"),
        "objects": y.astype(int).astype(object),
        "frame": pd.DataFrame({"y": y}),
        "categories": pd.Categorical(y),
    }
    fitted = LogisticRegression().fit(X, y)
    found = paribus.marginal(fitted, X, ["count"], y=forms[kind])["count"]
    two = found.grid_values[0].tolist().index(2)
    assert found.observed[0, two] == pytest.approx(y[X["count"] == 2].mean())


def test_marginal_repr_reports_where_model_is_off():
    X, y = frame(), target()
    found = paribus.marginal(model, X, y=y)
    story = repr(found["level"])
    assert story.startswith("Marginal of model on level: 3 points, 1 output (prediction)")
    assert "at level = high," in story
    assert "standard errors" in story
    assert "1,500 predictions" in story
    assert "missing in 9" in repr(found["a"]) or "missing in 1" in repr(found["a"])
    assert "Effects (averages) of model: 6 features, strongest first" in repr(found)
    few = paribus.marginal(lambda t: t[:, 0], np.arange(4.0)[:, None], y=np.arange(4))
    assert "residual" not in repr(few["x0"])


def said(panel):
    return [mark.label for mark in panel.marks if getattr(mark, "label", None)]


def explained(page):
    """Return what the only legend of a page says."""
    (legend,) = [ax.get_legend() for ax in page.axes if ax.get_legend() is not None]
    return [text.get_text() for text in legend.get_texts()]


@pytest.mark.nightly
def test_marginal_pictures_show_what_there_is(awkward):
    y = numbers(awkward) + np.random.default_rng(0).normal(size=300)
    found = paribus.marginal(numbers, awkward, y=y)
    figure = found.figure(columns=4)
    assert len(figure.panels) == len(found)
    assert figure.columns == 4
    both = ["average prediction of rows here", "average observed of rows here"]
    assert all(said(panel) == both for panel in figure.panels)
    assert figure.legend_title == "± 2 standard errors"
    assert len({panel.y.high for panel in figure.panels}) == 1
    assert explained(found.plot(columns=4)) == both
    effects = paribus.effects(numbers, awkward)
    ax = paribus.compare(effects["gap"], None, found["gap"]).plot().axes[0]
    assert ax.get_xlabel() == "gap"
    assert explained(ax.figure) == ["partial dependence", *both]
    (panel,) = paribus.compare(effects["gap"], None, found["gap"]).figure().panels
    drawn = [mark.y for mark in panel.marks if isinstance(mark, Line)]
    assert any(np.array_equal(line, found["gap"].observed[0], equal_nan=True) for line in drawn)
    assert any(np.array_equal(line, effects["gap"].average[0]) for line in drawn)
    (panel,) = paribus.compare(effects["city"], None, found["city"]).figure().panels
    assert panel.right[-1].x.ticks[0][1].strip().startswith("missing")
    assert len([mark for mark in panel.right[-1].marks if isinstance(mark, Points)]) == 3
    alone = paribus.marginal(None, awkward, ["day"], y=y)["day"]
    assert said(alone.figure().panels[0]) == explained(alone.plot().figure) == both[1:]
    plt.close("all")


def test_marginal_several_outputs_have_panel_each():
    X, codes = frame()[["b", "count"]], np.digitize(target(), [0, 2])
    fitted = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, codes)
    found = paribus.marginal(fitted, X, y=codes, percentiles=(0.05, 0.95), grid_resolution=20)
    figure = found["b"].figure()
    assert [panel.y.label for panel in figure.panels] == [f"probability of class {k}" for k in range(3)]
    assert all(len(said(panel)) == 2 for panel in figure.panels)
    for o, panel in enumerate(figure.panels):
        drawn = {mark.label: mark.y for mark in panel.marks if isinstance(mark, Line)}
        np.testing.assert_array_equal(drawn["average observed of rows here"], found["b"].observed[o])
    one = found["b"].plot(output="1").axes[0]
    assert one.get_ylabel() == "probability of class 1"
    assert len(explained(one.figure)) == 2
    rows = found.figure()  # a row for each class, a column for each feature
    assert (len(rows.panels), rows.columns) == (6, 2)
    assert [panel.x.label for panel in rows.panels] == list(found) * 3
    plt.close("all")


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(survey, "SURVEY_ROWS", 1_024)
    monkeypatch.setattr(cell_means, "STACK_ROWS", 64)
    monkeypatch.setattr(cell_means, "BLOCKS", 20)


def test_marginal_run_that_was_interrupted_goes_on(tmp_path, small_blocks, monkeypatch):
    folder, kept = written(tmp_path / "rows", other=-target()), tmp_path / "kept"
    want = paribus.marginal(model, folder, y="y", sample_weight="w")
    evaluate, done = cell_means.CellMeans.evaluate, []

    def stopping(self, block):
        if len(done) == 13:
            raise KeyboardInterrupt
        done.append(block.number)
        return evaluate(self, block)

    def call(**given):
        return statistic_of("marginal", model, folder, **given, sample_weight="w", checkpoint=kept)

    monkeypatch.setattr(cell_means.CellMeans, "evaluate", stopping)
    with pytest.raises(KeyboardInterrupt):
        call(y="y")
    first = list(done)
    done[:] = []
    same(call(y="y"), want)
    assert first == list(range(13))
    assert min(done) > 4
    assert max(done) == 19
    monkeypatch.setattr(cell_means.CellMeans, "evaluate", evaluate)
    for other in ({"y": "other"}, {}):
        same(call(**other), paribus.marginal(model, folder, sample_weight="w", **other))


def test_marginal_files_that_cannot_be_read_are_skipped_when_requested(tmp_path):
    folder = written(tmp_path / "rows")
    (tmp_path / "rows" / "9.parquet").write_bytes(b"no parquet")
    found = paribus.Explainer(model, folder, y="y", on_error="skip").marginal()
    assert any("skipped 1 file: " in note for note in found.notes)
    with pytest.raises(paribus.errors.SourceError):
        paribus.marginal(model, folder, y="y")


def test_marginal_other_targets_have_other_fingerprints(tmp_path):
    folder = written(tmp_path / "rows", other=-target())
    read = {y: paribus.marginal(model, folder, ["b"], y=y).provenance.fingerprint for y in ("y", "other")}
    held = {
        sign: paribus.marginal(model, frame(), ["b"], y=sign * target()).provenance.fingerprint
        for sign in (1, -1)
    }
    assert len({*read.values(), *held.values()}) == 4
