"""What a first look at a column tells: quantiles, levels, how much is missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus.contracts import Array, Floats, Kind
from paribus.data.table import Column

DECILES = tuple(q / 10 for q in range(11))
PROBE = 10_000  # values looked at before a whole column is sorted to count its distinct ones


@dataclass(frozen=True)
class Summary:
    """All the grid needs to know of a feature; nothing in it grows with the number of rows.

    ``levels`` are the distinct present values with their weights: all of them for a nominal feature,
    the sorted ones of a number or date when there are fewer than the limit asked for, else None.
    ``ends`` are the quantiles at the percentiles asked for, ``extremes`` the smallest and largest
    finite value, both None for a nominal feature. ``unit`` is the dtype of a date's ticks.
    """

    name: str
    kind: Kind
    weight: float
    missing: float
    infinite: float
    levels: Array | None
    level_weights: Floats | None
    ends: tuple[float, float] | None
    extremes: tuple[float, float] | None
    deciles: Floats | None
    unit: np.dtype[Any] | None

    @property
    def missing_share(self) -> float:
        """Share of the weight whose value is missing."""
        return self.missing / self.weight


def summarise(
    column: Column, weights: Floats | None, *, nominal: bool, limit: int, percentiles: tuple[float, float]
) -> Summary:
    """Summarise a column; rows of weight zero count in no way.

    ``nominal`` takes the values as levels whatever their dtype; ``limit`` is the number of distinct
    values from which a number is no longer listed value by value.
    """
    values, missing = column.values, column.missing
    present_weights = None
    if weights is not None:
        total, absent = float(weights.sum()), float(weights[missing].sum())
        present_weights = weights[~missing]
        counted = present_weights > 0
        if not counted.all():
            values, present_weights = values[counted], present_weights[counted]
    else:
        total, absent = float(len(missing)), float(missing.sum())
    has_levels = column.kind in ("category", "string", "boolean")
    kind: Kind = "category" if nominal and not has_levels else column.kind
    if nominal or has_levels:
        levels, counts = _levels(values, present_weights, column, kind)
        return Summary(column.name, kind, total, absent, 0.0, levels, counts, None, None, None, None)
    return _numeric(column, kind, values, present_weights, total, absent, limit, percentiles)


def _numeric(
    column: Column,
    kind: Kind,
    values: Array,
    weights: Floats | None,
    total: float,
    absent: float,
    limit: int,
    percentiles: tuple[float, float],
) -> Summary:
    unit = values.dtype if values.dtype.kind in "mM" else None
    numbers = values.view(np.int64) if unit is not None else values
    finite = np.isfinite(numbers)
    infinite = 0.0
    if not finite.all():
        infinite = float((~finite).sum() if weights is None else weights[~finite].sum())
        numbers = numbers[finite]
        weights = None if weights is None else weights[finite]
    levels, counts = _distinct(numbers, weights, limit)
    if not len(numbers):
        return Summary(column.name, kind, total, absent, infinite, levels, counts, None, None, None, unit)
    wanted = quantiles(numbers, (*percentiles, *DECILES), weights)
    return Summary(
        column.name,
        kind,
        total,
        absent,
        infinite,
        levels,
        counts,
        (float(wanted[0]), float(wanted[1])),
        (float(numbers.min()), float(numbers.max())),
        wanted[2:],
        unit,
    )


def quantiles(values: Array, probabilities: Sequence[float], weights: Floats | None = None) -> Floats:
    """Return linearly interpolated quantiles, weighted when there are weights.

    Without weights this is ``numpy.quantile``. With weights it is ``numpy.quantile`` of the rows
    repeated in proportion to their weights, the smallest weight standing for one row: a row of weight
    ``w`` occupies ``w`` ranks. So integer weights equal repeated rows (when the smallest is 1), equal
    weights equal no weights, and scaling all weights changes nothing.

    >>> quantiles(np.array([1.0, 2.0, 3.0]), [0.5], np.array([1.0, 1.0, 2.0]))
    array([2.5])
    >>> np.quantile([1.0, 2.0, 3.0, 3.0], 0.5)
    np.float64(2.5)
    """
    if weights is None:
        return np.asarray(np.quantile(values.astype(np.float64), probabilities))
    order = np.argsort(values, kind="stable")
    ranks = weights[order] / weights.min()
    last = np.cumsum(ranks)
    knots = np.stack([last - ranks, last - 1.0], axis=1).ravel()
    at = np.asarray(probabilities) * (last[-1] - 1.0)
    return np.asarray(
        np.interp(at, np.maximum.accumulate(knots), np.repeat(values[order], 2).astype(np.float64))
    )


def _distinct(values: Array, weights: Floats | None, limit: int) -> tuple[Array | None, Floats | None]:
    """Return the distinct values and their weights when there are fewer than ``limit``."""
    if len(np.unique(values[:PROBE])) >= limit:
        return None, None
    levels, inverse = np.unique(values, return_inverse=True)
    if len(levels) >= limit:
        return None, None
    return levels, np.bincount(inverse, weights, minlength=len(levels)).astype(np.float64)


def _levels(values: Array, weights: Floats | None, column: Column, kind: Kind) -> tuple[Array, Floats]:
    """Return the levels that occur: in declared order, sorted, or the most frequent first."""
    raw = values.view(np.int64) if values.dtype.kind in "mM" else values
    codes: dict[Any, int] = {}
    inverse = np.fromiter((codes.setdefault(v, len(codes)) for v in raw.tolist()), np.int64, len(raw))
    counts = np.bincount(inverse, weights, minlength=len(codes)).astype(np.float64)
    found = list(codes)
    if column.levels is not None:
        ranks = {level: rank for rank, level in enumerate(column.levels)}
        order = sorted(range(len(found)), key=lambda c: ranks[found[c]])
    elif kind == "string":
        order = sorted(range(len(found)), key=lambda c: (-counts[c], str(found[c])))
    else:
        order = sorted(range(len(found)), key=lambda c: found[c])
    levels = np.empty(len(found), dtype=object)
    levels[:] = [found[c] for c in order]
    if raw.dtype.kind not in "OUST":  # text and objects stay what they are
        levels = levels.astype(raw.dtype).view(values.dtype)
    return levels, counts[order]
