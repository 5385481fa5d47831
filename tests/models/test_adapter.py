"""Any model: estimators, pipelines, boosters, functions."""

import pickle
import re

import catboost
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xgboost
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, ClusterMixin, RegressorMixin
from sklearn.cluster import Birch, KMeans
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

import paribus
from package_classes import changeable, comparing_arrays, dataclasses_of
from paribus._data.read import table_of
from paribus._models import adapt
from paribus._models.adapter import (
    _smallest_and_largest,
    adapt_models,
    as_model_list,
)
from paribus.errors import did_you_mean
from statistic_of import statistic_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] * X[:, 1] + X[:, 2]
TWO = (Y > 0).astype(int)
THREE = np.digitize(Y, [-0.5, 0.5])
WORDS = np.array(["low", "mid", "top"])[THREE]


def at(estimator, value=0.3, table=X, **arguments):
    return statistic_of("partial_dependence", estimator, table, 0, custom_values={0: [value]}, **arguments)


def changed(value=0.3):
    table = X.copy()
    table[:, 0] = value
    return table


def boosters(kind):
    return {
        "xgboost": getattr(xgboost, f"XGB{kind}")(n_estimators=5),
        "lightgbm": getattr(lightgbm, f"LGBM{kind}")(n_estimators=5, verbose=-1),
        "catboost": getattr(catboost, f"CatBoost{kind}")(
            n_estimators=5, verbose=0, allow_writing_files=False
        ),
    }


@pytest.mark.parametrize("library", ["xgboost", "lightgbm", "catboost"])
def test_wrappers_answer_with_predictions_probabilities_and_margins(library):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    moved = frame.assign(a=0.3)
    regressor = boosters("Regressor")[library].fit(frame, Y)
    effect = at(regressor, table=frame)
    assert effect.average[0, 0] == pytest.approx(regressor.predict(moved).astype(float).mean())
    assert effect.provenance.model_library == library
    assert effect.provenance.model_version
    two = boosters("Classifier")[library].fit(frame, TWO)
    effect = at(two, table=frame)
    assert effect.average[0, 0] == pytest.approx(two.predict_proba(moved)[:, 1].astype(float).mean())
    assert effect.output_names == ("1",)
    margin = at(two, table=frame, response_method="decision_function")
    probability = two.predict_proba(moved)[:, 1].astype(float)
    assert margin.average[0, 0] == pytest.approx(np.log(probability / (1 - probability)).mean(), rel=1e-4)
    assert margin.provenance.scale == "margin"
    three = boosters("Classifier")[library].fit(frame, THREE)
    assert at(three, table=frame).average.shape == (3, 1)
    assert at(three, table=frame, response_method="decision_function").average.shape == (3, 1)


def test_native_boosters():
    data = xgboost.DMatrix(X, TWO)
    native = xgboost.train({"objective": "binary:logistic"}, data, 5)
    want = native.predict(xgboost.DMatrix(changed()))
    assert at(native).average[0, 0] == pytest.approx(want.astype(float).mean())
    margin = at(native, response_method="decision_function").average[0, 0]
    assert margin == pytest.approx(np.log(want / (1 - want)).mean(), rel=1e-4)
    named = xgboost.train({}, xgboost.DMatrix(pd.DataFrame(X, columns=["a", "b", "c"]), Y), 5)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    assert np.isfinite(at(named, table=frame).average).all()
    light = lightgbm.train({"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, TWO), 5)
    assert at(light).average[0, 0] == pytest.approx(light.predict(changed()).mean())
    raw = light.predict(changed(), raw_score=True)
    assert at(light, response_method="decision_function").average[0, 0] == pytest.approx(raw.mean())
    for booster in (native, light):
        with pytest.raises(paribus.errors.OptionError, match="native Booster"):
            at(booster, response_method="predict_proba")


def test_a_pipeline_over_a_frame_with_text():
    frame = pd.DataFrame({"count": RNG.integers(0, 9, 120), "city": RNG.choice(["a", "b"], 120)})
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["city"]), remainder="passthrough"), LinearRegression()
    ).fit(frame, 3.0 * frame["count"] + (frame["city"] == "a"))
    effect = paribus.partial_dependence(pipeline, frame, "count")
    np.testing.assert_allclose(np.diff(effect.average[0]), 3.0 * np.diff(effect.grid_values[0]))
    assert effect.provenance.model == "Pipeline(ColumnTransformer, LinearRegression)"
    effect = paribus.partial_dependence(pipeline, frame, "city")
    levels = dict(zip(effect.grid_values[0], effect.average[0], strict=True))
    assert levels["a"] - levels["b"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("estimator", "target", "response", "names"),
    [
        (LogisticRegression(), TWO, "predict_proba", ("1",)),
        (LogisticRegression(), WORDS, "predict_proba", ("low", "mid", "top")),
        (make_pipeline(StandardScaler(), LogisticRegression()), WORDS == "top", "predict_proba", ("True",)),
        (GridSearchCV(LogisticRegression(), {"C": [1.0]}), THREE, "predict_proba", ("0", "1", "2")),
        (SVC(), TWO, "decision_function", ("1",)),
        (SVC(), WORDS, "decision_function", ("low", "mid", "top")),
        (SVC(decision_function_shape="ovo"), np.digitize(Y, [-1, 0, 1]), "decision_function", None),
        (IsolationForest(n_estimators=5), None, "decision_function", ("prediction",)),
        (OneClassSVM(), None, "decision_function", ("prediction",)),
        (LinearRegression(), Y, "predict", ("prediction",)),
        (LinearRegression(), np.stack([Y, -Y], 1), "predict", ("output 0", "output 1")),
        (GradientBoostingClassifier(n_estimators=3), TWO, "predict_proba", ("1",)),
    ],
)
def test_auto_is_the_response_people_mean(estimator, target, response, names):
    fitted = estimator.fit(X, target)
    effect = at(fitted)
    want = getattr(fitted, response)(changed())
    want = want[:, 1] if response == "predict_proba" and want.shape[1] == 2 else want
    np.testing.assert_allclose(effect.average[:, 0], np.atleast_1d(want.mean(axis=0)))
    assert effect.provenance.response == response
    if names is not None:
        assert effect.output_names == names


