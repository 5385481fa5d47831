"""Standard errors of differences along curves, from the individual curves of some rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus
from paribus._api.statistics import shape_statistic
from paribus._api.statistics.shape_statistic import ShapeStatistic
from paribus.errors import OptionError
from paribus.results.shape import shapes_of

ROWS = 1_500
GRID = {"grid_resolution": 8}


def table(rows=ROWS):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(rows, 3)), columns=list("abc"))
    X.loc[::9, "c"] = np.nan
    return X.assign(w=np.where(np.arange(rows) % 7 == 0, 0.0, rng.exponential(size=rows)))


def predict(X):
    a, b, c = (np.nan_to_num(np.asarray(X[name], dtype=float)) for name in "abc")
    return np.sin(a) + a * b + 0.3 * c


@pytest.fixture(scope="module")
def X():
    return table()


@pytest.fixture(scope="module")
def trees(X):
    return HistGradientBoostingRegressor(max_iter=10).fit(X[["a", "b", "c"]], predict(X))


def shapes(model, X, **options):
    explainer = paribus.Explainer(model, X, **options)
    arguments = {**GRID, "features": ["a", "b", "c"]}
    ((_, effects),) = explainer._requests([("effects", arguments)])
    statistics = {"effects": effects.statistic(explainer._subject)}
    statistics["shapes"] = ShapeStatistic.beside(statistics["effects"])
    found = explainer._run_named(statistics, effects.sample)
    return found["effects"], {one.feature: one for one in shapes_of(found["effects"], found["shapes"], {})}


def exact_error(effect, shape):
    """Return the error of the range from the curves of all rows."""
    moved = effect.centered(at=shape.lowest)
    return moved.standard_error[0][effect.grid_values[0] == shape.highest][0]


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_few_rows_are_those_of_all_their_curves(X, weighted):
    some = X.head(shape_statistic.LEAST_ROWS)
    weights = some["w"] if weighted else None
    _, found = shapes(predict, some[["a", "b", "c"]], sample_weight=weights)
    both = paribus.effects(predict, some[["a", "b", "c"]], kind="both", sample_weight=weights, **GRID)
    for name, shape in found.items():
        assert shape.rows == (len(some) if weights is None else (weights > 0).sum())
        assert shape.range_error == pytest.approx(exact_error(both[name], shape), rel=1e-9, abs=1e-12)
    assert found["c"].range_error < 1e-12  # all rows move alike
    assert found["a"].range_error > 0.05


def test_error_of_the_range_is_that_of_resampled_rows(X):
    some = X.head(120)[["a", "b", "c"]]
    _, found = shapes(predict, some)
    shape, rng = found["a"], np.random.default_rng(1)
    low, high = (predict(some.assign(a=value)) for value in (shape.lowest, shape.highest))
    draws = [np.mean((high - low)[rng.integers(0, 120, 120)]) for _ in range(2_000)]
    assert shape.range == pytest.approx(np.mean(high - low))
    assert shape.range_error == pytest.approx(np.std(draws), rel=0.06)


@pytest.mark.parametrize("weighted", [False, True])
def test_errors_of_sampled_rows_estimate_those_of_all(X, trees, weighted):
    own, weights = X[["a", "b", "c"]], X["w"] if weighted else None
    for model, rows in ((trees, 1_024), (predict, ROWS // 8)):
        _, found = shapes(model, own, sample_weight=weights)
        both = paribus.effects(model, own, kind="both", sample_weight=weights, **GRID)
        for name in "ab":
            few = (
                rows if weights is None else min(rows, int((weights > 0).sum()) // (8 if rows < 1_000 else 1))
            )
            assert found[name].rows == few
            assert found[name].range_error == pytest.approx(exact_error(both[name], found[name]), rel=0.25)


@pytest.mark.parametrize("weighted", [False, True])
def test_bits_do_not_depend_on_where_rows_are(X, trees, weighted, tmp_path):
    X.iloc[:700].to_parquet(tmp_path / "1.parquet")
    X.iloc[700:].to_parquet(tmp_path / "2.parquet")
    own = X[["a", "b", "c"]]
    effects, held = shapes(trees, own, sample_weight=X["w"] if weighted else None)
    passes = effects.provenance.passes
    for where, jobs in ((own, 1), (own, 2), (tmp_path, None)):
        weights = "w" if where is tmp_path else X["w"]
        effects, found = shapes(trees, where, sample_weight=weights if weighted else None, n_jobs=jobs)
        for name, shape in held.items():
            other = found[name]
            assert shape.centered_error.tobytes() == other.centered_error.tobytes()
            assert shape.range_error == other.range_error > 0
            assert shape.rows == other.rows
    assert effects.provenance.passes == 2  # the survey, and one in which rows are evaluated and taken
    assert passes == 1


@pytest.mark.cluster
def test_bits_of_a_cluster_are_the_same(X, trees, client):
    own = X[["a", "b", "c"]]
    for model in (trees, predict):
        _, here = shapes(model, own)
        _, there = shapes(model, own, executor=client)
        for name in "abc":
            assert here[name].centered_error.tobytes() == there[name].centered_error.tobytes()
            assert here[name].range_error == there[name].range_error


def test_error_of_several_models_is_that_of_their_mean(X):
    models = [predict, lambda t: 2 * np.asarray(t["a"]) * np.asarray(t["b"])]
    some = X.head(100)[["a", "b", "c"]]
    _, found = shapes(models, some)
    _, mean = shapes(lambda t: (models[0](t) + models[1](t)) / 2, some)
    for name in "abc":
        assert found[name].range_error == pytest.approx(mean[name].range_error, abs=1e-12)
        assert found[name].rows == 100


def test_very_many_curves_have_fewer_rows(X, trees, monkeypatch):
    monkeypatch.setattr(shape_statistic, "MOST_NUMBERS", 200 * (3 * 8 + 1))
    _, found = shapes(trees, X[["a", "b", "c"]])
    assert {shape.rows for shape in found.values()} == {200}
    assert found["a"].range_error > 0


def test_little_memory_leaves_fewer_rows(X, trees, monkeypatch):
    _, found = shapes(trees, X[["a", "b", "c"]])
    monkeypatch.setattr(shape_statistic, "CURVE_BYTES", 8 * 9 * 1_024)  # a grid at a time
    _, apart = shapes(trees, X[["a", "b", "c"]])
    for name in "abc":
        assert found[name].centered_error.tobytes() == apart[name].centered_error.tobytes()
    monkeypatch.setattr(shape_statistic, "CURVE_BYTES", 8 * 9 * 50)
    _, fewer = shapes(trees, X[["a", "b", "c"]])
    assert {shape.rows for shape in fewer.values()} == {50}


def test_direction_of_unordered_categories_is_refused_before_anything_is_evaluated():
    X = pd.DataFrame({"k": list("abc") * 5, "z": range(15)})
    calls = []

    def model(t):
        calls.append(len(t))
        return np.asarray(t["z"], dtype=float)

    with pytest.raises(OptionError, match=r"direction of 'k', whose categories have no order; omit it"):
        paribus.explain(model, X, monotone={"k": 1}, progress=False)
    assert sum(calls) < 63  # by which a model is tried first
    shapes_found = {one.feature: one for one in paribus.explain(model, X, monotone={"k": 0, "z": 1}).shapes}
    assert shapes_found["z"].monotonicity.is_declared
