"""Options of `explain`, and the `Explanation` built from the results of its statistics."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from paribus._api.by_group import GroupedStatistic, GroupPerformance
from paribus._api.crossed_rows import SUBSAMPLE
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
from paribus._api.run import STRONGEST_PAIRS, Statistic
from paribus._api.statistics.effects_statistic import VARIED, EffectsStatistic, SurfaceStatistic
from paribus._api.statistics.interaction_statistic import InteractionStatistic
from paribus._api.statistics.performance_statistic import PerformanceStatistic
from paribus._api.statistics.shape_statistic import ShapeStatistic
from paribus._data.features import resolve_each
from paribus._grid import GridOptions
from paribus._models import Model
from paribus._states.sums import ignore_fp_errors
from paribus._typing import GridResolution
from paribus.errors import check_flags
from paribus.results import Effects, Explanation, HStatistics, Importance, PartialDependence
from paribus.results.curve_values import root_mean_square
from paribus.results.group_comparison import compare_groups
from paribus.results.shape import shapes_of
from paribus.results.verdict import Parts, verdict_of

if TYPE_CHECKING:
    from paribus._api.explainer import Explainer

GRID = 20  # points of a curve, and of averages
MANY, FEW_POINTS, FEW_BINS = 100, 12, 20  # number of features above which curves and ALE are coarser
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
    grid_resolution: GridResolution | None
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
        points, bins = self._points(len(features))
        curves = self._curves(explainer, subject, wanted, points)
        local = AleOptions.of(explainer, features=wanted, grid_resolution=bins).statistic(subject)
        averages = MarginalOptions.of(
            explainer, features=wanted, percentiles=self.percentiles, grid_resolution=points
        ).statistic(subject)
        strong = ImportanceOptions.of(explainer, features=wanted, random_state=self.seed).by_effect(subject)
        pairs = HStatisticOptions.of(explainer, features=wanted, random_state=self.seed)
        crossed = crossed_rows(len(features), TREE_CROSSINGS) if paired else SUBSAMPLE
        found: dict[str, Statistic] = {
            "effects": curves,
            "shapes": ShapeStatistic.beside(curves, declared_features(self.monotone, subject.data.header)),
            **self._interactions(subject, pairs.statistic(subject) if paired else strong, crossed),
            "ale": replace(local, after=STRONGEST_PAIRS if paired else None),
            # Averages share the axes of the curves, which are laid out once.
            "averages": PerformanceStatistic.of(replace(averages, axes=curves.axes)),
        }
        if crossed < SUBSAMPLE:
            # Strengths use the default number of rows, even if fewer are crossed for pairs.
            found["strengths"] = replace(strong, varied=VARIED, only_crossed=True)
        found |= {} if subject.data.by is None else grouped_statistics(curves, found["averages"])
        found |= self._regions(explainer, subject, points) if paired and models == 1 else {}
        if paired:
            grid, groups = GridOptions.of(self.percentiles, SURFACE_GRID), tuple((one,) for one in features)
            axes = subject.axes(wanted, groups, grid, None)
            found["surfaces"] = SurfaceStatistic(SURFACES, axes, subject.verify)
        return found

    def _curves(self, explainer: Explainer, subject: Subject, features: Any, points: Any) -> EffectsStatistic:
        """Return the statistic of curves, with points beyond the percentiles."""
        curves = EffectsOptions.of(
            explainer,
            features=features,
            percentiles=self.percentiles,
            grid_resolution=points,
            quantiles=None if subject.several else QUANTILES,
        ).statistic(subject)
        full = replace(curves.axes, grid=replace(curves.axes.grid, full_range=True))
        return replace(curves, axes=full, strengths=False)

    def _interactions(
        self, subject: Subject, statistic: InteractionStatistic, crossed: int
    ) -> dict[str, Statistic]:
        """Return the statistics of interactions and of those of margins, or of strengths without pairs."""
        paired = statistic.pairwise
        predicted = crossed_rows(len(statistic.features), CALLED_CROSSINGS) if paired else SUBSAMPLE
        statistic = replace(statistic, varied=VARIED, predicted_rows=predicted)
        several = len(subject.estimators) > 1  # the strongest pairs of each model differ
        found: dict[str, Statistic] = {
            "interactions": replace(
                statistic,
                crossed_rows=crossed,
                paired=None if several else PAIRED,
                with_importance=True,
                ranks_pairs=paired,
            )
        }
        if paired:
            found["margins"] = replace(statistic, margins=True, verify=False)  # margins are not predicted
        return found

    def _regions(self, explainer: Explainer, subject: Subject, points: Any) -> dict[str, Statistic]:
        """Return the search of regions, which is not verified."""
        options = RegionOptions.of(explainer, random_state=self.seed)
        statistic = options.statistic(replace(subject, verify=False))
        if self.features is not None:
            chosen, _ = resolve_each(self._wanted, subject.data.header, subject.data.named)
            statistic = replace(statistic, searched=chosen)
        resolution = points if isinstance(points, int) else GRID
        axes = replace(statistic.axes, grid=GridOptions.of(self.percentiles, resolution))
        return {"regions": replace(statistic, axes=axes, optional=True)}

    @property
    def _wanted(self) -> Any:
        """The features as a list, or None for all."""
        single = isinstance(self.features, (str, int, np.integer))
        return [self.features] if single else self.features

    def _points(self, features: int) -> tuple[Any, int | None]:
        """Return the number of points of curves, and of bins of local effects (None for the default)."""
        if features > MANY:
            return FEW_POINTS if self.grid_resolution is None else self.grid_resolution, FEW_BINS
        return GRID if self.grid_resolution is None else self.grid_resolution, None


def grouped_statistics(curves: EffectsStatistic, averages: Statistic) -> dict[str, Statistic]:
    """Return the statistics of groups of rows, effects and performance."""
    return {
        "by effects": cast(Statistic, GroupedStatistic(replace(curves, quantiles=None))),
        "by performance": cast(Statistic, GroupPerformance(averages)),
    }


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
    interactions, importance = found["interactions"]
    importance = found.get("strengths") or importance
    effects = _with_strengths(effects, importance)
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
        shapes_of(effects, found["shapes"], directions),
        performance,
        regions=found.get("regions"),
        margin_interactions=found.get("margins"),
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
        target=target_records(subject.y, subject.data, target, outputs),
        files=data_files(subject.data),
    )


def _with_strengths(
    effects: Effects[PartialDependence], importance: Importance
) -> Effects[PartialDependence]:
    """Return the effects with the strengths from importance, which also has standard errors."""
    strengths = {
        name: root_mean_square(np.atleast_1d(values))
        for name, values in zip(importance.feature_names, importance.values, strict=True)
    }
    named = [(one, one.feature_names[0]) for one in effects.effects]
    strong = (replace(one, strength=strengths[name]) if name in strengths else one for one, name in named)
    return Effects(tuple(strong), effects.skipped)


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
