"""Explain: the parts are those of each function to the bit, in few passes, of any model and table."""

from functools import cache

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paribus
from compared_results import differing
from paribus._api import explaining
from paribus._data.scan.parquet import ParquetFiles
from paribus.errors import ParibusError
from statistic_of import statistic_of

ROWS, QUIET = 700, {"progress": False}
PARTS = (
    "effects",
    "ale",
    "averages",
    "importance",
    "interactions",
    "surfaces",
    "shapes",
    "performance",
    "columns",
)


@cache
def table():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=ROWS), "b": rng.normal(size=ROWS), "n": rng.integers(0, 5, ROWS)})
    X["gap"] = np.where(rng.random(ROWS) < 0.2, np.nan, X["a"] + rng.normal(size=ROWS))
    X["kind"] = pd.Categorical(rng.choice(list("uvw"), ROWS))
    X["y"] = X["a"] * X["b"] + X["n"] + np.nan_to_num(X["gap"]) + (X["kind"] == "u") * X["a"]
    X["w"] = rng.gamma(2.0, size=ROWS)
    return X


NAMES = ["a", "b", "n", "gap", "kind"]


@cache
def trees():
    X = table()
    return HistGradientBoostingRegressor(max_iter=15, categorical_features="from_dtype").fit(X[NAMES], X["y"])


def product(X):
    return np.asarray(X["a"], dtype=float) * np.asarray(X["b"], dtype=float) + np.asarray(X["n"], dtype=float)


@pytest.mark.parametrize("model", [trees, lambda: product], ids=["trees", "callable"])
def test_each_part_is_what_its_function_returns(model):
    X, y = table()[NAMES], table()["y"]
    explainer = paribus.Explainer(model(), X, y, **QUIET)
    found = explainer.explain()
    subsample = found.interactions.provenance.sampled_rows or "auto"
    assert not differing(found.effects, explainer.effects(quantiles=(0.1, 0.5, 0.9)))
    assert not differing(found.averages, explainer.marginal())
    assert not differing(found.ale, explainer.accumulated_local_effects())
    assert not differing(found.interactions, explainer.h_statistic(subsample=subsample))
    alone = explainer.feature_importance()
    np.testing.assert_array_equal(found.importance.values, alone.values)
    assert not differing(found.surfaces, explainer.effects(list(found.surfaces), grid_resolution=12))


def test_surfaces_are_those_of_the_strongest_pairs():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 6)), columns=list("abcdef"))
    found = paribus.explain(lambda X: (X @ np.arange(1.0, 7.0)) ** 2, X, **QUIET)  # 15 pairs interact
    strongest = {frozenset(one.features) for one in found.interactions.strongest(10)}
    assert {frozenset(pair) for pair in found.surfaces} == strongest
    assert len(strongest) == 10
    assert list(paribus.explain(product, table()[NAMES], **QUIET).surfaces) == [("a", "b")]


@cache
def folder(tmp):
    path = tmp / "rows"
    path.mkdir()
    X = table().astype({"kind": str})
    for part in range(2):
        some = X.iloc[part::2].reset_index(drop=True)
        some.to_parquet(path / f"part-{part}.parquet", row_group_size=100)
    return path


def from_files(path):
    return pd.concat([pq.read_table(file).to_pandas() for file in sorted(path.iterdir())], ignore_index=True)


