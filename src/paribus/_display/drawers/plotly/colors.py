"""Colors that are seen on either ground."""

from __future__ import annotations

from paribus._display import style

INK = "#777777"  # as far from white as from the nearly black of plotly's dark theme
GRID = "rgba(128,128,128,0.22)"


def rgba(color: str, alpha: float = 1.0) -> str:
    """Give a color its opacity: one word for fill, line and marker."""
    from plotly.colors import hex_to_rgb

    if color == style.INK:
        color = INK
    if not color.startswith("#"):
        return color
    red, green, blue = hex_to_rgb(color)
    return f"rgba({red},{green},{blue},{alpha:.4g})"
