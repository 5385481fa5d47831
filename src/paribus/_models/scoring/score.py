"""What a score is: of rows, of all predictions, or of the model itself.

A loss that is a mean over rows is known row by row (`RowScore`), so that weights and sampling errors can be
taken care of outside; any other score needs the predictions of all rows (`TotalScore`), or the model itself
and a whole table (`Scorer`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from paribus._contracts import Array, Floats
from paribus._data.table import Table
from paribus._models.adapter import adapt, describe
from paribus._models.model import Model
from paribus.errors import InputError, OptionError

RowFunction: TypeAlias = Callable[[Array, Floats], Floats]
# Losses and scores of our own, by name.
NAMES = ("squared_error", "absolute_error", "poisson", "gamma", "log_loss", "error_rate", "r2")


@dataclass(frozen=True, eq=False)
class RowScore:
    """A weighted mean over rows of ``function(target (m,), predictions (m, o)) -> (m,)``, a loss.

    With a ``constant`` it is the constant minus that loss, and greater is better.
    """

    name: str
    model: Model
    target: Array
    function: RowFunction
    constant: float | None = None

    @property
    def greater_is_better(self) -> bool:
        """Whether good predictions score high."""
        return self.constant is not None

    @property
    def response(self) -> str:
        """How the model predicts."""
        return self.model.response

    def of_rows(self, predictions: Floats, first: int) -> Floats:
        """Return the score of each of the rows from number ``first`` on, predicted as ``(m, o)``."""
        losses = self.function(self.target[first : first + len(predictions)], predictions)
        return losses if self.constant is None else self.constant - losses


@dataclass(frozen=True, eq=False)
class TotalScore:
    """A number for the predictions of all rows, such as R squared: no mean over rows."""

    name: str
    model: Model
    target: Array
    function: Callable[..., Any]
    greater_is_better: bool

    @property
    def response(self) -> str:
        """How the model predicts."""
        return self.model.response

    def total(self, predictions: Floats, weights: Floats | None) -> float:
        """Return the score of predictions ``(n, o)`` of all rows."""
        keywords = {} if weights is None else {"sample_weight": weights}
        try:
            return number(self.function(self.target, squeezed(predictions), **keywords), self.name)
        except InputError:
            raise
        except Exception as error:  # whatever a foreign function raises, the user needs to know on what
            raise OptionError(failure(self.name, self.response, error)) from error


@dataclass(frozen=True, eq=False)
class Scorer:
    """A scorer in the sense of scikit-learn, which evaluates the model: ``scorer(estimator, X, y)``."""

    name: str
    estimator: Any
    target: Array
    function: Callable[..., Any]

    greater_is_better: ClassVar[bool] = True
    response: ClassVar[str] = "scorer"

    def total(self, table: Any, weights: Floats | None) -> float:
        """Return the score of the model on a native table of all rows."""
        keywords = {} if weights is None else {"sample_weight": weights}
        try:
            return number(self.function(self.estimator, table, self.target, **keywords), self.name)
        except InputError:
            raise
        except Exception as error:  # whatever a foreign scorer raises, the user needs to know on what
            raise OptionError(
                f"scoring={self.name!r} failed for {describe(self.estimator)}: {type(error).__name__}: "
                f"{error}. Choose another, such as {', '.join(map(repr, NAMES))}, or pass a function "
                "(y_true, y_pred)"
            ) from error


Score: TypeAlias = RowScore | TotalScore | Scorer


@dataclass(frozen=True, eq=False)
class ScoringInput:
    """Input of a score: a model, rows and target."""

    estimator: Any
    target: Array
    table: Table
    response_method: str

    def model(self, response_method: str) -> Model:
        """Return the model with the user's response method, or with the given default."""
        asked = response_method if self.response_method == "auto" else self.response_method
        return adapt(self.estimator, self.table, response_method=asked)


def squeezed(predictions: Floats) -> Floats:
    """Return one output as ``(n,)``, several as they are."""
    return predictions[:, 0] if predictions.shape[1] == 1 else predictions


def number(value: Any, name: str) -> float:
    """Hold a score to one number."""
    if np.size(value) != 1:
        raise OptionError(f"scoring={name} returned shape {np.shape(value)}; it must return a number")
    return float(np.asarray(value).item())


def failure(name: str, response: str, error: Exception) -> str:
    """Say that a function failed, on what, and the way out."""
    return (
        f"scoring={name} failed on y and the {response} of the model: {type(error).__name__}: "
        f"{error}. Choose another response_method, or another scoring"
    )
