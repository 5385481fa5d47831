"""A few rows through preprocessing in several ways: a proof about a class is none about an object.

Each step must make of a row what it makes of it beside fewer rows, alone, and beside a row without values and
one far from all others; and of rows whose columns were exchanged what it made of the columns where they came
from. This is done once per model, not again in every block: one row alone takes a step as long as thousands.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.kinds import missing_objects
from paribus._data.table import CellValues, ScratchBuffer, Table
from paribus.errors import FeatureError, RefusalCode, RefusalError, failure

DISTURBED = 4  # position of the first table that steps need not accept
FAR, EMPTY, DISTURBED_ROWS = 0, 1, 2  # rows that are disturbed, and how many these are
FACTOR = 1e3  # how far one of them is, as a multiple of the largest number
# Of the largest number of a column, what adding up in another order may change: matrix products do so.
SINGLE, DOUBLE = 1e-5, 1e-9


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """The rows of a sample: all of them, every other one, one alone, and with their columns exchanged.

    ``orders (p, i)`` are the rows that the exchanged columns were taken from. The last two tables are the
    rows with one that is far from all others and one without values, and this one alone. Steps need not
    accept them, so that they may be None.
    """

    tables: list[Any]
    some: Integers
    alone: Integers
    orders: Integers

    @classmethod
    def of(cls, sample: Table, together: Iterable[int]) -> Rehearsal:
        """Exchange the columns of a sample; those of the same number in ``together`` stay side by side."""
        rows, numbers = np.arange(len(sample)), list(together)
        rng = np.random.default_rng(0)
        drawn = {number: rng.permutation(rows) for number in sorted(set(numbers))}
        cells: dict[int, CellValues] = {}
        for feature in range(len(sample.names)):
            try:
                cells[feature] = sample.own_cells(feature)
            except FeatureError:  # nothing can be requested of a column that cannot be read
                drawn[numbers[feature]] = rows
        orders = np.stack([drawn[number] for number in numbers])
        index = orders[list(cells)].T[None]
        mixed = sample.stack(1, ScratchBuffer()).at(cells, index)
        some, alone = rows[::2], rows[len(rows) // 2 :][:1]
        fewer = [sample.keep(np.isin(rows, kept)).native for kept in (some, alone)]
        return cls([copied(sample.native), *fewer, mixed, *_disturbed(sample.native)], some, alone, orders)

    def through(self, step: Any, tables: list[Any]) -> list[Any]:
        """Return what a step makes of the tables, None of those that it need not accept and does not."""
        made: list[Any] = []
        for position, table in enumerate(tables):
            if table is None:
                made.append(None)
                continue
            try:
                with np.errstate(all="ignore" if position >= DISTURBED else None):
                    made.append(step.transform(copied(table)))
            except Exception as error:  # whatever a foreign transformer raises
                if position >= DISTURBED:
                    made.append(None)
                    continue
                raise RefusalError(
                    f"{title_of(step)} failed on rows of X: {failure(error)}", RefusalCode.UNSUPPORTED
                ) from error
            shape = shape_of(made[-1])
            if shape[0] != shape_of(table)[0] or shape[1] != shape_of(made[0])[1]:
                raise RefusalError(
                    f"{title_of(step)} does not return one row per row, of the same columns",
                    RefusalCode.UNSUPPORTED,
                )
        return made

    def check(
        self, step: Any, tables: list[Any], made: list[Any], owners: tuple[frozenset[int], ...]
    ) -> None:
        """Refuse a step that looks at other rows, changes what it does, or mixes columns unannounced."""
        whole, scale = made[0], _scale(made[0])
        compared = [(made[1], whole, self.some), (made[2], whole, self.alone)]
        if made[-2] is not None:
            still = np.arange(DISTURBED_ROWS, len(self.orders[0]))
            compared.append((_rows(made[-2], still), whole, still))
        if made[-2] is not None and made[-1] is not None:
            compared.append((made[-1], made[-2], np.array([EMPTY])))
        for fewer, beside, kept in compared:
            if not _near(fewer, _rows(beside, kept), scale):
                again = self.through(step, tables[:1])[0]
                why = "transforms a row in another way when other rows are beside it"
                if not _near(again, whole, scale):
                    why = "transforms the same rows in another way each time"
                raise RefusalError(f"{title_of(step)} {why}", RefusalCode.UNSUPPORTED)
        # An output of features that were exchanged among one another may have become anything.
        source = [min(owner, default=-1) for owner in owners]
        known = [len({self.orders[feature].tobytes() for feature in owner}) <= 1 for owner in owners]
        expected = self._exchanged(whole, source)
        places = np.flatnonzero(known).tolist()
        rounding = scale[places] if len(scale) == len(owners) else scale
        if not _near(_columns(made[3], places), _columns(expected, places), rounding):
            raise RefusalError(
                f"{title_of(step)} makes columns that change with others than they are made of",
                RefusalCode.UNSUPPORTED,
            )

    def _exchanged(self, made: Any, source: list[int]) -> Any:
        """Return a table whose columns are taken from the rows their features were taken from."""
        still = np.arange(self.orders.shape[1])
        orders = np.concatenate([self.orders, still[None]])  # the last one, of what depends on none
        if not _is_sparse(made):
            return np.take_along_axis(_array(made), orders[source].T, axis=0)
        entries, places = made.tocoo(), np.argsort(orders, axis=1)
        rows = places[np.array(source)[entries.col], entries.row]
        return type(entries)((entries.data, (rows, entries.col)), shape=entries.shape)


def _disturbed(native: Any) -> list[Any]:
    """Return rows of which one is far from the others and one without values, and this one alone."""
    frame = hasattr(native, "iloc")
    if len(native) <= DISTURBED_ROWS or not (frame or isinstance(native, np.ndarray)):
        return [None, None]
    made = copied(native)
    cells = made.iloc if frame else made
    for position in range(made.shape[1]):
        dtype = cells[:, position].dtype
        if dtype.kind != "f":  # text without a value may be a category that an encoder warns about
            continue
        size = np.abs(np.asarray(cells[:, position], dtype=np.float64))
        far = FACTOR * np.max(np.where(np.isfinite(size), size, 0.0))
        # A frame takes no number that its column has to round.
        single = isinstance(dtype, np.dtype)
        cells[FAR, position] = dtype.type(min(far, np.finfo(dtype).max / 2)) if single else far
        cells[EMPTY, position] = np.nan
    return [made, cells[[EMPTY]]]


def title_of(step: Any) -> str:
    """Return what a step is called: its class, with the function it was given."""
    function = getattr(step, "func", None)
    if type(step).__name__ != "FunctionTransformer" or function is None:
        return type(step).__name__
    return f"FunctionTransformer({getattr(function, '__name__', type(function).__name__)})"


def shape_of(table: Any) -> tuple[int, int]:
    """Return the number of rows and columns; a single column may have one dimension."""
    shape = tuple(map(int, np.shape(table)))
    if len(shape) > 2 or not shape:
        raise RefusalError(f"a step returns an array of shape {shape}", RefusalCode.UNSUPPORTED)
    return (shape[0], shape[1]) if len(shape) == 2 else (shape[0], 1)


def copied(table: Any) -> Any:
    """Return a table that a step may write into; frames of polars and Arrow cannot be written into."""
    if isinstance(table, np.ndarray) or hasattr(table, "iloc") or hasattr(table, "tocsr"):
        return table.copy()
    return table


def _is_sparse(table: Any) -> bool:
    return hasattr(table, "tocsr")


def _array(table: Any) -> Array:
    values = np.asarray(table, dtype=object if isinstance(table, list) else None)
    return values[:, None] if values.ndim == 1 else values


def _rows(table: Any, kept: Integers) -> Any:
    return table.tocsr()[kept] if _is_sparse(table) else _array(table)[kept]


def _columns(table: Any, places: list[int]) -> Any:
    return table.tocsc()[:, places] if _is_sparse(table) else _array(table)[:, places]


def _stored(table: Any) -> tuple[Array, Array, Array]:
    """Return where a sparse table stores what; an entry that is stored as zero may be no missing one."""
    table = table.tocsr().copy()
    table.sum_duplicates()
    return table.indptr, table.indices, table.data


def _scale(table: Any) -> Floats:
    """Return what rounding may change in each column, or in all of a sparse table."""
    values = table.data[:, None] if _is_sparse(table) else _array(table)
    if values.dtype.kind not in "fiub":
        return np.zeros(values.shape[1])
    largest = np.abs(np.where(np.isfinite(values), values, 0)).max(axis=0, initial=0)
    return np.asarray(largest * (SINGLE if values.dtype == np.float32 else DOUBLE), dtype=np.float64)


def _near(one: Any, two: Any, rounding: Floats) -> bool:
    """Return whether two tables hold the same values but for rounding, whatever they are held by."""
    if _is_sparse(one) and _is_sparse(two):
        (starts, indices, data), (other_starts, other_indices, other) = _stored(one), _stored(two)
        placed = np.array_equal(starts, other_starts) and np.array_equal(indices, other_indices)
        return placed and _near(data[:, None], other[:, None], rounding)
    one, two = (table.toarray() if _is_sparse(table) else _array(table) for table in (one, two))
    if one.shape != two.shape:
        return False
    if one.dtype.kind not in "fiub" or two.dtype.kind not in "fiub":
        gaps, other_gaps = (missing_objects(table.astype(object).ravel()) for table in (one, two))
        pairs = zip(one.ravel()[~gaps], two.ravel()[~other_gaps], strict=False)
        return np.array_equal(gaps, other_gaps) and all(np.array_equal(*pair) for pair in pairs)
    return bool(np.isclose(one, two, rtol=0.0, atol=rounding, equal_nan=True).all())
