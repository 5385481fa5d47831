"""Tables of Delta Lake and Iceberg: only live rows, with the bits of the same rows in Parquet files."""

import base64
import datetime
import json
import struct
import subprocess
import sys
from pathlib import Path

import deltalake
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from dask.distributed import Client, LocalCluster
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.expressions import GreaterThan
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import DataScan, FileScanTask, StaticTable
from pyiceberg.types import DoubleType, LongType, StringType

import paribus
from paribus._data.read import source_of
from scan_examples import FEATURES, all_same, frame, model

HALF = 1_200


def rows():
    """Rows with an id, so that two tables can be compared in any order."""
    table = frame().assign(row=np.arange(len(frame())))
    days = table["b"].map(lambda b: None if b == 7 else datetime.date(2026, 1, 1 + b % 3))
    return table.assign(day=days, place=table["city"].where(table["city"] != "Chur", "a b/ü=%"))


class Delta:
    """A table of deltalake, with the calls that both formats have."""

    def __init__(self, tmp_path):
        self.path = str(tmp_path / "delta table")

    def append(self, table, keys=()):
        deltalake.write_deltalake(
            self.path, table, mode="append", partition_by=list(keys) or None, schema_mode="merge"
        )

    def delete(self, below):
        self.table.delete(f"row < {below}")

    def compact(self):
        self.table.optimize.compact()

    @property
    def table(self):
        return deltalake.DeltaTable(self.path)

    def at(self, version):
        return deltalake.DeltaTable(self.path, version=version)

    def own(self, X):
        return pa.table(X.scan().read_all())


class Iceberg:
    """A table of pyiceberg in a catalog of SQLite."""

    def __init__(self, tmp_path):
        self.catalog = SqlCatalog(
            "local", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse"
        )
        self.catalog.create_namespace("n")

    def append(self, table, keys=()):
        if not self.catalog.table_exists("n.t"):
            table_of = self.catalog.create_table("n.t", table.schema)
            with table_of.update_spec() as spec:
                for key in keys:
                    spec.add_identity(key)
        with self.table.update_schema() as schema:
            schema.union_by_name(table.schema)
        self.table.append(table)

    def delete(self, below):
        self.table.delete(f"row < {below}")

    def compact(self):
        self.table.overwrite(self.table.scan().to_arrow())

    @property
    def table(self):
        return self.catalog.load_table("n.t")

    def at(self, version):
        return self.table.scan(snapshot_id=self.table.snapshots()[version].snapshot_id)

    def own(self, X):
        return (X if isinstance(X, DataScan) else X.scan()).to_arrow()

    def close(self):
        self.catalog.close()


@pytest.fixture
def delta(tmp_path):
    return Delta(tmp_path)


@pytest.fixture
def iceberg(tmp_path):
    made = Iceberg(tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["delta", "iceberg"])
def lake(request):
    return request.getfixturevalue(request.param)


def arrow(table):
    return pa.Table.from_pandas(table, preserve_index=False)


def read(X):
    """Return all rows as paribus reads them."""
    source = source_of(X, "raise")
    return pa.concat_tables(source.batches(tuple(source.schema.names), 0, None))


def effects(X, **options):
    explainer = paribus.Explainer(model("lightgbm"), X, sample_weight="w", progress=False, **options)
    return explainer.effects(FEATURES, grid_resolution=11)


def sorted_rows(table):
    return table.to_pandas().sort_values("row").reset_index(drop=True)


def check(lake, X, tmp_path):
    """The rows are those of the format's reader, and effects have the bits of the rows as Parquet."""
    found = read(X)
    pd.testing.assert_frame_equal(sorted_rows(found), sorted_rows(lake.own(X)), check_dtype=False)
    pq.write_table(found, tmp_path / "same.parquet", row_group_size=170)
    all_same(effects(X), effects(tmp_path / "same.parquet"))
    return sorted_rows(found)


def test_deleted_and_rewritten_rows_are_not_read(lake, tmp_path):
    lake.append(arrow(rows()[:HALF]))
    lake.append(arrow(rows()[HALF:]))
    lake.delete(300)
    found = check(lake, lake.table, tmp_path)
    pd.testing.assert_frame_equal(found, rows()[300:].reset_index(drop=True), check_dtype=False)
    lake.compact()
    assert len(source_of(lake.table, "raise").files) == 1
    again = check(lake, lake.table, tmp_path)
    pd.testing.assert_frame_equal(again, found)


