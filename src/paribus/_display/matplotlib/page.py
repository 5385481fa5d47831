"""Figures of panels in matplotlib: new figures, given axes, and PNG files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BytesIO
from typing import Any, Literal, TypeAlias

import numpy as np
from matplotlib import rc_context, rcParams
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.figure import Figure as Page
from matplotlib.transforms import ScaledTranslation, Transform, blended_transform_factory

from paribus._display.figure import Figure, Panel
from paribus._display.layout import has_curves
from paribus._display.mark_helpers import DARK, HEADING, SMALL, TICK, TITLE, escaped, in_dark_colors
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
    pixels,
    reach,
)
from paribus._display.text_width import text_width
from paribus.errors import DrawingError

Side: TypeAlias = Literal["main", "left", "right", "top"]
GAP = 0.06  # inches between a panel and a narrow panel or color bar next to it
BAR = 0.14  # inches of the width of a color bar
BAR_LABELS = 0.8  # inches of its numbers and its label
NARROW = 1.8  # inches of a line of notes, at least
FAINT = 0.65  # opacity of notes
CURVE = 1.0  # points of the width of lines that a legend must not cover; ICE curves are thinner
LEGEND_PAD, MOST_ROOM = 12.0, 0.5  # points around a legend, and its largest share of the height of axes
NOTE = "paribus-note"  # group id of notes, by which later calls find them
DARK_STYLE: Any = dict.fromkeys(("figure.facecolor", "axes.facecolor"), DARK.paper)
DARK_STYLE |= dict.fromkeys(
    ("text.color", "axes.labelcolor", "xtick.labelcolor", "ytick.labelcolor"), DARK.ink
)
DARK_STYLE |= dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), DARK.data)
AT_LEFT: dict[str, Any] = {"x": 0.01, "ha": "left", "wrap": True}
BARE: dict[str, Any] = {"frameon": False, "borderpad": 0.3, "borderaxespad": 0.0}


@dataclass(frozen=True)
class PanelSize:
    """The size of a panel in inches, and whether its axes were given by the user.

    ``scale`` is the factor of the sizes of marks in a panel without axes that is smaller than planned.
    """

    width: float
    height: float
    given: bool = False
    scale: float = 1.0


def draw(figure: Figure, ax: Any = None, *, dark: bool = False) -> tuple[Page, list[Axes]]:
    """Draw a figure, and return the figure of matplotlib with the axes of the panels.

    Parameters
    ----------
    figure : Figure
        The figure to draw.
    ax : Axes or sequence of Axes, optional
        Axes to draw on, one for each panel. Their contents, labels, titles and positions stay, and their
        limits widen. By default a new figure is made with pyplot.
    dark : bool
        Whether a new figure has a dark background. By default its colors are those of the style.

    Returns
    -------
    page : matplotlib.figure.Figure
        The figure that contains the axes.
    axes : list of Axes
        One for each panel, in the order of the panels.
    """
    if ax is not None:
        axes = _checked_axes(ax, len(figure.panels))
        page: Any = axes[0].figure.figure
        _draw_on_axes(figure, axes)
    else:
        import matplotlib.pyplot as plt

        with rc_context(DARK_STYLE if dark else None):
            page = plt.figure(figsize=figure.size, layout=_layout_engine(figure))
            axes = draw_on_page(in_dark_colors(figure) if dark else figure, page)
    vars(page)["_ipython_display_"] = partial(_shown_once, page)
    return page, axes


def _shown_once(page: Page) -> None:
    """Close a figure that a notebook displays, because pyplot would show it again after the cell.

    Other figures stay open in pyplot: a notebook shows them after the cell, and a script with ``show()``.
    """
    import matplotlib.pyplot as plt

    if "inline" in plt.get_backend():
        plt.close(page)
    raise NotImplementedError  # IPython then uses its default display


def png(figure: Figure, dpi: int = 110) -> bytes:
    """Return a figure as the bytes of a PNG file, without pyplot."""
    page = Page(figsize=figure.size, layout=_layout_engine(figure))
    draw_on_page(figure, page)
    FigureCanvasAgg(page)
    written = BytesIO()
    page.savefig(written, format="png", dpi=dpi)
    return written.getvalue()


def _layout_engine(figure: Figure) -> Literal["constrained", "compressed"]:
    """Return the layout engine; the constrained one clips labels of axes with a fixed aspect."""
    return "compressed" if any(panel.equal for panel in figure.panels) else "constrained"


def draw_on_page(figure: Figure, page: Page) -> list[Axes]:
    """Draw all panels on an empty matplotlib figure, with a legend above and notes below."""
    columns = max(1, min(figure.columns, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    size = PanelSize(0.75 * figure.size[0] / columns, 0.7 * figure.size[1] / rows)
    # The legend belongs to axes without height above the panels. So the layout engine makes space for it
    # below the title, which would overlap a legend of the matplotlib figure.
    grid = page.add_gridspec(rows + 1, columns, height_ratios=[1e-6] + [1.0] * rows)
    axes = []
    for number, panel in enumerate(figure.panels):
        ax = page.add_subplot(grid[1 + number // columns, number % columns])
        taken = _matplotlib_panel(ax, panel, size)
        if panel.legend == "panel":
            title = folded(panel.legend_title or "", LEGEND_LINE)
            _add_legend(ax, _legend_handles([ax]), title, **_legend_beside_axes(ax, taken))
        axes.append(ax)
    pairs = zip(axes, figure.panels, strict=True)
    entries = _legend_handles(ax for ax, panel in pairs if panel.legend == "figure")
    if entries:
        above = page.add_subplot(grid[0, :])
        above.axis("off")
        room = (page.get_figwidth() - 0.9) * page.dpi
        title = folded(figure.legend_title or "", LEGEND_LINE)
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 0)} | BARE
        for ncols in range(min(len(entries), 8), 0, -1):  # as many as fit
            legend = _add_legend(above, entries, title, ncols=ncols, **place)
            if legend.get_window_extent().width <= room:
                break
        page.sca(axes[-1])
    if figure.title is not None:
        page.suptitle(escaped(figure.title), fontsize=pixels(HEADING), weight="bold", **AT_LEFT)
    if figure.notes:
        notes = escaped("\n".join(figure.notes))
        page.supxlabel(notes, fontsize=pixels(SMALL), color=ink(FAINT), **AT_LEFT)
    return axes


def _checked_axes(ax: Any, panels: int) -> list[Axes]:
    """Return the given axes as a list; raise unless there is one for each panel."""
    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    for entry in axes:
        if not isinstance(entry, Axes):
            raise DrawingError(f"ax takes matplotlib's axes, one or several, not {type(entry).__name__}")
    if len(axes) != panels:
        raise DrawingError(f"{len(axes)} axes were given for {panels} panels; give one for each")
    return axes


def _draw_on_axes(figure: Figure, axes: list[Axes]) -> None:
    """Draw a figure on given axes, with each label in one legend only and the notes below the last axes.

    Position and size of the axes stay, unless the figure has a layout engine, which makes space for labels
    and for a legend next to a panel.
    """
    page: Any = axes[0].figure.figure
    explained: set[str] = set()
    for ax, panel in zip(axes, figure.panels, strict=True):
        title, entries = _existing_legend(ax)
        taken = _matplotlib_panel(ax, panel, _size_of_axes(ax, panel, figure))
        entries |= {label: mark for label, mark in _legend_handles([ax]).items() if label not in explained}
        place: dict[str, Any] = {"loc": "best", "framealpha": 0.75}
        if panel.legend == "figure":
            explained |= set(entries)
        elif page.get_layout_engine() is not None:
            place = _legend_beside_axes(ax, taken)
        title = title or folded(panel.legend_title or figure.legend_title or "", LEGEND_LINE)
        legend = _add_legend(ax, entries, title, **place)
        if legend is not None and place["loc"] == "best":
            _make_room(ax, legend)
    if figure.title is not None and len(axes) == 1 and not axes[0].get_title():
        axes[0].set_title(escaped(figure.title))
    _write_below(axes[-1], figure.notes)


def _size_of_axes(ax: Axes, panel: Panel, figure: Figure) -> PanelSize:
    """Return the size of given axes; the marks of a panel without axes shrink with it."""
    box, dpi = ax.get_window_extent(), ax.figure.dpi
    wide, high = box.width / dpi, box.height / dpi
    bare = panel.x.scale == panel.y.scale == "none"
    scale = min(1.0, wide / figure.size[0], high / figure.size[1]) if bare else 1.0
    return PanelSize(wide, high, given=True, scale=scale)


def _write_below(ax: Axes, notes: Sequence[str]) -> None:
    """Write notes below axes, one below the other; existing ones are not repeated."""
    em = 72 * max(NARROW, ax.get_window_extent().width / ax.figure.dpi) / pixels(SMALL)
    below = [text for text in ax.texts if text.get_gid() == NOTE]
    for note in (folded(note, em) for note in notes):
        if note not in [text.get_text() for text in below]:
            above, gap = (below[-1], -2) if below else (ax.xaxis.label, -4)
            style: dict[str, Any] = {"xycoords": above, "textcoords": "offset points", "gid": NOTE}
            style |= {"fontsize": pixels(SMALL), "color": ink(FAINT), "ha": "center", "va": "top"}
            below.append(ax.annotate(note, (0.5, 0), (0, gap), annotation_clip=False, **style))


def _matplotlib_panel(ax: Axes, panel: Panel, size: PanelSize) -> float:
    """Draw a panel with narrow panels and color bars, and return the inches they need to its right."""
    if panel.equal:
        shorter = min(size.width, size.height)
        size = replace(size, width=shorter, height=shorter)
    colored = _draw_marks(ax, panel, size, "main")
    ahead, beyond, highest = 0.0, GAP, ax
    for part in panel.right:
        wide = _width(part, panel, size)
        beside = ax.inset_axes((beyond, 0.0, wide, 1.0), transform=_inches_from_axes(ax, "x"), sharey=ax)
        _draw_marks(beside, part, size, "right")
        follow(beside, panel.y, "y")
        beyond += wide + GAP
    for part in reversed(panel.left):
        wide = _width(part, panel, size)
        ahead += wide + GAP
        beside = ax.inset_axes((-ahead, 0.0, wide, 1.0), transform=_inches_from_axes(ax, "x", 0), sharey=ax)
        _draw_marks(beside, part, size, "left")
        follow(beside, panel.y, "y")
    if panel.left:  # the numbers are to the left of all
        ax.tick_params(axis="y", left=False, pad=72 * ahead + rcParams["ytick.major.pad"])
        ax.spines.left.set_visible(size.given)
    if panel.top is not None:
        high = panel.narrow * size.height
        highest = ax.inset_axes((0.0, GAP, 1.0, high), transform=_inches_from_axes(ax, "y"), sharex=ax)
        _draw_marks(highest, panel.top, size, "top")
        follow(highest, panel.x, "x")
    for number, (mappable, unit) in enumerate(colored):
        tall = (1.0 if len(colored) == 1 else 0.9) / len(colored)
        low = 1 - number / len(colored) - tall
        side = ax.inset_axes((beyond + GAP, low, BAR, tall), transform=_inches_from_axes(ax, "x"))
        bar = ax.figure.colorbar(mappable, cax=side, format=NumberFormatter())
        bar.outline.set_visible(False)
        side.tick_params(labelsize="small", length=2)
        bar.set_label(along_inches(unit, tall * size.height))
    if panel.title is not None and not ax.get_title(loc="left") and not ax.get_title():
        highest.set_title(
            along_inches(panel.title, size.width), loc="left", fontsize=pixels(TITLE), weight="bold"
        )
    return beyond + GAP + (BAR + BAR_LABELS if colored else 0.0)


def _width(part: Panel, panel: Panel, size: PanelSize) -> float:
    """Return the inches of a narrow panel, whose tick labels must not reach below its neighbor."""
    words = [pixels(SMALL) * text_width(label) / 72 for _, label in part.x.ticks or ()]
    return max(panel.narrow * size.width, *words, 0.0)


def _inches_from_axes(ax: Axes, along: Literal["x", "y"], edge: float = 1) -> Transform:
    """Return the transform with inches from an edge of axes ``along`` one axis, and shares along the other.

    Inches keep the size of narrow panels and color bars when a layout engine resizes the axes. The edge is 1
    for the end of the axes, and 0 for their start.
    """
    inches = ax.figure.dpi_scale_trans + ScaledTranslation(edge, edge, ax.transAxes)  # type: ignore[arg-type]
    ways = (inches, ax.transAxes) if along == "x" else (ax.transAxes, inches)
    return blended_transform_factory(*ways)


def _draw_marks(ax: Axes, panel: Panel, size: PanelSize, side: Side) -> list[tuple[ScalarMappable, str]]:
    """Draw marks on axes, later ones above earlier ones, and return mappable and label of color bars."""
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
    if side in ("left", "right"):
        ax.tick_params(axis="y", left=False, labelleft=False)
    else:
        draw_axis(ax, panel.y, "y", size.height, before)
    if side == "top":
        ax.tick_params(axis="x", bottom=False, labelbottom=False)
    else:
        draw_axis(ax, panel.x, "x", size.width, before)
    if side in ("left", "right"):
        ax.tick_params(axis="x", labelsize=pixels(SMALL))
    return colored


def _strip_frame(ax: Axes, panel: Panel, side: Side, given: bool) -> None:
    """Hide unneeded spines, and draw a light grid behind curves unless the axes were given."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines.left.set_visible(side != "right" and panel.y.scale != "none")
    ax.spines.bottom.set_visible(side != "top" and panel.x.scale != "none")
    ax.set_axisbelow(True)
    if given or not has_curves(panel):
        return
    along: Literal["x", "y"] = "x" if panel.y.scale == "category" and panel.x.scale != "category" else "y"
    if (panel.x if along == "x" else panel.y).scale != "none" and panel.x.scale != "none":
        ax.grid(visible=True, axis=along, color=ink(0.12), linewidth=0.7)


