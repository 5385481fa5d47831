"""Marks become matplotlib's artists: a pen for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from paribus._contracts import Floats
from paribus._display.drawers.matplotlib.colors import escaped, ink, rgba, said_in_legend, scaled, veil
from paribus._display.drawers.matplotlib.geometry import PanelSize
from paribus._display.drawers.matplotlib.heatmaps import draw_contours, draw_hatch, draw_heat, is_covered
from paribus._display.figure import (
    Band,
    Bars,
    Contours,
    Hatch,
    Heat,
    Line,
    Mark,
    Points,
    Rug,
    Rule,
    Strip,
    Text,
)
from paribus._display.mark_helpers import faded, strip_heights
from paribus._display.runs import alone

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection

READ = 0.72  # of their size that words have at least in a picture that is drawn smaller than planned
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


def _line(ax: Axes, mark: Line, zorder: float, place: PanelSize) -> None:
    style: dict[str, Any] = {
        "color": rgba(mark.color),
        "linestyle": DASH[mark.dash],
        "linewidth": place.scale * mark.width,
        "drawstyle": "steps-post" if mark.steps else "default",
        # Ends that reach beyond their point would lie twice where runs join.
        "solid_capstyle": "butt",
        "dash_capstyle": "butt",
        "zorder": zorder,
    }
    runs = faded(mark)
    strongest = max((share for _, _, share in runs), default=0.0)
    label = said_in_legend(mark)
    for first, last, share in runs:
        told = label if share == strongest else None
        ax.plot(
            mark.x[first : last + 1],
            mark.y[first : last + 1],
            alpha=veil(mark.alpha) * share,
            label=told,
            **style,
        )
        label = None if told else label
    points = alone(np.isfinite(mark.y))
    if points:  # a line between fewer than two points cannot be seen
        ax.plot(mark.x[points], mark.y[points], ".", color=style["color"], alpha=mark.alpha, zorder=zorder)


def _band(ax: Axes, mark: Band, zorder: float, place: PanelSize) -> None:
    ax.fill_between(
        mark.x,
        mark.low,
        mark.high,
        step="post" if mark.steps else None,
        color=rgba(mark.color),
        alpha=veil(mark.alpha),
        linewidth=0,
        label=said_in_legend(mark),
        zorder=zorder,
    )


def _points(ax: Axes, mark: Points, zorder: float, place: PanelSize) -> None:
    color = rgba(mark.color)
    if mark.error is not None:
        ax.errorbar(
            mark.x,
            mark.y,
            fmt="none",
            ecolor=color,
            alpha=mark.alpha,
            capsize=2.5,
            elinewidth=1.2,
            zorder=zorder,
            xerr=mark.error if mark.error_along == "x" else None,
            yerr=mark.error if mark.error_along == "y" else None,
        )
    # A bar lies across what is measured.
    marker = "|" if mark.marker == "bar" and mark.error_along == "x" else MARKER[mark.marker]
    ax.scatter(
        mark.x,
        mark.y,
        s=(place.scale * np.asarray(mark.size, dtype=float)) ** 2,
        color=color,
        alpha=mark.alpha,
        marker=marker,
        label=said_in_legend(mark),
        zorder=zorder,
    )


def _bars(ax: Axes, mark: Bars, zorder: float, place: PanelSize) -> None:
    colors = [mark.color] * len(mark.at) if isinstance(mark.color, str) else mark.color
    base = np.zeros(len(mark.at)) if mark.base is None else mark.base
    style: dict[str, Any] = {
        "color": [rgba(color) for color in colors],
        "alpha": mark.alpha,
        "label": said_in_legend(mark),
        "zorder": zorder,
    }
    whiskers: dict[str, Any] = {"fmt": "none", "ecolor": ink(0.8), "capsize": 2.5, "elinewidth": 1.0}
    if mark.horizontal:
        ax.barh(mark.at, mark.length, mark.width, left=base, **style)
        if mark.error is not None:
            ax.errorbar(base + mark.length, mark.at, xerr=mark.error, zorder=zorder, **whiskers)
        return
    ax.bar(mark.at, mark.length, mark.width, bottom=base, **style)
    if mark.error is not None:
        ax.errorbar(mark.at, base + mark.length, yerr=mark.error, zorder=zorder, **whiskers)


def _strip(ax: Axes, mark: Strip, zorder: float, place: PanelSize) -> None:
    from matplotlib.collections import PolyCollection

    tall = strip_heights(mark)
    low, high, zero = mark.at - mark.width / 2, mark.at + mark.width / 2, np.zeros_like(tall)
    along = np.stack([low, high, high, low], axis=1)
    shapes = _facing(mark.along, along, np.stack([zero, zero, tall, tall], axis=1))
    _add_at_edge(ax, mark.along, shapes, PolyCollection(list(shapes), facecolors=[ink(0.25)], zorder=zorder))


def _rug(ax: Axes, mark: Rug, zorder: float, place: PanelSize) -> None:
    from matplotlib import rcParams
    from matplotlib.collections import LineCollection
    from matplotlib.patheffects import withStroke

    along = np.stack([mark.at, mark.at], axis=1)
    shapes = _facing(mark.along, along, np.tile([0.0, RUG], (len(mark.at), 1)))
    ticks = LineCollection(list(shapes), colors=[ink(0.7)], linewidths=1.0, zorder=zorder)
    if is_covered(ax):
        ticks.set_colors([ink()])
        ticks.set_path_effects([withStroke(linewidth=2.2, foreground=rgba(rcParams["axes.facecolor"], 0.8))])
    _add_at_edge(ax, mark.along, shapes, ticks)


def _facing(side: Literal["x", "y"], along: Floats, across: Floats) -> Floats:
    """Return corners (shapes, corners, 2) from positions along one axis and shares across the panel."""
    return np.stack([along, across] if side == "x" else [across, along], axis=2)


def _add_at_edge(ax: Axes, side: Literal["x", "y"], shapes: Floats, drawn: Collection) -> None:
    """Add shapes whose positions are values of one axis, and whose heights are shares of the panel."""
    drawn.set_transform(ax.get_xaxis_transform() if side == "x" else ax.get_yaxis_transform())
    ax.add_collection(drawn, autolim=False)
    ax.update_datalim(shapes.reshape(-1, 2), updatex=side == "x", updatey=side == "y")
    ax.autoscale_view()


def _rule(ax: Axes, mark: Rule, zorder: float, place: PanelSize) -> None:
    across = ax.axhline if mark.along == "y" else ax.axvline
    across(mark.at, color=ink(0.55), linewidth=0.8, zorder=zorder)


def _text(ax: Axes, mark: Text, zorder: float, place: PanelSize) -> None:
    ax.annotate(
        escaped(mark.text),
        (mark.x, mark.y),
        (place.scale * mark.offset[0], place.scale * mark.offset[1]),
        textcoords="offset points",
        ha=mark.align,
        va=mark.upright,
        rotation=mark.rotation,
        fontsize=max(READ, place.scale) * scaled(mark.size),
        color=rgba(mark.color),
        alpha=mark.alpha,
        zorder=zorder,
        annotation_clip=False,
    )
    ax.update_datalim([(mark.x, mark.y)])
    ax.autoscale_view()


PENS: dict[type[Mark], Callable[[Axes, Any, float, PanelSize], Any]] = {
    Line: _line,
    Band: _band,
    Points: _points,
    Bars: _bars,
    Strip: _strip,
    Rug: _rug,
    Heat: draw_heat,
    Contours: draw_contours,
    Hatch: draw_hatch,
    Rule: _rule,
    Text: _text,
}
