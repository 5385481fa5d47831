"""What pictures along an axis share: where its values go, names, the data along the bottom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from paribus.contracts import NOMINAL, Array, Floats, Kind
from paribus.display.paper import unit_of, written
from paribus.results import LocalEffect, PartialDependence, Provenance, Refits

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CROWDED = 1e-3  # of the axis: points that are closer have no bar of their own
STRIP = 0.10  # height of the support strip, as a share of the panel
BELOW = 1.5 * STRIP  # room made for it, as a share of the curves' own height
TICKS = 30  # levels that are named on an axis; of more only every second, third, ... has room
BAND = 0.5  # width of a band at a level
LEGEND = 12  # levels of the second feature that get a curve
MODELS = 50  # whose own curves are drawn; mean and standard deviation are always of all
BESIDE = 0.12  # how far from a level the models' own points are, so that its error bar hides none


class Laid(Protocol):
    """What is known of the axes of a result."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        ...

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        ...

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Kind of each axis."""
        ...

    @property
    def grid_values(self) -> tuple[Array, ...]:
        """Values of each axis."""
        ...

    @property
    def provenance(self) -> Provenance:
        """How the numbers came about."""
        ...


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
    def beside(self) -> float:
        """Return the width of a band at the missing point."""
        if self.labels is not None or len(self.at) < 2:
            return BAND
        return 0.04 * float(np.ptp(self.at)) or BAND

    @property
    def crowded(self) -> bool:
        """Whether some points are closer than can be seen, as on both sides of a split."""
        return self.labels is None and len(self.at) > 2 and self.width < CROWDED * float(np.ptp(self.at))


@dataclass(frozen=True, eq=False)
class Band:
    """What is drawn around curves ``(o, g)``: half its height, that at missing ``(o,)``, and in words.

    ``title`` is what a legend of several curves is headed with.
    """

    height: Floats
    missing: Floats | None
    words: str
    title: str


def band_of(effect: PartialDependence | LocalEffect) -> Band | None:
    """Return how far models differ where there are several, else how well the average is known."""
    refits, missing = effect.refits, effect.missing
    if refits is not None and len(refits.models) > 1:
        words = f"± 2 standard deviations of {len(refits.models)} models"
        last = refits.missing_deviation
        height = _twice(refits.standard_deviation)
        return Band(height, None if last is None else _twice(last), words, f"{words}\nthin: each model")
    if effect.standard_error is None:
        return None
    last = None if missing is None else missing.standard_error
    words = "± 2 standard errors"
    return Band(_twice(effect.standard_error), None if last is None else _twice(last), words, words)


def _twice(errors: Floats) -> Floats:
    return np.asarray(2 * np.nan_to_num(errors))


def model_curves(ax: Axes, refits: Refits, place: Place, o: int, color: str, *, labelled: bool) -> None:
    """Draw each model's own curve, thin beside the mean, or beside levels its points; of one alone, none."""
    count = len(refits.models)
    if count == 1:
        return
    drawn = np.unique(np.linspace(0, count - 1, min(MODELS, count)).astype(int))
    order = np.argsort(place.at, kind="stable")
    curves = refits.values[drawn, o]
    style: dict[str, Any] = {"color": color, "alpha": 0.5, "linewidth": 0.7, "zorder": 2.5}
    points = dict(style, marker=".", markersize=4, linestyle="none")
    if place.labels is not None or len(order) == 1:
        lines = ax.plot(place.at[order] + BESIDE, curves[:, order].T, **points)
    else:
        lines = ax.plot(place.at[order], curves[:, order].T, **style)
    if lines and labelled:
        some = "" if len(drawn) == count else f"{len(drawn)} of "
        lines[0].set_label(f"each of {some}{count} models")
    if refits.missing is not None:
        at = np.full(len(drawn), place.missing + (BESIDE if place.labels is not None else place.beside / 2))
        ax.plot(at, refits.missing[drawn, o], **points)


def one_legend(panels: list[Any]) -> None:
    """Take legends away that say no more than the first: what a lone curve is, and what bands are."""
    said = _said(panels[0]) if panels else []
    for panel in panels[1:]:
        own = _said(panel)
        if len(own) == 1 or (own == said != [] and not panel.get_legend().get_title().get_text()):
            panel.get_legend().remove()


