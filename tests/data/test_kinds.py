"""Local times of zones, against Arrow's conversion."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from paribus._data.kinds import Steps, _local_to_utc, _utc_to_local

# Two changes a year; half an hour; a day that was skipped; changes for Ramadan; seconds until 1937; none.
ZONES = (
    *("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Pacific/Apia"),
    *("Africa/Casablanca", "Europe/Amsterdam", "Asia/Kathmandu"),
)


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_local_times_are_those_of_arrow_also_at_each_change(zone, unit):
    dates = np.arange(np.datetime64("1930-01-01"), np.datetime64("2037-01-01"), np.timedelta64(6, "h"))
    dates = dates.astype(f"M8[{unit}]")
    local = _utc_to_local(dates, zone)
    assert (
        local == pc.local_timestamp(pa.array(dates.view(np.int64)).cast(pa.timestamp(unit, zone))).to_numpy()
    ).all()
    changes = local[np.flatnonzero(np.diff((local - dates).astype(np.int64)))]
    near = np.add.outer(changes, np.arange(-7, 15) * np.timedelta64(30, "m") + np.timedelta64(7, "s")).ravel()
    known = pc.assume_timezone(pa.array(near), zone, ambiguous="earliest", nonexistent="latest")
    want = np.asarray(known.cast(pa.int64())).view(near.dtype)
    assert (_local_to_utc(near, zone) == want).all()


def test_local_times_after_2037_follow_the_rule_of_the_zone():
    summer = np.array(["2050-07-01T00:00", "2050-12-01T00:00"], "M8[s]")
    local = np.array(["2050-07-01T02:00", "2050-12-01T01:00"], "M8[s]")
    assert (_utc_to_local(summer, "Europe/Berlin") == local).all()
    assert (_local_to_utc(local, "Europe/Berlin") == summer).all()


@pytest.mark.parametrize("zone", ["UTC+02:00", "tzlocal()", "nowhere", "../etc", "Europe"])
def test_steps_in_an_unknown_zone_are_counted_in_utc(zone):
    dates = np.arange(np.datetime64("2026-01-01"), np.datetime64("2026-06-01")).astype("M8[us]")
    assert Steps.of(dates, zone) == Steps.of(dates, None)


def test_steps_of_years_beyond_9999_are_counted_in_utc():
    dates = np.array([0, 2**60], "M8[us]")
    assert Steps.of(dates, "Europe/Berlin") == Steps.of(dates, None)


@pytest.mark.parametrize("bound", ["1677-09-22", "2262-04-11"])
def test_dates_near_the_bounds_of_nanoseconds_stay_on_their_steps(bound):
    dates = np.array([bound, "2020-01-01"], "M8[ns]")
    steps = Steps.of(dates, "Europe/Berlin")
    assert steps.zone == "Europe/Berlin"
    assert (steps.nearest(dates.view(np.int64), dates.dtype).view(dates.dtype) == dates).all()
