"""How many numbers and dates stand along an axis.

Plotly is given how many ticks there may be, and not where: so numbers follow when somebody zooms. It makes
the step between them a round one that is rather too long, which may leave a single tick; so what it would do
is foreseen here.
"""

from __future__ import annotations

import math

from paribus._display.drawers.plotly.hover_text import FONT, text_width
from paribus._display.ticks import in_words

MOST = 8  # ticks along an axis
APART = 0.6  # letters' heights between two words
DAYS = (1.0, 2.0, 3.0, 7.0, 14.0)  # of plotly's steps between dates
MONTHS = (1.0, 2.0, 3.0, 6.0, 12.0)
MONTH, YEAR = 30.436875, 365.2425  # in days


def tick_count(low: float, high: float, pixels: float, *, dates: bool) -> int:
    """Return how many ticks plotly is to aim at, so that as many as possible have room for their words."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return MOST // 2
    for count in range(MOST, 2, -1):
        step = _date_step((high - low) / count) if dates else _round_up((high - low) / count)
        wide = _date_width(step) if dates else _number_width(low, high, step)
        if wide + APART * FONT <= step / (high - low) * pixels:
            return count
    return 2


def number_step(low: float, high: float, count: int) -> float:
    """Return plotly's step between numbers along an axis."""
    return _round_up((high - low) / count)


def _round_up(rough: float) -> float:
    base = 10.0 ** math.floor(math.log10(rough))
    return base * next(step for step in (2, 5, 10) if step >= rough / base - 1e-9)


def _date_step(rough: float) -> float:
    """Return plotly's step between dates, in days."""
    if 2 * rough > YEAR:
        return YEAR * max(1.0, _round_up(rough / YEAR) if rough > YEAR else 1.0)
    if 2 * rough > MONTH:
        return MONTH * next((step for step in MONTHS if step >= rough / MONTH), MONTHS[-1])
    return next((step for step in DAYS if step >= rough), DAYS[-1])


def _date_width(step: float) -> float:
    return text_width("2020" if step >= YEAR else "Sep 2020" if step >= MONTH else "Mar 20")


def _number_width(low: float, high: float, step: float) -> float:
    first, last = math.ceil(low / step), math.floor(high / step)
    ticks = [k * step for k in range(first, last + 1)]
    return max((text_width(word.replace("e", "×10")) for word in in_words(ticks)), default=0.0)
