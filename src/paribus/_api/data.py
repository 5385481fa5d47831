"""Background data of a call: opened, checked, and read in memory or in passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from paribus._api.alignment import Alignment, aligned, aligned_reading
from paribus._api.runner import Pass, Runner, digest
from paribus._contracts import Array
from paribus._data.column_groups import GroupedTable
from paribus._data.features import Header
from paribus._data.read import source_of, table_of
from paribus._data.rows import Rows, rows_of
from paribus._data.samples import unit_keys
from paribus._data.summary import Summary, SummarySpec, summarize
from paribus._data.table import Column, Table, read_array
from paribus._models import as_model_list
from paribus._models.columns import width_of
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
    from paribus._data.scan.open import Background
    from paribus._data.scan.reading import TableReader
    from paribus._evaluators.survey import SketchSpec, SurveyResult


def open_data(
    estimator: Any,
    X: Any,
    sample_weight: Any,
    names: Any,
    on_error: str,
    runner: Runner,
    y: Any = None,
    by: Any = None,
    units: Any = None,
) -> tuple[ExplainerData, Any]:
    """Return the data, in memory or out of core, and the target ``y``.

    The target of in-memory data is an array in the order of the rows, also if ``y`` names columns. ``by``
    defines groups of rows, and ``units`` units of dependent rows.
    """
    check_choice("on_error", on_error, OnError)
    source = source_of(X, on_error)
    if source is not None:
        if hasattr(X, "sparkSession"):
            runner.join_session(X.sparkSession)
        named = isinstance(y, (list, tuple)) and all(isinstance(one, str) for one in y)
        columns = y if named or isinstance(y, str) else None  # statistics that need y raise for values
        grouped = None if by is None else By.of(by)
        if grouped is not None and grouped.values is not None:
            raise OptionError("X is out of core, so by must be the name of a column, or {name: cut points}")
        column = None if grouped is None else grouped.name
        if units is not None and not isinstance(units, str):
            raise OptionError("X is out of core, so units must be the name of a column")
        others = columns, column, units
        reading = _table_reader(estimator, source, sample_weight, names, on_error, runner, *others)
        return OutOfCoreData(reading, on_error, by=grouped), y
    if runner.checkpoint is not None:
        raise OptionError(
            "checkpoint= requires an out-of-core X (files, queries, streams); X is an in-memory table"
        )
    whole: Any = table_of(X, names)
    every = whole.names if whole.backend == "numpy" else tuple(map(str, whole.frame.columns))
    target, weight = _target_in_memory(y, every), _named_column("sample_weight", sample_weight, every)
    grouped = None if by is None else _by_in_memory(by, X, whole, every)
    apart = {*target, *weight}
    if grouped is not None and grouped.name in every and grouped.named:
        apart |= _unless_feature(estimator, grouped.name, len(every) - len(apart))
    keys = None
    if units is not None:
        keys = unit_keys(_units_in_memory(units, X, whole, every))
        if isinstance(units, str):
            apart |= _unless_feature(estimator, units, len(every) - len(apart))
    table, header = aligned(estimator, whole, named=names is not None, apart=apart)
    if not table.names:
        raise TableError("X has only the columns of y and sample_weight; pass the features as well")
    weights = _column_values(whole, every, weight) if weight else by_label("sample_weight", sample_weight, X)
    rows = replace(rows_of(table, weights), aligned=header, given=whole, units=keys)
    data = InMemoryData(rows, named=names is not None or table.backend != "numpy", by=grouped)
    return data, _column_values(whole, every, target) if target else by_label("y", y, X)


@dataclass(frozen=True, eq=False)
class By:
    """The argument ``by``: name of the grouping variable, cut points if given, and values in memory.

    ``named`` says that the name is that of a column of X. ``names`` are those of codes.
    """

    name: str
    cuts: Any = None
    named: bool = True
    values: Column | None = None
    names: Mapping[Any, str] | None = None

    @classmethod
    def of(cls, by: Any) -> By:
        """Return the argument: the name of a column, a mapping of one name to cut points, or values."""
        if isinstance(by, Mapping):
            if len(by) != 1 or not isinstance(next(iter(by)), str):
                raise OptionError(f"by={by!r} must map the name of one column to its cut points")
            return cls(next(iter(by)), next(iter(by.values())))
        if isinstance(by, str):
            return cls(by)
        if np.ndim(by) != 1:
            raise OptionError(
                "by must be the name of a column of X, {name: cut points}, or values, one for each row"
            )
        name = getattr(by, "name", None)
        name = GROUP if name is None or name == "" else str(name)
        if hasattr(by, "to_frame"):
            return cls(name, None, False, table_of(by.rename(name).to_frame()).column(0))
        values = np.asarray(by)
        column = _text_column(values) if values.dtype.kind == "U" else read_array(GROUP, values)
        return cls(GROUP, None, False, column)


GROUP = "group"  # name of a grouping variable that has none


def _by_in_memory(by: Any, X: Any, whole: Any, every: tuple[str, ...]) -> By:
    """Return the argument ``by`` with its values, one for each row."""
    if isinstance(by, (int, np.integer)) and not isinstance(by, bool):
        if whole.backend != "numpy" or not 0 <= by < len(every):
            raise OptionError(f"by={by!r} is not the name of a column of X, or its position in an array")
        by = every[by]
    if isinstance(by, (list, tuple)) and len(by) != len(whole) and {*map(str, by)} <= {*every}:
        raise OptionError(f"by={by!r} names {count(len(by), 'column')}; join them into one column first")
    grouped = By.of(by_label("by", by, X))
    if grouped.named:
        _named_column("by", grouped.name, every)
        place = every.index(grouped.name)
        return replace(grouped, values=whole.column(place))
    assert grouped.values is not None
    size = len(grouped.values.missing)
    if size != len(whole):
        raise OptionError(f"by has {count(size, 'value')}, and X has {count(len(whole), 'row')}")
    return grouped


def _units_in_memory(units: Any, X: Any, whole: Any, every: tuple[str, ...]) -> Column:
    """Return the argument ``units``: a column of X, or values for each row."""
    if isinstance(units, str):
        _named_column("units", units, every)
        try:
            named: Column = whole.column(every.index(units))
        except FeatureError as error:
            raise OptionError(f"units={units!r} cannot be read; cast it to text or integers") from error
        return named
    values = by_label("units", units, X)
    if np.ndim(values) != 1 or len(values) != len(whole):
        raise OptionError(
            f"units has shape {np.shape(values)} and X has {count(len(whole), 'row')}; give the name of a "
            "column, or one value for each row"
        )
    column = By.of(values).values
    assert column is not None
    return column


def _text_column(values: Array) -> Column:
    """Return text, of which none is missing, as a column with codes."""
    texts = values.tolist()
    codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    found = np.fromiter(map(codes.__getitem__, texts), np.int64, len(texts))
    none = np.zeros(len(texts), dtype=bool)
    return Column(GROUP, "string", values, none, codes=found, codes_in_use=tuple(codes))


def _unless_feature(estimator: Any, name: str, columns: int) -> set[str]:
    """Return the grouping column, unless a model without column names needs all ``columns`` of X."""
    widths = {width_of(one) for one in as_model_list(estimator) or (estimator,)} - {None}
    return {name} if widths and columns not in widths else set()


def _target_in_memory(y: Any, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the target columns; a list of text is a list of labels unless all of it are columns."""
    if isinstance(y, (list, tuple)):
        named = bool(y) and all(isinstance(one, str) and one in every for one in y)
        return tuple(y) if named and len(set(y)) == len(y) else ()
    return _named_column("y", y, every)


