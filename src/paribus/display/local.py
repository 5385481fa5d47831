"""Accumulated local effects: curves over the data in their bins, surfaces with their gaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from paribus.contracts import Floats
from paribus.display import axes as shared
from paribus.display.axes import Band, Place
from paribus.display.paper import legend, new_axes, notes_below, panels_of, written
from paribus.errors import DrawingError
from paribus.results import LocalEffect, LocalEffects
from paribus.results.outputs import chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUNDING = 1e-9  # in units of the prediction: what is smaller has no colour


def draw_local(effect: LocalEffect, *, ax: Axes | None = None, output: str | int | None = None) -> Axes:
    """Draw one local effect on ``ax``, or on a new figure."""
    outputs = chosen(effect.output_names, output)
    panel = ax if ax is not None else new_axes()
    if len(effect.grid_values) == 1:
        _curve(panel, effect, outputs)
    else:
        if len(outputs) > 1:
            raise DrawingError("a surface shows one output; name it with output=")
        _surface(panel, effect, outputs[0])
    notes_below(panel, effect.notes)
    return panel


def draw_locals(effects: LocalEffects, *, columns: int = 3, output: str | int | None = None) -> Figure:
    """Draw one panel per effect; curves share their y-axis, so that sizes compare."""
    figure, panels = panels_of(len(effects), columns)
    curves: list[Any] = []
    for panel, effect in zip(panels, effects.values(), strict=True):
        draw_local(effect, ax=panel, output=output)
        if len(effect.grid_values) == 1:
            curves.append(panel)
    shared.share_y(curves)
    shared.one_legend(curves)
    return figure


def _curve(ax: Axes, effect: LocalEffect, outputs: list[int]) -> None:
    place, band = shared.placed(effect, 0), shared.band_of(effect)
    assert band is not None  # local effects always have a standard error
    many = len(outputs) > 1
    for color, o in enumerate(outputs):
        name = written(effect.output_names[o]) if many else f"ALE {band.words}"
        if effect.refits is not None:
            shared.model_curves(ax, effect.refits, place, o, f"C{color}", labelled=not many)
        _values(ax, effect, place, o, f"C{color}", name, band)
    shared.make_room(ax)
    _bars(ax, effect, place)
    shared.name_axis(ax.xaxis, place, missing=effect.missing is not None)
    ax.set_ylabel(f"effect on {shared.y_label(effect, outputs)}")
    shared.no_ticks_below_curves(ax)
    legend(ax, band.title if many else None)


def _values(ax: Axes, effect: LocalEffect, place: Place, o: int, color: str, name: str, band: Band) -> None:
    height, error = effect.ale[o], band.height[o]
    if place.labels is not None or len(height) == 1:
        ax.errorbar(place.at, height, error, fmt="o", color=color, capsize=3, label=name, zorder=3)
    else:
        low, high = height - error, height + error
        ax.fill_between(place.at, low, high, color=color, alpha=0.2, linewidth=0, zorder=2)
        ax.plot(place.at, height, color=color, label=name, zorder=3)
    if effect.missing is not None:
        assert band.missing is not None
        bar = band.missing[o]
        ax.errorbar([place.missing], effect.missing.ale[o], bar, fmt="D", color=color, capsize=3, zorder=3)


def _bars(ax: Axes, effect: LocalEffect, place: Place) -> None:
    """Draw how dense the data is in each bin, or how much has each level, along the bottom."""
    at, heights, width = place.at, effect.support, np.full(len(place.at), 0.8)
    if place.labels is None:
        width, at = np.diff(place.at), (place.at[1:] + place.at[:-1]) / 2
        heights = np.divide(heights, width, out=np.zeros_like(heights), where=width > 0)
    elif effect.missing is not None:
        at, heights = np.append(at, place.missing), np.append(heights, effect.missing.support)
        width = np.append(width, 0.8)
    shared.bars_along(ax, at, heights, width)


def _surface(ax: Axes, effect: LocalEffect, o: int) -> None:
    """Draw numbers as a map of cells, those without rows hatched; levels as curves."""
    across, up = (shared.placed(effect, axis) for axis in (0, 1))
    if across.labels is not None or up.labels is not None:
        _lines(ax, effect, across, up, o)
        return
    # What is beyond the data is put together from other cells, and would drown the colours of the rest.
    middle = np.ma.masked_where(effect.empty, _middles(effect.ale[o]))
    largest = float(np.abs(middle).max()) if middle.count() else 0.0
    largest = largest if largest > ROUNDING else 1.0
    mesh = ax.pcolormesh(across.at, up.at, middle.T, cmap="RdBu_r", vmin=-largest, vmax=largest)
    _hatch(ax, effect, across.at, up.at)
    ax.figure.colorbar(mesh, ax=ax, label=f"joint effect on {shared.y_label(effect, [o])}")
    shared.name_axis(ax.xaxis, across)
    shared.name_axis(ax.yaxis, up)


def _middles(corners: Floats) -> Floats:
    """Return the value of each cell: the average of its corners."""
    return (corners[1:, 1:] + corners[1:, :-1] + corners[:-1, 1:] + corners[:-1, :-1]) / 4


def _hatch(ax: Axes, effect: LocalEffect, across: Floats, up: Floats) -> None:
    if not effect.empty.any():
        return
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Patch, Rectangle

    gaps = [
        Rectangle((across[i], up[j]), across[i + 1] - across[i], up[j + 1] - up[j])
        for i, j in np.argwhere(effect.empty)
    ]
    style: dict[str, Any] = {"facecolor": "none", "edgecolor": "0.7", "hatch": "////", "linewidth": 0}
    ax.add_collection(PatchCollection(gaps, **style))
    ax.legend(handles=[Patch(**style, label="no rows")], fontsize="small", edgecolor="none")


def _lines(ax: Axes, effect: LocalEffect, across: Place, up: Place, o: int) -> None:
    """Draw a curve for each of the best supported levels."""
    flip = across.labels is not None
    numbers, levels = (up, across) if flip else (across, up)
    curves = effect.ale[o] if flip else effect.ale[o].T
    weight = effect.support.sum(axis=1 if flip else 0)
    shown = np.sort(np.argsort(-weight, kind="stable")[: shared.LEGEND])
    assert levels.labels is not None
    for level, shade in zip(shown, shared.shades(len(shown)), strict=True):
        ax.plot(numbers.at, curves[level], color=shade, label=levels.labels[level])
    title = levels.label
    if len(shown) < len(levels.labels):
        title += f"\n({len(shown)} of {len(levels.labels)} levels)"
    legend(ax, title)
    shared.name_axis(ax.xaxis, numbers)
    ax.set_ylabel(f"joint effect on {shared.y_label(effect, [o])}")
