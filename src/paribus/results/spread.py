"""How differently rows respond."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from paribus.contracts import Floats
from paribus.results.frozen import Frozen


@dataclass(frozen=True, eq=False)
class Spread(Frozen):
    r"""Quantiles over the rows of their individual curves, at each point.

    The spread tells how differently rows respond; it does not shrink with more rows. The sampling error of
    the average, which does, is ``standard_error``. At a point :math:`x_S` it is the quantiles of
    :math:`f(x_S, x_{i,\bar S})` over every row :math:`i` of positive weight, so a band between two of them
    is no curve of any single row.

    Attributes
    ----------
    probabilities : ndarray of shape (q,)
        Which quantiles.
    values : ndarray of shape (n_outputs, q, g0, g1, ...)
        The quantiles: linear interpolation as in ``numpy.quantile``; with weights a row counts as its weight
        in rows.
    rank_error : float
        By how much the rank of a quantile may be off, as a share of the weight: 0 where every prediction was
        held, so that quantiles are exact.
    missing : ndarray of shape (n_outputs, q) or None
        The quantiles at a missing value.

    Examples
    --------
    >>> import numpy as np, paribus
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])
    >>> effect = paribus.partial_dependence(lambda X: X[:, 0] * X[:, 1], X, 0, spread=(0, 0.5, 1))
    >>> effect.spread.values[0]
    array([[ 0.,  1.,  2.],
           [ 0.,  3.,  6.],
           [ 0.,  5., 10.]])
    """

    probabilities: Floats
    values: Floats
    rank_error: float
    missing: Floats | None

    @property
    def names(self) -> tuple[str, ...]:
        """Short names of the quantiles, such as ``"q10"``, which are those of columns of tables."""
        return tuple(f"q{100 * p:.10g}" for p in self.probabilities)

    def bands(self) -> Iterator[tuple[float, int, int]]:
        """Yield what lies between symmetric quantiles, widest first: the share, and the two places."""
        places = {round(float(p), 12): k for k, p in enumerate(self.probabilities)}
        for low in sorted(places):
            high = round(1 - low, 12)
            if low < 0.5 and high in places:
                yield high - low, places[low], places[high]
