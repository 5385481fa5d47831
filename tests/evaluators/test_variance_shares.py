"""The share of the variance of the prediction that curves reproduce and that pairs add, against naive code."""

from itertools import combinations

import lightgbm
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression

import paribus
from selection import nightly

QUIET = {"progress": False}


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=list("abcd"))
    X["b"] += 0.6 * X["a"]
    X.loc[::7, "c"] = np.nan
    X["d"] = np.round(X["d"])
    return X


def target(X):
    c = X["c"].fillna(1)
    return X["a"] * X["b"] + c + X["a"] * c * X["d"] + 0.3 * X["d"]


def naive(predict, X, features, w=None):
    """Return the two shares ``(o,)`` by loops over rows and pairs."""
    w = np.ones(len(X)) if w is None else w
    w = w / w.sum()

    def centered(values):
        return values - w @ values

    def effect(names):
        found = []
        for i in range(len(X)):
            moved = X.copy()
            for name in names:
                moved[name] = X[name].iloc[i]
            found.append(w @ predict(moved))
        return centered(np.array(found))

    full = centered(predict(X))
    curves = {name: effect([name]) for name in features}
    first = full - sum(curves.values())
    second = first.copy()
    for one, other in combinations(features, 2):
        second -= effect([one, other]) - curves[one] - curves[other]
    variance = w @ full**2
    return 1 - w @ first**2 / variance, (w @ first**2 - w @ second**2) / variance


def fitted(kind, X):
    y = target(X)
    if kind == "trees":
        return lightgbm.LGBMRegressor(n_estimators=15, min_child_samples=4, verbose=-1).fit(X, y)
    if kind == "forest":
        return RandomForestClassifier(8, max_depth=4, random_state=0).fit(X.fillna(1), y > 0)
    if kind == "additive":
        return LinearRegression().fit(X.fillna(1), y)
    return lambda t: np.asarray(np.tanh(target(t)))


@pytest.mark.parametrize("weighted", [*nightly(False), True])
@pytest.mark.parametrize("features", [list("abcd"), *nightly(["c", "a", "b"])])
@pytest.mark.parametrize("kind", ["trees", "forest", "additive", "function"])
def test_shares_equal_naive_code(kind, features, weighted):
    X = table(45)
    X = X if kind in ("trees", "function") else X.fillna(1)
    model = fitted(kind, X)
    weight = np.random.default_rng(1).uniform(0.2, 3, len(X)) if weighted else None
    predict = model if callable(model) else model.predict
    if kind == "forest":
        predict = lambda t: model.predict_proba(t)[:, 1]  # noqa: E731
    options = {"response_method": "predict_proba"} if kind == "forest" else {}
    H = paribus.h_statistic(model, X, features, sample_weight=weight, **options, **QUIET)
    assert H.provenance.evaluator == {"trees": "tree_exact", "additive": "additive_exact"}.get(
        kind, H.provenance.evaluator
    )
    curves, pairs = naive(predict, X, features, weight)
    assert_allclose(H.explained.curves[-1], curves, rtol=1e-10, atol=1e-10)
    assert_allclose(H.explained.pairs[-1], pairs, rtol=1e-10, atol=1e-10)
    if len(features) == 4:
        assert_allclose(H.explained.curves, 1 - H.total.share[0], rtol=1e-12)
        assert_allclose(H.explained.curves_error, H.total.ratio_error[0], rtol=1e-12)


def test_ways_agree():
    X = table(60)
    model = fitted("trees", X)
    exact, brute = (paribus.h_statistic(model, X, method=way, **QUIET).explained for way in ("auto", "brute"))
    for name in ("curves", "curves_error", "pairs", "pairs_error"):
        assert_allclose(getattr(exact, name), getattr(brute, name), rtol=1e-9)


