"""Models made of models: each is read as one structure that predicts as it does, or refused by name."""

from dataclasses import replace

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    OneHotEncoder,
    QuantileTransformer,
    StandardScaler,
)
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._data.read import table_of
from paribus._models import adapt, structure_of
from paribus._models.additive import Additive
from paribus._models.combination import Combination, predicted
from paribus._models.preprocessing.preparation import JoinedPreparation
from paribus._models.structure import reads_single
from paribus._models.trees import Trees
from paribus.errors import RefusalError

NUMBERS = ["a", "b", "c"]


def rows(count, seed):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=count), "b": rng.integers(0, 9, count)})
    return frame.assign(c=rng.gamma(2, 1, count), d=rng.choice(["x", "y", "z"], count))


X, NEW = rows(90, 0), rows(200, 1)
Y = X["a"] * (X["b"] > 4) + X["c"] + (X["d"] == "x")
TWO, THREE = Y.gt(Y.median()).astype(int), pd.qcut(Y, 3, labels=["u", "v", "w"]).astype(str)
PAIR = np.c_[Y, -(Y**2)]

prepared = ColumnTransformer([("n", StandardScaler(), NUMBERS), ("w", OneHotEncoder(), ["d"])])
numeric = ColumnTransformer([("n", "passthrough", NUMBERS)])
light = lightgbm.LGBMRegressor(n_estimators=4, num_leaves=5, min_child_samples=5, verbose=-1, n_jobs=1)
light_classes = lightgbm.LGBMClassifier(
    n_estimators=4, num_leaves=5, min_child_samples=5, verbose=-1, n_jobs=1
)
extreme = xgboost.XGBRegressor(n_estimators=4, max_depth=2, n_jobs=1)
boosted, boosted_classes = (
    GradientBoostingRegressor(n_estimators=4),
    GradientBoostingClassifier(n_estimators=4),
)
forest = RandomForestRegressor(3, max_depth=4, random_state=0)
forest_classes = RandomForestClassifier(3, max_depth=4, random_state=0)
logistic = LogisticRegression()
from_classes = GradientBoostingClassifier(n_estimators=4, init=boosted_classes)


def behind(model):
    return make_pipeline(prepared, model)


def of(*models, **options):
    return {"estimators": [(f"m{k}", one) for k, one in enumerate(models)], **options}


