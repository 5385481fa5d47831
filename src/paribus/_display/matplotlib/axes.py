"""The sides of a panel: their ends, ticks and labels."""

from __future__ import annotations

import re
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.ticker import AutoLocator, FixedFormatter, FixedLocator, NullLocator, ScalarFormatter

from paribus._display.figure import PanelAxis
from paribus._display.mark_helpers import escaped
from paribus._display.matplotlib.marks import SMALLEST, folded
from paribus._display.text_width import text_width

Along: TypeAlias = Literal["x", "y"]
TURNED = 0.6  # of the usual size: words that would have to be smaller are written upwards
BINS = {"x": 9, "y": 7}  # between ticks, at most
NOTHING = (np.inf, -np.inf)  # where something reaches that is not there
THOUSANDS = re.compile(r"(?<=\d)(?=(\d{3})+$)")


class NumberFormatter(ScalarFormatter):
    """Write each number in full, large and small ones with their power of ten.

    matplotlib writes a power once at the end of the axis, where panels stand beside ours. Thousands are apart
    from ten of them on, as numbers of four digits may be years.
    """

    def __init__(self) -> None:
        super().__init__(useOffset=False, useMathText=False, useLocale=False)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return a number as it stands at its tick."""
        text, power = super().__call__(x, pos), super().get_offset()
        if power:
            return f"{text}{power.removeprefix('1')}" if x and text else "0"
        whole, point, part = text.partition(".")
        return (THOUSANDS.sub(",", whole) if abs(x) >= 1e4 else whole) + point + part

    def get_offset(self) -> str:
        """Return what stands at the end of the axis: nothing."""
        return ""


class NumberLocator(AutoLocator):
    """Round numbers, as many as have room for their labels of so many ``points``.

    ``start`` is the share of the axis that has no ticks: there is room for the data, not for values. Ticks of
    ``integers`` are integers. ``legend`` is where an axis ends that has room for a legend, and where that
    room begins, in which there are no ticks either.
    """

    def __init__(self, points: float, start: float, *, integers: bool) -> None:
        super().__init__()
        self.set_params(integer=integers)
        self.points, self.start = points, start
        self.legend: tuple[float, float] | None = None

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks of an axis from one end to another."""
        start, stop = vmin + self.start * (vmax - vmin), vmax
        if self.legend is not None and vmax == self.legend[0]:
            stop = self.legend[1]
        low, high = min(start, stop), max(start, stop)
        hardly = 1e-9 * (high - low)
        side: Any = self.axis
        for bins in range(BINS[side.axis_name], 0, -1):
            self.set_params(nbins=bins, min_n_ticks=min(2, bins))
            ticks = np.asarray(super().tick_values(low, high))
            ticks = ticks[(ticks >= low - hardly) & (ticks <= high + hardly)]
            if self._have_room(ticks, abs(vmax - vmin)):
                break
        return ticks

    def _have_room(self, ticks: Any, span: float) -> bool:
        """Return whether labels are apart; matplotlib assumes that all are as wide as three digits."""
        side: Any = self.axis
        if len(ticks) < 2:
            return True
        box = side.axes.get_window_extent()
        pixels, em = box.height, 1.5
        if side.axis_name == "x":
            pixels, em = box.width, 1 + max(map(text_width, side.get_major_formatter().format_ticks(ticks)))
        return bool(pixels / side.axes.figure.dpi * (ticks[1] - ticks[0]) / span >= em * self.points / 72)


def draw_axis(
    ax: Axes, axis: PanelAxis, along: Along, inches: float, before: dict[Along, tuple[float, float]]
) -> None:
    """Give one side of a panel, so many inches long, its ends, ticks and label; what somebody wrote stays.

    ``before`` is where the data reached that axes showed before.
    """
    side = ax.xaxis if along == "x" else ax.yaxis
    size, turned = _tick_size(axis, along, inches)
    _set_ticks(side, axis, size, inches, shown=bool(before))
    ax.tick_params(axis=along, labelsize=size, **({"labelrotation": 90} if turned else {}))
    if not axis.numbers:  # dates have a year at the end of the axis, which belongs to the numbers
        ax.tick_params(axis=along, labelbottom=False, labelleft=False)
        side.get_offset_text().set_visible(False)
    _set_ends(ax, axis, along, before.get(along, NOTHING))
    if axis.label and not side.get_label_text():
        side.set_label_text(along_inches(axis.label, inches))


