"""Accumulated local effects of trees equal those of the model itself."""

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.ensemble import (
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

import paribus
from ale_examples import library, one, people, plain_people, same
from paribus import accumulated_local_effects as ale
from paribus._evaluators.ale import tree_ale
from paribus._evaluators.ale.tree_pair_ale import TreePairAle
from selection import nightly

LIBRARIES = (
    "tree", "tree with missing values", "tree of classes", "forest", "forest of two", "forest of classes",
    "extra trees", "boosting", "boosting of classes", "histograms", "histograms of classes", "XGBoost",
    "XGBoost with categories", "XGBoost of two classes", "XGBoost of classes", "LightGBM", "LightGBM of "
        "classes",
    "CatBoost", "CatBoost of classes",
)  # fmt: skip


@pytest.mark.parametrize("weighted", [*nightly(False), True])
@pytest.mark.parametrize("name", LIBRARIES)
def test_ale_trees_are_followed_to_what_model_itself_says(name, weighted):
    model, X = library(name)
    weights = np.random.default_rng(3).integers(0, 3, len(X)) / 2 if weighted else None
    options = {"sample_weight": weights}
    exact = ale(model, X, **options)
    brute_force = ale(model, X, method="brute", **options)
    assert exact.provenance.evaluator == "tree_ale"
    assert exact.provenance.predictions == 0
    assert brute_force.provenance.evaluator == "brute"
    tolerance = 2e-6 if name.startswith("XGBoost") else 1e-9
    size = max(1.0, float(np.abs(model.predict(X)).astype(float).max())) if "class" not in name else 1.0
    assert set(exact) == set(X)
    for key, effect in exact.items():
        same(effect, brute_force[key], tolerance * size)
        assert effect.order == brute_force[key].order
        assert np.isfinite(effect.ale).all()


@pytest.mark.parametrize("leaves", [1, 12])
@pytest.mark.parametrize(
    "name", ["tree with missing values", "XGBoost with categories", "histograms of classes"]
)
def test_ale_deep_trees_are_followed_row_by_row(name, leaves, monkeypatch):
    """Trees of at least so many leaves: all of them, or some beside others down which masks are led."""
    model, X = library(name)
    wanted = ale(model, X)
    monkeypatch.setattr(tree_ale, "WALKED", leaves)
    for key, effect in ale(model, X).items():
        same(effect, wanted[key], 1e-9)


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


def test_ale_every_category_may_go_anywhere_with_what_is_missing():
    """Categories that go left together with missing values: a test of categories whose table has them last."""
    X, y = people()
    for seed in range(3):
        model = lightgbm.LGBMRegressor(
            n_estimators=30, min_child_samples=2, cat_smooth=0, cat_l2=0, min_data_per_group=1, verbose=-1, n_jobs=1,
            random_state=seed, max_cat_to_onehot=1,
        )  # fmt: skip
        model.fit(X, np.where(X["c"].isna(), 10, y) + seed)
        same(one(model, X, "c", method="exact"), one(model, X, "c", method="brute"), 1e-9)


def test_ale_splits_of_trees_lie_where_edges_are():
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


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LIBRARIES)
def test_ale_of_pairs_from_trees_equals_brute_force(name, weighted):
    model, X = library(name)
    weights = np.random.default_rng(3).integers(0, 3, len(X)) / 2 if weighted else None
    pairs = [tuple(X.columns[:2]), tuple(X.columns[[2, 0]])]
    exact = ale(model, X, pairs, sample_weight=weights, grid_resolution=6)
    brute = ale(model, X, pairs, method="brute", sample_weight=weights, grid_resolution=6)
    assert exact.provenance.evaluator == "tree_pair_ale"
    assert exact.provenance.predictions == 0
    tolerance = 4e-6 if name.startswith("XGBoost") else 1e-9
    size = max(1.0, float(np.abs(model.predict(X)).astype(float).max())) if "class" not in name else 1.0
    for pair in pairs:
        same(exact[pair], brute[pair], tolerance * size)


