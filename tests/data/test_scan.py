"""Out-of-core rows instead of held: every source, every oddity of files, every way to fail."""

import datetime
import gc
import os
from dataclasses import asdict
from decimal import Decimal
from functools import cache, partial
from itertools import pairwise
from pathlib import Path

import catboost
import dask.dataframe as dd
import duckdb
import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import xgboost
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import paribus
from paribus._data.scan import parquet
from paribus._data.scan.parquet import ParquetFiles
from paribus._evaluators import survey

ROWS = 2_400
CUTS = (0, 700, 701, 1_300, 2_400)
NUMBERS = ["a", "b", "c"]


@cache
def frame():
    rng = np.random.default_rng(0)
    a = np.where(rng.random(ROWS) < 0.1, np.nan, rng.normal(size=ROWS))
    table = {"c": rng.gamma(2.0, size=ROWS), "a": a, "b": rng.integers(0, 40, ROWS)}
    table["city"] = rng.choice(["Bern", "Basel", "Genf", "Chur"], ROWS, p=[0.4, 0.3, 0.2, 0.1])
    return pd.DataFrame(table | {"w": np.where(rng.random(ROWS) < 0.1, 0.0, rng.gamma(1.0, size=ROWS))})


def answer():
    X = frame()
    return np.nan_to_num(X["a"], nan=2.0) * X["b"] / 20 + np.sin(X["c"]) + (X["city"] == "Bern")


@cache
def model(name):
    X, y = frame()[NUMBERS], answer()
    models = {
        "lightgbm": lightgbm.LGBMRegressor(n_estimators=5, num_leaves=7, verbose=-1, n_jobs=1),
        "xgboost": xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1),
        "catboost": catboost.CatBoostRegressor(
            iterations=5, depth=3, verbose=False, allow_writing_files=False, thread_count=1
        ),
        "forest": RandomForestRegressor(4, max_depth=4, random_state=0),
        "boosted": HistGradientBoostingRegressor(max_iter=5, max_leaf_nodes=7),
    }
    return models[name].fit(X, y)


def asked(table):
    """A model that is a plain function; pandas or polars in."""
    a, b, c = (np.asarray(table[name].to_numpy(), float) for name in NUMBERS)
    return np.nan_to_num(a, nan=2.0) * b / 20 + np.tanh(c)


def held():
    return frame()[NUMBERS]


def written(folder, table=None, cuts=CUTS, size=170):
    """Write rows as several files, whose row groups are of another size than any block."""
    table = pa.Table.from_pandas(frame(), preserve_index=False) if table is None else table
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for number, (first, stop) in enumerate(pairwise(cuts)):
        files.append(folder / f"part-{number}.parquet")
        pq.write_table(table.slice(first, stop - first), files[-1], row_group_size=size)
    return files


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    written(path)
    (path / "_SUCCESS").write_bytes(b"")
    return path


def equal(one, other):
    """Compare arrays of anything bit for bit, missing ones included."""
    if one is None or other is None:
        assert one is other
        return
    one, other = np.asarray(one), np.asarray(other)
    assert one.dtype.kind == other.dtype.kind
    np.testing.assert_array_equal(one, other, strict=one.dtype != object)


def same(one, other):
    """Two effects are the same to the bit."""
    assert one.feature_names == other.feature_names
    assert one.kinds == other.kinds
    for key in ("average", "standard_error", "support", "individual"):
        equal(getattr(one, key), getattr(other, key))
    for key in ("grid_values", "deciles"):
        for mine, theirs in zip(one[key], other[key], strict=True):
            equal(mine, theirs)
    assert (one.missing is None) == (other.missing is None)
    if one.missing is not None:
        assert (one.missing.share, one.missing.support) == (other.missing.share, other.missing.support)
        equal(one.missing.average, other.missing.average)
        equal(one.missing.standard_error, other.missing.standard_error)


def all_same(read, kept):
    assert list(read) == list(kept)
    for key in kept:
        same(read[key], kept[key])


FEATURES = ["a", "b", "c", ("a", "b")]


@cache
def in_memory(name, weighted=False):
    chosen = asked if name == "asked" else model(name)
    return paribus.effects(
        chosen, held(), FEATURES, grid_resolution=11, sample_weight=frame()["w"] if weighted else None
    )


def check(source, name="lightgbm", weighted=False):
    chosen = asked if name == "asked" else model(name)
    read = paribus.effects(
        chosen, source, FEATURES, grid_resolution=11, sample_weight="w" if weighted else None
    )
    all_same(read, in_memory(name, weighted))
    return read


def in_batches(convert=lambda batch: batch, size=333):
    """A function that yields batches of the rows, as some library has them."""

    def batches():
        table = pa.Table.from_pandas(frame(), preserve_index=False)
        for first in range(0, ROWS, size):
            yield convert(table.slice(first, size))

    return batches


def reader(size=333):
    batches = [batch for table in in_batches(size=size)() for batch in table.to_batches()]
    return pa.RecordBatchReader.from_batches(batches[0].schema, batches)


def ipc_dataset(folder):
    path = folder / "rows.arrow"
    pa.feather.write_feather(pa.Table.from_pandas(frame(), preserve_index=False), path, chunksize=500)
    return ds.dataset(path, format="ipc")


CONNECTIONS = []  # older versions of DuckDB close one that nothing refers to, though a relation of it is left


def connected():
    CONNECTIONS.append(duckdb.connect())
    return CONNECTIONS[-1]


