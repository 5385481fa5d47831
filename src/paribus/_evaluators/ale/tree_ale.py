"""ALE of tree ensembles."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
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
from paribus._kernels import kernels, prepare
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

WALKED = 512  # leaves from which rows walk one by one: masks of rows would be mostly empty
Values = Callable[[Encoding], Floats]  # the numbers of a feature's values in an encoding


@dataclass(frozen=True, eq=False)
class MaskedTrees:
    """Trees that are evaluated with masks of rows."""

    program: Program
    moves: Moves

    @property
    def columns(self) -> int:
        """Number of columns of codes."""
        return len(self.program.columns)

    @property
    def nbytes(self) -> int:
        """Memory of the trees, and of the masks of one thread."""
        conditions = len(self.program.conditions) + 2 * len(self.moves.conditions)
        return self.program.nbytes + self.moves.nbytes + 64 * conditions

    def move(self, ensemble: Ensemble, block: Block, lower: Ints, upper: Ints, kernels: ModuleType) -> Floats:
        """Return the changes of margins ``(m, targets, i)``; see `Moves` for the positions of rows."""
        own = codes_of(self.program, ensemble, block, kernels)
        changes: Floats = kernels.move(self.program, self.moves, own, lower, upper)
        return changes


@dataclass(frozen=True, eq=False)
class WalkedTrees:
    """Deep trees, in which rows walk one by one; ``values`` are the codes of the values of each feature."""

    walk: Walk
    values: tuple[tuple[tuple[int, Ints], ...], ...]
    moves: Moves

    @property
    def columns(self) -> int:
        """Number of columns of codes, including the packed codes of both moves."""
        return 6 * len(self.walk.columns)

    @property
    def nbytes(self) -> int:
        """Memory of the trees."""
        return self.walk.nodes.nbytes + self.walk.value.nbytes

    def move(self, ensemble: Ensemble, block: Block, lower: Ints, upper: Ints, kernels: ModuleType) -> Floats:
        """Return the changes of margins, as in `MaskedTrees`."""
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
    """Return trees laid out for ``features``, in ascending order, that take ``n_values`` values each.

    ``twice`` marks the features whose two moves, from the observed value, are computed separately. ``own``
    says whether the margins of unchanged rows, without the baseline, are computed too.
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
        shallow = some_trees(ensemble, ~deep)
        program = program_of(shallow, family_of((feature,) for feature in features), kernels, WALKED)
        prepare(program, "move")
        codes = codes_of_values(program.columns, shallow, features, values, kernels)
        parts.append(MaskedTrees(program, _moves_of(program, codes, moves)))
    if deep.any():
        walked = some_trees(ensemble, deep)
        walk = packed_walk(walked, features)
        codes = codes_of_values(walk.columns, walked, features, values, kernels)
        parts.append(WalkedTrees(walk, codes, moves))
    return tuple(parts)


def packed_walk(ensemble: Ensemble, features: tuple[int, ...]) -> Walk:
    """Return the layout for rows that walk one by one, or refuse codes that do not fit in packed words."""
    walk = walk_of(ensemble, features)
    most = max((column.missing for column in walk.columns), default=0)
    if most > MOST_CODES:
        raise RefusalError(f"its trees compare a feature with {most:,} numbers, too many to be packed")
    walk.packed  # noqa: B018  # cached before threads use it
    return walk


def some_trees(ensemble: Ensemble, which: Flags) -> Ensemble:
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


def codes_of_values(
    columns: tuple[CodeColumn, ...],
    ensemble: Ensemble,
    features: tuple[int, ...],
    values: list[Values],
    kernels: ModuleType,
) -> tuple[tuple[tuple[int, Ints], ...], ...]:
    """Return the codes of the values of each feature, in each of its columns."""
    found: list[list[tuple[int, Ints]]] = [[] for _ in features]
    positions = {feature: position for position, feature in enumerate(features)}
    for number, column in enumerate(columns):
        encoding = ensemble.encodings[column.encoding]
        if encoding.feature in positions:
            position = positions[encoding.feature]
            found[position].append((number, code_of(column, values[position](encoding), kernels)))
    return tuple(tuple(one) for one in found)


