"""Private interfaces of numba and llvmlite, which no other module uses.

They make compilation faster, and operate on masks of 8 and 16 words in LLVM IR, for loops that
LLVM does not vectorize. LLVM splits the vectors into those that the processor supports. If this module cannot
be imported with another version of numba, `common` and `bits` do without it.
"""

# The functions of numba and llvmlite have no type annotations.
# mypy: disable-error-code="no-untyped-call,untyped-decorator"

from __future__ import annotations

from functools import reduce
from typing import Any

from llvmlite import ir
from numba.core import cgutils, options, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from paribus._kernels.jit.mask_sizes import BYTES, DIGITS, EIGHT, MOST
from paribus._kernels.preorder import LANES, WORDS

# Kernels need no reference counts and no wrapper for C; omitting these saves compilation time.
OPTIONS = {
    name: value
    for name, value in {"_nrt": False, "no_cfunc_wrapper": True}.items()
    if hasattr(options.DefaultOptions, name)
}
HELPER_OPTIONS = {"no_cpython_wrapper": True} if hasattr(options.DefaultOptions, "no_cpython_wrapper") else {}


MASK = ir.VectorType(ir.IntType(64), EIGHT)


@intrinsic
def lowest(context: Any, word: Any) -> Any:
    """Return the position of the lowest set bit of a nonzero word."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


@intrinsic
def meet(context: Any, pool: Any, at: Any, masks: Any, test: Any, flip: Any, target: Any) -> Any:
    """Write ``pool[at:at+8] & (masks[test:test+8] ^ flip)`` to ``pool[target:target+8]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place_of(context, builder, signature.args[0], arguments[0], arguments[5])
        builder.store(_load_masked(context, builder, signature.args, arguments), place, align=8)
        return context.get_dummy_value()

    return types.void(pool, at, masks, test, flip, target), generate


@intrinsic
def differ(
    context: Any, pool: Any, one: Any, other: Any, masks: Any, one_test: Any, other_test: Any, flip: Any,
    found: Any, place: Any
) -> Any:  # fmt: skip
    """Write the difference of two masks of a pool, each restricted by a test, and the second of them.

    These are 16 words from ``found[place]`` on. Return which of the first eight are nonzero, a bit per word.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, (pool, one, other, masks, one_test, other_test, flip, found, place) = signature.args, arguments
        types_of = kinds[0], kinds[1], kinds[3], kinds[4]
        mine, theirs = (
            _load_masked(context, builder, types_of, (pool, at, masks, test, flip))
            for at, test in ((one, one_test), (other, other_test))
        )
        apart = builder.xor(mine, theirs)
        behind = builder.add(place, ir.Constant(ir.IntType(64), EIGHT))
        for mask, at in ((apart, place), (theirs, behind)):
            builder.store(mask, _place_of(context, builder, kinds[7], found, at), align=8)
        some = builder.icmp_unsigned("!=", apart, ir.Constant(MASK, [0] * EIGHT))
        return builder.zext(builder.bitcast(some, ir.IntType(EIGHT)), ir.IntType(64))

    arguments = pool, one, other, masks, one_test, other_test, flip, found, place
    return types.uint64(*arguments), generate


def _load_masked(context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    """Return ``pool[at:at+8] & (masks[test:test+8] ^ flip)``."""
    pool = _load_mask(context, builder, kinds[0], arguments[0], arguments[1])
    mask = _load_mask(context, builder, kinds[2], arguments[2], arguments[3])
    return builder.and_(pool, builder.xor(mask, _repeated(builder, arguments[4])))


def _place_of(context: Any, builder: Any, kind: Any, array: Any, at: Any, vector: Any = MASK) -> Any:
    """Return a pointer to a vector that begins at an element of an array."""
    data = make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), vector.as_pointer())


def _load_mask(context: Any, builder: Any, kind: Any, array: Any, at: Any, vector: Any = MASK) -> Any:
    """Return the mask that begins at an element of an array."""
    return builder.load(_place_of(context, builder, kind, array, at, vector), align=8)


def _repeated(builder: Any, word: Any) -> Any:
    """Return a mask of eight equal words."""
    nothing = ir.Constant(MASK, ir.Undefined)
    first = builder.insert_element(nothing, word, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), EIGHT), [0] * EIGHT)
    return builder.shuffle_vector(first, nothing, everywhere)


WIDE_MASK = ir.VectorType(ir.IntType(64), WORDS)
SHORTS = ir.VectorType(ir.IntType(16), LANES)


def _splitter(left_counted: bool, right_counted: bool) -> Any:
    """Return a function that splits a mask by a test, and stores or counts the rows on each side."""

    def split(
        context: Any, pool: Any, at: Any, masks: Any, test: Any, tallies: Any, left: Any, right: Any
    ) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kinds = signature.args
            mask = _load_mask(context, builder, kinds[0], arguments[0], arguments[1], WIDE_MASK)
            test_mask = _load_mask(context, builder, kinds[2], arguments[2], arguments[3], WIDE_MASK)
            met = builder.and_(mask, test_mask)
            for part, counted, target in (
                (met, left_counted, arguments[5]),
                (builder.xor(mask, met), right_counted, arguments[6]),
            ):
                if counted:
                    _add_bit_counts(context, builder, kinds[4], arguments[4], target, part)
                else:
                    place = _place_of(context, builder, kinds[0], arguments[0], target, WIDE_MASK)
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
    """Add the number of bits set in a mask to the 16-bit counters of a slot."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        mask = _load_mask(context, builder, signature.args[0], arguments[0], arguments[1], WIDE_MASK)
        _add_bit_counts(context, builder, signature.args[2], arguments[2], arguments[3], mask)
        return context.get_dummy_value()

    return types.void(pool, at, tallies, place), generate


