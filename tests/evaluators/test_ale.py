"""Accumulated local effects: laws they must obey, by hand and by brute force, and what cannot be evaluated."""

import datetime
import hashlib
import tempfile
import warnings
from dataclasses import replace
from functools import cache
from itertools import pairwise, product

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
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import paribus
from conftest import numbers
from paribus import accumulated_local_effects as ale
from paribus._api.statistics import ale_statistic as statistic
from paribus._data.read import table_of
from paribus._data.rows import rows_of
from paribus._data.summary import edges_of
from paribus._display.figure import Hatch, Line
from paribus._evaluators import survey
from paribus._evaluators.ale import brute_ale, tree_ale
from paribus._evaluators.ale.category_order import similar_order
from paribus._states import CellMoments

PARTS = ("ale", "standard_error", "local", "local_error", "support", "rows", "empty")


def one(model, X, feature=0, **options):
    """Return the only effect requested."""
    (effect,) = ale(model, X, [feature], **options).values()
    return effect


def same(have, want, tolerance=0.0, parts=PARTS):
    """Two effects are alike, up to a tolerance relative to the size of the effect; 0 means the bits."""
    assert have.feature_names == want.feature_names
    for mine, theirs in zip(have.grid_values, want.grid_values, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    size = max(1.0, float(np.abs(np.nan_to_num(want.ale)).max(initial=0.0)))
    for part in parts:
        np.testing.assert_allclose(have[part], want[part], rtol=0, atol=tolerance * size, err_msg=part)
    assert (have.missing is None) == (want.missing is None)
    if have.missing is not None:
        assert have.missing.anchor == want.missing.anchor
        for part in {"ale", "standard_error"} & set(parts):
            mine, theirs = getattr(have.missing, part), getattr(want.missing, part)
            np.testing.assert_allclose(mine, theirs, rtol=0, atol=10 * tolerance * size, err_msg=part)


# ---------------------------------------------------------------- by hand, from the paper


def cell_of(value, edges):
    """Return the bin a number lies in: its upper edge belongs to it, the smallest value to the first."""
    if value == edges[0]:
        return 0
    return next((k for k in range(len(edges) - 1) if edges[k] < value <= edges[k + 1]), None)


def moved(f, row, **places):
    """Return the prediction of a row with some columns replaced."""
    row = list(row)
    for column, value in places.items():
        row[int(column[1:])] = value
    return f(row)


def straight(heights, edges, value):
    """Return the height of a curve that is straight between edges."""
    k = cell_of(value, edges)
    share = (value - edges[k]) / (edges[k + 1] - edges[k])
    return heights[k] * (1 - share) + heights[k + 1] * share


def by_hand(f, X, edges, weights, interpolate=True):
    """Return the curve of column 0 as Apley and Zhu define it; they center with the upper edge's height."""
    change, total = [0.0] * (len(edges) - 1), [0.0] * (len(edges) - 1)
    for row, weight in zip(X, weights, strict=True):
        k = cell_of(row[0], edges)
        change[k] += weight * (moved(f, row, x0=edges[k + 1]) - moved(f, row, x0=edges[k]))
        total[k] += weight
    heights = [0.0]
    for k in range(len(change)):
        heights.append(heights[-1] + change[k] / total[k])
    center = 0.0
    for row, weight in zip(X, weights, strict=True):
        own = straight(heights, edges, row[0]) if interpolate else heights[cell_of(row[0], edges) + 1]
        center += weight * own
    return np.array(heights) - center / sum(weights)


def levels_by_hand(f, X, levels, weights):
    """Return the effect of categories in a given order: the rows of both categorical tell a step."""
    heights = [0.0]
    for low, high in pairwise(levels):
        change = total = 0.0
        for row, weight in zip(X, weights, strict=True):
            if row[0] in (low, high):
                change += weight * (moved(f, row, x0=high) - moved(f, row, x0=low))
                total += weight
        heights.append(heights[-1] + change / total)
    own = [heights[levels.index(row[0])] for row in X]
    return np.array(heights) - np.average(own, weights=weights)


def surface_by_hand(f, X, edges, others, weights, levels=False):
    """Return the effect of columns 0 and 1 together; with ``levels`` the second are categories in an order.

    A row is on the step ``m`` of the second axis if that is its bin, or if its category is on either side.
    """

    def steps(row):
        if not levels:
            return [cell_of(row[1], others)]
        place = others.index(row[1])
        return [m for m in (place - 1, place) if 0 <= m < len(others) - 1]

    def at(surface, row, k=None, m=None):
        """Return the surface at a node, or at the row's own place along an axis."""
        lines = [surface[k]] if k is not None else surface
        if m is not None:
            column = [line[m] for line in lines]
        elif levels:
            column = [line[others.index(row[1])] for line in lines]
        else:
            column = [straight(line, others, row[1]) for line in lines]
        return column[0] if k is not None else straight(column, edges, row[0])

    shape = len(edges) - 1, len(others) - 1
    change, total = np.zeros(shape), np.zeros(shape)
    for row, weight in zip(X, weights, strict=True):
        k = cell_of(row[0], edges)
        for m in steps(row):
            corners = [[moved(f, row, x0=a, x1=b) for b in others[m : m + 2]] for a in edges[k : k + 2]]
            change[k, m] += weight * (corners[1][1] - corners[0][1] - corners[1][0] + corners[0][0])
            total[k, m] += weight
    heights = np.zeros((len(edges), len(others)))
    for k, m in product(*map(range, shape)):
        heights[k + 1, m + 1] = (
            heights[k + 1, m] + heights[k, m + 1] - heights[k, m] + change[k, m] / total[k, m]
        )
    first, second = [0.0], [0.0]
    for k in range(shape[0]):
        told = [(row, w) for row, w in zip(X, weights, strict=True) if cell_of(row[0], edges) == k]
        rises = [at(heights, row, k=k + 1) - at(heights, row, k=k) for row, _ in told]
        first.append(first[-1] + np.average(rises, weights=[w for _, w in told]))
    for m in range(shape[1]):
        told = [(row, w) for row, w in zip(X, weights, strict=True) if m in steps(row)]
        rises = [at(heights, row, m=m + 1) - at(heights, row, m=m) for row, _ in told]
        second.append(second[-1] + np.average(rises, weights=[w for _, w in told]))
    heights = heights - np.array(first)[:, None] - np.array(second)
    return heights - np.average([at(heights, row) for row in X], weights=weights)


def wavy(row):
    return np.sin(3 * row[0]) + row[0] ** 2 * row[2] + np.cos(row[0] * row[1] + 0.3 * row[2])


def rowwise(f):
    """Return a model of arrays from a function of one row."""
    return lambda X: np.array([f(list(row)) for row in X])


@cache
def small(weighted, size=120, ties=True):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(size, 3))
    X[:, 1] += 0.7 * X[:, 0]
    X = X.round(1) if ties else X
    return X, rng.gamma(1.0, size=size) if weighted else np.ones(size)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bins", [1, 2, 7, 40])
def test_a_curve_is_that_of_the_definition(weighted, bins):
    X, weights = small(weighted)
    found = one(rowwise(wavy), X, grid_resolution=bins, sample_weight=weights if weighted else None)
    edges = found.grid_values[0].tolist()
    np.testing.assert_allclose(found.ale[0], by_hand(wavy, X, edges, weights), rtol=0, atol=1e-12)
    apart = found.ale[0] - by_hand(wavy, X, edges, weights, interpolate=False)
    assert np.ptp(apart) < 1e-12  # the paper's curve, at another height
    assert np.average(straight_at(found, X[:, 0]), weights=weights) == pytest.approx(0, abs=1e-12)


def straight_at(effect, values):
    """Return a curve at values, straight between its edges."""
    return np.interp(values, effect.grid_values[0].astype(float), effect.ale[0])


