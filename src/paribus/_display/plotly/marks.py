"""Marks and axes in plotly."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Literal, TypeAlias

import numpy as np

from paribus._contracts import Floats
from paribus._display.figure import (
    Band,
    Bars,
    Contours,
    Hatch,
    Heat,
    Line,
    Mark,
    Panel,
    PanelAxis,
    Points,
    Rug,
    Rule,
    Strip,
    Text,
)
from paribus._display.mark_helpers import (
    FONT,
    SMALL,
    TICK,
    alone,
    hatched,
    in_lines,
    is_light,
    labeled_levels,
    lined_levels,
    stretches,
    strip_heights,
)
from paribus._display.mark_helpers import INK as FIGURE_INK
from paribus._display.text_width import text_width

Way: TypeAlias = Literal["x", "y"]
Size: TypeAlias = dict[Way, float]  # width and height, in pixels
Box: TypeAlias = dict[
    Way, tuple[float, float]
]  # limits of a rectangle in pixels, from the lower left of the page
Spec: TypeAlias = dict[str, Any]  # a plotly trace, axis, shape or annotation as a dictionary

SMALLEST = 6.5  # pixels of the smallest tick labels
LEADING = 1.3  # line height of plotly, as a multiple of the font size
GAP = 8.0  # pixels between elements
MOST_TICKS = 9
YEARS = 1500.0  # days of an axis above which plotly labels years only
DAY = 86_400_000.0  # in milliseconds, which plotly's date axes count in
INK = "#777777"  # gray with similar contrast to white and to the dark theme of plotly
LINE: Spec = {"type": "line", "line": {"color": INK, "width": 1}, "opacity": 1.0}
AXIS: Spec = {"showline": False, "zeroline": False, "gridcolor": "rgba(128,128,128,0.22)"}


@dataclass
class Page:
    """The plotly figure under construction: its size, the size of a grid cell, and its elements so far."""

    size: Size
    cell: Size
    traces: list[Spec] = field(default_factory=list)
    shapes: list[Spec] = field(default_factory=list)
    annotations: list[Spec] = field(default_factory=list)
    layout: Spec = field(default_factory=dict)
    explained: set[str] = field(default_factory=set)

    def share(self, box: Box, way: Way) -> list[float]:
        """Return the limits of a box along one axis, as shares of the page."""
        return [end / self.size[way] for end in box[way]]

    def add_axis(self, way: Way, spec: Spec) -> str:
        """Add an axis and return its name."""
        before = sum(name.startswith(f"{way}axis") for name in self.layout)
        number = str(before + 1) if before else ""
        self.layout[f"{way}axis{number}"] = spec
        return f"{way}{number}"

    def add_axes(self, x: Spec, y: Spec) -> dict[Way, str]:
        """Add two axes anchored to each other, with a line along each axis that has ticks."""
        names: dict[Way, str] = {"x": self.add_axis("x", x), "y": self.add_axis("y", y)}
        x["anchor"], y["anchor"] = names["y"], names["x"]
        # plotly omits its axis lines if a panel has overlaying axes and traces with a zorder.
        for axis, x1, y1 in ((x, 1, 0), (y, 0, 1)):
            if axis["ticks"]:
                where = {"xref": f"{names['x']} domain", "yref": f"{names['y']} domain"}
                self.shapes.append(LINE | where | {"x0": 0, "y0": 0, "x1": x1, "y1": y1})
        return names


def escaped(text: str) -> str:
    """Return text with tags and dollar signs escaped, so that plotly shows it verbatim."""
    return escape(text, quote=False).replace("$", "&#36;").replace("\n", "<br>")


def wrapped(text: str, pixels: float, size: float = FONT) -> str:
    """Break text into lines of a width in pixels, but of at least eight characters."""
    return in_lines(
        text, lambda line: max(8, int(pixels / max(size * text_width(line) / max(len(line), 1), 1.0)))
    )


def text_height(text: str, size: float = FONT) -> float:
    """Return the height of a text in pixels."""
    return LEADING * size * (text.count("\n") + 1) if text else 0.0


def places(values: Floats | float, axis: PanelAxis) -> Any:
    """Return positions for plotly: on an axis of dates, days since 1970 become date strings."""
    values = np.asarray(values, dtype=float)
    if axis.scale == "date":
        stamps = np.round(np.nan_to_num(values) * DAY).astype("int64").astype("datetime64[ms]")
        return np.where(np.isfinite(values), np.datetime_as_string(stamps), np.array(None)).tolist()
    return values if values.ndim else float(values)


def ends_of(panel: Panel, way: Way) -> tuple[float, float]:
    """Return the limits of an axis, NaN if unknown; those of a heat map or contours are their edges."""
    for mark in panel.marks:
        if isinstance(mark, Heat | Contours):
            along = getattr(mark, way if isinstance(mark, Contours) else f"{way}_edges")
            return float(along[0]), float(along[-1])
    axis: PanelAxis = getattr(panel, way)
    return math.nan if axis.low is None else axis.low, math.nan if axis.high is None else axis.high


def axis_spec(panel: Panel, way: Way, page: Page, box: Box) -> Spec:
    """Return the plotly axis of one side of a panel."""
    axis: PanelAxis = getattr(panel, way)
    ends = ends_of(panel, way)
    ticked = axis.numbers and axis.scale != "none"
    text = escaped(axis_label(axis, way, page.cell))
    return AXIS | {
        "type": "date" if axis.scale == "date" else "linear",
        "domain": page.share(box, way),
        "range": [places(end, axis) if math.isfinite(end) else None for end in ends],
        "title": {"text": text, "font": {"size": FONT}, "standoff": 6},
        "automargin": "height" if way == "x" else "width",
        "showgrid": way == "y" and axis.scale == "number",
        "showticklabels": ticked,
        "ticks": "outside" if ticked else "",
        "tickangle": -90 if axis.turned else 0,
        **powers(*ends),
        **_plotly_ticks(panel, way, page.cell, box),
    }


def powers(low: float, high: float) -> Spec:
    """Return the number format of an axis: with powers of ten only for a very large or small range."""
    apart = high - low >= 1e7 or high - low <= 1e-4
    return {"exponentformat": "power", "minexponent": 5 if apart else 15}


def _plotly_ticks(panel: Panel, way: Way, cell: Size, box: Box) -> Spec:
    """Return the ticks of an axis: the given ones, else as many of plotly as fit."""
    axis: PanelAxis = getattr(panel, way)
    length = box[way][1] - box[way][0]
    words, size = tick_words(panel, way, cell)
    if axis.ticks is not None:
        if way == "y" or axis.turned:  # a panel may be smaller than estimated from its cell
            lines = max((word.count("\n") + 1 for word in words), default=1)
            size = min(size, max(SMALLEST, length / max(len(words), 1) / (1.15 * lines)))
        values = [places(at, axis) for at, _ in axis.ticks]
        return {"tickvals": values, "ticktext": [*map(escaped, words)], "tickfont": {"size": size}}
    low, high = ends_of(panel, way)
    span = high - low if 1e-300 < high - low < math.inf else 1.0
    room = size * max(map(text_width, words)) + 0.5 * size if way == "x" else 2.3 * size  # of a tick
    share = max(room / length, 1 / MOST_TICKS)  # smallest distance of two ticks, as a share of the axis
    if axis.scale == "date":
        return {"nticks": max(4, int(1 / share))}
    if axis.tick_low is None or not low < axis.tick_low < high:
        most = max(3, math.ceil(span / _round_up(share * span, (2, 5, 10))))  # the steps of plotly
        return {"dtick": 1} if axis.integers and span < most else {"nticks": most}
    # plotly cannot start ticks above the lower limit, so these ticks are fixed and stay when zooming.
    step = _round_up(max(share, 1 / 6) * span, (1, 2, 2.5, 5, 10))
    values = [k * step for k in range(math.ceil(axis.tick_low / step), math.floor(high / step) + 1)]
    return {"tickvals": values, "tickformat": number_format(values)}


def _round_up(rough: float, leading: tuple[float, ...]) -> float:
    """Return the smallest number not below ``rough`` that is a power of ten times one of ``leading``."""
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next((digits for digits in leading if digits * power >= rough), leading[-1])


def number_format(values: list[float]) -> str:
    """Return the format with the fewest sufficient decimals for all values; empty leaves it to plotly."""
    largest, span = max(map(abs, values), default=0.0), np.ptp(values or [0.0])
    for decimals in range(6 if largest < 1e7 else 0):
        if all(abs(round(value, decimals) - value) <= 1e-6 * span for value in values):
            return f"{',' if largest >= 1e4 else ''}.{decimals}f"
    return ""


def axis_label(axis: PanelAxis, way: Way, cell: Size) -> str:
    """Return the label of an axis, broken into lines that fit along its panel."""
    return wrapped(axis.label, 0.8 * cell[way])


def tick_words(panel: Panel, way: Way, cell: Size) -> tuple[list[str], float]:
    """Return the tick labels, or estimates of those of plotly, and their font size.

    Long labels are broken into as many lines as fit between two ticks. The font is smaller if one line does
    not fit.
    """
    axis: PanelAxis = getattr(panel, way)
    if axis.ticks is None:
        return value_words(*ends_of(panel, way), dates=axis.scale == "date"), TICK
    words = [text for _, text in axis.ticks]
    if way == "x" and not axis.turned:
        return words, TICK
    between = 0.75 * cell[way] / max(len(words), 1)
    size = min(TICK, max(SMALLEST, between / 1.15))
    lines = int(0.8 * between / (LEADING * size))
    across = 0.42 * cell["x"] if way == "y" else 0.3 * cell["y"]
    return [_wrapped_to_lines(text, across, size, lines) for text in words], size


def _wrapped_to_lines(text: str, pixels: float, size: float, most: int) -> str:
    """Break text into lines of some pixels, or longer lines if there would be more than ``most``."""
    lines = wrapped(text, pixels, size)
    if lines.count("\n") < max(most, text.count("\n") + 1):
        return lines
    return _wrapped_to_lines(text, 1.2 * pixels, size, most)


def value_words(low: float, high: float, *, dates: bool = False) -> list[str]:
    """Return texts about as long as the tick labels of an axis of numbers or dates."""
    if dates:
        return ["2020\n" if high - low > YEARS else "Sep 2020\n"]
    if not 1e-7 < high - low < 1e7:  # with a power, or an open end
        return [f"{low:.1e}", f"{high:.1e}"]
    decimals = max(0, -math.floor(math.log10((high - low) / 5)))
    return [f"{low:.{decimals}f}", f"{high:.{decimals}f}"]


def tick_room(panel: Panel, way: Way, cell: Size) -> Size:
    """Estimate the width and height of the tick labels of an axis, with a gap to the axis."""
    axis: PanelAxis = getattr(panel, way)
    words, size = tick_words(panel, way, cell)
    if not axis.numbers or axis.scale == "none" or not words:
        return {"x": 0.0, "y": 0.0}
    wide = size * max(map(text_width, words)) + GAP
    high = max(text_height(word, size) for word in words) + GAP
    return {"x": high, "y": wide} if axis.turned else {"x": wide, "y": high}


POINT = 96.0 / 72.0  # in pixels
BAR = 12.0  # pixels of the thickness of a color bar
RUG = 10.5  # points of a tick of the rug, of which half is clipped
LARGE = 10_000  # cells of a surface with contour lines, at most: each line repeats all cells
LAYERS: dict[type, int] = {Heat: 0, Contours: 1, Bars: 2}  # drawing order of plotly traces, from below
OTHER: dict[Way, Way] = {"x": "y", "y": "x"}
DASHES = {"dashed": "dash", "dotted": "dot"}  # names of plotly where they differ
MARKERS = {"cross": "x", "triangle": "triangle-up", "bar": "line-ew", "dot": "circle"}


@dataclass
class PanelContext:
    """A panel under construction: its place on the page, its axes and their plotly names."""

    page: Page
    box: Box
    axes: dict[Way, PanelAxis]
    names: dict[Way, str]
    legend: str
    legend_width: float  # pixels of a legend label, at most
    groups: dict[str, str]  # the legend label of each color
    room: float = GAP  # pixels to the right of the panel where the next color bar begins
    edges: dict[Way, str] = field(default_factory=dict)
    covered: bool = (
        False  # whether a heat map or contours fill the panel, above which rules and strips must lie
    )
    clipped: bool = False  # whether points are clipped at the edges of the panel
    depth: int = 0
    layer: int = 0

    def draw(self, marks: Sequence[Mark]) -> None:
        """Draw marks, each above the previous ones; a zorder overrides the drawing order of plotly."""
        for mark in marks:
            layer = LAYERS.get(type(mark), len(LAYERS))
            self.depth += layer < self.layer
            self.layer = layer
            self.covered |= isinstance(mark, Heat | Contours)
            PENS[type(mark)](mark, self)

    def add(self, spec: Spec, label: str | None = None, color: object = None, explains: bool = True) -> None:
        """Add a trace; the first trace of a label is the one in the legend."""
        trace: Spec = {"xaxis": self.names["x"], "yaxis": self.names["y"], "zorder": self.depth}
        group = label or self.groups.get(str(color))
        if group:
            key = f"{self.legend} {escaped(group)}"
            name = escaped(wrapped(group, self.legend_width))
            trace |= {"legend": self.legend, "legendgroup": key, "name": name}
        trace["showlegend"] = bool(label) and explains and key not in self.page.explained
        if trace["showlegend"]:
            self.page.explained.add(key)
        self.page.traces.append(trace | spec)

    def at(self, x: Floats | float, y: Floats | float) -> Spec:
        """Return the positions of a trace or annotation."""
        return {"x": places(x, self.axes["x"]), "y": places(y, self.axes["y"])}

    def lengths(self, values: Floats, way: Way) -> Floats:
        """Return lengths along an axis; plotly measures dates in milliseconds."""
        return values * DAY if self.axes[way].scale == "date" else values

    def at_edge(self, along: Way) -> PanelContext:
        """Return the panel with a fixed axis from 0 to 1 perpendicular to ``along``, which does not zoom."""
        across = OTHER[along]
        if across not in self.edges:
            over = {"overlaying": self.names[across], "range": [0, 1], "fixedrange": True, "visible": False}
            self.edges[across] = self.page.add_axis(across, over)
        axes, names = self.axes | {across: PanelAxis()}, self.names | {across: self.edges[across]}
        return replace(self, axes=axes, names=names, clipped=True)


def rgba(color: str, alpha: float = 1.0) -> str:
    """Return a color with an opacity in the notation of CSS."""
    from plotly.colors import hex_to_rgb

    red, green, blue = hex_to_rgb(INK if color == FIGURE_INK else color)
    return f"rgba({red},{green},{blue},{alpha:.4g})"


def _all_escaped(texts: Sequence[Any]) -> list[Any]:
    """Return the escaped texts of a sequence, or of nested sequences."""
    return [escaped(text) if isinstance(text, str) else _all_escaped(text) for text in texts]


def _hover_spec(texts: Sequence[Any], otherwise: str = "skip") -> Spec:
    """Return the hover texts of points or cells; without texts, ``otherwise`` is the hover mode of plotly."""
    return {"hoverinfo": "text", "hovertext": _all_escaped(texts)} if texts else {"hoverinfo": otherwise}


def _plotly_line(mark: Line, frame: PanelContext) -> None:
    shape = "hv" if mark.steps else "linear"
    dash = DASHES.get(mark.dash, mark.dash)
    line = {"width": mark.width * POINT, "dash": dash, "shape": shape, "simplify": False}
    color = {"color": rgba(mark.color, mark.alpha)}
    spec = {"type": "scatter", "mode": "lines", "line": line | color} | _hover_spec(mark.hover)
    frame.add(spec | frame.at(mark.x, mark.y), mark.label, mark.color)
    points = alone(np.isfinite(mark.y))
    if points:  # a line needs two points to be visible
        x, y = mark.x[points], mark.y[points]
        _plotly_points(Points(x, y, mark.color, mark.label, size=3.0, alpha=mark.alpha), frame)


def _plotly_band(mark: Band, frame: PanelContext) -> None:
    x, low, high = mark.x, mark.low, mark.high
    if mark.steps:  # a height holds until the next point
        x, low, high = np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
    there, back = np.column_stack([x, low]), np.column_stack([x, high])
    outlines = [np.vstack([there[run], back[run][::-1]]) for run in stretches(np.isfinite(low + high))]
    _plotly_fill(mark, frame, outlines, {"fillcolor": rgba(mark.color, mark.alpha)}, mark.color)


def _plotly_hatch(mark: Hatch, frame: PanelContext) -> None:
    # Dark lines on a pale translucent fill are visible on all colors.
    pattern: Spec = {"shape": "/", "fgcolor": "rgba(60,60,60,0.9)", "bgcolor": "rgba(235,235,235,0.3)"}
    pattern |= {"size": 7, "solidity": 0.14}
    _plotly_fill(mark, frame, hatched(mark), {"fillpattern": pattern}, FIGURE_INK)


def _plotly_fill(
    mark: Band | Hatch, frame: PanelContext, outlines: list[Floats], fill: Spec, color: str
) -> None:
    """Fill the polygons with corners ``(c, 2)``, as one trace."""
    if not outlines:
        return
    x, y = np.concatenate([np.vstack([corners, [corners[0, 0], np.nan]]) for corners in outlines]).T
    line = {"width": 0, "color": "rgba(0,0,0,0)"}
    spec = {"type": "scatter", "mode": "lines", "fill": "toself", "line": line, "hoverinfo": "skip"}
    frame.add(spec | frame.at(x, y) | fill, mark.label, color)


def _plotly_points(mark: Points, frame: PanelContext) -> None:
    size = np.asarray(mark.size) * (0.5 if mark.marker == "dot" else 1.0) * POINT
    color = rgba(mark.color, mark.alpha)
    bar = mark.marker == "bar"  # perpendicular to the measured axis
    symbol = "line-ns" if bar and mark.error_along == "x" else MARKERS.get(mark.marker, mark.marker)
    outline = {"color": color, "width": 1.6 if bar else 0.0}
    look = {"symbol": symbol, "size": size if size.ndim else float(size), "line": outline}
    spec = {"type": "scatter", "mode": "markers", "cliponaxis": frame.clipped}
    spec |= {"marker": look | {"color": color, "opacity": 1.0}} | _hover_spec(mark.hover)
    spec |= frame.at(mark.x, mark.y) | _plotly_error_bars(mark.error, mark.error_along, frame, color)
    frame.add(spec, mark.label, mark.color)


def _plotly_error_bars(error: Floats | None, along: Way, frame: PanelContext, color: str) -> Spec:
    if error is None:
        return {}
    bars = {"type": "data", "array": frame.lengths(error, along), "color": color}
    return {f"error_{along}": bars | {"thickness": 1.6, "width": 3}}


def _plotly_bars(mark: Bars, frame: PanelContext) -> None:
    along: Way = "y" if mark.horizontal else "x"
    up = OTHER[along]
    colors = (mark.color,) if isinstance(mark.color, str) else mark.color
    fills = [rgba(color, mark.alpha) for color in colors]
    spec = {
        "type": "bar",
        "orientation": "h" if mark.horizontal else "v",
        along: places(mark.at, frame.axes[along]),
        up: frame.lengths(mark.length, up),
        "width": frame.lengths(mark.width, along),
        "base": None if mark.base is None else places(mark.base, frame.axes[up]),
        "marker": {"color": fills[0] if isinstance(mark.color, str) else fills, "line": {"width": 0}},
        **_plotly_error_bars(mark.error, up, frame, INK),
        **_hover_spec(mark.hover),
    }
    frame.add(spec, mark.label, mark.color)


def _plotly_strip(mark: Strip, frame: PanelContext) -> None:
    edge = frame.at_edge(mark.along)
    if not frame.covered:
        edge.depth = -1  # the overlaying axis would put the strip above the curves
    bars = Bars(mark.at, strip_heights(mark), mark.width, FIGURE_INK, alpha=0.45, hover=mark.hover)
    _plotly_bars(replace(bars, horizontal=mark.along == "y"), edge)


def _plotly_rug(mark: Rug, frame: PanelContext) -> None:
    zero = np.zeros(len(mark.at))  # the outer half is clipped
    x, y = (mark.at, zero) if mark.along == "x" else (zero, mark.at)
    ticks = Points(x, y, FIGURE_INK, marker="bar", size=RUG, error_along=mark.along, hover=mark.hover)
    _plotly_points(ticks, frame.at_edge(mark.along))


def _plotly_heat(mark: Heat, frame: PanelContext) -> None:
    even = np.linspace(0, 1, len(mark.colors)).tolist()
    colors = mark.colors if isinstance(mark.colors, str) else [*zip(even, mark.colors, strict=True)]
    spec: Spec = {"type": "heatmap", "z": mark.values, "zmin": mark.low, "zmax": mark.high}
    spec |= {"colorscale": colors, "showscale": mark.unit is not None}
    spec |= {"colorbar": _plotly_color_bar(mark, frame)}
    spec |= frame.at(mark.x_edges, mark.y_edges) | _hover_spec(mark.hover, "x+y+z") | {"hoverongaps": False}
    if mark.written:
        spec |= {"text": _all_escaped(mark.written), "texttemplate": "%{text}"}
    frame.add(spec)


def _plotly_contours(mark: Contours, frame: PanelContext) -> None:
    from plotly.colors import get_colorscale, sample_colorscale, unlabel_rgb

    step = float(np.ptp(mark.levels)) / max(len(mark.levels) - 1, 1) or 1.0
    # plotly also fills below the first and above the last level, so the outer levels are left out.
    inner = mark.levels[1:-1] if len(mark.levels) > 3 else mark.levels
    written = number_format(labeled_levels(mark))
    bar = _plotly_color_bar(mark, frame) | {"tickvals": labeled_levels(mark), "tickformat": written}
    surface = {"type": "contour", "z": mark.values, **frame.at(mark.x, mark.y)}
    filled = {
        "contours": {"start": inner[0], "end": inner[-1], "size": step, "coloring": "fill"},
        "line": {"width": 0.5, "color": "rgba(0,0,0,0.3)"},
        "colorscale": mark.colors,
        "colorbar": bar,
        **_hover_spec(mark.hover, "x+y+z"),
    }
    frame.add(surface | filled)
    low, high = _color_limits(mark)
    for level in lined_levels(mark) if mark.values.size <= LARGE else ():
        (ground,) = sample_colorscale(get_colorscale(mark.colors), [(level - low) / ((high - low) or 1.0)])
        color = "#222222" if is_light([part / 255 for part in unlabel_rgb(ground)]) else "#eeeeee"
        labels = {"showlabels": True, "labelfont": {"size": SMALL, "color": color}, "coloring": "none"}
        where = {"start": level, "end": level, "size": step, "labelformat": written}
        line = {"line": {"width": 1.0, "color": color}, "showscale": False, "hoverinfo": "skip"}
        frame.add(surface | line | {"contours": labels | where})


def _plotly_color_bar(mark: Heat | Contours, frame: PanelContext) -> Spec:
    """Return the color bar of a mark, placed next to its panel."""
    page, box = frame.page, frame.box
    low, high = page.share(box, "y")
    height = box["y"][1] - box["y"][0]
    begins = (box["x"][1] + frame.room) / page.size["x"]
    frame.room += color_bar_width(mark, height)
    where = {"x": begins, "xanchor": "left", "xpad": 0, "y": (low + high) / 2, "len": high - low, "ypad": 0}
    unit = escaped(wrapped(mark.unit or "", height))
    title = {"text": unit, "side": "right", "font": {"size": FONT}}
    return where | {"thickness": BAR, "outlinewidth": 0, "title": title} | powers(*_color_limits(mark))


def _color_limits(mark: Heat | Contours) -> tuple[float, float]:
    """Return the limits of the color map of a mark."""
    low, high = (mark.low, mark.high) if isinstance(mark, Heat) else mark.levels[[0, -1]]
    return float(low), float(high)


def color_bar_width(mark: Mark, height: float) -> float:
    """Estimate the width in pixels of the color bar of a mark, with its numbers and its label."""
    if not isinstance(mark, Heat | Contours) or mark.unit is None:
        return 0.0
    numbers = FONT * max(map(text_width, value_words(*_color_limits(mark))))
    return BAR + 3 * GAP + numbers + text_height(wrapped(mark.unit, height))


def _plotly_rule(mark: Rule, frame: PanelContext) -> None:
    along, across = mark.along, OTHER[mark.along]
    at = places(mark.at, frame.axes[along])
    where = {f"{along}ref": frame.names[along], f"{along}0": at, f"{along}1": at}
    over = {f"{across}ref": f"{frame.names[across]} domain", f"{across}0": 0, f"{across}1": 1}
    look = {"layer": "above" if frame.covered else "below", "opacity": 0.9}
    frame.page.shapes.append(LINE | where | over | look)


def _plotly_text(mark: Text, frame: PanelContext) -> None:
    # INK is the color of the template.
    color = {} if mark.color == FIGURE_INK else {"color": rgba(mark.color)}
    upright = "middle" if mark.upright == "center" else mark.upright
    right, up = mark.offset
    note = {"text": escaped(mark.text), "font": {"size": mark.size * POINT} | color, "opacity": mark.alpha}
    note |= {"xref": frame.names["x"], "yref": frame.names["y"]} | frame.at(mark.x, mark.y)
    note |= {"xanchor": mark.align, "yanchor": upright, "align": mark.align, "textangle": -mark.rotation}
    note |= {"xshift": right * POINT, "yshift": up * POINT, "borderpad": 0, "showarrow": False}
    frame.page.annotations.append(note)


PENS: dict[type, Callable[[Any, PanelContext], None]] = {
    Line: _plotly_line,
    Band: _plotly_band,
    Points: _plotly_points,
    Bars: _plotly_bars,
    Strip: _plotly_strip,
    Rug: _plotly_rug,
    Heat: _plotly_heat,
    Contours: _plotly_contours,
    Hatch: _plotly_hatch,
    Rule: _plotly_rule,
    Text: _plotly_text,
}
