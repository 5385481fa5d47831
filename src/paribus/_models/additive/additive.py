"""Additive models and their terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._data.table import CellValues, Column, Table
from paribus._models.predictor import Link
from paribus._models.preprocessing.preparation import Preparation, SparseTable
from paribus.errors import RefusalCode, RefusalError


class Terms(ABC):
    """A function of each column; ``shape`` is the number of margins and of columns."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Number of margins, and of columns."""

    @property
    @abstractmethod
    def used(self) -> Flags:
        """Which columns add anything but zero, ``(c,)``."""

    @property
    @abstractmethod
    def finite(self) -> bool:
        """Whether no number they are made of is infinite or NaN."""

    @property
    @abstractmethod
    def arrays(self) -> tuple[Floats, ...]:
        """All numbers they are made of."""

    @abstractmethod
    def at(self, column: int, numbers: Floats) -> Floats:
        """Return what a column adds at some numbers, ``(m, v)``."""

    def of_stored(self, columns: Integers, stored: Any) -> Floats:
        """Return what the columns of a sparse matrix, compressed by column, add to its rows, ``(m, i)``.

        That of zero is added to every row, and what the stored entries change to theirs.
        """
        term = np.zeros((self.shape[0], stored.shape[0]))
        for number, column in enumerate(columns.tolist()):
            entries = slice(*stored.indptr[number : number + 2])
            nothing = self.at(column, np.zeros(1))
            term += nothing
            changed = self.at(column, stored.data[entries].astype(np.float64)) - nothing
            term[:, stored.indices[entries]] += changed
        return term


@dataclass(frozen=True, eq=False)
class LinearTerms(Terms):
    """Coefficients ``(m, c)`` times the columns."""

    coefficients: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Number of margins, and of columns."""
        margins, columns = self.coefficients.shape
        return margins, columns

    @property
    def used(self) -> Flags:
        """The columns that have a coefficient."""
        return np.asarray(self.coefficients.any(axis=0))

    @property
    def finite(self) -> bool:
        """Whether all coefficients are finite."""
        return bool(np.isfinite(self.coefficients).all())

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All numbers they are made of."""
        return (self.coefficients,)

    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the products."""
        return np.asarray(self.coefficients[:, column, None] * numbers)

    def of_stored(self, columns: Integers, stored: Any) -> Floats:
        """Return the products of all columns at once, added up column by column."""
        return np.ascontiguousarray((stored @ self.coefficients[:, columns].T).T)


@dataclass(frozen=True, eq=False)
class SquaredTerms(Terms):
    """Squared distances from ``center (m, c)``, times ``factor (m, c)``.

    Written out as a polynomial they would lose the digits that a large center shares with its column.
    """

    center: Floats
    factor: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Number of margins, and of columns."""
        margins, columns = self.center.shape
        return margins, columns

    @property
    def used(self) -> Flags:
        """The columns that have a factor."""
        return np.asarray(self.factor.any(axis=0))

    @property
    def finite(self) -> bool:
        """Whether all centers and factors are finite."""
        return bool(np.isfinite(self.center).all() and np.isfinite(self.factor).all())

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All numbers they are made of."""
        return (self.center, self.factor)

    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the squares."""
        return np.asarray(self.factor[:, column, None] * (numbers - self.center[:, column, None]) ** 2)


@dataclass(frozen=True, eq=False)
class StepTerms(Terms):
    """One number up to a threshold and another above it: ``below`` and ``above``, each ``(m, c)``."""

    threshold: float
    below: Floats
    above: Floats

    @property
    def shape(self) -> tuple[int, int]:
        """Number of margins, and of columns."""
        margins, columns = self.below.shape
        return margins, columns

    @property
    def used(self) -> Flags:
        """The columns that add anything on either side."""
        return np.asarray(self.below.any(axis=0) | self.above.any(axis=0))

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        return bool(np.isfinite(self.below).all() and np.isfinite(self.above).all())

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All numbers they are made of."""
        return (np.array([self.threshold]), self.below, self.above)

    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the number of each side; refuse what single precision puts on another side than double."""
        single = np.float32(self.threshold)
        if float(single) != self.threshold and (numbers.astype(np.float32) == single).any():
            raise RefusalError(
                f"a value is the threshold {self.threshold} in single precision, so its side depends on the "
                "precision of the table",
                RefusalCode.DATA,
            )
        above = numbers > self.threshold
        return np.where(above, self.above[:, column, None], self.below[:, column, None])


