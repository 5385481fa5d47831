"""Effects by brute force: predictions of every row at every grid point."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from threading import Lock
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Floats, Integers
from paribus._data.rows import Block, Parts
from paribus._data.table import ScratchBuffer, Table
from paribus._evaluators.request import (
    EffectEstimate,
    EvaluationRequest,
    SinglePass,
    quantile_state,
    row_units,
)
from paribus._grid import Grid
from paribus._kernels import reference
from paribus._models import Model
from paribus._models.preprocessing.preparation import AnyPreparation
from paribus._states import CurveProducts, Keyed, Moments, PointValues, RowCurves, UnitSums, merge_in_order
from paribus._states.moments import linearized_error, squared_deviations
from paribus.errors import ModelError, failure
from paribus.meaning import Estimand

CALL_ROWS = 16_384  # rows per call of the model: enough to hide its overhead, few enough for a cache
CALL_BYTES = 32_000_000  # of these rows and their predictions
STACK_ROWS = 256  # minimum number of rows that are repeated together
BLOCKS = 8  # minimum number of blocks of a table, for threads and progress
PART_CALLS = 4  # calls per block: fewer waste overhead, more make blocks slow
TABLE_COPIES = 3  # the stacked rows, the model's own conversion of them, and a frame's intermediate
OUTPUT_COPIES = 4  # the predictions, their transpose, and the two arrays of their moments


@contextmanager
def reraise_with_rows(model: Model, first: int, last: int, names: tuple[str, ...] = ()) -> Iterator[None]:
    """Raise `ModelError` with the rows and the replaced features for any exception of a model."""
    where = f"on rows {first} to {last} of X" + (f" with {', '.join(names)} replaced" if names else "")
    try:
        yield
    except ModelError as error:
        raise ModelError(f"{error} ({where})") from error
    except Exception as error:
        raise ModelError(f"{model.name} failed {where}: {failure(error)}") from error


@dataclass(frozen=True, eq=False)
class BruteForce(SinglePass):
    r"""Partial dependence by its definition, for any model.

    .. math:: PD_S(x_S) = \frac{1}{W} \sum_i w_i f(x_S, x_{i,\bar S})

    Rows are repeated once per grid point, the columns in S are replaced, and one call of the model predicts
    as many points as fit. Portions of rows that are summed depend on the request alone, not on the number of
    threads. If memory is short, a portion is predicted in several calls.
    """

    model: Model
    request: EvaluationRequest
    scratch: ScratchBuffer = field(default_factory=ScratchBuffer)

    name: ClassVar[str] = "brute"
    shortcut: ClassVar[bool] = False
    estimand: ClassVar[Estimand] = Estimand.INTERVENTIONAL
    threaded: ClassVar[bool] = False  # the model may start threads itself
    how: ClassVar[str] = "by brute force, a prediction for each row and grid point"

    @property
    def row_cost(self) -> int:
        """Memory of one row in a call of the model."""
        return self.request.row_bytes * TABLE_COPIES + self.model.n_outputs * FLOAT * OUTPUT_COPIES

    @property
    def _most_rows(self) -> int:
        """Rows per call of the model if memory suffices."""
        return max(1, min(CALL_ROWS, CALL_BYTES // self.row_cost))

    @property
    def call_rows(self) -> int:
        """Rows per call of the model; only blocks are cut if predictions depend on other rows of the call."""
        cut = self.request.cut if self.model.row_independent else self.request.block_cut
        return max(1, self._most_rows // cut)

    @property
    def portion_rows(self) -> int:
        """Rows that are summed together: enough for a few calls at the largest grid."""
        if not self.model.row_independent:
            return self.call_rows
        most = max(1, *(grid.n_points for grid in self.request.grids))
        wanted = min(-(-self.request.rows // BLOCKS), PART_CALLS * self._most_rows // most)
        return max(1, min(self._most_rows, max(STACK_ROWS, wanted)) // self.request.block_cut)

    @property
    def block_rows(self) -> int:
        """Rows per block."""
        return self.portion_rows

    @property
    def parts(self) -> Parts:
        """Groups of grids with a few calls per block."""
        parts: list[tuple[tuple[int, ...], int]] = []
        most = PART_CALLS * self._most_rows // self.portion_rows
        for number, grid in enumerate(self.request.grids):
            points = grid.n_points
            if parts and parts[-1][1] + points <= most:
                numbers, before = parts[-1]
                parts[-1] = (*numbers, number), before + points
            else:
                parts.append(((number,), points))
        return tuple(parts)

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: a call of the model, and the states of the block."""
        most = max(points for _, points in self.parts)
        state = 3 * most * self.model.n_outputs * FLOAT
        kept = self.request.individual or self.request.quantiles is not None
        curves = self.block_rows * most * self.model.n_outputs * FLOAT if kept else 0
        return self.call_bytes + 2 * state + (1 + (self._sizes is not None)) * curves

    @property
    def call_bytes(self) -> int:
        """Memory of a call, and of the predictions of a portion that needs several calls."""
        outputs = self.model.n_outputs * FLOAT * OUTPUT_COPIES
        stacked = max(self.call_rows, min(self.block_rows, *map(self.stack_rows, self.request.grids)))
        return self.call_rows * self.request.row_bytes * TABLE_COPIES + stacked * outputs

    @property
    def state_bytes(self) -> int:
        """Memory of the states of all grids: up to three floats per point and output, and sketches."""
        _, sketches = self.request.collected_bytes(self.model.n_outputs)
        return 3 * self.request.points * self.model.n_outputs * FLOAT + sketches

    @property
    def row_predictions(self) -> int:
        """Predictions per row."""
        return self.request.points

    @property
    def predictions(self) -> int:
        """Number of rows that the model predicts."""
        rows = self.request.rows if self.request.individual else self.request.n_weighted
        return rows * self.row_predictions

    @property
    def error_rows(self) -> int:
        """Number of rows that the standard errors are computed from: all, or those of sampled units."""
        sample = self.request.sample
        return len(sample.numbers) if self.request.dependent and sample is not None else super().error_rows

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of each grid, and curves or values for quantiles if requested."""
        first, last = block.start, block.start + len(block.table) - 1
        if not self.request.individual:
            block = block.weighted()
        squares = self.request.squares(block.positions, block.weights)
        states: dict[tuple[str, int], Any] = dict(self.request.own_points(block))
        for number in block.questions if len(block.table) else ():
            grid, size = self.request.grids[number], self.stack_rows(self.request.grids[number])
            paired = self.request.paired(number, grid.n_points, self.outputs) or self.request.samples_units
            with reraise_with_rows(self.model, first, last, grid.names):
                estimates = [
                    self._evaluate_grid(grid, rows, squares[at * size : (at + 1) * size] if paired else None)
                    for at, rows in enumerate(block.cut(size))
                ]
            for at, name in enumerate(("moments", "products")):
                found: list[Any] = [one[at] for one in estimates if one[at] is not None]
                if found:
                    states[name, number] = merge_in_order(found)
            if self.request.individual:
                parts = tuple((start, curves) for *_, (start, curves) in estimates)
                states["curves", number] = RowCurves(parts)
            if self._sizes is not None:
                most, capacity = self._sizes
                values = np.concatenate([values for *_, (_, values) in estimates], axis=2)
                states["values", number] = PointValues.of(values, block.weights, most=most, capacity=capacity)
        # Once per block of rows, with the part that contains the first grid.
        if self.request.individual and block.weights is not None and 0 in block.questions:
            states["row weights", 0] = RowCurves(((block.start, block.weights[None]),))
        if self.request.individual and block.units is not None and 0 in block.questions:
            states["row units", 0] = RowCurves(((block.start, block.units[None]),))
        return Keyed(states)

    def finish(self, state: Keyed, threads: int = 1) -> list[EffectEstimate]:
        """Return averages, errors, curves and quantiles from the merged states."""
        own = state.parts.get(("row weights", 0))
        weights = None if own is None else own.finish()[0]
        units = row_units(state)
        estimates = []
        for number in range(len(self.request.grids)):
            moments = state.parts["moments", number]
            curves = state.parts["curves", number].finish() if self.request.individual else None
            spread = quantile_state(
                self.request, curves, weights, state.parts.get(("values", number)), threads
            )
            error = moments.standard_error()
            products, rows = state.parts.get(("products", number)), self.request.n_weighted
            if isinstance(products, UnitSums):
                squares, rows = products.weight**2, len(products.units)
                spread_of_units = squared_deviations(products.means, moments.mean, squares)
                error = linearized_error(spread_of_units, rows, moments.weight)
                means, products = products.means, None
                if self.request.paired(number, means.shape[1], self.outputs):
                    products = CurveProducts.of(means, squares, reference.multiply)
            estimate = EffectEstimate(moments.mean, error, curves, *spread, weights, units)
            if products is not None:
                covariance = products.covariance(moments.mean, rows, moments.weight)
                estimate = replace(estimate, covariance=covariance)
            shares = self.request.share_covariance(state, number, moments.weight)
            estimates.append(replace(estimate, share_covariance=shares))
        return estimates

    def stack_rows(self, grid: Grid) -> int:
        """Return the rows that are repeated together, so that the points of a grid fill a call."""
        if not self.model.row_independent:
            return self.call_rows
        return max(self._most_rows // max(1, grid.n_points), min(STACK_ROWS, self._most_rows))

    def _evaluate_grid(
        self, grid: Grid, block: Block, squares: Floats | None
    ) -> tuple[Moments | None, CurveProducts | UnitSums | None, tuple[int, Floats]]:
        """Return the moments of the rows with positive weight, products of sampled rows, and curves.

        Products are those of the rows with positive ``squares``, None without any. Of dependent rows, they
        are the sums of units. The curves of all rows, with the first row, are ``(o, i, g)`` if they are
        requested, ``(o, g, i)`` if their quantiles are, and else empty.
        """
        sampled = None if squares is None or not squares.any() else squares > 0
        weights = block.weights
        mask = None if weights is None or weights.all() else weights > 0
        counted = weights if weights is None or mask is None else weights[mask]
        moments: list[Moments] = []
        curves: list[Floats] = []
        some: list[Floats] = []
        for predictions in self._portions(grid, block):
            if sampled is not None:
                some.append(predictions[..., sampled])
            if mask is None or mask.any():
                moments.append(Moments.of(predictions if mask is None else predictions[..., mask], counted))
            if self.request.individual:
                curves.append(predictions.transpose(0, 2, 1).copy())
            elif self._sizes is not None:
                curves.append(predictions)
        joined = reduce(Moments.beside, moments) if moments else None
        products: CurveProducts | UnitSums | None = None
        if squares is not None and sampled is not None:
            values, factors = np.concatenate(some, axis=1), squares[sampled]
            if self.request.samples_units:
                units = self.request.units_of(block.positions)
                products = UnitSums.of(values, np.sqrt(factors), units)
            else:
                products = CurveProducts.of(values, factors, reference.multiply)
        points = 2 if self.request.individual else 1
        return joined, products, (block.start, np.concatenate(curves, axis=points) if curves else np.empty(0))

    def _portions(self, grid: Grid, block: Block) -> Iterator[Floats]:
        """Yield predictions ``(o, b, i)`` for as many points at a time as fit one call."""
        if not grid.n_points:
            yield np.empty((self.model.n_outputs, 0, len(block.table)))
            return
        yield from self.predicted(grid, block.table, grid.index(0, grid.n_points))

    def predicted(self, grid: Grid, table: Table, index: Integers) -> Iterator[Floats]:
        """Yield predictions ``(o, b, i)`` at points ``index (b, d)``, or ``(b, i, d)`` that differ by row."""
        rows, most = len(table), self.call_rows
        copies = max(1, most // rows) if self.model.row_independent else 1
        whole = table.stack(min(copies, len(index)), self.scratch) if rows <= most else None
        for first in range(0, len(index), copies):
            some = index[first : first + copies]
            if whole is not None:
                yield self._outputs(whole.at(grid.replacements, some), len(some), rows)
                continue
            parts = []
            for start in range(0, rows, most):
                part = table.slice(start, min(start + most, rows))
                own = some[:, start : start + most] if some.ndim == 3 else some
                stacked = part.stack(1, self.scratch).at(grid.replacements, own)
                parts.append(self._outputs(stacked, len(some), len(part)))
            yield np.concatenate(parts, axis=2)

    def _outputs(self, stacked: Any, copies: int, rows: int) -> Floats:
        """Return the predictions ``(o, b, i)`` of stacked rows."""
        predictions = self.model.predict(stacked, copies * rows)
        # A copy, because a model may return a view of its input, which is overwritten later.
        return predictions.reshape(copies, rows, self.model.n_outputs).transpose(2, 0, 1).copy()


TRANSFORMING = Lock()  # preprocessing steps may not be thread-safe


def prepared_rows(preparation: AnyPreparation, block: Block) -> Any:
    """Return the rows of a block after preprocessing, unchanged if there is none."""
    if preparation is None:
        return block.table

    def transformed(block: Block) -> Any:
        with TRANSFORMING:
            return preparation.table(block.table.native)

    return block.row_values(("prepared", preparation.key), transformed, lambda made, *ends: made.slice(*ends))
