"""Interactions of additive models, and by brute force."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from paribus._budget import AHEAD, FLOAT, format_bytes
from paribus._contracts import Floats, Integers
from paribus._data.rows import Block
from paribus._data.samples import Sample
from paribus._evaluators.additive_exact import additive_of, terms_of
from paribus._evaluators.brute_force import BruteForce
from paribus._evaluators.interactions.crossed_interactions import TRIPLE_PARTS, CrossedInteractions, Group
from paribus._evaluators.interactions.effect_moments import ZeroThresholds, strongest_triples
from paribus._evaluators.interactions.requests import (
    ExactInteractions,
    FeatureCurves,
    InfluenceSample,
    InteractionRequest,
    InteractionStatistics,
    Ratio,
    VarianceShares,
)
from paribus._evaluators.request import EvaluationRequest, Fold, Passes
from paribus._grid import ObservedValues
from paribus._models import Model
from paribus._models.additive import Additive
from paribus._states import Counts, Keyed, RowCurves
from paribus.errors import RefusalCode, RefusalError

BLOCK_ROWS = 16_384
BLOCKS = 4  # minimum number of blocks of a table, for threads
WITNESSES, LEAST = 4_096, 64  # rows whose influence gives standard errors, with a relative error of 5 %


@dataclass(frozen=True, eq=False)
class TermSums:
    """First pass over the rows: sums of terms, and the terms of sampled rows."""

    additive: Additive
    features: tuple[int, ...]
    sample: Integers

    def evaluate(self, block: Block) -> Keyed:
        """Return the sums of a block, and the terms of its sampled rows."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        terms = functions_of(self.additive, self.features, block)
        weights = np.ones(len(block.table)) if block.weights is None else block.weights
        kept = terms[..., np.isin(block.positions, self.sample)]
        return Keyed(
            {
                ("weight", 0): Counts(np.array([weights.sum()])),
                ("sums", 0): Counts(terms @ weights),
                ("sample", 0): RowCurves(((block.start, kept.reshape(-1, kept.shape[-1])),)),
            }
        )


