"""Additive models and their terms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._data.table import CellValues, Column, Table
from paribus._models.predictor import Link
from paribus._models.preprocessing.preparation import (
    JoinedPreparation,
    JoinedTable,
    Preparation,
    SparseTable,
    joined,
)
from paribus.errors import RefusalCode, RefusalError


class Terms(ABC):
    """A function of each column. With ``accepts_missing``, it has a value at NaN, too."""

    accepts_missing: ClassVar[bool] = False

    @property
    @abstractmethod
    def arrays(self) -> tuple[Floats, ...]:
        """Parameters of all terms; the last array determines `shape` and `used` by default."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of margins, and of columns."""
        margins, columns = self.arrays[-1].shape
        return margins, columns

    @property
    def used(self) -> Flags:
        """Which columns have a term other than zero, ``(c,)``."""
        return np.asarray(self.arrays[-1].any(axis=0))

    @property
    def finite(self) -> bool:
        """Whether all parameters except a threshold are finite."""
        return all(bool(np.isfinite(array).all()) for array in self.arrays if array.ndim == 2)

    @abstractmethod
    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the term of a column at some numbers, ``(m, v)``."""

    def of_stored(self, columns: Integers, stored: Any) -> Floats:
        """Return the sum of the terms of a sparse CSC matrix for its rows, ``(m, i)``.

        The term at zero is added to every row, and the difference for stored entries to their rows.
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
    def arrays(self) -> tuple[Floats, ...]:
        """The coefficients."""
        return (self.coefficients,)

    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the products."""
        return np.asarray(self.coefficients[:, column, None] * numbers)

    def of_stored(self, columns: Integers, stored: Any) -> Floats:
        """Return the sum of the products of all columns."""
        return np.ascontiguousarray((stored @ self.coefficients[:, columns].T).T)


@dataclass(frozen=True, eq=False)
class SingleTerms(LinearTerms):
    """Coefficients times the columns in single precision, zero for missing values."""

    accepts_missing: ClassVar[bool] = True

    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the products, or refuse numbers beyond single precision."""
        with np.errstate(over="ignore"):
            rounded = numbers.astype(np.float32).astype(np.float64)
        _refuse_infinite(f"column {column} in single precision", rounded, accepts_missing=True)
        return super().at(column, np.where(np.isnan(rounded), 0.0, rounded))

    def of_stored(self, columns: Integers, stored: Any) -> Floats:
        """Return the sum of the products of all columns."""
        return Terms.of_stored(self, columns, stored)


