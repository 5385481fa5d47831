"""What kind of feature a column of Python objects holds, and how to write new ones like them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np

from paribus._contracts import Array, Flags, Kind
from paribus.errors import FeatureError

OBJECT_BYTES = 64  # a pointer and a typical small Python object behind it
SAMPLE = 1000  # values that show which Python type a column of objects holds


def missing_objects(values: Array) -> Flags:
    """Mark None, NaN, NaT and pandas' NA among objects, without importing pandas."""
    flags = (_is_missing(value) for value in values)
    return np.fromiter(flags, dtype=bool, count=len(values))


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)) and bool(value != value)


def kind_of_objects(name: str, values: Iterable[Any]) -> Kind:
    """Read the kind off the types that occur; a mixture that is not numeric is nominal."""
    types = {type(value) for value in values}
    if any(t.__hash__ is None for t in types):
        raise FeatureError(
            f"feature {name!r} holds {min(t.__name__ for t in types)}s, which cannot be varied"
        )
    if not types:
        return "numeric"
    if all(issubclass(t, (bool, np.bool_)) for t in types):
        return "boolean"
    if all(issubclass(t, (datetime.date, np.datetime64)) for t in types):
        return "datetime"
    durations = [issubclass(t, (datetime.timedelta, np.timedelta64)) for t in types]
    if any(durations):  # numpy counts its durations among the integers
        return "datetime" if all(durations) else "string"
    if any(issubclass(t, (bool, np.bool_)) for t in types):
        return "string"
    if all(issubclass(t, (int, np.integer)) for t in types):
        return "integer"
    if all(issubclass(t, (int, float, Decimal, np.integer, np.floating)) for t in types):
        return "numeric"
    return "string"


def typed(name: str, values: Array, kind: Kind) -> Array:
    """Give objects of one kind their numpy dtype; nominal values stay objects."""
    if kind == "numeric":
        return values.astype(np.float64)
    if kind == "integer":
        try:
            return values.astype(np.int64)
        except OverflowError as error:
            raise FeatureError(
                f"feature {name!r} holds integers beyond 64 bits; cast it to float or text"
            ) from error
    if kind == "boolean":
        return values.astype(np.bool_)
    if kind == "datetime":
        return _dates(name, values)
    return values


def _dates(name: str, values: Array) -> Array:
    if any(getattr(value, "tzinfo", None) is not None for value in values):
        raise FeatureError(
            f"feature {name!r} holds dates with a time zone as Python objects; convert the column to a date "
            f"dtype, as by pandas.to_datetime(..., utc=True)"
        )
    if all(isinstance(value, (datetime.timedelta, np.timedelta64)) for value in values):
        return values.astype("timedelta64[us]")
    has_time = any(isinstance(value, datetime.datetime) for value in values)
    return values.astype("datetime64[us]" if has_time else "datetime64[D]")


def objects(values: Iterable[Any]) -> Array:
    """Return a 1-d object array, also when the values are sequences themselves."""
    items = list(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def some_present(values: Array) -> list[Any]:
    """Return the first values that are not missing, which show what Python type a column holds."""
    return list(islice((value for value in values if not _is_missing(value)), SAMPLE))


def objects_like(values: Array, present: Iterable[Any]) -> Array:
    """Return values as Python objects of the type the column holds, where that is one type."""
    types = {type(value) for value in present}
    items = values.tolist()
    if len(types) != 1:
        return objects(items)
    like = types.pop()
    if like is Decimal:
        return objects(Decimal(repr(item)) for item in items)
    if issubclass(like, datetime.date):
        return objects(like.fromisoformat(item.isoformat()) for item in items)
    if issubclass(like, (np.generic, datetime.timedelta)) and like is not datetime.timedelta:
        return objects(like(item) for item in items)
    return objects(items)


def kind_of_dtype(dtype: np.dtype[Any]) -> Kind | None:
    """Read the kind off a numpy dtype; None when it does not say."""
    kinds: dict[str, Kind] = {
        "f": "numeric",
        "i": "integer",
        "u": "integer",
        "b": "boolean",
        "M": "datetime",
        "m": "datetime",
        "U": "string",
        "S": "string",
        "T": "string",
    }
    return kinds.get(dtype.kind)
