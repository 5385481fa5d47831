"""Words along an axis: names of categories, dates and durations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from paribus._contracts import Array
from paribus._display.mark_helpers import escaped, in_lines
from paribus._display.text import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

DURATIONS = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0}  # in seconds
LONG = 40  # letters of a line of a name
TURNED = 18  # letters along the axis of categories that stand side by side; more of them are written upwards


def in_text(name: str) -> str:
    """Return a name in lines that leave room for a panel, without signs that cannot be drawn."""
    return in_lines(printable(name), lambda line: LONG, break_words=True)


def names_of(levels: Array) -> Array:
    """Return categories as people read them, so that matplotlib writes them as they are."""
    words = []
    for level in levels.tolist():
        whole = isinstance(level, float) and level.is_integer()
        words.append(escaped(in_text(str(int(level) if whole else level))))
    return np.array(words, dtype=object)


def longest(names: Iterable[str]) -> int:
    """Return the letters of the longest line among names."""
    return max((len(line) for name in names for line in name.split("\n")), default=0)


def write_names(ax: Axes, names: Sequence[str]) -> None:
    """Write the names of features along axes as they are, and never as a formula."""
    for label in (ax.xaxis.label, ax.yaxis.label):
        if label.get_text() in names:
            label.set_text(in_text(label.get_text()))
            label.set_parse_math(False)


def write_levels(ax: Axes, levels: Array) -> None:
    """Write the names of categories side by side if there is room, else upwards."""
    letters = longest(names_of(levels)) * len(levels)
    ax.tick_params(axis="x", rotation=90 if letters > TURNED else 0)


def readable_dates(axis: Axis, values: Array) -> None:
    """Write dates as dates, and times that pass in one of their units."""
    if values.dtype.kind == "m":
        _write_durations(axis, values)
    if values.dtype.kind != "M":
        return
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    locator = AutoDateLocator(maxticks=5)  # type: ignore[no-untyped-call]
    axis.set_major_locator(locator)
    axis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]


def _write_durations(axis: Axis, values: Array) -> None:
    """Write whole days, hours, minutes or seconds, whichever is the longest that fits a few times."""
    from matplotlib.ticker import MaxNLocator

    second = np.timedelta64(1, "s") / np.ones(1, values.dtype)[0]
    seconds = values.astype(np.int64) / second
    name, unit = next(
        (one for one in DURATIONS.items() if np.ptp(seconds) >= 3 * one[1]), ("s", DURATIONS["s"])
    )
    ticks = MaxNLocator(5).tick_values(seconds.min() / unit, seconds.max() / unit)
    inside = ticks[(ticks >= seconds.min() / unit) & (ticks <= seconds.max() / unit)]
    axis.set_ticks(inside * unit * second, [f"{tick:g} {name}" for tick in inside])
