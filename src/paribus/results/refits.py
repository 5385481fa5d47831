"""Uncertainty over refitted models: intervals, and the correction for refits that share data."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from numbers import Real
from statistics import NormalDist
from typing import Any, TypeVar

import numpy as np

from paribus._contracts import Floats
from paribus.errors import OptionError
from paribus.results.curve_parts import ModelSpread

LEVEL = 0.95  # of the interval in plots
NODES, STEPS = 48, 60  # of the integral of Student's density, and of Newton's method
MANY = 1e4  # degrees of freedom from which the first terms of an expansion about the normal quantile suffice
R = TypeVar("R", bound="CorrectionMixin")


class CorrectionMixin:
    """Results of a list of models, in which refits may share data."""

    def with_correction(self: R, correction: float) -> R:
        r"""Return the same result for refits that share data in a known way.

        Refits that share data differ less than independent ones. The variance of their mean is
        :math:`(1/m + c) s^2` with the variance :math:`s^2` between m models and a correction c. If any two
        have a correlation of :math:`\rho`, it is :math:`c = \rho / (1 - \rho)`. For fits that depend smoothly
        on their rows :math:`\rho` is the share of rows in common:

        ==================================  ==========================================================
        how models were fitted              c
        ==================================  ==========================================================
        independent samples                 0
        bootstrap samples of one sample     1
        random splits of one sample         rows of training / rows left out (delete-d jackknife)
        K folds of a cross-validation       K - 2, as two fits share (K - 2) / (K - 1) of their rows
        ==================================  ==========================================================

        Without a call of this method c is m - 2, as for m folds. Nadeau and Bengio's c, rows of test / rows
        of training, is for errors that are measured on the rows left out. It is too small for
        curves that are averaged over common rows. Refits that differ by their seed only have all rows in
        common: no correction shows how another sample would change them.

        Parameters
        ----------
        correction : float
            The number c, which is not negative.

        Returns
        -------
        The same type, with the same curves; `refit_interval`, plots and `paribus.Explanation.compare` use c.

        Notes
        -----
        For the correction see C. Nadeau and Y. Bengio, "Inference for the Generalization Error", Machine
        Learning 52 (2003), and C. Molnar et al., "Relating the Partial Dependence Plot and Permutation
        Feature Importance to the Data Generating Process", xAI 2023.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
        >>> models = [lambda X, b=b: b * X[:, 0] for b in (1.0, 1.1, 1.3)]
        >>> effect = paribus.partial_dependence(models, X, 0)
        >>> effect.by_model.standard_error.round(3)
        array([[0.   , 0.176, 0.353]])
        >>> effect.with_correction(0).by_model.standard_error.round(3)
        array([[0.   , 0.088, 0.176]])
        """
        if not isinstance(correction, Real) or not 0 <= correction < math.inf:
            raise OptionError(f"correction={correction!r} must be a number that is not negative")
        found = _corrected(self, float(correction))
        if found is self:
            raise OptionError("with_correction() needs several models; pass a list of refitted models")
        return found


class RefitMixin(CorrectionMixin):
    """Curves and surfaces of a list of models."""

    def refit_interval(self: Any, level: float = LEVEL, *, at_missing: bool = False) -> tuple[Floats, Floats]:
        r"""Return an interval for the effect over rows and refits, at each point.

        With the effect :math:`\bar E` of m models, its standard error :math:`r` over rows and the variance
        :math:`s^2` between models,

        .. math:: \bar E \pm t_{\nu} \sqrt{V}, \qquad V = r^2 + (1/m + c) s^2, \qquad
            \nu = (m - 1) \left(\frac{V}{(1/m + c) s^2}\right)^2

        where :math:`t_\nu` is a quantile of Student's distribution and c the correction for refits that share
        data, see `with_correction`. All models are averaged over the same rows, so that the error of these
        rows is common to all models and not part of :math:`s^2`: both terms are needed, and none counts
        twice. The interval is for the effect of the average model that this learner fits. It includes neither
        the bias of the learner nor that of extrapolation.

        Parameters
        ----------
        level : float
            Confidence level, between 0 and 1.
        at_missing : bool
            Whether to return the interval at a missing value instead.

        Returns
        -------
        low, high : ndarray of the shape of the effect, or of shape (n_outputs,) at a missing value
            NaN for a list of a single model. Where the effect has no standard error, as relative to a point,
            the interval is over refits only.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> models = [lambda X, b=b: b * X[:, 0] + X[:, 1] for b in (1.0, 1.1, 1.3)]
        >>> effect = paribus.partial_dependence(models, X, 0, custom_values={0: [0.0, 2.0]})
        >>> low, high = effect.refit_interval()
        >>> (high - low).round(2)
        array([[0.37, 2.78]])
        """
        spread: ModelSpread | None = self.by_model
        if spread is None:
            raise OptionError("refit_interval() needs several models; pass a list of refitted models")
        if not isinstance(level, Real) or not 0 < level < 1:
            raise OptionError(f"level={level!r} must be between 0 and 1")
        source = self.missing if at_missing else self
        if source is None:
            raise OptionError(f"{self.feature_names[0]} has no effect at a missing value; omit at_missing")
        middle = getattr(source, "average", None)
        middle = source.ale if middle is None else middle
        deviation = spread.missing_deviation if at_missing else spread.standard_deviation
        assert deviation is not None
        width = half_width(source.standard_error, spread.error_factor * deviation, len(spread.models), level)
        return middle - width, middle + width


def half_width(rows: Floats | None, refits: Floats, models: int, level: float) -> Floats:
    """Return half the width of an interval, from the standard errors over rows and over refits."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = refits if rows is None else np.hypot(rows, refits)
        freedom = (models - 1) * (error / refits) ** 4
        return np.asarray(error * student_quantile(level, freedom))


