"""Tables of Delta Lake and Iceberg: their live Parquet files, with the rows and columns that count.

Files are read in the order of their paths, because the log of a table may list them in another order after
maintenance. Sampled rows depend on the order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import numpy as np

from paribus._data.scan.parquet import File, ParquetFiles, files_of
from paribus._data.scan.source import normal_schema
from paribus.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa

# Reader features that change neither the names nor the rows of files, and those that are applied here.
DELTA_FEATURES = {
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
}
FIELD_ID = b"PARQUET:field_id"


def from_delta(X: Any, on_error: str) -> ParquetFiles:
    """Return the live files of a `deltalake.DeltaTable` at its version.

    Columns that older files lack are null, and those of partitions have the value in the log. Rows in
    deletion vectors are left out.
    """
    import pyarrow as pa

    _check_delta_features(X)
    filesystem, root = _delta_filesystem(X)
    actions = pa.table(X.get_add_actions()).to_pydict()
    values = actions.get("partition") or [{}] * len(actions["path"])
    paths = [root + unquote(path) for path in actions["path"]]
    partitions = dict(zip(paths, values, strict=True))
    schema = normal_schema(pa.schema(X.schema()))
    deleted = _deletion_vectors(X, root)
    if not deleted.keys() <= partitions.keys():
        raise SourceError(
            f"X is a Delta Lake table with a deletion vector of {min(deleted.keys() - partitions.keys())}, "
            "which is not one of its files; write its rows to Parquet and pass the folder"
        )

    def described(file: File) -> File:
        values = partitions[file.path]
        names = {name: name for name in schema.names if name in file.schema.names and name not in values}
        live = _table_file(file, schema, names, values.get)
        return live.without_rows(deleted[file.path]) if file.path in deleted else live

    return _live_files(f"Delta version {X.version()}", filesystem, paths, on_error, described)


def _check_delta_features(X: Any) -> None:
    """Raise `SourceError` for a table whose files cannot be read by column name."""
    features = set(X.protocol().reader_features or ()) - DELTA_FEATURES
    if X.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        features.add("columnMapping")
    else:
        features.discard("columnMapping")  # enabled and not used
    if features:
        raise SourceError(
            f"X is a Delta Lake table with the unsupported feature {min(features)}; write its rows to "
            "Parquet and pass the folder"
        )


def _delta_filesystem(X: Any) -> tuple[Any, str]:
    """Return the filesystem of a table, and the text before the paths in its log."""
    from pyarrow import fs

    address = urlsplit(X.table_uri)
    if address.scheme in ("", "file"):
        return fs.LocalFileSystem(), unquote(address.path).rstrip("/") + "/"
    from deltalake.fs import DeltaStorageHandler

    # The options have the credentials of the table, and no public attribute has them.
    return fs.PyFileSystem(DeltaStorageHandler(X.table_uri, X._storage_options)), ""


def _deletion_vectors(X: Any, root: str) -> dict[str, Any]:
    """Return the numbers of deleted rows by path, for files that have any."""
    if "deletionVectors" not in (X.protocol().reader_features or ()):
        return {}
    import pyarrow as pa

    base, found = X.table_uri.rstrip("/") + "/", {}
    for batch in pa.RecordBatchReader.from_stream(X.deletion_vectors()):
        for address, kept in zip(batch.column(0).to_pylist(), batch.column(1), strict=True):
            path = root + unquote(address.removeprefix(base))
            found[path] = np.flatnonzero(~np.asarray(kept.values.to_numpy(zero_copy_only=False)))
    return found


def from_iceberg(X: Any, on_error: str) -> ParquetFiles:
    """Return the live files of a `pyiceberg` table, or of a scan of a snapshot of it.

    Columns are found by their ids, so that renamed columns keep their values. Columns that older files lack
    have the value of their partition, their default, or null. Rows in position deletes are left out.
    """
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.io.pyarrow import PyArrowFileIO

    scan = X if hasattr(X, "plan_files") else X.scan()
    if scan.row_filter != AlwaysTrue() or scan.limit is not None:
        raise SourceError(
            "X is a scan of an Iceberg table with a filter or a limit, so that its rows are unknown before "
            "reading; pass lambda: scan.to_arrow_batch_reader(), or the rows in memory"
        )
    storage = PyArrowFileIO(scan.io.properties)
    fields, schema = scan.projection().fields, normal_schema(scan.projection().as_arrow())
    mapping, specs = scan.table_metadata.name_mapping(), scan.table_metadata.specs()
    tasks, places = {}, set()
    for task in scan.plan_files():
        _check_iceberg_files(task)
        *place, path = storage.parse_location(task.file.file_path)
        tasks[path] = task
        places.add(tuple(place))
    if len(places) > 1:
        raise SourceError(
            "X is an Iceberg table with files on several filesystems; pass lambda: "
            "table.scan().to_arrow_batch_reader()"
        )
    filesystem = storage.fs_by_scheme(*places.pop()) if places else None

    def described(file: File) -> File:
        own, task = _field_names(file, mapping), tasks[file.path]
        names = {field.name: own[field.field_id] for field in fields if field.field_id in own}
        constants = {field.name: field.initial_default for field in fields}
        identity = _identity_values(task.file, specs[task.file.spec_id])
        constants |= {field.name: identity[field.field_id] for field in fields if field.field_id in identity}
        live = _table_file(file, schema, names, constants.get)
        deleted = _position_deletes(task, storage)
        return live if deleted is None else live.without_rows(deleted)

    snapshot = scan.snapshot()
    version = "Iceberg" if snapshot is None else f"Iceberg snapshot {snapshot.snapshot_id}"
    return _live_files(version, filesystem, list(tasks), on_error, described)


def _check_iceberg_files(task: Any) -> None:
    """Raise `SourceError` for data or deletes in a format that is not read."""
    if task.file.file_format.name != "PARQUET":
        raise SourceError(
            f"{task.file.file_path} of X is a file of {task.file.file_format.name}, and only Parquet files "
            "of an Iceberg table are read; pass lambda: table.scan().to_arrow_batch_reader()"
        )
    for one in task.delete_files:
        if one.content.name != "POSITION_DELETES" or one.file_format.name != "PARQUET":
            raise SourceError(
                f"{one.file_path} of X has {one.content.name.lower().replace('_', ' ')} as "
                f"{one.file_format.name}, which are unsupported; rewrite the data files of the Iceberg table "
                "without deletes, or pass lambda: table.scan().to_arrow_batch_reader()"
            )


def _field_names(file: File, mapping: Any) -> dict[int, str]:
    """Return the name of each column of a file by its id, which is in the file or in the table's mapping."""
    ids = {int(one.metadata[FIELD_ID]): one.name for one in file.schema if FIELD_ID in (one.metadata or {})}
    if ids:
        return ids
    if mapping is None:
        raise SourceError(
            f"{file.path} has no ids of columns, and the Iceberg table has no mapping of names; set its "
            "property schema.name-mapping.default"
        )
    known = {name: one.field_id for one in mapping.root for name in one.names if one.field_id is not None}
    return {known[name]: name for name in file.schema.names if name in known}


