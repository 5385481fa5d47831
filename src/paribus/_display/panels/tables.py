"""Categories with categories: a map of cells with their numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._display.figure import Bars, Heat, Panel, PanelAxis
from paribus._display.panels.axis_layout import AxisLayout, place_of, stacked
from paribus._display.panels.heat_data import HeatData, colors_of, flat, hatched, mask_of
from paribus._display.panels.labels import one_line, share, unit, whole
from paribus._display.panels.margins import data_beside
from paribus._display.style import INK
from paribus.results import PartialDependence

WRITTEN = 64  # cells that have room for a number each
ABREAST = 12  # such cells in a row or column
LETTERS = 10  # of a number in a cell; shorter ones would not be distinct
LEVEL_BAR = 0.8  # width of the bar of a category


def table_panel(effect: PartialDependence, o: int) -> Panel:
    """Return the panel of two features with categories: a cell for each pair."""
    assert effect.average is not None
    values, support, mask = effect.average[o], effect.support, mask_of(effect)
    x, y = (_level_place(effect, values, axis) for axis in (0, 1))
    errors = effect.standard_error
    known = HeatData(
        _pooled(values, support, x, y),
        None if errors is None else _pooled(errors[o], support, x, y),
        x.total(y.total(support).T),
        None if mask is None else x.total(y.total((~mask).astype(float)).T) == 0,
        one_line(unit(effect, [o])),
        whole(effect.provenance),
    )
    shown = np.where(np.isfinite(known.heights), known.heights, np.nan)
    edges, words = (_around(x), _around(y)), unit(effect, [o])
    colors, low, high = colors_of(shown, zero=effect.provenance.scale.has_zero)
    told = known.hover(x.texts, y.texts)
    heat = Heat(*edges, shown, colors, low, high, words, _written(shown, known.off), told)
    marks = (heat, *hatched(*edges, known.off, "no row combines these"))
    across, up = _filled(x.axis, x), _filled(_upright(y), y)
    return Panel(
        marks,
        across,
        up,
        right=data_beside(up, _level_bars(y, known.weights.sum(axis=1), known.whole), horizontal=True),
        top=data_beside(across, _level_bars(x, known.weights.sum(axis=0), known.whole), horizontal=False),
    )


def _level_place(effect: PartialDependence, values: Floats, axis: int) -> AxisLayout:
    """Lay out categories: in their order if they have one, else by their average effect."""
    own, other = effect.support.sum(axis=1 - axis), effect.support.sum(axis=axis)
    shares = other if other.any() else np.ones(len(other))
    known = np.where(np.isfinite(values), values, 0.0)
    by = None if effect.ordered[axis] else np.average(known, axis=1 - axis, weights=shares)
    return place_of(effect, axis, own, by=by)


def _pooled(values: Floats, support: Floats, x: AxisLayout, y: AxisLayout) -> Floats:
    """Return values ``(y, x)`` of cells; where categories share a position, their average over its data."""
    cells = ((np.ix_(i, j) for i in x.groups) for j in y.groups)
    return np.array([[_over(values[cell], support[cell]) for cell in row] for row in cells])


def _over(values: Floats, weights: Floats) -> float:
    if values.size == 1:
        return float(values[0, 0])
    some = weights > 0
    return float(np.average(values[some], weights=weights[some]) if some.any() else values.mean())


def _around(place: AxisLayout) -> Floats:
    return np.arange(len(place.at) + 1, dtype=np.float64) - 0.5


def _filled(axis: PanelAxis, place: AxisLayout) -> PanelAxis:
    """Return the axis of categories whose cells reach its ends."""
    return replace(axis, low=-0.5, high=len(place.at) - 0.5)


def _upright(place: AxisLayout) -> PanelAxis:
    """Return the axis of categories up the side, where words are never turned."""
    names = stacked(place.labels or ())
    return replace(place.axis, ticks=tuple(zip(place.at.tolist(), names, strict=True)), turned=False)


def _level_bars(place: AxisLayout, weights: Floats, whole: float) -> Bars:
    told = tuple(
        f"{text}\n{share(float(part), whole)}" for text, part in zip(place.texts, weights, strict=True)
    )
    return Bars(place.at, weights, np.full(len(weights), LEVEL_BAR), INK, alpha=0.35, hover=told)


def _written(values: Floats, off: Flags | None) -> tuple[tuple[str, ...], ...]:
    """Return numbers for the cells, with as many decimals as distinguish them, if there is room.

    Cells that are struck out have none, as it could not be read.
    """
    if values.size > WRITTEN or max(values.shape) > ABREAST:
        return ()
    fitting = (
        texts for texts in _texts(values) if max(len(text) for row in texts for text in row) <= LETTERS
    )
    texts = next(fitting, None)
    if texts is None:
        return ()
    legible = np.isfinite(values) if off is None else np.isfinite(values) & ~off
    return tuple(
        tuple(text if there else "" for text, there in zip(*pair, strict=True))
        for pair in zip(texts, legible.tolist(), strict=True)
    )


def _texts(values: Floats) -> Iterator[list[list[str]]]:
    """Yield cells in numbers that differ where cells do: plain, and as powers of ten."""
    if flat(values):
        yield [[f"{value:.3g}" for value in row] for row in values.tolist()]
        return
    finest = int(np.floor(np.log10(np.nanmax(values) - np.nanmin(values)))) - 1
    largest = int(np.floor(np.log10(np.nanmax(np.abs(values)))))
    yield [[_plain(value, max(0, -finest)) for value in row] for row in values.tolist()]
    yield [[f"{value:.{largest - finest}e}".replace("e+0", "e") for value in row] for row in values.tolist()]


def _plain(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    return text if text.strip("-0.,") else text.removeprefix("-")  # nothing is not less than nothing
