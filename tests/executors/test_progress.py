"""How far a pass is: a bar in terminals and notebooks, a few lines of a log elsewhere, and nothing in a hurry."""

import logging
import re
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._executors import progress
from paribus._kernels import cache_folder
from statistic_of import statistic_of

pytestmark = pytest.mark.alone


@pytest.fixture
def terminal(monkeypatch):
    """Let the errors of a test go to what says that it is a terminal."""
    monkeypatch.setattr(progress, "has_bars", lambda: True)


def bars(capsys, seconds, **arguments):
    def slow(table):
        time.sleep(seconds)
        return table[:, 0]

    rows = np.random.default_rng(0).normal(size=(2000, 2))
    statistic_of("partial_dependence", slow, rows, 0, grid_resolution=100, **arguments)
    return capsys.readouterr().err


def test_compilation_is_announced_once_unless_progress_is_refused(capsys, tmp_path):
    with progress.showing_compilation(None):
        assert capsys.readouterr().err == ""
        cache_folder.compiling(tmp_path)
        cache_folder.compiling(tmp_path)
    with progress.showing_compilation(False):
        cache_folder.compiling(tmp_path)
    shown = capsys.readouterr().err
    assert shown == f"paribus: compiling kernels, once on this machine; kept in {tmp_path}\n"
    with progress.showing_compilation(True):
        cache_folder.compiling(None)
    assert "in every process" in capsys.readouterr().err


def test_a_bar_appears_when_more_than_two_seconds_are_expected(capsys, terminal):
    assert bars(capsys, 0.0) == ""
    assert "partial dependence:  " in bars(capsys, 0.3)
    assert "2.00k" in bars(capsys, 0.0, progress=True)
    assert bars(capsys, 0.3, progress=False) == ""


def test_a_bar_does_not_exceed_its_rows_where_parts_of_blocks_add_up_to_more_by_rounding(capsys, terminal):
    parts = [(0, 0.7, None), (0, 0.1, None), (0, 0.1, None), (0, 0.1, None)]
    list(progress.with_progress([*parts, (1, 0.1, None)], 1, True))  # of more than all, tqdm warns
    assert "1.00/1.00" in capsys.readouterr().err


def test_a_line_appears_after_two_seconds_where_one_call_has_all_rows(capsys, terminal):
    def slow(table):
        time.sleep(0 if len(table) < 1000 else 2.5)
        return table[:, 0]

    rows = np.random.default_rng(0).normal(size=(100, 2))
    threads = threading.active_count()
    paribus.partial_dependence(slow, rows, 0, grid_resolution=20, custom_values={0: np.arange(20.0)})
    assert capsys.readouterr().err == "paribus: partial dependence of 100 rows\n"
    assert threading.active_count() <= threads + 1  # of which one may be tqdm's own
    paribus.partial_dependence(lambda t: t[:, 0], rows, 0)
    assert not [
        one for one in threading.enumerate() if isinstance(one, threading.Timer) and not one.finished.is_set()
    ]


# --- where errors go to a file, as those of a test do


def test_without_a_terminal_a_few_lines_are_logged_and_nothing_is_written(capsys, caplog):
    caplog.set_level(logging.INFO, "paribus")
    assert bars(capsys, 0.3, max_memory="2MB") == ""
    lines = [record.getMessage() for record in caplog.records if record.name == "paribus"]
    (line,) = lines
    assert re.fullmatch(r"partial dependence: 2,000 rows in \d+ s", line)
    assert all(record.levelno == logging.INFO for record in caplog.records)
    caplog.clear()
    assert bars(capsys, 0.0) == ""
    assert bars(capsys, 0.3, progress=False) == ""
    assert not caplog.records
    assert bars(capsys, 0.0, progress=True) == ""
    assert not caplog.records


