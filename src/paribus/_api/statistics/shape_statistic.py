"""Individual curves of some rows, for standard errors of differences along partial dependences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, cast

import numpy as np

from paribus._api.combine import label
from paribus._api.run import ModelEstimates, Rounds, RunContext, Verification, each_model, evaluate_model
from paribus._api.runner import Pass
from paribus._api.statistics.axis_options import AxisOptions, Groups
from paribus._api.statistics.effects_statistic import SAMPLE, EffectsStatistic
from paribus._budget import FLOAT
from paribus._contracts import Floats
from paribus._data.rows import Rows, Sample
from paribus._data.scan.model_table import ModelTable
from paribus._evaluators.planner import Plan, choose
from paribus._evaluators.request import EvaluationRequest, StatisticEvaluator
from paribus._evaluators.support import RowsTaker
from paribus._evaluators.survey import SEED, SummarySpec
from paribus._grid import Axis, Grid
from paribus._states import Keyed
from paribus.errors import MemoryBoundError, OptionError, RefusalError
from paribus.results.curve_values import CurveCovariance

EXTRA = 8  # one part in so many of the rows is predicted once more where the model itself is evaluated,
LEAST_ROWS = 128  # but at least so many, whose standard errors are known to about 6 %
MOST_NUMBERS = 2**24  # points of curves, over all rows, features, outputs and models; beyond that, fewer rows
LEAST_PAIR = 2  # of one row there is no standard error
CURVE_BYTES = 64_000_000  # of curves that are held at once, or where there is a bound:
CURVE_SHARE = 8  # one part in so many of it


@dataclass(frozen=True, eq=False)
class ShapeStatistic:
    """Covariances of the points of each partial dependence, from the individual curves of some rows.

    The rows are those that exact effects have their standard errors from, and all points are those of the
    effects; there are fewer rows of very many features and outputs, and where the model itself is evaluated,
    which predicts no more than ``max_predictions`` in all. ``declared`` are the features that the user
    declares a direction of.
    """

    groups: Groups
    axes: AxisOptions
    method: str = "auto"
    max_predictions: int | None = None
    declared: frozenset[str] = frozenset()

    verb: ClassVar[str] = "shapes"
    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    needs_target: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True

    @classmethod
    def beside(cls, effects: EffectsStatistic, declared: Iterable[str] = ()) -> ShapeStatistic:
        """Return the statistic for the effects of single features, on the grids that these have."""
        single = tuple(group for group in effects.groups if len(group) == 1)
        most = None if effects.max_predictions is None else effects.max_predictions // EXTRA
        method = "auto" if effects.method == "recursion" else effects.method
        return cls(single, effects.axes, method, most, frozenset(declared))

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """What a survey must find out about which feature."""
        return self.axes.wanted

    @property
    def reads_trees(self) -> bool:
        """Whether the trees of a model are likely needed, so that they are read ahead."""
        return self.method != "brute"

    def verification(self, context: RunContext, plans: Sequence[Plan]) -> Verification:
        """Return that nothing is verified: the effects are."""
        return Verification()

    def evaluate(self, context: RunContext) -> Rounds:
        """Take the rows, then evaluate their curves, as many grids at a time as memory allows."""
        axes, _ = self.axes.laid_out(context)
        _check_ordered(axes.values(), self.declared)
        grids = tuple(Grid((axes[j],)) for (j,) in self.groups if j in axes)
        samples = self._samples(context, grids)
        if not samples:
            return dict
        taken = yield from _taken(context, samples)
        found: dict[str, CurveCovariance] = {}
        for some in _portions(grids, context, len(samples[0].numbers)):
            estimated = yield from each_model(
                [self._curves(context, some, taken, index) for index in range(len(context.models))]
            )
            each = partial(_covariance, context, samples, estimated)
            covariances = context.pool.map(each, range(len(some)), some)
            found |= {grid.names[0]: own for grid, own in zip(some, covariances, strict=True)}
        return lambda: found

    def _samples(self, context: RunContext, grids: tuple[Grid, ...]) -> list[Sample]:
        """Return the rows for shortcuts, and those that the model itself predicts, which may be the same.

        All models of a list have the same rows. There are none where the model itself would have to predict
        more than it may.
        """
        counted, points = context.rows.n_weighted, max(1, sum(grid.n_points for grid in grids))
        cheap = max(LEAST_ROWS, FLOAT * MOST_NUMBERS // (points * _number_bytes(context)))
        many = min(counted, SAMPLE, cheap, self._held_rows(context, grids))
        few = min(many, max(LEAST_ROWS, counted // EXTRA))
        if self.max_predictions is not None:
            few = min(few, self.max_predictions // (points * len(context.models)))
        if few < min(LEAST_PAIR, counted):
            return [context.rows.sample(many, SEED)] if self._exact(context, grids) else []
        return [context.rows.sample(size, SEED) for size in (few if context.several else many, few)]

    def _exact(self, context: RunContext, grids: tuple[Grid, ...]) -> bool:
        """Return whether every model has a shortcut for all grids, and predicts nothing."""
        request = _request(context, grids, Rows(context.rows.head_sample(SEED), None))
        try:
            plans = [choose(model, lambda candidate: request, "exact") for model in context.models]
        except (RefusalError, MemoryBoundError):
            return False
        return bool(plans)

    def _held_rows(self, context: RunContext, grids: tuple[Grid, ...]) -> int:
        """Return the rows whose curves on the largest grid can be held."""
        largest = max((grid.n_points for grid in grids), default=1)
        return max(LEAST_PAIR, _curve_bytes(context) // (_number_bytes(context) * max(1, largest)))

    def _curves(self, context: RunContext, grids: tuple[Grid, ...], taken: list[Rows], index: int) -> Rounds:
        many, few = (partial(_request, context, grids, rows) for rows in (taken[0], taken[-1]))

        def requested(candidate: type[StatisticEvaluator] | None) -> EvaluationRequest:
            return few() if candidate is not None and not candidate.shortcut else many()

        name = label(self.verb, index, len(context.models))
        estimated = yield from evaluate_model(context, context.models[index], requested, self.method, name)
        return estimated


def _check_ordered(axes: Iterable[Axis], declared: frozenset[str]) -> None:
    """Refuse a direction of values that have no order, before anything is evaluated."""
    for axis in axes:
        if axis.name in declared and not axis.ordered:
            raise OptionError(
                f"monotone declares a direction of {axis.name!r}, whose categories have no order; omit it, "
                "or make it an ordered categorical in X"
            )


def _request(context: RunContext, grids: tuple[Grid, ...], rows: Rows) -> EvaluationRequest:
    size, table = len(rows), rows.table
    sizes = size, size, table.row_bytes, context.memory, context.threads
    return EvaluationRequest(
        grids, "individual", *sizes, memory_was_given=context.memory_was_given, background=rows
    )


def _taken(context: RunContext, samples: list[Sample]) -> Rounds:
    """Return the rows of each sample in memory, without weights; those that are read take one pass."""
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
    """Yield grids, in order, whose curves are held at once."""
    most = _curve_bytes(context) // (_number_bytes(context) * max(1, rows))
    some: list[Grid] = []
    for grid in grids:
        if some and sum(one.n_points for one in some) + grid.n_points > most:
            yield tuple(some)
            some = []
        some.append(grid)
    yield tuple(some)


def _curve_bytes(context: RunContext) -> int:
    """Return the memory that curves may take; where the user gave none, it is fixed, as all numbers are."""
    return min(CURVE_BYTES, context.memory // CURVE_SHARE) if context.memory_was_given else CURVE_BYTES


def _number_bytes(context: RunContext) -> int:
    """Return the memory of a point of a row, for all outputs and models."""
    return FLOAT * context.models[0].n_outputs * len(context.models)


def _mean_curves(estimated: Sequence[ModelEstimates], number: int, points: int) -> Floats:
    """Return the curves ``(o, i, g)`` of the mean of all models, without the point of a missing value."""
    each = [one.estimates[number].individual[..., :points] for one in estimated]
    return cast(Floats, each[0] if len(each) == 1 else sum(each) / len(each))


def _covariance(
    context: RunContext, samples: list[Sample], estimated: Sequence[ModelEstimates], number: int, grid: Grid
) -> CurveCovariance:
    """Return the covariance of the points of one grid."""
    rows, curves = context.rows, _mean_curves(estimated, number, points=len(grid.axes[0].values))
    sample = next(one for one in samples if len(one.numbers) == curves.shape[1])
    return CurveCovariance.of(curves, sample.squares, rows=rows.n_weighted, total=rows.total)