def _named_column(argument: str, given: Any, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the column of X that an argument names, none if it holds values."""
    if not isinstance(given, str):
        return ()
    if given not in every:
        error = WeightError if argument == "sample_weight" else InputError
        raise error(f"{argument}={given!r} is not a column of X{did_you_mean(given, every)}")
    return (given,)


def _column_values(table: Any, every: tuple[str, ...], names: tuple[str, ...]) -> Array:
    """Return columns of an in-memory table as an array ``(n,)``, or ``(n, o)`` for several."""
    places = [every.index(name) for name in names]
    if table.backend == "numpy":
        columns = [table.native[:, place] for place in places]
    else:
        columns = [np.asarray(table.frame[:, place].to_numpy()) for place in places]
    return columns[0] if len(columns) == 1 else np.column_stack(columns)


def by_label(argument: str, values: Any, X: Any) -> Any:
    """Return a target or weights in the order of the rows of X, aligned by label if both are pandas objects.

    Values with the same labels in another order are rearranged. Different labels raise an error. Values
    without an index are taken by position.
    """
    if not (hasattr(X, "loc") and hasattr(values, "loc")) or len(X) != len(values):
        return values  # a wrong length is reported later, with the shape
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


def _table_reader(
    estimator: Any,
    source: Any,
    sample_weight: Any,
    names: Any,
    on_error: str,
    runner: Runner,
    y: Any,
    by: str | None,
    units: str | None,
) -> TableReader:
    """Return the reader of the fitted (or all) columns, the weights and the target."""
    from paribus._data.categories import content_of
    from paribus._data.scan.reading import Partitions, TableReader
    from paribus._data.table import checked_names

    if sample_weight is not None and not isinstance(sample_weight, str):
        raise WeightError("X is out of core, so sample_weight must be the name of a column")
    every = tuple(source.schema.names)
    checked_names(every, len(every), "the header of X")
    target = _target_out_of_core(y, every)
    apart = {*_named_column("sample_weight", sample_weight, every), *target}
    for argument, column in (("by", by), ("units", units)):
        if column is not None:
            _named_column(argument, column, every)
            apart |= _unless_feature(estimator, column, len(every) - len(apart))
    alignment = Alignment.of(
        estimator, every, lambda position: content_of(source.schema.field(position).type), apart
    )
    columns = tuple(every[position] for position in alignment.places)
    given = _reported_names(names, every, apart)
    shown = tuple(given[position] for position in alignment.places)
    unused = tuple(given[every.index(name)] for name in alignment.unused)
    if isinstance(source, Partitions) and source.client is None:
        source = replace(source, client=runner.join_cluster())
    if runner.checkpoint is not None and not source.shippable:
        raise OptionError(
            f"checkpoint= needs a source with random access; X is {source.label}. Write it to "
            "Parquet and pass the folder, or omit checkpoint"
        )
    reading = TableReader(source, columns, shown, sample_weight, target=target, by=by, units=units)
    reading = replace(
        reading, source=source.project(reading.read, on_error), aligned=Header(shown, given, unused)
    )
    return aligned_reading(estimator, reading, alignment)


def _target_out_of_core(y: Any, every: tuple[str, ...]) -> tuple[str, ...]:
    """Return the target columns of out-of-core data: none, one, or one for each output."""
    if y is None:
        return ()
    names = (y,) if isinstance(y, str) else tuple(y)
    if not names:
        raise InputError(TARGET_NAMES)
    return tuple(column for name in names for column in _named_column("y", name, every))


def _reported_names(names: Any, every: tuple[str, ...], apart: Collection[Any]) -> tuple[str, ...]:
    """Return the column names that results show; ``names`` may omit those in ``apart``."""
    from paribus._data.table import checked_names

    if names is None:
        return every
    own = [name for name in every if name not in apart]
    if hasattr(names, "__len__") and len(names) == len(own) < len(every):
        renamed = dict(zip(own, checked_names(names, len(own)), strict=True))
        names = [renamed.get(name, name) for name in every]
    return checked_names(names, len(every))


SHOWN_ROWS = 100  # rows from which the kinds of columns are described
TARGET_NAMES = "X is out of core, so y must be the name of a column, or a list of names"


@dataclass(frozen=True)
class SurveyRequest:
    """Summaries that each statistic needs before evaluation, and how the survey reads the rows.

    ``seeds`` are those of weighted sampling. ``memory`` is the user's bound, or None: the amount of free
    memory varies, so it must not influence results.
    """

    wanted: tuple[Mapping[int, SummarySpec], ...]
    seeds: tuple[int, ...]
    threads: int
    memory: int | None


@dataclass(eq=False)
class InMemoryData:
    """X in memory."""

    rows: Rows
    named: bool
    by: By | None = None
    files: ClassVar[Sequence[tuple[str, int]]] = ()

    @property
    def header(self) -> Header:
        """The columns of X, and those that are passed to the model."""
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
        """Adapt the models; columns are summarized on demand.

        Values that an earlier run derived are dropped, because X may have been changed in place.
        """
        self.rows = replace(self.rows)
        adapt(self.rows.predictable)

    def summary(self, feature: int, wanted: Mapping[int, SummarySpec]) -> Summary:
        """Return the summary of a column, computed at each call."""
        one = wanted[feature]
        options = {"limit": one.limit, "percentiles": one.percentiles, "bins": one.bins}
        summary = summarize(self.rows, feature, nominal=one.nominal, **options)  # type: ignore[arg-type]
        return summary.named(one.names)

    def rank_error(self, wanted: Mapping[int, SummarySpec]) -> float:
        """Return 0: quantiles are exact."""
        return 0.0

    def exact_in_more_memory(self, wanted: Mapping[int, SummarySpec]) -> bool:
        """Return False: quantiles are exact."""
        return False

    def in_memory(self, why: str) -> Rows:
        """Return the rows."""
        return self.rows

    def sampled(self, size: int, seed: int, runner: Runner) -> InMemoryData:
        """Return the data of ``size`` rows with positive weight."""
        mask, by = self.rows.sampled(size, seed), self.by
        if by is not None and by.values is not None:
            by = replace(by, values=by.values.keep(mask))
        sampled = replace(self.rows.keep(mask), origin=np.flatnonzero(mask))
        return InMemoryData(sampled, self.named, by)

    def with_target(self, y: Any) -> InMemoryData:
        """Return the data with the target; it is zero in rows of weight zero if ``y`` leaves these out."""
        from paribus._models.scoring import target_of

        rows, target = self.rows, target_of(y, self.rows)
        if len(target) != len(rows):
            given, target = target, np.zeros((len(rows), *target.shape[1:]), target.dtype)
            target[rows.counted] = given
        return InMemoryData(replace(rows, target=target), self.named, self.by)

    def grouped(self, groups: Mapping[str, tuple[int, ...]]) -> InMemoryData:
        """Return the data with groups of columns as one feature each."""
        table = GroupedTable.of(self.rows.table, groups)
        return InMemoryData(
            replace(self.rows, table=table, aligned=self.header.grouped(groups)), True, self.by
        )

    def describe(self) -> str:
        """Return a description of the rows and columns."""
        table, weights = self.rows.table, ", weighted" if self.rows.weighted else ""
        some = table.slice(0, min(SHOWN_ROWS, len(table)))
        kinds = Counter(_column_kind(some, position) for position in range(len(table.names)))
        columns = ", ".join(f"{size} {kind}" for kind, size in kinds.items())
        rows = f"{count(len(table), 'row')} in memory ({table.backend}){weights}"
        return f"{rows}, {count(len(table.names), 'column')} ({columns})"


@dataclass(eq=False)
class OutOfCoreData:
    """Out-of-core data, which is read in passes and never held in memory as a whole."""

    reading: TableReader
    on_error: str
    named: bool = True
    by: By | None = None
    survey_name: str = "survey"

    def __post_init__(self) -> None:
        self._surveyed: SurveyResult | None = None
        self._surveys = 0  # number of finished surveys
        self._memory: int | None = None

    @property
    def header(self) -> Header:
        """The columns of X, and those that are passed to the model."""
        return self.reading.header if self._surveyed is None else self._surveyed.rows.header

    @property
    def rows(self) -> Background:
        """The rows, available after the survey."""
        assert self._surveyed is not None
        return self._surveyed.rows

    @property
    def known_rows(self) -> int | None:
        """Number of rows, None if unknown before reading."""
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
        """Survey the rows in one pass, unless an earlier survey has all summaries."""
        from paribus._evaluators.survey import merged_specs

        self._memory = surveying.memory
        attempt = 0
        while True:
            attempt += 1
            specs = [self._specs(wanted) for wanted in surveying.wanted]
            wanted = merged_specs(spec for some in specs for spec in some.values())
            if self._surveyed is not None and self._surveyed.covers(wanted, surveying.seeds):
                break
            try:
                # A model should fail before the pass; with category codes, it needs the survey first.
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
        """Return the first rows, or raise if there are none."""
        from paribus._data.scan.streams import Stream

        if isinstance(self.reading.source, Stream):
            self.reading.source.restart()
        head = self.reading.head()
        if not len(head):
            raise TableError(f"X has no rows ({self.reading.source.label}); at least one is needed")
        return head

    def _specs(self, wanted: Mapping[int, SummarySpec]) -> dict[int, SketchSpec]:
        from paribus._evaluators.survey import specs_of

        return specs_of(self.reading, wanted, self._memory)

    def _survey(
        self,
        head: ModelTable,
        specs: tuple[SketchSpec, ...],
        surveying: SurveyRequest,
        runner: Runner,
        attempt: int,
    ) -> SurveyResult:
        """Run the pass of a survey; its name differs if more is surveyed, or after files were skipped."""
        from paribus._evaluators.survey import Survey, survey_rows, survey_states

        more = f"-more-{self._surveys}" if self._surveys else ""
        name = f"{self.survey_name}{more}" + (f"-{attempt}" if attempt > 1 else "")
        reading = replace(self.reading, weight_scale=self.reading.first_unit())
        survey = Survey.of(reading, specs, surveying.seeds, head)
        stamp = None if runner.checkpoint is None else reading.source.stamp
        grouped = () if reading.groups is None else (reading.groups,)
        settings = digest(reading.read, reading.weight, reading.target, survey, *grouped)
        (state,) = runner.fold(
            [
                Pass(
                    name,
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

    def summary(self, feature: int, wanted: Mapping[int, SummarySpec]) -> Summary:
        """Return the summary of a feature from the survey."""
        assert self._surveyed is not None
        summary = self._surveyed.summary(self._specs(wanted)[feature], wanted[feature])
        return summary.named(wanted[feature].names)

    def rank_error(self, wanted: Mapping[int, SummarySpec]) -> float:
        """Return the largest rank error of a quantile, as a share of the total weight."""
        assert self._surveyed is not None
        return self._surveyed.rank_error(self._specs(wanted).values())

    def exact_in_more_memory(self, wanted: Mapping[int, SummarySpec]) -> bool:
        """Return whether quantiles are estimated only because of the user's memory bound."""
        from paribus._evaluators.survey import exact_rows

        return self._memory is not None and len(self.rows) <= exact_rows(len(wanted), None)

    def in_memory(self, why: str) -> Rows:
        """Raise, because the rows are out of core."""
        raise TableError(f"{why} needs X in memory; pass a table, such as a sample of the rows")

    def grouped(self, groups: Mapping[str, tuple[int, ...]]) -> OutOfCoreData:
        """Return the data with groups of columns as one feature each, found in one read of all rows."""
        while True:
            try:
                return OutOfCoreData(self.reading.grouped(groups), self.on_error, by=self.by)
            except SourceError as error:
                if self.on_error != "skip":
                    raise
                self.reading = whole_files(self.reading, error)

    def describe(self) -> str:
        """Return a description of the rows and columns."""
        known = len(self.rows) if self._surveyed is not None else self.reading.source.rows
        rows = "rows" if known is None else count(known, "row")
        weights = "" if self.reading.weight is None else f", weights in {self.reading.weight!r}"
        source = short_source(self.reading.source.label)
        return f"{rows} read from {source}{weights}, {count(len(self.header.names), 'column')}"

    def sampled(self, size: int, seed: int, runner: Runner) -> InMemoryData:
        """Return the data of ``size`` rows with positive weight, which are read once."""
        from paribus._evaluators.support import RowSampler

        assert self._surveyed is not None
        rows, sampler = self._surveyed.rows, RowSampler(size, seed)
        blocks = rows.reading.unprepared().blocks(sampler.block_rows, rows=len(rows))
        (state,) = runner.fold([Pass("sample", sampler, blocks, 1)])
        if isinstance(state, RefusalError):
            raise state
        kept = state.parts["sample", 0]
        block, scale = rows.reading.block(kept.rows, 0, 0), rows.weight_scale
        held = Rows(
            block.table,
            block.weights,
            scale,
            block.target,
            rows.header,
            origin=kept.numbers,
            units=block.units,
        )
        by = None if self.by is None else replace(self.by, values=block.by)
        return InMemoryData(held, self.named, by)

    def with_target(self, y: Any) -> OutOfCoreData:
        """Return the same object, because the target is read with the rows."""
        if not self.n_targets:
            raise InputError(TARGET_NAMES)
        return self


@dataclass(eq=False)
class GroupData:
    """The rows of one group; its grids are those of all rows, ``whole``."""

    whole: InMemoryData | OutOfCoreData
    rows: Background

    @property
    def header(self) -> Header:
        """The columns of X, and those that are passed to the model."""
        return self.whole.header

    @property
    def n_targets(self) -> int:
        """Number of columns of the target, 0 without one."""
        return self.whole.n_targets

    def summary(self, feature: int, wanted: Mapping[int, SummarySpec]) -> Summary:
        """Return the summary of a column over all rows."""
        return self.whole.summary(feature, wanted)

    def rank_error(self, wanted: Mapping[int, SummarySpec]) -> float:
        """Return the largest rank error of a quantile, as a share of the total weight."""
        return self.whole.rank_error(wanted)

    def exact_in_more_memory(self, wanted: Mapping[int, SummarySpec]) -> bool:
        """Return whether quantiles are estimated only because of the user's memory bound."""
        return self.whole.exact_in_more_memory(wanted)

    def in_memory(self, why: str) -> Rows:
        """Return the rows of the group, or raise if they are out of core."""
        self.whole.in_memory(why)
        assert isinstance(self.rows, Rows)
        return self.rows


ExplainerData: TypeAlias = InMemoryData | OutOfCoreData


def _column_kind(table: Table, position: int) -> str:
    """Return the kind of a column, ``"other"`` for unsupported columns."""
    try:
        return table.column(position).kind
    except FeatureError:
        return "other"


def whole_files(reading: TableReader, error: SourceError) -> TableReader:
    """Return the reader without damaged Parquet files; raise the error if there are none."""
    from paribus._data.scan.parquet import ParquetFiles

    files = reading.source
    wrong = list(files.damaged(reading.read)) if isinstance(files, ParquetFiles) else []
    if not isinstance(files, ParquetFiles) or not wrong:
        raise error
    return replace(reading, source=files.without(wrong))
