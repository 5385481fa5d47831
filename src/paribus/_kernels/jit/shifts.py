"""Changes of rows with one feature moved, for ALE: with masks of rows and row by row."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, u1, u8, void

from paribus._kernels.jit.bits import differ, lowest, meet
from paribus._kernels.jit.common import CHUNK, ONE, TWO, ZERO, helper, kernel
from paribus._kernels.jit.masks import SIX, WORDS, fill_masks, mask_rows
from paribus._kernels.program import ABOVE, ACTIVE, DEPTH, LANE, MARGIN, NODE, SIDE, SLOT, TEST, UPS

BOTH = TWO * WORDS  # words of two masks


@helper
def _descend_moved_masks(entries, entry, up, ends, most, pool, masks):
    """Write the masks of an inner node: one for the rows' own values, and two per feature on the path."""
    n, level = u8(entries[entry, ABOVE]), u8(entries[entry, DEPTH])
    here, above = level * most * BOTH, (level - ONE) * most * BOTH
    number, flip = u8(entries[entry, TEST]), ZERO - u8(entries[entry, SIDE])
    test, tested = number * WORDS, up[u8(entries[entry, UPS])]
    low, high = u8(ends[0, number]) * WORDS, u8(ends[1, number]) * WORDS
    meet(pool, above, masks, test, flip, here)
    for a in range(BOTH, n * BOTH, WORDS):
        meet(pool, above + a, masks, test, flip, here + a)
    if tested >= 0:
        to = u8(tested) * BOTH
        at = above + to if tested < i4(n) else above
        also = at + WORDS if tested < i4(n) else above
        meet(pool, at, masks, low, flip, here + to)
        meet(pool, also, masks, high, flip, here + to + WORDS)


@helper
def _find_moved_rows(
    entries, entry, up, ends, most, slot_set, targets, own, pool, masks, found, sums_of, n
):  # fmt: skip
    """Find the rows that reach a leaf, and those that reach it at only one of the two values of a move.

    ``sums_of (n, 3)``: the leaf, which words of ``found`` are nonzero, and the position of row 0 in the sums.
    """
    above, nothing = (u8(entries[entry, DEPTH]) - ONE) * most * BOTH, u8(pool.size) - WORDS
    number, flip = u8(entries[entry, TEST]), ZERO - u8(entries[entry, SIDE])
    test, tested = number * WORDS, up[u8(entries[entry, UPS])]
    if own:
        which = differ(pool, nothing, above, masks, test, test, flip, found, n * BOTH)
        sums_of[n, 0], sums_of[n, 1], sums_of[n, 2] = entry, which, ZERO
        n += ONE
    for a in range(ONE, u8(entries[entry, ACTIVE])):
        low = u8(ends[0, number]) * WORDS if i4(a) == tested else test
        high = u8(ends[1, number]) * WORDS if i4(a) == tested else test
        at = above + a * BOTH if a < u8(entries[entry, ABOVE]) else above  # or the first test of it
        to = at + WORDS if a < u8(entries[entry, ABOVE]) else above
        feature = u8(slot_set[u8(entries[entry, SLOT]) + a]) - ONE
        place = u8(targets[feature, 0]) * CHUNK
        if targets[feature, 1]:
            which = differ(pool, above, at, masks, test, low, flip, found, n * BOTH)
            sums_of[n, 0], sums_of[n, 1], sums_of[n, 2] = entry, which, place
            n += u8(which != ZERO)
            at, low, place = above, test, place + CHUNK
        which = differ(pool, at, to, masks, low, high, flip, found, n * BOTH)
        sums_of[n, 0], sums_of[n, 1], sums_of[n, 2] = entry, which, place
        n += u8(which != ZERO)
    return n