SOURCES = {
    "folder": lambda folder, tmp: str(folder),
    "path": lambda folder, tmp: folder,
    "star": lambda folder, tmp: f"{folder}/*.parquet",
    "question mark": lambda folder, tmp: folder / "part-?.parquet",
    "two stars": lambda folder, tmp: f"{folder.parent}/**/{folder.name}/**/part-*.parquet",
    "set of letters": lambda folder, tmp: f"{folder}/part-[0-3].parquet",
    "list": lambda folder, tmp: [str(folder / f"part-{n}.parquet") for n in range(4)],
    "tuple of paths and patterns": lambda folder, tmp: (
        folder / "part-0.parquet",
        f"{folder}/*[1-9].parquet",
    ),
    "address": lambda folder, tmp: folder.as_uri(),
    "address with a pattern": lambda folder, tmp: f"{folder.as_uri()}/part-*.parquet",
    "one file": lambda folder, tmp: written(tmp, cuts=(0, ROWS))[0],
    "dataset of Parquet": lambda folder, tmp: ds.dataset(folder),
    "dataset of IPC": lambda folder, tmp: ipc_dataset(tmp),
    "dataset in memory": lambda folder, tmp: ds.dataset(pa.Table.from_pandas(frame())),
    "reader": lambda folder, tmp: reader(),
    "lazy frame": lambda folder, tmp: pl.from_pandas(frame()).lazy().with_columns(pl.col("a") * 1.0),
    "lazy scan": lambda folder, tmp: pl.scan_parquet(folder / "*.parquet"),
    "relation": lambda folder, tmp: connected().from_arrow(pa.Table.from_pandas(frame())),
    "query": lambda folder, tmp: connected().sql(f"select * from '{folder}/*.parquet'"),
    "batches of Arrow tables": lambda folder, tmp: in_batches(),
    "record batches": lambda folder, tmp: in_batches(lambda t: t.to_batches()[0]),
    "batches of pandas": lambda folder, tmp: in_batches(lambda t: t.to_pandas()),
    "batches of polars": lambda folder, tmp: in_batches(pl.from_arrow),
    "list of batches": lambda folder, tmp: lambda: list(in_batches()()),
    "Dask": lambda folder, tmp: dd.from_pandas(frame(), npartitions=3),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_every_source_gives_the_bits_of_the_same_rows_in_memory(folder, tmp_path, source, weighted):
    read = check(SOURCES[source](folder, tmp_path), weighted=weighted)
    provenance = read["a"].provenance
    assert (provenance.rows, provenance.passes, provenance.rank_error) == (ROWS, 2, 0.0)
    assert provenance.evaluator == "tree_exact"
    assert provenance.source
    assert provenance.skipped == ()


@pytest.mark.parametrize("name", ["xgboost", "catboost", "forest", "boosted", "asked"])
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
def test_every_model_gives_the_bits_of_the_same_rows_in_memory(folder, name, weighted):
    check(folder, name, weighted)


@pytest.mark.parametrize("source", ["lazy frame", "reader", "Dask", "batches of polars"])
def test_a_function_that_is_asked_gives_the_same_bits_from_streams(folder, tmp_path, source):
    check(SOURCES[source](folder, tmp_path), "asked")


def test_a_function_sees_pandas_and_polars_of_what_polars_would_read(folder):
    seen = set()

    def spying(table):
        seen.add(type(table).__module__.partition(".")[0])
        return np.asarray(table["b"].to_numpy(), float)

    for source, library in ((folder, "pandas"), (pl.scan_parquet(folder / "*.parquet"), "polars")):
        seen.clear()
        effect = paribus.partial_dependence(spying, source, "c", grid_resolution=5)
        assert seen == {library}
        assert effect.provenance.backend == library


def test_curves_of_every_row_come_in_the_order_of_the_rows(folder):
    for chosen in (model("lightgbm"), asked):
        options = {"kind": "both", "grid_resolution": 5}
        read = paribus.partial_dependence(chosen, folder, "a", **options)
        same(read, paribus.partial_dependence(chosen, held(), "a", **options))


def test_threads_do_not_change_a_bit_of_what_is_read(folder):
    options = {"grid_resolution": 7, "sample_weight": "w"}
    for chosen in (model("lightgbm"), asked):
        one, many = (paribus.effects(chosen, folder, NUMBERS, n_jobs=k, **options) for k in (1, 3))
        all_same(one, many)


@pytest.mark.parametrize("rows", [37, 256])
def test_blocks_of_a_survey_do_not_follow_files(folder, monkeypatch, rows):
    monkeypatch.setattr("paribus._api.data.survey_rows", lambda *bounds: rows)
    check(folder)
    weighted = paribus.effects(asked, folder, NUMBERS, grid_resolution=11, sample_weight="w")
    for key in NUMBERS:
        kept = in_memory("asked", True)[key]
        equal(weighted[key].average, kept.average)
        np.testing.assert_allclose(weighted[key].grid_values[0], kept.grid_values[0], rtol=1e-12)


def test_splits_verification_and_brute_force_work_on_files(folder):
    options = {"grid_resolution": "splits", "verify": True}
    read = paribus.partial_dependence(model("forest"), folder, "c", **options)
    same(read, paribus.partial_dependence(model("forest"), held(), "c", **options))
    assert read.provenance.verified_difference < 1e-9
    options = {"grid_resolution": 5, "method": "brute"}
    read = paribus.partial_dependence(model("forest"), folder, "c", **options)
    same(read, paribus.partial_dependence(model("forest"), held(), "c", **options))


def test_a_pipeline_over_text_reads_text(folder):
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


def test_dictionaries_in_another_order_are_the_same_levels(tmp_path):
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


def test_a_reader_whose_batches_have_other_dictionaries_is_read():
    batches = [
        pa.record_batch({"city": pa.array(cities).dictionary_encode(), "x": np.arange(2.0)})
        for cities in (["Genf", "Bern"], ["Chur", "Genf"])
    ]
    effect = paribus.partial_dependence(
        lambda t: t["x"].to_numpy(),
        pa.RecordBatchReader.from_batches(batches[0].schema, batches),
        "city",
    )
    assert dict(zip(effect.grid_values[0], effect.support, strict=True)) == {"Genf": 2, "Bern": 1, "Chur": 1}


def test_hive_folders_are_columns(tmp_path):
    table = pd.DataFrame({"x": np.arange(12.0)})
    table["year"] = np.repeat([2025, 2026, -3], 4)
    table["city"] = ["a b", "ü/ö", None] * 4
    for number, ((year, city), part) in enumerate(table.groupby(["year", "city"], dropna=False)):
        said = "__HIVE_DEFAULT_PARTITION__" if pd.isna(city) else city.replace(" ", "%20").replace("/", "%2F")
        where = tmp_path / f"year={year}" / f"city={said}"
        where.mkdir(parents=True)
        part[["x"]].to_parquet(where / f"{number}.parquet", index=False)
    seen = set()

    def chosen(given):
        seen.update(given.dtypes.astype(str).items())
        return given["x"].to_numpy() + given["year"].to_numpy() + given["city"].isna().to_numpy()

    for source in (
        tmp_path,
        f"{tmp_path}/**/*.parquet",
        f"{tmp_path}/year=*/*/*.parquet",
        ds.dataset(tmp_path, partitioning="hive"),
    ):
        read = paribus.effects(chosen, source, ["x", "year", "city"])
        assert read["year"].grid_values[0].tolist() == [-3, 2025, 2026]
        assert sorted(read["city"].grid_values[0]) == ["a b", "ü/ö"]
        assert read["city"].missing.share == pytest.approx(1 / 3)
        assert read["x"].average[0] == pytest.approx(np.arange(12.0) + table["year"].mean() + 1 / 3)
        assert ("year", "int64") in seen


def test_the_folders_of_a_list_of_files_are_columns_too(tmp_path):
    files = []
    for month in (1, 2):
        where = tmp_path / "year=2026" / f"month={month}"
        where.mkdir(parents=True)
        files.append(where / "x.parquet")
        pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(files[-1])
    effect = paribus.partial_dependence(lambda t: t["x"] * t["month"], files, "month")
    assert effect.grid_values[0].tolist() == [1, 2]


@pytest.mark.parametrize("values", [("--5", "7"), ("²", "3"), ("99999999999999999999", "1"), ("", "2")])
def test_folders_that_only_look_like_whole_numbers_are_text(tmp_path, values):
    for value in values:
        (tmp_path / f"key={value}").mkdir()
        pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(tmp_path / f"key={value}" / "x.parquet")
    effect = paribus.partial_dependence(lambda t: t["x"], tmp_path, "key")
    assert sorted(effect.grid_values[0]) == sorted(values)


def test_a_model_of_nothing_but_folders_reads_no_column(tmp_path):
    for year in (1, 2, 4):
        (tmp_path / f"year={year}").mkdir()
        pd.DataFrame({"x": np.zeros(year)}).to_parquet(tmp_path / f"year={year}" / "x.parquet")
    fitted = LinearRegression().fit(pd.DataFrame({"year": [1.0, 2.0]}), [1.0, 2.0])
    effect = paribus.partial_dependence(fitted, tmp_path, "year")
    assert effect.average[0] == pytest.approx([1.0, 2.0, 4.0])
    assert effect.support.tolist() == [1, 2, 4]


def test_a_dataset_that_was_filtered_stays_filtered(folder):
    read = paribus.partial_dependence(
        model("lightgbm"), ds.dataset(folder).filter(ds.field("b") < 20), "c", grid_resolution=7
    )
    kept = paribus.partial_dependence(model("lightgbm"), held()[held()["b"] < 20], "c", grid_resolution=7)
    same(read, kept)


def test_a_dataset_partitioned_by_position_keeps_its_columns(tmp_path):
    for year in (2025, 2026):
        (tmp_path / str(year)).mkdir()
        pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(tmp_path / str(year) / "x.parquet")
    dataset = ds.dataset(tmp_path, partitioning=["year"])
    effect = paribus.partial_dependence(lambda t: t["x"] * t["year"], dataset, "year")
    assert effect.grid_values[0].tolist() == [2025, 2026]


def test_a_dataset_whose_schema_fills_what_files_lack_stays_that(tmp_path):
    pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}).to_parquet(tmp_path / "0.parquet")
    pd.DataFrame({"x": [5.0]}).to_parquet(tmp_path / "1.parquet")
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    effect = paribus.partial_dependence(lambda t: t["x"], ds.dataset(tmp_path, schema=schema), "y")
    assert effect.missing.share == pytest.approx(1 / 3)