@pytest.mark.nightly
@pytest.mark.parametrize("model", ["trees", "callable"])
def test_rows_that_are_read_in_a_few_passes_give_the_same_bits(model, tmp_path):
    """Categories are among them, so that local effects need rows that are drawn first."""
    path = folder(tmp_path)
    held = from_files(path)
    options = {"features": NAMES} if model == "callable" else {}
    estimator = product
    if model == "trees":
        numeric = ["a", "b", "n", "gap"]
        estimator = HistGradientBoostingRegressor(max_iter=10).fit(held[numeric], held["y"])
    read = paribus.explain(estimator, path, "y", sample_weight="w", **options, **QUIET)
    columns = held[[*NAMES]] if model == "callable" else held[["a", "b", "n", "gap"]]
    mine = paribus.explain(estimator, columns, held["y"], sample_weight=held["w"], **options, **QUIET)
    assert read.provenance.passes == (4 if model == "trees" else 3)  # the last for the curves of regions
    for part in PARTS:
        if part not in ("ale", "columns"):  # sums of bins in another order
            assert not differing(getattr(mine, part), getattr(read, part)), part
    for name, effect in mine.ale.items():
        np.testing.assert_allclose(read.ale[name].ale, effect.ale, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weight", [None, "w"])
def test_all_rows_are_read_four_times_whatever_the_source(weight, tmp_path, monkeypatch):
    """The first rows belong to the first of these reads; a function is called once more, for its columns.

    The last read is for the curves of regions.
    """
    held = from_files(folder(tmp_path))[["a", "b", "n", "gap", "y", "w"]]
    model = HistGradientBoostingRegressor(max_iter=5).fit(held[["a", "b", "n", "gap"]], held["y"])
    batches, given = pa.Table.from_pandas(held).to_batches(max_chunksize=100), []

    def source():
        given.append(0)
        for batch in batches:
            given[-1] += len(batch)
            yield batch

    def explained(X):
        return paribus.explain(model, X, "y", sample_weight=weight, **QUIET)

    found = explained(source)
    assert any(one.splits for one in found.regions.values())
    assert given == [100, *[len(held)] * 4]
    assert found.provenance.passes == 4
    collected = []
    frame = pl.from_pandas(held).lazy().map_batches(lambda rows: collected.append(len(rows)) or rows)
    assert not differing(explained(frame).effects, found.effects)
    assert sum(collected) == 4 * len(held)
    yielded, batches_of, head_of = [], ParquetFiles.batches, ParquetFiles.head

    def counted(self, *args):
        for batch in batches_of(self, *args):
            yielded.append(len(batch))
            yield batch

    def not_counted(self, columns):
        before, head = len(yielded), head_of(self, columns)
        del yielded[before:]
        return head

    monkeypatch.setattr(ParquetFiles, "batches", counted)
    monkeypatch.setattr(ParquetFiles, "head", not_counted)
    explained(folder(tmp_path))
    assert sum(yielded) == 4 * len(held)


@pytest.mark.parametrize("kind", ["probability", "callable"])
def test_of_many_features_those_that_interact_most_are_paired(kind, monkeypatch):
    """Where rows are crossed; the pairs have the numbers that they have among all pairs."""
    monkeypatch.setattr(explaining, "PAIRED", 3)
    X, options = table()[["n", "gap", "a", "b"]], {"subsample": 40, "random_state": 0, **QUIET}
    model = product
    if kind == "probability":
        model = HistGradientBoostingClassifier(max_iter=8).fit(X, table()["y"] > 2)
    found = paribus.explain(model, X, **options)
    every, some = paribus.h_statistic(model, X, **options), found.interactions
    kept = set(np.argsort(-every.overall.numerator[:, 0], kind="stable")[:3].tolist())
    assert some.pairs == tuple(pair for pair in every.pairs if kept.issuperset(pair))
    places = [every.pairs.index(pair) for pair in some.pairs]
    for name in ("numerator", "denominator", "numerator_error", "ratio_error"):
        assert np.array_equal(getattr(some.pairwise, name), getattr(every.pairwise, name)[places]), name
    assert not differing(some.overall, every.overall)
    (note,) = (one for one in some.notes if one.code == "PAR208")
    assert note.text.startswith("3 of 6 pairs were evaluated: those of the 3 features that interact most")
    assert "PAR208" not in {one.code for one in every.notes}
    (left,) = set(range(4)) - kept
    assert found.table[some.feature_names[left]].partner is None
    assert len(paribus.explain([model, model], X, **options).interactions.pairs) == 6


def test_threads_and_checkpoints_change_no_bit(tmp_path):
    path = folder(tmp_path)
    held = from_files(path)
    model = HistGradientBoostingRegressor(max_iter=10).fit(held[["a", "b", "n", "gap"]], held["y"])
    one = paribus.explain(model, path, "y", n_jobs=1, **QUIET)
    kept = {"checkpoint": tmp_path / "kept", "n_jobs": 3}
    for other in (statistic_of("explain", model, path, "y", **kept, **QUIET) for _ in range(2)):
        assert not [part for part in PARTS if differing(getattr(one, part), getattr(other, part))]


@pytest.mark.cluster
def test_a_cluster_changes_no_bit(client, tmp_path):
    path = folder(tmp_path)
    held = from_files(path)
    model = HistGradientBoostingRegressor(max_iter=10).fit(held[["a", "b", "n", "gap"]], held["y"])
    here = paribus.explain(model, path, "y", **QUIET)
    there = paribus.Explainer(model, path, "y", executor=client, **QUIET).explain()
    assert not [part for part in PARTS if differing(getattr(here, part), getattr(there, part))]


def test_a_column_that_cannot_be_varied_is_left_out_of_every_part():
    X = table()[["a", "b", "n"]].assign(lists=[[1, 2]] * ROWS)
    found = paribus.explain(product, X, **QUIET)
    assert set(found.feature_names) == {"a", "b", "n"} == set(found.interactions.feature_names)
    assert list(found.surfaces) == [("a", "b")]
    assert any("lists" in note for note in found.verdict)
    single = paribus.explain(lambda X: np.asarray(X["a"], dtype=float), X[["a", "lists"]], **QUIET)
    assert single.interactions is None
    assert single.importance.feature_names == ("a",)


def test_a_single_feature_has_no_interactions():
    found = paribus.explain(lambda X: X[:, 0] ** 2, table()[["a"]].to_numpy(), **QUIET)
    assert found.interactions is None
    assert found.surfaces is None
    assert found.importance.values[0] > 0
    assert found.table[0].partner is None


def test_interactions_can_be_left_out():
    found = paribus.explain(trees(), table()[NAMES], interactions=False, **QUIET)
    assert found.interactions is None
    assert found.importance.feature_names == tuple(NAMES)


def test_a_list_of_models_has_no_quantiles_and_one_ranking_of_pairs():
    X, y = table()[["a", "b", "n"]], table()["y"]
    models = [HistGradientBoostingRegressor(max_iter=5 + i).fit(X, y) for i in range(2)]
    found = paribus.explain(models, X, **QUIET)
    assert found.effects["a"].quantiles is None
    strength = found.interactions.pairwise.strength[:, 0]
    order = [found.interactions.pairs[k] for k in np.argsort(-strength)]
    names = [tuple(found.interactions.feature_names[j] for j in pair) for pair in order]
    assert {frozenset(pair) for pair in found.surfaces} == {frozenset(pair) for pair in names if pair}


def test_classes_are_explained_together():
    X = table()[["a", "b", "n"]]
    y = np.digitize(table()["y"], [0.0, 3.0])
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    found = paribus.explain(model, X, y, subsample=60, **QUIET)
    assert len(found.output_names) == 3
    assert len(found.shapes) == 9
    assert found.interactions.provenance.sampled_rows == 60
    assert found.performance is not None


def classifiers():
    X = table()
    numbers, classes = X[["a", "b", "n"]], X["y"] > X["y"].median()
    counts = np.round(np.exp(X["a"] * 0.3 + X["b"] * 0.2))
    return {
        "two classes": HistGradientBoostingClassifier(max_iter=8).fit(numbers, classes),
        "three classes": HistGradientBoostingClassifier(max_iter=5).fit(
            numbers, pd.qcut(X["y"], 3).cat.codes
        ),
        "counts": lightgbm.LGBMRegressor(objective="poisson", n_estimators=8, verbose=-1).fit(
            numbers, counts
        ),
        "additive": make_pipeline(StandardScaler(), LogisticRegression()).fit(numbers, classes),
    }


def test_rows_that_are_crossed_are_fewer_of_many_features():
    X = np.random.default_rng(0).normal(size=(200, 30))
    found = paribus.explain(lambda X: X[:, 0] * X[:, 1], X, grid_resolution=2, **QUIET)
    assert found.interactions.provenance.sampled_rows == 65
    assert any(note.code.name == "ROWS_SAMPLED" for note in found.interactions.notes)


def test_notes_without_interactions_are_about_importance():
    X = np.random.default_rng(0).normal(size=(120, 2))
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, X[:, 0] > X[:, 1])
    codes = ("ROWS_SAMPLED", "PROBABILITY_SCALE")
    drawn = "interactions used 50 rows of 120; errors include that of subsampling"
    alone = paribus.explain(model, X, interactions=False, subsample=50, **QUIET)
    assert [note for note in alone.verdict if note.code.name in codes] == [
        drawn,
        "importance with interactions includes those that the probability scale adds to a model that is additive "
        "on the margin scale; response_method='decision_function' explains the margin, exact on every row",
    ]
    both = paribus.explain(model, X, subsample=50, **QUIET)
    assert any(note.startswith(drawn) for note in both.verdict)
    assert drawn in paribus.h_statistic(model, X, subsample=50, **QUIET).notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interactions": "yes"}, "interactions='yes' must be one of True, False"),
        ({"grid_resolution": 0}, "grid_resolution"),
        ({"features": ["nobody"]}, "nobody"),
        ({"subsample": 1}, "subsample=1 must be an integer of at least 2"),
    ],
)
def test_what_cannot_be_is_refused(options, message):
    with pytest.raises(ParibusError, match=message):
        paribus.explain(product, table()[NAMES], **options, **QUIET)


