"""Requests and statistics of interactions."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._data.samples import Sample
from paribus._evaluators.request import StatisticEvaluator, WholeRequest
from paribus._models.scoring import Outcome
from paribus.meaning import Estimand

if TYPE_CHECKING:
    from paribus._data.scan.open import Background


@dataclass(frozen=True, eq=False)
class InteractionRequest(WholeRequest):
    """Request of interaction statistics of features over rows.

    ``features`` are positions in the table, in the requested order; pairs and triples are positions among
    them. ``threeway`` is the number of features whose triples are computed. ``seed`` is that of all samples.
    ``threads=None`` leaves the number of threads to the evaluator.

    Blocks and tables have fixed sizes, so that memory does not change results. ``paired`` limits pairs to the
    features that interact most with all others together. ``outcome`` converts the target to numbers for the
    test of interactions, None without one.
    """

    statistic: ClassVar[str] = "interactions"
    features: tuple[int, ...]
    pairwise: bool
    overall: bool
    threeway: int
    rows: Background
    seed: int
    max_memory: int
    threads: int | None
    memory_was_given: bool = True
    paired: int | None = None
    outcome: Outcome | None = None

    @property
    def n_results(self) -> int:
        """Number of pairs, or of features where none are requested."""
        return self.n_pairs or len(self.features)

    @property
    def points(self) -> int:
        """Number of rows at which effects are evaluated."""
        return self.rows.n_weighted

    @property
    def settings(self) -> tuple[Any, ...]:
        """Options of a stored state, in addition to the rows, the model and the sizes of blocks."""
        options = (self.features, self.pairwise, self.overall, self.threeway, self.seed, self.paired)
        return (*options, self.outcome)

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """Every pair, in order."""
        return tuple(combinations(range(len(self.features)), 2)) if self.pairwise else ()

    @property
    def n_pairs(self) -> int:
        """Number of pairs that are evaluated."""
        if self.paired is None or not self.pairwise:
            return len(self.pairs)
        return math.comb(min(self.paired, len(self.features)), 2)

    @property
    def every_column(self) -> bool:
        """Whether all columns are requested, so that the remainder is interaction."""
        return len(self.features) == len(self.rows.table.names)

    @property
    def has_total(self) -> bool:
        """Whether the interaction of all features together is requested."""
        return self.overall and self.every_column


class InteractionPasses(StatisticEvaluator):
    """Base class of interaction evaluators; those that set ``crosses`` take n x n steps for n rows."""

    estimand: ClassVar[Estimand] = Estimand.INTERVENTIONAL
    crosses: ClassVar[bool] = False
    request: InteractionRequest

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """The rows whose influence gives the standard errors."""

    @property
    @abstractmethod
    def held_bytes(self) -> int:
        """Memory that is held during all passes."""

    @property
    @abstractmethod
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes."""

    @property
    def error_rows(self) -> int:
        """Number of rows whose influence gives the standard errors."""
        return len(self.sample.numbers)

    @property
    def error_units(self) -> int | None:
        """Number of their units, None if rows are independent."""
        return None if self.sample.units is None else self.sample.n_units


class ExactInteractions(InteractionPasses):
    """Base class of interaction evaluators that read the structure of the model, on every row."""

    shortcut: ClassVar[bool] = True
    threaded: ClassVar[bool] = True

    def memory(self, threads: int) -> int:
        """Return the maximum memory; with several threads, it includes waiting states."""
        return self.held_bytes + self.worker_bytes * (1 if threads == 1 else 2 * threads)


class _Frozen:
    """A dataclass of arrays, which are read-only."""

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if array is not None:
                array.setflags(write=False)

    def __setstate__(self, state: dict[str, Floats | None]) -> None:
        """Set the arrays of a copy or of an unpickled object, and make them read-only."""
        vars(self).update(state)
        self.__post_init__()


