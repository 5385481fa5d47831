"""scikit-survival: survival functions, cumulative hazards and risk scores, compared with brute force."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus
from additive_examples import QUIET, agree
from ale_examples import same
from paribus.errors import ModelError, OptionError, RefusalError
from selection import nightly

pytest.importorskip("sksurv")
from sksurv import ensemble, linear_model, meta, tree
from sksurv.util import Surv

from statistic_of import statistic_of

SURVIVAL, HAZARD = "predict_survival_function", "predict_cumulative_hazard_function"
TIMES = [1.5, 2.0, 3.5]


def patients(rows=60, seed=0, missing=False):
    """Return floats, integers and truth values, and times of events and censoring after 1."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=rows),
            "n": rng.integers(0, 5, rows),
            "flag": rng.random(rows) < 0.4,
            "b": rng.gamma(2.0, size=rows),
        }
    )
    risk = np.exp(0.8 * X["a"] - 0.3 * X["n"] + X["a"] * X["flag"])
    time = 1.05 + np.round(rng.exponential(2 / risk), 1)
    event = rng.random(rows) < 0.7
    time[0], event[0] = time.max() + 5.0, False
    if missing:
        X["b"] = X["b"].where(rng.random(rows) > 0.2)
    return X, Surv.from_arrays(event, time)


def naive(model, X, feature, value, times, response=SURVIVAL):
    """Return the mean of the functions of a model at some times, by its step functions."""
    functions = getattr(model, response)(X.assign(**{feature: value}))
    return np.mean([function(np.asarray(times)) for function in functions], axis=0)


FORESTS = {
    "RandomSurvivalForest": lambda **o: ensemble.RandomSurvivalForest(4, min_samples_leaf=4, **o),
    "ExtraSurvivalTrees": lambda **o: ensemble.ExtraSurvivalTrees(4, min_samples_leaf=4, **o),
    "SurvivalTree": lambda **o: tree.SurvivalTree(max_depth=4, **o),
    "ExtraSurvivalTree": lambda **o: tree.ExtraSurvivalTree(max_depth=4, **o),
}


@pytest.mark.parametrize("name", ["RandomSurvivalForest", *nightly(*list(FORESTS)[1:])])
@pytest.mark.parametrize("missing", [*nightly(False), True])
def test_forests_are_exact_at_times_and_as_risk_scores(name, missing):
    X, y = patients(missing=missing)
    model = FORESTS[name](random_state=0).fit(X, y)
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    for options in ({}, {"times": TIMES}, {"times": TIMES, "response_method": HAZARD}):
        requests = (("a", {"kind": "both"}), (["b", "flag"], {"sample_weight": weights}))
        agree(model, X, *requests, evaluator="tree_exact", tolerance=1e-12, **options)
        ale = [
            statistic_of("accumulated_local_effects", model, X, ["b"], method=method, **options, **QUIET)["b"]
            for method in ("exact", "brute")
        ]
        same(*ale, tolerance=1e-12)
    H = [
        paribus.Explainer(model, X, times=TIMES, **QUIET).h_statistic(
            ["a", "b", "flag"], subsample=10, method=method
        )
        for method in ("exact", "brute")
    ]
    np.testing.assert_allclose(H[0].numerator_pairwise, H[1].numerator_pairwise, rtol=0, atol=1e-12)


def test_values_are_those_of_step_functions():
    X, y = patients()
    model = FORESTS["RandomSurvivalForest"](random_state=0).fit(X, y)
    first, last = model.unique_times_[[0, -1]]
    between = (model.unique_times_[3] + model.unique_times_[4]) / 2
    for response in (SURVIVAL, HAZARD):
        times = [first, model.unique_times_[3], between, last]
        have = paribus.Explainer(model, X, times=times, response_method=response, **QUIET).partial_dependence(
            "a", custom_values={"a": [0.5]}
        )
        np.testing.assert_allclose(have.average[:, 0], naive(model, X, "a", 0.5, times, response), rtol=1e-12)
        np.testing.assert_allclose(have.average[1], have.average[2], rtol=1e-12)


