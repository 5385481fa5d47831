"""A figure as a standalone SVG: text for a page, without scripts, the same to the byte each time."""

from __future__ import annotations

from hashlib import sha256

from paribus._display.figure import Figure
from paribus._display.vector import render
from paribus._display.vector.canvas import ThemeName


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