def test_classifiers_with_several_targets():
    target = np.stack([TWO, THREE], axis=1)
    for model in (
        RandomForestClassifier(5, random_state=0).fit(X, target),
        MultiOutputClassifier(LogisticRegression()).fit(X, target),
    ):
        effect = at(model)
        first, second = model.predict_proba(changed())
        np.testing.assert_allclose(effect.average[:, 0], [first[:, 1].mean(), *second.mean(axis=0)])
        assert effect.output_names == ("target 0: 1", "target 1: 0", "target 1: 1", "target 1: 2")


def test_hard_labels_only_when_asked_for():
    model = LogisticRegression().fit(X, TWO)
    assert at(model, response_method="predict").average[0, 0] == model.predict(changed()).mean()
    words = LogisticRegression().fit(X, WORDS)
    with pytest.raises(paribus.errors.ModelError, match="predict_proba"):
        at(words, response_method="predict")


def test_functions_of_any_shape():
    assert at(lambda t: t[:, 0].tolist()).output_names == ("prediction",)
    assert at(lambda t: t[:, :1]).average.shape == (1, 1)
    assert at(lambda t: t[:, :2]).output_names == ("output 0", "output 1")
    assert at(lambda t: pd.DataFrame(t[:, :2], columns=["p", "q"])).output_names == ("p", "q")
    assert at(lambda t: pl.Series(t[:, 0])).average[0, 0] == pytest.approx(0.3)
    assert at(lambda t: t[:, 0] > 0).average[0, 0] == 1.0
    assert at(lambda t: t[:, :2], target_names=["p", "q"]).output_names == ("p", "q")
    assert at(LogisticRegression().fit(X, TWO).predict_proba).average.shape == (2, 1)


class Duck:
    """Nothing but a predict, as deep learning libraries have."""

    def predict(self, table):
        return table[:, :1] * 2.0


