"""Requests of effects, and the base classes of evaluators."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

import numpy as np

from paribus._budget import AHEAD, FLOAT, format_bytes
from paribus._contracts import Array, Evaluator, Floats, Integers
from paribus._data.rows import ONE_PART, Block, Parts
from paribus._data.samples import Sample
from paribus._data.table import Table
from paribus._grid import Grid
from paribus._states import Keyed, PointValues, RowCurves, curve_quantiles
from paribus._text import count
from paribus._typing import Curves, StrengthBasis
from paribus.meaning import Estimand

if TYPE_CHECKING:
    from paribus._data.scan.open import Background

CAPACITY = 4_096  # sketch size per point if not every prediction is kept: rank error of 0.1 % at most
LEAST_CAPACITY = 16
CALLS_FIRST = 64  # largest cut of calls and curve portions, which changes no result, before blocks are cut
MOST_CUTS = 64 * CALLS_FIRST  # largest cut
MOST_PAIRED = 256  # points of a curve whose covariance is computed
MOST_PRODUCTS = 2**18  # numbers of the covariance of one curve, over its outputs
SKETCHES = 16  # number of sketches that fill their share of memory: one state per level of merges


@dataclass(frozen=True)
class QuantileRequest:
    """Requested quantiles of the rows' curves, and the maximum bytes of the values they are computed from.

    The number of bytes is given by the user or fixed, so that free memory does not change the estimate.
    """

    probabilities: tuple[float, ...]
    most_bytes: int

    def sizes(self, rows: int, points: int, outputs: int) -> tuple[int, int]:
        """Return the maximum number of rows stored exactly, and the sketch size per point beyond that."""
        cell = FLOAT * max(1, points) * outputs
        if rows * cell <= self.most_bytes:
            return rows, CAPACITY
        capacity = max(LEAST_CAPACITY, min(CAPACITY, self.most_bytes // (SKETCHES * cell)))
        return capacity, capacity

    def block_rows(self, points: int, outputs: int) -> int:
        """Return the number of rows whose curves fit the memory while a block is evaluated."""
        return max(1, self.most_bytes // (SKETCHES * FLOAT * max(1, points) * outputs))


@dataclass(frozen=True, eq=False)
class EvaluationRequest:
    """Grids to evaluate on ``rows`` rows of ``row_bytes`` each, ``n_weighted`` of them with positive weight.

    ``threads=None`` leaves the number of threads to the evaluator. ``sample`` are the rows whose curves give
    the standard errors of averages that need no curves, None for all rows. ``out_of_core`` says that rows are
    not in memory, so that waiting blocks take memory. ``quantiles`` requests quantiles of the rows' curves.

    Calls and blocks have fixed sizes, so that memory does not change results. The sizes are divided by
    ``cut``, a power of two. Up to `CALLS_FIRST` only calls and portions of curves are cut. Beyond it blocks
    are cut too, which changes the rounding of sums; this requires a memory bound from the user.
    ``background`` are the rows of the passes, None for all rows of the run. ``strengths`` requests the
    standard deviation of each effect over the rows, if the structure of the model gives it. ``dependent``
    says that several rows may be of one unit, and ``sampled`` has the rows of ``sample``, if rows are in
    memory. ``shared`` is for what requests of the same grids on other rows need, too.
    """

    statistic: ClassVar[str] = "effects"
    grids: tuple[Grid, ...]
    kind: Curves
    rows: int
    n_weighted: int
    row_bytes: int
    max_memory: int
    threads: int | None
    weighted: bool = False
    sample: Sample | None = None
    out_of_core: bool = False
    quantiles: QuantileRequest | None = None
    memory_was_given: bool = True
    cut: int = 1
    background: Background | None = None
    strengths: bool = False
    dependent: bool = False
    sampled: Table | None = None
    shared: dict[Any, Any] = field(default_factory=dict)

    def squares(self, positions: Integers, weights: Floats | None) -> Floats:
        """Return what the squared deviation of each row counts for, zero for rows that are not sampled."""
        sample = self.sample
        if sample is None:
            return np.ones(len(positions)) if weights is None else weights**2
        ends = np.searchsorted(sample.numbers, (positions[0], positions[-1] + 1))
        numbers = sample.numbers[slice(*ends)]
        places = np.searchsorted(positions, numbers)
        held = positions[places] == numbers
        squares = np.zeros(len(positions))
        squares[places[held]] = sample.squares[slice(*ends)][held]
        return squares

    @property
    def samples_units(self) -> bool:
        """Whether standard errors come from sampled units of dependent rows."""
        return self.dependent and self.sample is not None

    def units_of(self, positions: Integers) -> Integers:
        """Return the unit of each sampled row among some, by position."""
        assert self.sample is not None
        assert self.sample.units is not None
        return self.sample.units[np.isin(self.sample.numbers, positions)]

    def own_points(self, block: Block) -> dict[tuple[str, int], RowCurves]:
        """Return the point nearest to each row of sampled units, one state for each curve.

        In memory, sampled rows are read together.
        """
        if not self.samples_units or self.sampled is not None:
            return {}
        chosen = self.squares(block.positions, block.weights) > 0
        sampled, states = block.keep(chosen, "sampled"), {}
        for number in block.questions if chosen.any() else ():
            if self._has_shares(number):
                grid = self.grids[number]
                nearest = grid.nearest_point(sampled.column(grid.axes[0].feature))
                states["own points", number] = RowCurves(((block.start, nearest[None]),))
        return states

    def _has_shares(self, number: int) -> bool:
        """Return whether a grid has the covariance of the shares of the data: of one feature, if small."""
        return len(self.grids[number].axes) == 1 and self.grids[number].n_points <= MOST_PAIRED

    def share_covariance(self, state: Keyed, number: int, total: float) -> Floats | None:
        """Return the covariance ``(g, g)`` of the shares of the data at the points of a curve of units."""
        sample, grid = self.sample, self.grids[number]
        if sample is None or sample.units is None or sample.n_units < 2 or not self._has_shares(number):
            return None
        if self.sampled is None:
            points = state.parts["own points", number].finish()[0]
        else:
            points = grid.nearest_point(self.sampled.column(grid.axes[0].feature))
        units, roots = sample.units, np.sqrt(sample.squares)
        shape, near = (grid.n_points, sample.n_units), points >= 0
        places = np.ravel_multi_index((points[near], units[near]), shape)
        weight = np.bincount(places, roots[near], math.prod(shape)).reshape(shape)
        shares = weight.sum(axis=1) / roots.sum()
        apart = weight - shares[:, None] * np.bincount(units, roots)
        return np.asarray(apart @ apart.T * (sample.n_units / (sample.n_units - 1) / total**2))

    def paired(self, number: int, points: int, outputs: int) -> bool:
        """Return whether the covariance of the points of a grid is computed: of one feature, if it is small.

        Individual curves give it without being stored.
        """
        few = 0 < points <= MOST_PAIRED and outputs * points**2 <= MOST_PRODUCTS
        return few and len(self.grids[number].axes) == 1 and not self.individual

    @property
    def cuts(self) -> tuple[int, ...]:
        """Divisors of sizes, in the order in which they are tried to fit the memory bound."""
        most = MOST_CUTS if self.memory_was_given else CALLS_FIRST
        return tuple(2**power for power in range(most.bit_length()))

    @property
    def block_cut(self) -> int:
        """Divisor of the number of rows per block."""
        return max(1, self.cut // CALLS_FIRST)

    @property
    def individual(self) -> bool:
        """Whether the curve of every row is requested."""
        return self.kind != "average"

    @cached_property
    def points(self) -> int:
        """Number of points over all grids."""
        return sum(grid.n_points for grid in self.grids)

    def collects(self, outputs: int) -> tuple[int, int] | None:
        """Return row limit and sketch size of values collected for quantiles; None if none are collected."""
        if self.quantiles is None or self.individual:  # individual curves give their quantiles directly
            return None
        return self.quantiles.sizes(self.n_weighted, self.points, outputs)

    @property
    def n_parts(self) -> int:
        """Number of grids."""
        return len(self.grids)

    @property
    def settings(self) -> tuple[Any, ...]:
        """Options of a stored state, in addition to the rows, the model and the sizes of blocks."""
        points = [cells.values for grid in self.grids for cells in grid.replacements.values()]
        shapes = [(grid.names, grid.n_points) for grid in self.grids]
        sample = self.sample.numbers if self.sample is not None else ()
        return (self.kind, self.quantiles, self.strengths, shapes), sample, *map(plain, points)

    def only(self, numbers: tuple[int, ...]) -> Self:
        """Return the request for some of the grids."""
        return replace(self, grids=tuple(self.grids[number] for number in numbers))

    def result_bytes(self, outputs: int, block_rows: int, state_bytes: int) -> int:
        """Return the memory of the result and of the states that wait to be merged.

        Curves are held twice while they are concatenated. The tree of merges holds one state per level.
        """
        cell = FLOAT * outputs * self.points
        levels = math.ceil(math.log2(max(2, self.rows / block_rows))) + 2
        collected, _ = self.collected_bytes(outputs)
        return state_bytes * levels + collected + (2 * cell * self.rows if self.individual else 0)

    def collected_bytes(self, outputs: int) -> tuple[int, int]:
        """Return the memory of values collected for quantiles: in total, and in each state."""
        sizes, cell = self.collects(outputs), FLOAT * self.points * outputs
        if sizes is None:
            return 0, 0
        most, capacity = sizes
        return (most * cell, 0) if most >= self.n_weighted else (0, 2 * capacity * cell)


@dataclass(frozen=True, eq=False)
class EffectEstimate:
    """The estimate of one grid: average and error ``(o, g)``, and curves ``(o, n, g)`` when requested.

    ``rank_error`` is the maximum error of the ranks of ``quantiles (o, q, g)``, as a share of the weight.
    ``row_weights (n,)`` are the weights of the curves, None if all are equal, and ``row_units (n,)`` the
    positions of their units, None if rows are independent. If there are several models,
    ``by_model (m, o, g)`` are their averages, ``strength_by_model (m, o)`` their strengths, and ``average``
    is the mean. ``strength (o,)`` is the standard deviation of the effect over the rows, None if the
    evaluator does not give it, and ``strength_from`` says how it is computed. ``covariance (o, g, g)`` is
    that of the points, for differences between them, and ``share_covariance (g, g)`` that of the shares of
    the data at the points, of dependent rows.
    """

    average: Floats
    standard_error: Floats
    individual: Floats | None
    quantiles: Floats | None = None
    rank_error: float = 0.0
    row_weights: Floats | None = None
    row_units: Integers | None = None
    by_model: Floats | None = None
    strength: Floats | None = None
    strength_from: StrengthBasis = "rows"
    strength_by_model: Floats | None = None
    covariance: Floats | None = None
    share_covariance: Floats | None = None

    def spread(self, place: Integers | None) -> EffectEstimate:
        """Return the estimate at all points; ``place (g,)`` is the evaluated point that each one equals."""
        if place is None:
            return self
        average, error = np.take(self.average, place, axis=-1), np.take(self.standard_error, place, axis=-1)
        curves, quantiles = (
            None if array is None else np.take(array, place, axis=-1)
            for array in (self.individual, self.quantiles)
        )
        covariance = None if self.covariance is None else self.covariance[:, place[:, None], place]
        return replace(
            self,
            average=average,
            standard_error=error,
            individual=curves,
            quantiles=quantiles,
            covariance=covariance,
        )


@dataclass(frozen=True, eq=False)
class Fold:
    """One pass over the rows: blocks of ``block_rows`` rows are evaluated once per part, and merged.

    ``name`` distinguishes the passes of an evaluator. ``settings`` are the options that its states depend on,
    in addition to the rows, the model and the sizes of blocks.
    """

    name: str
    evaluator: Evaluator[Block, Keyed]
    block_rows: int
    parts: Parts = ONE_PART
    settings: tuple[Any, ...] = ()


Passes: TypeAlias = Generator[Fold, Keyed, Any]


class WholeRequest:
    """Request with a single part, whose passes go through ``rows``."""

    rows: Background
    n_parts: ClassVar[int] = 1
    cut: ClassVar[int] = 1  # sizes are fixed, because others could change the last bits
    cuts: ClassVar[tuple[int, ...]] = (1,)

    @property
    def background(self) -> Background:
        """The rows that the passes go through."""
        return self.rows

    def only(self, numbers: tuple[int, ...]) -> Self:
        """Return the request itself, which has one part."""
        return self


class StatisticEvaluator(ABC):
    """A method of computing a statistic of one model: it gives the defined number or refuses with a reason.

    It is built for one request, sent to workers, and holds no table. ``model`` is the model that it calls or
    reads, None if it needs none. ``shortcut`` is False for evaluators that call the model itself.
    ``structure`` is the kind of model structure that the evaluator reads, None if it reads none. Evaluators
    of another ``estimand`` are only used if the method is requested by name. ``threaded`` evaluators use
    every core by default. ``block_rows`` depends on the request alone, never on the number of workers.
    """

    name: ClassVar[str]
    shortcut: ClassVar[bool]
    structure: ClassVar[type | None] = None
    estimand: ClassVar[Estimand]
    model: Any
    request: Any

    @property
    @abstractmethod
    def how(self) -> str:
        """What the evaluator does, in words."""

    @property
    @abstractmethod
    def threaded(self) -> bool:
        """Whether the evaluator uses every core by default."""

    @property
    @abstractmethod
    def block_rows(self) -> int:
        """Rows per block."""

    @property
    def predictions(self) -> int:
        """Number of rows that the model predicts: none where its structure is read."""
        return 0

    @property
    @abstractmethod
    def error_rows(self) -> int:
        """Number of rows that the standard errors are computed from."""

    @property
    def error_units(self) -> int | None:
        """Number of units that the standard errors are computed from, None if rows are independent."""
        return None

    @classmethod
    def build(cls, model: Any, request: Any) -> Self:
        """Return the evaluator of a request, or raise `RefusalError` with the reason why there is none."""
        evaluator: Any = cls
        built: Self = evaluator(model, request)
        return built

    @classmethod
    def covers(cls, request: Any) -> tuple[int, ...]:
        """Return the numbers of the parts of a request that the evaluator can compute."""
        return (0,)

    @abstractmethod
    def memory(self, threads: int) -> int:
        """Return the maximum memory, in bytes."""

    @abstractmethod
    def shortage(self, needed: float) -> str:
        """Return the error message if ``max_memory`` is below the ``needed`` bytes."""

    @abstractmethod
    def passes(self, threads: int) -> Passes:
        """Yield one `Fold` per pass over the rows, receive its merged state, and return the estimates."""


class SinglePass(StatisticEvaluator):
    """Base class of evaluators that go through the rows once, for a list of grids."""

    request: EvaluationRequest

    @classmethod
    def covers(cls, request: Any) -> tuple[int, ...]:
        """Return the numbers of all grids."""
        return tuple(range(len(request.grids)))

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return int(self.model.n_outputs)

    @cached_property
    def _sizes(self) -> tuple[int, int] | None:
        """Row limit and sketch size of the values collected for quantiles, None if none are collected."""
        return self.request.collects(self.outputs)

    @property
    def parts(self) -> Parts:
        """Groups of grids that are evaluated together, with their number of points: one group by default."""
        return ((tuple(range(len(self.request.grids))), self.request.points),)

    @property
    @abstractmethod
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes."""

    @property
    @abstractmethod
    def state_bytes(self) -> int:
        """Memory of the state of one block."""

    @property
    def held_bytes(self) -> int:
        """Memory held during the pass, without the model."""
        return 0

    @property
    def row_predictions(self) -> int:
        """Predictions per row: none where the structure of the model is read."""
        return 0

    @property
    def predictions(self) -> int:
        """Number of rows that the model predicts."""
        return self.request.n_weighted * self.row_predictions

    @property
    def error_rows(self) -> int:
        """Number of rows that the standard errors are computed from: all with positive weight."""
        return self.request.n_weighted

    @property
    def error_units(self) -> int | None:
        """Number of units that the standard errors are computed from, None if rows are independent."""
        sample = self.request.sample
        return sample.n_units if self.request.dependent and sample is not None else None

    @abstractmethod
    def evaluate(self, block: Block) -> Keyed:
        """Return the states of the block's grids."""

    @abstractmethod
    def finish(self, state: Keyed, threads: int) -> list[Any]:
        """Return the estimate of every grid."""

    def prepare(self) -> None:  # most have nothing to prepare
        """Prepare the evaluator once, before threads use it."""

    def memory(self, threads: int) -> int:
        """Return the maximum memory: the result, and the blocks that are evaluated.

        Further blocks wait for a thread, or their states wait to be merged.
        """
        request = self.request
        block = request.row_bytes * min(request.rows, self.block_rows) if request.out_of_core else 0
        queued = 1 + AHEAD * threads if threads > 1 or request.out_of_core else 1
        waiting = (queued - threads) * max(self.state_bytes, block)
        held = request.result_bytes(self.outputs, self.block_rows, self.state_bytes) + self.held_bytes
        return int(held + threads * (self.worker_bytes + block) + max(0, waiting))

    def shortage(self, needed: float) -> str:
        """Return the error message if ``max_memory`` is below the ``needed`` bytes."""
        request = self.request
        return (
            f"{'the tables of the shortcut need' if self.shortcut else 'the result needs'} "
            f"{format_bytes(needed)} and max_memory is {format_bytes(request.max_memory)}: "
            f"{count(request.points, 'point')}, {count(self.outputs, 'output')}"
            + (f", a curve for each of {request.rows} rows" if request.individual else "")
            + ". Raise max_memory of Explainer, lower grid_resolution"
            + (", leave quantiles out" if request.quantiles is not None else "")
            + (", pass kind='average' or fewer rows" if request.individual else "")
        )

    def passes(self, threads: int) -> Passes:
        """Yield one fold over all rows."""
        self.prepare()
        state = yield Fold("", self, self.block_rows, self.parts, self.request.settings)
        return self.finish(state, threads)


def plain(values: Array) -> Any:
    """Return values in a form that can be digested; arrays of objects become lists."""
    return values.tolist() if values.dtype == object else values


def quantile_state(
    request: EvaluationRequest,
    curves: Floats | None,
    weights: Floats | None,
    values: PointValues | None,
    threads: int,
) -> tuple[Floats | None, float]:
    """Return quantiles ``(o, q, g)`` and their rank error, from all curves or from collected values."""
    if request.quantiles is None:
        return None, 0.0
    if curves is not None:
        return curve_quantiles(curves, weights, request.quantiles.probabilities, threads), 0.0
    assert values is not None
    return values.quantiles(request.quantiles.probabilities, threads)


def row_units(state: Keyed) -> Integers | None:
    """Return the position of the unit of each row, None if rows are independent."""
    keys = state.parts.get(("row units", 0))
    return None if keys is None else np.unique(keys.finish()[0], return_inverse=True)[1]
