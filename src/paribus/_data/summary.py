"""Summaries of columns: quantiles, categories and missing values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Kind
from paribus._data.kinds import Steps, objects
from paribus._data.rows import Rows
from paribus._data.table import Column, Table
from paribus._text import count
from paribus.errors import InputError

DECILES = tuple(q / 10 for q in range(11))
CENTER = (0.05, 0.95)  # percentiles between which most points of a grid over the whole range lie
OUTER_SHARE = 0.2  # of the points of such a grid, beyond each end of its center
LEAST_POINTS = 10  # of a grid that has more points in each tail than the extreme
PROBE = 4_096  # sorted values that are checked for distinct ones before all values are
ROUNDING = 1e-10  # share of the total weight: ranks that differ by less are equal
SMALLEST = 1e-12  # share of the total weight: the least unit of ranks
SEED = 0  # of the sampled rows that columns are binned by


@dataclass(frozen=True)
class SummarySpec:
    """Summary of a feature that a grid needs: kind, limit of distinct values, quantiles.

    Without ``percentiles``, a grid of ``limit`` points covers the whole range. If grid values are ``given``,
    the number of categories is not limited. ``bins`` are the numbers of bins whose edges are needed.
    ``names`` are those of codes, if the values have names.
    """

    nominal: bool
    limit: int
    percentiles: tuple[float, float] | None
    given: bool = False
    bins: tuple[int, ...] = ()
    names: Mapping[Any, str] | None = None


@dataclass(frozen=True, eq=False)
class Summary:
    """Summary of a feature, from which its grid is computed.

    ``weight`` is the sum of the weights, ``missing`` that of missing and ``infinite`` that of infinite
    values. ``missing_row`` is a row with a missing value, or None.

    ``categories`` are the distinct present values and ``category_weights`` their weights. Nominal features
    have all of them; numbers and dates have them sorted if there are at most ``limit``, else None.
    ``declared`` are the categories of a categorical dtype, and ``ranked`` says whether they are ordered.
    ``counted`` says that the weights of categories are counts over all rows.

    Numbers and dates have quantiles: ``ends`` at the requested percentiles or `CENTER`, and ``deciles``.
    ``outer`` are the values of `outer_values` if no percentiles were requested.
    ``extremes`` are the smallest and largest finite value. ``edges`` has one array for each
    requested number of bins. ``common`` is the median value and its weight; only this value can have more
    than half of the weight. ``unit`` is the dtype of dates and durations, ``dtype`` that of numbers and
    ticks. ``steps`` are the steps between dates or durations. ``ordered`` holds the sorted finite values
    if they are in memory and have no weights. ``rank_error`` bounds the error of the rank of a quantile or
    edge, as a share of the weight. ``names`` are those of ``categories`` that are codes.
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
    outer: tuple[Array, Array] | None = None
    unit: np.dtype[Any] | None = None
    dtype: np.dtype[Any] | None = None
    ordered: Array | None = None
    ranked: bool = False
    edges: tuple[Array, ...] = ()
    common: tuple[Any, float] | None = None
    steps: Steps | None = None
    counted: bool = False
    rank_error: float = 0.0
    names: Mapping[Any, str] | None = None

    def named(self, names: Mapping[Any, str] | None) -> Summary:
        """Return the summary with names of its codes, or raise for other values and codes without a name."""
        if names is None or self.categories is None:
            return self
        codes = self.categories.tolist()
        numbers = all(isinstance(code, (int, float, np.number, Decimal)) for code in codes)
        if self.categories.dtype.kind in "mM" or not numbers:
            raise InputError(
                f"category_names has {self.name!r}, whose values, such as {self.categories[0]!r}, are not "
                "numeric codes; leave it out"
            )
        unnamed = [code for code in codes if code not in names]
        if unnamed:
            raise InputError(
                f"category_names has {count(len(names), 'name')} for {self.name!r}, and none for its code "
                f"{unnamed[0]!r}; add it, or set it to missing in X"
            )
        return replace(self, names=names)

    def labels(self, values: Array) -> Array:
        """Return categories as results report them: the names of codes, if they have names."""
        return values if self.names is None else objects(map(self.names.__getitem__, values.tolist()))

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
    percentiles: tuple[float, float] | None,
    bins: tuple[int, ...] = (),
) -> Summary:
    """Return the summary of a column; rows of weight zero are ignored.

    ``nominal`` treats the values as categories of any dtype. Numbers with more than ``limit`` distinct values
    have no ``categories``. ``bins`` are the numbers of bins whose edges are computed.
    """
    column, weights = rows.table.column(feature), rows.weights
    missing = column.missing if weights is None else column.missing & (weights > 0)
    first = int(np.argmax(missing)) if missing.any() else None
    row = None if first is None else rows.table.slice(first, first + 1)
    found = summarize_column(
        column, weights, nominal=nominal, limit=limit, percentiles=percentiles, bins=bins
    )
    return replace(found, missing_row=row)


