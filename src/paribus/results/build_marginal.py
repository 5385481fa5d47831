"""From moments of the rows in cells to averages near each point."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._evaluators.cell_means import CellEstimate, CellMeans
from paribus._grid import Axis
from paribus._models import Model
from paribus._models.model import unsteady_notes
from paribus.notes import Note, NoteCode
from paribus.results.build_partial_dependence import missing_note
from paribus.results.curve_values import strength_of
from paribus.results.marginal import Marginal, MarginalAtMissing
from paribus.results.model_spread import ModelSpread
from paribus.results.provenance import Provenance, skipped_notes


def marginal_of(
    axis: Axis,
    moments: CellEstimate,
    *,
    means: CellMeans,
    models: tuple[Model, ...],
    output_names: tuple[str, ...],
    unit: float,
    provenance: Provenance,
) -> Marginal:
    """Return the averages near each point; ``unit`` turns weights as computed into weights as given."""
    rows, weight = moments.rows, moments.weight
    total, missing, beyond = weight.sum(), axis.n_cells, axis.n_cells + 1
    cells = axis.cell_of_point
    inside = np.flatnonzero(rows[: axis.n_cells + 1])
    first = moments.mean[: means.outputs]  # of predictions, or of what came out where there is no model
    apart = None
    if rows[missing]:
        averages = _averages(moments, means, np.array([missing]))
        apart = MarginalAtMissing(
            share=float(weight[missing] / total),
            support=float(weight[missing] * unit),
            rows=int(rows[missing]),
            **{name: None if array is None else array[:, 0].copy() for name, array in averages.items()},
        )
    return Marginal(
        feature_names=(axis.name,),
        output_names=output_names,
        kinds=(axis.kind,),
        ordered=(axis.ordered,),
        grid_values=(axis.values,),
        **_averages(moments, means, cells),
        support=weight[cells] * unit,
        rows=rows[cells],
        missing=apart,
        outside=float(weight[beyond] / total),
        deciles=(axis.deciles,),
        strength=strength_of(first[:, inside], weight[inside]),
        notes=_notes(axis, moments, means, models, provenance),
        provenance=provenance,
        by_model=_by_model(axis, moments, means, models),
    )


def _by_model(
    axis: Axis, moments: CellEstimate, means: CellMeans, models: tuple[Model, ...]
) -> ModelSpread | None:
    """Return the average predictions of each of several models."""
    if moments.by_model is None:
        return None
    predicted = np.where(moments.rows > 0, moments.by_model, np.nan)[:, : means.outputs]
    missing = predicted[..., axis.n_cells].copy() if moments.rows[axis.n_cells] else None
    return ModelSpread.of(tuple(model.name for model in models), predicted[..., axis.cell_of_point], missing)


def _averages(moments: CellEstimate, means: CellMeans, cells: Integers) -> dict[str, Floats | None]:
    """Return the averages in some cells ``(o, c)`` and their errors; NaN where there are no rows."""
    mean = np.where(moments.rows > 0, moments.mean, np.nan)
    error = moments.error
    numbers: dict[str, Floats | None] = {}
    first = 0
    for name in ("predicted", "observed", "residual"):
        known = name in means.averaged
        some = slice(first, first + means.outputs)
        numbers[name] = mean[some, cells] if known else None
        numbers[f"{name}_error"] = error[some, cells] if known else None
        first += means.outputs * known
    return numbers


def _notes(
    axis: Axis,
    moments: CellEstimate,
    means: CellMeans,
    models: tuple[Model, ...],
    provenance: Provenance,
) -> tuple[Note, ...]:
    notes = [*axis.notes, *skipped_notes(provenance)]
    if axis.missing:
        notes.append(missing_note(axis, ", a cell of its own"))
    if not np.isfinite(moments.mean[: means.outputs]).all():
        text = "the prediction is not finite for some rows, so neither is the average over them"
        notes.append(Note(NoteCode.NOT_FINITE, text))
    notes += unsteady_notes(
        models,
        "; if its prediction for a row depends on the rows beside it, the averages depend on how the rows "
        "are cut",
    )
    return tuple(notes)
