"""What one column adds to the margins: a product, a square, a step, a table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Flags, Floats, Integers
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
