"""Axes of features, and grids of the points at which effects are evaluated."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Integers, Kind
from paribus._data.kinds import missing_objects, objects
from paribus._data.summary import Summary, outer_points
from paribus._data.table import CellValues, Column, Table
from paribus.errors import GridError, OptionError
from paribus.notes import Note, NoteCode

SPLITS = "splits"  # grid_resolution with a point on each side of every threshold of the trees
CONSTANT = 0.95  # share of the data with the same value, from which a feature is nearly constant
UNORDERED: tuple[Kind, ...] = ("category", "string")  # kinds whose categories have an order only if declared
RESOLUTION = 50  # maximum number of points of a number or date
MAX_CATEGORIES = 100  # maximum number of categories on an axis, unless grid_resolution is larger


Coverage: TypeAlias = Literal["values", "range", "part"]  # part of the data that an axis covers


@dataclass(frozen=True)
class GridOptions:
    """Options of axes without custom values.

    Without ``percentiles``, axes cover the whole range of the data, at observed values in its tails.
    ``splits`` places points on both sides of the thresholds of trees.
    """

    percentiles: tuple[float, float] | None = None
    resolution: int = RESOLUTION
    splits: bool = False

    @classmethod
    def of(cls, percentiles: Any, grid_resolution: Any) -> GridOptions:
        """Validate the user's arguments."""
        if isinstance(grid_resolution, str) and grid_resolution == SPLITS:
            return replace(cls.of(percentiles, cls.resolution), splits=True)
        between = None if percentiles is None else cls._between(percentiles)
        whole = isinstance(grid_resolution, (int, np.integer)) and not isinstance(grid_resolution, bool)
        if not whole or grid_resolution < 2:
            raise OptionError(
                f"grid_resolution={grid_resolution!r} must be an integer of at least 2, or {SPLITS!r}"
            )
        return cls(between, int(grid_resolution))

    @staticmethod
    def _between(percentiles: Any) -> tuple[float, float]:
        """Validate two percentiles."""
        try:
            low, high = (float(p) for p in percentiles)
        except (TypeError, ValueError) as error:
            raise OptionError(
                f"percentiles={percentiles!r} must be None or two numbers such as (0.05, 0.95)"
            ) from error
        if not 0 <= low < high <= 1:
            raise OptionError(
                f"percentiles={percentiles!r} must satisfy 0 <= lower < upper <= 1, as in (0.05, 0.95)"
            )
        return low, high


