"""Eight words at a time: what the compiler does not find by itself in loops over a mask.

Written for its intermediate language, which has no width of its own: each processor does it with what it
has. With these, covering is about twice as fast as with loops that count bits word by word.
"""

# The types of numba's and llvmlite's functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-call,untyped-decorator"

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

WORDS = 8
MASK = ir.VectorType(ir.IntType(64), WORDS)
SHORTS = ir.VectorType(ir.IntType(16), WORDS)


@intrinsic
def lowest(context: Any, word: Any) -> Any:
    """Return the position of the lowest set bit of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), generate


@intrinsic
def tally(
    context: Any, pool: Any, at: Any, masks: Any, test: Any, flip: Any, tallies: Any, place: Any
) -> Any:
    """Add the bits set in each word of ``pool[at:at+8] & (masks[test:test+8] ^ flip)`` to eight short counts.

    The eight are added up once all rows were counted, not each time.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        count = _declared(builder, ir.FunctionType(MASK, [MASK]), "llvm.ctpop.v8i64")
        ones = builder.call(count, [_both(context, builder, signature.args, arguments)])
        held = _place(context, builder, signature.args[5], arguments[5], arguments[6], SHORTS)
        total = builder.add(builder.load(held, align=2), builder.trunc(ones, SHORTS))
        builder.store(total, held, align=2)
        return context.get_dummy_value()

    return types.void(pool, at, masks, test, flip, tallies, place), generate


@intrinsic
def meet(context: Any, pool: Any, at: Any, masks: Any, test: Any, flip: Any, target: Any) -> Any:
    """Write ``pool[at:at+8] & (masks[test:test+8] ^ flip)`` to ``pool[target:target+8]``."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature.args[0], arguments[0], arguments[5])
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
        behind = builder.add(place, ir.Constant(ir.IntType(64), WORDS))
        for mask, at in ((apart, place), (theirs, behind)):
            builder.store(mask, _place(context, builder, kinds[7], found, at), align=8)
        some = builder.icmp_unsigned("!=", apart, ir.Constant(MASK, [0] * WORDS))
        return builder.zext(builder.bitcast(some, ir.IntType(WORDS)), ir.IntType(64))

    arguments = pool, one, other, masks, one_test, other_test, flip, found, place
    return types.uint64(*arguments), generate


def _both(context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    pool = builder.load(_place(context, builder, kinds[0], arguments[0], arguments[1]), align=8)
    mask = builder.load(_place(context, builder, kinds[2], arguments[2], arguments[3]), align=8)
    return builder.and_(pool, builder.xor(mask, _repeated(builder, arguments[4])))


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any, eight: Any = MASK) -> Any:
    data = make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), eight.as_pointer())


def _repeated(builder: Any, word: Any) -> Any:
    nothing = ir.Constant(MASK, ir.Undefined)
    first = builder.insert_element(nothing, word, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), WORDS), [0] * WORDS)
    return builder.shuffle_vector(first, nothing, everywhere)


def _declared(builder: Any, kind: Any, name: str) -> Any:
    return cgutils.get_or_insert_function(builder.module, kind, name)