def test_added_columns_are_null_in_older_files(lake, tmp_path):
    lake.append(arrow(rows()[:HALF].drop(columns=["a", "city"])))
    lake.append(arrow(rows()[HALF:]))
    found = check(lake, lake.table, tmp_path)
    assert found["a"][:HALF].isna().all()
    assert found["city"].isna().tolist() == [True] * HALF + [False] * HALF
    pd.testing.assert_frame_equal(
        found[HALF:].reset_index(drop=True)[list(rows())],
        rows()[HALF:].reset_index(drop=True),
        check_dtype=False,
    )


def test_partition_columns_have_their_types(lake, tmp_path):
    lake.append(arrow(rows()), ["place", "day"])
    lake.delete(100)
    found = check(lake, lake.table, tmp_path)
    assert len(source_of(lake.table, "raise").files) > 10
    pd.testing.assert_frame_equal(found[list(rows())], rows()[100:].reset_index(drop=True), check_dtype=False)
    assert read(lake.table).schema.field("day").type == pa.date32()


def test_only_columns_of_partitions_are_read(lake):
    """No column is read from the files, or only some."""
    lake.append(arrow(rows()), ["place"])
    table = pd.get_dummies(rows()["place"])

    class Places:
        feature_names_in_ = np.array(["place"])

        def predict(self, X):
            return (X["place"] == "Bern").to_numpy().astype(float)

    found = paribus.partial_dependence(Places(), lake.table, "place", progress=False)
    assert dict(zip(found.grid_values[0], found.average[0], strict=True)) == {
        one: float(one == "Bern") for one in table
    }


def test_older_versions_have_their_rows(lake, tmp_path):
    lake.append(arrow(rows()[:HALF]))
    lake.append(arrow(rows()[HALF:]))
    lake.compact()
    old = check(lake, lake.at(0), tmp_path)
    pd.testing.assert_frame_equal(old, rows()[:HALF], check_dtype=False)
    assert len(read(lake.table)) == len(rows())
    snapshot = getattr(lake.at(0), "snapshot_id", None)
    version = "Delta version 0" if snapshot is None else f"Iceberg snapshot {snapshot}"
    (effect, *_) = effects(lake.at(0)).values()
    assert f"read from 1 Parquet file of {version} from " in effect.provenance.background()


def test_results_are_those_of_rows_in_memory(lake):
    lake.append(arrow(rows()))
    table = read(lake.table).to_pandas()
    table["y"] = np.nan_to_num(table["a"]) + table["b"]
    kept = paribus.explain(model("lightgbm"), table.drop(columns=["y", "w"]), sample_weight=table["w"])
    found = paribus.explain(model("lightgbm"), lake.table, sample_weight="w", progress=False)
    for name, effect in kept.effects.items():
        np.testing.assert_array_equal(found.effects[name].average, effect.average)
    np.testing.assert_array_equal(found.interactions.h_squared_pairwise, kept.interactions.h_squared_pairwise)


@pytest.mark.nightly
@pytest.mark.cluster
def test_workers_of_dask_read_live_rows(lake):
    lake.append(arrow(rows()[:HALF].drop(columns="a")), ["place"])
    lake.append(arrow(rows()[HALF:]), ["place"])
    lake.delete(300)
    here = effects(lake.table)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        there = effects(lake.table, executor=client)
    all_same(there, here)


def test_checkpoint_is_of_one_version(lake, tmp_path):
    lake.append(arrow(rows()))
    want = effects(lake.table, checkpoint=tmp_path / "kept")
    all_same(effects(lake.table, checkpoint=tmp_path / "kept"), want)
    lake.delete(300)
    with pytest.raises(paribus.errors.CheckpointError, match="data"):
        effects(lake.table, checkpoint=tmp_path / "kept")


def test_file_that_was_removed_is_named_or_skipped(delta):
    delta.append(arrow(rows()[:HALF]))
    delta.append(arrow(rows()[HALF:]))
    old = delta.table
    delta.compact()
    lost = Path(source_of(old, "raise").files[0].path)
    lost.unlink()  # as after a vacuum
    with pytest.raises(paribus.errors.SourceError, match=lost.name):
        effects(old)
    found = effects(old, on_error="skip")
    assert found["a"].provenance.rows == HALF
    assert str(lost) in found["a"].provenance.skipped[0]


