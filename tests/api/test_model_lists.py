"""A list of models: the mean of their effects, and how much they differ."""

import json
import re
from collections import Counter
from functools import cache

import catboost
import lightgbm
import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xgboost
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression

import paribus
from paribus._api import data as api_data
from paribus._display.figure import Band, Line, Points
from paribus._evaluators.occupancy import Occupancy
from paribus._evaluators.support import SupportCounter
from paribus._evaluators.trees.tree_exact import TreeExact
from paribus.errors import CheckpointError, FormatError, ModelError, OptionError, RefusalError
from paribus.results.partial_dependence import central_points
from selection import nightly
from statistic_of import statistic_of

mpl.use("Agg")
ROWS = 700
MODELS = 4


@pytest.fixture(autouse=True)
def closed():
    """Close the pictures a test has drawn."""
    yield
    plt.close("all")


@cache
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"temp": rng.normal(15, 6, ROWS), "wind": rng.normal(size=ROWS)})
    X["gap"] = np.where(rng.random(ROWS) < 0.15, np.nan, rng.gamma(2.0, size=ROWS))
    X["city"] = pd.Categorical(rng.choice(["Basel", "Bern", "Genf"], ROWS))
    return X


@cache
def target():
    X, rng = table(), np.random.default_rng(4)
    city = X["city"].cat.codes.to_numpy()
    return np.sin(X["temp"] / 4) * (1 + X["wind"]) + X["gap"].fillna(2) + city + rng.normal(size=ROWS)


def weights():
    rng = np.random.default_rng(5)
    return np.where(rng.random(ROWS) < 0.2, 0.0, rng.gamma(1.0, size=ROWS))


@cache
def refits(kind="regressor", columns=("temp", "wind", "gap", "city")):
    """Bootstrap fits."""
    rng, X, models = np.random.default_rng(6), table()[list(columns)], []
    y = target() if kind == "regressor" else np.digitize(target(), [1.5, 3.5] if kind == "classes" else [2.5])
    for seed in range(MODELS):
        rows = rng.integers(0, ROWS, ROWS)
        maker = HistGradientBoostingRegressor if kind == "regressor" else HistGradientBoostingClassifier
        model = maker(max_iter=15, random_state=seed, categorical_features="from_dtype")
        models.append(model.fit(X.iloc[rows], np.asarray(y)[rows]))
    return models


def averaging(models, method="predict"):
    """Return the one model that answers the mean of all answers."""
    return lambda X: np.mean([getattr(model, method)(X) for model in models], axis=0)


def functions():
    return [lambda X, k=k: (1 + k) * np.asarray(X["temp"]) + np.asarray(X["wind"]) ** k for k in (1, 2, 3)]


def one_by_one(verb, models, X, features, **options):
    return [statistic_of(verb, model, X, features, progress=False, **options) for model in models]


@pytest.mark.parametrize("method", ["auto", "brute"])
@pytest.mark.parametrize("features", ["temp", "gap", "city", ["temp", "wind"]])
@pytest.mark.parametrize("weighted", [*nightly(False), True])
def test_each_model_answers_as_if_it_were_the_only_one(method, features, weighted):
    models, X = refits(), table()
    options = {
        "method": method,
        "sample_weight": weights() if weighted else None,
        "grid_resolution": 7,
        "progress": False,
    }
    effect = statistic_of("partial_dependence", models, X, features, **options)
    alone = [statistic_of("partial_dependence", model, X, features, **options) for model in models]
    assert isinstance(effect, paribus.results.PartialDependence)
    assert effect.by_model.models == ("HistGradientBoostingRegressor",) * MODELS
    for values, one in zip(effect.by_model.values, alone, strict=True):
        assert_array_equal(values, one.average)
        assert_array_equal(effect.support, one.support)
        assert one.by_model is None
        assert "by_model" not in one
    assert "by_model" in effect
    assert effect["by_model"] is effect.by_model
    assert_allclose(effect.average, effect.by_model.values.mean(axis=0), rtol=1e-15)
    assert_allclose(
        effect.by_model.standard_deviation, effect.by_model.values.std(axis=0, ddof=1), rtol=1e-12
    )
    assert_allclose(effect.standard_error, np.mean([one.standard_error for one in alone], axis=0), rtol=1e-14)
    if features in ("gap", "city"):
        assert (effect.missing is not None) == (features == "gap")
    if effect.missing is not None:
        assert_array_equal(effect.by_model.missing, [one.missing.average for one in alone])
        assert_allclose(effect.missing.average, effect.by_model.missing.mean(axis=0), rtol=1e-15)
        assert_allclose(
            effect.by_model.missing_deviation, effect.by_model.missing.std(axis=0, ddof=1), rtol=1e-12
        )
    else:
        assert effect.by_model.missing is None
    first = alone[0].extrapolation
    assert (effect.extrapolation is None) == (first is None)
    if first is not None:
        assert effect.extrapolation.share == first.share
        assert_array_equal(effect.extrapolation.by_point, first.by_point)