def _identity_values(file: Any, spec: Any) -> dict[int, Any]:
    """Return the values of the columns that a file is partitioned by, by the ids of the columns."""
    return {
        field.source_id: file.partition[position]
        for position, field in enumerate(spec.fields)
        if str(field.transform) == "identity"
    }


def _position_deletes(task: Any, storage: Any) -> Any:
    """Return the sorted numbers of the rows of a file that delete files name, None without such files."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    parts = []
    for one in task.delete_files:
        with storage.new_input(one.file_path).open() as handle:
            table = pq.read_table(handle, columns=["file_path", "pos"])
        here = pc.equal(table.column("file_path").cast(pa.string()), task.file.file_path)
        parts.append(table.filter(here).column("pos").to_numpy())
    return np.unique(np.concatenate(parts)) if parts else None


def _table_file(
    file: File, schema: pa.Schema, names: Mapping[str, str], constant: Callable[[str], Any]
) -> File:
    """Return a file with the columns of its table; those without a name in the file are constant."""
    others = ((name, constant(name)) for name in schema.names if name not in names)
    keys = ((name, float(value) if isinstance(value, Decimal) else value) for name, value in others)
    return replace(file, schema=schema, names=names, keys=tuple(keys))


def _live_files(
    table: str, filesystem: Any, paths: list[str], on_error: str, described: Callable[[File], File]
) -> ParquetFiles:
    if not paths:
        raise SourceError(f"X is an empty table ({table}); at least one row is needed")
    return replace(files_of(filesystem, sorted(paths), on_error, described), table=table)
