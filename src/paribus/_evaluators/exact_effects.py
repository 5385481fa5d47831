"""Base class of exact effects, whose margins are read from the structure of a model."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Array, Floats, Integers
from paribus._data.rows import Block
from paribus._data.samples import Sample
from paribus._evaluators.request import (
    EffectEstimate,
    EvaluationRequest,
    SinglePass,
    quantile_state,
    row_units,
)
from paribus._kernels import reference
from paribus._models import Model
from paribus._states import BinnedSum, Counts, CurveProducts, ExactSum, Keyed, PointValues, RowCurves
from paribus._states.moments import linearized_error, squared_deviations
from paribus.meaning import Estimand

BLOCK_ROWS = 16_384
BLOCKS = 4  # minimum number of blocks of a table, for threads
HEAVIEST = 2.0  # upper bound of the scaled weight of a row
AT_ONCE = 8_192  # rows whose deviations from the average are computed together
CHUNK = 512  # maximum number of rows whose curves are computed together
CURVE_BYTES = 16_000_000  # of curves computed together
KEPT_BYTES = 64_000_000  # of curves that a block keeps


class ExactEffects(SinglePass):
    r"""Partial dependence from margins that are read from a structure, for every grid in one pass.

    A structure gives the margins of any row at any point. If outputs are linear in the margins, their average
    follows from sums over the rows. Otherwise it is the average of the curves of all rows. Standard errors
    come from the curves of all rows or of sampled rows.
    """

    model: Model
    request: EvaluationRequest

    shortcut: ClassVar[bool] = True
    estimand: ClassVar[Estimand] = Estimand.INTERVENTIONAL
    threaded: ClassVar[bool] = True

    row_dtype: ClassVar[str] = "f8"  # of the values read from rows

    @property
    @abstractmethod
    def linear(self) -> bool:
        """Whether the average of outputs equals the output of average margins."""

    @property
    @abstractmethod
    def bound(self) -> float | None:
        """Upper bound of the absolute outputs, None if unknown."""

    @property
    @abstractmethod
    def row_numbers(self) -> int:
        """Number of values read from a row."""

    @property
    @abstractmethod
    def sizes(self) -> tuple[int, ...]:
        """Number of points of each grid."""

    @property
    @abstractmethod
    def n_margins(self) -> int:
        """Number of margins."""

    @abstractmethod
    def read(self, block: Block) -> Array:
        """Return the values ``(k, i)`` that the margins of rows depend on."""

    @abstractmethod
    def sums(self, rows: Array, weights: Floats | None) -> dict[tuple[str, int], Any]:
        """Return the states from which average margins are computed."""

    @abstractmethod
    def average_outputs(self, state: Keyed, number: int, total: float) -> Floats:
        """Return the average outputs ``(o, g)`` of a grid from the states of `sums`."""

    @abstractmethod
    def curves(self, group: tuple[int, ...], rows: Array) -> Floats:
        """Return the outputs ``(o, g, i)`` of rows at the points of a group of grids."""

    def prepare(self) -> None:
        """Prepare the curves of all groups of grids, if every row's curve is computed."""
        if self.request.individual or self.request.quantiles is not None or not self.linear:
            self.prepare_curves([group for group, _ in self.groups])

    def prepare_curves(self, groups: list[tuple[int, ...]]) -> None:
        """Prepare to compute the curves of groups of grids; by default there is nothing to prepare."""

    def strengths(self, state: Keyed, total: float, threads: int) -> list[Floats | None]:
        """Return the standard deviation ``(o,)`` of each grid's effect over the rows, None if unknown."""
        return [None] * len(self.sizes)

    @property
    def measured(self) -> dict[int, int]:
        """First grid of each single feature, with the feature, if strengths can be computed from sums."""
        if not (self.request.strengths and self.linear):
            return {}
        first: dict[int, int] = {}
        for number, grid in enumerate(self.request.grids):
            if len(grid.axes) == 1:
                first.setdefault(grid.axes[0].feature, number)
        return {number: feature for feature, number in first.items()}

    @property
    def state_bytes(self) -> int:
        """Memory of the state of one block: sums and their squares at every point, and sketches."""
        _, sketches = self.request.collected_bytes(self.outputs)
        return 2 * FLOAT * self.request.points * self.outputs + sketches

    @property
    def kept_bytes(self) -> int:
        """Memory of the curves that a block keeps."""
        rows = min(self.block_rows, self.request.rows)
        curves = FLOAT * rows * self.request.points * self.model.n_outputs
        return curves * (1 if self.request.individual else 2 * (self.request.quantiles is not None))

    @property
    def block_rows(self) -> int:
        """Rows per block: few enough for several threads, and fewer if a state holds curves."""
        chunks = -(-self.request.rows // (BLOCKS * CHUNK))
        shared = min(BLOCK_ROWS, chunks * CHUNK)
        if self.request.individual:  # curves are the largest part of a state
            shared = min(shared, KEPT_BYTES // (FLOAT * max(1, self.request.points) * self.model.n_outputs))
        elif self.request.quantiles is not None:
            shared = min(shared, self.request.quantiles.block_rows(self.request.points, self.model.n_outputs))
        else:
            shared = self.widened(shared)
        return int(max(1, shared // self.request.block_cut))

    def widened(self, rows: int) -> int:
        """Return the rows per block if a state holds only sums."""
        return rows

    @property
    def samples_errors(self) -> bool:
        """Whether standard errors come from the curves of sampled rows: not if all curves are computed."""
        return not self.request.individual

    @property
    def error_rows(self) -> int:
        """Number of rows whose curves give the standard errors."""
        sampled = self.samples_errors or self.request.dependent
        if not sampled or self.request.sample is None:
            return self.request.n_weighted
        return len(self.request.sample.numbers)

    @property
    def _with_points(self) -> list[int]:
        """The grids that have points; an axis without finite values has none."""
        return [number for number, size in enumerate(self.sizes) if size]

    @property
    def curve_bytes(self) -> int:
        """Memory of curves computed together; portions of a single grid are only cut with blocks."""
        sizes = [self.sizes[number] for number in self._with_points]
        number = FLOAT * self.n_margins
        alone = number * max((self.portion(size) * size for size in sizes), default=0)
        together = number * CHUNK * sum(sizes)
        return int(min(together, max(CURVE_BYTES // self.request.cut, alone)))

    def portion(self, size: int) -> int:
        """Return the number of rows whose curves at ``size`` points are computed together."""
        most = CURVE_BYTES // self.request.block_cut // (FLOAT * self.n_margins)
        return int(max(1, min(CHUNK, most // max(1, size))))

    @cached_property
    def groups(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """Groups of grids whose curves are computed together, each with the number of rows per portion.

        Grids of the same features follow each other.
        """
        widest = self.curve_bytes // (FLOAT * self.n_margins)
        groups: list[list[int]] = []
        held = 0
        varied = [tuple(axis.feature for axis in grid.axes) for grid in self.request.grids]
        for number in sorted(self._with_points, key=lambda number: varied[number]):
            size = self.sizes[number]
            if groups and (held + size) * CHUNK <= widest:
                groups[-1].append(number)
                held += size
            else:
                groups.append([number])
                held = size
        return tuple((tuple(group), self.portion(sum(self.sizes[q] for q in group))) for group in groups)

    def evaluate(self, block: Block) -> Keyed:
        """Return the states of a block: weight, sums, curves, and values of sampled rows."""
        if not self.request.individual:
            block = block.weighted()
        if not len(block.table):
            return Keyed({})
        codes, weights = self.read(block), block.weights
        states: dict[tuple[str, int], Any] = {}
        total = float(len(block.table)) if weights is None else float(weights.sum())
        states["weight", 0] = Counts(np.array([total]))
        if self.linear:
            states |= self.sums(codes, weights)
        if self.request.individual or self._sizes is not None or not self.linear:
            states |= self._curve_states(codes, weights, block)
        if self.samples_errors:
            squares = self.request.squares(block.positions, weights)
            chosen = squares > 0
            states["sample", 0] = RowCurves(((block.start, codes[:, chosen]),))
            states["squares", 0] = RowCurves(((block.start, squares[None, chosen]),))
        states |= self.request.own_points(block)
        return Keyed(states)

    def finish(self, state: Keyed, threads: int = 1) -> list[EffectEstimate]:
        """Return averages and strengths from sums or curves, and errors from curves."""
        estimates, total = self._estimates(state, threads), float(state.parts["weight", 0].cells[0])
        if self.request.samples_units:
            estimates = [
                replace(estimate, share_covariance=self.request.share_covariance(state, number, total))
                for number, estimate in enumerate(estimates)
            ]
        if not self.measured:
            return estimates
        strengths = self.strengths(state, total, threads)
        return [replace(one, strength=own) for one, own in zip(estimates, strengths, strict=True)]

    def _estimates(self, state: Keyed, threads: int) -> list[EffectEstimate]:
        total = float(state.parts["weight", 0].cells[0])
        averages = self.averages(state, total, threads)
        if self.request.individual:
            curves = [state.parts["curves", number].finish() for number in range(len(self.sizes))]
            weights = state.parts["row weights", 0].finish()[0]
            units = row_units(state)
            errors = [
                self._curve_error(computed, mean, weights, total)
                for computed, mean in zip(curves, averages, strict=True)
            ]
            own = weights if self.request.weighted else None
            quantiles = [quantile_state(self.request, computed, own, None, threads) for computed in curves]
            computed_estimates = zip(averages, errors, curves, quantiles, strict=True)
            return [
                EffectEstimate(mean, error, computed, *own_quantiles, own, units)
                for mean, error, computed, own_quantiles in computed_estimates
            ]
        errors, covariances = self.errors(state, averages, total, threads)
        values = [state.parts.get(("values", number)) for number in range(len(self.sizes))]
        quantiles = [quantile_state(self.request, None, None, kept, threads) for kept in values]
        estimates = zip(averages, errors, quantiles, covariances, strict=True)
        return [
            EffectEstimate(mean, error, None, *own_quantiles, covariance=covariance)
            for mean, error, own_quantiles, covariance in estimates
        ]

    def _curve_error(self, curves: Floats, mean: Floats, weights: Floats, total: float) -> Floats:
        """Return the standard errors ``(o, g)`` of an average of the curves ``(o, n, g)`` of all rows."""
        sample = self.request.sample
        if sample is None or sample.units is None:
            rows = self.request.n_weighted
            return linearized_error(_squared_curve_deviations(curves, mean, weights**2), rows, total)
        means = sample.unit_means(curves[:, sample.numbers].transpose(0, 2, 1))
        spread = squared_deviations(means, mean, sample.unit_squares)
        return linearized_error(spread, sample.n_units, total)

    def _curves(self, codes: Array) -> Iterator[tuple[tuple[int, ...], int, Floats]]:
        """Yield outputs ``(o, g, i)`` per group of grids and portion of rows, with the first row."""
        for group, size in self.groups:
            for first in range(0, codes.shape[1], size):
                portion = np.ascontiguousarray(codes[:, first : first + size])
                yield group, first, self.curves(group, portion)

    def _split(self, group: tuple[int, ...], computed: Floats) -> Iterator[tuple[int, Floats]]:
        """Yield each grid of a group with its part of the curves."""
        first = 0
        for number in group:
            yield number, computed[:, first : first + self.sizes[number]]
            first += self.sizes[number]

    def _curve_states(self, codes: Array, weights: Floats | None, block: Block) -> dict[tuple[str, int], Any]:
        states: dict[tuple[str, int], Any] = {}
        start = block.start
        kept: dict[int, list[Floats]] = {number: [] for number in self._with_points}
        for group, first, computed in self._curves(codes):
            portion = None if weights is None else weights[first : first + computed.shape[-1]]
            for number, outputs in self._split(group, computed):
                if self.request.individual:
                    kept[number].append(outputs.transpose(0, 2, 1))
                elif self._sizes is not None:
                    kept[number].append(outputs)
                if not self.linear:
                    terms = outputs if portion is None else outputs * portion
                    added = self._sum(terms)
                    key = "sums", number
                    states[key] = states[key].merge(added) if key in states else added
        if self.request.individual:
            rows = codes.shape[1]
            for number in range(len(self.sizes)):
                none = [np.empty((self.model.n_outputs, rows, 0))]
                joined = np.concatenate(kept.get(number, none), axis=1)
                states["curves", number] = RowCurves(((start, joined),))
            own = np.ones(rows) if weights is None else weights
            states["row weights", 0] = RowCurves(((start, own[None]),))
            if block.units is not None:
                states["row units", 0] = RowCurves(((start, block.units[None]),))
        elif self._sizes is not None:
            most, capacity = self._sizes
            for number in range(len(self.sizes)):
                none = [np.empty((self.model.n_outputs, 0, codes.shape[1]))]
                joined = np.concatenate(kept.get(number, none), axis=2)
                states["values", number] = PointValues.of(joined, weights, most=most, capacity=capacity)
        return states

    def _sum(self, terms: Floats) -> ExactSum | BinnedSum:
        if self.bound is None:
            return BinnedSum.of(terms, self.request.rows)
        return ExactSum.of(terms, HEAVIEST * self.bound, self.request.rows)

    def averages(self, state: Keyed, total: float, threads: int) -> list[Floats]:
        """Return the average outputs ``(o, g)`` of each grid."""
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda number: self._average(state, number, total), range(len(self.sizes))))

    def _average(self, state: Keyed, number: int, total: float) -> Floats:
        if not self.sizes[number]:
            return np.empty((self.model.n_outputs, 0))
        if not self.linear:
            return np.asarray(state.parts["sums", number].total() / total)
        return self.average_outputs(state, number, total)

    def multiply(self, curves: Floats) -> Floats:
        """Return the sums over rows of products of points, ``(o, g, g)`` of curves ``(o, g, i)``."""
        return reference.multiply(curves)

    def errors(
        self, state: Keyed, averages: list[Floats], total: float, threads: int
    ) -> tuple[list[Floats], list[Floats | None]]:
        """Return standard errors and covariances from the curves of sampled rows.

        These are summed in a fixed order of portions.
        """
        codes = state.parts["sample", 0].finish()
        squares = state.parts["squares", 0].finish()[0]
        units = None if self.request.sample is None else self.request.sample.units
        if units is not None:  # so that a portion has whole units
            order = np.argsort(units, kind="stable")
            codes, squares, units = np.ascontiguousarray(codes[:, order]), squares[order], units[order]
        spreads = [np.zeros_like(mean) for mean in averages]
        products: dict[int, CurveProducts] = {}
        portions = [
            (group, *ends) for group, size in self.groups for ends in _ends(codes.shape[1], size, units)
        ]

        def spread(
            portion: tuple[tuple[int, ...], int, int],
        ) -> list[tuple[int, Floats, CurveProducts | None]]:
            group, first, stop = portion
            rows = slice(first, stop)
            sample = Sample(np.arange(first, stop), squares[rows], units=_from_zero(units, rows))
            own, found = sample.unit_squares, []
            computed = sample.unit_means(self.curves(group, np.ascontiguousarray(codes[:, rows])))
            for q, outputs in self._split(group, computed):
                pairs = CurveProducts.of(outputs, own, self.multiply) if self.paired(q) else None
                found.append((q, squared_deviations(outputs, averages[q], own), pairs))
            return found

        with ThreadPoolExecutor(threads) as pool:
            for found in pool.map(spread, portions):
                for number, added, pairs in found:
                    spreads[number] += added
                    if pairs is not None:
                        products[number] = products[number].merge(pairs) if number in products else pairs
        rows = self.request.n_weighted if units is None else int(units[-1]) + 1
        return [linearized_error(spread, rows, total) for spread in spreads], [
            products[number].covariance(mean, rows, total) if number in products else None
            for number, mean in enumerate(averages)
        ]

    def paired(self, number: int) -> bool:
        """Return whether the covariance of the points of a grid is computed."""
        return self.request.paired(number, self.sizes[number], self.model.n_outputs)


def _ends(rows: int, size: int, units: Integers | None) -> Iterator[tuple[int, int]]:
    """Yield the first row of each portion of about ``size`` rows, and that of the next one.

    ``units`` are sorted. The rows of a unit are in one portion.
    """
    first = 0
    while first < rows:
        stop = min(first + size, rows)
        if units is not None and stop < rows:
            stop = int(np.searchsorted(units, units[stop]))
            stop = stop if stop > first else int(np.searchsorted(units, units[stop], side="right"))
        yield first, stop
        first = stop


def _from_zero(units: Integers | None, rows: slice) -> Integers | None:
    """Return the sorted units of a portion, as positions from 0."""
    return None if units is None else units[rows] - units[rows.start]


def _squared_curve_deviations(curves: Floats, mean: Floats, squares: Floats) -> Floats:
    """Return the squared deviations summed over all curves ``(o, n, g)``, some rows at a time."""
    total = np.zeros_like(mean)
    for first in range(0, len(squares), AT_ONCE):
        part = curves[:, first : first + AT_ONCE].transpose(0, 2, 1)
        total += squared_deviations(part, mean, squares[first : first + AT_ONCE])
    return total
