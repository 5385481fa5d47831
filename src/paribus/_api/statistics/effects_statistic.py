"""Partial dependence of features and pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from paribus._api.combine import combine_facts, combined_estimates, label, mean_estimate
from paribus._api.run import (
    SAMPLE,
    STRONGEST_PAIRS,
    Fact,
    ModelEstimates,
    Needed,
    Rounds,
    RunContext,
    Statistic,
    Steps,
    each_model,
    evaluate_model,
)
from paribus._api.statistics.axis_options import (
    AxisOptions,
    Groups,
    one_hot_notes,
    quantile_notes,
    unit_notes,
)
from paribus._data.rows import Rows
from paribus._data.summary import SEED, SummarySpec
from paribus._evaluators.occupancy import Occupancy, OccupiedCells, PairSelection, RowSample, probe_of
from paribus._evaluators.planner import largest_difference
from paribus._evaluators.request import EffectEstimate, EvaluationRequest, QuantileRequest
from paribus._evaluators.support import Support, SupportCounter
from paribus._grid import SPLITS, Axis, Grid
from paribus._states import Keyed
from paribus.errors import OptionError
from paribus.notes import Note
from paribus.results import Effects, PartialDependence, Provenance
from paribus.results.build_effects import EffectBuilder, extrapolation_of, with_strength
from paribus.results.curve_parts import Extrapolation

VARIED = "features that can be varied"  # name of a fact: positions of supported columns
CURVES = "curves"  # name of a fact: each grid with its estimate and support
QUANTILE_BYTES = 500_000_000  # memory for predictions of which quantiles are computed, without max_memory
QUANTILE_SHARE = 4  # with max_memory, they get max_memory divided by this
LEAST_SAMPLE = 1_024  # sampled rows if there are many points, for errors of about 2 %
GROUP_SAMPLE = 256  # sampled rows of each of many groups, for errors of about 4 %
SAMPLED_POINTS = 2**19  # points of the curves of all sampled rows, above which there are fewer rows
# The support of each grid, and the cells of two features that have rows.
Counted: TypeAlias = tuple[list[Support], OccupiedCells | None]


@dataclass(frozen=True, eq=False)
class EffectsStatistic(Statistic):
    """Partial dependence: average predictions with the features of each group set to grid points.

    ``alone`` says that the result is a single effect. ``directed`` are the features with a declared
    direction.
    """

    groups: Groups
    axes: AxisOptions
    kind: Any = "average"
    method: str = "auto"
    verify: bool = False
    quantiles: tuple[float, ...] | None = None
    alone: bool = False
    verb: str = "effects"
    directed: frozenset[str] = frozenset()

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """The summary that it needs of each feature."""
        return self.axes.wanted

    @property
    def reads_trees(self) -> bool:
        """Whether it probably uses the trees of a model, which are then read in advance."""
        return self.method != "brute"

    def evaluate(self, context: RunContext) -> Steps:
        """Lay out the grids, then evaluate every model in one pass; the first one also counts rows."""
        axes, skipped = self.axes.laid_out(context)
        _check_ordered(axes.values(), self.directed)
        if self.verb == "effects":
            yield Fact(VARIED, tuple(axes))
        grids = tuple(
            Grid(tuple(axes[j] for j in group)) for group in self.groups if all(j in axes for j in group)
        )
        request = self._request(context, grids)
        counting = self._counting(context, grids)
        estimated: list[ModelEstimates] = yield from each_model(
            [self._evaluated(context, request, n, counting) for n in range(len(context.models))]
        )
        supports, joint = counting.finish(estimated[0].state)
        estimated = [
            replace(one, estimates=list(map(with_strength, one.estimates, grids, supports)))
            for one in estimated
        ]
        placed = quantile_notes(grids, context, self.wanted)
        hints: list[tuple[Note, ...]] = [()] * len(grids)
        if self.axes.skip and context.parent is None:
            hints = one_hot_notes(grids, context.rows.head_sample(SEED))
            hints[0] = (*hints[0], *unit_notes(context.rows))
        remarks = [sum(each, ()) for each in zip(placed, hints, strict=True)]
        verified = [self._verified(context, one, grids) for one in estimated]
        names = context.data.header.names
        far = [extrapolation_of(grid, joint, counting.probe, names) for grid in grids]
        joined = combined_estimates(context, estimated, mean_estimate)
        if self.verb == "effects" and context.parent is None:
            yield Fact(CURVES, tuple(zip(grids, joined, supports, strict=True)))
        several = zip(grids, joined, supports, far, remarks, strict=True)
        return partial(self._result, context, request, estimated, verified, list(several), skipped)

    def _counting(self, context: RunContext, grids: tuple[Grid, ...]) -> SupportCounts:
        """Return the counts of rows: the support of every grid, and which values occur together.

        Recursion follows training paths, so that it does not extrapolate. For groups, only the support shows
        where they have data.
        """
        rows, support = context.rows, SupportCounter(grids)
        if self.method == "recursion" or context.parent is not None:
            return SupportCounts(support, rows.weight_scale)
        probe = probe_of(rows.head_sample(SEED), self.axes.nominal, rows.n_weighted)
        outlook = PairSelection.of(probe, grids, rows.n_weighted)
        return SupportCounts(support, rows.weight_scale, Occupancy.of(outlook), outlook, probe)

    def _request(self, context: RunContext, grids: tuple[Grid, ...]) -> EvaluationRequest:
        """Return the request for all grids."""
        rows, quantiles = context.rows, None
        points = sum(grid.n_points for grid in grids)
        if self.quantiles is not None:
            most = context.memory // QUANTILE_SHARE if context.memory_was_given else QUANTILE_BYTES
            quantiles = QuantileRequest(self.quantiles, most)
        sample = rows.sample(sampled_rows(points, context.n_groups), SEED)
        sampled = None
        if sample.units is not None and isinstance(rows, Rows):
            sampled = rows.table.keep(np.isin(np.arange(len(rows)), sample.numbers))
        return EvaluationRequest(
            grids,
            self.kind,
            **context.of_rows(),
            sample=sample,
            sampled=sampled,
            quantiles=quantiles,
            strengths=True,
            shared=context.shared(self),
        )

    def _evaluated(
        self,
        context: RunContext,
        request: EvaluationRequest,
        index: int,
        counting: SupportCounts,
    ) -> Rounds:
        """Return the estimates of one model; the first one also counts rows."""
        estimated = yield from evaluate_model(
            context,
            context.models[index],
            lambda candidate: request,
            self.method,
            label(self.verb, index, len(context.models)),
            additional=() if index else counting.parts,
            settings=() if index else counting.settings,
        )
        return estimated

    def _verified(self, context: RunContext, one: ModelEstimates, grids: tuple[Grid, ...]) -> float | None:
        """Return the largest difference from brute force at a few points, None without ``verify``."""
        if not self.verify:
            return None
        assert one.model is not None
        context.runner.passes += not context.rows.in_memory
        return largest_difference(one.model, context.rows, grids, one.estimates)

    def _result(
        self,
        context: RunContext,
        request: EvaluationRequest,
        estimated: list[ModelEstimates],
        verified: list[float | None],
        several: list[Any],
        skipped: tuple[str, ...],
    ) -> Effects[PartialDependence] | PartialDependence:
        """Build the result; ``several`` has the arguments of `_effect` for each grid."""
        grid = self.axes.grid
        provenance = context.record(
            **combine_facts(estimated, verified),
            percentiles=grid.percentiles,
            grid_resolution=SPLITS if grid.splits else grid.resolution,
            points=sum(one[0].n_points for one in several),
            rank_error=context.data.rank_error(self.wanted),
        )
        effects = tuple(self._effect(context, request, provenance, *one) for one in several)
        return effects[0] if self.alone else Effects(effects, skipped)

    def _effect(
        self,
        context: RunContext,
        request: EvaluationRequest,
        provenance: Provenance,
        grid: Grid,
        estimate: EffectEstimate,
        support: Support,
        far: Extrapolation | None,
        remarks: tuple[Note, ...],
    ) -> PartialDependence:
        """Build one effect."""
        models = context.models
        builder = EffectBuilder(models[0].output_names, models, context.rows.weight_scale, provenance)
        total = context.rows.total * context.rows.weight_scale
        return builder.partial_dependence(request, grid, estimate, support, far, remarks, total)


@dataclass(frozen=True, eq=False)
class SupportCounts:
    """Counts of the weight around each point and, unless ``occupancy`` is None, of joint occurrences.

    ``unit`` is the scale of the weights. ``probe`` has the sampled rows that chose the pairs of ``outlook``.
    """

    support: SupportCounter
    unit: float
    occupancy: Occupancy | None = None
    outlook: PairSelection | None = None
    probe: RowSample | None = None

    @property
    def parts(self) -> tuple[SupportCounter | Occupancy, ...]:
        """The evaluators that count."""
        return (self.support,) if self.occupancy is None else (self.support, self.occupancy)

    @property
    def settings(self) -> tuple[Any, ...]:
        """Settings on which a stored state depends, in addition to rows and points."""
        return () if self.occupancy is None else self.occupancy.settings

    def finish(self, state: Keyed) -> Counted:
        """Return the counts of a state."""
        joint = None
        if self.occupancy is not None and self.outlook is not None:
            joint = self.occupancy.finish(state, self.outlook)
        return self.support.finish(state, self.unit), joint


def _check_ordered(axes: Iterable[Axis], directed: frozenset[str]) -> None:
    """Raise if a feature with a declared direction has unordered categories."""
    for axis in axes:
        if axis.name in directed and not axis.ordered:
            raise OptionError(
                f"monotone declares a direction of {axis.name!r}, whose categories have no order; omit it, "
                "or make it an ordered categorical in X"
            )


def sampled_rows(points: int, groups: int = 1) -> int:
    """Return the number of rows of each group whose curves at so many points give standard errors.

    >>> sampled_rows(41), sampled_rows(200), sampled_rows(2_000), sampled_rows(2_000, groups=5)
    (4096, 2621, 1024, 256)
    """
    rows = min(SAMPLE, max(LEAST_SAMPLE, SAMPLED_POINTS // max(1, points)))
    return rows if groups == 1 else min(rows, max(GROUP_SAMPLE, rows // groups))


@dataclass(frozen=True, eq=False)
class SurfaceStatistic(Statistic):
    """Surfaces of the ``count`` strongest pairs of features, evaluated once these are known."""

    count: int
    axes: AxisOptions
    verify: bool
    verb: str = "surfaces"

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """The summary of each feature, because any of them may be in a pair."""
        return self.axes.wanted

    def evaluate(self, context: RunContext) -> Steps:
        """Wait for the pairs, and evaluate their surfaces."""
        pairs = ((yield Needed(STRONGEST_PAIRS)) or ())[: self.count]
        if not pairs:
            return lambda: None
        features = tuple(sorted({feature for pair in pairs for feature in pair}))
        axes = replace(self.axes, features=features, surveyed=self.axes.features)
        effects = EffectsStatistic(pairs, axes, verify=self.verify, verb=self.verb)
        build: Callable[[], object] = yield from effects.evaluate(context)
        return build
