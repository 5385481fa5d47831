"""Two explanations become their difference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paribus._contracts import Floats, Integers
from paribus._evaluators.performance.influences import metric_influences
from paribus._states.sums import ignore_fp_errors
from paribus._text import percent
from paribus._typing import ErrorBasis, Presence
from paribus.errors import InputError
from paribus.notes import NoteCode
from paribus.results.comparison import INDEPENDENT
from paribus.results.curve_parts import ROUNDING
from paribus.results.curve_values import (
    SharedPoints,
    centered_variance,
    check_independent,
    check_same,
    combined_error,
    common_values,
    data_shares,
    least_difference,
)
from paribus.results.drift import (
    Drift,
    EffectDrift,
    InteractionDrift,
    MetricDrift,
    RowDrift,
    why_no_rows,
)
from paribus.results.partial_dependence import PartialDependence
from paribus.results.transforms import moments_of

if TYPE_CHECKING:
    from paribus.results.explanation import Explanation
    from paribus.results.hstatistics import HStatistics
    from paribus.results.model_record import RowPredictions
    from paribus.results.performance import Metric

SAME_ROWS = (
    "both are over the same rows, where changes are exact; standard errors for other rows are the sum of "
    "both, an upper bound"
)
SOME_ROWS = (
    "rows may be in both: standard errors are the sum of both, an upper bound; pass independent=True if "
    "these are independent samples"
)
REFITS = "standard errors are of the rows, not of fitting a model again"
PAIRED = "those of losses, accuracy, R², AUC and ratios are of differences row by row"
STEPS = 20  # toward the level of a change


@ignore_fp_errors()
def drift_of(old: Explanation, new: Explanation, independent: bool) -> Drift:
    """Return the change from one explanation to another."""
    parts = {"the old explanation": old, "the new one": new}
    check_same(parts, "on another scale", lambda part: part.provenance.scale)
    check_same(parts, "about other outputs", lambda part: ", ".join(part.output_names))
    same_data = _same_rows(old, new)
    check_independent(independent, same_data, "both explanations")
    basis: ErrorBasis = "independent" if independent else "upper bound"
    reason = INDEPENDENT if independent else SAME_ROWS if same_data else SOME_ROWS
    if old.effects.keys().isdisjoint(new.effects):
        raise InputError(
            "the two explanations have no feature in common; compare those of one set of columns"
        )
    names = dict.fromkeys((*old.feature_names, *new.feature_names))
    unasked = [name for name in names if _unasked(old, name) or _unasked(new, name)]
    effects = [_effect(old, new, name, basis) for name in names if name not in unasked]
    effects.sort(key=lambda effect: -float(np.nan_to_num(np.linalg.norm(effect.typical), nan=np.inf)))
    rows = _rows(old, new, same_data)
    metrics = _metrics(old, new, basis, rows)
    more = f"; {PAIRED}" if any(metric.paired for metric in metrics) else ""
    if rows is None:
        more = f"; predictions of single rows, {why_no_rows(same_data)}, may have changed"
    grids = None
    uneven = [effect for effect in effects if effect.presence == "both" and _uneven(old, new, effect.feature)]
    if uneven:
        grids = (
            f"the grids of {len(uneven)} features differ: between two new values, a change within their "
            "range is not counted"
        )
        lost = 1 - min(effect.compared for effect in uneven)
        if lost > ROUNDING:
            grids += f"; up to {percent(lost)} of the old data of a feature has no new curve, and is left out"
    note = NoteCode.ERROR_BASIS.note(reason=f"{reason}; {REFITS}{more}", grids=grids)
    return Drift(
        output_names=old.output_names,
        effects=tuple(effects),
        not_compared=tuple(unasked),
        interactions=_interactions(old, new, basis),
        metrics=metrics,
        rows=rows,
        level_old=old.predictions.mean,
        level_new=new.predictions.mean,
        level_error=combined_error(basis, *(one.predictions.standard_error for one in (old, new))),
        deviation=old.predictions.deviation,
        errors=basis,
        same_model=old.provenance.model_digest == new.provenance.model_digest,
        same_data=same_data,
        notes=(note,),
        provenances={"old": old.provenance, "new": new.provenance},
    )


def _same_rows(old: Explanation, new: Explanation) -> bool:
    """Return whether two explanations are over the same rows.

    They are if the weights are the same, every column that both know has the same values in the same order,
    and the rows are the same sample.
    """
    one, two = old.predictions, new.predictions
    shared = one.column_digests.keys() & two.column_digests.keys()
    equal = [one.column_digests[name] == two.column_digests[name] for name in shared]
    samples = {(part.provenance.sampled_rows, part.provenance.seed) for part in (old, new)}
    same_weights = one.weight_digest == two.weight_digest
    return bool(equal) and all(equal) and same_weights and len(samples) == 1


def _unasked(explanation: Explanation, name: str) -> bool:
    """Return whether an explanation is without a feature that its model has."""
    return name not in explanation.effects and _has_column(explanation, name)


def _has_column(explanation: Explanation, name: str) -> bool:
    """Return whether the model of an explanation receives a column."""
    return (
        name in explanation.predictions.column_digests and name not in explanation.provenance.unused_columns
    )


def _uneven(old: Explanation, new: Explanation, name: str) -> bool:
    """Return whether the curves of a feature have different grids."""
    return not np.array_equal(old.effects[name].grid_values[0], new.effects[name].grid_values[0])


def _effect(old: Explanation, new: Explanation, name: str, basis: ErrorBasis) -> EffectDrift:
    """Return the change of one feature at the values of the old curve, or of the only one."""
    effects = [old.effects.get(name), new.effects.get(name)]
    curves = [effect for effect in effects if effect is not None]
    reference, other = curves[0], curves[-1]
    values = common_values(reference, other)
    alike = len(values) or not any(len(curve.grid_values[0]) for curve in curves)  # also without any value
    points = SharedPoints(values, bool(alike) and all(curve.missing is not None for curve in curves))
    support = points.at(reference, "support")
    total = reference.support.sum() + (0.0 if reference.missing is None else reference.missing.support)
    weights = data_shares(support)
    errors = [_centered_error(curve, points, weights) for curve in curves]
    presence: Presence = "both"
    if len(curves) == 2:
        change, error = _change(reference, other, points, weights), combined_error(basis, *errors)
    else:  # the curve of a model without the feature is flat
        presence = "old" if effects[1] is None else "new"
        curve, error = points.at(reference, "average"), errors[0]
        change = (curve - (curve @ weights)[:, None]) * (1 if presence == "new" else -1)
    change_at, missing_change = points.split(change)
    error_at, missing_error = points.split(error)
    return EffectDrift(
        feature=name,
        presence=presence,
        kinds=reference.kinds,
        output_names=reference.output_names,
        grid_values=(values,),
        change=change_at,
        standard_error=error_at,
        weights=weights[: len(values)].copy(),
        missing_change=missing_change,
        missing_error=missing_error,
        missing_weight=float(weights[-1]) if points.missing else 0.0,
        compared=float(support.sum() / total),
        typical=_typical(change, weights),
        typical_error=_typical(error, weights),
        strengths=tuple(None if effect is None else float(effect.strength) for effect in effects),
    )


def _change(old: PartialDependence, new: PartialDependence, points: SharedPoints, weights: Floats) -> Floats:
    """Return the least change ``(o, p)``, apart from its level, that agrees with the new grid."""
    curve, ends = points.at(old, "average"), points.ends(new, "average")
    level = (curve - points.at(new, "average")) @ weights
    for _ in range(STEPS):  # toward the level for which the typical change is least
        level = level - least_difference(curve, *ends, level) @ weights
    return least_difference(curve, *ends, level)


def _centered_error(effect: PartialDependence, points: SharedPoints, weights: Floats) -> Floats:
    """Return the standard error ``(o, p)`` of a curve apart from its level."""
    if effect.covariance is None:
        error = points.at(effect, "standard_error")
        return error + (error @ weights)[:, None]  # an upper bound
    covariance = points.along(effect, points.along(effect, effect.covariance).swapaxes(1, 2))
    return np.sqrt(centered_variance(covariance, weights))


def _typical(numbers: Floats, weights: Floats) -> Floats:
    """Return the root mean square over the data."""
    if not len(weights):
        return np.full(len(numbers), np.nan)
    return np.asarray(np.sqrt(np.square(numbers) @ weights))


def _rows(old: Explanation, new: Explanation, same_data: bool) -> RowDrift | None:
    """Return the change of the predictions that both keep; None after `Explanation.without_rows`."""
    one, two = old.predictions, new.predictions
    if not same_data or not len(one.numbers) or not len(two.numbers):
        return None
    change = two.predicted - one.predicted
    largest = np.abs(change).max(axis=1, keepdims=True)
    unit = np.where(largest > 0, largest, 1.0)  # in which no square overflows
    squares = moments_of(np.square(change / unit)[..., None], one.weights, one.units)
    typical, error = np.sqrt(squares.mean[:, 0]), squares.standard_error()[:, 0]
    error = np.where(typical > 0, error / (2 * typical), error)
    numbers = (part * unit[:, 0] for part in (typical, error))
    return RowDrift(one.rows, old.output_names, change, one.weights, *numbers)


def _interactions(old: Explanation, new: Explanation, basis: ErrorBasis) -> InteractionDrift | None:
    """Return the change of the pairs that interact in one of the two, strongest first."""
    if old.interactions is None or new.interactions is None:
        return None
    strengths = [_strengths(old.interactions), _strengths(new.interactions)]
    nothing = np.zeros((2, len(old.output_names)))
    every = dict.fromkeys((*strengths[0], *strengths[1]))
    for explanation, known in zip((old, new), strengths, strict=True):
        for pair in every:
            if not all(_has_column(explanation, name) for name in pair):
                known.setdefault(pair, nothing)
    pairs = [pair for pair in strengths[0] if pair in strengths[1]]  # the others were not evaluated in one
    numbers = np.array([[known[pair] for known in strengths] for pair in pairs])
    numbers = numbers.reshape(len(pairs), 2, *nothing.shape)
    peaks = np.nan_to_num(numbers[:, :, 0]).max(axis=(1, 2), initial=0.0)
    order = [int(p) for p in np.argsort(-peaks, kind="stable") if peaks[p] > 0]
    return InteractionDrift(
        output_names=old.output_names,
        pairs=tuple(pairs[p] for p in order),
        old=numbers[order, 0, 0],
        new=numbers[order, 1, 0],
        standard_error=combined_error(basis, numbers[order, 0, 1], numbers[order, 1, 1]),
    )


def _strengths(interactions: HStatistics) -> dict[tuple[str, str], Floats]:
    """Return strengths and their errors ``(2, o)`` by the names of a pair, sorted."""
    names, pairwise = interactions.feature_names, interactions.pairwise
    strengths = {}
    for p, places in enumerate(interactions.pairs):
        first, second = sorted(names[place] for place in places)
        strengths[first, second] = np.stack([pairwise.strength[p], pairwise.strength_error[p]])
    return strengths


def _metrics(
    old: Explanation, new: Explanation, basis: ErrorBasis, rows: RowDrift | None
) -> tuple[MetricDrift, ...]:
    """Return the change of the metrics that both report."""
    if old.performance is None or new.performance is None:
        return ()
    y, other = old.predictions.observed, new.predictions.observed
    same = rows is not None and y is not None and other is not None and np.array_equal(y, other)
    # Rows of units that one of both has, or that of the new explanation, depend on each other.
    units = new.predictions.units if new.predictions.units is not None else old.predictions.units
    parts = (old, new) if same else ()
    influences = [_influences(part.predictions, part.output_names, units) for part in parts]
    after = {(metric.name, metric.output): metric for metric in new.performance.metrics}
    changes = []
    for before in old.performance.metrics:
        key = before.name, before.output
        if (metric := after.get(key)) is None:
            continue
        error = float(combined_error(basis, before.standard_error, metric.standard_error))
        paired = same and all(key in each for each in influences)
        if paired:
            error = _paired_error(before, metric, *(each[key] for each in influences))
        changes.append(MetricDrift(*key, before.value, metric.value, error, before.better, paired))
    return tuple(changes)


def _influences(
    kept: RowPredictions, outputs: tuple[str, ...], units: Integers | None
) -> dict[tuple[str, str | None], Floats]:
    """Return the influence of each kept row, or unit of rows, on metrics other than deviances."""
    assert kept.observed is not None
    found = metric_influences(kept.observed, kept.predicted, kept.weights)
    names = {(name, None if o is None else outputs[o]): kept.weights * found[name, o] for name, o in found}
    if units is not None:
        names = {key: np.bincount(units, rows).astype(np.float64) for key, rows in names.items()}
    return {key: influence for key, influence in names.items() if np.isfinite(influence).all()}


def _paired_error(one: Metric, two: Metric, old: Floats, new: Floats) -> float:
    """Return the standard error of a difference, from both errors and the correlation over the kept rows."""
    old, new = (part / (np.abs(part).max() or 1.0) for part in (old, new))  # of which no square overflows
    sizes = np.linalg.norm(old) * np.linalg.norm(new)
    correlation = float(old @ new / sizes) if sizes > 0 else 0.0
    larger, smaller = max(one.standard_error, two.standard_error), min(one.standard_error, two.standard_error)
    if not larger > 0:
        return larger
    ratio = smaller / larger
    return float(larger * np.sqrt(max(0.0, 1 + ratio**2 - 2 * correlation * ratio)))
