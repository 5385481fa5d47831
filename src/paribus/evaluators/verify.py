"""A few points asked of the model itself, to hold the fast answer to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from paribus.contracts import Floats
from paribus.data.rows import Rows
from paribus.data.table import Scratch
from paribus.errors import RefusalError
from paribus.evaluators.ask import Answer
from paribus.evaluators.brute import CALL_ROWS
from paribus.grid import Question
from paribus.models import Model
from paribus.models.trees import rounding_of

if TYPE_CHECKING:
    from paribus.data.scan.scanned import Scanned

POINTS = 8  # over all questions, and at least one of each


def largest_difference(
    model: Model, rows: Rows | Scanned, questions: tuple[Question, ...], answers: list[Answer]
) -> float:
    """Return by how much the averages differ from brute force on every row, at a few points, at most."""
    worst = 0.0
    each = -(-POINTS // len(questions))
    for question, answer in zip(questions, answers, strict=True):
        last = question.n_points - 1
        picks = np.linspace(0, last, each) if each > 1 else np.array([last / 2])  # the ends, or the middle
        for point in np.unique(picks.astype(int)) if question.n_points else ():
            asked, have = _asked(model, rows, question, int(point)), answer.average[:, point]
            both = np.isnan(asked) & np.isnan(have)
            apart = np.where(both, 0.0, np.abs(asked - have))
            worst = max(worst, float(np.nan_to_num(apart, nan=np.inf).max()))
    allowed = 0.0 if model.answer is None else rounding_of(model.answer)
    if not worst <= allowed:
        raise RefusalError(
            f"verify=True: brute force differs by {worst:.3g} from what was computed, where rounding may be "
            f"{allowed:.1g}; use method='brute', and please report this model"
        )
    return worst


def _asked(model: Model, rows: Rows | Scanned, question: Question, point: int) -> Floats:
    """Return the weighted average of the model's own answers at one point."""
    total, weight = np.zeros(model.n_outputs), 0.0
    index = question.index(point, point + 1)
    for block in rows.blocks(CALL_ROWS):
        kept = block.weighted()
        if not len(kept.table):
            continue
        table = kept.table.stack(1, Scratch()).at(question.replaced, index)
        predictions = model.predict(table, len(kept.table))
        weights = np.ones(len(kept.table)) if kept.weights is None else kept.weights
        total += weights @ predictions
        weight += float(weights.sum())
    return total / weight
