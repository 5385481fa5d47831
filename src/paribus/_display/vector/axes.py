"""Layout of panels in pixels: axes, ticks, color bars and the space for texts around them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._display.figure import (
    Band,
    Bars,
    Contours,
    Hatch,
    Heat,
    Line,
    Mark,
    Panel,
    PanelAxis,
    Points,
    Rug,
    Strip,
    Text,
)
from paribus._display.layout import has_curves
from paribus._display.mark_helpers import FONT, TICK, TITLE, labeled_levels
from paribus._display.text_width import text_width
from paribus._display.vector.canvas import BOLDER, fitted_lines, text_height
from paribus._display.vector.ticks import Ticks, Way, axis_ticks, number_texts

KEY = 30.0  # pixels of the sample of a legend entry, with the gap to its text
LEGEND_LINE = 18.0  # pixels of a line of a legend
GAP = 6.0  # pixels between elements
MARK = 4.0  # pixels of a tick
BETWEEN = 8.0  # pixels between a panel and the narrow one next to it
BAR = 12.0  # pixels of the width of a color bar
MARGIN = 0.05  # of the range of the data, on axes without given limits
LINES = 3  # of a label, at most
ACROSS = {"x": 0.42, "y": 0.4}  # largest share of a grid cell for tick texts perpendicular to an axis


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels, from the upper left of the image."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Width in pixels."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Height in pixels."""
        return self.bottom - self.top


