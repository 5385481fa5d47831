"""Local effects of models that are a sum of one term per feature, behind a link."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from paribus._budget import FLOAT
from paribus._contracts import Floats
from paribus._data.rows import Block
from paribus._evaluators.additive_exact import additive_of, terms_of
from paribus._evaluators.ale.ale_grid import AleGrid, RowCells
from paribus._evaluators.ale.ale_request import AlePass, AleRequest, collected, columns_of
from paribus._grid import moved_values
from paribus._models import Model
from paribus._models.additive import Additive
from paribus._states import CellMoments, Counts, Keyed

BLOCK_ROWS = 16_384
BLOCKS = 4  # a table is cut into at least so many, for threads


@dataclass(frozen=True, eq=False)
class AdditiveAle(AlePass):
    r"""The differences of brute force for one feature or two, from the terms of every row.

    A move exchanges the terms of the features moved. On the scale of the margin it changes all rows of a cell
    by the same amount, and a difference of two such differences is exactly zero.
    """

    model: Model
    request: AleRequest
    additive: Additive
    features: tuple[int, ...]
    values: tuple[tuple[Floats, ...], ...]

    name: ClassVar[str] = "additive_local"
    structure: ClassVar[type | None] = Additive
    shortcut: ClassVar[bool] = True
    how: ClassVar[str] = "exchanges the terms of a feature at the neighboring grid values in every row"
    threaded: ClassVar[bool] = True

    @classmethod
    def build(cls, model: Model, request: AleRequest) -> AdditiveAle:
        """Evaluate the terms at the values of each grid, by axis."""
        grids = request.ale_grids
        features = tuple(sorted({axis.feature for grid in grids for axis in grid.axes}))
        additive = additive_of(model, features)
        requests, axes = moved_values(grids)
        terms = additive.values(requests)
        values = tuple(tuple(terms[number] for number in own) for own in axes)
        return cls(model, request, additive, features, values)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.model.n_outputs

    @property
    def block_rows(self) -> int:
        """Rows per block: few enough to share."""
        return int(max(1, min(BLOCK_ROWS, -(-self.request.rows // BLOCKS)) // self.request.block_cut))

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: terms, and margins and outputs of the moves of a grid."""
        margins = self.additive.n_margins
        terms = (len(self.features) + 6) * margins
        widest = max((grid.n_points + columns_of(grid) for grid in self.ale_grids), default=0)
        moves = 4 * widest * max(margins, self.outputs)
        rows = min(self.block_rows, self.request.rows)
        return int(rows * (FLOAT * (terms + moves) + self.additive.prepared_bytes) + self.state_bytes)

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell of every grid."""
        block = block.weighted()
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        if not len(block.table):
            return Keyed(states)
        terms = terms_of(self.additive, self.features, block)
        for number, grid in enumerate(self.ale_grids):
            located = grid.locate(block)
            if len(located.cells):
                predictions = self._predictions(number, grid, located, terms)
                moments, positions = collected(grid, located, predictions, block.weights)
                states["local", number], states["places", number] = moments, positions
        return Keyed(states)

    def _predictions(self, number: int, grid: AleGrid, located: RowCells, terms: Floats) -> Floats:
        """Return the outputs ``(o, b, i)`` of rows at the nodes of their moves."""
        linear = self.additive.link.linear
        if grid.silent or (linear and len(grid.axes) == 2):  # nothing moves, or nothing together
            return np.zeros((self.outputs, grid.n_points, len(located.cells)))
        own = [self.features.index(axis.feature) for axis in grid.axes]
        rest = self.additive.rest(terms, own)
        if located.kept is not None:
            rest = rest[:, located.kept]
        # What stays the same has no part in a difference, and no rounding of it either.
        margins = np.zeros_like(rest)[:, None] if linear else rest[:, None]
        for axis, values in enumerate(self.values[number]):
            margins = margins + values[:, located.index[..., axis]]
        return self.additive.outputs(margins)