bagged = {"n_estimators": 2, "max_features": 0.7, "random_state": 0}
search = GridSearchCV(light, {"num_leaves": [3, 5]}, cv=2)
MARGIN = "decision_function"
# What becomes one sum of trees, what stays made of several, and what a model is passed through to.
CASES = {
    "vote of pipelines": (VotingRegressor(**of(behind(light), behind(forest), weights=[2, 1])), X, Y, Trees),
    "vote without a member, weights of zero": (
        VotingRegressor(**of(light, "drop", boosted, forest, weights=np.array([2, 5, 0, 1.0]))),
        X[NUMBERS],
        Y,
        Trees,
    ),
    "vote of the table and of what is made of it": (
        VotingRegressor(**of(light, make_pipeline(StandardScaler(), boosted))),
        X[NUMBERS],
        Y,
        Trees,
    ),
    "vote of libraries that round": (VotingRegressor(**of(light, extreme)), X[NUMBERS], Y, Trees),
    "vote of trees and terms": (VotingRegressor(**of(behind(light), behind(Ridge()))), X, Y, Combination),
    "vote in a vote": (VotingRegressor(**of(VotingRegressor(**of(light, boosted)), forest)), X[NUMBERS], Y, Trees),
    "pipeline of a vote of pipelines": (
        behind(VotingRegressor(**of(light, make_pipeline(MaxAbsScaler(), forest)))),
        X,
        Y,
        Trees,
    ),
    "search in a pipeline in a pipeline": (behind(make_pipeline(MaxAbsScaler(), search)), X, Y, Trees),
    "search in a vote": (behind(VotingRegressor(**of(search, boosted))), X, Y, Trees),
    "random search": (RandomizedSearchCV(behind(Ridge()), {"ridge__alpha": [1, 2]}, n_iter=1, cv=2), X, Y, Additive),
    "frozen in a vote": (VotingRegressor(**of(FrozenEstimator(behind(light).fit(X, Y)), behind(boosted))), X, Y, Trees),
    "selection by elimination": (behind(RFE(forest, n_features_to_select=3)), X, Y, Trees),
    "bagging with columns twice": (
        behind(BaggingRegressor(boosted, bootstrap_features=True, **bagged)),
        X,
        Y,
        Trees,
    ),
    "bagging of the table": (BaggingRegressor(light, **bagged), X[NUMBERS], Y, Trees),
    "bagging of pipelines": (
        BaggingRegressor(make_pipeline(StandardScaler(), light), **bagged),
        X[NUMBERS],
        Y,
        Trees,
    ),
    "bagging of single trees": (BaggingRegressor(DecisionTreeRegressor(max_depth=3), **bagged), X[NUMBERS], Y, Trees),
    "bagging of terms": (behind(BaggingRegressor(Ridge(), **bagged)), X, Y, Additive),
    "bagging of margins": (behind(BaggingClassifier(boosted_classes, **bagged)), X, THREE, Trees, MARGIN),
    "bagging of probabilities": (behind(BaggingClassifier(light_classes, **bagged)), X, THREE, Combination),
    "stacking of trees": (StackingRegressor(**of(behind(light), behind(forest), cv=2)), X, Y, Trees),
    "stacking of trees and terms": (
        StackingRegressor(**of(behind(light), "drop", behind(Ridge()), cv=2, final_estimator=Ridge())),
        X,
        Y,
        Combination,
    ),
    "stacking of two classes": (
        StackingClassifier(**of(behind(light_classes), behind(logistic), cv=2)),
        X,
        TWO,
        Combination,
    ),
    "stacking of forests": (StackingClassifier(**of(behind(forest_classes), cv=2)), X, TWO, Trees),
    "stacking of three classes": (
        StackingClassifier(**of(behind(light_classes), behind(forest_classes), cv=2)),
        X,
        THREE,
        Combination,
    ),
    "stacking, margin": (
        StackingClassifier(**of(behind(boosted_classes), cv=2, stack_method=MARGIN, final_estimator=RidgeClassifier())),
        X,
        TWO,
        Trees,
        MARGIN,
    ),
    "logarithm of the target": (
        TransformedTargetRegressor(behind(light), func=np.expm1, inverse_func=np.log1p),
        X,
        Y,
        Combination,
    ),
    "scaled target": (TransformedTargetRegressor(behind(light), transformer=StandardScaler()), X, Y, Trees),
    "quantiles of targets": (
        TransformedTargetRegressor(behind(Ridge()), transformer=QuantileTransformer(n_quantiles=20)),
        X,
        PAIR,
        Combination,
    ),
    "several targets": (MultiOutputRegressor(behind(light)), X, PAIR, Trees),
    "several targets, terms": (MultiOutputRegressor(Ridge()), X[NUMBERS], PAIR, Additive),
    "several targets of classes": (
        MultiOutputClassifier(behind(light_classes)),
        X,
        np.c_[TWO, pd.factorize(THREE)[0]],
        Combination,
    ),
    "calibrated": (CalibratedClassifierCV(behind(light_classes), cv=2), X, TWO, Combination),
    "calibrated once": (CalibratedClassifierCV(behind(logistic), cv=2, ensemble=False), X, TWO, Combination),
    "calibrated, isotonic, three classes": (
        CalibratedClassifierCV(behind(boosted_classes), cv=2, method="isotonic"),
        X,
        THREE,
        Combination,
    ),
    "vote of probabilities": (
        VotingClassifier(**of(behind(light_classes), behind(logistic), voting="soft", weights=[1, 2])),
        X,
        THREE,
        Combination,
    ),
    "vote of forests": (
        VotingClassifier(**of(behind(forest_classes), behind(forest_classes), voting="soft")),
        X,
        TWO,
        Trees,
    ),
    "one against the rest": (OneVsRestClassifier(behind(boosted_classes)), X, THREE, Combination),
    "one against the other": (OneVsRestClassifier(behind(boosted_classes)), X, TWO, Combination),
    "one against the rest, margins": (OneVsRestClassifier(behind(boosted_classes)), X, THREE, Trees, MARGIN),
    "boosting from trees": (GradientBoostingRegressor(n_estimators=4, init=forest), X[NUMBERS], Y, Trees),
    "boosting from steps between single numbers": (
        GradientBoostingRegressor(n_estimators=4, init=HistGradientBoostingRegressor(max_iter=4)),
        X[NUMBERS],
        Y,
        Trees,
    ),
    "boosting from rounded terms": (
        behind(GradientBoostingRegressor(n_estimators=4, init=Ridge(), loss="huber")),
        X,
        Y,
        Combination,
    ),
    "boosting from probabilities": (from_classes, X[NUMBERS], TWO, Combination),
    "boosting from probabilities, margin": (from_classes, X[NUMBERS], TWO, Combination, MARGIN),
    "boosting from three probabilities": (behind(from_classes), X, THREE, Combination),
    "boosting from three probabilities, margin": (behind(from_classes), X, THREE, Combination, MARGIN),
    "exponential boosting from probabilities": (
        GradientBoostingClassifier(n_estimators=4, loss="exponential", init=boosted_classes),
        X[NUMBERS],
        TWO,
        Combination,
    ),
    "vote of terms of different columns": (
        VotingRegressor(**of(behind(Ridge()), make_pipeline(numeric, LinearRegression()), weights=[3, 1])),
        X,
        Y,
        Additive,
    ),
    "stacking of terms": (StackingRegressor(**of(behind(Ridge()), behind(LinearRegression()), cv=2)), X, Y, Additive),
    "scaled target of terms": (TransformedTargetRegressor(behind(Ridge()), transformer=StandardScaler()), X, Y, Additive),
    "threshold": (FixedThresholdClassifier(behind(light_classes)), X, TWO, Trees),
    "tuned threshold": (behind(TunedThresholdClassifierCV(logistic, cv=2)), X, TWO, Additive),
}  # fmt: skip


