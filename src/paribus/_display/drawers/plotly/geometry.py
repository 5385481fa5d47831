"""Where things lie, in pixels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from paribus._display.figure import PanelAxis

Way: TypeAlias = Literal["x", "y"]
Spec: TypeAlias = dict[str, Any]  # what plotly calls a trace, an axis or an annotation, before it is one
INCH, POINT = 96.0, 96.0 / 72.0  # in pixels
GAP = 8.0  # pixels between things that must not touch


@dataclass
class PanelCell:
    """What each panel has of the page, with all that stands around it, in pixels."""

    width: float
    height: float


@dataclass
class Box:
    """A rectangle of the page, in pixels from its lower left."""

    left: float
    bottom: float
    width: float
    height: float


@dataclass
class Page:
    """The picture while it is drawn: where panels are, and what was drawn so far."""

    width: float
    height: float
    boxes: list[Box]
    cell: PanelCell
    columns: int
    traces: list[Spec] = field(default_factory=list)
    shapes: list[Spec] = field(default_factory=list)
    annotations: list[Spec] = field(default_factory=list)
    layout: Spec = field(default_factory=dict)
    axes: dict[Way, int] = field(default_factory=lambda: {"x": 0, "y": 0})
    explained: set[tuple[str, str]] = field(default_factory=set)
    rows: dict[int, tuple[PanelAxis, str]] = field(default_factory=dict)

    def axis(self, way: Way, spec: Spec) -> str:
        """Add an axis and return its name."""
        self.axes[way] += 1
        number = "" if self.axes[way] == 1 else str(self.axes[way])
        self.layout[f"{way}axis{number}"] = spec
        return f"{way}{number}"

    def across(self, box: Box) -> list[float]:
        """Return where a box begins and ends, as shares of the width."""
        return [box.left / self.width, (box.left + box.width) / self.width]

    def upwards(self, box: Box) -> list[float]:
        """Return where a box begins and ends, as shares of the height."""
        return [box.bottom / self.height, (box.bottom + box.height) / self.height]