def along_inches(text: str, inches: float) -> str:
    """Return a label in as many lines as it needs to be no longer than its axis."""
    return folded(text, 72 * inches / float(rcParams["font.size"]))


def _tick_size(axis: PanelAxis, along: Along, inches: float) -> tuple[float, bool]:
    """Return the points of tick labels, fewer when many are side by side, and whether they are turned."""
    usual = 0.9 * float(rcParams["font.size"])
    if not axis.ticks:
        return usual, axis.turned
    upright = 72 * inches / (1.25 * len(axis.ticks))
    across = 72 * inches / sum(1 + text_width(label) for _, label in axis.ticks)
    turned = axis.turned or (along == "x" and across < min(TURNED * usual, upright))
    return max(SMALLEST, min(usual, upright if turned or along == "y" else across)), turned


def _set_ticks(side: Any, axis: PanelAxis, size: float, inches: float, *, shown: bool) -> None:
    """Set where ticks are and what they say, by no means that would move the ends of the axis."""
    if axis.scale == "none":
        side.set_major_locator(NullLocator())
    elif axis.ticks is not None:
        side.set_major_locator(FixedLocator([at for at, _ in axis.ticks]))
        side.set_major_formatter(FixedFormatter([escaped(label) for _, label in axis.ticks]))
    elif axis.scale == "date":
        most = int(np.clip(72 * inches / (3.5 * size), 3, 7))  # a year takes two and a half em
        dates = AutoDateLocator(minticks=min(3, most - 1), maxticks=most)  # type: ignore[no-untyped-call]
        side.set_major_locator(dates)
        side.set_major_formatter(ConciseDateFormatter(dates))  # type: ignore[no-untyped-call]
    elif side.get_scale() == "linear" and side.isDefault_majloc:
        side.set_major_locator(NumberLocator(size, _share_below(axis), integers=axis.integers))
        if side.isDefault_majfmt and not shown:
            side.set_major_formatter(NumberFormatter())


def _share_below(axis: PanelAxis) -> float:
    """Return the share of an axis below its first tick, which it keeps whatever it shows later."""
    if axis.tick_low is None or axis.low is None or axis.high is None or axis.high <= axis.low:
        return 0.0
    return (axis.tick_low - axis.low) / (axis.high - axis.low)


def reach(ax: Axes) -> dict[Along, tuple[float, float]]:
    """Return where the data of axes lies along both sides, if they show any."""
    if not ax.has_data():
        return {}
    return {"x": tuple(ax.dataLim.intervalx), "y": tuple(ax.dataLim.intervaly)}


def _set_ends(ax: Axes, axis: PanelAxis, along: Along, before: tuple[float, float]) -> None:
    """Let an axis show what it showed and what the panel is to show.

    Ends count as data that has no margin, and are not set: what is drawn later, or on axes that share this
    one, makes it longer, and ends that somebody has set stay.
    """
    planned = [end for end in (axis.low, axis.high) if end is not None]
    drawn = [*ax.texts, *ax.patches, *ax.lines, *ax.collections]
    if planned and drawn:
        low, high = getattr(ax.dataLim, f"interval{along}")
        low, high = low if axis.low is None else axis.low, high if axis.high is None else axis.high
        known = [end for end in (low, high, *before) if np.isfinite(end)]
        setattr(ax.dataLim, f"interval{along}", (min(known), max(known)))
        getattr(drawn[-1].sticky_edges, along).extend(planned)
    ax.autoscale_view()


def follow(ax: Axes, axis: PanelAxis, along: Along) -> None:
    """Let axes beside a panel follow its ends, where the panel's own are planned."""
    if axis.low is not None or axis.high is not None:
        setattr(ax.dataLim, f"interval{along}", NOTHING)
        ax.autoscale_view()