def read(model, table, response="auto"):
    return structure_of(adapt(model, table_of(table), response_method=response))


@pytest.mark.parametrize("name", CASES)
def test_a_model_made_of_models_is_one_structure_that_predicts_as_it_does(name):
    model, table, target, kind, *response = CASES[name]
    adapted = adapt(
        model.fit(table, target), table_of(table), response_method=response[0] if response else "auto"
    )
    structure = structure_of(adapted)
    assert type(structure) is kind
    new = NEW[list(table.columns)]
    ours, theirs = predicted(structure, table_of(new)).T, adapted.predict(new, len(new))
    assert ours.shape == theirs.shape
    tolerance = 3e-6 if "round" in name else 1e-9
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * np.abs(theirs).max())


@pytest.mark.parametrize(
    ("model", "table", "target", "response", "why"),
    [
        (AdaBoostRegressor(n_estimators=2), X[NUMBERS], Y, "predict", "AdaBoostRegressor predicts a weighted median"),
        (RegressorChain(Ridge()), X[NUMBERS], PAIR, "predict", "RegressorChain passes predictions of earlier models"),
        (
            ClassifierChain(logistic),
            X[NUMBERS],
            np.c_[TWO, 1 - TWO],
            "predict_proba",
            "ClassifierChain passes predictions of earlier models",
        ),
        (VotingClassifier(**of(light_classes)), X[NUMBERS], TWO, "predict", "VotingClassifier counts votes"),
        (
            StackingRegressor(**of(light, cv=2, passthrough=True)),
            X[NUMBERS],
            Y,
            "predict",
            "StackingRegressor passes the columns as well as the predictions",
        ),
        (
            StackingRegressor(**of(light, cv=2, final_estimator=forest)),
            X[NUMBERS],
            Y,
            "predict",
            "StackingRegressor ends in RandomForestRegressor, which is not linear",
        ),
        (
            StackingRegressor(**of(light, cv=2, final_estimator=PoissonRegressor())),
            X[NUMBERS],
            Y - Y.min(),
            "predict",
            "StackingRegressor ends in PoissonRegressor, whose link may overflow",
        ),
        (
            BaggingClassifier(RidgeClassifier(), n_estimators=2),
            X[NUMBERS],
            TWO,
            "predict_proba",
            "BaggingClassifier counts votes of RidgeClassifier",
        ),
        (BaggingClassifier(logistic, 2), X[NUMBERS], TWO, "predict", "BaggingClassifier predicts a class"),
        (CalibratedClassifierCV(logistic, cv=2), X[NUMBERS], TWO, "predict", "CalibratedClassifierCV predicts a"),
        (from_classes, X[NUMBERS], TWO, "predict", "GradientBoostingClassifier predicts a class"),
        (
            GradientBoostingClassifier(n_estimators=2, init=xgboost.XGBClassifier(n_estimators=2, max_depth=2)),
            X[NUMBERS],
            TWO,
            "predict_proba",
            "starts from the log-odds of XGBClassifier, which amplify the rounding",
        ),
        (
            GradientBoostingClassifier(n_estimators=2, init=RandomForestClassifier(2, random_state=0)),
            X[NUMBERS],
            TWO,
            "predict_proba",
            "its init predicts a probability within 1e-05 of 0 or 1",
        ),
        (
            GradientBoostingRegressor(n_estimators=2, init=KNeighborsRegressor()),
            X[NUMBERS],
            Y,
            "predict",
            "KNeighborsRegressor is not among the tree ensembles",
        ),
        (OneVsRestClassifier(logistic), X[NUMBERS], TWO, "predict", "OneVsRestClassifier predicts a class"),
        (OneVsOneClassifier(logistic), X[NUMBERS], pd.factorize(THREE)[0], "predict", "OneVsOneClassifier counts"),
        (FixedThresholdClassifier(logistic), X[NUMBERS], TWO, "predict", "FixedThresholdClassifier predicts a class"),
        (
            TransformedTargetRegressor(
                Ridge(), func=np.negative, inverse_func=lambda z: z - z.mean(), check_inverse=False
            ),
            X[NUMBERS],
            Y,
            "predict",
            "TransformedTargetRegressor transforms predictions by FunctionTransformer, which looks at other rows",
        ),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "fit") else "",
)  # fmt: skip
def test_what_is_no_function_of_sums_is_refused_by_name(model, table, target, response, why):
    with pytest.raises(RefusalError, match=why):
        read(model.fit(table, target), table, response)