def summarize_column(
    column: Column,
    weights: Floats | None,
    *,
    nominal: bool,
    limit: int,
    percentiles: tuple[float, float] | None,
    bins: tuple[int, ...] = (),
) -> Summary:
    """Return the summary of a column as `summarize` does, without a row that has a missing value."""
    missing = column.missing if weights is None else column.missing & (weights > 0)
    kind: Kind = "category" if nominal and column.kind not in NOMINAL else column.kind
    facts: dict[str, Any] = {
        "name": column.name,
        "kind": kind,
        "weight": float(len(missing) if weights is None else weights.sum()),
        "missing": float(np.count_nonzero(missing) if weights is None else weights[missing].sum()),
        "missing_row": None,
        "declared": column.categories,
        "ranked": column.ranked,
    }
    present = None if weights is None else weights[~column.missing]
    if kind in NOMINAL:
        return Summary(**facts, **_category_facts(column, present, kind), counted=weights is None)
    values = column.values
    if present is not None and not present.all():
        values, present = values[present > 0], present[present > 0]
    if kind == "datetime":
        facts["steps"] = Steps.of(values, column.zone)
    return Summary(**facts, **_numeric_facts(values, present, kind, limit, percentiles, bins))


def _numeric_facts(
    values: Array,
    weights: Floats | None,
    kind: Kind,
    limit: int,
    percentiles: tuple[float, float] | None,
    bins: tuple[int, ...],
) -> dict[str, Any]:
    """Return quantiles, extremes, edges and distinct values of finite numbers or the ticks of dates."""
    unit = values.dtype if values.dtype.kind in "mM" else None
    numbers = values.view(np.int64) if unit is not None else values
    # Values are sorted once, with their weights.
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
        "dtype": numbers.dtype,
    }
    if not len(numbers):
        return facts
    wanted = quantiles(numbers, (*(percentiles or CENTER), *DECILES), weights)
    facts |= placed(wanted, numbers[[0, -1]], kind)
    if percentiles is None:
        facts["outer"] = outer_values(numbers, weights, limit)
    facts["edges"] = tuple(edges_of(numbers, weights, size) for size in bins)
    return facts | {"ordered": numbers if weights is None else None, "common": common_of(numbers, weights)}


def common_of(ordered: Array, weights: Floats | None) -> tuple[Any, float]:
    """Return the median of sorted values, which is one of them, and its weight."""
    upper = None if weights is None else np.cumsum(weights)
    middle = len(ordered) // 2 if upper is None else int(np.searchsorted(upper, upper[-1] / 2))
    value = ordered[middle]
    first, stop = (int(np.searchsorted(ordered, value, side=side)) for side in ("left", "right"))
    return value, float(stop - first if weights is None else weights[first:stop].sum())


def placed(wanted: Floats, extremes: Array, kind: Kind) -> dict[str, Any]:
    """Return ``wanted`` as quantiles at two percentiles and deciles, and the extremes."""
    exact = float if kind == "numeric" else int  # floats cannot represent all integers beyond 2**53
    return {
        "ends": (float(wanted[0]), float(wanted[1])),
        "extremes": (exact(extremes[0]), exact(extremes[1])),
        "deciles": wanted[2:],
    }


def outer_points(resolution: int) -> int:
    """Return how many points of a grid over the whole range lie beyond each end of its center."""
    return round(OUTER_SHARE * resolution) if resolution >= LEAST_POINTS else 1


def outer_values(
    ordered: Array, weights: Floats | None, resolution: int, rank_error: float = 0.0
) -> tuple[Array, Array]:
    r"""Return values of the lower and upper tail, denser toward the extremes, which are the first and last.

    ``ordered`` are sorted values. The :math:`k`-th of :math:`m` is the first one in each direction that has
    more than the share :math:`0.05 (1 - k / m)^2` of the weight up to it. Shares below ``rank_error`` are
    not used, except for the extremes.

    >>> below, above = outer_values(np.arange(1000), None, 20)
    >>> below, above
    (array([ 0,  3, 12, 28]), array([971, 987, 996, 999]))
    """
    points = outer_points(resolution)
    shares = CENTER[0] * (1 - np.arange(1, points) / points) ** 2
    shares = shares[shares >= rank_error] + ROUNDING

    def tail(values: Array, of_values: Floats | None) -> Array:
        if of_values is None:
            inner = np.floor(shares * len(values)).astype(np.int64)
        else:
            upper = np.cumsum(of_values)
            inner = np.searchsorted(upper, shares * upper[-1], side="right")
        return np.unique(values[np.append(np.minimum(inner, len(values) - 1), 0)])

    return tail(ordered, weights), tail(ordered[::-1], None if weights is None else weights[::-1])


