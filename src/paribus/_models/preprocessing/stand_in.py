"""A stand-in for a table that has no values: what a function makes of it holds for any values.

That a function returned some rows unchanged is no proof that it changes none. A function that is given no
values cannot depend on them: if it returns the stand-in, after nothing but operations on each number by
itself, then each column it returns depends on the column in its place alone, whatever the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

BY_NUMBER = (
    np.clip,
    np.nan_to_num,
    np.round,
    np.where,
)  # each number by itself; no ufuncs
DENSE = ("toarray", "todense", "to_numpy")  # methods that hold the same values in an array


class NotByNumberError(Exception):
    """A function did something else than to treat each number by itself."""


class StandIn(NDArrayOperatorsMixin):
    """Stands for a table of some class; ``opened`` collects what was attempted that would need its values."""

    def __init__(self, kind: type, opened: list[str]) -> None:
        self.__dict__.update(kind=kind, opened=opened)

    @property  # type: ignore[misc]
    def __class__(self) -> type:  # isinstance must find what the table is
        return type(self) if "kind" not in self.__dict__ else self.__dict__["kind"]

    def __getattr__(self, name: str) -> Any:
        kind = self.__dict__["kind"]
        if not hasattr(kind, name):
            raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
        if name in DENSE:
            return lambda: StandIn(np.ndarray, self.__dict__["opened"])
        if name == "values" and isinstance(getattr(kind, name), property):
            return StandIn(np.ndarray, self.__dict__["opened"])
        if name == "copy":
            return lambda: self
        if name == "astype":
            return self._as_numbers
        if name == "fillna":
            return lambda value: self._with(name, (value,))
        return self._refused(name)

    def _refused(self, name: str) -> NoReturn:
        self.__dict__["opened"].append(name)
        raise NotByNumberError(name)

    def _as_numbers(self, dtype: Any) -> StandIn:
        # The categories or texts of a column may depend on other rows.
        if not (isinstance(dtype, (str, type, np.dtype)) and _is_number(dtype)):
            self._refused("astype")
        return self

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> StandIn:
        if method != "__call__" or options or ufunc.nout != 1 or ufunc.signature is not None:
            self._refused(ufunc.__name__)
        return self._with(ufunc.__name__, inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> StandIn:
        if function not in BY_NUMBER:
            self._refused(str(function))
        return self._with(str(function), (*inputs, *options.values()))

    def _with(self, name: str, inputs: tuple[Any, ...]) -> StandIn:
        """Return the result of an operation with numbers and with what was made of the same table."""
        for value in inputs:
            own = type(value) is StandIn and value.__dict__["opened"] is self.__dict__["opened"]
            if not own and not (value is None or isinstance(value, (bool, int, float, np.number))):
                self._refused(name)
        return self

    def __getitem__(self, key: Any) -> NoReturn:
        self._refused("__getitem__")

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        self._refused("__setitem__")

    def __len__(self) -> int:
        self._refused("__len__")

    def __iter__(self) -> NoReturn:
        self._refused("__iter__")

    def __bool__(self) -> bool:
        self._refused("__bool__")

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        self._refused("__array__")


def _is_number(dtype: Any) -> bool:
    try:
        return np.dtype(dtype).kind in "fiub"
    except TypeError:  # a dtype that numpy does not know
        return False


def by_number(function: Callable[..., Any], kind: type, options: dict[str, Any]) -> bool:
    """Return whether a function of tables of a class provably treats each number by itself."""
    opened: list[str] = []
    if "type" in getattr(getattr(function, "__code__", None), "co_names", ()):
        return False  # type() alone distinguishes the stand-in from what it stands for
    try:
        made = function(StandIn(kind, opened), **options)
    except Exception:  # whatever a foreign function raises, nothing is proved of it
        return False
    return type(made) is StandIn and made.__dict__["opened"] is opened and not opened
