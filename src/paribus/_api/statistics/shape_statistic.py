"""Individual curves of some rows, for standard errors of differences along partial dependences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

import numpy as np

from paribus._api.combine import label
from paribus._api.run import ModelEstimates, Rounds, RunContext, each_model, evaluate_model
from paribus._api.runner import Pass
from paribus._api.statistics.axis_options import AxisOptions, Groups
from paribus._api.statistics.effects_statistic import LEAST_SAMPLE, EffectsStatistic
from paribus._budget import FLOAT
from paribus._contracts import Floats
from paribus._data.rows import Rows, Sample
from paribus._data.scan.model_table import ModelTable
from paribus._data.summary import SEED, SummarySpec
from paribus._evaluators.request import EvaluationRequest, StatisticEvaluator
from paribus._evaluators.support import RowsTaker
from paribus._grid import Axis, Grid
from paribus._kernels import reference
from paribus._states import CurveProducts, Keyed
from paribus.errors import OptionError
from paribus.results.curve_values import CurveCovariance

EXTRA = 8  # brute force uses the number of rows divided by this
LEAST_ROWS = 128  # minimum number of rows, with which standard errors have a relative error of about 6 %
MOST_NUMBERS = 2**24  # limit on the points of all curves, over rows, features, outputs and models
LEAST_PAIR = 2  # smallest number of rows with a standard error
CURVE_BYTES = 64_000_000  # memory of curves that are held at once
CURVE_SHARE = 8  # with max_memory, at most max_memory divided by this


@dataclass(frozen=True, eq=False)
class ShapeStatistic:
    """Covariances of the points of each partial dependence, from the individual curves of some rows.

    The rows are those of the standard errors of exact effects, and the grids are those of the effects. Fewer
    rows are used for very many features and outputs, and for brute force. ``declared`` are the features with
    a direction in ``monotone=``.
    """

    groups: Groups
    axes: AxisOptions
    method: str = "auto"
    declared: frozenset[str] = frozenset()

    verb: ClassVar[str] = "shapes"
    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    needs_target: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True

    @classmethod
    def beside(cls, effects: EffectsStatistic, declared: Iterable[str] = ()) -> ShapeStatistic:
        """Return the statistic for the effects of single features, on their grids."""
        single = tuple(group for group in effects.groups if len(group) == 1)
        method = "auto" if effects.method == "recursion" else effects.method
        return cls(single, effects.axes, method, frozenset(declared))

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """The summary that it needs of each feature."""
        return self.axes.wanted

    @property
    def reads_trees(self) -> bool:
        """Whether it probably uses the trees of a model, which are then read in advance."""
        return self.method != "brute"

    def evaluate(self, context: RunContext) -> Rounds:
        """Sample rows, then evaluate their curves for as many grids at a time as memory allows."""
        axes, _ = self.axes.laid_out(context)
        _check_ordered(axes.values(), self.declared)
        grids = tuple(Grid((axes[j],)) for (j,) in self.groups if j in axes)
        samples = self._samples(context, grids)
        taken = yield from _rows_of_samples(context, samples)
        found: dict[str, CurveCovariance] = {}
        for some in _portions(grids, context, len(samples[0].numbers)):
            estimated = yield from each_model(
                [self._curves(context, some, taken, index) for index in range(len(context.models))]
            )
            each = partial(_curve_covariance, context, samples, estimated)
            covariances = context.pool.map(each, range(len(some)), some)
            found |= {grid.names[0]: own for grid, own in zip(some, covariances, strict=True)}
        return lambda: found

    def _samples(self, context: RunContext, grids: tuple[Grid, ...]) -> list[Sample]:
        """Return the sample for shortcuts, and the one for brute force, which may be the same.

        All models of a list use the same rows.
        """
        counted, points = context.rows.n_weighted, max(1, sum(grid.n_points for grid in grids))
        cheap = max(LEAST_ROWS, FLOAT * MOST_NUMBERS // (points * _number_bytes(context)))
        largest = max((grid.n_points for grid in grids), default=1)
        held = max(LEAST_PAIR, _curve_bytes(context) // (_number_bytes(context) * max(1, largest)))
        many = min(counted, LEAST_SAMPLE, cheap, held)
        few = min(many, max(LEAST_ROWS, counted // EXTRA))
        return [context.rows.sample(size, SEED) for size in (few if context.several else many, few)]

    def _curves(self, context: RunContext, grids: tuple[Grid, ...], taken: list[Rows], index: int) -> Rounds:
        """Return the individual curves of one model."""
        many, few = (partial(_request, context, grids, rows) for rows in (taken[0], taken[-1]))

        def requested(candidate: type[StatisticEvaluator] | None) -> EvaluationRequest:
            return few() if candidate is not None and not candidate.shortcut else many()

        name = label(self.verb, index, len(context.models))
        estimated = yield from evaluate_model(context, context.models[index], requested, self.method, name)
        return estimated


def _check_ordered(axes: Iterable[Axis], declared: frozenset[str]) -> None:
    """Raise if a feature with a declared direction has unordered categories."""
    for axis in axes:
        if axis.name in declared and not axis.ordered:
            raise OptionError(
                f"monotone declares a direction of {axis.name!r}, whose categories have no order; omit it, "
                "or make it an ordered categorical in X"
            )


def _request(context: RunContext, grids: tuple[Grid, ...], rows: Rows) -> EvaluationRequest:
    """Return the request for individual curves of some rows."""
    size, table = len(rows), rows.table
    sizes = size, size, table.row_bytes, context.memory, context.threads
    return EvaluationRequest(
        grids, "individual", *sizes, memory_was_given=context.memory_was_given, background=rows
    )


def _rows_of_samples(context: RunContext, samples: list[Sample]) -> Rounds:
    """Return the rows of each sample in memory, without weights; out-of-core data takes one pass."""
    rows = context.rows
    numbers = np.unique(np.concatenate([sample.numbers for sample in samples]))
    if isinstance(rows, Rows):
        mask = np.zeros(len(rows), dtype=bool)
        mask[numbers] = True
        table = rows.table.keep(mask)
    else:
        taker = RowsTaker(numbers, cast(ModelTable, rows.table), rows.weight_scale)
        blocks = rows.blocks(taker.block_rows)
        (state,) = yield [Pass("shapes-rows", taker, blocks, context.threads or 1, rows=rows)]
        assert isinstance(state, Keyed)
        table = taker.finish(state).table
    own = (table.keep(np.isin(numbers, sample.numbers)) for sample in samples)
    return [Rows(some, None, rows.weight_scale) for some in own]


def _portions(grids: tuple[Grid, ...], context: RunContext, rows: int) -> Iterator[tuple[Grid, ...]]:
    """Yield groups of grids, in order, whose curves fit in memory."""
    most = _curve_bytes(context) // (_number_bytes(context) * max(1, rows))
    some: list[Grid] = []
    for grid in grids:
        if some and sum(one.n_points for one in some) + grid.n_points > most:
            yield tuple(some)
            some = []
        some.append(grid)
    yield tuple(some)


def _curve_bytes(context: RunContext) -> int:
    """Return the memory for curves; without ``max_memory`` it is fixed, so that results are reproducible."""
    return min(CURVE_BYTES, context.memory // CURVE_SHARE) if context.memory_was_given else CURVE_BYTES


def _number_bytes(context: RunContext) -> int:
    """Return the bytes of one point of one row, over all outputs and models."""
    return FLOAT * context.models[0].n_outputs * len(context.models)


def _curve_covariance(
    context: RunContext, samples: list[Sample], estimated: Sequence[ModelEstimates], number: int, grid: Grid
) -> CurveCovariance:
    """Return the covariance of the points of one grid, without the point of the missing value."""
    rows, points = context.rows, len(grid.axes[0].values)
    each = [one.estimates[number].individual[..., :points] for one in estimated]
    curves: Floats = each[0] if len(each) == 1 else sum(each) / len(each)  # shape (o, i, g)
    sample = next(one for one in samples if len(one.numbers) == curves.shape[1])
    products = CurveProducts.of(curves.transpose(0, 2, 1), sample.squares, reference.multiply)
    return CurveCovariance(products, rows.total, len(sample.squares), rows.n_weighted)
