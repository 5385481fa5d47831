"""Trees that are read wrongly are noticed by comparing them with the model itself."""

import dataclasses

import catboost
import lightgbm as lgb
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost as xgb
from sklearn import ensemble as forests

import paribus
from paribus._api.statistics import effects_statistic as effects_statistic
from paribus._data.read import table_of
from paribus._evaluators import planner
from paribus._kernels import compiled
from paribus._models import Model, structure
from paribus._models import ensemble as trees
from tree_examples import CAT, FULL, GAPS, MODELS, PROBED, SIGNAL, WEIGHTS, fitted, same_bits, tolerance

# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]


@pytest.mark.parametrize("name", ["hist", "lightgbm, two classes", "forest, three classes"])
def test_trees_that_do_not_answer_as_model_are_refused(name, monkeypatch):
    read = structure.read_trees
    want = paribus.partial_dependence(fitted(name), GAPS, 0, method="brute")

    def wrong(target, table, *others):
        found = read(target, table, *others)
        return dataclasses.replace(found, base=found.base + 1)

    monkeypatch.setattr(structure, "read_trees", wrong)
    effect = paribus.partial_dependence(fitted(name), GAPS, 0)
    assert effect.provenance.evaluator == "brute"
    assert "differs from its prediction by" in effect.provenance.refusals["tree_exact"]
    same_bits(effect, want)
    with pytest.raises(paribus.errors.RefusalError, match="differs from its prediction"):
        paribus.partial_dependence(fitted(name), GAPS, 0, method="exact")


def test_trees_verify_catches_leaf_that_is_wrong_away_from_probed_rows(monkeypatch):
    read, model = structure.read_trees, fitted("forest")

    def wrong(target, table, *others):
        found = read(target, table, *others)
        numbers = np.where(np.isnan(GAPS), np.nan, GAPS.astype(np.float32))
        leaves = found.leaves(numbers)
        unseen = np.setdiff1d(leaves, leaves[PROBED])
        assert len(unseen) > 20
        value = found.value.copy()
        value[unseen] += 1
        return dataclasses.replace(found, value=value)

    monkeypatch.setattr(structure, "read_trees", wrong)
    assert paribus.partial_dependence(model, GAPS, 0).provenance.evaluator == "brute"
    monkeypatch.setattr("paribus._models.structure.check_at_splits", lambda *arguments: None)
    assert paribus.partial_dependence(model, GAPS, 0).provenance.evaluator == "tree_exact"
    with pytest.raises(paribus.errors.RefusalError, match=r"brute force differs by .* use method='brute'"):
        paribus.Explainer(model, GAPS, verify=True).partial_dependence(0)


