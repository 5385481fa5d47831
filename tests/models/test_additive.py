"""Models that are sums of terms: what is read of them predicts as they do, or is refused by name."""

import functools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import linear_model, naive_bayes
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC, LinearSVR

import paribus
from additive_examples import QUIET, TABLES, agree, mixed, numbers
from paribus import partial_dependence
from paribus._models.additive.readers import CLASSIFIERS, LOGARITHMIC, REGRESSORS
from paribus.errors import ModelError, RefusalError

ONE, PAIR = ("a", {"kind": "both"}), (["n", "b"], {})
ARGUMENTS = {
    "QuantileRegressor": {"solver": "highs"},
    "SGDClassifier": {"loss": "log_loss"},
    "TheilSenRegressor": {"max_subpopulation": 50},
    "TweedieRegressor": {"power": 1.5},
    "GammaRegressor": {"alpha": 0.1},
}


def made(name, **arguments):
    """Return a model of scikit-learn by its name, seeded where that is possible."""
    own = {
        "LinearSVC": LinearSVC,
        "LinearSVR": LinearSVR,
        "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
    }
    kind = own.get(name) or getattr(linear_model, name, None)
    if kind is None:
        pytest.skip(f"this release of scikit-learn has no {name}")
    model = kind(**{**ARGUMENTS.get(name, {}), **arguments})
    return model.set_params(random_state=0) if "random_state" in model.get_params() else model


def fitted(model, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning, FutureWarning))
        return model.fit(X, y)


@pytest.fixture(autouse=True)
def _quiet_releases():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module="sklearn")
        yield


@pytest.mark.parametrize(("number", "name"), list(enumerate(sorted(REGRESSORS | LOGARITHMIC))))
def test_regression_is_sum_of_its_terms(number, name):
    X, y = numbers()
    target = np.exp(y - y.max()) if name in LOGARITHMIC else y
    if name.startswith("MultiTask"):
        target = np.stack([y, y**2], axis=1)
    kind = list(TABLES)[number % len(TABLES)]
    table = TABLES[kind](X)
    model = fitted(made(name), table, target)
    requests = (0, {"kind": "both"}), ([1, 3], {})
    agree(model, table, *requests[: 1 + (number % 5 == 0)])  # pairs are added up in one way for all


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", sorted(CLASSIFIERS))
def test_classifier_is_sum_of_its_terms_on_every_scale(name, classes):
    X, y = numbers()
    labels = np.array(["low", "mid", "top"])[np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))]
    model = fitted(made(name), X, labels)
    agree(model, X, ONE, response_method="decision_function")
    if not hasattr(model, "predict_proba"):
        return
    if name == "SGDClassifier" and classes == 3:
        with pytest.raises(RefusalError, match=r"SGDClassifier.*of 3 classes is not a known function"):
            partial_dependence(model, X, "a", method="exact", **QUIET)
        return
    agree(model, X, PAIR)
    agree(model.predict_proba, X, ONE)  # both of two classes


def test_several_targets_and_links_of_tweedie():
    X, y = numbers()
    agree(linear_model.LinearRegression().fit(X, np.stack([y, -y, y**2], axis=1)), X, ONE, PAIR)
    agree(linear_model.Ridge(fit_intercept=False).fit(X, y[:, None]), X, ONE)
    for power, link in ((0, "auto"), (0, "log"), (1, "identity"), (3, "auto")):
        model = fitted(
            linear_model.TweedieRegressor(power=power, link=link, max_iter=1000), X, np.exp(0.2 * y)
        )
        agree(model, X, ONE)


def discrete(X):
    """Return columns as counts, which every naive Bayes classifier takes."""
    return X.assign(a=(X["a"] > 0).astype(int) + (X["a"] > 1), b=X["b"].round(), flag=X["flag"].astype(int))


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    "name", ["GaussianNB", "BernoulliNB", "MultinomialNB", "ComplementNB", "CategoricalNB"]
)
def test_naive_bayes_is_sum_of_its_terms(name, classes):
    X, y = numbers()
    labels = np.digitize(y, np.quantile(y, np.arange(1, classes) / classes))
    table = X if name == "GaussianNB" else discrete(X)
    X = table if classes == 2 else table.to_numpy(dtype=float)
    model = getattr(naive_bayes, name)().fit(X, labels)
    agree(model, X, (0, {"kind": "both"}), ([1, 3], {}))
    agree(model.predict_proba, X, (0, {}))
    with pytest.raises(RefusalError, match=f"predict of {name} gives class labels"):
        partial_dependence(model, X, 0, response_method="predict", method="exact", **QUIET)


