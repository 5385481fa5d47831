"""What follows from the order of predictions: AUC, Gini, calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from paribus._contracts import Floats
from paribus._evaluators.performance.row_losses import CLOSEST
from paribus._states import RankedRows

STEPS = 50  # of Newton's method, which needs about ten
STEEPEST = 1e4  # slope beyond which classes are as good as separated
CLOSE = 1e-12


class Measured(NamedTuple):
    """A number, its sampling error, and by how much it may be off as predictions share ranks."""

    value: float
    error: float
    bound: float = 0.0


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows in groups ``(k,)`` of one prediction each, in rising order.

    ``weight``, ``observed`` and ``predicted`` are sums and means by weight; ``squares``, ``observed_sq`` and
    ``spread`` those by the squares of weights, as in `paribus._states.CellMoments`.
    """

    rows: int
    weight: Floats
    observed: Floats
    predicted: Floats
    squares: Floats
    observed_sq: Floats
    spread: Floats
    exact: bool

    @classmethod
    def of(cls, state: RankedRows) -> Ranked:
        """Read off a state whose first quantity is what came out, and whose last is what ranks."""
        moments = state.moments.within(1.0)
        return cls(
            int(moments.rows.sum()),
            moments.weight,
            moments.mean[0],
            moments.mean[-1],
            moments.weight_sq,
            moments.mean_sq[0],
            moments.sum_of_squares[0],
            state.exact,
        )

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weight.sum())

    @property
    def mean(self) -> float:
        """Average of what came out."""
        return float((self.weight * self.observed).sum()) / self.total

    def error(self, slope: Floats, offset: Floats) -> float:
        r"""Return the sampling error of a statistic on which a row has the influence ``slope * y + offset``.

        .. math:: SE^2 = \frac{n}{n - 1} \frac{\sum w_i^2 (a_g y_i + b_g)^2}{W^2}
        """
        if self.rows < 2:
            return float("nan")
        squares = slope**2 * self.spread + self.squares * (slope * self.observed_sq + offset) ** 2
        return float(np.sqrt(squares.sum() * self.rows / (self.rows - 1))) / self.total

    @property
    def rank(self) -> Floats:
        """Share of the weight below each group, and half of its own."""
        return np.asarray((np.cumsum(self.weight) - self.weight / 2) / self.total)

    def auc(self) -> Measured | None:
        r"""Return the probability that a case is predicted higher than a non-case, ties counted half.

        Its sampling error is DeLong's, with weights; None where all rows are cases, or none is.
        """
        cases = self.weight * self.observed
        others = self.weight - cases
        positive, negative = float(cases.sum()), float(others.sum())
        if not (positive > 0 and negative > 0):
            return None
        below = (np.cumsum(others) - others / 2) / negative
        above = 1 - (np.cumsum(cases) - cases / 2) / positive
        value = float((cases * below).sum()) / positive
        case, other = self.total * (below - value) / positive, self.total * (above - value) / negative
        tied = float((cases * others).sum()) / (2 * positive * negative)
        return Measured(value, self.error(case - other, other), 0.0 if self.exact else tied)

    def gini(self) -> Measured | None:
        r"""Return twice the area between the diagonal and the ordered Lorenz curve.

        .. math:: G = \frac{2 \sum_i w_i y_i r_i}{\sum_i w_i y_i} - 1

        with :math:`r_i` the share of the weight that is predicted lower, ties counted half. None where the
        sum of what came out is not positive.
        """
        average, rank = self.mean, self.rank
        if not average > 0:
            return None
        own = self.weight * self.observed / self.total
        share = float((own * rank).sum()) / average
        later = average - np.cumsum(own) + own / 2
        error = self.error(2 * (rank - share) / average, 2 * (later - share * average) / average)
        off = float((self.weight / self.total * own).sum()) / average
        return Measured(2 * share - 1, error, 0.0 if self.exact else off)

    def ratio(self, probability: bool = False) -> Measured | None:
        """Return what came out in all as a multiple of what was predicted in all.

        None where numbers may be negative, because their sum is not a scale. The error of a ratio of
        probabilities is at least that of outcomes with these: rows of one outcome have no variance.
        """
        predicted = float((self.weight * self.predicted).sum()) / self.total
        if not predicted > 0 or self.observed.min() < 0:
            return None
        ratio = self.mean / predicted
        ones = np.ones_like(self.predicted)
        error = self.error(ones / predicted, -ratio * self.predicted / predicted)
        if probability:
            chance = float((self.squares * self.predicted * (1 - self.predicted)).sum())
            error = float(np.fmax(error, np.sqrt(max(0.0, chance)) / (self.total * predicted)))
        return Measured(ratio, error)

    def logistic_line(self) -> tuple[Measured, Measured] | None:
        r"""Return intercept and slope of the log odds of what came out over those that were predicted.

        .. math:: P(y = 1) = \frac{1}{1 + e^{-(a + b \, \mathrm{logit} f)}}

        by maximum likelihood, with sandwich errors; None where it has no finite maximum.
        """
        likely = np.clip(self.predicted, CLOSEST, 1 - CLOSEST)
        design = np.stack([np.ones_like(likely), np.log(likely / (1 - likely))])
        line = np.array([0.0, 1.0])
        for _ in range(STEPS):
            fitted = 1 / (1 + np.exp(-np.clip(line @ design, -700, 700)))
            curvature = (design * (self.weight * fitted * (1 - fitted))) @ design.T
            if not np.linalg.cond(curvature) < 1 / CLOSE:
                return None
            step = np.linalg.solve(curvature, design @ (self.weight * (self.observed - fitted)))
            line = line + step
            if not (np.abs(line) < STEEPEST).all():
                return None
            if (np.abs(step) <= CLOSE * (1 + np.abs(line))).all():
                influence = np.linalg.inv(curvature) @ design * self.total
                errors = [self.error(one, -one * fitted) for one in influence]
                return Measured(float(line[0]), errors[0]), Measured(float(line[1]), errors[1])
        return None
