"""Rendering of figures as SVG, without a plotting package."""

from paribus._display.mark_helpers import DARK, LIGHT
from paribus._display.vector.canvas import css
from paribus._display.vector.page import render, sparkline

__all__ = ["DARK", "LIGHT", "css", "render", "sparkline"]
