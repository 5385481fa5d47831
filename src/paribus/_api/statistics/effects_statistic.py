"""Partial dependence of features and pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias

import numpy as np

from paribus._api.combine import combine_facts, combine_remarks, combined_estimates, label, mean_estimate
from paribus._api.crossed_rows import SUBSAMPLE, crosses
from paribus._api.run import (
    STRONGEST_PAIRS,
    Fact,
    ModelEstimates,
    Needed,
    Rounds,
    RunContext,
    Steps,
    each_model,
    estimates_here,
    evaluate_model,
    lockstep,
)
from paribus._api.statistics.axis_options import AxisOptions, Groups, one_hot_notes, quantile_notes
from paribus._contracts import Floats
from paribus._data.rows import Background, Rows
from paribus._data.summary import SEED, SummarySpec
from paribus._evaluators.occupancy import Occupancy, OccupiedCells, PairSelection, RowSample, probe_of
from paribus._evaluators.planner import Plan, choose, largest_difference
from paribus._evaluators.request import EffectEstimate, EvaluationRequest, QuantileRequest
from paribus._evaluators.support import SupportCounter
from paribus._grid import SPLITS, Axis, Grid, outer_axis
from paribus._models import Model
from paribus._states import Keyed
from paribus._text import at_point, number
from paribus.errors import MemoryBoundError, RefusalError
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode
from paribus.results import Effects, PartialDependence, Provenance
from paribus.results.build_effects import EffectBuilder, extrapolation_of
from paribus.results.curve_parts import Extrapolation

VARIED = "features that can be varied"  # name of a fact: positions of supported columns
QUANTILE_BYTES = 500_000_000  # memory for predictions of which quantiles are computed, without max_memory
QUANTILE_SHARE = 4  # with max_memory, they get max_memory divided by this
SAMPLE = 4_096  # sampled rows for standard errors, whose relative error is then about 1 %
LEAST_SAMPLE = 1_024  # sampled rows if there are many points, for errors of about 2 %
GROUP_SAMPLE = 256  # sampled rows of each of many groups, for errors of about 4 %
SAMPLED_POINTS = 2**19  # points of the curves of all sampled rows, above which there are fewer rows
# The weight around the points of each grid and at missing, and the cells of two features that have rows.
Counted: TypeAlias = tuple[list[tuple[Floats, float]], OccupiedCells | None]


@dataclass(frozen=True, eq=False)
class EffectsStatistic:
    """Partial dependence: average predictions with the features of each group set to grid points.

    ``alone`` says that the result is a single effect. ``strengths`` says that effects have strengths.
    """

    groups: Groups
    axes: AxisOptions
    kind: Any = "average"
    method: str = "auto"
    verify: bool = False
    quantiles: tuple[float, ...] | None = None
    alone: bool = False
    verb: str = "effects"
    strengths: bool = True

    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    needs_target: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True

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
        if self.verb == "effects":
            yield Fact(VARIED, tuple(axes))
        grids = tuple(
            Grid(tuple(axes[j] for j in group)) for group in self.groups if all(j in axes for j in group)
        )
        # Values beyond the ends of the grid of a single feature.
        outer = {
            n: axis
            for n, grid in enumerate(grids)
            if len(grid.axes) == 1 and (axis := outer_axis(grid.axes[0], context.rows.table)) is not None
        }
        every = (*grids, *(Grid((axis,)) for axis in outer.values()))
        request = self._request(context, every, sum(grid.n_points for grid in grids))
        counting = self._counting(context, grids, every)
        evaluating = [self._evaluated(context, request, n, counting) for n in range(len(context.models))]
        estimated, crossed = yield from lockstep([each_model(evaluating), self._crossed(context, axes)])
        supports, joint = counting.finish(estimated[0].state)
        placed = quantile_notes(grids, context, self.wanted)
        computed = combine_remarks([self._remarks(context, one, request) for one in estimated])
        hints: list[tuple[Note, ...]] = [()] * len(grids)
        if self.axes.skip and context.parent is None:
            hints = one_hot_notes(grids, context.rows.head_sample(SEED))
        remarks = [sum(each, ()) for each in zip(placed, hints, computed, strict=False)]
        verified = [self._verified(context, one, every) for one in estimated]
        names = context.data.header.names
        far = [extrapolation_of(grid, joint, counting.probe, names) for grid in grids]
        joined = combined_estimates(context, estimated, mean_estimate)
        beyond = dict(zip(outer, joined[len(grids) :], strict=True))
        own = dict(zip(grids, joined, strict=False))
        strong = yield from self._with_strengths(context, axes, own, crossed)
        for position, (before, after) in enumerate(zip(joined, strong, strict=False)):
            remarks[position] += _sampled_notes(context.rows) if after is not before else ()
        tails = [beyond.get(position) for position in range(len(grids))]
        several = zip(grids, strong, supports, far, remarks, tails, strict=False)
        return partial(self._result, context, request, estimated, verified, list(several), skipped)

    def _counting(
        self, context: RunContext, grids: tuple[Grid, ...], every: tuple[Grid, ...]
    ) -> SupportCounts:
        """Return the counts of rows: the support of every grid, and which values occur together.

        Recursion follows training paths, so that it does not extrapolate. For groups, only the support shows
        where they have data.
        """
        rows, support = context.rows, SupportCounter(every)
        if self.method == "recursion" or context.parent is not None:
            return SupportCounts(support, rows.weight_scale)
        probe = probe_of(rows.head_sample(SEED), self.axes.nominal, rows.n_weighted)
        outlook = PairSelection.of(probe, grids, rows.n_weighted)
        return SupportCounts(support, rows.weight_scale, Occupancy.of(outlook), outlook, probe)

    @property
    def _crossed_if_needed(self) -> bool:
        """Whether strengths that sums do not give are computed by crossing rows."""
        return self.strengths and not self.alone and self.method != "recursion"

    def _crossed(self, context: RunContext, axes: Mapping[int, Axis]) -> Rounds:
        """Return strengths from crossed rows, if a model is known to need these."""
        if self._crossed_if_needed and (self.method == "brute" or any(map(crosses, context.models))):
            return (yield from self._strengths(context, axes))
        return None

    def _strengths(self, context: RunContext, axes: Mapping[int, Axis]) -> Rounds:
        """Return the strength ``(o,)`` of each single feature, as in `feature_importance`."""
        single = {group[0] for group in self.groups if len(group) == 1 and group[0] in axes}
        if not single:
            return {}
        return (yield from self._strengths_of(context, tuple(sorted(single))))

    def _strengths_of(self, context: RunContext, features: tuple[int, ...]) -> Rounds:
        """Return the strengths of features, halving these until they fit in memory."""
        from paribus._api.statistics.interaction_statistic import InteractionStatistic

        own = InteractionStatistic(self.verb, features, features, SEED, pairwise=False, overall=False)
        try:
            found = yield from replace(own, method=self.method).statistics(context)
        except MemoryBoundError:
            if len(features) == 1:
                raise
            half = len(features) // 2
            some = yield from self._strengths_of(context, features[:half])
            return some | (yield from self._strengths_of(context, features[half:]))
        return dict(zip(features, found.main.strength, strict=True))

    def _with_strengths(
        self,
        context: RunContext,
        axes: Mapping[int, Axis],
        estimates: Mapping[Grid, EffectEstimate],
        crossed: dict[int, Floats] | None,
    ) -> Rounds:
        """Return the estimates with strengths; if one is missing, those of all features are by crossing."""
        single = {grid: grid.axes[0].feature for grid in estimates if len(grid.axes) == 1}
        known = all(estimates[grid].strength is not None for grid in single)
        if known or not self._crossed_if_needed:
            return list(estimates.values())
        if crossed is None:
            crossed = yield from self._strengths(context, axes)
        return [
            replace(one, strength=crossed[single[grid]]) if grid in single else one
            for grid, one in estimates.items()
        ]

    def _request(self, context: RunContext, grids: tuple[Grid, ...], points: int) -> EvaluationRequest:
        """Return the request for all grids; ``points`` is the number of points without those beyond grids."""
        rows, quantiles = context.rows, None
        if self.quantiles is not None:
            most = context.memory // QUANTILE_SHARE if context.memory_was_given else QUANTILE_BYTES
            quantiles = QuantileRequest(self.quantiles, most)
        return EvaluationRequest(
            grids,
            self.kind,
            **context.of_rows(),
            sample=rows.sample(sampled_rows(points, context.n_groups), SEED),
            quantiles=quantiles,
            strengths=self.strengths,
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

    def _remarks(
        self, context: RunContext, one: ModelEstimates, request: EvaluationRequest
    ) -> list[tuple[Note, ...]]:
        """Return the notes of each grid on differences between recursion and exact effects."""
        assert one.model is not None
        exactly = partial(self._exact, context, one.model, request)
        return recursion_notes(one.plans[0], exactly, request.grids, one.estimates)

    def _exact(self, context: RunContext, model: Model, request: EvaluationRequest) -> list[EffectEstimate]:
        """Return exact effects for comparison, on a few rows to save time.

        Weighted rows are all used, because the few rows are sampled without weights.
        """
        rows, some = context.rows, request
        if not rows.weighted:
            rows = Rows(rows.head_sample(SEED), None)
            some = replace(
                request, rows=len(rows), n_weighted=len(rows), weighted=False, sample=None, out_of_core=False
            )
        (plan,) = choose(model, lambda candidate: some, "exact")
        context.runner.passes += not rows.in_memory
        estimates: list[EffectEstimate] = estimates_here(plan, rows)
        return estimates

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
        support: tuple[Floats, float],
        far: Extrapolation | None,
        remarks: tuple[Note, ...],
        outer: EffectEstimate | None,
    ) -> PartialDependence:
        """Build one effect; ``outer`` is the estimate beyond the ends of its grid."""
        models = context.models
        builder = EffectBuilder(models[0].output_names, models, context.rows.weight_scale, provenance)
        total = context.rows.total * context.rows.weight_scale
        return builder.partial_dependence(request, grid, estimate, support, far, remarks, outer, total)


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


def sampled_rows(points: int, groups: int = 1) -> int:
    """Return the number of rows of each group whose curves at so many points give standard errors.

    >>> sampled_rows(41), sampled_rows(200), sampled_rows(2_000), sampled_rows(2_000, groups=5)
    (4096, 2621, 1024, 256)
    """
    rows = min(SAMPLE, max(LEAST_SAMPLE, SAMPLED_POINTS // max(1, points)))
    return rows if groups == 1 else min(rows, max(GROUP_SAMPLE, rows // groups))


def _sampled_notes(rows: Background) -> tuple[Note, ...]:
    """Return the note that strengths use fewer rows than curves, if they do."""
    if rows.n_weighted <= SUBSAMPLE:
        return ()
    text = (
        f"strengths use {SUBSAMPLE} of {rows.n_weighted:,} rows, crossed with each other (seed={SEED}), "
        "as in feature_importance; curves use all rows"
    )
    return (Note(NoteCode.ROWS_SAMPLED, text, value=SUBSAMPLE),)


@dataclass(frozen=True, eq=False)
class SurfaceStatistic:
    """Surfaces of the ``count`` strongest pairs of features, evaluated once these are known."""

    count: int
    axes: AxisOptions
    verify: bool
    verb: str = "surfaces"

    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    needs_target: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True
    reads_trees: ClassVar[bool] = True

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


ROUNDING = 1e-9  # relative difference that counts as rounding


def recursion_notes(
    plan: Plan,
    exactly: Callable[[], list[EffectEstimate]],
    grids: tuple[Grid, ...],
    estimates: list[EffectEstimate],
) -> list[tuple[Note, ...]]:
    """Return notes on differences from exact effects, for estimates by recursion."""
    if plan.evaluator.estimand is not Estimand.PATH_DEPENDENT:
        return [()] * len(grids)
    try:
        exact = exactly()
    except (RefusalError, MemoryBoundError) as refusal:
        text = f"recursion could not be compared with exact: {refusal}"
        return [(Note(NoteCode.RECURSION_UNCHECKED, text),)] * len(grids)
    return [_recursion_difference(*one) for one in zip(grids, estimates, exact, strict=True)]


def _recursion_difference(grid: Grid, estimate: EffectEstimate, exact: EffectEstimate) -> tuple[Note, ...]:
    """Return the note on the largest difference, if it exceeds the standard error."""
    apart = np.abs(estimate.average - exact.average)
    error = np.nan_to_num(exact.standard_error)
    beyond = np.where(apart > error + ROUNDING * np.abs(exact.average), apart, 0.0)
    if not beyond.any():
        return ()
    output, point = np.unravel_index(np.argmax(beyond), beyond.shape)
    largest, one = float(beyond[output, point]), float(error[output, point])
    errors = f" ({number(largest / one)} standard errors)" if one else ""
    text = (
        f"recursion differs from exact by up to {number(largest)}{errors} at {_point_text(grid, int(point))}"
    )
    return (Note(NoteCode.RECURSION_DIFFERS, text, value=largest),)


def _point_text(grid: Grid, point: int) -> str:
    """Return a grid point as text."""
    if grid.includes_missing and point == grid.n_points - 1:
        return f"{grid.names[0]} missing"
    return at_point(grid.names, (axis.values for axis in grid.axes), grid.index(point, point + 1)[0])