@pytest.mark.parametrize("weighted", [*nightly(False), True])
@pytest.mark.parametrize("features", ["temp", "gap", ["temp", "wind"]])
def test_the_mean_is_the_effect_of_the_averaging_model_whose_error_is_no_larger(features, weighted):
    models, X = refits(), table()
    options = {"sample_weight": weights() if weighted else None, "grid_resolution": 9, "progress": False}
    effect = statistic_of("partial_dependence", models, X, features, **options)
    one = statistic_of("partial_dependence", averaging(models), X, features, **options)
    assert_allclose(effect.average, one.average, rtol=1e-12)
    assert (effect.standard_error >= one.standard_error * (1 - 1e-9)).all()
    assert (effect.standard_error > 1.001 * one.standard_error).any()
    alone = [statistic_of("partial_dependence", model, X, features, **options).strength for model in models]
    assert effect.strength == pytest.approx(np.sqrt(np.mean(np.square(alone))))
    assert_allclose(effect.by_model.strengths[:, 0], alone)
    if isinstance(features, str):
        own = {"sample_weight": options["sample_weight"], "progress": False}
        importance = paribus.feature_importance(models, X, [features], **own)
        assert effect.strength == pytest.approx(importance.values[0], rel=1e-10)
    if effect.missing is not None:
        assert_allclose(effect.missing.average, one.missing.average, rtol=1e-12)
        assert (effect.missing.standard_error >= one.missing.standard_error * (1 - 1e-9)).all()


@pytest.mark.nightly
@pytest.mark.parametrize(("method", "levels"), [("auto", ()), ("brute", ("city",))])
@pytest.mark.parametrize("weighted", [False, True])
def test_local_effects_of_a_list_are_the_mean_of_those_of_each(method, levels, weighted):
    columns = ("temp", "wind", "gap", *levels)
    models, X = refits("regressor", columns), table()[list(columns)]
    features = ["temp", "gap", *levels, ("temp", "wind")]
    options = {
        "method": method,
        "sample_weight": weights() if weighted else None,
        "grid_resolution": 6,
        "progress": False,
    }
    found = statistic_of("accumulated_local_effects", models, X, features, **options)
    alone = [statistic_of("accumulated_local_effects", model, X, features, **options) for model in models]
    mean = paribus.accumulated_local_effects(averaging(models), X, features, **options | {"method": "brute"})
    for key, effect in found.items():
        each = [one[key] for one in alone]
        assert_array_equal(effect.by_model.values, [one.ale for one in each])
        assert_allclose(
            effect.by_model.standard_deviation, effect.by_model.values.std(axis=0, ddof=1), rtol=1e-9
        )
        assert_allclose(effect.ale, mean[key].ale, atol=1e-12)
        assert_allclose(effect.local, mean[key].local, atol=1e-12)
        assert_array_equal(effect.empty, mean[key].empty)
        assert_allclose(effect.standard_error, np.mean([one.standard_error for one in each], axis=0))
        assert_allclose(effect.local_error, np.mean([one.local_error for one in each], axis=0))
        assert (effect.standard_error >= mean[key].standard_error - 1e-12).all()
        assert effect.strength == pytest.approx(mean[key].strength, rel=1e-9)
        assert "by_model" in effect
        assert "by_model" not in each[0]
    gap = found["gap"]
    assert_array_equal(gap.by_model.missing, [one["gap"].missing.ale for one in alone])
    assert_allclose(gap.missing.ale, mean["gap"].missing.ale, atol=1e-12)
    assert (gap.missing.standard_error >= mean["gap"].missing.standard_error - 1e-12).all()
    assert found["temp"].by_model.missing is None


def test_the_same_model_thrice_does_not_differ():
    """Not even by the rounding of a mean of three."""
    model, X = refits()[0], table()
    for features in ("gap", "city", ["temp", "wind"]):
        effect = paribus.partial_dependence([model] * 3, X, features, grid_resolution=20, progress=False)
        one = paribus.partial_dependence(model, X, features, grid_resolution=20, progress=False)
        assert not effect.by_model.standard_deviation.any()
        assert_array_equal(effect.average, one.average)
        assert_array_equal(effect.standard_error, one.standard_error)
        assert effect.strength == one.strength
        assert effect.notes == one.notes
    local = paribus.accumulated_local_effects([model] * 3, X, ["gap"], progress=False)["gap"]
    assert not local.by_model.standard_deviation.any()
    assert not local.by_model.missing_deviation.any()