@dataclass(frozen=True, eq=False)
class TermProducts:
    """Second pass over the rows: sums of products of all pairs of terms, minus ``center (f + 1, m)``."""

    additive: Additive
    features: tuple[int, ...]
    center: Floats

    def evaluate(self, block: Block) -> Keyed:
        """Return the sums of a block."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        centered = functions_of(self.additive, self.features, block) - self.center[..., None]
        weighed = centered if block.weights is None else centered * block.weights
        products = weighed.swapaxes(0, 1) @ centered.transpose(1, 2, 0)
        return Keyed({("products", 0): Counts(products)})


def functions_of(additive: Additive, features: tuple[int, ...], block: Block) -> Floats:
    """Return the terms of some features, and the margins last, ``(f + 1, m, i)``."""
    terms = terms_of(additive, features, block)
    return np.concatenate([terms[:-2], additive.outputs(additive.rest(terms, []))[None]])


@dataclass(frozen=True, eq=False)
class AdditiveInteractions(ExactInteractions):
    r"""Strengths of a sum of terms on every row; its features do not interact.

    The effect of a feature is its centered term, :math:`F_j = g_j - \langle g_j \rangle`, which is also the
    change of the prediction without the feature. The effect of a group is the sum of these. The first pass
    computes means, the second one products of centered terms.
    """

    model: Model
    request: InteractionRequest
    additive: Additive

    name: ClassVar[str] = "additive_exact"
    structure: ClassVar[type | None] = Additive
    how: ClassVar[str] = "exact, from the terms of the model"

    @classmethod
    def build(cls, model: Model, request: InteractionRequest) -> AdditiveInteractions:
        """Return the evaluator, or refuse a nonlinear link, with which all features interact."""
        additive = additive_of(model, request.features)
        if not additive.link.linear:
            raise RefusalError(
                f"{model.response} is not a sum of terms, so rows are crossed with each other; "
                "response_method='decision_function', where the model has one, is exact on all rows",
                RefusalCode.NONLINEAR_LINK,
            )
        return cls(model, request, additive)

    @cached_property
    def sample(self) -> Sample:
        """The rows whose influence gives the standard errors."""
        size = max(LEAST, min(WITNESSES, len(self.request.rows)))
        return self.request.rows.sample(size, self.request.seed)

    @property
    def block_rows(self) -> int:
        """Rows per block: few enough for several threads."""
        return int(max(1, min(BLOCK_ROWS, -(-len(self.request.rows) // BLOCKS))))

    @property
    def _numbers(self) -> int:
        """Number of terms and margins of a row."""
        return (len(self.request.features) + 1) * self.additive.n_margins

    @property
    def held_bytes(self) -> int:
        """Memory of waiting states, effects at the influence rows, and statistics of pairs."""
        levels = math.ceil(math.log2(max(2, len(self.request.rows) / self.block_rows))) + 2
        products = self._numbers * (len(self.request.features) + 1)
        pairs = 8 * self.request.n_results * self.additive.n_margins
        return int(FLOAT * (levels * products + 6 * self._numbers * len(self.sample.numbers) + pairs))

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: its columns, terms, and copies of them."""
        rows = min(self.block_rows, len(self.request.rows))
        # Blocks wait for a thread while others are read.
        read = 0 if self.request.rows.in_memory else (1 + AHEAD) * self.request.rows.table.row_bytes
        terms = FLOAT * (4 * self._numbers + 6 * self.additive.n_margins)
        return int(rows * (read + terms + self.additive.prepared_bytes))

    def shortage(self, needed: float) -> str:
        """Return the error message if ``max_memory`` is below the ``needed`` bytes."""
        return (
            f"terms of {len(self.request.features)} features of every row need {format_bytes(needed)} and "
            f"max_memory is {format_bytes(self.request.max_memory)}. Raise max_memory of Explainer, name "
            "fewer features, or pass subsample="
        )

    def passes(self, threads: int) -> Passes:
        """Yield a pass for means, then one for products of centered terms."""
        summing = TermSums(self.additive, self.request.features, self.sample.numbers)
        settings = self.request.settings, self.sample.numbers
        state = yield Fold("terms", summing, self.block_rows, settings=settings)
        total = float(state.parts["weight", 0].cells[0])
        center = state.parts["sums", 0].cells / total
        multiplying = TermProducts(self.additive, self.request.features, center)
        found = yield Fold("products", multiplying, self.block_rows, settings=settings)
        products = found.parts["products", 0].cells / total
        return self._statistics(products, state.parts["sample", 0].finish().reshape(*center.shape, -1))

    def _statistics(self, products: Floats, functions: Floats) -> InteractionStatistics:
        """Return the statistics from products ``(m, f + 1, f + 1)``, and effects at influence rows."""
        rows, request = self.request.rows, self.request
        influence_rows = InfluenceSample.of(self.sample, rows.total, rows.n_weighted)
        variance = products[:, -1, -1]
        zero = ZeroThresholds.of(variance, functions[-1].T, single=False, single_own=False)
        squares = influence_rows.centered(functions) ** 2
        every = range(len(request.features))
        main = np.stack([products[:, j, j] for j in every])
        spread = np.broadcast_to(variance, main.shape)
        share = main, spread, squares[:-1], squares[-1]
        ratios = {"main": influence_rows.ratio(*share, zero.averages)}
        if request.overall:
            left_out = influence_rows.ratio(*share, zero.own)
            ratios["left_out"] = replace(left_out, added_error=np.zeros(spread.shape))
            ratios["overall"] = self._none(spread, zero)
            if request.every_column:
                ratios["total"] = self._none(variance[None], zero)
        if request.pairwise:
            ratios["joint"] = self._none(_group_mean_squares(products, request.pairs), zero)
        explained = self._explained(products, functions, influence_rows, zero)
        triples = strongest_triples(ratios, len(every), request.threeway)
        return InteractionStatistics(
            zero.above(variance),
            ratios["main"],
            explained,
            ratios.get("left_out"),
            ratios.get("joint"),
            ratios.get("overall"),
            ratios.get("total"),
            self._none(_group_mean_squares(products, triples), zero) if triples else None,
            triples,
            floor=zero.own,
            p_values=np.ones(main.shape) if request.overall and request.outcome is not None else None,
        )

    def _explained(
        self, products: Floats, functions: Floats, influence_rows: InfluenceSample, zero: ZeroThresholds
    ) -> VarianceShares:
        """Return the share of the variance that the terms of these features reproduce; pairs add nothing."""
        variance, sign = products[:, -1, -1], np.append(-np.ones(len(self.request.features)), 1.0)
        left = np.einsum("j,mjk,k->m", sign, products, sign)
        if self.request.every_column:
            left = np.zeros_like(left)
        rest = np.einsum("j,jmi->mi", sign, influence_rows.centered(functions))
        square = influence_rows.centered(functions[-1]) ** 2
        found = influence_rows.ratio(left[None], variance[None], rest[None] ** 2, square[None], zero.own)
        known = np.where(found.denominator[0] > 0, found.share[0], np.nan)
        nothing = np.zeros_like(known) if self.request.pairwise else None
        return VarianceShares(1 - known, found.ratio_error[0], nothing, nothing)

    def _none(self, squares: Floats, zero: ZeroThresholds) -> Ratio:
        """Return interactions of zero, with the mean squares that are their denominators."""
        error = np.full(squares.shape, 0.0 if self.request.rows.n_weighted > 1 else np.nan)
        squares = np.where(squares <= zero.averages, 0.0, squares)
        return Ratio(np.zeros(squares.shape), squares, error, error)


