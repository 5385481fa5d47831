"""Performance metrics and calibration of the predictions of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from paribus._contracts import Floats
from paribus._data.rows import Block
from paribus._data.table import ScratchBuffer
from paribus._evaluators.brute_force import CALL_ROWS, reraise_with_rows
from paribus._evaluators.cell_means import PredictionEstimate, predictions_of
from paribus._evaluators.performance.influences import Influences, metric_influences
from paribus._evaluators.performance.leaks import Leak, leaks_of
from paribus._models import Model
from paribus._models.scoring import Family, Outcome
from paribus._models.scoring.losses import log_losses, right_classes
from paribus._states import CellMoments, Keyed, Moments, RankedRows, Variances
from paribus._states.student import student_quantile
from paribus._states.sums import ignore_fp_errors
from paribus._typing import Better

# Maximum number of ranks: over all outputs, and at least per output.
CAPACITY, LEAST_CAPACITY = 131_072, 4_096
NOT_FINITE = "some predictions are not finite"
ONE_CLASS = "all rows are of the class, or none is"
CONSTANT = "y does not vary"
NEGATIVE = "y has negative values"
RATIO = "observed / predicted"
LEVEL = 0.95  # of intervals
GROUPS, GROUP_ROWS = 10, 20  # maximum number of groups of a calibration table, minimum rows of a group


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
    def events(self) -> tuple[tuple[int | None, slice], ...]:
        """Columns of exclusive classes, or of each event, with their output; None for all together."""
        if not self.probability:
            return ()
        if self.exclusive:
            return ((None, slice(None)),)
        return tuple((o, slice(o, o + 1)) for o in range(self.outputs))

    @property
    def names(self) -> tuple[tuple[str, int | None], ...]:
        """Name and output of each loss, in order; the output is None for all outputs together."""
        outputs = range(self.outputs)
        if self.probability:
            losses = [(name, output) for name in ("log loss", "accuracy") for output, _ in self.events]
            return (*losses, *(("above a half", output) for output in outputs))
        names: tuple[str, ...] = ("squared", "residual", "absolute")
        if self.family is not None:
            names = (*names, "deviance", "own term")
        return tuple((name, output) for name in names for output in outputs)

    def of(self, observed: Floats, predicted: Floats) -> Floats:
        """Return the losses ``(q, i)`` of rows with observed and predicted values ``(i, o)``."""
        with np.errstate(all="ignore"):  # notes report losses that are not finite
            if self.probability:
                pairs = [(observed[:, part], predicted[:, part]) for _, part in self.events]
                losses = [loss(*pair)[:, None] for loss in (log_losses, right_classes) for pair in pairs]
                losses.append((observed > 0.5).astype(np.float64))
            else:
                residual = observed - predicted
                losses = [residual**2, residual, np.abs(residual)]
            if self.family is not None:
                losses += [self.family.deviance(observed, predicted), self.family.own_term(observed)]
        return np.concatenate([loss.T for loss in losses])


class Measured(NamedTuple):
    """Value of a metric and its sampling error, which is at least ``least``."""

    value: float
    error: float
    least: float = 0.0


class MetricEstimate(NamedTuple):
    """Metric of one output, None for all together, and which values are better.

    ``constant`` is its value for a constant prediction: the mean of the target, or the shares of its classes.
    """

    name: str
    output: int | None
    value: float
    error: float
    constant: float
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


@dataclass(frozen=True, eq=False)
class PerformanceEstimate:
    """Metrics, metrics that were left out, a calibration table for each output, and the target."""

    metrics: tuple[MetricEstimate, ...]
    left_out: tuple[LeftOut, ...]
    calibration: tuple[CalibrationEstimate, ...]
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
            ("target", 0): Variances.of(observed, kept.weights),
        }
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
            finite_weights = None if weights is None else weights[finite]
            states["ranked", o] = RankedRows.of(f, np.stack([y, *powers, f]), finite_weights, self.capacity)
        return states

    @ignore_fp_errors()
    def finish(self, state: Keyed, predictions: PredictionEstimate) -> PerformanceEstimate:
        """Return the metrics of all rows. The errors of dependent rows are those of sampled units."""
        metrics = _Metrics(self.losses, state, predictions)
        metrics.all()
        parts = tuple(metrics.metrics), tuple(metrics.left_out), tuple(metrics.calibration)
        return PerformanceEstimate(*parts, tuple(metrics.target()))

    def leaks(self, state: Keyed, features: int) -> Iterator[Leak]:
        """Yield the features that alone predict the target, from the averages of the same rows."""
        outputs = self.model.n_outputs
        cells = [state.parts["cells", feature] for feature in range(features)]
        # Predictions come before the target.
        return leaks_of(cells, outputs, [state.parts.get(("ordered", o)) for o in range(outputs)])


class _Metrics:
    """Metrics computed from a state, in the order in which they are reported."""

    def __init__(self, losses: RowLosses, state: Keyed, predictions: PredictionEstimate) -> None:
        moments: Moments = state.parts["losses", 0]
        values, errors = moments.mean[0].tolist(), moments.standard_error()[0].tolist()
        self.means = dict(zip(losses.names, map(Measured, values, errors), strict=True))
        self.losses, self.rows, self.state = losses, moments.rows, state
        self.units, self.weight, self.influences = predictions.sample, predictions.weight, Influences()
        if predictions.measured is not None:
            predicted, observed = predictions.measured.values[: 2 * losses.outputs].reshape(
                2, losses.outputs, -1
            )
            weights = predictions.measured.weights
            self.influences = metric_influences(observed, predicted, weights, losses.family)
        target: Variances = state.parts["target", 0]
        self.average, self.variance = target.mean, target.variance
        self.metrics: list[MetricEstimate] = []
        self.left_out: list[LeftOut] = []
        self.calibration: list[CalibrationEstimate] = []

    def all(self) -> None:
        """Compute all metrics: losses, then metrics of ranks, then calibration."""
        ranked = [self._complete(o) for o in range(self.losses.outputs)]
        for output, part in self.losses.events:
            shares = self.average[None, part]
            constant = log_losses(shares, shares)[0]
            self._add("log loss", output, self.means["log loss", output], constant, "lower")
            accuracy = self.means["accuracy", output]
            self._add("accuracy", output, accuracy, self._frequent_class(part), "higher")
        for o, rows in enumerate(ranked):
            if self.losses.probability:
                area = None if rows is None else _area(rows)
                self._add("AUC", o, area, 0.5, "higher", NOT_FINITE if rows is None else ONE_CLASS)
            else:
                self._numeric(o, rows)
        for o, rows in enumerate(ranked):
            if rows is None:
                self.left_out.append(LeftOut(RATIO, o, NOT_FINITE))
            else:
                self._calibration(o, rows)

    def target(self) -> Iterator[TargetEstimate]:
        """Yield the distribution of the target for each output."""
        for o, average in enumerate(self.average.tolist()):
            if self.losses.probability:
                yield TargetEstimate(o, average)
                continue
            ordered = self.state.parts["ordered", o].moments
            values, below = ordered.mean[0], np.cumsum(ordered.weight)
            middle = np.searchsorted(below, below[-1] / 2)
            upper = min(middle + (below[middle] == below[-1] / 2), len(values) - 1)
            median = float(values[middle] + values[upper]) / 2
            ends = float(values[0]), median, float(values[-1])
            yield TargetEstimate(o, average, float(np.sqrt(self.variance[o])), *ends)

    def _complete(self, o: int) -> CellMoments | None:
        """Return the rows grouped in the order of predictions, None if some prediction is not finite.

        Their first quantity is the target, and the last the prediction.
        """
        ranked: RankedRows | None = self.state.parts.get(("ranked", o))
        return None if ranked is None or ranked.moments.rows.sum() < self.rows else ranked.moments

    def _add(
        self,
        name: str,
        o: int | None,
        measured: Measured | None,
        constant: float,
        better: Better,
        why: str = "",
    ) -> None:
        """Add a metric, or the reason why it is not defined."""
        if measured is None:
            self.left_out.append(LeftOut(name, o, why))
            return
        if self.units is not None:
            error = float(self.units.error(self.influences[name, o], self.weight))
            measured = Measured(measured.value, max(error, measured.least), measured.least)
        value, error, _ = measured
        self.metrics.append(MetricEstimate(name, o, value, error, float(constant), better))

    def _frequent_class(self, part: slice) -> float:
        """Return the accuracy of the most frequent class, or of the more frequent outcome of one event."""
        shares = self.average[part]
        above = [self.means["above a half", o].value for o in range(self.losses.outputs)][part]
        if len(shares) == 1:
            return above[0] if shares[0] > 0.5 else 1 - above[0]
        return above[int(np.argmax(shares))]

    def _numeric(self, o: int, ranked: CellMoments | None) -> None:
        """Add the losses of a numeric target."""
        squared, average, variance = self.means["squared", o], self.average[o], self.variance[o]
        root = float(np.sqrt(squared.value))
        error = squared.error / (2 * root) if root else float("nan")
        self._add("root mean squared error", o, Measured(root, error), np.sqrt(variance), "lower")
        ordered = self.state.parts["ordered", o].moments
        apart = np.average(np.abs(ordered.mean[0] - average), weights=ordered.weight)
        self._add("mean absolute error", o, self.means["absolute", o], apart, "lower")
        self._add("R²", o, self._r_squared(o, ranked), 0.0, "higher", CONSTANT)
        self._add("mean residual", o, self.means["residual", o], 0.0, "near 0")
        family = self.losses.family
        if family is None:
            return
        deviance = self.means["deviance", o]
        own_term = self.means["own term", o].value
        constant = max(0.0, 2 * (own_term + float(family.mean_term(average, average))))
        out = f"y or a prediction lies outside the range of a {family.name} distribution"
        known = deviance if np.isfinite(deviance.value) else None
        self._add(f"mean {family.name} deviance", o, known, constant, "lower", out)

    def _r_squared(self, o: int, ranked: CellMoments | None) -> Measured | None:
        r"""Return :math:`1 - \sum w (y - f)^2 / \sum w (y - \bar y)^2`."""
        average, variance = float(self.average[o]), float(self.variance[o])
        if not variance > 0:
            return None
        unexplained = self.means["squared", o].value / variance
        error = float("nan")
        if ranked is not None:
            error = _r_squared_error(ranked, average, variance, unexplained)
        return Measured(1 - unexplained, error)

    def _calibration(self, o: int, ranked: CellMoments) -> None:
        """Add the ratio of observed to predicted, and the calibration table."""
        why = NEGATIVE if ranked.mean[0].min() < 0 else "the sum of predictions is not positive"
        self._add(RATIO, o, _ratio(ranked, self.losses.probability), 1.0, "near 1", why)
        several = self.rows if self.units is None else self.units.n_units
        width = float(student_quantile(LEVEL, max(1, several - 1)))
        self.calibration.append(
            _calibration_groups(o, ranked, self.losses.probability, width, self._inflation(o))
        )

    def _inflation(self, o: int) -> float:
        """Return the factor from the variance of independent rows to that of units, for residuals."""
        if self.units is None:
            return 1.0
        residuals, rows = self.influences["mean residual", o], replace(self.units, units=None)
        of_units, of_rows = (float(sample.error(residuals, self.weight)) for sample in (self.units, rows))
        return (of_units / of_rows) ** 2 if of_rows > 0 else 1.0


def _r_squared_error(moments: CellMoments, average: float, variance: float, unexplained: float) -> float:
    """Return the sampling error of R², on which a row with residual e has the influence ``a e² + b e + c``.

    Its square needs the second to fourth powers of residuals, which the moments contain.
    """
    rows, weight = int(moments.rows.sum()), float(moments.weight.sum())
    if rows < 2:
        return float("nan")
    y, second, third, f = moments.weight_sq * moments.mean_sq
    fourth = moments.sum_of_squares[1] + moments.weight_sq * moments.mean_sq[1] ** 2
    gap = moments.mean[3] - average
    # Products, as powers of floats raise where they overflow.
    a, b, c = 1 - unexplained, -2 * unexplained * gap, -unexplained * gap**2
    squares = a * a * fourth + 2 * a * b * third + (b * b + 2 * a * c) * second
    squares += 2 * b * c * (y - f) + c**2 * moments.weight_sq
    with np.errstate(invalid="ignore"):
        return float(np.sqrt(max(0.0, squares.sum()) * rows / (rows - 1)) / (weight * variance))


def _calibration_groups(
    output: int, ranked: CellMoments, probability: bool, width: float, inflation: float
) -> CalibrationEstimate:
    """Return groups of similar weight; rows with the same prediction are in the same group.

    ``width`` is half that of intervals, in standard errors, and ``inflation`` that of variances by the
    dependence of rows.
    """
    count = max(1, min(GROUPS, int(ranked.rows.sum()) // GROUP_ROWS))
    ranks = (np.cumsum(ranked.weight) - ranked.weight / 2) / float(ranked.weight.sum())
    cells = np.minimum((ranks * count).astype(np.int64), count - 1)
    groups, cells = np.unique(cells, return_inverse=True)
    joined = ranked.joined(cells.ravel(), len(groups))
    observed, error = joined.mean[0], joined.standard_error()[0] * np.sqrt(inflation)
    interval = observed - width * error, observed + width * error
    if probability:
        interval = wilson_interval(observed, joined.weight**2 / joined.weight_sq / inflation, width)
    return CalibrationEstimate(output, joined.mean[-1], observed, interval, joined.weight)


def wilson_interval(share: Floats, rows: Floats, z: float) -> tuple[Floats, Floats]:
    r"""Return the Wilson interval of a probability from the share of ``rows`` rows.

    .. math:: \frac{p + z^2 / 2n \pm z \sqrt{p (1 - p) / n + z^2 / 4n^2}}{1 + z^2 / n}

    For weighted rows, n is :math:`(\sum w)^2 / \sum w^2`. Intervals never have width zero.

    >>> low, high = wilson_interval(np.array([0.0, 0.5]), np.array([20.0, 20.0]), 1.96)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.299], [0.161, 0.701])
    """
    square = z**2 / rows
    middle = share + square / 2
    half = np.sqrt(np.maximum(0.0, share * (1 - share)) * square + square**2 / 4)
    low, high = (middle - half) / (1 + square), (middle + half) / (1 + square)
    # Rounding must not exclude the share itself if it is 0 or 1.
    return np.clip(low, 0.0, share), np.clip(high, share, 1.0)


def _ratio(ranked: CellMoments, probability: bool) -> Measured | None:
    """Return the ratio of the sums of observed and predicted values.

    None if the sum of predictions is not positive or the target has negative values. The error for
    probabilities is at least that of outcomes with these probabilities, because rows of a single class
    have no variance.
    """
    total, observed, likely = float(ranked.weight.sum()), ranked.mean[0], ranked.mean[-1]
    predicted = float((ranked.weight * likely).sum()) / total
    if not predicted > 0 or observed.min() < 0:
        return None
    ratio = float((ranked.weight * observed).sum()) / total / predicted
    ones = np.ones_like(likely)
    error, least = _influence_error(ranked, ones / predicted, -ratio * likely / predicted), 0.0
    if probability:
        chance = float((ranked.weight_sq * likely * (1 - likely)).sum())
        least = float(np.sqrt(max(0.0, chance)) / (total * predicted))
    return Measured(ratio, float(np.fmax(error, least)), least)


def _area(ranked: CellMoments) -> Measured | None:
    r"""Return the probability that a case is predicted higher than a non-case, ties counted half.

    Its sampling error is DeLong's, with weights; None if all rows are cases, or none is.
    """
    cases = ranked.weight * ranked.mean[0]
    others = ranked.weight - cases
    total, positive, negative = float(ranked.weight.sum()), float(cases.sum()), float(others.sum())
    if not (positive > 0 and negative > 0):
        return None
    below = (np.cumsum(others) - others / 2) / negative
    above = 1 - (np.cumsum(cases) - cases / 2) / positive
    value = float((cases * below).sum()) / positive
    case, other = total * (below - value) / positive, total * (above - value) / negative
    return Measured(value, _influence_error(ranked, case - other, other))


def _influence_error(ranked: CellMoments, slope: Floats, offset: Floats) -> float:
    r"""Return the sampling error of a statistic on which a row has the influence ``slope * y + offset``.

    .. math:: SE^2 = \frac{n}{n - 1} \frac{\sum w_i^2 (a_g y_i + b_g)^2}{W^2}
    """
    rows = int(ranked.rows.sum())
    if rows < 2:
        return float("nan")
    squares = (
        slope**2 * ranked.sum_of_squares[0] + ranked.weight_sq * (slope * ranked.mean_sq[0] + offset) ** 2
    )
    return float(np.sqrt(squares.sum() * rows / (rows - 1))) / float(ranked.weight.sum())
