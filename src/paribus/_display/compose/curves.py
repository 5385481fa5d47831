"""Panels of curves over one feature, with bands, the data and the missing value."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats
from paribus._data.kinds import objects
from paribus._display.compose.axis import (
    BEYOND,
    CROWDED,
    Effect,
    FeatureAxis,
    category_axis,
    feature_axis,
    height_axis,
    hover_texts,
    in_own_order,
    number_axis,
    on_axis,
    reach,
    shares,
    whole_of,
)
from paribus._display.figure import (
    Band,
    Bars,
    Dash,
    Line,
    Mark,
    Marker,
    Panel,
    PanelAxis,
    Points,
    Rug,
    Rule,
    Strip,
)
from paribus._display.mark_helpers import INK, PALETTE, color_of, dash_of, marker_of, stretches
from paribus._states import curve_quantiles
from paribus._text import at_value, number, percent
from paribus._typing import BandRole
from paribus.results import (
    AccumulatedLocalEffect,
    Comparison,
    Difference,
    IceQuantiles,
    Marginal,
    PartialDependence,
)
from paribus.results.curve_parts import between
from paribus.results.partial_dependence import central_points
from paribus.results.refits import LEVEL, half_width

Part: TypeAlias = PartialDependence | AccumulatedLocalEffect | Marginal
Under: TypeAlias = Callable[[FeatureAxis], Iterable[Mark]]  # the marks below curves along an axis
Ends: TypeAlias = tuple[float, float]  # positions along an axis

WHOLE: Ends = (-np.inf, np.inf)  # the ends of a panel of all positions


class Estimate(NamedTuple):
    """Name and style of an estimate next to others, the field of its error, and its name if it is alone."""

    name_beside: str
    color: str
    dash: Dash
    marker: Marker
    error: str = "standard_error"
    name: str = ""


# By the field of a result; a result may have several of these fields.
ESTIMATES = {
    "average": Estimate("partial dependence", PALETTE[0], "solid", "circle", name="average"),
    "ale": Estimate("accumulated local effects", PALETTE[1], "dashed", "diamond", name="ALE"),
    "predicted": Estimate(
        "average prediction of rows here", PALETTE[2], "dashdot", "square", "predicted_error"
    ),
    "observed": Estimate("average observed of rows here", PALETTE[3], "dotted", "cross", "observed_error"),
    "difference": Estimate("difference", PALETTE[0], "solid", "circle", name="difference"),
}
CELL = 0.8  # width of the longest bar of the data at points, as a share of the gap between them
THIN_BAR = 0.2  # thickness of such a bar, as a share of the strip of data
BINS = 30  # bars of the data along numbers, about
DODGE = 0.5  # total width of several points next to each other at one category, at most
DODGE_MISSING = 1.8  # factor of their distance in the narrow panel of the missing value
QUANTILES = (0.05, 0.25, 0.75, 0.95)  # of the ICE curves, for bands
ICE_LINES = 12  # plotted ICE curves
ICE_SHADES = (0.18, 0.35, 0.5)  # opacities of bands of rows, the widest band first
ICE_BAR = 0.5  # width of a band of rows at a category
MODELS = 50  # plotted curves of models; mean and interval are always over all models
BAND: BandRole = "standard_error"
REFITS_COLOR, REFITS_SHADE = PALETTE[1], 0.22  # of the interval over refits of a curve that is alone


@dataclass(frozen=True, eq=False)
class Values:
    """Heights ``(g,)`` and their errors ``(g,)``; ``models (m, g)`` are the heights of several models.

    ``rows (g,)`` is the number of rows in each height of a `Marginal`, else None.
    """

    heights: Floats
    error: Floats | None
    models: Floats | None
    rows: Floats | None

    @property
    def has_error(self) -> bool:
        """Whether an error over rows is known; it is not for a single row, nor relative to a point."""
        return self.error is not None and bool(np.isfinite(self.error).any())


@dataclass(frozen=True, eq=False)
class DataAlong:
    """The data along an axis: its weight at each value ``(g,)``, or in bins between ``edges``.

    ``whole`` is the weight of all rows, also of those beyond the ends of the axis. ``missing`` is the weight
    of the rows with a missing value.
    """

    support: Floats
    whole: float
    missing: float = 0.0
    deciles: Array | None = None
    edges: Array | None = None


@dataclass(frozen=True, eq=False)
class Curve:
    """Values along an axis, the values at the missing value, and the style of the curve.

    ``name`` is the name of a height in hover texts, and ``label`` that of the curve in the legend.
    """

    estimate: str
    place: FeatureAxis
    data: DataAlong | None
    values: Values
    missing: Values | None
    name: str
    label: str | None
    color: str
    dash: Dash
    marker: Marker

    @property
    def _has_error(self) -> bool:
        return any(part.has_error for part in (self.values, self.missing) if part is not None)

    @property
    def interval(self) -> str:
        """Name of the interval over refits; empty for one model."""
        if self.values.models is None:
            return ""
        return f"{'rows and refits' if self._has_error else 'refits'} as folds, {100 * LEVEL:.3g} %"

    def around(self, *, alone: bool) -> str:
        """Legend text of the band or error bars; empty if there are none.

        The interval over refits has its own text next to a curve that is alone in its panel.
        """
        if self.interval and not alone:
            return f"± {self.interval}"
        return "± 2 standard errors" if self._has_error else ""


# The missing value is plotted as a category.
AT_MISSING = replace(category_axis(np.array([""]), "", np.ones(1)), texts=("missing",))


def curve_panel(result: Effect, outputs: list[int]) -> Panel:
    """Return the panel of a result of one feature; each output is a curve in another color."""
    place = _axis_of_result(result, outputs[0])
    curves = [curve for series, o in enumerate(outputs) for curve in _curves_of(result, o, place, series)]
    common = None
    if isinstance(result, Marginal):
        common, curves = "", [_beside_others(curve) for curve in curves]
    elif len(outputs) > 1:
        common = ESTIMATES[curves[0].estimate].name
        curves = [
            replace(curve, name=result.output_names[o], label=result.output_names[o])
            for curve, o in zip(curves, outputs, strict=True)
        ]
    elif isinstance(result, PartialDependence):  # ICE curves of several outputs would overlap
        shown = result.individual is not None or result.quantiles is not None
        curves = [replace(curve, color=PALETTE[1]) for curve in curves] if shown else curves
    ends = WHOLE if isinstance(result, Difference) else _central_ends(place, [result])
    y, under = height_axis(result, outputs), partial(_marks_under, result, outputs)
    return _panel_of_curves(place, ends, curves, _data_of(result), y, common, under, show_models=True)


def _marks_under(result: Effect, outputs: list[int], place: FeatureAxis) -> Iterator[Mark]:
    """Yield the zero of a difference, or ICE curves of an output, as those of several would overlap."""
    if isinstance(result, Difference):
        yield Rule(0.0)
    elif isinstance(result, PartialDependence) and len(outputs) == 1:
        yield from _row_marks(result, outputs[0], place)


def comparison_panel(comparison: Comparison, o: int) -> Panel:
    """Return the available estimates of one output, on the axis of the partial dependence."""
    assert comparison.effect is not None
    effect, local, marginal = comparison.effect, comparison.ale, comparison.marginal
    place = _axis_of_result(effect, o)
    curves = _curves_of(effect, o, place)
    if local is not None and comparison.ale_offset is not None:
        offset = float(comparison.ale_offset[o])
        curves += _curves_of(local, o, on_axis(place, local, _support_at_values(local)), offset=offset)
    if marginal is not None:
        averages = _curves_of(marginal, o, on_axis(place, marginal, _support_at_values(marginal)))
        curves += map(_without_error, averages)
    curves = [_beside_others(curve) for curve in curves]
    ends = _central_ends(place, [effect])
    return _panel_of_curves(place, ends, curves, _data_of(effect), height_axis(effect, [o]))


def parts_panel(parts: Mapping[str, Part], o: int) -> Panel:
    """Return the same estimate by several models, or of several slices of the data, for one output.

    The strip of data is plotted only if all parts have the same data, or are groups of it.
    """
    first, *others = parts.values()
    place = _shared_axis([first, *others], o)
    curves: list[Curve] = []
    for series, (name, part) in enumerate(parts.items()):
        curves_of_part = _curves_of(part, o, on_axis(place, part, _support_at_values(part)), series)
        for curve in curves_of_part:
            label = name
            if isinstance(part, Marginal):
                curve = _without_error(curve)
            if len(curves_of_part) > 1:  # predicted and observed averages keep their usual style
                curve, label = _beside_others(curve), f"{name}, {curve.estimate}"
            curves.append(replace(curve, name=name, label=label, color=color_of(series)))
    alike = all(part.provenance.fingerprint == first.provenance.fingerprint for part in others)
    data = _data_of(first) if alike and len(place.values) == len(first.grid_values[0]) else None
    if data is not None and len({part.provenance.group for part in parts.values()}) == len(parts):
        groups = [group for part in parts.values() if (group := _data_of(part)) is not None]
        support = np.sum([group.support for group in groups], axis=0)
        whole, missing = sum(group.whole for group in groups), sum(group.missing for group in groups)
        data = replace(data, support=support, whole=whole, missing=missing)
    ends = _central_ends(place, [first, *others])
    return _panel_of_curves(place, ends, curves, data, height_axis(first, [o]))


def _central_ends(place: FeatureAxis, parts: Sequence[Part]) -> Ends:
    """Return the positions of the percentiles between which the main panel lies; `WHOLE` for categories.

    Parts on one grid have the percentiles of all their rows.
    """
    if place.discrete or not len(place.at):
        return WHOLE
    grids, support = [part.grid_values[0] for part in parts], None
    if all(np.array_equal(grid, grids[0]) for grid in grids):
        support = np.sum([part.support for part in parts], axis=0)
    central = (grid[central_points(part, support)] for grid, part in zip(grids, parts, strict=True))
    at = np.concatenate([place.positions(values) for values in central])
    return float(at.min()), float(at.max())


def _without_error(curve: Curve) -> Curve:
    """Return a curve without bands: those of averages near a value would hide the other curves."""
    missing = curve.missing and replace(curve.missing, error=None)
    return replace(curve, values=replace(curve.values, error=None), missing=missing)


def _beside_others(curve: Curve) -> Curve:
    look = ESTIMATES[curve.estimate]
    curve = replace(curve, name=look.name_beside, label=look.name_beside)
    return replace(curve, color=look.color, dash=look.dash, marker=look.marker)


def _axis_of_result(result: Effect, o: int) -> FeatureAxis:
    return feature_axis(result, 0, _support_at_values(result), _sort_key(result, o))


def _estimates_of(result: Effect) -> list[str]:
    return [estimate for estimate in ESTIMATES if getattr(result, estimate, None) is not None]


def _sort_key(result: Effect, o: int) -> Floats | None:
    """Return the sort key of unordered categories, the heights of an output; None for other features."""
    if isinstance(result, AccumulatedLocalEffect) or in_own_order(result, 0):
        return None
    if isinstance(result, PartialDependence) and result.average is None:
        assert result.individual is not None
        return np.asarray(np.average(result.individual[o], axis=0, weights=result.row_weights))
    return np.asarray(getattr(result, _estimates_of(result)[0])[o])


def _support_at_values(result: Effect) -> Floats | None:
    """Return the weight of the data at each value; None if it is known for bins only, or not at all."""
    data = _data_of(result)
    return None if data is None or data.edges is not None else data.support


def _data_of(result: Effect) -> DataAlong | None:
    """Return the data along the axis of a result; a difference has none."""
    if isinstance(result, Difference):
        return None
    values, missing = result.grid_values[0], 0.0 if result.missing is None else result.missing.support
    deciles = None if isinstance(result, AccumulatedLocalEffect) else result.deciles[0]
    edges = None if len(result.support) == len(values) else values
    return DataAlong(result.support, whole_of(result.provenance), missing, deciles, edges)


def _shared_axis(parts: list[Part], o: int) -> FeatureAxis:
    """Return the axis of the values of all parts.

    The weight of a category is the sum of its shares in the parts. Its sort key is that of the first part
    that contains it.
    """
    grids, name = [part.grid_values[0] for part in parts], parts[0].feature_names[0]
    if parts[0].kinds[0] not in NOMINAL:
        alike = all(np.array_equal(grid, grids[0]) for grid in grids)
        values = grids[0] if alike else np.unique(np.concatenate(grids))
        few = all(_axis_of_result(part, o).categorical for part in parts)
        return category_axis(values, name, np.ones(len(values))) if few else number_axis(values, name)
    weights: dict[object, float] = {}
    keys: dict[object, float | None] = {}
    for part, grid in zip(parts, grids, strict=True):
        weight, by = _axis_of_result(part, o).weights, _sort_key(part, o)
        for g, category in enumerate(grid.tolist()):
            weights[category] = weights.get(category, 0.0) + weight[g] / (weight.sum() or 1.0)
            keys.setdefault(category, None if by is None else by[g])
    values = grids[0] if len(weights) == len(grids[0]) else objects(list(weights))
    sort_key = None if None in keys.values() else np.array(list(keys.values()))
    return category_axis(values, name, np.array(list(weights.values())), sort_key)


def _curves_of(
    result: Effect, o: int, place: FeatureAxis, series: int = 0, offset: float = 0.0
) -> list[Curve]:
    """Return a curve for each estimate of an output, shifted by ``offset``; ``series`` selects the style."""
    curves = []
    for estimate in _estimates_of(result):
        name = ESTIMATES[estimate].name
        values = _estimate_values(result, estimate, o, offset, missing=False)
        missing = _estimate_values(result, estimate, o, offset, missing=True)
        assert values is not None
        look = color_of(series), dash_of(series), marker_of(series)
        curves.append(Curve(estimate, place, _data_of(result), values, missing, name, name, *look))
    return curves


def _estimate_values(result: Effect, estimate: str, o: int, offset: float, *, missing: bool) -> Values | None:
    """Return the values of an estimate, or with ``missing`` those at the missing value, if there are any.

    The error is the standard error over rows.
    """
    source: Any = result
    fields = estimate, ESTIMATES[estimate].error
    if missing and isinstance(result, Difference):
        fields = ("missing_difference", "missing_error")
    elif missing:
        source = getattr(result, "missing", None)
    heights, error = (getattr(source, field, None) for field in fields)
    if heights is None:
        return None
    rows = source.rows if isinstance(result, Marginal) else None
    spread = None if isinstance(result, Marginal | Difference) else result.by_model
    models = None
    if spread is not None and len(spread.models) > 1:
        models = spread.missing if missing else spread.values
    return Values(
        np.atleast_1d(heights[o]) + offset,
        None if error is None else np.atleast_1d(error[o]),
        None if models is None else models[:, o].reshape(len(models), -1),
        None if rows is None else np.atleast_1d(rows).astype(np.float64),
    )


def _panel_of_curves(
    place: FeatureAxis,
    ends: Ends,
    curves: list[Curve],
    data: DataAlong | None,
    y: PanelAxis,
    common: str | None = "",
    under: Under = lambda place: (),
    *,
    show_models: bool = False,
) -> Panel:
    """Return the panel of curves along one axis between two ``ends``, above the marks of ``under``.

    The tails beyond the ends and the missing value are in narrow panels. ``data`` is the common data of all
    curves, or None. ``common`` is the legend title of several curves, and None for a single curve.
    """
    # The meaning of bands is in the legend title if it is common, else in each label.
    texts = [curve.around(alone=len(curves) == 1) for curve in curves]
    around, title = set(texts) - {""}, None
    if common is not None and len(around) < 2:
        noun = "bands" if around and "" in texts else common
        title = " ".join([noun, *around]).strip() or None
    else:
        labels = [f"{curve.label} {text}".strip() for curve, text in zip(curves, texts, strict=True)]
        curves = [replace(curve, label=label) for curve, label in zip(curves, labels, strict=True)]

    def marks(ends: Ends) -> list[Mark]:
        inner = [replace(curve, place=curve.place.inside(*ends)) for curve in curves]
        return [*under(place.inside(*ends)), *_curve_marks(inner, show_models=show_models)]

    below: list[Mark] = []
    if data is not None:
        main = place.inside(*ends)
        below = [*strip(main, data), *rug(main, data.deciles)]
    panel = Panel((*below, *marks(ends)), place.axis, y, legend_title=title)
    if ends != WHOLE:
        (low, high), first, last = ends, float(place.at[0]), float(place.at[-1])
        margin = BEYOND * (high - low)
        panel = replace(
            panel,
            x=replace(place.axis, low=low - margin, high=high + margin),
            left=_tail((first, low), f"from {place.text_at(first)}", marks),
            right=_tail((high, last), f"to {place.text_at(last)}", marks),
        )
    at_missing = []
    for curve in curves:
        if curve.missing is not None:
            weight = curve.data and DataAlong(np.array([curve.data.missing]), curve.data.whole)
            at_missing.append(replace(curve, place=AT_MISSING, data=weight, values=curve.missing))
    points = _curve_marks(at_missing, show_models=show_models, dodge=DODGE_MISSING)
    missing = [without_label(mark) for mark in (*under(AT_MISSING), *points)]
    if all(isinstance(mark, Rule) for mark in missing):
        return panel
    share = "" if data is None or not data.whole else f"\n{percent(data.missing / data.whole)}"
    # The text is one line lower, because the last tick text of the main panel may extend below this one.
    text = f"missing{share}" if place.categorical else f"\nmissing{share}"
    x = replace(AT_MISSING.axis, ticks=((0.0, text),))
    return replace(panel, right=(*panel.right, Panel(tuple(missing), x)))


def _tail(ends: Ends, text: str, marks: Callable[[Ends], list[Mark]]) -> tuple[Panel, ...]:
    """Return the narrow panel of a tail, with the text of its extreme; none if the main panel has it."""
    if ends[0] == ends[1]:
        return ()
    axis = PanelAxis(scale="category", ticks=((sum(ends) / 2, f"\n{text}"),), low=ends[0], high=ends[1])
    return (Panel(tuple(map(without_label, marks(ends))), axis),)


def without_label(mark: Mark) -> Mark:
    """Return a mark that is not in the legend."""
    return replace(mark, label=None) if isinstance(mark, Band | Bars | Line | Points) else mark


def _curve_marks(curves: list[Curve], *, show_models: bool, dodge: float = 1.0) -> Iterator[Mark]:
    """Yield the marks of curves; for several curves, points lie side by side and bands are lighter."""
    count = max(len(curves), 1)
    step, shade = dodge * min(0.16, DODGE / count), 0.2 if count == 1 else 0.3 / (1 + count)
    asides = [step * (place - (count - 1) / 2) for place in range(len(curves))]
    for curve, aside in zip(curves, asides, strict=True):
        if show_models and curve.values.models is not None:
            yield from _model_marks(curve, curve.values.models, aside + 0.12, labeled=count == 1)
    for curve, aside in zip(curves, asides, strict=True):
        yield from _marks_of_curve(curve, aside, shade, alone=count == 1)


def _marks_of_curve(curve: Curve, aside: float, shade: float, *, alone: bool) -> Iterator[Mark]:
    """Yield a line with its bands for numbers, or points with error bars for categories.

    A curve that is alone has the interval over refits below its band of standard errors, others have the
    former only.
    """
    place, data, values = curve.place, curve.data, curve.values
    y, refits = place.average(values.heights), None
    error = None if values.error is None else place.average(values.error)
    if error is not None:
        error = np.where(np.isfinite(error), error, np.nan) if np.isfinite(error).any() else None
    if values.models is not None:
        deviation = between(place.average(values.models))
        refits = half_width(error, deviation, len(values.models), LEVEL)
    around, role = (None if error is None else 2 * error), BAND
    if refits is not None and alone:
        if place.discrete:
            yield Points(place.at, y, REFITS_COLOR, curve.interval, "bar", 9.0, error=refits)
        else:
            yield from _bands(place, y, refits, REFITS_COLOR, curve.interval, REFITS_SHADE, "refits")
    elif refits is not None:
        around, role = refits, "refits"
    of_data: list[str] = []
    if data is not None and data.edges is None:
        of_data = shares(place.total(data.support), data.whole)
    hover = hover_texts(place.texts, curve.name, y, error, of_data)
    if refits is not None:
        ends = zip(hover, y - refits, y + refits, strict=True)
        hover = tuple(f"{text}\n{curve.interval}: {number(a)} to {number(b)}" for text, a, b in ends)
    single = None if values.rows is None else place.total(values.rows) == 1
    if place.discrete:
        at = place.at + aside * place.gap
        points = Points(at, y, curve.color, curve.label, curve.marker, hover=hover, single=single)
        yield replace(points, error=around)
        return
    if around is not None:
        yield from _bands(place, y, around, curve.color, None, shade, role)
    line = Line(place.at, y, curve.color, curve.label, curve.dash, hover=hover, single=single)
    yield replace(line, steps=place.steps)


def _bands(
    place: FeatureAxis, y: Floats, around: Floats, color: str, label: str | None, shade: float, role: BandRole
) -> Iterator[Band]:
    """Yield a band around heights wherever both are finite."""
    for run in stretches(np.isfinite(y + around)):
        ends = y[run] - around[run], y[run] + around[run]
        yield Band(place.at[run], *ends, color, label, shade, place.steps, role)
        label = None


def _model_marks(curve: Curve, models: Floats, aside: float, *, labeled: bool) -> Iterator[Mark]:
    """Yield the curve of each model as a thin line, or as small points for categories."""
    drawn = np.unique(np.linspace(0, len(models) - 1, min(MODELS, len(models))).astype(int))
    number_drawn = "" if len(drawn) == len(models) else f"{len(drawn)} of "
    label = f"each of {number_drawn}{len(models)} models" if labeled else None
    for y in curve.place.average(models[drawn]):
        if curve.place.discrete:
            at = curve.place.at + aside * curve.place.gap
            yield Points(at, y, curve.color, label, "dot", 3.0, 0.6)
        else:
            yield Line(curve.place.at, y, curve.color, label, "solid", 0.7, 0.5, curve.place.steps)
        label = None


def _row_marks(effect: PartialDependence, o: int, place: FeatureAxis) -> Iterator[Mark]:
    """Yield bands between quantiles of ICE curves and a few of these curves; for categories, bars.

    Where categories share a position, the ICE curve of each row is averaged over them first. Without ICE
    curves, the quantiles at such a position are unknown.
    """
    curves, given = effect.individual, effect.quantiles
    chances = QUANTILES if given is None else tuple(given.probabilities.tolist())
    values = None if given is None else given.values
    if place is AT_MISSING:
        curves = None if effect.missing is None else effect.missing.individual
        values = None if given is None else given.missing
    if curves is not None and curves.size:
        rows = place.average(curves[o].reshape(curves.shape[1], -1))
        yield from _row_bands(place, chances, curve_quantiles(rows[None], effect.row_weights, chances)[0])
        if not place.discrete:
            yield from _selected_ice_lines(rows, curves[o].mean(axis=1), effect.row_weights, place)
    elif values is not None:
        quantiles = place.average(values[o].reshape(len(chances), -1))
        quantiles[:, [len(group) > 1 for group in place.groups]] = np.nan
        yield from _row_bands(place, chances, quantiles)


def _row_bands(place: FeatureAxis, chances: tuple[float, ...], values: Floats) -> Iterator[Mark]:
    """Yield a band between each pair of symmetric quantiles ``(q, p)``, and a line for each other one."""
    lone, color = dict(enumerate(chances)), PALETTE[0]
    bands = IceQuantiles(np.array(chances), values[None], 0.0, None).bands()
    for depth, (part, first, last) in enumerate(bands):
        low, high, shade = values[first], values[last], ICE_SHADES[min(depth, len(ICE_SHADES) - 1)]
        label = f"{100 * part:.4g} % of rows"
        del lone[first], lone[last]
        if place.discrete:
            base = np.where(np.isfinite(low + high), low, np.nan)
            width = np.full(len(low), ICE_BAR * place.gap)
            yield Bars(place.at, high - base, width, color, base, label, shade)
        else:
            yield Band(place.at, low, high, color, label, shade, place.steps, "rows")
    for k, chance in lone.items():
        label = "median of rows" if chance == 0.5 else f"quantile {chance:g} of rows"
        dash: Dash = "dashed" if chance == 0.5 else "dotted"
        if place.discrete:
            yield Points(place.at, values[k], color, label, "bar", 12.0)
        else:
            yield Line(place.at, values[k], color, label, dash, 1.0, steps=place.steps)


def _selected_ice_lines(
    curves: Floats, heights: Floats, weights: Floats | None, place: FeatureAxis
) -> Iterator[Mark]:
    """Yield the ICE curves of a few rows, which show differences in shape that bands do not show.

    The rows are evenly spaced in the order of the mean heights of their curves, so the selection is
    deterministic.
    """
    rows = np.arange(len(curves)) if weights is None else np.flatnonzero(weights > 0)
    curves = np.where(np.isfinite(curves), curves, np.nan)
    order = rows[np.argsort(np.where(np.isfinite(heights), heights, np.nan)[rows], kind="stable")]
    drawn = min(ICE_LINES, len(order))
    label: str | None = f"{drawn} of {len(order):,} rows"
    for row in order[((np.arange(drawn) + 0.5) * len(order) / drawn).astype(int)]:
        yield Line(place.at, curves[row], INK, label, "solid", 0.7, 0.55, place.steps)
        label = None


def strip(place: FeatureAxis, data: DataAlong) -> list[Strip]:
    """Return the strip of data below curves; the list is empty without data at points or in bins.

    At points the weight of the data is the length of a thin bar along the axis, because high bars would look
    like values of the curve.
    """
    if place.discrete and data.edges is not None:  # bins between points, which have no curve
        return []
    bars = histogram(place, data)
    if not place.discrete or not bars:
        return bars
    bar = bars[0]
    height = np.full(len(bar.at), THIN_BAR * bar.most)
    return [replace(bar, width=bar.width * bar.height / bar.most, height=height)]


def histogram(place: FeatureAxis, data: DataAlong) -> list[Strip]:
    """Return bars of the data along an axis: its weight at points, its density in about `BINS` bars else.

    The list is empty without data.
    """
    if place.discrete and data.edges is None:
        at, weights, texts = place.at, place.total(data.support), place.texts
        heights, width = weights, np.full(len(weights), CELL * place.gap)
    else:
        edges, weights = _data_cells(place, data)
        if len(weights) > BINS:  # join cells into bars of about equal width; narrower ones would show noise
            middle = (edges[1:] + edges[:-1]) / 2
            bins = np.minimum((BINS * (middle - edges[0]) / (edges[-1] - edges[0])).astype(int), BINS - 1)
            starts = np.flatnonzero(np.diff(bins, prepend=-1))
            edges, weights = edges[[*starts, -1]], np.add.reduceat(weights, starts)
        at, width, texts = (edges[1:] + edges[:-1]) / 2, np.diff(edges), tuple(place.ranges(edges))
        heights = np.divide(weights, width, out=np.zeros_like(weights), where=width > 0)
    most = float(heights.max(initial=0.0))
    hover = tuple(map("\n".join, zip(texts, shares(weights, data.whole), strict=True)))
    return [Strip(at, heights, width, most, hover=hover)] if most > 0 else []


def rug(place: FeatureAxis, deciles: Array | None, along: Literal["x", "y"] = "x") -> list[Rug]:
    """Return the rug of the inner deciles of the data that lie within the axis."""
    if deciles is None or place.discrete or not len(place.at):
        return []
    at, seen = place.within(deciles[1:-1])
    name = place.axis.label
    hover = tuple(f"{10 * (d + 1)} % of the data up to {name} = {at_value(deciles[d + 1])}" for d in seen)
    return [Rug(at, along, hover)] if len(seen) else []


def _data_cells(place: FeatureAxis, data: DataAlong) -> tuple[Floats, Floats]:
    """Return the edges of the cells of numbers, and the weight of the data in each cell.

    A cell ends halfway to the next point. Points that are closer than `CROWDED`, such as those on both sides
    of a split, share a cell. The width of a cell of integers is the number of integers in it, so uniform data
    has bars of equal height. If the data is binned, the cells are the bins.
    """
    if data.edges is not None:
        edges = place.positions(data.edges)
        within = (edges >= place.at[0]) & (edges <= place.at[-1])
        return edges[within], data.support[within[:-1] & within[1:]]
    at, weights = place.at, place.total(data.support)
    starts, next_ = [], 0
    while next_ < len(at):
        starts.append(next_)
        next_ = int(np.searchsorted(at, at[next_] + CROWDED * np.ptp(at), side="right"))
    weights = np.add.reduceat(weights, starts) if starts else weights
    at = at[starts]
    if len(at) < 2:
        return np.concatenate([at - CELL / 2, at + CELL / 2]), weights
    edges = reach(at)
    return (np.floor(edges) + 0.5 if place.values.dtype.kind in "iu" else edges), weights
