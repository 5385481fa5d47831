"""The public functions, and the object whose methods they are."""

from paribus._api.explainer import Explainer
from paribus._api.functions import (
    accumulated_local_effects,
    effects,
    estimate_cost,
    explain,
    feature_importance,
    h_statistic,
    marginal,
    partial_dependence,
)

__all__ = [
    "Explainer",
    "accumulated_local_effects",
    "effects",
    "estimate_cost",
    "explain",
    "feature_importance",
    "h_statistic",
    "marginal",
    "partial_dependence",
]
