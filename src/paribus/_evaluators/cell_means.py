"""The rows near each point as they are: what is predicted for them, what came out, and the difference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Floats, Integers
from paribus._data.rows import Block
from paribus._data.table import ScratchBuffer
from paribus._evaluators.brute_force import (
    BLOCKS,
    CALL_BYTES,
    CALL_ROWS,
    OUTPUT_COPIES,
    STACK_ROWS,
    TABLE_COPIES,
    lengths,
    reraise_with_rows,
)
from paribus._evaluators.request import EvaluationRequest, SinglePass, plain
from paribus._grid import Axis
from paribus._models import Model
from paribus._models.scoring import Outcome
from paribus._states import CellMoments, Keyed, Moments, PairedMoments, SampledRows
from paribus._states.sums import LARGE, enlarged, ignore_fp_errors
from paribus.meaning import Estimand

CELL_ARRAYS = 3  # numbers a cell holds of each quantity, and of the rows in it
APART = 2  # cells beside those of an axis: of rows whose value is missing, and of rows beyond its ends


@dataclass(frozen=True, eq=False)
class MarginalRequest(EvaluationRequest):
    """The axes whose cells to average over, and how the target becomes numbers, None without a target.

    ``kept_rows`` is the number of rows whose predictions are kept; 0 for none, and for no moments of all.
    """

    statistic: ClassVar[str] = "marginal"
    outcome: Outcome | None = None
    kept_rows: int = 0

    @property
    def settings(self) -> tuple[Any, ...]:
        """All that a kept state depends on besides the rows, the model and how both are cut."""
        axes = [grid.axes[0] for grid in self.grids]
        return (
            self.outcome,
            self.kept_rows,
            [(axis.name, axis.kind, len(axis)) for axis in axes],
            *(plain(axis.cells.values) for axis in axes),
        )


@dataclass(frozen=True, eq=False)
class CellEstimate:
    """Rows and weight ``(c,)`` of cells, and averages with standard errors ``(q * o, c)``.

    ``by_model (m, q * o, c)`` are the averages of each of several models, whose mean ``mean`` then is.
    """

    rows: Integers
    weight: Floats
    mean: Floats
    error: Floats
    by_model: Floats | None = None


@dataclass(frozen=True, eq=False)
class PredictionEstimate:
    """Mean, its standard error and standard deviation ``(o,)`` of predictions of all rows, and a few rows.

    ``rows`` is the number of all; ``sample`` has predictions of the sampled rows, then their target if known.
    """

    rows: int
    mean: Floats
    error: Floats
    deviation: Floats
    sample: SampledRows


@dataclass(frozen=True, eq=False)
class CellMeans(SinglePass):
    r"""Predicts every row once, as it is, and averages over the rows of each cell of each axis.

    .. math:: M_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i f(x_i)

    and, with an ``outcome``, of :math:`y_i` and :math:`y_i - f(x_i)` in place of :math:`f(x_i)`. Without a
    model only what came out is averaged.
    """

    model: Model | None
    request: MarginalRequest
    scratch: ScratchBuffer = field(default_factory=ScratchBuffer)

    name: ClassVar[str] = "cell_means"
    shortcut: ClassVar[bool] = False
    estimand: ClassVar[Estimand] = Estimand.MARGINAL

    @classmethod
    def build(cls, model: Model | None, request: MarginalRequest) -> CellMeans:
        """Prepare to predict each row."""
        return cls(model, request)

    @property
    def outcome(self) -> Outcome | None:
        """How what came out becomes numbers."""
        return self.request.outcome

    @property
    def how(self) -> str:
        """What it does, in words."""
        if self.model is None:
            return "averages what came out over the rows near each point"
        return "predicts each row once, as it is, and averages over the rows near each point"

    @property
    def threaded(self) -> bool:
        """Whether it takes every core: a model may bring threads of its own."""
        return self.model is None

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        if self.model is not None:
            return self.model.n_outputs
        return 0 if self.outcome is None else self.outcome.outputs

    @property
    def averaged(self) -> tuple[str, ...]:
        """What is averaged for each output, in order."""
        if self.model is None:
            return ("observed",)
        return ("predicted",) if self.outcome is None else ("predicted", "observed", "residual")

    @property
    def axes(self) -> tuple[Axis, ...]:
        """One for each feature."""
        return tuple(grid.axes[0] for grid in self.request.grids)

    @property
    def row_cost(self) -> int:
        """Memory of one row while its block is evaluated."""
        numbers = self.outputs * len(self.averaged)
        return self.request.row_bytes * TABLE_COPIES + numbers * FLOAT * OUTPUT_COPIES

    @property
    def block_rows(self) -> int:
        """Rows per block, which are given to one predict where memory is ample."""
        most = max(1, min(CALL_ROWS, CALL_BYTES // self.row_cost))
        return max(1, min(most, max(STACK_ROWS, -(-self.request.rows // BLOCKS))) // self.request.block_cut)

    @property
    def call_rows(self) -> int:
        """Rows given to one predict."""
        whole = self.model is None or not self.model.row_independent
        return (
            self.block_rows if whole else max(1, self.block_rows * self.request.block_cut // self.request.cut)
        )

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes."""
        table = self.request.row_bytes * TABLE_COPIES
        numbers = self.row_cost - table
        return self.call_rows * table + self.block_rows * numbers + 2 * self.state_bytes

    @property
    def state_bytes(self) -> int:
        """Memory of the moments of all cells."""
        cells = sum(axis.n_cells + APART for axis in self.axes)
        numbers = 1 + self.outputs * len(self.averaged)
        return (cells * CELL_ARRAYS + self.request.kept_rows) * numbers * FLOAT

    @property
    def row_predictions(self) -> int:
        """Predictions that each row takes."""
        return 0 if self.model is None else 1

    @property
    def predictions(self) -> int:
        """Number of rows to predict."""
        return self.request.n_weighted * self.row_predictions

    @property
    def calls(self) -> int:
        """Number of predicts, where every row of a block counts."""
        blocks = lengths(self.predictions, self.block_rows)
        return sum(-(-rows // self.call_rows) for rows in blocks)

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the rows of a block in the cells of each axis."""
        kept = block.weighted()
        if not len(kept.table):
            return Keyed({})
        values = self._values(kept, block.start, block.start + len(block.table) - 1)
        states: dict[tuple[str, int], Any] = {
            ("cells", number): CellMoments.of(values, _cells(axis, kept), kept.weights, axis.n_cells + APART)
            for number, axis in enumerate(self.axes)
        }
        if self.request.kept_rows:
            states |= self._predictions(block, kept.weights, values)
        return Keyed(states)

    def _predictions(
        self, block: Block, weights: Floats | None, values: Floats
    ) -> dict[tuple[str, int], Any]:
        """Return the moments of predictions, and the sampled rows with their target."""
        numbers, most = np.arange(block.start, block.start + len(block.table)), self.request.kept_rows
        if block.weights is not None:
            numbers = numbers[block.weights > 0]
        known, predicted = values[: 2 * self.outputs], values[: self.outputs]
        return {
            ("predictions", 0): Moments.of(predicted[None], weights),
            # The same on a scale on which no square of a finite number overflows.
            ("predicted pairs", 0): PairedMoments.of(predicted.T, predicted.T / LARGE, weights),
            ("kept rows", 0): SampledRows.of(numbers, known, weights, most),
        }

    def finish(self, state: Keyed, threads: int = 1) -> list[CellEstimate]:
        """Return the averages of each axis: its cells, that of missing values, and that of all other rows."""
        every = (state.parts["cells", number] for number in range(len(self.request.grids)))
        return [CellEstimate(m.rows, m.weight, m.mean, m.standard_error()) for m in every]

    def predictions_in(self, state: Keyed) -> PredictionEstimate:
        """Return what a state has of the predictions of rows, where they are kept."""
        moments: Moments = state.parts["predictions", 0]
        pairs: PairedMoments = state.parts["predicted pairs", 0]
        with ignore_fp_errors():
            plain, _, scaled = np.sqrt(pairs.products / pairs.weight)
        deviation = np.where(np.isfinite(plain), plain, enlarged(scaled))
        sample = state.parts["kept rows", 0]
        return PredictionEstimate(
            moments.rows, moments.mean[0], moments.standard_error()[0], deviation, sample
        )

    def _values(self, block: Block, first: int, last: int) -> Floats:
        """Return what is averaged, ``(q * o, i)``: predictions, what came out, and the difference."""
        observed = None
        if self.outcome is not None and block.target is not None:
            observed = self.outcome.numbers(block.target)
        if self.model is None:
            assert observed is not None
            return np.ascontiguousarray(observed.T)
        with reraise_with_rows(self.model, first, last):
            predicted = predictions_of(self.model, block, self.call_rows, self.scratch)
        if observed is None:
            return np.ascontiguousarray(predicted.T)
        with np.errstate(invalid="ignore"):  # an infinite prediction is noted
            return np.concatenate([predicted.T, observed.T, (observed - predicted).T])


def predictions_of(model: Model, block: Block, call_rows: int, scratch: ScratchBuffer) -> Floats:
    """Return what is predicted for the rows of a block as they are, once for all evaluators of the block."""

    def compute() -> Floats:
        predicted = np.empty((len(block.table), model.n_outputs))
        for part in block.cut(call_rows):
            # A copy, because a model that writes into what it is given must not write into X.
            table = part.table.stack(1, scratch).at({}, np.zeros((1, 0), dtype=np.int64))
            position = part.start - block.start
            predicted[position : position + len(part.table)] = model.predict(table, len(part.table))
        return predicted

    found: Floats = block.derived(("predictions", id(model)), compute)
    return found


def _cells(axis: Axis, block: Block) -> Integers:
    """Return the cell of each row, every one of which is in one."""
    column = block.column(axis.feature)
    found = axis.locate(column)
    apart = np.where(column.missing, axis.n_cells, axis.n_cells + 1)
    return np.where(found < 0, apart, found)
