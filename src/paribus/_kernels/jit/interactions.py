"""Interactions of groups of features, the influence of rows on them, and rows in bins."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f4, f8, i4, i8, types, u1, u8, void

from paribus._kernels.jit.bits import lowest
from paribus._kernels.jit.common import CHUNK, ONE, ZERO, helper, kernel
from paribus._kernels.jit.masks import SIX, WORDS


@helper
def _add_leaf_boxes(
    begin, end, m, places, run_first, run_stop, runs, margin, weights, one, other, wide, table
):  # fmt: skip
    """Add the weights of leaves at the edges of their boxes, in each feature and in both.

    These are differences between adjacent cells, which `_accumulate_cells` sums.
    """
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
def _accumulate_cells(one, other, above, high, wide, table):
    """Replace differences between cells by interactions, except in the last row and column."""
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
    """Write the mean squares of the interaction and of the joint effect of pairs, and both at rows ``own``.

    Means are over ``counts`` of rows in each pair of cells or, if that is empty, over the rows of ``cells``.
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
            _add_leaf_boxes(
                u8(first[pair]), u8(first[pair + ONE]), m, places, run_first, run_stop, runs, margin, weights,
                one, other, wide, table
            )  # fmt: skip
            _accumulate_cells(one, other, above, high, wide, table)
            e, h = u8(effect_first[j]), u8(effect_first[k])
            center, middle = 0.0, 0.0
            square, joint = 0.0, 0.0
            for turn in range(2):  # the first pass computes means, the second squares around them
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


@helper
def _add_below(tree, width, low, end, first, columns, sign, sums, at):
    """Add the sums of the Fenwick tree over the cells ``[low, end)`` of the second feature."""
    place = u8(end)
    while place:
        for c in range(columns):
            sums[at + c] += sign * tree[place * width + first + c]
        place &= place - ONE
    place = u8(low)
    while place:
        for c in range(columns):
            sums[at + c] -= sign * tree[place * width + first + c]
        place &= place - ONE


@helper
def _list_edges(begin, end, places, run_first, run_stop, runs, edge_head, edges):
    """Write a linked list, for each cell of the first feature, of the runs that begin or end there."""
    n = ZERO
    for leaf in range(begin, end):
        place = u8(places[leaf, 0])
        for run in range(u8(run_first[place]), u8(run_stop[place])):
            for side in range(u8(2)):
                cell = u8(runs[run, side])
                edges[n, 0], edges[n, 1], edges[n, 2] = edge_head[cell], i4(leaf), i4(2) * i4(side) - i4(1)
                edge_head[cell] = i4(n)
                n += ONE


@helper
def _insert_point(weights, cell, bound, total, tree):
    """Add the weights of a point to the totals and to the Fenwick tree."""
    width, place = u8(weights.size), cell + ONE
    for c in range(width):
        total[c] += weights[c]
    while place * width < bound:
        for c in range(width):
            tree[place * width + c] += weights[c]
        place += place & (~place + ONE)


