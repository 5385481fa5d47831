"""Accumulated local effects of one feature, or of two together."""

from __future__ import annotations

from typing import Any

from paribus._contracts import Array, Flags, Floats, Integers, Kind
from paribus.notes import Note
from paribus.results.contrasts import Contrast, check_covariance, contrast, slope
from paribus.results.curve_parts import AtMissing, ModelSpread
from paribus.results.mixins import Result
from paribus.results.provenance import Provenance
from paribus.results.refits import RefitMixin
from paribus.results.schema import array, labels, nested, record


@record
class AccumulatedLocalEffect(Result, RefitMixin):
    """Accumulated local effects (ALE) of one feature, or of two together.

    Fields are available as attributes and as keys; optional keys are absent if they were not requested.

    Attributes
    ----------
    grid_values : tuple of ndarray
        The values of each axis, ``g0, g1``: edges of bins, which are observed values; or categories in order.
    ale : ndarray of shape (n_outputs, g0) or (n_outputs, g0, g1)
        The effect at these values, with mean zero over the data; for two features without the effects of
        each. For a list of models, the mean of theirs.
    standard_error : ndarray of the shape of ``ale``
        Sampling error, conditional on the bins. For a list of models the mean of theirs, an upper bound.
    local : ndarray of shape (n_outputs, g0 - 1) or (n_outputs, g0 - 1, g1 - 1)
        Average change from one value to the next, over the rows in between (for categories, at either value).
        NaN without rows.
    local_error : ndarray of the shape of ``local``
        Its sampling error.
    support : ndarray
        Weight of the data in each bin ``(g0 - 1,)`` or at each category ``(g0,)``; of two features in each
        cell.
    rows : ndarray of the shape of ``support``
        Number of rows there.
    empty : ndarray of bool of shape (g0 - 1,) or (g0 - 1, g1 - 1)
        Bins or cells without rows, filled with the nearest change in proportion to the distance.
    missing : AtMissing or None
        The effect at a missing value, for a single feature with missing values.
    by_model : ModelSpread or None
        The effect by model and the standard deviation between models, for a list of models.
    covariance : ndarray of shape (n_outputs, g0, g0) or None
        Sampling covariance of the values, for standard errors of differences; see `contrast`. None for two
        features, and for very many values.
    share_covariance : ndarray of shape (g0, g0) or None
        With ``units``, the sampling covariance of the shares of the data near the values.
    order : tuple of str
        How the categories of each axis were put in order; empty for numbers.
    strength : float
        Standard deviation of the effect over the data, in units of the prediction; root mean square over
        outputs.
    feature_names, output_names : tuple of str
        Names of the axes and of the outputs.
    kinds : tuple of str
        ``numeric``, ``integer``, ``boolean``, ``category``, ``string`` or ``datetime``, per axis.
    provenance : Provenance
        How the result was computed.
    notes : tuple of Note
        Caveats as plain sentences: extrapolation, missing values, near-constant features, skipped files.

    Notes
    -----
    The table of `to_frame` has a row per output and value: columns ``output``, the features, ``ale``,
    ``standard_error``, and for one feature ``local`` (the change that leads there), ``local_error`` and
    ``support`` (the weight of the rows that show it; for a category, its weight); of several models
    ``between_models``, the standard deviation between them. The effect at a missing value is the row with a
    null feature.
    """

    stored = "accumulated_local_effect"

    feature_names: tuple[str, ...] = labels("feature")
    output_names: tuple[str, ...] = labels("output")
    kinds: tuple[Kind, ...] = array("feature")
    grid_values: tuple[Array, ...] = array("feature")
    ale: Floats = array("output", "grid")
    standard_error: Floats = array("output", "grid")
    local: Floats = array("output", "step", column="local")
    local_error: Floats = array("output", "step", column="local_error")
    support: Floats = array("cell", column="support")
    rows: Integers = array("cell")
    empty: Flags = array("step")
    missing: AtMissing | None = nested()
    order: tuple[str, ...] = array("feature")
    strength: float
    notes: tuple[Note, ...]
    provenance: Provenance
    by_model: ModelSpread | None = nested(optional=True, default=None)
    covariance: Floats | None = array("output", "point", "other_point", optional=True, default=None)
    share_covariance: Floats | None = array("share", "other_share", optional=True, default=None)

    def _check(self) -> None:
        check_covariance(self)
        super()._check()

    def contrast(self, start: Any, stop: Any) -> Contrast:
        r"""Return the accumulated change of the prediction from one value of the feature to another.

        .. math:: \Delta = ALE(b) - ALE(a)

        with :math:`a` = ``start`` and :math:`b` = ``stop``: the sum of the average changes in the bins
        between. The changes in different bins are those of different rows, so that their variances add.

        Parameters
        ----------
        start, stop : value
            Values of ``grid_values``, which are edges of bins or categories; None is a missing value.

        Returns
        -------
        Contrast
            With ``estimate``, ``standard_error`` and ``interval(level)``, each for every output.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [0.5, 2.0], [1.0, 3.0], [1.5, 5.0], [2.0, 6.0]])
        >>> effect = paribus.accumulated_local_effects(lambda X: X[:, 0] * X[:, 1], X, 0)["x0"]
        >>> start, stop = effect.grid_values[0][[0, -1]]
        >>> bool(effect.contrast(start, stop).estimate[0] == effect.ale[0, -1] - effect.ale[0, 0])
        True
        """
        return contrast(self, start, stop)

    def slope(self) -> Contrast:
        r"""Return the average change per unit of a numeric feature, or per day, weighted by the data.

        .. math:: \frac{\sum_k s_k L_k / (x_{k+1} - x_k)}{\sum_k s_k}

        with the average change :math:`L_k` (``local``) and the ``support`` :math:`s_k` of each bin. Every row
        counts with the change in its own bin. Bins without rows, and missing values, do not count.

        Returns
        -------
        Contrast
            With ``estimate``, ``standard_error`` and ``interval(level)``, each for every output.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> effect = paribus.accumulated_local_effects(lambda X: 3 * X[:, 0] + X[:, 1], X, 0)["x0"]
        >>> effect.slope().estimate.round(6)
        array([3.])
        """
        return slope(self)
