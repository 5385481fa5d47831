"""Compilation of kernels in several processes, and without private interfaces of numba."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from paribus import _budget
from paribus._kernels import cache_folder, compile_workers
from paribus._kernels.compile_workers import Workers
from paribus._kernels.jit import interactions, shifts

SMALL = [interactions.tally, interactions.mark, shifts.collect]
MUTE = "import sys, time\nsys.stdin.readline()\nprint('ready', flush=True)\n"


@pytest.fixture
def workers(monkeypatch, tmp_path):
    """Workers on a machine of two cores, to which no kernel is cached or loaded."""
    monkeypatch.setenv(cache_folder.NUMBA, str(tmp_path))
    monkeypatch.setattr(_budget, "threads", lambda n_jobs: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.0, 9.0, 9.0), raising=False)
    monkeypatch.setattr(compile_workers, "_missing", lambda kernels, kept: list(kernels))
    forget = cache_folder.folder.cache_clear
    forget()
    yield Workers()
    forget()


def wait_until(holds, seconds=60):
    """Wait until a condition holds."""
    end = time.perf_counter() + seconds
    while not holds():
        assert time.perf_counter() < end
        time.sleep(0.01)


@pytest.mark.nightly
def test_a_worker_stores_kernels(workers, tmp_path):
    workers.start(SMALL)
    wait_until(lambda: not workers._running)
    assert {path.name.partition("-")[0] for path in tmp_path.rglob("*.nbi")} == {
        kernel.key for kernel in SMALL
    }


def no_process(*arguments, **options):
    raise AssertionError("a process was started")


@pytest.mark.parametrize("lack", ["cores", "idle cores", "executable", "interpreter", "kernels", "folder"])
def test_no_worker_is_started_without_need_or_means(lack, workers, monkeypatch):
    monkeypatch.setattr(compile_workers, "_process", no_process)
    if lack == "cores":
        monkeypatch.setattr(_budget, "threads", lambda n_jobs: 1)
    elif lack == "idle cores":
        monkeypatch.setattr(os, "getloadavg", lambda: (4.1, 0.0, 0.0), raising=False)
    elif lack == "executable":
        monkeypatch.setattr(sys, "executable", "")
    elif lack == "interpreter":
        monkeypatch.setattr(sys, "executable", "/usr/bin/blender")
    elif lack == "folder":
        monkeypatch.setattr(cache_folder, "folder", lambda: None)
    workers.start(SMALL[:2] if lack == "kernels" else SMALL)
    assert not workers._running
    workers.wait_for(SMALL[0])


def test_cached_and_loaded_kernels_need_no_worker(tmp_path):
    (tmp_path / "jit").mkdir()
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    (tmp_path / "jit" / f"interactions.tally-9.{version}.nbi").write_text("")
    (tmp_path / "jit" / "interactions.mark-9.py27.nbi").write_text("")
    kernels = [SimpleNamespace(key=kernel.key, loaded=False) for kernel in SMALL]
    kernels.append(SimpleNamespace(key="shifts.shift", loaded=True))
    missing = compile_workers._missing(kernels, tmp_path)
    assert [kernel.key for kernel in missing] == ["interactions.mark", "shifts.collect"]
    assert len(compile_workers._missing(kernels, None)) == 3


@pytest.mark.parametrize("child", ["import sys; sys.exit(1)", MUTE + "sys.exit(1)"])
def test_a_worker_that_fails_leaves_kernels_to_the_caller(child, workers, monkeypatch):
    monkeypatch.setattr(compile_workers, "CHILD", child)
    workers.start(SMALL)
    wait_until(lambda: not workers._running)
    for kernel in SMALL:
        workers.wait_for(kernel)
    assert not workers._waiting
    assert not workers._begun


def test_a_worker_that_hangs_is_stopped(workers, monkeypatch):
    """The caller has compiled the other kernels before it waits."""

    class Loading:
        def __init__(self, name):
            self.name = self.key = name
            self.loads = 0

        def load(self):
            self.loads += 1

    kernels = [Loading(name) for name in ("first", "second", "third")]
    monkeypatch.setattr(compile_workers, "CHILD", MUTE + "time.sleep(600)")
    monkeypatch.setattr(compile_workers, "PATIENCE", 0.1)
    workers.start(kernels)
    wait_until(lambda: kernels[0] in workers._begun)
    workers.wait_for(kernels[0])
    wait_until(lambda: not workers._running)
    assert [kernel.loads for kernel in kernels] == [0, 1, 1]


def test_a_forked_process_waits_for_no_worker():
    workers = Workers()
    workers._running, workers._waiting = 1, [interactions.tally]
    workers.reset()
    assert (workers._running, workers._waiting) == (0, [])


LACKING = """
import builtins, sys
lacking = sys.argv[1]
real = builtins.__import__
def limited(name, globals=None, locals=None, fromlist=(), level=0):
    own = (globals or {}).get("__name__") == "paribus._kernels.jit.numba_internals"
    if own and lacking in (fromlist or ()):
        raise ImportError(lacking)
    return real(name, globals, locals, fromlist, level)
builtins.__import__ = limited
import numba.core.options as options
if lacking == "DefaultOptions":
    del options.DefaultOptions
import numpy as np, paribus
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from paribus._kernels.jit.common import internals
assert (internals is None) == (lacking != "none")
X = np.random.default_rng(0).normal(size=(600, 4))
model = HistGradientBoostingRegressor(max_iter=5).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
few_tests = RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, X[:, 0])
verbs = [(one, model) for one in ("effects", "accumulated_local_effects", "h_statistic")]
for verb, model in [*verbs, ("accumulated_local_effects", few_tests)]:
    result = getattr(paribus, verb)(model, X, progress=False)
    numbers = result.to_frame().select_dtypes("number").to_numpy(float)
    print(verb, result.provenance.evaluator, *map(float.hex, numbers.ravel().tolist()))
"""


@pytest.fixture(scope="module")
def usual(tmp_path_factory):
    return results_without("none", tmp_path_factory.mktemp("usual"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Cache folder of kernels that use no private interface."""
    return tmp_path_factory.mktemp("plain")


def results_without(lacking, folder):
    """Return results of a process in which numba lacks a private interface, to the bit."""
    run = subprocess.run(
        [sys.executable, "-c", LACKING, lacking],
        capture_output=True,
        text=True,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
    )
    assert run.returncode == 0, run.stderr[-800:]
    return run.stdout


@pytest.mark.nightly
@pytest.mark.parametrize("lacking", ["event", "options", "DefaultOptions", "cgutils", "make_array", "ir"])
def test_results_are_the_same_without_private_interfaces(lacking, usual, folder):
    assert "tree_exact" in usual
    assert results_without(lacking, folder) == usual
