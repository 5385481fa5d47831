"""Interactions from predictions of every row with the feature values of every other row."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from paribus._budget import FLOAT, format_bytes
from paribus._contracts import Floats
from paribus._data.rows import ONE_PART, Block, Parts, Rows
from paribus._data.samples import Sample
from paribus._evaluators.interactions.effect_moments import (
    EffectMoments,
    JointMoments,
    ZeroThresholds,
    interaction_p_values,
    ratios_of,
    strongest_triples,
    variance_shares,
)
from paribus._evaluators.interactions.requests import (
    FeatureCurves,
    InfluenceSample,
    InteractionPasses,
    InteractionStatistics,
)
from paribus._evaluators.request import Fold, Passes
from paribus._evaluators.trees.leaf_boxes import parts_of
from paribus._models import Model
from paribus._states import Keyed
from paribus._states.sums import ignore_fp_errors

Group = tuple[int, ...]
TRIPLE_PARTS = 4  # sets of two or three features that are evaluated for a triple


class CrossPredictor(Protocol):
    """Predictor of every row of a block with the values of every other row."""

    def curves(self, block: Block, sets: Sequence[Group]) -> list[FeatureCurves]:
        """Return the predictions ``(o, g, i)`` at the values that rows have in each set of columns."""
        ...


@dataclass(frozen=True, eq=False)
class GroupSums:
    """One group of features: mean squares ``(2, o)``, functions and inner influence ``(2, o, i)``.

    ``crossed`` is the number of rows that were predicted for the group.
    """

    squares: Floats
    functions: Floats
    inner: Floats
    crossed: int

    def merge(self, other: Self) -> Self:
        """Raise an error, because a group is evaluated in one block."""
        raise AssertionError("a group was evaluated twice")


@dataclass(frozen=True, eq=False)
class CrossedGroups:
    """Moments of some groups, None without groups, and the number of rows predicted for them."""

    joint: JointMoments | None
    crossed: int


@dataclass(frozen=True, eq=False)
class CrossedRows:
    """Evaluator of groups of features, with all rows in one block.

    ``single`` has the curves of each feature; groups are of positions among them.
    """

    predictor: CrossPredictor
    features: tuple[int, ...]
    groups: tuple[Group, ...]
    single: tuple[FeatureCurves, ...]
    share: Floats

    def evaluate(self, block: Block) -> Keyed:
        """Return the sums of the block's groups, whose rows are predicted together."""
        with ignore_fp_errors():
            groups = [self.groups[number] for number in block.questions]
            curves = iter(
                self.predictor.curves(block, [one for group in groups for one in self._sets(group)])
            )
            found = [self._group(one, curves) for one in groups]
            return Keyed({("group", number): one for number, one in zip(block.questions, found, strict=True)})

    def _sets(self, group: Group) -> Iterator[Group]:
        """Yield the columns of each part of a group that has several features."""
        for part, _ in parts_of(group):
            if len(part) > 1:
                yield tuple(self.features[group[way]] for way in part)

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
            if len(part) == 1:  # counted with the single feature
                inner[1] -= curves[part].as_rest(weighed[1:])[0]
        crossed = sum(one.curves[0].size for part, one in curves.items() if len(part) > 1)
        return GroupSums(functions**2 @ self.share, functions, inner, crossed)


