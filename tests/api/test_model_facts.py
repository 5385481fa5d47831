"""The record of a model and of its columns, in memory and read."""

import datetime

import lightgbm
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import paribus


def record_of(*arguments, **options):
    explanation = paribus.explain(*arguments, **options)
    return explanation.model, explanation.columns


def test_trees_are_counted_as_their_library_does():
    X = np.random.default_rng(0).normal(size=(80, 2))
    forest = RandomForestRegressor(n_estimators=3, max_depth=4, random_state=0).fit(X, X[:, 0])
    model, _ = record_of(forest, X)
    trees = [tree.tree_ for tree in forest.estimators_]
    assert (model.trees, model.leaves, model.depth) == (
        3,
        sum(tree.n_leaves for tree in trees),
        max(tree.max_depth for tree in trees),
    )
    assert model.parameters["max_depth"] == "4"
    assert {"python", "paribus", "numpy", "narwhals", "sklearn"} <= set(model.versions)
    assert not {"polars", "xgboost"} & set(model.versions)
    line, _ = record_of(LinearRegression().fit(X, X[:, 0]), X)
    assert (line.trees, line.leaves, line.depth) == (None, None, None)
    function, _ = record_of(lambda t: t[:, 0], X)
    assert function.parameters == {}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    days = [datetime.datetime(2024, 1, 1) + datetime.timedelta(days=int(d)) for d in rng.integers(0, 50, 60)]
    return pa.table(
        {
            "number": pa.array([None, 7.5, float("inf"), *rng.normal(size=57).tolist()], pa.float64()),
            "count": pa.array(rng.integers(-3, 9, 60)),
            "flag": pa.array(rng.random(60) < 0.5),
            "city": pa.array(["Bern", None, *rng.choice(["Ulm", "Graz"], 58).tolist()]),
            "kind": pa.array(rng.choice(["a", "b"], 60).tolist()).dictionary_encode(),
            "day": pa.array(days),
            "w": pa.array([1.0, 0.0, *np.ones(58)]),
        }
    )


def test_columns_are_the_same_in_memory_and_read(table, tmp_path):
    def model(t):
        return np.asarray(t["count"], dtype=float)

    names = [name for name in table.column_names if name != "w"]
    weights = table["w"].to_numpy()
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=20)
    _, held = record_of(model, table.select(names), sample_weight=weights)
    _, read = record_of(model, tmp_path / "rows.parquet", sample_weight="w")
    assert [vars(one) for one in held] == [vars(one) for one in read]
    by_name = {one.name: one for one in held}
    assert [one.name for one in held] == names
    assert by_name["number"].kind == "numeric"
    assert by_name["number"].highest < 7.5  # of a row of weight zero, and infinity is none
    assert by_name["number"].missing == by_name["city"].missing + 1 / 59
    assert (by_name["count"].lowest, by_name["count"].highest) == (-3, 8)
    assert (by_name["city"].categories, by_name["kind"].categories, by_name["flag"].categories) == (3, 2, 2)
    assert by_name["city"].lowest is None
    assert isinstance(by_name["day"].lowest, np.datetime64)


def test_the_record_is_saved_and_restored(table, tmp_path):
    names = ["count", "day"]
    found = paribus.explain(lambda t: np.asarray(t["count"], dtype=float), table.select(names))
    found.save(tmp_path / "one.json")
    assert paribus.load(tmp_path / "one.json") == found


@pytest.mark.parametrize("named", [True, False])
def test_target_of_classes_has_a_base_rate_for_each_output_with_weights(named):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    y = pd.Series(np.where(X["a"] > 0.5, "yes", "no"), name="bought")
    weights = rng.integers(1, 4, 300)
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    given = y if named else list(y)
    found = paribus.explain(model, X, given, sample_weight=weights, progress=False)
    (target,) = found.target
    assert target.name == ("bought" if named else None)
    assert target.mean == pytest.approx(np.average(y == "yes", weights=weights))
    assert (target.standard_deviation, target.median) == (None, None)
    assert found.model.objective == "gini"
    assert found.model.file is None
    assert found.model.structure_digest
    assert found.files == ()


def test_median_of_a_weighted_target_is_where_half_of_the_weight_lies():
    X, y = np.arange(4.0)[:, None] * [1, 2], np.array([1.0, 2.0, 3.0, 10.0])
    model = LinearRegression().fit(X, y)
    for weights, median in (([1, 1, 1, 1], 2.5), ([1, 1, 1, 5], 10.0), ([3, 1, 1, 1], 1.5)):
        target = paribus.explain(model, X, y, sample_weight=weights, progress=False).target[0]
        assert target.median == median
        assert (target.lowest, target.highest) == (1.0, 10.0)


OBJECTIVES = {
    "lightgbm": (lambda: lightgbm.LGBMClassifier(n_estimators=2, verbose=-1), "binary"),
    "pipeline": (
        lambda: make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=2)),
        "log_loss",
    ),
    "nearest": (lambda: KNeighborsClassifier(), None),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_objective_is_that_of_the_model_that_predicts(name):
    build, objective = OBJECTIVES[name]
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = build().fit(X, X[:, 0] > 0)
    assert paribus.explain(model, X, subsample=10, progress=False).model.objective == objective


def test_files_of_a_folder_are_named_within_it_with_their_rows(tmp_path):
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    for year, rows in (("2024", 20), ("2025", 40)):
        (tmp_path / f"year={year}").mkdir()
        X[:rows].to_parquet(tmp_path / f"year={year}" / "part.parquet")
    found = paribus.explain(lambda t: t["a"].to_numpy(), tmp_path, features=["a", "b"], progress=False)
    named = [(one.name, one.rows) for one in found.files]
    assert named == [("year=2024/part.parquet", 20), ("year=2025/part.parquet", 40)]
    one = paribus.explain(
        lambda t: t["a"].to_numpy(), tmp_path / "year=2025" / "part.parquet", progress=False
    )
    assert [file.name for file in one.files] == ["part.parquet"]
