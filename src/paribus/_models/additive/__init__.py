"""Additive models: a link of a sum of one term per column."""

from __future__ import annotations

from paribus._models.additive.additive import Additive, adds_terms, refuse_overflow, terms_sum
from paribus._models.additive.readers import (
    ProjectedModel,
    additive_for,
    behind_projections,
    is_additive,
    is_linear,
    read_linear,
)

__all__ = [
    "Additive",
    "ProjectedModel",
    "additive_for",
    "adds_terms",
    "behind_projections",
    "is_additive",
    "is_linear",
    "read_linear",
    "refuse_overflow",
    "terms_sum",
]
