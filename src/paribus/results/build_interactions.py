"""From what was found to results, with what has to be said about it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._evaluators.interactions import InteractionStatistics, Ratio
from paribus._evaluators.interactions.interaction_request import InteractionRequest
from paribus._models import Model
from paribus._models.adapter import has_margin
from paribus._models.model import unsteady_notes
from paribus.errors import RefusalCode
from paribus.notes import Note, NoteCode
from paribus.results.hstatistics import HStatistics, Token
from paribus.results.importance import Importance
from paribus.results.provenance import Provenance, skipped_notes

WEAK = 1e-3  # of the prediction's variance: a joint effect whose H² is noise
ABOVE = 1 + 1e-9  # an H² that is more than one, and not by rounding
COARSE = 1e-3  # of the prediction's standard deviation: a strength that is called zero, and worth a word
SHOWN = 3  # groups that a note names
WEAK_EFFECT = f"have a joint effect below {WEAK:.1%} of the prediction's variance: their H² is noise"
CANCELLING = "have an H² above 1, because their own effects cancel in the joint one; compare strengths"
VANISHING = "interact, but their joint effect vanishes, so that H² is not defined"


def h_statistics_of(
    statistics: InteractionStatistics,
    request: InteractionRequest,
    tokens: tuple[Token, ...],
    models: tuple[Model, ...],
    provenance: Provenance,
    every: Sequence[InteractionStatistics] = (),
) -> HStatistics:
    """Return the H-statistics that were requested; ``every`` are those of each of several models."""
    assert statistics.pairwise is not None
    names = tuple(request.rows.table.names[feature] for feature in request.features)
    return HStatistics(
        features=tokens,
        feature_names=names,
        output_names=models[0].output_names,
        pairs=request.pairs,
        triples=statistics.triples,
        variance=statistics.variance,
        main_effect=statistics.main,
        pairwise=statistics.pairwise,
        overall=statistics.overall,
        threeway=statistics.threeway,
        total=statistics.total,
        notes=(
            *_of_groups(statistics, request, names),
            *_of_call(statistics, request, models, provenance),
            *_of_total(statistics, request),
        ),
        provenance=provenance,
        strength_by_model=np.stack([one.pairwise.strength for one in every if one.pairwise is not None])
        if every
        else None,
    )


def _of_groups(
    statistics: InteractionStatistics, request: InteractionRequest, names: tuple[str, ...]
) -> list[Note]:
    """Say which groups have an H² that must not be read as it stands."""
    notes: list[Note] = []
    requested = ((statistics.pairwise, request.pairs), (statistics.threeway, statistics.triples))
    for ratio, groups in requested:
        if ratio is None:
            continue
        some = ratio.numerator > 0
        empty = some & (ratio.denominator == 0)
        weak = some & ~empty & (ratio.denominator < WEAK * statistics.variance)
        above = some & ~weak & (np.nan_to_num(ratio.share) > ABOVE)
        for which, code, text in (
            (weak, NoteCode.WEAK_DENOMINATOR, WEAK_EFFECT),
            (above, NoteCode.H_ABOVE_ONE, CANCELLING),
            (empty, NoteCode.H_UNDEFINED, VANISHING),
        ):
            listed = _listed(which, groups, names)
            notes.extend([Note(code, f"{listed} {text}")] if listed else [])
    return notes


def _listed(which: Flags, groups: tuple[tuple[int, ...], ...], names: tuple[str, ...]) -> str:
    rows = np.flatnonzero(which.any(axis=1))
    shown = [" x ".join(names[position] for position in groups[row]) for row in rows[:SHOWN]]
    more = len(rows) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _of_call(
    statistics: InteractionStatistics,
    request: InteractionRequest,
    models: tuple[Model, ...],
    provenance: Provenance,
) -> list[Note]:
    notes = []
    if provenance.sampled_rows is not None:
        text = (
            f"computed on {provenance.sampled_rows:,} of {provenance.rows:,} rows; standard errors include "
            f"the error of subsampling"
        )
        notes.append(Note(NoteCode.ROWS_SAMPLED, text, value=provenance.sampled_rows))
    if request.influence_cut > 1 and provenance.standard_error_rows < request.rows.n_weighted:
        used = provenance.standard_error_rows
        text = f"standard errors are from {used:,} rows, fewer than usual because of max_memory"
        notes.append(Note(NoteCode.ERROR_ROWS, text, value=used))
    notes += [*skipped_notes(provenance), *_of_predictions(statistics, len(request.rows))]
    if (
        models[0].response == "predict_proba"
        and provenance.evaluator == "brute"
        and has_margin(models[0].predictor.target)
    ):
        exact = provenance.refusals["tree_exact"].code is RefusalCode.NONLINEAR_LINK
        text = (
            "on the probability scale a model that is additive on the margin scale has interactions; "
            "response_method='decision_function' explains the margin"
            + (", of trees on every row" if exact else "")
        )
        notes.append(Note(NoteCode.PROBABILITY_SCALE, text))
    return notes + unsteady_notes(models, ", so it was evaluated one point at a time")


def _of_predictions(statistics: InteractionStatistics, rows: int) -> list[Note]:
    """Return why there is little to explain, if there is."""
    floor, spread = np.sqrt(statistics.floor), np.sqrt(statistics.variance)
    if not np.isfinite(statistics.variance).all():
        text = (
            "predictions, or their squares, are not finite for some rows, so these statistics are not either"
        )
        return [Note(NoteCode.NOT_FINITE, text)]
    if rows < 2:
        text = "a single row has neither effects nor standard errors"
        return [Note(NoteCode.SINGLE_ROW, text)]
    if (spread <= floor).all():
        text = "the prediction does not vary over these rows: there is nothing to explain"
        return [Note(NoteCode.CONSTANT_PREDICTION, text)]
    if not (floor > COARSE * spread).any():
        return []
    largest = float(np.max(floor))
    text = (
        f"strengths up to {largest:.2g} are called zero: rounding in single precision can be as large for "
        f"these predictions"
    )
    return [Note(NoteCode.SINGLE_PRECISION, text, value=largest)]


def _of_total(statistics: InteractionStatistics, request: InteractionRequest) -> list[Note]:
    if statistics.overall is None or request.every_column:
        return []
    text = "there is no total: effects of columns that were not requested are unknown"
    return [Note(NoteCode.NO_TOTAL, text)]


def importance_of(
    statistics: InteractionStatistics,
    request: InteractionRequest,
    tokens: tuple[Token, ...],
    models: tuple[Model, ...],
    provenance: Provenance,
    every: Sequence[InteractionStatistics] = (),
) -> Importance:
    """Return importance by effect: the standard deviation of partial dependence over the data."""
    assert statistics.left_out is not None
    values, errors = _strengths(statistics.main)
    lost, lost_errors = _strengths(statistics.left_out)
    return Importance(
        method="effect",
        unit=f"standard deviation of the effect ({models[0].scale})",
        features=tokens,
        feature_names=tuple(request.rows.table.names[feature] for feature in request.features),
        output_names=models[0].output_names,
        values=values,
        standard_error=errors,
        with_interactions=lost,
        standard_error_with_interactions=lost_errors,
        repeats=None,
        notes=tuple(_of_call(statistics, request, models, provenance)),
        provenance=provenance,
        by_model=np.stack([_strengths(one.main)[0] for one in every]) if every else None,
    )


def _strengths(ratio: Ratio) -> tuple[Floats, Floats]:
    both = ratio.strength, ratio.strength_error
    values, errors = (array[:, 0] if array.shape[1] == 1 else array for array in both)
    return np.ascontiguousarray(values), np.ascontiguousarray(errors)
