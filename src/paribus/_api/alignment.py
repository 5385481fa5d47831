"""Alignment of X with the fitted model: columns by name, their order and their categories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import Floats
from paribus._data.features import Header
from paribus._data.table import ArrayTable, Table
from paribus._models import adapt, as_model_list
from paribus._models.adapter import describe, is_model
from paribus._models.columns import FittedColumns, fitted_on, orders_within, width_of
from paribus._text import count
from paribus.errors import FeatureError, ModelError, ParibusError, TableError

if TYPE_CHECKING:
    from paribus._data.frame import FrameTable
    from paribus._data.scan.reading import TableReader

Content = Callable[[int], tuple[str, bool]]  # description of a column of X, and whether it has category codes
Places = tuple[int | None, ...]
SHOWN = 5  # columns that a message lists
SOME_ROWS = 1_024  # rows of a table in memory that are predicted to check how the model handles it


@dataclass(frozen=True)
class Alignment:
    """The columns of X that are passed to the models, in the order of the fit.

    ``places`` are their positions in X, ``unused`` the names of the other columns. ``categories`` maps
    columns that must be converted to the categories that the models know. ``closed`` maps columns where other
    categories are an error, to the known ones. ``open`` maps columns where other categories count as missing,
    to the known ones of each model. ``pandas`` is True if a model only accepts pandas tables.
    """

    places: tuple[int, ...]
    unused: tuple[str, ...] = ()
    categories: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    closed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    pandas: bool = False
    open: Mapping[str, tuple[tuple[Any, ...], ...]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, estimator: Any, header: tuple[str, ...], content: Content, apart: Collection[Any] = ()
    ) -> Alignment:
        """Find the columns that the models were fitted on.

        A model without stored column names gets all columns. All models of a list get the same columns: those
        stored by the models that have names. ``apart`` are columns with another use (target or weights). A
        model gets them only if it was fitted on them.
        """
        several = as_model_list(estimator) or (estimator,)
        known = [(own, None if own is None else own.places(header)) for own in map(fitted_on, several)]
        named = [(own, positions) for own, positions in known if own is not None and positions is not None]
        unnamed = [one for one, (_, positions) in zip(several, known, strict=True) if positions is None]
        every = tuple(position for position, name in enumerate(header) if name not in apart)
        for one in unnamed:
            check_width(one, len(every))
        if not named:
            return cls(every)
        _check_same([tuple(p for p in positions if p is not None) for _, positions in named], header)
        positions = tuple(position for position in named[0][1] if position is not None)
        if unnamed and positions != every:
            raise ModelError(
                f"The columns of X, or their order, differ from those a model of the list was fitted on, "
                f"and {describe(unnamed[0])} does not store its columns; pass one model at a time, or X "
                f"with exactly the fitted columns, in their order"
            )
        used = {header[position] for position in positions}
        return cls(
            positions,
            tuple(name for name in header if name not in used and name not in apart),
            _known_category_columns(named, header, content),
            {
                header[position]: own.categories[column]
                for own, positions in named
                for column, position in enumerate(positions)
                if own.closed and position is not None and column in own.categories
            },
            any(own.pandas for own, _ in named),
            _open_categories(named, header),
        )


def check_width(estimator: Any, columns: int) -> None:
    """Raise if the number of columns differs from the one in the fit."""
    width = width_of(estimator)
    if width is not None and width != columns:
        raise TableError(
            f"X has {count(columns, 'feature')}, but {describe(estimator)} is expecting "
            f"{count(width, 'feature')} as input; "
            "pass the columns it was fitted on, in their order"
        )


def _check_same(each: list[tuple[int, ...]], header: tuple[str, ...]) -> None:
    """Raise if the models of a list were fitted on different columns."""
    one, other = each[0], next((positions for positions in each if positions != each[0]), each[0])
    if one == other:
        return
    odd = next((position for position in (*one, *other) if (position in one) != (position in other)), None)
    differs = "the same columns in another order"
    if odd is not None:
        differs = f"different columns, some of them without {header[odd]!r}"
    raise ModelError(f"the models of a list were fitted on {differs}; pass one model at a time")


def _known_category_columns(
    named: list[tuple[FittedColumns, Places]], header: tuple[str, ...], content: Content
) -> dict[str, tuple[Any, ...]]:
    """Return the columns to convert to categories; raise if the type of a column differs from the fit."""
    made: dict[str, tuple[Any, ...]] = {}
    for own, positions in named:
        for column, position in enumerate(positions):
            if position is None or not own.knows(column):
                continue
            what, coded = content(position)
            known = own.categories.get(column)
            if _type_differs(what, coded, own, column):
                has = f"categories of {what}" if coded else what
                raise TableError(
                    f"column {header[position]!r} of X holds {has}, and the model was fitted on "
                    f"{own.describe(column)}; pass what it was fitted on"
                )
            if known is not None and own.typed and not coded:
                made[header[position]] = tuple(dict.fromkeys((*made.get(header[position], ()), *known)))
    return made


def _open_categories(
    named: list[tuple[FittedColumns, Places]], header: tuple[str, ...]
) -> dict[str, tuple[tuple[Any, ...], ...]]:
    """Return the known categories of each model, for columns where it treats others as missing."""
    categories: dict[str, tuple[tuple[Any, ...], ...]] = {}
    for own, positions in named:
        for column, known in own.categories.items():
            position = positions[column]
            if position is not None and not own.closed:
                categories[header[position]] = (*categories.get(header[position], ()), known)
    return categories


def _type_differs(what: str, coded: bool, own: FittedColumns, column: int) -> bool:
    """Return whether the type of a column contradicts the fit; columns of objects never do."""
    if column in own.categories:
        wanted = own.n_known(column)
        return what not in (wanted, "objects") and wanted is not None
    return what == "text" and (column in own.numbers or not coded)


def aligned(
    estimator: Any, table: Table, *, named: bool, apart: Collection[str] = ()
) -> tuple[Table, Header | None]:
    """Return an in-memory table with the columns of the fit, and its header if the columns changed.

    ``named`` is True if the user passed names for the columns of an array. ``apart`` are columns with another
    use. A model gets them only if it was fitted on them.
    """
    if isinstance(table, ArrayTable):
        return _aligned_array(estimator, table, named, apart)
    from paribus._data.categories import as_pandas, categorized, check_known, contents_of
    from paribus._data.frame import FrameTable

    assert isinstance(table, FrameTable)
    own = tuple(map(str, table.frame.columns))
    alignment = Alignment.of(estimator, own, contents_of(table), apart)
    for name in alignment.closed.keys() - alignment.categories.keys():
        declared = table.frame[:, own.index(name)].cat.get_categories()
        check_known(name, alignment.closed[name], declared.to_list())
    given, header = table.names, None
    names = tuple(own[position] for position in alignment.places)
    unknown = _unknown_categories(table, own, alignment)
    if alignment.places != tuple(range(len(given))):
        table = table.pick(alignment.places)
    if unknown or table.names != given:
        unused = tuple(given[own.index(name)] for name in alignment.unused)
        header = Header(table.names, given, unused, unknown)
    some = table.slice(0, SOME_ROWS)
    as_shown = (
        table.backend in ("polars", "pyarrow")
        and find_spec("pandas") is not None
        and (alignment.pandas or prefers_pandas(estimator, lambda: some, lambda: as_pandas(some, {}, {})))
    )

    def reordered(order: tuple[int, ...]) -> Table:
        few = _evenly_spaced_rows(table).pick(order)
        return as_pandas(few, {}, {}) if as_shown else few

    _check_order(estimator, names, reordered)
    if as_shown:
        return as_pandas(table, alignment.categories, alignment.closed), header
    if alignment.pandas and alignment.categories and table.backend in ("polars", "pyarrow"):
        raise TableError(
            f"columns of X must become pandas categories, as in the fit: {', '.join(alignment.categories)}; "
            "pip install pandas"
        )
    categories = alignment.categories if table.backend == "pandas" else {}
    return (categorized(table, categories, alignment.closed) if categories else table), header


def _aligned_array(
    estimator: Any, table: ArrayTable, named: bool, apart: Collection[str]
) -> tuple[Table, Header | None]:
    """Return an array without the columns ``apart``, unless a model was fitted on the full width."""
    models, header = as_model_list(estimator) or (estimator,), None
    if apart and not any(width_of(one) == len(table.names) for one in models):
        given = table.names
        places = [position for position, name in enumerate(given) if name not in apart]
        table = replace(table, native=table.native[:, places], names=tuple(given[j] for j in places))
        header = Header(table.names, given)
    for one in models:
        check_width(one, len(table.names))
        if named:
            _check_array_names(one, table.names)
    return table, header


def _unknown_categories(table: FrameTable, own: tuple[str, ...], alignment: Alignment) -> tuple[str, ...]:
    """Return a text for each column with values outside the known categories; skip unreadable columns."""
    from paribus._data.categories import unknown_to

    texts = []
    for name, known in alignment.open.items():
        position = own.index(name)
        try:
            codes, declared = table.column(position).factorized()
        except FeatureError:  # reported when the column is converted, or passed to the model
            continue
        occurring = [declared[code] for code in np.flatnonzero(np.bincount(codes))]
        texts.append(unknown_to(table.names[position], known, occurring))
    return tuple(text for text in texts if text is not None)


def _evenly_spaced_rows(table: FrameTable) -> FrameTable:
    """Return evenly spaced rows of a table."""
    chosen = np.zeros(len(table), dtype=bool)
    chosen[:: max(1, len(table) // SOME_ROWS)] = True
    return table.keep(chosen)


def _check_order(estimator: Any, names: tuple[str, ...], shown: Callable[[tuple[int, ...]], Table]) -> None:
    """Raise if an inner model was fitted on another column order that changes the predictions.

    ``shown`` returns some rows with their columns in a given order.
    """
    every = tuple(range(len(names)))
    for one in as_model_list(estimator) or (estimator,):
        for order in orders_within(one, names):
            predictions, other = (_sample_predictions(one, shown(positions)) for positions in (every, order))
            if predictions is None or other is None:
                continue  # a model that fails does so again in the call itself, which reports it
            tolerance = 1e-9 * np.abs(predictions[np.isfinite(predictions)]).max(initial=0.0)
            if predictions.shape == other.shape and np.allclose(
                predictions, other, rtol=1e-6, atol=tolerance, equal_nan=True
            ):
                continue
            moved = [position for position in every if order[position] != position]
            own, fitted = (
                ", ".join(repr(names[positions[at]]) for at in moved[:SHOWN]) + ", ..." * (len(moved) > SHOWN)
                for positions in (every, order)
            )
            raise TableError(
                f"X has columns in the order {own}, the model within {describe(one)} was fitted on {fitted}, "
                "and predictions depend on it; pass X with its columns in the order of the fit"
            )


def _sample_predictions(estimator: Any, table: Table) -> Floats | None:
    """Return the predictions of a model for some rows, None if it fails."""
    try:
        return adapt(estimator, table).predict(table.native, len(table))
    except Exception:  # a user's model may raise anything
        return None


def _check_array_names(estimator: Any, names: tuple[str, ...]) -> None:
    """Raise if the names of an array's columns are those of the fit in another order."""
    own = fitted_on(estimator)
    if own is not None and names != own.names and sorted(names) == sorted(own.names):
        raise TableError(
            f"feature_names={list(names)!r}: {describe(estimator)} was fitted on them in another order "
            f"({', '.join(own.names)}), and an array has none but their positions; pass the columns in that "
            "order, or a data frame"
        )


