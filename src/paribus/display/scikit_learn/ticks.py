"""Words along an axis: names of levels, dates and durations."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paribus.contracts import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

DURATIONS = {"d": 86_400.0, "h": 3_600.0, "min": 60.0, "s": 1.0}  # in seconds
TURNED = 18  # letters along the axis of levels that stand side by side; more of them are written upwards


def names_of(levels: Array) -> Array:
    """Return levels as people read them; a dollar sign does not begin a formula."""
    words = []
    for level in levels.tolist():
        whole = isinstance(level, float) and level.is_integer()
        words.append(str(int(level) if whole else level).replace("$", r"\$"))
    return np.array(words, dtype=object)


def write_levels(ax: Axes, levels: Array) -> None:
    """Write the names of levels side by side if there is room, else upwards."""
    letters = max(map(len, names_of(levels)), default=0) * len(levels)
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
