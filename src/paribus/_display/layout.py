"""Panels in rows: one y-axis where sizes are to be compared, each label once, a size that fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from textwrap import wrap

import numpy as np

from paribus._contracts import Floats
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
from paribus._display.style import BELOW
from paribus._display.ticks import nice_ticks

WIDTH, HEIGHT = 3.4, 2.6  # inches, of a panel of several
ALONE = (6.2, 4.2)  # inches, of a panel by itself
LETTER = 0.085  # inches, of a turned label
LINE, LETTERS = 0.16, 15  # inches of a line of small print, and its letters in an inch
LEGEND = 1.6  # inches, of a legend beside a panel
MARGIN = 0.05  # of the heights, to each side
NOISE = 3.0  # median lengths of what is around heights: no more of it makes an axis longer
NOTES = 4  # that are written below a picture
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
    """Put panels in rows of at most ``columns``.

    Panels of curves have one y-axis by default, so that effect sizes compare; its label and numbers stand
    once in a row.
    """
    columns = max(1, min(columns, len(panels)))
    tall = _on_one_axis(panels) if share_y else [_on_own_axis(panel) for panel in panels]
    shown = _labeled_once(tall, columns) if share_y else tall
    titles = [panel.legend_title for panel in shown if panel.legend == "figure" and panel.legend_title]
    figure = Figure(
        tuple(shown),
        columns,
        _size(shown, columns),
        title,
        (*background, *_cut(tall), *few_notes(notes)),
        titles[0] if titles else None,
    )
    return replace(figure, size=(figure.size[0], round(figure.size[1] + _around(figure), 2)))


def _cut(panels: Sequence[Panel]) -> list[str]:
    """Return the lines that say which panels do not show all of what is around heights, or of single rows."""
    lines = []
    for words, single in (("bands or error bars", False), ("averages of a single row", True)):
        names = [panel.x.label for panel in panels if _reaches_beyond(panel, single=single)]
        lines += [f"{words} of {', '.join(names)} reach beyond the axis"] if names else []
    return lines


def _reaches_beyond(panel: Panel, *, single: bool) -> bool:
    low, high = panel.y.low, panel.y.high
    if low is None or high is None or not has_curves(panel):
        return False
    ends = _heights_of([panel], single=single)
    return any(bool((lows < low).any() or (highs > high).any()) for lows, highs in ends)


def _around(figure: Figure) -> float:
    """Return inches that words above and below all panels take."""
    across = max(30, int(LETTERS * figure.size[0]))
    lines = sum(len(wrap(note, across)) for note in figure.notes)
    explained = any(panel.legend == "figure" for panel in figure.panels)
    lines += 2 * explained + (figure.legend_title is not None) + 2 * (figure.title is not None)
    return LINE * lines


def few_notes(notes: Sequence[str]) -> tuple[str, ...]:
    """Return the first notes, and how many more there are."""
    more = len(notes) - NOTES
    return (*notes[:NOTES], f"and {more} more in .notes") if more > 0 else tuple(notes)


def has_curves(panel: Panel) -> bool:
    """Whether heights are along y, rather than colors."""
    return not any(isinstance(mark, (Heat, Contours)) for mark in panel.marks)


def _on_own_axis(panel: Panel) -> Panel:
    return _with_ends(panel, *_ends([panel])) if has_curves(panel) else panel


def _on_one_axis(panels: Sequence[Panel]) -> list[Panel]:
    """Give panels of curves of the same unit one y-axis; all probabilities are of one unit."""
    ends = {}
    for unit in {_unit(panel) for panel in panels if has_curves(panel)}:
        ends[unit] = _ends([panel for panel in panels if has_curves(panel) and _unit(panel) == unit])
    return [_with_ends(panel, *ends[_unit(panel)]) if has_curves(panel) else panel for panel in panels]


def _unit(panel: Panel) -> str:
    return panel.y.unit or panel.y.label


def _ends(panels: Sequence[Panel]) -> tuple[float, float, float]:
    """Return where the axis of panels begins and ends, and where its numbers do: above the room for the data.

    One panel that shows its data is enough, else those beside it would have another axis.
    """
    low, high = _reach(panels)
    data = any(isinstance(mark, Strip) and mark.along == "x" for panel in panels for mark in panel.marks)
    return low - BELOW * (high - low) if data else low, high, low


def _with_ends(panel: Panel, floor: float, high: float, low: float) -> Panel:
    """Set the ends of y, and its numbers, which are not lower than the curves.

    A probability is not negative, and no tick should say so.
    """
    if panel.y.scale == "none" or not np.isfinite([low, high]).all():
        return panel
    ticks = tuple((tick, text) for tick, text in nice_ticks(low, high) if low <= tick <= high)
    y = replace(panel.y, low=floor, high=high, ticks=ticks)
    right = (
        panel.right if panel.right is None else replace(panel.right, y=replace(y, label="", numbers=False))
    )
    return replace(panel, y=y, right=right)


def _reach(panels: Sequence[Panel]) -> tuple[float, float]:
    """Return the ends of the heights of panels, with a margin.

    What is around heights counts, but not where it is far longer than elsewhere: a few rows would make the
    axis so long that nothing else could be seen. For the same reason heights of a single row do not count,
    as long as there are others.
    """
    ends = _heights_of(panels, single=False)
    if not any(np.isfinite(lows).any() for lows, _ in ends):
        ends += _heights_of(panels, single=True)
    if not ends:
        return np.nan, np.nan
    lows, highs = (np.concatenate(side) for side in zip(*ends, strict=True))
    with np.errstate(invalid="ignore"):  # what is infinite has no room on any axis
        middle, half = (lows + highs) / 2, (highs - lows) / 2
    known = np.isfinite(middle)
    middle, half = middle[known], np.nan_to_num(half[known])
    if not len(middle):
        return np.nan, np.nan
    wide = half[half > 0]
    half = np.minimum(half, NOISE * np.median(wide)) if len(wide) else half
    low, high = float((middle - half).min()), float((middle + half).max())
    span = high - low
    if span <= max(1e-9 * max(abs(low), abs(high)), 1e-13):  # rounding is no effect
        span = 0.1 * abs(high) or 1.0
        return low - span, high + span
    return low - MARGIN * span, high + MARGIN * span


def _heights_of(panels: Sequence[Panel], *, single: bool) -> list[tuple[Floats, Floats]]:
    """Return the lowest and highest of what marks have at each position, with the narrow panels beside them.

    Of heights of a ``single`` row these alone, else all but these.
    """
    parts = [part for panel in panels for part in (panel, panel.right) if part is not None]
    marks = [mark for part in parts for mark in part.marks]
    if not single:
        return [pair for mark in marks for pair in _heights(mark)]
    rows = [(mark.y, mark.single) for mark in marks if isinstance(mark, Line | Points)]
    heights = [y[alone] for y, alone in rows if alone is not None]
    return [(height, height) for height in heights]


def _heights(mark: Mark) -> Iterator[tuple[Floats, Floats]]:
    """Yield the lowest and highest of what a mark has at each position, but not of a single row."""
    if isinstance(mark, Line | Points):
        y = mark.y if mark.single is None else np.where(mark.single, np.nan, mark.y)
        if isinstance(mark, Line):
            yield y, y
        else:
            error = 0.0 if mark.error is None or mark.error_along == "x" else np.nan_to_num(mark.error)
            yield y - error, y + error
    elif isinstance(mark, Band) and mark.role != "rows":
        yield mark.low, mark.high
    elif isinstance(mark, Band):  # all of the rows are to be seen
        yield mark.low, mark.low
        yield mark.high, mark.high
    elif isinstance(mark, Bars) and not mark.horizontal:
        base = np.zeros_like(mark.length) if mark.base is None else mark.base
        yield base, base
        yield base + mark.length, base + mark.length


def _labeled_once(panels: Sequence[Panel], columns: int) -> list[Panel]:
    """Leave the label and numbers of y to the first panel of a row that has the same ones."""
    shown: list[Panel] = []
    for place, panel in enumerate(panels):
        before = panels[place - 1] if place % columns else None
        known = panel.y.ticks is not None and before is not None and before.y == panel.y
        y = replace(panel.y, label="", numbers=False) if known else panel.y
        shown.append(replace(panel, y=y))
    return shown


def _size(panels: Sequence[Panel], columns: int) -> tuple[float, float]:
    """Return inches for all panels, with what their labels and legends take."""
    rows = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    wide, high = ALONE if len(panels) == 1 else (WIDTH, HEIGHT)
    width = columns * wide + max(sum(_beside(panel) for panel in row) for row in rows)
    height = sum(high + max(_below(panel) for panel in row) for row in rows)
    return round(width, 2), height


def _beside(panel: Panel) -> float:
    return (LEGEND if panel.legend == "panel" else 0.0) + (0.3 if panel.right is not None else 0.0)


def _below(panel: Panel) -> float:
    """Return inches that turned labels take."""
    if not panel.x.turned or not panel.x.ticks:
        return 0.0
    return LETTER * max(len(line) for _, text in panel.x.ticks for line in text.split("\n"))