def test_nothing_is_logged_where_nobody_listens_for_it(tmp_path):
    code = """
import time, numpy as np, paribus
def slow(table):
    time.sleep(0.3)
    return table[:, 0]
X = np.random.default_rng(0).normal(size=(2000, 2))
paribus.Explainer(slow, X, max_memory="2MB").partial_dependence(0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize(("step", "least", "most"), [(1.0, 1, 2), (0.01, 0, 0), (60.0, 18, 101)])
def test_lines_are_half_a_minute_apart(monkeypatch, caplog, step, least, most):
    caplog.set_level(logging.INFO, "paribus")
    clock = iter(np.arange(1_000_000) * step / 10)
    monkeypatch.setattr(progress, "perf_counter", lambda: float(next(clock)))
    list(progress.with_progress(((n, 10.0, None) for n in range(100)), 1_000, True, "effects"))
    assert least <= len(caplog.records) <= most


def test_rows_that_were_done_before_do_not_count_for_the_pace(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "paribus")
    now = [0.0]
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])

    def blocks():
        for number in range(10):
            now[0] += 40.0
            yield number, 50.0, None

    list(progress.with_progress(blocks(), 1_000, True, "marginal", 500.0))
    lines = [record.getMessage() for record in caplog.records]
    assert lines[0] == "averages near values: 55% of 1,000 rows, 6 min left"
    assert lines[-1] == "averages near values: 1,000 rows in 7 min"
    assert len(lines) == 10


def test_rows_nobody_counted_are_logged_as_they_come_and_a_pass_that_fails_is_not_called_done(
    monkeypatch, caplog
):
    caplog.set_level(logging.INFO, "paribus")
    now = [0.0]
    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])

    def blocks(fails):
        for number in range(3):
            now[0] += 3_600.0
            yield number, 1_000_000.0, None
        if fails:
            raise RuntimeError

    list(progress.with_progress(blocks(False), None, True, "survey"))
    lines = [record.getMessage() for record in caplog.records]
    assert lines[1:] == [
        "first look at the data: 2,000,000 rows so far",
        "first look at the data: 3,000,000 rows so far",
        "first look at the data: 3,000,000 rows in 3.0 h",
    ]
    caplog.clear()
    with pytest.raises(RuntimeError):
        list(progress.with_progress(blocks(True), None, True, "survey"))
    assert " in " not in caplog.records[-1].getMessage()


def test_every_pass_is_called_by_words_a_user_knows(caplog, tmp_path, monkeypatch):
    monkeypatch.setattr(progress, "SHORT", 0.0)
    caplog.set_level(logging.INFO, "paribus")
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(300, 3)), columns=list("abc"))
    X.to_parquet(tmp_path / "x.parquet")
    tree = DecisionTreeRegressor(max_depth=3).fit(X, X["a"] * X["b"])
    options = {"progress": True}
    for model, table in ((tree, X), (lambda t: tree.predict(t), X), (tree, tmp_path / "x.parquet")):
        paribus.effects(model, table, grid_resolution=4, **options)
        paribus.accumulated_local_effects([model, model], table, **options)
        paribus.marginal(model, table, grid_resolution=4, **options)
        paribus.h_statistic(model, table, **options)
    paribus.feature_importance(tree, X, y=X["a"], kind="permutation", **options)
    said = {record.getMessage().split(":")[0] for record in caplog.records}
    assert said == {
        "first look at the data",
        "partial dependence",
        "local effects, model 1 of 2",
        "local effects, model 2 of 2",
        "local effects",  # of both in one read
        "averages near values",
        "interactions, first pass",
        "interactions",
        "feature importance",
    }


@pytest.mark.parametrize(
    ("kernel", "tty", "bar"), [(1, False, True), (None, False, False), (None, True, True)]
)
def test_notebooks_and_terminals_have_bars(monkeypatch, kernel, tty, bar):
    shell = SimpleNamespace(kernel=kernel)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(sys, "stderr", SimpleNamespace(isatty=lambda: tty))
    assert progress.has_bars() is bar
    monkeypatch.delitem(sys.modules, "IPython")
    assert progress.has_bars() is tty
    monkeypatch.setattr(sys, "stderr", None)
    assert progress.has_bars() is False
