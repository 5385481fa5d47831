"""Importance by effect, by permutation and by the model itself, end to end."""

import lightgbm as lgb
import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble as forests
from sklearn import inspection
from sklearn.linear_model import LinearRegression, LogisticRegression

import paribus
from interaction_examples import (
    FULL,
    GAPS,
    LGB,
    MANY,
    MODELS,
    SIGNAL,
    THREE,
    TRAIN,
    TREES,
    WEIGHTS,
    bits,
    fitted,
    naive_of,
    product_of_three,
)
from paribus._data.samples import sample_numbers
from statistic_of import statistic_of

# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", MODELS)
def test_importance_by_effect_is_that_of_definition(name, weights):
    response = MODELS[name][2] or "auto"
    found = paribus.feature_importance(
        fitted(name), MODELS[name][1], sample_weight=weights, response_method=response
    )
    assert found.provenance.evaluator == ("tree_exact" if name in TREES else "brute")
    want = naive_of(name).statistics(weights)
    for values, key in ((found.values, "main"), (found.with_interactions, "left_out")):
        theirs = np.sqrt(want[key][0])
        assert values.shape == ((4,) if len(found.output_names) == 1 else (4, len(found.output_names)))
        np.testing.assert_allclose(
            values.reshape(theirs.shape),
            theirs,
            rtol=2e-5 if "xgb" in name else 1e-9,
            atol=1e-6 if "xgb" in name else 1e-9,
        )
    if name == "xgboost" and weights is not None:  # where no row is affected by the last column
        assert found.with_interactions[3] == want["left_out"][0][3] == 0
    assert found.kind == "effect"
    assert found.repeats is None
    assert found.unit.startswith("standard deviation of the effect")


@pytest.mark.parametrize("name", ["lightgbm", "function"])
def test_importance_by_effect_is_deviation_of_partial_dependence(name):
    table = FULL
    model = lgb.LGBMRegressor(**LGB).fit(TRAIN, SIGNAL) if name == "lightgbm" else product_of_three
    found = paribus.feature_importance(model, table)
    for j in range(4):
        values, counts = np.unique(table[:, j], return_counts=True)
        curve = paribus.partial_dependence(model, table, j, custom_values={j: values}).average[0]
        deviation = np.sqrt(np.average((curve - np.average(curve, weights=counts)) ** 2, weights=counts))
        assert found.values[j] == pytest.approx(deviation, rel=1e-9)
    h = paribus.h_statistic(model, table)
    np.testing.assert_allclose(found.values, h.main_effect.strength[:, 0], rtol=1e-12)


def test_importance_by_effect_draws_and_says_so():
    found = paribus.feature_importance(product_of_three, MANY, subsample=80, random_state=2)
    rows = np.sort(sample_numbers(np.arange(560), 2, 80))
    want = paribus.feature_importance(product_of_three, MANY[rows], subsample=None)
    assert bits(found) == bits(want)
    assert (found.provenance.sampled_rows, found.provenance.seed) == (80, 2)
    assert any("interactions used 80 rows of 560" in note for note in found.notes)
    by_default = paribus.feature_importance(product_of_three, MANY)
    assert by_default.provenance.sampled_rows is None
    assert any("interactions used 500 rows of 560" in note for note in by_default.notes)
    one, many = (paribus.feature_importance(fitted("lightgbm"), MANY, n_jobs=jobs) for jobs in (1, 4))
    assert bits(one) == bits(many)
    assert one.provenance.predictions == 0


def test_importance_of_subset_in_another_order():
    every = paribus.Explainer(fitted("lightgbm"), GAPS, feature_names=list("abcd")).feature_importance()
    some = paribus.Explainer(fitted("lightgbm"), GAPS, feature_names=list("abcd")).feature_importance(
        features=["d", 0]
    )
    assert some.features == ("d", 0)
    assert some.feature_names == ("d", "a")
    np.testing.assert_allclose(some.values, every.values[[3, 0]], rtol=1e-12)
    np.testing.assert_allclose(some.with_interactions, every.with_interactions[[3, 0]], rtol=1e-12)
    np.testing.assert_allclose(some.standard_error, every.standard_error[[3, 0]], rtol=1e-12)
    single = paribus.feature_importance(product_of_three, FULL, features=[2])
    assert single.values.shape == (1,)
    assert some.order == sorted(range(2), key=lambda k: -some.values[k])


