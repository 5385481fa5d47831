"""Records as JSON and back, by the types their fields declare.

Nothing a file says decides what is made of it: a reader goes along the declared types of one record, and
refuses what is of another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, partial
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

from paribus._contracts import Array
from paribus.meaning import TaggedText

ADDED = "added"  # in the metadata of a field that a format has got since its first files
SCALARS: dict[Any, Any] = {float: Real, int: Integral, str: str, bool: (bool, np.bool_)}


class Format(NamedTuple):
    """How a kind of file has what JSON does not have.

    ``name`` returns the name of a class of records in files, None for one that needs none; ``write`` and
    ``read`` are for values of any type, arrays among them, and ``read_array`` for arrays, of a dtype if only
    that is expected.
    """

    name: Callable[[Any], str | None]
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    read_array: Callable[[Any, np.dtype[Any] | None], Array]


def encode(value: Any, form: Format) -> Any:
    """Return a record, or a part of it, as JSON: by field, first the name its class has in files."""
    if type(value) in (int, str):  # most of what there is
        return value
    if isinstance(value, (tuple, list)):
        return [encode(item, form) for item in value]
    if isinstance(value, Mapping) and not dataclasses.is_dataclass(value):
        items = {key: encode(item, form) for key, item in value.items()}
        return items if all(isinstance(key, str) for key in items) else list(items.items())
    if dataclasses.is_dataclass(value):
        kind: Any = type(value)
        added = _added(kind)
        fields = [
            field.name
            for field in dataclasses.fields(value)
            if field.init and not (field.name in added and getattr(value, field.name) == field.default)
        ]
        return _tag(kind, form) | {name: encode(getattr(value, name), form) for name in fields}
    if isinstance(value, TaggedText):
        return encode(vars(value), form)
    return value.value if isinstance(value, Enum) else form.write(value)


def decode(hint: Any, body: Any, form: Format) -> Any:
    """Return a value of a declared type, or refuse what is of another."""
    return _reader(hint)(body, form)


def _tag(kind: Any, form: Format) -> dict[str, str]:
    name = form.name(kind)
    return {} if name is None else {"record": name}


@cache
def _reader(hint: Any) -> Callable[[Any, Format], Any]:
    """Return what reads values of a declared type."""
    origin, arms = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return lambda body, form: form.read(body)
    if origin in (Union, UnionType):
        return partial(_one_of, arms)
    if origin is np.ndarray:
        (scalar,) = get_args(arms[1])
        dtype = None if scalar is Any else np.dtype(scalar)
        return lambda body, form: form.read_array(body, dtype)
    if origin is tuple and arms[-1] is Ellipsis:
        item = _reader(arms[0])
        return lambda body, form: tuple(item(one, form) for one in _of_type(list, body))
    if origin is tuple:
        return partial(_tuple, arms)
    if (plain := _plain_tuple(hint)) is not None:
        return lambda body, form: hint(decode(plain, body, form))
    if origin in (dict, Mapping):
        return partial(_mapping, *arms)
    if dataclasses.is_dataclass(hint) or (isinstance(hint, type) and issubclass(hint, TaggedText)):
        return partial(_record, hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda body, form: hint(body)
    return partial(_scalar, hint)


def _plain_tuple(hint: Any) -> Any:
    """Return the tuple that a class of tuples derives from, such as ``tuple[Note, ...]``, None for others."""
    bases = getattr(hint, "__orig_bases__", ())
    return bases[0] if bases and get_origin(bases[0]) is tuple else None


def _one_of(arms: tuple[Any, ...], body: Any, form: Format) -> Any:
    """Read the first of several types that fits."""
    if body is None and NoneType in arms:
        return None
    refusals = []
    for arm in arms:
        if arm is not NoneType:
            try:
                return decode(arm, body, form)
            except (TypeError, ValueError) as error:
                refusals.append(str(error))
    raise ValueError("; ".join(refusals))


def _tuple(arms: tuple[Any, ...], body: Any, form: Format) -> tuple[Any, ...]:
    return tuple(decode(arm, item, form) for arm, item in zip(arms, _of_type(list, body), strict=True))


def _mapping(keys: Any, values: Any, body: Any, form: Format) -> dict[Any, Any]:
    """Read a mapping, which is a list of pairs where keys are no text."""
    pairs = (
        _of_type(dict, body).items() if keys is str else map(partial(_of_type, list), _of_type(list, body))
    )
    return {decode(keys, key, form): decode(values, item, form) for key, item in pairs}


def _scalar(hint: Any, body: Any, form: Format) -> Any:
    value = form.read(body)
    if not _is_scalar(hint, value):
        raise ValueError(f"{value!r} is not {spelled(hint)}")
    return value


def _is_scalar(hint: Any, value: Any) -> bool:
    if type(value) is hint:
        return True
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    return isinstance(value, SCALARS[hint]) and (hint is bool or not isinstance(value, (bool, np.bool_)))


@cache
def checker(hint: Any) -> Callable[[Any], bool]:
    """Return what finds out whether a value is of a declared type: one that a reader could have returned."""
    origin, arms = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return lambda value: True
    if origin in (Union, UnionType):
        any_of = [checker(arm) for arm in arms]
        return lambda value: any(fits(value) for fits in any_of)
    if origin is np.ndarray:
        (scalar,) = get_args(arms[1])
        return lambda value: isinstance(value, np.ndarray) and (scalar is Any or value.dtype == scalar)
    if origin is tuple and arms[-1] is Ellipsis:
        item = checker(arms[0])
        return lambda value: isinstance(value, tuple) and all(map(item, value))
    if (plain := _plain_tuple(hint)) is not None:
        return checker(plain)
    if origin in (dict, Mapping):
        key, item = map(checker, arms)
        return lambda value: (
            isinstance(value, origin) and all(map(key, value)) and all(map(item, value.values()))
        )
    if origin is Literal or hint in SCALARS:
        return partial(_is_scalar, hint)
    return lambda value: isinstance(value, origin or hint)


def spelled(hint: Any) -> str:
    """Return a declared type in words."""
    origin, arms = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(map(spelled, arms))
    if origin is np.ndarray:
        (scalar,) = get_args(arms[1])
        return "an array" if scalar is Any else f"an array of dtype {np.dtype(scalar)}"
    if origin is tuple:
        return f"a tuple, each {spelled(arms[0])}"
    if origin is Literal:
        return f"one of {arms}"
    return "None" if hint is NoneType else f"a {getattr(hint, '__name__', hint)}"


def _of_type(kind: type[Any], body: Any) -> Any:
    if not isinstance(body, kind):
        raise ValueError(f"{body!r} is not a {'list' if kind is list else 'mapping'}")
    return body


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the declared type of each field."""
    hints = get_type_hints(kind)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return {field.name: hints[field.name] for field in fields if field.init} or hints


@cache
def _added(kind: Any) -> frozenset[str]:
    """Return the fields that files may lack: those written before there were any, or with their default."""
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return frozenset(field.name for field in fields if ADDED in field.metadata)


def _record(kind: Any, body: Any, form: Format) -> Any:
    hints, name, tag = hints_of(kind), kind.__name__, _tag(kind, form)
    present = {*_of_type(dict, body), *_added(kind)}
    if present != {*tag, *hints} or any(body[key] != tag[key] for key in tag):
        raise ValueError(f"{name} has unknown or lacking fields {sorted(present ^ {*tag, *hints})}")
    fields = {}
    for field, hint in hints.items():
        if field not in body:
            continue
        try:
            fields[field] = decode(hint, body[field], form)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{field} of {name}: {error}") from error
    return kind(**fields)