class Doubled(VotingRegressor):
    """A user's own vote."""

    def predict(self, X):
        return 2 * super().predict(X)


def test_customized_predictions_are_refused_at_any_depth():
    numbers = X[NUMBERS]
    with pytest.raises(RefusalError, match="Doubled is not a class of scikit-learn"):
        read(Doubled(**of(light, forest)).fit(numbers, Y), numbers)
    with pytest.raises(RefusalError, match="Doubled is not a class of scikit-learn"):
        read(VotingRegressor(**of(Doubled(**of(light)), forest)).fit(numbers, Y), numbers)
    for replaced in (lambda m: m, lambda m: m.estimators_[0], lambda m: m.estimators_[1][-1]):
        model = VotingRegressor(**of(light, make_pipeline(StandardScaler(), Ridge()))).fit(numbers, Y)
        inner = replaced(model)
        inner.predict = lambda table, own=inner.predict: 2 * own(table)
        with pytest.raises(RefusalError, match=f"the predict of this {type(inner).__name__} was replaced"):
            read(model, numbers)


def test_a_member_fitted_on_columns_in_another_order_is_refused():
    own = light.fit(X[NUMBERS[::-1]].to_numpy(), Y)
    assert type(read(VotingRegressor(**of(FrozenEstimator(own))).fit(X[NUMBERS], Y), X[NUMBERS])) is Trees
    other = FrozenEstimator(lightgbm.LGBMRegressor(**light.get_params()).fit(X[NUMBERS[::-1]], Y))
    with pytest.raises(RefusalError, match="not those it was fitted on, in their order"):
        read(VotingRegressor(**of(other)).fit(X[NUMBERS], Y), X[NUMBERS])