@pytest.mark.parametrize("name", ["RandomSurvivalForest", "CoxPHSurvivalAnalysis"])
@pytest.mark.parametrize("method", ["auto", "brute"])
def test_before_the_first_time_nobody_has_died(name, method):
    X, y = patients()
    model = (FORESTS | PROPORTIONAL)[name]().fit(X, y)
    start = model.unique_times_[0] / 2
    for response, value in ((SURVIVAL, 1.0), (HAZARD, 0.0)):
        options = {"times": [0, start], "response_method": response, "method": method}
        have = statistic_of("partial_dependence", model, X, "a", **options, **QUIET)
        np.testing.assert_allclose(have.average, value, rtol=0, atol=1e-15)


PROPORTIONAL = {
    "CoxPHSurvivalAnalysis": lambda: linear_model.CoxPHSurvivalAnalysis(alpha=0.1),
    "CoxnetSurvivalAnalysis": lambda: linear_model.CoxnetSurvivalAnalysis(fit_baseline_model=True),
    "componentwise": lambda: ensemble.ComponentwiseGradientBoostingSurvivalAnalysis(n_estimators=20),
    "componentwise with dropout": lambda: ensemble.ComponentwiseGradientBoostingSurvivalAnalysis(
        n_estimators=20, dropout_rate=0.3, random_state=0
    ),
    "boosting": lambda: ensemble.GradientBoostingSurvivalAnalysis(n_estimators=8, max_depth=2),
    "boosting with dropout": lambda: ensemble.GradientBoostingSurvivalAnalysis(
        learning_rate=0.3, n_estimators=8, dropout_rate=0.4, subsample=0.7, random_state=0
    ),
}


@pytest.mark.parametrize(
    "name", ["CoxPHSurvivalAnalysis", *nightly(*list(PROPORTIONAL)[1:-1]), "boosting with dropout"]
)
def test_proportional_hazards_are_functions_of_the_risk_score(name):
    X, y = patients()
    model = PROPORTIONAL[name]().fit(X, y)
    score = "tree_exact" if "boosting" in name else "additive_exact"
    requests = (("a", {"kind": "both"}), ("n", {}))
    agree(model, X, *requests, evaluator=score, tolerance=1e-12)
    for response in (SURVIVAL, HAZARD):
        options = {"times": TIMES, "response_method": response}
        agree(model, X, *requests, evaluator="combined_exact", tolerance=1e-12, **options)
        ale = [
            statistic_of("accumulated_local_effects", model, X, ["b"], method=method, **options, **QUIET)["b"]
            for method in ("exact", "brute")
        ]
        same(*ale, tolerance=1e-12)
    have = paribus.Explainer(model, X, times=TIMES, **QUIET).partial_dependence(
        "b", custom_values={"b": [2.0]}
    )
    np.testing.assert_allclose(have.average[:, 0], naive(model, X, "b", 2.0, TIMES), rtol=1e-12)


def test_losses_of_times_have_a_logarithmic_link():
    X, y = patients()
    for loss in ("squared", "ipcwls"):
        boosted = ensemble.GradientBoostingSurvivalAnalysis(loss=loss, n_estimators=5).fit(X, y)
        agree(boosted, X, ("a", {"kind": "both"}), evaluator="tree_exact")
        component = ensemble.ComponentwiseGradientBoostingSurvivalAnalysis(loss=loss, n_estimators=5)
        agree(component.fit(X, y), X, ("a", {"kind": "both"}))
        with pytest.raises(ModelError, match="no unique_times_"):
            paribus.Explainer(boosted, X, times=TIMES).partial_dependence("a")
    agree(linear_model.IPCRidge().fit(X, y), X, ("b", {"kind": "both"}))


@pytest.mark.parametrize("seed", [*range(4), *nightly(*range(4, 12))])
def test_random_models_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    X, y = patients(int(rng.integers(40, 120)), seed, missing=bool(rng.random() < 0.4))
    name = str(rng.choice(["RandomSurvivalForest", "ExtraSurvivalTrees"]))
    forest = getattr(ensemble, name)(
        int(rng.integers(1, 6)),
        min_samples_leaf=int(rng.integers(1, 8)),
        max_features=str(rng.choice(["sqrt", "log2"])),
        bootstrap=bool(rng.random() < 0.5),
        random_state=seed,
    )
    fitted = rng.random(len(X)) < 0.8
    fitted[0] = True
    forest.fit(X[fitted], y[fitted], sample_weight=rng.integers(1, 4, fitted.sum()).astype(float))
    times = rng.uniform(0, forest.unique_times_[-1], int(rng.integers(1, 5)))
    options = {"times": times, "response_method": str(rng.choice([SURVIVAL, HAZARD]))}
    weights = rng.random(len(X))
    requests = ((["a", "n"], {}), ("b", {"kind": "both"}), ("n", {"sample_weight": weights}), ("flag", {}))
    agree(forest, X, *requests, evaluator="tree_exact", tolerance=1e-12, **options)