def test_a_name_with_brackets_is_a_name_if_there_is_such_a_file(tmp_path):
    files = written(tmp_path / "run[1]")
    check(tmp_path / "run[1]")
    check(files)


def test_a_pattern_may_say_which_letters_not(tmp_path):
    written(tmp_path)
    effect = paribus.partial_dependence(asked, f"{tmp_path}/part-[!3].parquet", "a", grid_resolution=3)
    assert effect.provenance.rows == CUTS[3]


def test_columns_the_model_does_not_use_do_not_matter(tmp_path):
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


def test_only_the_columns_of_the_model_are_read(folder, monkeypatch):
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


def test_a_function_is_shown_every_column_but_the_weights(folder):
    seen = set()

    def chosen(table):
        seen.update(table.columns)
        return asked(table)

    paribus.partial_dependence(chosen, folder, "a", grid_resolution=3, sample_weight="w")
    assert seen == {"a", "b", "c", "city"}


def test_weights_may_be_a_feature(folder):
    fitted = LinearRegression().fit(frame()[["w", "c"]], answer())
    read = paribus.partial_dependence(fitted, folder, "w", sample_weight="w", grid_resolution=5)
    kept = paribus.partial_dependence(
        fitted, frame()[["w", "c"]], "w", sample_weight=frame()["w"], grid_resolution=5
    )
    same(read, kept)


@pytest.mark.parametrize("factor", [1e-300, 1e-3, 1e300, 1e304])
def test_weights_of_any_size_give_the_same_average(tmp_path, factor):
    weights = frame()["w"] * factor
    written(tmp_path, pa.Table.from_pandas(frame().assign(w=weights), preserve_index=False))
    options = {"features": "a", "grid_resolution": 7}
    read = paribus.partial_dependence(model("lightgbm"), tmp_path, sample_weight="w", **options)
    kept = paribus.partial_dependence(model("lightgbm"), held(), sample_weight=weights, **options)
    np.testing.assert_allclose(read.average, kept.average, rtol=1e-12)
    np.testing.assert_allclose(read.standard_error, kept.standard_error, rtol=1e-12)
    assert read.missing.share == pytest.approx(kept.missing.share)


def test_short_and_large_text_are_both_text(tmp_path):
    for number, kind in enumerate((pa.string(), pa.large_string())):
        table = pa.table({"city": pa.array(["Bern", "Genf"], kind), "x": [1.0, 2.0]})
        pq.write_table(table, tmp_path / f"{number}.parquet")
    effect = paribus.partial_dependence(lambda t: t["x"].to_numpy(), tmp_path, "city")
    assert effect.support.tolist() == [2, 2]


