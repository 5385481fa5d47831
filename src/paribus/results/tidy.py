"""Results as tables with a row for each number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args

import narwhals.stable.v2 as nw
import numpy as np

from paribus._contracts import Array
from paribus._typing import FrameBackend
from paribus.errors import OptionError, check_choice
from paribus.results.schema import Dim, TableColumn, column_names

if TYPE_CHECKING:
    from paribus.results.hstatistics import HStatistics

STEPS = ("step", "cell")
BACKENDS: tuple[FrameBackend, ...] = get_args(FrameBackend)
TEXTS = (
    *("statistic", "feature", "feature_2", "feature_3", "output"),
    *("shape", "partner", "lowest", "highest"),
)
Columns: TypeAlias = dict[Any, Any]  # by name, and the values of features by the position of their axis


class LongTable(NamedTuple):
    """Columns of equal length, and the result whose features and outputs they are about.

    ``names`` are columns that stand before all others, and hold one name each.
    """

    result: Any
    columns: Columns
    names: Mapping[str, str] = {}

    @property
    def before(self) -> Columns:
        """The first columns."""
        return {name: [value] * len(self.columns["output"]) for name, value in self.names.items()}


def table_of(
    result: Any,
    arrays: Mapping[str, Any] | None = None,
    last: Mapping[str, Any] | None = None,
    dims: tuple[Dim, ...] | None = None,
    **names: str,
) -> LongTable:
    """Return columns over the dimensions of a result, by default all that it declares for tables.

    Other ``arrays`` have all of these dimensions, or are None, which is NaN.
    ``last`` is what they are at a missing value, which comes last; NaN where that is not known.
    """
    dims = dims or result.table
    columns = [TableColumn(name, dims, array) for name, array in (arrays or {}).items()]
    if arrays is None:
        columns, last = list(result._columns()), result._at_missing()
    # The steps of a surface lead to no single value.
    columns = [
        column for column in columns if column.dims[-1] not in STEPS or column.value.ndim == len(column.dims)
    ]
    labels = result._labels()
    single = len(labels.get("output", ())) == 1
    lead = [dim for dim in dims if dim != "grid" and not (dim == "outputs" and single)]
    full = next(column.value for column in columns if column.dims == dims and column.value is not None)
    points: list[Any] = _points(result) if "grid" in dims else []
    shape = (*full.shape[: len(lead)], math.prod(full.shape[len(lead) :]))
    found = {column.name: _over(column, lead, shape) for column in columns}
    if last:
        points = [[*values.tolist(), None] for values in points]
        found = {name: _with_last(array, last.get(name)) for name, array in found.items()}
    places = np.indices(next(iter(found.values())).shape).reshape(len(lead) + 1, -1)
    table: Columns = {}
    for dim, place in zip(lead, places, strict=False):
        name = "output" if dim == "outputs" else dim
        table[name] = _taken(labels.get(name), place)
    table |= {position: _taken(values, places[-1]) for position, values in enumerate(points)}
    return LongTable(result, table | {name: array.ravel() for name, array in found.items()}, names)


def _over(column: TableColumn, lead: list[Dim], shape: tuple[int, ...]) -> Array:
    """Return numbers for all dimensions of a table; those of steps are at the value they lead to."""
    dims, value = column.dims, column.value
    if value is None:
        return np.full(shape, np.nan)
    own = [dim for dim in dims if dim in lead]
    rest = value.shape[len(own) :]
    sizes = [size if dim in own else 1 for dim, size in zip(lead, shape, strict=False)]
    flat = value.reshape(*sizes, math.prod(rest))
    if dims[-1] in STEPS:
        start = np.full((*sizes, shape[-1] - flat.shape[-1]), np.nan)
        flat = np.concatenate([start, flat], axis=-1)
    return np.broadcast_to(flat, shape)


def _with_last(points: Array, last: Any) -> Array:
    """Append the missing point."""
    last = np.broadcast_to(np.nan if last is None else last, points.shape[:-1])
    return np.concatenate([points, last[..., None]], axis=-1)


def _points(result: Any) -> list[Array]:
    """Return the value each axis has at each point."""
    places = np.indices([len(values) for values in result.grid_values])
    return [plain(values)[p.ravel()] for values, p in zip(result.grid_values, places, strict=True)]


def plain(values: Array) -> Array:
    """Return values every frame library can hold: mixed categories as text, dates in microseconds."""
    if values.dtype == np.float16:
        return values.astype(np.float32)
    if values.dtype == object and len({type(value) for value in values}) > 1:
        return np.array([str(value) for value in values], dtype=object)
    coarse = values.dtype.kind in "mM" and np.datetime_data(values.dtype)[0] in ("ns", "ps", "fs", "as")
    return values.astype(f"{values.dtype.kind}8[us]") if coarse else values


def _taken(values: Any, places: Array) -> Any:
    """Return values at some places: numbers stay numpy, so that they keep their dtype, else a list."""
    if values is None:
        return places
    if isinstance(values, np.ndarray) and values.dtype.kind in "fiub":
        return values[places]
    items = values.tolist() if isinstance(values, np.ndarray) else values
    return [items[place] for place in places.tolist()]


def free_name(name: str, taken: Iterable[Any], kind: str = "feature") -> str:
    """Return the name of a feature, or of another kind of thing, kept apart from others."""
    while name in taken:
        name += f" ({kind})"
    return name


def frame_of(result: Any, tables: list[LongTable], backend: str | None) -> Any:
    """Return the table of one result, in which features are columns by name."""
    several = len(tables) > 1
    columns = _stacked([table.before | table.columns for table in tables]) if several else tables[0].columns
    taken, named = [*column_names(type(result)), *columns], {}
    for key, values in columns.items():
        if isinstance(key, int):
            key = free_name(result.feature_names[key], taken)
            taken.append(key)
            values = _alike(values) if several else values
        named[key] = values
    return native(named, result.provenance.backend, backend)


def long_frame(results: Any, tables: list[LongTable], backend: str | None) -> Any:
    """Return tables of many features as one, in which these are named in a column."""
    most = max(len(table.result.feature_names) for table in tables)
    stacked = _stacked([_long(table, most) for table in tables])
    return native(stacked, results.provenance.backend, backend)


def _long(table: LongTable, most: int) -> Columns:
    """Return columns for features of any kind: name, value as text, and as a number where it is one.

    There are as many of each as the ``most`` features of an effect.
    """
    result, columns, long = table.result, table.columns, table.before
    size = len(columns["output"])
    for position in range(most):
        suffix = "" if position == 0 else f"_{position + 1}"
        known = position < len(result.feature_names)
        values = columns[position] if known else [None] * size
        ordinal = known and result.kinds[position] in ("numeric", "integer")
        long |= {
            f"feature{suffix}": [result.feature_names[position] if known else None] * size,
            f"value{suffix}": [None if v is None else str(v) for v in values],
            f"number{suffix}": [float(v) if ordinal and v is not None else np.nan for v in values],
        }
    return long | {name: values for name, values in columns.items() if isinstance(name, str)}


def _stacked(tables: list[Columns]) -> Columns:
    """Put tables below each other; numbers that one lacks are NaN."""
    names = dict.fromkeys(name for table in tables for name in table)
    return {
        name: [value for table in tables for value in table.get(name, [np.nan] * len(table["output"]))]
        for name in names
    }


def _alike(values: list[Any]) -> list[Any]:
    """Return values that fit in one column: numbers as they are, categories of several types as text."""
    present = [value for value in values if value is not None]
    number = all(isinstance(value, (int, float, np.number)) for value in present)
    if number or len({type(value) for value in present}) < 2:
        return values
    return [None if value is None else str(value) for value in values]


def interactions_frame(
    result: HStatistics, statistic: str | None, sort: bool, zeros: bool, backend: str | None
) -> Any:
    """Return statistics of interactions as one long table."""
    statistics = result.computed if statistic is None else (statistic,)
    parts = [interaction_columns(result, name, sort=sort, zeros=zeros) for name in statistics]
    # Lists of text, arrays of numbers: an empty list of numbers would have no type.
    columns = {
        name: [text for part in parts for text in part[name]]
        if name in TEXTS
        else np.concatenate([part[name] for part in parts])
        for name in parts[0]
    }
    return native(columns, result.provenance.backend, backend)


def interaction_columns(result: HStatistics, statistic: str, *, sort: bool, zeros: bool) -> Columns:
    """Return the columns of the table of one statistic."""
    ratio, groups = result.ratio(statistic), result.groups(statistic)
    strength = ratio.strength.ravel()
    kept = np.argsort(-strength, kind="stable") if sort else np.arange(strength.size)
    if not zeros:
        kept = kept[strength[kept] != 0]
    entries, outputs = (positions.tolist() for positions in np.divmod(kept, len(result.output_names)))
    # The total is of all features, and names none of them.
    members = [() if statistic == "total" else groups[entry] for entry in entries]
    names = [[result.feature_names[place] for place in member] + [None] * 3 for member in members]
    numbers = {
        "strength": strength,
        "standard_error": ratio.strength_error,
        "h_squared": ratio.share,
        "standard_error_h_squared": ratio.ratio_error,
        "numerator": ratio.numerator,
        "denominator": ratio.denominator,
    }
    return {
        "statistic": [statistic] * len(members),
        **{name: [own[place] for own in names] for place, name in enumerate(TEXTS[1:4])},
        "output": [result.output_names[o] for o in outputs],
        **{name: values.ravel()[kept] for name, values in numbers.items()},
    }


def native(columns: Columns, table: str, backend: str | None) -> Any:
    """Build a native frame: as requested, else as the user's table was, else what is installed."""
    if backend is not None:
        check_choice("backend", backend, FrameBackend)
    wanted = BACKENDS if backend is None else (backend,)
    installed = (name for name in (table, *wanted) if name in wanted and find_spec(name) is not None)
    chosen: Any = next(installed, None)
    if chosen is None:
        raise OptionError(f"to_frame() needs {' or '.join(wanted)}; pip install {wanted[0]}")
    frame = nw.from_dict(columns, backend=chosen)
    # A column of text that holds none is of text all the same.
    empty = [nw.col(name).cast(nw.String) for name in TEXTS if frame.schema.get(name) == nw.Unknown]
    return frame.with_columns(*empty).to_native()


def grouped_frame(frames: Mapping[str, Any]) -> Any:
    """Return native tables of several groups as one, which begins with the column ``group``.

    A feature of that name has another column, as features named like other columns have.
    """
    labelled = []
    for label, frame in frames.items():
        own = nw.from_native(frame, eager_only=True)
        if "group" in own.columns:
            own = own.rename({"group": free_name("group", own.columns)})
        labelled.append(own.with_columns(nw.lit(label).alias("group")))
    joined = nw.concat(labelled, how="diagonal")
    return joined.select("group", nw.exclude("group")).to_native()