@dataclass(frozen=True)
class Side:
    """One axis of a panel: its limits in its units and in pixels, and its ticks."""

    axis: PanelAxis
    low: float
    high: float
    start: float
    end: float
    ticks: Ticks

    def at(self, values: Floats | float) -> Floats:
        """Return the positions of values in pixels."""
        # Halving avoids overflow of the difference of the limits.
        with np.errstate(over="ignore", invalid="ignore"):
            share = (np.asarray(values) / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return np.asarray(self.start + share * (self.end - self.start))


@dataclass(frozen=True)
class ColorBar:
    """The color bar of a mark: its label in lines, its limits and its ticks."""

    mark: Heat | Contours
    unit: str
    low: float
    high: float
    ticks: Ticks

    @property
    def width(self) -> float:
        """Width in pixels, with its gaps, ticks and label."""
        return (
            2 * GAP
            + BAR
            + MARK
            + 3.0
            + self.ticks.width
            + GAP * bool(self.unit)
            + text_height(self.unit, FONT)
        )


@dataclass(frozen=True)
class Frame:
    """A panel with its box in the image, its axes, narrow panels and color bars.

    ``covered`` says whether a heat map or contours fill the panel.
    """

    panel: Panel
    box: Box
    x: Side
    y: Side
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    left: tuple[Frame, ...] = ()
    right: tuple[Frame, ...] = ()
    top: Frame | None = None
    bars: tuple[ColorBar, ...] = ()
    covered: bool = False

    @property
    def ahead(self) -> float:
        """The left edge of the panel and its narrow panels, in pixels."""
        return self.left[0].box.left if self.left else self.box.left

    @property
    def beyond(self) -> float:
        """The right edge of the panel and its narrow panels, in pixels."""
        return self.right[-1].box.right if self.right else self.box.right


def frame_of(panel: Panel, outer: Box, cell: tuple[float, float]) -> Frame:
    """Return the layout of a panel and its narrow panels within the rectangle ``outer``.

    ``cell`` is the width and height of the grid cell of the panel, which includes the texts around it.
    """
    before, after = (_widths(panel, side, outer.width) for side in (panel.left, panel.right))
    above = panel.narrow * outer.height + BETWEEN if panel.top is not None else 0.0
    box = Box(outer.left + sum(before), outer.top + above, outer.right - sum(after), outer.bottom)
    ends: dict[Way, tuple[float, float]] = {"x": ends_of(panel, "x"), "y": ends_of(panel, "y")}
    if panel.equal:  # shrink the box, so that a unit has the same length on both axes
        spans = [high - low for low, high in (ends["x"], ends["y"])]
        unit = min(box.width / spans[0], box.height / spans[1])
        box = Box(box.left, box.top, box.left + unit * spans[0], box.top + unit * spans[1])
    x, y = (_side_of_box(getattr(panel, way), ends[way], way, box, cell) for way in ("x", "y"))
    left = _frames_beside(panel.left, before, outer.left, box, y, cell)
    right = _frames_beside(panel.right, after, box.right + BETWEEN, box, y, cell)
    top = None
    if panel.top is not None:
        place = Box(box.left, box.top - above, box.right, box.top - BETWEEN)
        height = _side_of_box(panel.top.y, ends_of(panel.top, "y"), "y", place, cell)
        top = Frame(panel.top, place, replace(x, ticks=Ticks()), height)
    colored = [mark for mark in panel.marks if isinstance(mark, Heat | Contours) and mark.unit is not None]
    tall = bar_height(box.height, len(colored))
    return Frame(
        panel,
        box,
        x,
        y,
        fitted_lines(panel.title or "", outer.width, BOLDER * TITLE, LINES),
        fitted_lines(panel.x.label, box.width, FONT, LINES),
        fitted_lines(panel.y.label, box.height, FONT, LINES),
        left,
        right,
        top,
        tuple(_color_bar_of(mark, tall) for mark in colored),
        not has_curves(panel),
    )


def _frames_beside(
    parts: tuple[Panel, ...],
    widths: list[float],
    start: float,
    box: Box,
    y: Side,
    cell: tuple[float, float],
) -> tuple[Frame, ...]:
    """Return the layout of narrow panels next to ``box``, whose y-axis they share, from ``start`` on."""
    frames = []
    for part, width in zip(parts, widths, strict=True):
        place = Box(start, box.top, start + width - BETWEEN, box.bottom)
        x = _side_of_box(part.x, ends_of(part, "x"), "x", place, cell)
        frames.append(Frame(part, place, x, replace(y, ticks=Ticks())))
        start += width
    return tuple(frames)


def _side_of_box(
    axis: PanelAxis, ends: tuple[float, float], way: Way, box: Box, cell: tuple[float, float]
) -> Side:
    start, end = (box.left, box.right) if way == "x" else (box.bottom, box.top)
    room = ACROSS[way] * cell[1 if way == "x" else 0]
    ticks = axis_ticks(axis, ends, way, abs(end - start), room)
    return Side(axis, *ends, start, end, ticks)


def _widths(panel: Panel, side: tuple[Panel, ...], width: float) -> list[float]:
    """Return the widths of narrow panels on a side with their gaps; each must contain its tick texts."""
    words = [max((TICK * text_width(text) for _, text in part.x.ticks or ()), default=0.0) for part in side]
    return [min(max(panel.narrow * width, word), 0.4 * width / len(side)) + BETWEEN for word in words]


def ends_of(panel: Panel, way: Way) -> tuple[float, float]:
    """Return the limits of an axis: the given ones, else those of the marks with a margin."""
    axis: PanelAxis = getattr(panel, way)
    parts = (part for mark in panel.marks for part in _mark_positions(mark, way))
    positions = np.concatenate([np.empty(0), *(np.asarray(part, dtype=float).ravel() for part in parts)])
    positions = positions[np.isfinite(positions)]
    low, high = (float(positions.min()), float(positions.max())) if len(positions) else (0.0, 1.0)
    margin = MARGIN * (high / 2 - low / 2) * 2 if has_curves(panel) else 0.0
    low = low - margin if axis.low is None else float(axis.low)
    high = high + margin if axis.high is None else float(axis.high)
    if not high / 2 - low / 2 > 1e-300:  # the range is practically zero
        middle = low if np.isfinite(low) else 0.0
        return middle - (abs(middle) * 0.1 or 1.0), middle + (abs(middle) * 0.1 or 1.0)
    return low, high


def _mark_positions(mark: Mark, way: Way) -> Iterator[Any]:
    """Yield the positions of a mark along an axis, from which its limits are derived."""
    if isinstance(mark, Line | Text | Contours | Points):
        yield getattr(mark, way)
        if isinstance(mark, Points) and mark.error is not None and mark.error_along == way:
            yield getattr(mark, way) - mark.error
            yield getattr(mark, way) + mark.error
    elif isinstance(mark, Band):
        yield from [mark.x] if way == "x" else [mark.low, mark.high]
    elif isinstance(mark, Heat | Hatch):
        yield getattr(mark, f"{way}_edges")
    elif isinstance(mark, Rug):
        yield from [mark.at] if mark.along == way else []
    elif isinstance(mark, Bars | Strip):
        along = mark.along if isinstance(mark, Strip) else "y" if mark.horizontal else "x"
        if along == way:
            yield from (mark.at - mark.width / 2, mark.at + mark.width / 2)
        elif isinstance(mark, Bars):
            base = 0.0 * mark.length if mark.base is None else mark.base
            error = 0.0 if mark.error is None else np.nan_to_num(mark.error)
            yield from (base, base + mark.length - error, base + mark.length + error)


def _color_bar_of(mark: Heat | Contours, height: float) -> ColorBar:
    ends = (mark.low, mark.high) if isinstance(mark, Heat) else (mark.levels[0], mark.levels[-1])
    low, high = float(ends[0]), float(ends[1])
    if not high > low:
        low, high = low - 0.5, high + 0.5
    axis = PanelAxis()
    if isinstance(mark, Contours):
        levels = labeled_levels(mark)
        axis = replace(axis, ticks=tuple(zip(levels, level_texts(levels), strict=True)))
    ticks = axis_ticks(axis, (low, high), "y", height, 6 * TICK)
    return ColorBar(mark, fitted_lines(mark.unit or "", height, FONT, LINES), low, high, ticks)


def bar_height(height: float, count: int) -> float:
    """Return the height of each of ``count`` color bars next to a panel."""
    return height if count < 2 else 0.9 * height / count


def level_texts(levels: list[float]) -> list[str]:
    """Return the texts of contour levels with as many decimals as they need."""
    span = max(levels, default=0.0) - min(levels, default=0.0)
    for decimals in range(12):
        if all(abs(round(level, decimals) - level) <= 1e-6 * span for level in levels):
            return number_texts(levels, decimals)
    return number_texts(levels, 12)


def rooms_of(frame: Frame, legend: float) -> tuple[float, float, float, float]:
    """Return the pixels for texts to the left, to the right, above and below a panel.

    ``legend`` is the width of its legend.
    """
    x, y, outer = frame.x, frame.y, frame.panel
    upwards = x.ticks.width if x.ticks.turned else x.ticks.height
    written = MARK + 3.0 + upwards if outer.x.numbers and x.ticks.entries else 0.0
    below = GAP + written + text_height(frame.x_label, FONT) + GAP * bool(frame.x_label)
    for part in (*frame.left, *frame.right):
        below = max(below, GAP + MARK + 3.0 + part.x.ticks.height)
    aside = MARK + 4.0 + y.ticks.width if outer.y.numbers and y.ticks.entries else 0.0
    left = GAP + aside + text_height(frame.y_label, FONT) + GAP * bool(frame.y_label)
    right = GAP + max((bar.width for bar in frame.bars), default=0.0) + legend
    for part in (frame, *frame.left, *frame.right):  # tick texts may extend beyond the edges of the panel
        if part.x.ticks.turned or not part.panel.x.numbers:
            continue
        for at, text in part.x.ticks.entries:
            half, middle = part.x.ticks.size * text_width(text) / 2 + 2.0, float(part.x.at(at))
            left = max(left, frame.ahead - middle + half)
            right = max(right, middle + half - frame.beyond)
    title = text_height(frame.title, TITLE) + GAP * bool(frame.title)
    return left, right, GAP + title, below
