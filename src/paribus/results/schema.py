"""Dimensions, declared once for each field of a result, and the checks that follow from them."""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

import numpy as np

from paribus._codec.records import checker, hints_of, spelled
from paribus._contracts import NOMINAL
from paribus.errors import InputError

Dim = str | int  # a name, which stands for one size throughout a result, or a size
SEVERAL = ("grid", "step", "cell", "outputs")  # dimensions of any number of axes; they come last
NUMBERS = {"numeric": "fiu", "integer": "fiu", "datetime": "mM"}  # dtypes of axes that are no categories
STORED: dict[str, type[Record]] = {}  # loaded records that files name, by the name they have there
T = TypeVar("T", bound="Record")


class TableColumn(NamedTuple):
    """What a table has of a record: an array, or None where it is filled."""

    name: str
    dims: tuple[Dim, ...]
    value: Any


class Declaration(NamedTuple):
    """Declaration of a field, in addition to its type."""

    dims: tuple[Dim, ...] = ()
    optional: bool = False
    column: str | None = None
    filled: bool = False
    labels: bool = False
    nested: bool = False


def array(
    *dims: Dim, optional: bool = False, column: str | None = None, filled: bool = False, **field: Any
) -> Any:
    """Declare a field of a record: an array or a tuple with an axis for each dimension.

    Parameters
    ----------
    *dims : str or int
        Its dimensions: ``grid`` (an axis for each feature), ``step`` (between grid values), ``cell`` (steps
        of numbers, categories themselves), ``outputs`` (no axis if there is one output), any other name for
        one axis, or a size.
    optional : bool
        Whether the key is absent from the result where it is None.
    column : str, optional
        Its name in tables. What has the dimensions of the table is there under its own.
    filled : bool
        Whether tables have its column where it is None.
    **field
        As in `dataclasses.field`.
    """
    return _field(Declaration(dims, optional, column, filled), field)


def labels(dim: Dim) -> Any:
    """Declare a field that names the entries of a dimension, as coordinates do."""
    return _field(Declaration((dim,), labels=True), {})


def nested(*dims: Dim, optional: bool = False, **field: Any) -> Any:
    """Declare a part whose dimensions are those of the record it is in.

    Parameters
    ----------
    *dims : str or int
        Dimensions of all its arrays, if it does not declare them itself.
    optional, **field
        As in `array`.
    """
    return _field(Declaration(dims, optional, nested=True), field)


def _field(declared: Declaration, options: dict[str, Any]) -> Any:
    return dataclasses.field(**options, metadata={"declared": declared})


def _known_fields(self: Any) -> str:
    """Return the repr of a record: its fields that are not None, of arrays a few values."""
    values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
    with np.printoptions(threshold=8, edgeitems=2, precision=4):
        known = [f"{name}={value!r}" for name, value in values.items() if value is not None]
    return f"{type(self).__name__}({', '.join(known)})"


@dataclass_transform(
    frozen_default=True, eq_default=False, field_specifiers=(array, labels, nested, dataclasses.field)
)
def record(kind: type[T]) -> type[T]:
    """Make a class a frozen dataclass; one that has a name in files, ``stored``, can be loaded."""
    own_repr = kind.__repr__ is not object.__repr__  # results print their numbers, not their fields
    made = dataclasses.dataclass(frozen=True, eq=False, repr=False)(kind)
    if not own_repr:
        made.__repr__ = _known_fields  # type: ignore[method-assign]
    made.declared = {}
    for field in dataclasses.fields(made):
        if "declared" in field.metadata:
            own: Declaration = field.metadata["declared"]
            column = own.column or (field.name if own.dims == kind.table else None)
            made.declared[field.name] = own._replace(column=column)
    if "stored" in vars(kind):
        STORED[kind.stored] = made
    return made


