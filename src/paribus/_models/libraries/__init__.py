"""Supported model libraries, one module each."""

from __future__ import annotations

import sys
from functools import cache
from typing import Any

from paribus._loading import load_plugin, plugins
from paribus._models.libraries.catboost import CatBoost
from paribus._models.libraries.interpret import Interpret
from paribus._models.libraries.library import Library
from paribus._models.libraries.lightgbm import LightGBM
from paribus._models.libraries.sklearn import Sklearn
from paribus._models.libraries.sksurv import ScikitSurvival
from paribus._models.libraries.xgboost import XGBoost
from paribus._models.parameters import steps_of

LIBRARIES: tuple[Library, ...] = (
    Sklearn(),
    XGBoost(),
    LightGBM(),
    CatBoost(),
    Interpret(),
    ScikitSurvival(),
)
PACKAGES = {  # distribution by module name
    "sklearn": "scikit-learn",
    "interpret": "interpret-core",
    "sksurv": "scikit-survival",
}


def library_for(model: Any, *, boosting: bool = False) -> Library | None:
    """Return the library of a model: that of the first class in its MRO that a library defines.

    With ``boosting``, only boosting libraries count.
    """
    by_module = {library.module: library for library in LIBRARIES}
    modules = dict.fromkeys(base.__module__.split(".")[0] for base in type(model).__mro__)
    for module in modules:
        library = by_module.get(module) or _plugin_library(module)
        if library is not None and (library.boosts or not boosting):
            return library
    return None


@cache
def _plugin_library(module: str) -> Library | None:
    """Return the library of a plugin, whose entry point has the name of the library's module."""
    if module in sys.stdlib_module_names:
        return None
    point = next((entry for entry in plugins("paribus.libraries") if entry.name == module), None)
    if point is None:
        return None
    library: Library = load_plugin(point, "module", "title", "read_trees")()
    return library


def libraries_for(model: Any) -> tuple[Library, ...]:
    """Return the library of a model and all others of paribus, whose names of objectives wrappers use."""
    library = library_for(model)
    return LIBRARIES if library is None or library in LIBRARIES else (*LIBRARIES, library)


def boosting_library(estimator: Any) -> Library | None:
    """Return the boosting library of a model, or of the last step of a pipeline."""
    return library_for((steps_of(estimator) or [estimator])[-1], boosting=True)
