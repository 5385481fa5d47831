"""Losses as scikit-learn has them, targets of any type, and refusals."""

import pickle

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost
from catboost import CatBoostClassifier, CatBoostRegressor
from sklearn import metrics
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import (
    GammaRegressor,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from paribus._data.read import table_of
from paribus._data.rows import rows_of
from paribus._models import adapt
from paribus._models.scoring import loss_of, target_of
from paribus._models.scoring.targets import (
    Family,
    Outcome,
    codes_of,
    family_of,
    other_scale,
    outcome_of,
    predicts_probability,
)
from paribus.errors import InputError, ModelError, OptionError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = np.exp(X[:, 0] + 0.1 * X[:, 1])
COUNTS = RNG.poisson(Y).astype(float)
TWO = np.where(X[:, 0] + RNG.normal(size=150) > 0, "yes", "no")
THREE = np.digitize(X[:, 0] + RNG.normal(size=150), [-0.7, 0.7])
WEIGHTS = RNG.exponential(size=150)

POSITIVE = PoissonRegressor().fit(X, Y)
LINEAR = LinearRegression().fit(X, Y)
TWO_CLASSES = LogisticRegression().fit(X, TWO)
THREE_CLASSES = LogisticRegression().fit(X, THREE)
FOREST = make_pipeline(StandardScaler(), RandomForestClassifier(20, random_state=0)).fit(X, THREE)
NO_PROBABILITIES = SVC().fit(X, TWO)


def compared(estimator, loss, y, table=X, **arguments):
    rows = rows_of(table_of(table), None)
    return loss_of(estimator, loss, target_of(y, rows), rows.table, **arguments)


def value(loss, table=X, weights=None):
    """The loss of all rows, as an evaluator puts it together."""
    predictions = loss.model.predict(table, len(table))
    halves = [loss.of_rows(predictions[:70], 0), loss.of_rows(predictions[70:], 70)]
    return np.average(np.concatenate(halves), weights=weights)


def proba(estimator):
    return estimator.predict_proba(X)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    ("name", "estimator", "y", "theirs"),
    [
        ("squared_error", LINEAR, Y, metrics.mean_squared_error),
        ("absolute_error", LINEAR, Y, metrics.mean_absolute_error),
        ("poisson", POSITIVE, COUNTS, metrics.mean_poisson_deviance),
        ("gamma", POSITIVE, Y, metrics.mean_gamma_deviance),
    ],
)
def test_losses_of_numbers_are_those_of_scikit_learn(name, estimator, y, theirs, weights):
    loss = compared(estimator, name, y)
    assert loss.name == name
    assert loss.model.response == "predict"
    want = theirs(y, estimator.predict(X), sample_weight=weights)
    assert value(loss, weights=weights) == pytest.approx(want)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    ("estimator", "y"),
    [(TWO_CLASSES, TWO), (THREE_CLASSES, THREE), (FOREST, THREE)],
    ids=["two", "three", "forest"],
)
def test_losses_of_labels_are_those_of_scikit_learn(estimator, y, weights):
    loss, error = (compared(estimator, name, y) for name in ("log_loss", "error_rate"))
    want = metrics.log_loss(y, proba(estimator), sample_weight=weights)
    assert value(loss, weights=weights) == pytest.approx(want)
    right = metrics.accuracy_score(y, estimator.predict(X), sample_weight=weights)
    assert value(error, weights=weights) == pytest.approx(1 - right)
    assert (loss.model.response, error.model.response) == ("predict_proba", "predict")


@pytest.mark.parametrize(
    ("estimator", "y", "name"),
    [
        (LINEAR, Y, "squared_error"),
        (TWO_CLASSES, TWO, "log_loss"),
        (FOREST, THREE, "log_loss"),
        (NO_PROBABILITIES, TWO, "error_rate"),
        (lambda t: t[:, 0], Y, "squared_error"),
        (lambda t: 1 / (1 + np.exp(-t[:, 0])), TWO, "log_loss"),
        (lambda t: 1 / (1 + np.exp(-t[:, 0])), pd.Series(TWO, dtype="category"), "log_loss"),
        (CatBoostRegressor(iterations=2, verbose=0, allow_writing_files=False).fit(X, Y), Y, "squared_error"),
        (
            CatBoostClassifier(iterations=2, verbose=0, allow_writing_files=False).fit(X, TWO == "yes"),
            TWO == "yes",
            "log_loss",
        ),
    ],
)
def test_the_default_suits_the_model(estimator, y, name):
    loss = compared(estimator, None, y)
    assert loss.name == name
    assert np.isfinite(value(loss))


