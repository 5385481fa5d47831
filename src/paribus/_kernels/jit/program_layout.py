"""Codes of numbers, the preorder of nodes, active sets of nodes, and weights of paths."""

# numba's decorators have no type annotations.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, i8, u1, u8, void

from paribus._kernels.jit.common import ONE, ZERO, helper, kernel
from paribus._kernels.program import ABOVE, ACTIVE, DEPTH, NODE, SLOT, UPS

NARROW = u8(8)  # maximum number of thresholds for a linear search


@kernel(void(f8[:], f8[::1], f8, i4[::1], i4[::1]))
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
            # Without a scale there is one cell; infinity times zero would be NaN.
            cell = u8((x - thresholds[ZERO]) * scale) if scale > 0.0 else ZERO
            low, high = u8(below[cell]), u8(below[cell + ONE])
            if high - low <= ONE:  # true for most cells; avoids an unpredictable branch
                codes[i] = i4(low) + i4(thresholds[low] < x)
                continue
            while high - low > NARROW:
                middle = (low + high) >> ONE
                if thresholds[middle] < x:
                    low = middle + ONE
                else:
                    high = middle
            while low < high and thresholds[low] < x:
                low += ONE
            codes[i] = i4(low)


@kernel(
    void(i4[::1], i4[::1], i4[::1], u1[::1], i4[:, ::1], i4[::1], i4[::1], i4[::1], i4[::1], i4[::1]),
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


@helper
def _is_active(sets, level, n, one):
    """Return whether a set is active at a level."""
    found = False
    for a in range(n):
        found |= sets[level, a] == one
    return found


@helper
def _write_active_sets(sets, level, n, f, step):
    """Write the sets active below a test of ``f``: those of the parent, then new unions with ``f``."""
    for a in range(n):
        sets[level, a] = sets[level - 1, a]
    new = n
    if not _is_active(sets, level, n, step[0, f]):
        for a in range(n):
            union = step[sets[level, a], f]
            if union >= 0:
                sets[level, new] = union
                new += 1
    return new


@helper
def _write_unions(sets, level, n, f, step, up, first):
    """Write the positions of unions of active sets with ``f`` at the children, -1 if not in the family."""
    tested = _is_active(sets, level, n, step[0, f])
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


@kernel(
    void(
        i4[::1], i4[::1], i4[::1], i4[:, ::1], i4[:, ::1], i4[::1], i8[::1], i4[::1], i8[::1], i4[::1],
        i8[::1]
    ),
)  # fmt: skip
def lay_out(parent, depth, feature, step, sets, active, up_first, up, slot_first, slot_set, totals):
    """Write the numbers of active sets, ``up`` and ``slot_set``; if these are empty, only count elements."""
    fill = slot_set.size > 0
    ups, slots = i8(0), i8(0)
    for entry in range(parent.size):
        level, above = depth[entry], parent[entry]
        n = i8(1)
        if above < 0:
            sets[level, 0] = 0
        else:
            n = _write_active_sets(sets, level, i8(active[above]), feature[above], step)
        active[entry] = n
        if feature[entry] < 0:
            slot_first[entry] = slots
            for a in range(n if fill else 0):
                slot_set[slots + a] = sets[level, a]
            slots += n
        else:
            up_first[entry] = ups
            if fill:
                _write_unions(sets, level, n, feature[entry], step, up, ups)
            ups += n
    totals[0], totals[1] = ups, slots


@kernel(
    void(i4[:, ::1], i4[::1], u8, f8[::1], f8[::1], f8[::1]),
)
def weigh(entries, up, most, fraction, held, shares):
    """Write, per slot, the product of the fractions of nodes on the path, except below free features."""
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
