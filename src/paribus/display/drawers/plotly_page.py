"""Where things lie on a page of plotly's, in pixels.

Plotly measures text only when it is shown, and would let long names of levels run out of the picture or
across the panel beside it. So the room that words take is guessed here, rather too large, and panels get what
is left.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from paribus.contracts import Floats
from paribus.display.figure import Axis, Band, Bars, Contours, Figure, Hatch, Heat, Line, Mark, Panel, Points

Way: TypeAlias = Literal["x", "y"]
Spec: TypeAlias = dict[str, Any]  # what plotly calls a trace, an axis or an annotation, before it is one

INCH, POINT = 96.0, 96.0 / 72.0  # in pixels
FONT, SMALL, TITLE = 13.0, 11.5, 15.0  # pixels; 13 are the 10 points of a printed figure
LEADING = 1.3  # height of a line of text, plotly's own
GAP = 8.0  # pixels between things that must not touch
SMALLEST_LETTER = 8.0
SMALLEST = 0.45  # of its share of the page that a panel keeps: what does not fit makes the picture larger
BAR, KEY = 12.0, 46.0  # pixels of a colour bar's thickness, and of what stands before a word of a legend
BESIDE = 0.35  # of a panel's share of the page that the words of its own legend take at most


@dataclass
class Cell:
    """What each panel has of the page, with all that stands around it, in pixels."""

    width: float
    height: float


@dataclass
class Room:
    """Pixels around a panel, for its words, its legend and its colour bar."""

    left: float = GAP
    right: float = GAP
    top: float = GAP
    bottom: float = GAP


@dataclass
class Box:
    """A rectangle of the page, in pixels from its lower left."""

    left: float
    bottom: float
    width: float
    height: float


@dataclass
class Page:
    """The picture while it is drawn: where panels are, and what was drawn so far."""

    width: float
    height: float
    boxes: list[Box]
    cell: Cell
    columns: int
    traces: list[Spec] = field(default_factory=list)
    shapes: list[Spec] = field(default_factory=list)
    annotations: list[Spec] = field(default_factory=list)
    layout: Spec = field(default_factory=dict)
    axes: dict[Way, int] = field(default_factory=lambda: {"x": 0, "y": 0})
    explained: set[tuple[str, str]] = field(default_factory=set)
    rows: dict[int, tuple[Axis, str]] = field(default_factory=dict)

    def axis(self, way: Way, spec: Spec) -> str:
        """Add an axis and return its name."""
        self.axes[way] += 1
        number = "" if self.axes[way] == 1 else str(self.axes[way])
        self.layout[f"{way}axis{number}"] = spec
        return f"{way}{number}"

    def across(self, box: Box) -> list[float]:
        """Return where a box begins and ends, as shares of the width."""
        return [box.left / self.width, (box.left + box.width) / self.width]

    def upwards(self, box: Box) -> list[float]:
        """Return where a box begins and ends, as shares of the height."""
        return [box.bottom / self.height, (box.bottom + box.height) / self.height]


def shared_out(figure: Figure) -> Page:
    """Share out the page: room for words first, and what is left to the panels alike."""
    columns = max(1, min(figure.columns, len(figure.panels)))
    rows = max(1, math.ceil(len(figure.panels) / columns))
    width, height = figure.size[0] * INCH, figure.size[1] * INCH
    cell = Cell(width / columns, height / rows)
    rooms = [_room(panel, cell) for panel in figure.panels]
    for number, room in enumerate(rooms):
        room.left = max(other.left for other in rooms[number % columns :: columns])
        room.right = max(other.right for other in rooms[number % columns :: columns])
        row = rooms[number // columns * columns :][:columns]
        room.top, room.bottom = max(other.top for other in row), max(other.bottom for other in row)
    words = sum(room.left + room.right for room in rooms[:columns])
    wide = max(SMALLEST * cell.width, (width - words) / columns)
    width = columns * wide + words
    head = _head(figure, width)
    foot = text_height(notes_of(figure, width), SMALL) + GAP * bool(figure.notes)
    words = sum(room.top + room.bottom for room in rooms[::columns]) + head + foot
    high = max(SMALLEST * cell.height, (height - words) / rows)
    page = Page(width, rows * high + words, [], cell, columns)
    for number, room in enumerate(rooms):
        first = number // columns * columns
        left = sum(other.left + wide + other.right for other in rooms[first:number]) + room.left
        above = sum(other.top + high + other.bottom for other in rooms[:first:columns]) + head + room.top
        page.boxes.append(Box(left, page.height - above - high, wide, high))
    return page


def _head(figure: Figure, width: float) -> float:
    """Return the pixels that the title and the legend take above all panels."""
    rows = legend_rows(figure, width)
    return title_height(figure) + GAP + rows * 1.55 * FONT + GAP * bool(rows)


def title_height(figure: Figure) -> float:
    """Return the pixels that the title takes."""
    return text_height(figure.title, TITLE + 2) + GAP if figure.title else 0.0


def legend_rows(figure: Figure, width: float) -> int:
    """Guess how many lines the legend above all panels has, with its title."""
    labels = [label for panel in figure.panels if panel.legend == "figure" for label in labels_of(panel)]
    lengths = [text_width(label) + KEY for label in dict.fromkeys(labels)]
    title = text_width(figure.legend_title) + GAP if figure.legend_title else 0.0
    if sum(lengths) + title <= width - 2 * GAP:
        return min(1, len(lengths))
    rows, taken = 1, 0.0
    for length in lengths:
        if taken and taken + length > width:
            rows, taken = rows + 1, 0.0
        taken += length
    return rows + bool(title)


def labels_of(panel: Panel) -> list[str]:
    """Return what a legend explains of a panel and the narrow ones beside it, each once."""
    panels = [each for each in (panel, panel.right, panel.top) if each]
    labels = [getattr(mark, "label", None) for each in panels for mark in each.marks]
    return list(dict.fromkeys(label for label in labels if label))


def notes_of(figure: Figure, width: float) -> str:
    """Return the notes, in lines that fit into a width."""
    return "\n".join(wrapped(note, width - 2 * GAP, SMALL) for note in figure.notes)


def _room(panel: Panel, cell: Cell) -> Room:
    """Guess the room that words around a panel take."""
    room = Room()
    label = axis_label(panel.y, "y", cell)
    room.left += text_height(label) + _ticks_long(panel, "y", cell) + GAP * bool(label)
    room.bottom += text_height(axis_label(panel.x, "x", cell)) + _ticks_tall(panel, cell)
    if panel.right:
        room.bottom = max(room.bottom, GAP + _ticks_tall(panel.right, cell))
    if panel.title:
        room.top += text_height(wrapped(panel.title, 0.85 * cell.width, TITLE), TITLE)
    room.right += sum(bar_width(mark, 0.75 * cell.height) for mark in panel.marks)
    if panel.x.scale != "none" and panel.x.numbers:
        room.right += GAP  # for the half of the last number that stands out
    if panel.legend == "panel":
        words = [*labels_of(panel), panel.legend_title or ""]
        room.right += max(text_width(wrapped(word, BESIDE * cell.width)) for word in words) + KEY + GAP
    return room


def axis_label(axis: Axis, way: Way, cell: Cell) -> str:
    """Return the label of an axis, in lines that fit along its panel."""
    return wrapped(axis.label, 0.75 * cell.height if way == "y" else 0.8 * cell.width) if axis.label else ""


def bar_width(mark: Mark, height: float) -> float:
    """Return how many pixels a mark's colour bar takes, with its numbers and its unit."""
    if isinstance(mark, Contours):
        ends, unit = (mark.levels[0], mark.levels[-1]), mark.unit
    elif isinstance(mark, Heat) and mark.unit is not None:
        ends, unit = (mark.low, mark.high), mark.unit
    else:
        return 0.0
    return BAR + 3 * GAP + _number_long(*ends) + text_height(wrapped(unit, height))


