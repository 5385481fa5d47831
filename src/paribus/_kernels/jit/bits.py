"""Eight words at a time: what the compiler does not find by itself in loops over a mask.

Written for its intermediate language, which has no width of its own: each processor does it with what it
has.
"""

# The types of numba's and llvmlite's functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-call,untyped-decorator"

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

WORDS = 8
MASK = ir.VectorType(ir.IntType(64), WORDS)


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
        place = _place(context, builder, signature.args[0], arguments[0], arguments[5])
        builder.store(_both(context, builder, signature.args, arguments), place, align=8)
        return context.get_dummy_value()

    return types.void(pool, at, masks, test, flip, target), generate


def _both(context: Any, builder: Any, kinds: Any, arguments: Any) -> Any:
    pool = builder.load(_place(context, builder, kinds[0], arguments[0], arguments[1]), align=8)
    mask = builder.load(_place(context, builder, kinds[2], arguments[2], arguments[3]), align=8)
    return builder.and_(pool, builder.xor(mask, _repeated(builder, arguments[4])))


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    data = make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), MASK.as_pointer())


def _repeated(builder: Any, word: Any) -> Any:
    nothing = ir.Constant(MASK, ir.Undefined)
    first = builder.insert_element(nothing, word, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), WORDS), [0] * WORDS)
    return builder.shuffle_vector(first, nothing, everywhere)