def _legend_handles(axes: Iterable[Axes]) -> dict[str, Artist]:
    """Return the first legend handle of each label on axes and their narrow panels."""
    entries: dict[str, Artist] = {}
    for ax in axes:
        parts: list[Any] = [ax, *ax.child_axes]
        for part in parts:
            for handle, label in zip(*part.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
    return entries


def _existing_legend(ax: Axes) -> tuple[str | None, dict[str, Artist]]:
    """Return the title and the entries of the existing legend of axes."""
    legend = ax.get_legend()
    if legend is None:
        return None, {}
    pairs = zip(legend.get_texts(), legend.legend_handles, strict=True)
    entries = {text.get_text(): handle for text, handle in pairs if handle is not None}
    return legend.get_title().get_text() or None, entries


def _legend_beside_axes(ax: Axes, inches: float) -> dict[str, Any]:
    """Return the options that place a legend some inches to the right of axes."""
    return {
        "loc": "upper left",
        "bbox_to_anchor": (inches, 1),
        "bbox_transform": _inches_from_axes(ax, "x"),
    } | BARE


def _add_legend(ax: Axes, entries: dict[str, Artist], title: str | None, **place: Any) -> Any:
    """Draw a legend if there are entries, and return it; the title is already escaped."""
    if not entries:
        return None
    return ax.legend(
        list(entries.values()),
        list(entries),
        title=title,
        fontsize=pixels(TICK),
        title_fontsize=pixels(TICK),
        alignment="left",
        **place,
    )


def _make_room(ax: Axes, legend: Any) -> None:
    """Extend the y-axis upwards if the legend covers a curve and the user has not set its limits."""
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