def test_ale_of_pairs_and_single_features_are_each_read_from_trees():
    model, X = library("forest")
    found = ale(model, X, ["a", ("a", "b")])
    assert found.provenance.evaluator == "tree_ale and tree_pair_ale"
    assert "tree_ale" not in found.provenance.refusals
    same(found["a"], one(model, X, "a", method="exact"))
    same(found["a", "b"], one(model, X, ("a", "b"), method="exact"))


def test_ale_of_a_pair_that_no_tree_tests_is_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3))
    model = HistGradientBoostingRegressor(max_iter=20, interaction_cst="no_interactions").fit(
        X, X.sum(axis=1)
    )
    found = ale(model, X, [(0, 1)])
    assert found.provenance.evaluator == "tree_pair_ale"
    (effect,) = found.values()
    assert not effect.ale.any()
    assert effect.rows.sum() == 500


def test_pairs_with_the_same_trees_share_them(monkeypatch):
    X, y = plain_people()
    model = RandomForestRegressor(4, max_depth=3, random_state=0).fit(X, y)
    built, build = [], TreePairAle.build.__func__
    monkeypatch.setattr(
        TreePairAle, "build", classmethod(lambda *args: built.append(build(*args)) or built[-1])
    )
    ale(model, X, [("a", "b")])
    ale(model, X, [("a", "b"), ("b", "a")])
    alone, shared = built
    assert shared.pairs[0].walk.packed is shared.pairs[1].walk.packed
    assert shared.held_bytes == alone.held_bytes > 0
    assert [pair.walk.owner.max() for pair in shared.pairs] == [0, 0]


def test_ale_pipeline_and_model_that_is_no_tree_are_requested():
    X, y = plain_people()
    for model in (make_pipeline(StandardScaler(), KNeighborsRegressor()), KNeighborsRegressor()):
        model.fit(X, y)
        found = ale(model, X)
        assert found.provenance.evaluator == "brute"
        assert "tree_ale" in found.provenance.refusals
        for effect in found.values():
            want = ale(lambda t, model=model: model.predict(t), X, [effect.feature_names[0]])
            same(effect, want[effect.feature_names[0]])


@pytest.mark.parametrize("feature", [1, 0], ids=["met in the rows", "met on the axis"])
def test_ale_trees_that_refuse_rows_they_meet_make_way(feature):
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
    assert ale(model, rows, [feature]).provenance.evaluator == "tree_ale"
    found = ale(model, late, [feature])
    assert found.provenance.evaluator == "brute"
    assert "rounds across a split" in found.provenance.refusals["tree_ale"]
    same(found[f"x{feature}"], one(model, late, feature, method="brute"))
    with pytest.raises(paribus.errors.RefusalError, match="rounds across a split"):
        ale(model, late, [feature], method="exact")


@pytest.mark.parametrize("name", ["forest", "XGBoost", "LightGBM", "histograms"])
def test_ale_numbers_of_trees_may_be_taken_as_categories(name):
    model, X = library(name)
    have, want = (
        one(model, X, "n", method=m, categorical_features=["n"], custom_values={"n": [3, 0, 2, 1]})
        for m in ("exact", "brute")
    )
    same(have, want, 2e-6)
    assert have.provenance.evaluator == "tree_ale"
    assert have.kinds == ("category",)


@pytest.mark.parametrize("leaves", [1, 512], ids=["walked", "masks"])
def test_ale_features_without_any_value_and_tables_that_cannot_be_written(leaves, monkeypatch):
    monkeypatch.setattr(tree_ale, "WALKED", leaves)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9_000, 3))
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    empty = np.c_[X[:, :2], np.full(len(X), np.nan)]
    empty.flags.writeable = False
    exact, brute_force = (ale(model, empty, method=method, progress=False) for method in ("exact", "brute"))
    for key, effect in exact.items():
        same(effect, brute_force[key], 1e-9)
    assert not exact["x2"].ale.any()


def test_ale_of_single_precision_columns():
    X = np.random.default_rng(0).normal(size=(500, 2)).astype(np.float32)
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, X[:, 0] * X[:, 1])
    exact, brute_force = (ale(model, X, method=method, progress=False) for method in ("exact", "brute"))
    for key, effect in exact.items():
        same(effect, brute_force[key], 1e-6)