@pytest.mark.parametrize("weighted", [False, True])
def test_levels_are_those_of_the_definition(weighted):
    X, weights = small(weighted)
    X = X.copy()
    X[:, 0] = np.random.default_rng(1).integers(0, 5, len(X))
    order = [3.0, 0.0, 4.0, 1.0, 2.0]
    given = {"sample_weight": weights} if weighted else {}
    found = one(rowwise(wavy), X, categorical_features=[0], custom_values={0: order}, **given)
    assert found.order == ("as given",)
    np.testing.assert_allclose(found.ale[0], levels_by_hand(wavy, X, order, weights), rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.support, [weights[X[:, 0] == level].sum() for level in order])
    np.testing.assert_array_equal(found.rows, [(X[:, 0] == level).sum() for level in order])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_surface_is_that_of_the_definition(weighted):
    X, weights = small(weighted, 160)
    given = {"sample_weight": weights} if weighted else {}
    found = one(rowwise(wavy), X, (0, 1), grid_resolution=3, **given)
    assert not found.empty.any()
    edges = [values.tolist() for values in found.grid_values]
    want = surface_by_hand(wavy, X, *edges, weights)
    np.testing.assert_allclose(found.ale[0], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_surface_with_levels_is_that_of_the_definition(weighted):
    X, weights = small(weighted, 160)
    X = X.copy()
    X[:, 1] = np.random.default_rng(1).integers(0, 4, len(X))
    order = [2.0, 0.0, 3.0, 1.0]
    given = {"sample_weight": weights} if weighted else {}
    options = {"categorical_features": [1], "custom_values": {1: order}, "grid_resolution": 4} | given
    found = one(rowwise(wavy), X, (0, 1), **options)
    assert not found.empty.any()
    want = surface_by_hand(wavy, X, found.grid_values[0].tolist(), order, weights, levels=True)
    np.testing.assert_allclose(found.ale[0], want, rtol=0, atol=1e-12)
    turned = one(rowwise(wavy), X, (1, 0), **options)
    np.testing.assert_allclose(turned.ale[0].T, want, rtol=0, atol=1e-12)
    np.testing.assert_allclose(turned.standard_error[0].T, found.standard_error[0], rtol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_are_those_of_a_weighted_mean_in_each_bin(weighted):
    X, weights = small(weighted)
    f = rowwise(wavy)
    found = one(f, X, grid_resolution=6, sample_weight=weights if weighted else None)
    edges, local = found.grid_values[0], []
    cell = np.array([cell_of(value, edges) for value in X[:, 0]])
    low, high = X.copy(), X.copy()
    low[:, 0], high[:, 0] = edges[cell], edges[cell + 1]
    change = f(high) - f(low)
    for k in range(6):
        w, d = weights[cell == k], change[cell == k]
        mean, n = np.average(d, weights=w), len(d)
        local.append(n / (n - 1) * (w**2 * (d - mean) ** 2).sum() / w.sum() ** 2)
        assert found.local[0, k] == pytest.approx(mean, rel=1e-12)
    np.testing.assert_allclose(found.local_error[0] ** 2, local, rtol=1e-10)
    steps = np.tril(np.ones((7, 6)), -1)  # which steps lead to each edge
    own = np.stack([np.interp(X[:, 0], edges, column) for column in steps.T], axis=1)
    lead = steps - np.average(own, axis=0, weights=weights)
    np.testing.assert_allclose(found.standard_error[0] ** 2, lead**2 @ local, rtol=1e-10)


# ---------------------------------------------------------------- known effects

RNG = np.random.default_rng(11)
COLUMNS = {
    "normal": RNG.normal(size=3_000),
    "mostly zero": np.where(RNG.random(3_000) < 0.9, 0.0, RNG.lognormal(size=3_000)),
    "zero in the middle": np.where(RNG.random(3_000) < 0.9, 0.0, RNG.normal(size=3_000)),
    "skewed": RNG.lognormal(0, 2, size=3_000),
    "counts": RNG.poisson(4, 3_000),
    "two integers": RNG.integers(3, 5, 3_000),
    "large integers": 2**40 + RNG.integers(0, 10**6, 3_000),
    "small integers": RNG.integers(-100, 100, 3_000).astype("int8"),
    "single precision": RNG.normal(size=3_000).astype("float32"),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bins", [1, 2, 40, 1000])
@pytest.mark.parametrize("name", list(COLUMNS))
def test_the_effect_of_a_line_is_the_line(name, bins, weighted):
    x, rng = COLUMNS[name], np.random.default_rng(2)
    weights = rng.gamma(1.0, size=len(x)) * (rng.random(len(x)) < 0.9) if weighted else None
    X = pd.DataFrame({"x": x, "other": x + rng.normal(size=len(x))})
    found = one(lambda t: 3.0 * t["x"].to_numpy(float), X, "x", grid_resolution=bins, sample_weight=weights)
    edges, present = found.grid_values[0].astype(float), x if weights is None else x[weights > 0]
    counted = None if weights is None else weights[weights > 0]
    scale = np.abs(edges).max() if name == "large integers" else np.ptp(edges)
    want = 3.0 * (edges - np.average(present.astype(float), weights=counted))
    np.testing.assert_allclose(found.ale[0], want, rtol=0, atol=1e-12 * 3 * scale)
    distinct = np.unique(present)
    assert np.isin(found.grid_values[0], distinct).all()
    assert found.grid_values[0].dtype == x.dtype
    assert edges[0] == distinct[0]
    assert edges[-1] == distinct[-1]
    assert (np.diff(edges) > 0).all()
    assert len(edges) - 1 == min(bins, len(distinct) - 1)
    assert found.support.sum() == pytest.approx(len(x) if weights is None else weights.sum(), rel=1e-12)
    assert found.rows.sum() == len(present)
    assert not found.empty.any()
    np.testing.assert_allclose(found.local[0], 3.0 * np.diff(edges), rtol=0, atol=1e-12 * 3 * scale)
    assert np.nanmax(found.standard_error) <= 1e-12 * scale


@given(
    st.lists(st.integers(-3, 12), min_size=1, max_size=60),
    st.integers(1, 12),
    st.none() | st.integers(0, 999),
)
def test_edges_are_values_and_there_are_as_many_bins_as_there_is_room_for(values, bins, seed):
    values = np.sort(np.array(values, float))
    weights = None if seed is None else np.random.default_rng(seed).gamma(0.3, size=len(values)) + 1e-9
    edges, distinct = edges_of(values, weights, bins), np.unique(values)
    assert np.isin(edges, distinct).all()
    assert (np.diff(edges) > 0).all()
    assert (edges[0], edges[-1]) == (distinct[0], distinct[-1])
    assert len(edges) - 1 == min(bins, len(distinct) - 1)


def test_bins_have_about_the_same_weight():
    x = np.sort(np.random.default_rng(0).normal(size=10_000))
    counts = np.diff(np.searchsorted(x, edges_of(x, None, 40), side="right"))
    assert counts.min() >= 249
    assert counts.max() <= 250
    heavy = np.sort(np.append(x, np.zeros(30_000)))  # three quarters are zero, which is one bin
    edges = edges_of(heavy, None, 40)
    assert 0.0 in edges
    counts = np.diff(np.searchsorted(heavy, edges, side="right"))
    assert np.sort(counts)[-2] <= 10_000 / 39 + 1


@pytest.mark.parametrize("first", [2**62, -(2**63), 2**63, 2**64 - 1_000])
def test_whole_numbers_that_are_no_floats_have_lines(first):
    dtype = np.uint64 if first >= 2**63 else np.int64
    steps = np.random.default_rng(0).integers(0, 1_000, 500)
    x = np.array([first + int(step) for step in steps], dtype)

    def model(t):
        return np.array([float(int(value) - first) for value in t["x"]])

    found = one(model, pd.DataFrame({"x": x, "y": 1.0}), "x")
    edges = np.array([int(edge) - first for edge in found.grid_values[0]])
    np.testing.assert_allclose(found.ale[0], edges - steps.mean(), rtol=0, atol=1e-12 * 1_000)


def test_the_widest_bin_fits():
    x = np.array([-(2**63), 0, 2**63 - 1], np.int64)
    found = one(lambda t: t["x"].to_numpy() / 2**63, pd.DataFrame({"x": x, "y": 1.0}), "x", grid_resolution=1)
    np.testing.assert_allclose(found.ale[0], [-1.0, 1.0], atol=1e-12)


def test_numbers_longer_than_doubles_have_lines():
    x = np.random.default_rng(0).normal(size=300).astype(np.longdouble)
    found = one(lambda X: X[:, 0].astype(float), x[:, None])
    np.testing.assert_allclose(found.ale[0], found.grid_values[0] - x.mean(), rtol=0, atol=1e-12)


def test_dates_have_lines_too():
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 365, 800), unit="D")
    X = pd.DataFrame({"day": day, "wait": pd.to_timedelta(rng.integers(0, 500, 800), unit="min")})

    def model(t):
        days = (t["day"] - pd.Timestamp("2026-01-01")).dt.total_seconds() / 86_400
        return 2.0 * days.to_numpy() + t["wait"].dt.total_seconds().to_numpy() / 60

    found = ale(model, X)
    edges = (found["day"].grid_values[0] - np.datetime64("2026-01-01")) / np.timedelta64(1, "D")
    mean = ((X["day"] - pd.Timestamp("2026-01-01")).dt.total_seconds() / 86_400).mean()
    assert len(edges) == 41
    np.testing.assert_allclose(found["day"].ale[0], 2 * (edges - mean), rtol=0, atol=1e-9)
    wait = found["wait"].grid_values[0] / np.timedelta64(1, "m")
    np.testing.assert_allclose(
        found["wait"].ale[0], wait - (X["wait"].dt.total_seconds() / 60).mean(), atol=1e-9
    )
    given = [datetime.date(2026, 1, 1), datetime.date(2026, 7, 1), datetime.date(2026, 12, 31)]
    assert one(model, X, "day", custom_values={"day": given}).ale.shape == (1, 3)


def test_bins_without_rows_take_the_slope_of_the_nearest():
    x = np.concatenate([np.linspace(0, 1, 50), np.linspace(8.1, 9, 70)])
    edges = [-3.0, 0.0, 0.5, 1.0, 2.0, 5.5, 8.0, 8.1, 9.0, 20.0]
    found = one(lambda X: 3 * X[:, 0], x[:, None], custom_values={0: edges})
    np.testing.assert_allclose(found.ale[0], 3 * (np.array(edges) - x.mean()), rtol=0, atol=1e-12 * 60)
    np.testing.assert_array_equal(found.empty, np.isnan(found.local[0]))
    np.testing.assert_array_equal(found.empty, found.rows == 0)
    assert "4 of 9 cells have no rows and use the nearest cell that has" in found.notes
    bent = one(lambda X: X[:, 0] ** 2, x[:, None], custom_values={0: [0.0, 1.0, 2.0, 5.0, 8.0, 9.0]})
    np.testing.assert_allclose(np.diff(bent.ale[0]), [1.0, 1.0, 3.0, 3 * 17.0, 17.0], rtol=1e-12)


def test_cells_without_rows_never_change_more_than_those_that_stand_for_them():
    """A code such as 999999999 for an unknown age makes wide bins, which few rows have in some cells only."""
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, 10, 2_000).astype(float), rng.uniform(size=2_000)], axis=1)
    X[:3, 0], X[:3, 1] = 999_999_999.0, [0.01, 0.02, 0.03]
    found = one(lambda X: np.minimum(X[:, 0], 10.0) * X[:, 1], X, (0, 1))
    assert found.empty[-1].any()
    assert np.abs(found.ale).max() < 10


