"""A few points asked of the model itself, to hold the fast answer to it."""

from __future__ import annotations

import numpy as np

from paribus.contracts import Floats
from paribus.data.rows import Rows
from paribus.data.table import Scratch
from paribus.errors import RefusalError
from paribus.evaluators.ask import Answer
from paribus.evaluators.brute import CALL_ROWS
from paribus.grid import Question
from paribus.models import Model

POINTS = 8  # over all questions, and at least one of each
TOLERANCE = 1e-3  # of the largest average: more than any library's rounding


def largest_difference(
    model: Model, rows: Rows, questions: tuple[Question, ...], answers: list[Answer]
) -> float:
    """Return by how much the averages differ from brute force on every row, at a few points, at most."""
    worst = largest = 0.0
    each = -(-POINTS // len(questions))
    for question, answer in zip(questions, answers, strict=True):
        # The ends and between; of many questions one point each, in the middle.
        picks = np.linspace(0, question.n_points - 1, each + 2)[1:-1] if each < 3 else None
        picks = np.linspace(0, question.n_points - 1, each) if picks is None else picks
        for point in np.unique(picks.astype(int)) if question.n_points else ():
            asked, have = _asked(model, rows, question, int(point)), answer.average[:, point]
            both = np.isnan(asked) & np.isnan(have)
            apart = np.where(both, 0.0, np.abs(asked - have))
            worst = max(worst, float(np.nan_to_num(apart, nan=np.inf).max()))
            largest = max(largest, float(np.nan_to_num(np.abs(asked)).max()))
    if not worst <= TOLERANCE * largest:
        raise RefusalError(
            f"verify=True: brute force differs by {worst:.3g} from what was computed, where the largest "
            f"average is {largest:.3g}; use method='brute', and please report this model"
        )
    return worst


def _asked(model: Model, rows: Rows, question: Question, point: int) -> Floats:
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
