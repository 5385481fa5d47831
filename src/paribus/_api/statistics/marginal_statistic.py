"""Averages of predictions and target over the rows near each value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from paribus._api.combine import combine_facts, combined_estimates, label, mean_cells
from paribus._api.run import ModelEstimates, Rounds, RunContext, Statistic, each_model, evaluate_model
from paribus._api.statistics.axis_options import AxisOptions, Groups, quantile_notes
from paribus._data.summary import SummarySpec
from paribus._evaluators.cell_means import CellMeans, MarginalRequest
from paribus._evaluators.performance.measure import PerformanceMeasure
from paribus._grid import SPLITS, Grid, GridOptions
from paribus._models import Model
from paribus._models.adapter import named_outputs
from paribus._models.scoring import Outcome, outcome_of
from paribus.errors import FeatureError, OptionError
from paribus.results import Effects, Marginal
from paribus.results.build_effects import EffectBuilder


@dataclass(frozen=True, eq=False)
class MarginalStatistic(Statistic):
    """Averages of predictions and target over the rows in the cell around each point of an axis."""

    groups: Groups
    axes: AxisOptions
    estimators: tuple[Any, ...]
    target_names: Any = None
    verb: str = "marginal"

    reads_trees: ClassVar[bool] = False
    needs_target: ClassVar[bool] = True

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
        estimated = yield from each_model(
            [
                self._evaluated(context, model, request, label(self.verb, index, len(models)))
                for index, (model, request) in enumerate(zip(models, requests, strict=True))
            ]
        )
        return partial(self._result, context, estimated, skipped)

    def _evaluated(
        self,
        context: RunContext,
        model: Model | None,
        request: MarginalRequest,
        name: str,
    ) -> Rounds:
        """Return the passes of one model."""
        additional = self._additional(context, model, request)
        settings = tuple(setting for one in additional for setting in one.settings)
        return evaluate_model(
            context,
            model,
            lambda candidate: request,
            "auto",
            name,
            additional=additional,
            settings=settings,
        )

    def _additional(
        self, context: RunContext, model: Model | None, request: MarginalRequest
    ) -> tuple[PerformanceMeasure, ...]:
        """Return further evaluators of the same predictions: none here."""
        return ()

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
            outcome.numbers(some.target[some.counted])
        return outcome

    def _request(
        self, context: RunContext, grids: tuple[Grid, ...], outcome: Outcome | None
    ) -> MarginalRequest:
        """Return the request of one model."""
        return MarginalRequest(
            grids, "average", **context.of_rows(), outcome=outcome, sample=context.unit_sample()
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
        models = context.models
        if models:
            names = models[0].output_names
        else:
            several = tuple(f"y {index}" for index in range(context.data.n_targets))
            names = named_outputs(self.target_names, ("y",) if len(several) == 1 else several)
        build = EffectBuilder(names, models, context.rows.weight_scale, provenance).marginal
        joined = combined_estimates(context, estimated, mean_cells)
        placed = quantile_notes([Grid((axis,)) for axis in means.axes], context, self.wanted)
        effects = (
            build(axis, cells, means, notes)
            for axis, cells, notes in zip(means.axes, joined, placed, strict=True)
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
