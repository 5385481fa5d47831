"""Panels in pixels: where their axes begin and end, their ticks, and the room that words around them take."""

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
from paribus._display.mark_helpers import labeled_levels
from paribus._display.text_width import text_width
from paribus._display.vector.canvas import BOLDER, fitted_lines, text_height
from paribus._display.vector.ticks import TICK, Ticks, Way, axis_ticks, number_texts

FONT = 13.0  # pixels of labels
TITLE = 14.0  # pixels of the title of a panel
KEY = 30.0  # pixels of what stands before a word of a legend, with what keeps both apart
LEGEND_LINE = 18.0  # pixels of a line of a legend
GAP = 6.0  # pixels between things that must not touch
MARK = 4.0  # pixels of a tick
BETWEEN = 8.0  # pixels between a panel and the narrow one beside it
BAR = 12.0  # pixels that a color bar is wide
MARGIN = 0.05  # of the data, on axes whose ends are left to it
LINES = 3  # of a label, at most
ACROSS = {"x": 0.42, "y": 0.4}  # of a cell that words at the ticks of the other axis may take


@dataclass(frozen=True)
class Box:
    """A rectangle in pixels, from the upper left of the image."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        """Pixels from left to right."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """Pixels from top to bottom."""
        return self.bottom - self.top


@dataclass(frozen=True)
class Side:
    """One axis of a panel: its ends in its own units and in pixels, and its ticks."""

    axis: PanelAxis
    low: float
    high: float
    start: float
    end: float
    ticks: Ticks

    def at(self, values: Floats | float) -> Floats:
        """Return where values lie, in pixels."""
        # Halves, as the ends of an axis may be further apart than a float can say.
        with np.errstate(over="ignore", invalid="ignore"):
            share = (np.asarray(values) / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return np.asarray(self.start + share * (self.end - self.start))


@dataclass(frozen=True)
class ColorBar:
    """What explains the colors of a mark: its unit in lines, and its numbers."""

    mark: Heat | Contours
    unit: str
    low: float
    high: float
    ticks: Ticks

    @property
    def width(self) -> float:
        """Pixels it takes beside a panel, with all that stands beside it."""
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
    """A panel with its place in the image, and those beside it on its axes."""

    panel: Panel
    box: Box
    x: Side
    y: Side
    title: str = ""
    x_label: str = ""
    y_label: str = ""
    right: Frame | None = None
    top: Frame | None = None
    bars: tuple[ColorBar, ...] = ()
    covered: bool = False

    @property
    def beyond(self) -> float:
        """Where what stands to the right of all panels begins."""
        return self.right.box.right if self.right is not None else self.box.right


def frame_of(panel: Panel, outer: Box, cell: tuple[float, float]) -> Frame:
    """Lay out a panel with the narrow ones beside it inside of a rectangle.

    ``cell`` is the width and height that the panel has of the image, with all words around it.
    """
    beside = _narrow(panel, outer.width) + BETWEEN if panel.right is not None else 0.0
    above = panel.beside * outer.height + BETWEEN if panel.top is not None else 0.0
    box = Box(outer.left, outer.top + above, outer.right - beside, outer.bottom)
    ends: dict[Way, tuple[float, float]] = {"x": ends_of(panel, "x"), "y": ends_of(panel, "y")}
    if panel.equal:
        box = _equal(box, ends["x"], ends["y"])
    x, y = (_side(getattr(panel, way), ends[way], way, box, cell) for way in ("x", "y"))
    right = top = None
    if panel.right is not None:
        place = Box(box.right + BETWEEN, box.top, box.right + beside, box.bottom)
        own = _side(panel.right.x, ends_of(panel.right, "x"), "x", place, cell)
        right = Frame(panel.right, place, own, replace(y, ticks=Ticks()))
    if panel.top is not None:
        place = Box(box.left, box.top - above, box.right, box.top - BETWEEN)
        own = _side(panel.top.y, ends_of(panel.top, "y"), "y", place, cell)
        top = Frame(panel.top, place, replace(x, ticks=Ticks()), own)
    colored = [mark for mark in panel.marks if isinstance(mark, Heat | Contours) and mark.unit is not None]
    return Frame(
        panel,
        box,
        x,
        y,
        fitted_lines(panel.title or "", outer.width, BOLDER * TITLE, LINES),
        fitted_lines(panel.x.label, box.width, FONT, LINES),
        fitted_lines(panel.y.label, box.height, FONT, LINES),
        right,
        top,
        tuple(_color_bar(mark, box.height, len(colored)) for mark in colored),
        any(isinstance(mark, Heat | Contours) for mark in panel.marks),
    )


def _side(axis: PanelAxis, ends: tuple[float, float], way: Way, box: Box, cell: tuple[float, float]) -> Side:
    start, end = (box.left, box.right) if way == "x" else (box.bottom, box.top)
    room = ACROSS[way] * cell[1 if way == "x" else 0]
    ticks = axis_ticks(axis, ends, way, abs(end - start), room)
    return Side(axis, *ends, start, end, ticks)


def _narrow(panel: Panel, width: float) -> float:
    """Return how wide the panel to the right is: what stands at its foot must not reach under others."""
    texts = [text for _, text in (panel.right.x.ticks if panel.right is not None else ()) or ()]
    words = max((TICK * text_width(text) for text in texts), default=0.0)
    return min(max(panel.beside * width, words), 0.4 * width)


def _equal(box: Box, x: tuple[float, float], y: tuple[float, float]) -> Box:
    """Return the rectangle, at the upper left of another, in which units of both axes are as long."""
    unit = min(box.width / (x[1] - x[0]), box.height / (y[1] - y[0]))
    return Box(box.left, box.top, box.left + unit * (x[1] - x[0]), box.top + unit * (y[1] - y[0]))


def ends_of(panel: Panel, way: Way) -> tuple[float, float]:
    """Return the ends of an axis: those it has, else those of what is drawn, with a margin."""
    axis: PanelAxis = getattr(panel, way)
    found = [np.asarray(part, dtype=float).ravel() for mark in panel.marks for part in _reach(mark, way)]
    every = np.concatenate([*found, np.empty(0)])
    every = every[np.isfinite(every)]
    low, high = (float(every.min()), float(every.max())) if len(every) else (0.0, 1.0)
    filled = any(isinstance(mark, Heat | Contours) for mark in panel.marks)
    margin = 0.0 if filled else MARGIN * (high / 2 - low / 2) * 2
    low = low - margin if axis.low is None else float(axis.low)
    high = high + margin if axis.high is None else float(axis.high)
    if not high / 2 - low / 2 > 1e-300:  # which is as good as nothing
        middle = low if np.isfinite(low) else 0.0
        return middle - (abs(middle) * 0.1 or 1.0), middle + (abs(middle) * 0.1 or 1.0)
    return low, high


def _reach(mark: Mark, way: Way) -> Iterator[Any]:
    """Yield the positions along an axis that a mark has to show."""
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


def _color_bar(mark: Heat | Contours, height: float, count: int) -> ColorBar:
    tall = bar_height(height, count)
    ends = (mark.low, mark.high) if isinstance(mark, Heat) else (mark.levels[0], mark.levels[-1])
    low, high = float(ends[0]), float(ends[1])
    if not high > low:
        low, high = low - 0.5, high + 0.5
    axis = PanelAxis()
    if isinstance(mark, Contours):
        levels = labeled_levels(mark)
        axis = replace(axis, ticks=tuple(zip(levels, level_texts(levels), strict=True)))
    ticks = axis_ticks(axis, (low, high), "y", tall, 6 * TICK)
    return ColorBar(mark, fitted_lines(mark.unit or "", tall, FONT, LINES), low, high, ticks)


def bar_height(height: float, count: int) -> float:
    """Return how long each of several color bars is beside a panel."""
    return height if count == 1 else 0.9 * height / count


def level_texts(levels: list[float]) -> list[str]:
    """Write the levels of contours with as many decimals as distinguish them."""
    span = max(levels, default=0.0) - min(levels, default=0.0)
    for decimals in range(12):
        if all(abs(round(level, decimals) - level) <= 1e-6 * span for level in levels):
            return number_texts(levels, decimals)
    return number_texts(levels, 12)


@dataclass(frozen=True)
class Rooms:
    """The pixels that words take around a panel."""

    left: float
    right: float
    top: float
    bottom: float


def rooms_of(frame: Frame, legend: float) -> Rooms:
    """Return the room around a panel whose own legend takes so many pixels."""
    x, y, outer = frame.x, frame.y, frame.panel
    upwards = x.ticks.width if x.ticks.turned else x.ticks.height
    written = MARK + 3.0 + upwards if outer.x.numbers and x.ticks.entries else 0.0
    below = GAP + written + text_height(frame.x_label, FONT) + GAP * bool(frame.x_label)
    if frame.right is not None:
        below = max(below, GAP + MARK + 3.0 + frame.right.x.ticks.height)
    aside = MARK + 4.0 + y.ticks.width if outer.y.numbers and y.ticks.entries else 0.0
    left = GAP + aside + text_height(frame.y_label, FONT) + GAP * bool(frame.y_label)
    right = GAP + max((bar.width for bar in frame.bars), default=0.0) + legend
    before, after = _overhang(frame)
    title = text_height(frame.title, TITLE) + GAP * bool(frame.title)
    return Rooms(max(left, before), max(right, after), GAP + title, below)


def _overhang(frame: Frame) -> tuple[float, float]:
    """Return how far words below a panel reach beyond it on both sides."""
    before = after = 0.0
    for part in (frame, frame.right):
        if part is None or part.x.ticks.turned or not part.panel.x.numbers:
            continue
        for at, text in part.x.ticks.entries:
            half, middle = part.x.ticks.size * text_width(text) / 2 + 2.0, float(part.x.at(at))
            before = max(before, frame.box.left - middle + half)
            after = max(after, middle + half - frame.beyond)
    return before, after