def test_importance_by_permutation_end_to_end():
    frame = pd.DataFrame(TRAIN, columns=list("abcd"))
    model = LinearRegression().fit(frame, SIGNAL)
    arguments = {"kind": "permutation", "n_repeats": 4, "random_state": 1}
    found = paribus.feature_importance(model, frame, y=SIGNAL, features=["a", ("b", "c"), 3], **arguments)
    assert found.features == ("a", ("b", "c"), 3)
    assert found.feature_names == ("a", "b + c", "d")
    assert found.repeats.shape == (3, 4)
    assert found.with_interactions is None
    np.testing.assert_allclose(found.values, found.repeats.mean(axis=1), rtol=1e-12)
    provenance = found.provenance
    assert (provenance.evaluator, provenance.seed, provenance.rows) == ("permutation", 1, 300)
    assert provenance.predictions == 300 * (1 + 3 * 4)
    table = found.to_frame()
    assert isinstance(table, pd.DataFrame)
    assert set(table["feature"]) == {"a", "b + c", "d"}
    again = paribus.feature_importance(
        model, frame, y=SIGNAL, features=["a", ("b", "c"), 3], n_jobs=2, **arguments
    )
    assert bits(found) == bits(again)
    few = paribus.feature_importance(model, frame, y=SIGNAL, subsample=100, **arguments)
    assert (few.provenance.sampled_rows, few.provenance.standard_error_rows) == (100, 100)
    # A linear model loses twice the square of its slope times the variance, once for each of two rows.
    slopes = paribus.feature_importance(model, frame, y=SIGNAL, **arguments | {"n_repeats": 40}).values
    fit = LinearRegression().fit(TRAIN, model.predict(frame))
    want = 2 * fit.coef_**2 * TRAIN.var(axis=0)
    np.testing.assert_allclose(slopes, want, rtol=0.2, atol=0.02)


def test_importance_by_permutation_of_classifier_by_either_loss():
    model = LogisticRegression().fit(TRAIN, THREE)
    arguments = {"kind": "permutation", "n_repeats": 20}
    loss = paribus.feature_importance(model, TRAIN, y=THREE, **arguments)
    assert loss.unit == "increase of log_loss"
    assert loss.provenance.response == "predict_proba"
    wrong = paribus.feature_importance(model, TRAIN, y=THREE, loss="error_rate", **arguments)
    theirs = inspection.permutation_importance(model, TRAIN, THREE, scoring="accuracy", n_repeats=20)
    assert wrong.unit == "increase of error_rate"
    np.testing.assert_allclose(wrong.values, theirs.importances_mean, atol=0.03)
    assert wrong.order[0] == loss.order[0] == np.argmax(theirs.importances_mean)


def test_importance_by_model_itself():
    frame = pd.DataFrame(TRAIN, columns=list("abcd"))
    model = forests.RandomForestRegressor(5, random_state=0).fit(frame, SIGNAL)
    found = paribus.feature_importance(model, frame, kind="model", features=["c", "a"])
    np.testing.assert_array_equal(found.values, model.feature_importances_[[2, 0]])
    assert found.feature_names == ("c", "a")
    assert np.isnan(found.standard_error).all()
    assert found.provenance.evaluator == "model"
    assert found.provenance.predictions == 0
    assert isinstance(found.to_frame(), pd.DataFrame)
    with pytest.raises(paribus.ParibusError):
        paribus.feature_importance(product_of_three, FULL, kind="model")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kind": "gain"}, "kind='gain'"),
        ({"kind": "permutation"}, "kind='permutation' needs y"),
        ({"loss": "absolute_error"}, "loss has no meaning for kind='effect'"),
        ({"n_repeats": 9}, "n_repeats has no meaning for kind='effect'"),
        ({"kind": "model", "y": SIGNAL}, "y has no meaning for kind='model'"),
        ({"kind": "model", "loss": "log_loss"}, "loss has no meaning for kind='model'"),
        ({"kind": "model", "response_method": "predict"}, "response_method has no meaning"),
        ({"kind": "model", "subsample": 100}, "subsample has no meaning for kind='model'"),
        ({"kind": "permutation", "y": SIGNAL, "n_repeats": 0}, "n_repeats=0 must be"),
        ({"subsample": 1}, "subsample=1 must be"),
        ({"progress": 3}, "progress=3"),
    ],
)
def test_importance_arguments_without_meaning_are_refused(arguments, message):
    with pytest.raises(paribus.errors.OptionError, match=message):
        paribus.feature_importance(LinearRegression().fit(TRAIN, SIGNAL), TRAIN, **arguments)


def test_importance_constant_model_has_no_variance():
    found = paribus.h_statistic(lambda X: np.full(len(X), 3.0), FULL)
    assert found.denominator_overall == found.denominator_total == 0
    assert any("does not vary" in note for note in found.notes)


@pytest.mark.parametrize("kind", ["permutation", "model"])
def test_importance_names_of_outputs_mean_nothing_where_outputs_are_not_reported_apart(kind):
    y = {"y": FULL[:, 0]} if kind == "permutation" else {}
    with pytest.raises(paribus.errors.OptionError, match="target_names has no meaning for kind"):
        statistic_of("feature_importance", lambda X: X[:, 0], FULL, kind=kind, target_names=["a"], **y)
