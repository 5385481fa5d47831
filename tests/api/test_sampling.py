"""Sampled rows: one order of the rows, for every function, and in memory as from files."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import paribus
from paribus._data.samples import sample_numbers, uniform
from paribus._display.compose.axis import whole_of
from paribus._executors import progress
from paribus.errors import OptionError

QUIET = {"progress": False}
ROWS = 600
NAMES = ["a", "b", "c"]


def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(ROWS, 3)), columns=NAMES)
    X.loc[::9, "b"] = np.nan
    return X.assign(
        w=rng.choice([0.0, 1.0, 2.5], ROWS),
        y=X["a"] + rng.normal(size=ROWS),
        g=rng.choice(["north", "south"], ROWS),
    )


class Model:
    """A fitted model that counts the rows that it predicts."""

    feature_names_in_ = np.array(NAMES)
    n_features_in_ = 3

    def __init__(self):
        self.rows = 0

    def fit(self, X, y):
        return self

    def predict(self, X):
        self.rows += len(X)
        return X["a"].to_numpy() * np.nan_to_num(X["b"].to_numpy()) + np.sin(X["c"].to_numpy())


@pytest.fixture
def files(tmp_path):
    whole = table()
    for number, first in enumerate((0, 170, 400)):
        whole.iloc[first : [170, 400, ROWS][number]].to_parquet(tmp_path / f"{number}.parquet")
    return tmp_path


NUMBERS = {
    "partial_dependence": lambda found: [found.average, found.grid_values[0], found.support],
    "effects": lambda found: [number for one in found.values() for number in (one.average, one.support)],
    "accumulated_local_effects": lambda found: [one.ale for one in found.values()],
    "marginal": lambda found: [number for one in found.values() for number in (one.predicted, one.observed)],
    "h_statistic": lambda found: [found["numerator_pairwise"], found["standard_error_h_squared_pairwise"]],
    "feature_importance": lambda found: [found.values, found.standard_error],
    "permutation": lambda found: [found.values, found.standard_error],
    "regions": lambda found: [np.array([one.heterogeneity for one in found.values()])],
    "explain": lambda found: [
        found.importance.values,
        found.performance["R²"].value,
        found.effects["a"].average,
    ],
}


def call(name, X, weight=None, **options):
    if name in ("marginal", "permutation", "explain"):
        options["y"] = "y"
    if name == "partial_dependence":
        options["features"] = "a"
    if name == "permutation":
        options["kind"] = "permutation"
    function = getattr(paribus, "feature_importance" if name == "permutation" else name)
    return function(Model(), X, sample_weight=weight, **options, **QUIET)


def numbers(name, *arguments, **options):
    return [np.asarray(one) for one in NUMBERS[name](call(name, *arguments, **options))]


def same(one, other):
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_sample_is_the_beginning_of_one_order():
    order = np.argsort(uniform(np.arange(ROWS), 3), kind="stable")
    for size in (1, 17, 200, ROWS, 2 * ROWS):
        assert sample_numbers(np.arange(ROWS), 3, size).tolist() == sorted(order[:size].tolist())
    assert set(sample_numbers(np.arange(ROWS), 4, 200)) != set(order[:200])


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_are_those_of_the_sampled_rows_alone(name, weight):
    X = table()
    counted = np.flatnonzero(X["w"] > 0) if weight else np.arange(ROWS)
    rows = counted[sample_numbers(counted, 5, 120)]
    some = X.iloc[rows].reset_index(drop=True)
    want = numbers(name, some, weight, subsample=None, random_state=5)
    same(numbers(name, X, weight, subsample=120, random_state=5), want)


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("name", NUMBERS)
def test_sampled_rows_of_files_are_those_in_memory(name, weight, files):
    options = {"subsample": 120, "random_state": 2}
    same(numbers(name, files, weight, **options), numbers(name, table(), weight, **options))


def test_rows_that_are_no_more_than_the_sample_are_all_used(files):
    for X in (table(), files):
        effect = call("partial_dependence", X, subsample=ROWS)
        assert effect.provenance.sampled_rows is None
        same(NUMBERS["partial_dependence"](effect), numbers("partial_dependence", X))


@pytest.mark.parametrize("name", NUMBERS)
def test_the_sample_is_recorded(name, files):
    for X in (table(), files):
        found = call(name, X, subsample=50, random_state=9)
        one = found if hasattr(found, "provenance") else next(iter(found.values()))
        provenance = one.provenance
        assert (provenance.rows, provenance.sampled_rows, provenance.seed) == (ROWS, 50, 9)
        assert "50 of 600 rows, sampled with seed 9" in provenance.background()
    assert provenance.source is not None


@pytest.mark.parametrize("weight", [None, "w"])
def test_shares_of_the_data_in_figures_are_those_of_the_sampled_rows(weight):
    effect = call("partial_dependence", table(), weight, subsample=50, percentiles=(0, 1))
    assert whole_of(effect.provenance) == pytest.approx(effect.support.sum())


def test_statistics_of_one_run_may_use_other_rows():
    explainer = paribus.Explainer(Model(), table()[NAMES], **QUIET)
    found = explainer.run(("effects", {"subsample": 40}), "h_statistic", ("marginal", {"subsample": 40}))
    assert found["effects"]["a"].provenance.sampled_rows == 40
    assert found["marginal"]["a"].provenance.sampled_rows == 40
    assert found["h_statistic"].provenance.sampled_rows == 500
    same([found["effects"]["a"].average], [explainer.effects(subsample=40)["a"].average])


def test_a_generator_is_used_once_for_a_call():
    X, model = table()[NAMES], Model()
    seeds = np.random.default_rng(1).integers(2**31, size=2)
    generator = np.random.default_rng(1)
    for seed in seeds:
        found = paribus.h_statistic(model, X, subsample=30, random_state=generator, **QUIET)
        assert found.provenance.seed == seed


@pytest.mark.parametrize("wrong", [1, -3, 0.5, "all", True])
def test_other_samples_are_refused(wrong):
    for name in ("effects", "h_statistic", "explain"):
        with pytest.raises(OptionError, match=r"subsample=.* must be .* at least 2, None for every row"):
            call(name, table(), subsample=wrong)


def test_an_explained_function_is_called_on_a_thousand_rows(tmp_path):
    X = np.random.default_rng(0).normal(size=(5_000, 10))
    predicted = [0]

    def slow(rows):
        predicted[0] += len(rows)
        return rows[:, 0] * rows[:, 1] + rows[:, 2]

    found = paribus.explain(slow, X, X[:, 0], **QUIET)
    assert 1_000 * 50 * 10 < predicted[0] <= 4_000_000
    for part in (found, found.ale, found.averages, found.surfaces, found.performance):
        assert part.provenance.sampled_rows == 1_000
    assert found.interactions.provenance.sampled_rows == 190
    assert found.importance.provenance.sampled_rows == 1_000
    assert found.predictions.rows == 1_000
    alone = paribus.h_statistic(slow, X, subsample=190, **QUIET)
    same([found.interactions["numerator_pairwise"]], [alone["numerator_pairwise"]])
    found.report(tmp_path / "report.html")
    for text in (repr(found), (tmp_path / "report.html").read_text()):
        assert "1,000 of 5,000 rows" in text
    predicted[0] = 0
    more = paribus.explain(slow, X[:, :3], subsample=2_000, interactions=False, **QUIET)
    assert more.provenance.sampled_rows == 2_000
    assert (
        paribus.explain(
            slow, X[:1_500, :3], subsample=None, interactions=False, **QUIET
        ).provenance.sampled_rows
        is None
    )


def test_a_model_that_is_read_is_explained_on_all_rows(files):
    X = table()
    model = HistGradientBoostingRegressor(max_iter=5).fit(X[NAMES], X["y"])
    for source in (X, files):
        found = paribus.explain(model, source, "y", **QUIET)
        assert found.provenance.sampled_rows is None
        assert found.interactions.provenance.sampled_rows is None
    fewer = paribus.explain(model, files, "y", subsample=200, **QUIET)
    assert fewer.interactions.provenance.sampled_rows == 200


def test_many_predictions_are_announced_with_their_time(monkeypatch, capsys):
    monkeypatch.setattr(progress, "ANNOUNCED", 0.0)
    X, model = table()[NAMES], Model()
    effect = paribus.partial_dependence(model, X, "a", grid_resolution=10, progress=None)
    lines = capsys.readouterr().err.splitlines()
    assert lines == [f"paribus: {effect.provenance.predictions:,} predictions, about 0 s"]
    paribus.partial_dependence(model, X, "a", grid_resolution=10, **QUIET)
    assert not capsys.readouterr().err
    monkeypatch.setattr(progress, "ANNOUNCED", 10.0)
    paribus.partial_dependence(model, X, "a", grid_resolution=10, progress=None)
    assert not capsys.readouterr().err


def test_the_announced_time_is_that_of_all_predictions(monkeypatch, capsys):
    now = [0.0]

    class Slow(Model):
        def predict(self, X):
            now[0] += 0.001 * len(X)
            return super().predict(X)

    monkeypatch.setattr(progress, "perf_counter", lambda: now[0])
    found = paribus.h_statistic(Slow(), table()[NAMES], subsample=100, progress=None)
    (line,) = [line for line in capsys.readouterr().err.splitlines() if "predictions" in line]
    predictions = found.provenance.predictions
    assert line == f"paribus: {predictions:,} predictions, about {0.001 * predictions:.0f} s"