def test_a_list_of_one_model_has_no_standard_deviation():
    model, X = refits()[0], table()
    effect = paribus.partial_dependence((model,), X, "gap", progress=False)
    one = paribus.partial_dependence(model, X, "gap", progress=False)
    assert_array_equal(effect.average, one.average)
    assert effect.by_model.values.shape == (1, *one.average.shape)
    assert np.isnan(effect.by_model.standard_deviation).all()
    assert np.isnan(effect.by_model.missing_deviation).all()
    assert effect.notes == one.notes
    assert effect.provenance.model == one.provenance.model
    assert "between 1 model" not in repr(effect)
    (panel,) = effect.figure().panels
    assert said(panel) == explained(effect.plot().figure) == ["average ± 2 standard errors"]
    assert panel.marks == one.figure().panels[0].marks


@pytest.mark.nightly
def test_several_outputs_and_a_positive_class():
    X = table()
    effect = paribus.partial_dependence(refits("classes"), X, "gap", progress=False)
    one = paribus.partial_dependence(averaging(refits("classes"), "predict_proba"), X, "gap", progress=False)
    assert effect.output_names == ("0", "1", "2")
    assert effect.by_model.values.shape[:2] == (MODELS, 3)
    assert effect.by_model.missing.shape == (MODELS, 3)
    assert_allclose(effect.average, one.average, atol=1e-12)
    assert_allclose(effect.average.sum(axis=0), 1.0)
    assert effect.provenance.scale == "probability"
    assert re.search(r"of the range\) on [012] at gap", effect.notes[-1])
    binary = paribus.partial_dependence(refits("class"), X, "gap", progress=False)
    assert binary.output_names == ("1",)
    margin = paribus.partial_dependence(
        refits("class"), X, "gap", response_method="decision_function", progress=False
    )
    assert margin.provenance.response == "decision_function"
    assert not np.allclose(margin.average, binary.average)


@cache
def libraries():
    X, y = table()[["temp", "wind", "gap"]], target()
    models = [
        RandomForestRegressor(8, min_samples_leaf=5, random_state=0),
        lightgbm.LGBMRegressor(n_estimators=9, verbose=-1, n_jobs=1),
        xgboost.XGBRegressor(n_estimators=7, max_depth=4, n_jobs=1),
        catboost.CatBoostRegressor(iterations=9, depth=4, verbose=False, thread_count=1),
    ]
    return [model.fit(X, y) for model in models]


def test_models_of_any_library_and_functions_each_by_its_own_evaluator():
    X = table()[["temp", "wind", "gap"]]
    models = [*libraries(), libraries()[1], lambda X: np.asarray(X["temp"]) / 9]
    effect = paribus.partial_dependence(models, X, "temp", progress=False)
    alone = one_by_one("partial_dependence", models, X, "temp")
    assert_array_equal(effect.by_model.values, [one.average for one in alone])
    p = effect.provenance
    assert effect.by_model.models[:2] == ("RandomForestRegressor", "LGBMRegressor")
    assert p.model == (
        "RandomForestRegressor and 2 x LGBMRegressor and XGBRegressor and CatBoostRegressor and <lambda>"
    )
    assert p.model_library.startswith("sklearn and lightgbm and xgboost and catboost and ")
    assert p.model_version.count(" and ") == p.model_library.count(" and ")
    assert (p.evaluator, p.response, p.scale) == (
        "tree_exact and brute",
        "predict and callable",
        "prediction",
    )
    assert p.refusals["tree_exact"].endswith("(model 6)")
    assert p.predictions == sum(one.provenance.predictions for one in alone) > 0
    assert p.passes == 1
    assert p.standard_error_rows == min(one.provenance.standard_error_rows for one in alone)


def test_the_record_of_models_of_a_kind():
    models, X = refits(), table()
    effect = paribus.Explainer(models, X, progress=False, verify=True).partial_dependence("temp")
    alone = one_by_one("partial_dependence", models, X, "temp", verify=True)
    p = effect.provenance
    assert (p.model, p.evaluator) == (f"{MODELS} x HistGradientBoostingRegressor", "tree_exact")
    assert p.fingerprint == alone[0].provenance.fingerprint
    assert p.refusals == alone[0].provenance.refusals
    assert p.verified_difference == max(one.provenance.verified_difference for one in alone)
    again = paribus.partial_dependence(list(models), X, "temp", progress=False).provenance
    other = paribus.partial_dependence(models[::-1], X, "temp", progress=False).provenance
    assert p.model_digest == again.model_digest != other.model_digest
    assert p.model_digest not in {one.provenance.model_digest for one in alone}


def test_print_says_how_far_models_differ():
    X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    models = [lambda X: X[:, 0] + X[:, 1], lambda X: 3 * X[:, 0] + X[:, 1]]
    effect = paribus.partial_dependence(models, X, 0)
    assert "\n  between 2 models: standard deviation at most 2.828\n" in repr(effect)
    local = paribus.accumulated_local_effects(models, X, 0)["x0"]
    assert "between 2 models" in repr(local)


