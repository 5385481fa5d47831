"""Columns of files: text, categories, nulls, odd types, and those that the model does not use."""

import datetime
from decimal import Decimal
from itertools import pairwise

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import paribus
from paribus._data.scan import parquet
from paribus._data.scan.parquet import ParquetFiles
from scan_examples import CUTS, ROWS, all_same, answer, asked, check, equal, frame, held, model, same, written


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    written(path)
    (path / "_SUCCESS").write_bytes(b"")
    return path


def test_pipeline_over_text_reads_text(folder):
    columns = ColumnTransformer([("text", OneHotEncoder(), ["city"]), ("as is", "passthrough", ["b", "c"])])
    X = frame()[["b", "city", "c"]]
    pipeline = make_pipeline(columns, LinearRegression()).fit(X, answer())
    options = {"features": ["city", "b", ("city", "c")], "grid_resolution": 6}
    all_same(paribus.effects(pipeline, folder, **options), paribus.effects(pipeline, X, **options))


@pytest.mark.parametrize("kind", ["boosted", "lightgbm"])
def test_categories_that_differ_from_file_to_file_are_those_of_one_table(tmp_path, kind):
    whole = held().assign(city=pd.Categorical(frame()["city"], ["Basel", "Bern", "Chur", "Genf"]))
    fitted = (
        HistGradientBoostingRegressor(max_iter=5, categorical_features="from_dtype")
        if kind == "boosted"
        else lightgbm.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1)
    ).fit(whole, answer())
    files = []
    by_city = whole.assign(order=frame()["city"]).sort_values("order", kind="stable").drop(columns="order")
    for number, (first, stop) in enumerate(pairwise(CUTS)):
        part = by_city.iloc[first:stop]
        part = part.assign(city=part["city"].cat.remove_unused_categories())
        files.append(tmp_path / f"{number}.parquet")
        part.to_parquet(files[-1], row_group_size=100, index=False)
    read = paribus.effects(fitted, tmp_path, ["city", "a"], grid_resolution=7)
    all_same(read, paribus.effects(fitted, by_city, ["city", "a"], grid_resolution=7))


def test_scan_dictionaries_in_another_order_are_same_categories(tmp_path):
    for number, cities in enumerate((["Genf", "Bern"], ["Bern", "Chur", "Genf"], ["Chur"])):
        codes = np.arange(60) % len(cities)
        column = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), cities)
        pq.write_table(pa.table({"city": column, "x": np.arange(60.0)}), tmp_path / f"{number}.parquet")
    worth = {"Genf": 1.0, "Bern": 2.0, "Chur": 4.0}

    def chosen(table):
        assert isinstance(table["city"].dtype, pd.CategoricalDtype)
        return table["city"].astype(object).map(worth).to_numpy(float) * table["x"].to_numpy()

    effect = paribus.partial_dependence(chosen, tmp_path, "city")
    found = dict(zip(effect.grid_values[0], effect.average[0], strict=True))
    assert found == {city: value * 29.5 for city, value in worth.items()}
    support = dict(zip(effect.grid_values[0], effect.support, strict=True))
    assert support == {"Genf": 50, "Bern": 50, "Chur": 80}


def test_batches_with_other_dictionaries_are_read():
    batches = [
        pa.record_batch({"city": pa.array(cities).dictionary_encode(), "x": np.arange(2.0)})
        for cities in (["Genf", "Bern"], ["Chur", "Genf"])
    ]
    effect = paribus.partial_dependence(
        lambda t: t["x"].to_numpy(),
        lambda: iter(batches),
        "city",
    )
    assert dict(zip(effect.grid_values[0], effect.support, strict=True)) == {"Genf": 2, "Bern": 1, "Chur": 1}


