"""Figures, legends and sparklines as SVG."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from paribus._contracts import Floats
from paribus._display.alt_text import figure_description, figure_title
from paribus._display.figure import Band, Bars, Contours, Figure, Hatch, Line, Mark, Panel, PanelAxis, Points
from paribus._display.mark_helpers import (
    DARK,
    DATA,
    FAINT,
    FONT,
    FONTS,
    GRID,
    HEADING,
    LIGHT,
    PALETTE,
    SMALL,
    TICK,
    TITLE,
)
from paribus._display.text_width import text_width
from paribus._display.vector.axes import (
    BAR,
    GAP,
    KEY,
    LEGEND_LINE,
    MARK,
    Box,
    ColorBar,
    Frame,
    Side,
    bar_height,
    frame_of,
    rooms_of,
)
from paribus._display.vector.canvas import (
    BOLD,
    BOLDER,
    ROOT,
    Canvas,
    PlacedText,
    ThemeName,
    fitted_lines,
    pixels,
    rectangle_path,
    segment_path,
    shades,
    share,
    text_height,
    written,
)
from paribus._display.vector.marks import DRAW, POINT, dashes, hatch_fill, level_colors, points_at
from paribus.errors import OptionError

Labeled: TypeAlias = Line | Band | Points | Bars | Hatch
APART = 16.0  # pixels between entries in a row
SAMPLE = 24.0  # pixels of the sample of a mark
LINES = 3  # of an entry, at most


@dataclass(frozen=True)
class Entry:
    """A mark, its label in lines and in full, and their position from the upper left of the legend."""

    mark: Labeled
    text: str
    full: str
    x: float = 0.0
    y: float = 0.0

    @property
    def width(self) -> float:
        """Width in pixels, with the sample."""
        return KEY + TICK * text_width(self.text)

    @property
    def height(self) -> float:
        """Height in pixels, with the gap to the next entry."""
        return max(LEGEND_LINE, text_height(self.text, TICK) + 3.0)


@dataclass(frozen=True)
class Legend:
    """A title and entries with their positions; width and height are in pixels."""

    title: str = ""
    entries: tuple[Entry, ...] = ()
    width: float = 0.0
    height: float = 0.0


def labeled(panels: Iterable[Panel]) -> dict[str, Labeled]:
    """Return the first mark of each label in panels and their narrow panels."""
    by_label: dict[str, Labeled] = {}
    for panel in panels:
        for part in panel.parts:
            for mark in part.marks:
                if isinstance(mark, Line | Band | Points | Bars | Hatch) and mark.label:
                    by_label.setdefault(mark.label, mark)
    return by_label


def legend_above(marks: dict[str, Labeled], title: str | None, width: float) -> Legend:
    """Return a legend in rows, with as many entries in each row as fit into a width."""
    if not marks:
        return Legend()
    heading = fitted_lines(title or "", width, BOLDER * TICK, 2)
    x, y, row = 0.0, 0.0, LEGEND_LINE
    entries = [
        Entry(mark, fitted_lines(label, width - KEY, TICK, LINES), label) for label, mark in marks.items()
    ]
    head = BOLDER * TICK * text_width(heading) + APART if heading else 0.0
    if head and head + sum(entry.width + APART for entry in entries) <= width and "\n" not in heading:
        x = head
    elif head:
        y = text_height(heading, TICK) + 3.0
    placed = []
    for entry in entries:
        if x and x + entry.width > width:
            x, y, row = 0.0, y + row, LEGEND_LINE
        placed.append(replace(entry, x=x, y=y))
        x, row = x + entry.width + APART, max(row, entry.height)
    return Legend(heading, tuple(placed), width, y + row)


def legend_beside(marks: dict[str, Labeled], title: str | None, width: float) -> Legend:
    """Return a legend with one entry in each row, whose texts fit into a width."""
    if not marks:
        return Legend()
    heading = fitted_lines(title or "", width, BOLDER * TICK, LINES)
    y, placed = (text_height(heading, TICK) + 4.0) if heading else 0.0, []
    for label, mark in marks.items():
        placed.append(Entry(mark, fitted_lines(label, width - KEY, TICK, LINES), label, y=y))
        y += placed[-1].height
    widest = max([BOLDER * TICK * text_width(heading), *(entry.width for entry in placed)])
    return Legend(heading, tuple(placed), widest + GAP, y)


def draw_legend(canvas: Canvas, legend: Legend, left: float, top: float) -> None:
    """Draw a legend with its upper left corner at ``left`` and ``top``."""
    if legend.title:
        canvas.words([PlacedText(left, top + 2.0, legend.title)], TICK, "left", "top", more=BOLD)
    words = []
    for entry in legend.entries:
        x, y = left + entry.x, top + entry.y + LEGEND_LINE / 2
        _legend_sample(canvas, entry.mark, x, y)
        middle = y + text_height(entry.text, TICK) / 2 - text_height("x", TICK) / 2
        full = entry.full.replace("\n", " ")
        words.append(PlacedText(x + KEY, middle, entry.text, None if full == entry.text else full))
    canvas.words(words, TICK, "left")


def _legend_sample(canvas: Canvas, mark: Labeled, x: float, y: float) -> None:
    """Draw a sample of the mark of a legend entry."""
    area = rectangle_path(x, y - 5.0, x + SAMPLE, y + 5.0)
    if isinstance(mark, Line):
        path = segment_path(x, y, x + SAMPLE, y)
        canvas.stroke(path, mark.color, POINT * mark.width, mark.alpha, dashes(mark))
    elif isinstance(mark, Points):
        size = POINT * float(np.median(mark.size))
        middle = np.array([x + SAMPLE / 2]), np.array([y])
        points_at(canvas, None, mark.marker, *middle, size, mark.color, mark.alpha)
    elif isinstance(mark, Hatch):
        canvas.add(f'<path fill="{hatch_fill(canvas)}" fill-opacity=".75" d="{area}"/>')
    else:
        color = mark.color if isinstance(mark.color, str) else mark.color[0]
        canvas.fill(area, color, mark.alpha)


WIDE, HIGH = 96.0, 24.0  # pixels of a sparkline
ROOM = 0.2  # of the range of heights, below the lowest bar of a sparkline
EDGE = 2.0  # pixels of the margin of a sparkline


def sparkline(x: Floats | None, y: Floats) -> str:
    """Return a small curve without axes as SVG, hidden from screen readers, which read the table next to it.

    Parameters
    ----------
    x : ndarray of shape (g,) or None
        Positions of numbers or dates. None for categories, whose heights are bars. Bars start at zero if that
        lies within the limits of the heights, else at the nearer limit.
    y : ndarray of shape (g,)
        Heights; the curve is broken at NaN.

    Returns
    -------
    str
        An ``<svg>`` element without ids.

    Examples
    --------
    >>> import numpy as np
    >>> sparkline(None, np.array([1.0, 3.0])).count("M")  # bars
    2
    """
    y = np.asarray(y, dtype=np.float64)
    finite = y[np.isfinite(y)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    aside = 0.0 if high > low else abs(high) * 0.1 or 1.0
    if x is None and (low > 0 or high < 0):  # keep the lowest bar visible
        low -= ROOM * (high - low)
    low, high = low - aside, high + aside
    y = np.clip(y, low, high)  # infinite heights
    at = np.arange(len(y), dtype=np.float64) if x is None else np.asarray(x, dtype=np.float64)
    mark: Mark = Line(at, y, PALETTE[0], width=1.2)
    across = PanelAxis(scale="none")
    if x is None:
        across = PanelAxis(scale="none", low=-0.5, high=len(y) - 0.5)
        if np.any(y != y[:1]):
            base = np.full(len(y), min(max(low, 0.0), high))
            mark = Bars(at, y - base, np.full(len(y), 0.75), PALETTE[0], base)
    panel = Panel((mark,), across, PanelAxis(scale="none", low=low, high=high))
    canvas = Canvas("")
    frame = frame_of(panel, Box(EDGE, EDGE, WIDE - EDGE, HIGH - EDGE), (WIDE, HIGH))
    if len(y):
        DRAW[type(mark)](canvas, frame, mark)
    size = f'viewBox="0 0 {pixels(WIDE)} {pixels(HIGH)}" width="{pixels(WIDE)}" height="{pixels(HIGH)}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{ROOT}" {size} aria-hidden="true" focusable="false">'
        f"{''.join(canvas.parts)}</svg>"
    )


INCH = 96.0  # in pixels
LEAST = 0.45  # smallest share of its grid cell for a panel; if texts need more, the image grows
BESIDE = 0.35  # largest share of a grid cell for the legend of a panel
NARROWEST = 120.0  # pixels of the width of an image
PASSES = 6  # iterations that fit panels and the texts around them, at most
NOTE_LINES = 6  # of a note, at most
STOPS = 11  # colors of a color bar between which a browser interpolates
IDENTIFIER = re.compile(r"[A-Za-z_][\w.-]*", re.ASCII)


@dataclass(frozen=True)
class ImageLayout:
    """Size of an image in pixels, with its panels, legends, title and notes."""

    width: float
    height: float
    frames: tuple[Frame, ...]
    legends: tuple[Legend, ...]
    above: Legend
    title: str
    notes: str


def render(
    figure: Figure,
    *,
    id_prefix: str,
    width: float | None = None,
    theme: ThemeName = "page",
    hover: bool = False,
) -> str:
    """Render a figure as an SVG element.

    The element has no scripts, styles or external references, and is deterministic.

    Parameters
    ----------
    figure : Figure
        The figure to render.
    id_prefix : str
        The prefix of all ids, which must be unique within a page.
    width : float, optional
        The width in pixels, by default that of the figure. It changes the width of panels, not the size of
        text.
    theme : {"page", "light", "dark"}
        The colors. With "page", marks have classes, to which `css` assigns light and dark colors, and the
        background is transparent. The other themes have fixed colors and a background.
    hover : bool
        Whether points and cells have hover texts.

    Returns
    -------
    str
        An ``<svg>`` element with a title and a description.

    Examples
    --------
    >>> import numpy as np
    >>> from paribus._display.figure import Line, Panel
    >>> line = Line(np.array([0.0, 1.0]), np.array([0.0, 2.0]), "ink")
    >>> render(Figure((Panel((line,)),)), id_prefix="one")[:39]
    '<svg xmlns="http://www.w3.org/2000/svg"'
    """
    if not IDENTIFIER.fullmatch(id_prefix):
        raise OptionError(
            f"id_prefix={id_prefix!r} cannot begin an id; use a letter, then letters, digits, '-', '_' or '.'"
        )
    if width is not None and not NARROWEST <= width < 1e5:
        raise OptionError(f"width={width!r} must be a number of pixels, {NARROWEST:.0f} or more")
    layout = _image_layout(figure, INCH * figure.size[0] if width is None else float(width))
    canvas = Canvas(id_prefix, theme, hover)
    y = GAP
    if layout.title:
        canvas.words([PlacedText(GAP, y, layout.title)], HEADING, "left", "top", more=BOLD)
        y += text_height(layout.title, HEADING) + GAP
    draw_legend(canvas, layout.above, GAP, y)
    for frame, legend in zip(layout.frames, layout.legends, strict=True):
        _svg_panel(canvas, frame)
        aside = max((bar.width for bar in frame.bars), default=0.0) + 2 * GAP
        draw_legend(canvas, legend, frame.beyond + aside, frame.box.top)
    if layout.notes:
        foot = layout.height - GAP - text_height(layout.notes, SMALL)
        canvas.words([PlacedText(GAP, foot, layout.notes)], SMALL, "left", "top", color=FAINT)
    colors = DARK if theme == "dark" else LIGHT
    wide, high = pixels(np.ceil(layout.width)), pixels(np.ceil(layout.height))
    named, ground = f' class="{ROOT}"', ""
    if theme != "page":
        named, ground = "", f'<path fill="{colors.paper}" d="M0 0h{wide}v{high}H0z"/>'
    definitions = f"<defs>{''.join(canvas.defs)}</defs>" if canvas.defs else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg"{named} viewBox="0 0 {wide} {high}" width="{wide}" '
        f'height="{high}" role="img" aria-labelledby="{id_prefix}-title {id_prefix}-desc" direction="ltr" '
        f'font-family="{FONTS}" fill="{colors.ink}">'
        f'<title id="{id_prefix}-title">{written(figure_title(figure))}</title>'
        f'<desc id="{id_prefix}-desc">{written(figure_description(figure))}</desc>'
        f"{definitions}{ground}{''.join(canvas.parts)}</svg>"
    )


def _image_layout(figure: Figure, width: float) -> ImageLayout:
    """Return the layout of an image; texts get their space first, and panels share the rest equally."""
    columns = max(1, min(figure.columns, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    cell = width / columns, INCH * figure.size[1] / rows
    legends = tuple(
        legend_beside(labeled([panel]), panel.legend_title, BESIDE * cell[0])
        if panel.legend == "panel"
        else Legend()
        for panel in figure.panels
    )
    common = labeled(panel for panel in figure.panels if panel.legend == "figure")
    above = legend_above(common, figure.legend_title, width - 2 * GAP)
    title = fitted_lines(figure.title or "", width - 2 * GAP, BOLDER * HEADING, 3)
    notes = "\n".join(fitted_lines(note, width - 2 * GAP, SMALL, NOTE_LINES) for note in figure.notes)
    head = text_height(title, HEADING) + GAP * bool(title) + above.height + GAP * bool(common) + GAP
    foot = text_height(notes, SMALL) + 2 * GAP * bool(notes) + GAP
    size = 0.75 * cell[0], 0.7 * cell[1]
    room = width, INCH * figure.size[1] - head - foot
    for _ in range(PASSES):
        before = size
        alike = [Box(0.0, 0.0, *size)] * len(figure.panels)
        boxes, size, image = _panel_boxes(figure, alike, legends, cell, columns, room)
        if max(abs(size[0] - before[0]), abs(size[1] - before[1])) < 0.1:
            break
    placed = [
        Box(box.left, box.top + head, box.right, box.bottom + head) for box in boxes[: len(figure.panels)]
    ]
    frames = tuple(frame_of(panel, box, cell) for panel, box in zip(figure.panels, placed, strict=True))
    size = image[0], image[1] + head + foot
    if len(frames) == 1 and figure.panels[0].equal:  # crop the unused part of the box: its aspect is fixed
        right, bottom = placed[0].right - frames[0].box.right, placed[0].bottom - frames[0].box.bottom
        size = max(size[0] - right, SMALL * text_width(notes) + 2 * GAP), size[1] - bottom
    return ImageLayout(*size, frames, legends, above, title, notes)


def _panel_boxes(
    figure: Figure,
    boxes: list[Box],
    legends: tuple[Legend, ...],
    cell: tuple[float, float],
    columns: int,
    image: tuple[float, float],
) -> tuple[list[Box], tuple[float, float], tuple[float, float]]:
    """Return the box of each panel, the size of a panel, and that of all panels with their texts.

    The space for texts is that around panels in the current ``boxes``. ``image`` is the available size.
    """
    rows = -(-len(boxes) // columns)
    rooms = np.zeros((rows * columns, 4))
    for place, (panel, box) in enumerate(zip(figure.panels, boxes, strict=True)):
        rooms[place] = rooms_of(frame_of(panel, box, cell), legends[place].width)
        rooms[place, 3] = max(rooms[place, 3], legends[place].height - box.height)
    left, right, top, bottom = np.moveaxis(rooms.reshape(rows, columns, 4), 2, 0)
    left, right, top, bottom = left.max(0), right.max(0), top.max(1), bottom.max(1)
    wide = max(LEAST * cell[0], (image[0] - (left + right).sum()) / columns)
    high = max(LEAST * cell[1], (image[1] - (top + bottom).sum()) / rows)
    ends = (np.cumsum(left + wide + right) - right).tolist()
    floors = (np.cumsum(top + high + bottom) - bottom).tolist()
    placed = [Box(end - wide, floor - high, end, floor) for floor in floors for end in ends]
    whole = columns * wide + float((left + right).sum()), rows * high + float((top + bottom).sum())
    return placed, (wide, high), whole


def _svg_panel(canvas: Canvas, frame: Frame) -> None:
    """Draw a panel with its axes, narrow panels and color bars, above a light grid."""
    x, y = frame.panel.x, frame.panel.y
    lying = y.scale == "category" and x.scale != "category"
    side, across = (frame.x, frame.y) if lying else (frame.y, frame.x)
    if not (frame.covered or x.scale == "none" or side.axis.scale == "none"):
        ends = (across.start, across.end) if lying else (frame.ahead, frame.beyond)
        _svg_tick_lines(canvas, side, ends, "x" if lying else "y", GRID)
    beside, above = (*frame.left, *frame.right), () if frame.top is None else (frame.top,)
    for part in (frame, *beside, *above):
        for mark in part.panel.marks:
            DRAW[type(mark)](canvas, part, mark)
        if part not in above and part.panel.x.scale != "none":
            _svg_x_axis(canvas, part)
        if part not in beside and part.panel.y.scale != "none":
            _svg_y_axis(canvas, part)
    for number, bar in enumerate(frame.bars):
        _svg_color_bar(canvas, frame, bar, number)
    if frame.title:
        top = (frame.top or frame).box.top - GAP
        canvas.words([PlacedText(frame.ahead, top, frame.title)], TITLE, "left", "bottom", more=BOLD)


def _svg_tick_lines(canvas: Canvas, side: Side, ends: tuple[float, float], along: str, color: str) -> None:
    """Draw a line at each tick, between two ends perpendicular to the axis."""
    paths = []
    for place, _ in side.ticks.entries:
        at = float(side.at(place))
        line = (at, ends[0], at, ends[1]) if along == "x" else (ends[0], at, ends[1], at)
        paths.append(segment_path(*line))
    canvas.stroke("".join(paths), color, 1.0)


def _svg_x_axis(canvas: Canvas, frame: Frame) -> None:
    """Draw the x-axis of a panel with its ticks and its label."""
    side, box = frame.x, frame.box
    canvas.stroke(segment_path(box.left, box.bottom, box.right, box.bottom), DATA, 1.0)
    _svg_tick_lines(canvas, side, (box.bottom, box.bottom + MARK), "x", DATA)
    label = box.bottom + GAP
    if side.axis.numbers and side.ticks.entries:
        top, turned = box.bottom + MARK + 3.0, side.ticks.turned
        words = [replace(word, y=top) for word in _tick_texts(side, along_x=True)]
        if turned:
            canvas.words(words, side.ticks.size, "right", turn=90.0)
        else:
            canvas.words(words, side.ticks.size, upright="top")
        label = top + (side.ticks.width if turned else side.ticks.height) + GAP
    if frame.x_label:
        middle = (box.left + box.right) / 2
        full = frame.panel.x.label
        canvas.words([_shortened_text(middle, label, frame.x_label, full)], FONT, upright="top")


def _svg_y_axis(canvas: Canvas, frame: Frame) -> None:
    """Draw the y-axis of a panel with its ticks and its label."""
    side, box, left = frame.y, frame.box, frame.ahead
    canvas.stroke(segment_path(left, box.bottom, left, box.top), DATA, 1.0)
    _svg_tick_lines(canvas, side, (left - MARK, left), "y", DATA)
    label = left - GAP
    if side.axis.numbers and side.ticks.entries:
        right = left - MARK - 4.0
        words = [replace(word, x=right) for word in _tick_texts(side, along_x=False)]
        canvas.words(words, side.ticks.size, "right")
        label = right - side.ticks.width - GAP
    if frame.y_label:
        middle = (box.top + box.bottom) / 2
        word = _shortened_text(label, middle, frame.y_label, frame.panel.y.label)
        canvas.words([word], FONT, upright="bottom", turn=90.0)


def _tick_texts(side: Side, *, along_x: bool) -> list[PlacedText]:
    """Return the texts of ticks, each at its position along the axis."""
    words = []
    for place, (value, text) in enumerate(side.ticks.entries):
        at = float(side.at(value))
        full = side.ticks.full[place] if side.ticks.full else text
        words.append(_shortened_text(at if along_x else 0.0, 0.0 if along_x else at, text, full))
    return words


def _shortened_text(x: float, y: float, text: str, full: str) -> PlacedText:
    """Return a placed text, with the full text if it is shortened."""
    same = "…" not in text or "".join(text.split()) == "".join(full.split())
    return PlacedText(x, y, text, None if same else " ".join(full.split()))


def _svg_color_bar(canvas: Canvas, frame: Frame, bar: ColorBar, number: int) -> None:
    """Draw one of the color bars next to a panel, which divide its height equally."""
    box, count = frame.box, len(frame.bars)
    tall = bar_height(box.height, count)
    top = box.top + number * box.height / count
    left = frame.beyond + 2 * GAP
    side = Side(frame.y.axis, bar.low, bar.high, top + tall, top, bar.ticks)
    if isinstance(bar.mark, Contours):
        edges = side.at(bar.mark.levels)
        for color, low, high in zip(level_colors(bar.mark), edges[:-1], edges[1:], strict=True):
            step = rectangle_path(left, float(high), left + BAR, float(low))
            canvas.fill(step, color, more={"shape-rendering": "crispEdges"})
    else:
        colors = shades(bar.mark.colors)
        at = np.linspace(0, 1, STOPS)
        stops = [
            f'<stop offset="{share(a)}" stop-color="{colors[round(a * (len(colors) - 1))]}"/>' for a in at
        ]
        fill = canvas.define(f'<linearGradient x2="0" y1="1" y2="0">{"".join(stops)}</linearGradient>')
        canvas.add(f'<path fill="{fill}" d="{rectangle_path(left, top, left + BAR, top + tall)}"/>')
    right = left + BAR
    _svg_tick_lines(canvas, side, (right, right + MARK), "y", DATA)
    words = [replace(word, x=right + MARK + 3.0) for word in _tick_texts(side, along_x=False)]
    canvas.words(words, bar.ticks.size, "left")
    label = right + MARK + 3.0 + bar.ticks.width + GAP
    word = _shortened_text(label, top + tall / 2, bar.unit, bar.mark.unit or "")
    canvas.words([word], FONT, upright="top", turn=90.0)
