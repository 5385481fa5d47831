"""What two features do together beyond each by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paribus._contracts import Floats
from paribus.errors import OptionError, did_you_mean
from paribus.results.transforms import transformed

if TYPE_CHECKING:
    from paribus.results.effects import Effects
    from paribus.results.partial_dependence import PartialDependence


def interaction(effects: Effects, first: str, second: str) -> PartialDependence:
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
