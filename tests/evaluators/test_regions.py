"""Regions: a naive search finds the same splits, planted regions are found, and additive models have none."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression

import paribus
from paribus._api.statistics import region_statistic
from paribus._data.read import table_of
from paribus._data.rows import Block
from paribus._data.samples import sample_numbers, uniform
from paribus._data.summary import edges_of
from paribus._evaluators.region_search import (
    CUT_BINS,
    HALVES,
    LEAST_ERRORS,
    LEAST_ROWS,
    LEAST_VARIANCE,
    NodeSplit,
    RegionGrouping,
    SplitCells,
    _by_direction,
)
from selection import nightly

lightgbm = pytest.importorskip("lightgbm")
QUIET = {"progress": False}
LOOSE = {"min_gain": 0.03}
POINTS = 20  # bins of a feature at whose edges curves are compared


def example(seed, rows=600):
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
    """Return the grid points of a column, and the point nearest to each row; missing comes last."""
    missing = column.isna().to_numpy()
    known = ~missing & (weight > 0)
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = [one for one in column.cat.categories if (weight[(column == one).to_numpy()] > 0).any()]
        places = sum(place * (column == one).to_numpy() for place, one in enumerate(values))
    else:
        numbers = column.to_numpy()[known]
        order = np.argsort(numbers, kind="stable")
        equal = None if (weight == 1).all() else weight[known][order]
        edges = edges_of(numbers[order], equal, POINTS)
        places = np.searchsorted((edges[:-1] + edges[1:]) / 2, column)
        values = list(edges)
    return [*values, np.nan] if weight[missing].sum() else values, np.where(missing, len(values), places)


def curves_of(predict, X, feature, weight):
    """Return the centered curves ``(n, o, g)`` of all rows, the weight of each point, and the points of rows."""
    values, places = points_of(X[feature], weight)
    support = np.array([weight[places == place].sum() for place in range(len(values))])
    curves = []
    for value in values:
        moved = X.copy()
        column = pd.Series([value] * len(X), index=X.index)
        moved[feature] = column.astype(X[feature].dtype)
        curves.append(predict(moved))
    return centered(np.stack(curves, axis=-1), support / support.sum()), support, places


def centered(curves, shares):
    """Return curves ``(n, o, g)`` apart from their levels."""
    return curves - (curves * shares).sum(axis=-1, keepdims=True)


def heterogeneity(curves, shares, weight):
    """Return the weighted squared distance of curves from their average."""
    if not weight.sum():
        return 0.0
    mean = np.einsum("i,iog->og", weight, curves) / weight.sum()
    return np.einsum("i,iog,g->", weight, (curves - mean) ** 2, shares)


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
            if min(map(np.sum, parts)) < LEAST_ROWS:
                continue
            inner = [heterogeneity(curves[own], shares, weight[own]) for own in parts]
            gain = heterogeneity(curves[select], shares, weight[select]) - inner[0] - inner[1]
            if best is None or gain > best[0] * (1 + 1e-10):
                measured = heterogeneity(curves[measure], shares, weight[measure]) - inner[2] - inner[3]
                best = gain, (name, threshold, categories, side), left, measured
    return best


def naive_error(curves, support, places, weight, here, left, half):
    """Return the standard error of a gain, from the influences of each row: of its curve, and of its value."""
    parts = here & half, here & half & left, here & half & ~left

    def gain(support):
        shares = support / support.sum()
        apart = centered(curves, shares)
        whole, *inner = (heterogeneity(apart[rows], shares, weight[rows]) for rows in parts)
        return (whole - sum(inner)) / weight[half].sum()

    distances = []
    for rows in parts:
        mean = np.einsum("i,iog->og", weight[rows], curves[rows]) / weight[rows].sum()
        distances.append(np.einsum("iog,g->i", (curves - mean) ** 2, support / support.sum()))
    gains = np.where(here, distances[0] - np.where(left, distances[1], distances[2]), 0.0)
    of_curves = np.where(half, weight * (gains - gain(support)), 0.0) / weight[half].sum()
    slopes = [gain(support + 1e-30j * point).imag / 1e-30 for point in np.eye(len(support))]  # complex steps
    influences = of_curves + weight * np.append(slopes, 0.0)[places]
    return np.sqrt((influences**2).sum() * half.sum() / (half.sum() - 1))


def naive_regions(predict, X, feature, weight, candidates, max_depth=2):
    """Return the kept splits of a feature: node, values, gain, error and share of heterogeneity.

    The sums of squared distances of all rows and of each region follow, divided by their weights.
    """
    curves, support, places = curves_of(predict, X, feature, weight)
    shares, counted = support / support.sum(), weight > 0
    half = np.zeros(len(X), bool)  # rows of weight zero are left out first
    half[counted] = uniform(np.arange(counted.sum()), HALVES) > 0.5
    predictions = predict(X)[counted]
    mean = np.average(predictions, axis=0, weights=weight[counted])
    variance = np.average(((predictions - mean) ** 2).sum(axis=1), weights=weight[counted])
    total = weight[half].sum()
    nodes, found, regions = {1: counted}, [], {1: counted}
    while nodes:
        node = min(nodes)
        here = nodes.pop(node)
        best = naive_split(X, curves, shares, weight, here, half, candidates)
        if best is None or best[0] <= 0:
            continue
        _, values, left, gain = best
        whole = heterogeneity(curves[here & half], shares, weight[here & half])
        error = naive_error(curves, support, places, weight, here, left, half)
        large = gain >= LOOSE["min_gain"] * whole and gain >= LEAST_VARIANCE * variance * total
        if large and gain / total > LEAST_ERRORS * error:
            found.append((node, values, gain / total, error, gain / whole))
            sides = {2 * node: here & left, 2 * node + 1: here & ~left}
            regions = {key: own for key, own in regions.items() if key != node} | sides
            nodes |= sides if node < 2 ** (max_depth - 1) else {}
    spread = {key: heterogeneity(curves[own], shares, weight[own]) for key, own in regions.items()}
    within = {key: spread[key] / weight[own].sum() for key, own in regions.items()}
    every = heterogeneity(curves, shares, weight)
    return found, (every / weight.sum(), sum(spread.values()) / weight.sum(), within)


@pytest.mark.parametrize("seed", [*range(8), *nightly(*range(8, 30))])
def test_regions_equal_naive_search_over_same_candidates(seed):
    X, y, weight = example(seed)
    model, predict = model_of(seed, X, y)
    feature = ["a", "b", "kind", "n"][seed % 4 if seed < 20 else 0]
    result = paribus.regions(model, X, [feature], sample_weight=weight, subsample=None, **LOOSE, **QUIET)[
        feature
    ]
    own = np.ones(len(X)) if weight is None else weight
    others = [name for name in X if name != feature]
    naive, (every, within, by_node) = naive_regions(predict, X, feature, own, others)
    np.testing.assert_allclose(result.heterogeneity, every, rtol=1e-10, atol=1e-20)
    np.testing.assert_allclose(result.heterogeneity_within, within, rtol=1e-10, atol=1e-20)
    assert {region.node for region in result.regions} == set(by_node)
    for region in result.regions:
        np.testing.assert_allclose(region.heterogeneity, by_node[region.node], rtol=1e-9, atol=1e-20)
    assert len(result.splits) == len(naive)
    for split, (node, (name, threshold, categories, side), gain, error, share) in zip(
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
        np.testing.assert_allclose(split.share_of_heterogeneity, share, rtol=1e-10)


@pytest.mark.nightly
def test_naive_search_finds_splits_by_numbers_categories_and_missing_values():
    seen = set()
    for seed in range(10):
        X, y, weight = example(seed)
        model, _ = model_of(seed, X, y)
        result = paribus.regions(model, X, ["a"], sample_weight=weight, subsample=None, **LOOSE, **QUIET)["a"]
        seen |= {("number" if one.categories is None else "category", one.missing) for one in result.splits}
    assert {kind for kind, _ in seen} == {"number", "category"}
    assert {side for _, side in seen} >= {"left", "right"}


def planted(seed, rows=4_000):
    """Return rows with correlated columns, a target whose effect of a turns at b = 0.4, and an additive one."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(rows, 6)), columns=list("abcdef"))
    X["c"] += 0.5 * X["b"]
    turning = np.where(X["b"] > 0.4, 1, -1) * X["a"] + X["c"] + 0.3 * rng.normal(size=rows)
    return X, turning, X["a"] + np.sin(X["c"]) + 0.3 * rng.normal(size=rows)