def test_table_that_was_never_written_to_is_refused(iceberg):
    iceberg.catalog.create_table("n.t", arrow(rows()).schema)
    with pytest.raises(paribus.errors.TableError, match=r"an empty table \(Iceberg\); at least"):
        effects(iceberg.table)


def test_table_without_rows_is_refused(lake):
    lake.append(arrow(rows()))
    lake.delete(10_000)
    with pytest.raises(paribus.errors.TableError, match=r"an empty table \((Delta|Iceberg) .*\); at least"):
        effects(lake.table)


def z85(data):
    """Encode bytes as Delta Lake does; `base64.z85encode` is new in Python 3.13."""
    ours = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
    theirs = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    return base64.b85encode(data).translate(bytes.maketrans(theirs, ours)).decode()


def bitmap(numbers):
    """Serialize row numbers below 65,536 as an array of roaring bitmaps with a single container."""
    values = struct.pack(f"<{len(numbers)}H", *numbers)
    roaring = struct.pack("<IIHHI", 12346, 1, 0, len(numbers) - 1, 16) + values
    data = struct.pack("<IQI", 1681511377, 1, 0) + roaring
    return data + bytes(-len(data) % 4)


def with_deletion_vector(path, action, numbers):
    """Commit a deletion vector for a file, as Spark does for DELETE."""
    data = bitmap(numbers)
    vector = {
        "storageType": "i",
        "pathOrInlineDv": z85(data),
        "sizeInBytes": len(data),
        "cardinality": len(numbers),
    }
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    }
    removed = {"path": action["path"], "deletionTimestamp": 0, "dataChange": True}
    commits = [
        {"protocol": protocol},
        {"remove": removed},
        {"add": action | {"deletionVector": vector, "dataChange": True}},
    ]
    last = sorted((path / "_delta_log").glob("*.json"))[-1]
    later = last.with_name(f"{int(last.stem) + 1:020}.json")
    later.write_text("\n".join(map(json.dumps, commits)))


def add_actions(path):
    """Return the files that the first commit of a table added."""
    lines = (path / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    return [action["add"] for action in map(json.loads, lines) if "add" in action]


def test_rows_in_deletion_vectors_are_not_read(delta, tmp_path):
    delta.append(arrow(rows()[["a", "b", "c", "w", "row", "place"]]), ["place"])
    path = tmp_path / "delta table"
    actions = sorted(add_actions(path), key=lambda one: one["path"])
    deleted = {actions[0]["path"]: [0, 1, 2, 50], actions[2]["path"]: list(range(40, 180))}
    for action in actions:
        if action["path"] in deleted:
            with_deletion_vector(path, action, deleted[action["path"]])
    found = check(delta, delta.table, tmp_path)
    assert len(found) == len(rows()) - 144
    assert len(read(delta.at(0))) == len(rows())
    source = source_of(delta.table, "raise")
    whole = read(delta.table)
    for first, stop in ((0, 1), (3, 400), (700, 705), (len(whole) - 1, len(whole))):
        part = pa.concat_tables(source.batches(tuple(source.schema.names), first, stop))
        assert part.equals(whole.slice(first, stop - first))


def test_row_groups_without_live_rows_are_passed_over(delta, tmp_path):
    table = arrow(rows()[["a", "b", "c", "w", "row"]])
    delta.append(table)
    path = tmp_path / "delta table"
    (action,) = add_actions(path)
    pq.write_table(table, path / action["path"], row_group_size=300)
    size = (path / action["path"]).stat().st_size
    with_deletion_vector(path, action | {"size": size}, [*range(250, 900), 2_399])
    source = source_of(delta.table, "raise")
    assert source.files[0].groups == (250, 0, 0, 300, 300, 300, 300, 299)
    assert check(delta, delta.table, tmp_path)["row"].tolist() == [*range(250), *range(900, 2_399)]


def test_deletion_vector_of_another_file_is_not_ignored(delta, monkeypatch):
    delta.append(arrow(rows()))
    own = pa.table({"filepath": ["file:///elsewhere/x.parquet"], "selection_vector": [[True, False]]})
    features = type("Protocol", (), {"reader_features": ["deletionVectors"]})
    monkeypatch.setattr(deltalake.DeltaTable, "protocol", lambda self: features)
    monkeypatch.setattr(deltalake.DeltaTable, "deletion_vectors", lambda self: own.to_reader())
    with pytest.raises(paribus.errors.SourceError, match=r"deletion vector of .*elsewhere/x\.parquet"):
        effects(delta.table)


def test_times_are_read_as_spark_writes_them(delta, tmp_path):
    times = pd.Series(pd.date_range("1999-12-31", periods=len(rows()), freq="7h", tz="UTC", unit="us"))
    table = arrow(rows()[["a", "b", "c", "w", "row"]].assign(at=times))
    delta.append(table)
    (file,) = (tmp_path / "delta table").glob("*.parquet")
    old = table.set_column(5, "at", table.column("at").cast(pa.timestamp("us")))
    pq.write_table(old, file, use_deprecated_int96_timestamps=True)
    assert pq.read_schema(file).field("at").type == pa.timestamp("ns")
    assert read(delta.table).schema.field("at").type == pa.timestamp("us", "UTC")
    pd.testing.assert_series_equal(sorted_rows(read(delta.table))["at"], times, check_names=False)


def test_delta_table_with_mapped_columns_is_refused(tmp_path):
    schema = {
        "type": "struct",
        "fields": [
            {
                "name": "a",
                "type": "double",
                "nullable": True,
                "metadata": {"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-1"},
            }
        ],
    }
    pq.write_table(pa.table({"col-1": [1.0, 2.0]}), tmp_path / "x.parquet")
    commits = [
        {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}},
        {
            "metaData": {
                "id": "32e6354f-140c-4355-ac73-c76d541a72ab",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps(schema),
                "partitionColumns": [],
                "configuration": {"delta.columnMapping.mode": "name"},
            }
        },
        {
            "add": {
                "path": "x.parquet",
                "partitionValues": {},
                "size": (tmp_path / "x.parquet").stat().st_size,
                "modificationTime": 0,
                "dataChange": True,
            }
        },
    ]
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / f"{0:020}.json").write_text("\n".join(map(json.dumps, commits)))
    with pytest.raises(paribus.errors.SourceError, match="unsupported feature columnMapping"):
        effects(deltalake.DeltaTable(tmp_path))


