"""Exact and path-dependent effects of tree ensembles."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
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
from paribus._kernels import kernels, prepare
from paribus._kernels.program import PointCodes, Program, joined
from paribus._models import Model, trees_of
from paribus._models.ensemble import Ensemble
from paribus._models.trees import Trees
from paribus._states import CodeTuples, Counts, Keyed
from paribus._states.sums import deviations
from paribus.errors import RefusalError
from paribus.meaning import Estimand

VISIT_BYTES, SLOT_BYTES, EDGE_BYTES = 20, 4, 32
MOST_TUPLES = 100_000  # maximum number of cells of a feature with several columns


@dataclass(frozen=True, eq=False)
class TreeExact(ExactEffects):
    r"""Exact partial dependence of a sum of trees, for every grid in one pass over the rows.

    A leaf :math:`l` adds its value to rows that pass all tests on its path. If the features in S are set to
    :math:`x_S`, the rows that can reach it are those that pass its tests of the *other* features:

    .. math:: PD_S(x_S) = b + \sum_l v_l \, 1[x_S \text{ passes } l] \, A_l(S)

    where :math:`A_l(S)` is their share of the weight. One pass counts it for every leaf and every requested
    set; without weights these are integers, so that the order of additions does not matter. The average of a
    response that is not a sum over leaves, such as a probability, is the average of the curves of all rows.
    """

    model: Model
    request: EvaluationRequest
    trees: Trees
    program: Program
    points: tuple[PointCodes, ...]
    _traces: dict[tuple[Any, ...], Any] = field(default_factory=dict, repr=False)

    name: ClassVar[str] = "tree_exact"
    structure: ClassVar[type | None] = Trees
    row_dtype: ClassVar[str] = "i4"
    how: ClassVar[str] = "exact, from the trees"

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> TreeExact:
        """Return the evaluator of the points of the grids that some test distinguishes."""
        key = (
            id(model),
            tuple((axis.feature, *axis.values.tolist()) for grid in request.grids for axis in grid.axes),
        )
        if key not in request.shared:
            whole = cls.at_all_points(model, request)
            request.shared[key] = replace(whole, points=tuple(map(distinct_points, whole.points)))
        known: TreeExact = request.shared[key]
        return replace(known, request=request)

    @classmethod
    def at_all_points(cls, model: Model, request: EvaluationRequest) -> TreeExact:
        """Return the evaluator of all points of the grids."""
        trees = trees_of(model)
        program, points = laid_out(trees.ensemble, request.grids, kernels(), request.rows)
        lines = all(len(grid.axes) == 1 for grid in request.grids)
        cover = "weighted_cover" if request.weighted else "cover"
        sums = [cover, "cell_averages", *(["line_averages"] if lines else [])] if trees.link.linear else []
        products = [] if request.individual else ["multiply"]
        prepare(program, *sums, "line_curves" if lines else "curves", *products)
        return cls(model, request, trees, program, points)

    @property
    def linear(self) -> bool:
        """Whether the average of outputs equals the output of average margins."""
        return self.trees.link.linear

    @property
    def bound(self) -> float | None:
        """Upper bound of the absolute outputs, None if unknown."""
        return self.trees.bound

    @property
    def row_numbers(self) -> int:
        """Number of values read from a row."""
        return len(self.program.columns)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of evaluated points of each grid."""
        return tuple(points.size for points in self.points)

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return self.program.n_margins

    def widened(self, rows: int) -> int:
        """Return more rows if a state is large, so that fewer states are merged."""
        return max(rows, min(-(-self.request.rows // (2 * BLOCKS)), self.program.n_slots // 256))

    @property
    def _deep(self) -> bool:
        """Whether some trees are evaluated with lists of rows."""
        return self.program.shallow < len(self.program.entries)

    @cached_property
    def held_bytes(self) -> int:
        """Memory of the program, the points, and the traces of curves."""
        several = [p for p in self.points if p.size and len(p.axis_first) > 2]
        traced = sum(kernels().trace_bytes(self.program, points) for points in several)
        # For one feature, a slot is visited once and a test adds a few edges.
        slot_bytes = SLOT_BYTES if self._deep and not several else VISIT_BYTES
        traced += slot_bytes * self.program.n_slots + EDGE_BYTES * len(self.program.entries)
        codes = sum(points.nbytes for points in self.points)
        return int(self.program.nbytes + codes + 2 * traced)  # twice while traces are sorted

    @property
    def state_bytes(self) -> int:
        """Memory of the state of one block."""
        return super().state_bytes + FLOAT * self.program.n_slots

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: codes, lists or masks of rows, and curves."""
        rows = min(self.block_rows, self.request.rows)
        lists = self.program.mask_bytes + (FLOAT * rows * self.program.levels if self._deep else 0)
        codes = rows * ((FLOAT + 4) * len(self.program.columns) + self.trees.ensemble.prepared_bytes)
        return self.state_bytes + lists + codes + self.kept_bytes + 4 * self.curve_bytes

    def _trace(self, group: tuple[int, ...]) -> Any:
        """Return where the curves of a group change; threads may compute the same trace twice."""
        if group not in self._traces:
            threads = self.request.threads or _budget.threads(-1)
            self._traces[group] = kernels().trace(self.program, self._joined(group), threads)
        return self._traces[group]

    def _joined(self, group: tuple[int, ...]) -> list[PointCodes]:
        """Return the points of a group, with those of grids of the same feature joined."""
        same = groupby(group, lambda number: tuple(axis.feature for axis in self.request.grids[number].axes))
        parts = [(features, [self.points[number] for number in numbers]) for features, numbers in same]
        return [
            points
            for features, own in parts
            for points in ([joined(own)] if len(features) == 1 and len(own) > 1 else own)
        ]

    def prepare_curves(self, groups: list[tuple[int, ...]]) -> None:
        """Compute where the curves of groups of grids change."""
        for group in groups:
            self._trace(group)

    def read(self, block: Block) -> Array:
        """Return the codes of a block's rows; features that every grid replaces may have any value."""
        varied = (frozenset(axis.feature for axis in grid.axes) for grid in self.request.grids)
        replaced = frozenset.intersection(*varied)
        return codes_of(self.program, self.trees.ensemble, block, kernels(), replaced)

    def sums(self, rows: Array, weights: Floats | None) -> dict[tuple[str, int], Any]:
        """Return the coverage of leaves, and the weight of the rows in each cell of measured features."""
        states: dict[tuple[str, int], Any] = {
            ("coverage", 0): Counts(kernels().cover(self.program, rows, weights))
        }
        if not self.measured:
            return states
        cells, in_several_columns = ThresholdCells(self.program), in_tuples(self.program)
        for number, feature in self.measured.items():
            columns = columns_of(self.program, feature)
            if feature in in_several_columns:
                states["tuples", number] = CodeTuples.of(rows[columns], MOST_TUPLES, weights)
            elif columns:
                position = self.program.family.features.index(feature)
                size = int(np.prod(self.program.n_codes[list(columns)], dtype=np.int64))
                states["cells", number] = Counts(np.bincount(cells.at(position, rows), weights, size))
        return states

    def strengths(self, state: Keyed, total: float, threads: int) -> list[Floats | None]:
        """Return the standard deviation of each effect, a step function, over the cells of the rows.

        None for a feature with several columns that have too many combinations of codes.
        """
        share = state.parts["coverage", 0].cells / total
        measured = self.measured
        tuples = {measured[n]: found for (name, n), found in state.parts.items() if name == "tuples"}
        cells = ThresholdCells(self.program, {feature: found.tuples for feature, found in tuples.items()})
        positions = {feature: position for position, feature in enumerate(self.program.family.features)}
        lone = [positions[f] for f in measured.values() if self._has_thresholds_only(f)]
        along = dict(zip(lone, kernels().cell_averages(self.program, lone, share), strict=True))

        def strength(number: int) -> Floats | None:
            feature = measured.get(number)
            if feature is None or (feature in tuples and tuples[feature].tuples.shape[1] > MOST_TUPLES):
                return None
            if ("cells", number) not in state.parts and feature not in tuples:
                return np.zeros(self.model.n_outputs)  # no tree tests it
            counted, position = feature not in tuples, positions[feature]
            weight = state.parts["cells", number].cells if counted else tuples[feature].weight
            kept = np.flatnonzero(weight)
            if position in along:
                margins = along[position][:, kept]
            else:
                margins = kernels().average(self.program, cells.points(position, kept), share)
            return deviations(self.trees.outputs(margins), weight[kept])

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(strength, range(len(self.points))))

    def _has_thresholds_only(self, feature: int) -> bool:
        """Return whether a feature has one column of codes, which is not nominal."""
        columns = columns_of(self.program, feature)
        return len(columns) == 1 and not self.program.columns[columns[0]].is_nominal

    def averages(self, state: Keyed, total: float, threads: int) -> list[Floats]:
        """Return the average outputs of each grid, in one pass over the trees for a group of them."""
        if not self.linear:
            return super().averages(state, total, threads)
        share = state.parts["coverage", 0].cells / total
        averages = [np.empty((self.model.n_outputs, 0))] * len(self.points)
        for group, _ in self.groups:
            points, trace = self._joined(group), self._trace(group)
            margins = kernels().averages(self.program, trace, points, share, threads)
            outputs = self.trees.outputs(margins + self.program.base[:, None])
            for number, own in self._split(group, outputs):
                averages[number] = own
        return averages

    def average_outputs(self, state: Keyed, number: int, total: float) -> Floats:
        """Return the average outputs of a grid, from the share of rows that reach each leaf."""
        share = state.parts["coverage", 0].cells / total
        averages = kernels().average(self.program, self.points[number], share)
        return self.trees.outputs(averages + self.program.base[:, None])

    def finish(self, state: Keyed, threads: int = 1) -> list[EffectEstimate]:
        """Return the estimates at all points of the grids."""
        found = super().finish(state, threads)
        return [estimate.spread(points.place) for estimate, points in zip(found, self.points, strict=True)]

    def multiply(self, curves: Floats) -> Floats:
        """Return the sums over rows of products of points, ``(o, g, g)`` of curves ``(o, g, i)``."""
        products: Floats = kernels().multiply(curves)
        return products

    def curves(self, group: tuple[int, ...], rows: Array) -> Floats:
        """Return the outputs of rows at the points of a group of grids."""
        computed = kernels().curves(self.program, self._trace(group), rows)
        return self.trees.outputs(computed, overwrite=True)


@dataclass(frozen=True, eq=False)
class TreeRecursion(SinglePass):
    r"""The path-dependent average of a sum of trees, baseline included.

    .. math:: b + \sum_l v_l \, 1[x_S \text{ passes } l] \prod_{t \notin S} c_t / c_{parent(t)}

    over the tests :math:`t` of other features on the path to leaf :math:`l`, with :math:`c` the training
    weight at a node. No row of ``X`` is evaluated. If features are dependent, the result differs from brute
    force, and there is no standard error.
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
    block_rows: ClassVar[int] = 65_536  # of which only the support is counted
    error_rows: ClassVar[int] = 0  # there is no standard error
    how: ClassVar[str] = "from the paths of the trees, weighted by the training data"

    @staticmethod
    def _refusal(model: Model, request: EvaluationRequest) -> str | None:
        """Return why training paths do not give the requested result, None if they do."""
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
        """Return the evaluator, or refuse requests that training paths cannot serve."""
        refusal = cls._refusal(model, request)
        if refusal is not None:
            raise RefusalError(refusal)
        ensemble = trees_of(model).ensemble
        program, points = laid_out(ensemble, request.grids, kernels())
        return cls(model, request, program, points, _fractions(ensemble))

    @property
    def held_bytes(self) -> int:
        """Memory of the program."""
        return self.program.nbytes

    @property
    def state_bytes(self) -> int:
        """Memory of one float per slot."""
        return FLOAT * self.program.n_slots

    @property
    def worker_bytes(self) -> int:
        """Memory of the shares of leaves; rows are not evaluated."""
        return self.state_bytes

    def evaluate(self, block: Block) -> Keyed:
        """Return no states, because rows are not read."""
        return Keyed({})

    def finish(self, state: Keyed, threads: int = 1) -> list[EffectEstimate]:
        """Return averages along the training paths."""
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
