"""What a survey of a column reports: quantiles, categories, how much is missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Kind
from paribus._data.kinds import Steps, objects
from paribus._data.rows import Rows
from paribus._data.table import Column, Table

DECILES = tuple(q / 10 for q in range(11))
TAILS = (0.005, 0.015, 0.03, 0.97, 0.985, 0.995)  # between the extremes and the percentiles of most grids
PROBE = 4_096  # of sorted values read before all of them are, to count the distinct ones
ROUNDING = 1e-10  # of the total: ranks that differ by less are the same
SMALLEST = 1e-12  # of the total: a weight below this is no unit for ranks


@dataclass(frozen=True, eq=False)
class Summary:
    """All the grid needs to know of a feature.

    ``categories`` are the distinct present values with their weights: all of them for a nominal feature, the
    sorted ones of a number or date when there are fewer than the limit requested, else None. ``declared`` are
    the categories a category column may take, ``ranked`` whether their order is one of rank. ``ends`` are the
    quantiles at the percentiles requested, ``extremes`` the smallest and largest finite value, both None for
    a nominal feature; ``tails`` are the quantiles at `TAILS`. ``unit`` is the dtype of a date's ticks,
    ``dtype`` that of a number. ``edges`` are those of the numbers of bins requested, one array each.
    ``common`` is the value in the middle of the present ones and its weight; no other has more than half.
    ``missing_row`` is a row without the value. ``steps`` are those between dates or durations. ``counted``
    says that weights of categories are numbers of rows, of all there are. ``ordered``, which alone grows with
    the number of rows, are the finite values sorted, while they are at hand and have no weights.
    ``rank_error`` is by how much the rank of a quantile or an edge may be off, as a share of the weight.
    """

    name: str
    kind: Kind
    weight: float
    missing: float
    missing_row: Table | None
    declared: tuple[Any, ...] | None = None
    infinite: float = 0.0
    categories: Array | None = None
    category_weights: Floats | None = None
    ends: tuple[float, float] | None = None
    extremes: tuple[float, float] | None = None
    deciles: Floats | None = None
    tails: Floats | None = None
    unit: np.dtype[Any] | None = None
    dtype: np.dtype[Any] | None = None
    ordered: Array | None = None
    ranked: bool = False
    edges: tuple[Array, ...] = ()
    common: tuple[Any, float] | None = None
    steps: Steps | None = None
    counted: bool = False
    rank_error: float = 0.0

    @property
    def missing_share(self) -> float:
        """Share of the weight whose value is missing."""
        return self.missing / self.weight


def summarize(
    rows: Rows,
    feature: int,
    *,
    nominal: bool,
    limit: int,
    percentiles: tuple[float, float],
    bins: tuple[int, ...] = (),
) -> Summary:
    """Summarize a column; rows of weight zero count in no way.

    ``nominal`` takes the values as categories whatever their dtype; ``limit`` is the number of distinct
    values from which a number is no longer listed value by value. ``bins`` are numbers of bins to find the
    edges of.
    """
    column = rows.table.column(feature)
    weights = rows.weights
    missing = column.missing if weights is None else column.missing & (weights > 0)
    kind: Kind = "category" if nominal and column.kind not in NOMINAL else column.kind
    first = int(np.argmax(missing)) if missing.any() else None
    facts: dict[str, Any] = {
        "name": column.name,
        "kind": kind,
        "weight": float(len(rows) if weights is None else weights.sum()),
        "missing": float(np.count_nonzero(missing) if weights is None else weights[missing].sum()),
        "missing_row": None if first is None else rows.table.slice(first, first + 1),
        "declared": column.categories,
        "ranked": column.ranked,
    }
    present = None if weights is None else weights[~column.missing]
    if kind in NOMINAL:
        return Summary(**facts, **_categories(column, present, kind), counted=weights is None)
    values = column.values
    if present is not None and not present.all():
        values, present = values[present > 0], present[present > 0]
    if kind == "datetime":
        facts["steps"] = Steps.of(values, column.zone)
    return Summary(**facts, **_numbers(values, present, kind, limit, percentiles, bins))


def _numbers(
    values: Array,
    weights: Floats | None,
    kind: Kind,
    limit: int,
    percentiles: tuple[float, float],
    bins: tuple[int, ...],
) -> dict[str, Any]:
    """Return quantiles, extremes and few distinct values of finite numbers or the ticks of dates."""
    unit = values.dtype if values.dtype.kind in "mM" else None
    numbers = values.view(np.int64) if unit is not None else values
    # Sorted once, everything else is read off; weights are sorted along.
    order = None if weights is None else np.argsort(numbers, kind="stable")
    numbers = np.sort(numbers) if order is None else numbers[order]
    weights = None if weights is None else weights[order]
    infinite = 0.0
    if len(numbers) and not (np.isfinite(numbers[0]) and np.isfinite(numbers[-1])):
        finite = np.isfinite(numbers)
        infinite = float((~finite).sum() if weights is None else weights[~finite].sum())
        numbers = numbers[finite]
        weights = None if weights is None else weights[finite]
    categories, counts = distinct_of(numbers, weights, limit)
    facts: dict[str, Any] = {
        "unit": unit,
        "infinite": infinite,
        "categories": categories,
        "category_weights": counts,
    }
    facts["dtype"] = numbers.dtype
    if not len(numbers):
        return facts
    wanted = quantiles(numbers, (*percentiles, *DECILES, *TAILS), weights)
    facts |= placed(wanted, numbers[[0, -1]], kind)
    facts["edges"] = tuple(edges_of(numbers, weights, size) for size in bins)
    return facts | {"ordered": numbers if weights is None else None, "common": common_of(numbers, weights)}


def common_of(ordered: Array, weights: Floats | None) -> tuple[Any, float]:
    """Return the value in the middle of sorted ones, and its weight."""
    upper = None if weights is None else np.cumsum(weights)
    middle = len(ordered) // 2 if upper is None else int(np.searchsorted(upper, upper[-1] / 2))
    value = ordered[middle]
    first, stop = (int(np.searchsorted(ordered, value, side=side)) for side in ("left", "right"))
    return value, float(stop - first if weights is None else weights[first:stop].sum())


def placed(wanted: Floats, extremes: Array, kind: Kind) -> dict[str, Any]:
    """Return where numbers lie: quantiles at two percentiles, deciles and `TAILS`, and the two extremes."""
    exact = float if kind == "numeric" else int  # integers beyond 2**53 are no floats
    return {
        "ends": (float(wanted[0]), float(wanted[1])),
        "extremes": (exact(extremes[0]), exact(extremes[1])),
        "deciles": wanted[2 : 2 + len(DECILES)],
        "tails": wanted[2 + len(DECILES) :],
    }


def quantiles(values: Array, probabilities: Sequence[float], weights: Floats | None = None) -> Floats:
    """Return linearly interpolated quantiles of sorted values, weighted when there are weights.

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
        return _interpolated(values, np.asarray(probabilities))
    ranks = weights / max(weights.min(), weights.sum() * SMALLEST)
    last = np.cumsum(ranks)
    knots = np.stack([last - ranks, last - 1.0], axis=1).ravel()
    at = np.asarray(probabilities) * (last[-1] - 1.0)
    heights = np.repeat(values, 2).astype(np.float64)
    return np.asarray(np.interp(at, np.maximum.accumulate(knots), heights))