@dataclass(frozen=True, eq=False)
class Ratio(_Frozen):
    """Mean squares and their ratios to other mean squares; every array is ``(k, o)``.

    Attributes
    ----------
    numerator, denominator
        Mean squares over the rows, in squared units of the prediction. A numerator within rounding error
        is exactly zero.
    numerator_error, ratio_error
        Standard errors of the numerator and of numerator / denominator.
    mean_share
        The mean of the ratios of several models, None for one model.
    added_error
        Standard errors of what the numerators exceed those of the features' own effects by; None where they
        do not contain these.
    """

    numerator: Floats
    denominator: Floats
    numerator_error: Floats
    ratio_error: Floats
    mean_share: Floats | None = None
    added_error: Floats | None = None

    def replaced(self, numbers: Integers, others: Ratio) -> Ratio:
        """Return the ratios with the entries ``numbers`` replaced by others."""
        arrays = []
        for name in ("numerator", "denominator", "numerator_error", "ratio_error"):
            array = getattr(self, name).copy()
            array[numbers] = getattr(others, name)
            arrays.append(array)
        return Ratio(*arrays)

    # Cached, because entries may be read one by one.
    @cached_property
    def share(self) -> Floats:
        """The ratio; zero if the numerator is zero, NaN if only the denominator is zero."""
        if self.mean_share is not None:
            return self.mean_share
        empty = np.where(self.numerator == 0, 0.0, np.nan)
        return _frozen(np.divide(self.numerator, self.denominator, out=empty, where=self.denominator > 0))

    @cached_property
    def strength(self) -> Floats:
        """The root of the numerator, in units of the prediction."""
        return _frozen(np.sqrt(self.numerator))

    @cached_property
    def strength_error(self) -> Floats:
        """The standard error of the strength; zero where the strength is zero by construction."""
        strength = self.strength
        # The error of a zero numerator is zero or NaN.
        error = self.numerator_error + 0.0
        return _frozen(np.divide(self.numerator_error, 2 * strength, out=error, where=strength > 0))


def _frozen(array: Floats) -> Floats:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class VarianceShares(_Frozen):
    r"""Shares of the variance of the prediction that effects reproduce; every array is ``(n_outputs,)``.

    With the centered prediction F, the sum :math:`F_1` of the centered curves of the features explained, and
    the sum :math:`F_2` of these and of the interactions of every two of them,

    .. math:: curves = 1 - \frac{\langle (F - F_1)^2 \rangle}{\langle F^2 \rangle}, \qquad
        pairs = \frac{\langle (F - F_1)^2 \rangle - \langle (F - F_2)^2 \rangle}{\langle F^2 \rangle}

    as averages over the rows, with their weights. The first is :math:`1 - H^2` of all features together.
    Shares may be negative: effects of dependent features can add up to more than the prediction.

    Attributes
    ----------
    curves, curves_error
        Share that the curves alone reproduce, and its standard error. NaN for a constant prediction.
    pairs, pairs_error
        Share that interactions of two features add; None if there are none. Its error is conditional on the
        averages that interactions consist of.
    regions, regions_error
        Share that curves by region add; None without regions.
    """

    curves: Floats
    curves_error: Floats
    pairs: Floats | None = None
    pairs_error: Floats | None = None
    regions: Floats | None = None
    regions_error: Floats | None = None

    def of_output(self, o: int) -> VarianceShares:
        """Return the shares of one output."""
        known = {name: array[o : o + 1] for name, array in vars(self).items() if array is not None}
        return VarianceShares(**known)


@dataclass(frozen=True, eq=False)
class InteractionStatistics:
    """Interaction statistics, None for those that were not requested.

    ``main`` is the mean square of each feature's effect relative to that of the prediction. ``left_out`` is
    the mean square of the change of the prediction if the feature is averaged out. The other ratios are
    shares of interaction. ``variance (o,)`` is the mean square of the centered prediction. ``predictions`` is
    the number of rows that the model predicted. ``p_values (k, o)`` are those of the test that the target has
    no interaction of a feature with all others. Numerators up to ``floor`` are set to zero. ``pairs`` are the
    pairs of ``pairwise``, None for all.
    """

    variance: Floats
    main: Ratio
    explained: VarianceShares
    left_out: Ratio | None = None
    pairwise: Ratio | None = None
    overall: Ratio | None = None
    total: Ratio | None = None
    threeway: Ratio | None = None
    triples: tuple[tuple[int, ...], ...] = ()
    predictions: int = 0
    floor: Floats | float = 0.0
    pairs: tuple[tuple[int, int], ...] | None = None
    p_values: Floats | None = None