class Record:
    """A frozen dataclass whose arrays are read-only and have the shapes their dimensions say.

    Both hold from when it is made; ``_check`` is for what shapes do not say.
    """

    stored: ClassVar[str]
    table: ClassVar[tuple[Dim, ...]] = ("output", "grid")  # what its tables have a row for each of
    declared: ClassVar[dict[str, Declaration]]  # by field, of those that have dimensions or are nested
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def __post_init__(self) -> None:
        kind: Any = type(self)
        for name, hint in hints_of(kind).items():
            if not checker(hint)(getattr(self, name)):
                shown = " ".join(reprlib.repr(getattr(self, name)).split())
                raise InputError(f"{name}={shown} of {kind.__name__} must be {spelled(hint)}")
        self._freeze()
        self._check()
        sizes = _sizes(self) if self.declared else {}
        for path, dims, value in declared_arrays(self):
            _check_shape(".".join(path), dims, value, sizes)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the fields of a copy or of an unpickled record, whose arrays are new ones."""
        vars(self).update(state)
        self._freeze()

    def _freeze(self) -> None:
        for value in vars(self).values():
            for part in value if isinstance(value, tuple) else (value,):
                read_only(part)

    def _check(self) -> None:
        """Refuse parts that do not belong together."""

    def _parts(self) -> list[Record]:
        """Return its nested records."""
        nested = (getattr(self, name) for name, declared in self.declared.items() if declared.nested)
        return [part for part in nested if isinstance(part, Record)]

    def _columns(self) -> Iterator[TableColumn]:
        """Yield what tables have of it."""
        for name, declared in self.declared.items():
            value = getattr(self, name)
            if declared.column is not None and (value is not None or declared.filled):
                yield TableColumn(declared.column, declared.dims, value)
        for part in self._parts():
            yield from part._columns()

    def _at_missing(self) -> dict[str, Any]:
        """Return what the columns are at a missing value, nothing if it has no such point."""
        missing = getattr(self, "missing", None)
        known = {} if missing is None else dict(vars(missing))
        for part in self._parts():
            known |= part._at_missing()
        return known

    def _labels(self) -> dict[Dim, Any]:
        """Return the names, or numbers, of the entries of dimensions."""
        known = {
            declared.dims[0]: getattr(self, name)
            for name, declared in self.declared.items()
            if declared.labels
        }
        for part in self._parts():
            known |= part._labels()
        return known


def stored_records() -> dict[str, type[Record]]:
    """Return all records that files name, by the name they have there."""
    from paribus import results

    for name in results.__all__:
        getattr(results, name)  # loads the module of the class
    return STORED


def read_only(value: object) -> None:
    """Freeze an array in place; what is none stays as it is."""
    if isinstance(value, np.ndarray):
        value.setflags(write=False)


def column_names(kind: type[Record]) -> list[str]:
    """Return the names that no feature has in the tables of a result, whichever of them it is."""
    columns = (declared.column for declared in kind.declared.values())
    return ["output", "row", *filter(None, columns)]


def declared_arrays(record: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Yield the name, the dimensions and the value of all that has dimensions, in nested parts too."""
    for name, declared in record.declared.items():
        value, place = getattr(record, name), (*path, name)
        if value is None:
            continue
        if not declared.nested:
            yield place, declared.dims, value
        elif not declared.dims:
            yield from declared_arrays(value, place)
        else:
            parts = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
            yield from (((*place, own), declared.dims, part) for own, part in parts if part is not None)


def _sizes(record: Any) -> dict[Dim, tuple[int, ...]]:
    """Return the sizes that the names of outputs and the values of axes decide."""
    sizes: dict[Dim, tuple[int, ...]] = {}
    outputs = getattr(record, "output_names", None)
    if outputs is not None:
        several = (len(outputs),)
        sizes |= {"output": several, "outputs": () if several == (1,) else several}
    if not hasattr(record, "grid_values"):
        return sizes
    axes, kinds = record.grid_values, record.kinds
    if len(axes) != len(kinds) or not axes or any(np.ndim(axis) != 1 for axis in axes):
        raise InputError(
            f"grid_values has {len(axes)} axes for {len(kinds)} kinds; pass a 1-d array for each feature"
        )
    for axis, kind in zip(axes, kinds, strict=True):
        if axis.dtype.kind not in NUMBERS.get(kind, axis.dtype.kind):
            raise InputError(f"grid_values of dtype {axis.dtype} cannot be {kind}; pass values of that kind")
    nodes = tuple(len(axis) for axis in axes)
    steps = tuple(max(0, size - 1) for size in nodes)
    cells = (n if kind in NOMINAL else s for n, s, kind in zip(nodes, steps, kinds, strict=True))
    return sizes | {"feature": (len(axes),), "grid": nodes, "step": steps, "cell": tuple(cells)}


def _check_shape(name: str, dims: tuple[Dim, ...], value: Any, sizes: dict[Dim, tuple[int, ...]]) -> None:
    """Refuse a shape that its dimensions do not have; the first with a dimension decides its size."""
    counted = (len(value),) if isinstance(value, (tuple, list)) else ()
    shape: tuple[int, ...] = getattr(value, "shape", counted)
    expected: tuple[int, ...] = ()
    for dim in dims:
        rest = shape[len(expected) :]
        if isinstance(dim, int):
            expected += (dim,)
        else:
            expected += sizes.setdefault(dim, rest if dim in SEVERAL else rest[:1] or (0,))
    if shape != expected:
        spelled = ", ".join(map(str, dims))
        raise InputError(f"{name} has shape {shape}; pass it with the shape {expected} of ({spelled})")
