"""From answers to a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from paribus.contracts import Floats
from paribus.evaluators.request import Answer, Ask
from paribus.grid import Question
from paribus.models import Model
from paribus.models.model import unsteady_notes
from paribus.results.extrapolation import Extrapolation
from paribus.results.partial_dependence import Missing, PartialDependence
from paribus.results.provenance import Provenance, skipped_notes
from paribus.results.refits import Refits, refit_notes
from paribus.results.spread import Spread, read_only
from paribus.states.large import scaled


def effect_of(
    question: Question,
    answer: Answer,
    support: Floats,
    extrapolation: Extrapolation | None,
    remarks: tuple[str, ...],
    *,
    ask: Ask,
    models: tuple[Model, ...],
    unit: float,
    provenance: Provenance,
) -> PartialDependence:
    """Return the effect a question asked for; ``unit`` turns weights as computed into weights as given.

    ``remarks`` are notes about how it was computed; ``models``, all with the same outputs, who answered.
    """
    own = answer.average, answer.standard_error, answer.individual, answer.quantiles, answer.by_model
    for array in own:
        read_only(array)  # before it is sliced, so that no view can be written to either
    averaged = ask.kind != "individual"
    average, error = (answer.average, answer.standard_error) if averaged else (None, None)
    missing = None
    if question.asks_missing:
        axis = question.axes[0]
        at = (_last(points) for points in (average, error, answer.individual))
        missing = Missing(axis.missing_share, axis.missing * unit, *at)
    weights = support.ravel() if missing is None else np.append(support, missing.support)
    names, grid_values = models[0].output_names, tuple(axis.values for axis in question.axes)
    refits, shaped = _refits(question, answer, models), _shaped(average, question)
    differing = refit_notes(refits, shaped, question.names, grid_values, names)
    return PartialDependence(
        feature_names=question.names,
        output_names=names,
        kinds=tuple(axis.kind for axis in question.axes),
        ordered=tuple(axis.ordered for axis in question.axes),
        grid_values=grid_values,
        average=shaped,
        standard_error=_shaped(error, question),
        individual=_shaped(answer.individual, question),
        support=support,
        extrapolation=extrapolation,
        missing=missing,
        deciles=tuple(axis.deciles for axis in question.axes),
        strength=strength_of(answer.average, weights),
        notes=(*_notes(question, models, answer.average, extrapolation, provenance), *remarks, *differing),
        provenance=provenance,
        spread=_spread(question, answer, ask),
        row_weights=None if answer.row_weights is None else answer.row_weights * unit,
        refits=refits,
    )


def _refits(question: Question, answer: Answer, models: tuple[Model, ...]) -> Refits | None:
    values = _shaped(answer.by_model, question)
    if values is None:
        return None
    missing = _last(answer.by_model) if question.asks_missing else None
    return Refits.of(tuple(model.name for model in models), values, missing)


def _spread(question: Question, answer: Answer, ask: Ask) -> Spread | None:
    if answer.quantiles is None or ask.spread is None:
        return None
    values = _shaped(answer.quantiles, question)
    assert values is not None
    missing = _last(answer.quantiles) if question.asks_missing else None
    return Spread(np.array(ask.spread.probabilities), values, answer.rank_error, missing)


def strength_of(average: Floats, weights: Floats) -> float:
    r"""Return the standard deviation of the partial dependence over the data, root mean square over outputs.

    .. math:: \sqrt{\operatorname{mean}_o \sum_g s_g (PD_{og} - \overline{PD}_o)^2 / \sum_g s_g}

    with the averages ``(o, g)`` and the weight ``s (g,)`` of the data at each point. Where there is no
    data at any of them, every point counts the same.
    """
    if not weights.any():
        weights = np.ones_like(weights)
    if not len(weights):
        return 0.0
    shares = weights / weights.sum()

    def deviation(values: Floats) -> Any:
        centred = values - (values @ shares)[:, None]
        return np.sqrt(np.mean(centred**2 @ shares))

    return float(scaled(deviation, average))


def _last(points: Floats | None) -> Floats | None:
    """Return the last point, the missing value."""
    return None if points is None else points[..., -1]


def _shaped(points: Floats | None, question: Question) -> Floats | None:
    """Lay points out along the axes; a single axis leaves its missing value out, as a view."""
    if points is None or question.asks_missing:
        return None if points is None else points[..., :-1]
    return points.reshape(*points.shape[:-1], *question.shape)


def _notes(
    question: Question,
    models: tuple[Model, ...],
    average: Floats,
    extrapolation: Extrapolation | None,
    provenance: Provenance,
) -> tuple[str, ...]:
    notes = [note for axis in question.axes for note in axis.notes]
    far = (
        None
        if extrapolation is None
        else extrapolation.note("curve" if len(question.axes) == 1 else "surface")
    )
    notes.extend([] if far is None else [far])
    if provenance.estimand == "path-dependent":
        notes.append(
            "averaged along the paths of the training data, not over X: where features depend on each other "
            "this differs from the brute-force number"
        )
    alone = len(question.axes) == 1
    where = "the effect there is a point of its own" if alone else "its effect there is reported for it alone"
    notes.extend(
        f"{axis.name} is missing in {axis.missing_share:.1%} of the data; {where}"
        for axis in question.axes
        if axis.missing
    )
    notes.extend(skipped_notes(provenance))
    if not np.isfinite(average).all():
        notes.append("the model's answer is not finite at some points, so neither is their average")
    notes += unsteady_notes(
        models,
        ", so it was evaluated one point at a time; if its prediction for a row depends on the rows beside "
        "it, the average depends on how the rows are cut",
    )
    return tuple(notes)
