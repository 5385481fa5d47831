"""Whether two results are the same, bit for bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from paribus._contracts import Array
from paribus.meaning import TaggedText


def differing(one: Any, other: Any, where: str = "") -> str | None:
    """Return the name of a value in which two results differ, None if they are the same."""
    if one is other:
        return None
    if type(one) is not type(other):
        return where
    if isinstance(one, np.ndarray):
        return None if _same_array(one, other) else where
    if isinstance(one, (tuple, list)):
        pairs = zip(one, other, strict=False)
        return where if len(one) != len(other) else _first(differing(a, b, where) for a, b in pairs)
    if dataclasses.is_dataclass(one):
        names = (field.name for field in dataclasses.fields(one))
        return _first(differing(getattr(one, n), getattr(other, n), _under(where, n)) for n in names)
    if isinstance(one, Mapping):
        return _differing_items(one, other, where)
    if isinstance(one, TaggedText):
        return _differing_items(vars(one), vars(other), where)
    return None if _same_value(one, other) else where


def _differing_items(one: Any, other: Any, where: str) -> str | None:
    """Compare mappings, the order of their keys included."""
    if list(one) != list(other):
        return where or "keys"
    if getattr(one, "skipped", None) != getattr(other, "skipped", None):  # of a mapping of results
        return _under(where, "skipped")
    return _first(differing(one[key], other[key], _under(where, str(key))) for key in one)


def _first(found: Iterable[str | None]) -> str | None:
    return next((name for name in found if name is not None), None)


def _under(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _same_array(one: Array, other: Array) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype == object:
        return all(differing(a, b, "?") is None for a, b in zip(one.flat, other.flat, strict=True))
    if one.tobytes() == other.tobytes():
        return True
    if one.dtype.kind != "f":
        return False
    alike = (one == other) & (np.signbit(one) == np.signbit(other))
    return bool((alike | (np.isnan(one) & np.isnan(other))).all())


def _same_value(one: Any, other: Any) -> bool:
    """Compare values of one type; repr shows zones, nanoseconds, signs of zeros, and that NaN is NaN."""
    if isinstance(one, (str, int)):
        return bool(one == other)
    return _traits(one) == _traits(other)


def _traits(value: Any) -> tuple[Any, ...]:
    return repr(value), getattr(value, "unit", None), type(getattr(value, "tzinfo", None))
