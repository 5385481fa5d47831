"""Text and axes in pixels: what stands along a panel, and how much room it takes.

Plotly measures text only in the browser. At the sides of a page it makes room by itself (``automargin``);
between panels it does not, so the room there is estimated here, rather too large.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from html import escape
from typing import Any, Literal, TypeAlias

import numpy as np

from paribus._contracts import Floats
from paribus._display.figure import Contours, Heat, Panel, PanelAxis
from paribus._display.mark_helpers import in_lines
from paribus._display.text_width import text_width

Way: TypeAlias = Literal["x", "y"]
Size: TypeAlias = dict[Way, float]  # width and height, in pixels
Box: TypeAlias = dict[
    Way, tuple[float, float]
]  # where a rectangle begins and ends, from the page's lower left
Spec: TypeAlias = dict[str, Any]  # what plotly calls a trace, an axis or an annotation, before it is one

FONT, SMALL, TITLE = 13.0, 11.5, 15.0  # pixels; 13 are the 10 points of a printed figure
SMALLEST = 6.5  # pixels of text that can be read, where names would touch otherwise
LEADING = 1.3  # height of a line of text, plotly's own
GAP = 8.0  # pixels between things that must not touch
MOST_TICKS = 9
YEARS = 1500.0  # days of an axis from which on plotly names years alone
DAY = 86_400_000.0  # in milliseconds, which plotly's date axes count in
INK = "#777777"  # as far from white as from the nearly black of plotly's dark theme
LINE: Spec = {"type": "line", "line": {"color": INK, "width": 1}, "opacity": 1.0}
AXIS: Spec = {"showline": False, "zeroline": False, "gridcolor": "rgba(128,128,128,0.22)"}


@dataclass
class Page:
    """The picture while it is drawn: its size, what each panel has of it, and what was drawn so far."""

    size: Size
    cell: Size
    traces: list[Spec] = field(default_factory=list)
    shapes: list[Spec] = field(default_factory=list)
    annotations: list[Spec] = field(default_factory=list)
    layout: Spec = field(default_factory=dict)
    explained: set[str] = field(default_factory=set)

    def share(self, box: Box, way: Way) -> list[float]:
        """Return where a box begins and ends, as shares of the page."""
        return [end / self.size[way] for end in box[way]]

    def add_axis(self, way: Way, spec: Spec) -> str:
        """Add an axis and return its name."""
        before = sum(name.startswith(f"{way}axis") for name in self.layout)
        number = str(before + 1) if before else ""
        self.layout[f"{way}axis{number}"] = spec
        return f"{way}{number}"

    def add_axes(self, x: Spec, y: Spec) -> dict[Way, str]:
        """Add two axes that meet, with a line along each that has ticks."""
        names: dict[Way, str] = {"x": self.add_axis("x", x), "y": self.add_axis("y", y)}
        x["anchor"], y["anchor"] = names["y"], names["x"]
        # Plotly leaves out its own lines where a panel has axes over each other and an order of its traces.
        for axis, x1, y1 in ((x, 1, 0), (y, 0, 1)):
            if axis["ticks"]:
                where = {"xref": f"{names['x']} domain", "yref": f"{names['y']} domain"}
                self.shapes.append(LINE | where | {"x0": 0, "y0": 0, "x1": x1, "y1": y1})
        return names


def escaped(text: str) -> str:
    """Write text so that plotly shows it as it is: no tags, and no formula between two dollars."""
    return escape(text, quote=False).replace("$", "&#36;").replace("\n", "<br>")


def wrapped(text: str, pixels: float, size: float = FONT) -> str:
    """Break text into lines that fit into some pixels."""

    def characters(line: str) -> int:
        each = size * text_width(line) / max(len(line), 1)
        return max(8, int(pixels / max(each, 1.0)))

    return in_lines(text, characters)


def text_height(text: str, size: float = FONT) -> float:
    """Return how many pixels the lines of a text take."""
    return LEADING * size * (text.count("\n") + 1) if text else 0.0


def places(values: Floats | float, axis: PanelAxis) -> Any:
    """Return positions as plotly needs them: days since 1970 become dates where an axis has them."""
    values = np.asarray(values, dtype=float)
    if axis.scale == "date":
        stamps = np.round(np.nan_to_num(values) * DAY).astype("int64").astype("datetime64[ms]")
        return np.where(np.isfinite(values), np.datetime_as_string(stamps), np.array(None)).tolist()
    return values if values.ndim else float(values)


def ends_of(panel: Panel, way: Way) -> tuple[float, float]:
    """Return the ends of an axis, NaN if open; those of colors, which reach up to the axes."""
    for mark in panel.marks:
        if isinstance(mark, Heat | Contours):
            along = getattr(mark, way if isinstance(mark, Contours) else f"{way}_edges")
            return float(along[0]), float(along[-1])
    axis: PanelAxis = getattr(panel, way)
    return math.nan if axis.low is None else axis.low, math.nan if axis.high is None else axis.high


def axis_spec(panel: Panel, way: Way, page: Page, box: Box) -> Spec:
    """Describe one side of a panel."""
    axis: PanelAxis = getattr(panel, way)
    ends = ends_of(panel, way)
    ticked = axis.numbers and axis.scale != "none"
    text = escaped(axis_label(axis, way, page.cell))
    return AXIS | {
        "type": "date" if axis.scale == "date" else "linear",
        "domain": page.share(box, way),
        "range": [places(end, axis) if math.isfinite(end) else None for end in ends],
        "title": {"text": text, "font": {"size": FONT + 1}, "standoff": 6},
        "automargin": "height" if way == "x" else "width",
        "showgrid": way == "y" and axis.scale == "number",
        "showticklabels": ticked,
        "ticks": "outside" if ticked else "",
        "tickangle": -90 if axis.turned else 0,
        **powers(*ends),
        **_ticks(panel, way, page.cell, box),
    }


def powers(low: float, high: float) -> Spec:
    """Describe how plotly writes numbers: in full, unless they are millions apart or far less than one."""
    apart = high - low >= 1e7 or high - low <= 1e-4
    return {"exponentformat": "power", "minexponent": 5 if apart else 15}


def _ticks(panel: Panel, way: Way, cell: Size, box: Box) -> Spec:
    """Describe the ticks of an axis: those it has, else as many of plotly's as have room."""
    axis: PanelAxis = getattr(panel, way)
    length = box[way][1] - box[way][0]
    words, size = tick_words(panel, way, cell)
    if axis.ticks is not None:
        if way == "y" or axis.turned:  # a panel may be smaller than was expected of its cell
            lines = max((word.count("\n") + 1 for word in words), default=1)
            size = min(size, max(SMALLEST, length / max(len(words), 1) / (1.15 * lines)))
        values = [places(at, axis) for at, _ in axis.ticks]
        return {"tickvals": values, "ticktext": [*map(escaped, words)], "tickfont": {"size": size}}
    low, high = ends_of(panel, way)
    span = high - low if 1e-300 < high - low < math.inf else 1.0
    each = size * max(map(text_width, words)) + 0.5 * size if way == "x" else 2.3 * size
    share = max(each / length, 1 / MOST_TICKS)  # of the axis that is between two ticks at least
    if axis.scale == "date":
        return {"nticks": max(4, int(1 / share))}
    if axis.tick_low is None or not low < axis.tick_low < high:
        most = max(3, math.ceil(span / _round_up(share * span, (2, 5, 10))))  # plotly's own steps
        return {"dtick": 1} if axis.integers and span < most else {"nticks": most}
    # Plotly has no ticks that begin above the end of an axis, so these stay when somebody zooms.
    step = _round_up(max(share, 1 / 6) * span, (1, 2, 2.5, 5, 10))
    values = [k * step for k in range(math.ceil(axis.tick_low / step), math.floor(high / step) + 1)]
    return {"tickvals": values, "tickformat": number_format(values)}


