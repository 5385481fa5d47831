"""Figures of the page: what composers make of results, drawn as SVG, each with its numbers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._display.compose.curves import curve_panel
from paribus._display.compose.surfaces import surface_panel
from paribus._display.figure import Figure, Panel, Rug, Strip
from paribus._display.layout import figure_of, single_panel
from paribus._display.vector import render, sparkline
from paribus._report.markup import Content, Markup, element
from paribus._report.tables import folded
from paribus.errors import DrawingError
from paribus.results.curve_values import as_numbers
from paribus.results.marginal import Marginal
from paribus.results.partial_dependence import PartialDependence
from paribus.results.shape import Shape
from paribus.results.tails import trimmed

MEDIUM = 500.0  # pixels: text can be read where a narrow window makes it smaller
SMALL = (3.95, 3.0)  # inches: three figures of a feature stand beside each other
ALL_OUTPUTS, SOME_OUTPUTS = 4, 3  # of a model with more than four, figures have three: those that move most


def figure(
    drawings: Figure | Sequence[Figure],
    caption: Content,
    key: str,
    numbers: Content = None,
    width: float | None = None,
    readouts: bool = False,
) -> Markup:
    """Return images with one caption, and their numbers folded below; ids in them begin with ``key``.

    With ``readouts`` points show their numbers to a pointer, which needs no script.
    """
    every = [drawings] if isinstance(drawings, Figure) else drawings
    images = [
        Markup(render(_bare(drawing), id_prefix=f"{key}-{place}", width=width, hover=readouts))
        for place, drawing in enumerate(every)
    ]
    several = len(images) > 1
    table = None if numbers is None else folded("Numbers of this figure", numbers, class_="numbers")
    shown = element("div", *images, class_="images") if several else images
    return element("figure", shown, element("figcaption", caption), table, class_="wide" if several else None)


def _bare(drawing: Figure) -> Figure:
    """Return a figure without what stands beside it on the page; its strip of data has no read-outs."""
    return replace(drawing, notes=(), title=None, panels=tuple(map(_quiet, drawing.panels)))


def _quiet(panel: Panel) -> Panel:
    marks = (replace(mark, hover=()) if isinstance(mark, (Strip, Rug)) else mark for mark in panel.marks)
    right, top = (part and _quiet(part) for part in (panel.right, panel.top))
    return replace(panel, marks=tuple(marks), right=right, top=top)


def spark(effect: PartialDependence, shape: Shape | None) -> Markup:
    """Return the curve of a feature as a word-sized image, with ± 2 standard errors if its shape has them."""
    below, above = effect.tail_points
    inner = trimmed(effect)
    if effect.average is None or inner.average is None or not inner.average.size:
        return Markup("")
    output = moved_most(effect.average, 1)[0] if shape is None else effect.output_names.index(shape.output)
    curve, values = inner.average[output], inner.grid_values[0]
    low = high = None
    if shape is not None and len(shape.centered_error) == effect.average.shape[1]:
        error = 2 * shape.centered_error[below : effect.average.shape[1] - above]
        low, high = curve - error, curve + error
    places = as_numbers(values) if effect.kinds[0] in ("numeric", "integer", "datetime") else None
    return Markup(sparkline(places, curve, low, high))


def drawn_outputs(result: Any) -> list[int]:
    """Return the outputs that are drawn: all of few, or those that move most.

    Averages near a value need an image for each output, so that of many only one is drawn.
    """
    curves: Floats = next(result[key] for key in ("average", "ale", "predicted", "observed") if key in result)
    some = 1 if isinstance(result, Marginal) else SOME_OUTPUTS
    return moved_most(curves, len(curves) if len(curves) <= ALL_OUTPUTS else some)


def moved_most(curves: Floats, most: int) -> list[int]:
    """Return the outputs ``(n_outputs, ...)`` that move most, in their own order."""
    flat = np.nan_to_num(curves.reshape(len(curves), -1))
    moved = np.ptp(flat, axis=1) if flat.shape[1] else np.zeros(len(curves))
    return sorted(np.argsort(-moved, kind="stable")[:most].tolist())


def curve_figures(result: Any, outputs: Sequence[int]) -> list[Figure]:
    """Return curves of one feature: an image for each output where one has bands of its own, on one scale."""
    if len(result.output_names) > ALL_OUTPUTS and isinstance(result, PartialDependence):
        result = replace(result, quantiles=None)
    together = not isinstance(result, Marginal) and result.get("quantiles") is None
    groups = [list(outputs)] if together or len(outputs) == 1 else [[output] for output in outputs]
    drawing = figure_of([curve_panel(result, group) for group in groups], columns=1)
    return [replace(drawing, panels=(panel,), size=SMALL) for panel in drawing.panels]


def surface_figure(effect: PartialDependence, output: int) -> Figure | None:
    """Return the surface of two features; None where it cannot be drawn."""
    try:
        return figure_of([surface_panel(effect, output)])
    except DrawingError:
        return None


def panel_figure(panel: Panel) -> Figure:
    """Return the figure of a single panel."""
    return single_panel(panel, SMALL, ())
