"""Axes of numbers, and where the data lies along the upper and the right side."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._display.figure import Bars, Mark, Panel, PanelAxis, Rug
from paribus._display.panels.axis_layout import AxisLayout, positions
from paribus._display.panels.labels import share
from paribus._display.style import INK
from paribus._text import at_value, number
from paribus.results import PartialDependence

NARROW = 1 / 60  # of an axis: cells of the data that are closer share a bar


def asked_at(place: AxisLayout) -> Integers:
    """Return which value of the result stands at each position of numbers."""
    return np.concatenate(place.groups)


def inner_deciles(effect: PartialDependence, places: tuple[AxisLayout, AxisLayout]) -> list[Mark]:
    """Return the inner deciles of the data along both sides, as far as they lie on the picture."""
    rugs: list[Mark] = []
    for axis, place in enumerate(places):
        deciles = effect.deciles[axis]
        if deciles is None:
            continue
        at = positions(deciles[1:-1])
        seen = np.flatnonzero((at >= place.at[0]) & (at <= place.at[-1]))
        name = effect.feature_names[axis]
        told = tuple(f"{10 * (d + 1)} % of the data up to {name} = {at_value(deciles[d + 1])}" for d in seen)
        if len(seen):
            rugs.append(Rug(at[seen], "y" if axis else "x", told))
    return rugs


def with_margins(
    marks: tuple[Mark, ...],
    places: tuple[AxisLayout, AxisLayout],
    edges: tuple[Floats, Floats],
    weights: tuple[Floats, Floats],
    whole: float,
) -> Panel:
    """Return a panel of numbers with the density of the data, whose cells end at ``edges``, beside it."""
    x, y = (replace(place.axis, low=float(place.at[0]), high=float(place.at[-1])) for place in places)
    across, up = (
        density(place, ends, data, whole) for place, ends, data in zip(places, edges, weights, strict=True)
    )
    return Panel(
        marks, x, y, right=data_beside(y, up, horizontal=True), top=data_beside(x, across, horizontal=False)
    )


def density(place: AxisLayout, edges: Floats, weights: Floats, whole: float) -> Bars:
    """Return bars as high as the data is dense, none of them too narrow to be seen.

    The cells of the first and the last value reach beyond the axis, and are shown whole.
    """
    passed = np.concatenate([[0.0], np.cumsum(weights)])
    low, high = float(place.at[0]), float(place.at[-1])
    kept = [low]
    for edge in edges[(edges > low) & (edges < high)].tolist():
        if edge - kept[-1] >= NARROW * (high - low) <= high - edge:
            kept.append(edge)
    ends = np.array([*kept, high])
    cells = np.array([edges[0], *kept[1:], edges[-1]])
    inside = np.diff(np.interp(cells, edges, passed))
    texts = [text_at(place, end) for end in cells]
    told = tuple(
        f"{place.axis.label}: {a} to {b}\n{share(float(part), whole)}"
        for (a, b), part in zip(pairwise(texts), inside, strict=True)
    )
    dense = inside / np.diff(cells)
    return Bars((ends[1:] + ends[:-1]) / 2, dense, np.diff(ends), INK, alpha=0.35, hover=told)


def text_at(place: AxisLayout, at: float) -> str:
    """Return a position between values as text."""
    if place.axis.scale == "date":
        return at_value(np.datetime64(round(86400 * at), "s"))
    return number(at)


def data_beside(axis: PanelAxis, bars: Bars, *, horizontal: bool) -> Panel | None:
    """Return the narrow panel of the data on the same axis; none where there is no data."""
    most = float(bars.length.max(initial=0.0))
    if not most > 0:
        return None
    along = replace(axis, label="", numbers=False)
    height_ = PanelAxis(scale="none", low=0.0, high=1.05 * most)
    marks = (replace(bars, horizontal=horizontal),)
    return Panel(marks, height_, along) if horizontal else Panel(marks, along, height_)
