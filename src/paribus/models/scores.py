"""How good predictions are: losses and scores of a model's answers.

A loss that is a mean over rows is known row by row (`RowScore`), so that weights and sampling errors can be
taken care of outside; any other score needs the predictions of all rows (`TotalScore`), or the model itself
and a whole table (`Scorer`).
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar, TypeAlias

import numpy as np

from paribus.contracts import Array, Flags, Floats, Integers
from paribus.data.kinds import kind_of_objects, missing_objects, typed
from paribus.data.rows import Rows
from paribus.data.table import Table
from paribus.errors import FeatureError, InputError, ModelError, OptionError, did_you_mean, one_of
from paribus.models.adapter import RESPONSES, adapt, describe
from paribus.models.model import Model

RowFunction: TypeAlias = Callable[[Array, Floats], Floats]
TRIAL_ROWS = 32  # given to a function to see whether it answers row by row
CLOSEST = float(np.finfo(np.float64).eps)  # a probability is taken to be at least so far from 0 and 1
SLACK = 1e-4  # by which a probability in single precision may leave the range from 0 to 1

# Scores of scikit-learn that are a constant minus a mean over rows, which is known more about.
MEANS: Mapping[str, tuple[str, float]] = {
    "accuracy": ("error_rate", 1.0),
    "neg_log_loss": ("log_loss", 0.0),
    "neg_mean_absolute_error": ("absolute_error", 0.0),
    "neg_mean_gamma_deviance": ("gamma", 0.0),
    "neg_mean_poisson_deviance": ("poisson", 0.0),
    "neg_mean_squared_error": ("squared_error", 0.0),
}


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
        """How the model is asked."""
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
        """How the model is asked."""
        return self.model.response

    def total(self, predictions: Floats, weights: Floats | None) -> float:
        """Return the score of predictions ``(n, o)`` of all rows."""
        keywords = {} if weights is None else {"sample_weight": weights}
        try:
            return _number(self.function(self.target, _squeezed(predictions), **keywords), self.name)
        except InputError:
            raise
        except Exception as error:  # whatever a foreign function raises, the user needs to know on what
            raise OptionError(_failure(self.name, self.response, error)) from error


@dataclass(frozen=True, eq=False)
class Scorer:
    """A scorer in the sense of scikit-learn, which asks the model itself: ``scorer(estimator, X, y)``."""

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
            return _number(self.function(self.estimator, table, self.target, **keywords), self.name)
        except InputError:
            raise
        except Exception as error:  # whatever a foreign scorer raises, the user needs to know on what
            raise OptionError(
                f"scoring={self.name!r} failed for {describe(self.estimator)}: {type(error).__name__}: "
                f"{error}. Choose another, such as {', '.join(map(repr, OWN))}, or pass a function "
                "(y_true, y_pred)"
            ) from error


Score: TypeAlias = RowScore | TotalScore | Scorer


@dataclass(frozen=True, eq=False)
class _Given:
    """What a score is made for: a model, the rows it is asked about and what should come out."""

    estimator: Any
    target: Array
    table: Table
    response_method: str

    def model(self, response_method: str) -> Model:
        """Return the model asked in the user's way, or in the way given here where the user has none."""
        asked = response_method if self.response_method == "auto" else self.response_method
        return adapt(self.estimator, self.table, response_method=asked)


def target_of(y: Any, rows: Rows) -> Array:
    """Read what should have come out for each row that has weight: shape ``(n,)``, or ``(n, o)`` for several.

    Anything numpy reads is taken: arrays, lists, series of pandas and polars, Arrow columns. A row of weight
    zero may be without.
    """
    array = _read_target(y)
    if array.ndim not in (1, 2) or len(array) != len(rows):
        raise InputError(f"y has shape {array.shape} and X has {len(rows)} rows; give one value per row")
    counted = np.arange(len(rows)) if rows.weights is None else np.flatnonzero(rows.weights)
    array = array[counted]
    unusable = _unusable(array)
    if unusable.any():
        place = int(np.flatnonzero(unusable)[0])
        shown = array[place].tolist() if isinstance(array[place], np.ndarray) else array[place]
        raise InputError(
            f"y[{counted[place]}] is {shown}, and {int(unusable.sum()) - 1} more are missing or infinite; "
            "leave such rows out of X and y, or give them weight zero"
        )
    return _typed_target(array)