def boosted(X, y):
    return lightgbm.LGBMRegressor(n_estimators=150, verbose=-1, n_jobs=1).fit(X, y)


@pytest.mark.parametrize("seeds", [range(2), *nightly(range(20))])
def test_planted_region_is_found_and_additive_data_has_none(seeds):
    found = silent = 0
    for seed in seeds:
        X, turning, additive = planted(seed)
        one = paribus.regions(boosted(X, turning), X, ["a"], **QUIET)["a"]
        first = one.splits[0] if one.splits else None
        close = (
            first is not None and first.feature == "b" and abs(first.threshold - 0.4) <= 0.02 * np.ptp(X["b"])
        )
        found += close and len(one.regions) == 2
        silent += not any(one.splits for one in paribus.regions(boosted(X, additive), X, **QUIET).values())
    assert min(found, silent) >= 0.95 * len(seeds)


def test_each_bound_rejects_a_split():
    X, turning, additive = planted(0, 1_000)
    model, plain = boosted(X, turning), boosted(X, additive)
    kept = paribus.regions(model, X, ["a"], max_depth=1, **QUIET)["a"]
    (split,) = kept.splits
    assert split.gain / kept.prediction_variance == pytest.approx(split.share_of_variance, rel=1e-9)
    heavy = X[["a", "b"]].to_numpy(copy=True)
    heavy[np.argmax(uniform(np.arange(1_000), HALVES) > 0.5), 1] = 1e3  # a row that measures
    for found in (
        paribus.regions(model, X, ["a"], min_gain=0.999, **QUIET)["a"],
        paribus.regions(plain, X, ["a"], min_gain=0.0, **QUIET)["a"],  # less of the variance than 1 %
        paribus.regions(lambda t: t[:, 0] * t[:, 1], heavy, [0], min_gain=0.0, **QUIET)["x0"],  # within noise
    ):
        assert (found.splits, len(found.regions)) == ((), 1)
        assert "no split was kept" in repr(found)


