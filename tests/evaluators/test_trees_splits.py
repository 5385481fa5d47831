"""Grids at every split of the trees."""

import catboost
import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn import ensemble as forests

import paribus
from paribus._api.statistics import effects_statistic as effects_statistic
from tree_examples import (
    CAT,
    FULL,
    HOLES,
    LGB,
    SIGNAL,
    UNREADABLE,
    XGB,
    ZEROS,
    agree,
    close,
    fitted,
    hist,
    same_bits,
    tolerance,
)

# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]


def of_dtype(dtype):
    table = FULL[:, :4].copy()
    table[:, 0] *= 20
    return np.round(table).astype(dtype) if np.issubdtype(dtype, np.integer) else table.astype(dtype)


SPLIT_MODELS = {
    "hist": lambda: hist("Regressor"),
    "forest": lambda: forests.RandomForestRegressor(4, max_depth=5, random_state=0),
    "xgboost": lambda: xgb.XGBRegressor(**XGB),
    "lightgbm": lambda: lgb.LGBMRegressor(**LGB),
    "catboost": lambda: catboost.CatBoostRegressor(**CAT),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(name, dtype) for name in SPLIT_MODELS for dtype in (np.float64, np.float32, np.int64, np.int16)],
)
def test_trees_line_through_every_split_is_step_function(name, dtype):
    table = of_dtype(dtype)
    model = SPLIT_MODELS[name]().fit(table, SIGNAL)
    effect = paribus.partial_dependence(model, table, 0, grid_resolution="splits")
    grid = effect.grid_values[0]
    assert grid.dtype == dtype
    assert grid[0] == table[:, 0].min()
    assert grid[-1] == table[:, 0].max()
    assert (np.diff(grid) > 0).all()
    assert effect.provenance.grid_resolution == "splits"
    between = np.random.default_rng(1).uniform(grid[0], grid[-1], 200).astype(dtype)
    asked = np.unique(np.append(between, grid))
    want = paribus.partial_dependence(model, table, 0, custom_values={0: asked}, method="brute")
    for nearest in (np.searchsorted(grid, asked, side="right") - 1, np.searchsorted(grid, asked)):
        close(effect.average[:, nearest], want.average, tolerance(name))
    assert len(np.unique(effect.average.round(9))) > 5


def test_trees_categories_keep_their_categories_at_every_split(tmp_path):
    model = fitted("hist, categories")
    found = paribus.effects(model, HOLES, grid_resolution="splits")
    plain = paribus.effects(model, HOLES)
    assert list(found["level"].grid_values[0]) == list(plain["level"].grid_values[0])
    assert list(found["flag"].grid_values[0]) == list(plain["flag"].grid_values[0])
    for key in ("level", "flag"):
        same_bits(found[key], plain[key])
    assert found["x"].missing.average == plain["x"].missing.average
    found.save(tmp_path / "splits.json")
    assert paribus.load(tmp_path / "splits.json") == found


def test_trees_surface_of_every_split_is_brute_force():
    model = fitted("boosting")
    effect = paribus.partial_dependence(model, FULL, [1, 3], grid_resolution="splits")
    values = dict(zip([1, 3], effect.grid_values, strict=True))
    agree(effect, paribus.partial_dependence(model, FULL, [1, 3], custom_values=values, method="brute"), 1e-9)


@pytest.mark.parametrize("method", ["auto", "exact", "brute"])
@pytest.mark.parametrize("name", UNREADABLE)
def test_every_split_needs_trees(name, method):
    model, table, reason = UNREADABLE[name]
    with pytest.raises(
        paribus.errors.RefusalError,
        match=f"grid_resolution='splits' needs the trees.*{reason}.*pass an integer",
    ):
        paribus.partial_dependence(model, table, 0, grid_resolution="splits", method=method)


@pytest.mark.parametrize("name", ["xgboost", "forest", "catboost"])
def test_trees_every_split_is_where_double_precision_data_is_rounded(name):
    table = np.round(FULL[:, :4], 1)  # tenths, which single precision rounds up or down
    model = SPLIT_MODELS[name]().fit(table, SIGNAL)
    effect = paribus.partial_dependence(model, table, 0, grid_resolution="splits")
    grid, values = effect.grid_values[0], table[:, 0]
    asked = np.unique(np.concatenate([values, grid, values.astype(np.float32)]).clip(grid[0], grid[-1]))
    want = paribus.partial_dependence(model, table, 0, custom_values={0: asked}, method="brute")
    for nearest in (np.searchsorted(grid, asked, side="right") - 1, np.searchsorted(grid, asked)):
        close(effect.average[:, nearest], want.average, tolerance(name))


def test_trees_zero_is_step_of_its_own_where_it_is_missing():
    table = ZEROS.copy()
    model = lgb.LGBMRegressor(**LGB, zero_as_missing=True).fit(table, SIGNAL + (table[:, 0] == 0))
    effect = paribus.partial_dependence(model, table, 0, grid_resolution="splits")
    grid = effect.grid_values[0]
    asked = np.unique(np.concatenate([grid, [-1e-30, 0.0, 1e-30], np.linspace(grid[0], grid[-1], 50)]))
    want = paribus.partial_dependence(model, table, 0, custom_values={0: asked}, method="brute")
    nearest = np.searchsorted(grid, asked, side="right") - 1
    close(effect.average[:, nearest], want.average, 1e-9)
