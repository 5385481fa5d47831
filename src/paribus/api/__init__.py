"""The verbs. Each reads as the path of a call: what came in, where we ask, how, and what came out."""

from paribus.api.dependence import effects, partial_dependence
from paribus.api.estimate import plan
from paribus.api.importance import feature_importance
from paribus.api.strengths import h_statistic

__all__ = ["effects", "feature_importance", "h_statistic", "partial_dependence", "plan"]
