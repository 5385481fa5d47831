"""Parts of curves: quantiles over rows, the spread between models, the share that extrapolates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._states.sums import ignore_fp_errors
from paribus.errors import OptionError, did_you_mean
from paribus.meaning import Association
from paribus.notes import Note, NoteCode
from paribus.results.schema import Record, TableColumn, array, labels, record


@record
class AtMissing(Record):
    """Values at a missing value of the feature, apart from the curve.

    Arrays that the result does not have are None. Rows without a value are in no bin of an accumulated local
    effect: ``ale`` is its value at ``anchor``, plus the average change of these rows if the value at
    ``anchor`` is replaced by a missing one.

    Attributes
    ----------
    share : float
        Share of the data's weight whose value is missing.
    support : float
        That weight itself.
    rows : int or None
        Number of these rows, for `Marginal`.
    anchor : number, date or category
        For accumulated local effects, the edge nearest the median, or the most frequent category.
    average, standard_error : ndarray of shape (n_outputs,) or None
        Partial dependence at missing, and its standard error, or that of ``ale``.
    individual : ndarray of shape (n_outputs, n_rows) or None
        Prediction of each row with the feature missing.
    ale : ndarray of shape (n_outputs,) or None
        Accumulated local effect, on the scale of the curve.
    predicted, predicted_error, observed, observed_error, residual, residual_error : ndarray of shape \
