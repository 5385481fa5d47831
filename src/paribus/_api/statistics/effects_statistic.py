"""Partial dependence of features and pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, islice
from typing import Any, ClassVar, TypeAlias

import numpy as np

from paribus._api.combine import combine_facts, combine_remarks, label, mean_estimate
from paribus._api.cost import PredictionBudget, bound_note, fewest_rows, sampled_provenance, share_of_range
from paribus._api.run import (
    Fact,
    ModelEstimates,
    Needed,
    Rounds,
    RunContext,
    Steps,
    Verification,
    each_model,
    estimates_here,
    evaluate_model,
    lockstep,
)
from paribus._api.statistics.axis_options import AxisOptions, Groups, quantile_notes
from paribus._api.statistics.interaction_statistic import (
    STRONGEST_PAIRS,
    SUBSAMPLE,
    InteractionStatistic,
    crosses,
)
from paribus._contracts import Floats
from paribus._data.rows import Background, Rows
from paribus._evaluators.brute_force import CALL_ROWS
from paribus._evaluators.occupancy import Occupancy, OccupiedCells, PairSelection, probe_of
from paribus._evaluators.planner import Plan, choose, largest_difference, points_recomputed
from paribus._evaluators.request import EffectEstimate, EvaluationRequest, QuantileRequest
from paribus._evaluators.support import SupportCounter
from paribus._evaluators.survey import SEED, SummarySpec
from paribus._grid import SPLITS, Axis, Grid, outer_axis
from paribus._models import Model
from paribus._states import Keyed
from paribus._text import at_value, number
from paribus._typing import AUTO
from paribus.errors import MemoryBoundError, RefusalError
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode
from paribus.results import Effects, PartialDependence, Provenance
from paribus.results.build_effects import EffectBuilder, extrapolation_of
from paribus.results.curve_parts import Extrapolation

VARIED = "features that can be varied"  # a fact: their positions in the table
QUANTILE_BYTES = 500_000_000  # to hold predictions in, or where there is a bound:
QUANTILE_SHARE = 4  # one part in so many of it
SAMPLE = 1_024  # draws of rows for standard errors: they are then known to about 2 %
# The weight around the points of each grid, and which cells of two features have rows.
Counted: TypeAlias = tuple[list[Floats], OccupiedCells | None]


@dataclass(frozen=True, eq=False)
class EffectsStatistic:
    """Average predictions with the features of each group set to the points of a grid."""

    groups: Groups
    axes: AxisOptions
    kind: Any = "average"
    method: str = "auto"
    verify: bool = False
    quantiles: tuple[float, ...] | None = None
    alone: bool = False
    verb: str = "effects"
    max_predictions: int | None = None
    strengths: bool = True

    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    needs_target: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """What a survey must find out about which feature."""
        return self.axes.wanted

    @property
    def reads_trees(self) -> bool:
        """Whether the trees of a model are likely needed, so that they are read ahead."""
        return self.method != "brute"

    def evaluate(self, context: RunContext) -> Steps:
        """Lay out the grids, then evaluate every model in one pass; rows are counted with the first."""
        axes, skipped = self.axes.laid_out(context)
        if self.verb == "effects":
            yield Fact(VARIED, tuple(axes))
        grids = tuple(
            Grid(tuple(axes[j] for j in group)) for group in self.groups if all(j in axes for j in group)
        )
        outer = {n: axis for n, grid in enumerate(grids) if (axis := self._outer(context, grid)) is not None}
        every = (*grids, *(Grid((axis,)) for axis in outer.values()))
        rows, request = context.rows, self._request(context, every)
        probe = probe_of(rows.head_sample(SEED), self.axes.nominal, rows.n_weighted)
        outlook = PairSelection.of(probe, grids, rows.n_weighted)
        # Training paths are about no rows that might not exist.
        counting = SupportCounts.of(every, outlook, rows.weight_scale, joint=self.method != "recursion")
        budget = PredictionBudget.of(self.max_predictions, context, SEED, self.verb)
        evaluating = [
            self._evaluated(context, request, n, counting, budget) for n in range(len(context.models))
        ]
        estimated, crossed = yield from lockstep([each_model(evaluating), self._crossed(context, axes)])
        supports, joint = counting.finish(estimated[0].state)
        placed = quantile_notes(grids, context, self.wanted)
        computed = combine_remarks([self._remarks(context, one, request) for one in estimated])
        remarks = [(*first, *second) for first, second in zip(placed, computed, strict=False)]
        verified = [self._verified(context, one, every) for one in estimated]
        sampled = fewest_rows(estimated, len(every))
        far = [extrapolation_of(grid, joint, probe, context.data.header.names) for grid in grids]
        joined = self._joined(context, estimated)
        beyond = dict(zip(outer, joined[len(grids) :], strict=True))
        own = dict(zip(grids, joined, strict=False))
        strong = yield from self._with_strengths(context, axes, own, crossed)
        for position, (before, after) in enumerate(zip(joined, strong, strict=False)):
            remarks[position] += _sampled_notes(context.rows) if after is not before else ()
        tails = [beyond.get(position) for position in range(len(grids))]
        several = zip(sampled, grids, strong, supports, far, remarks, tails, strict=False)
        return partial(self._result, context, request, estimated, verified, list(several), skipped)

    def _outer(self, context: RunContext, grid: Grid) -> Axis | None:
        """Return the values beyond the ends of the grid of a single feature."""
        return outer_axis(grid.axes[0], context.rows.table) if len(grid.axes) == 1 else None

    @property
    def _crossed_if_needed(self) -> bool:
        """Whether strengths that do not follow from sums are worth further predictions."""
        bounded = self.max_predictions is not None or self.method == "recursion"
        return self.strengths and not self.alone and not bounded

    def _crossed(self, context: RunContext, axes: Mapping[int, Axis]) -> Rounds:
        """Return the strengths where it is known before that they do not follow from sums."""
        if self._crossed_if_needed and (self.method == "brute" or any(map(crosses, context.models))):
            return (yield from self._strengths(context, axes))
        return None

    def _strengths(self, context: RunContext, axes: Mapping[int, Axis]) -> Rounds:
        """Return the strength ``(o,)`` of each single feature, as `feature_importance` finds it."""
        single = {group[0] for group in self.groups if len(group) == 1 and group[0] in axes}
        if not single:
            return {}
        return (yield from self._strengths_of(context, tuple(sorted(single))))

    def _strengths_of(self, context: RunContext, features: tuple[int, ...]) -> Rounds:
        """Return strengths of all features at once, or of as many at a time as memory allows."""
        own = InteractionStatistic(self.verb, features, features, AUTO, SEED, pairwise=False, overall=False)
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
        """Return the estimates with the strengths of single features, all of them found in the same way."""
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

    def verification(self, context: RunContext, plans: Sequence[Plan]) -> Verification:
        """Return what comparing at a few points takes: each is predicted by itself."""
        if not self.verify:
            return Verification()
        predictions = calls = 0
        grids = {n: grid for plan in plans for n, grid in zip(plan.numbers, _grids(plan), strict=True)}
        points = points_recomputed(tuple(grids[number] for number in sorted(grids)))
        for plan in plans:
            rows = context.rows.n_weighted if plan.sampled is None else len(plan.sampled)
            picked = sum(points[number] for number in plan.numbers)
            predictions += rows * picked
            calls += -(-rows // CALL_ROWS) * picked
        return Verification(predictions, calls, int(any(plan.sampled is None for plan in plans)))

    def _request(self, context: RunContext, grids: tuple[Grid, ...]) -> EvaluationRequest:
        rows = context.rows
        return EvaluationRequest(
            grids,
            self.kind,
            len(rows),
            rows.n_weighted,
            rows.table.row_bytes,
            context.memory,
            context.threads,
            rows.weighted,
            rows.sample(SAMPLE, SEED),
            out_of_core=not rows.in_memory,
            quantiles=self._quantile_request(context),
            memory_was_given=context.memory_was_given,
            few_calls=self.max_predictions is not None,
            strengths=self.strengths,
        )

    def _quantile_request(self, context: RunContext) -> QuantileRequest | None:
        if self.quantiles is None:
            return None
        return QuantileRequest(
            self.quantiles, context.memory // QUANTILE_SHARE if context.memory_was_given else QUANTILE_BYTES
        )

    def _evaluated(
        self,
        context: RunContext,
        request: EvaluationRequest,
        index: int,
        counting: SupportCounts,
        budget: PredictionBudget | None,
    ) -> Rounds:
        model, bound = context.models[index], None
        if budget is not None:
            recomputed = points_recomputed(request.grids) if self.verify else ()
            bound = budget.bound(model, reads=self.reads_trees, recomputed=recomputed)
        estimated = yield from evaluate_model(
            context,
            model,
            lambda candidate: request,
            self.method,
            label(self.verb, index, len(context.models)),
            beside=() if index else counting.parts,
            settings=() if index else counting.settings,
            sample=None if budget is None else budget.draw,
            bound=bound,
        )
        return estimated

    def _remarks(
        self, context: RunContext, one: ModelEstimates, request: EvaluationRequest
    ) -> list[tuple[Note, ...]]:
        assert one.model is not None
        exactly = partial(self._exact, context, one.model, request)
        return recursion_notes(one.plans[0], exactly, request.grids, one.estimates)

    def _exact(self, context: RunContext, model: Model, request: EvaluationRequest) -> list[EffectEstimate]:
        """Evaluate exactly on a few rows, to compare: on all of them it could take longer than the rest.

        Where rows have weights, on all: the few are chosen without.
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
        if not self.verify:
            return None
        assert one.model is not None
        rows = {number: plan.sampled or context.rows for plan in one.plans for number in plan.numbers}
        context.runner.passes += any(not some.in_memory for some in rows.values())
        return largest_difference(one.model, rows, grids, one.estimates)

    def _joined(self, context: RunContext, estimated: list[ModelEstimates]) -> list[EffectEstimate]:
        """Return the estimate of each grid: that of the one model, or the mean of those of a list."""
        if not context.several:
            return estimated[0].estimates
        return [
            mean_estimate(estimates) for estimates in zip(*(one.estimates for one in estimated), strict=True)
        ]

    def _result(
        self,
        context: RunContext,
        request: EvaluationRequest,
        estimated: list[ModelEstimates],
        verified: list[float | None],
        several: list[Any],
        skipped: tuple[str, ...],
    ) -> Effects | PartialDependence:
        grid = self.axes.grid
        provenance = context.record(
            **combine_facts(estimated, verified),
            percentiles=grid.percentiles,
            grid_resolution=SPLITS if grid.splits else grid.resolution,
            points=sum(one[1].n_points for one in several),
            rank_error=context.data.rank_error(self.wanted),
        )
        effects = tuple(self._effect(context, request, provenance, *one) for one in several)
        return effects[0] if self.alone else Effects(effects, skipped)

    def _effect(
        self,
        context: RunContext,
        request: EvaluationRequest,
        provenance: Provenance,
        sampled: Rows | None,
        grid: Grid,
        estimate: EffectEstimate,
        support: Floats,
        far: Extrapolation | None,
        remarks: tuple[Note, ...],
        outer: EffectEstimate | None,
    ) -> PartialDependence:
        models, own = context.models, sampled_provenance(provenance, sampled, SEED)
        if sampled is not None and self.max_predictions is not None:
            averaged = self.kind != "individual"
            share = share_of_range(estimate.average, estimate.standard_error) if averaged else None
            remarks = (*remarks, bound_note(own, self.max_predictions, share))
        builder = EffectBuilder(models[0].output_names, models, context.rows.weight_scale, own)
        total = context.rows.total * context.rows.weight_scale
        return builder.partial_dependence(request, grid, estimate, support, far, remarks, outer, total)