def test_answers_that_are_not_finite_are_not_averaged_away():
    X = np.arange(6.0).reshape(3, 2)
    models = [lambda X: np.where(X[:, 0] > 2, np.inf, X[:, 0]), lambda X: X[:, 0]]
    for order in (models, models[::-1]):
        effect = paribus.partial_dependence(order, X, 0)
        assert_array_equal(effect.average, [[0.0, 2.0, np.inf]])
        assert_array_equal(effect.by_model.standard_deviation, [[0.0, 0.0, np.nan]])
        assert any("not finite" in note for note in effect.notes)


def test_splits_are_those_of_all_models():
    models, X = refits(), table()
    effect = paribus.partial_dependence(models, X, "temp", grid_resolution="splits", progress=False)
    alone = one_by_one("partial_dependence", models, X, "temp", grid_resolution="splits")
    union = np.unique(np.concatenate([one.grid_values[0] for one in alone]))
    assert_array_equal(effect.grid_values[0], union)
    assert len(union) > max(len(one.grid_values[0]) for one in alone)
    for values, one in zip(effect.by_model.values, alone, strict=True):
        assert_array_equal(values[:, np.isin(union, one.grid_values[0])], one.average)
    mixed = [models[0], lambda X: np.asarray(X["temp"])]
    with pytest.raises(RefusalError, match="splits' needs the trees of <lambda>"):
        paribus.partial_dependence(mixed, X, "temp", grid_resolution="splits")


def test_recursion_of_several_forests_is_that_of_each():
    rng = np.random.default_rng(7)
    X = pd.DataFrame({"temp": rng.normal(size=ROWS)}).assign(wind=lambda X: X["temp"] + 0.1)
    forests = [
        RandomForestRegressor(5, min_samples_leaf=5, random_state=k).fit(X, X["temp"] + X["wind"])
        for k in (0, 1)
    ]
    asked = {"method": "recursion", "progress": False}
    effect = paribus.partial_dependence(forests, X, "temp", **asked)
    alone = one_by_one("partial_dependence", forests, X, "temp", method="recursion")
    assert_array_equal(effect.by_model.values, [one.average for one in alone])
    assert effect.extrapolation is None
    assert effect.provenance.estimand == "path-dependent"


def test_rows_are_looked_at_and_counted_once(monkeypatch):
    """However many models are requested them."""
    seen = {"summaries": 0, "supports": 0, "cells": 0}

    def counted(name, function):
        def wrapper(*args, **kwargs):
            seen[name] += 1
            return function(*args, **kwargs)

        return wrapper

    monkeypatch.setattr(api_data, "summarize", counted("summaries", api_data.summarize))
    monkeypatch.setattr(SupportCounter, "evaluate", counted("supports", SupportCounter.evaluate))
    monkeypatch.setattr(Occupancy, "evaluate", counted("cells", Occupancy.evaluate))
    paribus.effects(refits()[0], table(), progress=False, n_jobs=1)
    once = dict(seen)
    paribus.effects(refits(), table(), progress=False, n_jobs=1)
    assert seen == {name: 2 * times for name, times in once.items()}
    assert all(once.values())


@pytest.fixture
def files(tmp_path):
    X = table().assign(weight=weights())
    folder = tmp_path / "rows"
    folder.mkdir()
    for place, first in enumerate(range(0, ROWS, 150)):
        X.iloc[first : first + 150].to_parquet(folder / f"{place}.parquet", index=False)
    return folder


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_are_read_give_the_numbers_of_rows_in_memory(files, weighted):
    models = refits()
    held = paribus.effects(
        models, table(), progress=False, sample_weight=weights() if weighted else None, grid_resolution=8
    )
    read = paribus.effects(
        models, files, progress=False, sample_weight="weight" if weighted else None, grid_resolution=8
    )
    assert set(read) == set(held)
    for key, effect in read.items():
        assert_array_equal(effect.by_model.values, held[key].by_model.values)
        assert_array_equal(effect.average, held[key].average)
        assert_array_equal(effect.support, held[key].support)
        assert effect.provenance.passes == 2  # one that looks, then one that all models share
    local = paribus.accumulated_local_effects(models, files, ["temp"], progress=False)["temp"]
    whole = paribus.accumulated_local_effects(models, table(), ["temp"], progress=False)["temp"]
    assert_allclose(local.by_model.values, whole.by_model.values, atol=1e-12)


def test_models_that_read_rows_share_their_columns(files):
    X, y = table(), target()
    named = LinearRegression().fit(X[["temp", "wind"]], y)
    forest = HistGradientBoostingRegressor(max_iter=5).fit(X[["temp", "wind"]], y)
    effect = paribus.partial_dependence([named, forest], files, "temp", progress=False)
    assert effect.provenance.columns == 2

    def function(X):
        return np.asarray(X["temp"])

    with pytest.raises(ModelError, match="and function does not store its columns; pass one model at a time"):
        paribus.partial_dependence([function, named, forest], files, "temp", progress=False)
    other = LinearRegression().fit(X[["temp"]], y)
    with pytest.raises(
        ModelError, match="fitted on different columns, some of them without 'wind'; pass one"
    ):
        paribus.partial_dependence([named, other], files, "temp")
    turned = LinearRegression().fit(X[["wind", "temp"]], y)
    with pytest.raises(ModelError, match="fitted on the same columns in another order; pass one"):
        paribus.partial_dependence([named, turned], files, "temp")


