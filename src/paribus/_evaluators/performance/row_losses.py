"""Losses of rows, and performance of single features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus._contracts import Floats
from paribus._models.scoring import Family
from paribus._models.scoring.losses import log_losses
from paribus._states import CellMoments, RankedRows


@dataclass(frozen=True)
class RowLosses:
    """Losses of each row.

    ``probability`` says that outputs are probabilities, ``exclusive`` that they are probabilities of
    exclusive classes. ``family`` adds the deviance of a distribution.
    """

    outputs: int
    probability: bool = False
    exclusive: bool = False
    family: Family | None = None

    @property
    def names(self) -> tuple[tuple[str, int | None], ...]:
        """Name and output of each loss, in order; the output is None for all outputs together."""
        each = ("squared", "residual") if self.probability else ("squared", "residual", "absolute")
        if self.family is not None:
            each = (*each, "deviance", "own term")
        together = ("log loss", "Brier score", "accuracy") if self.exclusive else ()
        return (
            *((name, None) for name in together),
            *((name, output) for name in each for output in range(self.outputs)),
        )

    def of(self, observed: Floats, predicted: Floats) -> Floats:
        """Return the losses ``(q, i)`` of rows with observed and predicted values ``(i, o)``."""
        with np.errstate(all="ignore"):  # notes report losses that are not finite
            residual = observed - predicted
            found = [residual**2, residual]
            if not self.probability:
                found.append(np.abs(residual))
            if self.family is not None:
                found += [self.family.deviance(observed, predicted), self.family.own_term(observed)]
            together = []
            if self.exclusive:
                squares = (residual**2).sum(axis=1)
                together = [log_losses(observed, predicted), squares, _is_right(observed, predicted)]
        return np.concatenate([*(one[None] for one in together), *(one.T for one in found)])


def _is_right(observed: Floats, predicted: Floats) -> Floats:
    """Return 1 if the most probable class is observed, else 0; NaN if a prediction is not finite."""
    if predicted.shape[1] == 1:
        right = (predicted[:, 0] > 0.5) == (observed[:, 0] > 0.5)
    else:
        right = predicted.argmax(axis=1) == observed.argmax(axis=1)
    return np.where(np.isfinite(predicted).all(axis=1), right, np.nan)


FREE_ROWS = 30  # minimum number of rows beyond the number of cells: with fewer, averages fit any target
INSIDE = 0.5  # minimum share of the weight in cells
RESOLVED = 0.9  # minimum share of the variance that the cells of an axis can explain


def single_feature_score(cells: CellMoments, y: int, ordered: RankedRows | None) -> float:
    r"""Return the adjusted :math:`R^2` of cell averages of the target, relative to the best possible one.

    .. math:: \bar R^2 = 1 - (1 - R^2) \frac{n - 1}{n - k}

    adjusts for the number k of cells. The best possible cells have the same weights, and rows in the order of
    a numeric target: a feature in that order scores 1, however wide its cells are. Rows in no cell are
    ignored; if there are any, the best value is taken to be 1. The score is NaN if there are too few rows,
    cells, or distinguishable values.

    Parameters
    ----------
    cells : CellMoments
        Moments of the cells of an axis, of missing values, and last of all other rows.
    y : int
        Position of the target among the quantities.
    ordered : RankedRows or None
        The target in its order; None for a target of two values, whose best value is 1.
    """
    moments = cells.within(1.0)
    kept = np.flatnonzero(moments.rows[:-1])
    rows, weight, mean = moments.rows[kept], moments.weight[kept], moments.mean[y, kept]
    # With squared weights, which gives the same result if the weights of a cell are equal.
    about = moments.sum_of_squares[y, kept] / moments.weight_sq[kept] + (moments.mean_sq[y, kept] - mean) ** 2
    center = np.average(mean, weights=weight) if len(kept) else np.nan
    between, total = _sum_of_squares_between(mean, weight, center), float((weight * about).sum())
    total += between
    free = int(rows.sum()) - len(kept)
    if free < FREE_ROWS or len(kept) < 2 or weight.sum() < INSIDE * moments.weight.sum() or not total > 0:
        return float("nan")

    def adjusted(part: float) -> float:
        return 1 - (1 - min(1.0, part / total)) * (free + len(kept) - 1) / free

    best = 1.0
    if ordered is not None and not moments.rows[-1]:
        weight = weight[np.argsort(mean, kind="stable")]
        best = adjusted(_sum_of_squares_between(_filled(weight, ordered), weight, center))
    return min(1.0, adjusted(between) / best) if best >= RESOLVED else float("nan")


def _sum_of_squares_between(mean: Floats, weight: Floats, center: float) -> float:
    return float((weight * (mean - center) ** 2).sum())


def _filled(weight: Floats, ordered: RankedRows) -> Floats:
    """Return averages of the target in cells that are filled in the order of the target."""
    moments = ordered.moments.within(1.0)
    shares, ends = moments.weight / moments.weight.sum(), np.cumsum(weight) / weight.sum()
    reached, sums = np.cumsum(shares), np.cumsum(shares * moments.mean[0])
    below = np.interp(ends, np.append(0.0, reached), np.append(0.0, sums))
    return np.asarray(np.diff(below, prepend=0.0) * weight.sum() / weight)
