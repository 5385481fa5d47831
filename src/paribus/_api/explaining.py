"""Every statistic of a model in shared passes, as one `Explanation`."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from paribus._api.data import ExplainerData
from paribus._api.model_facts import data_files, model_record, target_records
from paribus._api.monotone import declared_features, directions_of
from paribus._api.options import AUTO, check_flags, check_int, hour_limit, prediction_limit
from paribus._api.run import Statistic
from paribus._api.statistics.ale_statistic import AleStatistic
from paribus._api.statistics.axis_options import AxisOptions
from paribus._api.statistics.effects_statistic import EffectsStatistic
from paribus._api.statistics.interaction_statistic import SUBSAMPLE, InteractionStatistic
from paribus._api.statistics.marginal_statistic import MarginalStatistic
from paribus._api.statistics.pair_ranking import PairRanking, VariedFeatures
from paribus._api.statistics.performance_statistic import PerformanceStatistic
from paribus._api.statistics.shape_statistic import ShapeStatistic
from paribus._api.statistics.surface_statistic import SurfaceStatistic
from paribus._grid import GridOptions
from paribus._models import Model
from paribus._states.overflow import ignore_fp_errors
from paribus.errors import OptionError
from paribus.results import Effects, Explanation, HStatistics, Importance
from paribus.results.build_shapes import shapes_of
from paribus.results.curve_values import root_mean_square
from paribus.results.verdict import Parts, muted_codes, verdict_of

GRID = 20  # points of a curve: those of averages too, so that both are of the same rows
MANY, FEW_POINTS, FEW_BINS = 100, 12, 20  # features with fewer points and bins, to be kept and shown
SURFACE_GRID = 12  # points of each axis of a surface
PAIRS = 10  # surfaces
PAIRED = 40  # features whose pairs are evaluated where rows are crossed: the rest interacts less
QUANTILES = (0.1, 0.5, 0.9)
# Rows that are crossed with each other for interactions where nothing is read off the model: so few that
# this takes about as long as the curves of many rows, and enough to find which pairs are strong.
CROSSED, FEWEST_CROSSED = 10_000_000, 64
# How a bound on predictions is divided: curves and interactions take most.
SHARES = {
    "effects": 6,
    "shapes": 1,  # which take part of what effects may
    "accumulated_local_effects": 2,
    "marginal": 1,
    "h_statistic": 6,
    "surfaces": 5,
}


@dataclass(frozen=True, eq=False)
class ExplainOptions:
    """What is requested of `explain`, checked."""

    features: Any
    monotone: Any
    pairs: int
    mute: Any
    percentiles: Any
    grid_resolution: Any
    quantiles: Any
    interactions: bool
    subsample: Any
    random_state: Any
    max_predictions: int | None
    max_hours: float | None

    @classmethod
    def of(cls, arguments: dict[str, Any], *, several: bool) -> ExplainOptions:
        """Check the arguments of `explain` that no statistic checks; ``several`` says that models are."""
        own = dict(arguments)
        own["pairs"] = check_int("pairs", own["pairs"], 0)
        check_flags(interactions=own["interactions"])
        muted_codes(own["mute"])  # refused before anything is computed
        own["max_predictions"] = prediction_limit(own["max_predictions"])
        own["max_hours"] = hour_limit(own["max_hours"])
        if isinstance(own["quantiles"], str) and own["quantiles"] == AUTO:
            own["quantiles"] = None if several else QUANTILES
        if isinstance(own["features"], (str, int, np.integer)):
            own["features"] = [own["features"]]
        return cls(**own)

    @property
    def surface_grid(self) -> GridOptions:
        """How the axes of surfaces are laid out."""
        return GridOptions.of(self.percentiles, SURFACE_GRID)

    def points(self, features: int) -> tuple[Any, int | None]:
        """Return the points of curves, and the bins of local effects, None for as many as usual."""
        if features > MANY:
            return FEW_POINTS if self.grid_resolution is None else self.grid_resolution, FEW_BINS
        return GRID if self.grid_resolution is None else self.grid_resolution, None

    def share(self, part: str) -> dict[str, int | None]:
        """Return the argument that says how many predictions one part may make."""
        if self.max_predictions is None:
            return {"max_predictions": None}
        share = self.max_predictions * SHARES[part] // sum(SHARES.values())
        if share < 1:
            raise OptionError(
                f"max_predictions={self.max_predictions} is divided among {len(SHARES)} statistics, and "
                f"leaves none for {part}; raise it"
            )
        return {"max_predictions": share}


def statistics_of(
    options: ExplainOptions,
    build: Callable[..., Statistic],
    axes: AxisOptions,
    features: tuple[int, ...],
    models: int,
) -> dict[str, Statistic]:
    """Return the statistics that an explanation consists of, which are run together.

    ``build`` returns the statistic of a method, ``axes`` are those of surfaces of any of the ``features``.
    """
    paired = len(features) > 1 and options.interactions
    ranking = PairRanking(features, models) if paired and options.pairs else None
    varied, (points, bins) = VariedFeatures(), options.points(len(features))
    grid = {"grid_resolution": points, "percentiles": options.percentiles}
    curves = build("effects", **grid, quantiles=options.quantiles, **options.share("effects"))
    local = build(
        "accumulated_local_effects", grid_resolution=bins, **options.share("accumulated_local_effects")
    )
    drawing = {"subsample": options.subsample, "random_state": options.random_state}
    strengths = build(
        "h_statistic" if paired else "feature_importance", **drawing, **options.share("h_statistic")
    )
    assert isinstance(curves, EffectsStatistic)
    assert isinstance(local, AleStatistic)
    assert isinstance(strengths, InteractionStatistic)
    # Statistics of curves are of all rows, also of those beyond the percentiles.
    full = replace(curves.axes, grid=replace(curves.axes.grid, full_range=True))
    curves = replace(curves, axes=full, varied=varied, strengths=False)
    averages = build("marginal", **grid, **options.share("marginal"))
    assert isinstance(averages, MarginalStatistic)
    rows = crossed_rows(len(features)) if paired else SUBSAMPLE
    among = None if models > 1 else PAIRED  # the strongest of each model differ
    # Each stands after those that it waits for, so that it goes on in the same round.
    found: dict[str, Statistic] = {
        "effects": curves,
        "shapes": ShapeStatistic.beside(curves, declared_features(options.monotone, axes.header)),
        "interactions": replace(
            strengths, crossed_rows=rows, paired=among, with_importance=True, ranking=ranking, varied=varied
        ),
        "local_effects": replace(local, after=ranking),
        # On the axes of the curves, which are the same and laid out once.
        "averages": PerformanceStatistic.of(replace(averages, axes=curves.axes)),
    }
    if rows < SUBSAMPLE and options.subsample == AUTO and options.max_predictions is None:
        # Strengths are of as many rows as those of other functions, however few are crossed for pairs.
        strong = build("feature_importance", **drawing)
        assert isinstance(strong, InteractionStatistic)
        found["strengths"] = replace(strong, varied=varied, only_crossed=True)
    if ranking is not None:
        bound = options.share("surfaces")["max_predictions"]
        found["surfaces"] = SurfaceStatistic(ranking, options.pairs, axes, max_predictions=bound)
    return found


def crossed_rows(features: int) -> int:
    """Return how many rows are crossed with each other for so many features and the pairs of them.

    >>> crossed_rows(5), crossed_rows(30), crossed_rows(200)
    (500, 146, 101)
    """
    crossings = features + math.comb(min(features, PAIRED), 2)
    return max(FEWEST_CROSSED, min(SUBSAMPLE, math.isqrt(CROSSED // crossings)))


@dataclass(frozen=True, eq=False)
class Explained:
    """What an explanation is of: the models as they were passed and as they were read, data and target."""

    estimators: tuple[Any, ...]
    models: tuple[Model, ...]
    data: ExplainerData
    y: Any


@ignore_fp_errors()
def explanation_of(found: dict[str, Any], options: ExplainOptions, about: Explained) -> Explanation:
    """Return an explanation from the results of its statistics."""
    effects: Effects = found["effects"]
    interactions, importance = found["interactions"]
    importance = found.get("strengths") or importance
    effects = _with_strengths(effects, importance)
    averages, performance, columns, predictions, target = found["averages"]
    estimator = about.estimators[0] if len(about.estimators) == 1 else None
    outputs = effects.effects[0].output_names
    directions = directions_of(options.monotone, estimator, about.data.header, outputs)
    parts = Parts(
        effects,
        found["local_effects"],
        averages,
        importance,
        interactions,
        _interacting(found.get("surfaces"), interactions),
        shapes_of(effects, found["shapes"], directions),
        performance,
    )
    verdict, checks = verdict_of(parts, options.mute)
    return Explanation(
        **{one.name: getattr(parts, one.name) for one in fields(parts)},
        model=model_record(about.estimators, about.models, about.data.rows, effects.provenance),
        columns=columns,
        predictions=predictions,
        verdict=verdict,
        checks=checks,
        target=target_records(about.y, about.data, target, outputs),
        files=data_files(about.data),
    )


def _with_strengths(effects: Effects, importance: Importance) -> Effects:
    """Return the effects with the strengths of importance, which has an error of each, in their order."""
    strengths = {
        name: root_mean_square(np.atleast_1d(values))
        for name, values in zip(importance.feature_names, importance.values, strict=True)
    }
    named = [(one, one.feature_names[0]) for one in effects.effects]
    strong = (replace(one, strength=strengths[name]) if name in strengths else one for one, name in named)
    return Effects(tuple(strong), effects.skipped)


def _interacting(surfaces: Effects | None, interactions: HStatistics | None) -> Effects | None:
    """Return the surfaces of pairs that interact by more than rounding."""
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