@dataclass(frozen=True, eq=False)
class InfluenceSample:
    """Rows whose influence gives the errors, with ``share (i,)`` in a mean.

    ``total`` is the weight of the ``rows`` rows, or units of rows, that they represent.
    """

    sample: Sample
    share: Floats
    total: float
    rows: int

    @classmethod
    def of(cls, sample: Sample, total: float, rows: int) -> InfluenceSample:
        """Return shares of a sample whose means and variances estimate those over all ``rows`` rows."""
        if sample.units is not None:
            counted = np.sqrt(sample.squares)
            represented = (total / counted.sum()) ** 2  # units that a sampled unit stands for
            rows = max(sample.n_units, round(sample.n_units * represented))
        elif sample.weights is not None:
            # A row represents squares / w^2 rows, each with weight w in a mean.
            counted = sample.squares / sample.weights
        else:
            counted = sample.squares
        return cls(sample, counted / counted.sum(), total, rows)

    def centered(self, functions: Floats) -> Floats:
        """Return functions ``(..., i)`` minus their means."""
        return functions - (functions @ self.share)[..., None]

    def error(self, influence: Floats) -> Floats:
        """Return the standard errors of statistics with influence ``(..., i)``, NaN for a single row."""
        if self.rows < 2:
            return np.full(influence.shape[:-1], np.nan)
        squares = self.sample.unit_means(self.centered(influence)) ** 2
        variance = squares @ (self.sample.unit_squares / self.total**2)
        return np.asarray(np.sqrt(variance * (self.rows / (self.rows - 1))))

    def ratio(
        self,
        numerator: Floats,
        denominator: Floats,
        numerator_influence: Floats,
        influence: Floats,
        zero: Floats,
    ) -> Ratio:
        """Return mean squares ``(k, o)`` with their errors; influence is ``(k, o, i)``.

        A numerator up to ``zero (o,)`` is set to zero, with error zero if there is more than one row.
        """
        numerator, denominator = (
            np.where(np.isfinite(squares), squares, np.nan) for squares in (numerator, denominator)
        )
        nothing = (numerator <= zero) & np.isfinite(zero)
        numerator = np.where(nothing, 0.0, numerator)
        denominator = np.where((denominator <= zero) & np.isfinite(zero), 0.0, denominator)
        safe = np.where(denominator > 0, denominator, np.nan)
        share = numerator / safe
        change = (numerator_influence - share[..., None] * influence) / safe[..., None]
        error, ratio_error = self.error(numerator_influence), self.error(change)
        ratio_error = np.where(denominator > 0, ratio_error, np.nan)
        certain = 0.0 if self.rows > 1 else np.nan
        return Ratio(
            numerator, denominator, np.where(nothing, certain, error), np.where(nothing, certain, ratio_error)
        )

    def none(self, denominator: Floats, zero: Floats) -> Ratio:
        """Return numerators that are zero by construction, with error zero if there is more than one row."""
        denominator = np.where(np.isfinite(denominator), denominator, np.nan)
        denominator = np.where((denominator <= zero) & np.isfinite(zero), 0.0, denominator)
        certain = np.full(denominator.shape, 0.0 if self.rows > 1 else np.nan)
        unknown = np.where((denominator > 0) | np.isfinite(zero), certain, np.nan)
        return Ratio(np.zeros(denominator.shape), denominator, certain, unknown)


@dataclass(frozen=True, eq=False)
class FeatureCurves:
    """Curves ``(o, g, i)`` of the influence rows over one feature, and the point of each row."""

    curves: Floats
    point: Integers

    def as_rest(self, functions: Floats) -> Floats:
        r"""Return :math:`\sum_x g(x) f(x_j, z_{\bar j})` for functions ``(..., o, i)`` at influence rows."""
        outputs, points, rows = self.curves.shape
        flat = functions.reshape(-1, outputs, rows)
        placed = np.zeros((outputs, len(flat), points))
        for o in range(outputs):
            for number, one in enumerate(flat[:, o]):
                placed[o, number] = np.bincount(self.point, one, minlength=points)
        return (placed @ self.curves).swapaxes(0, 1).reshape(functions.shape)

    def as_value(self, functions: Floats) -> Floats:
        r"""Return :math:`\sum_x g(x) f(z_j, x_{\bar j})` for functions ``(..., o, i)`` at influence rows."""
        found = self.curves @ functions[..., None]
        return np.asarray(found[..., self.point, 0])
