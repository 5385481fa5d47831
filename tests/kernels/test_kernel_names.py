"""Names of the kernels that each function calls."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeRegressor

import paribus
from paribus._kernels.compile_workers import WORKERS
from paribus._kernels.jit.common import Kernel
from paribus._kernels.kernel_names import BY_SHAPE, OF_ALL_SHAPES, find_kernel, kernels_of

SHAPES = [names for shape in BY_SHAPE.values() for names in shape]
NAMED = {name for names in [*SHAPES, *OF_ALL_SHAPES.values()] for name in names}


def test_every_named_kernel_exists():
    for name in NAMED:
        assert find_kernel(name).key == name


@pytest.mark.parametrize(
    ("patterned", "shallow", "entries", "want"),
    [
        (3, 3, 3, ["pattern_walks.add_by_patterns"]),
        (0, 3, 3, ["row_curves.curves_by_masks"]),
        (1, 3, 3, ["pattern_walks.add_by_patterns", "row_curves.curves_by_masks"]),
        (0, 0, 3, ["row_curves.list_lines", "row_curves.lines_by_lists"]),
    ],
)
def test_kernels_depend_on_the_shape_of_trees(patterned, shallow, entries, want):
    program = SimpleNamespace(patterned=patterned, shallow=shallow, entries=[0] * entries)
    assert kernels_of(program, ["line_curves", "multiply", "line_curves"]) == [*want, "row_curves.multiply"]


RNG = np.random.default_rng(0)
X = RNG.normal(size=(3_000, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2] + RNG.normal(size=len(X))
MODELS = {
    "few tests": RandomForestRegressor(3, max_depth=2, random_state=0).fit(X, Y),
    "shallow": HistGradientBoostingRegressor(max_iter=3, random_state=0).fit(X, Y),
    "deep": DecisionTreeRegressor(random_state=0).fit(X, Y),
    "link": HistGradientBoostingClassifier(max_iter=3, random_state=0).fit(X, Y > 0),
}
WEIGHTS = {"sample_weight": RNG.gamma(1.0, size=len(X))}
PAIR = {"features": [0, 1, (0, 1)], "grid_resolution": 5}
INDIVIDUAL = {"features": [0], "kind": "individual"}


@pytest.mark.parametrize(
    ("trees", "verb", "options"),
    [
        ("few tests", "effects", PAIR),
        ("few tests", "accumulated_local_effects", {}),
        ("few tests", "h_statistic", {}),
        ("shallow", "effects", WEIGHTS),
        ("shallow", "accumulated_local_effects", {}),
        ("shallow", "h_statistic", WEIGHTS),
        ("deep", "effects", PAIR),
        ("deep", "effects", WEIGHTS),
        ("deep", "h_statistic", {}),
        ("link", "effects", {}),
        ("link", "effects", INDIVIDUAL),
    ],
)
def test_kernels_compiled_in_advance_are_those_that_a_statistic_calls(trees, verb, options, monkeypatch):
    announced, called = set(), set()
    run = Kernel.__call__

    def record(kernel, *arguments):
        called.add(kernel.key)
        run(kernel, *arguments)

    monkeypatch.setattr(WORKERS, "start", lambda kernels: announced.update(k.key for k in kernels))
    monkeypatch.setattr(Kernel, "__call__", record)
    getattr(paribus, verb)(MODELS[trees], X, progress=False, **options)
    assert announced == called & NAMED
    assert announced
