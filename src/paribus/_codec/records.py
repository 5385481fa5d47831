"""Conversion of records to JSON and back, by the declared types of their fields.

The content of a file does not decide which types are created: a reader follows the declared types of a
record, and raises for values of other types.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache, partial
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from paribus._contracts import Array
from paribus.meaning import TaggedText

SCALARS: dict[Any, Any] = {float: Real, int: Integral, str: str, bool: (bool, np.bool_)}


class Format(NamedTuple):
    """Functions of a file format for types that JSON does not have.

    ``name`` returns the name of a record class in files, None without a name. ``write`` and ``read`` convert
    values of any type, including arrays. ``read_array`` reads an array, and raises for another dtype than the
    given one.
    """

    name: Callable[[Any], str | None]
    write: Callable[[Any], Any]
    read: Callable[[Any], Any]
    read_array: Callable[[Any, np.dtype[Any] | None], Array]


def encode(value: Any, form: Format) -> Any:
    """Return a record, or a part of it, as JSON: the name of its class, then its fields."""
    if type(value) in (int, str):  # the most frequent types
        return value
    if isinstance(value, (tuple, list)):
        return [encode(item, form) for item in value]
    if isinstance(value, Mapping) and not dataclasses.is_dataclass(value):
        items = {key: encode(item, form) for key, item in value.items()}
        return items if all(isinstance(key, str) for key in items) else list(items.items())
    if dataclasses.is_dataclass(value):
        kind: Any = type(value)
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return _tag(kind, form) | {name: encode(getattr(value, name), form) for name in fields}
    if isinstance(value, TaggedText):
        return encode(vars(value), form)
    return value.value if isinstance(value, Enum) else form.write(value)


def decode(hint: Any, body: Any, form: Format) -> Any:
    """Return the value of a declared type, or raise for values of other types."""
    return _reader_of_type(hint)(body, form)


def _tag(kind: Any, form: Format) -> dict[str, str]:
    """Return the entry with the name of a record class, if it has one."""
    name = form.name(kind)
    return {} if name is None else {"record": name}


@cache
def _reader_of_type(hint: Any) -> Callable[[Any, Format], Any]:
    """Return the function that reads values of a declared type."""
    origin, arms = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return lambda body, form: form.read(body)
    if isinstance(hint, TypeVar):
        return _reader_of_type(hint.__bound__)
    if origin in (Union, UnionType):
        return partial(_read_union, arms)
    if origin is np.ndarray:
        (scalar,) = get_args(arms[1])
        dtype = None if scalar is Any else np.dtype(scalar)
        return lambda body, form: form.read_array(body, dtype)
    if origin is tuple and arms[-1] is Ellipsis:
        item = _reader_of_type(arms[0])
        return lambda body, form: tuple(item(part, form) for part in _of_type(list, body))
    if origin is tuple:
        return lambda body, form: tuple(
            decode(arm, item, form) for arm, item in zip(arms, _of_type(list, body), strict=True)
        )
    if (plain := _plain_tuple(hint)) is not None:
        return lambda body, form: hint(decode(plain, body, form))
    if origin in (dict, Mapping):
        return partial(_read_mapping, *arms)
    if dataclasses.is_dataclass(origin or hint) or (isinstance(hint, type) and issubclass(hint, TaggedText)):
        return partial(_read_record, origin or hint)  # the argument of a generic record is not checked
    if isinstance(hint, type) and issubclass(hint, Enum):
        return lambda body, form: hint(body)
    return partial(_read_scalar, hint)


def _plain_tuple(hint: Any) -> Any:
    """Return the base of a subclass of tuple, such as ``tuple[Note, ...]``, None for other types."""
    bases = getattr(hint, "__orig_bases__", ())
    return bases[0] if bases and get_origin(bases[0]) is tuple else None


def _read_union(arms: tuple[Any, ...], body: Any, form: Format) -> Any:
    """Read a value of the first type that fits."""
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


def _read_mapping(keys: Any, values: Any, body: Any, form: Format) -> dict[Any, Any]:
    """Read a mapping, which is a list of pairs if keys are not text."""
    pairs = (
        _of_type(dict, body).items() if keys is str else map(partial(_of_type, list), _of_type(list, body))
    )
    return {decode(keys, key, form): decode(values, item, form) for key, item in pairs}


def _read_scalar(hint: Any, body: Any, form: Format) -> Any:
    """Read a number, text or truth value."""
    value = form.read(body)
    if not _is_scalar(hint, value):
        raise ValueError(f"{value!r} is not {spelled(hint)}")
    return value


def _is_scalar(hint: Any, value: Any) -> bool:
    """Return whether a value is of a scalar type, or one of the values of a `Literal`."""
    if type(value) is hint:
        return True
    if get_origin(hint) is Literal:
        return isinstance(value, str) and value in get_args(hint)
    return isinstance(value, SCALARS[hint]) and (hint is bool or not isinstance(value, (bool, np.bool_)))


@cache
def checker(hint: Any) -> Callable[[Any], bool]:
    """Return a function that checks whether a value is of a declared type."""
    origin, arms = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return lambda value: True
    if isinstance(hint, TypeVar):
        return checker(hint.__bound__)
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
    """Return a declared type as text."""
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
    """Return a list or dict, or raise for other types."""
    if not isinstance(body, kind):
        raise ValueError(f"{body!r} is not a {'list' if kind is list else 'mapping'}")
    return body


@cache
def hints_of(kind: Any) -> dict[str, Any]:
    """Return the declared type of each field."""
    hints = get_type_hints(kind)
    fields = dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()
    return {field.name: hints[field.name] for field in fields if field.init} or hints


def _read_record(kind: Any, body: Any, form: Format) -> Any:
    """Read a record; raise for unknown or missing fields."""
    hints, name, tag = hints_of(kind), kind.__name__, _tag(kind, form)
    present = {*_of_type(dict, body)}
    if present != {*tag, *hints} or any(body[key] != tag[key] for key in tag):
        raise ValueError(f"{name} has unknown or lacking fields {sorted(present ^ {*tag, *hints})}")
    fields = {}
    for field, hint in hints.items():
        try:
            fields[field] = decode(hint, body[field], form)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{field} of {name}: {error}") from error
    return kind(**fields)
