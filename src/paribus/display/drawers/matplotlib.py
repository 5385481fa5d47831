"""Figures drawn by matplotlib: on a new page, on axes somebody has, or as a PNG without any window."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from io import BytesIO
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from paribus.contracts import Flags, Floats
from paribus.display.figure import (
    Axis,
    Band,
    Bars,
    Contours,
    Figure,
    Hatch,
    Heat,
    Line,
    Mark,
    Panel,
    Points,
    Rug,
    Rule,
    Strip,
    Text,
)
from paribus.display.look import INK, STRIP
from paribus.errors import DrawingError

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.collections import Collection
    from matplotlib.colors import Colormap
    from matplotlib.figure import Figure as Page
    from matplotlib.transforms import Transform

Side: TypeAlias = Literal["main", "right", "top"]
Color: TypeAlias = tuple[float, float, float, float]

FADES = 4  # strengths of a line that can be told apart
FADED = 0.25  # of its colour that a line keeps where there is no data at all
FAINT = 0.65  # of the ink, for what is read last
GAP = 0.06  # inches between a panel and what stands beside it
BAR = 0.14  # inches that a colour bar is wide
COLORED = 0.8  # inches that a colour bar takes with its words
RUG = 0.03  # height of a tick of the rug, as a share of the panel
SMALLEST = 5.0  # points of letters that can still be read
LETTER = 0.55  # width of a letter, as a share of its height
SMALL = 0.8  # of the usual letters, for the words of narrow panels
BARE: dict[str, Any] = {"frameon": False, "borderpad": 0.3, "borderaxespad": 0.0}
DASH = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}
MARKER = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "cross": "X",
    "triangle": "^",
    "star": "*",
    "bar": "_",
    "dot": ".",
}


def draw(figure: Figure, ax: Any = None) -> tuple[Page, list[Axes]]:
    """Draw a figure, and return matplotlib's own figure with the axes of its panels.

    Parameters
    ----------
    figure : Figure
        What is to be seen.
    ax : Axes or sequence of Axes, optional
        Where: as many as there are panels. What they already show, their labels and titles stay; limits
        widen. None makes a new figure with pyplot.

    Returns
    -------
    page : matplotlib.figure.Figure
        The page the axes are on.
    axes : list of Axes
        One for each panel, in their order.
    """
    if ax is not None:
        return _draw_on(figure, _given(ax, len(figure.panels)))
    import matplotlib.pyplot as plt

    page = plt.figure(figsize=figure.size, layout=_layout(figure))
    return page, _draw_new(figure, page)


def png(figure: Figure, dpi: int = 110) -> bytes:
    """Return a figure as the bytes of a PNG file; pyplot never hears of it."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Page

    page = Page(figsize=figure.size, layout=_layout(figure))
    FigureCanvasAgg(page)
    _draw_new(figure, page)
    written = BytesIO()
    page.savefig(written, format="png", dpi=dpi)
    return written.getvalue()


def _layout(figure: Figure) -> Literal["constrained", "compressed"]:
    """Return the layout: the constrained one cuts labels off axes whose shape is fixed."""
    return "compressed" if any(panel.equal for panel in figure.panels) else "constrained"


def _given(ax: Any, panels: int) -> list[Axes]:
    """Return the axes somebody has as a list of as many as there are panels."""
    from matplotlib.axes import Axes

    axes = list(np.ravel(np.asarray(ax, dtype=object)))
    other = [type(one).__name__ for one in axes if not isinstance(one, Axes)]
    if other:
        raise DrawingError(f"ax takes matplotlib's axes, one or several, not {other[0]}")
    if len(axes) != panels:
        raise DrawingError(f"{len(axes)} axes were given for {panels} panels; give one for each")
    return axes


# --- pages


@dataclass(frozen=True)
class _Place:
    """Where a panel is drawn: its size in inches, and whether its axes are somebody's own."""

    width: float
    height: float
    given: bool = False


