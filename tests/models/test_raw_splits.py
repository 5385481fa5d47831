"""Grids at every split of trees behind preprocessing, in the units of the table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OrdinalEncoder,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

import paribus
from mixed_pipelines import FIRST, fitted, joining, mixed, monotone, preprocessing

pytestmark = pytest.mark.filterwarnings("ignore:X does not have valid feature names")  # LightGBM by an array


def steps_at(model, table, feature, between, tolerance=1e-9):
    """Return the effect at every split, which is that of the nearest point of the grid on either side."""
    effect = paribus.partial_dependence(model, table, feature, grid_resolution="splits", method="exact")
    grid, values = effect.grid_values[0], table[feature].dropna()
    assert grid[0] == values.min()
    assert grid[-1] == values.max()
    requested = np.unique(
        np.concatenate([between.astype(grid.dtype), grid, values.to_numpy(grid.dtype)[::5]])
    )
    want = paribus.partial_dependence(
        model, table, feature, custom_values={feature: requested}, method="brute"
    )
    for nearest in (np.searchsorted(grid, requested, side="right") - 1, np.searchsorted(grid, requested)):
        np.testing.assert_allclose(effect.average[:, nearest], want.average, rtol=tolerance, atol=tolerance)
    assert len(np.unique(effect.average.round(9))) > 3, feature
    return effect


def test_lines_through_every_split_are_step_functions_of_raw_values():
    X, *_ = mixed()
    model = fitted("LightGBM", monotone)
    rng = np.random.default_rng(1)
    for feature, low, high in (("gap", -2.0, 4.0), ("size", 0.1, 6.0), ("count", 0, 9)):
        effect = steps_at(model, X, feature, rng.uniform(low, high, 30))
        assert effect.grid_values[0].dtype == X[feature].dtype
        assert (effect.missing is not None) == (feature == "gap")
    # Numbers that are binned have as many steps as bins.
    assert len(effect.grid_values[0]) <= 2 * 4 + 2
    plain = paribus.partial_dependence(model, X, "city")
    assert list(
        paribus.partial_dependence(model, X, "city", grid_resolution="splits").grid_values[0]
    ) == list(plain.grid_values[0])


def since_first(table):
    return (table - pd.Timestamp(FIRST)) / pd.Timedelta(days=-1)


@pytest.mark.parametrize("kind", ["f4", "f2", "i2", "u8", "M8[s]"])
def test_splits_are_found_between_neighboring_values_of_every_dtype(kind):
    rng, dtype = np.random.default_rng(2), np.dtype(kind)
    raw = rng.integers(1, 2_000, 200)
    x = (FIRST + raw.astype("m8[h]")).astype(dtype) if dtype.kind == "M" else raw.astype(dtype)
    x = x * np.uint64(2**51) + np.uint64(2**63) if kind == "u8" else x
    X = pd.DataFrame({"x": x, "z": rng.normal(size=200)})
    first = {"M": FunctionTransformer(since_first), "u": FunctionTransformer(np.negative)}.get(
        dtype.kind, PowerTransformer()
    )
    if kind == "u8":
        first = make_pipeline(FunctionTransformer(np.sqrt), RobustScaler())
    model = make_pipeline(make_column_transformer((first, ["x"]), (StandardScaler(), ["z"])), RandomForestRegressor(3, max_depth=4, random_state=0))  # fmt: skip
    model.fit(X, np.sin(raw / 300.0) + X["z"])
    between = np.unique(rng.choice(x, 30))
    effect = steps_at(model, X, "x", between)
    assert effect.grid_values[0].dtype == dtype


@pytest.mark.parametrize(
    ("steps", "feature", "reason"),
    [
        (preprocessing, "size", "'size' is split: its preprocessing makes columns of 'size' that neither rise nor"),
        (preprocessing, "count", "columns of 'count' that neither rise nor fall"),
        (joining, "size", "'size' is split: PolynomialFeatures .*'size'"),
    ],
)  # fmt: skip
def test_splits_that_cannot_be_found_are_refused_by_name(steps, feature, reason):
    X, *_ = mixed()
    with pytest.raises(
        paribus.errors.RefusalError, match=f"{reason}.*pass an integer, or custom_values of"
    ) as refused:
        paribus.partial_dependence(fitted("forest", steps), X, feature, grid_resolution="splits")
    assert refused.value.code is paribus.errors.RefusalCode.UNSUPPORTED


def test_steps_that_fail_between_values_are_refused():
    X, y, _ = mixed()
    steps = make_column_transformer((OrdinalEncoder(), ["count"]), (SimpleImputer(), ["gap"]))
    model = make_pipeline(steps, RandomForestRegressor(3, max_depth=4, random_state=0)).fit(X, y)
    spread = X.assign(count=X["count"] * 5)
    model.fit(spread, y)
    with pytest.raises(paribus.errors.RefusalError, match=r"where 'count' is split: .*ValueError"):
        paribus.partial_dependence(model, spread, "count", grid_resolution="splits")


def test_terms_have_no_splits():
    X, *_ = mixed()
    with pytest.raises(
        paribus.errors.RefusalError, match=r"needs the trees of .*a sum of terms.*pass an integer"
    ) as no:
        paribus.partial_dependence(fitted("ridge"), X, "gap", grid_resolution="splits")
    assert no.value.code is paribus.errors.RefusalCode.NO_STRUCTURE


def test_several_pipelines_share_the_splits_of_all():
    X, *_ = mixed()
    models = [fitted("LightGBM", monotone), fitted("forest", monotone)]
    grids = [
        paribus.partial_dependence(model, X, "size", grid_resolution="splits").grid_values[0]
        for model in (*models, models)
    ]
    assert sorted(set(grids[0]) | set(grids[1])) == list(grids[2])
    binned = make_column_transformer((KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), ["size"]))
    one = make_pipeline(binned, RandomForestRegressor(3, random_state=0)).fit(X, X["size"])
    edges = one[0].transformers_[0][1].bin_edges_[0][1:-1]
    grid = paribus.partial_dependence(one, X, "size", grid_resolution="splits").grid_values[0]
    np.testing.assert_allclose(grid[2:-1:2], edges, rtol=1e-7)
    np.testing.assert_array_equal(grid[1:-1:2], np.nextafter(grid[2:-1:2], -np.inf))
