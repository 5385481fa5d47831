"""Which bins of two features occur together in some row."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f4, f8, i4, i8, types, u1, u8, void

from paribus._kernels.jit.common import kernel

# Columns as they lie: with other columns in between, and possibly not ours to write to.
DOUBLES, SINGLES = (types.Array(item, 1, "A", readonly=True) for item in (f8, f4))
PORTION = 1_024  # rows that are marked at once for one pair, so that its table stays in the nearest cache


@kernel(
    [void(numbers, f8[::1], i8, u1[::1]) for numbers in (DOUBLES, SINGLES)],
)
def locate(numbers, edges, missing, codes):
    """Write how many edges are smaller than each number; there are 31, the last of them infinite."""
    for i in range(numbers.size):
        number = f8(numbers[i])
        # Halving without a branch: where a number lies cannot be predicted.
        place = u8(16) * u8(edges[15] < number)
        place += u8(8) * u8(edges[place + u8(7)] < number)
        place += u8(4) * u8(edges[place + u8(3)] < number)
        place += u8(2) * u8(edges[place + u8(1)] < number)
        place += u8(edges[place] < number)
        codes[i] = u1(place) if number == number else u1(missing)


@kernel(void(u1[:, ::1], i8[:, ::1]))
def tally(codes, rows):
    """Count the rows in each bin of each column."""
    for k in range(u8(codes.shape[0])):
        for i in range(u8(codes.shape[1])):
            rows[k, u8(codes[k, i])] += 1


@kernel(void(u1[:, ::1], i4[:, ::1], u1[:, ::1]))
def mark(codes, pairs, tables):
    """Mark the cells of each pair of columns that some row lies in."""
    rows = codes.shape[1]
    for first in range(0, rows, PORTION):
        stop = min(rows, first + PORTION)
        for pair in range(u8(pairs.shape[0])):
            one, other = codes[u8(pairs[pair, 0])], codes[u8(pairs[pair, 1])]
            table = tables[pair]
            for i in range(u8(first), u8(stop)):
                table[(u8(one[i]) << u8(5)) + u8(other[i])] = 1
