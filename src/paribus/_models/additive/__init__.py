"""Additive models: a link of a sum of one term per column."""

from __future__ import annotations

from paribus._models.additive.additive import Additive, refuse_overflow
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
    "behind_projections",
    "is_additive",
    "is_linear",
    "read_linear",
    "refuse_overflow",
]
