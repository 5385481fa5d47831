"""What rows lose with a feature averaged out, in trees that are walked with masks."""

# The types of numba's decorated functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call,call-arg"

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import f4, f8, i4, types, u1, u8, void
from numba.extending import intrinsic

from paribus._kernels.jit.bits import lowest, place_of
from paribus._kernels.jit.common import CHUNK, ONE, ZERO, helper, kernel
from paribus._kernels.jit.masks import descend
from paribus._kernels.jit.row_masks import WORDS, all_rows, fill_masks
from paribus._kernels.program import ABOVE, ACTIVE, DEPTH, MARGIN, NODE, SLOT

LANES = 8  # rows of a byte of a word
FLAGS, DOUBLES = ir.VectorType(ir.IntType(1), LANES), ir.VectorType(ir.DoubleType(), LANES)
SIXTY_FOUR = u8(64)  # rows of a word


@intrinsic
def add_where(
    context: Any, sums: Any, at: Any, pool: Any, all_at: Any, own_at: Any, own: Any, other: Any
) -> Any:
    """Add to 64 sums: ``own`` where the bit of ``pool[own_at]`` is set, ``other`` where only the other's is.

    All rows of a word at once take less time than to find those whose bits are set.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        mine, others = (_repeated(builder, number) for number in arguments[5:])
        words = [_word(context, builder, signature, arguments, number) for number in (3, 4)]
        for byte in range(LANES):
            place = _eight(context, builder, signature, arguments, byte)
            every, own = (_flags(builder, word, byte) for word in words)
            amount = builder.select(every, others, ir.Constant(DOUBLES, [0.0] * LANES))
            amount = builder.select(own, mine, amount)
            builder.store(builder.fadd(builder.load(place, align=8), amount), place, align=8)
        return context.get_dummy_value()

    return types.void(sums, at, pool, all_at, own_at, own, other), generate


@helper
def _add_single(sums, at, pool, own, amount):
    """Add an amount to the sums of a mask's rows, which are held in single precision."""
    for w in range(WORDS):
        word = pool[own + w]
        while word:
            place = at + w * SIXTY_FOUR + lowest(word)
            sums[place] = f8(f4(sums[place] + amount))
            word &= word - ONE


def _word(context: Any, builder: Any, signature: Any, arguments: Any, number: int) -> Any:
    place = place_of(context, builder, signature.args[2], arguments[2], arguments[number], ir.IntType(64))
    return builder.load(place, align=8)


def _eight(context: Any, builder: Any, signature: Any, arguments: Any, byte: int) -> Any:
    at = builder.add(arguments[1], ir.Constant(ir.IntType(64), LANES * byte))
    return place_of(context, builder, signature.args[0], arguments[0], at, DOUBLES)


def _flags(builder: Any, word: Any, byte: int) -> Any:
    shifted = builder.lshr(word, ir.Constant(ir.IntType(64), LANES * byte))
    return builder.bitcast(builder.trunc(shifted, ir.IntType(LANES)), FLAGS)


def _repeated(builder: Any, number: Any) -> Any:
    nothing = ir.Constant(DOUBLES, ir.Undefined)
    first = builder.insert_element(nothing, number, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, nothing, everywhere)


@kernel(
    void(
        i4[:, ::1], i4[::1], i4[:, ::1], u1[::1], i4[:, ::1], i4[::1], u8, u8[::1], u8[::1], u8[::1],
        u8[::1], i4[::1], i4[:, ::1], f8[:, ::1], f8[::1], f8[::1], f8[::1], f8[::1]
    ),
)  # fmt: skip
def lose_by_masks(
    codes, n_codes, conditions, truth, entries, up, most, pool, kept, buckets, masks, slot_set,
    members_of, value, share, rounded, plain, lost
):  # fmt: skip
    """Add the margins of at most a chunk of rows, and what they lose with a feature averaged out.

    Sums are of a whole chunk; those of rows that there are not stay as they are.
    """
    rows = u8(codes.shape[1])
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
        own = kept[here]
        for k in range(u8(value.shape[1])):
            margin = k if entries[entry, MARGIN] < 0 else u8(entries[entry, MARGIN])
            amount = value[leaf, k]
            for w in range(WORDS):
                at = margin * CHUNK + w * SIXTY_FOUR
                add_where(plain, at, pool, own + w, own + w, amount, amount)
            if rounded.size:
                _add_single(rounded, margin * CHUNK, pool, own, amount)
            for a in range(ONE, u8(entries[entry, ACTIVE])):
                slot = u8(entries[entry, SLOT]) + a
                at = (margin * features + u8(members_of[u8(slot_set[slot]), ZERO])) * CHUNK
                every, part = kept[here + a], share[slot]
                for w in range(WORDS):
                    add_where(
                        lost,
                        at + w * SIXTY_FOUR,
                        pool,
                        every + w,
                        own + w,
                        amount * (1.0 - part),
                        -amount * part,
                    )
