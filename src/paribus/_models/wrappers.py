"""Models made of models: what each of them passes on, adds up or transforms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._data.table import Table
from paribus._models.adapter import adapt
from paribus._models.additive import is_linear
from paribus._models.model import Model
from paribus.errors import RefusalCode, RefusalError

# Models that hand the table on to one other model, by the attribute that holds it.
PASSING = {
    "FrozenEstimator": "estimator",
    "GridSearchCV": "best_estimator_",
    "HalvingGridSearchCV": "best_estimator_",
    "HalvingRandomSearchCV": "best_estimator_",
    "RandomizedSearchCV": "best_estimator_",
}
# The same for margins and probabilities; what they predict is a class.
THRESHOLDED = {"FixedThresholdClassifier": "estimator_", "TunedThresholdClassifierCV": "estimator_"}


@dataclass(frozen=True, eq=False)
class Part:
    """A model within another; ``function`` is applied to each of its outputs, None for none."""

    model: Model
    function: Callable[[Floats], Floats] | None = None


@dataclass(frozen=True, eq=False)
class Combination:
    """Outputs that are weighted sums of those of parts: ``weights (o, k) @ outputs (k, ...) + constant``."""

    parts: tuple[Part, ...]
    weights: Floats
    constant: Floats

    def outputs(self, drawn: list[Floats]) -> Floats:
        """Return the outputs ``(o, ...)`` of those of each part."""
        made = [
            outputs if part.function is None else part.function(outputs)
            for part, outputs in zip(self.parts, drawn, strict=True)
        ]
        every = np.concatenate(made)
        total = np.zeros((len(self.weights), *every.shape[1:]))
        for o, row in enumerate(self.weights):
            total[o] += self.constant[o]
            for k in np.flatnonzero(
                row
            ):  # one after another, so that no bit depends on how many rows there are
                total[o] += row[k] * every[k]
        return total


def unwrapped(target: Any, response: str) -> Any:
    """Return the model that another hands its table on to, for a response that passes through."""
    while (inner := handed_to(target, response)) is not None:
        target = inner
    return target


def handed_to(target: Any, response: str) -> Any:
    """Return the model that another hands its table on to, None where it predicts by itself."""
    if type(target).__module__.split(".")[0] != "sklearn":
        return None
    held = {**PASSING, **(THRESHOLDED if response != "predict" else {})}.get(type(target).__name__)
    return None if held is None else getattr(target, held)


def combination_of(target: Any, response: str, sample: Table) -> Combination | None:
    """Return what a model adds up of others; None where it is no such model."""
    if type(target).__module__.split(".")[0] != "sklearn" or type(target).__name__ not in READERS:
        return None
    return READERS[type(target).__name__](target, response, sample)


def _member(estimator: Any, sample: Table, response: str) -> Model:
    return adapt(estimator, sample, response_method=response, every_row=True)


def _voting(target: Any, response: str, sample: Table) -> Combination:
    soft = type(target).__name__ == "VotingClassifier"
    if soft and (response != "predict_proba" or target.voting != "soft"):
        raise RefusalError("a vote of classes is not a sum", RefusalCode.UNSUPPORTED)
    given = target.weights or [1.0] * len(target.estimators)
    kept = [float(w) for (_, member), w in zip(target.estimators, given, strict=True) if member != "drop"]
    models = tuple(_member(member, sample, response) for member in target.estimators_)
    outputs = models[0].n_outputs
    shares = np.array(kept) / sum(kept)
    return Combination(
        tuple(map(Part, models)), np.hstack([share * np.eye(outputs) for share in shares]), np.zeros(outputs)
    )


def _side_by_side(target: Any, response: str, sample: Table) -> Combination:
    if response != "predict":
        raise RefusalError(f"the {response} of several targets is not read", RefusalCode.UNSUPPORTED)
    models = tuple(_member(member, sample, response) for member in target.estimators_)
    return Combination(tuple(map(Part, models)), np.eye(len(models)), np.zeros(len(models)))


def _stacking(target: Any, response: str, sample: Table) -> Combination:
    last = target.final_estimator_
    if target.passthrough or not is_linear(last) or response != "predict":
        raise RefusalError(
            f"{type(target).__name__} adds its members up only if its last step is linear and does not see X",
            RefusalCode.UNSUPPORTED,
        )
    methods = list(target.stack_method_)
    models = tuple(
        _member(member, sample, method) for member, method in zip(target.estimators_, methods, strict=True)
    )
    weights = np.atleast_2d(np.asarray(last.coef_, dtype=np.float64))
    return Combination(tuple(map(Part, models)), weights, np.atleast_1d(np.asarray(last.intercept_, float)))


def _transformed(target: Any, response: str, sample: Table) -> Combination:
    model = _member(target.regressor_, sample, response)
    function = partial(_inverse, target.transformer_)
    return Combination((Part(model, function),), np.eye(model.n_outputs), np.zeros(model.n_outputs))


def _inverse(transformer: Any, outputs: Floats) -> Floats:
    """Return predictions ``(o, ...)`` on the scale of the target."""
    flat = transformer.inverse_transform(outputs.reshape(len(outputs), -1).T)
    return np.asarray(flat, dtype=np.float64).T.reshape(outputs.shape)


def _calibrated(target: Any, response: str, sample: Table) -> Combination:
    members = target.calibrated_classifiers_
    if response != "predict_proba" or len(target.classes_) != 2:
        raise RefusalError(
            "calibrated probabilities of several classes are divided by their sum", RefusalCode.UNSUPPORTED
        )
    parts = []
    for member in members:
        inner = "decision_function" if hasattr(member.estimator, "decision_function") else "predict_proba"
        (calibrator,) = member.calibrators
        parts.append(Part(_member(member.estimator, sample, inner), partial(_calibrate, calibrator)))
    return Combination(tuple(parts), np.full((1, len(parts)), 1 / len(parts)), np.zeros(1))


def _calibrate(calibrator: Any, outputs: Floats) -> Floats:
    """Return calibrated probabilities of the second class."""
    return np.asarray(calibrator.predict(outputs.ravel()), dtype=np.float64).reshape(outputs.shape)


READERS: dict[str, Callable[[Any, str, Table], Combination]] = {
    "CalibratedClassifierCV": _calibrated,
    "MultiOutputRegressor": _side_by_side,
    "StackingRegressor": _stacking,
    "TransformedTargetRegressor": _transformed,
    "VotingClassifier": _voting,
    "VotingRegressor": _voting,
}
