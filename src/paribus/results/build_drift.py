"""Two explanations become their difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats
from paribus._evaluators.performance.row_losses import RowLosses
from paribus._states import Moments
from paribus._states.sums import ignore_fp_errors
from paribus._typing import DriftMeasure, DriftUnit, ErrorBasis, Presence
from paribus.errors import InputError, OptionError, check_choice
from paribus.notes import Note, NoteCode
from paribus.results.comparison import INDEPENDENT
from paribus.results.curve_parts import ModelSpread, between
from paribus.results.curve_values import as_numbers, at_values, check_same, neighbor_range, shared_values
from paribus.results.drift import (
    OTHER_ROWS,
    Bounds,
    Change,
    Drift,
    EffectDrift,
    InteractionDrift,
    MetricDrift,
    RowDrift,
)
from paribus.results.partial_dependence import PartialDependence

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
WITH_REFITS = "standard errors of level, effects and interactions are over rows and refits"
AS_FOLDS = ", which are taken for folds of a cross-validation; with_correction() declares others"
PAIRED = "those of losses, accuracy, R² and AUC are of differences row by row"
SQUARED = ("mean squared error", "root mean squared error", "Brier score")  # of one output
BISECTIONS = 60  # halves an interval to the last bit


class ComparedCurve(NamedTuple):
    """The partial dependence of one explanation, the missing value last if there is one."""

    effect: PartialDependence
    average: Floats  # (o, g), and at a missing value
    error: Floats  # of the average
    centered_error: Floats  # of the average relative to its mean over the data
    weights: Floats  # (g,), share of the data
    models: Floats | None  # (m, o, g), averages by model

    @property
    def grid(self) -> Array:
        """The values of the axis."""
        return self.effect.grid_values[0]


class Moved(NamedTuple):
    """Numbers at shared values, a missing value last if both curves have it."""

    change: Floats
    error: Floats
    level: Floats
    level_error: Floats
    weights: Floats
    refits: Floats | None  # (2, o, g), errors over refits of the old and of the new curve


@ignore_fp_errors()
def drift_of(old: Explanation, new: Explanation, independent: bool) -> Drift:
    """Return the change from one explanation to another."""
    parts = {"the old explanation": old, "the new one": new}
    check_same(parts, "on another scale", lambda one: one.provenance.scale)
    check_same(parts, "about other outputs", lambda one: ", ".join(one.output_names))
    check_same(parts, "over other percentiles", lambda one: one.effects.provenance.percentiles)
    same_data = old.predictions.same_rows(new.predictions)
    basis, reason = _basis(same_data, independent)
    combine: Callable[[Any, Any], Any] = np.hypot if basis == "independent" else np.add
    names = dict.fromkeys((*old.feature_names, *new.feature_names))
    effects = [_effect(old, new, name, combine) for name in names]
    if all(one.presence != "both" for one in effects):
        raise InputError(
            "the two explanations have no feature in common; compare those of one set of columns"
        )
    effects.sort(key=lambda one: -float(np.nan_to_num(np.linalg.norm(one.typical), nan=np.inf)))
    rows = _rows(old, new) if same_data else None
    metrics = _metrics(old, new, combine, rows)
    more = f"; {PAIRED}" if any(one.paired for one in metrics) else ""
    if rows is None:
        more = f"; predictions of single rows, {OTHER_ROWS}, may have changed"
    factors = _refit_factors(old, new)
    notes = [Note(NoteCode.ERROR_BASIS, f"{reason}; {_error_text(old, new)}{more}")]
    uneven = [name for name in names if _interpolated(old, new, name)]
    if uneven:
        text = f"the grids of {len(uneven)} features differ; differences between grid values are ignored"
        notes.append(Note(NoteCode.INTERPOLATED, text, value=len(uneven)))
    level_error = combine(old.predictions.standard_error, new.predictions.standard_error)
    levels = _refit_errors(factors, *(one.predictions.by_model for one in (old, new)))
    return Drift(
        output_names=old.output_names,
        effects=tuple(effects),
        interactions=_interactions(old.interactions, new.interactions, combine, factors),
        metrics=metrics,
        rows=rows,
        level_old=old.predictions.mean,
        level_new=new.predictions.mean,
        level_error=_with_refits(level_error, levels),
        spread=2 * old.predictions.deviation,
        errors=basis,
        same_model=old.provenance.model_digest == new.provenance.model_digest,
        same_data=same_data,
        notes=tuple(notes),
        provenances={"old": old.provenance, "new": new.provenance},
        refits=None if factors is None else (_models(old), _models(new)),
        level_refit_errors=levels,
    )


def _spread(explanation: Explanation) -> ModelSpread | None:
    """Return the models of an explanation, None unless there are several."""
    spread = next((one.by_model for one in explanation.effects.effects), None)
    return spread if spread is not None and len(spread.models) > 1 else None


def _models(explanation: Explanation) -> int:
    spread = _spread(explanation)
    return 1 if spread is None else len(spread.models)


def _error_text(old: Explanation, new: Explanation) -> str:
    """Return whether errors are over refits, and how these were taken for fitted unless that was declared."""
    spreads = [_spread(one) for one in (old, new)]
    if None in spreads:
        return REFITS
    assumed = any(one is not None and one.correction is None for one in spreads)
    return f"{WITH_REFITS}{AS_FOLDS if assumed else ''}"


def _refit_factors(old: Explanation, new: Explanation) -> tuple[float, ...] | None:
    """Return standard errors over refits as multiples of standard deviations; None unless both have some."""
    spreads = [_spread(one) for one in (old, new)]
    known = tuple(spread.error_factor for spread in spreads if spread is not None)
    return known if len(known) == len(spreads) else None


def _refit_errors(factors: tuple[float, ...] | None, *models: Floats | None) -> Floats | None:
    """Return the standard errors over refits ``(2, ...)`` of numbers by model ``(m, ...)``.

    None is of a curve that one explanation lacks: it has no error.
    """
    if factors is None:
        return None
    errors = [
        None if one is None else factor * between(one) for factor, one in zip(factors, models, strict=True)
    ]
    known = next(one for one in errors if one is not None)
    return np.stack([np.zeros_like(known) if one is None else one for one in errors])


def _with_refits(rows: Floats, refits: Floats | None) -> Floats:
    """Return standard errors over rows and refits; the models of each side are fitted independently."""
    return rows if refits is None else np.hypot(rows, np.hypot(*refits))


def _basis(same_data: bool, independent: bool) -> tuple[ErrorBasis, str]:
    if not isinstance(independent, bool):
        raise OptionError(f"independent={independent!r} must be True or False")
    if independent and same_data:
        raise OptionError("independent=True, but both explanations are over the same rows; omit it")
    if independent:
        return "independent", INDEPENDENT
    return "upper bound", SAME_ROWS if same_data else SOME_ROWS


def _curve(explanation: Explanation, name: str) -> ComparedCurve | None:
    """Return the curve of a feature, None where the explanation has none."""
    effect = explanation.effects.get(name)
    if effect is None or effect.average is None:
        return None
    average, missing, support = effect.average, effect.missing, effect.support
    error = np.full(average.shape, np.nan) if effect.standard_error is None else effect.standard_error
    own = {one.output: one.centered_error for one in explanation.shapes if one.feature == name}
    shares = support / support.sum() if support.any() else np.full(len(support), 1 / max(1, len(support)))
    # Without errors of differences, those of both terms are an upper bound.
    bound = (error @ shares)[:, None]
    centered = error + bound
    if len(own) == len(effect.output_names):
        centered = np.stack([own[output] for output in effect.output_names])
    if missing is not None and missing.average is not None:
        last = np.full(len(average), np.nan) if missing.standard_error is None else missing.standard_error
        average = np.column_stack([average, missing.average])
        error, centered = np.column_stack([error, last]), np.column_stack([centered, last + bound[:, 0]])
        shares = np.append(shares * (1 - missing.share), missing.share)
    spread, models = effect.by_model, None
    if spread is not None:
        models = spread.values if spread.missing is None else np.dstack([spread.values, spread.missing])
    return ComparedCurve(effect, average, error, centered, shares, models)


def _effect(old: Explanation, new: Explanation, name: str, combine: Callable[[Any, Any], Any]) -> EffectDrift:
    """Return the change of one feature."""
    curves = _curve(old, name), _curve(new, name)
    known = next(curve for curve in curves if curve is not None)
    both = all(curve is not None for curve in curves)
    presence: Presence = "both" if both else "old" if curves[0] is not None else "new"
    one, two = (curve or _flat(known) for curve in curves)
    values, last = _shared(one, two)
    moved = _moved(one, two, values, last, combine, _refit_factors(old, new))
    size = len(values)
    largest, errors, at, peaks = _largest(moved, values)
    nominal = known.effect.kinds[0] in NOMINAL and both
    lost = [_others(a.grid, b.grid) if nominal else () for a, b in ((one, two), (two, one))]
    return EffectDrift(
        feature=name,
        presence=presence,
        kinds=known.effect.kinds,
        output_names=known.effect.output_names,
        grid_values=(values,),
        change=moved.change[:, :size].copy(),
        standard_error=moved.error[:, :size].copy(),
        weights=moved.weights[:size].copy(),
        missing_change=moved.change[:, -1].copy() if last else None,
        missing_error=moved.error[:, -1].copy() if last else None,
        missing_weight=float(moved.weights[-1]) if last else 0.0,
        level=moved.level,
        level_error=moved.level_error,
        typical=_typical(moved.change, moved.weights),
        typical_error=_typical(moved.error, moved.weights),
        largest=largest,
        largest_error=errors,
        at=at,
        strengths=tuple(None if curve is None else float(curve.effect.strength) for curve in curves),
        ranks=(_rank(old, name), _rank(new, name)),
        only_old=lost[0],
        only_new=lost[1],
        typical_refit_errors=None if moved.refits is None else _typical(moved.refits, moved.weights),
        largest_refit_errors=peaks,
    )


def _typical(numbers: Floats, weights: Floats) -> Floats:
    """Return the root mean square over the data."""
    if not len(weights):
        return np.full(numbers.shape[:-1], np.nan)
    return np.asarray(np.sqrt(np.square(numbers) @ weights))


def _flat(like: ComparedCurve) -> ComparedCurve:
    """Return the curve of a feature that a model does not have."""
    nothing = np.zeros_like(like.average)
    return like._replace(average=nothing, error=nothing, centered_error=nothing, models=None)


def _nominal(curve: ComparedCurve) -> bool:
    return curve.effect.kinds[0] in NOMINAL


def _shared(one: ComparedCurve, two: ComparedCurve) -> tuple[Array, bool]:
    """Return the values that both curves know, and whether both know a missing one."""
    dates = [curve.grid.dtype.kind in "mM" for curve in (one, two)]
    if _nominal(one) != _nominal(two) or dates[0] != dates[1]:
        return one.grid[:0], False
    values = shared_values(one.grid, two.grid, _nominal(one))
    comparable = len(values) or len(one.grid) == len(two.grid) == 0  # columns without any value are alike
    return values, bool(comparable) and all(c.average.shape[1] > len(c.grid) for c in (one, two))


def _moved(
    one: ComparedCurve,
    two: ComparedCurve,
    values: Array,
    last: bool,
    combine: Callable[[Any, Any], Any],
    factors: tuple[float, ...] | None,
) -> Moved:
    """Return the change of the curve beyond that of its level, and beyond what interpolation leaves open."""
    weights = sum(_weights(curve, values, last) for curve in (one, two)) / 2
    weights = np.asarray(weights)
    lines = [_at(curve, curve.average, values, last) for curve in (one, two)]
    with np.errstate(invalid="ignore"):  # infinities of both
        (low, high), (new_low, new_high) = (_between(curve, values, last) for curve in (one, two))
        least, most = new_low - high, new_high - low
        level = _least_level(least, most, weights, (lines[1] - lines[0]) @ weights)
        change = _beyond(least, most, level)
    errors, own = (
        combine(*(_at(curve, getattr(curve, name), values, last) for curve in (one, two)))
        for name in ("centered_error", "error")
    )
    refits = _refit_errors(factors, *(_shapes_by_model(curve, values, last, weights) for curve in (one, two)))
    level = level if len(weights) else np.full(len(level), np.nan)
    return Moved(change, _with_refits(errors, refits), level, own @ weights, weights, refits)


def _shapes_by_model(curve: ComparedCurve, values: Array, last: bool, weights: Floats) -> Floats | None:
    """Return the curve of each model ``(m, o, g)`` at shared values, apart from its level."""
    if curve.models is None:
        return None
    found = np.stack([_at(curve, one, values, last) for one in curve.models])
    return np.asarray(found - (found @ weights)[..., None])


def _beyond(least: Floats, most: Floats, level: Floats) -> Floats:
    """Return how far a level is from where a difference ``(o, g)`` can be, NaN where that is unknown."""
    apart = np.where(least > level[:, None], least, np.where(most < level[:, None], most, level[:, None]))
    return np.where(np.isnan(least), np.nan, apart - level[:, None])


def _least_level(least: Floats, most: Floats, weights: Floats, guess: Floats) -> Floats:
    """Return the level that leaves the least typical change.

    With equal grids that is the mean difference, ``guess``. With others the mean of interpolated curves would
    be off by a share of every step that lies between grid values, at all points.
    """
    if np.array_equal(least, most) or not np.isfinite(least).all() or not np.isfinite(most).all():
        return guess
    begin = _beyond(least, most, guess) @ weights  # falls as the level rises
    low, high = np.where(begin > 0, guess, least.min(axis=1)), np.where(begin > 0, most.max(axis=1), guess)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        above = _beyond(least, most, middle) @ weights > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(np.where(begin == 0, guess, np.where(begin > 0, high, low)))


def _weights(curve: ComparedCurve, values: Array, last: bool) -> Floats:
    """Return the share of the data at each shared value, where it is a value of the curve's grid."""
    size = len(curve.grid)
    grid, wanted = (
        at if _nominal(curve) else as_numbers(at) for at in (curve.grid, values)
    )  # dates of any unit
    known = dict(zip(grid.tolist(), curve.weights[:size].tolist(), strict=True))
    shares = np.array([known.get(value, 0.0) for value in wanted.tolist()])
    missing = curve.weights[size:] if last else np.zeros(0)
    shares = shares / shares.sum() if shares.any() else np.full(len(shares), 1 / max(1, len(shares)))
    return np.concatenate([shares * (1 - missing.sum()), missing])


