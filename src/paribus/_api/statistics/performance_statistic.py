"""How well a model predicts the rows, from the predictions that averages are made of."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from paribus._api.model_facts import column_records
from paribus._api.prediction_budget import PredictionBudget
from paribus._api.run import Estimated, Work
from paribus._api.statistics.marginal_statistic import MarginalStatistic
from paribus._evaluators.cell_means import MarginalRequest
from paribus._evaluators.performance.measure import (
    LeftOut,
    MetricEstimate,
    PerformanceEstimate,
    PerformanceMeasure,
)
from paribus._evaluators.performance.row_losses import RowLosses
from paribus._evaluators.survey import SEED
from paribus._models import Model
from paribus._models.scoring import family_of, other_scale, predicts_probability
from paribus._models.training import training_curves
from paribus._text import short
from paribus.notes import Note, NoteCode
from paribus.results import Marginals
from paribus.results.model_record import ColumnRecord
from paribus.results.performance import Calibration, Metric, Performance, TrainingCurve

SHOWN = 3  # outputs that a note names


class MeasuredRows(NamedTuple):
    """Averages over the rows near each value, metrics of all rows (None without ``y``), and their columns."""

    averages: Marginals
    performance: Performance | None
    columns: tuple[ColumnRecord, ...]


@dataclass(frozen=True, eq=False)
class PerformanceStatistic(MarginalStatistic):
    """Averages over the rows near each value, and how well the same predictions predict.

    Each row is predicted once for both.
    """

    @classmethod
    def of(cls, averages: MarginalStatistic) -> PerformanceStatistic:
        """Return what else there is to find in the pass of some averages."""
        return cls(**{one.name: getattr(averages, one.name) for one in fields(averages)})

    def _beside(
        self, work: Work, model: Model | None, request: MarginalRequest
    ) -> tuple[PerformanceMeasure, ...]:
        """Return the measure of a single model, with what came out."""
        if model is None or request.outcome is None or self._left_out(work, model) is not None:
            return ()
        return (self._measure(model, request),)

    def _left_out(self, work: Work, model: Model) -> str | None:
        """Return why there are no metrics at all, None where there are."""
        if work.several:
            return "estimator is a list; pass one model for those of its predictions"
        budget = PredictionBudget.of(self.max_predictions, work, SEED, self.verb)
        if budget is not None and budget.bound(model, reads=False).most < work.rows.n_weighted:
            return f"max_predictions={self.max_predictions} is too small to predict every row; raise it"
        return other_scale(self.estimators[0]) if model.response == "predict" else None

    def _measure(self, model: Model, request: MarginalRequest) -> PerformanceMeasure:
        outcome, estimator = request.outcome, self.estimators[0]
        assert outcome is not None
        probability = outcome.bounded or (model.response == "predict" and predicts_probability(estimator))
        exclusive = probability and (model.n_outputs == 1 or outcome.classes is not None)
        family = None if probability or model.response != "predict" else family_of(estimator)
        return PerformanceMeasure(model, outcome, RowLosses(model.n_outputs, probability, exclusive, family))

    def _result(  # type: ignore[override]
        self, work: Work, estimated: list[Estimated], skipped: tuple[str, ...]
    ) -> MeasuredRows:
        averages = super()._result(work, estimated, skipped)
        performance = self._performance(work, estimated[0], averages)
        return MeasuredRows(averages, performance, column_records(work.data, self.wanted))

    def _performance(self, work: Work, estimated: Estimated, averages: Marginals) -> Performance | None:
        """Return the metrics, or why there are none."""
        request: Any = estimated.plans[0].evaluator.request
        model, provenance = estimated.model, averages.effects[0].provenance
        if model is None or request.outcome is None:
            return None
        curves = () if work.several else training_curves(self.estimators[0])
        kept = tuple(TrainingCurve(*one) for one in curves)
        why = self._left_out(work, model)
        if why is not None:
            note = Note(NoteCode.METRIC_LEFT_OUT, f"all metrics are left out: {why}")
            return Performance((), (), kept, (note,), provenance)
        found = self._measure(model, request).finish(estimated.state)
        names = model.output_names
        unit = work.rows.weight_scale
        return Performance(
            tuple(_metric(one, names) for one in found.metrics),
            tuple(
                Calibration(names[o], predicted, observed, error, weight * unit)
                for o, predicted, observed, error, weight in found.calibration
            ),
            kept,
            tuple(_notes(found, names)),
            provenance,
        )


def _metric(found: MetricEstimate, names: tuple[str, ...]) -> Metric:
    output = None if found.output is None else names[found.output]
    return Metric(found.name, output, found.measured.value, found.measured.error, found.better)


def _notes(found: PerformanceEstimate, names: tuple[str, ...]) -> list[Note]:
    """Return what was left out and why, and what is not exact."""
    reasons: dict[str, list[LeftOut]] = {}
    for one in found.left_out:
        reasons.setdefault(one.why, []).append(one)
    notes = [Note(NoteCode.METRIC_LEFT_OUT, _left_out(some, why, names)) for why, some in reasons.items()]
    if found.groups is not None:
        text = (
            f"too many predictions are distinct: ranks, calibration and errors are of {found.groups:,} groups"
        )
        notes.append(Note(NoteCode.SHARED_RANKS, f"{text} of close ones", value=found.groups))
    bounds: dict[str, float] = {}
    for metric in found.metrics:
        bounds[metric.name] = max(bounds.get(metric.name, 0.0), metric.measured.bound)
    for name, bound in bounds.items():
        if bound:
            text = f"{name} may be off by {short(bound)} at most, as predictions that are close share a rank"
            notes.append(Note(NoteCode.SHARED_RANKS, text, value=bound))
    return notes


def _left_out(some: list[LeftOut], why: str, names: tuple[str, ...]) -> str:
    """Return the sentence on metrics that were left out for one reason."""
    metrics = list(dict.fromkeys(one.name for one in some))
    outputs = list(dict.fromkeys(names[one.output] for one in some if one.output is not None))
    which = "" if len(names) == 1 else f" of {', '.join(outputs[:SHOWN])}"
    more = f" and {len(outputs) - SHOWN} more" if which and len(outputs) > SHOWN else ""
    verb = "is" if len(metrics) == 1 else "are"
    return f"{' and '.join(metrics)}{which}{more} {verb} left out: {why}"
