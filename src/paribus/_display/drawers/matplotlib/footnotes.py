"""The small print below axes that somebody has. Imported by functions that draw, as it needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation

from paribus._display.drawers.matplotlib.colors import FAINT, fitting, ink

NARROW = 1.8  # inches that lines of small print have at least


class Footnotes(Annotation):
    """Lines below everything else on an x-axis, or below the legend that stands there."""

    def __init__(self, ax: Axes, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        page: Any = ax.figure.figure
        wide = max(NARROW, ax.get_window_extent().width / page.dpi)
        super().__init__(
            fitting(page, self.lines, wide),
            (0.5, 0),
            (0, -4),
            xycoords=_lowest(ax),
            textcoords="offset points",
            ha="center",
            va="top",
            fontsize="small",
            color=ink(FAINT),
            annotation_clip=False,
            clip_on=False,
        )


def _lowest(ax: Axes) -> Any:
    legend = ax.get_legend()
    if legend is not None and legend.get_window_extent().y1 < ax.get_window_extent().y0:
        return legend
    return ax.xaxis.label


def print_below(ax: Axes, lines: Sequence[str], explained: Sequence[str]) -> None:
    """Write lines below axes, after those that stand there; what a legend has ``explained`` since goes."""
    before = [text for text in ax.texts if isinstance(text, Footnotes)]
    said = [line for print_ in before for line in print_.lines if line not in explained]
    for print_ in before:
        print_.remove()
    every = list(dict.fromkeys([*said, *lines]))
    if every:
        ax.add_artist(Footnotes(ax, every))