def score_of(
    estimator: Any,
    scoring: Any,
    target: Array,
    table: Table,
    *,
    response_method: str = "auto",
    weighted: bool = False,
) -> Score:
    """Return how good the predictions of a model are on the rows of a table, or raise.

    Parameters
    ----------
    estimator
        The model as the user passed it.
    scoring : None, str or callable
        - None: ``log_loss`` of a model with ``predict_proba``, ``error_rate`` of any other classifier,
          ``log_loss`` where ``target`` is text, else ``squared_error``.
        - a loss of our own: ``squared_error``, ``absolute_error``, ``poisson`` and ``gamma`` (deviances),
          ``log_loss``, ``error_rate``; or the score ``r2``.
        - the name of a scorer of scikit-learn, or such a scorer, or ``scorer(estimator, X, y) -> number``.
          Greater is better.
        - a function ``loss(y_true, y_pred)`` that returns one value per row, or a number. Smaller is better,
          but for functions of ``sklearn.metrics`` called ``..._score``. A number of weighted rows needs the
          keyword ``sample_weight``. It is given what ``response_method`` answers: ``(n,)`` for one output,
          as of the positive class of two, else ``(n, o)``.
    target : ndarray of shape (n,) or (n, o)
        From `target_of`.
    table : Table
        The rows that belong to ``target``.
    response_method : {"auto", "predict", "predict_proba", "decision_function"}
        How the model is asked; ``"auto"`` is ``predict`` for losses of numbers and labels, ``predict_proba``
        for ``log_loss``, and as everywhere for a function. Scorers decide for themselves.
    weighted : bool
        Whether there will be weights.

    Returns
    -------
    RowScore, TotalScore or Scorer
    """
    one_of("response_method", response_method, RESPONSES)
    given = _Given(estimator, target, table, response_method)
    if scoring is None:
        scoring = _default(estimator, target)
    if isinstance(scoring, str):
        name, constant = MEANS.get(scoring, (scoring, None))
        if name not in OWN:
            return _scorer(given, scoring, _scorer_called(scoring), weighted)
        score = OWN[name](given)
        if constant is None or not isinstance(score, RowScore):
            return score
        return replace(score, name=scoring, constant=constant)
    if not callable(scoring):
        raise OptionError(
            f"scoring={scoring!r} must be None, a name such as {', '.join(map(repr, OWN))}, a function "
            "(y_true, y_pred) or a scorer (estimator, X, y)"
        )
    name = str(getattr(scoring, "__name__", None) or scoring)
    if _is_scorer(scoring):
        return _scorer(given, name, scoring, weighted)
    return _from_function(given, name, scoring, weighted)


def _default(estimator: Any, target: Array) -> str:
    if hasattr(estimator, "predict_proba"):
        return "log_loss"
    if _has_classes(estimator):
        return "error_rate"
    return "log_loss" if target.dtype.kind in "OUST" else "squared_error"


def _has_classes(estimator: Any) -> bool:
    return len(_known_classes(estimator)) > 1


def _known_classes(estimator: Any) -> tuple[Any, ...]:
    """Return the classes of a classifier as plain values, none for any other model."""
    classes = getattr(estimator, "classes_", None)  # CatBoost's regressors have an empty one
    return () if classes is None else tuple(c if np.ndim(c) else np.asarray(c).item() for c in classes)


# Losses of numbers.


