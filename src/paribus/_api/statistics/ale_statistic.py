"""Accumulated local effects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from paribus._api.combine import combine_facts, combined_estimates, label, mean_ale_estimate
from paribus._api.run import (
    ModelEstimates,
    Rounds,
    RunContext,
    Statistic,
    Steps,
    both_ways,
    each_model,
    evaluate_model,
)
from paribus._api.statistics.axis_options import AxisOptions, Groups, quantile_notes
from paribus._contracts import Array
from paribus._data.rows import Rows
from paribus._data.samples import MOST_FEW, head_rows
from paribus._data.summary import SEED, SummarySpec
from paribus._evaluators.ale.accumulate import AleEstimate, AleRequest
from paribus._evaluators.ale.ale_grid import SAMPLED, AleBins, AleGrid, bins_of, similar_order
from paribus._evaluators.planner import apart, within_rounding
from paribus.errors import FeatureError
from paribus.notes import Note
from paribus.results import AccumulatedLocalEffect, Effects, Provenance
from paribus.results.build_effects import EffectBuilder

VERIFIED = 512  # rows on which the result is compared with brute force


@dataclass(frozen=True, eq=False)
class AleStatistic(Statistic):
    """Accumulated local effects: average changes of the prediction within bins, added up."""

    groups: Groups
    axes: AxisOptions
    method: str = "auto"
    verify: bool = False
    verb: str = "accumulated_local_effects"

    def __post_init__(self) -> None:
        many = next((group for group in self.groups if len(group) > 2), None)
        if many is not None:
            names = ", ".join(self.axes.header.names[j] for j in many)
            raise FeatureError(f"local effects are of one feature or two; {len(many)} were given ({names})")

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """The summary that it needs of each feature."""
        return self.axes.wanted

    @property
    def reads_trees(self) -> bool:
        """Whether it probably uses the trees of a model, which are then read in advance."""
        return self.method != "brute"

    def evaluate(self, context: RunContext) -> Steps:
        """Lay out the bins, sampling rows if categories need an order, then evaluate every model."""
        try:
            grids, skipped = self._grids(context, _no_order)
        except OrderNeededError:
            # Fewer rows for wide tables.
            size = min(SAMPLED, head_rows(len(context.rows.table.names)) * SAMPLED // MOST_FEW)
            some = yield from context.whole.subsample(size, SEED)
            grids, skipped = self._grids(context, partial(similar_order, some))
        request = self._request(context, grids)
        estimated = yield from each_model(
            [self._evaluated(context, request, index) for index in range(len(context.models))]
        )
        verified = [self._verified(context, one, request) for one in estimated] if self.verify else None
        return partial(self._result, context, request, estimated, skipped, verified)

    def _evaluated(self, context: RunContext, request: AleRequest, index: int) -> Rounds:
        """Return the estimates of one model."""
        model, name = context.models[index], label(self.verb, index, len(context.models))
        return evaluate_model(context, model, lambda candidate: request, self.method, name)

    def _verified(self, context: RunContext, one: ModelEstimates, request: AleRequest) -> float:
        """Return the largest difference from brute force on a few rows."""
        assert one.model is not None
        rows = Rows(context.rows.head_sample(SEED), None)
        rows = rows.keep(rows.sampled(VERIFIED, SEED))
        few = replace(request, rows=len(rows), n_weighted=len(rows), weighted=False, out_of_core=False)
        exact, brute = both_ways(one.model, lambda candidate: few, rows, self.method)
        worst = max(apart(mine.ale, theirs.ale) for mine, theirs in zip(exact, brute, strict=True))
        terms = max(2 * int(np.prod(grid.nodes)) for grid in request.ale_grids)  # differences are added up
        return within_rounding(one.model, worst, terms)

    def _grids(
        self, context: RunContext, order: Callable[[int, Array], tuple[Array, str]]
    ) -> tuple[tuple[AleGrid, ...], tuple[str, ...]]:
        """Return the grids of bins, and the errors of skipped columns; ``order`` sorts categories."""
        wanted = sorted({(j, len(group) - 1) for group in self.groups for j in group})

        def laid_out(one: tuple[int, int]) -> AleBins | FeatureError:
            feature, index = one
            try:
                return bins_of(
                    context.data.summary(feature, self.wanted),
                    context.rows.table,
                    feature,
                    index,
                    given=self.axes.given.get(feature),
                    ordered=partial(order, feature),
                )
            except FeatureError as error:
                return error

        bins_or_errors = dict(zip(wanted, context.pool.map(laid_out, wanted), strict=True))
        refused = {one: bins for one, bins in bins_or_errors.items() if isinstance(bins, FeatureError)}
        if refused and (not self.axes.skip or len(refused) == len(bins_or_errors)):
            raise next(iter(refused.values()))
        groups = [[bins_or_errors[j, len(group) - 1] for j in group] for group in self.groups]
        grids = tuple(
            AleGrid.along(*(bins for bins in group if isinstance(bins, AleBins)))
            for group in groups
            if not any(isinstance(bins, FeatureError) for bins in group)
        )
        for grid in grids:
            _check_pair(grid)
        return grids, tuple(str(error) for error in refused.values())

    def _request(self, context: RunContext, grids: tuple[AleGrid, ...]) -> AleRequest:
        """Return the request for all grids."""
        return AleRequest(grids, "average", **context.of_rows(), sample=context.unit_sample())

    def _result(
        self,
        context: RunContext,
        request: AleRequest,
        estimated: list[ModelEstimates],
        skipped: tuple[str, ...],
        verified: list[float] | None,
    ) -> Effects[AccumulatedLocalEffect]:
        """Build the result."""
        provenance = context.record(
            **combine_facts(estimated, verified),
            grid_resolution=self.axes.bins[min(len(group) for group in self.groups) - 1],
            points=request.points,
            rank_error=context.data.rank_error(self.wanted),
        )
        joined = combined_estimates(context, estimated, mean_ale_estimate)
        grids = request.ale_grids
        several = zip(grids, joined, quantile_notes(grids, context, self.wanted, "bins"), strict=True)
        return Effects(tuple(self._effect(context, provenance, *one) for one in several), skipped)

    def _effect(
        self,
        context: RunContext,
        provenance: Provenance,
        grid: AleGrid,
        estimate: AleEstimate,
        remarks: tuple[Note, ...],
    ) -> AccumulatedLocalEffect:
        """Build one local effect."""
        models = context.models
        builder = EffectBuilder(models[0].output_names, models, context.rows.weight_scale, provenance)
        return builder.accumulated_local_effect(grid, estimate, context.rows.total, remarks)


class OrderNeededError(Exception):
    """Raised if unordered categories must be ordered by similarity, which needs sampled rows."""


def _no_order(feature: int, categories: Array) -> tuple[Array, str]:
    """Raise, because no rows have been sampled to order categories."""
    raise OrderNeededError


def _check_pair(grid: AleGrid) -> None:
    """Raise for a pair of categorical features."""
    if len(grid.bins) == 2 and all(bins.nominal for bins in grid.bins):
        names = " and ".join(repr(bins.axis.name) for bins in grid.bins)
        raise FeatureError(
            f"ALE of two categorical features ({names}) is not defined; use partial_dependence or h_statistic"
        )
