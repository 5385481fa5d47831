"""Effects made of an effect: relative to a point, slopes, and interactions without main effects."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from paribus._contracts import NOMINAL, Array, Floats, Integers
from paribus._data.samples import means_of_units
from paribus._states import Moments, curve_quantiles
from paribus._text import at_point
from paribus.errors import OptionError, did_you_mean
from paribus.meaning import Estimand
from paribus.notes import Note, NoteCode
from paribus.results.curve_parts import IceQuantiles, ModelSpread
from paribus.results.curve_values import flat_points, split_points, strengths_of

if TYPE_CHECKING:
    from paribus.results.curve_parts import AtMissing
    from paribus.results.effects import Effects
    from paribus.results.partial_dependence import PartialDependence

NO_CURVES = "it needs the curve of each row: request kind='both'"
NO_ROWS = "it needs a single model and kind='both'"
CLOSE = 1e-9  # of an axis: points that are closer are the same, or lie on both sides of a step


def centered(effect: PartialDependence, at: Any) -> PartialDependence:
    """Return an effect relative to its value at one point."""
    names = effect.feature_names
    if not effect.support.size:
        raise OptionError(f"{' x '.join(names)} has no grid point to center at")
    positions = _positions(effect, at)
    anchor = int(np.ravel_multi_index(positions, effect.support.shape))
    where = at_point(names, effect.grid_values, positions)
    relative = transformed(
        (effect,),
        lambda points: points - points[..., anchor : anchor + 1],
        "differences",
        scale={"relative_to": where},
        missing=effect.missing,
    )
    return replace(relative, covariance=effect.covariance)  # differences between points are the same


def derivative(effect: PartialDependence) -> PartialDependence:
    """Return the slope of an effect of one feature along its axis."""
    at, unit = along_axis(effect)
    ticks, first, point = np.unique(at, return_index=True, return_inverse=True)
    per = effect.provenance.scale.per
    return transformed(
        (effect,),
        lambda points: np.gradient(points[..., first], ticks, axis=-1)[..., point],
        "slopes",
        scale={"per": unit if per is None else f"{per} per {unit}", "relative_to": None},
        weights=effect.support,
    )


def transformed(
    effects: tuple[PartialDependence, ...],
    change: Callable[..., Floats],
    what: str,
    *,
    scale: dict[str, Any],
    notes: tuple[Note, ...] = (),
    missing: AtMissing | None = None,
    weights: Floats | None = None,
) -> PartialDependence:
    """Return the first of some effects with other numbers: those that ``change`` makes of all of them.

    It is given averages ``(o, g)``, then every row's curve, then every model's. Standard errors and quantiles
    are taken from the rows' curves anew, the strength where ``weights`` of the points are given.
    """
    effect, error, quantiles = effects[0], None, None
    average, curves, models = (
        None if any(points is None for points in each) else change(*each)
        for each in zip(*(flat_points(one, missing is not None) for one in effects), strict=True)
    )
    mean, wanted, spread = average, effect.quantiles, effect.by_model
    if curves is not None:
        moments = moments_of(curves, effect.row_weights, effect.row_units)
        mean, error = (moments.mean, None) if average is None else (average, moments.standard_error())
        if wanted is not None:
            quantiles = curve_quantiles(curves, effect.row_weights, wanted.probabilities.tolist())
    # Along the paths of the training data there are no curves of rows.
    elif effect.provenance.estimand is not Estimand.PATH_DEPENDENT:
        remedy = NO_CURVES if models is None else NO_ROWS
        notes += (NoteCode.ERROR_BASIS.note(reason=f"{what} have no standard error; {remedy}"),)
    every, apart = (average, error, curves, quantiles, models), missing is not None
    at_points, last = zip(*(split_points(each, effect.support.shape, apart) for each in every), strict=True)
    average, error, curves, values, models = at_points
    if values is not None and wanted is not None:
        wanted = IceQuantiles(wanted.probabilities, values, 0.0, last[3])
    by_model = None if spread is None else ModelSpread.of(spread.models, models, last[4], spread.strengths)
    if missing is not None:
        missing = replace(missing, average=last[0], standard_error=last[1], individual=last[2])
    kept = (note for note in effect.notes if note.code is not NoteCode.ERROR_BASIS)
    assert mean is not None
    return replace(
        effect,
        average=average,
        standard_error=error,
        individual=curves,
        quantiles=None if values is None else wanted,
        by_model=by_model,
        missing=missing,
        covariance=None,
        strengths=effect.strengths if weights is None else strengths_of(mean, weights),
        strength_from=effect.strength_from if weights is None else "points",
        notes=(*kept, *notes),
        provenance=replace(effect.provenance, scale=effect.provenance.scale.with_changes(**scale)),
    )


def moments_of(curves: Floats, weights: Floats | None, units: Integers | None) -> Moments:
    """Return the moments of curves ``(o, n, g)`` of rows or their units, rows of weight zero left out."""
    lines = curves.transpose(0, 2, 1)
    if weights is not None:
        counted = weights > 0
        lines, weights = lines[..., counted], weights[counted] / weights.max()
        units = None if units is None else units[counted]
    if units is not None:
        weights = np.ones(len(units)) if weights is None else weights
        lines, weights = means_of_units(lines, weights, np.unique(units, return_inverse=True)[1])
    return Moments.of(lines, weights)


def _positions(effect: PartialDependence, at: Any) -> tuple[int, ...]:
    """Return the position of a point on each axis; the first one where none is named."""
    names = effect.feature_names
    if at is None:
        return (0,) * len(names)
    wanted = at if isinstance(at, tuple) else (at,)
    if len(wanted) != len(names):
        raise OptionError(f"at={at!r} must be a grid value of each of {', '.join(names)}, as a tuple")
    axes = zip(names, effect.kinds, effect.grid_values, wanted, strict=True)
    return tuple(position_of(*axis) for axis in axes)


def position_of(
    name: str, kind: str, values: Array, at: Any, argument: str = "at", way_out: str | None = None
) -> int:
    """Return the position of a grid value; ``way_out`` ends the message if there is none."""
    if kind in NOMINAL:
        categories = values.tolist()
        if at not in categories:
            near = did_you_mean(str(at), [str(category) for category in categories])
            raise OptionError(f"{argument}={at!r} is not a grid value of {name}{near}")
        return int(categories.index(at))
    equal = values == at if values.dtype.kind in "fiu" else np.zeros(len(values), bool)
    if np.any(equal):  # integers beyond 2**53 have no float
        return int(np.argmax(equal))
    numbers, wanted = values.astype(np.float64), number_of(name, values, at, argument)
    gaps = np.abs(numbers - wanted)
    nearest = int(np.argmin(gaps))
    if not gaps[nearest] <= CLOSE * np.ptp(numbers):
        some = [nearest] if way_out is None else np.sort(np.argsort(gaps, kind="stable")[:2])
        shown = [str(values[g] if values.dtype.kind in "mM" else values[g].item()) for g in some]
        text = f"the nearest {'is' if len(shown) == 1 else 'are'} {' and '.join(shown)}"
        raise OptionError(f"{argument}={at!r} is not a grid value of {name}; {text}{way_out or ''}")
    return nearest


def number_of(name: str, values: Array, at: Any, argument: str = "at") -> float:
    """Return a value as a number, in the unit of the axis."""
    try:
        if values.dtype.kind not in "mM":
            return float(at)
        if getattr(at, "tzinfo", None) is not None:
            at = at.astimezone(datetime.UTC).replace(tzinfo=None)
        return float(np.array(at, dtype=values.dtype).astype(np.float64))
    except (TypeError, ValueError) as error:
        raise OptionError(f"{argument}={at!r} is not a grid value of {name}: {error}") from error


def along_axis(effect: Any, call: str = "derivative()") -> tuple[Floats, str]:
    """Return where the points of an effect are along its axis, and in which unit, for a ``call``."""
    name, values = effect.feature_names[0], effect.grid_values[0]
    if len(effect.feature_names) > 1:
        raise OptionError(
            f"{call} is defined for one feature; this is an effect of "
            f"{' x '.join(effect.feature_names)}. Request the effect of one of them"
        )
    if effect.kinds[0] in NOMINAL:
        raise OptionError(
            f"{call} needs distances between values; {name} is {effect.kinds[0]}, which has none. "
            "centered() shows the differences between its categories"
        )
    dated = values.dtype.kind in "mM"
    at = (values - values[:1]) / np.timedelta64(1, "D") if dated else values.astype(np.float64)
    gaps = np.diff(np.unique(at))
    if not len(gaps):
        raise OptionError(f"{call} needs two distinct values of {name} at least")
    if gaps.min() <= CLOSE * gaps.sum():
        raise OptionError(
            f"{call} needs distinct grid points of {name}; some are on both sides of a step, as with "
            "grid_resolution='splits'. Request a number of points"
        )
    return at, "day" if dated else f"unit of {name}"


def interaction(effects: Effects[PartialDependence], first: str, second: str) -> PartialDependence:
    """Return the surface of two features without the curve of either."""
    surface, rows, columns = _parts(effects, first, second)
    shape, support = surface.support.shape, surface.support.ravel()
    weights = support if support.any() else np.ones(support.size)
    shares = weights / weights.sum()

    def beyond(joint: Floats, one: Floats, other: Floats) -> Floats:
        """Take both curves ``(..., g)`` from surfaces, and from what is left its average.

        The average of each row's or model's surface is its own, so that their mean is that of the mean
        surface.
        """
        with np.errstate(invalid="ignore"):
            left = joint.reshape(*joint.shape[:-1], *shape) - one[..., :, None] - other[..., None, :]
            flat = left.reshape(joint.shape)
            return np.asarray(flat - (flat @ shares)[..., None])

    return transformed(
        (surface, rows, columns), beyond, "interactions", scale={"interaction": True}, weights=shares
    )


def _parts(
    effects: Effects[PartialDependence], first: str, second: str
) -> tuple[PartialDependence, PartialDependence, PartialDependence]:
    """Return the surface, and the curves along its two axes."""
    call = f"interaction({first!r}, {second!r})"
    if first == second:
        raise OptionError(f"{call} is of one feature; name two")
    pair = (second, first) if (second, first) in effects else (first, second)
    lacking = [
        str(key) if isinstance(key, tuple) else repr(key) for key in (*pair, pair) if key not in effects
    ]
    if lacking:
        known = [key for key in effects if isinstance(key, str)]
        near = next((did_you_mean(name, known) for name in (first, second) if name not in known), "")
        raise OptionError(
            f"{call} needs the effect of each and of both; there is none of {' and '.join(lacking)}; "
            f"pass features=[{first!r}, {second!r}, ({first!r}, {second!r})] to effects(){near}"
        )
    surface, rows, columns = effects[pair], effects[pair[0]], effects[pair[1]]
    for axis, curve in enumerate((rows, columns)):
        if not np.array_equal(surface.grid_values[axis], curve.grid_values[0]):
            raise OptionError(
                f"{call} needs the curves at the values of the surface; {pair[axis]!r} has others. Request "
                "all three in one call of effects()"
            )
    if not surface.support.size:
        raise OptionError(f"{call} has no point; one of the two has no grid value")
    return surface, rows, columns