def _grids(plan: Plan) -> tuple[Grid, ...]:
    assert isinstance(plan.evaluator.request, EvaluationRequest)
    return plan.evaluator.request.grids


@dataclass(frozen=True, eq=False)
class SupportCounts:
    """Counts how much data lies around each point and, unless None, which values occur together."""

    support: SupportCounter
    occupancy: Occupancy | None
    outlook: PairSelection
    unit: float

    @classmethod
    def of(
        cls, grids: tuple[Grid, ...], outlook: PairSelection, unit: float, *, joint: bool
    ) -> SupportCounts:
        """Prepare to count; ``joint`` says that it matters which values occur together."""
        return cls(SupportCounter(grids), Occupancy.of(outlook) if joint else None, outlook, unit)

    @property
    def parts(self) -> tuple[SupportCounter | Occupancy, ...]:
        """Who counts."""
        return (self.support,) if self.occupancy is None else (self.support, self.occupancy)

    @property
    def settings(self) -> tuple[Any, ...]:
        """What a kept state depends on besides the rows and the points."""
        return () if self.occupancy is None else self.occupancy.settings

    def finish(self, state: Keyed) -> Counted:
        """Return what was counted."""
        joint = None if self.occupancy is None else self.occupancy.finish(state, self.outlook)
        return self.support.finish(state, self.unit), joint


