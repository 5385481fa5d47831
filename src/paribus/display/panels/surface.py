"""Effects of two features: contours, maps of cells, and a curve for each level of a mixed pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from paribus.contracts import NOMINAL, Array, Flags, Floats, Integers
from paribus.display.figure import (
    Axis,
    Bars,
    Contours,
    Hatch,
    Heat,
    Line,
    Mark,
    Panel,
    Points,
    Rug,
    Rule,
    Strip,
)
from paribus.display.look import DIVERGING, INK, SEQUENTIAL, color_of, dash_of, marker_of
from paribus.display.panels.place import Laid, Place, folded, place_of, positions, short
from paribus.display.panels.words import RELATIVE, height, share, unit
from paribus.errors import DrawingError
from paribus.grid import SPLITS
from paribus.results import LocalEffect, PartialDependence
from paribus.results.joint import ONLY
from paribus.results.story import at_value, number

ROUNDING = 1e-9  # of the mean, at least of one: what is smaller is no hill
CONTOURS = 10  # steps of colour between the lowest and the highest contour, about
WRITTEN = 64  # cells that have room for a number each
ABREAST = 12  # such cells in a row or column
LETTERS = 7  # of a number in a cell
LEVELS = 12  # that have a curve
CUT = 0.25  # of its colour that a curve keeps where its level has no data
NARROW = 1 / 60  # of an axis: cells of the data that are closer share a bar
LEVEL_BAR = 0.8  # width of the bar of a level
NAMED = 10  # lines of names that have room one above the other
ONE_LINE = 20  # letters of a name where there are more


@dataclass(frozen=True, eq=False)
class Known:
    """What is known in each cell ``(y, x)``: heights, errors, the data, and whether it is off the data."""

    heights: Floats
    errors: Floats | None
    weights: Floats
    off: Flags | None
    name: str
    whole: float

    def told(self, across: Sequence[str], up: Sequence[str]) -> tuple[tuple[str, ...], ...]:
        """Return what a pointer tells of each cell."""
        return tuple(
            tuple(self._cell(words, row, (j, i)) for i, words in enumerate(across))
            for j, row in enumerate(up)
        )

    def _cell(self, across: str, up: str, cell: tuple[int, int]) -> str:
        error = None if self.errors is None else float(self.errors[cell])
        told = height(self.name, float(self.heights[cell]), error)
        return "\n".join([across, up, told, share(float(self.weights[cell]), self.whole)])


@dataclass(frozen=True, eq=False)
class Family:
    """Curves over numbers, one for each level: heights, errors, the data and whether off it, all ``(l, g)``.

    ``cells (l, c)`` is the data of each level between ``edges``; ``beside`` follows the share of it that a
    pointer tells.
    """

    numbers: Place
    name: str
    levels: tuple[str, ...]
    heights: Floats
    errors: Floats | None
    weights: Floats
    off: Flags
    cells: Floats
    edges: Floats
    beside: str = ""


def surface_panel(effect: PartialDependence, o: int) -> Panel:
    """Return the panel of one output of an effect of two features; of several models their mean.

    Numbers and dates are contours, or cells where the effect is flat or has steps; levels are a map of cells,
    and a number with levels is a curve for each level.
    """
    if effect.average is None:
        raise DrawingError("individual surfaces have no picture; ask for kind='average' or 'both'")
    _some_values(effect)
    nominal = [kind in NOMINAL for kind in effect.kinds]
    if all(nominal):
        return _table(effect, o)
    if any(nominal):
        family = _levels_of(effect, o, flip=nominal[0])
        shown = _shown(family, by_height=not effect.ordered[0 if nominal[0] else 1])
        return _curves(family, shown, unit(effect, [o]), zero=_has_zero(effect))
    return _landscape(effect, o)


def local_surface_panel(effect: LocalEffect, o: int) -> Panel:
    """Return the panel of one output of a local effect of two features.

    Numbers are a map of the cells that have rows; a number with levels is a curve for each level.
    """
    _some_values(effect)
    words = f"joint effect on {unit(effect, [o])}"
    nominal = [kind in NOMINAL for kind in effect.kinds]
    if not any(nominal):
        return _cells(effect, o, words)
    family = _local_levels(effect, o, flip=nominal[0])
    return _curves(family, _shown(family, by_height=False), words, zero=True)


def _some_values(effect: Laid) -> None:
    for name, values in zip(effect.feature_names, effect.grid_values, strict=True):
        if not len(values):
            raise DrawingError(f"{name} has no value in the data, so there is nothing to draw")


def _one_line(text: str) -> str:
    return text.replace("\n", " ")


# Numbers with numbers.


def _landscape(effect: PartialDependence, o: int) -> Panel:
    x, y = (_numbers(effect, axis, effect.support.sum(axis=1 - axis)) for axis in (0, 1))
    if min(len(x.at), len(y.at)) < 2:
        raise DrawingError("a surface needs at least two values of each feature; read to_frame()")
    known = _at_points(effect, o, x, y)
    edges = _between(x.at), _between(y.at)
    words = unit(effect, [o])
    values = np.where(np.isfinite(known.heights), known.heights, np.nan)
    colors, low, high = _colors(values, zero=_has_zero(effect))
    map_: Mark
    if effect.provenance.grid_resolution == SPLITS or _flat(values):
        map_ = _stepped(known, (x, y), edges, (colors, low, high, words))
    else:
        told = known.told(x.texts, y.texts)
        map_ = Contours(x.at, y.at, values, _round_levels(low, high), colors, words, hover=told)
    marks = (map_, *_hatch(*edges, known.off, "no row combines these"), *_rugs(effect, (x, y)))
    data = (_weights(x, effect.support.sum(axis=1)), _weights(y, effect.support.sum(axis=0)))
    return _with_margins(marks, (x, y), (_reach(x.at), _reach(y.at)), data)


def _stepped(
    known: Known,
    places: tuple[Place, Place],
    edges: tuple[Floats, Floats],
    look: tuple[str, float, float, str],
) -> Heat:
    """Return a map of cells; neighbours of the same height, as between two splits of a tree, are one."""
    ends, texts = list(edges), []
    for axis, place in enumerate(places):
        known, starts = _joined(known, 1 - axis)
        ends[axis] = edges[axis][[*starts, -1]]
        told = [_text_at(place, end) for end in ends[axis]]
        texts.append([f"{place.axis.label} from {a} to {b}" for a, b in pairwise(told)])
    values = np.where(np.isfinite(known.heights), known.heights, np.nan)
    return Heat(ends[0], ends[1], values, *look, hover=known.told(*texts))


def _joined(known: Known, axis: int) -> tuple[Known, Integers]:
    """Join neighbours along an axis that are alike, and return where each of the new cells starts."""
    along = np.moveaxis(known.heights, axis, 0)
    new = (along[1:] != along[:-1]).any(axis=1)
    starts = np.flatnonzero(np.concatenate([[True], new]))
    joined = replace(
        known,
        heights=known.heights.take(starts, axis),
        errors=None if known.errors is None else known.errors.take(starts, axis),
        weights=np.add.reduceat(known.weights, starts, axis),
    )
    return joined, starts


def _numbers(effect: Laid, axis: int, weights: Floats) -> Place:
    """Lay out an axis of numbers; one that was asked twice has one place."""
    place = place_of(effect, axis, weights)
    once = np.concatenate([[True], np.diff(place.at) > 0])
    kept = np.flatnonzero(once)
    return replace(
        place,
        at=place.at[once],
        groups=tuple(place.groups[p] for p in kept),
        texts=tuple(place.texts[p] for p in kept),
    )


def _picked(place: Place) -> Integers:
    """Return which value of the result stands at each place of numbers."""
    return np.concatenate(place.groups)


def _weights(place: Place, weights: Floats) -> Floats:
    return np.asarray(weights[_picked(place)])


def _at_points(effect: PartialDependence, o: int, x: Place, y: Place) -> Known:
    assert effect.average is not None
    at = np.ix_(_picked(x), _picked(y))
    errors, mask = effect.standard_error, _mask(effect)
    return Known(
        effect.average[o][at].T,
        None if errors is None else errors[o][at].T,
        effect.support[at].T,
        None if mask is None else mask[at].T,
        _one_line(unit(effect, [o])),
        float(effect.support.sum()),
    )


def _mask(effect: PartialDependence) -> Flags | None:
    return None if effect.extrapolation is None else effect.extrapolation.mask


def _between(at: Floats) -> Floats:
    """Return the edges of cells that end half-way between points, and at the outermost."""
    return np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])


def _reach(at: Floats) -> Floats:
    """Return the edges of the cells the data is counted in: as far on the outer side of an end point."""
    edges = _between(at)
    if len(at) < 2:
        return edges
    edges[0], edges[-1] = 2 * at[0] - edges[1], 2 * at[-1] - edges[-2]
    return edges


def _hatch(x_edges: Floats, y_edges: Floats, off: Flags | None, label: str) -> list[Mark]:
    return [] if off is None or not off.any() else [Hatch(x_edges, y_edges, off, label)]


def _rugs(effect: PartialDependence, places: tuple[Place, Place]) -> list[Mark]:
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


# Colours.


def _has_zero(effect: PartialDependence) -> bool:
    """Whether zero is where nothing happens, rather than a prediction like others."""
    scale = effect.provenance.scale
    return RELATIVE in scale or scale.endswith(ONLY)


def _flat(values: Floats) -> bool:
    known = values[np.isfinite(values)]
    return not len(known) or bool(np.ptp(known) <= ROUNDING * max(1.0, abs(float(known.mean()))))


def _colors(values: Floats, *, zero: bool) -> tuple[str, float, float]:
    """Return the colours of values and their ends: around a zero as far on both sides."""
    known = values[np.isfinite(values)]
    if zero:
        largest = float(np.abs(known).max(initial=0.0))
        largest = largest if largest > ROUNDING else 1.0
        return DIVERGING, -largest, largest
    if _flat(values):  # ends that are numbers a person can read
        middle = float(known.mean()) if len(known) else 0.0
        aside = 0.1 * abs(middle) if abs(middle) > ROUNDING else 1.0
        return SEQUENTIAL, middle - aside, middle + aside
    return SEQUENTIAL, float(known.min()), float(known.max())


def _round_levels(low: float, high: float) -> Floats:
    """Return evenly spaced round numbers from below the lowest value to above the highest.

    The first, third, fifth, ... are multiples of twice their distance: labels of every other contour are
    the rounder ones, zero among them.
    """
    power = np.floor(np.log10((high - low) / CONTOURS))
    spans = [_span(low, high, factor * 10.0**power) for factor in (1, 2, 2.5, 5, 10)]
    step, first, last = min(spans, key=lambda span: abs(span[2] - span[1] - CONTOURS))
    return np.asarray(np.round(step * np.arange(first, last + 1), int(max(0, 2 - power))))


def _span(low: float, high: float, step: float) -> tuple[float, float, float]:
    """Return a step, and between which even multiples of it values lie."""
    return step, 2 * np.floor(low / (2 * step)), 2 * np.ceil(high / (2 * step))


# Where the data lies, along the upper and the right side.


def _with_margins(
    marks: tuple[Mark, ...],
    places: tuple[Place, Place],
    edges: tuple[Floats, Floats],
    weights: tuple[Floats, Floats],
) -> Panel:
    """Return a panel of numbers with the density of the data, whose cells end at ``edges``, beside it."""
    x, y = (replace(place.axis, low=float(place.at[0]), high=float(place.at[-1])) for place in places)
    across, up = (
        _density(place, ends, data) for place, ends, data in zip(places, edges, weights, strict=True)
    )
    return Panel(marks, x, y, right=_beside(y, up, level=True), top=_beside(x, across, level=False))


def _density(place: Place, edges: Floats, weights: Floats) -> Bars:
    """Return bars as high as the data is dense, none of them too narrow to be seen."""
    passed = np.concatenate([[0.0], np.cumsum(weights)])
    low, high = float(place.at[0]), float(place.at[-1])
    kept = [low]
    for edge in edges[(edges > low) & (edges < high)].tolist():
        if edge - kept[-1] >= NARROW * (high - low) <= high - edge:
            kept.append(edge)
    ends = np.array([*kept, high])
    inside = np.diff(np.interp(ends, edges, passed))
    width = np.diff(ends)
    texts = [_text_at(place, end) for end in ends]
    whole = float(weights.sum())
    told = tuple(
        f"{place.axis.label}: {a} to {b}\n{share(float(part), whole)}"
        for (a, b), part in zip(pairwise(texts), inside, strict=True)
    )
    return Bars((ends[1:] + ends[:-1]) / 2, inside / width, width, INK, alpha=0.35, hover=told)


def _text_at(place: Place, at: float) -> str:
    """Return a place between values as a person writes it."""
    if place.axis.scale == "date":
        return at_value(np.datetime64(round(86400 * at), "s"))
    return number(at)


def _beside(axis: Axis, bars: Bars, *, level: bool) -> Panel | None:
    """Return the narrow panel of the data on the same axis; none where there is no data."""
    most = float(bars.length.max(initial=0.0))
    if not most > 0:
        return None
    along = replace(axis, label="", numbers=False)
    height_ = Axis(scale="none", low=0.0, high=1.05 * most)
    marks = (replace(bars, level=level),)
    return Panel(marks, height_, along) if level else Panel(marks, along, height_)


# Levels with levels.


def _table(effect: PartialDependence, o: int) -> Panel:
    assert effect.average is not None
    values, support, mask = effect.average[o], effect.support, _mask(effect)
    x, y = (_level_place(effect, values, axis) for axis in (0, 1))
    errors = effect.standard_error
    known = Known(
        _pooled(values, support, x, y),
        None if errors is None else _pooled(errors[o], support, x, y),
        x.total(y.total(support).T),
        None if mask is None else x.total(y.total((~mask).astype(float)).T) == 0,
        _one_line(unit(effect, [o])),
        float(support.sum()),
    )
    shown = np.where(np.isfinite(known.heights), known.heights, np.nan)
    edges, words = (_around(x), _around(y)), unit(effect, [o])
    colors, low, high = _colors(shown, zero=_has_zero(effect))
    told = known.told(x.texts, y.texts)
    heat = Heat(*edges, shown, colors, low, high, words, _written(shown, known.off), told)
    marks = (heat, *_hatch(*edges, known.off, "no row combines these"))
    across, up = _filled(x.axis, x), _filled(_upright(y), y)
    return Panel(
        marks,
        across,
        up,
        right=_beside(up, _level_bars(y, known.weights.sum(axis=1)), level=True),
        top=_beside(across, _level_bars(x, known.weights.sum(axis=0)), level=False),
    )


def _level_place(effect: PartialDependence, values: Floats, axis: int) -> Place:
    """Lay out levels: in their order if they have one, else by their average effect."""
    own, other = effect.support.sum(axis=1 - axis), effect.support.sum(axis=axis)
    shares = other if other.any() else np.ones(len(other))
    known = np.where(np.isfinite(values), values, 0.0)
    by = None if effect.ordered[axis] else np.average(known, axis=1 - axis, weights=shares)
    return place_of(effect, axis, own, by=by)


def _pooled(values: Floats, support: Floats, x: Place, y: Place) -> Floats:
    """Return values ``(y, x)`` of cells; where levels share a place, their average over its data."""
    cells = ((np.ix_(i, j) for i in x.groups) for j in y.groups)
    return np.array([[_over(values[cell], support[cell]) for cell in row] for row in cells])


def _over(values: Floats, weights: Floats) -> float:
    if values.size == 1:
        return float(values[0, 0])
    some = weights > 0
    return float(np.average(values[some], weights=weights[some]) if some.any() else values.mean())


def _around(place: Place) -> Floats:
    return np.arange(len(place.at) + 1, dtype=np.float64) - 0.5


def _filled(axis: Axis, place: Place) -> Axis:
    """Return the axis of levels whose cells reach its ends."""
    return replace(axis, low=-0.5, high=len(place.at) - 0.5)


def _upright(place: Place) -> Axis:
    """Return the axis of levels up the side, where words are never turned."""
    names = _stacked(place.labels or ())
    return replace(place.axis, ticks=tuple(zip(place.at.tolist(), names, strict=True)), turned=False)


def _stacked(labels: Sequence[str]) -> Sequence[str]:
    """Return names that stand one above the other: of many, each has one short line."""
    named = [folded(label) for label in labels]
    if sum(name.count("\n") + 1 for name in named) > NAMED:
        named = [short(label, ONE_LINE) for label in labels]
    return named if len(set(named)) == len(labels) else labels


def _level_bars(place: Place, weights: Floats) -> Bars:
    whole = float(weights.sum())
    told = tuple(
        f"{text}\n{share(float(part), whole)}" for text, part in zip(place.texts, weights, strict=True)
    )
    return Bars(place.at, weights, np.full(len(weights), LEVEL_BAR), INK, alpha=0.35, hover=told)


def _written(values: Floats, off: Flags | None) -> tuple[tuple[str, ...], ...]:
    """Return numbers for the cells, with as many decimals as tell them apart, if there is room.

    Cells that are struck out have none, as it could not be read.
    """
    if values.size > WRITTEN or max(values.shape) > ABREAST:
        return ()
    texts = [[f"{value:.3g}" for value in row] for row in values.tolist()]
    if not _flat(values):
        decimals = max(0, 1 - int(np.floor(np.log10(np.nanmax(values) - np.nanmin(values)))))
        plain = [[_plain(value, decimals) for value in row] for row in values.tolist()]
        texts = plain if max(len(text) for row in plain for text in row) <= LETTERS else texts
    legible = np.isfinite(values) if off is None else np.isfinite(values) & ~off
    return tuple(
        tuple(text if there else "" for text, there in zip(*pair, strict=True))
        for pair in zip(texts, legible.tolist(), strict=True)
    )


def _plain(value: float, decimals: int) -> str:
    text = f"{value:,.{decimals}f}"
    return text if text.strip("-0.,") else text.removeprefix("-")  # nothing is not less than nothing


# A number with levels.


def _levels_of(effect: PartialDependence, o: int, *, flip: bool) -> Family:
    assert effect.average is not None

    def by_level(array: Array) -> Array:
        return (array if flip else array.T)[:, picked]

    levels, numeric = (0, 1) if flip else (1, 0)
    numbers = _numbers(effect, numeric, effect.support.sum(axis=levels))
    picked = _picked(numbers)
    weights, mask = by_level(effect.support), _mask(effect)
    off = _beyond(weights > 0)
    return Family(
        numbers,
        effect.feature_names[levels],
        tuple(at_value(value) for value in effect.grid_values[levels]),
        by_level(effect.average[o]),
        None if effect.standard_error is None else by_level(effect.standard_error[o]),
        weights,
        off if mask is None else off | by_level(mask),
        weights,
        _reach(numbers.at),
    )


def _local_levels(effect: LocalEffect, o: int, *, flip: bool) -> Family:
    levels, numeric = (0, 1) if flip else (1, 0)
    bins = effect.support if flip else effect.support.T
    # A value is the end of one bin and the beginning of the next.
    beside = np.pad(bins, ((0, 0), (0, 1))) + np.pad(bins, ((0, 0), (1, 0)))
    numbers = _numbers(effect, numeric, beside.sum(axis=0))
    return Family(
        numbers,
        effect.feature_names[levels],
        tuple(at_value(value) for value in effect.grid_values[levels]),
        effect.ale[o] if flip else effect.ale[o].T,
        effect.standard_error[o] if flip else effect.standard_error[o].T,
        beside,
        _beyond(beside > 0),
        bins,
        numbers.at,
        " in the bins beside it",
    )


def _beyond(seen: Flags) -> Flags:
    """Return the points outside of each level's own range of data, all of them for a level without any.

    Where no level has any, nothing sets them apart.
    """
    if not seen.any():
        return np.zeros_like(seen)
    from_left = np.logical_or.accumulate(seen, axis=1)
    from_right = np.logical_or.accumulate(seen[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(~(from_left & from_right))


def _shown(family: Family, *, by_height: bool) -> Integers:
    """Return the levels with the most data, in their order or as their curves end, the highest first."""
    shown = np.sort(np.argsort(-family.cells.sum(axis=1), kind="stable")[:LEVELS])
    if not by_height:
        return shown
    ends = np.nan_to_num(family.heights[shown, -1], nan=-np.inf)
    return np.asarray(shown[np.argsort(-ends, kind="stable")])


def _curves(family: Family, shown: Integers, words: str, *, zero: bool) -> Panel:
    """Return a curve for each level that is shown, over the data along the numbers."""
    marks: list[Mark] = [*_strip(family), *([Rule(0.0)] if zero else [])]
    whole = float(family.cells.sum())
    names = _stacked([short(family.levels[level]) for level in shown])
    for series, level in enumerate(shown.tolist()):
        marks += _curve(family, level, series, names[series], _told(family, level, _one_line(words), whole))
    title, count = family.name, len(family.levels)
    if len(shown) < count:
        title += f" ({len(shown)} of {count:,} levels)"
    return Panel(tuple(marks), family.numbers.axis, Axis(words), legend="panel", legend_title=title)


def _strip(family: Family) -> list[Strip]:
    """Return how dense the data is along the numbers, at all levels together."""
    if len(family.numbers.at) < 2 or not family.cells.any():
        return []
    bars = _density(family.numbers, family.edges, family.cells.sum(axis=0))
    return [Strip(bars.at, bars.length, bars.width, float(bars.length.max()), hover=bars.hover)]


def _curve(family: Family, level: int, series: int, label: str, told: tuple[str, ...]) -> list[Mark]:
    x, y = family.numbers.at, np.asarray(family.heights[level])
    color, marker = color_of(series), marker_of(series)
    strength = np.where(family.off[level], CUT, 1.0)
    if len(x) == 1:
        return [Points(x, y, color, label, marker, hover=told)]
    line = Line(
        x,
        y,
        color,
        label,
        dash_of(series),
        steps=family.numbers.steps,
        strength=strength if family.off[level].any() else None,
        hover=told,
    )
    return [line, Points(x[-1:], y[-1:], color, marker=marker, alpha=float(strength[-1]))]


def _told(family: Family, level: int, name: str, whole: float) -> tuple[str, ...]:
    errors = family.errors
    return tuple(
        "\n".join(
            [
                words,
                f"{family.name} = {family.levels[level]}",
                height(
                    name, float(family.heights[level, g]), None if errors is None else float(errors[level, g])
                ),
                share(float(family.weights[level, g]), whole) + (family.beside if whole else ""),
            ]
        )
        for g, words in enumerate(family.numbers.texts)
    )


# Local effects of numbers.


def _cells(effect: LocalEffect, o: int, words: str) -> Panel:
    x, y = (place_of(effect, axis, np.zeros(len(effect.grid_values[axis]))) for axis in (0, 1))
    if min(len(x.at), len(y.at)) < 2:
        raise DrawingError("a surface needs at least two values of each feature; read to_frame()")
    # What is beyond the data is put together from other cells, and would drown the colours of the rest.
    known = Known(
        np.where(effect.empty, np.nan, _middles(effect.ale[o])).T,
        _middles(effect.standard_error[o]).T,
        effect.support.T,
        effect.empty.T,
        _one_line(words),
        float(effect.support.sum()),
    )
    shown = np.where(np.isfinite(known.heights), known.heights, np.nan)
    texts = [_ranges(effect, axis) for axis in (0, 1)]
    colors, low, high = _colors(shown, zero=True)
    heat = Heat(x.at, y.at, shown, colors, low, high, words, hover=known.told(*texts))
    marks = (heat, *_hatch(x.at, y.at, known.off, "no rows"))
    data = effect.support.sum(axis=1), effect.support.sum(axis=0)
    return _with_margins(marks, (x, y), (x.at, y.at), data)


def _middles(corners: Floats) -> Floats:
    """Return the value of each cell: the average of its corners; of errors, no less than its error."""
    return np.asarray((corners[1:, 1:] + corners[1:, :-1] + corners[:-1, 1:] + corners[:-1, :-1]) / 4)


def _ranges(effect: LocalEffect, axis: int) -> list[str]:
    """Return the cells along an axis in words."""
    values = [at_value(value) for value in effect.grid_values[axis]]
    name = effect.feature_names[axis]
    return [f"{name} from {a} to {b}" for a, b in pairwise(values)]
