"""How to predict: a method of a model, or a function, and what it returns as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats
from paribus._text import count
from paribus.errors import ModelError


@dataclass(frozen=True)
class Predictor:
    """A method of ``target`` by name, or the callable itself, with fixed keywords.

    ``columns`` picks output columns, None keeps them all. ``convert`` makes of the target and a native table
    what the method takes, where that is no table. It holds names and values only, so that a predictor can
    be shipped wherever its target can.
    """

    target: Any
    method: str | None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[int, ...] | None = None
    convert: Callable[[Any, Any], Any] | None = None

    def raw(self, table: Any) -> Any:
        """Return what the target predicts, untouched."""
        function: Callable[..., Any] = getattr(self.target, self.method) if self.method else self.target
        return function(table if self.convert is None else self.convert(self.target, table), **self.keywords)


def as_outputs(raw: Any, rows: int, name: str) -> Floats:
    """Read what a model predicts as numbers of shape ``(n, o)``, or say what is wrong with it."""
    try:
        prediction = _array(raw)
    except Exception as error:  # of whatever the model returned, a ragged list for example
        raise _no_array(raw, rows, name, f"that is not an array of numbers ({error!s:.200})") from error
    if prediction.dtype.kind not in "fiubO" or (prediction.dtype == object and _all_none(prediction)):
        raise _no_number(prediction, name)
    shape = prediction.shape
    if prediction.ndim == 0 and rows == 1:  # a model that squeezes
        prediction = prediction.reshape(1)
    if prediction.ndim == 1:
        prediction = prediction[:, None]
    if prediction.ndim != 2 or len(prediction) != rows or not prediction.shape[1]:
        sparse = hasattr(raw, "toarray")
        raise _no_array(raw, rows, name, "that is sparse" if sparse else f"of shape {shape}")
    try:
        return prediction.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise _no_number(prediction, name) from error


def _array(raw: Any) -> Array:
    if isinstance(raw, (list, tuple)) and raw and np.ndim(raw[0]) == 2:
        # One block of class probabilities per target: a classifier with several targets.
        raw = np.concatenate([np.asarray(block) for block in raw], axis=1)
    return np.asarray(np.ma.filled(raw, np.nan) if np.ma.is_masked(raw) else raw)


def _all_none(prediction: Array) -> bool:
    return all(value is None for value in prediction.flat)


def _no_array(raw: Any, rows: int, name: str, which: str) -> ModelError:
    return ModelError(
        f"{name} returned for {count(rows, 'row')} an object of type {type(raw).__name__} {which}; it must "
        "return an array (n,) or (n, k), one row per row"
    )


def _no_number(prediction: Array, name: str) -> ModelError:
    shown = repr(prediction.ravel()[:1].tolist()[0]) if prediction.size else "none"
    what = "text" if prediction.dtype.kind in "SUT" else f"{prediction.dtype} values"
    return ModelError(
        f"{name} returned {what} such as {shown:.100}, which cannot be averaged; use "
        "response_method='predict_proba' or 'decision_function' if it has them, or wrap it in a function "
        "that returns numbers"
    )
