"""From what the user passed as X to rows in memory, or to how rows are read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from paribus._api.alignment import Alignment, aligned, aligned_reading
from paribus._api.data import TARGET_NAMES, ExplainerData, InMemoryData, OutOfCoreData
from paribus._api.runner import Runner
from paribus._data.features import Header
from paribus._data.read import source_of, table_of
from paribus._data.rows import rows_of
from paribus._typing import OnError
from paribus.errors import InputError, OptionError, WeightError, check_choice, did_you_mean

if TYPE_CHECKING:
    from paribus._data.scan.reading import TableReader


def open_data(
    estimator: Any, X: Any, sample_weight: Any, names: Any, on_error: str, runner: Runner, y: Any = None
) -> ExplainerData:
    """Return rows in memory with their weights, or how rows are read, with the target ``y``."""
    check_choice("on_error", on_error, OnError)
    source = source_of(X, on_error)
    if source is not None:
        return OutOfCoreData(_reading(estimator, source, sample_weight, names, on_error, runner, y), on_error)
    if runner.checkpoint is not None:
        raise OptionError(
            "checkpoint= requires an out-of-core X (files, queries, streams); X is an in-memory table"
        )
    if isinstance(sample_weight, str):
        raise WeightError(
            f"sample_weight={sample_weight!r} names a column, which needs an out-of-core X; pass the weights"
        )
    table, header = aligned(estimator, table_of(X, names), named=names is not None)
    rows = replace(rows_of(table, sample_weight), aligned=header)
    return InMemoryData(rows, named=names is not None or table.backend != "numpy")


def _reading(
    estimator: Any, source: Any, sample_weight: Any, names: Any, on_error: str, runner: Runner, y: Any
) -> TableReader:
    """Choose the columns to read: those the model was fitted on, or all, that of the weights, the target."""
    from paribus._data.categories import content_of
    from paribus._data.scan.partitions import Partitions
    from paribus._data.scan.reading import TableReader
    from paribus._data.table import checked_names

    if sample_weight is not None and not isinstance(sample_weight, str):
        raise WeightError("X is out of core, so sample_weight must be the name of a column")
    every = tuple(source.schema.names)
    checked_names(every, len(every), "the header of X")
    if sample_weight is not None and sample_weight not in every:
        raise WeightError(
            f"sample_weight={sample_weight!r} is not a column of X{did_you_mean(sample_weight, every)}"
        )
    target = _target(y, every)
    apart = {sample_weight, *target}
    alignment = Alignment.of(
        estimator, every, lambda position: content_of(source.schema.field(position).type), apart
    )
    columns = tuple(every[position] for position in alignment.places)
    given = _reported(names, every, apart)
    shown = tuple(given[position] for position in alignment.places)
    unused = tuple(given[every.index(name)] for name in alignment.unused)
    if isinstance(source, Partitions):
        runner.join_cluster()  # the one that would compute the frame
        source = replace(source, client=runner.client)
    if runner.checkpoint is not None and not source.shippable:
        raise OptionError(
            f"checkpoint= needs a source with random access; X is {source.label}. Write it to "
            "Parquet and pass the folder, or omit checkpoint"
        )
    reading = TableReader(source, columns, shown, sample_weight, target=target)
    reading = replace(
        reading, source=source.project(reading.read, on_error), aligned=Header(shown, given, unused)
    )
    return aligned_reading(estimator, reading, alignment)


def _target(y: Any, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that hold what came out: none, one, or one for each output."""
    if y is None:
        return ()
    names = (y,) if isinstance(y, str) else y
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
        raise InputError(TARGET_NAMES)
    for name in names:
        if name not in every:
            raise InputError(f"y={name!r} is not a column of X{did_you_mean(name, every)}")
    return tuple(names)


def _reported(names: Any, every: tuple[str, ...], apart: Collection[Any]) -> tuple[str, ...]:
    """Return the columns of X as results call them; ``names`` may leave out those of weights and target."""
    from paribus._data.table import checked_names

    if names is None:
        return every
    own = [name for name in every if name not in apart]
    if hasattr(names, "__len__") and len(names) == len(own) < len(every):
        renamed = dict(zip(own, checked_names(names, len(own)), strict=True))
        names = [renamed.get(name, name) for name in every]
    return checked_names(names, len(every))
