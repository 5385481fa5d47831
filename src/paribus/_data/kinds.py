"""Kinds of columns, and steps of dates."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import islice
from math import gcd
from typing import Any, Self

import numpy as np

from paribus._contracts import Array, Flags, Integers, Kind
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


@dataclass(frozen=True)
class Steps:
    """Ticks that are a multiple of ``length`` away from ``first``, such as whole days, hours or Mondays.

    Dates of a ``zone`` are counted by its clock: days there begin at other hours of UTC in summer.
    """

    first: int
    length: int
    zone: str | None = None

    @classmethod
    def of(cls, values: Array, zone: str | None) -> Self | None:
        """Find the longest steps that lead to all of some dates or durations; None if there are none."""
        if values.dtype.kind not in "mM" or not len(values):
            return None
        own = None if zone == "UTC" else zone
        clock = _by_clock(values, own)
        if clock is None:  # a zone without changes, such as UTC+02:00, or one that is not known here
            clock, own = values, None
        ticks = clock.view(np.int64)
        first = int(ticks.min())
        # As integers without a sign, between which no distance is too large.
        away = ticks.view(np.uint64) - np.int64(first).view(np.uint64)
        return cls(first, int(np.gcd.reduce(away)), own)

    def merge(self, other: Self) -> Self:
        """Return the steps that lead to the dates of both."""
        return type(self)(self.first, gcd(self.length, other.length, self.first - other.first), self.zone)

    def nearest(self, ticks: Array, unit: np.dtype[Any]) -> Integers:
        """Return the dates next to some ticks in UTC that these steps lead to, as such ticks."""
        clock = _by_clock(ticks.view(unit), self.zone)
        assert clock is not None
        length = max(1, self.length)
        steps = ((2 * (tick - self.first) + length) // (2 * length) for tick in clock.view(np.int64).tolist())
        found = np.array([self.first + step * length for step in steps], dtype=np.int64)
        return found if self.zone is None else _in_utc(found.view(unit), self.zone).view(np.int64)


def _by_clock(dates: Array, zone: str | None) -> Array | None:
    """Return dates in UTC as the clocks of a zone show them; None if the zone is not known."""
    if zone is None:
        return dates
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = pa.timestamp(np.datetime_data(dates.dtype)[0], zone)
    try:
        shown = pc.local_timestamp(pa.array(dates.view(np.int64)).cast(kind))
    except pa.ArrowInvalid:
        return None
    return np.asarray(shown.to_numpy(zero_copy_only=False)).astype(dates.dtype, copy=False)


def _in_utc(shown: Array, zone: str) -> Array:
    """Return in UTC what clocks of a zone show: the first time of two, or the next one if it is left out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    known = pc.assume_timezone(pa.array(shown), zone, ambiguous="earliest", nonexistent="latest")
    return np.asarray(known.cast(pa.int64()).to_numpy(zero_copy_only=False)).view(shown.dtype)
