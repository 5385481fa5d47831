"""Columns that models were fitted on, and positions of models in pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from paribus._data.column_groups import owners_of
from paribus._data.read import table_of
from paribus._data.table import Table
from paribus._models.ensemble import Ensemble
from paribus._models.libraries import boosting_library, library_for
from paribus._models.libraries.library import Library
from paribus._models.parameters import attribute, names_in, package_of, steps_of, unbound
from paribus._models.preprocessing.dependencies import ColumnSubset
from paribus._models.preprocessing.preparation import Preparation
from paribus._text import count
from paribus.errors import RefusalError, TableError, did_you_mean


@dataclass(frozen=True, eq=False)
class PipelinePosition:
    """Position of a model in a pipeline, and the rows it receives there.

    Attributes
    ----------
    sample : Table
        A few rows of the raw table.
    preparation : Preparation or None
        The steps before the model, None without steps.
    columns : tuple of int or None
        The prepared columns that the model receives as an array, None for all columns in their own format.
    """

    sample: Table
    preparation: Preparation | None = None
    columns: tuple[int, ...] | None = None

    @classmethod
    def first(cls, sample: Table) -> PipelinePosition:
        """Return the position of a model without steps; columns of a group depend on one feature."""
        grouped = len(owners_of(sample)) > len(sample.names)
        return cls(sample, Preparation.of((), sample, 0.0) if grouped else None)

    @property
    def raw(self) -> bool:
        """Whether the model receives the raw table."""
        return self.preparation is None and self.columns is None

    @cached_property
    def received(self) -> Any:
        """Native table that the model receives for the sample."""
        native = self.sample.native
        made = native if self.preparation is None else self.preparation.transform(native)
        return made if self.columns is None else ColumnSubset(self.columns).transform(made)

    @cached_property
    def table(self) -> Table:
        """The received rows as a table. A sparse matrix becomes dense."""
        if self.raw:
            return self.sample
        made = self.received
        return table_of(made.toarray() if hasattr(made, "toarray") else made)

    def behind(self, steps: Sequence[Any]) -> PipelinePosition:
        """Return the position after further steps."""
        added = tuple(steps)
        if not added:
            return self
        before = () if self.preparation is None else self.preparation.steps
        if self.columns is not None:
            before = (*before, ColumnSubset(self.columns))
        return PipelinePosition(self.sample, Preparation.of((*before, *added), self.sample, 0.0))

    @cached_property
    def whole_preparation(self) -> Preparation | None:
        """The preparation with the selection of columns as last step.

        Dependencies are selected as well, so that the steps are not analyzed again.
        """
        if self.columns is None:
            return self.preparation
        last = ColumnSubset(self.columns)
        if self.preparation is None:
            return Preparation.of((last,), self.sample, 0.0)
        dependencies = copy(self.preparation.dependencies)
        dependencies.owners = tuple(dependencies.owners[column] for column in self.columns)
        return replace(self.preparation, steps=(*self.preparation.steps, last), dependencies=dependencies)

    def among(self, columns: Sequence[int]) -> PipelinePosition:
        """Return the position of a model that receives some of the columns as an array."""
        chosen = tuple(map(int, columns))
        if self.columns is not None:
            chosen = tuple(self.columns[column] for column in chosen)
        return replace(self, columns=chosen)

    def of_table(self, ensemble: Ensemble, model: Any) -> Ensemble:
        """Return an ensemble whose encodings refer to the raw table instead of the received columns."""
        if self.raw:
            return ensemble
        preparation, library = self.preparation, library_for(model)
        if preparation is not None and library is not None:  # it knows the value of absent sparse entries
            preparation = replace(preparation, absent=library.absent)
        owners = None if preparation is None else preparation.owners
        encodings = []
        for encoding in ensemble.encodings:
            column = encoding.feature if self.columns is None else self.columns[encoding.feature]
            if owners is None:
                encodings.append(replace(encoding, feature=column))
            else:
                encodings.append(replace(encoding, feature=owners[column], position=column))
        return replace(ensemble, encodings=tuple(encodings), preparation=preparation)


# Attributes with nested models that receive the same table, of searches, calibrations, votes and others.
INNER = ("best_estimator_", "regressor_", "estimator_", "estimators_", "calibrated_classifiers_", "estimator")
DEEPEST = 3  # depth of nested models that are searched for names


@dataclass(frozen=True)
class FittedColumns:
    """Columns that a model was fitted on, in this order.

    ``library`` is the library that receives the table unchanged, None if unknown. ``categories`` has the
    known categories of categorical columns, ``numbers`` the numeric columns. ``optional`` are columns that
    the model drops first, so that they may be absent.
    """

    names: tuple[str, ...]
    library: Library | None = None
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    numbers: frozenset[int] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def typed(self) -> bool:
        """Whether categorical columns must have a category dtype, because the library accepts no text."""
        return self.library is not None and self.library.typed

    @property
    def closed(self) -> bool:
        """Whether an unknown category is an error instead of a missing value."""
        return self.library is not None and self.library.closed

    @property
    def pandas(self) -> bool:
        """Whether polars and Arrow tables must be converted to pandas."""
        return self.library is not None and (self.library.pandas or (self.typed and bool(self.categories)))

    def knows(self, column: int) -> bool:
        """Return whether the type of a column is known. With ``typed`` it was not text."""
        return self.typed or column in self.numbers or column in self.categories

    def n_known(self, column: int) -> str | None:
        """Return the type of the categories of a column in words, None for mixed or other types."""
        kinds = {type(value) for value in self.categories[column] if value is not None and value == value}
        if kinds and kinds <= {int, float}:
            return "numbers"
        return {str: "text", bool: "booleans"}.get(kinds.pop()) if len(kinds) == 1 else None

    def describe(self, column: int) -> str:
        """Return the type of a column in the training data, in words."""
        if column in self.categories:
            return f"categories of {self.n_known(column)}"
        return "numbers" if column in self.numbers else "numbers or on categories that it does not keep"

    def places(self, header: tuple[str, ...]) -> tuple[int | None, ...] | None:
        """Return the position of each column in a header, None for absent optional columns.

        Return None instead of positions if the library generated the names and the header has none of them.
        """
        spelled: dict[str, list[int]] = {}
        for position, label in enumerate(self.spelled(header)):
            spelled.setdefault(label, []).append(position)
        places: list[int | None] = []
        for name in self.names:
            positions = spelled.get(name, [])
            if len(positions) > 1:
                both = " and ".join(repr(header[position]) for position in positions[:2])
                title = "" if self.library is None else self.library.title
                raise TableError(
                    f"X has columns {both}, and {title} calls both {name!r}; rename the one the model was "
                    "not fitted on"
                )
            places.append(positions[0] if positions else None)
        lacking = [
            name
            for name, place in zip(self.names, places, strict=True)
            if place is None and name not in self.optional
        ]
        if len(lacking) == len(places) and self.generated:
            return None
        if lacking:
            more = f" (nor {count(len(lacking) - 1, 'other')})" if len(lacking) > 1 else ""
            near = did_you_mean(lacking[0], header)
            raise TableError(f"X has no column {lacking[0]!r}{more}, which the model was fitted on{near}")
        return tuple(places)

    def spelled(self, header: tuple[str, ...]) -> tuple[str, ...]:
        """Return a header in the spelling of the library."""
        return header if self.library is None else tuple(map(self.library.spelled, header))

    @property
    def generated(self) -> bool:
        """Whether the library generated the names for the columns of an array."""
        begin = None if self.library is None else self.library.generated
        return begin is not None and all(name == f"{begin}{j}" for j, name in enumerate(self.names))


def fitted_on(estimator: Any) -> FittedColumns | None:
    """Return the columns of a model, or of the model of a bound method; None if names are unknown."""
    estimator, _ = unbound(estimator)
    names = columns_of(estimator)
    if names is None:
        return None
    optional: frozenset[str] = frozenset()
    transformers = attribute((steps_of(estimator) or [estimator])[0], "transformers_")
    last = transformers[-1] if isinstance(transformers, list) and transformers else None
    if isinstance(last, tuple) and last[:2] == ("remainder", "drop"):  # by a leading ColumnTransformer
        optional = frozenset(names[label] if isinstance(label, int) else str(label) for label in last[2])
    for model in _models_on_same_columns(estimator, names):
        library = library_for(model, boosting=True) or library_for(model)
        if library is None or steps_of(model) or not library.has_types(model):
            continue
        try:
            recorded = library.categories(model)
        except RefusalError:  # unknown which columns were categorical
            return FittedColumns(names, library, optional=optional)
        categories = {position: tuple(values) for position, values in (recorded or {}).items()}
        numbers = frozenset(range(len(names))).difference(categories)
        if recorded is None:
            numbers = library.numbers(model, len(names))
        return FittedColumns(names, library, categories, numbers, optional)
    return FittedColumns(names, optional=optional)


def columns_of(estimator: Any) -> tuple[str, ...] | None:
    """Return the names of the columns that a model was fitted on, None if it does not store them."""
    library = boosting_library(estimator)
    for name in ("feature_names_in_", *(() if library is None else library.names)):
        names = names_in(attribute(estimator, name))
        if names is not None:
            return names
    return None


def width_of(estimator: Any) -> int | None:
    """Return the number of columns that a model was fitted on, None if it is unknown."""
    estimator, _ = unbound(estimator)
    names, width = columns_of(estimator), attribute(estimator, "n_features_in_")
    if names is not None:
        return len(names)
    if package_of(estimator) == "glum":
        return None  # n_features_in_ counts encoded columns
    return int(width) if isinstance(width, (int, np.integer)) else None


def _models_on_same_columns(estimator: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """Yield a model and nested models that receive the same columns unchanged, outermost first."""
    if columns_of(estimator) == names:
        yield estimator
    steps = steps_of(estimator)
    if steps and all(isinstance(step, str) or step is None for step in steps[:-1]):  # "passthrough"
        yield from _models_on_same_columns(steps[-1], names)
    for inner in _inner_models(estimator):
        if columns_of(inner) == names:
            yield from _models_on_same_columns(inner, names)


def _inner_models(estimator: Any) -> Iterator[Any]:
    """Yield the nested models that receive the same table, as far as `INNER` lists their attributes."""
    for name in INNER:
        held = attribute(estimator, name)
        for inner in held if isinstance(held, list) else (held,):
            yield attribute(inner, "estimator") if name == "calibrated_classifiers_" else inner


def orders_within(estimator: Any, header: tuple[str, ...]) -> Iterator[tuple[int, ...]]:
    """Yield other orders of a header, as nested models store it, if the model itself stores none.

    Steps before a nested model may find columns by name. Only predictions show whether the order matters.
    """
    estimator, _ = unbound(estimator)
    if columns_of(estimator) is not None:
        return
    for inner in _outermost_named_models(estimator, DEEPEST):
        fitted = FittedColumns(columns_of(inner) or (), boosting_library(inner))
        spelled = fitted.spelled(header)
        if fitted.generated or not set(fitted.names) <= set(spelled):
            continue
        positions = [spelled.index(name) for name in fitted.names]
        if positions != sorted(positions):
            moved = dict(zip(sorted(positions), positions, strict=True))
            yield tuple(moved.get(position, position) for position in range(len(header)))


def _outermost_named_models(estimator: Any, depth: int) -> Iterator[Any]:
    """Yield the outermost nested models that store the names of their columns."""
    for inner in (*steps_of(estimator)[-1:], *_inner_models(estimator)):
        if columns_of(inner) is not None:
            yield inner
        elif depth:
            yield from _outermost_named_models(inner, depth - 1)
