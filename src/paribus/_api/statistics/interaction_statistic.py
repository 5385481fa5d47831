"""Friedman and Popescu's H-statistics, and importance by effect."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from paribus._api.combine import combine_facts, label, mean_statistics
from paribus._api.run import (
    STRONGEST_PAIRS,
    Fact,
    ModelEstimates,
    Needed,
    Rounds,
    RunContext,
    Statistic,
    Steps,
    both_ways,
    each_model,
    evaluate_model,
)
from paribus._contracts import Floats
from paribus._data.features import Feature
from paribus._data.rows import Rows
from paribus._evaluators.interactions import InteractionStatistics
from paribus._evaluators.interactions.requests import InteractionRequest
from paribus._evaluators.planner import apart, within_rounding
from paribus._models.scoring import Outcome, other_scale, outcome_of
from paribus._typing import AUTO
from paribus.errors import FeatureError, OptionError
from paribus.results import HStatistics, Importance, Provenance
from paribus.results.build_interactions import InteractionBuilder

SUBSAMPLE = 500  # rows that are crossed with each other
VERIFIED = 40  # rows on which the result is compared with brute force
Pair = tuple[int, int]
CrossedImportance = tuple[Importance, Floats]  # with the errors of the squares that interactions add


@dataclass(frozen=True, eq=False)
class InteractionStatistic(Statistic):
    """H-statistics of features and pairs, or with ``pairwise=False`` the importance of features.

    Rows that are crossed with each other are sampled unless ``every`` row is requested: ``predicted_rows`` if
    the model predicts them, and else ``crossed_rows``. ``paired``
    limits the features whose pairs are evaluated by crossing rows. ``with_importance`` returns both results.
    ``varied`` names the fact that restricts the features. ``estimators`` are the models as the user passed
    them, for the test of interactions with a target. The strongest pairs are yielded as a fact.
    """

    verb: str
    features: tuple[int, ...]
    tokens: tuple[Feature, ...]
    seed: int
    pairwise: bool = True
    overall: bool = True
    threeway: int = 0
    method: str = AUTO
    verify: bool = False
    every: bool = False
    predicted_rows: int = SUBSAMPLE
    crossed_rows: int = SUBSAMPLE
    paired: int | None = None
    with_importance: bool = False
    varied: str | None = None
    estimators: tuple[Any, ...] = ()

    needs_target: ClassVar[bool] = True

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seed of the sample."""
        return (self.seed,)

    @property
    def reads_trees(self) -> bool:
        """Whether it probably uses the trees of a model, which are then read in advance."""
        return self.method != "brute"

    def evaluate(self, context: RunContext) -> Steps:
        """Evaluate every model, and verify on a few rows if requested."""
        if self.varied is not None:
            features = yield Needed(self.varied)
            return (yield from self._among(self.features if features is None else features).evaluate(context))
        if self.threeway and context.several:
            raise OptionError(
                f"threeway={self.threeway} needs a single model, because the strongest triples of each "
                f"differ, but estimator is a list of {len(context.models)}; pass one model"
            )
        evaluating = [self._evaluated(context, index) for index in range(len(context.models))]
        try:
            estimated: list[ModelEstimates] = yield from each_model(evaluating)
        except FeatureError as error:
            raise FeatureError(f"{error}; or leave it out: name the others in features=") from error
        if self.pairwise:
            yield Fact(STRONGEST_PAIRS, self._strongest([model.estimates[0] for model in estimated]))
        verified = None
        if self.verify:
            some = yield from context.subsample(VERIFIED, self.seed)
            verified = [self._verified(context, one, some) for one in estimated]
        return partial(self._result, context, estimated, verified)

    def _strongest(self, models: list[InteractionStatistics]) -> tuple[Pair, ...]:
        """Return the pairs that interact, by decreasing sum of squares over outputs and models."""
        totals: Counter[Pair] = Counter()
        for statistics in models:
            assert statistics.pairwise is not None
            every = combinations(range(len(self.features)), 2)
            pairs = tuple(every) if statistics.pairs is None else statistics.pairs
            squares = np.nan_to_num(statistics.pairwise.numerator).sum(axis=1).tolist()
            totals.update(dict(zip(pairs, squares, strict=True)))
        strongest = sorted((pair for pair in totals if totals[pair] > 0), key=lambda p: (-totals[p], p))
        return tuple((self.features[first], self.features[second]) for first, second in strongest)

    def _among(self, features: tuple[int, ...]) -> InteractionStatistic:
        """Return the statistic of a subset of the features; a single one has no interactions."""
        kept = [one for one in zip(self.features, self.tokens, strict=True) if one[0] in features]
        chosen, tokens = (tuple(part) for part in zip(*kept, strict=True))
        pairwise = self.pairwise and len(chosen) > 1
        return replace(self, features=chosen, tokens=tokens, pairwise=pairwise, varied=None)

    def _evaluated(self, context: RunContext, index: int) -> Rounds:
        """Return the estimates of one model."""
        return evaluate_model(
            context,
            context.models[index],
            partial(self._requested, context),
            self.method,
            label(self.verb, index, len(context.models)),
        )

    def _verified(self, context: RunContext, one: ModelEstimates, rows: Rows) -> float:
        """Return the largest difference from brute force on a few rows."""
        assert one.model is not None
        few = replace(self._requested(context, None, rows), threeway=0)
        (exact,), (brute,) = both_ways(one.model, lambda candidate: few, rows, self.method)
        ratios = [name for name in ("main", "pairwise", "overall") if getattr(exact, name) is not None]
        worst = max(apart(getattr(exact, name).strength, getattr(brute, name).strength) for name in ratios)
        floor = float(np.sqrt(np.max(exact.floor)) + np.sqrt(np.max(brute.floor)))
        return within_rounding(one.model, worst, 4, floor)  # an interaction is a sum of four effects at most

    def _requested(
        self,
        context: RunContext,
        candidate: type[Any] | None,
        some: Rows | None = None,
    ) -> InteractionRequest:
        """Return the request to a candidate evaluator, on the rows that it needs or on ``some`` rows."""
        crossing = candidate is not None and candidate.crosses
        rows = some or context.rows
        if some is None and candidate is not None and crossing:
            rows = self._crossed(context, predicts=not candidate.shortcut)
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
            paired=self.paired if crossing else None,
            outcome=self._outcome(context),
        )

    def _outcome(self, context: RunContext) -> Outcome | None:
        """Return the conversion of the target to numbers, None if predictions have another scale."""
        if not context.data.n_targets or len(self.estimators) != 1 or not self.overall:
            return None
        (model,), (estimator,) = context.models, self.estimators
        other = model.response == "predict" and other_scale(estimator) is not None
        if other or model.response == "decision_function":
            return None
        return outcome_of(model, estimator, context.data.n_targets)

    def _crossed(self, context: RunContext, *, predicts: bool) -> Rows:
        """Return the rows that are crossed with each other."""
        rows = context.rows
        if self.every:
            if not isinstance(rows, Rows):
                raise OptionError(
                    f"subsample=None crosses {len(rows):,} rows with each other, and X is read because it is "
                    "large: give the number of rows to sample"
                )
            return rows.keep(rows.counted)
        size = self.predicted_rows if predicts else self.crossed_rows
        return context.sampled(size, self.seed)

    def _result(
        self, context: RunContext, estimated: list[ModelEstimates], verified: list[float] | None
    ) -> HStatistics | Importance | tuple[HStatistics | None, CrossedImportance]:
        """Build the result."""
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
            return builder.h_statistics() if self.pairwise else None, builder.importance()
        return builder.h_statistics() if self.pairwise else builder.importance()[0]

    def _provenance(
        self, context: RunContext, estimated: list[ModelEstimates], verified: list[float] | None
    ) -> Provenance:
        """Return the record, with the number of rows used."""
        evaluators = [one.plans[0].evaluator for one in estimated]
        used, all_rows = (
            (evaluators[0].request.background or context.rows).n_weighted,
            context.rows.n_weighted,
        )
        influence_rows = min(one.error_rows for one in evaluators)
        facts = {
            **combine_facts(estimated, verified),
            "predictions": sum(one.estimates[0].predictions for one in estimated),
        }
        if used < all_rows:
            facts["sampled_rows"] = used
        if used < all_rows or influence_rows < used:
            facts["seed"] = self.seed
        return context.record(**facts, points=used)
