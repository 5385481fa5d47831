"""Additive models: a link of a sum of one term per column."""

from __future__ import annotations

from paribus._models.additive.additive import Additive, refuse_overflow
from paribus._models.additive.readers import additive_for, is_additive, is_linear, read_linear

__all__ = ["Additive", "additive_for", "is_additive", "is_linear", "read_linear", "refuse_overflow"]
