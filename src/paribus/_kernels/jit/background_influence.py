"""What rows do to the interaction of groups of features, as rows that these are averaged over."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u8, void

from paribus._kernels.jit.bits import lowest
from paribus._kernels.jit.common import CHUNK, ONE, ZERO, helper, kernel

WORDS, SIX = u8(8), u8(6)  # a mask of a chunk of rows; rows of a word as a power of two


@helper
def _add_below(tree, width, low, end, first, columns, sign, sums, at):
    """Add the weights of the points in cells ``[low, end)`` of the second feature to some sums."""
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
    """List, for each cell of the first feature, the runs of leaves that begin or end there."""
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
def _insert(weights, cell, bound, total, tree):
    """Add the weights of a point."""
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
    """Write the sums of functions ``(t, i, w)`` over the rows that pass leaves' tests of pairs of features.

    ``sums (3, l, columns)`` are over those that pass the tests of the first feature, of the second, and of
    both. Rows are added in the order of their cells of the first feature to ``tree``, whose partial sums over
    powers of two give the sum up to any cell of the second; where a leaf's run begins or ends it is read.
    ``edges`` are lists of the runs that begin or end at a cell: the next one, the leaf and the sign.
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
                _insert(functions[pair, u8(point)], u8(cells[k, u8(point)]), bound, total, tree)
                point = point_next[u8(point)]
        for leaf in range(u8(first[pair]), u8(first[pair + ONE])):
            shift, place = u8(max(margin[leaf], 0)) * more, u8(places[leaf, 1])
            for run in range(u8(run_first[place]), u8(run_stop[place])):
                _add_below(
                    tree, width, runs[run, 0], runs[run, 1], shift, columns, 1.0, sums,
                    (leaves + leaf) * columns
                )  # fmt: skip


@helper
def _below(cells, first, rows, cell):
    """Return how many of sorted cells are below one."""
    low, high = first, first + rows
    while low < high:
        middle = (low + high) >> ONE
        if cells[middle] < cell:
            low = middle + ONE
        else:
            high = middle
    return low - first


@helper
def _fail(cells, first, rows, below, runs, run, stop, fails, at, count):
    """Write the mask of rows whose cells lie in no run, and count how many tests they fail by now."""
    masks = (first + first // rows) * WORDS
    for w in range(WORDS):
        fails[at + w] = below[masks + rows * WORDS + w]
    for number in range(run, stop):
        low = masks + _below(cells, first, rows, runs[number, 0]) * WORDS
        high = masks + _below(cells, first, rows, runs[number, 1]) * WORDS
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
    """Add to the influence of some rows what belongs to the features of a group whose tests they fail alone.

    ``cells (f, i)`` are sorted, ``below (f, i + 1, words)`` the masks of the first rows in that order.
    ``count`` has the masks of the rows that fail at least one, two, three and four features' tests, so that
    those which fail a part of a group and nothing else are found for all rows of a word at once.
    """
    most, columns = u8(item_places.shape[1]), u8(amounts.shape[2])
    for leaf in range(u8(margin.size)):
        if item_first[leaf] == item_first[leaf + ONE]:
            continue
        for w in range(u8(count.size)):
            count[w] = ZERO
        first = u8(leaf_first[leaf])
        for at in range(first, u8(leaf_first[leaf + ONE])):
            _fail(
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
