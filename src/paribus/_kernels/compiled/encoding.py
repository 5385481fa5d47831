"""Codes of numbers, counts of bins, and the layout of trees."""

from __future__ import annotations

import numpy as np

from paribus._contracts import Array, Flags, Floats, Integers
from paribus._kernels import reference
from paribus._kernels.compiled.row_memory import NOTHING
from paribus._kernels.jit import node_order
from paribus._kernels.program import BINS, Bytes, CodeColumn, Ints, Layout

FEW_NUMBERS, FEW_ROWS = 8_192, 65_536  # for which NumPy takes less time than loading a kernel


def rank(column: CodeColumn, numbers: Floats) -> Ints:
    """Return the codes of numbers: how many thresholds are smaller."""
    if len(numbers) <= FEW_NUMBERS and not node_order.rank.loaded:
        return reference.rank(column, numbers)
    codes = np.empty(len(numbers), np.int32)
    if not numbers.flags.writeable:  # which a kernel, compiled for arrays of its own, does not take
        numbers = numbers.copy()
    node_order.rank(numbers, column.known, column.scale, column.below, codes)
    return codes


def locate(numbers: Array, edges: Floats, missing: int) -> Bytes:
    """Return the bin of each number: how many of the sorted edges, 31 at most, are smaller."""
    from paribus._kernels.jit.cell_counts import locate as search

    codes = np.empty(len(numbers), np.uint8)
    padded = np.full(BINS - 1, np.inf)
    padded[: len(edges)] = edges
    search(numbers, padded, missing, codes)
    return codes


def tally(codes: Bytes) -> Integers:
    """Return how many rows are in each bin of each column, ``(p, 32)``, from the codes ``(p, i)``."""
    from paribus._kernels.jit.cell_counts import tally as count

    rows = np.zeros((len(codes), BINS), np.int64)
    count(codes, rows)
    return rows


def mark(codes: Bytes, pairs: Ints) -> Bytes:
    """Return 1 for each cell of pairs of columns that some row lies in, ``(q, 32 * 32)``.

    ``pairs (q, 2)`` are positions among the columns of the codes ``(p, i)``, which are less than 32.
    """
    from paribus._kernels.jit.cell_counts import mark as store

    tables = np.zeros((len(pairs), BINS * BINS), np.uint8)
    store(codes, pairs, tables)
    return tables


def lay_out(
    roots: Ints, left: Ints, right: Ints, inner: Flags, feature: Ints, step: Ints, rows: int = 0
) -> Layout:
    """Lay trees out in preorder and find the sets active at each node, for a number of rows."""
    if max(rows, len(inner)) <= FEW_ROWS:
        return reference.lay_out(roots, left, right, inner, feature, step)
    nodes = len(inner)
    node, parent, depth, side, end, active = (np.zeros(nodes, np.int32) for _ in range(6))
    stack = np.empty((nodes + 1, 4), np.int32)
    node_order.preorder(roots, left, right, inner.view(np.uint8), stack, node, parent, depth, side, end)
    sets = np.empty((int(depth.max(initial=0)) + 1, len(step)), np.int32)
    up_first, slot_first = np.zeros(nodes, np.int64), np.full(nodes, -1, np.int64)
    up = slot_set = NOTHING
    totals = np.zeros(2, np.int64)
    tested = np.where(inner, feature, -1).astype(np.int32)[node]
    for _ in range(2):  # first to know how much there is, then to write it
        node_order.lay_out(
            parent, depth, tested, step, sets, active, up_first, up, slot_first, slot_set, totals
        )  # fmt: skip
        if not len(slot_set):
            up, slot_set = np.empty(totals[0], np.int32), np.empty(totals[1], np.int32)
    return Layout(node, parent, depth, side, end, active, up_first, up, slot_first, slot_set)
