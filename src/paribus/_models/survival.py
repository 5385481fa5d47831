"""Survival functions and cumulative hazards of a model at chosen times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from paribus._contracts import Array, Floats, Integers
from paribus._models.parameters import SURVIVAL_METHODS, attribute, steps_of
from paribus._models.predictor import Predictor
from paribus._text import plain_value
from paribus.errors import ModelError, OptionError

SURVIVAL, HAZARD = SURVIVAL_METHODS
SCALES = {SURVIVAL: "survival", HAZARD: "cumulative hazard"}
START = {SURVIVAL: 1.0, HAZARD: 0.0}  # values before the first time of the training data
PORTION = 1 << 23  # numbers per call, because a model returns a number for every time of its training data


def checked_times(times: Any) -> tuple[float, ...]:
    """Validate the times of survival functions.

    >>> checked_times([1, 2.5])
    (1.0, 2.5)
    """
    given = np.atleast_1d(np.asarray(times))
    numeric = given.ndim == 1 and given.size > 0 and given.dtype.kind in "iuf"
    if not numeric or len(np.unique(given)) < len(given) or not ((given >= 0) & (given < np.inf)).all():
        raise OptionError(
            f"times={times!r} must be one or more distinct numbers of at least 0, such as [1, 5, 10]"
        )
    return tuple(given.astype(np.float64).tolist())


def times_before(known: Array, times: tuple[float, ...]) -> Integers:
    """Return the position of the largest known time up to each time, -1 if there is none."""
    return np.searchsorted(known, times, side="right") - 1


@dataclass(frozen=True)
class SurvivalPredictor(Predictor):
    r"""Prediction of survival functions, or of cumulative hazards, at times ``(o,)``.

    Both are right-continuous step functions: with :math:`t_k` the times of the training data,

    .. math:: S(t) = S(t_k), \quad t_k = \max \{t_j : t_j \le t\}

    Before the first time, survival is 1 and the cumulative hazard is 0.
    """

    times: tuple[float, ...] = ()

    @classmethod
    def of(cls, estimator: Any, method: str, name: str, times: Any) -> SurvivalPredictor:
        """Return the predictor of a survival model, or raise for other models and times out of range."""
        if times is None:
            raise OptionError(
                f"response_method={method!r} is a function of time; pass times=[...] to Explainer"
            )
        if method not in SURVIVAL_METHODS:
            raise OptionError(f"times={times!r} has no meaning for response_method={method!r}; omit it")
        if not hasattr(estimator, method):
            inner = hasattr(attribute(estimator, "best_estimator_"), method)
            way_out = "pass its best_estimator_" if inner else "pass a survival model, or omit times"
            raise OptionError(f"times={times!r}: {name} has no {method}; {way_out}")
        predictor = cls(estimator, method, {"return_array": True}, times=checked_times(times))
        known = predictor.known_times
        if known is None:
            raise ModelError(
                f"{name} has no unique_times_, at which its functions are known; fit it with a baseline "
                "hazard, such as by loss='coxph' or fit_baseline_model=True"
            )
        late = max(predictor.times)
        if late > known[-1]:
            raise OptionError(
                f"times={times!r}: the functions of {name} end at {plain_value(float(known[-1]))}, the last "
                f"time of its training data; omit {plain_value(late)}"
            )
        return predictor

    @property
    def known_times(self) -> Any:
        """Times of the training data, None if the model does not have them."""
        model = self.target
        while steps_of(model):
            model = steps_of(model)[-1]
        return attribute(model, "unique_times_")

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each output, such as ``"survival at 5"``."""
        texts = (plain_value(time).removesuffix(".0") for time in self.times)
        return tuple(f"{SCALES[self.method or SURVIVAL]} at {text}" for text in texts)

    def raw(self, table: Any) -> Floats:
        """Return the values ``(n, o)``. Rows are predicted in portions, which bounds memory."""
        known, rows = self.known_times, table.shape[0]
        portion = max(1, PORTION // len(known))
        at, indexed = times_before(known, self.times), getattr(table, "iloc", table)
        values = np.empty((rows, len(at)))
        for first in range(0, rows, portion):
            part = table if rows <= portion else indexed[first : first + portion]
            values[first : first + portion] = super().raw(part)[:, at]
        values[:, at < 0] = START[self.method or SURVIVAL]
        return values


@dataclass(frozen=True, eq=False)
class ProportionalHazards:
    r"""Survival functions, or cumulative hazards, as functions of the log of the relative risk :math:`m`.

    .. math:: H(t) = H_0(t) e^m, \quad S(t) = \left(e^{-H_0(t)}\right)^{e^m}

    ``baseline (o,)`` is the cumulative hazard :math:`H_0` at some times.
    """

    baseline: Floats
    survival: bool

    @classmethod
    def of(cls, risk: Floats, hazard: Floats, survival: bool) -> ProportionalHazards:
        """Return the function, from the risks ``(n,)`` and cumulative hazards ``(n, o)`` of some rows."""
        row = int(np.abs(risk).argmin())  # rounding is smallest there
        return cls(hazard[row] / np.exp(risk[row]), survival)

    def __call__(self, margins: Floats) -> Floats:
        """Return outputs ``(o, ...)`` of margins ``(1, ...)``."""
        with np.errstate(over="ignore"):  # infinite risk means that nothing survives
            risk = np.exp(margins)
            baseline = self.baseline.reshape(-1, *(1,) * (margins.ndim - 1))
            return np.asarray(np.exp(-baseline) ** risk if self.survival else baseline * risk)
