"""Figures rendered by matplotlib: on a new page, on axes somebody has, or as a PNG without any window."""

from paribus._display.matplotlib.page import draw, png

__all__ = ["draw", "png"]
