"""Averages over the rows near each value, as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from paribus.api.combine import joined_facts, label, mean_cells
from paribus.api.run import Estimated, Rounds, Work, evaluated, lockstep
from paribus.api.statistics.axes import Axes, Groups
from paribus.errors import FeatureError, OptionError
from paribus.evaluators.marginal import CellMeans, MarginalAsk
from paribus.evaluators.survey import SEED, Wanted
from paribus.grid import SPLITS, GridOptions, Question
from paribus.models import Model
from paribus.models.adapter import named_outputs
from paribus.models.scoring import Outcome, outcome_of
from paribus.results import Marginals
from paribus.results.cells import marginal_of


@dataclass(frozen=True, eq=False)
class MarginalStatistic:
    """Average predictions, and what came out, over the rows in the cells around each point of an axis."""

    groups: Groups
    axes: Axes
    estimators: tuple[Any, ...]
    target_names: Any = None
    verb: str = "marginal"

    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    reads_trees: ClassVar[bool] = False
    needs_target: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for group in self.groups:
            if len(group) > 1:
                together = ", ".join(repr(self.axes.header.names[j]) for j in group)
                raise FeatureError(f"averages near a value are of one feature, not of {together} together")

    @property
    def wanted(self) -> Mapping[int, Wanted]:
        """What a survey must find out about which feature."""
        return self.axes.wanted

    def evaluate(self, work: Work) -> Rounds:
        """Lay out the axes, then predict every row once by each model."""
        models: tuple[Model | None, ...] = work.models or (None,)
        estimators = self.estimators or (None,)
        outcomes = [self._outcome(work, model, one) for model, one in zip(models, estimators, strict=True)]
        axes, skipped = self.axes.laid_out(work)
        questions = tuple(Question((axes[j],)) for (j,) in self.groups if j in axes)
        asks = [self._ask(work, questions, outcome) for outcome in outcomes]
        found = yield from lockstep(
            [
                evaluated(work, model, partial(_same, ask), "auto", label(self.verb, place, len(models)))
                for place, (model, ask) in enumerate(zip(models, asks, strict=True))
            ]
        )
        return partial(self._result, work, found, skipped)

    def _outcome(self, work: Work, model: Model | None, estimator: Any) -> Outcome | None:
        """Return how what came out becomes numbers that predictions can be compared with."""
        columns = work.data.n_targets
        if not columns:
            return None
        outcome = outcome_of(model, estimator, columns)
        rows = work.rows
        if rows.in_memory:  # fails before the model predicts all rows
            some = work.data.in_memory("y")
            assert some.target is not None
            outcome.numbers(some.target[some.chosen(None, SEED)])
        return outcome

    def _ask(self, work: Work, questions: tuple[Question, ...], outcome: Outcome | None) -> MarginalAsk:
        rows = work.rows
        return MarginalAsk(
            questions,
            "average",
            len(rows),
            rows.counted,
            rows.table.row_bytes,
            work.memory,
            work.threads,
            rows.weighted,
            read=not rows.in_memory,
            given=work.given,
            outcome=outcome,
        )

    def _result(self, work: Work, found: list[Estimated], skipped: tuple[str, ...]) -> Marginals:
        grid, means = self.axes.grid, found[0].plans[0].evaluator
        assert isinstance(means, CellMeans)
        provenance = work.record(
            **{**joined_facts(found), "why": "the only way"},
            percentiles=grid.percentiles,
            grid_resolution=SPLITS if grid.splits else grid.resolution,
            points=means.ask.points,
            rank_error=work.data.rank_error(self.wanted),
        )
        build = partial(
            marginal_of,
            means=means,
            output_names=work.models[0].output_names if work.models else self._outputs(work),
            models=work.models,
            unit=work.rows.unit,
            provenance=provenance,
        )
        joined = found[0].estimates
        if work.several:
            joined = [mean_cells(each) for each in zip(*(one.estimates for one in found), strict=True)]
        return Marginals([build(*one) for one in zip(means.axes, joined, strict=True)], skipped)

    def _outputs(self, work: Work) -> tuple[str, ...]:
        """Return the names of what is averaged where there is no model."""
        several = tuple(f"y {place}" for place in range(work.data.n_targets))
        return named_outputs(self.target_names, ("y",) if len(several) == 1 else several)


def _same(ask: MarginalAsk, shortcut: bool) -> MarginalAsk:
    return ask


def check_without_model(y: Any, response_method: str, grid: GridOptions) -> None:
    """Refuse what needs a model where there is none."""
    if y is None:
        raise OptionError("estimator=None leaves nothing to average without y; pass a model, or y, or both")
    if response_method != "auto":
        raise OptionError(f"response_method={response_method!r} has no meaning without a model; leave it out")
    if grid.splits:
        raise OptionError(f"grid_resolution={SPLITS!r} needs the trees of a model; give an integer")