def _at(curve: ComparedCurve, numbers: Floats, values: Array, last: bool) -> Floats:
    """Return numbers ``(o, g)`` at shared values, on the straight line between neighbors."""
    size = len(curve.grid)
    if not len(values):
        return numbers[:, size:] if last else numbers[:, :0]
    found, _ = at_values(curve.grid, values, numbers[:, :size], _nominal(curve))
    return np.concatenate([found, numbers[:, size:]], axis=1) if last else found


def _between(curve: ComparedCurve, values: Array, last: bool) -> tuple[Floats, Floats]:
    """Return the lower and the upper end of where a curve is at shared values, by its neighbors there."""
    size, numbers = len(curve.grid), curve.average
    low, high = neighbor_range(curve.grid, values, numbers[:, :size], _nominal(curve))
    if last:
        low, high = (np.concatenate([part, numbers[:, size:]], axis=1) for part in (low, high))
    return low, high


def _largest(moved: Moved, values: Array) -> tuple[Floats, Floats, tuple[Any, ...], Floats | None]:
    """Return the largest change of each output, its error, where it is, and its errors over refits."""
    outputs, refits = range(len(moved.change)), moved.refits
    if not moved.change.shape[1]:
        nothing = np.full(len(outputs), np.nan)
        at_none = (None,) * len(outputs)
        return nothing, nothing, at_none, None if refits is None else np.full(refits.shape[:2], np.nan)
    places = np.argmax(np.nan_to_num(np.abs(moved.change), nan=np.inf), axis=1)
    at = tuple(values[place] if place < len(values) else None for place in places)
    peaks = None if refits is None else refits[:, outputs, places]
    return moved.change[outputs, places], moved.error[outputs, places], at, peaks


