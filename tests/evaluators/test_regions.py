"""Regions: a naive search finds the same splits, planted regions are found, and additive models have none."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

import paribus
from paribus._data.rows import uniform
from paribus._data.summary import edges_of
from paribus._evaluators.region_cells import CUT_BINS
from paribus._evaluators.region_search import HALVES

lightgbm = pytest.importorskip("lightgbm")
QUIET = {"progress": False}
LOOSE = {"min_gain": 0.03, "min_variance": 0.001, "min_errors": 0.5, "min_rows": 8, "grid_resolution": 6}


def example(seed, rows=320):
    """Return rows with numbers, missing values, categories and integers, a target, and weights."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=rows),
            "b": rng.normal(size=rows),
            "kind": pd.Categorical(rng.choice(["p", "q", "r", "s"], rows, p=[0.4, 0.3, 0.2, 0.1])),
            "n": rng.integers(0, 6, rows),
        }
    )
    X.loc[rng.random(rows) < 0.15, "b"] = np.nan
    turn = np.where(X["kind"].isin(["p", "s"]), 1, -1) * np.where(X["b"].fillna(1) > 0.3, 1.5, -0.5)
    y = turn * X["a"] + 0.2 * X["n"] * (X["b"] > 0) + 0.1 * rng.normal(size=rows)
    weight = rng.uniform(0.2, 2, rows)
    weight[rng.random(rows) < 0.05] = 0.0
    return X, y.to_numpy(), weight if seed % 2 else None


def model_of(seed, X, y):
    """Return one of several kinds of models, and its predictions ``(n, o)`` as a function."""
    kind = seed % 5
    if kind == 0:
        model = lightgbm.LGBMRegressor(n_estimators=25, num_leaves=12, verbose=-1).fit(X, y)
    elif kind == 1:
        model = HistGradientBoostingRegressor(max_iter=20, categorical_features="from_dtype").fit(X, y)
    elif kind == 2:
        target = np.digitize(y, [-0.7, 0.7])
        model = HistGradientBoostingClassifier(max_iter=8, categorical_features="from_dtype").fit(X, target)
    elif kind == 3:
        model = lightgbm.LGBMClassifier(n_estimators=15, num_leaves=8, verbose=-1).fit(X, y > 0)
    else:

        def model(table):
            sign = np.where(table["kind"].isin(["q", "r"]), -1.0, 1.0)
            return sign * table["a"].to_numpy() * table["b"].fillna(2.0).to_numpy() + table["n"].to_numpy()

    if kind == 2:
        return model, model.predict_proba
    if kind == 3:
        return model, lambda table: model.predict_proba(table)[:, 1:]
    return model, lambda table: np.reshape(
        model(table) if kind == 4 else model.predict(table), (len(table), -1)
    )


def points_of(column, weight):
    """Return the grid points of a column, and the share of the weight nearest to each; missing comes last."""
    known = column.notna().to_numpy() & (weight > 0)
    total, missing = weight.sum(), weight[column.isna().to_numpy()].sum()
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = [one for one in column.cat.categories if (weight[(column == one).to_numpy()] > 0).any()]
        shares = [weight[(column == one).to_numpy()].sum() for one in values]
    else:
        numbers = column.to_numpy()[known]
        order = np.argsort(numbers, kind="stable")
        equal = None if (weight == 1).all() else weight[known][order]
        values = edges_of(numbers[order], equal, LOOSE["grid_resolution"])
        nearest = np.searchsorted((values[:-1] + values[1:]) / 2, numbers)
        shares = [weight[known][nearest == place].sum() for place in range(len(values))]
        values = list(values)
    if missing:
        values, shares = [*values, np.nan], [*shares, missing]
    return values, np.array(shares) / total


def curves_of(predict, X, feature, weight):
    """Return the centered curves ``(n, o, g)`` of all rows, and the shares of the points."""
    values, shares = points_of(X[feature], weight)
    curves = []
    for value in values:
        moved = X.copy()
        column = pd.Series([value] * len(X), index=X.index)
        moved[feature] = column.astype(X[feature].dtype)
        curves.append(predict(moved))
    curves = np.stack(curves, axis=-1)
    return curves - (curves * shares).sum(axis=-1, keepdims=True), shares


def heterogeneity(curves, shares, weight):
    """Return the weighted squared distance of curves from their average."""
    if not weight.sum():
        return 0.0
    mean = np.einsum("i,iog->og", weight, curves) / weight.sum()
    return float(np.einsum("i,iog,g->", weight, (curves - mean) ** 2, shares))


