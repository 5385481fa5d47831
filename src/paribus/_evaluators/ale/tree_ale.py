"""Local effects of tree ensembles: rows parted from themselves where a move changes a test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Array, Floats
from paribus._data.rows import Block
from paribus._evaluators.ale.ale_grid import RowCells
from paribus._evaluators.ale.ale_request import AlePass, AleRequest, collected
from paribus._evaluators.trees.programs import code_of, codes_of, walk_of
from paribus._grid import moved_values
from paribus._kernels import kernels
from paribus._kernels.program import MOST_CODES, CodeColumn, Ints, Walk
from paribus._models import Model, trees_of
from paribus._models.ensemble import Encoding
from paribus._models.trees import Trees
from paribus._states import CellMoments, Counts, Keyed
from paribus.errors import RefusalError

BLOCK_ROWS = 16_384
BLOCKS = 4  # a table is cut into at least so many, for threads
BLOCK_BYTES = 16_000_000  # of codes and margins of a block


@dataclass(frozen=True, eq=False)
class TreeAle(AlePass):
    """The differences of brute force for single features, computed from the trees in one pass.

    A row is followed down each tree once. Where a test of a feature would turn out otherwise at the lower or
    upper edge of the row's bin, it is followed from there a second time with that feature moved. Few tests
    do, so that all features together cost about what two predictions do.
    """

    request: AleRequest
    trees: Trees
    walk: Walk
    nodes: tuple[tuple[tuple[int, Ints], ...], ...]
    n_outputs: int

    name: ClassVar[str] = "tree_local"
    structure: ClassVar[type | None] = Trees
    shortcut: ClassVar[bool] = True
    how: ClassVar[str] = "follows every row down the trees, and apart where a move to the next value parts it"
    threaded: ClassVar[bool] = True

    @classmethod
    def covers(cls, request: Any) -> tuple[int, ...]:
        """Return the numbers of the effects of one feature."""
        return tuple(number for number, grid in enumerate(request.ale_grids) if len(grid.bins) == 1)

    @classmethod
    def build(cls, model: Model, request: AleRequest) -> TreeAle:
        """Lay the trees out, and the values of each feature as codes."""
        trees, grids = trees_of(model), request.ale_grids
        walk = walk_of(trees.ensemble, tuple(grid.axes[0].feature for grid in grids))
        most = max((column.missing for column in walk.columns), default=0)
        if most > MOST_CODES:
            raise RefusalError(f"its trees compare a feature with {most:,} numbers, too many to be packed")
        walk.packed  # noqa: B018  # before threads request it
        requests, axes = moved_values(grids)
        values = trees.ensemble.values(requests)
        nodes = tuple(
            _codes_of_nodes(walk, trees, grid.axes[0].feature, values[own[0]], kernels())
            for grid, own in zip(grids, axes, strict=True)
        )
        return cls(request, trees, walk, nodes, model.n_outputs)

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.n_outputs

    @property
    def kernels(self) -> ModuleType:
        """The kernels; named rather than held, because a module cannot be shipped."""
        return kernels()

    @property
    def block_rows(self) -> int:
        """Rows per block: few enough to share, and fewer where features or outputs are many."""
        shared = min(BLOCK_ROWS, -(-self.request.rows // BLOCKS), BLOCK_BYTES // self._row_bytes)
        return int(max(1, shared // self.request.block_cut))

    @property
    def _row_bytes(self) -> int:
        margins = 5 * 8 * self.walk.features * max(len(self.walk.base), self.outputs)
        return margins + 40 * len(self.walk.columns) + 64

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: prepared rows, codes, and margins of all moves."""
        return self.block_rows * (self.trees.ensemble.prepared_bytes + self._row_bytes) + self.state_bytes

    @property
    def held_bytes(self) -> int:
        """The trees as rows follow them."""
        return self.walk.nodes.nbytes + self.walk.value.nbytes

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell of every grid."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        own = codes_of(self.walk, self.trees.ensemble, block, self.kernels)
        lower, upper = own.copy(), own.copy()
        cells = [grid.locate(block, self._search) for grid in self.ale_grids]
        for located, nodes in zip(cells, self.nodes, strict=True):
            rows = slice(None) if located.kept is None else located.kept
            for column, codes in nodes:
                lower[column, rows] = codes[located.index[0, :, 0]]
                upper[column, rows] = codes[located.index[-1, :, 0]]
        plain, lowered, raised = self.kernels.shift(self.walk, own, lower, upper)
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        for number, located in enumerate(cells):
            if not len(located.cells):
                continue
            margins = (lowered[:, number], plain, raised[:, number])
            predictions = self._predictions(number, located, margins)
            moments, positions = collected(self.ale_grids[number], located, predictions, block.weights)
            states["local", number], states["places", number] = moments, positions
        return Keyed(states)

    def _search(self, edges: Array, values: Array) -> Any:
        """Return how many edges are smaller than each number, as the kernels rank numbers if they can."""
        if values.dtype.kind != "f" or values.dtype.itemsize > 8:
            return np.searchsorted(edges, values)
        column = CodeColumn.of(0, edges.astype(np.float64), levels=False)
        return self.kernels.rank(column, values.astype(np.float64, copy=False))

    def _predictions(self, number: int, located: RowCells, margins: tuple[Floats, ...]) -> Floats:
        """Return the outputs ``(o, b, i)`` of rows before and after their moves."""
        if located.kept is not None:
            margins = tuple(margin[:, located.kept] for margin in margins)
        low, high = (self.trees.outputs(margin) for margin in margins[::2])
        if not self.ale_grids[number].bins[0].nominal:
            return np.stack([low, high], axis=1)
        own = self.trees.outputs(margins[1])
        # A row without a value is moved from the anchor, not from where it is.
        missing = located.cells == self.ale_grids[number].n_cells
        return np.stack([low, np.where(missing, low, own), high], axis=1)


def _codes_of_nodes(
    walk: Walk, trees: Trees, feature: int, numbers: Callable[[Encoding], Floats], kernels: ModuleType
) -> tuple[tuple[int, Ints], ...]:
    """Return, for each column that belongs to the feature moved, the codes of its values, missing last."""
    codes = []
    for position, column in enumerate(walk.columns):
        encoding = trees.ensemble.encodings[column.encoding]
        if encoding.feature == feature:
            codes.append((position, code_of(column, numbers(encoding), kernels)))
    return tuple(codes)
