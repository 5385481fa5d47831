"""Every statistic of a model in shared passes, as one `Explanation`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from paribus._api.model_facts import model_record
from paribus._api.statistics.marginal_statistic import MarginalStatistic
from paribus._api.statistics.performance_statistic import PerformanceStatistic
from paribus.results import Effects, HStatistics
from paribus.results.explanation import Explanation

if TYPE_CHECKING:
    from paribus._api.explainer import Explainer

GRID = 32  # points of a curve: enough to see it, and few enough for a page of many
SURFACE_GRID = 16  # points of each axis of a surface
QUANTILES = (0.1, 0.5, 0.9)


def explain(explainer: Explainer, *, monotone: Any, pairs: int, mute: Any) -> Explanation:
    """Compute every statistic of a model."""
    curves = {"grid_resolution": GRID, "quantiles": QUANTILES}
    several = len(explainer.header.names) > 1
    verbs: list[Any] = [("effects", curves), "accumulated_local_effects", "feature_importance"]
    found = explainer.run(*verbs, *(["h_statistic"] if several else []))
    options = {"percentiles": (0.05, 0.95), "grid_resolution": 20, "custom_values": None}
    averages = explainer._statistic("marginal", {"features": None, "max_predictions": None} | options)
    assert isinstance(averages, MarginalStatistic)
    ((means, performance, columns),) = explainer._run([PerformanceStatistic.of(averages)])
    interactions: HStatistics | None = found.get("h_statistic")
    surfaces = _surfaces(explainer, interactions, pairs)
    provenance = found["effects"].provenance
    data = explainer._data
    model = model_record(explainer._estimators, explainer._models or (), data.rows, provenance)
    return Explanation(
        effects=found["effects"],
        local_effects=found["accumulated_local_effects"],
        averages=means,
        importance=found["feature_importance"],
        interactions=interactions,
        surfaces=surfaces,
        shapes=(),
        performance=performance,
        model=model,
        columns=columns,
        verdict=tuple(dict.fromkeys(note for part in (*found.values(), means) for note in part.notes)),
        checks=(),
    )


def _surfaces(explainer: Explainer, interactions: HStatistics | None, pairs: int) -> Effects | None:
    """Return the partial dependence on the strongest pairs."""
    if interactions is None or pairs == 0:
        return None
    strongest = [one.features for one in interactions.strongest(pairs) if one.strength > 0]
    return explainer.effects(strongest, grid_resolution=SURFACE_GRID) if strongest else None
