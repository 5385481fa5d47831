"""Local effects and interactions of sums of terms equal those of the model itself."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import paribus
from additive_examples import QUIET, mixed, numbers
from ale_examples import same
from paribus import accumulated_local_effects, feature_importance, h_statistic
from paribus.errors import MemoryBoundError, RefusalError

WEIGHTS = np.random.default_rng(0).integers(0, 3, 90).astype(float)
PAIRS = [("a", "b"), ("n", "city")]


class Function:
    """A model of which nothing can be read."""

    def __init__(self, predict):
        self.predict = predict


def pipeline(last, target):
    X, _ = mixed()
    number = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    steps = [("n", number, ["a", "b", "n"]), ("w", OneHotEncoder(), ["city"]), ("f", "passthrough", ["flag"])]
    return make_pipeline(ColumnTransformer(steps), last).fit(X, target), X


@pytest.mark.parametrize(
    ("name", "weights"), [("Ridge", None), ("LogisticRegression", WEIGHTS), ("PoissonRegressor", None)]
)
def test_ale_of_one_feature_and_two_is_that_of_model_itself(name, weights):
    y = mixed()[1]
    last, target = {
        "Ridge": (Ridge(), np.stack([y, y**2], axis=1)),
        "LogisticRegression": (LogisticRegression(), np.digitize(y, [0.0, 1.0])),
        "PoissonRegressor": (PoissonRegressor(), np.exp(y - y.max())),
    }[name]
    model, X = pipeline(last, target)
    options = {**QUIET, "sample_weight": weights, "grid_resolution": 4}
    for features in (None, PAIRS):
        have = accumulated_local_effects(model, X, features, **options)
        want = accumulated_local_effects(model, X, features, method="brute", **options)
        assert have.provenance.evaluator == "additive_ale", have.provenance.refusals
        assert have.provenance.predictions == 0
        for key, effect in have.items():
            same(effect, want[key], 1e-9)


def test_ale_of_two_features_is_exactly_zero_where_response_is_the_sum():
    model, X = pipeline(Ridge(), mixed()[1])
    for effect in accumulated_local_effects(model, X, PAIRS, **QUIET).values():
        assert (effect.ale == 0).all()
        assert (effect.standard_error == 0).all()
    single = accumulated_local_effects(model, X, ["a"], **QUIET)["a"]
    np.testing.assert_allclose(single.standard_error, 0.0, atol=1e-15)


def test_interactions_of_a_sum_are_exactly_zero():
    y = mixed()[1]
    model, X = pipeline(Ridge(), np.stack([y, y**2], axis=1))
    options = {**QUIET, "sample_weight": WEIGHTS, "threeway": 3}
    have = h_statistic(model, X, **options)
    want = h_statistic(model, X, method="brute", subsample=len(X), **options)
    assert have.provenance.evaluator == "additive_exact", have.provenance.refusals
    assert (have["numerator_pairwise"] == 0).all()
    for name in ("pairwise", "overall", "total", "threeway"):
        mine, theirs = getattr(have, name), getattr(want, name)
        assert (mine.numerator == 0).all()
        assert (mine.numerator_error == 0).all()
        assert (mine.share == 0).all()
        np.testing.assert_allclose(mine.denominator, theirs.denominator, rtol=1e-9)
    np.testing.assert_allclose(have.variance, want.variance, rtol=1e-9)
    mine, theirs = (
        feature_importance(one, X, sample_weight=WEIGHTS, subsample=None, **QUIET)
        for one in (model, Function(model.predict))
    )
    assert mine.provenance.evaluator == "additive_exact"
    assert theirs.provenance.evaluator == "brute"
    np.testing.assert_allclose(mine.values, theirs.values, rtol=1e-9)
    np.testing.assert_allclose(mine.standard_error, theirs.standard_error, rtol=1e-9)


def test_standard_errors_from_a_sample_are_near_those_of_every_row():
    X, y = numbers(9_000)
    model = Ridge().fit(X, y)
    found = feature_importance(model, X, **QUIET)
    effects = (X - X.mean()).to_numpy(dtype=float) * model.coef_
    squares = effects**2
    want = squares.std(axis=0) / np.sqrt(len(X)) / (2 * np.sqrt(squares.mean(axis=0)))
    order = [list(X.columns).index(name) for name in found.feature_names]
    np.testing.assert_allclose(found.values.ravel(), np.sqrt(squares.mean(axis=0))[order], rtol=1e-9)
    np.testing.assert_allclose(found.standard_error.ravel(), want[order], rtol=0.1)
    assert found.provenance.standard_error_rows == 4_096


def test_interactions_of_probabilities_are_refused_with_the_response_that_is_a_sum():
    model, X = pipeline(LogisticRegression(), mixed()[1] > 0)
    with pytest.raises(RefusalError, match=r"predict_proba is not a sum of terms.*decision_function"):
        h_statistic(model, X, method="exact", **QUIET)
    found = h_statistic(model, X, method="exact", response_method="decision_function", **QUIET)
    assert (found["numerator_pairwise"] == 0).all()


def test_features_that_a_step_joins_are_refused_and_others_are_not():
    X, y = numbers()
    joined = ColumnTransformer([("p", PCA(2), ["a", "b"]), ("n", "passthrough", ["n", "flag"])])
    X = X.astype(float)
    model = make_pipeline(joined, Ridge()).fit(X, y)
    found = accumulated_local_effects(model, X, ["n", "a"], **QUIET)
    assert "PCA" in str(found["a"].provenance.refusals)
    alone = accumulated_local_effects(model, X, ["n"], **QUIET)
    assert alone.provenance.evaluator == "additive_ale"
    assert "PCA" in str(h_statistic(model, X, **QUIET).provenance.refusals)
    some = h_statistic(model, X, ["n", "flag"], **QUIET)
    assert some.provenance.evaluator == "additive_exact"
    assert (some["numerator_pairwise"] == 0).all()


def test_memory_bound_is_kept_or_refused():
    X, y = numbers(20_000)
    model = Ridge().fit(X, y)
    for verb, field in (("accumulated_local_effects", "ale"), ("h_statistic", "variance")):
        explainers = [
            paribus.Explainer(model, X, max_memory=size, **QUIET) for size in ("1GB", "3MB", "20kB")
        ]
        calls = [getattr(explainer, verb) for explainer in explainers]
        found = [call(method="exact") for call in calls[:2]]
        want, have = (getattr(one["a"] if field == "ale" else one, field) for one in found)
        np.testing.assert_allclose(have, want, rtol=1e-9, atol=1e-12)
        with pytest.raises((MemoryBoundError, RefusalError), match="max_memory"):
            calls[2](method="exact")


def test_statistics_of_one_run_share_the_rows_that_preprocessing_makes(monkeypatch):
    model, X = pipeline(Ridge(), mixed()[1])
    made = []
    transform = StandardScaler.transform
    monkeypatch.setattr(
        StandardScaler, "transform", lambda self, X: made.append(len(X)) or transform(self, X)
    )
    explainer = paribus.Explainer(model, X, **QUIET)
    explainer.effects()
    alone = sum(made)
    made.clear()
    explainer.run(("effects", {}), ("accumulated_local_effects", {}))
    assert sum(made) < 2 * alone