@dataclass(frozen=True, eq=False)
class Axis:
    """The grid values of one feature.

    ``cells`` has the values in the dtype of the column, followed by the missing value if the data has any.
    ``values`` are the reported values: NumPy numbers and dates, names of codes, or text. ``missing`` is
    the weight of rows with a missing value, ``missing_share`` its share. ``ordered`` says whether the order
    of the values has a meaning. ``cell_counts`` is the number of rows in each cell, None if the summary did
    not count them. ``value_counts`` is the number of rows with each value and between two values, see
    `count_values`. ``rank_error`` bounds the rank error of the quantiles that placed the values, as a share
    of the data; it is 0 without estimated quantiles. ``covers`` says whether the points are all distinct
    values of the data, represent its whole range, or cover a part of it.
    """

    feature: int
    name: str
    kind: Kind
    cells: CellValues
    values: Array
    missing: float
    missing_share: float
    deciles: Array | None
    notes: tuple[Note, ...]
    ordered: bool
    cell_counts: Integers | None = None
    value_counts: Integers | None = None
    rank_error: float = 0.0
    covers: Coverage = "values"

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nominal(self) -> bool:
        """Whether the values are categories."""
        return self.kind in NOMINAL

    @cached_property
    def distinct(self) -> tuple[Array, Integers]:
        """The sorted distinct numbers (integers for dates) of the axis, and the index of each point."""
        ticks, inverse = np.unique(_dates_as_integers(self.cells.values), return_inverse=True)
        return ticks, inverse

    @cached_property
    def _codes(self) -> dict[Any, int]:
        """The cell of each category."""
        return {category: code for code, category in enumerate(dict.fromkeys(self.cells.values.tolist()))}

    @property
    def n_cells(self) -> int:
        """Number of cells; repeated points share a cell."""
        return len(self._codes) if self.nominal else len(self.distinct[0])

    @property
    def cell_of_point(self) -> Integers:
        """The cell around each point."""
        if not self.nominal:
            return self.distinct[1]
        codes = (self._codes[category] for category in self.cells.values.tolist())
        return np.fromiter(codes, np.int64, len(self))

    def locate(self, column: Column) -> Integers:
        """Return the cell of each row, -1 for rows beyond the grid or missing.

        The cell of a number extends half-way to its neighbors, including the upper end. At an end point it
        extends as far on the outer side. A single point contains only the rows equal to it.
        """
        result = np.full(len(column.missing), -1, dtype=np.int64)
        if len(self):
            result[~column.missing] = (
                self._of_categories(column) if self.nominal else self._of_numbers(column.values)
            )
        return result

    def nearest(self, column: Column) -> Integers:
        """Return the cell of the point nearest to each row; -1 for other categories and missing values."""
        cells = self.locate(column)
        if len(self) and not self.nominal:
            numbers = self.ticks_of(column)
            places = np.zeros(len(numbers), np.int64)
            if self.n_cells > 1:
                places = np.searchsorted(self._edges[0][:-1], numbers)
            cells[~column.missing] = places
        return cells

    def count_rows(self, column: Column) -> Integers:
        """Return the number of rows in each cell of an axis of categories."""
        if not len(self):
            return np.zeros(0, dtype=np.int64)
        cells = self._of_categories(column)
        return np.bincount(cells[cells >= 0], minlength=self.n_cells)

    def ticks_of(self, column: Column) -> Array:
        """Return the values of a column that are not missing in the dtype of the axis; dates are integers."""
        return _dates_as_integers(column.values.astype(self.cells.values.dtype, copy=False))

    def count_categories(self, summary: Summary) -> Integers:
        """Return the number of rows in each cell, from a summary that counted every category."""
        counts = np.zeros(self.n_cells, np.int64)
        assert summary.categories is not None
        assert summary.category_weights is not None
        for category, count in zip(summary.categories.tolist(), summary.category_weights, strict=True):
            if category in self._codes:
                counts[self._codes[category]] += int(count)
        return counts

    def count_sorted(self, numbers: Array) -> Integers:
        """Return the number of sorted values in each cell; dates are integers."""
        ticks = self.distinct[0]
        numbers = numbers.astype(ticks.dtype, copy=False)
        if len(ticks) == 1:
            return np.array([np.count_nonzero(numbers == ticks[0])])
        uppers, lowest = self._edges
        below = np.count_nonzero(numbers <= lowest)
        return np.diff(np.searchsorted(numbers, uppers, side="right"), prepend=below)

    def count_values(self, numbers: Array, weights: Floats) -> Array:
        """Return the weight of numbers below, at and between the distinct values, ``(2 c + 1,)``.

        Entries ``2 k + 1`` are at the value ``k``, entries ``2 k`` between it and the one before. Dates are
        integers. NaN and infinities are not counted.
        """
        ticks = self.distinct[0]
        numbers = numbers.astype(ticks.dtype, copy=False)
        finite = np.isfinite(numbers)
        numbers, weights = numbers[finite], weights[finite]
        places = np.searchsorted(ticks, numbers) + np.searchsorted(ticks, numbers, side="right")
        return np.bincount(places, weights, minlength=2 * len(ticks) + 1)

    def count_sorted_values(self, ordered: Array) -> Integers:
        """Return the number of sorted values below, at and between the distinct values of the axis."""
        ticks = self.distinct[0]
        ends = np.stack([np.searchsorted(ordered, ticks, side=side) for side in ("left", "right")], axis=1)
        return np.diff(ends.ravel(), prepend=0, append=len(ordered))

    @cached_property
    def _edges(self) -> tuple[Array, Any]:
        """The upper end of every cell, and the lower end of the first one, which is not in it."""
        ticks = self.distinct[0]
        if ticks.dtype.kind == "f":
            middles = (ticks[:-1] + ticks[1:]) / 2
            return np.append(middles, 2 * ticks[-1] - middles[-1]), 2 * ticks[0] - middles[0]
        # Integers are halved as integers: beyond 2**53, floats would merge neighbors.
        whole = [int(tick) for tick in ticks]
        halves = [(upper - lower) // 2 for lower, upper in pairwise(whole)]
        uppers = [tick + half for tick, half in zip(whole, [*halves, halves[-1]], strict=True)]
        largest = np.iinfo(ticks.dtype).max
        lowest = whole[0] - (whole[1] - whole[0] + 1) // 2
        return np.array([min(upper, largest) for upper in uppers], dtype=ticks.dtype), lowest

    def _of_categories(self, column: Column) -> Integers:
        """Return the cell of each non-missing row of a nominal column."""
        codes, occurring = column.factorized()
        # As Python objects, like the keys of the axis.
        plain = (one.item() if isinstance(one, np.generic) else one for one in occurring)
        cells = (self._codes.get(category, -1) for category in plain)
        return np.fromiter(cells, np.int64, len(occurring))[codes]

    def _of_numbers(self, values: Array) -> Integers:
        """Return the cell of each number or date."""
        ticks = self.distinct[0]
        numbers = _dates_as_integers(values.astype(self.cells.values.dtype, copy=False))
        if len(ticks) == 1:
            return np.where(numbers == ticks[0], 0, -1)
        uppers, lowest = self._edges
        cells = np.searchsorted(uppers, numbers)
        return np.where((numbers > lowest) & (cells < len(ticks)), cells, -1)


@dataclass(frozen=True, eq=False)
class Grid:
    """The points of one effect: the product of its axes, with the last one varying fastest.

    A single axis whose feature has missing values has an additional last point, the missing value.
    """

    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of values per axis."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def includes_missing(self) -> bool:
        """Whether the last point is the missing value."""
        return len(self.axes) == 1 and self.axes[0].missing > 0

    @property
    def n_points(self) -> int:
        """Number of points, the missing value included."""
        return math.prod(self.shape) + self.includes_missing

    def index(self, first: int, stop: int) -> Integers:
        """Return the cell on each axis of the points from ``first`` to ``stop``, shape ``(b, d)``."""
        points = np.arange(first, min(stop, self.n_points))
        if len(self.axes) == 1:
            return points[:, None]
        return np.stack(np.unravel_index(points, self.shape), axis=1)

    def nearest_point(self, column: Column) -> Integers:
        """Return the point nearest to each row of the feature of a single axis, -1 for none."""
        (axis,) = self.axes
        point_of_cell = np.unique(axis.cell_of_point, return_index=True)[1].astype(np.int64)
        points = np.append(point_of_cell, -1)[axis.nearest(column)]
        return np.where(column.missing, len(axis) if self.includes_missing else -1, points)

    @property
    def replacements(self) -> dict[int, CellValues]:
        """The cells of each column that this grid replaces."""
        return {axis.feature: axis.cells for axis in self.axes}

    @property
    def columns(self) -> tuple[tuple[int, Column], ...]:
        """Each feature with the column of its values, including the missing value if that is a point."""
        columns = (axis.cells.column for axis in self.axes)
        if not self.includes_missing:
            columns = (column.present() for column in columns)
        return tuple(zip((axis.feature for axis in self.axes), columns, strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(axis.name for axis in self.axes)


@dataclass(frozen=True, eq=False)
class ObservedValues(Grid):
    """The observed values of some columns as a grid, with each distinct combination once.

    ``row (g,)`` is a row with the values of each point, and ``point (n,)`` the point of each row. ``labels``
    are the names of the features, and ``cells`` the values of all rows by feature.
    """

    labels: tuple[str, ...]
    cells: Mapping[int, CellValues]
    row: Integers
    point: Integers

    @classmethod
    def of(cls, table: Table, features: tuple[int, ...]) -> ObservedValues:
        """Find the distinct combinations; missing values are equal to each other."""
        key = np.zeros(len(table), np.int64)
        for feature in features:
            column = table.column(feature)
            own = np.zeros(len(table), np.int64)  # 0 for a missing value
            own[~column.missing] = column.factorized()[0] + 1
            _, key = np.unique(key * (int(own.max(initial=0)) + 1) + own, return_inverse=True)
        _, row, point = np.unique(key, return_index=True, return_inverse=True)
        cells = {feature: table.own_cells(feature) for feature in features}
        return cls((), tuple(table.names[feature] for feature in features), cells, row, point)

    @property
    def n_points(self) -> int:
        """Number of distinct combinations."""
        return len(self.row)

    def index(self, first: int, stop: int) -> Integers:
        """Return the row with the values of the points from ``first`` to ``stop``, shape ``(b, d)``."""
        return np.repeat(self.row[first:stop, None], len(self.cells), axis=1)

    @property
    def replacements(self) -> dict[int, CellValues]:
        """The cells of each column that this grid replaces."""
        return dict(self.cells)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.labels


def moved_values(grids: Sequence[Grid]) -> tuple[list[tuple[int, CellValues]], list[list[int]]]:
    """Return the distinct feature values of all grids, and the positions of those of each grid's axes."""
    requests: dict[tuple[int, int, int], tuple[int, CellValues]] = {}
    keys = []
    for grid in grids:
        own = [(feature, grid.replacements[feature], len(column.missing)) for feature, column in grid.columns]
        keys.append([(feature, id(cells), count) for feature, cells, count in own])
        for key, (feature, cells, count) in zip(keys[-1], own, strict=True):
            if key not in requests:
                requests[key] = feature, cells.head(count)
    position = {key: number for number, key in enumerate(requests)}
    return list(requests.values()), [[position[key] for key in own] for own in keys]


def axis_of(
    summary: Summary,
    like: Table,
    feature: int,
    options: GridOptions,
    *,
    given: Any = None,
    sides: Callable[[int, Summary], Array] | None = None,
) -> Axis:
    """Lay out the axis of a feature from its summary, and count the rows in its cells if possible.

    ``sides`` returns the values on both sides of the model's thresholds, for a feature and its summary. With
    it, the axis of a number or date has these values and the extremes.
    """
    if sides is not None and given is None and summary.extremes is not None and summary.dtype is not None:
        low, high = summary.extremes
        known = sides(feature, summary)
        given = np.unique(np.append(known[(known > low) & (known < high)], [low, high]).astype(summary.dtype))
        given = given if summary.unit is None else given.view(summary.unit)
    axis = axis_from(summary, like, feature, options, given)
    axis = axis if sides is None else replace(axis, covers="range")
    if not len(axis):
        return axis
    if axis.nominal and summary.counted:
        return replace(axis, cell_counts=axis.count_categories(summary))
    if axis.nominal or summary.ordered is None:
        return axis
    cells, values = axis.count_sorted(summary.ordered), axis.count_sorted_values(summary.ordered)
    return replace(axis, cell_counts=cells, value_counts=values)


def axis_from(summary: Summary, like: Table, feature: int, options: GridOptions, given: Any = None) -> Axis:
    """Lay out an axis from a summary; ``like`` is a table with the same columns, to convert values."""
    notes: list[Note] = []
    if given is not None:
        values = given_values(given, summary)
    else:
        values, notes = laid_out(summary, options)
    cells = written(like, feature, values, exact=summary.kind != "numeric")
    if summary.missing_row is not None:
        cells = summary.missing_row.with_missing(feature, cells)
    if cells.column.zone not in (None, "UTC"):
        notes.append(NoteCode.TIME_ZONE.note(feature=summary.name, zone=str(cells.column.zone)))
    if given is None:
        notes.extend(_hardly_varies(summary))
    if summary.infinite:
        share = summary.infinite / summary.weight
        notes.append(NoteCode.INFINITE_VALUES.note(feature=summary.name, share=share))
    # Values at every distinct value, or between the extremes, do not depend on quantiles.
    by_quantiles = given is None and summary.categories is None and options.percentiles != (0.0, 1.0)
    return Axis(
        feature,
        summary.name,
        summary.kind,
        cells,
        summary.labels(_values_for_results(cells.values)),
        summary.missing,
        summary.missing_share,
        _as_unit(summary.deciles, summary.unit),
        tuple(notes),
        # The order of custom categories has a meaning.
        ordered=summary.kind not in UNORDERED or summary.ranked or given is not None,
        rank_error=summary.rank_error if by_quantiles else 0.0,
        covers="part" if given is not None else _coverage(summary, options, len(values)),
    )


def _coverage(summary: Summary, options: GridOptions, points: int) -> Coverage:
    """Return which part of the data an axis of so many points, without custom values, covers."""
    if summary.categories is not None:
        return "values" if points == len(summary.categories) else "range"
    if summary.ends is None or options.percentiles in (None, (0.0, 1.0)):
        return "range"
    return "range" if summary.ends[0] == summary.ends[1] else "part"  # see `laid_out`


def _hardly_varies(summary: Summary) -> list[Note]:
    """Return a note on a nearly constant feature, if it is one."""
    value, weight = summary.common or (0.0, 0.0)
    if summary.ends is None and summary.category_weights is not None and len(summary.category_weights):
        position = int(np.argmax(summary.category_weights))
        assert summary.categories is not None
        value = summary.labels(summary.categories)[position]
        weight = float(summary.category_weights[position])
    single = summary.categories is not None and len(summary.categories) == 1
    if single or weight < CONSTANT * summary.weight:
        return []
    shown = str(value) if summary.ends is None else _written_number(value, summary)
    return [NoteCode.NEARLY_CONSTANT.note(feature=summary.name, value=shown, share=weight / summary.weight)]


def laid_out(summary: Summary, options: GridOptions) -> tuple[Array, list[Note]]:
    """Return the values of an axis: categories, distinct values, or evenly spaced values."""
    categories, name = summary.categories, summary.name
    if categories is not None and summary.category_weights is not None and summary.ends is None:
        if not len(categories):
            return _as_unit(categories, summary.unit), [NoteCode.NO_VALUE.note(feature=name)]
        return _most_frequent(
            summary, categories, summary.category_weights, max(options.resolution, MAX_CATEGORIES)
        )
    if categories is not None:
        return _as_unit(categories, summary.unit), [] if len(categories) > 1 else _single_value(summary)
    assert summary.ends is not None
    assert summary.extremes is not None
    low, high = summary.ends
    if options.percentiles is None:
        return _over_whole_range(summary, options.resolution), []
    if low < high:
        return _on_steps(_evenly_spaced(low, high, summary, options.resolution), summary), []
    around = _evenly_spaced(*summary.extremes, summary, max(2, options.resolution - 1))
    common = np.array([low]).astype(around.dtype)
    return _on_steps(np.unique(np.append(around, common)), summary), []


def _over_whole_range(summary: Summary, resolution: int) -> Array:
    """Return evenly spaced values in the center, and observed values in the tails up to the extremes."""
    assert summary.ends is not None
    assert summary.outer is not None
    (low, high), (below, above) = summary.ends, summary.outer
    points = resolution - 2 * outer_points(resolution)
    if low == high or points == 1:
        center = _evenly_spaced((low + high) / 2, (low + high) / 2, summary, 2)[:1]
    else:
        center = _evenly_spaced(low, high, summary, points) if points else below[:0]
    if summary.kind != "numeric":
        center = center.astype(below.dtype)  # integers of one type, which no join converts to floats
    outer = [below[:1], below[below < low], center, above[above > high], above[-1:]]
    return _on_steps(np.unique(np.concatenate(outer)), summary)


def _most_frequent(
    summary: Summary, categories: Array, weights: Floats, most: int
) -> tuple[Array, list[Note]]:
    """Return the most frequent categories in their order, with a note if some are omitted."""
    name = summary.name
    if len(categories) == 1:
        return categories, _single_value(summary)
    if len(categories) <= most:
        return categories, []
    kept = np.sort(np.argsort(-weights, kind="stable")[:most])
    note = NoteCode.RARE_CATEGORIES.note(
        feature=name,
        categories=len(categories),
        kept=most,
        share=(weights.sum() - weights[kept].sum()) / summary.weight,
        treatment="left out",
    )
    return categories[kept], [note]


def _single_value(summary: Summary) -> list[Note]:
    """Return a note on a feature with a single value; missing values may differ from it."""
    if summary.missing:
        return []
    return [NoteCode.SINGLE_VALUE.note(feature=summary.name)]


def _evenly_spaced(low: float, high: float, summary: Summary, resolution: int) -> Array:
    """Return evenly spaced values; those of integers and dates are rounded and distinct."""
    if summary.kind == "numeric":
        return np.linspace(low, high, resolution)
    assert summary.extremes is not None
    smallest, largest = (int(extreme) for extreme in summary.extremes)
    first, last = max(round(low), smallest), min(round(high), largest)
    dtype = np.uint64 if last > np.iinfo(np.int64).max else np.int64
    gaps = resolution - 1
    # As Python integers, which are exact and do not overflow.
    positions = (first + (2 * (last - first) * k + gaps) // (2 * gaps) for k in range(resolution))
    return np.array(list(dict.fromkeys(positions)), dtype=dtype)


def _on_steps(values: Array, summary: Summary) -> Array:
    """Round dates and durations to the resolution of the column, and drop duplicates."""
    if summary.steps is None or summary.unit is None:
        return values
    assert summary.extremes is not None
    low, high = (int(extreme) for extreme in summary.extremes)
    held = np.clip(summary.steps.nearest(values, summary.unit), low, high)
    return np.unique(held).view(summary.unit)


def _as_unit(ticks: Array | None, unit: np.dtype[Any] | None) -> Any:
    """Convert integers to dates if the column has a unit of dates."""
    if ticks is None or unit is None:
        return ticks
    # Integers are not rounded, because a float cannot represent all nanoseconds.
    whole = ticks if ticks.dtype.kind == "i" else np.rint(ticks).astype(np.int64)
    return whole.view(unit)


def _written_number(value: float, summary: Summary) -> str:
    """Return a number or date as text."""
    if summary.unit is None:
        return f"{value:g}"
    date = _as_unit(np.array([value]), summary.unit)[0]
    return str(date.astype("M8[s]")).replace("T00:00:00", "") if summary.unit.kind == "M" else str(date)


def given_values(given: Any, summary: Summary) -> Array:
    """Validate and convert custom grid values."""
    name = summary.name
    if isinstance(given, (str, set, frozenset, Mapping)) or not hasattr(given, "__len__"):
        raise GridError(f"custom_values for {name!r} must be a list of values, not {given!r}")
    if np.ndim(given) != 1 or not len(given):
        raise GridError(
            f"custom_values for {name!r} must be a non-empty one-dimensional list; "
            f"its shape is {np.shape(given)}"
        )
    items = objects(given)
    if missing_objects(items).any():
        raise GridError(
            f"custom_values for {name!r} has a missing value; the effect at missing is reported separately "
            f"as .missing if the data has missing values"
        )
    if summary.names is not None:
        codes = {label: code for code, label in summary.names.items()}
        _check_categories(name, items, (*codes, *summary.names))
        items = given = objects(codes.get(item, item) for item in items)
    if summary.declared is not None:
        _check_categories(name, items, summary.declared)
    if summary.unit is not None:
        return _given_dates(name, items, summary.unit)
    array = np.asarray(list(given))
    if array.dtype.kind == "c":
        raise GridError(f"custom_values for {name!r} has complex numbers; give real ones")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise GridError(f"custom_values for {name!r} has an infinite value; give finite ones")
    return items if array.dtype.kind in "OUST" else array


def _check_categories(name: str, items: Array, categories: tuple[Any, ...]) -> None:
    """Raise for values that are not among the declared categories."""
    unknown = [item for item in items if item not in categories]
    if unknown:
        shown = ", ".join(map(repr, categories[:8])) + (", ..." if len(categories) > 8 else "")
        raise GridError(f"{unknown[0]!r} is not a category of {name!r}, which has {shown}")


def _given_dates(name: str, items: Array, unit: np.dtype[Any]) -> Array:
    """Convert dates or durations; those with a time zone are converted to UTC."""
    numbers = (item for item in items if isinstance(item, (int, float, np.number)))
    number = next((item for item in numbers if not isinstance(item, np.timedelta64)), None)
    if number is not None:
        raise GridError(
            f"{number!r} is not a valid grid value of {name!r}; pass dates, durations or text such as "
            "2026-01-31"
        )
    finest = "ns" if np.datetime_data(unit)[0] == "ns" else "us"
    try:
        fine = np.array([_naive(item) for item in items], dtype=f"{unit.kind}8[{finest}]")
        values = np.array([_naive(item) for item in items], dtype=unit)
    except (TypeError, ValueError) as error:
        raise GridError(f"custom_values for {name!r} cannot be read as dates: {error}") from error
    if (values.astype(fine.dtype) != fine).any():
        raise GridError(f"custom_values for {name!r} are finer than its dtype {unit} can hold")
    return values


def _naive(item: Any) -> Any:
    """Convert a date with a time zone, or its text, to UTC without a time zone."""
    if isinstance(item, str):
        try:
            item = datetime.datetime.fromisoformat(item)
        except ValueError:
            return item  # NumPy reads further formats, such as 2026-01, and raises for others
    if getattr(item, "tzinfo", None) is not None:
        item = item.astimezone(datetime.UTC).replace(tzinfo=None)
    # NumPy would drop the nanoseconds of pandas objects.
    exact = getattr(item, "to_datetime64", None) or getattr(item, "to_timedelta64", None)
    return item if exact is None else exact()


def written(table: Table, feature: int, values: Array, *, exact: bool) -> CellValues:
    """Convert values to the dtype of the column; with ``exact``, raise if a value changes."""
    cells = table.cells(feature, values)
    name, dtype = table.names[feature], table.dtype(feature)
    if len(cells.values) != len(values) or (not exact and not np.isfinite(cells.values).all()):
        raise GridError(f"some grid values of {name!r} cannot be represented in its dtype {dtype}")
    if exact:
        for requested, got in zip(values.tolist(), cells.values.tolist(), strict=True):
            if requested != got:
                raise GridError(
                    f"{requested!r} is not a valid grid value of {name!r}, whose dtype is {dtype}; "
                    "pass representable values, or cast the column in X"
                )
    return cells


def _dates_as_integers(values: Array) -> Array:
    """Return dates and durations as integers, and other values unchanged."""
    return values.view(np.int64) if values.dtype.kind in "mM" else values


def _values_for_results(values: Array) -> Array:
    """Return values for results: numbers, dates and text, with other categories as text."""
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        return values.astype(np.float64)
    if values.dtype.kind == "S":
        return objects(value.decode(errors="backslashreplace") for value in values.tolist())
    if values.dtype.kind in "UT":
        return values.astype(object)
    if values.dtype != object:
        return values
    plain = (str, int, float, bool, datetime.date)
    return objects(v if isinstance(v, plain) else str(v) for v in values)