def test_columns_of_iceberg_are_found_by_id(iceberg, tmp_path):
    first = arrow(
        rows()[:HALF].rename(columns={"a": "old", "city": "b2"}).astype({"b": "int32", "c": "float32"})
    )
    iceberg.append(first)
    with iceberg.table.update_schema() as schema:
        schema.rename_column("old", "a")
        schema.update_column("b", LongType())
        schema.update_column("c", DoubleType())
        schema.delete_column("b2")
        schema.delete_column("day")
    with iceberg.table.update_schema() as schema:
        schema.add_column("day", StringType())  # another column of the same name
    iceberg.append(arrow(rows()[HALF:].drop(columns="city").assign(day="Monday")))
    found = check(iceberg, iceberg.table, tmp_path)
    pd.testing.assert_series_equal(found["a"], rows()["a"])
    assert found["day"].isna().tolist() == [True] * HALF + [False] * HALF
    assert "b2" not in found


def test_values_of_iceberg_partitions_replace_columns_that_files_lack(iceberg, tmp_path):
    iceberg.append(arrow(rows()), ["place", "day"])
    for task in iceberg.table.scan().plan_files():
        path = task.file.file_path.removeprefix("file://")
        file = pq.read_table(path, partitioning=None)
        pq.write_table(file.drop_columns(["place", "day"]), path)  # as files of Hive are
    found = check(iceberg, iceberg.table, tmp_path)
    pd.testing.assert_frame_equal(found[list(rows())], rows(), check_dtype=False)


def test_files_without_ids_of_columns_need_a_mapping(iceberg, tmp_path):
    table = arrow(rows())
    iceberg.append(table)
    pq.write_table(table.slice(0, 500), tmp_path / "added.parquet")
    iceberg.table.add_files([f"file://{tmp_path}/added.parquet"])
    assert len(check(iceberg, iceberg.table, tmp_path)) == len(rows()) + 500
    with iceberg.table.transaction() as change:
        change.remove_properties("schema.name-mapping.default")
    with pytest.raises(paribus.errors.SourceError, match=r"added\.parquet has no ids of columns"):
        effects(iceberg.table)


