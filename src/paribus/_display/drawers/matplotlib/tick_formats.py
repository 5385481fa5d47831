"""Numbers along an axis. Imported by functions that draw, as it needs matplotlib itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.dates import AutoDateLocator
from matplotlib.ticker import Formatter, Locator, ScalarFormatter

from paribus._display.ticks import fitting_ticks, in_words

DIGIT = 0.64  # width of a digit, as a share of its height
DATE = 4  # letters of a year or a month, the longest word between dates


class IntegerFormatter(ScalarFormatter):
    """Write each number in full, large and small ones with their power of ten.

    matplotlib writes a power once at the end of the axis, where panels stand beside ours.
    """

    def __init__(self) -> None:
        super().__init__(useOffset=False, useMathText=False)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return a number as it stands at its tick."""
        text, power = super().__call__(x, pos), super().get_offset()
        if not power or not text:
            return text
        return f"{text}{power.removeprefix('1')}" if x else "0"

    def get_offset(self) -> str:
        """Return what stands at the end of the axis: nothing."""
        return ""


def _width(number: str) -> float:
    """Return how wide a number is, as a share of its letters' height."""
    return sum(DIGIT / 2 if sign in ",." else DIGIT for sign in number)


class RoundLocator(Locator):
    """Round numbers of what an axis shows, as many as have room.

    While it shows what was ``planned``, from the first to the last of ``ends``, its ticks are those.
    ``below`` is the share of the axis that is kept free of ticks from its start: the data lies there.
    """

    def __init__(
        self,
        points: float,
        planned: Sequence[float] = (),
        ends: tuple[float, float] | None = None,
        below: float = 0.0,
    ) -> None:
        self.points, self.planned, self.ends, self.below = points, tuple(planned), ends, below

    def __call__(self) -> Any:
        """Return the ticks of what the axis shows now."""
        side: Any = self.axis
        return self.tick_values(*side.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks of an axis from one end to another."""
        start = vmin + self.below * (vmax - vmin)
        low, high = min(start, vmax), max(start, vmax)
        as_planned = self.ends is not None and np.allclose(sorted((vmin, vmax)), self.ends, rtol=1e-9, atol=0)
        if self.planned and as_planned and self._fits(list(self.planned), high - low):
            return np.array(self.planned)
        if not np.isfinite([low, high]).all():
            return np.zeros(0)
        return np.array(fitting_ticks(low, high, lambda ticks: self._fits(ticks, high - low)))

    def _fits(self, ticks: list[float], span: float) -> bool:
        """Return whether tick labels do not overlap."""
        if len(ticks) < 2:
            return True
        side: Any = self.axis
        box = side.axes.get_window_extent()
        across = side.axis_name == "x"
        points = (box.width if across else box.height) * (1 - self.below) * 72 / side.axes.figure.dpi
        taken = 1.25 * self.points
        if across:
            taken = self.points * (0.5 + max(map(_width, in_words(ticks))))
        return bool(np.diff(sorted(ticks)).min() / span * points >= taken)


class PlainFormatter(Formatter):
    """Write numbers in full and alike, with nothing at the end of the axis; planned ticks by their words."""

    def __init__(self, words: Iterable[tuple[float, str]] = ()) -> None:
        self.words = dict(words)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return one number."""
        return self.format_ticks([x])[0]

    def format_ticks(self, values: Any) -> list[str]:
        """Return distinct tick labels."""
        if all(value in self.words for value in values):
            return [self.words[value] for value in values]
        return in_words([float(value) for value in values])

    def format_data_short(self, value: float) -> str:
        """Return a number under the pointer."""
        return f"{value:.5g}"


class RoundDateLocator(AutoDateLocator):
    """Dates that are easily said, as many as have room."""

    def __init__(self, points: float) -> None:
        super().__init__(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        self.points = points

    def __call__(self) -> Any:
        """Return the ticks of what the axis shows now."""
        ticks = super().__call__()  # type: ignore[no-untyped-call]
        side: Any = self.axis
        points = side.axes.get_window_extent().width * 72 / side.axes.figure.dpi
        most = max(2, int(points / (self.points * (1 + DIGIT * DATE))))
        return ticks[:: -(-len(ticks) // most)] if len(ticks) > most else ticks
