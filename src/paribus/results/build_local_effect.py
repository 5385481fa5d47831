"""From estimates on ALE grids to local effects."""

from __future__ import annotations

import numpy as np

from paribus._evaluators.ale.accumulate import AleEstimate
from paribus._evaluators.ale.ale_grid import DECLARED, GIVEN, LISTED, AleBins, AleGrid
from paribus._models import Model
from paribus._models.model import unsteady_notes
from paribus.notes import Note, NoteCode
from paribus.results.build_partial_dependence import missing_note
from paribus.results.curve_values import strength_of
from paribus.results.local_effect import LocalEffect, LocalEffectAtMissing
from paribus.results.model_spread import ModelSpread, model_spread_notes
from paribus.results.provenance import Provenance, skipped_notes

SHOWN = 6  # categories that a note lists


def local_effect_of(
    grid: AleGrid,
    estimate: AleEstimate,
    total: float,
    unit: float,
    models: tuple[Model, ...],
    provenance: Provenance,
) -> LocalEffect:
    """Return a local effect; ``total`` is the weight of all rows, ``unit`` turns weights into those given.

    ``models``, which all have the same outputs, are who predicted.
    """
    output_names, refits = models[0].output_names, None
    values, weights = estimate.ale.reshape(len(output_names), -1), estimate.node_weight.ravel()
    if len(grid.bins) == 1 and grid.bins[0].alone:
        weights = np.array([grid.bins[0].alone])
    missing = None
    if estimate.missing is not None:
        axis, anchor = grid.axes[0], grid.bins[0].anchor
        known = axis.values[anchor]
        known = known.item() if isinstance(known, (np.number, np.bool_)) else known
        missing = LocalEffectAtMissing(
            axis.missing_share, axis.missing * unit, known, *map(np.copy, estimate.missing)
        )
        values = np.concatenate([values, estimate.missing[0][:, None]], axis=1)
        weights = np.append(weights, estimate.missing_weight)
    if estimate.by_model is not None:
        refits = ModelSpread.of(
            tuple(model.name for model in models), estimate.by_model, estimate.missing_by_model
        )
    grid_values = tuple(axis.values for axis in grid.axes)
    differing = model_spread_notes(refits, estimate.ale, grid.names, grid_values, output_names)
    return LocalEffect(
        feature_names=grid.names,
        output_names=output_names,
        kinds=tuple(axis.kind for axis in grid.axes),
        grid_values=grid_values,
        ale=estimate.ale,
        standard_error=estimate.error,
        local=estimate.local,
        local_error=estimate.local_error,
        support=estimate.weight * unit,
        rows=estimate.rows.copy(),
        empty=estimate.empty,
        missing=missing,
        order=tuple(bins.order for bins in grid.bins),
        strength=strength_of(values, weights),
        notes=(*_local_notes(grid, estimate, total, models, provenance), *differing),
        provenance=provenance,
        by_model=refits,
    )


def _listed(bins: AleBins) -> str:
    """Return the first categories in their order."""
    categories = [str(value) for value in bins.axis.values[:SHOWN]]
    return ", ".join(categories) + (", ..." if bins.nodes > SHOWN else "")


def _local_notes(
    grid: AleGrid, estimate: AleEstimate, total: float, models: tuple[Model, ...], provenance: Provenance
) -> tuple[Note, ...]:
    notes = [note for axis in grid.axes for note in axis.notes]
    for bins in grid.bins:
        if bins.order and bins.order not in (LISTED, GIVEN, DECLARED):
            text = (
                f"the categories of {bins.axis.name} are unordered; they were arranged "
                f"{bins.order}: {_listed(bins)}. ALE depends on this order; partial_dependence does not"
            )
            notes.append(Note(NoteCode.CATEGORY_ORDER, text, bins.axis.name))
    for axis in grid.axes:
        if axis.missing and estimate.missing is not None:
            notes.append(missing_note(axis, "; the effect at missing is reported separately"))
        elif axis.missing and len(axis):
            notes.append(missing_note(axis, ", which is left out"))
    inside = float(estimate.weight.sum()) + sum(axis.missing for axis in grid.axes[:1])
    if len(grid.axes) == 1 and (all(grid.steps) or grid.bins[0].order) and inside < total * (1 - 1e-9):
        beyond = 1 - inside / total
        text = f"{beyond:.1%} of the data lies outside the grid and is ignored"
        notes.append(Note(NoteCode.OUTSIDE_GRID, text, grid.axes[0].name, beyond))
    if estimate.empty.any():
        empty, size = estimate.empty.sum(), estimate.empty.size
        text = f"{empty:,} of {size:,} cells have no rows and use the nearest cell that has"
        notes.append(Note(NoteCode.EMPTY_CELLS, text, value=empty / size))
    notes.extend(skipped_notes(provenance))
    if not np.isfinite(estimate.ale).all():
        text = (
            "a prediction, or a difference of two, is not finite at some points, so the effect is not either"
        )
        notes.append(Note(NoteCode.NOT_FINITE, text))
    notes += unsteady_notes(
        models,
        ", so it was evaluated one value at a time; if its prediction for a row depends on the rows beside "
        "it, the effect depends on how the rows are cut",
    )
    return tuple(notes)
