"""Whether two results are the same, bit for bit."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from paribus._contracts import Array
from paribus.meaning import TaggedText


def same(one: Any, other: Any) -> bool:
    """Return whether two values are the same and of one type, all the way down; NaN equals NaN."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return _same_array(one, other)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, TaggedText) or dataclasses.is_dataclass(one):
        return not differing(one, other)
    if isinstance(one, dict):  # the order of keys included
        return list(one) == list(other) and all(map(same, one.values(), other.values()))
    # The text shows zones, nanoseconds, signs of zeros, and that NaN is NaN.
    return bool(one == other) if isinstance(one, (str, int)) else _traits(one) == _traits(other)


def differing(one: Any, other: Any) -> list[str]:
    """Return the names of the fields in which two records of one type differ."""
    names = vars(one) if isinstance(one, TaggedText) else [field.name for field in dataclasses.fields(one)]
    return [name for name in names if not same(getattr(one, name), getattr(other, name))]


def _same_array(one: Array, other: Array) -> bool:
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype == object:
        return all(map(same, one.flat, other.flat))
    if one.dtype.kind != "f" or one.tobytes() == other.tobytes():
        return one.tobytes() == other.tobytes()
    alike = (one == other) & (np.signbit(one) == np.signbit(other))
    return bool((alike | (np.isnan(one) & np.isnan(other))).all())


def _traits(value: Any) -> tuple[Any, ...]:
    return repr(value), getattr(value, "unit", None), type(getattr(value, "tzinfo", None))
