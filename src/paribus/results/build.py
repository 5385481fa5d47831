"""From a merged state to a result: the *finish* of the fold."""

from __future__ import annotations

import numpy as np

from paribus.contracts import Floats
from paribus.evaluators.brute import EffectState
from paribus.evaluators.support import support_at_points
from paribus.grid import Question
from paribus.models import Model
from paribus.results.partial_dependence import Missing, PartialDependence
from paribus.results.provenance import Provenance
from paribus.states import Counts, Moments, Product, RowCurves


def effect_of(
    question: Question, state: EffectState, counts: Counts, model: Model, provenance: Provenance
) -> PartialDependence:
    """Return the effect a question asked for."""
    parts = state.parts if isinstance(state, Product) else (state,)
    moments = next((part for part in parts if isinstance(part, Moments)), None)
    rows = next((part for part in parts if isinstance(part, RowCurves)), None)
    average = None if moments is None else moments.mean
    error = None if moments is None else moments.standard_error()
    curves = None if rows is None else rows.finish()
    missing = None
    if question.asks_missing:
        average, at_average = _split(average)
        error, at_error = _split(error)
        curves, at_curves = _split(curves)
        missing = Missing(question.axes[0].missing_share, at_average, at_error, at_curves)
    return PartialDependence(
        question.names,
        model.output_names,
        tuple(axis.kind for axis in question.axes),
        tuple(axis.values for axis in question.axes),
        _shaped(average, question.shape),
        _shaped(error, question.shape),
        _shaped(curves, question.shape),
        support_at_points(question, counts),
        missing,
        tuple(axis.deciles for axis in question.axes),
        _notes(question, average),
        provenance,
    )


def _split(points: Floats | None) -> tuple[Floats | None, Floats | None]:
    """Take the last point, the missing value, off the others."""
    return (None, None) if points is None else (points[..., :-1], np.ascontiguousarray(points[..., -1]))


def _shaped(points: Floats | None, shape: tuple[int, ...]) -> Floats | None:
    return None if points is None else np.ascontiguousarray(points).reshape(*points.shape[:-1], *shape)


def _notes(question: Question, average: Floats | None) -> tuple[str, ...]:
    notes = [note for axis in question.axes for note in axis.notes]
    if len(question.axes) > 1 and any(axis.has_missing for axis in question.axes):
        notes.append("the effect at a missing value is reported for one feature at a time")
    if average is not None and not np.isfinite(average).all():
        notes.append("the model's answer is not finite at some points, so neither is their average")
    return tuple(notes)
