"""How much data lies around each point: counted from the data, never from the grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus.contracts import Array, Floats
from paribus.data.rows import Block
from paribus.grid import Question
from paribus.states import Counts, Keyed


@dataclass(frozen=True, eq=False)
class SupportCounter:
    """Counts, per question, the weight of the rows in each grid cell."""

    questions: tuple[Question, ...]

    def evaluate(self, block: Block) -> Keyed:
        """Locate every row on every axis once and count the cells of each question."""
        asked = {number: self.questions[number] for number in block.questions}
        axes = {axis.feature: axis for question in asked.values() for axis in question.axes}
        places = {j: axis.locate(block.table.column(j)) for j, axis in axes.items()}
        counts: dict[tuple[str, int], Counts] = {}
        for number, question in asked.items():
            located = [places[axis.feature] for axis in question.axes]
            shape = tuple(axis.n_cells for axis in question.axes)
            counts["support", number] = Counts(_count(located, shape, block.weights))
        return Keyed(counts)

    def finish(self, state: Keyed, unit: float) -> list[Floats]:
        """Return the weight around each point; points with the same value share their cell."""
        supports = []
        for number, question in enumerate(self.questions):
            places = np.ix_(*(axis.cell_of_point for axis in question.axes))
            supports.append(state.parts["support", number].cells[places] * unit)
        return supports


def _count(located: list[Array], shape: tuple[int, ...], weights: Floats | None) -> Array:
    if not np.prod(shape):
        return np.zeros(shape, dtype=np.int64)
    inside = np.logical_and.reduce([place >= 0 for place in located])
    flat = np.ravel_multi_index(tuple(place[inside] for place in located), shape)
    counted = None if weights is None else weights[inside]
    return np.bincount(flat, counted, minlength=int(np.prod(shape))).reshape(shape)
