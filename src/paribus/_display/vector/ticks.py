"""Where ticks stand and what they say: round numbers, dates of the calendar, categories."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, isfinite, log10
from typing import Literal, TypeAlias

import numpy as np

from paribus._display.figure import PanelAxis
from paribus._display.text_width import text_width
from paribus._display.vector.canvas import LEADING, fitted, fitted_lines

Way: TypeAlias = Literal["x", "y"]
Entry: TypeAlias = tuple[float, str]  # a position in units of the axis, and its text
Fits: TypeAlias = Callable[[list[Entry]], bool]

MOST = {"x": 9, "y": 7}  # ticks of numbers
LEADING_DIGITS = (1.0, 2.0, 2.5, 5.0)
TICK = 12.0  # pixels of text at ticks
SMALLER, SMALLEST = 0.8, 7.5  # of that size, before words are turned; pixels that can be read
LINES = 3  # of a given text, at most
APART = 0.6  # em between texts beside each other
THOUSANDS = re.compile(r"(?<=\d)(?=(\d{3})+$)")
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DAY_MS = 86_400_000.0
# Calendar steps, each a unit and how many of it; weeks begin on Mondays.
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
FIRST_MONDAY = {7: 4, 14: 4}  # days after the first of January 1970, a Thursday


@dataclass(frozen=True)
class Ticks:
    """Ticks of an axis: positions, texts, what shortened ones are short for, their size in pixels."""

    entries: tuple[Entry, ...] = ()
    full: tuple[str, ...] = ()
    size: float = TICK
    turned: bool = False

    @property
    def width(self) -> float:
        """Pixels of the longest text, along its lines."""
        return max((self.size * text_width(text) for _, text in self.entries), default=0.0)

    @property
    def height(self) -> float:
        """Pixels of the text with the most lines, across them."""
        lines = (text.count("\n") + 1 for _, text in self.entries)
        return LEADING * self.size * max(lines, default=0)


def axis_ticks(axis: PanelAxis, ends: tuple[float, float], way: Way, length: float, room: float) -> Ticks:
    """Return the ticks of an axis so many pixels long, as many as have room.

    ``room`` is how many pixels a text may take across the axis.
    """
    if axis.scale == "none":
        return Ticks()
    if axis.ticks is not None:
        return _given(axis, ends, way, length, room)
    low, high = ends
    if axis.tick_low is not None and low < axis.tick_low < high:
        low = axis.tick_low
    fits = _beside_each_other(ends, length) if way == "x" else _above_each_other(ends, length)
    if axis.scale == "date":
        return Ticks(tuple(date_ticks(low, high, fits, MOST[way], two_lines=way == "x")))
    return Ticks(tuple(number_ticks(low, high, fits, MOST[way], integers=axis.integers)))


def _beside_each_other(ends: tuple[float, float], length: float, size: float = TICK) -> Fits:
    """Return whether texts along an axis keep apart."""
    scale = length / ((ends[1] - ends[0]) or 1.0)

    def fits(entries: list[Entry]) -> bool:
        halves = [size * (text_width(text) + APART) / 2 for _, text in entries]
        gaps = (scale * (b[0] - a[0]) for a, b in pairwise(entries))
        return all(gap >= one + two for gap, one, two in zip(gaps, halves, halves[1:], strict=False))

    return fits


def _above_each_other(ends: tuple[float, float], length: float) -> Fits:
    scale = length / ((ends[1] - ends[0]) or 1.0)
    return lambda entries: all(scale * (b[0] - a[0]) >= 1.9 * TICK for a, b in pairwise(entries))


def number_ticks(low: float, high: float, fits: Fits, most: int, *, integers: bool = False) -> list[Entry]:
    """Return round numbers from one end to another, as close as fits; only integers if so wanted."""
    span = high - low
    if not (isfinite(span) and span > max(1e-300, 1e-13 * max(abs(low), abs(high)))):
        return []
    for step, decimals in _steps(span / most):
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


def _steps(rough: float) -> Iterator[tuple[float, int]]:
    """Yield round steps from a rough one on, and how many decimals distinguish their multiples."""
    for power in range(floor(log10(rough)), floor(log10(rough)) + 4):
        for digit in LEADING_DIGITS:
            # Divided, as a tenth is no sum of powers of two, and its multiples would show that.
            step = digit * 10.0**power if power >= 0 else digit / 10.0**-power
            if step >= 0.999 * rough:
                yield step, -power + (digit == 2.5)


def number_texts(values: list[float], decimals: int) -> list[str]:
    """Write numbers in full, very large and small ones with their power of ten.

    Thousands are apart from ten of them on, as numbers of four digits may be years.
    """
    largest = max(map(abs, values), default=0.0)
    if largest >= 1e7 or 0 < largest < 1e-4:
        top = floor(log10(largest))
        texts = [_with_power(value, top, max(0, top + decimals)) for value in values]
    else:
        texts = [f"{value:.{max(0, decimals)}f}" for value in values]
        texts = [
            _apart(text) if abs(value) >= 1e4 else text for text, value in zip(texts, values, strict=True)
        ]
    return [_signed(text) for text in texts]


def _with_power(value: float, power: int, digits: int) -> str:
    if power < -300:  # whose power of ten is no number to divide by
        return f"{value:.{digits}e}"
    text = f"{value / 10.0**power:.{digits}f}"
    return f"{text}e{power}" if text.strip("-0.") else "0"


def _apart(text: str) -> str:
    whole, point, part = text.partition(".")
    return THOUSANDS.sub(",", whole) + point + part


def _signed(text: str) -> str:
    """Return a number with a minus sign, and a zero without any."""
    return text.replace("-", "\N{MINUS SIGN}") if text.strip("-0.,") else text.removeprefix("-")


def date_ticks(low: float, high: float, fits: Fits, most: int, *, two_lines: bool) -> list[Entry]:
    """Return dates of the calendar, in UTC, between days since 1970; as close as fits."""
    if not (isfinite(low) and isfinite(high) and high > low):
        return []
    for unit, step in CALENDAR:
        if (high - low) / (step * LENGTHS[unit]) <= most + 1:
            stamps = _stamps(low, high, unit, step)
            at = [float(stamp) for stamp in (stamps - np.datetime64(0, "ms")) / np.timedelta64(1, "D")]
            inside = [place for place, day in enumerate(at) if low <= day <= high]
            texts = _date_texts(stamps[inside], unit, two_lines=two_lines)
            entries = [*zip([at[place] for place in inside], texts, strict=True)]
            if len(entries) <= most and fits(entries):
                return entries
    return []


def _stamps(low: float, high: float, unit: str, step: int) -> np.ndarray[tuple[int], np.dtype[np.datetime64]]:
    """Return every so many units of the calendar between two days, one more to each side."""
    first, last = (
        int(np.datetime64(round(day * DAY_MS), "ms").astype(f"datetime64[{unit}]").astype(np.int64))
        for day in (low, high)
    )
    start = 1970 if unit == "Y" else -FIRST_MONDAY.get(step, 0) if unit == "D" else 0
    numbers = np.arange((first + start) // step * step, last + start + step + 1, step) - start
    return numbers.astype(f"datetime64[{unit}]").astype("datetime64[ms]")


def _date_texts(
    stamps: np.ndarray[tuple[int], np.dtype[np.datetime64]], unit: str, *, two_lines: bool
) -> list[str]:
    """Write dates: what differs between ticks, and below it where the rest changes."""
    pairs = [_date_parts(str(stamp), unit) for stamp in stamps]
    if not two_lines:
        return [f"{rest} {part}".strip() for part, rest in pairs]
    before = ["", *(rest for _, rest in pairs)]
    return [
        part if rest == last else f"{part}\n{rest}" for (part, rest), last in zip(pairs, before, strict=False)
    ]


def _date_parts(stamp: str, unit: str) -> tuple[str, str]:
    """Return the part of a date that ticks of some unit differ by, and the rest of it."""
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


def _given(axis: PanelAxis, ends: tuple[float, float], way: Way, length: float, room: float) -> Ticks:
    """Return given ticks: smaller or turned where they would meet, of very many only some."""
    given = list(axis.ticks or ())
    if not given:
        return Ticks()
    scale = length / ((ends[1] - ends[0]) or 1.0)
    between = min((scale * abs(b[0] - a[0]) for a, b in pairwise(given)), default=length)
    if way == "x" and not axis.turned:
        for size in (TICK, SMALLER * TICK):
            if _beside_each_other(ends, length, size)(sorted(given)) or len(given) == 1:
                return _in_given_lines(given, between if len(given) > 1 else length + 1.0, size)
    every = max(1, ceil(1.1 * SMALLEST / max(between, 1e-9))) if len(given) > 1 else 1
    given, between = given[::every], between * every
    lines = max(text.count("\n") + 1 for _, text in given)
    size = min(TICK, max(SMALLEST, between / (1.15 * lines)))
    most = min(LINES, max(1, int(between / (LEADING * size) + 0.2)))
    texts = [
        fitted_lines(text if most > 1 else text.replace("\n", " "), room, size, most) for _, text in given
    ]
    entries = tuple(zip([at for at, _ in given], texts, strict=True))
    return Ticks(entries, tuple(text for _, text in given), size, turned=way == "x")


def _in_given_lines(given: list[Entry], length: float, size: float) -> Ticks:
    """Return ticks beside each other, none of whose lines is longer than some pixels."""
    texts = ["\n".join(fitted(line, length, size) for line in text.split("\n")) for _, text in given]
    entries = tuple(zip([at for at, _ in given], texts, strict=True))
    return Ticks(entries, tuple(text for _, text in given), size)
