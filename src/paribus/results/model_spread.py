"""How much fitted models differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._states.overflow import scaled
from paribus._text import at_point, number
from paribus.notes import Note, NoteCode
from paribus.results.schema import Record, array, labels, record

ROUNDING = 1e-12  # of the numbers compared: models that differ by less do not differ


@record
class ModelSpread(Record):
    r"""Effects by model, and their standard deviation: how much an effect depends on the fitted model.

    Models fitted on other folds, bootstrap samples or seeds differ. This variation is neither the sampling
    error of an average over rows, ``standard_error``, which decreases with more rows, nor the heterogeneity
    of rows, ``quantiles``. With the effect :math:`E_k` of model k of m

    .. math:: \bar E = \frac{1}{m} \sum_k E_k, \qquad
        s^2 = \frac{1}{m - 1} \sum_k (E_k - \bar E)^2

    the mean is the reported effect, and s the standard deviation between models. It refers to a single fit;
    whether it also describes the uncertainty of a model fitted on all data depends on how the models were
    fitted: those of cross-validation share most of their rows and differ less than independent ones.

    Attributes
    ----------
    models : tuple of str
        Name of each model.
    values : ndarray of shape (m, n_outputs, g0, g1, ...)
        Effect of each model, on the same rows, weights and grid.
    standard_deviation : ndarray of shape (n_outputs, g0, g1, ...)
        Between models, with m - 1 in the denominator. NaN with a single model.
    missing : ndarray of shape (m, n_outputs) or None
        Effect of each model at a missing value.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> models = [lambda X: X[:, 0] + X[:, 1], lambda X: 3 * X[:, 0] + X[:, 1]]
    >>> effect = paribus.partial_dependence(models, X, 0)
    >>> effect.average, effect.by_model.values[:, 0]
    (array([[3., 5., 7.]]), array([[3., 4., 5.],
           [3., 6., 9.]]))
    >>> effect.by_model.standard_deviation.round(2)
    array([[0.  , 1.41, 2.83]])
    """

    models: tuple[str, ...] = labels("model")
    values: Floats = array("model", "output", "grid")
    standard_deviation: Floats = array("output", "grid", column="between_models")
    missing: Floats | None = array("model", "output")

    @classmethod
    def of(
        cls, models: tuple[str, ...], values: Floats | None, missing: Floats | None = None
    ) -> ModelSpread | None:
        """Take the standard deviation between models, if there are effects by model."""
        return None if values is None else cls(models, values, between(values), missing)

    @property
    def missing_deviation(self) -> Floats | None:
        """The standard deviation between models at a missing value, ``(n_outputs,)``."""
        return None if self.missing is None else between(self.missing)

    def _at_missing(self) -> dict[str, Any]:
        return {} if self.missing is None else {"between_models": self.missing_deviation}


def mean_of(values: Floats) -> Floats:
    """Return the mean over models; where all say the same it is that, to the bit."""
    return scaled(lambda some: _first(some) + (some - _first(some)).mean(axis=0), values)


def between(values: Floats) -> Floats:
    """Return the standard deviation between models; zero where all say the same, NaN of a single one."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return scaled(lambda some: (some - _first(some)).std(axis=0, ddof=1), values)


def _first(values: Floats) -> Floats:
    """Return what the others are compared with; infinities cannot be."""
    return np.where(np.isfinite(values[0]), values[0], 0.0)


def model_spread_notes(
    spread: ModelSpread | None, mean: Floats | None, result: Mapping[str, Any]
) -> tuple[Note, ...]:
    """Return where models differ most, and by which share of the range of the mean ``(o, g0, ...)``.

    ``result`` has the names of features and outputs, and the values of the axes.
    """
    if spread is None or mean is None:
        return ()
    names, output_names = result["feature_names"], result["output_names"]
    count, deviation = len(spread.models), spread.standard_deviation.reshape(len(output_names), -1)
    if count == 1:
        text = "a list of one model has no standard deviation between models"
        return (Note(NoteCode.SINGLE_MODEL, text),)
    if spread.missing_deviation is not None:
        deviation = np.concatenate([deviation, spread.missing_deviation[:, None]], axis=1)
    size = float(np.abs(mean[np.isfinite(mean)]).max(initial=0.0))
    if not deviation.size or not np.nanmax(deviation, initial=0.0) > ROUNDING * size:
        return ()
    output, point = np.unravel_index(np.nanargmax(deviation), deviation.shape)
    curve = mean[output]
    range_ = float(np.ptp(curve)) if curve.size else 0.0
    largest = float(deviation[output, point])
    share = f" ({_percent(largest / range_)} of the range)" if range_ > ROUNDING * size else ""
    on = f" on {output_names[output]}" if len(output_names) > 1 else ""
    where = f"{names[0]} missing"
    if point < curve.size:
        where = at_point(names, result["grid_values"], np.unravel_index(point, curve.shape))
    text = f"{count} models differ by a standard deviation of up to {number(largest)}{share}{on} at {where}"
    return (Note(NoteCode.MODELS_DIFFER, text, names[0] if len(names) == 1 else None, largest),)


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"
