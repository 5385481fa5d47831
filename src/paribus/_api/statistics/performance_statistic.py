"""Performance metrics, from the same predictions as the averages near each value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from paribus._api.model_facts import column_records
from paribus._api.run import ModelEstimates, RunContext
from paribus._api.statistics.marginal_statistic import MarginalStatistic
from paribus._data.rows import Rows
from paribus._evaluators.cell_means import CellMeans, MarginalRequest
from paribus._evaluators.performance.leaks import Leak
from paribus._evaluators.performance.measure import (
    LeftOut,
    PerformanceEstimate,
    PerformanceMeasure,
    RowLosses,
    TargetEstimate,
)
from paribus._grid import Grid
from paribus._models import Model
from paribus._models.scoring import Outcome, family_of, other_scale, predicts_probability
from paribus._states import Variances
from paribus.notes import Note, NoteCode
from paribus.results import Effects, Marginal
from paribus.results.curve_parts import mean_of
from paribus.results.model_record import ColumnRecord, RowPredictions
from paribus.results.performance import Calibration, Metric, Performance

SHOWN = 3  # outputs that a note lists
KEPT_ROWS = 2_000  # rows whose predictions an explanation stores for comparisons row by row


class MeasuredRows(NamedTuple):
    """Averages near each value, metrics (None without a target) and further parts of an explanation.

    These are the records of columns, the predictions of sampled rows, and the distribution of the target.
    """

    averages: Effects[Marginal]
    performance: Performance | None
    columns: tuple[ColumnRecord, ...]
    predictions: RowPredictions
    target: tuple[TargetEstimate, ...]


@dataclass(frozen=True, eq=False)
class PerformanceStatistic(MarginalStatistic):
    """Averages over the rows near each value, and performance metrics of the same predictions."""

    @classmethod
    def of(cls, averages: MarginalStatistic) -> PerformanceStatistic:
        """Return the statistic that adds metrics to some averages."""
        return cls(**{one.name: getattr(averages, one.name) for one in fields(averages)})

    def _request(
        self, context: RunContext, grids: tuple[Grid, ...], outcome: Outcome | None
    ) -> MarginalRequest:
        """Return the request of one model, which also stores predictions."""
        return replace(super()._request(context, grids, outcome), kept_rows=KEPT_ROWS)

    def _additional(
        self, context: RunContext, model: Model | None, request: MarginalRequest
    ) -> tuple[PerformanceMeasure, ...]:
        """Return the metrics of a single model with a target."""
        if model is None or request.outcome is None or self._why_no_metrics(context, model) is not None:
            return ()
        return (self._measure(model, request),)

    def _why_no_metrics(self, context: RunContext, model: Model) -> str | None:
        """Return why all metrics are omitted, None if they are not."""
        if context.several:
            return "estimator is a list; pass one model for those of its predictions"
        return other_scale(self.estimators[0]) if model.response == "predict" else None

    def _measure(self, model: Model, request: MarginalRequest) -> PerformanceMeasure:
        """Return the evaluator of metrics, chosen by the type of predictions and target."""
        outcome, estimator = request.outcome, self.estimators[0]
        assert outcome is not None
        probability = outcome.bounded or (model.response == "predict" and predicts_probability(estimator))
        exclusive = probability and (model.n_outputs == 1 or outcome.classes is not None)
        family = None if probability or model.response != "predict" else family_of(estimator)
        return PerformanceMeasure(model, outcome, RowLosses(model.n_outputs, probability, exclusive, family))

    def _result(  # type: ignore[override]
        self, context: RunContext, estimated: list[ModelEstimates], skipped: tuple[str, ...]
    ) -> MeasuredRows:
        """Build the result."""
        averages = super()._result(context, estimated, skipped)
        performance, target = self._performance(context, estimated[0], averages)
        columns = column_records(context.data, self.wanted)
        return MeasuredRows(averages, performance, columns, _row_predictions(context, estimated), target)

    def _performance(
        self, context: RunContext, estimated: ModelEstimates, averages: Effects[Marginal]
    ) -> tuple[Performance | None, tuple[TargetEstimate, ...]]:
        """Return the metrics, or a note why they are omitted, and the distribution of the target."""
        request: Any = estimated.plans[0].evaluator.request
        model, provenance = estimated.model, averages.effects[0].provenance
        if model is None or request.outcome is None:
            return None, ()
        why = self._why_no_metrics(context, model)
        if why is not None:
            note = NoteCode.METRIC_LEFT_OUT.note(metrics="all metrics", reason=why)
            return Performance((), (), (note,), provenance), ()
        measure, names = self._measure(model, request), model.output_names
        evaluator = estimated.plans[0].evaluator
        assert isinstance(evaluator, CellMeans)
        predictions = evaluator.predictions_in(estimated.state)
        if predictions.sample is not None:
            provenance = replace(provenance, standard_error_units=predictions.sample.n_units)
        estimate = measure.finish(estimated.state, predictions)
        features = [grid.axes[0].name for grid in request.grids]
        unit = context.rows.weight_scale
        metrics = (
            Metric(metric.name, None if metric.output is None else names[metric.output], *metric[2:])
            for metric in estimate.metrics
        )
        tables = (
            Calibration(
                names[table.output], table.predicted, table.observed, *table.interval, table.weight * unit
            )
            for table in estimate.calibration
        )
        classes = measure.losses.exclusive
        leaks = _leak_notes(measure.leaks(estimated.state, len(features)), features, names, classes)
        notes = (*leaks, *_metric_notes(estimate, names))
        performance = Performance(tuple(metrics), tuple(tables), notes, provenance)
        return performance, estimate.target


def _row_predictions(context: RunContext, estimated: list[ModelEstimates]) -> RowPredictions:
    """Return the stored predictions of rows, averaged over several models."""
    rows = context.rows
    each = []
    for one in estimated:
        evaluator = one.plans[0].evaluator
        assert isinstance(evaluator, CellMeans)
        each.append(evaluator.predictions_in(one.state))
    first, outputs = each[0], len(each[0].mean)
    predicted = mean_of(np.stack([one.kept.values[:outputs] for one in each]))
    deviation, weights = first.deviation, first.kept.weights
    if len(each) > 1:
        deviation = np.sqrt(Variances.of(predicted.T, weights).variance)
    columns, weight_digest = (context.sampled_from or context).rows.digests()
    numbers = first.kept.numbers
    if isinstance(rows, Rows) and rows.origin is not None:
        numbers = rows.origin[numbers]
    return RowPredictions(
        first.rows,
        mean_of(np.stack([one.mean for one in each])),
        mean_of(np.stack([one.error for one in each])),  # an upper bound, because the rows are the same
        deviation,
        numbers,
        weights * rows.weight_scale,
        predicted,
        first.kept.values[outputs : 2 * outputs] if len(first.kept.values) > outputs else None,
        columns,
        weight_digest,
        first.units,
    )


def _leak_notes(
    leaks: Iterator[Leak], features: list[str], names: tuple[str, ...], classes: bool
) -> Iterator[Note]:
    """Yield a note for each feature that predicts the target by itself."""
    for leak in leaks:
        name = features[leak.feature]
        outputs = ", ".join(names[o] for o in leak.outputs[:SHOWN]) + ", ..." * (len(leak.outputs) > SHOWN)
        target = "the target" if len(leak.outputs) == len(names) else "class " * classes + outputs
        yield NoteCode.TARGET_AMONG_FEATURES.note(
            feature=name, target=target, data=leak.data if leak.data < 1 else None, share=leak.share
        )


def _metric_notes(estimate: PerformanceEstimate, names: tuple[str, ...]) -> list[Note]:
    """Return notes on omitted metrics, and on metrics of grouped predictions."""
    reasons: dict[str, list[LeftOut]] = {}
    for metric in estimate.left_out:
        reasons.setdefault(metric.why, []).append(metric)
    notes = []
    for reason, omitted in reasons.items():
        metrics = tuple(dict.fromkeys(metric.name for metric in omitted))
        positions = dict.fromkeys(metric.output for metric in omitted if metric.output is not None)
        outputs = tuple(names[o] for o in positions) if len(names) > 1 else ()
        notes.append(NoteCode.METRIC_LEFT_OUT.note(metrics=metrics, outputs=outputs or None, reason=reason))
    return notes
