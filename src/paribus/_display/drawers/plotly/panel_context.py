"""A panel while its marks are drawn."""

from __future__ import annotations

from dataclasses import dataclass, field

from paribus._display.drawers.plotly.geometry import GAP, Box, Page, Spec, Way
from paribus._display.drawers.plotly.hover_text import escaped, wrapped
from paribus._display.drawers.plotly.page_margins import BESIDE, KEY
from paribus._display.figure import Bars, Contours, Heat, Mark, PanelAxis

LAYERS: dict[type, int] = {Heat: 0, Contours: 1, Bars: 2}


@dataclass
class PanelContext:
    """A panel while its marks are drawn."""

    page: Page
    x: PanelAxis
    y: PanelAxis
    names: dict[Way, str]
    legend: str
    box: Box
    groups: dict[str, str]  # the label that explains a color
    room: float = GAP  # pixels to the right where the next color bar begins
    edges: dict[Way, str] = field(default_factory=dict)
    covered: bool = False  # by colors, which a rule or a strip must not lie under
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
            key = (self.legend, escaped(group))
            trace |= {"legend": self.legend, "legendgroup": " ".join(key), "name": escaped(self.key(group))}
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
