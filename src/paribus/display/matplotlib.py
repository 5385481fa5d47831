"""Partial dependence, with matplotlib: curves over their support, surfaces, individual curves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from paribus.contracts import Array, Floats, Integers
from paribus.display.axes import (
    BAND,
    LEGEND,
    Band,
    Place,
    band_of,
    model_curves,
    name_axis,
    no_ticks_below_curves,
    one_legend,
    placed,
    positions,
    shades,
    share_y,
    strip,
    y_label,
)
from paribus.display.paper import legend, new_axes, notes_below, panels_of, written
from paribus.errors import DrawingError
from paribus.results import Effects, PartialDependence, Spread
from paribus.results.outputs import chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ICE_LINES = 100  # individual curves drawn; their average is always over every row
SHADE = 0.18  # of a band of rows


def draw_effect(
    effect: PartialDependence, *, ax: Axes | None = None, output: str | int | None = None
) -> Axes:
    """Draw one effect on ``ax``, or on a new figure."""
    ways = len(effect.grid_values)
    if ways > 2:
        raise DrawingError(
            f"an effect of {ways} features has no picture; ask for two of them, or read to_frame()"
        )
    outputs = chosen(effect.output_names, output)
    if ways == 2 and (len(outputs) > 1 or effect.average is None):
        raise DrawingError(
            f"a surface shows the average of one output; pass output= one of {', '.join(effect.output_names)}"
            if effect.average is not None
            else "individual surfaces have no picture; ask for kind='average' or 'both'"
        )
    panel = ax if ax is not None else new_axes()
    if ways == 1:
        _one_way(panel, effect, outputs)
    else:
        _two_way(panel, effect, outputs[0])
    notes_below(panel, effect.notes)
    return panel


def draw_effects(effects: Effects, *, columns: int = 3, output: str | int | None = None) -> Figure:
    """Draw one panel per effect; curves share their y-axis, so that sizes compare."""
    figure, panels = panels_of(len(effects), columns)
    curves: list[Any] = []
    for panel, effect in zip(panels, effects.values(), strict=True):
        draw_effect(effect, ax=panel, output=output)
        if len(effect.grid_values) == 1:
            curves.append(panel)
    share_y(curves)
    one_legend(curves)
    return figure


def _one_way(ax: Axes, effect: PartialDependence, outputs: list[int]) -> None:
    place, band = placed(effect, 0), band_of(effect)
    many = len(outputs) > 1
    # Bands of rows and of errors, of several outputs, could not be told from each other.
    band = None if many and effect.spread is not None else band
    for color, o in enumerate(outputs):
        name = written(effect.output_names[o]) if many else None
        if effect.individual is not None:
            _individual(ax, effect, place, o, f"C{color}" if many else "C0")
        if effect.spread is not None:
            _spread(ax, effect.spread, place, o, f"C{color}" if many else "C0", labelled=not many)
        if effect.average is not None:
            of_rows = effect.individual is not None or effect.spread is not None
            strong = "C1" if of_rows and not many else f"C{color}"
            if effect.refits is not None:
                model_curves(ax, effect.refits, place, o, strong, labelled=not many)
            _average(ax, effect, place, o, strong, name, band)
    strip(ax, effect.support, None if effect.missing is None else effect.missing.support, place)
    name_axis(ax.xaxis, place, missing=effect.missing is not None)
    ax.set_ylabel(y_label(effect, outputs))
    no_ticks_below_curves(ax)
    if ax.get_legend_handles_labels()[1]:
        legend(ax, _legend_title(effect, band) if many else None)


def _legend_title(effect: PartialDependence, band: Band | None) -> str | None:
    """Say what the bands of several outputs are."""
    if effect.spread is not None:
        bands = [f"band: {_share(share)} of rows" for share, _, _ in effect.spread.bands()]
        lines = [f"{style}: {name}" for _, style, name in _lone(effect.spread)]
        return "\n".join([*bands, *lines])
    return None if band is None else band.title


def _average(
    ax: Axes,
    effect: PartialDependence,
    place: Place,
    o: int,
    color: str,
    name: str | None,
    band: Band | None,
) -> None:
    assert effect.average is not None
    mean = effect.average[o]
    error = np.zeros_like(mean) if band is None else band.height[o]
    label = name or ("average" if band is None else f"average {band.words}")
    if place.labels is not None or len(mean) == 1:
        ax.errorbar(place.at, mean, error, fmt="o", color=color, capsize=3, label=label, zorder=3)
    else:
        order = np.argsort(place.at, kind="stable")
        x, y, e = place.at[order], mean[order], error[order]
        ax.fill_between(x, y - e, y + e, color=color, alpha=0.2, linewidth=0, zorder=2)
        ax.plot(x, y, color=color, label=label, zorder=3)
    if effect.missing is not None and effect.missing.average is not None:
        bars = None if band is None else band.missing
        ax.errorbar(
            [place.missing],
            effect.missing.average[o],
            None if bars is None else bars[o],
            fmt="D",
            color=color,
            capsize=3,
            zorder=3,
        )


def _spread(ax: Axes, spread: Spread, place: Place, o: int, color: str, *, labelled: bool) -> None:
    """Draw bands between symmetric quantiles of the rows' curves, and a line for each of the others."""
    order = np.argsort(place.at, kind="stable")
    values = spread.values[o]
    apart = place.labels is not None or len(order) == 1
    style: dict[str, Any] = {"color": color, "alpha": SHADE, "linewidth": 0, "zorder": 1.5}
    for depth, (share, low, high) in enumerate(spread.bands(), 1):
        if apart:
            ax.bar(place.at, values[high] - values[low], BAND, values[low], **style)
        else:
            ax.fill_between(place.at[order], values[low][order], values[high][order], **style)
        if labelled:  # as dark as it is on the picture, where it lies on the wider ones
            ax.fill([], [], color=color, alpha=1 - (1 - SHADE) ** depth, label=f"{_share(share)} of rows")
        if spread.missing is not None:
            bottom, top = spread.missing[o, low], spread.missing[o, high]
            ax.bar(place.missing, top - bottom, place.beside, bottom, **style)
    for k, dashes, name in _lone(spread):
        line: dict[str, Any] = {"color": color, "linewidth": 1, "linestyle": dashes}
        if apart:
            line |= {"marker": "_", "markersize": 14, "linestyle": "none"}
        ax.plot(place.at[order], values[k][order], label=name if labelled else None, zorder=2.5, **line)
        if spread.missing is not None:
            at = dict(line, marker="_", markersize=8, linestyle="none")
            ax.plot([place.missing], [spread.missing[o, k]], zorder=2.5, **at)


