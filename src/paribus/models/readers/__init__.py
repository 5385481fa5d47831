"""From a fitted model to its trees, or the reason why they cannot be read."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from paribus.errors import RefusalError
from paribus.models.boosters import FromMatrix
from paribus.models.ensemble import Ensemble

LIBRARIES = ("sklearn", "xgboost", "lightgbm", "catboost")


def read(target: Any) -> Ensemble:
    """Return the trees of whatever a model's call asks; `RefusalError` says why that is not possible."""
    model = target.booster if isinstance(target, FromMatrix) else target
    bases = (base.__module__.split(".")[0] for base in type(model).__mro__)
    # The boosters' wrappers derive from scikit-learn's classes, so that the nearest library is the one.
    library = next((base for base in bases if base in LIBRARIES), None)
    if library is None:
        raise RefusalError("it is no tree ensemble of a library whose trees are read here")
    reader = import_module(f"paribus.models.readers.{library}")
    ensemble: Ensemble = reader.read(model)
    return ensemble