class Voter(ClassifierMixin, BaseEstimator):
    """A classifier with predict only."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_behavior_decides_not_class():
    assert at(Duck()).average[0, 0] == pytest.approx(0.6)
    voter = Voter().fit(X, TWO)
    with pytest.raises(paribus.errors.OptionError, match="response_method='predict'"):
        at(voter)
    assert at(voter, response_method="predict").average[0, 0] == 1.0


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (LinearRegression, "fitted instance"),
        (LinearRegression(), "fitted"),
        (3, "neither callable"),
        (lambda t: t[:5, 0], "one row per row"),
        (lambda t: 1.0, "one row per row"),
        (lambda t: np.zeros((len(t), 2, 2)), "one row per row"),
        (lambda t: ["a"] * len(t), "returned text such as 'a', which cannot be averaged"),
        (make_pipeline(StandardScaler(), *[StandardScaler(copy=False)] * 5), "^Pipeline is neither callable"),
        (DecisionTreeClassifier(), "using this estimator. It must be fitted"),
        (lambda t: t["age"], "IndexError"),
    ],
)
def test_what_is_no_model_is_refused_with_the_way_out(model, words):
    with pytest.raises(paribus.errors.ModelError, match=words):
        at(model)


def test_responses_a_model_lacks():
    with pytest.raises(paribus.errors.OptionError, match="LinearRegression has no such method"):
        at(LinearRegression().fit(X, Y), response_method="predict_proba")
    with pytest.raises(paribus.errors.OptionError, match="function"):
        at(lambda t: t[:, 0], response_method="predict")


def test_a_model_that_changes_its_mind_is_refused():
    def fickle(table):
        return table[:, :2] if len(table) <= 40 else table

    with pytest.raises(
        paribus.errors.ModelError, match="gave 3 outputs where it gave 2 before; a model must return the same"
    ):
        paribus.partial_dependence(fickle, X, 0)


def test_a_model_may_write_into_what_it_is_given():
    def rude(table):
        table[np.isnan(table)] = 0.0
        answer = table[:, 0] + table[:, 1]
        table *= 0.0
        return answer

    gaps = X.copy()
    gaps[::5, 1] = np.nan
    before = gaps.copy()
    want = 0.3 + np.nan_to_num(gaps[:, 1]).mean()
    effect = paribus.partial_dependence(rude, gaps.copy(), 0, custom_values={0: [0.3, 1.3]})
    np.testing.assert_allclose(effect.average[0], [want, want + 1])
    at(rude, table=gaps)
    np.testing.assert_array_equal(gaps, before)

    def rude_to_frames(table):
        answer = table["a"].to_numpy() + table["b"].fillna(0).to_numpy()
        table["b"] = 0.0
        table.loc[:, "a"] = 0.0
        return answer

    frame = pd.DataFrame(gaps, columns=["a", "b", "c"])
    effect = paribus.partial_dependence(rude_to_frames, frame, "a", custom_values={"a": [0.3, 1.3]})
    np.testing.assert_allclose(effect.average[0], [want, want + 1])
    np.testing.assert_array_equal(frame.to_numpy(), before)


def test_infinite_answers_are_noted():
    with np.errstate(divide="ignore"):
        effect = paribus.partial_dependence(
            lambda t: 1 / np.maximum(t[:, 0], 0), X, 0, custom_values={0: [-1.0, 2.0]}
        )
    assert np.isinf(effect.average[0, 0])
    assert effect.average[0, 1] == 0.5
    assert "not finite" in effect.notes[-1]
    assert "not finite" in repr(effect)


def test_an_adapted_model_travels():
    fitted = RandomForestRegressor(3, random_state=0).fit(X, Y)
    model = pickle.loads(pickle.dumps(adapt(fitted, table_of(X))))
    np.testing.assert_array_equal(model.predict(X, len(X))[:, 0], fitted.predict(X))


def test_two_labels_are_not_two_classes():
    labels = np.stack([X[:, 0] > 0, X[:, 1] > 0.5], axis=1).astype(int)
    for model in (OneVsRestClassifier(LogisticRegression()), ClassifierChain(LogisticRegression())):
        fitted = model.fit(X, labels)
        effect = at(fitted)
        np.testing.assert_allclose(effect.average[:, 0], fitted.predict_proba(changed()).mean(axis=0))
        assert effect.average.shape == (2, 1)


class Mine(xgboost.XGBClassifier):
    """A booster under another name."""


def test_margins_reach_through_pipelines_and_subclasses():
    plain = xgboost.XGBClassifier(n_estimators=5).fit(X, TWO)
    want = at(plain, response_method="decision_function").average
    mine = Mine(n_estimators=5).fit(X, TWO)
    np.testing.assert_allclose(at(mine, response_method="decision_function").average, want, rtol=1e-6)
    pipeline = make_pipeline(StandardScaler(), lightgbm.LGBMClassifier(n_estimators=5, verbose=-1)).fit(
        X, TWO
    )
    probability = pipeline.predict_proba(changed())[:, 1]
    margin = at(pipeline, response_method="decision_function")
    assert margin.average[0, 0] == pytest.approx(np.log(probability / (1 - probability)).mean())
    assert margin.provenance.scale == "margin"


@pytest.mark.parametrize(
    "answer",
    [
        lambda t: t[:, 0] + 1j,
        lambda t: np.full(len(t), "1"),
        lambda t: np.full(len(t), np.datetime64("2026-01-01")),
    ],
)
def test_answers_that_only_look_like_numbers_are_refused(answer):
    with pytest.raises(paribus.errors.ModelError, match="cannot be averaged"):
        at(answer)


def test_a_masked_answer_is_not_finite():
    effect = at(lambda t: np.ma.masked_greater(t[:, 1], 0))
    assert np.isnan(effect.average).all()


def test_a_failure_late_in_the_table_is_told_like_an_early_one():
    gaps = X.copy()
    gaps[100, 1] = np.nan
    model = LinearRegression().fit(X, Y)
    with pytest.raises(
        paribus.errors.ModelError, match=r"rows .* of X with x0 replaced: ValueError: Input X contains NaN"
    ):
        at(model, table=gaps)


def test_names_that_are_no_list():
    with pytest.raises(paribus.errors.OptionError, match="target_names"):
        at(lambda t: t[:, 0], target_names=5)
    with pytest.raises(paribus.errors.TableError, match="feature_names"):
        at(lambda t: t[:, 0], feature_names=5)


@pytest.mark.parametrize(
    "model",
    [
        lambda t: t[:, 0] - t[:, 0].mean(),
        lambda t: (t[:, 1] - t[:, 1].mean()) / t[:, 1].std(),
        lambda t: 1e-10 * t[:, 0] * (1 + np.arange(len(t))),
    ],
    ids=["mean", "z-score", "small"],
)
def test_models_that_look_at_the_rows_beside_are_noticed(model):
    effect = paribus.partial_dependence(model, X, 0, grid_resolution=5)
    assert any("depends on other rows" in note for note in effect.notes)


def test_a_lookup_by_label_is_noticed_in_sorted_data():
    n = 2000
    offset = pd.Series(np.repeat([0.0, 10.0], n // 2))
    frame = pd.DataFrame({"a": RNG.normal(size=n), "b": 0.0})
    effect = paribus.partial_dependence(
        lambda t: t["a"] + offset.loc[t.index].to_numpy(), frame, "a", custom_values={"a": [0.0, 1.0]}
    )
    np.testing.assert_allclose(effect.average, [[5.0, 6.0]])


def test_two_labels_in_sorted_data_and_two_classes_beside_nan():
    order = np.argsort(X[:, 0])
    labels = np.stack([X[:, 0] > 0, X[:, 1] > 0.5], axis=1).astype(int)
    model = OneVsRestClassifier(DecisionTreeClassifier()).fit(X, labels)
    assert at(model, table=X[order]).average.shape == (2, 1)

    class Gappy:
        classes_ = np.array(["n", "y"])

        def predict_proba(self, table):
            p = np.where(table[:, 1] > 1, np.nan, 0.3)
            return np.stack([1 - p, p], axis=1)

    assert at(Gappy()).output_names == ("y",)


def test_models_that_squeeze_may_answer_a_single_row():
    effect = paribus.partial_dependence(lambda t: np.squeeze(t[:, :1] * 2), X[:1], 0)
    assert effect.average.tolist() == [[2 * X[0, 0]]]


def test_a_model_that_compares_rows_is_shown_the_whole_table_where_it_fits():
    rows = RNG.normal(size=(3000, 2))
    effect = paribus.partial_dependence(
        lambda t: t[:, 0] - t[:, 1].mean(), rows, 0, grid_resolution=50, kind="both"
    )
    np.testing.assert_allclose(
        effect.individual[0], np.tile(effect.grid_values[0] - rows[:, 1].mean(), (3000, 1))
    )


GENERATOR = (number for number in range(3))
ODD_PREDICTIONS = {
    "ragged": lambda t: [[1], [2, 3]] * (len(t) // 2),
    "nested ragged": lambda t: [[[1], [2, 3]]] * len(t),
    "blocks of other lengths": lambda t: [np.zeros((3, 2)), np.zeros((4, 2))],
    "a block and a number": lambda t: [np.zeros((len(t), 2)), 5],
    "dictionaries": lambda t: [{"a": 1}] * len(t),
    "text": lambda t: ["a"] * len(t),
    "none": lambda t: None,
    "nones": lambda t: [None] * len(t),
    "generator": lambda t: GENERATOR,
    "iterator": lambda t: iter(t[:, 0]),
    "set": lambda t: {1.0, 2.0},
    "number": lambda t: 5.0,
    "sparse": lambda t: csr_matrix(t[:, :1]),
    "no outputs": lambda t: np.zeros((len(t), 0)),
    "three axes": lambda t: np.zeros((len(t), 2, 2)),
    "complex": lambda t: t[:, 0] + 1j,
    "objects": lambda t: [object()] * len(t),
}


@pytest.mark.parametrize("returned", ODD_PREDICTIONS)
def test_predictions_that_are_no_numbers_are_one_model_error(returned):
    with pytest.raises(paribus.errors.ModelError, match="<lambda> returned") as caught:
        at(ODD_PREDICTIONS[returned])
    assert len(str(caught.value)) < 600
    if returned != "number":  # which is one for the only row
        with pytest.raises(paribus.errors.ModelError):
            at(ODD_PREDICTIONS[returned], table=X[:1])


class Late:
    """A model that goes wrong after it predicted the first rows."""

    def __init__(self, goes_wrong, after=3):
        self.goes_wrong, self.after, self.calls = goes_wrong, after, 0

    def predict(self, table):
        self.calls += 1
        return table[:, 0] * table[:, 1] if self.calls <= self.after else self.goes_wrong(table)


def fails(table):
    raise RuntimeError("out of order")


@pytest.mark.parametrize(
    "goes_wrong", [fails, lambda t: t[:5, 0], lambda t: [[1], [2, 3]], lambda t: t[:, :2]]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_model_that_goes_wrong_later_is_one_error_that_names_the_feature(goes_wrong, threads):
    for verb in (paribus.effects, paribus.accumulated_local_effects, paribus.h_statistic):
        options = {} if verb is paribus.accumulated_local_effects else {"n_jobs": threads}
        with pytest.raises(paribus.errors.ModelError, match=r"on rows \d+ to \d+ of X with x\d"):
            verb(Late(goes_wrong), X, **options)
    with pytest.raises(paribus.errors.ModelError, match=r"on rows \d+ to \d+ of X"):
        paribus.marginal(Late(goes_wrong, 2), X)
    with pytest.raises(paribus.errors.ModelError):
        paribus.feature_importance(Late(goes_wrong), X, y=Y, kind="permutation")


def test_verify_names_the_feature_on_which_a_model_goes_wrong():
    model = Late(fails, after=10**9)
    effect = paribus.Explainer(model, X, verify=True).partial_dependence(0, grid_resolution=3, method="brute")
    assert effect.provenance.verified_difference is not None
    calls = model.calls
    with pytest.raises(
        paribus.errors.ModelError, match=r"failed on rows 0 to 119 of X with x0 replaced: RuntimeError"
    ):
        paribus.Explainer(Late(fails, after=calls - 1), X, verify=True).partial_dependence(
            0, grid_resolution=3, method="brute"
        )


@pytest.mark.parametrize("response", ["auto", "predict", "decision_function"])
def test_rankers_of_catboost_have_their_margin(response):
    group = np.repeat(np.arange(12), 10)
    ranker = catboost.CatBoostRanker(iterations=5, verbose=0, allow_writing_files=False)
    ranker.fit(X, THREE, group_id=group)
    effect = at(ranker, response_method=response)
    assert effect.average[0, 0] == pytest.approx(ranker.predict(changed()).mean())
    assert effect.provenance.evaluator == "tree_exact"
    piped = make_pipeline(StandardScaler(), ranker)
    piped.steps[0][1].fit(np.zeros((2, 3)))
    assert at(piped, response_method=response).average == pytest.approx(effect.average)


class Plain:
    def predict(self, table):
        return np.asarray(table)[:, 0]


class OnlyMixin(RegressorMixin, Plain):
    """Its tags are those of a base it does not have."""


class BrokenTags(Plain):
    def __sklearn_tags__(self):
        raise RuntimeError("no tags")


class BrokenClusters(BrokenTags):
    _estimator_type = "clusterer"


@pytest.mark.parametrize("model", [OnlyMixin(), BrokenTags()])
def test_a_model_whose_tags_fail_is_explained_all_the_same(model):
    assert at(model).average[0, 0] == changed()[:, 0].mean()


def test_a_clustering_whose_tags_fail_is_known_by_its_type():
    with pytest.raises(paribus.errors.ModelError, match="predicts cluster labels"):
        at(BrokenClusters())


@pytest.mark.parametrize(
    "odd",
    [
        {"feature_names_in_": 5},
        {"feature_names_in_": "abc"},
        {"feature_names_in_": np.array(3)},
        {"feature_names_in_": [None, None, None]},
        {"feature_names_in_": np.zeros((2, 2))},
        {"feature_names_in_": ["a", "a", "b"]},
        {"feature_names_in_": lambda more: ["a"]},
        {"steps": [1, 2]},
        {"steps": []},
        {"transformers_": [5]},
        {"is_categorical_": 3, "feature_names_in_": ["a", "b", "c"]},
        {"estimators_": [1, None]},
        {"n_features_in_": "three"},
    ],
)
def test_odd_attributes_of_a_model_are_no_knowledge_of_its_columns(odd):
    model = Plain()
    vars(model).update(odd)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    effect = paribus.partial_dependence(model, table, "a", custom_values={"a": [0.25]})
    assert effect.average[0, 0] == 0.25


@pytest.mark.parametrize("calls", [0, 2])
def test_a_long_failure_of_a_model_is_shortened_in_the_middle(calls):
    done = []

    def fails(table):
        done.append(1)
        if len(done) > calls:
            raise RuntimeError(f"what was wrong{' at 0x1f' * 1_000} and the end of it")
        return table[:, 0]

    with pytest.raises(
        paribus.errors.ModelError, match=r"RuntimeError: what was wrong at .* and the end"
    ) as caught:
        at(fails)
    assert len(str(caught.value)) < 1_000


@pytest.mark.parametrize("response", ["auto", "predict"])
def test_numbers_of_clusters_are_not_averaged(response):
    piped = make_pipeline(StandardScaler(), KMeans(3, n_init=1))
    for model in (KMeans(3, n_init=1).fit(X), Birch().fit(X), piped.fit(X)):
        with pytest.raises(
            paribus.errors.ModelError,
            match="predicts cluster labels, whose average is meaningless; pass a function",
        ):
            at(model, response_method=response)
        with pytest.raises(paribus.errors.ModelError, match="predicts cluster labels"):
            at(model.predict)
    share = at(lambda t: piped.predict(t) == 0).average[0, 0]
    assert share == (piped.predict(changed()) == 0).mean()
    assert at(piped.transform).average.shape == (3, 1)
    assert at(OneClassSVM().fit(X), response_method="predict").average.shape == (1, 1)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
def test_a_method_of_a_model_is_the_model_with_that_response_and_every_output(method, target):
    for model in (GradientBoostingClassifier(n_estimators=5), RandomForestClassifier(5, random_state=0)):
        if not hasattr(model.fit(X, target), method):
            continue
        passed, named = at(getattr(model, method)), at(model, response_method=method)
        assert passed.output_names[-1] == named.output_names[-1]
        assert passed.average[-1] == pytest.approx(named.average[-1], rel=1e-14)
        assert passed.provenance.evaluator == named.provenance.evaluator
        assert passed.provenance.evaluator == ("brute" if method == "predict" else "tree_exact")
        assert passed.provenance.model == type(model).__name__
        want = np.reshape(getattr(model, method)(changed()), (len(X), -1)).mean(axis=0)
        np.testing.assert_allclose(passed.average[:, 0], want, rtol=1e-12)
        brute = at(getattr(model, method), method="brute")
        assert brute.output_names == passed.output_names
        np.testing.assert_allclose(brute.average, passed.average, rtol=1e-12)
        np.testing.assert_allclose(brute.standard_error, passed.standard_error, rtol=1e-9)
        again = at(getattr(model, method), response_method=method)
        assert again.average.tolist() == passed.average.tolist()
        other = "predict" if method != "predict" else "predict_proba"
        with pytest.raises(paribus.errors.OptionError, match="contradicts the method"):
            at(getattr(model, method), response_method=other)


def test_both_classes_of_a_method_are_exact_in_every_verb():
    model = GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, TWO)
    for verb in (paribus.effects, paribus.accumulated_local_effects):
        exact, brute = (verb(model.predict_proba, X, method=method) for method in ("auto", "brute"))
        for name, effect in exact.items():
            assert effect.output_names == ("0", "1")
            assert effect.provenance.evaluator != "brute"
            curve = "average" if verb is paribus.effects else "ale"
            ours, theirs = (getattr(one, curve) for one in (effect, brute[name]))
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    both = paribus.partial_dependence(model.predict_proba, X, 0, kind="both")
    np.testing.assert_allclose(both.individual.sum(axis=0), 1.0)


def test_methods_of_other_names_and_of_other_objects_stay_functions():
    model = RandomForestRegressor(5).fit(X, Y)

    class Scaled:
        def half(self, table):
            return model.predict(table) / 2

        def predict(self, table):
            return model.predict(table) / 3

    for function, size in ((Scaled().half, 2), (Scaled().predict, 3), (lambda t: model.predict(t), 1)):
        assert at(function).average[0, 0] == pytest.approx(model.predict(changed()).mean() / size)
    assert at(Scaled().half).provenance.model == "half"
    assert at(Scaled().predict).provenance.model == "Scaled"
    replaced = RandomForestRegressor(5).fit(X, Y)
    replaced.predict = Scaled().half
    assert at(replaced.predict).average[0, 0] == pytest.approx(model.predict(changed()).mean() / 2)


def test_words_that_are_not_known_read_well():
    assert did_you_mean("ages", ["age", "bmi"]) == "; did you mean 'age'?"
    assert did_you_mean("zzz", ["age"]) == "; known: 'age'"
    assert did_you_mean("zzz", []) == ""
    for features in ([0, 1], [(0, 1)]):
        found = paribus.effects(lambda t: t[:, 0], X, features, grid_resolution=3)
        for pair in (("q", "r"), ("x0", "r"), ("x0", "x1")):
            with pytest.raises(paribus.errors.OptionError) as caught:
                found.interaction(*pair)
            assert str(caught.value).count("known: ") <= 1
            assert not re.search(r"known: [;.]|\?\.|;\s*;|\.\.", str(caught.value))


@pytest.mark.parametrize("kind", ["category", "text", "objects", "polars"])
def test_the_rows_predicted_first_have_every_category(kind):
    words = np.array([*"abc"], dtype=object)[RNG.integers(0, 3, 5_000)]
    words[1_234:1_240], words[4_000:4_100] = "rare", "seldom"
    frame = pd.DataFrame({"x": RNG.normal(size=5_000), "word": words})
    if kind == "category":
        frame["word"] = frame["word"].astype("category")
    table = frame.to_numpy() if kind == "objects" else frame
    table = table_of(pl.from_pandas(frame) if kind == "polars" else table, None)
    model = adapt(lambda t: np.zeros(len(t)), table)
    assert {*"abc", "rare", "seldom"} == {*model.sample.column(1).values}
    assert 32 <= len(model.sample) <= 37
    many = table_of(pd.DataFrame({"word": [f"w{row}" for row in range(5_000)]}), None)
    assert 200 < len(adapt(lambda t: np.zeros(len(t)), many).sample) <= 256


@pytest.mark.parametrize("classes", [np.array(1), np.array([]), np.array(["a", "b", "c"]), None])
def test_two_probabilities_without_two_names_are_numbered(classes):
    model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    probabilities = model.predict_proba

    class Named:
        classes_ = classes

        def predict_proba(self, X):
            return probabilities(X)

    assert adapt(Named(), table_of(np.array([[0.0], [1.0], [2.0]]))).output_names == ("1",)


def test_classifier_without_probabilities_is_pointed_to_its_scores():
    for model in (LinearSVC(), make_pipeline(StandardScaler(), LinearSVC())):
        with pytest.raises(
            paribus.errors.OptionError, match=r"has no such method; pass response_method='decision_f"
        ):
            at(model.fit(X, TWO), response_method="predict_proba")
    with pytest.raises(paribus.errors.OptionError, match="has no such method; did you mean 'predict'"):
        at(LinearRegression().fit(X, Y), response_method="predict_proba")


def test_search_without_a_fitted_model_says_so():
    search = GridSearchCV(LinearRegression(), {"fit_intercept": [True, False]}, refit=False).fit(X, Y)
    with pytest.raises(
        paribus.errors.ModelError, match=r"GridSearchCV was made with refit=False.* refit=True, or"
    ):
        at(search)


FAILING = {
    "pandas": (pd.DataFrame(X), r"pandas\.DataFrame of 3 columns.* takes an array, pass .*f\(t\.to_numpy\(\)\)"),
    "polars": (pl.DataFrame(X), r"polars\.DataFrame of 3 columns.* takes an array, pass .*f\(t\.to_numpy\(\)\)"),
    "arrow": (pa.table(pd.DataFrame(X)), r"pyarrow\.Table of 3 columns.* f\(t\.to_pandas\(\)\.to_numpy\(\)\)"),
    "numpy": (X, r"numpy\.ndarray of 3 columns.* If it takes a data frame, pass X as one"),
}  # fmt: skip


@pytest.mark.parametrize(("table", "words"), FAILING.values(), ids=FAILING)
def test_function_that_fails_says_which_type_it_was_given_and_how_to_convert_it(table, words):
    def picky(t):
        raise TypeError("not of this type")

    with pytest.raises(paribus.errors.ModelError, match=f"picky failed on 32 rows of X.*{words}"):
        at(picky, table=table)


def test_way_out_for_a_function_of_arrays_works():
    frame = pd.DataFrame(X, columns=list("abc"))
    function = lambda a: a[:, 0] * a[:, 1]  # noqa: E731
    with pytest.raises(paribus.errors.ModelError, match="takes an array"):
        at(function, table=frame)
    np.testing.assert_allclose(
        at(lambda t: function(t.to_numpy()), table=frame).average, 0.3 * X[:, 1].mean()
    )


def test_torch_module_given_a_table_is_pointed_to_tensors():
    base = type("Module", (), {"__module__": "torch.nn.modules.module"})  # torch itself is not installed

    class Net(base):
        def __call__(self, t):
            raise TypeError(f"linear(): argument 'input' must be Tensor, not {type(t).__name__}")

    words = r"must be Tensor, not {}.* pass lambda t: module\(torch\.as_tensor\({}, dtype=torch\.float32\)\)"
    with pytest.raises(paribus.errors.ModelError, match=words.format("DataFrame", r"t\.to_numpy\(\)")):
        at(Net(), table=pd.DataFrame(X))
    with pytest.raises(paribus.errors.ModelError, match=words.format("ndarray", "t")):
        at(Net())


def test_model_that_fails_is_held_to_what_it_was_fitted_on():
    with pytest.raises(
        paribus.errors.ModelError, match=r"of 3 columns\): NotFitted.* It must be fitted, and X must"
    ):
        at(LinearRegression())


def test_object_that_takes_arrays_is_told_to_be_called_with_one():
    class TakesArrays:
        def predict(self, rows):
            if not isinstance(rows, np.ndarray):
                raise ValueError(f"Unrecognized data type: {type(rows).__name__}")
            return rows[:, :1]

    words = r"pass lambda t: model\.predict\(t\.to_numpy\(\)\) or X as an array"
    with pytest.raises(paribus.errors.ModelError, match=words):
        at(TakesArrays(), table=pd.DataFrame(X))
    assert at(TakesArrays()).average is not None


def test_columns_with_categories_that_preprocessing_does_not_know_are_named():
    table = pd.DataFrame({"a": np.arange(20.0), "city": ["Bern", "Genf"] * 10, "k": ["u", "v"] * 10})
    encoder = make_column_transformer((OneHotEncoder(), ["city", "k"]), remainder="passthrough")
    model = make_pipeline(encoder, LinearRegression()).fit(table, table["a"])
    table.loc[3, "city"], table.loc[5, "k"] = "Zug", None
    with pytest.raises(paribus.errors.ModelError, match=r"in column 0 .* X has them in 'city'\. It must"):
        paribus.partial_dependence(model, table, "a")


def test_brute_force_where_exact_results_are_expected_is_stated_with_its_reason():
    table = pd.DataFrame(X, columns=list("abc"))
    model = lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, linear_tree=True).fit(table, Y)
    words = "\n  brute force, because it has linear trees"
    piped = make_pipeline(FunctionTransformer(), model)
    options = {"progress": False}
    found = paribus.effects(model, table, grid_resolution=4, **options)
    results = [found, found["a"], paribus.accumulated_local_effects(model, table, **options)]
    results += [paribus.h_statistic(model, table, subsample=20, **options)]
    results += [paribus.explain(model, table, interactions=False, **options)]
    results += [paribus.effects(piped, table, grid_resolution=4, **options)]
    for result in results:
        assert words in repr(result), type(result)
    joined = make_pipeline(PCA(), RandomForestRegressor(3)).fit(X, Y)
    assert "\n  brute force, because PCA joins" in repr(at(joined))
    assert "\n  brute force, because KNeighborsRegressor is not" in repr(at(KNeighborsRegressor().fit(X, Y)))
    for other in (lambda t: t[:, 0], LinearRegression().fit(X, Y)):
        assert "brute force, because" not in repr(at(other))
    requested = catboost.CatBoostRegressor(iterations=5, verbose=0).fit(table, Y)
    assert "brute force, because" not in repr(at(requested, table=table, method="brute"))


def test_classes_of_models_are_frozen_and_none_compares_arrays():
    package = "paribus._models"
    assert len(dataclasses_of(package)) > 15
    assert changeable(package) == {"_Nodes"}  # a builder of a tree
    assert comparing_arrays(package) == {"_Nodes"}


def test_list_of_models_needs_the_same_outputs():
    table = table_of(X)
    linear, forest = LinearRegression().fit(X, Y), RandomForestRegressor(2, random_state=0).fit(X, Y)
    logistic = LogisticRegression().fit(X, TWO)
    several = LogisticRegression().fit(X, np.digitize(Y, [-0.5, 0.5]))
    renamed = LogisticRegression().fit(X, np.digitize(Y, [-0.5, 0.5]) + 7)
    assert [model.name for model in adapt_models([linear, forest], table)] == [
        "LinearRegression",
        "RandomForestRegressor",
    ]
    assert [model.name for model in adapt_models(linear, table)] == ["LinearRegression"]
    for models, words in (
        ([linear, logistic], r"estimator\[1\] \(LogisticRegression\) has a probability .* response_method"),
        ([several, several, logistic], r"estimator\[2\] .* has 1 output, .* 3 outputs; fit them all"),
        (
            [several, renamed],
            r"has outputs named 7, 8, 9, .* outputs named 0, 1, 2; name them with target_names",
        ),
        ([linear, KMeans], r"estimator\[1\]: "),
    ):
        with pytest.raises(paribus.errors.ModelError, match=words):
            adapt_models(models, table)
    named = adapt_models([several, renamed], table, target_names=("a", "b", "c"))
    assert [model.output_names for model in named] == [("a", "b", "c")] * 2


def test_list_of_models_is_told_from_one():
    linear = LinearRegression().fit(X, Y)
    assert as_model_list(linear) is None
    assert as_model_list([linear]) == as_model_list((linear,)) == (linear,)
    with pytest.raises(paribus.errors.ModelError, match="a list without a model"):
        as_model_list([])


class Lasting(RegressorMixin, BaseEstimator):
    """Predicts only tables of the size it was first shown, or other outputs for more rows."""

    def __init__(self, wide=False):
        self.wide = wide

    def fit(self, X, y):
        self.size_ = len(X)
        return self

    def predict(self, X):
        if len(X) > self.size_ and not self.wide:
            raise ValueError("too many rows")
        return np.zeros((len(X), 2)) if len(X) > self.size_ else X[:, 0]


@pytest.mark.parametrize("wide", [False, True])
def test_model_that_cannot_predict_rows_twice_does_not_predict_them_independently(wide):
    sample = 2 * (len(adapt(LinearRegression().fit(X, Y), table_of(X)).sample) // 2)
    model = Lasting(wide).fit(X[: sample - 1], Y)
    assert not adapt(model, table_of(X[: sample - 1])).row_independent


class Looped(BaseEstimator):
    """Holds itself, as a wrapper may by mistake."""

    def fit(self, X, y):
        self.estimator_ = self.estimator = self
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


def test_model_that_holds_itself_is_adapted():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    effect = paribus.partial_dependence(Looped().fit(X, Y), frame, "a", grid_resolution=3)
    np.testing.assert_allclose(effect.average[0], effect.grid_values[0])


def test_a_model_whose_batch_matters_only_beside_an_outlier_is_noticed():
    def scaled(table):
        largest = np.abs(table).max()
        return table[:, 0] / (largest if largest > 100 else 1.0)

    rows = np.random.default_rng(0).normal(size=(300, 3))
    plain = paribus.partial_dependence(scaled, rows, 0, grid_resolution=5)
    assert "PAR302" not in [note.code for note in plain.notes]
    rows[7, 1] = 500.0  # none of the rows that are predicted first
    effect = paribus.partial_dependence(scaled, rows, 0, grid_resolution=5)
    assert "PAR302" in [note.code for note in effect.notes]
    want = [scaled(np.c_[np.full(300, value), rows[:, 1:]]).mean() for value in effect.grid_values[0]]
    np.testing.assert_allclose(effect.average[0], want)


def test_a_step_that_looks_at_an_outlier_is_not_read():
    rows = np.random.default_rng(0).normal(size=(300, 3))
    rows[7, 1] = 500.0

    def far(z):
        return z / (1.0 if z.max() < 50 else 2.0)

    inner = Ridge().fit(rows, rows[:, 0] + rows[:, 1])
    model = TransformedTargetRegressor(inner, func=lambda z: z, inverse_func=far, check_inverse=False)
    model.fit(rows, rows[:, 0] + rows[:, 1])
    with pytest.raises(paribus.errors.RefusalError, match=r"other rows|jumps"):
        paribus.partial_dependence(model, rows, 0, method="exact")


def test_labels_of_clusters_are_refused_also_of_a_model_with_a_decision_function():
    class Clusters(ClusterMixin, BaseEstimator):
        def fit(self, X, y=None):
            self.fitted_ = True
            return self

        def predict(self, X):
            return (np.asarray(X)[:, 0] > 0).astype(int)

        def decision_function(self, X):
            return np.asarray(X)[:, 0]

    model = Clusters().fit(X)
    assert len(paribus.partial_dependence(model, X, 0, grid_resolution=3).average[0]) == 3
    with pytest.raises(paribus.errors.ModelError, match="predicts cluster labels"):
        paribus.partial_dependence(model, X, 0, response_method="predict")


def test_smallest_and_largest_numbers_are_found_in_portions_with_missing_values(rng):
    X = rng.normal(size=(10_000, 3)).astype(np.float32)
    X[::3, 1] = np.nan
    X[:5_000, 2] = np.nan
    want = [{int(np.nanargmin(X[:, j])), int(np.nanargmax(X[:, j]))} for j in range(3)]
    assert _smallest_and_largest([X[:, j] for j in range(3)], len(X)) == want
    assert _smallest_and_largest([np.arange(5_000)], 5_000) == [{0, 4_999}]
