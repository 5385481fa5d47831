"""Whom a call averages over: rows in memory, or rows that are read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Union

import numpy as np

from paribus import budget
from paribus.api.alignment import Alignment, aligned, aligned_reading
from paribus.api.running import Running, digest
from paribus.data.features import Header
from paribus.data.read import source_of, table_of
from paribus.data.rows import Rows, rows_of
from paribus.data.summary import Summary
from paribus.data.table import Table
from paribus.errors import (
    FeatureError,
    InputError,
    OptionError,
    SourceError,
    TableError,
    WeightError,
    did_you_mean,
    one_of,
)
from paribus.models import Model, structure_digest

if TYPE_CHECKING:
    from paribus.data.scan.reading import Reading
    from paribus.data.scan.scanned import Scanned
    from paribus.data.scan.shown import ShownTable
    from paribus.evaluators.survey import Wanted

Background: TypeAlias = Union[Rows, "Scanned"]
M = TypeVar("M", bound=Model | tuple[Model, ...] | None)
ON_ERROR = ("raise", "skip")


def opened(
    estimator: Any, X: Any, sample_weight: Any, names: Any, on_error: str, running: Running, y: Any = None
) -> Rows | Reading:
    """Return rows in memory with their weights and target, or how rows are read."""
    one_of("on_error", on_error, ON_ERROR)
    source = source_of(X, on_error)
    if source is not None:
        return _reading(estimator, source, sample_weight, names, on_error, running, y)
    if running.checkpoint is not None:
        raise OptionError("checkpoint= is for rows that are read; X is in memory. Leave it out")
    if isinstance(sample_weight, str):
        raise WeightError(
            f"sample_weight={sample_weight!r} names a column, as it may where X is read; pass the weights"
        )
    rows = _in_memory(estimator, X, sample_weight, names)
    return rows if y is None else _with_target(rows, y)


def _in_memory(estimator: Any, X: Any, sample_weight: Any, names: Any) -> Rows:
    table, header = aligned(estimator, table_of(X, names), named=names is not None)
    return replace(rows_of(table, sample_weight), aligned=header)


def _with_target(rows: Rows, y: Any) -> Rows:
    """Return the rows with what came out; what stands in a row of weight zero has no meaning."""
    from paribus.models.scoring import target_of

    if isinstance(y, str):
        raise InputError(f"y={y!r} names a column, as it may where X is read; pass the values")
    found = target_of(y, rows)
    if len(found) == len(rows):
        return replace(rows, target=found)
    target = np.zeros((len(rows), *found.shape[1:]), found.dtype)
    target[rows.chosen(None, 0)] = found
    return replace(rows, target=target)


def has_names(rows: Rows | Reading, names: Any) -> bool:
    """Tell whether columns have names of their own, by which results then call them."""
    return names is not None or not isinstance(rows, Rows) or rows.table.backend != "numpy"


def held(estimator: Any, X: Any, sample_weight: Any, names: Any, why: str) -> Rows:
    """Return rows in memory, or say why they must be."""
    if source_of(X, "raise") is not None:
        raise TableError(f"{why} needs X in memory; pass a table, such as a sample of the rows")
    return _in_memory(estimator, X, sample_weight, names)


def _reading(
    estimator: Any, source: Any, sample_weight: Any, names: Any, on_error: str, running: Running, y: Any
) -> Reading:
    """Choose the columns to read: those the model was fitted on, or all, that of the weights, the target."""
    from paribus.data.categories import content_of
    from paribus.data.scan.partitions import Partitions
    from paribus.data.scan.reading import Reading
    from paribus.data.table import checked_names

    if sample_weight is not None and not isinstance(sample_weight, str):
        raise WeightError("X is read, so sample_weight must be the name of the column that has the weights")
    every = tuple(source.schema.names)
    checked_names(every, len(every), "the header of X")
    if sample_weight is not None and sample_weight not in every:
        raise WeightError(
            f"sample_weight={sample_weight!r} is no column of X{did_you_mean(sample_weight, every)}"
        )
    target = _target(y, every)
    apart = {sample_weight, *target}
    found = Alignment.of(estimator, every, lambda place: content_of(source.schema.field(place).type), apart)
    columns = tuple(every[place] for place in found.places)
    given = _reported(names, every, apart)
    shown = tuple(given[place] for place in found.places)
    unused = tuple(given[every.index(name)] for name in found.unused)
    if isinstance(source, Partitions):
        running.join_cluster()  # the one that would compute the frame
        source = replace(source, client=running.client)
    if running.checkpoint is not None and not source.shippable:
        raise OptionError(
            f"checkpoint= needs rows that can be read from the middle; X is {source.label}. Write it to "
            "Parquet and pass the folder, or leave checkpoint out"
        )
    reading = Reading(source, columns, shown, sample_weight, target=target)
    reading = replace(
        reading, source=source.project(reading.read, on_error), aligned=Header(shown, given, unused)
    )
    return aligned_reading(estimator, reading, found)


def _target(y: Any, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns that hold what came out: none, one, or one for each output."""
    if y is None:
        return ()
    names = (y,) if isinstance(y, str) else y
    if not isinstance(names, (list, tuple)) or not names or not all(isinstance(name, str) for name in names):
        raise InputError("X is read, so y must be the name of the column that has it, or a list of names")
    for name in names:
        if name not in every:
            raise InputError(f"y={name!r} is no column of X{did_you_mean(name, every)}")
    return tuple(names)