@pytest.mark.parametrize("measures", [False, True])
def test_heterogeneity_is_of_all_rows_whichever_half_has_the_heavy_row(measures):
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[:, 0] = X[:, 0] > 0
    X[np.argmax((uniform(np.arange(200), HALVES) > 0.5) == measures), 1] = 100.0
    found = paribus.regions(lambda t: t[:, 0] * t[:, 1], X, [0], **QUIET)["x0"]
    share = X[:, 0].mean()
    assert found.heterogeneity == pytest.approx(share * (1 - share) * X[:, 1].var())


def test_heterogeneity_and_prediction_variance_of_a_search_are_of_the_same_sample():
    X = np.random.default_rng(0).normal(size=(2_000, 2))
    X[:, 0] = X[:, 0] > 0
    sample = X[sample_numbers(np.arange(2_000), 0, 400)]
    heavy = np.flatnonzero((sample[0] == X).all(axis=1))
    X[heavy] = 1.0, 100.0
    sample = X[sample_numbers(np.arange(2_000), 0, 400)]
    found = paribus.regions(lambda t: t[:, 0] * t[:, 1], X, [0], subsample=400, **QUIET)["x0"]
    assert found.prediction_variance == pytest.approx((sample[:, 0] * sample[:, 1]).var())
    share = sample[:, 0].mean()
    assert found.heterogeneity == pytest.approx(share * (1 - share) * sample[:, 1].var())
    assert found.heterogeneity < found.prediction_variance


@pytest.mark.parametrize(("turned", "kept"), [(15, False), (60, True)])
def test_a_side_has_enough_rows(turned, kept):
    X = np.random.default_rng(0).normal(size=(400, 2))
    X[:, 1] = np.arange(400) < turned
    found = paribus.regions(lambda t: np.where(t[:, 1] == 1, -9.0, 1.0) * t[:, 0], X, [0], **QUIET)["x0"]
    assert bool(found.splits) == kept
    if kept:
        assert [region.rows for region in found.regions] == [400 - turned, turned]


def test_features_that_share_no_path_are_no_candidates():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(1_500, 3)), columns=["a", "b", "copy"])
    X["copy"] = X["b"] + 0.01 * rng.normal(size=1_500)
    y = np.where(X["b"] > 0, 1, -1) * X["a"] + X["copy"]
    model = HistGradientBoostingRegressor(interaction_cst=[{0, 1}, {2}], max_iter=30).fit(X, y)
    assert paribus.regions(model, X, ["a"], **QUIET)["a"].splits[0].feature == "b"
    assert paribus.regions(model, X, ["copy"], min_gain=0, **QUIET)["copy"].splits == ()


