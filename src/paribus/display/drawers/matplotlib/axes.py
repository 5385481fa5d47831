"""The sides of a panel: their ends, ticks and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from paribus.display.drawers.matplotlib.ink import LETTER, SMALLEST, escaped, words_along
from paribus.display.drawers.matplotlib.place import Place
from paribus.display.figure import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_axis(
    ax: Axes, axis: Axis, along: Literal["x", "y"], place: Place, before: dict[str, tuple[float, float]]
) -> None:
    """Give one side of a panel its ends, ticks and label; what somebody wrote there stays."""
    side = ax.xaxis if along == "x" else ax.yaxis
    if axis.scale == "none":
        side.set_ticks([])
    elif axis.ticks is not None:
        side.set_ticks([at for at, _ in axis.ticks], [escaped(word) for _, word in axis.ticks])
    elif axis.scale == "date":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        side.set_major_locator(locator)
        side.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif axis.scale == "number" and side.isDefault_majfmt and not before:
        from paribus.display.drawers.matplotlib.numbers import WholeNumbers

        side.set_major_formatter(WholeNumbers())
    ax.tick_params(
        axis=along,
        labelsize=_tick_size(axis, along, place),
        **({"labelrotation": 90} if axis.turned else {}),
        **({} if axis.numbers else {f"label{'bottom' if along == 'x' else 'left'}": False}),
    )
    if not axis.numbers:  # dates have a year at the end of the axis, which belongs to the numbers
        side.get_offset_text().set_visible(False)
    _ends(ax, axis, along, before.get(along))
    if axis.label and not side.get_label_text():
        side.set_label_text(words_along(axis.label, place.width if along == "x" else place.height))


def limits(ax: Axes) -> dict[str, tuple[float, float]]:
    """Return the ends of both sides, as they are."""
    return {"x": ax.get_xlim(), "y": ax.get_ylim()}


def _ends(ax: Axes, axis: Axis, along: Literal["x", "y"], before: tuple[float, float] | None) -> None:
    """Set the ends of an axis; on one that showed something, both can be seen."""
    free = ax.get_autoscalex_on() if along == "x" else ax.get_autoscaley_on()
    if before is None and not free:
        return  # somebody has set them for what was to come
    ax.autoscale_view()
    now = limits(ax)[along]
    if not free:
        now = tuple(getattr(ax.dataLim, f"interval{along}"))
    low = min(now) if axis.low is None else axis.low
    high = max(now) if axis.high is None else axis.high
    if before is not None:
        low, high = min(low, *before), max(high, *before)
        if before[0] > before[1]:
            low, high = high, low
    if before is not None or axis.low is not None or axis.high is not None:
        (ax.set_xlim if along == "x" else ax.set_ylim)(low, high)


def _tick_size(axis: Axis, along: Literal["x", "y"], place: Place) -> float:
    """Return the points of tick words: fewer when many have to stand beside each other."""
    from matplotlib import rcParams

    usual = 0.9 * float(rcParams["font.size"])
    if not axis.ticks:
        return usual
    points = 72 * (place.width if along == "x" else place.height)
    if (along == "x") == axis.turned or along == "y":
        taken = 1.25 * len(axis.ticks)
    else:
        taken = sum(LETTER * (2 + max(map(len, word.split("\n")))) for _, word in axis.ticks)
    return max(SMALLEST, min(usual, points / taken))
