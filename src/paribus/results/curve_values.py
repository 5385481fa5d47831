"""Values and covariances of curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Flags, Floats
from paribus._states.sums import deviations, ignore_fp_errors
from paribus._typing import ErrorBasis
from paribus.errors import InputError, OptionError
from paribus.results.schema import read_only

if TYPE_CHECKING:
    from paribus.results.partial_dependence import PartialDependence


def without_level(covariance: Floats | None) -> Floats | None:
    """Return the covariance ``(o, g, g)`` of the points of a curve relative to their average.

    Differences between points do not depend on the level of each row, which evaluators choose differently.
    """
    if covariance is None:
        return None
    with ignore_fp_errors():
        known = np.isfinite(covariance)
        size = np.maximum(1, known.sum(axis=2, keepdims=True))
        mean = np.where(known, covariance, 0.0).sum(axis=2, keepdims=True) / size
        level = np.where(known, mean, 0.0).sum(axis=1, keepdims=True) / np.maximum(
            1, known.sum(axis=1, keepdims=True)
        )
        return np.asarray(covariance - mean - mean.transpose(0, 2, 1) + level)


CURVES = ("average", "ale", "predicted", "observed", "residual")


def curves_of(part: Mapping[str, Any]) -> list[str]:
    """Return the names of the curves of an effect, the most important first; none of individual curves."""
    return [name for name in CURVES if name in part]


def at_values(own: Array, wanted: Array, curves: Floats, nominal: bool) -> tuple[Floats, Flags]:
    """Return curves ``(..., g)`` at other values, and which of these they know.

    Numbers and dates that lie between two grid values are on the straight line between these, those
    beyond the first or last are not known; of categories, those that are among their own are known.
    """
    if nominal:
        positions = {category: position for position, category in enumerate(own.tolist())}
        indices = np.array([positions.get(category, -1) for category in wanted.tolist()], dtype=np.int64)
        return curves[..., indices[indices >= 0]], indices >= 0
    edges, points = as_numbers(own), as_numbers(wanted)
    if not len(edges):
        return curves[..., :0], np.zeros(len(points), bool)
    edges, order = np.unique(edges, return_index=True)
    known = (points >= edges[0]) & (points <= edges[-1])
    left = np.searchsorted(edges, points[known], side="right") - 1
    right = np.minimum(left + 1, len(edges) - 1)
    gap = np.where(right > left, edges[right] - edges[left], 1.0)
    part = (points[known] - edges[left]) / gap
    low, high = curves[..., order[left]], curves[..., order[right]]
    with np.errstate(invalid="ignore"):  # infinities
        return np.where(part == 0, low, low + part * (high - low)), known


def data_shares(support: Floats) -> Floats:
    """Return the share of the data at each point of a curve; equal ones without any data."""
    total = support.sum()
    return np.asarray(support / total if total > 0 else np.full(len(support), 1 / max(1, len(support))))


def centered_variance(covariance: Floats, shares: Floats) -> Floats:
    """Return the variance ``(o, g)`` of a curve apart from its level, from its covariance ``(o, g, g)``.

    The level is the average over the data, of which ``shares (g,)`` are at each point.
    """
    mean = covariance @ shares
    variance = np.einsum("ogg->og", covariance) - 2 * mean + (mean @ shares)[:, None]
    return np.asarray(np.maximum(variance, 0.0))


def neighbor_range(own: Array, wanted: Array, curves: Floats, nominal: bool) -> tuple[Floats, Floats]:
    """Return the lower and the upper of the two neighbors of each value that curves ``(..., g)`` know.

    At values of the grid, both are the curve. Between two of them, a curve may have a step anywhere.
    """
    exact, known = at_values(own, wanted, curves, nominal)
    if nominal or not known.any():
        return exact, exact
    edges, order = np.unique(as_numbers(own), return_index=True)
    points = as_numbers(wanted)[known]
    left = np.searchsorted(edges, points, side="right") - 1
    right = np.searchsorted(edges, points, side="left")
    ends = curves[..., order[left]], curves[..., order[right]]
    return np.minimum(*ends), np.maximum(*ends)


def shared_values(one: Array, other: Array, nominal: bool) -> Array:
    """Return the values at which two curves can be compared.

    Of numbers and dates, all of both that lie where the two overlap; of categories, those of the first that
    the other has too.
    """
    if nominal:
        known = set(other.tolist())
        return np.asarray(one[np.array([category in known for category in one.tolist()], dtype=bool)])
    if not len(one) or not len(other):
        return one[:0]
    values = np.unique(np.concatenate([one, other]))
    within = (values >= max(one.min(), other.min())) & (values <= min(one.max(), other.max()))
    return np.asarray(values[within])


def axis_kind(part: Any) -> str:
    """Return the kind of the axis of a curve: curves of different kinds have no value in common."""
    kind = part.grid_values[0].dtype.kind
    return "categories" if part.kinds[0] in NOMINAL else {"M": "dates", "m": "durations"}.get(kind, "numbers")


@dataclass(frozen=True, eq=False)
class SharedPoints:
    """Values at which curves of a feature are compared; ``missing`` adds the missing value as last point."""

    values: Array
    missing: bool

    def at(self, part: Any, name: str) -> Floats:
        """Return a field ``(..., p)`` of a curve, linear between grid values; NaN if it has none."""
        numbers = getattr(part, name)
        if numbers is None:
            numbers = np.full((len(part.output_names), len(part.grid_values[0])), np.nan)
        if self.missing:
            last = getattr(part.missing, name)
            last = np.full(numbers.shape[:-1], np.nan) if last is None else np.asarray(last)
            numbers = np.concatenate([numbers, last[..., None]], axis=-1)
        return self.along(part, numbers)

    def along(self, part: Any, numbers: Floats) -> Floats:
        """Return numbers ``(..., g)`` of all points of a curve at these points, ``(..., p)``."""
        (grid,), (kind,) = part.grid_values, part.kinds
        numbers, last = numbers[..., : len(grid)], numbers[..., len(grid) :]
        line, _ = at_values(grid, self.values, numbers, kind in NOMINAL)
        return np.concatenate([line, last], axis=-1) if self.missing else line

    def ends(self, part: Any, name: str) -> tuple[Floats, Floats]:
        """Return the range ``(o, p)`` of a curve: it may have a step anywhere between two of its values."""
        (grid,), (kind,) = part.grid_values, part.kinds
        low, high = self.at(part, name), self.at(part, name)
        ends = neighbor_range(grid, self.values, getattr(part, name), kind in NOMINAL)
        low[:, : len(self.values)], high[:, : len(self.values)] = ends
        return low, high

    def split(self, numbers: Floats) -> tuple[Floats, Floats | None]:
        """Return numbers ``(o, p)`` at the values, and at the missing value."""
        return numbers[:, : len(self.values)].copy(), numbers[:, -1].copy() if self.missing else None


def least_difference(curve: Floats, low: Floats, high: Floats, offset: Floats) -> Floats:
    """Return how far a curve in a range, plus ``offset (o,)``, is at least from another one ``(o, p)``."""
    above = np.maximum(0.0, low + offset[:, None] - curve)
    below = np.maximum(0.0, curve - high - offset[:, None])
    return np.where(above >= below, above, -below)


def common_values(reference: Any, other: Any) -> Array:
    """Return the values of a curve that another one has too, or that lie between two of its values."""
    (grid,), (values,) = reference.grid_values, other.grid_values
    if axis_kind(reference) != axis_kind(other):
        return np.asarray(grid[:0])
    _, known = at_values(values, grid, np.zeros(len(values)), reference.kinds[0] in NOMINAL)
    return np.asarray(grid[known])


def combined_error(basis: ErrorBasis, one: Any, other: Any) -> Any:
    """Return the standard error of a difference, from those of both numbers."""
    return np.hypot(one, other) if basis == "independent" else one + other


def check_independent(independent: bool, same_rows: bool, both: str) -> None:
    """Refuse ``independent=`` that is no flag, or that is set for the same rows."""
    if not isinstance(independent, bool):
        raise OptionError(f"independent={independent!r} must be True or False")
    if independent and same_rows:
        raise OptionError(f"independent=True, but {both} are over the same rows; omit it")


def as_numbers(values: Array) -> Floats:
    """Return numbers, or dates as microseconds."""
    ticks = values.astype(f"{values.dtype.kind}8[us]").view(np.int64) if values.dtype.kind in "mM" else values
    return ticks.astype(np.float64)


def strengths_of(average: Floats, weights: Floats) -> Floats:
    r"""Return the standard deviation ``(o,)`` of a partial dependence over the data, for each output.

    .. math:: \sqrt{\sum_g s_g (PD_{og} - \overline{PD}_o)^2 / \sum_g s_g}

    with the averages ``(o, g)`` and the weight ``s (g,)`` of the data at each point. Where there is no
    data at any of them, every point counts the same.
    """
    if not weights.any():
        weights = np.ones_like(weights)
    if not len(weights):
        return np.zeros(len(average))
    return deviations(average, weights)


def shares_of(effect: Any) -> Floats:
    """Return the share of the data at each point of an effect, the missing value last."""
    missing = [] if effect.missing is None else [effect.missing.support]
    return data_shares(np.append(effect.support, missing))


def share_variance(effect: Any, heights: Floats) -> Floats:
    r"""Return the variance ``(o,)`` of :math:`\sum_g s_g u_g` due to the shares of the data at the points.

    With the shares :math:`s` and heights :math:`u` ``(o, g)`` it is :math:`(\sum_g s_g u_g^2 - (\sum_g s_g
    u_g)^2) / n` over n effective rows. The covariance of the shares of dependent rows is stored.
    """
    pairs = effect.get("share_covariance")
    if pairs is not None:
        return np.asarray(np.maximum(0.0, np.einsum("og,gh,oh->o", heights, pairs, heights)))
    shares, weights = shares_of(effect), effect.provenance.weights
    rows = effect.provenance.used_rows if weights is None else weights["effective_rows"]
    return np.asarray(np.maximum(0.0, heights**2 @ shares - (heights @ shares) ** 2) / rows)


def strength_errors(effect: PartialDependence) -> Floats:
    r"""Return the standard error ``(o,)`` of strengths, NaN without the covariance of the points.

    With the share of the data :math:`s_g`, the covariance :math:`C` of the points, :math:`d_g = PD_g -
    \overline{PD}` and the variance :math:`V = \sum_g s_g d_g^2` over :math:`n` effective rows, it is

    .. math:: \frac{1}{2 \sqrt V} \sqrt{4 \sum_{gh} s_g d_g C_{gh} s_h d_h
        + \frac{1}{n} \Bigl(\sum_g s_g d_g^4 - V^2\Bigr)}

    of the averages, and of the distribution of the feature (`share_variance`).
    """
    average, _, _ = flat_points(effect, effect.missing is not None)
    if average is None or effect.covariance is None:
        return np.full(len(effect.output_names), np.nan)
    shares = shares_of(effect)
    distance = average - (average @ shares)[:, None]
    variance = distance**2 @ shares
    of_averages = np.einsum("og,ogh,oh->o", distance * shares, effect.covariance, distance * shares)
    error = np.sqrt(4 * np.maximum(0.0, of_averages) + share_variance(effect, distance**2))
    return np.asarray(error / np.where(variance > 0, 2 * np.sqrt(variance), np.inf))


@ignore_fp_errors()
def root_mean_square(strengths: Floats) -> float:
    """Return one strength of those of several outputs."""
    return float(np.sqrt(np.mean(strengths**2)))


def split_points(
    points: Floats | None, shape: tuple[int, ...], with_missing: bool
) -> tuple[Floats | None, Floats | None]:
    """Return points ``(..., g)`` along their axes, and the missing value, which is the last, as views."""
    if points is None:
        return None, None
    read_only(points)  # before it is sliced, so that no view can be written to either
    if with_missing:
        return points[..., :-1], points[..., -1]
    return points.reshape(*points.shape[:-1], *shape), None


def flat_points(effect: PartialDependence, with_missing: bool) -> tuple[Floats | None, ...]:
    """Return averages ``(o, g)``, curves of rows ``(o, n, g)`` and of models ``(m, o, g)``.

    The missing value, where it is wanted and there is one, is the last point.
    """
    missing, spread = effect.missing if with_missing else None, effect.by_model
    points = [effect.average, effect.individual, None if spread is None else spread.values]
    flat = [None if a is None else a.reshape(*a.shape[: a.ndim - effect.support.ndim], -1) for a in points]
    if missing is None:
        return tuple(flat)
    last = [missing.average, missing.individual, None if spread is None else spread.missing]
    return tuple(
        None if array is None or at is None else np.concatenate([array, at[..., None]], axis=-1)
        for array, at in zip(flat, last, strict=True)
    )


def check_same(
    parts: Mapping[str, Any],
    differs: str,
    what: Callable[[Any], Any],
    text: Callable[[Any], Any] | None = None,
) -> None:
    """Refuse parts that are not the same in one respect: ``what`` it is of a part, and ``text`` in words."""
    (first, one), *others = parts.items()
    text = text or what
    for name, other in others:
        if what(other) != what(one):
            differ = f"{name} is {differs} ({text(other)}) than {first} ({text(one)})"
            raise InputError(f"{differ}; pass results of the same")


def check_alike(parts: Mapping[str, Any]) -> None:
    """Refuse what are not averages of one feature on one scale."""
    for name, part in parts.items():
        if len(part.feature_names) != 1 or not curves_of(part):
            what = "an average" if curves_of(part) else "individual curves"
            raise InputError(
                f"{name} must be the average of a single feature, not {what} of "
                f"{' x '.join(part.feature_names)}; request one feature, and kind='average'"
            )
    check_same(parts, "about another feature", lambda part: part.feature_names[0])
    check_same(parts, "on another scale", attrgetter("provenance.scale"))
    check_same(parts, "about other outputs", lambda part: ", ".join(part.output_names))
