"""Interactions of pairs of features in every pair of cells, and their mean squares."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u8, void

from paribus._kernels.jit.common import ONE, ZERO, helper, kernel


@helper
def _add_leaves(begin, end, m, places, run_first, run_stop, runs, margin, weights, one, other, wide, table):
    """Let the boxes of leaves count from where they begin to where they end, in both features and in each."""
    for item in range(begin, end):
        if (margin[item] >= 0) & (margin[item] != i4(m)):
            continue
        k = ZERO if margin[item] >= 0 else m
        first, second = u8(places[item, 0]), u8(places[item, 1])
        for run in range(u8(run_first[second]), u8(run_stop[second])):
            other[u8(runs[run, 0])] += weights[item, 1, k]
            other[u8(runs[run, 1])] -= weights[item, 1, k]
        for run in range(u8(run_first[first]), u8(run_stop[first])):
            low, high = u8(runs[run, 0]), u8(runs[run, 1])
            one[low] += weights[item, 0, k]
            one[high] -= weights[item, 0, k]
            both = weights[item, 2, k]
            for across in range(u8(run_first[second]), u8(run_stop[second])):
                left, right = u8(runs[across, 0]), u8(runs[across, 1])
                table[low * wide + left] += both
                table[low * wide + right] -= both
                table[high * wide + left] -= both
                table[high * wide + right] += both


@helper
def _accumulate(one, other, above, high, wide, table):
    """Turn changes from cell to cell into interactions, where they are, without the last row and column."""
    for d in range(wide):
        above[d] = 0.0
        other[d] += other[d - ONE] if d else 0.0
    own = 0.0
    for c in range(high):
        own += one[c]
        running = 0.0
        for d in range(wide - ONE):
            running += table[c * wide + d]
            above[d] += running
            table[c * wide + d] = above[d] + own + other[d]


@kernel(
    void(
        u8, u8, i8[::1], i8[:, ::1], i8[::1], i8[::1], i4[:, ::1], i4[::1], f8[:, :, ::1], i4[:, ::1],
        i4[::1], f8[::1], i8[::1], i4[:, ::1], f8[::1], f8[:, ::1], i8[::1], i4[:, ::1], f8, f8[::1],
        f8[:, ::1], f8[:, :, ::1], f8[:, :, :, ::1]
    ),
)  # fmt: skip
def pair_moments(
    begin, end, first, places, run_first, run_stop, runs, margin, weights, pairs, size, counts, counts_first,
    cells, weight, effects, effect_first, own, total, table, line, squares, functions
):  # fmt: skip
    """Write the mean squares of the interaction and of the joint effect of some pairs, and both at some rows.

    Means are over the rows in each pair of cells where ``counts`` has them, else over rows of ``cells``.
    """
    for pair in range(begin, end):
        j, k = u8(pairs[pair, 0]), u8(pairs[pair, 1])
        high, wide = u8(size[j]), u8(size[k]) + ONE
        for m in range(u8(squares.shape[2])):
            one, other, above = line[ZERO], line[ONE], line[u8(2)]
            for c in range(u8(line.shape[1])):
                one[c] = 0.0
                other[c] = 0.0
            for c in range((high + ONE) * wide):
                table[c] = 0.0
            _add_leaves(
                u8(first[pair]), u8(first[pair + ONE]), m, places, run_first, run_stop, runs, margin, weights,
                one, other, wide, table
            )  # fmt: skip
            _accumulate(one, other, above, high, wide, table)
            e, h = u8(effect_first[j]), u8(effect_first[k])
            center, middle = 0.0, 0.0
            square, joint = 0.0, 0.0
            for turn in range(2):  # first for the means, then for the squares around them
                center, middle, square, joint = square / total, joint / total, 0.0, 0.0
                if counts.size:
                    at = u8(counts_first[pair])
                    for c in range(high):
                        for d in range(wide - ONE):
                            value = table[c * wide + d]
                            both = value + effects[m, e + c] + effects[m, h + d] - middle
                            value -= center
                            amount = counts[at]
                            square += amount * (value * value if turn else value)
                            joint += amount * (both * both if turn else both)
                            at += ONE
                else:
                    for i in range(u8(weight.size)):
                        c, d = u8(cells[j, i]), u8(cells[k, i])
                        value = table[c * wide + d]
                        both = value + effects[m, e + c] + effects[m, h + d] - middle
                        value -= center
                        square += weight[i] * (value * value if turn else value)
                        joint += weight[i] * (both * both if turn else both)
            squares[pair, 0, m], squares[pair, 1, m] = square / total, joint / total
            for i in range(u8(own.shape[1])):
                c, d = u8(own[j, i]), u8(own[k, i])
                value = table[c * wide + d]
                functions[pair, 0, m, i] = value - center
                functions[pair, 1, m, i] = value + effects[m, e + c] + effects[m, h + d] - middle
