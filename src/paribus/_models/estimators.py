"""Estimators of any library: methods passed as functions, and attributes that may be or raise anything."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import ismethod
from typing import Any

import numpy as np

METHODS = ("predict", "predict_proba", "decision_function")


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


def replaced_method(estimator: Any, methods: Iterable[str] = METHODS) -> str | None:
    """Return the first method that is not the one of its class's own package, None if there is none.

    It may have been replaced on the instance, or on a class: then its code is of another package than the
    class, whatever name and module a decorator gave it. scikit-learn wraps methods of classes that inherit.
    """
    for method in methods:
        if method in getattr(estimator, "__dict__", {}):
            return method
        base = next((base for base in type(estimator).__mro__ if method in vars(base)), None)
        own = (None, "sklearn", "" if base is None else base.__module__.split(".")[0])
        if base is not None and _package(vars(base)[method]) not in own:
            return method
    return None


def _package(function: Any) -> str | None:
    """Return the package that the code of a method is of; None where it is not Python's."""
    for inner in ("fn", "__func__", "fget"):  # available_if, classmethod, property
        function = getattr(function, inner, function)
    module = getattr(function, "__globals__", {}).get("__name__")
    return None if module is None else str(module).split(".")[0]


def kind_of(estimator: Any) -> Any:
    """Return the kind of a model as scikit-learn calls it, such as ``"clusterer"``; None where unknown."""
    try:
        return estimator.__sklearn_tags__().estimator_type
    except Exception:  # it has no tags, or a mixin that calls its bases for them has none beside it
        return attribute(estimator, "_estimator_type")


def unbound(estimator: Any) -> tuple[Any, str | None]:
    """Return the model and the name of its method where ``model.predict_proba`` is passed, else None.

    A method of another name, or of another object than a model, is a function like any other.
    """
    method = getattr(estimator, "__name__", None)
    if not ismethod(estimator) or method not in METHODS or isinstance(estimator.__self__, type):
        return estimator, None
    # A method that was replaced, or is known under another name, is not what the model would be evaluated by.
    model = estimator.__self__
    return (model, method) if getattr(model, method, None) == estimator else (estimator, None)
