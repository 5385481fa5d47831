"""Figures as SVG for pages, written without any plotting package."""

from paribus._display.vector.colors import DARK, LIGHT, css
from paribus._display.vector.page import render
from paribus._display.vector.sparkline import sparkline

__all__ = ["DARK", "LIGHT", "css", "render", "sparkline"]
