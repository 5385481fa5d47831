"""Brute force: the numbers of scikit-learn, within a memory bound, on any number of threads."""

import operator
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn import inspection
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._budget import memory
from paribus._data.read import table_of
from paribus._data.rows import rows_of
from paribus._data.summary import summarize
from paribus._evaluators import brute_force, planner
from paribus._evaluators.brute_force import BruteForce
from paribus._evaluators.planner import choose
from paribus._evaluators.request import EvaluationRequest, QuantileRequest
from paribus._evaluators.support import SupportCounter, Together
from paribus._grid import Grid, GridOptions, axis_of
from paribus._models import adapt
from statistic_of import statistic_of

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
LABELS = np.digitize(Y, [-0.5, 0.5])
WEIGHTS = RNG.integers(1, 4, 200).astype(float)
AXIS = np.linspace(-1, 1, 7)
MODELS = {
    "neighbors": KNeighborsRegressor().fit(X, Y),
    "network": MLPRegressor(hidden_layer_sizes=8, max_iter=2000, tol=1e-2, random_state=0).fit(X, Y),
    "pipeline": make_pipeline(StandardScaler(), KNeighborsRegressor()).fit(X, Y),
    "three classes": LogisticRegression().fit(X, LABELS),
    "two classes": LogisticRegression().fit(X, LABELS > 0),
    "no probabilities": SVC().fit(X, LABELS > 0),
    "forest": RandomForestClassifier(10, random_state=0).fit(X, LABELS),
    "two targets": LinearRegression().fit(X, np.stack([Y, -2 * Y], 1)),
}


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize(
    ("features", "values"),
    [
        ([2], {2: AXIS}),
        ([0, 1], {0: AXIS, 1: AXIS[:4]}),
        ([0, 1, 2], {0: AXIS[:2], 1: AXIS[:3], 2: AXIS[:2]}),
    ],
    ids=["one-way", "two-way", "three-way"],
)
@pytest.mark.parametrize("name", MODELS)
def test_the_numbers_of_scikit_learn(name, features, values, weights):
    arguments = {"custom_values": values, "method": "brute", "kind": "both", "sample_weight": weights}
    want = inspection.partial_dependence(MODELS[name], X, features, **arguments)
    have = paribus.partial_dependence(MODELS[name], X, features, **arguments)
    for key in ("average", "individual"):
        np.testing.assert_allclose(have[key], want[key], rtol=1e-9, atol=1e-12)
    for mine, theirs in zip(have["grid_values"], want["grid_values"], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_small_portions_give_the_same_answer(monkeypatch):
    whole = paribus.partial_dependence(MODELS["pipeline"], X, [0, 1], grid_resolution=4, kind="both")
    monkeypatch.setattr(brute_force, "CALL_ROWS", 7)
    monkeypatch.setattr(brute_force, "STACK_ROWS", 3)
    cut = paribus.partial_dependence(MODELS["pipeline"], X, [0, 1], grid_resolution=4, kind="both", n_jobs=2)
    assert cut.provenance.block_rows == 3
    for key in ("average", "individual", "standard_error"):
        np.testing.assert_allclose(cut[key], whole[key], rtol=1e-9)


def peak(body):
    tracemalloc.start()
    body()
    size = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    return size


WIDE = np.random.default_rng(0).normal(size=(60_000, 20))
GAPS = np.where(np.arange(2000)[:, None] % 7 == 0, np.nan, np.random.default_rng(0).normal(size=(2000, 3)))
TEXT = pd.DataFrame({"a": np.arange(3000.0), "note": ["x" * 5000] * 3000})


@pytest.mark.nightly
@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize(
    ("table", "features", "outputs", "kind", "points", "bound"),
    [
        (WIDE, [0, 1], 1, "average", 12, 5),
        (WIDE, [0, 1], 1, "average", 12, 50),
        (WIDE[:5000], 0, 100, "average", 100, 20),
        (WIDE[:2000], [0, 1], 20, "average", 40, 30),
        (pd.DataFrame(WIDE), 0, 1, "average", 50, 30),
        (TEXT, "a", 1, "average", 20, 60),
        (GAPS, 0, 3, "both", 100, 20),
        (GAPS, 0, 1, "individual", 100, 12),
    ],
)
def test_max_memory_is_honored(table, features, outputs, kind, points, bound, jobs):
    def model(given):
        return np.zeros((len(given), outputs))

    def ask():
        paribus.Explainer(model, table, max_memory=bound * 1e6, n_jobs=jobs).partial_dependence(
            features, grid_resolution=points, kind=kind
        )

    ask()
    assert peak(ask) < bound


def test_a_refusal_costs_nothing():
    X = np.random.default_rng(0).normal(size=(1000, 4))

    def ask():
        with pytest.raises(paribus.errors.MemoryBoundError):
            paribus.Explainer(
                MODELS["pipeline"].predict, np.column_stack([X, X[:, 0]]), max_memory="50MB"
            ).partial_dependence([0, 1, 2, 3])

    assert peak(ask) < 5


def test_threads_are_limited_by_memory():
    arguments = {"grid_resolution": 30, "n_jobs": 8, "features": 0}
    few = statistic_of("partial_dependence", lambda t: t[:, 0], WIDE, max_memory="3MB", **arguments)
    many = statistic_of("partial_dependence", lambda t: t[:, 0], WIDE, max_memory="3GB", **arguments)
    assert few.provenance.threads < many.provenance.threads == 8


def test_small_questions_do_not_suffer_from_large_ones_beside_them():
    """A question of two points is evaluated in predicts as large as when it is evaluated alone."""
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    X[:, 2] = X[:, 2] > 0
    sizes = []
    paribus.effects(lambda t: sizes.append(len(t)) or t[:, 0], X, [0, 2, (0, 1)], grid_resolution=50)
    calls = sum(size > 100 for size in sizes)
    needed = 20_000 * (50 + 2 + 2500) / brute_force.CALL_ROWS
    assert calls < 1.3 * needed + 20


def test_many_questions_about_few_rows_are_shared_among_threads():
    X = np.random.default_rng(0).normal(size=(250, 60))
    names = set()
    paribus.effects(
        lambda t: names.add(threading.current_thread().name) or time.sleep(0.002) or t[:, 0], X, n_jobs=2
    )
    assert len(names - {"MainThread"}) == 2


def test_portions_shrink_with_the_bound(rng):
    rows = rng.normal(size=(3000, 50))
    sizes = []
    for bound in ("300kB", "3MB", "300MB"):
        largest = []
        paribus.Explainer(
            lambda t, largest=largest: largest.append(len(t)) or t[:, 0], rows, max_memory=bound
        ).partial_dependence(0)
        sizes.append(max(largest))
    assert sizes[0] < sizes[1] < sizes[2] <= brute_force.CALL_ROWS


def test_an_answer_larger_than_the_bound_is_refused():
    with pytest.raises(paribus.errors.MemoryBoundError, match="kind='average'"):
        paribus.Explainer(MODELS["pipeline"], X, max_memory="100kB").partial_dependence(0, kind="individual")
    with pytest.raises(MemoryError, match="lower grid_resolution"):
        paribus.Explainer(MODELS["pipeline"], X, max_memory="2MB").partial_dependence([0, 1, 2])


def test_threads_work_side_by_side():
    met = threading.Barrier(2, timeout=20)

    def model(table):
        if threading.current_thread() is not threading.main_thread():
            met.wait()  # passes only when two threads are inside at once
        return table[:, 0]

    rows = RNG.normal(size=(16 * brute_force.STACK_ROWS, 2))
    effect = paribus.partial_dependence(model, rows, [0, 1], n_jobs=2, grid_resolution=8)
    assert effect.provenance.threads == 2
    names = set()
    paribus.partial_dependence(
        lambda t: names.add(threading.current_thread().name) or t[:, 0], rows, 0, n_jobs=None
    )
    assert names == {"MainThread"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_the_model_reaches_the_caller_with_its_place(jobs):
    calls = []

    def model(table):
        calls.append(len(table))
        if len(calls) > 8:
            raise RuntimeError("out of coffee")
        return table[:, 0]

    rows = RNG.normal(size=(50_000, 2))
    with pytest.raises(
        paribus.errors.ModelError, match=r"on rows \d+ to \d+ of X with x0 replaced: .*coffee"
    ) as caught:
        paribus.partial_dependence(model, rows, 0, n_jobs=jobs)
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert len(calls) < 20


@pytest.mark.nightly
@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_stops_cleanly(jobs):
    code = f"""
import os, sys, threading, time
import numpy as np, paribus
def model(table):
    os.write(1, b"asked\\n")
    time.sleep(0.1)
    return table[:, 0]
try:
    paribus.partial_dependence(model, np.random.default_rng(0).normal(size=(200_000, 2)), 0, n_jobs={jobs})
except KeyboardInterrupt:
    for thread in threading.enumerate():
        if thread.name.startswith("paribus"):
            thread.join(5)
    left = [t.name for t in threading.enumerate() if t.name.startswith("paribus")]
    os.write(1, f"stopped {{left}}\\n".encode())
    sys.exit(7)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(8):  # two to get to know the model, then every thread is at work
        assert process.stdout.readline() == "asked\n"
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 7
    assert out.splitlines()[-1] == "stopped []"
    assert out.count("asked") < 20  # of more than a thousand


def test_what_is_shipped_to_a_worker_is_small_and_works_there():
    frame = pd.DataFrame(RNG.normal(size=(100_000, 4)), columns=list("abcd"))
    rows = rows_of(table_of(frame), None)
    looks = [summarize(rows, j, nominal=False, limit=100, percentiles=(0.05, 0.95)) for j in range(4)]
    axes = [axis_of(look, rows.table, j, GridOptions((0.05, 0.95), 100)) for j, look in enumerate(looks)]
    questions = tuple(Grid((axes[i], axes[j])) for i in range(4) for j in range(i))
    request = EvaluationRequest(
        questions, "average", len(rows), len(rows), rows.table.row_bytes, memory("1GB"), 1
    )
    (plan,) = choose(adapt(operator.itemgetter("a"), rows.table), lambda shortcut: request, "auto")
    worker = Together((plan.evaluator, SupportCounter(questions)))
    block = next(iter(rows.blocks(plan.evaluator.block_rows, plan.evaluator.parts)))
    plan.evaluator.evaluate(block)
    shipped = pickle.dumps(worker)
    assert len(shipped) < 50_000
    assert len(pickle.dumps(block)) < 100 * len(block.table) + 5_000
    here, there = worker.evaluate(block), pickle.loads(shipped).evaluate(pickle.loads(pickle.dumps(block)))
    back = pickle.loads(pickle.dumps(there))
    for key, state in here.parts.items():
        for name, value in vars(state).items():
            np.testing.assert_array_equal(value, getattr(back.parts[key], name))


class Shortcut(BruteForce):
    """Stands for a faster evaluator."""

    name = "shortcut"
    shortcut = True
    how = "for the test"


class Unable(Shortcut):
    name = "unable"

    @classmethod
    def build(cls, model, ask):
        raise paribus.errors.RefusalError("it is Sunday")


def test_the_plan_prefers_a_shortcut_takes_orders_and_keeps_refusals(monkeypatch):
    known = [Unable, Shortcut, BruteForce]
    monkeypatch.setitem(planner.EVALUATORS, "effects", lambda: known)

    def provenance(method):
        return paribus.partial_dependence(MODELS["pipeline"], X, 0, method=method).provenance

    assert provenance("auto").evaluator == provenance("exact").evaluator == "shortcut"
    assert provenance("auto").refusals == {"unable": "it is Sunday"}
    by_name = provenance("brute")
    assert by_name.evaluator == "brute"
    assert set(by_name.refusals) == {"unable", "shortcut"}
    monkeypatch.setitem(planner.EVALUATORS, "effects", lambda: known[::2])
    assert provenance("auto").evaluator == "brute"
    with pytest.raises(paribus.errors.RefusalError, match="it is Sunday"):
        provenance("exact")


def test_a_method_that_cannot_answer_says_why():
    with pytest.raises(
        paribus.errors.RefusalError,
        match=r"it is not a shortcut\)\. method='brute' gives the same result on the same rows",
    ):
        paribus.partial_dependence(MODELS["pipeline"], X, 0, method="exact")
    effect = paribus.partial_dependence(MODELS["pipeline"], X, 0)
    assert effect.provenance.evaluator == "brute"
    assert effect.provenance.predictions == 200 * len(effect.grid_values[0])


@pytest.mark.nightly
@pytest.mark.parametrize("jobs", [1, 2])
def test_the_smallest_bound_that_is_accepted_is_kept(jobs):
    """Many small blocks and a large answer: the states waiting to be merged are most of the memory."""
    rows = np.random.default_rng(0).normal(size=(2_000, 2))

    def ask(bound, limit=np.inf):
        def model(table):
            if len(table) > limit:
                raise RuntimeError("accepted")
            return np.zeros((len(table), 10))

        paribus.Explainer(model, rows, max_memory=bound, n_jobs=jobs).partial_dependence(
            [0, 1], grid_resolution=40
        )

    low, high = 10_000, 1_000_000_000
    while high > 1.02 * low:
        middle = (low + high) // 2
        with pytest.raises((paribus.errors.MemoryBoundError, paribus.errors.ModelError)) as refusal:
            ask(middle, limit=64)
        low, high = (middle, high) if refusal.type is paribus.errors.MemoryBoundError else (low, middle)
    assert peak(lambda: ask(high)) < high / 1e6


def test_rows_of_weight_zero_are_not_even_predicted():
    weights = np.arange(200) % 2.0
    asked = []
    effect = paribus.partial_dependence(
        lambda t: asked.append(len(t)) or t[:, 0], X, 0, grid_resolution=20, sample_weight=weights
    )
    assert sum(asked[4:]) == effect.provenance.predictions == 100 * len(effect.grid_values[0])


def test_predictions_whose_squares_overflow_have_finite_averages_and_infinite_errors():
    table = np.random.default_rng(0).normal(size=(3_000, 2))
    effect = paribus.partial_dependence(lambda t: t[:, 1] * 1e200, table, 0, grid_resolution=4)
    np.testing.assert_allclose(effect.average, table[:, 1].mean() * 1e200, rtol=1e-9)
    assert np.isinf(effect.standard_error).all()


def test_trees_that_predict_what_squares_overflow_leave_it_to_brute_force():
    table = np.random.default_rng(0).normal(size=(500, 2))
    model = DecisionTreeRegressor(max_depth=3).fit(table, table[:, 0])
    model.tree_.value[:] = np.sign(model.tree_.value) * 1e200
    effect = paribus.Explainer(model, table, verify=True).partial_dependence(0, grid_resolution=5)
    assert "squares may reach 2^13" in effect.provenance.refusals["tree_exact"]
    assert np.isfinite(effect.average).all()


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_verify_takes_what_is_no_number_at_the_same_points_for_agreement(odd):
    table = np.random.default_rng(0).normal(size=(400, 2))

    def model(t):
        return np.where((t[:, 1] > 0) & (t[:, 0] > 0), odd, t[:, 0])

    effect = paribus.Explainer(model, table, verify=True).partial_dependence(0, grid_resolution=6)
    assert effect.provenance.verified_difference < 1e-12
    assert not np.isfinite(effect.average).all()
    assert np.isfinite(effect.average).any()
    assert any("not finite at some points" in note for note in effect.notes)


def test_verify_finds_a_number_where_the_model_has_none():
    table = np.random.default_rng(0).normal(size=(400, 2))
    calls = []

    def model(t):
        calls.append(len(t))
        return np.where(len(calls) > 8, np.nan, t[:, 0])

    with pytest.raises(paribus.errors.RefusalError, match="brute force differs by inf"):
        paribus.Explainer(model, table, verify=True, max_memory="1GB").partial_dependence(
            0, grid_resolution=3
        )


@pytest.mark.parametrize(
    ("rows", "points", "outputs", "most_bytes", "want"),
    [
        (100, 10, 2, 100 * 10 * 2 * 8, (100, 4_096)),
        (100, 10, 2, 100 * 10 * 2 * 8 - 1, (16, 16)),
        (10**6, 10, 1, 10**6, (781, 781)),
        (10**9, 1, 1, 10**9, (4_096, 4_096)),
        (10**6, 0, 1, 10**5, (781, 781)),
    ],
)
def test_rows_kept_for_quantiles_fit_their_memory(rows, points, outputs, most_bytes, want):
    request = QuantileRequest((0.5,), most_bytes)
    assert request.sizes(rows, points, outputs) == want
    assert request.block_rows(points, outputs) == max(1, most_bytes // (16 * 8 * max(1, points) * outputs))
