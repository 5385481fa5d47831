"""Rendering of figures by matplotlib: as a new figure, on given axes, or as a PNG."""

from paribus._display.matplotlib.page import draw, png

__all__ = ["draw", "png"]
