"""What rows do to the interaction of groups of features, as rows that these are averaged over."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, njit, u8, void

from paribus._kernels.jit.common import ONE, ZERO, kernel


@njit(nogil=True)
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


@kernel(
    void(
        i8[:, ::1], i8[::1], i8[::1], i4[:, ::1], i4[::1], i4[::1], f8[:, ::1], i4[::1], u8, u8, u8, f8[::1],
        i4[::1], i4[::1], i4[::1], i4[:, ::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def sum_pairs(
    places, run_first, run_stop, runs, one, other, functions, margin, columns, size, more, tree, point_head,
    point_next, edge_head, edges, total, sums
):  # fmt: skip
    """Write the sums of functions ``(i, w)`` over the rows that pass leaves' tests of one feature, and so on.

    ``sums (l, 3, columns)`` are over those that pass the tests of the first feature, of the second, and of
    both. Rows are added in the order of their cells of the first feature to ``tree``, whose partial sums over
    powers of two give the sum up to any cell of the second; where a leaf's run begins or ends it is read.
    ``edges`` are lists of the runs that begin or end at a cell: the next one, the leaf and the sign.
    """
    width, leaves = u8(functions.shape[1]), u8(places.shape[0])
    n = i4(0)
    for leaf in range(leaves):
        place = u8(places[leaf, 0])
        for run in range(u8(run_first[place]), u8(run_stop[place])):
            for side in range(u8(2)):
                cell = u8(runs[run, side])
                edges[n, 0], edges[n, 1], edges[n, 2] = edge_head[cell], leaf, i4(2) * i4(side) - i4(1)
                edge_head[cell] = n
                n += i4(1)
    for i in range(u8(one.size)):
        point_next[i] = point_head[u8(one[i])]
        point_head[u8(one[i])] = i4(i)
    for cell in range(size + ONE):
        edge = edge_head[cell]
        while edge >= 0:
            leaf, sign = u8(edges[edge, 1]), f8(edges[edge, 2])
            first, at = u8(max(margin[leaf], 0)) * more, leaf * u8(3) * columns
            for c in range(columns):
                sums[at + c] += sign * total[first + c]
            place = u8(places[leaf, 1])
            for run in range(u8(run_first[place]), u8(run_stop[place])):
                _add_below(
                    tree, width, runs[run, 0], runs[run, 1], first, columns, sign, sums, at + u8(2) * columns
                )  # fmt: skip
            edge = edges[edge, 0]
        point = point_head[cell] if cell < size else i4(-1)
        while point >= 0:
            for c in range(width):
                total[c] += functions[u8(point), c]
            place = u8(other[u8(point)]) + ONE
            while place * width < u8(tree.size):
                for c in range(width):
                    tree[place * width + c] += functions[u8(point), c]
                place += place & (~place + ONE)
            point = point_next[u8(point)]
    for leaf in range(leaves):
        first, place = u8(max(margin[leaf], 0)) * more, u8(places[leaf, 1])
        for run in range(u8(run_first[place]), u8(run_stop[place])):
            _add_below(
                tree, width, runs[run, 0], runs[run, 1], first, columns, 1.0, sums,
                (u8(3) * leaf + ONE) * columns
            )  # fmt: skip


@njit(nogil=True)
def _mark(cells, begin, runs, first, stop, place, inside, failed):
    """Note for some rows how many features' tests they fail: the first of these, the last, and their sum."""
    rows = u8(inside.size)
    for i in range(rows):
        inside[i] = 0
    for run in range(first, stop):
        low, high = runs[run, 0], runs[run, 1]
        for i in range(rows):
            cell = cells[begin + i]
            inside[i] += i4((cell >= low) & (cell < high))
    for i in range(rows):
        fails = i4(1) - inside[i]
        failed[1, i] = place if (fails > 0) & (failed[0, i] == 0) else failed[1, i]
        failed[2, i] = place if fails > 0 else failed[2, i]
        failed[3, i] += fails * place
        failed[0, i] += fails


@njit(nogil=True)
def _add(influence, at, amounts, item, lacks, columns):
    """Add what an item gives a row that lacks some of its features."""
    for c in range(columns):
        influence[at + c] += amounts[item, lacks, c]


@njit(nogil=True)
def _lacks(places, item, most, count, first, last, total):
    """Return which of an item's features a row fails, or none of its parts where it fails others as well."""
    lacks, found = ZERO, 0
    for way in range(most):
        place = places[item, way]
        fails = (place == first) | (place == last) | ((count == 3) & (place == total - first - last))
        if (place >= 0) & fails:
            lacks |= ONE << way
            found += 1
    return lacks if found == count else ONE << most


@kernel(
    void(
        u8, u8, i8[::1], i4[::1], i8[::1], i8[::1], i4[:, ::1], i4[:, ::1], i8[::1], i4[::1], i4[:, ::1],
        i4[::1], f8[:, :, ::1], u8, u8, i4[::1], i4[:, ::1], i4[::1], f8[::1]
    ),
)  # fmt: skip
def spread(
    begin, width, leaf_first, leaf_feature, run_first, run_stop, runs, cells, item_first, item_group,
    item_places, margin, amounts, margins, more, inside, failed, item_of, influence
):  # fmt: skip
    """Add to the influence of some rows what belongs to the features of a group whose tests they fail alone.

    A row that fails the tests of more features than a group has, or of others, has no part in it: few rows
    fail so few, and each counts in few groups, which are found by the features it fails.
    """
    rows, most, columns = u8(inside.size), u8(item_places.shape[1]), u8(amounts.shape[2])
    for leaf in range(u8(margin.size)):
        first, here = u8(leaf_first[leaf]), u8(leaf_first[leaf + ONE] - leaf_first[leaf])
        item, stop = u8(item_first[leaf]), u8(item_first[leaf + ONE])
        if item == stop:
            continue
        failed[0] = 0
        failed[3] = 0
        for place in range(here):
            at = first + place
            _mark(
                cells[u8(leaf_feature[at])], begin, runs, u8(run_first[at]), u8(run_stop[at]), i4(place),
                inside, failed
            )  # fmt: skip
        two = most == u8(2)
        if two:
            item_of[: here * here] = -1
            for number in range(item, stop):
                one, other = u8(item_places[number, 0]), u8(item_places[number, 1])
                item_of[one * here + other] = i4(number)
                item_of[other * here + one] = i4(number)
        shift = u8(max(margin[leaf], 0)) * more
        for i in range(rows):
            count = failed[0, i]
            if count > i4(most):
                continue
            base = i * width + shift
            if two & (count == 2):
                number = item_of[u8(failed[1, i]) * here + u8(failed[2, i])]
                if number >= 0:
                    group = u8(item_group[u8(number)])
                    _add(influence, base + group * margins, amounts, u8(number), u8(3), columns)
            elif two & (count == 1):
                for place in range(here):
                    number = item_of[u8(failed[1, i]) * here + place]
                    if number >= 0:
                        lacks = ONE if item_places[u8(number), 0] == failed[1, i] else u8(2)
                        group = u8(item_group[u8(number)])
                        _add(influence, base + group * margins, amounts, u8(number), lacks, columns)
            else:
                for number in range(item, stop):
                    lacks = ZERO
                    if count > 0:
                        lacks = _lacks(
                            item_places, number, most, count, failed[1, i], failed[2, i], failed[3, i]
                        )
                    if lacks >> most == ZERO:
                        group = u8(item_group[number])
                        _add(influence, base + group * margins, amounts, number, lacks, columns)
