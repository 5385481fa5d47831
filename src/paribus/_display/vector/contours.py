"""Contours of a surface that is known at points of a grid: marching squares.

Within a cell of the grid the surface is taken as straight along each edge. What is at least as high as a
level is enclosed by rings; at the edge of what is known they follow the outermost points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import atan2, degrees, hypot

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._display.runs import stretches
from paribus._display.vector.axes import Box

# Edges of a cell that a contour connects, by the corners that are high: 1, 2, 4 and 8 for its corners A,
# B, C, D around it, whose edges AB, BC, CD, DA are 0, 1, 2, 3. What is high is always on the same side.
SEGMENTS = {
    1: ((0, 3),),
    2: ((1, 0),),
    3: ((1, 3),),
    4: ((2, 1),),
    5: ((0, 3), (2, 1)),
    6: ((2, 0),),
    7: ((2, 3),),
    8: ((3, 2),),
    9: ((0, 2),),
    10: ((1, 0), (3, 2)),
    11: ((1, 2),),
    12: ((3, 1),),
    13: ((0, 1),),
    14: ((3, 0),),
}
JOINED = {5: ((0, 1), (2, 3)), 10: ((3, 0), (1, 2))}  # where the middle of a cell is as high as two corners
PLACES = (0.5, 0.38, 0.62, 0.26, 0.74, 0.14, 0.86)  # along a line where its label may stand
STRAIGHT = 0.93  # of its way that a line advances along a label, at least


@dataclass(frozen=True)
class Ring:
    """A closed line: points ``(p, 2)``, and which are on a contour rather than the edge of what is known."""

    points: Floats
    crossing: Flags


def rings(x: Floats, y: Floats, values: Floats, level: float) -> list[Ring]:
    """Return what encloses all that is at least as high as a level, of ``values (y, x)``."""
    # A margin that is not known and has no width: no ring is open.
    x, y = np.pad(x, 1, "edge"), np.pad(y, 1, "edge")
    values = np.pad(values, 1, constant_values=np.nan)
    leads = _leads(values, level)
    edges = np.array([*leads], dtype=np.int64)
    points, crossing = _positions(x, y, values, level, edges)
    place = {edge: number for number, edge in enumerate(edges.tolist())}
    found = []
    while leads:
        start = next(iter(leads))
        ring, edge = [place[start]], leads.pop(start)
        while edge != start:
            ring.append(place[edge])
            edge = leads.pop(edge)
        found.append(Ring(points[ring], crossing[ring]))
    return found


def _leads(values: Floats, level: float) -> dict[int, int]:
    """Return the next edge for each edge of the grid that a ring passes; upright ones come after others."""
    high = (values >= level).astype(np.int64)
    corners = high[:-1, :-1] + 2 * high[:-1, 1:] + 4 * high[1:, 1:] + 8 * high[1:, :-1]
    middle = (values[:-1, :-1] + values[:-1, 1:] + values[1:, 1:] + values[1:, :-1]) / 4 >= level
    wide, size = values.shape[1], values.size
    rows, columns = np.nonzero((corners > 0) & (corners < 15))
    leads: dict[int, int] = {}
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        case, first = int(corners[row, column]), row * wide + column
        edges = (first, size + first + 1, first + wide, size + first)
        joined = case in JOINED and middle[row, column]
        for start, end in JOINED[case] if joined else SEGMENTS[case]:
            leads[edges[start]] = edges[end]
    return leads


def _positions(x: Floats, y: Floats, values: Floats, level: float, edges: Integers) -> tuple[Floats, Flags]:
    """Return where a level is reached on edges of the grid, and whether both of their ends are known."""
    upright = edges >= values.size
    row, column = np.divmod(edges % values.size, values.shape[1])
    next_row, next_column = row + upright, column + ~upright
    one, two = values[row, column], values[next_row, next_column]
    crossing = np.isfinite(one) & np.isfinite(two)
    way = np.where(np.isfinite(one), 0.0, 1.0)
    way[crossing] = ((level - one[crossing]) / (two[crossing] - one[crossing])).clip(0.0, 1.0)
    points = np.column_stack([x[column], y[row]])
    ends = np.column_stack([x[next_column], y[next_row]])
    return points + way[:, None] * (ends - points), crossing


def contour_lines(found: list[Ring]) -> Iterator[Floats]:
    """Yield the lines along which a level is reached, without the edge of what is known."""
    for ring in found:
        if ring.crossing.all():
            yield np.vstack([ring.points, ring.points[:1]])
            continue
        first = int(np.argmin(ring.crossing))
        points, crossing = np.roll(ring.points, -first, axis=0), np.roll(ring.crossing, -first)
        yield from (points[run] for run in stretches(crossing) if run.stop - run.start > 1)


@dataclass(frozen=True)
class LineLabel:
    """Where a label stands along a line, and how far it is turned, in degrees against the clock."""

    x: float
    y: float
    turn: float


@dataclass(frozen=True)
class LabelRoom:
    """What a label needs along a line: its width and height in pixels, inside of a box, off other lines."""

    width: float
    height: float
    box: Box
    others: list[Floats]

    def along(self, line: Floats, taken: list[LineLabel]) -> LineLabel | None:
        """Return where a line has room for the label, off the labels that stand already."""
        ways = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
        for place in PLACES if ways[-1] >= 1.6 * self.width else ():
            ends = place * ways[-1] - self.width / 2, place * ways[-1] + self.width / 2
            if ends[0] < 0 or ends[1] > ways[-1]:
                continue
            (x0, x1), (y0, y1) = (np.interp(ends, ways, side).tolist() for side in line.T)
            if x1 < x0:
                x0, y0, x1, y1 = x1, y1, x0, y0
            spot = LineLabel((x0 + x1) / 2, (y0 + y1) / 2, degrees(atan2(y0 - y1, x1 - x0)))
            apart = all(hypot(spot.x - other.x, spot.y - other.y) > 1.3 * self.width for other in taken)
            straight = hypot(x1 - x0, y1 - y0) >= STRAIGHT * self.width
            if apart and straight and self._is_free([(x0, y0), (spot.x, spot.y), (x1, y1)]):
                return spot
        return None

    def _is_free(self, places: list[tuple[float, float]]) -> bool:
        """Return whether places are far enough from the box and from other lines."""
        half, box = 0.75 * self.height, self.box
        for x, y in places:
            if not (box.left + half <= x <= box.right - half and box.top + half <= y <= box.bottom - half):
                return False
            if any((np.hypot(line[:, 0] - x, line[:, 1] - y) < half).any() for line in self.others):
                return False
        return True
