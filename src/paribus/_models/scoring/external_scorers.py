"""Functions and scorers that others bring."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats
from paribus._models.model import Model
from paribus._models.scoring.score import (
    NAMES,
    RowScore,
    Score,
    Scorer,
    ScoringInput,
    TotalScore,
    failure,
    squeezed,
)
from paribus.errors import OptionError, did_you_mean

TRIAL_ROWS = 32  # given to a function to see whether it scores row by row


@dataclass(frozen=True, eq=False)
class RowByRow:
    """A user's function that returns one value per row, held to that."""

    name: str
    response: str
    function: Callable[..., Any]

    def __call__(self, y: Array, predictions: Floats) -> Floats:
        """Return the loss of each row."""
        try:
            losses = np.asarray(self.function(y, squeezed(predictions)), dtype=np.float64)
        except Exception as error:  # whatever a foreign function raises, the user needs to know on what
            raise OptionError(failure(self.name, self.response, error)) from error
        if losses.shape != (len(y),):
            raise OptionError(
                f"scoring={self.name} returned shape {losses.shape} for {len(y)} rows; it must return one "
                "value per row, or always a number"
            )
        return losses


def from_function(given: ScoringInput, name: str, function: Callable[..., Any], weighted: bool) -> Score:
    """Return the score that a function of ``y`` and predictions returns."""
    model = given.model("auto")
    # A function of scikit-learn says by its name which way is better; any other is a loss.
    foreign = str(getattr(function, "__module__", "")).startswith("sklearn.metrics")
    greater = foreign and name.endswith("_score")
    if _scores_rows(given, model, function):
        return RowScore(name, model, given.target, RowByRow(name, model.response, function))
    if weighted and not _takes_weight(function):
        raise OptionError(
            f"scoring={name} has no keyword sample_weight, and the rows have weights; add it, or return one "
            "value per row"
        )
    return TotalScore(name, model, given.target, function, greater)


def _scores_rows(given: ScoringInput, model: Model, function: Callable[..., Any]) -> bool:
    """Return whether a function returns one value per row; other functions may fail on a few rows."""
    some = given.table.slice(0, TRIAL_ROWS)
    predictions = model.predict(some.native, len(some))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            losses = function(given.target[: len(some)], squeezed(predictions))
    except Exception:  # it is evaluated again about all rows, where what it raises is reported
        return False
    return bool(np.shape(losses) == (len(some),))


def scorer_of(given: ScoringInput, name: str, function: Callable[..., Any], weighted: bool) -> Scorer:
    """Return a scorer that calls the model itself."""
    if given.response_method != "auto":
        raise OptionError(
            f"response_method={given.response_method!r}: a scorer such as {name!r} calls the model itself; "
            f"leave it at 'auto'"
        )
    if weighted and not _takes_weight(function):
        raise OptionError(f"scoring={name} has no keyword sample_weight, and the rows have weights; add it")
    return Scorer(name, given.estimator, given.target, function)


def scorer_called(name: str) -> Callable[..., Any]:
    """Return a scorer of scikit-learn by name."""
    try:
        metrics = import_module("sklearn.metrics")
    except ImportError as error:
        raise OptionError(
            f"scoring={name!r} is not one of {', '.join(map(repr, NAMES))}; scorers of scikit-learn need it "
            "installed"
        ) from error
    names = metrics.get_scorer_names()
    if name not in names:
        raise OptionError(f"scoring={name!r} is not known{did_you_mean(name, [*NAMES, *names])}")
    scorer: Callable[..., Any] = metrics.get_scorer(name)
    return scorer


def _parameters(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # compiled functions may not say
        return []


def is_scorer(function: Callable[..., Any]) -> bool:
    """Distinguish ``scorer(estimator, X, y)`` from ``loss(y_true, y_pred)``."""
    parameters = _parameters(function)
    needed = [p for p in parameters if p.default is p.empty and p.kind in (0, 1)]
    return len(needed) == 3 or bool(parameters and parameters[0].name == "estimator")


def _takes_weight(function: Callable[..., Any]) -> bool:
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in _parameters(function))