def _others(grid: Array, other: Array) -> tuple[str, ...]:
    known = set(other.tolist())
    return tuple(str(value) for value in grid.tolist() if value not in known)


def _rank(explanation: Explanation, name: str) -> int | None:
    importance = explanation.importance
    names = [importance.feature_names[position] for position in importance.order]
    return names.index(name) + 1 if name in names else None


def _interpolated(old: Explanation, new: Explanation, name: str) -> bool:
    """Return whether the grids of numbers or dates differ."""
    one, two = _curve(old, name), _curve(new, name)
    if one is None or two is None or _nominal(one):
        return False
    return not np.array_equal(one.grid, two.grid)


def _rows(old: Explanation, new: Explanation) -> RowDrift | None:
    """Return the change of the predictions that both keep; None without any.

    There are none if ``max_predictions`` drew other rows, or after `Explanation.without_rows`.
    """
    one, two = old.predictions, new.predictions
    same = one.rows == two.rows and np.array_equal(one.numbers, two.numbers)
    if not same or not len(one.numbers):
        return None
    change = two.predicted - one.predicted
    largest = np.abs(change).max(axis=1, keepdims=True)
    unit = np.where(largest > 0, largest, 1.0)  # in which no square overflows
    squares = Moments.of(np.square(change / unit)[None], one.weights / one.weights.max())
    typical, error = np.sqrt(squares.mean[0]), squares.standard_error()[0]
    error = np.where(typical > 0, error / (2 * typical), error)
    numbers = (part * unit[:, 0] for part in (typical, error))
    return RowDrift(one.rows, old.output_names, change, one.weights, *numbers)


