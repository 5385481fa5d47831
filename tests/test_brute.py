"""Brute force: the numbers of scikit-learn, within a memory bound, on any number of threads."""

import os
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

import paribus
from paribus.evaluators import brute

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
Y = X[:, 0] * X[:, 1] + np.sin(X[:, 2])
LABELS = np.digitize(Y, [-0.5, 0.5])
WEIGHTS = RNG.integers(1, 4, 200).astype(float)
AXIS = np.linspace(-1, 1, 7)
MODELS = {
    "neighbours": KNeighborsRegressor().fit(X, Y),
    "network": MLPRegressor(hidden_layer_sizes=8, max_iter=2000, tol=1e-2, random_state=0).fit(X, Y),
    "pipeline": make_pipeline(StandardScaler(), LinearRegression()).fit(X, Y),
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
    whole = paribus.partial_dependence(MODELS["pipeline"], X, [0, 1], grid_resolution=10, kind="both")
    monkeypatch.setattr(brute, "CALL_ROWS", 7)
    monkeypatch.setattr(brute, "BLOCK_ROWS", 3)
    cut = paribus.partial_dependence(MODELS["pipeline"], X, [0, 1], grid_resolution=10, kind="both", n_jobs=2)
    assert cut.provenance.block_rows == 3
    for key in ("average", "individual", "standard_error"):
        np.testing.assert_allclose(cut[key], whole[key], rtol=1e-9)


def test_max_memory_is_honoured_and_no_curve_is_held_for_an_average():
    rows = np.random.default_rng(0).normal(size=(100_000, 20))
    peaks = {}
    for bound in ("5MB", "50MB"):
        tracemalloc.start()
        paribus.partial_dependence(
            lambda t: t[:, 0] * t[:, 1], rows, [0, 1], grid_resolution=12, max_memory=bound
        )
        peaks[bound] = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
    assert peaks["5MB"] < 5
    assert peaks["50MB"] < 50


def test_portions_shrink_with_the_bound(rng):
    rows = rng.normal(size=(3000, 50))
    sizes = []
    for bound in ("300kB", "3MB", "300MB"):
        largest = []
        paribus.partial_dependence(
            lambda t, largest=largest: largest.append(len(t)) or t[:, 0], rows, 0, max_memory=bound
        )
        sizes.append(max(largest))
    assert sizes[0] < sizes[1] < sizes[2] <= brute.CALL_ROWS


def test_an_answer_larger_than_the_bound_is_refused():
    with pytest.raises(paribus.MemoryBoundError, match="kind='average'"):
        paribus.partial_dependence(MODELS["pipeline"], X, 0, kind="individual", max_memory="100kB")
    with pytest.raises(MemoryError, match="lower grid_resolution"):
        paribus.partial_dependence(MODELS["pipeline"], X, [0, 1, 2], max_memory="2MB")


def test_threads_work_side_by_side():
    met = threading.Barrier(2, timeout=20)

    def model(table):
        if threading.current_thread() is not threading.main_thread():
            met.wait()  # passes only when two threads are inside at once
        return table[:, 0]

    rows = RNG.normal(size=(4 * brute.BLOCK_ROWS, 2))
    effect = paribus.partial_dependence(model, rows, [0, 1], n_jobs=2, grid_resolution=8)
    assert effect.provenance.threads == 2
    names = set()
    paribus.partial_dependence(
        lambda t: names.add(threading.current_thread().name) or t[:, 0], rows, 0, n_jobs=None
    )
    assert names == {"MainThread"}


def test_an_error_inside_a_thread_reaches_the_caller():
    calls = []

    def model(table):
        calls.append(len(table))
        if len(calls) > 3:
            raise RuntimeError("out of coffee")
        return table[:, 0]

    rows = RNG.normal(size=(50_000, 2))
    with pytest.raises(RuntimeError, match="coffee"):
        paribus.partial_dependence(model, rows, 0, n_jobs=2)
    assert len(calls) < 20


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_stops_cleanly(jobs):
    code = f"""
import threading, time, sys
import numpy as np, paribus
def model(table):
    print("asked", flush=True)
    time.sleep(0.2)
    return table[:, 0]
try:
    paribus.partial_dependence(model, np.random.default_rng(0).normal(size=(200_000, 2)), 0, n_jobs={jobs})
except KeyboardInterrupt:
    left = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    print("stopped", left, flush=True)
    sys.exit(7)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    for _ in range(3):
        assert process.stdout.readline() == "asked\n"
    os.kill(process.pid, signal.SIGINT)
    started = time.perf_counter()
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 7
    assert out.splitlines()[-1] == "stopped []"
    assert time.perf_counter() - started < 5


def bars(capsys, seconds, **arguments):
    def slow(table):
        time.sleep(seconds)
        return table[:, 0]

    rows = np.random.default_rng(0).normal(size=(2000, 2))
    paribus.partial_dependence(slow, rows, 0, grid_resolution=100, **arguments)
    return capsys.readouterr().err


def test_a_bar_appears_when_more_than_two_seconds_are_expected(capsys):
    assert "paribus" not in bars(capsys, 0.0)
    assert "2.00k" in bars(capsys, 0.3)
    assert "2.00k" in bars(capsys, 0.0, progress=True)
    assert "paribus" not in bars(capsys, 0.3, progress=False)


def test_nothing_ships_the_table_to_a_worker():
    import pickle

    from paribus.budget import memory
    from paribus.data.rows import rows_of
    from paribus.data.table import table_of
    from paribus.evaluators import Ask, choose
    from paribus.grid import GridOptions, Question, axis_of
    from paribus.models import adapt

    rows = rows_of(table_of(pd.DataFrame(RNG.normal(size=(100_000, 4)), columns=list("abcd"))), None)
    question = Question((axis_of(rows, 0, GridOptions(), nominal=False),))
    ask = Ask((question,), "average", len(rows), rows.table.row_bytes, memory("1GB"), 1)
    plan = choose(
        adapt(MODELS["pipeline"].steps[1][1].predict, rows_of(table_of(X), None).table), ask, "auto"
    )
    assert len(pickle.dumps(plan.evaluator)) < 50_000
    block = next(rows.blocks(plan.block_rows))
    assert len(pickle.dumps(block)) < 100 * len(block) + 5_000
    again = pickle.loads(pickle.dumps(plan.evaluator))
    assert again.block_rows == plan.block_rows


def test_a_method_that_cannot_answer_says_why():
    with pytest.raises(paribus.RefusalError, match="method='brute' gives the same number"):
        paribus.partial_dependence(MODELS["pipeline"], X, 0, method="exact")
    provenance = paribus.partial_dependence(MODELS["pipeline"], X, 0).provenance
    assert provenance.evaluator == "brute"
    assert provenance.predictions == 200 * 100