def test_a_checkpoint_keeps_what_each_model_has_finished(files, tmp_path, monkeypatch):
    """Models share a pass over the rows; one that was begun goes on from there by itself."""
    models, folder = refits(), tmp_path / "kept"
    options = {"progress": False, "checkpoint": folder, "grid_resolution": 6, "n_jobs": 1}
    whole = paribus.partial_dependence(models, files, "gap", grid_resolution=6, progress=False)
    evaluated, evaluate = Counter(), TreeExact.evaluate

    def counting(self, block):
        place = next(k for k, model in enumerate(models) if model is self.model.predictor.target)
        evaluated[place] += 1
        return evaluate(self, block)

    def failing(self, block):
        if self.model.predictor.target is models[2] and block.start:
            raise KeyboardInterrupt
        return counting(self, block)

    monkeypatch.setattr(TreeExact, "evaluate", counting)
    paribus.partial_dependence(models, files, "gap", grid_resolution=6, progress=False)
    every = dict(evaluated)
    assert len(every) == MODELS
    monkeypatch.setattr(TreeExact, "evaluate", failing)
    with pytest.raises(KeyboardInterrupt):
        statistic_of("partial_dependence", models, files, "gap", **options)
    passes = [f"01-partial_dependence-{place + 1}-of-4" for place in range(MODELS)]
    names = [path.name.rpartition("-")[0] for path in sorted(folder.iterdir())]
    assert names == ["00-survey", *passes, ""]  # the last one is run.json
    kept = [len(list(folder.glob(f"{name}-*/*.npz"))) for name in passes]
    assert kept[0] == kept[1] == 1
    evaluated.clear()
    monkeypatch.setattr(TreeExact, "evaluate", counting)
    effect = statistic_of("partial_dependence", models, files, "gap", **options)
    assert dict(evaluated) == {place: blocks - kept[place] for place, blocks in every.items()}
    assert_array_equal(effect.by_model.values, whole.by_model.values)
    assert_array_equal(effect.support, whole.support)
    with pytest.raises(CheckpointError, match=r"belongs to another run \(other model\); use another folder"):
        statistic_of("partial_dependence", models[::-1], files, "gap", **options)


def test_a_checkpoint_of_local_effects(files, tmp_path):
    models, options = refits(), {"progress": False, "grid_resolution": 6}
    folder = tmp_path / "kept"
    features = ["temp", ("temp", "wind")]
    first, again = (
        statistic_of("accumulated_local_effects", models[:2], files, features, checkpoint=folder, **options)
        for _ in range(2)
    )
    names = [path.name for path in folder.iterdir()]
    for place in (1, 2):  # trees and the model itself
        assert sum(f"accumulated_local_effects-{place}-of-2" in name for name in names) == 2
    for key, effect in first.items():
        assert_array_equal(effect.by_model.values, again[key].by_model.values)


@pytest.mark.cluster
def test_effects_of_a_list_on_a_cluster_are_the_same_bits(client):
    effect = paribus.Explainer(refits(), table(), executor=client, progress=False).partial_dependence("gap")
    here = paribus.partial_dependence(refits(), table(), "gap", progress=False)
    assert_array_equal(effect.by_model.values, here.by_model.values)
    assert effect.provenance.executor.startswith("Dask")


@pytest.mark.nightly
@pytest.mark.parametrize("n_jobs", [*nightly(1), 3])
def test_threads_do_not_change_a_bit(n_jobs):
    one = paribus.effects(refits(), table(), progress=False, n_jobs=2, method="brute", grid_resolution=5)
    other = paribus.effects(
        refits(), table(), progress=False, n_jobs=n_jobs, method="brute", grid_resolution=5
    )
    for key, effect in one.items():
        assert_array_equal(effect.by_model.values, other[key].by_model.values)
        assert_array_equal(effect.standard_error, other[key].standard_error)


@pytest.mark.parametrize("verb", [paribus.partial_dependence, paribus.accumulated_local_effects])
@pytest.mark.parametrize("nothing", [[], ()])
def test_an_empty_list_is_no_model(verb, nothing):
    with pytest.raises(ModelError, match="a list without a model"):
        verb(nothing, table(), "temp")