def test_boosters_are_asked_for_what_their_objective_gives():
    codes = (TWO == "yes").astype(int)
    margins = {"objective": "binary", "verbose": -1, "num_threads": 1}
    light = lightgbm.train(margins, lightgbm.Dataset(X, codes), 3)
    extreme = xgboost.train({"objective": "multi:softprob", "num_class": 3}, xgboost.DMatrix(X, THREE), 3)
    assert value(compared(light, "log_loss", codes)) == pytest.approx(
        metrics.log_loss(codes, light.predict(X))
    )
    # Text is taken in its order, as every library does.
    assert value(compared(light, "log_loss", TWO)) == value(compared(light, "log_loss", codes))
    likely = extreme.predict(xgboost.DMatrix(X))[np.arange(150), THREE]
    assert value(compared(extreme, "log_loss", THREE)) == pytest.approx(-np.log(likely.astype(float)).mean())
    with pytest.raises(
        OptionError, match="Booster does not predict labels such as 1; pass a function that does"
    ):
        compared(light, "error_rate", codes)


def test_classes_that_do_not_occur_still_have_their_probability():
    some = np.isin(THREE, [0, 1])
    rows = rows_of(table_of(X[some]), None)
    loss = loss_of(THREE_CLASSES, "log_loss", target_of(THREE[some], rows), rows.table)
    predictions = loss.model.predict(X[some], some.sum())
    want = metrics.log_loss(THREE[some], proba(THREE_CLASSES)[some], labels=[0, 1, 2])
    assert loss.of_rows(predictions, 0).mean() == pytest.approx(want)


def test_certainty_that_is_wrong_costs_much_but_not_everything():
    loss = compared(lambda t: np.ones(len(t)), "log_loss", np.zeros(150, dtype=int))
    assert value(loss) == pytest.approx(-np.log(np.finfo(float).eps))


def test_labels_a_function_answers_with_are_compared_as_they_are():
    loss = compared(lambda t: np.where(t[:, 0] > 0, "yes", "no"), "error_rate", TWO)
    assert value(loss) == pytest.approx(np.mean(np.where(X[:, 0] > 0, "yes", "no") != TWO))
    strange = compared(lambda t: np.where(t[:, 0] > 0, "yes", "never seen"), "error_rate", TWO)
    assert value(strange) == pytest.approx(np.mean((X[:, 0] <= 0) | (TWO == "no")))


def test_several_outputs_are_averaged():
    both = np.stack([Y, -3 * Y], axis=1)
    model = LinearRegression().fit(X, both)
    squared = compared(model, "squared_error", both)
    assert value(squared) == pytest.approx(metrics.mean_squared_error(both, model.predict(X)))


@pytest.mark.parametrize("name", ["log_loss", "error_rate", "squared_error"])
def test_losses_travel(name):
    estimator, y = (LINEAR, Y) if name == "squared_error" else (TWO_CLASSES, TWO)
    loss = compared(estimator, name, y)
    assert value(pickle.loads(pickle.dumps(loss))) == value(loss)


LABELS = ["no", "yes", "no", "no"]
FOUR = rows_of(table_of(np.arange(8.0).reshape(4, 2)), None)


@pytest.mark.parametrize(
    "y",
    [
        LABELS,
        tuple(LABELS),
        np.array(LABELS),
        np.array(LABELS, dtype=object),
        np.array(LABELS, dtype=np.dtypes.StringDType()),
        pd.Series(LABELS, index=[7, 5, 3, 1]),
        pd.Series(LABELS, dtype="category"),
        pd.DataFrame({"y": LABELS}),
        pl.Series(LABELS),
        pl.Series(LABELS, dtype=pl.Categorical),
        pl.DataFrame({"y": LABELS}),
        pa.array(LABELS),
        pa.chunked_array([LABELS[:1], LABELS[1:]]),
    ],
    ids=lambda y: f"{type(y).__module__.split('.')[0]} {type(y).__name__} {getattr(y, 'dtype', '')}",
)
def test_labels_of_any_library(y):
    assert target_of(y, FOUR).tolist() == LABELS