def student_quantile(level: float, freedom: Any) -> Floats:
    r"""Return t with :math:`P(|T| \le t)` equal to a level, for degrees of freedom of any shape.

    With :math:`T = \sqrt \nu \tan \Theta` the density of the angle is proportional to :math:`\cos^{\nu - 1}`.
    It decreases, so that Newton's steps from below the quantile do not pass it.

    >>> student_quantile(0.95, [1, 4.0, np.inf]).round(2).tolist()
    [12.71, 2.78, 1.96]
    """
    degrees = np.nan_to_num(np.asarray(freedom, dtype=np.float64), nan=np.inf, posinf=np.inf)
    z = NormalDist().inv_cdf((1 + level) / 2)
    found = np.asarray(z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2))
    nu = degrees[degrees < MANY]
    whole = np.array([math.exp(math.lgamma(one / 2) - math.lgamma((one + 1) / 2)) for one in nu])
    whole *= math.sqrt(math.pi) / 2
    angle = level * whole
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    for _ in range(STEPS):
        below = angle / 2 * (weights @ np.cos(np.outer((nodes + 1) / 2, angle)) ** (nu - 1))
        step = (level * whole - below) / np.cos(angle) ** (nu - 1)
        angle += step
        if (np.abs(step) <= 1e-14 * angle).all():
            break
    found[degrees < MANY] = np.sqrt(nu) * np.tan(angle)
    return found


def _corrected(part: Any, correction: float) -> Any:
    """Return a part of a result with the correction; the part itself where it has no list of models."""
    if isinstance(part, ModelSpread):
        return replace(part, correction=correction)
    if isinstance(part, tuple) and any(isinstance(one, CorrectionMixin) for one in part):
        found = tuple(_corrected(one, correction) for one in part)
        return part if all(one is other for one, other in zip(found, part, strict=True)) else found
    if not isinstance(part, CorrectionMixin):
        return part
    record: Any = part
    own = {field.name: getattr(part, field.name) for field in fields(record)}
    changed = {
        name: new for name, value in own.items() if (new := _corrected(value, correction)) is not value
    }
    return replace(record, **changed) if changed else part
