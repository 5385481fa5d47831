"""First pictures, with matplotlib: curves over their support, surfaces, individual curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus.contracts import NOMINAL, Array, Floats
from paribus.display.paper import legend, new_axes, unit_of, written
from paribus.errors import DrawingError
from paribus.results import Effects, PartialDependence
from paribus.results.outputs import chosen

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ICE_LINES = 100  # individual curves drawn; their average is always over every row
CROWDED = 1e-3  # of the axis: points that are closer have no bar of their own
STRIP = 0.10  # height of the support strip, as a share of the panel
BELOW = 1.5 * STRIP  # room made for it, as a share of the curves' own height
TICKS = 30  # levels that are named on an axis; of more only every second, third, ... has room
LEGEND = 12  # levels of the second feature that get a curve


@dataclass(frozen=True)
class Place:
    """Where an axis's values go on paper: positions, tick labels of levels, and the missing point."""

    at: Floats
    labels: tuple[str, ...] | None
    label: str
    dates: bool
    missing: float

    @property
    def width(self) -> float:
        """Return the width of the support's bars, which touch where points are evenly spaced."""
        gaps = np.diff(np.sort(self.at))
        if not gaps.any():
            return 0.8
        even = self.labels is None and gaps.max() <= 1.01 * gaps.min()
        return float(gaps[gaps > 0].min() * (1.0 if even else 0.9))

    @property
    def crowded(self) -> bool:
        """Whether some points are closer than can be seen, as on both sides of a split."""
        return self.labels is None and len(self.at) > 2 and self.width < CROWDED * float(np.ptp(self.at))


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
    return panel


def draw_effects(effects: Effects, *, columns: int = 3, output: str | int | None = None) -> Figure:
    """Draw one panel per effect; curves share their y-axis, so that sizes compare."""
    import matplotlib.pyplot as plt

    columns = max(1, min(columns, len(effects)))
    rows = -(-len(effects) // columns)
    figure = plt.figure(figsize=(4.2 * columns, 3.2 * rows), layout="constrained")
    curves: list[Any] = []
    for place, effect in enumerate(effects.values()):
        panel = figure.add_subplot(rows, columns, place + 1)
        draw_effect(effect, ax=panel, output=output)
        if len(effect.grid_values) == 1:
            curves.append(panel)
    _share_y(curves)
    for panel in curves[1:]:
        shown = panel.get_legend()
        if shown is not None and len(shown.get_texts()) == 1:
            shown.remove()  # the first panel says what a lone curve is
    return figure


def _share_y(panels: list[Any]) -> None:
    if not panels:
        return
    low = min(panel.get_ylim()[0] for panel in panels)
    high = max(panel.get_ylim()[1] for panel in panels)
    for panel in panels:
        panel.set_ylim(low, high)
        _no_ticks_below_curves(panel)


def _no_ticks_below_curves(ax: Axes) -> None:
    """Keep numbers out of the room made for the support strip: a probability is not negative there."""
    from matplotlib.ticker import MaxNLocator

    low, high = ax.get_ylim()
    floor = low + (high - low) * BELOW / (1 + BELOW)
    ticks = MaxNLocator(nbins=7).tick_values(floor, high)
    ax.set_yticks([tick for tick in ticks if floor <= tick <= high])


def _placed(effect: PartialDependence, axis: int) -> Place:
    """Turn the values of an axis into positions."""
    values, name = effect.grid_values[axis], effect.feature_names[axis].replace("$", r"\$")
    if effect.kinds[axis] in NOMINAL:
        labels = tuple(written(value) for value in values)
        return Place(np.arange(len(values), dtype=float), labels, name, False, float(len(values)))
    at, dates = _positions(values)
    unit = " (days)" if values.dtype.kind == "m" else ""
    span = np.ptp(at) if len(at) > 1 else 1.0
    return Place(at, None, name + unit, dates, float(at.max() + 0.1 * span) if len(at) else 0.0)


def _positions(values: Array) -> tuple[Floats, bool]:
    if values.dtype.kind == "M":
        from matplotlib import dates

        return np.asarray(dates.date2num(values), np.float64), True  # type: ignore[no-untyped-call]
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "D"), False
    return values.astype(float), False


def _one_way(ax: Axes, effect: PartialDependence, outputs: list[int]) -> None:
    place = _placed(effect, 0)
    many = len(outputs) > 1
    for color, o in enumerate(outputs):
        name = written(effect.output_names[o]) if many else None
        if effect.individual is not None:
            _individual(ax, effect, place, o, f"C{color}" if many else "C0")
        if effect.average is not None:
            strong = f"C{color}" if many or effect.individual is None else "C1"
            _average(ax, effect, place, o, strong, name)
    _strip(ax, effect, place)
    _label(ax.xaxis, place, missing=effect.missing is not None)
    ax.set_ylabel(_y_label(effect, outputs))
    _no_ticks_below_curves(ax)
    if ax.get_legend_handles_labels()[1]:
        title = "± 2 standard errors" if many and effect.average is not None else None
        legend(ax, title)


