"""Attributes, methods and hyperparameters of estimators of any library."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from inspect import ismethod
from itertools import chain
from typing import Any

import numpy as np

METHODS = ("predict", "predict_proba", "decision_function")
SURVIVAL_METHODS = ("predict_survival_function", "predict_cumulative_hazard_function")  # of scikit-survival


def attribute(estimator: Any, name: str) -> Any:
    """Return an attribute, None if it is absent or cannot be read."""
    try:
        return getattr(estimator, name, None)
    except Exception:  # a property of a model that is not fitted may raise anything
        return None


def package_of(estimator: Any) -> str:
    """Return the name of the package that defines the class of an object."""
    return type(estimator).__module__.split(".")[0]


def steps_of(estimator: Any) -> list[Any]:
    """Return the steps of a pipeline, an empty list for other models."""
    steps = attribute(estimator, "steps")
    if not isinstance(steps, list) or not all(isinstance(step, tuple) and len(step) == 2 for step in steps):
        return []
    return [step for _, step in steps]


def names_in(held: Any) -> tuple[str, ...] | None:
    """Return the column names in an attribute, or those a method returns; None for other objects."""
    try:
        names = list(held() if callable(held) else held)
    except Exception:  # not a sequence, or a method with another purpose
        return None
    if isinstance(held, (str, bytes)) or not all(isinstance(name, (str, int, np.integer)) for name in names):
        return None
    return tuple(map(str, names)) if names and len(set(names)) == len(names) else None


def replaced_method(estimator: Any, methods: Iterable[str] = (*METHODS, *SURVIVAL_METHODS)) -> str | None:
    """Return the first method that was replaced, None if none was.

    A method may be replaced on the instance, or on a class. On a class, the code of the replacement belongs
    to another package than the class, whatever name and module a decorator set. Code in scikit-learn is
    accepted, because scikit-learn wraps methods of subclasses, and code in scikit-survival, because it adds
    methods to pipelines.
    """
    for method in methods:
        if method in getattr(estimator, "__dict__", {}):
            return method
        base = next((base for base in type(estimator).__mro__ if method in vars(base)), None)
        accepted = (None, "sklearn", "sksurv", "" if base is None else base.__module__.split(".")[0])
        if base is not None and _package_of_code(vars(base)[method]) not in accepted:
            return method
    return None


def _package_of_code(function: Any) -> str | None:
    """Return the package with the code of a method, None for compiled code."""
    for inner in ("fn", "__func__", "fget"):  # available_if, classmethod, property
        function = getattr(function, inner, function)
    module = getattr(function, "__globals__", {}).get("__name__")
    return None if module is None else str(module).split(".")[0]


def kind_of(estimator: Any) -> Any:
    """Return the estimator type of scikit-learn, such as ``"clusterer"``, None if unknown."""
    try:
        return estimator.__sklearn_tags__().estimator_type
    except Exception:  # no tags, or a mixin without a base class that has tags
        return attribute(estimator, "_estimator_type")


def unbound(estimator: Any) -> tuple[Any, str | None]:
    """Return the model and the method name of a bound method, such as ``model.predict_proba``.

    The method name is None for any other object, including other methods, which count as functions.
    """
    method = getattr(estimator, "__name__", None)
    methods = (*METHODS, *SURVIVAL_METHODS)
    if not ismethod(estimator) or method not in methods or isinstance(estimator.__self__, type):
        return estimator, None
    # A replaced or renamed method differs from the one that evaluates the model.
    model = estimator.__self__
    return (model, method) if getattr(model, method, None) == estimator else (estimator, None)


LONGEST = 200  # characters of a parameter value
MOST = 8  # entries of a value that are shown
MASKED = "(not shown)"
SECRETS = {"credential", "credentials", "passphrase", "passwd", "password", "pwd", "secret", "token"}
KEYS = {"access", "api", "private", "secret"}  # words before "key" that mark a secret


def parameters_of(estimator: Any) -> dict[str, str]:
    """Return the hyperparameters of a model or a native booster as text, by name.

    Nested models appear as their class, functions as their qualified name. Passwords and tokens are masked,
    and long values are shortened.
    """
    texts = {}
    for name, value in sorted(parameter_values(estimator).items()):
        text = MASKED if _is_secret(name) else value_text(value)
        texts[name] = text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."
    return texts


def parameter_values(estimator: Any) -> dict[str, Any]:
    """Return the hyperparameters by name, none for a model that does not report them."""
    read = attribute(estimator, "get_params")
    if callable(read) and not isinstance(estimator, type):
        try:
            return {str(name): value for name, value in read(deep=True).items()}
        except TypeError:  # CatBoost has no argument deep
            return {str(name): value for name, value in read().items()}
        except Exception:  # a class that violates the conventions of scikit-learn
            return {}
    of_booster = attribute(estimator, "params")
    if isinstance(of_booster, Mapping):
        return {str(name): value for name, value in of_booster.items()}
    config = attribute(estimator, "save_config")
    return dict(_flattened_config(json.loads(config()))) if callable(config) else {}


def _flattened_config(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the values of nested mappings, named by their path with dots."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flattened_config(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _is_secret(name: str) -> bool:
    """Return whether the name of a parameter indicates a secret."""
    *before, last = name.lower().replace("-", "_").replace("__", "_").replace(".", "_").split("_")
    return last in SECRETS or last == "apikey" or (last == "key" and bool(before) and before[-1] in KEYS)


def value_text(value: Any) -> str:
    """Return a value as text that is the same in all processes, hence without memory addresses.

    >>> value_text((0.1, None, "a", len, {2: "b"}))
    "(0.1, None, 'a', len, {2: 'b'})"
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
        return repr(value)
    if isinstance(value, np.ndarray):
        inside = value_text(value.tolist()) if value.size <= MOST else f"shape {value.shape}"
        return f"array of {inside}"
    if isinstance(value, Mapping):
        pairs = sorted((value_text(key), value_text(item)) for key, item in value.items())
        return "{" + _comma_list(f"{key}: {item}" for key, item in pairs) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + _comma_list(sorted(map(value_text, value))) + "}"
    if isinstance(value, (list, tuple)):
        opened, closed = "[]" if isinstance(value, list) else "()"
        return opened + _comma_list(map(value_text, value)) + closed
    if isinstance(value, partial):
        given = chain(
            map(value_text, value.args), (f"{k}={value_text(v)}" for k, v in value.keywords.items())
        )
        return f"partial({_comma_list(chain([value_text(value.func)], given))})"
    if isinstance(value, slice):
        return f"slice({_comma_list(map(value_text, (value.start, value.stop, value.step)))})"
    # The qualified name of a function or a class, or of the class of another object.
    named = value if hasattr(value, "__qualname__") else type(value)
    module = str(getattr(named, "__module__", None) or "")
    hidden = module in ("builtins", "__main__", "") or named is type(value)
    return named.__qualname__ if hidden else f"{module}.{named.__qualname__}"


def _comma_list(texts: Any) -> str:
    items = list(texts)
    more = [f"and {len(items) - MOST:,} more"] if len(items) > MOST else []
    return ", ".join([*items[:MOST], *more])


def libraries_of(estimator: Any) -> list[str]:
    """Return the names of the packages that define the classes of a model and its nested models."""
    nested = [value for value in parameter_values(estimator).values() if hasattr(value, "get_params")]
    classes = (base for model in (estimator, *nested) for base in type(model).__mro__)
    return sorted({base.__module__.split(".")[0] for base in classes} - {"builtins", "__main__"})
