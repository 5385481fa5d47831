"""What must hold whatever the data: the laws of the architecture page."""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

import paribus
from paribus._budget import memory
from paribus._data.read import table_of
from paribus._data.rows import Block, rows_of
from paribus._data.summary import summarize
from paribus._evaluators.interactions.interaction_request import InteractionRequest
from paribus._evaluators.interactions.tree_interactions import TreeInteractions
from paribus._evaluators.interactions.tree_passes import CoveragePass, PredictionPass
from paribus._evaluators.planner import EVALUATORS
from paribus._evaluators.request import EvaluationRequest
from paribus._evaluators.support import SupportCounter
from paribus._evaluators.together import Together
from paribus._executors import LocalExecutor
from paribus._grid import Grid, GridOptions, axis_of
from paribus._models import adapt
from paribus._states import Counts, Keyed, Moments, merge_in_order
from paribus.errors import RefusalError

POINTS = np.array([-1.0, 0.0, 0.5, 2.0])
finite = st.floats(-100, 100, allow_subnormal=False)
tables = hnp.arrays(float, st.tuples(st.integers(2, 25), st.just(3)), elements=finite)
tables_with_gaps = hnp.arrays(
    float, st.tuples(st.integers(2, 25), st.just(3)), elements=finite | st.just(float("nan"))
)


def model(X):
    """Two outputs with interactions, defined everywhere."""
    a, b, c = (np.nan_to_num(X[:, j], nan=3.0 + j) for j in range(3))
    return np.stack([a * b + np.sin(c), np.abs(a - c) + b], axis=1)


def ask(X, features=0, *, function=model, **arguments):
    arguments.setdefault("custom_values", {0: POINTS})
    return paribus.partial_dependence(function, X, features, **arguments)


def agree(one, other, *, individual=False):
    for key in ("average", "standard_error", "support") if not individual else ("average", "support"):
        np.testing.assert_allclose(one[key], other[key], rtol=1e-9, atol=1e-9)
    assert (one.missing is None) == (other.missing is None)
    if one.missing is not None:
        np.testing.assert_allclose(one.missing.average, other.missing.average, rtol=1e-9, atol=1e-9)
        assert one.missing.share == pytest.approx(other.missing.share)


