"""Where a model within another is: the steps and the choice of columns before what it receives."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from paribus._data.read import table_of
from paribus._data.table import Table
from paribus._models.ensemble import Ensemble
from paribus._models.libraries import library_for
from paribus._models.preprocessing.column_subset import ColumnSubset
from paribus._models.preprocessing.preparation import Preparation


@dataclass(frozen=True, eq=False)
class Place:
    """What a model receives of a few rows of the table.

    Attributes
    ----------
    sample : Table
        The rows.
    preparation : Preparation or None
        The steps that are taken first.
    columns : tuple of int or None
        The columns it receives of what these return, as an array; None for all as they are.
    """

    sample: Table
    preparation: Preparation | None = None
    columns: tuple[int, ...] | None = None

    @property
    def raw(self) -> bool:
        """Whether it receives the table itself."""
        return self.preparation is None and self.columns is None

    @cached_property
    def received(self) -> Any:
        """What the model receives of the rows."""
        native = self.sample.native
        made = native if self.preparation is None else self.preparation.transform(native)
        return made if self.columns is None else ColumnSubset(self.columns).transform(made)

    @cached_property
    def table(self) -> Table:
        """The same as a table; a sparse matrix is filled."""
        if self.raw:
            return self.sample
        made = self.received
        return table_of(made.toarray() if hasattr(made, "toarray") else made)

    def behind(self, steps: Sequence[Any]) -> Place:
        """Return the place behind further steps."""
        added = tuple(steps)
        if not added:
            return self
        before = () if self.preparation is None else self.preparation.steps
        if self.columns is not None:
            before = (*before, ColumnSubset(self.columns))
        return Place(self.sample, Preparation.of((*before, *added), self.sample, 0.0))

    @cached_property
    def whole_preparation(self) -> Preparation | None:
        """The preparation with the choice of columns as its last step, which is not followed once more."""
        if self.columns is None:
            return self.preparation
        last = ColumnSubset(self.columns)
        if self.preparation is None:
            return Preparation.of((last,), self.sample, 0.0)
        dependencies = copy(self.preparation.dependencies)
        dependencies.owners = tuple(dependencies.owners[column] for column in self.columns)
        return replace(self.preparation, steps=(*self.preparation.steps, last), dependencies=dependencies)

    def among(self, columns: Sequence[int]) -> Place:
        """Return the place that receives some of the columns as an array."""
        chosen = tuple(map(int, columns))
        if self.columns is not None:
            chosen = tuple(self.columns[column] for column in chosen)
        return replace(self, columns=chosen)

    def prepared_for(self, model: Any) -> Preparation | None:
        """Return the preparation as a library reads its sparse matrices."""
        library = library_for(model)
        if self.preparation is None or library is None:
            return self.preparation
        return replace(self.preparation, absent=library.absent)

    def of_table(self, ensemble: Ensemble, model: Any) -> Ensemble:
        """Return trees that test what they receive as trees of the table."""
        if self.raw:
            return ensemble
        owners = None if self.preparation is None else self.preparation.owners
        encodings = []
        for encoding in ensemble.encodings:
            column = encoding.feature if self.columns is None else self.columns[encoding.feature]
            if owners is None:
                encodings.append(replace(encoding, feature=column))
            else:
                encodings.append(replace(encoding, feature=owners[column], position=column))
        return replace(ensemble, encodings=tuple(encodings), preparation=self.prepared_for(model))
