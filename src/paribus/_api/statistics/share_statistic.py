"""Shares of the variance of the prediction that the curves of an explanation reproduce."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from paribus._api.run import Needed, RunContext, Statistic, Steps
from paribus._api.runner import Pass
from paribus._api.statistics.effects_statistic import CURVES
from paribus._api.statistics.region_statistic import REGION_CURVES, RegionCurves
from paribus._contracts import Floats
from paribus._data.rows import Rows
from paribus._evaluators.curve_shares import SHARE_ROWS, CurveLookup, CurveShares, RegionalLookup
from paribus._evaluators.interactions import VarianceShares
from paribus._evaluators.region_search import RegionGrouping
from paribus._evaluators.request import EffectEstimate
from paribus._evaluators.support import Support
from paribus._grid import Grid
from paribus._states import merge_in_order
from paribus.results import GroupedResults, PartialDependence


@dataclass(frozen=True, eq=False)
class ShareStatistic(Statistic):
    """Share of the variance that curves reproduce, and that regions add."""

    regions: bool
    verb: str = "shares"

    seeds: ClassVar[tuple[int, ...]] = ()
    reads_trees: ClassVar[bool] = False

    def evaluate(self, context: RunContext) -> Steps:
        """Look up the curves of all rows, then those of regions for the rows that these were searched in."""
        lookups = tuple(_lookup(*curve) for curve in (yield Needed(CURVES)))
        evaluator, rows = CurveShares(context.models, lookups, None), context.rows
        averages = [lookup.average for lookup in lookups]
        whole = Pass(
            self.verb,
            evaluator,
            rows.blocks(SHARE_ROWS),
            1,  # a model may start threads itself
            identity=context.identity(rows, context.models[0], *averages),
            reads=not context.of_sample,
            rows=rows,
        )
        (state,) = yield [whole]
        (curves,), (error,) = evaluator.finish(state)
        searched = (yield Needed(REGION_CURVES)) if self.regions else None
        if searched is None:
            return lambda: VarianceShares(curves, error)
        if searched.best is None:
            none = np.zeros_like(curves)
            return lambda: VarianceShares(curves, error, regions=none, regions_error=none)
        (known, added), (_, added_error) = self._with_regions(context, lookups, searched.rows, searched.best)
        # The share of what curves leave, if regions were searched in a sample.
        factor = (1 - curves) / np.where(known < 1, 1 - known, np.inf)
        return lambda: VarianceShares(
            curves, error, regions=added * factor, regions_error=added_error * factor
        )

    def _with_regions(
        self, context: RunContext, lookups: tuple[CurveLookup, ...], rows: Rows, best: RegionCurves
    ) -> tuple[Floats, Floats]:
        """Return shares of curves and regions, with errors, for the rows in which regions were searched."""
        positions = {lookup.grid.axes[0].feature: number for number, lookup in enumerate(lookups)}
        position = positions[best.feature]
        regional = _regional(position, lookups[position], best.grouping, best.build())
        evaluator = CurveShares(context.models, lookups, regional)
        return evaluator.finish(merge_in_order(map(evaluator.evaluate, rows.blocks(SHARE_ROWS))))


def _lookup(grid: Grid, estimate: EffectEstimate, support: Support) -> CurveLookup:
    """Return the curve of a grid, with the weight of the rows around its points."""
    weights = np.append(support.points, support.missing) if grid.includes_missing else support.points
    return CurveLookup(grid, estimate.average, weights)


def _regional(
    position: int, whole: CurveLookup, grouping: RegionGrouping, regions: GroupedResults
) -> RegionalLookup:
    """Return the curves of the regions of a feature, relative to the level of each over all rows."""
    curves = []
    for label in grouping.labels:
        region: PartialDependence = regions[label]
        assert region.average is not None
        average = region.average
        if region.missing is not None and region.missing.average is not None:
            average = np.concatenate([average, region.missing.average[:, None]], axis=1)
        curves.append(CurveLookup(whole.grid, average, whole.weights))
    return RegionalLookup(position, grouping, tuple(curves))