def _round_up(rough: float, leading: tuple[float, ...]) -> float:
    """Return the next number that begins with one of some digits."""
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next((digits for digits in leading if digits * power >= rough), leading[-1])


def number_format(values: list[float]) -> str:
    """Return how numbers are all written with as many decimals as distinguish them; else plotly decides."""
    largest, span = max(map(abs, values), default=0.0), np.ptp(values or [0.0])
    for decimals in range(6 if largest < 1e7 else 0):
        if all(abs(round(value, decimals) - value) <= 1e-6 * span for value in values):
            return f"{',' if largest >= 1e4 else ''}.{decimals}f"
    return ""


def axis_label(axis: PanelAxis, way: Way, cell: Size) -> str:
    """Return the label of an axis, in lines that fit along its panel."""
    return wrapped(axis.label, 0.8 * cell[way])


def tick_words(panel: Panel, way: Way, cell: Size) -> tuple[list[str], float]:
    """Return the words at ticks, or some as long as plotly's will be, and their size.

    Long words are broken rather than clipped, into as many lines as fit between two ticks; they are smaller
    where not even one does.
    """
    axis: PanelAxis = getattr(panel, way)
    if axis.ticks is None:
        return value_words(*ends_of(panel, way), dates=axis.scale == "date"), FONT
    words = [text for _, text in axis.ticks]
    if way == "x" and not axis.turned:
        return words, FONT
    between = 0.75 * cell[way] / max(len(words), 1)
    size = min(FONT, max(SMALLEST, between / 1.15))
    lines = int(0.8 * between / (LEADING * size))
    across = 0.42 * cell["x"] if way == "y" else 0.3 * cell["y"]
    return [_broken(text, across, size, lines) for text in words], size


def _broken(text: str, pixels: float, size: float, most: int) -> str:
    """Break text into lines of some pixels, longer ones if there would be more than ``most``."""
    lines = wrapped(text, pixels, size)
    if lines.count("\n") < max(most, text.count("\n") + 1):
        return lines
    return _broken(text, 1.2 * pixels, size, most)


def value_words(low: float, high: float, *, dates: bool = False) -> list[str]:
    """Return numbers or dates as long as those along an axis."""
    if dates:
        return ["2020\n" if high - low > YEARS else "Sep 2020\n"]
    if not 1e-7 < high - low < 1e7:  # with a power, or an open end
        return [f"{low:.1e}", f"{high:.1e}"]
    decimals = max(0, -math.floor(math.log10((high - low) / 5)))
    return [f"{low:.{decimals}f}", f"{high:.{decimals}f}"]


def tick_room(panel: Panel, way: Way, cell: Size) -> Size:
    """Estimate how wide and how high the words at ticks are, with what keeps them off the axis."""
    axis: PanelAxis = getattr(panel, way)
    words, size = tick_words(panel, way, cell)
    if not axis.numbers or axis.scale == "none" or not words:
        return {"x": 0.0, "y": 0.0}
    wide = size * max(map(text_width, words)) + GAP
    high = max(text_height(word, size) for word in words) + GAP
    return {"x": high, "y": wide} if axis.turned else {"x": wide, "y": high}
