"""Requests of effects."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Generator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, TypeAlias

import numpy as np

from paribus._budget import AHEAD, FLOAT, format_bytes
from paribus._contracts import Array, Evaluator, Floats, Integers
from paribus._data.rows import ONE_PART, Background, Block, Parts, Rows, Sample
from paribus._grid import Grid
from paribus._states import Keyed, PointValues, curve_quantiles
from paribus._text import count
from paribus._typing import Curves
from paribus.meaning import Estimand

CAPACITY = 4_096  # numbers kept at each point where not every row's prediction is: 0.1 % of the ranks or less
LEAST_CAPACITY = 16
CALLS_FIRST = 64  # times calls and drawings get smaller, which changes no number, before blocks do
MOST_CUTS = 64 * CALLS_FIRST  # times they get smaller at most
DEARER = 10  # times a shortcut that evaluating the model may cost without a warning
SKETCHES = 16  # as many sketches as fill the memory for them: a state per level of merges, half of them full


@dataclass(frozen=True)
class QuantileRequest:
    """Which quantiles of the rows' curves are wanted, and in how many bytes to hold what they need.

    The bytes are the user's, or fixed: the free memory, which is never the same, must not change the
    estimate.
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
        """Return the rows whose curves may be held while a block is evaluated."""
        return max(1, self.most_bytes // (SKETCHES * FLOAT * max(1, points) * outputs))


@dataclass(frozen=True, eq=False)
class EvaluationRequest:
    """Grids to evaluate on ``rows`` rows of ``row_bytes`` each, ``n_weighted`` of them with positive weight.

    ``threads`` None leaves their number to the evaluator. ``sample`` are the rows whose curves give the
    standard errors of averages that need no curves, None for all. ``out_of_core`` says that rows are not in
    memory, so that blocks that wait for a thread are. ``quantiles`` requests quantiles of the rows' curves.

    What is worked on at once has fixed sizes, so that memory changes no number, divided by ``cut``, a power
    of two: first what one call or drawing takes, and beyond `CALLS_FIRST` also blocks, which changes how sums
    are rounded. Blocks are only cut for a memory bound that the user gave. ``few_calls`` says that a call of
    the model is expensive however few rows it predicts. ``background`` are the rows of the passes, None for
    all rows of the run. ``strengths`` requests the standard deviation of each effect over the rows, where the
    structure of the model gives it.
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
    few_calls: bool = False
    background: Background | None = None
    strengths: bool = False

    def among(self, rows: Rows) -> Self:
        """Return the request for some rows in memory, all of which count."""
        size = len(rows)
        return replace(
            self, rows=size, n_weighted=size, weighted=rows.weighted, sample=None, out_of_core=False
        )

    @property
    def cuts(self) -> tuple[int, ...]:
        """How often sizes may be cut, until what is evaluated fits the memory bound."""
        most = MOST_CUTS if self.memory_was_given else CALLS_FIRST
        return tuple(2**power for power in range(most.bit_length()))

    @property
    def block_cut(self) -> int:
        """Times that blocks are smaller."""
        return max(1, self.cut // CALLS_FIRST)

    @property
    def individual(self) -> bool:
        """Whether every row's own curve is wanted."""
        return self.kind != "average"

    @cached_property
    def points(self) -> int:
        """Number of points over all grids."""
        return sum(grid.n_points for grid in self.grids)

    def collects(self, outputs: int) -> tuple[int, int] | None:
        """Return the sizes of what is collected for the spread; None where no fold needs to collect it."""
        if self.quantiles is None or self.individual:  # whose curves are at hand
            return None
        return self.quantiles.sizes(self.n_weighted, self.points, outputs)

    @property
    def n_parts(self) -> int:
        """Number of grids."""
        return len(self.grids)

    @property
    def n_results(self) -> int:
        """Number of effects; a grid of values beyond another has the features of that."""
        return len({grid.names for grid in self.grids})

    @property
    def settings(self) -> tuple[Any, ...]:
        """All that a kept state depends on besides the rows, the model and how both are cut."""
        points = [cells.values for grid in self.grids for cells in grid.replacements.values()]
        shapes = [(grid.names, grid.n_points) for grid in self.grids]
        sample = self.sample.numbers if self.sample is not None else ()
        return (self.kind, self.quantiles, self.strengths, shapes), sample, *map(plain, points)

    def only(self, numbers: tuple[int, ...]) -> Self:
        """Return the request for some of the grids."""
        return replace(self, grids=tuple(self.grids[number] for number in numbers))

    def result_bytes(self, outputs: int, block_rows: int, state_bytes: int) -> int:
        """Return the memory of the result: curves twice, while they are joined, and states to be merged.

        The tree of merges holds one state per level.
        """
        cell = FLOAT * outputs * self.points
        levels = math.ceil(math.log2(max(2, self.rows / block_rows))) + 2
        collected, _ = self.collected_bytes(outputs)
        return state_bytes * levels + collected + (2 * cell * self.rows if self.individual else 0)

    def collected_bytes(self, outputs: int) -> tuple[int, int]:
        """Return the memory of what is collected in all, and in each state."""
        sizes, cell = self.collects(outputs), FLOAT * self.points * outputs
        if sizes is None:
            return 0, 0
        most, capacity = sizes
        return (most * cell, 0) if most >= self.n_weighted else (0, 2 * capacity * cell)


@dataclass(frozen=True, eq=False)
class EffectEstimate:
    """The estimate of one grid: average and error ``(o, g)``, and curves ``(o, n, g)`` when requested.

    ``quantiles (o, q, g)`` of all rows' curves have ranks that may be off by ``rank_error`` as a share of the
    weight. ``row_weights (n,)`` are those of the curves, None when all count the same. ``by_model (m, o, g)``
    are the averages of each of several models, whose mean ``average`` then is. ``strength (o,)`` is the
    standard deviation of the effect at every row's own value, None where that is not known.
    """

    average: Floats
    standard_error: Floats
    individual: Floats | None
    quantiles: Floats | None = None
    rank_error: float = 0.0
    row_weights: Floats | None = None
    by_model: Floats | None = None
    strength: Floats | None = None

    def spread(self, place: Integers | None) -> EffectEstimate:
        """Return the estimate at points of which some have the same numbers; ``place (g,)`` are theirs."""
        if place is None:
            return self
        average, error = np.take(self.average, place, axis=-1), np.take(self.standard_error, place, axis=-1)
        curves, quantiles = (
            None if array is None else np.take(array, place, axis=-1)
            for array in (self.individual, self.quantiles)
        )
        return replace(self, average=average, standard_error=error, individual=curves, quantiles=quantiles)


@dataclass(frozen=True, eq=False)
class Fold:
    """One pass over the rows: blocks of ``block_rows``, each once per part, are evaluated and merged.

    ``name`` distinguishes it from others of the same evaluator, ``settings`` are all that its states depend
    on besides the rows, the model and how the rows are cut. ``preview`` is what is known of the estimates
    before it, for statistics that depend on them and share its read.
    """

    name: str
    evaluator: Evaluator[Block, Keyed]
    block_rows: int
    parts: Parts = ONE_PART
    settings: tuple[Any, ...] = ()
    preview: Any = None


Passes: TypeAlias = Generator[Fold, Keyed, Any]


class Request(Protocol):
    """What is requested of an evaluator, whatever the statistic.

    ``max_memory`` is kept by cutting sizes ``cut`` times, as often as ``cuts`` allow; ``background`` are the
    rows its passes go through, None for all rows of the run. It may be divided into ``n_parts``, each of
    which another evaluator may compute.
    """

    statistic: ClassVar[str]

    @property
    def background(self) -> Background | None:
        """The rows its passes go through, None for all."""

    @property
    def max_memory(self) -> int:
        """Bytes that may be held."""

    @property
    def memory_was_given(self) -> bool:
        """Whether the user gave the bound, which is half of the free memory otherwise."""

    @property
    def threads(self) -> int | None:
        """Number of threads, None to leave it to the evaluator."""

    @property
    def cut(self) -> int:
        """How often sizes are cut."""

    @property
    def cuts(self) -> tuple[int, ...]:
        """How often they may be."""

    @property
    def n_parts(self) -> int:
        """Into how many requests it may be divided."""

    @property
    def n_results(self) -> int:
        """Number of results."""

    @property
    def points(self) -> int:
        """Number of points at which the model is evaluated."""

    @property
    def settings(self) -> tuple[Any, ...]:
        """All that a kept state depends on besides the rows, the model and how both are cut."""

    def only(self, numbers: tuple[int, ...]) -> Self:
        """Return the request for some of its parts."""


class StatisticEvaluator(Protocol):
    """A way to compute a statistic of one model: it refuses with a reason, or gives the defined number.

    It is built for one request, shipped to workers, and holds no table. ``shortcut`` distinguishes it from
    evaluating the model itself; ``structure`` is the kind of structure it reads off a model, None if it reads
    none; one of another ``estimand`` is only taken by name; ``threaded`` ones take every core by default.
    ``block_rows`` depends on the request alone, never on the number of workers.
    """

    name: ClassVar[str]
    shortcut: ClassVar[bool]
    structure: ClassVar[type | None]
    estimand: ClassVar[Estimand]

    @property
    def how(self) -> str:
        """What it does, in words."""
        ...

    @property
    def threaded(self) -> bool:
        """Whether it takes every core by default."""
        ...

    @property
    def request(self) -> Request:
        """What is requested, and how often sizes are cut."""
        ...

    @property
    def block_rows(self) -> int:
        """Rows per block."""
        ...

    @property
    def predictions(self) -> int:
        """Rows the model will predict."""
        ...

    @property
    def calls(self) -> int:
        """Calls of the model that takes."""
        ...

    @property
    def error_rows(self) -> int:
        """Rows the standard errors are computed from."""
        ...

    @classmethod
    def build(cls, model: Any, request: Any) -> Self:
        """Prepare, or raise `RefusalError` with the reason why it cannot."""
        ...

    @classmethod
    def covers(cls, request: Any) -> tuple[int, ...]:
        """Return the numbers of the requested grids that it can evaluate."""
        ...

    def memory(self, threads: int) -> int:
        """Return the memory it takes at most, in bytes."""
        ...

    def shortage(self, needed: float) -> str:
        """Return what to say where the memory bound is below what is ``needed``."""
        ...

    def fallback(self, short: str) -> str | None:
        """Return what to warn of before it begins because a shortcut was ``short`` of memory."""
        ...

    def passes(self, threads: int) -> Passes:
        """Yield one `Fold` per pass over the rows, receive its merged state, and return the estimates."""
        ...


class SinglePass(ABC):
    """What evaluators share that go through the rows once, for a list of grids."""

    name: ClassVar[str]
    shortcut: ClassVar[bool]
    structure: ClassVar[type | None] = None
    shortcut_passes: ClassVar[int] = 1  # predictions that a shortcut for all grids takes the time of
    request: EvaluationRequest

    @classmethod
    def covers(cls, request: EvaluationRequest) -> tuple[int, ...]:
        """Return the numbers of all grids."""
        return tuple(range(len(request.grids)))

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Number of outputs."""

    @property
    @abstractmethod
    def block_rows(self) -> int:
        """Rows per block; depends on the request, never on the number of workers."""

    @property
    def parts(self) -> Parts:
        """Groups of grids that a block is evaluated for, with their points: all together."""
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
        """Memory held all the time: nothing but the model, which is the user's."""
        return 0

    @property
    def row_predictions(self) -> int:
        """Predictions that each row takes: none where the structure of the model is read."""
        return 0

    @property
    def predictions(self) -> int:
        """Rows the model will predict: none where its structure is read."""
        return 0

    @property
    def calls(self) -> int:
        """Number of predicts: none where the structure of the model is read."""
        return 0

    @property
    def error_rows(self) -> int:
        """Rows the standard errors are computed from: every row with positive weight."""
        return self.request.n_weighted

    @abstractmethod
    def evaluate(self, block: Block) -> Keyed:
        """Return the states of the block's grids."""

    @abstractmethod
    def finish(self, state: Keyed, threads: int) -> list[Any]:
        """Return the estimate of every grid."""

    def prepare(self) -> None:  # noqa: B027  # most have nothing to prepare
        """Do once what threads would each do."""

    def memory(self, threads: int) -> int:
        """Return the memory it takes at most: the result, and blocks that are evaluated.

        Beside those that threads evaluate, blocks wait to be, or their states to be merged.
        """
        request = self.request
        block = request.row_bytes * min(request.rows, self.block_rows) if request.out_of_core else 0
        queued = 1 + AHEAD * threads if threads > 1 or request.out_of_core else 1
        waiting = (queued - threads) * max(self.state_bytes, block)
        held = request.result_bytes(self.outputs, self.block_rows, self.state_bytes) + self.held_bytes
        return int(held + threads * (self.worker_bytes + block) + max(0, waiting))

    def shortage(self, needed: float) -> str:
        """Return what to say where the memory bound is below what is ``needed``."""
        request = self.request
        return (
            f"{'the tables of the shortcut need' if self.shortcut else 'the result needs'} "
            f"{format_bytes(needed)} and max_memory is {format_bytes(request.max_memory)}: "
            f"{count(request.points, 'point')}, {count(self.outputs, 'output')}"
            + (f", a curve for each of {request.rows} rows" if request.individual else "")
            + ". Raise max_memory, lower grid_resolution"
            + (", leave quantiles out" if request.quantiles is not None else "")
            + (", pass kind='average' or fewer rows" if request.individual else "")
        )

    def fallback(self, short: str) -> str | None:
        """Return what to warn of before it begins because a shortcut was ``short`` of memory.

        None where it predicts the rows hardly more often than the shortcut goes through them.
        """
        passes = self.predictions / max(1, self.shortcut_passes * self.request.n_weighted)
        if passes <= DEARER:
            return None
        return (
            f"max_memory is too small for the shortcut, so the model is evaluated about {passes:,.0f} times "
            f"on every row, where the shortcut takes about as long as one such pass ({short})"
        )

    def passes(self, threads: int) -> Passes:
        """Go through the rows once."""
        self.prepare()
        state = yield Fold("", self, self.block_rows, self.parts, self.request.settings)
        return self.finish(state, threads)


def plain(values: Array) -> Any:
    """Return values as what a digest takes: text and objects have no bytes of their own."""
    return values.tolist() if values.dtype == object else values


def quantile_state(
    request: EvaluationRequest,
    curves: Floats | None,
    weights: Floats | None,
    values: PointValues | None,
    threads: int,
) -> tuple[Floats | None, float]:
    """Return quantiles ``(o, q, g)`` and the error of their ranks, from all curves or from what was kept."""
    if request.quantiles is None:
        return None, 0.0
    if curves is not None:
        return curve_quantiles(curves, weights, request.quantiles.probabilities, threads), 0.0
    assert values is not None
    return values.quantiles(request.quantiles.probabilities, threads)
