"""Which dates and durations a column could hold, as those it holds show."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any, Self

import numpy as np

from paribus._contracts import Array, Integers


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
