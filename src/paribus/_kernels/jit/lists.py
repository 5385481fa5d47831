"""Rows as lists, for trees whose masks would be mostly empty."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, njit, u1, u8, void

from paribus._kernels.jit.common import ONE, ZERO, add, kernel, visit
from paribus._kernels.program import (
    ABOVE,
    ACTIVE,
    COLUMN,
    CUT,
    DEPTH,
    END,
    MARGIN,
    MISSING_LEFT,
    NODE,
    SIDE,
    SLOT,
    TABLE,
    TEST,
    UPS,
)


@njit(nogil=True)
def _split(entries, entry, codes, n_codes, conditions, truth, up, rows, tags, sizes, width):
    """List the rows that reach a node, each with the set of features it violates on the way.

    A row that fails the test stays if its set with the tested feature is requested.
    """
    level, number = u8(entries[entry, DEPTH]), u8(entries[entry, TEST])
    here, above, ups = level * width, (level - ONE) * width, u8(entries[entry, UPS])
    column, cut, table = conditions[number, COLUMN], conditions[number, CUT], conditions[number, TABLE]
    # The code of a missing value is the largest; with this bound it goes left or, like no code, does not.
    from_here = n_codes[column] - 1 if conditions[number, MISSING_LEFT] else n_codes[column]
    right, n = entries[entry, SIDE] > 0, ZERO
    for i in range(u8(sizes[level - ONE])):
        row, tag = rows[above + i], tags[above + i]
        code = codes[u8(column), u8(row)]
        left = (code <= cut) | (code >= from_here) if table < 0 else truth[u8(table) + u8(code)] > 0
        union = up[ups + u8(tag)]
        rows[here + n] = row
        tags[here + n] = tag if left != right else union
        n += ONE if (left != right) | (union >= 0) else ZERO
    sizes[level] = n
    return n


@njit(nogil=True)
def arrive(entries, entry, codes, n_codes, conditions, truth, up, rows, tags, sizes, width):
    """List the rows that reach a node, all of them at a root; return how many there are."""
    if entries[entry, ABOVE]:
        return _split(entries, entry, codes, n_codes, conditions, truth, up, rows, tags, sizes, width)
    for i in range(width):
        rows[i], tags[i] = i, 0
    sizes[ZERO] = width
    return width


@njit(nogil=True)
def _lies_in(members_of, one, other):
    """Return whether every feature of one set is in the other."""
    for i in range(members_of.shape[1]):
        found = members_of[one, i] < 0
        for j in range(members_of.shape[1]):
            found |= members_of[one, i] == members_of[other, j]
        if not found:
            return False
    return True


@njit(nogil=True)
def _spread(exactly, n, slot, members_of, slot_set, counts):
    """Add the rows that violate exactly a set to every active set it lies within, and forget them."""
    for b in range(n):
        total = 0.0
        for a in range(n):
            if _lies_in(members_of, u8(slot_set[slot + a]), u8(slot_set[slot + b])):
                total += exactly[a]
        counts[slot + b] += total
    for a in range(n):
        exactly[a] = 0.0


@kernel(
    void(
        i4[:, ::1], f8[::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], u8, i4[::1], i4[:, ::1], i4[::1],
        i4[::1], i4[::1], u8[::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def cover_by_lists(
    codes, weights, n_codes, conditions, truth, entries, begin, up, members_of, slot_set, rows, tags, sizes,
    exactly, counts
):  # fmt: skip
    """Add the rows at each slot of deep trees."""
    width = u8(codes.shape[1])
    entry, last = begin, u8(entries.shape[0])
    while entry < last:
        if not arrive(entries, entry, codes, n_codes, conditions, truth, up, rows, tags, sizes, width):
            entry = u8(entries[entry, END])
            continue
        if entries[entry, SLOT] >= 0:
            level, n = u8(entries[entry, DEPTH]), u8(entries[entry, ACTIVE])
            for i in range(u8(sizes[level])):
                at = level * width + i
                exactly[u8(tags[at])] += weights[u8(rows[at])] if weights.size else 1.0
            _spread(exactly, n, u8(entries[entry, SLOT]), members_of, slot_set, counts)
        entry += ONE


@njit(nogil=True)
def grouped(rows, tags, at, size, n, stop, members):
    """List rows by the set they violate: those of active set ``a`` end at ``stop[a]``."""
    for a in range(n + ONE):
        stop[a] = ZERO
    for i in range(size):
        stop[u8(tags[at + i]) + ONE] += ONE
    for a in range(n):
        stop[a + ONE] += stop[a]
    for i in range(size):
        a = u8(tags[at + i])
        members[stop[a]] = u8(rows[at + i])
        stop[a] += ONE


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], u8, i4[::1], i4[:, ::1], i4[::1], i4[::1],
        i4[::1], u8[::1], u8[::1], u8[::1], f8[:, ::1], i8[::1], i4[:, ::1], i4[:, ::1], u8, f8[::1], f8[::1]
    ),
)  # fmt: skip
def curves_by_lists(
    codes, n_codes, conditions, truth, entries, begin, up, members_of, slot_set, rows, tags, sizes, stop,
    members, value, visit_first, visits, edges, points, curves, plain
):  # fmt: skip
    """Add what the leaves of deep trees change along the curves of rows."""
    width = u8(codes.shape[1])
    entry, last = begin, u8(entries.shape[0])
    while entry < last:
        if not arrive(entries, entry, codes, n_codes, conditions, truth, up, rows, tags, sizes, width):
            entry = u8(entries[entry, END])
            continue
        if entries[entry, SLOT] >= 0:
            level, n = u8(entries[entry, DEPTH]), u8(entries[entry, ACTIVE])
            grouped(rows, tags, level * width, sizes[level], n, stop, members)
            for k in range(u8(value.shape[1])):
                margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
                amount = value[u8(entries[entry, NODE]), k]
                add(plain, margin * width, members, ZERO, stop[ZERO], amount)
                for number in range(u8(visit_first[entry]), u8(visit_first[entry + ONE])):
                    free = slot_set[u8(entries[entry, SLOT]) + u8(visits[number, 0])]
                    for a in range(n):
                        if _lies_in(members_of, u8(slot_set[u8(entries[entry, SLOT]) + a]), u8(free)):
                            since = stop[a - ONE] if a else ZERO
                            visit(
                                visits, number, edges, members, since, stop[a], amount, points, width,
                                margin, curves
                            )  # fmt: skip
                    start = (margin * points + u8(visits[number, 1])) * width
                    add(curves, start, members, ZERO, stop[ZERO], -amount)
        entry += ONE