@pytest.mark.parametrize(
    "y",
    [
        [1, 0, 1, 1],
        [True, False, True, True],
        np.array([[1.0], [0.0], [1.0], [1.0]]),
        pd.Series([1, 0, 1, 1], dtype="Int64"),
        pd.Series([True, False, True, True], dtype="boolean"),
        pl.Series([1, 0, 1, 1], dtype=pl.UInt8),
        pl.Series([1, 0, 1, 1]).cast(pl.Decimal(10, 2)),
        pa.array([1, 0, 1, 1]),
    ],
    ids=lambda y: f"{type(y).__module__.split('.')[0]} {getattr(y, 'dtype', '')}",
)
def test_numbers_of_any_library(y):
    target = target_of(y, FOUR)
    assert target.dtype.kind in "fiub"
    assert target.tolist() == [1, 0, 1, 1]


def test_a_row_of_weight_zero_needs_no_y():
    rows = rows_of(FOUR.table, [1, 0, 2, 1])
    assert target_of([3.0, np.nan, 2.0, 1.0], rows).tolist() == [3.0, 2.0, 1.0]
    assert target_of(["a", None, "b", "a"], rows).tolist() == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "y is needed"),
        ("target", r"y has shape \(\) and X has 4 rows"),
        ([1.0, 2.0], r"y has shape \(2,\) and X has 4 rows; give one value per row"),
        (np.zeros((2, 4)), r"y has shape \(2, 4\)"),
        (np.zeros((4, 1, 1)), r"y has shape"),
        ([[1], [1, 2], [1], [1]], "y cannot be read"),
        ([1.0, np.nan, np.inf, 2.0], r"y\[1\] is nan, and 1 more are missing or infinite"),
        (["a", "b", None, "a"], r"y\[2\] is None"),
        (np.array([[1, 2], [3, np.nan], [1, 1], [1, 1]]), r"y\[1\] is \[3.0, nan\]"),
        (pd.Series([1, 2, 3, None], dtype="Int64"), r"y\[3\] is nan"),
        (pl.Series([1, None, 3, 4]), r"y\[1\] is nan"),
        (np.ma.masked_array([1, 2, 3, 4], [0, 1, 0, 0]), "y is a masked array"),
        (np.array(["2020-01-01"] * 4, dtype="datetime64[D]"), "y has dtype datetime64"),
        (pd.Series([[1], [2], [3], [4]]), "y holds lists"),
        (np.ones(4, dtype=complex), "y has dtype complex"),
    ],
)
def test_what_y_cannot_be(y, message):
    with pytest.raises(InputError, match=message):
        target_of(y, FOUR)


def three_numbers(table):
    return np.ones((len(table), 3))


