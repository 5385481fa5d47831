"""The whole picture: its panels, legends, title and notes, and the room each of them has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from paribus._display import style
from paribus._display.figure import Bars, Figure, Line, Panel, PanelAxis, Points
from paribus._display.plotly.axes import (
    FONT,
    GAP,
    INK,
    SMALL,
    TITLE,
    Box,
    Page,
    Spec,
    Way,
    axis_label,
    axis_spec,
    escaped,
    text_height,
    tick_room,
    wrapped,
)
from paribus._display.plotly.marks import OTHER, PanelContext, color_bar_width
from paribus._display.text import text_width

if TYPE_CHECKING:
    import plotly.graph_objects as go

INCH = 96.0  # in pixels
LEAST = 0.45  # of its share of the page that a panel keeps: what does not fit makes the picture larger
BETWEEN = 12.0  # pixels between a panel and the narrow one beside it, so that their numbers do not touch
KEY = 46.0  # pixels of what stands before a word of a legend
BESIDE = 0.35  # of a panel's share of the page that the words of its own legend take at most
# Along the right side, as in a row it would hide titles and legends. Buttons without a use are left out, and
# the one that sends what is drawn to a cloud.
MODE_BAR = {
    "orientation": "v",
    "bgcolor": "rgba(0,0,0,0)",
    "color": "rgba(128,128,128,0.6)",
    "activecolor": INK,
    "remove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "sendChartToCloud"],
}
WORDS: Spec = {"xref": "paper", "yref": "paper", "showarrow": False, "yanchor": "bottom"}
LEGEND: Spec = {"yanchor": "top", "bgcolor": "rgba(0,0,0,0)", "tracegroupgap": 0, "font": {"size": FONT}}


def draw(figure: Figure) -> go.Figure:
    """Draw a figure with plotly.

    Parameters
    ----------
    figure
        The picture as data.

    Returns
    -------
    plotly.graph_objects.Figure
        To show, to change, or to write to a page that needs nothing else (``write_html``). Words and axes
        have the colors of its template: ``update_layout(template="plotly_dark")`` makes it a dark one.
    """
    import plotly.graph_objects as go
    import plotly.io as pio

    columns = max(1, min(figure.columns, len(figure.panels)))
    page, boxes = _shared_out(figure, columns)
    shared: dict[int, tuple[PanelAxis, str]] = {}  # the y-axis with numbers that was last in each row
    for number, (panel, box) in enumerate(zip(figure.panels, boxes, strict=True)):
        legend = f"legend{number + 2}" if panel.legend == "panel" else "legend"
        before = shared.get(number // columns)
        name = _draw_panel(page, panel, box, legend, before)
        if panel.y.numbers:  # panels after it without numbers of their own are read off these
            shared[number // columns] = (panel.y, name)
    _write_around(page, figure)
    template = pio.templates.default
    page.layout.update(
        template="simple_white" if template == "plotly" else template,
        width=round(page.width),
        height=round(page.height),
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        font={"size": FONT},
        barmode="overlay",
        hovermode="closest",
        modebar=MODE_BAR,
        hoverlabel={"align": "left", "font": {"size": FONT}},
        showlegend=True,
        shapes=page.shapes,
        annotations=page.annotations,
    )
    return go.Figure(data=page.traces, layout=page.layout)


def _shared_out(figure: Figure, columns: int) -> tuple[Page, list[Box]]:
    """Share out the page: room for words first, and what is left to the panels alike."""
    rows = max(1, math.ceil(len(figure.panels) / columns))
    width, height = figure.size[0] * INCH, figure.size[1] * INCH
    cell = Box(0.0, 0.0, width / columns, height / rows)
    rooms = np.zeros((rows * columns, 4))
    rooms[: len(figure.panels)] = [_room(panel, cell) for panel in figure.panels] or 0.0
    left, right, top, bottom = np.moveaxis(rooms.reshape(rows, columns, 4), 2, 0)
    left, right, top, bottom = left.max(0), right.max(0), top.max(1), bottom.max(1)
    wide = max(LEAST * cell.width, (width - (left + right).sum()) / columns)
    width = columns * wide + (left + right).sum()
    head, foot = _head(figure, width), text_height(_notes(figure, width), SMALL) + GAP * bool(figure.notes)
    high = max(LEAST * cell.height, (height - head - foot - (top + bottom).sum()) / rows)
    height = rows * high + (top + bottom).sum() + head + foot
    lefts = np.cumsum(left + wide + right) - wide - right
    lows = height - head - np.cumsum(top + high + bottom) + bottom
    boxes = [
        Box(float(lefts[number % columns]), float(lows[number // columns]), wide, high)
        for number in range(len(figure.panels))
    ]
    return Page(width, height, cell), boxes


def _room(panel: Panel, cell: Box) -> tuple[float, float, float, float]:
    """Estimate the pixels that words take to the left, to the right, above and below a panel."""
    label = axis_label(panel.y, "y", cell)
    left = 2 * GAP * bool(label) + GAP * (not label) + text_height(label) + tick_room(panel, "y", cell)[0]
    bottom = GAP + text_height(axis_label(panel.x, "x", cell)) + tick_room(panel, "x", cell)[1]
    if panel.right:
        bottom = max(bottom, 2 * GAP + tick_room(panel.right, "x", cell)[1])
    top = GAP + text_height(wrapped(panel.title or "", 0.85 * cell.width, TITLE), TITLE)
    right = 2 * GAP + sum(color_bar_width(mark, 0.75 * cell.height) for mark in panel.marks)
    if panel.legend == "panel":
        words = [wrapped(word, BESIDE * cell.width) for word in (*_labels(panel), panel.legend_title or "")]
        right += FONT * max(map(text_width, words)) + KEY + GAP
    return left, right, top, bottom


def _labels(panel: Panel) -> list[str]:
    """Return what a legend explains of a panel and the narrow ones beside it, each once."""
    marks = [mark for part in (panel, panel.right, panel.top) if part for mark in part.marks]
    return list(dict.fromkeys(mark.label for mark in marks if getattr(mark, "label", None)))


def _notes(figure: Figure, width: float) -> str:
    """Return the notes, in lines that fit into a width."""
    return "\n".join(wrapped(note, width - 2 * GAP, SMALL) for note in figure.notes)


def _head(figure: Figure, width: float) -> float:
    """Estimate the pixels that the title and the legend take above all panels."""
    rows = _legend_rows(figure, width)
    return _title_height(figure) + GAP + rows * 1.55 * FONT + GAP * bool(rows)


def _title_height(figure: Figure) -> float:
    return text_height(figure.title, TITLE + 2) + GAP if figure.title else 0.0


def _legend_rows(figure: Figure, width: float) -> int:
    """Estimate how many lines the legend above all panels has, with its title."""
    labels = [label for panel in figure.panels if panel.legend == "figure" for label in _labels(panel)]
    lengths = [FONT * text_width(label) + KEY for label in dict.fromkeys(labels)]
    title = FONT * text_width(figure.legend_title) + GAP if figure.legend_title else 0.0
    if sum(lengths) + title <= width - 2 * GAP:
        return min(1, len(lengths))
    rows, taken = 1, 0.0
    for length in lengths:
        rows, taken = (rows, taken + length) if taken + length <= width or not taken else (rows + 1, length)
    return rows + bool(title)


def _write_around(page: Page, figure: Figure) -> None:
    """Write the title and the legend of all panels above them, and the notes in small print below."""
    above = 1 - GAP / page.height
    if figure.title:
        font = {"size": TITLE + 2}
        where = {"x": 0.5, "y": above, "xanchor": "center", "yanchor": "top"}
        page.layout["title"] = {"text": escaped(figure.title), "font": font, **where}
    side = "top center" if _legend_rows(figure, page.width) > 1 else "left"
    page.layout["legend"] = LEGEND | {
        "orientation": "h",
        "x": 0.5,  # plotly breaks its lines as if it began at the left edge, wherever it does
        "y": above - _title_height(figure) / page.height,
        "xanchor": "center",
        "title": {"text": escaped(figure.legend_title or ""), "font": {"size": FONT}, "side": side},
    }
    if figure.notes:
        where = {"x": GAP / page.width, "y": GAP / 2 / page.height, "xanchor": "left", "align": "left"}
        text = escaped(_notes(figure, page.width))
        page.annotations.append(WORDS | where | {"text": text, "font": {"size": SMALL}, "opacity": 0.8})


def _draw_panel(
    page: Page, panel: Panel, outer: Box, legend: str, before: tuple[PanelAxis, str] | None
) -> str:
    """Draw a panel, and the narrow ones beside and above it on its axes; return the name of its y-axis."""
    beside = _narrow(panel, outer.width) + BETWEEN if panel.right else 0.0
    above = panel.beside * outer.height + BETWEEN if panel.top else 0.0
    box = Box(outer.left, outer.bottom, outer.width - beside, outer.height - above)
    x, y = axis_spec(panel, "x", page, box), axis_spec(panel, "y", page, box)
    if before and not panel.y.numbers and _alike(before[0], panel.y):
        y["matches"] = before[1]
    names = page.add_axes(x, y)
    if panel.equal:
        y.update(scaleanchor=names["x"], constrain="domain")
        x.update(constrain="domain")
    key_width = BESIDE * page.cell.width if panel.legend == "panel" else page.width - KEY - 2 * GAP
    axes: dict[Way, PanelAxis] = {"x": panel.x, "y": panel.y}
    frame = PanelContext(page, box, axes, names, legend, key_width, _groups(panel), room=beside + GAP)
    frame.draw(panel.marks)
    if panel.right:
        narrow = Box(outer.left + box.width + BETWEEN, box.bottom, beside - BETWEEN, box.height)
        _draw_beside(frame, panel, panel.right, "x", narrow)
    if panel.top:
        narrow = Box(box.left, box.bottom + box.height + BETWEEN, box.width, above - BETWEEN)
        _draw_beside(frame, panel, panel.top, "y", narrow)
    if panel.legend == "panel":
        title = escaped(wrapped(panel.legend_title or "", key_width))
        begins = (box.left + box.width + frame.room) / page.width
        where = {"x": begins, "y": page.share(outer, "y")[1], "xanchor": "left"}
        page.layout[legend] = LEGEND | where | {"title": {"text": title, "font": {"size": FONT}}}
    if panel.title:
        where = {"x": sum(page.share(outer, "x")) / 2, "y": page.share(outer, "y")[1], "xanchor": "center"}
        title = escaped(wrapped(panel.title, 0.85 * page.cell.width, TITLE))
        page.annotations.append(WORDS | where | {"text": title, "font": {"size": TITLE}})
    return names["y"]


def _draw_beside(frame: PanelContext, panel: Panel, part: Panel, way: Way, box: Box) -> None:
    """Draw a narrow panel with an axis of its own one way, the other way on the axis of the panel."""
    page, across = frame.page, OTHER[way]
    own = axis_spec(part, way, page, box) | {"tickfont": {"size": SMALL}}
    follow = {"matches": frame.names[across], "showticklabels": False, "ticks": "", "title": None}
    shared = axis_spec(panel, across, page, box) | follow
    names = page.add_axes(own, shared) if way == "x" else page.add_axes(shared, own)
    axes = frame.axes | {way: getattr(part, way)}
    groups = frame.groups | _groups(part)
    PanelContext(page, box, axes, names, frame.legend, frame.legend_width, groups).draw(part.marks)


def _narrow(panel: Panel, width: float) -> float:
    """Return how wide the panel to the right is: what stands at its foot must not reach under others."""
    axis = panel.right.x if panel.right else PanelAxis()
    texts = [text for _, text in axis.ticks or () if axis.numbers and not axis.turned]
    return min(
        max([panel.beside * width, *(SMALL * text_width(text) + 2 * GAP for text in texts)]), 0.4 * width
    )


def _alike(one: PanelAxis, two: PanelAxis) -> bool:
    """Return whether two axes have the same limits."""
    return (one.scale, one.low, one.high) == (two.scale, two.low, two.high)


def _groups(panel: Panel) -> dict[str, str]:
    """Return the label of each color: a band without one comes and goes with the line it belongs to."""
    groups: dict[str, str] = {}
    for mark in panel.marks:
        if isinstance(mark, Line | Points | Bars) and mark.label and mark.color != style.INK:
            groups.setdefault(str(mark.color), mark.label)
    return groups