def test_sum_of_terms_has_no_candidates_but_its_probability_has():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_000, 3))
    one = paribus.regions(LinearRegression().fit(X, X[:, 0]), X, [0], **QUIET)["x0"]
    assert (one.splits, one.regions[0].text) == ((), "all rows")
    model = LogisticRegression(C=100).fit(X, X[:, 0] + 3 * X[:, 1] > 0)
    two = paribus.regions(model, X, [0], min_gain=0.1, **QUIET)["x0"]
    assert two.splits[0].feature == "x1"
    assert two.provenance.evaluator == "additive_exact"


@pytest.mark.parametrize("levels", [3, 6, 8])
def test_order_by_principal_direction_separates_two_classes_of_curves_as_all_subsets_do(levels):
    rng = np.random.default_rng(levels)
    names = [f"k{number}" for number in range(levels)]
    cells = SplitCells(0, "kind", "string", False, np.empty(0), None, tuple(names))
    up = rng.random(levels) < 0.5
    up[:2] = True, False
    curve = rng.normal(size=5)
    weight = rng.uniform(10, 40, levels)
    means = np.where(up, 1.0, -1.0)[:, None] * curve + 0.01 * rng.normal(size=(levels, 5))
    sums = np.zeros((levels + 2, 8))
    sums[:levels] = np.column_stack([weight, weight, weight, weight[:, None] * means])
    order = _by_direction(sums[:levels])
    ends = set(order[: up.sum()].tolist()), set(order[levels - up.sum() :].tolist())
    assert set(np.flatnonzero(up).tolist()) in ends
    sides = cells.sides(sums)
    assert len(sides) == 2 ** (levels - 1) - 1
    assert (sides[:, :levels].sum(axis=1) <= levels / 2).all()
    assert not sides[:, levels:].any()


def test_missing_values_are_tried_on_both_sides_and_against_all_others():
    cells = SplitCells(0, "a", "number", True, np.array([1.0, 2.0]), None, ())
    sums = np.ones((cells.n_cells, 8))
    sides = cells.sides(sums)
    assert sides.tolist() == [
        [True, False, False, False],
        [True, False, False, True],
        [True, True, False, False],
        [True, True, False, True],
        [True, True, True, False],
    ]


def test_text_of_regions_lists_every_feature():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3))
    found = paribus.regions(lambda t: t[:, 0] * np.sign(t[:, 1]) + t[:, 2], X, [0, 2], **QUIET)
    text = repr(found)
    assert [name in text for name in ("x0: ", "x2: ")] == [True, True]
    assert "x1 <= " in text


def test_many_categories_are_split_by_their_order():
    rng = np.random.default_rng(0)
    level = rng.integers(0, 30, 6_000)
    X = pd.DataFrame({"a": rng.normal(size=6_000), "city": [f"c{one:02d}" for one in level]})
    turning = {f"c{one:02d}" for one in range(0, 30, 4)}

    def model(table):
        return np.where(table["city"].isin(turning), 1.0, -1.0) * table["a"].to_numpy()

    one = paribus.regions(model, X, ["a"], subsample=None, **QUIET)["a"]
    assert set(one.splits[0].categories) == turning
    assert one.splits[0].share_of_heterogeneity == pytest.approx(1.0)
    assert one.regions[0].text.startswith("city in (c")


def nodes_of(found, X):
    """Return the node of each row after the kept splits."""
    nodes = np.ones(len(X), int)
    for split in found.splits:
        column = X[split.feature]
        left = column.isin(split.categories) if split.threshold is None else column <= split.threshold
        left = left | (column.isna() & (split.missing == "left"))
        here = nodes == split.node
        nodes[here] = 2 * split.node + ~left.to_numpy()[here]
    return nodes


def test_rows_are_in_the_regions_that_texts_name():
    X, y, _ = example(0, 900)
    model, _ = model_of(0, X, y)
    one = paribus.regions(model, X, ["a"], min_gain=0.05, **QUIET)["a"]
    assert len(one.regions) > 2
    nodes = nodes_of(one, X)
    assert [(nodes == region.node).sum() for region in one.regions] == [region.rows for region in one.regions]


