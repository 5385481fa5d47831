"""What kind of feature a column of Python objects holds."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import numpy as np

from paribus.contracts import Array, Flags, Kind


def missing_objects(values: Array) -> Flags:
    """Tell None, NaN, NaT and pandas' NA among objects, without importing pandas."""
    flags = (_is_missing(value) for value in values)
    return np.fromiter(flags, dtype=bool, count=len(values))


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, (float, np.floating, np.datetime64)) and bool(value != value)


def kind_of_objects(values: Iterable[Any]) -> Kind:
    """Read the kind off the types that occur; a mixture that is not numeric is nominal."""
    types = {type(value) for value in values}
    if not types:
        return "numeric"
    if all(issubclass(t, (bool, np.bool_)) for t in types):
        return "boolean"
    if all(issubclass(t, (datetime.date, np.datetime64)) for t in types):
        return "datetime"
    if any(issubclass(t, (bool, np.bool_)) for t in types):
        return "string"
    if all(issubclass(t, (int, np.integer)) for t in types):
        return "integer"
    if all(issubclass(t, (int, float, Decimal, np.integer, np.floating)) for t in types):
        return "numeric"
    return "string"


def typed(values: Array, kind: Kind) -> Array:
    """Give objects of one kind their numpy dtype; nominal values stay objects."""
    if kind == "numeric":
        return values.astype(np.float64)
    if kind == "integer":
        return values.astype(np.int64)
    if kind == "boolean":
        return values.astype(np.bool_)
    if kind == "datetime":
        has_time = any(isinstance(value, datetime.datetime) for value in values)
        return values.astype("datetime64[us]" if has_time else "datetime64[D]")
    return values


def kind_of_dtype(dtype: np.dtype[Any]) -> Kind | None:
    """Read the kind off a numpy dtype; None when a feature of it cannot be varied."""
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


def objects(values: Iterable[Any]) -> Array:
    """Return a 1-d object array, also when the values are sequences themselves."""
    items = list(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array
