"""One representation of every model that is a sum of terms, each of one feature."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._data.table import CellValues, Column, Table
from paribus._models.additive.terms import Terms
from paribus._models.link import Link
from paribus._models.preprocessing.preparation import Preparation, SparseTable
from paribus.errors import RefusalCode, RefusalError

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
