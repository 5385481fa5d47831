"""Quantiles of ICE curves: how differently rows respond."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from paribus._contracts import Floats
from paribus.results.schema import Record, TableColumn, array, labels, record


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
