"""From what the user passed as X to rows in memory, or to how rows are read."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._api.alignment import Alignment, aligned, aligned_reading
from paribus._api.data import TARGET_NAMES, ExplainerData, InMemoryData, OutOfCoreData
from paribus._api.runner import Runner
from paribus._contracts import Array
from paribus._data.features import Header
from paribus._data.read import source_of, table_of
from paribus._data.rows import rows_of
from paribus._typing import OnError
from paribus.errors import InputError, OptionError, TableError, WeightError, check_choice, did_you_mean

if TYPE_CHECKING:
    from paribus._data.scan.reading import TableReader


def open_data(
    estimator: Any, X: Any, sample_weight: Any, names: Any, on_error: str, runner: Runner, y: Any = None
) -> tuple[ExplainerData, Any]:
    """Return rows in memory with their weights, or how rows are read; and the target ``y``.

    The target of rows in memory is its values in the order of the rows, also where ``y`` names columns.
    """
    check_choice("on_error", on_error, OnError)
    source = source_of(X, on_error)
    if source is not None:
        columns = y if _names_columns(y) else None  # values are refused by the statistic that needs them
        reading = _reading(estimator, source, sample_weight, names, on_error, runner, columns)
        return OutOfCoreData(reading, on_error), y
    if runner.checkpoint is not None:
        raise OptionError(
            "checkpoint= requires an out-of-core X (files, queries, streams); X is an in-memory table"
        )
    whole: Any = table_of(X, names)
    every = whole.names if whole.backend == "numpy" else tuple(map(str, whole.frame.columns))
    target, weight = _target_in_memory(y, every), _column("sample_weight", sample_weight, every)
    table, header = aligned(estimator, whole, named=names is not None, apart={*target, *weight})
    if not table.names:
        raise TableError("X has no column besides those of y and sample_weight; pass the features as well")
    weights = _values(whole, every, weight) if weight else by_label("sample_weight", sample_weight, X)
    rows = replace(rows_of(table, weights), aligned=header, given=whole)
    data = InMemoryData(rows, named=names is not None or table.backend != "numpy")
    return data, _values(whole, every, target) if target else by_label("y", y, X)


def _names_columns(y: Any) -> bool:
    """Return whether y may name columns instead of holding values."""
    return y is None or isinstance(y, str) or (_is_sequence(y) and all(isinstance(one, str) for one in y))


def _is_sequence(y: Any) -> bool:
    return isinstance(y, (list, tuple))


def _target_in_memory(y: Any, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that hold the target; a list of text that are not all columns is labels."""
    if _is_sequence(y):
        named = bool(y) and all(isinstance(one, str) and one in every for one in y)
        return tuple(y) if named and len(set(y)) == len(y) else ()
    return _column("y", y, every)


def _column(argument: str, given: Any, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the column of X that an argument names, none where it holds values."""
    if not isinstance(given, str):
        return ()
    if given not in every:
        error = WeightError if argument == "sample_weight" else InputError
        raise error(f"{argument}={given!r} is not a column of X{did_you_mean(given, every)}")
    return (given,)


def _values(table: Any, every: tuple[str, ...], names: tuple[str, ...]) -> Array:
    """Return columns of a table in memory as an array ``(n,)``, or ``(n, o)`` of several."""
    places = [every.index(name) for name in names]
    if table.backend == "numpy":
        columns = [table.native[:, place] for place in places]
    else:
        columns = [np.asarray(table.frame[:, place].to_numpy()) for place in places]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def by_label(argument: str, values: Any, X: Any) -> Any:
    """Return a target or weights in the order of the rows of X: by label where both are of pandas.

    An index that equals that of X is taken by position; one with the same labels in another order is
    rearranged, and any other is refused. What has no index is taken by position.
    """
    if not (hasattr(X, "loc") and hasattr(values, "loc")) or len(X) != len(values):
        return values  # a wrong length is refused with the shape
    own, other = X.index, values.index
    if own.equals(other):
        return values
    error = WeightError if argument == "sample_weight" else InputError
    way_out = f"; pass {argument}.to_numpy() if its rows are in the order of those of X"
    if not (own.is_unique and other.is_unique):
        raise error(f"the index of {argument} differs from that of X, and a label occurs twice{way_out}")
    places = other.get_indexer(own)
    if (places < 0).any():
        label = own[int(np.flatnonzero(places < 0)[0])]
        raise error(f"the index of {argument} has no label {label}, which that of X has{way_out}")
    return values.iloc[places]


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
    target = _target(y, every)
    apart = {*_column("sample_weight", sample_weight, every), *target}
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
    names = (y,) if isinstance(y, str) else tuple(y)
    if not names:
        raise InputError(TARGET_NAMES)
    return tuple(column for name in names for column in _column("y", name, every))


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
