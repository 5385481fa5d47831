"""Explainable boosting machines: each term is a tree, and all of them predict as the machine does."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

import paribus
from additive_examples import QUIET, agree
from ale_examples import same
from paribus import partial_dependence
from paribus.errors import RefusalError

glassbox = pytest.importorskip("interpret.glassbox")
FITTED = {"outer_bags": 1, "max_rounds": 30, "n_jobs": 1, "random_state": 0}
TREES = {"evaluator": "tree_exact"}


def people(rows=120):
    """Return numbers with ties and gaps, text with gaps and a rare category, integers and truth values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "a": np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows).round(1)),
            "city": rng.choice(["oslo", "rome", "bern", None], rows, p=[0.5, 0.3, 0.1, 0.1]),
            "n": rng.integers(0, 5, rows),
            "flag": rng.random(rows) < 0.5,
            "b": rng.normal(size=rows),
        }
    )
    a = X["a"].fillna(1.0)
    return X, (2 * X["b"] + (X["city"] == "oslo") * a + a * X["b"] + X["flag"] * X["n"]).to_numpy()


def machine(X, y, kind="Regressor", **options):
    pairs = [("a", "b"), ("a", "city"), ("city", "n")] if "city" in X else 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of missing values, which its own pictures do not show
        model = getattr(glassbox, f"ExplainableBoosting{kind}")(interactions=pairs, **FITTED, **options)
        return model.fit(X, y)


REQUESTS = (
    ("a", {"kind": "both"}),
    ("city", {"kind": "both"}),
    ("flag", {}),
    (["a", "b"], {}),
    (["a", "city"], {}),
)


def test_regression_with_gaps_unseen_categories_and_infinite_values():
    X, y = people()
    model = machine(X, y)
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    agree(model, X, *REQUESTS[3:], **TREES, sample_weight=weights)
    X.loc[3, "city"], X.loc[5, "a"], X.loc[6, "a"] = "unseen", np.inf, -np.inf
    agree(model, X, *REQUESTS, **TREES)
    X["city"] = X["city"].astype("category")
    agree(model, X, REQUESTS[1], **TREES)


@pytest.mark.parametrize("classes", [2, 3])
def test_classification_on_every_scale(classes):
    X, y = people()
    model = machine(X, np.digitize(y, np.quantile(y, np.arange(1, classes) / classes)), "Classifier")
    agree(model, X, *REQUESTS[2:4], **TREES)
    agree(model, X, REQUESTS[1], **TREES, response_method="decision_function")
    agree(model.predict_proba, X, REQUESTS[0], **TREES)
    with pytest.raises(RefusalError, match="class labels, not a sum of terms"):
        partial_dependence(model, X, "a", response_method="predict", method="exact", **QUIET)


def test_logarithmic_link_arrays_and_preprocessing():
    X, y = people()
    agree(machine(X, np.exp(y - y.max()), objective="poisson_deviance"), X, REQUESTS[0], **TREES)
    numbers = X[["a", "n", "b"]].to_numpy(dtype=float)
    agree(machine(numbers, y), numbers, (0, {"kind": "both"}), ([1, 2], {}), **TREES)
    agree(make_pipeline(SimpleImputer(), machine(numbers, y)).fit(numbers, y), numbers, (0, {}), **TREES)


@pytest.mark.parametrize("kind", ["nominal", "ordinal", "continuous"])
def test_integers_and_truth_values_of_every_type(kind):
    X, y = people()
    ranked = ["4", "2", "0", "1", "3"]  # an ordinal feature is declared by its categories in order
    own = [ranked, "nominal"] if kind == "ordinal" else [kind, kind]
    types = ["continuous", "nominal", *own, "continuous"]
    model = machine(X, y, feature_types=types)
    agree(model, X, ("n", {"kind": "both"}), ("flag", {}), (["city", "n"], {}), **TREES)
    if kind == "nominal":
        agree(model, X.astype({"n": float}), ("n", {"custom_values": {"n": [0.0, 3.0, 9.0]}}), **TREES)
        halves = X.astype({"n": float})
        halves.loc[3, "n"] = 0.5
        found = partial_dependence(model, halves, "a", grid_resolution=3, **QUIET)
        assert "category 0.5, which is neither text nor an integer" in str(found.provenance.refusals)


@pytest.mark.nightly
def test_all_statistics_go_through_its_terms():
    X, y = people()
    model = machine(X, y)
    have = paribus.h_statistic(model, X, ["a", "city", "b"], **QUIET)
    want = paribus.h_statistic(model, X, ["a", "city", "b"], method="brute", subsample=len(X), **QUIET)
    assert have.provenance.evaluator == "tree_exact"
    np.testing.assert_allclose(have["numerator_pairwise"], want["numerator_pairwise"], rtol=1e-6, atol=1e-12)
    assert have["numerator_pairwise"][2] == 0  # city and b share no term
    local, brute = (
        paribus.accumulated_local_effects(model, X, ["a", "city"], method=how, **QUIET)
        for how in ("auto", "brute")
    )
    assert local.provenance.evaluator == "tree_ale"
    for key, effect in local.items():
        same(effect, brute[key], 1e-9)
    splits = paribus.Explainer(model, X, verify=True, **QUIET).partial_dependence(
        "b", grid_resolution="splits"
    )
    assert splits.provenance.evaluator == "tree_exact"


def test_what_is_not_as_known_is_refused(monkeypatch):
    X, y = people()
    model = machine(X, y)
    for change, reason in (
        ({"link_": "cauchit"}, "link 'cauchit' of ExplainableBoostingRegressor is not known"),
        ({"term_scores_": [scores[1:] for scores in model.term_scores_]}, "scores of shape"),
        ({"feature_types_in_": ["fuzzy"] * 5}, "of the type 'fuzzy'"),
        ({"bins_": [[np.array([2.0, 1.0])]] * 5, "feature_types_in_": ["continuous"] * 5}, "not rising"),
    ):
        changed = Changed(model, change)
        with pytest.raises(RefusalError, match=reason):
            paribus._models.libraries.library_for(model).read_trees(changed)
    with monkeypatch.context() as patched:
        patched.setattr(paribus._models.libraries.interpret, "MOST_LEAVES", 3)
        with pytest.raises(RefusalError, match=r"a term of 1 features has .* combinations of bins"):
            paribus._models.libraries.library_for(model).read_trees(model)
    tree = glassbox.RegressionTree().fit(X[["b"]], y)
    found = partial_dependence(tree, X[["b"]], "b", grid_resolution=3, **QUIET)
    assert "RegressionTree" in str(found.provenance.refusals)


def Changed(model, change):
    """Return a machine that is the same but for some attributes."""
    made = object.__new__(type(model))
    vars(made).update(vars(model) | change)
    return made