def test_models_that_do_not_answer_alike_are_refused():
    X, y = table(), np.digitize(target(), [1.5, 3.5])
    pair = HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype").fit(X, y > 1)
    three = refits("classes")[0]
    with pytest.raises(ModelError, match=r"estimator\[1\] \(HistG.*has a prediction \(by predict\).*a proba"):
        paribus.partial_dependence([three, refits()[0]], X, "temp")
    with pytest.raises(ModelError, match=r"estimator\[2\] .* has 1 output, and estimator\[0\] .* 3 outputs"):
        paribus.partial_dependence([three, three, pair], X, "temp")
    other = refits("class")[0]
    with pytest.raises(
        ModelError, match=r"outputs named 1, .* outputs named True; name them with target_names"
    ):
        paribus.partial_dependence([pair, other], X, "temp")
    named = paribus.Explainer([pair, other], X, target_names=["rain"], progress=False).partial_dependence(
        "temp"
    )
    assert named.output_names == ("rain",)
    with pytest.raises(ModelError, match=r"estimator\[1\]: 7 is neither callable nor has predict"):
        paribus.partial_dependence([three, 7], X, "temp")
    with pytest.raises(OptionError, match=r"estimator\[1\]: response_method='predict_proba'"):
        paribus.partial_dependence([three, refits()[0]], X, "temp", response_method="predict_proba")


@pytest.mark.parametrize("asked", [{"kind": "both"}, {"kind": "individual"}, {"quantiles": True}])
@pytest.mark.parametrize("verb", [paribus.partial_dependence, paribus.effects])
def test_curves_of_rows_are_of_one_model(verb, asked):
    name = next(iter(asked))
    with pytest.raises(OptionError, match=f"{name}=.* needs a single model.*list of 4; pass one model"):
        verb(refits(), table(), ["temp"], **asked)


@pytest.mark.parametrize("weighted", [False, True])
def test_averages_near_values_are_the_mean_of_the_models_own(weighted):
    models, X, y = refits(), table(), target()
    options = {"y": y, "progress": False, "sample_weight": weights() if weighted else None}
    found = statistic_of("marginal", models, X, ["gap", "city"], **options)
    alone = [statistic_of("marginal", model, X, ["gap", "city"], **options) for model in models]
    for key, mean in found.items():
        each = [one[key] for one in alone]
        assert mean.by_model.models == ("HistGradientBoostingRegressor",) * MODELS
        assert_array_equal(mean.by_model.values, [one.predicted for one in each])
        assert_allclose(mean.predicted, np.mean([one.predicted for one in each], axis=0), rtol=1e-14)
        assert_allclose(mean.residual, np.mean([one.residual for one in each], axis=0), rtol=1e-9, atol=1e-12)
        assert_array_equal(mean.observed, each[0].observed)
        assert_array_equal(mean.rows, each[0].rows)
        assert each[0].by_model is None
    gap = found["gap"]
    assert_array_equal(gap.by_model.missing, [one["gap"].missing.predicted for one in alone])
    assert gap.provenance.model == "4 x HistGradientBoostingRegressor"
    assert gap.provenance.passes == 1


def test_interactions_are_the_mean_of_the_models_own():
    models, X = refits(), table()
    found = paribus.h_statistic(models, X, progress=False)
    alone = [paribus.h_statistic(model, X, progress=False) for model in models]
    assert_array_equal(found.strength_by_model, [one.pairwise.strength for one in alone])
    for name in ("main_effect", "pairwise", "overall", "total"):
        mean, each = getattr(found, name), [getattr(one, name) for one in alone]
        for part in ("numerator", "denominator", "share"):
            assert_allclose(getattr(mean, part), np.mean([getattr(one, part) for one in each], axis=0))
    assert_allclose(found.variance, np.mean([one.variance for one in alone], axis=0))
    assert found["h_squared_pairwise"].shape == (6,)
    assert alone[0].strength_by_model is None
    assert found.provenance.passes == alone[0].provenance.passes
    with pytest.raises(OptionError, match=r"threeway=3 needs a single model.* estimator is a list of 4"):
        paribus.h_statistic(models, X, threeway=3)


def test_importance_is_the_mean_of_the_models_own():
    models, X, y = refits(), table(), target()
    found = paribus.feature_importance(models, X, progress=False)
    alone = [paribus.feature_importance(model, X, progress=False) for model in models]
    by_model = np.reshape(found.by_model, (MODELS, -1))
    assert_array_equal(by_model, [one.values for one in alone])
    assert_allclose(found.values, np.sqrt(np.mean(by_model**2, axis=0)))
    options = {"kind": "permutation", "y": y, "n_repeats": 2, "progress": False}
    found = statistic_of("feature_importance", models, X, **options)
    alone = [statistic_of("feature_importance", model, X, **options) for model in models]
    assert_array_equal(found.by_model, [one.values for one in alone])
    assert_allclose(found.values, found.by_model.mean(axis=0))
    assert_allclose(found.repeats, np.mean([one.repeats for one in alone], axis=0))
    assert alone[0].by_model is None


