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


LONGEST = 200  # characters of a value
MOST = 8  # entries of a value that are spelled out
MASKED = "(not shown)"
SECRETS = {"credential", "credentials", "passphrase", "passwd", "password", "pwd", "secret", "token"}
KEYS = {"access", "api", "private", "secret"}  # of which a key is a secret


def parameters_of(estimator: Any) -> dict[str, str]:
    """Return the hyperparameters of a model, or of a native booster, by name.

    Models within others are named by their class, functions by where they are defined. What is called a
    password or a token is masked, and long values are shortened.
    """
    found = sorted(parameter_values(estimator).items())
    return {name: MASKED if _is_secret(name) else _shortened(value_text(value)) for name, value in found}


def parameter_values(estimator: Any) -> dict[str, Any]:
    """Return the hyperparameters themselves; none of a model that does not report them."""
    read = attribute(estimator, "get_params")
    if callable(read) and not isinstance(estimator, type):
        try:
            return {str(name): value for name, value in read(deep=True).items()}
        except TypeError:  # CatBoost takes no such argument
            return {str(name): value for name, value in read().items()}
        except Exception:  # a class that breaks the rules of scikit-learn has no parameters to read
            return {}
    own = attribute(estimator, "params")
    if isinstance(own, Mapping):
        return {str(name): value for name, value in own.items()}
    config = attribute(estimator, "save_config")
    return dict(_flat(json.loads(config()))) if callable(config) else {}


def _flat(tree: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield what stands at the ends of nested mappings, by the last names of their paths."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def _is_secret(name: str) -> bool:
    """Return whether a parameter is called as secrets are."""
    *before, last = name.lower().replace("-", "_").replace("__", "_").replace(".", "_").split("_")
    return last in SECRETS or last == "apikey" or (last == "key" and bool(before) and before[-1] in KEYS)


def value_text(value: Any) -> str:
    """Return a value as text without anything that differs between processes, such as addresses.

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
        pairs = sorted((value_text(key), value_text(own)) for key, own in value.items())
        return "{" + _listed(f"{key}: {own}" for key, own in pairs) + "}"
    if isinstance(value, (set, frozenset)):
        return "{" + _listed(sorted(map(value_text, value))) + "}"
    if isinstance(value, (list, tuple)):
        opened, closed = "[]" if isinstance(value, list) else "()"
        return opened + _listed(map(value_text, value)) + closed
    if isinstance(value, partial):
        given = chain(
            map(value_text, value.args), (f"{k}={value_text(v)}" for k, v in value.keywords.items())
        )
        return f"partial({_listed(chain([value_text(value.func)], given))})"
    if isinstance(value, slice):
        return f"slice({_listed(map(value_text, (value.start, value.stop, value.step)))})"
    return _name(value)


def _listed(texts: Any) -> str:
    every = list(texts)
    more = [f"and {len(every) - MOST:,} more"] if len(every) > MOST else []
    return ", ".join([*every[:MOST], *more])


def _name(value: Any) -> str:
    """Return where a function or a class is defined; of any other object its class."""
    named = value if hasattr(value, "__qualname__") else type(value)
    module = str(getattr(named, "__module__", None) or "")
    hidden = module in ("builtins", "__main__", "") or named is type(value)
    return named.__qualname__ if hidden else f"{module}.{named.__qualname__}"


def _shortened(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 4]} ..."


def libraries_of(estimator: Any) -> list[str]:
    """Return the names of the packages whose classes a model, and models within it, are made of."""
    inner = [one for one in parameter_values(estimator).values() if hasattr(one, "get_params")]
    roots = (base.__module__.split(".")[0] for one in (estimator, *inner) for base in type(one).__mro__)
    return sorted(set(roots) - {"builtins", "__main__"})
