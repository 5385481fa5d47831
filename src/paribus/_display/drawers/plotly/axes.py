"""The sides of a panel: their ends, ticks and labels."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._display.drawers.plotly.colors import GRID, INK
from paribus._display.drawers.plotly.geometry import GAP, Box, Page, PanelCell, Spec, Way
from paribus._display.drawers.plotly.hover_text import (
    FONT,
    LEADING,
    escaped,
    text_height,
    text_width,
    wrapped,
)
from paribus._display.drawers.plotly.tick_steps import number_step, tick_count
from paribus._display.figure import Band, Bars, Contours, Hatch, Heat, Line, Mark, Panel, PanelAxis, Points

DAY = 86_400_000.0  # in milliseconds, which plotly's date axes count in
SMALLEST_LETTER = 8.0  # pixels of what is read with ease
LEAST_LETTER = 6.5  # of what can be read, where names would touch otherwise


def describe_axis(panel: Panel, way: Way, page: Page, box: Box) -> Spec:
    """Describe one side of a panel."""
    axis = panel.y if way == "y" else panel.x
    spec: Spec = {
        "domain": page.upwards(box) if way == "y" else page.across(box),
        "title": {
            "text": escaped(axis_label(axis, way, page.cell)),
            "font": {"size": FONT + 1},
            "standoff": 6,
        },
        "type": "date" if axis.scale == "date" else "linear",
        "showgrid": way == "y" and axis.scale == "number",
        "gridcolor": GRID,
        "zeroline": False,
        "showticklabels": axis.numbers,
        "ticks": "outside" if axis.numbers else "",
        "showline": False,
        "tickangle": -90 if axis.turned else 0,
        **_numbered(panel, way, box),
    }
    ends: tuple[float | None, float | None] = (axis.low, axis.high)
    if any(isinstance(mark, Heat | Contours) for mark in panel.marks):
        ends = ends_of(panel, way)  # colors reach up to the axes
    if ends != (None, None):
        spec["range"] = [None if end is None else place_at(end, axis) for end in ends]
    if axis.ticks is not None:
        words, size = tick_words(axis, way, page.cell)
        if way == "y" or axis.turned:
            size = min(size, _fitting(words, box.height if way == "y" else box.width))
        spec["tickmode"] = "array"
        spec["tickvals"] = [place_at(at, axis) for at, _ in axis.ticks]
        spec["ticktext"] = [escaped(text) for text in words]
        spec["tickfont"] = {"size": size}
    if axis.scale == "none":
        spec.update(showticklabels=False, ticks="", showgrid=False)
    return spec


def _numbered(panel: Panel, way: Way, box: Box) -> Spec:
    """Describe numbers along an axis: as many as have room, with a power if they are millions apart."""
    low, high = ends_of(panel, way)
    count = max(4, int(box.height / 30))
    if way == "x":
        count = tick_count(low, high, box.width, dates=panel.x.scale == "date")
    full = high > low and 1e-5 < number_step(low, high, count) < 1e6
    return {
        "exponentformat": "power",
        "minexponent": 15 if full else 5,
        "nticks": count,
    }


def follow(panel: Panel, way: Way, page: Page, box: Box, name: str) -> Spec:
    """Describe the axis of a narrow panel that it shares with the panel beside it."""
    spec = describe_axis(panel, way, page, box)
    spec.update(matches=name, showticklabels=False, title=None, ticks="")
    return spec


def join(page: Page, x: Spec, y: Spec) -> dict[Way, str]:
    """Add two axes that meet, with a line along each that has ticks."""
    names: dict[Way, str] = {"x": page.axis("x", x), "y": page.axis("y", y)}
    x["anchor"], y["anchor"] = names["y"], names["x"]
    # Plotly leaves out its own lines where a panel has axes over each other and an order of its traces.
    for ticks, x1, y1 in ((x["ticks"], 1, 0), (y["ticks"], 0, 1)):
        if ticks:
            refs = {"xref": f"{names['x']} domain", "yref": f"{names['y']} domain"}
            line = {"type": "line", "x0": 0, "y0": 0, "x1": x1, "y1": y1, "layer": "above"}
            page.shapes.append(refs | line | {"line": {"color": INK, "width": 1}, "opacity": 1.0})
    return names


def alike(one: PanelAxis, two: PanelAxis) -> bool:
    """Return whether two axes have the same limits."""
    return (one.scale, one.low, one.high) == (two.scale, two.low, two.high)


def place_at(at: float, axis: PanelAxis) -> Any:
    """Turn days since 1970 into a date where an axis has them."""
    return places(np.array([at]), axis)[0] if axis.scale == "date" else float(at)


def places(values: Floats, axis: PanelAxis) -> Any:
    """Turn days since 1970 into dates where an axis has them."""
    if axis.scale != "date":
        return np.asarray(values, dtype=float)
    whole = np.round(np.nan_to_num(values) * DAY).astype("int64").astype("datetime64[ms]")
    return [str(date) if there else None for date, there in zip(whole, np.isfinite(values), strict=True)]


def lengths(values: Floats, axis: PanelAxis) -> Floats:
    """Turn days into milliseconds, which plotly measures dates in."""
    return values * DAY if axis.scale == "date" else values


def axis_label(axis: PanelAxis, way: Way, cell: PanelCell) -> str:
    """Return the label of an axis, in lines that fit along its panel."""
    return wrapped(axis.label, 0.75 * cell.height if way == "y" else 0.8 * cell.width) if axis.label else ""


def tick_words(axis: PanelAxis, way: Way, cell: PanelCell) -> tuple[list[str], float]:
    """Return the words at ticks and the size of their letters.

    Long words are broken rather than clipped, into as many lines as fit between two ticks; letters are
    smaller where not even one does.
    """
    words = [text for _, text in axis.ticks or ()]
    if way == "x" and not axis.turned:
        return words, FONT
    between = 0.7 * (cell.height if way == "y" else cell.width) / max(len(words), 1)
    size = min(FONT, max(SMALLEST_LETTER, between / 1.15))
    most = max(1, int(0.85 * between / (LEADING * size)))
    pixels = 0.42 * cell.width if way == "y" else 0.3 * cell.height
    return [_broken(text, pixels, size, most) for text in words], size


def _fitting(words: list[str], length: float) -> float:
    """Return the size of letters at which words stand one above the other without touching."""
    lines = max((word.count("\n") + 1 for word in words), default=1)
    return max(LEAST_LETTER, length / max(len(words), 1) / (1.05 * lines))


def _broken(text: str, pixels: float, size: float, most: int) -> str:
    """Break text into lines of some pixels, longer ones if there would be more than ``most``."""
    while True:
        lines = wrapped(text, pixels, size)
        if lines.count("\n") < max(most, text.count("\n") + 1):
            return lines
        pixels *= 1.2


def ticks_width(panel: Panel, way: Way, cell: PanelCell) -> float:
    """Guess how wide the words at ticks are, with what keeps them off the axis."""
    axis = panel.y if way == "y" else panel.x
    if not axis.numbers or axis.scale == "none":
        return 0.0
    if axis.ticks is not None:
        words, size = tick_words(axis, way, cell)
        return max((text_width(text, size) for text in words), default=0.0) + GAP
    low, high = ends_of(panel, way)
    return (text_width("00:00:00") if axis.scale == "date" else number_width(low, high)) + GAP


def ticks_height(panel: Panel, cell: PanelCell) -> float:
    """Guess how high the words below a panel are, with what keeps them off the axis."""
    axis = panel.x
    if not axis.numbers or axis.scale == "none":
        return 0.0
    if axis.turned:
        return ticks_width(panel, "x", cell)
    if axis.ticks is not None:
        return max((text_height(text) for _, text in axis.ticks), default=0.0) + GAP
    return text_height("\n" if axis.scale == "date" else "0") + GAP


def number_width(low: float, high: float) -> float:
    """Guess how long the numbers of an axis are."""
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        return 4 * 0.6 * FONT
    decimals = max(0, -math.floor(math.log10(abs(high - low) / 5)))
    return max(text_width(f"{end:.{min(decimals, 8)}f}") for end in (low, high))


def ends_of(panel: Panel, way: Way) -> tuple[float, float]:
    """Return the ends of an axis, from its marks where the axis leaves them open."""
    axis = panel.y if way == "y" else panel.x
    taken = [place for mark in panel.marks for place in _along(mark, way)]
    found = np.concatenate([np.ravel(place) for place in taken]) if taken else np.zeros(0)
    found = found[np.isfinite(found)]
    low, high = (float(found.min()), float(found.max())) if found.size else (0.0, 1.0)
    return (low if axis.low is None else axis.low), (high if axis.high is None else axis.high)


def _along(mark: Mark, way: Way) -> Iterator[Floats]:
    """Yield the positions a mark takes along an axis."""
    if isinstance(mark, Line | Points | Contours):
        yield mark.x if way == "x" else mark.y
    elif isinstance(mark, Band):
        yield from (mark.x,) if way == "x" else (mark.low, mark.high)
    elif isinstance(mark, Heat | Hatch):
        yield mark.x_edges if way == "x" else mark.y_edges
    elif isinstance(mark, Bars):
        base = np.zeros(len(mark.at)) if mark.base is None else mark.base
        upright = (way == "y") != mark.horizontal
        yield from (base, base + mark.length) if upright else (mark.at,)