def test_importance_a_model_recorded_is_of_one_model():
    with pytest.raises(ModelError, match="kind='model' is about one model, and estimator is a list of 4"):
        paribus.feature_importance(refits(), table(), kind="model")


def test_results_of_several_models_of_every_statistic_are_saved(tmp_path):
    models, X, y = refits(), table(), target()
    results = [
        paribus.marginal(models, X, y=y, progress=False),
        paribus.h_statistic(models, X, progress=False),
        paribus.feature_importance(models, X, progress=False),
        paribus.feature_importance(models, X, kind="permutation", y=y, n_repeats=2, progress=False),
    ]
    for place, result in enumerate(results):
        result.save(tmp_path / f"{place}.json")
        assert paribus.load(tmp_path / f"{place}.json") == result


def test_a_model_that_is_a_list_is_one_model():
    class Committee(list):
        def predict(self, X):
            return np.mean([member(X) for member in self], axis=0)

    effect = paribus.partial_dependence(Committee(functions()), table(), "temp", progress=False)
    assert effect.by_model is None
    assert effect.provenance.model == "Committee"


def test_results_are_saved_and_loaded_bit_for_bit(tmp_path):
    X = table()
    results = [
        paribus.partial_dependence(refits(), X, "gap", progress=False),
        paribus.partial_dependence(refits()[:1], X, ["temp", "wind"], grid_resolution=4, progress=False),
        paribus.effects(refits("classes"), X, grid_resolution=5, progress=False),
        paribus.accumulated_local_effects(refits(), X, ["gap", ("temp", "wind")], progress=False),
    ]
    for place, result in enumerate(results):
        path = tmp_path / f"{place}.json"
        result.save(path)
        assert paribus.load(path) == result
    loaded = paribus.load(tmp_path / "0.json")
    assert loaded.by_model.models == results[0].by_model.models
    assert not loaded.by_model.values.flags.writeable


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("part", ["models", "values", "standard_deviation", "missing", "no missing", "more"])
def test_refits_that_do_not_fit_are_refused(tmp_path, part, local):
    from paribus.results.storage import _digest

    X, path = table(), tmp_path / "effect.json"
    verb = paribus.accumulated_local_effects if local else paribus.effects
    next(iter(verb(refits(), X, ["gap"], progress=False).values())).save(path)
    document = json.loads(path.read_text())
    body = document["result"]["by_model"]
    if part == "models":
        body["models"].append("another")
    elif part == "no missing":
        body["missing"] = None
    elif part == "more":
        body["more"] = 1
    else:
        body[part] = {"dtype": "<f8", "shape": [3], "values": [1.0, 2.0, 3.0]}
    document["digest"] = _digest(document["result"])
    path.write_text(json.dumps(document))
    with pytest.raises(FormatError, match=r"[rR]efits"):
        paribus.load(path)


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_tables_have_a_column_of_how_much_models_differ(backend):
    X = table().rename(columns={"gap": "between_models"})
    models = [
        lambda X, k=k: k * np.nan_to_num(np.asarray(X["between_models"])) + np.asarray(X["temp"])
        for k in (1, 2)
    ]
    effect = paribus.partial_dependence(models, X, "between_models", grid_resolution=5, progress=False)
    frame = effect.to_frame(backend=backend)
    columns = frame.column_names if backend == "pyarrow" else list(frame.columns)
    assert columns == [
        "output",
        "between_models (feature)",
        "average",
        "standard_error",
        "support",
        "between_models",
    ]
    told = np.asarray(frame["between_models"])
    assert_array_equal(told, [*effect.by_model.standard_deviation[0], *effect.by_model.missing_deviation])
    many = paribus.effects(models, X, ["temp", ("temp", "wind")], grid_resolution=5, progress=False)
    frame = many.to_frame(backend="pandas")
    first = frame[frame["feature_2"].isna()]
    assert_array_equal(first["between_models"], many["temp"].by_model.standard_deviation[0])
    assert len(frame) == 5 + 25
    locals_ = paribus.accumulated_local_effects(models, X, ["between_models"], progress=False)
    own, long = locals_["between_models"].to_frame(), locals_.to_frame()
    assert_array_equal(own["between_models"], long["between_models"])
    assert own["between_models"].iloc[-1] == locals_["between_models"].by_model.missing_deviation[0]
    alone = paribus.effects(models[0], X, ["temp"], progress=False)
    assert "between_models" not in alone.to_frame()


