"""Losses of predictions, each a mean over rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, get_args

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.table import Table
from paribus._models.adapter import adapt, describe, library_of
from paribus._models.parameters import METHODS
from paribus._models.predictor import Model
from paribus._models.scoring.targets import Outcome, codes_of, has_classes, known_classes, label_positions
from paribus._typing import LossName
from paribus.errors import InputError, ModelError, OptionError, check_choice, did_you_mean

RowFunction: TypeAlias = Callable[[Array, Floats], Floats]
CLOSEST = float(np.finfo(np.float64).eps)  # minimum distance of a probability from 0 and 1 in a logarithm
SLACK = 1e-4  # tolerance of the range from 0 to 1 for probabilities in single precision


@dataclass(frozen=True, eq=False)
class RowLoss:
    """A weighted mean over rows of ``function(target (m, ...), predictions (m, o)) -> (m,)``."""

    name: LossName
    model: Model
    target: Array
    function: RowFunction

    def of_rows(self, predictions: Floats, first: int) -> Floats:
        """Return the losses of consecutive rows from ``first`` with predictions ``(m, o)``."""
        return self.function(self.target[first : first + len(predictions)], predictions)


def loss_of(estimator: Any, loss: Any, target: Array, table: Table, response_method: str = "auto") -> RowLoss:
    """Return a loss of the predictions of a model on the rows of a table, or raise.

    Parameters
    ----------
    estimator
        The model in the form that the user passed.
    loss : {"squared_error", "absolute_error", "poisson", "gamma", "log_loss", "error_rate"} or None
        ``"poisson"`` and ``"gamma"`` are deviances. None means ``log_loss`` for models with
        ``predict_proba``, ``error_rate`` for other classifiers, ``log_loss`` if ``target`` is text, else
        ``squared_error``.
    target : ndarray of shape (n,) or (n, o)
        From `target_of`.
    table : Table
        The rows that belong to ``target``.
    response_method : {"auto", "predict", "predict_proba", "decision_function"}
        Method that predicts. ``"auto"`` is ``predict`` for losses of numbers and labels, ``predict_proba``
        for ``log_loss``, and the default of `adapt` for a function.
    """
    check_choice("response_method", response_method, ("auto", *METHODS))
    name = loss
    if loss is None and hasattr(estimator, "predict_proba"):
        name = "log_loss"
    elif loss is None and has_classes(estimator):
        name = "error_rate"
    elif loss is None:
        name = "log_loss" if target.dtype.kind in "OUST" else "squared_error"
    names = get_args(LossName)
    if name not in names:
        meant = did_you_mean(name, names) if isinstance(name, str) else ""
        raise OptionError(
            f"loss={name!r} is not one of {', '.join(map(repr, names))}{meant}; "
            "sklearn.inspection.permutation_importance accepts any scorer"
        )
    if name == "error_rate":
        return _error_rate(estimator, target, table, response_method)
    if name == "log_loss":
        return _log_loss(estimator, target, table, response_method)
    function, lowest = NUMERIC[name]
    if response_method == "auto" and hasattr(estimator, "predict"):
        response_method = "predict"
    model = adapt(estimator, table, response_method=response_method)
    numbers = Outcome(model.n_outputs).numbers(target)
    if not (numbers >= lowest).all():
        least = "positive" if lowest > 0 else "at least 0"
        raise InputError(f"loss={name!r} needs y to be {least}, and it holds {numbers.min()}; use another")
    return RowLoss(name, model, numbers, function)


def _squared_error(y: Array, predictions: Floats) -> Floats:
    return np.asarray(((y - predictions) ** 2).mean(axis=1))


def _absolute_error(y: Array, predictions: Floats) -> Floats:
    return np.asarray(np.abs(y - predictions).mean(axis=1))


def _poisson(y: Array, predictions: Floats) -> Floats:
    _must_be_positive("poisson", predictions)
    log_ratio = np.log(np.where(y > 0, y, predictions) / predictions)  # 0 if y is 0
    return np.asarray((2 * (y * log_ratio - y + predictions)).mean(axis=1))


def _gamma(y: Array, predictions: Floats) -> Floats:
    _must_be_positive("gamma", predictions)
    return np.asarray((2 * (np.log(predictions / y) + y / predictions - 1)).mean(axis=1))


def _must_be_positive(name: str, predictions: Floats) -> None:
    if (predictions <= 0).any():
        raise ModelError(
            f"loss={name!r} needs positive predictions, and the model predicts {predictions.min():.6g}; "
            "use 'squared_error' or 'absolute_error'"
        )


# Functions of numeric losses, and the smallest target that they are defined for.
NUMERIC: Mapping[str, tuple[RowFunction, float]] = {
    "squared_error": (_squared_error, -np.inf),
    "absolute_error": (_absolute_error, -np.inf),
    "poisson": (_poisson, 0.0),
    "gamma": (_gamma, float(np.nextafter(0, 1))),
}


def _log_loss(estimator: Any, target: Array, table: Table, response_method: str) -> RowLoss:
    _refuse_several_targets("log_loss", estimator, target)
    if response_method == "auto" and has_classes(estimator) and not hasattr(estimator, "predict_proba"):
        raise OptionError(
            f"loss='log_loss' needs probabilities, and {describe(estimator)} has no predict_proba; use "
            "'error_rate'"
        )
    model = adapt(estimator, table, response_method=response_method)
    answer = np.empty(0) if model.sample_prediction is None else model.sample_prediction
    if ((answer < -SLACK) | (answer > 1 + SLACK)).any():
        raise OptionError(
            f"loss='log_loss' needs probabilities, and {model.response} of {model.name} returns numbers from "
            f"{np.nanmin(answer):.6g} to {np.nanmax(answer):.6g}; choose another loss or response_method"
        )
    classes, outputs = known_classes(estimator), max(2, model.n_outputs)
    if not classes:  # of a function: integers, or the sorted labels in y
        labels = sorted(set(target.tolist()))
        integers = tuple(range(outputs))
        classes = integers if set(labels) <= set(integers) else tuple(labels)
        if len(classes) != outputs:
            raise InputError(
                f"y holds {len(labels)} labels, and {describe(estimator)} gives the probabilities of "
                f"{outputs}; code y as integers from 0 to {outputs - 1}"
            )
    return RowLoss("log_loss", model, Outcome(model.n_outputs, classes).numbers(target), log_losses)


def log_losses(observed: Floats, predicted: Floats) -> Floats:
    """Return the log loss of each row; a single output is the probability of the second of two classes."""
    if predicted.shape[1] == 1:
        observed = np.concatenate([1 - observed, observed], axis=1)
        predicted = np.concatenate([1 - predicted, predicted], axis=1)
    logs = np.log(np.clip(predicted, CLOSEST, 1 - CLOSEST))
    return np.asarray(-(observed * logs).sum(axis=1))


def right_classes(observed: Floats, predicted: Floats) -> Floats:
    """Return 1 if the most probable class is observed, else 0; NaN if a prediction is not finite."""
    if predicted.shape[1] == 1:
        right = (predicted[:, 0] > 0.5) == (observed[:, 0] > 0.5)
    else:
        right = predicted.argmax(axis=1) == observed.argmax(axis=1)
    return np.where(np.isfinite(predicted).all(axis=1), right, np.nan)


def _refuse_several_targets(name: str, estimator: Any, target: Array) -> None:
    if target.ndim > 1 or any(np.ndim(label) for label in known_classes(estimator)):
        raise OptionError(
            f"loss={name!r} is of one target, and here are several; pass a function that returns one of "
            "them, with its y"
        )


@dataclass(frozen=True, eq=False)
class Labels:
    """A classifier whose labels become positions among the classes, -1 for unknown labels."""

    estimator: Any
    classes: tuple[Any, ...]

    @property
    def __name__(self) -> str:
        return describe(self.estimator)

    def __call__(self, table: Any) -> Integers:
        """Return the predicted labels as positions."""
        request = getattr(self.estimator, "predict", self.estimator)
        return label_positions(np.asarray(request(table)).ravel(), self.classes)


def _error_rate(estimator: Any, target: Array, table: Table, response_method: str) -> RowLoss:
    if response_method not in ("auto", "predict"):
        raise OptionError(
            f"loss='error_rate' compares labels, which response_method={response_method!r} does not give; "
            "leave it at 'auto'"
        )
    _refuse_several_targets("error_rate", estimator, target)
    classes = known_classes(estimator) or tuple(dict.fromkeys(target.tolist()))
    model = adapt(Labels(estimator, classes), table)
    if model.sample_prediction is not None and (model.sample_prediction < 0).all():
        raise OptionError(
            f"loss='error_rate': {model.name} does not predict labels such as "
            f"{target[:1].tolist()[0]!r}; pass a function that does, or use 'log_loss' or 'squared_error'"
        )
    named = replace(model, library=library_of(estimator)[0], response="predict")
    return RowLoss("error_rate", named, codes_of(target, classes), _is_wrong_label)


def _is_wrong_label(codes: Array, predictions: Floats) -> Floats:
    return np.asarray(codes != predictions[:, 0], dtype=np.float64)