def _interactions(
    old: HStatistics | None,
    new: HStatistics | None,
    combine: Callable[[Any, Any], Any],
    factors: tuple[float, ...] | None,
) -> InteractionDrift | None:
    """Return the change of the pairs that interact in one of the two, strongest first."""
    if old is None or new is None:
        return None
    each = factors or (0.0, 0.0)
    parts = [_strengths(one, factor) for one, factor in zip((old, new), each, strict=True)]
    pairs = list(dict.fromkeys((*parts[0], *parts[1])))
    nothing = np.zeros((3, len(old.output_names)))
    numbers = np.array([[part.get(pair, nothing) for part in parts] for pair in pairs])
    numbers = numbers.reshape(len(pairs), 2, 3, len(old.output_names))
    peak = np.nan_to_num(numbers[:, :, 0]).max(axis=(1, 2), initial=0.0)
    order = [int(p) for p in np.argsort(-peak, kind="stable") if peak[p] > 0]
    refits = None if factors is None else numbers[order, :, 2].transpose(1, 0, 2).copy()
    return InteractionDrift(
        output_names=old.output_names,
        pairs=tuple(pairs[p] for p in order),
        old=numbers[order, 0, 0],
        new=numbers[order, 1, 0],
        standard_error=_with_refits(combine(numbers[order, 0, 1], numbers[order, 1, 1]), refits),
        refit_errors=refits,
    )


