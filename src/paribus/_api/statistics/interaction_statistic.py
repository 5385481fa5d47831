"""Friedman and Popescu's H-statistics, and importance by effect."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, ClassVar, TypeVar

import numpy as np

from paribus._api.combine import combine_facts, label, mean_statistics
from paribus._api.cost import PredictionBudget, bound_note, share_of_largest
from paribus._api.run import (
    Fact,
    ModelEstimates,
    Needed,
    Rounds,
    RunContext,
    Steps,
    Verification,
    both_ways,
    each_model,
    evaluate_model,
)
from paribus._contracts import Floats
from paribus._data.features import Feature
from paribus._data.rows import Background, Rows
from paribus._evaluators.interactions import InteractionStatistics
from paribus._evaluators.interactions.crossed_interactions import TRIPLE_PARTS
from paribus._evaluators.interactions.requests import InteractionRequest
from paribus._evaluators.planner import Plan, PredictionBound, RowsNeededError, apart, within_rounding
from paribus._evaluators.survey import SummarySpec
from paribus._models import Model, structure_of
from paribus._models.combination import Combination
from paribus._typing import AUTO
from paribus.errors import FeatureError, OptionError, RefusalError
from paribus.notes import Note
from paribus.results import HStatistics, Importance, Provenance
from paribus.results.build_interactions import InteractionBuilder

VERIFIED = 40  # rows on which strengths of trees are compared with the definition
SUBSAMPLE = 500  # rows where they are crossed with each other, by default
STRONGEST_PAIRS = "strongest pairs"  # a fact: positions in the table, the strongest first
Pair = tuple[int, int]
Found = TypeVar("Found", HStatistics, Importance)


def crosses(model: Model) -> bool:
    """Return whether effects at every row need rows that are crossed with each other.

    They do not where outputs are a sum over leaves or terms, whose means follow from sums over the rows.
    """
    try:
        structure = structure_of(model)
    except RefusalError:
        return True
    return isinstance(structure, Combination) or not structure.link.linear


def _nothing() -> None:
    """Build no result."""


@dataclass(eq=False)
class PairRanking:
    """Mean squares of the interactions of pairs for each of several models, filled in while these are found.

    Pairs are of positions among ``features``, which are positions in the table.
    """

    features: tuple[int, ...]
    models: int
    _squares: dict[int, dict[Pair, float]] = field(default_factory=dict)

    @property
    def known(self) -> bool:
        """Whether every model has been seen."""
        return len(self._squares) == self.models

    def previewed(self, model: int, joint: Any) -> None:
        """Take what is known before the last pass: pairs that are not among them do not interact."""
        self.finished(model, joint.groups, joint.numerator)

    def finished(self, model: int, pairs: tuple[Pair, ...], squares: Floats) -> None:
        """Take the mean squares ``(t, o)`` of one model, unless they are known from before."""
        sums = np.nan_to_num(squares).sum(axis=1).tolist()
        self._squares.setdefault(model, dict(zip(pairs, sums, strict=True)))

    def strongest(self) -> tuple[Pair, ...]:
        """Return the pairs that interact, the largest sum of squares over outputs and models first."""
        totals: dict[Pair, float] = {}
        for squares in self._squares.values():
            for pair, square in squares.items():
                totals[pair] = totals.get(pair, 0.0) + square
        ordered = sorted((pair for pair, total in totals.items() if total > 0), key=lambda p: (-totals[p], p))
        return tuple((self.features[one], self.features[other]) for one, other in ordered)


@dataclass(frozen=True, eq=False)
class InteractionStatistic:
    """How much of a model is interaction, and between which features; or how much each feature matters."""

    verb: str
    features: tuple[int, ...]
    tokens: tuple[Feature, ...]
    size: int | str | None
    seed: int
    pairwise: bool = True
    overall: bool = True
    threeway: int = 0
    method: str = AUTO
    verify: bool = False
    max_predictions: int | None = None
    crossed_rows: int = SUBSAMPLE
    paired: int | None = None
    with_importance: bool = False
    varied: str | None = None
    ranks_pairs: bool = False
    only_crossed: bool = False
    _sampled: dict[tuple[RunContext, int], Rows] = field(default_factory=dict)

    wanted: ClassVar[Mapping[int, SummarySpec]] = {}
    needs_target: ClassVar[bool] = False
    needs_model: ClassVar[bool] = True

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seed of whatever is sampled."""
        return (self.seed,)

    @property
    def reads_trees(self) -> bool:
        """Whether the trees of a model are likely needed, so that they are read ahead."""
        return self.method != "brute"

    def statistics(self, context: RunContext) -> Rounds:
        """Return the statistics alone, for others that need them; those of several models are their mean."""
        budget = PredictionBudget.of(self.max_predictions, context, self.seed, self.verb)
        estimated = yield from each_model(
            [self._evaluated(context, index, budget) for index in range(len(context.models))]
        )
        found = [one.estimates[0] for one in estimated]
        return mean_statistics(found) if context.several else found[0]

    def evaluate(self, context: RunContext) -> Steps:
        """Evaluate every model as often as it takes.

        With ``only_crossed``, there is no result if no model needs rows that are crossed with each other.
        With ``ranks_pairs``, the strongest pairs are told as soon as they are known.
        """
        if self.only_crossed and not any(map(crosses, context.models)):
            return _nothing
        if self.varied is not None:
            features = yield Needed(self.varied)
            among = self.features if features is None else features
            return (yield from self._among(among).evaluate(context))
        budget = PredictionBudget.of(self.max_predictions, context, self.seed, self.verb)
        if self.threeway and context.several:
            raise OptionError(
                f"threeway={self.threeway} needs a single model, because the strongest triples of each "
                f"differ, but estimator is a list of {len(context.models)}; pass one model"
            )
        ranking = PairRanking(self.features, len(context.models))
        evaluating = [
            self._evaluated(context, index, budget, partial(ranking.previewed, index))
            for index in range(len(context.models))
        ]
        try:
            estimated = yield from self._ranked(each_model(evaluating), ranking)
        except FeatureError as error:
            raise FeatureError(f"{error}; or leave it out: name the others in features=") from error
        verified = None
        if self.verify:
            some = yield from context.subsample(VERIFIED, self.seed, self.verb)
            verified = [self._verified(context, one, some) for one in estimated]
        return partial(self._result, context, estimated, verified)

    def _ranked(self, rounds: Rounds, ranking: PairRanking) -> Steps:
        """Run rounds, and tell the strongest pairs once, as soon as they are known of every model."""
        states, told = None, not self.ranks_pairs
        while True:
            try:
                passes = rounds.send(states)  # type: ignore[arg-type]
            except StopIteration as done:
                estimated: list[ModelEstimates] = done.value
                break
            if ranking.known and not told:
                yield Fact(STRONGEST_PAIRS, ranking.strongest())
                told = True
            states = yield passes
        if not told:
            for index, one in enumerate(estimated):
                ratio, pairs = one.estimates[0].pairwise, one.estimates[0].pairs
                squares = np.zeros((0, 1)) if ratio is None else ratio.numerator
                ranking.finished(index, self._pairs if pairs is None else pairs, squares)
            yield Fact(STRONGEST_PAIRS, ranking.strongest())
        return estimated

    def _among(self, features: tuple[int, ...]) -> InteractionStatistic:
        """Return the statistics of those features that can be varied; a single one has no interactions."""
        kept = [one for one in zip(self.features, self.tokens, strict=True) if one[0] in features]
        chosen, tokens = (tuple(part) for part in zip(*kept, strict=True))
        pairwise = self.pairwise and len(chosen) > 1
        return replace(self, features=chosen, tokens=tokens, pairwise=pairwise, varied=None)

    def _evaluated(
        self,
        context: RunContext,
        index: int,
        budget: PredictionBudget | None,
        observe: Callable[[Any], None] | None = None,
    ) -> Rounds:
        model = context.models[index]
        estimated = yield from evaluate_model(
            context,
            model,
            partial(self._requested, context, self._bound(budget, model)),
            self.method,
            label(self.verb, index, len(context.models)),
            sample=partial(self._sample, context),
            observe=observe,
        )
        return estimated

    def _verified(self, context: RunContext, one: ModelEstimates, rows: Rows) -> float:
        """Compare with the definition on a few rows, all of which are crossed with each other."""
        assert one.model is not None
        few = replace(self._requested(context, None, None, rows), threeway=0, sampled_from=None)
        (exact,), (brute,) = both_ways(one.model, lambda candidate: few, rows, self.method)
        ratios = [name for name in ("main", "pairwise", "overall") if getattr(exact, name) is not None]
        worst = max(apart(getattr(exact, name).strength, getattr(brute, name).strength) for name in ratios)
        floor = float(np.sqrt(np.max(exact.floor)) + np.sqrt(np.max(brute.floor)))
        return within_rounding(one.model, worst, 4, floor)  # an interaction is a sum of four effects at most

    def verification(self, context: RunContext, plans: Sequence[Plan]) -> Verification:
        """Return what comparing on a few rows takes at most, which are predicted once or both ways."""
        if not self.verify:
            return Verification()
        few, ways = (
            min(VERIFIED, context.rows.n_weighted),
            1 + any(not plan.evaluator.shortcut for plan in plans),
        )
        crossings = self._crossings(threeway=0)
        calls = crossings if self.max_predictions is None else 1 + self.pairwise
        return Verification(ways * few * few * crossings, ways * calls, 1)

    def _sample(self, context: RunContext, size: int) -> Generator[Any, Any, None]:
        self._sampled[context, size] = yield from context.subsample(size, self.seed, self.verb)

    def _crossings(self, threeway: int) -> int:
        """Return how often all rows are crossed with each other at most: for features, pairs and triples."""
        count = len(self.features)
        among = count if self.paired is None else min(count, self.paired)
        pairs = math.comb(among, 2) if self.pairwise else 0
        return count + pairs + TRIPLE_PARTS * math.comb(min(threeway, count), 3)

    def _bound(self, budget: PredictionBudget | None, model: Model) -> PredictionBound | None:
        if budget is None:
            return None
        few = min(VERIFIED, budget.context.rows.n_weighted) if self.verify else 0
        return budget.bound(model, reads=self.reads_trees, verified=few * few * self._crossings(threeway=0))

    def _requested(
        self,
        context: RunContext,
        bound: PredictionBound | None,
        candidate: type[Any] | None,
        some: Rows | None = None,
    ) -> InteractionRequest:
        crosses, predicts = (
            (False, False) if candidate is None else (candidate.crosses, not candidate.shortcut)
        )
        rows = some or self._rows(context, bound, crosses, predicts)
        return InteractionRequest(
            self.features,
            self.pairwise,
            self.overall,
            self.threeway,
            rows,
            self.seed,
            context.memory,
            context.threads,
            context.memory_was_given,
            sampled_from=context.rows.n_weighted if self.size == AUTO and crosses else None,
            few_calls=self.max_predictions is not None,
            paired=self.paired if crosses else None,
        )

    def _rows(
        self, context: RunContext, bound: PredictionBound | None, crosses: bool, predicts: bool
    ) -> Background:
        """Return the rows to use: those with positive weight, or a sample where they are crossed."""
        rows = context.rows
        size = self.crossed_rows if self.size == AUTO and crosses else self.size
        if bound is not None:
            size = self._within(bound, size, predicts)
        if isinstance(size, int):
            if (context, size) not in self._sampled:
                raise RowsNeededError(size)
            return self._sampled[context, size]
        if not crosses:
            return rows
        if not rows.in_memory:
            raise OptionError(
                f"subsample=None crosses {len(rows):,} rows with each other, and X is read because it is "
                "large: give the number of rows to sample"
            )
        return rows.subsample(None, self.seed)

    def _within(self, bound: PredictionBound, size: int | str | None, predicts: bool) -> int | str | None:
        """Return how many rows may be used: the fewer of those requested and those the bound allows."""
        if not predicts:
            bound.check_verified(bound.verified)
            return size
        most = bound.crossed(self._crossings(self.threeway))
        wanted = size if isinstance(size, int) else bound.rows
        return most if most < wanted else size

    def _result(
        self, context: RunContext, estimated: list[ModelEstimates], verified: list[float] | None
    ) -> HStatistics | Importance | tuple[HStatistics | None, Importance]:
        provenance = self._provenance(context, estimated, verified)
        statistics: list[InteractionStatistics] = [one.estimates[0] for one in estimated]
        request = estimated[0].plans[0].evaluator.request
        assert isinstance(request, InteractionRequest)
        joined = mean_statistics(statistics) if context.several else statistics[0]
        every = statistics if context.several else []
        builder = InteractionBuilder(
            joined, request, self.tokens, context.models, provenance, every, self.with_importance
        )
        if self.with_importance:
            pairs = self._noted(context, estimated, builder.h_statistics()) if self.pairwise else None
            return pairs, self._noted(context, estimated, builder.importance())
        if self.pairwise:
            return self._noted(context, estimated, builder.h_statistics())
        return self._noted(context, estimated, builder.importance())

    def _noted(self, context: RunContext, estimated: list[ModelEstimates], result: Found) -> Found:
        """Return a result with what is said of rows that were drawn."""
        note = self._bound_note(context, estimated, result)
        return result if note is None else replace(result, notes=(*result.notes, note))

    @property
    def _pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs, as positions among the features, in the order of what is found of them."""
        return tuple(combinations(range(len(self.features)), 2)) if self.pairwise else ()

    def _bound_note(
        self, context: RunContext, estimated: list[ModelEstimates], result: HStatistics | Importance
    ) -> Note | None:
        """Return what is said where fewer rows than requested were used to keep ``max_predictions``."""
        requested = self.crossed_rows if self.size == AUTO else self.size
        wanted = (
            min(requested, context.rows.n_weighted) if isinstance(requested, int) else context.rows.n_weighted
        )
        brute = any(not one.plans[0].evaluator.shortcut for one in estimated)
        used = result.provenance.sampled_rows
        if self.max_predictions is None or not brute or used is None or used >= wanted:
            return None
        if isinstance(result, Importance):
            share = share_of_largest(result.values, result.standard_error)
            return bound_note(result.provenance, self.max_predictions, share, "the largest importance")
        strengths = result.pairwise.strength, result.pairwise.strength_error
        return bound_note(
            result.provenance, self.max_predictions, share_of_largest(*strengths), "the largest strength"
        )

    def _provenance(
        self, context: RunContext, estimated: list[ModelEstimates], verified: list[float] | None
    ) -> Provenance:
        evaluators = [one.plans[0].evaluator for one in estimated]
        used, all_rows = (
            (evaluators[0].request.background or context.rows).n_weighted,
            context.rows.n_weighted,
        )
        influence_rows = min(one.error_rows for one in evaluators)
        return context.record(
            **{
                **combine_facts(estimated, verified),
                "predictions": sum(one.estimates[0].predictions for one in estimated),
            },
            sampled_rows=used if used < all_rows else None,
            seed=self.seed if used < all_rows or influence_rows < used else None,
            points=used,
        )
