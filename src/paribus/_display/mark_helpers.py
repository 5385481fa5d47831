"""What renderers compute before they draw: how lines fade, which numbers are shown, where text breaks."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence

import numpy as np

from paribus._contracts import Floats
from paribus._display.figure import Contours, Hatch, Line, Strip
from paribus._display.runs import stretches
from paribus._display.style import STRIP

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
