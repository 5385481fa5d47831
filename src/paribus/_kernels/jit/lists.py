"""Rows as lists, for trees whose masks would be mostly empty.

A word of a list is a row and, from bit ``shift`` on, the set of features that it violates on the way. The
lists of nodes on the way lie one behind another: that of a right child over its parent's, where it waits
until the left one, behind it, is done with. So each row is tested once at a node it reaches.
"""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u1, u4, u8, void

from paribus._kernels.jit.common import ONE, ZERO, helper, kernel
from paribus._kernels.program import BELOW, CODE, CUT_AT, FROM

NODES, ROWS = i4[:, ::1], u4[::1]


@helper
def _split(nodes, node, codes, truth, owner, step, shift, lists, base, n):
    """List the rows of a node for its children; return how many go left, and how many right.

    A row that fails a child's test goes there too if its set with the tested feature is requested.
    """
    column, cut, since = u8(nodes[node, CODE]), nodes[node, CUT_AT], nodes[node, FROM]
    feature, low, behind = u8(owner[column]), (ONE << shift) - ONE, base + n
    on_left, on_right = ZERO, ZERO
    for i in range(n):
        word = u8(lists[base + i])
        row = word & low
        code = codes[column, row]
        left = (code <= cut) | (code >= since) if since >= 0 else truth[u8(cut) + u8(code)] > 0
        union = step[word >> shift, feature]
        failed = row | (u8(union) << shift)
        lists[behind + on_left] = u4(word if left else failed)
        lists[base + on_right] = u4(failed if left else word)
        on_left += u8(left | (union >= 0))
        on_right += u8((not left) | (union >= 0))
    return on_left, on_right


@helper
def all_rows(lists, n):
    """List all rows at a root."""
    for i in range(n):
        lists[i] = u4(i)


@helper
def descend(nodes, node, codes, truth, owner, step, shift, lists, waiting, base, n, top):
    """Go left until a leaf is reached; return it, where its rows are, and how many right children wait."""
    while nodes[node, CODE] >= 0:
        on_left, on_right = _split(nodes, node, codes, truth, owner, step, shift, lists, base, n)
        if on_right:
            waiting[top, 0], waiting[top, 1], waiting[top, 2] = u8(nodes[node, BELOW]), base, on_right
            top += ONE
        if on_left:
            node, base, n = node + ONE, base + n, on_left
        else:
            top -= ONE
            node, base, n = waiting[top, 0], waiting[top, 1], waiting[top, 2]
    return node, base, n, top


@kernel(
    void(
        i4[:, ::1], f8[::1], NODES, i8[::1], u1[::1], i4[::1], i4[:, ::1], u8, i4[:, ::1], i4[::1], ROWS,
        u8[:, ::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def cover_by_lists(
    codes, weights, nodes, roots, truth, owner, step, shift, parts, slot_set, lists, waiting, exactly, counts
):
    """Add the rows at each slot of deep trees."""
    low = (ONE << shift) - ONE
    for tree in range(u8(roots.size)):
        node, base, n, top = u8(roots[tree]), ZERO, u8(codes.shape[1]), ZERO
        all_rows(lists, n)
        while True:
            node, base, n, top = descend(
                nodes, node, codes, truth, owner, step, shift, lists, waiting, base, n, top
            )
            for i in range(n):
                word = u8(lists[base + i])
                exactly[word >> shift] += weights[word & low] if weights.size else 1.0
            first, stop = u8(nodes[node, CUT_AT]), u8(nodes[node, BELOW])
            for slot in range(first, stop):
                total = 0.0
                for part in range(u8(parts.shape[1])):
                    total += exactly[u8(parts[u8(slot_set[slot]), part])]
                counts[slot] += total
            for slot in range(first, stop):
                exactly[u8(slot_set[slot])] = 0.0
            if top == ZERO:
                break
            top -= ONE
            node, base, n = waiting[top, 0], waiting[top, 1], waiting[top, 2]