def _number_long(low: float, high: float) -> float:
    """Guess how long the numbers of an axis are."""
    if not (math.isfinite(low) and math.isfinite(high)) or low == high:
        return 4 * 0.6 * FONT
    decimals = max(0, -math.floor(math.log10(abs(high - low) / 5)))
    return max(text_width(f"{end:.{min(decimals, 8)}f}") for end in (low, high))


def _ticks_long(panel: Panel, way: Way, cell: Cell) -> float:
    axis = panel.y if way == "y" else panel.x
    if not axis.numbers or axis.scale == "none":
        return 0.0
    if axis.ticks is not None:
        words, size = tick_words(axis, way, cell)
        return max((text_width(text, size) for text in words), default=0.0) + GAP
    low, high = ends_of(panel, way)
    return (text_width("00:00:00") if axis.scale == "date" else _number_long(low, high)) + GAP


def _ticks_tall(panel: Panel, cell: Cell) -> float:
    axis = panel.x
    if not axis.numbers or axis.scale == "none":
        return 0.0
    if axis.turned:
        return _ticks_long(panel, "x", cell)
    if axis.ticks is not None:
        return max((text_height(text) for _, text in axis.ticks), default=0.0) + GAP
    return text_height("\n" if axis.scale == "date" else "0") + GAP