def _lone(spread: Spread) -> list[tuple[int, str, str]]:
    """Return the quantiles that are no end of a band: place, style of line, and name."""
    ends = {place for _, *places in spread.bands() for place in places}
    named = enumerate(spread.probabilities.tolist())
    return [
        (k, "dashed", "median of rows") if p == 0.5 else (k, "dotted", f"quantile {p:g} of rows")
        for k, p in named
        if k not in ends
    ]


def _share(share: float) -> str:
    return f"{100 * share:.4g} %"


def _individual(ax: Axes, effect: PartialDependence, place: Place, o: int, color: str) -> None:
    """Draw evenly spaced rows, so that the same picture comes out every time."""
    assert effect.individual is not None
    curves = effect.individual[o]
    drawn = np.unique(np.linspace(0, len(curves) - 1, min(ICE_LINES, len(curves))).astype(int))
    order = np.argsort(place.at, kind="stable")
    style: dict[str, Any] = {"color": color, "alpha": 0.25, "linewidth": 0.6}
    if place.labels is not None:
        style |= {"marker": ".", "markersize": 3}
    lines = ax.plot(place.at[order], curves[np.ix_(drawn, order)].T, **style)
    if lines and not ax.get_legend_handles_labels()[1]:
        lines[0].set_label(f"{len(drawn)} of {len(curves):,} rows")
    if effect.missing is not None and effect.missing.individual is not None:
        at = np.full(len(drawn), place.missing)
        ax.plot(at, effect.missing.individual[o][drawn], ".", color=color, alpha=0.25, markersize=3)


def _two_way(ax: Axes, effect: PartialDependence, o: int) -> None:
    x, y = placed(effect, 0), placed(effect, 1)
    if x.labels is not None and y.labels is not None:
        _heat(ax, effect, x, y, o)
    elif x.labels is not None:
        _lines(ax, effect, y, x, o, flip=True)
    elif y.labels is not None:
        _lines(ax, effect, x, y, o, flip=False)
    elif min(effect.support.shape) < 2:
        raise DrawingError("a surface needs at least two values of each feature; read to_frame()")
    else:
        _surface(ax, effect, x, y, o)