def prefers_pandas(estimator: Any, own: Callable[[], Table], pandas: Callable[[], Table]) -> bool:
    """Return whether a model fails on the given table type, but predicts the same rows from pandas."""
    models = [one for one in as_model_list(estimator) or (estimator,) if is_model(one)]
    return any(not _predicts(one, own) and _predicts(one, pandas) for one in models)


def _predicts(estimator: Any, table: Callable[[], Table]) -> bool:
    """Return whether a model can be adapted to a table."""
    try:
        adapt(estimator, table())
    except (ModelError, TableError):
        return False
    except ParibusError:  # about the response method, which the call itself reports
        return True
    return True


def aligned_reading(estimator: Any, reading: TableReader, alignment: Alignment) -> TableReader:
    """Return a reader that converts columns to known categories, and to pandas if a model needs it."""
    import pyarrow as pa

    schema = reading.source.schema
    for name in alignment.categories:
        position = schema.get_field_index(name)
        schema = schema.set(position, pa.field(name, pa.dictionary(pa.int32(), schema.field(position).type)))
    source: Any = replace(reading.source, schema=schema)  # type: ignore[type-var]
    reading = replace(
        reading, source=source, categories=alignment.categories, closed=alignment.closed, open=alignment.open
    )
    if source.library != "pandas" and find_spec("pandas"):
        shown = replace(reading, source=replace(source, library="pandas"))
        if alignment.pandas or (
            source.library == "polars" and prefers_pandas(estimator, reading.head, shown.head)
        ):
            reading = shown
    _check_order(estimator, reading.columns, partial(_head_in_order, reading))
    return reading


def _head_in_order(reading: TableReader, order: tuple[int, ...]) -> Table:
    """Return the first rows with their columns in another order."""
    columns, names = (tuple(of[position] for position in order) for of in (reading.columns, reading.names))
    return replace(reading, columns=columns, names=names).table(reading.source.head(reading.read))
