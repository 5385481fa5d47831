"""Losses of our own: of numbers, and of labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._models.adapter import adapt, describe, library_of
from paribus._models.scoring.score import RowFunction, RowScore, ScoringInput, TotalScore
from paribus._text import count
from paribus.errors import InputError, ModelError, OptionError

CLOSEST = float(np.finfo(np.float64).eps)  # a probability is taken to be at least so far from 0 and 1
SLACK = 1e-4  # by which a probability in single precision may leave the range from 0 to 1


def has_classes(estimator: Any) -> bool:
    """Return whether a model is a classifier."""
    return len(known_classes(estimator)) > 1


def known_classes(estimator: Any) -> tuple[Any, ...]:
    """Return the classes of a classifier as plain values, none for any other model."""
    classes = getattr(estimator, "classes_", None)  # some regressors have an empty one
    return () if classes is None else tuple(c if np.ndim(c) else np.asarray(c).item() for c in classes)


def _numeric(name: str, function: RowFunction, above: float, given: ScoringInput) -> RowScore:
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
            f"scoring={name!r} compares y of {count(target.shape[1], 'column')} with "
            f"{count(model.n_outputs, 'output')} of {model.name}; choose another scoring or response_method"
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


def _r_squared(given: ScoringInput) -> TotalScore:
    score = _numeric("r2", _squared_error, -np.inf, given)
    if (np.ptp(score.target, axis=0) == 0).any():
        raise InputError("scoring='r2' divides by the variance of y, and y is constant; use 'squared_error'")
    return TotalScore("r2", score.model, score.target, _r2, True)


@dataclass(frozen=True, eq=False)
class Labels:
    """A classifier that predicts the position of its label among the classes, -1 for any other label."""

    estimator: Any
    classes: tuple[Any, ...]

    @property
    def __name__(self) -> str:
        return describe(self.estimator)

    def __call__(self, table: Any) -> Integers:
        """Return the labels the classifier predicts, as numbers."""
        request = getattr(self.estimator, "predict", self.estimator)
        return _positions(np.asarray(request(table)).ravel(), self.classes)


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
    return RowScore("error_rate", named, codes_of(given.target, labels.classes), _wrong)


def _wrong(codes: Array, predictions: Floats) -> Floats:
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
    classes = _classes(given, max(2, model.n_outputs))
    return RowScore("log_loss", model, codes_of(given.target, classes), _surprise)


def _surprise(codes: Array, probabilities: Floats) -> Floats:
    """Return minus the logarithm of the probability of what came out."""
    if probabilities.shape[1] == 1:  # that of the second of two classes
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


def _classes(given: ScoringInput, outputs: int) -> tuple[Any, ...]:
    """Return the label of each probability; without ``classes_`` they are the labels in ``y``, sorted."""
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
    """Return the position of each label among the classes, or refuse one that is not there."""
    codes = _positions(target, classes)
    if (codes < 0).any():
        stranger = target[codes < 0][:1].tolist()[0]  # as it is written, not as numpy holds it
        raise InputError(
            f"y holds {stranger!r}, which is not a class of the model{_shown(classes)}; "
            "pass y as it was in fit"
        )
    return codes


def _shown(classes: tuple[Any, ...]) -> str:
    return f" ({', '.join(map(repr, classes[:8]))}{', ...' if len(classes) > 8 else ''})"


def _positions(labels: Array, classes: Sequence[Any]) -> Integers:
    known = {label: position for position, label in enumerate(classes)}
    return np.fromiter((known.get(label, -1) for label in labels.tolist()), np.int64, len(labels))


OWN: Mapping[str, Callable[[ScoringInput], RowScore | TotalScore]] = {
    "squared_error": partial(_numeric, "squared_error", _squared_error, -np.inf),
    "absolute_error": partial(_numeric, "absolute_error", _absolute_error, -np.inf),
    "poisson": partial(_numeric, "poisson", _poisson, 0.0),
    "gamma": partial(_numeric, "gamma", _gamma, float(np.nextafter(0, 1))),
    "log_loss": _log_loss,
    "error_rate": _error_rate,
    "r2": _r_squared,
}