def _reported(names: Any, every: tuple[str, ...], apart: Collection[Any]) -> tuple[str, ...]:
    """Return the columns of X as results call them; ``names`` may leave out those of weights and target."""
    from paribus.data.table import checked_names

    if names is None:
        return every
    own = [name for name in every if name not in apart]
    if hasattr(names, "__len__") and len(names) == len(own) < len(every):
        renamed = dict(zip(own, checked_names(names, len(own)), strict=True))
        names = [renamed.get(name, name) for name in every]
    return checked_names(names, len(every))


@dataclass(frozen=True)
class Looking:
    """How rows that are read are looked at: the seed of draws, threads, and a bound if one was given."""

    seed: int
    threads: int
    memory: int | None
    on_error: str
    running: Running

    @classmethod
    def of(cls, seed: int, n_jobs: Any, max_memory: Any, on_error: str, running: Running) -> Looking:
        """Read the user's words; the free memory, which is never the same, must not change what is found."""
        memory = None if max_memory is None else budget.memory(max_memory)
        return cls(seed, budget.threads(-1 if n_jobs is None else n_jobs), memory, on_error, running)


def looked(
    reading: Reading, adapted: Callable[[Table], M], wanted: Mapping[int, Wanted], looking: Looking
) -> tuple[Scanned, M, Callable[[int], Summary]]:
    """Read the rows once: return them, the model, and what tells of a feature what its axis needs to know."""
    attempt = 0
    while True:
        attempt += 1
        try:
            # A model that fails should do so before rows are read; but it must know all levels.
            head = some_rows(reading)
            model = None if reading.coded else adapted(head)
            scanned, found = _surveyed(reading, head, wanted, looking, attempt)
        except SourceError as error:
            if looking.on_error != "skip":
                raise
            reading = whole_files(reading, error)
            continue
        return scanned, model or adapted(scanned.table), partial(told, found)


def some_rows(reading: Reading) -> ShownTable:
    """Return a few rows, or say that there are none."""
    head = reading.head()
    if not len(head):
        raise TableError(f"X has no rows ({reading.source.label}); at least one is needed")
    return head


def whole_files(reading: Reading, error: SourceError) -> Reading:
    """Leave out the files that cannot be read to their end; if it is not that, raise what went wrong."""
    from paribus.data.scan.parquet import ParquetFiles

    files = reading.source
    wrong = list(files.damaged(reading.read)) if isinstance(files, ParquetFiles) else []
    if not isinstance(files, ParquetFiles) or not wrong:
        raise error
    return replace(reading, source=files.without(wrong))


def told(found: Mapping[int, Summary | FeatureError], feature: int) -> Summary:
    """Return what was found out about a feature, or raise what is wrong with it."""
    one = found[feature]
    if isinstance(one, FeatureError):
        raise one
    return one


def identity_of(rows: Scanned, model: Model | None, *settings: Any) -> dict[str, str]:
    """Return what a kept state is a state of: it is of no use to other data, models or settings."""
    return {
        "data": digest(rows.fingerprint(), rows.reading.source.stamp),
        "model": digest() if model is None else _known_of(model, rows.table),
        "settings": digest(rows.unit, *settings),
    }


def _known_of(model: Model, table: Table) -> str:
    """Return a digest of all that can be known of a model."""
    from paribus.evaluators.brute import naming_what_fails

    with naming_what_fails(model, 0, len(table) - 1):
        answers = model.predict(table.native, len(table))
    return digest(
        model.digest(), structure_digest(model), model.version, answers, *code_of(model.predictor.target)
    )


def code_of(estimator: Any) -> tuple[Any, ...]:
    """Return what a function does, as far as it can be told: two may answer some rows alike."""
    code = getattr(estimator, "__code__", None)
    if code is None:
        return ()
    constants = [constant for constant in code.co_consts if isinstance(constant, (int, float, str, bytes))]
    return code.co_code, code.co_names, constants


def _surveyed(
    reading: Reading, head: ShownTable, wanted: Mapping[int, Wanted], looking: Looking, attempt: int
) -> tuple[Scanned, dict[int, Summary | FeatureError]]:
    from paribus.evaluators.survey import Survey, known_looks, survey_rows

    reading = replace(reading, unit=reading.first_unit())
    survey = Survey.of(reading, wanted, looking.seed, looking.memory, head)
    stamp = reading.source.stamp
    settings = digest(reading.read, reading.weight, reading.target, survey)
    identity = {"data": stamp or "", "settings": settings}
    state = looking.running.fold(
        survey,
        reading.blocks(survey_rows(head.row_bytes, looking.memory)),
        looking.threads,
        doing="survey" if attempt == 1 else f"survey-{attempt}",
        identity=None if stamp is None else identity,
        known=known_looks(),
    )
    return survey.finish(reading, state)
