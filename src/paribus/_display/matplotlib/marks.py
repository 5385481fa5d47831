"""Marks and axes in matplotlib."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection, QuadMesh
from matplotlib.colors import LinearSegmentedColormap, to_rgba
from matplotlib.contour import ContourSet
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.patheffects import withStroke
from matplotlib.text import Text as TextArtist
from matplotlib.ticker import AutoLocator, FixedFormatter, FixedLocator, NullLocator, ScalarFormatter

from paribus._contracts import Floats
from paribus._display.figure import (
    Band,
    Bars,
    Contours,
    Hatch,
    Heat,
    Line,
    Mark,
    PanelAxis,
    Points,
    Rug,
    Rule,
    Strip,
    Text,
)
from paribus._display.mark_helpers import (
    FONT,
    INK,
    TICK,
    alone,
    escaped,
    in_lines,
    is_light,
    lined_levels,
    strip_heights,
    with_thousands,
)
from paribus._display.text_width import text_width

Along: TypeAlias = Literal["x", "y"]
TURNED = 0.6  # of the usual font size: labels that would have to be smaller are rotated
BINS = {"x": 9, "y": 7}  # intervals between ticks, at most
NOTHING = (np.inf, -np.inf)  # the range of no data


class NumberFormatter(ScalarFormatter):
    """Formatter of ticks with the complete number at each tick, also its power of ten.

    matplotlib writes the power once at the end of the axis, where it would overlap narrow panels.
    """

    def __init__(self) -> None:
        super().__init__(useOffset=False, useMathText=False, useLocale=False)

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the text of a tick."""
        text, power = super().__call__(x, pos), super().get_offset()
        if power:
            return f"{text}{power.removeprefix('1')}" if x and text else "0"
        return with_thousands(text, x)

    def get_offset(self) -> str:
        """Return the text at the end of the axis, which is empty."""
        return ""