def _interpolated(ordered: Array, probabilities: Floats) -> Floats:
    """Return ``numpy.quantile`` of sorted values, to the bit; it would sort them again."""
    at = (len(ordered) - 1) * probabilities
    lower = np.floor(at).astype(np.int64)
    below = ordered[lower].astype(np.float64)
    above = ordered[np.minimum(lower + 1, len(ordered) - 1)].astype(np.float64)
    share = at - lower
    # From the nearer end, as numpy does.
    return np.where(share < 0.5, below + (above - below) * share, above - (above - below) * (1 - share))


def edges_of(values: Array, weights: Floats | None, bins: int) -> Array:
    """Return the edges of at most ``bins`` bins of about the same weight, the smallest value first.

    Every edge is a value that occurs: the smallest whose share of the weight, with all below, reaches a
    multiple of ``1 / bins``. A value heavier than a bin is an edge by itself and the rest is shared among the
    bins that are left, so that ties and skew leave no fewer bins than there is room for; the smallest value
    is an edge anyway, and takes none of them. ``values`` are sorted, and there is at least one.

    >>> edges_of(np.array([0, 0, 0, 0, 0, 0, 1, 2, 3, 4]), None, 4)
    array([0, 1, 2, 3, 4])
    >>> edges_of(np.arange(9), None, 4)
    array([0, 2, 4, 6, 8])
    >>> edges_of(np.array([0, 0, 0, 0, 0, 1, 2, 3, 4]), None, 2)
    array([0, 2, 4])
    """
    if weights is None and _even(values, bins):
        share = len(values) / bins
        reached = np.ceil(share * np.arange(1, bins + 1) - len(values) * ROUNDING).astype(np.int64)
        some = values[np.concatenate([[0], reached - 1, [len(values) - 1]])]
        return np.asarray(some[np.append(True, some[1:] != some[:-1])])
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    distinct = values[starts]
    if len(distinct) <= bins + 1:
        return distinct
    if weights is None:
        weight = np.diff(np.append(starts, len(values))).astype(np.float64)
    else:
        weight = np.add.reduceat(weights, starts)
    heavy = np.zeros(len(distinct), bool)
    while True:
        left = bins - int(heavy[1:].sum())  # at least one: fewer than that many are heavier than their share
        rest = np.where(heavy, 0.0, weight)
        total = float(rest.sum())
        share = total / left
        more = rest > share * (1 + ROUNDING)
        more[0] = rest[0] >= share * (1 - ROUNDING)  # the first bin would end where it begins
        if not more.any():
            break
        heavy |= more
    reached = np.searchsorted(np.cumsum(rest), share * np.arange(1, left + 1) - total * ROUNDING)
    heavy[[0, -1]] = True
    heavy[np.minimum(reached, len(distinct) - 1)] = True
    return distinct[heavy]


