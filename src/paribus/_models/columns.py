"""Columns of a model, and positions in pipelines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from paribus._data.read import table_of
from paribus._data.table import Table
from paribus._models.ensemble import Ensemble
from paribus._models.libraries import boosting_library, library_for
from paribus._models.libraries.library import Library
from paribus._models.parameters import attribute, names_in, steps_of, unbound
from paribus._models.preprocessing.dependencies import ColumnSubset
from paribus._models.preprocessing.preparation import Preparation
from paribus.errors import RefusalError, TableError, did_you_mean


@dataclass(frozen=True, eq=False)
class PipelinePosition:
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

    def behind(self, steps: Sequence[Any]) -> PipelinePosition:
        """Return the place behind further steps."""
        added = tuple(steps)
        if not added:
            return self
        before = () if self.preparation is None else self.preparation.steps
        if self.columns is not None:
            before = (*before, ColumnSubset(self.columns))
        return PipelinePosition(self.sample, Preparation.of((*before, *added), self.sample, 0.0))

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

    def among(self, columns: Sequence[int]) -> PipelinePosition:
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


# Where a search, a calibration, a vote or a transformed target keeps the models it hands its table on to.
INNER = ("best_estimator_", "regressor_", "estimator_", "estimators_", "calibrated_classifiers_", "estimator")
DEEPEST = 3  # models within models that are searched for names


@dataclass(frozen=True)
class FittedColumns:
    """The columns a model was fitted on, in its order.

    ``library`` is the one that gets the table as it is, if it is known. ``categories`` are those of the
    columns that were categories, where the model keeps them, ``numbers`` the columns that were numbers.
    ``optional`` are columns that the model leaves out before anything else, and does not miss.
    """

    names: tuple[str, ...]
    library: Library | None = None
    categories: Mapping[int, tuple[Any, ...]] = field(default_factory=dict)
    numbers: frozenset[int] = frozenset()
    optional: frozenset[str] = frozenset()

    @property
    def typed(self) -> bool:
        """Whether a column of categories must be one, because the library takes no text for it."""
        return self.library is not None and self.library.typed

    @property
    def closed(self) -> bool:
        """Whether a category the model does not know is an error, and no missing value."""
        return self.library is not None and self.library.closed

    @property
    def pandas(self) -> bool:
        """Whether polars and Arrow tables must become pandas."""
        return self.library is not None and (self.library.pandas or (self.typed and bool(self.categories)))

    def knows(self, column: int) -> bool:
        """Return whether it is known what a column was: where text is not taken, it never was text."""
        return self.typed or column in self.numbers or column in self.categories

    def n_known(self, column: int) -> str | None:
        """Return what the categories of a column are, in words; None where there is no word for it."""
        kinds = {type(value) for value in self.categories[column] if value is not None and value == value}
        if kinds and kinds <= {int, float}:
            return "numbers"
        return {str: "text", bool: "booleans"}.get(kinds.pop()) if len(kinds) == 1 else None

    def describe(self, column: int) -> str:
        """Return what a column was when the model was fitted."""
        if column in self.categories:
            return f"categories of {self.n_known(column)}"
        return "numbers" if column in self.numbers else "numbers or on categories that it does not keep"

    def places(self, header: tuple[str, ...]) -> tuple[int | None, ...] | None:
        """Return where each column is in a header, None where it need not be there.

        None instead of all of them where the names are those that its library gives the columns of arrays.
        """
        spelled: dict[str, list[int]] = {}
        for position, own in enumerate(self.spelled(header)):
            spelled.setdefault(own, []).append(position)
        found: list[int | None] = []
        for name in self.names:
            those = spelled.get(name, [])
            if len(those) > 1:
                both = " and ".join(repr(header[position]) for position in those[:2])
                title = "" if self.library is None else self.library.title
                raise TableError(
                    f"X has columns {both}, and {title} calls both {name!r}; rename the one the model was "
                    "not fitted on"
                )
            found.append(those[0] if those else None)
        lacking = [
            name
            for name, position in zip(self.names, found, strict=True)
            if position is None and name not in self.optional
        ]
        if len(lacking) == len(found) and self.generated:
            return None
        if lacking:
            more = f" (nor {len(lacking) - 1} others)" if len(lacking) > 1 else ""
            near = did_you_mean(lacking[0], header)
            raise TableError(f"X has no column {lacking[0]!r}{more}, which the model was fitted on{near}")
        return tuple(found)

    def spelled(self, header: tuple[str, ...]) -> tuple[str, ...]:
        """Return a header as the library spells it."""
        return header if self.library is None else tuple(map(self.library.spelled, header))

    @property
    def generated(self) -> bool:
        """Whether the names are those that the library gives the columns of an array."""
        begin = None if self.library is None else self.library.generated
        return begin is not None and all(name == f"{begin}{j}" for j, name in enumerate(self.names))


def fitted_on(estimator: Any) -> FittedColumns | None:
    """Return what a model, or a method of one, knows of its columns; None where not even their names."""
    estimator, _ = unbound(estimator)
    names = columns_of(estimator)
    if names is None:
        return None
    within = ((one, _typed_library(one)) for one in _inner(estimator, names))
    model, library = next((found for found in within if found[1] is not None), (None, None))
    types = {} if library is None else _types(library, model, len(names))
    return FittedColumns(names, library, **types, optional=_dropped(estimator, names))


def columns_of(estimator: Any) -> tuple[str, ...] | None:
    """Return the names of the columns a model was fitted on, None where it does not know them."""
    library = boosting_library(estimator)
    for name in ("feature_names_in_", *(() if library is None else library.names)):
        names = names_in(attribute(estimator, name))
        if names is not None:
            return names
    return None


def width_of(estimator: Any) -> int | None:
    """Return how many columns a model was fitted on, None where it does not know."""
    estimator, _ = unbound(estimator)
    names, width = columns_of(estimator), attribute(estimator, "n_features_in_")
    if names is not None:
        return len(names)
    if type(estimator).__module__.split(".")[0] == "glum":
        return None  # it counts the columns that it makes of categories
    return int(width) if isinstance(width, (int, np.integer)) else None


def _inner(estimator: Any, names: tuple[str, ...]) -> Iterator[Any]:
    """Yield a model and those within it that get the same columns as they are, outermost first."""
    if columns_of(estimator) == names:
        yield estimator
    steps = steps_of(estimator)
    if steps and all(isinstance(step, str) or step is None for step in steps[:-1]):  # "passthrough"
        yield from _inner(steps[-1], names)
    for inner in _held(estimator):
        if columns_of(inner) == names:
            yield from _inner(inner, names)


def _held(estimator: Any) -> Iterator[Any]:
    """Yield the models that a model hands its table on to, as far as it keeps them under a usual name."""
    for name in INNER:
        held = attribute(estimator, name)
        for one in held if isinstance(held, list) else (held,):
            yield attribute(one, "estimator") if name == "calibrated_classifiers_" else one


def orders_within(estimator: Any, header: tuple[str, ...]) -> Iterator[tuple[int, ...]]:
    """Yield a header in the order that models within one know it, if it is another and the model knows none.

    Steps before them may find columns by name: only predictions show whether the order matters.
    """
    estimator, _ = unbound(estimator)
    if columns_of(estimator) is not None:
        return
    for inner in _within(estimator, DEEPEST):
        own = FittedColumns(columns_of(inner) or (), boosting_library(inner))
        spelled = own.spelled(header)
        if own.generated or not set(own.names) <= set(spelled):
            continue
        positions = [spelled.index(name) for name in own.names]
        if positions != sorted(positions):
            moved = dict(zip(sorted(positions), positions, strict=True))
            yield tuple(moved.get(position, position) for position in range(len(header)))


def _within(estimator: Any, depth: int) -> Iterator[Any]:
    """Yield the outermost models within one that know the names of their columns."""
    for inner in (*steps_of(estimator)[-1:], *_held(estimator)):
        if columns_of(inner) is not None:
            yield inner
        elif depth:
            yield from _within(inner, depth - 1)


def _typed_library(model: Any) -> Library | None:
    """Return the library of a model that may know which of its columns were categories."""
    library = library_for(model, boosting=True) or library_for(model)
    return library if library is not None and not steps_of(model) and library.has_types(model) else None


def _types(library: Library, model: Any, columns: int) -> dict[str, Any]:
    """Return which columns of a model are categories, and which numbers."""
    try:
        categories = library.categories(model)
    except RefusalError:  # it does not say which columns were categories
        return {}
    if categories is None:
        return {"numbers": library.numbers(model, columns)}
    known = {position: tuple(values) for position, values in categories.items()}
    return {"categories": known, "numbers": frozenset(range(columns)).difference(known)}


def _dropped(estimator: Any, names: tuple[str, ...]) -> frozenset[str]:
    """Return the columns that a `ColumnTransformer` at the beginning leaves out, and hence does not miss."""
    first = (steps_of(estimator) or [estimator])[0]
    parts = attribute(first, "transformers_")
    last = parts[-1] if isinstance(parts, list) and parts else None
    if not isinstance(last, tuple) or last[:2] != ("remainder", "drop"):
        return frozenset()
    return frozenset(names[one] if isinstance(one, int) else str(one) for one in last[2])