@pytest.mark.parametrize(
    ("estimator", "loss", "y", "arguments", "error", "message"),
    [
        (LINEAR, "sqared_error", Y, {}, OptionError, "did you mean 'squared_error'"),
        (LINEAR, 3, Y, {}, OptionError, "loss=3 is not one of .*permutation_importance accepts any scorer"),
        (LINEAR, metrics.r2_score, Y, {}, OptionError, "loss=<function r2_score"),
        (LINEAR, None, Y, {"response_method": "probability"}, OptionError, "response_method='probability'"),
        (LINEAR, "squared_error", TWO, {}, InputError, "y holds '(yes|no)', which cannot be averaged"),
        (LINEAR, "squared_error", np.full(150, "1"), {}, InputError, "y holds '1', which cannot be averaged"),
        (LINEAR, "poisson", -Y, {}, InputError, "needs y to be at least 0, and it holds -"),
        (POSITIVE, "gamma", COUNTS, {}, InputError, "needs y to be positive, and it holds 0"),
        (three_numbers, "squared_error", Y, {}, InputError, r"y has 1 column and the model has 3 outputs"),
        (NO_PROBABILITIES, "log_loss", TWO, {}, OptionError, "SVC has no predict_proba; use 'error_rate'"),
        (
            TWO_CLASSES,
            "log_loss",
            TWO,
            {"response_method": "decision_function"},
            OptionError,
            "loss='log_loss' needs probabilities, and decision_function of LogisticRegression returns numbers from -",
        ),
        (
            TWO_CLASSES,
            "log_loss",
            np.full(150, "maybe"),
            {},
            InputError,
            "'maybe'.* not a class .*'no', 'yes'",
        ),
        (TWO_CLASSES, "error_rate", THREE, {}, InputError, "pass y as it was in fit"),
        (
            TWO_CLASSES,
            "error_rate",
            TWO,
            {"response_method": "predict_proba"},
            OptionError,
            "compares labels, which response_method='predict_proba' does not give",
        ),
        (lambda t: t[:, 0] * 0 + 0.5, "log_loss", Y.round(), {}, InputError, "gives the probabilities of 2"),
        (lambda t: t[:, 0], "log_loss", TWO, {}, OptionError, "needs probabilities"),
        (LINEAR, "log_loss", np.stack([THREE, THREE], 1), {}, OptionError, "is of one target"),
    ],
)
def test_what_is_refused(estimator, loss, y, arguments, error, message):
    with pytest.raises(error, match=message):
        compared(estimator, loss, y, **arguments)


def test_positive_predictions_are_needed_for_deviances():
    loss = compared(LINEAR, "poisson", COUNTS)
    with pytest.raises(ModelError, match="needs positive predictions, and the model predicts -"):
        value(loss)


def test_several_targets_of_a_classifier_are_refused():
    both = RandomForestClassifier(3, random_state=0).fit(X, np.stack([THREE, THREE > 0], axis=1))
    with pytest.raises(OptionError, match="is of one target"):
        compared(both, None, THREE)


@pytest.mark.parametrize("power", [1.0, 1.3, 1.9, 2.0])
def test_deviance_of_family_is_that_of_scikit_learn(power):
    family, predicted = Family(power), np.exp(RNG.normal(size=150))
    found = family.deviance(Y, predicted)
    assert found.mean() == pytest.approx(metrics.mean_tweedie_deviance(Y, predicted, power=power))
    each = [
        metrics.mean_tweedie_deviance([a], [b], power=power)
        for a, b in zip(Y[:5], predicted[:5], strict=True)
    ]
    np.testing.assert_allclose(found[:5], each, rtol=1e-9, atol=1e-12)
    parts = 2 * (family.own_term(Y) + family.mean_term(Y, predicted))
    np.testing.assert_allclose(found, parts)


def test_deviance_is_undefined_beyond_the_range_of_its_family():
    y, f = np.array([0.0, -1.0, 1.0, 1.0, 2.0]), np.array([1.0, 1.0, 0.0, -1.0, 2.0])
    assert Family(1.0).deviance(y, f)[[0, 4]].tolist() == [2.0, 0.0]
    assert np.isnan(Family(1.0).deviance(y, f)).tolist() == [False, True, True, True, False]
    assert np.isnan(Family(1.5).deviance(y, f)).tolist() == [False, True, True, True, False]
    assert np.isnan(Family(2.0).deviance(y, f)).tolist() == [True, True, True, True, False]
    assert [Family(p).name for p in (1.0, 1.5, 2.0)] == ["Poisson", "Tweedie (power 1.5)", "gamma"]


class Parameterless:
    def get_params(self):
        raise RuntimeError("no parameters")


def booster(objective, **options):
    data = xgboost.DMatrix(X, (COUNTS > 0).astype(float) if "logistic" in objective else COUNTS + 0.1)
    return xgboost.train({"objective": objective, **options}, data, 1)


