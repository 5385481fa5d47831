"""What should have come out."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._contracts import Array, Flags
from paribus._data.kinds import kind_of_objects, missing_objects, typed
from paribus._data.rows import Rows
from paribus._text import count
from paribus.errors import FeatureError, InputError


def target_of(y: Any, rows: Rows) -> Array:
    """Read the target of each row with positive weight: shape ``(n,)``, or ``(n, o)`` for several.

    Anything numpy reads is taken: arrays, lists, series of pandas and polars, Arrow columns. A row of weight
    zero may be without.
    """
    array = _read_target(y)
    if array.ndim not in (1, 2) or len(array) != len(rows):
        size = count(len(rows), "row")
        raise InputError(f"y has shape {array.shape} and X has {size}; give one value per row")
    counted = np.arange(len(rows)) if rows.weights is None else np.flatnonzero(rows.weights)
    array = array[counted]
    unusable = _unusable(array)
    if unusable.any():
        position = int(np.flatnonzero(unusable)[0])
        shown = array[position].tolist() if isinstance(array[position], np.ndarray) else array[position]
        raise InputError(
            f"y[{counted[position]}] is {shown}, and {int(unusable.sum()) - 1} more are missing or infinite; "
            "drop such rows from X and y, or set their weights to zero"
        )
    return _typed_target(array)


def _read_target(y: Any) -> Array:
    if y is None:
        raise InputError("y is needed to score predictions; pass the target of each row of X")
    if np.ma.is_masked(y):
        raise InputError("y is a masked array; leave the rows that are masked out of X and y")
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise InputError(f"y cannot be read as one value per row: {error}") from error
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _unusable(array: Array) -> Flags:
    """Return which rows have a missing or infinite value."""
    if array.dtype.kind == "f":
        flags = ~np.isfinite(array)
    elif array.dtype.kind in "OT":
        flags = missing_objects(array.ravel()).reshape(array.shape)
    else:
        flags = np.zeros(array.shape, dtype=bool)
    return np.asarray(flags if flags.ndim == 1 else flags.any(axis=1))


def _typed_target(array: Array) -> Array:
    """Give numbers that came as objects their dtype; labels stay as they are."""
    if array.dtype.kind == "O":
        try:
            array = typed("y", array, kind_of_objects("y", array.ravel()))
        except FeatureError as error:
            raise InputError(f"y holds {type(array.flat[0]).__name__}s; pass numbers or labels") from error
    if array.dtype.kind not in "fiubOUST":
        raise InputError(f"y has dtype {array.dtype}; pass numbers or labels")
    return array
