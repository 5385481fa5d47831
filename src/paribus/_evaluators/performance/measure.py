"""Performance metrics, calibration, and metrics of ranked predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from paribus._contracts import Floats
from paribus._data.rows import Block
from paribus._data.table import ScratchBuffer
from paribus._evaluators.brute_force import CALL_ROWS, reraise_with_rows
from paribus._evaluators.cell_means import predictions_of
from paribus._evaluators.performance.row_losses import RowLosses, single_feature_score
from paribus._models import Model
from paribus._models.scoring import Outcome
from paribus._models.scoring.losses import CLOSEST
from paribus._states import CellMoments, Keyed, Moments, PairedMoments, RankedRows
from paribus._states.sums import ignore_fp_errors
from paribus._typing import Better

CAPACITY, LEAST_CAPACITY = (
    131_072,
    4_096,
)  # maximum number of ranks: over all outputs, and at least per output
TOGETHER: dict[str, Better] = {"log loss": "lower", "Brier score": "lower", "accuracy": "higher"}
NOT_FINITE = "some predictions are not finite"
ONE_CLASS = "all rows are of the class, or none is"
CONSTANT = "y does not vary"
NEGATIVE = "y has negative values"
INTERVAL = NormalDist().inv_cdf(0.975)  # half width of an interval of 95 %, in standard errors
CLASSES = 2  # number of values of a binary target
GROUPS, GROUP_ROWS = 20, 20  # maximum number of groups of a calibration table, minimum rows of a group


class MetricEstimate(NamedTuple):
    """Metric of one output, None for all together, and which values are better."""

    name: str
    output: int | None
    measured: Measured
    better: Better


class LeftOut(NamedTuple):
    """Metric that is not defined for the data, and the reason."""

    name: str
    output: int | None
    why: str


class TargetEstimate(NamedTuple):
    """Target of one output: its mean, and for a numeric target its standard deviation and range."""

    output: int
    mean: float
    standard_deviation: float | None = None
    lowest: float | None = None
    median: float | None = None
    highest: float | None = None


class CalibrationEstimate(NamedTuple):
    """Averages ``(k,)`` in groups of rows with similar predictions of one output, with 95 % intervals."""

    output: int
    predicted: Floats
    observed: Floats
    interval: tuple[Floats, Floats]
    weight: Floats


class SingleFeatureScore(NamedTuple):
    """Score of one feature alone as a predictor of one output, None for all classes together."""

    feature: int
    output: int | None
    value: float
    classes: bool


@dataclass(frozen=True, eq=False)
class PerformanceEstimate:
    """Metrics, metrics that were left out, a calibration table for each output, and the target.

    ``groups`` is the number of groups of predictions that share a rank, for the output with the fewest
    groups; None if each distinct prediction has its own rank.
    """

    metrics: tuple[MetricEstimate, ...]
    left_out: tuple[LeftOut, ...]
    calibration: tuple[CalibrationEstimate, ...]
    groups: int | None
    target: tuple[TargetEstimate, ...]


@dataclass(frozen=True, eq=False)
class PerformanceMeasure:
    """Evaluator of the states that performance metrics are computed from.

    Predictions of a block are shared with other evaluators of the same block.
    """

    model: Model
    outcome: Outcome
    losses: RowLosses
    scratch: ScratchBuffer = field(default_factory=ScratchBuffer)

    @property
    def capacity(self) -> int:
        """Maximum number of ranks of the predictions of each output."""
        return max(LEAST_CAPACITY, CAPACITY // self.model.n_outputs)

    @property
    def settings(self) -> tuple[Any, ...]:
        """Options that a kept state depends on, in addition to the rows and the model."""
        return "performance", self.losses, self.outcome, self.capacity

    def evaluate(self, block: Block) -> Keyed:
        """Return the states of the rows of a block."""
        kept = block.weighted()
        if not len(kept.table):
            return Keyed({})
        assert kept.target is not None
        observed = self.outcome.numbers(kept.target)
        with reraise_with_rows(self.model, block.start, block.start + len(block.table) - 1):
            predicted = predictions_of(self.model, kept, CALL_ROWS, self.scratch)
        losses = self.losses.of(observed, predicted)
        states: dict[tuple[str, int], Any] = {
            ("losses", 0): Moments.of(losses[None], kept.weights),
        }
        if not self.losses.probability:
            states["pairs", 0] = PairedMoments.of(observed, predicted, kept.weights)
        for o in range(self.model.n_outputs):
            states |= self._ranked(o, observed[:, o], predicted[:, o], kept.weights)
        return Keyed(states)

    def _ranked(
        self, o: int, observed: Floats, predicted: Floats, weights: Floats | None
    ) -> dict[tuple[str, int], Any]:
        """Return rows ranked by prediction, and by the target if it is numeric."""
        states = {}
        if not self.losses.probability:
            states["ordered", o] = RankedRows.of(observed, observed[None], weights, self.capacity)
        finite = np.isfinite(predicted)
        if finite.any():
            y, f = observed[finite], predicted[finite]
            with np.errstate(over="ignore"):
                powers = () if self.losses.probability else ((y - f) ** 2, (y - f) ** 3)
            own = None if weights is None else weights[finite]
            states["ranked", o] = RankedRows.of(f, np.stack([y, *powers, f]), own, self.capacity)
        return states

    @ignore_fp_errors()
    def finish(self, state: Keyed) -> PerformanceEstimate:
        """Return the metrics of all rows."""
        found = _Metrics(self.losses, state)
        found.all()
        ranked = [part for (name, _), part in state.parts.items() if name == "ranked"]
        shared = [len(one.keys) for one in ranked if not one.exact]
        parts = tuple(found.metrics), tuple(found.left_out), tuple(found.calibration)
        return PerformanceEstimate(*parts, min(shared) if shared else None, tuple(found.target()))

    @ignore_fp_errors()
    def single_feature_scores(self, state: Keyed, features: int) -> list[SingleFeatureScore]:
        """Return the score of each feature alone, from the cell averages of the same rows.

        The score of exclusive classes is that of the worst class, because a feature may separate a single
        class from all others.
        """
        outputs = range(self.model.n_outputs)
        order = [state.parts.get(("ordered", o)) for o in outputs]
        order = [None if one is None or len(one.keys) <= CLASSES else one for one in order]
        found = []
        for feature in range(features):
            cells = state.parts["cells", feature]
            # Predictions come before the target.
            scores = [single_feature_score(cells, len(outputs) + o, order[o]) for o in outputs]
            if self.losses.exclusive:
                found.append(SingleFeatureScore(feature, None, float(np.min(scores)), True))
            else:
                found += [SingleFeatureScore(feature, o, scores[o], order[o] is None) for o in outputs]
        return found


class _Metrics:
    """Metrics computed from a state, in the order in which they are reported."""

    def __init__(self, losses: RowLosses, state: Keyed) -> None:
        moments: Moments = state.parts["losses", 0]
        values, errors = moments.mean[0].tolist(), moments.standard_error()[0].tolist()
        self.means = dict(zip(losses.names, map(Measured, values, errors), strict=True))
        self.losses, self.rows, self.state = losses, moments.rows, state
        if not losses.probability:
            self.pairs: PairedMoments = state.parts["pairs", 0]
        self.metrics: list[MetricEstimate] = []
        self.left_out: list[LeftOut] = []
        self.calibration: list[CalibrationEstimate] = []

    def all(self) -> None:
        """Compute all metrics: losses, then metrics of ranks, then calibration."""
        ranked = [self._complete(o) for o in range(self.losses.outputs)]
        if self.losses.exclusive:
            for name, better in TOGETHER.items():
                self._add(name, None, self.means[name, None], better)
        for o in range(self.losses.outputs):
            if not self.losses.probability:
                self._numeric(o, ranked[o])
            elif not self.losses.exclusive:
                self._add("Brier score", o, self.means["squared", o], "lower")
        for o, one in enumerate(ranked):
            if one is None:
                self._add("all of the order of predictions", o, None, "higher", NOT_FINITE)
            elif self.losses.probability:
                self._add("AUC", o, Ranked.of(one).auc(), "higher", ONE_CLASS)
            else:
                self._gini(o, one)
        for o, one in enumerate(ranked):
            if one is not None:
                self._calibration(o, one)

    def target(self) -> Iterator[TargetEstimate]:
        """Yield the distribution of the target for each output, if it is known."""
        for o in range(self.losses.outputs):
            if not self.losses.probability:
                spread = float(np.sqrt(self.pairs.products[0, o] / self.pairs.weight))
                ordered = self.state.parts["ordered", o].moments
                values, below = ordered.mean[0], np.cumsum(ordered.weight)
                middle = np.searchsorted(below, below[-1] / 2)
                upper = min(middle + (below[middle] == below[-1] / 2), len(values) - 1)
                median = float(values[middle] + values[upper]) / 2
                ends = float(values[0]), median, float(values[-1])
                yield TargetEstimate(o, float(self.pairs.mean[0, o]), spread, *ends)
            elif (ranked := self._complete(o)) is not None:
                rate = np.average(ranked.moments.mean[0], weights=ranked.moments.weight)
                yield TargetEstimate(o, float(rate))

    def _complete(self, o: int) -> RankedRows | None:
        """Return the rows ranked by prediction, None if some prediction is not finite."""
        found: RankedRows | None = self.state.parts.get(("ranked", o))
        return None if found is None or found.moments.rows.sum() < self.rows else found

    def _add(
        self, name: str, o: int | None, measured: Measured | None, better: Better, why: str = ""
    ) -> None:
        if measured is None:
            self.left_out.append(LeftOut(name, o, why))
        else:
            self.metrics.append(MetricEstimate(name, o, measured, better))

    def _numeric(self, o: int, ranked: RankedRows | None) -> None:
        """Add the losses of a numeric target."""
        squared = self.means["squared", o]
        root = float(np.sqrt(squared.value))
        error = squared.error / (2 * root) if root else float("nan")
        self._add("mean squared error", o, squared, "lower")
        self._add("root mean squared error", o, Measured(root, error), "lower")
        self._add("mean absolute error", o, self.means["absolute", o], "lower")
        self._add("R²", o, self._r_squared(o, ranked), "higher", CONSTANT)
        self._add("mean residual", o, self.means["residual", o], "near 0")
        family = self.losses.family
        if family is None:
            return
        deviance, own = self.means["deviance", o], self.means["own term", o]
        average = float(self.pairs.mean[0, o])
        null = 2 * (own.value + float(family.mean_term(average, average)))
        fits = np.isfinite(deviance.value)
        out = f"y or a prediction lies outside the range of a {family.name} distribution"
        explained = Measured(1 - deviance.value / null, float("nan")) if fits and null > 0 else None
        self._add(f"mean {family.name} deviance", o, deviance if fits else None, "lower", out)
        self._add(f"D² ({family.name})", o, explained, "higher", CONSTANT if fits else out)

    def _r_squared(self, o: int, ranked: RankedRows | None) -> Measured | None:
        r"""Return :math:`1 - \sum w (y - f)^2 / \sum w (y - \bar y)^2`."""
        variance = float(self.pairs.products[0, o]) / self.pairs.weight
        if not variance > 0:
            return None
        unexplained = self.means["squared", o].value / variance
        error = float("nan")
        if ranked is not None:
            error = _r_squared_error(ranked.moments, float(self.pairs.mean[0, o]), variance, unexplained)
        return Measured(1 - unexplained, error)

    def _gini(self, o: int, ranked: RankedRows) -> None:
        """Add the Gini coefficient, and its ratio to the largest possible one."""
        ordered = Ranked.of(self.state.parts["ordered", o])
        negative = ordered.observed[0] < 0
        found, best = (None, None) if negative else (Ranked.of(ranked).gini(), ordered.gini())
        why = NEGATIVE if negative else "y is zero for every row"
        self._add("Gini", o, found, "higher", why)
        if found is None or best is None:
            return
        share = None
        if best.value > best.bound:
            value = found.value / best.value
            bound = (found.bound + abs(value) * best.bound) / (best.value - best.bound)
            share = Measured(value, float("nan"), bound)
        self._add("normalized Gini", o, share, "higher", CONSTANT)

    def _calibration(self, o: int, state: RankedRows) -> None:
        """Add the ratio of observed to predicted, the calibration line, and the calibration table."""
        ranked = Ranked.of(state)
        why = NEGATIVE if ranked.observed.min() < 0 else "the sum of predictions is not positive"
        self._add("observed / predicted", o, ranked.ratio(self.losses.probability), "near 1", why)
        line = ranked.logistic_line() if self.losses.probability else self._line(o, ranked)
        intercept, slope = (None, None) if line is None else line
        why = "the regression of the target on predictions has no finite coefficients"
        self._add("calibration intercept", o, intercept, "near 0", why)
        self._add("calibration slope", o, slope, "near 1", why)
        self.calibration.append(_calibration_groups(o, state, ranked, self.losses.probability))

    def _line(self, o: int, ranked: Ranked) -> tuple[Measured, Measured] | None:
        """Return intercept and slope of the least-squares line of the target over predictions."""
        (observed, predicted), (_, both, spread) = self.pairs.mean[:, o], self.pairs.products[:, o]
        if not spread > 0:
            return None
        slope = float(both / spread)
        intercept = float(observed - slope * predicted)
        steep = (ranked.predicted - predicted) * self.pairs.weight / spread
        height, fitted = 1 - predicted * steep, intercept + slope * ranked.predicted
        errors = [ranked.error(one, -one * fitted) for one in (height, steep)]
        return Measured(intercept, errors[0]), Measured(slope, errors[1])


def _r_squared_error(moments: CellMoments, average: float, variance: float, unexplained: float) -> float:
    """Return the sampling error of R², on which a row with residual e has the influence ``a e² + b e + c``.

    Its square needs the second to fourth powers of residuals, which the moments contain.
    """
    rows, weight = int(moments.rows.sum()), float(moments.weight.sum())
    if rows < 2:
        return float("nan")
    moments = moments.within(1.0)
    y, second, third, f = moments.weight_sq * moments.mean_sq
    fourth = moments.sum_of_squares[1] + moments.weight_sq * moments.mean_sq[1] ** 2
    gap = moments.mean[3] - average
    a, b, c = 1 - unexplained, -2 * unexplained * gap, -unexplained * gap**2
    squares = a**2 * fourth + 2 * a * b * third + (b**2 + 2 * a * c) * second
    squares += 2 * b * c * (y - f) + c**2 * moments.weight_sq
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(max(0.0, squares.sum()) * rows / (rows - 1)) / (weight * variance))


def _calibration_groups(
    output: int, state: RankedRows, ranked: Ranked, probability: bool
) -> CalibrationEstimate:
    """Return groups of similar weight; rows with the same prediction are in the same group."""
    count = max(1, min(GROUPS, ranked.rows // GROUP_ROWS))
    cells = np.minimum((ranked.rank * count).astype(np.int64), count - 1)
    own, cells = np.unique(cells, return_inverse=True)
    joined = state.moments.joined(cells.ravel(), len(own))
    observed, error = joined.mean[0], joined.standard_error()[0]
    interval = observed - INTERVAL * error, observed + INTERVAL * error
    if probability:
        interval = wilson_interval(observed, joined.weight**2 / joined.weight_sq)
    return CalibrationEstimate(output, joined.mean[-1], observed, interval, joined.weight)


def wilson_interval(share: Floats, rows: Floats) -> tuple[Floats, Floats]:
    r"""Return the 95 % Wilson interval of a probability from the share of ``rows`` rows.

    .. math:: \frac{p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}}{1 + z^2 / n}

    For weighted rows, n is :math:`(\sum w)^2 / \sum w^2`. Intervals never have width zero.

    >>> low, high = wilson_interval(np.array([0.0, 0.5]), np.array([20.0, 20.0]))
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.299], [0.161, 0.701])
    """
    square = INTERVAL**2 / rows
    middle = share + square / 2
    half = np.sqrt(np.maximum(0.0, share * (1 - share)) * square + square**2 / 4)
    low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
    # Rounding must not exclude the share itself if it is 0 or 1.
    return np.clip(low, 0.0, share), np.clip(high, share, 1.0)


STEPS = 50  # maximum number of Newton steps; about ten are needed
STEEPEST = 1e4  # slope above which classes are considered separated
CLOSE = 1e-12


class Measured(NamedTuple):
    """Value of a metric, its sampling error, and a bound of the error due to shared ranks."""

    value: float
    error: float
    bound: float = 0.0


@dataclass(frozen=True, eq=False)
class Ranked:
    """Rows in groups ``(k,)`` with equal predictions, in ascending order.

    ``weight`` is the sum of weights; ``observed`` and ``predicted`` are weighted means. ``squares``,
    ``observed_sq`` and ``spread`` are the sum of squared weights, and the mean and sum of squares of the
    target with squared weights, as in `paribus._states.CellMoments`.
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
        """Return the groups of a state whose first quantity is the target, and last the ranking value."""
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
        """Mean of the target."""
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
        """Share of the weight below each group, plus half of the group's share."""
        return np.asarray((np.cumsum(self.weight) - self.weight / 2) / self.total)

    def auc(self) -> Measured | None:
        r"""Return the probability that a case is predicted higher than a non-case, ties counted half.

        Its sampling error is DeLong's, with weights; None if all rows are cases, or none is.
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

        with :math:`r_i` the share of the weight that is predicted lower, ties counted half. None if the sum
        of the target is not positive.
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
        """Return the ratio of the sums of observed and predicted values.

        None if the sum of predictions is not positive or the target has negative values. The error for
        probabilities is at least that of outcomes with these probabilities, because rows of a single class
        have no variance.
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
        r"""Return intercept and slope of the logistic regression of the target on the predicted log odds.

        .. math:: P(y = 1) = \frac{1}{1 + e^{-(a + b \, \mathrm{logit} f)}}

        by maximum likelihood, with sandwich errors; None if the likelihood has no finite maximum.
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