def test_a_function_of_two_columns_within_a_member_is_refused_where_they_are_varied():
    ratio = FunctionTransformer(lambda table: np.asarray(table)[:, :1] * np.asarray(table)[:, 1:2])
    model = VotingRegressor(**of(light, make_pipeline(ratio, light))).fit(X[NUMBERS], Y)
    preparation = read(model, X[NUMBERS]).ensemble.preparation
    with pytest.raises(RefusalError, match="joins 'b' with 'a', 'c'"):
        preparation.refuse_joined((1,))
    preparation.refuse_joined(())


def test_members_that_make_the_same_columns_share_them():
    bagging = behind(BaggingRegressor(boosted, 4, max_features=0.7, random_state=0)).fit(X, Y)
    ensemble = read(bagging, X).ensemble
    assert not isinstance(ensemble.preparation, JoinedPreparation)
    assert len(ensemble.encodings) <= 6
    assert len(ensemble.roots) == 16
    votes = VotingRegressor(**of(behind(light), behind(light), light_of_numbers())).fit(X, Y)
    joined = read(votes, X).ensemble.preparation
    assert [len(source.owners) for source in joined.sources] == [6, 6, 3]
    assert joined.owners == (0, 1, 2, 3, 3, 3) * 2 + (0, 1, 2)
    assert len(joined.table(X).names) == 15
    assert joined.row_bytes >= 8 * (4 + 4 + 3)


def light_of_numbers():
    return make_pipeline(ColumnTransformer([("n", "passthrough", NUMBERS)]), light)


def test_sums_are_rounded_as_a_library_rounds_only_where_each_output_is_of_one_member():
    numbers = X[NUMBERS]
    targets = read(MultiOutputRegressor(extreme).fit(numbers, PAIR), numbers).ensemble
    assert targets.single_sum
    assert targets.value.shape[1] == 1
    assert set(targets.output.tolist()) == {0, 1}
    votes = read(VotingRegressor(**of(extreme, extreme)).fit(numbers, Y), numbers).ensemble
    assert not votes.single_sum
    assert votes.cover is None


def test_all_probabilities_of_a_method_passed_as_a_function_are_read():
    model = VotingClassifier(**of(behind(light_classes), behind(logistic), voting="soft")).fit(X, TWO)
    adapted = adapt(model.predict_proba, table_of(X))
    both = predicted(structure_of(adapted), table_of(NEW))
    np.testing.assert_allclose(both.T, model.predict_proba(NEW), rtol=0, atol=1e-12)
    alone = structure_of(adapt(model, table_of(X)))
    np.testing.assert_array_equal(predicted(alone, table_of(NEW))[0], both[1])
    assert [part.n_outputs for part in alone.parts] == [1, 1]


def test_outputs_that_differ_from_the_model_are_refused():
    numbers = X[NUMBERS]
    model = VotingRegressor(**of(light, forest)).fit(numbers, Y)
    adapted = adapt(model, table_of(numbers))
    shifted = replace(adapted, sample_prediction=adapted.sample_prediction + 1.0)
    with pytest.raises(RefusalError, match="as a function of the models in VotingRegressor"):
        structure_of(shifted)
    doubled = replace(adapted, sample_prediction=np.hstack([adapted.sample_prediction] * 2))
    with pytest.raises(RefusalError, match="VotingRegressor has 2 outputs, and its models 1"):
        structure_of(doubled)


def test_a_function_that_fails_or_has_no_number_there_leaves_it_to_the_model():
    numbers = X[NUMBERS]
    roots = TransformedTargetRegressor(light, func=np.square, inverse_func=np.sqrt, check_inverse=False)
    structure = read(roots.fit(numbers, Y), numbers)
    with np.errstate(invalid="ignore"), pytest.raises(RefusalError, match="is not finite everywhere"):
        structure.outputs([-np.ones((1, 3))])

    def failing(values):
        raise ValueError("no inverse")

    with pytest.raises(RefusalError, match="of the sum of its models fails: ValueError: no inverse"):
        replace(structure, function=failing).outputs([np.ones((1, 3))])