def test_terms_of_naive_bayes_behind_preprocessing_dense_and_sparse():
    X, y = mixed()
    onehot = OneHotEncoder(handle_unknown="ignore")
    bins = KBinsDiscretizer(3, encode="onehot", quantile_method="averaged_inverted_cdf")
    sparse = ColumnTransformer(
        [("bins", make_pipeline(SimpleImputer(), bins), ["a", "b"]), ("city", onehot, ["city"])],
        sparse_threshold=1,
    )
    for last in (
        naive_bayes.BernoulliNB(),
        naive_bayes.BernoulliNB(binarize=None),
        naive_bayes.MultinomialNB(),
    ):
        agree(make_pipeline(sparse, last).fit(X, y > 0), X, (["b", "city"], {}))
    dense = make_column_transformer((SimpleImputer(), ["a", "b", "n"]))
    agree(make_pipeline(dense, naive_bayes.GaussianNB()).fit(X, y > 0), X, ("b", {}), (["a", "n"], {}))


@pytest.mark.parametrize("threshold", [0, 1])
def test_linear_models_behind_preprocessing_dense_and_sparse(threshold):
    X, y = mixed()
    number = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    prepared = ColumnTransformer(
        [("n", number, ["a", "b", "n"]), ("w", OneHotEncoder(), ["city"])], sparse_threshold=threshold
    )
    requests = ("b", {"kind": "both"}), ("city", {}), (["n", "city"], {})
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    if not threshold:
        agree(make_pipeline(prepared, linear_model.Ridge()).fit(X, y), X, *requests, sample_weight=weights)
        return
    model = make_pipeline(prepared, linear_model.LogisticRegression()).fit(X, np.digitize(y, [0.0, 1.0]))
    agree(model, X, *requests[:2], sample_weight=weights)
    model[-1].sparsify()  # its coefficients are a sparse matrix from here on
    agree(model, X, requests[2])


def test_single_precision_is_met_up_to_its_own_rounding():
    X = numbers()[0].to_numpy(dtype=np.float32)
    y = numbers()[1].astype(np.float32)
    agree(linear_model.Ridge().fit(X, y), X, (0, {"kind": "both"}), tolerance=3e-6)
    agree(linear_model.Ridge().fit(X.astype(float), y), X, (0, {"kind": "both"}))
    model = naive_bayes.BernoulliNB(binarize=0.1).fit(X, y > 0)
    agree(model, X, (0, {}), tolerance=3e-6)
    X[0, 0] = 0.1  # above 0.1 in double precision, and not in single
    with pytest.raises(RefusalError, match=r"threshold 0\.1 in single precision"):
        partial_dependence(model, X, 0, method="exact", **QUIET)


def test_columns_in_another_order_are_found_by_name_as_model_does():
    X, y = numbers()
    model = linear_model.Ridge().fit(X, y)
    agree(model, X[["b", "flag", "a", "n"]], ("a", {}), ("b", {}))


def test_missing_and_infinite_values_are_refused_as_model_does():
    X, y = numbers()
    for name, coefficient in (("a", 1.0), ("b", 0.0)):  # also where nothing depends on the column
        for value in (np.nan, np.inf):
            model = linear_model.Ridge().fit(X, y)
            model.coef_ = np.where(X.columns == name, coefficient, model.coef_)
            damaged = X.astype(float)
            damaged.loc[7, name] = value
            with pytest.raises(ModelError, match=r"NaN|infinity"):
                partial_dependence(model, damaged, "n", **QUIET)
            assert partial_dependence(model, damaged, "n", sample_weight=np.arange(len(X)) != 7, **QUIET)


def test_a_category_that_was_not_fitted_is_left_to_model():
    X = discrete(numbers()[0])
    model = naive_bayes.CategoricalNB().fit(X, numbers()[1] > 0)
    X.loc[7, "n"] = 40
    with pytest.raises(ModelError, match="IndexError"):
        partial_dependence(model, X, "a", **QUIET)


class Customized(linear_model.Ridge):
    def predict(self, X):
        return np.round(super().predict(X))


def test_what_customizes_predictions_is_refused():
    X, y = numbers()
    with pytest.raises(RefusalError, match="Customized is not a class of scikit-learn"):
        partial_dependence(Customized().fit(X, y), X, "a", method="exact", **QUIET)
    model = linear_model.Ridge().fit(X, y)
    model.predict = lambda X: np.ones(len(X))
    with pytest.raises(RefusalError, match="predict of this Ridge was replaced"):
        partial_dependence(model, X, "a", method="exact", **QUIET)
    steps = make_pipeline(StandardScaler(), linear_model.Ridge()).fit(X, y)
    steps[-1].predict = lambda X: np.ones(len(X))
    with pytest.raises(RefusalError, match="predict of this Ridge was replaced"):
        partial_dependence(steps, X, "a", method="exact", **QUIET)


