"""The record of a model and of its columns, in memory and read."""

import datetime

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

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
