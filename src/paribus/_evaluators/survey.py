"""Survey of out-of-core data: the first pass, which counts rows and summarizes weights and columns."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Integers, Kind
from paribus._data.categories import categories_with, check_known, unknown_to
from paribus._data.kinds import Steps
from paribus._data.rows import Block
from paribus._data.samples import PrioritySample, UnitRows, head_rows
from paribus._data.scan.listing import SIZE, digests_of
from paribus._data.scan.model_table import ModelTable
from paribus._data.scan.open import ScannedRows
from paribus._data.scan.reading import FAR, Partitions, TableReader
from paribus._data.summary import (
    CENTER,
    DECILES,
    SEED,
    Summary,
    SummarySpec,
    common_of,
    edges_of,
    order_categories,
    outer_values,
    placed,
)
from paribus._evaluators.support import KeptRows
from paribus._states import Counts, Keyed
from paribus._states.row_states import SPARE, CategoryWeights, Sketch
from paribus.errors import FeatureError, TableError, WeightError

if TYPE_CHECKING:
    import pyarrow as pa

SURVEY_ROWS, SURVEY_BYTES = 131_072, 16_000_000  # upper bounds of a block
EXACT_ROWS = 1_048_576  # maximum number of values of a feature that are all kept
EXACT_BYTES, SKETCH_BYTES = 256_000_000, 64_000_000  # of the values of all features: kept, sketched
CAPACITY, LEAST_CAPACITY = 16_384, 1_024  # sketch sizes of each feature with more values
MOST_LISTED = 100_000  # maximum number of categories of a requested feature
MOST_CATEGORIES = 1_000_000  # maximum number of categories of a categorical column, requested or not
SAMPLED = 4_097  # rows of highest priority: one more than the maximum for errors of strengths


@dataclass(frozen=True)
class SketchSpec:
    """Sketch parameters of a column: categorical or numeric, exact capacity, and thinned capacity.

    ``limit`` is the largest number of distinct values that are listed.
    """

    feature: int
    nominal: bool
    limit: int
    exact: int
    capacity: int

    def serves(self, other: SketchSpec) -> bool:
        """Return whether a sketch of this spec also serves another spec, which may have a smaller limit."""
        return self.limit >= other.limit and replace(self, limit=other.limit) == other


def specs_of(
    reading: TableReader, wanted: Mapping[int, SummarySpec], memory: int | None
) -> dict[int, SketchSpec]:
    """Return the sketch parameters of each feature; ``memory`` is the memory bound, None if there is none."""
    whole = math.inf if memory is None else memory
    features = max(1, len(wanted))
    exact = exact_rows(features, memory)
    fits = 1 << int(math.log2(min(SKETCH_BYTES, whole / 64) // (SPARE * 16 * features) or 1))
    capacity = min(CAPACITY, max(LEAST_CAPACITY, fits))
    if (reading.source.rows or 0) > exact:
        exact = capacity  # the values will be thinned anyway
    capacity = min(capacity, exact)
    return {j: SketchSpec(j, one.nominal, one.limit, exact, capacity) for j, one in wanted.items()}


def exact_rows(features: int, memory: int | None) -> int:
    """Return the maximum number of rows at which the quantiles of ``features`` features are exact.

    >>> exact_rows(3, None), exact_rows(3, 8_000_000), exact_rows(100, None)
    (1048576, 41666, 320000)
    """
    whole = math.inf if memory is None else memory
    return int(min(EXACT_ROWS, min(EXACT_BYTES, whole / 8) // (8 * features)))


def merged_specs(specs: Iterable[SketchSpec]) -> tuple[SketchSpec, ...]:
    """Return the fewest specs that serve all given ones."""
    merged: dict[SketchSpec, int] = {}
    for spec in specs:
        key = replace(spec, limit=0)
        merged[key] = max(merged.get(key, 0), spec.limit)
    return tuple(replace(key, limit=limit) for key, limit in merged.items())


@dataclass(frozen=True, eq=False)
class WeightTotals:
    """Numbers of rows, all and with positive weight; sums of weights and squares, in ``weight_scale``."""

    rows: int
    n_weighted: int
    total: float
    squares: float
    weight_scale: float

    @classmethod
    def of(cls, rows: int, weights: Floats | None) -> Self:
        """Sum the weights of some rows; ``weight_scale`` is a power of two near the largest weight."""
        if weights is None:
            return cls(rows, rows, float(rows), float(rows), 1.0)
        largest = float(weights.max(initial=0.0))
        if not largest:
            return cls(rows, 0, 0.0, 0.0, 0.0)
        unit = 2.0 ** math.floor(math.log2(largest))
        own = weights / unit
        return cls(rows, int((weights > 0).sum()), float(own.sum()), float((own**2).sum()), unit)

    def merge(self, other: Self) -> Self:
        """Add the sums of both, in the larger scale."""
        unit = max(self.weight_scale, other.weight_scale)
        one, two = (side.weight_scale / unit if unit else 0.0 for side in (self, other))
        return type(self)(
            self.rows + other.rows,
            self.n_weighted + other.n_weighted,
            self.total * one + other.total * two,
            self.squares * one**2 + other.squares * two**2,
            unit,
        )


@dataclass(frozen=True, eq=False)
class ColumnSketch:
    """Summary of one column: weights of missing and infinite values, and numbers or categories.

    ``missing_row`` is the first row with a missing value, ``missing_at`` its number. ``declared`` are the
    categories that the type of the column declares. ``steps`` are the steps between dates.
    """

    kind: Kind
    dtype: str
    missing: float
    missing_row: Any | None
    missing_at: int
    infinite: float
    sketch: Sketch | None
    categories: CategoryWeights | None
    declared: tuple[Any, ...] | None
    ranked: bool
    steps: Steps | None = None

    def merge(self, other: Any) -> Any:
        """Merge both; a column that is unusable in one block is unusable."""
        if isinstance(other, UnusableColumn):
            return other
        first, second = (self, other) if self.missing_row is not None else (other, self)
        if second.missing_row is not None and second.missing_at < first.missing_at:
            first = second
        return type(self)(
            self.kind,
            self.dtype,
            self.missing + other.missing,
            first.missing_row,
            first.missing_at,
            self.infinite + other.infinite,
            self.sketch.merge(other.sketch) if self.sketch and other.sketch else None,
            self.categories.merge(other.categories) if self.categories and other.categories else None,
            union(self.declared, other.declared),
            self.ranked and other.ranked,
            self.steps.merge(other.steps) if self.steps and other.steps else self.steps or other.steps,
        )


@dataclass(frozen=True, eq=False)
class UnusableColumn:
    """Reason why a column cannot be varied."""

    why: str

    def merge(self, other: Self) -> Self:
        """Keep the first reason."""
        return self


@dataclass(frozen=True, eq=False)
class DeclaredCategories:
    """Categories that a column declares, or values that occur, in order of first occurrence."""

    categories: tuple[Any, ...]

    def merge(self, other: Self) -> Self:
        """Append the categories that only the other has."""
        categories = union(self.categories, other.categories) or ()
        if len(categories) > MOST_CATEGORIES:
            raise TableError(
                f"a column of categories has more than {MOST_CATEGORIES:,} categories ({categories[0]!r}, "
                f"{categories[1]!r}, ...); write it as text or numbers, or leave it out"
            )
        return type(self)(categories)


@dataclass(frozen=True, eq=False)
class Digest:
    """Sum of the digests of the blocks of one column."""

    total: int

    def merge(self, other: Self) -> Self:
        """Add the digests of both."""
        return type(self)((self.total + other.total) % SIZE)


def union(one: tuple[Any, ...] | None, two: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    """Return the categories of both, in order of first occurrence."""
    if one is None or two is None:
        return one if two is None else two
    return tuple(dict.fromkeys((*one, *two)))


@dataclass(frozen=True)
class Survey:
    """Evaluator of the first pass over out-of-core rows; ``specs`` are the sketches of columns.

    ``seeds`` are those of the samples of rows by weight, and of units. ``coded`` are the columns of Arrow
    dictionaries, and ``open`` those whose occurring values are listed. ``targets`` is the number of target
    columns.
    """

    specs: tuple[SketchSpec, ...]
    coded: tuple[int, ...]
    seeds: tuple[int, ...]
    weighted: bool
    head: ModelTable = field(repr=False)
    open: tuple[int, ...] = ()
    targets: int = 0

    @classmethod
    def of(
        cls, reading: TableReader, specs: tuple[SketchSpec, ...], seeds: tuple[int, ...], head: ModelTable
    ) -> Self:
        """Return the survey of a table; ``head`` are its first rows, which have the types of columns."""
        open_to_others = tuple(reading.columns.index(name) for name in reading.open)
        weighted, targets = reading.weight is not None, len(reading.target)
        return cls(specs, reading.coded, seeds, weighted, head, open_to_others, targets)

    def evaluate(self, block: Block) -> Keyed:
        """Return the summary of one block."""
        table = cast(ModelTable, block.table)
        rows, weights = len(table), block.weights
        states: dict[tuple[str, int], Any] = {
            ("weighed", 0): WeightTotals.of(rows, weights),
            ("gaps", 0): Counts(np.array([column.null_count for column in table.arrow.native.columns])),
            ("length", block.start >> FAR): Counts(np.array([rows])),
        }
        for number, total in enumerate(_digests(table.arrow.native, block)):
            states["digest", number] = Digest(total)
        states["few", 0] = KeptRows.of(block, SEED, head_rows(len(block.table.names)))
        if weights is not None:
            for seed in self.seeds:
                states["heavy", seed] = PrioritySample.of(block.positions, weights, seed, SAMPLED)
        if block.units is not None:
            for seed in self.seeds:
                states["units", seed] = UnitRows.of(block.positions, block.units, weights, seed, SAMPLED)
        for feature in self.coded:
            chunks = table.arrow.native.column(feature).chunks
            categories: dict[Any, None] = {}
            for chunk in chunks:
                categories |= dict.fromkeys(chunk.dictionary.to_pylist())
            states["declared", feature] = DeclaredCategories(tuple(categories))
        for feature in self.open:
            states["occurring", feature] = DeclaredCategories(_occurring(table.arrow.native.column(feature)))
        for number, spec in enumerate(self.specs):
            try:
                states["look", number] = self._sketch(block, spec)
            except FeatureError as error:
                states["look", number] = UnusableColumn(str(error))
        return Keyed(states)

    def _sketch(self, block: Block, spec: SketchSpec) -> ColumnSketch:
        column, weights = block.column(spec.feature), block.weights
        missing = column.missing if weights is None else column.missing & (weights > 0)
        at = int(np.argmax(missing)) if missing.any() else -1
        present = None if weights is None else weights[~column.missing]
        kind: Kind = "category" if spec.nominal and column.kind not in NOMINAL else column.kind
        dtype = column.values.dtype
        sketch, categories, infinite, steps = None, None, 0.0, None
        if kind in NOMINAL:
            codes, found = column.factorized()
            counts = np.bincount(codes, present, minlength=len(found)).astype(np.float64)
            categories = CategoryWeights(tuple(found), counts, MOST_LISTED).within()
        else:
            sketch, infinite = _numeric_sketch(column.values, present, spec)
        if kind == "datetime":
            steps = Steps.of(column.values if present is None else column.values[present > 0], column.zone)
        row = None if at < 0 else cast(ModelTable, block.table).arrow.native.take([at])
        return ColumnSketch(
            kind,
            "O" if dtype.hasobject else dtype.str,
            float(missing.sum() if weights is None else weights[missing].sum()),
            row,
            block.start + at,
            infinite,
            sketch,
            categories,
            column.categories,
            column.ranked,
            steps,
        )

    def finish(self, reading: TableReader, state: Keyed) -> SurveyResult:
        """Return the rows with their totals, and the sketches of columns."""
        weighed: WeightTotals | None = state.parts["weighed", 0] if state.parts else None
        if weighed is None or not weighed.rows:
            raise TableError(f"X has no rows ({reading.source.label}); at least one is needed")
        if reading.weight is not None and not weighed.n_weighted:
            raise WeightError(f"sample_weight={reading.weight!r} is zero in every row")
        known = {
            reading.columns[j]: _known_categories(reading, j, state.parts["declared", j]) for j in self.coded
        }
        unknown = [
            unknown_to(
                reading.names[j], reading.open[reading.columns[j]], state.parts["occurring", j].categories
            )
            for j in self.open
        ]
        starts, unit = _starts(reading, state), weighed.weight_scale
        digested = len(self.head.names) + self.weighted + self.targets  # columns that have a digest
        gaps = np.flatnonzero(state.parts["gaps", 0].cells)
        reading = replace(
            reading,
            weight_scale=reading.weight_scale * unit,  # the survey used the scale of the first weights
            known_categories=known,
            starts=starts,
            nullable=frozenset(reading.columns[position] for position in gaps),
            aligned=replace(reading.header, unknown=tuple(text for text in unknown if text is not None)),
        )
        scanned = ScannedRows(
            reading,
            reading.head(),
            weighed.rows,
            weighed.n_weighted,
            weighed.total,
            weighed.squares,
            {seed: _renumbered_sample(state.parts["heavy", seed], starts, unit) for seed in self.seeds}
            if self.weighted
            else None,
            {seed: _renumbered_units(state.parts["units", seed], starts, unit) for seed in self.seeds}
            if reading.units is not None
            else None,
            reading.table(state.parts["few", 0].rows),
            tuple(f"{state.parts['digest', number].total:032x}" for number in range(digested)),
        )
        sketches = {spec: state.parts["look", number] for number, spec in enumerate(self.specs)}
        return SurveyResult(scanned, sketches, unit)


def _numeric_sketch(values: Array, weights: Floats | None, spec: SketchSpec) -> tuple[Sketch, float]:
    """Return the sketch of the finite values, and the weight of the others."""
    if weights is not None and not weights.all():
        values, weights = values[weights > 0], weights[weights > 0]
    infinite = 0.0
    if values.dtype.kind == "f":
        finite = np.isfinite(values)
        if not finite.all():
            infinite = float((~finite).sum() if weights is None else weights[~finite].sum())
            values, weights = values[finite], None if weights is None else weights[finite]
    sizes = {"exact": spec.exact, "capacity": spec.capacity, "limit": spec.limit}
    return Sketch.of(values, weights, **sizes), infinite


@dataclass(frozen=True, eq=False)
class SurveyResult:
    """Result of a survey: the rows, and the sketches of columns, whose weights are in ``unit``."""

    rows: ScannedRows
    sketches: Mapping[SketchSpec, ColumnSketch | UnusableColumn]
    unit: float

    def covers(self, specs: Iterable[SketchSpec], seeds: Iterable[int]) -> bool:
        """Return whether the result serves all specs and seeds, so that rows need not be read again."""
        samples = (known for known in (self.rows.heavy, self.rows.units) if known is not None)
        sampled = all(seed in known for known in samples for seed in seeds)
        return sampled and all(any(known.serves(spec) for known in self.sketches) for spec in specs)

    def beside(self, other: SurveyResult) -> SurveyResult:
        """Return the result merged with that of another survey of the same rows."""
        rows, others = self.rows, other.rows
        heavy = None if rows.heavy is None else {**rows.heavy, **(others.heavy or {})}
        units = None if rows.units is None else {**rows.units, **(others.units or {})}
        joined = replace(rows, heavy=heavy, units=units)
        return SurveyResult(joined, {**self.sketches, **other.sketches}, self.unit)

    def _sketch(self, spec: SketchSpec) -> ColumnSketch | UnusableColumn:
        sketched = next(self.sketches[known] for known in self.sketches if known.serves(spec))
        if isinstance(sketched, UnusableColumn) or sketched.sketch is None:
            return sketched
        return replace(sketched, sketch=sketched.sketch.limited(spec.limit))

    def rank_error(self, specs: Iterable[SketchSpec]) -> float:
        """Return the maximum rank error of quantiles, as a share of the weight."""
        sketched_columns = [self._sketch(spec) for spec in specs]
        sketches = [
            sketched.sketch
            for sketched in sketched_columns
            if isinstance(sketched, ColumnSketch) and sketched.sketch is not None
        ]
        return max(map(self._rank_error, sketches), default=0.0)

    def _rank_error(self, sketch: Sketch) -> float:
        return sketch.bound / self.rows.total / self.unit

    def summary(self, spec: SketchSpec, wanted: SummarySpec) -> Summary:
        """Return the summary that an axis needs; raises `FeatureError` if the column is unusable."""
        sketched, feature, rows, unit = self._sketch(spec), spec.feature, self.rows, self.unit
        if isinstance(sketched, UnusableColumn):
            raise FeatureError(sketched.why)
        facts: dict[str, Any] = {
            "name": rows.table.names[feature],
            "kind": sketched.kind,
            "weight": rows.total,
            "missing": sketched.missing / unit,
            "missing_row": None if sketched.missing_row is None else rows.reading.table(sketched.missing_row),
            "infinite": sketched.infinite / unit,
            "ranked": sketched.ranked,
            "steps": sketched.steps,
        }
        if sketched.sketch is not None:
            placed_by = _placed(sketched, sketched.sketch, wanted, unit)
            return Summary(**facts, **placed_by, rank_error=self._rank_error(sketched.sketch))
        assert sketched.categories is not None
        if sketched.categories.too_many and not wanted.given:
            raise FeatureError(
                f"feature {facts['name']!r} has more than {MOST_LISTED:,} categories, too many to be listed; "
                "give those to ask in custom_values, or leave it out"
            )
        categories, weights = sketched.categories.found, sketched.categories.weights / unit
        declared = None
        if sketched.declared is not None:
            declared = tuple(rows.reading.known_categories[rows.reading.columns[feature]].to_pylist())
        ordered = order_categories(categories, weights, declared, sketched.kind, np.dtype(sketched.dtype))
        return Summary(**facts, **ordered, declared=declared)


def _placed(sketched: ColumnSketch, sketch: Sketch, wanted: SummarySpec, unit: float) -> dict[str, Any]:
    """Return quantiles, extremes, edges, and distinct values if they are few."""
    complete = sketch.with_ends()
    few, weights = complete.few, complete.few_weights
    ticks = np.dtype(sketched.dtype)
    dated = ticks if ticks.kind in "mM" else None
    facts: dict[str, Any] = {
        "unit": dated,
        "dtype": np.dtype(np.int64) if dated is not None else ticks,
        "categories": few if few is None or dated is None else few.view(np.int64),
        "category_weights": None if weights is None else weights / unit,
    }
    if not len(sketch.values):
        return facts
    assert complete.ends is not None
    plain, ends = sketch, complete.ends
    if dated is not None:
        parts = (sketch.ends, sketch.few)
        own_ends, own_few = (None if part is None else part.view(np.int64) for part in parts)
        plain = replace(sketch, values=sketch.values.view(np.int64), ends=own_ends, few=own_few)
        ends = ends.view(np.int64)
    facts["edges"] = tuple(_sketch_edges(plain, ends, size) for size in wanted.bins)
    value, weight = common_of(plain.values, plain.weights)
    facts["common"] = value, weight / unit
    if wanted.percentiles is None:
        facts["outer"] = _outer_values(plain, ends, wanted.limit)
    quantiles = plain.quantiles((*(wanted.percentiles or CENTER), *DECILES))
    return facts | placed(quantiles, ends, sketched.kind)


def _outer_values(sketch: Sketch, ends: Array, resolution: int) -> tuple[Array, Array]:
    """Return the values of the tails; ``ends`` replace the extremes of a thinned sketch."""
    if not sketch.thinned:
        return outer_values(sketch.values, sketch.weights, resolution)
    weights = np.ones(len(sketch.values)) if sketch.weights is None else sketch.weights
    below, above = outer_values(sketch.values, weights, resolution, sketch.bound / weights.sum())
    return np.append(ends[:1], below[1:]), np.append(above[:-1], ends[1:])


def _sketch_edges(sketch: Sketch, ends: Array, bins: int) -> Array:
    """Return edges of bins; ``ends`` replace the extremes of a thinned sketch."""
    if not sketch.thinned:
        return edges_of(sketch.values, sketch.weights, bins)
    if sketch.few is not None:
        return edges_of(sketch.few, sketch.few_weights, bins)
    inner = edges_of(sketch.values, sketch.weights, bins)[1:-1]
    return np.unique(np.concatenate([ends, inner]))


def _occurring(column: Any) -> tuple[Any, ...]:
    """Return the distinct values of a column that are not missing."""
    values: dict[Any, None] = {}
    for chunk in column.chunks:
        values |= dict.fromkeys(chunk.unique().to_pylist())
    return tuple(value for value in values if value is not None and value == value)


def _known_categories(reading: TableReader, feature: int, declared: DeclaredCategories) -> Any:
    """Return the categories of a categorical column as an Arrow array."""
    import pyarrow as pa

    name = reading.columns[feature]
    if name in reading.closed:
        check_known(name, reading.closed[name], declared.categories)
    if name in reading.categories:
        return categories_with(name, reading.categories[name], declared.categories)
    return pa.array(
        [category for category in declared.categories if category is not None],
        type=reading.type(feature).value_type,
    )


def _starts(reading: TableReader, state: Keyed) -> tuple[int, ...]:
    """Return the first row number of each partition of a cluster, and the total number of rows."""
    source = reading.source
    if not isinstance(source, Partitions) or not source.cluster:
        return ()
    none = Counts(np.zeros(1, np.int64))
    filled = max((key[1] + 1 for key in state.parts if key[0] == "length"), default=0)
    numbers = range(max(filled, source.n_partitions))
    lengths = [state.parts.get(("length", p), none).cells[0] for p in numbers]
    return tuple(int(start) for start in np.cumsum([0, *lengths]))


def _renumbered_sample(rows: PrioritySample, starts: tuple[int, ...], unit: float) -> PrioritySample:
    """Return the sample with row numbers among all partitions, and weights divided by ``unit``."""
    return replace(rows, numbers=_renumbered(rows.numbers, starts), weights=rows.weights / unit)


def _renumbered_units(rows: UnitRows, starts: tuple[int, ...], unit: float) -> UnitRows:
    """Return the sample with row numbers among all partitions, and weights divided by ``unit``."""
    return replace(rows, numbers=_renumbered(rows.numbers, starts), weights=rows.weights / unit)


def _renumbered(numbers: Integers, starts: tuple[int, ...]) -> Integers:
    """Return row numbers among all partitions."""
    within = numbers & ((1 << FAR) - 1)
    return np.asarray(starts)[numbers >> FAR] + within if starts else numbers


def _digests(table: pa.Table, block: Block) -> list[int]:
    """Return the digests of the columns of a block, of its weights and of its target."""
    import pyarrow as pa

    if block.weights is not None:
        table = table.append_column("\0weights", pa.array(block.weights))
    if block.target is not None:
        for position, values in enumerate(np.atleast_2d(block.target.T)):
            table = table.append_column(f"\0target {position}", pa.array(values))
    return digests_of(table, block.start)


def survey_states() -> dict[str, type]:
    """Return the classes of the states of a survey by name, as they are stored in files."""
    states = (
        WeightTotals,
        ColumnSketch,
        Steps,
        UnusableColumn,
        DeclaredCategories,
        Digest,
        KeptRows,
        Sketch,
        CategoryWeights,
        PrioritySample,
        UnitRows,
    )
    return {state.__name__: state for state in states}


def survey_rows(row_bytes: int, memory: int | None) -> int:
    """Return the rows per block: a power of two, fewer if rows are wide."""
    fits = max(1, min(SURVEY_BYTES, SURVEY_BYTES if memory is None else memory // 32) // max(1, row_bytes))
    return max(1_024, min(SURVEY_ROWS, 1 << int(math.log2(fits))))