def _draw_new(figure: Figure, page: Page) -> list[Axes]:
    columns = max(1, min(figure.columns, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    notes = _fitting(page, figure.notes, figure.size[0] - 0.15)
    high = figure.size[1] - 0.15 * len(notes.splitlines())
    place = _Place(0.75 * figure.size[0] / columns, 0.7 * high / rows)
    # A row without height above the panels: what its legend needs is made room for like any other label,
    # below a title that is there or comes later. Legends of the page itself would lie on the title.
    grid = page.add_gridspec(rows + 1, columns, height_ratios=[1e-6] + [1.0] * rows)
    axes = []
    for number, panel in enumerate(figure.panels):
        ax = page.add_subplot(grid[1 + number // columns, number % columns])
        _draw_panel(ax, panel, place)
        axes.append(ax)
    entries = _entries(ax for ax, panel in zip(axes, figure.panels, strict=True) if panel.legend == "figure")
    if entries:
        _legend_above(page, page.add_subplot(grid[0, :]), entries, figure.legend_title)
        page.sca(axes[-1])
    if figure.title is not None:
        page.suptitle(_said(figure.title), x=0.01, ha="left", fontsize="large")
    if notes:
        page.supxlabel(notes, x=0.01, ha="left", fontsize="small", color=_ink(FAINT))
    return axes


def _draw_on(figure: Figure, axes: list[Axes]) -> tuple[Page, list[Axes]]:
    explained: set[str] = set()
    for ax, panel in zip(axes, figure.panels, strict=True):
        box = ax.get_window_extent()
        dpi = ax.figure.dpi
        _draw_panel(ax, panel, _Place(box.width / dpi, box.height / dpi, given=True))
        _legend_within(ax, panel.legend_title or figure.legend_title, explained)
        if panel.legend == "figure":
            explained |= set(_entries([ax]))
        if ax.figure.figure.get_layout_engine() is None:
            _make_room(ax)
    if figure.title is not None and not axes[0].get_title():
        axes[0].set_title(_said(figure.title))
    if figure.notes:
        _notes_below(axes[-1], figure.notes)
    return axes[0].figure.figure, axes


def _make_room(ax: Axes) -> None:
    """Make axes smaller by what stands beside them, on a page without a layout that would."""
    box = ax.get_window_extent()
    parts = [part.get_tightbbox() for part in ax.child_axes]
    right = max([0.0, *(part.x1 - box.x1 for part in parts if part is not None)]) / box.width
    above = max([0.0, *(part.y1 - box.y1 for part in parts if part is not None)]) / box.height
    if right or above:
        place = ax.get_position()
        ax.set_position((place.x0, place.y0, place.width * (1 - right), place.height * (1 - above)))


def _fitting(page: Page, notes: tuple[str, ...], inches: float) -> str:
    """Return notes with lines as long as fit, by what their own letters take."""
    text = "  ".join(notes)
    if not text:
        return ""
    probe = page.text(0, 0, _said(text), fontsize="small")
    letters = inches * page.dpi / probe.get_window_extent().width * len(text)
    probe.remove()
    return "\n".join(_said(line) for note in notes for line in wrap(note, max(20, int(0.95 * letters))))


def _notes_below(ax: Axes, notes: tuple[str, ...]) -> None:
    """Write notes below everything else on the x-axis, whatever its labels' height."""
    ax.annotate(
        _fitting(ax.figure.figure, notes, max(2.5, ax.get_window_extent().width / ax.figure.dpi)),
        (0.5, 0),
        (0, -4),
        xycoords=ax.xaxis.label,
        textcoords="offset points",
        ha="center",
        va="top",
        fontsize="small",
        color=_ink(FAINT),
        annotation_clip=False,
    )


# --- legends


def _entries(axes: Iterable[Axes]) -> dict[str, Artist]:
    """Return what the labels on axes and on those beside them stand for, the first of each."""
    entries: dict[str, Artist] = {}
    for ax in axes:
        parts: list[Any] = [ax, *ax.child_axes]
        for part in parts:
            for handle, label in zip(*part.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
    return entries


def _legend(ax: Axes, entries: dict[str, Artist], title: str | None, **options: Any) -> Any:
    return ax.legend(
        list(entries.values()),
        list(entries),
        title=None if title is None else _said(title),
        fontsize="small",
        title_fontsize="small",
        alignment="left",
        **options,
    )


def _legend_above(page: Page, ax: Axes, entries: dict[str, Artist], title: str | None) -> None:
    """Explain the labels of all panels above them, in as many columns as fit."""
    ax.axis("off")
    room = (page.get_figwidth() - 0.9) * page.dpi
    for columns in range(min(len(entries), 8), 0, -1):
        legend = _legend(ax, entries, title, ncols=columns, loc="lower left", bbox_to_anchor=(0, 0), **BARE)
        if legend.get_window_extent().width <= room:
            break


def _legend_within(ax: Axes, title: str | None, explained: set[str]) -> None:
    """Explain labels on somebody's axes where they hide least, with what was explained there before.

    What is ``explained`` on other axes of the same picture is not told again.
    """
    before = ax.get_legend()
    entries: dict[str, Artist] = {}
    if before is not None:
        title = before.get_title().get_text() or title
        entries = {
            text.get_text(): handle
            for text, handle in zip(before.get_texts(), before.legend_handles, strict=True)
            if handle is not None
        }
    entries |= {label: handle for label, handle in _entries([ax]).items() if label not in explained}
    if entries:
        _legend(ax, entries, title, loc="best", framealpha=0.75)


def _legend_beside(ax: Axes, title: str | None) -> None:
    """Explain one panel's labels to its right, beyond all that stands beside it."""
    entries = _entries([ax])
    if not entries:
        return
    end = ax.get_window_extent().x1
    ends = [box.x1 for box in (part.get_tightbbox() for part in ax.child_axes) if box is not None]
    beyond = (max([end, *ends]) - end) / ax.figure.dpi + 2 * GAP
    _legend(
        ax, entries, title, loc="upper left", bbox_to_anchor=(beyond, 1), bbox_transform=_right_of(ax), **BARE
    )


# --- panels


def _draw_panel(ax: Axes, panel: Panel, place: _Place) -> None:
    """Draw a panel with what stands beside it: the narrow panels first, then a colour bar, then a legend."""
    place = _without_sides(panel, place)
    colored = _draw_marks(ax, panel, place, "main")
    beyond, highest = GAP, ax
    if panel.right is not None:
        wide = max(panel.beside * place.width, _words_width(panel.right.x))
        beside = ax.inset_axes((beyond, 0.0, wide, 1.0), transform=_right_of(ax), sharey=ax)
        _draw_marks(beside, panel.right, place, "right")
        beyond += wide + GAP
    if panel.top is not None:
        high = panel.beside * place.height
        highest = ax.inset_axes((0.0, GAP, 1.0, high), transform=_above(ax), sharex=ax)
        _draw_marks(highest, panel.top, place, "top")
    _color_bars(ax, colored, beyond + GAP, place.height)
    if panel.title is not None and not ax.get_title(loc="left") and not ax.get_title():
        highest.set_title(_said(panel.title), loc="left", fontsize="medium")
    if panel.legend == "panel" and not place.given:
        _legend_beside(ax, panel.legend_title)


def _without_sides(panel: Panel, place: _Place) -> _Place:
    """Return the place left to a panel itself: less on given axes, the shorter side of one with a shape."""
    width = place.width
    if place.given:
        wide = 0.0 if panel.right is None else panel.beside
        bars = any(getattr(mark, "unit", None) is not None for mark in panel.marks)
        width = max(0.5 * width, (1 - wide) * width - (COLORED if bars else 0.0))
    if panel.equal:
        return _Place(min(width, place.height), min(width, place.height), place.given)
    return _Place(width, place.height, place.given)


def _right_of(ax: Axes) -> Transform:
    """Return where things stand so many inches to the right of axes, and at a share of their height."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    inches = ax.figure.dpi_scale_trans + ScaledTranslation(1, 0, ax.transAxes)  # type: ignore[arg-type]
    return blended_transform_factory(inches, ax.transAxes)


def _above(ax: Axes) -> Transform:
    """Return where things stand so many inches above axes, and at a share of their width."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    inches = ax.figure.dpi_scale_trans + ScaledTranslation(0, 1, ax.transAxes)  # type: ignore[arg-type]
    return blended_transform_factory(ax.transAxes, inches)


def _words_width(axis: Axis) -> float:
    """Return the inches that the tick words of a narrow panel take, so that they keep off its neighbour's."""
    words = [line for _, word in axis.ticks or () for line in word.split("\n")]
    return SMALL * _scaled(10) * LETTER * max(map(len, words), default=0) / 72


def _draw_marks(ax: Axes, panel: Panel, place: _Place, side: Side) -> list[tuple[ScalarMappable, str]]:
    """Draw marks on axes, the first lowest, and return what needs a colour bar."""
    before = _limits(ax) if ax.has_data() else {}
    if side != "main" or not place.given:
        _bare(ax, panel, side, place.given)
    elif not before and panel.x.scale == panel.y.scale == "none":
        ax.spines[:].set_visible(False)
    colored = []
    for number, mark in enumerate(panel.marks):
        drawn = _PENS[type(mark)](ax, mark, 2 + number / len(panel.marks), place)
        unit = getattr(mark, "unit", None)
        if unit is not None:
            colored.append((drawn, unit))
    if panel.equal:
        ax.set_aspect("equal", adjustable="box")
    if side != "right":
        _axis(ax, panel.y, "y", place, before)
    else:
        ax.tick_params(axis="y", left=False, labelleft=False)
    if side != "top":
        _axis(ax, panel.x, "x", place, before)
        if side == "right":
            ax.tick_params(axis="x", labelsize=SMALL * _scaled(10))
    else:
        ax.tick_params(axis="x", bottom=False, labelbottom=False)
    return colored


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
    along: Literal["x", "y"] = "x" if panel.y.scale == "level" and panel.x.scale != "level" else "y"
    if (panel.x if along == "x" else panel.y).scale != "none" and panel.x.scale != "none":
        ax.grid(visible=True, axis=along, color=_ink(0.12), linewidth=0.7)


def _color_bars(ax: Axes, colored: list[tuple[ScalarMappable, str]], beyond: float, height: float) -> None:
    """Explain colours so many inches to the right of axes, several of them below each other."""
    share = 1 / max(1, len(colored))
    for number, (mappable, unit) in enumerate(colored):
        tall = share if len(colored) == 1 else 0.9 * share
        bounds = (beyond, 1 - number * share - tall, BAR, tall)
        side = ax.inset_axes(bounds, transform=_right_of(ax))
        bar = ax.figure.colorbar(mappable, cax=side)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize="small", length=2)
        bar.set_label(_lines(unit, tall * height))


# --- axes


def _limits(ax: Axes) -> dict[str, tuple[float, float]]:
    return {"x": ax.get_xlim(), "y": ax.get_ylim()}


def _axis(
    ax: Axes, axis: Axis, along: Literal["x", "y"], place: _Place, before: dict[str, tuple[float, float]]
) -> None:
    """Give one side of a panel its ends, ticks and label; what somebody wrote there stays."""
    side = ax.xaxis if along == "x" else ax.yaxis
    if axis.scale == "none":
        side.set_ticks([])
    elif axis.ticks is not None:
        side.set_ticks([at for at, _ in axis.ticks], [_said(word) for _, word in axis.ticks])
    elif axis.scale == "date":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=7)  # type: ignore[no-untyped-call]
        side.set_major_locator(locator)
        side.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    elif axis.scale == "number" and not place.given:
        ax.ticklabel_format(axis=along, useOffset=False)
    ax.tick_params(
        axis=along,
        labelsize=_tick_size(axis, along, place),
        **({"labelrotation": 90} if axis.turned else {}),
        **({} if axis.numbers else {f"label{'bottom' if along == 'x' else 'left'}": False}),
    )
    if not axis.numbers:
        side.get_offset_text().set_visible(False)
    _ends(ax, axis, along, before.get(along))
    if axis.label and not side.get_label_text():
        side.set_label_text(_lines(axis.label, place.width if along == "x" else place.height))


def _ends(ax: Axes, axis: Axis, along: Literal["x", "y"], before: tuple[float, float] | None) -> None:
    """Set the ends of an axis; on one that showed something, both can be seen."""
    free = ax.get_autoscalex_on() if along == "x" else ax.get_autoscaley_on()
    if before is None and not free:
        return  # somebody has set them for what was to come
    ax.autoscale_view()
    now = _limits(ax)[along]
    if not free:
        now = tuple(getattr(ax.dataLim, f"interval{along}"))
    low = min(now) if axis.low is None else axis.low
    high = max(now) if axis.high is None else axis.high
    if before is not None:
        low, high = min(low, *before), max(high, *before)
        if before[0] > before[1]:
            low, high = high, low
    if before is not None or axis.low is not None or axis.high is not None:
        (ax.set_xlim if along == "x" else ax.set_ylim)(low, high)


def _tick_size(axis: Axis, along: Literal["x", "y"], place: _Place) -> float:
    """Return the points of tick words: fewer when many have to stand beside each other."""
    from matplotlib import rcParams

    usual = 0.9 * float(rcParams["font.size"])
    if not axis.ticks:
        return usual
    points = 72 * (place.width if along == "x" else place.height)
    if (along == "x") == axis.turned or along == "y":
        taken = 1.25 * len(axis.ticks)
    else:
        taken = sum(LETTER * (2 + max(map(len, word.split("\n")))) for _, word in axis.ticks)
    return max(SMALLEST, min(usual, points / taken))


# --- words and colours


def _said(text: str) -> str:
    """Return text as matplotlib has to be given it, to be read as it is and never as a formula."""
    return text.replace("$", r"\$")


def _label(mark: Line | Band | Points | Bars | Hatch) -> str | None:
    """Return what a legend calls a mark; an underscore in front would keep it out of the legend."""
    if mark.label is None:
        return None
    return _said(f" {mark.label}" if mark.label.startswith("_") else mark.label)


def _lines(text: str, inches: float) -> str:
    """Return a label in as many lines as it needs to be no longer than its axis."""
    from matplotlib import rcParams

    letters = int(72 * inches / (LETTER * float(rcParams["font.size"])))
    return _said("\n".join(wrap(text, max(12, letters), break_long_words=False)))


def _ink(alpha: float = 1.0) -> Color:
    """Return the colour of the theme's text."""
    return _color(INK, alpha)


def _color(name: str, alpha: float = 1.0) -> Color:
    from matplotlib import rcParams
    from matplotlib.colors import to_rgba

    return to_rgba(rcParams["text.color"] if name == INK else name, alpha)


def _veil(alpha: float) -> float:
    """Return how much of its colour a mark shows: what is just seen on white is not seen on black."""
    from matplotlib import rcParams

    dark = _legible(_color(rcParams["axes.facecolor"])) == "white"
    return min(1.0, 1.75 * alpha) if dark else alpha


def _color_map(colors: str | tuple[str, ...]) -> Colormap:
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if isinstance(colors, str):
        return colormaps[colors]
    return LinearSegmentedColormap.from_list("of the figure", list(colors))


def _legible(ground: Any) -> str:
    """Return black or white, whichever can be read on a colour."""
    red, green, blue = (float(part) for part in ground[:3])
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def _scaled(points: float) -> float:
    """Return a size meant beside letters of ten points, beside those of the theme."""
    from matplotlib import rcParams

    return points * float(rcParams["font.size"]) / 10


# --- marks


def _line(ax: Axes, mark: Line, zorder: float, place: _Place) -> None:
    style: dict[str, Any] = {
        "color": _color(mark.color),
        "linestyle": DASH[mark.dash],
        "linewidth": mark.width,
        "drawstyle": "steps-post" if mark.steps else "default",
        # Ends that reach beyond their point would lie twice where runs join.
        "solid_capstyle": "butt",
        "dash_capstyle": "butt",
        "zorder": zorder,
    }
    runs = _runs(mark)
    strongest = max((share for _, _, share in runs), default=0.0)
    label = _label(mark)
    for first, last, share in runs:
        told = label if share == strongest else None
        ax.plot(
            mark.x[first : last + 1],
            mark.y[first : last + 1],
            alpha=_veil(mark.alpha) * share,
            label=told,
            **style,
        )
        label = None if told else label
    alone = _alone(mark.y)
    if alone.any():  # a line between fewer than two points cannot be seen
        ax.plot(mark.x[alone], mark.y[alone], ".", color=style["color"], alpha=mark.alpha, zorder=zorder)


def _alone(y: Floats) -> Flags:
    """Return which points have no neighbour that a line could lead to."""
    there: Flags = np.concatenate([[False], np.isfinite(y), [False]])
    return np.asarray(there[1:-1] & ~there[:-2] & ~there[2:])


def _runs(mark: Line) -> list[tuple[int, int, float]]:
    """Return first point, last point and share of colour of each part of a line; parts share their ends."""
    points = len(mark.x)
    if mark.strength is None or points < 2:
        return [(0, points - 1, 1.0)]
    strength = np.nan_to_num(np.clip(mark.strength, 0.0, 1.0))
    between = strength[:-1] if mark.steps else (strength[:-1] + strength[1:]) / 2
    levels = np.maximum(1, np.ceil(between * FADES - 1e-9))
    starts = np.flatnonzero(np.diff(levels, prepend=np.nan))
    ends = [*starts[1:], points - 1]
    return [
        (int(first), int(last), FADED + (1 - FADED) * float(levels[first]) / FADES)
        for first, last in zip(starts, ends, strict=True)
    ]


def _band(ax: Axes, mark: Band, zorder: float, place: _Place) -> None:
    ax.fill_between(
        mark.x,
        mark.low,
        mark.high,
        step="post" if mark.steps else None,
        color=_color(mark.color),
        alpha=_veil(mark.alpha),
        linewidth=0,
        label=_label(mark),
        zorder=zorder,
    )


def _points(ax: Axes, mark: Points, zorder: float, place: _Place) -> None:
    color = _color(mark.color)
    if mark.error is not None:
        ax.errorbar(
            mark.x,
            mark.y,
            fmt="none",
            ecolor=color,
            alpha=mark.alpha,
            capsize=2.5,
            elinewidth=1.2,
            zorder=zorder,
            xerr=mark.error if mark.error_along == "x" else None,
            yerr=mark.error if mark.error_along == "y" else None,
        )
    # A bar lies across what is measured.
    marker = "|" if mark.marker == "bar" and mark.error_along == "x" else MARKER[mark.marker]
    ax.scatter(
        mark.x,
        mark.y,
        s=np.asarray(mark.size, dtype=float) ** 2,
        color=color,
        alpha=mark.alpha,
        marker=marker,
        label=_label(mark),
        zorder=zorder,
    )


def _bars(ax: Axes, mark: Bars, zorder: float, place: _Place) -> None:
    colors = [mark.color] * len(mark.at) if isinstance(mark.color, str) else mark.color
    base = np.zeros(len(mark.at)) if mark.base is None else mark.base
    style: dict[str, Any] = {
        "color": [_color(color) for color in colors],
        "alpha": mark.alpha,
        "label": _label(mark),
        "zorder": zorder,
    }
    whiskers: dict[str, Any] = {"fmt": "none", "ecolor": _ink(0.8), "capsize": 2.5, "elinewidth": 1.0}
    if mark.level:
        ax.barh(mark.at, mark.length, mark.width, left=base, **style)
        if mark.error is not None:
            ax.errorbar(base + mark.length, mark.at, xerr=mark.error, zorder=zorder, **whiskers)
        return
    ax.bar(mark.at, mark.length, mark.width, bottom=base, **style)
    if mark.error is not None:
        ax.errorbar(mark.at, base + mark.length, yerr=mark.error, zorder=zorder, **whiskers)


def _strip(ax: Axes, mark: Strip, zorder: float, place: _Place) -> None:
    from matplotlib.collections import PolyCollection

    tall = STRIP * mark.height / mark.most if mark.most > 0 else 0.0 * mark.height
    low, high, zero = mark.at - mark.width / 2, mark.at + mark.width / 2, np.zeros_like(tall)
    along = np.stack([low, high, high, low], axis=1)
    shapes = _facing(mark.along, along, np.stack([zero, zero, tall, tall], axis=1))
    _add_at_edge(ax, mark.along, shapes, PolyCollection(list(shapes), facecolors=[_ink(0.25)], zorder=zorder))


def _rug(ax: Axes, mark: Rug, zorder: float, place: _Place) -> None:
    from matplotlib.collections import LineCollection

    along = np.stack([mark.at, mark.at], axis=1)
    shapes = _facing(mark.along, along, np.tile([0.0, RUG], (len(mark.at), 1)))
    ticks = LineCollection(list(shapes), colors=[_ink(0.7)], linewidths=1.0, zorder=zorder)
    _add_at_edge(ax, mark.along, shapes, ticks)


def _facing(side: Literal["x", "y"], along: Floats, across: Floats) -> Floats:
    """Return corners (shapes, corners, 2) from places along one axis and shares across the panel."""
    return np.stack([along, across] if side == "x" else [across, along], axis=2)


def _add_at_edge(ax: Axes, side: Literal["x", "y"], shapes: Floats, drawn: Collection) -> None:
    """Add shapes whose places are values of one axis, and whose heights are shares of the panel."""
    drawn.set_transform(ax.get_xaxis_transform() if side == "x" else ax.get_yaxis_transform())
    ax.add_collection(drawn, autolim=False)
    ax.update_datalim(shapes.reshape(-1, 2), updatex=side == "x", updatey=side == "y")
    ax.autoscale_view()


def _heat(ax: Axes, mark: Heat, zorder: float, place: _Place) -> Any:
    drawn = ax.pcolormesh(
        mark.x_edges,
        mark.y_edges,
        np.ma.masked_invalid(mark.values),
        cmap=_color_map(mark.colors),
        vmin=mark.low,
        vmax=mark.high,
        zorder=zorder,
    )
    if mark.written:
        _write_cells(ax, mark, drawn, zorder, place)
    return drawn


def _write_cells(ax: Axes, mark: Heat, drawn: Any, zorder: float, place: _Place) -> None:
    """Write numbers into cells, as large as the longest of them fits."""
    down, across = mark.values.shape
    longest = max(len(word) for row in mark.written for word in row)

    def fitting(letters: int) -> float:
        wide = 72 * place.width / across / (1.3 * LETTER * max(1, letters))
        return float(min(wide, 72 * place.height / down / 1.4))

    if fitting(longest) < SMALLEST:
        return  # numbers that run into each other tell less than colours alone
    # Room for what most numbers take, so that two marks in one panel have letters of one size.
    size = max(SMALLEST, min(_scaled(9), fitting(max(5, longest))))
    x = (mark.x_edges[:-1] + mark.x_edges[1:]) / 2
    y = (mark.y_edges[:-1] + mark.y_edges[1:]) / 2
    for row, words in enumerate(mark.written):
        for column, word in enumerate(words):
            value = mark.values[row, column]
            color = _ink() if np.isnan(value) else _legible(drawn.to_rgba(value))
            ax.text(
                x[column],
                y[row],
                _said(word),
                ha="center",
                va="center",
                fontsize=size,
                color=color,
                zorder=zorder,
                clip_on=True,
            )


def _contours(ax: Axes, mark: Contours, zorder: float, place: _Place) -> Any:
    values = np.ma.masked_invalid(mark.values)
    least, most = float(values.min()), float(values.max())
    beyond = {(False, False): "neither", (True, False): "min", (False, True): "max", (True, True): "both"}
    extend: Any = beyond[least < mark.levels[0], most > mark.levels[-1]]
    filled = ax.contourf(
        mark.x, mark.y, values, levels=mark.levels, cmap=mark.colors, extend=extend, zorder=zorder
    )
    lined = [level for level in mark.levels[::2] if least < level < most]
    if lined:
        colors = [_legible(filled.to_rgba(level)) for level in lined]
        lines = ax.contour(
            mark.x, mark.y, values, levels=lined, colors=colors, linewidths=0.6, alpha=0.7, zorder=zorder
        )
        ax.clabel(lines, fontsize=_scaled(7.5), fmt=_number, zorder=zorder)
    return filled


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "\N{MINUS SIGN}")


def _hatch(ax: Axes, mark: Hatch, zorder: float, place: _Place) -> None:
    from matplotlib import rcParams
    from matplotlib.collections import PolyCollection

    row, column = np.nonzero(mark.mask)
    left, right = mark.x_edges[column], mark.x_edges[column + 1]
    low, high = mark.y_edges[row], mark.y_edges[row + 1]
    x, y = np.stack([left, right, right, left], axis=1), np.stack([low, low, high, high], axis=1)
    cells = PolyCollection(
        list(np.stack([x, y], axis=2)),
        # The colours below are veiled as well: the lines alone are lost on dark ones.
        facecolors=[_color(rcParams["axes.facecolor"], 0.5)],
        edgecolors=[_ink(0.55)],
        linewidths=0,
        hatch="////",
        antialiaseds=False,
        label=_label(mark) if len(row) else None,
        zorder=zorder,
    )
    ax.add_collection(cells)
    ax.autoscale_view()


def _rule(ax: Axes, mark: Rule, zorder: float, place: _Place) -> None:
    across = ax.axhline if mark.along == "y" else ax.axvline
    across(mark.at, color=_ink(0.55), linewidth=0.8, zorder=zorder)


def _text(ax: Axes, mark: Text, zorder: float, place: _Place) -> None:
    ax.annotate(
        _said(mark.text),
        (mark.x, mark.y),
        mark.offset,
        textcoords="offset points",
        ha=mark.align,
        va=mark.upright,
        rotation=mark.rotation,
        fontsize=_scaled(mark.size),
        color=_color(mark.color),
        alpha=mark.alpha,
        zorder=zorder,
        annotation_clip=False,
    )
    ax.update_datalim([(mark.x, mark.y)])
    ax.autoscale_view()


_PENS: dict[type[Mark], Callable[[Axes, Any, float, _Place], Any]] = {
    Line: _line,
    Band: _band,
    Points: _points,
    Bars: _bars,
    Strip: _strip,
    Rug: _rug,
    Heat: _heat,
    Contours: _contours,
    Hatch: _hatch,
    Rule: _rule,
    Text: _text,
}