def test_pipelines_tables_and_bound_methods():
    X, y = patients()
    forest = FORESTS["RandomSurvivalForest"](random_state=0)
    for last, evaluator in ((forest, "tree_exact"), (PROPORTIONAL["boosting"](), "combined_exact")):
        chain = make_pipeline(StandardScaler(), last).fit(X, y)
        agree(chain, X, ("a", {"kind": "both"}), evaluator=evaluator, times=TIMES)
    forest.fit(X, y)
    one = paribus.Explainer(forest, X, times=TIMES, **QUIET).partial_dependence("a")
    for other in (
        paribus.Explainer(forest.predict_survival_function, X, times=TIMES, **QUIET).partial_dependence("a"),
        paribus.Explainer(forest, pl.from_pandas(X), times=TIMES, **QUIET).partial_dependence("a"),
    ):
        np.testing.assert_allclose(one.average, other.average, rtol=0, atol=1e-15)
        assert other.provenance.evaluator == "tree_exact"
    alone = paribus.Explainer(forest, X, times=2, **QUIET).partial_dependence("a")
    np.testing.assert_array_equal(alone.average, one.average[1:2])


def test_models_that_are_not_read_are_evaluated_with_a_reason():
    X, y = patients()
    X = X.astype(float)
    stack = meta.Stacking(
        linear_model.CoxPHSurvivalAnalysis(alpha=0.1),
        [("cox", linear_model.CoxPHSurvivalAnalysis(alpha=1.0))],
        probabilities=False,
    ).fit(X, y)
    projected = make_pipeline(PCA(2), linear_model.CoxPHSurvivalAnalysis(alpha=0.1)).fit(X, y)
    for model, reason in ((stack, "Stacking is not among"), (projected, "PCA")):
        have = paribus.Explainer(model, X, times=TIMES, **QUIET).partial_dependence(
            "b", custom_values={"b": [2.0]}, kind="both"
        )
        assert have.provenance.evaluator == "brute"
        assert reason in str(list(have.provenance.refusals.values()))
        np.testing.assert_allclose(have.average[:, 0], naive(model, X, "b", 2.0, TIMES), rtol=1e-12)

    class Customized(ensemble.RandomSurvivalForest):
        pass

    custom = Customized(2, random_state=0).fit(X, y)
    with pytest.raises(RefusalError, match="Customized is not a class of scikit-survival"):
        paribus.Explainer(custom, X, times=TIMES).partial_dependence("a", method="exact")
    forest = FORESTS["RandomSurvivalForest"]().fit(X, y)
    forest.predict_survival_function = lambda X, return_array: np.ones((len(X), len(forest.unique_times_)))
    have = paribus.Explainer(forest, X, times=TIMES, **QUIET).partial_dependence("a")
    assert have.provenance.evaluator == "brute"
    assert (have.average == 1.0).all()


def test_brute_force_predicts_in_portions(monkeypatch):
    X, y = patients()
    forest = FORESTS["RandomSurvivalForest"](random_state=0).fit(X, y)
    tables = X.set_axis(np.linspace(0.0, 1.0, len(X))), pl.from_pandas(X)
    options = {"times": TIMES, "method": "brute", "grid_resolution": 3, **QUIET}
    wanted = [statistic_of("partial_dependence", forest, table, 0, **options) for table in tables]
    monkeypatch.setattr("paribus._models.survival.PORTION", 7 * len(forest.unique_times_))
    for table, want in zip(tables, wanted, strict=True):
        have = statistic_of("partial_dependence", forest, table, 0, **options)
        np.testing.assert_allclose(have.average, want.average, rtol=0, atol=1e-14)