def test_error_of_the_range_of_a_curve_is_that_of_resampled_rows():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=list("abc"))

    def predict(t):
        return np.asarray(np.sin(t["a"]) + t["a"] * t["b"] + 0.3 * t["c"])

    shapes, rng = paribus.explain(predict, X, **QUIET).shapes, np.random.default_rng(1)
    for name in "ab":
        shape = shapes[name]
        low, high = (predict(X.assign(**{name: value})) for value in (shape.lowest, shape.highest))
        draws = [np.mean((high - low)[rng.integers(0, 120, 120)]) for _ in range(2_000)]
        assert shape.range == pytest.approx(np.mean(high - low))
        assert shape.range_error == pytest.approx(np.std(draws), rel=0.06)
    assert shapes["c"].range_error < 1e-12  # all rows move alike


def test_direction_of_unordered_categories_is_refused_before_anything_is_evaluated():
    X = pd.DataFrame({"k": list("abc") * 5, "z": range(15)})
    calls = []

    def model(t):
        calls.append(len(t))
        return np.asarray(t["z"], dtype=float)

    with pytest.raises(ParibusError, match=r"direction of 'k', whose categories have no order; omit it"):
        paribus.explain(model, X, monotone={"k": 1}, **QUIET)
    assert sum(calls) < 63  # by which a model is tried first
    assert paribus.explain(model, X, monotone={"k": 0, "z": 1}, **QUIET).shapes["z"].monotonicity.is_declared
