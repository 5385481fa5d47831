"""Grids over the whole range: evenly spaced in the center, observed values in the tails, each row in one cell."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus
from paribus._data.summary import CENTER, outer_points, outer_values
from paribus._evaluators import survey

ROWS = 800


def table(rows=ROWS):
    rng = np.random.default_rng(3)
    columns = {
        "normal": rng.normal(size=rows),
        "heavy": rng.lognormal(sigma=2, size=rows),
        "zeros": np.where(rng.random(rows) < 0.4, 0.0, rng.lognormal(size=rows)),
        "whole": np.round(rng.lognormal(3, 1.5, size=rows)).astype(int),
        "days": np.datetime64("2020-01-01") + np.round(rng.lognormal(4, 1, size=rows)).astype("m8[D]"),
        "gaps": rng.normal(size=rows),
    }
    columns["gaps"][rng.random(rows) < 0.1] = np.nan
    return pd.DataFrame(columns)


def model(X):
    return (
        X["normal"].to_numpy() + np.log1p(X["heavy"].to_numpy()) + np.nan_to_num(X["gaps"].to_numpy(), nan=2)
    )


def curve(X, feature, **options):
    return paribus.partial_dependence(model, X, feature, **{"percentiles": None, "progress": False} | options)


@pytest.mark.parametrize("feature", ["normal", "heavy", "zeros", "whole", "days", "gaps"])
@pytest.mark.parametrize("weighted", [False, True])
def test_grid_covers_the_data_at_observed_values_in_the_tails(feature, weighted):
    X = table()
    weights = np.random.default_rng(4).integers(0, 4, ROWS).astype(float) if weighted else None
    effect = curve(X, feature, grid_resolution=50, sample_weight=weights)
    (grid,) = effect.grid_values
    counted = X if weights is None else X[weights > 0]
    observed = counted[feature].dropna().to_numpy().astype(grid.dtype)
    assert (grid[0], grid[-1]) == (observed.min(), observed.max())
    assert 25 <= len(grid) <= 50
    low, high = counted[feature].quantile([0.05, 0.95]).to_numpy().astype(grid.dtype)
    if weights is not None:
        low, high = counted[feature].repeat(weights[weights > 0].astype(int)).quantile([0.05, 0.95])
        low, high = np.array([low, high]).astype(grid.dtype)
    outside = (grid < low) | (grid > high)
    assert np.isin(grid[outside], observed).all()
    assert outside.sum() >= 8
    assert (effect.support[outside] > 0).all()
    missing = 0 if effect.missing is None else effect.missing.support
    assert effect.support.sum() + missing == pytest.approx(ROWS if weights is None else weights.sum())


def test_center_is_evenly_spaced_and_tails_are_denser_toward_the_extremes():
    X = table(20_000)
    (grid,) = curve(X, "normal", grid_resolution=50).grid_values
    low, high = X["normal"].quantile([0.05, 0.95])
    center = grid[(grid >= low - 1e-9) & (grid <= high + 1e-9)]
    assert len(center) == 30
    np.testing.assert_allclose(np.diff(center), (high - low) / 29)
    ranks = np.searchsorted(np.sort(X["normal"]), grid[:10])
    np.testing.assert_allclose(ranks, 20_000 * CENTER[0] * (1 - np.arange(10, 0, -1) / 10) ** 2, atol=1)


@pytest.mark.parametrize("resolution", [2, 3, 4, 9, 10, 11])
def test_small_grids_have_the_extremes_and_no_further_points_in_the_tails(resolution):
    X = table()
    (grid,) = curve(X, "heavy", grid_resolution=resolution).grid_values
    assert len(grid) == resolution
    assert (grid[0], grid[-1]) == (X["heavy"].min(), X["heavy"].max())
    outside = (grid < X["heavy"].quantile(0.05) - 1e-12) | (grid > X["heavy"].quantile(0.95) + 1e-12)
    assert outside.sum() == 2 * outer_points(resolution)


def test_feature_with_few_values_is_evaluated_at_each():
    X = pd.DataFrame({"normal": np.r_[np.zeros(990), np.arange(10.0)]}).assign(heavy=1.0, gaps=0.0)
    (grid,) = curve(X, "normal", grid_resolution=10).grid_values
    np.testing.assert_array_equal(grid, np.arange(10))


def test_value_with_most_of_the_rows_is_a_point():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"normal": np.r_[np.full(950, 5.0), rng.normal(5, 3, 50)]}).assign(heavy=1.0, gaps=0.0)
    effect = curve(X, "normal", grid_resolution=30)
    (grid,) = effect.grid_values
    assert effect.support[grid == 5.0] >= 950
    assert (grid[0], grid[-1]) == (X["normal"].min(), X["normal"].max())
    assert effect.support.sum() == len(X)


def test_integer_weights_are_repeated_rows_and_equal_weights_are_none():
    rng = np.random.default_rng(1)
    values, weights = np.sort(rng.lognormal(size=500)), rng.integers(1, 5, 500)
    for resolution in (5, 20, 50):
        repeated = outer_values(np.repeat(values, weights), None, resolution)
        for tail, of_weights in zip(
            repeated, outer_values(values, weights.astype(float), resolution), strict=True
        ):
            np.testing.assert_array_equal(tail, of_weights)
        plain = outer_values(values, None, resolution)
        for tail, of_weights in zip(plain, outer_values(values, np.full(500, 0.3), resolution), strict=True):
            np.testing.assert_array_equal(tail, of_weights)


@pytest.mark.parametrize("thinned", [False, True])
def test_files_have_the_grid_of_rows_in_memory_within_the_rank_error(tmp_path, monkeypatch, thinned):
    X = table(40_000)
    pq.write_table(pa.Table.from_pandas(X, preserve_index=False), tmp_path / "rows.parquet")
    want = curve(X, "heavy", grid_resolution=50)
    if thinned:
        monkeypatch.setattr(survey, "EXACT_ROWS", 4_096)
        monkeypatch.setattr(survey, "CAPACITY", 1_024)
    effect = paribus.partial_dependence(
        lambda T: model(T.to_pandas() if hasattr(T, "to_pandas") else T),
        tmp_path / "rows.parquet",
        "heavy",
        percentiles=None,
        grid_resolution=50,
        progress=False,
    )
    (grid,), (exact,) = effect.grid_values, want.grid_values
    assert (grid[0], grid[-1]) == (exact[0], exact[-1])
    if not thinned:
        np.testing.assert_array_equal(grid, exact)
        np.testing.assert_array_equal(effect.support, want.support)
        return
    error = effect.provenance.rank_error
    assert 0 < error < 0.02
    tail = grid[grid < X["heavy"].quantile(0.05 - error)]
    assert np.isin(tail, X["heavy"]).all()
    assert len(tail) >= 2
    assert effect.support.sum() == len(X)


@pytest.mark.parametrize("weighted", [False, True])
def test_ranks_are_the_shares_of_rows_below_and_up_to_each_value(weighted):
    X = table()
    weights = np.random.default_rng(4).integers(0, 4, ROWS).astype(float) if weighted else np.ones(ROWS)
    for feature in ("heavy", "zeros", "whole", "days", "gaps"):
        effect = curve(X, feature, sample_weight=weights if weighted else None)
        values, (grid,) = X[feature].to_numpy(), effect.grid_values
        below, up_to = (
            [weights[compare(values, v)].sum() for v in grid] for compare in (np.less, np.less_equal)
        )
        np.testing.assert_allclose(effect.ranks, np.array([below, up_to]) / weights.sum(), rtol=1e-12)
    assert curve(X.assign(zeros="a"), "zeros").ranks is None


@pytest.mark.parametrize("kind", ["trees", "function"])
def test_sketched_curves_with_heavy_tails_have_the_numbers_of_rows_in_memory(kind, tmp_path, monkeypatch):
    """Quantiles are estimated; averages, errors, support and ranks are those of all rows at these points."""
    monkeypatch.setattr(survey, "EXACT_ROWS", 500)
    monkeypatch.setattr(survey, "CAPACITY", 256)
    monkeypatch.setattr(survey, "LEAST_CAPACITY", 256)
    numbers = ["normal", "heavy", "zeros", "gaps"]
    X = table(4_000)[numbers]
    trees = HistGradientBoostingRegressor(max_iter=20, max_leaf_nodes=12).fit(X, model(X) ** 2)
    explained = trees if kind == "trees" else Named(model, numbers)
    X.to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    options = {"progress": False}
    read = paribus.effects(explained, str(tmp_path / "rows.parquet"), **options)
    again = paribus.effects(explained, str(tmp_path / "rows.parquet"), n_jobs=3, **options)
    whole = paribus.effects(explained, X, **options)
    assert any(note.code.name == "QUANTILES_ESTIMATED" for note in read.notes)
    grids = {name: effect.grid_values[0] for name, effect in read.items()}
    held = paribus.effects(explained, X, custom_values=grids, **options)
    for name, effect in read.items():
        (grid,) = effect.grid_values
        values = X[name].dropna().to_numpy()
        assert (grid[0], grid[-1]) == (values.min(), values.max())
        low, high = np.quantile(values, [0.02, 0.98])
        assert np.isin(grid[(grid < low) | (grid > high)], values).all()
        np.testing.assert_allclose(effect.average, held[name].average, rtol=1e-12)
        np.testing.assert_allclose(effect.standard_error, held[name].standard_error, rtol=1e-9)
        np.testing.assert_array_equal(effect.ranks, held[name].ranks)
        missing = 0 if effect.missing is None else effect.missing.support
        assert effect.support.sum() + missing == len(X)
        error = 1e-12 if kind == "trees" else 0.06
        assert effect.strength == pytest.approx(whole[name].strength, rel=error)
        for part in ("average", "standard_error", "support", "ranks", "strengths"):
            assert getattr(effect, part).tobytes() == getattr(again[name], part).tobytes()


class Named:
    """A function that knows the names of its columns."""

    def __init__(self, function, names):
        self.function, self.feature_names_in_ = function, np.array(names)

    def predict(self, X):
        return self.function(X)
