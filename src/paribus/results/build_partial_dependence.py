"""Build partial dependence results from estimates."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Floats
from paribus._evaluators.request import EffectEstimate, EvaluationRequest
from paribus._grid import Axis, Grid
from paribus._models import Model
from paribus._models.model import unsteady_notes
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode
from paribus.results.curve_values import strength_of
from paribus.results.extrapolation import Extrapolation
from paribus.results.ice_quantiles import IceQuantiles
from paribus.results.model_spread import ModelSpread, model_spread_notes
from paribus.results.partial_dependence import PartialDependence, PartialDependenceAtMissing
from paribus.results.provenance import Provenance, skipped_notes
from paribus.results.schema import read_only


def effect_of(
    grid: Grid,
    estimate: EffectEstimate,
    support: Floats,
    extrapolation: Extrapolation | None,
    remarks: tuple[Note, ...],
    *,
    request: EvaluationRequest,
    models: tuple[Model, ...],
    unit: float,
    provenance: Provenance,
) -> PartialDependence:
    """Return the effect of a grid; ``unit`` converts computed weights to given weights.

    ``remarks`` are notes about how it was computed; ``models``, all with the same outputs, who predicted.
    """
    own = (
        estimate.average,
        estimate.standard_error,
        estimate.individual,
        estimate.quantiles,
        estimate.by_model,
    )
    for array in own:
        read_only(array)  # before it is sliced, so that no view can be written to either
    averaged = request.kind != "individual"
    average, error = (estimate.average, estimate.standard_error) if averaged else (None, None)
    missing = None
    if grid.includes_missing:
        axis = grid.axes[0]
        at = (_last(points) for points in (average, error, estimate.individual))
        missing = PartialDependenceAtMissing(axis.missing_share, axis.missing * unit, *at)
    weights = support.ravel() if missing is None else np.append(support, missing.support)
    names, grid_values = models[0].output_names, tuple(axis.values for axis in grid.axes)
    by_model, shaped = _by_model(grid, estimate, models), _shaped(average, grid)
    differing = model_spread_notes(by_model, shaped, grid.names, grid_values, names)
    return PartialDependence(
        feature_names=grid.names,
        output_names=names,
        kinds=tuple(axis.kind for axis in grid.axes),
        ordered=tuple(axis.ordered for axis in grid.axes),
        grid_values=grid_values,
        average=shaped,
        standard_error=_shaped(error, grid),
        individual=_shaped(estimate.individual, grid),
        support=support,
        extrapolation=extrapolation,
        missing=missing,
        deciles=tuple(axis.deciles for axis in grid.axes),
        strength=strength_of(estimate.average, weights),
        notes=(*_notes(grid, models, estimate.average, extrapolation, provenance), *remarks, *differing),
        provenance=provenance,
        quantiles=_quantiles(grid, estimate, request),
        row_weights=None if estimate.row_weights is None else estimate.row_weights * unit,
        by_model=by_model,
    )


def _by_model(grid: Grid, estimate: EffectEstimate, models: tuple[Model, ...]) -> ModelSpread | None:
    values = _shaped(estimate.by_model, grid)
    if values is None:
        return None
    missing = _last(estimate.by_model) if grid.includes_missing else None
    return ModelSpread.of(tuple(model.name for model in models), values, missing)


def _quantiles(grid: Grid, estimate: EffectEstimate, request: EvaluationRequest) -> IceQuantiles | None:
    if estimate.quantiles is None or request.quantiles is None:
        return None
    values = _shaped(estimate.quantiles, grid)
    assert values is not None
    missing = _last(estimate.quantiles) if grid.includes_missing else None
    return IceQuantiles(np.array(request.quantiles.probabilities), values, estimate.rank_error, missing)


def _last(points: Floats | None) -> Floats | None:
    """Return the last point, the missing value."""
    return None if points is None else points[..., -1]


def _shaped(points: Floats | None, grid: Grid) -> Floats | None:
    """Lay points out along the axes; a single axis leaves its missing value out, as a view."""
    if points is None or grid.includes_missing:
        return None if points is None else points[..., :-1]
    return points.reshape(*points.shape[:-1], *grid.shape)


def _notes(
    grid: Grid,
    models: tuple[Model, ...],
    average: Floats,
    extrapolation: Extrapolation | None,
    provenance: Provenance,
) -> tuple[Note, ...]:
    notes = [note for axis in grid.axes for note in axis.notes]
    far = None if extrapolation is None else extrapolation.note("curve" if len(grid.axes) == 1 else "surface")
    notes.extend([] if far is None else [far])
    if provenance.estimand is Estimand.PATH_DEPENDENT:
        text = (
            "averaged along the paths of the training data, not over X: for dependent features this differs "
            "from brute force"
        )
        notes.append(Note(NoteCode.TRAINING_PATHS, text))
    alone = len(grid.axes) == 1
    where = (
        "the effect at missing is reported separately"
        if alone
        else ("its effect there is reported for it alone")
    )
    notes.extend(missing_note(axis, f"; {where}") for axis in grid.axes if axis.missing)
    notes.extend(skipped_notes(provenance))
    if not np.isfinite(average).all():
        text = "the prediction is not finite at some points, so neither is their average"
        notes.append(Note(NoteCode.NOT_FINITE, text))
    notes += unsteady_notes(
        models,
        ", so it was evaluated one point at a time; if its prediction for a row depends on the rows beside "
        "it, the average depends on how the rows are cut",
    )
    return tuple(notes)


def missing_note(axis: Axis, then: str) -> Note:
    """Return the note on a feature that is missing in part of the data, and what was done about it."""
    text = f"{axis.name} is missing in {axis.missing_share:.1%} of the data{then}"
    return Note(NoteCode.MISSING_VALUES, text, axis.name, axis.missing_share)