@pytest.mark.parametrize("far", [1e300, 1.7e308])
def test_numbers_may_be_as_far_apart_as_numbers_are(far):
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice([-far, -1.0, 0.0, 5e-324, 1e-300, 1.0, far], 300), rng.normal(size=300)], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ale(lambda X: np.clip(X[:, 0], -2, 2) * (X[:, 1] > 0), X, [0, (0, 1)], grid_resolution=4)
        wide = one(lambda X: np.clip(X[:, 0], -2, 2), X, custom_values={0: [-far, -2.0, 2.0, far]})
    for effect in (*found.values(), wide):
        assert np.abs(effect.ale).max() < 10
    assert np.average(straight_at(wide, np.clip(X[:, 0], -2, 2))) == pytest.approx(0, abs=0.2)


def test_rows_beyond_the_edges_given_do_not_count():
    x = np.linspace(0, 10, 101)[:, None]
    found = one(lambda X: X[:, 0] ** 2, x, custom_values={0: [2.0, 4.0, 6.0]})
    inside = x[(x >= 2) & (x <= 6)]
    want = one(lambda X: X[:, 0] ** 2, inside[:, None], custom_values={0: [2.0, 4.0, 6.0]})
    same(found, want)
    assert "59.4% of the data lies outside the grid and is ignored" in found.notes
    nowhere = one(lambda X: X[:, 0], x, custom_values={0: [20.0, 21.0]})
    assert nowhere.empty.all()
    assert (nowhere.ale == 0).all()
    assert nowhere.strength == 0
    assert "100.0% of the data lies outside the grid and is ignored" in nowhere.notes


def test_an_additive_model_has_the_effects_of_its_parts():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(4_000, 3))
    X[:, 1] = (X[:, 0] + rng.normal(size=4_000)).round(0)
    X[:, 2] = rng.integers(0, 30, 4_000)
    parts = np.sin, np.square, np.sqrt

    def model(X):
        return sum(part(X[:, j]) for j, part in enumerate(parts))

    found = ale(model, X)
    for j, part in enumerate(parts):
        effect = found[f"x{j}"]
        want = part(effect.grid_values[0]) - part(X[:, j]).mean()
        # Fewer values than bins leave nothing between edges; of sin, 100 rows a bin leave its bends.
        np.testing.assert_allclose(effect.ale[0], want, rtol=0, atol=1e-2 if j == 0 else 1e-12 * 30)
        apart = effect.ale[0] - want
        assert np.ptp(apart) < 1e-12 * 30  # steps are exact, so that only the height can be off
        assert effect.strength == pytest.approx(part(X[:, j]).std(), rel=2e-2 if j == 0 else 1e-12)
    pairs = ale(model, X, [(0, 1), (1, 2), (0, 2)])
    for effect in pairs.values():
        assert np.abs(effect.ale).max() < 1e-12 * 30
        assert np.abs(effect.standard_error).max() < 1e-12 * 30


def test_a_product_has_the_joint_effect_of_its_centered_factors():
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 2, size=(20_000, 2))
    found = one(lambda X: X[:, 0] * X[:, 1], X, (0, 1))
    a, b = found.grid_values
    want = np.multiply.outer(a - X[:, 0].mean(), b - X[:, 1].mean())
    assert not found.empty.any()
    # Steps are exact; what is off is that independent columns of a sample are not quite so, which moves a
    # mean within one of 20 bins of 1,000 rows by 0.87 / sqrt(1000), and such errors are added up.
    assert np.abs(found.ale[0] - want).max() < 3 * 0.87 / np.sqrt(1_000) * 3 / np.sqrt(20) * 2
    double = np.diff(np.diff(found.ale[0], axis=0), axis=1)
    areas = np.multiply.outer(np.diff(a), np.diff(b))
    np.testing.assert_allclose(double, areas, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.local[0], areas, rtol=0, atol=1e-12)


def test_a_grid_of_all_pairs_leaves_a_product_exact():
    """Where every value goes with every other, no sampling is left."""
    X = np.array(list(product(np.linspace(0, 3, 7), np.linspace(-1, 1, 5))))
    found = one(lambda X: X[:, 0] * X[:, 1] + X[:, 0] ** 2 + np.exp(X[:, 1]), X, (0, 1))
    a, b = found.grid_values
    assert found.ale.shape == (1, 7, 5)
    want = np.multiply.outer(a - 1.5, b)
    np.testing.assert_allclose(found.ale[0], want, rtol=0, atol=1e-12)


def test_the_joint_effect_of_two_that_go_together_has_no_first_order_effects_left():
    """Asked again about what was found, the effect of each by itself is zero."""
    rng = np.random.default_rng(8)
    a = rng.integers(0, 5, 3_000).astype(float)
    X = np.stack([a, np.clip(a + rng.integers(-1, 2, 3_000), 0, 4)], axis=1)
    found = one(lambda X: X[:, 0] ** 2 * X[:, 1] + X[:, 0], X, (0, 1))
    assert found.empty.any()
    surface = found.ale[0]
    again = ale(lambda X: surface[X[:, 0].astype(int), X[:, 1].astype(int)], X)
    for effect in again.values():
        assert np.abs(effect.ale).max() < 1e-12 * np.abs(surface).max()


def test_features_that_go_together_are_not_torn_apart():
    rng = np.random.default_rng(0)
    a = rng.uniform(size=2_000)
    X = np.stack([a, a + rng.normal(0, 0.02, 2_000)], axis=1)

    def model(X):
        near = np.abs(X[:, 0] - X[:, 1]) < 0.2
        return np.where(near, X[:, 0], 100.0)  # never so in the data

    found = one(model, X)
    np.testing.assert_allclose(found.ale[0], found.grid_values[0] - a.mean(), rtol=0, atol=1e-3)


# ---------------------------------------------------------------- weights, rows, columns


@cache
def mixed(rows=400):
    rng = np.random.default_rng(6)
    level = rng.integers(0, 4, rows)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=rows).round(1),
            "b": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows) + level),
            "n": rng.poisson(2, rows),
            "c": pd.Categorical(np.array(["w", "x", "y", "z"])[level]),
            "flag": rng.random(rows) < 0.3,
        }
    )
    frame.loc[::23, "c"] = None
    return frame


def mixed_model(t):
    b = t["b"].fillna(3.0).to_numpy()
    c = t["c"].astype(object).map({"w": 0.0, "x": 2.0, "y": 1.0, "z": 5.0}).astype(float).fillna(-1.0)
    a, flag = t["a"].to_numpy(), t["flag"].to_numpy(float)
    return a * b + np.sin(a) * c.to_numpy() + t["n"].to_numpy() * flag


ASKED = ["a", "b", "n", "c", "flag", ("a", "b"), ("a", "c"), ("c", "n")]


def asked(X, model=mixed_model, **options):
    return ale(model, X, ASKED, **options)


def test_whole_weights_are_repeated_rows():
    X = mixed()
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    have = asked(X, sample_weight=weights)
    want = asked(X.loc[np.repeat(X.index, weights)].reset_index(drop=True))
    for key, effect in have.items():
        same(effect, want[key], 1e-12, ("ale", "local", "support", "empty"))
        assert effect.rows.sum() <= (weights > 0).sum()
        assert effect.strength == pytest.approx(want[key].strength, rel=1e-12)


def test_errors_know_that_repeated_rows_are_none():
    """Equal weights change no error; k copies of every row would shrink that of a mean of n to that of k n."""
    X = mixed()[["a", "n", "flag", "b", "c"]].dropna().reset_index(drop=True)
    X = X[X["a"].abs() < 1.5]
    plain, weighted = one(mixed_model, X, "a"), one(mixed_model, X, "a", sample_weight=np.full(len(X), 3.0))
    same(weighted, plain, 1e-12, ("ale", "standard_error", "local", "local_error", "rows"))
    thrice = one(mixed_model, pd.concat([X] * 3, ignore_index=True), "a")
    n = plain.rows
    assert (n > 1).all()
    np.testing.assert_allclose(
        thrice.local_error[0], plain.local_error[0] * np.sqrt((n - 1) / (3 * n - 1)), rtol=1e-9
    )


def test_rows_of_weight_zero_are_as_if_they_were_not_there():
    X = mixed()
    X = X.assign(c=X["c"].cat.add_categories("never"))
    weights = np.random.default_rng(1).gamma(1.0, size=len(X))
    weights[::3] = 0.0
    wild = X.copy()
    gone = weights == 0
    wild.loc[gone, "a"] = 1e9
    wild.loc[gone, "c"] = "never"
    wild.loc[gone, "b"] = np.inf
    have = asked(wild, sample_weight=weights)
    want = asked(X[~gone].reset_index(drop=True), sample_weight=weights[~gone])
    for key, effect in have.items():
        same(effect, want[key], 1e-12)
        assert effect.order == want[key].order
        assert effect.notes == want[key].notes
        assert effect.strength == pytest.approx(want[key].strength, rel=1e-12)


