"""Drawing of figures with a plotting library, as SVG, and in notebooks."""

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
from paribus.errors import DrawingError, check_choice, check_flags

EXTRAS = {"matplotlib": "plot", "plotly": "plotly"}  # the optional dependencies that install them


def draw(figure: Figure, *, backend: str = "matplotlib", ax: Any = None, dark: bool = False) -> Any:
    """Draw a figure with a plotting library.

    Parameters
    ----------
    figure : Figure
        The figure to draw.
    backend : {"matplotlib", "plotly"}
        The library that draws it.
    ax : matplotlib Axes or sequence of them, optional
        Axes for matplotlib to draw on, one for each panel. By default a new figure is made.
    dark : bool
        Whether to draw on a dark background.

    Returns
    -------
    matplotlib.figure.Figure or plotly.graph_objects.Figure
        The new figure, or the one that contains the given axes.
    """
    check_choice("backend", backend, PlotBackend)
    if find_spec(backend) is None:
        raise DrawingError(f"{backend} is not installed; pip install 'paribus[{EXTRAS[backend]}]'")
    if ax is not None and backend == "plotly":
        raise DrawingError("ax= is where matplotlib draws; backend='plotly' makes a new figure")
    check_flags(dark=dark)
    if ax is not None and dark:
        raise DrawingError("ax= has the colors of its figure; leave out dark=")
    if backend == "matplotlib":
        from paribus._display import matplotlib

        return matplotlib.draw(figure, ax, dark=dark)[0]
    from paribus._display import plotly

    return plotly.draw(figure, dark=dark)


def render_svg(figure: Figure, *, dark: bool = False, id_prefix: str | None = None) -> str:
    """Render a figure as a standalone SVG with fixed colors and background.

    Parameters
    ----------
    figure : Figure
        The figure to render.
    dark : bool
        Whether to draw light marks on a dark background.
    id_prefix : str, optional
        The prefix of all ids, which must be unique within a page. By default it is a hash of the image.

    Returns
    -------
    str
        An ``<svg>`` element with a title and a description.
    """
    check_flags(dark=dark)
    theme: ThemeName = "dark" if dark else "light"
    if id_prefix is None:
        drawn = render(figure, id_prefix="paribus", theme=theme)
        id_prefix = f"paribus-{sha256(drawn.encode()).hexdigest()[:12]}"
    return render(figure, id_prefix=id_prefix, theme=theme)


DPI = 110


def bundle(result: Any) -> dict[str, Any]:
    """Return a result as text, as HTML and, if it can be plotted, as PNG, by MIME type."""
    text = repr(result)
    written = escape(printable(text), quote=True)
    page = f"<pre>{written}</pre>"
    shown: dict[str, Any] = {"text/plain": text, "text/html": page}
    picture = _notebook_png(result)
    if picture is not None:
        data = b64encode(picture).decode()
        image = f'<img alt="{written.splitlines()[0]}" src="data:image/png;base64,{data}">'
        shown |= {"text/html": image + page, "image/png": picture}
    return shown


def _notebook_png(result: Any) -> bytes | None:
    """Return the PNG of a result; None without matplotlib, or if the figure needs options."""
    if find_spec("matplotlib") is None:
        return None
    try:
        figure = result.figure()
    except DrawingError:  # such as an effect of three features, or several outputs without a selected one
        return None
    from paribus._display.matplotlib import png

    return png(figure, DPI)
