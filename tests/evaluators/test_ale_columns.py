"""Accumulated local effects of missing values, odd columns, and categories in their order."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
)

from ale_examples import ASKED, LETTERS, mixed, mixed_model, of_number, one, plain_people, planted, same
from conftest import numbers
from paribus import accumulated_local_effects as ale
from paribus._data.read import table_of
from paribus._data.rows import rows_of
from paribus._evaluators.ale.ale_grid import similar_order


@pytest.mark.parametrize("weighted", [False, True])
def test_ale_effect_at_missing_is_its_difference_from_mean_of_rest(weighted):
    rng = np.random.default_rng(0)
    x = np.where(rng.random(800) < 0.2, np.nan, rng.integers(0, 20, 800).astype(float))
    X = np.stack([x, np.nan_to_num(x) + rng.normal(size=800)], axis=1)
    weights = rng.gamma(1.0, size=800) if weighted else None

    def model(X):
        return np.where(np.isnan(X[:, 0]), 7.0, np.sqrt(np.nan_to_num(X[:, 0]))) + X[:, 1]

    found = one(model, X, sample_weight=weights)
    present = ~np.isnan(x)
    mean = np.average(np.sqrt(x[present]), weights=None if weights is None else weights[present])
    counted = np.ones(800) if weights is None else weights
    assert found.missing.ale == pytest.approx([7.0 - mean], abs=1e-11)
    assert found.missing.support == pytest.approx(counted[~present].sum(), rel=1e-12)
    assert found.missing.share == pytest.approx(counted[~present].sum() / counted.sum(), rel=1e-12)
    assert found.missing.anchor in found.grid_values[0]
    assert np.isfinite(found.missing.standard_error).all()
    own = np.where(present, np.sqrt(np.nan_to_num(x)), 7.0)
    mean = np.average(own, weights=counted)
    assert found.strength == pytest.approx(np.sqrt(np.average((own - mean) ** 2, weights=counted)), rel=1e-2)
    assert any(
        "is missing in" in note and "; the effect at missing is reported separately" in note
        for note in found.notes
    )


def test_ale_bins_of_one_row_take_spread_of_bins_and_not_of_missing_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    gaps = np.concatenate([X, np.stack([np.full(100, np.nan), 50 * rng.normal(size=100)], axis=1)])

    def model(X):
        return np.where(np.isnan(X[:, 0]), 5.0, np.nan_to_num(X[:, 0])) * X[:, 1]

    without, found = (one(model, rows, grid_resolution=200) for rows in (X, gaps))
    assert (without.rows == 1).any()
    plain = replace(without, missing=found.missing, covariance=None)
    same(replace(found, covariance=None), plain, 1e-12)
    assert found.missing.standard_error[0] > 10


def test_ale_category_may_be_missing():
    X = pd.DataFrame({"c": ["p", "q", None, "p", "q", "r", None, "p"], "y": np.arange(8.0)})

    def model(t):
        return t["c"].map({"p": 1.0, "q": 2.0, "r": 5.0}).fillna(9.0).to_numpy() + t["y"].to_numpy()

    found = one(model, X, "c")
    mean = np.mean([1, 2, 1, 2, 5, 1])
    heights = dict(zip(found.grid_values[0], found.ale[0], strict=True))
    for level, height in {"p": 1.0, "q": 2.0, "r": 5.0}.items():
        assert heights[level] == pytest.approx(height - mean, abs=1e-12)
    assert found.missing.ale == pytest.approx([9 - mean])
    assert (found.missing.anchor, found.missing.share) == ("p", 0.25)


def test_ale_rows_without_value_are_left_out_of_surfaces():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    holes = X.copy()
    holes[:60, 0] = np.nan
    holes[50:90, 1] = np.nan

    def model(X):
        return np.nan_to_num(X[:, 0], nan=50.0) * np.nan_to_num(X[:, 1], nan=-50.0)

    have = one(model, holes, (0, 1), custom_values={0: [-4, -1, 0, 1, 4], 1: [-4, 0, 4]})
    want = one(model, X[90:], (0, 1), custom_values={0: [-4, -1, 0, 1, 4], 1: [-4, 0, 4]})
    same(have, want, 1e-12)
    assert have.missing is None
    assert any("which is left out" in note for note in have.notes)


def test_ale_every_awkward_column_has_effect(awkward):
    found = ale(numbers, awkward)
    assert set(found) == set(awkward)
    for name, effect in found.items():
        assert np.isfinite(effect.ale).all(), name
        assert effect.rows.sum() == awkward[name].notna().sum() or name == "constant"
        assert effect.strength >= 0
        frame = effect.to_frame()
        assert len(frame) == len(effect.grid_values[0]) + (effect.missing is not None)
        assert repr(effect).startswith("AccumulatedLocalEffect of numbers on")
    for name, slope in {"count": 2.0, "small": 1.0, "single": 1.0, "mostly": 0.0, "flag": 1.0}.items():
        effect = found[name]
        edges = effect.grid_values[0].astype(float)
        want = slope * (edges - awkward[name].astype(float).mean())
        np.testing.assert_allclose(effect.ale[0], want, rtol=0, atol=1e-4)
    assert found["level"].order == ("as declared",)
    assert found["level"].grid_values[0].tolist() == ["low", "mid", "high"]
    assert found["wait"].provenance.estimand == "accumulated local"


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_ale_other_libraries_give_same(library):
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(mixed()["n"], unit="D")
    X = mixed().assign(day=day, c=mixed()["c"].astype(object))
    table = pl.from_pandas(X) if library == "polars" else pa.Table.from_pandas(X, preserve_index=False)

    def model(t):
        frame = t if isinstance(t, pd.DataFrame) else t.to_pandas()
        return mixed_model(frame) + (frame["day"] - pd.Timestamp("2026-01-01")).dt.days.to_numpy()

    want, have = ale(model, X, [*ASKED, "day"]), ale(model, table, [*ASKED, "day"])
    assert set(have) == set(want)
    for key, effect in have.items():
        same(effect, want[key], 1e-12)
        assert effect.order == want[key].order
    assert type(have["a"].to_frame()).__module__.startswith(library)


def test_ale_feature_that_never_varies_has_no_effect():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "x": rng.normal(size=60),
            "one": 5.0,
            "none": np.nan,
            "level": "same",
            "some": np.where(np.arange(60) % 4 == 0, np.nan, 5.0),
        }
    )

    def model(t):
        return t["x"].to_numpy() + t["one"].to_numpy() + t["some"].fillna(1.0).to_numpy()

    found = ale(model, X)
    assert found["one"].ale.tolist() == [[0.0]]
    assert found["one"].local.shape == (1, 0)
    assert "one has a single value, so it has no effect to show" in found["one"].notes
    assert found["none"].ale.shape == (1, 0)
    assert found["none"].missing is None
    assert found["none"].notes == ("none has no finite value for a grid",)
    assert found["level"].ale.tolist() == [[0.0]]
    assert found["level"].support.tolist() == [60.0]
    assert found["level"].rows.tolist() == [60]
    assert found["some"].missing.ale == pytest.approx([-4.0])
    assert found["some"].strength == pytest.approx(4 * np.sqrt(0.25 * 0.75))
    for name in ("one", "none", "level"):
        assert found[name].strength == 0
        pair = one(model, X, ("x", name))
        assert (pair.ale == 0).all()
        assert (pair.standard_error == 0).all()
        assert len(pair.to_frame()) == pair.ale.size
    for effect in found.values():
        assert len(effect.to_frame()) == effect.ale.size + (effect.missing is not None)


def test_ale_trees_know_features_that_never_vary_too():
    X, y = plain_people()
    X = X.assign(one=1.0, level=pd.Categorical(["same"] * len(X)))
    model = HistGradientBoostingRegressor(max_iter=3, categorical_features="from_dtype").fit(X, y)
    exact, want = ale(model, X, method="exact"), ale(model, X, method="brute")
    for key, effect in exact.items():
        same(effect, want[key], 1e-9)
    assert exact["level"].support.tolist() == [len(X)]


def test_ale_infinite_values_are_in_no_bin():
    x = np.append(np.linspace(0, 1, 50), [np.inf, -np.inf])
    X = np.stack([x, np.arange(52.0)], axis=1)
    found = one(lambda X: np.clip(X[:, 0], -5, 5), X)
    same(found, one(lambda X: np.clip(X[:, 0], -5, 5), X[:50]))
    assert any("infinite in 3.85%" in note for note in found.notes)
    model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2).fit(X, np.arange(52.0))
    for effect in (0, 1):
        same(one(model, X, effect, method="exact"), one(model, X, effect, method="brute"), 1e-9)


def test_ale_categories_may_be_infinite():
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice([1.0, 2.0, np.inf, -np.inf], 100), rng.normal(size=100)], axis=1)
    found = one(lambda X: np.clip(X[:, 0], -3, 3), X, categorical_features=[0])
    mean = np.clip(X[:, 0], -3, 3).mean()
    np.testing.assert_allclose(found.ale[0], np.clip(found.grid_values[0], -3, 3) - mean, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_ale_few_rows_have_what_effects_they_can(rows):
    X = np.random.default_rng(1).normal(size=(rows, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ale(lambda X: 2 * X[:, 0] + X[:, 0] * X[:, 1], X, [0, 1, (0, 1)])
    assert found["x0"].ale.shape == (1, rows)
    assert found["x0", "x1"].ale.shape == (1, rows, rows)
    for effect in found.values():
        assert np.isfinite(effect.ale).all()
    if rows == 1:
        assert found["x0"].ale.tolist() == [[0.0]]


def test_ale_infinite_predictions_are_noted():
    X = np.random.default_rng(0).normal(size=(100, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ale(lambda X: np.where(X[:, 0] > 1, np.inf, X[:, 0]), X, [0, 1, (0, 1)])
    assert (
        "a prediction, or a difference of two, is not finite at some points, so the effect is not either"
        in found["x0"].notes
    )
    assert np.isnan(found["x0"].strength)
    assert "not finite" in repr(found["x0"])
    assert list(found)[-1] != "x1"


@pytest.mark.parametrize("noise", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("kind", ["string", "category", "polars", "pyarrow", "integer"])
def test_ale_categories_without_order_stand_next_to_those_with_similar_rows(noise, kind):
    place, y = planted(noise)
    level = np.array(LETTERS)[place]
    tables = {
        "string": lambda: pd.DataFrame({"c": level, "y": y}),
        "category": lambda: pd.DataFrame({"c": pd.Categorical(level), "y": y}),
        "polars": lambda: pl.DataFrame({"c": pl.Series(level, dtype=pl.Categorical), "y": y}),
        "pyarrow": lambda: pa.table({"c": pa.array(level).dictionary_encode(), "y": y}),
        "integer": lambda: pd.DataFrame({"c": (place * 7) % 5, "y": y}),
    }
    categorical = ["c"] if kind == "integer" else None
    found = one(of_number, tables[kind](), "c", categorical_features=categorical)
    assert found.order == ("by how similar their rows are in the other features (600 rows)",)
    assert any("; partial dependence does not depend on that" in note for note in found.notes)
    want = [(k * 7) % 5 for k in range(5)] if kind == "integer" else LETTERS
    assert found.grid_values[0].tolist() in (want, want[::-1])


def test_ale_similar_categories_are_reported_by_categories_and_dates_too():
    rng = np.random.default_rng(0)
    place = rng.integers(0, 4, 2_000)
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(place * 10 + rng.integers(0, 9, 2_000), unit="D")
    other = np.array(list("abcdefgh"))[np.clip(place * 2 + rng.integers(-1, 2, 2_000), 0, 7)]
    level = np.array(["m", "k", "n", "l"])[place]
    for column in (day, other):
        X = pd.DataFrame({"c": level, "z": column, "y": rng.normal(size=2_000)})
        assert one(of_number, X, "c").grid_values[0].tolist() in (list("mknl"), list("lnkm"))


def test_ale_categories_that_nothing_reports_apart_stay_as_they_come():
    X = pd.DataFrame({"c": list("abcabcabc"), "y": 1.0})
    found = one(of_number, X, "c")
    assert found.order == ("in the given order, because their rows are alike",)
    assert found.grid_values[0].tolist() == list("abc")


def test_ale_categories_that_were_not_drawn_have_place_all_same():
    rows = rows_of(table_of(pd.DataFrame({"c": list("aabb"), "y": [1.0, 2.0, 3.0, 4.0]})), None)
    levels, _ = similar_order(rows, 0, np.array(["a", "b", "never"], dtype=object))
    assert sorted(levels) == ["a", "b", "never"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_ale_categories_with_order_keep_it(kind):
    place, y = planted(0.3)
    level = np.array(LETTERS)[place]
    tables = {
        "pandas": lambda: pd.DataFrame({"c": pd.Categorical(level, LETTERS, ordered=True), "y": y}),
        "polars": lambda: pl.DataFrame({"c": pl.Series(level, dtype=pl.Enum(LETTERS)), "y": y}),
        "pyarrow": lambda: pa.table(
            {
                "c": pa.DictionaryArray.from_arrays(
                    pa.array(place.astype("int32")), pa.array(LETTERS), ordered=True
                ),
                "y": y,
            }
        ),
    }
    found = one(of_number, tables[kind](), "c")
    assert found.order == ("as declared",)
    assert found.grid_values[0].tolist() == LETTERS
    assert not found.notes


def test_ale_two_categories_need_no_order():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"c": rng.choice(["p", "q"], 90, p=[0.3, 0.7]), "flag": rng.random(90) < 0.5, "y": 1.0})

    def model(t):
        return (t["c"] == "p").to_numpy() * 3.0 + t["flag"].to_numpy()

    found = ale(model, X, ["c", "flag"])
    assert found["flag"].grid_values[0].tolist() == [False, True]
    for name, slope in {"c": 3.0, "flag": 1.0}.items():
        effect = found[name]
        assert effect.order == ("as they come",)
        own = (X["c"] == "p") if name == "c" else X["flag"]
        at = np.array([v in ("p", True) for v in effect.grid_values[0]])
        np.testing.assert_allclose(effect.ale[0], slope * (at - own.mean()), atol=1e-12)
        assert not effect.notes


def test_ale_more_than_hundred_categories_are_most_frequent_ones():
    rng = np.random.default_rng(0)
    common = rng.integers(0, 90, 4_000)
    X = pd.DataFrame({"c": np.append(common, np.arange(90, 150)).astype(str), "y": rng.normal(size=4_060)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = one(of_number, X, "c")
    assert found.ale.shape == (1, 100)
    assert any("has 150 values; the 100 most frequent are used" in note for note in found.notes)
    assert any(
        "of the data lies outside the grid of c, and its local effects ignore it" in note
        for note in found.notes
    )
    assert {str(k) for k in range(90)} <= set(found.grid_values[0])
