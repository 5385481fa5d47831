"""Figures in a browser: marks become plotly's traces, shapes and annotations.

What they tell when pointed at needs no network, and words keep the colours of plotly's template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from paribus.contracts import Flags, Floats
from paribus.display import look
from paribus.display.drawers.plotly_page import (
    BAR,
    BESIDE,
    FONT,
    GAP,
    KEY,
    POINT,
    SMALL,
    TITLE,
    Box,
    Page,
    Spec,
    Way,
    axis_label,
    bar_width,
    ends_of,
    legend_rows,
    notes_of,
    shared_out,
    text_width,
    tick_words,
    title_height,
    wrapped,
)
from paribus.display.figure import (
    Axis,
    Band,
    Bars,
    Contours,
    Figure,
    Hatch,
    Heat,
    Line,
    Mark,
    Panel,
    Points,
    Rug,
    Rule,
    Strip,
    Text,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

INK = "#777777"  # as far from white as from the nearly black of plotly's dark theme
GRID = "rgba(128,128,128,0.22)"
BETWEEN = 12.0  # pixels between a panel and the narrow one beside it, so that their numbers do not touch
FADES = 4  # strengths a line can have: each is a trace
FADED = 0.25  # of its colour that a line keeps where there is no data at all
DAY = 86_400_000.0  # in milliseconds, which plotly's date axes count in
DASHES = {"solid": "solid", "dashed": "dash", "dotted": "dot", "dashdot": "dashdot"}
MARKERS = {
    "circle": "circle",
    "square": "square",
    "diamond": "diamond",
    "cross": "x",
    "triangle": "triangle-up",
    "star": "star",
    "bar": "line-ns",
    "dot": "circle",
}
# How plotly piles up kinds of its own accord; the rest lie above.
LAYERS: dict[type, int] = {Heat: 0, Contours: 1, Bars: 2}


def draw(figure: Figure) -> go.Figure:
    """Draw a figure with plotly.

    Parameters
    ----------
    figure
        The picture as data.

    Returns
    -------
    plotly.graph_objects.Figure
        To show, to change, or to write to a page that needs nothing else (``write_html``). Words and axes
        have the colours of its template: ``update_layout(template="plotly_dark")`` makes it a dark one.
    """
    import plotly.graph_objects as go
    import plotly.io as pio

    page = shared_out(figure)
    for number, panel in enumerate(figure.panels):
        legend = "legend"
        if panel.legend == "panel":
            legend = f"legend{number + 2}"
            page.layout[legend] = _beside(page, number, panel)
        _draw_panel(page, number, panel, legend)
    page.layout["legend"] = _above(page, figure)
    _say(page, figure)
    chosen = pio.templates.default
    page.layout.update(
        template="simple_white" if chosen == "plotly" else chosen,
        width=round(page.width),
        height=round(page.height),
        margin={"l": 0, "r": 0, "t": 0, "b": 0, "autoexpand": False},
        font={"size": FONT},
        barmode="overlay",
        hovermode="closest",
        hoverlabel={"align": "left", "font": {"size": FONT}},
        showlegend=True,
        shapes=page.shapes,
        annotations=page.annotations,
    )
    return go.Figure(data=page.traces, layout=page.layout)


# --- words


def _escaped(text: str) -> str:
    """Write text so that plotly shows it as it is: no tags, and no formula between two dollars."""
    for sign, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("$", "&#36;"), ("\n", "<br>")):
        text = text.replace(sign, entity)
    return text


def _hover(texts: Iterable[str]) -> Spec:
    told = [_escaped(text) for text in texts]
    return {"hoverinfo": "text", "hovertext": told} if told else {"hoverinfo": "skip"}


def _rgba(color: str, alpha: float = 1.0) -> str:
    """Give a colour its opacity: one word for fill, line and marker."""
    from plotly.colors import hex_to_rgb

    if color == look.INK:
        color = INK
    if not color.startswith("#"):
        return color
    red, green, blue = hex_to_rgb(color)
    return f"rgba({red},{green},{blue},{alpha:.4g})"


# --- axes


def _axis(panel: Panel, way: Way, page: Page, box: Box) -> Spec:
    """Describe one side of a panel."""
    axis = panel.y if way == "y" else panel.x
    spec: Spec = {
        "domain": page.upwards(box) if way == "y" else page.across(box),
        "title": {
            "text": _escaped(axis_label(axis, way, page.cell)),
            "font": {"size": FONT + 1},
            "standoff": 6,
        },
        "type": "date" if axis.scale == "date" else "linear",
        "showgrid": way == "y" and axis.scale == "number",
        "gridcolor": GRID,
        "zeroline": False,
        "showticklabels": axis.numbers,
        "ticks": "outside" if axis.numbers else "",
        "showline": False,
        "tickangle": -90 if axis.turned else 0,
        "exponentformat": "power",
        "minexponent": 5,
        "nticks": max(4, int(box.width / 70 if way == "x" else box.height / 30)),
    }
    ends: tuple[float | None, float | None] = (axis.low, axis.high)
    if any(isinstance(mark, Heat | Contours) for mark in panel.marks):
        ends = ends_of(panel, way)  # colours reach up to the axes
    if ends != (None, None):
        spec["range"] = [None if end is None else _place(end, axis) for end in ends]
    if axis.ticks is not None:
        words, size = tick_words(axis, way, page.cell)
        spec["tickmode"] = "array"
        spec["tickvals"] = [_place(at, axis) for at, _ in axis.ticks]
        spec["ticktext"] = [_escaped(text) for text in words]
        spec["tickfont"] = {"size": size}
    if axis.scale == "none":
        spec.update(showticklabels=False, ticks="", showgrid=False)
    return spec


def _place(at: float, axis: Axis) -> Any:
    return _places(np.array([at]), axis)[0] if axis.scale == "date" else float(at)


def _places(values: Floats, axis: Axis) -> Any:
    """Turn days since 1970 into dates where an axis has them."""
    if axis.scale != "date":
        return np.asarray(values, dtype=float)
    whole = np.round(np.nan_to_num(values) * DAY).astype("int64").astype("datetime64[ms]")
    return [str(date) if there else None for date, there in zip(whole, np.isfinite(values), strict=True)]


def _lengths(values: Floats, axis: Axis) -> Floats:
    return values * DAY if axis.scale == "date" else values


# --- panels


@dataclass
class _Frame:
    """A panel while its marks are drawn."""

    page: Page
    x: Axis
    y: Axis
    names: dict[Way, str]
    legend: str
    box: Box
    groups: dict[str, str]  # the label that explains a colour
    room: float = GAP  # pixels to the right where the next colour bar begins
    edges: dict[Way, str] = field(default_factory=dict)
    covered: bool = False  # by colours, which a rule or a strip must not lie under
    depth: int = 0
    layer: int = 0

    def add(
        self, mark: Mark, spec: Spec, label: str | None = None, color: object = None, explains: bool = True
    ) -> None:
        """Add a trace above those before; the first with a label explains it in the legend."""
        layer = LAYERS.get(type(mark), len(LAYERS))
        self.depth += layer < self.layer
        self.layer = layer
        trace: Spec = {"xaxis": self.names["x"], "yaxis": self.names["y"]}
        trace |= {"zorder": self.depth, "showlegend": False}
        group = label or self.groups.get(str(color))
        if group:
            key = (self.legend, _escaped(group))
            trace |= {"legend": self.legend, "legendgroup": " ".join(key), "name": _escaped(self.key(group))}
        if label and explains and key not in self.page.explained:
            trace["showlegend"] = True
            self.page.explained.add(key)
        self.page.traces.append(trace | spec)

    def key(self, label: str) -> str:
        """Break a label that is too long for its legend."""
        above = self.legend == "legend"
        wide = self.page.width - KEY - 2 * GAP if above else BESIDE * self.page.cell.width
        return wrapped(label, wide)

    def edge(self, way: Way) -> dict[str, str]:
        """Return axes on which one way the panel is 1 long, whatever is zoomed to."""
        other: Way = "y" if way == "x" else "x"
        if other not in self.edges:
            over = {"overlaying": self.names[other], "range": [0, 1], "fixedrange": True, "visible": False}
            self.edges[other] = self.page.axis(other, over)
        return {f"{way}axis": self.names[way], f"{other}axis": self.edges[other]}


def _draw_panel(page: Page, number: int, panel: Panel, legend: str) -> None:
    """Draw a panel, and the narrow ones beside and above it on its axes."""
    outer = page.boxes[number]
    wide = outer.width - (_narrow(panel, outer.width) + BETWEEN if panel.right else 0.0)
    high = outer.height - (panel.beside * outer.height + BETWEEN if panel.top else 0.0)
    box = Box(outer.left, outer.bottom, wide, high)
    x, y = _axis(panel, "x", page, box), _axis(panel, "y", page, box)
    shared = page.rows.get(number // page.columns)
    if shared and not panel.y.numbers and _alike(shared[0], panel.y):
        y["matches"] = shared[1]
    names = _joined(page, x, y)
    if panel.y.numbers:  # panels after it without numbers of their own are read off these
        page.rows[number // page.columns] = (panel.y, names["y"])
    if panel.equal:
        y.update(scaleanchor=names["x"], constrain="domain")
        x.update(constrain="domain")
    room = outer.width - wide + GAP
    _draw_marks(_Frame(page, panel.x, panel.y, names, legend, box, _groups(panel), room), panel)
    if panel.right:
        beside = Box(box.left + wide + BETWEEN, box.bottom, outer.width - wide - BETWEEN, high)
        x, y = _axis(panel.right, "x", page, beside), _follow(panel, "y", page, beside, names["y"])
        x["tickfont"] = {"size": SMALL}
        _draw_beside(page, panel.right, x, y, legend, beside, panel)
    if panel.top:
        above = Box(box.left, box.bottom + high + BETWEEN, wide, outer.height - high - BETWEEN)
        x, y = _follow(panel, "x", page, above, names["x"]), _axis(panel.top, "y", page, above)
        _draw_beside(page, panel.top, x, y, legend, above, panel)
    if panel.title:
        _write_title(page, panel.title, outer)


def _narrow(panel: Panel, width: float) -> float:
    """Return how wide the panel to the right is: what it says at its foot must not reach under others."""
    axis = panel.right.x if panel.right else Axis()
    words = [
        text_width(text, SMALL) + 2 * GAP for _, text in axis.ticks or () if axis.numbers and not axis.turned
    ]
    return min(max([panel.beside * width, *words]), 0.4 * width)


def _alike(one: Axis, two: Axis) -> bool:
    return (one.scale, one.low, one.high) == (two.scale, two.low, two.high)


def _joined(page: Page, x: Spec, y: Spec) -> dict[Way, str]:
    """Add two axes that meet, with a line along each that has ticks."""
    names: dict[Way, str] = {"x": page.axis("x", x), "y": page.axis("y", y)}
    x["anchor"], y["anchor"] = names["y"], names["x"]
    # Plotly leaves out its own lines where a panel has axes over each other and an order of its traces.
    for ticks, x1, y1 in ((x["ticks"], 1, 0), (y["ticks"], 0, 1)):
        if ticks:
            refs = {"xref": f"{names['x']} domain", "yref": f"{names['y']} domain"}
            line = {"type": "line", "x0": 0, "y0": 0, "x1": x1, "y1": y1, "layer": "above"}
            page.shapes.append(refs | line | {"line": {"color": INK, "width": 1}, "opacity": 1.0})
    return names


def _follow(panel: Panel, way: Way, page: Page, box: Box, name: str) -> Spec:
    """Describe the axis of a narrow panel that it shares with the panel beside it."""
    spec = _axis(panel, way, page, box)
    spec.update(matches=name, showticklabels=False, title=None, ticks="")
    return spec


def _draw_beside(page: Page, panel: Panel, x: Spec, y: Spec, legend: str, box: Box, main: Panel) -> None:
    names = _joined(page, x, y)
    groups = _groups(main) | _groups(panel)
    right = main.right is panel
    x_axis, y_axis = (panel.x, main.y) if right else (main.x, panel.y)
    _draw_marks(_Frame(page, x_axis, y_axis, names, legend, box, groups), panel)


def _write_title(page: Page, title: str, box: Box) -> None:
    page.annotations.append(
        {
            "text": _escaped(wrapped(title, 0.85 * page.cell.width, TITLE)),
            "xref": "paper",
            "yref": "paper",
            "x": (box.left + box.width / 2) / page.width,
            "y": (box.bottom + box.height) / page.height,
            "xanchor": "center",
            "yanchor": "bottom",
            "showarrow": False,
            "font": {"size": TITLE},
        }
    )


def _groups(panel: Panel) -> dict[str, str]:
    """Return the label of each colour: a band without one comes and goes with the line it belongs to."""
    found: dict[str, str] = {}
    for mark in panel.marks:
        if isinstance(mark, Line | Points | Bars) and mark.label and mark.color != look.INK:
            found.setdefault(str(mark.color), mark.label)
    return found


# --- legends and notes


def _beside(page: Page, number: int, panel: Panel) -> Spec:
    """Place the legend of one panel to its right, after its colour bars."""
    box = page.boxes[number]
    bars = sum(bar_width(mark, box.height) for mark in panel.marks)
    return {
        "x": (box.left + box.width + GAP + bars) / page.width,
        "y": page.upwards(box)[1],
        "xanchor": "left",
        "yanchor": "top",
        "bgcolor": "rgba(0,0,0,0)",
        "tracegroupgap": 0,
        "font": {"size": FONT},
        "title": {
            "text": _escaped(wrapped(panel.legend_title or "", BESIDE * page.cell.width)),
            "font": {"size": FONT},
        },
    }


def _above(page: Page, figure: Figure) -> Spec:
    """Place the legend of all panels above them, below the title."""
    return {
        "orientation": "h",
        "x": 0.5,  # plotly breaks its lines as if it began at the left edge, wherever it does
        "y": 1 - (GAP + title_height(figure)) / page.height,
        "xanchor": "center",
        "yanchor": "top",
        "bgcolor": "rgba(0,0,0,0)",
        "tracegroupgap": 0,
        "font": {"size": FONT},
        "title": {
            "text": _escaped(figure.legend_title or ""),
            "font": {"size": FONT},
            "side": "top center" if legend_rows(figure, page.width) > 1 else "left",
        },
    }


def _say(page: Page, figure: Figure) -> None:
    """Write the title, and the notes in small print below all panels."""
    if figure.title:
        page.layout["title"] = {
            "text": _escaped(figure.title),
            "font": {"size": TITLE + 2},
            "x": 0.5,
            "y": 1 - GAP / page.height,
            "xanchor": "center",
            "yanchor": "top",
        }
    if figure.notes:
        page.annotations.append(
            {
                "text": _escaped(notes_of(figure, page.width)),
                "xref": "paper",
                "yref": "paper",
                "x": GAP / page.width,
                "y": GAP / 2 / page.height,
                "xanchor": "left",
                "yanchor": "bottom",
                "align": "left",
                "showarrow": False,
                "font": {"size": SMALL},
                "opacity": 0.8,
            }
        )


# --- marks


def _draw_marks(frame: _Frame, panel: Panel) -> None:
    for mark in panel.marks:
        DRAWN[type(mark)](mark, frame)


def _line(mark: Line, frame: _Frame) -> None:
    pieces = list(_faded(mark))
    strongest = max(strength for strength, _ in pieces)
    shape = "hv" if mark.steps else "linear"
    style = {"width": mark.width * POINT, "dash": DASHES[mark.dash], "shape": shape, "simplify": False}
    for strength, points in pieces:
        told = [mark.hover[point] if point >= 0 else "" for point in points] if mark.hover else ()
        spec = {
            "type": "scatter",
            "mode": "lines",
            "x": _places(mark.x[points], frame.x),
            "y": _places(np.where(points >= 0, mark.y[points], np.nan), frame.y),
            "line": style | {"color": _rgba(mark.color, mark.alpha * strength)},
        }
        frame.add(mark, spec | _hover(told), mark.label, mark.color, strength == strongest)
    there = np.pad(np.isfinite(mark.y), 1)
    alone = there[1:-1] & ~there[:-2] & ~there[2:]
    if alone.any():  # a line between fewer than two points cannot be seen
        spec = {
            "type": "scatter",
            "mode": "markers",
            "x": _places(mark.x[alone], frame.x),
            "y": _places(mark.y[alone], frame.y),
            "marker": {"color": _rgba(mark.color, mark.alpha), "size": 3 * POINT},
        }
        frame.add(mark, spec | {"hoverinfo": "skip"}, mark.label, mark.color, explains=False)


def _faded(mark: Line) -> Iterator[tuple[float, NDArray[np.int64]]]:
    """Yield shares of colour and the points joined with them, -1 between pieces, which share their ends."""
    if mark.strength is None or len(mark.x) < 2:
        yield 1.0, np.arange(len(mark.x))
        return
    strength = np.nan_to_num(np.clip(mark.strength, 0.0, 1.0))
    between = strength[:-1] if mark.steps else (strength[:-1] + strength[1:]) / 2
    kinds = np.maximum(1, np.ceil(between * FADES - 1e-9))
    for kind in np.unique(kinds):
        points: list[int] = []
        for start in np.flatnonzero(kinds == kind).tolist():
            if points and points[-1] == start:
                points.append(start + 1)
            else:
                points += [*([-1] if points else []), start, start + 1]
        yield FADED + (1 - FADED) * float(kind) / FADES, np.array(points)


def _band(mark: Band, frame: _Frame) -> None:
    x, low, high = mark.x, mark.low, mark.high
    if mark.steps:  # a height holds until the next point
        x, low, high = np.repeat(x, 2)[1:], np.repeat(low, 2)[:-1], np.repeat(high, 2)[:-1]
    outlines = [
        (np.append(x[run], x[run][::-1]), np.append(low[run], high[run][::-1]))
        for run in _runs(np.isfinite(low + high))
    ]
    _fill(mark, frame, outlines, {"fillcolor": _rgba(mark.color, mark.alpha)}, mark.color)


def _runs(mask: Flags) -> list[slice]:
    """Return where a mask is true, one slice for each run."""
    turns = np.flatnonzero(np.diff(mask.astype(np.int8), prepend=0, append=0))
    return [slice(start, stop) for start, stop in zip(turns[::2], turns[1::2], strict=True)]


def _fill(
    mark: Band | Hatch, frame: _Frame, outlines: list[tuple[Floats, Floats]], style: Spec, color: str
) -> None:
    """Fill what some outlines enclose, as one trace."""
    if not outlines:
        return
    x = np.concatenate([np.append(along, along[0]) for along, _ in outlines])
    y = np.concatenate([np.append(upwards, np.nan) for _, upwards in outlines])
    spec = {
        "type": "scatter",
        "mode": "lines",
        "x": _places(x, frame.x),
        "y": _places(y, frame.y),
        "fill": "toself",
        "line": {"width": 0, "color": "rgba(0,0,0,0)"},
        "hoverinfo": "skip",
    }
    frame.add(mark, spec | style, mark.label, color)


def _points(mark: Points, frame: _Frame) -> None:
    size = np.asarray(mark.size) * (0.5 if mark.marker == "dot" else 1.0) * POINT
    color = _rgba(mark.color, mark.alpha)
    spec = {
        "type": "scatter",
        "mode": "markers",
        "x": _places(mark.x, frame.x),
        "y": _places(mark.y, frame.y),
        "cliponaxis": False,
        "marker": {
            "symbol": MARKERS[mark.marker],
            "size": size if size.ndim else float(size),
            "color": color,
            "opacity": 1.0,
            "line": {"color": color, "width": 2.0 if mark.marker == "bar" else 0.0},
        },
    }
    axis = frame.x if mark.error_along == "x" else frame.y
    spec |= _error(mark.error, mark.error_along, axis, color)
    frame.add(mark, spec | _hover(mark.hover), mark.label, mark.color)


def _error(error: Floats | None, along: Way, axis: Axis, color: str) -> Spec:
    if error is None:
        return {}
    style = {"color": color, "thickness": 1.6, "width": 3}
    return {f"error_{along}": style | {"type": "data", "array": _lengths(error, axis)}}


def _bars(mark: Bars, frame: _Frame) -> None:
    ends: Way
    stand, ends = ("y", "x") if mark.level else ("x", "y")
    axes = {"x": frame.x, "y": frame.y}
    one = mark.color if isinstance(mark.color, str) else None
    spec = {
        "type": "bar",
        "orientation": "h" if mark.level else "v",
        stand: _places(mark.at, axes[stand]),
        ends: _lengths(mark.length, axes[ends]),
        "width": _lengths(mark.width, axes[stand]),
        "marker": {
            "color": _rgba(one, mark.alpha) if one else [_rgba(color, mark.alpha) for color in mark.color],
            "line": {"width": 0},
        },
    }
    if mark.base is not None:
        spec["base"] = _places(mark.base, axes[ends])
    spec |= _error(mark.error, ends, axes[ends], INK)
    frame.add(mark, spec | _hover(mark.hover), mark.label, mark.color)


def _strip(mark: Strip, frame: _Frame) -> None:
    upright = mark.along == "x"
    axis = frame.x if upright else frame.y
    spec: Spec = {
        "type": "bar",
        "orientation": "v" if upright else "h",
        mark.along: _places(mark.at, axis),
        "y" if upright else "x": look.STRIP * mark.height / (mark.most or 1.0),
        "width": _lengths(mark.width, axis),
        "marker": {"color": _rgba(INK, 0.45), "line": {"width": 0}},
        **frame.edge(mark.along),
    }
    if not frame.covered:
        spec["zorder"] = -1  # its axis lies over the panel's, and the curves should lie over it
    frame.add(mark, spec | _hover(mark.hover))


def _rug(mark: Rug, frame: _Frame) -> None:
    upright = mark.along == "x"
    spec = {
        "type": "scatter",
        "mode": "markers",
        mark.along: _places(mark.at, frame.x if upright else frame.y),
        "y" if upright else "x": np.zeros(len(mark.at)),  # the outer half is clipped
        "marker": {
            "symbol": "line-ns" if upright else "line-ew",
            "size": 14,
            "line": {"color": INK, "width": 1.4},
        },
        **frame.edge(mark.along),
    }
    frame.add(mark, spec | _hover(mark.hover))


def _heat(mark: Heat, frame: _Frame) -> None:
    frame.covered = True
    spec: Spec = {
        "type": "heatmap",
        "x": _places(mark.x_edges, frame.x),
        "y": _places(mark.y_edges, frame.y),
        "z": mark.values,
        "colorscale": mark.colors if isinstance(mark.colors, str) else _evenly(mark.colors),
        "zmin": mark.low,
        "zmax": mark.high,
        "showscale": mark.unit is not None,
        "hoverongaps": False,
        **_hover_cells(mark.hover),
    }
    if mark.written:
        spec["text"] = [[_escaped(text) for text in row] for row in mark.written]
        spec["texttemplate"] = "%{text}"
    if mark.unit is not None:
        spec["colorbar"] = _color_bar(mark, mark.unit, frame)
    frame.add(mark, spec)


def _evenly(colors: tuple[str, ...]) -> list[tuple[float, str]]:
    return list(zip(np.linspace(0, 1, len(colors)).tolist(), colors, strict=True))


def _hover_cells(texts: Sequence[Sequence[str]]) -> Spec:
    if not texts:
        return {"hoverinfo": "skip"}
    return {"hoverinfo": "text", "hovertext": [[_escaped(text) for text in row] for row in texts]}


def _color_bar(mark: Mark, unit: str, frame: _Frame) -> Spec:
    """Place a colour bar beside its own panel."""
    page, box = frame.page, frame.box
    begins = box.left + box.width + frame.room
    frame.room += bar_width(mark, box.height)
    return {
        "x": begins / page.width,
        "xanchor": "left",
        "xpad": 0,
        "y": sum(page.upwards(box)) / 2,
        "len": box.height / page.height,
        "ypad": 0,
        "thickness": BAR,
        "outlinewidth": 0,
        "title": {"text": _escaped(wrapped(unit, box.height)), "side": "right", "font": {"size": FONT}},
    }


def _contours(mark: Contours, frame: _Frame) -> None:
    frame.covered = True
    step = float(np.ptp(mark.levels)) / max(len(mark.levels) - 1, 1) or 1.0
    # Plotly fills below the first and above the last level too, so that the outermost need not be told.
    inner = mark.levels[1:-1] if len(mark.levels) > 3 else mark.levels
    field_of = {
        "type": "contour",
        "x": _places(mark.x, frame.x),
        "y": _places(mark.y, frame.y),
        "z": mark.values,
        "hoverinfo": "skip",
    }
    filled = {
        "contours": {"start": inner[0], "end": inner[-1], "size": step, "coloring": "fill"},
        "line": {"width": 0.5, "color": "rgba(0,0,0,0.3)"},
        "colorscale": mark.colors,
        "colorbar": _color_bar(mark, mark.unit, frame)
        | {"tickvals": _told(mark), "tickformat": _decimals(_told(mark))},
        **_hover_cells(mark.hover),
    }
    frame.add(mark, field_of | filled)
    for level, color in _lined(mark):
        written = {"showlabels": True, "labelfont": {"size": SMALL, "color": color}, "coloring": "none"}
        where = {"start": level, "end": level, "size": step, "labelformat": _decimals(_told(mark))}
        line = {"contours": written | where, "line": {"width": 1.0, "color": color}, "showscale": False}
        frame.add(mark, field_of | line)


def _lined(mark: Contours) -> list[tuple[float, str]]:
    """Return every other level that is reached, and the colour that can be read on its own."""
    from plotly.colors import get_colorscale, sample_colorscale, unlabel_rgb

    least, most = np.nanmin(mark.values), np.nanmax(mark.values)
    levels = [level for level in _told(mark) if least < level < most]
    low, high = float(mark.levels[0]), float(mark.levels[-1])
    shares = [(level - low) / ((high - low) or 1.0) for level in levels]
    grounds = sample_colorscale(get_colorscale(mark.colors), shares) if levels else []
    light = [np.dot(unlabel_rgb(ground), (0.299, 0.587, 0.114)) > 127 for ground in grounds]
    return [(level, "#222222" if bright else "#eeeeee") for level, bright in zip(levels, light, strict=True)]


def _told(mark: Contours) -> list[float]:
    """Return every other level, none of them a little less than nothing."""
    hardly = 1e-9 * np.ptp(mark.levels)
    return [0.0 if abs(level) < hardly else float(level) for level in mark.levels[::2]]


def _decimals(values: Sequence[float]) -> str:
    """Return how numbers are written in full, no longer than needed."""
    hardly = 1e-6 * (max(values) - min(values))
    for decimals in range(7):
        if all(abs(round(value, decimals) - value) <= hardly for value in values) and max(values) < 1e6:
            return f".{decimals}f"
    return ".3g"


def _hatch(mark: Hatch, frame: _Frame) -> None:
    outlines = []
    for bottom, top, row in zip(mark.y_edges[:-1], mark.y_edges[1:], mark.mask, strict=True):
        for run in _runs(row):
            left, right = mark.x_edges[run.start], mark.x_edges[run.stop]
            outlines.append((np.array([left, right, right, left]), np.array([bottom, bottom, top, top])))
    # Dark strokes on a pale wash are seen on any colour of a scale and on either background.
    pattern = {"shape": "/", "fgcolor": "rgba(60,60,60,0.9)", "bgcolor": "rgba(235,235,235,0.3)"}
    style = {"fillpattern": pattern | {"size": 7, "solidity": 0.14}}
    _fill(mark, frame, outlines, style, look.INK)


def _rule(mark: Rule, frame: _Frame) -> None:
    axis, other = ("y", "x") if mark.along == "y" else ("x", "y")
    at = _place(mark.at, frame.y if mark.along == "y" else frame.x)
    frame.page.shapes.append(
        {
            "type": "line",
            f"{axis}ref": frame.names[mark.along],
            f"{axis}0": at,
            f"{axis}1": at,
            f"{other}ref": f"{frame.names['x' if other == 'x' else 'y']} domain",
            f"{other}0": 0,
            f"{other}1": 1,
            "layer": "above" if frame.covered else "below",
            "line": {"color": INK, "width": 1},
            "opacity": 0.9,
        }
    )


def _text(mark: Text, frame: _Frame) -> None:
    font: Spec = {"size": mark.size * POINT}
    if mark.color != look.INK:
        font["color"] = _rgba(mark.color)
    frame.page.annotations.append(
        {
            "text": _escaped(mark.text),
            "xref": frame.names["x"],
            "yref": frame.names["y"],
            "x": _place(mark.x, frame.x),
            "y": _place(mark.y, frame.y),
            "xanchor": mark.align,
            "yanchor": "middle" if mark.upright == "center" else mark.upright,
            "align": mark.align,
            "xshift": mark.offset[0] * POINT,
            "yshift": mark.offset[1] * POINT,
            "textangle": -mark.rotation,
            "showarrow": False,
            "borderpad": 0,
            "font": font,
            "opacity": mark.alpha,
        }
    )


DRAWN: dict[type, Callable[[Any, _Frame], None]] = {
    Line: _line,
    Band: _band,
    Points: _points,
    Bars: _bars,
    Strip: _strip,
    Rug: _rug,
    Heat: _heat,
    Contours: _contours,
    Hatch: _hatch,
    Rule: _rule,
    Text: _text,
}
