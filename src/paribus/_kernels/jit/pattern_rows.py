"""Rows by their patterns in trees of few tests; see `paribus._kernels.patterns`."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f4, f8, i4, i8, u1, u2, u8, void

from paribus._kernels.jit.common import CHUNK, ONE, ZERO, helper, kernel

TWO, THREE = u8(2), u8(3)
LANES = u8(4)  # counters of a pattern: a row need not wait until the one before it, often alike, is counted


@helper
def fill_outcomes(codes, first, rows, conditions, truth, short, outcomes):
    """Write whether the rows of a chunk go right, for every test; tests are ordered by column."""
    held = i4(-1)
    for number in range(u8(conditions.shape[0])):
        column, at, table = conditions[number, 0], number * CHUNK, conditions[number, 3]
        if column != held:
            for i in range(rows):
                short[i] = u2(codes[u8(column), first + i])
            held = column
        if table < 0:
            low, width = u2(conditions[number, 1]), u2(conditions[number, 2])
            for i in range(rows):
                outcomes[at + i] = u1(u2(short[i] - low) < width)
        else:
            for i in range(rows):
                outcomes[at + i] = u1(truth[u8(table) + u8(short[i])] == 0)


@helper
def find_patterns(outcomes, tests, first, stop, rows, pattern):
    """Write the patterns of the rows of a chunk in a tree."""
    for i in range(rows):
        pattern[i] = u2(0)
    for number in range(first, stop):
        at = u8(tests[number]) * CHUNK
        for i in range(rows):
            pattern[i] = u2(pattern[i] + pattern[i]) | u2(outcomes[at + i])


@helper
def _marginals(counts, first, size, tests, tables):
    """Write the marginals of a histogram over patterns; return which of two tables they are in.

    Of each test in turn, from the first: the half that goes left, the half that goes right, and their sum.
    """
    here, there = ZERO, ONE
    for pattern in range(size):
        total = 0.0
        for lane in range(LANES):
            total += counts[(first + pattern) * LANES + lane]
        tables[here, pattern] = total
    above = ONE
    for _ in range(tests):
        size >>= ONE
        for one in range(above):
            at, to = one * size * TWO, one * size * THREE
            for i in range(size):
                left, right = tables[here, at + i], tables[here, at + size + i]
                tables[there, to + i] = left
                tables[there, to + size + i] = right
                tables[there, to + size + size + i] = left + right
        here, there = there, here
        above *= THREE
    return here


@kernel(
    void(
        i4[:, ::1], f8[::1], i4[:, ::1], u1[::1], i8[::1], i4[::1], i8[::1], i8[::1], i4[::1], u2[:, ::1],
        u1[::1], f8[::1], f8[:, ::1], f8[::1]
    ),
)  # fmt: skip
def cover_by_patterns(
    codes, weights, conditions, truth, first, tests, begin, slot_first, cells, room, outcomes, counts, tables,
    coverage
):  # fmt: skip
    """Write the weight of the rows at each slot of trees of few tests."""
    short, pattern, total = room[ZERO], room[ONE], u8(codes.shape[1])
    for start in range(ZERO, total, CHUNK):
        rows = min(CHUNK, total - start)
        fill_outcomes(codes, start, rows, conditions, truth, short, outcomes)
        for t in range(u8(begin.size) - ONE):
            find_patterns(outcomes, tests, u8(first[t]), u8(first[t + ONE]), rows, pattern)
            at = u8(begin[t])
            if weights.size:
                for i in range(rows):
                    counts[(at + u8(pattern[i])) * LANES + (i & (LANES - ONE))] += weights[start + i]
            else:
                for i in range(rows):
                    counts[(at + u8(pattern[i])) * LANES + (i & (LANES - ONE))] += 1.0
    for t in range(u8(begin.size) - ONE):
        size, depth = u8(begin[t + ONE] - begin[t]), u8(first[t + ONE] - first[t])
        here = _marginals(counts, u8(begin[t]), size, depth, tables)
        for slot in range(u8(slot_first[t]), u8(slot_first[t + ONE])):
            coverage[slot] = tables[here, u8(cells[slot])]


@kernel(
    void(
        i4[:, ::1], i4[:, ::1], u1[::1], i8[::1], i4[::1], i8[::1], i8[:, ::1], f8[::1], u8, u2[:, ::1],
        u1[::1], f8[::1]
    ),
)  # fmt: skip
def add_by_patterns(
    codes, conditions, truth, first, tests, item_first, items, table, single, room, outcomes, sums
):
    """Add the numbers that tables have for rows' patterns; sums from ``single`` on are rounded each time."""
    short, pattern, total = room[ZERO], room[ONE], u8(codes.shape[1])
    for start in range(ZERO, total, CHUNK):
        rows = min(CHUNK, total - start)
        fill_outcomes(codes, start, rows, conditions, truth, short, outcomes)
        for t in range(u8(item_first.size) - ONE):
            find_patterns(outcomes, tests, u8(first[t]), u8(first[t + ONE]), rows, pattern)
            for item in range(u8(item_first[t]), u8(item_first[t + ONE])):
                at, begin = u8(items[item, 0]) * total + start, u8(items[item, 1])
                if u8(items[item, 0]) < single:
                    for i in range(rows):
                        sums[at + i] += table[begin + u8(pattern[i])]
                else:
                    for i in range(rows):
                        sums[at + i] = f8(f4(sums[at + i] + table[begin + u8(pattern[i])]))
