"""Folders that are columns, and paths with patterns."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.linear_model import LinearRegression

import paribus
from paribus._data.scan import parquet
from scan_examples import CUTS, asked, check, held, model, same, written


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(parquet, "PAUSE", 0.0)


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("rows")
    written(path)
    (path / "_SUCCESS").write_bytes(b"")
    return path


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


def test_folders_of_list_of_files_are_columns_too(tmp_path):
    files = []
    for month in (1, 2):
        where = tmp_path / "year=2026" / f"month={month}"
        where.mkdir(parents=True)
        files.append(where / "x.parquet")
        pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(files[-1])
    effect = paribus.partial_dependence(lambda t: t["x"] * t["month"], files, "month")
    assert effect.grid_values[0].tolist() == [1, 2]


@pytest.mark.parametrize("values", [("--5", "7"), ("²", "3"), ("99999999999999999999", "1"), ("", "2")])
def test_folders_that_only_look_like_integers_are_text(tmp_path, values):
    for value in values:
        (tmp_path / f"key={value}").mkdir()
        pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(tmp_path / f"key={value}" / "x.parquet")
    effect = paribus.partial_dependence(lambda t: t["x"], tmp_path, "key")
    assert sorted(effect.grid_values[0]) == sorted(values)


def test_model_of_nothing_but_folders_reads_no_column(tmp_path):
    for year in (1, 2, 4):
        (tmp_path / f"year={year}").mkdir()
        pd.DataFrame({"x": np.zeros(year)}).to_parquet(tmp_path / f"year={year}" / "x.parquet")
    fitted = LinearRegression().fit(pd.DataFrame({"year": [1.0, 2.0]}), [1.0, 2.0])
    effect = paribus.partial_dependence(fitted, tmp_path, "year")
    assert effect.average[0] == pytest.approx([1.0, 2.0, 4.0])
    assert effect.support.tolist() == [1, 2, 4]


def test_scan_dataset_that_was_filtered_stays_filtered(folder):
    read = paribus.partial_dependence(
        model("lightgbm"), ds.dataset(folder).filter(ds.field("b") < 20), "c", grid_resolution=7
    )
    kept = paribus.partial_dependence(model("lightgbm"), held()[held()["b"] < 20], "c", grid_resolution=7)
    same(read, kept)


def test_scan_dataset_partitioned_by_position_keeps_its_columns(tmp_path):
    for year in (2025, 2026):
        (tmp_path / str(year)).mkdir()
        pd.DataFrame({"x": [1.0, 2.0]}).to_parquet(tmp_path / str(year) / "x.parquet")
    dataset = ds.dataset(tmp_path, partitioning=["year"])
    effect = paribus.partial_dependence(lambda t: t["x"] * t["year"], dataset, "year")
    assert effect.grid_values[0].tolist() == [2025, 2026]


def test_dataset_whose_schema_fills_what_files_lack_stays_that(tmp_path):
    pd.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}).to_parquet(tmp_path / "0.parquet")
    pd.DataFrame({"x": [5.0]}).to_parquet(tmp_path / "1.parquet")
    schema = pa.schema([("x", pa.float64()), ("y", pa.float64())])
    effect = paribus.partial_dependence(lambda t: t["x"], ds.dataset(tmp_path, schema=schema), "y")
    assert effect.missing.share == pytest.approx(1 / 3)


def test_name_with_brackets_is_name_if_there_is_such_file(tmp_path):
    files = written(tmp_path / "run[1]")
    check(tmp_path / "run[1]")
    check(files)


def test_scan_pattern_may_say_which_letters_not(tmp_path):
    written(tmp_path)
    effect = paribus.partial_dependence(asked, f"{tmp_path}/part-[!3].parquet", "a", grid_resolution=3)
    assert effect.provenance.rows == CUTS[3]


def test_home_folder_is_understood(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    written(tmp_path / "rows")
    check(Path("~") / "rows")


@pytest.mark.parametrize("path", ["year=2020", "year=2020/*.parquet", "year=2020/x.parquet", "year=*", "*"])
def test_folders_say_what_they_say_wherever_one_begins(tmp_path, path):
    for year in (2020, 2021):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"a": np.arange(50.0)}), tmp_path / f"year={year}/x.parquet")
    found = paribus.effects(lambda X: X["a"] + X["year"], str(tmp_path / path), ["year"])
    assert list(found["year"].grid_values[0]) == [2020, 2021] if "*" in path[:6] else [2020]


def test_folder_names_are_what_dataset_says_they_are(tmp_path):
    for code in ("01234", "90210"):
        (tmp_path / f"run=3/zip={code}").mkdir(parents=True)
        pq.write_table(pa.table({"a": np.arange(20.0)}), tmp_path / f"run=3/zip={code}/x.parquet")
    text = ds.partitioning(pa.schema([("zip", pa.string())]), flavor="hive")
    found = paribus.effects(lambda X: X["a"], ds.dataset(tmp_path / "run=3", partitioning=text))
    assert set(found) == {"a", "zip"}
    assert sorted(found["zip"].grid_values[0]) == ["01234", "90210"]
    plain = paribus.effects(lambda X: X["a"], ds.dataset(tmp_path / "run=3", partitioning="hive"))
    assert set(plain) == {"a", "zip"}


LOGS = {
    "_delta_log": ("_delta_log/00000000000000000000.json", "Delta Lake", r"deltalake\.DeltaTable"),
    "hoodie": (".hoodie/hoodie.properties", "Hudi", "a reader of the format"),
    "iceberg": ("metadata/v1.metadata.json", "Iceberg", "the pyiceberg table"),
    "compressed iceberg": ("metadata/00001-a.metadata.json.gz", "Iceberg", "the pyiceberg table"),
}


def with_log(root, log):
    """Write a table of two files in folders that are columns, one of which its log may have removed."""
    for year in (2025, 2026):
        where = root / "data" / f"year={year}"
        where.mkdir(parents=True)
        pq.write_table(pa.table({"x": np.arange(4.0)}), where / "part-0.parquet")
    pq.write_table(pa.table({"x": np.arange(4.0), "year": [2024] * 4}), root / "part-1.parquet")
    (root / log).parent.mkdir()
    (root / log).write_text("{}")


@pytest.mark.parametrize(("log", "kind", "way_out"), LOGS.values(), ids=LOGS)
@pytest.mark.parametrize(
    "path",
    ["lake/t", "lake/t/data", "lake/t/*.parquet", "lake/t/data/*", "lake/t/**/*.parquet", "lake/*", "lake"],
)
def test_folder_of_a_table_with_a_log_is_refused(tmp_path, path, log, kind, way_out):
    with_log(tmp_path / "lake" / "t", log)
    with pytest.raises(
        paribus.errors.SourceError, match=rf"files of a {kind} table.* log in .*lake/t/.*{way_out}"
    ):
        paribus.effects(lambda t: t["x"], str(tmp_path / path), progress=False)


@pytest.mark.parametrize("log", ["_delta_log/0.json", ".hoodie/a"])
def test_partition_of_a_table_with_a_log_is_refused(tmp_path, log):
    for year in (2025, 2026):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"x": np.arange(4.0)}), tmp_path / f"year={year}" / "part-0.parquet")
    (tmp_path / log).parent.mkdir()
    (tmp_path / log).write_text("{}")
    for path in ("year=2025", "year=*", "year=2025/*.parquet"):
        with pytest.raises(paribus.errors.SourceError, match="some may have been replaced or removed"):
            paribus.effects(lambda t: t["x"], str(tmp_path / path), progress=False)


def test_files_and_datasets_that_the_log_names_are_read(tmp_path):
    with_log(tmp_path / "t", "_delta_log/0.json")
    files = [str(tmp_path / "t" / "data" / f"year={year}" / "part-0.parquet") for year in (2025, 2026)]
    for X in (files, ds.dataset(files)):
        found = paribus.effects(lambda t: t["x"], X, ["x"], progress=False)
        assert found["x"].provenance.rows == 8
    neighbor = tmp_path / "plain"
    neighbor.mkdir()
    pq.write_table(pa.table({"x": np.arange(4.0)}), neighbor / "part-0.parquet")
    (neighbor / "metadata").mkdir()  # no table format
    (neighbor / "metadata" / "_readme.json").write_text("{}")
    for path in (neighbor / "*.parquet", tmp_path / "pl*" / "*.parquet"):
        found = paribus.effects(lambda t: t["x"], str(path), ["x"], progress=False)
        assert found["x"].provenance.rows == 4


def test_reader_of_a_table_with_a_log_can_be_passed_as_a_function():
    def batches():
        return pa.table({"x": np.arange(4.0)}).to_reader()  # as pyiceberg and deltalake return

    assert paribus.effects(lambda t: t["x"], batches, progress=False)["x"].provenance.rows == 4
