"""Means and deviations of finite numbers whose sums or squares overflow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from paribus._contracts import Floats

LARGE = 2.0**600  # in units of which no sum and no square of a float overflows
LARGEST = float(np.finfo(np.float64).max)


def ignore_fp_errors() -> np.errstate:
    """Let inf and NaN pass: what they touch is one of them, which the result notes."""
    return np.errstate(invalid="ignore", over="ignore")


def enlarged(found: Any) -> Floats:
    """Return what was found in units of `LARGE`; what is finite there is finite, whatever rounding does."""
    with ignore_fp_errors():
        return np.asarray(np.where(np.isfinite(found), np.clip(found * LARGE, -LARGEST, LARGEST), found))


def scaled(function: Callable[[Floats], Any], values: Floats) -> Floats:
    """Return a function that scales with its values, found in units of `LARGE` where it overflows.

    >>> float(scaled(np.mean, np.full(3, 1.5e308)))
    1.5e+308
    """
    with ignore_fp_errors():
        found = np.asarray(function(values))
        finite = np.isfinite(found)
        return found if finite.all() else np.where(finite, found, enlarged(function(values / LARGE)))


def deviations(values: Floats, weights: Floats) -> Floats:
    """Return the standard deviation of each row of ``values (o, g)``, whose columns have positive weights."""
    shares = weights / weights.sum()

    def deviation(values: Floats) -> Any:
        # A mean of equal numbers may differ from them in its last bit.
        flat = (values.min(axis=1) == values.max(axis=1)) & np.isfinite(values[:, 0])
        centered = np.where(flat[:, None], 0.0, values - (values @ shares)[:, None])
        return np.sqrt(centered**2 @ shares)

    return scaled(deviation, values)


def between(one: Floats, other: Floats, share: Any) -> Floats:
    """Return the mean of two means, of which the other has a ``share``."""
    with ignore_fp_errors():
        mixed = np.asarray(one * (1 - share) + other * share)
        if np.isfinite(mixed).all():
            return mixed
        # Rounding may leave the range of floats where both are at its end.
        return np.where(np.isfinite(one) & np.isfinite(other), np.clip(mixed, -LARGEST, LARGEST), mixed)


def fitting(squares: Callable[[Any], Floats], unit: Any) -> tuple[Floats, Any]:
    """Return sums of squares in a unit in which they do not overflow, point by point, and that unit."""
    with ignore_fp_errors():
        found = squares(unit)
        finite = np.isfinite(found)
        if finite.all():
            return found, unit
        unit = np.where(finite, unit, LARGE)
        return squares(unit), unit
