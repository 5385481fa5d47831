"""Positions and texts of ticks: round numbers, calendar dates and categories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Literal, TypeAlias

import numpy as np

from paribus._display.figure import PanelAxis
from paribus._display.mark_helpers import TICK, with_thousands
from paribus._display.text_width import text_width
from paribus._display.vector.canvas import LEADING, fitted, fitted_lines

Way: TypeAlias = Literal["x", "y"]
Entry: TypeAlias = tuple[float, str]  # a position in units of the axis, and its text
Fits: TypeAlias = Callable[[list[Entry]], bool]

MOST = {"x": 9, "y": 7}  # ticks of numbers
LEADING_DIGITS = (1.0, 2.0, 2.5, 5.0)
SMALLER, SMALLEST = 0.8, 7.5  # share of that size before texts are rotated; pixels of the smallest text
LINES = 3  # of a given tick text, at most
APART = 0.6  # em between neighboring texts
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAY_MS = 86_400_000.0
# Calendar steps: a unit and a number of units; weeks begin on Mondays.
CALENDAR = (
    *(("ms", n) for n in (1, 2, 5, 10, 20, 50, 100, 200, 500)),
    *(("s", n) for n in (1, 2, 5, 10, 15, 30)),
    *(("m", n) for n in (1, 2, 5, 10, 15, 30)),
    *(("h", n) for n in (1, 2, 3, 6, 12)),
    *(("D", n) for n in (1, 2, 7, 14)),
    *(("M", n) for n in (1, 2, 3, 6)),
    *(("Y", n * 10**power) for power in range(5) for n in (1, 2, 5)),
)
LENGTHS = {"ms": 1 / DAY_MS, "s": 1 / 86_400, "m": 1 / 1440, "h": 1 / 24, "D": 1.0, "M": 30.4, "Y": 365.2}
FIRST_MONDAY = {7: 4, 14: 4}  # days after Thursday, January 1, 1970, by step in days


@dataclass(frozen=True)
class Ticks:
    """Ticks of an axis: positions with texts, full texts of shortened ones, and font size in pixels."""

    entries: tuple[Entry, ...] = ()
    full: tuple[str, ...] = ()
    size: float = TICK
    turned: bool = False

    @property
    def width(self) -> float:
        """Width in pixels of the longest text, before rotation."""
        return max((self.size * text_width(text) for _, text in self.entries), default=0.0)

    @property
    def height(self) -> float:
        """Height in pixels of the text with the most lines, before rotation."""
        lines = (text.count("\n") + 1 for _, text in self.entries)
        return LEADING * self.size * max(lines, default=0)


def axis_ticks(axis: PanelAxis, ends: tuple[float, float], way: Way, length: float, room: float) -> Ticks:
    """Return as many ticks of an axis of ``length`` pixels as fit.

    ``room`` is the space for a text perpendicular to the axis, in pixels.
    """
    if axis.scale == "none":
        return Ticks()
    if axis.ticks is not None:
        return _given_ticks(axis, ends, way, length, room)
    low, high = ends
    if axis.tick_low is not None and low < axis.tick_low < high:
        low = axis.tick_low
    fits = _texts_keep_apart(ends, length, way)
    if axis.scale == "date":
        return Ticks(tuple(date_ticks(low, high, fits, MOST[way], two_lines=way == "x")))
    return Ticks(tuple(number_ticks(low, high, fits, MOST[way], integers=axis.integers)))


def _texts_keep_apart(ends: tuple[float, float], length: float, way: Way, size: float = TICK) -> Fits:
    """Return the test whether neighboring texts do not touch: along x by width, along y by height."""
    scale = length / ((ends[1] - ends[0]) or 1.0)

    def fits(entries: list[Entry]) -> bool:
        gaps = (scale * (b[0] - a[0]) for a, b in pairwise(entries))
        if way == "y":
            return all(gap >= 1.9 * size for gap in gaps)
        halves = [size * (text_width(text) + APART) / 2 for _, text in entries]
        pairs = zip(gaps, pairwise(halves), strict=True)
        return all(gap >= left + right for gap, (left, right) in pairs)

    return fits


def number_ticks(low: float, high: float, fits: Fits, most: int, *, integers: bool = False) -> list[Entry]:
    """Return ticks at multiples of the smallest round step that fits, at most ``most`` of them."""
    span = high - low
    if not (isfinite(span) and span > max(1e-300, 1e-13 * max(abs(low), abs(high)))):
        return []
    for step, decimals in _round_steps(span / most):
        if integers and not step.is_integer():
            continue
        first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
        if last < first:
            return []
        if last - first < most:
            values = [number * step for number in range(first, last + 1)]
            entries = [*zip(values, number_texts(values, decimals), strict=True)]
            if fits(entries):
                return entries
    return []


def _round_steps(rough: float) -> Iterator[tuple[float, int]]:
    """Yield ascending round steps, and the number of decimals of their multiples."""
    for power in range(floor(log10(rough)), floor(log10(rough)) + 4):
        for digit in LEADING_DIGITS:
            # Division rounds negative powers of ten once only, so multiples stay exact.
            step = digit * 10.0**power if power >= 0 else digit / 10.0**-power
            if step >= 0.999 * rough:
                yield step, -power + (digit == 2.5)


def number_texts(values: list[float], decimals: int) -> list[str]:
    """Return the texts of numbers with some decimals; very large and small ones have a power of ten."""
    largest = max(map(abs, values), default=0.0)
    if largest >= 1e7 or 0 < largest < 1e-4:
        power = floor(log10(largest))
        digits = max(0, power + decimals)
        if power < -300:  # the power of ten would underflow
            texts = [f"{value:.{digits}e}" for value in values]
        else:
            mantissas = [f"{value / 10.0**power:.{digits}f}" for value in values]
            texts = [f"{text}e{power}" if text.strip("-0.") else "0" for text in mantissas]
    else:
        texts = [with_thousands(f"{value:.{max(0, decimals)}f}", value) for value in values]
    # A zero has no sign.
    return [
        text.replace("-", "\N{MINUS SIGN}") if text.strip("-0.,") else text.removeprefix("-")
        for text in texts
    ]


def date_ticks(low: float, high: float, fits: Fits, most: int, *, two_lines: bool) -> list[Entry]:
    """Return ticks of calendar dates in UTC between two days since 1970, as many as fit."""
    if not (isfinite(low) and isfinite(high) and high > low):
        return []
    for unit, step in CALENDAR:
        if (high - low) / (step * LENGTHS[unit]) > most + 1:
            continue
        # Multiples of the step that enclose the axis.
        first, last = (
            int(np.datetime64(round(day * DAY_MS), "ms").astype(f"datetime64[{unit}]").astype(np.int64))
            for day in (low, high)
        )
        start = 1970 if unit == "Y" else -FIRST_MONDAY.get(step, 0) if unit == "D" else 0
        numbers = np.arange((first + start) // step * step, last + start + step + 1, step) - start
        stamps = numbers.astype(f"datetime64[{unit}]").astype("datetime64[ms]")
        entries, before = [], ""
        for stamp, day in zip(stamps, stamps.astype(np.int64) / DAY_MS, strict=True):
            if low <= day <= high:
                part, rest = _date_parts(str(stamp), unit)
                text = f"{rest} {part}".strip()
                if two_lines:  # the rest is in a second line where it changes
                    text = part if rest == before else f"{part}\n{rest}"
                entries.append((float(day), text))
                before = rest
        if len(entries) <= most and fits(entries):
            return entries
    return []


def _date_parts(stamp: str, unit: str) -> tuple[str, str]:
    """Return the part of a date that differs between ticks of a unit, and the rest."""
    date, _, time = stamp.partition("T")
    year, month, day = date.rsplit("-", 2)
    named = MONTHS[int(month) - 1]
    if unit == "Y":
        return year, ""
    if unit == "M":
        return named, year
    if unit == "D":
        return f"{int(day)} {named}", year
    digits = {"h": 5, "m": 5, "s": 8, "ms": 12}[unit]
    return time[:digits], f"{int(day)} {named} {year}"


def _given_ticks(axis: PanelAxis, ends: tuple[float, float], way: Way, length: float, room: float) -> Ticks:
    """Return the given ticks of an axis: smaller or rotated if they would touch, and thinned if too many."""
    given = list(axis.ticks or ())
    if not given:
        return Ticks()
    scale = length / ((ends[1] - ends[0]) or 1.0)
    between = min((scale * abs(b[0] - a[0]) for a, b in pairwise(given)), default=length)
    if way == "x" and not axis.turned:
        for size in (TICK, SMALLER * TICK):
            if _texts_keep_apart(ends, length, way, size)(sorted(given)) or len(given) == 1:
                longest = between if len(given) > 1 else length + 1.0  # pixels of a line
                entries = []
                for at, text in given:
                    lines = [fitted(line, longest, size) for line in text.split("\n")]
                    entries.append((at, "\n".join(lines)))
                return Ticks(tuple(entries), tuple(text for _, text in given), size)
    kept = max(1, ceil(1.1 * SMALLEST / max(between, 1e-9))) if len(given) > 1 else 1  # one of so many
    given, between = given[::kept], between * kept
    tallest = max(text.count("\n") + 1 for _, text in given)
    size = min(TICK, max(SMALLEST, between / (1.15 * tallest)))
    most = min(LINES, max(1, int(between / (LEADING * size) + 0.2)))
    entries = []
    for at, text in given:
        line = text if most > 1 else text.replace("\n", " ")
        entries.append((at, fitted_lines(line, room, size, most)))
    return Ticks(tuple(entries), tuple(text for _, text in given), size, turned=way == "x")
