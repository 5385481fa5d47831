"""Rows followed one by one, and where they would end with one feature moved.

Most rows pass the tests of a feature alike before and after a small move, so that only few have to be
followed apart from themselves: all features together cost about what two predictions do.
"""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, u1, u8, void

from paribus._kernels.jit.common import helper, kernel
from paribus._kernels.program import LANE

WIDE = u8(LANE)
ZERO, ONE, TWO = u8(0), u8(1), u8(2)
TOP = u8(1) << u8(LANE - 1)  # of the first code
TOPS = TOP | TOP << WIDE | TOP << (WIDE + WIDE)
CODE = TOP - u8(1)


@helper
def _looked_up(truth, table, word):
    """Return the result of a test of categories in the form of any other: a bit where a code goes right."""
    result = ZERO
    for lane in range(u8(3)):
        code = word >> (lane * WIDE) & CODE
        result |= u8(truth[u8(table) + code] == 0) << (lane * WIDE + WIDE - ONE)
    return result


@helper
def _tested(cut, table, truth, node, word):
    """Return which of the three codes of a word go right."""
    less = cut[node]
    if less == ZERO:
        return _looked_up(truth, table[node], word)
    return (word - less) & TOPS


@helper
def _descend(word, cut, table, child, truth, words, long, first, at, count, parting):
    """Lead rows one node down, none of which is at a leaf; return how many a move of which parts there.

    None waits for another: the processor has several under way at once. ``parting`` lists the rows a move of
    which would go the other way, and from where.
    """
    parts = ZERO
    for i in range(count):
        node = at[i]
        went = _tested(cut, table, truth, node, words[(first + i) * long + u8(word[node])])
        parting[parts, 0], parting[parts, 1] = i, node
        parts += u8((went != ZERO) & (went != TOPS))
        at[i] = u8(child[node * TWO + (went >> (WIDE - ONE) & ONE)])
    return parts


@helper
def _descend_some(word, cut, table, child, truth, words, long, first, at, active, count, parting):
    """Lead the active rows one node down; return how many are at no leaf then, and how many a move parts."""
    still, parts = ZERO, ZERO
    for j in range(count):
        i = active[j]
        node = at[i]
        went = _tested(cut, table, truth, node, words[(first + i) * long + u8(word[node])])
        parting[parts, 0], parting[parts, 1] = i, node
        parts += u8((went != ZERO) & (went != TOPS))
        to = u8(child[node * TWO + (went >> (WIDE - ONE) & ONE)])
        at[i] = to
        active[still] = i
        still += u8(word[to] >= 0)
    return still, parts


@helper
def _part(
    word, cut, table, child, truth, owner, words, long, first, met, mark, parting, parts, apart, parted
):  # fmt: skip
    """List the rows that are followed apart: a move parts from its row once in a tree.

    ``apart (p, 4)``: the node it goes to, where its row's words begin, its feature and side, its row and
    move.
    """
    moves = u8(met.shape[1])
    for p in range(parts):
        i, node = parting[p, 0], parting[p, 1]
        begin = (first + i) * long
        went = _tested(cut, table, truth, node, words[begin + u8(word[node])])
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
def _follow(word, cut, table, child, truth, owner, words, apart, active, parted):
    """Lead the rows that are followed apart to their leaves."""
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
            went = _tested(cut, table, truth, node, words[apart[p, 1] + column])
            mine = u8(owner[column] == i4(apart[p, 2] >> TWO))
            lane = mine * (apart[p, 2] & u8(3))
            to = u8(child[node * TWO + (went >> (lane * WIDE + WIDE - ONE) & ONE)])
            apart[p, 0] = to
            active[still] = p
            still += u8(word[to] >= 0)
        count = still


@helper
def _add(value, leaf, margin, sign, sums, first, margins):
    """Add what a leaf gives to one margin, or to all."""
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
    """Add each row's own margins to ``plain``, and to ``moved`` by how much they differ with a feature moved.

    See `Packed` for the nodes and the words of the rows; ``owner`` is that of a word. The other arrays are
    room for what is known of some rows in a tree: ``met`` has the last one in which a move parted from its
    row.
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
                parted = _part(
                    word, cut, table, child, truth, owner, words, long, first, met, i4(t), parting, parts,
                    apart, parted
                )  # fmt: skip
            for i in range(some):
                _add(value, at[i], margin[t], 1.0, plain, (first + i) * margins, margins)
            _follow(word, cut, table, child, truth, owner, words, apart, active, parted)
            for p in range(parted):
                own = at[apart[p, 1] // long - first]
                to = (first * moves + apart[p, 3]) * margins
                _add(value, apart[p, 0], margin[t], 1.0, moved, to, margins)
                _add(value, own, margin[t], -1.0, moved, to, margins)
