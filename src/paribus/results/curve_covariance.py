"""How the points of a partial dependence vary together, as errors of differences along it need."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._contracts import Floats


@dataclass(frozen=True, eq=False)
class CurveCovariance:
    r"""Sampling covariance of the points of a partial dependence, relative to the average of all points.

    .. math:: C_{gh} = \frac{n}{(n - 1) W^2} \sum_i s_i (d_{ig} - \bar d_g)(d_{ih} - \bar d_h),
        \qquad d_{ig} = f_{ig} - \operatorname{mean}_g f_{ig}

    with the curves :math:`f_i` of some rows and :math:`s_i` what the square of a row counts for, which is
    :math:`w_i^2` if all rows are there. As the difference of two points of a partial dependence is the
    average of the differences of the same rows, its squared error is :math:`C_{gg} + C_{hh} - 2 C_{gh}`. What
    a row has at all points alike plays no part in that, and is taken away first, for precision.

    Attributes
    ----------
    about_center : ndarray of shape (o, g, g)
        The covariance about ``center`` instead of the partial dependence.
    center : ndarray of shape (o, g)
        Average of :math:`d_i`, by what their squares count for.
    factor : float
        Of the square of the distance between ``center`` and the partial dependence.
    rows, of_rows : int
        Number of rows whose curves these are, and of those that the partial dependence averages over.
    """

    about_center: Floats
    center: Floats
    factor: float
    rows: int
    of_rows: int

    @classmethod
    def of(cls, curves: Floats, squares: Floats, *, rows: int, total: float) -> CurveCovariance:
        """Summarize curves ``(o, i, g)`` of some of ``rows`` rows, whose weights add up to ``total``."""
        unit = rows / (rows - 1) / total**2 if rows > 1 else np.nan
        with np.errstate(invalid="ignore", over="ignore"):  # predictions that are not finite
            relative = np.ascontiguousarray(_relative(curves).transpose(0, 2, 1))
            center = np.einsum("ogi,i->og", relative, squares / squares.sum())
            relative -= center[:, :, None]
            relative *= np.sqrt(squares)
            # Not by BLAS, whose order of adding depends on its threads.
            about = unit * np.einsum("ogi,ohi->ogh", relative, relative)
        return cls(about, center, float(unit * squares.sum()), len(squares), rows)

    def about(self, average: Floats, drawn: int | None) -> Floats:
        """Return the covariance ``(o, g, g)`` of a partial dependence ``(o, g)``.

        ``drawn`` is the number of rows that it averages over, if these were drawn from all.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            off = self.center - _relative(average[:, None])[:, 0]
            found = self.about_center + self.factor * off[:, :, None] * off[:, None, :]
            return np.asarray(found if drawn is None else found * (self.of_rows / drawn))


def _relative(curves: Floats) -> Floats:
    """Return curves ``(o, i, g)`` relative to the average of each over the points where all are finite."""
    finite = np.isfinite(curves).all(axis=1, keepdims=True)
    level = np.where(finite, curves, 0.0).sum(axis=2, keepdims=True)
    return np.asarray(curves - level / np.maximum(1, finite.sum(axis=2, keepdims=True)))
