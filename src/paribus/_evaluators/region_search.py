"""Search for regions in which the individual curves of a feature are alike."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from paribus._budget import AHEAD, FLOAT, format_bytes
from paribus._contracts import Array, Flags, Floats, Integers
from paribus._data.rows import Block, uniform
from paribus._evaluators.additive_exact import exact_of
from paribus._evaluators.brute_force import BruteForce
from paribus._evaluators.exact_effects import ExactEffects
from paribus._evaluators.region_cells import (
    CURVE,
    ROWS,
    SQUARES,
    WEIGHT,
    NodeSplit,
    SplitCells,
    below,
)
from paribus._evaluators.request import EvaluationRequest, Fold, Passes, StatisticEvaluator, plain
from paribus._kernels import kernels
from paribus._models import Model
from paribus._states import Counts, Keyed
from paribus._states.sums import ignore_fp_errors
from paribus._text import count
from paribus.meaning import Estimand

HALVES = 29  # seed of the hash of row numbers that halves the rows
TIE = 1e-12  # relative difference of gains below which the first split is taken
CELL_BYTES = 4  # of the cell of a row
SELECT, MEASURE = 0, 1  # the half that selects splits, and the half that measures them


@dataclass(frozen=True)
class SplitBounds:
    """Least gain of a split: in shares of heterogeneity and prediction variance, and in standard errors.

    ``min_rows`` is the least number of rows of each side in each half.
    """

    min_gain: float
    min_variance: float
    min_errors: float
    min_rows: int


@dataclass(frozen=True, eq=False)
class RegionRequest(EvaluationRequest):
    """Request of regions for the feature of each grid.

    ``shares`` are the weights ``(g,)`` of the points of each grid. ``candidates`` are the numbers of the
    features among ``cells`` by which the regions of each grid may be split. ``variance`` is that of the
    predictions, summed over outputs. A gain of at most ``least_gain``, relative to the weight, is zero.
    """

    statistic: ClassVar[str] = "regions"
    shares: tuple[Floats, ...] = ()
    cells: tuple[SplitCells, ...] = ()
    candidates: tuple[tuple[int, ...], ...] = ()
    max_depth: int = 0
    bounds: SplitBounds = SplitBounds(0.0, 0.0, 0.0, 1)
    variance: float = 0.0
    least_gain: float = 0.0

    @property
    def settings(self) -> tuple[Any, ...]:
        """Options of a stored state, in addition to the rows, the model and the sizes of blocks."""
        cells = [(one.name, one.categories) for one in self.cells]
        options = self.candidates, self.max_depth, self.bounds, self.variance, self.least_gain, cells
        thresholds = (plain(one.thresholds) for one in self.cells)
        return *super().settings, options, *self.shares, *thresholds

    def only(self, numbers: tuple[int, ...]) -> Self:
        """Return the request for some of the grids."""
        return replace(
            super().only(numbers),
            shares=tuple(self.shares[number] for number in numbers),
            candidates=tuple(self.candidates[number] for number in numbers),
        )


@dataclass(frozen=True, eq=False)
class NodeFacts:
    """Facts about the rows of a node.

    ``rows``, ``weight`` and ``heterogeneity``, a sum, are those of both halves. The measuring half, which
    gains are compared with, has the weight ``measured`` and the sum ``measured_heterogeneity``.
    ``mean (v,)`` is the average of its scaled curves.
    """

    rows: int
    weight: float
    heterogeneity: float
    measured: float
    measured_heterogeneity: float
    mean: Floats

    @classmethod
    def of(cls, sums: Floats) -> NodeFacts:
        """Return the facts from the sums ``(2, v)`` of both halves."""
        whole, measuring = sums.sum(axis=0), sums[MEASURE]
        return cls(
            rows=int(whole[ROWS]),
            weight=float(whole[WEIGHT]),
            heterogeneity=_heterogeneity(whole),
            measured=float(measuring[WEIGHT]),
            measured_heterogeneity=_heterogeneity(measuring),
            mean=_mean(measuring),
        )


def _mean(sums: Floats) -> Floats:
    """Return the average of the scaled curves with the sums ``(v,)``, zero without rows."""
    return sums[CURVE:] / sums[WEIGHT] if sums[WEIGHT] > 0 else np.zeros(len(sums) - CURVE)


def _heterogeneity(sums: Floats) -> float:
    """Return the weighted squared distance of scaled curves from their average, from their sums ``(v,)``."""
    return max(0.0, float(sums[SQUARES] - sums[CURVE:] @ _mean(sums)))


@dataclass(frozen=True, eq=False)
class FoundSplit(NodeSplit):
    """The best split of a node, with facts about the node and both sides.

    ``gain`` is a sum over the measuring half, and so is ``error``, its standard error.
    """

    whole: NodeFacts
    sides: tuple[NodeFacts, NodeFacts]
    gain: float
    error: float = np.nan


@dataclass(frozen=True, eq=False)
class RegionEstimate:
    """The kept and rejected splits of a feature in the order of their nodes, and facts about all rows.

    Gains are divided by the weight of the measuring half, and heterogeneity by that of all rows.
    """

    splits: tuple[FoundSplit, ...]
    rejected: tuple[FoundSplit, ...]
    whole: NodeFacts


@dataclass(frozen=True, eq=False)
class SearchTask:
    """Work of one pass for one feature: splits whose errors are measured, and nodes to search.

    ``splits`` lead to the nodes of ``measured``, the best splits of the previous depth. Those of them that
    are ``followed`` lead to the nodes in ``searched``. The sums of a node begin with one cell of all its
    rows, followed by the cells of each candidate. ``first`` is where each of these begins, and the end.
    """

    share: Floats
    candidates: tuple[int, ...]
    first: Integers
    splits: tuple[FoundSplit, ...] = ()
    measured: tuple[FoundSplit, ...] = ()
    followed: tuple[FoundSplit, ...] = ()
    searched: tuple[int, ...] = (1,)

    def scaled(self, outputs: Floats) -> Floats:
        r"""Return centered curves ``(i, o * g)``, times :math:`\sqrt{p_x}`, from outputs ``(o, g, i)``."""
        curves = np.ascontiguousarray(outputs.transpose(2, 0, 1))
        curves -= np.einsum("iog,g->io", curves, self.share)[..., None]
        curves *= np.sqrt(self.share)
        return curves.reshape(len(curves), -1)


@dataclass(frozen=True, eq=False)
class BlockRows:
    """Rows of a block: weights, whether they measure, and the cells ``(c + 1, i)`` of each feature.

    The first feature stands for all rows, which are in one cell.
    """

    weights: Floats
    half: Flags
    cells: Array

    @classmethod
    def of(cls, block: Block, cells: tuple[SplitCells, ...], used: set[int]) -> tuple[BlockRows, Block]:
        """Return the rows of positive weight, and their block."""
        kept = block.weighted()
        positions = kept.positions
        own = np.zeros((len(cells) + 1, len(positions)), np.int32)
        for one in used if len(positions) else ():
            own[one + 1] = cells[one].locate(kept)
        weights = np.ones(len(positions)) if kept.weights is None else kept.weights
        return cls(weights, uniform(positions, HALVES) > 0.5, own), kept

    def half_weight(self) -> Counts:
        """Return the number, the weight and the squared weights of the rows that measure."""
        weights = self.weights[self.half]
        return Counts(np.array([len(weights), weights.sum(), (weights**2).sum()]))


class TaskSums:
    """Sums of a task over the rows of a block, to which portions of rows are added."""

    def __init__(self, task: SearchTask, rows: BlockRows, curve: int) -> None:
        self.task, self.rows = task, rows
        self.columns = np.array([0, *(one + 1 for one in task.candidates)], np.int32)
        self.before = below(task.splits, rows.cells[1:], np.ones(len(rows.weights), np.int64))
        after = below(task.followed, rows.cells[1:], self.before)
        self.groups = np.full(len(after), -1, np.int32)
        for position, node in enumerate(task.searched):
            here = after == node
            self.groups[here] = 2 * position + rows.half[here]
        self.cells = np.zeros((2 * len(task.searched), int(task.first[-1]), CURVE + curve))
        self.squares = np.zeros((len(task.measured), 3))

    def add(self, first: int, outputs: Floats) -> None:
        """Add the curves of some rows, from their outputs ``(o, g, i)``."""
        some = slice(first, first + outputs.shape[-1])
        curves, weights = self.task.scaled(outputs), self.rows.weights[some]
        if self.task.searched:
            squares = np.einsum("iv,iv->i", curves, curves)
            summed = np.column_stack([np.ones(len(weights)), weights, weights * squares])
            values = np.concatenate([summed, weights[:, None] * curves], axis=1)
            cells = np.ascontiguousarray(self.rows.cells[:, some])
            first_cells, groups = self.task.first[:-1], self.groups[some]
            kernels().add_to_cells(values, cells, self.columns, first_cells, groups, self.cells)
        for position, split in enumerate(self.task.measured):
            here = self.rows.half[some] & (self.before[some] == split.node)
            left = split.left[self.rows.cells[split.cells + 1, some][here]]
            mean = np.where(left[:, None], split.sides[0].mean, split.sides[1].mean)
            moved = (2 * curves[here] - mean - split.whole.mean) * (mean - split.whole.mean)
            gains = weights[here] * moved.sum(axis=1)
            self.squares[position] += gains.sum(), (gains**2).sum(), (gains * weights[here]).sum()


@dataclass(frozen=True, eq=False)
class RegionPass:
    r"""One pass of a search: sums over the rows of each cell, and squares of the gains of rows.

    With :math:`z_i` the scaled curve of row i, the gain of a split of R into two sides is a sum over rows,

    .. math:: g_i = w_i (|z_i - m_R|^2 - |z_i - m_{S(i)}|^2)

    where :math:`S(i)` is the side of the row and m are averages over the measuring half.
    """

    source: ExactEffects | BruteForce
    cells: tuple[SplitCells, ...]
    tasks: tuple[SearchTask, ...]

    @ignore_fp_errors()
    def evaluate(self, block: Block) -> Keyed:
        """Return the sums of a block."""
        used = {one for task in self.tasks if task.searched for one in task.candidates}
        used |= {split.cells for task in self.tasks for split in (*task.splits, *task.measured)}
        rows, kept = BlockRows.of(block, self.cells, used)
        if not len(rows.weights):
            return Keyed({})
        outputs = self.source.model.n_outputs
        sums = [TaskSums(task, rows, outputs * len(task.share)) for task in self.tasks]
        for number, first, computed in self.source.row_curves(kept):
            sums[number].add(first, computed)
        states: dict[tuple[str, int], Counts] = {("half", 0): rows.half_weight()}
        for number, own in enumerate(sums):
            states["cells", number] = Counts(own.cells)
            states["squares", number] = Counts(own.squares)
        return Keyed(states)


class FeatureSearch:
    """Search for the regions of one feature: the splits found so far, and the work of the next pass."""

    def __init__(self, request: RegionRequest, number: int) -> None:
        self.request = request
        candidates = request.candidates[number] if request.max_depth else ()
        sizes = [1, *(request.cells[one].n_cells for one in candidates)]
        first = np.append(0, np.cumsum(sizes)).astype(np.int64)
        self.task: SearchTask | None = SearchTask(request.shares[number], candidates, first)
        self.found: list[FoundSplit] = []
        self.half = np.zeros(3)
        self.whole: NodeFacts | None = None

    @ignore_fp_errors()
    def update(self, cells: Floats, squares: Floats, half: Floats, depth: int) -> None:
        """Add the states of a pass at a depth, and set the task of the next one, None without any."""
        task, self.half = self.task, half
        assert task is not None
        for split, sums in zip(task.measured, squares, strict=True):
            self.found.append(replace(split, error=_error(sums, half)))
        best: list[FoundSplit] = []
        for position, node in enumerate(task.searched):
            sums = cells[2 * position : 2 * position + 2]
            self.whole = self.whole or NodeFacts.of(sums[:, 0])
            found = self._best(task, node, sums)
            best += [] if found is None else [found]
        deeper = depth + 1 < self.request.max_depth
        followed = tuple(split for split in best if deeper and self._large(split))
        searched = tuple(node for split in followed for node in (2 * split.node, 2 * split.node + 1))
        splits = (*task.splits, *task.followed)
        self.task = (
            replace(task, splits=splits, measured=tuple(best), followed=followed, searched=searched)
            if best
            else None
        )

    def _best(self, task: SearchTask, node: int, sums: Floats) -> FoundSplit | None:
        """Return the split of a node that gains most on the rows that select, None if there is none."""
        best: tuple[float, int, Flags] | None = None
        least = self.request.least_gain * sums[SELECT, 0, WEIGHT]
        for one, first, stop in zip(task.candidates, task.first[1:-1], task.first[2:], strict=True):
            own = sums[:, first:stop]
            sides = self.request.cells[one].sides(own[SELECT])
            sides = sides[self._allowed(own, sides)]
            if not len(sides):
                continue
            gains = _gains(own[SELECT], sides)
            at = int(np.argmax(gains >= gains.max() * (1 - TIE)))
            if gains[at] > least and (best is None or gains[at] > best[0] * (1 + TIE)):
                best = float(gains[at]), one, sides[at]
        if best is None:
            return None
        _, one, left = best
        position = task.candidates.index(one)
        own = sums[:, task.first[position + 1] : task.first[position + 2]]
        whole, *parts = (NodeFacts.of(own[:, some].sum(axis=1)) for some in (left | True, left, ~left))
        gain = float(_gains(own[MEASURE], left[None])[0])
        return FoundSplit(node, one, left, whole, (parts[0], parts[1]), gain)

    def _allowed(self, sums: Floats, sides: Flags) -> Flags:
        """Return the splits with enough rows on both sides, in both halves."""
        rows = sums[..., ROWS]
        left, right = rows @ sides.T, rows @ ~sides.T
        return np.asarray((np.minimum(left, right) >= self.request.bounds.min_rows).all(axis=0))

    def _large(self, split: FoundSplit) -> bool:
        """Return whether the gain of a split is a large enough share of heterogeneity and variance."""
        bounds, weight = self.request.bounds, self.half[1]
        enough = split.gain >= bounds.min_gain * split.whole.measured_heterogeneity
        return bool(enough and split.gain >= bounds.min_variance * self.request.variance * weight)

    def estimate(self) -> RegionEstimate:
        """Return the splits that pass every bound, and those that fail one below kept splits."""
        kept: list[FoundSplit] = []
        rejected: list[FoundSplit] = []
        for split in sorted(self.found, key=lambda one: one.node):
            if split.node > 1 and all(split.node // 2 != one.node for one in kept):
                continue
            clear = split.gain > self.request.bounds.min_errors * split.error
            (kept if clear and self._large(split) else rejected).append(split)
        assert self.whole is not None
        return RegionEstimate(tuple(kept), tuple(rejected), self.whole)


def _gains(sums: Floats, sides: Flags) -> Floats:
    """Return the gain of each split ``(s, c)`` from the sums ``(c, v)`` of one half."""
    left, right = (np.einsum("sc,cv->sv", some.astype(np.float64), sums) for some in (sides, ~sides))
    weights = [part[:, WEIGHT] for part in (left, right)]
    apart = left[:, CURVE:] / weights[0][:, None] - right[:, CURVE:] / weights[1][:, None]
    squares = np.einsum("sv,sv->s", apart, apart)
    return np.asarray(weights[0] * weights[1] / (weights[0] + weights[1]) * squares)


def _error(sums: Floats, half: Floats) -> float:
    """Return the standard error of a gain, from sums of the gains of rows and the weights of their half."""
    (gain, squares, weighted), (rows, weight, weights) = sums, half
    mean = gain / weight
    spread = squares - 2 * mean * weighted + mean**2 * weights
    return float(np.sqrt(max(0.0, spread) * rows / (rows - 1))) if rows > 1 else np.nan


class RegionSearch(StatisticEvaluator):
    """Base class of evaluators that search for regions: one pass for each depth, and one for errors.

    ``predicted`` has the number of predictions of each pass.
    """

    model: Model
    request: RegionRequest
    predicted: list[int]

    estimand: ClassVar[Estimand] = Estimand.INTERVENTIONAL

    @property
    @abstractmethod
    def source(self) -> ExactEffects | BruteForce:
        """The evaluator of individual curves, with the request of this one."""

    @classmethod
    def covers(cls, request: RegionRequest) -> tuple[int, ...]:
        """Return the numbers of all grids."""
        return tuple(range(len(request.grids)))

    @property
    def threaded(self) -> bool:
        """Whether the evaluator uses every core by default."""
        return self.source.threaded

    @property
    def block_rows(self) -> int:
        """Rows per block."""
        return self.source.block_rows

    @property
    def error_rows(self) -> int:
        """Number of rows that the standard errors are computed from: about half of them."""
        return self.request.n_weighted // 2

    @property
    def predictions(self) -> int:
        """Number of rows that the model predicts, at most; after the search, the number it did predict."""
        return sum(self.predicted) or self.source.predictions * (self.request.max_depth + 1)

    @property
    def state_bytes(self) -> int:
        """Memory of the sums of one pass; the last depth has most nodes."""
        request, halves = self.request, 2 ** max(1, self.request.max_depth)
        total = 0
        for grid, candidates in zip(request.grids, request.candidates, strict=True):
            own = candidates if request.max_depth else ()
            cells = 1 + sum(request.cells[one].n_cells for one in own)
            total += halves * cells * (CURVE + grid.n_points * self.model.n_outputs) * FLOAT
        return total

    def memory(self, threads: int) -> int:
        """Return the maximum memory: sums of the blocks that are evaluated, and that wait to be merged."""
        rows, source = min(self.block_rows, self.request.rows), self.source
        cells = rows * CELL_BYTES * (len(self.request.cells) + 4 * len(self.request.grids))
        block = self.request.row_bytes * rows if self.request.out_of_core else 0
        levels = math.ceil(math.log2(max(2, self.request.rows / self.block_rows))) + 2
        waiting = (levels + AHEAD * threads) * self.state_bytes
        return int(source.held_bytes + waiting + threads * (source.worker_bytes + cells + block))

    def shortage(self, needed: float) -> str:
        """Return the error message if ``max_memory`` is below the ``needed`` bytes."""
        return (
            f"the sums of {count(len(self.request.grids), 'feature')} need {format_bytes(needed)} and "
            f"max_memory is {format_bytes(self.request.max_memory)}; raise it, name fewer features or lower "
            "max_depth"
        )

    def passes(self, threads: int) -> Passes:
        """Yield a pass for each depth while there are splits to follow, and one for the last errors."""
        searches = [FeatureSearch(self.request, number) for number in range(len(self.request.grids))]
        for depth in range(self.request.max_depth + 1):
            active = [number for number, search in enumerate(searches) if search.task is not None]
            if not active:
                break
            some = (
                self
                if len(active) == len(searches)
                else self.build(self.model, self.request.only(tuple(active)))
            )
            source = some.source
            if isinstance(source, ExactEffects):
                source.prepare_curves([group for group, _ in source.groups])
            tasks = [task for search in searches if (task := search.task) is not None]
            evaluator = RegionPass(source, self.request.cells, tuple(tasks))
            state = yield Fold(f"depth-{depth}", evaluator, self.block_rows, settings=self.request.settings)
            self.predicted.append(source.predictions)
            for position, number in enumerate(active):
                cells, squares = (state.parts[name, position].cells for name in ("cells", "squares"))
                searches[number].update(cells, squares, state.parts["half", 0].cells, depth)
        return [search.estimate() for search in searches]


@dataclass(frozen=True, eq=False)
class ExactRegions(RegionSearch):
    """Regions from the structure of a model, which gives the curve of every row without predictions."""

    model: Model
    request: RegionRequest
    built: ExactEffects
    predicted: list[int] = field(default_factory=list)

    name: ClassVar[str] = "exact_regions"
    shortcut: ClassVar[bool] = True
    structure: ClassVar[type | None] = object  # of any kind
    how: ClassVar[str] = "exact, from the structure of the model"

    @classmethod
    def build(cls, model: Model, request: RegionRequest) -> ExactRegions:
        """Return the evaluator, or refuse a model without a structure."""
        return cls(model, request, exact_of(model, request))

    @cached_property
    def source(self) -> ExactEffects:
        """The evaluator of individual curves, with the request of this one."""
        built: Any = self.built
        same: ExactEffects = built if built.request is self.request else replace(built, request=self.request)
        return same


@dataclass(frozen=True, eq=False)
class BruteRegions(RegionSearch):
    """Regions from predictions of every row at every grid point, for any model."""

    model: Model
    request: RegionRequest
    predicted: list[int] = field(default_factory=list)

    name: ClassVar[str] = "brute_regions"
    shortcut: ClassVar[bool] = False
    how: ClassVar[str] = "by brute force, a prediction for each row and grid point in each pass"

    @cached_property
    def source(self) -> BruteForce:
        """The evaluator of individual curves."""
        return BruteForce(self.model, self.request)
