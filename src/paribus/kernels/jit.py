"""The kernels of `reference`, compiled once per environment and cached.

Rows travel 64 to a machine word: a mask has a bit per row of a chunk of ``CHUNK`` rows. Trees that have
more leaves than that pays for are walked with lists of rows instead. No kernel checks its arguments: they
come from a `Program`, which is built from a checked ensemble. Places are unsigned, because a signed one is
tested for being negative, as Python's may be, at every access.
"""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, njit, u1, u8, void

from paribus.kernels import words
from paribus.kernels.words import lowest, meet, met

WORDS = u8(words.WORDS)  # of a mask: one cache line
CHUNK = u8(64 * words.WORDS)
SIX, LOW = u8(6), u8(63)  # a row's word, and its bit in the word
ZERO, ONE = u8(0), u8(1)
EVERY = u8(0xFFFFFFFFFFFFFFFF)
NARROW = u8(8)  # thresholds that are compared one after another

# Columns of the matrices a program is made of; see `program`.
COLUMN, CUT, MISSING_LEFT, TABLE = 0, 1, 2, 3
END, DEPTH, TEST, ABOVE, UPS, ACTIVE, SIDE, SLOT, NODE, MARGIN = range(10)


# ---------------------------------------------------------------- codes of numbers


@njit(void(f8[:], f8[::1], f8, i4[::1], i4[::1]), nogil=True, cache=True)
def rank(numbers, thresholds, scale, below, codes):
    """Write how many thresholds are smaller than each number; see `CodeColumn` for the cells."""
    size = thresholds.size
    for i in range(u8(numbers.size)):
        x = numbers[i]
        if x != x:
            codes[i] = size + 1
        elif size == 0 or x <= thresholds[ZERO]:
            codes[i] = 0
        elif x > thresholds[u8(size) - ONE]:
            codes[i] = size
        else:
            # Without a scale there is one cell; infinity times zero would be no place in it.
            cell = u8((x - thresholds[ZERO]) * scale) if scale > 0.0 else ZERO
            low, high = u8(below[cell]), u8(below[cell + ONE])
            while high - low > NARROW:
                middle = (low + high) >> ONE
                if thresholds[middle] < x:
                    low = middle + ONE
                else:
                    high = middle
            while low < high and thresholds[low] < x:
                low += ONE
            codes[i] = i4(low)


# ---------------------------------------------------------------- the layout of a program


@njit(
    void(i4[::1], i4[::1], i4[::1], u1[::1], i4[:, ::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1]),
    nogil=True,
    cache=True,
)
def preorder(roots, left, right, inner, stack, node, parent, depth, side, end):
    """Write the nodes of all trees in preorder, left before right."""
    place = 0
    for t in range(roots.size):
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = roots[t], -1, 0, 0
        top = 1
        while top > 0:
            top -= 1
            here = stack[top, 0]
            node[place], parent[place] = here, stack[top, 1]
            depth[place], side[place] = stack[top, 2], stack[top, 3]
            end[place] = place + 1
            if inner[here]:
                below = depth[place] + 1
                stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = right[here], place, below, 1
                top += 1
                stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = left[here], place, below, 0
                top += 1
            place += 1
    for entry in range(node.size - 1, -1, -1):
        above = parent[entry]
        if above >= 0 and end[above] < end[entry]:
            end[above] = end[entry]


@njit(nogil=True)
def _among(sets, level, n, one):
    found = False
    for a in range(n):
        found |= sets[level, a] == one
    return found


@njit(nogil=True)
def _enter(sets, level, n, f, step):
    """Write the sets that are active below a test of ``f``: those above it, then their unions with ``f``."""
    for a in range(n):
        sets[level, a] = sets[level - 1, a]
    new = n
    if not _among(sets, level, n, step[0, f]):
        for a in range(n):
            union = step[sets[level, a], f]
            if union >= 0:
                sets[level, new] = union
                new += 1
    return new


@njit(nogil=True)
def _unions(sets, level, n, f, step, up, first):
    """Write where the union of each active set with ``f`` is active below; -1 where none asks for it."""
    tested = _among(sets, level, n, step[0, f])
    new = n
    for a in range(n):
        union = step[sets[level, a], f]
        up[first + a] = -1
        if union == sets[level, a]:
            up[first + a] = a
        elif union >= 0 and tested:
            for b in range(n):
                if sets[level, b] == union:
                    up[first + a] = b
        elif union >= 0:
            up[first + a] = new
            new += 1