def test_a_model_fitted_without_names_is_shown_every_column_in_order(tmp_path):
    fitted = LinearRegression().fit(held().fillna(0.0).to_numpy(), answer())
    X = held().fillna(0.0)
    file = written(tmp_path, pa.Table.from_pandas(X, preserve_index=False), (0, ROWS))[0]
    with pytest.warns(UserWarning, match="feature names"):
        read = paribus.partial_dependence(fitted.predict, file, "c", grid_resolution=5)
    kept = paribus.partial_dependence(fitted, X.to_numpy(), 2, grid_resolution=5)
    np.testing.assert_allclose(read.average, kept.average, rtol=1e-12)


def test_thousands_of_tiny_files_are_read_in_order(tmp_path):
    table = pa.Table.from_pandas(held(), preserve_index=False)
    for row in range(2_000):
        pq.write_table(table.slice(row, 1), tmp_path / f"{row:04d}.parquet")
    read = paribus.partial_dependence(model("lightgbm"), tmp_path, "a", kind="both", grid_resolution=3)
    same(
        read,
        paribus.partial_dependence(model("lightgbm"), held()[:2_000], "a", kind="both", grid_resolution=3),
    )
    assert "2,000 Parquet files" in read.provenance.source


def test_files_without_rows_and_with_one_are_files(tmp_path):
    written(tmp_path, cuts=(0, 0, 1, 1, 900, 900, ROWS, ROWS))
    check(tmp_path, weighted=True)


def test_a_single_row_is_enough(tmp_path):
    file = written(tmp_path, cuts=(5, 6))[0]
    read = paribus.partial_dependence(model("lightgbm"), file, "c")
    same(read, paribus.partial_dependence(model("lightgbm"), held()[5:6], "c"))


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
def test_odd_columns_are_asked_where_the_same_columns_in_memory_are(tmp_path, column):
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
def test_a_column_that_is_null_in_some_files_has_the_type_of_the_others(tmp_path, kind, coded):
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


def test_a_column_that_is_null_in_every_file_is_said_to_have_no_value(tmp_path):
    for number in range(2):
        pq.write_table(pa.table({"x": [1.0, 2.0], "y": pa.nulls(2)}), tmp_path / f"{number}.parquet")
    found = paribus.effects(lambda t: t["x"].to_numpy(), tmp_path)
    kept = paribus.effects(lambda t: t["x"].to_numpy(), pd.DataFrame({"x": [1.0, 2.0] * 2, "y": np.nan}))
    all_same(found, kept)


def test_nullable_integers_are_shown_alike_in_every_block(tmp_path):
    numbers = pa.array([None if v == 2_345 else v for v in range(ROWS)])
    table = pa.table({"n": numbers, "flag": [None if v == 77 else v % 2 == 0 for v in range(ROWS)]})
    written(tmp_path, table.append_column("x", pa.array(np.arange(float(ROWS)))))
    seen = set()

    def chosen(given):
        if given["x"].nunique() <= 4:  # and not the first look, before all rows are known
            seen.add(tuple(given.dtypes.astype(str)))
        return given["x"].to_numpy()

    paribus.partial_dependence(chosen, tmp_path, "x", grid_resolution=4)
    assert len(seen) == 1


def refused(error, *words, chosen=asked, X=None, **options):
    with pytest.raises(error) as raised:
        paribus.partial_dependence(chosen, X, options.pop("features", "a"), **options)
    assert isinstance(raised.value, paribus.ParibusError)
    for word in words:
        assert word in str(raised.value)
    return str(raised.value)


def truncated(file):
    file.write_bytes(file.read_bytes()[:-200])


def emptied(file):
    file.write_bytes(b"")


def replaced(file):
    file.write_text("a,b,c\n1,2,3\n" * 50)


def without_a_column(file):
    pq.write_table(pq.read_table(file).drop_columns(["b"]), file)


def of_other_type(file):
    table = pq.read_table(file)
    place = table.schema.get_field_index("b")
    pq.write_table(table.set_column(place, "b", table["b"].cast(pa.string())), file)


