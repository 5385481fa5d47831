"""The weighted mean at every point and what its standard error needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from paribus._contracts import Floats
from paribus._data.sampling import TINY
from paribus._states.overflow import LARGE, between, enlarged, fitting, ignore_fp_errors


@dataclass(frozen=True, eq=False)
class Moments:
    r"""Weighted moments of the predictions at each point, over the rows seen so far.

    With weights :math:`w_i` and predictions :math:`f_i` (per output and point):

    - ``mean`` :math:`m = \sum w_i f_i / W`, shape ``(o, g)``, with ``weight`` :math:`W = \sum w_i`
    - ``mean_sq`` :math:`m' = \sum w_i^2 f_i / V`, with ``weight_sq`` :math:`V = \sum w_i^2`
    - ``sum_of_squares`` :math:`Q = \sum w_i^2 (f_i - m')^2`, in squares of ``value_scale``

    The second set is what the sampling error of a *weighted* mean needs: see `standard_error`.
    Without weights ``mean_sq`` is ``mean``, the same array. ``value_scale`` is 1, or `LARGE` at points where
    sums or squares of finite predictions overflow, so that mean and error are finite if a float can hold
    them.
    """

    rows: int
    weight: float
    weight_sq: float
    mean: Floats
    mean_sq: Floats
    sum_of_squares: Floats
    value_scale: Floats | float = 1.0

    @classmethod
    def of(cls, predictions: Floats, weights: Floats | None) -> Self:
        """Collect predictions of shape ``(o, g, i)`` of at least one row; every weight is positive."""
        with ignore_fp_errors():
            result = cls._of(predictions, weights)
            finite = np.isfinite(result.sum_of_squares)
            if finite.all():
                return result
            large = cls._of(predictions / LARGE, weights)
        mean = np.where(finite, result.mean, enlarged(large.mean))
        mean_sq = mean if weights is None else np.where(finite, result.mean_sq, enlarged(large.mean_sq))
        spread, unit = (
            np.where(finite, result.sum_of_squares, large.sum_of_squares),
            np.where(finite, 1.0, LARGE),
        )
        return replace(result, mean=mean, mean_sq=mean_sq, sum_of_squares=spread, value_scale=unit)

    @classmethod
    def _of(cls, predictions: Floats, weights: Floats | None) -> Self:
        rows = predictions.shape[-1]
        if weights is None:
            mean = predictions.mean(axis=-1)
            spread = ((predictions - mean[..., None]) ** 2).sum(axis=-1)
            return cls(rows, float(rows), float(rows), mean, mean, spread)
        # Weights are at most about 1; of the very small ones the square must not vanish altogether.
        total, squares = weights.sum(), np.maximum(weights**2, TINY)
        mean = (predictions * weights).sum(axis=-1) / total
        mean_sq = (predictions * squares).sum(axis=-1) / squares.sum()
        spread = ((predictions - mean_sq[..., None]) ** 2 * squares).sum(axis=-1)
        return cls(rows, float(total), float(squares.sum()), mean, mean_sq, spread)

    def merge(self, other: Self) -> Self:
        """Return the moments of both sets of rows."""
        weight = self.weight + other.weight
        weight_sq = self.weight_sq + other.weight_sq
        share, share_sq = other.weight / weight, other.weight_sq / weight_sq
        unweighted = self.mean is self.mean_sq and other.mean is other.mean_sq

        def squares(unit: Floats | float) -> Floats:
            gap = other.mean_sq / unit - self.mean_sq / unit
            return self._spread(unit) + other._spread(unit) + gap**2 * (self.weight_sq * share_sq)

        mean = between(self.mean, other.mean, share)
        mean_sq = mean if unweighted else between(self.mean_sq, other.mean_sq, share_sq)
        spread, unit = fitting(squares, np.maximum(self.value_scale, other.value_scale))
        return type(self)(self.rows + other.rows, weight, weight_sq, mean, mean_sq, spread, unit)

    def _spread(self, unit: Floats | float) -> Floats:
        return np.asarray(self.sum_of_squares * (self.value_scale / unit) ** 2)

    def beside(self, other: Self) -> Self:
        """Return the moments of the same rows at this one's points and then the other's."""
        mean = np.concatenate([self.mean, other.mean], axis=1)
        unweighted = self.mean is self.mean_sq and other.mean is other.mean_sq
        mean_sq = mean if unweighted else np.concatenate([self.mean_sq, other.mean_sq], axis=1)
        spread = np.concatenate([self.sum_of_squares, other.sum_of_squares], axis=1)
        units = [np.broadcast_to(one.value_scale, one.mean.shape) for one in (self, other)]
        plain = np.ndim(self.value_scale) == np.ndim(other.value_scale) == 0
        unit = 1.0 if plain else np.concatenate(units, axis=1)
        return type(self)(self.rows, self.weight, self.weight_sq, mean, mean_sq, spread, unit)

    def standard_error(self) -> Floats:
        r"""Return the sampling error of ``mean``, shape ``(o, g)``; NaN when only one row was seen.

        .. math:: SE^2 = \frac{n}{n - 1} \frac{\sum w_i^2 (f_i - m)^2}{W^2}

        the linearized variance of a ratio estimator. It needs no assumption on how weights and
        predictions go together, does not change when all weights are scaled, and is the usual
        :math:`s / \sqrt{n}` when they are equal.
        """
        if self.rows < 2:
            return np.full_like(self.mean, np.nan)
        with ignore_fp_errors():
            gap = self.mean_sq / self.value_scale - self.mean / self.value_scale
            about_mean = self.sum_of_squares + self.weight_sq * gap**2
            return np.sqrt(about_mean * (self.rows / (self.rows - 1))) / self.weight * self.value_scale
