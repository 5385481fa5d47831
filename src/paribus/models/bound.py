"""A method of a model passed as a function."""

from __future__ import annotations

from inspect import ismethod
from typing import Any

METHODS = ("predict", "predict_proba", "decision_function")


def unbound(estimator: Any) -> tuple[Any, str | None]:
    """Return the model and the name of its method where ``model.predict_proba`` is passed, else None.

    A method of another name, or of another object than a model, is a function like any other.
    """
    method = getattr(estimator, "__name__", None)
    if not ismethod(estimator) or method not in METHODS or isinstance(estimator.__self__, type):
        return estimator, None
    # A method that was replaced, or is known under another name, is not what the model would be asked by.
    model = estimator.__self__
    return (model, method) if getattr(model, method, None) == estimator else (estimator, None)
