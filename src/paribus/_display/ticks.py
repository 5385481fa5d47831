"""Round numbers along an axis, as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

TICKS = 5  # numbers on an axis, about
ROUND = (1, 2, 2.5, 5)  # first digits of steps between ticks


def nice_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Return round numbers between two ends, as they are written."""
    ticks = _multiples(low, high, _round_step((high - low) / TICKS))
    return list(zip(ticks, in_words(ticks), strict=True))


def _round_step(about: float) -> float:
    """Return the round number that is nearest."""
    power = int(np.floor(np.log10(about)))
    steps = [float(f"{digits}e{power + more}") for more in (0, 1) for digits in ROUND]
    return min(steps, key=lambda step: abs(np.log(about / step)))


def fitting_ticks(low: float, high: float, fits: Callable[[list[float]], bool], most: int = 8) -> list[float]:
    """Return round numbers between two ends, at most so many of them and as many as fit.

    Where only one would be left, two less round ones at a distance show how long the axis is.
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
    """Write numbers in full and all alike, with as many digits as distinguish them.

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
