"""Counts and weights of rows at slots, with masks and with lists of rows."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u1, u2, u4, u8, void

from paribus._kernels import preorder
from paribus._kernels.jit.bits import count, count_both, lowest, store_both, store_left, store_right
from paribus._kernels.jit.common import ONE, ZERO, helper, kernel
from paribus._kernels.jit.masks import SIX, mask_rows, mask_tests
from paribus._kernels.program import (
    BELOW,
    BOTH_COUNTED,
    CODE,
    CUT_AT,
    FROM,
    LEFT_COUNTED,
    NEITHER,
    RIGHT_COUNTED,
)

WORDS, LANES = u8(preorder.WORDS), u8(preorder.LANES)
ROWS = u8(64 * preorder.WORDS)


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[:, ::1], i4[:, ::1], u8[::1], u8[::1],
        u8[::1], u2[::1], f8[::1]
    ),
)  # fmt: skip
def cover_by_masks(
    codes, n_codes, conditions, truth, steps, parted, whole, pool, buckets, masks, tallies, counts
):
    """Add the number of rows at the slots of shallow trees, as `MaskSchedule` describes."""
    for first in range(ZERO, u8(codes.shape[1]), ROWS):
        rows = min(ROWS, u8(codes.shape[1]) - first)
        mask_tests(codes, first, rows, n_codes, conditions, truth, buckets, masks, WORDS)
        mask_rows(pool, rows, WORDS)
        for step in range(u8(steps.shape[0]) - ONE):
            test, kind = u8(steps[step, 0]) * WORDS, steps[step, 1]
            for i in range(u8(steps[step, 2]), u8(steps[step + ONE, 2])):
                at, left, right = u8(parted[i, 0]), u8(parted[i, 1]), u8(parted[i, 2])
                if kind == BOTH_COUNTED:
                    count_both(pool, at, masks, test, tallies, left, right)
                elif kind == NEITHER:
                    store_both(pool, at, masks, test, tallies, left, right)
                elif kind == LEFT_COUNTED:
                    store_right(pool, at, masks, test, tallies, left, right)
                else:
                    store_left(pool, at, masks, test, tallies, left, right)
            for i in range(u8(steps[step, 3]), u8(steps[step + ONE, 3])):
                count(pool, u8(whole[i, 0]), tallies, u8(whole[i, 1]))
    for slot in range(u8(counts.size)):
        total = ZERO
        for lane in range(LANES):
            total += u8(tallies[slot * LANES + lane])
        counts[slot] += f8(total)


@helper
def _word_weight(word, weights, at):
    """Return the weight of the rows in a word, whose first row is ``at``."""
    total = 0.0
    while word:
        total += weights[at + lowest(word)]
        word &= word - ONE
    return total


@helper
def _split_mask(pool, at, masks, test, weights, first, left, left_counted, right, right_counted, counts):
    """Split a mask by a test, and store the rows on each side or add their weight."""
    passed, failed = 0.0, 0.0
    for w in range(WORDS):
        word = pool[at + w]
        met = word & masks[test + w]
        if left_counted:
            passed += _word_weight(met, weights, first + (w << SIX))
        else:
            pool[left + w] = met
        if right_counted:
            failed += _word_weight(word ^ met, weights, first + (w << SIX))
        else:
            pool[right + w] = word ^ met
    if left_counted:
        counts[left // LANES] += passed
    if right_counted:
        counts[right // LANES] += failed


@kernel(
    void(
        i4[:, ::1], f8[::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[:, ::1], i4[:, ::1], u8[::1],
        u8[::1], u8[::1], f8[::1]
    ),
)  # fmt: skip
def weigh_by_masks(
    codes, weights, n_codes, conditions, truth, steps, parted, whole, pool, buckets, masks, counts
):
    """Add the weight of rows at the slots of shallow trees, as `MaskSchedule` describes."""
    for first in range(ZERO, u8(codes.shape[1]), ROWS):
        rows = min(ROWS, u8(codes.shape[1]) - first)
        mask_tests(codes, first, rows, n_codes, conditions, truth, buckets, masks, WORDS)
        mask_rows(pool, rows, WORDS)
        for step in range(u8(steps.shape[0]) - ONE):
            test, kind = u8(steps[step, 0]) * WORDS, steps[step, 1]
            left_counted = (kind == BOTH_COUNTED) | (kind == LEFT_COUNTED)
            right_counted = (kind == BOTH_COUNTED) | (kind == RIGHT_COUNTED)
            for i in range(u8(steps[step, 2]), u8(steps[step + ONE, 2])):
                at, left, right = u8(parted[i, 0]), u8(parted[i, 1]), u8(parted[i, 2])
                _split_mask(
                    pool, at, masks, test, weights, first, left, left_counted, right, right_counted, counts
                )
            for i in range(u8(steps[step, 3]), u8(steps[step + ONE, 3])):
                for w in range(WORDS):
                    word = pool[u8(whole[i, 0]) + w]
                    counts[u8(whole[i, 1]) // LANES] += _word_weight(word, weights, first + (w << SIX))


NODES, LISTS = i4[:, ::1], u4[::1]


@helper
def _split_list(nodes, node, codes, truth, owner, step, shift, lists, base, n):
    """Write the lists of rows of both children; return the number of rows of the left and the right one.

    An element has a row and the set of features that must be free for it to reach the node. A row also goes
    to the other child if the union of its set with the tested feature is in the family.
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
def list_rows(lists, n, root, waiting):
    """Write the list of all rows at a root and push the root on the stack; return the size of the stack."""
    for i in range(n):
        lists[i] = u4(i)
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = root, ZERO, n
    return ONE


@helper
def next_leaf(nodes, codes, truth, owner, step, shift, lists, waiting, top):
    """Pop a node and descend to a leaf.

    Return the leaf, where its rows begin, their number, and the size of the stack.
    """
    top -= ONE
    node, base, n = waiting[top, 0], waiting[top, 1], waiting[top, 2]
    while nodes[node, CODE] >= 0:
        on_left, on_right = _split_list(nodes, node, codes, truth, owner, step, shift, lists, base, n)
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
        i4[:, ::1], f8[::1], NODES, i8[::1], u1[::1], i4[::1], i4[:, ::1], u8, i4[:, ::1], i4[::1], LISTS,
        u8[:, ::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def cover_by_lists(
    codes, weights, nodes, roots, truth, owner, step, shift, parts, slot_set, lists, waiting, exactly, counts
):
    """Add the weight of rows at each slot of deep trees."""
    low = (ONE << shift) - ONE
    for tree in range(u8(roots.size)):
        top = list_rows(lists, u8(codes.shape[1]), u8(roots[tree]), waiting)
        while top:
            node, base, n, top = next_leaf(nodes, codes, truth, owner, step, shift, lists, waiting, top)
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
