"""What came out, in the unit of the outputs of a model, so that the two can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats
from paribus._models.model import Model
from paribus._models.scoring.losses import codes_of, known_classes
from paribus._text import count
from paribus.errors import InputError, OptionError


@dataclass(frozen=True)
class Outcome:
    """Turns a target into numbers ``(n, o)``, one for each output of a model.

    With ``classes``, labels become indicators: that of the second class for one output, else one for each.
    Without, ``y`` has a column of numbers for each output. ``bounded`` ones are compared with probabilities.
    """

    outputs: int
    classes: tuple[Any, ...] | None = None
    bounded: bool = False

    def numbers(self, target: Array) -> Floats:
        """Return what came out as numbers, or refuse what cannot be compared with the outputs."""
        if self.classes is not None and target.ndim == 1:
            codes = codes_of(target, self.classes)
            labels = np.array([1]) if self.outputs == 1 else np.arange(self.outputs)
            return np.asarray(codes[:, None] == labels, dtype=np.float64)
        if target.dtype.kind not in "fiub":
            label = target.ravel()[:1].tolist()[0]
            raise InputError(
                f"y holds {label!r}, which cannot be averaged; code it as numbers, such as 0 and 1"
            )
        result = target.astype(np.float64).reshape(len(target), -1)
        if result.shape[1] != self.outputs:
            raise InputError(
                f"y has shape {target.shape} and the model has {count(self.outputs, 'output')}; give a "
                "column for each, such as an indicator of its class"
            )
        if self.bounded and not ((result >= 0) & (result <= 1)).all():
            raise InputError(
                f"y holds {result[(result < 0) | (result > 1)][0]:g} where probabilities are predicted; code "
                "each column as 0 and 1"
            )
        return result


def outcome_of(model: Model | None, estimator: Any, columns: int) -> Outcome:
    """Return how a target of so many columns is compared with what a model predicts, or refuse."""
    if model is None:
        return Outcome(columns)
    if model.response == "decision_function":
        raise OptionError(
            f"y cannot be compared with a {model.scale} of {model.name}, which has another scale; request "
            "response_method='predict_proba' or 'predict' if it has them, or leave y out"
        )
    if model.response != "predict_proba":
        return Outcome(model.n_outputs)
    classes = known_classes(estimator) or tuple(range(max(2, model.n_outputs)))
    # A classifier of several targets knows a list of classes for each.
    single = not any(np.ndim(label) for label in classes) and len(classes) == max(2, model.n_outputs)
    return Outcome(model.n_outputs, classes if single else None, bounded=True)