FAMILIES = {
    "class": (PoissonRegressor(), 1.0),
    "gamma class": (GammaRegressor(), 2.0),
    "power": (TweedieRegressor(power=1.7), 1.7),
    "end of powers": (TweedieRegressor(power=2), 2.0),
    "power 1": (TweedieRegressor(power=1), 1.0),
    "power beyond": (TweedieRegressor(power=3), None),
    "power below": (TweedieRegressor(power=0), None),
    "pipeline": (make_pipeline(StandardScaler(), GammaRegressor()), 2.0),
    "search": (GridSearchCV(PoissonRegressor(), {"alpha": [0.1]}).fit(X, COUNTS), 1.0),
    "loss": (lightgbm.LGBMRegressor(objective="poisson"), 1.0),
    "loss in capitals": (CatBoostRegressor(loss_function="Poisson"), 1.0),
    "default power": (lightgbm.LGBMRegressor(objective="tweedie"), 1.5),
    "given power": (lightgbm.LGBMRegressor(objective="tweedie", tweedie_variance_power=1.2), 1.2),
    "power in text": (CatBoostRegressor(loss_function="Tweedie:variance_power=1.8"), 1.8),
    "prefix": (xgboost.XGBRegressor(objective="reg:gamma"), 2.0),
    "prefixed power": (xgboost.XGBRegressor(objective="reg:tweedie", tweedie_variance_power=1.4), 1.4),
    "native": (booster("count:poisson"), 1.0),
    "native power": (booster("reg:tweedie", tweedie_variance_power=1.25), 1.25),
    "native other": (booster("reg:squarederror"), None),
    "other loss": (lightgbm.LGBMRegressor(), None),
    "other class": (LinearRegression(), None),
    "no parameters": (Parameterless(), None),
    "function": (len, None),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_family_is_the_one_a_model_was_fitted_to(name):
    estimator, power = FAMILIES[name]
    assert family_of(estimator) == (None if power is None else Family(power))


def test_family_of_native_booster_is_in_its_parameters():
    data = lightgbm.Dataset(X, COUNTS, params={"verbose": -1})
    for objective, power in (("poisson", 1.0), ("tweedie", 1.5), ("regression", None)):
        fitted = lightgbm.train({"objective": objective, "verbose": -1, "num_leaves": 3}, data, 1)
        assert family_of(fitted) == (None if power is None else Family(power))


def test_objectives_that_predict_on_another_scale_are_named():
    assert other_scale(LINEAR) is None
    assert other_scale(len) is None
    assert "predict_proba" in other_scale(TWO_CLASSES)
    assert "'rank:pairwise'" in other_scale(booster("rank:pairwise"))
    assert other_scale(booster("binary:logistic")) is None
    assert predicts_probability(booster("binary:logistic"))
    assert not predicts_probability(booster("count:poisson"))
    assert not predicts_probability(xgboost.XGBClassifier(objective="binary:logistic"))
    assert not predicts_probability(len)


def test_outcome_is_what_the_outputs_are_compared_with():
    table = table_of(X)
    two = outcome_of(adapt(TWO_CLASSES, table), TWO_CLASSES, 1)
    assert two.numbers(np.array(["no", "yes", "yes"])).tolist() == [[0.0], [1.0], [1.0]]
    three = outcome_of(adapt(THREE_CLASSES, table), THREE_CLASSES, 1)
    assert three.numbers(np.array([2, 0])).tolist() == [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    assert three.numbers(np.eye(3)).tolist() == np.eye(3).tolist()
    plain = outcome_of(adapt(LINEAR, table), LINEAR, 1)
    assert plain == Outcome(1)
    assert plain.numbers(np.array([1, 2])).tolist() == [[1.0], [2.0]]
    assert outcome_of(None, None, 2) == Outcome(2)
    with pytest.raises(InputError, match="holds 'a', which cannot be averaged"):
        plain.numbers(np.array(["a", "b"]))
    with pytest.raises(InputError, match="y has 3 columns and the model has 1 output;"):
        plain.numbers(np.zeros((2, 3)))
    for wrong in (1.5, -0.5):
        with pytest.raises(InputError, match=f"holds {wrong} where probabilities"):
            three.numbers(np.array([[0.0, 1.0, wrong]]))
    with pytest.raises(OptionError, match="another scale"):
        outcome_of(adapt(NO_PROBABILITIES, table, response_method="decision_function"), NO_PROBABILITIES, 1)


def test_classes_of_a_model_are_named_up_to_eight():
    classes = tuple(f"class {number}" for number in range(10))
    with pytest.raises(InputError, match=r"y holds 'other', .*\('class 0', .*'class 7', \.\.\.\)"):
        codes_of(np.array(["class 1", "other"]), classes)
