"""Effects made of an effect: relative to one of its points, and its slope."""

from __future__ import annotations

import datetime
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats
from paribus._states import Moments, curve_quantiles
from paribus._text import at_value
from paribus.errors import OptionError, did_you_mean
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode
from paribus.results.curve_values import strength_of
from paribus.results.ice_quantiles import IceQuantiles
from paribus.results.model_spread import ModelSpread, model_spread_notes

if TYPE_CHECKING:
    from paribus.results.partial_dependence import PartialDependence, PartialDependenceAtMissing

NO_CURVES = "have no standard error and no spread without every row's curve; request kind='both'"
NO_ROWS = "have no standard error; needs a single model, for kind='both'"
# What is said anew of every effect that is made of another.
RENEWED = (
    NoteCode.RELATIVE_TO,
    NoteCode.NO_STANDARD_ERROR,
    NoteCode.MODELS_DIFFER,
    NoteCode.SINGLE_MODEL,
)
CLOSE = 1e-9  # of an axis: points that are closer are the same, or lie on both sides of a step


def centered(effect: PartialDependence, at: Any) -> PartialDependence:
    """Return an effect relative to its value at one point."""
    names, grid = effect.feature_names, effect.grid_values
    if not effect.support.size:
        raise OptionError(f"{' x '.join(names)} has no grid point to center at")
    positions = _positions(effect, at)
    anchor = int(np.ravel_multi_index(positions, effect.support.shape))
    where = ", ".join(f"{n} = {at_value(v[g])}" for n, v, g in zip(names, grid, positions, strict=True))
    average, curves, models = (
        None if points is None else points - points[..., anchor : anchor + 1] for points in _flat(effect)
    )
    scale = effect.provenance.scale.with_changes(relative_to=where)
    described = replace(
        effect,
        notes=(*kept_notes(effect), Note(NoteCode.RELATIVE_TO, f"relative to {where}")),
        provenance=replace(effect.provenance, scale=scale),
    )
    return rebuilt(described, average, curves, models, "differences")


def derivative(effect: PartialDependence) -> PartialDependence:
    """Return the slope of an effect of one feature along its axis."""
    at, unit = _numbers(effect)
    ticks, first, point = np.unique(at, return_index=True, return_inverse=True)
    average, curves, models = (
        None if points is None else np.gradient(points[..., first], ticks, axis=-1)[..., point]
        for points in _flat(replace(effect, missing=None))
    )
    notes = list(kept_notes(effect))
    if effect.missing is not None:
        text = "the effect at a missing value has no slope"
        notes.append(Note(NoteCode.NO_SLOPE_AT_MISSING, text, effect.feature_names[0]))
    mean = average if curves is None or average is not None else moments_of(curves, effect.row_weights).mean
    assert mean is not None
    scale = effect.provenance.scale
    per = unit if scale.per is None else f"{scale.per} per {unit}"
    described = replace(
        effect,
        missing=None,
        strength=strength_of(mean, effect.support),
        notes=tuple(notes),
        provenance=replace(effect.provenance, scale=scale.with_changes(per=per, relative_to=None)),
    )
    return rebuilt(described, average, curves, models, "slopes")


def _flat(effect: PartialDependence) -> tuple[Floats | None, Floats | None, Floats | None]:
    """Return averages ``(o, g)``, curves ``(o, n, g)`` and those of models ``(m, o, g)``.

    The missing value is the last point.
    """
    missing, models = effect.missing, effect.by_model
    average, curves = effect.average, effect.individual
    return (
        None if average is None else _joined(average, 1, None if missing is None else missing.average),
        None if curves is None else _joined(curves, 2, None if missing is None else missing.individual),
        None if models is None else _joined(models.values, 2, None if missing is None else models.missing),
    )


def _joined(points: Floats, leading: int, last: Floats | None) -> Floats:
    flat = points.reshape(*points.shape[:leading], -1)
    return flat if last is None else np.concatenate([flat, last[..., None]], axis=-1)


def rebuilt(
    effect: PartialDependence,
    average: Floats | None,
    curves: Floats | None,
    models: Floats | None,
    what: str,
) -> PartialDependence:
    """Return an effect of other numbers, its standard error and spread taken from the curves."""
    shape, missing, error = effect.support.shape, effect.missing, None
    quantiles, wanted = None, effect.quantiles
    notes = effect.notes
    # Along the paths of the training data there are no curves of rows.
    if curves is None and effect.provenance.estimand is not Estimand.PATH_DEPENDENT:
        text = f"{what} {NO_CURVES if models is None else NO_ROWS}"
        notes += (Note(NoteCode.NO_STANDARD_ERROR, text),)
    if curves is not None and average is not None:
        error = moments_of(curves, effect.row_weights).standard_error()
    if curves is not None and wanted is not None:
        quantiles = curve_quantiles(curves, effect.row_weights, wanted.probabilities.tolist())
    every = (average, error, curves, quantiles)
    last, last_error, last_curves, last_quantiles = (
        None if a is None or missing is None else a[..., -1] for a in every
    )
    average, error, curves, values = (_shaped(a, shape, missing) for a in every)
    spread = (
        None
        if values is None or wanted is None
        else IceQuantiles(wanted.probabilities, values, 0.0, last_quantiles)
    )
    by_model = _by_model(effect, models)
    return replace(
        effect,
        by_model=by_model,
        average=average,
        standard_error=error,
        individual=curves,
        quantiles=spread,
        missing=None
        if missing is None
        else replace(missing, average=last, standard_error=last_error, individual=last_curves),
        notes=(*notes, *_spread_notes(effect, by_model, average)),
    )