(n_outputs,) or None
        Averages over the rows whose value is missing, as in `Marginal`.
    """

    share: float
    support: float
    rows: int | None = None
    anchor: Any = None
    average: Floats | None = array("output", default=None)
    standard_error: Floats | None = array("output", default=None)
    individual: Floats | None = array("output", "row", default=None)
    ale: Floats | None = array("output", default=None)
    predicted: Floats | None = array("output", default=None)
    predicted_error: Floats | None = array("output", default=None)
    observed: Floats | None = array("output", default=None)
    observed_error: Floats | None = array("output", default=None)
    residual: Floats | None = array("output", default=None)
    residual_error: Floats | None = array("output", default=None)


@record
class IceQuantiles(Record):
    r"""Quantiles of the individual conditional expectation (ICE) curves at each grid point.

    They describe how differently rows respond and do not shrink with more rows, unlike ``standard_error``,
    the sampling error of the average. At a grid point :math:`x_S` they are the quantiles of :math:`f(x_S,
    x_{i,\bar S})` over all rows :math:`i` with positive weight, so the edge of a band is not the curve of any
    single row.

    Attributes
    ----------
    probabilities : ndarray of shape (q,)
        Probabilities of the quantiles.
    values : ndarray of shape (n_outputs, q, g0, g1, ...)
        The quantiles, interpolated linearly as in ``numpy.quantile``; weights act as repetitions of rows.
    rank_error : float
        Bound on the error of quantile ranks, as a share of the weight; 0 if quantiles are exact.
    missing : ndarray of shape (n_outputs, q) or None
        The quantiles at a missing value.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0, quantiles=(0, 0.5, 1))
    >>> effect.quantiles.values[0]
    array([[ 0.,  1.,  2.],
           [ 0.,  3.,  6.],
           [ 0.,  5., 10.]])
    """

    probabilities: Floats = labels("quantile")
    values: Floats = array("output", "quantile", "grid")
    rank_error: float
    missing: Floats | None = array("output", "quantile")

    @property
    def names(self) -> tuple[str, ...]:
        """Short names of the quantiles, such as ``"q10"``, used as column names."""
        return tuple(f"q{100 * p:.10g}" for p in self.probabilities)

    def _columns(self) -> Iterator[TableColumn]:
        """Yield a column for each quantile."""
        for position, name in enumerate(self.names):
            yield TableColumn(name, self.table, self.values[:, position])

    def _at_missing(self) -> dict[str, Any]:
        return {} if self.missing is None else dict(zip(self.names, self.missing.T, strict=True))

    def bands(self) -> Iterator[tuple[float, int, int]]:
        """Yield bands between symmetric quantiles, widest first: their share and the two positions."""
        positions = {round(float(p), 12): k for k, p in enumerate(self.probabilities)}
        for low in sorted(positions):
            high = round(1 - low, 12)
            if low < 0.5 and high in positions:
                yield high - low, positions[low], positions[high]


ROUNDING = 1e-12  # of the numbers compared: models that differ by less do not differ


@record
class ModelSpread(Record):
    r"""Effects by model, and their standard deviation: how much an effect depends on the fitted model.

    Models fitted on other folds, bootstrap samples or seeds differ. This variation is neither the sampling
    error of an average over rows, ``standard_error``, which decreases with more rows, nor the heterogeneity
    of rows, ``quantiles``. With the effect :math:`E_k` of model k of m

    .. math:: \bar E = \frac{1}{m} \sum_k E_k, \qquad
        s^2 = \frac{1}{m - 1} \sum_k (E_k - \bar E)^2

    the mean is the reported effect, and s the standard deviation between models, which refers to a single
    fit. `PartialDependence.refit_interval` is an interval for the mean over rows and refits.

    Attributes
    ----------
    models : tuple of str
        Name of each model.
    values : ndarray of shape (m, n_outputs, g0, g1, ...)
        Effect of each model, on the same rows, weights and grid.
    standard_deviation : ndarray of shape (n_outputs, g0, g1, ...)
        Between models, with m - 1 in the denominator. NaN with a single model.
    missing : ndarray of shape (m, n_outputs) or None
        Effect of each model at a missing value.
    strengths : ndarray of shape (m, n_outputs) or None
        Strength of the partial dependence of each model.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> models = [lambda X: X[:, 0] + X[:, 1], lambda X: 3 * X[:, 0] + X[:, 1]]
    >>> effect = paribus.partial_dependence(models, X, 0)
    >>> effect.average, effect.by_model.values[:, 0]
    (array([[3., 5., 7.]]), array([[3., 4., 5.],
           [3., 6., 9.]]))
    >>> effect.by_model.standard_deviation.round(2)
    array([[0.  , 1.41, 2.83]])
    """

    models: tuple[str, ...] = labels("model")
    values: Floats = array("model", "output", "grid")
    standard_deviation: Floats = array("output", "grid", column="between_models")
    missing: Floats | None = array("model", "output")
    strengths: Floats | None = array("model", "output", default=None)

    @classmethod
    def of(
        cls,
        models: tuple[str, ...],
        values: Floats | None,
        missing: Floats | None = None,
        strengths: Floats | None = None,
    ) -> ModelSpread | None:
        """Take the standard deviation between models, if there are effects by model."""
        return None if values is None else cls(models, values, between(values), missing, strengths)

    @property
    def missing_deviation(self) -> Floats | None:
        """The standard deviation between models at a missing value, ``(n_outputs,)``."""
        return None if self.missing is None else between(self.missing)

    def _at_missing(self) -> dict[str, Any]:
        return {} if self.missing is None else {"between_models": self.missing_deviation}


@ignore_fp_errors()
def mean_of(values: Floats) -> Floats:
    """Return the mean over models; where all agree it is bit-identical to theirs."""
    return np.asarray(_first(values) + (values - _first(values)).mean(axis=0))


@ignore_fp_errors()
def between(values: Floats) -> Floats:
    """Return the standard deviation between models; zero where all say the same, NaN of a single one."""
    if len(values) < 2:
        return np.full(values.shape[1:], np.nan)
    return np.asarray((values - _first(values)).std(axis=0, ddof=1))


def _first(values: Floats) -> Floats:
    """Return what the others are compared with; infinities cannot be."""
    return np.where(np.isfinite(values[0]), values[0], 0.0)


NOTE_SHARE = 0.05  # share of a curve's points from which a note reports it
LOOSE = 0.3  # a correlation below this is not what keeps two features apart


@record
class Extrapolation(Record):
    r"""Share of an effect that combines values of two features that do not occur together.

    Partial dependence sets a feature j to a value and leaves all others unchanged. If j depends on another
    feature k, many of the resulting rows do not exist, and the model has not been fitted on any like them.
    Both features are divided into coarse bins; a cell of the two is *empty* if it contains no row with
    positive weight although at least ten would be expected under independence. Then, over the grid points g
    of the curve and the bins c of k with weight :math:`w_c`,

    .. math:: share_{jk} = \frac{\sum_g \sum_c w_c 1[(b(g), c) \text{ is empty}]}{\sum_g \sum_c w_c}

    with both sums over the cells with at least ten expected rows. ``share`` is that of the worst partner k. A
    partner is considered if these cells are at least half of all cells. All grid points have equal weight,
    whatever their support. For joint effects the cells of the grid itself are included: the share of grid
    points whose combination of values does not occur.

    It does not detect gaps in three or more dimensions, nor gaps narrower than a bin, nor grid points beyond
    the range of the data, which belong to the outermost bin: ``support`` shows those. It is None if too few
    rows or too many rare categories leave no cell with ten expected rows (always with fewer than 180 rows),
    if there is no other feature, and for ``method="recursion"``, which follows the paths of the training
    data.

    Expected rows are unweighted counts. Bin edges are quantiles of at most 4,096 rows, chosen by position in
    the table.

    Attributes
    ----------
    share : float
        Share of the points outside the data, with the worst partner.
    feature, partner : str
        The feature of the effect and its worst partner; if no partner has an empty cell, the first one
        checked.
    association : float
        Association of the two, on at most 4,096 rows.
    measure : Association
        ``"Spearman correlation"`` for numeric features and dates, ``"Cramér's V"`` for categorical ones,
        ``"correlation ratio"`` (of ranks) for mixed pairs.
    by_point : ndarray of shape (g0, g1, ...)
        The share at each grid point, with that partner; NaN where it is undefined.
    mask : ndarray of bool of shape (g0, g1) or None
        For two features, the grid points whose combination of values does not occur; None otherwise.
    partners : int
        Number of other features checked: all, or the 24 most associated ones.
    bins : int
        Maximum number of bins of a numeric feature.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> rng = np.random.default_rng(0)
    >>> temperature = rng.normal(size=2_000)
    >>> X = np.column_stack([temperature, temperature + 0.2 * rng.normal(size=2_000)])
    >>> found = paribus.partial_dependence(lambda X: X[:, 0], X, 0).extrapolation
    >>> found.partner, found.measure, found.share > 0.4
    ('x1', 'Spearman correlation', True)
    """

    share: float
    feature: str
    partner: str
    association: float
    measure: Association
    by_point: Floats = array("grid", repr=False)
    mask: Flags | None = array("grid", repr=False)
    partners: int
    bins: int

    def note(self, what: str) -> Note | None:
        """Return a note if the share is not small; ``what`` names the effect."""
        if self.share < NOTE_SHARE:
            return None
        return NoteCode.EXTRAPOLATION.note(
            feature=self.feature,
            partner=self.partner,
            measure=str(self.measure),
            association=self.association,
            share=self.share,
            what=what,
        )


def chosen(names: tuple[str, ...], output: str | int | None) -> list[int]:
    """Return the selected outputs: all of them, or one by name or position."""
    if output is None:
        return list(range(len(names)))
    if isinstance(output, str):
        if output not in names:
            raise OptionError(f"output={output!r} is not an output{did_you_mean(output, names)}")
        return [names.index(output)]
    if not 0 <= output < len(names):
        raise OptionError(f"output={output} is not one of the outputs 0 to {len(names) - 1}")
    return [int(output)]
