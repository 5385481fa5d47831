"""Exact effects and recursion of tree ensembles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from paribus import _budget
from paribus._budget import FLOAT
from paribus._contracts import Array, Floats
from paribus._data.rows import Block
from paribus._evaluators.exact_effects import BLOCKS, ExactEffects
from paribus._evaluators.request import EffectEstimate, EvaluationRequest, SinglePass
from paribus._evaluators.trees.leaf_boxes import ThresholdCells, columns_of, in_tuples
from paribus._evaluators.trees.programs import codes_of, distinct_points, laid_out
from paribus._kernels import kernels
from paribus._kernels.program import PointCodes, Program
from paribus._models import Model, trees_of
from paribus._models.ensemble import Ensemble
from paribus._models.trees import Trees
from paribus._states import CodeTuples, Counts, Keyed
from paribus._states.sums import deviations
from paribus.errors import RefusalError
from paribus.meaning import Estimand

VISIT_BYTES, SLOT_BYTES, EDGE_BYTES = 20, 4, 32
MOST_TUPLES = 100_000  # cells of a feature that owns several columns


@dataclass(frozen=True, eq=False)
class TreeExact(ExactEffects):
    r"""Partial dependence of a sum of trees, exactly, for every grid in one pass over the rows.

    A leaf :math:`l` adds its value where all tests on the way are passed. With the features in S set to
    :math:`x_S`, the rows that reach it are those that pass its tests of the *other* features:

    .. math:: PD_S(x_S) = b + \sum_l v_l \, 1[x_S \text{ passes } l] \, A_l(S)

    where :math:`A_l(S)` is their share of the weight. One pass counts it for every leaf and every set
    requested; without weights these are integers, so that no order of adding changes a bit. The average of a
    response that is no sum over leaves, such as a probability, is taken from every row's own curve, which is
    drawn from the leaves it reaches.
    """

    model: Model
    request: EvaluationRequest
    trees: Trees
    program: Program
    points: tuple[PointCodes, ...]

    name: ClassVar[str] = "tree_exact"
    structure: ClassVar[type | None] = Trees
    row_dtype: ClassVar[str] = "i4"
    how: ClassVar[str] = "counts the rows that can reach each leaf when the features are free"

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> TreeExact:
        """Lay the trees out for the grids, of whose points those are evaluated that some test tells apart."""
        whole = cls.at_all_points(model, request)
        return replace(whole, points=tuple(map(distinct_points, whole.points)))

    @classmethod
    def at_all_points(cls, model: Model, request: EvaluationRequest) -> TreeExact:
        """Lay the trees out for the grids, all points of which are evaluated."""
        trees = trees_of(model)
        program, points = laid_out(trees.ensemble, request.grids, kernels(), request.rows)
        return cls(model, request, trees, program, points)

    def prepare(self) -> None:
        """Find where curves change."""
        if self.request.individual or self.request.quantiles is not None or not self.trees.link.linear:
            self.prepare_curves([group for group, _ in self.groups])

    @property
    def kernels(self) -> ModuleType:
        """The kernels; named rather than held, because a module cannot be shipped."""
        return kernels()

    @property
    def linear(self) -> bool:
        """Whether an average of outputs is the output of averages."""
        return self.trees.link.linear

    @property
    def bound(self) -> float | None:
        """A number that no output exceeds, None where that is not known."""
        return self.trees.bound

    @property
    def row_numbers(self) -> int:
        """Numbers that are kept of a row."""
        return len(self.program.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of points of each grid that are evaluated."""
        return tuple(points.size for points in self.points)

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return self.program.n_margins

    def widened(self, rows: int) -> int:
        """Return more rows where a state is large, so that few are merged."""
        return max(rows, min(-(-self.request.rows // (2 * BLOCKS)), self.program.n_slots // 256))

    @property
    def _deep(self) -> bool:
        """Whether some trees are walked with lists."""
        return self.program.shallow < len(self.program.entries)

    @cached_property
    def held_bytes(self) -> int:
        """The trees as the kernels take them, and where curves change."""
        several = [p for p in self.points if p.size and len(p.axis_first) > 2]
        traced = sum(self.kernels.trace_bytes(self.program, points) for points in several)
        # Of one feature, a slot is visited once and a test adds a few edges.
        slot_bytes = SLOT_BYTES if self._deep and not several else VISIT_BYTES
        traced += slot_bytes * self.program.n_slots + EDGE_BYTES * len(self.program.entries)
        codes = sum(points.nbytes for points in self.points)
        return int(self.program.nbytes + codes + 2 * traced)  # twice while it is sorted

    @property
    def state_bytes(self) -> int:
        """Memory of the state of one block."""
        _, sketches = self.request.collected_bytes(self.model.n_outputs)
        return FLOAT * (self.program.n_slots + 2 * self.request.points * self.model.n_outputs) + sketches

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: codes, lists or masks of rows, a drawing of curves."""
        rows = min(self.block_rows, self.request.rows)
        lists = self.program.mask_bytes + (FLOAT * rows * self.program.levels if self._deep else 0)
        codes = rows * ((FLOAT + 4) * len(self.program.columns) + self.trees.ensemble.prepared_bytes)
        kept = FLOAT * rows * self.request.points * self.model.n_outputs
        kept *= 1 if self.request.individual else 2 * (self.request.quantiles is not None)
        return self.state_bytes + lists + codes + kept + 4 * self.curve_bytes

    @cached_property
    def _traces(self) -> dict[tuple[int, ...], Any]:
        """Where the curves of each group of grids change, of those that were requested."""
        return {}

    def _trace(self, group: tuple[int, ...]) -> Any:
        """Return where the curves of a group change; found at once by several threads, it is the same."""
        if group not in self._traces:
            threads = self.request.threads or _budget.threads(-1)
            points = [self.points[number] for number in group]
            self._traces[group] = self.kernels.trace(self.program, points, threads)
        return self._traces[group]

    def prepare_curves(self, groups: list[tuple[int, ...]]) -> None:
        """Find where the curves of groups of grids change."""
        for group in groups:
            self._trace(group)

    def read(self, block: Block) -> Array:
        """Return the codes of a block's rows; what every grid replaces is not shown to the model."""
        return codes_of(self.program, self.trees.ensemble, block, self.kernels, self._always_free)

    @cached_property
    def _several(self) -> frozenset[int]:
        """The features whose cells are the tuples of codes that occur, as they own several columns."""
        return frozenset(in_tuples(self.program))

    def sums(self, rows: Array, weights: Floats | None) -> dict[tuple[str, int], Any]:
        """Return how many rows reach each leaf with features free, and lie in each cell of a feature."""
        states: dict[tuple[str, int], Any] = {
            ("coverage", 0): Counts(self.kernels.cover(self.program, rows, weights))
        }
        if not self.measured:
            return states
        cells = ThresholdCells(self.program)
        for number, feature in self.measured.items():
            columns = columns_of(self.program, feature)
            if feature in self._several:
                states["tuples", number] = CodeTuples.of(rows[columns], MOST_TUPLES, weights)
            elif columns:
                position = self.program.family.features.index(feature)
                size = int(cells.size[position])
                states["cells", number] = Counts(np.bincount(cells.at(position, rows), weights, size))
        return states

    def strengths(self, state: Keyed, total: float, threads: int) -> list[Floats | None]:
        """Return the standard deviation of each effect, a step function, over the cells of the rows.

        None of a feature that owns several columns with too many combinations.
        """
        share = state.parts["coverage", 0].cells / total
        tuples = {self.measured[n]: found for (name, n), found in state.parts.items() if name == "tuples"}
        cells = ThresholdCells(self.program, {feature: found.tuples for feature, found in tuples.items()})

        def strength(number: int) -> Floats | None:
            feature = self.measured.get(number)
            if feature is None or (feature in tuples and tuples[feature].tuples.shape[1] > MOST_TUPLES):
                return None
            if ("cells", number) not in state.parts and feature not in tuples:
                return np.zeros(self.model.n_outputs)  # no tree tests it
            counted = feature not in tuples
            weight = state.parts["cells", number].cells if counted else tuples[feature].weight
            kept = np.flatnonzero(weight)
            points = cells.points(self.program.family.features.index(feature), kept)
            margins = self.kernels.average(self.program, points, share)
            return deviations(self.trees.outputs(margins), weight[kept])

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(strength, range(len(self.points))))

    def averages(self, state: Keyed, total: float, threads: int) -> list[Floats]:
        """Return the average outputs of each grid, in one pass over the trees for a group of them."""
        if not self.linear:
            return super().averages(state, total, threads)
        share = state.parts["coverage", 0].cells / total
        averages = [np.empty((self.model.n_outputs, 0))] * len(self.points)
        for group, _ in self.groups:
            points = [self.points[number] for number in group]
            margins = self.kernels.averages(self.program, self._trace(group), points, share, threads)
            outputs = self.trees.outputs(margins + self.program.base[:, None])
            for number, own in self._split(group, outputs):
                averages[number] = own
        return averages

    def average_outputs(self, state: Keyed, number: int, total: float) -> Floats:
        """Return the average outputs of a grid, from the share of rows that reach each leaf."""
        share = state.parts["coverage", 0].cells / total
        averages = self.kernels.average(self.program, self.points[number], share)
        return self.trees.outputs(averages + self.program.base[:, None])

    def finish(self, state: Keyed, threads: int = 1) -> list[EffectEstimate]:
        """Return the estimates at all points of the grids."""
        found = super().finish(state, threads)
        return [estimate.spread(points.place) for estimate, points in zip(found, self.points, strict=True)]

    def curves(self, group: tuple[int, ...], rows: Array) -> Floats:
        """Return the outputs of rows at the points of a group of grids."""
        computed = self.kernels.curves(self.program, self._trace(group), rows)
        return self.trees.outputs(computed, overwrite=True)


BLOCK_ROWS = 65_536


@dataclass(frozen=True, eq=False)
class TreeRecursion(SinglePass):
    r"""The path-dependent average of a sum of trees, baseline included.

    .. math:: b + \sum_l v_l \, 1[x_S \text{ passes } l] \prod_{t \notin S} c_t / c_{parent(t)}

    over the tests :math:`t` of other features on the way to leaf :math:`l`, with :math:`c` the training
    weight at a node. No row of ``X`` is evaluated: where features depend on each other this is not the
    brute-force number, and it knows no standard error.
    """

    model: Model
    request: EvaluationRequest
    program: Program
    points: tuple[PointCodes, ...]
    fraction: Floats

    name: ClassVar[str] = "tree_recursion"
    structure: ClassVar[type | None] = Trees
    shortcut: ClassVar[bool] = True
    estimand: ClassVar[Estimand] = Estimand.PATH_DEPENDENT
    threaded: ClassVar[bool] = True
    how: ClassVar[str] = "follows both branches of other features, weighted by the training data"

    @staticmethod
    def _refusal(model: Model, request: EvaluationRequest) -> str | None:
        """Return why training paths do not give what is requested."""
        trees = trees_of(model)
        if request.individual:
            return "training paths have no curve of a single row; request kind='average'"
        if request.quantiles is not None:
            return "training paths have no curves of single rows, so no quantiles; leave quantiles out"
        if request.weighted:
            return "training paths have their own weights; leave sample_weight out"
        if not trees.link.linear:
            return (
                f"recursion averages sums of leaves, to which {model.response} applies a link; where the "
                "model has a decision_function, or is a booster, request response_method='decision_function'"
            )
        cover = trees.ensemble.cover
        if cover is None or not (cover > 0).all():
            return "the model does not record how much of its training data reached each node"
        return None

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> TreeRecursion:
        """Lay the trees out for the grids."""
        refusal = cls._refusal(model, request)
        if refusal is not None:
            raise RefusalError(refusal)
        ensemble = trees_of(model).ensemble
        program, points = laid_out(ensemble, request.grids, kernels())
        return cls(model, request, program, points, _fractions(ensemble))

    @property
    def block_rows(self) -> int:
        """Rows per block, of which only the support is counted."""
        return BLOCK_ROWS

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.model.n_outputs

    @property
    def held_bytes(self) -> int:
        """The trees as the kernels take them."""
        return self.program.nbytes

    @property
    def state_bytes(self) -> int:
        """A number per slot."""
        return FLOAT * self.program.n_slots

    @property
    def worker_bytes(self) -> int:
        """Rows are not evaluated; the shares of leaves are held."""
        return self.state_bytes

    @property
    def error_rows(self) -> int:
        """There is no standard error."""
        return 0

    def evaluate(self, block: Block) -> Keyed:
        """Rows are not read."""
        return Keyed({})

    def finish(self, state: Keyed, threads: int = 1) -> list[EffectEstimate]:
        """Return averages along the paths."""
        share = kernels().weigh(self.program, self.fraction)

        def answer(points: PointCodes) -> EffectEstimate:
            if not points.size:
                none = np.empty((self.model.n_outputs, 0))
                return EffectEstimate(none, none, None)
            average = kernels().average(self.program, points, share) + self.program.base[:, None]
            return EffectEstimate(average, np.full_like(average, np.nan), None)

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(answer, self.points))


def _fractions(ensemble: Ensemble) -> Floats:
    """Return for each node the share of its parent's training weight; 1 at roots."""
    assert ensemble.cover is not None
    inner = np.flatnonzero(ensemble.column >= 0)
    fraction = np.ones(len(ensemble.column))
    for children in (ensemble.left, ensemble.right):
        fraction[children[inner]] = ensemble.cover[children[inner]] / ensemble.cover[inner]
    return fraction
