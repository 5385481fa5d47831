"""States of any split into blocks, in any order, on any number of threads."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import pairwise
from threading import Barrier
from types import SimpleNamespace

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
from package_classes import changeable, comparing_arrays, dataclasses_of
from paribus._budget import memory
from paribus._data.read import table_of
from paribus._data.rows import Block, rows_of
from paribus._data.summary import summarize
from paribus._evaluators.interactions.requests import InteractionRequest
from paribus._evaluators.interactions.tree_interactions import TreeInteractions
from paribus._evaluators.interactions.tree_passes import CoveragePass, PredictionPass
from paribus._evaluators.planner import EVALUATORS
from paribus._evaluators.request import EvaluationRequest
from paribus._evaluators.support import SupportCounter, Together
from paribus._evaluators.trees.programs import codes_of, family_of, program_of, walk_of
from paribus._executors import LocalExecutor
from paribus._grid import Grid, GridOptions, axis_of
from paribus._kernels import reference
from paribus._models import adapt, trees_of
from paribus._states import Counts, Keyed, merge_in_order
from paribus.errors import RefusalError
from random_tables import POINTS, few, model, tables_with_gaps


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
        for candidate in EVALUATORS["effects"]():
            with suppress(RefusalError):
                able.append(candidate.build(chosen, request))
        assert (able[0].name == "tree_exact") == (answering is not any_table)
        for evaluator in able:
            yield rows, evaluator, Together((evaluator, SupportCounter(questions)))


def answered(evaluator, state, support):
    """Everything a result is made of, as one list of arrays."""
    answers = evaluator.finish(state, 1)
    arrays = [
        array for a in answers for array in (a.average, a.standard_error, a.individual) if array is not None
    ]
    supports = support.finish(state, 1.0)
    arrays += [ranks for one in supports if (ranks := one.ranks) is not None]
    return arrays + [np.asarray(part) for one in supports for part in (one.points, one.missing)]


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
@few
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


@pytest.mark.nightly
@given(tables_with_gaps, st.integers(2, 5), st.integers(1, 6))
@few
def test_threads_do_not_change_a_bit_of_a_look_at_the_rows(X, many, size):
    for rows, evaluator in strengths_for(X, None):

        def fold(look, parts, rows=rows):
            states = [LocalExecutor(k).fold(look, rows.blocks(size, parts), Keyed({})) for k in (1, many)]
            mine, theirs = (looked(state) for state in states)
            assert {k: v.tobytes() for k, v in mine.items()} == {k: v.tobytes() for k, v in theirs.items()}
            return states[0]

        driven(evaluator, fold)


@given(tables_with_gaps, st.integers(2, 5), st.integers(1, 6))
@few
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


def test_blocks_derive_side_by_side_and_each_once():
    rows = rows_of(table_of(np.arange(40.0).reshape(20, 2)), None)
    first, second = rows.blocks(10)
    both = Barrier(2)
    with ThreadPoolExecutor(8) as pool:
        waits = [pool.submit(block.derived, "waits", lambda: both.wait(30)) for block in (first, second)]
        assert sorted(wait.result() for wait in waits) == [
            0,
            1,
        ]  # neither has to wait until the other is done
        same = list(pool.map(lambda _: first.derived("once", object), range(50)))
    assert len(set(same)) == 1
    assert second.derived("once", object) is not same[0]
    assert pickle.loads(pickle.dumps(first)).derived("once", object) is not same[0]


def test_blocks_are_encoded_once_for_programs_with_the_same_columns():
    X = np.random.default_rng(0).normal(size=(200, 4))
    fitted = RandomForestRegressor(3, max_depth=3, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    table = table_of(X)
    ensemble = trees_of(adapt(fitted, table)).ensemble
    ranked = []

    def rank(column, numbers):
        ranked.append(column)
        return reference.rank(column, numbers)

    counting = SimpleNamespace(rank=rank)
    programs = [program_of(ensemble, family_of(groups), reference) for groups in ([(0,)], [(1, 2), (3,)])]
    programs.append(walk_of(ensemble, (0, 3)))
    (block,) = rows_of(table, None).blocks(200)
    found = [codes_of(program, ensemble, block, counting) for program in programs]
    assert len(ranked) == len(programs[0].columns)
    assert found[0] is found[1] is found[2]
    missing = frozenset({0})  # a forest refuses some numbers, so it matters which columns are replaced
    refuses = any(encoding.strict for encoding in ensemble.encodings)
    again = codes_of(programs[0], ensemble, block, counting, missing)
    assert (again is found[0]) == (not refuses)
    assert np.array_equal(again, found[0])
    other = replace(ensemble, threshold=ensemble.threshold + 0.25)
    assert codes_of(program_of(other, programs[0].family, reference), other, block, counting) is not again


def test_classes_of_evaluators_are_frozen_and_none_compares_arrays():
    package = "paribus._evaluators"
    assert len(dataclasses_of(package)) > 15
    assert changeable(package) == set()
    assert comparing_arrays(package) == set()


def test_evaluators_of_a_pass_that_leave_states_of_the_same_name_are_refused():
    class Counting:
        def evaluate(self, block):
            return Keyed({("rows", 0): Counts(np.ones(1))})

    with pytest.raises(ValueError, match="two evaluators of a pass leave states of the same name"):
        Together((Counting(), Counting())).evaluate(None)
