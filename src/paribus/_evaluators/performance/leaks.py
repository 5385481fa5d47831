"""Features that alone predict the target, by the averages of the target near their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._states import CellMoments, RankedRows
from paribus._states.sums import ignore_fp_errors

# Share of the explainable variance from which a feature is a leak. It is higher for numbers, because one
# measured quantity may determine another.
PERFECT_CLASSES, PERFECT_NUMBERS = 0.9, 0.99
CLASSES = 2  # number of values of a binary target
CELL_ROWS = 3  # minimum rows of a cell: a rare class or an outlier is alone in smaller ones by chance
ALL_ROWS = 30  # minimum rows of these cells together,
COVERED = 0.5  # and minimum share of the weight of the rows that are looked at
RANGES = 10  # minimum number of cells that may be ranges of numbers; fewer are single values
RESOLVED = 0.8  # minimum share of the variance that ranges of these sizes can explain


class Leak(NamedTuple):
    """Feature that alone predicts some outputs, over a share ``data`` of the weight of the rows.

    ``share`` is the largest share of the explainable variance of an output.
    """

    feature: int
    outputs: tuple[int, ...]
    share: float
    data: float


def leaks_of(
    features: Sequence[CellMoments], first: int, ordered: Sequence[RankedRows | None]
) -> Iterator[Leak]:
    r"""Yield the features whose averages of the target explain nearly all that such averages can.

    The share is :math:`\bar R^2` of the cells, divided by that of the best possible cells. They have the same
    weights and the rows in the order of a numeric target: so a feature in that order has the share 1, however
    wide its cells are. All rows are looked at, where a missing value is a cell, then those with a value.

    Parameters
    ----------
    features : sequence of CellMoments
        Moments of the cells of each feature, then of missing values, and last of all other rows.
    first : int
        Position of the first output of the target among the quantities.
    ordered : sequence of RankedRows or None
        For each output the target in its order; None for a probability.
    """
    # A number that has two values is a class.
    ordered = [None if ranked is None or len(ranked.keys) <= CLASSES else ranked for ranked in ordered]
    least = [PERFECT_CLASSES if ranked is None else PERFECT_NUMBERS for ranked in ordered]
    for feature, cells in enumerate(features):
        total, missing = float(cells.weight.sum()), float(cells.weight[-2])
        for stop, weight in ((-1, total), (-2, total - missing))[: 1 + (missing > 0)]:
            shares = [_share(cells, first + o, stop, weight, ranked) for o, ranked in enumerate(ordered)]
            outputs = tuple(o for o, share in enumerate(shares) if share >= least[o])
            if outputs:
                yield Leak(feature, outputs, min(1.0, max(shares[o] for o in outputs)), weight / total)
                break


@ignore_fp_errors()
def _share(cells: CellMoments, y: int, stop: int, weight: float, ordered: RankedRows | None) -> float:
    """Return the share of the explainable variance of one output, NaN if too few rows show it."""
    known = np.flatnonzero(cells.rows[:stop])
    rows, weights, mean = cells.rows[known], cells.weight[known], cells.mean[y, known]
    large = rows >= CELL_ROWS
    if rows[large].sum() < ALL_ROWS or weights[large].sum() < COVERED * weight:
        return float("nan")
    # With squared weights, which gives the same result if the weights of a cell are equal.
    squares = cells.sum_of_squares[y, known] / cells.weight_sq[known]
    variance = squares + (cells.mean_sq[y, known] - mean) ** 2
    share = _explained(rows[large], weights[large], mean[large], variance[large])
    # The order of the target is known of all rows only, which rows in no cell are a part of.
    if ordered is None or len(rows) < RANGES or cells.rows[-1]:
        return share
    mean, variance = _in_order(weights, mean, ordered)
    best = _explained(rows[large], weights[large], mean[large], variance[large])
    return share / best if best >= RESOLVED else float("nan")


def _explained(rows: Integers, weights: Floats, mean: Floats, variance: Floats) -> float:
    r"""Return the share of the variance between cells ``(k,)``, adjusted for the number of cells.

    .. math:: \bar R^2 = 1 - \frac{\sum_c W_c s_c^2}{\sum_i w_i (y_i - \bar y)^2} \frac{n - 1}{n - k}
    """
    within = float((weights * variance).sum())
    total = within + float((weights * (mean - np.average(mean, weights=weights)) ** 2).sum())
    free = (rows.sum() - 1) / (rows.sum() - len(rows))
    return 1 - within / total * free if total > 0 else float("nan")


def _in_order(weights: Floats, mean: Floats, ordered: RankedRows) -> tuple[Floats, Floats]:
    """Return mean and variance of the target in cells that are filled in its order, by their mean."""
    rows = ordered.moments
    share, squares = rows.weight / rows.weight.sum(), rows.weight_sq / rows.weight_sq.sum()
    y = rows.mean[0] - np.average(rows.mean[0], weights=share)
    order = np.argsort(mean, kind="stable")
    shares = weights[order] / weights.sum()
    reached, ends = np.append(0.0, np.cumsum(share)), np.cumsum(shares)
    parts = share * y, squares, squares * y, squares * y**2
    sums = [np.interp(ends, reached, np.append(0.0, np.cumsum(part))) for part in parts]
    filled, total, linear, square = np.diff(sums, prepend=0.0)
    center, back = filled / shares, np.argsort(order)
    variance = np.maximum(0.0, (square - 2 * center * linear) / total + center**2)
    return center[back], variance[back]
