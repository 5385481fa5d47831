"""What a file holds, as a result again: fields of the types their class declares, arrays of its shapes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, partial
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from paribus._contracts import NOMINAL
from paribus._evaluators.interactions import Ratio
from paribus.meaning import TaggedText
from paribus.results.frozen import Frozen
from paribus.results.values import read_array, read_value

SCALARS: dict[Any, Any] = {float: Real, int: Integral, str: str, bool: (bool, np.bool_)}
NUMBERS = {"numeric": "fiu", "integer": "fiu", "datetime": "mM"}  # dtypes of axes that are no categories
SAVED: dict[str, type] = {}  # results that files hold, by name; each class enters itself


def read(hint: Any, body: Any) -> Any:
    """Return a value of a declared type, or refuse what is of another."""
    return _reader(hint)(body)


@cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """Return what reads values of a declared type."""
    origin, arms = get_origin(hint), get_args(hint)
    if hint is Any:
        return read_value
    if origin in (Union, UnionType):
        return partial(_one_of, arms)
    if origin is np.ndarray:
        (scalar,) = get_args(arms[1])
        return partial(read_array, dtype=None if scalar is Any else np.dtype(scalar))
    if origin is tuple and arms[-1] is Ellipsis:
        item = _reader(arms[0])
        return lambda body: tuple(map(item, _list(body)))
    if origin is tuple:
        return lambda body: tuple(read(arm, item) for arm, item in zip(arms, _list(body), strict=True))
    if origin is dict:
        return lambda body: {key: read(arms[1], item) for key, item in _dict(body).items()}
    if dataclasses.is_dataclass(hint) or (isinstance(hint, type) and issubclass(hint, TaggedText)):
        return partial(_record, hint)
    if isinstance(hint, type) and issubclass(hint, Mapping):
        return partial(_ranked, hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    return partial(_scalar, hint)


def _one_of(arms: tuple[Any, ...], body: Any) -> Any:
    """Read the first of several types that fits."""
    if body is None and NoneType in arms:
        return None
    refusals = []
    for arm in arms:
        if arm is not NoneType:
            try:
                return read(arm, body)
            except (TypeError, ValueError) as error:
                refusals.append(str(error))
    raise ValueError("; ".join(refusals))


def _scalar(hint: Any, body: Any) -> Any:
    value = read_value(body)
    if type(value) is hint:
        return value
    if get_origin(hint) is Literal:
        fits, name = isinstance(value, str) and value in get_args(hint), f"one of {get_args(hint)}"
    else:
        fits, name = isinstance(value, SCALARS[hint]), f"a {hint.__name__}"
        fits = fits and (hint is bool or not isinstance(value, (bool, np.bool_)))
    if not fits:
        raise ValueError(f"{value!r} is not {name}")
    return value


def _list(body: Any) -> list[Any]:
    if not isinstance(body, list):
        raise ValueError(f"{body!r} is not a list")
    return body


def _dict(body: Any) -> dict[str, Any]:
    if not isinstance(body, dict):
        raise ValueError(f"{body!r} is not a mapping")
    return body


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the declared type of each field."""
    hints = get_type_hints(kind, localns={"Ratio": Ratio})
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else hints
    return {name: hints[name] for name in names}


def _record(kind: Any, body: Any) -> Any:
    hints, name = _hints(kind), kind.__name__
    if set(_dict(body)) != set(hints):
        raise ValueError(f"{name} has unknown or lacking fields {sorted(set(body) ^ set(hints))}")
    fields = {}
    for field, hint in hints.items():
        try:
            fields[field] = read(hint, body[field])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{field} of {name}: {error}") from error
    record = kind(**fields)
    if isinstance(record, Frozen):
        _check_shapes(record)
        record._check()
    return record


def _ranked(kind: Any, body: Any) -> Any:
    (member,) = get_args(kind.__orig_bases__[0])
    effects, skipped = _dict(body)["effects"], read(tuple[str, ...], body["skipped"])
    result = kind([read(member, item) for item in _list(effects)], skipped)
    if not result or len(result) != len(effects):
        raise ValueError(f"{kind.__name__} has no effect, or two under one name")
    return result


def _check_shapes(record: Frozen) -> None:
    """Refuse arrays that do not belong together.

    A class names in ``shapes`` what it holds of each shape; a letter there is one size throughout.
    """
    sizes: dict[str, tuple[int, ...]] = {"1": (1,)}
    if hasattr(record, "grid_values"):
        sizes |= _grid_sizes(record)
    for letters, paths in record.shapes.items():
        for path in paths.split():
            for actual in _shapes_of(record, path):
                expected: tuple[int, ...] = ()
                for letter in letters.split():
                    expected += sizes.setdefault(letter, actual[len(expected) :][:1] or (0,))
                if actual != expected:
                    raise ValueError(f"{path} of shape {actual} where {expected} belongs")


def _shapes_of(record: Any, path: str) -> list[tuple[int, ...]]:
    """Return the shapes of what a record holds somewhere: none, that of an array, those of a ratio."""
    value = record
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    if isinstance(value, Ratio):
        arrays = (getattr(value, field.name) for field in dataclasses.fields(value))
        return [array.shape for array in arrays if array is not None]
    if value is None:
        return []
    return [value.shape if isinstance(value, np.ndarray) else (len(value),)]


def _grid_sizes(record: Any) -> dict[str, tuple[int, ...]]:
    """Return the shape ``g`` of the grid, ``s`` of the steps, ``c`` of the cells: bins, or categories."""
    axes = record.grid_values
    if any(axis.ndim != 1 for axis in axes) or len(axes) != len(record.kinds) or not axes:
        raise ValueError(f"{len(axes)} axes of {len(record.kinds)} kinds, or one that is no list of values")
    for axis, kind in zip(axes, record.kinds, strict=True):
        if axis.dtype.kind not in NUMBERS.get(kind, axis.dtype.kind):
            raise ValueError(f"an axis of dtype {axis.dtype} cannot be {kind}")
    nodes = tuple(len(axis) for axis in axes)
    steps = tuple(max(0, size - 1) for size in nodes)
    nominal = [kind in NOMINAL for kind in record.kinds]
    cells = tuple(node if own else step for node, step, own in zip(nodes, steps, nominal, strict=True))
    return {"d": (len(axes),), "g": nodes, "s": steps, "c": cells}
