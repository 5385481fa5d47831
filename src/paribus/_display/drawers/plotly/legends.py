"""Legends: above all panels, or beside one."""

from __future__ import annotations

from paribus._display import style
from paribus._display.drawers.plotly.geometry import GAP, Page, Spec
from paribus._display.drawers.plotly.hover_text import FONT, escaped, wrapped
from paribus._display.drawers.plotly.page_margins import BESIDE, bar_width, legend_rows, title_height
from paribus._display.figure import Bars, Figure, Line, Panel, Points


def legend_above(page: Page, figure: Figure) -> Spec:
    """Place the legend of all panels above them, below the title."""
    return {
        "orientation": "h",
        "x": 0.5,  # plotly breaks its lines as if it began at the left edge, wherever it does
        "y": 1 - (GAP + title_height(figure)) / page.height,
        "xanchor": "center",
        "yanchor": "top",
        "bgcolor": "rgba(0,0,0,0)",
        "tracegroupgap": 0,
        "font": {"size": FONT},
        "title": {
            "text": escaped(figure.legend_title or ""),
            "font": {"size": FONT},
            "side": "top center" if legend_rows(figure, page.width) > 1 else "left",
        },
    }


def legend_beside(page: Page, number: int, panel: Panel) -> Spec:
    """Place the legend of one panel to its right, after its color bars."""
    box = page.boxes[number]
    bars = sum(bar_width(mark, box.height) for mark in panel.marks)
    return {
        "x": (box.left + box.width + GAP + bars) / page.width,
        "y": page.upwards(box)[1],
        "xanchor": "left",
        "yanchor": "top",
        "bgcolor": "rgba(0,0,0,0)",
        "tracegroupgap": 0,
        "font": {"size": FONT},
        "title": {
            "text": escaped(wrapped(panel.legend_title or "", BESIDE * page.cell.width)),
            "font": {"size": FONT},
        },
    }


def groups_of(panel: Panel) -> dict[str, str]:
    """Return the label of each color: a band without one comes and goes with the line it belongs to."""
    found: dict[str, str] = {}
    for mark in panel.marks:
        if isinstance(mark, Line | Points | Bars) and mark.label and mark.color != style.INK:
            found.setdefault(str(mark.color), mark.label)
    return found