def _by_model(effect: PartialDependence, models: Floats | None) -> ModelSpread | None:
    """Return the models' own numbers, and the standard deviation between them anew."""
    values = _shaped(models, effect.support.shape, effect.missing)
    if effect.by_model is None or models is None or values is None:
        return None
    return ModelSpread.of(effect.by_model.models, values, None if effect.missing is None else models[..., -1])


def _spread_notes(
    effect: PartialDependence, models: ModelSpread | None, average: Floats | None
) -> tuple[Note, ...]:
    return model_spread_notes(models, average, effect.feature_names, effect.grid_values, effect.output_names)


def _shaped(
    points: Floats | None, shape: tuple[int, ...], missing: PartialDependenceAtMissing | None
) -> Floats | None:
    if points is None:
        return None
    points = points if missing is None else points[..., :-1]
    return points.reshape(*points.shape[:-1], *shape)


def moments_of(curves: Floats, weights: Floats | None) -> Moments:
    """Return the moments of curves ``(o, n, g)``, rows of weight zero left out."""
    lines = curves.transpose(0, 2, 1)
    if weights is None:
        return Moments.of(lines, None)
    return Moments.of(lines[..., weights > 0], weights[weights > 0] / weights.max())


def kept_notes(effect: PartialDependence) -> tuple[Note, ...]:
    """Return the notes that stay true: not what is said anew, such as what an effect is relative to."""
    return tuple(note for note in effect.notes if note.code not in RENEWED)


def _positions(effect: PartialDependence, at: Any) -> tuple[int, ...]:
    """Return the position of a point on each axis; the first one where none is named."""
    names = effect.feature_names
    if at is None:
        return (0,) * len(names)
    wanted = at if isinstance(at, tuple) else (at,)
    if len(wanted) != len(names):
        raise OptionError(f"at={at!r} must be a grid value of each of {', '.join(names)}, as a tuple")
    axes = zip(names, effect.kinds, effect.grid_values, wanted, strict=True)
    return tuple(_position(*axis) for axis in axes)


def _position(name: str, kind: str, values: Array, at: Any) -> int:
    if kind in NOMINAL:
        categories = values.tolist()
        if at not in categories:
            near = did_you_mean(str(at), [str(level) for level in categories])
            raise OptionError(f"at={at!r} is no grid value of {name}{near}")
        return int(categories.index(at))
    equal = values == at if values.dtype.kind in "fiu" else np.zeros(len(values), bool)
    if np.any(equal):  # integers beyond 2**53 are no floats
        return int(np.argmax(equal))
    numbers, wanted = values.astype(np.float64), _number(name, values, at)
    gaps = np.abs(numbers - wanted)
    nearest = int(np.argmin(gaps))
    if not gaps[nearest] <= CLOSE * np.ptp(numbers):
        shown = values[nearest] if values.dtype.kind in "mM" else values[nearest].item()
        raise OptionError(f"at={at!r} is no grid value of {name}; the nearest is {shown!s}")
    return nearest


def _number(name: str, values: Array, at: Any) -> float:
    """Return a value as a number, in the unit of the axis."""
    try:
        if values.dtype.kind not in "mM":
            return float(at)
        if getattr(at, "tzinfo", None) is not None:
            at = at.astimezone(datetime.UTC).replace(tzinfo=None)
        return float(np.array(at, dtype=values.dtype).astype(np.float64))
    except (TypeError, ValueError) as error:
        raise OptionError(f"at={at!r} is no grid value of {name}: {error}") from error


def _numbers(effect: PartialDependence) -> tuple[Floats, str]:
    """Return where the points of an effect are along its axis, and in which unit."""
    name, values = effect.feature_names[0], effect.grid_values[0]
    if len(effect.feature_names) > 1:
        raise OptionError(
            f"derivative() is defined for one feature; this is an effect of "
            f"{' x '.join(effect.feature_names)}. "
            "Request the effect of one of them"
        )
    if effect.kinds[0] in NOMINAL:
        raise OptionError(
            f"derivative() needs distances between values; {name} is {effect.kinds[0]}, which has none. "
            "centered() shows the differences between its categories"
        )
    dated = values.dtype.kind in "mM"
    at = (values - values[:1]) / np.timedelta64(1, "D") if dated else values.astype(np.float64)
    gaps = np.diff(np.unique(at))
    if not len(gaps):
        raise OptionError(f"derivative() needs two distinct values of {name} at least")
    if gaps.min() <= CLOSE * gaps.sum():
        raise OptionError(
            f"derivative() needs distinct grid points of {name}; some are on both sides of a step, as with "
            "grid_resolution='splits'. Request a number of points"
        )
    return at, "day" if dated else f"unit of {name}"
