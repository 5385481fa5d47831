"""Shares of the variance of the prediction that curves reproduce."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from paribus._contracts import Floats
from paribus._data.rows import Block
from paribus._data.samples import parts_of
from paribus._data.table import ScratchBuffer
from paribus._evaluators.cell_means import predictions_of
from paribus._evaluators.region_search import RegionGrouping
from paribus._grid import Grid
from paribus._models import Model
from paribus._states import Keyed, Variances
from paribus._states.sums import ignore_fp_errors

SHARE_ROWS = 16_384  # rows per block, which one call of the model predicts
PARTS = 20  # parts of the rows that are left out in turn, for standard errors


@dataclass(frozen=True, eq=False)
class CurveLookup:
    """A curve ``(o, g)`` apart from its level; the missing value is the last point, if there is one.

    ``weights (g,)`` are those of all rows around the points, and give the level. A row that no point
    represents, such as one with a rare category, is at the level.
    """

    grid: Grid
    average: Floats
    weights: Floats

    def at(self, block: Block) -> Floats:
        """Return the curve ``(o, i)`` at the point nearest to each row."""
        shares = self.weights / max(np.finfo(float).tiny, self.weights.sum())
        curve = self.average - (self.average @ shares)[:, None]
        curve = np.concatenate([curve, np.zeros((len(curve), 1))], axis=1)
        return np.asarray(curve[:, self.grid.nearest_point(block.column(self.grid.axes[0].feature))])


@dataclass(frozen=True, eq=False)
class RegionalLookup:
    """The curves of a feature in each region, and the position of the feature among all curves."""

    position: int
    grouping: RegionGrouping
    curves: tuple[CurveLookup, ...]

    def at(self, block: Block) -> Floats:
        """Return the curve ``(o, i)`` of each row's region at the point nearest to the row."""
        region, rows = self.grouping.codes(block), np.arange(len(block.table))
        return np.stack([curve.at(block) for curve in self.curves])[region, :, rows].T


@dataclass(frozen=True, eq=False)
class CurveShares:
    r"""Evaluator of the shares of the variance of the prediction that curves and regions reproduce.

    .. math:: 1 - \frac{\operatorname{Var}(f - \sum_j PD_j)}{\operatorname{Var}(f)}

    with each curve at the point nearest to the row. ``regional`` are the curves of one feature by region. For
    several models, the prediction is their mean.
    """

    models: tuple[Model, ...]
    curves: tuple[CurveLookup, ...]
    regional: RegionalLookup | None
    scratch: ScratchBuffer = field(default_factory=ScratchBuffer)

    def evaluate(self, block: Block) -> Keyed:
        """Return the variances of the predictions and of what curves leave, for each part of the rows."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        predictions = [predictions_of(model, block, SHARE_ROWS, self.scratch).T for model in self.models]
        with ignore_fp_errors():
            predicted = sum(predictions) / len(predictions)
            of_features = [curve.at(block) for curve in self.curves]
            left = predicted - sum(of_features)
            parts = [predicted, left]
            if self.regional is not None:
                parts.append(left + of_features[self.regional.position] - self.regional.at(block))
        values = np.concatenate(parts).T
        part = parts_of(block.dependent, PARTS)
        states: dict[tuple[str, int], Any] = {}
        for number in np.flatnonzero(np.bincount(part)).tolist():
            rows = part == number
            weights = None if block.weights is None else block.weights[rows]
            states["shares", number] = Variances.of(values[rows], weights)
        return Keyed(states)

    def finish(self, state: Keyed) -> tuple[Floats, Floats]:
        """Return shares ``(1, o)`` or ``(2, o)`` and errors: of the curves, and what regions add.

        Errors are from leaving out each part of the rows in turn.
        """
        parts: list[Variances] = [state.parts[key] for key in sorted(state.parts)]
        shares = self._shares(parts)
        if len(parts) < 2:
            return shares, np.full_like(shares, np.nan)
        without = np.stack([self._shares(parts[:n] + parts[n + 1 :]) for n in range(len(parts))])
        spread = without - without.mean(axis=0)
        return shares, np.sqrt((spread**2).sum(axis=0) * (1 - 1 / len(parts)))

    def _shares(self, parts: list[Variances]) -> Floats:
        """Return the shares from some parts of the rows."""
        variance = reduce(Variances.merge, parts).variance
        variance = variance.reshape(2 + (self.regional is not None), -1)
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = 1 - variance[1:] / np.where(variance[0] > 0, variance[0], np.nan)
        return np.concatenate([shares[:1], shares[1:] - shares[0]])
