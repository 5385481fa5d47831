"""Layout of panels in rows: shared y-axes, labels and figure sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import ceil

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._display.figure import (
    Band,
    Bars,
    Contours,
    Figure,
    Heat,
    Line,
    Mark,
    Panel,
    PanelAxis,
    Points,
    Strip,
)
from paribus._display.mark_helpers import BELOW
from paribus._display.text_width import inches

SEVERAL = (3.4, 2.6)  # inches of one of several panels
ALONE = (6.2, 4.2)  # inches of a single panel
NOTE, NOTE_SIZE = 0.17, 9.0  # inches of a line of notes, and its font size
LEGEND = 1.6  # inches of a legend next to a panel
NARROW = 0.4  # inches of a narrow panel to the side
TAIL = 0.05  # of the y-axis: a tail in which curves move less has no panel
MARGIN = 0.05  # of the range of heights, to each side
NOISE = 3.0  # a band or error bar extends an axis by at most this many median half-widths
NO_PANEL = Panel((), PanelAxis(scale="none"), PanelAxis(scale="none"))


def figure_of(
    panels: Sequence[Panel],
    *,
    columns: int = 3,
    share_y: bool = True,
    title: str | None = None,
    background: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Figure:
    """Return a figure of panels in rows of at most ``columns``.

    With ``share_y``, panels of curves share their y-axis, so that effect sizes can be compared. The label and
    the numbers of a shared axis appear once in a row. ``background`` is written below the panels, and the
    most severe of ``notes`` in a line below it.
    """
    columns = max(1, min(columns, len(panels)))
    keys = [(panel.y.unit or panel.y.label) if share_y else place for place, panel in enumerate(panels)]
    ends = _shared_y_limits(keys, panels)
    moving = []  # without the tails in which lines hardly move from their inner end
    for panel, (_, high, low) in zip(panels, ends, strict=True):
        most = TAIL * (high - low)
        left = tuple(part for part in panel.left if not _movement(part, -1) <= most)
        right = tuple(part for part in panel.right if not _movement(part, 0) <= most)
        moving.append(replace(panel, left=left, right=right))
    ends = _shared_y_limits(keys, moving)
    limited = [_with_ends(panel, *limits) for panel, limits in zip(moving, ends, strict=True)]
    shown = _labeled_once(limited, columns) if share_y else limited
    titles = [panel.legend_title for panel in shown if panel.legend == "figure" and panel.legend_title]
    legend_title = titles[0] if titles else None
    width, height = _panels_size(shown, columns)
    lines = lines_below((*background, *_clipped_marks_notes(limited)), notes, width)
    explained = any(panel.legend == "figure" for panel in panels)
    above = NOTE * (2 * explained + (legend_title is not None)) + title_height(title)
    size = (width, round(height + above + notes_height(lines, width), 2))
    return Figure(tuple(shown), columns, size, title or None, lines, legend_title)


def single_panel(
    panel: Panel,
    size: tuple[float, float],
    background: Sequence[str] = (),
    notes: Sequence[str] = (),
    title: str | None = None,
) -> Figure:
    """Return the figure of one panel with lines below it; ``size`` is that of the panel in inches."""
    width, height = size
    lines = lines_below(background, notes, width)
    height += notes_height(lines, width) + title_height(title)
    return Figure((panel,), size=(width, height), title=title or None, notes=lines)


def title_height(title: str | None) -> float:
    """Return the height in inches of the title of a figure."""
    return 2 * NOTE if title else 0.0


def notes_height(notes: Sequence[str], width: float) -> float:
    """Return the height in inches of notes below a figure of a width in inches."""
    return NOTE * sum(ceil(inches(note, NOTE_SIZE) / width) for note in notes)


def lines_below(background: Sequence[str], notes: Sequence[str], width: float) -> tuple[str, ...]:
    """Return the lines below a figure of a width in inches: those of the background, and one caveat.

    The caveat is the first issue, or the first tip, cut to one line. The number of other notes follows it.
    """
    if not notes:
        return tuple(background)
    first = min(notes, key=lambda note: getattr(note, "severity", "issue"))  # an issue before a tip
    more = f" (and {len(notes) - 1} more in .notes)" if len(notes) > 1 else ""
    words = first.split()
    while len(words) > 1 and inches(" ".join([*words, "…"]) + more, NOTE_SIZE) > width:
        words.pop()
    cut = "" if len(words) == len(first.split()) else " …"
    return (*background, " ".join(words) + cut + more)


def has_curves(panel: Panel) -> bool:
    """Return whether a panel shows heights along y, rather than colors."""
    return not any(isinstance(mark, (Heat, Contours)) for mark in panel.marks)


def _shared_y_limits(keys: Sequence[object], panels: Sequence[Panel]) -> list[tuple[float, float, float]]:
    """Return for each panel the ends of the y-axis it shares with those of equal key, and of its lowest tick.

    The ticks start above the strip of data, for which there is space if any of the panels has one.
    """
    ends = {}
    for key in dict.fromkeys(keys):
        pairs = zip(panels, keys, strict=True)
        group = [panel for panel, key_of_panel in pairs if key_of_panel == key and has_curves(panel)]
        low, high = _height_limits(*_extents(group))
        data = any(isinstance(mark, Strip) and mark.along == "x" for panel in group for mark in panel.marks)
        ends[key] = (low - BELOW * (high - low) if data else low, high, low)
    return [ends[key] for key in keys]


def _movement(strip: Panel, inner: int) -> float:
    """Return the largest distance of a line from its height at the inner end of a strip.

    It is infinite for a strip without lines, such as that of the missing value.
    """
    with np.errstate(invalid="ignore"):  # infinite values
        lines = [np.abs(mark.y - mark.y[inner]) for mark in strip.marks if isinstance(mark, Line)]
    moved = np.concatenate([*lines, [] if lines else [np.inf]])
    return float(np.max(moved, initial=0.0, where=~np.isnan(moved)))


def _with_ends(panel: Panel, floor: float, high: float, low: float) -> Panel:
    """Return a panel with limits of y; ticks start at ``low``, where the curves do.

    For example, an axis of probabilities has no negative tick next to the strip of data.
    """
    if panel.y.scale == "none" or not has_curves(panel) or not np.isfinite([low, high]).all():
        return panel
    y = replace(panel.y, low=floor, high=high, tick_low=low)
    left, right = (
        tuple(replace(part, y=replace(y, label="", numbers=False)) for part in side)
        for side in (panel.left, panel.right)
    )
    return replace(panel, y=y, left=left, right=right)


def _height_limits(lows: Floats, highs: Floats, single: Flags) -> tuple[float, float]:
    """Return the limits of an axis with a margin, from intervals around heights.

    Intervals count up to `NOISE` median half-widths, because one long error bar would compress the curves.
    For the same reason heights of a single row do not count, unless there are no others.
    """
    with np.errstate(invalid="ignore"):  # infinite values are left out
        middle, half = (lows + highs) / 2, (highs - lows) / 2
    counted = np.isfinite(middle)
    if (counted & ~single).any():
        counted &= ~single
    if not counted.any():
        return np.nan, np.nan
    middle, half = middle[counted], np.nan_to_num(half[counted])
    wide = half[half > 0]
    half = np.minimum(half, NOISE * np.median(wide)) if len(wide) else half
    low, high = float((middle - half).min()), float((middle + half).max())
    span = high - low
    if span <= max(1e-9 * max(abs(low), abs(high)), 1e-13):  # differences by rounding are not an effect
        span = 0.1 * abs(high) or 1.0
        return low - span, high + span
    return low - MARGIN * span, high + MARGIN * span


def _extents(panels: Sequence[Panel]) -> tuple[Floats, Floats, Flags]:
    """Return the lower and upper ends of marks along y, and which of them are heights of a single row.

    The narrow panels count as well.
    """
    marks = [mark for panel in panels for part in panel.parts for mark in part.marks]
    nothing = np.empty(0), np.empty(0), np.empty(0, dtype=bool)
    extents = [nothing, *(extent for mark in marks for extent in _extents_of(mark))]
    lows, highs, single = (np.concatenate(side) for side in zip(*extents, strict=True))
    return lows, highs, single


def _extents_of(mark: Mark) -> Iterator[tuple[Floats, Floats, Flags]]:
    """Yield the extents of a mark.

    The ends of bars and of bands of rows count as heights, because an axis must contain them completely.
    """
    if isinstance(mark, Line | Points):
        error = mark.error if isinstance(mark, Points) and mark.error_along == "y" else None
        around = 0.0 if error is None else np.nan_to_num(error)
        single = np.zeros(len(mark.y), bool) if mark.single is None else mark.single
        yield mark.y - around, mark.y + around, single
        return
    if isinstance(mark, Band):
        ends = mark.low, mark.high
    elif isinstance(mark, Bars) and not mark.horizontal:
        base = np.zeros_like(mark.length) if mark.base is None else mark.base
        ends = base, base + mark.length
    else:
        return
    several = np.zeros(len(ends[0]), bool)
    if isinstance(mark, Band) and mark.role != "rows":
        yield *ends, several
    else:
        yield from ((end, end, several) for end in ends)


def _clipped_marks_notes(panels: Sequence[Panel]) -> list[str]:
    """Return the notes that name panels whose bands, error bars or single rows exceed the axis."""
    cut: dict[str, list[str]] = {"bands or error bars": [], "averages of a single row": []}
    for panel in panels:
        low, high = panel.y.low, panel.y.high
        if panel.y.tick_low is not None and low is not None and high is not None:
            lows, highs, single = _extents([panel])
            beyond = (lows < low) | (highs > high)
            if (beyond & ~single).any():
                cut["bands or error bars"].append(panel.x.label)
            if (beyond & single).any():
                cut["averages of a single row"].append(panel.x.label)
    return [f"{what} of {', '.join(names)} reach beyond the axis" for what, names in cut.items() if names]


def _labeled_once(panels: Sequence[Panel], columns: int) -> list[Panel]:
    """Remove label and numbers of y from panels whose left neighbor has the same y-axis."""
    shown: list[Panel] = []
    for place, panel in enumerate(panels):
        fixed = panel.y.tick_low is not None or panel.y.ticks is not None
        if fixed and place % columns and panels[place - 1].y == panel.y:
            panel = replace(panel, y=replace(panel.y, label="", numbers=False))
        shown.append(panel)
    return shown


def _panels_size(panels: Sequence[Panel], columns: int) -> tuple[float, float]:
    """Return width and height of all panels in inches, with legends, narrow panels and rotated labels."""
    rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    wide, high = ALONE if len(panels) == 1 else SEVERAL
    beside = [
        sum(LEGEND * (panel.legend == "panel") + NARROW * len(panel.left + panel.right) for panel in row)
        for row in rows
    ]
    below = [
        max((inches(text) for panel in row if panel.x.turned for _, text in panel.x.ticks or ()), default=0.0)
        for row in rows
    ]
    return round(columns * wide + max(beside), 2), len(rows) * high + sum(below)
