"""Deciles, numbers on contours, color bars and legends."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from paribus._contracts import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from matplotlib.text import Text

ROW = 0.19  # inches of a row of a legend
SHORT = 10  # letters of categories that stand in two columns of a legend within a panel
EDGE = 0.07  # of a panel, in which the number on a contour would be cut off or stand on the deciles


def draw_rug(ax: Axes, at: Array, along: str) -> Any:
    """Draw deciles inside the edge of a panel, whose limits they do not change."""
    from matplotlib import rcParams
    from matplotlib.transforms import blended_transform_factory

    limits = ax.get_xlim(), ax.get_ylim()
    if along == "x":
        place = blended_transform_factory(ax.transData, ax.transAxes)
        lines = ax.vlines(at, 0, 0.05, transform=place, color=rcParams["xtick.color"])
    else:
        place = blended_transform_factory(ax.transAxes, ax.transData)
        lines = ax.hlines(at, 0, 0.05, transform=place, color=rcParams["ytick.color"])
    ax.set_xlim(limits[0])
    ax.set_ylim(limits[1])
    return lines


def recolor(deciles: Any) -> None:
    """Give deciles the color of the ticks: black on black is not seen."""
    from matplotlib import rcParams

    if deciles is not None:
        deciles.set_color(rcParams["xtick.color"])


def clear_labels(ax: Axes, labels: list[Text]) -> None:
    """Keep the numbers on contours that can be read: off the edge, and not black on dark colors."""
    from matplotlib.patheffects import withStroke

    for label in labels:
        place = ax.transAxes.inverted().transform(ax.transData.transform(label.get_position()))
        if place.min() < EDGE or place.max() > 1 - EDGE:
            label.remove()
        label.set_path_effects([withStroke(linewidth=2, foreground="white", alpha=0.7)])


def narrow_color_bar(image: AxesImage) -> None:
    """Put the color bar beside the cells themselves.

    Beside the panel it would be as high as that, and make tight_layout() fail on our figures.
    """
    axes, figure = image.axes, image.get_figure()
    assert axes is not None
    assert figure is not None
    assert image.colorbar is not None
    image.colorbar.remove()
    figure.colorbar(image, cax=axes.inset_axes((1.04, 0.0, 0.05, 1.0)))


def roomy(ax: Axes) -> bool:
    """Return whether the figure has a layout engine that makes room beside a panel."""
    from matplotlib.figure import Figure

    figure = ax.get_figure()
    return isinstance(figure, Figure) and figure.get_layout_engine() is not None


def explain(ax: Axes, title: str) -> None:
    """Add a legend of categories: beside the panel where the figure makes room, else above its curves."""
    lines = [line for line in ax.get_lines() if not str(line.get_label()).startswith("_")]
    lines.sort(key=lambda line: str(line.get_label()).startswith("other ("))
    place: dict[str, Any] = {"bbox_to_anchor": (1.0, 1.0)} if roomy(ax) else {"ncols": _columns(ax)}
    ax.legend(handles=lines, title=title, fontsize="small", loc="upper left", **place)


def _columns(ax: Axes) -> int:
    """Return how many names of categories stand beside each other within a panel."""
    return 2 if max(len(str(line.get_label())) for line in ax.get_lines()) <= SHORT else 1


def headroom(ax: Axes, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis whose legend stands above its curves."""
    legend = ax.get_legend()
    assert legend is not None
    rows = 2 + ceil(len(legend.get_texts()) / _columns(ax))
    share = min(ROW * rows / ax.get_window_extent().height * ax.figure.dpi, 0.6)
    return low, low + (high - low) / (1 - share)
