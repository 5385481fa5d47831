"""Attributes of models of any library, which may be anything or raise anything."""

from __future__ import annotations

from typing import Any

import numpy as np


def attribute(estimator: Any, name: str) -> Any:
    """Return an attribute, None where there is none."""
    try:
        return getattr(estimator, name, None)
    except Exception:  # a property of a model that is not fitted may raise anything
        return None


def steps_of(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline; other models have none."""
    steps = attribute(estimator, "steps")
    if not isinstance(steps, list) or not all(isinstance(step, tuple) and len(step) == 2 for step in steps):
        return []
    return [step for _, step in steps]


def names_in(found: Any) -> tuple[str, ...] | None:
    """Return names of columns, or those a method returns; None for anything else."""
    try:
        names = list(found() if callable(found) else found)
    except Exception:  # no sequence, or a method of another use
        return None
    if isinstance(found, (str, bytes)) or not all(isinstance(name, (str, int, np.integer)) for name in names):
        return None
    return tuple(map(str, names)) if names and len(set(names)) == len(names) else None


def kind_of(estimator: Any) -> Any:
    """Return the kind of a model as scikit-learn calls it, such as ``"clusterer"``; None where unknown."""
    try:
        return estimator.__sklearn_tags__().estimator_type
    except Exception:  # it has no tags, or a mixin that asks its bases for them has none beside it
        return attribute(estimator, "_estimator_type")
