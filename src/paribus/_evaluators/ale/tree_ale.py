"""ALE of tree ensembles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._data.rows import Block
from paribus._evaluators.ale.accumulate import AlePass, AleRequest, collected_changes
from paribus._evaluators.ale.ale_grid import LARGE as FAR
from paribus._evaluators.ale.ale_grid import AleGrid, RowCells
from paribus._evaluators.trees.programs import code_of, codes_of, family_of, program_of, walk_of
from paribus._grid import moved_values
from paribus._kernels import kernels
from paribus._kernels.program import (
    COLUMN,
    CUT,
    MISSING_LEFT,
    MOST_CODES,
    TABLE,
    Bytes,
    CodeColumn,
    Ints,
    Moves,
    Program,
    Walk,
)
from paribus._models import Model, trees_of
from paribus._models.ensemble import LEAF, Encoding, Ensemble
from paribus._models.trees import Trees
from paribus._states import CellMoments, Counts, Keyed
from paribus.errors import RefusalError

WALKED = 512  # leaves from which rows are followed one by one: masks of them would be mostly empty
Values = Callable[[Encoding], Floats]  # the numbers of a feature's values in an encoding


@dataclass(frozen=True, eq=False)
class MaskedTrees:
    """Trees down which masks of rows are led."""

    program: Program
    moves: Moves

    @property
    def columns(self) -> int:
        """Number of columns of codes."""
        return len(self.program.columns)

    @property
    def nbytes(self) -> int:
        """Memory of the trees, and of the masks that one thread needs."""
        conditions = len(self.program.conditions) + 2 * len(self.moves.conditions)
        return self.program.nbytes + self.moves.nbytes + 64 * conditions

    def move(self, ensemble: Ensemble, block: Block, lower: Ints, upper: Ints, kernels: ModuleType) -> Floats:
        """Return what moves change, ``(m, targets, i)``; see `Moves` for the positions of rows."""
        own = codes_of(self.program, ensemble, block, kernels)
        changes: Floats = kernels.move(self.program, self.moves, own, lower, upper)
        return changes


@dataclass(frozen=True, eq=False)
class WalkedTrees:
    """Deep trees, down which rows are followed one by one; ``values`` are the codes of each feature's."""

    walk: Walk
    values: tuple[tuple[tuple[int, Ints], ...], ...]
    moves: Moves

    @property
    def columns(self) -> int:
        """Number of columns of codes, each of which is packed with those of two moves."""
        return 6 * len(self.walk.columns)

    @property
    def nbytes(self) -> int:
        """Memory of the trees."""
        return self.walk.nodes.nbytes + self.walk.value.nbytes

    def move(self, ensemble: Ensemble, block: Block, lower: Ints, upper: Ints, kernels: ModuleType) -> Floats:
        """Return what moves change, as of `MaskedTrees`."""
        own = codes_of(self.walk, ensemble, block, kernels)
        moved = []
        for positions in (lower, upper):
            codes = own.copy()
            for at, values in zip(positions, self.values, strict=True):
                for column, known in values:
                    if len(known):
                        codes[column] = np.where(at > 0, known[at - 1], own[column])
            moved.append(codes)
        plain, lowered, raised = kernels.shift(self.walk, own, *moved)
        changes = np.empty((len(plain), self.moves.size, plain.shape[1]))
        if self.moves.own:
            changes[:, 0] = plain
        for feature, (target, twice) in enumerate(self.moves.targets):
            if twice:
                changes[:, target], changes[:, target + 1] = lowered[:, feature], raised[:, feature]
            else:
                changes[:, target] = raised[:, feature] - lowered[:, feature]
        return changes


def moved_trees(
    ensemble: Ensemble,
    features: tuple[int, ...],
    values: list[Values],
    n_values: list[int],
    twice: Flags,
    own: bool,
    kernels: ModuleType,
) -> tuple[MaskedTrees | WalkedTrees, ...]:
    """Lay trees out for features, in rising order, that are moved between ``n_values`` values each.

    ``twice`` marks the features whose two moves, from rows as they are, are wanted apart; ``own`` says
    whether the margins of rows as they are, without the baseline, are wanted too.
    """
    if ensemble.preparation is not None:
        ensemble.preparation.refuse_joined(features)
    places = own + np.cumsum([0, *(1 + twice)])
    targets = np.stack([places[:-1], twice], axis=1).astype(np.int32)
    n_codes, nothing = np.array(n_values, np.int32) + 1, np.zeros(0, np.int32)
    moves = Moves(
        n_codes, nothing.reshape(0, 4), nothing.astype(np.uint8), nothing, targets, own, int(places[-1])
    )
    leaves = np.bincount(ensemble.tree[ensemble.column == LEAF], minlength=len(ensemble.roots))
    parts: list[MaskedTrees | WalkedTrees] = []
    deep = leaves >= WALKED
    if not deep.all() or not len(deep):
        shallow = _some_trees(ensemble, ~deep)
        program = program_of(shallow, family_of((feature,) for feature in features), kernels, WALKED)
        codes = _codes_of_values(program.columns, shallow, features, values, kernels)
        parts.append(MaskedTrees(program, _moves_of(program, codes, moves)))
    if deep.any():
        walked = _some_trees(ensemble, deep)
        walk = walk_of(walked, features)
        most = max((column.missing for column in walk.columns), default=0)
        if most > MOST_CODES:
            raise RefusalError(f"its trees compare a feature with {most:,} numbers, too many to be packed")
        walk.packed  # noqa: B018  # before threads request it
        codes = _codes_of_values(walk.columns, walked, features, values, kernels)
        parts.append(WalkedTrees(walk, codes, moves))
    return tuple(parts)


