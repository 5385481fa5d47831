"""Coverage, sums and moves of rows by their patterns in trees with few tests."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f4, f8, i4, i8, u1, u2, u8, void

from paribus._kernels.jit.bits import lowest, nonzero_bytes
from paribus._kernels.jit.common import CHUNK, ONE, TWO, ZERO, helper, kernel
from paribus._kernels.jit.masks import LOW, SIX, WORDS

THREE = u8(3)
LANES = u8(4)  # counters of a pattern, so that consecutive rows with equal patterns update different ones


@helper
def fill_outcomes(codes, first, rows, conditions, truth, short, outcomes):
    """Write whether the rows of a chunk go right, for each test; tests are ordered by column."""
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
    """Write the marginals of a histogram over patterns; return the number of the table that has them.

    Each test in turn, from the first one, replaces two halves by three: the rows that go left, those that go
    right, and their sum.
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
    """Write the weight of the rows at each slot of trees with few tests."""
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
    """Add the values of tables for the patterns of rows; sums from ``single`` on are in single precision."""
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


NINE, LAST = u8(9), CHUNK - ONE  # shift and mask of a listed row, which has a flag above its position


@helper
def _find_parted(outcomes, ends, twice, rows, differ, parted, listed, counts):
    """List the rows for which the outcome of a test differs between the two values of a move.

    If the feature has two moves, the outcome differs between the row's own value and one of the others. The
    listed row has a flag: whether it goes right at the upper value.
    """
    for i in range(rows, CHUNK):
        differ[i] = 0
    for number in range(u8(ends.shape[0])):
        own, low, high = number * CHUNK, u8(ends[number, 0]) * CHUNK, u8(ends[number, 1]) * CHUNK
        if twice[number]:
            for i in range(rows):
                differ[i] = (outcomes[own + i] ^ outcomes[low + i]) | (outcomes[own + i] ^ outcomes[high + i])
        else:
            for i in range(rows):
                differ[i] = outcomes[low + i] ^ outcomes[high + i]
        n = own
        for w in range(WORDS):
            word = nonzero_bytes(differ, w << SIX)
            parted[number * WORDS + w] = word
            while word:
                i = (w << SIX) + lowest(word)
                listed[n] = u2(i | u8(outcomes[high + i]) << NINE)
                n += ONE
                word &= word - ONE
        counts[number] = n


@helper
def _add_single_test(number, bit, listed, counts, pattern, value, m, at, sums, to):
    """Add the changes of listed rows by a move, for the only test of its feature in a tree."""
    for place in range(number * CHUNK, counts[number]):
        i, right = u8(listed[place]) & LAST, u8(listed[place]) >> NINE
        others, own = at + (u8(pattern[i]) & ~bit), bit * right
        sums[to + i] += value[others + own, m] - value[others + (bit ^ own), m]


@helper
def _add_shared_test(
    test, tests, ends, bits, mates, first, stop, twice, outcomes, parted, listed, counts, pattern, value, m,
    at, sums, to
):  # fmt: skip
    """Add the changes of listed rows by a move, except rows that an earlier test of the feature listed.

    ``mates[first:stop]`` are the tests of the feature in the tree.
    """
    for place in range(u8(tests[test]) * CHUNK, counts[u8(tests[test])]):
        i = u8(listed[place]) & LAST
        low, high, mine = ZERO, ZERO, True
        others = u8(pattern[i])
        for mate in range(first, stop):
            number, bit = u8(tests[u8(mates[mate])]), u8(bits[u8(mates[mate])])
            if u8(mates[mate]) < test:
                mine &= (parted[number * WORDS + (i >> SIX)] >> (i & LOW) & ONE) == ZERO
            others &= ~bit
            low |= bit * u8(outcomes[u8(ends[number, 0]) * CHUNK + i])
            high |= bit * u8(outcomes[u8(ends[number, 1]) * CHUNK + i])
        if mine and twice:
            own = value[at + u8(pattern[i]), m]
            sums[to + i] += value[at + (others | low), m] - own
            sums[to + CHUNK + i] += value[at + (others | high), m] - own
        elif mine:
            sums[to + i] += value[at + (others | high), m] - value[at + (others | low), m]


@kernel(
    void(
        i4[:, ::1], i4[:, ::1], i4[:, ::1], i4[:, ::1], u1[::1], i4[:, ::1], u1[::1], i8[::1], i4[::1],
        i8[::1], i4[:, ::1], u1[::1], i4[::1], i4[::1], i8[:, ::1], i4[::1], f8[:, ::1], i4[::1], u8, u8,
        u2[:, ::1], u1[::1], u1[::1], u8[::1], u2[::1], u8[::1], f8[::1], f8[:, ::1]
    ),
)  # fmt: skip
def move_by_patterns(
    codes, lower, upper, conditions, truth, ways, tables, first, tests, begin, ends, twice, bits, mates,
    groups, targets, value, margin, own, size, room, outcomes, differ, parted, listed, counts,
    sums, moved
):  # fmt: skip
    """Write the changes of rows by moves, a chunk at a time, after the margins of rows if ``own`` is set.

    See `MovedTests` for ``ways``, ``ends``, ``twice``, ``bits``, ``mates``, ``groups`` and ``targets``.
    """
    total, low = u8(codes.shape[1]), u8(conditions.shape[0]) * CHUNK
    high = low + u8(ways.shape[0]) * CHUNK
    for start in range(ZERO, total, CHUNK):
        rows = min(CHUNK, total - start)
        fill_outcomes(codes, start, rows, conditions, truth, room[ZERO], outcomes)
        fill_outcomes(lower, start, rows, ways, tables, room[ZERO], outcomes[low:])
        fill_outcomes(upper, start, rows, ways, tables, room[ZERO], outcomes[high:])
        _find_parted(outcomes, ends, twice, rows, differ, parted, listed, counts)
        for place in range(u8(sums.size)):
            sums[place] = 0.0
        for t in range(u8(begin.size) - ONE):
            find_patterns(outcomes, tests, u8(first[t]), u8(first[t + ONE]), rows, room[ONE])
            for m in range(u8(value.shape[1])):
                to = (m if margin[t] < 0 else u8(margin[t])) * size * CHUNK
                for i in range(rows if own else ZERO):
                    sums[to + i] += value[u8(begin[t]) + u8(room[ONE, i]), m]
                for test in range(u8(first[t]), u8(first[t + ONE])):
                    number, at = u8(tests[test]), u8(begin[t])
                    target, one, stop = targets[test], u8(groups[test, 0]), u8(groups[test, 1])
                    place = to + u8(target) * CHUNK
                    if target >= 0 and (stop - one > ONE or twice[number]):
                        _add_shared_test(
                            test, tests, ends, bits, mates, one, stop, twice[number], outcomes, parted,
                            listed, counts, room[ONE], value, m, at, sums, place
                        )  # fmt: skip
                    elif target >= 0:
                        _add_single_test(
                            number, u8(bits[test]), listed, counts, room[ONE], value, m, at, sums, place
                        )  # fmt: skip
        for target in range(u8(moved.shape[0])):
            for i in range(rows):
                moved[target, start + i] = sums[target * CHUNK + i]