@pytest.mark.parametrize("unit", [4.0, 1 / 3, 1e-200, 1e200])
def test_the_unit_of_weights_does_not_matter(unit):
    X = mixed()
    weights = np.random.default_rng(1).gamma(1.0, size=len(X))
    want, have = asked(X, sample_weight=weights), asked(X, sample_weight=weights * unit)
    for key, effect in have.items():
        same(effect, want[key], 1e-12, ("ale", "standard_error", "local", "local_error", "rows", "empty"))
        np.testing.assert_allclose(effect.support, want[key].support * unit, rtol=1e-12)
        if effect.missing is not None:
            assert effect.missing.support == pytest.approx(want[key].missing.support * unit, rel=1e-12)


def test_neither_the_order_of_rows_nor_of_columns_matters():
    X = mixed()
    order = np.random.default_rng(2).permutation(len(X))
    want = asked(X)
    for table in (X.iloc[order].reset_index(drop=True), X[X.columns[::-1]]):
        have = asked(table)
        for key, effect in have.items():
            same(effect, want[key], 1e-12)
            assert effect.order == want[key].order


def test_strongest_come_first():
    found = ale(lambda X: X[:, 0] + 5 * X[:, 1] - X[:, 2], np.random.default_rng(0).normal(size=(200, 3)))
    assert next(iter(found)) == "x1"
    strengths = [effect.strength for effect in found.values()]
    assert strengths == sorted(strengths, reverse=True)


# ---------------------------------------------------------------- trees

TREES = 12


@cache
def people(rows=500):
    """Numbers that go together, with missing values and categories; and what came out."""
    rng = np.random.default_rng(7)
    a = rng.normal(size=rows)
    level = rng.integers(0, 6, rows)
    X = pd.DataFrame(
        {
            "a": np.where(rng.random(rows) < 0.1, np.nan, a),
            "b": a + rng.normal(size=rows),
            "n": rng.poisson(3, rows),
            "c": pd.Categorical(np.array(list("uvwxyz"))[level]),
        }
    )
    X.loc[rng.random(rows) < 0.08, "c"] = None
    y = np.where(np.isnan(X["a"]), 2, a) * X["b"] + np.array([0, 3, 1, 4, 2, 5])[level] + X["n"]
    return X, y.to_numpy()


@cache
def plain_people():
    X, y = people()
    return X[["a", "b", "n"]].fillna({"a": 0.0}), y


def classes(y):
    return np.digitize(y, np.quantile(y, [0.4, 0.8]))


def codes(X):
    return X.assign(c=X["c"].cat.codes.replace(-1, np.nan).astype(float))


@cache
def library(name):
    """Return a model, the table to ask about, whether it answers in single precision, and options."""
    plain, y = plain_people()
    X, _ = people()
    numeric, three, two = X[["a", "b", "n"]], classes(y), (y > np.median(y)).astype(int)
    both = np.stack([y, -(y**2)], axis=1)
    depth = {"max_depth": 4, "random_state": 0}
    models = {
        "tree": lambda: (DecisionTreeRegressor(random_state=0).fit(plain, y), plain),
        "tree with missing values": lambda: (DecisionTreeRegressor(random_state=0).fit(numeric, y), numeric),
        "tree of classes": lambda: (
            DecisionTreeClassifier(max_depth=6, random_state=0).fit(plain, three),
            plain,
        ),
        "forest": lambda: (RandomForestRegressor(TREES, random_state=0).fit(plain, y), plain),
        "forest of two": lambda: (RandomForestRegressor(TREES, random_state=0).fit(plain, both), plain),
        "forest of classes": lambda: (RandomForestClassifier(TREES, random_state=0).fit(plain, three), plain),
        "extra trees": lambda: (ExtraTreesRegressor(TREES, random_state=0).fit(plain, y), plain),
        "boosting": lambda: (GradientBoostingRegressor(n_estimators=TREES, **depth).fit(plain, y), plain),
        "boosting of classes": lambda: (
            GradientBoostingClassifier(n_estimators=TREES, **depth).fit(plain, three),
            plain,
        ),
        "histograms": lambda: (
            HistGradientBoostingRegressor(max_iter=TREES, categorical_features="from_dtype").fit(X, y),
            X,
        ),
        "histograms of classes": lambda: (
            HistGradientBoostingClassifier(max_iter=TREES, categorical_features="from_dtype").fit(X, three),
            X,
        ),
        "XGBoost": lambda: (xgboost.XGBRegressor(n_estimators=TREES).fit(numeric, y), numeric),
        "XGBoost with categories": lambda: (
            xgboost.XGBRegressor(n_estimators=TREES, enable_categorical=True, max_cat_to_onehot=2).fit(X, y),
            X,
        ),
        "XGBoost of two classes": lambda: (
            xgboost.XGBClassifier(n_estimators=TREES, enable_categorical=True).fit(X, two),
            X,
        ),
        "XGBoost of classes": lambda: (
            xgboost.XGBClassifier(n_estimators=TREES, enable_categorical=True).fit(X, three),
            X,
        ),
        "LightGBM": lambda: (
            lightgbm.LGBMRegressor(n_estimators=TREES, min_child_samples=5, verbose=-1, n_jobs=1).fit(X, y),
            X,
        ),
        "LightGBM of classes": lambda: (
            lightgbm.LGBMClassifier(n_estimators=TREES, min_child_samples=5, verbose=-1, n_jobs=1).fit(
                X, three
            ),
            X,
        ),
        "CatBoost": lambda: (
            catboost.CatBoostRegressor(n_estimators=TREES, depth=5, verbose=0, thread_count=1).fit(
                numeric, y
            ),
            numeric,
        ),
        "CatBoost of classes": lambda: (
            catboost.CatBoostClassifier(n_estimators=TREES, depth=4, verbose=0, thread_count=1).fit(
                numeric, three
            ),
            numeric,
        ),
    }
    return models[name]()


LIBRARIES = (
    "tree", "tree with missing values", "tree of classes", "forest", "forest of two", "forest of classes",
    "extra trees", "boosting", "boosting of classes", "histograms", "histograms of classes", "XGBoost",
    "XGBoost with categories", "XGBoost of two classes", "XGBoost of classes", "LightGBM", "LightGBM of "
        "classes",
    "CatBoost", "CatBoost of classes",
)  # fmt: skip


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LIBRARIES)
def test_trees_are_followed_to_what_the_model_itself_says(name, weighted):
    model, X = library(name)
    weights = np.random.default_rng(3).integers(0, 3, len(X)) / 2 if weighted else None
    options = {"sample_weight": weights}
    exact = ale(model, X, method="exact", **options)
    brute_force = ale(model, X, method="brute", **options)
    assert exact.provenance.evaluator == "tree_local"
    assert exact.provenance.predictions == 0
    assert brute_force.provenance.evaluator == "brute"
    assert (
        ale(model, X, **options)[next(iter(exact))].ale.tobytes() == next(iter(exact.values())).ale.tobytes()
    )
    tolerance = 2e-6 if name.startswith("XGBoost") else 1e-9
    size = max(1.0, float(np.abs(model.predict(X)).astype(float).max())) if "class" not in name else 1.0
    assert set(exact) == set(X)
    for key, effect in exact.items():
        same(effect, brute_force[key], tolerance * size)
        assert effect.order == brute_force[key].order
        assert np.isfinite(effect.ale).all()


@pytest.mark.parametrize(
    ("name", "response"),
    [
        ("boosting of classes", "predict_proba"),
        ("boosting of classes", "decision_function"),
        ("histograms of classes", "predict_proba"),
        ("histograms of classes", "decision_function"),
        ("LightGBM of classes", "predict_proba"),
    ],
)
def test_trees_are_followed_on_every_scale(name, response):
    model, X = library(name)
    exact = ale(model, X, method="exact", response_method=response)
    for key, effect in ale(model, X, method="brute", response_method=response).items():
        same(exact[key], effect, 1e-9)
        assert effect.ale.shape[0] == 3


def test_every_level_may_go_anywhere_with_what_is_missing():
    """Categories that go left together with missing values: a test of categories whose table has them last."""
    X, y = people()
    for seed in range(3):
        model = lightgbm.LGBMRegressor(
            n_estimators=30, min_child_samples=2, cat_smooth=0, cat_l2=0, min_data_per_group=1, verbose=-1, n_jobs=1,
            random_state=seed, max_cat_to_onehot=1,
        )  # fmt: skip
        model.fit(X, np.where(X["c"].isna(), 10, y) + seed)
        same(one(model, X, "c", method="exact"), one(model, X, "c", method="brute"), 1e-9)


