"""ALE of two features of tree ensembles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Flags, Floats
from paribus._data.rows import Block
from paribus._evaluators.ale.accumulate import AleRequest, collected, columns_of
from paribus._evaluators.ale.ale_grid import AleGrid, RowCells
from paribus._evaluators.ale.tree_ale import (
    TreePass,
    codes_of_values,
    packed_walk,
    some_trees,
)
from paribus._evaluators.trees.programs import codes_of
from paribus._grid import moved_values
from paribus._kernels import kernels
from paribus._kernels.program import Ints, Walk
from paribus._models import Model, trees_of
from paribus._models.ensemble import LEAF, Ensemble
from paribus._models.trees import Trees
from paribus._states import CellMoments, Counts, Keyed


@dataclass(frozen=True, eq=False)
class PairTrees:
    """Trees that a second difference of two features depends on.

    ``walk`` moves rows along the first feature; pairs with the same trees share its arrays. ``values`` are,
    for each feature, its columns with the codes of its values.
    """

    ensemble: Ensemble
    walk: Walk
    values: tuple[tuple[tuple[int, Ints], ...], ...]

    def margins(self, block: Block, grid: AleGrid, located: RowCells) -> Floats:
        """Return the margins ``(m, b, i)`` of evaluated rows at the nodes around their cells."""
        codes = codes_of(self.walk, self.ensemble, block, kernels())
        codes = codes.copy() if located.kept is None else codes[:, located.kept]
        first, second = grid.stops
        nodes = located.index.reshape(first, second, -1, 2)
        along, across = nodes[:, 0, :, 0], nodes[0, :, :, 1]
        margins = np.empty((len(self.walk.base), first, second, codes.shape[1]))
        # A row starts at the second to last stop, from which the kernel moves it to the others.
        start = first - 2
        for stop, at in enumerate(across):
            for column, known in self.values[1]:
                codes[column] = known[at]
            stops = [codes.copy() for _ in range(3)]
            for own, node in zip(stops, (along[start], along[0], along[-1]), strict=True):
                for column, known in self.values[0]:
                    own[column] = known[node]
            plain, lowered, raised = kernels().shift(self.walk, *stops)
            margins[:, 0, stop] = plain + lowered[:, 0]
            margins[:, -1, stop] = plain + raised[:, 0]
            if start > 0:
                margins[:, start, stop] = plain
        return margins.reshape(len(margins), first * second, -1)


@dataclass(frozen=True, eq=False)
class TreePairAle(TreePass):
    r"""The second differences of brute force for two features, from the trees.

    .. math:: f(z_k, u_l) - f(z_{k-1}, u_l) - f(z_k, u_{l-1}) + f(z_{k-1}, u_{l-1})

    at the edges of the cell of each row. Rows walk down the trees once for each edge of the second feature,
    and separately from the split at which the first feature takes the other branch. Trees that do not test
    both features add zero to the second difference of a sum, and are left out.
    """

    pairs: tuple[PairTrees | None, ...]

    name: ClassVar[str] = "tree_pair_ale"

    @classmethod
    def covers(cls, request: Any) -> tuple[int, ...]:
        """Return the numbers of the grids with two features."""
        return tuple(number for number, grid in enumerate(request.ale_grids) if len(grid.bins) == 2)

    @classmethod
    def build(cls, model: Model, request: AleRequest) -> TreePairAle:
        """Return the evaluator, with the trees and the codes of the values of each pair."""
        trees, grids = trees_of(model), request.ale_grids
        requests, axes = moved_values(grids)
        values = trees.ensemble.values(requests)
        shared: dict[bytes, tuple[Ensemble, Walk]] = {}
        pairs: list[PairTrees | None] = []
        for grid, own in zip(grids, axes, strict=True):
            features = grid.axes[0].feature, grid.axes[1].feature
            if trees.ensemble.preparation is not None:
                trees.ensemble.preparation.refuse_joined(features)
            if grid.silent:
                pairs.append(None)
                continue
            which = _trees_of_pair(trees, features)
            if which.tobytes() not in shared:
                ensemble = some_trees(trees.ensemble, which) if trees.link.linear else trees.ensemble
                shared[which.tobytes()] = ensemble, packed_walk(ensemble, ())
            ensemble, walk = shared[which.tobytes()]
            codes = codes_of_values(
                walk.columns, ensemble, features, [values[axis] for axis in own], kernels()
            )
            pairs.append(PairTrees(ensemble, _moving(walk, ensemble, features[0]), codes))
        return cls(request, trees, model.n_outputs, tuple(pairs))

    @property
    def _row_bytes(self) -> int:
        """Memory of a row: codes and packed codes of three stops, and margins and differences of a pair."""
        columns = max((len(pair.walk.columns) for pair in self.pairs if pair is not None), default=0)
        widest = max((grid.n_points + columns_of(grid) for grid in self.request.ale_grids), default=0)
        return 40 * columns + 32 * widest * max(self.trees.ensemble.n_margins, self.outputs) + 64

    @property
    def held_bytes(self) -> int:
        """Memory of the trees of all pairs, which may share them."""
        walks = {id(pair.walk.nodes): pair.walk for pair in self.pairs if pair is not None}
        return sum(walk.nodes.nbytes + walk.value.nbytes for walk in walks.values())

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell of every grid."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        for number, (grid, pair) in enumerate(zip(self.request.ale_grids, self.pairs, strict=True)):
            located = grid.locate(block)
            if not len(located.cells):
                continue
            if pair is None:
                found = np.zeros((self.outputs, grid.n_points, len(located.cells)))
            else:
                found = self.trees.outputs(pair.margins(block, grid, located))
            moments, positions = collected(grid, located, found, block)
            states["local", number], states["places", number] = moments, positions
        return Keyed(states)


def _trees_of_pair(trees: Trees, features: tuple[int, int]) -> Flags:
    """Return which trees are walked: all, or for a sum those that test both features, and at least one."""
    ensemble = trees.ensemble
    which = np.ones(len(ensemble.roots), dtype=bool)
    if not trees.link.linear:
        return which
    feature = np.array([encoding.feature for encoding in ensemble.encodings], np.int64)
    inner = ensemble.column != LEAF
    for own in features:
        tests = ensemble.tree[inner][feature[ensemble.column[inner]] == own]
        which &= np.bincount(tests, minlength=len(which)) > 0
    if not which.any():
        which[:1] = True  # so that rows are read, and refused as by other evaluators
    return which


def _moving(walk: Walk, ensemble: Ensemble, feature: int) -> Walk:
    """Return a walk with the same arrays that moves rows along one feature."""
    owners = [0 if ensemble.encodings[column.encoding].feature == feature else -1 for column in walk.columns]
    moving = replace(walk, owner=np.array(owners, np.int32), features=1)
    vars(moving)["packed"] = walk.packed
    return moving