def test_scan_columns_model_does_not_use_do_not_matter(tmp_path):
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    nested = {
        "struct": pa.array([{"p": 1, "q": "x"}] * ROWS),
        "list": pa.array([[1, 2], None] * (ROWS // 2)),
        "map": pa.array([[("k", 1)]] * ROWS, pa.map_(pa.string(), pa.int64())),
        "bytes": pa.array([b"\xff"] * ROWS),
        "a.b": pa.array(["flat"] * ROWS),
    }
    for name, column in nested.items():
        table = table.add_column(0, name, column)
    written(tmp_path, table)
    check(tmp_path, weighted=True)
    check(pl.scan_parquet(tmp_path / "*.parquet"))
    check(ds.dataset(tmp_path), "boosted")


def test_only_columns_of_model_are_read(folder, monkeypatch):
    read, seen = ParquetFiles._read, []

    def spying(self, file, columns, first, stop):
        seen.append(columns)
        return read(self, file, columns, first, stop)

    monkeypatch.setattr(ParquetFiles, "_read", spying)
    check(folder)
    assert set(seen) == {("a", "b", "c")}
    seen.clear()
    check(folder, weighted=True)
    assert set(seen) == {("a", "b", "c", "w")}


def test_scan_function_is_shown_every_column_but_weights(folder):
    seen = set()

    def chosen(table):
        seen.update(table.columns)
        return asked(table)

    paribus.partial_dependence(chosen, folder, "a", grid_resolution=3, sample_weight="w")
    assert seen == {"a", "b", "c", "city"}


def test_scan_weights_may_be_feature(folder):
    fitted = LinearRegression().fit(frame()[["w", "c"]], answer())
    read = paribus.partial_dependence(fitted, folder, "w", sample_weight="w", grid_resolution=5)
    kept = paribus.partial_dependence(
        fitted, frame()[["w", "c"]], "w", sample_weight=frame()["w"], grid_resolution=5
    )
    same(read, kept)


@pytest.mark.parametrize("factor", [1e-300, 1e-3, 1e300, 1e304])
def test_scan_weights_of_any_size_give_same_average(tmp_path, factor):
    weights = frame()["w"] * factor
    written(tmp_path, pa.Table.from_pandas(frame().assign(w=weights), preserve_index=False))
    options = {"features": "a", "grid_resolution": 7}
    read = paribus.partial_dependence(model("lightgbm"), tmp_path, sample_weight="w", **options)
    kept = paribus.partial_dependence(model("lightgbm"), held(), sample_weight=weights, **options)
    np.testing.assert_allclose(read.average, kept.average, rtol=1e-12)
    np.testing.assert_allclose(read.standard_error, kept.standard_error, rtol=1e-12)
    assert read.missing.share == pytest.approx(kept.missing.share)


def test_scan_short_and_large_text_are_both_text(tmp_path):
    for number, kind in enumerate((pa.string(), pa.large_string())):
        table = pa.table({"city": pa.array(["Bern", "Genf"], kind), "x": [1.0, 2.0]})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    effect = paribus.partial_dependence(lambda t: t["x"].to_numpy(), tmp_path, "city")
    assert effect.support.tolist() == [2, 2]


def test_scan_model_fitted_without_names_is_shown_every_column_in_order(tmp_path):
    fitted = LinearRegression().fit(held().fillna(0.0).to_numpy(), answer())
    X = held().fillna(0.0)
    file = written(tmp_path, pa.Table.from_pandas(X, preserve_index=False), (0, ROWS))[0]
    with pytest.warns(UserWarning, match="feature names"):
        read = paribus.partial_dependence(fitted.predict, file, "c", grid_resolution=5)
    kept = paribus.partial_dependence(fitted, X.to_numpy(), 2, grid_resolution=5)
    np.testing.assert_allclose(read.average, kept.average, rtol=1e-12)


ODD = {
    "decimal": pa.array([Decimal(v) / 4 for v in range(40)], pa.decimal128(12, 2)),
    "zoned": pa.array(
        [datetime.datetime(2026, 1, 1) + datetime.timedelta(hours=7 * v) for v in range(40)],
        pa.timestamp("us", "Europe/Zurich"),
    ),
    "seconds": pa.array(range(0, 40_000_000, 1_000_000), pa.timestamp("s")),
    "date": pa.array([datetime.date(2026, 1, 1) + datetime.timedelta(days=v) for v in range(40)]),
    "date with gaps": pa.array([datetime.date(2026, 1, 1 + v // 2) if v % 3 else None for v in range(40)]),
    "boolean": pa.array([v % 3 == 0 for v in range(40)]),
    "boolean with gaps": pa.array([None if v % 5 == 0 else v % 2 == 0 for v in range(40)]),
    "boolean with gaps at the end": pa.array([None if v > 35 else v % 2 == 0 for v in range(40)]),
    "integer with gaps at the end": pa.array([None if v > 35 else v for v in range(40)]),
    "integer with gaps at the start": pa.array([None if v < 15 else v for v in range(40)]),
    "small": pa.array([v - 20 for v in range(40)], pa.int8()),
    "large": pa.array([2**62 + v for v in range(40)]),
    "unsigned": pa.array([2**63 + v for v in range(40)], pa.uint64()),
    "single": pa.array(np.linspace(0, 1, 40, dtype=np.float32)),
    "half": pa.array(np.linspace(0, 1, 40, dtype=np.float16)),
    "infinite": pa.array([np.inf, -np.inf, np.nan, None] + [float(v) for v in range(36)]),
    "text with gaps": pa.array([None if v % 7 == 0 else f"t{v % 3}" for v in range(40)]),
    "text with gaps at the end": pa.array([None if v > 30 else f"t{v % 3}" for v in range(40)]),
    "large text": pa.array([f"t{v % 3}" for v in range(40)], pa.large_string()),
    "duration": pa.array(range(40), pa.duration("ms")),
}


def score(table):
    """One number per row from any column, by rank of its text; missing counts as well."""
    column = table["odd"]
    texts = [repr(v) if v == v else "nan" for v in column.astype(object)]
    return np.array([float(len(t)) + sum(map(ord, t)) % 97 for t in texts]) + table["x"].to_numpy()


@pytest.mark.parametrize("column", ODD)
def test_scan_odd_columns_are_requested_where_same_columns_in_memory_are(tmp_path, column):
    if column == "half" and int(pa.__version__.split(".")[0]) < 20:
        pytest.skip("older versions of Arrow make no half floats of numbers")
    table = pa.table({"odd": ODD[column], "x": np.arange(40.0)})
    for number, first in enumerate(range(0, 40, 10)):
        pq.write_table(table.slice(first, 10), tmp_path / f"{number}.parquet")
    stored = pa.concat_tables(pq.read_table(tmp_path / f"{number}.parquet") for number in range(4))
    wide = stored.set_column(0, "odd", ODD[column].cast(pa.float64())) if column == "decimal" else stored

    def kept(given):
        return score(given.to_pandas())

    options = {"grid_resolution": 8}
    read = paribus.partial_dependence(score, tmp_path, "odd", **options)
    want = paribus.partial_dependence(kept, wide, "odd", **options)
    assert read.kinds == want.kinds
    assert read.grid_values[0].tolist() == want.grid_values[0].tolist()
    equal(read.deciles[0], want.deciles[0])
    equal(read.support, want.support)
    assert (read.missing is None) == (want.missing is None)
    if want.missing is not None:
        assert read.missing.share == want.missing.share
    other = paribus.partial_dependence(score, tmp_path, "x", **options)
    same(other, paribus.partial_dependence(kept, wide, "x", **options))


@pytest.mark.parametrize("kind", [pa.float64(), pa.int64(), pa.string(), pa.bool_(), pa.date32()], ids=str)
@pytest.mark.parametrize("coded", [False, True], ids=["", "coded"])
def test_column_that_is_null_in_some_files_has_type_of_others(tmp_path, kind, coded):
    values = {"string": ["a", "b"], "bool": [True, False], "date32[day]": [datetime.date(2026, 1, 1)] * 2}
    column = pa.array(values.get(str(kind), [1, 2]), kind)
    full = pa.table({"x": [1.0, 2.0], "y": column.dictionary_encode() if coded else column})
    empty = pa.table({"x": [3.0, 4.0], "y": pa.nulls(2)})
    for name, table in (("0", empty), ("1", full), ("2", empty), ("3", empty)):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    effect = paribus.partial_dependence(lambda t: t["x"].to_numpy(), tmp_path, "y")
    assert effect.missing.share == 0.75
    assert effect.support.sum() == 2
    assert effect.average == pytest.approx(3.0)
    assert effect.missing.average == pytest.approx(3.0)


def test_column_that_is_null_in_every_file_is_said_to_have_no_value(tmp_path):
    for number in range(2):
        pq.write_table(pa.table({"x": [1.0, 2.0], "y": pa.nulls(2)}), tmp_path / f"{number}.parquet")
    found = paribus.effects(lambda t: t["x"].to_numpy(), tmp_path)
    kept = paribus.effects(lambda t: t["x"].to_numpy(), pd.DataFrame({"x": [1.0, 2.0] * 2, "y": np.nan}))
    all_same(found, kept)


def test_scan_nullable_integers_are_shown_alike_in_every_block(tmp_path):
    numbers = pa.array([None if v == 2_345 else v for v in range(ROWS)])
    table = pa.table({"n": numbers, "flag": [None if v == 77 else v % 2 == 0 for v in range(ROWS)]})
    written(tmp_path, table.append_column("x", pa.array(np.arange(float(ROWS)))))
    seen = set()

    def chosen(given):
        if 1 < given["x"].nunique() <= 4:  # and not the first look, before all rows are known
            seen.add(tuple(given.dtypes.astype(str)))
        return given["x"].to_numpy()

    paribus.partial_dependence(chosen, tmp_path, "x", grid_resolution=4)
    assert len(seen) == 1


def test_scan_column_that_cannot_be_varied_is_skipped_as_in_memory(tmp_path):
    table = pa.table({"a": np.arange(30.0), "list": [[1, 2]] * 30})
    pq.write_table(table, tmp_path / "x.parquet")
    found = paribus.effects(lambda X: X["a"], tmp_path / "x.parquet")
    assert list(found) == ["a"]
    with pytest.raises(paribus.errors.FeatureError, match="'list'"):
        paribus.effects(lambda X: X["a"], tmp_path / "x.parquet", ["list"])


def test_scan_model_of_array_is_shown_columns_in_their_order(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    fitted = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(X, X[:, 0])
    pq.write_table(pa.table({"p": X[:, 0], "q": X[:, 1]}), tmp_path / "x.parquet")
    found = paribus.effects(fitted, tmp_path / "x.parquet")
    assert list(found) == ["p", "q"]
    named = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(
        pd.DataFrame(X, columns=["P", "Q"]), X[:, 0]
    )
    with pytest.raises(paribus.errors.TableError, match="no column 'P'"):
        paribus.effects(named, tmp_path / "x.parquet")


def test_days_long_after_us_are_read(tmp_path):
    far = pa.array([0, 300_000_000_000_000_000], pa.timestamp("us"))
    pq.write_table(pa.table({"a": [1.0, 2.0], "t": far}), tmp_path / "x.parquet")
    assert paribus.effects(lambda X: X["a"], tmp_path / "x.parquet", ["a"])["a"].provenance.rows == 2


def test_scan_more_categories_than_first_codes_hold():
    def batches():
        for levels in (100, 300):
            yield pd.DataFrame({"a": np.arange(600.0), "c": [f"l{i % levels}" for i in range(600)]}).astype(
                {"c": "category"}
            )

    assert paribus.effects(lambda X: X["a"], batches, ["a"])["a"].provenance.rows == 1_200


def test_scan_names_that_lightgbm_spells_otherwise_are_found(tmp_path):
    X = pd.DataFrame({"my col": np.arange(300.0), "b": np.arange(300.0) % 7})
    fitted = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(X, X["my col"])
    X.to_parquet(tmp_path / "x.parquet")
    assert set(paribus.effects(fitted, tmp_path / "x.parquet")) == {"my col", "b"}
