"""Choice between evaluators of trees and brute force if the kernels are not compiled."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus
from paribus._evaluators import planner
from paribus.errors import RefusalCode
from tree_examples import FULL, SIGNAL, hist

WHY = "numba is not installed"


@pytest.fixture
def in_numpy(monkeypatch):
    """Plan as if the kernels were not compiled."""
    monkeypatch.setattr(planner, "why_numpy", lambda: WHY)


@pytest.fixture(scope="module")
def model():
    return hist("Regressor", max_leaf_nodes=10, early_stopping=False).fit(FULL, SIGNAL)


def leaves_per_tree(model):
    sizes = [stage[0].get_n_leaf_nodes() for stage in model._predictors]
    return sum(sizes) / len(sizes)


@pytest.mark.usefixtures("in_numpy")
def test_brute_force_replaces_slower_kernels_and_gives_the_same_numbers(model):
    found = paribus.accumulated_local_effects(model, FULL, 0)
    want = paribus.accumulated_local_effects(model, FULL, 0, method="exact")
    assert (found.provenance.evaluator, want.provenance.evaluator) == ("brute", "tree_ale")
    mine, theirs = (one.to_frame().select_dtypes("number") for one in (found, want))
    np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    refusal = found.provenance.refusals["tree_ale"]
    assert refusal.code is RefusalCode.SLOWER
    assert f"longer than 2 predictions of each row by trees of {leaves_per_tree(model):.0f} leaves" in refusal
    assert WHY in str(found)
    assert found.provenance.predictions == 2 * len(FULL)


@pytest.mark.usefixtures("in_numpy")
def test_brute_force_is_used_below_a_number_of_points_per_leaf(model):
    limit = planner.LEAF_PREDICTIONS * leaves_per_tree(model)
    below, above = int(np.ceil(limit)) - 1, int(np.ceil(limit))
    for points, evaluator in ((below, "brute"), (above, "tree_exact")):
        grid = np.linspace(*np.quantile(FULL[:, 0], [0.1, 0.9]), points)
        found = paribus.partial_dependence(model, FULL, 0, custom_values={0: grid})
        assert (len(found.average[0]), found.provenance.evaluator) == (points, evaluator)


def test_compiled_kernels_are_never_replaced(model):
    found = paribus.accumulated_local_effects(model, FULL, 0)
    assert found.provenance.evaluator == "tree_ale"


@pytest.mark.usefixtures("in_numpy")
def test_statistics_that_cross_rows_keep_the_kernels(model):
    assert paribus.h_statistic(model, FULL).provenance.evaluator == "tree_exact"


@pytest.mark.usefixtures("in_numpy")
def test_a_model_behind_preprocessing_keeps_the_kernels():
    scaled = make_pipeline(StandardScaler(), hist("Regressor")).fit(FULL, SIGNAL)
    assert paribus.accumulated_local_effects(scaled, FULL, 0).provenance.evaluator == "tree_ale"