def quantiles(values: Array, probabilities: Sequence[float], weights: Floats | None = None) -> Floats:
    """Return linearly interpolated quantiles of sorted values, optionally weighted.

    Without weights this is ``numpy.quantile``. With weights it is ``numpy.quantile`` of rows repeated in
    proportion to their weights, where the smallest weight counts as one row. So integer weights equal
    repeated rows if the smallest is 1. Equal weights equal no weights, and the scale has no effect.

    >>> quantiles(np.array([1.0, 2.0, 3.0]), [0.5], np.array([1.0, 1.0, 2.0]))
    array([2.5])
    >>> np.quantile([1.0, 2.0, 3.0, 3.0], 0.5)
    np.float64(2.5)
    """
    if weights is None:
        return _sorted_quantiles(values, np.asarray(probabilities))
    ranks = weights / max(weights.min(), weights.sum() * SMALLEST)
    last = np.cumsum(ranks)
    knots = np.stack([last - ranks, last - 1.0], axis=1).ravel()
    at = np.asarray(probabilities) * (last[-1] - 1.0)
    heights = np.repeat(values, 2).astype(np.float64)
    return np.asarray(np.interp(at, np.maximum.accumulate(knots), heights))


def _sorted_quantiles(ordered: Array, probabilities: Floats) -> Floats:
    """Return exactly ``numpy.quantile`` of sorted values, without sorting them again."""
    at = (len(ordered) - 1) * probabilities
    lower = np.floor(at).astype(np.int64)
    below = ordered[lower].astype(np.float64)
    above = ordered[np.minimum(lower + 1, len(ordered) - 1)].astype(np.float64)
    share = at - lower
    # Interpolated from the nearer end, like numpy.
    return np.where(share < 0.5, below + (above - below) * share, above - (above - below) * (1 - share))


def edges_of(values: Array, weights: Floats | None, bins: int) -> Array:
    """Return the edges of at most ``bins`` bins of about the same weight, the smallest value first.

    ``values`` are sorted and not empty. Every edge is an observed value: the smallest whose cumulative
    share of the weight reaches a multiple of ``1 / bins``. A value with more weight than a bin is an edge,
    and the other values share the remaining bins. So ties do not reduce the number of bins. The smallest
    value is always an edge and uses none of the bins.

    >>> edges_of(np.array([0, 0, 0, 0, 0, 0, 1, 2, 3, 4]), None, 4)
    array([0, 1, 2, 3, 4])
    >>> edges_of(np.arange(9), None, 4)
    array([0, 2, 4, 6, 8])
    >>> edges_of(np.array([0, 0, 0, 0, 0, 1, 2, 3, 4]), None, 2)
    array([0, 2, 4])
    """
    if weights is None and _has_no_heavy_value(values, bins):
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
        left = bins - int(heavy[1:].sum())  # at least 1, as fewer than ``left`` values exceed their share
        rest = np.where(heavy, 0.0, weight)
        total = float(rest.sum())
        share = total / left
        more = rest > share * (1 + ROUNDING)
        more[0] = rest[0] >= share * (1 - ROUNDING)  # else the first bin would be empty
        if not more.any():
            break
        heavy |= more
    reached = np.searchsorted(np.cumsum(rest), share * np.arange(1, left + 1) - total * ROUNDING)
    heavy[[0, -1]] = True
    heavy[np.minimum(reached, len(distinct) - 1)] = True
    return distinct[heavy]


def _has_no_heavy_value(values: Array, bins: int) -> bool:
    """Return whether a quick check shows many distinct sorted values, none with the weight of a bin."""
    some = values[:: max(1, len(values) // PROBE)]
    if np.count_nonzero(some[1:] != some[:-1]) <= bins:
        return False
    share = len(values) / bins
    most, first = math.floor(share * (1 + ROUNDING)), math.ceil(share * (1 - ROUNDING))
    return bool((values[most:] != values[: len(values) - most]).all() and values[first - 1] != values[0])


def distinct_of(values: Array, weights: Floats | None, limit: int) -> tuple[Array | None, Floats | None]:
    """Return the distinct sorted values and their weights if there are at most ``limit``, else None."""
    some = values[:: max(1, len(values) // PROBE)]
    if np.count_nonzero(some[1:] != some[:-1]) >= limit:  # a sample already has more
        return None, None
    starts = np.flatnonzero(np.append(True, values[1:] != values[:-1])) if len(values) else np.empty(0, int)
    if len(starts) > limit:
        return None, None
    if weights is not None:
        return values[starts], np.add.reduceat(weights, starts) if len(starts) else np.empty(0)
    return values[starts], np.diff(np.append(starts, len(values))).astype(np.float64)


def _category_facts(column: Column, weights: Floats | None, kind: Kind) -> dict[str, Any]:
    """Return the observed categories and their weights."""
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
    if dtype.kind not in "OUST":  # text and objects keep their type
        categories = np.array(categories.tolist(), dtype=dtype)
    return {"categories": categories, "category_weights": counts[order]}
