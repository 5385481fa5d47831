"""Rows moved along one feature at a time, in trees of few tests: patterns at both ends of a move."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import f8, i4, i8, types, u1, u2, u8, void
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from paribus._kernels.jit.bits import lowest
from paribus._kernels.jit.common import CHUNK, ONE, ZERO, helper, kernel
from paribus._kernels.jit.pattern_rows import fill_outcomes, find_patterns

BITS = 64
SIX, NINE, LOW, LAST = u8(6), u8(9), u8(63), CHUNK - ONE  # a row's word, chunk, and place in them
WORDS = CHUNK >> SIX


@intrinsic
def _not_zero(context: Any, array: Any, at: Any) -> Any:
    """Return which of 64 bytes are not zero, a bit for each."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(context, builder, arguments[0]).data
        kind = ir.VectorType(ir.IntType(8), BITS)
        held = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), kind.as_pointer()), align=1)
        some = builder.icmp_unsigned("!=", held, ir.Constant(kind, [0] * BITS))
        return builder.bitcast(some, ir.IntType(BITS))

    return types.uint64(array, at), generate


@helper
def _find_parted(outcomes, ends, twice, rows, differ, parted, listed, counts):
    """List the rows that each test parts at the ends of a move, or from themselves where there are two moves.

    With a row stands whether it goes right at the upper end.
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
            word = _not_zero(differ, w << SIX)
            parted[number * WORDS + w] = word
            while word:
                i = (w << SIX) + lowest(word)
                listed[n] = u2(i | u8(outcomes[high + i]) << NINE)
                n += ONE
                word &= word - ONE
        counts[number] = n


@helper
def _add_one(number, bit, listed, counts, pattern, value, m, at, sums, to):
    """Add what a move changes of the rows that a test parts, the only one of its feature in the tree."""
    for place in range(number * CHUNK, counts[number]):
        i, right = u8(listed[place]) & LAST, u8(listed[place]) >> NINE
        others, own = at + (u8(pattern[i]) & ~bit), bit * right
        sums[to + i] += value[others + own, m] - value[others + (bit ^ own), m]


@helper
def _add(
    test, tests, ends, bits, mates, first, stop, twice, outcomes, parted, listed, counts, pattern, value, m,
    at, sums, to
):  # fmt: skip
    """Add what a move changes of the rows that a test parts, unless another of its feature did so before.

    ``mates[first:stop]`` are the tests of that feature in the tree.
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
    """Write what moves change of every row, a chunk at a time; first its own sums, where they are needed.

    ``ends (c, 2)`` says which outcome a condition has at the lower and at the upper value; ``twice`` whether
    its feature has two moves. ``bits``, ``groups`` (of ``mates``) and ``targets`` are those of each test, a
    target -1 where its feature is not moved.
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
                        _add(
                            test, tests, ends, bits, mates, one, stop, twice[number], outcomes, parted,
                            listed, counts, room[ONE], value, m, at, sums, place
                        )  # fmt: skip
                    elif target >= 0:
                        _add_one(
                            number, u8(bits[test]), listed, counts, room[ONE], value, m, at, sums, place
                        )  # fmt: skip
        for target in range(u8(moved.shape[0])):
            for i in range(rows):
                moved[target, start + i] = sums[target * CHUNK + i]