def _some_trees(ensemble: Ensemble, which: Flags) -> Ensemble:
    """Return an ensemble of some of the trees, without the baseline."""
    if which.all():
        return replace(ensemble, base=np.zeros_like(ensemble.base))
    kept = which[ensemble.tree]
    position = (np.cumsum(kept) - 1).astype(np.int32)
    names = ("column", "threshold", "missing_left", "value", "category_set")
    return replace(
        ensemble,
        roots=position[ensemble.roots[which]],
        left=position[ensemble.left[kept]],
        right=position[ensemble.right[kept]],
        output=ensemble.output[which],
        base=np.zeros_like(ensemble.base),
        cover=None,
        **{name: getattr(ensemble, name)[kept] for name in names},
    )


def _codes_of_values(
    columns: tuple[CodeColumn, ...],
    ensemble: Ensemble,
    features: tuple[int, ...],
    values: list[Values],
    kernels: ModuleType,
) -> tuple[tuple[tuple[int, Ints], ...], ...]:
    """Return, by feature, the codes of its values in each column that belongs to it."""
    found: list[list[tuple[int, Ints]]] = [[] for _ in features]
    positions = {feature: position for position, feature in enumerate(features)}
    for number, column in enumerate(columns):
        encoding = ensemble.encodings[column.encoding]
        if encoding.feature in positions:
            position = positions[encoding.feature]
            found[position].append((number, code_of(column, values[position](encoding), kernels)))
    return tuple(tuple(one) for one in found)


def _moves_of(program: Program, codes: tuple[tuple[tuple[int, Ints], ...], ...], moves: Moves) -> Moves:
    """Find the different ways in which tests of each feature turn out at its values."""
    test = np.zeros(len(program.conditions), np.int32)
    conditions, tables = [np.zeros((0, 4), np.int32)], [np.zeros(0, np.uint8)]
    first, known = 0, 0
    for feature, columns in enumerate(codes):
        if not columns:
            continue
        tests = [np.flatnonzero(program.conditions[:, COLUMN] == column) for column, _ in columns]
        passes = [_passes(program, some, own) for some, (_, own) in zip(tests, columns, strict=True)]
        different, table, ways = _ways(np.concatenate(passes), feature, known)
        test[np.concatenate(tests)] = first + ways
        conditions.append(different)
        tables.append(table)
        first, known = first + len(different), known + len(table)
    found, truth = np.concatenate(conditions), np.concatenate(tables)
    return replace(moves, conditions=found, truth=truth, test=test)


def _passes(program: Program, tests: Integers, codes: Ints) -> Flags:
    """Return at which of some codes of their column tests are passed, ``(t, codes)``."""
    column, cut, missing_left, table = program.conditions[tests].T[..., None]
    if program.columns[column[0, 0]].is_nominal:
        return np.asarray(program.truth[table + codes] > 0)
    missing = codes == program.columns[column[0, 0]].missing
    return np.asarray((codes <= cut) | (missing & (missing_left > 0)))


def _ways(passes: Flags, feature: int, known: int) -> tuple[Ints, Bytes, Integers]:
    """Return the different conditions among tests of given outcomes ``(t, values)``, and which each is.

    The last value, which may be the missing one, goes either way. Where the others go left up to one of them,
    a cut says so; any other way has a table, behind the ``known`` entries of others.
    """
    if not passes.shape[1]:  # a feature without any value, along which no row is moved
        passes = np.zeros((len(passes), 1), dtype=bool)
    before, values = passes[:, :-1].sum(axis=1), passes.shape[1]
    plain = (passes[:, :-1] == (np.arange(values - 1) < before[:, None])).all(axis=1)
    # Cuts come first, in rising order.
    key = np.where(plain, before, values) * 2 + passes[:, -1]
    keys = np.column_stack([key >> 8, key & 255, np.packbits(passes, axis=1)]).astype(np.uint16)
    order = np.lexsort(keys.T[::-1])
    new = np.append(True, (keys[order[1:]] != keys[order[:-1]]).any(axis=1))
    ways = np.empty(len(passes), np.int64)
    ways[order] = np.cumsum(new) - 1
    first = order[new]
    tabled = ~plain[first]
    conditions = np.full((len(first), 4), -1, np.int32)
    conditions[:, COLUMN], conditions[:, CUT] = feature, np.where(tabled, 0, before[first])
    conditions[:, MISSING_LEFT] = passes[first, -1]
    conditions[tabled, TABLE] = known + np.arange(tabled.sum()) * (values + 1)
    table = np.pad(passes[first[tabled]], [(0, 0), (1, 0)]).astype(np.uint8).ravel()
    return conditions, table, ways


