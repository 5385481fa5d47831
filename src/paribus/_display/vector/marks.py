"""Marks and contours as SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import atan2, degrees, hypot
from typing import Any

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._display.figure import (
    Band,
    Bars,
    Contours,
    Hatch,
    Heat,
    Line,
    Marker,
    Points,
    Rug,
    Rule,
    Strip,
    Text,
)
from paribus._display.mark_helpers import (
    DATA,
    INK,
    PAPER,
    alone,
    hatched,
    lined_levels,
    stretches,
    strip_heights,
)
from paribus._display.text_width import text_width
from paribus._display.vector.axes import Box, Frame, level_texts
from paribus._display.vector.canvas import (
    SHADES,
    Canvas,
    PlacedText,
    attributes,
    fitted_lines,
    legible,
    line_path,
    pixels,
    rectangle_path,
    route,
    segment_path,
    shade_numbers,
    shades,
    share,
    tenths,
)

# Marching squares: the edges of a cell that a contour connects, by the sum of its high corners. The corners
# A, B, C, D count 1, 2, 4, 8, and the edges AB, BC, CD, DA are 0, 1, 2, 3. High values are always on the same
# side.
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
JOINED = {5: ((0, 1), (2, 3)), 10: ((3, 0), (1, 2))}  # saddles whose middle is high
PLACES = (0.5, 0.38, 0.62, 0.26, 0.74, 0.14, 0.86)  # possible positions of a label along a line
STRAIGHT = 0.93  # smallest ratio of chord to arc length of a line below its label


@dataclass(frozen=True)
class Ring:
    """A closed line of points ``(p, 2)``; ``crossing (p,)`` says which are on a contour, not on an edge."""

    points: Floats
    crossing: Flags


def rings(x: Floats, y: Floats, values: Floats, level: float) -> list[Ring]:
    """Return the outlines of the areas where ``values (y, x)`` are at least ``level``."""
    # A margin of NaN with no width closes all rings.
    x, y = np.pad(x, 1, "edge"), np.pad(y, 1, "edge")
    values = np.pad(values, 1, constant_values=np.nan)
    leads = _next_contour_edges(values, level)
    edges = np.array([*leads], dtype=np.int64)
    points, crossing = _edge_crossings(x, y, values, level, edges)
    place = {edge: number for number, edge in enumerate(edges.tolist())}
    closed = []
    while leads:
        start = next(iter(leads))
        ring, edge = [place[start]], leads.pop(start)
        while edge != start:
            ring.append(place[edge])
            edge = leads.pop(edge)
        closed.append(Ring(points[ring], crossing[ring]))
    return closed


def _next_contour_edges(values: Floats, level: float) -> dict[int, int]:
    """Return the next edge of the grid for each edge that a ring crosses.

    Horizontal edges are numbered first, then vertical ones.
    """
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


def _edge_crossings(
    x: Floats, y: Floats, values: Floats, level: float, edges: Integers
) -> tuple[Floats, Flags]:
    """Return the points where edges of the grid cross a level, and whether both of their ends are known."""
    upright = edges >= values.size
    row, column = np.divmod(edges % values.size, values.shape[1])
    next_row, next_column = row + upright, column + ~upright
    start, end = values[row, column], values[next_row, next_column]
    crossing = np.isfinite(start) & np.isfinite(end)
    way = np.where(np.isfinite(start), 0.0, 1.0)
    way[crossing] = ((level - start[crossing]) / (end[crossing] - start[crossing])).clip(0.0, 1.0)
    points = np.column_stack([x[column], y[row]])
    ends = np.column_stack([x[next_column], y[next_row]])
    return points + way[:, None] * (ends - points), crossing


def contour_lines(outlines: list[Ring]) -> Iterator[Floats]:
    """Yield the contour lines of rings, without the parts along the edge of known values."""
    for ring in outlines:
        if ring.crossing.all():
            yield np.vstack([ring.points, ring.points[:1]])
            continue
        first = int(np.argmin(ring.crossing))
        points, crossing = np.roll(ring.points, -first, axis=0), np.roll(ring.crossing, -first)
        yield from (points[run] for run in stretches(crossing) if run.stop - run.start > 1)


@dataclass(frozen=True)
class LineLabel:
    """Position of a label on a line in pixels, and its rotation in degrees counterclockwise."""

    x: float
    y: float
    turn: float


@dataclass(frozen=True)
class LabelRoom:
    """Conditions of a label on a line: width and height in pixels, the box, and other lines to avoid."""

    width: float
    height: float
    box: Box
    others: list[Floats]

    def along(self, line: Floats, taken: list[LineLabel]) -> LineLabel | None:
        """Return a position for the label on a line, apart from those in ``taken``; None without space."""
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
        """Return whether positions are far enough from the edges of the box and from other lines."""
        half, box = 0.75 * self.height, self.box
        for x, y in places:
            if not (box.left + half <= x <= box.right - half and box.top + half <= y <= box.bottom - half):
                return False
            if any((np.hypot(line[:, 0] - x, line[:, 1] - y) < half).any() for line in self.others):
                return False
        return True


POINT = 96.0 / 72.0  # in pixels
# Lengths of dashes and gaps, as multiples of the width of a line.
DASH = {"dashed": (4.0, 2.0), "dotted": (1.2, 1.7), "dashdot": (6.0, 1.8, 1.2, 1.8)}
CAP, ERROR = 3.0, 1.5  # pixels of half a cap of an error bar, and of its line width
RUG = 0.03  # height of a tick of the rug, as a share of the panel
CELL, SMALLEST = 12.0, 6.5  # pixels of the largest and the smallest numbers in cells
POINTED = 6.0  # pixels around a point that show its hover text
CONTOUR_LABEL = 10.5  # pixels
TEXT_LINES = 6  # of a text, at most
STAR = np.pi * np.arange(10) / 5
CROSS = np.array([[-1.1, -0.6], [-0.6, -1.1], [0.0, -0.5], [0.6, -1.1], [1.1, -0.6], [0.5, 0.0]])
# Corners of markers around their middle, relative to the radius; circles and bars have none.
SHAPES: dict[Marker, Floats] = {
    "square": np.array([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]),
    "diamond": np.array([[0.0, -1.3], [1.3, 0.0], [0.0, 1.3], [-1.3, 0.0]]),
    "triangle": np.array([[0.0, -1.2], [1.2, 0.95], [-1.2, 0.95]]),
    "cross": np.vstack([CROSS, -CROSS]),
    "star": np.column_stack([np.sin(STAR), -np.cos(STAR)])
    * np.where(STAR % (2 * np.pi / 5) > 0.1, 0.6, 1.5)[:, None],
}


def clipped(canvas: Canvas, frame: Frame, x: Any, y: Any) -> dict[str, str]:
    """Return the attribute that clips a mark at the edges of its panel, if it exceeds them."""
    box, slack = frame.box, 0.5
    if not (np.isfinite(x).any() and np.isfinite(y).any()):
        return {}
    across = np.nanmin(x) >= box.left - slack and np.nanmax(x) <= box.right + slack
    if across and np.nanmin(y) >= box.top - slack and np.nanmax(y) <= box.bottom + slack:
        return {}
    path = rectangle_path(box.left, box.top, box.right, box.bottom)
    return {"clip-path": canvas.define(f'<clipPath ><path d="{path}"/></clipPath>')}


def dashes(mark: Line) -> dict[str, str]:
    """Return the dash attribute of a line; empty for a solid one."""
    lengths = [POINT * mark.width * part for part in DASH.get(mark.dash, ())]
    return {"stroke-dasharray": " ".join(map(share, lengths))} if lengths else {}


def _svg_line(canvas: Canvas, frame: Frame, mark: Line) -> None:
    x, y = frame.x.at(mark.x), frame.y.at(mark.y)
    path = ""
    for run in stretches(np.isfinite(x + y)):
        across, up = x[run], y[run]
        if len(across) > 1:
            if mark.steps:
                across, up = np.repeat(across, 2)[1:], np.repeat(up, 2)[:-1]
            path += line_path(across, up)
    look = {"stroke-linejoin": "round"} | dashes(mark) | clipped(canvas, frame, x, y)
    if path:
        canvas.stroke(path, mark.color, POINT * mark.width, mark.alpha, look)
    single = alone(np.isfinite(x + y))
    if single:  # a line needs two points to be visible
        points_at(canvas, frame, "dot", x[single], y[single], POINT * 6.0, mark.color, mark.alpha)
    _point_targets(canvas, x, y, mark.hover)


def _svg_band(canvas: Canvas, frame: Frame, mark: Band) -> None:
    x, low, high = frame.x.at(mark.x), frame.y.at(mark.low), frame.y.at(mark.high)
    if mark.steps:  # a height holds until the next point
        x, low, high = np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
    runs = [run for run in stretches(np.isfinite(x + low + high)) if run.stop - run.start > 1]
    outlines = [(np.append(x[run], x[run][::-1]), np.append(low[run], high[run][::-1])) for run in runs]
    path = "".join(line_path(*outline, close=True) for outline in outlines)
    canvas.fill(path, mark.color, mark.alpha, clipped(canvas, frame, x, np.append(low, high)))


def _svg_points(canvas: Canvas, frame: Frame, mark: Points) -> None:
    x, y = frame.x.at(mark.x), frame.y.at(mark.y)
    if mark.error is not None:
        side, values = (frame.x, mark.x) if mark.error_along == "x" else (frame.y, mark.y)
        ends = side.at(values - mark.error), side.at(values + mark.error)
        _svg_error_bars(
            canvas, frame, y if mark.error_along == "x" else x, ends, mark.error_along, mark.color, mark.alpha
        )
    marker = "rising" if mark.marker == "bar" and mark.error_along == "x" else mark.marker
    points_at(canvas, frame, marker, x, y, POINT * np.asarray(mark.size, dtype=float), mark.color, mark.alpha)
    _point_targets(canvas, x, y, mark.hover)


def _svg_error_bars(
    canvas: Canvas,
    frame: Frame,
    at: Floats,
    ends: tuple[Floats, Floats],
    along: str,
    color: str,
    alpha: float,
) -> None:
    """Draw error bars with caps between ``ends`` along an axis, at the positions ``at`` of the other axis."""
    low, high = ends
    paths = []
    for middle, first, last in np.column_stack([at, low, high])[np.isfinite(at + low + high)].tolist():
        caps = ((end, middle - CAP, end, middle + CAP) for end in (first, last))
        for x0, y0, x1, y1 in ((first, middle, last, middle), *caps):
            paths.append(segment_path(x0, y0, x1, y1) if along == "x" else segment_path(y0, x0, y1, x1))
    x, y = np.concatenate([low, high]), np.append(at, at)
    if along == "y":
        x, y = y, x
    canvas.stroke("".join(paths), color, ERROR, alpha, clipped(canvas, frame, x, y))


def points_at(
    canvas: Canvas,
    frame: Frame | None,
    marker: str,
    x: Floats,
    y: Floats,
    size: Any,
    color: str,
    alpha: float,
) -> None:
    """Draw markers of some diameter at positions in pixels, except those outside of the panel."""
    shown = np.isfinite(x + y)
    if frame is not None:
        box = frame.box
        shown &= (x >= box.left - 1) & (x <= box.right + 1) & (y >= box.top - 1) & (y <= box.bottom + 1)
    radii = np.broadcast_to(np.asarray(size) / 2, x.shape)[shown]
    spots = [*zip(x[shown].tolist(), y[shown].tolist(), radii.tolist(), strict=True)]
    if not spots:
        return
    if marker in ("circle", "dot"):
        part = 0.5 if marker == "dot" else 1.0
        circles = [f'<circle cx="{pixels(a)}" cy="{pixels(b)}" r="{share(part * r)}"/>' for a, b, r in spots]
        canvas.add(f"<g{canvas.paint(alpha, fill=color)}>{''.join(circles)}</g>")
    elif marker in ("bar", "rising"):
        lying, rising = (1.0, 0.0) if marker == "bar" else (0.0, 1.0)
        ends = ((a - r * lying, b - r * rising, a + r * lying, b + r * rising) for a, b, r in spots)
        path = "".join(segment_path(*line) for line in ends)
        canvas.stroke(path, color, 2.0, alpha)
    else:
        corners = SHAPES[marker]  # type: ignore[index]
        path = "".join(
            route(tenths(a + r * corners[:, 0], b + r * corners[:, 1]), close=True) for a, b, r in spots
        )
        canvas.fill(path, color, alpha)


def _point_targets(canvas: Canvas, x: Floats, y: Floats, hover: Sequence[str]) -> None:
    """Add the hover text of each point."""
    around = np.column_stack([x - POINTED, y - POINTED, x + POINTED, y + POINTED])
    _cell_targets(canvas, around.tolist(), hover)


def _svg_bars(canvas: Canvas, frame: Frame, mark: Bars) -> None:
    base = np.zeros(len(mark.at)) if mark.base is None else mark.base
    along, up = (frame.y, frame.x) if mark.horizontal else (frame.x, frame.y)
    sides = along.at(mark.at - mark.width / 2), along.at(mark.at + mark.width / 2)
    ends = up.at(base), up.at(base + mark.length)
    if mark.color == INK and mark.base is None and mark.error is None:
        _svg_data_outline(canvas, frame, sides, float(up.at(0.0)), ends[1], lying=mark.horizontal)
        return
    boxes = np.column_stack([sides[0], ends[0], sides[1], ends[1]])
    boxes = boxes[:, [1, 0, 3, 2]] if mark.horizontal else boxes
    colors = [mark.color] * len(mark.at) if isinstance(mark.color, str) else list(mark.color)
    by_color: dict[str, list[str]] = {}
    for color, corners in zip(colors, boxes.tolist(), strict=True):
        if np.isfinite(corners).all():
            by_color.setdefault(color, []).append(rectangle_path(*corners))
    cut = clipped(canvas, frame, boxes[:, [0, 2]], boxes[:, [1, 3]])
    for color, paths in by_color.items():
        canvas.fill("".join(paths), color, mark.alpha, cut)
    if mark.error is not None:
        heights = base + mark.length
        at = along.at(mark.at)
        limits = up.at(heights - mark.error), up.at(heights + mark.error)
        _svg_error_bars(canvas, frame, at, limits, "x" if mark.horizontal else "y", INK, 1.0)
    _cell_targets(canvas, boxes.tolist(), mark.hover)


def _cell_targets(canvas: Canvas, boxes: Iterable[Sequence[float]], hover: Iterable[str]) -> None:
    if canvas.hover:
        for corners, text in zip(boxes, hover, strict=False):
            if text and np.isfinite(corners).all():
                canvas.target(rectangle_path(*corners), text)


def _svg_strip(canvas: Canvas, frame: Frame, mark: Strip) -> None:
    side, across = (frame.x, frame.y) if mark.along == "x" else (frame.y, frame.x)
    low, high = side.at(mark.at - mark.width / 2), side.at(mark.at + mark.width / 2)
    ends = across.start + strip_heights(mark) * (across.end - across.start)
    _svg_data_outline(canvas, frame, (low, high), across.start, ends, lying=mark.along == "y")
    boxes = np.column_stack([low, ends, high, np.full(len(ends), across.start)])
    _cell_targets(canvas, (boxes if mark.along == "x" else boxes[:, [3, 0, 1, 2]]).tolist(), mark.hover)


def _svg_data_outline(
    canvas: Canvas, frame: Frame, sides: tuple[Floats, Floats], floor: float, ends: Floats, *, lying: bool
) -> None:
    """Draw bars of the data with pale fill and dark outline; adjacent bars share one outline."""
    low, high = sides
    paths = []
    for run in stretches(np.isfinite(low + high + ends)):
        breaks = np.flatnonzero(np.abs(low[run][1:] - high[run][:-1]) > 0.05) + 1
        for part in np.split(np.arange(run.start, run.stop), breaks):
            along = np.column_stack([low[part], high[part]]).ravel()
            along, up = along[[0, *range(len(along)), -1]], np.repeat(ends[part], 2)
            up = np.concatenate([[floor], up, [floor]])
            paths.append(line_path(up, along) if lying else line_path(along, up))
    x, y = np.append(low, high), np.append(ends, ends)
    if paths:
        more = clipped(canvas, frame, *((y, x) if lying else (x, y)))
        canvas.add(
            f'<path{canvas.paint(fill=DATA, stroke=DATA)} fill-opacity=".45"{attributes(more)} '
            f'd="{"".join(paths)}"/>'
        )


def _svg_rug(canvas: Canvas, frame: Frame, mark: Rug) -> None:
    side, across = (frame.x, frame.y) if mark.along == "x" else (frame.y, frame.x)
    at, foot = side.at(mark.at), across.start
    head = foot + RUG * (across.end - foot)
    path = ""
    for place in at[np.isfinite(at)].tolist():
        line = (place, foot, place, head) if mark.along == "x" else (foot, place, head, place)
        path += segment_path(*line)
    if frame.covered:  # visible on all colors
        canvas.stroke(path, PAPER, 3.2)
    canvas.stroke(path, INK, 1.3)
    feet = np.full(len(at), foot)
    x, y = (at, feet) if mark.along == "x" else (feet, at)
    _point_targets(canvas, x, y, mark.hover)


def _svg_heat(canvas: Canvas, frame: Frame, mark: Heat) -> None:
    """Draw colored cells, with one element for each color."""
    x, y = frame.x.at(mark.x_edges), frame.y.at(mark.y_edges)
    colors, numbers = shades(mark.colors), shade_numbers(mark.values, mark.low, mark.high)
    paths: dict[str, list[str]] = {}
    for row, shade in enumerate(numbers):
        starts = np.flatnonzero(np.diff(shade, prepend=np.nan) != 0)  # NaN differs from all
        for start, stop in zip(starts, [*starts[1:], len(shade)], strict=True):
            if np.isfinite(shade[start]):
                cell = rectangle_path(x[start], y[row + 1], x[stop], y[row])
                paths.setdefault(colors[int(shade[start])], []).append(cell)
    cut = clipped(canvas, frame, x, np.full(len(x), frame.box.top)) | {"shape-rendering": "crispEdges"}
    for color, cells in paths.items():
        canvas.fill("".join(cells), color, more=cut)
    _cell_numbers(canvas, mark, x, y, colors, numbers)
    if canvas.hover:
        for row, texts in enumerate(mark.hover):
            boxes = ((x[place], y[row + 1], x[place + 1], y[row]) for place in range(len(x) - 1))
            _cell_targets(canvas, boxes, texts)


def _cell_numbers(
    canvas: Canvas, mark: Heat, x: Floats, y: Floats, colors: Sequence[str], numbers: Floats
) -> None:
    """Write numbers in cells in one font size that fits all of them, unless they would be illegible."""
    longest = max((text_width(word) for row in mark.written for word in row), default=0.0)
    wide, high = np.abs(np.diff(x)).min(), np.abs(np.diff(y)).min()
    size = float(min(CELL, wide / (1.15 * max(3.0, longest)), high / 1.4))
    if not mark.written or size < SMALLEST:  # smaller numbers are left out
        return
    words: dict[str, list[PlacedText]] = {}
    for row, texts in enumerate(mark.written):
        for place, text in enumerate(texts):
            number = numbers[row, place]
            color = INK if np.isnan(number) else legible(colors[int(number)])
            middle = (x[place] + x[place + 1]) / 2, (y[row] + y[row + 1]) / 2
            word = PlacedText(float(middle[0]), float(middle[1]), text.replace("-", "\N{MINUS SIGN}"))
            words.setdefault(color, []).append(word)
    for color, words_of_color in words.items():
        canvas.words(words_of_color, size, color=color)


def _svg_contours(canvas: Canvas, frame: Frame, mark: Contours) -> None:
    """Fill the area above each level on top of that of the previous level, and draw contour lines.

    Each level has its label on its longest line with enough space.
    """
    x, y = frame.x.at(mark.x), frame.y.at(mark.y)
    colors = level_colors(mark)
    cut = clipped(canvas, frame, x, np.full(len(x), frame.box.top))
    for level, color in zip([-np.inf, *mark.levels[1:-1].tolist()], colors, strict=True):
        outlines = [ring.points for ring in rings(x, y, mark.values, level)]
        path = "".join(line_path(points[:, 0], points[:, 1], close=True) for points in outlines)
        canvas.fill(path, color, more=cut)
    levels = lined_levels(mark)
    lines = [sorted(contour_lines(rings(x, y, mark.values, level)), key=len)[::-1] for level in levels]
    grounds = [colors[min(int(np.searchsorted(mark.levels, level)), len(colors) - 1)] for level in levels]
    for lines_of_level, ground in zip(lines, grounds, strict=True):
        path = "".join(line_path(line[:, 0], line[:, 1]) for line in lines_of_level)
        canvas.stroke(path, legible(ground), 0.8, 0.7)
    taken: list[LineLabel] = []
    for place, (text, ground) in enumerate(zip(level_texts(levels), grounds, strict=True)):
        others = [line for lines_of_level in (*lines[:place], *lines[place + 1 :]) for line in lines_of_level]
        room = LabelRoom(CONTOUR_LABEL * (text_width(text) + 0.6), CONTOUR_LABEL, frame.box, others)
        spot = next((spot for line in lines[place] if (spot := room.along(line, taken))), None)
        if spot is not None:
            taken.append(spot)
            halo = {"paint-order": "stroke", "stroke": ground, "stroke-width": "3"}
            word = PlacedText(spot.x, spot.y, text)
            canvas.words([word], CONTOUR_LABEL, turn=spot.turn, color=legible(ground), more=halo)
    if canvas.hover:
        across, down = np.meshgrid(x, y)
        _point_targets(canvas, across.ravel(), down.ravel(), [text for row in mark.hover for text in row])


def level_colors(mark: Contours) -> list[str]:
    """Return the color between each two neighboring levels."""
    colors, count = shades(mark.colors), max(len(mark.levels) - 1, 1)
    return [colors[round((place + 0.5) / count * (SHADES - 1))] for place in range(count)]


def hatch_fill(canvas: Canvas) -> str:
    """Return the reference to the hatching pattern."""
    lines = f'<path{canvas.paint(stroke=INK)} fill="none" d="M-1 1l2-2M0 7l7-7M6 8l2-2"/>'
    size = 'patternUnits="userSpaceOnUse" width="7" height="7"'
    return canvas.define(f"<pattern {size}>{lines}</pattern>")


def _svg_hatch(canvas: Canvas, frame: Frame, mark: Hatch) -> None:
    """Draw hatched cells; a translucent fill makes the hatching visible on dark colors."""
    path = ""
    for corners in hatched(mark):
        x, y = frame.x.at(corners[:, 0]), frame.y.at(corners[:, 1])
        path += route(tenths(x, y), close=True)
    if path:
        canvas.add(f'<path{canvas.paint(fill=PAPER)} fill-opacity=".45" d="{path}"/>')
        canvas.add(f'<path fill="{hatch_fill(canvas)}" fill-opacity=".75" d="{path}"/>')


def _svg_rule(canvas: Canvas, frame: Frame, mark: Rule) -> None:
    side, across = (frame.y, frame.x) if mark.along == "y" else (frame.x, frame.y)
    at = float(side.at(mark.at))
    if min(side.start, side.end) - 0.5 <= at <= max(side.start, side.end) + 0.5:
        ends = (across.start, at, across.end, at) if mark.along == "y" else (at, across.start, at, across.end)
        canvas.stroke(segment_path(*ends), DATA, 1.0)


def _svg_text(canvas: Canvas, frame: Frame, mark: Text) -> None:
    x = float(frame.x.at(mark.x)) + POINT * mark.offset[0]
    y = float(frame.y.at(mark.y)) - POINT * mark.offset[1]
    if np.isfinite(x + y):
        look = {"fill-opacity": share(mark.alpha)} if mark.alpha < 1 else {}
        color = None if mark.color == INK else mark.color
        turn = (mark.rotation + 180) % 360 - 180
        size = POINT * mark.size
        text = fitted_lines(mark.text, frame.box.width, size, TEXT_LINES)
        canvas.words(
            [PlacedText(x, y, text)], size, mark.align, mark.upright, turn=turn, color=color, more=look
        )


DRAW: dict[type, Callable[[Canvas, Frame, Any], None]] = {
    Line: _svg_line,
    Band: _svg_band,
    Points: _svg_points,
    Bars: _svg_bars,
    Strip: _svg_strip,
    Rug: _svg_rug,
    Heat: _svg_heat,
    Contours: _svg_contours,
    Hatch: _svg_hatch,
    Rule: _svg_rule,
    Text: _svg_text,
}
