"""Points in boxes, where a table over all cells would be too large."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, void

from paribus._kernels.jit.common import helper, kernel


@helper
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
