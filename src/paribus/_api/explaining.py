"""Options of `explain`, and the `Explanation` built from the results of its statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from paribus._api.by_group import GroupedStatistic, GroupPerformance
from paribus._api.model_facts import (
    data_files,
    declared_features,
    directions_of,
    model_record,
    target_records,
)
from paribus._api.options import (
    AleOptions,
    EffectsOptions,
    HStatisticOptions,
    ImportanceOptions,
    MarginalOptions,
    Options,
    RegionOptions,
    Subject,
)
from paribus._api.run import Statistic
from paribus._api.statistics.effects_statistic import VARIED, EffectsStatistic, SurfaceStatistic
from paribus._api.statistics.importance_statistic import importance_of
from paribus._api.statistics.interaction_statistic import SUBSAMPLE, InteractionStatistic
from paribus._api.statistics.performance_statistic import PerformanceStatistic
from paribus._api.statistics.share_statistic import ShareStatistic
from paribus._data.features import resolve_each
from paribus._data.summary import CENTER
from paribus._grid import GridOptions
from paribus._models import Model
from paribus._states.sums import ignore_fp_errors
from paribus._typing import GridResolution
from paribus.errors import check_flags
from paribus.results import Effects, Explanation, HStatistics, PartialDependence
from paribus.results.group_comparison import compare_groups
from paribus.results.shape import shapes_of
from paribus.results.verdict import Parts, verdict_of

if TYPE_CHECKING:
    from paribus._api.explainer import Explainer
    from paribus._evaluators.interactions import VarianceShares

SURFACES = 10  # surfaces, of the pairs that interact most
SURFACE_GRID = 12  # points of each axis of a surface
PAIRED = 40  # features with most interaction, whose pairs are evaluated if rows are crossed
QUANTILES = (0.1, 0.5, 0.9)
CALLED_ROWS = 1_000  # rows of every statistic if the model is called
# Crossings of a row with another for interactions: of a model that is called, and of trees. Those of a model
# are predictions; they take about as long as the curves, and suffice to find the strong pairs.
CALLED_CROSSINGS, TREE_CROSSINGS = 2_000_000, 10_000_000
FEWEST_CROSSED = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class ExplainOptions(Options[Explanation]):
    """Options of `explain`."""

    verb = "explain"
    called_rows = CALLED_ROWS

    monotone: Any
    percentiles: tuple[float, float] | None
    grid_resolution: GridResolution
    interactions: bool

    def __post_init__(self) -> None:
        """Check the option that no statistic checks."""
        check_flags(interactions=self.interactions)

    def statistics(self, explainer: Explainer, subject: Subject) -> dict[str, Statistic]:
        """Return the statistics of an explanation by name, which run together."""
        wanted = self._wanted
        subject.check(self.verb, wanted)
        features, _ = resolve_each(wanted, subject.data.header, subject.data.named)
        models, paired = len(subject.estimators), len(features) > 1 and self.interactions
        curves = self._curves(explainer, subject, wanted)
        averages = MarginalOptions.of(explainer, features=wanted).statistic(subject)
        found: dict[str, Statistic] = {
            "effects": curves,
            "interactions": self._interactions(explainer, subject, paired),
            "ale": AleOptions.of(explainer, features=wanted).statistic(subject),
            # Averages share the axes of the curves, which are laid out once.
            "averages": PerformanceStatistic.of(replace(averages, axes=curves.axes)),
        }
        if subject.data.by is not None:
            found["by effects"] = cast(Statistic, GroupedStatistic(replace(curves, quantiles=None)))
            found["by performance"] = cast(Statistic, GroupPerformance(found["averages"]))
        found |= self._regions(explainer, subject) if paired and models == 1 else {}
        found["shares"] = ShareStatistic(regions="regions" in found)
        if paired:
            grid = GridOptions.of(self.percentiles or CENTER, SURFACE_GRID)
            groups = tuple((feature,) for feature in features)
            axes = subject.axes(wanted, groups, grid, None)
            found["surfaces"] = SurfaceStatistic(SURFACES, axes, subject.verify)
        return found

    def _curves(self, explainer: Explainer, subject: Subject, features: Any) -> EffectsStatistic:
        """Return the statistic of curves."""
        curves = EffectsOptions.of(
            explainer,
            features=features,
            percentiles=self.percentiles,
            grid_resolution=self.grid_resolution,
            quantiles=None if subject.several else QUANTILES,
        ).statistic(subject)
        return replace(curves, directed=declared_features(self.monotone, subject.data.header))

    def _interactions(self, explainer: Explainer, subject: Subject, paired: bool) -> InteractionStatistic:
        """Return the statistic of interactions, of pairs or else of each feature with all others."""
        options = {"features": self._wanted, "random_state": self.seed}
        if not paired:
            alone = ImportanceOptions.of(explainer, **options).interactions(subject)
            return replace(alone, varied=VARIED, with_importance=True)
        statistic = HStatisticOptions.of(explainer, **options).statistic(subject)
        features, several = len(statistic.features), len(subject.estimators) > 1
        return replace(
            statistic,
            varied=VARIED,
            predicted_rows=crossed_rows(features, CALLED_CROSSINGS),
            crossed_rows=crossed_rows(features, TREE_CROSSINGS),
            paired=None if several else PAIRED,  # the strongest pairs of each model differ
            with_importance=True,
        )

    def _regions(self, explainer: Explainer, subject: Subject) -> dict[str, Statistic]:
        """Return the search of regions, which is not verified."""
        options = RegionOptions.of(explainer, random_state=self.seed)
        statistic = options.statistic(replace(subject, verify=False))
        if self.features is not None:
            chosen, _ = resolve_each(self._wanted, subject.data.header, subject.data.named)
            statistic = replace(statistic, searched=chosen)
        axes = replace(statistic.axes, grid=GridOptions.of(self.percentiles, self.grid_resolution))
        return {"regions": replace(statistic, axes=axes, optional=True)}

    @property
    def _wanted(self) -> Any:
        """The features as a list, or None for all."""
        single = isinstance(self.features, (str, int, np.integer))
        return [self.features] if single else self.features


def crossed_rows(features: int, crossings: int) -> int:
    """Return the number of rows to cross with each other, for a number of features and their pairs.

    >>> crossed_rows(5, TREE_CROSSINGS), crossed_rows(30, TREE_CROSSINGS), crossed_rows(30, CALLED_CROSSINGS)
    (500, 146, 65)
    """
    sets = features + math.comb(min(features, PAIRED), 2)
    return max(FEWEST_CROSSED, min(SUBSAMPLE, math.isqrt(crossings // sets)))


@ignore_fp_errors()
def explanation_of(
    found: dict[str, Any], options: ExplainOptions, subject: Subject, models: tuple[Model, ...]
) -> Explanation:
    """Return an explanation from the results of its statistics; ``models`` are the adapted estimators."""
    effects: Effects[PartialDependence] = found["effects"]
    interactions, crossed = found["interactions"]
    importance = importance_of(effects, crossed)
    averages, performance, columns, predictions, target = found["averages"]
    estimator = subject.estimators[0] if len(subject.estimators) == 1 else None
    outputs = effects.effects[0].output_names
    directions = directions_of(options.monotone, estimator, subject.data.header, outputs)
    parts = Parts(
        effects,
        found["ale"],
        averages,
        importance,
        interactions,
        _interacting(found.get("surfaces"), interactions),
        shapes_of(effects, directions),
        performance,
        regions=found.get("regions"),
    )
    if "by effects" in found:
        parts = replace(parts, by_group=compare_groups(found["by effects"], found["by performance"]))
    verdict, checks = verdict_of(parts)
    return Explanation(
        **{one.name: getattr(parts, one.name) for one in fields(parts)},
        model=model_record(subject.estimators, models, subject.data.rows, effects.provenance),
        columns=columns,
        predictions=predictions,
        verdict=verdict,
        checks=checks,
        explained=explained_shares(found["shares"], interactions),
        target=target_records(subject.y, subject.data, target, outputs),
        files=data_files(subject.data),
    )


def explained_shares(shares: VarianceShares, interactions: HStatistics | None) -> VarianceShares:
    """Return the shares of the variance that curves reproduce, with what pairs add.

    Pairs are known on the rows of interactions. They add the share that they reproduce there of what curves
    leave, so that both together are at most one.
    """
    known = None if interactions is None else interactions.explained
    if known is None or known.pairs is None or known.pairs_error is None:
        return shares
    left = np.where(known.curves < 1, 1 - known.curves, np.inf)
    factor = (1 - shares.curves) / left
    return replace(shares, pairs=known.pairs * factor, pairs_error=known.pairs_error * factor)


def _interacting(
    surfaces: Effects[PartialDependence] | None, interactions: HStatistics | None
) -> Effects[PartialDependence] | None:
    """Return the surfaces of pairs whose interaction is not zero."""
    if surfaces is None or interactions is None:
        return None
    names, strength = interactions.feature_names, interactions.pairwise.strength
    strong = {
        frozenset((names[one], names[other]))
        for (one, other), own in zip(interactions.pairs, strength, strict=True)
        if own.any()
    }
    kept = tuple(one for one in surfaces.effects if frozenset(one.feature_names) in strong)
    return Effects(kept, surfaces.skipped) if kept else None
