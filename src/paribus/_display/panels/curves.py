"""Curves over one axis: heights and what is around them, the data below, the missing value beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from paribus._contracts import Array, Floats
from paribus._display.figure import (
    Band,
    Dash,
    Line,
    Mark,
    Marker,
    Panel,
    PanelAxis,
    Points,
    Rug,
    Strip,
)
from paribus._display.panels.axis_layout import CROWDED, AxisLayout, positions, reach
from paribus._display.panels.labels import height, share, shares
from paribus._display.runs import stretches
from paribus._text import at_value, percent
from paribus._typing import BandRole

THIN = 0.2  # of the density where most of the data is: below it a curve fades
FAINTEST = 0.3  # of its color that a curve keeps where there is no data
NEAR = 20  # a curve's density at a point is that of its neighborhood, one in so many points to each side
LEVEL = 0.8  # width of a category's bar
SPREAD = 1.8  # times as far apart points stand in the panel of a missing value, which is a narrow one
LEAN = 0.5  # how far from the middle the first and last of several points at one category stand, at most


@dataclass(frozen=True, eq=False)
class Curve:
    """Heights ``(g,)`` along an axis, and how they look.

    ``error`` is how uncertain each is, shown by a pointer as what it is ``called``; two of it are drawn to
    each side, as a band or error bars, which a legend calls ``around``, and nothing where it is not known.
    ``missing`` is height and error at a missing value. ``models (m, g)`` are the curves whose standard
    deviation the error is, if it is one. ``name`` is what a pointer calls a height, ``label`` what the legend
    calls the curve. ``rows (g,)`` are how many rows are behind each height that is an average of some,
    ``rows_missing`` behind that at a missing value. ``aside`` moves points at categories, so that those of
    several curves stand beside each other. ``place`` is where the heights are and ``data`` what lies there,
    if not those of the panel.
    """

    heights: Floats
    color: str
    name: str
    label: str | None = None
    error: Floats | None = None
    called: str = "standard error"
    around: str = "± 2 standard errors"
    missing: tuple[float, float | None] | None = None
    models: Floats | None = None
    dash: Dash = "solid"
    marker: Marker = "circle"
    width: float = 1.8
    shade: float = 0.2
    aside: float = 0.0
    place: AxisLayout | None = None
    data: CurveData | None = None
    rows: Floats | None = None
    rows_missing: int | None = None


@dataclass(frozen=True, eq=False)
class CurveData:
    """The data along an axis: weight at each value ``(g,)``, or in bins between ``edges``.

    ``whole`` is the weight of all rows, also of those beyond the ends of the axis; ``missing`` of those that
    have no value.
    """

    support: Floats
    whole: float
    missing: float = 0.0
    deciles: Array | None = None
    edges: Floats | None = None


def dodged(curves: Sequence[Curve]) -> list[Curve]:
    """Dodge overlapping points at categorical positions and lighten the bands accordingly."""
    count = max(len(curves), 1)
    step, shade = min(0.16, LEAN / count), 0.2 if count == 1 else 0.3 / (1 + count)
    return [
        replace(curve, aside=step * (place - (count - 1) / 2), shade=shade)
        for place, curve in enumerate(curves)
    ]


def curve_panel(
    place: AxisLayout,
    curves: Sequence[Curve],
    data: CurveData | None,
    y: PanelAxis,
    *,
    under: Sequence[Mark] = (),
    under_missing: Sequence[Mark] = (),
) -> Panel:
    """Return the panel of curves along one axis, over what lies ``under`` them.

    Where a curve is known at a missing value, this stands in a narrow panel of its own. ``data`` is None
    where there is none that all curves have in common.
    """
    marks: list[Mark] = [*under] if data is None else [*strip(place, data), *_deciles(place, data), *under]
    for curve in curves:
        own = curve.data or data
        assert own is not None
        marks += curve_marks(curve.place or place, curve, own)
    panel = Panel(tuple(marks), place.axis, y)
    known = [curve for curve in curves if curve.missing is not None]
    if not known and not under_missing:
        return panel
    side = [*_missing_strip(place, data), *under_missing]
    side += [_at_missing(curve, curve.data or data, len(known)) for curve in known]
    return replace(panel, right=missing_panel(place, tuple(side), data))


def curve_marks(place: AxisLayout, curve: Curve, data: CurveData) -> Iterator[Mark]:
    """Yield a line and its band along numbers, or points with error bars at categories."""
    y = place.average(curve.heights)
    error = _error_at(place, curve)
    around = None if error is None else 2 * error
    hover = _hover(place, curve, y, error, data)
    single = None if curve.rows is None else place.total(curve.rows) == 1
    if place.levels or len(place.at) == 1:
        at = place.at + (curve.aside if place.axis.scale == "category" else 0.0)
        yield Points(at, y, curve.color, curve.label, curve.marker, error=around, hover=hover, single=single)
        return
    if around is not None:
        for run in stretches(np.isfinite(y + around)):
            ends = y[run] - around[run], y[run] + around[run]
            role: BandRole = "standard_error" if curve.models is None else "models"
            yield Band(place.at[run], *ends, curve.color, None, curve.shade, place.steps, role)
    yield Line(
        place.at,
        y,
        curve.color,
        curve.label,
        curve.dash,
        curve.width,
        steps=place.steps,
        strength=strength_of_data(place, data),
        hover=hover,
        single=single,
    )


def _error_at(place: AxisLayout, curve: Curve) -> Floats | None:
    """Return how uncertain heights are at each position, infinite ones as not known."""
    if curve.error is None:
        return None
    error = place.average(curve.error)
    if curve.models is not None and any(len(group) > 1 for group in place.groups):
        error = np.std(place.average(curve.models), axis=0, ddof=1)
    return np.where(np.isfinite(error), error, np.nan)


def _hover(
    place: AxisLayout, curve: Curve, y: Floats, error: Floats | None, data: CurveData
) -> tuple[str, ...]:
    told = shares(place.total(data.support), data.whole) if data.edges is None else []
    lines = []
    for p, text in enumerate(place.texts):
        known = None if error is None else float(error[p])
        heights = height(curve.name, float(y[p]), known, curve.called)
        lines.append("\n".join([text, heights, *told[p : p + 1]]))
    return tuple(lines)


def _at_missing(curve: Curve, data: CurveData | None, count: int) -> Points:
    assert curve.missing is not None
    assert data is not None
    value, error = curve.missing
    told = height(curve.name, value, error, curve.called)
    hover = "\n".join(["missing", told, share(data.missing, data.whole)])
    return Points(
        np.array([SPREAD * curve.aside if count > 1 else 0.0]),
        np.array([value]),
        curve.color,
        marker=curve.marker,
        error=None if error is None or not np.isfinite(error) else np.array([2 * error]),
        hover=(hover,),
        single=np.array([True]) if curve.rows_missing == 1 else None,
    )


def missing_panel(place: AxisLayout, marks: tuple[Mark, ...], data: CurveData | None) -> Panel:
    """Return the narrow panel of a missing value."""
    part = "" if data is None or not data.whole else f"\n{percent(data.missing / data.whole)}"
    # The last number of the axis beside it reaches below this panel: its words stand a line deeper.
    ticks = ((0.0, f"missing{part}" if place.levels else f"\nmissing{part}"),)
    return Panel(marks, PanelAxis(scale="category", ticks=ticks, low=-0.6, high=0.6))


def strip(place: AxisLayout, data: CurveData) -> list[Strip]:
    """Return how the data lies along an axis: at categories its weight, along numbers its density."""
    if place.levels:
        weights = place.total(data.support)
        most = max(float(weights.max(initial=0.0)), data.missing)
        width = np.full(len(weights), LEVEL)
        return _strip(place.at, weights, width, most, shares(weights, data.whole))
    edges, weights = _cells(place, data)
    width = np.diff(edges)
    dense = np.divide(weights, width, out=np.zeros_like(weights), where=width > 0)
    middle = (edges[1:] + edges[:-1]) / 2
    return _strip(middle, dense, width, float(dense.max(initial=0.0)), shares(weights, data.whole))


def _strip(at: Floats, heights: Floats, width: Floats, most: float, told: list[str]) -> list[Strip]:
    return [Strip(at, heights, width, most, hover=tuple(told))] if most > 0 else []


def _missing_strip(place: AxisLayout, data: CurveData | None) -> list[Mark]:
    """Return the bar of the missing value, where it can be compared with those of categories."""
    if data is None or not place.levels:
        return []
    most = max(float(place.total(data.support).max(initial=0.0)), data.missing)
    told = [share(data.missing, data.whole)]
    return [*_strip(np.zeros(1), np.array([data.missing]), np.full(1, LEVEL), most, told)]


def _cells(place: AxisLayout, data: CurveData) -> tuple[Floats, Floats]:
    """Return the edges of the cells of numbers and the weight in each.

    A cell reaches half-way to the next point, and beyond the last as far as before it; points on both sides
    of a step have one together, as have those too close to be distinguished. Of bins the edges are known.
    """
    if data.edges is not None:
        return data.edges, data.support
    at, weights = place.at, place.total(data.support)
    starts = _apart(at)
    weights = np.add.reduceat(weights, starts) if len(starts) else weights
    at = at[starts]
    if len(at) < 2:
        return np.concatenate([at - LEVEL / 2, at + LEVEL / 2]), weights
    return reach(at), weights


def _apart(at: Floats) -> list[int]:
    """Return the positions that can be distinguished from the one before."""
    reach = CROWDED * np.ptp(at) if len(at) else 0.0
    starts, next_ = [], 0
    while next_ < len(at):
        starts.append(next_)
        next_ = int(np.searchsorted(at, at[next_] + reach, side="right"))
    return starts


def strength_of_data(place: AxisLayout, data: CurveData) -> Floats | None:
    """Return how much of its color a curve keeps at each position, by the density of the data around it."""
    if place.levels or len(place.at) < 3:
        return None
    edges, weights = _cells(place, data)
    if len(weights) < 3 or not weights.any():
        return None
    near = max(1, len(weights) // NEAR)
    window = np.ones(2 * near + 1)
    width = np.diff(edges)
    smooth = np.convolve(weights, window, "same") / np.maximum(
        np.convolve(width, window, "same"), np.finfo(float).tiny
    )
    typical = _middle(smooth, weights)
    inside = np.clip(np.searchsorted(edges, place.at, side="right") - 1, 0, len(weights) - 1)
    strength = np.clip(smooth[inside] / (THIN * typical), FAINTEST, 1.0)
    return None if (strength == 1.0).all() else np.asarray(strength)


def _middle(values: Floats, weights: Floats) -> float:
    """Return the weighted median."""
    order = np.argsort(values, kind="stable")
    passed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(passed, passed[-1] / 2)])


def _deciles(place: AxisLayout, data: CurveData) -> list[Rug]:
    """Return the inner deciles of the data, as far as they lie on the axis."""
    if data.deciles is None or place.levels or len(place.at) < 2:
        return []
    values = data.deciles[1:-1]
    at = positions(values)
    seen = (at >= place.at[0]) & (at <= place.at[-1])
    told = tuple(f"decile {10 * (d + 1)} %: {at_value(values[d])}" for d in np.flatnonzero(seen))
    return [Rug(at[seen], hover=told)] if seen.any() else []