def _strengths(found: HStatistics, factor: float) -> dict[tuple[str, str], Floats]:
    """Return strengths and their errors over rows and refits ``(3, o)`` by the names of a pair, sorted."""
    result, by_model = {}, found.strength_by_model
    refits = np.zeros_like(found.pairwise.strength)
    if factor and by_model is not None:
        refits = factor * between(by_model)
    for p, (first, second) in enumerate(found.pairs):
        one, two = sorted((found.feature_names[first], found.feature_names[second]))
        pairwise = found.pairwise
        result[one, two] = np.stack([pairwise.strength[p], pairwise.strength_error[p], refits[p]])
    return result


def _metrics(
    old: Explanation, new: Explanation, combine: Callable[[Any, Any], Any], rows: RowDrift | None
) -> tuple[MetricDrift, ...]:
    """Return the change of what both report of their performance."""
    if old.performance is None or new.performance is None:
        return ()
    y, other = old.predictions.observed, new.predictions.observed
    same = rows is not None and y is not None and other is not None and np.array_equal(y, other)
    influences = [_influences(one.predictions, one.output_names) if same else {} for one in (old, new)]
    after = {(one.name, one.output): one for one in new.performance.metrics}
    found = []
    for one in old.performance.metrics:
        key = one.name, one.output
        if (two := after.get(key)) is None:
            continue
        error = float(combine(one.standard_error, two.standard_error))
        paired = all(key in each for each in influences)
        if paired:
            error = _paired_error(one, two, *(each[key] for each in influences))
        found.append(MetricDrift(*key, one.value, two.value, error, one.better, paired))
    return tuple(found)


