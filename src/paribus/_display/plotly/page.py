"""Figures of panels, legends, title and notes in plotly, and their layout."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from paribus._display.figure import Bars, Figure, Line, Panel, PanelAxis, Points
from paribus._display.mark_helpers import DARK, FONTS, HEADING, SMALL, TICK, TITLE, in_dark_colors
from paribus._display.mark_helpers import INK as FIGURE_INK
from paribus._display.plotly.marks import (
    GAP,
    INK,
    OTHER,
    Box,
    Page,
    PanelContext,
    Size,
    Spec,
    Way,
    axis_label,
    axis_spec,
    color_bar_width,
    escaped,
    text_height,
    tick_room,
    wrapped,
)
from paribus._display.text_width import text_width

if TYPE_CHECKING:
    import plotly.graph_objects as go

INCH = 96.0  # in pixels
LEAST = 0.45  # smallest share of its grid cell for a panel; if labels need more, the figure grows
BETWEEN = 12.0  # pixels between a panel and the narrow one beside it
KEY = 46.0  # pixels of the symbol of a legend entry
BESIDE = 0.35  # largest share of a grid cell for the labels of the legend of a panel
# A vertical bar at the right side, because a horizontal one would cover titles and legends. Buttons without
# a use are removed, and so is the button that uploads the figure.
MODE_BAR = {
    "orientation": "v",
    "bgcolor": "rgba(0,0,0,0)",
    "color": "rgba(128,128,128,0.6)",
    "activecolor": INK,
    "remove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "sendChartToCloud"],
}
WORDS: Spec = {"xref": "paper", "yref": "paper", "showarrow": False, "yanchor": "bottom"}
TEXT: Spec = {"font": {"size": TICK, "family": FONTS}}
BOLD: Spec = {"weight": 600}
LAYOUT: Spec = {"margin": dict.fromkeys("lrtb", 0), "barmode": "overlay", "showlegend": True} | TEXT
LAYOUT |= {"modebar": MODE_BAR, "hovermode": "closest", "hoverlabel": {"align": "left"} | TEXT}
LEGEND: Spec = {"yanchor": "top", "bgcolor": "rgba(0,0,0,0)", "tracegroupgap": 0} | TEXT


def draw(figure: Figure, *, dark: bool = False) -> go.Figure:
    """Draw a figure with plotly.

    Parameters
    ----------
    figure : Figure
        The figure to draw.
    dark : bool
        Whether to draw on a dark background. By default texts and axes have the colors of the template.

    Returns
    -------
    plotly.graph_objects.Figure
        The figure of plotly.
    """
    import plotly.graph_objects as go
    import plotly.io as pio

    figure = in_dark_colors(figure) if dark else figure
    columns = max(1, min(figure.columns, len(figure.panels)))
    page, boxes = _shared_out(figure, columns)
    before = None  # the last y-axis with numbers in the row, which later panels without numbers match
    for number, (panel, box) in enumerate(zip(figure.panels, boxes, strict=True)):
        before = before if number % columns else None
        legend = f"legend{number + 2}" if panel.legend == "panel" else "legend"
        name = _plotly_panel(page, panel, box, legend, before)
        before = (panel.y, name) if panel.y.numbers else before
    _write_around(page, figure)
    template = "plotly_dark" if dark else pio.templates.default
    page.layout |= LAYOUT | {
        "template": "simple_white" if template == "plotly" else template,
        **({"paper_bgcolor": DARK.paper, "plot_bgcolor": DARK.paper} if dark else {}),
        "width": round(page.size["x"]),
        "height": round(page.size["y"]),
        "shapes": page.shapes,
        "annotations": page.annotations,
    }
    return go.Figure(data=page.traces, layout=page.layout)


def _shared_out(figure: Figure, columns: int) -> tuple[Page, list[Box]]:
    """Return the page and the box of each panel; texts get their space first, and panels share the rest."""
    rows = max(1, math.ceil(len(figure.panels) / columns))
    width, height = figure.size[0] * INCH, figure.size[1] * INCH
    cell: Size = {"x": width / columns, "y": height / rows}
    rooms = np.zeros((rows * columns, 4))
    rooms[: len(figure.panels)] = [_panel_margins(panel, cell) for panel in figure.panels] or 0.0
    left, right, top, bottom = np.moveaxis(rooms.reshape(rows, columns, 4), 2, 0)
    left, right, top, bottom = left.max(0), right.max(0), top.max(1), bottom.max(1)
    wide = max(LEAST * cell["x"], (width - (left + right).sum()) / columns)
    width = columns * wide + (left + right).sum()
    lines = _legend_rows(figure, width)
    head = _title_height(figure) + GAP + lines * 1.55 * TICK + GAP * bool(lines)
    foot = text_height(_wrapped_notes(figure, width), SMALL) + GAP * bool(figure.notes)
    high = max(LEAST * cell["y"], (height - head - foot - (top + bottom).sum()) / rows)
    height = rows * high + (top + bottom).sum() + head + foot
    ends = (np.cumsum(left + wide + right) - right).tolist()
    floors = (height - head - np.cumsum(top + high + bottom) + bottom).tolist()
    boxes: list[Box] = [{"x": (end - wide, end), "y": (low, low + high)} for low in floors for end in ends]
    return Page({"x": width, "y": height}, cell), boxes[: len(figure.panels)]


def _panel_margins(panel: Panel, cell: Size) -> tuple[float, float, float, float]:
    """Estimate the pixels of texts to the left, to the right, above and below a panel."""
    label = axis_label(panel.y, "y", cell)
    left = GAP * (2 if label else 1) + text_height(label) + tick_room(panel, "y", cell)["x"]
    bottom = GAP + text_height(axis_label(panel.x, "x", cell)) + tick_room(panel, "x", cell)["y"]
    for part in (*panel.left, *panel.right):
        bottom = max(bottom, 2 * GAP + tick_room(part, "x", cell)["y"])
    top = GAP + text_height(wrapped(panel.title or "", 0.85 * cell["x"], TITLE), TITLE)
    right = 2 * GAP + sum(color_bar_width(mark, 0.75 * cell["y"]) for mark in panel.marks)
    if panel.legend == "panel":
        labels = [*_legend_labels(panel), panel.legend_title or ""]
        widths = [text_width(wrapped(label, BESIDE * cell["x"])) for label in labels]
        right += TICK * max(widths) + KEY + GAP
    return left, right, top, bottom


def _legend_labels(panel: Panel) -> list[str]:
    """Return the distinct legend labels of a panel and its narrow panels."""
    marks = [mark for part in panel.parts for mark in part.marks]
    return list(dict.fromkeys(filter(None, (getattr(mark, "label", None) for mark in marks))))


def _wrapped_notes(figure: Figure, width: float) -> str:
    """Return the notes, broken into lines that fit into a width."""
    return "\n".join(wrapped(note, width - 2 * GAP, SMALL) for note in figure.notes)


def _title_height(figure: Figure) -> float:
    return text_height(figure.title, HEADING) + GAP if figure.title else 0.0


def _legend_rows(figure: Figure, width: float) -> int:
    """Estimate the number of lines of the legend above all panels, with its title."""
    labels = [label for panel in figure.panels if panel.legend == "figure" for label in _legend_labels(panel)]
    lengths = [TICK * text_width(label) + KEY for label in dict.fromkeys(labels)]
    title = TICK * text_width(figure.legend_title) + GAP if figure.legend_title else 0.0
    if sum(lengths) + title <= width - 2 * GAP:
        return min(1, len(lengths))
    rows, taken = 1, 0.0
    for length in lengths:
        if taken and taken + length > width:
            rows, taken = rows + 1, 0.0
        taken += length
    return rows + bool(title)


def _write_around(page: Page, figure: Figure) -> None:
    """Add the title and the common legend above the panels, and the notes below them."""
    width, height = page.size["x"], page.size["y"]
    if figure.title:
        where = {"x": GAP / width, "xanchor": "left", "y": 1 - GAP / height, "yanchor": "top"}
        page.layout["title"] = where | {"text": escaped(figure.title), "font": {"size": HEADING} | BOLD}
    side = "top center" if _legend_rows(figure, width) > 1 else "left"
    title = {"text": escaped(figure.legend_title or ""), "side": side} | TEXT
    where = {"y": 1 - (GAP + _title_height(figure)) / height, "orientation": "h"}
    where |= {"x": 0.5, "xanchor": "center"}  # because plotly wraps a legend to the width of the page
    page.layout["legend"] = LEGEND | where | {"title": title}
    if figure.notes:
        where = {"x": GAP / width, "y": GAP / 2 / height, "xanchor": "left", "align": "left"}
        text = escaped(_wrapped_notes(figure, width))
        page.annotations.append(WORDS | where | {"text": text, "font": {"size": SMALL}, "opacity": 0.8})


def _plotly_panel(
    page: Page, panel: Panel, outer: Box, legend: str, before: tuple[PanelAxis, str] | None
) -> str:
    """Draw a panel with its narrow panels, and return the plotly name of its y-axis."""
    (left, right), (bottom, top) = outer["x"], outer["y"]
    ahead, beside = (_widths(panel, side, right - left) for side in (panel.left, panel.right))
    above = panel.narrow * (top - bottom) + BETWEEN if panel.top else 0.0
    box: Box = {"x": (left + sum(ahead), right - sum(beside)), "y": (bottom, top - above)}
    x, y = axis_spec(panel, "x", page, box), axis_spec(panel, "y", page, box)
    if before and replace(before[0], label="", numbers=False) == panel.y:
        y["matches"] = before[1]
    names = page.add_axes(x, y)
    line = page.shapes[-1] if y["ticks"] else {}
    if panel.equal:
        y |= {"scaleanchor": names["x"], "constrain": "domain"}
        x |= {"constrain": "domain"}
    key = BESIDE * page.cell["x"] if panel.legend == "panel" else page.size["x"] - KEY - 2 * GAP
    axes: dict[Way, PanelAxis] = {"x": panel.x, "y": panel.y}
    frame = PanelContext(page, box, axes, names, legend, key, _labels_by_color(panel), GAP + sum(beside))
    frame.draw(panel.marks)
    start, end = box["x"]
    for part, width in zip(panel.right, beside, strict=True):
        _draw_beside(frame, panel, part, "x", {"x": (end + BETWEEN, end + width), "y": box["y"]})
        end += width
    for part, width in zip(reversed(panel.left), reversed(ahead), strict=True):
        start -= width
        place: Box = {"x": (start, start + width - BETWEEN), "y": box["y"]}
        y["anchor"] = _draw_beside(frame, panel, part, "x", place)  # the numbers are to the left of all
        line |= {"xref": f"{y['anchor']} domain"}
    if panel.top:
        _draw_beside(frame, panel, panel.top, "y", {"x": box["x"], "y": (top - above + BETWEEN, top)})
    if panel.legend == "panel":
        where: Spec = {"x": (box["x"][1] + frame.room) / page.size["x"], "y": top / page.size["y"]}
        title = escaped(wrapped(panel.legend_title or "", key))
        page.layout[legend] = LEGEND | where | {"xanchor": "left", "title": {"text": title} | TEXT}
    if panel.title:
        where = {"x": page.share(outer, "x")[0], "y": top / page.size["y"], "xanchor": "left"}
        title = escaped(wrapped(panel.title, 0.85 * page.cell["x"], TITLE))
        look = {"text": title, "align": "left", "font": {"size": TITLE} | BOLD}
        page.annotations.append(WORDS | where | look)
    return names["y"]


def _draw_beside(frame: PanelContext, panel: Panel, part: Panel, way: Way, box: Box) -> str:
    """Draw a narrow panel with its axis along ``way`` and that of the main panel across; return its name."""
    page, across = frame.page, OTHER[way]
    along = axis_spec(part, way, page, box) | {"tickfont": {"size": SMALL}}
    follow = {"matches": frame.names[across], "showticklabels": False, "ticks": "", "title": None}
    shared = axis_spec(panel, across, page, box) | follow
    names = page.add_axes(along, shared) if way == "x" else page.add_axes(shared, along)
    axes, groups = frame.axes | {way: getattr(part, way)}, frame.groups | _labels_by_color(part)
    PanelContext(page, box, axes, names, frame.legend, frame.legend_width, groups).draw(part.marks)
    return names[way]


def _widths(panel: Panel, side: tuple[Panel, ...], width: float) -> list[float]:
    """Return the widths of narrow panels on a side with their gaps; each must contain its tick labels."""
    widths = []
    for part in side:
        texts = [text for _, text in part.x.ticks or () if part.x.numbers and not part.x.turned]
        words = [SMALL * text_width(text) + 2 * GAP for text in texts]
        widths.append(min(max(panel.narrow * width, *words, 0.0), 0.4 * width / len(side)) + BETWEEN)
    return widths


def _labels_by_color(panel: Panel) -> dict[str, str]:
    """Return the legend label of each color, by which a band is grouped with its line."""
    groups: dict[str, str] = {}
    for mark in panel.marks:
        if isinstance(mark, Line | Points | Bars) and mark.label and mark.color != FIGURE_INK:
            groups.setdefault(str(mark.color), mark.label)
    return groups
