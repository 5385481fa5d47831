"""What drawers compute before they draw: how lines fade, which numbers are told, where words break."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence

import numpy as np

from paribus.contracts import Floats
from paribus.display.figure import Contours, Line, Strip
from paribus.display.look import STRIP

FADES = 4  # strengths of a line that can be told apart
JOINT = "\x00"  # stands in no text, so that the space after it is known as one that was added
ROUND = (1, 2, 2.5, 5)  # first digits of steps between ticks
FADED = 0.25  # of its colour that a line keeps where there is no data at all


def faded(mark: Line) -> list[tuple[int, int, float]]:
    """Return first point, last point and share of colour of each part of a line; parts share their ends."""
    points = len(mark.x)
    if mark.strength is None or points < 2:
        return [(0, points - 1, 1.0)]
    strength = np.nan_to_num(np.clip(mark.strength, 0.0, 1.0))
    between = strength[:-1] if mark.steps else (strength[:-1] + strength[1:]) / 2
    levels = np.maximum(1, np.ceil(between * FADES - 1e-9))
    starts = np.flatnonzero(np.diff(levels, prepend=np.nan))
    ends = [*starts[1:], points - 1]
    return [
        (int(first), int(last), FADED + (1 - FADED) * float(levels[first]) / FADES)
        for first, last in zip(starts, ends, strict=True)
    ]


def strip_heights(mark: Strip) -> Floats:
    """Return how high the bars of a strip are, as shares of the panel."""
    return STRIP * mark.height / mark.most if mark.most > 0 else 0.0 * mark.height


def told_levels(mark: Contours) -> list[float]:
    """Return every other level of contours, none of them a little less than nothing."""
    hardly = 1e-9 * np.ptp(mark.levels)
    return [0.0 if abs(level) < hardly else float(level) for level in mark.levels[::2]]


def lined_levels(mark: Contours) -> list[float]:
    """Return the levels that have a line: those that are told, as far as they are reached."""
    reached = mark.values[np.isfinite(mark.values)]
    return [level for level in told_levels(mark) if (reached < level).any() and (reached > level).any()]


def is_light(ground: Sequence[float]) -> bool:
    """Tell whether dark letters are read on a colour, rather than light ones; its parts run up to 1."""
    red, green, blue = ground[:3]
    return bool(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)


def in_lines(text: str, letters: Callable[[str], int], *, break_words: bool) -> str:
    """Break the lines of a text into those of so many letters, before an error if that is enough."""
    lines: list[str] = []
    for line in text.split("\n"):
        most = letters(line)
        for part in re.split(" (?=±)", line) if len(line) > most else [line]:
            lines += textwrap.wrap(_with_joints(part, most), most, break_long_words=break_words) or [""]
    return "\n".join(line.replace(f"{JOINT} ", "").rstrip(JOINT) for line in lines)


def _with_joints(text: str, most: int) -> str:
    """Let words that are too long break where their parts meet, as names of columns have them."""
    words = []
    for word in text.split(" "):
        runs = [""]
        for part in re.split(r"(?<=[_./-])(?=\w)", word) if len(word) > most else [word]:
            if runs[-1] and len(runs[-1] + part) >= most:
                runs.append("")
            runs[-1] += part
        words.append(f"{JOINT} ".join(runs))
    return " ".join(words)


def fitting_ticks(low: float, high: float, fits: Callable[[list[float]], bool], most: int = 8) -> list[float]:
    """Return round numbers between two ends, at most so many of them and as many as fit.

    Where only one would be left, two less round ones at a distance tell how long the axis is.
    """
    if not high > low:
        return [low] if high == low else []
    power = int(np.floor(np.log10((high - low) / most)))
    steps = [float(f"{digits}e{power + more}") for more in range(3) for digits in ROUND]
    every = [ticks for ticks in (_multiples(low, high, step) for step in steps) if 0 < len(ticks) <= most]
    for ticks in every:
        if len(ticks) > 1 and fits(ticks):
            return ticks
    ends = [ticks[:: len(ticks) - 1] for ticks in reversed(every) if len(ticks) > 1]
    return next((two for two in ends if fits(two)), every[-1] if every else [])


def _multiples(low: float, high: float, step: float) -> list[float]:
    first, last = int(np.ceil(low / step - 1e-9)), int(np.floor(high / step + 1e-9))
    return [k * step for k in range(first, last + 1)]


def in_words(values: Sequence[float]) -> list[str]:
    """Write numbers in full and all alike, with as many digits as tell them from each other.

    Only where they are millions apart, or far less than one, they have a power of ten. Thousands are apart
    from ten of them on, as numbers of four digits may be years.
    """
    apart = np.diff(np.unique(values))
    largest = max(map(abs, values), default=0.0)
    step = float(apart.min()) if len(apart) else 1e-3 * largest or 1.0
    digits = _digits(values, step, "f")
    if digits <= 5 and step < 1e6:
        comma = "," if largest >= 1e4 else ""
        return [_signed(f"{value:{comma}.{digits}f}") for value in values]
    digits = _digits(values, step, "e")
    return [_signed(_power(f"{value:.{digits}e}")) if value else "0" for value in values]


def _digits(values: Sequence[float], step: float, style: str) -> int:
    """Return how many digits after the point say numbers to a thousandth of a step."""
    for digits in range(16):
        if all(abs(float(f"{value:.{digits}{style}}") - value) <= 1e-3 * step for value in values):
            return digits
    return 16


def _power(text: str) -> str:
    digits, power = text.split("e")
    return f"{digits}e{int(power)}"


def _signed(text: str) -> str:
    """Write a minus as long as a plus; nothing has none."""
    return text.replace("-", "\N{MINUS SIGN}") if re.search("[1-9]", text) else text.replace("-", "")
