"""Mixed tables as people have them, and exact estimates behind preprocessing held to brute force."""

from copy import deepcopy

import numpy as np
import pandas as pd

import paribus

NUMBERS, WORDS = ["age", "power", "price"], ["city", "brand"]


def mixed_table(n=90, seed=0):
    """Return integers, floats with gaps, text, a category with gaps and a flag, and a target of them all."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "power": np.where(rng.random(n) < 0.1, np.nan, rng.gamma(4, 25, n)),
            "price": rng.lognormal(3, 0.6, n),
            "city": rng.choice(["Bern", "Basel", "Genf", "Zug"], n, p=[0.5, 0.3, 0.15, 0.05]).astype(object),
            "brand": pd.Categorical(rng.choice(["A", "B", "C", None], n)),
            "flag": rng.random(n) < 0.4,
        }
    )
    y = (
        0.02 * X["age"]
        + np.log(X["power"].fillna(50)) * (X["brand"] == "A").astype(float)
        + (X["city"] == "Bern") * (1 + X["flag"])
        + 0.01 * X["price"]
        + rng.normal(0, 0.1, n)
    )
    return X, y.to_numpy()


def tolerance_of(model, X):
    """Return how far exact may be from brute force: some models add up in single precision, as XGBoost does."""
    return (
        3e-6 if np.asarray(model.predict(deepcopy(X[:2]))).dtype == np.float32 or _is_xgboost(model) else 1e-9
    )


def _is_xgboost(model):
    return _is_xgboost(model.steps[-1][1]) if hasattr(model, "steps") else "xgboost" in repr(type(model))


def refusals_of(model, X, requests, *, sample_weight=None, **options):
    """Return by request why an effect is evaluated by brute force; what is exact must equal brute force."""
    explainer = paribus.Explainer(model, X, sample_weight=sample_weight, progress=False)
    options, refusals = {"grid_resolution": 5, **options}, {}
    for features in requests:
        have = explainer.partial_dependence(features, **options)
        if have.provenance.evaluator == "brute":
            refusals[str(features)] = "; ".join(map(str, have.provenance.refusals.values()))
            continue
        want = explainer.partial_dependence(features, method="brute", **options)
        assert want.provenance.evaluator == "brute"
        # Of the size of predictions, whose average may nearly vanish.
        drawn = want.average if want.individual is None else want.individual
        tolerance = tolerance_of(model, X) * max(1e-9, float(np.abs(drawn).max()))
        np.testing.assert_allclose(have.average, want.average, rtol=0, atol=tolerance)
        if options.get("kind") == "both":
            np.testing.assert_allclose(have.individual, want.individual, rtol=0, atol=tolerance)
    return refusals


def refusal_of(model, X, features, **options):
    """Return why one effect is evaluated by brute force, empty where it is exact."""
    return refusals_of(model, X, [features], **options).get(str(features), "")