def _said(panel: Any) -> list[str]:
    """Return the words of a legend."""
    shown = panel.get_legend()
    return [] if shown is None else [text.get_text() for text in shown.get_texts()]


def share_y(panels: list[Any]) -> None:
    """Give panels one y-axis, so that sizes compare."""
    if not panels:
        return
    low = min(panel.get_ylim()[0] for panel in panels)
    high = max(panel.get_ylim()[1] for panel in panels)
    for panel in panels:
        panel.set_ylim(low, high)
        no_ticks_below_curves(panel)


def no_ticks_below_curves(ax: Axes) -> None:
    """Keep numbers out of the room made for the support strip: a probability is not negative there."""
    from matplotlib.ticker import MaxNLocator

    low, high = ax.get_ylim()
    floor = low + (high - low) * BELOW / (1 + BELOW)
    ticks = MaxNLocator(nbins=7).tick_values(floor, high)
    ax.set_yticks([tick for tick in ticks if floor <= tick <= high])


def placed(effect: Laid, axis: int) -> Place:
    """Turn the values of an axis into positions."""
    values, name = effect.grid_values[axis], effect.feature_names[axis].replace("$", r"\$")
    if effect.kinds[axis] in NOMINAL:
        labels = tuple(written(value) for value in values)
        return Place(np.arange(len(values), dtype=float), labels, name, False, float(len(values)))
    at, dates = positions(values)
    unit = " (days)" if values.dtype.kind == "m" else ""
    span = np.ptp(at) if len(at) > 1 else 1.0
    return Place(at, None, name + unit, dates, float(at.max() + 0.1 * span) if len(at) else 0.0)


def positions(values: Array) -> tuple[Floats, bool]:
    """Return where values go, and whether they are dates."""
    if values.dtype.kind == "M":
        from matplotlib import dates

        return np.asarray(dates.date2num(values), np.float64), True  # type: ignore[no-untyped-call]
    if values.dtype.kind == "m":
        return values / np.timedelta64(1, "D"), False
    return values.astype(float), False


def strip(ax: Axes, support: Floats, missing: float | None, place: Place) -> None:
    """Draw the weight of the data around each point, and without a value, as bars along the bottom."""
    make_room(ax)
    heights, at = support, place.at
    if missing is not None and place.labels is not None:
        heights, at = np.append(heights, missing), np.append(at, place.missing)
    if not heights.any():
        return
    width = np.full(len(at), place.width)
    if place.crowded:  # bars as wide as their cells, as high as the data is dense
        order = np.argsort(at, kind="stable")  # values that were given may run either way
        at, heights = at[order], heights[order]
        ends = np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])
        width, at = np.diff(ends), (ends[1:] + ends[:-1]) / 2
        wide = width > min(CROWDED * np.ptp(ends), width.max() / 2)  # of very many points all are narrow
        at, width, heights = at[wide], width[wide], heights[wide] / width[wide]
    bars_along(ax, at, heights, width)


def make_room(ax: Axes) -> None:
    """Make room for the data below the curves."""
    low, high = ax.get_ylim()
    ax.set_ylim(low - (high - low) * BELOW, high)


def bars_along(ax: Axes, at: Floats, heights: Floats, width: Floats) -> None:
    """Draw grey bars along the bottom."""
    if not heights.any():
        return
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


def name_axis(axis: Any, place: Place, *, missing: bool = False) -> None:
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


def y_label(effect: Laid, outputs: list[int]) -> str:
    """Return what the y-axis of a curve is."""
    scale = effect.provenance.scale.replace("$", r"\$")
    return scale if len(outputs) > 1 else unit_of(scale, effect.output_names[outputs[0]])


def shades(count: int) -> list[Any]:
    """Return colours that can be told from each other."""
    from matplotlib import colormaps

    if count <= 10:
        return [f"C{k}" for k in range(count)]
    return [colormaps["viridis"](k / (count - 1)) for k in range(count)]