def _numeric(name: str, function: RowFunction, above: float, given: _Given) -> RowScore:
    """Return a loss of numbers, averaged over outputs; ``y`` must be at least ``above``."""
    target = _numbers(name, given.target)
    if not (target >= above).all():
        smallest = "positive" if above > 0 else "at least 0"
        raise InputError(
            f"scoring={name!r} needs y to be {smallest}, and it holds {target.min()}; use another"
        )
    model = given.model("predict" if hasattr(given.estimator, "predict") else "auto")
    if target.shape[1] != model.n_outputs:
        raise OptionError(
            f"scoring={name!r} compares y of {target.shape[1]} columns with {model.n_outputs} outputs of "
            f"{model.name}; choose another scoring or response_method"
        )
    return RowScore(name, model, target, function)


def _numbers(name: str, target: Array) -> Floats:
    """Return ``y`` as numbers of shape ``(n, o)``; text that looks like numbers is still text."""
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
    log_ratio = np.log(np.where(y > 0, y, predictions) / predictions)  # 0 where y is, as y log y is there
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


def _r_squared(given: _Given) -> TotalScore:
    score = _numeric("r2", _squared_error, -np.inf, given)
    if (np.ptp(score.target, axis=0) == 0).any():
        raise InputError("scoring='r2' divides by the variance of y, and y is constant; use 'squared_error'")
    return TotalScore("r2", score.model, score.target, _r2, True)


# Losses of labels.


@dataclass(frozen=True, eq=False)
class Labels:
    """A classifier that answers with the place of its label among the classes, -1 for any other label."""

    estimator: Any
    classes: tuple[Any, ...]

    @property
    def __name__(self) -> str:
        return describe(self.estimator)

    def __call__(self, table: Any) -> Integers:
        """Return the labels the classifier predicts, as numbers."""
        ask = getattr(self.estimator, "predict", self.estimator)
        return _places(np.asarray(ask(table)).ravel(), self.classes)


def _error_rate(given: _Given) -> RowScore:
    if given.response_method not in ("auto", "predict"):
        raise OptionError(
            f"scoring='error_rate' compares labels, which response_method={given.response_method!r} does not "
            "give; leave it at 'auto'"
        )
    _one_label_a_row("error_rate", given)
    classes = _known_classes(given.estimator) or tuple(dict.fromkeys(given.target.tolist()))
    labels = Labels(given.estimator, classes)
    model = adapt(labels, given.table)
    if model.answer is not None and (model.answer < 0).all():
        raise OptionError(
            f"scoring='error_rate': {model.name} does not answer with labels such as {given.target[0]!r}; "
            "pass a function that does, or use 'log_loss' or 'squared_error'"
        )
    named = replace(model, library=type(given.estimator).__module__.split(".")[0], response="predict")
    return RowScore("error_rate", named, _codes(given.target, labels.classes), _wrong)


def _wrong(codes: Array, predictions: Floats) -> Floats:
    return np.asarray(codes != predictions[:, 0], dtype=np.float64)


def _log_loss(given: _Given) -> RowScore:
    _one_label_a_row("log_loss", given)
    has_none = _has_classes(given.estimator) and not hasattr(given.estimator, "predict_proba")
    if has_none and given.response_method == "auto":
        raise OptionError(
            f"scoring='log_loss' needs probabilities, and {describe(given.estimator)} has no predict_proba; "
            "use 'error_rate'"
        )
    model = given.model("auto")
    answer = np.empty(0) if model.answer is None else model.answer
    if ((answer < -SLACK) | (answer > 1 + SLACK)).any():
        raise OptionError(
            f"scoring='log_loss' needs probabilities, and {model.name} answers {model.response} with numbers "
            f"from {np.nanmin(answer):.6g} to {np.nanmax(answer):.6g}; choose another scoring or "
            "response_method"
        )
    classes = _classes(given, max(2, model.n_outputs))
    return RowScore("log_loss", model, _codes(given.target, classes), _surprise)


def _surprise(codes: Array, probabilities: Floats) -> Floats:
    """Return minus the logarithm of the probability of what came out."""
    if probabilities.shape[1] == 1:  # that of the second of two classes
        likely = np.where(codes == 1, probabilities[:, 0], 1 - probabilities[:, 0])
    else:
        likely = probabilities[np.arange(len(codes)), codes]
    return np.asarray(-np.log(np.clip(likely, CLOSEST, 1 - CLOSEST)))