def _moves_of(program: Program, codes: tuple[tuple[tuple[int, Ints], ...], ...], moves: Moves) -> Moves:
    """Return the moves with the distinct conditions of each feature, by their outcomes at its values."""
    test = np.zeros(len(program.conditions), np.int32)
    conditions, tables = [np.zeros((0, 4), np.int32)], [np.zeros(0, np.uint8)]
    first, known = 0, 0
    for feature, columns in enumerate(codes):
        if not columns:
            continue
        tests = [np.flatnonzero(program.conditions[:, COLUMN] == column) for column, _ in columns]
        passes = [_tests_passed(program, some, own) for some, (_, own) in zip(tests, columns, strict=True)]
        different, table, ways = _distinct_outcomes(np.concatenate(passes), feature, known)
        test[np.concatenate(tests)] = first + ways
        conditions.append(different)
        tables.append(table)
        first, known = first + len(different), known + len(table)
    found, truth = np.concatenate(conditions), np.concatenate(tables)
    return replace(moves, conditions=found, truth=truth, test=test)


def _tests_passed(program: Program, tests: Integers, codes: Ints) -> Flags:
    """Return whether tests of one column are passed at each of its ``codes``, ``(t, codes)``."""
    column, cut, missing_left, table = program.conditions[tests].T[..., None]
    if program.columns[column[0, 0]].is_nominal:
        return np.asarray(program.truth[table + codes] > 0)
    missing = codes == program.columns[column[0, 0]].missing
    return np.asarray((codes <= cut) | (missing & (missing_left > 0)))


def _distinct_outcomes(passes: Flags, feature: int, known: int) -> tuple[Ints, Bytes, Integers]:
    """Return the distinct conditions of tests with outcomes ``(t, values)``, and the condition of each test.

    The outcome at the last value, which may be missing, is separate. If the other values pass up to a
    threshold, the condition is a cut. Otherwise it is a table, stored after the ``known`` entries of others.
    """
    if not passes.shape[1]:  # a feature without values, which is never moved
        passes = np.zeros((len(passes), 1), dtype=bool)
    before, values = passes[:, :-1].sum(axis=1), passes.shape[1]
    plain = (passes[:, :-1] == (np.arange(values - 1) < before[:, None])).all(axis=1)
    # Cuts come first, in ascending order.
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
BLOCKS = 4  # minimum number of blocks of a table, for threads
FLOATS = (np.float32, np.float64)  # types whose bins the kernels sum
BLOCK_BYTES = 16_000_000  # of codes and margins of a block


@dataclass(frozen=True, eq=False)
class RowBins:
    """Rows that all lie in bins of a numeric feature: the bin and the value of each, ``(i,)``."""

    cells: Ints
    numbers: Floats

    def collected(self, grid: AleGrid, changes: Floats, kernels: ModuleType) -> tuple[CellMoments, Counts]:
        """Return the result of `collected_changes` for changes ``(o, i)``."""
        bins = grid.bins[0]
        # The last cell is for missing values, and is empty here.
        edges, widths = bins.axis.cells.values.astype(np.float64), np.append(bins.widths, 1.0)
        found = [
            kernels.collect(self.cells, self.numbers, edges, widths, np.ascontiguousarray(one))
            for one in changes
        ]
        rows, mean, squares, places = np.stack(found, axis=1)
        weight = rows[0]
        moments = CellMoments(weight.astype(np.int64), weight, weight, mean, mean, squares)
        return moments, Counts(places[:1])


