"""Where the values of an axis go: numbers and dates at their position, categories one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Protocol

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Integers, Kind
from paribus._display.figure import PanelAxis
from paribus._display.ticks import nice_ticks
from paribus._text import at_value, duration_unit, number
from paribus.results import Provenance

MOST = 20  # categories that have a position of their own; of more, the rarest share one
LABEL = 60  # letters of a category that are written; what a pointer shows has all
LINE = 24  # letters of one line of a label
ACROSS = 22  # turned lines of labels that have room beside each other below a panel
ROOM = 36  # letters that have room beside each other below a panel
BEYOND = 0.03  # of an axis of numbers: by how much it is longer than they reach
NAMED = 10  # lines of names that have room one above the other
ONE_LINE = 20  # letters of a name where there are more
CROWDED = 1e-3  # of the axis: points that are closer lie on both sides of a step


class EffectLike(Protocol):
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


@dataclass(frozen=True, eq=False)
class AxisLayout:
    """The positions ``at (p,)`` of an axis, ascending, and which of its values ``g`` stand at each.

    Every number has a position of its own. ``labels`` are those of categories, None for numbers; ``texts``
    name the value of each position in full. ``weights (g,)`` is the data at each value, by which the
    categories that share a position are averaged. ``split`` is whether numbers are those on both sides of
    each split of a tree.
    """

    at: Floats
    groups: tuple[Integers, ...]
    texts: tuple[str, ...]
    labels: tuple[str, ...] | None
    axis: PanelAxis
    weights: Floats
    split: bool = False

    @property
    def levels(self) -> bool:
        """Whether positions are categories, between which nothing lies."""
        return self.labels is not None

    @property
    def steps(self) -> bool:
        """Whether heights hold between points, some of which are on both sides of a split of a tree."""
        gaps = np.diff(self.at)
        return self.split and len(gaps) > 1 and bool(gaps.min() < CROWDED * np.ptp(self.at))

    def average(self, values: Floats) -> Floats:
        """Return values ``(..., g)`` at each position ``(..., p)``, the average where categories share one.

        Of standard errors it is an upper bound: that of an average is no more than the average of theirs.
        """
        found = np.empty((*values.shape[:-1], len(self.groups)))
        for p, group in enumerate(self.groups):
            found[..., p] = _average(values, group, self.weights)
        return found

    def total(self, values: Floats) -> Floats:
        """Return the sum ``(..., p)`` of values ``(..., g)`` at each position."""
        found = np.empty((*values.shape[:-1], len(self.groups)))
        for p, group in enumerate(self.groups):
            found[..., p] = values[..., group].sum(axis=-1)
        return found


def _average(values: Floats, group: Integers, weights: Floats) -> Floats:
    if not len(group):
        return np.full(values.shape[:-1], np.nan)
    if len(group) == 1:
        return np.asarray(values[..., group[0]])
    shares = weights[group] if weights[group].any() else np.ones(len(group))
    return np.asarray((values[..., group] * shares).sum(axis=-1) / shares.sum())


def place_of(
    result: EffectLike, axis: int, weights: Floats, *, by: Floats | None = None, most: int = MOST
) -> AxisLayout:
    """Lay out one axis of a result.

    Parameters
    ----------
    result : Laid
        Whose axis it is.
    axis : int
        Which of its axes.
    weights : ndarray of shape (g,)
        The data at each value, which decides what categories are rare.
    by : ndarray of shape (g,), optional
        What categories are sorted by, upwards; in their own order otherwise.
    most : int
        Categories that have a position of their own.
    """
    values, name = result.grid_values[axis], result.feature_names[axis]
    if result.kinds[axis] in NOMINAL:
        return levels_of(values, name, weights, by, most)
    return replace(numbers_of(values, name, weights), split=result.provenance.at_splits)


def numbers_of(values: Array, name: str, weights: Floats) -> AxisLayout:
    """Lay out numbers or dates."""
    at = positions(values)
    at, order = np.unique(at, return_index=True)  # a value that is requested twice has one place
    dates = values.dtype.kind == "M"
    if len(at) == 1:  # what surrounds a single value is no number
        text = number(at[0]) if values.dtype.kind not in "mM" else at_value(values[0])
        drawn = PanelAxis(name, "category", ((at[0], text),), low=at[0] - 0.6, high=at[0] + 0.6)
    else:
        low, high = _ends(at)
        ticks = None if len(at) else ()  # no number stands where no value is
        drawn = PanelAxis(name, "date" if dates else "number", ticks, low=low, high=high)
        drawn = _in_its_unit(drawn, at) if values.dtype.kind == "m" and len(at) else drawn
    texts = tuple(f"{name} = {at_value(values[g])}" for g in order)
    return AxisLayout(at, tuple(order[:, None]), texts, None, drawn, weights)


def _in_its_unit(axis: PanelAxis, days: Floats) -> PanelAxis:
    """Return the axis of durations with ticks in the unit they are usually written in."""
    unit, name = duration_unit(float(np.abs(days).max()))
    low, high = float(days.min()) / unit, float(days.max()) / unit
    ticks = tuple((tick * unit, text) for tick, text in nice_ticks(low, high)) if high > low else None
    return replace(axis, label=f"{axis.label} ({name})", ticks=ticks)


def _ends(at: Floats) -> tuple[float, float] | tuple[None, None]:
    """Return the ends of an axis of numbers, a little beyond them; none where there is but one."""
    span = float(np.ptp(at)) if len(at) else 0.0
    return (float(at.min()) - BEYOND * span, float(at.max()) + BEYOND * span) if span else (None, None)


def on_the_same(place: AxisLayout, values: Array, result: EffectLike, weights: Floats) -> AxisLayout:
    """Return the position of a result's own values on an axis that is laid out for other ``values``.

    Categories share the positions that are there, and one that the result does not know has none of its
    values; numbers have their own, as far as they lie on the axis, and one more to each side, so that no
    curve ends before the others.
    """
    if place.levels:
        own = {level: g for g, level in enumerate(result.grid_values[0].tolist())}
        known = values.tolist()
        groups = tuple(
            np.array([own[known[g]] for g in group if known[g] in own], dtype=np.int64)
            for group in place.groups
        )
        return replace(place, groups=groups, weights=weights)
    own_place = place_of(result, 0, weights)
    at = own_place.at
    if not len(place.at) or not len(at):
        return own_place
    within = (np.append(at[1:], np.inf) > place.at[0]) & (np.append(-np.inf, at[:-1]) < place.at[-1])
    seen = np.flatnonzero(within)
    return replace(
        own_place,
        axis=place.axis,
        at=at[seen],
        groups=tuple(own_place.groups[p] for p in seen),
        texts=tuple(own_place.texts[p] for p in seen),
    )


def levels_of(
    values: Array, name: str, weights: Floats, by: Floats | None = None, most: int = MOST
) -> AxisLayout:
    """Lay out categories in sequence, sorted or in given order; the rarest are pooled."""
    order = np.arange(len(values)) if by is None else np.argsort(by, kind="stable")
    groups = [np.array([g]) for g in order]
    rare = _rare(weights, most)
    if len(rare):
        groups = [group for group in groups if group[0] not in rare]
    labels = _brief([_visible(at_value(values[group[0]])) for group in groups])
    texts = [f"{name} = {at_value(values[group[0]])}" for group in groups]
    if len(rare):
        groups.append(np.sort(rare))
        labels.append(f"other ({len(rare):,} categories)")
        texts.append(f"{len(rare):,} other categories of {name}, averaged over the data")
    at = np.arange(len(groups), dtype=float)
    return AxisLayout(at, tuple(groups), tuple(texts), tuple(labels), _named(name, labels), weights)


def _visible(level: str) -> str:
    """Return a category as it is written; blanks in quotes, as they could not be seen."""
    return level if level.strip() else f'"{level}"'


def _brief(labels: list[str]) -> list[str]:
    """Return labels that have room beside each other when they are turned, in up to three lines."""
    lines = min(3, max(1, int(ACROSS / max(len(labels), 1))))
    return [short(label, LINE * lines) for label in labels]


def _rare(weights: Floats, most: int) -> Integers:
    """Return the categories without a position of their own: the rarest, if there are too many."""
    if len(weights) <= most:
        return np.array([], dtype=np.int64)
    return np.argsort(-weights, kind="stable")[most - 1 :]


def _named(name: str, labels: list[str]) -> PanelAxis:
    turned = sum(map(len, labels)) > ROOM
    ticks = tuple((float(p), folded(label) if turned else label) for p, label in enumerate(labels))
    return PanelAxis(name, "category", ticks, turned, low=-0.6, high=len(labels) - 0.4)


def short(text: str, most: int = LABEL) -> str:
    """Return a label not longer than can be read: both its ends, as they distinguish similar names."""
    return text if len(text) <= most else text[: most // 2] + "…" + text[-(most // 2 - 1) :]


def folded(label: str) -> str:
    """Return a label in lines."""
    return "\n".join(wrap(label, LINE)) or label


def positions(values: Array) -> Floats:
    """Return where numbers, dates (days since 1970) and durations (days) go."""
    if values.dtype.kind == "M":
        return (values - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    if values.dtype.kind == "m":
        return np.asarray(values / np.timedelta64(1, "D"))
    return values.astype(np.float64)


def stacked(labels: Sequence[str]) -> Sequence[str]:
    """Return names that stand one above the other: of many, each has one short line."""
    named = [folded(label) for label in labels]
    if sum(name.count("\n") + 1 for name in named) > NAMED:
        named = [short(label, ONE_LINE) for label in labels]
    return named if len(set(named)) == len(labels) else labels


def between(at: Floats) -> Floats:
    """Return the edges of cells that end half-way between points, and at the outermost."""
    return np.concatenate([at[:1], (at[1:] + at[:-1]) / 2, at[-1:]])


def reach(at: Floats) -> Floats:
    """Return the edges of the cells the data is counted in: as far on the outer side of an end point."""
    edges = between(at)
    if len(at) < 2:
        return edges
    edges[0], edges[-1] = 2 * at[0] - edges[1], 2 * at[-1] - edges[-2]
    return edges
