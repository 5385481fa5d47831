"""Weighted moments of rows: at points, over all rows, and within cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._data.samples import TINY, UNIT_PARTS, means_of_units
from paribus._states.sums import between, ignore_fp_errors


@dataclass(frozen=True, eq=False)
class Moments:
    r"""Weighted moments of the predictions at each point, over the rows seen so far.

    With weights :math:`w_i` and predictions :math:`f_i` (per output and point):

    - ``mean`` :math:`m = \sum w_i f_i / W`, shape ``(o, g)``, with ``weight`` :math:`W = \sum w_i`
    - ``mean_sq`` :math:`m' = \sum w_i^2 f_i / V`, with ``weight_sq`` :math:`V = \sum w_i^2`
    - ``sum_of_squares`` :math:`Q = \sum w_i^2 (f_i - m')^2`

    ``mean_sq`` and ``sum_of_squares`` give the sampling error of a *weighted* mean: see `standard_error`.
    Without weights ``mean_sq`` is the same array as ``mean``.
    """

    rows: int
    weight: float
    weight_sq: float
    mean: Floats
    mean_sq: Floats
    sum_of_squares: Floats

    @classmethod
    @ignore_fp_errors()
    def of(cls, predictions: Floats, weights: Floats | None) -> Self:
        """Return the moments of predictions ``(o, g, i)`` of at least one row, with positive weights."""
        rows = predictions.shape[-1]
        if weights is None:
            mean = predictions.mean(axis=-1)
            spread = ((predictions - mean[..., None]) ** 2).sum(axis=-1)
            return cls(rows, float(rows), float(rows), mean, mean, spread)
        # Weights are below 2; squares of very small weights must not underflow to zero.
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
        mean = between(self.mean, other.mean, share)
        mean_sq = mean if unweighted else between(self.mean_sq, other.mean_sq, share_sq)
        with ignore_fp_errors():
            apart = (other.mean_sq - self.mean_sq) ** 2 * (self.weight_sq * share_sq)
            spread = self.sum_of_squares + other.sum_of_squares + apart
        return type(self)(self.rows + other.rows, weight, weight_sq, mean, mean_sq, spread)

    def beside(self, other: Self) -> Self:
        """Return the moments of the same rows at the points of both, first those of ``self``."""
        mean = np.concatenate([self.mean, other.mean], axis=1)
        unweighted = self.mean is self.mean_sq and other.mean is other.mean_sq
        mean_sq = mean if unweighted else np.concatenate([self.mean_sq, other.mean_sq], axis=1)
        spread = np.concatenate([self.sum_of_squares, other.sum_of_squares], axis=1)
        return type(self)(self.rows, self.weight, self.weight_sq, mean, mean_sq, spread)

    def standard_error(self) -> Floats:
        r"""Return the sampling error of ``mean``, shape ``(o, g)``; NaN for a single row.

        .. math:: SE^2 = \frac{n}{n - 1} \frac{\sum w_i^2 (f_i - m)^2}{W^2}

        This is the linearized variance of a ratio estimator. Weights and predictions may be dependent. The
        scale of the weights has no effect, and equal weights give the usual :math:`s / \sqrt{n}`.
        """
        if self.rows < 2:
            return np.full_like(self.mean, np.nan)
        with ignore_fp_errors():
            about_mean = self.sum_of_squares + self.weight_sq * (self.mean_sq - self.mean) ** 2
            return np.asarray(np.sqrt(about_mean * (self.rows / (self.rows - 1))) / self.weight)


@dataclass(frozen=True, eq=False)
class CurveProducts:
    r"""Products of the points of rows' curves, which give the covariance of the points of their average.

    With curves :math:`f_i` and :math:`s_i` the weight of a row's square, per output:

    - ``weight_sq`` :math:`V = \sum s_i`
    - ``mean`` :math:`m_g = \sum s_i d_{ig} / V`, with :math:`d_{ig} = f_{ig} - l_i`, shape ``(o, g)``
    - ``products`` :math:`\sum s_i (d_{ig} - m_g)(d_{ih} - m_h)`, shape ``(o, g, g)``

    The level :math:`l_i` is the average of a row's curve. It has no effect on differences between points, and
    is subtracted for precision.
    """

    weight_sq: float
    mean: Floats
    products: Floats

    @classmethod
    def of(cls, curves: Floats, squares: Floats, multiply: Callable[[Floats], Floats]) -> Self:
        """Return the products of curves ``(o, g, i)`` of at least one row with ``squares (i,)``.

        ``multiply`` is the kernel `multiply`, compiled or not.
        """
        with ignore_fp_errors():
            level = curves.sum(axis=1, keepdims=True) / max(1, curves.shape[1])
            if not np.isfinite(level).all():
                finite = np.isfinite(curves).all(axis=2, keepdims=True)
                level = np.where(finite, curves, 0.0).sum(axis=1, keepdims=True)
                level /= np.maximum(1, finite.sum(axis=1, keepdims=True))
            relative = np.subtract(curves, level, order="C")
            total = float(squares.sum())
            mean = np.einsum("ogi,i->og", relative, squares / total)
            relative -= mean[..., None]
            if not (squares == 1.0).all():
                relative *= np.sqrt(squares)
            return cls(total, mean, multiply(relative))

    def merge(self, other: Self) -> Self:
        """Return the products of both sets of rows."""
        total = self.weight_sq + other.weight_sq
        share = other.weight_sq / total
        with ignore_fp_errors():
            gap = other.mean - self.mean
            apart = gap[..., :, None] * gap[..., None, :] * (self.weight_sq * share)
            mean = between(self.mean, other.mean, share)
            return type(self)(total, mean, self.products + other.products + apart)

    def covariance(self, average: Floats, rows: int, total: float) -> Floats:
        r"""Return the covariance ``(o, g, g)`` of the points of an average ``(o, g)`` over ``rows`` rows.

        .. math:: C_{gh} = \frac{n}{(n - 1) W^2} \sum_i s_i (d_{ig} - \bar d_g)(d_{ih} - \bar d_h)

        with :math:`\bar d` the average relative to its own level, and ``total`` the weight :math:`W` of the
        rows. It is the covariance of differences between points only. NaN for a single row.
        """
        if rows < 2:
            return np.full_like(self.products, np.nan)
        with ignore_fp_errors():
            off = self.mean - average
            finite = np.isfinite(off)
            off -= np.where(finite, off, 0.0).sum(axis=1, keepdims=True) / np.maximum(
                1, finite.sum(axis=1, keepdims=True)
            )
            about = self.products + self.weight_sq * off[..., :, None] * off[..., None, :]
            return np.asarray(about * (rows / (rows - 1) / total**2))


@dataclass(frozen=True, eq=False)
class UnitSums:
    r"""Sums over the rows of each unit of dependent rows.

    ``units (u,)`` are sorted. With values :math:`v_i` and factors :math:`a_i` of rows, ``weight (u,)`` is
    :math:`\sum a_i`, and ``sums (..., u)`` is :math:`\sum a_i v_i`.
    """

    units: Integers
    weight: Floats
    sums: Floats

    @classmethod
    def of(cls, values: Floats, factors: Floats, units: Integers) -> Self:
        """Return the sums of values ``(..., i)`` of at least one row."""
        keys, positions = np.unique(units, return_inverse=True)
        with ignore_fp_errors():
            means, weight = means_of_units(values, factors, positions)
            return cls(keys, weight, means * weight)

    def merge(self, other: Self) -> Self:
        """Return the sums of both sets of rows."""
        units = np.union1d(self.units, other.units)
        weight, sums = np.zeros(len(units)), np.zeros((*self.sums.shape[:-1], len(units)))
        for part in (self, other):
            places = np.searchsorted(units, part.units)
            weight[places] += part.weight
            sums[..., places] += part.sums
        return type(self)(units, weight, sums)

    @property
    def means(self) -> Floats:
        """Weighted mean ``(..., u)`` of each unit."""
        return np.asarray(self.sums / self.weight)


@dataclass(frozen=True, eq=False)
class Variances:
    r"""Weighted mean and variance of quantities :math:`x_i`.

    - ``mean`` :math:`\bar x`, shape ``(q,)``
    - ``squares`` :math:`\sum w_i (x_i - \bar x)^2`, shape ``(q,)``
    """

    weight: float
    mean: Floats
    squares: Floats

    @classmethod
    def of(cls, values: Floats, weights: Floats | None) -> Self:
        """Return the moments of values ``(i, q)`` of at least one row, with positive weights."""
        counted = (np.ones(len(values)) if weights is None else weights)[:, None]
        with ignore_fp_errors():
            mean = (values * counted).sum(axis=0) / counted.sum()
            squares = (np.square(values - mean) * counted).sum(axis=0)
        return cls(float(counted.sum()), mean, squares)

    @property
    def variance(self) -> Floats:
        """Weighted mean of the squared deviations, shape ``(q,)``."""
        with ignore_fp_errors():
            return self.squares / self.weight

    def merge(self, other: Self) -> Self:
        """Return the moments of both sets of rows."""
        weight = self.weight + other.weight
        share = other.weight / weight
        with ignore_fp_errors():
            apart = np.square(other.mean - self.mean) * (self.weight * share)
            mean = between(self.mean, other.mean, share)
            return type(self)(weight, mean, self.squares + other.squares + apart)


@dataclass(frozen=True, eq=False)
class CellMoments:
    r"""Weighted moments of ``q`` quantities of the rows in each cell, such as a bin of a feature.

    The fields are those of `Moments`, for the rows of each cell instead of all rows. ``rows``, ``weight``
    :math:`W_c = \sum w_i` and ``weight_sq`` :math:`V_c = \sum w_i^2` have shape ``(c,)``. ``mean``,
    ``mean_sq`` and ``sum_of_squares`` have shape ``(q, c)``. A cell without rows has zeros.

    Units of dependent rows are in `UNIT_PARTS` parts. ``parts (q + 1, p, c)`` are the weighted
    sums of the quantities over the rows of each part, and the weights; None if rows are independent.
    """

    rows: Integers
    weight: Floats
    weight_sq: Floats
    mean: Floats
    mean_sq: Floats
    sum_of_squares: Floats
    parts: Floats | None = None

    @classmethod
    @ignore_fp_errors()
    def of(
        cls,
        values: Floats,
        cells: Integers,
        weights: Floats | None,
        count: int,
        parts: Integers | None = None,
    ) -> Self:
        """Return the moments of values ``(q, i)`` of rows in ``cells (i,)``, with positive weights.

        ``parts (i,)`` are those of their units, None if rows are independent.
        """
        if parts is not None:
            weight = np.ones((1, len(cells))) if weights is None else weights[None]
            terms, places = np.concatenate([values * weight, weight]), parts * count + cells
            sums = _cell_sums(terms, places, UNIT_PARTS * count)
            sums = sums.reshape(len(sums), UNIT_PARTS, count)
            return replace(cls.of(values, cells, weights, count), parts=sums)
        rows = np.bincount(cells, minlength=count).astype(np.int64)
        if weights is None:
            weight = rows.astype(np.float64)
            mean = _cell_means(values, cells, None, weight)
            return cls(rows, weight, weight, mean, mean, _cell_squares(values, cells, None, mean))
        squares = np.maximum(weights**2, TINY)
        weight, weight_sq = _cell_sums(np.stack([weights, squares]), cells, count)
        mean = _cell_means(values, cells, weights, weight)
        mean_sq = _cell_means(values, cells, squares, weight_sq)
        return cls(rows, weight, weight_sq, mean, mean_sq, _cell_squares(values, cells, squares, mean_sq))

    def merge(self, other: Self) -> Self:
        """Return the moments of both sets of rows."""
        weight, weight_sq = self.weight + other.weight, self.weight_sq + other.weight_sq
        share, share_sq = _ratio(other.weight, weight), _ratio(other.weight_sq, weight_sq)
        unweighted = self.mean is self.mean_sq and other.mean is other.mean_sq
        mean = _merged_cell_means(self.mean, other.mean, share)
        mean_sq = mean if unweighted else _merged_cell_means(self.mean_sq, other.mean_sq, share_sq)
        with ignore_fp_errors():
            gap = other.mean_sq - self.mean_sq
            # The gap has no effect in a cell where one side has no rows, even if it is not finite.
            apart = np.where(share_sq * (1 - share_sq) > 0, gap**2 * (self.weight_sq * share_sq), 0.0)
            spread = self.sum_of_squares + other.sum_of_squares + apart
        parts = None if self.parts is None or other.parts is None else self.parts + other.parts
        return type(self)(self.rows + other.rows, weight, weight_sq, mean, mean_sq, spread, parts)

    def joined(self, cells: Integers, count: int) -> Self:
        """Return the moments of ``count`` larger cells; ``cells (c,)`` maps each cell to a larger one."""
        weight, weight_sq = _cell_sums(np.stack([self.weight, self.weight_sq]), cells, count)
        share, share_sq = _ratio(self.weight, weight[cells]), _ratio(self.weight_sq, weight_sq[cells])
        with ignore_fp_errors():
            mean = _cell_sums(self.mean * share, cells, count)
            unweighted = self.mean is self.mean_sq
            mean_sq = mean if unweighted else _cell_sums(self.mean_sq * share_sq, cells, count)
            apart = (self.mean_sq - mean_sq[:, cells]) ** 2 * self.weight_sq
            spread = _cell_sums(self.sum_of_squares + apart, cells, count)
        rows = np.bincount(cells, self.rows, minlength=count).astype(np.int64)
        return type(self)(rows, weight, weight_sq, mean, mean_sq, spread)

    def standard_error(self) -> Floats:
        """Return the sampling error of ``mean``, shape ``(q, c)``; NaN in cells with fewer than two rows."""
        with ignore_fp_errors():
            return np.asarray(np.sqrt(self.variance()))

    def variance(self) -> Floats:
        r"""Return the squared sampling error of ``mean``, shape ``(q, c)``.

        .. math:: SE^2 = \frac{n_c}{n_c - 1} \frac{\sum w_i^2 (f_i - m_c)^2}{W_c^2}

        Of dependent rows, it is the sum of the squares of `influences`.
        """
        if self.parts is not None:
            squares = (self.influences() ** 2).sum(axis=1)
            return np.where(self.weight > 0, squares, np.nan)
        few = self.rows < 2
        factor = np.where(few, np.nan, self.rows / np.where(few, 1, self.rows - 1))
        with ignore_fp_errors():
            about_mean = self.sum_of_squares + self.weight_sq * (self.mean_sq - self.mean) ** 2
            return np.asarray(about_mean * factor * _ratio(1.0, self.weight**2))

    @property
    def independent(self) -> Integers:
        """Number of rows of each cell, or of parts with rows."""
        return self.rows if self.parts is None else (self.parts[-1] > 0).sum(axis=0)

    def influences(self) -> Floats:
        r"""Return the influence ``(q, p, c)`` of each part of the units on the mean of each cell.

        .. math:: \sqrt{\frac{p_c}{p_c - 1}} \sum_{i \in p} \frac{w_i (f_i - m_c)}{W_c}

        with :math:`p_c` the number of parts with rows in the cell; NaN where there is only one.
        """
        assert self.parts is not None
        several = self.independent
        factor = np.sqrt(
            np.divide(several, several - 1, out=np.full(len(several), np.nan), where=several > 1)
        )
        with ignore_fp_errors():
            apart = self.parts[:-1] - self.mean[:, None] * self.parts[-1]
            return np.where(self.weight > 0, apart * (factor * _ratio(1.0, self.weight)), 0.0)


def _cell_means(values: Floats, cells: Integers, weights: Floats | None, total: Floats) -> Floats:
    return _cell_sums(values if weights is None else values * weights, cells, len(total)) * _ratio(1.0, total)


def _cell_squares(values: Floats, cells: Integers, squares: Floats | None, mean: Floats) -> Floats:
    centered = (values - mean[:, cells]) ** 2
    return _cell_sums(centered if squares is None else centered * squares, cells, mean.shape[1])


def _cell_sums(values: Floats, cells: Integers, count: int) -> Floats:
    sums = np.zeros((len(values), count))
    for position, one in enumerate(values):
        sums[position] = np.bincount(cells, one, minlength=count)
    return sums


def _merged_cell_means(one: Floats, other: Floats, share: Floats) -> Floats:
    """Return the means of both sets of rows; where one has no rows, exactly the mean of the other."""
    return np.where(share == 0, one, np.where(share == 1, other, between(one, other, share)))


def _ratio(one: Floats | float, other: Floats) -> Floats:
    return np.divide(one, other, out=np.zeros_like(other), where=other > 0)


def squared_deviations(outputs: Floats, mean: Floats, squares: Floats) -> Floats:
    """Return the sum over rows of ``w^2 (f - m)^2`` for outputs ``(o, g, i)`` and squared weights."""
    # C order: the order of additions must not depend on the memory layout of the outputs.
    centered = np.subtract(outputs, mean[..., None], order="C")
    if not (squares == 1.0).all():
        centered *= np.sqrt(squares)
    return np.asarray(np.einsum("ogi,ogi->og", centered, centered))


def linearized_error(spread: Floats, rows: int, total: float) -> Floats:
    """Return the linearized standard error of a weighted mean, NaN if there is only one row."""
    if rows < 2:
        return np.full_like(spread, np.nan)
    return np.asarray(np.sqrt(spread * (rows / (rows - 1))) / total)
