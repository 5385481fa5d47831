"""What rows lose with a feature averaged out, in trees that are walked with masks."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from numba import f8, i4, njit, u1, u8, void

from paribus._kernels.jit.bits import lowest
from paribus._kernels.jit.common import ONE, ZERO, add, add_single, kernel
from paribus._kernels.jit.masks import descend, listed
from paribus._kernels.jit.row_masks import SIX, WORDS, all_rows, fill_masks
from paribus._kernels.program import ABOVE, ACTIVE, DEPTH, MARGIN, NODE, SLOT


@njit(nogil=True)
def _others(pool, at, own, members):
    """List the rows of a mask that are not in another."""
    n = ZERO
    for w in range(WORDS):
        word = pool[at + w] & ~pool[own + w]
        while word:
            members[n] = (w << SIX) + lowest(word)
            n += ONE
            word &= word - ONE
    return n


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[::1], u8, u8[::1], u8[::1], u8[::1],
        u8[::1], u8[:, ::1], i4[::1], i4[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def lose_by_masks(
    codes, n_codes, conditions, truth, entries, up, most, pool, kept, buckets, masks, members, slot_set,
    members_of, value, share, rounded, plain, lost
):  # fmt: skip
    """Add the margins of at most a chunk of rows, and what they lose with a feature averaged out."""
    rows, own, others = u8(codes.shape[1]), members[ZERO], members[ONE]
    features = u8(lost.size) // u8(plain.size)
    fill_masks(codes, ZERO, rows, n_codes, conditions, truth, buckets, masks)
    all_rows(pool, rows)
    kept[ZERO] = ZERO
    for entry in range(u8(entries.shape[0])):
        if entries[entry, ABOVE]:
            descend(entries, entry, up, kept, most, pool, masks)
        if entries[entry, SLOT] < 0:
            continue
        here, leaf = u8(entries[entry, DEPTH]) * most, u8(entries[entry, NODE])
        n_own = listed(pool, kept[here], own)
        for k in range(u8(value.shape[1])):
            margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
            add(plain, margin * rows, own, ZERO, n_own, value[leaf, k])
            if rounded.size:
                add_single(rounded, margin * rows, own, ZERO, n_own, value[leaf, k])
        for a in range(ONE, u8(entries[entry, ACTIVE])):
            slot = u8(entries[entry, SLOT]) + a
            n_others = _others(pool, kept[here + a], kept[here], others)
            for k in range(u8(value.shape[1])):
                amount = value[leaf, k]
                margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
                at = (margin * features + u8(members_of[u8(slot_set[slot]), ZERO])) * rows
                add(lost, at, own, ZERO, n_own, amount * (1.0 - share[slot]))
                add(lost, at, others, ZERO, n_others, -amount * share[slot])
