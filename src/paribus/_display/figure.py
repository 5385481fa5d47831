"""A picture as plain data: a figure of panels, a panel of marks on two axes.

A result becomes a `Figure` (``paribus._display.compose``), and a renderer draws it
(``paribus._display.matplotlib``, ``paribus._display.plotly``). Nothing here knows a plotting package; two
figures are equal if every number and word in them is, so that what a picture says can be tested without
reading pixels.

All positions are floats in the units of their axis: numbers as they are, dates as days since 1970, durations
in the unit that the label of their axis names, categories as 0, 1, 2, ... Text is as people read it, with
characters that cannot be drawn written out; each renderer escapes what has a meaning to it. ``hover`` is what
a pointer over a point shows, lines separated by newlines, one text for each point.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Literal, TypeAlias

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._display.text_width import printable
from paribus._typing import BandRole

Dash: TypeAlias = Literal["solid", "dashed", "dotted", "dashdot"]
Marker: TypeAlias = Literal["circle", "square", "diamond", "cross", "triangle", "star", "bar", "dot"]
AxisScale: TypeAlias = Literal["number", "date", "category", "none"]


class FigureData:
    """Frozen data that are equal if all their parts are, arrays bit for bit; NaN is equal to itself."""

    def __post_init__(self) -> None:
        for part in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, part.name, _drawable(getattr(self, part.name)))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _same(getattr(self, part.name), getattr(other, part.name))
            for part in fields(self)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]


def _drawable(value: object) -> object:
    """Return text, and all text within tuples, as it can be drawn; anything else as it is."""
    if isinstance(value, str):
        return printable(value)
    return tuple(map(_drawable, value)) if isinstance(value, tuple) else value


def _same(one: object, two: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one.shape == two.shape and bool(np.array_equal(one, two, equal_nan=one.dtype.kind == "f"))
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):  # an array is never a number or nothing
        return False
    return bool(one == two)


@dataclass(frozen=True, eq=False)
class Line(FigureData):
    """A line through points ``x, y (g,)``, broken where y is NaN.

    With ``steps`` a height holds until the next point. ``strength (g,)``, between 0 and 1, is how much of its
    color the line has around each point: it fades where the data thins out. ``width`` is in points.
    ``single (g,)`` says which heights are those of a single row: they do not make an axis longer.
    """

    x: Floats
    y: Floats
    color: str
    label: str | None = None
    dash: Dash = "solid"
    width: float = 1.8
    alpha: float = 1.0
    steps: bool = False
    strength: Floats | None = None
    hover: tuple[str, ...] = ()
    single: Flags | None = None


@dataclass(frozen=True, eq=False)
class Band(FigureData):
    """The area between two curves ``low, high (g,)`` over ``x``; ``role`` is what it is the spread of."""

    x: Floats
    low: Floats
    high: Floats
    color: str
    label: str | None = None
    alpha: float = 0.2
    steps: bool = False
    role: BandRole = "standard_error"


@dataclass(frozen=True, eq=False)
class Points(FigureData):
    """Points with error bars: ``error (g,)`` is the length to each side, along y or else along x.

    ``size (g,)`` is each one's diameter in points, ``single`` as of a `Line`.
    """

    x: Floats
    y: Floats
    color: str
    label: str | None = None
    marker: Marker = "circle"
    size: float | Floats = 6.0
    alpha: float = 1.0
    error: Floats | None = None
    error_along: Literal["x", "y"] = "y"
    hover: tuple[str, ...] = ()
    single: Flags | None = None


@dataclass(frozen=True, eq=False)
class Bars(FigureData):
    """Bars at ``at`` from ``base`` to ``base + length``, upright unless ``horizontal``.

    ``error (g,)`` is the length of error bars to each side of their ends. ``color`` is one for all or one
    for each.
    """

    at: Floats
    length: Floats
    width: Floats
    color: str | tuple[str, ...]
    base: Floats | None = None
    label: str | None = None
    alpha: float = 1.0
    horizontal: bool = False
    error: Floats | None = None
    hover: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Strip(FigureData):
    """The weight of the data along the bottom of a panel (the left with ``along="y"``), as bars.

    The highest of ``height`` takes the share `STRIP` of the panel; ``most`` is what counts as the highest
    where panels beside each other share one measure.
    """

    at: Floats
    height: Floats
    width: Floats
    most: float
    along: Literal["x", "y"] = "x"
    hover: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Rug(FigureData):
    """Short ticks inside the panel's edge, such as deciles of the data."""

    at: Floats
    along: Literal["x", "y"] = "x"
    hover: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Heat(FigureData):
    """Colored cells ``values (y, x)`` between ``x_edges`` and ``y_edges``; NaN has no color.

    ``colors`` is the name of a color map, or its colors from low to high, evenly apart. ``written`` are
    numbers to stand in the cells, row by row, or nothing. ``low`` and ``high`` are the ends of the colors,
    ``unit`` what the color bar says; None has no color bar.
    """

    x_edges: Floats
    y_edges: Floats
    values: Floats
    colors: str | tuple[str, ...]
    low: float
    high: float
    unit: str | None
    written: tuple[tuple[str, ...], ...] = ()
    hover: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Contours(FigureData):
    """Filled contours of ``values (y, x)`` at points ``x, y``, with labeled lines at every other level."""

    x: Floats
    y: Floats
    values: Floats
    levels: Floats
    colors: str
    unit: str
    hover: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Hatch(FigureData):
    """Cells that are struck out, ``mask (y, x)`` between edges."""

    x_edges: Floats
    y_edges: Floats
    mask: Flags
    label: str | None = None


