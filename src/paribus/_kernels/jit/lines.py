"""Curves along one feature each, in deep trees: where a test leads is found once for all leaves below it."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u1, u8, void

from paribus._kernels.jit.common import ONE, helper, kernel
from paribus._kernels.program import (
    ACTIVE,
    COLUMN,
    CUT,
    DEPTH,
    MARGIN,
    MISSING_LEFT,
    NODE,
    SIDE,
    SLOT,
    TABLE,
    TEST,
)


@helper
def _narrow(conditions, number, n_codes, truth, right, codes, at, start, reach, above, level, span, edges, n):
    """Write which points of a grid reach below a test, and behind ``n`` edges where that changes.

    ``span`` is between which points some of them reach at a level; ``above`` is where they did before.
    """
    column, cut, table = conditions[number, COLUMN], conditions[number, CUT], conditions[number, TABLE]
    since = n_codes[column] - 1 if conditions[number, MISSING_LEFT] else n_codes[column]
    before, low, high = 0, u8(span[above, 0]), u8(span[above, 1])
    span[level, 0] = span[level, 1] = high
    for p in range(low, high):
        code = codes[at + p]
        left = (code <= cut) | (code >= since) if table < 0 else truth[u8(table) + u8(code)] > 0
        now = i8(reach[above, p]) if left != right else 0
        reach[level, p] = now
        if now != before:
            if n < u8(edges.shape[0]):
                edges[n, 0], edges[n, 1] = i4(start + p), i4(now - before)
            n += ONE
            span[level, 0] = p if now and span[level, 0] == high else span[level, 0]
            span[level, 1] = p
        before = now
    if before:
        span[level, 1] = high
    return n, before, high


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[::1], i4[::1], i8[::1], i4[::1], i4[::1], i8[::1],
        u1[:, ::1], i8[:, ::1], i8[:, ::1], i8[:, ::1], i4[::1], i4[:, ::1], i4[:, ::1], i8[::1]
    ),
)  # fmt: skip
def list_lines(
    entries, n_codes, conditions, truth, slot_set, grid_of, at, codes, set_grid, starts, reach, span, latest,
    saved, visit_of, visits, edges, totals
):  # fmt: skip
    """Write where each test of a grid's feature begins and ends to be passed, and the last above each slot.

    ``latest`` is the last visit of each grid on the way and the level of its test, ``saved`` what it was
    above each level. ``totals`` are how many visits are in trees before these, and how many edges are in
    these. Edges for which there is no room are counted only.
    """
    n_visits, n_edges, level = u8(totals[0]), u8(0), i8(-1)
    for entry in range(u8(entries.shape[0])):
        while level >= i8(entries[entry, DEPTH]):
            if saved[level, 0] >= 0:
                latest[saved[level, 0], 0], latest[saved[level, 0], 1] = saved[level, 1], saved[level, 2]
            level -= 1
        level = i8(entries[entry, DEPTH])
        number = u8(entries[entry, TEST])
        q = i8(grid_of[u8(conditions[number, COLUMN])]) if level > 0 else i8(-1)
        saved[level, 0] = q
        if q >= 0:
            saved[level, 1], saved[level, 2] = latest[q, 0], latest[q, 1]
            above, first = u8(latest[q, 1]), n_edges
            if latest[q, 0] < 0:  # all its points reach the root, which tests nothing
                above, span[0, 0], span[0, 1] = u8(0), 0, starts[q + 1] - starts[q]
            n_edges, open_end, high = _narrow(
                conditions, number, n_codes, truth, entries[entry, SIDE] > 0, codes,
                u8(at[u8(conditions[number, COLUMN])]), u8(starts[q]), reach, above, u8(level), span, edges,
                n_edges
            )  # fmt: skip
            if open_end and high < u8(starts[q + 1] - starts[q]):
                if n_edges < u8(edges.shape[0]):
                    edges[n_edges, 0], edges[n_edges, 1] = i4(u8(starts[q]) + high), -1
                n_edges += ONE
            visits[n_visits, 0] = i4(starts[q])
            visits[n_visits, 1], visits[n_visits, 2] = i4(first), i4(n_edges)
            latest[q, 0], latest[q, 1] = i8(n_visits), level
            n_visits += ONE
        if entries[entry, SLOT] >= 0:
            slot = u8(entries[entry, SLOT])
            for a in range(u8(entries[entry, ACTIVE])):
                q = i8(set_grid[u8(slot_set[slot + a])])
                visit_of[slot + a] = i4(latest[q, 0]) if q >= 0 else i4(-1)
    totals[1] = i8(n_edges)


@kernel(
    void(i4[:, ::1], i4[::1], i4[:, ::1], i4[:, ::1], f8[::1], f8[:, ::1], f8[:, :, ::1], f8[:, ::1]),
)
def average_lines(entries, visit_of, visits, edges, share, value, curves, plain):
    """Add what leaves change along the average curves of grids."""
    for entry in range(u8(entries.shape[0])):
        if entries[entry, SLOT] < 0:
            continue
        first = u8(entries[entry, SLOT])
        for k in range(u8(value.shape[1])):
            margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
            amount = value[u8(entries[entry, NODE]), k]
            plain[margin, 0] += amount * share[first]
            for slot in range(first, first + u8(entries[entry, ACTIVE])):
                if visit_of[slot] >= 0:
                    number = u8(visit_of[slot])
                    curves[margin, u8(visits[number, 0]), 0] -= amount * share[first]
                    for edge in range(u8(visits[number, 1]), u8(visits[number, 2])):
                        curves[margin, u8(edges[edge, 0]), 0] += amount * share[slot] * f8(edges[edge, 1])
