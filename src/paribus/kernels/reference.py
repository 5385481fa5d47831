"""What the kernels compute, said plainly in NumPy. Slow; `compiled` must give the same."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from paribus.contracts import Array, Flags, Floats
from paribus.kernels.program import (
    ACTIVE,
    DEPTH,
    MARGIN,
    NODE,
    SIDE,
    SLOT,
    TEST,
    CodeColumn,
    Ints,
    Layout,
    Points,
    Program,
)

CHUNK = 64  # rows drawn at once


def rank(column: CodeColumn, numbers: Floats) -> Ints:
    """Return the codes of numbers: how many thresholds are smaller."""
    codes = np.searchsorted(column.known, numbers)
    return np.where(np.isnan(numbers), column.missing, codes).astype(np.int32)


def lay_out(roots: Ints, left: Ints, right: Ints, inner: Flags, feature: Ints, step: Ints) -> Layout:
    """Lay trees out in preorder and find the sets active at each node."""
    rows: list[tuple[int, ...]] = []
    up: list[int] = []
    slots: list[int] = []
    waiting = [(int(root), -1, 0, 0, [0]) for root in reversed(roots)]
    while waiting:
        node, parent, depth, side, sets = waiting.pop()
        place = len(rows)
        if not inner[node]:
            rows.append((node, parent, depth, side, len(sets), 0, len(slots)))
            slots.extend(sets)
            continue
        rows.append((node, parent, depth, side, len(sets), len(up), -1))
        unions = [int(step[one, feature[node]]) for one in sets]
        below = [*sets, *(union for union in unions if union >= 0 and union not in sets)]
        up.extend(below.index(union) if union >= 0 else -1 for union in unions)
        waiting.append((int(right[node]), place, depth + 1, 1, below))
        waiting.append((int(left[node]), place, depth + 1, 0, below))
    table = np.array(rows, np.int64).reshape(-1, 7)
    nodes, parents, depths, sides, actives = (table[:, k].astype(np.int32) for k in range(5))
    end = np.arange(1, len(table) + 1, dtype=np.int32)
    for entry in range(len(table) - 1, -1, -1):
        if parents[entry] >= 0:
            end[parents[entry]] = max(end[parents[entry]], end[entry])
    ups, sets_of = np.array(up, np.int32), np.array(slots, np.int32)
    return Layout(nodes, parents, depths, sides, end, actives, table[:, 5], ups, table[:, 6], sets_of)


def goes_left(program: Program, condition: int, codes: Ints) -> Flags:
    """Tell which codes of the condition's column go left."""
    number, cut, missing_left, table = program.conditions[condition]
    if table >= 0:
        return np.asarray(program.truth[table + codes] > 0)
    missing = program.columns[number].missing
    return np.asarray((codes <= cut) | ((codes == missing) & (missing_left > 0)))


@dataclass(frozen=True, eq=False)
class Leaf:
    """A leaf with the tests that lead to it, each as a condition and whether it must fail."""

    entry: int
    tests: tuple[tuple[int, bool], ...]


def leaves(program: Program) -> list[Leaf]:
    """Return every leaf with its path."""
    found: list[Leaf] = []
    path: list[tuple[int, bool]] = []
    for entry, row in enumerate(program.entries):
        del path[max(0, row[DEPTH] - 1) :]
        if row[DEPTH]:
            path.append((int(row[TEST]), bool(row[SIDE])))
        if row[SLOT] >= 0:
            found.append(Leaf(entry, tuple(path)))
    return found


def meets(program: Program, leaf: Leaf, codes: Array, free: frozenset[int], only: bool = False) -> Flags:
    """Tell which rows meet a leaf's tests of features that are not free, or only those that are."""
    met = np.ones(codes.shape[1], dtype=bool)
    for condition, fails in leaf.tests:
        if (int(program.feature[condition]) in free) == only:
            met &= goes_left(program, condition, codes[program.conditions[condition, 0]]) != fails
    return met


def cover(program: Program, codes: Ints, weights: Floats | None) -> Floats:
    """Return the weight of the rows at each slot: those that reach its leaf with its set free."""
    counts = np.zeros(program.n_slots)
    weight = np.ones(codes.shape[1]) if weights is None else weights
    for leaf in leaves(program):
        first, active = program.entries[leaf.entry, SLOT], program.entries[leaf.entry, ACTIVE]
        for slot in range(first, first + active):
            free = program.family.sets[program.slot_set[slot]]
            counts[slot] = weight[meets(program, leaf, codes, free)].sum()
    return counts


