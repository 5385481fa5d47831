"""Themes, font sizes, line segments, contour levels and text helpers that all renderers share."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._display.figure import (
    Band,
    Bars,
    Contours,
    Dash,
    Figure,
    Hatch,
    Line,
    Mark,
    Marker,
    Points,
    Strip,
    Text,
)

INK = "ink"  # the text color of the theme
GRAY = "#B3B3B3"  # of marks with little information
PAPER, FAINT, GRID, DATA = "paper", "faint", "grid", "data"  # roles of theme colors besides INK
# Pixels of the title of a figure and of a panel, of labels, of ticks and legends, and of notes.
HEADING, TITLE, FONT, TICK, SMALL = 16.0, 14.0, 13.0, 12.0, 11.5
FONTS = "system-ui,-apple-system,Segoe UI,Roboto,Helvetica Neue,Arial,sans-serif"
DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted", "dashdot")
MARKERS: tuple[Marker, ...] = ("circle", "square", "diamond", "triangle", "cross", "star")
SEQUENTIAL = "viridis"  # color map of values without a natural middle; low values are dark
DIVERGING = "RdBu_r"  # color map of values around zero

STRIP = 0.10  # height of the strip of data, as a share of the panel
BELOW = 1.5 * STRIP  # space below the curves for the strip, as a share of their height


@dataclass(frozen=True)
class Theme:
    """The colors of text, background, notes, grid, data and series."""

    ink: str
    paper: str
    faint: str
    grid: str
    data: str
    series: tuple[str, ...]

    def colors(self) -> dict[str, str]:
        """Return the color of each class."""
        roles = {"ink": self.ink, PAPER: self.paper, FAINT: self.faint, GRID: self.grid, DATA: self.data}
        return roles | {f"c{number}": color for number, color in enumerate(self.series, start=1)}


# Series are the colors of Okabe and Ito without yellow, darkened or lightened until they have contrast.
LIGHT = Theme(
    ink="#1f2328",
    paper="#ffffff",
    faint="#5b616b",
    grid="#e4e6ea",
    data="#8a9099",
    series=("#0072b2", "#d55e00", "#00936b", "#c06a9a", "#b57a00", "#2b95c8", "#8c6bb1"),
)
DARK = Theme(
    ink="#e6e8eb",
    paper="#16181d",
    faint="#a9b0bb",
    grid="#2d323b",
    data="#757c87",
    series=("#4ba3dc", "#f0803c", "#2fbf93", "#dd8fbb", "#f0b23c", "#7cc7f2", "#ab92cf"),
)
PALETTE = LIGHT.series


def in_dark_colors(figure: Figure) -> Figure:
    """Return a figure whose series have the colors of the dark theme."""
    return replace(figure, panels=tuple(panel.with_marks(_dark_mark) for panel in figure.panels))


def _dark_mark(mark: Mark) -> Mark:
    if not isinstance(mark, Line | Band | Points | Bars | Text):
        return mark
    dark = dict(zip(PALETTE, DARK.series, strict=True))
    if isinstance(mark.color, str):
        return replace(mark, color=dark.get(mark.color, mark.color))
    return replace(mark, color=tuple(dark.get(color, color) for color in mark.color))


def color_of(series: int) -> str:
    """Return the color of one of several curves."""
    return PALETTE[series % len(PALETTE)]


def dash_of(series: int) -> Dash:
    """Return the dash style of one of several curves; 28 curves differ in color or dash style."""
    return DASHES[(series % len(PALETTE) + series // len(PALETTE)) % len(DASHES)]


def marker_of(series: int) -> Marker:
    """Return the marker of one of several series of points."""
    return MARKERS[series % len(MARKERS)]


def stretches(known: Flags) -> list[slice]:
    """Return the runs of known positions, as one slice for each run."""
    turns = np.flatnonzero(np.diff(known.astype(np.int8), prepend=0, append=0)).tolist()
    return [slice(first, stop) for first, stop in zip(turns[::2], turns[1::2], strict=True)]


def alone(known: Flags) -> list[int]:
    """Return the known positions without a known neighbor, to which a line would lead."""
    return [run.start for run in stretches(known) if run.stop - run.start == 1]


THOUSANDS = re.compile(r"(?<=\d)(?=(\d{3})+$)")
JOINT = "\x00"  # marks an added space; printable text never contains it


def strip_heights(mark: Strip) -> Floats:
    """Return the heights of the bars of a strip, as shares of the panel."""
    return STRIP * mark.height / mark.most if mark.most > 0 else 0.0 * mark.height


def hatched(mark: Hatch) -> list[Floats]:
    """Return the corners ``(4, 2)`` of the hatched rectangles; adjacent cells of a row are one rectangle."""
    corners = []
    for low, high, row in zip(mark.y_edges[:-1], mark.y_edges[1:], mark.mask, strict=True):
        for run in stretches(row):
            left, right = mark.x_edges[run.start], mark.x_edges[run.stop]
            corners.append(np.array([[left, low], [right, low], [right, high], [left, high]]))
    return corners


def labeled_levels(mark: Contours) -> list[float]:
    """Return every other contour level, with rounding errors around zero removed."""
    hardly = 1e-9 * np.ptp(mark.levels)
    return [0.0 if abs(level) < hardly else float(level) for level in mark.levels[::2]]


def lined_levels(mark: Contours) -> list[float]:
    """Return the labeled levels that lie strictly within the range of the values: they have a line."""
    reached = mark.values[np.isfinite(mark.values)]
    return [level for level in labeled_levels(mark) if (reached < level).any() and (reached > level).any()]


def is_light(ground: Sequence[float]) -> bool:
    """Return whether dark text is more legible than light text on a color; its components are 0 to 1."""
    red, green, blue = ground[:3]
    return bool(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)


def with_thousands(text: str, value: float) -> str:
    """Return the text of a number with commas between thousands, from 10,000 on.

    A number of four digits has none, because it may be a year.
    """
    whole, point, decimals = text.partition(".")
    return (THOUSANDS.sub(",", whole) if abs(value) >= 1e4 else whole) + point + decimals


def escaped(text: str) -> str:
    """Return text with dollar signs escaped, so that matplotlib does not parse it as a formula."""
    return text.replace("$", r"\$")


def in_lines(text: str, characters: Callable[[str], int]) -> str:
    """Break lines that are longer than ``characters(line)``, first before a "±" and then between words."""
    lines: list[str] = []
    for line in text.split("\n"):
        most = characters(line)
        for part in re.split(" (?=±)", line) if len(line) > most else [line]:
            lines += textwrap.wrap(_with_joints(part, most), most) or [""]
    return "\n".join(line.replace(f"{JOINT} ", "").rstrip(JOINT) for line in lines)


def _with_joints(text: str, most: int) -> str:
    """Return text in which words longer than ``most`` can break after "_", ".", "/" and "-"."""
    words = []
    for word in text.split(" "):
        runs = [""]
        for part in re.split(r"(?<=[_./-])(?=\w)", word) if len(word) > most else [word]:
            if runs[-1] and len(runs[-1] + part) >= most:
                runs.append("")
            runs[-1] += part
        words.append(f"{JOINT} ".join(runs))
    return " ".join(words)