def test_sums_of_linear_models_are_exact_on_all_rows_for_every_statistic():
    model = VotingRegressor(**of(behind(Ridge()), make_pipeline(numeric, LinearRegression()))).fit(X, Y)
    first, second = model.estimators_
    scale = first[0].named_transformers_["n"].scale_[0]
    slope = 0.5 * (first[-1].coef_[0] / scale + second[-1].coef_[0])
    importance = paribus.feature_importance(model, X, ["a", "d"])
    assert importance.provenance.evaluator == "additive_exact"
    assert importance.provenance.sampled_rows is None
    np.testing.assert_allclose(importance.values[0], abs(slope) * X["a"].std(ddof=0), rtol=1e-12)
    found = paribus.h_statistic(model, X)
    assert found.provenance.evaluator == "additive_exact"
    assert not found["numerator_pairwise"].any()
    pair = paribus.accumulated_local_effects(model, X, [("a", "b")])["a", "b"]
    assert pair.provenance.evaluator == "additive_ale"


def test_boosting_gives_its_init_rows_in_single_precision():
    """A step between two single numbers moves to one of them; numbers in double precision lie between."""
    rng = np.random.default_rng(0)
    table = 1.0 + rng.integers(0, 40, size=(200, 2)) * 2.0**-26  # about five of them are one single number
    target = table[:, 0] * 2.0**26 % 8 + table[:, 1]
    start = HistGradientBoostingRegressor(max_iter=4, min_samples_leaf=2)
    model = GradientBoostingRegressor(init=start, n_estimators=2).fit(table, target)
    exact, brute = (
        paribus.partial_dependence(model, table, 0, kind="individual", method=method, grid_resolution=40)
        for method in ("exact", "brute")
    )
    assert np.ptp(brute.individual) > 0.1
    np.testing.assert_allclose(exact.individual, brute.individual, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "model", [VotingRegressor(**of(light, extreme)), GradientBoostingRegressor(n_estimators=4, init=Ridge())]
)
def test_verification_allows_for_single_precision_of_a_part(model):
    effect = paribus.Explainer(model.fit(X[NUMBERS], Y), X[NUMBERS], verify=True).partial_dependence("a")
    assert 1e-12 < effect.provenance.verified_difference < 1e-6
    adapted = adapt(model, table_of(X[NUMBERS]))
    assert not reads_single(adapted)  # unknown before it is read
    structure_of(adapted)
    assert reads_single(adapted)


def test_boosting_from_probabilities_near_one_is_evaluated_itself():
    """The rows of the check have moderate probabilities; a row that is far away has not."""
    rng = np.random.default_rng(1)
    table = np.c_[rng.normal(size=400), rng.normal(size=400)]
    labels = (table[:, 0] + rng.normal(size=400) > 0).astype(int)
    start = FrozenEstimator(LogisticRegression().fit(table, labels))
    model = GradientBoostingClassifier(init=start, n_estimators=2).fit(table, labels)
    table[7, 0] = 12.0
    effect = paribus.partial_dependence(model, table, 1, kind="both", grid_resolution=4)
    assert effect.provenance.evaluator == "brute"
    refusals = [str(refusal) for refusal in effect.provenance.refusals.values()]
    assert any("within 1e-05 of 0 or 1" in refusal for refusal in refusals)


