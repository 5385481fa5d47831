"""Order of unordered categories: neighbors have similar distributions of the other features."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Integers
from paribus._data.kinds import objects
from paribus._data.rows import Rows
from paribus._data.table import Column
from paribus._text import count
from paribus.errors import FeatureError

RANKS = 256  # positions at which two distributions of a number are compared, at most
DRAWN = 16_384  # rows that are compared, at most


def similar_order(rows: Rows, feature: int, categories: Array) -> tuple[Array, str]:
    r"""Put categories in an order in which neighbors have similar rows, and say how.

    Of two categories, and each other feature, the distance is the average difference between the
    distributions of a number over its ranks, or half the sum of the differences between the shares of
    categories. The distances are added up over the features, and the categories put on a line that keeps them
    as well as a line can (classical scaling): the order is that on the line. This is what Apley and Zhu
    propose, but that they take the largest difference between distributions, which is the same for all
    categories that do not overlap, however far apart. Where nothing distinguishes categories, or they do not
    occur in ``rows``, they keep the order they come in.
    """
    codes_of = {category: number for number, category in enumerate(categories.tolist())}
    codes, occurring = rows.table.column(feature).factorized()
    of = np.array([codes_of.get(_plain(category), -1) for category in occurring], dtype=np.int64)
    own = np.full(len(rows), -1, np.int64)
    own[~rows.table.column(feature).missing] = of[codes] if len(codes) else np.empty(0, np.int64)
    kept = rows.keep(own >= 0)
    distance = np.zeros((len(categories), len(categories)))
    for other in range(len(rows.table.names)):
        if other != feature:
            distance += _distances(kept, other, own[own >= 0], len(categories))
    order = _line(distance)
    order_text = f"by how similar their rows are in the other features ({count(len(kept), 'row')})"
    return _taken(
        categories, order
    ), order_text if distance.any() else "as they come: nothing tells them apart"


def _distances(rows: Rows, feature: int, own: Integers, n_categories: int) -> Floats:
    """Return the distances of the categories in one other feature; one that cannot be read says nothing."""
    try:
        column = rows.table.column(feature)
    except FeatureError:
        return np.zeros((n_categories, n_categories))
    weights = np.ones(len(rows)) if rows.weights is None else rows.weights
    nominal = column.kind in NOMINAL
    cells = _category_codes(column) if nominal else _ranks(column)
    counts = np.zeros((n_categories, int(cells.max(initial=0)) + 1))
    some = cells >= 0
    np.add.at(counts, (own[some], cells[some]), weights[some])
    total = counts.sum(axis=1, keepdims=True)
    shares = np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)
    if not nominal:
        shares = np.cumsum(shares, axis=1)
    distance = np.zeros((n_categories, n_categories))
    for category in range(n_categories):
        apart = np.abs(shares - shares[category])
        distance[category] = apart.sum(axis=1) / 2 if nominal else apart.mean(axis=1)
    known = total[:, 0] > 0
    return np.where(known & known[:, None], distance, 0.0)


def _category_codes(column: Column) -> Integers:
    """Return the category of each row; to miss it is one too."""
    cells = np.zeros(len(column.missing), np.int64)
    cells[~column.missing] = column.factorized()[0] + 1
    return cells


def _ranks(column: Column) -> Integers:
    """Return about where each row's number lies among all, -1 where it is missing."""
    cells = np.full(len(column.missing), -1, np.int64)
    values = column.values.view(np.int64) if column.values.dtype.kind in "mM" else column.values
    distinct = np.unique(values)
    cuts = (
        distinct[np.unique(np.linspace(0, len(distinct) - 1, RANKS).astype(int))]
        if len(distinct)
        else distinct
    )
    cells[~column.missing] = np.searchsorted(cuts, values)
    return cells


def _line(distance: Floats) -> Integers:
    """Return the order on the line that keeps distances best; its direction is that of the order given."""
    squares = distance**2
    centered = squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean()
    values, vectors = np.linalg.eigh(-centered / 2)
    along = vectors[:, np.argmax(values)]
    given = np.arange(len(along)) - (len(along) - 1) / 2
    # Rounding must not decide between categories that are alike.
    along = np.round(along * (1.0 if along @ given >= 0 else -1.0), 9)
    return np.argsort(along, kind="stable")


def _taken(categories: Array, order: Integers) -> Array:
    return objects(categories[k] for k in order) if categories.dtype == object else categories[order]


def _plain(category: Any) -> Any:
    return category.item() if isinstance(category, np.generic) else category
