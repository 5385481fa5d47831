"""Supported model libraries, one module each."""

from __future__ import annotations

from typing import Any

from paribus._models.libraries.catboost import CatBoost
from paribus._models.libraries.interpret import Interpret
from paribus._models.libraries.library import Library
from paribus._models.libraries.lightgbm import LightGBM
from paribus._models.libraries.sklearn import Sklearn
from paribus._models.libraries.xgboost import XGBoost
from paribus._models.parameters import attribute, steps_of

LIBRARIES: tuple[Library, ...] = (Sklearn(), XGBoost(), LightGBM(), CatBoost(), Interpret())
PACKAGES = {"sklearn": "scikit-learn", "interpret": "interpret-core"}  # distribution by module name


def library_for(model: Any, *, boosting: bool = False) -> Library | None:
    """Return the library of a model: that of the first class in its MRO that a library defines.

    With ``boosting``, only boosting libraries count. A model read from a file records its library.
    """
    of_file = attribute(model, "file_library")
    if isinstance(of_file, Library):
        return of_file
    known = {library.module: library for library in LIBRARIES if library.boosts or not boosting}
    modules = (base.__module__.split(".")[0] for base in type(model).__mro__)
    return next((known[module] for module in modules if module in known), None)


def boosting_library(estimator: Any) -> Library | None:
    """Return the boosting library of a model, or of the last step of a pipeline."""
    return library_for((steps_of(estimator) or [estimator])[-1], boosting=True)