def test_splits_of_trees_lie_where_edges_are():
    """Thresholds at the very values of the data, in the precision the library compares in."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2)).round(1)
    for model in (
        DecisionTreeRegressor().fit(X, X.prod(axis=1)),
        HistGradientBoostingRegressor(max_iter=20).fit(X, X.prod(axis=1)),
        xgboost.XGBRegressor(n_estimators=20).fit(X, X.prod(axis=1)),
    ):
        for bins in (5, 1_000):
            have = one(model, X, method="exact", grid_resolution=bins)
            same(have, one(model, X, method="brute", grid_resolution=bins), 2e-6)


def test_pairs_of_trees_are_asked_of_the_model_beside_curves_that_are_not():
    model, X = library("forest")
    found = ale(model, X, ["a", ("a", "b")])
    assert found.provenance.evaluator == "tree_local and brute"
    assert found.provenance.refusals == {"tree_local": "pairs of features are evaluated on the model itself"}
    same(found["a"], one(model, X, "a", method="exact"))
    same(found["a", "b"], one(model, X, ("a", "b"), method="brute"))
    with pytest.raises(paribus.RefusalError, match="pairs of features are evaluated on the model"):
        ale(model, X, [("a", "b")], method="exact")


def test_a_pipeline_and_a_model_that_is_no_tree_are_asked():
    X, y = plain_people()
    for model in (make_pipeline(StandardScaler(), LinearRegression()), KNeighborsRegressor()):
        model.fit(X, y)
        found = ale(model, X)
        assert found.provenance.evaluator == "brute"
        assert "tree_local" in found.provenance.refusals
        for effect in found.values():
            want = ale(lambda t, model=model: model.predict(t), X, [effect.feature_names[0]])
            same(effect, want[effect.feature_names[0]])


@pytest.mark.parametrize("feature", [1, 0], ids=["met in the rows", "met on the axis"])
def test_trees_that_refuse_the_rows_they_meet_make_way(feature):
    """Integers that LightGBM rounds across a split, of which only a late row has one."""
    rng, first = np.random.default_rng(0), 2**25
    known = rng.normal(size=(600, 2))
    known[:, 0] = first + np.arange(600) % 10
    model = lightgbm.LGBMRegressor(n_estimators=5, min_data_in_bin=1, verbose=-1, n_jobs=1)
    model.fit(known, known[:, 0] - first + known[:, 1])
    rows = np.round(10 * known).astype(np.int64)
    rows[:, 0] = first + 4 * (np.arange(600) % 3)
    late = rows.copy()
    late[598, 0] = first + 3
    assert ale(model, rows, [feature]).provenance.evaluator == "tree_local"
    found = ale(model, late, [feature])
    assert found.provenance.evaluator == "brute"
    assert "rounds across a split" in found.provenance.refusals["tree_local"]
    same(found[f"x{feature}"], one(model, late, feature, method="brute"))
    with pytest.raises(paribus.RefusalError, match="rounds across a split"):
        ale(model, late, [feature], method="exact")


@pytest.mark.parametrize("name", ["forest", "XGBoost", "LightGBM", "histograms"])
def test_numbers_of_trees_may_be_taken_as_levels(name):
    model, X = library(name)
    have, want = (
        one(model, X, "n", method=m, categorical_features=["n"], custom_values={"n": [3, 0, 2, 1]})
        for m in ("exact", "brute")
    )
    same(have, want, 2e-6)
    assert have.provenance.evaluator == "tree_local"
    assert have.kinds == ("category",)


# ---------------------------------------------------------------- missing values


@pytest.mark.parametrize("weighted", [False, True])
def test_the_effect_at_missing_is_its_difference_from_the_mean_of_the_rest(weighted):
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


def test_bins_of_one_row_take_the_spread_of_bins_and_not_of_missing_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    gaps = np.concatenate([X, np.stack([np.full(100, np.nan), 50 * rng.normal(size=100)], axis=1)])

    def model(X):
        return np.where(np.isnan(X[:, 0]), 5.0, np.nan_to_num(X[:, 0])) * X[:, 1]

    without, found = (one(model, rows, grid_resolution=200) for rows in (X, gaps))
    assert (without.rows == 1).any()
    same(found, replace(without, missing=found.missing), 1e-12)
    assert found.missing.standard_error[0] > 10


def test_a_level_may_be_missing():
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


def test_rows_without_a_value_are_left_out_of_surfaces():
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


# ---------------------------------------------------------------- awkward columns


def test_every_awkward_column_has_an_effect(awkward):
    found = ale(numbers, awkward)
    assert set(found) == set(awkward)
    for name, effect in found.items():
        assert np.isfinite(effect.ale).all(), name
        assert effect.rows.sum() == awkward[name].notna().sum() or name == "constant"
        assert effect.strength >= 0
        frame = effect.to_frame()
        assert len(frame) == len(effect.grid_values[0]) + (effect.missing is not None)
        assert repr(effect).startswith("LocalEffect of numbers on")
    for name, slope in {"count": 2.0, "small": 1.0, "single": 1.0, "mostly": 0.0, "flag": 1.0}.items():
        effect = found[name]
        edges = effect.grid_values[0].astype(float)
        want = slope * (edges - awkward[name].astype(float).mean())
        np.testing.assert_allclose(effect.ale[0], want, rtol=0, atol=1e-4)
    assert found["level"].order == ("as declared",)
    assert found["level"].grid_values[0].tolist() == ["low", "mid", "high"]
    assert found["wait"].provenance.estimand == "accumulated local"


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_libraries_give_the_same(library):
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


def test_a_feature_that_never_varies_has_no_effect():
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


def test_trees_know_features_that_never_vary_too():
    X, y = plain_people()
    X = X.assign(one=1.0, level=pd.Categorical(["same"] * len(X)))
    model = HistGradientBoostingRegressor(max_iter=3, categorical_features="from_dtype").fit(X, y)
    exact, want = ale(model, X, method="exact"), ale(model, X, method="brute")
    for key, effect in exact.items():
        same(effect, want[key], 1e-9)
    assert exact["level"].support.tolist() == [len(X)]


def test_infinite_values_are_in_no_bin():
    x = np.append(np.linspace(0, 1, 50), [np.inf, -np.inf])
    X = np.stack([x, np.arange(52.0)], axis=1)
    found = one(lambda X: np.clip(X[:, 0], -5, 5), X)
    same(found, one(lambda X: np.clip(X[:, 0], -5, 5), X[:50]))
    assert any("infinite in 3.8%" in note for note in found.notes)
    model = HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=2).fit(X, np.arange(52.0))
    for effect in (0, 1):
        same(one(model, X, effect, method="exact"), one(model, X, effect, method="brute"), 1e-9)


def test_levels_may_be_infinite():
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice([1.0, 2.0, np.inf, -np.inf], 100), rng.normal(size=100)], axis=1)
    found = one(lambda X: np.clip(X[:, 0], -3, 3), X, categorical_features=[0])
    mean = np.clip(X[:, 0], -3, 3).mean()
    np.testing.assert_allclose(found.ale[0], np.clip(found.grid_values[0], -3, 3) - mean, atol=1e-12)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_few_rows_have_what_effects_they_can(rows):
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


def test_infinite_predictions_are_noted():
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


# ---------------------------------------------------------------- orders of categories


LETTERS = list("dbeac")


@cache
def planted(noise, rows=600):
    """Return places of categories, and another number that grows from category to category."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 5, rows)
    return place, place + noise * rng.normal(size=rows)


def of_number(t):
    return np.asarray(t["y"]).astype(float)


