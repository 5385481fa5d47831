"""Averages of predictions, target and residuals over the rows in the cells of each axis."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Floats, Integers
from paribus._data.rows import Block
from paribus._data.samples import FEWEST_PARTS, UNIT_PARTS, Sample, UnitRows, occupied_parts
from paribus._data.table import ScratchBuffer
from paribus._evaluators.brute_force import (
    BLOCKS,
    CALL_BYTES,
    CALL_ROWS,
    OUTPUT_COPIES,
    STACK_ROWS,
    TABLE_COPIES,
    reraise_with_rows,
)
from paribus._evaluators.request import EvaluationRequest, SinglePass, plain
from paribus._grid import Axis
from paribus._models import Model
from paribus._models.scoring import Outcome
from paribus._states import CellMoments, Keyed, Moments, SampledRows, Variances
from paribus._states.row_states import SEED
from paribus.meaning import Estimand

CELL_ARRAYS = 3  # floats per cell for each quantity and for the rows
MEASURED = 8  # times the kept rows, of sampled units that give the errors of metrics
APART = 2  # further cells of an axis: of missing values, and of rows beyond the ends


@dataclass(frozen=True, eq=False)
class MarginalRequest(EvaluationRequest):
    """Request of averages over the cells of each axis.

    ``outcome`` converts the target to numbers, None without a target. ``kept_rows`` is the number of sampled
    rows whose predictions are kept; with 0 the moments of all predictions are not computed either.
    """

    statistic: ClassVar[str] = "marginal"
    outcome: Outcome | None = None
    kept_rows: int = 0

    @property
    def settings(self) -> tuple[Any, ...]:
        """Options of a stored state, in addition to the rows, the model and the sizes of blocks."""
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

    If there are several models, ``by_model (m, q * o, c)`` are their averages and ``mean`` is the mean of
    these.
    """

    rows: Integers
    weight: Floats
    mean: Floats
    error: Floats
    by_model: Floats | None = None


@dataclass(frozen=True, eq=False)
class PredictionEstimate:
    """Mean, its standard error, and standard deviation ``(o,)`` of the predictions of all rows.

    ``rows`` is the number of all rows, and ``weight`` their weight. ``kept`` has the predictions of sampled
    rows, and their target if known, and ``units (k,)`` their units. ``measured`` has those of more rows,
    whose units, ``sample``, give the standard errors of dependent rows. These three are None if rows are
    independent.
    """

    rows: int
    weight: float
    mean: Floats
    error: Floats
    deviation: Floats
    kept: SampledRows
    units: Integers | None
    measured: SampledRows | None
    sample: Sample | None


