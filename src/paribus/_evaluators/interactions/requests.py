"""Requests and statistics of interactions."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._data.rows import Background, Sample
from paribus.meaning import Estimand

BLOCKS_FIRST = 16  # times blocks and tables get smaller before standard errors come from fewer rows
MOST_CUTS = 64 * BLOCKS_FIRST  # times all of them together, at most


@dataclass(frozen=True, eq=False)
class InteractionRequest:
    """Which statistics of which features, over which rows.

    ``features`` are positions in the table, in the requested order; pairs and triples are of positions among
    them. ``seed`` is that of whatever is drawn. ``threads`` None leaves their number to the evaluator.

    Blocks and tables have fixed sizes, so that memory changes no number, divided by ``cut``, a power of two,
    for a memory bound that the user gave; beyond `BLOCKS_FIRST` standard errors come from fewer rows as well.
    ``sampled_from`` is the number of rows that ``rows`` were drawn from unless the user said how many.
    ``few_calls`` says that a call of the model is dear however few rows it predicts. With ``paired``, pairs
    are of so many features at most: those that interact most with all others together.
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
    sampled_from: int | None = None
    cut: int = 1
    few_calls: bool = False
    paired: int | None = None

    @property
    def n_parts(self) -> int:
        """All statistics are found together."""
        return 1

    def only(self, numbers: tuple[int, ...]) -> InteractionRequest:
        """Return itself, which has one part."""
        return self

    @property
    def n_results(self) -> int:
        """Number of pairs, or of features where none are requested."""
        return self.n_pairs or len(self.features)

    @property
    def points(self) -> int:
        """Number of rows that effects are evaluated at."""
        return self.rows.n_weighted

    @property
    def background(self) -> Background:
        """The rows the passes go through."""
        return self.rows

    @property
    def cuts(self) -> tuple[int, ...]:
        """How often sizes may be cut, until what is requested fits the memory bound."""
        return tuple(2**power for power in range(MOST_CUTS.bit_length() if self.memory_was_given else 1))

    @property
    def settings(self) -> tuple[Any, ...]:
        """All that a kept state depends on besides the rows, the model and how both are cut."""
        return (self.features, self.pairwise, self.overall, self.threeway, self.seed, self.paired)

    @property
    def block_cut(self) -> int:
        """Times that blocks are smaller."""
        return min(self.cut, BLOCKS_FIRST)

    @property
    def influence_cut(self) -> int:
        """Times that standard errors come from fewer rows."""
        return self.cut // self.block_cut

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
        """Whether all columns are requested, so that what is left is interaction."""
        return len(self.features) == len(self.rows.table.names)


class InteractionPasses:
    """What all ways to find interactions share; one that ``crosses`` rows takes n x n steps for n of them."""

    estimand: ClassVar[Estimand] = Estimand.INTERVENTIONAL
    structure: ClassVar[type | None] = None
    crosses: ClassVar[bool] = False
    request: InteractionRequest

    @classmethod
    def covers(cls, request: InteractionRequest) -> tuple[int, ...]:
        """Return the number of the one request there is."""
        return (0,)


class ExactInteractions(InteractionPasses, ABC):
    """What ways to find interactions share that read a structure, on every row."""

    shortcut: ClassVar[bool] = True
    threaded: ClassVar[bool] = True

    @property
    @abstractmethod
    def sample(self) -> Sample:
        """The rows whose influence gives the standard errors."""

    @property
    def predictions(self) -> int:
        """The model itself predicts no row."""
        return 0

    @property
    def calls(self) -> int:
        """The model itself is not called."""
        return 0

    @property
    def error_rows(self) -> int:
        """Rows whose influence gives the standard errors."""
        return len(self.sample.numbers)

    def fallback(self, short: str) -> str | None:
        """Return nothing: a shortcut is no fallback."""
        return None


