"""Small images of a curve for the cell of a table."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Floats
from paribus._display.figure import Band, Bars, Line, Mark, Panel, PanelAxis
from paribus._display.style import PALETTE
from paribus._display.vector.axes import Box, frame_of
from paribus._display.vector.canvas import Canvas, ThemeName, pixels
from paribus._display.vector.colors import ROOT
from paribus._display.vector.marks import DRAW

ROOM = 0.2  # of the heights, below the lowest bar
EDGE = 2.0  # pixels that stay free around it, as lines are wider than a point


def sparkline(
    x: Floats | None,
    y: Floats,
    low: Floats | None = None,
    high: Floats | None = None,
    *,
    width: float = 96.0,
    height: float = 24.0,
    ends: tuple[float, float] | None = None,
    steps: bool = False,
    theme: ThemeName = "page",
) -> str:
    """Draw a curve without axes, hidden from screen readers, as the table beside it says more.

    Parameters
    ----------
    x : ndarray of shape (g,) or None
        Positions of numbers or dates. None for categories, whose heights are bars: from zero where that lies
        between the ends, else from the lower one.
    y : ndarray of shape (g,)
        Heights; the curve is broken at NaN.
    low, high : ndarray of shape (g,), optional
        A band around the curve.
    width, height : float
        Pixels.
    ends : tuple of float, optional
        The lowest and the highest height there is room for, so that curves in a column of a table can be
        compared. Those of the heights and the band by default.
    steps : bool
        Whether a height holds until the next point.
    theme : {"page", "light", "dark"}
        Whose colors it has, as in `render`.

    Returns
    -------
    str
        An ``<svg>`` element without ids.

    Examples
    --------
    >>> import numpy as np
    >>> sparkline(None, np.array([1.0, 3.0]), width=40).count("M")  # bars
    2
    """
    at = np.arange(len(y), dtype=np.float64) if x is None else np.asarray(x, dtype=np.float64)
    parts = [np.asarray(part, dtype=np.float64) for part in (y, low, high) if part is not None]
    lowest, highest = ends or _ends(parts, room=ROOM if x is None else 0.0)
    y, *around = (np.clip(part, lowest, highest) for part in parts)  # nothing is seen beyond
    marks: list[Mark] = []
    if x is None:
        base = np.full(len(y), min(max(lowest, 0.0), highest))
        marks.append(Bars(at, y - base, np.full(len(y), 0.75), PALETTE[0], base))
    else:
        if len(around) == 2:
            marks.append(Band(at, around[0], around[1], PALETTE[0], alpha=0.25, steps=steps))
        marks.append(Line(at, y, PALETTE[0], width=1.2, steps=steps))
    beside = (-0.5, len(y) - 0.5) if x is None else (None, None)
    none = PanelAxis(scale="none", low=beside[0], high=beside[1])
    panel = Panel(tuple(marks), none, PanelAxis(scale="none", low=lowest, high=highest))
    canvas = Canvas("", theme)
    frame = frame_of(panel, Box(EDGE, EDGE, width - EDGE, height - EDGE), (width, height))
    for mark in marks if len(y) else ():
        DRAW[type(mark)](canvas, frame, mark)
    return _small(canvas, width, height)


def _ends(parts: list[Floats], room: float) -> tuple[float, float]:
    """Return the lowest and highest of values, with room below so that the lowest bar is seen."""
    every = np.concatenate(parts)
    known = every[np.isfinite(every)]
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    aside = 0.0 if high > low else abs(high) * 0.1 or 1.0
    below = room * (high - low) if low > 0 or high < 0 else 0.0
    return low - aside - below, high + aside


def _small(canvas: Canvas, width: float, height: float) -> str:
    """Return the element around what was drawn."""
    named = f' class="{ROOT}"' if canvas.theme == "page" else ""
    size = f'viewBox="0 0 {pixels(width)} {pixels(height)}" width="{pixels(width)}" height="{pixels(height)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"{named} {size} aria-hidden="true" focusable="false">'
        f"{''.join(canvas.parts)}</svg>"
    )
