"""Laws on tables that hypothesis draws: few rows, gaps, ties, columns that never vary."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import paribus
from examples import LABELS, Example, worth
from laws import LAWS
from random_tables import POINTS, few, finite, model, tables, tables_with_gaps
from selection import nightly
from table_of_statistics import STATISTICS

WEIGHTS = st.sampled_from([0.0, 0.1, 1.0, 2.5, 10.0])
ON_ANY_TABLE = (
    "integer weights", "zero weight", "scale of weights", "equal weights", "order of rows", "order of columns",
    "relabeled categories", "mean of ICE is partial dependence",
)  # fmt: skip


def drawn(table, weights, labels=LABELS):
    """Return an example of two columns of numbers and one of categories."""
    codes = np.nan_to_num(np.abs(table[:, 2]), nan=-1.0).astype(int)
    kind = pd.Categorical.from_codes(np.where(codes < 0, -1, codes % 3), list(labels))
    X = pd.DataFrame({"a": table[:, 0], "b": table[:, 1], "n": 1, "kind": kind})
    relabeled = partial(drawn, table, weights)
    return Example(worth(labels), X, np.nan_to_num(table[:, 1]), weights, relabeled=relabeled)


IN_CI = "integer weights", "zero weight", "order of columns", "mean of ICE is partial dependence"


@pytest.mark.parametrize("law", [*IN_CI, *nightly(*(law for law in ON_ANY_TABLE if law not in IN_CI))])
@pytest.mark.parametrize("statistic", ["ice", *nightly("pd")])  # the curves of ice include their average
@few
@given(data=st.data())
def test_law_holds_on_any_table(law, statistic, data):
    statistic = STATISTICS[statistic]
    if law in statistic.laws_without:
        pytest.skip(statistic.laws_without[law])
    table = data.draw(tables_with_gaps)
    weights = data.draw(hnp.arrays(float, len(table), elements=WEIGHTS))
    weights[0], table[0] = (
        1.0,
        np.nan_to_num(table[0]),
    )  # the unit of weights is that of a row with every value
    LAWS[law].holds(statistic=statistic, example=drawn(table, weights))


def ask(X, features=0, *, function=model, **arguments):
    arguments.setdefault("custom_values", {0: POINTS})
    return paribus.partial_dependence(function, X, features, **arguments)


@given(tables_with_gaps)
def test_standard_errors_are_those_of_a_mean(X):
    effect = ask(X, kind="both")
    want = effect.individual.std(axis=1, ddof=1) / np.sqrt(len(X))
    np.testing.assert_allclose(effect.standard_error, want, rtol=1e-7, atol=1e-7)


@given(tables, st.lists(st.sampled_from(POINTS.tolist()), min_size=1, max_size=8))
def test_points_asked_twice_answer_twice(X, points):
    once = ask(X)
    many = ask(X, custom_values={0: points})
    places = [POINTS.tolist().index(p) for p in points]
    np.testing.assert_allclose(many.average, once.average[:, places], rtol=1e-12, atol=1e-12)
    at_each = {p: (X[:, 0] == p).sum() for p in points}
    if len(set(points)) == 1:
        assert many.support.tolist() == [at_each[p] for p in points]
    assert len({(p, s) for p, s in zip(points, many.support, strict=True)}) == len(set(points))


@given(tables, hnp.arrays(float, 4, elements=finite))
def test_a_linear_model_has_its_line(X, slopes):
    def linear(Z):
        return Z @ slopes[:3] + slopes[3]

    effect = ask(X, function=linear)
    rest = np.mean(X[:, 1:] @ slopes[1:3]) + slopes[3]
    np.testing.assert_allclose(effect.average[0], slopes[0] * POINTS + rest, rtol=1e-9, atol=1e-7)
    surface = ask(X, [0, 1], function=linear, custom_values={0: POINTS, 1: POINTS})
    twice = slopes[0] * POINTS[:, None] + slopes[1] * POINTS + np.mean(X[:, 2]) * slopes[2] + slopes[3]
    np.testing.assert_allclose(surface.average[0], twice, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("small", [1e-150, 1e-200, 1e-320])
def test_vanishing_weights_vanish(rng, small):
    X = rng.normal(size=(910, 3))
    weights = np.r_[np.ones(10), np.full(900, small)]
    for order in (slice(None), slice(None, None, -1)):
        effect, alone = ask(X[order], sample_weight=weights[order]), ask(X[:10])
        np.testing.assert_allclose(effect.average, alone.average, rtol=1e-9)
        assert np.isfinite(effect.standard_error).all()


@pytest.mark.nightly
def test_standard_errors_cover_the_population(rng):
    population = rng.normal(size=(20_000, 3)) * [1, 2, 1]
    truth = ask(population).average
    held = []
    for _ in range(300):
        chosen = rng.choice(len(population), 150)
        effect = ask(population[chosen])
        held.append(np.abs(effect.average - truth) <= 1.96 * effect.standard_error)
    assert 0.92 <= np.mean(held) <= 0.97


@pytest.mark.nightly
def test_weighted_standard_errors_cover_where_weights_and_predictions_go_together(rng):
    held = []
    for _ in range(400):
        x = rng.normal(size=(200, 1))
        weights = np.exp(0.5 * x[:, 0])  # the weighted mean of x is then 0.5
        effect = paribus.partial_dependence(
            lambda t: t[:, 1], np.column_stack([np.zeros(200), x]), 0, sample_weight=weights
        )
        held.append(abs(effect.average[0, 0] - 0.5) <= 1.96 * effect.standard_error[0, 0])
    assert 0.92 <= np.mean(held) <= 0.97
