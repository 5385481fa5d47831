"""Partial dependence."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Integers, Kind
from paribus._typing import FrameBackend, StrengthBasis, TableKind
from paribus.errors import InputError, OptionError, check_choice
from paribus.notes import Note
from paribus.results.contrasts import Contrast, check_covariance, contrast, slope
from paribus.results.curve_parts import AtMissing, Extrapolation, IceQuantiles, ModelSpread
from paribus.results.curve_values import root_mean_square
from paribus.results.mixins import Result
from paribus.results.provenance import Provenance
from paribus.results.refits import RefitMixin
from paribus.results.schema import array, labels, nested, record
from paribus.results.tidy import LongTable, frame_of, table_of
from paribus.results.transforms import centered, derivative

CENTER = (0.05, 0.95)  # percentiles between which plots show a curve,
MOST = 0.9  # or the share of the rows in a range that they show if the percentiles coincide


def central_points(part: Any, support: Floats | None = None) -> slice:
    """Return the points of a curve between the 5th and the 95th percentile of the data, which plots show.

    ``support`` is the weight around the points, or in the bins between them, by default that of the curve.
    If the percentiles coincide, this is the shortest range of at least three points with 90 % of the rows.
    All points are shown if they have no order, were requested, or do not reach both extremes of the data.
    """
    (values,), support = part.grid_values, part.support if support is None else support
    every = slice(0, len(values))
    if part.kinds[0] in NOMINAL or len(values) <= 3 or not support.sum() > 0:
        return every
    deciles = getattr(part, "deciles", (None,))[0]  # bins have none
    part_of_data = deciles is not None and bool((values[[0, -1]] != deciles[[0, -1]]).any())
    if part.provenance.percentiles is not None or part_of_data:
        return every
    reached = np.cumsum(support)
    below = reached - support
    if len(support) < len(values):
        reached = below = np.append(0.0, reached)
    low, high = (share * reached[-1] for share in CENTER)
    first, last = int(np.argmax(reached >= low)), len(values) - 1 - int(np.argmax(below[::-1] <= high))
    if last - first < 2:
        starts = np.arange(len(values) - 2)
        stops = np.maximum(np.searchsorted(reached, below[starts] + MOST * reached[-1]), starts + 2)
        starts, stops = starts[stops < len(values)], stops[stops < len(values)]
        first = int(np.argmin(values[stops] - values[starts]))
        last = int(stops[first])
    return slice(first, last + 1)


@record
class PartialDependence(Result, RefitMixin):
    r"""Partial dependence and individual conditional expectation of one feature or several together.

    Fields are available as attributes and as keys; optional keys are absent if they were not requested.

    Attributes
    ----------
    grid_values : tuple of ndarray
        The values of each axis, ``g0, g1, ...``. Dates with a time zone are in UTC.
    average : ndarray of shape (n_outputs, g0, g1, ...) or None
        The partial dependence; for a list of models the mean over models.
    standard_error : ndarray of the shape of ``average`` or None
        Sampling error of the average, treating the rows as a random sample; NaN with a single row. For a list
        of models the mean of theirs, an upper bound.
    individual : ndarray of shape (n_outputs, n_rows, g0, g1, ...) or None
        Individual conditional expectation (ICE) of each row.
    quantiles : IceQuantiles or None
        Quantiles of the ICE curves over the rows, at each grid point.
    row_weights : ndarray of shape (n_rows,) or None
        Weights of the individual curves; None without weights or curves.
    row_units : ndarray of int of shape (n_rows,) or None
        The unit of each individual curve, as a number; None without ``units`` or curves.
    by_model : ModelSpread or None
        The curve of each model and the standard deviation between models, for a list of models.
    support : ndarray of shape (g0, g1, ...)
        Weight of the data around each grid point, without rows with a missing value.
    extrapolation : Extrapolation or None
        Share of the effect that combines values of two features that do not occur together.
    missing : AtMissing or None
        The effect at a missing value, for a single feature with missing values.
    deciles : tuple of ndarray or None
        For each axis the quantiles 0, 0.1, ..., 1 of the data; None for categorical features.
    ranks : ndarray of shape (2, g0) or None
        Share of all rows with a smaller value than each grid value, and with at most that value. None for
        several features, and for values without an order.
    strengths : ndarray of shape (n_outputs,)
        Standard deviation of the partial dependence over the rows, in units of the prediction, see Notes. It
        equals `feature_importance`.
    strength_from : {"rows", "points"}
        Whether the strengths are over the values of all rows, or over the points of the curve.
    covariance : ndarray of shape (n_outputs, g0, g0) or None
        Sampling covariance of the points relative to their average, for standard errors of differences; see
        `contrast`. None for several features, with individual curves, and for very many points.
    share_covariance : ndarray of shape (g0, g0) or None
        With ``units``, the sampling covariance of the shares of the data at the points. Without, it follows
        from the shares :math:`s` of n rows: :math:`(diag(s) - s s^T) / n`.
    feature_names, output_names : tuple of str
        Names of the axes and of the outputs.
    kinds : tuple of str
        ``numeric``, ``integer``, ``boolean``, ``category``, ``string`` or ``datetime``, per axis.
    ordered : tuple of bool
        Whether the values of an axis are ordered: numbers, dates, booleans, categories of an ordered column,
        and values of ``custom_values``.
    provenance : Provenance
        How the result was computed.
    notes : tuple of Note
        Caveats as plain sentences: extrapolation, missing values, near-constant features, skipped files.

    Notes
    -----
    Sums of trees and additive models give the partial dependence at every row's own value, and ``strengths``
    are exact. Of all other models, they follow from the points of the curve, with the weight of the rows
    around each, :math:`s_g`, and of those with a missing value:

    .. math:: \sqrt{\sum_g s_g (PD_g - \overline{PD})^2 / \sum_g s_g}, \qquad
        \overline{PD} = \sum_g s_g PD_g / \sum_g s_g

    The more points, the closer this is to the value over rows. It is NaN with ``custom_values`` or
    ``percentiles``, because the points then do not represent all rows.

    With a missing value, the last point of ``covariance`` is that of the missing value. For a list of models,
    it is the mean over models, and the variation between models is in ``by_model`` only.
    """

    stored = "partial_dependence"

    feature_names: tuple[str, ...] = labels("feature")
    output_names: tuple[str, ...] = labels("output")
    kinds: tuple[Kind, ...] = array("feature")
    ordered: tuple[bool, ...] = array("feature")
    grid_values: tuple[Array, ...] = array("feature")
    average: Floats | None = array("output", "grid", optional=True)
    standard_error: Floats | None = array("output", "grid", optional=True, filled=True)
    individual: Floats | None = array("output", "row", "grid", optional=True)
    support: Floats = array("grid", column="support")
    extrapolation: Extrapolation | None = nested()
    missing: AtMissing | None = nested()
    deciles: tuple[Array | None, ...] = array("feature")
    strengths: Floats = array("output")
    strength_from: StrengthBasis
    notes: tuple[Note, ...]
    provenance: Provenance
    quantiles: IceQuantiles | None = nested(optional=True, default=None)
    row_weights: Floats | None = array("row", optional=True, default=None)
    row_units: Integers | None = array("row", optional=True, default=None)
    by_model: ModelSpread | None = nested(optional=True, default=None)
    ranks: Floats | None = array(2, "grid", default=None)
    covariance: Floats | None = array("output", "point", "other_point", optional=True, default=None)
    share_covariance: Floats | None = array("share", "other_share", optional=True, default=None)

    def _check(self) -> None:
        if self.average is None and self.individual is None:
            raise InputError("there are neither averages nor curves; pass average or individual")
        if self.individual is None and self.row_weights is not None:
            raise InputError("row_weights are of curves, and there are none; pass individual, or no weights")
        check_covariance(self)
        super()._check()

    @property
    def strength(self) -> float:
        """Root mean square of ``strengths`` over outputs."""
        return root_mean_square(self.strengths)

    def to_frame(self, kind: TableKind | None = None, *, backend: FrameBackend | None = None) -> Any:
        """Return a tidy long table, in the library of the user's own table.

        Parameters
        ----------
        kind : {"average", "individual"}, optional
            One table row per output and grid point, or per output, row of the data and grid point. By default
            the average, if there is one.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Library of the returned table; by default that of ``X``.

        Notes
        -----
        Columns of averages are ``output``, the features, ``average``, ``standard_error``, ``support``, the
        quantiles ``q10``, ``q25``, ..., and for several models ``between_models``, their standard deviation.
        The effect at a missing value is the row with a null feature. Columns of individual curves are
        ``output``, ``row``, the features and ``prediction``.
        """
        if kind is None:
            kind = "average" if self.average is not None else "individual"
        check_choice("kind", kind, TableKind)
        if kind not in self:
            raise OptionError(f"kind={kind!r} was not computed; pass kind='both' to partial_dependence")
        return frame_of(self, self._tables() if kind == "average" else [self._curves()], backend)

    def _tables(self) -> list[LongTable]:
        if self.average is None:
            raise OptionError("kind='individual' has no averages; pass kind='both' to effects()")
        return super()._tables()

    def _curves(self) -> LongTable:
        """Return the table of the individual curves."""
        dims = ("output", "row", "grid")
        last = {} if self.missing is None else {"prediction": self.missing.individual}
        return table_of(self, {"prediction": self.individual}, last, dims)

    def centered(self, at: Any = None) -> PartialDependence:
        r"""Return the effect relative to its value at one point of the grid.

        .. math:: PD_S(x_S) - PD_S(a), \qquad f(x_S, x_{i,\bar S}) - f(a, x_{i,\bar S})

        Curves of rows that differ by a constant then coincide. With individual curves (``kind="both"``) the
        standard error and the quantiles are those of the differences; at :math:`a` they are zero. Without
        them only the average is returned: neither the standard error nor the quantiles of a difference can be
        derived from those of its two terms. The curve of each of several models is centered at its own value,
        so that the standard deviation between models is that of the differences. ``strength`` is unchanged.

        Parameters
        ----------
        at : value, or tuple of values, optional
            A value of ``grid_values``, one per axis. The first by default.

        Returns
        -------
        PartialDependence
            With the same shapes; ``provenance.scale`` and a note name the reference point.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
        >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0, kind="both")
        >>> effect.centered(at=1.0).individual[0]
        array([[-1.,  0.,  1.],
               [-3.,  0.,  3.],
               [-5.,  0.,  5.]])
        """
        return centered(self, at)

    def contrast(self, start: Any, stop: Any) -> Contrast:
        r"""Return the change of the average prediction from one value of the feature to another.

        .. math:: \Delta = PD(b) - PD(a), \qquad
            SE^2 = \frac{n}{(n - 1) W^2} \sum_i w_i^2 \left( f(b, x_{i,\bar S}) - f(a, x_{i,\bar S}) - \Delta
            \right)^2

        with :math:`a` = ``start`` and :math:`b` = ``stop``. Both values are predicted for the same rows, so
        that the standard error is that of the rows' differences. It comes from the rows that give
        ``standard_error``, at most 4,096 rows if there are no individual curves. For a list of models it
        is the root mean square of their standard errors, an upper bound of the sampling error of the mean.

        Parameters
        ----------
        start, stop : value
            Values of ``grid_values``, such as numbers or categories; None is a missing value. Request others
            with ``custom_values``.

        Returns
        -------
        Contrast
            With ``estimate``, ``standard_error`` and ``interval(level)``, each for every output. The standard
            error is NaN if the effect has none, as with ``method="recursion"``.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[30.0, 1.0], [40.0, 2.0], [50.0, 6.0]])
        >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0)
        >>> effect.contrast(30, 50)
        Contrast of x0: 50 - 30
          60 ± 31 (95 % interval over rows -71.45 to 191.4)
        """
        return contrast(self, start, stop)

    def slope(self) -> Contrast:
        r"""Return the average change per unit of a numeric feature, or per day, weighted by the data.

        .. math:: \sum_k p_k \frac{PD(x_{k+1}) - PD(x_k)}{x_{k+1} - x_k}, \qquad
            p_k \propto \frac{s_k}{d_k} + \frac{s_{k+1}}{d_{k+1}}

        with the grid values :math:`x_k`, their ``support`` :math:`s_k`, and :math:`d_k` the number of
        intervals next to a grid value: 1 at the ends and 2 between. Every interval thus counts with the data
        around it. The standard error is that of the same combination of each row's predictions, as in
        `contrast`. Rows with a missing value do not count.

        Returns
        -------
        Contrast
            With ``estimate``, ``standard_error`` and ``interval(level)``, each for every output.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[30.0, 1.0], [40.0, 2.0], [50.0, 6.0]])
        >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0)
        >>> float(effect.slope().estimate[0])
        3.0
        """
        return slope(self)

    def derivative(self) -> PartialDependence:
        r"""Return the slope along a numeric axis, or along dates per day.

        .. math:: \frac{h_-^2 f(x + h_+) + (h_+^2 - h_-^2) f(x) - h_+^2 f(x - h_-)}{h_+ h_- (h_+ + h_-)}

        at a point :math:`x` whose neighbors are at distances :math:`h_-` below and :math:`h_+` above:
        second-order central differences, and one-sided differences at the two ends. It is computed for the
        average and for the curve of each row and model; standard error and quantiles are those of the rows'
        slopes, and need individual curves (``kind="both"``). For piecewise constant models, such as tree
        ensembles, it is the slope *between grid points* and depends on their distance. ``strength`` is the
        standard deviation of the slope over the data.

        Returns
        -------
        PartialDependence
            With the same shapes, without the effect at a missing value; ``provenance.scale`` names the unit.

        Examples
        --------
        >>> import numpy as np, paribus
        >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [3.0, 5.0]])
        >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0, kind="both")
        >>> effect.derivative().individual[0]
        array([[1., 1., 1.],
               [3., 3., 3.],
               [5., 5., 5.]])
        """
        return derivative(self)
