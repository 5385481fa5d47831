"""Ask the model itself: every point for every row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from paribus.contracts import Floats
from paribus.data.rows import Block
from paribus.data.table import Scratch, Stack
from paribus.evaluators.ask import Ask
from paribus.grid import Question
from paribus.models import Model
from paribus.states import Moments, Product, RowCurves

CALL_ROWS = 16_384  # rows given to one predict: enough to hide its overhead, few enough for a cache
CALL_BYTES = 32_000_000  # and what they and their predictions may weigh
BLOCK_ROWS = 256  # a block is no shorter than this, however many points there are
TABLE_COPIES = 3  # the stacked rows, the model's own conversion of them, and a frame's intermediate
OUTPUT_COPIES = 4  # the predictions, their transpose, and the two arrays of their moments
FLOAT = 8

EffectState = Moments | Product[Moments | RowCurves] | RowCurves


@dataclass(frozen=True)
class BruteForce:
    r"""The definition itself, for any model.

    .. math:: PD_S(x_S) = \frac{1}{W} \sum_i w_i f(x_S, x_{i,\bar S})

    A block is repeated once per point, the columns in S are replaced, and one ``predict`` answers as
    many points as fit. Portions depend on the question and the memory bound, never on the number of
    threads: a model whose sums depend on the size of its input (any matrix product) still gives the
    same bits on one thread and on sixty-four.
    """

    model: Model
    ask: Ask
    call_rows: int
    block_rows: int
    scratch: Scratch = field(default_factory=Scratch)

    name: ClassVar[str] = "brute"
    exact: ClassVar[bool] = False
    reason: ClassVar[str] = "asks the model itself, row by row and point by point"

    @staticmethod
    def refuse(model: Model, ask: Ask) -> str | None:
        """Brute force answers every question."""
        return None

    @classmethod
    def build(cls, model: Model, ask: Ask) -> BruteForce:
        """Choose portions within the memory bound."""
        row = ask.row_bytes * TABLE_COPIES + model.n_outputs * FLOAT * OUTPUT_COPIES
        call_rows = max(1, min(CALL_ROWS, CALL_BYTES // row, ask.max_memory // 4 // row))
        most_points = max(len(question.index) for question in ask.questions)
        block_rows = max(call_rows // most_points, min(BLOCK_ROWS, call_rows))
        return cls(model, ask, call_rows, block_rows)

    @property
    def worker_bytes(self) -> int:
        """Memory one thread takes: a call, and the states it has ready."""
        outputs, ask = self.model.n_outputs, self.ask
        call = self.call_rows * (ask.row_bytes * TABLE_COPIES + outputs * FLOAT * OUTPUT_COPIES)
        state = 3 * ask.points * outputs * FLOAT
        curves = self.block_rows * ask.points * outputs * FLOAT if ask.individual else 0
        return call + 3 * state + curves

    @property
    def predictions(self) -> int:
        """Number of rows the model will be asked about."""
        return self.ask.rows * self.ask.points

    def evaluate(self, block: Block) -> Product[EffectState]:
        """Return one state per question."""
        if not self.ask.individual:
            block = block.weighted()
        if not len(block):
            outputs = self.model.n_outputs
            return Product(tuple(Moments.nothing(outputs, len(q.index)) for q in self.ask.questions))
        most_points = max(len(question.index) for question in self.ask.questions)
        stack = block.table.stack(min(self._copies(len(block)), most_points), self.scratch)
        return Product(tuple(self._answer(question, block, stack) for question in self.ask.questions))

    def _copies(self, rows: int) -> int:
        return max(1, self.call_rows // rows)

    def _answer(self, question: Question, block: Block, stack: Stack) -> EffectState:
        """Ask the points of one question in portions and keep their moments, their curves, or both."""
        moments: list[Moments] = []
        curves: list[Floats] = []
        step = self._copies(len(block))
        for first in range(0, len(question.index), step):
            predictions = self._predict(question, block, stack, first, first + step)
            if self.ask.kind != "individual":
                moments.append(_moments(predictions, block.weights))
            if self.ask.individual:
                curves.append(predictions.transpose(0, 2, 1).copy())
        if self.ask.kind == "average":
            return _side_by_side(moments)
        rows = RowCurves(((block.start, np.concatenate(curves, axis=2)),))
        return rows if self.ask.kind == "individual" else Product((_side_by_side(moments), rows))

    def _predict(self, question: Question, block: Block, stack: Stack, first: int, stop: int) -> Floats:
        """Return predictions of shape ``(o, b, i)`` at the points from ``first`` to ``stop``."""
        index = question.index[first:stop]
        table = stack.at(question.replaced, index)
        answer = self.model.predict(table, len(index) * len(block))
        by_point = answer.reshape(len(index), len(block), self.model.n_outputs)
        return np.ascontiguousarray(by_point.transpose(2, 0, 1))


def _moments(predictions: Floats, weights: Floats | None) -> Moments:
    """Return the moments over the rows that have weight."""
    if weights is None or weights.all():
        return Moments.of(predictions, weights)
    mask = weights > 0
    if not mask.any():
        return Moments.nothing(*predictions.shape[:2])
    return Moments.of(predictions[..., mask], weights[mask])


def _side_by_side(parts: list[Moments]) -> Moments:
    """Join the moments of consecutive points about the same rows."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return Moments(
        first.rows,
        first.weight,
        first.weight_sq,
        np.concatenate([part.mean for part in parts], axis=1),
        np.concatenate([part.mean_sq for part in parts], axis=1),
        np.concatenate([part.spread for part in parts], axis=1),
    )
