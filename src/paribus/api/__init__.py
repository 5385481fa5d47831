"""The verbs. Each reads as the path of a call: what came in, where we ask, how, and what came out."""

from paribus.api.averages import marginal
from paribus.api.dependence import effects, partial_dependence
from paribus.api.estimate import plan
from paribus.api.importance import feature_importance
from paribus.api.local import accumulated_local_effects
from paribus.api.strengths import h_statistic

__all__ = [
    "accumulated_local_effects",
    "effects",
    "feature_importance",
    "h_statistic",
    "marginal",
    "partial_dependence",
    "plan",
]
