"""Accumulated local effects: their definition by hand, effects that are known, and what cannot be evaluated."""

import datetime
import tempfile
import warnings
from functools import cache
from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import paribus
from ale_examples import classes, mixed, mixed_model, of_number, one, plain_people, same
from paribus import accumulated_local_effects as ale
from selection import nightly
from statistic_of import statistic_of


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
def test_ale_curve_is_that_of_definition(weighted, bins):
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
def test_ale_categories_are_those_of_definition(weighted):
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
def test_ale_surface_is_that_of_definition(weighted):
    X, weights = small(weighted, 160)
    given = {"sample_weight": weights} if weighted else {}
    found = one(rowwise(wavy), X, (0, 1), grid_resolution=3, **given)
    assert not found.empty.any()
    edges = [values.tolist() for values in found.grid_values]
    want = surface_by_hand(wavy, X, *edges, weights)
    np.testing.assert_allclose(found.ale[0], want, rtol=0, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_ale_surface_with_categories_is_that_of_definition(weighted):
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
def test_ale_errors_are_those_of_weighted_mean_in_each_bin(weighted):
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


@pytest.mark.parametrize("weighted", [*nightly(False), True])
@pytest.mark.parametrize("bins", [1, 2, 40, 1000])
@pytest.mark.parametrize("name", list(COLUMNS))
def test_ale_effect_of_line_is_line(name, bins, weighted):
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


@pytest.mark.parametrize("first", [2**62, -(2**63), 2**63, 2**64 - 1_000])
def test_ale_integers_that_are_no_floats_have_lines(first):
    dtype = np.uint64 if first >= 2**63 else np.int64
    steps = np.random.default_rng(0).integers(0, 1_000, 500)
    x = np.array([first + int(step) for step in steps], dtype)

    def model(t):
        return np.array([float(int(value) - first) for value in t["x"]])

    found = one(model, pd.DataFrame({"x": x, "y": 1.0}), "x")
    edges = np.array([int(edge) - first for edge in found.grid_values[0]])
    np.testing.assert_allclose(found.ale[0], edges - steps.mean(), rtol=0, atol=1e-12 * 1_000)


def test_ale_widest_bin_fits():
    x = np.array([-(2**63), 0, 2**63 - 1], np.int64)
    found = one(lambda t: t["x"].to_numpy() / 2**63, pd.DataFrame({"x": x, "y": 1.0}), "x", grid_resolution=1)
    np.testing.assert_allclose(found.ale[0], [-1.0, 1.0], atol=1e-12)


def test_ale_numbers_longer_than_doubles_have_lines():
    x = np.random.default_rng(0).normal(size=300).astype(np.longdouble)
    found = one(lambda X: X[:, 0].astype(float), x[:, None])
    np.testing.assert_allclose(found.ale[0], found.grid_values[0] - x.mean(), rtol=0, atol=1e-12)


def test_ale_dates_have_lines_too():
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


def test_ale_bins_without_rows_take_slope_of_nearest():
    x = np.concatenate([np.linspace(0, 1, 50), np.linspace(8.1, 9, 70)])
    edges = [-3.0, 0.0, 0.5, 1.0, 2.0, 5.5, 8.0, 8.1, 9.0, 20.0]
    found = one(lambda X: 3 * X[:, 0], x[:, None], custom_values={0: edges})
    np.testing.assert_allclose(found.ale[0], 3 * (np.array(edges) - x.mean()), rtol=0, atol=1e-12 * 60)
    np.testing.assert_array_equal(found.empty, np.isnan(found.local[0]))
    np.testing.assert_array_equal(found.empty, found.rows == 0)
    assert "4 of 9 cells are empty and use the nearest cell that has rows" in found.notes
    bent = one(lambda X: X[:, 0] ** 2, x[:, None], custom_values={0: [0.0, 1.0, 2.0, 5.0, 8.0, 9.0]})
    np.testing.assert_allclose(np.diff(bent.ale[0]), [1.0, 1.0, 3.0, 3 * 17.0, 17.0], rtol=1e-12)


def test_ale_cells_without_rows_never_change_more_than_those_that_stand_for_them():
    """A code such as 999999999 for an unknown age makes wide bins, which few rows have in some cells only."""
    rng = np.random.default_rng(0)
    X = np.stack([rng.integers(0, 10, 2_000).astype(float), rng.uniform(size=2_000)], axis=1)
    X[:3, 0], X[:3, 1] = 999_999_999.0, [0.01, 0.02, 0.03]
    found = one(lambda X: np.minimum(X[:, 0], 10.0) * X[:, 1], X, (0, 1))
    assert found.empty[-1].any()
    assert np.abs(found.ale).max() < 10


@pytest.mark.parametrize("far", [1e300, 1.7e308])
def test_ale_numbers_may_be_as_far_apart_as_numbers_are(far):
    rng = np.random.default_rng(0)
    X = np.stack([rng.choice([-far, -1.0, 0.0, 5e-324, 1e-300, 1.0, far], 300), rng.normal(size=300)], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = ale(lambda X: np.clip(X[:, 0], -2, 2) * (X[:, 1] > 0), X, [0, (0, 1)], grid_resolution=4)
        wide = one(lambda X: np.clip(X[:, 0], -2, 2), X, custom_values={0: [-far, -2.0, 2.0, far]})
    for effect in (*found.values(), wide):
        assert np.abs(effect.ale).max() < 10
    assert np.average(straight_at(wide, np.clip(X[:, 0], -2, 2))) == pytest.approx(0, abs=0.2)


def test_ale_rows_beyond_edges_given_do_not_count():
    x = np.linspace(0, 10, 101)[:, None]
    found = one(lambda X: X[:, 0] ** 2, x, custom_values={0: [2.0, 4.0, 6.0]})
    inside = x[(x >= 2) & (x <= 6)]
    want = one(lambda X: X[:, 0] ** 2, inside[:, None], custom_values={0: [2.0, 4.0, 6.0]})
    same(found, want)
    assert "59.4% of the data lies outside the grid of x0, and its local effects ignore it" in found.notes
    nowhere = one(lambda X: X[:, 0], x, custom_values={0: [20.0, 21.0]})
    assert nowhere.empty.all()
    assert np.isnan(nowhere.ale).all()
    assert np.isnan(nowhere.strength).all()
    assert "1 of 1 cells are empty, so the effect is unknown" in nowhere.notes
    assert not any("finite" in note for note in nowhere.notes)
    assert "100% of the data lies outside the grid of x0, and its local effects ignore it" in nowhere.notes


def test_ale_additive_model_has_effects_of_its_parts():
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


def test_ale_product_has_joint_effect_of_its_centered_factors():
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


def test_ale_grid_of_all_pairs_leaves_product_exact():
    """Where every value goes with every other, no sampling is left."""
    X = np.array(list(product(np.linspace(0, 3, 7), np.linspace(-1, 1, 5))))
    found = one(lambda X: X[:, 0] * X[:, 1] + X[:, 0] ** 2 + np.exp(X[:, 1]), X, (0, 1))
    a, b = found.grid_values
    assert found.ale.shape == (1, 7, 5)
    want = np.multiply.outer(a - 1.5, b)
    np.testing.assert_allclose(found.ale[0], want, rtol=0, atol=1e-12)


def test_ale_joint_effect_of_two_that_go_together_has_no_first_order_effects_left():
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


def test_ale_features_that_go_together_are_not_torn_apart():
    rng = np.random.default_rng(0)
    a = rng.uniform(size=2_000)
    X = np.stack([a, a + rng.normal(0, 0.02, 2_000)], axis=1)

    def model(X):
        near = np.abs(X[:, 0] - X[:, 1]) < 0.2
        return np.where(near, X[:, 0], 100.0)  # never so in the data

    found = one(model, X)
    np.testing.assert_allclose(found.ale[0], found.grid_values[0] - a.mean(), rtol=0, atol=1e-3)


def test_ale_errors_know_that_repeated_rows_are_none():
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


def test_ale_strongest_come_first():
    found = ale(lambda X: X[:, 0] + 5 * X[:, 1] - X[:, 2], np.random.default_rng(0).normal(size=(200, 3)))
    assert next(iter(found)) == "x1"
    strengths = [effect.strength for effect in found.values()]
    assert strengths == sorted(strengths, reverse=True)


def test_ale_classifiers_answer_in_probabilities_unless_reported_otherwise():
    X, y = plain_people()
    two, three = (y > 3).astype(int), classes(y)
    binary = LogisticRegression(max_iter=500).fit(X, two)
    found = ale(binary, X)
    assert found.provenance.scale == "probability"
    want = one(lambda t: binary.predict_proba(t)[:, 1], X, "a")
    same(found["a"], want, 1e-12)
    line = one(binary, X, "a", response_method="decision_function")
    edges = line.grid_values[0]
    want = binary.coef_[0, 0] * (edges - X["a"].mean())
    np.testing.assert_allclose(line.ale[0], want, rtol=0, atol=1e-12)
    several = paribus.Explainer(
        LogisticRegression(max_iter=500).fit(X, three), X, target_names=["low", "mid", "top"]
    ).accumulated_local_effects()
    assert several["a"].output_names == ("low", "mid", "top")
    np.testing.assert_allclose(several["a"].ale.sum(axis=0), 0, atol=1e-12)  # probabilities add up to one


def test_ale_model_that_cannot_bear_repeated_rows_is_requested_one_value_at_time():
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


def test_ale_model_that_fails_says_on_which_rows():
    X = np.random.default_rng(0).normal(size=(2_000, 2))
    X[1_300, 1] = 99.0

    def model(X):
        if (X[:, 1] == 99.0).any() and len(X) > 100:
            raise RuntimeError("no 99 please")
        return X[:, 0]

    def first(X):
        return model(X) if len(X) != 2_000 else X[:, 0]

    with pytest.raises(
        paribus.errors.ModelError, match=r"failed on rows \d+ to \d+ of X with x0 replaced: .*no 99"
    ):
        one(first, X)


EDGES = np.linspace(0, 1, 6)
COVERED = {
    "number": (0, {"custom_values": {0: EDGES}}),
    "level": (0, {"custom_values": {0: EDGES}, "categorical_features": [0]}),
    "surface": ((0, 1), {"custom_values": {0: [0.0, 0.4, 0.7, 1.0], 1: [0.0, 0.5, 1.0]}}),
}


@pytest.mark.nightly
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", list(COVERED))
def test_ale_errors_cover_effect_of_population(kind, weighted):
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


TABLE = pd.DataFrame(
    {"age": [1.0, 2.0, 3.0, 4.0], "city": list("abcd"), "town": list("aabb"), "n": [1, 2, 3, 5]}
)


def of_age(t):
    return t["age"].to_numpy() * 2.0


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        (
            {"features": [("age", "n", "city")]},
            paribus.errors.FeatureError,
            "one feature or two; 3 were given",
        ),
        (
            {"features": [("city", "town")]},
            paribus.errors.FeatureError,
            "two categorical features.*partial_dependence",
        ),
        ({"features": ["agee"]}, paribus.errors.FeatureError, "did you mean 'age'"),
        ({"features": [7]}, paribus.errors.FeatureError, "7"),
        ({"features": [("age", "age")]}, paribus.errors.FeatureError, "same column twice"),
        ({"grid_resolution": 0}, paribus.errors.OptionError, "integer number of bins"),
        ({"grid_resolution": 2.5}, paribus.errors.OptionError, "integer number of bins"),
        ({"grid_resolution": True}, paribus.errors.OptionError, "integer number of bins"),
        ({"grid_resolution": "splits"}, paribus.errors.OptionError, "integer number of bins"),
        ({"custom_values": {"age": [3.0, 1.0]}}, paribus.errors.GridError, "rising order"),
        ({"custom_values": {"age": [1.0, 1.0]}}, paribus.errors.GridError, "rising order"),
        ({"custom_values": {"age": [1.0, np.inf]}}, paribus.errors.GridError, "infinite"),
        ({"custom_values": {"age": [1.0, np.nan]}}, paribus.errors.GridError, "missing"),
        ({"custom_values": {"age": []}}, paribus.errors.GridError, "non-empty"),
        (
            {"custom_values": {"n": [1.0, 2.5]}},
            paribus.errors.GridError,
            "cannot be represented in its dtype|cannot be evaluated",
        ),
        ({"custom_values": {"city": ["a", "b", "a"]}}, paribus.errors.GridError, "each of them once"),
        ({"custom_values": {"aeg": [1.0]}}, paribus.errors.GridError, "did you mean 'age'"),
        ({"method": "fast"}, paribus.errors.OptionError, "'auto', 'exact', 'brute'"),
        ({"method": "recursion"}, paribus.errors.OptionError, "'auto', 'exact', 'brute'"),
        ({"method": "exact"}, paribus.errors.RefusalError, "no trees to read.*method='brute'"),
        ({"sample_weight": [1.0]}, paribus.errors.WeightError, "one per row"),
        ({"categorical_features": ["aeg"]}, paribus.errors.FeatureError, "did you mean 'age'"),
        ({"checkpoint": tempfile.gettempdir()}, paribus.errors.OptionError, "in-memory"),
        ({"executor": 3}, paribus.errors.OptionError, "dask.distributed Client"),
        ({"n_jobs": 0}, paribus.errors.OptionError, "n_jobs"),
        ({"on_error": "ignore"}, paribus.errors.OptionError, "on_error"),
    ],
)
def test_ale_what_cannot_be_requested_is_said(options, error, text):
    with pytest.raises(error, match=text):
        statistic_of("accumulated_local_effects", of_age, TABLE, **({"features": None} | options))


