"""Out-of-core background data, and the source for each type of X."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import xxhash

from paribus._data.features import Header
from paribus._data.rows import ONE_PART, Parts, Rows
from paribus._data.samples import PrioritySample, Sample, UnitRows, sample_of
from paribus._data.scan.listing import is_path
from paribus._data.scan.model_table import ModelTable
from paribus._data.scan.parquet import ParquetFiles, files_of, folder_columns, parquet_files, without_index
from paribus._data.scan.reading import PartitionBlocks, Partitions, ReadBlocks, TableReader
from paribus._data.scan.streams import (
    Stream,
    from_dataset,
    from_duckdb,
    from_factory,
    from_lazy_frame,
)
from paribus._data.scan.table_formats import from_delta, from_iceberg
from paribus.errors import TableError


@dataclass(frozen=True, eq=False)
class ScannedRows:
    """Out-of-core background data. ``table`` has a few rows, which give names and dtypes.

    ``total`` and ``squares`` are the sums of the weights and of their squares, divided by ``weight_scale``
    and its square. ``heavy`` has the rows of highest priority by weight for each seed, None without weights.
    ``units`` has the sampled units of dependent rows for each seed, None if rows are independent. ``some``
    has the sampled rows that define bins. ``column_digests`` are those of the columns, then of the weights,
    then of the target.
    """

    reading: TableReader
    table: ModelTable
    n_rows: int
    n_weighted: int
    total: float
    squares: float
    heavy: Mapping[int, PrioritySample] | None
    units: Mapping[int, UnitRows] | None
    some: ModelTable
    column_digests: tuple[str, ...]
    in_memory: ClassVar[bool] = False

    def __len__(self) -> int:
        return self.n_rows

    @property
    def header(self) -> Header:
        """Names of the columns of X, and of those that the model gets."""
        return self.reading.header

    @property
    def source_label(self) -> str:
        """Description of the source of the rows."""
        return self.reading.source.label

    @property
    def skipped(self) -> tuple[str, ...]:
        """Descriptions of skipped files, each with its reason."""
        return self.reading.source.skipped

    @property
    def stamp(self) -> str | None:
        """A digest of the source that does not need decoded rows; None if there is none."""
        return self.reading.source.stamp

    @property
    def n_targets(self) -> int:
        """Number of target columns, 0 without a target."""
        return len(self.reading.target)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.heavy is not None

    @property
    def weight_scale(self) -> float:
        """The power of two by which weights are divided."""
        return self.reading.weight_scale

    def blocks(self, size: int, parts: Parts = ONE_PART) -> ReadBlocks | PartitionBlocks:
        """Return blocks of ``size`` rows, each once per part of the grids."""
        return self.reading.blocks(size, parts, self.n_rows)

    def sample(self, size: int, seed: int) -> Sample:
        """Sample rows for a sum of squares: all with positive weight, or ``size`` if there are more."""
        if self.units is not None:
            return self.units[seed].sample(size, 1.0, weighted=self.weighted)
        if self.heavy is None:
            return sample_of(self.n_rows, size, seed)
        heavy = self.heavy[seed]
        return heavy.sample(min(size, heavy.most - 1), 1.0)

    def head_sample(self, seed: int) -> ModelTable:
        """Return the rows that the first pass sampled by their numbers, which define the bins of columns."""
        return self.some

    def weight_facts(self) -> dict[str, float] | None:
        """Return the sum of the weights, the number of rows of weight zero, and the effective sample size."""
        if self.heavy is None:
            return None
        return {
            "sum": self.total * self.weight_scale,
            "zero_rows": float(self.n_rows - self.n_weighted),
            "effective_rows": self.total**2 / self.squares,
        }

    def fingerprint(self, *, target: bool = True) -> str:
        """Return a digest of the values, weights and, if ``target``, the target that were read."""
        dtypes = tuple(map(self.table.dtype, range(len(self.table.names))))
        used = self.column_digests if target else self.column_digests[: len(dtypes) + self.weighted]
        return xxhash.xxh3_128_hexdigest(repr((self.table.names, dtypes, len(self), used)).encode())

    def digests(self) -> tuple[dict[str, str], str | None]:
        """Return a digest of each column of the model, by name, and of the weights or None."""
        names, found = self.table.names, self.column_digests
        return dict(zip(names, found, strict=False)), found[len(names)] if self.weighted else None


Background: TypeAlias = Rows | ScannedRows  # in memory, or read in each pass
NOWHERE = "\0"  # a base folder that contains no file, so that folder names are not read as keys


def source_of(X: Any, on_error: str) -> ParquetFiles | Stream | Partitions | None:
    """Return a source to read X from, or None if X is in memory.

    Libraries are recognized by the module of X's class, so that none is imported here.
    """
    if isinstance(X, ParquetFiles):  # already opened by the command line
        return X
    if is_path(X):
        return parquet_files(X, on_error)
    library, kind = type(X).__module__.partition(".")[0], type(X).__name__
    if library == "pyarrow" and hasattr(X, "to_batches") and hasattr(X, "get_fragments"):
        return (_files_of_dataset(X, on_error) if kind == "FileSystemDataset" else None) or from_dataset(X)
    if library == "deltalake" and hasattr(X, "get_add_actions"):
        return from_delta(X, on_error)
    if library == "pyiceberg" and (hasattr(X, "plan_files") or hasattr(X, "scan")):
        return from_iceberg(X, on_error)
    if library == "polars" and kind == "LazyFrame":
        return from_lazy_frame(X)
    if library in ("duckdb", "_duckdb") and hasattr(X, "project"):
        return from_duckdb(X)
    if library == "pyspark" and hasattr(X, "mapInArrow"):  # before Dask: frames of Connect have any attribute
        from paribus._data.scan.spark_frame import spark_source

        return spark_source(X, on_error)
    if all(hasattr(X, name) for name in ("to_delayed", "npartitions", "map_partitions")):  # Dask
        return Partitions.of(X)
    if hasattr(X, "__next__"):
        raise TableError(
            f"X is a {type(X).__name__}, which can be read once; pass the function that creates it, so that "
            f"it can be restarted for each pass"
        )
    is_table = any(hasattr(X, attribute) for attribute in ("columns", "shape", "__array__", "column_names"))
    return from_factory(X) if callable(X) and not is_table else None


def _files_of_dataset(X: Any, on_error: str) -> ParquetFiles | None:
    """Return the files of an unfiltered Parquet dataset whose schema they all have, else None."""
    from pyarrow.types import is_integer

    if X.format.default_extname != "parquet" or getattr(X, "_scan_options", None):
        return None
    keys = _partition_keys(X)
    if keys and type(X.partitioning).__name__ != "HivePartitioning":
        return None
    described = folder_columns("" if keys else NOWHERE, keys)
    files = files_of(X.filesystem, list(X.files), on_error, described)
    wanted = without_index(X.schema)
    own = ({field.name: field.type for field in schema} for schema in {file.schema for file in files.files})
    plain = {field.name: field.type for field in wanted if field.name not in keys}
    types = [(files.schema.field(key).type, wanted.field(key).type) for key in keys]
    typed = all(one == two or (is_integer(one) and is_integer(two)) for one, two in types)
    return files if typed and all(plain == found for found in own) else None


def _partition_keys(X: Any) -> set[str]:
    """Return the columns whose values a dataset reads from folder names."""
    from pyarrow.dataset import get_partition_keys

    first = next(iter(X.get_fragments()), None)
    return set() if first is None else set(get_partition_keys(first.partition_expression))
