"""Leaves as boxes: the cells of each feature that pass a leaf's tests of it, as runs of consecutive cells."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, njit, void

from paribus._kernels.jit.common import kernel
from paribus._kernels.program import ACTIVE, DEPTH, SIDE, SLOT, TEST

NEAR = 16_384  # rows whose cells of two features stay in a near cache


@njit(nogil=True)
def _intersect(held, first, stop, runs, begin, end, at):
    """Write what two lists of runs have in common to ``held[at:]``; return where that ends."""
    one, other = first, begin
    while one < stop and other < end:
        low, high = max(held[one, 0], runs[other, 0]), min(held[one, 1], runs[other, 1])
        if low < high:
            held[at, 0], held[at, 1] = low, high
            at += 1
        if held[one, 1] < runs[other, 1]:
            one += 1
        else:
            other += 1
    return at


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], i4[::1], i4[::1], i8[::1], i4[:, ::1], i4[:, ::1], i8[:, :, ::1],
        i8[::1], i8[::1], i8[::1], i4[:, ::1], i8[::1]
    ),
)  # fmt: skip
def list_runs(
    entries, slot_set, members, feature, size, side_first, side_runs, held, at, top, first, stop, runs, total
):  # fmt: skip
    """Write the runs of every slot whose set is one feature; only count while there is no room for any.

    ``held`` has the runs on the way: ``at[level, f]`` says where those of a feature are, ``top`` where the
    next ones go.
    """
    fill = runs.shape[0] > 0
    n = i8(0)
    features = size.size
    for entry in range(entries.shape[0]):
        level = entries[entry, DEPTH]
        if level == 0:
            for f in range(features):
                held[f, 0], held[f, 1] = 0, size[f]
                at[0, f, 0], at[0, f, 1] = f, f + 1
            top[0] = features
        else:
            for f in range(features):
                at[level, f, 0], at[level, f, 1] = at[level - 1, f, 0], at[level - 1, f, 1]
            top[level] = top[level - 1]
            f = feature[entries[entry, TEST]]
            if f < features:
                side = 2 * entries[entry, TEST] + entries[entry, SIDE]
                begin = top[level - 1]
                end = _intersect(
                    held, at[level - 1, f, 0], at[level - 1, f, 1], side_runs, side_first[side],
                    side_first[side + 1], begin
                )  # fmt: skip
                at[level, f, 0], at[level, f, 1], top[level] = begin, end, end
        slot = entries[entry, SLOT]
        if slot < 0:
            continue
        for a in range(entries[entry, ACTIVE]):
            one = slot_set[slot + a]
            if members[one, 0] < 0 or (members.shape[1] > 1 and members[one, 1] >= 0):
                continue
            f = members[one, 0]
            first[slot + a] = n
            for run in range(at[level, f, 0], at[level, f, 1]):
                if fill:
                    runs[n, 0], runs[n, 1] = held[run, 0], held[run, 1]
                n += 1
            stop[slot + a] = n
    total[0] = n


@njit(nogil=True)
def _mark(cells, runs, first, stop, passes, violated):
    """Mark the rows whose cells lie in some runs, and count those that do not."""
    for i in range(cells.size):
        passes[i] = 0.0
    for run in range(first, stop):
        low, high = runs[run, 0], runs[run, 1]
        for i in range(cells.size):
            passes[i] += 1.0 if (cells[i] >= low) & (cells[i] < high) else 0.0
    for i in range(cells.size):
        violated[i] += 1.0 - passes[i]


@njit(nogil=True, fastmath={"reassoc", "contract"})
def _sum_two(values, one, other, sums):
    """Write the sums of values over the rows that pass one feature's tests, the other's, and both."""
    first, second, both = 0.0, 0.0, 0.0
    for i in range(values.size):
        first += values[i] * one[i]
        second += values[i] * other[i]
        both += values[i] * one[i] * other[i]
    sums[1], sums[2], sums[3] = first, second, both


@njit(nogil=True)
def _sum_three(values, one, other, third, held, sums):
    """Write the sums over the rows that pass the tests of each part of three features."""
    for i in range(values.size):
        held[i] = values[i] * third[i]
    _sum_two(held, one, other, sums)
    sums[5], sums[6], sums[7] = sums[1], sums[2], sums[3]
    alone = 0.0
    for i in range(values.size):
        alone += held[i]
    _sum_two(values, one, other, sums)
    sums[4] = alone


@njit(nogil=True)
def _signed(sums, ways, amounts):
    """Write, for each part that a row violates, the signed sums of the parts that contain it."""
    for lacks in range(1 << ways):
        total = 0.0
        for part in range(1, 1 << ways):
            if part & lacks == lacks:
                sign = 1.0
                for w in range(ways):
                    sign = sign if part >> w & 1 else -sign
                total += sign * sums[part]
        amounts[lacks] = total


@njit(nogil=True)
def _spread(near, n, violated, passes, places, ways, amounts, scale, influence):
    """Add to the rows that violate tests of the group's features alone what belongs to those they violate."""
    for number in range(n):
        i = near[number]
        lacks, within = 0, 0.0
        for w in range(ways):
            if passes[places[w], i] == 0.0:
                lacks |= 1 << w
                within += 1.0
        if within == violated[i]:
            influence[i] += scale * amounts[lacks]


