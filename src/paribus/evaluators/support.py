"""How much data lies around each point: counted from the data, never from the grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus.contracts import Array, Floats
from paribus.data.rows import Block
from paribus.grid import Question
from paribus.states import Counts, Product


@dataclass(frozen=True)
class SupportCounter:
    """Counts, per question, the weight of the rows in each grid cell."""

    questions: tuple[Question, ...]

    def evaluate(self, block: Block) -> Product[Counts]:
        """Locate every row on every axis once and count the cells of each question."""
        axes = {id(axis): axis for question in self.questions for axis in question.axes}
        places = {key: axis.locate(block.table.column(axis.feature)) for key, axis in axes.items()}
        counts = []
        for question in self.questions:
            located = [places[id(axis)] for axis in question.axes]
            shape = tuple(axis.n_cells for axis in question.axes)
            counts.append(Counts(_count(located, shape, block.weights)))
        return Product(tuple(counts))


def _count(located: list[Array], shape: tuple[int, ...], weights: Floats | None) -> Array:
    inside = np.logical_and.reduce([place >= 0 for place in located])
    if not np.prod(shape):
        return np.zeros(shape, dtype=np.int64)
    flat = np.ravel_multi_index(tuple(place[inside] for place in located), shape)
    counted = None if weights is None else weights[inside]
    return np.bincount(flat, counted, minlength=int(np.prod(shape))).reshape(shape)


def support_at_points(question: Question, counts: Counts) -> Floats:
    """Return the weight around each point; points with the same value share their cell."""
    places = np.ix_(*(axis.cell_of_point for axis in question.axes))
    return counts.cells[places].astype(np.float64)