def _sampled_notes(rows: Background) -> tuple[Note, ...]:
    """Return the note that strengths are of fewer rows than the curves."""
    if rows.n_weighted <= SUBSAMPLE:
        return ()
    text = (
        f"strengths are of {SUBSAMPLE} of {rows.n_weighted:,} rows, crossed with each other (seed={SEED}), "
        "as in feature_importance; curves are of all rows"
    )
    return (Note(NoteCode.ROWS_SAMPLED, text, value=SUBSAMPLE),)


@dataclass(frozen=True, eq=False)
class SurfaceStatistic:
    """The surfaces of the ``count`` strongest pairs of features, in the first pass after these are known.

    With ``any_pairs``, the surfaces of as many pairs, whichever they are, which take as long.
    """

    features: tuple[int, ...]
    count: int
    axes: AxisOptions
    verb: str = "surfaces"
    max_predictions: int | None = None
    any_pairs: bool = False

    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    needs_target: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True
    reads_trees: ClassVar[bool] = True

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """What a survey must find out: any feature may be in a pair."""
        return self.axes.wanted

    def evaluate(self, context: RunContext) -> Steps:
        """Wait for the pairs, and evaluate them."""
        if self.any_pairs:
            varied = (yield Needed(VARIED)) or ()
            among = combinations((one for one in self.features if one in varied), 2)
            pairs = tuple(islice(among, self.count))
        else:
            pairs = ((yield Needed(STRONGEST_PAIRS)) or ())[: self.count]
        if not pairs:
            return _nothing
        build: Callable[[], object] = yield from self._effects(pairs).evaluate(context)
        return build

    def verification(self, context: RunContext, plans: Sequence[Plan]) -> Verification:
        """Nothing is compared."""
        return Verification()

    def _effects(self, pairs: tuple[tuple[int, ...], ...]) -> EffectsStatistic:
        features = tuple(sorted({feature for pair in pairs for feature in pair}))
        axes = replace(self.axes, features=features, surveyed=self.axes.features)
        return EffectsStatistic(pairs, axes, verb=self.verb, max_predictions=self.max_predictions)


