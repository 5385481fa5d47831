"""New pages, axes that somebody has, and PNGs without any window."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from paribus._display.drawers.matplotlib.colors import FAINT, fitting, ink, words_along
from paribus._display.drawers.matplotlib.geometry import PanelSize
from paribus._display.drawers.matplotlib.legends import entries_of, legend_above
from paribus._display.drawers.matplotlib.panel import draw_panel
from paribus._display.drawers.matplotlib.user_axes import draw_on_axes
from paribus._display.figure import Figure
from paribus.errors import DrawingError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Page


def draw(figure: Figure, ax: Any = None) -> tuple[Page, list[Axes]]:
    """Draw a figure, and return matplotlib's own figure with the axes of its panels.

    Parameters
    ----------
    figure : Figure
        What is to be seen.
    ax : Axes or sequence of Axes, optional
        Where: as many as there are panels. What they already show, their labels and titles stay; limits
        widen. None makes a new figure with pyplot.

    Returns
    -------
    page : matplotlib.figure.Figure
        The page the axes are on.
    axes : list of Axes
        One for each panel, in their order.
    """
    if ax is not None:
        page, axes = draw_on_axes(figure, _given(ax, len(figure.panels)))
    else:
        import matplotlib.pyplot as plt

        page = plt.figure(figsize=figure.size, layout=_layout(figure))
        axes = _draw_new(figure, page)
    vars(page)["_ipython_display_"] = partial(_shown_once, page)
    return page, axes


def _shown_once(page: Page) -> None:
    """Take a page that a notebook is about to show from pyplot, which would show it again after the cell.

    One that is not shown so stays with pyplot: a notebook shows it after the cell, a script with ``show()``.
    """
    import matplotlib.pyplot as plt

    if "inline" in plt.get_backend():
        plt.close(page)
    raise NotImplementedError  # which makes IPython show it as any other figure


def png(figure: Figure, dpi: int = 110) -> bytes:
    """Return a figure as the bytes of a PNG file; pyplot never hears of it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Page

    page = Page(figsize=figure.size, layout=_layout(figure))
    FigureCanvasAgg(page)
    _draw_new(figure, page)
    written = BytesIO()
    page.savefig(written, format="png", dpi=dpi)
    return written.getvalue()


def _layout(figure: Figure) -> Literal["constrained", "compressed"]:
    """Return the layout: the constrained one cuts labels off axes whose shape is fixed."""
    return "compressed" if any(panel.equal for panel in figure.panels) else "constrained"


def _given(ax: Any, panels: int) -> list[Axes]:
    """Return the axes somebody has as a list of as many as there are panels."""
    from matplotlib.axes import Axes

    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    other = [type(one).__name__ for one in axes if not isinstance(one, Axes)]
    if other:
        raise DrawingError(f"ax takes matplotlib's axes, one or several, not {other[0]}")
    if len(axes) != panels:
        raise DrawingError(f"{len(axes)} axes were given for {panels} panels; give one for each")
    return axes


def _draw_new(figure: Figure, page: Page) -> list[Axes]:
    columns = max(1, min(figure.columns, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    notes = fitting(page, figure.notes, figure.size[0] - 0.15)
    high = figure.size[1] - 0.15 * len(notes.splitlines())
    place = PanelSize(0.75 * figure.size[0] / columns, 0.7 * high / rows)
    # A row without height above the panels: what its legend needs is made room for like any other label,
    # below a title that is there or comes later. Legends of the page itself would lie on the title.
    grid = page.add_gridspec(rows + 1, columns, height_ratios=[1e-6] + [1.0] * rows)
    axes = []
    for number, panel in enumerate(figure.panels):
        ax = page.add_subplot(grid[1 + number // columns, number % columns])
        draw_panel(ax, panel, place)
        axes.append(ax)
    entries = entries_of(
        ax for ax, panel in zip(axes, figure.panels, strict=True) if panel.legend == "figure"
    )
    if entries:
        legend_above(page, page.add_subplot(grid[0, :]), entries, figure.legend_title)
        page.sca(axes[-1])
    if figure.title is not None:
        page.suptitle(words_along(figure.title, 0.8 * figure.size[0]), x=0.01, ha="left", fontsize="large")
    if notes:
        page.supxlabel(notes, x=0.01, ha="left", fontsize="small", color=ink(FAINT))
    return axes
