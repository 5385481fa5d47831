"""The functions of `reference`, for a machine: memory is laid out here, the loops are in `jit`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from paribus.contracts import Flags, Floats, Integers
from paribus.kernels.jit import common, layout
from paribus.kernels.jit import points as reaching
from paribus.kernels.program import Bytes, CodeColumn, Ints, Layout, Points, Program

CHUNK = int(common.CHUNK)
WORDS = CHUNK // 64
TALLIED = CHUNK * 1_000  # rows counted in short numbers: at most 64 a chunk in each of eight
NO_WEIGHTS = np.empty(0)
NOTHING = np.empty(0, np.int32)
NO_VISITS = np.empty((0, 5), np.int32)


def rank(column: CodeColumn, numbers: Floats) -> Ints:
    """Return the codes of numbers: how many thresholds are smaller."""
    codes = np.empty(len(numbers), np.int32)
    if not numbers.flags.writeable:  # which a kernel, compiled for arrays of its own, does not take
        numbers = numbers.copy()
    layout.rank(numbers, column.known, column.scale, column.below, codes)
    return codes


def lay_out(roots: Ints, left: Ints, right: Ints, inner: Flags, feature: Ints, step: Ints) -> Layout:
    """Lay trees out in preorder and find the sets active at each node."""
    nodes = len(inner)
    node, parent, depth, side, end, active = (np.zeros(nodes, np.int32) for _ in range(6))
    stack = np.empty((nodes + 1, 4), np.int32)
    layout.preorder(roots, left, right, inner.view(np.uint8), stack, node, parent, depth, side, end)
    sets = np.empty((int(depth.max(initial=0)) + 1, len(step)), np.int32)
    up_first, slot_first = np.zeros(nodes, np.int64), np.full(nodes, -1, np.int64)
    up = slot_set = NOTHING
    totals = np.zeros(2, np.int64)
    tested = np.where(inner, feature, -1).astype(np.int32)[node]
    for _ in range(2):  # first to know how much there is, then to write it
        layout.lay_out(
            parent, depth, tested, step, sets, active, up_first, up, slot_first, slot_set, totals
        )  # fmt: skip
        if not len(slot_set):
            up, slot_set = np.empty(totals[0], np.int32), np.empty(totals[1], np.int32)
    return Layout(node, parent, depth, side, end, active, up_first, up, slot_first, slot_set)


def cover(program: Program, codes: Ints, weights: Floats | None) -> Floats:
    """Return the weight of the rows at each slot: those that reach its leaf with its set free."""
    counts = np.zeros(program.n_slots)
    given = NO_WEIGHTS if weights is None else weights
    tests = program.n_codes, program.conditions, program.truth
    if program.shallow:
        from paribus.kernels.jit.masks import cover_by_masks

        masks = _Masks.of(program)
        entries = program.entries[: program.shallow]
        for first in range(0, codes.shape[1], TALLIED):
            some = slice(first, first + TALLIED)
            tallies = np.zeros(WORDS * program.n_slots if weights is None else 0, np.uint16)
            portion = np.ascontiguousarray(codes[:, some])
            cover_by_masks(
                portion, given[some], *tests, entries, program.up, *masks.arrays, tallies, counts
            )  # fmt: skip
    if program.shallow < len(program.entries):
        from paribus.kernels.jit.lists import cover_by_lists

        lists = _Lists.of(program, codes.shape[1])
        exactly = np.zeros(program.most)
        cover_by_lists(
            codes, given, *tests, program.entries, program.shallow, program.up, program.family.members,
            program.slot_set, lists.rows, lists.tags, lists.sizes, exactly, counts
        )  # fmt: skip
    return counts


def average(program: Program, points: Points, share: Floats) -> Floats:
    """Return the average margins at each point, ``(m, g)``, without the baseline; ``share`` is per slot."""
    averages = np.zeros((program.n_margins, points.size))
    reaching.average(
        program.entries, program.up, program.n_codes, program.conditions, program.truth, points.row,
        points.axis, points.axis_first, points.codes, share, program.value, *_reach(program, points),
        np.zeros(program.n_margins), averages
    )  # fmt: skip
    return averages


def weigh(program: Program, fraction: Floats) -> Floats:
    """Return the product at each slot of the fractions of nodes on the way whose feature is not free."""
    from paribus.kernels.jit.paths import weigh as multiply

    shares = np.empty(program.n_slots)
    held = np.empty(program.levels * program.most)
    multiply(program.entries, program.up, program.most, fraction, held, shares)
    return shares


@dataclass(frozen=True, eq=False)
class Trace:
    """Where the curves of some questions change: which leaf each point reaches.

    Attributes
    ----------
    visit_first : (e + 1,)
        Where the visits of each entry begin; a visit is a leaf that tests a question's features.
    visits : (v, 5)
        The active set that must be free, the question's first point, and where its edges begin and end.
    edges : (h, 2)
        A point, and 1 where the leaf begins to be reached or -1 where it ends.
    starts : (q,)
        The first point of each question.
    size : int
        Number of points of all questions.
    """

    visit_first: Integers
    visits: Ints
    edges: Ints
    starts: Ints
    size: int


def trace(program: Program, questions: list[Points], threads: int = 1) -> Trace:
    """Find, once for all rows, where the curves of the questions can change."""
    starts = np.cumsum([0, *(points.size for points in questions)])
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda *one: _edges(program, *one), questions, starts.tolist()[:-1]))
    shift = np.cumsum([0, *(len(edges) for _, edges in found)])
    for (visits, _), before in zip(found, shift, strict=False):
        visits[:, 2:4] += before
    visits = np.concatenate([visits for visits, _ in found])
    order = np.argsort(visits[:, 4], kind="stable")
    per_entry = np.bincount(visits[:, 4], minlength=len(program.entries))
    return Trace(
        np.concatenate([[0], np.cumsum(per_entry)]),
        visits[order],
        np.concatenate([edges for _, edges in found]),
        starts[:-1].astype(np.int32),
        int(starts[-1]),
    )


def curves(program: Program, traced: Trace, codes: Ints) -> Floats:
    """Return the margins of at most ``CHUNK`` rows at each point of the questions, ``(m, g, i)``."""
    rows = codes.shape[1]
    drawn = np.zeros((program.n_margins, traced.size, rows))
    plain = np.repeat(program.base, rows)
    tests = program.n_codes, program.conditions, program.truth
    visits = program.value, traced.visit_first, traced.visits, traced.edges, traced.size
    flat = drawn.reshape(-1)
    if program.shallow:
        from paribus.kernels.jit.masks import curves_by_masks

        masks = _Masks.of(program)
        members = np.empty((2, CHUNK), np.uint64)
        entries = program.entries[: program.shallow]
        curves_by_masks(codes, *tests, entries, program.up, *masks.arrays, members, *visits, flat, plain)
    if program.shallow < len(program.entries):
        from paribus.kernels.jit.lists import curves_by_lists

        lists = _Lists.of(program, rows)
        one_list = np.empty(rows, np.uint64)
        stop = np.empty(program.most + 1, np.uint64)
        curves_by_lists(
            codes, *tests, program.entries, program.shallow, program.up, program.family.members,
            program.slot_set, lists.rows, lists.tags, lists.sizes, stop, one_list, *visits, flat, plain
        )  # fmt: skip
    reaching.accumulate(drawn, plain.reshape(-1, rows), traced.starts)
    return drawn


@dataclass(frozen=True, eq=False)
class _Masks:
    """Memory for masks: of active sets at each level, of codes, of conditions."""

    arrays: tuple[int, Integers, Integers, Integers, Integers]

    @classmethod
    def of(cls, program: Program) -> _Masks:
        held = program.levels * program.most
        return cls(
            (
                program.most,
                np.zeros(held * WORDS, np.uint64),
                np.zeros(held, np.uint64),
                np.empty((int(program.n_codes.max(initial=0)) + 1) * WORDS, np.uint64),
                np.zeros((len(program.conditions) + 1) * WORDS, np.uint64),
            )
        )


@dataclass(frozen=True, eq=False)
class _Lists:
    """Memory for the rows at each level, the set each violates, and how many there are."""

    rows: Ints
    tags: Ints
    sizes: Integers

    @classmethod
    def of(cls, program: Program, rows: int) -> _Lists:
        size = program.levels * rows
        return cls(np.empty(size, np.int32), np.empty(size, np.int32), np.empty(program.levels, np.uint64))


def _reach(program: Program, points: Points) -> tuple[Bytes, Ints, Ints]:
    levels = program.levels
    reach = np.empty((levels, points.codes.shape[1]), np.uint8)
    return reach, np.empty(levels, np.int32), np.empty(levels, np.int32)


def trace_bytes(program: Program, points: Points) -> int:
    """Return the memory that the trace of a question takes."""
    visits, edges = _listed(program, points, 0, NO_VISITS, NO_VISITS)
    return (5 * visits + 2 * edges) * NO_VISITS.itemsize


def _edges(program: Program, points: Points, start: int) -> tuple[Ints, Ints]:
    """Return the visits and edges of one question, whose first point is number ``start``."""
    # First to know how many there are, then to write them.
    n_visits, n_edges = _listed(program, points, start, NO_VISITS, NO_VISITS)
    visits, edges = np.empty((n_visits, 5), np.int32), np.empty((n_edges, 2), np.int32)
    if n_visits:
        _listed(program, points, start, visits, edges)
    return visits, edges


def _listed(program: Program, points: Points, start: int, visits: Ints, edges: Ints) -> tuple[int, int]:
    """Write visits and edges, or only count them where there is no room for any."""
    runs, totals = np.empty((program.levels, 2), np.int32), np.zeros(2, np.int64)
    reaching.list_edges(
        program.entries, program.up, program.n_codes, program.conditions, program.truth, points.row,
        points.axis, points.axis_first, points.codes, start, points.size, *_reach(program, points), runs,
        visits, edges, totals
    )  # fmt: skip
    return int(totals[0]), int(totals[1])
