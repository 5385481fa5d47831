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
from paribus.models.adapter import is_model
from paribus.models.columns import Fitted, fitted_on, width_of

if TYPE_CHECKING:
    from paribus.data.scan.reading import Reading

Content = Callable[[int], tuple[str, bool]]  # what a column of X holds, in words, and whether as categories
Places = tuple[int | None, ...]


@dataclass(frozen=True)
class Alignment:
    """The columns of X that the models get, in their order.

    ``categories`` are the columns to be made categories, with those that the models know; ``closed`` tells
    that others are refused, ``pandas`` that the models take no other library's tables.
    """

    places: tuple[int, ...]
    unused: tuple[str, ...] = ()
    categories: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    closed: bool = False
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
            any(own.closed for own, _ in named),
            any(own.pandas for own, _ in named),
        )


def check_width(estimator: Any, columns: int) -> None:
    """Refuse a number of columns other than the one the model was fitted on."""
    width = width_of(estimator)
    if width is not None and width != columns:
        raise TableError(
            f"X has {columns} columns and the model was fitted on {width}; pass those it was fitted on, in "
            "their order"
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
            if place is None or (column not in own.numbers and column not in own.categories):
                continue
            what, coded = content(place)
            known = own.categories.get(column)
            wanted = "numbers" if known is None else _held(known)
            if what != wanted and "text" in (what, wanted) and what != "objects":
                has = f"categories of {what}" if coded else what
                fitted = wanted if known is None else f"categories of {wanted}"
                raise TableError(
                    f"column {header[place]!r} of X holds {has}, and the model was fitted on {fitted}; pass "
                    "what it was fitted on"
                )
            if known is not None and own.typed and not coded:
                before = made.get(header[place], ())
                made[header[place]] = tuple(dict.fromkeys((*before, *known)))
    return made


def _held(categories: tuple[Any, ...]) -> str:
    """Return what categories are, in words."""
    if any(isinstance(value, str) for value in categories):
        return "text"
    return "booleans" if any(isinstance(value, bool) for value in categories) else "numbers"


def aligned(estimator: Any, table: Table) -> tuple[Table, Header | None]:
    """Return a table in memory as the model was fitted on it, and its header if it has another one."""
    if isinstance(table, ArrayTable):
        for one in listed(estimator) or (estimator,):
            check_width(one, len(table.names))
        return table, None
    from paribus.data.categories import as_pandas, categorized, content_in
    from paribus.data.frame import FrameTable

    assert isinstance(table, FrameTable)
    whole, own = table, tuple(map(str, table.frame.columns))
    found = Alignment.of(estimator, own, lambda place: content_in(whole, place))
    given, header = table.names, None
    if found.places != tuple(range(len(given))):
        table = table.pick(found.places)
        unused = tuple(given[own.index(name)] for name in found.unused)
        header = Header(table.names, given, unused)
    if table.backend == "pandas":
        return (categorized(table, found.categories, found.closed) if found.categories else table), header
    if table.backend not in ("polars", "pyarrow") or not find_spec("pandas"):
        return table, header
    if found.pandas or prefers_pandas(
        estimator, lambda: table.slice(0, 1_024), lambda: as_pandas(table.slice(0, 1_024), {}, False)
    ):
        return as_pandas(table, found.categories, found.closed), header
    return table, header


def prefers_pandas(estimator: Any, own: Callable[[], Table], pandas: Callable[[], Table]) -> bool:
    """Tell whether a model fails on some rows as they are, and predicts them as a pandas table."""
    models = [one for one in listed(estimator) or (estimator,) if is_model(one)]
    return any(_fails(one, own()) and not _fails(one, pandas()) for one in models)


def _fails(estimator: Any, table: Table) -> bool:
    try:
        adapt(estimator, table)
    except ModelError:
        return True
    except ParibusError:  # about what is asked of it, which the call itself will say
        return False
    return False


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