class NumberLocator(AutoLocator):
    """Locator of as many round numbers as have space for labels of a font size in ``points``.

    ``start`` is the share of the axis without ticks at its lower end, where the strip of data is. With
    ``integers`` ticks are integers. If an axis was extended for a legend, ``legend`` has its upper limit and
    that of its ticks.
    """

    def __init__(self, points: float, start: float, *, integers: bool) -> None:
        super().__init__()
        self.set_params(integer=integers)
        self.points, self.start = points, start
        self.legend: tuple[float, float] | None = None

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks of an axis between two limits."""
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
        """Return whether labels do not touch; matplotlib assumes that all are as wide as three digits."""
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
    """Set limits, ticks and label of one axis of a length in ``inches``; an existing label stays.

    ``before`` has the range of the data that the axes showed before, along x and y.
    """
    side: Any = ax.xaxis if along == "x" else ax.yaxis
    size, turned = _tick_size(axis, along, inches)
    if axis.scale == "none":
        side.set_major_locator(NullLocator())
    elif axis.ticks is not None:
        side.set_major_locator(FixedLocator([at for at, _ in axis.ticks]))
        side.set_major_formatter(FixedFormatter([escaped(label) for _, label in axis.ticks]))
    elif axis.scale == "date":
        most = int(np.clip(72 * inches / (3.4 * size), 3, 7))  # a year is two and a half em wide
        dates = AutoDateLocator(minticks=min(3, most - 1), maxticks=most)  # type: ignore[no-untyped-call]
        side.set_major_locator(dates)
        side.set_major_formatter(ConciseDateFormatter(dates))  # type: ignore[no-untyped-call]
    elif side.get_scale() == "linear" and side.isDefault_majloc:
        start = 0.0  # the share below the first tick, which stays the same if the limits change
        if axis.tick_low is not None and axis.low is not None and axis.high is not None:
            start = (axis.tick_low - axis.low) / (axis.high - axis.low) if axis.high > axis.low else 0.0
        side.set_major_locator(NumberLocator(size, start, integers=axis.integers))
        if side.isDefault_majfmt and not before:
            side.set_major_formatter(NumberFormatter())
    ax.tick_params(axis=along, labelsize=size, **({"labelrotation": 90} if turned else {}))
    if not axis.numbers:  # also hide the year at the end of an axis of dates
        ax.tick_params(axis=along, labelbottom=False, labelleft=False)
        side.get_offset_text().set_visible(False)
    _set_ends(ax, axis, along, before.get(along, NOTHING))
    if axis.label and not side.get_label_text():
        side.set_label_text(along_inches(axis.label, inches))


def along_inches(text: str, inches: float) -> str:
    """Return a label broken into lines at most as long as its axis."""
    return folded(text, 72 * inches / float(rcParams["font.size"]))


def _tick_size(axis: PanelAxis, along: Along, inches: float) -> tuple[float, bool]:
    """Return the font size of tick labels, smaller if there are many, and whether they are rotated."""
    usual = pixels(TICK)
    if not axis.ticks:
        return usual, axis.turned
    upright = 72 * inches / (1.25 * len(axis.ticks))
    across = 72 * inches / sum(1 + text_width(label) for _, label in axis.ticks)
    turned = axis.turned or (along == "x" and across < min(TURNED * usual, upright))
    return max(SMALLEST, min(usual, upright if turned or along == "y" else across)), turned


def reach(ax: Axes) -> dict[Along, tuple[float, float]]:
    """Return the range of the data of axes along x and y; empty if they show no data."""
    if not ax.has_data():
        return {}
    return {"x": tuple(ax.dataLim.intervalx), "y": tuple(ax.dataLim.intervaly)}


def _set_ends(ax: Axes, axis: PanelAxis, along: Along, before: tuple[float, float]) -> None:
    """Extend an axis from the data it showed ``before`` to the planned limits of the panel.

    Limits are registered as data with sticky edges rather than set. So later plots extend the axis, shared
    axes follow it, and limits set by the user stay.
    """
    planned = [end for end in (axis.low, axis.high) if end is not None]
    drawn = [*ax.texts, *ax.patches, *ax.lines, *ax.collections]
    if planned and drawn:
        low, high = getattr(ax.dataLim, f"interval{along}")
        low, high = low if axis.low is None else axis.low, high if axis.high is None else axis.high
        ends = [end for end in (low, high, *before) if np.isfinite(end)]
        setattr(ax.dataLim, f"interval{along}", (min(ends), max(ends)))
        getattr(drawn[-1].sticky_edges, along).extend(planned)
    ax.autoscale_view()


def follow(ax: Axes, axis: PanelAxis, along: Along) -> None:
    """Remove the data range of axes next to a panel, so that they follow its planned limits."""
    if axis.low is not None or axis.high is not None:
        setattr(ax.dataLim, f"interval{along}", NOTHING)
        ax.autoscale_view()


Color: TypeAlias = tuple[float, float, float, float]
SMALLEST = 5.0  # points of legible text
READABLE = 0.72  # smallest share of its size that text has in a shrunken panel
LEGEND_LINE = 36.0  # em of a line of a legend
RUG = 0.03  # height of a tick of the rug, as a share of the panel
DASH = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}
MARKER = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "X",
    "triangle": "^",
    "star": "*",
    "bar": "_",
    "dot": ".",
}


def rgba(name: str, alpha: float = 1.0) -> Color:
    """Return a color with an opacity; `INK` is the text color of the theme."""
    return to_rgba(rcParams["text.color"] if name == INK else name, alpha)


def ink(alpha: float = 1.0) -> Color:
    """Return the text color of the theme with an opacity."""
    return rgba(INK, alpha)


def scaled(points: float) -> float:
    """Return a size in points, scaled from a font size of ten to that of the theme."""
    return points * float(rcParams["font.size"]) / 10


def pixels(size: float) -> float:
    """Return the font size in points of one in pixels, scaled to the font size of the theme."""
    return scaled(size * 10 / FONT)


def _opacity(alpha: float) -> float:
    """Return an opacity, which is larger on a dark background."""
    return alpha if is_light(rgba(rcParams["axes.facecolor"])) else min(1.0, 1.75 * alpha)


def _contrasting_color(ground: Any) -> str:
    """Return black or white, whichever is more legible on a color."""
    return "black" if is_light(ground) else "white"


def folded(text: str, em: float) -> str:
    """Return escaped text, broken into lines at most ``em`` wide."""
    lines = in_lines(text, lambda line: max(12, int(em * len(line) / max(text_width(line), 1e-9))))
    return escaped(lines)


def _matplotlib_label(mark: Line | Band | Points | Bars | Hatch) -> str | None:
    """Return the legend label of a mark; matplotlib would hide one that starts with an underscore."""
    if mark.label is None:
        return None
    return folded(f" {mark.label}" if mark.label.startswith("_") else mark.label, LEGEND_LINE)


def _matplotlib_line(ax: Axes, mark: Line, zorder: float, scale: float) -> None:
    style: dict[str, Any] = {
        "color": rgba(mark.color),
        "linestyle": DASH[mark.dash],
        "linewidth": scale * mark.width,
        "drawstyle": "steps-post" if mark.steps else "default",
        "solid_capstyle": "butt",
        "dash_capstyle": "butt",
        "zorder": zorder,
    }
    ax.plot(mark.x, mark.y, alpha=_opacity(mark.alpha), label=_matplotlib_label(mark), **style)
    points = alone(np.isfinite(mark.y))
    if points:  # a line needs two points to be visible
        ax.plot(mark.x[points], mark.y[points], ".", color=style["color"], alpha=mark.alpha, zorder=zorder)


def _matplotlib_band(ax: Axes, mark: Band, zorder: float, scale: float) -> None:
    ax.fill_between(
        mark.x,
        mark.low,
        mark.high,
        step="post" if mark.steps else None,
        color=rgba(mark.color),
        alpha=_opacity(mark.alpha),
        linewidth=0,
        label=_matplotlib_label(mark),
        zorder=zorder,
    )


def _matplotlib_points(ax: Axes, mark: Points, zorder: float, scale: float) -> None:
    style: dict[str, Any] = {"color": rgba(mark.color), "alpha": mark.alpha, "zorder": zorder}
    if mark.error is not None:
        errors: Any = {f"{mark.error_along}err": mark.error}
        ax.errorbar(mark.x, mark.y, fmt="none", capsize=2.5, elinewidth=1.2, **errors, **style)
    # A bar is perpendicular to the measured axis.
    marker = "|" if mark.marker == "bar" and mark.error_along == "x" else MARKER[mark.marker]
    area = (scale * np.asarray(mark.size, dtype=float)) ** 2
    ax.scatter(mark.x, mark.y, area, marker=marker, label=_matplotlib_label(mark), **style)


def _matplotlib_bars(ax: Axes, mark: Bars, zorder: float, scale: float) -> None:
    colors = [mark.color] * len(mark.at) if isinstance(mark.color, str) else mark.color
    draw, errors = (ax.barh, "xerr") if mark.horizontal else (ax.bar, "yerr")
    style: dict[str, Any] = {
        errors: mark.error,
        "error_kw": {"ecolor": ink(0.8), "capsize": 2.5, "elinewidth": 1.0, "zorder": zorder},
        "color": [rgba(color) for color in colors],
        "alpha": mark.alpha,
        "label": _matplotlib_label(mark),
        "zorder": zorder,
    }
    base = np.zeros(len(mark.at)) if mark.base is None else mark.base
    draw(mark.at, mark.length, mark.width, base, **style)


def _matplotlib_strip(ax: Axes, mark: Strip, zorder: float, scale: float) -> None:
    # One collection, because there may be many bars; their heights are shares of the panel.
    tall = strip_heights(mark)
    corners = _rectangles(mark.at - mark.width / 2, mark.at + mark.width / 2, 0.0 * tall, tall)
    across = ax.get_xaxis_transform()
    if mark.along == "y":
        corners, across = corners[:, :, ::-1], ax.get_yaxis_transform()
    bars = PolyCollection(list(corners), facecolors=[ink(0.25)], zorder=zorder, transform=across)
    ax.add_collection(bars, autolim=False)
    ax.update_datalim(corners.reshape(-1, 2), updatex=mark.along == "x", updatey=mark.along == "y")


def _rectangles(left: Floats, right: Floats, low: Floats, high: Floats) -> Floats:
    """Return the corners ``(rectangles, 4, 2)`` of rectangles."""
    x, y = np.stack([left, right, right, left], axis=1), np.stack([low, low, high, high], axis=1)
    return np.stack([x, y], axis=2)


def _matplotlib_rug(ax: Axes, mark: Rug, zorder: float, scale: float) -> None:
    across = ax.get_xaxis_transform() if mark.along == "x" else ax.get_yaxis_transform()
    draw = ax.vlines if mark.along == "x" else ax.hlines
    ticks = draw(mark.at, 0.0, RUG, colors=[ink(0.7)], linewidths=1.0, zorder=zorder, transform=across)
    if any(isinstance(drawn, QuadMesh | ContourSet) for drawn in ax.collections):  # visible on all colors
        ticks.set_colors([ink()])
        ticks.set_path_effects([withStroke(linewidth=2.2, foreground=rgba(rcParams["axes.facecolor"], 0.8))])


def _matplotlib_rule(ax: Axes, mark: Rule, zorder: float, scale: float) -> None:
    across = ax.axhline if mark.along == "y" else ax.axvline
    across(mark.at, color=ink(0.55), linewidth=0.8, zorder=zorder)


def _matplotlib_text(ax: Axes, mark: Text, zorder: float, scale: float) -> None:
    ax.annotate(
        escaped(mark.text),
        (mark.x, mark.y),
        (scale * mark.offset[0], scale * mark.offset[1]),
        textcoords="offset points",
        ha=mark.align,
        va=mark.upright,
        rotation=mark.rotation,
        fontsize=max(READABLE, scale) * scaled(mark.size),
        color=rgba(mark.color),
        alpha=mark.alpha,
        zorder=zorder,
        annotation_clip=False,
    )
    ax.update_datalim([(mark.x, mark.y)])


def _matplotlib_heat(ax: Axes, mark: Heat, zorder: float, scale: float) -> Any:
    """Draw colored cells, and return the mappable of the color bar."""
    colors: Any = mark.colors
    if not isinstance(colors, str):
        colors = LinearSegmentedColormap.from_list("of the figure", list(colors))
    style: dict[str, Any] = {"cmap": colors, "vmin": mark.low, "vmax": mark.high, "zorder": zorder}
    drawn = ax.pcolormesh(mark.x_edges, mark.y_edges, np.ma.masked_invalid(mark.values), **style)
    # At least three em, so that two marks in one panel usually have the same font size.
    longest = max((text_width(word) for row in mark.written for word in row), default=0.0)
    cell = float(np.diff(mark.x_edges).min()), float(np.diff(mark.y_edges).min())
    x = (mark.x_edges[:-1] + mark.x_edges[1:]) / 2
    y = (mark.y_edges[:-1] + mark.y_edges[1:]) / 2
    for row, words in enumerate(mark.written):
        for column, word in enumerate(words):
            value = mark.values[row, column]
            color = ink() if np.isnan(value) else _contrasting_color(drawn.to_rgba(value))
            number = CellNumber(x[column], y[row], escaped(word), cell, max(3.0, longest))
            number.set(color=color, zorder=zorder)
            ax.add_artist(number)
    return drawn


class CellNumber(TextArtist):
    """A number in a cell, with a font size that fits into the cell; hidden if it would be illegible.

    ``cell`` is the width and height of the cell in units of the axes. ``longest`` is the width of the longest
    number in em, so all numbers have the same size.
    """

    def __init__(self, x: float, y: float, word: str, cell: tuple[float, float], longest: float) -> None:
        super().__init__(x, y, word, ha="center", va="center", clip_on=True)
        self.cell, self.longest = cell, longest

    def draw(self, renderer: Any) -> None:
        """Draw the number in the largest font size that fits the current size of the axes."""
        axes: Any = self.axes
        ends = axes.transData.transform(np.array([(0.0, 0.0), self.cell]))
        wide, high = np.abs(ends[1] - ends[0]) * 72 / axes.figure.dpi
        size = min(scaled(9), wide / (1.2 * self.longest), high / 1.4)
        if size >= SMALLEST:  # smaller numbers are left out
            self.set_fontsize(size)
            super().draw(renderer)


def _matplotlib_contours(ax: Axes, mark: Contours, zorder: float, scale: float) -> Any:
    """Draw filled contours with lines at every other level, and return the mappable of the color bar."""
    values = np.ma.masked_invalid(mark.values)
    least, most = float(values.min()), float(values.max())
    beyond = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    extend: Any = beyond[least < mark.levels[0], most > mark.levels[-1]]
    style: dict[str, Any] = {"extend": extend, "zorder": zorder}
    filled = ax.contourf(mark.x, mark.y, values, levels=mark.levels, cmap=mark.colors, **style)
    lined = lined_levels(mark)
    if lined:
        style = {
            "colors": [_contrasting_color(ground) for ground in filled.to_rgba(np.array(lined))],
            "linewidths": 0.6,
            "alpha": 0.7,
            "zorder": zorder,
        }
        lines = ax.contour(mark.x, mark.y, values, levels=lined, **style)
        ax.clabel(lines, fontsize=scaled(7.5), fmt=_short_number, zorder=zorder)
    return filled


def _short_number(value: float) -> str:
    """Return the label of a contour in three digits, with a short power of ten."""
    digits, _, power = f"{value:.3g}".partition("e")
    return (f"{digits}e{int(power)}" if power else digits).replace("-", "\N{MINUS SIGN}")


def _matplotlib_hatch(ax: Axes, mark: Hatch, zorder: float, scale: float) -> None:
    """Draw hatched cells."""
    row, column = np.nonzero(mark.mask)
    sides = mark.x_edges[column], mark.x_edges[column + 1], mark.y_edges[row], mark.y_edges[row + 1]
    cells = PolyCollection(
        list(_rectangles(*sides)),
        # A translucent fill makes the hatching visible on dark colors.
        facecolors=[rgba(rcParams["axes.facecolor"], 0.5)],
        edgecolors=[ink(0.55)],
        linewidths=0,
        hatch="////",
        antialiaseds=False,
        label=_matplotlib_label(mark) if len(row) else None,
        zorder=zorder,
    )
    ax.add_collection(cells)


DRAW: dict[type[Mark], Callable[[Axes, Any, float, float], Any]] = {
    Line: _matplotlib_line,
    Band: _matplotlib_band,
    Points: _matplotlib_points,
    Bars: _matplotlib_bars,
    Strip: _matplotlib_strip,
    Rug: _matplotlib_rug,
    Heat: _matplotlib_heat,
    Contours: _matplotlib_contours,
    Hatch: _matplotlib_hatch,
    Rule: _matplotlib_rule,
    Text: _matplotlib_text,
}
