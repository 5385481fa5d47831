"""Text of numbers, grid values and counts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np

NONE = "–"  # in the place of an unknown number
ROUNDING = 1e-12  # of a number: a smaller standard error is rounding


def number(value: float) -> str:
    """Return a number with four digits, or with more if it is large or slightly below 1."""
    if 1e4 <= abs(value) < 1e9:
        return f"{value:,.0f}"
    return f"{value:.6g}" if 0.9995 <= value < 1 or abs(value) >= 1e9 else f"{value:.4g}"


def short(value: float) -> str:
    """Return a number with two digits, or as an integer.

    >>> short(0.1234), short(1234.5), short(1e300)
    ('0.12', '1,234', '1e+300')
    """
    return f"{value:,.0f}" if 99.5 <= abs(value) < 1e15 else f"{value:.2g}"


def with_error(value: float, error: float) -> str:
    """Return a number with its standard error, if that is finite."""
    return f"{number(value)} ± {short(error)}" if np.isfinite(error) else number(value)


def at_value(value: Any) -> str:
    """Return a grid value as text, -0.0 as ``"0"``.

    >>> at_value(-0.0), at_value(26979.25), at_value("Bern")
    ('0', '26,979', 'Bern')
    """
    if isinstance(value, (float, np.floating)):
        return number(float(value) + 0.0)
    if isinstance(value, np.datetime64):
        return str(value.astype("datetime64[s]")).replace("T00:00:00", "")
    if isinstance(value, np.timedelta64):
        unit, name = duration_unit(float(abs(value) / np.timedelta64(1, "D")))
        return f"{number(float(value / np.timedelta64(1, 'D')) / unit)} {name}"
    return str(value)


def plain_value(value: Any) -> str:
    """Return a grid value as machine-readable text: in full precision, without thousands separators.

    >>> plain_value(np.float64(26979.25)), plain_value("Bern, CH"), plain_value(1234567), plain_value(-0.0)
    ('26979.25', 'Bern, CH', '1234567', '0.0')
    """
    return repr(float(value) + 0.0) if isinstance(value, (float, np.floating)) else at_value(value)


def at_point(names: Iterable[str], grid_values: Iterable[Any], position: Iterable[Any]) -> str:
    """Return a grid point as text: the value of each axis at its position."""
    axes = zip(names, grid_values, position, strict=True)
    return ", ".join(f"{name} = {at_value(values[g])}" for name, values, g in axes)


def duration_unit(days: float) -> tuple[float, str]:
    """Return a suitable unit for a duration, as a number of days, and its name."""
    units = {"days": 1.0, "hours": 1 / 24, "minutes": 1 / 1440, "seconds": 1 / 86_400, "ms": 1 / 86_400_000}
    for name, unit in units.items():
        if days >= unit:
            return unit, name
    return units["ms"] / 1000, "µs"


def count(size: int, noun: str, plural: str | None = None) -> str:
    """Return ``"1 pair"`` or ``"12 pairs"``; ``plural`` is for nouns that do not take an s.

    >>> count(1, "entry", "entries"), count(1_200, "entry", "entries")
    ('1 entry', '1,200 entries')
    """
    return f"{size:,} {noun if size == 1 else plural or f'{noun}s'}"


def counted_names(names: Iterable[str]) -> str:
    """Return the distinct names, with their counts.

    >>> counted_names(["Ridge", "Lasso", "Ridge"])
    '2 x Ridge and Lasso'
    """
    return " and ".join(name if n == 1 else f"{n} x {name}" for name, n in Counter(names).items())


def shown_of(size: int, most: int) -> int:
    """Return how many of ``size`` entries to show: ``most``, or all if only one more would be omitted.

    >>> shown_of(5, 5), shown_of(6, 5), shown_of(7, 5)
    (5, 6, 5)
    """
    return size if size <= most + 1 else most


def exactly_zero(size: int, noun: str) -> str:
    """Return the line that counts the entries that are exactly zero."""
    return f"{count(size, noun)} {'is' if size == 1 else 'are'} exactly zero"


def multiple(ratio: float) -> str:
    """Return a number of standard errors, "over 1,000" from 1,000 on."""
    return short(ratio) if not ratio >= 1_000 else "over 1,000"


def percent(part: float) -> str:
    """Return a share of the data in percent: with two digits, or four near 100 %."""
    if 0 < part < 1e-4:
        return "under 0.01 %"
    return f"{100 * part:.2g} %" if part < 0.995 else f"{100 * part:.4g} %"


def share_text(part: float) -> str:
    """Return a share as sentences write it: with three digits, or four near 100 %.

    >>> share_text(1 / 3), share_text(0.00123), share_text(0.9987), share_text(1.0), share_text(1e-6)
    ('33.3%', '0.123%', '99.87%', '100%', 'under 0.01%')
    """
    if 0 < part < 1e-4:
        return "under 0.01%"
    return f"{100 * part:.3g}%" if part < 0.995 else f"{100 * part:.4g}%"


def brief(value: float, decimals: int = -99) -> str:
    """Return a number with three significant digits, or with so many ``decimals`` if these are more.

    >>> brief(0.12345), brief(1412.8), brief(26979.3), brief(0.99987), brief(2.0), brief(1e-7)
    ('0.123', '1410', '27,000', '0.99987', '2', '1e-07')
    """
    size = abs(value)
    if not math.isfinite(value):
        return NONE if math.isnan(value) else str(value)
    if 0 < size < 1e-4 or size >= 1e9:
        return f"{float(f'{value:.3g}'):g}"
    if 0.9995 <= value < 1:  # two digits of the distance to 1
        decimals = max(decimals, min(6, 1 - math.floor(math.log10(1 - value))))
    places = max(decimals, 2 - math.floor(math.log10(size)) if size else 0)
    rounded = round(value, places) + 0.0  # never -0
    text = f"{rounded:{',' if abs(rounded) >= 1e4 else ''}.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def measured(value: float, error: float) -> str:
    """Return a number with its standard error, if that is known and not zero, and no less precise than that.

    >>> measured(25.5634, 0.5552), measured(1234.6, 2.13), measured(0.7617, math.nan)
    ('25.6 ± 0.56', '1235 ± 2.1', '0.762')
    """
    if math.isnan(value):
        return NONE
    if not (math.isfinite(error) and error > ROUNDING * abs(value)) or value == 0:
        return brief(value)
    return f"{brief(value, -math.floor(math.log10(error)))} ± {short(error)}"


def span(*values: float) -> list[str]:
    """Return numbers with three significant digits, or with the digits that distinguish them.

    >>> span(131.62, 214.9), span(0.1212, 0.97), span(1500.0, 1503.24), span(26979.0, 54100.0)
    (['132', '215'], ['0.121', '0.970'], ['1500', '1503'], ['27,000', '54,100'])
    """
    width, largest = max(values) - min(values), max(map(abs, values))
    if not math.isfinite(width) or width < 1e-6 or largest >= 1e9:
        return [brief(float(value)) for value in values]
    decimals = max(2 - math.floor(math.log10(largest)), -math.floor(math.log10(width)))
    while decimals > 0 and all(round(value, decimals) == round(value, decimals - 1) for value in values):
        decimals -= 1
    rounded = (round(float(value), decimals) + 0.0 for value in values)  # never -0
    return [f"{value:{',' if abs(value) >= 1e4 else ''}.{max(0, decimals)}f}" for value in rounded]
