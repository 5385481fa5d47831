"""Sixteen words at a time: what a test makes of a mask, stored or counted, for both sides at once.

Written for the compiler's intermediate language, which has no width of its own: each processor does it with
what it has.
"""

# The types of numba's and llvmlite's functions are unknown to a type checker.
# mypy: disable-error-code="no-untyped-call,untyped-decorator"

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from paribus._kernels.flow import LANES, WORDS

MASK = ir.VectorType(ir.IntType(64), WORDS)
SHORTS = ir.VectorType(ir.IntType(16), LANES)


def _split(left_counted: bool, right_counted: bool) -> Any:
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
                    place = _place(context, builder, kinds[0], arguments[0], target, MASK)
                    builder.store(part, place, align=8)
            return context.get_dummy_value()

        return types.void(pool, at, masks, test, tallies, left, right), generate

    return intrinsic(split)


store_both = _split(False, False)
store_left = _split(False, True)
store_right = _split(True, False)
count_both = _split(True, True)


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
        builder.module, ir.FunctionType(MASK, [MASK]), f"llvm.ctpop.v{WORDS}i64"
    )
    ones = builder.call(population, [mask])
    nothing = ir.Constant(MASK, ir.Undefined)
    numbers = ir.VectorType(ir.IntType(32), LANES)
    total = None
    for first in range(0, WORDS, LANES):
        lanes = ir.Constant(numbers, list(range(first, first + LANES)))
        part = builder.shuffle_vector(ones, nothing, lanes)
        total = part if total is None else builder.add(total, part)
    held = _place(context, builder, kind, tallies, at, SHORTS)
    builder.store(builder.add(builder.load(held, align=2), builder.trunc(total, SHORTS)), held, align=2)


def _load(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
    return builder.load(_place(context, builder, kind, array, at, MASK), align=8)


def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any, several: Any) -> Any:
    data = make_array(kind)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [at]), several.as_pointer())
