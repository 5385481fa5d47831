"""Numbers, values and counts as people write them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np


def number(value: float) -> str:
    """Return a number in four digits; large ones, and what is not quite 1, in more."""
    if 1e4 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.6g}" if 0.9995 <= value < 1 or abs(value) >= 1e9 else f"{value:.4g}"


def short(value: float) -> str:
    """Return a number in two digits, or as an integer.

    >>> short(0.1234), short(1234.5), short(1e300)
    ('0.12', '1,234', '1e+300')
    """
    return f"{value:,.0f}" if 99.5 <= abs(value) < 1e15 else f"{value:.2g}"


def with_error(value: float, error: float) -> str:
    """Return a number with its standard error, if it has one."""
    return f"{number(value)} ± {short(error)}" if np.isfinite(error) else number(value)


def at_value(value: Any) -> str:
    """Return a grid value as text."""
    if isinstance(value, (float, np.floating)):
        return number(float(value))
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[s]")).replace("T00:00:00", "")
    if isinstance(value, np.timedelta64):
        unit, name = duration_unit(float(abs(value) / np.timedelta64(1, "D")))
        return f"{number(float(value / np.timedelta64(1, 'D')) / unit)} {name}"
    return str(value)


def plain_value(value: Any) -> str:
    """Return a grid value as text that other programs read: in full, without separators of thousands.

    >>> plain_value(np.float64(26979.25)), plain_value("Bern, CH"), plain_value(1234567)
    ('26979.25', 'Bern, CH', '1234567')
    """
    return repr(float(value)) if isinstance(value, (float, np.floating)) else at_value(value)


def at_point(names: Iterable[str], grid_values: Iterable[Any], position: Iterable[Any]) -> str:
    """Return a grid point as text: the value of each axis at its position."""
    axes = zip(names, grid_values, position, strict=True)
    return ", ".join(f"{name} = {at_value(values[g])}" for name, values, g in axes)


def duration_unit(days: float) -> tuple[float, str]:
    """Return the unit a duration is usually written in, as a number of days, and its name."""
    units = {"days": 1.0, "hours": 1 / 24, "minutes": 1 / 1440, "seconds": 1 / 86_400, "ms": 1 / 86_400_000}
    for name, unit in units.items():
        if days >= unit:
            return unit, name
    return units["ms"] / 1000, "µs"


def count(size: int, noun: str, plural: str | None = None) -> str:
    """Return ``"1 pair"`` or ``"12 pairs"``; ``plural`` is that of a noun that does not take an s.

    >>> count(1, "entry", "entries"), count(1_200, "entry", "entries")
    ('1 entry', '1,200 entries')
    """
    return f"{size:,} {noun if size == 1 else plural or f'{noun}s'}"


def shown_of(size: int, most: int) -> int:
    """Return how many of ``size`` entries are shown: ``most``, or all if a single one would be left out.

    >>> shown_of(5, 5), shown_of(6, 5), shown_of(7, 5)
    (5, 6, 5)
    """
    return size if size <= most + 1 else most


def exactly_zero(size: int, noun: str) -> str:
    """Return the line that counts what is not shown."""
    return f"{count(size, noun)} {'is' if size == 1 else 'are'} exactly zero"


def multiple(ratio: float) -> str:
    """Return a number of standard errors, above 1,000 (also infinitely many) as that."""
    return short(ratio) if not ratio >= 1_000 else "over 1,000"


def percent(part: float) -> str:
    """Return a share of the data as it is written: two digits, more where nearly all of it is meant."""
    if 0 < part < 1e-4:
        return "under 0.01 %"
    return f"{100 * part:.2g} %" if part < 0.995 else f"{100 * part:.4g} %"
