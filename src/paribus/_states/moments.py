"""Means, squares and products of many rows, over all of them, in pairs of quantities, or within cells."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._data.rows import TINY
from paribus._states.sums import LARGE, between, enlarged, fitting, ignore_fp_errors


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


@dataclass(frozen=True, eq=False)
class PairedMoments:
    r"""Moments of pairs :math:`(y_i, f_i)` of each output, by the weights of the rows.

    - ``mean`` :math:`(\bar y, \bar f)`, shape ``(2, o)``
    - ``products`` :math:`\sum w_i (y_i - \bar y)^2`, :math:`\sum w_i (y_i - \bar y)(f_i - \bar f)` and
      :math:`\sum w_i (f_i - \bar f)^2`, shape ``(3, o)``
    """

    weight: float
    mean: Floats
    products: Floats

    @classmethod
    def of(cls, observed: Floats, predicted: Floats, weights: Floats | None) -> Self:
        """Collect pairs ``(i, o)`` of at least one row; every weight is positive."""
        counted = np.ones(len(observed)) if weights is None else weights
        pairs = np.stack([observed, predicted])
        with ignore_fp_errors():
            total = counted.sum()
            mean = (pairs * counted[:, None]).sum(axis=1) / total
            one, two = pairs - mean[:, None]
            products = [
                (left * right * counted[:, None]).sum(axis=0) for left, right in _products_of(one, two)
            ]
        return cls(float(total), mean, np.stack(products))

    def merge(self, other: Self) -> Self:
        """Return the moments of both sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight
        with ignore_fp_errors():
            one, two = other.mean - self.mean
            apart = np.stack([left * right for left, right in _products_of(one, two)]) * (self.weight * share)
            return type(self)(
                weight, between(self.mean, other.mean, share), self.products + other.products + apart
            )


def _products_of(one: Floats, two: Floats) -> tuple[tuple[Floats, Floats], ...]:
    return (one, one), (one, two), (two, two)


