"""Coarse bins of a column, few enough that pairs of columns can be crossed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats
from paribus._data.table import Column

MOST_LEVELS = 23  # of a nominal column that have a bin of their own; the rest are pooled


@dataclass(frozen=True, eq=False)
class ColumnBins:
    """Numbers between ``edges``, each bin with its upper end, or ``levels`` with a bin each.

    Behind its ``own`` bins there is one of values that are in none of them, such as rare categories, and one
    of missing values.
    """

    edges: Floats
    levels: Mapping[Any, int] | None = None

    @property
    def own(self) -> int:
        """Number of bins that hold certain values."""
        return len(self.edges) + 1 if self.levels is None else len(self.levels)

    @property
    def pooled(self) -> int:
        """The bin of all other values, of which nothing is known together."""
        return self.own

    @property
    def missing(self) -> int:
        """The bin of missing values."""
        return self.own + 1

    def of_categories(self, column: Column) -> Array:
        """Return the bin of each row of a column of categories."""
        assert self.levels is not None
        codes, occurring = column.factorized()
        own = (self.levels.get(plain(category), self.pooled) for category in occurring)
        positions = np.fromiter(own, np.uint8, len(occurring))
        bins = np.full(len(column.missing), self.missing, np.uint8)
        bins[~column.missing] = positions[codes]
        return bins


def bins_of(column: Column, *, nominal: bool, most: int) -> ColumnBins:
    """Bin a column by some rows of it: about evenly many in each of at most ``most`` bins of numbers."""
    if nominal or column.kind in ("category", "string"):
        codes, occurring = column.factorized()
        counts = np.bincount(codes, minlength=len(occurring))
        order = sorted(np.flatnonzero(counts).tolist(), key=lambda c: (-counts[c], str(plain(occurring[c]))))
        return ColumnBins(
            np.empty(0), {plain(occurring[c]): position for position, c in enumerate(order[:MOST_LEVELS])}
        )
    numbers = numbers_of(column)
    ordered = np.sort(numbers[np.isfinite(numbers)])
    distinct = np.unique(ordered)
    if len(distinct) > most:
        cuts = ordered[(len(ordered) - 1) * np.arange(1, most) // most]
        return ColumnBins(np.unique(cuts[cuts < distinct[-1]]))
    return ColumnBins(distinct[:-1])


def numbers_of(column: Column) -> Floats:
    """Return a column of numbers, dates or truth values as floats in the same order, NaN where missing."""
    values = column.values
    if values.dtype.kind in "mM":
        values = values.astype(f"{values.dtype.kind}8[us]").view(np.int64)
    numbers = np.full(len(column.missing), np.nan)
    numbers[~column.missing] = values
    return numbers


def is_ordered(column: Column) -> bool:
    """Return whether values can be converted to numbers; a column of objects may hold others."""
    return column.values.dtype.kind in "biufmM"


def plain(category: Any) -> Any:
    """Return a category as Python has it, whichever library held it."""
    return category.item() if isinstance(category, np.generic) else category