@pytest.mark.parametrize("noise", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("kind", ["string", "category", "polars", "pyarrow", "integer"])
def test_levels_without_an_order_stand_next_to_those_with_similar_rows(noise, kind):
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
    assert any("ALE depends on this order; partial_dependence does not" in note for note in found.notes)
    want = [(k * 7) % 5 for k in range(5)] if kind == "integer" else LETTERS
    assert found.grid_values[0].tolist() in (want, want[::-1])


def test_similar_levels_are_told_by_levels_and_dates_too():
    rng = np.random.default_rng(0)
    place = rng.integers(0, 4, 2_000)
    day = pd.Timestamp("2026-01-01") + pd.to_timedelta(place * 10 + rng.integers(0, 9, 2_000), unit="D")
    other = np.array(list("abcdefgh"))[np.clip(place * 2 + rng.integers(-1, 2, 2_000), 0, 7)]
    level = np.array(["m", "k", "n", "l"])[place]
    for column in (day, other):
        X = pd.DataFrame({"c": level, "z": column, "y": rng.normal(size=2_000)})
        assert one(of_number, X, "c").grid_values[0].tolist() in (list("mknl"), list("lnkm"))


def test_levels_that_nothing_tells_apart_stay_as_they_come():
    X = pd.DataFrame({"c": list("abcabcabc"), "y": 1.0})
    found = one(of_number, X, "c")
    assert found.order == ("as they come: nothing tells them apart",)
    assert found.grid_values[0].tolist() == list("abc")


def test_levels_that_were_not_drawn_have_a_place_all_the_same():
    rows = rows_of(table_of(pd.DataFrame({"c": list("aabb"), "y": [1.0, 2.0, 3.0, 4.0]})), None)
    levels, _ = similar_order(rows, 0, np.array(["a", "b", "never"], dtype=object))
    assert sorted(levels) == ["a", "b", "never"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_levels_with_an_order_keep_it(kind):
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


def test_two_levels_need_no_order():
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


def test_more_than_a_hundred_levels_are_the_most_frequent_ones():
    rng = np.random.default_rng(0)
    common = rng.integers(0, 90, 4_000)
    X = pd.DataFrame({"c": np.append(common, np.arange(90, 150)).astype(str), "y": rng.normal(size=4_060)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = one(of_number, X, "c")
    assert found.ale.shape == (1, 100)
    assert any("has 150 categories; the 100 most frequent are used" in note for note in found.notes)
    assert any("of the data lies outside the grid and is ignored" in note for note in found.notes)
    assert {str(k) for k in range(90)} <= set(found.grid_values[0])


# ---------------------------------------------------------------- outputs


def test_classifiers_answer_in_probabilities_unless_told_otherwise():
    X, y = plain_people()
    two, three = (y > 3).astype(int), classes(y)
    binary = LogisticRegression(max_iter=500).fit(X, two)
    found = ale(binary, X)
    assert found.provenance.scale == "probability"
    want = one(lambda t: binary.predict_proba(t)[:, 1], X, "a")
    same(found["a"], want)
    line = one(binary, X, "a", response_method="decision_function")
    edges = line.grid_values[0]
    want = binary.coef_[0, 0] * (edges - X["a"].mean())
    np.testing.assert_allclose(line.ale[0], want, rtol=0, atol=1e-12)
    several = ale(LogisticRegression(max_iter=500).fit(X, three), X, target_names=["low", "mid", "top"])
    assert several["a"].output_names == ("low", "mid", "top")
    np.testing.assert_allclose(several["a"].ale.sum(axis=0), 0, atol=1e-12)  # probabilities add up to one


def test_a_model_that_cannot_bear_repeated_rows_is_asked_one_value_at_a_time():
    """It looks rows up by their label, and has none under another."""
    rng = np.random.default_rng(0)
    labels = [f"row {k}" for k in range(300)]
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"], index=labels)
    X.iloc[::9, 0] = np.nan
    known = pd.Series(rng.normal(size=300), index=labels)

    def model(t):
        return (known.loc[t.index] * t["a"].fillna(2.0)).to_numpy() + t["b"].to_numpy() ** 2

    def by_column(t):
        return (t["known"] * t["a"].fillna(2.0)).to_numpy() + t["b"].to_numpy() ** 2

    have = ale(model, X, ["a", "b", ("a", "b")])
    want = ale(by_column, X.assign(known=known), ["a", "b", ("a", "b")])
    for key, effect in have.items():
        same(effect, want[key], 1e-12)
        assert any("predicted some rows differently when they were repeated" in note for note in effect.notes)


def test_a_model_that_fails_says_on_which_rows():
    X = np.random.default_rng(0).normal(size=(2_000, 2))
    X[1_300, 1] = 99.0

    def model(X):
        if (X[:, 1] == 99.0).any() and len(X) > 100:
            raise RuntimeError("no 99 please")
        return X[:, 0]

    def first(X):
        return model(X) if len(X) != 2_000 else X[:, 0]

    with pytest.raises(paribus.ModelError, match=r"failed on rows \d+ to \d+ of X with x0 replaced: .*no 99"):
        one(first, X)


# ---------------------------------------------------------------- standard errors


EDGES = np.linspace(0, 1, 6)
COVERED = {
    "number": (0, {"custom_values": {0: EDGES}}),
    "level": (0, {"custom_values": {0: EDGES}, "categorical_features": [0]}),
    "surface": ((0, 1), {"custom_values": {0: [0.0, 0.4, 0.7, 1.0], 1: [0.0, 0.5, 1.0]}}),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", list(COVERED))
def test_errors_cover_the_effect_of_the_population(kind, weighted):
    """Over draws of rows, the effect that the population has in these bins is within 1.96 errors.

    It conditions on the bins, and on where rows lie in them, as the errors say they do: the change in each
    bin is that of the population, accumulated and centered as the rows of the draw lie. The other columns,
    which changes vary with, are independent of that.
    """
    rng = np.random.default_rng(42)
    feature, options = COVERED[kind]

    def model(X):
        return np.sin(4 * X[:, 0]) + X[:, 0] ** 2 * (1 + X[:, 1]) * X[:, 2]

    def population(X):  # column 2 averages to a half; so does column 1, where it does not lie in a bin
        other = X[:, 1] if kind == "surface" else 0.5
        return np.sin(4 * X[:, 0]) + X[:, 0] ** 2 * (1 + other) * 0.5

    inside = total = 0
    for _ in range(120):
        X = rng.random((500, 3))
        X[:, 2] = rng.gamma(3.0, 0.5 / 3.0, 500)
        weights = rng.uniform(0.5, 1.5, 500) if weighted else None
        if kind == "level":
            X[:, 0] = EDGES[rng.integers(0, 6, 500)]
        have, want = (one(f, X, feature, sample_weight=weights, **options) for f in (model, population))
        inside += (np.abs(have.ale - want.ale) <= 1.96 * have.standard_error).sum()
        total += have.ale.size
    assert 0.92 < inside / total < 0.98


@given(st.integers(0, 999), st.booleans(), st.lists(st.integers(0, 40), max_size=4))
@settings(max_examples=40)
def test_moments_of_cells_merge_in_any_cut(seed, weighted, cuts):
    rng = np.random.default_rng(seed)
    values, cells = rng.normal(size=(2, 40)) * 10.0 ** rng.integers(-3, 4), rng.integers(0, 5, 40)
    weights = rng.gamma(1.0, size=40) if weighted else None
    whole = CellMoments.of(values, cells, weights, 6)
    merged = None
    for a, b in pairwise(sorted({0, *cuts, 40})):
        part = CellMoments.of(values[:, a:b], cells[a:b], None if weights is None else weights[a:b], 6)
        merged = part if merged is None else merged.merge(part)
    size = np.abs(values).max()
    for name, power in {"rows": 0, "weight": 0, "mean": 1, "mean_sq": 1, "sum_of_squares": 2}.items():
        mine, theirs = getattr(merged, name), getattr(whole, name)
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12 * size**power, err_msg=name)
    np.testing.assert_allclose(merged.variance(), whole.variance(), rtol=1e-9, atol=1e-12 * size**2)


# ---------------------------------------------------------------- blocks, threads, files


@pytest.mark.parametrize("name", ["LightGBM", "function"])
def test_threads_do_not_change_a_bit_and_blocks_hardly_any(name, monkeypatch):
    model, X = library("LightGBM") if name == "LightGBM" else (mixed_model, mixed(3_000))
    features = [*X, tuple(X.columns[:2])]
    want = ale(model, X, features, n_jobs=1)
    have = ale(model, X, features, n_jobs=2)
    for key, effect in have.items():
        same(effect, want[key])
        assert effect.ale.tobytes() == want[key].ale.tobytes()
    monkeypatch.setattr(tree_ale, "BLOCK_ROWS", 37)
    monkeypatch.setattr(brute_ale.BruteForce, "block_rows", property(lambda self: 101))
    for key, effect in ale(model, X, features).items():
        same(effect, want[key], 1e-12)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(survey, "SURVEY_ROWS", 1_024)
    monkeypatch.setattr(tree_ale, "BLOCK_ROWS", 128)
    monkeypatch.setattr(brute_ale.BruteForce, "block_rows", property(lambda self: 128))


def written(folder, frame):
    folder.mkdir()
    for number, (first, stop) in enumerate(pairwise((0, 400, 401, 500, len(frame)))):
        part = pa.Table.from_pandas(frame[first:stop], preserve_index=False)
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=170)
    return str(folder)


@cache
def filed():
    rng = np.random.default_rng(3)
    frame = mixed(2_500).assign(w=np.where(rng.random(2_500) < 0.1, 0.0, rng.integers(1, 4, 2_500) / 2))
    return frame.assign(day=pd.Timestamp("2026-01-01") + pd.to_timedelta(frame["n"] * 7, unit="D"))


@pytest.mark.parametrize("weight", [None, "w"])
def test_rows_that_are_read_give_the_numbers_of_rows_in_memory(tmp_path, weight):
    folder = written(tmp_path / "rows", filed())
    held = filed() if weight is None else filed().drop(columns="w")
    features = [*ASKED, "day"]
    have = ale(mixed_model, folder, features, sample_weight=weight)
    want = ale(mixed_model, held, features, sample_weight=None if weight is None else filed()["w"])
    assert (
        have.provenance.passes == 3
    )  # a survey, rows that tell which categories are similar, and the effects
    for key, effect in have.items():
        assert effect.order == want[key].order
        same(effect, want[key], 1e-12)
        assert [effect.kinds, effect.notes] == [want[key].kinds, want[key].notes]


def test_trees_read_files_too(tmp_path):
    X, y = people()
    model = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1).fit(X, y)
    folder = written(tmp_path / "rows", pd.concat([X] * 3, ignore_index=True))
    have, want = ale(model, folder), ale(model, pd.concat([X] * 3, ignore_index=True))
    assert have.provenance.evaluator == "tree_local"
    for key, effect in have.items():
        same(effect, want[key], 1e-12)


@pytest.mark.parametrize("pass_", ["trees", "brute"])
def test_a_run_that_was_interrupted_goes_on(tmp_path, small_blocks, monkeypatch, pass_):
    X, y = plain_people()
    X = pd.concat([X] * 5, ignore_index=True)
    model = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X[:500], y)
    folder, kept = written(tmp_path / "rows", X), tmp_path / "kept"
    features = ["a", "b", ("a", "n")]
    want = ale(model, folder, features)
    kind = tree_ale.TreeAle if pass_ == "trees" else brute_ale.BruteAle
    evaluate, done = kind.evaluate, []

    def stopping(self, block):
        if len(done) == 13:
            raise KeyboardInterrupt
        done.append(block.number)
        return evaluate(self, block)

    monkeypatch.setattr(kind, "evaluate", stopping)
    with pytest.raises(KeyboardInterrupt):
        ale(model, folder, features, checkpoint=kept, n_jobs=1)
    assert done == list(range(13))
    done[:] = []
    have = ale(model, folder, features, checkpoint=kept, n_jobs=1)
    assert min(done) > 4
    for key, effect in have.items():
        same(effect, want[key])
    for other in ({"grid_resolution": 7}, {"custom_values": {"a": [-1.0, 0.0, 1.0]}}):
        with pytest.raises(paribus.CheckpointError):
            ale(model, folder, features, checkpoint=kept, **other)


def test_the_same_rows_tell_which_levels_are_similar_wherever_they_are(tmp_path, monkeypatch):
    """So few that chance decides the order."""
    monkeypatch.setattr(statistic, "DRAWN", 60)
    folder, told = written(tmp_path / "rows", filed()[["a", "b", "c", "w"]]), []
    for weight in (None, "w"):
        held = filed()[["a", "b", "c"]] if weight else filed()[["a", "b", "c", "w"]]
        weights = filed()["w"] if weight else None
        have = one(lambda t: t["a"].to_numpy(), folder, "c", sample_weight=weight)
        want = one(lambda t: t["a"].to_numpy(), held, "c", sample_weight=weights)
        same(have, want, 1e-12)
        assert have.order == want.order
        told.append(have.order)
    assert all("similar" in order for (order,) in told)


def test_edges_of_rows_too_many_to_be_sorted_are_values_all_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "EXACT_ROWS", 2_000)
    monkeypatch.setattr(survey, "CAPACITY", 1_024)
    monkeypatch.setattr(survey, "SURVEY_ROWS", 4_096)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.lognormal(size=30_000), "zero": 0.0, "y": 1.0})
    frame["zero"] = np.where(rng.random(30_000) < 0.9, 0.0, frame["x"])
    found = ale(
        lambda t: 3 * (t["x"] + t["zero"]).to_numpy(), written(tmp_path / "rows", frame), ["x", "zero"]
    )
    assert 0 < found.provenance.rank_error < 0.02
    for name, effect in found.items():
        x, edges = frame[name].to_numpy(), effect.grid_values[0]
        assert np.isin(edges, x).all()
        assert (edges[0], edges[-1]) == (x.min(), x.max())
        assert 39 <= len(edges) - 1 <= 40
        np.testing.assert_allclose(effect.ale[0], 3 * (edges - x.mean()), rtol=0, atol=1e-12 * 3 * x.max())
        assert effect.rows.sum() == 30_000
        if name == "x":
            assert effect.rows.max() < 2 * 30_000 / 40