def _one_label_a_row(name: str, given: _Given) -> None:
    several = any(np.ndim(label) for label in _known_classes(given.estimator))
    if several or given.target.ndim > 1:
        raise OptionError(
            f"scoring={name!r} is of one target, and here are several; pass a function that returns one of "
            "them, with its y"
        )


def _classes(given: _Given, outputs: int) -> tuple[Any, ...]:
    """Return the label of each probability; without ``classes_`` they are the labels in ``y``, sorted."""
    known = _known_classes(given.estimator)
    if known:
        return known
    found = sorted(set(given.target.tolist()))
    if set(found) <= set(range(outputs)):
        return tuple(range(outputs))
    if len(found) != outputs:
        raise InputError(
            f"y holds {len(found)} labels, and {describe(given.estimator)} gives the probabilities of "
            f"{outputs}; code y as whole numbers from 0 to {outputs - 1}"
        )
    return tuple(found)


def _codes(target: Array, classes: tuple[Any, ...]) -> Integers:
    """Return the place of each label among the classes, or refuse one that is not there."""
    codes = _places(target, classes)
    if (codes < 0).any():
        stranger = target[int(np.flatnonzero(codes < 0)[0])]
        raise InputError(
            f"y holds {stranger!r}, which is no class of the model{_shown(classes)}; pass y as it was in fit"
        )
    return codes


def _shown(classes: tuple[Any, ...]) -> str:
    return f" ({', '.join(map(repr, classes[:8]))}{', ...' if len(classes) > 8 else ''})"


def _places(labels: Array, classes: Sequence[Any]) -> Integers:
    known = {label: place for place, label in enumerate(classes)}
    return np.fromiter((known.get(label, -1) for label in labels.tolist()), np.int64, len(labels))


OWN: Mapping[str, Callable[[_Given], RowScore | TotalScore]] = {
    "squared_error": partial(_numeric, "squared_error", _squared_error, -np.inf),
    "absolute_error": partial(_numeric, "absolute_error", _absolute_error, -np.inf),
    "poisson": partial(_numeric, "poisson", _poisson, 0.0),
    "gamma": partial(_numeric, "gamma", _gamma, float(np.nextafter(0, 1))),
    "log_loss": _log_loss,
    "error_rate": _error_rate,
    "r2": _r_squared,
}


# What others bring.


@dataclass(frozen=True, eq=False)
class RowByRow:
    """A user's function that returns one value per row, held to that."""

    name: str
    response: str
    function: Callable[..., Any]

    def __call__(self, y: Array, predictions: Floats) -> Floats:
        """Return the loss of each row."""
        try:
            losses = np.asarray(self.function(y, _squeezed(predictions)), dtype=np.float64)
        except Exception as error:  # whatever a foreign function raises, the user needs to know on what
            raise OptionError(_failure(self.name, self.response, error)) from error
        if losses.shape != (len(y),):
            raise OptionError(
                f"scoring={self.name} answered {len(y)} rows with shape {losses.shape}; it must return one "
                "value per row, or always a number"
            )
        return losses


def _from_function(given: _Given, name: str, function: Callable[..., Any], weighted: bool) -> Score:
    model = given.model("auto")
    # A function of scikit-learn says by its name which way is better; any other is a loss.
    foreign = str(getattr(function, "__module__", "")).startswith("sklearn.metrics")
    greater = foreign and name.endswith("_score")
    if _answers_rows(given, model, function):
        return RowScore(name, model, given.target, RowByRow(name, model.response, function))
    if weighted and not _takes_weight(function):
        raise OptionError(
            f"scoring={name} has no keyword sample_weight, and the rows have weights; add it, or return one "
            "value per row"
        )
    return TotalScore(name, model, given.target, function, greater)