def damaged(file):
    """Flip bytes of a data page in the middle of the file; the footer stays as it was."""
    data = bytearray(file.read_bytes())
    footer = pq.ParquetFile(file).metadata
    place = footer.row_group(footer.num_row_groups // 2).column(1)
    first = place.dictionary_page_offset or place.data_page_offset
    for k in range(first, first + place.total_compressed_size):
        data[k] ^= 0xFF
    file.write_bytes(bytes(data))


DAMAGE = [truncated, emptied, replaced, without_a_column, of_other_type, damaged]


@pytest.mark.parametrize("place", [0, 3], ids=["first", "last"])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_bad_file_is_named_with_what_is_wrong_and_the_way_out(tmp_path, damage, place):
    files = written(tmp_path)
    damage(files[place])
    message = refused(paribus.SourceError, str(files[place]), X=tmp_path, chosen=model("lightgbm"))
    assert "on_error='skip'" in message
    if damage in (without_a_column, of_other_type):
        assert "'b'" in message


@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("verb", ["effects", "h_statistic", "estimate_cost"])
def test_a_bad_file_that_is_skipped_is_reported_and_none_of_its_rows_count(tmp_path, damage, verb):
    files = written(tmp_path, cuts=(0, 300, 700, 1_000, 1_300, 2_000, ROWS))
    damage(files[1])
    damage(files[0])
    run = getattr(paribus, verb)
    options = {} if verb == "h_statistic" else {"grid_resolution": 7}
    read = run(model("lightgbm"), tmp_path, NUMBERS, on_error="skip", **options)
    kept = run(model("lightgbm"), files[2:], NUMBERS, **options)
    if verb == "estimate_cost":
        assert read.effects == kept.effects
        assert read.rows == kept.rows == ROWS - 700
        return
    one = read["a"] if verb == "effects" else read
    assert one.provenance.rows == ROWS - 700
    assert sorted(text.split()[0] for text in one.provenance.skipped) == [str(f) for f in files[:2]]
    assert any("2 files were skipped" in note and str(files[0]) in note for note in one.notes)
    if verb == "effects":
        all_same(read, kept)
    else:
        equal(read.h_squared_pairwise, kept.h_squared_pairwise)


def test_of_many_skipped_files_a_note_names_a_few(tmp_path):
    files = written(tmp_path, cuts=tuple(range(0, 700, 100)))
    for file in files[:5]:
        emptied(file)
    read = paribus.partial_dependence(asked, tmp_path, "a", on_error="skip", grid_resolution=3)
    assert len(read.provenance.skipped) == 5
    assert any("5 files were skipped" in note and "and 2 more" in note for note in read.notes)


def test_if_every_file_is_bad_there_is_nothing_to_skip_to(tmp_path):
    for file in written(tmp_path):
        emptied(file)
    refused(paribus.SourceError, "none of 4 files", "part-0.parquet", X=tmp_path, on_error="skip")


def test_if_every_file_turns_out_bad_there_is_nothing_to_skip_to(tmp_path):
    for file in written(tmp_path, cuts=(0, 1200, ROWS)):
        damaged(file)
    refused(paribus.TableError, "part-0.parquet", X=tmp_path, on_error="skip", chosen=model("lightgbm"))


@pytest.mark.parametrize("failures", [1, 2])
@pytest.mark.parametrize("midway", [False, True], ids=["at first", "midway"])
def test_a_read_that_fails_now_and_then_gives_the_same_bits(folder, monkeypatch, failures, midway):
    read, tries = ParquetFiles._read, {}

    def flaky(self, file, columns, first, stop):
        for number, table in enumerate(read(self, file, columns, first, stop)):
            if number == midway:
                tries[file.path, first] = tries.get((file.path, first), 0) + 1
                if tries[file.path, first] <= failures:
                    raise OSError("the network is gone")
            yield table

    monkeypatch.setattr(ParquetFiles, "_read", flaky)
    monkeypatch.setattr(parquet, "BATCH_ROWS", 100)
    check(folder, weighted=True)
    assert tries


def test_a_read_that_always_fails_names_the_file_and_its_rows(folder, monkeypatch):
    read, tries = ParquetFiles._read, []

    def broken(self, file, columns, first, stop):
        if file.path.endswith("part-2.parquet"):
            tries.append(first)
            raise OSError("the network is gone")
        yield from read(self, file, columns, first, stop)

    monkeypatch.setattr(ParquetFiles, "_read", broken)
    refused(paribus.SourceError, "part-2.parquet", "rows 0 to", "the network is gone", X=folder)
    assert len(tries) == parquet.TRIES


def test_a_file_that_shrinks_between_passes_is_noticed(tmp_path, monkeypatch):
    files = written(tmp_path)
    finish = survey.Survey.finish

    def shrinking(self, *arguments):
        pq.write_table(pq.read_table(files[3]).slice(0, 3), files[3])
        return finish(self, *arguments)

    monkeypatch.setattr(survey.Survey, "finish", shrinking)
    refused(paribus.SourceError, str(files[3]), X=tmp_path)


def test_no_file_where_a_path_points_is_said(tmp_path):
    missing = tmp_path / "nowhere.parquet"
    refused(paribus.SourceError, str(missing), "no such file", X=missing)
    refused(paribus.SourceError, "*.parquet", "no file matches", X=tmp_path / "*.parquet")
    refused(paribus.SourceError, str(tmp_path), "no files", X=tmp_path)
    refused(paribus.SourceError, "nowhere.parquet", X=[missing])
    refused(paribus.SourceError, "wrong://x", X="wrong://x/y.parquet")


def test_files_without_a_single_row_are_said_to_have_none(tmp_path):
    written(tmp_path, cuts=(0, 0, 0))
    for chosen in (asked, model("lightgbm")):
        refused(paribus.TableError, "no rows", X=tmp_path, chosen=chosen)
        with pytest.raises(paribus.TableError, match="no rows"):
            paribus.estimate_cost(chosen, tmp_path)
        with pytest.raises(paribus.TableError, match="no rows"):
            paribus.h_statistic(chosen, tmp_path)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost", "catboost", "forest"])
def test_a_column_the_model_was_fitted_on_and_no_file_has_is_named(tmp_path, name):
    table = pa.Table.from_pandas(held(), preserve_index=False)
    written(
        tmp_path, table.rename_columns(["renamed" if name == "b" else name for name in table.column_names])
    )
    refused(paribus.ParibusError, "'b'", X=tmp_path, chosen=model(name))


def test_functions_that_yield_no_tables_are_refused():
    refused(paribus.SourceError, "yields no batch", X=lambda: iter(()))
    refused(paribus.SourceError, "int", "iterator of batches", X=lambda: 3)
    refused(paribus.SourceError, "batch 0", "dict", "Arrow", X=lambda: iter([{"a": [1.0]}]))
    refused(paribus.SourceError, "batch 2", "str", X=lambda: iter([held(), held(), "end"]))


def test_a_generator_instead_of_a_function_is_told_what_to_pass():
    refused(paribus.TableError, "function", X=in_batches()())


def test_a_function_that_returns_the_same_iterator_twice_is_refused():
    batches = in_batches()()
    refused(paribus.TableError, "iterator", X=lambda: batches)


def test_a_function_that_yields_fewer_rows_when_it_is_asked_again_is_refused(monkeypatch):
    finish, last = survey.Survey.finish, [ROWS]

    def shrinking(self, *arguments):
        last[0] = 600
        return finish(self, *arguments)

    monkeypatch.setattr(survey.Survey, "finish", shrinking)
    refused(paribus.SourceError, "rows", X=lambda: (held()[k : k + 300] for k in range(0, last[0], 300)))


def test_batches_of_another_schema_are_named_with_their_column():
    other = held().assign(b=held()["b"].astype(str))
    refused(paribus.SourceError, "batch 1", "'b'", "string", "int64", X=lambda: iter([held(), other]))
    less = held().drop(columns="c")
    refused(paribus.SourceError, "batch 1", "'c'", X=lambda: iter([held(), less]))


def test_partitions_of_another_schema_are_named_with_their_column():
    parts = [held()[:1_000], held()[1_000:].assign(b="text")]
    mixed = dd.from_map(lambda number: parts[number], [0, 1], meta=held()[:0])
    refused(paribus.SourceError, "partition 1", "'b'", X=mixed)


def test_small_dask_partitions_are_read():
    few = frame()[:90]
    read = paribus.partial_dependence(asked, dd.from_pandas(few, npartitions=6), "c", grid_resolution=5)
    same(read, paribus.partial_dependence(asked, few, "c", grid_resolution=5))


def test_weights_that_are_none_are_refused_with_their_row(tmp_path):
    values = {"negative": -1.0, "nan": np.nan, "infinite": np.inf}
    for name, value in values.items():
        weights = np.ones(ROWS)
        weights[1_234] = value
        written(tmp_path / name, pa.Table.from_pandas(frame().assign(w=weights), preserve_index=False))
        refused(paribus.WeightError, "'w'", "row 1234", X=tmp_path / name, sample_weight="w")
    written(tmp_path / "text", pa.Table.from_pandas(frame().assign(w="heavy"), preserve_index=False))
    refused(paribus.WeightError, "'w'", "string", X=tmp_path / "text", sample_weight="w")
    written(tmp_path / "zero", pa.Table.from_pandas(frame().assign(w=0.0), preserve_index=False))
    refused(paribus.WeightError, "'w'", "zero in every row", X=tmp_path / "zero", sample_weight="w")


def test_weights_of_what_is_read_are_a_column(folder):
    refused(paribus.WeightError, "'weight'", "no column", X=folder, sample_weight="weight")
    refused(
        paribus.WeightError,
        "sample_weight must be the name of a column",
        X=folder,
        sample_weight=np.ones(ROWS),
    )
    refused(paribus.WeightError, "'w'", "pass the weights", X=held(), sample_weight="w")


def test_options_of_what_is_read_are_checked(folder, tmp_path):
    refused(paribus.OptionError, "on_error='ignore'", "'skip'", X=folder, on_error="ignore")
    refused(paribus.OptionError, "executor=4", "Client", X=folder, executor=4)
    refused(paribus.OptionError, "checkpoint", "in-memory", X=held(), checkpoint=tmp_path)
    refused(paribus.OptionError, "checkpoint=3", X=folder, checkpoint=3)
    (tmp_path / "file").write_text("")
    refused(paribus.OptionError, "cannot be a folder", X=folder, checkpoint=tmp_path / "file")
    refused(paribus.FeatureError, "did you mean 'city'", X=folder, features="cities")


def test_a_feature_of_too_many_levels_asks_for_those_to_ask(folder, monkeypatch):
    monkeypatch.setattr(survey, "MOST_LEVELS", 3)
    refused(paribus.FeatureError, "'city'", "custom_values", X=folder, features="city")
    given = {"city": ["Bern", "Genf"]}
    read = paribus.partial_dependence(asked, folder, "city", custom_values=given)
    kept = paribus.partial_dependence(asked, frame()[["c", "a", "b", "city"]], "city", custom_values=given)
    same(read, kept)
    found = paribus.effects(asked, folder, grid_resolution=4)
    assert "city" not in found
    assert any("'city'" in note for note in found.notes)


@pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("name", ["lightgbm", "forest"])
def test_h_statistics_of_files_are_those_in_memory_to_the_bit(folder, name, weighted):
    options = {"threeway": 3}
    read = paribus.h_statistic(model(name), folder, sample_weight="c" if weighted else None, **options)
    kept = paribus.h_statistic(
        model(name), held(), sample_weight=frame()["c"] if weighted else None, **options
    )
    for key in ("pairwise", "overall", "threeway"):
        for what in ("h_squared", "numerator", "denominator", "standard_error"):
            equal(getattr(read, f"{what}_{key}"), getattr(kept, f"{what}_{key}"))
    assert read.feature_pairs == kept.feature_pairs
    assert read.provenance.rows == ROWS
    assert read.provenance.rank_error is None


def test_rows_of_weight_zero_change_no_h_statistic(folder):
    read = paribus.h_statistic(model("lightgbm"), folder, sample_weight="w")
    kept = paribus.h_statistic(model("lightgbm"), held(), sample_weight=frame()["w"])
    np.testing.assert_allclose(read.h_squared_pairwise, kept.h_squared_pairwise, rtol=1e-9)
    np.testing.assert_allclose(read.standard_error_pairwise, kept.standard_error_pairwise, rtol=1e-9)


def test_h_statistics_go_through_the_rows_three_times(folder):
    assert paribus.h_statistic(model("lightgbm"), folder).provenance.passes == 3


def test_h_statistics_of_a_function_draw_the_rows_they_draw_in_memory(folder):
    read = paribus.h_statistic(asked, folder, NUMBERS, subsample=40, random_state=3)
    kept = paribus.h_statistic(asked, held(), NUMBERS, subsample=40, random_state=3)
    equal(read.h_squared_pairwise, kept.h_squared_pairwise)
    assert read.provenance.sampled_rows == 40
    with pytest.raises(paribus.OptionError, match="subsample=None"):
        paribus.h_statistic(asked, folder, NUMBERS, subsample=None)


def test_importance_by_effect_reads_files_and_by_permutation_does_not(folder):
    read = paribus.feature_importance(model("lightgbm"), folder)
    kept = paribus.feature_importance(model("lightgbm"), held())
    equal(read.values, kept.values)
    equal(read.standard_error, kept.standard_error)
    assert read.feature_names == kept.feature_names
    with pytest.raises(paribus.TableError, match="method='permutation' needs X in memory"):
        paribus.feature_importance(model("lightgbm"), folder, y=answer(), method="permutation")


def test_a_plan_of_files_says_what_it_takes(folder):
    plan = paribus.estimate_cost(model("lightgbm"), folder, FEATURES, grid_resolution=11)
    done = paribus.effects(model("lightgbm"), folder, FEATURES, grid_resolution=11)["a"].provenance
    assert (plan.rows, plan.passes, plan.effects) == (ROWS, 2, 4)
    assert (plan.points, plan.evaluator, plan.columns) == (done.points, done.evaluator, ("a", "b", "c"))
    assert 0 < plan.seconds < 60
    assert 0 <= plan.reading <= 1
    assert plan.memory > 0
    text = repr(plan)
    for word in ("4 effects", "2,400 rows of 3 columns", "tree_exact", "2 passes", "seconds", "memory"):
        assert word in text


def test_a_plan_of_rows_in_memory_reads_nothing():
    plan = paribus.estimate_cost(asked, held(), grid_resolution=11)
    assert (plan.rows, plan.passes, plan.effects, plan.reading) == (ROWS, 1, 3, 0.0)
    assert "1 pass on" in repr(plan)
    assert plan.evaluator == "brute"
    assert "tree_exact" in plan.refusals


def test_a_plan_of_a_stream_does_not_know_its_rows():
    plan = paribus.estimate_cost(asked, in_batches(), NUMBERS, grid_resolution=3)
    assert plan.rows is None
    assert plan.seconds is None
    assert "an unknown number of rows" in repr(plan)
    assert plan.rows_per_second > 0


def test_a_plan_writes_nothing_and_refuses_what_effects_refuses(folder):
    with pytest.raises(paribus.OptionError, match="on_error"):
        paribus.estimate_cost(asked, folder, on_error="no")
    with pytest.raises(paribus.FeatureError, match="'z'"):
        paribus.estimate_cost(asked, folder, ["z"])
    with pytest.raises(paribus.WeightError, match="'v'"):
        paribus.estimate_cost(asked, folder, sample_weight="v")


@pytest.mark.parametrize("stream", [False, True], ids=["files", "stream"])
def test_the_bar_counts_rows_of_each_pass(folder, capsys, monkeypatch, stream):
    monkeypatch.setattr("paribus._executors.progress._has_bars", lambda: True)
    source = in_batches() if stream else folder
    paribus.partial_dependence(model("lightgbm"), source, "a", grid_resolution=3, progress=True)
    shown = capsys.readouterr().err
    assert "first look at the data" in shown
    assert "partial dependence" in shown
    assert "2.40k/2.40k" in shown
    paribus.partial_dependence(model("lightgbm"), source, "a", grid_resolution=3, progress=False)
    assert capsys.readouterr().err == ""


def test_what_was_read_is_recorded_and_survives_a_file(tmp_path):
    files = written(tmp_path / "rows")
    emptied(files[1])
    found = {
        "effect": paribus.partial_dependence(
            model("lightgbm"), tmp_path / "rows", "a", on_error="skip", grid_resolution=4
        ),
        "strengths": paribus.h_statistic(model("lightgbm"), tmp_path / "rows", on_error="skip"),
    }
    for name, result in found.items():
        result.save(tmp_path / name)
        again = paribus.load(tmp_path / name).provenance
        assert asdict(again) == asdict(result.provenance)
        assert again.source == result.provenance.source
        assert "3 Parquet files" in again.source
        assert again.passes in (2, 3)
        assert again.executor == "this process"
        assert len(again.model_digest) == 32
        assert len(again.skipped) == 1
        assert str(files[1]) in again.skipped[0]
    assert found["effect"].provenance.rank_error == 0.0
    assert "read from 3 Parquet files" in repr(found["effect"])


def test_the_fingerprint_tells_other_rows_and_not_other_files(folder, tmp_path):
    request = partial(paribus.partial_dependence, model("lightgbm"), features="a", grid_resolution=3)
    first = request(X=folder).provenance.fingerprint
    assert first == request(X=written(tmp_path / "one", cuts=(0, ROWS))[0]).provenance.fingerprint
    changed = frame().copy()
    changed.loc[7, "c"] += 1e-9
    table = pa.Table.from_pandas(changed, preserve_index=False)
    assert first != request(X=written(tmp_path / "two", table)).provenance.fingerprint


def test_numbers_beyond_what_is_kept_are_thinned_and_the_error_is_said(folder, monkeypatch):
    monkeypatch.setattr(survey, "EXACT_ROWS", 500)
    monkeypatch.setattr(survey, "CAPACITY", 128)
    monkeypatch.setattr(survey, "LEAST_CAPACITY", 64)
    monkeypatch.setattr("paribus._api.data.survey_rows", lambda *bounds: 256)
    read = paribus.effects(model("lightgbm"), folder, NUMBERS, grid_resolution=60)
    error = read["c"].provenance.rank_error
    assert 0 < error < 0.05
    values = np.sort(frame()["c"])
    ranks = np.searchsorted(values, read["c"].deciles[0]) / ROWS
    assert np.abs(ranks - np.arange(11) / 10).max() <= error + 2 / ROWS
    assert read["c"].deciles[0][[0, -1]].tolist() == values[[0, -1]].tolist()
    listed = paribus.partial_dependence(model("lightgbm"), held(), "b", grid_resolution=60)
    equal(read["b"].grid_values[0], listed.grid_values[0])
    equal(read["b"].average, listed.average)
    equal(read["b"].support, listed.support)


def test_a_copy_of_a_reader_is_gone_with_its_last_use(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    check(reader())
    gc.collect()
    assert os.listdir(tmp_path) == []


def test_a_home_folder_is_understood(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    written(tmp_path / "rows")
    check(Path("~") / "rows")


def test_a_column_that_cannot_be_varied_is_skipped_as_in_memory(tmp_path):
    table = pa.table({"a": np.arange(30.0), "list": [[1, 2]] * 30})
    pq.write_table(table, tmp_path / "x.parquet")
    found = paribus.effects(lambda X: X["a"], tmp_path / "x.parquet")
    assert list(found) == ["a"]
    with pytest.raises(paribus.FeatureError, match="'list'"):
        paribus.effects(lambda X: X["a"], tmp_path / "x.parquet", ["list"])


def test_a_model_of_an_array_is_shown_the_columns_in_their_order(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 2))
    fitted = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(X, X[:, 0])
    pq.write_table(pa.table({"p": X[:, 0], "q": X[:, 1]}), tmp_path / "x.parquet")
    found = paribus.effects(fitted, tmp_path / "x.parquet")
    assert list(found) == ["p", "q"]
    named = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(
        pd.DataFrame(X, columns=["P", "Q"]), X[:, 0]
    )
    with pytest.raises(paribus.TableError, match="no column 'P'"):
        paribus.effects(named, tmp_path / "x.parquet")


@pytest.mark.parametrize("path", ["year=2020", "year=2020/*.parquet", "year=2020/x.parquet", "year=*", "*"])
def test_folders_say_what_they_say_wherever_one_begins(tmp_path, path):
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"a": np.arange(50.0)}), tmp_path / f"year={year}/x.parquet")
    found = paribus.effects(lambda X: X["a"] + X["year"], str(tmp_path / path), ["year"])
    assert list(found["year"].grid_values[0]) == [2020, 2021] if "*" in path[:6] else [2020]


