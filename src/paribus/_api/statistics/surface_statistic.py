"""Partial dependence on the pairs that interact most, which other statistics of the run find out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import ClassVar

from paribus._api.run import Needed, Steps, Verification, Work
from paribus._api.statistics.axis_options import AxisOptions
from paribus._api.statistics.effects_statistic import VARIED, EffectsStatistic
from paribus._api.statistics.interaction_statistic import STRONGEST_PAIRS
from paribus._evaluators.planner import Plan
from paribus._evaluators.survey import SEED, SummarySpec


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

    def evaluate(self, work: Work) -> Steps:
        """Wait for the pairs, and evaluate them."""
        if self.any_pairs:
            varied = (yield Needed(VARIED)) or ()
            among = combinations((one for one in self.features if one in varied), 2)
            pairs = tuple(islice(among, self.count))
        else:
            pairs = ((yield Needed(STRONGEST_PAIRS)) or ())[: self.count]
        if not pairs:
            return _nothing
        build: Callable[[], object] = yield from self._effects(pairs).evaluate(work)
        return build

    def verification(self, work: Work, plans: Sequence[Plan]) -> Verification:
        """Nothing is compared."""
        return Verification()

    def _effects(self, pairs: tuple[tuple[int, ...], ...]) -> EffectsStatistic:
        features = tuple(sorted({feature for pair in pairs for feature in pair}))
        axes = replace(self.axes, features=features, surveyed=self.axes.features)
        return EffectsStatistic(pairs, axes, verb=self.verb, max_predictions=self.max_predictions)


def _nothing() -> None:
    """Build no surfaces: no pair interacts."""