@kernel(
    void(
        u8, u8, i8[::1], i8[:, ::1], i8[::1], i8[::1], i4[:, ::1], i4[:, ::1], i4[:, ::1], i4[::1],
        f8[:, :, ::1], i4[::1], u8, u8, f8[::1], i4[::1], i4[::1], i4[::1], i4[:, ::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def sum_pairs(
    begin, end, first, places, run_first, run_stop, runs, pairs, cells, size, functions, margin, columns,
    more, tree, point_head, point_next, edge_head, edges, total, sums
):  # fmt: skip
    """Write the sums of functions ``(t, i, w)`` over the rows that pass the tests of leaves on two features.

    ``sums (3, l, columns)`` are over rows that pass the tests of the first feature, of the second, and of
    both. Rows are added to ``tree`` in the order of their cells of the first feature. ``tree`` is a Fenwick
    tree over the cells of the second feature, and is read where a run of a leaf begins or ends.
    ``edges`` are linked lists of the runs that begin or end at a cell: the next edge, the leaf and the sign.
    """
    width, leaves, rows = u8(functions.shape[2]), u8(places.shape[0]), u8(cells.shape[1])
    for pair in range(begin, end):
        j, k = u8(pairs[pair, 0]), u8(pairs[pair, 1])
        cells_one, bound = u8(size[j]), (u8(size[k]) + ONE) * width
        for c in range(bound):
            tree[c] = 0.0
        for c in range(width):
            total[c] = 0.0
        for c in range(cells_one + ONE):
            point_head[c] = -1
            edge_head[c] = -1
        _list_edges(
            u8(first[pair]), u8(first[pair + ONE]), places, run_first, run_stop, runs, edge_head, edges
        )  # fmt: skip
        for i in range(rows):
            cell = u8(cells[j, i])
            point_next[i] = point_head[cell]
            point_head[cell] = i4(i)
        for cell in range(cells_one + ONE):
            edge = edge_head[cell]
            while edge >= 0:
                leaf, sign = u8(edges[u8(edge), 1]), f8(edges[u8(edge), 2])
                shift, at = u8(max(margin[leaf], 0)) * more, leaf * columns
                for c in range(columns):
                    sums[at + c] += sign * total[shift + c]
                place = u8(places[leaf, 1])
                for run in range(u8(run_first[place]), u8(run_stop[place])):
                    _add_below(
                        tree, width, runs[run, 0], runs[run, 1], shift, columns, sign, sums,
                        at + u8(2) * leaves * columns
                    )  # fmt: skip
                edge = edges[u8(edge), 0]
            point = point_head[cell]
            while point >= 0:
                _insert_point(functions[pair, u8(point)], u8(cells[k, u8(point)]), bound, total, tree)
                point = point_next[u8(point)]
        for leaf in range(u8(first[pair]), u8(first[pair + ONE])):
            shift, place = u8(max(margin[leaf], 0)) * more, u8(places[leaf, 1])
            for run in range(u8(run_first[place]), u8(run_stop[place])):
                _add_below(
                    tree, width, runs[run, 0], runs[run, 1], shift, columns, 1.0, sums,
                    (leaves + leaf) * columns
                )  # fmt: skip


@helper
def _count_below(cells, first, rows, cell):
    """Return the number of sorted cells that are smaller than a cell."""
    low, high = first, first + rows
    while low < high:
        middle = (low + high) >> ONE
        if cells[middle] < cell:
            low = middle + ONE
        else:
            high = middle
    return low - first


@helper
def _mask_failing_rows(cells, first, rows, below, runs, run, stop, fails, at, count):
    """Write the mask of rows whose cells are in no run, and update the masks ``count`` of `spread`."""
    masks = (first + first // rows) * WORDS
    for w in range(WORDS):
        fails[at + w] = below[masks + rows * WORDS + w]
    for number in range(run, stop):
        low = masks + _count_below(cells, first, rows, runs[number, 0]) * WORDS
        high = masks + _count_below(cells, first, rows, runs[number, 1]) * WORDS
        for w in range(WORDS):
            fails[at + w] &= ~(below[high + w] ^ below[low + w])
    for w in range(WORDS):
        word = fails[at + w]
        for least in range(u8(4)):
            both = count[least * WORDS + w] & word
            count[least * WORDS + w] |= word
            word = both


@kernel(
    void(
        i4[::1], u8, u8[::1], i8[::1], i4[::1], i8[::1], i8[::1], i4[:, ::1], i8[::1], i4[::1], i4[:, ::1],
        i4[::1], f8[:, :, ::1], u8, u8, u8[::1], u8[::1], u8[::1], f8[::1]
    ),
)  # fmt: skip
def spread(
    cells, rows, below, leaf_first, leaf_feature, run_first, run_stop, runs, item_first, item_group,
    item_places, margin, amounts, stride, more, fails, count, mask, influence
):  # fmt: skip
    """Add the amounts of items to the influence of rows that fail tests of features of their group only.

    ``cells (f, i)`` are sorted, ``below (f, i + 1, words)`` are the masks of the first rows in this order.
    ``count`` has the masks of the rows that fail the tests of at least one, two, three and four features.
    With it, the rows that fail exactly a subset of a group are found for all rows of a word at once.
    """
    most, columns = u8(item_places.shape[1]), u8(amounts.shape[2])
    for leaf in range(u8(margin.size)):
        if item_first[leaf] == item_first[leaf + ONE]:
            continue
        for w in range(u8(count.size)):
            count[w] = ZERO
        first = u8(leaf_first[leaf])
        for at in range(first, u8(leaf_first[leaf + ONE])):
            _mask_failing_rows(
                cells, u8(leaf_feature[at]) * rows, rows, below, runs, u8(run_first[at]), u8(run_stop[at]),
                fails, (at - first) * WORDS, count
            )  # fmt: skip
        for number in range(u8(item_first[leaf]), u8(item_first[leaf + ONE])):
            base = u8(item_group[number]) * CHUNK * stride + u8(max(margin[leaf], 0)) * more
            ways = most if item_places[number, most - ONE] >= 0 else u8(2)
            for lacks in range(ONE << ways):
                size = (lacks & ONE) + ((lacks >> ONE) & ONE) + (lacks >> u8(2))
                for w in range(WORDS):
                    mask[w] = below[rows * WORDS + w] & ~count[size * WORDS + w]
                for way in range(ways):
                    if (lacks >> way) & ONE:
                        at = u8(item_places[number, way]) * WORDS
                        for w in range(WORDS):
                            mask[w] &= fails[at + w]
                for w in range(u8(mask.size)):
                    word = mask[w]
                    while word:
                        place = base + ((w << SIX) + lowest(word)) * stride
                        for c in range(columns):
                            influence[place + c] += amounts[lacks, number, c]
                        word &= word - ONE


# Columns of a table, which can be non-contiguous and read-only.
DOUBLES, SINGLES = (types.Array(item, 1, "A", readonly=True) for item in (f8, f4))
PORTION = 1_024  # rows that are marked at once for a pair, so that its table fits the L1 cache


@kernel(
    [void(numbers, f8[::1], i8, u1[::1]) for numbers in (DOUBLES, SINGLES)],
)
def locate(numbers, edges, missing, codes):
    """Write the number of edges that are smaller than each number, of 31 edges padded with infinity."""
    for i in range(numbers.size):
        number = f8(numbers[i])
        # Binary search without branches, which would be unpredictable.
        place = u8(16) * u8(edges[15] < number)
        place += u8(8) * u8(edges[place + u8(7)] < number)
        place += u8(4) * u8(edges[place + u8(3)] < number)
        place += u8(2) * u8(edges[place + u8(1)] < number)
        place += u8(edges[place] < number)
        codes[i] = u1(place) if number == number else u1(missing)


@kernel(void(u1[:, ::1], i8[:, ::1]))
def tally(codes, rows):
    """Add the number of rows in each bin of each column."""
    for k in range(u8(codes.shape[0])):
        for i in range(u8(codes.shape[1])):
            rows[k, u8(codes[k, i])] += 1


@kernel(void(u1[:, ::1], i4[:, ::1], u1[:, ::1]))
def mark(codes, pairs, tables):
    """Set the cells of each pair of columns that contain a row to 1."""
    rows = codes.shape[1]
    for first in range(0, rows, PORTION):
        stop = min(rows, first + PORTION)
        for pair in range(u8(pairs.shape[0])):
            one, other = codes[u8(pairs[pair, 0])], codes[u8(pairs[pair, 1])]
            table = tables[pair]
            for i in range(u8(first), u8(stop)):
                table[(u8(one[i]) << u8(5)) + u8(other[i])] = 1