BLOCK_ROWS = 16_384
BLOCKS = 4  # a table is cut into at least so many, for threads
FLOATS = (np.float32, np.float64)  # whose bins the kernels add up
BLOCK_BYTES = 16_000_000  # of codes and margins of a block


@dataclass(frozen=True, eq=False)
class RowBins:
    """Rows that all lie in bins of a feature: the bin of each, and its number, ``(i,)``."""

    cells: Ints
    numbers: Floats

    def collected(
        self, grid: AleGrid, changes: Floats, kernels: ModuleType
    ) -> tuple[CellMoments, Counts] | None:
        """Return what `collected_changes` does of changes ``(o, i)``; None where squares overflow."""
        bins = grid.bins[0]
        # The last cell is that of missing values, of which there are none.
        edges, widths = bins.axis.cells.values.astype(np.float64), np.append(bins.widths, 1.0)
        found = [
            kernels.collect(self.cells, self.numbers, edges, widths, np.ascontiguousarray(one))
            for one in changes
        ]
        rows, mean, squares, places = np.stack(found, axis=1)
        if not np.isfinite(squares).all():
            return None
        weight = rows[0]
        moments = CellMoments(weight.astype(np.int64), weight, weight, mean, mean, squares)
        return moments, Counts(places[:1])


@dataclass(frozen=True, eq=False)
class TreeAle(AlePass):
    """The differences of brute force for single features, computed from the trees in one pass.

    Many rows at once are led down the trees, as they are and with each feature that is tested on the way at
    the lower and at the upper edge of their bins. A leaf changes the output of those that only one of the two
    leads to it, which are few. In deep trees rows are followed one by one, and apart from themselves where a
    move parts them.
    """

    request: AleRequest
    trees: Trees
    tree_groups: tuple[MaskedTrees | WalkedTrees, ...]
    places: tuple[int, ...]
    n_outputs: int

    name: ClassVar[str] = "tree_local"
    structure: ClassVar[type | None] = Trees
    shortcut: ClassVar[bool] = True
    how: ClassVar[str] = "leads the rows down the trees with each feature at both ends of their bins"
    threaded: ClassVar[bool] = True

    @classmethod
    def covers(cls, request: Any) -> tuple[int, ...]:
        """Return the numbers of the effects of one feature."""
        return tuple(number for number, grid in enumerate(request.ale_grids) if len(grid.bins) == 1)

    @classmethod
    def build(cls, model: Model, request: AleRequest) -> TreeAle:
        """Lay the trees out, and the values of each feature as codes."""
        trees, grids = trees_of(model), request.ale_grids
        order = sorted(range(len(grids)), key=lambda number: grids[number].axes[0].feature)
        requests, axes = moved_values(grids)
        values = trees.ensemble.values(requests)
        groups = moved_trees(
            trees.ensemble,
            tuple(grids[number].axes[0].feature for number in order),
            [values[axes[number][0]] for number in order],
            [len(requests[axes[number][0]][1].column.missing) for number in order],
            np.array(
                [not trees.link.linear or grids[number].bins[0].nominal for number in order], dtype=bool
            ),
            not trees.link.linear,
            kernels(),
        )
        places = tuple(order.index(number) for number in range(len(grids)))
        return cls(request, trees, groups, places, model.n_outputs)

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
        """Memory of a row: its codes, its cells, what its moves change, and the outputs of one feature."""
        targets = sum(group.moves.size for group in self.tree_groups)
        margins = 8 * (targets + 12) * max(self.trees.ensemble.n_margins, self.outputs)
        return margins + 4 * sum(group.columns for group in self.tree_groups) + 40 * len(self.places) + 64

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: prepared rows, codes, and margins of all moves."""
        return self.block_rows * (self.trees.ensemble.prepared_bytes + self._row_bytes) + self.state_bytes

    @property
    def held_bytes(self) -> int:
        """The trees as rows are led down them."""
        return sum(group.nbytes for group in self.tree_groups)

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell of every grid."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        cells = [self._located(number, block) for number in range(len(self.ale_grids))]
        changes = self._changes(block, cells)
        states: dict[tuple[str, int], CellMoments | Counts] = {}
        for number, located in enumerate(cells):
            if not len(located.cells):
                continue
            states["local", number], states["places", number] = self._collected(
                number, located, changes, block
            )
        return Keyed(states)

    def _located(self, number: int, block: Block) -> RowCells | RowBins:
        """Return where rows lie; in plain bins of floats where all of them do and count the same."""
        grid = self.ale_grids[number]
        bins, search = grid.bins[0], partial(self._search, number)
        edges, column = bins.axis.cells.values, block.column(bins.axis.feature)
        values = column.values
        same = values.dtype == edges.dtype and values.dtype in FLOATS and len(values) == len(column.missing)
        if block.weights is None and same and bins.steps and not bins.nominal and self.trees.link.linear:
            cells = np.asarray(search(edges[1:], values), np.int32)
            if (
                values.min() >= edges[0]
                and cells.max() < bins.steps
                and max(abs(float(edges[0])), abs(float(edges[-1]))) <= FAR
            ):
                return RowBins(cells, np.ascontiguousarray(values, np.float64))
        return grid.locate(block, search)

    def _collected(
        self, number: int, located: RowCells | RowBins, changes: Floats, block: Block
    ) -> tuple[CellMoments, Counts]:
        """Return the moments of what moves change in each cell, and where in it rows lie."""
        grid = self.ale_grids[number]
        if isinstance(located, RowBins):
            first, _ = self.tree_groups[0].moves.targets[self.places[number]]
            found = located.collected(grid, self.trees.outputs(changes[:, first]), self.kernels)
            if found is not None:
                return found
            located = grid.locate(block, partial(self._search, number))
        moved = self._moved(number, located, changes)
        return collected_changes(grid, located, moved, block.weights)

    def _changes(self, block: Block, cells: list[RowCells | RowBins]) -> Floats:
        """Return what the moves of all features change of the margins, ``(m, targets, i)``."""
        lower, upper = np.zeros((2, len(cells), len(block.table)), np.int32)
        for place, located in zip(self.places, cells, strict=True):
            if isinstance(located, RowBins):
                np.add(located.cells, 1, out=lower[place])
                np.add(located.cells, 2, out=upper[place])
                continue
            rows = slice(None) if located.kept is None else located.kept
            lower[place, rows] = located.index[0, :, 0] + 1
            upper[place, rows] = located.index[-1, :, 0] + 1
        ensemble = self.trees.ensemble
        found = [group.move(ensemble, block, lower, upper, self.kernels) for group in self.tree_groups]
        return found[0] if len(found) == 1 else np.sum(found, axis=0)

    def _moved(self, number: int, located: RowCells, changes: Floats) -> Floats:
        """Return by how much each move of a feature changes the outputs, ``(o, moves, i)``."""
        grid = self.ale_grids[number]
        first, twice = self.tree_groups[0].moves.targets[self.places[number]]
        own = changes[:, first : first + 1 + twice]
        plain = changes[:, 0]
        if located.kept is not None:
            own, plain = own[..., located.kept], plain[:, located.kept]
        if not twice:
            return self.trees.outputs(own)
        # A row without a value is moved from the anchor, not from where it is.
        missing = located.cells == grid.n_cells
        if self.trees.link.linear:
            low, high = self.trees.outputs(own.swapaxes(0, 1))
            return np.stack([np.where(missing, 0.0, -low), np.where(missing, high - low, high)], axis=1)
        plain = plain + self.trees.ensemble.base[:, None]
        low, high = (self.trees.outputs(plain + own[:, side]) for side in range(2))
        middle = np.where(missing, low, self.trees.outputs(plain)) if grid.bins[0].nominal else None
        stops = [low, high] if middle is None else [low, middle, high]
        with np.errstate(invalid="ignore", over="ignore"):  # an infinite prediction has no difference
            return grid.contrasts(np.stack(stops, axis=1))

    @cached_property
    def _edges(self) -> dict[int, CodeColumn]:
        """The edges of each grid as the kernels rank numbers among them, of those that were requested."""
        return {}

    def _search(self, number: int, edges: Array, values: Array) -> Any:
        """Return how many edges are smaller than each number, as the kernels rank numbers if they can."""
        if values.dtype.kind != "f" or values.dtype.itemsize > 8:
            return np.searchsorted(edges, values)
        if number not in self._edges:  # found at once by several threads, it is the same
            self._edges[number] = CodeColumn.of(0, edges.astype(np.float64), is_nominal=False)
        return self.kernels.rank(self._edges[number], values.astype(np.float64, copy=False))