def _answers_rows(given: _Given, model: Model, function: Callable[..., Any]) -> bool:
    """Tell whether a function returns one value per row; a few rows may be too few for one that does not."""
    some = given.table.slice(0, TRIAL_ROWS)
    predictions = model.predict(some.native, len(some))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            losses = function(given.target[: len(some)], _squeezed(predictions))
    except Exception:  # it is asked again about all rows, where what it raises is told
        return False
    return bool(np.shape(losses) == (len(some),))


def _scorer(given: _Given, name: str, function: Callable[..., Any], weighted: bool) -> Scorer:
    if given.response_method != "auto":
        raise OptionError(
            f"response_method={given.response_method!r}: a scorer such as {name!r} asks the model in its own "
            "way; leave it at 'auto'"
        )
    if weighted and not _takes_weight(function):
        raise OptionError(f"scoring={name} has no keyword sample_weight, and the rows have weights; add it")
    return Scorer(name, given.estimator, given.target, function)


def _scorer_called(name: str) -> Callable[..., Any]:
    """Return a scorer of scikit-learn by name."""
    try:
        metrics = import_module("sklearn.metrics")
    except ImportError as error:
        raise OptionError(
            f"scoring={name!r} is not one of {', '.join(map(repr, OWN))}; scorers of scikit-learn need it "
            "installed"
        ) from error
    names = metrics.get_scorer_names()
    if name not in names:
        raise OptionError(f"scoring={name!r} is not known{did_you_mean(name, [*OWN, *names])}")
    scorer: Callable[..., Any] = metrics.get_scorer(name)
    return scorer


def _parameters(function: Callable[..., Any]) -> Sequence[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # compiled functions may not tell
        return []


def _is_scorer(function: Callable[..., Any]) -> bool:
    """Tell ``scorer(estimator, X, y)`` from ``loss(y_true, y_pred)``."""
    parameters = _parameters(function)
    needed = [p for p in parameters if p.default is p.empty and p.kind in (0, 1)]
    return len(needed) == 3 or bool(parameters and parameters[0].name == "estimator")


def _takes_weight(function: Callable[..., Any]) -> bool:
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in _parameters(function))


def _squeezed(predictions: Floats) -> Floats:
    return predictions[:, 0] if predictions.shape[1] == 1 else predictions


def _number(value: Any, name: str) -> float:
    if np.size(value) != 1:
        raise OptionError(f"scoring={name} answered with shape {np.shape(value)}; it must return a number")
    return float(np.asarray(value).item())


def _failure(name: str, response: str, error: Exception) -> str:
    return (
        f"scoring={name} failed on y and what the model answers to {response}: {type(error).__name__}: "
        f"{error}. Choose another response_method, or another scoring"
    )


# What should have come out.


def _read_target(y: Any) -> Array:
    if y is None:
        raise InputError("y is needed to tell how good predictions are; pass what came out for each row of X")
    if np.ma.is_masked(y):
        raise InputError("y is a masked array; leave the rows that are masked out of X and y")
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise InputError(f"y cannot be read as one value per row: {error}") from error
    return array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array


def _unusable(array: Array) -> Flags:
    """Tell which rows have a value that is missing or infinite."""
    if array.dtype.kind == "f":
        flags = ~np.isfinite(array)
    elif array.dtype.kind in "OT":
        flags = missing_objects(array.ravel()).reshape(array.shape)
    else:
        flags = np.zeros(array.shape, dtype=bool)
    return np.asarray(flags if flags.ndim == 1 else flags.any(axis=1))


def _typed_target(array: Array) -> Array:
    """Give numbers that came as objects their dtype; labels stay as they are."""
    if array.dtype.kind == "O":
        try:
            array = typed("y", array, kind_of_objects("y", array.ravel()))
        except FeatureError as error:
            raise InputError(f"y holds {type(array.flat[0]).__name__}s; pass numbers or labels") from error
    if array.dtype.kind not in "fiubOUST":
        raise InputError(f"y has dtype {array.dtype}; pass numbers or labels")
    return array
