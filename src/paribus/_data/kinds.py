"""Kinds of columns, Python objects in columns, and steps between dates."""

from __future__ import annotations

import datetime
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from itertools import islice
from math import gcd
from typing import Any, Self
from zoneinfo import ZoneInfo

import numpy as np

from paribus._contracts import Array, Flags, Integers, Kind
from paribus.errors import FeatureError

OBJECT_BYTES = 64  # a pointer and a typical small Python object
NO_TWO_CHANGES = 3 * 86_400  # seconds; in three days, no zone changed its offset from UTC twice
SAMPLE = 1000  # values that give the Python type of a column of objects


def missing_objects(values: Array) -> Flags:
    """Return which objects are None, NaN, NaT or pandas' NA, without importing pandas."""
    flags = (_is_missing(value) for value in values)
    return np.fromiter(flags, dtype=bool, count=len(values))


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, Decimal):
        return value.is_nan()
    return isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)) and bool(value != value)


def kind_of_objects(name: str, values: Iterable[Any]) -> Kind:
    """Return the kind of a column from the types that occur; a mixture that is not numeric is nominal."""
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
    if any(durations):  # numpy.timedelta64 is a subclass of an integer type
        return "datetime" if all(durations) else "string"
    if any(issubclass(t, (bool, np.bool_)) for t in types):
        return "string"
    if all(issubclass(t, (int, np.integer)) for t in types):
        return "integer"
    if all(issubclass(t, (int, float, Decimal, np.integer, np.floating)) for t in types):
        return "numeric"
    return "string"


def typed(name: str, values: Array, kind: Kind) -> Array:
    """Return objects of one kind in their numpy dtype; nominal values stay objects."""
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
    """Return a 1-d object array, also if the values are sequences."""
    items = list(values)
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array


def objects_like(values: Array, column: Iterable[Any]) -> Array:
    """Return values as Python objects of the type of ``column``, if its present values have one type."""
    present = (value for value in column if not _is_missing(value))
    types = {type(value) for value in islice(present, SAMPLE)}
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
    """Return the kind of a numpy dtype; None for objects and unsupported dtypes."""
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
    """Ticks at multiples of ``length`` from ``first``, such as whole days, hours or Mondays.

    Dates with a ``zone`` are counted in its local time: days start at other hours of UTC in summer.
    """

    first: int
    length: int
    zone: str | None = None

    @classmethod
    def of(cls, values: Array, zone: str | None) -> Self | None:
        """Return the longest steps that contain all dates or durations; None for other or no values."""
        if values.dtype.kind not in "mM" or not len(values):
            return None
        own = None if zone == "UTC" else zone
        clock = _utc_to_local(values, own)
        if clock is None:  # a zone without changes, such as UTC+02:00, or an unknown one
            clock, own = values, None
        ticks = clock.view(np.int64)
        first = int(ticks.min())
        # As unsigned integers, whose differences cannot overflow.
        away = ticks.view(np.uint64) - np.int64(first).view(np.uint64)
        return cls(first, int(np.gcd.reduce(away)), own)

    def merge(self, other: Self) -> Self:
        """Return the longest steps that contain the dates of both."""
        return type(self)(self.first, gcd(self.length, other.length, self.first - other.first), self.zone)

    def nearest(self, ticks: Array, unit: np.dtype[Any]) -> Integers:
        """Return the date on these steps nearest to each tick, both as ticks in UTC."""
        clock = _utc_to_local(ticks.view(unit), self.zone)
        assert clock is not None
        length = max(1, self.length)
        steps = ((2 * (tick - self.first) + length) // (2 * length) for tick in clock.view(np.int64).tolist())
        found = np.array([self.first + step * length for step in steps], dtype=np.int64)
        return found if self.zone is None else _local_to_utc(found.view(unit), self.zone).view(np.int64)


def _utc_to_local(dates: Array, zone: str | None) -> Array | None:
    """Return dates in UTC as local times of a zone; None if the zone is unknown."""
    if zone is None or not len(dates):
        return dates
    try:
        starts, offsets = _offset_periods(dates, ZoneInfo(zone))
    except (LookupError, OSError, ValueError, OverflowError):  # an unknown zone, or a year beyond 9999
        return None
    period = np.searchsorted(starts[1:], dates.astype(starts.dtype), side="right")
    return np.asarray(dates + offsets[period])


def _local_to_utc(shown: Array, zone: str) -> Array:
    """Return local times of a zone in UTC: an ambiguous one as the earlier, a skipped one as the next."""
    starts, offsets = _offset_periods(shown, ZoneInfo(zone))
    period = np.searchsorted(starts[1:] + offsets[:-1], shown, side="right")  # the first that ends later
    return np.asarray(np.fmax(shown - offsets[period], starts[period]))


def _offset_periods(dates: Array, zone: ZoneInfo) -> tuple[Array, Array]:
    """Return when periods of a constant offset from UTC start, in UTC, and the offsets.

    They cover ``dates``, in UTC or local. The start of the first is NaT.
    """
    seconds = np.array([dates.min(), dates.max()]).astype("datetime64[s]").view(np.int64)
    # At multiples, so that all columns and blocks look up the same times.
    first, last = ((seconds // NO_TWO_CHANGES + np.array([-1, 2])) * NO_TWO_CHANGES).tolist()
    starts: list[int | None] = [None]
    offsets = [_utc_offset(first, zone)]
    _utc_offset(last, zone)  # raises for a year beyond 9999 before all years until then are searched
    for start in range(first, last, NO_TWO_CHANGES):
        following = _utc_offset(start + NO_TWO_CHANGES, zone)
        if following != offsets[-1]:
            times = range(start, start + NO_TWO_CHANGES)
            starts.append(start + bisect_left(times, True, key=lambda at: _utc_offset(at, zone) == following))
            offsets.append(following)
    return np.array(starts, "datetime64[s]"), np.array(offsets, "timedelta64[s]")


@lru_cache(maxsize=32_768)  # 270 years of a zone
def _utc_offset(second: int, zone: ZoneInfo) -> int:
    """Return the seconds by which local time is ahead of UTC."""
    utc = datetime.datetime(1970, 1, 1, tzinfo=zone) + datetime.timedelta(seconds=second)
    return (zone.fromutc(utc) - utc) // datetime.timedelta(seconds=1)  # of one zone: as its clocks show them
