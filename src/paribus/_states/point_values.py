"""Predictions of the rows at each point, complete or thinned, and their quantiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from typing import Self

import numpy as np

from paribus._contracts import Floats
from paribus._data.summary import quantiles


@dataclass(frozen=True, eq=False)
class PointValues:
    r"""Predictions of the rows at each point, thinned if there are more than ``most`` rows.

    Thinning keeps at each point the ``capacity`` = :math:`c` values at the ranks :math:`(k + 1/2) W / c`.
    Each represents :math:`W / c` of the weight :math:`W`. This rounds ranks to multiples of :math:`W / c`,
    so they move by at most :math:`W / (2 c)`, which is added to ``error`` in units of weight. Thinning is
    deterministic: the same rows in the same blocks give exactly the same result. Before thinning, the
    result does not depend on the blocks.

    Attributes
    ----------
    parts : tuple of (o, g, i)
        Predictions that are not thinned, in the order of rows.
    weights : tuple of (i,)
        The weights of those rows, all positive; empty without weights.
    kept, ends : (o, g, c) and (o, g, 2), or None
        The sorted values after thinning, and the smallest and largest value before it.
    weight : float
        Weight of the rows that ``kept`` represents.
    """

    most: int
    capacity: int
    parts: tuple[Floats, ...]
    weights: tuple[Floats, ...]
    kept: Floats | None = None
    ends: Floats | None = None
    weight: float = 0.0
    error: float = 0.0

    @classmethod
    def of(cls, values: Floats, weights: Floats | None, *, most: int, capacity: int) -> Self:
        """Return the state of predictions ``(o, g, i)``, with positive weights."""
        state = cls(most, capacity, (values,), () if weights is None else (weights,))
        return state if values.shape[-1] <= most else state._thinned([])

    def merge(self, other: Self) -> Self:
        """Return the state of both sets of rows."""
        parts, weights = self.parts + other.parts, self.weights + other.weights
        joined = replace(self, parts=parts, weights=weights)
        thinned = [state for state in (self, other) if state.kept is not None]
        if len(thinned) == 2 or sum(part.shape[-1] for part in parts) > self.most:
            return joined._thinned(thinned)
        if not thinned:
            return joined
        return replace(thinned[0], parts=parts, weights=weights)

    def quantiles(self, probabilities: Sequence[float], threads: int = 1) -> tuple[Floats, float]:
        """Return quantiles ``(o, q, g)``, and a bound on the error of their rank as a share of the weight."""
        if self.kept is None:
            weights = np.concatenate(self.weights) if self.weights else None
            shape = self.parts[0].shape[:2]

            def line(o: int, g: int) -> Floats:
                return np.concatenate([part[o, g] for part in self.parts])

            return row_quantiles(line, shape, weights, probabilities, threads), 0.0
        told = self._thinned([self]) if self.parts else self
        assert told.kept is not None
        assert told.ends is not None
        ranks = np.concatenate([[0.0], (np.arange(self.capacity) + 0.5) / self.capacity, [1.0]])
        heights = np.concatenate([told.ends[..., :1], told.kept, told.ends[..., 1:]], axis=-1)
        found = np.empty((heights.shape[0], len(probabilities), heights.shape[1]))
        for o, g in product(*map(range, heights.shape[:2])):
            known = heights[o, g]
            found[o, :, g] = np.nan if np.isnan(known[-1]) else np.interp(probabilities, ranks, known)
        return found, told.error / told.weight + 0.5 / self.capacity

    def _thinned(self, before: list[Self]) -> Self:
        """Return the state with these parts and the thinned states ``before`` thinned together."""
        given = self.weights or (np.ones(sum(part.shape[-1] for part in self.parts)),)
        each = [np.full(self.capacity, state.weight / self.capacity) for state in before]
        weights = np.concatenate([*each, *given])
        arrays = [*(state.kept for state in before if state.kept is not None), *self.parts]
        others = [state.ends for state in before if state.ends is not None]
        kept, own = _thin(arrays, weights, self.capacity)
        ends = np.concatenate([own, *others], axis=-1)
        return replace(
            self,
            parts=(),
            weights=(),
            kept=kept,
            ends=np.stack([ends.min(axis=-1), ends.max(axis=-1)], axis=-1),
            weight=float(weights.sum()),
            error=sum(state.error for state in before) + float(weights.sum()) / (2 * self.capacity),
        )


def _thin(arrays: list[Floats], weights: Floats, capacity: int) -> tuple[Floats, Floats]:
    """Return the values ``(o, g, c)`` in the middle of equal shares of the weight, and the extremes."""
    shares = (np.arange(capacity) + 0.5) / capacity
    last = len(weights) - 1
    if (weights == weights[0]).all():  # the same ranks are kept at every point
        ordered = np.sort(np.concatenate(arrays, axis=-1), axis=-1)
        at = np.searchsorted(np.cumsum(weights), shares * weights.sum())
        return ordered[..., np.minimum(at, last)], ordered[..., [0, -1]]
    outputs, points = arrays[0].shape[:2]
    kept, ends = np.empty((outputs, points, capacity)), np.empty((outputs, points, 2))
    for o, g in product(range(outputs), range(points)):
        line = np.concatenate([array[o, g] for array in arrays])
        order = np.argsort(line, kind="stable")  # fast for the sorted parts
        upper = np.cumsum(weights[order])
        at = np.minimum(np.searchsorted(upper, shares * upper[-1]), last)
        kept[o, g], ends[o, g] = line[order[at]], line[order[[0, -1]]]
    return kept, ends


def row_quantiles(
    line: Callable[[int, int], Floats],
    shape: tuple[int, ...],
    weights: Floats | None,
    probabilities: Sequence[float],
    threads: int = 1,
) -> Floats:
    """Return quantiles ``(o, q, g)`` of the values of rows at each point, without rows of weight zero.

    ``line`` returns the values ``(n,)`` of all rows for an output and a point, ``shape`` is ``(o, g)``.
    Quantiles are those of `paribus._data.summary.quantiles`; they are NaN if any value is NaN.
    """
    mask = None if weights is None or weights.all() else weights > 0
    counted = weights if weights is None or mask is None else weights[mask]
    outputs, points = shape

    def each(position: tuple[int, int]) -> Floats:
        values = line(*position) if mask is None else line(*position)[mask]
        if np.isnan(values).any():
            return np.full(len(probabilities), np.nan)
        order = None if counted is None else np.argsort(values, kind="stable")
        values = np.sort(values) if order is None else values[order]
        with np.errstate(invalid="ignore", over="ignore"):  # infinite predictions
            own = None if counted is None or order is None else counted[order]
            return quantiles(values, probabilities, own)

    positions = list(product(range(outputs), range(points)))
    result = np.empty((outputs, len(probabilities), points))
    with ThreadPoolExecutor(threads) as pool:
        for (o, g), one in zip(positions, pool.map(each, positions), strict=True):
            result[o, :, g] = one
    return result


def curve_quantiles(
    curves: Floats, weights: Floats | None, probabilities: Sequence[float], threads: int = 1
) -> Floats:
    """Return quantiles ``(o, q, g)`` of the curves ``(o, n, g)`` of all rows, optionally weighted."""
    shape = curves.shape[0], curves.shape[2]
    return row_quantiles(lambda o, g: curves[o, :, g], shape, weights, probabilities, threads)