@dataclass(frozen=True, eq=False)
class CellMoments:
    r"""Moments of some quantities of the rows in each cell, such as a bin of a feature.

    What `Moments` holds of all rows at each point, this holds of the rows of each cell: ``weight`` :math:`W_c
    = \sum w_i` and ``weight_sq`` :math:`V_c = \sum w_i^2` of shape ``(c,)``; ``mean``, ``mean_sq`` and
    ``sum_of_squares`` of shape ``(q, c)``, the last in squares of ``value_scale``. A cell without rows has
    zeros.
    """

    rows: Integers
    weight: Floats
    weight_sq: Floats
    mean: Floats
    mean_sq: Floats
    sum_of_squares: Floats
    value_scale: Floats | float = 1.0

    @classmethod
    def of(cls, values: Floats, cells: Integers, weights: Floats | None, count: int) -> Self:
        """Collect values ``(q, i)`` of rows in the cells ``(i,)``; every weight is positive."""
        with ignore_fp_errors():
            result = cls._of(values, cells, weights, count)
            finite = np.isfinite(result.sum_of_squares)
            if finite.all():
                return result
            large = cls._of(values / LARGE, cells, weights, count)
        mean = np.where(finite, result.mean, enlarged(large.mean))
        mean_sq = mean if weights is None else np.where(finite, result.mean_sq, enlarged(large.mean_sq))
        spread, unit = (
            np.where(finite, result.sum_of_squares, large.sum_of_squares),
            np.where(finite, 1.0, LARGE),
        )
        return replace(result, mean=mean, mean_sq=mean_sq, sum_of_squares=spread, value_scale=unit)

    @classmethod
    def _of(cls, values: Floats, cells: Integers, weights: Floats | None, count: int) -> Self:
        rows = np.bincount(cells, minlength=count).astype(np.int64)
        if weights is None:
            weight = rows.astype(np.float64)
            mean = _means(values, cells, None, weight)
            return cls(rows, weight, weight, mean, mean, _spread(values, cells, None, mean))
        squares = np.maximum(weights**2, TINY)
        weight, weight_sq = _sums(np.stack([weights, squares]), cells, count)
        mean = _means(values, cells, weights, weight)
        mean_sq = _means(values, cells, squares, weight_sq)
        return cls(rows, weight, weight_sq, mean, mean_sq, _spread(values, cells, squares, mean_sq))

    def merge(self, other: Self) -> Self:
        """Return the moments of both sets of rows."""
        weight, weight_sq = self.weight + other.weight, self.weight_sq + other.weight_sq
        share, share_sq = _ratio(other.weight, weight), _ratio(other.weight_sq, weight_sq)
        unweighted = self.mean is self.mean_sq and other.mean is other.mean_sq

        def squares(unit: Floats | float) -> Floats:
            gap = other.mean_sq / unit - self.mean_sq / unit
            # Of a cell that one side has no rows of, the gap counts nothing, whatever it is.
            apart = np.where(share_sq * (1 - share_sq) > 0, gap**2 * (self.weight_sq * share_sq), 0.0)
            return self._spread(unit) + other._spread(unit) + apart

        mean = _between(self.mean, other.mean, share)
        mean_sq = mean if unweighted else _between(self.mean_sq, other.mean_sq, share_sq)
        spread, unit = fitting(squares, np.maximum(self.value_scale, other.value_scale))
        return type(self)(self.rows + other.rows, weight, weight_sq, mean, mean_sq, spread, unit)

    def _spread(self, unit: Floats | float) -> Floats:
        return np.asarray(self.sum_of_squares * (self.value_scale / unit) ** 2)

    def joined(self, cells: Integers, count: int) -> Self:
        """Return the moments of ``count`` other cells, where ``cells (c,)`` says in which one each lies."""
        weight, weight_sq = _sums(np.stack([self.weight, self.weight_sq]), cells, count)
        share, share_sq = _ratio(self.weight, weight[cells]), _ratio(self.weight_sq, weight_sq[cells])
        with ignore_fp_errors():
            mean = _sums(self.mean * share, cells, count)
            unweighted = self.mean is self.mean_sq
            mean_sq = mean if unweighted else _sums(self.mean_sq * share_sq, cells, count)

            def squares(unit: Floats | float) -> Floats:
                own = unit if np.ndim(unit) == 0 else np.asarray(unit)[:, cells]
                apart = (self.mean_sq / own - mean_sq[:, cells] / own) ** 2 * self.weight_sq
                return _sums(self._spread(own) + apart, cells, count)

            units: Floats | float = 1.0
            if np.ndim(self.value_scale) > 0:  # of each cell the largest: small squares vanish in large units
                units = np.ones_like(mean)
                for largest, own in zip(
                    units, np.broadcast_to(self.value_scale, self.mean.shape), strict=True
                ):
                    np.maximum.at(largest, cells, own)
            spread, unit = fitting(squares, units)
        rows = np.bincount(cells, self.rows, minlength=count).astype(np.int64)
        return type(self)(rows, weight, weight_sq, mean, mean_sq, spread, unit)

    def within(self, unit: float) -> Self:
        """Return the moments of the same quantities in units of ``unit``."""
        with ignore_fp_errors():
            mean = self.mean / unit
            mean_sq = mean if self.mean is self.mean_sq else self.mean_sq / unit
            return replace(
                self, mean=mean, mean_sq=mean_sq, sum_of_squares=self._spread(unit), value_scale=1.0
            )

    def standard_error(self) -> Floats:
        """Return the sampling error of ``mean``, shape ``(q, c)``; NaN in cells of a single row."""
        with ignore_fp_errors():
            plain = np.sqrt(self.within(1.0).variance())
            return np.where(np.isinf(plain), enlarged(np.sqrt(self.within(LARGE).variance())), plain)

    def variance(self) -> Floats:
        r"""Return the squared sampling error of ``mean``, shape ``(q, c)``, where ``unit`` is 1.

        .. math:: SE^2 = \frac{n_c}{n_c - 1} \frac{\sum w_i^2 (f_i - m_c)^2}{W_c^2}
        """
        few = self.rows < 2
        factor = np.where(few, np.nan, self.rows / np.where(few, 1, self.rows - 1))
        with ignore_fp_errors():
            about_mean = self.sum_of_squares + self.weight_sq * (self.mean_sq - self.mean) ** 2
            return np.asarray(about_mean * factor * _ratio(1.0, self.weight**2))


def _means(values: Floats, cells: Integers, weights: Floats | None, total: Floats) -> Floats:
    return _sums(values if weights is None else values * weights, cells, len(total)) * _ratio(1.0, total)


def _spread(values: Floats, cells: Integers, squares: Floats | None, mean: Floats) -> Floats:
    centered = (values - mean[:, cells]) ** 2
    return _sums(centered if squares is None else centered * squares, cells, mean.shape[1])


def _sums(values: Floats, cells: Integers, count: int) -> Floats:
    sums = np.zeros((len(values), count))
    for position, one in enumerate(values):
        sums[position] = np.bincount(cells, one, minlength=count)
    return sums


def _between(one: Floats, other: Floats, share: Floats) -> Floats:
    """Return the mean of both; where only one has rows it stays as it is, whatever is beside it."""
    return np.where(share == 0, one, np.where(share == 1, other, between(one, other, share)))


def _ratio(one: Floats | float, other: Floats) -> Floats:
    return np.divide(one, other, out=np.zeros_like(other), where=other > 0)
