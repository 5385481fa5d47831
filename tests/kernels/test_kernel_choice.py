"""Which kernels evaluate trees: compiled where numba can be imported, else those in NumPy."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from paribus import _kernels
from paribus._kernels import compiled, reference
from paribus.errors import OptionError
from tree_examples import FULL, SIGNAL, WEIGHTS, hist

STATISTICS = """
import paribus


def every_statistic(model, table, weights):
    few = {"grid_resolution": 8, "progress": False, "method": "exact"}
    return {
        "curves": paribus.effects(model, table, kind="both", sample_weight=weights, **few),
        "pair": paribus.partial_dependence(model, table, (0, 1), **few),
        "paths": paribus.partial_dependence(model, table, 0, **few | {"method": "recursion"}),
        "strengths": paribus.h_statistic(model, table, progress=False),
        "local": paribus.accumulated_local_effects(model, table, method="exact", progress=False),
        "ranking": paribus.feature_importance(model, table, progress=False),
    }
"""
CHILD = """
import logging, pickle, sys
sys.modules["numba"] = None
logging.basicConfig(format="%(message)s")
model, table, weights = pickle.load(sys.stdin.buffer)
found = every_statistic(model, table, weights)
found["function"] = paribus.partial_dependence(lambda t: t[:, 0], table, 0)
sys.stdout.buffer.write(pickle.dumps(found))
"""


@pytest.mark.nightly
def test_without_numba_every_statistic_is_that_of_numpy():
    model = hist("Regressor").fit(FULL, SIGNAL)
    rows, local = (model, FULL[:120], WEIGHTS[:120]), {}
    exec(STATISTICS, local)
    run = subprocess.run(
        [sys.executable, "-c", STATISTICS + CHILD], input=pickle.dumps(rows), capture_output=True, check=True
    )
    found = pickle.loads(run.stdout)
    assert run.stderr.decode().count("with NumPy, many times slower: numba is not installed") == 1
    why = "with NumPy, slower than compiled: numba is not installed"
    assert why not in found.pop("function").provenance.how
    for name, want in local["every_statistic"](*rows).items():
        assert found[name].provenance.evaluator == want.provenance.evaluator != "brute_force"
        assert found[name].provenance.how == f"{want.provenance.how}; {why}"
        mine, theirs = (one.to_frame().select_dtypes("number") for one in (found[name], want))
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.fixture
def undecided():
    """Let the choice be made anew, and again afterwards."""
    _kernels.why_numpy.cache_clear()
    yield
    _kernels.why_numpy.cache_clear()


@pytest.mark.usefixtures("undecided")
@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ImportError("Numba needs NumPy 2.1 or less"), "(ImportError: Numba needs NumPy 2.1 or less)"),
        (OSError("Could not find/load shared object file"), "(OSError: Could not find/load shared"),
        (ModuleNotFoundError("No module named 'llvmlite'", name="llvmlite"), "No module named 'llvmlite'"),
    ],
)
def test_numba_that_cannot_be_imported_is_named_once(error, why, monkeypatch, caplog):
    wanted = _kernels.import_module

    def fails(name):
        if name == "numba":
            raise error
        return wanted(name)

    monkeypatch.setattr(_kernels, "import_module", fails)
    assert _kernels.kernels() is _kernels.kernels() is reference
    assert why in _kernels.why_numpy()
    assert caplog.text.count(why) == 1


@pytest.mark.usefixtures("undecided")
def test_the_environment_names_the_kernels(monkeypatch, caplog):
    assert _kernels.kernels() is compiled
    monkeypatch.setenv("PARIBUS_KERNELS", "reference")
    _kernels.why_numpy.cache_clear()
    assert _kernels.kernels() is reference
    assert "PARIBUS_KERNELS" in _kernels.why_numpy()
    assert not caplog.text  # it was requested
    monkeypatch.setenv("PARIBUS_KERNELS", "fast")
    _kernels.why_numpy.cache_clear()
    with pytest.raises(OptionError, match="PARIBUS_KERNELS='fast' is not one of 'compiled', 'reference'"):
        _kernels.kernels()


def test_both_kernels_have_the_same_functions():
    def public(module):
        named = vars(module).items()
        own = {name for name, one in named if str(getattr(one, "__module__", "")).startswith(module.__name__)}
        return {name for name in own if not name.startswith("_") and not isinstance(vars(module)[name], type)}

    helpers = {
        "leaves",
        "failures",
        "inside",
        "added",
        "evaluated",
        "follow",
        "slot_of",
        "ancestors",
    }
    assert public(compiled) == public(reference) - helpers