def tick_words(axis: Axis, way: Way, cell: Cell) -> tuple[list[str], float]:
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


def _broken(text: str, pixels: float, size: float, most: int) -> str:
    """Break text into lines of some pixels, longer ones if there would be more than ``most``."""
    while True:
        lines = wrapped(text, pixels, size)
        if lines.count("\n") < max(most, text.count("\n") + 1):
            return lines
        pixels *= 1.2


def ends_of(panel: Panel, way: Way) -> tuple[float, float]:
    """Return the ends of an axis, from its marks where the axis leaves them open."""
    axis = panel.y if way == "y" else panel.x
    places = [place for mark in panel.marks for place in _along(mark, way)]
    found = np.concatenate([np.ravel(place) for place in places]) if places else np.zeros(0)
    found = found[np.isfinite(found)]
    low, high = (float(found.min()), float(found.max())) if found.size else (0.0, 1.0)
    return (low if axis.low is None else axis.low), (high if axis.high is None else axis.high)


def _along(mark: Mark, way: Way) -> Iterator[Floats]:
    """Yield the places a mark takes along an axis."""
    if isinstance(mark, Line | Points | Contours):
        yield mark.x if way == "x" else mark.y
    elif isinstance(mark, Band):
        yield from (mark.x,) if way == "x" else (mark.low, mark.high)
    elif isinstance(mark, Heat | Hatch):
        yield mark.x_edges if way == "x" else mark.y_edges
    elif isinstance(mark, Bars):
        base = np.zeros(len(mark.at)) if mark.base is None else mark.base
        upright = (way == "y") != mark.level
        yield from (base, base + mark.length) if upright else (mark.at,)


def text_width(text: str, size: float = FONT) -> float:
    """Guess how many pixels the longest line of a text takes, rather too many."""
    return max((sum(map(_wide, line)) for line in text.split("\n")), default=0.0) * size


def _wide(sign: str) -> float:
    if unicodedata.east_asian_width(sign) in "WF":
        return 1.05
    if sign in "iljtf.,:;|!'()[] I":
        return 0.36
    return 0.92 if sign in "mwMW@%" else 0.68 if sign.isupper() else 0.6


def wrapped(text: str, pixels: float, size: float = FONT) -> str:
    """Break text into lines that fit into some pixels."""
    lines = []
    for line in text.split("\n"):
        each = text_width(line, size) / max(len(line), 1)
        lines += textwrap.wrap(line, max(8, int(pixels / max(each, 1.0)))) or [""]
    return "\n".join(lines)


def text_height(text: str, size: float = FONT) -> float:
    """Return how many pixels the lines of a text take."""
    return LEADING * size * (text.count("\n") + 1) if text else 0.0
