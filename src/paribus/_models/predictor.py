"""Predictors, adapted models and links."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import xxhash

from paribus._contracts import Array, Floats
from paribus._data.table import Table
from paribus._text import count
from paribus.errors import ModelError
from paribus.notes import Note, NoteCode

BATCH = 32_768  # margins per block of a link

LinkName = Literal["identity", "sigmoid", "softmax", "exp", "signed_square", "softplus", "isolation"]


@dataclass(frozen=True)
class Link:
    r"""The function from margins ``(m, ...)`` to outputs of the same shape.

    With :math:`z` the margin times ``scale``:

    ============= =========================================================
    identity      :math:`z`
    sigmoid       :math:`1 / (1 + e^{-z})`; the second of two classes
    softmax       :math:`e^{z_o} / \sum_k e^{z_k}` over the margins
    exp           :math:`e^z`
    signed_square :math:`z |z|`
    softplus      :math:`\log(1 + e^z)`
    isolation     :math:`-2^{-z}` plus ``shift``
    ============= =========================================================

    >>> Link("sigmoid").apply(np.array([[0.0]]))
    array([[0.5]])
    """

    name: LinkName = "identity"
    scale: float = 1.0
    shift: float = 0.0

    @property
    def linear(self) -> bool:
        """Whether the link is linear: the mean of outputs is the output of the mean margin."""
        return self.name == "identity"

    def apply(self, margins: Floats, *, overwrite: bool = False) -> Floats:
        """Return the outputs. With ``overwrite`` the margins may be overwritten.

        They are computed in blocks, so that intermediate results stay in a fast cache.
        """
        if self.linear:
            return margins if self.scale == 1.0 else margins * self.scale
        flat = np.ascontiguousarray(margins).reshape(len(margins), -1)
        outputs = flat if overwrite else np.empty_like(flat)
        each = max(1, BATCH // max(1, len(flat)))
        with np.errstate(over="ignore"):
            for first in range(0, flat.shape[1], each):
                z = outputs[:, first : first + each]
                if not overwrite or self.scale != 1.0:
                    np.multiply(flat[:, first : first + each], self.scale, out=z)
                self._replace(z)
        return outputs.reshape(margins.shape)

    def _replace(self, z: Floats) -> None:
        """Replace scaled margins ``(m, b)`` by outputs."""
        if self.name == "sigmoid":
            np.exp(np.negative(z, out=z), out=z)
            z += 1.0
            np.divide(1.0, z, out=z)
        elif self.name == "softmax":
            z -= z.max(axis=0)
            np.exp(z, out=z)
            z /= z.sum(axis=0)
        elif self.name == "exp":
            np.exp(z, out=z)
        elif self.name == "signed_square":
            z *= np.abs(z)
        elif self.name == "softplus":
            np.logaddexp(0.0, z, out=z)
        elif self.name == "isolation":
            np.subtract(self.shift, np.exp2(np.negative(z, out=z), out=z), out=z)


@dataclass(frozen=True)
class Predictor:
    """A method of ``target`` by name, or the callable itself, with fixed keywords.

    ``columns`` are the reported output columns, None for all. ``convert`` is a function of the target and a
    native table that returns the input of the method. A predictor can be pickled if its target can.
    """

    target: Any
    method: str | None
    keywords: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[int, ...] | None = None
    convert: Callable[[Any, Any], Any] | None = None

    def raw(self, table: Any) -> Any:
        """Return the unchanged prediction of the target."""
        function: Callable[..., Any] = getattr(self.target, self.method) if self.method else self.target
        return function(table if self.convert is None else self.convert(self.target, table), **self.keywords)


def as_outputs(raw: Any, rows: int, name: str) -> Floats:
    """Return a prediction as numbers of shape ``(n, o)``, or raise `ModelError` with the reason."""
    try:
        prediction = _prediction_array(raw)
    except Exception as error:  # such as for a ragged list
        raise _no_array(raw, rows, name, f"that is not an array of numbers ({error!s:.200})") from error
    all_none = prediction.dtype == object and all(value is None for value in prediction.flat)
    if prediction.dtype.kind not in "fiubO" or all_none:
        raise _no_number(prediction, name)
    shape = prediction.shape
    if prediction.ndim == 0 and rows == 1:  # a model that drops dimensions of size one
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


def _prediction_array(raw: Any) -> Array:
    if isinstance(raw, (list, tuple)) and raw and np.ndim(raw[0]) == 2:
        # A classifier with several targets returns one array of class probabilities per target.
        raw = np.concatenate([np.asarray(block) for block in raw], axis=1)
    return np.asarray(np.ma.filled(raw, np.nan) if np.ma.is_masked(raw) else raw)


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


@dataclass(frozen=True, eq=False)
class Model:
    """A model in the form that evaluators use.

    ``response`` is the method that predicts (``"callable"`` for a function), ``scale`` the name of its scale
    for axis labels. ``row_independent`` means that predictions do not change if rows are repeated with new
    labels, or are predicted together with rows with extreme values. ``sample_prediction (i, o)`` are the
    predictions of ``sample``, a few rows of the table. ``is_float32`` means that these had single or half
    precision.
    """

    predictor: Predictor
    name: str
    library: str
    version: str
    response: str
    scale: str
    output_names: tuple[str, ...]
    row_independent: bool = True
    sample: Table | None = None
    sample_prediction: Floats | None = None
    is_float32: bool = False

    def digest(self) -> str:
        """Return a digest of names, response and sample predictions."""
        hasher = xxhash.xxh3_128(repr((self.name, self.library, self.response, self.output_names)).encode())
        if self.sample_prediction is not None:
            with np.errstate(over="ignore"):  # the last bits vary, because forests sum trees in any order
                hasher.update(self.sample_prediction.astype(np.float32).tobytes())
        return str(hasher.hexdigest())

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.output_names)

    def predict(self, table: Any, rows: int) -> Floats:
        """Return predictions of shape ``(n, o)`` for a native table with ``rows`` rows."""
        predictions = as_outputs(self.predictor.raw(table), rows, self.name)
        if self.predictor.columns is not None:
            predictions = predictions[:, list(self.predictor.columns)]
        if predictions.shape[1] != self.n_outputs:
            raise ModelError(
                f"{self.name} gave {predictions.shape[1]} outputs where it gave {self.n_outputs} before; "
                "a model must return the same columns for every table"
            )
        return predictions


def imputes(model: Model) -> bool:
    """Return whether a model has a step that replaces missing values by a single imputation."""
    parameters = getattr(
        getattr(model.predictor.target, "__self__", model.predictor.target), "get_params", None
    )
    steps = parameters(deep=True).values() if callable(parameters) else ()
    return any(type(step).__name__.endswith("Imputer") for step in steps)


def unsteady_notes(models: Iterable[Model], then: str) -> list[Note]:
    """Return a note for each model that is not row independent; ``then`` is the end of its text."""
    names = dict.fromkeys(model.name for model in models if not model.row_independent)
    return [NoteCode.ROW_DEPENDENT.note(model=name, consequence=then) for name in names]
