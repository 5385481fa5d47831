"""One panel: its marks, the narrow panels and the color bars beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from paribus._display.drawers.matplotlib.axes import draw_axis, follow, reach
from paribus._display.drawers.matplotlib.colors import LETTER, ink, scaled, words_along
from paribus._display.drawers.matplotlib.geometry import GAP, PanelSize, above, right_of
from paribus._display.drawers.matplotlib.legends import legend_beside
from paribus._display.drawers.matplotlib.marks import PENS
from paribus._display.figure import Contours, Heat, Panel, PanelAxis, Strip

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable

Side: TypeAlias = Literal["main", "right", "top"]
BAR = 0.14  # inches that a color bar is wide
COLORED = 0.8  # inches that a color bar takes with its words
SMALL = 0.8  # of the usual letters, for the words of narrow panels


def draw_panel(ax: Axes, panel: Panel, place: PanelSize) -> list[tuple[Axes, str]]:
    """Draw a panel with what stands beside it: the narrow panels first, then color bars, then a legend.

    Returned are the axes of color bars, and what they say.
    """
    place = _without_sides(panel, place)
    colored = _draw_marks(ax, panel, place, "main")
    beyond, highest = GAP, ax
    if panel.right is not None:
        wide = max(panel.beside * place.width, _words_width(panel.right.x))
        beside = ax.inset_axes((beyond, 0.0, wide, 1.0), transform=right_of(ax), sharey=ax)
        _draw_marks(beside, panel.right, place, "right")
        follow(beside, panel.y, "y")
        beyond += wide + GAP
    if panel.top is not None:
        high = panel.beside * place.height
        highest = ax.inset_axes((0.0, GAP, 1.0, high), transform=above(ax), sharex=ax)
        _draw_marks(highest, panel.top, place, "top")
        follow(highest, panel.x, "x")
    bars = _color_bars(ax, colored, beyond + GAP, place.height)
    if panel.title is not None and not ax.get_title(loc="left") and not ax.get_title():
        highest.set_title(words_along(panel.title, place.width), loc="left", fontsize="medium")
    if panel.legend == "panel" and not place.given:
        legend_beside(ax, panel.legend_title)
    return bars


def _without_sides(panel: Panel, place: PanelSize) -> PanelSize:
    """Return the space left to a panel itself: less on given axes, the shorter side of one with a shape."""
    width = place.width
    if place.given:
        wide = 0.0 if panel.right is None else panel.beside
        bars = any(getattr(mark, "unit", None) is not None for mark in panel.marks)
        width = max(0.5 * width, (1 - wide) * width - (COLORED if bars else 0.0))
    if panel.equal:
        return replace(place, width=min(width, place.height), height=min(width, place.height))
    return replace(place, width=width)


def _words_width(axis: PanelAxis) -> float:
    """Return the inches that the tick words of a narrow panel take, so that they keep off its neighbor's."""
    words = [line for _, word in axis.ticks or () for line in word.split("\n")]
    return SMALL * scaled(10) * LETTER * max(map(len, words), default=0) / 72


def _draw_marks(ax: Axes, panel: Panel, place: PanelSize, side: Side) -> list[tuple[ScalarMappable, str]]:
    """Draw marks on axes, the first lowest, and return what needs a color bar."""
    before = reach(ax)
    if side != "main" or not place.given:
        _bare(ax, panel, side, place.given)
    elif not before and panel.x.scale == panel.y.scale == "none":
        ax.spines[:].set_visible(False)
    colored = []
    for number, mark in enumerate(panel.marks):
        drawn = PENS[type(mark)](ax, mark, 2 + number / len(panel.marks), place)
        unit = getattr(mark, "unit", None)
        if unit is not None:
            colored.append((drawn, unit))
    if panel.equal:
        ax.set_aspect("equal", adjustable="box")
    if side != "right":
        draw_axis(ax, panel.y, "y", place, before, strip=_has_strip(panel, "x"))
    else:
        ax.tick_params(axis="y", left=False, labelleft=False)
    if side != "top":
        draw_axis(ax, panel.x, "x", place, before, strip=_has_strip(panel, "y"))
        if side == "right":
            ax.tick_params(axis="x", labelsize=SMALL * scaled(10))
    else:
        ax.tick_params(axis="x", bottom=False, labelbottom=False)
    return colored


def _has_strip(panel: Panel, along: Literal["x", "y"]) -> bool:
    return any(isinstance(mark, Strip) and mark.along == along for mark in panel.marks)


def _bare(ax: Axes, panel: Panel, side: Side, given: bool) -> None:
    """Take away what a panel does not need, and lay a light grid behind its curves if the page is ours."""
    hidden = {
        "top": True,
        "right": True,
        "left": side == "right" or panel.y.scale == "none",
        "bottom": side == "top" or panel.x.scale == "none",
    }
    for edge, away in hidden.items():
        ax.spines[edge].set_visible(not away)
    ax.set_axisbelow(True)
    if given or any(isinstance(mark, Heat | Contours) for mark in panel.marks):
        return
    along: Literal["x", "y"] = "x" if panel.y.scale == "category" and panel.x.scale != "category" else "y"
    if (panel.x if along == "x" else panel.y).scale != "none" and panel.x.scale != "none":
        ax.grid(visible=True, axis=along, color=ink(0.12), linewidth=0.7)


def _color_bars(
    ax: Axes, colored: list[tuple[ScalarMappable, str]], beyond: float, height: float
) -> list[tuple[Axes, str]]:
    """Explain colors so many inches to the right of axes, several of them below each other."""
    from paribus._display.drawers.matplotlib.tick_formats import IntegerFormatter

    share, bars = 1 / max(1, len(colored)), []
    for number, (mappable, unit) in enumerate(colored):
        tall = share if len(colored) == 1 else 0.9 * share
        bounds = (beyond, 1 - number * share - tall, BAR, tall)
        side = ax.inset_axes(bounds, transform=right_of(ax))
        bar = ax.figure.colorbar(mappable, cax=side, format=IntegerFormatter())
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize="small", length=2)
        bar.set_label(words_along(unit, tall * height))
        bars.append((side, unit))
    return bars
