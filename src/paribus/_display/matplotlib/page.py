"""Panels on a page: a new one, axes that somebody has, or a PNG without any window."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as Page
from matplotlib.transforms import ScaledTranslation, Transform, blended_transform_factory

from paribus._display.figure import Contours, Figure, Heat, Panel, PanelAxis
from paribus._display.mark_helpers import escaped
from paribus._display.matplotlib.marks import (
    DRAW,
    LEGEND_LINE,
    NumberFormatter,
    NumberLocator,
    along_inches,
    draw_axis,
    folded,
    follow,
    ink,
    reach,
    scaled,
)
from paribus._display.text_width import text_width
from paribus.errors import DrawingError

Side: TypeAlias = Literal["main", "right", "top"]
GAP = 0.06  # inches between a panel and what stands beside it
BAR = 0.14  # inches that a color bar is wide
BAR_LABELS = 0.8  # inches that its numbers and its label take
NARROW = 1.8  # inches that lines of notes have at least
SMALL = 8.0  # points of what stands at the ticks of narrow panels
FAINT = 0.65  # of the ink, for what is read last
CURVE = 1.0  # points of the width of a line that no legend should cover: curves of single rows are thinner
LEGEND_PAD, MOST_ROOM = 12.0, 0.5  # points around a legend, and the share of axes that it is given at most
NOTE = "paribus-note"  # by which notes on axes are found again
BARE: dict[str, Any] = {"frameon": False, "borderpad": 0.3, "borderaxespad": 0.0}


@dataclass(frozen=True)
class PanelSize:
    """The inches of a panel, and whether its axes are somebody's own.

    ``scale`` is the share of their size that marks have where a panel without axes is drawn smaller than it
    was planned.
    """

    width: float
    height: float
    given: bool = False
    scale: float = 1.0


def draw(figure: Figure, ax: Any = None) -> tuple[Page, list[Axes]]:
    """Draw a figure, and return matplotlib's own figure with the axes of its panels.

    Parameters
    ----------
    figure : Figure
        What is to be seen.
    ax : Axes or sequence of Axes, optional
        Where: as many as there are panels. What they already show, their labels, titles and places stay;
        limits widen. None makes a new figure with pyplot.

    Returns
    -------
    page : matplotlib.figure.Figure
        The page the axes are on.
    axes : list of Axes
        One for each panel, in their order.
    """
    if ax is not None:
        axes = _given(ax, len(figure.panels))
        page: Any = axes[0].figure.figure
        _draw_on_axes(figure, axes)
    else:
        import matplotlib.pyplot as plt

        page = plt.figure(figsize=figure.size, layout=_layout(figure))
        axes = draw_on_page(figure, page)
    vars(page)["_ipython_display_"] = partial(_shown_once, page)
    return page, axes


def _shown_once(page: Page) -> None:
    """Take a page that a notebook is about to show from pyplot, which would show it again after the cell.

    One that is not shown so stays with pyplot: a notebook shows it after the cell, a script with ``show()``.
    """
    import matplotlib.pyplot as plt

    if "inline" in plt.get_backend():
        plt.close(page)
    raise NotImplementedError  # which makes IPython show it as any other figure


def png(figure: Figure, dpi: int = 110) -> bytes:
    """Return a figure as the bytes of a PNG file; pyplot never hears of it."""
    page = Page(figsize=figure.size, layout=_layout(figure))
    draw_on_page(figure, page)
    FigureCanvasAgg(page)
    written = BytesIO()
    page.savefig(written, format="png", dpi=dpi)
    return written.getvalue()


def _layout(figure: Figure) -> Literal["constrained", "compressed"]:
    """Return the layout: the constrained one cuts labels off axes whose shape is fixed."""
    return "compressed" if any(panel.equal for panel in figure.panels) else "constrained"


def draw_on_page(figure: Figure, page: Page) -> list[Axes]:
    """Draw all panels on an empty page, with a legend above and notes below."""
    columns = max(1, min(figure.columns, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    size = PanelSize(0.75 * figure.size[0] / columns, 0.7 * figure.size[1] / rows)
    # A row without height above the panels: what its legend needs is made room for like any other label,
    # below a title that is there or comes later. Legends of the page itself would lie on the title.
    grid = page.add_gridspec(rows + 1, columns, height_ratios=[1e-6] + [1.0] * rows)
    axes = []
    for number, panel in enumerate(figure.panels):
        ax = page.add_subplot(grid[1 + number // columns, number % columns])
        taken = _draw_panel(ax, panel, size)
        if panel.legend == "panel":
            _legend(ax, _entries([ax]), _folded(panel.legend_title), **_beside(ax, taken))
        axes.append(ax)
    pairs = zip(axes, figure.panels, strict=True)
    entries = _entries(ax for ax, panel in pairs if panel.legend == "figure")
    if entries:
        _legend_above(page, page.add_subplot(grid[0, :]), entries, _folded(figure.legend_title))
        page.sca(axes[-1])
    if figure.title is not None:
        page.suptitle(escaped(figure.title), x=0.01, ha="left", fontsize="large", wrap=True)
    if figure.notes:
        notes = escaped("\n".join(figure.notes))
        page.supxlabel(notes, x=0.01, ha="left", fontsize="small", color=ink(FAINT), wrap=True)
    return axes


def _given(ax: Any, panels: int) -> list[Axes]:
    """Return the axes somebody has as a list of as many as there are panels."""
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    other = [type(one).__name__ for one in axes if not isinstance(one, Axes)]
    if other:
        raise DrawingError(f"ax takes matplotlib's axes, one or several, not {other[0]}")
    if len(axes) != panels:
        raise DrawingError(f"{len(axes)} axes were given for {panels} panels; give one for each")
    return axes


def _draw_on_axes(figure: Figure, axes: list[Axes]) -> None:
    """Draw a figure on axes that somebody has, each label explained once, notes below the last.

    The axes stay where they are, as large as they are: a page with a layout engine makes room for what stands
    around them, and for a legend beside a panel.
    """
    page: Any = axes[0].figure.figure
    explained: set[str] = set()
    for ax, panel in zip(axes, figure.panels, strict=True):
        title, entries = _legend_of(ax)
        taken = _draw_panel(ax, panel, _size(ax, panel, figure))
        entries |= {label: mark for label, mark in _entries([ax]).items() if label not in explained}
        place: dict[str, Any] = {"loc": "best", "framealpha": 0.75}
        if panel.legend == "figure":
            explained |= set(entries)
        elif page.get_layout_engine() is not None:
            place = _beside(ax, taken)
        legend = _legend(ax, entries, title or _folded(panel.legend_title or figure.legend_title), **place)
        if legend is not None and place["loc"] == "best":
            _make_room(ax, legend)
    if figure.title is not None and not axes[0].get_title():
        axes[0].set_title(escaped(figure.title))
    _write_below(axes[-1], figure.notes)


def _size(ax: Axes, panel: Panel, figure: Figure) -> PanelSize:
    """Return the size of axes that somebody has; a picture without axes shrinks with them as a whole."""
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    wide, high = box.width / dpi, box.height / dpi
    bare = panel.x.scale == panel.y.scale == "none"
    scale = min(1.0, wide / figure.size[0], high / figure.size[1]) if bare else 1.0
    return PanelSize(wide, high, given=True, scale=scale)


def _write_below(ax: Axes, notes: Sequence[str]) -> None:
    """Write notes below axes, each below the one before it; those that stand there are not repeated."""
    em = 72 * max(NARROW, ax.get_window_extent().width / ax.figure.dpi) / (0.83 * scaled(10))
    below = [text for text in ax.texts if text.get_gid() == NOTE]
    for note in (folded(note, em) for note in notes):
        if note not in [text.get_text() for text in below]:
            style: dict[str, Any] = {"fontsize": "small", "color": ink(FAINT), "ha": "center", "va": "top"}
            above, gap = (below[-1], -2) if below else (ax.xaxis.label, -4)
            style |= {"xycoords": above, "textcoords": "offset points", "annotation_clip": False, "gid": NOTE}
            below.append(ax.annotate(note, (0.5, 0), (0, gap), **style))


def _draw_panel(ax: Axes, panel: Panel, size: PanelSize) -> float:
    """Draw a panel with narrow panels and color bars beside it, and return the inches they take."""
    if panel.equal:
        shorter = min(size.width, size.height)
        size = replace(size, width=shorter, height=shorter)
    colored = _draw_marks(ax, panel, size, "main")
    beyond, highest = GAP, ax
    if panel.right is not None:
        wide = max(panel.beside * size.width, _ticks_width(panel.right.x))
        beside = ax.inset_axes((beyond, 0.0, wide, 1.0), transform=_beyond(ax, "x"), sharey=ax)
        _draw_marks(beside, panel.right, size, "right")
        follow(beside, panel.y, "y")
        beyond += wide + GAP
    if panel.top is not None:
        high = panel.beside * size.height
        highest = ax.inset_axes((0.0, GAP, 1.0, high), transform=_beyond(ax, "y"), sharex=ax)
        _draw_marks(highest, panel.top, size, "top")
        follow(highest, panel.x, "x")
    for number, (mappable, unit) in enumerate(colored):
        tall = (1.0 if len(colored) == 1 else 0.9) / len(colored)
        low = 1 - number / len(colored) - tall
        side = ax.inset_axes((beyond + GAP, low, BAR, tall), transform=_beyond(ax, "x"))
        _color_bar(mappable, side, along_inches(unit, tall * size.height))
    if panel.title is not None and not ax.get_title(loc="left") and not ax.get_title():
        highest.set_title(along_inches(panel.title, size.width), loc="left", fontsize="medium")
    return beyond + GAP + (BAR + BAR_LABELS if colored else 0.0)


def _beyond(ax: Axes, along: Literal["x", "y"]) -> Transform:
    """Return where things stand so many inches beyond axes one way, and at a share of them the other way.

    Inches, as what stands beside axes keeps its size while a layout engine changes theirs.
    """
    inches = ax.figure.dpi_scale_trans + ScaledTranslation(1, 1, ax.transAxes)  # type: ignore[arg-type]
    ways = (inches, ax.transAxes) if along == "x" else (ax.transAxes, inches)
    return blended_transform_factory(*ways)


def _ticks_width(axis: PanelAxis) -> float:
    """Return the inches that the tick labels of a narrow panel take, so that they keep off its neighbor's."""
    return max((scaled(SMALL) * text_width(label) / 72 for _, label in axis.ticks or ()), default=0.0)


