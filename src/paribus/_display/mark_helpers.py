"""Colors, gaps and number formats that all renderers share."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._display.figure import Contours, Dash, Hatch, Line, Marker, Strip

INK = "ink"  # the color of the theme's own text, so that what is gray on white is gray on black too
GRAY = "#B3B3B3"  # of what says little
# Of Okabe and Ito, without their yellow, which is too light to be seen on white.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#8C6BB1")
DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted", "dashdot")
MARKERS: tuple[Marker, ...] = ("circle", "square", "diamond", "triangle", "cross", "star")
SEQUENTIAL = "viridis"  # of what has no natural middle: as dark in gray as it is low
DIVERGING = "RdBu_r"  # of what is above and below zero

STRIP = 0.10  # height of the strip of data, as a share of the panel
BELOW = 1.5 * STRIP  # room made for it, as a share of the curves' own height


def color_of(series: int) -> str:
    """Return the color of one of several curves."""
    return PALETTE[series % len(PALETTE)]


def dash_of(series: int) -> Dash:
    """Return the dashes of one of several curves: no two of 28 have color and dashes in common."""
    return DASHES[(series % len(PALETTE) + series // len(PALETTE)) % len(DASHES)]


def marker_of(series: int) -> Marker:
    """Return the marker of one of several series of points."""
    return MARKERS[series % len(MARKERS)]


def stretches(known: Flags) -> list[slice]:
    """Return where positions are known, one slice for each stretch of them."""
    turns = np.flatnonzero(np.diff(known.astype(np.int8), prepend=0, append=0)).tolist()
    return [slice(first, stop) for first, stop in zip(turns[::2], turns[1::2], strict=True)]


def alone(known: Flags) -> list[int]:
    """Return the positions that are known without a neighbor that a line could lead to."""
    return [run.start for run in stretches(known) if run.stop - run.start == 1]


FADES = 4  # strengths of a line that can be distinguished
JOINT = "\x00"  # stands in no text, so that the space after it is known as one that was added
FADED = 0.25  # of its color that a line keeps where there is no data at all


def faded(mark: Line) -> list[tuple[int, int, float]]:
    """Return first point, last point and share of color of each part of a line; parts share their ends."""
    points = len(mark.x)
    if mark.strength is None or points < 2:
        return [(0, points - 1, 1.0)]
    strength = np.nan_to_num(np.clip(mark.strength, 0.0, 1.0))
    between = strength[:-1] if mark.steps else (strength[:-1] + strength[1:]) / 2
    levels = np.maximum(1, np.ceil(between * FADES - 1e-9))
    starts = np.flatnonzero(np.diff(levels, prepend=np.nan))
    ends = [*starts[1:], points - 1]
    return [
        (int(first), int(last), FADED + (1 - FADED) * float(levels[first]) / FADES)
        for first, last in zip(starts, ends, strict=True)
    ]


def strip_heights(mark: Strip) -> Floats:
    """Return how high the bars of a strip are, as shares of the panel."""
    return STRIP * mark.height / mark.most if mark.most > 0 else 0.0 * mark.height


def hatched(mark: Hatch) -> list[Floats]:
    """Return the corners ``(4, 2)`` of what is struck out: a rectangle for cells beside each other."""
    corners = []
    for low, high, row in zip(mark.y_edges[:-1], mark.y_edges[1:], mark.mask, strict=True):
        for run in stretches(row):
            left, right = mark.x_edges[run.start], mark.x_edges[run.stop]
            corners.append(np.array([[left, low], [right, low], [right, high], [left, high]]))
    return corners


def labeled_levels(mark: Contours) -> list[float]:
    """Return every other level of contours, none of them a little less than nothing."""
    hardly = 1e-9 * np.ptp(mark.levels)
    return [0.0 if abs(level) < hardly else float(level) for level in mark.levels[::2]]


def lined_levels(mark: Contours) -> list[float]:
    """Return the levels that have a line: those that are labeled, as far as they are reached."""
    reached = mark.values[np.isfinite(mark.values)]
    return [level for level in labeled_levels(mark) if (reached < level).any() and (reached > level).any()]


def is_light(ground: Sequence[float]) -> bool:
    """Return whether dark text is more legible than light text on a color with components up to 1."""
    red, green, blue = ground[:3]
    return bool(0.299 * red + 0.587 * green + 0.114 * blue > 0.5)


def escaped(text: str) -> str:
    """Return text as matplotlib has to be given it, to be read as it is and never as a formula."""
    return text.replace("$", r"\$")


def in_lines(text: str, characters: Callable[[str], int]) -> str:
    """Break the lines of a text into those of so many characters, before an error if that is enough."""
    lines: list[str] = []
    for line in text.split("\n"):
        most = characters(line)
        for part in re.split(" (?=±)", line) if len(line) > most else [line]:
            lines += textwrap.wrap(_with_joints(part, most), most) or [""]
    return "\n".join(line.replace(f"{JOINT} ", "").rstrip(JOINT) for line in lines)


def _with_joints(text: str, most: int) -> str:
    """Let words that are too long break where their parts meet, as names of columns have them."""
    words = []
    for word in text.split(" "):
        runs = [""]
        for part in re.split(r"(?<=[_./-])(?=\w)", word) if len(word) > most else [word]:
            if runs[-1] and len(runs[-1] + part) >= most:
                runs.append("")
            runs[-1] += part
        words.append(f"{JOINT} ".join(runs))
    return " ".join(words)
