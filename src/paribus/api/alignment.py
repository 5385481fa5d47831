"""X as the model was fitted on it: its columns by name, in its order, as its categories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus.contracts import Floats
from paribus.data.array import ArrayTable
from paribus.data.features import Header
from paribus.data.table import Table
from paribus.errors import FeatureError, ModelError, ParibusError, TableError
from paribus.models import adapt, as_model_list
from paribus.models.adapter import describe, is_model
from paribus.models.columns import FittedColumns, fitted_on, orders_within, width_of

if TYPE_CHECKING:
    from paribus.data.frame import FrameTable
    from paribus.data.scan.reading import TableReader

Content = Callable[[int], tuple[str, bool]]  # what a column of X holds, in words, and whether as categories
Places = tuple[int | None, ...]
SHOWN = 5  # columns, in a message
SOME_ROWS = 1_024  # of a table in memory, predicted to see whether the model takes it so


@dataclass(frozen=True)
class Alignment:
    """The columns of X that the models get, in their order.

    ``categories`` are the columns to be made categories, with those that the models know, ``closed`` the
    columns where others are refused, ``open`` those of each model of columns where others are missing values;
    ``pandas`` is whether the models take no other library's tables.
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
        """Find the columns the models were fitted on; one that was fitted on an array gets them all.

        Of several models all get what those were fitted on that know it, which one that does not know must
        get as well. ``apart`` are columns with another use, which are given to a model only if it was fitted
        on them.
        """
        several = as_model_list(estimator) or (estimator,)
        known = [(own, None if own is None else own.places(header)) for own in map(fitted_on, several)]
        named = [(own, places) for own, places in known if own is not None and places is not None]
        unnamed = [one for one, (_, places) in zip(several, known, strict=True) if places is None]
        every = tuple(place for place, name in enumerate(header) if name not in apart)
        for one in unnamed:
            check_width(one, len(every))
        if not named:
            return cls(every)
        _check_same([tuple(p for p in places if p is not None) for _, places in named], header)
        places = tuple(place for place in named[0][1] if place is not None)
        if unnamed and places != every:
            raise ModelError(
                f"The columns of X, or their order, differ from those a model of the list was fitted on, "
                f"and {describe(unnamed[0])} does not store its columns; pass one model at a time, or X "
                f"with exactly the fitted columns, in their order"
            )
        used = {header[place] for place in places}
        return cls(
            places,
            tuple(name for name in header if name not in used and name not in apart),
            _categories(named, header, content),
            {
                header[place]: own.categories[column]
                for own, places in named
                for column, place in enumerate(places)
                if own.closed and place is not None and column in own.categories
            },
            any(own.pandas for own, _ in named),
            _open(named, header),
        )


def check_width(estimator: Any, columns: int) -> None:
    """Refuse a number of columns other than the one the model was fitted on."""
    width = width_of(estimator)
    if width is not None and width != columns:
        raise TableError(
            f"X has {columns} features, but {describe(estimator)} is expecting {width} features as input; "
            "pass the columns it was fitted on, in their order"
        )


def _check_same(each: list[tuple[int, ...]], header: tuple[str, ...]) -> None:
    """Refuse models of a list that were fitted on other columns than each other."""
    one, other = each[0], next((places for places in each if places != each[0]), each[0])
    if one == other:
        return
    odd = next((place for place in (*one, *other) if (place in one) != (place in other)), None)
    differs = (
        f"different columns, some of them without {header[odd]!r}"
        if odd is not None
        else ("the same columns in another order")
    )
    raise ModelError(f"the models of a list were fitted on {differs}; pass one model at a time")