@kernel(
    void(
        i8, i8, i8[::1], i4[::1], i8[::1], i8[::1], i4[:, ::1], i4[:, ::1], i8[::1], i4[::1], i4[:, ::1],
        f8[:, ::1], i4[::1], f8[:, :, :, ::1], f8[:, ::1], f8[:, ::1], i8[::1], f8[:, :, :, ::1]
    ),
)  # fmt: skip
def interact(
    begin, end, leaf_first, leaf_feature, run_first, run_stop, runs, cells, item_first, item_group,
    item_places, value, margin, functions, passes, held, near, influence
):  # fmt: skip
    """Add what each row as background does to the interaction of groups of features, of some leaves."""
    rows, most = cells.shape[1], item_places.shape[1]
    violated, sums, amounts = held[0], held[2], held[3]
    for leaf in range(begin, end):
        if item_first[leaf] == item_first[leaf + 1]:
            continue
        first = leaf_first[leaf]
        for i in range(rows):
            violated[i] = 0.0
        for place in range(first, leaf_first[leaf + 1]):
            _mark(
                cells[leaf_feature[place]], runs, run_first[place], run_stop[place], passes[place - first],
                violated
            )  # fmt: skip
        n = 0
        for i in range(rows):
            near[n] = i
            n += 1 if violated[i] <= most else 0
        for item in range(item_first[leaf], item_first[leaf + 1]):
            places, group = item_places[item], item_group[item]
            ways = 3 if most > 2 and places[most - 1] >= 0 else 2
            for k in range(value.shape[1]):
                m = k if margin[leaf] < 0 else margin[leaf]
                for q in range(functions.shape[1]):
                    values, one, other = functions[group, q, m], passes[places[0]], passes[places[1]]
                    if ways == 2:
                        _sum_two(values, one, other, sums)
                    else:
                        _sum_three(values, one, other, passes[places[2]], held[1, :rows], sums)
                    _signed(sums, ways, amounts)
                    _spread(
                        near, n, violated, passes, places, ways, amounts, value[leaf, k],
                        influence[group, q, m]
                    )  # fmt: skip


@kernel(void(i4[:, ::1], f8[::1], i4[:, ::1], i4[::1], i8[::1], f8[::1]))
def count_pairs(cells, weights, pairs, size, first, counts):
    """Add the rows in every pair of cells of pairs of features, some rows at a time."""
    for start in range(0, cells.shape[1], NEAR):
        stop = min(start + NEAR, cells.shape[1])
        for pair in range(pairs.shape[0]):
            one, other = cells[pairs[pair, 0]], cells[pairs[pair, 1]]
            wide, begin = i8(size[pairs[pair, 1]]), first[pair]
            if weights.size:
                for i in range(start, stop):
                    counts[begin + one[i] * wide + other[i]] += weights[i]
            else:
                for i in range(start, stop):
                    counts[begin + one[i] * wide + other[i]] += 1.0


@njit(nogil=True)
def _change(sums, size, begin, end, box, weight, sign):
    """Let a rectangle count from where it begins along the second feature to where it ends."""
    for m in range(sums.shape[0]):
        amount = sign * weight[box, m]
        place = i8(begin[box, 1]) + 1
        while place <= size:
            sums[m, place - 1] += amount
            place += place & -place
        place = i8(end[box, 1]) + 1
        while place <= size:
            sums[m, place - 1] -= amount
            place += place & -place


@kernel(
    void(i4[:, ::1], i4[:, ::1], i8[::1], f8[:, ::1], i4[:, ::1], i8[::1], f8[:, ::1], f8[:, ::1]),
)
def sweep(begin, end, events, weight, at, order, sums, values):
    """Add, at points of two features, the weights of the rectangles they lie in.

    ``events`` are rectangles in the order in which they begin along the first feature, and then, numbered
    on, in that in which they end; ``order`` is that of the points. Between two points the rectangles that
    began or ended are added to ``sums``, whose partial sums over powers of two give it for any position.
    """
    boxes, size = begin.shape[0], sums.shape[1]
    begun, ended = 0, 0
    for number in range(order.size):
        point = order[number]
        while begun < boxes and begin[events[begun], 0] <= at[0, point]:
            _change(sums, size, begin, end, events[begun], weight, 1.0)
            begun += 1
        while ended < boxes and end[events[boxes + ended], 0] <= at[0, point]:
            _change(sums, size, begin, end, events[boxes + ended], weight, -1.0)
            ended += 1
        for m in range(sums.shape[0]):
            place, total = at[1, point] + 1, 0.0
            while place > 0:
                total += sums[m, place - 1]
                place &= place - 1
            values[m, point] += total


@kernel(
    void(i4[:, ::1], i4[:, ::1], f8[:, ::1], i4[:, ::1], i8[::1], i8[::1], f8[:, ::1]),
)
def add_boxes(begin, end, weight, at, first, order, values):
    """Add, at points, the weights of the boxes they lie in; ``first`` is where each cell's points begin."""
    for box in range(begin.shape[0]):
        for number in range(first[begin[box, 0]], first[end[box, 0]]):
            point = order[number]
            inside = True
            for way in range(1, at.shape[0]):
                inside &= (at[way, point] >= begin[box, way]) & (at[way, point] < end[box, way])
            if inside:
                for m in range(values.shape[0]):
                    values[m, point] += weight[box, m]
