"""Losses of rows, scores of all rows, and scorers of scikit-learn."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, TypeAlias

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._data.table import Table
from paribus._models.adapter import adapt, describe, library_of
from paribus._models.predictor import Model
from paribus._text import count
from paribus.errors import InputError, ModelError, OptionError, did_you_mean

RowFunction: TypeAlias = Callable[[Array, Floats], Floats]
# Names of the losses and scores of this package.
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
        """Whether a greater score is better."""
        return self.constant is not None

    @property
    def response(self) -> str:
        """Method that predicts."""
        return self.model.response

    def of_rows(self, predictions: Floats, first: int) -> Floats:
        """Return the scores of consecutive rows from ``first`` with predictions ``(m, o)``."""
        losses = self.function(self.target[first : first + len(predictions)], predictions)
        return losses if self.constant is None else self.constant - losses


@dataclass(frozen=True, eq=False)
class TotalScore:
    """A score of all rows that is not a mean over rows, such as R squared."""

    name: str
    model: Model
    target: Array
    function: Callable[..., Any]
    greater_is_better: bool

    @property
    def response(self) -> str:
        """Method that predicts."""
        return self.model.response

    def total(self, predictions: Floats, weights: Floats | None) -> float:
        """Return the score of predictions ``(n, o)`` of all rows."""
        keywords = {} if weights is None else {"sample_weight": weights}
        try:
            return number(self.function(self.target, squeezed(predictions), **keywords), self.name)
        except InputError:
            raise
        except Exception as error:  # of any class; the message adds the input
            raise OptionError(failure(self.name, self.response, error)) from error


@dataclass(frozen=True, eq=False)
class Scorer:
    """A scorer of scikit-learn, which calls the model: ``scorer(estimator, X, y)``."""

    name: str
    estimator: Any
    target: Array
    function: Callable[..., Any]

    greater_is_better: ClassVar[bool] = True
    response: ClassVar[str] = "scorer"

    def total(self, table: Any, weights: Floats | None) -> float:
        """Return the score of the model for a native table of all rows."""
        keywords = {} if weights is None else {"sample_weight": weights}
        try:
            return number(self.function(self.estimator, table, self.target, **keywords), self.name)
        except InputError:
            raise
        except Exception as error:  # of any class; the message adds the model
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
    """Return a score as a float, or refuse several numbers."""
    if np.size(value) != 1:
        raise OptionError(f"scoring={name} returned shape {np.shape(value)}; it must return a number")
    return float(np.asarray(value).item())


def failure(name: str, response: str, error: Exception) -> str:
    """Return an error message for a function that failed."""
    return (
        f"scoring={name} failed on y and the {response} of the model: {type(error).__name__}: "
        f"{error}. Choose another response_method, or another scoring"
    )


CLOSEST = float(np.finfo(np.float64).eps)  # smallest distance of a probability from 0 and 1 in a logarithm
SLACK = 1e-4  # tolerance of the range from 0 to 1 for probabilities in single precision


def has_classes(estimator: Any) -> bool:
    """Return whether a model is a classifier."""
    return len(known_classes(estimator)) > 1


def known_classes(estimator: Any) -> tuple[Any, ...]:
    """Return the classes of a classifier as Python objects, empty for other models."""
    classes = getattr(estimator, "classes_", None)  # empty for some regressors
    return () if classes is None else tuple(c if np.ndim(c) else np.asarray(c).item() for c in classes)


def _numeric_loss(name: str, function: RowFunction, above: float, given: ScoringInput) -> RowScore:
    """Return the score of a loss of numbers, a mean over outputs. Refuse ``y`` below ``above``."""
    target = _numeric_target(name, given.target)
    if not (target >= above).all():
        smallest = "positive" if above > 0 else "at least 0"
        raise InputError(
            f"scoring={name!r} needs y to be {smallest}, and it holds {target.min()}; use another"
        )
    model = given.model("predict" if hasattr(given.estimator, "predict") else "auto")
    if target.shape[1] != model.n_outputs:
        raise OptionError(
            f"scoring={name!r} compares y of {count(target.shape[1], 'column')} with "
            f"{count(model.n_outputs, 'output')} of {model.name}; choose another scoring or response_method"
        )
    return RowScore(name, model, target, function)


def _numeric_target(name: str, target: Array) -> Floats:
    """Return ``y`` as numbers of shape ``(n, o)``. Refuse text, even with digits only."""
    if target.dtype.kind not in "fiub":
        raise InputError(
            f"scoring={name!r} needs numbers, and y holds {target.flat[0]!r}; cast y, or use 'log_loss' or "
            "'error_rate'"
        )
    return target.astype(np.float64).reshape(len(target), -1)


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
            f"scoring={name!r} needs positive predictions, and the model predicts {predictions.min():.6g}; "
            "use 'squared_error' or 'absolute_error'"
        )


def _r2(y: Array, predictions: Floats, sample_weight: Floats | None = None) -> float:
    """Return R squared, averaged over outputs."""
    guess = predictions.reshape(y.shape)
    mean = np.average(y, axis=0, weights=sample_weight)
    errors, spread = (np.average(d**2, axis=0, weights=sample_weight) for d in (y - guess, y - mean))
    return float(np.mean(1 - errors / spread))


def _r_squared(given: ScoringInput) -> TotalScore:
    score = _numeric_loss("r2", _squared_error, -np.inf, given)
    if (np.ptp(score.target, axis=0) == 0).any():
        raise InputError("scoring='r2' divides by the variance of y, and y is constant; use 'squared_error'")
    return TotalScore("r2", score.model, score.target, _r2, True)


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
        return _label_positions(np.asarray(request(table)).ravel(), self.classes)


def _error_rate(given: ScoringInput) -> RowScore:
    if given.response_method not in ("auto", "predict"):
        raise OptionError(
            f"scoring='error_rate' compares labels, which response_method={given.response_method!r} does not "
            "give; leave it at 'auto'"
        )
    _one_label_a_row("error_rate", given)
    classes = known_classes(given.estimator) or tuple(dict.fromkeys(given.target.tolist()))
    labels = Labels(given.estimator, classes)
    model = adapt(labels, given.table)
    if model.sample_prediction is not None and (model.sample_prediction < 0).all():
        raise OptionError(
            f"scoring='error_rate': {model.name} does not predict labels such as "
            f"{given.target[:1].tolist()[0]!r}; pass a function that does, or use 'log_loss' or "
            "'squared_error'"
        )
    named = replace(model, library=library_of(given.estimator)[0], response="predict")
    return RowScore("error_rate", named, codes_of(given.target, labels.classes), _is_wrong_label)


def _is_wrong_label(codes: Array, predictions: Floats) -> Floats:
    return np.asarray(codes != predictions[:, 0], dtype=np.float64)


def _log_loss(given: ScoringInput) -> RowScore:
    _one_label_a_row("log_loss", given)
    has_none = has_classes(given.estimator) and not hasattr(given.estimator, "predict_proba")
    if has_none and given.response_method == "auto":
        raise OptionError(
            f"scoring='log_loss' needs probabilities, and {describe(given.estimator)} has no predict_proba; "
            "use 'error_rate'"
        )
    model = given.model("auto")
    answer = np.empty(0) if model.sample_prediction is None else model.sample_prediction
    if ((answer < -SLACK) | (answer > 1 + SLACK)).any():
        raise OptionError(
            f"scoring='log_loss' needs probabilities, and {model.response} of {model.name} returns numbers "
            f"from {np.nanmin(answer):.6g} to {np.nanmax(answer):.6g}; choose another scoring or "
            "response_method"
        )
    classes = _probability_labels(given, max(2, model.n_outputs))
    return RowScore("log_loss", model, codes_of(given.target, classes), _negative_log_likelihood)


def _negative_log_likelihood(codes: Array, probabilities: Floats) -> Floats:
    """Return minus the logarithm of the probability of the observed class."""
    if probabilities.shape[1] == 1:  # probability of the second of two classes
        likely = np.where(codes == 1, probabilities[:, 0], 1 - probabilities[:, 0])
    else:
        likely = probabilities[np.arange(len(codes)), codes]
    return np.asarray(-np.log(np.clip(likely, CLOSEST, 1 - CLOSEST)))


def _one_label_a_row(name: str, given: ScoringInput) -> None:
    several = any(np.ndim(label) for label in known_classes(given.estimator))
    if several or given.target.ndim > 1:
        raise OptionError(
            f"scoring={name!r} is of one target, and here are several; pass a function that returns one of "
            "them, with its y"
        )


def _probability_labels(given: ScoringInput, outputs: int) -> tuple[Any, ...]:
    """Return the label of each probability: ``classes_``, else integers or the sorted labels in ``y``."""
    known = known_classes(given.estimator)
    if known:
        return known
    found = sorted(set(given.target.tolist()))
    if set(found) <= set(range(outputs)):
        return tuple(range(outputs))
    if len(found) != outputs:
        raise InputError(
            f"y holds {len(found)} labels, and {describe(given.estimator)} gives the probabilities of "
            f"{outputs}; code y as integers from 0 to {outputs - 1}"
        )
    return tuple(found)


def codes_of(target: Array, classes: tuple[Any, ...]) -> Integers:
    """Return the position of each label among the classes, or refuse unknown labels."""
    codes = _label_positions(target, classes)
    if (codes < 0).any():
        stranger = target[codes < 0][:1].tolist()[0]  # as a Python object
        shown = ", ".join(map(repr, classes[:8])) + ", ..." * (len(classes) > 8)
        raise InputError(
            f"y holds {stranger!r}, which is not a class of the model ({shown}); pass y as it was in fit"
        )
    return codes


def _label_positions(labels: Array, classes: Sequence[Any]) -> Integers:
    known = {label: position for position, label in enumerate(classes)}
    return np.fromiter((known.get(label, -1) for label in labels.tolist()), np.int64, len(labels))


OWN: Mapping[str, Callable[[ScoringInput], RowScore | TotalScore]] = {
    "squared_error": partial(_numeric_loss, "squared_error", _squared_error, -np.inf),
    "absolute_error": partial(_numeric_loss, "absolute_error", _absolute_error, -np.inf),
    "poisson": partial(_numeric_loss, "poisson", _poisson, 0.0),
    "gamma": partial(_numeric_loss, "gamma", _gamma, float(np.nextafter(0, 1))),
    "log_loss": _log_loss,
    "error_rate": _error_rate,
    "r2": _r_squared,
}


TRIAL_ROWS = 32  # rows on which a function is tried, to see whether it returns one value per row


@dataclass(frozen=True, eq=False)
class RowByRow:
    """A function of the user that must return one value per row."""

    name: str
    response: str
    function: Callable[..., Any]

    def __call__(self, y: Array, predictions: Floats) -> Floats:
        """Return the loss of each row."""
        try:
            losses = np.asarray(self.function(y, squeezed(predictions)), dtype=np.float64)
        except Exception as error:  # of any class; the message adds the input
            raise OptionError(failure(self.name, self.response, error)) from error
        if losses.shape != (len(y),):
            raise OptionError(
                f"scoring={self.name} returned shape {losses.shape} for {len(y)} rows; it must return one "
                "value per row, or always a number"
            )
        return losses


def from_function(given: ScoringInput, name: str, function: Callable[..., Any], weighted: bool) -> Score:
    """Return the score of a function of ``y`` and predictions."""
    model = given.model("auto")
    # For functions of scikit-learn the name tells whether greater is better. Others are losses.
    foreign = str(getattr(function, "__module__", "")).startswith("sklearn.metrics")
    greater = foreign and name.endswith("_score")
    if _scores_rows(given, model, function):
        return RowScore(name, model, given.target, RowByRow(name, model.response, function))
    if weighted and not _takes_sample_weight(function):
        raise OptionError(
            f"scoring={name} has no keyword sample_weight, and the rows have weights; add it, or return one "
            "value per row"
        )
    return TotalScore(name, model, given.target, function, greater)


def _scores_rows(given: ScoringInput, model: Model, function: Callable[..., Any]) -> bool:
    """Return whether a function returns one value per row. Functions of all rows may fail on a few."""
    some = given.table.slice(0, TRIAL_ROWS)
    predictions = model.predict(some.native, len(some))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            losses = function(given.target[: len(some)], squeezed(predictions))
    except Exception:  # the evaluation on all rows reports errors
        return False
    return bool(np.shape(losses) == (len(some),))


def scorer_of(given: ScoringInput, name: str, function: Callable[..., Any], weighted: bool) -> Scorer:
    """Return a scorer that calls the model."""
    if given.response_method != "auto":
        raise OptionError(
            f"response_method={given.response_method!r}: a scorer such as {name!r} calls the model itself; "
            f"leave it at 'auto'"
        )
    if weighted and not _takes_sample_weight(function):
        raise OptionError(f"scoring={name} has no keyword sample_weight, and the rows have weights; add it")
    return Scorer(name, given.estimator, given.target, function)


def scorer_called(name: str) -> Callable[..., Any]:
    """Return a scorer of scikit-learn by name, or refuse an unknown name."""
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


def _signature_parameters(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some compiled functions have no signature
        return []


def is_scorer(function: Callable[..., Any]) -> bool:
    """Return whether a function is ``scorer(estimator, X, y)`` instead of ``loss(y_true, y_pred)``."""
    parameters = _signature_parameters(function)
    needed = [p for p in parameters if p.default is p.empty and p.kind in (0, 1)]
    return len(needed) == 3 or bool(parameters and parameters[0].name == "estimator")


def _takes_sample_weight(function: Callable[..., Any]) -> bool:
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in _signature_parameters(function))
