"""Compilation of kernels in several processes, and without private interfaces of numba."""

import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from paribus import _budget
from paribus._kernels import cache_folder, compile_workers
from paribus._kernels.compile_workers import BY_SHAPE, OF_ALL_SHAPES, Workers, find_kernel, kernels_of

SMALL = ["interactions.tally", "interactions.mark", "shifts.collect"]
MUTE = "import sys, time\nsys.stdin.readline()\nprint('ready', flush=True)\n"


@pytest.fixture
def workers(monkeypatch, tmp_path):
    """Workers on a machine of two cores, to which no kernel is cached or loaded."""
    monkeypatch.setenv(cache_folder.NUMBA, str(tmp_path))
    monkeypatch.setattr(_budget, "threads", lambda n_jobs: 2)
    monkeypatch.setattr(os, "getloadavg", lambda: (1.0, 9.0, 9.0), raising=False)
    monkeypatch.setattr(compile_workers, "_missing", lambda names, kept: list(names))
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


def test_every_named_kernel_exists():
    shapes = [names for shape in BY_SHAPE.values() for names in shape]
    for name in {name for names in [*shapes, *OF_ALL_SHAPES.values()] for name in names}:
        assert find_kernel(name).key == name


@pytest.mark.parametrize(
    ("patterned", "shallow", "entries", "want"),
    [
        (3, 3, 3, ["pattern_walks.add_by_patterns"]),
        (0, 3, 3, ["row_curves.curves_by_masks"]),
        (1, 3, 3, ["pattern_walks.add_by_patterns", "row_curves.curves_by_masks"]),
        (0, 0, 3, ["row_curves.list_lines", "row_curves.lines_by_lists", "row_curves.average_lines"]),
    ],
)
def test_kernels_depend_on_the_shape_of_trees(patterned, shallow, entries, want):
    program = SimpleNamespace(patterned=patterned, shallow=shallow, entries=[0] * entries)
    assert kernels_of(program, ["curves", "multiply", "curves"]) == [*want, "row_curves.multiply"]


@pytest.mark.nightly
def test_a_worker_stores_kernels(workers, tmp_path):
    workers.start(SMALL)
    wait_until(lambda: not workers._running)
    assert {path.name.partition("-")[0] for path in tmp_path.rglob("*.nbi")} == set(SMALL)


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


def test_cached_and_loaded_kernels_need_no_worker(tmp_path, monkeypatch):
    (tmp_path / "jit").mkdir()
    version = f"py{sys.version_info.major}{sys.version_info.minor}"
    (tmp_path / "jit" / f"interactions.tally-9.{version}.nbi").write_text("")
    (tmp_path / "jit" / "interactions.mark-9.py27.nbi").write_text("")
    kernels = {name: SimpleNamespace(loaded=name == "shifts.shift") for name in [*SMALL, "shifts.shift"]}
    monkeypatch.setattr(compile_workers, "find_kernel", kernels.__getitem__)
    assert compile_workers._missing(kernels, tmp_path) == SMALL[1:]


@pytest.mark.parametrize("child", ["import sys; sys.exit(1)", MUTE + "sys.exit(1)"])
def test_a_worker_that_fails_leaves_kernels_to_the_caller(child, workers, monkeypatch):
    monkeypatch.setattr(compile_workers, "CHILD", child)
    workers.start(SMALL)
    wait_until(lambda: not workers._running)
    for name in SMALL:
        workers.wait_for(name)
    assert not workers._waiting
    assert not workers._begun


def test_a_worker_that_hangs_is_stopped(workers, monkeypatch):
    """The caller has compiled the other kernels before it waits."""
    loads = []
    monkeypatch.setattr(compile_workers, "CHILD", MUTE + "time.sleep(600)")
    monkeypatch.setattr(compile_workers, "PATIENCE", 0.1)
    kernel = SimpleNamespace(load=lambda: loads.append("other"))
    monkeypatch.setattr(compile_workers, "find_kernel", lambda name: kernel)
    workers.start(SMALL)
    wait_until(lambda: SMALL[0] in workers._begun)
    workers.wait_for(SMALL[0])
    wait_until(lambda: not workers._running)
    assert len(loads) == 2


def test_a_forked_process_waits_for_no_worker():
    workers = Workers()
    workers._running, workers._waiting = 1, ["interactions.tally"]
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