def possible(column, weight, among):
    """Yield the threshold or categories, the side of missing values, and the rows on the left."""
    missing = column.isna().to_numpy()
    sides = (False, True) if missing[among].any() else (False,)
    if isinstance(column.dtype, pd.CategoricalDtype):
        occurring = [one for one in column.cat.categories if (column == one)[among].any()]
        for members in list(product([False, True], repeat=len(occurring) - 1))[1:]:
            chosen = [one for one, own in zip(occurring[1:], members, strict=True) if own]
            if 2 * len(chosen) > len(occurring):
                chosen = [one for one in occurring if one not in chosen]
            for side in sides:
                yield None, tuple(chosen), side, column.isin(chosen).to_numpy() | (missing & side)
    else:
        known = ~missing & (weight > 0)
        numbers = column.to_numpy()[known]
        order = np.argsort(numbers, kind="stable")
        equal = None if (weight == 1).all() else weight[known][order]
        for threshold in edges_of(numbers[order], equal, CUT_BINS)[:-1]:
            for side in sides:
                yield threshold, None, side, (column <= threshold).to_numpy() | (missing & side)
    if len(sides) == 2:
        yield None, None, False, ~missing


def naive_split(X, curves, shares, weight, here, half, candidates):
    """Return the best split of some rows: its values, its left rows, and its gain where it is measured."""
    best = None
    for name in candidates:
        select, measure = here & ~half, here & half
        for threshold, categories, side, left in possible(X[name], weight, select):
            parts = [half_rows & own for half_rows in (select, measure) for own in (left, ~left)]
            if min(map(np.sum, parts)) < LOOSE["min_rows"]:
                continue
            inner = [heterogeneity(curves[own], shares, weight[own]) for own in parts]
            gain = heterogeneity(curves[select], shares, weight[select]) - inner[0] - inner[1]
            if best is None or gain > best[0] * (1 + 1e-10):
                measured = heterogeneity(curves[measure], shares, weight[measure]) - inner[2] - inner[3]
                best = gain, (name, threshold, categories, side), left, measured
    return best


def naive_error(curves, shares, weight, here, left, half):
    """Return the standard error of a gain, from the contribution of each row that measures."""
    distances = []
    for rows in (here & half, here & half & left, here & half & ~left):
        mean = np.einsum("i,iog->og", weight[rows], curves[rows]) / weight[rows].sum()
        distances.append(np.einsum("iog,g->i", (curves - mean) ** 2, shares))
    gains = np.where(here, weight * (distances[0] - np.where(left, distances[1], distances[2])), 0.0)[half]
    own = weight[half]
    residual = gains - own * gains.sum() / own.sum()
    return np.sqrt((residual**2).sum() * len(own) / (len(own) - 1)) / own.sum()


def naive_regions(predict, X, feature, weight, candidates, max_depth=2):
    """Return the kept splits of a feature: node, values, gain and error."""
    curves, shares = curves_of(predict, X, feature, weight)
    half = (uniform(np.arange(len(X)), HALVES) > 0.5) & (weight > 0)
    counted = weight > 0
    predictions = predict(X)[counted]
    mean = np.average(predictions, axis=0, weights=weight[counted])
    variance = np.average(((predictions - mean) ** 2).sum(axis=1), weights=weight[counted])
    total = weight[half].sum()
    nodes, found = {1: counted}, []
    while nodes:
        node = min(nodes)
        here = nodes.pop(node)
        best = naive_split(X, curves, shares, weight, here, half, candidates)
        if best is None or best[0] <= 0:
            continue
        _, values, left, gain = best
        whole = heterogeneity(curves[here & half], shares, weight[here & half])
        error = naive_error(curves, shares, weight, here, left, half)
        large = gain >= LOOSE["min_gain"] * whole and gain >= LOOSE["min_variance"] * variance * total
        if large and gain / total > LOOSE["min_errors"] * error:
            found.append((node, values, gain / total, error))
            if node < 2 ** (max_depth - 1):
                nodes |= {2 * node: here & left, 2 * node + 1: here & ~left}
    return found


@pytest.mark.parametrize("seed", range(30))
def test_regions_equal_naive_search_over_same_candidates(seed):
    X, y, weight = example(seed)
    model, predict = model_of(seed, X, y)
    feature = ["a", "b", "kind", "n"][seed % 4 if seed < 20 else 0]
    result = paribus.regions(model, X, [feature], sample_weight=weight, subsample=None, **LOOSE, **QUIET)[
        feature
    ]
    own = np.ones(len(X)) if weight is None else weight
    others = [name for name in X if name != feature]
    naive = naive_regions(predict, X, feature, own, others)
    assert len(result.splits) == len(naive)
    for split, (node, (name, threshold, categories, side), gain, error) in zip(
        result.splits, naive, strict=True
    ):
        assert (split.node, split.feature, split.threshold, split.categories) == (
            node,
            name,
            threshold,
            categories,
        )
        assert (split.missing == "left") == side
        np.testing.assert_allclose(split.gain, gain, rtol=1e-10)
        np.testing.assert_allclose(split.gain_error, error, rtol=1e-8)


def test_naive_search_finds_splits_by_numbers_categories_and_missing_values():
    seen = set()
    for seed in range(10):
        X, y, weight = example(seed)
        model, _ = model_of(seed, X, y)
        result = paribus.regions(model, X, ["a"], sample_weight=weight, subsample=None, **LOOSE, **QUIET)["a"]
        seen |= {("number" if one.categories is None else "category", one.missing) for one in result.splits}
    assert {kind for kind, _ in seen} == {"number", "category"}
    assert {side for _, side in seen} >= {"left", "right"}
