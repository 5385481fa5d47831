"""Strengths of any model from its predictions: every row with the values of every other."""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from paribus._budget import FLOAT, format_bytes
from paribus._contracts import Floats
from paribus._data.rows import Block, Parts
from paribus._data.sampling import Sample
from paribus._evaluators.brute_force import BruteForce
from paribus._evaluators.interactions.effect_moments import (
    EffectMoments,
    JointMoments,
    ZeroThresholds,
    ratios_of,
    strongest_triples,
)
from paribus._evaluators.interactions.influence import FeatureCurves, InfluenceSample
from paribus._evaluators.interactions.interaction_request import InteractionPasses, InteractionRequest
from paribus._evaluators.interactions.interaction_statistics import InteractionStatistics
from paribus._evaluators.request import EvaluationRequest, Fold, Passes
from paribus._evaluators.trees.leaf_boxes import parts_of
from paribus._grid import ObservedValues
from paribus._models import Model
from paribus._states import Keyed
from paribus._states.overflow import ignore_fp_errors

Group = tuple[int, ...]
TRIPLE_PARTS = 4  # sets of two features or three that are evaluated for a triple


@dataclass(frozen=True, eq=False)
class GroupSums:
    """One group of features: mean squares ``(2, o)``, functions and inner influence ``(2, o, i)``."""

    squares: Floats
    functions: Floats
    inner: Floats
    predictions: int

    def merge(self, other: Self) -> Self:
        """Refuse: a group is evaluated in one block."""
        raise AssertionError("a group was evaluated twice")


@dataclass(frozen=True, eq=False)
class GroupPredictions:
    """Estimates of some groups, None of none, and how many rows were predicted."""

    joint: JointMoments | None
    predictions: int


@dataclass(frozen=True, eq=False)
class CrossedRows:
    """Evaluates groups of features, all rows at a time, and keeps their sums.

    ``single`` has the curves of each feature; groups are of positions among them.
    """

    brute: BruteForce
    features: tuple[int, ...]
    groups: tuple[Group, ...]
    single: tuple[FeatureCurves, ...]
    share: Floats

    def evaluate(self, block: Block) -> Keyed:
        """Return what is found of the block's groups, whose rows are predicted together."""
        with ignore_fp_errors():
            groups = [self.groups[number] for number in block.questions]
            grids = [grid for one in groups for grid in self._grids(block, one)]
            curves = iter(curves_of(self.brute, block, grids))
            found = [self._group(one, curves) for one in groups]
            return Keyed({("group", number): one for number, one in zip(block.questions, found, strict=True)})

    def _grids(self, block: Block, group: Group) -> Iterator[ObservedValues]:
        """Yield a grid for each part of a group that has several features."""
        for part, _ in parts_of(group):
            if len(part) > 1:
                yield ObservedValues.of(block.table, tuple(self.features[group[way]] for way in part))

    def _group(self, group: Group, together: Iterator[FeatureCurves]) -> GroupSums:
        curves = {
            part: self.single[group[part[0]]] if len(part) == 1 else next(together)
            for part, _ in parts_of(group)
        }
        values = {part: (one.curves @ self.share)[:, one.point] for part, one in curves.items()}
        whole = tuple(range(len(group)))
        interaction = sum(sign * values[part] for part, sign in parts_of(group))
        functions = np.stack([np.asarray(interaction), values[whole]])
        functions -= (functions @ self.share)[..., None]
        weighed = functions * self.share
        inner = np.stack([np.zeros_like(weighed[0]), curves[whole].as_rest(weighed[1:])[0]])
        for part, sign in parts_of(group):
            inner[0] += sign * curves[part].as_rest(weighed[:1])[0]
            if len(part) == 1:  # which is counted with the feature itself
                inner[1] -= curves[part].as_rest(weighed[1:])[0]
        predicted = sum(one.curves[0].size for part, one in curves.items() if len(part) > 1)
        return GroupSums(functions**2 @ self.share, functions, inner, predicted)


def curves_of(brute: BruteForce, block: Block, grids: Sequence[ObservedValues]) -> list[FeatureCurves]:
    """Return the predictions of every row of a block at every point of each grid, ``(o, g, i)``."""
    several = BruteForce(brute.model, replace(brute.request, grids=tuple(grids)), brute.scratch)
    whole = Block(block.table, block.weights, block.start, tuple(range(len(grids))))
    state = several.evaluate(whole)
    curves = (state.parts["curves", number].finish() for number in range(len(grids)))
    return [FeatureCurves(one.swapaxes(1, 2), grid.point) for one, grid in zip(curves, grids, strict=True)]


