"""Dask data frames: partitions that some cluster holds, or that are read one by one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from paribus._data.scan.source import conformed, normal_type
from paribus._data.scan.streams import as_arrow, between
from paribus._text import count

if TYPE_CHECKING:
    import pyarrow as pa


def is_dask_frame(X: Any) -> bool:
    """Return whether X is a Dask data frame, by its interface."""
    return hasattr(X, "to_delayed") and hasattr(X, "npartitions") and hasattr(X, "map_partitions")


@dataclass(frozen=True, eq=False)
class Partitions:
    """The partitions of a Dask data frame, in order.

    With the ``client`` of a cluster they are computed there; without one, each here when it is read.
    """

    frame: Any
    schema: pa.Schema
    library: str = "pandas"
    skipped: tuple[str, ...] = ()
    client: Any = None
    heads: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Any) -> Self:
        """Read the columns off what the frame says of itself; text becomes text, whatever pandas calls it."""
        import pyarrow as pa

        first = as_arrow(_first(X, 64, None), 0)
        return cls(X, pa.schema([pa.field(one.name, normal_type(one.type)) for one in first.schema]))

    @property
    def cluster(self) -> bool:
        """Whether a cluster computes them."""
        return self.client is not None

    @property
    def label(self) -> str:
        """Number of partitions."""
        return f"{count(self.frame.npartitions, 'partition')} of a Dask data frame"

    @property
    def rows(self) -> int | None:
        """None: it takes computing to know."""
        return None

    @property
    def stamp(self) -> str | None:
        """None: it takes computing to know."""
        return None

    @property
    def shippable(self) -> bool:
        """Its partitions are where they are."""
        return False

    def project(self, columns: tuple[str, ...], on_error: str) -> Self:
        """Return the frame with some columns only, so that no others are computed."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        return replace(self, frame=self.frame[list(columns)], schema=schema)

    @cached_property
    def tasks(self) -> list[Any]:
        """Those that compute the partitions."""
        return list(self.frame.to_delayed())

    @property
    def unit_rows(self) -> int:
        """Nobody knows the rows of a partition before it is computed."""
        return 0

    def part(self, first: int, stop: int) -> Self:
        """Return itself: rows are not numbered before they are computed."""
        return self

    def batches(self, columns: tuple[str, ...], first: int, stop: int | None) -> Iterator[pa.Table]:
        """Yield the rows from ``first`` to ``stop``, computing one partition at a time, here."""
        numbers = range(self.frame.npartitions)
        return between((self.table(self.computed(n), n, columns) for n in numbers), first, stop)

    def computed(self, number: int) -> Any:
        """Compute a partition, and have it here."""
        return _computed(self.frame.get_partition(number), self.client)

    def table(self, computed: Any, number: int, columns: tuple[str, ...]) -> pa.Table:
        """Return a computed partition as Arrow, its columns in the types of all."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in columns])
        if not len(computed):  # whose types need not mean anything
            return schema.empty_table()
        return conformed(as_arrow(computed, number), schema, f"partition {number} of X")

    def head(self, columns: tuple[str, ...]) -> pa.Table:
        """Return the first rows of the first partition."""
        if columns not in self.heads:
            self.heads[columns] = self.table(_first(self.frame, 2_048, self.client), 0, columns)
        return self.heads[columns]


def _computed(lazy: Any, client: Any) -> Any:
    """Compute on a cluster, or in this process; ``compute`` itself would look for a cluster."""
    return lazy.compute(scheduler="synchronous") if client is None else client.compute(lazy).result()


def _first(frame: Any, rows: int, client: Any) -> Any:
    """Return rows of the first partition that has any."""
    result = None
    for number in range(frame.npartitions):
        some = frame.get_partition(number).head(rows, npartitions=1, compute=False)
        result = some.compute() if client is None else _computed(some, client)
        if len(result):
            break
    return result
