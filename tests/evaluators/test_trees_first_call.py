"""What the first call costs, when kernels are compiled and when they are cached."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

from paribus._api.statistics import effects_statistic as effects_statistic
from tree_examples import hist

# What libraries say of themselves.
pytestmark = [
    pytest.mark.filterwarnings("ignore:'force_all_finite' was renamed"),  # LightGBM 4.4
    pytest.mark.filterwarnings("ignore:X does not have valid feature names"),  # LightGBM asked with an array
]
CHILD = """
import pickle, sys, time
import sklearn.ensemble
imported = time.process_time()
with open(sys.argv[1], "rb") as file:
    model, table = pickle.load(file)
wall, cpu = time.perf_counter(), time.process_time()
import paribus
found = paribus.effects(model, table, progress=False)
wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
print(wall, cpu, imported, len(found), found.provenance.evaluator)
"""


@pytest.fixture(scope="module")
def pickled(tmp_path_factory):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(2000, 20))
    model = hist("Regressor", max_iter=100, max_leaf_nodes=31).fit(table, table[:, 0] * table[:, 1])
    path = tmp_path_factory.mktemp("first") / "model.pickle"
    path.write_bytes(pickle.dumps((model, table)))
    return path


def first_call(path, **environment):
    """Return wall and processor seconds of a first call in a new process, and those of importing scikit-learn."""
    run = subprocess.run(
        [sys.executable, "-c", CHILD, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
    )
    *seconds, count, evaluator = run.stdout.split()
    assert (count, evaluator) == ("20", "tree_exact")
    return [float(second) for second in seconds]


def machine(imported):
    """Return how slow this machine is just now: 1 where importing scikit-learn takes 1.25 seconds or less.

    A busy machine slows the import and the call alike, and the import alone varies by two fifths from run to run.
    """
    return max(1.0, imported / 1.25)


@pytest.mark.alone
def test_trees_first_call_is_fast(pickled):
    """The kernels were compiled when this process needed them: one and a half seconds of the machine at most."""
    found = []
    while len(found) < 4 and min(found, default=np.inf) >= 1.5:
        wall, _, imported = first_call(pickled)
        found.append(wall / machine(imported))
    assert min(found) < 1.5


@pytest.mark.alone
@pytest.mark.nightly
def test_trees_very_first_call_compiles_in_seconds(pickled, tmp_path):
    """Eight seconds of the machine at most."""
    found = []
    while len(found) < 3 and min(found, default=np.inf) >= 8:
        folder = tmp_path / str(len(found))
        _, cpu, imported = first_call(pickled, NUMBA_CACHE_DIR=str(folder))
        found.append(cpu / machine(imported))
        assert any(folder.rglob("*.nbi"))
    assert min(found) < 8


SAYS = """
import sys
import numpy as np, paribus
from sklearn.ensemble import RandomForestRegressor
X = np.random.default_rng(0).normal(size=(100, 2))
model = RandomForestRegressor(2, max_depth=2).fit(X, X[:, 0])
paribus.effects(model, X, progress=False if sys.argv[1:] else None)
"""


@pytest.mark.nightly
def test_trees_first_call_says_that_it_compiles_unless_progress_is_false(tmp_path):
    def said(folder, *arguments):
        command, env = [sys.executable, "-c", SAYS, *arguments], {"NUMBA_CACHE_DIR": str(tmp_path / folder)}
        return subprocess.run(
            command, capture_output=True, text=True, check=True, env=os.environ | env
        ).stderr

    assert said("first").startswith("paribus: compiling kernels, once on this machine; kept in ")
    assert said("first") == ""
    assert said("silent", "quiet") == ""


UNCACHED = """
import numpy as np
import numba.core.caching as caching
caching.CacheImpl._locator_classes = []
import paribus
from sklearn.ensemble import RandomForestRegressor
X = np.random.default_rng(0).normal(size=(100, 2))
model = RandomForestRegressor(2, max_depth=2).fit(X, X[:, 0])
print(paribus.partial_dependence(model, X, 0, progress=False).provenance.evaluator)
"""


@pytest.mark.nightly
def test_trees_kernels_are_compiled_where_nothing_can_be_cached():
    run = subprocess.run([sys.executable, "-c", UNCACHED], capture_output=True, text=True)
    assert run.stdout.strip() == "tree_exact", run.stderr[-500:]
