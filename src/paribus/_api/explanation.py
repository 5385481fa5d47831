"""Every statistic of a model in shared passes, as one `Explanation`."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING, Any

from paribus._api.monotone import declared_features, directions_of
from paribus._api.statistics.effects_statistic import EffectsStatistic
from paribus._api.statistics.shape_statistic import ShapeStatistic
from paribus.results import Effects, HStatistics
from paribus.results.build_shapes import shapes_of
from paribus.results.explanation import Explanation
from paribus.results.model_record import ColumnRecord, ModelRecord
from paribus.results.verdict import Parts, muted_codes, verdict_of

if TYPE_CHECKING:
    from paribus._api.explainer import Explainer

GRID = 32  # points of a curve: enough to see it, and few enough for a page of many
SURFACE_GRID = 16  # points of each axis of a surface
QUANTILES = (0.1, 0.5, 0.9)


def explain(explainer: Explainer, *, monotone: Any, pairs: int, mute: Any) -> Explanation:
    """Compute every statistic of a model."""
    muted_codes(mute)  # refused before anything is computed
    curves = {"grid_resolution": GRID, "quantiles": None if explainer._several else QUANTILES}
    several = len(explainer.header.names) > 1
    verbs: list[Any] = [("effects", curves), "accumulated_local_effects", "marginal", "feature_importance"]
    statistics = explainer._statistics([*verbs, *(["h_statistic"] if several else [])])
    effects = statistics["effects"]
    assert isinstance(effects, EffectsStatistic)
    statistics["shapes"] = ShapeStatistic.beside(effects, declared_features(monotone, explainer.header))
    found = explainer._run_named(statistics)
    covariances = found.pop("shapes")
    outputs = found["effects"].effects[0].output_names
    estimator = explainer._estimators[0] if len(explainer._estimators) == 1 else None
    directions = directions_of(monotone, estimator, explainer.header, outputs)
    interactions: HStatistics | None = found.get("h_statistic")
    surfaces = _surfaces(explainer, interactions, pairs)
    performance = None
    shapes = shapes_of(found["effects"], covariances, directions)
    parts = Parts(
        found["effects"],
        found["accumulated_local_effects"],
        found["marginal"],
        found["feature_importance"],
        interactions,
        surfaces,
        shapes,
        performance,
    )
    verdict, checks = verdict_of(parts, mute)
    provenance = found["effects"].provenance
    model = ModelRecord(
        provenance.model,
        provenance.model_library,
        provenance.model_version,
        provenance.model_digest,
        {},
        None,
        None,
        None,
        provenance.structure,
        {"paribus": provenance.paribus, "python": provenance.python},
        platform.platform(),
    )
    columns = tuple(
        ColumnRecord(one.feature_names[0], one.kinds[0], "", None, None, 0.0, None)
        for one in found["effects"].effects
    )
    return Explanation(
        effects=found["effects"],
        local_effects=found["accumulated_local_effects"],
        averages=found["marginal"],
        importance=found["feature_importance"],
        interactions=interactions,
        surfaces=surfaces,
        shapes=shapes,
        performance=performance,
        model=model,
        columns=columns,
        verdict=verdict,
        checks=checks,
    )


def _surfaces(explainer: Explainer, interactions: HStatistics | None, pairs: int) -> Effects | None:
    """Return the partial dependence on the strongest pairs."""
    if interactions is None or pairs == 0:
        return None
    strongest = [one.features for one in interactions.strongest(pairs) if one.strength > 0]
    return explainer.effects(strongest, grid_resolution=SURFACE_GRID) if strongest else None