def test_temperature_is_given_probabilities_within_their_range():
    """Trees add up to one but for rounding; a probability beyond it had all rows taken for margins."""
    rng = np.random.default_rng(3)
    table = rng.normal(size=(300, 3))
    labels = (table[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
    forest = RandomForestClassifier(7, max_depth=4, random_state=0)
    model = CalibratedClassifierCV(forest, method="temperature", cv=2).fit(table, labels)
    exact, brute = (
        paribus.partial_dependence(model, table, 0, kind="both", method=method)
        for method in ("auto", "brute")
    )
    assert exact.provenance.evaluator == "combined_exact"
    np.testing.assert_allclose(exact.individual, brute.individual, atol=1e-9)


def test_function_of_a_sum_whose_squares_overflow_is_left_to_the_model():
    table = np.random.default_rng(0).normal(size=(100, 2))
    model = TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp)
    model.fit(table, np.exp(400 + 50 * table[:, 0]))
    found = paribus.partial_dependence(model, table, 0, grid_resolution=5)
    assert found.provenance.evaluator == "brute"
    assert "squares overflow" in " ".join(map(str, found.provenance.refusals.values()))


def test_interactions_of_several_models_are_refused_with_a_reason():
    table = np.random.default_rng(0).normal(size=(40, 2))
    members = [("trees", DecisionTreeRegressor(max_depth=2)), ("line", LinearRegression())]
    model = VotingRegressor(members).fit(table, table[:, 0] * table[:, 1])
    found = paribus.h_statistic(model, table)
    assert found.provenance.evaluator == "brute"
    assert "a function of other models, and not one sum" in found.provenance.refusals["combined_exact"]


def shifted(back, regressor):
    return TransformedTargetRegressor(regressor, func=np.arcsinh, inverse_func=back, check_inverse=False)


@pytest.mark.parametrize(
    "regressor", [Ridge(), RandomForestRegressor(5, random_state=0)], ids=["ridge", "forest"]
)
def test_an_inverse_that_jumps_is_evaluated_by_the_model(regressor):
    numbers = X[NUMBERS]
    for back in (np.round, np.floor, lambda z: np.round(z, 3), lambda z: np.where(z > 0.1, z, 0.0)):
        with pytest.raises(RefusalError, match="by FunctionTransformer, which jumps near"):
            read(shifted(back, regressor).fit(numbers, Y), numbers)
    for back in (np.sinh, np.abs, lambda z: np.maximum(z, 0.1), lambda z: np.sign(z) * np.sqrt(np.abs(z))):
        assert type(read(shifted(back, regressor).fit(numbers, Y), numbers)) is Combination
    model = shifted(np.round, regressor).fit(numbers, Y)
    effect = paribus.partial_dependence(model, numbers, NUMBERS[0], grid_resolution=5)
    points = [model.predict(numbers.assign(**{NUMBERS[0]: value})).mean() for value in effect.grid_values[0]]
    assert effect.provenance.evaluator == "brute"
    np.testing.assert_array_equal(effect.average[0], points)


def test_a_jump_beyond_where_the_inverse_works_is_not_looked_for():
    def back(z):
        if z.max() > 50:
            raise ValueError("too large")
        return np.exp(z)

    numbers = X[NUMBERS]
    assert type(read(shifted(back, Ridge()).fit(numbers, 40 * np.abs(Y)), numbers)) is Combination


def test_steps_behind_single_precision_are_noted():
    numbers, target = X[NUMBERS], np.median(Y) < Y
    boosted = xgboost.XGBClassifier(n_estimators=20, n_jobs=1)
    codes = {}
    for name, model in (
        ("isotonic", CalibratedClassifierCV(boosted, cv=2, method="isotonic")),
        ("sigmoid", CalibratedClassifierCV(boosted, cv=2, method="sigmoid")),
        ("double", CalibratedClassifierCV(light_classes, cv=2, method="isotonic")),
    ):
        model = model.fit(numbers, target)
        effect = paribus.partial_dependence(model, numbers, NUMBERS[0], kind="both", grid_resolution=5)
        assert effect.provenance.evaluator == "combined_exact"
        brute = paribus.partial_dependence(
            model, numbers, NUMBERS[0], kind="both", grid_resolution=5, method="brute"
        )
        codes[name] = [note for note in effect.notes if note.code == "PAR313"]
        assert not [note for note in brute.notes if note.code == "PAR313"]
        slack = max((note.value for note in codes[name]), default=0.0)
        np.testing.assert_allclose(effect.individual, brute.individual, rtol=0, atol=1e-6 + slack)
    (note,) = codes["isotonic"]
    assert 1e-6 < note.value < 1
    assert "CalibratedClassifierCV" in note
    assert not codes["sigmoid"]
    assert not codes["double"]