@helper
def _add_found_rows(entries, value, wide, found, sums_of, n, sums):
    """Add the value of leaves to rows that reach them only after a move; subtract it if only before."""
    for m in range(u8(value.shape[1])):
        for q in range(n):
            leaf, which = sums_of[q, 0], sums_of[q, 1]
            margin = m if entries[leaf, MARGIN] < 0 else u8(entries[leaf, MARGIN])
            start, amount = sums_of[q, 2] + margin * wide, value[u8(entries[leaf, NODE]), m]
            while which:
                w = lowest(which)
                which &= which - ONE
                word, gained = found[q * BOTH + w], found[q * BOTH + WORDS + w]
                while word:
                    bit = lowest(word)
                    word &= word - ONE
                    sums[start + (w << SIX) + bit] += amount if gained >> bit & ONE else -amount


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[:, ::1], i4[::1], i4[:, ::1], u1[::1],
        i4[:, ::1], i4[:, ::1], i4[::1], i4[::1], i4[:, ::1], f8[:, ::1], u8, u8, u8, u8[::1], u8[::1],
        u8[::1], u8[::1], u8[::1], u8[::1], u8[:, ::1], f8[::1], f8[:, ::1]
    ),
)  # fmt: skip
def move_by_masks(
    codes, n_codes, conditions, truth, lower, upper, n_values, tests, tables, ends, entries, up, slot_set,
    targets, value, own, wide, most, pool, buckets, masks, lower_masks, upper_masks, found, sums_of, sums,
    moved
):  # fmt: skip
    """Write the changes of rows by moves, a chunk at a time, after the margins of rows if ``own`` is set.

    ``lower_masks`` and ``upper_masks`` are parts of ``masks``. ``ends (2, c)`` are the numbers of the masks
    of a condition with its feature at the lower and at the upper value.
    """
    full, last = u8(sums_of.shape[0]) - TWO * most, u8(entries.shape[0])
    for first in range(ZERO, u8(codes.shape[1]), CHUNK):
        rows, n = min(CHUNK, u8(codes.shape[1]) - first), ZERO
        fill_masks(codes, first, rows, n_codes, conditions, truth, buckets, masks)
        fill_masks(lower, first, rows, n_values, tests, tables, buckets, lower_masks)
        fill_masks(upper, first, rows, n_values, tests, tables, buckets, upper_masks)
        mask_rows(pool, rows, WORDS)
        for i in range(u8(sums.size)):
            sums[i] = 0.0
        for entry in range(last):
            if entries[entry, ABOVE]:
                if entries[entry, SLOT] < 0:
                    _descend_moved_masks(entries, entry, up, ends, most, pool, masks)
                else:
                    n = _find_moved_rows(
                        entries, entry, up, ends, most, slot_set, targets, own, pool, masks, found, sums_of, n
                    )  # fmt: skip
            elif own and entries[entry, SLOT] >= 0:  # a tree with one leaf
                # Add the pending leaves first: the order of additions to a row must not depend on other rows.
                _add_found_rows(entries, value, wide, found, sums_of, n, sums)
                n = ZERO
                for i in range(rows):
                    for m in range(u8(value.shape[1])):
                        margin = m if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
                        sums[margin * wide + i] += value[u8(entries[entry, NODE]), m]
            if n > full or entry + ONE == last:
                _add_found_rows(entries, value, wide, found, sums_of, n, sums)
                n = ZERO
        for target in range(u8(moved.shape[0])):
            for i in range(rows):
                moved[target, first + i] = sums[target * CHUNK + i]


WIDE = u8(LANE)
TOP = u8(1) << u8(LANE - 1)  # highest bit of the first code
TOPS = TOP | TOP << WIDE | TOP << (WIDE + WIDE)
CODE = TOP - u8(1)


@helper
def _looked_up(truth, table, word):
    """Return which of the three codes of a word go right at a test of categories, as bits of ``TOPS``."""
    result = ZERO
    for lane in range(u8(3)):
        code = word >> (lane * WIDE) & CODE
        result |= u8(truth[u8(table) + code] == 0) << (lane * WIDE + WIDE - ONE)
    return result


@helper
def _right_bits(cut, table, truth, node, word):
    """Return which of the three codes of a word go right at a node, as bits of ``TOPS``."""
    less = cut[node]
    if less == ZERO:
        return _looked_up(truth, table[node], word)
    return (word - less) & TOPS


@helper
def _descend(word, cut, table, child, truth, words, long, first, at, count, parting):
    """Move rows, none of which is at a leaf, to a child; return the size of ``parting``.

    ``parting`` lists the rows for which a moved value goes to the other child, with the node. Rows are
    independent, so that the processor executes several of them at once.
    """
    parts = ZERO
    for i in range(count):
        node = at[i]
        went = _right_bits(cut, table, truth, node, words[(first + i) * long + u8(word[node])])
        parting[parts, 0], parting[parts, 1] = i, node
        parts += u8((went != ZERO) & (went != TOPS))
        at[i] = u8(child[node * TWO + (went >> (WIDE - ONE) & ONE)])
    return parts


@helper
def _descend_some(word, cut, table, child, truth, words, long, first, at, active, count, parting):
    """Move the active rows to a child; return how many are not at a leaf, and the size of ``parting``."""
    still, parts = ZERO, ZERO
    for j in range(count):
        i = active[j]
        node = at[i]
        went = _right_bits(cut, table, truth, node, words[(first + i) * long + u8(word[node])])
        parting[parts, 0], parting[parts, 1] = i, node
        parts += u8((went != ZERO) & (went != TOPS))
        to = u8(child[node * TWO + (went >> (WIDE - ONE) & ONE)])
        at[i] = to
        active[still] = i
        still += u8(word[to] >= 0)
    return still, parts


@helper
def _list_parted_rows(
    word, cut, table, child, truth, owner, words, long, first, met, mark, parting, parts, apart, parted
):  # fmt: skip
    """List the moved rows that leave the path of their row, which happens at most once in a tree.

    ``apart (p, 4)``: the node a moved row goes to, where the words of its row begin, its feature and side,
    and the number of its row and move.
    """
    moves = u8(met.shape[1])
    for p in range(parts):
        i, node = parting[p, 0], parting[p, 1]
        begin = (first + i) * long
        went = _right_bits(cut, table, truth, node, words[begin + u8(word[node])])
        right, feature = went >> (WIDE - ONE) & ONE, u8(owner[u8(word[node])])
        for side in (ONE, TWO):
            move = feature * TWO + side - ONE
            here = (went >> (side * WIDE + WIDE - ONE) & ONE) != right
            apart[parted, 0], apart[parted, 1] = u8(child[node * TWO + (ONE - right)]), begin
            apart[parted, 2], apart[parted, 3] = feature << TWO | side, i * moves + move
            parted += u8(here & (met[i, move] != mark))
            met[i, move] = mark if here else met[i, move]
    return parted