@pytest.mark.parametrize(
    ("model", "response", "reason"),
    [
        (linear_model.LogisticRegression(), "predict", "predict of LogisticRegression gives class labels"),
        (linear_model.SGDClassifier("modified_huber"), "predict_proba", "loss='modified_huber'"),
        (QuadraticDiscriminantAnalysis(), "predict_proba", "QuadraticDiscriminantAnalysis is not among"),
    ],
)
def test_a_response_that_is_no_sum_of_terms_is_refused_by_name(model, response, reason):
    X, y = numbers()
    model = model.fit(X, (y > 0).astype(int))
    with pytest.raises(RefusalError, match=reason):
        partial_dependence(model, X, "a", response_method=response, method="exact", **QUIET)
    assert (
        partial_dependence(model, X, "a", response_method=response, **QUIET).provenance.evaluator == "brute"
    )


def test_coefficients_that_are_not_finite_or_not_its_own_are_refused():
    X, y = numbers()
    model = naive_bayes.MultinomialNB(alpha=0, force_alpha=True)
    table = discrete(X).assign(empty=0)
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        model.fit(table, y > 0)
        found = partial_dependence(model, table, "a", grid_resolution=3, **QUIET)
    assert "coefficient of MultinomialNB is not finite" in str(found.provenance.refusals)


def test_predictions_that_overflow_are_left_to_brute_force():
    X, y = numbers()
    model = linear_model.PoissonRegressor().fit(X, np.exp(y - y.max()))
    X.loc[5, "b"] = 1e4
    model.coef_ = np.array([0.0, 0.0, 0.0, 0.05])
    found = partial_dependence(model, X, "a", **QUIET)
    assert found.provenance.evaluator == "brute"
    assert "sums of their squares overflow" in str(found.provenance.refusals)
    assert np.isfinite(found.average).all()


def test_a_large_term_leaves_the_digits_of_others():
    """Its term taken out of the margin, a column of large numbers leaves what the others add."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"large": 1e12 * rng.random(60), "a": rng.normal(size=60), "b": rng.normal(size=60)})
    model = linear_model.LinearRegression().fit(X, X["a"])
    model.coef_, model.intercept_ = np.array([1.0, 1.0, 1.0]), 0.0
    given = {**QUIET, "kind": "both", "custom_values": {"large": [0.0]}}
    have = partial_dependence(model, X, "large", **given)
    np.testing.assert_allclose(have.individual[0, :, 0], X["a"] + X["b"], rtol=1e-12)


def test_standard_errors_of_parallel_curves_are_those_of_every_row():
    X, y = numbers(2_500)
    model = linear_model.Ridge().fit(X, y)
    have = partial_dependence(model, X, "a", **QUIET)
    want = partial_dependence(model, X, "a", method="brute", **QUIET)
    np.testing.assert_allclose(have.standard_error, want.standard_error, rtol=1e-9)
    assert have.provenance.standard_error_rows == len(X)


def test_quantiles_of_curves_are_those_of_brute_force():
    X, y = numbers()
    model = linear_model.PoissonRegressor().fit(X, np.exp(y - y.max()))
    given = {**QUIET, "quantiles": (0.1, 0.5), "grid_resolution": 4}
    have, want = (paribus.partial_dependence(model, X, "a", method=how, **given) for how in ("auto", "brute"))
    np.testing.assert_allclose(have.quantiles.values, want.quantiles.values, rtol=1e-9)


def test_a_method_replaced_on_a_class_customizes_predictions(monkeypatch):
    X, y = numbers()
    model = linear_model.Ridge().fit(X, y)
    steps = make_pipeline(StandardScaler(), linear_model.Ridge()).fit(X, y)
    for kind, method, fitted, why in (
        (linear_model.Ridge, "predict", model, "predict of this Ridge was replaced"),
        (linear_model.Ridge, "predict", steps, "predict of this Ridge was replaced"),
        (StandardScaler, "transform", steps, "StandardScaler"),
    ):
        own = getattr(kind, method)

        @functools.wraps(own)  # which gives it the name and the module of the method
        def changed(self, table, own=own):
            made = np.asarray(own(self, table))
            return np.where(np.abs(made) > 1e6, 0.0, made)

        with monkeypatch.context() as patched:
            patched.setattr(kind, method, changed, raising=True)
            with pytest.raises(RefusalError, match=why):
                partial_dependence(fitted, X, "a", method="exact", **QUIET)
        partial_dependence(fitted, X, "a", method="exact", **QUIET)