def with_deletes(monkeypatch, files):
    """Let every scan have delete files; pyiceberg reads them, and does not write them."""
    plan = DataScan.plan_files
    monkeypatch.setattr(
        DataScan, "plan_files", lambda self: [FileScanTask(task.file, files) for task in plan(self)]
    )


def delete_file(path, content=DataFileContent.POSITION_DELETES, kind=FileFormat.PARQUET):
    return DataFile.from_args(content=content, file_path=f"file://{path}", file_format=kind)


def test_rows_in_position_deletes_are_not_read(iceberg, tmp_path, monkeypatch):
    iceberg.append(arrow(rows()[:HALF]))
    iceberg.append(arrow(rows()[HALF:]))
    one, two = sorted(task.file.file_path for task in iceberg.table.scan().plan_files())
    for name, path, numbers in (("x", one, [0, 3, 700]), ("y", one, [3, 4]), ("z", two, list(range(500)))):
        pq.write_table(
            pa.table({"file_path": [path] * len(numbers), "pos": numbers}), tmp_path / f"{name}.parquet"
        )
    with_deletes(monkeypatch, {delete_file(tmp_path / f"{name}.parquet") for name in "xyz"})
    assert len(check(iceberg, iceberg.table, tmp_path)) == len(rows()) - 504


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        (DataFileContent.EQUALITY_DELETES, FileFormat.PARQUET, "equality deletes as PARQUET"),
        (DataFileContent.POSITION_DELETES, FileFormat.PUFFIN, "position deletes as PUFFIN"),
    ],
)
def test_other_deletes_of_iceberg_are_refused(iceberg, tmp_path, monkeypatch, content, kind, words):
    iceberg.append(arrow(rows()))
    with_deletes(monkeypatch, {delete_file(tmp_path / "x", content, kind)})
    with pytest.raises(paribus.errors.SourceError, match=words):
        effects(iceberg.table)


def test_other_files_of_iceberg_are_refused(iceberg, tmp_path, monkeypatch):
    iceberg.append(arrow(rows()))
    other = FileScanTask(delete_file(tmp_path / "x", DataFileContent.DATA, FileFormat.ORC))
    monkeypatch.setattr(DataScan, "plan_files", lambda self: [other])
    with pytest.raises(paribus.errors.SourceError, match="x of X is a file of ORC"):
        effects(iceberg.table)


def test_iceberg_files_on_several_filesystems_are_refused(iceberg, monkeypatch):
    iceberg.append(arrow(rows()))
    plan = DataScan.plan_files
    other = FileScanTask(
        DataFile.from_args(
            content=DataFileContent.DATA, file_path="s3://box/x.parquet", file_format=FileFormat.PARQUET
        )
    )
    monkeypatch.setattr(DataScan, "plan_files", lambda self: [*plan(self), other])
    with pytest.raises(paribus.errors.SourceError, match="several filesystems"):
        effects(iceberg.table)


def test_filtered_scans_of_iceberg_are_refused(iceberg):
    iceberg.append(arrow(rows()))
    for scan in (iceberg.table.scan(row_filter=GreaterThan("row", 3)), iceberg.table.scan(limit=9)):
        with pytest.raises(paribus.errors.SourceError, match="a filter or a limit"):
            effects(scan)
    chosen = iceberg.table.scan(selected_fields=("a", "b", "c", "w"))
    assert set(source_of(chosen, "raise").schema.names) == {"a", "b", "c", "w"}
    static = StaticTable.from_metadata(iceberg.table.metadata_location)
    all_same(effects(chosen), effects(static))


def test_path_of_a_table_names_the_object_to_pass(lake, tmp_path):
    lake.append(arrow(rows()))
    lake.delete(300)
    path = lake.path if isinstance(lake, Delta) else lake.table.location().removeprefix("file://")
    way = r"deltalake\.DeltaTable\(path\)" if isinstance(lake, Delta) else r"catalog\.load_table\(name\)"
    with pytest.raises(paribus.errors.SourceError, match=rf"; pass .*{way}$"):
        effects(path)


@pytest.mark.nightly
def test_packages_of_formats_are_not_imported_for_other_tables(tmp_path):
    written = tmp_path / "x.parquet"
    pq.write_table(arrow(rows()), written)
    code = (
        "import sys, paribus\n"
        f"paribus.effects(lambda t: t['b'].to_numpy(), {str(written)!r}, ['b'], progress=False)\n"
        "assert not {'deltalake', 'pyiceberg'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