def _categories(
    named: list[tuple[FittedColumns, Places]], header: tuple[str, ...], content: Content
) -> dict[str, tuple[Any, ...]]:
    """Return the columns that must become categories; refuse what a model cannot have been fitted on."""
    made: dict[str, tuple[Any, ...]] = {}
    for own, places in named:
        for column, place in enumerate(places):
            if place is None or not own.knows(column):
                continue
            what, coded = content(place)
            known = own.categories.get(column)
            if _differs(what, coded, own, column):
                has = f"categories of {what}" if coded else what
                raise TableError(
                    f"column {header[place]!r} of X holds {has}, and the model was fitted on "
                    f"{own.describe(column)}; pass what it was fitted on"
                )
            if known is not None and own.typed and not coded:
                made[header[place]] = tuple(dict.fromkeys((*made.get(header[place], ()), *known)))
    return made


def _open(
    named: list[tuple[FittedColumns, Places]], header: tuple[str, ...]
) -> dict[str, tuple[tuple[Any, ...], ...]]:
    """Return the categories each model knows of columns where others are missing values to it."""
    found: dict[str, tuple[tuple[Any, ...], ...]] = {}
    for own, places in named:
        for column, known in own.categories.items():
            place = places[column]
            if place is not None and not own.closed:
                found[header[place]] = (*found.get(header[place], ()), known)
    return found


def _differs(what: str, coded: bool, own: FittedColumns, column: int) -> bool:
    """Return whether a column cannot be what the model was fitted on; objects may be anything."""
    if column in own.categories:
        wanted = own.n_known(column)
        return what not in (wanted, "objects") and wanted is not None
    return what == "text" and (column in own.numbers or not coded)


def aligned(estimator: Any, table: Table, *, named: bool) -> tuple[Table, Header | None]:
    """Return a table in memory as the model was fitted on it, and its header if it has another one.

    ``named`` tells that the user named the columns of an array, which has no names of its own.
    """
    if isinstance(table, ArrayTable):
        for one in as_model_list(estimator) or (estimator,):
            check_width(one, len(table.names))
            if named:
                _check_array_names(one, table.names)
        return table, None
    from paribus.data.categories import as_pandas, categorized, check_known, contents_of
    from paribus.data.frame import FrameTable

    assert isinstance(table, FrameTable)
    own = tuple(map(str, table.frame.columns))
    found = Alignment.of(estimator, own, contents_of(table))
    for name in found.closed.keys() - found.categories.keys():
        declared = table.frame[:, own.index(name)].cat.get_categories()
        check_known(name, found.closed[name], declared.to_list())
    given, header = table.names, None
    names = tuple(own[place] for place in found.places)
    unknown = _unknown(table, own, found)
    if found.places != tuple(range(len(given))):
        table = table.pick(found.places)
    if unknown or table.names != given:
        unused = tuple(given[own.index(name)] for name in found.unused)
        header = Header(table.names, given, unused, unknown)
    some = table.slice(0, SOME_ROWS)
    as_shown = (
        table.backend in ("polars", "pyarrow")
        and find_spec("pandas") is not None
        and (found.pandas or prefers_pandas(estimator, lambda: some, lambda: as_pandas(some, {}, {})))
    )

    def reordered(order: tuple[int, ...]) -> Table:
        few = _evenly(table).pick(order)
        return as_pandas(few, {}, {}) if as_shown else few

    _check_order(estimator, names, reordered)
    if as_shown:
        return as_pandas(table, found.categories, found.closed), header
    categories = found.categories if table.backend == "pandas" else {}
    return (categorized(table, categories, found.closed) if categories else table), header


def _unknown(table: FrameTable, own: tuple[str, ...], found: Alignment) -> tuple[str, ...]:
    """Return which values of columns are none of the models' categories; what cannot be read is none."""
    from paribus.data.categories import unknown_to

    texts = []
    for name, known in found.open.items():
        place = own.index(name)
        try:
            codes, declared = table.column(place).factorized()
        except FeatureError:  # it is refused where it is made a category, or given to the model
            continue
        occurring = [declared[code] for code in np.flatnonzero(np.bincount(codes))]
        texts.append(unknown_to(table.names[place], known, occurring))
    return tuple(text for text in texts if text is not None)