def test_declared_orders_are_read_from_files(tmp_path):
    place, y = planted(0.3)
    level = pd.Categorical(np.array(LETTERS)[place], LETTERS, ordered=True)
    found = one(of_number, written(tmp_path / "rows", pd.DataFrame({"c": level, "y": y})), "c")
    assert found.order == ("as declared",)
    assert found.grid_values[0].tolist() == LETTERS


def test_the_memory_bound_makes_portions_smaller_or_says_so():
    X = np.random.default_rng(0).normal(size=(3_000, 4))
    forest = RandomForestRegressor(3, max_depth=4, random_state=0).fit(X, X[:, 0] * X[:, 1])
    for model in (forest, lambda X: X[:, 0] * X[:, 1]):
        want = ale(model, X, [0, 1, (0, 1)])
        for bound in ("30MB", "2MB", "600kB"):
            for key, effect in ale(model, X, [0, 1, (0, 1)], max_memory=bound).items():
                same(effect, want[key], 1e-12)
        with pytest.raises(paribus.MemoryBoundError, match="max_memory"):
            ale(model, X, [0, 1, (0, 1)], max_memory="10kB")


# ---------------------------------------------------------------- what cannot be evaluated


TABLE = pd.DataFrame(
    {"age": [1.0, 2.0, 3.0, 4.0], "city": list("abcd"), "town": list("aabb"), "n": [1, 2, 3, 5]}
)


def of_age(t):
    return t["age"].to_numpy() * 2.0


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"features": [("age", "n", "city")]}, paribus.FeatureError, "one feature or two; 3 were given"),
        (
            {"features": [("city", "town")]},
            paribus.FeatureError,
            "two categorical features.*partial_dependence",
        ),
        ({"features": ["agee"]}, paribus.FeatureError, "did you mean 'age'"),
        ({"features": [7]}, paribus.FeatureError, "7"),
        ({"features": [("age", "age")]}, paribus.FeatureError, "same column twice"),
        ({"grid_resolution": 0}, paribus.OptionError, "integer number of bins"),
        ({"grid_resolution": 2.5}, paribus.OptionError, "integer number of bins"),
        ({"grid_resolution": True}, paribus.OptionError, "integer number of bins"),
        ({"grid_resolution": "splits"}, paribus.OptionError, "integer number of bins"),
        ({"custom_values": {"age": [3.0, 1.0]}}, paribus.GridError, "rising order"),
        ({"custom_values": {"age": [1.0, 1.0]}}, paribus.GridError, "rising order"),
        ({"custom_values": {"age": [1.0, np.inf]}}, paribus.GridError, "infinite"),
        ({"custom_values": {"age": [1.0, np.nan]}}, paribus.GridError, "missing"),
        ({"custom_values": {"age": []}}, paribus.GridError, "non-empty"),
        (
            {"custom_values": {"n": [1.0, 2.5]}},
            paribus.GridError,
            "cannot be represented in its dtype|cannot be evaluated",
        ),
        ({"custom_values": {"city": ["a", "b", "a"]}}, paribus.GridError, "each of them once"),
        ({"custom_values": {"aeg": [1.0]}}, paribus.GridError, "did you mean 'age'"),
        ({"method": "fast"}, paribus.OptionError, "'auto', 'exact', 'brute'"),
        ({"method": "recursion"}, paribus.OptionError, "'auto', 'exact', 'brute'"),
        ({"method": "exact"}, paribus.RefusalError, "no trees to read.*method='brute'"),
        ({"sample_weight": [1.0]}, paribus.WeightError, "one per row"),
        ({"categorical_features": ["aeg"]}, paribus.FeatureError, "did you mean 'age'"),
        ({"checkpoint": tempfile.gettempdir()}, paribus.OptionError, "in-memory"),
        ({"executor": 3}, paribus.OptionError, "dask.distributed Client"),
        ({"n_jobs": 0}, paribus.OptionError, "n_jobs"),
        ({"on_error": "ignore"}, paribus.OptionError, "on_error"),
    ],
)
def test_what_cannot_be_asked_is_said(options, error, text):
    with pytest.raises(error, match=text):
        ale(of_age, TABLE, **({"features": None} | options))


def test_a_column_that_cannot_be_laid_out_is_skipped_when_all_are_asked():
    X = pd.DataFrame({"odd": [[1], [2], [3]], "y": [1.0, 2.0, 4.0]})
    found = ale(of_number, X)
    assert list(found) == ["y"]
    assert found.skipped == ("feature 'odd' holds lists, which cannot be varied",)
    assert found.skipped[0] in found.notes
    assert "skipped: feature 'odd'" in repr(found)
    for X_, features in ((X, ["odd"]), (X[["odd"]], None)):
        with pytest.raises(paribus.FeatureError, match="holds lists"):
            ale(lambda t: np.ones(len(t)), X_, features)


def test_a_feature_is_named_or_counted_alone_or_with_others():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert list(ale(lambda X: X[:, 0], X, "x1")) == ["x1"]
    assert list(ale(lambda X: X[:, 0], X, 2)) == ["x2"]
    assert list(ale(lambda X: X[:, 0], X, np.int64(2))) == ["x2"]
    assert set(ale(lambda X: X[:, 0], X, ["x0", ("x1", 2)])) == {"x0", ("x1", "x2")}
    named = ale(lambda X: X[:, 0], X, ["one", (1, "three")], feature_names=["one", "two", "three"])
    assert set(named) == {"one", ("two", "three")}


# ---------------------------------------------------------------- results


def test_results_come_back_bit_for_bit(tmp_path, awkward):
    found = ale(numbers, awkward, [*awkward, ("count", "gap"), ("count", "city"), ("day", "gap")])
    level = np.array([np.inf, np.inf, 1.0, 2.0, np.nan])
    far = ale(lambda X: np.nan_to_num(X[:, 0], nan=3.0, posinf=9.0), level[:, None], categorical_features=[0])
    assert far["x0"].missing.anchor == np.inf
    flags = pd.DataFrame(
        {"f": pd.array([True, False, None, True], dtype="boolean"), "y": [1.0, 2.0, 3.0, 5.0]}
    )
    holed = ale(lambda t: t["f"].astype(float).fillna(4).to_numpy() + t["y"].to_numpy(), flags)
    assert holed["f"].missing.anchor is True
    for number, result in enumerate((found, holed, far, *found.values())):
        path = tmp_path / f"{number}.json"
        result.save(path)
        back = paribus.load(path)
        assert type(back) is type(result)
        assert back == result
        assert repr(back) == repr(result)
    assert found["count"] != found["small"]
    assert len({hashlib.md5((tmp_path / f"{k}.json").read_bytes()).hexdigest() for k in range(5)}) == 5


