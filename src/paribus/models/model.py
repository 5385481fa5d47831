"""One complete model: predict, outputs with names, response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import xxhash

from paribus.contracts import Array, Floats
from paribus.data.table import Table
from paribus.errors import ModelError, RefusalError
from paribus.models.held import hold_at_splits
from paribus.models.trees import Trees, trees_for
from paribus.notes import Note, NoteCode


@dataclass(frozen=True)
class Call:
    """How to ask a model: a method by name (or the callable itself) with fixed keywords.

    ``columns`` picks output columns, None keeps them all. It holds names and values only, so that a
    call can be shipped wherever the model itself can.
    """

    target: Any
    method: str | None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[int, ...] | None = None

    def raw(self, table: Any) -> Any:
        """Return what the model answers, untouched."""
        function: Callable[..., Any] = getattr(self.target, self.method) if self.method else self.target
        return function(table, **self.keywords)


@dataclass(frozen=True)
class Model:
    """What an evaluator needs to know of a model, and nothing of where it came from.

    ``response`` is the method that answers (``"callable"`` for a function), ``scale`` its unit in
    words, for axis labels. ``stackable`` tells that rows may be repeated in one table under new labels
    without changing the answer to any of them. ``answer (i, o)`` is what it said about ``probe``, a few
    rows of the table, and ``single`` whether it said it in single precision.
    """

    call: Call
    name: str
    library: str
    version: str
    response: str
    scale: str
    output_names: tuple[str, ...]
    stackable: bool = True
    probe: Table | None = None
    answer: Floats | None = None
    single: bool = False

    @property
    def trees(self) -> Trees:
        """The trees that give these answers; `RefusalError` says why they cannot be read."""
        if isinstance(self._reading, RefusalError):
            raise self._reading
        return self._reading

    def read_ahead(self) -> None:
        """Read the trees, or find out why that is not possible, before they are asked for."""
        self._reading  # noqa: B018

    @cached_property
    def _reading(self) -> Trees | RefusalError:
        try:
            return self._read()
        except RefusalError as refusal:
            return refusal

    def _read(self) -> Trees:
        from paribus.models.readers import read

        if self.response == "callable":
            raise RefusalError("it is a function, which has no trees to read")
        if self.probe is None or self.answer is None:
            raise RefusalError("it has not answered any row, so that nothing tells whether its trees do")
        ensemble = read(self.call.target, self.probe)
        trees = trees_for(ensemble, self.response, self.call.columns, self.probe, self.answer)
        hold_at_splits(trees, self.probe, self.predict)
        return trees

    def digest(self) -> str:
        """Return a digest of what the model is called and of what it predicted."""
        found = xxhash.xxh3_128(repr((self.name, self.library, self.response, self.output_names)).encode())
        if self.answer is not None:
            with np.errstate(over="ignore"):  # forests add up their trees in any order: the last bits vary
                found.update(self.answer.astype(np.float32).tobytes())
        return found.hexdigest()

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.output_names)

    def predict(self, table: Any, rows: int) -> Floats:
        """Return predictions of shape ``(n, o)`` for a native table of ``rows`` rows."""
        predictions = as_outputs(self.call.raw(table), rows, self.name)
        if self.call.columns is not None:
            predictions = predictions[:, list(self.call.columns)]
        if predictions.shape[1] != self.n_outputs:
            raise ModelError(
                f"{self.name} gave {predictions.shape[1]} outputs where it gave {self.n_outputs} before; "
                "a model must answer every table alike"
            )
        return predictions


def unsteady_notes(models: Iterable[Model], then: str) -> list[Note]:
    """Return a note on each model that predicts rows differently when they are repeated, and what follows."""
    names = dict.fromkeys(model.name for model in models if not model.stackable)
    words = "predicted some rows differently when they were repeated under new labels"
    return [Note(NoteCode.ROW_DEPENDENT, f"{name} {words}{then}") for name in names]


def as_outputs(raw: Any, rows: int, name: str) -> Floats:
    """Read what a model predicts as numbers of shape ``(n, o)``, or say what is wrong with it."""
    try:
        answer = _array(raw)
    except Exception as error:  # of whatever the model returned, a ragged list for example
        raise _no_array(raw, rows, name, f"that is no array of numbers ({error!s:.200})") from error
    if answer.dtype.kind not in "fiubO" or (answer.dtype == object and _all_none(answer)):
        raise _no_number(answer, name)
    shape = answer.shape
    if answer.ndim == 0 and rows == 1:  # a model that squeezes
        answer = answer.reshape(1)
    if answer.ndim == 1:
        answer = answer[:, None]
    if answer.ndim != 2 or len(answer) != rows or not answer.shape[1]:
        sparse = hasattr(raw, "toarray")
        raise _no_array(raw, rows, name, "that is sparse" if sparse else f"of shape {shape}")
    try:
        return answer.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise _no_number(answer, name) from error


def _array(raw: Any) -> Array:
    if isinstance(raw, (list, tuple)) and raw and np.ndim(raw[0]) == 2:
        # One block of class probabilities per target: a classifier with several targets.
        raw = np.concatenate([np.asarray(block) for block in raw], axis=1)
    return np.asarray(np.ma.filled(raw, np.nan) if np.ma.is_masked(raw) else raw)


def _all_none(answer: Array) -> bool:
    return all(value is None for value in answer.flat)


def _no_array(raw: Any, rows: int, name: str, which: str) -> ModelError:
    return ModelError(
        f"{name} returned for {rows} rows an object of type {type(raw).__name__} {which}; it must return an "
        "array (n,) or (n, k), one row per row"
    )


def _no_number(answer: Array, name: str) -> ModelError:
    shown = repr(answer.flat[0]) if answer.size else "none"
    return ModelError(
        f"{name} returned {answer.dtype} values such as {shown:.100}, which cannot be averaged; use "
        "response_method='predict_proba' or 'decision_function' if it has them, or wrap it in a function "
        "that returns numbers"
    )
