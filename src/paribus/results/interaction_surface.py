"""What two features do together beyond each by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from paribus._contracts import Floats
from paribus.errors import OptionError, did_you_mean
from paribus.results.curve_values import strength_of
from paribus.results.transforms import kept_notes, moments_of, rebuilt

if TYPE_CHECKING:
    from paribus.results.effects import Effects
    from paribus.results.partial_dependence import PartialDependence


def interaction(effects: Effects, first: str, second: str) -> PartialDependence:
    """Return the surface of two features without the curve of either."""
    surface, rows, columns = _parts(effects, first, second)
    shares = surface.support.ravel() if surface.support.any() else np.ones(surface.support.size)
    shares = shares / shares.sum()
    average, curves, models = (
        None if joint is None or one is None or other is None else _beyond(joint, one, other, shares)
        for joint, one, other in zip(_numbers(surface), _numbers(rows), _numbers(columns), strict=True)
    )
    mean = average if average is not None or curves is None else moments_of(curves, surface.row_weights).mean
    assert mean is not None
    described = replace(
        surface,
        strength=strength_of(mean, shares),
        notes=kept_notes(surface),
        provenance=replace(surface.provenance, scale=surface.provenance.scale.with_changes(interaction=True)),
    )
    return rebuilt(described, average, curves, models, "interactions")


def _numbers(effect: PartialDependence) -> tuple[Floats | None, Floats | None, Floats | None]:
    """Return averages ``(o, ...)``, rows' curves ``(o, n, ...)`` and models' ``(m, o, ...)``."""
    return effect.average, effect.individual, None if effect.by_model is None else effect.by_model.values


def _beyond(joint: Floats, rows: Floats, columns: Floats, shares: Floats) -> Floats:
    """Take both curves ``(..., g)`` and ``(..., h)`` from surfaces, and from what is left its average.

    The average of each row's or model's surface is its own, so that their mean is that of the mean surface.
    """
    with np.errstate(invalid="ignore"):
        left = joint - rows[..., :, None] - columns[..., None, :]
        flat = left.reshape(*left.shape[:-2], -1)
        return np.asarray(flat - (flat @ shares)[..., None])


def _parts(
    effects: Effects, first: str, second: str
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