def test_grouping_gives_each_row_its_region():
    X = pd.DataFrame({"b": [0.0, 1.0, np.nan, 2.0], "kind": ["p", "q", "p", "new"]})
    cells = (
        SplitCells(0, "b", "numeric", True, np.array([0.5, 1.5])),
        SplitCells(1, "kind", "string", False, np.empty(0), None, ("p", "q")),
    )
    splits = (
        NodeSplit(1, 0, np.array([True, False, False, False])),
        NodeSplit(3, 1, np.array([True, False, False, False])),
    )
    grouping = RegionGrouping("regions", ("low", "high p", "high other"), (2, 6, 7), splits, cells)
    assert grouping.codes(Block(table_of(X), None, 0)).tolist() == [0, 2, 1, 2]


def test_sample_of_rows_is_reported_and_seeded():
    X, _, _ = planted(0, 5_000)
    model = lambda t: np.where(t["b"] > 0.4, 1, -1) * t["a"].to_numpy()  # noqa: E731
    one = paribus.regions(model, X, ["a"], **QUIET)
    assert (one.provenance.sampled_rows, one.provenance.seed) == (4_000, 0)
    assert one["a"].curves.groups[0].rows == one["a"].regions[0].rows
    assert repr(one["a"].splits) == repr(paribus.regions(model, X, ["a"], **QUIET)["a"].splits)
    other = paribus.regions(model, X, ["a"], subsample=1_000, random_state=1, **QUIET)["a"]
    assert sum(region.rows for region in other.regions) == 1_000
    whole = paribus.regions(model, X, ["a"], max_depth=1, subsample=None, **QUIET)
    assert (whole.provenance.sampled_rows, whole.notes) == (None, ())
    assert whole.provenance.predictions == 5_000 * (1 + 21)


@pytest.mark.parametrize("weighted", [False, True])
def test_splits_of_many_rows_are_searched_in_a_sample_and_curves_use_all(weighted, monkeypatch, tmp_path):
    monkeypatch.setattr(region_statistic, "SEARCHED_ROWS", 700)
    X, y, weight = example(1, 1_500)
    model, _ = model_of(0, X, y)
    weight = weight if weighted else np.ones(len(X))
    given = weight if weighted else None
    found = paribus.regions(model, X, ["a"], sample_weight=given, **QUIET)["a"]
    assert len(found.regions) > 1
    assert (found.provenance.sampled_rows, found.provenance.seed) == (700, 0)
    assert any("the search for regions used 700 rows of" in note for note in found.notes)
    counted = np.flatnonzero(weight)
    sample = counted[sample_numbers(counted, 0, 700)]
    assert found.prediction_variance == pytest.approx(
        np.cov(model.predict(X.iloc[sample]), aweights=weight[sample], ddof=0), rel=1e-9
    )
    nodes = nodes_of(found, X)
    for region, group in zip(found.regions, found.curves.groups, strict=True):
        here = nodes == region.node
        curve, rows, own = found.curves[region.text], X[here], weight[here]
        assert (region.rows, group.rows) == (here[sample].sum(), (own > 0).sum())
        assert region.weight == pytest.approx(weight[sample][here[sample]].sum(), rel=1e-9)
        assert curve.provenance.sampled_rows is None
        want = [
            np.average(model.predict(rows.assign(a=value)), weights=own) for value in curve.grid_values[0]
        ]
        np.testing.assert_allclose(curve.average[0], want, rtol=1e-9)
    X.assign(w=weight).to_parquet(tmp_path / "rows.parquet")
    read = paribus.regions(model, str(tmp_path), ["a"], sample_weight="w" if weighted else None, **QUIET)["a"]
    assert repr((read.splits, read.regions)) == repr((found.splits, found.regions))
    for text, curve in found.curves.items():
        np.testing.assert_allclose(read.curves[text].average, curve.average, rtol=1e-12)


def test_named_features_and_the_five_most_heterogeneous():
    X, turning, _ = planted(0, 1_500)
    model = boosted(X, turning)
    every = paribus.regions(model, X, **QUIET)
    assert len(every) == 5
    assert list(every)[:2] == sorted(list(every)[:2], key=lambda name: -every[name].heterogeneity)
    assert set(list(every)[:2]) == {"a", "b"}
    assert list(paribus.regions(model, X, "a", **QUIET)) == ["a"]


