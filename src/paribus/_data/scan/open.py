"""From whatever a user has that is not in memory to a source."""

from __future__ import annotations

from typing import Any

from paribus._data.scan.listing import is_path
from paribus._data.scan.parquet import ParquetFiles, files_of, parquet_files, without_index
from paribus._data.scan.partitions import Partitions, is_dask_frame
from paribus._data.scan.streams import (
    Stream,
    from_dataset,
    from_duckdb,
    from_factory,
    from_lazy_frame,
    from_reader,
)
from paribus.errors import TableError

NOWHERE = "\0"  # a folder under which no file lies, so that no folder says anything of one


def source_of(X: Any, on_error: str) -> ParquetFiles | Stream | Partitions | None:
    """Return a source to read from, or None when X is in memory.

    Libraries are known by the module of X's class, so that none is imported here.
    """
    if isinstance(X, ParquetFiles):  # opened already, by a command
        return X
    if is_path(X):
        return parquet_files(X, on_error)
    library, kind = type(X).__module__.partition(".")[0], type(X).__name__
    if library == "pyarrow" and kind == "RecordBatchReader":
        return from_reader(X)
    if library == "pyarrow" and hasattr(X, "to_batches") and hasattr(X, "get_fragments"):
        return (_files(X, on_error) if kind == "FileSystemDataset" else None) or from_dataset(X)
    if library == "polars" and kind == "LazyFrame":
        return from_lazy_frame(X)
    if library in ("duckdb", "_duckdb") and hasattr(X, "project"):
        return from_duckdb(X)
    if is_dask_frame(X):
        return Partitions.of(X)
    if hasattr(X, "__next__"):
        raise TableError(
            f"X is a {type(X).__name__}, which can be read once; pass the function that creates it, so that "
            f"it can be restarted for each pass"
        )
    is_table = any(hasattr(X, attribute) for attribute in ("columns", "shape", "__array__", "column_names"))
    return from_factory(X) if callable(X) and not is_table else None


def _files(X: Any, on_error: str) -> ParquetFiles | None:
    """Return the files of a dataset that is no more than them: not filtered, all of its schema."""
    if X.format.default_extname != "parquet" or getattr(X, "_scan_options", None):
        return None
    keys = _keys(X)
    if keys and type(X.partitioning).__name__ != "HivePartitioning":
        return None
    files = files_of(X.filesystem, list(X.files), "" if keys else NOWHERE, on_error, only=keys)
    wanted = without_index(X.schema)
    own = ({field.name: field.type for field in schema} for schema in {file.schema for file in files.files})
    plain = {field.name: field.type for field in wanted if field.name not in keys}
    typed = all(_alike(files.schema.field(key).type, wanted.field(key).type) for key in keys)
    return files if typed and all(plain == found for found in own) else None


def _alike(one: Any, two: Any) -> bool:
    """Return whether types of folder keys are compatible: integers of any width, or text."""
    from pyarrow import types

    return bool(one == two or (types.is_integer(one) and types.is_integer(two)))


def _keys(X: Any) -> set[str]:
    """Return the columns whose values a dataset takes from the names of folders."""
    from pyarrow.dataset import get_partition_keys

    first = next(iter(X.get_fragments()), None)
    return set() if first is None else set(get_partition_keys(first.partition_expression))