def test_ale_column_that_cannot_be_laid_out_is_skipped_when_all_are_requested():
    X = pd.DataFrame({"odd": [[1], [2], [3]], "y": [1.0, 2.0, 4.0]})
    found = ale(of_number, X)
    assert list(found) == ["y"]
    assert found.skipped == ("feature 'odd' holds lists, which cannot be varied",)
    assert found.skipped[0] in found.notes
    assert "skipped: feature 'odd'" in repr(found)
    for X_, features in ((X, ["odd"]), (X[["odd"]], None)):
        with pytest.raises(paribus.errors.FeatureError, match="holds lists"):
            ale(lambda t: np.ones(len(t)), X_, features)


def test_ale_feature_is_named_or_counted_alone_or_with_others():
    X = np.random.default_rng(0).normal(size=(50, 3))
    assert list(ale(lambda X: X[:, 0], X, "x1")) == ["x1"]
    assert list(ale(lambda X: X[:, 0], X, 2)) == ["x2"]
    assert list(ale(lambda X: X[:, 0], X, np.int64(2))) == ["x2"]
    assert set(ale(lambda X: X[:, 0], X, ["x0", ("x1", 2)])) == {"x0", ("x1", "x2")}
    named = paribus.Explainer(
        lambda X: X[:, 0], X, feature_names=["one", "two", "three"]
    ).accumulated_local_effects(["one", (1, "three")])
    assert set(named) == {"one", ("two", "three")}


def test_ale_of_a_single_row_without_a_value_has_no_standard_error_there():
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[7, 0] = np.nan
    found = ale(lambda t: np.nan_to_num(t[:, 0], nan=3.0) * t[:, 1], X, 0, grid_resolution=4)["x0"]
    assert np.isnan(found.missing.standard_error).all()
    assert np.isfinite(found.standard_error).all()
    X[8, 0] = np.nan
    several = ale(lambda t: np.nan_to_num(t[:, 0], nan=3.0) * t[:, 1], X, 0, grid_resolution=4)["x0"]
    assert np.isfinite(several.missing.standard_error).all()
