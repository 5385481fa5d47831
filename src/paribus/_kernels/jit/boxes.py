"""Cells that pass the tests of slots, counts of rows in pairs of cells, and weights of boxes at points."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u8, void

from paribus._kernels.jit.common import helper, kernel
from paribus._kernels.program import ACTIVE, DEPTH, SIDE, SLOT, TEST

NEAR = u8(16_384)  # rows whose cells of two features fit the CPU cache


@helper
def _intersect_runs(held, first, stop, runs, begin, end, at):
    """Write the intersection of two lists of runs to ``held[at:]``, and return its end."""
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
    """Write the runs of each slot whose set is one feature; if ``runs`` is empty, only count them.

    ``held`` has the runs of the entries on the path. ``at[level, f]`` is where those of a feature begin and
    end, ``top[level]`` where the next ones are written.
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
                end = _intersect_runs(
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


@kernel(void(i4[:, ::1], f8[::1], i4[:, ::1], i4[::1], i8[::1], f8[::1]))
def count_pairs(cells, weights, pairs, size, first, counts):
    """Add the weights of rows in each pair of cells of pairs of features, a batch of rows at a time."""
    rows = u8(cells.shape[1])
    for start in range(u8(0), rows, NEAR):
        stop = min(start + NEAR, rows)
        for pair in range(u8(pairs.shape[0])):
            one, other = cells[u8(pairs[pair, 0])], cells[u8(pairs[pair, 1])]
            wide, begin = u8(size[u8(pairs[pair, 1])]), u8(first[pair])
            if weights.size:
                for i in range(start, stop):
                    counts[begin + u8(one[i]) * wide + u8(other[i])] += weights[i]
            else:
                for i in range(start, stop):
                    counts[begin + u8(one[i]) * wide + u8(other[i])] += 1.0


@helper
def _add_rectangle(sums, size, begin, end, box, weight, sign):
    """Add the weight of a rectangle to the Fenwick tree ``sums`` over its cells of the second feature."""
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
    """Add, at points of two features, the weights of the rectangles that contain them.

    ``events`` are the rectangles ordered by their beginning along the first feature, followed by the same
    ordered by their end. ``order`` sorts the points along the first feature. ``sums`` is a Fenwick tree over
    the second feature with the rectangles that contain the current point of the first feature.
    """
    boxes, size = begin.shape[0], sums.shape[1]
    begun, ended = 0, 0
    for number in range(order.size):
        point = order[number]
        while begun < boxes and begin[events[begun], 0] <= at[0, point]:
            _add_rectangle(sums, size, begin, end, events[begun], weight, 1.0)
            begun += 1
        while ended < boxes and end[events[boxes + ended], 0] <= at[0, point]:
            _add_rectangle(sums, size, begin, end, events[boxes + ended], weight, -1.0)
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
    """Add the weights of boxes at the points in them; ``first`` is where the points of each cell begin."""
    for box in range(begin.shape[0]):
        for number in range(first[begin[box, 0]], first[end[box, 0]]):
            point = order[number]
            inside = True
            for way in range(1, at.shape[0]):
                inside &= (at[way, point] >= begin[box, way]) & (at[way, point] < end[box, way])
            if inside:
                for m in range(values.shape[0]):
                    values[m, point] += weight[box, m]
