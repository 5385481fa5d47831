"""Rendering of figures by a plotting library."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from paribus._display.figure import Figure
from paribus._typing import PlotBackend
from paribus.errors import DrawingError, check_choice
from paribus.results.effect_mapping import EffectMapping

EXTRAS = {"matplotlib": "plot", "plotly": "plotly"}  # what to install them with


def draw(figure: Figure, *, backend: str = "matplotlib", ax: Any = None) -> Any:
    """Draw a figure with a plotting library.

    Parameters
    ----------
    figure : Figure
        The figure to draw.
    backend : {"matplotlib", "plotly"}
        The library that draws it.
    ax : matplotlib Axes or sequence of them, optional
        Where matplotlib draws: as many as there are panels. A new figure otherwise.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure
    """
    return _render(figure, backend, ax)[0]


def draw_result(result: object, figure: Figure, backend: str, ax: Any) -> Any:
    """Draw the figure of a result; matplotlib returns the axes for a single panel."""
    page, axes = _render(figure, backend, ax)
    return axes[0] if len(axes) == 1 and not isinstance(result, EffectMapping) else page


def _render(figure: Figure, backend: str, ax: Any) -> tuple[Any, list[Any]]:
    check_choice("backend", backend, PlotBackend)
    if find_spec(backend) is None:
        raise DrawingError(f"{backend} is not installed; pip install 'paribus[{EXTRAS[backend]}]'")
    if backend == "matplotlib":
        from paribus._display import matplotlib

        return matplotlib.draw(figure, ax)
    if ax is not None:
        raise DrawingError("ax= is where matplotlib draws; backend='plotly' makes a figure of its own")
    from paribus._display import plotly

    return plotly.draw(figure), []