def test_a_file_given_twice_is_refused(folder):
    file = next(folder.glob("*.parquet"))
    with pytest.raises(paribus.SourceError, match="more than once"):
        paribus.effects(asked, [file, str(folder / "*.parquet")], ["a"])


def test_whatever_fails_on_the_way_is_said_to_be_x():
    def failing():
        yield pa.table({"a": [1.0, 2.0]})
        raise ConnectionError("the line is dead")

    with pytest.raises(paribus.SourceError, match=r"X \(batches of a function\).*the line is dead"):
        paribus.effects(lambda X: X["a"], failing, ["a"])


def test_an_empty_first_batch_tells_nothing():
    def batches():
        yield pd.DataFrame({"a": [], "b": []})
        yield pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})

    found = paribus.effects(lambda X: X["a"], batches)
    assert set(found) == {"a", "b"}


def test_a_query_is_not_begun_more_often_than_it_takes(monkeypatch):
    begun = []

    def batches():
        begun.append(1)
        yield pa.table({"a": np.arange(50.0)})

    found = paribus.effects(lambda X: X["a"], batches, ["a"])
    assert (found["a"].provenance.passes, len(begun)) == (2, 4)  # to know its columns, and its first rows


def test_too_many_categories_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(survey, "MOST_CATEGORIES", 40)
    monkeypatch.setattr(survey, "SURVEY_BYTES", 1)
    codes = pa.array([f"id{i // 20}" for i in range(2_000)]).dictionary_encode()
    pq.write_table(
        pa.table({"a": np.arange(2_000.0), "id": codes}), tmp_path / "x.parquet", row_group_size=500
    )
    with pytest.raises(paribus.TableError, match="more than 40 categories"):
        paribus.effects(lambda X: X["a"], tmp_path / "x.parquet", ["a"])


