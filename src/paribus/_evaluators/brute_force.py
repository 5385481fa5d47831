"""Effects by brute force: predictions of every row at every grid point."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
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
from paribus._evaluators.request import EffectEstimate, EvaluationRequest, SinglePass, quantile_state
from paribus._grid import Grid
from paribus._kernels import reference
from paribus._models import Model
from paribus._models.preprocessing.preparation import AnyPreparation
from paribus._states import CurveProducts, Keyed, Moments, PointValues, RowCurves, merge_in_order
from paribus.errors import ModelError, failure
from paribus.meaning import Estimand

CALL_ROWS = 16_384  # rows per call of the model: enough to hide its overhead, few enough for a cache
CALL_BYTES = 32_000_000  # of these rows and their predictions
BATCH_ROWS = 262_144  # rows per call of the model if calls are expensive, as far as memory allows
BATCH_BYTES = 256_000_000  # of these rows and their predictions
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
class Piece:
    """Rows to predict at points ``index (b, d)`` of a grid, or at points ``(b, i, d)`` of each row."""

    grid: Grid
    table: Table
    index: Integers

    def stacked(self, first: int, stop: int) -> Any:
        """Return the native table of some of the points."""
        some = self.index[first:stop]
        # A separate buffer, because the pieces of a call are joined.
        return self.table.stack(len(some), ScratchBuffer()).at(self.grid.replacements, some)


def calls_of(sizes: Iterable[tuple[int, int]], most: int) -> list[list[tuple[int, int, int]]]:
    """Pack pieces of ``(rows, points)`` into calls of at most ``most`` rows; pieces are split between points.

    Each call lists the numbers of its pieces, each with its first point and the point after the last.

    >>> calls_of([(4, 3), (4, 2)], 16)
    [[(0, 0, 3), (1, 0, 1)], [(1, 1, 2)]]
    """
    calls: list[list[tuple[int, int, int]]] = []
    room = 0
    for number, (rows, points) in enumerate(sizes):
        first = 0
        while rows and first < points:
            if room < rows:
                calls.append([])
                room = most
            stop = min(points, first + max(1, room // rows))
            calls[-1].append((number, first, stop))
            room, first = room - rows * (stop - first), stop
    return calls


def lengths(rows: int, size: int) -> Iterator[int]:
    """Yield the lengths of consecutive portions of at most ``size`` rows."""
    for first in range(0, rows, size):
        yield min(size, rows - first)


@dataclass(frozen=True, eq=False)
class BruteForce(SinglePass):
    r"""Partial dependence by its definition, for any model.

    .. math:: PD_S(x_S) = \frac{1}{W} \sum_i w_i f(x_S, x_{i,\bar S})

    Rows are repeated once per grid point, the columns in S are replaced, and one call of the model predicts
    as many points as fit. Portions of rows that are summed depend on the request alone, not on the number of
    threads. If memory is short, a portion is predicted in several calls. If calls are expensive
    (``request.few_calls``), one call predicts many portions of all grids. These portions are a branch of the
    tree of merges, so that sums are rounded in the same way.
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
    def _batch_rows(self) -> int:
        """Rows per call of the model if memory suffices, also for expensive calls."""
        if not (self.request.few_calls and self.model.row_independent):
            return self._most_rows
        return max(self._most_rows, min(BATCH_ROWS, BATCH_BYTES // self.row_cost))

    @property
    def call_rows(self) -> int:
        """Rows per call of the model; only blocks are cut if predictions depend on other rows of the call."""
        cut = self.request.cut if self.model.row_independent else self.request.block_cut
        return max(1, self._batch_rows // cut)

    @property
    def batched(self) -> bool:
        """Whether one call predicts several portions: if calls are expensive and memory suffices."""
        return self.model.row_independent and self.request.few_calls and self.call_rows >= self._most_rows

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
        """Rows per block: a portion, or as many as fit one call if calls are expensive."""
        size, points = self.portion_rows, max(1, self.request.points)
        while self.batched and size < self.request.rows and 2 * size * points <= self.call_rows:
            size *= 2  # a power of two of portions is a branch of the tree of merges
        return size

    @property
    def parts(self) -> Parts:
        """Groups of grids with a few calls per block; one group of all grids if calls are expensive."""
        parts: list[tuple[tuple[int, ...], int]] = []
        most = PART_CALLS * self._most_rows // self.portion_rows
        for number, grid in enumerate(self.request.grids):
            points = grid.n_points
            if parts and (self.batched or parts[-1][1] + points <= most):
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
        if self.batched:  # pieces are joined, and the predictions of all points of a block are held
            rows = min(self.call_rows, self.predictions)
            held = min(self.request.rows, self.block_rows) * self.request.points * self.model.n_outputs
            return rows * (self.request.row_bytes * (TABLE_COPIES + 1) + outputs) + held * FLOAT
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
    def _predicted_rows(self) -> int:
        return self.request.rows if self.request.individual else self.request.n_weighted

    @property
    def predictions(self) -> int:
        """Number of rows that the model predicts."""
        return self._predicted_rows * self.row_predictions

    @property
    def calls(self) -> int:
        """Number of calls of the model, if every row of a block is predicted."""
        return self.calls_for([(grid, grid.n_points) for grid in self.request.grids])

    def calls_for(self, points: Sequence[tuple[Grid, int]]) -> int:
        """Return the number of calls for all rows at the given number of points of each grid."""
        whole, rest = divmod(self._predicted_rows, self.block_rows)
        return whole * self._block_calls(self.block_rows, points) + self._block_calls(rest, points)

    def _block_calls(self, rows: int, points: Sequence[tuple[Grid, int]]) -> int:
        pieces = [
            (size, count)
            for portion in lengths(rows, self.portion_rows)
            for grid, count in points
            for size in lengths(portion, self.stack_rows(grid))
        ]
        if self.batched:
            return len(calls_of(pieces, self.call_rows))
        calls = 0
        for size, count in pieces:
            copies = max(1, self.call_rows // size) if self.model.row_independent else 1
            calls += -(-count // copies) * -(-size // self.call_rows)
        return calls

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of each grid, and curves or values for quantiles if requested."""
        if not self.batched:
            return self._evaluated(block, self._portions)
        portions = list(block.cut(self.portion_rows)) or [block]
        predictions = iter(self.predict_together(block, self._pieces(portions)))
        return merge_in_order(
            self._evaluated(portion, lambda grid, rows: (next(predictions),)) for portion in portions
        )

    def _pieces(self, portions: list[Block]) -> list[Piece]:
        """Return the pieces to predict, in the order in which they are evaluated."""
        pieces = []
        for portion in portions:
            kept = portion if self.request.individual else portion.weighted()
            for number in portion.questions:
                grid = self.request.grids[number]
                index = grid.index(0, grid.n_points)
                pieces += [Piece(grid, rows.table, index) for rows in kept.cut(self.stack_rows(grid))]
        return pieces

    def _evaluated(self, block: Block, portions: Callable[[Grid, Block], Iterable[Floats]]) -> Keyed:
        first, last = block.start, block.start + len(block.table) - 1
        if not self.request.individual:
            block = block.weighted()
        squares = self.request.squares(block.positions, block.weights)
        states: dict[tuple[str, int], Any] = {}
        for number in block.questions if len(block.table) else ():
            grid, size = self.request.grids[number], self.stack_rows(self.request.grids[number])
            paired = self.request.paired(number, grid.n_points, self.outputs)
            with reraise_with_rows(self.model, first, last, grid.names):
                estimates = [
                    self._evaluate_grid(
                        rows, portions(grid, rows), squares[at * size : (at + 1) * size] if paired else None
                    )
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
        return Keyed(states)

    def finish(self, state: Keyed, threads: int = 1) -> list[EffectEstimate]:
        """Return averages, errors, curves and quantiles from the merged states."""
        own = state.parts.get(("row weights", 0))
        weights = None if own is None else own.finish()[0]
        estimates = []
        for number in range(len(self.request.grids)):
            moments = state.parts["moments", number]
            curves = state.parts["curves", number].finish() if self.request.individual else None
            spread = quantile_state(
                self.request, curves, weights, state.parts.get(("values", number)), threads
            )
            one = EffectEstimate(moments.mean, moments.standard_error(), curves, *spread, weights)
            products, rows = state.parts.get(("products", number)), self.request.n_weighted
            if products is not None:
                one = replace(one, covariance=products.covariance(moments.mean, rows, moments.weight))
            estimates.append(one)
        return estimates

    def stack_rows(self, grid: Grid) -> int:
        """Return the rows that are repeated together, so that the points of a grid fill a call."""
        if not self.model.row_independent:
            return self.call_rows
        return max(self._most_rows // max(1, grid.n_points), min(STACK_ROWS, self._most_rows))

    def _evaluate_grid(
        self, block: Block, portions: Iterable[Floats], squares: Floats | None
    ) -> tuple[Moments | None, CurveProducts | None, tuple[int, Floats]]:
        """Return the moments of the rows with positive weight, products of sampled rows, and curves.

        Products are those of the rows with positive ``squares``, None without any. The curves of all rows,
        with the first row, are ``(o, i, g)`` if they are requested, ``(o, g, i)`` if their quantiles are, and
        else empty.
        """
        sampled = None if squares is None or not squares.any() else squares > 0
        weights = block.weights
        mask = None if weights is None or weights.all() else weights > 0
        counted = weights if weights is None or mask is None else weights[mask]
        moments: list[Moments] = []
        curves: list[Floats] = []
        some: list[Floats] = []
        for predictions in portions:
            if sampled is not None:
                some.append(predictions[..., sampled])
            if mask is None or mask.any():
                moments.append(Moments.of(predictions if mask is None else predictions[..., mask], counted))
            if self.request.individual:
                curves.append(predictions.transpose(0, 2, 1).copy())
            elif self._sizes is not None:
                curves.append(predictions)
        joined = reduce(Moments.beside, moments) if moments else None
        products = None
        if squares is not None and sampled is not None:
            products = CurveProducts.of(np.concatenate(some, axis=1), squares[sampled], reference.multiply)
        points = 2 if self.request.individual else 1
        return joined, products, (block.start, np.concatenate(curves, axis=points) if curves else np.empty(0))

    def row_curves(self, block: Block) -> Iterator[tuple[int, int, Floats]]:
        """Yield the predictions ``(o, g, i)`` of some rows at the points of each grid.

        They come with the number of the grid and the position of the first row.
        """
        first, last = block.start, block.start + len(block.table) - 1
        for number, grid in enumerate(self.request.grids):
            with reraise_with_rows(self.model, first, last, grid.names):
                for rows in block.cut(self.stack_rows(grid)):
                    predicted = np.concatenate(list(self._portions(grid, rows)), axis=1)
                    yield number, rows.start - block.start, predicted

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

    def predict_together(self, block: Block, pieces: list[Piece]) -> list[Floats]:
        """Return the predictions ``(o, b, i)`` of each piece of a block, in few calls of the model."""
        first, last = block.start, block.start + len(block.table) - 1
        outputs = self.model.n_outputs
        found = [np.empty((outputs, len(piece.index), len(piece.table))) for piece in pieces]
        for call in calls_of([(len(one.table), len(one.index)) for one in pieces], self.call_rows):
            names = tuple(dict.fromkeys(name for number, _, _ in call for name in pieces[number].grid.names))
            sizes = [len(pieces[number].table) * (stop - start) for number, start, stop in call]
            tables = [pieces[number].stacked(start, stop) for number, start, stop in call]
            joined = tables[0] if len(call) == 1 else pieces[0].table.joined(tables)
            with reraise_with_rows(self.model, first, last, names):
                predictions = self.model.predict(joined, sum(sizes))
            parts = np.split(predictions, np.cumsum(sizes)[:-1])
            for (number, start, stop), part in zip(call, parts, strict=True):
                own = part.reshape(stop - start, -1, outputs)
                found[number][:, start:stop] = own.transpose(2, 0, 1)
        return found

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
