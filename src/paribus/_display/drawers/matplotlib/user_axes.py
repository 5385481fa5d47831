"""Axes that somebody has: drawn on with what they show, and given room for what stands around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Floats
from paribus._display.drawers.matplotlib.colors import escaped, words_along
from paribus._display.drawers.matplotlib.geometry import PanelSize
from paribus._display.drawers.matplotlib.legends import entries_of, explained_before, legend_within
from paribus._display.drawers.matplotlib.panel import draw_panel
from paribus._display.figure import Figure, Panel

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Page
    from matplotlib.transforms import Bbox

CLEARANCE = 0.35  # of their width and height that axes keep in one drawing, whatever stands around them
PASSES = 2  # as smaller axes may have longer numbers
FITTING = 1.05  # lengths of a color bar that its label may take
LABELED = 0.85  # of the height of axes that is left to their label when there is room for all else


def draw_on_axes(figure: Figure, axes: list[Axes]) -> tuple[Page, list[Axes]]:
    """Draw a figure on axes that somebody has, one for each panel."""
    ends = [_end(ax) for ax in axes]
    places = [ax.get_position(original=True) for ax in axes]
    bars = []
    for ax, panel in zip(axes, figure.panels, strict=True):
        box = ax.get_window_extent()
        wide, high = box.width / ax.figure.dpi, box.height / ax.figure.dpi
        scale = _scale(panel, figure.size, wide, high)
        bars += draw_panel(ax, panel, PanelSize(wide, LABELED * high, given=True, scale=scale))
    if figure.title is not None and not axes[0].get_title():
        axes[0].set_title(escaped(figure.title))
    _explain(figure, axes)
    if axes[0].figure.figure.get_layout_engine() is None:
        least = CLEARANCE * np.array([place.size for place in places])
        _make_room(axes, ends, least)
        if _are_short(bars, axes):
            _label_below(bars, axes[-1])
            for ax, place in zip(axes, places, strict=True):
                ax.set_position(place)
        for _ in range(PASSES):
            _fold_labels(axes, figure)
            _make_room(axes, ends, least)
        for ax, place in zip(axes, places, strict=True):
            _keep_abreast(ax, place)
    return axes[0].figure.figure, axes


def _keep_abreast(ax: Axes, before: Bbox) -> None:
    """Move axes that share a side with these, and stood abreast, as far: their numbers are read off it."""
    now = ax.get_position(original=True)
    for way, shared in ((1, ax.get_shared_y_axes()), (0, ax.get_shared_x_axes())):
        for other in shared.get_siblings(ax):
            its = other.get_position(original=True).extents
            if other is not ax and np.allclose(its[way::2], before.extents[way::2]):
                its[way::2] = now.extents[way::2]
                other.set_position((*its[:2], *(its[2:] - its[:2])))


def _fold_labels(axes: list[Axes], figure: Figure) -> None:
    """Fold the labels of a figure, and not those somebody wrote, to what is left of their axes."""
    for ax, panel in zip(axes, figure.panels, strict=True):
        box, dpi = ax.get_window_extent(), ax.figure.dpi
        sides = ((ax.xaxis, panel.x.label, box.width), (ax.yaxis, panel.y.label, box.height))
        for side, label, pixels in sides:
            if side.get_label_text().split() and _letters(side.get_label_text()) == _letters(escaped(label)):
                side.set_label_text(words_along(label, pixels / dpi))


def _letters(text: str) -> str:
    return "".join(text.split())


def _are_short(bars: list[tuple[Axes, str]], axes: list[Axes]) -> bool:
    """Return whether a color bar is too short for its label."""
    for ax in axes:
        ax.apply_aspect()
    for bar, _ in bars:
        bar.get_tightbbox()  # which puts it where the axes are now
    return any(
        bar.yaxis.label.get_window_extent().height > FITTING * bar.get_window_extent().height
        for bar, _ in bars
    )


def _label_below(bars: list[tuple[Axes, str]], ax: Axes) -> None:
    """Say below axes what colors mean, instead of beside their bars."""
    from paribus._display.drawers.matplotlib.footnotes import print_below

    for bar, _ in bars:
        bar.set_ylabel("")
    places = ("upper colors", "lower colors") if len(bars) == 2 else ("colors",) * len(bars)
    lines = [f"{place}: {unit}" for place, (_, unit) in zip(places, bars, strict=True)]
    print_below(ax, list(dict.fromkeys(lines)), ())


def _scale(panel: Panel, planned: tuple[float, float], wide: float, high: float) -> float:
    """Return how large a picture without axes is drawn, beside how it was planned."""
    if panel.x.scale != "none" or panel.y.scale != "none":
        return 1.0
    return float(min(1.0, wide / planned[0], high / planned[1]))


def _end(ax: Axes) -> tuple[float, float]:
    """Return where axes end to the right and above, with what stands beside them."""
    box = ax.get_window_extent()
    parts = [part for part in (side.get_tightbbox() for side in ax.child_axes) if part is not None]
    return max([box.x1, *(part.x1 for part in parts)]), max([box.y1, *(part.y1 for part in parts)])


def _explain(figure: Figure, axes: list[Axes]) -> None:
    """Explain labels once, and write notes below the last axes; a label by itself is a note like others."""
    from paribus._display.drawers.matplotlib.footnotes import print_below

    told: set[str] = set()
    legends: list[tuple[Axes, dict[str, Artist], str | None]] = []
    for ax, panel in zip(axes, figure.panels, strict=True):
        before, title = explained_before(ax)
        entries = before | {label: mark for label, mark in entries_of([ax]).items() if label not in told}
        legends.append((ax, entries, title or panel.legend_title or figure.legend_title))
        if panel.legend == "figure":
            told |= set(entries)
    alone = [(label, title) for _, entries, title in legends for label in entries]
    if len(alone) == 1 and all(ax.get_legend() is None for ax in axes):
        label, title = alone[0]
        print_below(axes[-1], [label if title is None else f"{title}: {label}", *figure.notes], ())
        return
    for ax, entries, title in legends:
        if entries:
            legend_within(ax, entries, title)
    print_below(axes[-1], figure.notes, [label for label, _ in alone])


def _make_room(axes: list[Axes], ends: list[tuple[float, float]], least: Floats) -> None:
    """Make axes smaller by what stands around them, on a page without a layout that would.

    Those above each other stay as wide, and those beside each other as high; none is smaller than ``least``.
    """
    places = np.array([ax.get_position(original=True).extents for ax in axes])
    taken = np.array([_taken(ax, *end) for ax, end in zip(axes, ends, strict=True)])
    for way in (0, 1):
        for line in (np.isclose(places[:, way], start) for start in places[:, way]):
            taken[np.ix_(line, [way, way + 2])] = taken[np.ix_(line, [way, way + 2])].max(axis=0)
    sizes = places[:, 2:] - places[:, :2]
    share = np.clip((sizes - least) / np.maximum(taken[:, :2] + taken[:, 2:], 1e-9), 0.0, 1.0)
    lows, highs = places[:, :2] + share * taken[:, :2], places[:, 2:] - share * taken[:, 2:]
    for ax, low, high, away in zip(axes, lows, highs, taken, strict=True):
        if away.any():
            ax.set_position((*low, *(high - low)))


def _taken(ax: Axes, right: float, above: float) -> Floats:
    """Return how much of the page axes have to give up to each side, left, below, right and above."""
    ax.apply_aspect()
    around = ax.get_tightbbox()
    if around is None:
        return np.zeros(4)
    left, below = _free(ax, ax.get_window_extent())
    end, top = _end(ax)
    pixels = np.maximum([left - around.x0, below - around.y0, end - right, top - above], 0.0)
    page: Any = ax.figure
    size: Floats = np.tile([page.bbox.width, page.bbox.height], 2)
    return np.where(pixels > 0.5, pixels, 0.0) / size


def _free(ax: Axes, box: Bbox) -> tuple[float, float]:
    """Return how far to the left and downwards words around axes may reach: to the next axes, or the edge."""
    page: Any = ax.figure
    line = 1.5 * page.dpi / 72 * 10
    left, below = page.bbox.x0 + 0.2 * line, page.bbox.y0 + 0.2 * line
    for other in page.axes:
        its, words = other.get_window_extent(), other.get_tightbbox()
        if other is ax or words is None or not other.get_visible():
            continue
        if its.x1 <= box.x0 and its.y0 < box.y1 and its.y1 > box.y0:
            left = max(left, min(words.x1, box.x0) + 0.2 * line)
        if its.y1 <= box.y0 and its.x0 < box.x1 and its.x1 > box.x0:
            below = max(below, min(max(words.y1, its.y1 + line), box.y0) + 0.1 * line)
    return left, below