def weigh(program: Program, fraction: Floats) -> Floats:
    """Return the product at each slot of the fractions of nodes on the way whose feature is not free."""
    shares = np.empty(program.n_slots)
    for leaf in leaves(program):
        first, active = program.entries[leaf.entry, SLOT], program.entries[leaf.entry, ACTIVE]
        path = ancestors(program, leaf.entry)
        for slot in range(first, first + active):
            free = program.family.sets[program.slot_set[slot]]
            asked = [int(program.feature[program.entries[entry, TEST]]) not in free for entry in path]
            shares[slot] = np.prod(fraction[program.entries[path, NODE]][asked])
    return shares


def ancestors(program: Program, entry: int) -> list[int]:
    """Return the entries on the way to one, itself included, without the root."""
    path: list[int] = []
    for place in range(entry, -1, -1):
        depth = program.entries[place, DEPTH]
        if depth == program.entries[entry, DEPTH] - len(path):
            if depth == 0:
                break
            path.append(place)
    return path


def reaches(program: Program, leaf: Leaf, points: Points) -> Flags:
    """Tell which points of a question meet a leaf's tests of its features."""
    reached = np.ones(1, dtype=bool)
    for axis in range(len(points.axis_first) - 1):
        codes = points.codes[:, points.axis_first[axis] : points.axis_first[axis + 1]]
        met = np.ones(codes.shape[1], dtype=bool)
        for condition, fails in leaf.tests:
            row = points.row[condition]
            if row >= 0 and points.axis[row] == axis:
                met &= goes_left(program, condition, codes[row]) != fails
        reached = np.logical_and.outer(reached, met).ravel()
    return reached


def asked(program: Program, points: Points) -> frozenset[int]:
    """Return the features a question is about, as places in the family."""
    return frozenset(int(feature) for feature in np.unique(program.feature[points.row >= 0]))


def slot_of(program: Program, leaf: Leaf, free: frozenset[int]) -> int:
    """Return the slot of a leaf where the features that it tests of a set are free."""
    tested = free & {int(program.feature[condition]) for condition, _ in leaf.tests}
    first, active = program.entries[leaf.entry, SLOT], program.entries[leaf.entry, ACTIVE]
    sets = [program.family.sets[one] for one in program.slot_set[first : first + active]]
    return int(first + sets.index(tested))


def added(program: Program, leaf: Leaf) -> Floats:
    """Return what a leaf adds to each margin."""
    _, margin = program.entries[leaf.entry, [NODE, MARGIN]]
    value = program.value[program.entries[leaf.entry, NODE]]
    return value if margin < 0 else np.where(np.arange(program.n_margins) == margin, value[0], 0.0)


def average(program: Program, points: Points, share: Floats) -> Floats:
    """Return the average margins at each point, ``(m, g)``, without the baseline; ``share`` is per slot."""
    averages = np.zeros((program.n_margins, points.size))
    free = asked(program, points)
    for leaf in leaves(program):
        weight = share[slot_of(program, leaf, free)]
        averages += np.outer(added(program, leaf), weight * reaches(program, leaf, points))
    return averages


def trace(program: Program, questions: list[Points], threads: int = 1) -> list[Points]:
    """Nothing is prepared."""
    return questions


def trace_bytes(program: Program, points: Points) -> int:
    """Nothing is kept."""
    return 0


def curves(program: Program, traced: list[Points], codes: Ints) -> Floats:
    """Return the margins of at most ``CHUNK`` rows at each point of the questions, ``(m, g, i)``."""
    drawn = []
    for points in traced:
        margins = np.zeros((program.n_margins, points.size, codes.shape[1])) + program.base[:, None, None]
        free = asked(program, points)
        for leaf in leaves(program):
            both = np.logical_and.outer(reaches(program, leaf, points), meets(program, leaf, codes, free))
            margins += added(program, leaf)[:, None, None] * both
        drawn.append(margins)
    return np.concatenate(drawn, axis=1)
