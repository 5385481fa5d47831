"""H-statistics of probabilities are those of the model, without one prediction of it."""

import tracemalloc

import catboost
import lightgbm as lgb
import numpy as np
import pytest
import xgboost as xgb
from sklearn import ensemble as forests
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import paribus
from interaction_examples import (
    BY_LEVEL,
    CAT,
    FRAME,
    FULL,
    GAPS,
    HOLED,
    LGB,
    MANY,
    SIGNAL,
    THREE,
    TRAIN,
    TRAINED,
    WEIGHTS,
    XGB,
    alike,
    bits,
    hist,
)
from paribus._api import run
from paribus._data.samples import sample_numbers
from paribus._evaluators.interactions import tree_passes
from paribus._kernels import reference

# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]

TOP = np.median(BY_LEVEL) < BY_LEVEL
TWO = SIGNAL > 5


def piped():
    steps = ColumnTransformer([("level", OneHotEncoder(), ["level"])], remainder="passthrough")
    return make_pipeline(steps, hist("Classifier")).fit(TRAINED, TOP)


# By name: how it is fitted, the table, and how far from its predictions a sum of its leaves may be.
MODELS = {
    "hist": (lambda: hist("Classifier").fit(HOLED, TWO), GAPS, 1e-9),
    "hist, three classes": (lambda: hist("Classifier", max_iter=3).fit(HOLED, THREE), GAPS, 1e-9),
    "hist, exponential": (lambda: hist("Regressor", loss="poisson").fit(HOLED, np.abs(SIGNAL)), GAPS, 1e-9),
    "hist, categories": (lambda: hist("Classifier").fit(TRAINED, TOP), FRAME, 1e-9),
    "boosting": (
        lambda: forests.GradientBoostingClassifier(n_estimators=6, random_state=0).fit(TRAIN, TWO),
        FULL,
        1e-9,
    ),
    "pipeline": (piped, FRAME, 1e-9),
    "lightgbm, three classes": (lambda: lgb.LGBMClassifier(**LGB).fit(HOLED, THREE), GAPS, 1e-9),
    "xgboost": (lambda: xgb.XGBClassifier(**XGB).fit(HOLED, TWO), GAPS, 2e-5),
    "catboost, three classes": (lambda: catboost.CatBoostClassifier(**CAT).fit(HOLED, THREE), GAPS, 1e-9),
}


@pytest.mark.parametrize("name", MODELS)
def test_probabilities_have_the_statistics_and_errors_of_brute_force(name):
    model, table, tolerance = MODELS[name][0](), *MODELS[name][1:]
    for weights in (None, WEIGHTS):
        found, brute = (
            paribus.h_statistic(model, table, sample_weight=weights, threeway=3, method=method)
            for method in ("auto", "brute")
        )
        assert (found.provenance.evaluator, found.provenance.predictions) == ("tree_crossed", 0)
        assert brute.provenance.predictions > 0
        alike(found, brute, tolerance)
        assert (found.pairwise.numerator > 0).any()
    effect = paribus.feature_importance(model, table, sample_weight=WEIGHTS, subsample=None)
    assert (effect.provenance.evaluator, effect.provenance.predictions) == ("tree_crossed", 0)
    strength = brute.main_effect.strength.reshape(effect.values.shape)
    np.testing.assert_allclose(effect.values, strength, rtol=100 * tolerance, atol=tolerance)


def test_features_that_share_no_path_interact_in_probability():
    stumps = hist("Classifier", max_iter=20, max_leaf_nodes=2).fit(TRAIN[:, :3], TWO)
    found = paribus.h_statistic(stumps, FULL[:, :3])
    alike(found, paribus.h_statistic(stumps, FULL[:, :3], method="brute"))
    assert (found.pairwise.numerator > 0).any()
    margin = paribus.h_statistic(stumps, FULL[:, :3], response_method="decision_function")
    assert (margin.pairwise.numerator == 0).all()


def test_more_rows_than_are_drawn_at_once_and_any_number_of_threads():
    model = hist("Classifier").fit(TRAIN, TWO)
    found = paribus.h_statistic(model, MANY, [0, 1, 2], subsample=None, n_jobs=1)
    assert found.provenance.sampled_rows is None
    assert bits(found) == bits(paribus.h_statistic(model, MANY, [0, 1, 2], subsample=None, n_jobs=3))
    alike(found, paribus.h_statistic(model, MANY, [0, 1, 2], subsample=None, method="brute"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tree_passes, "POINTS", 7)
        alike(found, paribus.h_statistic(model, MANY, [0, 1, 2], subsample=None), 1e-12)


def test_kernels_in_numpy_give_the_same(monkeypatch):
    model = hist("Classifier", max_iter=3).fit(HOLED, THREE)
    found = paribus.h_statistic(model, GAPS[:20])
    monkeypatch.setattr(tree_passes, "kernels", lambda: reference)
    alike(found, paribus.h_statistic(model, GAPS[:20]), 1e-12)


def test_rows_are_drawn_and_their_number_can_be_chosen():
    model = hist("Classifier").fit(TRAIN, TWO)
    found = paribus.h_statistic(model, MANY, [0, 1])
    assert found.provenance.sampled_rows == 500
    assert any("interactions used 500 rows of 560" in note for note in found.notes)
    rows = sample_numbers(np.arange(560), 0, 500)
    alike(found, paribus.h_statistic(model, MANY[rows], [0, 1]), 1e-12)
    every = paribus.h_statistic(model, MANY, [0, 1], subsample=None)
    assert every.provenance.points == 560


def test_no_prediction_is_counted():
    model = hist("Classifier").fit(TRAIN, TWO)
    verified = paribus.Explainer(model, MANY, verify=True).h_statistic([0, 1]).provenance
    assert (verified.evaluator, verified.predictions) == ("tree_crossed", 0)
    assert verified.verified_difference < 1e-12


def test_memory_is_what_was_said_and_too_little_makes_way_for_the_model(monkeypatch):
    model = hist("Classifier", max_iter=3).fit(TRAIN, TWO)
    paribus.h_statistic(model, MANY, [0, 1, 2])
    plans, choose = [], run.choose
    monkeypatch.setattr(run, "choose", lambda *given: plans.extend(choose(*given)) or plans)
    tracemalloc.start()
    paribus.h_statistic(model, MANY, [0, 1, 2], subsample=None, n_jobs=1)
    (plan,) = plans
    assert tracemalloc.get_traced_memory()[1] < 1.2 * plan.evaluator.memory(1)
    monkeypatch.undo()
    tracemalloc.stop()
    with pytest.raises(paribus.errors.MemoryBoundError, match=r"560 rows crossed .* smaller subsample="):
        paribus.Explainer(model, MANY, max_memory="1MB").h_statistic(
            [0, 1, 2], subsample=None, method="exact"
        )
