"""Axes of features, labels, hover texts and notes of figures."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from textwrap import wrap
from typing import TypeAlias

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Integers
from paribus._display.figure import AxisScale, PanelAxis
from paribus._display.text_width import text_width
from paribus._text import at_value, count, duration_unit, number, percent
from paribus._text import short as short_number
from paribus.notes import Note, NoteCode
from paribus.results import (
    AccumulatedLocalEffect,
    Difference,
    Drift,
    HStatistics,
    Importance,
    Marginal,
    PartialDependence,
    Provenance,
)


def unit(result: Effect | HStatistics | Drift, outputs: list[int]) -> str:
    """Return the label of heights: the scale of the prediction, and the name of a single output."""
    name = result.output_names[outputs[0]] if len(outputs) == 1 else "prediction"
    return result.provenance.scale.label(short(name))


def height_axis(result: Effect, outputs: list[int]) -> PanelAxis:
    """Return the y-axis of outputs; all probabilities have the same unit, and so share an axis."""
    label, scale = unit(result, outputs), result.provenance.scale
    if isinstance(result, AccumulatedLocalEffect):
        joint = "joint " if len(result.feature_names) > 1 else ""
        return PanelAxis(f"{joint}effect on {label}")
    if isinstance(result, Difference):
        return PanelAxis(f"{result.part} minus {result.reference}: {label}")
    return PanelAxis(label, unit=scale.base if scale.is_probability else None)


def value_text(name: str, value: float, error: float | None) -> str:
    """Return the text of a value in a hover text, with its error if that is known."""
    text = f"{name.replace(chr(10), ' ')} {number(value)}"
    if error is None or not np.isfinite(error):
        return text
    return f"{text}, standard error {short_number(error)}"


def hover_texts(
    texts: Iterable[str], name: str, values: Floats, errors: Floats | None, shares: Sequence[str] = ()
) -> tuple[str, ...]:
    """Return one hover text for each point: its name, its value with its error, and its share of the data."""
    hover = []
    for p, text in enumerate(texts):
        value = value_text(name, float(values[p]), None if errors is None else float(errors[p]))
        hover.append("\n".join([text, value, *shares[p : p + 1]]))
    return tuple(hover)


def shares(weights: Floats, whole: float) -> list[str]:
    """Return the text of the share of the data for each weight; ``whole`` is the weight of all rows."""
    return [f"{percent(float(part) / whole)} of the data" if whole else "no data" for part in weights]


def whole_of(provenance: Provenance) -> float:
    """Return the weight of all rows that were used."""
    return float(provenance.used_rows if provenance.weights is None else provenance.weights["sum"])


def background(provenance: Provenance) -> str:
    """Return the line that names the model and the background data."""
    model = f"{provenance.model}, " if provenance.model else ""
    return f"{model}{provenance.background()}"


def caveats_of(result: HStatistics | Importance | Drift) -> tuple[Note, ...]:
    """Return the notes of a result without that about sampled rows, which the background data names."""
    return tuple(note for note in result.notes if note.code is not NoteCode.ROWS_SAMPLED)


Effect: TypeAlias = PartialDependence | AccumulatedLocalEffect | Marginal | Difference

CATEGORIES = 20  # positions of categories; if there are more categories, the rarest share one position
NAME = 60  # characters of a name in a figure; hover texts have the full name
LINE = 24  # characters of a line of a label
LINES = 22  # lines of rotated labels that fit below a panel
ROOM = 22.0  # em of horizontal labels that fit below a panel
STACKED = 10  # lines of labels that fit along a vertical axis or in a legend
STACKED_LINE = 20  # characters of a label if there are more lines
BEYOND = 0.03  # margin of an axis of numbers to each side, as a share of their range
CROWDED = 1e-3  # of the axis: points that are closer lie on the two sides of a split
FEW = 12  # values of a column of numbers that are plotted as points, at most


@dataclass(frozen=True, eq=False)
class FeatureAxis:
    """The ascending positions ``at (p,)`` of an axis, and the grid values at each of them.

    ``groups`` has the indices into ``values (g,)`` for each position; only rare categories share a position.
    ``texts`` are the full names of the positions. ``axis`` is the axis of the panel. ``weights (g,)`` is the
    weight of the data at each value, by which categories that share a position are averaged. ``labels`` are
    those of categories and of few numbers, and None for others. ``unit`` is that of durations, in days. With
    ``at_splits`` the values lie on both sides of each split of a tree.
    """

    values: Array
    at: Floats
    groups: tuple[Integers, ...]
    texts: tuple[str, ...]
    axis: PanelAxis
    weights: Floats
    labels: tuple[str, ...] | None = None
    unit: float = 1.0
    at_splits: bool = False

    @property
    def categorical(self) -> bool:
        """Whether positions are evenly spaced: those of categories, or of few numbers."""
        return self.labels is not None

    @property
    def discrete(self) -> bool:
        """Whether heights are plotted as points: at categories, at few numbers, or at a single value."""
        return self.categorical or len(self.at) == 1

    @property
    def gap(self) -> float:
        """The distance of neighboring points: 1 for categories, 0 for a single number of an axis."""
        return float(self.axis.scale == "category")

    @property
    def steps(self) -> bool:
        """Whether the curve is a step function: grid values on both sides of a split of a tree."""
        gaps = np.diff(self.at)
        return self.at_splits and len(gaps) > 1 and bool(gaps.min() < CROWDED * np.ptp(self.at))

    @property
    def edges(self) -> Floats:
        """The edges of cells that fill the axis: halfway between neighboring positions."""
        if self.categorical:
            return np.arange(len(self.at) + 1, dtype=np.float64) - 0.5
        return between(self.at)

    def average(self, values: Floats) -> Floats:
        """Return the average ``(..., p)`` of values ``(..., g)`` over the categories at each position.

        For standard errors it is an upper bound of the standard error of the average. It is NaN at a position
        without categories.
        """
        averages = np.full((*values.shape[:-1], len(self.groups)), np.nan)
        for p, group in enumerate(self.groups):
            if len(group) == 1:
                averages[..., p] = values[..., group[0]]
            elif len(group):
                weights = self.weights[group] if self.weights[group].any() else np.ones(len(group))
                averages[..., p] = (values[..., group] * weights).sum(axis=-1) / weights.sum()
        return averages

    def total(self, values: Floats) -> Floats:
        """Return the sum ``(..., p)`` of values ``(..., g)`` at each position."""
        totals = np.empty((*values.shape[:-1], len(self.groups)))
        for p, group in enumerate(self.groups):
            totals[..., p] = values[..., group].sum(axis=-1)
        return totals

    def positions(self, values: Array) -> Floats:
        """Return the positions of numbers, of dates (days since 1970) and of durations (in their unit)."""
        if values.dtype.kind == "M":
            return (values - np.datetime64(0, "D")) / np.timedelta64(1, "D")
        if values.dtype.kind == "m":
            return np.asarray(values / np.timedelta64(1, "D") / self.unit)
        return values.astype(np.float64)

    def within(self, values: Array) -> tuple[Floats, Integers]:
        """Return the positions of the values that lie within the axis, and their indices."""
        at = self.positions(values)
        seen = np.flatnonzero((at >= self.at[0]) & (at <= self.at[-1]))
        return at[seen], seen

    def inside(self, low: float, high: float) -> FeatureAxis:
        """Return the layout from one position to another; the curve continues to a point beyond each."""
        if not len(self.at) or self.categorical:
            return self
        within = (np.append(self.at[1:], np.inf) > low) & (np.append(-np.inf, self.at[:-1]) < high)
        seen = np.flatnonzero(within)
        return replace(
            self,
            at=self.at[seen],
            groups=tuple(self.groups[p] for p in seen),
            texts=tuple(self.texts[p] for p in seen),
        )

    def text_at(self, at: float) -> str:
        """Return a position of numbers or dates as text."""
        return at_value(np.datetime64(round(86400 * at), "s")) if self.axis.scale == "date" else number(at)

    def ranges(self, edges: Floats) -> list[str]:
        """Return the text of each cell between two neighboring edges."""
        texts = [self.text_at(float(at)) for at in edges]
        return [f"{self.axis.label} from {low} to {high}" for low, high in pairwise(texts)]


def feature_axis(
    result: Effect, axis: int, weights: Floats | None = None, by: Floats | None = None
) -> FeatureAxis:
    """Return the layout of one axis of a result.

    Parameters
    ----------
    result : Effect
        The result.
    axis : int
        The index of the feature.
    weights : ndarray of shape (g,), optional
        The weight of the data at each value, by which rare categories are found.
    by : ndarray of shape (g,), optional
        Sort key of categories, ascending. By default they keep the order of the grid.
    """
    values, name = result.grid_values[axis], result.feature_names[axis]
    if result.kinds[axis] in NOMINAL or _has_few_values(result, axis):
        return category_axis(values, name, np.zeros(len(values)) if weights is None else weights, by)
    return replace(number_axis(values, name), at_splits=result.provenance.at_splits)


def _has_few_values(result: Effect, axis: int) -> bool:
    """Return whether a grid of at most `FEW` numbers has all values of its column.

    Such a grid has both ends of the data, and no row between its values, as ranks tell. Without ranks it has
    fewer values than requested, or whole numbers without a gap.
    """
    values = result.grid_values[axis]
    if values.dtype.kind not in "iuf" or not 2 <= len(values) <= FEW or not (np.diff(values) > 0).all():
        return False
    if isinstance(result, AccumulatedLocalEffect | Difference):
        return len(result.feature_names) == 1 and bool((np.diff(values) == 1).all())
    deciles, requested = result.deciles[axis], result.provenance.grid_resolution
    if deciles is None or not np.isin(deciles[[0, -1]], values).all():
        return False
    if isinstance(result, PartialDependence) and result.ranks is not None:
        return bool(np.isclose(result.ranks[0, 1:], result.ranks[1, :-1], rtol=0, atol=1e-12).all())
    rows = np.moveaxis(result.support, axis, 0).reshape(len(values), -1).sum(axis=1)
    return isinstance(requested, int) and len(values) < requested and bool((rows > 0).all())


def in_own_order(result: PartialDependence | Marginal | Difference, axis: int) -> bool:
    """Return whether categories keep their order: they are ordered, numbers or booleans."""
    return result.ordered[axis] or result.grid_values[axis].dtype.kind in "biuf"


def number_axis(values: Array, name: str, unit: float | None = None) -> FeatureAxis:
    """Return the layout of numbers, dates or durations; ``unit`` is that of durations, in days."""
    kind = values.dtype.kind
    if kind == "m" and len(values):
        usual, unit_name = duration_unit(float(np.abs(values / np.timedelta64(1, "D")).max()))
        unit, name_on_axis = unit or usual, f"{name} ({unit_name})"
    else:
        unit, name_on_axis = 1.0, name
    blank = FeatureAxis(values, np.empty(0), (), (), PanelAxis(), np.zeros(len(values)), unit=unit)
    at, order = np.unique(blank.positions(values), return_index=True)  # equal values share a position
    texts = tuple(f"{name} = {at_value(values[g])}" for g in order)
    if len(at) == 1:  # a single value has one tick, as a category has
        text = at_value(values[0]) if kind in "mM" else number(at[0])
        axis = PanelAxis(name, "category", ((at[0], text),), low=at[0] - 0.6, high=at[0] + 0.6)
    else:
        margin = BEYOND * float(np.ptp(at)) if len(at) else 0.0
        low, high = (float(at[0]) - margin, float(at[-1]) + margin) if len(at) else (None, None)
        ticks = None if len(at) else ()  # an axis without values has no ticks
        scale: AxisScale = "date" if kind == "M" else "number"
        axis = PanelAxis(name_on_axis, scale, ticks, low=low, high=high, integers=kind in "iu")
    return replace(blank, at=at, groups=tuple(order[:, None]), texts=texts, axis=axis)


def category_axis(values: Array, name: str, weights: Floats, by: Floats | None = None) -> FeatureAxis:
    """Return the layout of categories, sorted by ``by`` or in given order; the rarest share a position."""
    order = np.arange(len(values)) if by is None else np.argsort(by, kind="stable")
    rare = np.argsort(-weights, kind="stable")[CATEGORIES - 1 :] if len(values) > CATEGORIES else order[:0]
    groups = [np.array([g]) for g in order if g not in rare]
    names = [at_value(values[group[0]]) for group in groups]
    lines = min(3, max(1, LINES // max(len(names), 1)))
    # Blank names are quoted, because they would be invisible.
    labels = [short(text if text.strip() else f'"{text}"', LINE * lines) for text in names]
    texts = [f"{name} = {text}" for text in names]
    if len(rare):
        groups.append(np.sort(rare))
        labels.append(f"other ({count(len(rare), 'category', 'categories')})")
        others = count(len(rare), "other category", "other categories")
        texts.append(f"{others} of {name}, averaged over the data")
    rotated = sum(map(text_width, labels)) > ROOM
    at = np.arange(len(groups), dtype=float)
    ticks = tuple(zip(at.tolist(), map(folded, labels) if rotated else labels, strict=True))
    axis = PanelAxis(name, "category", ticks, rotated, low=-0.6, high=len(labels) - 0.4)
    return FeatureAxis(values, at, tuple(groups), tuple(texts), axis, weights, tuple(labels))


def on_axis(shared: FeatureAxis, result: Effect, weights: Floats | None) -> FeatureAxis:
    """Return the layout of the values of a result on a ``shared`` axis.

    Categories have the positions of the shared axis. The group of a category that the result lacks is empty.
    Numbers keep their positions.
    """
    if shared.categorical:
        indices = {category: g for g, category in enumerate(result.grid_values[0].tolist())}
        weights = np.zeros(len(indices)) if weights is None else weights
        groups = []
        for group in shared.groups:
            categories = shared.values[group].tolist()
            present = [indices[category] for category in categories if category in indices]
            groups.append(np.array(present, dtype=np.int64))
        return replace(shared, groups=tuple(groups), weights=weights)
    place = number_axis(result.grid_values[0], result.feature_names[0], shared.unit)
    return replace(place, axis=shared.axis, at_splits=result.provenance.at_splits)


def short(text: str, most: int = NAME) -> str:
    """Return a label with at most ``most`` characters; a longer one keeps both ends around an ellipsis."""
    return text if len(text) <= most else text[: most // 2] + "…" + text[-(most // 2 - 1) :]


def folded(label: str, most: int = LINE) -> str:
    """Return a label broken into lines of at most ``most`` characters."""
    return "\n".join(wrap(label, most)) or label


def stacked(labels: Sequence[str]) -> Sequence[str]:
    """Return labels for a vertical list: broken into lines, or shortened to one line if there are many."""
    named = [folded(label) for label in labels]
    if sum(name.count("\n") + 1 for name in named) > STACKED:
        named = [short(label, STACKED_LINE) for label in labels]
    return named if len(set(named)) == len(labels) else labels


def between(at: Floats) -> Floats:
    """Return the edges of cells that end halfway between points; the outer edges are the outer points."""
    return np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])


def reach(at: Floats) -> Floats:
    """Return the edges of cells around points; the cell of an end point extends equally to both sides."""
    edges = between(at)
    if len(at) > 1:
        edges[0], edges[-1] = 2 * at[0] - edges[1], 2 * at[-1] - edges[-2]
    return edges