@dataclass(frozen=True, eq=False)
class CellMeans(SinglePass):
    r"""Averages over the rows of each cell of each axis, with every row predicted once, unchanged.

    .. math:: M_c = \frac{1}{W_c} \sum_{i: x_{ij} \in c} w_i f(x_i)

    With an ``outcome``, :math:`y_i` and :math:`y_i - f(x_i)` are averaged as well. Without a model only
    :math:`y_i` is averaged.
    """

    model: Model | None
    request: MarginalRequest
    scratch: ScratchBuffer = field(default_factory=ScratchBuffer)

    name: ClassVar[str] = "cell_means"
    shortcut: ClassVar[bool] = False
    estimand: ClassVar[Estimand] = Estimand.MARGINAL

    @property
    def how(self) -> str:
        """What the evaluator does, in words."""
        if self.model is None:
            return "averages of the target over the rows near each point"
        return "one prediction for each row, averaged over the rows near each point"

    @property
    def threaded(self) -> bool:
        """Whether every core is used: not with a model, which may start threads itself."""
        return self.model is None

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        if self.model is not None:
            return self.model.n_outputs
        return 0 if self.request.outcome is None else self.request.outcome.outputs

    @property
    def averaged(self) -> tuple[str, ...]:
        """Quantities that are averaged for each output, in order."""
        if self.model is None:
            return ("observed",)
        return ("predicted",) if self.request.outcome is None else ("predicted", "observed", "residual")

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axis of each grid."""
        return tuple(grid.axes[0] for grid in self.request.grids)

    @property
    def error_units(self) -> int | None:
        """Number of parts of the units that the standard errors are computed from."""
        units = super().error_units
        return None if units is None else occupied_parts(units)

    @property
    def row_cost(self) -> int:
        """Memory of one row while its block is evaluated."""
        numbers = self.outputs * len(self.averaged)
        return self.request.row_bytes * TABLE_COPIES + numbers * FLOAT * OUTPUT_COPIES

    @property
    def block_rows(self) -> int:
        """Rows per block, which one call of the model predicts if memory suffices."""
        most = max(1, min(CALL_ROWS, CALL_BYTES // self.row_cost))
        return max(1, min(most, max(STACK_ROWS, -(-self.request.rows // BLOCKS))) // self.request.block_cut)

    @property
    def call_rows(self) -> int:
        """Rows per call of the model."""
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
        """Memory of the moments of all cells, and of the kept rows."""
        cells = sum(axis.n_cells + APART for axis in self.axes)
        numbers = 1 + self.outputs * len(self.averaged)
        arrays = CELL_ARRAYS + self.request.dependent * UNIT_PARTS
        return (cells * arrays + self.request.kept_rows) * numbers * FLOAT

    @property
    def row_predictions(self) -> int:
        """Predictions per row."""
        return 0 if self.model is None else 1

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the rows of a block in the cells of each axis."""
        kept = block.weighted()
        if not len(kept.table):
            return Keyed({})
        values = self._values(kept, block.start, block.start + len(block.table) - 1)
        states: dict[tuple[str, int], Any] = {
            ("cells", number): CellMoments.of(
                values, _cells_of_rows(axis, kept), kept.weights, axis.n_cells + APART, kept.unit_parts
            )
            for number, axis in enumerate(self.axes)
        }
        if self.request.kept_rows:
            states |= self._predictions(kept, values)
        return Keyed(states)

    def _predictions(self, block: Block, values: Floats) -> dict[tuple[str, int], Any]:
        """Return the moments of predictions, and the sampled rows with their target."""
        weights, most = block.weights, self.request.kept_rows
        known, predicted = values[: 2 * self.outputs], values[: self.outputs]
        return {
            ("predictions", 0): Moments.of(predicted[None], weights),
            ("prediction variances", 0): Variances.of(predicted.T, weights),
            ("kept rows", 0): SampledRows.of(block.positions, known, weights, most)
            if block.units is None
            else UnitRows.of(block.positions, block.units, weights, SEED, MEASURED * most, known),
        }

    def finish(self, state: Keyed, threads: int = 1) -> list[CellEstimate]:
        """Return the averages of each axis: of its cells, of missing values, and of all other rows.

        Cells with few parts of units have no standard error.
        """
        estimates = []
        for number in range(len(self.request.grids)):
            moments: CellMoments = state.parts["cells", number]
            error = moments.standard_error()
            if self.request.dependent:
                error = np.where(moments.independent < FEWEST_PARTS, np.nan, error)
            estimates.append(CellEstimate(moments.rows, moments.weight, moments.mean, error))
        return estimates

    def predictions_in(self, state: Keyed) -> PredictionEstimate:
        """Return the moments of all predictions and the kept rows of a state."""
        moments: Moments = state.parts["predictions", 0]
        variances: Variances = state.parts["prediction variances", 0]
        deviation, mean, error = np.sqrt(variances.variance), moments.mean[0], moments.standard_error()[0]
        kept, units, sample, measured = state.parts["kept rows", 0], None, None, None
        if isinstance(kept, UnitRows):
            sample, measured = kept.sample(kept.most, 1.0, weighted=True), SampledRows.of_units(kept)
            error = sample.error(measured.values[: self.outputs] - mean[:, None], moments.weight)
            few = kept.first(self.request.kept_rows)
            kept, units = SampledRows.of_units(few), few.sample(few.most, 1.0, weighted=True).units
        return PredictionEstimate(
            moments.rows, moments.weight, mean, error, deviation, kept, units, measured, sample
        )

    def _values(self, block: Block, first: int, last: int) -> Floats:
        """Return the averaged quantities ``(q * o, i)``: predictions, target, and residuals."""
        observed = None
        if self.request.outcome is not None and block.target is not None:
            observed = self.request.outcome.numbers(block.target)
        if self.model is None:
            assert observed is not None
            return np.ascontiguousarray(observed.T)
        with reraise_with_rows(self.model, first, last):
            predicted = predictions_of(self.model, block, self.call_rows, self.scratch)
        if observed is None:
            return np.ascontiguousarray(predicted.T)
        with np.errstate(invalid="ignore"):  # a note reports infinite predictions
            return np.concatenate([predicted.T, observed.T, (observed - predicted).T])


def predictions_of(model: Model, block: Block, call_rows: int, scratch: ScratchBuffer) -> Floats:
    """Return the predictions of the unchanged rows of a block, once for all evaluators of the block."""

    def compute(block: Block) -> Floats:
        predicted = np.empty((len(block.table), model.n_outputs))
        for part in block.cut(call_rows):
            # A copy, because a model may write into its input, which must not be X.
            table = part.table.stack(1, scratch).at({}, np.zeros((1, 0), dtype=np.int64))
            position = part.start - block.start
            predicted[position : position + len(part.table)] = model.predict(table, len(part.table))
        return predicted

    key = "predictions", model
    if not model.row_independent:  # a prediction may depend on the other rows of the block
        return np.asarray(block.derived(key, lambda: compute(block)))
    found: Floats = block.row_values(key, compute, lambda whole, *ends: whole[slice(*ends)])
    return found


def _cells_of_rows(axis: Axis, block: Block) -> Integers:
    """Return the cell of each row; missing values and values beyond the ends have separate cells."""
    column = block.column(axis.feature)
    found = axis.locate(column)
    apart = np.where(column.missing, axis.n_cells, axis.n_cells + 1)
    return np.where(found < 0, apart, found)
