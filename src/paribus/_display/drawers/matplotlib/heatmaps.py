"""Marks that cover a panel: maps of cells, contours, and cells that are struck out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._display.drawers.matplotlib.colors import (
    color_map,
    escaped,
    ink,
    legible,
    rgba,
    said_in_legend,
    scaled,
)
from paribus._display.drawers.matplotlib.geometry import PanelSize
from paribus._display.figure import Contours, Hatch, Heat
from paribus._display.mark_helpers import lined_levels

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_heat(ax: Axes, mark: Heat, zorder: float, place: PanelSize) -> Any:
    """Color cells, and return what the color bar explains."""
    drawn = ax.pcolormesh(
        mark.x_edges,
        mark.y_edges,
        np.ma.masked_invalid(mark.values),
        cmap=color_map(mark.colors),
        vmin=mark.low,
        vmax=mark.high,
        zorder=zorder,
    )
    if mark.written:
        _write_cells(ax, mark, drawn, zorder)
    return drawn


def _write_cells(ax: Axes, mark: Heat, drawn: Any, zorder: float) -> None:
    """Write numbers into cells, as large as the longest of them fits."""
    from paribus._display.drawers.matplotlib.cell_text import CellNumber

    # Room for what most numbers take, so that two marks in one panel have letters of one size.
    letters = max(5, *(len(word) for row in mark.written for word in row))
    cell = float(np.diff(mark.x_edges).min()), float(np.diff(mark.y_edges).min())
    x = (mark.x_edges[:-1] + mark.x_edges[1:]) / 2
    y = (mark.y_edges[:-1] + mark.y_edges[1:]) / 2
    for row, words in enumerate(mark.written):
        for column, word in enumerate(words):
            value = mark.values[row, column]
            color = ink() if np.isnan(value) else legible(drawn.to_rgba(value))
            style = {"fontsize": scaled(9), "color": color, "zorder": zorder}
            ax.add_artist(CellNumber(x[column], y[row], escaped(word), cell, letters, **style))


def draw_contours(ax: Axes, mark: Contours, zorder: float, place: PanelSize) -> Any:
    """Fill contours with lines at every other level, and return what the color bar explains."""
    values = np.ma.masked_invalid(mark.values)
    least, most = float(values.min()), float(values.max())
    beyond = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    extend: Any = beyond[least < mark.levels[0], most > mark.levels[-1]]
    filled = ax.contourf(
        mark.x, mark.y, values, levels=mark.levels, cmap=mark.colors, extend=extend, zorder=zorder
    )
    lined = lined_levels(mark)
    if lined:
        colors = [legible(ground) for ground in filled.to_rgba(np.array(lined))]
        lines = ax.contour(
            mark.x, mark.y, values, levels=lined, colors=colors, linewidths=0.6, alpha=0.7, zorder=zorder
        )
        ax.clabel(lines, fontsize=scaled(7.5), fmt=_number, zorder=zorder)
    return filled


def _number(value: float) -> str:
    """Return a number on a contour as short as it is at a tick."""
    digits, _, power = f"{value:.3g}".partition("e")
    return (f"{digits}e{int(power)}" if power else digits).replace("-", "\N{MINUS SIGN}")


def draw_hatch(ax: Axes, mark: Hatch, zorder: float, place: PanelSize) -> None:
    """Strike cells out."""
    from matplotlib import rcParams
    from matplotlib.collections import PolyCollection

    row, column = np.nonzero(mark.mask)
    left, right = mark.x_edges[column], mark.x_edges[column + 1]
    low, high = mark.y_edges[row], mark.y_edges[row + 1]
    x, y = np.stack([left, right, right, left], axis=1), np.stack([low, low, high, high], axis=1)
    cells = PolyCollection(
        list(np.stack([x, y], axis=2)),
        # The colors below are veiled as well: the lines alone are lost on dark ones.
        facecolors=[rgba(rcParams["axes.facecolor"], 0.5)],
        edgecolors=[ink(0.55)],
        linewidths=0,
        hatch="////",
        antialiaseds=False,
        label=said_in_legend(mark) if len(row) else None,
        zorder=zorder,
    )
    ax.add_collection(cells)
    ax.autoscale_view()


def is_covered(ax: Axes) -> bool:
    """Return whether axes have a colored background on which text is hard to read."""
    from matplotlib.collections import QuadMesh
    from matplotlib.contour import ContourSet

    return any(isinstance(drawn, QuadMesh | ContourSet) for drawn in ax.collections)