def test_results_are_mappings_that_nobody_can_change():
    found = asked(mixed())
    effect = found["b"]
    assert set(effect) >= {"ale", "standard_error", "grid_values", "missing", "local", "support"}
    assert found["a"]["missing"] is None  # there are no such rows
    assert "by_model" not in effect  # there was one model
    assert "anything" not in effect
    assert len(effect) == len(list(effect))
    assert effect["ale"] is effect.ale
    for key in ("anything", "save"):
        with pytest.raises(KeyError):
            effect[key]
    with pytest.raises(KeyError, match="did you mean 'flag'"):
        found["flagg"]
    with pytest.raises(KeyError, match="no effect of 'a x d'"):
        found["a", "d"]
    for array in (*(effect[name] for name in PARTS), *effect.grid_values, effect.missing.ale):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(AttributeError):
        effect.strength = 1.0
    with pytest.raises(TypeError):
        hash(effect)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_are_long_and_in_the_library_asked_for(backend):
    found = asked(mixed())

    def read(frame):
        assert type(frame).__module__.startswith(backend)
        return frame if backend == "pandas" else frame.to_pandas()

    curve = read(found["b"].to_frame(backend=backend))
    assert list(curve) == ["output", "b", "ale", "standard_error", "local", "local_error", "support"]
    edges = len(found["b"].grid_values[0])
    assert len(curve) == edges + 1
    np.testing.assert_array_equal(curve["b"][:edges], found["b"].grid_values[0])
    assert pd.isna(curve["b"].iloc[-1])
    assert curve["ale"].iloc[-1] == found["b"].missing.ale[0]
    np.testing.assert_array_equal(curve["local"][1:edges], found["b"].local[0])
    np.testing.assert_array_equal(curve["support"][1:edges], found["b"].support)
    assert np.isnan(curve["support"][0])
    level = read(found["c"].to_frame(backend=backend))
    np.testing.assert_array_equal(level["support"][:4], found["c"].support)
    surface = read(found["a", "c"].to_frame(backend=backend))
    assert list(surface) == ["output", "a", "c", "ale", "standard_error"]
    np.testing.assert_array_equal(surface["ale"], found["a", "c"].ale.ravel())
    table = read(found.to_frame(backend=backend))
    columns = ["feature", "value", "number", "feature_2", "value_2", "number_2", "output", "ale"]
    assert list(table) == [*columns, "standard_error", "local", "local_error", "support"]
    assert len(table) == sum(e.ale.size + (e.missing is not None) for e in found.values())
    with pytest.raises(paribus.OptionError):
        found.to_frame(backend="excel")


def test_columns_of_frames_keep_apart_from_features_of_the_same_name():
    X = pd.DataFrame({"ale": [1.0, 2.0, 3.0], "local": [1.0, 5.0, 3.0]})
    frame = one(lambda t: t["ale"].to_numpy(), X, ("ale", "local")).to_frame()
    assert list(frame) == ["output", "ale (feature)", "local (feature)", "ale", "standard_error"]


def test_the_story_tells_what_moves_and_how_it_was_found():
    found = asked(mixed())
    text = repr(found)
    assert text.startswith("LocalEffects of mixed_model: 8 effects, strongest first (prediction)")
    assert "accumulated over 400 rows (unweighted)\n  by brute" in text
    text = repr(found["b"])
    for part in (
        "LocalEffect of mixed_model on b: 41 points, 1 output",
        "missing in",
        "predictions",
        "note:",
    ):
        assert part in text
    assert "a x c" in repr(found["a", "c"])


# ---------------------------------------------------------------- pictures


def drawn(effect, **options):
    """Draw without a warning, all the way to pixels."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        picture = effect.plot(**options)
        figure = getattr(picture, "figure", picture)
        (figure or picture).canvas.draw()
    return picture


def test_every_kind_of_effect_is_drawn(awkward):
    found = ale(
        numbers, awkward, [*awkward, ("count", "gap"), ("count", "city"), ("city", "gap"), ("day", "gap")]
    )
    for effect in found.values():
        drawn(effect)
        plt.close("all")
    few = ale(numbers, awkward, ["count", "gap", "city", "day", ("count", "gap")])
    figure = drawn(few)
    assert len(few) <= len(figure.axes)
    plt.close("all")


def test_pictures_show_what_there_is():
    model, X = library("XGBoost")
    effect = one(model, X, "a")
    panel = drawn(effect)
    assert panel.get_xlabel() == "a"
    assert panel.get_ylabel() == "effect on prediction"
    line = panel.get_lines()[0]
    np.testing.assert_array_equal(line.get_ydata(), effect.ale[0])
    np.testing.assert_array_equal(line.get_xdata(), effect.grid_values[0])
    _, ax = plt.subplots()
    assert drawn(effect, ax=ax) is ax
    surface = one(model, X, ("a", "b"), grid_resolution=12)
    assert surface.empty.any()
    (panel,) = surface.figure().panels
    (hatch,) = [mark for mark in panel.marks if isinstance(mark, Hatch)]
    assert hatch.label == "no rows"
    np.testing.assert_array_equal(hatch.mask, surface.empty.T)
    drawn(surface)
    plt.close("all")


def test_cells_without_rows_are_hatched_and_no_others():
    X = np.array(list(product([0.0, 0.5, 1.0, 1.5, 2.0], repeat=2)))
    X = X[(X <= 1).any(axis=1)]
    options = {"custom_values": {0: [0.0, 1.0, 2.0], 1: [0.0, 1.0, 2.0]}}
    surface = one(lambda X: X[:, 0] * X[:, 1], X, (0, 1), **options)
    assert surface.empty.tolist() == [[False, False], [False, True]]
    panel = drawn(surface)
    panel.figure.canvas.draw()
    pixels = np.asarray(panel.figure.canvas.buffer_rgba())[::-1, :, :3].astype(int)
    for (i, j), empty in np.ndenumerate(surface.empty):
        (left, low), (right, high) = panel.transData.transform(
            [(i + 0.1, j + 0.1), (i + 0.9, j + 0.9)]
        ).astype(int)
        colors = len(np.unique(pixels[low:high, left:right].reshape(-1, 3), axis=0))
        assert (colors > 1) == empty
    plt.close("all")


def test_several_outputs_have_a_color_each():
    model, X = library("LightGBM of classes")
    found = ale(model, X, ["a", ("a", "b")])
    (panel,) = found["a"].figure().panels
    lines = [mark for mark in panel.marks if isinstance(mark, Line)]
    assert [line.label for line in lines] == ["0", "1", "2"]
    assert len({line.color for line in lines}) == 3
    drawn(found["a"])
    assert drawn(found["a"], output="1").get_ylabel() == "effect on probability of 1"
    assert len(found["a", "b"].figure().panels) == 3
    with pytest.raises(paribus.DrawingError, match="output="):
        found["a", "b"].plot(outputs="color")
    drawn(found["a", "b"], output=2)
    with pytest.raises(paribus.ParibusError, match="no"):
        found["a"].plot(output="9")
    plt.close("all")


def test_effects_without_errors_or_rows_are_drawn():
    X = np.random.default_rng(1).normal(size=(2, 2))
    for effect in ale(lambda X: X[:, 0] * X[:, 1], X, [0, (0, 1)]).values():
        drawn(effect)
    lonely = ale(lambda X: X[:, 0] * X[:, 1], X[:1], [0, (0, 1)])
    drawn(lonely["x0"])
    with pytest.raises(paribus.DrawingError, match="two values of each"):
        lonely["x0", "x1"].plot()
    nothing = ale(lambda t: t["y"].to_numpy(), pd.DataFrame({"none": [np.nan] * 5, "y": np.arange(5.0)}))
    drawn(nothing["none"])
    drawn(nothing)
    plt.close("all")


def test_what_was_kept_of_other_groups_of_features_is_refused(tmp_path):
    """Only the local effects themselves differ here, not what the first pass over the rows looks for."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({name: rng.integers(0, 4, 300).astype(float) for name in "abc"})
    table.to_parquet(tmp_path / "t.parquet")
    asked = {"checkpoint": tmp_path / "kept", "method": "brute", "grid_resolution": 5}

    def predict(t):
        return (t["a"] * t["b"] + t["c"]).to_numpy()

    first = paribus.accumulated_local_effects(predict, tmp_path / "t.parquet", ["a", ("b", "c")], **asked)
    with pytest.raises(paribus.CheckpointError):
        paribus.accumulated_local_effects(predict, tmp_path / "t.parquet", [("a", "b"), "c"], **asked)
    again = paribus.accumulated_local_effects(predict, tmp_path / "t.parquet", ["a", ("b", "c")], **asked)
    np.testing.assert_array_equal(first["b", "c"].ale, again["b", "c"].ale)
    edges = {"custom_values": {"a": [-1.0, 1.0, 3.0]}}
    other = {"custom_values": {"a": [-1.0, 2.0, 3.0]}}
    kept = {"checkpoint": tmp_path / "edges", "method": "brute"}
    paribus.accumulated_local_effects(predict, tmp_path / "t.parquet", "a", **kept, **edges)
    with pytest.raises(paribus.CheckpointError):
        paribus.accumulated_local_effects(predict, tmp_path / "t.parquet", "a", **kept, **other)