def _average(ax: Axes, effect: PartialDependence, place: Place, o: int, color: str, name: str | None) -> None:
    assert effect.average is not None
    assert effect.standard_error is not None
    mean, error = effect.average[o], 2 * np.nan_to_num(effect.standard_error[o])
    label = name or ("average" if effect.individual is not None else "average ± 2 standard errors")
    if place.labels is not None or len(mean) == 1:
        ax.errorbar(place.at, mean, error, fmt="o", color=color, capsize=3, label=label, zorder=3)
    else:
        order = np.argsort(place.at, kind="stable")
        x, y, e = place.at[order], mean[order], error[order]
        ax.fill_between(x, y - e, y + e, color=color, alpha=0.2, linewidth=0, zorder=2)
        ax.plot(x, y, color=color, label=label, zorder=3)
    if effect.missing is not None and effect.missing.average is not None:
        bars = effect.missing.standard_error
        ax.errorbar(
            [place.missing],
            effect.missing.average[o],
            None if bars is None else 2 * np.nan_to_num(bars[o]),
            fmt="D",
            color=color,
            capsize=3,
            zorder=3,
        )


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


def _strip(ax: Axes, effect: PartialDependence, place: Place) -> None:
    """Draw the weight of the data around each point as grey bars along the bottom."""
    low, high = ax.get_ylim()
    ax.set_ylim(low - (high - low) * BELOW, high)
    heights, at = effect.support, place.at
    if effect.missing is not None and place.labels is not None:
        heights = np.append(heights, effect.missing.support)
        at = np.append(at, place.missing)
    if not heights.any():
        return
    width = np.full(len(at), place.width)
    if place.crowded:  # bars as wide as their cells, as high as the data is dense
        ends = np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])
        width, at = np.diff(ends), (ends[1:] + ends[:-1]) / 2
        wide = width > CROWDED * np.ptp(ends)
        at, width, heights = at[wide], width[wide], heights[wide] / width[wide]
    ax.bar(
        at,
        heights / heights.max() * STRIP,
        width,
        color="0.6",
        alpha=0.6,
        linewidth=0,
        transform=ax.get_xaxis_transform(),
        zorder=1,
    )


def _label(axis: Any, place: Place, *, missing: bool = False) -> None:
    """Name an axis, its levels and its missing point."""
    axis.set_label_text(place.label)
    if place.labels is not None:
        labels = [*place.labels, "missing"] if missing else list(place.labels)
        upright = axis.axis_name == "x" and sum(len(label) for label in labels) > 40
        size = "x-small" if len(labels) > 15 else "small" if len(labels) > 8 else None
        step = -(-len(labels) // TICKS)
        places = range(0, len(labels), step)
        axis.set_ticks(places, labels[::step], rotation=90 if upright else 0, fontsize=size)
        return
    if place.dates:
        from matplotlib import dates

        locator = dates.AutoDateLocator()  # type: ignore[no-untyped-call]
        axis.set_major_locator(locator)
        axis.set_major_formatter(dates.ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    if missing:
        _label_missing(axis, place)


def _label_missing(axis: Any, place: Place) -> None:
    """Name the missing point by a tick of its own, clear of the numbers."""
    low, _ = axis.get_view_interval()
    last = place.at.max() if len(place.at) else -np.inf
    axis.set_ticks([tick for tick in axis.get_majorticklocs() if low <= tick <= last])
    axis.set_ticks([place.missing], ["missing"], minor=True)
    axis.set_tick_params(which="minor", rotation=90, labelsize="small")


def _y_label(effect: PartialDependence, outputs: list[int]) -> str:
    scale = effect.provenance.scale
    return scale if len(outputs) > 1 else unit_of(scale, effect.output_names[outputs[0]])


def _two_way(ax: Axes, effect: PartialDependence, o: int) -> None:
    x, y = _placed(effect, 0), _placed(effect, 1)
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
    for axis, deciles in zip((ax.xaxis, ax.yaxis), effect.deciles, strict=True):
        _decile_ticks(ax, axis, deciles)
    _label(ax.xaxis, x)
    _label(ax.yaxis, y)


def _decile_ticks(ax: Axes, axis: Any, deciles: Array | None) -> None:
    """Mark the inner deciles of the data along an axis, as far as they lie on the picture."""
    if deciles is None:
        return
    at = _positions(deciles[1:-1])[0]
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
    _label(ax.xaxis, x)
    _label(ax.yaxis, y)


def _lines(ax: Axes, effect: PartialDependence, x: Place, levels: Place, o: int, *, flip: bool) -> None:
    """Draw a curve for each of the best supported levels of the other feature."""
    assert effect.average is not None
    assert levels.labels is not None
    curves = effect.average[o] if flip else effect.average[o].T
    weight = effect.support.sum(axis=1 if flip else 0)
    shown = np.sort(np.argsort(-weight, kind="stable")[:LEGEND])
    order = np.argsort(x.at, kind="stable")
    marker = "o" if len(order) == 1 else None
    for level, shade in zip(shown, _shades(len(shown)), strict=True):
        label = levels.labels[level]
        ax.plot(x.at[order], curves[level][order], marker=marker, color=shade, label=label)
    title = levels.label
    if len(shown) < len(levels.labels):
        title += f"\n({len(shown)} of {len(levels.labels)} levels)"
    legend(ax, title)
    _label(ax.xaxis, x)
    ax.set_ylabel(_y_label(effect, [o]))


def _shades(count: int) -> list[Any]:
    from matplotlib import colormaps

    if count <= 10:
        return [f"C{k}" for k in range(count)]
    return [colormaps["viridis"](k / (count - 1)) for k in range(count)]


def _colorbar(ax: Axes, mappable: Any, effect: PartialDependence, o: int, ticks: Any = None) -> None:
    ax.figure.colorbar(mappable, ax=ax, label=_y_label(effect, [o]), ticks=ticks)
