"""Colors of the theme, and words as matplotlib has to be given them."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

from paribus._display.figure import Band, Bars, Hatch, Line, Points
from paribus._display.mark_helpers import in_lines, is_light
from paribus._display.style import INK

if TYPE_CHECKING:
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Page

Color: TypeAlias = tuple[float, float, float, float]
FAINT = 0.65  # of the ink, for what is read last
SMALLEST = 5.0  # points of letters that can still be read
LONG = 60  # letters of a line of a legend
LETTER = 0.55  # width of a letter, as a share of its height


def escaped(text: str) -> str:
    """Return text as matplotlib has to be given it, to be read as it is and never as a formula."""
    return text.replace("$", r"\$")


def said_in_legend(mark: Line | Band | Points | Bars | Hatch) -> str | None:
    """Return what a legend calls a mark; an underscore in front would keep it out of the legend."""
    if mark.label is None:
        return None
    return folded(f" {mark.label}" if mark.label.startswith("_") else mark.label)


def folded(text: str) -> str:
    """Return words of a legend in lines that leave room for the panels."""
    return escaped(in_lines(text, lambda line: LONG, break_words=True))


def words_along(text: str, inches: float) -> str:
    """Return a label in as many lines as it needs to be no longer than its axis."""
    from matplotlib import rcParams

    letters = max(12, int(72 * inches / (LETTER * float(rcParams["font.size"]))))
    return escaped(in_lines(text, lambda line: letters, break_words=True))


def fitting(page: Page, notes: Sequence[str], inches: float) -> str:
    """Return notes with lines as long as fit, by what their own letters take."""
    text = "  ".join(notes)
    if not text:
        return ""
    probe = page.text(0, 0, escaped(text), fontsize="small")
    letters = inches * page.dpi / probe.get_window_extent().width * len(text)
    probe.remove()
    return "\n".join(escaped(line) for note in notes for line in wrap(note, max(20, int(0.95 * letters))))


def ink(alpha: float = 1.0) -> Color:
    """Return the color of the theme's text."""
    return rgba(INK, alpha)


def rgba(name: str, alpha: float = 1.0) -> Color:
    """Return a color with its opacity; ink is that of the theme's text."""
    from matplotlib import rcParams
    from matplotlib.colors import to_rgba

    return to_rgba(rcParams["text.color"] if name == INK else name, alpha)


def veil(alpha: float) -> float:
    """Return how much of its color a mark shows: what is just seen on white is not seen on black."""
    from matplotlib import rcParams

    dark = legible(rgba(rcParams["axes.facecolor"])) == "white"
    return min(1.0, 1.75 * alpha) if dark else alpha


def color_map(colors: str | tuple[str, ...]) -> Colormap:
    """Return a color map by its name or by its colors."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if isinstance(colors, str):
        return colormaps[colors]
    return LinearSegmentedColormap.from_list("of the figure", list(colors))


def legible(ground: Any) -> str:
    """Return black or white, whichever can be read on a color."""
    return "black" if is_light(ground) else "white"


def scaled(points: float) -> float:
    """Return a size meant beside letters of ten points, beside those of the theme."""
    from matplotlib import rcParams

    return points * float(rcParams["font.size"]) / 10
