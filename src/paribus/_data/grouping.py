"""Groups of rows by the values of a column."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from paribus._contracts import NOMINAL, Array, Integers
from paribus._data.rows import Block
from paribus._data.summary import Summary
from paribus._data.table import Column
from paribus._text import at_value, plain_value
from paribus.errors import OptionError
from paribus.notes import Note, NoteCode

MOST_VALUES = 12  # numbers with more distinct values are cut by quantiles
MOST_CATEGORIES = 11  # groups of categories besides the others
QUANTILES = 4  # groups of numbers with many values
OTHER, MISSING = "other", "missing"


class Grouping(Protocol):
    """Assignment of rows to groups, which are numbered in the order of their labels."""

    @property
    def name(self) -> str:
        """Name of the variable that defines the groups."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Name of each group."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Notes on how the groups were formed."""

    def codes(self, block: Block) -> Integers:
        """Return the number of the group of each row of a block, -1 for none."""


@dataclass(frozen=True, eq=False)
class GroupsByColumn:
    """Groups by the values of one column: its categories, or intervals of numbers.

    ``categories`` maps each listed value to the number of its group. ``cuts`` are the upper ends of all
    intervals but the last, which belong to them. One of both is empty. The group of other categories is
    second to last, that of missing values last. ``column`` has the values of rows in memory.
    """

    name: str
    labels: tuple[str, ...]
    categories: Mapping[Any, int]
    cuts: Array
    notes: tuple[Note, ...] = ()
    column: Column | None = None

    @classmethod
    def of(cls, name: str, summary: Summary, cuts: Any) -> GroupsByColumn:
        """Form groups from the summary of a column; ``cuts`` are the points given by the user, or None."""
        if cuts is not None:
            return cls._intervals(name, checked_cuts(name, cuts, summary))
        if summary.categories is not None:
            return cls._categories(name, summary)
        edges = summary.edges[0] if summary.edges else np.empty(0)
        inner = edges[1:-1] if summary.unit is None else edges[1:-1].view(summary.unit)
        return cls._intervals(name, inner)

    @classmethod
    def _intervals(cls, name: str, cuts: Array) -> GroupsByColumn:
        labels = interval_labels(distinct_texts(cuts))
        return cls(name, (*labels, OTHER, MISSING), {}, cuts)

    @classmethod
    def _categories(cls, name: str, summary: Summary) -> GroupsByColumn:
        assert summary.category_weights is not None
        values, weights = category_values(summary), summary.category_weights
        kept = list(range(len(values)))
        joined = len(values) > MOST_CATEGORIES + 1
        if joined:
            kept = sorted(np.argsort(-weights, kind="stable")[:MOST_CATEGORIES].tolist())
        labels = distinct_texts(summary.labels(values)[kept])
        other, missing = (distinct_from(labels, label) for label in (OTHER, MISSING))
        notes: tuple[Note, ...] = ()
        if joined:
            rest = float((weights.sum() - weights[kept].sum()) / summary.weight)
            joining = NoteCode.RARE_CATEGORIES.note(
                feature=name,
                categories=len(values),
                kept=MOST_CATEGORIES,
                share=rest,
                treatment=f"the group {other!r}",
            )
            notes = (joining,)
        codes = {values[position]: group for group, position in enumerate(kept)}
        return cls(name, (*labels, other, missing), codes, np.empty(0), notes)

    def codes(self, block: Block) -> Integers:
        """Return the group of each row of a block: all rows in memory, or rows read with the column."""
        column = self.column or block.by
        assert column is not None
        groups = np.full(len(column.missing), len(self.labels) - 1)
        if not len(column.values):
            return groups
        if self.categories:
            codes, found = column.factorized()
            other = len(self.labels) - 2
            groups[~column.missing] = np.array([self.categories.get(value, other) for value in found])[codes]
        else:
            groups[~column.missing] = np.searchsorted(self.cuts, column.values, side="left")
        return groups


def category_values(summary: Summary) -> Array:
    """Return the values of a column that has few, or categories: dates and durations in their unit."""
    assert summary.categories is not None
    return summary.categories if summary.unit is None else summary.categories.view(summary.unit)


def distinct_texts(values: Sequence[Any] | Array) -> list[str]:
    """Return values as short text, or in full if two of them are the same text.

    >>> distinct_texts([0.123456, 0.5]), distinct_texts([0.123456, 0.123457]), distinct_texts([1, "1"])
    (['0.1235', '0.5'], ['0.123456', '0.123457'], ['1', "'1'"])
    """
    texts: list[str] = []
    for write in (at_value, plain_value, lambda value: repr(value) if isinstance(value, str) else str(value)):
        texts = [write(value) for value in values]
        if len(set(texts)) == len(texts):
            break
    return texts


def distinct_from(labels: Sequence[str], label: str) -> str:
    """Return a label, in as many parentheses as distinguish it from others."""
    while label in labels:
        label = f"({label})"
    return label


def interval_labels(ends: list[str]) -> list[str]:
    """Return the labels of the intervals between cut points; an interval contains its upper end.

    >>> interval_labels(["1", "2.5"])
    ['<= 1', '(1, 2.5]', '> 2.5']
    """
    if not ends:
        return ["all"]
    inner = [f"({low}, {high}]" for low, high in pairwise(ends)]
    return [f"<= {ends[0]}", *inner, f"> {ends[-1]}"]


def checked_cuts(name: str, cuts: Any, summary: Summary) -> Array:
    """Return cut points in the type of the column, or raise unless they are increasing numbers or dates."""
    argument = f"by={{{name!r}: {cuts!r}}}"
    if summary.kind in NOMINAL:
        raise OptionError(f"{argument}: {name!r} has categories, which have no cut points; pass by={name!r}")
    try:
        if summary.unit is not None:
            cuts = [_in_utc(cut) for cut in cuts]
        points = np.asarray(cuts, dtype=np.float64 if summary.unit is None else summary.unit)
    except (TypeError, ValueError) as error:
        raise OptionError(
            f"{argument}: cut points must be numbers, or dates for a column of dates"
        ) from error
    if points.ndim != 1 or not len(points) or (points != points).any() or (points[1:] <= points[:-1]).any():
        raise OptionError(f"{argument}: give at least one cut point, in increasing order")
    return points


def _in_utc(cut: Any) -> Any:
    """Return a date without a time zone, as columns of dates have them."""
    zoned = getattr(cut, "tzinfo", None) is not None
    return cut.astimezone(datetime.UTC).replace(tzinfo=None) if zoned else cut