@dataclass(frozen=True, eq=False)
class Rule(FigureData):
    """A thin line across the panel at one value of y, or of x with ``along="x"``."""

    at: float
    along: Literal["x", "y"] = "y"


@dataclass(frozen=True, eq=False)
class Text(FigureData):
    """Text at a position, moved by ``offset`` points; ``align`` is which side of it the position is at."""

    x: float
    y: float
    text: str
    align: Literal["left", "center", "right"] = "center"
    upright: Literal["bottom", "center", "top"] = "center"
    rotation: float = 0.0
    size: float = 9.0
    offset: tuple[float, float] = (0.0, 0.0)
    color: str = "ink"
    alpha: float = 1.0


Mark: TypeAlias = Line | Band | Points | Bars | Strip | Rug | Heat | Contours | Hatch | Rule | Text


@dataclass(frozen=True, eq=False)
class PanelAxis(FigureData):
    """One side of a panel.

    ``ticks`` are positions and their text, given for categories; None leaves them to the renderer. ``turned``
    texts are written upwards.
    ``low`` and ``high`` are the ends of the axis; None leaves them to the marks. Below ``tick_low`` an axis
    has no ticks: there is room for the data, not for values. Without ``numbers`` ticks
    have no text, as on panels beside one that has it. Panels of one ``unit`` have one axis, whatever their
    labels. Ticks of ``integers`` are integers.
    """

    label: str = ""
    scale: AxisScale = "number"
    ticks: tuple[tuple[float, str], ...] | None = None
    turned: bool = False
    low: float | None = None
    high: float | None = None
    tick_low: float | None = None
    numbers: bool = True
    unit: str | None = None
    integers: bool = False


@dataclass(frozen=True, eq=False)
class Panel(FigureData):
    """Marks on two axes, the first drawn lowest.

    ``right`` is a narrow panel beside it on the same y-axis (the missing value, or how the data lies along
    y), ``top`` one above it on the same x-axis; ``beside`` is the share of the panel's width or height they
    take. ``legend`` says where the marks' labels are explained: for all panels together above the figure, or
    to the right of this one under ``legend_title``. On ``equal`` panels both units are as long.
    """

    marks: tuple[Mark, ...]
    x: PanelAxis = field(default_factory=PanelAxis)
    y: PanelAxis = field(default_factory=PanelAxis)
    title: str | None = None
    right: Panel | None = None
    top: Panel | None = None
    beside: float = 0.1
    legend: Literal["figure", "panel"] = "figure"
    legend_title: str | None = None
    equal: bool = False


@dataclass(frozen=True, eq=False)
class Figure(FigureData):
    """Panels in rows of ``columns``, a title if one was requested, and notes below.

    ``size`` is width and height in inches. ``legend_title`` heads the legend above the panels.
    """

    panels: tuple[Panel, ...]
    columns: int = 1
    size: tuple[float, float] = (6.4, 4.4)
    title: str | None = None
    notes: tuple[str, ...] = ()
    legend_title: str | None = None