@cache
def forests():
    """Tree ensembles that answer any table of three columns: sums of leaves, and probabilities of three classes."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((400, 3)) < 0.1, np.nan, rng.uniform(-100, 100, (400, 3)))
    y = model(X / 30)[:, 0]
    return (
        HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=5).fit(X, y),
        RandomForestRegressor(4, random_state=0).fit(X, np.stack([y, X[:, 1] > 0], axis=1)),
        HistGradientBoostingClassifier(max_iter=3).fit(X, np.digitize(y, [-1, 1])),
    )


def evaluators_for(table, weights, kind="both"):
    """Every evaluator that does not refuse, for two questions, together with the counting of support."""
    rows = rows_of(table_of(table), weights)
    looks = [summarize(rows, j, nominal=False, limit=100, percentiles=(0.05, 0.95)) for j in (0, 1)]
    axes = [
        axis_of(look, rows.table, j, GridOptions(), given=POINTS if j == 0 else POINTS[:2])
        for j, look in enumerate(looks)
    ]
    axes = [replace(axis, cell_counts=None) for axis in axes]  # so that the fold counts what lies around them
    questions = (Grid((axes[0],)), Grid(tuple(axes)))
    asked = forests() if isinstance(table, np.ndarray) else ()
    for answering in (any_table, *asked):
        chosen = adapt(answering, rows.table)
        request = EvaluationRequest(
            questions, kind, len(rows), rows.n_weighted, rows.table.row_bytes, memory("1GB"), 1
        )
        able = []
        for family in EVALUATORS:
            with suppress(RefusalError):
                able.append(family["effects"].build(chosen, request))
        assert (able[0].name == "tree_exact") == (answering is not any_table)
        for evaluator in able:
            yield rows, evaluator, Together((evaluator, SupportCounter(questions)))


def answered(evaluator, state, support):
    """Everything a result is made of, as one list of arrays."""
    answers = evaluator.finish(state, 1)
    arrays = [
        array for a in answers for array in (a.average, a.standard_error, a.individual) if array is not None
    ]
    return arrays + support.finish(state, 1.0)


def any_table(table):
    return model(table if isinstance(table, np.ndarray) else table.to_numpy())


PARTS = (((0, 1), 12),)


@given(tables_with_gaps, st.sampled_from([np.asarray, pd.DataFrame, pl.DataFrame]), st.data())
def test_any_split_into_blocks_in_any_order_gives_the_same_state(X, library, data):
    weights = data.draw(
        st.none() | hnp.arrays(float, len(X), elements=st.sampled_from([0.0, 0.5, 1.0, 3.0])), "weights"
    )
    if weights is not None and not weights.any():
        weights[0] = 1.0
    cuts = sorted(data.draw(st.lists(st.integers(0, len(X)), max_size=6), "cuts"))
    kind = data.draw(st.sampled_from(["average", "both"]), "kind")
    for rows, evaluator, both in evaluators_for(library(X), weights, kind):
        whole = both.evaluate(next(iter(rows.blocks(len(rows), PARTS))))
        wanted = answered(evaluator, whole, both.parts[1])
        states = []
        for start, stop in pairwise([0, *cuts, len(X)]):  # some blocks are empty
            held = None if rows.weights is None else rows.weights[start:stop]
            for numbers, points in evaluator.parts:
                block = Block(rows.table.slice(start, stop), held, start, numbers, points)
                states.append(both.evaluate(block))
        shuffled = data.draw(st.permutations(states), "order")
        for merged in (
            merge_in_order(states),
            merge_in_order(shuffled),
            merge_in_order([Keyed({}), *states]),
        ):
            for mine, theirs in zip(answered(evaluator, merged, both.parts[1]), wanted, strict=True):
                if evaluator.name == "tree_exact" and weights is None:
                    np.testing.assert_array_equal(mine, theirs)
                np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6)


def strengths_for(X, weights):
    """Evaluators of the H-statistics of sums of leaves, that count pairs of cells and that keep every row."""
    rows = rows_of(table_of(X), weights)
    for forest in forests():
        response = "decision_function" if hasattr(forest, "decision_function") else "auto"
        model = adapt(forest, rows.table, response_method=response)
        evaluator = TreeInteractions.build(
            model, InteractionRequest((2, 0, 1), True, True, 0, rows, 0, memory("1GB"), 1)
        )
        pairs = np.array(evaluator.groups, np.int32).reshape(-1, 2)
        for counted in (pairs, None):
            vars(evaluator)["counting"] = replace(evaluator.counting, pairs=counted)
            yield rows, evaluator


def driven(evaluator, fold):
    """Run the passes of an evaluator; ``fold`` returns the state of each."""
    passes = evaluator.passes(1)
    one = next(passes)
    with suppress(StopIteration):
        while True:
            one = passes.send(fold(one.evaluator, one.parts))


def looked(state):
    """Everything a look at the rows leaves, by name."""
    return {
        key: part.cells if isinstance(part, Counts) else part.finish() for key, part in state.parts.items()
    }


@given(tables_with_gaps, st.data())
def test_any_split_into_blocks_in_any_order_looks_at_the_rows_alike(X, data):
    weights = data.draw(
        st.none() | hnp.arrays(float, len(X), elements=st.sampled_from([0.0, 0.5, 1.0, 3.0])), "weights"
    )
    if weights is not None and not weights.any():
        weights[0] = 1.0
    cuts = sorted(data.draw(st.lists(st.integers(0, len(X)), max_size=6), "cuts"))
    order = data.draw(st.permutations(range(len(cuts) + 1)), "order")
    for rows, evaluator in strengths_for(X, weights):
        looks = []

        def fold(look, parts, rows=rows, looks=looks):
            whole = look.evaluate(next(iter(rows.blocks(len(rows), parts))))
            states = []
            for start, stop in pairwise([0, *cuts, len(X)]):  # some blocks are empty
                held = None if rows.weights is None else rows.weights[start:stop]
                states.append(look.evaluate(Block(rows.table.slice(start, stop), held, start)))
            wanted, shuffled = looked(whole), [states[k] for k in order]
            for merged in (states, shuffled, [Keyed({}), *states]):
                found = looked(merge_in_order(merged))
                assert set(found) == set(wanted)
                for key, theirs in wanted.items():
                    if isinstance(look, CoveragePass) and weights is None:
                        np.testing.assert_array_equal(found[key], theirs, str(key))
                    np.testing.assert_allclose(found[key], theirs, rtol=1e-9, atol=1e-9)
            looks.append(type(look))
            return whole

        driven(evaluator, fold)
        assert looks == [CoveragePass, PredictionPass]


@given(tables_with_gaps, st.integers(2, 5), st.integers(1, 6))
def test_threads_do_not_change_a_bit_of_a_look_at_the_rows(X, many, size):
    for rows, evaluator in strengths_for(X, None):

        def fold(look, parts, rows=rows):
            states = [LocalExecutor(k).fold(look, rows.blocks(size, parts), Keyed({})) for k in (1, many)]
            mine, theirs = (looked(state) for state in states)
            assert {k: v.tobytes() for k, v in mine.items()} == {k: v.tobytes() for k, v in theirs.items()}
            return states[0]

        driven(evaluator, fold)


@given(tables_with_gaps, st.data())
def test_integer_weights_equal_repeated_rows(X, data):
    weights = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(1, 4)))
    weights[0] = 1
    weighted, repeated = ask(X, sample_weight=weights), ask(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.average, repeated.average, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(weighted.support, repeated.support)
    if weighted.missing is not None:
        np.testing.assert_allclose(weighted.missing.average, repeated.missing.average, rtol=1e-9, atol=1e-9)
        assert weighted.missing.share == pytest.approx(repeated.missing.share)


@given(tables, st.data())
def test_integer_weights_lay_out_the_axis_of_repeated_rows(X, data):
    weights = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(1, 4)))
    weights[0] = 1
    arguments = {"custom_values": None, "grid_resolution": 3}
    weighted = ask(X, sample_weight=weights, **arguments)
    repeated = ask(np.repeat(X, weights, axis=0), **arguments)
    np.testing.assert_allclose(weighted.grid_values[0], repeated.grid_values[0], rtol=1e-9, atol=1e-9)


@given(tables_with_gaps, st.data())
def test_zero_weight_equals_a_dropped_row(X, data):
    weights = data.draw(hnp.arrays(float, len(X), elements=st.sampled_from([0.0, 1.0, 2.5])))
    weights[0] = 1.0
    X = np.where((weights == 0)[:, None] & (X > 50), np.nan, X)
    arguments = {"custom_values": None, "grid_resolution": 4}
    counted = weights > 0
    agree(
        ask(X, sample_weight=weights, **arguments),
        ask(X[counted], sample_weight=weights[counted], **arguments),
    )


@given(tables_with_gaps, st.data(), st.sampled_from([1e-300, 1e-170, 1e-3, 0.3, 7.0, 1e100, 1e300]))
def test_scaling_weights_scales_the_support_and_changes_nothing_else(X, data, factor):
    weights = data.draw(hnp.arrays(float, len(X), elements=st.floats(0.1, 10)))
    arguments = {"custom_values": None, "grid_resolution": 4}
    one, other = (
        ask(X, sample_weight=weights, **arguments),
        ask(X, sample_weight=factor * weights, **arguments),
    )
    np.testing.assert_allclose(one.grid_values[0], other.grid_values[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(one.average, other.average, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(one.standard_error, other.standard_error, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(other.support, factor * one.support, rtol=1e-9)
    assert one.strength == pytest.approx(other.strength, rel=1e-6, abs=1e-6)


@given(tables_with_gaps)
def test_equal_weights_are_no_weights(X):
    arguments = {"custom_values": None, "grid_resolution": 4}
    one, other = ask(X, **arguments), ask(X, sample_weight=np.ones(len(X)), **arguments)
    np.testing.assert_allclose(one.grid_values[0], other.grid_values[0], rtol=1e-12, atol=1e-12)
    agree(one, other)


@given(tables_with_gaps, st.booleans())
def test_the_mean_of_ice_is_the_partial_dependence(X, weighted):
    weights = np.arange(len(X)) * 1.0 if weighted else None
    effect = ask(X, kind="both", sample_weight=weights)
    mean = np.average(effect.individual, axis=1, weights=weights)
    np.testing.assert_allclose(effect.average, mean, rtol=1e-9, atol=1e-9)
    only = ask(X, kind="individual", sample_weight=weights)
    np.testing.assert_array_equal(only.individual, effect.individual)
    assert only.average is None
    assert only.strength == pytest.approx(effect.strength)
    if effect.missing is not None:
        at = np.average(effect.missing.individual, axis=1, weights=weights)
        np.testing.assert_allclose(effect.missing.average, at, rtol=1e-9, atol=1e-9)


@given(tables_with_gaps)
def test_standard_errors_are_those_of_a_mean(X):
    effect = ask(X, kind="both")
    want = effect.individual.std(axis=1, ddof=1) / np.sqrt(len(X))
    np.testing.assert_allclose(effect.standard_error, want, rtol=1e-7, atol=1e-7)


@given(tables, st.permutations(range(3)))
def test_the_order_of_columns_changes_nothing(X, order):
    back = np.argsort(order)
    moved = ask(
        X[:, order],
        int(back[0]),
        function=lambda Z: model(Z[:, back]),
        custom_values={int(back[0]): POINTS},
    )
    agree(ask(X), moved)


@given(tables_with_gaps, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(X, random):
    order = list(range(len(X)))
    random.shuffle(order)
    agree(ask(X), ask(X[order]))


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


@given(tables, st.permutations(["a", "b", "c"]))
def test_new_names_for_categories_change_nothing(X, names):
    codes = np.abs(X[:, 1]).astype(int) % 3
    values = np.array([1.0, -2.0, 0.5])

    def frame(labels):
        return pd.DataFrame({"x": X[:, 0], "level": pd.Categorical.from_codes(codes, labels)})

    def scored(labels):
        worth = dict(zip(labels, values, strict=True))
        return lambda t: t["x"].to_numpy() * t["level"].astype(object).map(worth).to_numpy(float)

    plain = paribus.partial_dependence(scored(["a", "b", "c"]), frame(["a", "b", "c"]), "level")
    renamed = paribus.partial_dependence(scored(names), frame(names), "level")
    np.testing.assert_allclose(plain.average, renamed.average)
    assert [names["abc".index(v)] for v in plain.grid_values[0]] == list(renamed.grid_values[0])


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


@given(tables_with_gaps, st.integers(2, 5), st.integers(1, 6))
def test_threads_and_executors_do_not_change_a_bit(X, threads, size):
    for rows, evaluator, both in evaluators_for(X, None):
        one, many = (
            LocalExecutor(k).fold(both, rows.blocks(size, evaluator.parts), Keyed({})) for k in (1, threads)
        )
        mine, theirs = (answered(evaluator, state, both.parts[1]) for state in (one, many))
        assert [array.tobytes() for array in mine] == [array.tobytes() for array in theirs]


def test_a_fold_over_nothing_is_zero():
    zero = Keyed({})
    rows = rows_of(table_of(np.zeros((3, 1))), None)
    assert LocalExecutor().fold(None, rows.blocks(2).part(2, 2), zero) is zero
    with pytest.raises(ValueError, match="no zero"):
        merge_in_order([])


def test_n_jobs_does_not_change_a_bit_of_a_matrix_product(rng):
    X, W = rng.normal(size=(3000, 6)), rng.normal(size=(6, 20))

    def network(Z):
        return np.tanh(Z @ W) @ W.T[:, :2]

    one, many = (paribus.partial_dependence(network, X, [0, 1], grid_resolution=9, n_jobs=k) for k in (1, 3))
    assert one.average.tobytes() == many.average.tobytes()
    assert one.standard_error.tobytes() == many.standard_error.tobytes()


@given(st.integers(1, 200))
def test_merging_follows_one_tree_and_holds_few_states(count):
    class Trace:
        def __init__(self, text):
            self.text = text

        def merge(self, other):
            return Trace(f"({self.text}{other.text})")

    merged = merge_in_order(Trace(f"{k},") for k in range(count)).text
    assert [int(k) for k in merged.replace("(", "").replace(")", "").split(",") if k] == list(range(count))
    depth = max(np.cumsum([(c == "(") - (c == ")") for c in merged]))
    assert depth <= np.ceil(np.log2(count)) if count > 1 else depth == 0


@given(tables, st.data())
def test_weighted_moments_equal_their_definition(X, data):
    weights = data.draw(hnp.arrays(float, len(X), elements=st.floats(0.1, 10)))
    predictions = model(X).T[:, None, :]
    moments = Moments.of(predictions, weights)
    mean = (predictions * weights).sum(-1) / weights.sum()
    n = len(X)
    variance = n / (n - 1) * ((predictions - mean[..., None]) ** 2 * weights**2).sum(-1) / weights.sum() ** 2
    np.testing.assert_allclose(moments.mean, mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(moments.standard_error() ** 2, variance, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("small", [1e-150, 1e-200, 1e-320])
def test_vanishing_weights_vanish(rng, small):
    X = rng.normal(size=(910, 3))
    weights = np.r_[np.ones(10), np.full(900, small)]
    for order in (slice(None), slice(None, None, -1)):
        effect, alone = ask(X[order], sample_weight=weights[order]), ask(X[:10])
        np.testing.assert_allclose(effect.average, alone.average, rtol=1e-9)
        assert np.isfinite(effect.standard_error).all()


def test_effects_in_one_pass_equal_effects_one_by_one(rng):
    X = rng.normal(size=(500, 3))
    X[::9, 1] = np.nan
    together = paribus.effects(model, X, [0, 1, 2, (0, 2)], grid_resolution=11)
    assert set(together) == {"x0", "x1", "x2", ("x0", "x2")}
    for key, effect in together.items():
        alone = paribus.partial_dependence(model, X, key, grid_resolution=11)
        agree(effect, alone)
        np.testing.assert_array_equal(effect.grid_values[0], alone.grid_values[0])


def test_standard_errors_cover_the_population(rng):
    population = rng.normal(size=(20_000, 3)) * [1, 2, 1]
    truth = ask(population).average
    held = []
    for _ in range(300):
        chosen = rng.choice(len(population), 150)
        effect = ask(population[chosen])
        held.append(np.abs(effect.average - truth) <= 1.96 * effect.standard_error)
    assert 0.92 <= np.mean(held) <= 0.97


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
