r"""How much a statistic depends on which rows were seen: its standard error.

A statistic :math:`\theta = \langle G^2 \rangle` is a mean over rows of a centered function that is itself
made of means over the same rows, :math:`G = \sum_S c_S F_S`. If row z counted a little more, it would change
by

.. math:: \psi(z) = G(z)^2 - \theta + 2 \left( B(z) - \bar B \right), \quad
          B(z) = \sum_S c_S \langle G(x) f(x_S, z_{\bar S}) \rangle_x

once as a row the function is evaluated at, and once as a row the effects are averaged over. The variance of
:math:`\theta` over samples of n rows is that of :math:`\psi` divided by n (the infinitesimal jackknife), and
that of a ratio follows from :math:`\psi` of both parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._data.sampling import Sample
from paribus._evaluators.interactions.interaction_statistics import Ratio


@dataclass(frozen=True, eq=False)
class InfluenceSample:
    """The rows whose influence gives the errors: ``share (i,)`` of a mean, ``square (i,)`` of a variance.

    ``rows`` is how many rows they stand for.
    """

    share: Floats
    square: Floats
    rows: int

    @classmethod
    def of(cls, sample: Sample, total: float, rows: int) -> InfluenceSample:
        """Weigh a sample of ``rows`` rows such that means and variances over it estimate those over all."""
        # A row stands for squares / w^2 rows like it, each of which counts w in a mean.
        counted = sample.squares if sample.weights is None else sample.squares / sample.weights
        return cls(counted / counted.sum(), sample.squares / total**2, rows)

    def centered(self, functions: Floats) -> Floats:
        """Return functions ``(..., i)`` minus their means."""
        return functions - (functions @ self.share)[..., None]

    def error(self, influence: Floats) -> Floats:
        """Return the standard error of statistics from their influence ``(..., i)``; NaN of a single row."""
        if self.rows < 2:
            return np.full(influence.shape[:-1], np.nan)
        variance = self.centered(influence) ** 2 @ self.square
        return np.asarray(np.sqrt(variance * (self.rows / (self.rows - 1))))

    def ratio(
        self,
        numerator: Floats,
        denominator: Floats,
        numerator_influence: Floats,
        influence: Floats,
        zero: Floats,
    ) -> Ratio:
        """Return mean squares ``(k, o)`` with their errors; influence is ``(k, o, i)``.

        A numerator that is not above ``zero (o,)`` is set to zero, for certain if there is more than one row.
        """
        numerator, denominator = (
            np.where(np.isfinite(squares), squares, np.nan) for squares in (numerator, denominator)
        )
        nothing = (numerator <= zero) & np.isfinite(zero)
        numerator = np.where(nothing, 0.0, numerator)
        denominator = np.where((denominator <= zero) & np.isfinite(zero), 0.0, denominator)
        safe = np.where(denominator > 0, denominator, np.nan)
        share = numerator / safe
        change = (numerator_influence - share[..., None] * influence) / safe[..., None]
        error, ratio_error = self.error(numerator_influence), self.error(change)
        ratio_error = np.where(denominator > 0, ratio_error, np.nan)
        certain = 0.0 if self.rows > 1 else np.nan
        return Ratio(
            numerator, denominator, np.where(nothing, certain, error), np.where(nothing, certain, ratio_error)
        )

    def none(self, denominator: Floats, zero: Floats) -> Ratio:
        """Return numerators that are zero by construction, for certain if there is more than one row."""
        denominator = np.where(np.isfinite(denominator), denominator, np.nan)
        denominator = np.where((denominator <= zero) & np.isfinite(zero), 0.0, denominator)
        certain = np.full(denominator.shape, 0.0 if self.rows > 1 else np.nan)
        unknown = np.where((denominator > 0) | np.isfinite(zero), certain, np.nan)
        return Ratio(np.zeros(denominator.shape), denominator, certain, unknown)


@dataclass(frozen=True, eq=False)
class FeatureCurves:
    """The curves of the witnesses over one feature, ``(o, g, i)``, and at which point each witness lies."""

    curves: Floats
    point: Integers

    def as_rest(self, functions: Floats) -> Floats:
        r"""Return :math:`\sum_x g(x) f(x_j, z_{\bar j})` for functions ``(..., o, i)`` at every witness z."""
        outputs, points, rows = self.curves.shape
        flat = functions.reshape(-1, outputs, rows)
        placed = np.zeros((outputs, len(flat), points))
        for o in range(outputs):
            for number, one in enumerate(flat[:, o]):
                placed[o, number] = np.bincount(self.point, one, minlength=points)
        return (placed @ self.curves).swapaxes(0, 1).reshape(functions.shape)

    def as_value(self, functions: Floats) -> Floats:
        r"""Return :math:`\sum_x g(x) f(z_j, x_{\bar j})` for functions ``(..., o, i)`` at every witness z."""
        found = self.curves @ functions[..., None]
        return np.asarray(found[..., self.point, 0])
