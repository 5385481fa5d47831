"""Trees, programs and codes that are kept between calls and passes."""

from collections import Counter

import numpy as np
import pytest
from lightgbm import LGBMRegressor
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import paribus
from paribus._evaluators.trees import programs
from paribus._models import structure

QUIET = {"progress": False}


def table(rows=300, seed=0):
    X = np.random.default_rng(seed).normal(size=(rows, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2]


MODELS = {
    "boosted": lambda: HistGradientBoostingRegressor(max_iter=10),
    "forest": lambda: RandomForestRegressor(5, max_depth=4, random_state=0),
    "LightGBM": lambda: LGBMRegressor(n_estimators=10, verbose=-1),
}


def averages(model, X, **options):
    found = paribus.effects(model, X, grid_resolution=5, **options, **QUIET)
    return np.stack([found[f"x{j}"].average[0] for j in range(4)])


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch):
    monkeypatch.setattr(structure, "_KNOWN", {})


@pytest.mark.parametrize("name", MODELS)
def test_trees_that_are_known_are_checked_and_laid_out_once(name, monkeypatch):
    X, y = table()
    model, seen = MODELS[name]().fit(X, y), Counter()
    for module, function in ((structure, "_checked_trees"), (programs, "_laid_out_program")):
        own = getattr(module, function)
        monkeypatch.setattr(
            module,
            function,
            lambda *given, own=own, function=function: seen.update([function]) or own(*given),
        )
    first, second = averages(model, X), averages(model, X)
    assert seen == {"_checked_trees": 1, "_laid_out_program": 1}
    np.testing.assert_array_equal(first, second)
    averages(model, X[::2])  # other rows are predicted to check the trees
    assert seen["_checked_trees"] == 2


@pytest.mark.parametrize("name", MODELS)
def test_refitted_model_is_read_anew(name):
    X, y = table()
    model = MODELS[name]().fit(X, y)
    averages(model, X)
    model.fit(X, -3 * y + X[:, 3])
    np.testing.assert_allclose(averages(model, X), averages(model, X, method="brute"), atol=1e-10)


def test_leaf_that_is_changed_in_place_is_read_anew():
    X, y = table()
    model = HistGradientBoostingRegressor(max_iter=3).fit(X, y)
    before = averages(model, X)
    model._predictors[1][0].nodes["value"] *= 2.0
    after = averages(model, X)
    assert np.abs(after - before).max() > 1e-3
    np.testing.assert_allclose(after, averages(model, X, method="brute"), atol=1e-10)


def test_few_ensembles_and_small_programs_are_kept(monkeypatch):
    X, y = table()
    for seed in range(structure.MOST_KNOWN + 2):
        averages(RandomForestRegressor(2, max_depth=3, random_state=seed).fit(X, y), X)
    assert len(structure._KNOWN) == structure.MOST_KNOWN
    (*_, trees) = structure._KNOWN.values()
    (kept,) = programs._PROGRAMS[trees.ensemble].values()
    monkeypatch.setattr(programs, "KEPT_BYTES", 2 * kept.nbytes)
    model = RandomForestRegressor(2, max_depth=3, random_state=seed).fit(X, y)
    for features in [(0,), (1,), (2,), (3,), (0, 1), (1, 2)]:
        paribus.partial_dependence(model, X, features, **QUIET)
    sizes = [program.nbytes for program in programs._PROGRAMS[trees.ensemble].values()]
    assert 0 < sum(sizes) <= 2 * kept.nbytes
    assert len(sizes) < 6


@pytest.mark.parametrize("prepared", [False, True])
def test_explanation_lays_out_each_family_of_an_ensemble_once(prepared, monkeypatch):
    X, y = table(400)
    model = HistGradientBoostingRegressor(max_iter=10)
    if prepared:
        X[:, 3] = np.round(X[:, 3])
        encoder = make_column_transformer((OneHotEncoder(sparse_output=False), [3]), remainder="passthrough")
        model = make_pipeline(encoder, model)
    model.fit(X, y)
    own, seen = programs._laid_out_program, Counter()

    def counted(ensemble, family, *others):
        seen[id(ensemble), family.sets, family.features] += 1
        return own(ensemble, family, *others)

    monkeypatch.setattr(programs, "_laid_out_program", counted)
    paribus.explain(model, X, y, **QUIET)
    assert set(seen.values()) == {1}
    assert len(seen) <= 10


def test_values_changed_between_calls_are_read_again():
    X, y = table()
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, y)
    first = averages(model, X)
    X[:, 0] += 1.0
    second = averages(model, X)
    assert np.abs(first - second).max() > 1e-3
    np.testing.assert_allclose(second, averages(model, X, method="brute"), atol=1e-10)


def test_explainer_reads_values_that_were_changed_between_its_runs():
    X, y = table()
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, y)
    explainer, grid = paribus.Explainer(model, X, **QUIET), {0: [-1.0, 0.0, 1.0]}
    first = explainer.partial_dependence(0, custom_values=grid).average
    X[:, 1] += 1.0
    second = explainer.partial_dependence(0, custom_values=grid).average
    assert np.abs(first - second).max() > 1e-3
    want = paribus.partial_dependence(model, X, 0, custom_values=grid, method="brute", **QUIET)
    np.testing.assert_allclose(second, want.average, atol=1e-10)
