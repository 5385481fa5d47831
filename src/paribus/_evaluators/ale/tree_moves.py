"""Trees laid out for rows that are moved along one feature at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np

from paribus._contracts import Flags, Floats, Integers
from paribus._data.rows import Block
from paribus._evaluators.trees.programs import code_of, codes_of, family_of, program_of, walk_of
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
from paribus._models.ensemble import LEAF, Encoding, Ensemble
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
    names = ("column", "threshold", "missing_left", "value", "level_set")
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
    if program.columns[column[0, 0]].levels:
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