def _even(values: Array, bins: int) -> bool:
    """Return whether sorted values are seen at once to be many, and none as heavy as a bin."""
    some = values[:: max(1, len(values) // PROBE)]
    if np.count_nonzero(some[1:] != some[:-1]) <= bins:
        return False
    share = len(values) / bins
    most, first = math.floor(share * (1 + ROUNDING)), math.ceil(share * (1 - ROUNDING))
    return bool((values[most:] != values[: len(values) - most]).all() and values[first - 1] != values[0])


def distinct_of(values: Array, weights: Floats | None, limit: int) -> tuple[Array | None, Floats | None]:
    """Return the distinct ones of sorted values and their weights when there are fewer than ``limit``."""
    some = values[:: max(1, len(values) // PROBE)]
    if np.count_nonzero(some[1:] != some[:-1]) >= limit:  # many distinct ones among a few show enough
        return None, None
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.empty(0, int)
    if len(starts) >= limit:
        return None, None
    if weights is not None:
        return values[starts], np.add.reduceat(weights, starts) if len(starts) else np.empty(0)
    return values[starts], np.diff(np.append(starts, len(values))).astype(np.float64)


def _categories(column: Column, weights: Floats | None, kind: Kind) -> dict[str, Any]:
    """Return the categories that occur, and their weights."""
    codes, occurring = column.factorized()
    counts = np.bincount(codes, weights, minlength=len(occurring)).astype(np.float64)
    return order_categories(occurring, counts, column.categories, kind, column.values.dtype)


def order_categories(
    found: tuple[Any, ...],
    counts: Floats,
    declared: tuple[Any, ...] | None,
    kind: Kind,
    dtype: np.dtype[Any],
) -> dict[str, Any]:
    """Return the observed categories and their weights: in declared order, sorted, or most frequent first."""
    occurring = np.flatnonzero(counts > 0).tolist()
    if declared is not None:
        ranks = {category: rank for rank, category in enumerate(declared)}
        order = sorted(occurring, key=lambda c: ranks[found[c]])
    elif kind == "string":
        order = sorted(occurring, key=lambda c: (-counts[c], str(found[c])))
    else:
        order = sorted(occurring, key=lambda c: found[c])
    categories = objects(found[c] for c in order)
    if dtype.kind not in "OUST":  # text and objects stay what they are
        categories = np.array(categories.tolist(), dtype=dtype)
    return {"categories": categories, "category_weights": counts[order]}
