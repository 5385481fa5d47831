"""Curves of rows with masks and with lists of rows, and averages of curves."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u1, u4, u8, void

from paribus._kernels.jit.common import ONE, ZERO, helper, kernel
from paribus._kernels.jit.coverage import list_rows, next_leaf
from paribus._kernels.jit.masks import WORDS, descend_masks, fill_masks, listed, mask_rows
from paribus._kernels.program import (
    ABOVE,
    ACTIVE,
    BELOW,
    COLUMN,
    CUT,
    CUT_AT,
    DEPTH,
    END,
    MARGIN,
    MISSING_LEFT,
    NODE,
    SIDE,
    SLOT,
    TABLE,
    TEST,
    UPS,
)


@helper
def _narrow_axis(conditions, number, n_codes, truth, axis_first, d, codes, r, right, reach, above, level):
    """Write which points pass a test on axis ``d``; return whether any point of this axis does.

    ``reach[above]`` are the points that reach the test.
    """
    for p in range(u8(codes.shape[1])):
        reach[u8(level), p] = reach[u8(above), p]
    column, cut, table = conditions[number, COLUMN], conditions[number, CUT], conditions[number, TABLE]
    from_here = n_codes[column] - 1 if conditions[number, MISSING_LEFT] else n_codes[column]
    some = False
    for p in range(u8(axis_first[d]), u8(axis_first[d + 1])):
        code = codes[u8(r), p]
        left = (code <= cut) | (code >= from_here) if table < 0 else truth[u8(table) + u8(code)] > 0
        if left == right:
            reach[u8(level), p] = 0
        some |= reach[u8(level), p] > 0
    return some


@helper
def _reaches_leading_axes(reach, level, axis_first, lead):
    """Return whether a point reaches on all axes but the last; ``lead`` indexes the product of these axes."""
    for d in range(axis_first.size - 3, -1, -1):
        size = axis_first[d + 1] - axis_first[d]
        if not reach[level, axis_first[d] + lead % size]:
            return False
        lead //= size
    return True


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[::1], i4[:, ::1], u1[::1], i4[::1], i4[::1], i4[::1], i4[:, ::1], f8[::1],
        f8[:, ::1], u1[:, ::1], i4[::1], i4[::1], f8[::1], f8[:, ::1]
    ),
)  # fmt: skip
def average(
    entries, up, n_codes, conditions, truth, row, axis, axis_first, codes, share, value, reach, at, tag,
    plain, averages
):  # fmt: skip
    """Add the average margin at each point of a grid."""
    begin = axis_first[axis_first.size - 2]
    last = axis_first[axis_first.size - 1] - begin
    entry = 0
    while entry < entries.shape[0]:
        level, number = entries[entry, DEPTH], entries[entry, TEST]
        if level == 0:
            for p in range(codes.shape[1]):
                reach[0, p] = 1
            at[0], tag[0] = 0, 0
        else:
            at[level], tag[level] = at[level - 1], tag[level - 1]
            r = row[number]
            if r >= 0:
                at[level], tag[level] = level, up[entries[entry, UPS] + tag[level - 1]]
                right = entries[entry, SIDE] > 0
                if not _narrow_axis(
                    conditions, number, n_codes, truth, axis_first, axis[r], codes, r, right, reach,
                    at[level - 1], level
                ):  # fmt: skip
                    entry = entries[entry, END]
                    continue
        if entries[entry, SLOT] >= 0:
            held = at[level]
            weight = share[entries[entry, SLOT] + tag[level]]
            for k in range(value.shape[1]):
                margin = k if entries[entry, MARGIN] < 0 else entries[entry, MARGIN]
                amount = weight * value[entries[entry, NODE], k]
                if tag[level] == 0:
                    plain[margin] += amount
                    continue
                for lead in range(averages.shape[1] // last):
                    if _reaches_leading_axes(reach, held, axis_first, lead):
                        for p in range(last):
                            averages[margin, lead * last + p] += amount * reach[held, begin + p]
        entry += 1
    for m in range(averages.shape[0]):
        for p in range(averages.shape[1]):
            averages[m, p] += plain[m]


@helper
def _add_to_rows(curves, at, members, first, stop, amount):
    """Add an amount to one point of the curves of rows; ``at`` is the position of this point of row 0."""
    for i in range(first, stop):
        curves[at + members[i]] += amount


@helper
def _add_visit(visits, number, edges, members, first, stop, amount, points, rows, margin, curves):
    """Add the changes by a leaf to the curves of rows that reach it if the features of a grid are free."""
    for edge in range(u8(visits[number, 2]), u8(visits[number, 3])):
        at = (margin * points + u8(edges[edge, 0])) * rows
        _add_to_rows(curves, at, members, first, stop, amount * f8(edges[edge, 1]))


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[::1], u8, u8[::1], u8[::1], u8[::1],
        u8[::1], u8[:, ::1], f8[:, ::1], i8[::1], i4[:, ::1], i4[:, ::1], u8, f8[::1], f8[::1]
    ),
)  # fmt: skip
def curves_by_masks(
    codes, n_codes, conditions, truth, entries, up, most, pool, kept, buckets, masks, members, value,
    visit_first, visits, edges, points, curves, plain
):  # fmt: skip
    """Add the changes of the curves of at most a chunk of rows in shallow trees."""
    rows = u8(codes.shape[1])
    own, free = members[ZERO], members[ONE]
    fill_masks(codes, ZERO, rows, n_codes, conditions, truth, buckets, masks)
    mask_rows(pool, rows, WORDS)
    for entry in range(u8(entries.shape[0])):
        if entries[entry, ABOVE]:
            descend_masks(entries, entry, up, kept, most, pool, masks)
        if entries[entry, SLOT] < 0:
            continue
        here, leaf = u8(entries[entry, DEPTH]) * most, u8(entries[entry, NODE])
        n_own = listed(pool, kept[here], own)
        for k in range(u8(value.shape[1])):
            amount = value[leaf, k]
            margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
            _add_to_rows(plain, margin * rows, own, ZERO, n_own, amount)
        for number in range(u8(visit_first[entry]), u8(visit_first[entry + ONE])):
            n_free = listed(pool, kept[here + u8(visits[number, 0])], free)
            for k in range(u8(value.shape[1])):
                amount = value[leaf, k]
                margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
                _add_visit(visits, number, edges, free, ZERO, n_free, amount, points, rows, margin, curves)
                start = (margin * points + u8(visits[number, 1])) * rows
                _add_to_rows(curves, start, own, ZERO, n_own, -amount)


@helper
def _add_edges(edges, first, stop, amount, curves, at, rows):
    """Add the changes by a leaf to the curve of a row; ``at`` is the position of its first point."""
    for edge in range(first, stop):
        curves[at + u8(edges[edge, 0]) * rows] += amount * f8(edges[edge, 1])


@helper
def _lies_in(parts, one, other):
    """Return whether one set is a subset of the other."""
    found = False
    for part in range(u8(parts.shape[1])):
        found |= u8(parts[other, part]) == one
    return found


@kernel(
    void(
        i4[:, ::1], i4[:, ::1], i8[::1], u1[::1], i4[::1], i4[:, ::1], u8, i4[:, ::1], i4[::1], u4[::1],
        u8[:, ::1], i4[:, ::1], f8[:, ::1], i8[::1], i4[:, ::1], i4[:, ::1], u8, f8[::1], f8[::1]
    ),
)  # fmt: skip
def curves_by_lists(
    codes, nodes, roots, truth, owner, step, shift, parts, slot_set, lists, waiting, entries, value,
    visit_first, visits, edges, points, curves, plain
):  # fmt: skip
    """Add the changes of the curves of rows in deep trees."""
    rows = u8(codes.shape[1])
    low = (ONE << shift) - ONE
    for tree in range(u8(roots.size)):
        top = list_rows(lists, rows, u8(roots[tree]), waiting)
        while top:
            node, base, n, top = next_leaf(nodes, codes, truth, owner, step, shift, lists, waiting, top)
            first = u8(nodes[node, CUT_AT])
            for k in range(u8(value.shape[1])):
                margin = k if entries[node, MARGIN] < 0 else u8(entries[node, MARGIN])
                amount = value[u8(entries[node, NODE]), k]
                for i in range(n):
                    row, own = u8(lists[base + i]) & low, u8(lists[base + i]) >> shift
                    at = margin * points * rows + row
                    if own == ZERO:
                        plain[margin * rows + row] += amount
                    for number in range(u8(visit_first[node]), u8(visit_first[node + ONE])):
                        if _lies_in(parts, own, u8(slot_set[first + u8(visits[number, 0])])):
                            begin, end = u8(visits[number, 2]), u8(visits[number, 3])
                            _add_edges(edges, begin, end, amount, curves, at, rows)
                        if own == ZERO:
                            curves[at + u8(visits[number, 1]) * rows] -= amount


@kernel(
    void(
        i4[:, ::1], i4[:, ::1], i8[::1], u1[::1], i4[::1], i4[:, ::1], u8, i4[::1], u8[::1], u4[::1],
        u8[:, ::1], i4[:, ::1], f8[:, ::1], i4[::1], i4[:, ::1], i4[:, ::1], u8, f8[::1], f8[::1]
    ),
)  # fmt: skip
def lines_by_lists(
    codes, nodes, roots, truth, owner, step, shift, slot_set, place, lists, waiting, entries, value, visit_of,
    visits, edges, points, curves, plain
):  # fmt: skip
    """Add the changes of the curves of rows in deep trees."""
    rows, low = u8(codes.shape[1]), (ONE << shift) - ONE
    for tree in range(u8(roots.size)):
        top = list_rows(lists, rows, u8(roots[tree]), waiting)
        while top:
            node, base, n, top = next_leaf(nodes, codes, truth, owner, step, shift, lists, waiting, top)
            first, stop = u8(nodes[node, CUT_AT]), u8(nodes[node, BELOW])
            for slot in range(first, stop):
                place[u8(slot_set[slot])] = slot
            for k in range(u8(value.shape[1])):
                margin = k if entries[node, MARGIN] < 0 else u8(entries[node, MARGIN])
                amount = value[u8(entries[node, NODE]), k]
                for i in range(n):
                    row, own = u8(lists[base + i]) & low, u8(lists[base + i]) >> shift
                    at = margin * points * rows + row
                    since, until = place[own], place[own] + ONE
                    if own == ZERO:  # the row reaches the leaf with any set free
                        plain[margin * rows + row] += amount
                        until = stop
                    for slot in range(since, until):
                        if visit_of[slot] >= 0:
                            number = u8(visit_of[slot])
                            begin, end = u8(visits[number, 1]), u8(visits[number, 2])
                            _add_edges(edges, begin, end, amount, curves, at, rows)
                            if own == ZERO:
                                curves[at + u8(visits[number, 0]) * rows] -= amount


@helper
def _narrow_line(
    conditions, number, n_codes, truth, right, codes, at, start, reach, above, level, span, edges, n
):  # fmt: skip
    """Write which points of a grid pass a test, and append the points at which this changes to ``n`` edges.

    ``span`` has, per level, the range of points outside which none reaches. ``above`` is the level of the
    previous test of the feature.
    """
    column, cut, table = conditions[number, COLUMN], conditions[number, CUT], conditions[number, TABLE]
    since = n_codes[column] - 1 if conditions[number, MISSING_LEFT] else n_codes[column]
    before, low, high = 0, u8(span[above, 0]), u8(span[above, 1])
    span[level, 0] = span[level, 1] = high
    for p in range(low, high):
        code = codes[at + p]
        left = (code <= cut) | (code >= since) if table < 0 else truth[u8(table) + u8(code)] > 0
        now = i8(reach[above, p]) if left != right else 0
        reach[level, p] = now
        if now != before:
            if n < u8(edges.shape[0]):
                edges[n, 0], edges[n, 1] = i4(start + p), i4(now - before)
            n += ONE
            span[level, 0] = p if now and span[level, 0] == high else span[level, 0]
            span[level, 1] = p
        before = now
    if before:
        span[level, 1] = high
    return n, before, high


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[::1], i4[::1], i8[::1], i4[::1], i4[::1], i8[::1],
        u1[:, ::1], i8[:, ::1], i8[:, ::1], i8[:, ::1], i4[::1], i4[:, ::1], i4[:, ::1], i8[::1]
    ),
)  # fmt: skip
def list_lines(
    entries, n_codes, conditions, truth, slot_set, grid_of, at, codes, set_grid, starts, reach, span, latest,
    saved, visit_of, visits, edges, totals
):  # fmt: skip
    """Write the visits and edges of tests of the features of grids, and the last visit on each slot's path.

    ``latest`` is the last visit of each grid on the current path and the level of its test; ``saved`` has its
    previous value per level. ``totals`` are the number of visits in previous trees and, as a result, the
    number of edges in these trees. Edges that do not fit in ``edges`` are only counted.
    """
    n_visits, n_edges, level = u8(totals[0]), u8(0), i8(-1)
    for entry in range(u8(entries.shape[0])):
        while level >= i8(entries[entry, DEPTH]):
            if saved[level, 0] >= 0:
                latest[saved[level, 0], 0], latest[saved[level, 0], 1] = saved[level, 1], saved[level, 2]
            level -= 1
        level = i8(entries[entry, DEPTH])
        number = u8(entries[entry, TEST])
        q = i8(grid_of[u8(conditions[number, COLUMN])]) if level > 0 else i8(-1)
        saved[level, 0] = q
        if q >= 0:
            saved[level, 1], saved[level, 2] = latest[q, 0], latest[q, 1]
            above, first = u8(latest[q, 1]), n_edges
            if latest[q, 0] < 0:  # no test yet: all points reach the root
                above, span[0, 0], span[0, 1] = u8(0), 0, starts[q + 1] - starts[q]
            n_edges, open_end, high = _narrow_line(
                conditions, number, n_codes, truth, entries[entry, SIDE] > 0, codes,
                u8(at[u8(conditions[number, COLUMN])]), u8(starts[q]), reach, above, u8(level), span, edges,
                n_edges
            )  # fmt: skip
            if open_end and high < u8(starts[q + 1] - starts[q]):
                if n_edges < u8(edges.shape[0]):
                    edges[n_edges, 0], edges[n_edges, 1] = i4(u8(starts[q]) + high), -1
                n_edges += ONE
            visits[n_visits, 0] = i4(starts[q])
            visits[n_visits, 1], visits[n_visits, 2] = i4(first), i4(n_edges)
            latest[q, 0], latest[q, 1] = i8(n_visits), level
            n_visits += ONE
        if entries[entry, SLOT] >= 0:
            slot = u8(entries[entry, SLOT])
            for a in range(u8(entries[entry, ACTIVE])):
                q = i8(set_grid[u8(slot_set[slot + a])])
                visit_of[slot + a] = i4(latest[q, 0]) if q >= 0 else i4(-1)
    totals[1] = i8(n_edges)


@kernel(
    void(i4[:, ::1], i4[::1], i4[:, ::1], i4[:, ::1], f8[::1], f8[:, ::1], f8[:, :, ::1], f8[:, ::1]),
)
def average_lines(entries, visit_of, visits, edges, share, value, curves, plain):
    """Add the changes of the average curves of grids."""
    for entry in range(u8(entries.shape[0])):
        if entries[entry, SLOT] < 0:
            continue
        first = u8(entries[entry, SLOT])
        for k in range(u8(value.shape[1])):
            margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
            amount = value[u8(entries[entry, NODE]), k]
            plain[margin, 0] += amount * share[first]
            for slot in range(first, first + u8(entries[entry, ACTIVE])):
                if visit_of[slot] >= 0:
                    number = u8(visit_of[slot])
                    curves[margin, u8(visits[number, 0]), 0] -= amount * share[first]
                    for edge in range(u8(visits[number, 1]), u8(visits[number, 2])):
                        curves[margin, u8(edges[edge, 0]), 0] += amount * share[slot] * f8(edges[edge, 1])


@kernel(
    void(
        i4[:, ::1], i4[:, ::1], i4[::1], i4[::1], i8[::1], f8[::1], f8[:, ::1], i8[:, ::1], i8[:, ::1],
        f8[:, ::1], f8[:, ::1], f8[::1]
    ),
)  # fmt: skip
def average_cells(
    entries, conditions, slot_set, column_of, first, share, value, reach, saved, steps, apart, plain
):  # fmt: skip
    """Add the changes of average margins along the codes of columns.

    ``column_of`` is the column of each set of one feature, -1 for other sets; ``first`` is where the codes of
    a column begin in ``steps``. ``reach`` has, per column, the first code that reaches the current entry, the
    code after the last, and whether missing values do; ``saved`` is its previous row per level. ``apart`` is
    the average at missing values, and ``plain`` that of all leaves with no feature free.
    """
    level = i8(-1)
    for entry in range(u8(entries.shape[0])):
        while level >= i8(entries[entry, DEPTH]):
            if level > 0:
                for k in range(3):
                    reach[saved[level, 3], k] = saved[level, k]
            level -= 1
        level = i8(entries[entry, DEPTH])
        if level > 0:
            number = u8(entries[entry, TEST])
            column, cut = u8(conditions[number, COLUMN]), i8(conditions[number, CUT]) + 1
            for k in range(3):
                saved[level, k] = reach[column, k]
            saved[level, 3] = i8(column)
            if entries[entry, SIDE] > 0:
                reach[column, 0] = max(reach[column, 0], cut)
                reach[column, 2] &= i8(conditions[number, MISSING_LEFT] == 0)
            else:
                reach[column, 1] = min(reach[column, 1], cut)
                reach[column, 2] &= i8(conditions[number, MISSING_LEFT] != 0)
        if entries[entry, SLOT] < 0:
            continue
        free = u8(entries[entry, SLOT])
        for k in range(u8(value.shape[1])):
            margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
            amount = value[u8(entries[entry, NODE]), k]
            plain[margin] += amount * share[free]
            for slot in range(free, free + u8(entries[entry, ACTIVE])):
                at = i8(column_of[u8(slot_set[slot])])
                if at >= 0:
                    begin = first[at]
                    steps[margin, begin] -= amount * share[free]
                    if reach[at, 0] < reach[at, 1]:
                        steps[margin, begin + reach[at, 0]] += amount * share[slot]
                        steps[margin, begin + reach[at, 1]] -= amount * share[slot]
                    gained = amount * share[slot] if reach[at, 2] else 0.0
                    apart[margin, at] += gained - amount * share[free]


@kernel(void(f8[:, :, ::1], f8[:, :, ::1]), math=("reassoc", "contract", "nsz"))
def multiply(curves, products):
    """Write the sums over rows of the products of two points: of two by four points at a time.

    The flags allow sums over rows in vector registers. Their order depends on the number of rows only.
    """
    last = curves.shape[1] - 1
    for o in range(curves.shape[0]):
        own, found = curves[o], products[o]
        for g in range(0, last + 1, 2):
            g1 = min(g + 1, last)
            for h in range(g, last + 1, 4):
                h1, h2, h3 = min(h + 1, last), min(h + 2, last), min(h + 3, last)
                a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
                for i in range(curves.shape[2]):
                    one, other = own[g, i], own[g1, i]
                    a0 += one * own[h, i]
                    a1 += one * own[h1, i]
                    a2 += one * own[h2, i]
                    a3 += one * own[h3, i]
                    b0 += other * own[h, i]
                    b1 += other * own[h1, i]
                    b2 += other * own[h2, i]
                    b3 += other * own[h3, i]
                found[g, h], found[g, h1], found[g, h2], found[g, h3] = a0, a1, a2, a3
                found[g1, h], found[g1, h1], found[g1, h2], found[g1, h3] = b0, b1, b2, b3
        for g in range(last + 1):
            for h in range(g):
                found[g, h] = found[h, g]
