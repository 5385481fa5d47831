"""One panel, and the narrow ones beside and above it."""

from __future__ import annotations

from paribus._display.drawers.plotly.axes import alike, describe_axis, follow, join
from paribus._display.drawers.plotly.geometry import GAP, Box, Page, Spec
from paribus._display.drawers.plotly.hover_text import SMALL, TITLE, escaped, text_width, wrapped
from paribus._display.drawers.plotly.legends import groups_of
from paribus._display.drawers.plotly.marks import PENS
from paribus._display.drawers.plotly.panel_context import PanelContext
from paribus._display.figure import Panel, PanelAxis

BETWEEN = 12.0  # pixels between a panel and the narrow one beside it, so that their numbers do not touch


def draw_panel(page: Page, number: int, panel: Panel, legend: str) -> None:
    """Draw a panel, and the narrow ones beside and above it on its axes."""
    outer = page.boxes[number]
    wide = outer.width - (_narrow(panel, outer.width) + BETWEEN if panel.right else 0.0)
    high = outer.height - (panel.beside * outer.height + BETWEEN if panel.top else 0.0)
    box = Box(outer.left, outer.bottom, wide, high)
    x, y = describe_axis(panel, "x", page, box), describe_axis(panel, "y", page, box)
    shared = page.rows.get(number // page.columns)
    if shared and not panel.y.numbers and alike(shared[0], panel.y):
        y["matches"] = shared[1]
    names = join(page, x, y)
    if panel.y.numbers:  # panels after it without numbers of their own are read off these
        page.rows[number // page.columns] = (panel.y, names["y"])
    if panel.equal:
        y.update(scaleanchor=names["x"], constrain="domain")
        x.update(constrain="domain")
    room = outer.width - wide + GAP
    _draw_marks(PanelContext(page, panel.x, panel.y, names, legend, box, groups_of(panel), room), panel)
    if panel.right:
        beside = Box(box.left + wide + BETWEEN, box.bottom, outer.width - wide - BETWEEN, high)
        x, y = describe_axis(panel.right, "x", page, beside), follow(panel, "y", page, beside, names["y"])
        x["tickfont"] = {"size": SMALL}
        _draw_beside(page, panel.right, x, y, legend, beside, panel)
    if panel.top:
        above = Box(box.left, box.bottom + high + BETWEEN, wide, outer.height - high - BETWEEN)
        x, y = follow(panel, "x", page, above, names["x"]), describe_axis(panel.top, "y", page, above)
        _draw_beside(page, panel.top, x, y, legend, above, panel)
    if panel.title:
        _write_title(page, panel.title, outer)


def _narrow(panel: Panel, width: float) -> float:
    """Return how wide the panel to the right is: what it says at its foot must not reach under others."""
    axis = panel.right.x if panel.right else PanelAxis()
    words = [
        text_width(text, SMALL) + 2 * GAP for _, text in axis.ticks or () if axis.numbers and not axis.turned
    ]
    return min(max([panel.beside * width, *words]), 0.4 * width)


def _draw_beside(page: Page, panel: Panel, x: Spec, y: Spec, legend: str, box: Box, main: Panel) -> None:
    names = join(page, x, y)
    groups = groups_of(main) | groups_of(panel)
    right = main.right is panel
    x_axis, y_axis = (panel.x, main.y) if right else (main.x, panel.y)
    _draw_marks(PanelContext(page, x_axis, y_axis, names, legend, box, groups), panel)


def _write_title(page: Page, title: str, box: Box) -> None:
    page.annotations.append(
        {
            "text": escaped(wrapped(title, 0.85 * page.cell.width, TITLE)),
            "xref": "paper",
            "yref": "paper",
            "x": (box.left + box.width / 2) / page.width,
            "y": (box.bottom + box.height) / page.height,
            "xanchor": "center",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": TITLE},
        }
    )


def _draw_marks(frame: PanelContext, panel: Panel) -> None:
    for mark in panel.marks:
        PENS[type(mark)](mark, frame)
