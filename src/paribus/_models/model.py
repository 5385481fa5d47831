"""One complete model: how to predict, outputs with names, response."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import xxhash

from paribus._contracts import Floats
from paribus._data.table import Table
from paribus._models.predictor import Predictor, as_outputs
from paribus.errors import ModelError
from paribus.notes import Note, NoteCode


@dataclass(frozen=True, eq=False)
class Model:
    """What an evaluator needs to know of a model, and nothing of where it came from.

    ``response`` is the method that predicts (``"callable"`` for a function), ``scale`` its unit in words, for
    axis labels. ``row_independent`` means that rows may be repeated in one table under new labels, or stand
    beside rows with extreme values, without changing the prediction of any of them. ``sample_prediction
    (i, o)`` is what it predicted for ``sample``, a few rows of the table, and ``is_float32`` whether that
    had single precision. ``tried`` is how many rows it predicted before anything
    was evaluated, in ``tried_calls`` calls.
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
    tried: int = 0
    tried_calls: int = 0

    def digest(self) -> str:
        """Return a digest of what the model is called and of what it predicted."""
        hasher = xxhash.xxh3_128(repr((self.name, self.library, self.response, self.output_names)).encode())
        if self.sample_prediction is not None:
            with np.errstate(over="ignore"):  # forests add up their trees in any order: the last bits vary
                hasher.update(self.sample_prediction.astype(np.float32).tobytes())
        return str(hasher.hexdigest())

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.output_names)

    def predict(self, table: Any, rows: int) -> Floats:
        """Return predictions of shape ``(n, o)`` for a native table of ``rows`` rows."""
        predictions = as_outputs(self.predictor.raw(table), rows, self.name)
        if self.predictor.columns is not None:
            predictions = predictions[:, list(self.predictor.columns)]
        if predictions.shape[1] != self.n_outputs:
            raise ModelError(
                f"{self.name} gave {predictions.shape[1]} outputs where it gave {self.n_outputs} before; "
                "a model must return the same columns for every table"
            )
        return predictions


def unsteady_notes(models: Iterable[Model], then: str) -> list[Note]:
    """Return a note on each model that predicts a row differently beside other rows, and what follows."""
    names = dict.fromkeys(model.name for model in models if not model.row_independent)
    words = "predicted some rows differently when they were repeated, or beside rows with extreme values"
    return [Note(NoteCode.ROW_DEPENDENT, f"{name} {words}{then}") for name in names]
