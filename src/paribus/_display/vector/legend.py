"""Legends: what the labels of marks mean, above all panels or beside one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from paribus._display.figure import Band, Bars, Hatch, Line, Panel, Points
from paribus._display.text_width import text_width
from paribus._display.vector.axes import GAP, KEY, LEGEND_LINE
from paribus._display.vector.canvas import (
    BOLD,
    BOLDER,
    Canvas,
    PlacedText,
    fitted_lines,
    rectangle_path,
    segment_path,
    text_height,
)
from paribus._display.vector.marks import POINT, dashes, hatch_fill, points_at

Labeled: TypeAlias = Line | Band | Points | Bars | Hatch
SIZE = 12.0  # pixels of its text
APART = 16.0  # pixels between entries beside each other
SAMPLE = 24.0  # pixels of what is explained
LINES = 3  # of an entry, at most


@dataclass(frozen=True)
class Entry:
    """A mark, what it is called in lines, and where both stand, from the upper left of the legend."""

    mark: Labeled
    text: str
    full: str
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        """Pixels with the sample."""
        return KEY + SIZE * text_width(self.text)

    @property
    def height(self) -> float:
        """Pixels of its lines, with what keeps them apart from the next."""
        return max(LEGEND_LINE, text_height(self.text, SIZE) + 3.0)


@dataclass(frozen=True)
class Legend:
    """Entries with their places, below or behind a title."""

    title: str = ""
    entries: tuple[Entry, ...] = ()
    width: float = 0.0
    height: float = 0.0


def labeled(panels: Iterable[Panel]) -> dict[str, Labeled]:
    """Return the first mark of each label of panels and the narrow ones beside them."""
    found: dict[str, Labeled] = {}
    for panel in panels:
        for part in (panel, panel.right, panel.top):
            for mark in part.marks if part is not None else ():
                if isinstance(mark, Line | Band | Points | Bars | Hatch) and mark.label:
                    found.setdefault(mark.label, mark)
    return found


def legend_above(marks: dict[str, Labeled], title: str | None, width: float) -> Legend:
    """Lay out a legend in rows, as many entries in each as fit into a width."""
    if not marks:
        return Legend()
    heading = fitted_lines(title or "", width, BOLDER * SIZE, 2)
    x, y, row = 0.0, 0.0, LEGEND_LINE
    entries = [_entry(mark, label, width - KEY) for label, mark in marks.items()]
    head = BOLDER * SIZE * text_width(heading) + APART if heading else 0.0
    if head and head + sum(entry.width + APART for entry in entries) <= width and "\n" not in heading:
        x = head
    elif head:
        y = text_height(heading, SIZE) + 3.0
    placed = []
    for entry in entries:
        if x and x + entry.width > width:
            x, y, row = 0.0, y + row, LEGEND_LINE
        placed.append(replace(entry, x=x, y=y))
        x, row = x + entry.width + APART, max(row, entry.height)
    return Legend(heading, tuple(placed), width, y + row)


def legend_beside(marks: dict[str, Labeled], title: str | None, width: float) -> Legend:
    """Lay out a legend whose entries stand one below the other, its words no wider than some pixels."""
    if not marks:
        return Legend()
    heading = fitted_lines(title or "", width, BOLDER * SIZE, LINES)
    y, placed = (text_height(heading, SIZE) + 4.0) if heading else 0.0, []
    for entry in (_entry(mark, label, width - KEY) for label, mark in marks.items()):
        placed.append(replace(entry, y=y))
        y += entry.height
    widest = max([BOLDER * SIZE * text_width(heading), *(entry.width for entry in placed)])
    return Legend(heading, tuple(placed), widest + GAP, y)


def _entry(mark: Labeled, label: str, width: float) -> Entry:
    return Entry(mark, fitted_lines(label, width, SIZE, LINES), label)


def draw_legend(canvas: Canvas, legend: Legend, left: float, top: float) -> None:
    """Draw a legend with its upper left corner at a place."""
    if legend.title:
        canvas.words([PlacedText(left, top + 2.0, legend.title)], SIZE, "left", "top", more=BOLD)
    words = []
    for entry in legend.entries:
        x, y = left + entry.x, top + entry.y + LEGEND_LINE / 2
        _sample(canvas, entry.mark, x, y)
        middle = y + text_height(entry.text, SIZE) / 2 - text_height("x", SIZE) / 2
        words.append(PlacedText(x + KEY, middle, entry.text, entry.full.replace("\n", " ")))
    plain = [word if word.text != word.full else replace(word, full=None) for word in words]
    canvas.words(plain, SIZE, "left")


def _sample(canvas: Canvas, mark: Labeled, x: float, y: float) -> None:
    """Draw what an entry explains as it looks in a panel."""
    area = rectangle_path(x, y - 5.0, x + SAMPLE, y + 5.0)
    if isinstance(mark, Line):
        path = segment_path(x, y, x + SAMPLE, y)
        canvas.stroke(path, mark.color, POINT * mark.width, mark.alpha, dashes(mark))
    elif isinstance(mark, Points):
        size = POINT * float(np.median(mark.size))
        middle = np.array([x + SAMPLE / 2]), np.array([y])
        points_at(canvas, None, mark.marker, *middle, size, mark.color, mark.alpha)
    elif isinstance(mark, Hatch):
        canvas.add(f'<path fill="{hatch_fill(canvas)}" fill-opacity=".75" d="{area}"/>')
    else:
        color = mark.color if isinstance(mark.color, str) else mark.color[0]
        canvas.fill(area, color, mark.alpha)