def _influences(kept: RowPredictions, outputs: tuple[str, ...]) -> dict[tuple[str, str | None], Floats]:
    """Return the influence of each kept row on metrics, up to a factor and times its weight.

    Metrics that are missing here, such as Gini coefficients and lines of calibration, are not paired.
    """
    assert kept.observed is not None
    losses = RowLosses(len(outputs), exclusive=True)
    values = dict(zip(losses.names, losses.of(kept.observed.T, kept.predicted.T), strict=True))
    found: dict[tuple[str, str | None], Floats] = {
        (name, None): values[name, None] for name in ("log loss", "Brier score", "accuracy")
    }
    for o, output in enumerate(outputs):
        y, squared = kept.observed[o], values["squared", o]
        found |= {(name, output): squared for name in SQUARED}
        found["mean absolute error", output] = values["absolute", o]
        found["mean residual", output] = values["residual", o]
        variance = np.square(y - np.average(y, weights=kept.weights))
        unexplained = np.average(squared, weights=kept.weights) / np.average(variance, weights=kept.weights)
        found["R²", output] = unexplained * variance - squared
        found["AUC", output] = _auc_influence(y, kept.predicted[o], kept.weights)
    centered = {
        key: kept.weights * (values - np.average(values, weights=kept.weights))
        for key, values in found.items()
    }
    return {key: values for key, values in centered.items() if np.isfinite(values).all()}


def _auc_influence(observed: Floats, predicted: Floats, weights: Floats) -> Floats:
    """Return the influence of each row on the AUC, by the placements of DeLong."""
    order = np.argsort(predicted)
    cases, others = weights * observed, weights * (1 - observed)
    ranked = predicted[order]

    def share_below(of: Floats) -> Floats:
        """Return the share of some rows predicted lower than each row, ties counted half."""
        sums = np.concatenate([[0.0], np.cumsum(of[order])])
        ends = (np.searchsorted(ranked, predicted, side=side) for side in ("left", "right"))
        return np.asarray(sum(sums[end] for end in ends) / 2 / of.sum())

    below, above = share_below(others), 1 - share_below(cases)
    auc = (cases @ below) / cases.sum()
    case, other = (below - auc) / cases.sum(), (above - auc) / others.sum()
    return np.asarray(observed * case + (1 - observed) * other)


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


@ignore_fp_errors()
def bounds_of(
    old: Explanation, refits: Sequence[Explanation], unit: DriftUnit, measure: DriftMeasure
) -> Bounds:
    """Return the bounds of a gate that every refit passes."""
    check_choice("unit", unit, DriftUnit)
    if not refits:
        raise OptionError("refits is empty; pass explanations of refitted models")
    largest: dict[bool, Change] = {}
    losses: dict[str, float] = {}
    for number, refit in enumerate(refits, 1):
        drift = old.compare(refit)
        if drift.rows is None:
            raise InputError(
                f"refit {number} is over other rows than the model, or rows were left out; explain all on "
                "the same rows, without without_rows()"
            )
        for change in drift.ranked(measure):
            key, before = change.kind == "rows", largest.get(change.kind == "rows")
            if before is None or not _size(change, unit) <= _size(before, unit):
                largest[key] = change
        for metric in drift.metrics:
            losses[metric.name] = max(losses.get(metric.name, 0.0), metric.worse)
    most, of_rows = (_rounded_up(_size(largest[key], unit)) for key in (False, True))
    if not of_rows:
        raise InputError("every refit predicts as the model does; pass models that were fitted again")
    metrics = {name: _rounded_up(loss) for name, loss in losses.items()}
    return Bounds(most, of_rows, metrics, (largest[False], largest[True]), len(refits))


def _size(change: Change, unit: DriftUnit) -> float:
    return change.share if unit == "spread" else abs(change.change)


def _rounded_up(size: float) -> float:
    """Return a size with two significant digits, not below it.

    >>> _rounded_up(0.12345), _rounded_up(0.0)
    (0.13, 0.0)
    """
    if not np.isfinite(size) or size == 0:
        return size
    digits = 1 - int(np.floor(np.log10(size)))
    return float(round(np.ceil(size * 10.0**digits) / 10.0**digits, max(0, digits)))
