"""Uncertainty over refitted models: intervals, with a correction for refits that share data."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._states.student import student_quantile
from paribus.errors import OptionError
from paribus.results.curve_parts import ModelSpread

LEVEL = 0.95  # of the interval in plots


class RefitMixin:
    """Curves and surfaces of a list of models."""

    def refit_interval(
        self: Any, level: float = LEVEL, *, correction: float | None = None, at_missing: bool = False
    ) -> tuple[Floats, Floats]:
        r"""Return an interval for the effect over rows and refits, at each point.

        With the effect :math:`\bar E` of m models, its standard error :math:`r` over rows and the variance
        :math:`s^2` between models,

        .. math:: \bar E \pm t_{\nu} \sqrt{V}, \qquad V = r^2 + (1/m + c) s^2, \qquad
            \nu = (m - 1) \left(\frac{V}{(1/m + c) s^2}\right)^2

        where :math:`t_\nu` is a quantile of Student's distribution and c the correction for refits that share
        data, which differ less than independent ones. If any two have a correlation of :math:`\rho`, it is
        :math:`c = \rho / (1 - \rho)`. For fits that depend smoothly on their rows :math:`\rho` is the share
        of rows in common:

        ==================================  ==========================================================
        how models were fitted              c
        ==================================  ==========================================================
        independent samples                 0
        bootstrap samples of one sample     1
        random splits of one sample         rows of training / rows left out (delete-d jackknife)
        K folds of a cross-validation       K - 2, as two fits share (K - 2) / (K - 1) of their rows
        ==================================  ==========================================================

        Nadeau and Bengio's c, rows of test / rows of training, is for errors that are measured on the rows
        left out [1]_. It is too small for curves that are averaged over common rows. Refits that differ by
        their seed only have all rows in common: no correction shows how another sample would change them.

        All models are averaged over the same rows, so that the error of these rows is common to all models
        and not part of :math:`s^2`: both terms are needed, and none counts twice. The interval is for the
        effect of the average model that this learner fits [2]_. It includes neither the bias of the learner
        nor that of extrapolation.

        Parameters
        ----------
        level : float
            Confidence level, between 0 and 1.
        correction : float, optional
            The number c, which is not negative; by default m - 2, as for m folds.
        at_missing : bool
            Whether to return the interval at a missing value instead.

        Returns
        -------
        low, high : ndarray of the shape of the effect, or of shape (n_outputs,) at a missing value
            NaN for a list of a single model. Where the effect has no standard error, as relative to a point,
            the interval is over refits only.

        References
        ----------
        .. [1] C. Nadeau and Y. Bengio, "Inference for the Generalization Error", Machine Learning 52 (2003).
        .. [2] C. Molnar et al., "Relating the Partial Dependence Plot and Permutation Feature Importance to
           the Data Generating Process", xAI 2023.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> models = [lambda X, b=b: b * X[:, 0] + X[:, 1] for b in (1.0, 1.1, 1.3)]
        >>> effect = paribus.partial_dependence(models, X, 0, custom_values={0: [0.0, 2.0]})
        >>> low, high = effect.refit_interval()
        >>> (high - low).round(2)
        array([[0.37, 2.78]])
        >>> low, high = effect.refit_interval(correction=0)  # of independent samples
        >>> (high - low).round(2)
        array([[0.37, 1.21]])
        """
        spread: ModelSpread | None = self.by_model
        if spread is None:
            raise OptionError("refit_interval() needs several models; pass a list of refitted models")
        if not isinstance(level, Real) or not 0 < level < 1:
            raise OptionError(f"level={level!r} must be between 0 and 1")
        if correction is not None and not (isinstance(correction, Real) and 0 <= correction < math.inf):
            raise OptionError(f"correction={correction!r} must be a number that is not negative")
        source = self.missing if at_missing else self
        if source is None:
            raise OptionError(f"{self.feature_names[0]} has no effect at a missing value; omit at_missing")
        middle = getattr(source, "average", None)
        middle = source.ale if middle is None else middle
        deviation = spread.missing_deviation if at_missing else spread.standard_deviation
        assert deviation is not None
        width = half_width(source.standard_error, deviation, len(spread.models), level, correction)
        return middle - width, middle + width


def half_width(
    rows: Floats | None, deviation: Floats, models: int, level: float, correction: float | None = None
) -> Floats:
    """Return half the width of an interval, from the error over rows and the deviation between models."""
    if models < 2:
        return np.full_like(deviation, np.nan)
    refits = np.sqrt(1 / models + (models - 2 if correction is None else correction)) * deviation
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = refits if rows is None else np.hypot(rows, refits)
        freedom = (models - 1) * (error / refits) ** 4
        return np.asarray(error * student_quantile(level, freedom))
