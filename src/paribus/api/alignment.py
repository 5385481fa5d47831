"""X as the model was fitted on it: its columns by name, in its order, as its categories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from paribus.data.array import ArrayTable
from paribus.data.features import Header
from paribus.data.table import Table
from paribus.errors import ModelError, ParibusError, TableError
from paribus.models import adapt, listed
from paribus.models.adapter import describe, is_model
from paribus.models.columns import Fitted, fitted_on, width_of

if TYPE_CHECKING:
    from paribus.data.scan.reading import Reading

Content = Callable[[int], tuple[str, bool]]  # what a column of X holds, in words, and whether as categories
Places = tuple[int | None, ...]
SOME_ROWS = 1_024  # of a polars or Arrow table, predicted to see whether the model takes it


@dataclass(frozen=True)
class Alignment:
    """The columns of X that the models get, in their order.

    ``categories`` are the columns to be made categories, with those that the models know, ``closed`` the
    columns where others are refused; ``pandas`` is whether the models take no other library's tables.
    """

    places: tuple[int, ...]
    unused: tuple[str, ...] = ()
    categories: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    closed: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    pandas: bool = False

    @classmethod
    def of(
        cls, estimator: Any, header: tuple[str, ...], content: Content, apart: Collection[Any] = ()
    ) -> Alignment:
        """Find the columns the models were fitted on; one that was fitted on an array gets them all.

        Of several models all get what those were fitted on that know it. ``apart`` are columns with another
        use, which are given to a model only if it was fitted on them.
        """
        several = listed(estimator) or (estimator,)
        known = [(own, own.places(header)) for own in map(fitted_on, several) if own is not None]
        named = [(own, places) for own, places in known if places is not None]
        if not named:
            places = tuple(place for place, name in enumerate(header) if name not in apart)
            for one in several:
                check_width(one, len(places))
            return cls(places)
        _check_same([tuple(p for p in places if p is not None) for _, places in named], header)
        places = tuple(place for place in named[0][1] if place is not None)
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
    differs = "in another order" if odd is None else f"some of them without {header[odd]!r}"
    raise ModelError(
        f"the models of a list were fitted on other columns of X than each other, {differs}; pass one model "
        "at a time"
    )


def _categories(
    named: list[tuple[Fitted, Places]], header: tuple[str, ...], content: Content
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
                    f"{own.in_words(column)}; pass what it was fitted on"
                )
            if known is not None and own.typed and not coded:
                made[header[place]] = tuple(dict.fromkeys((*made.get(header[place], ()), *known)))
    return made


def _differs(what: str, coded: bool, own: Fitted, column: int) -> bool:
    """Return whether a column cannot be what the model was fitted on; objects may be anything."""
    if column in own.categories:
        wanted = own.held(column)
        return what not in (wanted, "objects") and wanted is not None
    return what == "text" and (column in own.numbers or not coded)


def aligned(estimator: Any, table: Table, *, named: bool) -> tuple[Table, Header | None]:
    """Return a table in memory as the model was fitted on it, and its header if it has another one.

    ``named`` tells that the user named the columns of an array, which has no names of its own.
    """
    if isinstance(table, ArrayTable):
        for one in listed(estimator) or (estimator,):
            check_width(one, len(table.names))
            if named:
                _check_order(one, table.names)
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
    if found.places != tuple(range(len(given))):
        table = table.pick(found.places)
        unused = tuple(given[own.index(name)] for name in found.unused)
        header = Header(table.names, given, unused)
    if table.backend == "pandas":
        return (categorized(table, found.categories, found.closed) if found.categories else table), header
    if table.backend not in ("polars", "pyarrow") or not find_spec("pandas"):
        return table, header
    some = table.slice(0, SOME_ROWS)
    if found.pandas or prefers_pandas(estimator, lambda: some, lambda: as_pandas(some, {}, {})):
        return as_pandas(table, found.categories, found.closed), header
    return table, header


def _check_order(estimator: Any, names: tuple[str, ...]) -> None:
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
    models = [one for one in listed(estimator) or (estimator,) if is_model(one)]
    return any(not _predicts(one, own) and _predicts(one, pandas) for one in models)


def _predicts(estimator: Any, table: Callable[[], Table]) -> bool:
    try:
        adapt(estimator, table())
    except (ModelError, TableError):
        return False
    except ParibusError:  # about the response, which the call itself will report
        return True
    return True


def aligned_reading(estimator: Any, reading: Reading, found: Alignment) -> Reading:
    """Return how rows are read as the models were fitted on them: as categories they know, as pandas."""
    import pyarrow as pa

    schema = reading.source.schema
    for name in found.categories:
        place = schema.get_field_index(name)
        schema = schema.set(place, pa.field(name, pa.dictionary(pa.int32(), schema.field(place).type)))
    source: Any = replace(reading.source, schema=schema)  # type: ignore[type-var]
    reading = replace(reading, source=source, categories=found.categories, closed=found.closed)
    if source.library == "pandas" or not find_spec("pandas"):
        return reading
    shown = replace(reading, source=replace(source, library="pandas"))
    wanted = found.pandas or (
        source.library == "polars" and prefers_pandas(estimator, reading.head, shown.head)
    )
    return shown if wanted else reading