@dataclass(frozen=True, eq=False)
class SquaredTerms(Terms):
    """Squared distances from ``center (m, c)``, times ``factor (m, c)``.

    An expanded polynomial would lose digits by cancellation if centers are large.
    """

    center: Floats
    factor: Floats

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """Centers and factors."""
        return (self.center, self.factor)

    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the weighted squares."""
        return np.asarray(self.factor[:, column, None] * (numbers - self.center[:, column, None]) ** 2)


@dataclass(frozen=True, eq=False)
class StepTerms(Terms):
    """Step functions: ``below`` up to a threshold and ``above`` beyond it, each ``(m, c)``."""

    threshold: float
    below: Floats
    above: Floats

    @property
    def used(self) -> Flags:
        """Which columns have a term other than zero on either side."""
        return np.asarray(self.below.any(axis=0) | self.above.any(axis=0))

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """The threshold, and the numbers below and above it."""
        return (np.array([self.threshold]), self.below, self.above)

    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the numbers of each side. Refuse values whose side depends on the precision."""
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
    """A number for each category of a column: one table ``(m, k)`` per column. Categories are 0 to k - 1."""

    tables: tuple[Floats, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of margins, and of columns."""
        return len(self.tables[0]), len(self.tables)

    @property
    def used(self) -> Flags:
        """All columns, because `at` checks their values."""
        return np.ones(len(self.tables), dtype=bool)

    @property
    def arrays(self) -> tuple[Floats, ...]:
        """The tables."""
        return self.tables

    def at(self, column: int, numbers: Floats) -> Floats:
        """Return the entries at numbers, truncated to integers. Refuse numbers out of range."""
        table, codes = self.tables[column], np.trunc(numbers)
        if len(codes) and not (codes.min() >= 0 and codes.max() < table.shape[1]):
            raise RefusalError(
                f"column {column} has a number beyond the categories 0 to {table.shape[1] - 1} that the "
                "model was fitted on",
                RefusalCode.DATA,
            )
        return table[:, codes.astype(np.int64)]


LARGEST = 450.0  # exponent of two of the largest output such that sums of squares do not overflow


@dataclass(frozen=True, eq=False)
class Additive:
    r"""Margins that are sums of terms of single columns, and the link to predictions.

    .. math:: F_m(x) = b_m + \sum_c t_{mc}(z_c), \quad z_c = z_c(x_{j(c)})

    With :math:`g_{mj} = \sum_{c: j(c) = j} t_{mc}` it is a sum of one term per feature.

    Attributes
    ----------
    column_terms : Terms
        The terms :math:`t` of the columns that the model receives.
    intercept : (m,)
    owner : (c,)
        The feature :math:`j(c)` of each column.
    columns : tuple or None
        The outputs of the link that are reported, None for all.
    both : bool
        Whether the probabilities of both classes are reported, while the link returns the second one.
    preparation : Preparation, JoinedPreparation or None
        Preprocessing that computes the columns, None if the model receives the raw table.
    single : bool
        Whether the model predicts in single precision.
    """

    column_terms: Terms
    intercept: Floats
    owner: Integers
    link: Link
    columns: tuple[int, ...] | None
    both: bool
    preparation: Preparation | JoinedPreparation | None
    single: bool

    @property
    def n_margins(self) -> int:
        """Number of margins."""
        return len(self.intercept)

    @property
    def bound(self) -> float | None:
        """A power of two that no output exceeds, None if it is unknown."""
        return 1.0 if self.link.name in ("sigmoid", "softmax") else None

    @property
    def prepared_bytes(self) -> int:
        """Memory per row during preprocessing."""
        return 0 if self.preparation is None else self.preparation.row_bytes

    def outputs(self, margins: Floats) -> Floats:
        """Return the outputs ``(o, ...)`` of margins ``(m, ...)``. Refuse outputs whose squares overflow."""
        with np.errstate(over="ignore"):
            outputs = self.link.apply(margins)
        if self.bound is None:
            refuse_overflow(outputs)
        if self.both:
            return np.concatenate([1.0 - outputs, outputs])
        return outputs if self.columns is None else outputs[list(self.columns)]

    def rows(self, table: Table) -> Any:
        """Return the rows of a table after preprocessing, if there is any."""
        return table if self.preparation is None else self.preparation.table(table.native)

    def terms(self, made: Any, features: tuple[int, ...]) -> Floats:
        """Return the terms of some features, the margins, and their rounding errors, ``(f + 2, m, i)``.

        With the rounding errors, a large term can be subtracted from the margins without loss of digits.
        ``made`` are rows from `rows`.
        """
        terms = np.zeros((len(features) + 2, self.n_margins, len(made)))
        high, low = terms[-2], terms[-1]  # low collects the rounding errors of high
        position = {feature: number for number, feature in enumerate(features)}
        high += self.intercept[:, None]
        for feature in np.unique(self.owner).tolist():
            term = self._own(made, feature)
            if feature in position:
                terms[position[feature]] = term
            total = high + term
            back = total - high
            low += (high - (total - back)) + (term - back)
            high[...] = total
        return terms

    def rest(self, terms: Floats, positions: list[int]) -> Floats:
        """Return the margins without the terms at some positions of `terms`, ``(m, i)``."""
        high, low = terms[-2], terms[-1]
        for position in positions:
            high = high - terms[position]
        return np.asarray(high + low)

    def values(self, requests: Sequence[tuple[int, CellValues]]) -> list[Floats]:
        """Return the term of a feature at some values, ``(m, v)``, for each request."""
        if self.preparation is None:
            return [self._at(*request) for request in requests]
        made = self.preparation.values(requests)
        return [self._own(table, feature) for table, (feature, _) in zip(made, requests, strict=True)]

    def _at(self, feature: int, cells: CellValues) -> Floats:
        numbers = _finite_numbers(cells.column, self.column_terms.accepts_missing)
        term = np.zeros((self.n_margins, len(numbers)))
        for column in np.flatnonzero((self.owner == feature) & self._used).tolist():
            term += self.column_terms.at(column, numbers)
        return term

    def refuse_joined(self, features: Any) -> None:
        """Refuse features that a step combines with others in one column."""
        if self.preparation is not None:
            self.preparation.refuse_joined(features)

    @cached_property
    def _used(self) -> Flags:
        return self.column_terms.used

    def _own(self, made: Any, feature: int) -> Floats:
        """Return the term of a feature for rows, ``(m, i)``. Values of unused columns are checked, too."""
        columns = np.flatnonzero(self.owner == feature)
        if not isinstance(made, JoinedTable):
            return self._term(made, columns, 0)
        term = np.zeros((self.n_margins, len(made)))
        source = np.searchsorted(made.first, columns, side="right") - 1
        for number in np.unique(source).tolist():
            term += self._term(made.tables[number], columns[source == number], int(made.first[number]))
        return term

    def _term(self, made: Any, columns: Integers, first: int) -> Floats:
        """Return the term of some columns for rows, ``(m, i)``; ``first`` is the first column of ``made``."""
        accepted = self.column_terms.accepts_missing
        if isinstance(made, SparseTable):
            stored = made.columns(columns - first)
            _refuse_infinite("what its preprocessing returns", stored.data, accepted)
            return self.column_terms.of_stored(columns, stored)
        term = np.zeros((self.n_margins, len(made)))
        for column in columns.tolist():
            floats = made.floats(column - first)
            if floats is None:
                numbers = _finite_numbers(made.column(column - first), accepted)
            else:
                numbers = floats.astype(np.float64, copy=False)
                _refuse_infinite(repr(made.names[column - first]), numbers, accepted)
            if self._used[column]:
                term += self.column_terms.at(column, numbers)
        return term


def adds_terms(structure: Any) -> bool:
    """Return whether a structure is a sum of linear terms, which can be joined with others."""
    return (
        isinstance(structure, Additive)
        and type(structure.column_terms) is LinearTerms
        and structure.link.linear
        and not structure.both
        and structure.columns is None
    )


def terms_sum(
    members: Sequence[Additive], weights: Sequence[Floats], constant: Floats, context: Table
) -> Additive:
    """Return the terms of ``constant + sum of weights (o, m) @ outputs (m, ...)`` over some linear models."""
    preparation, positions = joined([member.preparation for member in members], context)
    width = len(context.names) if preparation is None else len(preparation.owners)
    coefficients, intercept = np.zeros((len(constant), width)), constant.astype(np.float64)
    for member, weight, columns in zip(members, weights, positions, strict=True):
        scaled = weight * member.link.scale
        coefficients[:, columns] += scaled @ member.column_terms.arrays[0]
        intercept = intercept + scaled @ member.intercept
    owner = np.arange(width) if preparation is None else np.array(preparation.owners)
    single = any(member.single for member in members)
    return Additive(LinearTerms(coefficients), intercept, owner, Link(), None, False, preparation, single)


def refuse_overflow(outputs: Floats) -> None:
    """Refuse outputs whose sum of squares may overflow."""
    largest = float(np.abs(outputs).max(initial=0.0))
    if not largest < 2.0**LARGEST:
        raise RefusalError(
            f"predictions reach {largest:.2g}, and sums of their squares overflow", RefusalCode.UNSUPPORTED
        )


def _finite_numbers(column: Column, accepts_missing: bool) -> Floats:
    if column.missing.any() and not accepts_missing:
        raise RefusalError(f"{column.name!r} has missing values, which it does not accept", RefusalCode.DATA)
    if column.values.dtype.kind not in "biuf":
        raise RefusalError(f"{column.name!r} does not hold numbers", RefusalCode.DATA)
    numbers = np.full(len(column.missing), np.nan)
    numbers[~column.missing] = column.values
    _refuse_infinite(repr(column.name), numbers, accepts_missing)
    return numbers


def _refuse_infinite(name: str, numbers: Floats, accepts_missing: bool) -> None:
    if (np.isinf(numbers) if accepts_missing else ~np.isfinite(numbers)).any():
        raise RefusalError(
            f"{name} has missing or infinite values, which it does not accept", RefusalCode.DATA
        )