def _color_bar(mappable: ScalarMappable, ax: Axes, label: str) -> None:
    """Explain colors on axes of their own."""
    bar = ax.figure.colorbar(mappable, cax=ax, format=NumberFormatter())
    bar.outline.set_visible(False)
    ax.tick_params(labelsize="small", length=2)
    bar.set_label(label)


def _draw_marks(ax: Axes, panel: Panel, size: PanelSize, side: Side) -> list[tuple[ScalarMappable, str]]:
    """Draw marks on axes, the first lowest, and return what needs a color bar."""
    before = reach(ax)
    if side != "main" or not size.given:
        _strip_frame(ax, panel, side, size.given)
    elif not before and panel.x.scale == panel.y.scale == "none":
        ax.spines[:].set_visible(False)
    colored = []
    for number, mark in enumerate(panel.marks):
        drawn = DRAW[type(mark)](ax, mark, 2 + number / len(panel.marks), size.scale)
        unit = getattr(mark, "unit", None)
        if unit is not None:
            colored.append((drawn, unit))
    if panel.equal:
        ax.set_aspect("equal", adjustable="box")
    if side == "right":
        ax.tick_params(axis="y", left=False, labelleft=False)
    else:
        draw_axis(ax, panel.y, "y", size.height, before)
    if side == "top":
        ax.tick_params(axis="x", bottom=False, labelbottom=False)
    else:
        draw_axis(ax, panel.x, "x", size.width, before)
    if side == "right":
        ax.tick_params(axis="x", labelsize=scaled(SMALL))
    return colored


