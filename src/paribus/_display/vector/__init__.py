"""Figures as SVG for pages, written without any plotting package."""

from paribus._display.vector.canvas import DARK, LIGHT, css
from paribus._display.vector.page import render, sparkline

__all__ = ["DARK", "LIGHT", "css", "render", "sparkline"]