def test_share_by_pairs_of_many_rows_comes_from_a_sample_with_its_error():
    X = table(6_000)
    model = HistGradientBoostingRegressor(max_iter=30, max_depth=4).fit(X, target(X))
    whole = paribus.h_statistic(model, X, **QUIET)
    assert whole.provenance.standard_error_rows < 6_000
    found = [paribus.h_statistic(model, X, random_state=seed, **QUIET).explained for seed in range(12)]
    assert np.ptp([one.curves[0] for one in found]) < 1e-12  # of every row
    spread = np.std([one.pairs[0] for one in found], ddof=1)
    assert 0 < spread < 1.5 * found[0].pairs_error[0]
    assert 0.2 < found[0].pairs[0] < 0.9


@pytest.mark.nightly
def test_errors_are_the_spread_over_samples():
    def model(X):
        return X[:, 0] * X[:, 1] + X[:, 2] + 0.7 * X[:, 0] * X[:, 1] * X[:, 2]

    shares = []
    for seed in range(120):
        X = np.random.default_rng(seed).normal(size=(150, 3))
        one = paribus.h_statistic(model, X, **QUIET).explained
        shares.append([one.curves[0], one.pairs[0], one.curves_error[0], one.pairs_error[0]])
    values = np.array(shares)
    ratio = values[:, 2:].mean(axis=0) / values[:, :2].std(axis=0, ddof=1)
    assert (np.abs(np.log(ratio)) < np.log(1.35)).all(), ratio


def test_lists_of_models_have_the_mean_share():
    X = table(60)
    models = [fitted("trees", X), fitted("trees", table(60, 5))]
    H = paribus.h_statistic(models, X, **QUIET)
    each = [paribus.h_statistic(model, X, **QUIET).explained for model in models]
    for name in ("curves", "pairs"):
        assert_allclose(getattr(H.explained, name), np.mean([getattr(one, name) for one in each], axis=0))


def test_constant_predictions_have_no_share():
    H = paribus.h_statistic(lambda t: np.ones(len(t)), np.random.default_rng(0).normal(size=(20, 2)), **QUIET)
    assert np.isnan(H.explained.curves).all()
    assert "reproduce" not in str(H)


def shares_of(explanation):
    """Return the sentence on shares of the variance."""
    (text,) = [one.text for one in explanation.sentences if "of the variance" in one.text] or [""]
    return text


def test_shares_are_a_sentence_of_an_explanation_and_of_the_report(tmp_path):
    X = table(400)
    model = fitted("trees", X)
    done = paribus.explain(model, X, target(X), **QUIET)
    known, text = done.explained, shares_of(done)
    assert f"  {text}\n" in str(done)
    assert text.startswith(f"The curves alone reproduce {100 * known.curves[0]:.3g} % (± ")
    assert f"pairs add {100 * known.pairs[0]:.3g} % (± " in text
    assert text.endswith("; the rest is unexplained.")
    done.report(tmp_path / "report.html")
    assert text in (tmp_path / "report.html").read_text()
    assert text in done.to_markdown()
    assert shares_of(paribus.load(tmp_path / "report.html")) == text
    some = paribus.explain(model, X, features=["a", "b"], **QUIET)
    assert shares_of(some).startswith("The curves of these 2 features alone reproduce ")
    one = paribus.explain(model, X, features=["a"], **QUIET)
    assert one.interactions is None
    assert shares_of(one).startswith("The curve of this feature alone reproduces ")
    assert "pairs" not in shares_of(one)
    sampled = paribus.explain(fitted("function", X), table(700), **QUIET)
    # Two million crossings of four features and six pairs.
    assert ", on 447 rows)" in shares_of(sampled)
    assert shares_of(paribus.explain(lambda t: np.zeros(len(t)), X, **QUIET)) == ""


def test_sentence_on_shares_names_the_feature_whose_regions_gain_most():
    X = table(400)
    found = paribus.explain(fitted("trees", X), X, **QUIET)
    split = [name for name, regions in found.regions.items() if regions.splits]
    assert len(split) > 1
    best = max(split, key=lambda name: sum(part.gain for part in found.regions[name].splits))
    assert f", or regions of {best} {100 * found.explained.regions[0]:.3g} % (± " in shares_of(found)
