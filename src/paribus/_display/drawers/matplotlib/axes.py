"""The sides of a panel: their ends, ticks and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from paribus._display.drawers.matplotlib.colors import LETTER, SMALLEST, escaped, words_along
from paribus._display.drawers.matplotlib.geometry import PanelSize
from paribus._display.figure import PanelAxis
from paribus._display.style import BELOW

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Along: TypeAlias = Literal["x", "y"]
TURNED = 0.6  # of the usual letters: words that would have to be smaller are written upwards
NOTHING = (np.inf, -np.inf)  # where something reaches that is not there


def draw_axis(
    ax: Axes,
    axis: PanelAxis,
    along: Along,
    place: PanelSize,
    before: dict[Along, tuple[float, float]],
    *,
    strip: bool,
) -> None:
    """Give one side of a panel its ends, ticks and label; what somebody wrote there stays.

    ``before`` is where the data reached that axes showed before, ``strip`` whether data lies along the axis'
    start.
    """
    side = ax.xaxis if along == "x" else ax.yaxis
    size, turned = _tick_size(axis, along, place)
    _draw_ticks(ax, axis, along, size, shown=bool(before), strip=strip)
    ax.tick_params(
        axis=along,
        labelsize=size,
        **({"labelrotation": 90} if turned else {}),
        **({} if axis.numbers else {f"label{'bottom' if along == 'x' else 'left'}": False}),
    )
    if not axis.numbers:  # dates have a year at the end of the axis, which belongs to the numbers
        side.get_offset_text().set_visible(False)
    _ends(ax, axis, along, before.get(along, NOTHING))
    if axis.label and not side.get_label_text():
        side.set_label_text(words_along(axis.label, place.width if along == "x" else place.height))


def _draw_ticks(ax: Axes, axis: PanelAxis, along: Along, size: float, *, shown: bool, strip: bool) -> None:
    """Set where ticks are and what they say, by no means that would move the ends of the axis."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    from paribus._display.drawers.matplotlib.tick_formats import (
        PlainFormatter,
        RoundDateLocator,
        RoundLocator,
    )

    side = ax.xaxis if along == "x" else ax.yaxis
    ticks = axis.ticks or ()
    ends = None if axis.low is None or axis.high is None else (axis.low, axis.high)
    if axis.scale == "none":
        side.set_major_locator(NullLocator())
    elif axis.scale == "date":
        from matplotlib.dates import ConciseDateFormatter

        dates = RoundDateLocator(size)
        side.set_major_locator(dates)
        side.set_major_formatter(ConciseDateFormatter(dates))  # type: ignore[no-untyped-call]
    elif axis.ticks is not None and (axis.scale == "category" or ends is None):
        side.set_major_locator(FixedLocator([at for at, _ in ticks]))
        side.set_major_formatter(FixedFormatter([escaped(word) for _, word in ticks]))
    elif side.get_scale() == "linear" and side.isDefault_majloc:
        below = BELOW / (1 + BELOW) if strip else 0.0
        side.set_major_locator(RoundLocator(size, [at for at, _ in ticks], ends, below))
        if side.isDefault_majfmt and (ticks or not shown):
            side.set_major_formatter(PlainFormatter((at, escaped(word)) for at, word in ticks))


def reach(ax: Axes) -> dict[Along, tuple[float, float]]:
    """Return where the data of axes lies along both sides, if they show any."""
    if not ax.has_data():
        return {}
    return {"x": tuple(ax.dataLim.intervalx), "y": tuple(ax.dataLim.intervaly)}


def _ends(ax: Axes, axis: PanelAxis, along: Along, before: tuple[float, float]) -> None:
    """Let an axis show what it showed and what the panel is to show.

    Ends count as data that has no margin, and are not set: what is drawn later, or on axes that share this
    one, makes it longer, and ends that somebody has set stay.
    """
    interval = f"interval{along}"
    planned = [end for end in (axis.low, axis.high) if end is not None]
    drawn = [*ax.texts, *ax.patches, *ax.lines, *ax.collections]
    if planned and drawn:
        now = getattr(ax.dataLim, interval)
        low = min(now) if axis.low is None else axis.low
        high = max(now) if axis.high is None else axis.high
        known = [end for end in (low, high, *before) if np.isfinite(end)]
        setattr(ax.dataLim, interval, (min(known), max(known)))
        getattr(drawn[-1].sticky_edges, along).extend(planned)
    ax.autoscale_view()


def follow(ax: Axes, axis: PanelAxis, along: Along) -> None:
    """Let axes beside a panel follow its ends, where the panel's own are planned."""
    if axis.low is not None or axis.high is not None:
        setattr(ax.dataLim, f"interval{along}", NOTHING)
        ax.autoscale_view()


def _tick_size(axis: PanelAxis, along: Along, place: PanelSize) -> tuple[float, bool]:
    """Return the points of tick words, fewer when many are side by side, and whether they are turned."""
    from matplotlib import rcParams

    usual = 0.9 * float(rcParams["font.size"])
    if not axis.ticks:
        return usual, axis.turned
    points = 72 * (place.width if along == "x" else place.height)
    each = points / (1.25 * len(axis.ticks))
    if along == "y" or axis.turned:
        return max(SMALLEST, min(usual, each)), axis.turned
    size = points / sum(LETTER * (2 + max(map(len, word.split("\n")))) for _, word in axis.ticks)
    if size < TURNED * usual and each > size:
        return max(SMALLEST, min(usual, each)), True
    return max(SMALLEST, min(usual, size)), False
