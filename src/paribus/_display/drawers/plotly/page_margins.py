"""The room that words take, and what is left to the panels, in pixels.

Plotly measures text only when it is shown, and would let long names of categories run out of the picture or
across the panel beside it. So the room that words take is guessed here, rather too large, and panels get what
is left.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from paribus._display.drawers.plotly.axes import axis_label, number_width, ticks_height, ticks_width
from paribus._display.drawers.plotly.geometry import GAP, INCH, Box, Page, PanelCell
from paribus._display.drawers.plotly.hover_text import FONT, SMALL, TITLE, text_height, text_width, wrapped
from paribus._display.figure import Contours, Figure, Heat, Mark, Panel

SMALLEST = 0.45  # of its share of the page that a panel keeps: what does not fit makes the picture larger
BAR, KEY = 12.0, 46.0  # pixels of a color bar's thickness, and of what stands before a word of a legend
BESIDE = 0.35  # of a panel's share of the page that the words of its own legend take at most


@dataclass
class PageMargins:
    """Pixels around a panel, for its words, its legend and its color bar."""

    left: float = GAP
    right: float = GAP
    top: float = GAP
    bottom: float = GAP


def share_out(figure: Figure) -> Page:
    """Share out the page: room for words first, and what is left to the panels alike."""
    columns = max(1, min(figure.columns, len(figure.panels)))
    rows = max(1, math.ceil(len(figure.panels) / columns))
    width, height = figure.size[0] * INCH, figure.size[1] * INCH
    cell = PanelCell(width / columns, height / rows)
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


def _room(panel: Panel, cell: PanelCell) -> PageMargins:
    """Guess the room that words around a panel take."""
    room = PageMargins()
    label = axis_label(panel.y, "y", cell)
    room.left += text_height(label) + ticks_width(panel, "y", cell) + GAP * bool(label)
    room.bottom += text_height(axis_label(panel.x, "x", cell)) + ticks_height(panel, cell)
    if panel.right:
        room.bottom = max(room.bottom, GAP + ticks_height(panel.right, cell))
    if panel.title:
        room.top += text_height(wrapped(panel.title, 0.85 * cell.width, TITLE), TITLE)
    room.right += sum(bar_width(mark, 0.75 * cell.height) for mark in panel.marks)
    if panel.x.scale != "none" and panel.x.numbers:
        room.right += GAP  # for the half of the last number that stands out
    if panel.legend == "panel":
        words = [*labels_of(panel), panel.legend_title or ""]
        room.right += max(text_width(wrapped(word, BESIDE * cell.width)) for word in words) + KEY + GAP
    return room


def bar_width(mark: Mark, height: float) -> float:
    """Return how many pixels a mark's color bar takes, with its numbers and its unit."""
    if isinstance(mark, Contours):
        ends, unit = (mark.levels[0], mark.levels[-1]), mark.unit
    elif isinstance(mark, Heat) and mark.unit is not None:
        ends, unit = (mark.low, mark.high), mark.unit
    else:
        return 0.0
    return BAR + 3 * GAP + number_width(*ends) + text_height(wrapped(unit, height))
