"""The distribution that a model of positive numbers was fitted to, by what its library calls it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._models.estimators import attribute, steps_of
from paribus._models.parameters import value_text
from paribus._models.scoring.losses import has_classes

HANDING_ON = "best_estimator_"  # where a search holds the model it chose
FITTED_BY_CLASS = {"PoissonRegressor": 1.0, "GammaRegressor": 2.0}
OBJECTIVES = ("objective", "loss", "loss_function", "criterion")
POWERS = {
    "poisson": 1.0,
    "count:poisson": 1.0,
    "gamma": 2.0,
    "reg:gamma": 2.0,
    "tweedie": None,
    "reg:tweedie": None,
}
PROBABILITIES = ("binary", "binary:logistic", "cross_entropy", "reg:logistic", "xentropy")
# Objectives whose predict returns margins, labels or scores that only rank, by how their names begin.
OTHER_SCALES = (
    *("binary:hinge", "binary:logitraw", "multi:softmax", "rank:", "lambdarank", "rank_xendcg"),
    *("logloss", "crossentropy", "multiclass", "multilogloss", "yetirank", "pairlogit", "queryrmse"),
)
TWEEDIE_POWER = 1.5  # that boosting libraries take where none is given


@dataclass(frozen=True)
class Family:
    r"""Tweedie distributions of a power: 1 is Poisson, 2 is gamma.

    The unit deviance of :math:`y` predicted as :math:`f` is

    .. math:: 2 \left( \frac{y^{2-p}}{(1-p)(2-p)} - \frac{y f^{1-p}}{1-p} + \frac{f^{2-p}}{2-p} \right)

    and its limits :math:`2 (y \log(y / f) - y + f)` and :math:`2 (\log(f / y) + y / f - 1)`.
    """

    power: float

    @property
    def name(self) -> str:
        """What its deviance is called."""
        names = {1.0: "Poisson", 2.0: "gamma"}
        return names.get(self.power, f"Tweedie (power {self.power:g})")

    def deviance(self, y: Floats, f: Floats) -> Floats:
        """Return the deviance of each row, NaN where ``y`` or ``f`` is out of its range."""
        return self._beyond(y, f, 2 * (self.own_term(y) + self.mean_term(y, f)))

    def own_term(self, y: Floats) -> Floats:
        """Return the part of half the deviance that depends on ``y`` alone."""
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

    def _beyond(self, y: Floats, f: Floats, found: Floats) -> Floats:
        fits = (f > 0) & (y > 0 if self.power >= 2 else y >= 0)
        return np.where(fits, found, np.nan)


def family_of(estimator: Any) -> Family | None:
    """Return the family of positive numbers a model was fitted to, None where it names none."""
    steps = steps_of(estimator)
    if steps:
        return family_of(steps[-1])
    chosen = attribute(estimator, HANDING_ON)
    if chosen is not None:
        return family_of(chosen)
    kind = type(estimator).__name__
    if kind in FITTED_BY_CLASS:
        return Family(FITTED_BY_CLASS[kind])
    if kind == "TweedieRegressor":
        return _of_power(attribute(estimator, "power"))
    settings = _settings(estimator)
    objective = _objective(settings)
    name, _, option = (objective, "", "") if objective in POWERS else objective.partition(":")
    if name not in POWERS:
        return None
    power = POWERS[name]
    return Family(power) if power is not None else _of_power(_tweedie_power(settings, option))


def _objective(settings: dict[str, Any]) -> str:
    """Return what a model was fitted to minimize, in lower case; nothing where it does not say so."""
    return next((settings[name] for name in OBJECTIVES if isinstance(settings.get(name), str)), "").lower()


def objective_of(estimator: Any) -> str | None:
    """Return the loss that a model was fitted to minimize, as its library calls it; None if it names none."""
    steps = steps_of(estimator)
    inner = steps[-1] if steps else attribute(estimator, HANDING_ON)
    if inner is not None:
        return objective_of(inner)
    facts = attribute(estimator, "facts")  # of a model file
    chosen = attribute(facts, "objective") or attribute(estimator, "objective_")  # what LightGBM chose
    if chosen is None:
        settings = _settings(estimator)
        chosen = next((settings[name] for name in OBJECTIVES if settings.get(name) is not None), None)
    return None if chosen is None else chosen if isinstance(chosen, str) else value_text(chosen)


def other_scale(estimator: Any) -> str | None:
    """Return why what ``predict`` returns is not on the scale of ``y``, None where nothing says so."""
    if has_classes(estimator):
        return "predict returns labels of classes; request response_method='predict_proba'"
    objective = _objective(_settings(estimator))
    if not objective.startswith(OTHER_SCALES):
        return None
    return f"predict of the objective {objective!r} returns margins, labels or scores, which y is not"


def predicts_probability(estimator: Any) -> bool:
    """Return whether the objective of a native booster says that it predicts one probability."""
    native = not callable(attribute(estimator, "get_params"))
    return native and _settings(estimator).get("objective") in PROBABILITIES


def _of_power(power: Any) -> Family | None:
    """Return a family whose deviance is defined for every number above zero."""
    known = isinstance(power, (int, float)) and (power == 1 or 1 < power <= 2)
    return Family(float(power)) if known else None


def _tweedie_power(settings: dict[str, Any], option: str) -> Any:
    """Return the power a boosting library was given, or takes by default."""
    if option.startswith("variance_power="):  # as CatBoost writes it
        return float(option.partition("=")[2])
    given = settings.get("tweedie_variance_power")
    return TWEEDIE_POWER if given is None else float(given)


def _settings(estimator: Any) -> dict[str, Any]:
    """Return the parameters of a model of scikit-learn's interface, or of a native booster."""
    params = attribute(estimator, "get_params")
    if callable(params):
        try:
            found = dict(params())
        except Exception:  # a class whose parameters cannot be read does not say what it was fitted to
            return {}
        more = attribute(estimator, "_other_params")  # where LightGBM keeps what it has no argument for
        return found | (more if isinstance(more, dict) else {})
    own = attribute(estimator, "params")
    if isinstance(own, dict):
        return dict(own)
    config = attribute(estimator, "save_config")
    return _of_config(config) if callable(config) else {}


def _of_config(config: Any) -> dict[str, Any]:
    """Return what an XGBoost booster says of its objective."""
    objective = json.loads(config()).get("learner", {}).get("objective", {})
    found = {"objective": objective.get("name")}
    power = objective.get("tweedie_regression_param", {}).get("tweedie_variance_power")
    return found if power is None else found | {"tweedie_variance_power": float(power)}
