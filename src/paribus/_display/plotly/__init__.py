"""Rendering of figures by plotly.

Hover texts need no network, and texts have the colors of the plotly template.
"""

from paribus._display.plotly.page import draw

__all__ = ["draw"]
