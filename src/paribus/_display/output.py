"""Figures drawn by a plotting library, as SVG, and in notebooks."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from importlib.util import find_spec
from typing import Any

from paribus._display.figure import Figure
from paribus._display.text_width import printable
from paribus._display.vector import render
from paribus._display.vector.canvas import ThemeName
from paribus._typing import PlotBackend
from paribus.errors import DrawingError, check_choice
from paribus.results.effects import EffectMapping

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


def render_svg(figure: Figure, *, dark: bool = False, id_prefix: str | None = None) -> str:
    """Render a figure as a standalone SVG with colors and a ground of its own.

    Parameters
    ----------
    figure : Figure
        What is to be seen.
    dark : bool
        Whether to draw light marks on a dark ground.
    id_prefix : str, optional
        What the ids in it begin with, so that several SVGs can stand in one page; derived from what is drawn
        by default.

    Returns
    -------
    str
        An ``<svg>`` element with a title and a description.
    """
    theme: ThemeName = "dark" if dark else "light"
    if id_prefix is None:
        drawn = render(figure, id_prefix="paribus", theme=theme)
        id_prefix = f"paribus-{sha256(drawn.encode()).hexdigest()[:12]}"
    return render(figure, id_prefix=id_prefix, theme=theme)


PANELS = 9  # of many effects, the strongest; a notebook is scrolled, not turned over
DPI = 110


def bundle(result: Any) -> dict[str, Any]:
    """Return a result as text, as a page and as a picture, if it has one that can be drawn here."""
    text = repr(result)
    written = escape(printable(text), quote=True)
    page = f"<pre>{written}</pre>"
    shown: dict[str, Any] = {"text/plain": text, "text/html": page}
    picture = _png(result)
    if picture is not None:
        data = b64encode(picture).decode()
        image = f'<img alt="{written.splitlines()[0]}" src="data:image/png;base64,{data}">'
        shown |= {"text/html": image + page, "image/png": picture}
    return shown


def _png(result: Any) -> bytes | None:
    """Return the picture; None where matplotlib is not installed, or a picture needs options."""
    if find_spec("matplotlib") is None:
        return None
    try:
        figure = result.figure(k=PANELS) if isinstance(result, EffectMapping) else result.figure()
    except DrawingError:  # such as three features at once, or several outputs of which none was chosen
        return None
    from paribus._display.matplotlib import png

    return png(figure, DPI)