def _strip_frame(ax: Axes, panel: Panel, side: Side, given: bool) -> None:
    """Take away what a panel does not need, and lay a light grid behind its curves if the page is ours."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines.left.set_visible(side != "right" and panel.y.scale != "none")
    ax.spines.bottom.set_visible(side != "top" and panel.x.scale != "none")
    ax.set_axisbelow(True)
    if given or any(isinstance(mark, Heat | Contours) for mark in panel.marks):
        return
    along: Literal["x", "y"] = "x" if panel.y.scale == "category" and panel.x.scale != "category" else "y"
    if (panel.x if along == "x" else panel.y).scale != "none" and panel.x.scale != "none":
        ax.grid(visible=True, axis=along, color=ink(0.12), linewidth=0.7)


def _entries(axes: Iterable[Axes]) -> dict[str, Artist]:
    """Return what the labels on axes and on those beside them stand for, the first of each."""
    entries: dict[str, Artist] = {}
    for ax in axes:
        parts: list[Any] = [ax, *ax.child_axes]
        for part in parts:
            for handle, label in zip(*part.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
    return entries


def _legend_of(ax: Axes) -> tuple[str | None, dict[str, Artist]]:
    """Return the title of the legend that axes have, and what it explains."""
    legend = ax.get_legend()
    if legend is None:
        return None, {}
    pairs = zip(legend.get_texts(), legend.legend_handles, strict=True)
    entries = {text.get_text(): handle for text, handle in pairs if handle is not None}
    return legend.get_title().get_text() or None, entries


def _beside(ax: Axes, inches: float) -> dict[str, Any]:
    """Return where a legend stands so many inches to the right of axes."""
    return {"loc": "upper left", "bbox_to_anchor": (inches, 1), "bbox_transform": _beyond(ax, "x")} | BARE


def _folded(title: str | None) -> str | None:
    return None if title is None else folded(title, LEGEND_LINE)


def _legend(ax: Axes, entries: dict[str, Artist], title: str | None, **place: Any) -> Any:
    """Draw a legend; its title is as matplotlib takes it, or as axes have it."""
    if not entries:
        return None
    return ax.legend(
        list(entries.values()),
        list(entries),
        title=title,
        fontsize="small",
        title_fontsize="small",
        alignment="left",
        **place,
    )


def _make_room(ax: Axes, legend: Any) -> None:
    """Let a y-axis whose ends nobody has set reach higher where a legend has no place off the curves."""
    box, inside = legend.get_window_extent(), ax.get_window_extent()
    curves = (line for line in ax.lines if line.get_linewidth() >= CURVE)
    paths = (line.get_transform().transform_path(line.get_path()) for line in curves)
    if not any(path.intersects_bbox(box, filled=False) for path in paths):
        return
    (low, high), locator = ax.get_ylim(), ax.yaxis.get_major_locator()
    free = ax.get_yscale() == "linear" and ax.get_autoscaley_on() and low < high
    share = (box.height + LEGEND_PAD * ax.figure.dpi / 72) / inside.height
    if free and share < MOST_ROOM and isinstance(locator, NumberLocator):
        top = float(low + (high - low) / (1 - share))
        ax.dataLim.intervaly = (ax.dataLim.y0, top)
        ax.lines[-1].sticky_edges.y.append(top)
        ax.autoscale_view()
        locator.legend = top, high


def _legend_above(page: Page, ax: Axes, entries: dict[str, Artist], title: str | None) -> None:
    """Explain the labels of all panels above them, in as many columns as fit."""
    ax.axis("off")
    room = (page.get_figwidth() - 0.9) * page.dpi
    for columns in range(min(len(entries), 8), 0, -1):
        legend = _legend(ax, entries, title, ncols=columns, loc="lower left", bbox_to_anchor=(0, 0), **BARE)
        if legend.get_window_extent().width <= room:
            break