def test_days_long_after_us_are_read(tmp_path):
    far = pa.array([0, 300_000_000_000_000_000], pa.timestamp("us"))
    pq.write_table(pa.table({"a": [1.0, 2.0], "t": far}), tmp_path / "x.parquet")
    assert paribus.effects(lambda X: X["a"], tmp_path / "x.parquet", ["a"])["a"].provenance.rows == 2


def test_without_pandas_a_model_is_shown_arrow(folder, monkeypatch):
    monkeypatch.setattr("paribus._data.scan.source.find_spec", lambda name: None)
    seen = set()

    def model_of_arrow(table):
        seen.add(type(table))
        return table["c"].to_numpy()

    have = paribus.partial_dependence(model_of_arrow, folder, "c", grid_resolution=5)
    want = paribus.partial_dependence(lambda X: X["c"], frame(), "c", grid_resolution=5)
    assert seen == {pa.Table}
    assert np.array_equal(have.average, want.average)


def test_folder_names_are_what_a_dataset_says_they_are(tmp_path):
    for code in ("01234", "90210"):
        (tmp_path / f"run=3/zip={code}").mkdir(parents=True)
        pq.write_table(pa.table({"a": np.arange(20.0)}), tmp_path / f"run=3/zip={code}/x.parquet")
    text = ds.partitioning(pa.schema([("zip", pa.string())]), flavor="hive")
    found = paribus.effects(lambda X: X["a"], ds.dataset(tmp_path / "run=3", partitioning=text))
    assert set(found) == {"a", "zip"}
    assert sorted(found["zip"].grid_values[0]) == ["01234", "90210"]
    plain = paribus.effects(lambda X: X["a"], ds.dataset(tmp_path / "run=3", partitioning="hive"))
    assert set(plain) == {"a", "zip"}


