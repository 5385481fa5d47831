"""Standard errors of H-statistics."""

from functools import cache

import lightgbm as lgb
import numpy as np
import pytest
from sklearn import ensemble as forests
from sklearn.tree import DecisionTreeRegressor

import paribus
from interaction_examples import FULL, LGB, SIGNAL, TRAIN, WEIGHTS, N, Naive, hist, product_of_three
from paribus._evaluators.interactions import tree_interactions

# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]


def jackknife(statistics, weights):
    """Return the standard errors of numerators and ratios, from what a little more weight of each row does."""
    errors, counted = {}, np.flatnonzero(weights)
    for row in counted:
        moved = []
        for factor in (1 + 1e-4, 1 - 1e-4):
            other = weights.copy()
            other[row] *= factor
            moved.append(statistics(other))
        for name in moved[0]:
            both = [np.stack([one[name][0], one[name][0] / one[name][1]]) for one in moved]
            errors.setdefault(name, []).append((both[0] - both[1]) / 2e-4)
    factor = len(counted) / (len(counted) - 1)
    return {name: np.sqrt(factor * np.sum(np.square(one), axis=0)) for name, one in errors.items()}


@cache
def of_three_columns(name):
    models = {
        "hist": hist("Regressor"),
        "forest": forests.RandomForestRegressor(3, max_depth=5, random_state=0),
        "lightgbm": lgb.LGBMRegressor(**LGB),
    }
    target = np.c_[SIGNAL, TRAIN[:, 1] ** 2] if name == "forest" else SIGNAL
    return models[name].fit(TRAIN[:, :3], target)


@pytest.mark.parametrize("weights", [np.ones(N), WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", ["hist", "forest", "lightgbm", "function"])
def test_h_statistic_standard_errors_are_what_little_more_weight_of_each_row_does(name, weights):
    if name == "function":  # three of four columns: brute force, no total
        model, table = product_of_three, FULL
    else:
        model, table = of_three_columns(name), FULL[:, :3]
    predict = model if name == "function" else model.predict
    naive = Naive(lambda rows: np.asarray(predict(rows)).reshape(len(rows), -1), table, range(3))
    want = jackknife(lambda w: naive.statistics(w, ((0, 1, 2),)), weights)
    found = paribus.h_statistic(model, table, [0, 1, 2], sample_weight=weights, threeway=3)
    assert found.provenance.evaluator == ("brute" if name == "function" else "tree_exact")
    assert (found.total is None) == (name == "function")
    for statistic in found.computed:
        ratio = found.ratio(statistic)
        have = np.stack([ratio.numerator_error, ratio.ratio_error])
        np.testing.assert_allclose(
            have, want[statistic], rtol=1e-5, atol=1e-7 * want[statistic].max(), err_msg=statistic
        )
        assert (have > 0).all()
    np.testing.assert_allclose(found.main_effect.numerator_error, want["main"][0], rtol=1e-5)
    importance = paribus.feature_importance(model, table, features=[0, 1, 2], sample_weight=weights)
    values = naive.statistics(weights)
    for part, key in (("", "main"), ("_with_interactions", "left_out")):
        # The error of a root is that of the square over twice the root.
        error = np.squeeze(want[key][0] / 2 / np.sqrt(values[key][0]))
        np.testing.assert_allclose(getattr(importance, f"standard_error{part}"), error, rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_h_statistic_standard_errors_of_sample_are_nearly_those_of_all_rows(weighted, monkeypatch):
    X = np.random.default_rng(1).normal(size=(6_000, 3))
    arguments = {"sample_weight": np.random.default_rng(2).exponential(size=6_000) if weighted else None}
    some = paribus.h_statistic(of_three_columns("lightgbm"), X, **arguments)
    monkeypatch.setattr(tree_interactions, "WITNESSES", 10_000)
    every = paribus.h_statistic(of_three_columns("lightgbm"), X, **arguments)
    drawn = some.provenance.standard_error_rows
    assert drawn < 6_000 == every.provenance.standard_error_rows
    assert f"standard errors from {drawn:,} of them" in repr(some)
    assert "of them" not in repr(every)
    for statistic in ("pairwise", "overall", "total"):
        one, other = some.ratio(statistic), every.ratio(statistic)
        assert one.numerator.tobytes() == other.numerator.tobytes()
        for part in ("numerator_error", "ratio_error"):
            np.testing.assert_allclose(getattr(one, part), getattr(other, part), rtol=0.15)


@pytest.mark.nightly
def test_intervals_hold_strengths_of_population():
    rng = np.random.default_rng(0)
    population = rng.normal(size=(40_000, 3))
    model = lgb.LGBMRegressor(**LGB).fit(TRAIN[:, :3], SIGNAL)
    truth = paribus.h_statistic(model, population)
    held = []
    for _ in range(200):
        found = paribus.h_statistic(model, population[rng.choice(len(population), 500)], n_jobs=1)
        held.append(
            [
                np.abs(found.ratio(name).strength - truth.ratio(name).strength)
                <= 1.96 * found.ratio(name).strength_error
                for name in ("pairwise", "overall")
            ]
        )
    counts = np.sum(held, axis=0)
    assert (truth.strength_pairwise > 0.05).all()
    assert (counts >= 180).all(), counts


def test_h_statistic_seed_of_rows_that_report_errors_is_recorded(monkeypatch):
    model = DecisionTreeRegressor(max_depth=3).fit(FULL, FULL[:, 0] * FULL[:, 1])
    assert paribus.h_statistic(model, FULL, random_state=7).provenance.seed is None
    for size in ("WITNESSES", "FEWEST", "LEAST"):
        monkeypatch.setattr(tree_interactions, size, 8)
    provenance = paribus.h_statistic(model, FULL, random_state=7).provenance
    assert (provenance.standard_error_rows, provenance.seed, provenance.sampled_rows) == (8, 7, None)