@dataclass(frozen=True, eq=False)
class TableTerms(Terms):
    """A number for each category of a column, which are numbered from zero: a table ``(m, k)`` each."""

    tables: tuple[Floats, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of margins, and of columns."""
        return len(self.tables[0]), len(self.tables)

    @property
    def used(self) -> Flags:
        """Every column: its numbers must be among those of the table."""
        return np.ones(len(self.tables), dtype=bool)

    @property
    def finite(self) -> bool:
        """Whether all numbers are finite."""
        return all(bool(np.isfinite(table).all()) for table in self.tables)

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """All numbers they are made of."""
        return self.tables

    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the entries of the numbers, truncated to integers; refuse those that the table lacks."""
        table, codes = self.tables[column], np.trunc(numbers)
        if len(codes) and not (codes.min() >= 0 and codes.max() < table.shape[1]):
            raise RefusalError(
                f"column {column} has a number beyond the categories 0 to {table.shape[1] - 1} that the "
                "model was fitted on",
                RefusalCode.DATA,
            )
        return table[:, codes.astype(np.int64)]


LARGEST = 450.0  # the power of two that an output may reach such that sums of its squares do not overflow


@dataclass(frozen=True, eq=False)
class Additive:
    r"""Margins that are sums of terms, each of one column, and the link to what is predicted.

    .. math:: F_m(x) = b_m + \sum_c t_{mc}(z_c), \quad z_c = z_c(x_{j(c)})

    so that with :math:`g_{mj} = \sum_{c: j(c) = j} t_{mc}` it is a sum of one term per feature.

    Attributes
    ----------
    column_terms : Terms
        :math:`t`, of the columns that the model receives.
    intercept : (m,)
    owner : (c,)
        The feature that each column is of.
    columns : tuple or None
        The outputs of the link that are reported, None for all.
    both : bool
        The one output is the probability of the second of two classes, and the first comes before it.
    preparation : Preparation or None
        What makes the columns of a table, None where they are its own.
    """

    column_terms: Terms
    intercept: Floats
    owner: Integers
    link: Link
    columns: tuple[int, ...] | None
    both: bool
    preparation: Preparation | None

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return len(self.intercept)

    @property
    def bound(self) -> float | None:
        """A power of two that no output exceeds, None where that is not known."""
        return 1.0 if self.link.name in ("sigmoid", "softmax") else None

    @property
    def prepared_bytes(self) -> int:
        """Memory of a row while it goes through preprocessing."""
        return 0 if self.preparation is None else self.preparation.row_bytes

    def outputs(self, margins: Floats) -> Floats:
        """Return the outputs ``(o, ...)`` of margins ``(m, ...)``; refuse those whose squares overflow."""
        with np.errstate(over="ignore"):
            outputs = self.link.apply(margins)
        if self.bound is None:
            refuse_overflow(outputs)
        if self.both:
            return np.concatenate([1.0 - outputs, outputs])
        return outputs if self.columns is None else outputs[list(self.columns)]

    def rows(self, table: Table) -> Any:
        """Return rows as the terms read them: behind preprocessing, if there is any."""
        return table if self.preparation is None else self.preparation.table(table.native)

    def terms(self, made: Any, features: tuple[int, ...]) -> Floats:
        """Return the term of each of some features, then the margins in two parts, ``(f + 2, m, i)``.

        The last part is what the margins lose by rounding, so that a large term can be taken out of them
        without taking the digits of the others along. ``made`` are rows as `rows` returns them.
        """
        found = np.zeros((len(features) + 2, self.n_margins, len(made)))
        position = {feature: number for number, feature in enumerate(features)}
        found[-2] += self.intercept[:, None]
        for feature in np.unique(self.owner).tolist():
            own = self._own(made, feature)
            if feature in position:
                found[position[feature]] = own
            _add_exactly(found[-2], found[-1], own)
        return found

    def rest(self, terms: Floats, positions: list[int]) -> Floats:
        """Return the margins without the terms of some of the features that were read, ``(m, i)``."""
        high, low = terms[-2], terms[-1]
        for position in positions:
            high = high - terms[position]
        return np.asarray(high + low)

    def values(self, requests: Sequence[tuple[int, CellValues]]) -> list[Floats]:
        """Return the term of a feature at some values, ``(m, v)``, for every request."""
        if self.preparation is None:
            return [self._at(*request) for request in requests]
        made = self.preparation.values(requests)
        return [self._own(table, feature) for table, (feature, _) in zip(made, requests, strict=True)]

    def _at(self, feature: int, cells: CellValues) -> Floats:
        numbers = _of_column(cells.column)
        term = np.zeros((self.n_margins, len(numbers)))
        for column in np.flatnonzero((self.owner == feature) & self._used).tolist():
            term += self.column_terms.at(column, numbers)
        return term

    def refuse_joined(self, features: Any) -> None:
        """Refuse features that some step makes one column of, together with others."""
        if self.preparation is not None:
            self.preparation.refuse_joined(features)

    @cached_property
    def _used(self) -> Flags:
        return self.column_terms.used

    def _own(self, made: Any, feature: int) -> Floats:
        """Return the term of a feature at rows, ``(m, i)``; a column without coefficient is read as well."""
        columns = np.flatnonzero(self.owner == feature)
        if isinstance(made, SparseTable):
            stored = made.columns(columns)
            _refuse_infinite("what its preprocessing returns", stored.data)
            return self.column_terms.of_stored(columns, stored)
        term = np.zeros((self.n_margins, len(made)))
        for column in columns.tolist():
            numbers = _numbers(made, column)
            if self._used[column]:
                term += self.column_terms.at(column, numbers)
        return term


def refuse_overflow(outputs: Floats) -> None:
    """Refuse outputs whose squares overflow when they are added up."""
    largest = float(np.abs(outputs).max(initial=0.0))
    if not largest < 2.0**LARGEST:
        raise RefusalError(
            f"predictions reach {largest:.2g}, and sums of their squares overflow", RefusalCode.UNSUPPORTED
        )


def _add_exactly(high: Floats, low: Floats, added: Floats) -> None:
    """Add to a sum in two parts, in place; the second takes what rounding loses of the first."""
    total = high + added
    back = total - high
    low += (high - (total - back)) + (added - back)
    high[...] = total


def _numbers(made: Any, column: int) -> Floats:
    """Return a column as numbers; refuse what is none, as the model would."""
    floats = made.floats(column)
    if floats is None:
        return _of_column(made.column(column))
    numbers: Floats = floats.astype(np.float64, copy=False)
    _refuse_infinite(repr(made.names[column]), numbers)
    return numbers


def _of_column(column: Column) -> Floats:
    if column.missing.any():
        raise RefusalError(f"{column.name!r} has missing values, which it does not accept", RefusalCode.DATA)
    if column.values.dtype.kind not in "biuf":
        raise RefusalError(f"{column.name!r} does not hold numbers", RefusalCode.DATA)
    numbers = np.asarray(column.values, dtype=np.float64)
    _refuse_infinite(repr(column.name), numbers)
    return numbers


def _refuse_infinite(name: str, numbers: Floats) -> None:
    if not np.isfinite(numbers).all():
        raise RefusalError(
            f"{name} has missing or infinite values, which it does not accept", RefusalCode.DATA
        )
