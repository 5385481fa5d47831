"""Marks become plotly's traces, shapes and annotations: a pen for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._display import style
from paribus._display.drawers.plotly.axes import lengths, place_at, places
from paribus._display.drawers.plotly.colors import INK, rgba
from paribus._display.drawers.plotly.geometry import POINT, Spec, Way
from paribus._display.drawers.plotly.heatmaps import draw_contours, draw_hatch, draw_heat, fill_outlines
from paribus._display.drawers.plotly.hover_text import escaped, hover
from paribus._display.drawers.plotly.panel_context import PanelContext
from paribus._display.figure import (
    Band,
    Bars,
    Contours,
    Hatch,
    Heat,
    Line,
    PanelAxis,
    Points,
    Rug,
    Rule,
    Strip,
    Text,
)
from paribus._display.mark_helpers import faded, strip_heights
from paribus._display.runs import alone, stretches

DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot", "dashdot": "dashdot"}
MARKERS = {
    "circle": "circle",
    "square": "square",
    "diamond": "diamond",
    "cross": "x",
    "triangle": "triangle-up",
    "star": "star",
    "bar": "line-ew",
    "dot": "circle",
}


def _line(mark: Line, frame: PanelContext) -> None:
    pieces = _strengths(mark)
    strongest = max(pieces)
    shape = "hv" if mark.steps else "linear"
    style = {"width": mark.width * POINT, "dash": DASHES[mark.dash], "shape": shape, "simplify": False}
    for strength, joined in pieces.items():
        told = [mark.hover[point] if point >= 0 else "" for point in joined] if mark.hover else ()
        spec = {
            "type": "scatter",
            "mode": "lines",
            "x": places(mark.x[joined], frame.x),
            "y": places(np.where(joined >= 0, mark.y[joined], np.nan), frame.y),
            "line": style | {"color": rgba(mark.color, mark.alpha * strength)},
        }
        frame.add(mark, spec | hover(told), mark.label, mark.color, strength == strongest)
    points = alone(np.isfinite(mark.y))
    if points:  # a line between fewer than two points cannot be seen
        spec = {
            "type": "scatter",
            "mode": "markers",
            "x": places(mark.x[points], frame.x),
            "y": places(mark.y[points], frame.y),
            "marker": {"color": rgba(mark.color, mark.alpha), "size": 3 * POINT},
        }
        frame.add(mark, spec | {"hoverinfo": "skip"}, mark.label, mark.color, explains=False)


def _strengths(mark: Line) -> dict[float, Integers]:
    """Return shares of color and the points joined with them, -1 between pieces: each is a trace."""
    joined: dict[float, list[int]] = {}
    for first, last, share in faded(mark):
        before = joined.setdefault(share, [])
        before += [*([-1] if before else []), *range(first, last + 1)]
    return {share: np.array(joined[share], dtype=np.int64) for share in sorted(joined)}


def _band(mark: Band, frame: PanelContext) -> None:
    x, low, high = mark.x, mark.low, mark.high
    if mark.steps:  # a height holds until the next point
        x, low, high = np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
    outlines = [
        (np.append(x[run], x[run][::-1]), np.append(low[run], high[run][::-1]))
        for run in stretches(np.isfinite(low + high))
    ]
    fill_outlines(mark, frame, outlines, {"fillcolor": rgba(mark.color, mark.alpha)}, mark.color)


def _points(mark: Points, frame: PanelContext) -> None:
    size = np.asarray(mark.size) * (0.5 if mark.marker == "dot" else 1.0) * POINT
    color = rgba(mark.color, mark.alpha)
    spec = {
        "type": "scatter",
        "mode": "markers",
        "x": places(mark.x, frame.x),
        "y": places(mark.y, frame.y),
        "cliponaxis": False,
        "marker": {
            "symbol": "line-ns" if mark.marker == "bar" and mark.error_along == "x" else MARKERS[mark.marker],
            "size": size if size.ndim else float(size),
            "color": color,
            "opacity": 1.0,
            "line": {"color": color, "width": 2.0 if mark.marker == "bar" else 0.0},
        },
    }
    axis = frame.x if mark.error_along == "x" else frame.y
    spec |= _error(mark.error, mark.error_along, axis, color)
    frame.add(mark, spec | hover(mark.hover), mark.label, mark.color)


def _error(error: Floats | None, along: Way, axis: PanelAxis, color: str) -> Spec:
    if error is None:
        return {}
    style = {"color": color, "thickness": 1.6, "width": 3}
    return {f"error_{along}": style | {"type": "data", "array": lengths(error, axis)}}


def _bars(mark: Bars, frame: PanelContext) -> None:
    ends: Way
    stand, ends = ("y", "x") if mark.horizontal else ("x", "y")
    axes = {"x": frame.x, "y": frame.y}
    one = mark.color if isinstance(mark.color, str) else None
    spec = {
        "type": "bar",
        "orientation": "h" if mark.horizontal else "v",
        stand: places(mark.at, axes[stand]),
        ends: lengths(mark.length, axes[ends]),
        "width": lengths(mark.width, axes[stand]),
        "marker": {
            "color": rgba(one, mark.alpha) if one else [rgba(color, mark.alpha) for color in mark.color],
            "line": {"width": 0},
        },
    }
    if mark.base is not None:
        spec["base"] = places(mark.base, axes[ends])
    spec |= _error(mark.error, ends, axes[ends], INK)
    frame.add(mark, spec | hover(mark.hover), mark.label, mark.color)


def _strip(mark: Strip, frame: PanelContext) -> None:
    upright = mark.along == "x"
    axis = frame.x if upright else frame.y
    spec: Spec = {
        "type": "bar",
        "orientation": "v" if upright else "h",
        mark.along: places(mark.at, axis),
        "y" if upright else "x": strip_heights(mark),
        "width": lengths(mark.width, axis),
        "marker": {"color": rgba(INK, 0.45), "line": {"width": 0}},
        **frame.edge(mark.along),
    }
    if not frame.covered:
        spec["zorder"] = -1  # its axis lies over the panel's, and the curves should lie over it
    frame.add(mark, spec | hover(mark.hover))


def _rug(mark: Rug, frame: PanelContext) -> None:
    upright = mark.along == "x"
    spec = {
        "type": "scatter",
        "mode": "markers",
        mark.along: places(mark.at, frame.x if upright else frame.y),
        "y" if upright else "x": np.zeros(len(mark.at)),  # the outer half is clipped
        "marker": {
            "symbol": "line-ns" if upright else "line-ew",
            "size": 14,
            "line": {"color": INK, "width": 1.4},
        },
        **frame.edge(mark.along),
    }
    frame.add(mark, spec | hover(mark.hover))


def _rule(mark: Rule, frame: PanelContext) -> None:
    axis, other = ("y", "x") if mark.along == "y" else ("x", "y")
    at = place_at(mark.at, frame.y if mark.along == "y" else frame.x)
    frame.page.shapes.append(
        {
            "type": "line",
            f"{axis}ref": frame.names[mark.along],
            f"{axis}0": at,
            f"{axis}1": at,
            f"{other}ref": f"{frame.names['x' if other == 'x' else 'y']} domain",
            f"{other}0": 0,
            f"{other}1": 1,
            "layer": "above" if frame.covered else "below",
            "line": {"color": INK, "width": 1},
            "opacity": 0.9,
        }
    )


def _text(mark: Text, frame: PanelContext) -> None:
    font: Spec = {"size": mark.size * POINT}
    if mark.color != style.INK:
        font["color"] = rgba(mark.color)
    frame.page.annotations.append(
        {
            "text": escaped(mark.text),
            "xref": frame.names["x"],
            "yref": frame.names["y"],
            "x": place_at(mark.x, frame.x),
            "y": place_at(mark.y, frame.y),
            "xanchor": mark.align,
            "yanchor": "middle" if mark.upright == "center" else mark.upright,
            "align": mark.align,
            "xshift": mark.offset[0] * POINT,
            "yshift": mark.offset[1] * POINT,
            "textangle": -mark.rotation,
            "showarrow": False,
            "borderpad": 0,
            "font": font,
            "opacity": mark.alpha,
        }
    )


PENS: dict[type, Callable[[Any, PanelContext], None]] = {
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
