"""Targets, classes of models, and distribution families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._data.kinds import kind_of_objects, missing_objects, typed
from paribus._data.rows import Rows
from paribus._models.libraries import libraries_for, library_for
from paribus._models.parameters import attribute, steps_of, value_text
from paribus._models.predictor import Model
from paribus._text import count
from paribus.errors import FeatureError, InputError, OptionError


def target_of(y: Any, rows: Rows) -> Array:
    """Return the target of each row with positive weight: shape ``(n,)``, or ``(n, o)`` for several targets.

    Any object that numpy reads is accepted: arrays, lists, series of pandas and polars, Arrow columns. Rows
    of weight zero may have a missing target.
    """
    if y is None:
        raise InputError("y is needed to compare predictions with; pass the target of each row of X")
    if np.ma.is_masked(y):
        raise InputError("y is a masked array; leave the rows that are masked out of X and y")
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise InputError(f"y cannot be read as one value per row: {error}") from error
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2) or len(array) != len(rows):
        size = count(len(rows), "row")
        raise InputError(f"y has shape {array.shape} and X has {size}; give one value per row")
    counted = np.arange(len(rows)) if rows.weights is None else np.flatnonzero(rows.weights)
    array = array[counted]
    unusable: Flags = np.zeros(array.shape, dtype=bool)
    if array.dtype.kind == "f":
        unusable = np.asarray(~np.isfinite(array))
    elif array.dtype.kind in "OT":
        unusable = missing_objects(array.ravel()).reshape(array.shape)
    if array.ndim == 2:
        unusable = np.asarray(unusable.any(axis=1))
    if unusable.any():
        position = int(np.flatnonzero(unusable)[0])
        shown = array[position].tolist() if isinstance(array[position], np.ndarray) else array[position]
        raise InputError(
            f"y[{counted[position]}] is {shown}, and {int(unusable.sum()) - 1} more are missing or infinite; "
            "drop such rows from X and y, or set their weights to zero"
        )
    if array.dtype.kind == "O":  # numbers get a numeric dtype, and labels stay
        try:
            array = typed("y", array, kind_of_objects("y", array.ravel()))
        except FeatureError as error:
            raise InputError(f"y holds {type(array.flat[0]).__name__}s; pass numbers or labels") from error
    if array.dtype.kind not in "fiubOUST":
        raise InputError(f"y has dtype {array.dtype}; pass numbers or labels, or no y for a survival model")
    return array


def has_classes(estimator: Any) -> bool:
    """Return whether a model is a classifier."""
    return len(known_classes(estimator)) > 1


def known_classes(estimator: Any) -> tuple[Any, ...]:
    """Return the classes of a classifier as Python objects, empty for other models."""
    classes = getattr(estimator, "classes_", None)  # empty for some regressors
    return () if classes is None else tuple(c if np.ndim(c) else np.asarray(c).item() for c in classes)


def codes_of(target: Array, classes: tuple[Any, ...]) -> Integers:
    """Return the position of each label among the classes, or refuse unknown labels."""
    codes = label_positions(target, classes)
    if (codes < 0).any():
        stranger = target[codes < 0][:1].tolist()[0]  # as a Python object
        shown = ", ".join(map(repr, classes[:8])) + ", ..." * (len(classes) > 8)
        raise InputError(
            f"y holds {stranger!r}, which is not a class of the model ({shown}); pass y as it was in fit"
        )
    return codes


def label_positions(labels: Array, classes: Sequence[Any]) -> Integers:
    """Return the position of each label among the classes, -1 for unknown labels."""
    position_of = {label: position for position, label in enumerate(classes)}
    return np.fromiter((position_of.get(label, -1) for label in labels.tolist()), np.int64, len(labels))


@dataclass(frozen=True)
class Outcome:
    """Conversion of a target to numbers ``(n, o)``, one for each output of a model.

    With ``classes``, labels become indicators: of the second class for one output, else of each class.
    Without, ``y`` has a column of numbers per output. ``bounded`` means that they are compared with
    probabilities.
    """

    outputs: int
    classes: tuple[Any, ...] | None = None
    bounded: bool = False

    def numbers(self, target: Array) -> Floats:
        """Return the target as numbers, or refuse a target that cannot be compared with the outputs."""
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
            columns, outputs = count(result.shape[1], "column"), count(self.outputs, "output")
            raise InputError(
                f"y has {columns} and the model has {outputs}; give a column for each, such as an indicator "
                "of its class"
            )
        if self.bounded and not ((result >= 0) & (result <= 1)).all():
            raise InputError(
                f"y holds {result[(result < 0) | (result > 1)][0]:g} where probabilities are predicted; code "
                "each column as 0 and 1"
            )
        return result


def outcome_of(model: Model | None, estimator: Any, columns: int) -> Outcome:
    """Return the conversion of a target with ``columns`` columns for the outputs of a model, or refuse."""
    if model is None:
        return Outcome(columns)
    if model.response == "decision_function":
        raise OptionError(
            f"y cannot be compared with a {model.scale} of {model.name}, which has another scale; request "
            "response_method='predict_proba' or 'predict' if it has them, or leave y out"
        )
    # Native boosters of several classes predict the probability of each, and code the classes as 0, 1, ...
    several = model.n_outputs > 1 and predicts_probability(estimator)
    if model.response != "predict_proba" and not several:
        return Outcome(model.n_outputs)
    classes = known_classes(estimator) or tuple(range(max(2, model.n_outputs)))
    # A classifier with several targets has a list of classes for each.
    single = not any(np.ndim(label) for label in classes) and len(classes) == max(2, model.n_outputs)
    return Outcome(model.n_outputs, classes if single else None, bounded=True)


CHOSEN_MODEL = "best_estimator_"  # attribute of searches
OBJECTIVES = ("objective", "loss", "loss_function", "criterion")  # parameters that name the objective
TWEEDIE_POWER = 1.5  # default of boosting libraries


@dataclass(frozen=True)
class Family:
    r"""Tweedie distributions of a power. The power 1 is Poisson, 2 is gamma.

    The unit deviance of an observed :math:`y` with prediction :math:`f` is

    .. math:: 2 \left( \frac{y^{2-p}}{(1-p)(2-p)} - \frac{y f^{1-p}}{1-p} + \frac{f^{2-p}}{2-p} \right)

    with the limits :math:`2 (y \log(y / f) - y + f)` for power 1 and
    :math:`2 (\log(f / y) + y / f - 1)` for power 2.
    """

    power: float

    @property
    def name(self) -> str:
        """Name of the distribution."""
        names = {1.0: "Poisson", 2.0: "gamma"}
        return names.get(self.power, f"Tweedie (power {self.power:g})")

    def deviance(self, y: Floats, f: Floats) -> Floats:
        """Return the deviance of each row, NaN if ``y`` or ``f`` is out of range."""
        in_range = (f > 0) & (y > 0 if self.power >= 2 else y >= 0)
        return np.where(in_range, 2 * (self.own_term(y) + self.mean_term(y, f)), np.nan)

    def own_term(self, y: Floats) -> Floats:
        """Return the part of half the deviance that depends only on ``y``."""
        with np.errstate(all="ignore"):
            if self.power == 1:
                return np.asarray(np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0)), 0.0) - y)
            if self.power == 2:
                return np.asarray(-np.log(y) - 1)
            return np.asarray(y ** (2 - self.power) / ((1 - self.power) * (2 - self.power)))

    def mean_term(self, y: Any, f: Any) -> Floats:
        """Return the other part, which is linear in ``y``."""
        p = self.power
        with np.errstate(all="ignore"):
            if p == 1:
                return np.asarray(f - y * np.log(f))
            if p == 2:
                return np.asarray(np.log(f) + y / f)
            return np.asarray(f ** (2 - p) / (2 - p) - y * f ** (1 - p) / (1 - p))


def family_of(estimator: Any) -> Family | None:
    """Return the family of positive numbers that a model was fitted to, None if it is unknown."""
    steps = steps_of(estimator)
    inner = steps[-1] if steps else attribute(estimator, CHOSEN_MODEL)
    if inner is not None:
        return family_of(inner)
    libraries, kind = libraries_for(estimator), type(estimator).__name__
    class_powers = {name: power for library in libraries for name, power in library.class_powers.items()}
    if kind in class_powers:
        power = class_powers[kind]
        return _family_of_power(attribute(estimator, "power") if power is None else power)
    settings = _fit_settings(estimator)
    objective = _objective_name(settings)
    powers = {name: power for library in libraries for name, power in library.deviance_powers.items()}
    name, _, option = (objective, "", "") if objective in powers else objective.partition(":")
    if name not in powers:
        return None
    power = powers[name]
    if power is not None:
        return Family(power)
    if option.startswith("variance_power="):  # after the loss of CatBoost
        return _family_of_power(float(option.partition("=")[2]))
    chosen = settings.get("tweedie_variance_power")
    return _family_of_power(TWEEDIE_POWER if chosen is None else float(chosen))


def _objective_name(settings: dict[str, Any]) -> str:
    """Return the name of the objective in lower case, empty if it is unknown."""
    return next((settings[name] for name in OBJECTIVES if isinstance(settings.get(name), str)), "").lower()


def objective_of(estimator: Any) -> str | None:
    """Return the name of the objective in its library, None if it is unknown."""
    steps = steps_of(estimator)
    inner = steps[-1] if steps else attribute(estimator, CHOSEN_MODEL)
    if inner is not None:
        return objective_of(inner)
    chosen = attribute(estimator, "objective_")  # set by LightGBM
    if chosen is None:
        settings = _fit_settings(estimator)
        chosen = next((settings[name] for name in OBJECTIVES if settings.get(name) is not None), None)
    return None if chosen is None else chosen if isinstance(chosen, str) else value_text(chosen)


def other_scale(estimator: Any) -> str | None:
    """Return the reason why ``predict`` has another scale than ``y``, None if none is known."""
    if has_classes(estimator):
        return "predict returns labels of classes; request response_method='predict_proba'"
    objective, library = _objective_name(_fit_settings(estimator)), library_for(estimator)
    if library is None or not objective.startswith(library.other_scale_objectives):
        return None
    return f"predict of the objective {objective!r} returns margins, labels or scores, which y is not"


def predicts_probability(estimator: Any) -> bool:
    """Return whether a native booster predicts probabilities, by its objective."""
    library = library_for(estimator)
    if library is None or callable(attribute(estimator, "get_params")):
        return False
    return _fit_settings(estimator).get("objective") in library.probability_objectives


def _family_of_power(power: Any) -> Family | None:
    """Return the family of a power from 1 to 2, whose deviance is defined for all positive numbers."""
    has_deviance = isinstance(power, (int, float)) and 1 <= power <= 2
    return Family(float(power)) if has_deviance else None


def _fit_settings(estimator: Any) -> dict[str, Any]:
    """Return the parameters of a model with the interface of scikit-learn, or of a native booster."""
    params, library = attribute(estimator, "get_params"), library_for(estimator)
    if callable(params):
        try:
            settings = dict(params())
        except Exception:  # of any class, if parameters cannot be read
            return {}
        return settings if library is None else settings | library.unreported_settings(estimator)
    settings_of_booster = attribute(estimator, "params")
    if isinstance(settings_of_booster, dict):
        return dict(settings_of_booster)
    return {} if library is None else library.unreported_settings(estimator)
