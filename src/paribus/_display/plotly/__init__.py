"""Figures in a browser, drawn by plotly.

What they show when pointed at needs no network, and words keep the colors of plotly's template.
"""

from paribus._display.plotly.page import draw

__all__ = ["draw"]
