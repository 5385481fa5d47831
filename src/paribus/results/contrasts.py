"""Contrasts and slopes: differences between points of a curve, with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from paribus._contracts import NOMINAL, Floats
from paribus._states.sums import ignore_fp_errors
from paribus._text import at_value, number, with_error
from paribus._typing import FrameBackend
from paribus.errors import InputError, OptionError
from paribus.results.curve_values import at_values, flat_points, share_variance
from paribus.results.provenance import Provenance
from paribus.results.schema import array, labels, record
from paribus.results.storage import Saveable
from paribus.results.tidy import native
from paribus.results.transforms import along_axis, moments_of, number_of, position_of

if TYPE_CHECKING:
    from paribus.results.ale import AccumulatedLocalEffect
    from paribus.results.partial_dependence import PartialDependence

    Curve: TypeAlias = PartialDependence | AccumulatedLocalEffect

QUARTILES = (0.25, 0.75)  # shares of the data below the ends of default contrasts


@record
class Contrast(Saveable):
    r"""A difference between points of a curve, or its slope, with the standard error over the rows.

    The estimate is a weighted sum :math:`\sum_g c_g PD(x_g)` of the points of a partial dependence, or of
    accumulated local effects, with weights that add up to zero. Its standard error is that of the same sum of
    each row's predictions, because all points are predicted for the same rows.

    Attributes
    ----------
    feature_name : str
        Name of the feature.
    label : str
        Which difference it is, such as ``"50 - 30"`` or ``"per unit of age"``.
    output_names : tuple of str
        Names of the outputs.
    estimate : ndarray of shape (n_outputs,)
        The difference, or the average change per unit.
    standard_error : ndarray of shape (n_outputs,)
        Its sampling error, treating the rows as a random sample and the model as fixed. NaN if it is unknown.
    provenance : Provenance
        How the curve was computed.

    Notes
    -----
    The table of `to_frame` has a row per output, with the columns ``feature``, ``contrast`` (the label),
    ``output``, ``estimate``, ``standard_error``, ``low`` and ``high``, the ends of the interval.
    """

    stored = "contrast"
    table = ("output",)

    feature_name: str
    label: str
    output_names: tuple[str, ...] = labels("output")
    estimate: Floats = array("output")
    standard_error: Floats = array("output")
    provenance: Provenance

    def interval(self, level: float = 0.95) -> Floats:
        r"""Return the ends of a confidence interval over the rows.

        .. math:: \hat\Delta \pm t_{n - 1, (1 + level) / 2} SE

        It covers the difference that all rows of the population would have, for the model as it is. The
        variation between fitted models is not included.

        Parameters
        ----------
        level : float
            Probability with which the interval covers the difference, between 0 and 1.

        Returns
        -------
        ndarray of shape (2, n_outputs)
            Lower and upper ends.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(200, 2)).round(1)
        >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0, custom_values={0: [0, 1]})
        >>> low, high = effect.contrast(0, 1).interval(0.9)
        >>> bool(low[0] < X[:, 1].mean() < high[0])
        True
        """
        if not isinstance(level, (int, float)) or not 0 < level < 1:
            raise OptionError(f"level={level!r} must be a probability between 0 and 1, such as 0.95")
        width = self.provenance.error_quantile(level) * self.standard_error
        return np.stack([self.estimate - width, self.estimate + width])

    def to_frame(self, *, level: float = 0.95, backend: FrameBackend | None = None) -> Any:
        """Return a table with a row per output.

        Parameters
        ----------
        level : float
            Probability with which the intervals cover the difference.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.
        """
        return contrast_frame([self], level, backend)

    def __repr__(self) -> str:
        ends = self.interval().T
        lines = [
            with_error(value, error)
            + (f" (95 % interval over rows {number(low)} to {number(high)})" if np.isfinite(error) else "")
            for value, error, (low, high) in zip(self.estimate, self.standard_error, ends, strict=True)
        ]
        if len(lines) > 1:
            lines = [f"{name}: {line}" for name, line in zip(self.output_names, lines, strict=True)]
        return "\n  ".join([f"Contrast of {self.feature_name}: {self.label}", *lines])


def contrast_frame(contrasts: Sequence[Contrast], level: float, backend: str | None) -> Any:
    """Return the table of several contrasts, one below the other."""
    columns: dict[str, Any] = {
        "feature": [one.feature_name for one in contrasts for _ in one.output_names],
        "contrast": [one.label for one in contrasts for _ in one.output_names],
        "output": [name for one in contrasts for name in one.output_names],
        "estimate": np.concatenate([one.estimate for one in contrasts]),
        "standard_error": np.concatenate([one.standard_error for one in contrasts]),
    }
    columns["low"], columns["high"] = np.concatenate([one.interval(level) for one in contrasts], axis=1)
    return native(columns, contrasts[0].provenance.backend, backend)


def check_covariance(effect: Curve) -> None:
    """Refuse a covariance that does not fit the points of a curve."""
    if effect.covariance is None:
        return
    points = len(effect.grid_values[0]) + (effect.missing is not None)
    if len(effect.grid_values) > 1 or effect.covariance.shape[1:] != (points, points):
        raise InputError(
            f"covariance of shape {effect.covariance.shape} is not that of {points} points of one feature; "
            "leave it out"
        )


def contrast(effect: Curve, start: Any, stop: Any) -> Contrast:
    """Return the difference of an effect between two values."""
    _check_single(effect, "contrast()")
    first, one = _weights_at(effect, start, "start")
    last, other = _weights_at(effect, stop, "stop")
    return _combined(effect, other - one, f"{last} - {first}")


def slope(effect: Curve) -> Contrast:
    """Return the average change of an effect per unit of its feature."""
    _check_single(effect, "slope()")
    at, unit = along_axis(effect, "slope()")
    order, support, around_points = np.argsort(at, kind="stable"), effect.support, "ale" not in effect
    ends = np.r_[1.0, np.full(len(at) - 2, 2.0), 1.0]  # half of the data of a point on each side, or all
    if around_points:
        shares = support[order] / ends
        support = shares[:-1] + shares[1:]
    support = support if support.any() else np.ones(len(at) - 1)
    per = support / support.sum() / np.diff(at[order])
    weights = np.zeros(len(at) + (effect.missing is not None))
    weights[order] = np.r_[0.0, per] - np.r_[per, 0.0]
    result = _combined(effect, weights, f"per {unit}")
    # The shares of the data vary with the rows, too: a row adds the slope next to its value.
    average, _ = _points_of(effect)
    assert average is not None
    slopes = np.diff(average[:, order]) / np.diff(at[order])
    if around_points:
        slopes = (np.pad(slopes, [(0, 0), (1, 0)]) + np.pad(slopes, [(0, 0), (0, 1)])) / ends
        slopes = slopes[:, np.argsort(order)]
    apart = slopes - result.estimate[:, None]
    if effect.missing is not None:  # rows without a value do not count
        apart = np.pad(apart, [(0, 0), (0, 1)])
    missing = 0.0 if effect.missing is None else effect.missing.support
    with_value = effect.support.sum() / (effect.support.sum() + missing)
    error = np.sqrt(result.standard_error**2 + share_variance(effect, apart) / with_value**2)
    return replace(result, standard_error=error)


def default_contrasts(effect: Curve) -> list[tuple[Any, Any]]:
    """Return the values to compare by default.

    Numbers, dates and ordered categories: the grid values at the quartiles of the data. Other categories: the
    most frequent one and each of the others. Booleans: False and True.
    """
    values, support = effect.grid_values[0].tolist(), effect.support
    if effect.grid_values[0].dtype.kind in "mM":
        values = list(effect.grid_values[0])
    if len(values) < 2:
        return []
    ordered = getattr(effect, "ordered", (effect.kinds[0] not in NOMINAL,))[0]
    if effect.kinds[0] == "boolean":
        return [(values[0], values[-1])]
    if not ordered:
        top = int(np.argmax(support))
        return [(values[top], value) for place, value in enumerate(values) if place != top]
    total = np.cumsum(support if len(support) == len(values) else np.append(0.0, support))
    low, high = np.searchsorted(total, np.array(QUARTILES) * total[-1])
    low, high = (low, high) if low < high else (0, len(values) - 1)
    return [(values[low], values[high])]


def _check_single(effect: Curve, call: str) -> None:
    if len(effect.feature_names) > 1:
        raise OptionError(
            f"{call} is defined for one feature; this is an effect of {' x '.join(effect.feature_names)}. "
            "Request the effect of one of them"
        )


def _weights_at(effect: Curve, value: Any, argument: str) -> tuple[str, Floats]:
    """Return a value as text, and the weights ``(p,)`` of the points that give the effect there.

    Partial dependence is known at grid values only. Accumulated local effects are linear between edges.
    """
    (name,), (kind,), (values,) = effect.feature_names, effect.kinds, effect.grid_values
    weights = np.zeros(len(values) + (effect.missing is not None))
    if _is_missing(value):
        if effect.missing is None:
            raise OptionError(f"{argument}={value!r} is a missing value, and {name} has none; pass a value")
        weights[-1] = 1.0
        return "missing", weights
    if "ale" in effect and kind not in NOMINAL:
        wanted = number_of(name, values, value, argument)
        units = np.eye(len(values))
        between, known = at_values(values.astype(np.float64), np.array([wanted]), units, False)
        if not known.all():
            ends = f"{at_value(values[0])} to {at_value(values[-1])}" if len(values) else "no value"
            raise OptionError(f"{argument}={value!r} is not within the values of {name}: {ends}")
        weights[: len(values)] = between[:, 0]
        return at_value(value), weights
    position = position_of(name, kind, values, value, argument, WAY_OUT)
    weights[position] = 1.0
    return at_value(values[position]), weights


WAY_OUT = "; pass one of these, or request the effect there with custom_values={name: values}"


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def _combined(effect: Curve, weights: Floats, label: str) -> Contrast:
    """Return the sum of the points of an effect with ``weights (p,)``, and its standard error."""
    average, curves = _points_of(effect)
    used = np.flatnonzero(weights)
    own, error = weights[used], np.full(len(effect.output_names), np.nan)
    with ignore_fp_errors():
        if curves is not None:
            rows = (curves[..., used] * own).sum(axis=-1)[..., None]
            moments = moments_of(rows, effect.get("row_weights"), effect.get("row_units"))
            estimate, error = moments.mean[:, 0], moments.standard_error()[:, 0]
        elif effect.covariance is not None:
            pairs = effect.covariance[:, used[:, None], used]
            squares = np.einsum("g,ogh,h->o", own, pairs, own)
            error = np.sqrt(np.where(squares < 0, 0.0, squares))  # below zero by rounding only
        if average is not None:
            estimate = (average[:, used] * own).sum(axis=1)
    return Contrast(
        feature_name=effect.feature_names[0],
        label=label,
        output_names=effect.output_names,
        estimate=estimate,
        standard_error=error,
        provenance=effect.provenance,
    )


def _points_of(effect: Curve) -> tuple[Floats | None, Floats | None]:
    """Return the curve ``(o, p)`` and the curves of rows ``(o, n, p)``, the missing value last."""
    if "ale" not in effect:
        average, curves, _ = flat_points(effect, True)  # type: ignore[arg-type]
        return average, curves
    last = None if effect.missing is None else effect.missing.ale
    return effect["ale"] if last is None else np.column_stack([effect["ale"], last]), None
