"""How well the average of the target near each value of a single feature predicts the target."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Floats
from paribus._states import CellMoments, RankedRows

FREE_ROWS = 30  # rows beyond the number of cells, at least: of fewer, averages fit any target
INSIDE = 0.5  # share of the weight in cells, at least
RESOLVED = 0.9  # share of the variance that the cells of an axis can explain, at least


def single_feature_score(cells: CellMoments, y: int, ordered: RankedRows | None) -> float:
    r"""Return the :math:`R^2` of the cell averages of the target, relative to the best that cells can have.

    .. math:: \bar R^2 = 1 - (1 - R^2) \frac{n - 1}{n - k}

    adjusts for the number k of cells. The best has the same weights, filled in the order of a numeric target:
    a feature in that order scores 1, however wide its cells are. Rows in no cell do not count; where there
    are any, the best is unknown and taken to be 1. NaN where that says nothing.

    Parameters
    ----------
    cells : CellMoments
        Of the cells of an axis, that of missing values, and last that of all other rows.
    y : int
        Which quantity is the target.
    ordered : RankedRows or None
        The target in its order; None for one of two values, of which every cell may have but one.
    """
    moments = cells.within(1.0)
    kept = np.flatnonzero(moments.rows[:-1])
    rows, weight, mean = moments.rows[kept], moments.weight[kept], moments.mean[y, kept]
    # By squared weights, which is the same where the weights of a cell are.
    about = moments.sum_of_squares[y, kept] / moments.weight_sq[kept] + (moments.mean_sq[y, kept] - mean) ** 2
    center = np.average(mean, weights=weight) if len(kept) else np.nan
    between, total = _between(mean, weight, center), float((weight * about).sum())
    total += between
    free = int(rows.sum()) - len(kept)
    if free < FREE_ROWS or len(kept) < 2 or weight.sum() < INSIDE * moments.weight.sum() or not total > 0:
        return float("nan")

    def adjusted(part: float) -> float:
        return 1 - (1 - min(1.0, part / total)) * (free + len(kept) - 1) / free

    best = 1.0
    if ordered is not None and not moments.rows[-1]:
        weight = weight[np.argsort(mean, kind="stable")]
        best = adjusted(_between(_filled(weight, ordered), weight, center))
    return min(1.0, adjusted(between) / best) if best >= RESOLVED else float("nan")


def _between(mean: Floats, weight: Floats, center: float) -> float:
    return float((weight * (mean - center) ** 2).sum())


def _filled(weight: Floats, ordered: RankedRows) -> Floats:
    """Return averages of the target in cells that are filled in its order."""
    moments = ordered.moments.within(1.0)
    shares, ends = moments.weight / moments.weight.sum(), np.cumsum(weight) / weight.sum()
    reached, sums = np.cumsum(shares), np.cumsum(shares * moments.mean[0])
    below = np.interp(ends, np.append(0.0, reached), np.append(0.0, sums))
    return np.asarray(np.diff(below, prepend=0.0) * weight.sum() / weight)