def _group_mean_squares(products: Floats, groups: tuple[tuple[int, ...], ...]) -> Floats:
    """Return the mean squares ``(t, m)`` of the sums of effects in each group of features."""
    squares = [products[:, group][:, :, group].sum(axis=(1, 2)) for group in map(list, groups)]
    return np.array(squares).reshape(-1, len(products))


@dataclass(frozen=True, eq=False)
class BruteCurves:
    """Predictor of every row with the values of every other row, by the model."""

    brute: BruteForce

    def curves(self, block: Block, sets: Sequence[Group]) -> list[FeatureCurves]:
        """Return the predictions ``(o, g, i)`` at the values that rows have in each set of columns."""
        grids = tuple(ObservedValues.of(block.table, features) for features in sets)
        several = BruteForce(self.brute.model, replace(self.brute.request, grids=grids), self.brute.scratch)
        whole = Block(block.table, block.weights, block.start, tuple(range(len(grids))))
        state = several.evaluate(whole)
        found = (state.parts["curves", number].finish() for number in range(len(grids)))
        return [FeatureCurves(one.swapaxes(1, 2), grid.point) for one, grid in zip(found, grids, strict=True)]


@dataclass(frozen=True, eq=False)
class BruteInteractions(CrossedInteractions):
    """Interactions by their definition, for any model."""

    model: Model
    request: InteractionRequest

    name: ClassVar[str] = "brute"
    shortcut: ClassVar[bool] = False
    threaded: ClassVar[bool] = False
    how: ClassVar[str] = "by brute force, a prediction for each pair of rows"

    @property
    def predictions(self) -> int:
        """Maximum number of rows that the model predicts."""
        rows, sets = len(self.request.rows), self.request.n_pairs + TRIPLE_PARTS * self.n_triples
        return self._single_predictions + sets * rows * rows

    @property
    def _single_predictions(self) -> int:
        return len(self.request.rows) * sum(grid.n_points for grid in self._singles)

    @cached_property
    def _singles(self) -> tuple[ObservedValues, ...]:
        return tuple(
            ObservedValues.of(self.request.rows.table, (feature,)) for feature in self.request.features
        )

    @cached_property
    def _brute(self) -> BruteForce:
        rows = self.request.rows
        request = EvaluationRequest(
            self._singles,
            "individual",
            len(rows),
            rows.n_weighted,
            rows.table.row_bytes,
            self.request.max_memory,
            self.request.threads,
            rows.weighted,
        )
        return BruteForce(self.model, request)

    @property
    def held_bytes(self) -> int:
        """Memory of the curves over each feature, twice while joined, and of effects of pairs."""
        curves = sum(grid.n_points for grid in self._singles) * len(self.request.rows) * self.model.n_outputs
        return 2 * FLOAT * curves + self.functions_bytes

    @property
    def worker_bytes(self) -> int:
        """Memory of the curves over one group of features, twice while joined, and of a call."""
        rows = len(self.request.rows)
        parts = 5 if self.request.threeway else 2 * bool(self.request.n_pairs)
        return parts * FLOAT * rows * rows * self.model.n_outputs + self._brute.call_bytes

    @property
    def block_rows(self) -> int:
        """Rows per block."""
        return self._brute.block_rows

    @property
    def predictor(self) -> BruteCurves:
        """The model itself."""
        return BruteCurves(self._brute)

    @property
    def rounds_to_single(self) -> bool:
        """Whether the model predicts in single precision."""
        return self.model.is_float32

    def predicted(self, crossed: int) -> int:
        """Return how many rows the model predicted: for single features, and for groups."""
        return self._single_predictions + crossed

    def singles(self) -> Generator[Fold, Keyed, tuple[FeatureCurves, ...]]:
        """Yield a pass that predicts single features, and return their curves."""
        state = yield self.fold("curves", self._brute, self._brute.block_rows, self._brute.parts)
        estimates = self._brute.finish(state)
        return tuple(
            FeatureCurves(np.ascontiguousarray(estimate.individual.swapaxes(1, 2)), grid.point)
            for estimate, grid in zip(estimates, self._singles, strict=True)
            if estimate.individual is not None
        )
