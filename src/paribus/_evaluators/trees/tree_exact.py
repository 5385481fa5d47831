"""Exact evaluation of tree ensembles, from the number of rows that can reach each leaf."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from paribus import _budget
from paribus._budget import FLOAT
from paribus._contracts import Flags, Floats, Integers
from paribus._data.rows import Block
from paribus._evaluators.quantile_state import quantile_state
from paribus._evaluators.request import EffectEstimate, EvaluationRequest, SinglePass
from paribus._evaluators.trees.programs import codes_expected, codes_of, laid_out
from paribus._kernels.program import Ints, PointCodes, Program
from paribus._models import Model, structure_of
from paribus._models.trees import Trees
from paribus._states import BinnedSum, Counts, ExactSum, Keyed, PointValues, RowCurves
from paribus._states.expected import HEAVIEST, LARGEST, Expected
from paribus.meaning import Estimand

BLOCK_ROWS = 16_384
BLOCKS = 4  # a table is cut into at least so many, for threads
AT_ONCE = 8_192  # rows whose curves are compared with their average at once
CURVE_BYTES = 16_000_000  # of curves drawn at once
KEPT_BYTES = 64_000_000  # of curves that a block keeps
VISIT_BYTES, EDGE_BYTES = 20, 32


@dataclass(frozen=True, eq=False)
class TreeExact(SinglePass):
    r"""Partial dependence of a sum of trees, exactly, for every grid in one pass over the rows.

    A leaf :math:`l` adds its value where all tests on the way are passed. With the features in S set to
    :math:`x_S`, the rows that reach it are those that pass its tests of the *other* features:

    .. math:: PD_S(x_S) = b + \sum_l v_l \, 1[x_S \text{ passes } l] \, A_l(S)

    where :math:`A_l(S)` is their share of the weight. One pass counts it for every leaf and every set
    requested; without weights these are integers, so that no order of adding changes a bit. The average of a
    response that is no sum over leaves, such as a probability, is taken from every row's own curve, which is
    drawn from the leaves it reaches.
    """

    model: Model
    request: EvaluationRequest
    trees: Trees
    program: Program
    points: tuple[PointCodes, ...]

    name: ClassVar[str] = "tree_exact"
    shortcut: ClassVar[bool] = True
    estimand: ClassVar[Estimand] = Estimand.INTERVENTIONAL
    threaded: ClassVar[bool] = True
    how: ClassVar[str] = "counts the rows that can reach each leaf when the features are free"

    @classmethod
    def build(cls, model: Model, request: EvaluationRequest) -> TreeExact:
        """Lay the trees out for the grids."""
        trees = structure_of(model)
        kernels = import_module("paribus._kernels.compiled")
        program, points = laid_out(trees.ensemble, request.grids, kernels)
        return cls(model, request, trees, program, points)

    def prepare(self) -> None:
        """Find where curves change."""
        if self.request.individual or self.request.quantiles is not None or not self.trees.link.linear:
            self._drawn  # noqa: B018

    @property
    def kernels(self) -> ModuleType:
        """The kernels; named rather than held, because a module cannot be shipped."""
        return import_module("paribus._kernels.compiled")

    @property
    def block_rows(self) -> int:
        """Rows per block: few enough to share, and more where a state is large, so that few are merged."""
        chunks = -(-self.request.rows // (BLOCKS * self.kernels.CHUNK))
        shared = min(BLOCK_ROWS, chunks * self.kernels.CHUNK)
        if self.request.individual:  # whose curves are the larger part of a state
            shared = min(shared, KEPT_BYTES // (FLOAT * max(1, self.request.points) * self.model.n_outputs))
        elif self.request.quantiles is not None:
            shared = min(shared, self.request.quantiles.block_rows(self.request.points, self.model.n_outputs))
        else:
            shared = max(shared, min(-(-self.request.rows // (2 * BLOCKS)), self.program.n_slots // 256))
        return int(max(1, shared // self.request.block_cut))

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.model.n_outputs

    @cached_property
    def held_bytes(self) -> int:
        """The trees as the kernels take them, and where curves change."""
        several = [p for p in self.points if p.size and len(p.axis_first) > 2]
        traced = sum(self.kernels.trace_bytes(self.program, points) for points in several)
        # Of one feature, a slot is visited once and a test adds a few edges.
        traced += VISIT_BYTES * self.program.n_slots + EDGE_BYTES * len(self.program.entries)
        codes = sum(points.nbytes for points in self.points)
        return int(self.program.nbytes + codes + 2 * traced)  # twice while it is sorted

    @property
    def state_bytes(self) -> int:
        """Memory of the state of one block."""
        _, sketches = self.request.collected_bytes(self.model.n_outputs)
        return FLOAT * (self.program.n_slots + 2 * self.request.points * self.model.n_outputs) + sketches

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: codes, lists of rows by depth, a drawing of curves."""
        rows = min(self.block_rows, self.request.rows)
        deep = self.program.shallow < len(self.program.entries)
        lists = FLOAT * rows * self.program.levels if deep else 0
        codes = (FLOAT + 4) * rows * len(self.program.columns)
        kept = FLOAT * rows * self.request.points * self.model.n_outputs
        kept *= 1 if self.request.individual else 2 * (self.request.quantiles is not None)
        return self.state_bytes + lists + codes + kept + 4 * self._curve_bytes

    @property
    def error_rows(self) -> int:
        """Rows whose curves give the standard error."""
        if self.request.individual or self.request.sample is None:
            return self.request.n_weighted
        return len(self.request.sample.numbers)

    @cached_property
    def _always_free(self) -> frozenset[int]:
        """The features that every grid replaces."""
        varied = (frozenset(axis.feature for axis in grid.axes) for grid in self.request.grids)
        return frozenset.intersection(*varied)

    @property
    def _with_points(self) -> list[int]:
        """The grids that have points; an axis without any finite value leaves none."""
        return [number for number, points in enumerate(self.points) if points.size]

    @property
    def _curve_bytes(self) -> int:
        """Memory of a drawing; that of one grid, whose portions are summed, is not cut with calls."""
        sizes = [self.points[number].size for number in self._with_points]
        number = FLOAT * self.program.n_margins
        alone = number * max((self._portion(size) * size for size in sizes), default=0)
        together = number * self.kernels.CHUNK * sum(sizes)
        return int(min(together, max(CURVE_BYTES // self.request.cut, alone)))

    def _portion(self, size: int) -> int:
        """Return the rows whose curves at so many points are drawn at once."""
        most = CURVE_BYTES // self.request.block_cut // (FLOAT * self.program.n_margins)
        return int(max(1, min(self.kernels.CHUNK, most // max(1, size))))

    @cached_property
    def _drawn(self) -> tuple[tuple[tuple[int, ...], Any, int], ...]:
        """Groups of grids that are drawn together, each with its trace and rows drawn at once."""
        widest = self._curve_bytes // (FLOAT * self.program.n_margins)
        groups: list[list[int]] = []
        held = 0
        for number in self._with_points:
            points = self.points[number]
            if groups and (held + points.size) * self.kernels.CHUNK <= widest:
                groups[-1].append(number)
                held += points.size
            else:
                groups.append([number])
                held = points.size
        drawn = []
        for group in groups:
            threads = self.request.threads or _budget.threads(-1)
            trace = self.kernels.trace(self.program, [self.points[number] for number in group], threads)
            drawn.append((tuple(group), trace, self._portion(sum(self.points[q].size for q in group))))
        return tuple(drawn)

    def expected(self, rows: int) -> Expected:
        """Return the patterns of states of ``rows`` rows at most."""
        patterns: dict[tuple[str, int], Any] = {("weight", 0): Counts.expected((1,), rows)}
        outputs, totals = self.model.n_outputs, {}
        if self.trees.link.linear:
            patterns["coverage", 0] = Counts.expected((self.program.n_slots,), rows)
        for number, points in enumerate(self.points):
            if not self.trees.link.linear and points.size:
                kind = BinnedSum if self.trees.bound is None else ExactSum
                patterns["sums", number] = kind.expected(outputs, points.size)
            if self.request.individual:
                totals[f"curves {number}"] = rows
                patterns["curves", number] = RowCurves.expected(f"curves {number}", outputs, points.size)
            patterns |= self.request.expected_values(number, outputs, points.size)
        if self.request.individual:
            totals["row weights"] = rows
            patterns["row weights", 0] = RowCurves.expected("row weights", 1, low=0, high=LARGEST)
        else:
            totals["sample"] = self.error_rows
            patterns["sample", 0] = codes_expected(self.program)
            patterns["squares", 0] = RowCurves.expected("sample", 1, low=0, high=LARGEST)
        return Expected(patterns, totals=totals)

    def evaluate(self, block: Block) -> Keyed:
        """Return what the rows of a block add to the coverage, the curves and the sample."""
        positions = np.arange(block.start, block.start + len(block.table))
        if not self.request.individual and block.weights is not None and not block.weights.all():
            positions = positions[block.weights > 0]
            block = block.weighted()
        if not len(block.table):
            return Keyed({})
        codes, weights = self._codes(block), block.weights
        states: dict[tuple[str, int], Any] = {}
        total = float(len(block.table)) if weights is None else float(weights.sum())
        states["weight", 0] = Counts(np.array([total]))
        if self.trees.link.linear:
            states["coverage", 0] = Counts(self.kernels.cover(self.program, codes, weights))
        if self.request.individual or self._sizes is not None or not self.trees.link.linear:
            states |= self._curve_states(codes, weights, block.start)
        if not self.request.individual:
            chosen, squares = self._chosen(positions, weights)
            states["sample", 0] = RowCurves(((block.start, codes[:, chosen]),))
            states["squares", 0] = RowCurves(((block.start, squares[None]),))
        return Keyed(states)

    def _chosen(self, positions: Integers, weights: Floats | None) -> tuple[Flags, Floats]:
        """Return the sampled rows, and the weight of each squared deviation."""
        sample = self.request.sample
        if sample is None:
            return np.ones(len(positions), bool), np.ones(len(positions)) if weights is None else weights**2
        at = np.minimum(np.searchsorted(sample.numbers, positions), len(sample.numbers) - 1)
        chosen = sample.numbers[at] == positions
        return chosen, sample.squares[at[chosen]]

    def finish(self, state: Keyed, threads: int = 1) -> list[EffectEstimate]:
        """Read averages off the coverage or the sums, and errors off curves."""
        total = float(state.parts["weight", 0].cells[0])
        with ThreadPoolExecutor(threads) as pool:
            numbers = range(len(self.points))
            averages = list(pool.map(lambda number: self._average(state, number, total), numbers))
        if self.request.individual:
            curves = [state.parts["curves", number].finish() for number in range(len(self.points))]
            weights = state.parts["row weights", 0].finish()[0]
            spreads = [_spread(drawn, mean, weights**2) for drawn, mean in zip(curves, averages, strict=True)]
            errors = [_error(squares, self.request.n_weighted, total) for squares in spreads]
            own = weights if self.request.weighted else None
            quantiles = [quantile_state(self.request, drawn, own, None, threads) for drawn in curves]
            drawn_estimates = zip(averages, errors, curves, quantiles, strict=True)
            return [
                EffectEstimate(mean, error, drawn, *own_quantiles, own)
                for mean, error, drawn, own_quantiles in drawn_estimates
            ]
        errors = self._errors(state, averages, total, threads)
        values = [state.parts.get(("values", number)) for number in range(len(self.points))]
        quantiles = [quantile_state(self.request, None, None, kept, threads) for kept in values]
        estimates = zip(averages, errors, quantiles, strict=True)
        return [EffectEstimate(mean, error, None, *own_quantiles) for mean, error, own_quantiles in estimates]

    @cached_property
    def _sizes(self) -> tuple[int, int] | None:
        return self.request.collects(self.model.n_outputs)

    def _codes(self, block: Block) -> Ints:
        """Return the codes of a block's rows; what every grid replaces is not shown to the model."""
        return codes_of(self.program, self.trees.ensemble, block, self.kernels, self._always_free)

    def _outputs(self, margins: Floats) -> Floats:
        return self.trees.outputs(margins)

    def _curves(self, codes: Ints) -> Iterator[tuple[tuple[int, ...], int, Floats]]:
        """Yield outputs ``(o, g, i)`` per group of grids and portion of rows, with the first row."""
        for group, trace, size in self._drawn:
            for first in range(0, codes.shape[1], size):
                portion = np.ascontiguousarray(codes[:, first : first + size])
                yield group, first, self._outputs(self.kernels.curves(self.program, trace, portion))

    def _split(self, group: tuple[int, ...], drawn: Floats) -> Iterator[tuple[int, Floats]]:
        """Yield each grid of a group with its part of what was drawn."""
        first = 0
        for number in group:
            yield number, drawn[:, first : first + self.points[number].size]
            first += self.points[number].size

    def _curve_states(self, codes: Ints, weights: Floats | None, start: int) -> dict[tuple[str, int], Any]:
        states: dict[tuple[str, int], Any] = {}
        kept: dict[int, list[Floats]] = {number: [] for number in self._with_points}
        for group, first, drawn in self._curves(codes):
            portion = None if weights is None else weights[first : first + drawn.shape[-1]]
            for number, outputs in self._split(group, drawn):
                if self.request.individual:
                    kept[number].append(outputs.transpose(0, 2, 1))
                elif self._sizes is not None:
                    kept[number].append(outputs)
                if not self.trees.link.linear:
                    terms = outputs if portion is None else outputs * portion
                    added = self._sum(terms)
                    key = "sums", number
                    states[key] = states[key].merge(added) if key in states else added
        if self.request.individual:
            rows = codes.shape[1]
            for number in range(len(self.points)):
                none = [np.empty((self.model.n_outputs, rows, 0))]
                joined = np.concatenate(kept.get(number, none), axis=1)
                states["curves", number] = RowCurves(((start, joined),))
            own = np.ones(rows) if weights is None else weights
            states["row weights", 0] = RowCurves(((start, own[None]),))
        elif self._sizes is not None:
            most, capacity = self._sizes
            for number in range(len(self.points)):
                none = [np.empty((self.model.n_outputs, 0, codes.shape[1]))]
                joined = np.concatenate(kept.get(number, none), axis=2)
                states["values", number] = PointValues.of(joined, weights, most=most, capacity=capacity)
        return states

    def _sum(self, terms: Floats) -> ExactSum | BinnedSum:
        if self.trees.bound is None:
            return BinnedSum.of(terms, self.request.rows)
        return ExactSum.of(terms, HEAVIEST * self.trees.bound, self.request.rows)

    def _average(self, state: Keyed, number: int, total: float) -> Floats:
        if not self.points[number].size:
            return np.empty((self.model.n_outputs, 0))
        if not self.trees.link.linear:
            return np.asarray(state.parts["sums", number].total() / total)
        share = state.parts["coverage", 0].cells / total
        averages = self.kernels.average(self.program, self.points[number], share)
        return self._outputs(averages + self.program.base[:, None])

    def _errors(self, state: Keyed, averages: list[Floats], total: float, threads: int) -> list[Floats]:
        """Return standard errors from the curves of the sampled rows, drawn in portions in a fixed order."""
        codes = state.parts["sample", 0].finish()
        squares = state.parts["squares", 0].finish()[0]
        spreads = [np.zeros_like(mean) for mean in averages]
        portions = [
            (group, trace, first, size)
            for group, trace, size in self._drawn
            for first in range(0, codes.shape[1], size)
        ]

        def spread(portion: tuple[tuple[int, ...], Any, int, int]) -> list[tuple[int, Floats]]:
            group, trace, first, size = portion
            some = np.ascontiguousarray(codes[:, first : first + size])
            drawn = self._outputs(self.kernels.curves(self.program, trace, some))
            own = squares[first : first + size]
            return [(q, _squares(outputs, averages[q], own)) for q, outputs in self._split(group, drawn)]

        with ThreadPoolExecutor(threads) as pool:
            for found in pool.map(spread, portions):
                for number, added in found:
                    spreads[number] += added
        return [_error(spread, self.request.n_weighted, total) for spread in spreads]


def _squares(outputs: Floats, mean: Floats, squares: Floats) -> Floats:
    """Return the sum over rows of ``w^2 (f - m)^2`` for outputs ``(o, g, i)`` and squared weights."""
    # Laid out anew: the order of adding must not depend on how the outputs were put together.
    centered = np.subtract(outputs, mean[..., None], order="C")
    if not (squares == 1.0).all():
        centered *= np.sqrt(squares)
    return np.asarray(np.einsum("ogi,ogi->og", centered, centered))


def _spread(curves: Floats, mean: Floats, squares: Floats) -> Floats:
    """Return the same for all rows' curves ``(o, n, g)``, some rows at a time."""
    total = np.zeros_like(mean)
    for first in range(0, len(squares), AT_ONCE):
        part = curves[:, first : first + AT_ONCE].transpose(0, 2, 1)
        total += _squares(part, mean, squares[first : first + AT_ONCE])
    return total


def _error(spread: Floats, rows: int, total: float) -> Floats:
    """Return the linearized standard error of a weighted mean; NaN when only one row was seen."""
    if rows < 2:
        return np.full_like(spread, np.nan)
    return np.asarray(np.sqrt(spread * (rows / (rows - 1))) / total)
