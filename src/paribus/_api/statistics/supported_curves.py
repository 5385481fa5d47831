"""Curves over the combinations of values that occur, from curves by bin of another feature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from paribus._api.by_group import each_group
from paribus._api.combine import combined_estimates, label, mean_estimate
from paribus._api.data import InMemoryData
from paribus._api.run import Rounds, RunContext, each_model, evaluate_model, lockstep
from paribus._contracts import Flags, Floats
from paribus._data.summary import SEED
from paribus._evaluators.occupancy import GroupsByBin, OccupiedCells
from paribus._grid import Grid
from paribus.results.supported import SupportedCurve

if TYPE_CHECKING:
    from paribus._api.statistics.effects_statistic import EffectsStatistic


class SupportedRequest(NamedTuple):
    """A grid of one feature whose curve is restricted to occupied cells with a partner.

    ``occupied (g, b)`` are the bins of the partner that occur with each point, None if all do. ``average
    (o, g)`` is the curve of all rows. Both include the missing value, if the grid has it as last point.
    """

    grid: Grid
    partner: int
    occupied: Flags | None
    average: Floats

    @classmethod
    def of(cls, grid: Grid, partner: int, joint: OccupiedCells, average: Floats) -> SupportedRequest:
        """Return the request for a grid."""
        feature = grid.axes[0].feature
        occupied, bins = joint.occupied(feature, partner), joint.bins_of(grid.axes[0])
        if grid.includes_missing:
            bins = np.append(bins, joint.outlook.bins[feature].missing)
        return cls(grid, partner, None if occupied is None else occupied[bins], average)

    def curve(self, name: str, rows: int, by_bin: Mapping[int, tuple[float, Floats]]) -> SupportedCurve:
        """Return the supported curve from the share of the rows and the curve of each bin of the partner."""
        missing = self.grid.includes_missing
        if self.occupied is None:
            everywhere = np.ones((self.grid.n_points, 1), bool)
            return SupportedCurve.of(name, rows, self.average[None], np.ones(1), everywhere, missing=missing)
        shares, curves = (np.array(each) for each in zip(*by_bin.values(), strict=True))
        return SupportedCurve.of(name, rows, curves, shares, self.occupied[:, list(by_bin)], missing=missing)


@dataclass(frozen=True, eq=False)
class BinCurves:
    """Average curves of some features for the rows of each bin, without standard errors."""

    effects: EffectsStatistic
    grids: tuple[Grid, ...]
    verb: str

    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    max_predictions: ClassVar[None] = None

    def evaluate(self, context: RunContext) -> Rounds:
        """Return the average ``(o, g)`` of each grid, and the number of predictions."""
        full = self.effects.request(context, self.grids, sum(grid.n_points for grid in self.grids))
        request = replace(
            full,
            kind="average",
            quantiles=None,
            strengths=False,
            sample=context.rows.sample(1, SEED),  # standard errors are not used
            shared=context.shared(self),
        )
        count = len(context.models)
        estimated = yield from each_model(
            [
                evaluate_model(
                    context, model, lambda candidate: request, self.effects.method, label(self.verb, n, count)
                )
                for n, model in enumerate(context.models)
            ]
        )
        averages = [one.average for one in combined_estimates(context, estimated, mean_estimate)]
        return averages, sum(plan.evaluator.predictions for one in estimated for plan in one.plans)


def supported_curves(
    effects: EffectsStatistic,
    context: RunContext,
    requests: Mapping[int, SupportedRequest],
    joint: OccupiedCells,
    sampled: int | None = None,
) -> Rounds:
    """Evaluate curves by bin of the partner, for some grids by number, and combine them.

    With ``sampled``, at most so many rows are used, which are sampled into memory. Return the supported curve
    of each grid, and the number of predictions for all.
    """
    names, by_partner = context.data.header.names, dict[int, list[int]]()
    if sampled is not None:
        some = yield from context.subsample(sampled, SEED, effects.verb)
        context = replace(context, data=InMemoryData(some, True), of_sample=True)
    for number, one in requests.items():
        if one.occupied is not None:
            by_partner.setdefault(one.partner, []).append(number)
    steps: list[Any] = []
    for partner, numbers in by_partner.items():
        groups = GroupsByBin(names[partner], partner, joint.outlook.bins[partner])
        grids = tuple(requests[number].grid for number in numbers)
        verb = f"{effects.verb}-supported-{partner}"
        steps.append(each_group(context, groups, BinCurves(effects, grids, verb)))
    by_bin: dict[int, dict[int, tuple[float, Floats]]] = {number: {} for number in requests}
    predictions = 0
    for numbers, (bins, found) in zip(by_partner.values(), (yield from lockstep(steps)), strict=True):
        for own, (averages, predicted) in zip(bins, found, strict=True):
            predictions += predicted
            for number, average in zip(numbers, averages, strict=True):
                by_bin[number][int(own.label)] = own.share, average
    rows = context.rows.n_weighted
    curves = {number: one.curve(names[one.partner], rows, by_bin[number]) for number, one in requests.items()}
    return curves, predictions