def test_more_categories_than_the_first_codes_hold():
    def batches():
        for levels in (100, 300):
            yield pd.DataFrame({"a": np.arange(600.0), "c": [f"l{i % levels}" for i in range(600)]}).astype(
                {"c": "category"}
            )

    assert paribus.effects(lambda X: X["a"], batches, ["a"])["a"].provenance.rows == 1_200


def test_names_that_lightgbm_spells_otherwise_are_found(tmp_path):
    X = pd.DataFrame({"my col": np.arange(300.0), "b": np.arange(300.0) % 7})
    fitted = lightgbm.LGBMRegressor(n_estimators=3, verbose=-1, n_jobs=1).fit(X, X["my col"])
    X.to_parquet(tmp_path / "x.parquet")
    assert set(paribus.effects(fitted, tmp_path / "x.parquet")) == {"my col", "b"}


def test_only_the_rows_asked_for_are_decoded(tmp_path, monkeypatch):
    pq.write_table(pa.table({"a": np.arange(300_000.0)}), tmp_path / "x.parquet", row_group_size=300_000)
    decoded = []
    kept = parquet.conformed
    monkeypatch.setattr(parquet, "conformed", lambda t, *rest: decoded.append(len(t)) or kept(t, *rest))
    files = parquet.parquet_files(tmp_path / "x.parquet", "raise")
    batches = [len(batch) for batch in files.batches(("a",), 10, 20)]
    assert batches == decoded == [10]


def test_a_drawn_statistic_reads_once_to_know_the_rows_and_once_to_draw(folder):
    found = paribus.h_statistic(asked, folder, NUMBERS, subsample=40)
    assert (found.provenance.passes, found.provenance.sampled_rows) == (2, 40)


def test_a_file_that_changes_between_passes_is_refused(tmp_path, monkeypatch):
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": np.arange(500.0)}), file)

    finish = survey.Survey.finish

    def finished(self, reading, state):
        found = finish(self, reading, state)
        pq.write_table(pa.table({"a": np.arange(500.0) + 1}), file)
        return found

    monkeypatch.setattr(survey.Survey, "finish", finished)
    with pytest.raises(paribus.SourceError, match="was changed"):
        paribus.effects(lambda X: X["a"], file, ["a"], grid_resolution=3)
