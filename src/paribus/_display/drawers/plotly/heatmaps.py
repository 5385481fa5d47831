"""Marks that cover a panel: maps of cells, contours, and cells that are struck out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paribus._contracts import Floats
from paribus._display import style
from paribus._display.drawers.plotly.axes import places
from paribus._display.drawers.plotly.geometry import Spec
from paribus._display.drawers.plotly.hover_text import FONT, SMALL, escaped, hover_cells, wrapped
from paribus._display.drawers.plotly.page_margins import BAR, bar_width
from paribus._display.drawers.plotly.panel_context import PanelContext
from paribus._display.figure import Band, Contours, Hatch, Heat, Mark
from paribus._display.mark_helpers import is_light, labeled_levels, lined_levels
from paribus._display.runs import stretches

LARGE = 10_000  # cells of a surface: each of its lines would repeat them all in the page


def draw_heat(mark: Heat, frame: PanelContext) -> None:
    """Color cells, with a color bar where they have a unit."""
    frame.covered = True
    spec: Spec = {
        "type": "heatmap",
        "x": places(mark.x_edges, frame.x),
        "y": places(mark.y_edges, frame.y),
        "z": mark.values,
        "colorscale": mark.colors if isinstance(mark.colors, str) else _evenly(mark.colors),
        "zmin": mark.low,
        "zmax": mark.high,
        "showscale": mark.unit is not None,
        "hoverongaps": False,
        **hover_cells(mark.hover),
    }
    if mark.written:
        spec["text"] = [[escaped(text) for text in row] for row in mark.written]
        spec["texttemplate"] = "%{text}"
    if mark.unit is not None:
        spec["colorbar"] = _color_bar(mark, mark.unit, frame)
    frame.add(mark, spec)


def _evenly(colors: tuple[str, ...]) -> list[tuple[float, str]]:
    return list(zip(np.linspace(0, 1, len(colors)).tolist(), colors, strict=True))


def _color_bar(mark: Mark, unit: str, frame: PanelContext) -> Spec:
    """Place a color bar beside its own panel."""
    page, box = frame.page, frame.box
    begins = box.left + box.width + frame.room
    frame.room += bar_width(mark, box.height)
    return {
        "x": begins / page.width,
        "xanchor": "left",
        "xpad": 0,
        "y": sum(page.upwards(box)) / 2,
        "len": box.height / page.height,
        "ypad": 0,
        "thickness": BAR,
        "outlinewidth": 0,
        "title": {"text": escaped(wrapped(unit, box.height)), "side": "right", "font": {"size": FONT}},
    }


def draw_contours(mark: Contours, frame: PanelContext) -> None:
    """Fill contours with lines at every other level."""
    frame.covered = True
    step = float(np.ptp(mark.levels)) / max(len(mark.levels) - 1, 1) or 1.0
    # Plotly fills below the first and above the last level too, so that the outermost need not be given.
    inner = mark.levels[1:-1] if len(mark.levels) > 3 else mark.levels
    field_of = {
        "type": "contour",
        "x": places(mark.x, frame.x),
        "y": places(mark.y, frame.y),
        "z": mark.values,
        "hoverinfo": "skip",
    }
    filled = {
        "contours": {"start": inner[0], "end": inner[-1], "size": step, "coloring": "fill"},
        "line": {"width": 0.5, "color": "rgba(0,0,0,0.3)"},
        "colorscale": mark.colors,
        "colorbar": _color_bar(mark, mark.unit, frame)
        | {"tickvals": labeled_levels(mark), "tickformat": _decimals(labeled_levels(mark))},
        **hover_cells(mark.hover),
    }
    frame.add(mark, field_of | filled)
    for level, color in _lined(mark) if mark.values.size <= LARGE else ():
        written = {"showlabels": True, "labelfont": {"size": SMALL, "color": color}, "coloring": "none"}
        where = {"start": level, "end": level, "size": step, "labelformat": _decimals(labeled_levels(mark))}
        line = {"contours": written | where, "line": {"width": 1.0, "color": color}, "showscale": False}
        frame.add(mark, field_of | line)


def _lined(mark: Contours) -> list[tuple[float, str]]:
    """Return every other level that is reached, and the color that can be read on its own."""
    from plotly.colors import get_colorscale, sample_colorscale, unlabel_rgb

    levels = lined_levels(mark)
    low, high = float(mark.levels[0]), float(mark.levels[-1])
    shares = [(level - low) / ((high - low) or 1.0) for level in levels]
    grounds = sample_colorscale(get_colorscale(mark.colors), shares) if levels else []
    light = [is_light([part / 255 for part in unlabel_rgb(ground)]) for ground in grounds]
    return [(level, "#222222" if bright else "#eeeeee") for level, bright in zip(levels, light, strict=True)]


def _decimals(values: Sequence[float]) -> str:
    """Return how numbers are written in full, no longer than needed."""
    hardly = 1e-6 * (max(values) - min(values))
    for decimals in range(7):
        if all(abs(round(value, decimals) - value) <= hardly for value in values) and max(values) < 1e6:
            return f".{decimals}f"
    return f".{max(3, int(np.ceil(np.log10(max(map(abs, values)) / np.ptp(values)))) + 2)}~g"


def draw_hatch(mark: Hatch, frame: PanelContext) -> None:
    """Strike cells out."""
    outlines = []
    for bottom, top, row in zip(mark.y_edges[:-1], mark.y_edges[1:], mark.mask, strict=True):
        for run in stretches(row):
            left, right = mark.x_edges[run.start], mark.x_edges[run.stop]
            outlines.append((np.array([left, right, right, left]), np.array([bottom, bottom, top, top])))
    # Dark strokes on a pale wash are seen on any color of a scale and on either background.
    pattern = {"shape": "/", "fgcolor": "rgba(60,60,60,0.9)", "bgcolor": "rgba(235,235,235,0.3)"}
    pattern_spec = {"fillpattern": pattern | {"size": 7, "solidity": 0.14}}
    fill_outlines(mark, frame, outlines, pattern_spec, style.INK)


def fill_outlines(
    mark: Band | Hatch, frame: PanelContext, outlines: list[tuple[Floats, Floats]], extra: Spec, color: str
) -> None:
    """Fill what some outlines enclose, as one trace."""
    if not outlines:
        return
    x = np.concatenate([np.append(along, along[0]) for along, _ in outlines])
    y = np.concatenate([np.append(upwards, np.nan) for _, upwards in outlines])
    spec = {
        "type": "scatter",
        "mode": "lines",
        "x": places(x, frame.x),
        "y": places(y, frame.y),
        "fill": "toself",
        "line": {"width": 0, "color": "rgba(0,0,0,0)"},
        "hoverinfo": "skip",
    }
    frame.add(mark, spec | extra, mark.label, color)
