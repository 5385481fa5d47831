"""Legends: above all panels, beside one, or within or below axes that somebody has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._display.drawers.matplotlib.colors import folded
from paribus._display.drawers.matplotlib.geometry import GAP, right_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Page
    from matplotlib.transforms import Bbox

LARGE = 1 / 3  # of axes: a legend that takes more of them stands below
BARE: dict[str, Any] = {"frameon": False, "borderpad": 0.3, "borderaxespad": 0.0}


def entries_of(axes: Iterable[Axes]) -> dict[str, Artist]:
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
        title=None if title is None else folded(title),
        fontsize="small",
        title_fontsize="small",
        alignment="left",
        **options,
    )


def legend_above(page: Page, ax: Axes, entries: dict[str, Artist], title: str | None) -> None:
    """Explain the labels of all panels above them, in as many columns as fit."""
    ax.axis("off")
    room = (page.get_figwidth() - 0.9) * page.dpi
    for columns in range(min(len(entries), 8), 0, -1):
        legend = _legend(ax, entries, title, ncols=columns, loc="lower left", bbox_to_anchor=(0, 0), **BARE)
        if legend.get_window_extent().width <= room:
            break


def legend_within(ax: Axes, entries: dict[str, Artist], title: str | None) -> None:
    """Explain labels on somebody's axes where they hide nothing: within if there is room, else below."""
    legend = _legend(ax, entries, title, loc="best", framealpha=0.75)
    inside, box = ax.get_window_extent(), legend.get_window_extent()
    large = box.width * box.height > LARGE * inside.width * inside.height
    if large or box.width > inside.width or box.height > inside.height or _hides(ax, box):
        _legend_below(ax, entries, title)


def explained_before(ax: Axes) -> tuple[dict[str, Artist], str | None]:
    """Return what a legend on axes explains already, and its title."""
    legend = ax.get_legend()
    if legend is None:
        return {}, None
    pairs = zip(legend.get_texts(), legend.legend_handles, strict=True)
    entries = {text.get_text(): handle for text, handle in pairs if handle is not None}
    return entries, legend.get_title().get_text() or None


def _hides(ax: Axes, box: Bbox) -> bool:
    """Return whether a legend covers a curve, a point or text."""
    if any(box.overlaps(text.get_window_extent()) for text in ax.texts if text.get_text()):
        return True
    curves = [line.get_transform().transform_path(line.get_path()) for line in ax.lines]
    areas = [
        part.get_transform().transform_path(path)
        for part in ax.collections
        if not np.any(part.get_offsets())
        for path in part.get_paths()
    ]
    points = [
        part.get_offset_transform().transform(np.asarray(part.get_offsets(), dtype=float))
        for part in ax.collections
        if np.any(part.get_offsets())
    ]
    return (
        any(curve.intersects_bbox(box, filled=False) for curve in curves)
        or any(area.intersects_bbox(box, filled=True) for area in areas)
        or any(box.contains(x, y) for each in points for x, y in each)
        or any(box.overlaps(patch.get_window_extent()) for patch in ax.patches)
    )


def _legend_below(ax: Axes, entries: dict[str, Artist], title: str | None) -> None:
    """Explain labels below the label of the x-axis, in as many columns as fit."""
    from matplotlib.transforms import ScaledTranslation

    box, words = ax.get_window_extent(), ax.xaxis.get_tightbbox()
    below = 0.0 if words is None else (box.y0 - words.y0) / ax.figure.dpi
    down = ScaledTranslation(0, -below - GAP, ax.figure.dpi_scale_trans)
    under = ax.transAxes + down
    for columns in range(min(len(entries), 4), 0, -1):
        legend = _legend(
            ax,
            entries,
            title,
            ncols=columns,
            loc="upper center",
            bbox_to_anchor=(0.5, 0.0),
            bbox_transform=under,
            columnspacing=1.0,
            handlelength=1.6,
            **BARE,
        )
        if legend.get_window_extent().width <= 1.2 * box.width:
            break


def legend_beside(ax: Axes, title: str | None) -> None:
    """Explain one panel's labels to its right, beyond all that stands beside it."""
    entries = entries_of([ax])
    if not entries:
        return
    end = ax.get_window_extent().x1
    ends = [box.x1 for box in (part.get_tightbbox() for part in ax.child_axes) if box is not None]
    beyond = (max([end, *ends]) - end) / ax.figure.dpi + 2 * GAP
    _legend(
        ax, entries, title, loc="upper left", bbox_to_anchor=(beyond, 1), bbox_transform=right_of(ax), **BARE
    )
