"""Every row's prediction at each point: all of them, or as many as give the quantiles."""

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
    r"""Predictions of the rows at each point, thinned out once they are of more than ``most`` rows.

    Thinning keeps at each point the ``capacity`` = :math:`c` numbers at the ranks
    :math:`(k + 1/2) W / c`, each of which then stands for :math:`W / c` of the weight :math:`W`. The rank of
    any number is thereby rounded to a multiple of :math:`W / c`, so that it moves by :math:`W / (2 c)` at
    most: that is added to ``error``, in units of weight. There is no chance in it, so the same rows in the
    same blocks give the same bits; and while nothing is thinned, so do the same rows in any blocks.

    Attributes
    ----------
    parts : tuple of (o, g, i)
        What was not thinned yet, in the order of rows.
    weights : tuple of (i,)
        The weights of those rows, all positive; none where all count the same.
    kept, ends : (o, g, c) and (o, g, 2), or None
        The sorted numbers that stand for others, and the smallest and largest of these.
    weight : float
        Of the rows that ``kept`` stands for.
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
        """Collect predictions of shape ``(o, g, i)``; every weight is positive."""
        state = cls(most, capacity, (values,), () if weights is None else (weights,))
        return state if values.shape[-1] <= most else state._thinned([])

    def merge(self, other: Self) -> Self:
        """Return what is kept of both sets of rows."""
        parts, weights = self.parts + other.parts, self.weights + other.weights
        joined = replace(self, parts=parts, weights=weights)
        thinned = [state for state in (self, other) if state.kept is not None]
        if len(thinned) == 2 or joined._rows > self.most:
            return joined._thinned(thinned)
        if not thinned:
            return joined
        return replace(thinned[0], parts=parts, weights=weights)

    @property
    def _rows(self) -> int:
        """Number of rows that were not thinned yet."""
        return sum(part.shape[-1] for part in self.parts)

    def quantiles(self, probabilities: Sequence[float], threads: int = 1) -> tuple[Floats, float]:
        """Return quantiles ``(o, q, g)``, and by how much their rank may be off as a share of the weight."""
        if self.kept is None:
            return row_quantiles(self._line, self._shape, self._own_weights(), probabilities, threads), 0.0
        told = self._thinned([self]) if self.parts else self
        assert told.kept is not None
        assert told.ends is not None
        ranks = np.concatenate([[0.0], (np.arange(self.capacity) + 0.5) / self.capacity, [1.0]])
        heights = np.concatenate([told.ends[..., :1], told.kept, told.ends[..., 1:]], axis=-1)
        found = np.empty((heights.shape[0], len(probabilities), heights.shape[1]))
        for o, g in product(*map(range, self._shape)):
            line = heights[o, g]
            found[o, :, g] = np.nan if np.isnan(line[-1]) else np.interp(probabilities, ranks, line)
        return found, told.error / told.weight + 0.5 / self.capacity

    @property
    def _shape(self) -> tuple[int, int]:
        outputs, points = (self.parts[0] if self.kept is None else self.kept).shape[:2]
        return outputs, points

    def _line(self, o: int, g: int) -> Floats:
        return np.concatenate([part[o, g] for part in self.parts])

    def _own_weights(self) -> Floats | None:
        return np.concatenate(self.weights) if self.weights else None

    def _thinned(self, before: list[Self]) -> Self:
        """Thin out these parts together with what was thinned ``before``."""
        given = self.weights or (np.ones(self._rows),)
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
    """Return the numbers ``(o, g, c)`` in the middle of equal shares of the weight, and the two ends."""
    shares = (np.arange(capacity) + 0.5) / capacity
    last = len(weights) - 1
    if (weights == weights[0]).all():  # then the same ranks are kept at every point
        ordered = np.sort(np.concatenate(arrays, axis=-1), axis=-1)
        at = np.searchsorted(np.cumsum(weights), shares * weights.sum())
        return ordered[..., np.minimum(at, last)], ordered[..., [0, -1]]
    outputs, points = arrays[0].shape[:2]
    kept, ends = np.empty((outputs, points, capacity)), np.empty((outputs, points, 2))
    for o, g in product(range(outputs), range(points)):
        line = np.concatenate([array[o, g] for array in arrays])
        order = np.argsort(line, kind="stable")  # which makes use of what is sorted already
        upper = np.cumsum(weights[order])
        at = np.minimum(np.searchsorted(upper, shares * upper[-1]), last)
        kept[o, g], ends[o, g] = line[order[at]], line[order[[0, -1]]]
    return kept, ends


def row_quantiles(
    line: Callable[[int, int], Floats],
    shape: tuple[int, int],
    weights: Floats | None,
    probabilities: Sequence[float],
    threads: int = 1,
) -> Floats:
    """Return quantiles ``(o, q, g)`` of what rows have at each point, rows of weight zero left out.

    ``line`` returns the numbers ``(n,)`` of all rows for an output and a point. A quantile is that of
    `paribus._data.summary.quantiles`; where one of the numbers is NaN, so is every quantile.
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
    """Return quantiles ``(o, q, g)`` of the curves ``(o, n, g)`` of all rows, by weight if they have one."""
    shape = curves.shape[0], curves.shape[2]
    return row_quantiles(lambda o, g: curves[o, :, g], shape, weights, probabilities, threads)
