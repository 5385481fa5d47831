"""The whole picture: its panels, legends, title and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from paribus._display.drawers.plotly.colors import INK
from paribus._display.drawers.plotly.geometry import GAP, Page
from paribus._display.drawers.plotly.hover_text import FONT, SMALL, TITLE, escaped
from paribus._display.drawers.plotly.legends import legend_above, legend_beside
from paribus._display.drawers.plotly.page_margins import notes_of, share_out
from paribus._display.drawers.plotly.panel import draw_panel
from paribus._display.figure import Figure

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Along the right side, as in a row it would hide titles and legends. Buttons without a use are left out, and
# the one that sends what is drawn to a cloud.
MODE_BAR = {
    "orientation": "v",
    "bgcolor": "rgba(0,0,0,0)",
    "color": "rgba(128,128,128,0.6)",
    "activecolor": INK,
    "remove": ["select2d", "lasso2d", "zoomIn2d", "zoomOut2d", "autoScale2d", "sendChartToCloud"],
}


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

    page = share_out(figure)
    for number, panel in enumerate(figure.panels):
        legend = "legend"
        if panel.legend == "panel":
            legend = f"legend{number + 2}"
            page.layout[legend] = legend_beside(page, number, panel)
        draw_panel(page, number, panel, legend)
    page.layout["legend"] = legend_above(page, figure)
    _say(page, figure)
    chosen = pio.templates.default
    page.layout.update(
        template="simple_white" if chosen == "plotly" else chosen,
        width=round(page.width),
        height=round(page.height),
        margin={"l": 0, "r": 0, "t": 0, "b": 0, "autoexpand": False},
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


def _say(page: Page, figure: Figure) -> None:
    """Write the title, and the notes in small print below all panels."""
    if figure.title:
        page.layout["title"] = {
            "text": escaped(figure.title),
            "font": {"size": TITLE + 2},
            "x": 0.5,
            "y": 1 - GAP / page.height,
            "xanchor": "center",
            "yanchor": "top",
        }
    if figure.notes:
        page.annotations.append(
            {
                "text": escaped(notes_of(figure, page.width)),
                "xref": "paper",
                "yref": "paper",
                "x": GAP / page.width,
                "y": GAP / 2 / page.height,
                "xanchor": "left",
                "yanchor": "bottom",
                "align": "left",
                "showarrow": False,
                "font": {"size": SMALL},
                "opacity": 0.8,
            }
        )
