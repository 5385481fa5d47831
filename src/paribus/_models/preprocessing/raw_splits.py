"""Splits of trees after preprocessing, in the units of raw columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._data.summary import Summary
from paribus._data.table import Table
from paribus._models.ensemble import ZERO, Encoding, Ensemble
from paribus.errors import RefusalCode, RefusalError, failure

Keys = NDArray[np.uint64]  # position of a number among all numbers of its dtype

MOST = 4_096  # observed values for the check that a prepared column is monotone
TOP = np.uint64(1) << np.uint64(63)
MISSING = -1  # rank of a missing value


@dataclass(frozen=True, eq=False)
class RawSplits:
    """Prepared columns of a feature, and the thresholds of their splits.

    If a prepared column is a monotone function of the feature, it crosses every threshold within its range
    once. Interval search through the fitted steps finds the last number before and the first number after.
    """

    ensemble: Ensemble
    like: Table
    feature: int
    summary: Summary

    @cached_property
    def tested(self) -> list[tuple[Encoding, Floats]]:
        """Encodings of the feature with splits by threshold, and their distinct finite thresholds."""
        nodes, tested = self.ensemble, []
        for column, encoding in enumerate(nodes.encodings):
            here = (nodes.column == column) & (nodes.category_set < 0)
            thresholds = nodes.threshold[here]
            if encoding.feature == self.feature and here.any():
                if encoding.zero_is_missing:  # numbers close to zero are missing
                    thresholds = np.append(thresholds, [-np.nextafter(ZERO, 1.0), ZERO])
                lenient = replace(
                    encoding, accepts_missing=True, accepts_infinite=True, zero_is_missing=False
                )
                tested.append((lenient, np.unique(thresholds[np.isfinite(thresholds)])))
        return tested

    def sides(self) -> Array:
        """Return the last number before each split and the first one after it, sorted."""
        occurring = self._occurring()
        ranks = self._checked(occurring)
        # The crossed thresholds between adjacent values.
        column_of_step, before_step = np.nonzero(np.diff(ranks, axis=1))
        first, last = ranks[column_of_step, before_step], ranks[column_of_step, before_step + 1]
        crossed = np.abs(last - first)
        step = np.repeat(np.arange(len(crossed)), crossed)
        place = np.arange(len(step)) - np.repeat(np.cumsum(crossed) - crossed, crossed)
        column, before = column_of_step[step], before_step[step]
        cut = np.minimum(first, last)[step] + place
        low, high = occurring[before], occurring[before + 1]
        rises = ranks[column, -1] > ranks[column, 0]
        while (wide := high - low > 1).any():
            # Several points between each pair, because a call of a transformer is expensive.
            low_wide, high_wide = low[wide, None], high[wide, None]
            sections = np.uint64(max(2, min(64, MOST // len(low_wide))))
            width = np.maximum(np.uint64(1), (high_wide - low_wide) // sections)
            points = low_wide + width * np.arange(1, sections, dtype=np.uint64)
            points = np.minimum(points, high_wide - np.uint64(1))
            columns = np.repeat(column[wide], points.shape[1])
            point_ranks = self._ranks(points.ravel())[columns, np.arange(points.size)]
            if (point_ranks == MISSING).any():
                raise self._refusal()
            after = (point_ranks.reshape(points.shape) > cut[wide, None]) == rises[wide, None]
            first_after = np.where(after.any(axis=1), after.argmax(axis=1), points.shape[1])
            line = np.concatenate([low_wide, points, high_wide], axis=1)
            rows = np.arange(len(line))
            # The last point before the split, and the first one after it.
            low[wide], high[wide] = line[rows, first_after], line[rows, first_after + 1]
        self._checked(np.unique(np.concatenate([occurring, low, high])))
        return _numbers_from_keys(np.unique(np.concatenate([low, high])), self._dtype)

    def _occurring(self) -> Keys:
        """Return keys of some observed values, including the extremes."""
        summary, dtype = self.summary, self._dtype
        extremes = np.asarray(summary.extremes).astype(dtype)
        observed = extremes[:0]
        if summary.ordered is not None and len(summary.ordered):
            chosen = np.linspace(0, len(summary.ordered) - 1, min(len(summary.ordered), MOST)).astype(int)
            observed = summary.ordered[chosen].astype(dtype)
        elif summary.deciles is not None:
            inner = np.rint(summary.deciles) if dtype.kind != "f" else summary.deciles
            observed = inner[1:-1].astype(dtype)
        keys, ends = np.unique(_ordered_keys(np.append(extremes, observed))), _ordered_keys(extremes)
        return np.asarray(keys[(keys >= ends[0]) & (keys <= ends[1])])

    @property
    def _dtype(self) -> np.dtype[np.generic]:
        dtype = self.summary.dtype
        assert dtype is not None
        return np.dtype(np.float64) if dtype.kind == "f" and dtype.itemsize > 8 else dtype

    def _checked(self, keys: Keys) -> Integers:
        """Return the ranks of sorted values. Refuse columns that are not monotone or partly missing."""
        ranks = self._ranks(keys)
        steps = np.diff(ranks, axis=1)
        one_way = (steps >= 0).all(axis=1) | (steps <= 0).all(axis=1)
        missing = ranks == MISSING
        if not one_way.all() or (missing.any(axis=1) & ~missing.all(axis=1)).any():
            raise self._refusal()
        return ranks

    def _ranks(self, keys: Keys) -> Integers:
        """Return the number of thresholds below each prepared column at some values, ``(c, v)``."""
        values = _numbers_from_keys(keys, self._dtype)
        if self.summary.unit is not None:
            values = values.view(self.summary.unit)
        cells = self.like.cells(self.feature, values)
        try:
            numbers_of = self.ensemble.values([(self.feature, cells)])[0]
        except Exception as error:  # of any class
            raise RefusalError(
                f"its preprocessing fails at values between those of {self.summary.name!r}: {failure(error)}",
                RefusalCode.UNSUPPORTED,
            ) from error
        ranks = np.empty((len(self.tested), len(keys)), np.int64)
        for position, (encoding, thresholds) in enumerate(self.tested):
            numbers = numbers_of(encoding)
            ranks[position] = np.where(np.isnan(numbers), MISSING, np.searchsorted(thresholds, numbers))
        return ranks

    def _refusal(self) -> RefusalError:
        return RefusalError(
            f"its preprocessing makes columns of {self.summary.name!r} that neither rise nor fall with it",
            RefusalCode.UNSUPPORTED,
        )


def split_sides(ensemble: Ensemble, like: Table, feature: int, summary: Summary) -> Array:
    """Return the last number before each split of a feature and the first one after it, in raw units.

    Raise `RefusalError` if preprocessing is unsupported. ``like`` has any rows of the table.
    """
    assert summary.dtype is not None
    if ensemble.preparation is None:
        return ensemble.sides(feature, summary.dtype)
    ensemble.preparation.refuse_joined((feature,))
    splits = RawSplits(ensemble, like, feature, summary)
    return splits.sides() if splits.tested else np.empty(0, summary.dtype)


def _ordered_keys(values: Array) -> Keys:
    """Return the position of each number among all numbers of its dtype."""
    if values.dtype.kind == "u":
        return values.astype(np.uint64)
    if values.dtype.kind == "i":
        return np.asarray(values.astype(np.int64).view(np.uint64) ^ TOP)
    bits = values.view(f"u{values.dtype.itemsize}")
    top = _sign_bit(values.dtype)
    return np.where(bits & top, ~bits, bits | top).astype(np.uint64)


def _numbers_from_keys(keys: Keys, dtype: np.dtype[np.generic]) -> Array:
    """Return the number of a dtype at each position."""
    if dtype.kind == "u":
        return keys.astype(dtype)
    if dtype.kind == "i":
        return (keys ^ TOP).view(np.int64).astype(dtype)
    bits, top = keys.astype(f"u{dtype.itemsize}"), _sign_bit(dtype)
    positive: Flags = (bits & top) > 0
    return np.where(positive, bits ^ top, ~bits).astype(bits.dtype).view(dtype)


def _sign_bit(dtype: np.dtype[np.generic]) -> Array:
    """Return the sign bit of a float dtype."""
    return np.array(1 << (8 * dtype.itemsize - 1), f"u{dtype.itemsize}")
