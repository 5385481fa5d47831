"""The examples of docs/contributing.md: what is added works, and the page shows it as it is."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import paribus
from paribus._evaluators import planner
from paribus._models import libraries
from paribus.results.provenance import reproducible
from statistic_of import statistic_of
from toy_evaluator import UnusedFeatures
from toy_executor import PoolExecutor
from toy_trees import Stumps, ToyTrees

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "contributing.md"
RNG = np.random.default_rng(0)
X = RNG.normal(size=(900, 3))
WEIGHTS = RNG.gamma(1.0, size=len(X))
QUIET = {"sample_weight": WEIGHTS, "progress": False}


def equal(have, want):
    for name, effect in want.items():
        np.testing.assert_allclose(have[name].average, effect.average, rtol=1e-12)
        np.testing.assert_allclose(have[name].standard_error, effect.standard_error, rtol=1e-9, atol=1e-15)


def test_toy_reader_makes_partial_dependence_exact(monkeypatch):
    monkeypatch.setattr(libraries, "LIBRARIES", (*libraries.LIBRARIES, ToyTrees()))
    model = Stumps((0, 0.1, 1.0, 2.0), (1, -0.5, 0.0, 4.0), (0, 0.9, 0.5, -0.5))
    requested = {"features": [0, 1, 2, (0, 1)], "grid_resolution": 7, **QUIET}
    exact = paribus.effects(model, X, method="exact", **requested)
    assert exact["x0"].provenance.evaluator == "tree_exact"
    equal(exact, paribus.effects(model, X, method="brute", **requested))


def test_toy_reader_refuses_what_it_does_not_know(monkeypatch):
    monkeypatch.setattr(libraries, "LIBRARIES", (*libraries.LIBRARIES, ToyTrees()))

    class Other(Stumps):
        pass

    with pytest.raises(paribus.errors.RefusalError, match="Other is not a class of Toy Trees"):
        paribus.effects(Other((0, 0.1, 1.0, 2.0)), X, method="exact", **QUIET)


class TwoOfThree:
    """A model that says which columns it uses."""

    used_features_ = (0, 1)

    def predict(self, table):
        first, second, _ = np.asarray(table).T
        return first * second


def test_toy_evaluator_is_taken_where_it_does_not_refuse(monkeypatch):
    others = planner.EVALUATORS["effects"]
    monkeypatch.setitem(planner.EVALUATORS, "effects", lambda: [UnusedFeatures, *others()])
    for features, evaluator in (([2], "unused_features"), ([0, 2], "brute")):
        found = paribus.effects(TwoOfThree(), X, features, grid_resolution=5, **QUIET)
        assert found["x2"].provenance.evaluator == evaluator
        equal(found, paribus.effects(TwoOfThree().predict, X, features, grid_resolution=5, **QUIET))
    assert "does not say that it leaves" in str(found["x2"].provenance.refusals["unused_features"])


def test_toy_executor_gives_the_bits_of_one_process(tmp_path):
    rows, model = tmp_path / "rows.parquet", TwoOfThree()
    pd.DataFrame(X, columns=list("abc")).assign(w=WEIGHTS).to_parquet(rows)
    for verb, options in (("effects", {"grid_resolution": 9}), ("h_statistic", {"features": ["a", "b"]})):
        options |= {"feature_names": list("abc"), "sample_weight": "w", "progress": False}
        want = statistic_of(verb, model, rows, **options)
        with ThreadPoolExecutor(3) as pool:
            for kept in ({}, {"checkpoint": tmp_path / verb}):
                have = statistic_of(verb, model, rows, executor=PoolExecutor(pool), **kept, **options)
                assert reproducible(have) == reproducible(want)
        assert list((tmp_path / verb).glob("*/*.npz"))
    assert have.provenance.executor == "a ThreadPoolExecutor"


@pytest.mark.parametrize("name", sorted(path.name for path in HERE.glob("toy_*.py")))
def test_page_shows_the_examples_as_they_are(name):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    code = (HERE / name).read_text().partition('"""\n\n')[2]
    assert code in blocks
