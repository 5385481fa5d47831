"""Records as JSON and back, by the types their fields declare."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from functools import cache, partial
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np

from paribus.meaning import TaggedText
from paribus.results.values import read_array, read_value, write_array, write_value

SCALARS: dict[Any, Any] = {float: Real, int: Integral, str: str, bool: (bool, np.bool_)}


def encode(value: Any) -> Any:
    """Return a result, or a part of it, as JSON: records by field, first the name they are stored under."""
    if type(value) in (int, str):  # most of what there is
        return value
    if isinstance(value, (tuple, list)):
        return [encode(item) for item in value]
    if isinstance(value, np.ndarray):
        return write_array(value)
    if isinstance(value, dict):
        return {str(key): encode(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value):
        fields = {field.name: encode(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return _tag(type(value)) | fields
    if isinstance(value, TaggedText):
        return encode(vars(value))
    return value.value if isinstance(value, Enum) else write_value(value)


def decode(hint: Any, body: Any) -> Any:
    """Return a value of a declared type, or refuse what is of another."""
    return _reader(hint)(body)


def _tag(kind: type) -> dict[str, str]:
    return {"record": kind.stored} if hasattr(kind, "stored") else {}


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
        return lambda body: tuple(map(item, _of_type(list, body)))
    if origin is tuple:
        return lambda body: tuple(decode(*pair) for pair in zip(arms, _of_type(list, body), strict=True))
    if origin is dict:
        return lambda body: {key: decode(arms[1], item) for key, item in _of_type(dict, body).items()}
    if dataclasses.is_dataclass(hint) or (isinstance(hint, type) and issubclass(hint, TaggedText)):
        return partial(_record, hint)
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
                return decode(arm, body)
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


def _of_type(kind: type[Any], body: Any) -> Any:
    if not isinstance(body, kind):
        raise ValueError(f"{body!r} is not a {'list' if kind is list else 'mapping'}")
    return body


@cache
def _hints(kind: type) -> dict[str, Any]:
    """Return the declared type of each field."""
    hints = get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else hints
    return {name: hints[name] for name in names}


def _record(kind: Any, body: Any) -> Any:
    hints, name, tag = _hints(kind), kind.__name__, _tag(kind)
    if set(_of_type(dict, body)) != {*tag, *hints} or any(body[key] != tag[key] for key in tag):
        raise ValueError(f"{name} has unknown or lacking fields {sorted({*body} ^ {*tag, *hints})}")
    fields = {}
    for field, hint in hints.items():
        try:
            fields[field] = decode(hint, body[field])
        except (TypeError, ValueError) as error:
            raise ValueError(f"{field} of {name}: {error}") from error
    return kind(**fields)