def _surface(ax: Axes, effect: PartialDependence, x: Place, y: Place, o: int) -> None:
    assert effect.average is not None
    across, up = np.argsort(x.at, kind="stable"), np.argsort(y.at, kind="stable")
    surface = effect.average[o][np.ix_(across, up)].T
    grid = x.at[across], y.at[up]
    middle, range_ = float(surface.mean()), float(np.ptp(surface))
    if range_ <= 1e-9 * max(1.0, abs(middle)):  # rounding is no hill
        flat = np.full_like(surface, middle)
        image = ax.pcolormesh(*grid, flat, shading="nearest", vmin=middle - 1, vmax=middle + 1)
        _colorbar(ax, image, effect, o, ticks=[middle])
    else:
        filled = ax.contourf(*grid, surface, levels=12, cmap="viridis")
        levels = np.asarray(filled.levels)[::2]
        lines = ax.contour(*grid, surface, levels=levels, colors="w", linewidths=0.5)
        ax.clabel(lines, fontsize="x-small", fmt="%.3g")
        _colorbar(ax, filled, effect, o)
    _hatch_gaps(ax, effect, grid, (across, up))
    for axis, deciles in zip((ax.xaxis, ax.yaxis), effect.deciles, strict=True):
        _decile_ticks(ax, axis, deciles)
    name_axis(ax.xaxis, x)
    name_axis(ax.yaxis, y)


def _hatch_gaps(
    ax: Axes, effect: PartialDependence, grid: tuple[Floats, Floats], order: tuple[Integers, Integers]
) -> None:
    """Hatch the points whose two values no row combines."""
    mask = None if effect.extrapolation is None else effect.extrapolation.mask
    if mask is None or not mask.any():
        return
    from matplotlib.patches import Patch

    style: dict[str, Any] = {"hatches": ["////"], "colors": "none"}
    gaps = ax.contourf(*grid, mask[np.ix_(*order)].T.astype(float), levels=[0.5, 1.5], **style)
    gaps.set_edgecolor("0.75")
    shown = Patch(facecolor="none", edgecolor="0.6", hatch="////", linewidth=0, label="no row combines these")
    ax.legend(handles=[shown], fontsize="small", framealpha=0.75, edgecolor="none")


def _decile_ticks(ax: Axes, axis: Any, deciles: Array | None) -> None:
    """Mark the inner deciles of the data along an axis, as far as they lie on the picture."""
    if deciles is None:
        return
    at = positions(deciles[1:-1])[0]
    if axis.axis_name == "x":
        low, high = ax.get_xlim()
        inside = at[(at >= low) & (at <= high)]
        ax.vlines(inside, 0, 0.04, transform=ax.get_xaxis_transform(), color="k", linewidth=1)
    else:
        low, high = ax.get_ylim()
        inside = at[(at >= low) & (at <= high)]
        ax.hlines(inside, 0, 0.03, transform=ax.get_yaxis_transform(), color="k", linewidth=1)


def _heat(ax: Axes, effect: PartialDependence, x: Place, y: Place, o: int) -> None:
    assert effect.average is not None
    surface = effect.average[o].T
    image = ax.imshow(surface, aspect="auto", origin="lower", cmap="viridis")
    middle = (surface.min() + surface.max()) / 2
    if surface.size <= 100:
        for (row, column), value in np.ndenumerate(surface):
            shade = "w" if value < middle else "k"
            ax.text(column, row, f"{value:.3g}", ha="center", va="center", color=shade, fontsize="small")
    _colorbar(ax, image, effect, o)
    name_axis(ax.xaxis, x)
    name_axis(ax.yaxis, y)


def _lines(ax: Axes, effect: PartialDependence, x: Place, levels: Place, o: int, *, flip: bool) -> None:
    """Draw a curve for each of the best supported levels of the other feature."""
    assert effect.average is not None
    assert levels.labels is not None
    curves = effect.average[o] if flip else effect.average[o].T
    weight = effect.support.sum(axis=1 if flip else 0)
    shown = np.sort(np.argsort(-weight, kind="stable")[:LEGEND])
    order = np.argsort(x.at, kind="stable")
    marker = "o" if len(order) == 1 else None
    for level, shade in zip(shown, shades(len(shown)), strict=True):
        label = levels.labels[level]
        ax.plot(x.at[order], curves[level][order], marker=marker, color=shade, label=label)
    title = levels.label
    if len(shown) < len(levels.labels):
        title += f"\n({len(shown)} of {len(levels.labels)} levels)"
    legend(ax, title)
    name_axis(ax.xaxis, x)
    ax.set_ylabel(y_label(effect, [o]))


def _colorbar(ax: Axes, mappable: Any, effect: PartialDependence, o: int, ticks: Any = None) -> None:
    ax.figure.colorbar(mappable, ax=ax, label=y_label(effect, [o]), ticks=ticks)
