"""Averages of predictions and target over the rows near each value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from paribus._api.combine import combine_facts, combined_estimates, label, mean_cells
from paribus._api.prediction_budget import PredictionBudget, bound_note, fewest_rows, sampled_provenance
from paribus._api.run import ModelEstimates, Rounds, RunContext, Verification, each_model, evaluate_model
from paribus._api.statistics.axis_options import AxisOptions, Groups, quantile_notes
from paribus._data.summary import SEED, SummarySpec
from paribus._evaluators.cell_means import CellMeans, MarginalRequest
from paribus._evaluators.performance.measure import PerformanceMeasure
from paribus._evaluators.planner import Plan
from paribus._grid import SPLITS, Grid, GridOptions
from paribus._models import Model
from paribus._models.adapter import named_outputs
from paribus._models.scoring import Outcome, outcome_of
from paribus.errors import FeatureError, OptionError
from paribus.notes import Note
from paribus.results import Effects, Marginal
from paribus.results.build_effects import EffectBuilder


@dataclass(frozen=True, eq=False)
class MarginalStatistic:
    """Averages of predictions and target over the rows in the cell around each point of an axis."""

    groups: Groups
    axes: AxisOptions
    estimators: tuple[Any, ...]
    target_names: Any = None
    verb: str = "marginal"
    max_predictions: int | None = None

    seeds: ClassVar[tuple[int, ...]] = (SEED,)
    reads_trees: ClassVar[bool] = False
    needs_target: ClassVar[bool] = True
    needs_model: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for group in self.groups:
            if len(group) > 1:
                together = ", ".join(repr(self.axes.header.names[j]) for j in group)
                raise FeatureError(
                    f"marginal() takes single features, not {together} together; pass them one by one"
                )

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """The summary that it needs of each feature."""
        return self.axes.wanted

    def evaluate(self, context: RunContext) -> Rounds:
        """Lay out the axes, then predict every row once with each model."""
        models: tuple[Model | None, ...] = context.models or (None,)
        estimators = self.estimators or (None,)
        outcomes = [self._outcome(context, model, one) for model, one in zip(models, estimators, strict=True)]
        axes, skipped = self.axes.laid_out(context)
        grids = tuple(Grid((axes[j],)) for (j,) in self.groups if j in axes)
        requests = [self._request(context, grids, outcome) for outcome in outcomes]
        budget = PredictionBudget.of(self.max_predictions, context, SEED, self.verb)
        estimated = yield from each_model(
            [
                self._evaluated(context, model, request, label(self.verb, index, len(models)), budget)
                for index, (model, request) in enumerate(zip(models, requests, strict=True))
            ]
        )
        return partial(self._result, context, estimated, skipped)

    def verification(self, context: RunContext, plans: Sequence[Plan]) -> Verification:
        """Return no cost, because nothing is verified."""
        return Verification()

    def _evaluated(
        self,
        context: RunContext,
        model: Model | None,
        request: MarginalRequest,
        name: str,
        budget: PredictionBudget | None,
    ) -> Rounds:
        """Return the passes of one model."""
        additional = self._additional(context, model, request)
        options: dict[str, Any] = {
            "additional": additional,
            "settings": tuple(setting for one in additional for setting in one.settings),
        }
        if budget is not None and model is not None:
            options["sample"] = partial(self._sampled, context, budget)
            options["bound"] = budget.bound(model, reads=False)
        return evaluate_model(context, model, lambda candidate: request, "auto", name, **options)

    def _additional(
        self, context: RunContext, model: Model | None, request: MarginalRequest
    ) -> tuple[PerformanceMeasure, ...]:
        """Return further evaluators of the same predictions: none here."""
        return ()

    def _sampled(self, context: RunContext, budget: PredictionBudget, size: int) -> Rounds:
        """Sample rows, or raise if an out-of-core target would have to be sampled."""
        if context.data.n_targets and not context.rows.in_memory:
            raise OptionError(
                f"max_predictions={self.max_predictions} is below the number of rows, and y of an "
                "out-of-core X is not sampled; raise it, leave y out, or pass a table in memory"
            )
        yield from budget.sample(size)

    def _outcome(self, context: RunContext, model: Model | None, estimator: Any) -> Outcome | None:
        """Return the conversion of the target to numbers comparable with predictions, None without one."""
        columns = context.data.n_targets
        if not columns:
            return None
        outcome = outcome_of(model, estimator, columns)
        rows = context.rows
        if rows.in_memory:  # to raise for an invalid target before the model predicts all rows
            some = context.data.in_memory("y")
            assert some.target is not None
            outcome.numbers(some.target[some.chosen(None, SEED)])
        return outcome

    def _request(
        self, context: RunContext, grids: tuple[Grid, ...], outcome: Outcome | None
    ) -> MarginalRequest:
        """Return the request of one model."""
        rows = context.rows
        return MarginalRequest(
            grids,
            "average",
            len(rows),
            rows.n_weighted,
            rows.table.row_bytes,
            context.memory,
            context.threads,
            rows.weighted,
            out_of_core=not rows.in_memory,
            memory_was_given=context.memory_was_given,
            outcome=outcome,
            few_calls=self.max_predictions is not None,
        )

    def _result(
        self, context: RunContext, estimated: list[ModelEstimates], skipped: tuple[str, ...]
    ) -> Effects[Marginal]:
        """Build the result."""
        grid, means = self.axes.grid, estimated[0].plans[0].evaluator
        assert isinstance(means, CellMeans)
        provenance = context.record(
            target=bool(context.data.n_targets),
            **{**combine_facts(estimated), "why": "the only way"},
            percentiles=grid.percentiles,
            grid_resolution=SPLITS if grid.splits else grid.resolution,
            points=means.request.points,
            rank_error=context.data.rank_error(self.wanted),
        )
        sampled = fewest_rows(estimated, len(means.axes))[0]
        own = sampled_provenance(provenance, sampled, SEED)
        remarks: tuple[Note, ...] = ()
        if sampled is not None and self.max_predictions is not None:
            remarks = (bound_note(own, self.max_predictions, None),)
        models = context.models
        if models:
            names = models[0].output_names
        else:
            several = tuple(f"y {index}" for index in range(context.data.n_targets))
            names = named_outputs(self.target_names, ("y",) if len(several) == 1 else several)
        build = EffectBuilder(names, models, context.rows.weight_scale, own).marginal
        joined = combined_estimates(context, estimated, mean_cells)
        placed = quantile_notes([Grid((axis,)) for axis in means.axes], context, self.wanted)
        effects = (
            build(axis, cells, means, (*note, *remarks))
            for axis, cells, note in zip(means.axes, joined, placed, strict=True)
        )
        return Effects(tuple(effects), skipped)


def check_without_model(y: Any, response_method: str, times: Any, grid: GridOptions) -> None:
    """Raise for options that need a model, without one."""
    if y is None:
        raise OptionError("estimator=None needs y to average; pass a model, y, or both")
    for name, value, default in (("response_method", response_method, "auto"), ("times", times, None)):
        if value is not default and value != default:
            raise OptionError(f"{name}={value!r} requires a model, and estimator=None; omit it")
    if grid.splits:
        raise OptionError(f"grid_resolution={SPLITS!r} needs the trees of a model; give an integer")
