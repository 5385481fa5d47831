"""One complete model: how to predict, outputs with names, response."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import xxhash

from paribus.contracts import Floats
from paribus.data.table import Table
from paribus.errors import ModelError
from paribus.models.predictor import Predictor, as_outputs


@dataclass(frozen=True, eq=False)
class Model:
    """What an evaluator needs to know of a model, and nothing of where it came from.

    ``response`` is the method that answers (``"callable"`` for a function), ``scale`` its unit in
    words, for axis labels. ``stackable`` tells that rows may be repeated in one table under new labels
    without changing the answer to any of them. ``answer (i, o)`` is what it said about ``probe``, a few
    rows of the table, and ``single`` whether it said it in single precision.
    """

    call: Predictor
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
    def trees(self) -> Any:
        """Stands until every caller uses `structure_of`."""
        from paribus.models.structure import structure_of

        return structure_of(self)

    def read_ahead(self) -> None:
        """Stands until every caller uses `prefetch_structure`."""
        from paribus.models.structure import prefetch_structure

        prefetch_structure(self)

    def digest(self) -> str:
        """Return a digest of what the model is called and of what it predicted."""
        found = xxhash.xxh3_128(repr((self.name, self.library, self.response, self.output_names)).encode())
        if self.answer is not None:
            found.update(self.answer.tobytes())
        return str(found.hexdigest())

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


def unsteady_notes(models: Iterable[Model], then: str) -> list[str]:
    """Return a note on each model that predicts rows differently when they are repeated, and what follows."""
    names = dict.fromkeys(model.name for model in models if not model.stackable)
    return [
        f"{name} predicted some rows differently when they were repeated under new labels{then}"
        for name in names
    ]
