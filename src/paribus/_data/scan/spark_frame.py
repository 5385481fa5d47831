"""Spark data frames as out-of-core rows: the files of a plain read, or partitions that workers compute."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import unquote, urlsplit

from paribus._data.scan.parquet import ParquetFiles, parquet_files
from paribus._data.scan.reading import Partitions
from paribus._data.scan.source import fits, normal_schema, selected_schema, shown_library
from paribus._data.scan.streams import HEAD_ROWS

if TYPE_CHECKING:
    import pyarrow as pa

SQL = "org.apache.spark.sql."
PLAIN_READ = (  # classes of the plan, relation, listing and format of `spark.read.parquet(path)`
    f"{SQL}execution.datasources.LogicalRelation",
    f"{SQL}execution.datasources.HadoopFsRelation",
    f"{SQL}execution.datasources.InMemoryFileIndex",
    f"{SQL}execution.datasources.parquet.ParquetFileFormat",
)


@dataclass(frozen=True, eq=False)
class SparkPartitions(Partitions):
    """The partitions of a Spark data frame, which the workers of its session ``client`` compute.

    Their number is unknown before the first pass.
    """

    @classmethod
    def of(cls, X: Any) -> Self:
        """Return the partitions of a frame; no rows are computed."""
        schema = normal_schema(X.limit(0).toArrow().schema)
        return cls(X, schema, shown_library(), client=X.sparkSession)

    @property
    def label(self) -> str:
        """Description of the source."""
        return "a Spark data frame"

    @property
    def n_partitions(self) -> int:
        """One, because the number of partitions is unknown."""
        return 1

    def project(self, columns: tuple[str, ...], on_error: str) -> Self:
        """Return the frame with some columns only, numbered because `mapInArrow` refuses dots in names."""
        quoted = ("`{}`".format(name.replace("`", "``")) for name in columns)
        frame = self.frame.selectExpr([f"{name} AS c{number}" for number, name in enumerate(quoted)])
        return replace(self, frame=frame, schema=selected_schema(self.schema, columns), heads={})

    def table(self, computed: pa.Table, number: int, columns: tuple[str, ...]) -> pa.Table:
        """Return a computed partition, or rows of the frame, with the names and types of the schema."""
        return super().table(computed.rename_columns(self.schema.names), number, columns)

    @property
    def tasks(self) -> list[Any]:
        """The frame itself, whose partitions an executor computes."""
        return [self.frame]

    def computed(self, first: int, stop: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield the number and rows of each partition, one at a time."""
        import pyarrow as pa

        sent = self.frame.mapInArrow(_sent_partition, "number long, rows binary")
        for number, rows in sent.toLocalIterator():
            yield number, pa.ipc.open_stream(bytes(rows)).read_all()

    def head(self, columns: tuple[str, ...]) -> pa.Table:
        """Return the first rows."""
        if columns not in self.heads:
            rows = self.frame.limit(HEAD_ROWS).toArrow()
            self.heads[columns] = self.table(rows, 0, columns)
        return self.heads[columns]


def spark_source(X: Any, on_error: str) -> ParquetFiles | SparkPartitions:
    """Return the files of a plain read of Parquet, which have row numbers, else the partitions of a frame."""
    found = SparkPartitions.of(X)
    paths = _files_of_plain_read(X)
    if not paths:
        return found
    files = parquet_files(paths, on_error)
    same = files.schema.names == found.schema.names
    return files if same and all(map(_read_alike, files.schema, found.schema)) else found


def _files_of_plain_read(X: Any) -> list[str]:
    """Return the local files of a frame that is `spark.read.parquet` without options; none if it is not.

    Formats that derive from Parquet have other classes: Delta Lake, for example, also deletes single rows.
    """
    if ".connect." in type(X).__module__:  # Spark Connect does not show the plan
        return []
    plan = X._jdf.queryExecution().analyzed()
    found = [plan]
    if _class_name(plan) == PLAIN_READ[0]:
        found.append(plan.relation())
        if _class_name(found[1]) == PLAIN_READ[1]:
            found += [found[1].location(), found[1].fileFormat()]
    if tuple(map(_class_name, found)) != PLAIN_READ:
        return []
    if found[1].partitionSchema().length() or found[1].options().keys().mkString(" ") not in ("", "path"):
        return []
    addresses = [urlsplit(address) for address in X.inputFiles()]
    local = all(one.scheme == "file" and not one.netloc for one in addresses)
    return sorted(unquote(one.path) for one in addresses) if local else []


def _class_name(thing: Any) -> str:
    """Return the name of the class of a Java object."""
    return str(thing.getClass().getName())


def _read_alike(here: Any, there: Any) -> bool:
    """Return whether Arrow and Spark read a column of a file alike; they may shift dates of old calendars."""
    import pyarrow as pa

    return fits(here.type, there.type) and not pa.types.is_temporal(there.type)


def _sent_partition(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the number and the rows of a partition in one row, on a worker."""
    import pyarrow as pa
    from pyspark import TaskContext

    held = list(batches)
    if not held:
        return
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, held[0].schema) as stream:
        for batch in held:
            stream.write_batch(batch)
    number = TaskContext.get().partitionId()
    yield pa.record_batch({"number": [number], "rows": [sink.getvalue().to_pybytes()]})