def _evenly(table: FrameTable) -> FrameTable:
    """Return some rows from all over a table."""
    chosen = np.zeros(len(table), dtype=bool)
    chosen[:: max(1, len(table) // SOME_ROWS)] = True
    return table.keep(chosen)


def _check_order(estimator: Any, names: tuple[str, ...], shown: Callable[[tuple[int, ...]], Table]) -> None:
    """Refuse an order of columns other than that of a model within, where predictions depend on it."""
    every = tuple(range(len(names)))
    for one in as_model_list(estimator) or (estimator,):
        for order in orders_within(one, names):
            found, other = (_predictions(one, shown(places)) for places in (every, order))
            if found is None or other is None or _close(found, other):
                continue  # a model that fails does so in the call itself, which reports it
            moved = [place for place in every if order[place] != place]
            own, fitted = (
                ", ".join(repr(names[places[at]]) for at in moved[:SHOWN]) + ", ..." * (len(moved) > SHOWN)
                for places in (every, order)
            )
            raise TableError(
                f"X has columns in the order {own}, the model within {describe(one)} was fitted on {fitted}, "
                "and predictions depend on it; pass X with its columns in the order of the fit"
            )


def _predictions(estimator: Any, table: Table) -> Floats | None:
    """Return what a model predicts for some rows, None where it fails."""
    try:
        return adapt(estimator, table).predict(table.native, len(table))
    except Exception:  # whatever a foreign model raises
        return None


def _close(one: Floats, other: Floats) -> bool:
    size = np.abs(one[np.isfinite(one)]).max(initial=0.0)
    return one.shape == other.shape and np.allclose(one, other, rtol=1e-6, atol=1e-9 * size, equal_nan=True)


def _check_array_names(estimator: Any, names: tuple[str, ...]) -> None:
    """Refuse names of an array's columns that are the model's own in another order: it goes by position."""
    own = fitted_on(estimator)
    if own is not None and names != own.names and sorted(names) == sorted(own.names):
        raise TableError(
            f"feature_names={list(names)!r}: {describe(estimator)} was fitted on them in another order "
            f"({', '.join(own.names)}), and an array has none but their positions; pass the columns in that "
            "order, or a data frame"
        )


def prefers_pandas(estimator: Any, own: Callable[[], Table], pandas: Callable[[], Table]) -> bool:
    """Return whether a model fails on some rows as they are, and predicts them as a pandas table."""
    models = [one for one in as_model_list(estimator) or (estimator,) if is_model(one)]
    return any(not _predicts(one, own) and _predicts(one, pandas) for one in models)


def _predicts(estimator: Any, table: Callable[[], Table]) -> bool:
    try:
        adapt(estimator, table())
    except (ModelError, TableError):
        return False
    except ParibusError:  # about the response, which the call itself will report
        return True
    return True


def aligned_reading(estimator: Any, reading: TableReader, found: Alignment) -> TableReader:
    """Return how rows are read as the models were fitted on them: as categories they know, as pandas."""
    import pyarrow as pa

    schema = reading.source.schema
    for name in found.categories:
        place = schema.get_field_index(name)
        schema = schema.set(place, pa.field(name, pa.dictionary(pa.int32(), schema.field(place).type)))
    source: Any = replace(reading.source, schema=schema)  # type: ignore[type-var]
    reading = replace(
        reading, source=source, categories=found.categories, closed=found.closed, open=found.open
    )
    if source.library != "pandas" and find_spec("pandas"):
        shown = replace(reading, source=replace(source, library="pandas"))
        if found.pandas or (
            source.library == "polars" and prefers_pandas(estimator, reading.head, shown.head)
        ):
            reading = shown
    _check_order(estimator, reading.columns, partial(_head_in_order, reading))
    return reading


def _head_in_order(reading: TableReader, order: tuple[int, ...]) -> Table:
    """Return a few rows with their columns in another order."""
    columns, names = (tuple(of[place] for place in order) for of in (reading.columns, reading.names))
    return replace(reading, columns=columns, names=names).table(reading.source.head(reading.read))
