"""Legends: above all panels, beside one, or within axes that somebody has."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from paribus.display.drawers.matplotlib.ink import escaped
from paribus.display.drawers.matplotlib.place import GAP, right_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Page

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
        title=None if title is None else escaped(title),
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


def legend_within(ax: Axes, title: str | None, explained: set[str]) -> None:
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
    entries |= {label: handle for label, handle in entries_of([ax]).items() if label not in explained}
    if entries:
        _legend(ax, entries, title, loc="best", framealpha=0.75)


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