@helper
def _follow_parted_rows(word, cut, table, child, truth, owner, words, apart, active, parted):
    """Move the rows of ``apart`` to their leaves."""
    count = ZERO
    for p in range(parted):
        active[count] = p
        count += u8(word[apart[p, 0]] >= 0)
    while count > ZERO:
        still = ZERO
        for j in range(count):
            p = active[j]
            node = apart[p, 0]
            column = u8(word[node])
            went = _right_bits(cut, table, truth, node, words[apart[p, 1] + column])
            mine = u8(owner[column] == i4(apart[p, 2] >> TWO))
            lane = mine * (apart[p, 2] & u8(3))
            to = u8(child[node * TWO + (went >> (lane * WIDE + WIDE - ONE) & ONE)])
            apart[p, 0] = to
            active[still] = p
            still += u8(word[to] >= 0)
        count = still


@helper
def _add_leaf(value, leaf, margin, sign, sums, first, margins):
    """Add the signed value of a leaf to one margin, or to all."""
    if margin >= 0:
        sums[first + u8(margin)] += sign * value[leaf, ZERO]
    else:
        for m in range(margins):
            sums[first + m] += sign * value[leaf, m]


@kernel(
    void(
        i4[::1], u8[::1], i4[::1], i4[::1], u1[::1], i4[::1], i4[::1], i4[::1], i4[::1], f8[:, ::1],
        u8[:, ::1], i4[:, ::1], u8[::1], u8[:, ::1], u8[:, ::1], u8[::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def shift(
    word, cut, table, child, truth, owner, roots, even, margin, value, rows, met, at, parting, apart, active,
    plain, moved
):  # fmt: skip
    """Add the margins of rows to ``plain``, and their changes if a feature is moved to ``moved``.

    See `Packed` for the nodes and the words of the rows; ``owner`` is the feature of a word. The other arrays
    are buffers for the rows that descend a tree together. ``met`` has, per row and move, the last tree in
    which the moved row left the path of its row.
    """
    total, long, size, moves = u8(rows.shape[0]), u8(rows.shape[1]), u8(met.shape[0]), u8(met.shape[1])
    margins, words = u8(plain.size) // total, rows.reshape(-1)
    for first in range(ZERO, total, size):
        some = min(size, total - first)
        for i in range(some):
            for move in range(moves):
                met[i, move] = -1
        for t in range(u8(roots.size)):
            for i in range(some):
                at[i] = u8(roots[t])
            parted, level, count = ZERO, 0, ZERO
            while level < even[t] or count > ZERO:
                if level < even[t]:
                    parts = _descend(word, cut, table, child, truth, words, long, first, at, some, parting)
                else:
                    count, parts = _descend_some(
                        word, cut, table, child, truth, words, long, first, at, active, count, parting
                    )
                level += 1
                if level == even[t]:
                    for i in range(some):
                        active[count] = i
                        count += u8(word[at[i]] >= 0)
                parted = _list_parted_rows(
                    word, cut, table, child, truth, owner, words, long, first, met, i4(t), parting, parts,
                    apart, parted
                )  # fmt: skip
            for i in range(some):
                _add_leaf(value, at[i], margin[t], 1.0, plain, (first + i) * margins, margins)
            _follow_parted_rows(word, cut, table, child, truth, owner, words, apart, active, parted)
            for p in range(parted):
                own = at[apart[p, 1] // long - first]
                to = (first * moves + apart[p, 3]) * margins
                _add_leaf(value, apart[p, 0], margin[t], 1.0, moved, to, margins)
                _add_leaf(value, own, margin[t], -1.0, moved, to, margins)


THREE = u8(3)


@kernel(void(i4[::1], f8[::1], f8[::1], f8[::1], f8[::1], f8[:, ::1]))
def collect(cells, numbers, edges, widths, changes, sums):
    """Write the moments of the changes of the rows in each bin; see `reference.collect`."""
    for i in range(u8(cells.size)):
        cell = u8(cells[i])
        sums[ZERO, cell] += 1.0
        sums[ONE, cell] += changes[i]
        sums[THREE, cell] += (numbers[i] - edges[cell]) / widths[cell]
    for cell in range(u8(sums.shape[1])):
        if sums[ZERO, cell] > 0.0:
            sums[ONE, cell] *= 1.0 / sums[ZERO, cell]
    for i in range(u8(cells.size)):
        cell = u8(cells[i])
        apart = changes[i] - sums[ONE, cell]
        sums[TWO, cell] += apart * apart