def _add_bit_counts(context: Any, builder: Any, kind: Any, tallies: Any, at: Any, mask: Any) -> None:
    """Add the number of bits set in the words of a mask to 16-bit counters."""
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
    held = _place_of(context, builder, kind, tallies, at, SHORTS)
    builder.store(builder.add(builder.load(held, align=2), builder.trunc(total, SHORTS)), held, align=2)


@intrinsic
def number_others(context: Any, pool: Any, own: Any, ways: Any, digits: Any) -> Any:
    """Write, for rows outside the mask ``pool[own]``, the number of the mask that contains them, 1 to 7.

    ``ways`` are the positions of the seven masks, which are disjoint outside ``pool[own]``. Each binary digit
    of the numbers is written as a mask.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kinds, (pool, own, ways, digits) = signature.args, arguments
        data = make_array(kinds[2])(context, builder, ways).data
        at = [builder.gep(data, [ir.Constant(ir.IntType(64), way)]) for way in range(MOST)]
        every = [_load_mask(context, builder, kinds[0], pool, builder.load(one)) for one in at]
        others = builder.not_(_load_mask(context, builder, kinds[0], pool, own))
        for digit in range(DIGITS):
            some = [rows for number, rows in enumerate(every, 1) if number >> digit & 1]
            place = _place_of(context, builder, kinds[3], digits, ir.Constant(ir.IntType(64), digit * EIGHT))
            builder.store(builder.and_(reduce(builder.or_, some), others), place, align=8)
        return context.get_dummy_value()

    return types.void(pool, own, ways, digits), generate


@intrinsic
def nonzero_bytes(context: Any, array: Any, at: Any) -> Any:
    """Return which of 64 bytes are nonzero, a bit for each."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kind = ir.VectorType(ir.IntType(8), BYTES)
        place = _place_of(context, builder, signature.args[0], arguments[0], arguments[1], kind)
        held = builder.load(place, align=1)
        some = builder.icmp_unsigned("!=", held, ir.Constant(kind, [0] * BYTES))
        return builder.bitcast(some, ir.IntType(BYTES))

    return types.uint64(array, at), generate