@dataclass(frozen=True, eq=False)
class BruteInteractions(InteractionPasses):
    r"""The definition itself, for any model, at the rows themselves.

    The effect of S at row i averages over the rows k the prediction for k with the values of i in S. All
    of them together are a matrix of n x n predictions per set of features. Its other mean, over i, is the
    effect of all features *but* S, so that what a prediction loses without a feature costs nothing more.
    """

    model: Model
    request: InteractionRequest

    name: ClassVar[str] = "brute"
    shortcut: ClassVar[bool] = False
    threaded: ClassVar[bool] = False
    how: ClassVar[str] = "evaluates the model for every row with the values of every other row"

    @classmethod
    def build(cls, model: Model, request: InteractionRequest) -> BruteInteractions:
        """Prepare to predict every row with the values of every other."""
        return cls(model, request)

    def memory(self, threads: int) -> int:
        """Return the memory it takes at most."""
        return self.held_bytes + threads * self.worker_bytes

    def shortage(self, needed: float) -> str:
        """Return what to say where the memory bound is below what is ``needed``."""
        request = self.request
        return (
            f"{len(request.rows)} rows crossed with each other in {len(request.features)} features need "
            f"{format_bytes(needed)} and max_memory is {format_bytes(request.max_memory)}. Raise max_memory, "
            "name fewer features, or pass a smaller subsample="
        )

    def fallback(self, short: str) -> str | None:
        """Warn before rows are drawn, or crossed with each other, because trees are short of memory."""
        rows, whole = self.request.rows.n_weighted, self.request.drawn_from
        drawn = f" on {rows:,} rows drawn from {whole:,}" if whole is not None and rows < whole else ""
        return (
            f"max_memory is too small for the shortcut, so the model is evaluated{drawn}, every row with the "
            f"values of every other: about {rows:,} predictions for each row and pair ({short})"
        )

    @property
    def predictions(self) -> int:
        """Rows the model will predict at most."""
        rows, sets = len(self.request.rows), len(self.request.pairs) + TRIPLE_PARTS * self._triples
        return self._single_predictions + sets * rows * rows

    @property
    def _triples(self) -> int:
        return math.comb(min(self.request.threeway, len(self.request.features)), 3)

    @property
    def calls(self) -> int:
        """Number of predicts at most."""
        square, most, calls = len(self.request.rows) ** 2, self._brute.call_rows, self._brute.calls
        for groups, parts in ((len(self.request.pairs), 1), (self._triples, TRIPLE_PARTS)):
            together = self._groups_together(triples=parts > 1)
            calls += -(-groups // together) * max(1, -(-parts * square // most))
        return calls

    @property
    def _single_predictions(self) -> int:
        return len(self.request.rows) * sum(grid.n_points for grid in self._singles)

    @property
    def error_rows(self) -> int:
        """Every row: its predictions are known anyway."""
        return len(self.sample.numbers)

    @property
    def sample(self) -> Sample:
        """Every row: its predictions are known anyway."""
        return self.request.rows.sample(len(self.request.rows), self.request.seed)

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
            cut=self.request.cut,
            few_calls=self.request.few_calls,
        )
        return BruteForce(self.model, request)

    @property
    def held_bytes(self) -> int:
        """The curves of every row over each feature, twice while they are joined, and functions of pairs."""
        curves = sum(grid.n_points for grid in self._singles) + 8 * len(self.request.pairs)
        return 2 * FLOAT * curves * len(self.request.rows) * self.model.n_outputs

    @property
    def worker_bytes(self) -> int:
        """The curves of every row over one group of features, twice while they are joined, and a predict."""
        rows = len(self.request.rows)
        parts = (5 if self.request.threeway else 2) * self._groups_together(
            triples=bool(self.request.threeway)
        )
        return parts * FLOAT * rows * rows * self.model.n_outputs + self._brute.call_bytes

    def _groups_together(self, *, triples: bool) -> int:
        """Return how many groups of features are predicted together: several where calls are dear."""
        each = len(self.request.rows) ** 2 * (TRIPLE_PARTS if triples else 1)
        return max(1, self._brute.call_rows // max(1, each)) if self._brute.batched else 1

    @property
    def block_rows(self) -> int:
        """Number of rows per call."""
        return self._brute.block_rows

    def _fold(self, name: str, evaluator: Any, block_rows: int, parts: Parts) -> Fold:
        settings = (self.request.settings, self.sample.numbers)
        return Fold(name, evaluator, block_rows, parts, settings)

    def passes(self, threads: int) -> Passes:
        """Evaluate single features, then groups, and square."""
        state = yield self._fold("curves", self._brute, self._brute.block_rows, self._brute.parts)
        estimates = self._brute.finish(state)
        single = tuple(
            FeatureCurves(np.ascontiguousarray(estimate.individual.swapaxes(1, 2)), grid.point)
            for estimate, grid in zip(estimates, self._singles, strict=True)
            if estimate.individual is not None
        )
        witnesses = InfluenceSample.of(self.sample, self.request.rows.total, self.request.rows.n_weighted)
        with ignore_fp_errors():
            evidence, predictions = self._evidence(single, witnesses.share)
        precision = {"single": self.model.is_float32, "single_own": self.model.is_float32}
        zero = ZeroThresholds.of(evidence.variance, predictions, **precision)
        pairs = yield from self._joint("pairs", self.request.pairs, single, witnesses)
        ratios = ratios_of(evidence, pairs.joint, witnesses, zero, 1)
        triples = strongest_triples(ratios, len(single), self.request.threeway)
        three = yield from self._joint("triples", triples, single, witnesses)
        threeway = ratios_of(evidence, three.joint, witnesses, zero, 1).get("joint") if triples else None
        return InteractionStatistics(
            zero.above(evidence.variance),
            ratios["main"],
            ratios.get("left_out"),
            ratios.get("joint"),
            ratios.get("overall"),
            ratios.get("total"),
            threeway,
            triples,
            self._single_predictions + pairs.predictions + three.predictions,
            zero.own,
        )

    def _evidence(self, single: tuple[FeatureCurves, ...], share: Floats) -> tuple[EffectMoments, Floats]:
        """Read the effects of single features off their curves, and the predictions off one of them."""
        rows = np.arange(len(share))
        full = single[0].curves[:, single[0].point, rows]
        effect = np.stack([(one.curves @ share)[:, one.point] for one in single])
        # The mean over the values of the feature, each as often as rows have it, of each row's own curve.
        often = [np.bincount(one.point, share, minlength=one.curves.shape[1]) for one in single]
        loss = np.stack([full - o @ one.curves for one, o in zip(single, often, strict=True)])
        effect = effect - (effect @ share)[..., None]
        loss = loss - (loss @ share)[..., None]
        centered = full - (full @ share)[:, None]
        rest = centered - effect.sum(axis=0)
        overall, every = self.request.overall, self.request.every_column
        evidence = EffectMoments(
            variance=centered**2 @ share,
            main=effect**2 @ share,
            lost=loss**2 @ share if overall else None,
            overall=(loss - effect) ** 2 @ share if overall else None,
            total=rest**2 @ share if overall and every else None,
            full=centered,
            effect=effect,
            loss=loss if overall else None,
            single=single.__getitem__,
        )
        return evidence, full.T

    def _joint(
        self,
        name: str,
        groups: tuple[Group, ...],
        single: tuple[FeatureCurves, ...],
        witnesses: InfluenceSample,
    ) -> Generator[Fold, Keyed, GroupPredictions]:
        """Evaluate groups of features, all rows at a time."""
        if not groups:
            return GroupPredictions(None, 0)
        crossing = CrossedRows(self._brute, self.request.features, groups, single, witnesses.share)
        together = self._groups_together(triples=len(groups[0]) > 2)
        numbers = tuple(range(len(groups)))
        several = (numbers[first : first + together] for first in range(0, len(groups), together))
        parts = tuple((some, len(some) * len(self.request.rows)) for some in several)
        state = yield self._fold(name, crossing, len(self.request.rows), parts)
        found = [state.parts["group", number] for number in range(len(groups))]
        joint = JointMoments.of(
            groups,
            [one.squares for one in found],
            [one.functions for one in found],
            [one.inner for one in found],
        )
        return GroupPredictions(joint, sum(one.predictions for one in found))
