"""Permutation importance, and importance stored in a fitted model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from paribus._api.combine import combine_facts, label
from paribus._api.model_facts import of_estimator
from paribus._api.run import (
    ModelEstimates,
    Rounds,
    RunContext,
    Statistic,
    each_model,
    evaluate_model,
    lockstep,
)
from paribus._api.statistics.effects_statistic import EffectsStatistic
from paribus._api.statistics.interaction_statistic import CrossedImportance, InteractionStatistic
from paribus._contracts import Floats
from paribus._data.column_groups import GroupedTable, owners_of
from paribus._data.summary import SummarySpec
from paribus._evaluators.permutation import GroupImportance, PermutationRequest, Shuffler
from paribus._models.own_importance import own_importance
from paribus._models.predictor import unsteady_notes
from paribus._models.scoring import loss_of
from paribus._states.sums import ignore_fp_errors
from paribus.errors import OptionError
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode
from paribus.results import Effects, Importance, PartialDependence
from paribus.results.curve_values import strength_errors
from paribus.results.provenance import skipped_notes

UNSTEADY = ": its predictions also vary without shuffling, which values and errors include"


@dataclass(frozen=True, eq=False)
class StrengthStatistic(Statistic):
    """Importance by effect: the strength of each curve, and interactions with their standard errors."""

    curves: EffectsStatistic
    interactions: InteractionStatistic

    verb: str = "feature_importance"

    @property
    def wanted(self) -> Mapping[int, SummarySpec]:
        """The summary that it needs of each feature."""
        return self.curves.wanted

    @property
    def seeds(self) -> tuple[int, ...]:
        """Seeds of samples."""
        return (*self.curves.seeds, *self.interactions.seeds)

    def evaluate(self, context: RunContext) -> Rounds:
        """Evaluate curves and interactions in shared passes."""
        curves, interactions = yield from lockstep(
            [self.curves.evaluate(context), self.interactions.evaluate(context)]
        )
        return lambda: importance_of(curves(), interactions()[1])


@ignore_fp_errors()
def importance_of(effects: Effects[PartialDependence], found: CrossedImportance) -> Importance:
    r"""Return the importance of features: the strengths of their curves.

    ``found`` has the strengths :math:`s`, the importance with interactions :math:`t` and the errors of rows
    that are crossed with each other, or of all rows. With the strength :math:`S` of the curve, the importance
    with interactions is :math:`\sqrt{S^2 + t^2 - s^2}`: interactions are added to the curve. If fewer rows
    are crossed, its variance is that of both terms, as if they were independent.
    """
    crossed, added_error = found
    assert crossed.with_interactions is not None
    strengths = np.array([effects[name].strengths for name in crossed.feature_names])
    strengths = strengths.reshape(crossed.values.shape)
    added = (crossed.with_interactions - crossed.values) * (crossed.with_interactions + crossed.values)
    with_interactions = np.sqrt(np.maximum(0.0, strengths**2 + added))
    by_model = crossed.by_model
    if by_model is not None:
        spreads: Any = (effects[name].by_model for name in crossed.feature_names)
        by_model = np.stack([spread.strengths for spread in spreads], axis=1).reshape(by_model.shape)
    error, joint_error = crossed.standard_error, crossed.standard_error_with_interactions
    if crossed.provenance.used_rows < effects.provenance.used_rows:  # their errors are of fewer rows
        error = np.array([strength_errors(effects[name]) for name in crossed.feature_names])
        error = error.reshape(strengths.shape)
        joint_error = np.hypot(2 * strengths * error, added_error)
        joint_error /= np.where(with_interactions > 0, 2 * with_interactions, np.inf)
    return replace(
        crossed,
        values=strengths,
        standard_error=error.reshape(strengths.shape),
        with_interactions=with_interactions,
        standard_error_with_interactions=joint_error,
        by_model=by_model,
        provenance=replace(
            crossed.provenance,
            sampled_rows=effects.provenance.sampled_rows,
            predictions=crossed.provenance.predictions + effects.provenance.predictions,
        ),
    )


@dataclass(frozen=True, eq=False)
class PermutationStatistic(Statistic):
    """Permutation importance: the increase of a loss when the values of a feature are permuted.

    ``groups`` are permuted jointly, ``repeats`` times each.
    """

    estimators: tuple[Any, ...]
    groups: tuple[tuple[int, ...], ...]
    tokens: tuple[Any, ...]
    loss: Any
    response_method: str
    repeats: int
    seed: int
    verb: str = "feature_importance"

    seeds: ClassVar[tuple[int, ...]] = ()
    reads_trees: ClassVar[bool] = False
    needs_target: ClassVar[bool] = True
    needs_model: ClassVar[bool] = False

    def evaluate(self, context: RunContext) -> Rounds:
        """Evaluate the permutations of each model."""
        requests = [self._request(context, estimator) for estimator in self.estimators]
        estimated = yield from each_model(
            [
                evaluate_model(
                    context,
                    request.shuffler.loss.model,
                    partial(_unchanged_request, request),
                    "auto",
                    label(self.verb, index, len(requests)),
                )
                for index, request in enumerate(requests)
            ]
        )
        return partial(self._result, context, requests, estimated)

    def _request(self, context: RunContext, estimator: Any) -> PermutationRequest:
        """Return the request of one model, with the loss and the sampled rows."""
        rows = context.data.in_memory("kind='permutation'")
        rows = rows.keep(rows.counted)
        assert rows.target is not None
        loss = loss_of(estimator, self.loss, rows.target, rows.table, self.response_method)
        shuffler = Shuffler(loss, self.groups, self.repeats, self.seed, rows.table.row_bytes)
        return PermutationRequest(rows, shuffler, context.memory, context.threads or 1)

    def _result(
        self, context: RunContext, requests: list[PermutationRequest], estimated: list[ModelEstimates]
    ) -> Importance:
        """Build the result, averaged over several models."""
        models = [request.shuffler.loss.model for request in requests]
        provenance = context.record(
            **{**combine_facts(estimated), "why": "requested by kind='permutation'"},
            seed=self.seed,
        )
        names = tuple(" + ".join(context.rows.table.names[j] for j in group) for group in self.groups)
        by_model: list[tuple[GroupImportance, ...]] = [one.estimates[0] for one in estimated]
        values, errors = (
            np.array([[getattr(group, name) for group in groups] for groups in by_model])
            for name in ("value", "standard_error")
        )
        value, error = values.mean(axis=0), errors.mean(axis=0)
        repeats = np.array([[group.repeats for group in groups] for groups in by_model])
        return Importance(
            kind="permutation",
            unit=f"increase of {requests[0].shuffler.loss.name}",
            features=self.tokens,
            feature_names=names,
            output_names=("prediction",),
            values=value,
            standard_error=error,
            with_interactions=None,
            standard_error_with_interactions=None,
            repeats=repeats.mean(axis=0),
            notes=(
                *_not_finite_notes(names, value),
                *unsteady_notes(models, UNSTEADY),
                *skipped_notes(provenance),
            ),
            provenance=provenance,
            by_model=values if context.several else None,
        )


def _not_finite_notes(names: Sequence[str], values: Floats) -> Iterator[Note]:
    """Yield notes on groups whose importance is not finite."""
    for name, value in zip(names, values, strict=True):
        if not np.isfinite(value):
            reason = f"{name}: the importance is {value}, because a prediction or its loss is not finite"
            yield NoteCode.NOT_FINITE.note(feature=name, reason=reason)


def _unchanged_request(request: PermutationRequest, candidate: Any) -> PermutationRequest:
    """Return the request, which is the same for every evaluator."""
    return request


@dataclass(frozen=True, eq=False)
class OwnStatistic(Statistic):
    """Importance that the model stored when it was fitted."""

    estimator: Any
    features: tuple[int, ...]
    tokens: tuple[Any, ...]
    verb: str = "feature_importance"

    seeds: ClassVar[tuple[int, ...]] = ()
    reads_trees: ClassVar[bool] = False
    needs_model: ClassVar[bool] = False

    def evaluate(self, context: RunContext) -> Rounds:
        """Read the importance; no pass over the rows is needed."""
        context.data.in_memory("kind='model'")
        if context.parent is not None:
            raise OptionError(
                "kind='model' is about the rows that the model was fitted on, and has no groups; leave by "
                "out, or pass kind='effect' or 'permutation'"
            )
        return partial(self._result, context)
        yield  # a generator without passes

    def _result(self, context: RunContext) -> Importance:
        """Build the result."""
        table, chosen = context.rows.table, list(self.features)
        own = own_importance(self.estimator, table.whole if isinstance(table, GroupedTable) else table)
        values = np.zeros(len(table.names))
        np.add.at(values, list(owners_of(table)), own.values)
        facts: dict[str, Any] = {**of_estimator(self.estimator, "own importance", "share")}
        provenance = context.record(
            **facts,
            estimand=Estimand.TRAINING,
            evaluator="model",
            why="requested by kind='model'",
            how=f"recorded by the model: {own.what}",
            block_rows=len(context.rows),
            threads=1,
            max_memory=0,
            passes=1,
        )
        return Importance(
            kind="model",
            unit=f"share of {own.what}",
            features=self.tokens,
            feature_names=tuple(table.names[j] for j in chosen),
            output_names=("prediction",),
            values=values[chosen],
            standard_error=np.full(len(chosen), np.nan),
            with_interactions=None,
            standard_error_with_interactions=None,
            repeats=None,
            notes=tuple(skipped_notes(provenance)),
            provenance=provenance,
        )
