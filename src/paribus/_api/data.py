"""Background data of a call: opened, checked, and read in memory or in passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from paribus._api.alignment import Alignment, aligned, aligned_reading
from paribus._api.runner import Pass, Runner, digest
from paribus._contracts import Array
from paribus._data.features import Header
from paribus._data.read import source_of, table_of
from paribus._data.rows import Background, Rows, rows_of
from paribus._data.summary import Summary, summarize
from paribus._data.table import Table
from paribus._evaluators.survey import (
    SketchSpec,
    SummarySpec,
    Survey,
    SurveyResult,
    exact_rows,
    merged_specs,
    specs_of,
    survey_rows,
    survey_states,
)
from paribus._text import count
from paribus._typing import OnError
from paribus.errors import (
    FeatureError,
    InputError,
    OptionError,
    RefusalError,
    SourceError,
    TableError,
    WeightError,
    check_choice,
    did_you_mean,
)
from paribus.results.provenance import short_source

if TYPE_CHECKING:
    from paribus._data.scan.model_table import ModelTable
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
    from paribus._data.scan.reading import Partitions, TableReader
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


SHOWN_ROWS = 100  # that show the kinds of columns
TARGET_NAMES = "X is out of core, so y must be the name of a column, or a list of names"


@dataclass(frozen=True)
class SurveyRequest:
    """What a run wants to know of the rows before it evaluates them, for each statistic, and how it reads.

    ``seeds`` are those of draws by weight; ``memory`` is a bound if one was given: the free memory, which is
    never the same, must not change what is found.
    """

    wanted: tuple[Mapping[int, SummarySpec], ...]
    seeds: tuple[int, ...]
    threads: int
    memory: int | None


class ExplainerData(Protocol):
    """What a run needs to know of X, wherever it is."""

    named: bool

    @property
    def header(self) -> Header:
        """The columns of X, and those of them that the model gets."""
        ...

    @property
    def rows(self) -> Background:
        """The rows; those that are read are known once they were surveyed."""
        ...

    @property
    def known_rows(self) -> int | None:
        """Number of rows, None if it is not known before they are read."""
        ...

    @property
    def n_targets(self) -> int:
        """Number of columns of the target, 0 without one."""
        ...

    @property
    def files(self) -> Sequence[tuple[str, int]]:
        """Path and number of rows of each file that is read; none for other sources."""
        ...

    def prepare(self, surveying: SurveyRequest, runner: Runner, adapt: Callable[[Table], None]) -> None:
        """Find out what is wanted, if it is not known yet; ``adapt`` is called with a few rows."""
        ...

    def summary(self, feature: int, wanted: Mapping[int, SummarySpec]) -> Summary:
        """Return what the axis of a feature needs to know, or raise what is wrong with the column."""
        ...

    def rank_error(self, wanted: Mapping[int, SummarySpec]) -> float:
        """Return by how much the rank of a quantile may be off, as a share of the weight."""
        ...

    def exact_in_more_memory(self, wanted: Mapping[int, SummarySpec]) -> bool:
        """Return whether quantiles are estimates because of a bound on memory alone."""
        ...

    def in_memory(self, why: str) -> Rows:
        """Return the rows, or refuse because they are read and something needs them in memory."""
        ...

    def with_target(self, y: Any) -> ExplainerData:
        """Return the data with what came out."""
        ...

    def trial(self, surveying: SurveyRequest) -> Trial:
        """Return a block of rows to time statistics on."""
        ...

    def describe(self) -> str:
        """Return what is known of the rows and columns."""
        ...


@dataclass(frozen=True, eq=False)
class Trial:
    """Rows that were read to know how long that takes: seconds per row of reading and of the survey.

    ``data`` has the number of all rows, ``known`` is None if that is a guess; ``rows`` were read.
    """

    data: ExplainerData
    rows: Rows
    known: int | None
    reading: float = 0.0
    surveying: float = 0.0


@dataclass(eq=False)
class InMemoryData:
    """Rows in memory."""

    rows: Rows
    named: bool
    files: ClassVar[Sequence[tuple[str, int]]] = ()

    @property
    def header(self) -> Header:
        """The columns of X, and those of them that the model gets."""
        return self.rows.header

    @property
    def known_rows(self) -> int | None:
        """Number of rows."""
        return len(self.rows)

    @property
    def n_targets(self) -> int:
        """Number of columns of the target, 0 without one."""
        return self.rows.n_targets

    def prepare(self, surveying: SurveyRequest, runner: Runner, adapt: Callable[[Table], None]) -> None:
        """Adapt the models; columns are summarized when they are needed."""
        adapt(self.rows.predictable)

    def summary(self, feature: int, wanted: Mapping[int, SummarySpec]) -> Summary:
        """Summarize a column; what grows with the rows is not kept."""
        one = wanted[feature]
        options = {"limit": one.limit, "percentiles": one.percentiles, "bins": one.bins}
        return summarize(self.rows, feature, nominal=one.nominal, **options)  # type: ignore[arg-type]

    def rank_error(self, wanted: Mapping[int, SummarySpec]) -> float:
        """Quantiles of rows in memory are exact."""
        return 0.0

    def exact_in_more_memory(self, wanted: Mapping[int, SummarySpec]) -> bool:
        """Nothing is an estimate."""
        return False

    def in_memory(self, why: str) -> Rows:
        """Return the rows."""
        return self.rows

    def trial(self, surveying: SurveyRequest) -> Trial:
        """Return all rows, which need not be read."""
        return Trial(self, self.rows, len(self.rows))

    def with_target(self, y: Any) -> InMemoryData:
        """Return the rows with what came out, which no summary depends on."""
        return InMemoryData(_with_target(self.rows, y), self.named)

    def describe(self) -> str:
        """Return what is known of the rows."""
        table, weights = self.rows.table, ", weighted" if self.rows.weighted else ""
        some = table.slice(0, min(SHOWN_ROWS, len(table)))
        kinds = Counter(_kind(some, position) for position in range(len(table.names)))
        columns = ", ".join(f"{size} {kind}" for kind, size in kinds.items())
        rows = f"{count(len(table), 'row')} in memory ({table.backend}){weights}"
        return f"{rows}, {count(len(table.names), 'column')} ({columns})"


@dataclass(eq=False)
class OutOfCoreData:
    """Out-of-core rows, as often as it takes and never held."""

    reading: TableReader
    on_error: str
    named: bool = True

    def __post_init__(self) -> None:
        self._surveyed: SurveyResult | None = None
        self._surveys = 0  # that were finished
        self._memory: int | None = None

    @property
    def header(self) -> Header:
        """The columns of X, and those of them that the model gets."""
        return self.reading.header if self._surveyed is None else self._surveyed.rows.header

    @property
    def rows(self) -> Background:
        """The rows, once they were surveyed."""
        assert self._surveyed is not None
        return self._surveyed.rows

    @property
    def known_rows(self) -> int | None:
        """Number of rows, None if it is not known before they are read."""
        return self.reading.source.rows

    @property
    def n_targets(self) -> int:
        """Number of columns of the target, 0 without one."""
        return len(self.reading.target)

    @property
    def files(self) -> Sequence[tuple[str, int]]:
        """Path and number of rows of each file that is read; none for other sources."""
        from paribus._data.scan.parquet import ParquetFiles

        source = self.reading.source
        return [(file.path, file.rows) for file in source.files] if isinstance(source, ParquetFiles) else []

    def prepare(self, surveying: SurveyRequest, runner: Runner, adapt: Callable[[Table], None]) -> None:
        """Read the rows once, unless all that is wanted is known from before."""
        self._memory = surveying.memory
        attempt = 0
        while True:
            attempt += 1
            specs = [self._specs(wanted) for wanted in surveying.wanted]
            wanted = merged_specs(spec for some in specs for spec in some.values())
            if self._surveyed is not None and self._surveyed.covers(wanted, surveying.seeds):
                break
            try:
                # A model that fails should do so before rows are read; but it must know all categories.
                head = self.head()
                if not self.reading.coded:
                    adapt(head)
                surveyed = self._survey(head, wanted, surveying, runner, attempt)
            except SourceError as error:
                if self.on_error != "skip":
                    raise
                self.reading = whole_files(self.reading, error)
                continue
            self._surveyed = surveyed if self._surveyed is None else surveyed.beside(self._surveyed)
            self._surveys += 1
        adapt(self.rows.table)

    def head(self) -> ModelTable:
        """Return a few rows, or say that there are none."""
        from paribus._data.scan.streams import Stream

        if isinstance(self.reading.source, Stream):
            self.reading.source.restart()
        head = self.reading.head()
        if not len(head):
            raise TableError(f"X has no rows ({self.reading.source.label}); at least one is needed")
        return head

    def _specs(self, wanted: Mapping[int, SummarySpec]) -> dict[int, SketchSpec]:
        return specs_of(self.reading, wanted, self._memory)

    def _survey(
        self,
        head: ModelTable,
        specs: tuple[SketchSpec, ...],
        surveying: SurveyRequest,
        runner: Runner,
        attempt: int,
    ) -> SurveyResult:
        reading = replace(self.reading, weight_scale=self.reading.first_unit())
        survey = Survey.of(reading, specs, surveying.seeds, head)
        stamp = None if runner.checkpoint is None else reading.source.stamp
        settings = digest(reading.read, reading.weight, reading.target, survey)
        (state,) = runner.fold(
            [
                Pass(
                    self._survey_name(attempt),
                    survey,
                    reading.blocks(survey_rows(head.row_bytes, surveying.memory)),
                    surveying.threads,
                    identity=None if stamp is None else {"data": stamp, "settings": settings},
                    known=survey_states(),
                )
            ]
        )
        if isinstance(state, RefusalError):
            raise state
        return survey.finish(reading, state)

    def _survey_name(self, attempt: int) -> str:
        """Return the name of a survey: others follow it where more is wanted, or files were skipped."""
        more = f"-more-{self._surveys}" if self._surveys else ""
        return f"survey{more}" + (f"-{attempt}" if attempt > 1 else "")

    def summary(self, feature: int, wanted: Mapping[int, SummarySpec]) -> Summary:
        """Return what the survey found."""
        assert self._surveyed is not None
        return self._surveyed.summary(self._specs(wanted)[feature], wanted[feature])

    def rank_error(self, wanted: Mapping[int, SummarySpec]) -> float:
        """Return by how much the rank of a quantile may be off, as a share of the weight."""
        assert self._surveyed is not None
        return self._surveyed.rank_error(self._specs(wanted).values())

    def exact_in_more_memory(self, wanted: Mapping[int, SummarySpec]) -> bool:
        """Return whether quantiles are estimates because of a bound on memory alone."""
        return self._memory is not None and len(self.rows) <= exact_rows(len(wanted), None)

    def in_memory(self, why: str) -> Rows:
        """Refuse."""
        raise TableError(f"{why} needs X in memory; pass a table, such as a sample of the rows")

    def describe(self) -> str:
        """Return what is known of the rows."""
        known = len(self.rows) if self._surveyed is not None else self.reading.source.rows
        rows = "rows" if known is None else count(known, "row")
        weights = "" if self.reading.weight is None else f", weights in {self.reading.weight!r}"
        source = short_source(self.reading.source.label)
        return f"{rows} read from {source}{weights}, {count(len(self.header.names), 'column')}"

    def trial(self, surveying: SurveyRequest) -> Trial:
        """Read and survey one block; what it shows is scaled to all rows."""
        while True:
            try:
                return self._trial(surveying)
            except SourceError as error:
                if self.on_error != "skip":
                    raise
                self.reading = whole_files(self.reading, error)

    def _trial(self, surveying: SurveyRequest) -> Trial:
        import pyarrow as pa

        head, self._memory = self.head(), surveying.memory
        reading = replace(self.reading, weight_scale=self.reading.first_unit())
        specs = merged_specs(spec for wanted in surveying.wanted for spec in self._specs(wanted).values())
        started = perf_counter()
        size = survey_rows(head.row_bytes, surveying.memory)
        table = pa.concat_tables(reading.source.batches(reading.read, 0, size))
        read = perf_counter()
        survey = Survey.of(reading, specs, surveying.seeds, head)
        state = survey.evaluate(reading.block(table, 0, 0))
        summarized = perf_counter()
        surveyed, seen = survey.finish(reading, state), len(table)
        known, rows = reading.source.rows, surveyed.rows
        block = rows.reading.block(table, 0, 0)
        whole = replace(rows, n_rows=known or seen, n_weighted=(known or seen) * rows.n_weighted // seen)
        other = OutOfCoreData(self.reading, self.on_error)
        other._surveyed, other._memory = replace(surveyed, rows=whole), self._memory
        some = Rows(block.table, block.weights, rows.weight_scale, block.target, rows.header)
        return Trial(other, some, known, (read - started) / seen, (summarized - read) / seen)

    def with_target(self, y: Any) -> OutOfCoreData:
        """Return itself: the target is read with the rows."""
        if not self.n_targets:
            raise InputError(TARGET_NAMES)
        return self


def _with_target(rows: Rows, y: Any) -> Rows:
    """Return the rows with what came out; what stands in a row of weight zero has no meaning."""
    from paribus._models.scoring import target_of

    given = target_of(y, rows)
    if len(given) == len(rows):
        return replace(rows, target=given)
    target = np.zeros((len(rows), *given.shape[1:]), given.dtype)
    target[rows.chosen(None, 0)] = given
    return replace(rows, target=target)


def _kind(table: Table, position: int) -> str:
    try:
        return table.column(position).kind
    except FeatureError:
        return "other"


def whole_files(reading: TableReader, error: SourceError) -> TableReader:
    """Leave out the files that cannot be read to their end; if it is not that, raise what went wrong."""
    from paribus._data.scan.parquet import ParquetFiles

    files = reading.source
    wrong = list(files.damaged(reading.read)) if isinstance(files, ParquetFiles) else []
    if not isinstance(files, ParquetFiles) or not wrong:
        raise error
    return replace(reading, source=files.without(wrong))