def test_every_function_accepts_times():
    X, y = patients()
    forest = FORESTS["RandomSurvivalForest"](random_state=0).fit(X, y)
    names = ("survival at 1.5", "survival at 2", "survival at 3.5")
    explainer = paribus.Explainer(forest, X, times=TIMES, **QUIET)
    found = (
        explainer.effects()["a"],
        paribus.Explainer(forest, X, times=TIMES, **QUIET).effects(["a"])["a"],
        paribus.Explainer(forest, X, times=TIMES, **QUIET).accumulated_local_effects(["a"])["a"],
        paribus.Explainer(forest, X, times=TIMES, **QUIET).marginal(features=["a"])["a"],
        paribus.Explainer(forest, X, times=TIMES, **QUIET).h_statistic(["a", "b"]),
        paribus.Explainer(forest, X, times=TIMES, **QUIET).feature_importance(),
        paribus.Explainer(forest, X, times=TIMES, **QUIET).explain().effects["a"],
    )
    for one in found:
        assert one.output_names == names
        assert one.provenance.scale.base == "survival"
        assert one.provenance.response == SURVIVAL
    paribus.Explainer(forest, X, times=TIMES, **QUIET).regions(["a"])
    hazards = paribus.Explainer(forest, X, times=TIMES, response_method=HAZARD, **QUIET).partial_dependence(
        "a"
    )
    assert hazards.output_names[0] == "cumulative hazard at 1.5"
    named = paribus.Explainer(forest, X, times=[2], target_names=["two years"], **QUIET).partial_dependence(
        "a"
    )
    assert named.output_names == ("two years",)


def test_plots_have_one_line_for_each_time():
    X, y = patients()
    forest = FORESTS["RandomSurvivalForest"](random_state=0).fit(X, y)
    result = paribus.Explainer(forest, X, times=TIMES, **QUIET).partial_dependence("a")
    (panel,) = result.figure().panels
    assert [mark.label for mark in panel.marks if type(mark).__name__ == "Line" and mark.label] == list(
        result.output_names
    )


def test_importance_of_the_model_and_targets():
    X, y = patients()
    forest = FORESTS["RandomSurvivalForest"](random_state=0).fit(X, y)
    with pytest.raises(RefusalError, match="it reports none"):
        paribus.feature_importance(forest, X, kind="model")
    boosted = PROPORTIONAL["boosting"]().fit(X, y)
    own = paribus.feature_importance(boosted, X, kind="model")
    assert "decrease of impurity" in str(own)
    with pytest.raises(OptionError, match="times has no meaning for kind='model'"):
        paribus.Explainer(boosted, X, times=TIMES).feature_importance(kind="model")
    with pytest.raises(paribus.errors.InputError, match="or no y for a survival model"):
        paribus.explain(boosted, X, y, **QUIET)


@pytest.mark.parametrize("times", [[], [-1], [np.nan], [1, 1], ["1"], [[1, 2]], "soon", [np.inf]])
def test_times_must_be_distinct_numbers(times):
    X, y = patients()
    model = PROPORTIONAL["CoxPHSurvivalAnalysis"]().fit(X, y)
    with pytest.raises(OptionError, match=r"^times=.* must be one or more distinct numbers"):
        paribus.Explainer(model, X, times=times).partial_dependence("a")


def test_times_out_of_range_and_other_models_are_refused():
    X, y = patients()
    model = PROPORTIONAL["CoxPHSurvivalAnalysis"]().fit(X, y)
    with pytest.raises(OptionError, match=r"end at .*, the last time of its training data; omit 1000.0"):
        paribus.Explainer(model, X, times=[1, 1000]).partial_dependence("a")
    with pytest.raises(OptionError, match="is a function of time; pass times="):
        paribus.partial_dependence(model, X, "a", response_method=SURVIVAL)
    with pytest.raises(OptionError, match="no meaning for response_method='predict'"):
        paribus.Explainer(model, X, response_method="predict", times=[1]).partial_dependence("a")
    with pytest.raises(OptionError, match="pass a survival model, or omit times"):
        paribus.Explainer(lambda t: t["a"], X, times=[1]).partial_dependence("a")
    with pytest.raises(OptionError, match=r"times=\[1\] requires a model"):
        paribus.Explainer(None, X, y=y["time"], times=[1]).marginal(["a"])
    search = GridSearchCV(linear_model.CoxPHSurvivalAnalysis(), {"alpha": [0.1, 1.0]}, cv=2).fit(X, y)
    with pytest.raises(OptionError, match="pass its best_estimator_"):
        paribus.Explainer(search, X, times=[1]).partial_dependence("a")
    low = ensemble.RandomSurvivalForest(3, low_memory=True, random_state=0).fit(X, y)
    with pytest.raises(ModelError, match="not implemented in low memory mode"):
        paribus.Explainer(low, X, times=TIMES).partial_dependence("a")
    agree(low, X, ("a", {"kind": "both"}), evaluator="tree_exact")