class CrossedInteractions(InteractionPasses):
    r"""Interactions by their definition, at the observed rows.

    The effect of S at row i is the average over rows k of the prediction for k with the values of i in S.
    This takes a matrix of n x n predictions per set of features. The mean of the matrix over i is the effect
    of all features *but* S, so that the change without a feature needs no further predictions.
    """

    model: Model

    crosses: ClassVar[bool] = True

    @property
    @abstractmethod
    def predictor(self) -> CrossPredictor:
        """Predictor of every row with the values of every other row."""

    @property
    def rounds_to_single(self) -> bool:
        """Whether predictions may have been rounded to single precision."""
        return False

    @abstractmethod
    def singles(self) -> Generator[Fold, Keyed, tuple[FeatureCurves, ...]]:
        """Evaluate single features."""

    def predicted(self, crossed: int) -> int:
        """Return how many rows the model predicted, if groups were evaluated for ``crossed`` rows."""
        return 0

    def memory(self, threads: int) -> int:
        """Return the maximum memory."""
        return self.held_bytes + threads * self.worker_bytes

    def shortage(self, needed: float) -> str:
        """Return the error message if ``max_memory`` is below the ``needed`` bytes."""
        request = self.request
        return (
            f"{len(request.rows)} rows crossed with each other in {len(request.features)} features need "
            f"{format_bytes(needed)} and max_memory is {format_bytes(request.max_memory)}. Raise max_memory "
            "of Explainer, name fewer features, or pass a smaller subsample="
        )

    @property
    def n_triples(self) -> int:
        """Maximum number of triples."""
        return math.comb(min(self.request.threeway, len(self.request.features)), 3)

    @property
    def sample(self) -> Sample:
        """All rows, because all of their predictions are known."""
        return self.request.rows.sample(len(self.request.rows), self.request.seed)

    @property
    def functions_bytes(self) -> int:
        """Memory of the effects of all pairs at the rows."""
        return 16 * FLOAT * self.request.n_pairs * len(self.request.rows) * self.model.n_outputs

    def fold(self, name: str, evaluator: Any, block_rows: int, parts: Parts = ONE_PART) -> Fold:
        """Return a pass over the rows."""
        settings = (self.request.settings, self.sample.numbers)
        return Fold(name, evaluator, block_rows, parts, settings)

    def passes(self, threads: int) -> Passes:
        """Evaluate single features, then pairs, then triples, and return the statistics."""
        single = yield from self.singles()
        influence_rows = InfluenceSample.of(
            self.sample, self.request.rows.total, self.request.rows.n_weighted
        )
        with ignore_fp_errors():
            evidence, predictions = self._evidence(single, influence_rows.share)
        precision = {"single": self.rounds_to_single, "single_own": self.rounds_to_single}
        zero = ZeroThresholds.of(evidence.variance, predictions, **precision)
        chosen = self._pairs(evidence, zero)
        pairs = yield from self._joint("pairs", chosen, single, influence_rows)
        ratios = ratios_of(evidence, pairs.joint, influence_rows, zero, threads)
        together = None if pairs.joint is None else pairs.joint.interaction.sum(axis=0)
        explained = variance_shares(ratios["rest"], evidence, together, influence_rows, zero)
        triples = strongest_triples(ratios, len(single), self.request.threeway)
        three = yield from self._joint("triples", triples, single, influence_rows)
        threeway = (
            ratios_of(evidence, three.joint, influence_rows, zero, threads).get("joint") if triples else None
        )
        return InteractionStatistics(
            zero.above(evidence.variance),
            ratios["main"],
            explained,
            ratios.get("left_out"),
            ratios.get("joint"),
            ratios.get("overall"),
            ratios["rest"] if self.request.has_total else None,
            threeway,
            triples,
            self.predicted(pairs.crossed + three.crossed),
            zero.own,
            chosen,
            interaction_p_values(evidence, self._observed(), influence_rows, zero),
        )

    def _observed(self) -> Floats | None:
        """Return the target of the rows as numbers ``(o, i)``, None without one."""
        rows, outcome = self.request.rows, self.request.outcome
        if outcome is None or not isinstance(rows, Rows) or rows.target is None:
            return None
        return np.ascontiguousarray(outcome.numbers(rows.target).T)

    def _pairs(self, evidence: EffectMoments, zero: ZeroThresholds) -> tuple[tuple[int, int], ...]:
        """Return every pair, or the pairs of the features that interact most with all others together."""
        request = self.request
        if request.paired is None or request.paired >= len(request.features):
            return request.pairs
        assert evidence.overall is not None
        # Rounding errors are not ranked.
        strong = np.nan_to_num(evidence.overall) * (evidence.overall > zero.own)
        together = strong.sum(axis=1)
        kept = set(np.argsort(-together, kind="stable")[: request.paired].tolist())
        return tuple(pair for pair in request.pairs if kept.issuperset(pair))

    def _evidence(self, single: tuple[FeatureCurves, ...], share: Floats) -> tuple[EffectMoments, Floats]:
        """Return the effects of single features from their curves, and the predictions of rows."""
        rows = np.arange(len(share))
        full = single[0].curves[:, single[0].point, rows]
        effect = np.stack([(one.curves @ share)[:, one.point] for one in single])
        # Weight of each value of the feature, for the weighted mean of the curve of each row.
        often = [np.bincount(one.point, share, minlength=one.curves.shape[1]) for one in single]
        loss = np.stack([full - o @ one.curves for one, o in zip(single, often, strict=True)])
        effect = effect - (effect @ share)[..., None]
        loss = loss - (loss @ share)[..., None]
        centered = full - (full @ share)[:, None]
        rest = centered - effect.sum(axis=0)
        overall = self.request.overall
        evidence = EffectMoments(
            variance=centered**2 @ share,
            main=effect**2 @ share,
            lost=loss**2 @ share if overall else None,
            overall=(loss - effect) ** 2 @ share if overall else None,
            rest=rest**2 @ share,
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
        influence_rows: InfluenceSample,
    ) -> Generator[Fold, Keyed, CrossedGroups]:
        """Evaluate groups of features, with all rows in one block."""
        if not groups:
            return CrossedGroups(None, 0)
        crossing = CrossedRows(self.predictor, self.request.features, groups, single, influence_rows.share)
        parts = tuple(((number,), len(self.request.rows)) for number in range(len(groups)))
        state = yield self.fold(name, crossing, len(self.request.rows), parts)
        found = [state.parts["group", number] for number in range(len(groups))]
        joint = JointMoments.of(
            groups,
            [one.squares for one in found],
            [one.functions for one in found],
            [one.inner for one in found],
        )
        return CrossedGroups(joint, sum(one.crossed for one in found))
