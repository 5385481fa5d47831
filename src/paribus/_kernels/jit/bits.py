"""Masks of 8 and 16 words in LLVM IR, for loops that LLVM does not vectorize.

The IR has no fixed vector width: each processor uses the instructions it has.
"""

# The types of numba's and llvmlite's functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-call,untyped-decorator"

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from paribus._kernels.preorder import LANES, WORDS

EIGHT = 8
MASK = ir.VectorType(ir.IntType(64), EIGHT)


@intrinsic
def lowest(context: Any, word: Any) -> Any:
    """Return the position of the lowest set bit of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


@intrinsic
def meet(context: Any, pool: Any, at: Any, masks: Any, test: Any, flip: Any, target: Any) -> Any:
    """Write ``pool[at:at+8] & (masks[test:test+8] ^ flip)`` to ``pool[target:target+8]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = place_of(context, builder, signature.args[0], arguments[0], arguments[5])
        builder.store(_both(context, builder, signature.args, arguments), place, align=8)
        return context.get_dummy_value()

    return types.void(pool, at, masks, test, flip, target), generate


@intrinsic
def differ(
    context: Any, pool: Any, one: Any, other: Any, masks: Any, one_test: Any, other_test: Any, flip: Any,
    found: Any, place: Any
) -> Any:  # fmt: skip
    """Write where two masks of a pool differ, each behind a test of its own, and next to it the second one.

    That is 16 words from ``found[place]``. Return which of the first eight are not zero, a bit per word.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, (pool, one, other, masks, one_test, other_test, flip, found, place) = signature.args, arguments
        types_of = kinds[0], kinds[1], kinds[3], kinds[4]
        mine, theirs = (
            _both(context, builder, types_of, (pool, at, masks, test, flip))
            for at, test in ((one, one_test), (other, other_test))
        )
        apart = builder.xor(mine, theirs)
        behind = builder.add(place, ir.Constant(ir.IntType(64), EIGHT))
        for mask, at in ((apart, place), (theirs, behind)):
            builder.store(mask, place_of(context, builder, kinds[7], found, at), align=8)
        some = builder.icmp_unsigned("!=", apart, ir.Constant(MASK, [0] * EIGHT))
        return builder.zext(builder.bitcast(some, ir.IntType(EIGHT)), ir.IntType(64))

    arguments = pool, one, other, masks, one_test, other_test, flip, found, place
    return types.uint64(*arguments), generate


def _both(context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    pool = builder.load(place_of(context, builder, kinds[0], arguments[0], arguments[1]), align=8)
    mask = builder.load(place_of(context, builder, kinds[2], arguments[2], arguments[3]), align=8)
    return builder.and_(pool, builder.xor(mask, _repeated(builder, arguments[4])))


def place_of(context: Any, builder: Any, kind: Any, array: Any, at: Any, eight: Any = MASK) -> Any:
    """Return where a part of an array begins, as a pointer to what it is taken for."""
    data = make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), eight.as_pointer())


def _repeated(builder: Any, word: Any) -> Any:
    nothing = ir.Constant(MASK, ir.Undefined)
    first = builder.insert_element(nothing, word, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), [0] * EIGHT)
    return builder.shuffle_vector(first, nothing, everywhere)


WIDE_MASK = ir.VectorType(ir.IntType(64), WORDS)
SHORTS = ir.VectorType(ir.IntType(16), LANES)


def _splitter(left_counted: bool, right_counted: bool) -> Any:
    """Return a function that splits a mask by a test, and stores or counts what goes left and right."""

    def split(context: Any, pool: Any, at: Any, masks: Any, test: Any, tallies: Any, left: Any, right: Any):  # type: ignore[no-untyped-def]
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            mask = _load(context, builder, kinds[0], arguments[0], arguments[1])
            met = builder.and_(mask, _load(context, builder, kinds[2], arguments[2], arguments[3]))
            for part, counted, target in (
                (met, left_counted, arguments[5]),
                (builder.xor(mask, met), right_counted, arguments[6]),
            ):
                if counted:
                    _count(context, builder, kinds[4], arguments[4], target, part)
                else:
                    place = place_of(context, builder, kinds[0], arguments[0], target, WIDE_MASK)
                    builder.store(part, place, align=8)
            return context.get_dummy_value()

        return types.void(pool, at, masks, test, tallies, left, right), generate

    return intrinsic(split)


store_both = _splitter(False, False)
store_left = _splitter(False, True)
store_right = _splitter(True, False)
count_both = _splitter(True, True)


@intrinsic
def count(context: Any, pool: Any, at: Any, tallies: Any, place: Any) -> Any:
    """Add the bits set in a mask to the short counts of a slot."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        mask = _load(context, builder, signature.args[0], arguments[0], arguments[1])
        _count(context, builder, signature.args[2], arguments[2], arguments[3], mask)
        return context.get_dummy_value()

    return types.void(pool, at, tallies, place), generate


def _count(context: Any, builder: Any, kind: Any, tallies: Any, at: Any, mask: Any) -> None:
    population = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(WIDE_MASK, [WIDE_MASK]), f"llvm.ctpop.v{WORDS}i64"
    )
    ones = builder.call(population, [mask])
    nothing = ir.Constant(WIDE_MASK, ir.Undefined)
    numbers = ir.VectorType(ir.IntType(32), LANES)
    total = None
    for first in range(0, WORDS, LANES):
        lanes = ir.Constant(numbers, list(range(first, first + LANES)))
        part = builder.shuffle_vector(ones, nothing, lanes)
        total = part if total is None else builder.add(total, part)
    held = place_of(context, builder, kind, tallies, at, SHORTS)
    builder.store(builder.add(builder.load(held, align=2), builder.trunc(total, SHORTS)), held, align=2)


def _load(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.load(place_of(context, builder, kind, array, at, WIDE_MASK), align=8)
