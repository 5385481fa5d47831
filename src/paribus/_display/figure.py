"""Figures as plain data: a figure consists of panels, and a panel consists of marks on two axes.

``paribus._display.compose`` turns a result into a `Figure`. A renderer draws it: the packages ``matplotlib``,
``plotly`` and ``vector`` of ``paribus._display``. This module imports no plotting package. Two figures are
equal if all their numbers and texts are equal, so tests compare figures instead of pixels.

All positions are floats in the units of their axis. Numbers are unchanged, dates are days since 1970, and
categories are 0, 1, 2, ... Durations are in the unit that the label of their axis names. Unprintable
characters of a text are replaced by escape sequences. Each renderer escapes its special characters.
``hover`` has one hover text for each point, whose lines are separated by newlines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Literal, TypeAlias

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._display.text_width import printable
from paribus._typing import BandRole

Dash: TypeAlias = Literal["solid", "dashed", "dotted", "dashdot"]
Marker: TypeAlias = Literal["circle", "square", "diamond", "cross", "triangle", "star", "bar", "dot"]
AxisScale: TypeAlias = Literal["number", "date", "category", "none"]


class FigureData:
    """Base of frozen dataclasses that compare all fields; in arrays, NaN is equal to NaN."""

    def __post_init__(self) -> None:
        for part in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, part.name, _printable_texts(getattr(self, part.name)))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            _fields_equal(getattr(self, part.name), getattr(other, part.name))
            for part in fields(self)  # type: ignore[arg-type]
        )

    __hash__ = None  # type: ignore[assignment]


def _printable_texts(value: object) -> object:
    """Return texts, also those in tuples, with unprintable characters escaped; other values are unchanged."""
    if isinstance(value, str):
        return printable(value)
    return tuple(map(_printable_texts, value)) if isinstance(value, tuple) else value


def _fields_equal(one: object, two: object) -> bool:
    if isinstance(one, np.ndarray) and isinstance(two, np.ndarray):
        return one.shape == two.shape and bool(np.array_equal(one, two, equal_nan=one.dtype.kind == "f"))
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):  # an array and a scalar differ
        return False
    return bool(one == two)


@dataclass(frozen=True, eq=False)
class Line(FigureData):
    """A line through points ``x, y (g,)``, broken where y is NaN.

    With ``steps`` a height holds until the next point. ``width`` is in points. ``single (g,)`` marks the
    heights that are averages of a single row. They do not extend the axis.
    """

    x: Floats
    y: Floats
    color: str
    label: str | None = None
    dash: Dash = "solid"
    width: float = 1.8
    alpha: float = 1.0
    steps: bool = False
    hover: tuple[str, ...] = ()
    single: Flags | None = None


@dataclass(frozen=True, eq=False)
class Band(FigureData):
    """The area between two curves ``low, high (g,)`` over ``x``; ``role`` names the spread that it shows."""

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
    """Points with error bars: ``error (g,)`` is their length to each side, along the axis ``error_along``.

    ``size`` is the diameter in points, of all or of each ``(g,)``. ``single (g,)`` is as in a `Line`.
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
    """Bars at ``at`` from ``base`` (zero by default) to ``base + length``, vertical unless ``horizontal``.

    ``error (g,)`` is the length of error bars to each side of the bars' ends. ``color`` is one color for all
    bars, or one for each.
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
    """The weight of the data as bars along the bottom of a panel, or along its left with ``along="y"``.

    A bar of the height ``most`` takes the share `STRIP` of the panel. ``most`` is at least the largest of
    ``height``, and common to panels whose bars can be compared.
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

    ``colors`` is the name of a color map, or its colors from low to high, evenly spaced. ``low`` and ``high``
    are the limits of the color map. ``unit`` is the label of the color bar; None omits the color bar.
    ``written`` are the numbers in the cells, row by row, or empty. ``hover`` has a text for each cell.
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
    """Filled contours of ``values (y, x)`` at points ``x, y``, with labeled lines at every other level.

    ``colors`` is the name of a color map, and ``unit`` the label of the color bar.
    """

    x: Floats
    y: Floats
    values: Floats
    levels: Floats
    colors: str
    unit: str
    hover: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, eq=False)
class Hatch(FigureData):
    """Hatched cells: those where ``mask (y, x)`` is true, between ``x_edges`` and ``y_edges``."""

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
    """Text at a position, moved by ``offset`` points.

    ``align`` and ``upright`` name the side of the text that is at the position. ``rotation`` is in degrees
    counterclockwise, and ``size`` in points.
    """

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
    """The x-axis or the y-axis of a panel.

    ``ticks`` are positions with their texts, such as those of categories; None lets the renderer choose them.
    ``turned`` tick texts are rotated by 90 degrees. ``low`` and ``high`` are the limits of the axis; None
    derives them from the marks. There are no ticks below ``tick_low``, where the strip of data is. Without
    ``numbers`` the ticks have no text. Panels with the same ``unit`` share their limits, even if their labels
    differ. With ``integers`` all ticks are integers.
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
    """Marks on two axes; later marks lie above earlier ones.

    ``left`` and ``right`` are narrow panels with the same y-axis, from left to right: tails of the feature,
    the missing value, or the data along y. ``top`` is a narrow panel above with the same x-axis. ``narrow``
    is their share of the panel's width or height. ``legend`` is the place of the legend: one above the figure
    for all panels, or one to the right of this panel, with ``legend_title``. In an ``equal`` panel, a unit
    has the same length on both axes.
    """

    marks: tuple[Mark, ...]
    x: PanelAxis = field(default_factory=PanelAxis)
    y: PanelAxis = field(default_factory=PanelAxis)
    title: str | None = None
    left: tuple[Panel, ...] = ()
    right: tuple[Panel, ...] = ()
    top: Panel | None = None
    narrow: float = 0.1
    legend: Literal["figure", "panel"] = "figure"
    legend_title: str | None = None
    equal: bool = False

    @property
    def parts(self) -> tuple[Panel, ...]:
        """The panel and its narrow panels."""
        return (self, *self.left, *self.right, *(() if self.top is None else (self.top,)))

    def with_marks(self, change: Callable[[Mark], Mark]) -> Panel:
        """Return the panel with each mark changed, also those of its narrow panels."""
        return replace(
            self,
            marks=tuple(map(change, self.marks)),
            left=tuple(part.with_marks(change) for part in self.left),
            right=tuple(part.with_marks(change) for part in self.right),
            top=self.top and self.top.with_marks(change),
        )


@dataclass(frozen=True, eq=False)
class Figure(FigureData):
    """Panels in rows of ``columns``, with an optional title above and notes below.

    ``size`` is width and height in inches. ``legend_title`` is the title of the legend above the panels.
    """

    panels: tuple[Panel, ...]
    columns: int = 1
    size: tuple[float, float] = (6.4, 4.4)
    title: str | None = None
    notes: tuple[str, ...] = ()
    legend_title: str | None = None