@dataclass(frozen=True, eq=False)
class Ratio:
    """Mean squares, and what share they are of others; every array ``(k, o)``.

    Attributes
    ----------
    numerator, denominator
        Mean squares over the rows, in squared units of the prediction. A numerator that rounding alone
        can explain is exactly zero.
    numerator_error, ratio_error
        Standard errors of the numerator and of numerator / denominator.
    mean_share
        The mean of the ratios of several models, None of one.
    """

    numerator: Floats
    denominator: Floats
    numerator_error: Floats
    ratio_error: Floats
    mean_share: Floats | None = None

    def __post_init__(self) -> None:
        for array in vars(self).values():
            if array is not None:
                array.setflags(write=False)

    def __setstate__(self, state: dict[str, Floats | None]) -> None:
        """Take the arrays of a copy or of an unpickled one, which are new and writable."""
        vars(self).update(state)
        self.__post_init__()

    def replaced(self, numbers: Integers, others: Ratio) -> Ratio:
        """Return itself with some entries replaced by others."""
        arrays = []
        for name in ("numerator", "denominator", "numerator_error", "ratio_error"):
            array = getattr(self, name).copy()
            array[numbers] = getattr(others, name)
            arrays.append(array)
        return Ratio(*arrays)

    # Computed once: whoever reads one entry after the other would compute all of them each time.
    @cached_property
    def share(self) -> Floats:
        """The ratio; zero where the numerator is, NaN where only the denominator vanishes."""
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
        # A numerator that is zero has an error of zero, or none.
        error = self.numerator_error + 0.0
        return _frozen(np.divide(self.numerator_error, 2 * strength, out=error, where=strength > 0))


def _frozen(array: Floats) -> Floats:
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class InteractionStatistics:
    """The requested statistics, None for others.

    ``main`` has the mean square of each feature's own effect over that of the prediction, ``left_out`` that
    of what the prediction loses when the feature alone is averaged out; the others are shares of interaction.
    ``variance (o,)`` is the mean square of the centered prediction, ``predictions`` how many rows the model
    predicted, ``floor`` the mean square up to which a numerator is called zero, ``pairs`` those that
    ``pairwise`` is of, None for all.
    """

    variance: Floats
    main: Ratio
    left_out: Ratio | None = None
    pairwise: Ratio | None = None
    overall: Ratio | None = None
    total: Ratio | None = None
    threeway: Ratio | None = None
    triples: tuple[tuple[int, ...], ...] = ()
    predictions: int = 0
    floor: Floats | float = 0.0
    pairs: tuple[tuple[int, int], ...] | None = None


@dataclass(frozen=True, eq=False)
class InfluenceSample:
    """The rows whose influence gives the errors: ``share (i,)`` of a mean, ``square (i,)`` of a variance.

    ``rows`` is how many rows they stand for.
    """

    share: Floats
    square: Floats
    rows: int

    @classmethod
    def of(cls, sample: Sample, total: float, rows: int) -> InfluenceSample:
        """Weigh a sample of ``rows`` rows such that means and variances over it estimate those over all."""
        # A row stands for squares / w^2 rows like it, each of which counts w in a mean.
        counted = sample.squares if sample.weights is None else sample.squares / sample.weights
        return cls(counted / counted.sum(), sample.squares / total**2, rows)

    def centered(self, functions: Floats) -> Floats:
        """Return functions ``(..., i)`` minus their means."""
        return functions - (functions @ self.share)[..., None]

    def error(self, influence: Floats) -> Floats:
        """Return the standard error of statistics from their influence ``(..., i)``; NaN of a single row."""
        if self.rows < 2:
            return np.full(influence.shape[:-1], np.nan)
        variance = self.centered(influence) ** 2 @ self.square
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

        A numerator that is not above ``zero (o,)`` is set to zero, for certain if there is more than one row.
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
        """Return numerators that are zero by construction, for certain if there is more than one row."""
        denominator = np.where(np.isfinite(denominator), denominator, np.nan)
        denominator = np.where((denominator <= zero) & np.isfinite(zero), 0.0, denominator)
        certain = np.full(denominator.shape, 0.0 if self.rows > 1 else np.nan)
        unknown = np.where((denominator > 0) | np.isfinite(zero), certain, np.nan)
        return Ratio(np.zeros(denominator.shape), denominator, certain, unknown)


@dataclass(frozen=True, eq=False)
class FeatureCurves:
    """The curves of the influence rows over one feature, ``(o, g, i)``, and the point of each."""

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