def test_dates_are_split_at_a_date(tmp_path):
    rng = np.random.default_rng(0)
    day = np.datetime64("2024-01-01") + rng.integers(0, 300, 2_000).astype("m8[D]")
    X = pd.DataFrame({"a": rng.normal(size=2_000), "day": day.astype("M8[ns]")})

    def model(table):
        return np.where(table["day"] > pd.Timestamp("2024-06-30"), 1, -1) * table["a"].to_numpy()

    one = paribus.regions(model, X, ["a"], subsample=None, **QUIET)["a"]
    assert abs(one.splits[0].threshold - np.datetime64("2024-06-30")) <= np.timedelta64(5, "D")
    assert "day <= 2024-0" in one.regions[0].text
    one.save(tmp_path / "one.json")
    assert paribus.load(tmp_path / "one.json") == one


def test_result_is_a_mapping_with_a_table_and_a_file(tmp_path):
    X, y, weight = example(1)
    model, _ = model_of(1, X, y)
    result = paribus.regions(model, X, ["a", "kind"], sample_weight=weight, **LOOSE, **QUIET)
    frame = result.to_frame()
    assert list(frame) == ["feature", "region", "rows", "weight", "heterogeneity"]
    assert len(frame) == sum(len(one.regions) for one in result.values())
    np.testing.assert_allclose(frame.groupby("feature")["weight"].sum(), weight.sum())
    assert list(result["a"].to_frame()["region"]) == [region.text for region in result["a"].regions]
    result.save(tmp_path / "regions.json")
    assert paribus.load(tmp_path / "regions.json") == result
    with pytest.raises(KeyError, match="no regions of 'A'; did you mean 'a'"):
        result["A"]


def test_lists_of_models_and_bad_bounds_are_refused():
    X, turning, _ = planted(0, 200)
    model = boosted(X, turning)
    for options, text in (
        ({"max_depth": 0}, "max_depth=0 must be an integer of at least 1"),
        ({"min_gain": 2}, "min_gain=2 must be a number of at least 0 and at most 1"),
        ({"min_gain": "x"}, "min_gain='x'"),
    ):
        with pytest.raises(paribus.errors.OptionError, match=text):
            paribus.regions(model, X, ["a"], **options, **QUIET)
    with pytest.raises(paribus.errors.OptionError, match="a single model"):
        paribus.regions([model, model], X, ["a"], **QUIET)


def test_constant_predictions_and_constant_features_have_no_regions():
    X = pd.DataFrame({"a": np.arange(200.0), "b": 1.0})
    result = paribus.regions(lambda t: np.zeros(len(t)), X, **QUIET)
    assert [(one.splits, one.heterogeneity) for one in result.values()] == [((), 0.0)] * 2


@pytest.mark.parametrize("brute", [False, True])
def test_curves_of_regions_are_averages_over_their_rows(brute):
    X, turning, _ = planted(0, 1_200)
    model = boosted(X, turning)
    called = (lambda t: model.predict(t)) if brute else model
    subsample = 500 if brute else None
    one = paribus.regions(called, X, ["a"], max_depth=1, subsample=subsample, **QUIET)["a"]
    assert list(one.curves) == [region.text for region in one.regions]
    assert [group.rows for group in one.curves.groups] == [region.rows for region in one.regions]
    assert np.isfinite(one.curves[one.regions[0].text].standard_error).all()
    if not brute:
        rows = X[X[one.splits[0].feature] <= one.splits[0].threshold]
        curve = one.curves[one.regions[0].text]
        want = [model.predict(rows.assign(a=value)).mean() for value in curve.grid_values[0]]
        np.testing.assert_allclose(curve.average[0], want, rtol=1e-9)


def test_the_curve_without_a_split_is_that_of_all_rows():
    X, _, additive = planted(0, 1_200)
    model = boosted(X, additive)
    one = paribus.regions(model, X, ["a"], **QUIET)["a"]
    ((label, curve),) = one.curves.items()
    assert (one.splits, label) == ((), one.regions[0].text)
    whole = paribus.partial_dependence(model, X, "a", progress=False)
    np.testing.assert_allclose(curve.average, whole.average, rtol=1e-9)