def rare(library):
    """A table in which two categories and a stretch of numbers occur in few rows, none of them probed."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=900), "y": rng.normal(size=900)})
    frame["word"] = rng.choice([*"abc"], 900)
    few = np.setdiff1d(np.arange(900), np.linspace(0, 899, 32).astype(int))[::15]  # not evenly spaced
    frame.loc[few, "word"] = rng.choice([*"de"], len(few))
    target = frame.x + 2 * (frame.word == "d") - 3 * (frame.word == "e") + frame.x * (frame.y > 0)
    if library == "catboost":
        options = {"cat_features": ["word"], "one_hot_max_size": 9, "iterations": 30, "depth": 4}
        return catboost.CatBoostRegressor(**CAT | options).fit(frame, target), frame
    frame["word"] = frame["word"].astype("category")
    models = {
        "hist": forests.HistGradientBoostingRegressor(max_iter=30, min_samples_leaf=5),
        "lightgbm": lgb.LGBMRegressor(n_estimators=30, verbose=-1, min_data_per_group=5, cat_smooth=1),
        "xgboost": xgb.XGBRegressor(n_estimators=30, enable_categorical=True, max_cat_to_onehot=1),
    }
    return models[library].fit(frame, target), frame


@pytest.mark.parametrize(
    ("library", "kind"),
    [
        ("hist", "pandas"),
        ("hist", "polars"),
        ("lightgbm", "pandas"),
        ("xgboost", "pandas"),
        ("catboost", "pandas"),
    ],
)
def test_trees_category_in_few_rows_that_is_read_wrongly_is_noticed(library, kind, monkeypatch):
    model, frame = rare(library)
    if kind == "polars":
        frame = pl.from_pandas(frame)
    assert paribus.partial_dependence(model, frame, "x").provenance.evaluator == "tree_exact"
    read = structure.read_trees

    def wrong(target, table, *others):
        found = read(target, table, *others)
        encoding = next(one for one in found.encodings if one.categories is not None)
        numbers = encoding.numbers(table_of(frame, None).cells(2, np.array(["d", "e"], object)).column)
        assert {*"abcde"} <= {*table.column(2).values}  # rows with rare categories are predicted first
        swapped = [
            trees.CategorySet(
                np.where(one.listed == numbers[0], numbers[1], np.where(one.listed == numbers[1], numbers[0], one.listed)).astype(int),
                one.listed_left,
            )
            for one in found.category_sets
        ]  # fmt: skip
        return dataclasses.replace(found, category_sets=tuple(swapped))

    monkeypatch.setattr(structure, "read_trees", wrong)
    provenance = paribus.partial_dependence(model, frame, "x").provenance
    assert provenance.evaluator == "brute"
    assert "differs from its prediction" in provenance.refusals["tree_exact"]


@pytest.mark.parametrize("library", ["hist", "lightgbm", "xgboost", "catboost", "forest"])
def test_trees_root_split_that_is_read_little_wrongly_is_noticed(library, monkeypatch):
    model = fitted(library)
    assert paribus.partial_dependence(model, FULL, 0).provenance.evaluator == "tree_exact"
    read = structure.read_trees

    def wrong(target, table, *others):
        found = read(target, table, *others)
        compared = found.roots[(found.category_set[found.roots] < 0)]
        threshold = found.threshold.copy()
        moved = np.nextafter(threshold[compared].astype(np.float32), np.float32(np.inf))
        threshold[compared] = np.where(np.abs(moved) < 1e-30, 1e-20, moved)
        return dataclasses.replace(found, threshold=threshold)

    monkeypatch.setattr(structure, "read_trees", wrong)
    provenance = paribus.partial_dependence(model, FULL, 0).provenance
    assert provenance.evaluator == "brute"
    assert "differs from its prediction" in provenance.refusals["tree_exact"]


@pytest.mark.parametrize(
    ("kernel", "name"), [("averages", "hist"), ("curves", "hist, two classes"), ("cover", "lightgbm")]
)
def test_trees_verify_catches_kernel_that_is_wrong(kernel, name, monkeypatch):
    right = getattr(compiled, kernel)
    monkeypatch.setattr(compiled, kernel, lambda *arguments: 1.1 * right(*arguments))
    assert paribus.partial_dependence(fitted(name), GAPS, 0).provenance.evaluator == "tree_exact"
    with pytest.raises(paribus.errors.RefusalError, match="verify=True"):
        paribus.Explainer(fitted(name), GAPS, verify=True).partial_dependence(0)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", ["hist", "xgboost", "lightgbm, three classes", "catboost, text"])
def test_trees_verified_difference_is_small_and_kept(name, weights, tmp_path):
    model, table = fitted(name), MODELS[name][1]
    found = paribus.Explainer(model, table, verify=True, sample_weight=weights).effects([0, 1, (0, 2)])
    difference = found.provenance.verified_difference
    largest = max(np.abs(effect.average).max() for effect in found.values())
    assert isinstance(difference, float)
    assert 0 <= difference < tolerance(name) * largest
    found.save(tmp_path / "found.json")
    assert paribus.load(tmp_path / "found.json").provenance.verified_difference == difference
    effect = paribus.partial_dependence(model, table, 0, sample_weight=weights)
    assert effect.provenance.verified_difference is None
    effect.save(tmp_path / "one.json")
    assert paribus.load(tmp_path / "one.json").provenance.verified_difference is None


def test_trees_wrong_reading_is_not_hidden_by_large_baseline(monkeypatch):
    model = forests.GradientBoostingRegressor(n_estimators=5).fit(FULL, SIGNAL + 1e6)
    read = structure.read_trees

    def wrong(target, table, *others):
        found = read(target, table, *others)
        return dataclasses.replace(found, value=-100 * found.value)

    monkeypatch.setattr(structure, "read_trees", wrong)
    refusal = paribus.partial_dependence(model, FULL, 0).provenance.refusals["tree_exact"]
    assert "differs from its prediction" in refusal


def test_trees_verify_reports_answer_that_is_no_number(monkeypatch):
    model = fitted("forest")
    answers = Model.predict
    monkeypatch.setattr("paribus._models.structure.check_at_splits", lambda *arguments: None)
    monkeypatch.setattr(Model, "predict", lambda self, table, rows: answers(self, table, rows) * np.nan)
    with pytest.raises(paribus.errors.RefusalError, match="differs by inf"):
        paribus.Explainer(model, GAPS, verify=True).partial_dependence(0)


def test_trees_verify_asks_about_every_effect(monkeypatch):
    asked = []
    kept = planner._brute_averages
    monkeypatch.setattr(
        planner, "_brute_averages", lambda m, r, q, picked: asked.extend(picked) or kept(m, r, q, picked)
    )
    paribus.Explainer(fitted("hist"), GAPS, verify=True).effects([0, 1, (0, 2), 3, 4], grid_resolution=4)
    assert {number for number, _ in asked} >= set(range(5))
    assert len(asked) >= 8