def _nothing() -> None:
    """Build no surfaces: no pair interacts."""


ROUNDING = 1e-9  # of the numbers compared: a difference below this is none


def recursion_notes(
    plan: Plan,
    exactly: Callable[[], list[EffectEstimate]],
    grids: tuple[Grid, ...],
    estimates: list[EffectEstimate],
) -> list[tuple[Note, ...]]:
    """Return for each estimate by another estimand how far it is from the exact one; nothing for others."""
    if plan.evaluator.estimand is not Estimand.PATH_DEPENDENT:
        return [()] * len(grids)
    try:
        exact = exactly()
    except (RefusalError, MemoryBoundError) as refusal:
        text = f"recursion could not be compared with exact: {refusal}"
        return [(Note(NoteCode.RECURSION_UNCHECKED, text),)] * len(grids)
    return [_apart(*one) for one in zip(grids, estimates, exact, strict=True)]


def _apart(grid: Grid, estimate: EffectEstimate, exact: EffectEstimate) -> tuple[Note, ...]:
    """Return where the two differ most, if by more than the standard error."""
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
    """Return a point as text."""
    if grid.includes_missing and point == grid.n_points - 1:
        return f"{grid.names[0]} missing"
    index = grid.index(point, point + 1)[0]
    values = (axis.values[position] for axis, position in zip(grid.axes, index, strict=True))
    return ", ".join(f"{name} = {at_value(value)}" for name, value in zip(grid.names, values, strict=True))