@njit(
    void(
        i4[::1], i4[::1], i4[::1], i4[:, ::1], i4[:, ::1], i4[::1], i8[::1], i4[::1], i8[::1], i4[::1],
        i8[::1]
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def lay_out(parent, depth, feature, step, sets, active, up_first, up, slot_first, slot_set, totals):
    """Write the sets active at each entry, their unions and the slots of leaves; only count while empty."""
    fill = slot_set.size > 0
    ups, slots = 0, 0
    for entry in range(parent.size):
        level, above = depth[entry], parent[entry]
        n = 1
        if above < 0:
            sets[level, 0] = 0
        else:
            n = _enter(sets, level, active[above], feature[above], step)
        active[entry] = n
        if feature[entry] < 0:
            slot_first[entry] = slots
            for a in range(n if fill else 0):
                slot_set[slots + a] = sets[level, a]
            slots += n
        else:
            up_first[entry] = ups
            if fill:
                _unions(sets, level, n, feature[entry], step, up, ups)
            ups += n
    totals[0], totals[1] = ups, slots


# ---------------------------------------------------------------- masks of 512 rows


@njit(nogil=True)
def _clear(masks, at):
    for w in range(WORDS):
        masks[at + w] = ZERO


@njit(nogil=True)
def _join(masks, at, others, other):
    for w in range(WORDS):
        masks[at + w] |= others[other + w]


@njit(nogil=True)
def _copy(masks, at, others, other):
    for w in range(WORDS):
        masks[at + w] = others[other + w]


@njit(nogil=True)
def _all_rows(pool, rows):
    for w in range(WORDS):
        left = i8(rows) - i8(64) * i8(w)
        pool[w] = EVERY if left >= 64 else (ONE << u8(left)) - ONE if left > 0 else ZERO


@njit(nogil=True)
def _fill_masks(codes, first, rows, n_codes, conditions, truth, buckets, masks):
    """Write the mask of every condition for a chunk: rows fall into buckets by code, buckets are joined."""
    number, total = ZERO, u8(conditions.shape[0])
    for column in range(u8(codes.shape[0])):
        size = u8(n_codes[column])
        running, missing = size * WORDS, (size - ONE) * WORDS
        for b in range((size + ONE) * WORDS):
            buckets[b] = ZERO
        for i in range(rows):
            buckets[u8(codes[column, first + i]) * WORDS + (i >> SIX)] |= ONE << (i & LOW)
        done = ZERO  # buckets that have joined the running mask of `code <= cut`
        while number < total and u8(conditions[number, COLUMN]) == column:
            mask = number * WORDS
            if conditions[number, TABLE] < 0:
                while done <= u8(conditions[number, CUT]):
                    _join(buckets, running, buckets, done * WORDS)
                    done += ONE
                _copy(masks, mask, buckets, running)
                if conditions[number, MISSING_LEFT]:
                    _join(masks, mask, buckets, missing)
            else:
                _clear(masks, mask)
                for code in range(size):
                    if truth[u8(conditions[number, TABLE]) + code]:
                        _join(masks, mask, buckets, code * WORDS)
            number += ONE


@njit(nogil=True)
def _weighed(pool, at, test, flip, masks, weights, first):
    """Return the weight of the rows of a mask that meet a test."""
    total = 0.0
    for w in range(WORDS):
        word = pool[at + w] & (masks[test + w] ^ flip)
        while word:
            total += weights[first + (w << SIX) + lowest(word)]
            word &= word - ONE
    return total


@njit(nogil=True)
def _descend(entries, entry, up, kept, most, pool, masks):
    """Write the masks of an inner node's active sets, each next to where it is kept.

    A set that contains the tested feature is not concerned; a set that is new below the test has the mask
    of the set it grew from.
    """
    n, level = u8(entries[entry, ABOVE]), u8(entries[entry, DEPTH])
    here, above, ups = level * most, (level - ONE) * most, u8(entries[entry, UPS])
    test, flip = u8(entries[entry, TEST]) * WORDS, ZERO - u8(entries[entry, SIDE])
    for a in range(n):
        union, at = up[ups + a], kept[above + a]
        if union == i4(a):
            kept[here + a] = at
        else:
            kept[here + a] = (here + a) * WORDS
            meet(pool, at, masks, test, flip, (here + a) * WORDS)
            if union >= i4(n):
                kept[here + u8(union)] = at


@njit(
    void(
        i4[:, ::1], f8[::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[::1], u8, u8[::1], u8[::1],
        u8[::1], u8[::1], f8[::1]
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def cover_by_masks(
    codes, weights, n_codes, conditions, truth, entries, up, most, pool, kept, buckets, masks, counts
):
    """Add the rows of every chunk at each slot of shallow trees."""
    # One mask more than there are conditions: with no bit set, it is the test that everything fails.
    nothing = u8(conditions.shape[0]) * WORDS
    for first in range(ZERO, u8(codes.shape[1]), CHUNK):
        rows = min(CHUNK, u8(codes.shape[1]) - first)
        _fill_masks(codes, first, rows, n_codes, conditions, truth, buckets, masks)
        _all_rows(pool, rows)
        for entry in range(u8(entries.shape[0])):
            n = u8(entries[entry, ABOVE])
            if entries[entry, SLOT] < 0:
                if n:
                    _descend(entries, entry, up, kept, most, pool, masks)
                continue
            slot, ups = u8(entries[entry, SLOT]), u8(entries[entry, UPS])
            above = (u8(entries[entry, DEPTH]) - ONE) * most
            test, flip = u8(entries[entry, TEST]) * WORDS, ZERO - u8(entries[entry, SIDE])
            if n == ZERO:  # a tree that is one leaf
                alone = f8(met(pool, ZERO, masks, nothing, EVERY))
                if weights.size:
                    alone = _weighed(pool, ZERO, nothing, EVERY, masks, weights, first)
                counts[slot] += alone
            for a in range(n):
                union, at = up[ups + a], kept[above + a]
                free, free_flip = (nothing, EVERY) if union == i4(a) else (test, flip)
                if weights.size:
                    counts[slot + a] += _weighed(pool, at, free, free_flip, masks, weights, first)
                    if union >= i4(n):
                        counts[slot + u8(union)] += _weighed(pool, at, nothing, EVERY, masks, weights, first)
                else:
                    counts[slot + a] += f8(met(pool, at, masks, free, free_flip))
                    if union >= i4(n):
                        counts[slot + u8(union)] += f8(met(pool, at, masks, nothing, EVERY))


@njit(nogil=True)
def _members(pool, at, members):
    """List the rows of a mask."""
    n = ZERO
    for w in range(WORDS):
        word = pool[at + w]
        while word:
            members[n] = (w << SIX) + lowest(word)
            n += ONE
            word &= word - ONE
    return n


@njit(nogil=True)
def _add(curves, at, members, first, stop, amount):
    """Add an amount to one point of some rows' curves; ``at`` is that point of the first row."""
    for i in range(first, stop):
        curves[at + members[i]] += amount


@njit(nogil=True)
def _visit(visits, visit, edges, members, first, stop, amount, points, rows, margin, curves):
    """Add what a leaf gives the rows that reach it when a question's features are free."""
    for edge in range(u8(visits[visit, 2]), u8(visits[visit, 3])):
        at = (margin * points + u8(edges[edge, 0])) * rows
        _add(curves, at, members, first, stop, amount * f8(edges[edge, 1]))


@njit(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[::1], u8, u8[::1], u8[::1], u8[::1],
        u8[::1], u8[:, ::1], f8[:, ::1], i8[::1], i4[:, ::1], i4[:, ::1], u8, f8[::1], f8[::1]
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def curves_by_masks(
    codes, n_codes, conditions, truth, entries, up, most, pool, kept, buckets, masks, members, value,
    visit_first, visits, edges, points, curves, plain
):  # fmt: skip
    """Add what the leaves of shallow trees change along the curves of at most a chunk of rows."""
    rows = u8(codes.shape[1])
    own, free = members[ZERO], members[ONE]
    _fill_masks(codes, ZERO, rows, n_codes, conditions, truth, buckets, masks)
    _all_rows(pool, rows)
    for entry in range(u8(entries.shape[0])):
        if entries[entry, ABOVE]:
            _descend(entries, entry, up, kept, most, pool, masks)
        if entries[entry, SLOT] < 0:
            continue
        here, leaf = u8(entries[entry, DEPTH]) * most, u8(entries[entry, NODE])
        n_own = _members(pool, kept[here], own)
        for k in range(u8(value.shape[1])):
            amount = value[leaf, k]
            margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
            _add(plain, margin * rows, own, ZERO, n_own, amount)
        for visit in range(u8(visit_first[entry]), u8(visit_first[entry + ONE])):
            n_free = _members(pool, kept[here + u8(visits[visit, 0])], free)
            for k in range(u8(value.shape[1])):
                amount = value[leaf, k]
                margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
                _visit(visits, visit, edges, free, ZERO, n_free, amount, points, rows, margin, curves)
                start = (margin * points + u8(visits[visit, 1])) * rows
                _add(curves, start, own, ZERO, n_own, -amount)


@njit(void(f8[:, :, ::1], f8[:, ::1], i4[::1]), nogil=True, cache=True)
def accumulate(curves, plain, starts):
    """Turn changes from point to point into margins; a question starts from the row itself."""
    for m in range(curves.shape[0]):
        start = 0
        for p in range(curves.shape[1]):
            if start < starts.size and starts[start] == p:
                start += 1
                for i in range(curves.shape[2]):
                    curves[m, p, i] += plain[m, i]
            else:
                for i in range(curves.shape[2]):
                    curves[m, p, i] += curves[m, p - 1, i]


@njit(
    void(i4[:, ::1], i4[::1], u8, f8[::1], f8[::1], f8[::1]),
    nogil=True,
    cache=True,
)
def weigh(entries, up, most, fraction, held, shares):
    """Write the product, at each slot, of the fractions of the nodes on the way whose feature is not free."""
    for entry in range(u8(entries.shape[0])):
        n, level = u8(entries[entry, ABOVE]), u8(entries[entry, DEPTH])
        here, ups = level * most, u8(entries[entry, UPS])
        if n == ZERO:
            held[here] = 1.0
        for a in range(n):
            union, before = up[ups + a], held[here - most + a]
            held[here + a] = before if union == i4(a) else before * fraction[u8(entries[entry, NODE])]
            if union >= i4(n):
                held[here + u8(union)] = before
        if entries[entry, SLOT] >= 0:
            for a in range(u8(entries[entry, ACTIVE])):
                shares[u8(entries[entry, SLOT]) + a] = held[here + a]


# ---------------------------------------------------------------- lists of rows, for deep trees


@njit(nogil=True)
def _split(entries, entry, codes, n_codes, conditions, truth, up, rows, tags, sizes, width):
    """List the rows that reach a node, each with the set of features it violates on the way.

    A row that fails the test stays if its set with the tested feature is asked for.
    """
    level, number = u8(entries[entry, DEPTH]), u8(entries[entry, TEST])
    here, above, ups = level * width, (level - ONE) * width, u8(entries[entry, UPS])
    column, cut, table = conditions[number, COLUMN], conditions[number, CUT], conditions[number, TABLE]
    # The code of a missing value is the largest; with this bound it goes left or, like no code, does not.
    from_here = n_codes[column] - 1 if conditions[number, MISSING_LEFT] else n_codes[column]
    right, n = entries[entry, SIDE] > 0, ZERO
    for i in range(u8(sizes[level - ONE])):
        row, tag = rows[above + i], tags[above + i]
        code = codes[u8(column), u8(row)]
        left = (code <= cut) | (code >= from_here) if table < 0 else truth[u8(table) + u8(code)] > 0
        union = up[ups + u8(tag)]
        rows[here + n] = row
        tags[here + n] = tag if left != right else union
        n += ONE if (left != right) | (union >= 0) else ZERO
    sizes[level] = n
    return n


@njit(nogil=True)
def _spread(exactly, n, slot, within, slot_set, counts):
    """Add the rows that violate exactly a set to every active set it lies within, and forget them."""
    for b in range(n):
        total = 0.0
        for a in range(n):
            if within[u8(slot_set[slot + a]), u8(slot_set[slot + b])]:
                total += exactly[a]
        counts[slot + b] += total
    for a in range(n):
        exactly[a] = 0.0


@njit(
    void(
        i4[:, ::1], f8[::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], u8, i4[::1], u1[:, ::1], i4[::1],
        i4[::1], i4[::1], u8[::1], f8[::1], f8[::1]
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def cover_by_lists(
    codes, weights, n_codes, conditions, truth, entries, begin, up, within, slot_set, rows, tags, sizes,
    exactly, counts
):  # fmt: skip
    """Add the rows at each slot of deep trees."""
    width = u8(codes.shape[1])
    entry, last = begin, u8(entries.shape[0])
    while entry < last:
        if entries[entry, ABOVE] == 0:
            for i in range(width):
                rows[i], tags[i] = i, 0
            sizes[ZERO] = width
        elif not _split(entries, entry, codes, n_codes, conditions, truth, up, rows, tags, sizes, width):
            entry = u8(entries[entry, END])
            continue
        if entries[entry, SLOT] >= 0:
            level, n = u8(entries[entry, DEPTH]), u8(entries[entry, ACTIVE])
            for i in range(u8(sizes[level])):
                at = level * width + i
                exactly[u8(tags[at])] += weights[u8(rows[at])] if weights.size else 1.0
            _spread(exactly, n, u8(entries[entry, SLOT]), within, slot_set, counts)
        entry += ONE


@njit(nogil=True)
def _grouped(rows, tags, at, size, n, stop, members):
    """List rows by the set they violate: those of active set ``a`` end at ``stop[a]``."""
    for a in range(n + ONE):
        stop[a] = ZERO
    for i in range(size):
        stop[u8(tags[at + i]) + ONE] += ONE
    for a in range(n):
        stop[a + ONE] += stop[a]
    for i in range(size):
        a = u8(tags[at + i])
        members[stop[a]] = u8(rows[at + i])
        stop[a] += ONE


@njit(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], u8, i4[::1], u1[:, ::1], i4[::1], i4[::1],
        i4[::1], u8[::1], u8[::1], u8[::1], f8[:, ::1], i8[::1], i4[:, ::1], i4[:, ::1], u8, f8[::1], f8[::1]
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def curves_by_lists(
    codes, n_codes, conditions, truth, entries, begin, up, within, slot_set, rows, tags, sizes, stop, members,
    value, visit_first, visits, edges, points, curves, plain
):  # fmt: skip
    """Add what the leaves of deep trees change along the curves of rows."""
    width = u8(codes.shape[1])
    entry, last = begin, u8(entries.shape[0])
    while entry < last:
        if entries[entry, ABOVE] == 0:
            for i in range(width):
                rows[i], tags[i] = i, 0
            sizes[ZERO] = width
        elif not _split(entries, entry, codes, n_codes, conditions, truth, up, rows, tags, sizes, width):
            entry = u8(entries[entry, END])
            continue
        if entries[entry, SLOT] >= 0:
            level, n = u8(entries[entry, DEPTH]), u8(entries[entry, ACTIVE])
            _grouped(rows, tags, level * width, sizes[level], n, stop, members)
            for k in range(u8(value.shape[1])):
                margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
                amount = value[u8(entries[entry, NODE]), k]
                _add(plain, margin * width, members, ZERO, stop[ZERO], amount)
                for visit in range(u8(visit_first[entry]), u8(visit_first[entry + ONE])):
                    free = slot_set[u8(entries[entry, SLOT]) + u8(visits[visit, 0])]
                    for a in range(n):
                        if within[u8(slot_set[u8(entries[entry, SLOT]) + a]), u8(free)]:
                            since = stop[a - ONE] if a else ZERO
                            _visit(
                                visits, visit, edges, members, since, stop[a], amount, points, width,
                                margin, curves
                            )  # fmt: skip
                    start = (margin * points + u8(visits[visit, 1])) * width
                    _add(curves, start, members, ZERO, stop[ZERO], -amount)
        entry += ONE


# ---------------------------------------------------------------- points that reach a leaf
#
# ``at[level]`` is the row of ``reach`` that holds at a level, because tests of other features change nothing;
# ``tag[level]`` is the active set of the question's features tested so far.


@njit(nogil=True)
def _narrow(conditions, number, n_codes, truth, axis_first, d, codes, right, reach, above, level):
    """Write which points of each axis reach below a test of axis ``d``; False for none of that axis.

    ``reach[above]`` is what held before the test.
    """
    for p in range(u8(codes.shape[1])):
        reach[u8(level), p] = reach[u8(above), p]
    column, cut, table = conditions[number, COLUMN], conditions[number, CUT], conditions[number, TABLE]
    from_here = n_codes[column] - 1 if conditions[number, MISSING_LEFT] else n_codes[column]
    some = False
    for p in range(u8(axis_first[d]), u8(axis_first[d + 1])):
        code = codes[u8(column), p]
        left = (code <= cut) | (code >= from_here) if table < 0 else truth[u8(table) + u8(code)] > 0
        if left == right:
            reach[u8(level), p] = 0
        some |= reach[u8(level), p] > 0
    return some


@njit(nogil=True)
def _leads(reach, level, axis_first, lead):
    """Tell whether a point reaches on every axis but the last; ``lead`` counts their product."""
    for d in range(axis_first.size - 3, -1, -1):
        size = axis_first[d + 1] - axis_first[d]
        if not reach[level, axis_first[d] + lead % size]:
            return False
        lead //= size
    return True


@njit(
    void(
        i4[:, ::1], i4[::1], i4[::1], i4[:, ::1], u1[::1], i4[::1], i4[::1], i4[:, ::1], f8[::1],
        f8[:, ::1], u1[:, ::1], i4[::1], i4[::1], f8[::1], f8[:, ::1]
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def average(
    entries, up, n_codes, conditions, truth, axis, axis_first, codes, share, value, reach, at, tag, plain,
    averages
):  # fmt: skip
    """Add the average margin at every point of a question."""
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
            if axis[number] >= 0:
                at[level], tag[level] = level, up[entries[entry, UPS] + tag[level - 1]]
                right = entries[entry, SIDE] > 0
                if not _narrow(
                    conditions, number, n_codes, truth, axis_first, axis[number], codes, right, reach,
                    at[level - 1], level
                ):  # fmt: skip
                    entry = entries[entry, END]
                    continue
        if entries[entry, SLOT] >= 0:
            row = at[level]
            weight = share[entries[entry, SLOT] + tag[level]]
            for k in range(value.shape[1]):
                margin = k if entries[entry, MARGIN] < 0 else entries[entry, MARGIN]
                amount = weight * value[entries[entry, NODE], k]
                if tag[level] == 0:
                    plain[margin] += amount
                    continue
                for lead in range(averages.shape[1] // last):
                    if _leads(reach, row, axis_first, lead):
                        for p in range(last):
                            averages[margin, lead * last + p] += amount * reach[row, begin + p]
        entry += 1
    for m in range(averages.shape[0]):
        for p in range(averages.shape[1]):
            averages[m, p] += plain[m]


@njit(nogil=True)
def _run(reach, row, axis_first, points, start, edges, n, fill):
    """Write where points begin and end to reach, behind ``n`` edges; return how many there are then."""
    begin = axis_first[axis_first.size - 2]
    last = axis_first[axis_first.size - 1] - begin
    before = 0
    for lead in range(points // last):
        leads = _leads(reach, row, axis_first, lead)
        for p in range(last):
            now = reach[u8(row), u8(begin + p)] if leads else 0
            if now != before:
                if fill:
                    edges[n, 0], edges[n, 1] = start + lead * last + p, now - before
                n += 1
            before = now
    return n


@njit(
    void(
        i4[:, ::1], i4[::1], i4[::1], i4[:, ::1], u1[::1], i4[::1], i4[::1], i4[:, ::1], i8, i8,
        u1[:, ::1], i4[::1], i4[::1], i4[:, ::1], i4[:, ::1], i4[:, ::1], i8[::1]
    ),
    nogil=True,
    cache=True,
)  # fmt: skip
def list_edges(
    entries, up, n_codes, conditions, truth, axis, axis_first, codes, start, points, reach, at, tag, runs,
    visits, edges, totals
):  # fmt: skip
    """Write where each leaf begins and ends to be reached along a question; only count while empty."""
    fill = visits.shape[0] > 0
    n_visits, n_edges = 0, 0
    for entry in range(entries.shape[0]):
        level, number = entries[entry, DEPTH], entries[entry, TEST]
        if level == 0:
            for p in range(codes.shape[1]):
                reach[0, p] = 1
            at[0], tag[0] = 0, 0
        else:
            at[level], tag[level] = at[level - 1], tag[level - 1]
            if axis[number] >= 0:
                at[level], tag[level] = level, up[entries[entry, UPS] + tag[level - 1]]
                right = entries[entry, SIDE] > 0
                # A leaf that no point reaches is visited too: the rows that reach it by themselves leave it.
                _narrow(
                    conditions, number, n_codes, truth, axis_first, axis[number], codes, right, reach,
                    at[level - 1], level
                )  # fmt: skip
                runs[level, 0] = n_edges
                n_edges = _run(reach, level, axis_first, points, start, edges, n_edges, fill)
                runs[level, 1] = n_edges
        if entries[entry, SLOT] >= 0 and tag[level] > 0:
            if fill:
                visits[n_visits, 0], visits[n_visits, 1] = tag[level], start
                visits[n_visits, 2], visits[n_visits, 3] = runs[at[level], 0], runs[at[level], 1]
                visits[n_visits, 4] = entry
            n_visits += 1
    totals[0], totals[1] = n_visits, n_edges