def test_relative_effects_center_each_model():
    effect = paribus.partial_dependence(refits(), table(), "gap", grid_resolution=8, progress=False)
    at = effect.grid_values[0][3]
    centered = effect.centered(at=at)
    expected = effect.by_model.values - effect.by_model.values[..., 3:4]
    assert_array_equal(centered.by_model.values, expected)
    assert_allclose(centered.by_model.standard_deviation, expected.std(axis=0, ddof=1), atol=1e-15)
    assert not centered.by_model.standard_deviation[:, 3].any()
    assert_array_equal(centered.by_model.missing, effect.by_model.missing - effect.by_model.values[..., 3])
    assert_allclose(centered.average, centered.by_model.values.mean(axis=0), atol=1e-14)
    assert centered.standard_error is None
    assert any("needs a single model and kind='both'" in note for note in centered.notes)
    assert centered.centered(at=at).notes == centered.notes
    surface = paribus.partial_dependence(
        refits(), table(), ["temp", "wind"], grid_resolution=4, progress=False
    )
    assert surface.centered().by_model.values[:, :, 0, 0].tolist() == [[0.0]] * MODELS


def test_slopes_are_of_each_model():
    models = [lambda X, k=k: k * np.asarray(X["temp"]) for k in (1, 3)]
    effect = paribus.partial_dependence(models, table(), "temp", grid_resolution=9, progress=False)
    slope = effect.derivative()
    assert_allclose(slope.by_model.values[:, 0], np.repeat([[1.0], [3.0]], 9, axis=1))
    assert_allclose(slope.by_model.standard_deviation, np.sqrt(2))
    assert_allclose(slope.average, 2.0)
    assert slope.by_model.missing is None
    gap = paribus.partial_dependence(refits(), table(), "gap", grid_resolution=9, progress=False).derivative()
    assert gap.missing is None
    assert gap.by_model.missing is None


def said(panel):
    return [mark.label for mark in panel.marks if getattr(mark, "label", None)]


def explained(page):
    """Return what the only legend of a page says."""
    (legend,) = [ax.get_legend() for ax in page.axes if ax.get_legend() is not None]
    return [text.get_text() for text in legend.get_texts()]


def of_models(panel):
    """Return the heights of each model's own line, thin beside the mean."""
    return [mark.y for mark in panel.marks if isinstance(mark, Line) and mark.width == 0.7]


def dots(panel):
    """Return each model's own points."""
    return [mark for mark in panel.marks if isinstance(mark, Points) and mark.marker == "dot"]


def test_pictures_draw_each_model_and_say_what_the_band_is():
    options = {"percentiles": (0.05, 0.95), "progress": False}
    effect = paribus.partial_dependence(refits(), table(), "gap", **options)
    (panel,) = effect.figure().panels
    words = [f"each of {MODELS} models", "rows and refits as folds, 95 %", "average ± 2 standard errors"]
    assert said(panel) == explained(effect.plot().figure) == words
    assert_array_equal(of_models(panel), effect.by_model.values[:, 0])
    wide, rows = [mark for mark in panel.marks if isinstance(mark, Band)]
    low, high = effect.refit_interval()
    assert_allclose((wide.low, wide.high), (low[0], high[0]))
    assert_allclose(rows.high, effect.average[0] + 2 * effect.standard_error[0])
    assert_array_equal([mark.y[0] for mark in dots(panel.right[-1])], effect.by_model.missing[:, 0])
    mean = panel.right[-1].marks[-1]
    assert mean.y[0] == effect.missing.average[0]
    assert mean.error[0] == pytest.approx(2 * effect.missing.standard_error[0])


def test_pictures_of_levels_local_effects_and_several_outputs():
    X = table()
    city = paribus.partial_dependence(refits(), X, "city", progress=False)
    (panel,) = city.figure().panels
    order = np.argsort(city.average[0])
    assert_array_equal([mark.y for mark in dots(panel)], city.by_model.values[:, 0][:, order])
    assert said(panel)[-2:] == ["rows and refits as folds, 95 %", "average ± 2 standard errors"]
    local = paribus.accumulated_local_effects(refits(), X, ["gap"], progress=False)["gap"]
    (panel,) = local.figure().panels
    words = ["each of 4 models", "rows and refits as folds, 95 %", "ALE ± 2 standard errors"]
    assert said(panel) == explained(local.plot().figure) == words
    assert_array_equal(of_models(panel), local.by_model.values[:, 0, central_points(local)])
    for verb in (paribus.effects, paribus.accumulated_local_effects):
        found = verb(refits("classes"), X, ["gap"], progress=False)["gap"]
        (panel,) = found.figure().panels
        assert "± rows and refits as folds, 95 %" in panel.legend_title
        assert said(panel) == ["0", "1", "2"]
        assert len(of_models(panel)) == 3 * MODELS
    page = paribus.effects(refits(), X, ["temp", "gap", ("temp", "wind")], progress=False).plot()
    assert len(explained(page)) >= 2


def test_of_many_models_some_are_drawn():
    X = np.random.default_rng(0).normal(size=(40, 2))
    models = [lambda X, k=k: k * X[:, 0] for k in range(70)]
    (panel,) = paribus.partial_dependence(models, X, 0, progress=False).figure().panels
    assert len(of_models(panel)) == 50
    assert said(panel)[0] == "each of 50 of 70 models"