@dataclass(frozen=True, eq=False)
class TreePass(AlePass):
    """Base class of evaluators that read ALE from the trees."""

    request: AleRequest
    trees: Trees
    n_outputs: int

    structure: ClassVar[type | None] = Trees
    shortcut: ClassVar[bool] = True
    how: ClassVar[str] = "exact, from the trees"
    threaded: ClassVar[bool] = True

    @property
    def outputs(self) -> int:
        """Number of outputs."""
        return self.n_outputs

    @property
    def block_rows(self) -> int:
        """Rows per block: few enough for several threads, and fewer with many features or outputs."""
        shared = min(BLOCK_ROWS, -(-self.request.rows // BLOCKS), BLOCK_BYTES // self._row_bytes)
        return int(max(1, shared // self.request.block_cut))

    @property
    def worker_bytes(self) -> int:
        """Memory that evaluating one block takes: prepared rows, codes, and margins."""
        return self.block_rows * (self.trees.ensemble.prepared_bytes + self._row_bytes) + self.state_bytes

    @property
    @abstractmethod
    def _row_bytes(self) -> int:
        """Memory of a row while its block is evaluated."""


@dataclass(frozen=True, eq=False)
class TreeAle(TreePass):
    """The differences of brute force for single features, computed from the trees in one pass.

    Many rows are evaluated together: unchanged, and with each tested feature at the lower and at the upper
    edge of their bins. A leaf contributes only to the few rows that reach it with one of the two edges. In
    deep trees rows walk one by one, and separately from the split at which a moved row takes the other
    branch.
    """

    tree_groups: tuple[MaskedTrees | WalkedTrees, ...]
    places: tuple[int, ...]
    _edges: dict[int, CodeColumn] = field(default_factory=dict, init=False, repr=False)

    name: ClassVar[str] = "tree_ale"
    most_features: ClassVar[int] = 1

    @classmethod
    def build(cls, model: Model, request: AleRequest) -> TreeAle:
        """Return the evaluator, with the trees and the codes of the values of each feature."""
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
        return cls(request, trees, model.n_outputs, groups, places)

    @property
    def _row_bytes(self) -> int:
        """Memory of a row: its codes, cells, changes of margins, and the outputs of one feature."""
        targets = sum(group.moves.size for group in self.tree_groups)
        margins = 8 * (targets + 12) * max(self.trees.ensemble.n_margins, self.outputs)
        return margins + 4 * sum(group.columns for group in self.tree_groups) + 40 * len(self.places) + 64

    @property
    def held_bytes(self) -> int:
        """Memory of the trees."""
        return sum(group.nbytes for group in self.tree_groups)

    def evaluate(self, block: Block) -> Keyed:
        """Return the moments of the differences in each cell of every grid."""
        block = block.weighted()
        if not len(block.table):
            return Keyed({})
        block.for_reading(len(self.request.ale_grids))  # later reads of columns use its copy
        cells = [self._located(number, block) for number in range(len(self.request.ale_grids))]
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
        """Return the cells of rows, as `RowBins` if all are in bins of floats and have equal weights."""
        grid = self.request.ale_grids[number]
        bins, search = grid.bins[0], partial(self._search, number)
        edges, column = bins.axis.cells.values, block.column(bins.axis.feature)
        values = column.values
        same = values.dtype == edges.dtype and values.dtype in FLOATS and len(values) == len(column.missing)
        plain = block.weights is None and block.units is None and self.trees.link.linear
        if plain and same and bins.steps and not bins.nominal:
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
        """Return the moments of differences in each cell, and the sums of the positions of rows in it."""
        grid = self.request.ale_grids[number]
        if isinstance(located, RowBins):
            first, _ = self.tree_groups[0].moves.targets[self.places[number]]
            return located.collected(grid, self.trees.outputs(changes[:, first]), kernels())
        moved = self._moved(number, located, changes)
        return collected_changes(grid, located, moved, block)

    def _changes(self, block: Block, cells: list[RowCells | RowBins]) -> Floats:
        """Return the changes of margins for the moves of all features, ``(m, targets, i)``."""
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
        found = [group.move(ensemble, block, lower, upper, kernels()) for group in self.tree_groups]
        return found[0] if len(found) == 1 else np.sum(found, axis=0)

    def _moved(self, number: int, located: RowCells, changes: Floats) -> Floats:
        """Return the differences of outputs for each move of a feature, ``(o, moves, i)``."""
        grid = self.request.ale_grids[number]
        first, twice = self.tree_groups[0].moves.targets[self.places[number]]
        own = changes[:, first : first + 1 + twice]
        plain = changes[:, 0]
        if located.kept is not None:
            own, plain = own[..., located.kept], plain[:, located.kept]
        if not twice:
            return self.trees.outputs(own)
        # The difference of a missing value starts at the anchor, not at the observed value.
        missing = located.cells == grid.n_cells
        if self.trees.link.linear:
            low, high = self.trees.outputs(own.swapaxes(0, 1))
            return np.stack([np.where(missing, 0.0, -low), np.where(missing, high - low, high)], axis=1)
        plain = plain + self.trees.ensemble.base[:, None]
        low, high = (self.trees.outputs(plain + own[:, side]) for side in range(2))
        middle = np.where(missing, low, self.trees.outputs(plain)) if grid.bins[0].nominal else None
        stops = [low, high] if middle is None else [low, middle, high]
        with np.errstate(invalid="ignore", over="ignore"):  # infinite predictions have no difference
            return grid.contrasts(np.stack(stops, axis=1))

    def _search(self, number: int, edges: Array, values: Array) -> Any:
        """Return the number of edges below each value, by the kernels if values are floats."""
        if values.dtype.kind != "f" or values.dtype.itemsize > 8:
            return np.searchsorted(edges, values)
        if number not in self._edges:  # threads may compute the same value twice
            self._edges[number] = CodeColumn.of(0, edges.astype(np.float64), is_nominal=False)
        return kernels().rank(self._edges[number], values.astype(np.float64, copy=False))
